/*
 * bench_ws — events into the real program over WebSocket, from platforms at the speed of the wire
 * (ws_load.c).
 *   saturated: durable events/s of Feishu's long connection (256 unacknowledged at a time) and of
 *              QQ's gateway, as one connection and as many; written -> acknowledged. The model does
 *              not answer meanwhile, as real ones do not within so short a time. Against a
 *              libwebsockets client that only counts frames of the same bytes; turns alternate,
 *              medians are compared. What a thread of the service costs per event stands beside it.
 *   idle:      one event at a time. Written -> acknowledged less a ping's way there and back, which
 *   is read -> ack out,
 *              against a bare write + fdatasync; written -> first byte of the model request at a
 *              sink, against the same through HTTP, in the same service, in turns.
 *   bench_ws --binary PATH --bare PATH [--quick] [--json FILE]
 */
#include "bench.h"
#include "feishu/fake_feishu.h"
#include "ingress_load.h"
#include "qq/fake_qq.h"
#include "scenario/process.h"
#include "ws_load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define WINDOW 256
#define CHAT_COUNT 100
#define QQ_SHARDS 16
#define TURN_COUNT_MAX 5
#define LATENCY_COUNT_MAX 1000000
#define PAUSE_US 3000
#define LOG_FRAME_BYTES 4120 /* a page and its header */
#define CHAT_TURN_COUNT 50   /* then the talk moves on to a fresh chat */
#define THREAD_COUNT_MAX 16

static const char *binary, *bare_binary;
static int port; /* of the platforms */

static void die(const char *what)
{
    fprintf(stderr, "bench_ws: %s (%s)\n", what, strerror(errno));
    exit(2);
}

/* -- the service ------------------------------------------------------------------------------- */
struct setting
{
    struct folder folder;
    struct service service;
};
struct wanted
{
    unsigned feishu, shards; /* connections; 0: the platform is not configured */
    int model_port;          /* 0: the offline model */
};

static void put_adapters(const struct wanted *wanted, char *json, size_t size)
{
    int len = snprintf(json, size, "\"terminal\":{\"enabled\":false}");
    if (wanted->feishu > 0)
        len += snprintf(json + len, size - (size_t)len,
                        ",\"feishu\":{\"enabled\":true,\"appId\":\"" FAKE_FEISHU_APP
                        "\",\"appSecret\":\"" FAKE_FEISHU_SECRET
                        "\",\"domain\":\"http://127.0.0.1:%d\",\"limits\":{\"perSecond\":0,"
                        "\"perChatPerMinute\":0,\"perGroupPerMinute\":0}}",
                        port);
    if (wanted->shards > 0)
        snprintf(json + len, size - (size_t)len,
                 ",\"qq\":{\"enabled\":true,\"appId\":\"" FAKE_QQ_APP_ID
                 "\",\"appSecret\":\"" FAKE_QQ_SECRET "\",\"apiRoot\":\"http://127.0.0.1:%d\","
                 "\"tokenUrl\":\"http://127.0.0.1:%d/app/getAppAccessToken\",\"shards\":%u,"
                 "\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}}",
                 port, port, wanted->shards);
}

static void set_up(struct setting *setting, const struct wanted *wanted)
{
    char json[2048], adapters[1024], model[256];
    if (wanted->model_port == 0)
        snprintf(model, sizeof model, "\"provider\":\"offline\"");
    else
        snprintf(model, sizeof model,
                 "\"provider\":\"custom\",\"model\":\"m\",\"apiKey\":\"k\","
                 "\"baseUrl\":\"http://127.0.0.1:%d/v1\"",
                 wanted->model_port);
    put_adapters(wanted, adapters, sizeof adapters);
    snprintf(json, sizeof json,
             "{\"name\":\"bench\",\"llm\":{%s},\"queue\":{\"chatWaitingMax\":100000},"
             "\"access\":\"anyone\",\"api\":{\"token\":\"" BENCH_TOKEN "\"},\"adapters\":{%s}}",
             model, adapters);
    folder_create(&setting->folder, json);
    service_start(&setting->service, binary, &setting->folder);
    for (int tries = 0; ws_load_ready_count(WS_LOAD_FEISHU) != wanted->feishu ||
                        ws_load_ready_count(WS_LOAD_QQ) != wanted->shards;
         tries++) {
        if (tries == 10000)
            die("the service did not connect");
        process_pause_ms(1);
    }
}

