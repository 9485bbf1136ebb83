/*
 * Aim: whoever `hooks` of ship.json names hears of each run that has ended, signed, in order, under
 *      an id that stays the same however often an event is sent: over failures of the receiver and
 *      over kill -9 of the service at any place; what a receiver refuses stops nothing else, one
 *      that fails is seen, and no address but the written one is asked.
 * Method: the real service between a model server and a receiver that does as it is told and checks
 *   each signature by itself.  scenario_hooks BINARY FAKE_MODEL
 */
#include "platform/ws_server.h"
#include "support/check.h"
#include "support/clock.h"
#include "support/patience.h"
#include "talk.h"
#include "world.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <time.h>
#include <unistd.h>

#define LLM "\"api\":\"chat\",\"apiKey\":\"" WORLD_API_KEY "\""
#define SECRET "hook-secret-8a61f0c2d97b43e5"
#define EVENT_COUNT_MAX 256

static const char *binary, *fake_model;
static struct world world;

/* -- the receiver ------------------------------------------------------------------------------ */
struct event
{
    char path[64], id[128], run[32], end[32];
    int status; /* answered; 0 = never */
    json_t *json;
};
static struct
{
    struct ws_server *server;
    int status;          /* what it answers; 0 = nothing at all */
    const char *headers; /* ... and with */
    struct event events[EVENT_COUNT_MAX];
    size_t count;
} receiver;

static void copy(char *to, size_t size, struct sma_str from)
{
    CHECK(from.len < size);
    memcpy(to, from.ptr, from.len);
    to[from.len] = '\0';
}

static time_t now_s(void)
{
    return clock_wall_s();
}

/* By the specification, with another function than the service's. */
static void check_signature(const struct ws_server_request *request, const char *id)
{
    char head[256], time[32], expected[128], given[128];
    unsigned char digest[EVP_MAX_MD_SIZE], text[64];
    unsigned len = 0;
    copy(time, sizeof time, ws_server_header(request, "webhook-timestamp"));
    copy(given, sizeof given, ws_server_header(request, "webhook-signature"));
    int head_len = snprintf(head, sizeof head, "%s.%s.", id, time);
    size_t size = (size_t)head_len + request->body.len;
    char *bytes = malloc(size);
    CHECK(bytes != NULL);
    memcpy(bytes, head, (size_t)head_len);
    memcpy(bytes + head_len, request->body.ptr, request->body.len);
    CHECK(HMAC(EVP_sha256(), SECRET, (int)strlen(SECRET), (unsigned char *)bytes, size, digest,
               &len) != NULL);
    free(bytes);
    EVP_EncodeBlock(text, digest, (int)len);
    snprintf(expected, sizeof expected, "v1,%s", (char *)text);
    CHECK_TEXT(expected, given);
    CHECK(llabs(strtoll(time, NULL, 10) - (long long)now_s()) < 300);
}

static void on_request(void *user, struct ws_server *server,
                       const struct ws_server_request *request)
{
    (void)user;
    CHECK(receiver.count < EVENT_COUNT_MAX);
    struct event *event = &receiver.events[receiver.count++];
    copy(event->path, sizeof event->path, request->path);
    copy(event->id, sizeof event->id, ws_server_header(request, "webhook-id"));
    CHECK(sma_str_is_equal(request->method, SMA_STR("POST")));
    CHECK(sma_str_is_equal(ws_server_header(request, "content-type"), SMA_STR("application/json")));
    check_signature(request, event->id);
    event->json = json_loadb(request->body.ptr, request->body.len, 0, NULL);
    CHECK(event->json != NULL);
    const json_t *data = json_object_get(event->json, "data");
    const json_t *run = json_object_get(data, "run");
    copy(event->run, sizeof event->run, sma_str(talk_text(run, "runId")));
    copy(event->end, sizeof event->end, sma_str(talk_text(data, "end")));
    event->status = receiver.status;
    if (receiver.status != 0)
        CHECK(ws_server_answer_with(server, request->conn, receiver.status,
                                    receiver.headers == NULL ? "" : receiver.headers,
                                    SMA_STR("no such customer")));
}

