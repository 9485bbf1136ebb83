/*
 * Aim: platforms share one program and do not feel each other: order in every chat, nothing lost or
 * said twice, memory and descriptors level, and while the REST side of Feishu does not answer,
 * Telegram is as quick as before.
 * Method: Telegram, Feishu, QQ and HTTP callers talk at a steady pace for a minute. In every second
 * window each REST call of Feishu hangs for a second; what Telegram's people wait for is taken from
 * all windows but for their first second, in which calls of the one before end and the backlog of
 * Feishu is sent. The machine is noisy: each window is compared with its neighbour, and the median
 * of the differences must be within a tenth, or not to be told from chance (it is less than its own
 * uncertainty, three standard errors by the median distance). There are more runs at once than
 * Feishu has chats: a run waits for its delivery, and one at a time is what agent.concurrency is by
 * default, on one platform as on four.
 *   scenario_all_platforms BINARY [--short]      short: order and loss only, for builds that are
 *   slow
 */
#include "feishu/fake_feishu.h"
#include "qq/fake_qq.h"
#include "scenario/talk.h"
#include "support/check.h"
#include "telegram/fake_telegram.h"

#include <dirent.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#define CHAT_COUNT 12 /* of each platform */
#define TICK_MS 10    /* Telegram: one message a tick, the others one in three */
#define WARM_UP_MS 7000
#define WINDOW_MS 2500
#define WINDOW_SKIP_MS 1000
#define WINDOW_COUNT 20
#define SHORT_MS 6000
#define STALL_MS 1000 /* a call begun in a window is over before the next one counts */
#define SETTLE_MS 30000
#define HTTP_PAUSE_MS 30
#define FIRST_CHAT 5000
#define RSS_GROWTH_KIB_MAX \
    6144 /* what sessions, claims and caches of some ten thousand messages take */
#define FD_GROWTH_MAX 6

struct town
{
    struct folder folder;
    struct service service;
    struct platform_client telegram;
    struct fake_feishu *fake_feishu;
    struct fake_qq *fake_qq;
    struct platform_client feishu, qq;
    unsigned said[3][CHAT_COUNT]; /* of Telegram, Feishu, QQ */
    uint64_t tick;
    pthread_t caller;
    atomic_bool is_ending;
    atomic_uint http_count;
};

/* -- the town ---------------------------------------------------------------------------------- */
static void name_feishu(unsigned number, char chat[32], char user[32])
{
    snprintf(chat, 32, "oc_p%u", number);
    snprintf(user, 32, "ou_p%u", number);
}

static void name_qq(unsigned number, char key[64])
{
    snprintf(key, 64, "c2c:%032X", number + 1);
}

static void add_people(struct town *town)
{
    for (unsigned i = 0; i < CHAT_COUNT; i++) {
        char chat[32], user[32], key[64];
        name_feishu(i, chat, user);
        name_qq(i, key);
        platform_tell(&town->telegram, "{s:s,s:i,s:s}", "do", "user", "id", FIRST_CHAT + (int)i,
                      "language", "en");
        platform_tell(&town->feishu, "{s:s,s:s,s:s}", "do", "user", "id", user, "name", "Ann");
        platform_tell(&town->qq, "{s:s,s:s}", "do", "chat", "chat", key);
    }
    platform_tell(&town->feishu, "{s:s,s:i,s:i,s:i}", "do", "rates", "chat_per_second", 0,
                  "edit_per_second", 0, "app_per_second", 0);
    platform_tell(&town->qq, "{s:s,s:i}", "do", "rights", "per_second", 0);
}

static void configure(struct town *town)
{
    char json[2048];
    int qq_port = fake_qq_port(town->fake_qq);
    snprintf(json, sizeof json,
             "{\"name\":\"town\",\"llm\":{\"provider\":\"offline\"},"
             "\"queue\":{\"mode\":\"serial\"},\"agent\":{\"concurrency\":64},\"access\":\"anyone\","
             "\"adapters\":{"
             "\"terminal\":{\"enabled\":false},\"http\":{\"enabled\":true},"
             "\"telegram\":{\"enabled\":true,\"botToken\":\"%s\",\"apiRoot\":\"http://"
             "127.0.0.1:%d\",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}},"
             "\"feishu\":{\"enabled\":true,\"appId\":\"%s\",\"appSecret\":\"%s\",\"domain\":"
             "\"http://127.0.0.1:%d\",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}},"
             "\"qq\":{\"enabled\":true,\"appId\":\"%s\",\"appSecret\":\"%s\",\"apiRoot\":"
             "\"http://127.0.0.1:%d\",\"tokenUrl\":\"http://127.0.0.1:%d/app/getAppAccessToken\","
             "\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}}}}",
             FAKE_TELEGRAM_TOKEN, town->telegram.port, FAKE_FEISHU_APP, FAKE_FEISHU_SECRET,
             fake_feishu_port(town->fake_feishu), FAKE_QQ_APP_ID, FAKE_QQ_SECRET, qq_port, qq_port);
    folder_create(&town->folder, json);
}

