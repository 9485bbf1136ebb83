/*
 * fake_platform.h — what all fake platforms are made of: commands as JSON, a handle for tests,
 * weather for REST calls, forms, and a sender of webhooks. The server itself is support/ws_server.
 *
 * A fake is told what people do and what goes wrong by commands: JSON objects with a member "do",
 * in process or by POST /control; the answer is JSON too, {"error":...} when it could not be done.
 *
 * Threads: commands and REST run under the lock of the fake; the client and the sender have their
 * own.
 */
#ifndef FAKE_PLATFORM_H
#define FAKE_PLATFORM_H

#include "platform/http_client.h"
#include "platform/ws_server.h"

#include <jansson.h>
#include <stdarg.h>

/* -- small things ------------------------------------------------------------------------------ */
uint64_t platform_now_ns(void); /* monotonic */
int64_t platform_wall_ms(void);
/** Grow a list to hold count + 1; ends the process when there is no memory. New room is zeroed. */
void *platform_grow(void *list, size_t count, size_t *room, size_t size);
char *platform_copy(struct sma_str text); /* ends the process when there is no memory */
/** A member of a command or body; the fallback when it is not there or of another type. Text is
 *  borrowed. */
int64_t platform_number(const json_t *tree, const char *member, int64_t fallback);
const char *platform_text(const json_t *tree, const char *member, const char *fallback);
bool platform_flag(const json_t *tree, const char *member, bool fallback);
/** The bytes of a file that a command describes: "text" as it is, "base64", or letters, "size" of
 *  them. malloc'ed. */
char *platform_bytes(const json_t *about, int64_t size, size_t *ret_len);

/* -- commands ---------------------------------------------------------------------------------- */
struct platform_command
{
    const char *name;
    json_t *(*run)(void *fake, const json_t *command);
};
/** Run the command of that name. @return its answer */
json_t *platform_run(const struct platform_command *commands, size_t count, void *fake,
                     const json_t *command);
json_t *platform_problem(const char *text); /* {"error":text} */
json_t *platform_done(void);                /* {} */

/* A handle for tests: a fake in this process, or one elsewhere. */
struct platform_client
{
    json_t *(*run)(void *fake,
                   json_t *command); /* takes the command over; NULL: it is elsewhere, at port */
    void *fake;
    int port;
};
/** json_pack's format and arguments make the command; an error ends the test. @return the answer,
 *  decref it. */
json_t *platform_do(const struct platform_client *client, const char *format, ...);
json_t *platform_vdo(const struct platform_client *client, const char *format, va_list arguments);
/** The same, answer dropped. */
void platform_tell(const struct platform_client *client, const char *format, ...);
/** The same, the integer member `member` of the answer. */
int64_t platform_get(const struct platform_client *client, const char *member, const char *format,
                     ...);

/* -- forms ------------------------------------------------------------------------------------- */
struct platform_upload
{
    char name[64], file_name[256];
    bool has_file_name;
    struct sma_str bytes;
};
/** Pairs of a query or a form, as text members. */
void platform_decode_form(json_t *params, struct sma_str form);
/**
 * Parts of a multipart body: those with a file name, or named in `files` (comma list, may be ""),
 * go to uploads, the rest become text members. @return count of uploads
 */
size_t platform_decode_multipart(json_t *params, struct sma_str body, const char *boundary,
                                 const char *files, struct platform_upload *uploads,
                                 size_t count_max);

/* -- weather of REST calls --------------------------------------------------------------------- */
enum platform_fault_kind
{
    PLATFORM_FAULT_NONE,
    PLATFORM_FAULT_CLOSE,       /* before anything is done */
    PLATFORM_FAULT_HALF_OPEN,   /* nothing is done, nothing is answered, the connection stays */
    PLATFORM_FAULT_LOSE_ANSWER, /* done, and the connection is cut */
    PLATFORM_FAULT_CUT,         /* done, half of the body is sent */
    PLATFORM_FAULT_SLOW,        /* done, `bytes` at a time every `ms` */
    PLATFORM_FAULT_DELAY,       /* done, answered after `ms` */
    PLATFORM_FAULT_STATUS,      /* not done: this status and code in the platform's shape */
    PLATFORM_FAULT_HTML,        /* not done: a proxy's page with this status */
    PLATFORM_FAULT_GARBAGE,     /* done, and the answer is no JSON */
    PLATFORM_FAULT_TOKEN,       /* not done: the token has just ended */
};
struct platform_fault
{
    char method[48]; /* the fake's name of a call; "*" any */
    enum platform_fault_kind kind;
    int64_t times, skip, ms, bytes, status, code, seconds;
    char chat[96];  /* "": any */
    char text[160]; /* STATUS: what it says; "" = as the platform says it */
    char holds[96]; /* only requests whose body holds this; "" = any */
};
/** A refusal that is in nobody's list: a code and words by chance, from `seed`. */
void platform_make_unknown(int64_t seed, int64_t *code, char *text, size_t text_size);
struct platform
{
    struct ws_server *server; /* set by the fake once it runs; what it locks guards this too */
    struct platform_fault *faults;
    size_t fault_count, fault_room;
    json_t *counts;             /* calls by name */
    struct platform_slow *slow; /* answers under way */
};
/* One REST request being handled. */
struct platform_call
{
    struct platform *platform;
    unsigned conn;
    struct platform_fault fault; /* bends the answer */
};
enum platform_weather
{
    PLATFORM_GO_ON, /* do it and platform_respond */
    /* do nothing; answer call->fault.status, .code, .text in the platform's shape (STATUS,
     * TOKEN) */
    PLATFORM_REFUSE,
    PLATFORM_OVER, /* everything has been done */
};
void platform_init(struct platform *platform);
void platform_fini(struct platform *platform); /* after the server has stopped */
/** Count the call and choose its fault. chat: "" when the call concerns none. */
enum platform_weather platform_begin(struct platform *platform, struct platform_call *call,
                                     const struct ws_server_request *request, const char *method,
                                     const char *chat);
/** Answer, as bent as the fault wants. headers: whole lines with CR LF. */
void platform_respond(struct platform_call *call, int status, const char *headers,
                      struct sma_str body);
/** {method kind [times skip ms bytes status code seconds chat text holds]}; kind: the names above
 *  in lower case, or "unknown": a 400 with a code and words that nobody has a row for (seed). */
json_t *platform_add_fault(struct platform *platform, const json_t *command);
void platform_clear_faults(struct platform *platform);
int64_t platform_faults_left(const struct platform *platform);
/** POST /control: run and answer. @return false: it is another request */
bool platform_serve_control(struct ws_server *server, const struct ws_server_request *request,
                            json_t *(*run)(void *fake, const json_t *command), void *fake);

/* -- webhooks ---------------------------------------------------------------------------------- */
struct platform_post
{
    int port;                    /* of 127.0.0.1 */
    char *path, *headers, *body; /* taken over */
    int timeout_ms;
    uint64_t tag;
    /* On a thread of the sender; status 0: no answer. */
    void (*done)(void *user, uint64_t tag, const struct http_answer *answer, uint64_t took_ms);
    void *user;
};
struct platform_sender;
struct platform_sender *platform_sender_create(size_t thread_count);
void platform_sender_post(struct platform_sender *sender, const struct platform_post *post);
/** Drops what has not begun, waits for the rest. Not under a lock that done needs. NULL is fine. */
void platform_sender_destroy(struct platform_sender *sender);
/** http://127.0.0.1:port/path. @return false: another form */
bool platform_parse_url(const char *url, int *ret_port, char *ret_path, size_t path_size);

#endif
