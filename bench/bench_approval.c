/*
 * bench_approval — from a person's press to the model: a request waits in a chat, its button is
 * pressed at a Bot API server in this process, and the time runs until the first byte of the
 * continued model request arrives at a scripted model server in this process. Between them: the
 * decision and its commit, the hand-over of the run and its commit, for an approved one the command
 * `true`, and the model call.
 *   refused, approved with and without the sandbox; the reference is what a bare write and
 *   fdatasync of 8 KiB costs here, and with an approved command what starting it by itself (`sh -c
 *   true`, or that in bubblewrap) and waiting for its end adds. bench_approval --binary PATH
 *   [--quick] [--json FILE]
 */
#include "bench.h"
#include "scenario/process.h"
#include "telegram/fake_telegram.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define OWNER 1001
#define WAIT_MS 30000
#define CONN_COUNT_MAX 64
#define REQUEST_BYTES_MAX (1u << 20)
#define COMMIT_BYTES 8192
#define TARGET_MS 5.0 /* beside the reference */

static const char *binary;

/* -- the model server -------------------------------------------------------------------------- */
struct conn
{
    int fd;
    char *bytes;
    size_t len;
    uint64_t first_ns; /* when the request's first byte came */
};
struct model
{
    pthread_t thread;
    int listener, port;
    atomic_bool is_stopping;
    atomic_ullong continued_ns, continued_count; /* requests that carry a result */
    struct conn conns[CONN_COUNT_MAX];
};

static const char *last_of(const char *text, const char *word)
{
    const char *found = NULL;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        found = at;
    return found;
}

static void answer(struct model *model, const struct conn *conn)
{
    static const char call[] =
        "{\"id\":\"c\",\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{"
        "\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_%llu\",\"type\":"
        "\"function\",\"function\":{\"name\":\"exec_shell\",\"arguments\":\"{\\\"command\\\":"
        "\\\"true\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}";
    static const char done[] =
        "{\"id\":\"c\",\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{"
        "\"role\":\"assistant\",\"content\":\"Done.\"},\"finish_reason\":\"stop\"}]}";
    static unsigned long long number;
    char body[1024], head[256];
    const char *tool = last_of(conn->bytes, "\"role\":\"tool\""),
               *user = last_of(conn->bytes, "\"role\":\"user\"");
    bool is_continued = tool != NULL && tool > user;
    if (is_continued) {
        atomic_store(&model->continued_ns, conn->first_ns);
        atomic_fetch_add(&model->continued_count, 1);
        snprintf(body, sizeof body, "%s", done);
    } else {
        snprintf(body, sizeof body, call, ++number);
    }
    int head_len = snprintf(head, sizeof head,
                            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                            "Content-Length: %zu\r\n\r\n",
                            strlen(body));
    if (send(conn->fd, head, (size_t)head_len, MSG_NOSIGNAL | MSG_MORE) < 0 ||
        send(conn->fd, body, strlen(body), MSG_NOSIGNAL) < 0)
        fprintf(stderr, "bench_approval: an answer of the model was not taken\n");
}

static bool is_whole(const struct conn *conn)
{
    const char *end = strstr(conn->bytes, "\r\n\r\n"),
               *length = strcasestr(conn->bytes, "\r\ncontent-length:");
    return end != NULL && length != NULL && length < end &&
           conn->len >= (size_t)(end + 4 - conn->bytes) + strtoul(length + 17, NULL, 10);
}

static void read_conn(struct model *model, struct conn *conn)
{
    uint64_t now_ns = bench_now_ns();
    ssize_t got = recv(conn->fd, conn->bytes + conn->len, REQUEST_BYTES_MAX - conn->len - 1, 0);
    if (got <= 0) {
        close(conn->fd);
        free(conn->bytes);
        *conn = (struct conn){.fd = -1};
        return;
    }
    if (conn->len == 0)
        conn->first_ns = now_ns;
    conn->len += (size_t)got;
    conn->bytes[conn->len] = '\0';
    if (!is_whole(conn))
        return;
    answer(model, conn);
    conn->len = 0;
    conn->bytes[0] = '\0';
}

static void accept_conn(struct model *model)
{
    int fd = accept4(model->listener, NULL, NULL, SOCK_CLOEXEC);
    for (size_t i = 0; i < CONN_COUNT_MAX && fd >= 0; i++) {
        struct conn *conn = &model->conns[i];
        if (conn->fd >= 0)
            continue;
        *conn = (struct conn){.fd = fd, .bytes = calloc(1, REQUEST_BYTES_MAX)};
        if (conn->bytes != NULL)
            return;
        conn->fd = -1;
        break;
    }
    if (fd >= 0)
        close(fd);
}

