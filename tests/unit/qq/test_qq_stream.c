/*
 * Aim: in a private chat the answer grows in one message of pieces, within the platform's order and
 * rates, and is in the end what it would have been; it is one of the answers that a message allows,
 * and whatever happens meanwhile, there is one answer.
 * Method: progress signals through the real dispatcher, the simulated platform's view of chats. The
 * adapter is ended and begun again with what it wrote down.
 */
#include "actor_world.h"

#include "support/cards.h"

#include "sma/text.h"

#define OTHER "c2c:B2B2"
#define LINE "once upon a time\n"

static char asked[256]; /* the message that is answered */

/* -- doing ------------------------------------------------------------------------------------- */
static void open_world(const char *members)
{
    world_make_platform();
    world_tell("{s:s,s:s}", "do", "chat", "chat", OTHER);
    world_open(members);
    WORLD_WAIT(world_log_count("connected") >= 1);
    snprintf(asked, sizeof asked, "%s", world_say(WORLD_C2C, "tell me"));
}

static void begin_again(void)
{
    world_stop();
    world_open("");
    WORLD_WAIT(world_log_count("connected") >= 1);
}

static void progress(uint64_t seq, enum sma_progress_kind kind, const char *text)
{
    (void)world_give(&(struct world_order){.kind = WORLD_PROGRESS,
                                           .progress = (uint8_t)kind,
                                           .seq = seq,
                                           .chat = WORLD_C2C,
                                           .reply = asked,
                                           .text = text});
}

static uint64_t deliver(uint64_t seq, const char *text, uint64_t again)
{
    return world_give(&(struct world_order){.kind = WORLD_DELIVER,
                                            .id = again,
                                            .is_repeat = again != 0,
                                            .seq = seq,
                                            .chat = WORLD_C2C,
                                            .reply = asked,
                                            .text = text});
}

/* -- looking ----------------------------------------------------------------------------------- */
/* The at-th message of ours that is not recalled; decref. */
static json_t *ours_at(size_t at)
{
    json_t *list = world_chat(WORLD_C2C), *message, *found = NULL;
    size_t i;
    json_array_foreach(json_object_get(list, "messages"), i, message)
    {
        bool is_seen = json_is_true(json_object_get(message, "is_ours")) &&
                       !json_is_true(json_object_get(message, "is_recalled"));
        if (is_seen && found == NULL && at-- == 0)
            found = json_incref(message);
    }
    json_decref(list);
    return found;
}

static size_t ours_count(void)
{
    for (size_t count = 0;; count++) {
        json_t *message = ours_at(count);
        json_decref(message);
        if (message == NULL)
            return count;
    }
}

static bool shows(size_t at, const char *text)
{
    json_t *message = ours_at(at);
    const char *shown = json_string_value(json_object_get(message, "text"));
    bool is_equal = shown != NULL && strcmp(shown, text) == 0;
    json_decref(message);
    return is_equal;
}

static int64_t counter(const char *name)
{
    json_t *counters = world_ask("{s:s,s:b}", "do", "counters", "unfinished", 1);
    int64_t count = json_integer_value(json_object_get(counters, name));
    json_decref(counters);
    return count;
}

static void begin(uint64_t seq)
{
    progress(seq, SMA_PROGRESS_TEXT, LINE "there wa");
    WORLD_WAIT(shows(0, "once upon a time"));
}

/* -- the promises ------------------------------------------------------------------------------ */
static void the_lines_are_shown_and_become_the_answer(void)
{
    open_world("");
    begin(7);
    CHECK_INT(1, counter("unfinished"));
    progress(7, SMA_PROGRESS_TEXT, LINE "there was\nan");
    WORLD_WAIT(shows(0, LINE "there was"));
    struct world_receipt receipt =
        world_await(deliver(7, LINE "there was\nan **end**", 0), SMA_DELIVERY_SENT);
    progress(7, SMA_PROGRESS_FINISHED, "");
    CHECK(shows(0, LINE "there was\nan **end**"));
    json_t *message = ours_at(0);
    CHECK_TEXT(json_string_value(json_object_get(message, "id")), receipt.platform_id);
    json_decref(message);
    CHECK_INT(1, ours_count());
    CHECK_INT(0, counter("unfinished") + counter("stream_refused"));
    /* it counts as one answer: three more are taken */
    for (uint32_t i = 1; i <= 3; i++)
        world_await(world_give(&(struct world_order){.kind = WORLD_DELIVER,
                                                     .seq = 7,
                                                     .chat = WORLD_C2C,
                                                     .reply = asked,
                                                     .reply_count = i,
                                                     .text = "more"}),
                    SMA_DELIVERY_SENT);
    for (size_t i = 0; i < 4; i++) {
        message = ours_at(i);
        CHECK(json_is_false(json_object_get(message, "is_active")));
        json_decref(message);
    }
    world_close();
}

