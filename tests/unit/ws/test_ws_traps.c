/*
 * Aim: what libwebsockets does wrong for a program of many threads, or silently, does not reach
 * us: a descriptor closed twice, state that is the process's, names not checked, proxies of the
 * environment, look-ups on the loop.
 * Method: close(), dlopen() and getaddrinfo() of this program are the test's; several actors in
 * one process.
 */
#include "harness.h"
#include "names.h"
#include "support/patience.h"

#include "net/ws_priv.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

/* -- the C library's calls, watched ----------------------------------------------------------- */
static atomic_uint bad_close_count;
static atomic_bool has_no_plugins;

static void *real_symbol(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    CHECK(symbol != NULL);
    return symbol;
}

int close(int fd)
{
    static _Atomic(int (*)(int)) real;
    if (real == NULL)
        real = (int (*)(int))(uintptr_t)real_symbol("close");
    int result = real(fd), problem = errno;
    if (result != 0 && problem == EBADF)
        atomic_fetch_add(&bad_close_count, 1);
    errno = problem;
    return result;
}

void *dlopen(const char *file, int flags)
{
    static _Atomic(void *(*)(const char *, int)) real;
    if (real == NULL)
        real = (void *(*)(const char *, int))(uintptr_t)real_symbol("dlopen");
    if (atomic_load(&has_no_plugins) && file != NULL && strstr(file, "evlib") != NULL)
        return NULL;
    return real(file, flags);
}

/* The library forgets a directory entry when a plugin cannot be loaded. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:__scandir64_tail";
}

/* -- descriptors ------------------------------------------------------------------------------ */
#define KEPT 512

static atomic_bool is_filling;

/* Takes every number that becomes free, and looks whether it can keep it. */
static void *fill(void *user)
{
    int fds[KEPT];
    ino_t inode = 0;
    size_t count = 0;
    (void)user;
    while (count < KEPT && (atomic_load(&is_filling) || count < 16)) {
        struct stat status;
        fds[count] = eventfd(0, EFD_CLOEXEC);
        CHECK(fds[count] >= 0 && fstat(fds[count], &status) == 0);
        inode = status.st_ino;
        count++;
        (void)usleep(200);
    }
    while (atomic_load(&is_filling))
        (void)usleep(200);
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        CHECK(fstat(fds[i], &status) == 0 && status.st_ino == inode); /* eventfds share theirs */
        CHECK_INT(0, close(fds[i]));
    }
    return NULL;
}

static void a_descriptor_of_another_thread_survives_the_end(void)
{
    struct ws_server *server = ws_server_start(NULL);
    unsigned before = atomic_load(&bad_close_count);
    for (int round = 0; round < 10; round++) {
        pthread_t thread;
        struct client client = {0};
        struct ws_harness *harness = ws_harness_start(NULL);
        client_connect(harness, &client, ws_server_url(server));
        client_wait_open(&client);
        atomic_store(&is_filling, true);
        CHECK_INT(0, pthread_create(&thread, NULL, fill, NULL));
        ws_harness_stop(harness);
        atomic_store(&is_filling, false);
        CHECK_INT(0, pthread_join(thread, NULL));
    }
    CHECK_INT(before, atomic_load(&bad_close_count));
    ws_server_stop(server);
}

/* -- several actors --------------------------------------------------------------------------- */
struct busy
{
    pthread_t thread;
    struct ws_server *server;
    unsigned rounds;
    bool is_new_each_time;
};

static void *connect_often(void *argument)
{
    struct busy *busy = argument;
    struct ws_harness *harness = NULL;
    for (unsigned i = 0; i < busy->rounds; i++) {
        struct client clients[4] = {0};
        if (harness == NULL)
            harness = ws_harness_start(ws_server_ca_file(busy->server));
        for (size_t k = 0; k < SMA_COUNT_OF(clients); k++)
            client_connect(harness, &clients[k], ws_server_url(busy->server));
        for (size_t k = 0; k < SMA_COUNT_OF(clients); k++)
            client_wait_open(&clients[k]);
        for (size_t k = 0; k < SMA_COUNT_OF(clients); k++) {
            client_end(&clients[k], 1000);
            client_wait_closed(&clients[k]);
        }
        if (busy->is_new_each_time) {
            ws_harness_stop(harness);
            harness = NULL;
        }
    }
    if (harness != NULL)
        ws_harness_stop(harness);
    return NULL;
}

static void actors_do_tls_while_others_come_and_go(void)
{
    struct ws_server *server = ws_server_start(&(struct ws_server_options){.tls = WS_SERVER_TLS});
    struct busy busy[4] = {0};
    for (size_t i = 0; i < SMA_COUNT_OF(busy); i++) {
        busy[i] = (struct busy){.server = server, .rounds = 15, .is_new_each_time = i >= 2};
        CHECK_INT(0, pthread_create(&busy[i].thread, NULL, connect_often, &busy[i]));
    }
    for (size_t i = 0; i < SMA_COUNT_OF(busy); i++)
        CHECK_INT(0, pthread_join(busy[i].thread, NULL));
    ws_server_stop(server);
}

#if LWS_LIBRARY_VERSION_NUMBER >= 4003000
static void check_log(void *user)
{
    struct sma_ws *ws = ws_of(user);
    CHECK(lwsl_context_get_cx(ws->lws) == &ws->log);
    CHECK(lwsl_vhost_get_cx(ws_vhost(ws, false)) == &ws->log);
    CHECK(lwsl_vhost_get_cx(ws_vhost(ws, true)) == &ws->log);
    CHECK(lwsl_vhost_get_cx(ws_page_vhost(ws)) == &ws->log);
}