static void *serve(void *user)
{
    struct model *model = user;
    struct pollfd polls[CONN_COUNT_MAX + 1];
    while (!atomic_load(&model->is_stopping)) {
        for (size_t i = 0; i < CONN_COUNT_MAX; i++) /* a negative one is passed over */
            polls[i] = (struct pollfd){model->conns[i].fd, POLLIN, 0};
        polls[CONN_COUNT_MAX] = (struct pollfd){model->listener, POLLIN, 0};
        if (poll(polls, CONN_COUNT_MAX + 1, 50) <= 0)
            continue;
        for (size_t i = 0; i < CONN_COUNT_MAX; i++)
            if (polls[i].revents != 0)
                read_conn(model, &model->conns[i]);
        if (polls[CONN_COUNT_MAX].revents != 0)
            accept_conn(model);
    }
    return NULL;
}

static void model_start(struct model *model)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t i = 0; i < CONN_COUNT_MAX; i++)
        model->conns[i].fd = -1;
    model->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (model->listener < 0 ||
        bind(model->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(model->listener, CONN_COUNT_MAX) != 0 ||
        getsockname(model->listener, (struct sockaddr *)&address, &len) != 0 ||
        pthread_create(&model->thread, NULL, serve, model) != 0) {
        fprintf(stderr, "bench_approval: the model server does not start\n");
        exit(1);
    }
    model->port = ntohs(address.sin_port);
}

static void model_stop(struct model *model)
{
    atomic_store(&model->is_stopping, true);
    pthread_join(model->thread, NULL);
    close(model->listener);
    for (size_t i = 0; i < CONN_COUNT_MAX; i++) {
        if (model->conns[i].fd < 0)
            continue;
        close(model->conns[i].fd);
        free(model->conns[i].bytes);
    }
}

/* -- the chat ---------------------------------------------------------------------------------- */
struct setting
{
    struct folder folder;
    struct service service;
    struct platform_client telegram;
    struct model model;
};

static void set_up(struct setting *setting, const char *sandbox)
{
    char json[1024];
    *setting = (struct setting){.telegram = fake_telegram_client(fake_telegram_start(0))};
    platform_tell(&setting->telegram, "{s:s,s:i,s:s}", "do", "user", "id", OWNER, "language", "en");
    model_start(&setting->model);
    folder_create(&setting->folder, NULL);
    snprintf(
        json, sizeof json,
        "{\"name\":\"bench\",\"llm\":{\"provider\":\"custom\",\"model\":\"m\",\"apiKey\":\"k\","
        "\"stream\":false,\"baseUrl\":\"http://127.0.0.1:%d/v1\"},\"permissions\":{\"roles\":{"
        "\"owner\":[\"telegram:%d\"]},\"exec_shell\":{\"requiresApproval\":true,\"sandbox\":\"%s\"}"
        "},\"adapters\":{"
        "\"terminal\":{\"enabled\":false},\"telegram\":{\"enabled\":true,\"botToken\":\"%s\","
        "\"apiRoot\":\"http://127.0.0.1:%d\","
        "\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}}}}",
        setting->model.port, OWNER, sandbox, FAKE_TELEGRAM_TOKEN, setting->telegram.port);
    folder_write(&setting->folder, "ship.json", json);
    service_start(&setting->service, binary, &setting->folder);
}

static void tear_down(struct setting *setting)
{
    int status = service_stop(&setting->service);
    if (status != 0)
        fprintf(stderr, "bench_approval: the service ended with %d\n", status);
    model_stop(&setting->model);
    fake_telegram_stop(setting->telegram.fake);
    folder_remove(&setting->folder);
}

static void give_up(const struct setting *setting, const char *what)
{
    char *log = folder_read(&setting->folder, "service.log");
    fprintf(stderr, "bench_approval: %s did not come\n%s\n", what, log == NULL ? "" : log);
    free(log);
    exit(1);
}

/* Until a message of ours after `from` has buttons (or, without, says "Done."). @return its id */
static int64_t await_message(const struct setting *setting, int64_t from, bool has_buttons)
{
    for (long long until = process_now_ms() + WAIT_MS; process_now_ms() < until;
         process_pause_ms(1)) {
        json_t *list = platform_do(&setting->telegram, "{s:s,s:i,s:I}", "do", "list", "chat", OWNER,
                                   "from", (json_int_t)from);
        const json_t *messages = json_object_get(list, "messages");
        int64_t id = 0;
        for (size_t i = 0; i < json_array_size(messages) && id == 0; i++) {
            const json_t *message = json_array_get(messages, i);
            bool is_card = json_array_size(json_object_get(message, "buttons")) > 0;
            const char *text = json_string_value(json_object_get(message, "text"));
            if (has_buttons ? is_card : text != NULL && strcmp(text, "Done.") == 0)
                id = json_integer_value(json_object_get(message, "id"));
        }
        json_decref(list);
        if (id > 0)
            return id;
    }
    give_up(setting, has_buttons ? "a request" : "the end of a run");
    return 0;
}

