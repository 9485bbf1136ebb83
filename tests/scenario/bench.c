/*
 * Aim: `shipmyagent bench` counts every message once, from when it was due; it sees a stall of the
 *      service, says when it was late itself, reads nobody's secrets, and judges a run by its
 *      baseline.
 * Method: run it on a small project; add up its JSON, stop the service (or the generator) for half
 *         a second at a known moment, and change baselines by hand.
 *   scenario_bench BINARY
 */
#include "bench_child.h"
#include "process.h"

#include "support/check.h"

#include <jansson.h>
#include <signal.h>
#include <unistd.h>

#define TIMEOUT_MS 120000
#define STALL_MS 500
#define ROUND_COUNT_MAX 5
#define SECRET "sk-nobody-else-reads-this"

static const char *binary;
static struct folder project, results;

static const char *result_path(const char *name)
{
    static char paths[4][192];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", results.path, name);
    return path;
}

/* -- a bench that runs ----------------------------------------------------------------------- */
static void start(struct bench *bench, const char *const *words)
{
    const char *argv[24] = {"bench", project.path};
    for (size_t i = 0; words[i] != NULL; i++)
        argv[i + 2] = words[i];
    bench_start(bench, binary, argv);
}

/* Up to the moment when messages begin to count. */
static void await_measuring(struct bench *bench)
{
    bench_await(bench, "measuring");
    CHECK(bench->service > 0);
}

static json_t *read_report(const char *name)
{
    return bench_read_json(result_path(name));
}

/* -- what every report promises --------------------------------------------------------------- */
static void expect_ordered(const json_t *row)
{
    static const char *const names[] = {"p50", "p90", "p99", "p999", "max"};
    double before = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        double value = json_number_value(json_object_get(row, names[i]));
        CHECK(value > 0 && value >= before);
        before = value;
    }
}

static const json_t *stage_of(const json_t *report, const char *name)
{
    size_t i;
    const json_t *stage;
    json_array_foreach(json_object_get(report, "stages"), i,
                       stage) if (strcmp(json_string_value(json_object_get(stage, "name")), name) ==
                                  0) return stage;
    fprintf(stderr, "no stage %s\n", name);
    CHECK(false);
    return NULL;
}

static void expect_sums(const json_t *report)
{
    size_t i;
    double in_bars = 0, due = bench_number(report, "messages", "due"),
           answered = bench_number(report, "messages", "answered");
    const json_t *row;
    CHECK(due == answered + bench_number(report, "messages", "refused") +
                     bench_number(report, "messages", "broken") +
                     bench_number(report, "messages", "unanswered"));
    json_array_foreach(json_object_get(report, "histogram"), i, row) in_bars +=
        json_number_value(json_object_get(row, "count"));
    CHECK_INT(answered, in_bars);
    expect_ordered(json_object_get(report, "latencyMs"));
    json_array_foreach(json_object_get(report, "stages"), i, row) expect_ordered(row);
    CHECK(bench_number(report, "perMessage", "cpuMs") > 0);
    CHECK(bench_number(report, "perMessage", "syncs") > 0);
}

static void every_message_is_counted_once(const char *platform)
{
    struct bench bench;
    const char *path = result_path(platform);
    start(&bench, (const char *const[]){"--platform", platform, "--rate", "40", "--duration", "2",
                                        "--json", path, NULL});
    await_measuring(&bench);
    CHECK_INT(0, bench_finish(&bench));
    json_t *report = read_report(platform);
    expect_sums(report);
    CHECK_INT(80, bench_number(report, "messages", "due"));
    CHECK_INT(80, bench_number(report, "messages", "sent"));
    CHECK_INT(80, bench_number(report, "messages", "answered"));
    CHECK_INT(80, bench_number(report, "service", "accepted")); /* what warms up is not counted */
    CHECK_INT(80, json_number_value(json_object_get(stage_of(report, "read_to_durable"), "count")));
    CHECK_INT(80, json_number_value(json_object_get(stage_of(report, "model_total"), "count")));
    /* of those that had not to wait for others */
    double begun =
        json_number_value(json_object_get(stage_of(report, "durable_to_model"), "count"));
    CHECK(begun > 0 && begun <= 80);
    if (strcmp(platform, "http") != 0) { /* likewise: of how many depends on the machine */
        double replied =
            json_number_value(json_object_get(stage_of(report, "read_to_reply"), "count"));
        CHECK(replied > 0 && replied <= 80);
    }
    json_decref(report);
    CHECK(access(bench.copy, F_OK) != 0); /* nothing stays */
}

