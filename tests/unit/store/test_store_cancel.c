/*
 * test_store_cancel.c — one run is stopped from outside its chat, wherever it is: waiting, with the
 * agent, waiting for people, decided, waiting for a model. Others of its chat go on, and nothing of
 * it comes back after a crash.
 */
#include "approval_support.h"

static struct world w;

static int cancel(uint64_t seq, char text[512])
{
    char id[24];
    snprintf(id, sizeof id, "%llu", (unsigned long long)seq);
    return decide(&w, &(struct sma_decide){.kind = SMA_DECIDE_CANCEL, .id = sma_str(id)}, text);
}

static int state_of(uint64_t seq)
{
    struct sma_state_head head;
    CHECK_OK(sma_state_head_get(w.store->state, seq, &head));
    return head.state;
}

static uint64_t say_and_see(const char *chat, const char *id)
{
    say(&w, chat, id, "do it");
    run(&w);
    return accepted(&w.test).seq;
}

/* Done as it says, told to the chat, and the same said again is no mistake. */
static void check_cancelled(uint64_t seq)
{
    char text[512];
    CHECK_INT(200, cancel(seq, text));
    CHECK_TEXT("cancelled", text);
    CHECK_INT(SMA_ROW_CANCELLED, state_of(seq));
    CHECK_INT(200, cancel(seq, text));
    CHECK_TEXT("cancelled before", text);
}

/* The chat hears it, behind what it was told before. */
static void check_told(const char *text)
{
    bool is_told = false;
    for (struct sma_msg *msg; !is_told && (msg = deliver(&w)) != NULL; sma_msg_destroy(msg)) {
        const struct sma_deliver *body = SMA_MSG_BODY(msg, struct sma_deliver);
        is_told = body->text.len > 0 && strstr(body->text.ptr, text) != NULL;
        receipt(&w, &(struct sma_receipt){.outbox_id = body->outbox_id,
                                          .part_count = 1,
                                          .state = SMA_DELIVERY_SENT,
                                          .is_final = true,
                                          .platform_message_id = SMA_STR("m")});
        run(&w);
    }
    CHECK(is_told);
}

AFTER_EACH(end_world(&w))

CASE(the_run_in_the_agent_ends_and_the_next_begins)
{
    open_people(&w);
    uint64_t first = say_and_see("a", "1"), second = say_and_see("a", "2");
    CHECK(run_seq(&w) == first);
    check_cancelled(first);
    struct sma_msg *control = take(&w.agent, SMA_MSG_CONTROL);
    CHECK(control != NULL);
    const struct sma_control_order *order = SMA_MSG_BODY(control, struct sma_control_order);
    CHECK(order->control == SMA_CONTROL_STOP && order->only_seq == first);
    CHECK(order->mark_seq == first + 1);
    CHECK_STR(CHAT_A, order->chat_key);
    sma_msg_destroy(control);
    check_told("Stopped");
    CHECK(run_seq(&w) == second);
    step(&w, first, 1, NULL, 0); /* what the agent had sent before it heard */
    run(&w);
    CHECK_INT(SMA_STEP_STOPPED, verdict(&w, SMA_MSG_STEP_DONE));
    CHECK_INT(SMA_ROW_RUNNING, state_of(second));
}

CASE(a_waiting_message_leaves_the_queue_and_others_stay)
{
    open_people(&w);
    uint64_t first = say_and_see("a", "1"), second = say_and_see("a", "2");
    uint64_t third = say_and_see("a", "3");
    CHECK(run_seq(&w) == first);
    check_cancelled(second);
    CHECK(take(&w.agent, SMA_MSG_CONTROL) == NULL); /* the agent never had it */
    crash_world(&w);
    CHECK_INT(SMA_ROW_CANCELLED, state_of(second));
    CHECK(run_seq(&w) == first);
    done(&w, first, "one", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) == third);
}

CASE(a_run_that_asks_ends_with_its_question)
{
    char id[64];
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    snprintf(id, sizeof id, "%s", open_id(&w));
    show_all(&w);
    check_cancelled(seq);
    CHECK_INT(410, decide_all(&w, id, true));
    CHECK_INT(0, w.store->consent->count);
    uint64_t next = say_and_see("a", "2");
    CHECK(run_seq(&w) == next); /* the chat is free */
}

