/*
 * Aim: what is said about a request is true (sent, not sent, unknown), nothing is sent twice,
 * nothing leaks, nothing wakes up for nothing. Method: a server on threads whose paths say how it
 * misbehaves; the actor on its own thread.
 */
#include "world.h"

#include "support/check.h"
#include "support/clock.h"
#include "support/patience.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void wait_requests(struct world *world, size_t count)
{
    for (uint64_t end = now_ms() + PATIENCE_AWAIT_MS; server_requests(world->server) < count;) {
        CHECK(now_ms() < end);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* -- good days --------------------------------------------------------------------------------- */
CASE(posts_json_and_reads_the_answer)
{
    SMA_AUTO(world_close) struct world world;
    char head[4096];
    world_open(&world);
    const struct reply *reply = world_get(&world, "POST", "/echo", "{\"text\":\"hi\"}");
    CHECK_INT(SMA_NET_ANSWERED, reply->end);
    CHECK_INT(200, reply->status);
    CHECK_TEXT("{\"text\":\"hi\"}", reply->body);
    CHECK_INT(13, reply->body_bytes);
    CHECK_INT(-1, reply->retry_after_ms);
    CHECK_TEXT("r1", reply->log_id);
    CHECK_TEXT("", reply->error);
    server_last(world.server, head, sizeof head);
    CHECK(strncmp(head, "POST /echo HTTP/1.1\r\n", 21) == 0);
    CHECK(strstr(head, "Content-Type: application/json\r\n") != NULL);
    CHECK(strstr(head, "User-Agent: shipmyagent/" SMA_VERSION "\r\n") != NULL);
    CHECK(strstr(head, "Expect:") == NULL);
}

CASE(sequential_requests_share_one_connection)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    for (int i = 0; i < 20; i++)
        CHECK_TEXT("{}", world_get(&world, "POST", "/echo", "{}")->body);
    CHECK_INT(1, server_connections(world.server));
    CHECK_INT(20, server_requests(world.server));
}

CASE(every_method_is_what_it_says)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "GET", "DELETE"};
    SMA_AUTO(world_close) struct world world;
    char head[4096], wanted[64];
    world_open(&world);
    for (size_t i = 0; i < SMA_COUNT_OF(methods); i++) {
        bool has_body = strcmp(methods[i], "GET") != 0 && i < 5;
        CHECK_INT(200,
                  world_get(&world, methods[i], "/echo", has_body ? "{\"a\":1}" : NULL)->status);
        server_last(world.server, head, sizeof head);
        snprintf(wanted, sizeof wanted, "%s /echo HTTP/1.1\r\n", methods[i]);
        CHECK(strncmp(head, wanted, strlen(wanted)) == 0);
        CHECK(has_body == (strstr(head, "{\"a\":1}") != NULL));
    }
    CHECK_INT(1, server_connections(world.server));
}

static void start_with_headers(struct world *world, void *user)
{
    static const char *const headers[] = {"Authorization: Bearer t0ken", "Content-Type: text/x",
                                          "X-Own: 1"};
    char url[128];
    struct sma_net_ask ask = world_ask(world, url, "POST", "/echo");
    (void)user;
    ask.headers = headers;
    ask.header_count = SMA_COUNT_OF(headers);
    ask.body = SMA_STR("x");
    CHECK_OK(sma_net_ask(world->net, &ask, NULL));
}

CASE(headers_belong_to_one_request)
{
    SMA_AUTO(world_close) struct world world;
    char head[4096];
    world_open(&world);
    world_run(&world, start_with_headers, NULL);
    CHECK_INT(200, world_wait(&world, 1)->status);
    server_last(world.server, head, sizeof head);
    CHECK(strstr(head, "Authorization: Bearer t0ken\r\n") != NULL);
    CHECK(strstr(head, "Content-Type: text/x\r\n") != NULL);
    CHECK(strstr(head, "X-Own: 1\r\n") != NULL);
    CHECK(strstr(head, "application/json") == NULL);
    CHECK_INT(200, world_get(&world, "POST", "/echo", "x")->status);
    server_last(world.server, head, sizeof head);
    CHECK(strstr(head, "t0ken") == NULL && strstr(head, "X-Own") == NULL);
}

