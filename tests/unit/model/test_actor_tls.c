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
#include "support/tls_front.h"

#include <signal.h>
#include <stdlib.h>

struct world
{
    struct harness *harness;
    struct tls_front front;
    char url[80];
    struct sma_config_llm llm;
};

static void open_world(struct world *world, const char *cert)
{
    struct sma_config_llm plain = harness_llm(SMA_LLM_CHAT);
    world->harness = harness_create(&plain, NULL);
    int port = 0;
    CHECK(sscanf(harness_url(world->harness), "http://127.0.0.1:%d", &port) == 1);
    tls_front_start(&world->front, port, cert);
    snprintf(world->url, sizeof world->url, "%s/v1", world->front.url);
    world->llm = plain;
    world->llm.base_url = world->url;
    world->llm.connect_ms = world->llm.first_byte_ms = world->llm.idle_ms = 5000 * PATIENCE;
}

static void close_world(struct world *world)
{
    harness_destroy(world->harness);
    tls_front_stop(&world->front);
}

static size_t ask(struct world *world, const char *text)
{
    return harness_ask_at(world->harness, &world->llm, "", text);
}

/* -- cases ------------------------------------------------------------------------------------- */
CASE(a_server_is_reached_by_http2_over_tls)
{
    static const enum sma_llm_api apis[] = {SMA_LLM_CHAT, SMA_LLM_RESPONSES, SMA_LLM_MESSAGES};
    SMA_AUTO(close_world) struct world world;
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
    CHECK_INT(6, tls_front_requests(&world.front, &connections));
    CHECK_INT(1, connections);
}

CASE(streams_share_a_connection)
{
    SMA_AUTO(close_world) struct world world;
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
    CHECK_INT(41, tls_front_requests(&world.front, &connections));
    CHECK_INT(1, connections);
}

CASE(troubles_of_one_stream_are_its_own)
{
    static const char *const texts[] = {
        "a [[fault:cut]]",          "b [[fault:503 retry-after-ms=20]]", "c [[fault:reset]]",
        "d [[fault:error200]]",     "e [[fault:429 retry-after-ms=20]]", "f [[fault:garbage]]",
        "g [[fault:hang ms=9000]]",
    };
    SMA_AUTO(close_world) struct world world;
    size_t records[SMA_COUNT_OF(texts)];
    open_world(&world, "good");
    harness_check_said(harness_wait(world.harness, ask(&world, "first")), "first");
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        records[i] = ask(&world, texts[i]);
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        harness_check_said(harness_wait(world.harness, records[i]), texts[i]);
}

CASE(a_cancelled_stream_leaves_the_others_alone)
{
    SMA_AUTO(close_world) struct world world;
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
    (void)tls_front_requests(&world.front, &connections);
    CHECK_INT(1, connections);
}

/* SIGHUP: another worker takes new connections, the old one says GOAWAY and ends when its streams
 * have. */
CASE(goaway_in_the_middle_of_a_stream_loses_nothing)
{
    SMA_AUTO(close_world) struct world world;
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
    (void)tls_front_requests(&world.front, &connections);
    CHECK(connections >= 2); /* it did go away */
}

/* A dead connection of HTTP/2 would take every request after it, too. */
CASE(after_a_hang_the_repeat_takes_another_connection)
{
    SMA_AUTO(close_world) struct world world;
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
    (void)tls_front_requests(&world.front, &connections);
    CHECK_INT(2, connections);
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

CASE(a_certificate_of_another_host_is_refused)
{
    SMA_AUTO(close_world) struct world world;
    open_world(&world, "other");
    check_refused(harness_wait(world.harness, ask(&world, "x")), "certificate");
    CHECK_INT(0, harness_requests(world.harness, NULL)); /* the key has not left */
}

CASE(an_authority_nobody_trusts_is_refused)
{
    tls_front_trust("stranger");
    struct world world;
    open_world(&world, "good");
    check_refused(harness_wait(world.harness, ask(&world, "x")), "certificate");
    CHECK_INT(0, harness_requests(world.harness, NULL));
    close_world(&world);
    tls_front_trust("nobody");
    open_world(&world, "good");
    check_refused(harness_wait(world.harness, ask(&world, "x")), "/nobody.pem");
    close_world(&world);
    tls_front_trust("ca");
}

CASE(a_proxy_carries_tls_unseen)
{
    struct world world;
    char proxy_url[64], url[64];
    open_world(&world, "good");
    SMA_AUTO(raw_server_destroyp) struct raw_server *proxy = raw_proxy_create(world.front.port);
    snprintf(proxy_url, sizeof proxy_url, "http://127.0.0.1:%d", raw_server_port(proxy));
    snprintf(url, sizeof url, "https://model.invalid:%d/v1", world.front.port);
    world.llm.base_url = url;
    world.llm.proxy = proxy_url;
    harness_check_said(harness_wait(world.harness, ask(&world, "hi")), "hi");
    CHECK_INT(1, raw_server_count(proxy));
    CHECK(strncmp(raw_server_request(proxy, 0), "CONNECT model.invalid:", 22) == 0);
    CHECK(strstr(raw_server_request(proxy, 0), "sk-secret") == NULL);
    close_world(&world);
}

int main(void)
{
    tls_front_init("IP:127.0.0.1,DNS:model.invalid");
    check_run_cases(NULL);
    tls_front_fini();
    return check_summary();
}
