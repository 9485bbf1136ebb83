/*
 * Aim: what the service does can be seen from outside: one line of the log for each thing that
 * happens to a message.
 * Method: the real binary over sockets; its log file, status, metrics and traces are read as their
 *   readers do. scenario_seen BINARY FAKE_MODEL
 */
#include "support/check.h"
#include "support/patience.h"
#include "support/prometheus.h"
#include "talk.h"
#include "world.h"

#include <ctype.h>
#include <dirent.h>
#include <time.h>
#include <unistd.h>

#define LLM "\"api\":\"chat\",\"apiKey\":\"" WORLD_API_KEY "\""

static char *binary, *fake_model;
static struct world shared;

/* -- the log ----------------------------------------------------------------------------------- */
/* Details of the lines of this event and run, oldest first. Decref it. */
static json_t *log_events(const struct world *world, const char *event, const char *run_id)
{
    char path[300];
    json_t *found = json_array();
    snprintf(path, sizeof path, "%s/.ship/logs", world->folder.path);
    DIR *folder = opendir(path);
    CHECK(folder != NULL && found != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strstr(entry->d_name, ".jsonl") == NULL)
            continue;
        snprintf(path, sizeof path, ".ship/logs/%s", entry->d_name);
        char *text = folder_read(&world->folder, path);
        for (char *at = text, *end; at != NULL && (end = strchr(at, '\n')) != NULL; at = end + 1) {
            json_t *line = json_loadb(at, (size_t)(end - at), 0, NULL);
            CHECK(json_is_object(line));
            json_t *details = json_object_get(line, "details");
            if (strcmp(talk_text(details, "event"), event) == 0 &&
                strcmp(talk_text(details, "runId"), run_id) == 0)
                json_array_append(found, details);
            json_decref(line);
        }
        free(text);
    }
    closedir(folder);
    return found;
}

/* The only line of this event. */
static json_t *log_event(const struct world *world, const char *event, const char *run_id)
{
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS;; process_pause_ms(5)) {
        json_t *list = log_events(world, event, run_id);
        if (json_array_size(list) > 0) {
            CHECK_INT(1, (long long)json_array_size(list));
            json_t *only = json_incref(json_array_get(list, 0));
            json_decref(list);
            return only;
        }
        json_decref(list);
        if (process_now_ms() >= until)
            fprintf(stderr, "no line %s of run %s\n", event, run_id);
        CHECK(process_now_ms() < until);
    }
}

static void expect_number(const json_t *details, const char *member)
{
    if (!json_is_integer(json_object_get(details, member)))
        fprintf(stderr, "%s is not a number\n", member);
    CHECK(json_is_integer(json_object_get(details, member)));
}

CASE(each_event_of_a_message_leaves_one_line)
{
    json_t *answer = talk_execute(shared.service.port, 200, "lines", "m-1",
                                  "do it [[call list_files {\"path\":\"secret-argument-dir\"}]]");
    const char *run = talk_text(answer, "runId");
    json_t *line = log_event(&shared, "message_accepted", run);
    CHECK_TEXT("api:chat:lines", talk_text(line, "chatKey"));
    CHECK_TEXT("accepted", talk_text(line, "verdict"));
    expect_number(line, "ms");
    json_decref(line);

    line = log_event(&shared, "run_begun", run);
    CHECK_TEXT("api:chat:lines", talk_text(line, "chatKey"));
    CHECK_TEXT("owner", talk_text(line, "standing"));
    expect_number(line, "waitedMs");
    json_decref(line);

    line = log_event(&shared, "tool_call", run);
    CHECK_TEXT("list_files", talk_text(line, "tool"));
    CHECK_TEXT("allowed", talk_text(line, "verdict"));
    expect_number(line, "ms");
    expect_number(line, "argumentBytes");
    json_decref(line);

    line = log_event(&shared, "run_ended", run);
    CHECK_TEXT("api:chat:lines", talk_text(line, "chatKey"));
    CHECK_TEXT("ok", talk_text(line, "outcome"));
    expect_number(line, "ms");
    expect_number(line, "runMs");
    json_decref(line);
    json_decref(answer);
}

