/*
 * Aim: the HTTP API keeps its word: one message one run, answers under load, stop, full queues,
 *      restarts, tokens, new configuration, old projects.
 * Method: the real binary over sockets, many callers at once; a model server that can be slow says
 *   what it was asked. scenario_api BINARY FAKE_MODEL
 */
#include "support/check.h"
#include "support/clock.h"
#include "support/patience.h"
#include "talk.h"
#include "world.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define LLM "\"api\":\"chat\",\"apiKey\":\"" WORLD_API_KEY "\""
#define ASYNC "Prefer: respond-async\r\n"

static char *binary, *fake_model;
static struct world shared; /* of the cases that need nothing of their own */

static void post_start(struct talk *talk, int port, const char *headers, const char *chat_id,
                       const char *message_id, const char *text)
{
    char *body = talk_body(chat_id, message_id, text);
    talk_start(talk, port, "/api/execute", headers, body);
    free(body);
}

/* The end of a caller's wait, with this status and word in "status". */
static json_t *post_end(struct talk *talk, int status)
{
    talk_wait(talk);
    if (talk->answer.status != status)
        fprintf(stderr, "%s: %s\n", talk->body,
                talk->answer.body == NULL ? "no answer" : talk->answer.body);
    CHECK_INT(status, talk->answer.status);
    json_t *root = talk_json(&talk->answer);
    return root;
}

/* Accepted, not waited for: its run id. */
static void post_async(int port, const char *chat_id, const char *message_id, const char *text,
                       char run_id[32])
{
    struct talk talk;
    post_start(&talk, port, ASYNC, chat_id, message_id, text);
    json_t *root = post_end(&talk, 202);
    CHECK(json_is_true(json_object_get(root, "success")));
    CHECK_TEXT("accepted", talk_text(root, "status"));
    snprintf(run_id, 32, "%s", talk_text(root, "runId"));
    CHECK(run_id[0] != '\0');
    json_decref(root);
    talk_fini(&talk);
}

static json_t *run_get(int port, const char *run_id, int wait_s)
{
    char path[128];
    snprintf(path, sizeof path, "/api/runs/%s?wait=%d", run_id, wait_s);
    return talk_get(port, path);
}

static void expect_run(int port, const char *run_id, const char *status, const char *part)
{
    json_t *root = run_get(port, run_id, 40);
    if (strcmp(talk_text(root, "status"), status) != 0 ||
        strstr(talk_text(root, "output"), part) == NULL)
        fprintf(stderr, "run %s: %s \"%s\", wanted %s \"%s\"\n", run_id, talk_text(root, "status"),
                talk_text(root, "output"), status, part);
    CHECK_TEXT(status, talk_text(root, "status"));
    CHECK(strstr(talk_text(root, "output"), part) != NULL);
    json_decref(root);
}

static size_t count_asked(const struct world *world, const char *part)
{
    json_t *list = world_asked(world, part);
    size_t count = json_array_size(list);
    json_decref(list);
    return count;
}

static void wait_asked(const struct world *world, const char *log_name, const char *part)
{
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS;; process_pause_ms(5)) {
        json_t *list = world_asked_in(world, log_name, part);
        bool is_there = json_array_size(list) > 0;
        json_decref(list);
        if (is_there)
            return;
        CHECK(process_now_ms() < until);
    }
}

/* -- several chats, several callers ------------------------------------------------------------ */
static void a_slow_chat_holds_nobody_up(void)
{
    int port = shared.service.port;
    struct talk slow, quick[8];
    post_start(&slow, port, "", "slow", NULL, "[[fault:silence ms=20000]] slow one");
    wait_asked(&shared, "model.log", "slow one");
    char chat[16];
    for (int i = 0; i < 8; i++) {
        snprintf(chat, sizeof chat, "quick-%d", i);
        post_start(&quick[i], port, "", chat, NULL, "quick one");
    }
    long long last_ms = 0;
    for (int i = 0; i < 8; i++) {
        json_t *root = post_end(&quick[i], 200);
        CHECK_TEXT("You said: quick one", talk_text(root, "output"));
        if (quick[i].ended_ms > last_ms)
            last_ms = quick[i].ended_ms;
        json_decref(root);
        talk_fini(&quick[i]);
    }
    world_end_silence(&shared);
    json_t *root = post_end(&slow, 200);
    CHECK_TEXT("You said: [[fault:silence ms=20000]] slow one", talk_text(root, "output"));
    CHECK(last_ms < slow.ended_ms);
    json_decref(root);
    talk_fini(&slow);
}

