/*
 * net.c — libcurl on an actor's libuv loop: one multi handle, its sockets as uv_poll handles, its one time and the
 * limits on silence as one uv_timer.
 *
 * libcurl's callbacks only take notes; what follows from them (pass, ended, done) happens after libcurl has returned,
 * because transfers may not be added or removed inside its callbacks. A time of 0 runs in the same turn of the loop:
 * the loop polls without sleeping, then comes the timer. An idle connection has no watch and no time: nothing wakes up.
 */
#include "net_priv.h"

#include <stdlib.h>

#define NET_MAGIC 0x6e657400u
#define MS 1000000u

/* -- time ------------------------------------------------------------------------------------------------------- */
static void on_due(uv_timer_t *timer);

void net_arm(struct sma_net *net)
{
    uint64_t due_ns = net->failed_count > 0 ? 0 : net->curl_due_ns;
    if (net->quiet_due_ns < due_ns)
        due_ns = net->quiet_due_ns;
    if (due_ns == net->armed_ns)
        return;
    net->armed_ns = due_ns;
    if (due_ns == UINT64_MAX) {
        (void)uv_timer_stop(&net->timer); /* cannot fail on an initialised timer */
        return;
    }
    uint64_t now_ns = sma_ctx_now(net->ctx), wait_ms = 0;
    if (due_ns > now_ns) {
        uv_update_time(sma_ctx_loop(net->ctx));
        wait_ms = (due_ns - now_ns + MS - 1) / MS + 1; /* libuv cuts the present to whole ms: never early */
    }
    SMA_ASSERT(uv_timer_start(&net->timer, on_due, wait_ms, 0) == 0);
}

/* -- entering libcurl, and what follows ------------------------------------------------------------------------- */
static void end_drive(struct sma_net *net, struct net_drive *drive, CURLcode code)
{
    void (*ended)(void *user, int code) = drive->ended;
    void *user = drive->user;
    net_drive_stop(net, drive); /* finished: the connection stays for the next one */
    ended(user, (int)code);
}

static void act(struct sma_net *net, curl_socket_t fd, int events)
{
    int running_count = 0, left_count = 0;
    SMA_ASSERT(!net->is_inside);
    net->is_inside = true;
    CURLMcode code = curl_multi_socket_action(net->multi, fd, events, &running_count);
    net->is_inside = false;
    if (code != CURLM_OK && code != CURLM_BAD_SOCKET)
        sma_ctx_log(net->ctx, SMA_LOG_ERROR, "libcurl: %s", curl_multi_strerror(code));
    net->telling++;
    if (net->pass != NULL)
        net->pass(net->pass_user);
    for (CURLMsg *msg; (msg = curl_multi_info_read(net->multi, &left_count)) != NULL;) {
        if (msg->msg != CURLMSG_DONE)
            continue;
        CURLcode result = msg->data.result;
        struct net_drive *drive = NULL;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &drive);
        end_drive(net, drive, result);
    }
    net->telling--;
    net_arm(net);
}

static void on_due(uv_timer_t *timer)
{
    struct sma_net *net = timer->data;
    uint64_t now_ns = sma_ctx_now(net->ctx);
    net->armed_ns = UINT64_MAX;
    if (now_ns >= net->curl_due_ns) {
        net->curl_due_ns = UINT64_MAX;
        act(net, CURL_SOCKET_TIMEOUT, 0);
    }
    if (now_ns >= net->quiet_due_ns || net->failed_count > 0) {
        net->telling++;
        net_requests_tick(net, now_ns);
        net->telling--;
    }
    net_arm(net);
}

/* -- libcurl's callbacks ---------------------------------------------------------------------------------------- */
static void on_socket_event(uv_poll_t *poll, int status, int events)
{
    struct net_socket *socket = poll->data;
    uv_os_fd_t fd = -1;
    (void)uv_fileno((const uv_handle_t *)poll, &fd); /* a watch that reports is not closed */
    int mask = status < 0 ? CURL_CSELECT_ERR : 0;
    mask |= events & UV_READABLE ? CURL_CSELECT_IN : 0;
    mask |= events & UV_WRITABLE ? CURL_CSELECT_OUT : 0;
    act(socket->net, fd, mask);
}

static struct net_socket *get_socket(struct sma_net *net, curl_socket_t fd)
{
    size_t index = (size_t)fd;
    if (index >= net->socket_count) {
        size_t count = index + 64;
        struct net_socket **grown = realloc(net->sockets, count * sizeof(struct net_socket *));
        if (grown == NULL)
            return NULL;
        for (size_t i = net->socket_count; i < count; i++)
            grown[i] = NULL;
        net->sockets = grown;
        net->socket_count = count;
    }
    if (net->sockets[index] != NULL)
        return net->sockets[index];
    struct net_socket *socket = calloc(1, sizeof *socket);
    if (socket == NULL)
        return NULL;
    if (uv_poll_init_socket(sma_ctx_loop(net->ctx), &socket->poll, fd) != 0) {
        free(socket);
        return NULL;
    }
    socket->poll.data = socket;
    socket->net = net;
    net->sockets[index] = socket;
    return socket;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *socket_user)
{
    struct sma_net *net = user;
    (void)easy;
    (void)socket_user;
    if (what == CURL_POLL_REMOVE) {
        if ((size_t)fd < net->socket_count && net->sockets[fd] != NULL)
            (void)uv_poll_stop(&net->sockets[fd]->poll); /* cannot fail */
        return 0;
    }
    struct net_socket *socket = get_socket(net, fd);
    if (socket == NULL)
        return -1;
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&socket->poll, events, on_socket_event) == 0 ? 0 : -1;
}