/* The words of people, of the model and of calls are for the chat, not for the log. */
CASE(lines_of_traffic_hold_no_text_of_people)
{
    json_t *answer = talk_execute(shared.service.port, 200, "quiet", "m-2", "my very own words");
    json_decref(log_event(&shared, "run_ended", talk_text(answer, "runId")));
    CHECK(world_log_has(&shared, "run ended #"));
    CHECK(!world_log_has(&shared, "my very own words"));
    CHECK(!world_log_has(&shared, "secret-argument-dir"));
    CHECK(!world_log_has(&shared, "\"event\""));
    json_decref(answer);
}

/* -- metrics and status ------------------------------------------------------------------------ */
static char *page(const char *path)
{
    struct http_answer answer = http_ask(shared.service.port, path, "", NULL, TALK_MS);
    CHECK_INT(200, answer.status);
    char *text = strdup(answer.body);
    CHECK(text != NULL);
    http_answer_fini(&answer);
    return text;
}

static void expect_part(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fprintf(stderr, "\"%s\" is missing in:\n%s\n", part, text);
    CHECK(strstr(text, part) != NULL);
}

CASE(numbers_tell_platform_model_and_tool)
{
    json_decref(talk_execute(shared.service.port, 200, "numbers", "m-3",
                             "count [[call list_files {}]] [[call no_such_tool {}]]"));
    char *text = page("/metrics");
    expect_part(text, "\nsma_platform_messages_total{platform=\"http\",outcome=\"accepted\"} ");
    expect_part(text, "\nsma_platform_connected{platform=\"http\"} 1\n");
    expect_part(text, "\nsma_model_calls_total{model=\"chat 127.0.0.1");
    expect_part(text, "kind=\"output\"} ");
    expect_part(text, "\nsma_tool_calls_total{tool=\"list_files\",outcome=\"ok\"} ");
    CHECK(strstr(text, "no_such_tool") == NULL); /* the model's own word is no label */
    free(text);
}

CASE(the_whole_page_is_prometheus_text)
{
    static const char *const names[] = {"\nsma_build_info{version=\"" SMA_VERSION "\",",
                                        "\nprocess_cpu_seconds_total ",
                                        "\nprocess_resident_memory_bytes ",
                                        "\nprocess_virtual_memory_bytes ",
                                        "\nprocess_start_time_seconds ",
                                        "\nprocess_open_fds ",
                                        "\nprocess_max_fds ",
                                        "\nprocess_threads ",
                                        "\nsma_disk_free_bytes ",
                                        "\nsma_approvals_waiting 0\n",
                                        "\nsma_model_total_seconds_bucket{le=\"536.870912\"} "};
    char *text = page("/metrics");
    is_prometheus_text(text);
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        expect_part(text, names[i]);
    double begun = strtod(strstr(text, "\nprocess_start_time_seconds ") + 28, NULL);
    CHECK(begun > (double)time(NULL) - 3600 && begun <= (double)time(NULL) + 1);
    if (access("/usr/bin/promtool", X_OK) == 0) {
        char *argv[] = {(char *)(uintptr_t) "/usr/bin/promtool", (char *)(uintptr_t) "check",
                        (char *)(uintptr_t) "metrics", NULL},
             *said = NULL;
        int status = run_to_end(argv, text, &said, 20000);
        if (status != 0)
            fprintf(stderr, "promtool: %s\n", said);
        CHECK_INT(0, status);
        free(said);
    }
    free(text);
}

/* Each number of the board for Grafana is one that we tell. */
CASE(the_board_asks_for_numbers_that_there_are)
{
    char *text = page("/metrics"), *board = NULL;
    const char *argv[] = {"/bin/cat", SMA_SOURCE_DIR "/packaging/grafana.json", NULL};
    CHECK_INT(0, run_to_end((char *const *)(uintptr_t)argv, "", &board, 5000));
    json_t *root = json_loads(board, 0, NULL);
    CHECK(json_array_size(json_object_get(root, "panels")) > 5);
    json_decref(root);
    size_t count = 0;
    for (const char *at = board; (at = strpbrk(at, "sp")) != NULL;) {
        size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
        bool is_ours = strncmp(at, "sma_", 4) == 0 || strncmp(at, "process_", 8) == 0;
        /* told from the first one on, and here is no chat platform */
        bool is_rare = strncmp(at, "sma_platform_ignored_total", 26) == 0 ||
                       strncmp(at, "sma_platform_deliveries_total", 29) == 0;
        if (is_ours && !is_rare && (at == board || !isalpha((unsigned char)at[-1]))) {
            char name[128];
            snprintf(name, sizeof name, "\n%.*s", (int)len, at);
            expect_part(text, name);
            count++;
        }
        at += len == 0 ? 1 : len;
    }
    CHECK(count > 10);
    free(board);
    free(text);
}