#define PARALLEL_COUNT 200
static void start_many(struct world *world, void *user)
{
    char url[128];
    struct sma_net_ask ask = world_ask(world, url, "POST", "/echo");
    (void)user;
    ask.body = SMA_STR("{\"n\":1}");
    for (int i = 0; i < PARALLEL_COUNT; i++)
        CHECK_OK(sma_net_ask(world->net, &ask, NULL));
    CHECK_INT(PARALLEL_COUNT, sma_net_count(world->net));
}

static void check_none_open(struct world *world, void *user)
{
    (void)user;
    CHECK_INT(0, sma_net_count(world->net));
}

CASE(many_requests_run_at_once)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    world_run(&world, start_many, NULL);
    world_wait(&world, PARALLEL_COUNT);
    for (size_t i = 0; i < PARALLEL_COUNT; i++)
        CHECK_TEXT("{\"n\":1}", world.replies[i].body);
    world_run(&world, check_none_open, NULL);
}

/* -- sizes ------------------------------------------------------------------------------------- */
static void start_limited(struct world *world, void *user)
{
    char url[128];
    struct sma_net_ask ask = world_ask(world, url, "GET", user);
    ask.answer_bytes_max = 1000;
    CHECK_OK(sma_net_ask(world->net, &ask, NULL));
}

CASE(an_answer_over_its_limit_is_too_big)
{
    static const char *const paths[] = {"/bytes/999", "/bytes/1000", "/bytes/1001",
                                        "/bytes/3000000"};
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    for (size_t i = 0; i < SMA_COUNT_OF(paths); i++) {
        world_run(&world, start_limited, (void *)paths[i]);
        const struct reply *reply = world_wait(&world, i + 1);
        CHECK_INT(i < 2 ? SMA_NET_ANSWERED : SMA_NET_TOO_BIG, reply->end);
        CHECK_INT(200, reply->status);
        CHECK((reply->error[0] == '\0') == (i < 2));
    }
}

struct download
{
    const char *path;
    int fd;
};

static void start_download(struct world *world, void *user)
{
    const struct download *download = user;
    char url[128];
    struct sma_net_ask ask = world_ask(world, url, "GET", download->path);
    ask.file = download->fd;
    ask.answer_bytes_max = 1 << 20;
    CHECK_OK(sma_net_ask(world->net, &ask, NULL));
}

CASE(downloads_go_to_a_file)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    FILE *file = tmpfile();
    struct download download = {"/bytes/300000", fileno(file)};
    world_run(&world, start_download, &download);
    const struct reply *reply = world_wait(&world, 1);
    CHECK_INT(SMA_NET_ANSWERED, reply->end);
    CHECK_INT(300000, reply->body_bytes);
    CHECK_TEXT("", reply->body);
    CHECK_INT(300000, lseek(download.fd, 0, SEEK_END));
    download.path = "/status/404"; /* an error is no file */
    world_run(&world, start_download, &download);
    reply = world_wait(&world, 2);
    CHECK_INT(404, reply->status);
    CHECK_TEXT("{\"ok\":false}", reply->body);
    CHECK_INT(300000, lseek(download.fd, 0, SEEK_END));
    download.path = "/bytes/1048577";
    world_run(&world, start_download, &download);
    CHECK_INT(SMA_NET_TOO_BIG, world_wait(&world, 3)->end);
    struct download refused = {"/bytes/10", open("/dev/null", O_RDONLY | O_CLOEXEC)};
    world_run(&world, start_download, &refused);
    CHECK_INT(SMA_NET_FILE_FAILED, world_wait(&world, 4)->end);
    close(refused.fd);
    fclose(file);
}

/* Reading takes longer than sending: there is always more to read. */
static _Atomic int piece_count;

static bool read_slowly(void *user, int status, struct sma_str bytes)
{
    (void)user;
    (void)status;
    (void)bytes;
    piece_count++;
    return nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL) == 0;
}

static void start_flood(struct world *world, void *user)
{
    char url[128];
    (void)user;
    struct sma_net_ask ask = world_ask(world, url, "GET", "/bytes/40000000");
    ask.bytes = read_slowly;
    ask.answer_bytes_max = 40000000;
    CHECK_OK(sma_net_ask(world->net, &ask, NULL));
}

