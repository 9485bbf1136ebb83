/*
 * Aim: budgets as people and callers meet them: on each chat platform what is over is told once and
 *      commands still work; over HTTP it is 429 with its reason; a run that goes over ends before
 *      its next request; SIGHUP and kill -9 change neither what was used nor what is allowed.
 * Method: the real binary between simulated platforms and fake_model.
 *   scenario_budget BINARY FAKE_MODEL
 */
#include "platform_world.h"

#include "support/check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct platform_kind telegram_kind, feishu_kind, qq_kind;

#define LLM "\"apiKey\":\"" WORLD_API_KEY "\",\"api\":\"chat\""
#define PRICES ",\"prices\":{\"input\":2,\"output\":8}"

static const char *binary, *fake_model;

/* -- chat platforms ---------------------------------------------------------------------------- */
struct place
{
    const struct platform_kind *kind;
    json_t *(*chat)(void);
    json_t *(*user)(void);
};
static json_t *telegram_ann(void)
{
    return json_integer(1001);
}
static json_t *feishu_chat(void)
{
    return json_string("oc_ann");
}
static json_t *feishu_ann(void)
{
    return json_string("ou_ann");
}
static json_t *qq_chat(void)
{
    return json_string("c2c:A1B2C3D4E5F60718293A4B5C6D7E8F90");
}
static json_t *nobody(void)
{
    return NULL;
}
static const struct place PLACES[] = {{&telegram_kind, telegram_ann, telegram_ann},
                                      {&feishu_kind, feishu_chat, feishu_ann},
                                      {&qq_kind, qq_chat, nobody}};

static void say(const struct platform_world *world, const struct place *place, const char *text)
{
    (void)chat_say_as(world, place->chat(), place->user(), text);
}

static void over_is_told_once_on(const struct place *place)
{
    static struct platform_world world;
    memset(&world, 0, sizeof world);
    const char *language = place->kind == &qq_kind ? "" : ",\"language\":\"en\"";
    char root[256];
    snprintf(root, sizeof root, "%s,\"budgets\":{\"perPerson\":{\"runs\":{\"day\":1}}}", language);
    platform_world_start(&world, place->kind, binary, fake_model,
                         &(struct platform_options){.root = root});
    say(&world, place, "first question");
    json_decref(chat_await_in(&world, place->chat(), "first question")); /* as it answers */
    platform_settle(&world);
    say(&world, place, "second question");
    json_decref(chat_await_in(&world, place->chat(), "is used up (number of tasks)"));
    say(&world, place, "third question");
    platform_settle(&world);
    say(&world, place, "/usage");
    json_decref(chat_await_in(&world, place->chat(), "0 of 1 left (number of tasks)"));
    platform_settle(&world);
    CHECK_INT(1, (int)chat_count_in(&world, place->chat(), "is used up"));
    CHECK_INT(0, (int)platform_asked(&world, "second question"));
    CHECK_INT(0, (int)platform_asked(&world, "third question"));
    platform_world_stop(&world);
}

CASE(over_is_told_once_on_each_platform)
{
    for (size_t i = 0; i < SMA_COUNT_OF(PLACES); i++) {
        fprintf(stderr, "   %s\n", PLACES[i].kind->name);
        over_is_told_once_on(&PLACES[i]);
    }
}

/* -- HTTP -------------------------------------------------------------------------------------- */
static struct http_answer ask(const struct world *world, const char *chat, const char *id,
                              const char *text)
{
    char *body = talk_body(chat, id, text);
    struct http_answer answer = http_ask(world->service.port, "/api/execute", "", body, TALK_MS);
    free(body);
    return answer;
}

static void expect_429(const struct world *world, const char *id, const char *code)
{
    struct http_answer answer = ask(world, "a", id, "hello");
    CHECK_INT(429, answer.status);
    json_t *root = talk_json(&answer), *reason = json_object_get(root, "reason");
    CHECK_TEXT(code, talk_text(reason, "code"));
    CHECK_TEXT("person", talk_text(reason, "scope"));
    CHECK(talk_text(reason, "renewed")[0] != '\0' && talk_text(root, "message")[0] != '\0');
    CHECK(json_is_false(json_object_get(root, "success")));
    json_decref(root);
    http_answer_fini(&answer);
}