/* How long from /stop to the caller's answer. */
static long long stop_ms(int round)
{
    int port = shared.service.port;
    char text[64];
    snprintf(text, sizeof text, "[[fault:silence ms=60000]] stop round %d.", round);
    struct talk caller, waiting;
    post_start(&caller, port, "", "stopped", NULL, text);
    wait_asked(&shared, "model.log", text);
    char run_id[32];
    post_async(port, "stopped", NULL, "never to be run", run_id);
    post_start(&waiting, port, "", "stopped", NULL, "nor this");
    for (bool is_waiting = false; !is_waiting; process_pause_ms(5)) { /* three in the chat */
        json_t *history = talk_get(port, "/api/history?chatKey=api:chat:stopped&limit=3");
        char *dump = json_dumps(history, 0);
        is_waiting = strstr(dump, "nor this") != NULL;
        free(dump);
        json_decref(history);
    }
    long long begin_ms = process_now_ms();
    json_decref(talk_execute(port, 200, "stopped", NULL, "/stop"));
    json_t *root = post_end(&caller, 200);
    CHECK_TEXT("cancelled", talk_text(root, "status"));
    CHECK(json_is_false(json_object_get(root, "success")));
    json_decref(root);
    root = post_end(&waiting, 200);
    CHECK_TEXT("cancelled", talk_text(root, "status"));
    json_decref(root);
    expect_run(port, run_id, "cancelled", "");
    long long spent_ms = caller.ended_ms - begin_ms;
    talk_fini(&caller);
    talk_fini(&waiting);
    talk_expect(port, "stopped", "are you free again?", "You said: are you free again?");
    return spent_ms;
}

static void stop_cancels_at_once(void)
{
    long long best_ms = 60000;
    for (int round = 0; round < 3 && best_ms > 200 * PATIENCE;
         round++) { /* the machine may be busy with other tests */
        long long spent_ms = stop_ms(round);
        CHECK(spent_ms < 5000 * PATIENCE);
        best_ms = spent_ms < best_ms ? spent_ms : best_ms;
    }
    CHECK(best_ms <= 200 * PATIENCE);
    CHECK_INT(0, (long long)count_asked(&shared, "never to be run"));
}

static void clear_forgets_the_session_not_the_past(void)
{
    int port = shared.service.port;
    talk_expect(port, "cleared", "the word is rhubarb", "rhubarb");
    json_decref(talk_execute(port, 200, "cleared", NULL, "/clear"));
    talk_expect(port, "cleared", "fresh start", "You said: fresh start");
    json_t *list = world_asked(&shared, "fresh start");
    CHECK(json_array_size(list) > 0);
    CHECK(strstr(talk_text(json_array_get(list, 0), "body"), "rhubarb") == NULL);
    json_decref(list);
    talk_expect(port, "cleared", "what was said earlier?", "I find");
    list = world_asked(&shared, "what was said earlier?");
    CHECK_INT(3, json_array_size(list));
    CHECK(strstr(talk_text(json_array_get(list, 1), "body"), "rhubarb") !=
          NULL); /* read from the history */
    json_decref(list);
}

static void the_same_id_is_the_same_message(void)
{
    int port = shared.service.port;
    const char *text = "[[fault:silence ms=700]] only once";
    struct talk callers[4];
    for (int i = 0; i < 4; i++)
        post_start(&callers[i], port, "", "repeated", "m-1", text);
    char run_id[32] = "";
    for (int i = 0; i < 4; i++) {
        json_t *root = post_end(&callers[i], 200);
        CHECK_TEXT("You said: [[fault:silence ms=700]] only once", talk_text(root, "output"));
        CHECK(run_id[0] == '\0' || strcmp(run_id, talk_text(root, "runId")) == 0);
        snprintf(run_id, sizeof run_id, "%s", talk_text(root, "runId"));
        json_decref(root);
        talk_fini(&callers[i]);
    }
    json_t *root = talk_execute(port, 200, "repeated", "m-1", text); /* long over */
    CHECK_TEXT("You said: [[fault:silence ms=700]] only once", talk_text(root, "output"));
    CHECK_TEXT(run_id, talk_text(root, "runId"));
    json_decref(root);
    CHECK_INT(2, (long long)count_asked(&shared, "only once")); /* the call and the end */
    json_decref(talk_execute(port, 409, "repeated", "m-1", "something else"));
    struct http_answer answer =
        http_ask(port, "/api/execute", "",
                 "{\"chatId\":\"repeated\",\"messageId\":\"m-1\",\"userId\":\"somebody-else\","
                 "\"instructions\":\"[[fault:silence ms=700]] only once\"}",
                 TALK_MS);
    CHECK_INT(409, answer.status);
    http_answer_fini(&answer);
    talk_expect(port, "another", "the id is free in another chat", "You said");
}

