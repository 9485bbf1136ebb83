/*
 * bare_footprint.c — the reference of bench_footprint: initialise the libraries the program uses,
 * start as many threads as it has actors, listen, open a database, say READY=1, sleep.
 */
#include <curl/curl.h>
#include <jansson.h>
#include <netinet/in.h>
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

static void on_connection(uv_stream_t *listener, int status)
{
    (void)listener;
    (void)status;
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
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    uv_tcp_t listener;
    uv_tcp_init(&loop, &listener);
    uv_tcp_bind(&listener, (const struct sockaddr *)&address, 0);
    uv_listen((uv_stream_t *)&listener, 64, on_connection);
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
    if (multi == NULL || db == NULL)
        return 1;
    uv_run(&loop, UV_RUN_DEFAULT);
    return 0;
}