/* What waits there is of no use to anybody. */
static void tear_down(struct setting *setting)
{
    service_kill(&setting->service);
    folder_remove(&setting->folder);
    while (ws_load_ready_count(WS_LOAD_FEISHU) + ws_load_ready_count(WS_LOAD_QQ) > 0)
        process_pause_ms(1);
}

/* One number of /metrics. */
static double metric(const struct setting *setting, const char *name)
{
    static char answer[1024 * 1024];
    char mark[100];
    int fd = load_connect(setting->service.port);
    if (load_get(fd, setting->service.port, "/metrics", answer, sizeof answer) != 200)
        die("GET /metrics");
    close(fd);
    snprintf(mark, sizeof mark, "\n%s ", name);
    const char *at = strstr(answer, mark);
    return at == NULL ? 0 : strtod(at + strlen(mark), NULL);
}

/* -- what threads cost ------------------------------------------------------------------------- */
struct thread_cost
{
    char name[24];
    double cpu_s;
};
struct costs
{
    struct thread_cost threads[THREAD_COUNT_MAX];
    size_t count;
};

static struct costs costs_now(pid_t pid)
{
    struct costs costs = {.count = 0};
    char path[300];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL && costs.count < THREAD_COUNT_MAX) {
        struct thread_cost *cost = &costs.threads[costs.count];
        unsigned long long ran_ns = 0;
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/comm", (int)pid, entry->d_name);
        FILE *comm = fopen(path, "re");
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", (int)pid, entry->d_name);
        FILE *stat = fopen(path, "re");
        if (comm != NULL && stat != NULL && fscanf(comm, "%23s", cost->name) == 1 &&
            fscanf(stat, "%llu", &ran_ns) == 1) {
            cost->cpu_s = (double)ran_ns / 1e9;
            costs.count++;
        }
        if (comm != NULL)
            fclose(comm);
        if (stat != NULL)
            fclose(stat);
    }
    if (folder != NULL)
        closedir(folder);
    return costs;
}

static double cost_of(const struct costs *costs, const char *name)
{
    double sum = 0;
    for (size_t i = 0; i < costs->count; i++)
        if (name == NULL || strstr(costs->threads[i].name, name) != NULL)
            sum += costs->threads[i].cpu_s;
    return sum;
}

/* -- saturated --------------------------------------------------------------------------------- */
struct figures
{
    double rate, p50, p99, p999, adapter_us, store_us, all_us;
};

static uint64_t *latencies;

/* Events/s between two looks at the counter, and what they cost. */
static struct figures measure(const struct setting *setting, enum ws_load_kind kind, double seconds)
{
    bool has_acks = kind == WS_LOAD_FEISHU;
    ws_load_flood(kind, has_acks ? WINDOW : 0, CHAT_COUNT);
    process_pause_ms(500);
    if (has_acks)
        ws_load_note_latencies(latencies, LATENCY_COUNT_MAX);
    struct costs before = costs_now(setting->service.pid);
    double accepted = metric(setting, "sma_ingress_accepted_total");
    uint64_t start = bench_now_ns();
    process_pause_ms((int)(seconds * 1000));
    accepted = metric(setting, "sma_ingress_accepted_total") - accepted;
    double took = (double)(bench_now_ns() - start) / 1e9;
    struct costs after = costs_now(setting->service.pid);
    size_t count = has_acks ? ws_load_noted_count() : 0;
    ws_load_pause();
    bench_sort(latencies, count);
    const char *thread = has_acks ? "feishu" : "qq";
    return (struct figures){
        .rate = accepted / took,
        .p50 = (double)bench_quantile(latencies, count, 0.5) / 1e3,
        .p99 = (double)bench_quantile(latencies, count, 0.99) / 1e3,
        .p999 = (double)bench_quantile(latencies, count, 0.999) / 1e3,
        .adapter_us = (cost_of(&after, thread) - cost_of(&before, thread)) * 1e6 / accepted,
        .store_us = (cost_of(&after, "store") - cost_of(&before, "store")) * 1e6 / accepted,
        .all_us = (cost_of(&after, NULL) - cost_of(&before, NULL)) * 1e6 / accepted};
}

static struct figures one_turn(enum ws_load_kind kind, unsigned connections, bool is_offline,
                               double seconds)
{
    struct setting setting;
    struct wanted wanted = {.feishu = kind == WS_LOAD_FEISHU ? connections : 0,
                            .shards = kind == WS_LOAD_QQ ? connections : 0,
                            .model_port = is_offline ? 0 : port};
    ws_load_model_answers(false);
    set_up(&setting, &wanted);
    struct figures figures = measure(&setting, kind, seconds);
    tear_down(&setting);
    return figures;
}

