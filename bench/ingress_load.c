/* ingress_load.c — see ingress_load.h. */
#include "ingress_load.h"

#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>

#define ANSWER_MAX 8192
#define SAMPLE_MAX 4000000
#define CHAT_COUNT 200 /* all known after the warm-up: making files is the file system's time */
#define SINK_CONNECTION_MAX 64

struct link
{
    int fd;
    uint64_t sent_ns;
    size_t have;
    char answer[ANSWER_MAX];
};
static uint64_t message_number; /* one driver thread */
static uint64_t run_mark;       /* differs from run to run, so that ids do */

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(2);
}

int load_connect(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct timeval limit = {30, 0};
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

static size_t make_request(char *bytes, size_t max, int port, const char *chat)
{
    static const char text[] = "Please look at the numbers of last week again and tell me which of "
                               "the three regions fell behind its plan, by "
                               "how much, and since when; a short list is enough. If a number is "
                               "missing, say which one and go on.";
    char body[700];
    if (run_mark == 0)
        run_mark = bench_now_ns();
    uint64_t number = message_number++;
    int body_len = snprintf(
        body, sizeof body,
        "{\"instructions\":\"%s\",\"chatId\":\"%s%llu\",\"userId\":\"bench\",\"messageId\":"
        "\"%016llx%016llx\"}",
        text, chat == NULL ? "c" : chat,
        chat == NULL ? (unsigned long long)(number % CHAT_COUNT) : 0ULL,
        (unsigned long long)run_mark, (unsigned long long)number);
    int len = snprintf(bytes, max,
                       "POST /api/execute HTTP/1.1\r\nHost: localhost:%d\r\n" BENCH_TOKEN_LINE
                       "Content-Type: application/json\r\n"
                       "Prefer: respond-async\r\nContent-Length: %d\r\n\r\n%s",
                       port, body_len, body);
    return (size_t)len;
}

/* @return the status of a whole answer, 0 while it is not whole. */
static int whole_status(char *answer, size_t have)
{
    answer[have] = '\0';
    const char *end = strstr(answer, "\r\n\r\n");
    const char *length = end == NULL ? NULL : strcasestr(answer, "content-length:");
    if (length == NULL || have < (size_t)(end + 4 - answer) + strtoul(length + 15, NULL, 10))
        return 0;
    return (int)strtol(answer + 9, NULL, 10);
}

static void send_next(struct link *link, int port)
{
    char request[1200];
    size_t len = make_request(request, sizeof request, port, NULL);
    link->have = 0;
    link->sent_ns = bench_now_ns();
    if (send(link->fd, request, len, MSG_NOSIGNAL) != (ssize_t)len)
        die("send");
}

static void note(struct load_result *result, int status, uint64_t ns)
{
    if (status < 200 || status > 299)
        result->refused_count++;
    else if (result->count < SAMPLE_MAX)
        result->latencies_ns[result->count++] = ns;
}

static struct load_result make_result(void)
{
    struct load_result result = {.latencies_ns = malloc(SAMPLE_MAX * sizeof(uint64_t))};
    if (result.latencies_ns == NULL)
        die("malloc");
    return result;
}

struct load_result load_run(int port, unsigned connections, double seconds)
{
    struct load_result result = make_result();
    struct link *links = calloc(connections, sizeof *links);
    struct epoll_event events[256];
    int poller = epoll_create1(EPOLL_CLOEXEC);
    if (links == NULL || poller < 0)
        die("epoll");
    for (unsigned i = 0; i < connections; i++) {
        links[i].fd = load_connect(port);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &links[i]};
        if (epoll_ctl(poller, EPOLL_CTL_ADD, links[i].fd, &event) != 0)
            die("epoll_ctl");
    }
    uint64_t start = bench_now_ns(), end = start + (uint64_t)(seconds * 1e9), now = start;
    for (unsigned i = 0; i < connections; i++)
        send_next(&links[i], port);
    while (now < end) {
        int ready = epoll_wait(poller, events, 256, 1000);
        now = bench_now_ns();
        for (int i = 0; i < ready; i++) {
            struct link *link = events[i].data.ptr;
            ssize_t got = recv(link->fd, link->answer + link->have, ANSWER_MAX - 1 - link->have, 0);
            if (got <= 0)
                die("server closed the connection");
            link->have += (size_t)got;
            int status = whole_status(link->answer, link->have);
            if (status == 0)
                continue;
            note(&result, status, bench_now_ns() - link->sent_ns);
            send_next(link, port);
        }
    }
    result.per_second = (double)result.count / ((double)(now - start) / 1e9);
    for (unsigned i = 0; i < connections; i++)
        close(links[i].fd);
    close(poller);
    free(links);
    bench_sort(result.latencies_ns, result.count);
    return result;
}

static int exchange(int fd, const char *request, size_t len, char *answer, size_t answer_max)
{
    if (send(fd, request, len, MSG_NOSIGNAL) != (ssize_t)len)
        die("send");
    for (size_t have = 0;;) {
        ssize_t got = recv(fd, answer + have, answer_max - 1 - have, 0);
        if (got <= 0)
            die("server closed the connection");
        have += (size_t)got;
        int status = whole_status(answer, have);
        if (status != 0)
            return status;
    }
}

int load_post(int fd, int port, const char *chat, char ret_run_id[32])
{
    char request[1200], answer[ANSWER_MAX];
    size_t len = make_request(request, sizeof request, port, chat);
    int status = exchange(fd, request, len, answer, sizeof answer);
    const char *id = strstr(answer, "\"runId\":\"");
    if (ret_run_id != NULL && id != NULL)
        snprintf(ret_run_id, 32, "%.*s", (int)strspn(id + 9, "0123456789"), id + 9);
    return status;
}

