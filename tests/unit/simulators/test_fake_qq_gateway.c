/*
 * Aim: the gateway of the fake QQ platform refuses what the platform refuses, keeps events for a
 * resume, and misbehaves
 * as told: a test that passes before it says something.
 * Method: one server on a thread, a client that sends what it is told; every close code and every
 * fault once.
 */
#include "qq_tester.h"

#include "scenario/talk.h"
#include "support/clock.h"
#include "support/patience.h"

/* -- tokens ------------------------------------------------------------------------------------ */
static json_t *ask_token(const char *body)
{
    struct http_answer answer = qq_ask("POST", "/app/getAppAccessToken", "", body);
    CHECK_INT(200, answer.status); /* refusals too */
    json_t *tree = json_loadb(answer.body, answer.len, 0, NULL);
    http_answer_fini(&answer);
    return tree;
}

static void token_refused(int64_t code, const char *body)
{
    json_t *tree = ask_token(body);
    CHECK(json_object_get(tree, "access_token") == NULL);
    CHECK_INT(code, platform_number(tree, "code", 0));
    json_decref(tree);
}

static void tokens_are_given_and_kept(void)
{
    static const char good[] =
        "{\"appId\":\"" FAKE_QQ_APP_ID "\",\"clientSecret\":\"" FAKE_QQ_SECRET "\"}";
    token_refused(100007, "{\"appId\":\"1\",\"clientSecret\":\"" FAKE_QQ_SECRET "\"}");
    token_refused(100016, "{\"appId\":\"" FAKE_QQ_APP_ID "\",\"clientSecret\":\"wrong\"}");
    token_refused(100007, "nothing");
    json_t *first = ask_token(good), *second = ask_token(good);
    CHECK(json_is_string(json_object_get(first, "expires_in")));
    CHECK_TEXT(platform_text(first, "access_token", ""),
               platform_text(second, "access_token", "?"));
    json_decref(second);
    platform_tell(&tester.client, "{s:s,s:i}", "do", "clock", "seconds",
                  7150); /* its last minute */
    second = ask_token(good);
    const char *newer = platform_text(second, "access_token", "");
    CHECK(strcmp(platform_text(first, "access_token", ""), newer) != 0);
    json_decref(qq_call(200, "GET", "/users/@me", NULL)); /* the old one lives */
    snprintf(tester.token, sizeof tester.token, "%s", newer);
    json_decref(qq_call(200, "GET", "/users/@me", NULL));
    snprintf(tester.token, sizeof tester.token, "%s", platform_text(first, "access_token", ""));
    platform_tell(&tester.client, "{s:s,s:i}", "do", "clock", "seconds", 7260);
    qq_refused(401, 11244, "GET", "/users/@me", NULL);
    json_decref(first);
    json_decref(second);
    platform_tell(&tester.client, "{s:s,s:i,s:b}", "do", "token_life", "seconds", 90, "number", 1);
    first = ask_token(good);
    CHECK(json_is_integer(json_object_get(first, "expires_in")));
    json_decref(first);
    platform_tell(&tester.client, "{s:s,s:i}", "do", "clock", "seconds", 0);
    platform_tell(&tester.client, "{s:s}", "do", "token_life");
    qq_log_in();
}

static void calls_need_a_token(void)
{
    static const struct
    {
        const char *token;
        const char *code;
    } cases[] = {{"", "\"err_code\":11241"},
                 {"Bot 102000001.abc", "\"err_code\":11243"},
                 {"QQBot AT0", "\"err_code\":11244"}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct http_answer answer = qq_ask("GET", "/gateway", cases[i].token, NULL);
        CHECK_INT(401, answer.status);
        CHECK(strstr(answer.body, cases[i].code) != NULL);
        http_answer_fini(&answer);
    }
    json_decref(qq_call(404, "GET", "/nothing", NULL));
    json_t *gateway = qq_call(200, "GET", "/gateway/bot", NULL);
    CHECK(strncmp(platform_text(gateway, "url", ""), "ws://127.0.0.1:", 15) == 0);
    CHECK_INT(1000, platform_number(json_object_get(gateway, "session_start_limit"), "total", 0));
    json_decref(gateway);
    gateway = qq_call(200, "GET", "/gateway", NULL);
    CHECK(json_object_size(gateway) == 1);
    json_decref(gateway);
}