CASE(status_tells_how_connections_and_models_stand)
{
    json_t *status = talk_get(shared.service.port, "/api/status");
    const json_t *http = json_object_get(json_object_get(status, "platforms"), "http");
    CHECK(json_is_true(json_object_get(http, "connected")));
    CHECK_INT(24, (long long)strlen(talk_text(http, "since")));
    const json_t *models = json_object_get(status, "models");
    CHECK_INT(1, (long long)json_object_size(models));
    const char *name;
    json_t *model;
    json_object_foreach((json_t *)models, name, model)
    {
        CHECK_TEXT("ok", talk_text(model, "state"));
        CHECK(strncmp(name, "chat 127.0.0.1", 14) == 0);
    }
    json_decref(status);
}

/* Nobody listens at the first target: the second answers, and it can be seen why. */
CASE(a_target_that_fails_is_told_with_its_error)
{
    struct world world = {0};
    char root[512];
    world_create(&world, fake_model, LLM, "");
    snprintf(root, sizeof root,
             "%s,\"fallbacks\":[{\"provider\":\"custom\",\"model\":\"second\",\"api\":\"chat\","
             "\"apiKey\":\"" WORLD_API_KEY "\",\"baseUrl\":\"http://127.0.0.1:%d/v1\"}]",
             LLM, world.fake_port);
    world_configure(&world, 1, root, ""); /* port 1: refused */
    service_start(&world.service, binary, &world.folder);
    talk_expect(world.service.port, "fails", "hello", "You said: hello");
    json_t *status = talk_get(world.service.port, "/api/status");
    const char *name;
    json_t *model;
    int cooled = 0, ok = 0;
    json_object_foreach(json_object_get(status, "models"), name, model)
    {
        bool is_cooled = strcmp(talk_text(model, "state"), "cooled") == 0;
        cooled += is_cooled && strlen(talk_text(model, "cooledUntil")) == 24 &&
                  talk_text(json_object_get(model, "lastError"), "text")[0] != '\0';
        ok += strcmp(talk_text(model, "state"), "ok") == 0;
    }
    CHECK_INT(1, cooled);
    CHECK_INT(1, ok);
    json_decref(status);
    world_stop(&world);
}

/* -- one message ------------------------------------------------------------------------------- */
static const json_t *stage_of(const json_t *trace, const char *name)
{
    const json_t *stages = json_object_get(trace, "stages");
    for (size_t i = 0; i < json_array_size(stages); i++)
        if (strcmp(talk_text(json_array_get(stages, i), "stage"), name) == 0)
            return json_array_get(stages, i);
    fprintf(stderr, "the trace has no stage %s\n", name);
    CHECK(false);
    return NULL;
}

static void expect_life(const json_t *trace)
{
    static const char *const stages[] = {"read", "claimed", "begun", "model", "tool", "ended"};
    long long before = 0;
    CHECK_TEXT("done", talk_text(trace, "status"));
    CHECK_TEXT("api:chat:traced", talk_text(trace, "chatKey"));
    for (size_t i = 0; i < SMA_COUNT_OF(stages); i++) {
        long long at = json_integer_value(json_object_get(stage_of(trace, stages[i]), "atUs"));
        CHECK(at + 1000 >= before); /* the wall clock is read in milliseconds */
        before = at;
    }
    CHECK_TEXT("list_files", talk_text(stage_of(trace, "tool"), "tool"));
    CHECK_TEXT("ok", talk_text(stage_of(trace, "model"), "outcome"));
    CHECK_TEXT("ok", talk_text(stage_of(trace, "ended"), "outcome"));
    expect_number(trace, "durationMs");
    expect_number(json_object_get(trace, "usage"), "output");
}

