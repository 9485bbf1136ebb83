/*
 * qq_tester.h — a client of the fake QQ platform, for its own tests: REST calls and a gateway
 * connection.
 */
#ifndef QQ_TESTER_H
#define QQ_TESTER_H

#include "qq/fake_qq.h"
#include "raw_ws.h"
#include "support/check.h"
#include "support/patience.h"

#define ANN "A1B2C3D4E5F60718293A4B5C6D7E8F90"
#define ANN_CHAT "c2c:" ANN
#define TEAM "B2C3D4E5F60718293A4B5C6D7E8F90A1"
#define TEAM_CHAT "group:" TEAM
#define PLACE_CHAT "channel:100010"
#define DM_CHAT "dm:900001"
#define USUAL_INTENTS 1174409219
#define ANSWER_MS PATIENCE_AWAIT_MS

struct qq_tester
{
    struct fake_qq *fake;
    struct platform_client client;
    int port;
    char token[64];
};
extern struct qq_tester tester;

/** A fresh platform with its chats, and a token. */
void qq_start(void);
void qq_stop(void);
/** Fetch a token, which must be given. */
void qq_log_in(void);
/** One call with this token ("" = no header); status 0: no whole answer. */
struct http_answer qq_ask(const char *method, const char *path, const char *token,
                          const char *body);
/** One call with the token; its status is checked. @return the body; NULL when it has none. Decref
 *  it. */
json_t *qq_call(int status, const char *method, const char *path, const char *body);
/** A call that must be refused with this code, in the platform's form. */
void qq_refused(int status, int64_t code, const char *method, const char *path, const char *body);
/** A message to ANN (or TEAM): members of the body after the brace. */
json_t *qq_sent(const char *chat, const char *members);
void qq_not_sent(int64_t code, const char *chat, const char *members);
/** Somebody says it. @return malloc'ed id */
char *qq_say(const char *chat, const char *text);
int64_t qq_count(const char *counter);
/** Refusals of the same kind are what a test is about: the body with a long text in place of %s. */
char *qq_fill(const char *format, const char *text);

/* -- gateway ----------------------------------------------------------------------------------- */
/** A connection that has been greeted. */
void qq_connect(struct raw_ws *ws);
void qq_put(struct raw_ws *ws, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** The next payload; decref it. NULL: none in that time, or the end. */
json_t *qq_take(struct raw_ws *ws, int timeout_ms);
/** The next payload must be this op, and this type ("" = any). Decref it. */
json_t *qq_expect(struct raw_ws *ws, int op, const char *type);
/** The connection must be closed now with this code, whatever comes before. */
void qq_expect_close(struct raw_ws *ws, unsigned code);
void qq_identify(struct raw_ws *ws, int64_t intents);
/** connect, identify, READY. @return malloc'ed session id */
char *qq_ready(struct raw_ws *ws);
void qq_resume(struct raw_ws *ws, const char *session, int64_t seq);
int64_t qq_seq(json_t *payload); /* its s; drops it */
/** Content of an event's message; drops the payload. */
void qq_expect_content(struct raw_ws *ws, const char *text, int64_t seq);

#endif