CASE(http_is_measured)
{
    every_message_is_counted_once("http");
}

CASE(telegram_is_measured)
{
    every_message_is_counted_once("telegram");
}

CASE(feishu_is_measured)
{
    every_message_is_counted_once("feishu");
}

CASE(qq_is_measured)
{
    every_message_is_counted_once("qq");
}

static void chats_that_wait_are_measured(const char *platform)
{
    struct bench bench;
    start(&bench, (const char *const[]){"--platform", platform, "--closed", "3", "--duration", "1",
                                        "--json", result_path("closed"), NULL});
    await_measuring(&bench);
    CHECK_INT(0, bench_finish(&bench));
    json_t *report = read_report("closed");
    expect_sums(report);
    CHECK(bench_number(report, "messages", "due") > 6); /* all spoke more than once */
    CHECK(bench_number(report, "messages", "due") == bench_number(report, "service", "accepted"));
    json_decref(report);
}

CASE(closed_loops_are_measured)
{
    chats_that_wait_are_measured("http");
    chats_that_wait_are_measured("telegram");
    chats_that_wait_are_measured("feishu");
    chats_that_wait_are_measured("qq");
}

/* -- stalls ------------------------------------------------------------------------------------ */
static void stall(pid_t pid)
{
    CHECK(kill(pid, SIGSTOP) == 0);
    process_pause_ms(STALL_MS);
    CHECK(kill(pid, SIGCONT) == 0);
}

/* A quarter of the messages are due while nobody reads them, and a tenth in the first 200 ms of
 * that: they all count, whenever a generator that waits for answers would have sent them. */
static bool a_stall_is_seen_in_time(const char *platform)
{
    struct bench bench;
    start(&bench, (const char *const[]){"--platform", platform, "--rate", "100", "--duration", "2",
                                        "--json", result_path("stall"), NULL});
    await_measuring(&bench);
    stall(bench.service);
    CHECK_INT(0, bench_finish(&bench));
    json_t *report = read_report("stall");
    expect_sums(report);
    CHECK_INT(200, bench_number(report, "messages", "due"));
    CHECK_INT(200, bench_number(report, "messages", "answered"));
    CHECK(bench_number(report, "latencyMs", "p90") >= STALL_MS * 0.5);
    CHECK(bench_number(report, "latencyMs", "p99") >= STALL_MS * 0.8);
    bool is_in_time =
        !json_is_true(json_object_get(json_object_get(report, "generator"), "wasBottleneck")) ||
        bench_number(report, "generator", "lateP99Ms") < STALL_MS * 0.5;
    json_decref(report);
    return is_in_time;
}

/* A generator that took the service's stall for its own lateness would do so every time; a busy
 * machine makes it late now and then, and it says so. */
static void a_stall_is_seen(const char *platform)
{
    bool is_in_time = false;
    for (int round = 0; round < ROUND_COUNT_MAX && !is_in_time; round++)
        is_in_time = a_stall_is_seen_in_time(platform);
    CHECK(is_in_time);
}

CASE(a_stall_of_the_service_is_seen_by_all_that_was_due)
{
    a_stall_is_seen("http");
    a_stall_is_seen("telegram");
}

CASE(a_generator_that_was_late_says_so)
{
    struct bench bench;
    start(&bench, (const char *const[]){"--platform", "http", "--rate", "100", "--duration", "2",
                                        "--json", result_path("late"), NULL});
    await_measuring(&bench);
    stall(bench.pid);
    CHECK_INT(0, bench_finish(&bench));
    json_t *report = read_report("late");
    expect_sums(report);
    CHECK(json_is_true(json_object_get(json_object_get(report, "generator"), "wasBottleneck")));
    CHECK(bench_number(report, "generator", "lateMaxMs") >= STALL_MS * 0.8);
    CHECK(bench_number(report, "latencyMs", "max") >=
          bench_number(report, "generator", "lateMaxMs"));
    json_decref(report);
}

