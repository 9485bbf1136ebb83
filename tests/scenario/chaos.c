/*
 * Aim: `shipmyagent chaos` kills a copy of a project while people write to it, counts every message
 *      once, and says so when one is lost or answered twice.
 * Method: run it on a small project and add up its JSON; then make the platform keep a chat's
 *         messages from the service, and answer twice in the service's place.
 *   scenario_chaos BINARY
 */
#include "bench_child.h"
#include "http_client.h"
#include "process.h"

#include "support/check.h"
#include "telegram/fake_telegram.h"

#include <signal.h>
#include <unistd.h>

#define FIRST_CHAT 2000000 /* of its people, see simulators/load/load_chats.c */

static const char *binary;
static struct folder project;
static char report_path[192];

static void start(struct bench *bench, const char *kills)
{
    bench_start(bench, binary,
                (const char *const[]){"chaos", project.path, "--kills", kills, "--rate", "40",
                                      "--seed", "5", "--json", report_path, NULL});
    bench_await(bench, "a copy of ");
}

/* Messages are in exactly one column; decref it. */
static json_t *expect_sums(void)
{
    json_t *report = bench_read_json(report_path);
    CHECK(bench_number(report, "messages", "sent") > 0);
    CHECK(bench_number(report, "messages", "sent") ==
          bench_number(report, "messages", "answeredOnce") +
              bench_number(report, "messages", "answeredMore") +
              bench_number(report, "messages", "givenUp") +
              bench_number(report, "messages", "lost"));
    return report;
}

CASE(nothing_is_lost)
{
    struct bench bench;
    start(&bench, "12");
    CHECK_INT(0, bench_finish(&bench));
    json_t *report = expect_sums();
    CHECK_INT(12, bench_number(report, NULL, "kills"));
    CHECK(bench_number(report, NULL, "killsWhileStarting") > 0);
    CHECK(bench_number(report, NULL, "killsWhileStarting") < 12);
    CHECK_INT(0, bench_number(report, "messages", "lost"));
    CHECK_INT(0, bench_number(report, "messages", "repeatedElsewhere"));
    CHECK(bench_number(report, "startMs", "p50") > 0);
    CHECK(strcmp(json_string_value(json_object_get(report, "state")), "ok") == 0);
    json_decref(report);
    CHECK(access(bench.copy, F_OK) != 0); /* nothing stays */
}

/* The simulated platform, by the address that the copy has for it. */
static int platform_port(const struct bench *bench)
{
    struct folder copy;
    snprintf(copy.path, sizeof copy.path, "%s", bench->copy);
    char *config = folder_read(&copy, "ship.json");
    const char *root = config == NULL ? NULL : strstr(config, "\"apiRoot\": \"http://127.0.0.1:");
    CHECK(root != NULL);
    int port = (int)strtol(root + 29, NULL, 10);
    free(config);
    CHECK(port > 0);
    return port;
}

static void post(int port, const char *path, const char *body)
{
    struct http_answer answer = http_post(port, path, "", body, 10000);
    CHECK_INT(200, answer.status);
    CHECK(strstr(answer.body, "\"error\"") == NULL);
    http_answer_fini(&answer);
}

/* What one person writes never reaches the service: the platform is told that the chat is blocked,
 * and the next message of this chat comes within half a second. */
CASE(a_message_that_is_lost_is_an_error)
{
    struct bench bench;
    char command[96];
    start(&bench, "10");
    snprintf(command, sizeof command, "{\"do\":\"block\",\"chat\":%d,\"on\":true}", FIRST_CHAT + 9);
    post(platform_port(&bench), "/control", command);
    CHECK_INT(1, bench_finish(&bench));
    json_t *report = expect_sums();
    CHECK(bench_number(report, "messages", "lost") > 0);
    CHECK(bench_number(report, "messages", "answeredOnce") > 0);
    json_decref(report);
}

/* The same answer again and again within one life: no kill explains that. */
CASE(an_answer_that_is_repeated_is_an_error)
{
    struct bench bench;
    char body[128];
    start(&bench, "3");
    int port = platform_port(&bench);
    snprintf(body, sizeof body, "{\"chat_id\":%d,\"text\":\"please repeat bench1x\"}",
             FIRST_CHAT + 1);
    for (int i = 0; i < 10; i++)
        post(port, "/bot" FAKE_TELEGRAM_TOKEN "/sendMessage", body);
    CHECK_INT(1, bench_finish(&bench));
    json_t *report = expect_sums();
    CHECK(bench_number(report, "messages", "repeatedElsewhere") > 0);
    CHECK(bench_number(report, "messages", "answeredMore") >= 1);
    CHECK_INT(0, bench_number(report, "messages", "lost"));
    json_decref(report);
}

CASE(what_is_interrupted_leaves_nothing)
{
    struct bench bench;
    start(&bench, "10000");
    CHECK(kill(bench.pid, SIGINT) == 0);
    CHECK_INT(130, bench_finish(&bench));
    CHECK(access(bench.copy, F_OK) != 0);
}

CASE(wrong_words_are_refused)
{
    static const struct
    {
        const char *words[6], *text;
    } rows[] = {{{"--kills", "0"}, "not a number in its range: 0"},
                {{"--kills", "nan"}, "not a number in its range: nan"},
                {{"--kills", "3", "--rate", "x"}, "not a number in its range: x"},
                {{NULL}, "say how often: --kills N"},
                {{"--kills", "1", "/tmp", "/usr"}, "one folder only"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        const char *argv[12] = {binary, "chaos"};
        char *output = NULL;
        for (size_t j = 0; rows[i].words[j] != NULL; j++)
            argv[j + 2] = rows[i].words[j];
        CHECK_INT(2, run_to_end((char *const *)(uintptr_t)argv, "", &output, 30000));
        if (strstr(output, rows[i].text) == NULL)
            fprintf(stderr, "wanted \"%s\":\n%s\n", rows[i].text, output);
        CHECK(strstr(output, rows[i].text) != NULL);
        free(output);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    binary = argv[1];
    folder_create(&project, "{\"name\":\"mine\",\"adapters\":{\"telegram\":{\"enabled\":true,"
                            "\"backlog\":\"record\"}}}");
    snprintf(report_path, sizeof report_path, "%s/report.json", project.path);
    check_run_cases(NULL);
    folder_remove(&project);
    return check_summary();
}
