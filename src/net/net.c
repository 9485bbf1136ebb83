/*
 * net.c — libcurl on an actor's libuv loop: one multi handle, its sockets in one epoll set that the
 * loop watches, its one time and the limits on silence as one uv_timer.
 *
 * A set of our own, because a request needs its socket watched and forgotten once each: that is two
 * system calls; a uv_poll for each would be seven and an allocation.
 *
 * libcurl's callbacks only take notes; what follows from them (pass, ended, done) happens after
 * libcurl has returned, because transfers may not be added or removed inside its callbacks. A time
 * of 0 runs in the same turn of the loop: the loop polls without sleeping, then comes the timer. An
 * idle connection has no watch and no time: nothing wakes up.
 */
#include "net_priv.h"

#include "sma/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* The thread sanitizer takes descriptor numbers for variables. libcurl opens and closes its sockets
 * out of its sight, so a number that another thread had a moment ago looks shared here. */
#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
#define IGNORE_NUMBERS_BEGIN() AnnotateIgnoreReadsBegin(__FILE__, __LINE__)
#define IGNORE_NUMBERS_END() AnnotateIgnoreReadsEnd(__FILE__, __LINE__)
#else
#define IGNORE_NUMBERS_BEGIN() ((void)0)
#define IGNORE_NUMBERS_END() ((void)0)
#endif

#define NET_READY_COUNT_MAX 64 /* sockets served in one turn of the loop */
/* libuv before 1.45 runs a timer that is due again in the same turn, as long as it is: while more
 * comes than is read, libcurl says "now" each time, and nothing else would ever have its turn. */
#define TURN_FIRED_COUNT_MAX 2
#define NET_MAGIC 0x6e657400u
#define MS 1000000u

/* -- time ------------------------------------------------------------------------------------- */
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
        wait_ms = (due_ns - now_ns + MS - 1) / MS +
                  1; /* libuv cuts the present to whole ms: never early */
    } else if (net->turn_fired_count >= TURN_FIRED_COUNT_MAX) {
        wait_ms = 1;
    }
    SMA_ASSERT(uv_timer_start(&net->timer, on_due, sma_clock_wait_ms(wait_ms), 0) == 0);
}

/* -- entering libcurl, and what follows ------------------------------------------------------- */
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
    uint64_t now_ns = sma_ctx_now(net->ctx), turn_ms = uv_now(sma_ctx_loop(net->ctx));
    net->turn_fired_count = turn_ms == net->turn_ms ? net->turn_fired_count + 1 : 0;
    net->turn_ms = turn_ms;
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

/* -- sockets ---------------------------------------------------------------------------------- */
static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct sma_net *net = poll->data;
    struct epoll_event ready[NET_READY_COUNT_MAX];
    (void)status;
    (void)events;
    net->turn_fired_count = 0;
    int count = epoll_wait(net->sockets_fd, ready, NET_READY_COUNT_MAX, 0);
    for (int i = 0; i < count;
         i++) { /* more than fit are still ready in the next turn of the loop */
        uint32_t bits = ready[i].events;
        /* An error is found where it is read or written: what had come before it can be read
         * first. */
        int mask = bits & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_IN | CURL_CSELECT_OUT : 0;
        mask |= bits & EPOLLIN ? CURL_CSELECT_IN : 0;
        mask |= bits & EPOLLOUT ? CURL_CSELECT_OUT : 0;
        act(net, ready[i].data.fd, mask); /* libcurl ignores a socket it has closed meanwhile */
    }
}

/* Room in is_watched for this descriptor. */
static SMA_CHECKED bool make_room(struct sma_net *net, size_t fd)
{
    if (fd < net->watched_size)
        return true;
    size_t size = (fd + 64) * 2;
    bool *grown = realloc(net->is_watched, size * sizeof *grown);
    if (grown == NULL)
        return false;
    memset(grown + net->watched_size, 0, (size - net->watched_size) * sizeof *grown);
    net->is_watched = grown;
    net->watched_size = size;
    return true;
}

