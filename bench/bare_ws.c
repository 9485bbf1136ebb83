/*
 * bare_ws.c — the reference of bench_ws: a libwebsockets client that counts the frames it gets and
 * does nothing else.
 *   bare_ws PORT        for each line on standard input it prints the count so far; ends with
 *   standard input.
 */
#include <libwebsockets.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_ullong frame_count;
static atomic_bool is_ending;
static struct lws_context *context;

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t len)
{
    (void)user;
    (void)in;
    (void)len;
    if (reason == LWS_CALLBACK_CLIENT_RECEIVE && lws_is_final_fragment(wsi) &&
        lws_remaining_packet_payload(wsi) == 0)
        atomic_fetch_add_explicit(&frame_count, 1, memory_order_relaxed);
    if (reason == LWS_CALLBACK_CLIENT_CONNECTION_ERROR || reason == LWS_CALLBACK_CLIENT_CLOSED)
        exit(1);
    return 0;
}

static void *answer(void *unused)
{
    char line[16];
    (void)unused;
    while (fgets(line, sizeof line, stdin) != NULL) {
        printf("%llu\n", atomic_load(&frame_count));
        fflush(stdout);
    }
    atomic_store(&is_ending, true);
    lws_cancel_service(context);
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct lws_protocols protocols[] = {{"events", on_event, 0, 65536, 0, NULL, 65536},
                                                     {0}};
    struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN,
                                             .protocols = protocols,
                                             .options = LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS |
                                                        LWS_SERVER_OPTION_DISABLE_IPV6};
    pthread_t thread;
    if (argc != 2)
        return 2;
    lws_set_log_level(LLL_ERR, NULL);
    context = lws_create_context(&info);
    struct lws_client_connect_info connect = {.context = context,
                                              .address = "127.0.0.1",
                                              .port = (int)strtol(argv[1], NULL, 10),
                                              .path = "/bare",
                                              .host = "127.0.0.1",
                                              .origin = "127.0.0.1"};
    if (context == NULL || lws_client_connect_via_info(&connect) == NULL ||
        pthread_create(&thread, NULL, answer, NULL) != 0)
        return 1;
    while (!atomic_load(&is_ending) && lws_service(context, 0) >= 0) {
    }
    pthread_join(thread, NULL);
    lws_context_destroy(context);
    return 0;
}
