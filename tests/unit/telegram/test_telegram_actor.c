/*
 * Aim: an update is confirmed only as far as the store has finished, whatever the network and the
 * platform do.
 * Method: the adapter on its thread against the simulated platform; a store that accepts, holds or
 * refuses as told.
 */
#include "actor_world.h"

#include "adapters/telegram/telegram.h"

#include <errno.h>
#include <sys/stat.h>

static int64_t counter(const char *name)
{
    return telegram_number(&world_platform, name, "{s:s}", "do", "counters");
}

/* -- confirming -------------------------------------------------------------------------------- */
static void an_update_is_confirmed_after_its_verdict(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    world_hold(true);
    world_say(WORLD_ADA, WORLD_ADA, "first");
    WORLD_WAIT(world_event_count_of("first") == 1);
    world_rest(50);
    CHECK_INT(0, counter("confirmed"));
    CHECK(!world_is_polled()); /* the next poll waits for the store */
    world_hold(false);
    WORLD_WAIT(counter("confirmed") == 1);
    WORLD_WAIT(world_is_polled());
    struct world_event event = world_event_at(0);
    CHECK_TEXT("telegram:chat:501", event.chat_key);
    CHECK_INT(SMA_EVENT_MESSAGE, event.kind);
    world_say(WORLD_ADA, WORLD_ADA, "second");
    WORLD_WAIT(counter("confirmed") == 2);
    CHECK(world_event_at(1).cursor > 0); /* where the first one ended */
    CHECK_INT(1, world_event_count_of("first"));
    WORLD_WAIT(world_log_count("connected as @helper_bot") == 1);
    WORLD_WAIT(world_calls("setmycommands") == 2);
    world_close();
}

static void a_refused_update_stops_what_is_behind_it(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    world_hold(true); /* so that the next three come in one batch */
    world_say(WORLD_ADA, WORLD_ADA, "zero");
    WORLD_WAIT(world_event_count() == 1);
    world_say(WORLD_ADA, WORLD_ADA, "one");
    world_say(WORLD_ADA, WORLD_ADA, "two");
    world_say(WORLD_ADA, WORLD_ADA, "three");
    world_refuse(2, 1);
    world_hold(false);
    WORLD_WAIT(world_event_count() >= 4);
    WORLD_WAIT(counter("confirmed") >= 4);
    CHECK_INT(1, world_event_count_of("zero"));
    CHECK_INT(1, world_event_count_of("one"));
    CHECK_INT(2, world_event_count_of("two"));
    CHECK_INT(2, world_event_count_of("three"));
    CHECK(world_event_at(3).cursor <=
          world_event_at(1).cursor + 2); /* never ahead of what is finished */
    world_close();
}

/* A project may get another bot, and that one counts the messages of each chat anew. */
static void what_another_bot_was_told_does_not_hide_a_message(void)
{
    char key[64];
    world_open("");
    WORLD_WAIT(world_is_polled());
    world_hold(true);
    world_say(WORLD_ADA, WORLD_ADA, "zero");
    WORLD_WAIT(world_event_count() == 1);
    int64_t one = world_say(WORLD_ADA, WORLD_ADA, "one"),
            two = world_say(WORLD_BOB, WORLD_BOB, "two");
    world_refuse(1, 0);
    world_conflict(1);
    world_hold(false);
    WORLD_WAIT(world_event_count_of("two") == 2);
    WORLD_WAIT(counter("confirmed") == 3);
    CHECK_INT(2, world_event_count_of("one"));
    CHECK(world_event_at(1).body_hash != 0);
    CHECK_INT(world_event_at(1).body_hash, world_event_at(3).body_hash);
    snprintf(key, sizeof key, "%lld", (long long)one);
    CHECK_TEXT(key, world_event_at(1).event_key);
    snprintf(key, sizeof key, "%lld:%lld", (long long)FAKE_TELEGRAM_BOT_ID, (long long)one);
    CHECK_TEXT(key, world_event_at(3).event_key); /* the one in conflict */
    snprintf(key, sizeof key, "%lld", (long long)two);
    CHECK_TEXT(key, world_event_at(4).event_key); /* the one behind it is as it was */
    WORLD_WAIT(world_log_count("another bot was used") == 1);
    world_close();
}

