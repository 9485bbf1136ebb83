/*
 * test_store_say.c — the owner's program says something to a chat: one delivery, however often it
 * is asked for, also after a crash; to chats that are known, and where nobody is asked anything.
 */
#include "approval_support.h"

static struct world w;

static struct sma_accepted say_to(const char *chat_key, const char *id, const char *text)
{
    struct sma_route route = {.adapter = (uint8_t)API,
                              .channel = SMA_STR("test"),
                              .chat_key = sma_str(chat_key),
                              .user_id = SMA_STR("api"),
                              .message_id = sma_str(id)};
    struct sma_msg *msg = sma_msg_make_ingress(&(struct sma_ingress){.route = route,
                                                                     .event_key = sma_str(id),
                                                                     .text = sma_str(text),
                                                                     .body_hash = strlen(text) + 1,
                                                                     .kind = SMA_EVENT_SAY});
    CHECK_OK(sma_ctx_ask(sma_system_ctx(w.system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
    run(&w);
    return accepted(&w.api);
}

static uint64_t answered(const char *chat, const char *id)
{
    say(&w, chat, id, "hello");
    run(&w);
    uint64_t seq = accepted(&w.test).seq;
    CHECK(run_seq(&w) == seq);
    done(&w, seq, "hi", NULL, 0);
    run(&w);
    drop_kept(&w.agent);
    return seq;
}

static void check_delivered(const char *key, const char *text, uint64_t outbox_id)
{
    struct sma_msg *msg = deliver(&w);
    CHECK(msg != NULL);
    const struct sma_deliver *body = SMA_MSG_BODY(msg, struct sma_deliver);
    CHECK_STR(key, body->route.chat_key);
    CHECK_STR(strrchr(key, ':') + 1, body->route.chat_id);
    CHECK_STR("test", body->route.channel);
    CHECK_STR("", body->route.message_id); /* it answers nothing */
    CHECK_STR(text, body->text);
    CHECK(body->outbox_id == outbox_id);
    CHECK_INT(SMA_INTENT_ASSISTANT_TEXT, body->intent);
    receipt(&w, &(struct sma_receipt){.outbox_id = body->outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true,
                                      .platform_message_id = SMA_STR("m1")});
    run(&w);
    sma_msg_destroy(msg);
}

static const char *delivery_of(uint64_t outbox_id)
{
    char id[24];
    snprintf(id, sizeof id, "%llu", (unsigned long long)outbox_id);
    return query(&w, SMA_QUERY_DELIVERY, id);
}

AFTER_EACH(end_world(&w))

CASE(it_is_delivered_once_however_often_it_is_asked_for)
{
    open_people(&w);
    (void)answered("a", "1");
    struct sma_accepted first = say_to(CHAT_A, "k1", "backup is done");
    CHECK_INT(SMA_VERDICT_ACCEPTED, first.verdict);
    CHECK(first.seq != 0 && first.outbox_id != 0);
    CHECK(strstr(delivery_of(first.outbox_id), "\"state\":\"begun\"") != NULL);
    struct sma_accepted again = say_to(CHAT_A, "k1", "backup is done");
    CHECK_INT(SMA_VERDICT_DUPLICATE, again.verdict);
    CHECK(again.outbox_id == first.outbox_id);
    CHECK_INT(SMA_VERDICT_CONFLICT, say_to(CHAT_A, "k1", "something else again").verdict);
    check_delivered(CHAT_A, "backup is done", first.outbox_id);
    const char *json = delivery_of(first.outbox_id);
    CHECK(strstr(json, "\"state\":\"sent\"") != NULL);
    CHECK(strstr(json, "\"chatKey\":\"test:chat:a\"}") != NULL);
    CHECK(deliver(&w) == NULL && run_seq(&w) == 0); /* nothing runs */
    crash_world(&w);
    CHECK_INT(SMA_VERDICT_DUPLICATE, say_to(CHAT_A, "k1", "backup is done").verdict);
    CHECK(deliver(&w) == NULL);
    /* A person's message of the same id is another one. */
    say(&w, "a", "k1", "hello");
    expect_accepted(&w);
}

CASE(a_crash_before_it_is_sent_loses_nothing)
{
    open_people(&w);
    (void)answered("a", "1");
    struct sma_accepted said = say_to(CHAT_A, "k1", "backup is done");
    crash_world(&w);
    check_delivered(CHAT_A, "backup is done", said.outbox_id);
    CHECK(strstr(delivery_of(said.outbox_id), "\"state\":\"sent\"") != NULL);
}

CASE(a_chat_that_nobody_knows_gets_nothing)
{
    open_people(&w);
    (void)answered("a", "1");
    static const char *const unknown[] = {"test:chat:zzz", "test", "nowhere:chat:a", "api:chat:x"};
    for (size_t i = 0; i < SMA_COUNT_OF(unknown); i++) {
        struct sma_accepted said = say_to(unknown[i], "k1", "hello");
        CHECK_INT(SMA_VERDICT_NO_CHAT, said.verdict);
        CHECK(said.seq == 0 && said.outbox_id == 0);
    }
    CHECK(deliver(&w) == NULL);
    CHECK_TEXT("{}", delivery_of(12345678));
    CHECK_TEXT("{}", query(&w, SMA_QUERY_DELIVERY, "x"));
}

/* Nobody was answered there yet: where it is, is known of whom was seen there. */
CASE(a_chat_where_somebody_was_seen_is_known)
{
    open_people(&w);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "c", .id = "1", .text = "hi", .is_record_only = true});
    run(&w);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&w.test).verdict);
    struct sma_accepted said = say_to("test:chat:c", "k1", "good morning");
    CHECK_INT(SMA_VERDICT_ACCEPTED, said.verdict);
    check_delivered("test:chat:c", "good morning", said.outbox_id);
}

/* The question stays open, but "yes" behind what was said is no answer to it any more. */
CASE(words_behind_it_are_no_consent_to_what_was_asked_before)
{
    for (int has_said = 0; has_said < 2; has_said++) {
        open_people(&w);
        (void)park(&w, "a", "1", one_command, 1);
        show_all(&w);
        if (has_said) {
            struct sma_accepted said = say_to(CHAT_A, "k1", "shall we have lunch?");
            CHECK_INT(SMA_VERDICT_ACCEPTED, said.verdict);
            show_all(&w);
        }
        (void)say_as(&w, TEST,
                     &(struct saying){.chat = "a", .id = "2", .text = "yes", .user = "boss"});
        run(&w);
        CHECK_INT(has_said, w.store->consent->count);
        if (has_said)
            CHECK_INT(200, decide_all(&w, open_id(&w), true));
        end_world(&w);
    }
}

int main(void)
{
    check_run_cases(NULL);
    return 0;
}
