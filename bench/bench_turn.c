/*
 * bench_turn — a whole turn: a Telegram update is handed out, the model is asked once over HTTP,
 * one reply is sent, everything durable. The Bot API and the model server are separate processes;
 * the time of a message runs from its update being written to the poll until its sendMessage has
 * been read.
 *   saturated: agent.concurrency 1, 16 and 64, with twice as many chats that always have a message
 *              open (at least 4); a chat says ten messages, then a fresh one takes its place.
 *   idle:      one message after a pause, concurrency 16.
 *   price:     a run of twelve steps with results of 20 kB on the model server's price meter.
 *   head of line: eight chats with and without another one whose model call takes 10 s.
 *   bench_turn --binary PATH --telegram PATH --model PATH [--quick] [--json FILE]
 */
#include "bench.h"
#include "scenario/price.h"
#include "scenario/process.h"
#include "telegram/fake_telegram.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define CHAT_TURN_COUNT 10
#define WAIT_MS 120000
#define STALL_MS 10000

static const char *binary, *telegram_binary, *model_binary;
static int64_t next_chat = 1000000;

struct setting
{
    struct folder folder;
    struct service service;
    struct platform_client telegram;
    pid_t telegram_pid, model_pid;
};

/* is_logged: the model server writes a line per request into model.log. */
static void set_up(struct setting *setting, unsigned concurrency, bool is_logged)
{
    const char *telegram_argv[] = {telegram_binary, NULL};
    char json[1024], log[200];
    const char *model_argv[] = {model_binary, "--lax", "--plain", is_logged ? "--log" : NULL,
                                log,          NULL};
    folder_create(&setting->folder, NULL);
    snprintf(log, sizeof log, "%s/model.log", setting->folder.path);
    setting->telegram = (struct platform_client){
        .port = server_start((char *const *)telegram_argv, &setting->telegram_pid)};
    platform_tell(&setting->telegram, "{s:s}", "do", "rates"); /* no limits */
    int model_port = server_start((char *const *)model_argv, &setting->model_pid);
    snprintf(
        json, sizeof json,
        "{\"name\":\"bench\",\"llm\":{\"provider\":\"custom\",\"model\":\"m\",\"apiKey\":\"k\","
        "\"baseUrl\":\"http://127.0.0.1:%d/v1\"},\"agent\":{\"concurrency\":%u},"
        "\"access\":\"anyone\","
        "\"adapters\":{\"terminal\":{\"enabled\":false},\"telegram\":{\"enabled\":true,"
        "\"botToken\":\"%s\","
        "\"apiRoot\":\"http://"
        "127.0.0.1:%d\",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}}}}",
        model_port, concurrency, FAKE_TELEGRAM_TOKEN, setting->telegram.port);
    folder_write(&setting->folder, "ship.json", json);
    service_start(&setting->service, binary, &setting->folder);
}

static void tear_down(struct setting *setting)
{
    int status = service_stop(&setting->service);
    if (status != 0)
        fprintf(stderr, "bench_turn: the service ended with %d\n", status);
    server_stop(setting->telegram_pid);
    server_stop(setting->model_pid);
    folder_remove(&setting->folder);
}

/* -- what the process costs -------------------------------------------------------------------- */
struct cost
{
    double cpu_s;
    uint64_t written_bytes, rss_kib, ns;
};

static uint64_t read_field(pid_t pid, const char *file_name, const char *name)
{
    char path[64], line[256];
    uint64_t value = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file_name);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtoull(line + strlen(name), NULL, 10);
    if (file != NULL)
        fclose(file);
    return value;
}

static struct cost cost_now(pid_t pid)
{
    char path[64];
    unsigned long long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file != NULL &&
        fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
               &system) != 2)
        user = system = 0;
    if (file != NULL)
        fclose(file);
    return (struct cost){(double)(user + system) / (double)sysconf(_SC_CLK_TCK),
                         read_field(pid, "io", "write_bytes:"), read_field(pid, "status", "VmRSS:"),
                         bench_now_ns()};
}