static void read_reply_count(struct world *world, void *user)
{
    *(size_t *)user = world->reply_count;
}

CASE(a_flood_holds_up_nothing_else)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    world_run(&world, start_flood, NULL);
    for (int part = 1; part <= 3; part++) {
        for (int i = 0; piece_count < 200 * part; i++) {
            CHECK(i < 20000);
            usleep(1000);
        }
        size_t reply_count = 1;
        world_run(&world, read_reply_count, &reply_count);
        CHECK_INT(0, reply_count); /* it still comes */
    }
    CHECK_INT(SMA_NET_ANSWERED, world_wait(&world, 1)->end);
}

static void start_upload(struct world *world, void *user)
{
    char url[128];
    static char big[20000];
    memset(big, 'm', sizeof big);
    struct sma_net_field fields[] = {
        {.name = "chat_id", .value = SMA_STR("42")},
        {.name = "photo",
         .value = {big, sizeof big},
         .file_name = "a \"b\".jpg",
         .type = "image/jpeg"},
        {.name = "document", .path = user, .file_name = "other.txt", .type = "text/plain"},
    };
    static struct sma_net_field kept[3];
    memcpy(kept, fields, sizeof fields);
    struct sma_net_ask ask = world_ask(world, url, "POST", "/echo");
    ask.fields = kept;
    ask.field_count = 3;
    CHECK_OK(sma_net_ask(world->net, &ask, NULL));
}

CASE(uploads_from_memory_and_from_a_file)
{
    SMA_AUTO(world_close) struct world world;
    char path[] = "/tmp/sma-net-XXXXXX";
    static char text[65536];
    world_open(&world);
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, "file content", 12) == 12);
    world_run(&world, start_upload, path);
    CHECK_INT(SMA_NET_ANSWERED, world_wait(&world, 1)->end);
    server_last(world.server, text, sizeof text);
    CHECK(strstr(text, "Content-Type: multipart/form-data; boundary=") != NULL);
    CHECK(strstr(text, "name=\"chat_id\"\r\n\r\n42\r\n") != NULL);
    CHECK(
        strstr(
            text,
            "name=\"photo\"; filename=\"a %22b%22.jpg\"\r\nContent-Type: image/jpeg\r\n\r\nmmm") !=
        NULL);
    CHECK(
        strstr(text,
               "name=\"document\"; filename=\"other.txt\"\r\nContent-Type: text/plain\r\n\r\nfile "
               "content\r\n") != NULL);
    close(fd);
    unlink(path);
    world_run(&world, start_upload, path); /* gone now */
    const struct reply *reply = world_wait(&world, 2);
    CHECK_INT(SMA_NET_FILE_FAILED, reply->end);
    CHECK(strstr(reply->error, "cannot be read") != NULL);
    world_run(&world, start_upload, (void *)"/tmp"); /* no file */
    CHECK_INT(SMA_NET_FILE_FAILED, world_wait(&world, 3)->end);
    CHECK_TEXT("{}",
               world_get(&world, "POST", "/echo", "{}")->body); /* the handle is good for others */
    CHECK_INT(2, server_requests(world.server));
}

/* -- what is true about failures --------------------------------------------------------------- */
CASE(statuses_are_answers)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    const struct reply *reply = world_get(&world, "POST", "/status/429/after/7", "{}");
    CHECK_INT(SMA_NET_ANSWERED, reply->end);
    CHECK_INT(429, reply->status);
    CHECK_INT(7000, reply->retry_after_ms);
    CHECK_TEXT("log-429", reply->log_id);
    CHECK_TEXT("{\"ok\":false}", reply->body);
    char path[128] = "/status/503/after/", *at;
    time_t when = clock_wall_s() + 30;
    struct tm parts;
    strftime(path + strlen(path), 64, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&when, &parts));
    while ((at = strchr(path, ' ')) != NULL)
        *at = '_';
    reply = world_get(&world, "POST", path, "{}");
    CHECK_INT(503, reply->status);
    CHECK(reply->retry_after_ms > 25000 && reply->retry_after_ms <= 30000);
    reply = world_get(&world, "POST", "/status/500/after/soon", "{}");
    CHECK_INT(-1, reply->retry_after_ms);
    CHECK_INT(500, reply->status);
    CHECK_INT(302, world_get(&world, "GET", "/status/302", NULL)->status); /* not followed */
    CHECK_INT(204, world_get(&world, "DELETE", "/status/204", NULL)->status);
    CHECK_INT(1, server_connections(world.server));
}