static void numbers_may_go_backwards_and_come_twice(void)
{
    world_open("");
    world_say(WORLD_ADA, WORLD_ADA, "before");
    WORLD_WAIT(counter("confirmed") == 1);
    telegram_tell(&world_platform, "{s:s,s:i}", "do", "restart", "update_id", 7);
    world_say(WORLD_ADA, WORLD_ADA, "lower");
    WORLD_WAIT(world_event_count_of("lower") == 1);
    telegram_tell(&world_platform, "{s:s,s:i}", "do", "gap", "count", 50);
    world_say(WORLD_ADA, WORLD_ADA, "after");
    WORLD_WAIT(counter("confirmed") == 3);
    telegram_tell(&world_platform, "{s:s,s:i}", "do", "redeliver", "count", 1);
    WORLD_WAIT(world_event_count_of("after") >= 2); /* the store knows it by its claim */
    world_say(WORLD_ADA, WORLD_ADA, "last");
    WORLD_WAIT(world_event_count_of("last") >= 1);
    world_close();
}

static void the_old_offset_is_honoured_at_start(void)
{
    world_make_platform();
    world_say(WORLD_ADA, WORLD_ADA, "answered by the old program");
    world_cursor = counter("next_update_id");
    world_say(WORLD_ADA, WORLD_ADA, "new");
    world_open("");
    WORLD_WAIT(world_event_count_of("new") == 1);
    CHECK_INT(0, world_event_count_of("answered by the old program"));
    world_cursor = 0;
    world_close();
}

static void a_burst_is_taken_whole_and_in_order(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    for (int i = 0; i < 250; i++) {
        char text[16];
        snprintf(text, sizeof text, "n%d", i);
        world_say(WORLD_ADA, WORLD_ADA, text);
    }
    WORLD_WAIT(counter("confirmed") == 250);
    CHECK_INT(250, world_event_count());
    for (int i = 0; i < 250; i++) {
        char text[16];
        snprintf(text, sizeof text, "n%d", i);
        CHECK_TEXT(text, world_event_at((size_t)i).text);
    }
    world_close();
}

/* -- buttons ----------------------------------------------------------------------------------- */
static bool is_callback_answered(size_t index)
{
    json_t *list = telegram_do(&world_platform, "{s:s}", "do", "callbacks");
    json_t *callback = json_array_get(json_object_get(list, "callbacks"), index);
    bool is_answered = json_is_true(json_object_get(callback, "is_answered"));
    json_decref(list);
    return is_answered;
}

static void press(const char *data, int64_t message_id)
{
    telegram_tell(&world_platform, "{s:s,s:i,s:i,s:I,s:s}", "do", "press", "chat", WORLD_ADA,
                  "user", WORLD_ADA, "message_id", (json_int_t)message_id, "data", data);
}

static void every_button_is_answered(void)
{
    world_open("");
    int64_t message = world_say(WORLD_ADA, WORLD_ADA, "hello");
    WORLD_WAIT(world_event_count() == 1);
    press("approve:7", message);
    WORLD_WAIT(is_callback_answered(0));
    CHECK_INT(SMA_EVENT_CALLBACK, world_event_at(1).kind);
    CHECK_TEXT("approve:7", world_event_at(1).text);
    char big[100] = "";
    memset(big, 'x', sizeof big - 1); /* over the platform's 64 bytes: nothing for the core */
    press(big, message);
    WORLD_WAIT(is_callback_answered(1));
    world_close();
}

static void a_late_verdict_does_not_keep_a_button_turning(void)
{
    world_open("");
    int64_t message = world_say(WORLD_ADA, WORLD_ADA, "hello");
    WORLD_WAIT(counter("confirmed") == 1);
    world_hold(true);
    press("x", message);
    WORLD_WAIT(world_event_count() == 2);
    WORLD_WAIT(is_callback_answered(0)); /* after 5 s */
    CHECK_INT(1, counter("confirmed"));
    world_hold(false);
    WORLD_WAIT(counter("confirmed") == 2);
    CHECK_INT(1, world_calls("answercallbackquery"));
    world_close();
}