/* -- load -------------------------------------------------------------------------------------- */
/* @return the first chat of the load */
static int64_t start_load(const struct setting *setting, size_t chats, size_t total)
{
    int64_t first = next_chat;
    next_chat += (int64_t)(chats + total);
    platform_tell(&setting->telegram, "{s:s,s:I,s:I,s:i,s:I}", "do", "load", "chats",
                  (json_int_t)chats, "total", (json_int_t)total, "per_chat", CHAT_TURN_COUNT,
                  "first_chat", (json_int_t)first);
    return first;
}

static void await_load(const struct setting *setting, size_t total)
{
    long long until = process_now_ms() + WAIT_MS;
    while ((size_t)platform_get(&setting->telegram, "finished", "{s:s}", "do", "counters") <
           total) {
        if (process_now_ms() > until) {
            fprintf(stderr, "bench_turn: the answers did not come in %d ms\n", WAIT_MS);
            exit(1);
        }
        process_pause_ms(5);
    }
}

struct latencies
{
    uint64_t *us;
    size_t count;
};

static struct latencies take_latencies(const struct setting *setting)
{
    json_t *answer = platform_do(&setting->telegram, "{s:s}", "do", "latencies");
    const json_t *list = json_object_get(answer, "latencies");
    struct latencies latencies = {malloc((json_array_size(list) + 1) * sizeof(uint64_t)),
                                  json_array_size(list)};
    if (latencies.us == NULL)
        exit(1);
    for (size_t i = 0; i < latencies.count; i++)
        latencies.us[i] = (uint64_t)json_integer_value(json_array_get(list, i));
    json_decref(answer);
    bench_sort(latencies.us, latencies.count);
    return latencies;
}

static double at_ms(const struct latencies *latencies, double quantile)
{
    return (double)bench_quantile(latencies->us, latencies->count, quantile) / 1e3;
}

static void row(unsigned concurrency, const char *what, double value, const char *unit,
                const char *target)
{
    char name[80];
    snprintf(name, sizeof name, "turn, concurrency %u: %s", concurrency, what);
    bench_row(name, value, unit, NAN, NAN, target);
}

static void bench_saturated(unsigned concurrency)
{
    struct setting setting;
    size_t chats = concurrency < 2 ? 4 : concurrency * 2;
    size_t total =
        bench_is_quick ? (concurrency == 1 ? 500 : 2000) : (concurrency == 1 ? 3000 : 12000);
    set_up(&setting, concurrency, false);
    start_load(&setting, chats, total / 5);
    await_load(&setting, total / 5);
    struct cost before = cost_now(setting.service.pid);
    start_load(&setting, chats, total);
    await_load(&setting, total);
    struct cost after = cost_now(setting.service.pid);
    struct latencies latencies = take_latencies(&setting);
    double rate = (double)total * 1e9 / (double)(after.ns - before.ns);
    double cpu = (after.cpu_s - before.cpu_s) * 1000 / (double)total;
    row(concurrency, "replies", rate, "1/s",
        concurrency == 1    ? ">= 300 1/s"
        : concurrency == 64 ? ">= 1500 1/s"
                            : NULL);
    row(concurrency, "handed out to reply p50", at_ms(&latencies, 0.5), "ms", NULL);
    row(concurrency, "handed out to reply p95", at_ms(&latencies, 0.95), "ms", NULL);
    row(concurrency, "handed out to reply p99", at_ms(&latencies, 0.99), "ms", NULL);
    row(concurrency, "handed out to reply max", at_ms(&latencies, 1), "ms", NULL);
    row(concurrency, "CPU of our process, 1,000 messages", cpu, "s",
        concurrency == 1    ? "<= 0.6 s"
        : concurrency == 64 ? "<= 0.2 s"
                            : NULL);
    row(concurrency, "written per message",
        (double)(after.written_bytes - before.written_bytes) / (double)total, "bytes", NULL);
    row(concurrency, "RSS", (double)after.rss_kib / 1024, "MiB", NULL);
    free(latencies.us);
    tear_down(&setting);
}