static int64_t feishu_count(const struct town *town, const char *name)
{
    return platform_get(&town->feishu, name, "{s:s}", "do", "counters");
}

static int64_t qq_count(const struct town *town, const char *name)
{
    return platform_get(&town->qq, name, "{s:s}", "do", "counters");
}

static void open_town(struct town *town, const char *binary)
{
    town->telegram = fake_telegram_client(fake_telegram_start(0));
    town->fake_feishu = fake_feishu_start(0);
    town->fake_qq = fake_qq_start(0);
    town->feishu = fake_feishu_client(town->fake_feishu);
    town->qq = fake_qq_client(town->fake_qq);
    add_people(town);
    configure(town);
    service_start(&town->service, binary, &town->folder);
    long long until = process_now_ms() + SETTLE_MS;
    while (feishu_count(town, "connections") == 0 || qq_count(town, "ready") == 0) {
        CHECK(process_now_ms() < until);
        process_pause_ms(2);
    }
}

/* -- talking ----------------------------------------------------------------------------------- */
static void say(struct town *town, unsigned platform)
{
    uint64_t turn = platform == 0 ? town->tick : town->tick / 3;
    unsigned chat = (unsigned)(turn % CHAT_COUNT), number = town->said[platform][chat]++;
    char text[64], id[32], user[32], key[64];
    snprintf(text, sizeof text, "please repeat s%u-%u", chat, number);
    name_feishu(chat, id, user);
    name_qq(chat, key);
    if (platform == 0)
        platform_tell(&town->telegram, "{s:s,s:i,s:i,s:s}", "do", "say", "chat",
                      FIRST_CHAT + (int)chat, "user", FIRST_CHAT + (int)chat, "text", text);
    else if (platform == 1)
        platform_tell(&town->feishu, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", id, "user", user,
                      "text", text);
    else
        platform_tell(&town->qq, "{s:s,s:s,s:s}", "do", "say", "chat", key, "text", text);
}

/* Until `until_ms`, at the pace. */
static void talk(struct town *town, long long until_ms)
{
    while (process_now_ms() < until_ms) {
        say(town, 0);
        if (town->tick % 3 != 0)
            say(town, 1 + (unsigned)(town->tick % 3 - 1));
        town->tick++;
        process_pause_ms(TICK_MS);
    }
}

/* Its callers wait for each answer before they say the next thing. */
static void *call_http(void *user)
{
    struct town *town = user;
    while (!atomic_load(&town->is_ending)) {
        unsigned number = atomic_fetch_add(&town->http_count, 1);
        char chat[32], text[64], want[64];
        snprintf(chat, sizeof chat, "caller%u", number % CHAT_COUNT);
        snprintf(text, sizeof text, "please repeat h%u-%u", number % CHAT_COUNT, number);
        snprintf(want, sizeof want, "h%u-%u", number % CHAT_COUNT, number);
        talk_expect(town->service.port, chat, text, want);
        process_pause_ms(HTTP_PAUSE_MS);
    }
    return NULL;
}

static void stall_feishu(const struct town *town)
{
    platform_tell(&town->feishu, "{s:s,s:s,s:s,s:i,s:i}", "do", "fault", "method", "*", "kind",
                  "delay", "ms", STALL_MS, "times", 1000000);
}

/* -- what the process holds -------------------------------------------------------------------- */
struct holding
{
    long rss_kib;
    size_t fds, threads;
};

static size_t count_entries(pid_t pid, const char *name)
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count - 2;
}

static struct holding look(const struct town *town)
{
    char path[64], line[256];
    struct holding holding = {.fds = count_entries(town->service.pid, "fd"),
                              .threads = count_entries(town->service.pid, "task")};
    snprintf(path, sizeof path, "/proc/%d/status", (int)town->service.pid);
    FILE *file = fopen(path, "re");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            holding.rss_kib = strtol(line + 6, NULL, 10);
    fclose(file);
    return holding;
}

static void check_level(const struct holding *first, const struct holding *last)
{
    printf("held: %ld -> %ld KiB, %zu -> %zu descriptors, %zu -> %zu threads\n", first->rss_kib,
           last->rss_kib, first->fds, last->fds, first->threads, last->threads);
    CHECK(last->rss_kib - first->rss_kib <= RSS_GROWTH_KIB_MAX);
    CHECK(last->fds <= first->fds + FD_GROWTH_MAX);
    CHECK(last->threads <= first->threads + 2); /* name look-ups come and go */
}