int load_get(int fd, int port, const char *path, char *answer, size_t answer_max)
{
    char request[400];
    int len =
        snprintf(request, sizeof request,
                 "GET %s HTTP/1.1\r\nHost: localhost:%d\r\n" BENCH_TOKEN_LINE "\r\n", path, port);
    return exchange(fd, request, (size_t)len, answer, answer_max);
}

struct load_result load_paced(int port, unsigned count, unsigned pause_us)
{
    struct load_result result = make_result();
    int fd = load_connect(port);
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < count; i++) {
        usleep(pause_us);
        uint64_t before = bench_now_ns();
        int status = load_post(fd, port, NULL, NULL);
        note(&result, status, bench_now_ns() - before);
    }
    result.per_second = (double)result.count / ((double)(bench_now_ns() - start) / 1e9);
    close(fd);
    bench_sort(result.latencies_ns, result.count);
    return result;
}

void load_fini(struct load_result *result)
{
    free(result->latencies_ns);
    result->latencies_ns = NULL;
}

/* -- histograms -------------------------------------------------------------------------------- */

struct load_histogram load_histogram_read(int port, const char *name)
{
    static char answer[1024 * 1024];
    struct load_histogram histogram = {.count = 0};
    char prefix[100];
    int fd = load_connect(port);
    if (load_get(fd, port, "/metrics", answer, sizeof answer) != 200)
        die("GET /metrics");
    close(fd);
    snprintf(prefix, sizeof prefix, "%s_bucket{le=\"", name);
    for (const char *at = answer;
         (at = strstr(at, prefix)) != NULL && histogram.count < SMA_COUNT_OF(histogram.bounds);) {
        at += strlen(prefix);
        const char *brace = strstr(at, "} ");
        histogram.bounds[histogram.count] = strtod(at, NULL);
        histogram.counts[histogram.count++] = brace == NULL ? 0 : strtod(brace + 2, NULL);
    }
    return histogram;
}

double load_histogram_quantile(const struct load_histogram *before,
                               const struct load_histogram *after, double q)
{
    size_t count = before->count == after->count ? after->count : 0;
    double total = count == 0 ? 0 : after->counts[count - 1] - before->counts[count - 1], below = 0,
           low = 0;
    for (size_t i = 0; i < count; i++) {
        double upto = after->counts[i] - before->counts[i], bound = after->bounds[i];
        if (upto >= q * total && upto > below && isfinite(bound))
            return (low + (bound - low) * (q * total - below) / (upto - below)) * 1e6;
        below = upto;
        low = bound;
    }
    return NAN;
}

/* -- the sink ---------------------------------------------------------------------------------- */

static int sink_fd;
static atomic_uint_least64_t sink_seen_ns;

static void answer_request(int fd)
{
    static const char body[] =
        "{\"id\":\"b\",\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":"
        "{\"role\":\"assistant\",\"content\":\"The second region, by four per cent.\"},"
        "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}";
    char answer[600];
    int len = snprintf(
        answer, sizeof answer,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        sizeof body - 1, body);
    (void)!send(fd, answer, (size_t)len, MSG_NOSIGNAL); /* a client that left does not want it */
}

/* Read one request to its end; `first` bytes of it are there. @return false: closed. */
static bool read_request(int fd)
{
    static char bytes[4 * 1024 * 1024];
    size_t have = 0, whole = 0;
    while (whole == 0 || have < whole) {
        ssize_t got = recv(fd, bytes + have, sizeof bytes - 1 - have, 0);
        if (got <= 0)
            return false;
        if (have == 0)
            atomic_store(&sink_seen_ns, bench_now_ns());
        have += (size_t)got;
        bytes[have] = '\0';
        const char *end = whole == 0 ? strstr(bytes, "\r\n\r\n") : NULL;
        if (end != NULL) {
            const char *length = strcasestr(bytes, "content-length:");
            whole =
                (size_t)(end + 4 - bytes) + (length == NULL ? 0 : strtoul(length + 15, NULL, 10));
        }
    }
    return true;
}

static void *sink_run(void *unused)
{
    struct pollfd fds[SINK_CONNECTION_MAX + 1] = {{.fd = sink_fd, .events = POLLIN}};
    nfds_t count = 1;
    (void)unused;
    for (;;) {
        if (poll(fds, count, -1) < 0 && errno != EINTR)
            return NULL;
        for (nfds_t i = count; i-- > 1;) {
            if (fds[i].revents == 0)
                continue;
            if (read_request(fds[i].fd)) {
                answer_request(fds[i].fd);
            } else {
                close(fds[i].fd);
                fds[i] = fds[--count];
            }
        }
        if ((fds[0].revents & POLLIN) != 0) {
            int fd = accept4(sink_fd, NULL, NULL, SOCK_CLOEXEC), one = 1;
            if (fd >= 0 && count <= SINK_CONNECTION_MAX) {
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                fds[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
            } else if (fd >= 0) {
                close(fd);
            }
        }
    }
}

int sink_start(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    pthread_t thread;
    sink_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sink_fd < 0 || bind(sink_fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(sink_fd, 64) != 0 ||
        getsockname(sink_fd, (struct sockaddr *)&address, &bytes) != 0 ||
        pthread_create(&thread, NULL, sink_run, NULL) != 0)
        die("sink");
    pthread_detach(thread);
    return ntohs(address.sin_port);
}

uint64_t sink_wait(uint64_t after_ns)
{
    for (int tries = 0; tries < 20000; tries++) {
        uint64_t seen = atomic_load(&sink_seen_ns);
        if (seen > after_ns)
            return seen;
        usleep(100);
    }
    return 0;
}