/* -- deliveries (what people see of them: tests/talks/telegram_sending.talk) ------------------- */
static struct world_receipt receipt_of(uint64_t row)
{
    struct world_receipt receipt;
    WORLD_WAIT(world_has_receipt(row, &receipt));
    return receipt;
}

static void write_file(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", world_dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fputs(text, file);
    CHECK(fclose(file) == 0);
}

static void a_group_that_moved_is_followed(void)
{
    world_open("");
    telegram_tell(&world_platform, "{s:s,s:i,s:s}", "do", "chat", "id", -77, "type", "group");
    telegram_tell(&world_platform, "{s:s,s:i,s:I}", "do", "migrate", "chat", -77, "to",
                  (json_int_t)-100177);
    WORLD_WAIT(world_event_count() == 2); /* both service messages, one key */
    CHECK_TEXT("telegram:chat:-100177", world_event_at(0).chat_key);
    CHECK_TEXT("telegram:chat:-77", world_event_at(0).migrated_from);
    CHECK_TEXT(world_event_at(0).event_key, world_event_at(1).event_key);
    CHECK_INT(SMA_DELIVERY_SENT,
              receipt_of(world_deliver(1, "-77", "", "3", "for the old one")).state);
    CHECK_INT(1, world_shown(-100177, "for the old one"));
    WORLD_WAIT(world_event_count() == 3); /* sending found out by itself, too */
    CHECK_TEXT("telegram:chat:-77", world_event_at(2).migrated_from);
    CHECK_TEXT(world_event_at(0).event_key, world_event_at(2).event_key);
    CHECK_INT(2, world_calls("sendmessage"));
    CHECK_INT(SMA_DELIVERY_SENT,
              receipt_of(world_deliver(2, "-77", "", "", "straight there")).state);
    CHECK_INT(3, world_calls("sendmessage"));
    CHECK_INT(3, world_event_count());
    world_close();
}

/* What /full made is sent by its own delivery, which sends nothing else. */
static void only_its_own_delivery_sends_an_output(void)
{
    char path[512];
    world_open(",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}");
    snprintf(path, sizeof path, "%s/.ship", world_dir);
    CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/.ship/output", world_dir);
    CHECK(mkdir(path, 0700) == 0);
    write_file(".ship/output/answer-1.md", "the whole answer");
    write_file("plan.txt", "what we do");
    const char *line = "@attach document .ship/output/answer-1.md | all of it";
    CHECK_INT(SMA_DELIVERY_FAILED, receipt_of(world_deliver(1, "501", "", "", line)).state);
    CHECK_INT(0, world_calls("senddocument"));
    world_set_intent(SMA_INTENT_OUTPUT);
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(world_deliver(2, "501", "", "", line)).state);
    CHECK_INT(SMA_DELIVERY_FAILED,
              receipt_of(world_deliver(3, "501", "", "", "@attach document plan.txt")).state);
    CHECK_INT(1, world_calls("senddocument"));
    world_close();
}

/* -- progress (the rest: tests/talks/telegram_progress.talk) ----------------------------------- */
static int64_t actions_in(int64_t chat)
{
    json_t *list = world_chat(chat);
    int64_t count = json_integer_value(json_object_get(list, "actions"));
    json_decref(list);
    return count;
}

static void only_a_run_that_lasts_shows_typing(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    world_progress(1, SMA_PROGRESS_STARTED, "501", "");
    world_progress(1, SMA_PROGRESS_FINISHED, "501", "");
    world_progress(2, SMA_PROGRESS_STARTED, "-1001", "");
    WORLD_WAIT(actions_in(WORLD_GROUP) == 1);
    CHECK_INT(0, actions_in(WORLD_ADA));
    world_rest(500);
    CHECK_INT(1, actions_in(WORLD_GROUP)); /* again after 4 s only */
    world_progress(2, SMA_PROGRESS_FINISHED, "-1001", "");
    world_close();
}

/* -- webhook ----------------------------------------------------------------------------------- */
#define UPDATE                                                                                   \
    "{\"update_id\":9,\"message\":{\"message_id\":3,\"date\":1,\"from\":{\"id\":501,\"is_bot\":" \
    "false,\"first_name\":\"Ada\"},\"chat\":{\"id\":501,\"type\":\"private\"},\"text\":"         \
    "\"hooked\"}}"