static int closed_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
    close(fd);
    return ntohs(address.sin_port);
}

CASE(what_never_left_is_not_sent)
{
    SMA_AUTO(world_close) struct world world;
    char url[128], label[80];
    world_open(&world);
    CHECK_INT(200, world_get(&world, "POST", "/echo", "{}")->status); /* handles are used again */
    snprintf(url, sizeof url, "http://127.0.0.1:%d/bot1234:secret/x?token=hidden", closed_port());
    const struct reply *reply = world_get(&world, "POST", url, "{}");
    CHECK_INT(SMA_NET_NOT_SENT, reply->end);
    CHECK_INT(0, reply->status);
    CHECK(strstr(reply->error, "127.0.0.1") != NULL);
    CHECK(strstr(reply->error, "secret") == NULL && strstr(reply->error, "hidden") == NULL);
    memset(label, 'a', 70); /* no label of a name may be so long: refused without asking anybody */
    snprintf(url, sizeof url, "http://user:pass@%.70s.invalid/secret", label);
    reply = world_get(&world, "POST", url, "{}");
    CHECK_INT(SMA_NET_NOT_SENT, reply->end);
    CHECK(strstr(reply->error, "secret") == NULL && strstr(reply->error, "pass") == NULL);
}

struct timed
{
    const char *path;
    uint32_t total_ms, idle_ms;
    bool may_repeat;
    const char *method;
};

static void start_timed(struct world *world, void *user)
{
    const struct timed *timed = user;
    char url[128];
    struct sma_net_ask ask =
        world_ask(world, url, timed->method == NULL ? "POST" : timed->method, timed->path);
    ask.body = strcmp(ask.method, "POST") == 0 ? SMA_STR("{}") : (struct sma_str){NULL, 0};
    ask.total_ms = timed->total_ms == 0 ? 15000 : timed->total_ms;
    ask.idle_ms = timed->idle_ms;
    ask.may_repeat = timed->may_repeat;
    CHECK_OK(sma_net_ask(world->net, &ask, NULL));
}

/* Time runs out before TLS stands: the server is there, but nothing of the request has left. */
CASE(a_handshake_that_never_ends_is_not_sent)
{
    SMA_AUTO(world_close) struct world world;
    char url[128];
    world_open(&world);
    snprintf(url, sizeof url, "https://127.0.0.1:%d/x", server_port(world.server));
    struct timed silent = {.path = url, .total_ms = 100};
    world_run(&world, start_timed, &silent);
    CHECK_INT(SMA_NET_NOT_SENT, world_wait(&world, 1)->end);
    CHECK_INT(1, server_connections(world.server));
}

CASE(what_left_without_an_answer_is_unknown)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    const struct reply *reply = world_get(&world, "POST", "/close", "{}");
    CHECK_INT(SMA_NET_UNKNOWN, reply->end);
    CHECK_INT(0, reply->status);
    CHECK(reply->error[0] != '\0');
    reply = world_get(&world, "POST", "/part", "{}");
    CHECK_INT(SMA_NET_UNKNOWN, reply->end);
    CHECK_INT(0, reply->status);
    struct timed hang = {.path = "/hang", .total_ms = 60};
    uint64_t begin = now_ms(), asked = (uint64_t)clock_now_ms();
    world_run(&world, start_timed, &hang);
    CHECK_INT(SMA_NET_UNKNOWN, world_wait(&world, 3)->end);
    CHECK((uint64_t)clock_now_ms() - asked >= 55 && now_ms() - begin < 5000 * PATIENCE);
    CHECK_INT(3, server_requests(world.server));
}