/* The process-wide one counts its users without a lock, and an assertion on the count ends the
 * program: seldom enough that only this finds it. */
static void each_actor_has_a_log_of_its_own(void)
{
    struct ws_harness *harness = ws_harness_start(NULL);
    ws_on_actor(harness, check_log, harness);
    ws_harness_stop(harness);
}
#endif

/* -- names ------------------------------------------------------------------------------------ */
static void check_ipv6(enum ws_server_tls tls, const char *reason)
{
    struct ws_server *server =
        ws_server_start(&(struct ws_server_options){.tls = tls, .is_ipv6 = true});
    struct ws_harness *harness = ws_harness_start(ws_server_ca_file(server));
    struct client client = {0};
    client_connect(harness, &client, ws_server_url(server));
    if (reason == NULL) {
        client_wait_open(&client);
        client_end(&client, 1000);
    }
    client_wait_closed(&client);
    if (reason != NULL) {
        CHECK_INT(SMA_WS_NOT_CONNECTED, client.closed.end);
        CHECK(strstr(client.reason, reason) != NULL);
        CHECK_INT(0, ws_server_request_count(server));
    }
    ws_harness_stop(harness);
    ws_server_stop(server);
}

static void the_certificate_of_an_ipv6_address_is_checked(void)
{
    check_ipv6(WS_SERVER_TLS_WRONG_NAME, "IP address mismatch");
    check_ipv6(WS_SERVER_TLS, NULL);
}

/* -- the environment -------------------------------------------------------------------------- */
static void a_proxy_of_the_environment_is_not_taken(void)
{
    struct ws_server *server = ws_server_start(NULL);
    struct client client = {0};
    CHECK_INT(0, setenv("http_proxy", "http://127.0.0.1:1/", 1));
    struct ws_harness *harness = ws_harness_start(NULL);
    client_connect(harness, &client, ws_server_url(server));
    client_wait_open(&client);
    CHECK_INT(0, unsetenv("http_proxy"));
    client_end(&client, 1000);
    client_wait_closed(&client);
    ws_harness_stop(harness);
    ws_server_stop(server);
}

static void a_missing_plugin_is_named(void)
{
    struct ws_harness *harness = ws_harness_start(NULL);
    struct sma_error error = {0};
    atomic_store(&has_no_plugins, true);
    CHECK_ERR(SMA_ERR_NOTFOUND, ws_try_open(harness, NULL, &error));
    atomic_store(&has_no_plugins, false);
    CHECK(strstr(error.text, "libwebsockets-evlib-uv") != NULL);
    ws_harness_stop(harness);
}

/* -- look-ups --------------------------------------------------------------------------------- */
static struct
{
    struct ws_harness *harness;
    uv_work_t work;
    atomic_bool is_done;
} pool;

static void do_nothing(uv_work_t *work)
{
    (void)work;
}

static void on_work_done(uv_work_t *work, int status)
{
    (void)work;
    atomic_store(&pool.is_done, status == 0);
}

static void queue_work(void *user)
{
    (void)user;
    CHECK_INT(0, uv_queue_work(sma_ctx_loop(ws_ctx_of(pool.harness)), &pool.work, do_nothing,
                               on_work_done));
}

static void look_up_in_vain(struct ws_harness *harness, const char *url, const char *reason)
{
    struct client client = {0};
    CHECK_OK(client_try(harness, &client, &(struct sma_ws_ask){.url = url, .connect_ms = 50}));
    client_wait_closed(&client);
    CHECK(strstr(client.reason, reason) != NULL);
}

static void a_name_server_that_hangs_costs_a_thread_a_name(void)
{
    char url[64];
    pool.harness = ws_harness_start(NULL);
    for (int i = 0; i < 6; i++)
        look_up_in_vain(pool.harness, "ws://hang.test/",
                        "looking up its address took longer than 50 ms");
    CHECK_INT(1, names_hanging());
    for (int i = 1; i < 8; i++) {
        (void)snprintf(url, sizeof url, "ws://%d.hang.test/", i);
        look_up_in_vain(pool.harness, url, "took longer than 50 ms");
    }
    look_up_in_vain(pool.harness, "ws://9.hang.test/", "too many look-ups");
    CHECK_INT(8, names_hanging());
    ws_on_actor(pool.harness, queue_work, NULL); /* files are read on libuv's four threads */
    for (int i = 0; i < PATIENCE_AWAIT_MS && !atomic_load(&pool.is_done); i++)
        (void)usleep(1000);
    CHECK(atomic_load(&pool.is_done));
    uint64_t before = sma_sys_real()->now_ns(NULL);
    ws_harness_stop(pool.harness); /* none of them holds up the end */
    CHECK(sma_sys_real()->now_ns(NULL) - before < UINT64_C(1000000000) * PATIENCE);
    for (int i = 0; i < 8; i++)
        names_release();
    for (int i = 0; i < 5000 && names_hanging() > 0; i++)
        (void)usleep(1000);
    CHECK_INT(0, names_hanging());
}

int main(void)
{
    RUN(a_descriptor_of_another_thread_survives_the_end);
    RUN(actors_do_tls_while_others_come_and_go);
#if LWS_LIBRARY_VERSION_NUMBER >= 4003000
    RUN(each_actor_has_a_log_of_its_own);
#endif
    RUN(the_certificate_of_an_ipv6_address_is_checked);
    RUN(a_proxy_of_the_environment_is_not_taken);
    RUN(a_missing_plugin_is_named);
    RUN(a_name_server_that_hangs_costs_a_thread_a_name);
    return check_summary();
}