static int hook_status(const char *secret, const char *body, uint32_t *ret_retry_after_s)
{
    struct world_answer answer;
    size_t number = world_call_back(secret, body);
    WORLD_WAIT(world_has_webhook_answer(number, &answer));
    *ret_retry_after_s = answer.retry_after_s;
    return answer.status;
}

static void a_webhook_needs_its_secret_and_the_store(void)
{
    uint32_t retry_after_s;
    struct world_answer answer;
    world_open(",\"mode\":\"webhook\"");
    WORLD_WAIT(world_log_count("connected as") == 1);
    CHECK_INT(401, hook_status(NULL, UPDATE, &retry_after_s));
    CHECK_INT(401, hook_status("", UPDATE, &retry_after_s));
    CHECK_INT(401, hook_status(WORLD_SECRET "x", UPDATE, &retry_after_s));
    CHECK_INT(401, hook_status("0123456789abcdef-secreT", UPDATE, &retry_after_s));
    CHECK_INT(0, world_event_count());
    CHECK_INT(200, hook_status(WORLD_SECRET, UPDATE, &retry_after_s));
    CHECK_INT(1, world_event_count_of("hooked"));
    CHECK_INT(-1, world_event_at(0).cursor); /* nothing to confirm by number */
    world_refuse(0, 1);
    CHECK_INT(503, hook_status(WORLD_SECRET, UPDATE, &retry_after_s));
    CHECK(retry_after_s > 0);
    CHECK_INT(200, hook_status(WORLD_SECRET, "{ this is no update", &retry_after_s));
    WORLD_WAIT(world_log_count("an authentic webhook request cannot be read") == 1);
    CHECK_INT(200, hook_status(WORLD_SECRET, "{\"update_id\":4,\"poll\":{}}", &retry_after_s));
    world_hold(true);
    size_t number = world_call_back(WORLD_SECRET, UPDATE);
    WORLD_WAIT(world_event_count() == 3);
    world_rest(30);
    CHECK(!world_has_webhook_answer(number, &answer));
    world_hold(false);
    WORLD_WAIT(world_has_webhook_answer(number, &answer));
    CHECK_INT(200, answer.status);
    CHECK_INT(0, world_calls("getupdates"));
    world_close();
}

static void polling_takes_no_webhooks(void)
{
    uint32_t retry_after_s;
    world_open("");
    CHECK_INT(404, hook_status(WORLD_SECRET, UPDATE, &retry_after_s));
    world_close();
}

static void a_configured_url_is_registered(void)
{
    world_open(",\"mode\":\"webhook\",\"webhookUrl\":\"http://127.0.0.1:9/webhooks/telegram\"");
    WORLD_WAIT(world_calls("setwebhook") == 1);
    WORLD_WAIT(world_log_count("webhook set") == 1);
    world_close();
}

/* -- the end ----------------------------------------------------------------------------------- */
static void a_stop_in_mid_poll_is_quick(void)
{
    world_open(",\"pollTimeoutS\":50");
    WORLD_WAIT(world_is_polled());
    world_close(); /* the test's own time limit is the check */
}

static void a_stop_waits_for_what_is_at_the_store(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    world_hold(true);
    world_say(WORLD_ADA, WORLD_ADA, "held");
    WORLD_WAIT(world_event_count() == 1);
    world_hold(false); /* the answer and the stop meet */
    world_close();
}