/* Longer than a message, with a list and code: in parts as without it. */
static void shown_or_not_the_answer_is_the_same(void)
{
    struct sma_buf text;
    sma_buf_init(&text, 65536);
    sma_buf_put_text(&text, "# Report\n\n```c\nint a;\n\nint b;\n```\n\n");
    for (int i = 0; i < 60; i++)
        sma_buf_printf(&text, "%d. a **bold** word, and `code` of line %d\n\n", i, i);
    sma_buf_put_char(&text, '\0');
    open_world("");
    for (size_t len = 20; len < 700; len += 97) {
        char part[1024];
        snprintf(part, sizeof part, "%.*s", (int)len, text.ptr);
        progress(7, SMA_PROGRESS_TEXT, part);
        world_rest(500);
    }
    progress(7, SMA_PROGRESS_TEXT, text.ptr);
    WORLD_WAIT(counter("unfinished") == 1);
    world_rest(1500);
    world_await(deliver(7, text.ptr, 0), SMA_DELIVERY_SENT);
    size_t count = ours_count();
    CHECK(count >= 2);
    CHECK_INT(0, counter("unfinished") + counter("stream_refused"));
    snprintf(asked, sizeof asked, "%s", world_say(WORLD_C2C, "once more"));
    world_await(deliver(8, text.ptr, 0), SMA_DELIVERY_SENT);
    CHECK_INT((long long)(2 * count), ours_count());
    for (size_t i = 0; i < count; i++) {
        json_t *one = ours_at(i), *other = ours_at(count + i);
        CHECK_TEXT(json_string_value(json_object_get(other, "text")),
                   json_string_value(json_object_get(one, "text")));
        json_decref(one);
        json_decref(other);
    }
    sma_buf_fini(&text);
    world_close();
}

/* Words before a tool: nothing of a message can be taken back but the whole. */
static void a_text_that_begins_otherwise_replaces_what_was_shown(void)
{
    open_world("");
    begin(7);
    progress(7, SMA_PROGRESS_TEXT, "it was\nnot so");
    world_await(deliver(7, "it was\nnot so at all", 0), SMA_DELIVERY_SENT);
    WORLD_WAIT(ours_count() == 1);
    CHECK(shows(0, "it was\nnot so at all"));
    CHECK_INT(0, counter("unfinished") + counter("stream_refused"));
    world_close();
}

static void after_a_restart_the_same_message_becomes_the_answer(void)
{
    open_world("");
    begin(7);
    begin_again();
    uint64_t row = deliver(7, LINE "there was\nan end", 0);
    world_await(row, SMA_DELIVERY_SENT);
    CHECK(shows(0, LINE "there was\nan end"));
    begin_again();
    (void)deliver(7, LINE "there was\nan end", row);
    world_await(row, SMA_DELIVERY_SENT);
    CHECK(shows(0, LINE "there was\nan end"));
    CHECK_INT(1, ours_count());
    CHECK_INT(0, counter("unfinished"));
    world_close();
}

/* The model says something else the second time. */
static void after_a_restart_another_text_replaces_it(void)
{
    open_world("");
    begin(7);
    begin_again();
    world_await(deliver(7, "another answer", 0), SMA_DELIVERY_SENT);
    WORLD_WAIT(ours_count() == 1);
    CHECK(shows(0, "another answer"));
    CHECK_INT(0, counter("unfinished"));
    world_close();
}

static void an_unheard_piece_is_not_lost(void)
{
    open_world("");
    begin(7);
    world_tell("{s:s,s:s,s:s,s:i}", "do", "fault", "method", "stream", "kind", "lose_answer",
               "times", 1);
    progress(7, SMA_PROGRESS_TEXT, LINE "there was\nan");
    WORLD_WAIT(shows(0, LINE "there was"));
    world_tell("{s:s,s:s,s:s,s:i}", "do", "fault", "method", "stream", "kind", "lose_answer",
               "times", 1);
    world_await(deliver(7, LINE "there was\nan end", 0), SMA_DELIVERY_SENT);
    CHECK(shows(0, LINE "there was\nan end"));
    CHECK_INT(1, ours_count());
    CHECK_INT(0, counter("unfinished"));
    world_close();
}

static void a_run_that_ends_without_words_takes_it_back(void)
{
    open_world("");
    begin(7);
    progress(7, SMA_PROGRESS_FINISHED, "");
    WORLD_WAIT(ours_count() == 0);
    world_close();
}

/* Two minutes later it cannot be recalled: it is ended. */
static void what_cannot_be_recalled_is_ended(void)
{
    open_world("");
    begin(7);
    world_tell("{s:s,s:i}", "do", "clock", "seconds", 300);
    progress(7, SMA_PROGRESS_FINISHED, "");
    WORLD_WAIT(counter("unfinished") == 0);
    CHECK(shows(0, "once upon a time\xE2\x80\xA6"));
    world_close();
}

static void a_run_that_asks_for_approval_takes_it_back(void)
{
    open_world("");
    begin(7);
    char *json = card_request(NULL, NULL);
    world_set_intent(SMA_INTENT_APPROVAL_REQUEST);
    world_await(deliver(7, json, 0), SMA_DELIVERY_SENT);
    world_set_intent(SMA_INTENT_ASSISTANT_TEXT);
    free(json);
    WORLD_WAIT(counter("unfinished") == 0);
    CHECK_INT(1, ours_count());
    world_close();
}