/* Frames/s of the client that only counts. */
static double bare_turn(enum ws_load_kind kind, double seconds)
{
    char port_text[16], line[32] = "";
    int to[2], from[2], status;
    snprintf(port_text, sizeof port_text, "%d", port);
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        die("pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        execl(bare_binary, bare_binary, port_text, (char *)NULL);
        _exit(2);
    }
    while (ws_load_ready_count(WS_LOAD_SMALL) != 1)
        process_pause_ms(1);
    ws_load_flood(kind, 0, CHAT_COUNT);
    process_pause_ms(300);
    double counts[2];
    uint64_t start = 0, took = 0;
    for (int i = 0; i < 2; i++) {
        if (write(to[1], "\n", 1) != 1 || read(from[0], line, sizeof line - 1) <= 0)
            die("bare_ws");
        took = bench_now_ns() - start;
        start = bench_now_ns();
        counts[i] = strtod(line, NULL);
        memset(line, 0, sizeof line);
        process_pause_ms(i == 0 ? (int)(seconds * 1000) : 0);
    }
    ws_load_pause();
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    close(to[0]);
    close(to[1]);
    close(from[0]);
    close(from[1]);
    while (ws_load_ready_count(WS_LOAD_SMALL) > 0)
        process_pause_ms(1);
    return (counts[1] - counts[0]) * 1e9 / (double)took;
}

#define MEDIAN(all, count, member)              \
    (__extension__({                            \
        double values_[TURN_COUNT_MAX];         \
        for (size_t i_ = 0; i_ < (count); i_++) \
            values_[i_] = (all)[i_].member;     \
        bench_median(values_, (count));         \
    }))

static void rows_of(const char *name, const struct figures *all, size_t turns, double bare)
{
    char text[80];
    double rate = MEDIAN(all, turns, rate);
    snprintf(text, sizeof text, "%s: durable events (vs counting)", name);
    bench_row(text, rate, "1/s", bare, rate / bare, ">= 15000 1/s");
    if (MEDIAN(all, turns, p50) > 0) {
        snprintf(text, sizeof text, "%s: written to ack p50", name);
        bench_row(text, MEDIAN(all, turns, p50), "us", NAN, NAN, NULL);
        snprintf(text, sizeof text, "%s: written to ack p99", name);
        bench_row(text, MEDIAN(all, turns, p99), "us", NAN, NAN, NULL);
        snprintf(text, sizeof text, "%s: written to ack p99.9", name);
        bench_row(text, MEDIAN(all, turns, p999), "us", NAN, NAN, NULL);
    }
    snprintf(text, sizeof text, "%s: CPU per event, adapter", name);
    bench_row(text, MEDIAN(all, turns, adapter_us), "us", NAN, NAN, NULL);
    snprintf(text, sizeof text, "%s: CPU per event, store", name);
    bench_row(text, MEDIAN(all, turns, store_us), "us", NAN, NAN, NULL);
    snprintf(text, sizeof text, "%s: CPU per event, all threads", name);
    bench_row(text, MEDIAN(all, turns, all_us), "us", NAN, NAN, NULL);
}

static void bench_saturated(void)
{
    struct figures feishu[TURN_COUNT_MAX], qq[TURN_COUNT_MAX], many[TURN_COUNT_MAX],
        busy[TURN_COUNT_MAX];
    double bare[3][TURN_COUNT_MAX];
    size_t turns = bench_is_quick ? 3 : TURN_COUNT_MAX;
    double seconds = bench_is_quick ? 1 : 1.5; /* the inbox holds 200,000 */
    for (size_t i = 0; i < turns; i++) {
        bare[0][i] = bare_turn(WS_LOAD_FEISHU, seconds / 2);
        bare[1][i] = bare_turn(WS_LOAD_SMALL, seconds / 2);
        feishu[i] = one_turn(WS_LOAD_FEISHU, 1, false, seconds);
        qq[i] = one_turn(WS_LOAD_QQ, 1, false, seconds);
        many[i] = one_turn(WS_LOAD_QQ, QQ_SHARDS, false, seconds);
        busy[i] = one_turn(WS_LOAD_FEISHU, 1, true, seconds);
    }
    double events = bench_median(bare[0], turns), small = bench_median(bare[1], turns);
    bench_row("a client that counts: frames of 64 bytes", small, "1/s", NAN, NAN, NULL);
    bench_row("a client that counts: the same events", events, "1/s", NAN, NAN, NULL);
    rows_of("Feishu, one connection", feishu, turns, events);
    rows_of("QQ, one connection", qq, turns, events);
    double one = MEDIAN(qq, turns, rate), all = MEDIAN(many, turns, rate);
    bench_row("QQ, 16 connections (vs one)", all, "1/s", one, all / one, ">= 0.75");
    bench_row("Feishu, while the offline model answers", MEDIAN(busy, turns, rate), "1/s",
              MEDIAN(feishu, turns, rate), MEDIAN(busy, turns, rate) / MEDIAN(feishu, turns, rate),
              NULL);
}