static void async_answers_at_once(void)
{
    int port = shared.service.port;
    char run_id[32];
    post_async(port, "later", "a-1", "[[fault:silence ms=20000]] in a while", run_id);
    json_t *root = run_get(port, run_id, 0);
    CHECK(strcmp(talk_text(root, "status"), "running") == 0 ||
          strcmp(talk_text(root, "status"), "waiting") == 0);
    json_decref(root);
    wait_asked(&shared, "model.log", "in a while");
    world_end_silence(&shared);
    expect_run(port, run_id, "done", "You said: [[fault:silence ms=20000]] in a while");
    struct talk talk;
    post_start(&talk, port, ASYNC, "later", "a-1", "[[fault:silence ms=20000]] in a while");
    root = post_end(&talk, 202);
    CHECK_TEXT("duplicate", talk_text(root, "status"));
    CHECK_TEXT(run_id, talk_text(root, "runId"));
    json_decref(root);
    talk_fini(&talk);
}

/* The body of an answer with this status and text. */
static void expect_call(const char *method, const char *path, const char *body, int status,
                        const char *part)
{
    struct http_answer answer = http_call(shared.service.port, method, path, "", body,
                                          body == NULL ? 0 : strlen(body), TALK_MS);
    if (answer.status != status || strstr(answer.body, part) == NULL)
        fprintf(stderr, "%s %s: %d %s, wanted %s\n", method, path, answer.status,
                answer.body == NULL ? "" : answer.body, part);
    CHECK_INT(status, answer.status);
    CHECK(strstr(answer.body, part) != NULL);
    http_answer_fini(&answer);
}

static void a_run_is_seen_and_stopped_and_its_chat_is_written_to(void)
{
    char run_id[32], path[128], mark[80];
    post_async(shared.service.port, "watched", "w-1", "[[fault:silence ms=20000]] for ever",
               run_id);
    wait_asked(&shared, "model.log", "for ever");
    snprintf(mark, sizeof mark, "{\"runs\":[{\"runId\":\"%s\"", run_id);
    expect_call("GET", "/api/runs?status=open&chatKey=api:chat:watched", NULL, 200, mark);
    snprintf(path, sizeof path, "/api/runs/%s", run_id);
    expect_call("DELETE", path, NULL, 200, "\"cancelled\"");
    expect_run(shared.service.port, run_id, "cancelled", "");
    expect_call("DELETE", path, NULL, 200, "\"cancelled before\"");
    world_end_silence(&shared);
    snprintf(path, sizeof path, "/api/runs/%s/events", run_id);
    expect_call("GET", path, NULL, 200, "event: result\ndata: {\"success\":false");
    expect_call("GET", "/api/runs?status=cancelled&limit=1", NULL, 200, mark);
    expect_call("GET", "/api/chats", NULL, 200, "{\"chatKey\":\"api:chat:watched\"");
    struct http_answer said = http_call(
        shared.service.port, "POST", "/api/chats/api%3Achat%3Awatched/messages",
        "Idempotency-Key: \"backup\"\r\n", "{\"text\":\"the backup is done\"}", 29, TALK_MS);
    CHECK_INT(202, said.status);
    json_t *root = talk_json(&said);
    expect_call("GET", talk_text(root, "location"), NULL, 200, "\"state\":\"sent\"");
    json_decref(root);
    http_answer_fini(&said);
    expect_call("GET", "/api/history?chatKey=api:chat:watched", NULL, 200, "the backup is done");
    expect_call("POST", "/api/chats/api%3Achat%3Anobody/messages", "{\"text\":\"x\"}", 404,
                "no such");
    expect_call("GET", "/openapi.json", NULL, 200, "\"openapi\": \"3.1.0\"");
}