/* -- introductions ----------------------------------------------------------------------------- */
static void closed_for(unsigned code, const char *text)
{
    struct raw_ws ws;
    qq_connect(&ws);
    qq_put(&ws, "%s", text);
    qq_expect_close(&ws, code);
}

static void identify_closed_for(unsigned code, const char *format)
{
    char *text = qq_fill(format, tester.token);
    closed_for(code, text);
    free(text);
}

static void bad_introductions_close(void)
{
    struct raw_ws ws;
    closed_for(4002, "hello");
    closed_for(4002, "{\"d\":1}");
    closed_for(4003, "{\"op\":1,\"d\":null}");
    closed_for(4003, "{\"op\":99}");
    closed_for(4004, "{\"op\":2,\"d\":{\"token\":\"QQBot AT0\",\"intents\":1,\"shard\":[0,1]}}");
    closed_for(4004, "{\"op\":6,\"d\":{\"token\":\"AT0\",\"session_id\":\"x\",\"seq\":1}}");
    identify_closed_for(4004, "{\"op\":2,\"d\":{\"token\":\"%s\",\"intents\":1}}"); /* no prefix */
    identify_closed_for(4013, "{\"op\":2,\"d\":{\"token\":\"QQBot %s\",\"intents\":4}}");
    identify_closed_for(4013, "{\"op\":2,\"d\":{\"token\":\"QQBot %s\"}}");
    identify_closed_for(4014, "{\"op\":2,\"d\":{\"token\":\"QQBot %s\",\"intents\":512}}");
    identify_closed_for(4010,
                        "{\"op\":2,\"d\":{\"token\":\"QQBot %s\",\"intents\":1,\"shard\":[1,1]}}");
    raw_ws_open(&ws, tester.port, "/elsewhere");
    CHECK_INT(404, ws.status);
    raw_ws_close(&ws);
    CHECK_INT(0, qq_count("identifies"));
}

static void started_sessions_are_told_what_is_wrong(void)
{
    struct raw_ws ws;
    platform_tell(&tester.client, "{s:s,s:i}", "do", "gateway", "concurrency", 0);
    free(qq_ready(&ws));
    qq_put(&ws, "{\"op\":1,\"d\":1}");
    json_decref(qq_expect(&ws, 11, ""));
    qq_put(&ws, "{\"op\":1,\"d\":null}");
    json_decref(qq_expect(&ws, 11, ""));
    qq_identify(&ws, USUAL_INTENTS);
    qq_expect_close(&ws, 4005);
    free(qq_ready(&ws));
    qq_put(&ws, "{\"op\":5}");
    qq_expect_close(&ws, 4001);
    free(qq_ready(&ws));
    qq_put(&ws, "{\"op\":1,\"d\":77}"); /* nobody sent that */
    qq_expect_close(&ws, 4007);
    free(qq_ready(&ws));
    for (int i = 0; i < 130; i++)
        qq_put(&ws, "{\"op\":1,\"d\":1}");
    qq_expect_close(&ws, 4008);
    free(qq_ready(&ws));
    raw_ws_send(&ws, SMA_STR("{\"op\":1,\"d\":1}"), true); /* binary */
    qq_expect_close(&ws, 4002);
}

static void identifies_are_counted(void)
{
    struct raw_ws ws;
    platform_tell(&tester.client, "{s:s,s:i,s:i}", "do", "gateway", "concurrency", 0, "identifies",
                  1);
    free(qq_ready(&ws));
    raw_ws_close(&ws);
    qq_connect(&ws);
    qq_identify(&ws, USUAL_INTENTS);
    json_t *invalid = qq_expect(&ws, 9, "");
    CHECK(json_is_false(json_object_get(invalid, "d")));
    json_decref(invalid);
    raw_ws_close(&ws);
    platform_tell(&tester.client, "{s:s,s:i,s:i}", "do", "gateway", "concurrency", 1, "identifies",
                  1000);
    qq_connect(&ws);
    qq_identify(&ws, USUAL_INTENTS);
    json_decref(qq_take(&ws, ANSWER_MS)); /* READY, or the five seconds still run */
    raw_ws_close(&ws);
    qq_connect(&ws);
    qq_identify(&ws, USUAL_INTENTS);
    json_decref(qq_expect(&ws, 9, ""));
    raw_ws_close(&ws);
    platform_tell(&tester.client, "{s:s,s:i}", "do", "gateway", "concurrency", 0);
}