CASE(a_trace_tells_the_life_of_a_message)
{
    char path[64];
    int port = shared.service.port;
    json_t *answer = talk_execute(port, 200, "traced", "m-traced",
                                  "secret words [[call list_files {\"path\":\"secret-dir\"}]]");
    snprintf(path, sizeof path, "/api/runs/%s/trace", talk_text(answer, "runId"));
    json_t *trace = talk_get(port, path), *again = talk_get(port, "/api/trace?message=m-traced");
    expect_life(trace);
    CHECK(json_equal(trace, again));
    char *text = json_dumps(trace, JSON_COMPACT);
    CHECK(strstr(text, "secret") == NULL);
    free(text);
    json_decref(trace);
    json_decref(again);
    CHECK_INT(0, service_stop(&shared.service));
    service_start(&shared.service, binary, &shared.folder);
    trace = talk_get(shared.service.port, path);
    expect_life(trace);
    json_decref(trace);
    json_decref(answer);
    struct http_answer none =
        http_ask(shared.service.port, "/api/runs/999999/trace", "", NULL, TALK_MS);
    CHECK_INT(404, none.status);
    http_answer_fini(&none);
}

CASE(a_result_tells_its_duration_and_usage)
{
    json_t *answer = talk_execute(shared.service.port, 200, "costs", "m-costs", "hello");
    const json_t *used = json_object_get(answer, "usage");
    long long requests = json_integer_value(json_object_get(used, "requests"));
    CHECK(requests > 0);
    CHECK(json_integer_value(json_object_get(used, "output")) > 0);
    json_t *usage = talk_get(shared.service.port, "/api/usage?days=1&chatKey=api:chat:costs");
    CHECK_INT(requests,
              json_integer_value(json_object_get(json_object_get(usage, "total"), "requests")));
    json_decref(usage);
    json_decref(answer);
}

/* -- the command line and the chat ------------------------------------------------------------- */
static char *command_says(const char *command, const char *what, const char *option)
{
    char *argv[] = {binary, (char *)command, (char *)what, shared.folder.path, (char *)option,
                    NULL};
    char *short_argv[] = {binary, (char *)command, shared.folder.path, (char *)option, NULL};
    char *output = NULL;
    CHECK_INT(0, run_to_end(what == NULL ? short_argv : argv, "", &output, TALK_MS));
    CHECK(output != NULL);
    return output;
}

CASE(commands_show_trace_usage_and_status)
{
    json_t *answer =
        talk_execute(shared.service.port, 200, "commands", "m-cli-7", "go [[call list_files {}]]");
    char *text = command_says("trace", talk_text(answer, "runId"), NULL);
    expect_part(text, "chat       api:chat:commands\n");
    expect_part(text, "  tool list_files");
    expect_part(text, "  target chat 127.0.0.1");
    free(text);
    text = command_says("trace", "m-cli-7", "--json");
    expect_part(text, "\"messageId\":\"m-cli-7\"");
    free(text);
    text = command_says("usage", NULL, "--by=chat");
    expect_part(text, "api:chat:commands\n");
    expect_part(text, "total\n");
    free(text);
    text = command_says("status", NULL, NULL);
    expect_part(text, "  http               connected since ");
    expect_part(text, " ok, last answer ");
    expect_part(text, "  usageToday         requests ");
    free(text);
    json_decref(answer);
}

/* The same of another project. */
static char *says(const struct world *world, const char *command, const char *what)
{
    char *argv[] = {binary, (char *)command,
                    what == NULL ? (char *)world->folder.path : (char *)what,
                    what == NULL ? NULL : (char *)world->folder.path, NULL};
    char *output = NULL;
    CHECK_INT(0, run_to_end(argv, "", &output, TALK_MS));
    CHECK(output != NULL);
    return output;
}

static void expect_says(const struct world *world, const char *command, const char *what,
                        const char *part)
{
    char *text = says(world, command, what);
    expect_part(text, part);
    free(text);
}

CASE(status_says_where_it_is_and_what_it_asks)
{
    char part[128];
    char *text = command_says("status", NULL, NULL);
    snprintf(part, sizeof part, "  address            http://127.0.0.1:%d, pid %d, up ",
             shared.service.port, (int)shared.service.pid);
    expect_part(text, part);
    expect_part(text, "  model              custom fake-1\n");
    expect_part(text, "  runs               0 open, 0 waiting, ");
    expect_part(text, " answered, 0 failed\n");
    expect_part(text, "  tokens today       ");
    CHECK(strstr(text, "TROUBLE") == NULL);
    const char *inner = strstr(text, "Internals, for finding faults:\n");
    CHECK(inner != NULL && strstr(text, "platforms\n") < inner); /* the owner's things first */
    CHECK(strstr(text, "  tokens today       ") < inner && strstr(text, "  commits ") > inner);
    for (const char *at = text; (at = strstr(at, "e+")) != NULL; at++)
        CHECK(at == text || !isdigit((unsigned char)at[-1])); /* no 1.678e+04 */
    free(text);
}

