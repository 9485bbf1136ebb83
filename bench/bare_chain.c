/*
 * bare_chain.c — the reference of bench_ingress for latency: four threads and nothing else.
 *   reader: HTTP request from a socket, jansson parse -> writer: look up a set, append a line ->
 *   dispatcher -> brain: write the fragments of a 50-message request to the sink.
 * SPSC rings, futex parking, no durability, no checks. Usage: bare_chain SINK_PORT; prints its
 * port.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define RING_COUNT 1024
#define SET_COUNT (1u << 20)
#define FRAGMENT_COUNT 50
#define FRAGMENT_BYTES 1000

struct message
{
    char id[64];
    size_t len;
    char text[2048];
};
struct ring
{
    struct message *slots[RING_COUNT];
    _Alignas(64) atomic_uint head;
    _Alignas(64) atomic_uint tail; /* also the futex word */
    atomic_bool is_parked;
};
static struct ring to_writer, to_dispatcher, to_brain;
static uint64_t *set;
static int sink, line_fd;

static void push(struct ring *ring, struct message *message)
{
    unsigned tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    while (tail - atomic_load_explicit(&ring->head, memory_order_acquire) == RING_COUNT)
        sched_yield();
    ring->slots[tail % RING_COUNT] = message;
    atomic_store(&ring->tail, tail + 1);
    if (atomic_exchange(&ring->is_parked, false))
        syscall(SYS_futex, &ring->tail, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static struct message *take(struct ring *ring)
{
    unsigned head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    for (;;) {
        unsigned tail = atomic_load(&ring->tail);
        if (tail != head)
            break;
        atomic_store(&ring->is_parked, true);
        if (atomic_load(&ring->tail) == head)
            syscall(SYS_futex, &ring->tail, FUTEX_WAIT_PRIVATE, head, NULL, NULL, 0);
    }
    struct message *message = ring->slots[head % RING_COUNT];
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return message;
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 1469598103934665603u;
    while (*text != '\0')
        hash = (hash ^ (unsigned char)*text++) * 1099511628211u;
    return hash | 1;
}

static void *write_lines(void *unused)
{
    (void)unused;
    for (;;) {
        struct message *message = take(&to_writer);
        uint64_t hash = hash_of(message->id);
        size_t at = hash % SET_COUNT;
        while (set[at] != 0 && set[at] != hash)
            at = (at + 1) % SET_COUNT;
        set[at] = hash;
        char line[2300];
        int len = snprintf(line, sizeof line,
                           "{\"v\":1,\"messageId\":\"%s\",\"role\":\"user\",\"text\":\"%s\"}\n",
                           message->id, message->text);
        if (write(line_fd, line, (size_t)len) != len)
            exit(1);
        push(&to_dispatcher, message);
    }
    return NULL;
}

static void *dispatch(void *unused)
{
    (void)unused;
    for (;;)
        push(&to_brain, take(&to_dispatcher));
    return NULL;
}

static void *think(void *unused)
{
    (void)unused;
    static char fragment[FRAGMENT_BYTES], discard[65536];
    memset(fragment, 'x', sizeof fragment);
    for (;;) {
        struct message *message = take(&to_brain);
        char head[200];
        size_t body = FRAGMENT_COUNT * FRAGMENT_BYTES + message->len;
        int len = snprintf(head, sizeof head,
                           "POST /v1/chat/completions HTTP/1.1\r\nHost: sink\r\n"
                           "Content-Length: %zu\r\n\r\n",
                           body);
        struct iovec parts[FRAGMENT_COUNT + 2] = {{head, (size_t)len}};
        for (int i = 0; i < FRAGMENT_COUNT; i++)
            parts[1 + i] = (struct iovec){fragment, sizeof fragment};
        parts[FRAGMENT_COUNT + 1] = (struct iovec){message->text, message->len};
        if (writev(sink, parts, FRAGMENT_COUNT + 2) != (ssize_t)(body + (size_t)len))
            exit(1);
        free(message);
        while (recv(sink, discard, sizeof discard, MSG_DONTWAIT) > 0) {
        }
    }
    return NULL;
}

static void on_request(const char *body, size_t len)
{
    json_t *root = json_loadb(body, len, 0, NULL);
    const char *text = json_string_value(json_object_get(root, "instructions"));
    const char *id = json_string_value(json_object_get(root, "messageId"));
    struct message *message = calloc(1, sizeof *message);
    if (text == NULL || id == NULL || message == NULL)
        exit(1);
    snprintf(message->id, sizeof message->id, "%s", id);
    message->len = (size_t)snprintf(message->text, sizeof message->text, "%s", text);
    json_decref(root);
    push(&to_writer, message);
}

static void serve(int fd)
{
    static char bytes[65536];
    static const char answer[] = "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}";
    size_t len = 0;
    for (;;) {
        ssize_t got = recv(fd, bytes + len, sizeof bytes - 1 - len, 0);
        if (got <= 0)
            return;
        len += (size_t)got;
        bytes[len] = '\0';
        const char *end = strstr(bytes, "\r\n\r\n"), *length = strcasestr(bytes, "Content-Length:");
        if (end == NULL || length == NULL)
            continue;
        size_t body = strtoul(length + 15, NULL, 10);
        if (len < (size_t)(end + 4 - bytes) + body)
            continue;
        on_request(end + 4, body);
        if (send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL) < 0)
            return;
        len = 0; /* the load driver never pipelines */
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    char path[] = "/tmp/sma-chain-XXXXXX";
    set = calloc(SET_COUNT, sizeof *set);
    line_fd = mkstemp(path);
    if (argc != 2 || set == NULL || line_fd < 0 || unlink(path) != 0 ||
        bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 16) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &bytes) != 0)
        return 1;
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    sink = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10));
    if (connect(sink, (struct sockaddr *)&address, sizeof address) != 0)
        return 1;
    setsockopt(sink, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, write_lines, NULL);
    pthread_create(&threads[1], NULL, dispatch, NULL);
    pthread_create(&threads[2], NULL, think, NULL);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            return 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        serve(fd);
        close(fd);
    }
}