static void a_stream_tells_in_order(void)
{
    char *body = talk_body("streamed", NULL, "tell me step by step");
    struct http_answer answer = http_ask(shared.service.port, "/api/execute",
                                         "Accept: text/event-stream\r\n", body, TALK_MS);
    CHECK_INT(200, answer.status);
    const char *accepted = strstr(answer.body, "event: accepted"),
               *tool = strstr(answer.body, "event: tool");
    const char *result = strstr(answer.body, "event: result");
    CHECK(accepted != NULL && result != NULL && accepted < result);
    CHECK(tool == NULL || (accepted < tool && tool < result));
    CHECK(strstr(result, "You said: tell me step by step") != NULL &&
          strstr(result, "\"done\"") != NULL);
    CHECK(strstr(result + 1, "event:") == NULL);
    http_answer_fini(&answer);
    free(body);
}

/* -- full and collected queues ----------------------------------------------------------------- */
static void a_full_chat_says_so(void)
{
    struct world world = {.fake = 0};
    world_start(&world, binary, fake_model, LLM, ",\"queue\":{\"chatWaitingMax\":2}");
    int port = world.service.port;
    char run_ids[3][32];
    post_async(port, "full", NULL, "[[fault:silence ms=20000]] first", run_ids[0]);
    wait_asked(&world, "model.log", "]] first");
    post_async(port, "full", NULL, "second", run_ids[1]);
    post_async(port, "full", NULL, "third", run_ids[2]);
    json_t *root = talk_execute(port, 503, "full", NULL, "one too many");
    CHECK(talk_text(root, "message")[0] != '\0' && talk_text(root, "runId")[0] != '\0');
    json_decref(root);
    world_end_silence(&world);
    expect_run(port, run_ids[0], "done", "]] first");
    expect_run(port, run_ids[1], "done", "You said: second");
    expect_run(port, run_ids[2], "done", "You said: third");
    char *history = folder_read(&world.folder, ".ship/chats/api%3Achat%3Afull.jsonl");
    CHECK(history != NULL && strstr(history, "one too many") != NULL);
    free(history);
    CHECK_INT(0, (long long)count_asked(&world, "You said: one too many"));
    talk_expect(port, "full", "there is room again", "You said: there is room again");
    world_stop(&world);
}

static void collected_messages_are_answered_together(void)
{
    struct world world = {.fake = 0};
    world_start(&world, binary, fake_model, LLM, ",\"queue\":{\"mode\":\"collect\"}");
    int port = world.service.port;
    char run_ids[4][32];
    post_async(port, "many", NULL, "[[fault:silence ms=20000]] opening", run_ids[0]);
    wait_asked(&world, "model.log", "opening");
    post_async(port, "many", NULL, "apples", run_ids[1]);
    post_async(port, "many", NULL, "pears", run_ids[2]);
    post_async(port, "many", NULL, "plums", run_ids[3]);
    world_end_silence(&world);
    for (int i = 0; i < 4; i++)
        expect_run(port, run_ids[i], "done", "");
    json_t *list = world_asked(&world, "apples");
    CHECK_INT(2, json_array_size(list)); /* one turn for the three */
    const char *body = talk_text(json_array_get(list, 0), "body");
    CHECK(strstr(body, "pears") != NULL && strstr(body, "plums") != NULL);
    json_decref(list);
    CHECK_INT(4, (long long)count_asked(&world, "opening"));
    world_stop(&world);
}

