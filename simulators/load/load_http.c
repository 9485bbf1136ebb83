/*
 * load_http.c — messages to POST /api/execute that wait for their answers, on kept connections and
 * one epoll loop. Nothing here waits for the service but the loop: a message that is due is sent
 * over a connection that is free, or over a new one.
 */
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_BYTES_MAX 16384
#define LINK_COUNT_MAX 900 /* the service takes 1024; some are for /metrics and people */

struct link
{
    int fd; /* -1: none */
    bool is_connecting, is_busy;
    struct link *next; /* free one */
    size_t sample, have;
    char answer[ANSWER_BYTES_MAX];
};
struct http
{
    const struct load_place *place;
    const struct load_plan *plan;
    struct load_run *run;
    struct link *links, *free; /* free: open loop, those without a message; the last used first */
    size_t link_count, next, open; /* next: first sample not sent; open: without outcome */
    int poller;
    bool is_held; /* open loop: behind, since no connection was free */
};

static void drop(struct link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
    link->is_busy = link->is_connecting = false;
}

static void put_free(struct http *http, struct link *link)
{
    if (!http->plan->is_open)
        return; /* each chat has its own */
    link->next = http->free;
    http->free = link;
}

static void finish(struct http *http, struct link *link, enum load_outcome outcome)
{
    struct load_sample *sample = &http->run->samples[link->sample];
    sample->outcome = outcome;
    sample->done_ns = load_now_ns();
    link->is_busy = false;
    http->open--;
    if (outcome == LOAD_BROKEN)
        drop(link);
    put_free(http, link);
}

static bool watch(const struct http *http, struct link *link, uint32_t events, int how)
{
    struct epoll_event event = {.events = events, .data.ptr = link};
    return epoll_ctl(http->poller, how, link->fd, &event) == 0;
}