static void expect_time_to_wait(const struct world *world)
{
    char token[128], request[1024];
    char *body = talk_body("a", "m-raw", "hello");
    http_token_of(world->service.port, token);
    snprintf(request, sizeof request,
             "POST /api/execute HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             world->service.port, token, strlen(body), body);
    int fd = raw_connect(world->service.port);
    CHECK(raw_send(fd, request, strlen(request)));
    char *text = raw_read(fd, "\r\n\r\n", TALK_MS);
    CHECK(strncmp(text, "HTTP/1.1 429 Too Many Requests", 30) == 0);
    const char *wait = strstr(text, "Retry-After: ");
    CHECK(wait != NULL);
    long seconds = strtol(wait + strlen("Retry-After: "), NULL, 10);
    CHECK(seconds > 0 && seconds <= 25 * 3600);
    close(fd);
    free(text);
    free(body);
}

static int64_t used(const struct world *world, const char *kind)
{
    json_t *status = talk_get(world->service.port, "/api/status");
    const json_t *total =
        json_object_get(json_object_get(json_object_get(status, "store"), "budgets"), "total");
    int64_t number = json_integer_value(
        json_object_get(json_object_get(json_object_get(total, kind), "day"), "used"));
    json_decref(status);
    return number;
}

CASE(over_is_429_and_survives)
{
    static struct world world;
    memset(&world, 0, sizeof world);
    world_start(&world, binary, fake_model, LLM PRICES,
                ",\"budgets\":{\"perPerson\":{\"runs\":{\"day\":2}}}");
    json_decref(talk_execute(world.service.port, 200, "a", "m1", "hello"));
    json_decref(talk_execute(world.service.port, 200, "a", "m2", "hello"));
    expect_429(&world, "m3", "budget");
    expect_time_to_wait(&world);
    CHECK(used(&world, "tokens") > 0);
    CHECK(used(&world, "costNano") > 0); /* by llm.prices */
    CHECK_INT(2, (int)used(&world, "runs"));
    int64_t tokens = used(&world, "tokens");
    service_kill(&world.service);
    service_start(&world.service, binary, &world.folder);
    expect_429(&world, "m4", "budget");
    CHECK_INT((int)tokens, (int)used(&world, "tokens"));
    for (long long until = process_now_ms() + TALK_MS; /* whose it is stands in the log */
         !world_log_has(&world, ", detail of the person\n"); process_pause_ms(5))
        CHECK(process_now_ms() < until);
    CHECK(world_log_has(&world, "message refused #"));
    json_t *answer = talk_execute(world.service.port, 200, "a", "m5", "/usage");
    CHECK(strstr(talk_text(answer, "output"), "0 of 2 left (number of tasks)") != NULL);
    json_decref(answer);
    world_configure(&world, world.fake_port, LLM PRICES,
                    ",\"budgets\":{\"perPerson\":{\"runs\":{\"day\":3}}},"
                    "\"limits\":{\"perPersonPerMinute\":1}");
    CHECK(kill(world.service.pid, SIGHUP) == 0);
    for (long long until = process_now_ms() + TALK_MS;;) {
        struct http_answer again = ask(&world, "a", NULL, "hello");
        int status = again.status;
        http_answer_fini(&again);
        if (status == 200)
            break;
        CHECK_INT(429, status);
        CHECK(process_now_ms() < until);
        process_pause_ms(20);
    }
    expect_429(&world, "m6", "rate");
    world_stop(&world);
}

CASE(a_run_that_goes_over_ends_before_its_next_request)
{
    static struct world world;
    memset(&world, 0, sizeof world);
    world_start(&world, binary, fake_model, LLM,
                ",\"budgets\":{\"total\":{\"tokens\":{\"day\":1}}}");
    json_t *answer = talk_execute(world.service.port, 200, "a", "m1",
                                  "work on [[call list_files {}]] [[call list_files {}]]");
    CHECK(strstr(talk_text(answer, "output"), "so I stop here") != NULL);
    CHECK(json_is_false(json_object_get(answer, "success")));
    json_decref(answer);
    CHECK_INT(1, (int)world_asked_count(&world, "work on"));
    struct http_answer next = ask(&world, "b", "m2", "hello");
    CHECK_INT(429, next.status);
    http_answer_fini(&next);
    struct http_answer metrics = http_ask(world.service.port, "/metrics", "", NULL, TALK_MS);
    CHECK(strstr(metrics.body, "sma_runs_over_budget_total 1") != NULL);
    CHECK(strstr(metrics.body, "sma_ingress_over_budget_total 1") != NULL);
    CHECK(strstr(metrics.body, "sma_budget_limit_tokens 1\n") != NULL);
    http_answer_fini(&metrics);
    world_stop(&world);
}

CASE(a_cost_without_a_price_is_said_at_start)
{
    static struct world world;
    memset(&world, 0, sizeof world);
    world_start(&world, binary, fake_model, LLM, ",\"budgets\":{\"total\":{\"cost\":{\"day\":1}}}");
    CHECK(world_log_has(&world, "budgets: no price of"));
    world_stop(&world);
    memset(&world, 0, sizeof world);
    world_start(&world, binary, fake_model, LLM PRICES,
                ",\"budgets\":{\"total\":{\"cost\":{\"day\":1}}}");
    CHECK(!world_log_has(&world, "budgets: no price of"));
    world_stop(&world);
}

CASES_MAIN_GIVEN(&binary, &fake_model)
