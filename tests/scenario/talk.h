/*
 * talk.h — talking to a running service as its callers do: one question, or many at once (a thread
 * each).
 */
#ifndef SMA_TEST_TALK_H
#define SMA_TEST_TALK_H

#include "http_client.h"
#include "process.h"

#include <jansson.h>
#include <pthread.h>

#define TALK_MS 60000

/* One request on its way. */
struct talk
{
    pthread_t thread;
    int port;
    const char *headers; /* borrowed */
    char *path, *body;
    struct http_answer answer;
    long long started_ms, ended_ms;
};
/** body NULL: GET. `headers` as http_ask has them; must live until talk_wait. */
void talk_start(struct talk *talk, int port, const char *path, const char *headers,
                const char *body);
/** Wait for its end; `answer` is then good until talk_fini. */
void talk_wait(struct talk *talk);
void talk_fini(struct talk *talk);

/** The body of POST /api/execute; message_id NULL: none. Free it. */
char *talk_body(const char *chat_id, const char *message_id, const char *text);
/** An answer as JSON; ends the test when it is none. Decref it. */
json_t *talk_json(const struct http_answer *answer);
/** POST /api/execute and wait: the answer's JSON, HTTP status checked. */
json_t *talk_execute(int port, int status, const char *chat_id, const char *message_id,
                     const char *text);
/** The same, and its output must be successful and contain `part`. */
void talk_expect(int port, const char *chat_id, const char *text, const char *part);
/** GET as JSON with status 200. */
json_t *talk_get(int port, const char *path);
/** A member as a string, "" when it is none. Borrowed. */
const char *talk_text(const json_t *root, const char *member);
/** Bytes on a connection of one's own: NULL-free text in, what came back until the end or the time
 *  (malloc'ed). */
int raw_connect(int port);
/** @return false when the other side has closed */
bool raw_send(int fd, const void *bytes, size_t len);
/** Read until the peer closes, `part` was seen, or timeout_ms are over. Free it. */
char *raw_read(int fd, const char *part, int timeout_ms);

#endif