static void answer_with(int status)
{
    ws_server_lock(receiver.server);
    receiver.status = status;
    receiver.headers = NULL;
    ws_server_unlock(receiver.server);
}

static size_t count_events(void)
{
    ws_server_lock(receiver.server);
    size_t count = receiver.count;
    ws_server_unlock(receiver.server);
    return count;
}

static void await_events(size_t count)
{
    long long until = process_now_ms() + PATIENCE_AWAIT_MS * 2;
    while (count_events() < count) {
        CHECK(process_now_ms() < until);
        process_pause_ms(10);
    }
}

/* Nothing is on its way any more. */
static void await_rest(void)
{
    long long until = process_now_ms() + PATIENCE_AWAIT_MS * 2;
    while (!world_is_at_rest(&world)) {
        CHECK(process_now_ms() < until);
        process_pause_ms(20);
    }
}

static void begin(void)
{
    ws_server_lock(receiver.server);
    while (receiver.count > 0)
        json_decref(receiver.events[--receiver.count].json);
    memset(receiver.events, 0, sizeof receiver.events);
    ws_server_unlock(receiver.server);
    answer_with(200);
}

/* In a chat of its own. @return its run */
static const char *ask(const char *id, const char *text)
{
    static char run[32];
    json_t *answer = talk_execute(world.service.port, 200, id, id, text);
    snprintf(run, sizeof run, "%s", talk_text(answer, "runId"));
    json_decref(answer);
    return run;
}

static json_t *data_of(const struct event *event)
{
    return json_object_get(event->json, "data");
}

/* -- what is sent ------------------------------------------------------------------------------ */
CASE(an_end_is_told_with_its_run_and_text)
{
    begin();
    char run[32];
    snprintf(run, sizeof run, "%s", ask("first", "hello hook"));
    await_events(1);
    const struct event *event = &receiver.events[0];
    const json_t *told = json_object_get(data_of(event), "run");
    CHECK_TEXT("/all", event->path);
    CHECK_TEXT("run.ended", talk_text(event->json, "type"));
    CHECK_TEXT("all", talk_text(data_of(event), "hook"));
    CHECK_TEXT("tested", talk_text(data_of(event), "project"));
    CHECK_TEXT("answered", event->end);
    CHECK_TEXT(run, event->run);
    CHECK(strstr(talk_text(data_of(event), "text"), "hello hook") != NULL);
    CHECK(json_is_false(json_object_get(data_of(event), "isTextCut")));
    CHECK_TEXT("done", talk_text(told, "status"));
    CHECK_TEXT("api:chat:first", talk_text(told, "chatKey"));
    CHECK_TEXT("first", talk_text(told, "messageId"));
    CHECK(json_is_integer(json_object_get(told, "durationMs")));
    CHECK(json_is_object(json_object_get(told, "usage")));
    await_rest();
    CHECK_INT(1, (long long)count_events()); /* once, and no other hook */
}

CASE(only_those_ends_and_chats_are_told_that_were_asked_for)
{
    begin();
    (void)ask("quiet-1", "hello"); /* both patterns fit */
    await_events(2);
    struct http_answer stopped;
    struct talk behind;
    char *body = talk_body("first", "slow", "[[fault:silence ms=60000]]");
    talk_start(&behind, world.service.port, "/api/execute", "Prefer: respond-async\r\n", body);
    talk_wait(&behind);
    CHECK_INT(202, behind.answer.status);
    json_t *accepted = talk_json(&behind.answer);
    char path[64];
    snprintf(path, sizeof path, "/api/runs/%s", talk_text(accepted, "runId"));
    stopped = http_call(world.service.port, "DELETE", path, "", NULL, 0, TALK_MS);
    CHECK_INT(200, stopped.status);
    http_answer_fini(&stopped);
    await_events(3);
    await_rest();
    CHECK_INT(3, (long long)count_events());
    for (int i = 0; i < 2; i++) {
        const struct event *event = &receiver.events[i];
        bool is_quiet = strcmp(event->path, "/quiet") == 0;
        CHECK_TEXT("api:chat:quiet-1",
                   talk_text(json_object_get(data_of(event), "run"), "chatKey"));
        CHECK(is_quiet == (json_object_get(data_of(event), "text") == NULL));
    }
    CHECK(strcmp(receiver.events[0].path, receiver.events[1].path) != 0);
    CHECK_TEXT("/all", receiver.events[2].path);
    CHECK_TEXT("cancelled", receiver.events[2].end);
    CHECK_TEXT("cancelled",
               talk_text(json_object_get(data_of(&receiver.events[2]), "run"), "status"));
    json_decref(accepted);
    talk_fini(&behind);
    free(body);
    world_end_silence(&world);
}

