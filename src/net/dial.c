/* dial.c — see dial.h. */
#include "dial.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#define STAGGER_MS 250 /* from one address to the next, while none has answered */

struct attempt /* at one address; freed when libuv lets go of its handle */
{
    uv_poll_t poll;
    int fd;
};
struct net_dial
{
    struct net_dial_ask ask;
    uv_timer_t timer; /* the beginning, and then the next address */
    struct net_name_wait wait;
    struct net_addresses addresses;
    size_t next;
    struct attempt *attempts[NET_ADDRESS_COUNT_MAX];
    size_t attempt_count;
    char host[NET_HOST_BYTES], port[NET_PORT_BYTES];
    char error[NET_DIAL_ERROR_BYTES];
};

static void try_next(struct net_dial *dial);

/* -- the end ---------------------------------------------------------------------------------- */
static void on_attempt_closed(uv_handle_t *handle)
{
    struct attempt *attempt = (struct attempt *)handle;
    free(attempt);
}

/* @return its descriptor, which is the caller's now */
static int release(struct net_dial *dial, struct attempt *attempt)
{
    size_t i = 0;
    int fd = attempt->fd;
    while (dial->attempts[i] != attempt)
        i++;
    dial->attempts[i] = dial->attempts[--dial->attempt_count];
    uv_close((uv_handle_t *)&attempt->poll, on_attempt_closed);
    return fd;
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void end(struct net_dial *dial)
{
    net_names_forget(dial->ask.names, &dial->wait);
    while (dial->attempt_count > 0)
        (void)close(release(dial, dial->attempts[0]));
    uv_close((uv_handle_t *)&dial->timer, on_timer_closed);
}

void net_dial_cancel(struct net_dial *dial)
{
    if (dial != NULL)
        end(dial);
}

static void finish(struct net_dial *dial, int fd)
{
    end(dial); /* the memory stays until the loop's next turn */
    dial->ask.done(dial->ask.user, fd, fd < 0 ? dial->error : "");
}

static void set_error(struct net_dial *dial, const char *format, ...) SMA_PRINTF(2, 3);
static void set_error(struct net_dial *dial, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(dial->error, sizeof dial->error, format, arguments);
    va_end(arguments);
}

void net_dial_describe_wait(const struct net_dial *dial, unsigned waited_ms, char *text,
                            size_t size)
{
    if (dial->wait.is_waiting)
        (void)snprintf(text, size,
                       "cannot connect to %s: looking up its address took longer than %u ms",
                       dial->host, waited_ms);
    else
        (void)snprintf(text, size, "cannot connect to %s: no answer within %u ms", dial->host,
                       waited_ms);
}

/* -- addresses -------------------------------------------------------------------------------- */
static void note_failure(struct net_dial *dial, int problem)
{
    set_error(dial, "cannot connect to %s: %s", dial->host, uv_strerror(-problem));
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct attempt *attempt = (struct attempt *)poll;
    struct net_dial *dial = poll->data;
    int problem = 0;
    socklen_t size = sizeof problem;
    (void)events;
    if (getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &problem, &size) == 0 && problem == 0)
        problem = status < 0 ? -status : 0; /* libuv says EBADF for any error */
    int fd = release(dial, attempt);
    if (problem == 0) {
        finish(dial, fd);
        return;
    }
    (void)close(fd);
    note_failure(dial, problem);
    try_next(dial);
}

static int open_socket(int family)
{
    int one = 1, fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

/* @return 0 or an errno */
static int try_address(struct net_dial *dial, const struct sockaddr_storage *address)
{
    socklen_t size =
        address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    struct attempt *attempt = calloc(1, sizeof *attempt);
    if (attempt == NULL)
        return ENOMEM;
    attempt->fd = open_socket(address->ss_family);
    if (attempt->fd >= 0 &&
        (connect(attempt->fd, (const struct sockaddr *)address, size) == 0 ||
         errno == EINPROGRESS) &&
        uv_poll_init(dial->ask.names->loop, &attempt->poll, attempt->fd) == 0) {
        attempt->poll.data = dial;
        SMA_ASSERT(uv_poll_start(&attempt->poll, UV_WRITABLE, on_ready) == 0);
        dial->attempts[dial->attempt_count++] = attempt;
        return 0;
    }
    int problem = errno;
    if (attempt->fd >= 0)
        (void)close(attempt->fd);
    free(attempt);
    return problem;
}

static void on_timer(uv_timer_t *timer)
{
    try_next(timer->data);
}

/* One more address; the last word when there is none and none is under way. */
static void try_next(struct net_dial *dial)
{
    uv_update_time(dial->ask.names->loop); /* libuv counts from when it last looked */
    while (dial->next < dial->addresses.count) {
        int problem = try_address(dial, &dial->addresses.list[dial->next++]);
        if (problem == 0) {
            (void)uv_timer_start(&dial->timer, on_timer, STAGGER_MS, 0);
            return;
        }
        note_failure(dial, problem);
    }
    (void)uv_timer_stop(&dial->timer);
    if (dial->attempt_count == 0)
        finish(dial, -1);
}

/* -- the beginning ---------------------------------------------------------------------------- */
static void on_addresses(void *user, const struct net_addresses *addresses)
{
    struct net_dial *dial = user;
    dial->addresses = *addresses;
    set_error(dial, "cannot find the address of %s: %s", dial->host,
              addresses->status == 0 ? "it has none" : gai_strerror(addresses->status));
    try_next(dial);
}

static void on_begin(uv_timer_t *timer)
{
    struct net_dial *dial = timer->data;
    if (net_names_literal(dial->host, dial->port, &dial->addresses)) {
        try_next(dial);
        return;
    }
    enum sma_err err = net_names_ask(dial->ask.names, dial->host, dial->port, &dial->wait);
    if (err == SMA_ERR_OK)
        return;
    set_error(dial, "cannot find the address of %s: %s", dial->host,
              err == SMA_ERR_FULL ? "too many look-ups wait for the name server already"
                                  : sma_err_text(err));
    finish(dial, -1);
}

struct net_dial *net_dial_start(const struct net_dial_ask *ask)
{
    struct net_dial *dial = calloc(1, sizeof *dial);
    if (dial == NULL)
        return NULL;
    dial->ask = *ask;
    dial->wait.done = on_addresses;
    dial->wait.user = dial;
    (void)snprintf(dial->host, sizeof dial->host, "%s", ask->host);
    (void)snprintf(dial->port, sizeof dial->port, "%s", ask->port);
    (void)uv_timer_init(ask->names->loop, &dial->timer); /* cannot fail */
    dial->timer.data = dial;
    (void)uv_timer_start(&dial->timer, on_begin, 0, 0);
    return dial;
}