/* -- events and resume ------------------------------------------------------------------------- */
static void say(const char *text)
{
    free(qq_say(ANN_CHAT, text));
}

static void resume_replays_with_the_same_numbers(void)
{
    struct raw_ws ws;
    char *session = qq_ready(&ws);
    say("one");
    say("two");
    qq_expect_content(&ws, "one", 2);
    qq_expect_content(&ws, "two", 3);
    raw_ws_close(&ws);
    say("three"); /* nobody is there, or nobody noticed */
    qq_connect(&ws);
    qq_resume(&ws, session, 2);
    qq_expect_content(&ws, "two", 3);
    qq_expect_content(&ws, "three", 4);
    json_t *resumed = qq_expect(&ws, 0, "RESUMED");
    CHECK_TEXT("", json_string_value(json_object_get(resumed, "d")));
    CHECK_INT(5, qq_seq(resumed));
    say("four");
    qq_expect_content(&ws, "four", 6);
    struct raw_ws other; /* a second one takes the session over */
    qq_connect(&other);
    qq_put(&other, "{\"op\":6,\"d\":{\"token\":\"%s\",\"session_id\":\"%s\",\"seq\":6}}",
           tester.token, session);
    json_decref(qq_expect(&other, 0, "RESUMED"));
    qq_expect_close(&ws, 4009);
    raw_ws_close(&other);
    qq_connect(&ws);
    qq_resume(&ws, session, 99);
    qq_expect_close(&ws, 4007);
    free(session);
}

static void unknown_sessions_are_invalid(void)
{
    static const char *const hows[] = {"op9", "op9true", "4006", "4007"};
    for (size_t i = 0; i < SMA_COUNT_OF(hows); i++) {
        struct raw_ws ws;
        platform_tell(&tester.client, "{s:s,s:s}", "do", "gateway", "resume_refusal", hows[i]);
        qq_connect(&ws);
        qq_resume(&ws, "no-such-session", 1);
        if (i < 2) {
            json_t *invalid = qq_expect(&ws, 9, "");
            CHECK_INT(i == 1, json_is_true(json_object_get(invalid, "d")));
            json_decref(invalid);
            raw_ws_close(&ws);
        } else {
            qq_expect_close(&ws, i == 2 ? 4006 : 4007);
        }
    }
    struct raw_ws ws;
    char *session = qq_ready(&ws);
    raw_ws_close(&ws);
    platform_tell(&tester.client, "{s:s,s:s}", "do", "gateway", "resume_refusal", "!op9");
    qq_connect(&ws);
    qq_resume(&ws, session, 1);
    json_decref(qq_expect(&ws, 9, ""));
    raw_ws_close(&ws);
    platform_tell(&tester.client, "{s:s,s:s}", "do", "gateway", "resume_refusal", "op9");
    platform_tell(&tester.client, "{s:s}", "do", "forget");
    qq_connect(&ws);
    qq_resume(&ws, session, 1);
    json_decref(qq_expect(&ws, 9, ""));
    raw_ws_close(&ws);
    free(session);
}

static void events_go_to_who_asked_for_them(void)
{
    struct raw_ws ws;
    int64_t filtered = qq_count("filtered"), lost = qq_count("lost");
    qq_connect(&ws);
    qq_identify(&ws, 1 << 25);
    json_decref(qq_expect(&ws, 0, "READY"));
    free(qq_say(PLACE_CHAT, "in the guild"));
    CHECK_INT(filtered + 1, qq_count("filtered"));
    free(qq_say(TEAM_CHAT, "hello"));
    json_t *event = qq_expect(&ws, 0, "GROUP_AT_MESSAGE_CREATE");
    CHECK_TEXT(" hello", platform_text(json_object_get(event, "d"), "content", ""));
    json_decref(event);
    json_t *said = platform_do(&tester.client, "{s:s,s:s,s:s,s:b}", "do", "say", "chat", TEAM_CHAT,
                               "text", "not to the bot", "at", 0);
    CHECK(json_is_false(json_object_get(said, "is_pushed"))); /* the owner has not allowed it */
    json_decref(said);
    platform_tell(&tester.client, "{s:s}", "do", "forget");
    say("to nobody");
    CHECK_INT(lost + 1, qq_count("lost"));
    raw_ws_close(&ws);
}

