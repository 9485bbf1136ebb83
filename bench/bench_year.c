/*
 * bench_year — what a year of use costs: a project made by bench/year is started and talked to,
 * beside an empty one in the same run.
 *   start:   from the start of the process to the first answer of /health; warm, and cold: the
 *   pages of the project's files are
 *            given back (posix_fadvise), or with --drop-caches (root) all that the machine keeps.
 *   turn:    as in bench_turn, idle, one message after the other: in new chats, and in old ones
 *   with a past.
 *   pause:   how long the store answers nobody: a question for one row (GET /api/runs/1) every 2
 *   ms, its longest answer; by
 *            itself, while people talk in old chats (contacts, rotations), search their history,
 *            and while lists are asked for.
 *   bench_year --binary PATH --model PATH --year DIR [--drop-caches] [--start-only] [--quick]
 *   [--json FILE]
 * The project is changed by it. Other programs on the machine show in every figure: compare with
 * the reference.
 */
#include "bench.h"
#include "scenario/http_client.h"
#include "scenario/process.h"
#include "telegram/fake_telegram.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define START_MS_MAX 300000
#define LOAD_MS_MAX 120000
#define SAMPLE_MAX 100000

static const char *binary, *model_binary, *year;
static bool is_dropping, is_start_only;
static int64_t next_chat = 8000000000;

struct side
{
    char path[256];
    struct platform_client telegram;
    pid_t pid;
    int port;
};

/* -- the two projects -------------------------------------------------------------------------- */
static void write_file(const char *path, const char *name, const char *text)
{
    char file_name[512];
    snprintf(file_name, sizeof file_name, "%s/%s", path, name);
    FILE *file = fopen(file_name, "we");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        fprintf(stderr, "bench_year: %s cannot be written\n", file_name);
        exit(1);
    }
}

static void configure(struct side *side, int model_port)
{
    char json[1024];
    side->telegram = fake_telegram_client(fake_telegram_start(0));
    /* A project that was measured before knows the updates of that time. */
    platform_tell(&side->telegram, "{s:s,s:I}", "do", "restart", "update_id",
                  (json_int_t)time(NULL));
    snprintf(json, sizeof json,
             "{\"name\":\"year\",\"llm\":{\"provider\":\"custom\",\"model\":\"fake-1\",\"apiKey\":"
             "\"k\",\"baseUrl\":\"http://127.0.0.1:%d/v1\"},\"agent\":{\"concurrency\":16},"
             "\"access\":\"anyone\",\"permissions\":{\"roles\":{\"owner\":[\"telegram:1001\"]}},"
             "\"adapters\":{\"terminal\":{\"enabled\":false},\"telegram\":{\"enabled\":true,"
             "\"botToken\":\"%s\",\"apiRoot\":\"http://127.0.0.1:%d\",\"limits\":{\"perSecond\":0,"
             "\"perChatPerMinute\":0}}}}",
             model_port, FAKE_TELEGRAM_TOKEN, side->telegram.port);
    write_file(side->path, "ship.json", json);
}

static int port_of(const struct side *side)
{
    char name[512], text[2048];
    snprintf(name, sizeof name, "%s/.ship/service.json", side->path);
    FILE *file = fopen(name, "re");
    if (file == NULL)
        return 0;
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = '\0';
    const char *at = strstr(text, "\"port\":");
    return at == NULL ? 0 : atoi(at + 7);
}

/* @return seconds until /health answers */
static double start(struct side *side)
{
    char name[512];
    snprintf(name, sizeof name, "%s/.ship/service.json", side->path);
    (void)unlink(name); /* of the start before */
    uint64_t begun = bench_now_ns();
    side->pid = fork();
    if (side->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        snprintf(name, sizeof name, "%s/service.log", side->path);
        int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0)
            execl(binary, binary, "start", side->path, "--port", "0", (char *)NULL);
        _exit(2);
    }
    for (side->port = 0; bench_now_ns() - begun < START_MS_MAX * UINT64_C(1000000);
         process_pause_ms(1)) {
        int status;
        if (waitpid(side->pid, &status, WNOHANG) == side->pid)
            break;
        side->port = side->port > 0 ? side->port : port_of(side);
        if (side->port == 0)
            continue;
        struct http_answer answer = http_ask(side->port, "/health", "", NULL, 10000);
        int code = answer.status;
        http_answer_fini(&answer);
        if (code == 0)
            continue;
        double seconds = (double)(bench_now_ns() - begun) / 1e9;
        http_use_token_of(side->port, side->path);
        return seconds;
    }
    fprintf(stderr, "bench_year: the service of %s did not come up; see service.log there\n",
            side->path);
    exit(1);
}

