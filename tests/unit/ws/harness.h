/*
 * harness.h — an actor on a loop with a sma_ws of its own, driven from the test's thread.
 *
 * ws_on_actor runs a function on the actor's thread and waits for it. What happens to a client is
 * noted in it, by the actor's thread under the harness's lock; ws_wait waits until a condition over
 * such notes holds.
 */
#ifndef SMA_TEST_WS_HARNESS_H
#define SMA_TEST_WS_HARNESS_H

#include "platform/ws_server.h"
#include "sma/ws.h"
#include "support/check.h"

struct ws_harness;

struct client
{
    struct ws_harness *harness;
    struct sma_ws_conn *conn; /* NULL after closed */
    /* notes */
    unsigned opened_count, message_count, closed_count;
    size_t bytes_count;
    char text[256]; /* beginning of the newest message */
    size_t text_len;
    bool is_binary;
    uint64_t hash, read_ns;
    struct sma_ws_closed closed; /* without its slices */
    char reason[512], diagnosis[128];
    /* the ask it was connected with, for another try; url and headers left out */
    struct sma_ws_ask again;
    /* behaviour */
    void (*on_open)(struct client *client);
    void (*on_message)(struct client *client);
    void (*on_closed)(struct client *client);
};

struct ws_harness *ws_harness_start(const char *ca_file);
struct ws_harness *ws_harness_start_through(const char *ca_file, const struct sma_proxy *proxy);
/** Stops the actor, closing the sma_ws first; all clients must be told or dropped. Checks that the
 *  loop ended clean. */
void ws_harness_stop(struct ws_harness *harness);
void ws_on_actor(struct ws_harness *harness, void (*run)(void *user), void *user);
struct sma_ctx *ws_ctx_of(struct ws_harness *harness); /* on the actor's thread */
struct sma_ws *ws_of(struct ws_harness *harness);      /* on the actor's thread */
enum sma_err ws_try_open(struct ws_harness *harness, const char *ca_file, struct sma_error *error);
/* on the actor's thread: the test has closed it */
void ws_forget(struct ws_harness *harness);
/** Ends the test when it does not hold within 5 s. */
void ws_wait(struct ws_harness *harness, bool (*holds)(void *user), void *user, const char *what);
void ws_lock(struct ws_harness *harness);
void ws_unlock(struct ws_harness *harness);
/** CPU time and voluntary switches of the actor's thread so far. */
void ws_actor_cost(struct ws_harness *harness, long *ret_cpu_us, long *ret_switches);

/* clients */
void client_connect(struct ws_harness *harness, struct client *client, const char *url);
enum sma_err client_try(struct ws_harness *harness, struct client *client,
                        const struct sma_ws_ask *ask);
enum sma_err client_send(struct client *client, struct sma_str bytes, bool is_binary);
void client_end(struct client *client, unsigned code);
void client_pause(struct client *client, bool is_paused);
void client_wait_open(struct client *client);
void client_wait_closed(struct client *client);
void client_wait_messages(struct client *client, unsigned count);
/** One number read under the lock. */
#define CLIENT_GET(client, field)                           \
    (__extension__({                                        \
        ws_lock((client)->harness);                         \
        __typeof__((client)->field) got_ = (client)->field; \
        ws_unlock((client)->harness);                       \
        got_;                                               \
    }))

#endif
