/*
 * Aim: people see that something is going on, at the rate the platform permits, and never a preview
 * over an answer.
 * Method: progress signals through the real dispatcher, the simulated platform's view of chats.
 */
#include "actor_world.h"

#include "scenario/process.h"

#define ADA "501"
#define GROUP "-1001"

static int64_t seen_in(int64_t chat, const char *what)
{
    json_t *list = world_chat(chat);
    int64_t count = json_integer_value(json_object_get(list, what));
    json_decref(list);
    return count;
}

static bool draft_is(const char *text)
{
    json_t *list = world_chat(WORLD_ADA);
    bool is_equal = strcmp(text, json_string_value(json_object_get(list, "draft"))) == 0;
    json_decref(list);
    return is_equal;
}

static void wait_sent(uint64_t row)
{
    struct world_receipt receipt;
    WORLD_WAIT(world_has_receipt(row, &receipt));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
}

static void only_a_run_that_lasts_shows_typing(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    world_progress(1, SMA_PROGRESS_STARTED, ADA, "");
    world_progress(1, SMA_PROGRESS_FINISHED, ADA, "");
    world_progress(2, SMA_PROGRESS_STARTED, GROUP, "");
    WORLD_WAIT(seen_in(WORLD_GROUP, "actions") == 1);
    CHECK_INT(0, seen_in(WORLD_ADA, "actions"));
    world_rest(500);
    CHECK_INT(1, seen_in(WORLD_GROUP, "actions")); /* again after 4 s only */
    world_progress(2, SMA_PROGRESS_FINISHED, GROUP, "");
    world_close();
}

static void private_chats_see_the_text_grow(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    long long begun = process_now_ms();
    world_progress(7, SMA_PROGRESS_STARTED, ADA, "");
    for (int i = 0; i < 20; i++) {
        char text[64];
        snprintf(text, sizeof text, "so far %d", i);
        world_progress(7, SMA_PROGRESS_TEXT, ADA, text);
        world_rest(5);
    }
    WORLD_WAIT(draft_is("so far 19"));
    /* one a second, the latest text wins */
    CHECK(seen_in(WORLD_ADA, "drafts") <= 2 + (process_now_ms() - begun) / 1000);
    CHECK_INT(8, seen_in(WORLD_ADA, "draft_id"));
    wait_sent(world_deliver(7, ADA, "", "", "the answer"));
    int64_t drafts = seen_in(WORLD_ADA, "drafts");
    world_progress(7, SMA_PROGRESS_TEXT, ADA, "too late");
    world_rest(1200);
    CHECK_INT(drafts, seen_in(WORLD_ADA, "drafts"));
    CHECK(draft_is("")); /* the message took its place */
    world_progress(7, SMA_PROGRESS_FINISHED, ADA, "");
    world_close();
}

/* A preview that is slow to arrive would stand over the answer. */
static void an_answer_comes_after_the_preview_before_it(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i}", "do", "fault", "method", "sendMessageDraft",
                  "kind", "delay", "ms", 3000); /* time for all that is checked meanwhile */
    world_progress(7, SMA_PROGRESS_TEXT, ADA, "half of the");
    WORLD_WAIT(world_calls("sendmessagedraft") == 1);
    uint64_t row = world_deliver(7, ADA, "", "", "half of the answer and the rest");
    world_progress(7, SMA_PROGRESS_FINISHED, ADA, "");
    uint64_t other = world_deliver(8, "502", "", "", "not held up");
    wait_sent(other);
    CHECK_INT(0, world_shown(WORLD_ADA, "half of the answer and the rest"));
    wait_sent(row);
    CHECK_INT(1, world_shown(WORLD_ADA, "half of the answer and the rest"));
    CHECK(draft_is(""));
    world_close();
}

/* What they see of it: test_telegram_stream.c. */
static void groups_see_no_draft(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    world_progress(1, SMA_PROGRESS_TEXT, GROUP, "half");
    WORLD_WAIT(seen_in(WORLD_GROUP, "actions") == 1);
    world_rest(400);
    CHECK_INT(0, world_calls("sendmessagedraft"));
    world_close();
}

static void a_server_without_drafts_is_not_asked_again(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i,s:s}", "do", "fault", "method",
                  "sendMessageDraft", "kind", "status", "status", 404, "text",
                  "Not Found: method not found");
    world_progress(1, SMA_PROGRESS_TEXT, ADA, "a");
    WORLD_WAIT(world_log_count("knows no message drafts") == 1);
    world_progress(1, SMA_PROGRESS_TEXT, ADA, "b");
    world_progress(2, SMA_PROGRESS_TEXT, ADA, "c");
    world_rest(600); /* it would be due after 400 ms */
    CHECK_INT(1, world_calls("sendmessagedraft"));
    world_close();
}

static void settings_turn_it_off(void)
{
    world_open(",\"progress\":\"typing\"");
    WORLD_WAIT(world_is_polled());
    world_progress(1, SMA_PROGRESS_TEXT, ADA, "a");
    WORLD_WAIT(seen_in(WORLD_ADA, "actions") == 1);
    CHECK_INT(0, world_calls("sendmessagedraft"));
    world_close();
    world_open(",\"progress\":\"off\"");
    WORLD_WAIT(world_is_polled());
    world_progress(1, SMA_PROGRESS_TEXT, ADA, "a");
    world_rest(600);
    CHECK_INT(0, seen_in(WORLD_ADA, "actions"));
    world_close();
}

static void a_limit_holds_progress_and_not_the_answer(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i,s:i}", "do", "fault", "method",
                  "sendChatAction", "kind", "status", "status", 429, "seconds", 30);
    world_progress(1, SMA_PROGRESS_STARTED, GROUP, "");
    WORLD_WAIT(world_calls("sendchataction") == 1);
    world_progress(2, SMA_PROGRESS_STARTED, ADA, "");
    world_rest(600);
    CHECK_INT(1, world_calls("sendchataction"));
    wait_sent(world_deliver(1, GROUP, "", "", "the answer"));
    world_close();
}

int main(void)
{
    RUN(only_a_run_that_lasts_shows_typing);
    RUN(private_chats_see_the_text_grow);
    RUN(an_answer_comes_after_the_preview_before_it);
    RUN(groups_see_no_draft);
    RUN(a_server_without_drafts_is_not_asked_again);
    RUN(settings_turn_it_off);
    RUN(a_limit_holds_progress_and_not_the_answer);
    return check_summary();
}
