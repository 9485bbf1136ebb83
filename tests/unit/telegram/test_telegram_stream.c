/*
 * Aim: in a group the answer grows in one message, at the group's rate, and is in the end what it
 * would have been without it; whatever happens meanwhile, there is one answer.
 * Method: progress signals through the real dispatcher, the simulated platform's view of chats and
 * its clock. The adapter is ended and begun again with what it wrote down.
 */
#include "actor_world.h"

#include "sma/text.h"
#include "support/cards.h"

#define GROUP "-1001"
#define OTHER "-1002"
#define WORLD_OTHER (-1002)
#define ELLIPSIS "\xE2\x80\xA6"
#define BEGUN_TEXT "once upon a time"

/* -- looking ----------------------------------------------------------------------------------- */
/* The ours-th message of ours that is not deleted; decref. NULL: there are fewer. */
static json_t *ours_at(int64_t chat, size_t ours)
{
    json_t *list = world_chat(chat), *message, *found = NULL;
    size_t index;
    json_array_foreach(json_object_get(list, "messages"), index, message)
    {
        bool is_shown = json_is_true(json_object_get(message, "is_ours")) &&
                        !json_is_true(json_object_get(message, "is_deleted"));
        if (is_shown && found == NULL && ours-- == 0)
            found = json_incref(message);
    }
    json_decref(list);
    return found;
}

static size_t ours_count(int64_t chat)
{
    for (size_t count = 0;; count++) {
        json_t *message = ours_at(chat, count);
        json_decref(message);
        if (message == NULL)
            return count;
    }
}

static bool first_is(int64_t chat, const char *text)
{
    json_t *message = ours_at(chat, 0);
    const char *shown = json_string_value(json_object_get(message, "text"));
    bool is_equal = shown != NULL && strcmp(shown, text) == 0;
    json_decref(message);
    return is_equal;
}

static int64_t counter(const char *name)
{
    json_t *counters = telegram_do(&world_platform, "{s:s,s:b}", "do", "counters", "unfinished", 1);
    int64_t count = json_integer_value(json_object_get(counters, name));
    json_decref(counters);
    return count;
}

/* Most messages and edits of a chat in any time of this length. */
static size_t densest(int64_t chat, int64_t ms)
{
    json_t *list = world_chat(chat), *times = json_object_get(list, "written_ms");
    size_t most = 0, from = 0;
    for (size_t i = 0; i < json_array_size(times); i++) {
        int64_t now = json_integer_value(json_array_get(times, i));
        while (json_integer_value(json_array_get(times, from)) <= now - ms)
            from++;
        most = i - from + 1 > most ? i - from + 1 : most;
    }
    json_decref(list);
    return most;
}

/* -- doing ------------------------------------------------------------------------------------- */
static void open_world(const char *members)
{
    world_make_platform();
    telegram_tell(&world_platform, "{s:s,s:i,s:i,s:i}", "do", "rates", "chat_per_second", 0,
                  "bot_per_second", 30, "group_per_minute", 20);
    telegram_tell(&world_platform, "{s:s,s:i}", "do", "chat", "id", WORLD_OTHER);
    world_open(members);
    WORLD_WAIT(world_is_polled());
}

static uint64_t again(uint64_t row, uint64_t seq, const char *chat, const char *text)
{
    return world_give(&(struct world_order){.kind = WORLD_DELIVER,
                                            .id = row,
                                            .is_repeat = true,
                                            .seq = seq,
                                            .chat = chat,
                                            .text = text});
}

static struct world_receipt wait_end(uint64_t row)
{
    struct world_receipt receipt;
    WORLD_WAIT(world_has_receipt(row, &receipt));
    return receipt;
}

static void wait_sent(uint64_t row)
{
    CHECK_INT(SMA_DELIVERY_SENT, wait_end(row).state);
}

static void begin(uint64_t seq, int64_t chat, const char *name)
{
    world_progress(seq, SMA_PROGRESS_TEXT, name, BEGUN_TEXT);
    WORLD_WAIT(first_is(chat, BEGUN_TEXT " " ELLIPSIS));
}