CASE(a_hook_is_no_chat)
{
    json_t *chats = talk_get(world.service.port, "/api/chats");
    char *text = json_dumps(chats, 0);
    CHECK(strstr(text, "api:chat:first") != NULL);
    CHECK(strstr(text, "hook:") == NULL);
    free(text);
    json_decref(chats);
    struct http_answer answer = http_ask(world.service.port, "/api/chats/hook%3Aall/messages", "",
                                         "{\"text\":\"forged\"}", TALK_MS);
    CHECK_INT(404, answer.status);
    http_answer_fini(&answer);
    char path[200];
    snprintf(path, sizeof path, "%s/.ship/chats/hook%%3Aall.jsonl", world.folder.path);
    CHECK(access(path, F_OK) != 0);
}

/* -- failing receivers ------------------------------------------------------------------------- */
CASE(a_failing_receiver_gets_the_same_event_again)
{
    begin();
    answer_with(503);
    (void)ask("again", "hello");
    await_events(2);
    answer_with(204);
    await_events(3);
    await_rest();
    CHECK_INT(3, (long long)count_events());
    for (int i = 1; i < 3; i++) {
        CHECK_TEXT(receiver.events[0].id, receiver.events[i].id);
        CHECK(json_equal(receiver.events[0].json, receiver.events[i].json));
    }
    CHECK_INT(204, receiver.events[2].status);
}

static bool health_names_hooks(void)
{
    struct http_answer answer = http_ask(world.service.port, "/health", "", NULL, TALK_MS);
    CHECK_INT(200, answer.status);
    bool has = strstr(answer.body, "\"degraded\"") != NULL && strstr(answer.body, "hooks") != NULL;
    http_answer_fini(&answer);
    return has;
}

static void says(const char *command, const char *what, const char *part)
{
    char *output = NULL;
    const char *argv[] = {binary, command, world.folder.path, what, NULL};
    const char *why[] = {binary, command, what, world.folder.path, NULL};
    CHECK_INT(0, run_to_end((char *const *)(what == NULL ? argv : why), "", &output, TALK_MS));
    if (strstr(output, part) == NULL)
        fprintf(stderr, "`%s` does not say \"%s\":\n%s\n", command, part, output);
    CHECK(strstr(output, part) != NULL);
    free(output);
}

CASE(one_that_fails_is_seen_until_it_is_well)
{
    begin();
    answer_with(500);
    (void)ask("seen", "hello");
    await_events(3);
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS; !health_names_hooks();) {
        CHECK(process_now_ms() < until);
        process_pause_ms(10);
    }
    says("status", NULL, "hook all takes no event since ");
    says("why", "seen", "Not delivered yet (hook");
    answer_with(200);
    await_rest();
    CHECK(!health_names_hooks());
    says("why", "seen", "Delivered (hook");
}

CASE(a_refused_event_stops_no_other)
{
    begin();
    answer_with(422);
    (void)ask("refused", "hello");
    await_events(1);
    await_rest();
    CHECK_INT(1, (long long)count_events());
    says("why", "refused", "NOT delivered (hook): HTTP 422: no such customer");
    answer_with(200);
    (void)ask("next", "hello");
    await_events(2);
    CHECK(strcmp(receiver.events[0].id, receiver.events[1].id) != 0);
    CHECK_TEXT("next",
               talk_text(json_object_get(data_of(&receiver.events[1]), "run"), "messageId"));
}