static bool is_watched(const struct sma_net *net, curl_socket_t fd)
{
    return fd >= 0 && (size_t)fd < net->watched_size && net->is_watched[fd];
}

static int change_set(struct sma_net *net, int operation, curl_socket_t fd,
                      struct epoll_event *event)
{
    IGNORE_NUMBERS_BEGIN();
    int result = epoll_ctl(net->sockets_fd, operation, fd, event);
    IGNORE_NUMBERS_END();
    return result;
}

static void unwatch(struct sma_net *net, curl_socket_t fd)
{
    if (!is_watched(net, fd))
        return;
    net->is_watched[fd] = false;
    (void)change_set(net, EPOLL_CTL_DEL, fd, NULL); /* it is there: cannot fail */
}

/* libcurl may tell of a removal only after it has closed the socket, when the number is somebody
 * else's already. So the socket is taken out of the set here, while it is still ours. */
static int on_close_socket(void *user, curl_socket_t fd)
{
    unwatch(user, fd);
    return close(fd);
}

/* libcurl's own sockets would be inherited by every program that is started. */
static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)user;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *is_known)
{
    struct sma_net *net = user;
    (void)easy;
    (void)is_known;
    if (what == CURL_POLL_REMOVE) {
        unwatch(net, fd);
        return 0;
    }
    if (!make_room(net, (size_t)fd))
        return -1;
    struct epoll_event event = {.data.fd = fd};
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    int operation = net->is_watched[fd] ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (change_set(net, operation, fd, &event) != 0)
        return -1;
    net->is_watched[fd] = true;
    return 0;
}

/* -- libcurl's time --------------------------------------------------------------------------- */
static int on_timer(CURLM *multi, long timeout_ms, void *user)
{
    struct sma_net *net = user;
    (void)multi;
    net->curl_due_ns =
        timeout_ms < 0 ? UINT64_MAX
                       : sma_ctx_now(net->ctx) + sma_clock_of_machine((uint64_t)timeout_ms * MS);
    net_arm(net);
    return 0;
}