static void stop(struct side *side)
{
    int status = 0;
    kill(side->pid, SIGTERM);
    waitpid(side->pid, &status, 0);
    if (status != 0)
        fprintf(stderr, "bench_year: the service of %s ended with %d\n", side->path, status);
}

static double rss_mib(pid_t pid, const char *name)
{
    char path[64], line[256];
    double kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            kib = strtod(line + strlen(name), NULL);
    if (file != NULL)
        fclose(file);
    return kib / 1024;
}

/* -- start ------------------------------------------------------------------------------------- */
static void give_back(const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
            continue;
        (void)fdatasync(fd); /* dirty pages are not given back */
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
    if (dir != NULL)
        closedir(dir);
}

static void make_cold(const struct side *side)
{
    char path[512];
    snprintf(path, sizeof path, "%s/.ship", side->path);
    give_back(path);
    snprintf(path, sizeof path, "%s/.ship/chats", side->path);
    give_back(path);
    if (!is_dropping)
        return;
    sync();
    FILE *file = fopen("/proc/sys/vm/drop_caches", "we");
    if (file == NULL || fputs("3\n", file) < 0 || fclose(file) != 0)
        fprintf(stderr, "bench_year: caches cannot be dropped; only the project's pages were\n");
}

static void bench_start(struct side *old, struct side *empty)
{
    double seconds[5], reference[5];
    size_t rounds = bench_is_quick ? 2 : 3;
    for (size_t i = 0; i < rounds; i++) {
        make_cold(old);
        seconds[i] = start(old);
        stop(old);
    }
    double cold = bench_median(seconds, rounds);
    for (size_t i = 0; i < rounds; i++) {
        seconds[i] = start(old);
        stop(old);
        reference[i] = start(empty);
        stop(empty);
    }
    double warm = bench_median(seconds, rounds), none = bench_median(reference, rounds);
    bench_row("year: start, warm (vs empty)", warm, "s", none, warm / none, "<= 0.5 s");
    bench_row(is_dropping ? "year: start, cold (caches dropped)"
                          : "year: start, cold (pages given back)",
              cold, "s", none, cold / none, "<= 2 s");
    start(old);
    start(empty);
    process_pause_ms(500);
    double rss = rss_mib(old->pid, "VmRSS:");
    bench_row("year: RSS after the start (vs empty)", rss, "MiB", rss_mib(empty->pid, "VmRSS:"),
              rss / rss_mib(empty->pid, "VmRSS:"), NULL);
}

/* -- what the year says of itself -------------------------------------------------------------- */
static uint64_t fact(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/year.json", year);
    json_t *root = json_load_file(path, 0, NULL);
    uint64_t number = (uint64_t)json_integer_value(json_object_get(root, name));
    json_decref(root);
    return number;
}

static json_t *ask(const struct side *side, const char *path)
{
    struct http_answer answer = http_ask(side->port, path, "", NULL, 60000);
    json_t *root = answer.body == NULL ? NULL : json_loads(answer.body, 0, NULL);
    http_answer_fini(&answer);
    return root;
}

/* The service finds what was made: else every figure is about something else. */
static void check_year(const struct side *old)
{
    json_t *approvals = ask(old, "/api/approvals"), *status = ask(old, "/api/status");
    char *text = json_dumps(status, JSON_COMPACT);
    size_t parked = json_array_size(json_object_get(approvals, "approvals"));
    uint64_t chats = 0;
    const char *at = text == NULL ? NULL : strstr(text, "\"chats\":");
    if (at != NULL)
        chats = strtoull(at + 8, NULL, 10);
    printf("the service sees %llu chats and %zu requests; %llu and %llu were made\n",
           (unsigned long long)chats, parked, (unsigned long long)fact("chats"),
           (unsigned long long)fact("parked"));
    free(text);
    json_decref(status);
    json_decref(approvals);
}

/* -- turns ------------------------------------------------------------------------------------- */
static uint64_t finished(const struct side *side)
{
    return (uint64_t)platform_get(&side->telegram, "finished", "{s:s}", "do", "counters");
}

