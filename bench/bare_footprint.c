/*
 * bare_footprint.c — the reference of bench_footprint: initialise the libraries the program uses, start as many threads
 * as it has actors, listen, open a database, say READY=1, sleep.
 */
#include <curl/curl.h>
#include <jansson.h>
#include <libwebsockets.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#define THREAD_COUNT 8

static int answer(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                  size_t len)
{
    (void)wsi;
    (void)reason;
    (void)user;
    (void)in;
    (void)len;
    return 0;
}

static void *park(void *user)
{
    (void)user;
    pause();
    return NULL;
}

static void notify(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    if (path == NULL)
        return;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (sendto(fd, "READY=1", 7, 0, (struct sockaddr *)&address, sizeof address) < 0)
        perror("notify");
    close(fd);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURLM *multi = curl_multi_init();
    json_object_seed(0);
    uint8_t digest[32];
    EVP_Digest("x", 1, digest, NULL, EVP_sha256(), NULL);
    uv_loop_t loop, other;
    uv_loop_init(&loop);
    uv_loop_init(&other);
    void *foreign[1] = {&loop};
    static const struct lws_protocols protocols[] = {{"http", answer, 0, 0, 0, NULL, 0},
                                                     {NULL, NULL, 0, 0, 0, NULL, 0}};
    lws_set_log_level(0, NULL);
    struct lws_context_creation_info info = {.port = 0,
                                             .iface = "127.0.0.1",
                                             .protocols = protocols,
                                             .foreign_loops = foreign,
                                             .fd_limit_per_thread = 1024 + 64,
                                             .options = LWS_SERVER_OPTION_LIBUV |
                                                        LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS};
    struct lws_context *context = lws_create_context(&info);
    sqlite3 *db = NULL;
    sqlite3_open(argv[1], &db);
    sqlite3_exec(
        db,
        "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;"
        "CREATE TABLE IF NOT EXISTS t(a INTEGER PRIMARY KEY,b BLOB);INSERT INTO t(b) VALUES(1)",
        NULL, NULL, NULL);
    pthread_t threads[THREAD_COUNT];
    for (int i = 0; i < THREAD_COUNT; i++)
        pthread_create(&threads[i], NULL, park, NULL);
    notify();
    if (context == NULL || multi == NULL || db == NULL)
        return 1;
    uv_run(&loop, UV_RUN_DEFAULT);
    return 0;
}
