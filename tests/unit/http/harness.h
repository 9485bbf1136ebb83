/*
 * harness.h — the real HTTP adapter on its own thread, a fake store and a fake dispatcher on
 * theirs, a supervisor on a fourth; the test itself is the client, with raw sockets.
 *
 * What the fake store does with a message stands in its text:
 *   "later ..."    accepted; its result comes only after a message "release"
 *   "progress ..." like later, and the dispatcher sends progress signals
 *   "silent ..."   not even ACCEPTED before "release"
 *   "busy" "refuse" "ignore"  that verdict
 *   "park ..."     accepted; its run waits for people
 *   "behind ..."   like later; it waits behind a question of its chat, for who wants to know that
 *   "tell 3 tX"    done at once; run 3 tells that its text is X by now, with u that it uses tool X
 *   anything else  accepted, done at once with output "echo: " + text
 * A decision is answered with its id as status when that is a number of three digits, else 200; its
 * text says what was asked. What the fake platform adapter ("fake") does with a webhook stands in
 * its body:
 *   "hold ..."     no answer before a webhook "release"
 *   "refuse ..."   503 with Retry-After: 7
 *   anything else  200 and what it was given, as JSON
 * "ghost" is a webhook of an adapter that has ended.
 * The same event key with the same body hash is a duplicate, with another one a conflict.
 */
#ifndef TEST_HTTP_HARNESS_H
#define TEST_HTTP_HARNESS_H

#include "adapters/http/http.h"
#include "support/check.h"
#include "support/clock.h"

#include "sma/metrics.h"
#include "sma/text.h"

#define HARNESS_TOKEN "the-token-of-the-harness"
#define HARNESS_TOKEN_LINE "X-Api-Token: " HARNESS_TOKEN "\r\n"

struct harness_options
{
    const char *host;        /* NULL = 127.0.0.1 */
    const char *api_token;   /* NULL = HARNESS_TOKEN, which the client sends by itself; "" = none */
    const char *json;        /* adapters.http, NULL = none */
    const char *cors;        /* origins with a space between, NULL = none */
    const char *permissions; /* JSON, NULL = none */
    int port;                /* 0 = any */
    bool has_webhook;        /* with the fake platform adapter */
    const struct sma_sys *sys; /* NULL = real */
};
struct harness;

struct harness *harness_start(const struct harness_options *options);
/** The same, when start must fail: returns the error's text (static storage). */
const char *harness_start_failing(const struct harness_options *options);
/** Ordered shutdown, as on SIGTERM; checks the exit status and that nothing is left. */
void harness_stop(struct harness *harness);
ENDING(harness_stop, struct harness)
/** Begin the shutdown and do not wait. */
void harness_begin_stop(struct harness *harness);
/** Hand out a configuration with another token, as on SIGHUP; returns before it has arrived. */
void harness_reload(struct harness *harness, const char *api_token);
int harness_port(const struct harness *harness);
const char *harness_dir(const struct harness *harness);
/** Webhooks the fake platform adapter has been given, and holds. */
unsigned harness_webhook_count(const struct harness *harness);
/** INGRESS messages the fake store has accepted as new. */
unsigned harness_accepted_count(const struct harness *harness);
/** The parts of the newest of them: "<kind> <path> <name> <type>\n" each. Its text: at most 400
 *  bytes. */
void harness_newest(struct harness *harness, char parts[2048], char text[401]);
/** Its channel, chat key and person, with blanks between. */
void harness_newest_from(struct harness *harness, char from[200]);
/** How often the fake store was asked for its status. */
unsigned harness_status_count(const struct harness *harness);
/** From now on it takes the fake store so long to answer that. */
void harness_slow_status(struct harness *harness, unsigned ms);

struct reply
{
    int status;        /* 0 = closed without an answer */
    char *head, *body; /* NUL-terminated, freed by reply_free */
    size_t body_len;
    bool is_closing;
};
int client_connect(const struct harness *harness);
void client_send(int fd, const void *bytes, size_t len);
void client_text(int fd, const char *text);
struct reply client_read(int fd);
/** Read what comes until `needle` has been seen (event streams); freed by the caller. */
char *client_read_until(int fd, const char *needle);
/** The peer has closed: nothing more comes. */
bool client_is_closed(int fd);
void reply_free(struct reply *reply);
bool reply_has(const struct reply *reply, const char *text);
/** One request on a connection of its own. headers: lines with CR LF, "" = none. Body NULL = none.
 *  The token is added where the harness chose it. */
struct reply request_once(const struct harness *harness, const char *method_path,
                          const char *headers, const char *body);
int request_status(const struct harness *harness, const char *method_path, const char *headers,
                   const char *body);
void client_post(int fd, const struct harness *harness, const char *headers, const void *body,
                 size_t len);
/** CPU seconds of the whole process so far. */
double cpu_seconds(void);
void wait_ms(unsigned ms);

#endif