/* -- idle: durable ----------------------------------------------------------------------------- */
/* What the smallest commit costs without a database: a frame of its log written and synced, in a
 * file that need not grow, as that log does not. */
static int open_bare_log(const struct setting *setting, const char *frame, size_t count)
{
    char path[200];
    snprintf(path, sizeof path, "%s/bare.log", setting->folder.path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (size_t i = 0; i < count; i++)
        if (write(fd, frame, LOG_FRAME_BYTES) != LOG_FRAME_BYTES)
            die("write");
    if (fsync(fd) != 0)
        die("fsync");
    return fd;
}

static uint64_t bare_commit(int fd, const char *frame, size_t place)
{
    uint64_t before = bench_now_ns();
    if (pwrite(fd, frame, LOG_FRAME_BYTES, (off_t)(place * LOG_FRAME_BYTES)) != LOG_FRAME_BYTES ||
        fdatasync(fd) != 0)
        die("write and fdatasync");
    return bench_now_ns() - before;
}

static uint64_t await(uint64_t before, uint64_t number)
{
    uint64_t acked = ws_load_await_ack(number);
    if (acked == 0)
        die("no acknowledgement came");
    return acked - before;
}

static void bench_idle_durable(void)
{
    static const char frame[LOG_FRAME_BYTES] = "a page";
    struct setting setting;
    size_t count = bench_is_quick ? 300 : 1500;
    uint64_t *pings = calloc(count, sizeof *pings), *syncs = calloc(count, sizeof *syncs);
    if (pings == NULL || syncs == NULL)
        die("calloc");
    ws_load_model_answers(false);
    set_up(&setting, &(struct wanted){.feishu = 1, .model_port = port});
    int log = open_bare_log(&setting, frame, count);
    struct load_histogram before =
        load_histogram_read(setting.service.port, "sma_store_commit_seconds");
    for (size_t i = 0; i < count; i++) { /* taking turns, at the same pace */
        uint64_t number, sent;
        usleep(PAUSE_US);
        syncs[i] = bare_commit(log, frame, i);
        usleep(PAUSE_US);
        sent = ws_load_ping_one(WS_LOAD_FEISHU, &number);
        pings[i] = await(sent, number);
        usleep(PAUSE_US);
        sent = ws_load_send_one(WS_LOAD_FEISHU, (unsigned)(i % CHAT_COUNT), &number);
        latencies[i] = await(sent, number);
    }
    struct load_histogram after =
        load_histogram_read(setting.service.port, "sma_store_commit_seconds");
    close(log);
    tear_down(&setting);
    bench_sort(latencies, count);
    bench_sort(pings, count);
    bench_sort(syncs, count);
    double sync = (double)bench_quantile(syncs, count, 0.5) / 1e3,
           p50 = (double)bench_quantile(latencies, count, 0.5) / 1e3,
           ping = (double)bench_quantile(pings, count, 0.5) / 1e3,
           commit = load_histogram_quantile(&before, &after, 0.5);
    free(pings);
    free(syncs);
    bench_row("Feishu, idle: there and back p50 (a ping)", ping, "us", NAN, NAN, NULL);
    bench_row("Feishu, idle: written to ack p50 (vs commit)", p50, "us", sync, p50 / sync, NULL);
    bench_row("Feishu, idle: read to ack out p50 (vs commit)", p50 - ping, "us", sync,
              (p50 - ping) / sync, "<= 2");
    bench_row("Feishu, idle: the store's commit p50", commit, "us", sync, commit / sync, NULL);
    bench_row("Feishu, idle: written to ack p99",
              (double)bench_quantile(latencies, count, 0.99) / 1e3, "us", NAN, NAN, NULL);
    bench_row("Feishu, idle: written to ack p99.9",
              (double)bench_quantile(latencies, count, 0.999) / 1e3, "us", NAN, NAN, NULL);
}

/* -- idle: model request ----------------------------------------------------------------------- */
static void await_replies(uint64_t wanted)
{
    for (int tries = 0; ws_load_reply_count() < wanted; tries++) {
        if (tries == 100000)
            die("the bot did not answer");
        usleep(100);
    }
}

static uint64_t event_turn(enum ws_load_kind kind, unsigned chat)
{
    uint64_t replies = ws_load_reply_count(), number;
    uint64_t before = ws_load_send_one(kind, chat, &number), seen = sink_wait(before);
    if (seen == 0)
        die("no model request came");
    await_replies(replies + 1);
    usleep(3000);
    return seen - before;
}

static uint64_t http_turn(int fd, int http_port, unsigned chat)
{
    char id[32] = "", path[80], name[32], answer[8192];
    snprintf(name, sizeof name, "talk%u", chat);
    uint64_t before = bench_now_ns();
    if (load_post(fd, http_port, name, id) / 100 != 2)
        die("message not accepted");
    uint64_t seen = sink_wait(before);
    if (seen == 0)
        die("no model request came");
    snprintf(path, sizeof path, "/api/runs/%s?wait=10", id);
    if (load_get(fd, http_port, path, answer, sizeof answer) != 200)
        die("run not finished");
    usleep(3000);
    return seen - before;
}

static void idle_rows(const char *name, uint64_t *ours, size_t count, double http)
{
    char text[80];
    bench_sort(ours, count);
    double p50 = (double)bench_quantile(ours, count, 0.5) / 1e3;
    snprintf(text, sizeof text, "%s, idle: written to model p50 (vs HTTP)", name);
    bench_row(text, p50, "us", http, p50 / http, "<= 1.3");
    snprintf(text, sizeof text, "%s, idle: written to model p99", name);
    bench_row(text, (double)bench_quantile(ours, count, 0.99) / 1e3, "us", NAN, NAN, NULL);
    snprintf(text, sizeof text, "%s, idle: written to model p99.9", name);
    bench_row(text, (double)bench_quantile(ours, count, 0.999) / 1e3, "us", NAN, NAN, NULL);
}

static void bench_idle_model(void)
{
    struct setting setting;
    size_t count = bench_is_quick ? 150 : 600;
    uint64_t *feishu = calloc(count, sizeof *feishu), *qq = calloc(count, sizeof *qq),
             *http = calloc(count, sizeof *http);
    if (feishu == NULL || qq == NULL || http == NULL)
        die("calloc");
    set_up(&setting, &(struct wanted){.feishu = 1, .shards = 1, .model_port = sink_start()});
    int fd = load_connect(setting.service.port);
    for (unsigned i = 0; i < CHAT_TURN_COUNT; i++) { /* warm */
        (void)http_turn(fd, setting.service.port, 0);
        (void)event_turn(WS_LOAD_FEISHU, 0);
        (void)event_turn(WS_LOAD_QQ, 0);
    }
    for (size_t i = 0; i < count; i++) { /* taking turns: all see the same neighbours */
        unsigned chat = 1 + (unsigned)(i / CHAT_TURN_COUNT);
        http[i] = http_turn(fd, setting.service.port, chat);
        feishu[i] = event_turn(WS_LOAD_FEISHU, chat);
        qq[i] = event_turn(WS_LOAD_QQ, chat);
    }
    close(fd);
    tear_down(&setting);
    bench_sort(http, count);
    double p50 = (double)bench_quantile(http, count, 0.5) / 1e3;
    idle_rows("Feishu", feishu, count, p50);
    idle_rows("QQ", qq, count, p50);
    free(feishu);
    free(qq);
    free(http);
}

static bool take_paths(int *argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        const char **path = strcmp(argv[i], "--binary") == 0 ? &binary
                            : strcmp(argv[i], "--bare") == 0 ? &bare_binary
                                                             : NULL;
        if (path != NULL && i + 1 < *argc)
            *path = argv[++i];
        else
            argv[kept++] = argv[i];
    }
    *argc = kept;
    return binary != NULL && bare_binary != NULL;
}

int main(int argc, char **argv)
{
    if (!take_paths(&argc, argv)) {
        fprintf(stderr, "usage: bench_ws --binary PATH --bare PATH [--quick] [--json FILE]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    latencies = calloc(LATENCY_COUNT_MAX, sizeof *latencies);
    if (latencies == NULL)
        die("calloc");
    bench_open(argc, argv, "ws");
    port = ws_load_start();
    bench_saturated();
    bench_idle_durable();
    bench_idle_model();
    free(latencies);
    return bench_close();
}