static int on_timer(CURLM *multi, long timeout_ms, void *user)
{
    struct sma_net *net = user;
    (void)multi;
    net->curl_due_ns =
        timeout_ms < 0 ? UINT64_MAX : sma_ctx_now(net->ctx) + (uint64_t)timeout_ms * MS;
    net_arm(net);
    return 0;
}

/* -- drives ----------------------------------------------------------------------------------------------------- */
enum sma_err net_drive_start(struct sma_net *net, struct net_drive *drive)
{
    SMA_ASSERT(!net->is_inside);
    curl_easy_setopt(drive->easy, CURLOPT_PRIVATE, drive);
    return curl_multi_add_handle(net->multi, drive->easy) == CURLM_OK ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

void net_drive_stop(struct sma_net *net, struct net_drive *drive)
{
    SMA_ASSERT(!net->is_inside);
    CURLMcode code = curl_multi_remove_handle(net->multi, drive->easy);
    SMA_ASSERT(code == CURLM_OK);
    curl_easy_setopt(drive->easy, CURLOPT_PRIVATE, NULL);
    drive->easy = NULL;
}

struct added_drive
{
    struct net_drive drive;
    struct sma_net *net;
    void (*ended)(void *user, int code);
    void *user;
};

static void give_back(struct added_drive *added)
{
    added->drive.next = added->net->spare_drives;
    added->net->spare_drives = &added->drive;
}

static void on_added_ended(void *user, int code)
{
    struct added_drive *added = user;
    void (*ended)(void *user, int code) = added->ended;
    void *ended_user = added->user;
    give_back(added); /* first: ended may add another one */
    ended(ended_user, code);
}

enum sma_err sma_net_add(struct sma_net *net, CURL_handle *easy, void (*ended)(void *user, int code),
                         void *user)
{
    SMA_ASSERT(net->magic == NET_MAGIC);
    struct added_drive *added = (struct added_drive *)net->spare_drives;
    if (added != NULL) {
        net->spare_drives = added->drive.next;
    } else {
        added = calloc(1, sizeof *added);
        if (added == NULL)
            return SMA_ERR_NOMEM;
        added->net = net;
    }
    added->ended = ended;
    added->user = user;
    added->drive = (struct net_drive){.easy = easy, .ended = on_added_ended, .user = added};
    enum sma_err err = net_drive_start(net, &added->drive);
    if (err != SMA_ERR_OK)
        give_back(added);
    return err;
}

void sma_net_remove(struct sma_net *net, CURL_handle *easy)
{
    struct net_drive *drive = NULL;
    SMA_ASSERT(net->magic == NET_MAGIC);
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &drive);
    SMA_ASSERT(drive != NULL);
    net_drive_stop(net, drive);
    give_back(drive->user);
}

void sma_net_on_pass(struct sma_net *net, void (*pass)(void *user), void *user)
{
    net->pass = pass;
    net->pass_user = user;
}

/* -- life ------------------------------------------------------------------------------------------------------- */
enum sma_err sma_net_open(struct sma_ctx *ctx, struct sma_net **ret_net, struct sma_error *error)
{
    if (sma_ctx_loop(ctx) == NULL)
        return sma_fail(error, SMA_ERR_IO, "HTTP out needs an actor on an event loop");
    struct sma_net *net = calloc(1, sizeof *net);
    if (net == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for HTTP out");
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
        (net->multi = curl_multi_init()) == NULL) {
        free(net);
        return sma_fail(error, SMA_ERR_IO, "libcurl cannot be initialised");
    }
    net->magic = NET_MAGIC;
    net->ctx = ctx;
    net->curl_due_ns = net->quiet_due_ns = net->armed_ns = UINT64_MAX;
    net->open.next = net->open.previous = &net->open;
    (void)uv_timer_init(sma_ctx_loop(ctx), &net->timer); /* cannot fail */
    net->timer.data = net;
    curl_multi_setopt(net->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(net->multi, CURLMOPT_SOCKETDATA, net);
    curl_multi_setopt(net->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(net->multi, CURLMOPT_TIMERDATA, net);
    curl_multi_setopt(net->multi, CURLMOPT_MAXCONNECTS, (long)NET_CONNECTION_COUNT_MAX);
    *ret_net = net;
    return SMA_ERR_OK;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle->data);
}

void sma_net_close(struct sma_net *net)
{
    if (net == NULL)
        return;
    SMA_ASSERT(net->magic == NET_MAGIC);
    SMA_ASSERT(!net->is_inside && net->telling == 0);
    net_requests_drop_all(net);
    curl_multi_cleanup(net->multi);
    while (net->spare_drives != NULL) {
        struct net_drive *drive = net->spare_drives;
        net->spare_drives = drive->next;
        free(drive->user);
    }
    for (size_t i = 0; i < net->socket_count; i++)
        if (net->sockets[i] != NULL)
            uv_close((uv_handle_t *)&net->sockets[i]->poll, free_handle);
    free(net->sockets);
    free(net->ca_file);
    net->magic = 0;
    uv_close((uv_handle_t *)&net->timer, free_handle);
}

enum sma_err sma_net_trust(struct sma_net *net, const char *ca_file)
{
    char *copy = strdup(ca_file);
    if (copy == NULL)
        return SMA_ERR_NOMEM;
    free(net->ca_file);
    net->ca_file = copy;
    return SMA_ERR_OK;
}