/* -- restarts ---------------------------------------------------------------------------------- */
static int count_lines(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

/* What the model was told before the interrupted message is told again to the byte. */
static void check_rebuilt_session(const struct world *world)
{
    static const char facts[] = "[facts ";
    json_t *list = world_asked(world, "]] interrupted");
    CHECK(json_array_size(list) >= 3); /* the one that was cut off, the call, the end */
    const char *cut = talk_text(json_array_get(list, 0), "body"),
               *again = talk_text(json_array_get(list, 1), "body");
    const char *newest = strstr(cut, facts);
    CHECK(newest != NULL);
    for (const char *at = newest; (at = strstr(at + 1, facts)) != NULL;)
        newest = at;
    CHECK(strlen(again) > (size_t)(newest - cut) &&
          memcmp(cut, again, (size_t)(newest - cut)) == 0);
    CHECK(strstr(cut, "You said: done already") != NULL);
    json_decref(list);
}

static void a_restart_finishes_what_was_accepted(void)
{
    struct world world = {.may_prefix_move = true};
    world_start(&world, binary, fake_model, LLM, "");
    int port = world.service.port;
    char run_ids[3][32];
    talk_expect(port, "open", "done already", "You said: done already");
    post_async(port, "open", "o-1", "[[fault:silence ms=60000]] interrupted", run_ids[0]);
    wait_asked(&world, "model.log", "interrupted");
    post_async(port, "open", "o-2", "in the line", run_ids[1]);
    post_async(port, "elsewhere", "o-3", "in another chat", run_ids[2]);
    struct talk caller;
    char path[64];
    snprintf(path, sizeof path, "/api/runs/%s?wait=50", run_ids[0]);
    talk_start(&caller, port, path, "", NULL);
    process_pause_ms(50); /* on its way: either end of the race is fine */
    long long begin_ms = process_now_ms();
    CHECK_INT(0, service_stop(&world.service));
    CHECK(process_now_ms() - begin_ms < clock_bound_ms(21000 * PATIENCE));
    talk_wait(&caller);
    CHECK(caller.answer.status == 200 || caller.answer.status == 202 || caller.answer.status == 0);
    talk_fini(&caller);
    service_start(&world.service, binary, &world.folder);
    port = world.service.port;
    expect_run(port, run_ids[0], "done", "]] interrupted");
    expect_run(port, run_ids[1], "done", "You said: in the line");
    expect_run(port, run_ids[2], "done", "You said: in another chat");
    json_t *root = talk_execute(port, 200, "open", "o-1", "[[fault:silence ms=60000]] interrupted");
    CHECK_TEXT(run_ids[0], talk_text(root, "runId"));
    json_decref(root);
    char *history = folder_read(&world.folder, ".ship/chats/api%3Achat%3Aopen.jsonl");
    CHECK_INT(1, count_lines(history, "You said: [[fault:silence ms=60000]] interrupted"));
    CHECK_INT(1, count_lines(history, "You said: in the line"));
    CHECK_INT(1, count_lines(history, "You said: done already"));
    check_rebuilt_session(&world);
    free(history);
    world_stop(&world);
}

/* -- the page --------------------------------------------------------------------------------- */
/* Header lines of a page that is signed in; `session` is what it was given: cookie and key. */
static void page_lines(int port, char session[2][65], char lines[256])
{
    snprintf(lines, 256, HTTP_AS_STRANGER "Cookie: sma-%d=%s\r\nX-Page-Key: %s\r\n", port,
             session[0], session[1]);
}

static void sign_in(int port, char session[2][65])
{
    char body[128];
    struct http_answer answer = http_ask(port, "/sign-in/codes", "", "{}", 20000);
    json_t *root = talk_json(&answer);
    snprintf(body, sizeof body, "{\"code\":\"%s\"}", talk_text(root, "code"));
    json_decref(root);
    http_answer_fini(&answer);
    answer = http_ask(port, "/sign-in", HTTP_AS_STRANGER, body, 20000);
    CHECK_INT(200, answer.status);
    root = talk_json(&answer);
    CHECK_INT(1, sscanf(answer.cookie, "sma-%*d=%64[0-9a-f];", session[0]));
    snprintf(session[1], 65, "%s", talk_text(root, "key"));
    json_decref(root);
    http_answer_fini(&answer);
}

static void page_says(int port, const char *lines, const char *text, const char *expected)
{
    char *body = talk_body("r1", text, text);
    struct http_answer answer = http_ask(port, "/api/execute", lines, body, 20000);
    CHECK_INT(200, answer.status);
    json_t *root = talk_json(&answer);
    CHECK_TEXT(expected, talk_text(root, "output"));
    json_decref(root);
    http_answer_fini(&answer);
    free(body);
}

/* Its session, its room and what waits in it are there again, and the room is no platform's that is
 * not configured. */
static void a_room_of_the_page_outlives_a_restart(void)
{
    struct world world = {.may_prefix_move = true};
    char session[2][65], lines[256], run_id[32];
    world_start(&world, binary, fake_model, LLM, "");
    sign_in(world.service.port, session);
    page_lines(world.service.port, session, lines);
    page_says(world.service.port, lines, "one", "You said: one");
    char *body = talk_body("r1", "p-2", "[[fault:silence ms=60000]] interrupted");
    char more[300];
    snprintf(more, sizeof more, "%s" ASYNC, lines);
    struct http_answer answer = http_ask(world.service.port, "/api/execute", more, body, 20000);
    CHECK_INT(202, answer.status);
    json_t *root = talk_json(&answer);
    snprintf(run_id, sizeof run_id, "%s", talk_text(root, "runId"));
    json_decref(root);
    http_answer_fini(&answer);
    free(body);
    wait_asked(&world, "model.log", "interrupted");
    CHECK_INT(0, service_stop(&world.service));
    service_start(&world.service, binary, &world.folder);
    page_lines(world.service.port, session, lines);
    expect_run(world.service.port, run_id, "done", "]] interrupted");
    page_says(world.service.port, lines, "three", "You said: three");
    answer = http_ask(world.service.port, "/api/status", lines, NULL, 20000);
    CHECK_INT(200, answer.status);
    CHECK(strstr(answer.body, "\"waitingForPlatform\":[]") != NULL);
    http_answer_fini(&answer);
    char *history = folder_read(&world.folder, ".ship/chats/web%3Aroom%3Ar1.jsonl");
    CHECK_INT(3, count_lines(history, "\"channel\":\"web\",\"chatId\":\"r1\",\"chatKey\":"
                                      "\"web:room:r1\",\"userId\":\"owner\""));
    free(history);
    world_stop(&world);
}

/* -- tokens, configuration --------------------------------------------------------------------- */
static void another_address_needs_the_token(void)
{
    struct world world = {.fake = 0};
    world_start(&world, binary, fake_model, LLM, ",\"start\":{\"host\":\"0.0.0.0\"}");
    int port = world.service.port;
    struct stat status;
    char path[256], header[512];
    snprintf(path, sizeof path, "%s/.ship/api-token", world.folder.path);
    CHECK(stat(path, &status) == 0);
    CHECK_INT(0600, status.st_mode & 07777);
    char *token = folder_read(&world.folder, ".ship/api-token");
    CHECK(token != NULL && strlen(token) >= 32);
    token[strcspn(token, "\r\n")] = '\0';
    struct http_answer answer = http_ask(port, "/health", "", NULL, TALK_MS);
    CHECK_INT(200, answer.status);
    http_answer_fini(&answer);
    static const char *const bad[] = {HTTP_AS_STRANGER, "Authorization: Bearer wrong\r\n",
                                      "X-Api-Token: \r\n", "Authorization: Basic YWJj\r\n"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++) {
        answer =
            http_ask(port, "/api/execute", bad[i], "{\"instructions\":\"let me in\"}", TALK_MS);
        CHECK_INT(401, answer.status);
        CHECK(strstr(answer.body, token) == NULL);
        http_answer_fini(&answer);
    }
    for (size_t i = 0; i < 2; i++) {
        snprintf(header, sizeof header,
                 i == 0 ? "Authorization: Bearer %s\r\n" : "X-Api-Token: %s\r\n", token);
        answer =
            http_ask(port, "/api/execute", header, "{\"instructions\":\"let me in\"}", TALK_MS);
        CHECK_INT(200, answer.status);
        http_answer_fini(&answer);
    }
    CHECK_INT(0, service_stop(&world.service));
    service_start(&world.service, binary, &world.folder);
    answer = http_ask(world.service.port, "/api/status", header, NULL, TALK_MS);
    CHECK_INT(200, answer.status); /* the token stays the same */
    http_answer_fini(&answer);
    free(token);
    world_stop(&world);
}

static void wait_log(const struct world *world, const char *part)
{
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS;; process_pause_ms(10)) {
        char *log = folder_read(&world->folder, "service.log");
        bool is_there = log != NULL && strstr(log, part) != NULL;
        free(log);
        if (is_there)
            return;
        CHECK(process_now_ms() < until);
    }
}

