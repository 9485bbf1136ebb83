/*
 * caller.c — an HTTP caller that behaves as the API's documentation tells callers to: its own
 * messageId, the same one again whenever no answer came. Half of its messages are handed over with
 * `respond-async`; those are *not* sent again once accepted, only asked for by their run id, so
 * that a lost one is seen.
 */
#include "scenario/http_client.h"
#include "scenario/process.h"
#include "world.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_TIMEOUT_MS 4000
#define MESSAGE_DEADLINE_MS 240000 /* a slow machine, whose service is killed more often than not */

static bool is_answer_to(const char *output, const char *id)
{
    const char *hit = strstr(output, id);
    return hit != NULL && (hit[strlen(id)] < '0' || hit[strlen(id)] > '9');
}

/* Checks a finished result; notes its text so that the checker can compare repeats. */
static bool take_result(struct caller *caller, const char *id, const char *body)
{
    json_t *root = json_loads(body, 0, NULL);
    const char *output = json_string_value(json_object_get(root, "output"));
    if (output == NULL) {
        world_fail(caller->world, "%s: a result without output: %.200s", id, body);
        json_decref(root);
        return true;
    }
    /* a run that was interrupted three times is given up visibly; anything else must answer this
     * very message */
    bool is_success = json_is_true(json_object_get(root, "success"));
    if (is_success && !is_answer_to(output, id))
        world_fail(caller->world, "%s: answered with somebody else's text: %.200s", id, output);
    char *line = json_dumps(json_object_get(root, "output"), JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    world_note(caller->world, "H result %s %s %s", id, is_success ? "ok" : "failed", line);
    free(line);
    json_decref(root);
    return true;
}

static bool ask_result(struct caller *caller, const char *id, long long run)
{
    char path[64];
    snprintf(path, sizeof path, "/api/runs/%lld", run);
    struct http_answer answer =
        http_ask(atomic_load(&caller->world->port), path, "", NULL, ASK_TIMEOUT_MS);
    bool is_done = false;
    if (answer.status == 404) {
        world_fail(caller->world, "%s: run %lld was accepted and is unknown now", id, run);
        is_done = true;
    } else if (answer.status == 200) {
        json_t *root = json_loads(answer.body, 0, NULL);
        const char *state = json_string_value(json_object_get(root, "status"));
        if (state != NULL && (strcmp(state, "done") == 0 || strcmp(state, "failed") == 0))
            is_done = take_result(caller, id, answer.body);
        json_decref(root);
    }
    http_answer_fini(&answer);
    return is_done;
}

static long long run_of(const char *body)
{
    json_t *root = json_loads(body, 0, NULL);
    const json_t *run = json_object_get(root, "runId");
    long long number =
        json_is_string(run) ? atoll(json_string_value(run)) : json_integer_value(run);
    json_decref(root);
    return number;
}

/* One attempt to hand the message over. @return true when nothing is left to do for it. */
static bool post(struct caller *caller, const char *id, const char *body, bool is_async,
                 long long *run)
{
    struct http_answer answer =
        http_ask(atomic_load(&caller->world->port), "/api/execute",
                 is_async ? "Prefer: respond-async\r\n" : "", body, ASK_TIMEOUT_MS);
    bool is_done = false;
    if (answer.status == 200) {
        atomic_fetch_add(&caller->world->accepted, 1);
        world_note(caller->world, "H accepted %s", id);
        is_done = take_result(caller, id, answer.body);
    } else if (answer.status == 202) {
        *run = run_of(answer.body);
        if (*run <= 0)
            world_fail(caller->world, "%s: 202 without a run id: %.200s", id, answer.body);
        atomic_fetch_add(&caller->world->accepted, 1);
        world_note(caller->world, "H accepted %s", id);
    } else if (answer.status != 0 && answer.status != 503 && answer.status != 429) {
        world_fail(caller->world, "%s: HTTP %d %.200s", id, answer.status, answer.body);
        is_done = true;
    }
    http_answer_fini(&answer);
    return is_done;
}

static void send_one(struct caller *caller, unsigned number, uint64_t *random)
{
    char id[48], body[512];
    snprintf(id, sizeof id, "h%u-%u", caller->number, number);
    snprintf(body, sizeof body,
             "{\"instructions\":\"please repeat "
             "%s\",\"chatId\":\"c%u\",\"userId\":\"u%u\",\"messageId\":\"%s\"}",
             id, caller->number % 5, caller->number, id);
    bool is_async = world_random(random) % 2 == 0;
    long long run = 0;
    bool is_done = false;
    for (long long until = process_now_ms() + MESSAGE_DEADLINE_MS;
         !is_done && process_now_ms() < until;) {
        if (atomic_load(&caller->world->port) == 0) {
            world_sleep_ms(2);
            continue;
        }
        is_done = run > 0 ? ask_result(caller, id, run) : post(caller, id, body, is_async, &run);
        if (!is_done)
            world_sleep_ms(1 + (unsigned)(world_random(random) % 8));
    }
    if (!is_done) {
        world_fail(caller->world, "%s: no answer in %d ms", id, MESSAGE_DEADLINE_MS);
        return;
    }
    atomic_fetch_add(&caller->world->answered, 1);
    /* the same id once more: the stored result must come back, not a second answer */
    if (world_random(random) % 4 == 0 && atomic_load(&caller->world->port) != 0) {
        long long again = 0;
        (void)post(caller, id, body, false,
                   &again); /* no answer is fine: the service may be down just now */
    }
}

void *caller_run(void *user)
{
    struct caller *caller = user;
    uint64_t random = caller->seed;
    for (unsigned number = 1; !atomic_load(&caller->world->is_stopping); number++)
        send_one(caller, number, &random);
    return NULL;
}