static void talk(const struct side *side, int64_t first, size_t chats, size_t per_chat,
                 size_t total, const char *text)
{
    platform_tell(&side->telegram, "{s:s,s:I,s:I,s:I,s:I,s:I,s:s}", "do", "load", "chats",
                  (json_int_t)chats, "total", (json_int_t)total, "per_chat", (json_int_t)per_chat,
                  "first_chat", (json_int_t)first, "id_offset", (json_int_t)time(NULL) * 100,
                  "text", text);
    uint64_t begun = bench_now_ns();
    while (finished(side) < total) {
        if (bench_now_ns() - begun > LOAD_MS_MAX * UINT64_C(1000000)) {
            fprintf(stderr, "bench_year: the answers did not come; see service.log of %s\n",
                    side->path);
            exit(1);
        }
        process_pause_ms(2);
    }
}

static double p50_ms(const struct side *side, int64_t first, size_t total, size_t per_chat)
{
    talk(side, first, 1, per_chat, total, "[[plain]] please repeat %s");
    json_t *answer = platform_do(&side->telegram, "{s:s}", "do", "latencies");
    const json_t *list = json_object_get(answer, "latencies");
    size_t count = json_array_size(list);
    uint64_t *us = calloc(count + 1, sizeof *us);
    for (size_t i = 0; us != NULL && i < count; i++)
        us[i] = (uint64_t)json_integer_value(json_array_get(list, i));
    json_decref(answer);
    bench_sort(us, count);
    double p50 = (double)bench_quantile(us, count, 0.5) / 1e3;
    free(us);
    return p50;
}

static void bench_turns(const struct side *old, const struct side *empty)
{
    double here[9], there[9], past[9];
    size_t rounds = bench_is_quick ? 3 : 7, total = bench_is_quick ? 100 : 300;
    uint64_t chats = fact("chats"), open = chats - fact("parked") - total;
    int64_t first = (int64_t)fact("firstId");
    (void)p50_ms(old, next_chat++, 50, 50);
    (void)p50_ms(empty, next_chat++, 50, 50);
    for (size_t i = 0; i < rounds; i++) {
        here[i] = p50_ms(old, next_chat, total, 10);
        there[i] = p50_ms(empty, next_chat, total, 10);
        next_chat += (int64_t)total;
        /* in chats where nothing is parked: those are the last */
        past[i] =
            p50_ms(old, first + (int64_t)((chats / 10 + i * total / 10) % open), total / 2, 5);
    }
    double a = bench_median(here, rounds), b = bench_median(there, rounds);
    bench_row("year: turn p50 in a new chat (vs empty)", a, "ms", b, a / b, "<= 1.1");
    double with_past = bench_median(past, rounds);
    bench_row("year: turn p50 in a chat with a past (vs empty)", with_past, "ms", b, with_past / b,
              NULL);
}

/* -- pauses ------------------------------------------------------------------------------------ */
struct watch
{
    const struct side *side;
    pthread_t thread;
    atomic_bool is_over;
    uint64_t us[SAMPLE_MAX];
    size_t count;
};
static struct watch watches[2];

static void *look(void *argument)
{
    struct watch *watch = argument;
    while (!atomic_load(&watch->is_over) && watch->count < SAMPLE_MAX) {
        uint64_t begun = bench_now_ns();
        struct http_answer answer = http_ask(watch->side->port, "/api/runs/1", "", NULL, 60000);
        watch->us[watch->count++] = (bench_now_ns() - begun) / 1000;
        http_answer_fini(&answer);
        process_pause_ms(2);
    }
    return NULL;
}

static void begin_watch(const struct side *old, const struct side *empty)
{
    const struct side *sides[] = {old, empty};
    for (int i = 0; i < 2; i++) {
        watches[i].side = sides[i];
        watches[i].count = 0;
        atomic_store(&watches[i].is_over, false);
        pthread_create(&watches[i].thread, NULL, look, &watches[i]);
    }
}

static void end_watch(const char *what)
{
    char name[80];
    for (int i = 0; i < 2; i++) {
        atomic_store(&watches[i].is_over, true);
        pthread_join(watches[i].thread, NULL);
        bench_sort(watches[i].us, watches[i].count);
    }
    static const struct
    {
        const char *name;
        double quantile;
    } rows[] = {{"p99", 0.99}, {"longest", 1.0}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        double here =
            (double)bench_quantile(watches[0].us, watches[0].count, rows[i].quantile) / 1e3;
        double there =
            (double)bench_quantile(watches[1].us, watches[1].count, rows[i].quantile) / 1e3;
        snprintf(name, sizeof name, "year: answer of the store, %s, %s", what, rows[i].name);
        bench_row(name, here, "ms", there, here / there, i == 1 ? "<= 20 ms" : NULL);
    }
}