/* -- drives ----------------------------------------------------------------------------------- */
enum sma_err net_drive_start(struct sma_net *net, struct net_drive *drive)
{
    SMA_ASSERT(!net->is_inside);
    curl_easy_setopt(drive->easy, CURLOPT_PRIVATE, drive);
    curl_easy_setopt(drive->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(drive->easy, CURLOPT_CLOSESOCKETFUNCTION, on_close_socket);
    curl_easy_setopt(drive->easy, CURLOPT_CLOSESOCKETDATA, net);
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

enum sma_err sma_net_add(struct sma_net *net, CURL_handle *easy,
                         void (*ended)(void *user, int code), void *user)
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

/* -- life ------------------------------------------------------------------------------------- */
static void free_net(struct sma_net *net)
{
    if (net->multi != NULL)
        curl_multi_cleanup(net->multi);
    if (net->sockets_fd >= 0)
        (void)close(net->sockets_fd);
    free(net->ca_file);
    explicit_bzero(&net->proxy, sizeof net->proxy);
    free(net->is_watched);
    net->magic = 0;
    free(net);
}

static void set_multi(struct sma_net *net)
{
    curl_multi_setopt(net->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(net->multi, CURLMOPT_SOCKETDATA, net);
    curl_multi_setopt(net->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(net->multi, CURLMOPT_TIMERDATA, net);
    curl_multi_setopt(net->multi, CURLMOPT_MAXCONNECTS, (long)NET_CONNECTION_COUNT_MAX);
}

enum sma_err sma_net_open(struct sma_ctx *ctx, struct sma_net **ret_net, struct sma_error *error)
{
    struct uv_loop_s *loop = sma_ctx_loop(ctx);
    if (loop == NULL)
        return sma_fail(error, SMA_ERR_IO, "HTTP out needs an actor on an event loop");
    struct sma_net *net = calloc(1, sizeof *net);
    if (net == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for HTTP out");
    net->sockets_fd = epoll_create1(EPOLL_CLOEXEC);
    int problem = net->sockets_fd < 0 ? errno : 0;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        net->multi = curl_multi_init();
    if (problem != 0 || net->multi == NULL ||
        uv_poll_init(loop, &net->sockets, net->sockets_fd) != 0) {
        free_net(net);
        return sma_fail(error, SMA_ERR_IO, "HTTP out cannot be set up: %s",
                        problem != 0 ? strerror(problem) : "libcurl or the event loop refuses");
    }
    const char *ca_file = getenv("SSL_CERT_FILE"); /* libcurl, as a library, does not read it */
    if (ca_file != NULL && ca_file[0] != '\0' && sma_net_trust(net, ca_file) != SMA_ERR_OK) {
        free_net(net);
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for HTTP out");
    }
    net->magic = NET_MAGIC;
    net->ctx = ctx;
    net->curl_due_ns = net->quiet_due_ns = net->armed_ns = UINT64_MAX;
    net->open.next = net->open.previous = &net->open;
    (void)uv_timer_init(loop, &net->timer); /* cannot fail */
    net->timer.data = net->sockets.data = net;
    SMA_ASSERT(uv_poll_start(&net->sockets, UV_READABLE, on_ready) == 0);
    set_multi(net);
    *ret_net = net;
    return SMA_ERR_OK;
}

static void on_closed(uv_handle_t *handle)
{
    struct sma_net *net = handle->data;
    if (--net->handle_count == 0)
        free_net(net);
}

void sma_net_close(struct sma_net *net)
{
    if (net == NULL)
        return;
    SMA_ASSERT(net->magic == NET_MAGIC);
    SMA_ASSERT(!net->is_inside && net->telling == 0);
    net_requests_drop_all(net);
    while (net->spare_drives != NULL) {
        struct net_drive *drive = net->spare_drives;
        net->spare_drives = drive->next;
        free(drive->user);
    }
    curl_multi_cleanup(
        net->multi); /* while its callbacks still have a timer and a set to speak to */
    net->multi = NULL;
    net->handle_count = 2;
    uv_close((uv_handle_t *)&net->timer, on_closed);
    uv_close((uv_handle_t *)&net->sockets, on_closed);
}

enum sma_err sma_net_trust(struct sma_net *net, const char *ca_file)
{
    char *copy = strdup(ca_file);
    SMA_ASSERT(net->open_count == 0 && net->pool == NULL); /* they would not know of it */
    if (copy == NULL)
        return SMA_ERR_NOMEM;
    free(net->ca_file);
    net->ca_file = copy;
    return SMA_ERR_OK;
}

void sma_net_use_proxy(struct sma_net *net, const struct sma_proxy *proxy)
{
    SMA_ASSERT(net->open_count == 0 && net->pool == NULL);
    net->proxy = *proxy;
}

/* The directory is searched when a certificate is needed. libcurl's default is a file beside it,
 * the whole bundle: 25 ms and a megabyte for each actor. */
enum sma_err sma_net_set_trust(const struct sma_net *net, CURL_handle *easy)
{
    const char *dir = getenv("SSL_CERT_DIR");
    if (dir == NULL || dir[0] == '\0')
        dir = curl_version_info(CURLVERSION_NOW)->capath;
    bool is_set = dir == NULL || (curl_easy_setopt(easy, CURLOPT_CAPATH, dir) == CURLE_OK &&
                                  curl_easy_setopt(easy, CURLOPT_PROXY_CAPATH, dir) == CURLE_OK);
    if (dir != NULL || net->ca_file != NULL)
        is_set = is_set && curl_easy_setopt(easy, CURLOPT_CAINFO, net->ca_file) == CURLE_OK &&
                 curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO, net->ca_file) == CURLE_OK;
    return is_set ? SMA_ERR_OK : SMA_ERR_NOMEM;
}
