/*
 * Aim: HTTP and WebSockets trust the system's directory of authorities and a file they are given,
 * and read the bundle of all authorities for neither.
 * Method: a directory with the test's authority under its hash, as SSL_CERT_DIR; fopen() of this
 * program is watched.
 */
#include "support/patience.h"
#include "unit/ws/harness.h"

#include "sma/net.h"

#include <dlfcn.h>
#include <openssl/pem.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_uint bundle_count;

static FILE *open_watched(const char *real_name, const char *path, const char *mode)
{
    void *symbol = dlsym(RTLD_NEXT, real_name);
    CHECK(symbol != NULL);
    if (strstr(path, "ca-certificates.crt") != NULL || strstr(path, "/cert.pem") != NULL)
        atomic_fetch_add(&bundle_count, 1);
    return ((FILE * (*)(const char *, const char *))(uintptr_t)symbol)(path, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    return open_watched("fopen", path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
    return open_watched("fopen64", path, mode);
}

/* -- a directory of authorities --------------------------------------------------------------- */
static char directory[] = "/tmp/sma-trust-XXXXXX", link_path[128];

static void put_authority(struct ws_server *server)
{
    FILE *file = fopen(ws_server_ca_file(server), "r");
    X509 *authority = file == NULL ? NULL : PEM_read_X509(file, NULL, NULL, NULL);
    CHECK(authority != NULL);
    (void)fclose(file);
    (void)snprintf(link_path, sizeof link_path, "%s/%08lx.0", directory,
                   X509_subject_name_hash(authority));
    X509_free(authority);
    CHECK_INT(0, symlink(ws_server_ca_file(server), link_path));
}

/* -- one HTTP request ------------------------------------------------------------------------- */
struct asked
{
    struct ws_harness *harness;
    struct sma_net *net;
    const char *ca_file;
    char url[128], error[512];
    enum sma_net_end end;
    atomic_bool is_done;
};

static void on_done(void *user, const struct sma_net_answer *answer)
{
    struct asked *asked = user;
    asked->end = answer->end;
    (void)snprintf(asked->error, sizeof asked->error, "%s", answer->error);
    atomic_store(&asked->is_done, true);
}

static void start_ask(void *user)
{
    struct asked *asked = user;
    struct sma_error error = {0};
    CHECK_OK(sma_net_open(ws_ctx_of(asked->harness), &asked->net, &error));
    if (asked->ca_file != NULL)
        CHECK_OK(sma_net_trust(asked->net, asked->ca_file));
    struct sma_net_ask ask = {.method = "GET", .url = asked->url, .done = on_done, .user = asked};
    CHECK_OK(sma_net_ask(asked->net, &ask, NULL));
}

static void end_ask(void *user)
{
    struct asked *asked = user;
    sma_net_close(asked->net);
}

static enum sma_net_end ask_http(struct ws_server *server, const char *ca_file)
{
    struct asked asked = {.harness = ws_harness_start(NULL), .ca_file = ca_file};
    (void)snprintf(asked.url, sizeof asked.url, "%s/", ws_server_http_url(server));
    ws_on_actor(asked.harness, start_ask, &asked);
    for (int i = 0; i < PATIENCE_AWAIT_MS && !atomic_load(&asked.is_done); i++)
        (void)usleep(1000);
    CHECK(atomic_load(&asked.is_done));
    ws_on_actor(asked.harness, end_ask, &asked);
    ws_harness_stop(asked.harness);
    return asked.end;
}

static bool opens_ws(struct ws_server *server, const char *ca_file)
{
    struct ws_harness *harness = ws_harness_start(ca_file);
    struct client client = {0};
    client_connect(harness, &client, ws_server_url(server));
    while (CLIENT_GET(&client, opened_count) + CLIENT_GET(&client, closed_count) == 0)
        (void)usleep(1000);
    bool is_open = CLIENT_GET(&client, opened_count) == 1;
    if (is_open)
        client_end(&client, 1000);
    client_wait_closed(&client);
    ws_harness_stop(harness);
    return is_open;
}

/* -- cases ------------------------------------------------------------------------------------ */
CASE(the_directory_is_trusted_and_no_bundle_read)
{
    struct ws_server *server = ws_server_start(&(struct ws_server_options){.tls = WS_SERVER_TLS});
    CHECK(mkdtemp(directory) != NULL);
    CHECK_INT(0, setenv("SSL_CERT_DIR", directory, 1));
    CHECK_INT(SMA_NET_NOT_SENT, ask_http(server, NULL));
    CHECK(!opens_ws(server, NULL));
    put_authority(server);
    CHECK_INT(SMA_NET_ANSWERED, ask_http(server, NULL));
    CHECK(opens_ws(server, NULL));
    CHECK_INT(0, unsetenv("SSL_CERT_DIR"));
    CHECK_INT(SMA_NET_NOT_SENT, ask_http(server, NULL));
    CHECK(!opens_ws(server, NULL));
    CHECK_INT(0, atomic_load(&bundle_count));
    CHECK_INT(0, unlink(link_path));
    CHECK_INT(0, rmdir(directory));
    ws_server_stop(server);
}

CASE(a_file_is_trusted_given_or_of_the_environment)
{
    struct ws_server *server = ws_server_start(&(struct ws_server_options){.tls = WS_SERVER_TLS});
    CHECK_INT(SMA_NET_ANSWERED, ask_http(server, ws_server_ca_file(server)));
    CHECK(opens_ws(server, ws_server_ca_file(server)));
    CHECK_INT(0, setenv("SSL_CERT_FILE", ws_server_ca_file(server), 1));
    CHECK_INT(SMA_NET_ANSWERED, ask_http(server, NULL));
    CHECK(opens_ws(server, NULL));
    CHECK_INT(0, unsetenv("SSL_CERT_FILE"));
    CHECK_INT(0, atomic_load(&bundle_count));
    ws_server_stop(server);
}

int main(void)
{
    CHECK_INT(0, unsetenv("SSL_CERT_FILE"));
    CHECK_INT(0, unsetenv("SSL_CERT_DIR"));
    check_run_cases(NULL);
    return check_summary();
}