static void without_the_right_nothing_else_changes(void)
{
    open_world("");
    world_tell("{s:s,s:b}", "do", "rights", "stream", 0);
    progress(7, SMA_PROGRESS_TEXT, LINE "there was");
    WORLD_WAIT(world_log_count("no right to stream messages") == 1);
    world_await(deliver(7, "the answer", 0), SMA_DELIVERY_SENT);
    CHECK(shows(0, "the answer"));
    CHECK_INT(1, ours_count());
    world_close();
}

static void a_limit_pauses_the_stream_and_no_delivery(void)
{
    open_world("");
    begin(7);
    world_tell("{s:s,s:s,s:s,s:i,s:i,s:s,s:i}", "do", "fault", "method", "stream", "kind", "status",
               "status", 400, "code", 50002, "text", "too fast", "times", 1);
    progress(7, SMA_PROGRESS_TEXT, LINE "there was\nan");
    world_await(world_give(&(struct world_order){
                    .kind = WORLD_DELIVER, .seq = 8, .chat = OTHER, .text = "another chat"}),
                SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(OTHER, "another chat"));
    world_await(deliver(7, LINE "there was\nan end", 0), SMA_DELIVERY_SENT);
    CHECK(shows(0, LINE "there was\nan end"));
    CHECK_INT(1, ours_count());
    world_close();
}

static void groups_and_short_runs_see_nothing(void)
{
    open_world("");
    (void)world_give(&(struct world_order){.kind = WORLD_PROGRESS,
                                           .progress = SMA_PROGRESS_TEXT,
                                           .seq = 9,
                                           .chat = WORLD_GROUP,
                                           .reply = "x",
                                           .text = LINE LINE});
    progress(7, SMA_PROGRESS_TEXT, "one line without an end");
    world_rest(2500);
    CHECK_INT(0, ours_count());
    CHECK_INT(0, counter("sent"));
    world_close();
}

#define MANY 50

static void fifty_streams_stay_within_the_rates(void)
{
    static char chats[MANY][16], ids[MANY][256];
    uint64_t rows[MANY];
    open_world("");
    for (int i = 0; i < MANY; i++) {
        snprintf(chats[i], sizeof chats[i], "c2c:N%d", i);
        world_tell("{s:s,s:s}", "do", "chat", "chat", chats[i]);
        snprintf(ids[i], sizeof ids[i], "%s", world_say(chats[i], "tell me"));
    }
    for (int round = 0; round < 50; round++) {
        struct sma_buf text;
        sma_buf_init(&text, 8192);
        for (int line = 0; line <= round; line++)
            sma_buf_printf(&text, "line %d\n", line);
        sma_buf_put_char(&text, '\0');
        for (int i = 0; i < MANY; i++)
            (void)world_give(&(struct world_order){.kind = WORLD_PROGRESS,
                                                   .progress = SMA_PROGRESS_TEXT,
                                                   .seq = (uint64_t)i + 1,
                                                   .chat = chats[i],
                                                   .reply = ids[i],
                                                   .text = text.ptr});
        sma_buf_fini(&text);
        world_rest(100);
    }
    WORLD_WAIT(counter("unfinished") == MANY);
    for (int i = 0; i < MANY; i++)
        rows[i] = world_give(&(struct world_order){.kind = WORLD_DELIVER,
                                                   .seq = (uint64_t)i + 1,
                                                   .chat = chats[i],
                                                   .reply = ids[i],
                                                   .text = "line 0\nline 1\nend"});
    for (int i = 0; i < MANY; i++)
        world_await(rows[i], SMA_DELIVERY_SENT);
    WORLD_WAIT(counter("unfinished") == 0);
    for (int i = 0; i < MANY; i++)
        CHECK_INT(1, world_shown(chats[i], "line 0\nline 1\nend"));
    CHECK_INT(0, counter("stream_refused"));
    world_close();
}

static void off_is_off(void)
{
    open_world(",\"streaming\":\"off\"");
    progress(7, SMA_PROGRESS_TEXT, LINE "there was");
    world_rest(2500);
    CHECK_INT(0, ours_count());
    world_close();
}

int main(void)
{
    RUN(the_lines_are_shown_and_become_the_answer);
    RUN(shown_or_not_the_answer_is_the_same);
    RUN(a_text_that_begins_otherwise_replaces_what_was_shown);
    RUN(after_a_restart_the_same_message_becomes_the_answer);
    RUN(after_a_restart_another_text_replaces_it);
    RUN(an_unheard_piece_is_not_lost);
    RUN(a_run_that_ends_without_words_takes_it_back);
    RUN(what_cannot_be_recalled_is_ended);
    RUN(a_run_that_asks_for_approval_takes_it_back);
    RUN(without_the_right_nothing_else_changes);
    RUN(a_limit_pauses_the_stream_and_no_delivery);
    RUN(groups_and_short_runs_see_nothing);
    RUN(fifty_streams_stay_within_the_rates);
    RUN(off_is_off);
    return check_summary();
}