/* -- the promises ------------------------------------------------------------------------------ */
static void a_group_sees_the_text_grow_into_the_answer(void)
{
    open_world("");
    begin(7, WORLD_GROUP, GROUP);
    CHECK_INT(1, ours_count(WORLD_GROUP));
    uint64_t row = world_deliver(7, GROUP, "", "", "**once** upon a time there was an end");
    struct world_receipt receipt = wait_end(row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    world_progress(7, SMA_PROGRESS_FINISHED, GROUP, "");
    CHECK(first_is(WORLD_GROUP, "once upon a time there was an end"));
    CHECK_INT(1, ours_count(WORLD_GROUP));
    json_t *message = ours_at(WORLD_GROUP, 0);
    char id[24];
    snprintf(id, sizeof id, "%lld", (long long)json_integer_value(json_object_get(message, "id")));
    CHECK_TEXT(id, receipt.platform_id);
    json_decref(message);
    CHECK_INT(0, counter("unfinished") + counter("flooded") + counter("not_modified"));
    world_close();
}

static void check_same(size_t ours)
{
    json_t *one = ours_at(WORLD_GROUP, ours), *other = ours_at(WORLD_OTHER, ours);
    CHECK(one != NULL && other != NULL);
    CHECK_TEXT(json_string_value(json_object_get(other, "raw")),
               json_string_value(json_object_get(one, "raw")));
    CHECK(json_is_true(json_object_get(one, "is_plain")) ==
          json_is_true(json_object_get(other, "is_plain")));
    json_decref(one);
    json_decref(other);
}

/* Longer than a message, with markup, a table and a file. */
static void streamed_or_not_the_answer_is_the_same(void)
{
    struct sma_buf text;
    sma_buf_init(&text, 65536);
    sma_buf_put_text(&text, "# Report\n\n```c\nint a;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n");
    for (int i = 0; i < 300; i++)
        sma_buf_printf(&text, "%d. a **bold** word and `code` of line %d\n", i, i);
    sma_buf_put_text(&text, "@attach document https://example.org/a.pdf | a file\n");
    sma_buf_put_char(&text, '\0');
    CHECK_OK(text.err);
    open_world("");
    world_progress(7, SMA_PROGRESS_TEXT, GROUP, "# Report\n\n```c\nint a;");
    WORLD_WAIT(ours_count(WORLD_GROUP) == 1);
    world_progress(7, SMA_PROGRESS_TEXT, GROUP, text.ptr);
    WORLD_WAIT(!first_is(WORLD_GROUP, ELLIPSIS));
    wait_sent(world_deliver(7, GROUP, "", "", text.ptr));
    wait_sent(world_deliver(8, OTHER, "", "", text.ptr));
    size_t count = ours_count(WORLD_OTHER);
    CHECK(count >= 4);
    CHECK_INT((long long)count, ours_count(WORLD_GROUP));
    for (size_t i = 0; i < count; i++)
        check_same(i);
    sma_buf_fini(&text);
    world_close();
}

static void a_short_run_sends_one_message(void)
{
    open_world("");
    world_progress(7, SMA_PROGRESS_TEXT, GROUP, "quick");
    wait_sent(world_deliver(7, GROUP, "", "", "quick"));
    world_progress(7, SMA_PROGRESS_FINISHED, GROUP, "");
    world_rest(1800);
    CHECK_INT(1, world_calls("sendmessage"));
    CHECK_INT(0, world_calls("editmessagetext"));
    world_close();
}

static void after_a_restart_the_same_message_becomes_the_answer(void)
{
    open_world("");
    begin(7, WORLD_GROUP, GROUP);
    world_end();
    world_open("");
    WORLD_WAIT(world_is_polled());
    wait_sent(world_deliver(7, GROUP, "", "", "the answer"));
    CHECK(first_is(WORLD_GROUP, "the answer"));
    CHECK_INT(1, ours_count(WORLD_GROUP));
    world_close();
}

/* The process ended between the edit and the receipt. */
static void a_repeated_row_changes_the_same_message(void)
{
    open_world("");
    begin(7, WORLD_GROUP, GROUP);
    uint64_t row = world_deliver(7, GROUP, "", "", "the answer");
    wait_sent(row);
    world_end();
    world_open("");
    WORLD_WAIT(world_is_polled());
    wait_sent(again(row, 7, GROUP, "the answer"));
    CHECK(first_is(WORLD_GROUP, "the answer"));
    CHECK_INT(1, ours_count(WORLD_GROUP));
    world_close();
}

/* No key: what an unheard answer leaves holds no word of the answer. */
static void a_message_that_cannot_be_found_holds_no_words(void)
{
    open_world("");
    telegram_tell(&world_platform, "{s:s,s:s,s:s}", "do", "fault", "method", "sendMessage", "kind",
                  "lose_answer");
    world_progress(7, SMA_PROGRESS_TEXT, GROUP, BEGUN_TEXT);
    WORLD_WAIT(world_log_count("the beginning of a streamed answer may stay") == 1);
    world_progress(7, SMA_PROGRESS_TEXT, GROUP, BEGUN_TEXT " there was");
    wait_sent(world_deliver(7, GROUP, "", "", "the answer"));
    CHECK(first_is(WORLD_GROUP, ELLIPSIS));
    CHECK_INT(1, world_shown(WORLD_GROUP, "the answer"));
    CHECK_INT(2, ours_count(WORLD_GROUP));
    world_close();
}

static void a_run_that_ends_without_words_takes_it_back(void)
{
    open_world("");
    begin(7, WORLD_GROUP, GROUP);
    world_progress(7, SMA_PROGRESS_FINISHED, GROUP, "");
    WORLD_WAIT(ours_count(WORLD_GROUP) == 0);
    world_close();
}

static void a_run_that_asks_for_approval_takes_it_back(void)
{
    open_world("");
    begin(7, WORLD_GROUP, GROUP);
    char *json = card_request(NULL, NULL);
    world_set_intent(SMA_INTENT_APPROVAL_REQUEST);
    wait_sent(world_deliver(7, GROUP, "", "", json));
    world_set_intent(SMA_INTENT_ASSISTANT_TEXT);
    free(json);
    WORLD_WAIT(world_calls("deletemessage") == 1);
    CHECK_INT(1, ours_count(WORLD_GROUP)); /* the request, with its buttons */
    json_t *request = ours_at(WORLD_GROUP, 0);
    CHECK(json_is_true(json_object_get(request, "has_markup")));
    json_decref(request);
    world_progress(7, SMA_PROGRESS_FINISHED, GROUP, "");
    world_close();
}

/* Words before a tool, then other words: only the last ones stay. */
static void what_is_said_before_a_tool_is_replaced(void)
{
    open_world("");
    begin(7, WORLD_GROUP, GROUP);
    world_progress(7, SMA_PROGRESS_TOOL, GROUP, "read_file");
    world_progress(7, SMA_PROGRESS_TEXT, GROUP, "it says");
    WORLD_WAIT(first_is(WORLD_GROUP, "it says " ELLIPSIS));
    wait_sent(world_deliver(7, GROUP, "", "", "it says no"));
    CHECK(first_is(WORLD_GROUP, "it says no"));
    CHECK_INT(1, ours_count(WORLD_GROUP));
    world_close();
}

/* A text sent in the middle of a run is one message, what follows another. */
static void each_delivery_of_a_run_has_its_own_message(void)
{
    open_world("");
    begin(7, WORLD_GROUP, GROUP);
    wait_sent(world_deliver(7, GROUP, "", "", "the first"));
    world_progress(7, SMA_PROGRESS_TEXT, GROUP, "and then");
    WORLD_WAIT(ours_count(WORLD_GROUP) == 2);
    wait_sent(world_deliver(7, GROUP, "", "", "and then the second"));
    CHECK(first_is(WORLD_GROUP, "the first"));
    CHECK_INT(1, world_shown(WORLD_GROUP, "and then the second"));
    CHECK_INT(2, ours_count(WORLD_GROUP));
    world_close();
}

static void a_message_that_somebody_deleted_is_sent_again(void)
{
    open_world("");
    begin(7, WORLD_GROUP, GROUP);
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i,s:s}", "do", "fault", "method",
                  "editMessageText", "kind", "status", "status", 400, "text",
                  "Bad Request: message to edit not found");
    wait_sent(world_deliver(7, GROUP, "", "", "the answer"));
    CHECK_INT(1, world_shown(WORLD_GROUP, "the answer"));
    world_close();
}