CASE(silence_in_an_answer_ends_it)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    struct timed stall = {.path = "/stall", .idle_ms = 50};
    uint64_t begin = now_ms(), asked = (uint64_t)clock_now_ms();
    world_run(&world, start_timed, &stall);
    const struct reply *reply = world_wait(&world, 1);
    CHECK_INT(SMA_NET_UNKNOWN, reply->end);
    CHECK((uint64_t)clock_now_ms() - asked >= 45 && now_ms() - begin < 5000 * PATIENCE);
    /* Slow is not silent: the whole takes longer than idle_ms. */
    struct timed slow = {.path = "/drip/30", .idle_ms = 200};
    world_run(&world, start_timed, &slow);
    CHECK_INT(SMA_NET_ANSWERED, world_wait(&world, 2)->end);
}

/* A kept connection: the server reads the next request and closes. It may have done what it was
 * asked for. */
CASE(nothing_is_sent_twice_over_a_dying_connection)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    CHECK_INT(200, world_get(&world, "POST", "/mortal", "{}")->status);
    CHECK_INT(SMA_NET_UNKNOWN, world_get(&world, "POST", "/echo", "{}")->end);
    CHECK_INT(2, server_requests(world.server));
    /* The caller says that a repetition is harmless: then it is repeated. */
    CHECK_INT(200, world_get(&world, "POST", "/mortal", "{}")->status);
    struct timed again = {.path = "/echo", .may_repeat = true};
    world_run(&world, start_timed, &again);
    CHECK_INT(200, world_wait(&world, 4)->status);
    CHECK_INT(5, server_requests(world.server));
    /* So it is with GET. */
    CHECK_INT(200, world_get(&world, "POST", "/mortal", "{}")->status);
    CHECK_INT(200, world_get(&world, "GET", "/echo", NULL)->status);
}

/* A kept connection that the server closed while it was idle is no reason to fail: nothing had been
 * sent. */
CASE(a_connection_closed_while_idle_is_replaced)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    for (size_t i = 0; i < 10; i++) {
        CHECK_INT(200, world_get(&world, "POST", "/farewell", "{}")->status);
        for (uint64_t end = now_ms() + PATIENCE_AWAIT_MS; server_open(world.server) > 0;)
            CHECK(now_ms() < end);
    }
    CHECK_INT(10, server_requests(world.server));
    CHECK_INT(10, server_connections(world.server));
}

/* -- bad input --------------------------------------------------------------------------------- */
static void refuse_all(struct world *world, void *user)
{
    static const char *const urls[] = {"",           "ftp://h/", "file:///etc/passwd",
                                       "127.0.0.1/", "http:",    "gopher://x/http://",
                                       "http://",    "//h"};
    static const char *const bad_headers[] = {"X: a\r\nY: b", "no colon", ": empty", "X: a\nY: b"};
    char url[128], many[64];
    struct sma_net_ask ask = world_ask(world, url, "POST", "/echo");
    (void)user;
    for (size_t i = 0; i < SMA_COUNT_OF(urls); i++) {
        ask.url = urls[i];
        CHECK_ERR(SMA_ERR_BADINPUT, sma_net_ask(world->net, &ask, NULL));
    }
    ask.url = url;
    for (size_t i = 0; i < SMA_COUNT_OF(bad_headers); i++) {
        ask.headers = &bad_headers[i];
        ask.header_count = 1;
        CHECK_ERR(SMA_ERR_BADINPUT, sma_net_ask(world->net, &ask, NULL));
    }
    const char *headers[65];
    snprintf(many, sizeof many, "X-Many: 1");
    for (size_t i = 0; i < 65; i++)
        headers[i] = many;
    ask.headers = headers;
    ask.header_count = 65;
    CHECK_ERR(SMA_ERR_BADINPUT, sma_net_ask(world->net, &ask, NULL));
    static char huge[20000] = "X: ";
    memset(huge + 3, 'h', sizeof huge - 4);
    headers[0] = huge;
    ask.header_count = 1;
    CHECK_ERR(SMA_ERR_BADINPUT, sma_net_ask(world->net, &ask, NULL));
    ask.header_count = 0;
    ask.method = "TRACE";
    CHECK_ERR(SMA_ERR_BADINPUT, sma_net_ask(world->net, &ask, NULL));
    CHECK_INT(0, sma_net_count(world->net));
}

