/* dial.c — see dial.h. */
#include "dial.h"

#include "proxy_talk.h"
#include "sma/clock.h"

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
    struct attempt *talking; /* to the proxy, which has answered; NULL = not yet */
    struct proxy_talk talk;
    struct sma_proxy proxy;
    char host[NET_HOST_BYTES], port[NET_PORT_BYTES]; /* where to in the end */
    char target[2 * NET_HOST_BYTES + 64];            /* the same for people, with the proxy */
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
    struct net_dial *dial = handle->data;
    explicit_bzero(&dial->proxy, sizeof dial->proxy); /* it may hold a password */
    explicit_bzero(&dial->talk, sizeof dial->talk);
    free(dial);
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
                       dial->target, waited_ms);
    else
        (void)snprintf(text, size, "cannot connect to %s: %s within %u ms", dial->target,
                       dial->talking == NULL ? "no answer" : "no answer of the proxy", waited_ms);
}

/* -- addresses -------------------------------------------------------------------------------- */
static void note_failure(struct net_dial *dial, int problem)
{
    set_error(dial, "cannot connect to %s: %s", dial->target, uv_strerror(-problem));
}

/* -- the proxy -------------------------------------------------------------------------------- */
static void end_talk(struct net_dial *dial, bool is_through)
{
    int fd = release(dial, dial->talking);
    if (!is_through) {
        (void)close(fd);
        fd = -1;
        set_error(dial, "cannot connect to %s: %s", dial->target, dial->talk.error);
    }
    finish(dial, fd);
}

static void fail_talk(struct net_dial *dial, const char *why)
{
    (void)snprintf(dial->talk.error, sizeof dial->talk.error, "%s", why);
    end_talk(dial, false);
}

/* @return SMA_ERR_EMPTY: nothing more can be done now */
static enum sma_err read_talk(struct net_dial *dial)
{
    struct proxy_talk *talk = &dial->talk;
    ssize_t got =
        recv(dial->talking->fd, talk->in + talk->in_len, sizeof talk->in - talk->in_len, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return SMA_ERR_EMPTY;
    if (got <= 0) {
        (void)snprintf(talk->error, sizeof talk->error, "the proxy %s",
                       got == 0 ? "closed the connection" : strerror(errno));
        return SMA_ERR_IO;
    }
    talk->in_len += (size_t)got;
    return proxy_talk_read(talk);
}

static bool send_talk(struct net_dial *dial)
{
    struct proxy_talk *talk = &dial->talk;
    ssize_t sent = send(dial->talking->fd, talk->out + talk->out_at, talk->out_len - talk->out_at,
                        MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        return false;
    talk->out_at += sent > 0 ? (size_t)sent : 0;
    if (talk->out_at == talk->out_len)
        talk->out_at = talk->out_len = 0;
    return true;
}

static void watch_talk(struct net_dial *dial);

static void on_talk(uv_poll_t *poll, int status, int events)
{
    struct net_dial *dial = poll->data;
    enum sma_err err = SMA_ERR_EMPTY;
    if (status < 0 || (events & UV_READABLE) != 0)
        err = read_talk(dial);
    if (err != SMA_ERR_EMPTY) {
        end_talk(dial, err == SMA_ERR_OK);
        return;
    }
    if (dial->talk.out_len > 0 && !send_talk(dial))
        fail_talk(dial, "the proxy closed the connection");
    else
        watch_talk(dial);
}

static void watch_talk(struct net_dial *dial)
{
    int events = UV_READABLE | (dial->talk.out_len > 0 ? UV_WRITABLE : 0);
    SMA_ASSERT(uv_poll_start(&dial->talking->poll, events, on_talk) == 0);
}

/* This address it is: the others are given up. */
static void begin_talk(struct net_dial *dial, struct attempt *attempt)
{
    (void)uv_timer_stop(&dial->timer);
    while (dial->attempt_count > 1)
        (void)close(release(dial, dial->attempts[dial->attempts[0] == attempt ? 1 : 0]));
    dial->talking = attempt;
    if (proxy_talk_begin(&dial->talk, &dial->proxy, dial->host, dial->port) != SMA_ERR_OK)
        end_talk(dial, false);
    else
        watch_talk(dial);
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
    if (problem == 0 && dial->proxy.kind != SMA_PROXY_NONE) {
        begin_talk(dial, attempt);
        return;
    }
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
            (void)uv_timer_start(&dial->timer, on_timer, sma_clock_wait_ms(STAGGER_MS), 0);
            return;
        }
        note_failure(dial, problem);
    }
    (void)uv_timer_stop(&dial->timer);
    if (dial->attempt_count == 0)
        finish(dial, -1);
}

/* -- the beginning ---------------------------------------------------------------------------- */
static const char *first_host(const struct net_dial *dial)
{
    return dial->proxy.kind == SMA_PROXY_NONE ? dial->host : dial->proxy.host;
}

static void on_addresses(void *user, const struct net_addresses *addresses)
{
    struct net_dial *dial = user;
    dial->addresses = *addresses;
    set_error(dial, "cannot find the address of %s: %s", first_host(dial),
              addresses->status == 0 ? "it has none" : gai_strerror(addresses->status));
    try_next(dial);
}

static void on_begin(uv_timer_t *timer)
{
    struct net_dial *dial = timer->data;
    const char *host = first_host(dial);
    const char *port = dial->proxy.kind == SMA_PROXY_NONE ? dial->port : dial->proxy.port;
    if (net_names_literal(host, port, &dial->addresses)) {
        try_next(dial);
        return;
    }
    enum sma_err err = net_names_ask(dial->ask.names, host, port, &dial->wait);
    if (err == SMA_ERR_OK)
        return;
    set_error(dial, "cannot find the address of %s: %s", host,
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
    dial->proxy = *ask->proxy;
    bool is_straight = dial->proxy.kind == SMA_PROXY_NONE;
    (void)snprintf(dial->target, sizeof dial->target, "%s%s%s", dial->host,
                   is_straight ? "" : " through proxy ", dial->proxy.name);
    (void)uv_timer_init(ask->names->loop, &dial->timer); /* cannot fail */
    dial->timer.data = dial;
    (void)uv_timer_start(&dial->timer, on_begin, 0, 0);
    return dial;
}
