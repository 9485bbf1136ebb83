/*
 * Aim: model servers are reached over TLS and HTTP/2 as real ones are: streams side by side on one
 *      connection, GOAWAY in the middle of one, streams cut and reset; a certificate that is not
 *      trusted or another host's is refused, and said.
 * Method: nghttpx (TLS, HTTP/2) before fake_model, with an authority made for the test and named by
 * SSL_CERT_FILE.
 */
#include "harness.h"
#include "raw_server.h"
#include "support/check.h"
#include "support/patience.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char dir[] = "/tmp/sma-tls-XXXXXX";

/* -- certificates ------------------------------------------------------------------------------ */
static pid_t start(const char *const *arguments)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL); /* the harness blocks SIGHUP */
    CHECK(chdir(dir) == 0 && freopen("/dev/null", "w", stderr) != NULL);
    execv(arguments[0], (char *const *)arguments);
    _exit(127);
}

static void run_openssl(const char *const *arguments)
{
    int status = 0;
    pid_t pid = start(arguments);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    CHECK_INT(0, WEXITSTATUS(status));
}

static void make_authority(const char *name)
{
    char key[64], cert[64];
    snprintf(key, sizeof key, "%s.key", name);
    snprintf(cert, sizeof cert, "%s.pem", name);
    run_openssl((const char *const[]){
        SMA_OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-days", "2", "-subj", "/CN=Test authority", "-keyout", key, "-out", cert, NULL});
}

static void make_cert(const char *name, const char *hosts)
{
    char key[64], cert[64], request[64], extension[64], line[256];
    snprintf(key, sizeof key, "%s.key", name);
    snprintf(cert, sizeof cert, "%s.pem", name);
    snprintf(request, sizeof request, "%s.csr", name);
    snprintf(extension, sizeof extension, "%s/%s.ext", dir, name);
    FILE *file = fopen(extension, "w");
    CHECK(file != NULL);
    snprintf(line, sizeof line, "subjectAltName=%s\n", hosts);
    CHECK(fputs(line, file) >= 0 && fclose(file) == 0);
    run_openssl((const char *const[]){SMA_OPENSSL, "req", "-newkey", "ec", "-pkeyopt",
                                      "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=x",
                                      "-keyout", key, "-out", request, NULL});
    run_openssl((const char *const[]){SMA_OPENSSL, "x509", "-req", "-in", request, "-CA", "ca.pem",
                                      "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                                      "-extfile", extension, "-out", cert, NULL});
}

/* -- nghttpx ----------------------------------------------------------------------------------- */
struct front
{
    pid_t pid;
    int port;
    char url[64], log[128];
};

static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, len) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
    close(fd);
    return ntohs(address.sin_port);
}

static bool is_listening(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_there = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return is_there;
}

static void wait_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

static void start_front(struct front *front, struct harness *harness, const char *cert)
{
    char listen[64], backend[64], key[64], pem[64], log[160];
    int backend_port = 0;
    CHECK(sscanf(harness_url(harness), "http://127.0.0.1:%d", &backend_port) == 1);
    front->port = free_port();
    snprintf(front->log, sizeof front->log, "%s/access-%d", dir, front->port);
    snprintf(front->url, sizeof front->url, "https://127.0.0.1:%d/v1", front->port);
    snprintf(listen, sizeof listen, "-f127.0.0.1,%d", front->port);
    snprintf(backend, sizeof backend, "-b127.0.0.1,%d", backend_port);
    snprintf(key, sizeof key, "%s.key", cert);
    snprintf(pem, sizeof pem, "%s.pem", cert);
    snprintf(log, sizeof log, "--accesslog-file=%s", front->log);
    front->pid = start((const char *const[]){
        SMA_NGHTTPX, "--conf=/dev/null", "--no-ocsp", "--workers=1", listen, backend, log,
        "--accesslog-format=$alpn $remote_port $status", "--accesslog-write-early",
        "--errorlog-file=/dev/null", key, pem, NULL});
    for (int i = 0; i < 5000 && !is_listening(front->port); i++)
        wait_a_little();
    CHECK(is_listening(front->port));
}

static void stop_front(const struct front *front)
{
    kill(front->pid, SIGTERM);
    waitpid(front->pid, NULL, 0);
    unlink(front->log);
}

/* Requests by "h2", and by how many connections. */
static size_t h2_requests(const struct front *front, size_t *ret_connections)
{
    bool seen[65536] = {false};
    size_t count = 0, connections = 0;
    char line[256];
    FILE *file = fopen(front->log, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned port = 0;
        if (sscanf(line, "h2 %u", &port) != 1 || port > 65535)
            continue;
        count++;
        connections += !seen[port];
        seen[port] = true;
    }
    if (file != NULL)
        fclose(file);
    *ret_connections = connections;
    return count;
}

struct world
{
    struct harness *harness;
    struct front front;
    struct sma_config_llm llm;
};

static void open_world(struct world *world, const char *cert)
{
    struct sma_config_llm plain = harness_llm(SMA_LLM_CHAT);
    world->harness = harness_create(&plain, NULL);
    start_front(&world->front, world->harness, cert);
    world->llm = plain;
    world->llm.base_url = world->front.url;
    world->llm.connect_ms = world->llm.first_byte_ms = world->llm.idle_ms = 5000 * PATIENCE;
}

static void close_world(struct world *world)
{
    harness_destroy(world->harness);
    stop_front(&world->front);
}

static size_t ask(struct world *world, const char *text)
{
    return harness_ask_at(world->harness, &world->llm, "", text);
}

/* -- cases ------------------------------------------------------------------------------------- */
static void a_server_is_reached_by_http2_over_tls(void)
{
    static const enum sma_llm_api apis[] = {SMA_LLM_CHAT, SMA_LLM_RESPONSES, SMA_LLM_MESSAGES};
    struct world world;
    size_t connections = 0;
    open_world(&world, "good");
    static struct sma_config_llm llms[6]; /* outlive the harness */
    for (size_t i = 0; i < SMA_COUNT_OF(llms); i++) {
        llms[i] = world.llm;
        llms[i].api = apis[i / 2];
        llms[i].is_stream = i % 2 == 0;
        size_t number = harness_ask_at(world.harness, &llms[i], "", "hello");
        harness_check_said(harness_wait(world.harness, number), "hello");
    }
    CHECK_INT(6, h2_requests(&world.front, &connections));
    CHECK_INT(1, connections);
    close_world(&world);
}

static void streams_share_a_connection(void)
{
    struct world world;
    size_t records[40], connections = 0;
    char text[80];
    open_world(&world, "good");
    harness_check_said(harness_wait(world.harness, ask(&world, "first")), "first");
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++) {
        snprintf(text, sizeof text, "number %zu [[fault:drip bytes=100 ms=10]]", i);
        records[i] = ask(&world, text);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++) {
        snprintf(text, sizeof text, "number %zu [[fault:drip bytes=100 ms=10]]", i);
        harness_check_said(harness_wait(world.harness, records[i]), text);
    }
    CHECK_INT(41, h2_requests(&world.front, &connections));
    CHECK_INT(1, connections);
    close_world(&world);
}

static void troubles_of_one_stream_are_its_own(void)
{
    static const char *const texts[] = {
        "a [[fault:cut]]",          "b [[fault:503 retry-after-ms=20]]", "c [[fault:reset]]",
        "d [[fault:error200]]",     "e [[fault:429 retry-after-ms=20]]", "f [[fault:garbage]]",
        "g [[fault:hang ms=9000]]",
    };
    struct world world;
    size_t records[SMA_COUNT_OF(texts)];
    open_world(&world, "good");
    harness_check_said(harness_wait(world.harness, ask(&world, "first")), "first");
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        records[i] = ask(&world, texts[i]);
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        harness_check_said(harness_wait(world.harness, records[i]), texts[i]);
    close_world(&world);
}

static void a_cancelled_stream_leaves_the_others_alone(void)
{
    struct world world;
    size_t connections = 0;
    open_world(&world, "good");
    harness_check_said(harness_wait(world.harness, ask(&world, "first")), "first");
    size_t slow = ask(&world, "slow [[fault:drip bytes=60 ms=20]]");
    size_t silent = ask(&world, "x [[fault:silence ms=20000 times=9]]");
    harness_wait_requests(world.harness, 3);
    harness_cancel(world.harness, silent);
    CHECK_INT(SMA_MODEL_CANCELLED, harness_wait(world.harness, silent)->status);
    harness_check_said(harness_wait(world.harness, slow), "slow [[fault:drip bytes=60 ms=20]]");
    harness_check_said(harness_wait(world.harness, ask(&world, "after")), "after");
    (void)h2_requests(&world.front, &connections);
    CHECK_INT(1, connections);
    close_world(&world);
}

/* SIGHUP: another worker takes new connections, the old one says GOAWAY and ends when its streams
 * have. */
static void goaway_in_the_middle_of_a_stream_loses_nothing(void)
{
    struct world world;
    size_t connections = 0;
    open_world(&world, "good");
    harness_check_said(harness_wait(world.harness, ask(&world, "first")), "first");
    static const char text[] = "[[plain]] a long text that comes slowly, in many many pieces "
                               "[[fault:drip bytes=40 ms=20]]";
    size_t slow = ask(&world, text);
    harness_wait_requests(world.harness, 2);
    kill(world.front.pid, SIGHUP);
    for (int i = 0; i < 20; i++) /* before and after the GOAWAY comes */
        harness_check_said(harness_wait(world.harness, ask(&world, "meanwhile")), "meanwhile");
    const struct harness_record *record = harness_wait(world.harness, slow);
    CHECK_INT(SMA_MODEL_OK, record->status);
    CHECK_TEXT(text, record->text);
    harness_check_said(harness_wait(world.harness, ask(&world, "after")), "after");
    (void)h2_requests(&world.front, &connections);
    CHECK(connections >= 2); /* it did go away */
    close_world(&world);
}

/* A dead connection of HTTP/2 would take every request after it, too. */
static void after_a_hang_the_repeat_takes_another_connection(void)
{
    struct world world;
    size_t connections = 0;
    open_world(&world, "good");
    world.llm.first_byte_ms = 300 * PATIENCE;
    harness_check_said(harness_wait(world.harness, ask(&world, "first")), "first");
    static const char other[] =
        "[[plain]] another stream keeps it open, in many many pieces, for longer than that "
        "[[fault:drip bytes=20 ms=40]]";
    size_t slow = ask(&world, other);
    harness_wait_requests(world.harness, 2);
    harness_check_said(harness_wait(world.harness, ask(&world, "x [[fault:silence ms=20000]]")),
                       "x [[fault:silence ms=20000]]");
    CHECK_TEXT(other, harness_wait(world.harness, slow)->text);
    (void)h2_requests(&world.front, &connections);
    CHECK_INT(2, connections);
    close_world(&world);
}

static void check_refused(const struct harness_record *record, const char *part)
{
    CHECK_INT(SMA_MODEL_FAILED, record->status);
    CHECK_INT(SMA_MODEL_FAILURE_SETUP, record->trouble);
    if (strstr(record->error, part) == NULL)
        fprintf(stderr, "  error is: %s\n", record->error);
    CHECK(strstr(record->error, part) != NULL);
    CHECK(strstr(record->error, "cannot reach https://127.0.0.1:") != NULL);
    CHECK_INT(1, record->usage.request_count); /* not repeated */
}

static void a_certificate_of_another_host_is_refused(void)
{
    struct world world;
    open_world(&world, "other");
    check_refused(harness_wait(world.harness, ask(&world, "x")), "certificate");
    CHECK_INT(0, harness_requests(world.harness, NULL)); /* the key has not left */
    close_world(&world);
}

static void an_authority_nobody_trusts_is_refused(void)
{
    char ca[128];
    snprintf(ca, sizeof ca, "%s/stranger.pem", dir);
    setenv("SSL_CERT_FILE", ca, 1);
    struct world world;
    open_world(&world, "good");
    check_refused(harness_wait(world.harness, ask(&world, "x")), "certificate");
    CHECK_INT(0, harness_requests(world.harness, NULL));
    close_world(&world);
    setenv("SSL_CERT_FILE", "/nonexistent/ca.pem", 1);
    open_world(&world, "good");
    check_refused(harness_wait(world.harness, ask(&world, "x")), "/nonexistent/ca.pem");
    close_world(&world);
    snprintf(ca, sizeof ca, "%s/ca.pem", dir);
    setenv("SSL_CERT_FILE", ca, 1);
}

static void a_proxy_carries_tls_unseen(void)
{
    struct world world;
    char proxy_url[64], url[64];
    open_world(&world, "good");
    struct raw_server *proxy = raw_proxy_create(world.front.port);
    snprintf(proxy_url, sizeof proxy_url, "http://127.0.0.1:%d", raw_server_port(proxy));
    snprintf(url, sizeof url, "https://model.invalid:%d/v1", world.front.port);
    world.llm.base_url = url;
    world.llm.proxy = proxy_url;
    harness_check_said(harness_wait(world.harness, ask(&world, "hi")), "hi");
    CHECK_INT(1, raw_server_count(proxy));
    CHECK(strncmp(raw_server_request(proxy, 0), "CONNECT model.invalid:", 22) == 0);
    CHECK(strstr(raw_server_request(proxy, 0), "sk-secret") == NULL);
    close_world(&world);
    raw_server_destroy(proxy);
}

int main(void)
{
    CHECK(mkdtemp(dir) != NULL);
    make_authority("ca");
    make_authority("stranger");
    make_cert("good", "IP:127.0.0.1,DNS:model.invalid");
    make_cert("other", "DNS:other.example");
    char ca[128];
    snprintf(ca, sizeof ca, "%s/ca.pem", dir);
    setenv("SSL_CERT_FILE", ca, 1);
    RUN(a_server_is_reached_by_http2_over_tls);
    RUN(streams_share_a_connection);
    RUN(troubles_of_one_stream_are_its_own);
    RUN(a_cancelled_stream_leaves_the_others_alone);
    RUN(goaway_in_the_middle_of_a_stream_loses_nothing);
    RUN(after_a_hang_the_repeat_takes_another_connection);
    RUN(a_certificate_of_another_host_is_refused);
    RUN(an_authority_nobody_trusts_is_refused);
    RUN(a_proxy_carries_tls_unseen);
    static const char *const files[] = {"ca.key",      "ca.pem",    "ca.srl",    "good.key",
                                        "good.pem",    "good.csr",  "good.ext",  "other.key",
                                        "other.pem",   "other.csr", "other.ext", "stranger.key",
                                        "stranger.pem"};
    for (size_t i = 0; i < SMA_COUNT_OF(files); i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
    rmdir(dir);
    return check_summary();
}