/* What SIGHUP did is found by `shipmyagent logs`, too. */
static void wait_log_file(const struct world *world, const char *part)
{
    char *argv[] = {(char *)binary, (char *)"logs", (char *)world->folder.path, NULL};
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS;; process_pause_ms(20)) {
        char *text = NULL;
        CHECK_INT(0, run_to_end(argv, "", &text, PATIENCE_AWAIT_MS));
        bool is_there = strstr(text, part) != NULL;
        if (!is_there && process_now_ms() >= until)
            fprintf(stderr, "%s is not in: %s\n", part, text);
        free(text);
        if (is_there)
            return;
        CHECK(process_now_ms() < until);
    }
}

/* A platform that is skipped, a task that nobody runs: weeks later the log still says so. */
static void what_was_warned_of_at_start_stands_in_the_log(void)
{
    struct world world = {0};
    world_create(&world, fake_model, LLM,
                 ",\"adapters\":{\"telegram\":{\"enabled\":true}},\"oss\":{\"enabled\":true}");
    service_start(&world.service, binary, &world.folder);
    wait_log_file(&world, "adapters.telegram is enabled, but has no credentials");
    wait_log_file(&world, "found oss, which this version does not use");
    char *shown = folder_read(&world.folder, "service.log");
    const char *first = strstr(shown, "has no credentials");
    CHECK(first != NULL && strstr(first + 1, "has no credentials") == NULL); /* shown once */
    free(shown);
    world_stop(&world);
}