/* One press. @return nanoseconds until the continued request */
static uint64_t press(struct setting *setting, const char *button)
{
    int64_t said = platform_get(&setting->telegram, "message_id", "{s:s,s:i,s:i,s:s}", "do", "say",
                                "chat", OWNER, "user", OWNER, "text", "please do it");
    int64_t card = await_message(setting, said, true);
    process_pause_ms(5); /* the card's receipt is stored meanwhile */
    unsigned long long before = atomic_load(&setting->model.continued_count);
    uint64_t started_ns = bench_now_ns();
    platform_tell(&setting->telegram, "{s:s,s:i,s:i,s:I,s:s}", "do", "press", "chat", OWNER, "user",
                  OWNER, "message_id", (json_int_t)card, "button", button);
    long long until = process_now_ms() + WAIT_MS;
    while (atomic_load(&setting->model.continued_count) == before && process_now_ms() < until)
        process_pause_ms(1);
    if (atomic_load(&setting->model.continued_count) == before)
        give_up(setting, "the continued request");
    uint64_t ns = atomic_load(&setting->model.continued_ns) - started_ns;
    (void)await_message(setting, card, false);
    return ns;
}

/* -- the reference ----------------------------------------------------------------------------- */
/* A bare write and fdatasync in the place where the project lies. @return sorted nanoseconds */
static uint64_t *measure_commits(size_t count)
{
    char path[] = "/tmp/sma-scenario-commit-XXXXXX", block[COMMIT_BYTES];
    uint64_t *list = calloc(count, sizeof *list);
    int fd = mkostemp(path, O_CLOEXEC);
    if (list == NULL || fd < 0)
        exit(1);
    memset(block, 'x', sizeof block);
    for (size_t i = 0; i < count; i++) {
        uint64_t started_ns = bench_now_ns();
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block || fdatasync(fd) != 0)
            exit(1);
        list[i] = bench_now_ns() - started_ns;
        process_pause_ms(1);
    }
    close(fd);
    (void)unlink(path);
    bench_sort(list, count);
    return list;
}

/* A bare start of the command and the wait for its end. @return sorted nanoseconds; NULL: there is
 * none */
static uint64_t *measure_commands(const char *const *argv, size_t count)
{
    uint64_t *list = calloc(count, sizeof *list);
    for (size_t i = 0; list != NULL && i < count; i++) {
        pid_t pid;
        int status = 0;
        uint64_t started_ns = bench_now_ns();
        if (posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ) != 0 ||
            waitpid(pid, &status, 0) != pid || status != 0) {
            free(list);
            return NULL;
        }
        list[i] = bench_now_ns() - started_ns;
    }
    bench_sort(list, count);
    return list;
}

static const char *const bare[] = {"sh", "-c", "true", NULL};
static const char *const boxed[] = {
    "bwrap",  "--unshare-all", "--die-with-parent", "--ro-bind", "/",  "/",  "--dev", "/dev",
    "--proc", "/proc",         "--tmpfs",           "/tmp",      "sh", "-c", "true",  NULL};

static void measure(const char *what, const char *button, const char *sandbox,
                    const char *const *command)
{
    struct setting setting;
    char name[96], target[32];
    size_t count = bench_is_quick ? 50 : 300;
    uint64_t *list = calloc(count, sizeof *list);
    if (list == NULL)
        exit(1);
    set_up(&setting, sandbox);
    for (size_t i = 0; i < 10; i++)
        (void)press(&setting, button); /* warm */
    for (size_t i = 0; i < count; i++)
        list[i] = press(&setting, button);
    tear_down(&setting);
    bench_sort(list, count);
    uint64_t *commits = measure_commits(count);
    uint64_t *commands = command == NULL ? NULL : measure_commands(command, count);
    static const double quantiles[] = {0.5, 0.99};
    for (size_t i = 0; i < SMA_COUNT_OF(quantiles); i++) {
        double ms = (double)bench_quantile(list, count, quantiles[i]) / 1e6;
        double reference = (double)bench_quantile(commits, count, quantiles[i]) / 1e6;
        if (commands != NULL)
            reference += (double)bench_quantile(commands, count, quantiles[i]) / 1e6;
        snprintf(name, sizeof name, "press to next request, %s p%.0f", what, quantiles[i] * 100);
        snprintf(target, sizeof target, "<= %.2f ms", TARGET_MS + reference);
        bench_row(name, ms, "ms", reference, ms / reference, i == 1 ? target : NULL);
    }
    free(list);
    free(commits);
    free(commands);
}

int main(int argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--binary") == 0 && i + 1 < argc)
            binary = argv[++i];
        else
            argv[kept++] = argv[i];
    }
    if (binary == NULL) {
        fprintf(stderr, "usage: bench_approval --binary PATH [--quick] [--json FILE]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    bench_open(kept, argv, "approval");
    measure("refused", "Refuse", "off", NULL);
    measure("approved, no sandbox", "Approve", "off", bare);
    measure("approved, sandbox", "Approve", "auto", boxed);
    return bench_close();
}