/* More than it can answer, while it is stopped, on all connections there are: what has to wait for
 * one of them is the service's delay, not the generator's. */
CASE(a_service_that_is_too_slow_is_not_the_generator)
{
    struct bench bench;
    start(&bench, (const char *const[]){"--platform", "http", "--rate", "2500", "--duration", "1",
                                        "--json", result_path("held"), NULL});
    await_measuring(&bench);
    stall(bench.service); /* 900 connections are busy after 360 ms */
    CHECK_INT(0, bench_finish(&bench));
    json_t *report = read_report("held");
    expect_sums(report);
    CHECK_INT(2500, bench_number(report, "messages", "answered"));
    CHECK(bench_number(report, "generator", "heldBack") > 0);
    CHECK(bench_number(report, "generator", "lateP99Ms") <
          bench_number(report, "latencyMs", "p99") / 2);
    json_decref(report);
}

/* -- what is copied ---------------------------------------------------------------------------- */
CASE(secrets_and_people_stay_where_they_are)
{
    struct bench bench;
    struct folder copy;
    start(&bench,
          (const char *const[]){"--platform", "telegram", "--rate", "5", "--duration", "1", NULL});
    await_measuring(&bench);
    snprintf(copy.path, sizeof copy.path, "%s", bench.copy);
    char *config = folder_read(&copy, "ship.json"), *agent = folder_read(&copy, "Agent.md"),
         *env = folder_read(&copy, ".env");
    CHECK(config != NULL && agent != NULL);
    CHECK(env == NULL);
    CHECK(strstr(config, SECRET) == NULL && strstr(config, "${") == NULL);
    CHECK(strstr(config, "telegram:4711") == NULL);         /* nor its owner */
    CHECK(strstr(config, "api.example.org") == NULL);       /* nor whom it talks to */
    CHECK(strstr(config, "\"concurrency\": 3") != NULL);    /* what it is like is kept */
    CHECK(strstr(config, "\"api\": \"messages\"") != NULL); /* its wire, too */
    CHECK(strstr(agent, "You are being tested.") != NULL);
    free(config);
    free(agent);
    CHECK_INT(0, bench_finish(&bench));
    char ship[192];
    snprintf(ship, sizeof ship, "%s/.ship", project.path);
    CHECK(access(ship, F_OK) != 0);
}

/* Ctrl-C: nothing is left, neither a process nor a folder. */
CASE(what_is_interrupted_leaves_nothing)
{
    struct bench bench;
    start(&bench,
          (const char *const[]){"--platform", "http", "--rate", "10", "--duration", "600", NULL});
    await_measuring(&bench);
    CHECK(kill(bench.pid, SIGINT) == 0);
    CHECK_INT(130, bench_finish(&bench));
    CHECK(access(bench.copy, F_OK) != 0);
    CHECK(kill(bench.service, 0) != 0);
}

/* -- baselines --------------------------------------------------------------------------------- */
static void expect(int status, const char *text, const char *const *words)
{
    const char *argv[24] = {binary, "bench", project.path};
    char *output = NULL;
    for (size_t i = 0; words[i] != NULL; i++)
        argv[i + 3] = words[i];
    int actual = run_to_end((char *const *)(uintptr_t)argv, "", &output, TIMEOUT_MS);
    if (actual != status || strstr(output, text) == NULL)
        fprintf(stderr, "status %d, wanted %d and \"%s\":\n%s\n", actual, status, text, output);
    CHECK(actual == status && strstr(output, text) != NULL);
    free(output);
}