static void shards_share_the_chats(void)
{
    struct raw_ws shards[2];
    char chat[64];
    size_t counts[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        qq_connect(&shards[i]);
        qq_put(&shards[i],
               "{\"op\":2,\"d\":{\"token\":\"QQBot %s\",\"intents\":%d,\"shard\":[%d,2]}}",
               tester.token, 1 << 25, i);
        json_decref(qq_expect(&shards[i], 0, "READY"));
    }
    for (int i = 0; i < 16; i++) {
        snprintf(chat, sizeof chat, "c2c:%032X", i);
        platform_tell(&tester.client, "{s:s,s:s}", "do", "chat", "chat", chat);
        free(qq_say(chat, "x"));
    }
    for (int i = 0; i < 2; i++) {
        for (json_t *event = qq_take(&shards[i], 100); event != NULL;
             event = qq_take(&shards[i], 100)) {
            counts[i]++;
            json_decref(event);
        }
        raw_ws_close(&shards[i]);
    }
    CHECK_INT(16, counts[0] + counts[1]);
    CHECK(counts[0] > 0 && counts[1] > 0);
    platform_tell(&tester.client, "{s:s}", "do", "forget");
}

/* -- forms of events --------------------------------------------------------------------------- */
static void old_and_new_forms_are_sent(void)
{
    struct raw_ws ws;
    free(qq_ready(&ws));
    platform_tell(&tester.client, "{s:s,s:s,s:s,s:b,s:b}", "do", "say", "chat", TEAM_CHAT, "text",
                  "old", "old", 1, "both", 1);
    json_t *event = qq_expect(&ws, 0, "GROUP_AT_MESSAGE_CREATE"),
           *again = qq_expect(&ws, 0, "GROUP_MESSAGE_CREATE");
    const json_t *data = json_object_get(event, "d");
    CHECK(strstr(platform_text(data, "timestamp", ""), "CST m=+") != NULL);
    CHECK(json_object_get(data, "mentions") == NULL);
    CHECK_TEXT(platform_text(data, "id", ""),
               platform_text(json_object_get(again, "d"), "id", "?"));
    CHECK(strcmp(platform_text(event, "id", ""), platform_text(again, "id", "")) != 0);
    json_decref(event);
    json_decref(again);
    platform_tell(&tester.client, "{s:s,s:s,s:s,s:i}", "do", "say", "chat", PLACE_CHAT, "text",
                  "hi", "times", 2);
    event = qq_expect(&ws, 0, "AT_MESSAGE_CREATE");
    again = qq_expect(&ws, 0, "AT_MESSAGE_CREATE");
    CHECK_TEXT(platform_text(event, "id", ""), platform_text(again, "id", "?"));
    CHECK(platform_number(event, "s", 0) + 1 == platform_number(again, "s", 0));
    CHECK_TEXT("<@!" FAKE_QQ_BOT_ID "> hi",
               platform_text(json_object_get(event, "d"), "content", ""));
    json_decref(event);
    json_decref(again);
    platform_tell(&tester.client, "{s:s,s:i}", "do", "redeliver", "count", 1);
    json_decref(qq_expect(&ws, 0, "AT_MESSAGE_CREATE"));
    platform_tell(&tester.client, "{s:s,s:s,s:s}", "do", "relate", "chat", ANN_CHAT, "type",
                  "FRIEND_ADD");
    event = qq_expect(&ws, 0, "FRIEND_ADD");
    CHECK(json_is_integer(json_object_get(json_object_get(event, "d"), "timestamp")));
    json_decref(event);
    raw_ws_close(&ws);
}

static void attachments_can_be_fetched_without_a_token(void)
{
    struct raw_ws ws;
    free(qq_ready(&ws));
    platform_tell(&tester.client, "{s:s,s:s,s:[{s:s,s:s,s:s},{s:b}]}", "do", "say", "chat",
                  ANN_CHAT, "attachments", "type", "file", "name", "a.txt", "text", "the content",
                  "bare", 1);
    json_t *event = qq_expect(&ws, 0, "C2C_MESSAGE_CREATE");
    const json_t *list = json_object_get(json_object_get(event, "d"), "attachments");
    const char *url = platform_text(json_array_get(list, 0), "url", "");
    CHECK(strncmp(platform_text(json_array_get(list, 1), "url", ""), "127.0.0.1:", 10) == 0);
    struct http_answer answer = qq_ask("GET", strstr(url, "/download"), "", NULL);
    CHECK_INT(200, answer.status);
    CHECK_TEXT("the content", answer.body);
    http_answer_fini(&answer);
    CHECK_INT(0, qq_count("leaks"));
    answer = qq_ask("GET", strstr(url, "/download"), "QQBot x", NULL);
    http_answer_fini(&answer);
    CHECK_INT(1, qq_count("leaks"));
    answer = qq_ask("GET", "/download/f99", "", NULL);
    CHECK_INT(404, answer.status);
    http_answer_fini(&answer);
    platform_tell(&tester.client, "{s:s,s:i}", "do", "clock", "seconds", 3601); /* it has ended */
    answer = qq_ask("GET", strstr(url, "/download"), "", NULL);
    CHECK_INT(404, answer.status);
    http_answer_fini(&answer);
    platform_tell(&tester.client, "{s:s,s:i}", "do", "clock", "seconds", 0);
    json_decref(event);
    raw_ws_close(&ws);
}