CASE(a_redirect_is_not_followed)
{
    char headers[128];
    snprintf(headers, sizeof headers, "Location: %s/elsewhere\r\n",
             ws_server_http_url(receiver.server));
    begin();
    ws_server_lock(receiver.server);
    receiver.status = 307;
    receiver.headers = headers;
    ws_server_unlock(receiver.server);
    (void)ask("moved", "hello");
    await_events(2);
    answer_with(200);
    await_rest();
    for (size_t i = 0; i < count_events(); i++)
        CHECK_TEXT("/all", receiver.events[i].path);
}

/* -- kill -9 ----------------------------------------------------------------------------------- */
static void restart(void)
{
    service_kill(&world.service);
    service_start(&world.service, binary, &world.folder);
}

/* Every run of this chat id is told of, in order; a repeat has the id it had. */
static void check_told(const char *const *runs, size_t count)
{
    size_t next = 0;
    for (size_t i = 0; i < receiver.count; i++) {
        const struct event *event = &receiver.events[i];
        for (size_t k = 0; k < i; k++)
            CHECK((strcmp(event->run, receiver.events[k].run) == 0) ==
                  (strcmp(event->id, receiver.events[k].id) == 0));
        if (event->status == 200 && next < count && strcmp(event->run, runs[next]) == 0)
            next++;
    }
    CHECK_INT((long long)count, (long long)next);
}

CASE(nothing_is_lost_when_the_service_is_killed_while_its_receiver_fails)
{
    char kept[6][32];
    const char *runs[6];
    begin();
    answer_with(500);
    for (size_t i = 0; i < SMA_COUNT_OF(runs); i++) {
        char id[32];
        snprintf(id, sizeof id, "killed-%zu", i);
        snprintf(kept[i], sizeof kept[i], "%s", ask(id, "hello"));
        runs[i] = kept[i];
        if (i % 2 == 1)
            restart();
    }
    await_events(1);
    answer_with(200);
    await_rest();
    ws_server_lock(receiver.server);
    check_told(runs, SMA_COUNT_OF(runs));
    ws_server_unlock(receiver.server);
}

/* The receiver has it and the service dies before it hears so. */
CASE(an_event_whose_answer_was_lost_comes_again_under_its_id)
{
    begin();
    answer_with(0);
    (void)ask("unheard", "hello");
    await_events(1);
    service_kill(&world.service);
    answer_with(200);
    service_start(&world.service, binary, &world.folder);
    await_events(2);
    await_rest();
    CHECK_TEXT(receiver.events[0].id, receiver.events[1].id);
    CHECK_INT(2, (long long)count_events());
}

CASE(an_orderly_restart_keeps_what_waits)
{
    begin();
    answer_with(500);
    (void)ask("kept", "hello");
    await_events(1);
    CHECK_INT(0, service_stop(&world.service));
    answer_with(200);
    service_start(&world.service, binary, &world.folder);
    await_rest();
    size_t last = count_events() - 1;
    CHECK_INT(200, receiver.events[last].status);
    CHECK_TEXT(receiver.events[0].id, receiver.events[last].id);
}

int main(int argc, char **argv)
{
    static const struct ws_server_hooks hooks = {.request = on_request};
    char root[1024];
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    receiver.status = 200;
    receiver.server = ws_server_start(&(struct ws_server_options){.hooks = &hooks});
    const char *url = ws_server_http_url(receiver.server);
    snprintf(root, sizeof root,
             ",\"hooks\":{\"all\":{\"url\":\"%s/all?key=k\",\"secret\":\"" SECRET "\"},"
             "\"quiet\":{\"url\":\"%s/quiet\",\"secret\":\"" SECRET "\",\"text\":false,"
             "\"ends\":[\"answered\"],\"chats\":[\"api:chat:quiet-*\"]}}",
             url, url);
    world_start(&world, binary, fake_model, LLM, root);
    check_run_cases(NULL);
    world_keeps_secret(&world, SECRET);
    world_stop(&world);
    ws_server_stop(receiver.server);
    return check_summary();
}