static void a_limit_pauses_this_stream_and_no_other_chat(void)
{
    open_world("");
    begin(7, WORLD_GROUP, GROUP);
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i,s:i,s:I}", "do", "fault", "method",
                  "editMessageText", "kind", "status", "status", 429, "seconds", 30, "chat",
                  (json_int_t)WORLD_GROUP);
    world_progress(7, SMA_PROGRESS_TEXT, GROUP, BEGUN_TEXT " there was");
    WORLD_WAIT(counter("refused") == 1);
    int64_t edits = world_calls("editmessagetext");
    world_progress(7, SMA_PROGRESS_TEXT, GROUP, BEGUN_TEXT " there was an");
    begin(8, WORLD_OTHER, OTHER);
    wait_sent(world_deliver(8, OTHER, "", "", "the other answer"));
    CHECK_INT(edits + 2, world_calls("editmessagetext")); /* those of the other group */
    CHECK(first_is(WORLD_GROUP, BEGUN_TEXT " " ELLIPSIS));
    wait_sent(world_deliver(7, GROUP, "", "", "the answer")); /* it asks for itself */
    CHECK(first_is(WORLD_GROUP, "the answer"));
    world_close();
}

/* 20 a minute: a stream takes 15, and fewer when messages are sent beside it. */
static void a_group_is_never_written_to_faster_than_its_rate(void)
{
    char text[64];
    open_world("");
    for (int i = 0; i < 240; i++) {
        snprintf(text, sizeof text, "word %d", i);
        world_progress(7, SMA_PROGRESS_TEXT, GROUP, text);
        world_rest(50);
    }
    CHECK(densest(WORLD_GROUP, 4000) <= 3);  /* the ellipsis, the first words, one more */
    CHECK(densest(WORLD_GROUP, 12000) <= 5); /* and one each 4 s */
    CHECK(densest(WORLD_GROUP, 900) <= 1);   /* never two in a second */
    CHECK(densest(WORLD_GROUP, 12000) >= 3);
    CHECK_INT(0, counter("flooded"));
    world_close();
}