/* -- faults ------------------------------------------------------------------------------------ */
static void missed_heartbeats_close(void)
{
    struct raw_ws ws;
    platform_tell(&tester.client, "{s:s,s:i}", "do", "gateway", "heartbeat", 50);
    free(qq_ready(&ws));
    long long began = clock_now_ms();
    qq_expect_close(&ws, 4009);
    CHECK(clock_now_ms() - began >= 100);
    platform_tell(&tester.client, "{s:s,s:b,s:i}", "do", "gateway", "acks", 0, "heartbeat", 5000);
    free(qq_ready(&ws));
    qq_put(&ws, "{\"op\":1,\"d\":null}");
    CHECK(qq_take(&ws, 50) == NULL);
    raw_ws_close(&ws);
    platform_tell(&tester.client, "{s:s,s:b,s:b}", "do", "gateway", "acks", 1, "hello", 0);
    raw_ws_open(&ws, tester.port, "/websocket");
    CHECK(qq_take(&ws, 50) == NULL && ws.fd >= 0);
    raw_ws_close(&ws);
    platform_tell(&tester.client, "{s:s,s:b,s:i}", "do", "gateway", "hello", 1, "heartbeat", 41250);
}

static void links_end_as_told(void)
{
    struct raw_ws ws;
    static const int codes[] = {4008, 4009, 4900, 4914, 1000};
    for (size_t i = 0; i < SMA_COUNT_OF(codes); i++) {
        char *session = qq_ready(&ws);
        platform_tell(&tester.client, "{s:s,s:i}", "do", "close", "code", codes[i]);
        qq_expect_close(&ws, (unsigned)codes[i]);
        qq_connect(&ws);
        qq_resume(&ws, session, 1);
        bool may_resume = codes[i] != 4900 && codes[i] != 4914;
        json_decref(qq_expect(&ws, may_resume ? 0 : 9, may_resume ? "RESUMED" : ""));
        raw_ws_close(&ws);
        free(session);
    }
    for (int i = 0; i < 2; i++) {
        free(qq_ready(&ws));
        platform_tell(&tester.client, "{s:s}", "do", i == 0 ? "drop" : "reset");
        CHECK(qq_take(&ws, ANSWER_MS) == NULL && ws.fd < 0);
        raw_ws_close(&ws);
    }
    free(qq_ready(&ws));
    platform_tell(&tester.client, "{s:s}", "do", "reconnect");
    json_decref(qq_expect(&ws, 7, ""));
    platform_tell(&tester.client, "{s:s}", "do", "ask_beat");
    json_decref(qq_expect(&ws, 1, ""));
    platform_tell(&tester.client, "{s:s}", "do", "invalid");
    json_decref(qq_expect(&ws, 9, ""));
    raw_ws_close(&ws);
}

static void a_cut_frame_comes_again(void)
{
    struct raw_ws ws;
    struct sma_buf bytes;
    char *session = qq_ready(&ws);
    sma_buf_init(&bytes, 1u << 20);
    platform_tell(&tester.client, "{s:s,s:s,s:s}", "do", "cut", "chat", ANN_CHAT, "text", "half");
    CHECK(!raw_ws_take(&ws, ANSWER_MS, &bytes) && ws.fd < 0);
    raw_ws_close(&ws);
    qq_connect(&ws);
    qq_resume(&ws, session, 1);
    qq_expect_content(&ws, "half", 2);
    raw_ws_close(&ws);
    free(session);
    sma_buf_fini(&bytes);
}