CASE(bad_requests_are_refused)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    world_run(&world, refuse_all, NULL);
    CHECK_INT(SMA_NET_NOT_SENT, world_get(&world, "POST", "http://127.0.0.1:99999/", "{}")->end);
    CHECK_INT(SMA_NET_NOT_SENT, world_get(&world, "POST", "http://[::1/", "{}")->end);
    CHECK_INT(200, world_get(&world, "POST", "/echo", "{}")->status);
}

/* -- cancel, close, callbacks ------------------------------------------------------------------ */
static struct sma_net_request *held;

static void start_held(struct world *world, void *user)
{
    char url[128];
    struct sma_net_ask ask = world_ask(world, url, "GET", user);
    CHECK_OK(sma_net_ask(world->net, &ask, &held));
}

static void cancel_held(struct world *world, void *user)
{
    (void)user;
    CHECK_INT(1, sma_net_count(world->net));
    sma_net_cancel(held);
    CHECK_INT(0, sma_net_count(world->net));
}

static void start_and_cancel(struct world *world, void *user)
{
    start_held(world, user);
    cancel_held(world, NULL);
}

CASE(cancelled_requests_say_nothing)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    world_run(&world, start_held, (void *)"/hang");
    wait_requests(&world, 1);
    world_run(&world, cancel_held, NULL);
    world_run(&world, start_and_cancel, (void *)"/echo");
    CHECK_TEXT("{}", world_get(&world, "POST", "/echo", "{}")->body);
    CHECK_INT(1, world.reply_count);
}

static void start_hanging(struct world *world, void *user)
{
    char url[128];
    struct sma_net_ask ask = world_ask(world, url, "POST", "/hang");
    ask.body = SMA_STR("{}");
    (void)user;
    for (int i = 0; i < 20; i++)
        CHECK_OK(sma_net_ask(world->net, &ask, NULL));
}

CASE(closing_drops_what_is_open)
{
    struct world world;
    world_open(&world);
    world_run(&world, start_hanging, NULL);
    wait_requests(&world, 20);
    world_run(&world, start_hanging, NULL); /* some are just being started */
    size_t said = world.reply_count;
    world_close(&world);
    CHECK_INT(0, said);
}

static int chain_left;
static void chain(void *user, const struct sma_net_answer *answer)
{
    struct world *world = user;
    CHECK_INT(200, answer->status);
    sma_net_cancel(held); /* its own: nothing happens */
    if (--chain_left == 0) {
        world_done(user, answer);
        return;
    }
    char url[128];
    struct sma_net_ask ask = world_ask(world, url, "POST", "/echo");
    struct sma_net_request *other;
    ask.body = SMA_STR("{}");
    CHECK_OK(sma_net_ask(world->net, &ask, &other)); /* one that is taken back at once */
    sma_net_cancel(other);
    ask.done = chain;
    CHECK_OK(sma_net_ask(world->net, &ask, &held));
    CHECK_STR("{}", answer->body); /* still valid */
}

static void start_chain(struct world *world, void *user)
{
    char url[128];
    struct sma_net_ask ask = world_ask(world, url, "POST", "/echo");
    (void)user;
    ask.body = SMA_STR("{}");
    ask.done = chain;
    CHECK_OK(sma_net_ask(world->net, &ask, &held));
}

CASE(requests_start_and_end_inside_done)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    chain_left = 50;
    world_run(&world, start_chain, NULL);
    CHECK_INT(200, world_wait(&world, 1)->status);
    world_run(&world, check_none_open, NULL);
}

/* -- idleness ---------------------------------------------------------------------------------- */
CASE(an_idle_net_never_wakes)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    world_run(&world, start_many, NULL);
    world_wait(&world, PARALLEL_COUNT);
    struct timed quiet = {.path = "/drip/1", .idle_ms = 50};
    world_run(&world, start_timed, &quiet);
    world_wait(&world, PARALLEL_COUNT + 1);
    nanosleep(&(struct timespec){.tv_nsec = 100000000},
              NULL); /* what is due for the last request is over */
    long before = world_wakeups(&world);
    nanosleep(&(struct timespec){.tv_nsec = 600000000}, NULL);
    long after = world_wakeups(&world);
    CHECK(after - before <= 2); /* the two questions themselves */
}

CASES_MAIN