/* What is measured is what is said: one model call a message, no more, no less. */
static void check_calls(const struct setting *setting, size_t messages)
{
    char *log = folder_read(&setting->folder, "model.log");
    size_t lines = 0;
    for (const char *at = log; at != NULL && (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    free(log);
    if (lines == messages)
        return;
    fprintf(stderr, "bench_turn: %zu messages made %zu model calls\n", messages, lines);
    exit(1);
}

static void bench_idle(void)
{
    struct setting setting;
    size_t count = bench_is_quick ? 30 : 150;
    uint64_t *us = calloc(count, sizeof *us);
    set_up(&setting, 16, true);
    for (size_t i = 0; us != NULL && i < count; i++) {
        process_pause_ms(50);
        start_load(&setting, 1, 1);
        await_load(&setting, 1);
        struct latencies one = take_latencies(&setting);
        us[i] = one.count == 0 ? 0 : one.us[0];
        free(one.us);
    }
    bench_sort(us, count);
    bench_row("turn, idle: handed out to reply p50", (double)bench_quantile(us, count, 0.5) / 1e3,
              "ms", NAN, NAN, "<= 4 ms");
    bench_row("turn, idle: handed out to reply p95", (double)bench_quantile(us, count, 0.95) / 1e3,
              "ms", NAN, NAN, NULL);
    bench_row("turn, idle: handed out to reply max", (double)us[count - 1] / 1e3, "ms", NAN, NAN,
              NULL);
    free(us);
    process_pause_ms(200); /* the last turn's second call */
    check_calls(&setting, count);
    tear_down(&setting);
}

/* -- head of line ------------------------------------------------------------------------------ */
static double others_p99(const struct setting *setting, size_t total)
{
    start_load(setting, 8, total);
    await_load(setting, total);
    struct latencies latencies = take_latencies(setting);
    double p99 = at_ms(&latencies, 0.99);
    free(latencies.us);
    return p99;
}

static void bench_head_of_line(void)
{
    struct setting setting;
    double alone[3], beside[3];
    size_t total = bench_is_quick ? 1000 : 3000;
    set_up(&setting, 16, false);
    others_p99(&setting, total / 2);
    for (int i = 0; i < 3; i++) {
        int64_t slow = 900000 + i;
        alone[i] = others_p99(&setting, total);
        platform_tell(&setting.telegram, "{s:s,s:I}", "do", "user", "id", (json_int_t)slow);
        char text[80];
        snprintf(text, sizeof text, "please wait [[fault:silence ms=%d]] number %d", STALL_MS, i);
        platform_tell(&setting.telegram, "{s:s,s:I,s:I,s:s}", "do", "say", "chat", (json_int_t)slow,
                      "user", (json_int_t)slow, "text", text);
        beside[i] = others_p99(&setting, total);
    }
    double without = bench_median(alone, 3), with = bench_median(beside, 3);
    bench_row("turn, p99 beside a model call of 10 s (vs without)", with, "ms", without,
              with / without, "<= 1.1");
    service_kill(&setting.service); /* it would wait for the slow ones */
    server_stop(setting.telegram_pid);
    server_stop(setting.model_pid);
    folder_remove(&setting.folder);
}

/* -- what a long run costs --------------------------------------------------------------------- */
static void bench_price(void)
{
    for (unsigned i = 0; i < PRICE_CASE_COUNT; i++) {
        char name[80];
        struct price price = price_measure(binary, model_binary, &PRICE_CASES[i]);
        snprintf(name, sizeof name, "turn, 12 steps of 20 kB at %s (vs perfectly cached)",
                 PRICE_CASES[i].name);
        bench_row(name, price.paid * 100, "cent", price.perfect * 100, price.paid / price.perfect,
                  "<= 1.3");
    }
}

static bool take_paths(int *argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        const char **path = strcmp(argv[i], "--binary") == 0     ? &binary
                            : strcmp(argv[i], "--telegram") == 0 ? &telegram_binary
                            : strcmp(argv[i], "--model") == 0    ? &model_binary
                                                                 : NULL;
        if (path != NULL && i + 1 < *argc)
            *path = argv[++i];
        else
            argv[kept++] = argv[i];
    }
    *argc = kept;
    return binary != NULL && telegram_binary != NULL && model_binary != NULL;
}

int main(int argc, char **argv)
{
    if (!take_paths(&argc, argv)) {
        fprintf(stderr, "usage: bench_turn --binary PATH --telegram PATH --model PATH [--quick] "
                        "[--json FILE]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    bench_open(argc, argv, "turn");
    bench_saturated(1);
    bench_saturated(16);
    bench_saturated(64);
    bench_idle();
    bench_head_of_line();
    bench_price();
    return bench_close();
}