static void hangup_reads_the_configuration_anew(void)
{
    struct world world = {.may_prefix_move = true}; /* a new Agent.md stands at the head of it */
    world_start(&world, binary, fake_model, LLM, "");
    int port = world.service.port;
    talk_expect(port, "reload", "to the first server", "You said: to the first server");
    pid_t second;
    int second_port = world_fake_start(&world, fake_model, "second.log", &second);
    world_configure(&world, second_port, LLM, "");
    folder_write(&world.folder, "Agent.md", "You are a reloaded pineapple.\n");
    CHECK(kill(world.service.pid, SIGHUP) == 0);
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS;; process_pause_ms(20)) {
        talk_expect(port, "reload", "to which server?", "You said: to which server?");
        json_t *list = world_asked_in(&world, "second.log",
                                      "reloaded pineapple"); /* both, in a run begun after it */
        bool is_there = json_array_size(list) > 0;
        json_decref(list);
        if (is_there)
            break;
        CHECK(process_now_ms() < until);
    }
    size_t before = count_asked(&world, "");
    folder_write(&world.folder, "ship.json", "{\"llm\":{\"provider\":\"offline\",}}");
    CHECK(kill(world.service.pid, SIGHUP) == 0);
    wait_log(&world, "configuration kept as it was: ");
    wait_log_file(&world, "configuration kept as it was: ");
    wait_log_file(&world, "the configuration was read again: changed from now on: llm.baseUrl, "
                          "Agent.md");
    talk_expect(port, "reload", "still the second one", "You said: still the second one");
    wait_asked(&world, "second.log", "still the second one");
    CHECK_INT((long long)before, (long long)count_asked(&world, ""));
    world_stop(&world);
    server_stop(second);
}

/* -- a project of the old program -------------------------------------------------------------- */
#define OLD_LINE(ts, id, role, text)                                                         \
    "{\"v\":1,\"ts\":" ts                                                                    \
    ",\"channel\":\"api\",\"chatId\":\"old\",\"chatKey\":\"api:chat:old\",\"userId\":\"7\"," \
    "\"messageId\":\"" id "\",\"role\":\"" role "\",\"text\":\"" text "\"}\n"
static const char OLD_ARCHIVE[] =
    OLD_LINE("1732000000000", "m-1", "user", "the archive says walrus")
        OLD_LINE("1732000001000", "m-2", "assistant", "walrus noted");
static const char OLD_HISTORY[] = OLD_LINE("1732100000000", "m-3", "user", "今天讨论了预算")
    OLD_LINE("1732100001000", "m-4", "assistant", "budget is 4711 euros");
static const char OLD_CONTACTS[] = "{\n  \"version\": 1,\n  \"contacts\": []\n}\n";

static void make_folders(const struct folder *folder, const char *const *names, size_t count)
{
    char path[512];
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder->path, names[i]);
        CHECK(mkdir(path, 0755) == 0);
    }
}

static void expect_file(const struct folder *folder, const char *name, const char *start,
                        bool is_whole)
{
    char *text = folder_read(folder, name);
    if (text == NULL || strncmp(text, start, strlen(start)) != 0)
        fprintf(stderr, "%s was changed:\n%s\n", name, text == NULL ? "gone" : text);
    CHECK(text != NULL && strncmp(text, start, strlen(start)) == 0);
    CHECK(!is_whole || strlen(text) == strlen(start));
    free(text);
}