/* -- Telegram's waiting ------------------------------------------------------------------------ */
struct window
{
    uint64_t start_ns, end_ns;
    double *ms;
    size_t count, room;
};

static void note_wait(struct window *windows, uint64_t said_ns, uint64_t answered_ns)
{
    for (size_t i = 0; i < WINDOW_COUNT; i++) {
        struct window *window = &windows[i];
        if (said_ns < window->start_ns + (uint64_t)WINDOW_SKIP_MS * SMA_NS_PER_MS ||
            said_ns >= window->end_ns)
            continue;
        window->ms = platform_grow(window->ms, window->count, &window->room, sizeof *window->ms);
        window->ms[window->count++] = (double)(answered_ns - said_ns) / SMA_NS_PER_MS;
    }
}

static int compare_double(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(const double *values, size_t count)
{
    double sorted[WINDOW_COUNT];
    CHECK(count > 0 && count <= WINDOW_COUNT);
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, compare_double);
    return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* Three standard errors of a median of so many values, robustly: 3 x 1.25 x 1.48 x median distance
 * / sqrt(count). */
static double uncertainty(const double *values, size_t count)
{
    double distances[WINDOW_COUNT], middle = median(values, count);
    for (size_t i = 0; i < count; i++)
        distances[i] = values[i] > middle ? values[i] - middle : middle - values[i];
    return 5.55 * median(distances, count) / sqrt((double)count);
}

/* Even windows are calm, in odd ones Feishu hangs. */
static void compare_windows(struct window *windows, const char *name, double quantile)
{
    double calm[WINDOW_COUNT / 2], hung[WINDOW_COUNT / 2], more[WINDOW_COUNT / 2];
    for (size_t i = 0; i < WINDOW_COUNT; i++) {
        struct window *window = &windows[i];
        CHECK(window->count > 50);
        qsort(window->ms, window->count, sizeof *window->ms, compare_double);
        double value = window->ms[(size_t)(quantile * (double)(window->count - 1))];
        (i % 2 == 0 ? calm : hung)[i / 2] = value;
    }
    for (size_t i = 0; i < WINDOW_COUNT / 2; i++)
        more[i] = hung[i] - calm[i];
    double before = median(calm, WINDOW_COUNT / 2), beside = median(hung, WINDOW_COUNT / 2),
           difference = median(more, WINDOW_COUNT / 2), noise = uncertainty(more, WINDOW_COUNT / 2);
    printf("Telegram %s: %.2f ms, beside a hanging Feishu %.2f ms; of neighbours %+.2f ms, +-%.2f "
           "ms by chance\n",
           name, before, beside, difference, noise);
    CHECK(difference <= before * 0.1 || difference <= noise);
}

/* -- order, loss ------------------------------------------------------------------------------- */
/* What stands around the place where an answer was not due. */
static void show(const char *platform, unsigned chat, const json_t *messages, size_t place,
                 unsigned due)
{
    fprintf(stderr, "%s, chat %u: answer %u was due\n", platform, chat, due);
    for (size_t i = place < 30 ? 0 : place - 30; i < place + 10 && i < json_array_size(messages);
         i++) {
        const json_t *message = json_array_get(messages, i);
        fprintf(stderr, "%s %lld ms %s%s\n", i == place ? "->" : "  ",
                (long long)(platform_number(message, "ns", 0) / SMA_NS_PER_MS),
                platform_flag(message, "is_ours", false) ? "        " : "",
                platform_text(message, "text", ""));
    }
}

/* Every message of the chat is answered once, in order. */
static void check_chat(const char *platform, unsigned chat, const json_t *messages, unsigned said,
                       struct window *windows)
{
    uint64_t *said_ns = calloc(said + 1, sizeof *said_ns);
    unsigned next = 0;
    CHECK(said_ns != NULL);
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i);
        const char *text = platform_text(message, "text", ""),
                   *mark = strstr(text, "please repeat s");
        unsigned of, number;
        if (mark == NULL || sscanf(mark, "please repeat s%u-%u", &of, &number) != 2)
            continue; /* a notice */
        CHECK(of == chat && number < said);
        uint64_t ns = (uint64_t)platform_number(message, "ns", 0);
        if (!platform_flag(message, "is_ours", false)) {
            said_ns[number] = ns;
            continue;
        }
        if (number != next)
            show(platform, chat, messages, i, next);
        CHECK_INT(next, number);
        next++;
        if (windows != NULL)
            note_wait(windows, said_ns[number], ns);
    }
    CHECK_INT(said, next);
    free(said_ns);
}