static void odd_frames_are_sent_on_demand(void)
{
    static const char *const kinds[] = {"text", "binary", "utf8"};
    struct raw_ws ws;
    struct sma_buf bytes;
    sma_buf_init(&bytes, 16u << 20);
    free(qq_ready(&ws));
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        platform_tell(&tester.client, "{s:s,s:s}", "do", "garbage", "kind", kinds[i]);
        sma_buf_clear(&bytes);
        CHECK(raw_ws_take(&ws, ANSWER_MS, &bytes));
        CHECK_INT(i == 1 ? 2 : 1, ws.opcode);
    }
    sma_buf_clear(&bytes);
    platform_tell(&tester.client, "{s:s,s:i}", "do", "oversize", "bytes", 3000000);
    CHECK(raw_ws_take(&ws, ANSWER_MS, &bytes) && bytes.len >= 3000000);
    platform_tell(&tester.client, "{s:s,s:i}", "do", "gateway", "fragments", 5);
    say("in pieces");
    qq_expect_content(&ws, "in pieces", 2);
    platform_tell(&tester.client, "{s:s,s:i}", "do", "gateway", "fragments", 0);
    platform_tell(&tester.client, "{s:s,s:i}", "do", "skip", "count", 10);
    say("after a gap");
    qq_expect_content(&ws, "after a gap", 13);
    sma_buf_fini(&bytes);
    raw_ws_close(&ws);
}

static void a_frozen_link_is_silent_and_a_restart_refuses(void)
{
    struct raw_ws ws;
    char *session = qq_ready(&ws);
    platform_tell(&tester.client, "{s:s}", "do", "freeze");
    say("into the void");
    CHECK(qq_take(&ws, 100) == NULL && ws.fd >= 0);
    raw_ws_close(&ws);
    qq_connect(&ws);
    qq_resume(&ws, session, 1);
    qq_expect_content(&ws, "into the void", 2);
    platform_tell(&tester.client, "{s:s,s:i}", "do", "restart", "ms", 150);
    while (ws.fd >= 0)
        json_decref(qq_take(&ws, ANSWER_MS));
    raw_ws_close(&ws);
    process_pause_ms(300);
    platform_tell(&tester.client, "{s:s,s:i,s:i}", "do", "refuse_upgrade", "times", 1, "status",
                  503);
    raw_ws_open(&ws, tester.port, "/websocket");
    CHECK_INT(503, ws.status);
    raw_ws_close(&ws);
    qq_connect(&ws);
    qq_resume(&ws, session, 2);
    json_decref(qq_expect(&ws, 0, "RESUMED"));
    raw_ws_close(&ws);
    free(session);
}

/* -- speed ------------------------------------------------------------------------------------- */
static void floods_keep_their_pace(void)
{
    struct raw_ws ws;
    struct sma_buf bytes;
    size_t count = 0;
    free(qq_ready(&ws));
    sma_buf_init(&bytes, 1u << 20);
    platform_tell(&tester.client, "{s:s,s:i,s:i,s:i}", "do", "load", "chats", 50, "total", 3000,
                  "rate", 15000);
    long long began = process_now_ms();
    while (count < 3000 && raw_ws_take(&ws, ANSWER_MS, &bytes)) {
        sma_buf_clear(&bytes);
        count++;
    }
    CHECK_INT(3000, count);
    fprintf(stderr, "   3000 events in %lld ms\n", process_now_ms() - began);
    CHECK(process_now_ms() - began < 3000 * PATIENCE);
    sma_buf_fini(&bytes);
    raw_ws_close(&ws);
}

int main(void)
{
    qq_start();
    RUN(tokens_are_given_and_kept);
    RUN(calls_need_a_token);
    RUN(bad_introductions_close);
    RUN(started_sessions_are_told_what_is_wrong);
    RUN(identifies_are_counted);
    RUN(resume_replays_with_the_same_numbers);
    RUN(unknown_sessions_are_invalid);
    RUN(events_go_to_who_asked_for_them);
    RUN(shards_share_the_chats);
    RUN(old_and_new_forms_are_sent);
    RUN(attachments_can_be_fetched_without_a_token);
    RUN(missed_heartbeats_close);
    RUN(links_end_as_told);
    RUN(a_cut_frame_comes_again);
    RUN(odd_frames_are_sent_on_demand);
    RUN(a_frozen_link_is_silent_and_a_restart_refuses);
    RUN(floods_keep_their_pace);
    qq_stop();
    return check_summary();
}