static void an_old_project_goes_on(void)
{
    static const char *const folders[] = {".ship",
                                          ".ship/chats",
                                          ".ship/.cache",
                                          ".ship/.cache/ingress",
                                          ".ship/.cache/telegram",
                                          ".ship/.cache/ingress/api",
                                          ".ship/.cache/ingress/api/api%3Achat%3Aold"};
    static const char marker[] =
        "{\n  \"v\": 1,\n  \"channel\": \"api\",\n  \"chatKey\": \"api:chat:old\",\n"
        "  \"messageId\": \"m-77\",\n  \"claimedAt\": 1732100002000\n}\n";
    struct world world = {.fake = 0};
    world_create(&world, fake_model, LLM, "");
    make_folders(&world.folder, folders, SMA_COUNT_OF(folders));
    folder_write(&world.folder, ".ship/chats/api%3Achat%3Aold.jsonl", OLD_HISTORY);
    folder_write(&world.folder, ".ship/chats/api%3Achat%3Aold.archive-1.jsonl", OLD_ARCHIVE);
    folder_write(&world.folder, ".ship/contacts.json", OLD_CONTACTS);
    folder_write(&world.folder, ".ship/.cache/telegram/lastUpdateId.json",
                 "{\n  \"lastUpdateId\": 815\n}\n");
    folder_write(&world.folder, ".ship/.cache/ingress/api/api%3Achat%3Aold/m-77.json", marker);
    service_start(&world.service, binary, &world.folder);
    int port = world.service.port;
    talk_expect(port, "old", "what was said earlier?", "I find");
    json_t *list = world_asked(&world, "what was said earlier?");
    CHECK_INT(3, json_array_size(list));
    const char *body = talk_text(json_array_get(list, 1), "body");
    CHECK(strstr(body, "budget is 4711 euros") != NULL && strstr(body, "今天讨论了预算") != NULL);
    CHECK(strstr(body, "walrus noted") != NULL); /* archives are read too */
    json_decref(list);
    struct talk talk;
    post_start(&talk, port, ASYNC, "old", "m-77", "seen by the old program");
    talk_wait(&talk);
    CHECK(talk.answer.status != 0 && talk.answer.status < 500);
    CHECK(strstr(talk.answer.body, "\"accepted\"") == NULL); /* never run again */
    talk_fini(&talk);
    talk_expect(port, "old", "a new one", "You said: a new one");
    CHECK_INT(0, (long long)count_asked(&world, "seen by the old program"));
    CHECK_INT(0, service_stop(&world.service));
    expect_file(&world.folder, ".ship/chats/api%3Achat%3Aold.jsonl", OLD_HISTORY, false);
    expect_file(&world.folder, ".ship/chats/api%3Achat%3Aold.archive-1.jsonl", OLD_ARCHIVE, true);
    expect_file(&world.folder, ".ship/contacts.json", OLD_CONTACTS, true);
    expect_file(&world.folder, ".ship/.cache/telegram/lastUpdateId.json",
                "{\n  \"lastUpdateId\": 815\n}\n", true);
    expect_file(&world.folder, ".ship/.cache/ingress/api/api%3Achat%3Aold/m-77.json", marker, true);
    service_start(&world.service, binary, &world.folder);
    talk_expect(world.service.port, "old", "after a restart", "You said: after a restart");
    world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    world_start(&shared, binary, fake_model, LLM, ",\"agent\":{\"concurrency\":16}");
    RUN(a_slow_chat_holds_nobody_up);
    RUN(stop_cancels_at_once);
    RUN(clear_forgets_the_session_not_the_past);
    RUN(the_same_id_is_the_same_message);
    RUN(async_answers_at_once);
    RUN(a_run_is_seen_and_stopped_and_its_chat_is_written_to);
    RUN(a_stream_tells_in_order);
    world_stop(&shared);
    RUN(a_full_chat_says_so);
    RUN(collected_messages_are_answered_together);
    RUN(a_restart_finishes_what_was_accepted);
    RUN(a_room_of_the_page_outlives_a_restart);
    RUN(another_address_needs_the_token);
    RUN(what_was_warned_of_at_start_stands_in_the_log);
    RUN(hangup_reads_the_configuration_anew);
    RUN(an_old_project_goes_on);
    return check_summary();
}