#define MANY 50

static void fifty_streams_share_what_the_bot_may_send(void)
{
    char names[MANY][16];
    uint64_t rows[MANY];
    open_world("");
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "%d", -2000 - i);
        telegram_tell(&world_platform, "{s:s,s:i}", "do", "chat", "id", -2000 - i);
    }
    for (int i = 0; i < MANY; i++)
        world_progress((uint64_t)i + 1, SMA_PROGRESS_TEXT, names[i], BEGUN_TEXT);
    for (int i = 0; i < MANY; i++)
        WORLD_WAIT(first_is(-2000 - i, BEGUN_TEXT " " ELLIPSIS));
    CHECK_INT(0, counter("flooded"));
    CHECK_INT(MANY, counter("unfinished"));
    for (int i = 0; i < MANY; i++)
        rows[i] = world_deliver((uint64_t)i + 1, names[i], "", "", "the answer");
    for (int i = 0; i < MANY; i++) {
        wait_sent(rows[i]);
        CHECK(first_is(-2000 - i, "the answer"));
        CHECK_INT(1, ours_count(-2000 - i));
    }
    CHECK_INT(0, counter("unfinished"));
    world_close();
}

static void off_is_off(void)
{
    open_world(",\"streaming\":\"off\"");
    world_progress(7, SMA_PROGRESS_TEXT, GROUP, BEGUN_TEXT);
    world_progress(8, SMA_PROGRESS_TEXT, "501", BEGUN_TEXT);
    world_rest(2000);
    CHECK_INT(0, world_calls("sendmessage") + world_calls("sendmessagedraft"));
    CHECK(world_calls("sendchataction") > 0); /* typing is no stream */
    world_close();
}

int main(void)
{
    RUN(a_group_sees_the_text_grow_into_the_answer);
    RUN(streamed_or_not_the_answer_is_the_same);
    RUN(a_short_run_sends_one_message);
    RUN(after_a_restart_the_same_message_becomes_the_answer);
    RUN(a_repeated_row_changes_the_same_message);
    RUN(a_message_that_cannot_be_found_holds_no_words);
    RUN(a_run_that_ends_without_words_takes_it_back);
    RUN(a_run_that_asks_for_approval_takes_it_back);
    RUN(what_is_said_before_a_tool_is_replaced);
    RUN(each_delivery_of_a_run_has_its_own_message);
    RUN(a_message_that_somebody_deleted_is_sent_again);
    RUN(a_limit_pauses_this_stream_and_no_other_chat);
    RUN(a_group_is_never_written_to_faster_than_its_rate);
    RUN(fifty_streams_share_what_the_bot_may_send);
    RUN(off_is_off);
    return check_summary();
}