static void check_chats(const struct town *town, struct window *windows)
{
    for (unsigned i = 0; i < CHAT_COUNT; i++) {
        char id[32], user[32], key[64];
        name_feishu(i, id, user);
        name_qq(i, key);
        json_t *lists[3] = {
            platform_do(&town->telegram, "{s:s,s:i}", "do", "list", "chat", FIRST_CHAT + (int)i),
            platform_do(&town->feishu, "{s:s,s:s}", "do", "list", "chat", id),
            platform_do(&town->qq, "{s:s,s:s}", "do", "list", "chat", key)};
        static const char *const names[] = {"Telegram", "Feishu", "QQ"};
        for (size_t j = 0; j < 3; j++) {
            check_chat(names[j], i, json_object_get(lists[j], "messages"), town->said[j][i],
                       j == 0 ? windows : NULL);
            json_decref(lists[j]);
        }
    }
}

static bool is_settled(const struct town *town)
{
    struct http_answer answer = http_ask(town->service.port, "/metrics", "", NULL, 5000);
    bool result = answer.status == 200 && strstr(answer.body, "\nsma_inbox_waiting 0\n") != NULL &&
                  strstr(answer.body, "\nsma_runs_open 0\n") != NULL &&
                  strstr(answer.body, "\nsma_outbox_open 0\n") != NULL &&
                  feishu_count(town, "queued") == 0;
    http_answer_fini(&answer);
    return result;
}

static void settle(const struct town *town)
{
    long long until = process_now_ms() + SETTLE_MS;
    while (!is_settled(town)) {
        CHECK(process_now_ms() < until);
        process_pause_ms(20);
    }
    process_pause_ms(100); /* what was handed out and not yet taken in */
    while (!is_settled(town)) {
        CHECK(process_now_ms() < until);
        process_pause_ms(20);
    }
}

static void close_town(struct town *town)
{
    CHECK_INT(0, service_stop(&town->service));
    CHECK_INT(0, feishu_count(town, "complaints"));
    CHECK_INT(0, qq_count(town, "refusals"));
    fake_telegram_stop(town->telegram.fake);
    fake_feishu_stop(town->fake_feishu);
    fake_qq_stop(town->fake_qq);
    folder_remove(&town->folder);
}

/* -- the cases --------------------------------------------------------------------------------- */
static void begin(struct town *town, const char *binary)
{
    open_town(town, binary);
    CHECK_INT(0, pthread_create(&town->caller, NULL, call_http, town));
}

static void end(struct town *town, struct window *windows)
{
    atomic_store(&town->is_ending, true);
    CHECK_INT(0, pthread_join(town->caller, NULL));
    settle(town);
    check_chats(town, windows);
    close_town(town);
}

static void talk_windows(struct town *town, struct window *windows)
{
    for (size_t i = 0; i < WINDOW_COUNT; i++) {
        if (i % 2 == 1)
            stall_feishu(town);
        windows[i].start_ns = platform_now_ns();
        talk(town, process_now_ms() + WINDOW_MS);
        windows[i].end_ns = platform_now_ns();
        platform_tell(&town->feishu, "{s:s}", "do", "clear_faults");
    }
}

static void a_minute_of_all(const char *binary)
{
    struct town town = {0};
    struct window windows[WINDOW_COUNT] = {0};
    begin(&town, binary);
    talk(&town, process_now_ms() + WARM_UP_MS / 2);
    stall_feishu(&town); /* what that needs once is there before the first look */
    talk(&town, process_now_ms() + WARM_UP_MS / 2);
    platform_tell(&town.feishu, "{s:s}", "do", "clear_faults");
    struct holding first = look(&town);
    talk_windows(&town, windows);
    talk(&town, process_now_ms() + WINDOW_SKIP_MS + 1000); /* the last calls that hung are over */
    struct holding last = look(&town);
    end(&town, windows);
    check_level(&first, &last);
    compare_windows(windows, "p50", 0.5);
    compare_windows(windows, "p99", 0.99);
    for (size_t i = 0; i < WINDOW_COUNT; i++)
        free(windows[i].ms);
}

static void some_seconds_of_all(const char *binary)
{
    struct town town = {0};
    begin(&town, binary);
    talk(&town, process_now_ms() + SHORT_MS / 2);
    stall_feishu(&town);
    talk(&town, process_now_ms() + SHORT_MS / 2);
    platform_tell(&town.feishu, "{s:s}", "do", "clear_faults");
    end(&town, NULL);
}

int main(int argc, char **argv)
{
    CHECK(argc >= 2);
    if (argc > 2 && strcmp(argv[2], "--short") == 0)
        some_seconds_of_all(argv[1]);
    else
        a_minute_of_all(argv[1]);
    return 0;
}