static bool connect_link(const struct http *http, struct link *link)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)http->place->service.port)};
    int one = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    link->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (link->fd < 0)
        return false;
    setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    link->is_connecting = true;
    if (connect(link->fd, (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS)
        return false;
    return watch(http, link, EPOLLOUT, EPOLL_CTL_ADD);
}

static bool send_message(const struct http *http, struct link *link)
{
    char body[256], request[640];
    size_t number = http->run->first + link->sample;
    int body_len = snprintf(body, sizeof body,
                            "{\"instructions\":\"please repeat " LOAD_TOKEN "%zux\",\"chatId\":"
                            "\"bench%u\",\"userId\":\"bench\",\"messageId\":\"bench%zu\"}",
                            number, http->run->samples[link->sample].chat, number);
    int len = snprintf(request, sizeof request,
                       "POST /api/execute HTTP/1.1\r\nHost: localhost:%d\r\nX-Api-Token: %s\r\n"
                       "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                       http->place->service.port, http->place->token, body_len, body);
    link->have = 0;
    return send(link->fd, request, (size_t)len, MSG_NOSIGNAL) == len;
}

/* A free connection, or room for a new one; NULL: all are busy. */
static struct link *take_free(struct http *http)
{
    struct link *link = http->free;
    if (link != NULL)
        http->free = link->next;
    return link;
}

static bool is_all_sent(const struct http *http)
{
    const struct load_run *run = http->run;
    if (http->plan->is_open)
        return http->next == run->count;
    return load_now_ns() >= run->end_ns || (run->count_max != 0 && run->count == run->count_max);
}

static void send_over(struct http *http, struct link *link)
{
    link->sample = http->next++;
    link->is_busy = true;
    http->open++;
    /* a connection that is not taken for a while waits for the service, as an answer does */
    http->run->samples[link->sample].sent_ns = load_now_ns();
    if (!(link->fd < 0 ? connect_link(http, link) : send_message(http, link)))
        finish(http, link, LOAD_BROKEN);
}

/* @return the status of a whole answer, 0 while it is not whole */
static int whole_status(struct link *link)
{
    link->answer[link->have] = '\0';
    const char *end = strstr(link->answer, "\r\n\r\n");
    const char *length = end == NULL ? NULL : strcasestr(link->answer, "content-length:");
    if (length == NULL ||
        link->have < (size_t)(end + 4 - link->answer) + strtoul(length + 15, NULL, 10))
        return 0;
    return (int)strtol(link->answer + 9, NULL, 10);
}

static void receive(struct http *http, struct link *link)
{
    ssize_t got = recv(link->fd, link->answer + link->have, ANSWER_BYTES_MAX - 1 - link->have, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0 || !link->is_busy) {
        if (link->is_busy)
            finish(http, link, LOAD_BROKEN);
        drop(link); /* it was idle for long, or says what nobody asked */
        return;
    }
    link->have += (size_t)got;
    int status = whole_status(link);
    if (status != 0)
        finish(http, link, status >= 200 && status <= 299 ? LOAD_ANSWERED : LOAD_REFUSED);
    else if (link->have == ANSWER_BYTES_MAX - 1)
        finish(http, link, LOAD_BROKEN);
}

static void serve(struct http *http, struct link *link)
{
    if (link->fd < 0)
        return; /* dropped by an earlier event of the same round */
    if (!link->is_connecting) {
        receive(http, link);
        return;
    }
    link->is_connecting = false;
    if (!watch(http, link, EPOLLIN, EPOLL_CTL_MOD) || !send_message(http, link))
        finish(http, link, LOAD_BROKEN);
}

static void wait_until(struct http *http, uint64_t ns)
{
    struct epoll_event events[64];
    uint64_t now = load_now_ns(), wait = ns > now ? ns - now : 0;
    struct timespec limit = {(time_t)(wait / 1000000000u), (long)(wait % 1000000000u)};
    int ready = epoll_pwait2(http->poller, events, SMA_COUNT_OF(events), &limit, NULL);
    for (int i = 0; i < ready; i++)
        serve(http, events[i].data.ptr);
}

/* Sends what is due. @return when to look again */
static uint64_t send_due(struct http *http)
{
    struct load_run *run = http->run;
    uint64_t later = load_now_ns() + 100000000u;
    while (http->plan->is_open && http->next < run->count) {
        uint64_t due = run->samples[http->next].due_ns;
        if (due > load_now_ns()) {
            http->is_held = false;
            return due;
        }
        struct link *link = take_free(http);
        if (link == NULL) {
            http->is_held = true;
            return later;
        }
        run->samples[http->next].is_held = http->is_held;
        send_over(http, link);
    }
    if (http->plan->is_open)
        return later;
    for (size_t i = 0; i < http->link_count && !is_all_sent(http); i++)
        if (!http->links[i].is_busy) {
            load_run_add(run, load_now_ns(), (unsigned)i);
            send_over(http, &http->links[i]);
        }
    return later;
}

void load_http_run(const struct load_place *place, const struct load_plan *plan,
                   struct load_run *run)
{
    struct http http = {.place = place, .plan = plan, .run = run};
    http.link_count = plan->is_open || plan->chats > LINK_COUNT_MAX ? LINK_COUNT_MAX : plan->chats;
    http.links = calloc(http.link_count, sizeof *http.links);
    http.poller = epoll_create1(EPOLL_CLOEXEC);
    if (http.links == NULL || http.poller < 0)
        abort();
    for (size_t i = 0; i < http.link_count; i++) {
        http.links[i].fd = -1;
        put_free(&http, &http.links[i]);
    }
    for (uint64_t until = run->end_ns + (uint64_t)plan->patience_ms * 1000000u;
         load_now_ns() < until && !load_is_interrupted;) {
        uint64_t next = send_due(&http);
        if (is_all_sent(&http) && http.open == 0)
            break;
        wait_until(&http, next);
    }
    for (size_t i = 0; i < http.link_count; i++)
        drop(&http.links[i]);
    close(http.poller);
    free(http.links);
}
