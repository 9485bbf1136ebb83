/*
 * Aim: wss:// trusts what it should and nothing else, says why not, and carries messages as ws://
 * does.
 * Method: servers with each kind of certificate, made in the test; a client that trusts their
 * authority by ca_file.
 */
#include "harness.h"
#include "support/patience.h"

#include <unistd.h>

/* The authority is made anew with each server: the client must trust the one of the server it is to
 * reach. */
static struct ws_server *server;
static struct ws_harness *harness;

static void start(enum ws_server_tls tls, const char *other_ca)
{
    server = ws_server_start(&(struct ws_server_options){.tls = tls});
    harness = ws_harness_start(other_ca != NULL ? other_ca : ws_server_ca_file(server));
}

static void stop(void)
{
    ws_harness_stop(harness);
    ws_server_stop(server);
}

static void check_refused(enum ws_server_tls tls, const char *ca_file, const char *reason)
{
    start(tls, ca_file);
    struct client client = {0};
    client_connect(harness, &client, ws_server_url(server));
    client_wait_closed(&client);
    CHECK_INT(0, client.opened_count);
    CHECK_INT(SMA_WS_NOT_CONNECTED, client.closed.end);
    if (strstr(client.reason, reason) == NULL)
        (void)fprintf(stderr, "reason: %s\n", client.reason);
    CHECK(strstr(client.reason, reason) != NULL);
    CHECK_INT(0,
              ws_server_request_count(server)); /* nothing was said to a peer that is not trusted */
    stop();
}

ENDING(ws_server_stop, struct ws_server)

CASE(what_is_not_trusted)
{
    check_refused(WS_SERVER_TLS_SELF_SIGNED, NULL, "self-signed certificate");
    check_refused(WS_SERVER_TLS_WRONG_NAME, NULL, "IP address mismatch");
    check_refused(WS_SERVER_TLS_EXPIRED, NULL, "certificate has expired");
    SMA_AUTO(ws_server_stopp)
    struct ws_server *other = ws_server_start(&(struct ws_server_options){.tls = WS_SERVER_TLS});
    check_refused(WS_SERVER_TLS, ws_server_ca_file(other), "not trusted");
}

CASE(wrong_host_name)
{
    start(WS_SERVER_TLS_WRONG_NAME, NULL);
    struct client client = {0};
    char url[128];
    (void)snprintf(url, sizeof url, "wss://localhost:%u/", ws_server_port(server));
    client_connect(harness, &client, url);
    client_wait_closed(&client);
    CHECK(strstr(client.reason, "hostname mismatch") != NULL);
    stop();
}

CASE(no_tls_at_the_other_end)
{
    start(WS_SERVER_TLS, NULL);
    struct ws_server *plain = ws_server_start(NULL);
    struct client client = {0};
    char url[128];
    (void)snprintf(url, sizeof url, "wss://127.0.0.1:%u/", ws_server_port(plain));
    CHECK_OK(client_try(harness, &client, &(struct sma_ws_ask){.url = url, .connect_ms = 300}));
    client_wait_closed(&client);
    CHECK_INT(SMA_WS_NOT_CONNECTED, client.closed.end);
    ws_server_stop(plain);
    stop();
}

CASE(by_name_and_by_address)
{
    start(WS_SERVER_TLS, NULL);
    struct client by_name = {0}, by_address = {0};
    char url[128];
    (void)snprintf(url, sizeof url, "wss://localhost:%u/", ws_server_port(server));
    client_connect(harness, &by_name, url);
    client_wait_open(&by_name);
    client_connect(harness, &by_address, ws_server_url(server));
    client_wait_open(&by_address);
    client_end(&by_name, 1000);
    client_wait_closed(&by_name);
    CHECK(ws_server_wait_open(server, 1, PATIENCE_AWAIT_MS));
    CHECK(ws_server_drop(server, 0));
    client_wait_closed(&by_address);
    CHECK_INT(SMA_WS_LOST, by_address.closed.end);
    stop();
}

CASE(messages_of_many_sizes_and_a_pause)
{
    static const size_t sizes[] = {0, 1, 125, 126, 16384, 16385, 65535, 65536, 1000000};
    start(WS_SERVER_TLS, NULL);
    struct client client = {0};
    client_connect(harness, &client, ws_server_url(server));
    client_wait_open(&client);
    uint64_t hash = 0;
    size_t total = 0;
    char *bytes = malloc(1000000);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < 1000000; i++)
        bytes[i] = (char)(i * 31 >> 3);
    for (size_t i = 0; i < SMA_COUNT_OF(sizes); i++) {
        client_pause(&client, i % 2 == 0);
        CHECK_OK(client_send(&client, (struct sma_str){bytes, sizes[i]}, true));
        total += sizes[i];
        for (size_t k = 0; k < sizes[i]; k++)
            hash = (hash ^ (unsigned char)bytes[k]) * 1099511628211u;
    }
    client_pause(&client, true);
    client_pause(&client, false);
    client_wait_messages(&client, SMA_COUNT_OF(sizes));
    CHECK_INT(total, CLIENT_GET(&client, bytes_count));
    CHECK(hash == CLIENT_GET(&client, hash));
    free(bytes);
    client_end(&client, 1000);
    client_wait_closed(&client);
    CHECK(ws_server_wait_open(server, 0, PATIENCE_AWAIT_MS));
    stop();
}

CASE(garbage_inside_tls)
{
    start(WS_SERVER_TLS, NULL);
    struct client client = {0};
    client_connect(harness, &client, ws_server_url(server));
    client_wait_open(&client);
    CHECK(ws_server_send_raw(server, 0, SMA_STR("\xff\xff\xff")));
    client_wait_closed(&client);
    CHECK_INT(SMA_WS_PROTOCOL, client.closed.end);
    stop();
}

CASE(unreadable_authority_file)
{
    struct ws_harness *good = ws_harness_start(NULL); /* opens a second one, on its thread */
    struct sma_error error = {0};
    CHECK_ERR(SMA_ERR_IO, ws_try_open(good, "/nonexistent/ca.pem", &error));
    CHECK(strstr(error.text, "/nonexistent/ca.pem") != NULL);
    ws_harness_stop(good);
}

CASES_MAIN