CASE(a_decided_run_that_waits_for_its_slot_does_not_start)
{
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    uint64_t other = say_and_see("b", "2");
    CHECK(run_seq(&w) == other);
    CHECK_INT(200, decide_all(&w, open_id(&w), true));
    check_cancelled(seq);
    done(&w, other, "", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) == 0);
}

CASE(a_run_that_waits_for_a_model_waits_no_more)
{
    open_people(&w);
    uint64_t seq = say_and_see("a", "1");
    CHECK(run_seq(&w) == seq);
    struct sma_msg *msg = sma_msg_make_step(&(struct sma_step){
        .seq = seq, .number = 1, .kind = SMA_STEP_WAIT, .data = SMA_STR("wait"), .wait_ms = 5000});
    ask_as_agent(&w, msg);
    run(&w);
    CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    check_cancelled(seq);
    run_for(&w, 10 * SECOND);
    CHECK(run_seq(&w) == 0);
    uint64_t next = say_and_see("a", "2");
    CHECK(run_seq(&w) == next);
}

CASE(what_is_over_stays_as_it_was)
{
    char text[512];
    open_people(&w);
    uint64_t seq = say_and_see("a", "1");
    CHECK(run_seq(&w) == seq);
    done(&w, seq, "one", NULL, 0);
    run(&w);
    CHECK_INT(200, cancel(seq, text));
    CHECK_TEXT("it had ended before", text);
    CHECK_INT(SMA_ROW_DONE, state_of(seq));
    CHECK_INT(404, cancel(seq + 1000, NULL));
    CHECK_INT(404, decide(&w, &(struct sma_decide){.kind = SMA_DECIDE_CANCEL, .id = SMA_STR("1x")},
                          NULL));
}

/* -- chats ------------------------------------------------------------------------------------- */
static const char *chats(uint32_t limit, uint64_t before)
{
    static char json[65536];
    struct sma_msg *msg = sma_msg_make_query(
        &(struct sma_query){.kind = SMA_QUERY_CHATS, .limit = limit, .before = before});
    CHECK_OK(sma_ctx_ask(sma_system_ctx(w.system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
    run(&w);
    struct sma_msg *answer = take(&w.api, SMA_MSG_QUERY_RESULT);
    CHECK(answer != NULL);
    struct sma_str from = SMA_MSG_BODY(answer, struct sma_query_result)->json;
    snprintf(json, sizeof json, "%.*s", (int)from.len, from.ptr);
    sma_msg_destroy(answer);
    return json;
}

CASE(chats_are_listed_page_by_page)
{
    open_people(&w);
    CHECK_TEXT("{\"chats\":[]}", chats(10, 0));
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    (void)say_and_see("a", "2");
    uint64_t other = say_and_see("b", "3");
    CHECK(seq != 0 && run_seq(&w) == other);
    const char *json = chats(10, 0);
    const char *b = strstr(json, "{\"chatKey\":\"test:chat:b\",\"platform\":\"test\"");
    const char *a = strstr(json, "{\"chatKey\":\"test:chat:a\",\"platform\":\"test\"");
    CHECK(a != NULL && b != NULL && b < a && strstr(json, "\"next\"") == NULL);
    CHECK(strstr(a, "\"waiting\":1,") != NULL && strstr(a, "\"approvals\":1,") != NULL);
    CHECK(strstr(a, "\"isRunning\":false}") != NULL);
    CHECK(strstr(b, "\"waiting\":0,") < a && strstr(b, "\"isRunning\":true}") < a);
    CHECK(strstr(a, "\"lastActiveAt\":\"20") != NULL);
    json = chats(1, 0);
    CHECK(strstr(json, "test:chat:b") != NULL && strstr(json, "test:chat:a") == NULL);
    const char *next = strstr(json, "],\"next\":\"");
    CHECK(next != NULL);
    json = chats(1, strtoull(next + strlen("],\"next\":\""), NULL, 10));
    CHECK(strstr(json, "test:chat:a") != NULL && strstr(json, "test:chat:b") == NULL);
    CHECK(strstr(json, "\"next\"") == NULL);
}

int main(void)
{
    check_run_cases(NULL);
    return 0;
}