/* The report of http_is_measured with one figure changed, as a baseline. */
static void compare_with(const char *block, const char *name, double value, int status,
                         const char *text)
{
    json_t *baseline = read_report("http");
    static const char *const slow[] = {"p50", "p90", "p99"};
    for (size_t i = 0; i < SMA_COUNT_OF(slow); i++) /* this machine may be busy meanwhile */
        json_object_set_new(json_object_get(baseline, "latencyMs"), slow[i], json_real(1e6));
    json_object_set_new(json_object_get(baseline, "perMessage"), "cpuMs", json_real(1e6));
    json_object_set_new(json_object_get(baseline, "perMessage"), "bytesWritten", json_real(1e9));
    json_object_set_new(json_object_get(baseline, "perMessage"), "syncs", json_real(100));
    json_object_set_new(block == NULL ? baseline : json_object_get(baseline, block), name,
                        json_real(value));
    CHECK(json_dump_file(baseline, result_path("baseline"), 0) == 0);
    json_decref(baseline);
    expect(status, text,
           (const char *const[]){"--platform", "http", "--rate", "40", "--duration", "2",
                                 "--compare", result_path("baseline"), NULL});
}

CASE(a_run_is_judged_by_its_baseline)
{
    compare_with("perMessage", "syncs", 100, 0, "not worse than the baseline");
    compare_with("perMessage", "syncs", 0.01, 1, "1 figure(s) worse than the baseline");
    compare_with("latencyMs", "p50", 0.0001, 1, "WORSE");
    compare_with(NULL, "rate", 41, 2, "its rate is another");
    expect(
        2, "no baseline",
        (const char *const[]){"--platform", "http", "--rate", "1", "--compare", "/nowhere", NULL});
}

CASE(wrong_words_are_refused)
{
#define REFUSED(text, ...) expect(2, (text), (const char *const[]){__VA_ARGS__, NULL})
    REFUSED("say --platform telegram, feishu, qq or http", "--rate", "1");
    REFUSED("no platform icq", "--platform", "icq", "--rate", "1");
    REFUSED("either --rate or --closed", "--platform", "http");
    REFUSED("either --rate or --closed", "--platform", "http", "--rate", "1", "--closed", "1");
    REFUSED("--chats belongs to --rate", "--platform", "http", "--closed", "1", "--chats", "2");
    REFUSED("not a number in its range: nan", "--platform", "http", "--rate", "nan");
    REFUSED("not a number in its range: 0", "--platform", "http", "--closed", "0");
    REFUSED("not a number in its range: 5x", "--platform", "http", "--rate", "5x");
    REFUSED("one folder only", "--platform", "http", "--rate", "1", "/tmp");
#undef REFUSED
}

CASE(a_configuration_that_cannot_be_read_is_no_measurement)
{
    char *argv[] = {NULL,
                    (char[]){"bench"},
                    (char[]){"/nonexistent"},
                    (char[]){"--platform"},
                    (char[]){"http"},
                    (char[]){"--rate"},
                    (char[]){"1"},
                    NULL};
    char *output = NULL;
    argv[0] = (char *)(uintptr_t)binary;
    CHECK_INT(2, run_to_end(argv, "", &output, TIMEOUT_MS));
    CHECK(strstr(output, "/nonexistent is no project") != NULL);
    free(output);
    folder_write(&project, "ship.json", "{ \"name\": ");
    expect(2, "ship.json, line 1",
           (const char *const[]){"--platform", "http", "--rate", "1", NULL});
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    binary = argv[1];
    folder_create(&results, NULL);
    folder_create(
        &project,
        "{\"name\":\"mine\",\"language\":\"${BOT_LANGUAGE}\",\"llm\":{\"provider\":\"anthropic\","
        "\"apiKey\":\"" SECRET
        "\",\"baseUrl\":\"https://api.example.org\",\"extraHeaders\":{\"x\":\"" SECRET "\"}},"
        "\"limits\":{\"perPersonPerMinute\":1},\"agent\":{\"concurrency\":3},\"access\":\"paired\","
        "\"api\":{\"token\":\"" SECRET "\"},"
        "\"permissions\":{\"roles\":{\"owner\":[\"telegram:4711\"]}},"
        "\"adapters\":{\"telegram\":{\"enabled\":true,\"botToken\":\"${TELEGRAM_BOT_TOKEN}\","
        "\"webhookSecret\":\"" SECRET "\"}}}");
    folder_write(&project, ".env", "TELEGRAM_BOT_TOKEN=" SECRET "\n");
    check_run_cases(NULL);
    folder_remove(&project);
    folder_remove(&results);
    return check_summary();
}