static size_t answers_in(const struct side *side, int64_t chat)
{
    json_t *list =
        platform_do(&side->telegram, "{s:s,s:I}", "do", "list", "chat", (json_int_t)chat);
    const json_t *messages = json_object_get(list, "messages");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(messages); i++)
        count += json_is_true(json_object_get(json_array_get(messages, i), "is_ours"));
    json_decref(list);
    return count;
}

/* The model looks through all that was said in this chat. */
static void search_once(const struct side *side, int64_t chat)
{
    size_t before = answers_in(side, chat);
    platform_tell(&side->telegram, "{s:s,s:I,s:I,s:s}", "do", "say", "chat", (json_int_t)chat,
                  "user", (json_int_t)chat, "text",
                  "[[call chat_load_history {\"keyword\":\"nothing says this\"}]]");
    for (int ms = 0; ms < 20000 && answers_in(side, chat) == before; ms += 2)
        process_pause_ms(2);
}

static void bench_pauses(const struct side *old, const struct side *empty)
{
    int64_t first = (int64_t)fact("firstId");
    size_t total = bench_is_quick ? 200 : 1500;
    begin_watch(old, empty);
    process_pause_ms(bench_is_quick ? 1000 : 4000);
    end_watch("idle");
    /* The chats that say most are the first ones: some of their files are about to be rotated. */
    begin_watch(old, empty);
    talk(old, first, 16, 15, total, "[[plain]] please repeat %s");
    process_pause_ms(4000); /* what is written when it is quiet: contacts, history */
    end_watch("talk, contacts, rotation");
    begin_watch(old, empty);
    for (int k = 0; k < (bench_is_quick ? 5 : 40); k++)
        search_once(old, first + k);
    end_watch("search");
    static const char *const lists[] = {"/api/status", "/api/approvals", "/api/grants",
                                        "/api/pairings", "/api/usage"};
    for (size_t i = 0; i < SMA_COUNT_OF(lists); i++) {
        begin_watch(old, empty);
        uint64_t until = bench_now_ns() + UINT64_C(1000000000);
        for (int k = 0; k < 5 || bench_now_ns() < until; k++)
            json_decref(ask(old, lists[i]));
        end_watch(lists[i]);
    }
}

/* -- the whole --------------------------------------------------------------------------------- */
static bool take_words(int *argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        const char **path = strcmp(argv[i], "--binary") == 0  ? &binary
                            : strcmp(argv[i], "--model") == 0 ? &model_binary
                            : strcmp(argv[i], "--year") == 0  ? &year
                                                              : NULL;
        if (path != NULL && i + 1 < *argc)
            *path = argv[++i];
        else if (strcmp(argv[i], "--drop-caches") == 0)
            is_dropping = true;
        else if (strcmp(argv[i], "--start-only") == 0)
            is_start_only = true;
        else
            argv[kept++] = argv[i];
    }
    *argc = kept;
    return binary != NULL && model_binary != NULL && year != NULL;
}

int main(int argc, char **argv)
{
    if (!take_words(&argc, argv)) {
        fprintf(stderr, "usage: bench_year --binary PATH --model PATH --year DIR [--drop-caches] "
                        "[--start-only] [--quick] [--json FILE]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    next_chat += (int64_t)time(NULL); /* new ones, also when the project was measured before */
    bench_open(argc, argv, "year");
    const char *model_argv[] = {model_binary, "--lax", NULL};
    pid_t model_pid;
    int model_port = server_start((char *const *)model_argv, &model_pid);
    struct folder folder;
    folder_create(&folder, NULL);
    struct side old = {.port = 0}, empty = {.port = 0};
    snprintf(old.path, sizeof old.path, "%s", year);
    snprintf(empty.path, sizeof empty.path, "%s", folder.path);
    configure(&old, model_port);
    configure(&empty, model_port);
    bench_start(&old, &empty);
    check_year(&old);
    if (!is_start_only) {
        bench_turns(&old, &empty);
        bench_pauses(&old, &empty);
    }
    uint64_t strangers = fact("strangers");
    double most = rss_mib(old.pid, "VmHWM:");
    bench_row("year: most RSS", most, "MiB", rss_mib(empty.pid, "VmHWM:"), NAN,
              strangers >= 1000000 ? "<= 100 MiB" : "<= 60 MiB");
    stop(&old);
    stop(&empty);
    server_stop(model_pid);
    fake_telegram_stop(old.telegram.fake);
    fake_telegram_stop(empty.telegram.fake);
    folder_remove(&folder);
    return bench_close();
}