CASE(a_model_that_fails_shows_everywhere)
{
    struct world world = {0};
    world_create(&world, fake_model, LLM, "");
    world_configure(&world, world.fake_port, "\"api\":\"chat\",\"apiKey\":\"sk-wrong-4711\"", "");
    service_start(&world.service, binary, &world.folder);
    json_t *answer = talk_execute(world.service.port, 200, "fails", "m-fails", "hello");
    CHECK(json_is_false(json_object_get(answer, "success")));
    json_decref(answer);
    expect_says(&world, "status", NULL, "  TROUBLE            model: ");
    expect_says(&world, "status", NULL, "since the start 0 answered, 1 failed\n");
    expect_says(&world, "why", "m-fails", " failed");
    expect_says(&world, "why", "m-fails", "  The provider does not take the API key.\n");
    expect_says(&world, "why", "m-fails", "  What to do: Set llm.apiKey");
    expect_says(&world, "runs", NULL, " failed ");
    struct http_answer health = http_ask(world.service.port, "/health", "", NULL, TALK_MS);
    CHECK_INT(200, health.status);
    expect_part(health.body, "{\"status\":\"degraded\"");
    expect_part(health.body, "\"reasons\":[\"model\"]");
    http_answer_fini(&health);
    world_stop(&world);
}

/* Parked for consent, and a message behind it. */
CASE(what_waits_says_for_what)
{
    struct world world = {0};
    struct talk behind;
    char part[128], *body = talk_body("asks", "m-behind", "and this?");
    world_start(&world, binary, fake_model, LLM, "");
    json_t *answer = talk_execute(world.service.port, 200, "asks", "m-asks",
                                  "please [[call exec_shell {\"command\":\"touch asked-for\"}]]");
    CHECK_TEXT("parked", talk_text(answer, "status"));
    const char *id = talk_text(json_object_get(answer, "pendingApproval"), "id");
    talk_start(&behind, world.service.port, "/api/execute", "Prefer: respond-async\r\n", body);
    talk_wait(&behind);
    CHECK_INT(202, behind.answer.status);
    talk_fini(&behind);
    free(body);
    snprintf(part, sizeof part,
             "  run %-14s parked, api:chat:asks, waits for request %.6s, which "
             "people have to decide\n",
             talk_text(answer, "runId"), id);
    expect_says(&world, "status", NULL, part);
    snprintf(part, sizeof part, "waiting, api:chat:asks, waits for request %.6s of this chat", id);
    expect_says(&world, "status", NULL, part);
    snprintf(part, sizeof part, "It waits for request %.6s, which people have to decide.\n", id);
    expect_says(&world, "why", "m-asks", part);
    expect_says(&world, "why", "m-asks", "touch asked-for");
    snprintf(part, sizeof part, "`shipmyagent approvals approve %.6s`", id);
    expect_says(&world, "why", "m-asks", part);
    snprintf(part, sizeof part, "It waits for request %.6s of this chat", id);
    expect_says(&world, "why", "m-behind", part);
    expect_says(&world, "why", "api:chat:asks", "m-behind  waiting (run ");
    json_decref(answer);
    world_stop(&world);
}

CASE(usage_is_told_in_the_chat)
{
    json_decref(talk_execute(shared.service.port, 200, "asks", "m-u1", "hello"));
    json_t *answer = talk_execute(shared.service.port, 200, "asks", "m-u2", "/usage");
    expect_part(talk_text(answer, "output"), "This chat: today ");
    expect_part(talk_text(answer, "output"), "\nAll chats: today ");
    CHECK(strstr(talk_text(answer, "output"), "today 0 requests") == NULL);
    json_decref(answer);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    world_start(&shared, binary, fake_model, LLM, "");
    check_run_cases(NULL);
    world_stop(&shared);
    return check_summary();
}
