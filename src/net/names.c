/* names.c — see names.h. */
#include "names.h"

#include "sma/text.h"

#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

struct net_name_lookup /* of the loop's side */
{
    uv_poll_t poll;
    int fd;
    struct net_name_lookup *next;
    struct net_names *names;
    struct net_name_wait *waits;
    char host[NET_HOST_BYTES], port[NET_PORT_BYTES];
};
struct question /* of the thread's side */
{
    int fd;
    char host[NET_HOST_BYTES], port[NET_PORT_BYTES];
};

/* -- the thread ------------------------------------------------------------------------------- */
/* A network that swallows one family costs less when the other comes second. */
static void alternate(struct net_addresses *addresses)
{
    for (size_t i = 2; i < addresses->count; i++)
        if (addresses->list[1].ss_family == addresses->list[0].ss_family &&
            addresses->list[i].ss_family != addresses->list[0].ss_family) {
            struct sockaddr_storage other = addresses->list[i];
            memmove(&addresses->list[2], &addresses->list[1], (i - 1) * sizeof other);
            addresses->list[1] = other;
        }
}

static void *look_up(void *argument)
{
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct question *question = argument;
    struct net_addresses answer = {0};
    struct addrinfo *list = NULL;
    answer.status = getaddrinfo(question->host, question->port, &hints, &list);
    if (answer.status != 0)
        list = NULL;
    for (struct addrinfo *at = list; at != NULL && answer.count < NET_ADDRESS_COUNT_MAX;
         at = at->ai_next)
        if (at->ai_addrlen <= sizeof answer.list[0])
            memcpy(&answer.list[answer.count++], at->ai_addr, at->ai_addrlen);
    if (list != NULL)
        freeaddrinfo(list);
    alternate(&answer);
    (void)!send(question->fd, &answer, sizeof answer, MSG_NOSIGNAL); /* refused: nobody listens */
    (void)close(question->fd);
    free(question);
    return NULL;
}

static bool start_thread(struct question *question)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for others */
    int status = pthread_create(&thread, &attributes, look_up, question);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return status == 0;
}

/* -- the loop --------------------------------------------------------------------------------- */
static void on_poll_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void drop(struct net_name_lookup *lookup)
{
    struct net_name_lookup **at = &lookup->names->lookups;
    while (*at != lookup)
        at = &(*at)->next;
    *at = lookup->next;
    lookup->names->count--;
    uv_close((uv_handle_t *)&lookup->poll, on_poll_closed); /* stops it: */
    (void)close(lookup->fd);                                /* now it may be closed */
}

static void on_answer(uv_poll_t *poll, int status, int events)
{
    struct net_name_lookup *lookup = poll->data;
    struct net_addresses answer = {0};
    (void)status;
    (void)events;
    if (recv(lookup->fd, &answer, sizeof answer, MSG_DONTWAIT) != (ssize_t)sizeof answer)
        answer = (struct net_addresses){.status = EAI_MEMORY};
    struct net_names *names = lookup->names;
    names->telling = lookup->waits;
    drop(lookup);
    while (names->telling != NULL) { /* one told may ask again, or make others forget */
        struct net_name_wait *wait = names->telling;
        names->telling = wait->next;
        wait->is_waiting = false;
        wait->done(wait->user, &answer);
    }
}

static struct net_name_lookup *start(struct net_names *names, const char *host, const char *port)
{
    int pair[2];
    struct net_name_lookup *lookup = calloc(1, sizeof *lookup);
    struct question *question = calloc(1, sizeof *question);
    if (lookup == NULL || question == NULL ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        goto fail;
    lookup->fd = pair[0];
    question->fd = pair[1];
    (void)snprintf(lookup->host, sizeof lookup->host, "%s", host);
    (void)snprintf(lookup->port, sizeof lookup->port, "%s", port);
    memcpy(question->host, lookup->host, sizeof question->host);
    memcpy(question->port, lookup->port, sizeof question->port);
    lookup->names = names;
    lookup->poll.data = lookup;
    if (uv_poll_init(names->loop, &lookup->poll, lookup->fd) != 0)
        goto fail_fds;
    lookup->next = names->lookups;
    names->lookups = lookup;
    names->count++;
    SMA_ASSERT(uv_poll_start(&lookup->poll, UV_READABLE, on_answer) == 0);
    if (start_thread(question))
        return lookup;
    drop(lookup);
    (void)close(pair[1]);
    free(question);
    return NULL;
fail_fds:
    (void)close(pair[0]);
    (void)close(pair[1]);
fail:
    free(lookup);
    free(question);
    return NULL;
}

enum sma_err net_names_ask(struct net_names *names, const char *host, const char *port,
                           struct net_name_wait *wait)
{
    struct net_name_lookup *lookup = names->lookups;
    while (lookup != NULL && (strcmp(lookup->host, host) != 0 || strcmp(lookup->port, port) != 0))
        lookup = lookup->next;
    if (lookup == NULL && names->count >= NET_NAMES_COUNT_MAX)
        return SMA_ERR_FULL;
    if (lookup == NULL)
        lookup = start(names, host, port);
    if (lookup == NULL)
        return SMA_ERR_NOMEM;
    wait->is_waiting = true;
    wait->next = lookup->waits;
    lookup->waits = wait;
    return SMA_ERR_OK;
}

static bool unlink_wait(struct net_name_wait **at, struct net_name_wait *wait)
{
    while (*at != NULL && *at != wait)
        at = &(*at)->next;
    if (*at == NULL)
        return false;
    *at = wait->next;
    return true;
}

void net_names_forget(struct net_names *names, struct net_name_wait *wait)
{
    if (!wait->is_waiting)
        return;
    wait->is_waiting = false;
    bool is_found = unlink_wait(&names->telling, wait);
    for (struct net_name_lookup *at = names->lookups; at != NULL && !is_found; at = at->next)
        is_found = unlink_wait(&at->waits, wait);
}

bool net_names_literal(const char *host, const char *port, struct net_addresses *ret_addresses)
{
    int64_t number = 0;
    struct net_addresses answer = {.count = 1};
    if (sma_parse_i64(sma_str(port), 1, 65535, &number) != SMA_ERR_OK)
        return false;
    if (uv_ip4_addr(host, (int)number, (struct sockaddr_in *)&answer.list[0]) != 0 &&
        uv_ip6_addr(host, (int)number, (struct sockaddr_in6 *)&answer.list[0]) != 0)
        return false;
    *ret_addresses = answer;
    return true;
}

static void forget_all(struct net_name_wait **list)
{
    for (; *list != NULL; *list = (*list)->next)
        (*list)->is_waiting = false;
}

void net_names_close(struct net_names *names)
{
    forget_all(&names->telling);
    while (names->lookups != NULL) {
        forget_all(&names->lookups->waits);
        drop(names->lookups);
    }
}