/* -- configuration ----------------------------------------------------------------------------- */
static void wrong_settings_are_named(void)
{
    static const struct
    {
        enum sma_err err;
        const char *json, *expect;
    } cases[] = {
        {SMA_ERR_NOTFOUND, "", ""},
        {SMA_ERR_NOTFOUND, "{\"enabled\":true}", ""},
        {SMA_ERR_NOTFOUND, "{\"botToken\":\"\"}", ""},
        {SMA_ERR_NOTFOUND, "{\"botToken\":\"${}\"}", ""},
        {SMA_ERR_BADINPUT, "{\"botToken\":7}", "adapters.telegram.botToken must be a string"},
        {SMA_ERR_BADINPUT, "{\"botToken\":\"1:a/../b\"}",
         "adapters.telegram.botToken is not a bot token"},
        {SMA_ERR_BADINPUT, "{\"botToken\":\"1:a\",\"apiRoot\":\"ftp://x\"}",
         "adapters.telegram.apiRoot"},
        {SMA_ERR_BADINPUT, "{\"botToken\":\"1:a\",\"mode\":\"push\"}",
         "adapters.telegram.mode must be one of polling,webhook"},
        {SMA_ERR_BADINPUT, "{\"botToken\":\"1:a\",\"mode\":\"webhook\"}",
         "adapters.telegram.webhookSecret must be set"},
        {SMA_ERR_BADINPUT,
         "{\"botToken\":\"1:a\",\"mode\":\"webhook\",\"webhookSecret\":\"fifteen-letters\"}",
         "16 to 256 characters"},
        {SMA_ERR_BADINPUT,
         "{\"botToken\":\"1:a\",\"mode\":\"webhook\",\"webhookSecret\":\"with a space in it\"}",
         "webhookSecret"},
        {SMA_ERR_BADINPUT,
         "{\"botToken\":\"1:a\",\"mode\":\"webhook\",\"webhookSecret\":\"0123456789abcdef\","
         "\"webhookUrl\":\"http://x/\"}",
         "webhookUrl must be an https:// URL"},
        {SMA_ERR_BADINPUT, "{\"botToken\":\"1:a\",\"limits\":{\"perSecond\":-1}}",
         "limits.perSecond"},
        {SMA_ERR_BADINPUT, "{\"botToken\":\"1:a\",\"limits\":3}",
         "limits must be an object: {\"perSecond\": 30}"},
        {SMA_ERR_BADINPUT, "{\"botToken\":\"1:a\",\"pollTimeoutS\":51}", "between 1 and 50"},
        {SMA_ERR_BADINPUT, "{\"botToken\":\"1:a\",\"groupAccess\":\"all\"}", "groupAccess"},
        {SMA_ERR_BADINPUT, "{\"botToken\":\"1:a\",\"progress\":1}", "one of auto,typing,off"},
        {SMA_ERR_OK,
         "{\"botToken\":\"1:a\",\"chatId\":\"7\",\"limits\":{\"perGroupPerMinute\":0,\"perSecond\":"
         "\"5\"}}",
         ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_config config = {.project_dir = "/tmp", .state_dir = "/tmp"};
        struct sma_config_adapter block = {
            .name = "telegram", .is_enabled = true, .json = cases[i].json};
        struct sma_error error = {0};
        void *state = NULL;
        CHECK_ERR(cases[i].err, sma_telegram_adapter_ops.create(&config, &block, &state, &error));
        CHECK(strstr(error.text, cases[i].expect) != NULL);
        if (state == NULL)
            continue;
        struct sma_capabilities capabilities = sma_telegram_adapter_ops.capabilities;
        sma_telegram_adapter_ops.configure(state, &capabilities);
        CHECK_INT(5, capabilities.adapter_per_second);
        CHECK_INT(60, capabilities.chat_per_minute);
        CHECK(capabilities.group_per_minute > 1000000); /* none, and not "as the chats" */
        sma_telegram_adapter_ops.destroy(state);
    }
}

int main(void)
{
    RUN(wrong_settings_are_named);
    RUN(an_update_is_confirmed_after_its_verdict);
    RUN(a_refused_update_stops_what_is_behind_it);
    RUN(what_another_bot_was_told_does_not_hide_a_message);
    RUN(numbers_may_go_backwards_and_come_twice);
    RUN(the_old_offset_is_honoured_at_start);
    RUN(a_burst_is_taken_whole_and_in_order);
    RUN(every_button_is_answered);
    RUN(a_late_verdict_does_not_keep_a_button_turning);
    RUN(a_group_that_moved_is_followed);
    RUN(only_its_own_delivery_sends_an_output);
    RUN(only_a_run_that_lasts_shows_typing);
    RUN(a_webhook_needs_its_secret_and_the_store);
    RUN(polling_takes_no_webhooks);
    RUN(a_configured_url_is_registered);
    RUN(a_stop_in_mid_poll_is_quick);
    RUN(a_stop_waits_for_what_is_at_the_store);
    return check_summary();
}
