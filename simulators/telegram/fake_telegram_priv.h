/*
 * fake_telegram_priv.h — what the parts of the fake Bot API share. Everything is used under
 * fake->lock.
 */
#ifndef FAKE_TELEGRAM_PRIV_H
#define FAKE_TELEGRAM_PRIV_H

#include "fake_telegram.h"
#include "platform/fake_platform.h"
#include "sma/buf.h"
#include "sma/text.h"

#include <pthread.h>

#define CHAT_TABLE_SIZE 16384 /* a power of two */
#define TOPIC_COUNT_MAX 32
#define ADMIN_COUNT_MAX 16
#define UPLOAD_COUNT_MAX 4
#define BODY_BYTES_MAX (64u << 20)
#define TEXT_UNITS_MAX 4096
#define CAPTION_UNITS_MAX 1024
#define TEXT_BYTES_MAX 32768
#define DOWNLOAD_BYTES_MAX (20u << 20)
#define ANSWER_BYTES_MAX (4u << 20)

/* -- people, chats, messages ------------------------------------------------------------------- */
struct user
{
    int64_t id;
    char *first_name, *username, *language;
    bool is_bot;
};

struct message
{
    int64_t id, from, thread, reply_to;
    bool is_ours, is_deleted, is_plain; /* is_plain: no parse_mode */
    char *text;                         /* as people read it; the caption of a file */
    char *raw;                          /* ours: as the bot sent it */
    char *markup;                       /* ours: the inline keyboard as JSON; NULL = none */
    char *reaction;                     /* the emoji the bot has put on it; NULL = none */
    const char *kind;                   /* "text", "document" ... */
    char *json;                         /* the Message object */
    size_t file;                        /* index into files + 1; 0 = none */
    unsigned edit_count;
    uint64_t ns;        /* made */
    uint64_t handed_ns; /* its update was first handed out */
    uint64_t reply_ns;  /* the first of our messages that names it came */
    bool is_confirmed;
};

struct chat
{
    int64_t id, migrated_to;
    const char *type;
    char *title;
    bool is_forum, is_blocked, is_kicked;
    uint32_t forbidden;       /* bits: rows of fake_forbid's table */
    struct message *messages; /* message id = id_offset + index + 1 */
    int64_t id_offset;
    size_t message_count, message_room;
    int64_t topics[TOPIC_COUNT_MAX];
    size_t topic_count;
    int64_t admins[ADMIN_COUNT_MAX];
    size_t admin_count;
    int64_t draft_id;
    char *draft;
    unsigned draft_count, action_count;
    int64_t action_thread;
    uint64_t window_ns; /* rate: start of the second that counts */
    unsigned window_count;
    uint64_t minute_ns; /* the same of a group's minute */
    unsigned minute_count;
    uint64_t *written_ns; /* messages and edits that were taken, as the rate counts them */
    size_t written_count, written_room;
    bool is_delivering; /* webhook: one update at a time */
    size_t load_count;  /* answers the load still waits for here; 0: no load */
};

struct file
{
    char *id, *path, *name;
    char *bytes;
    size_t len;
};

struct callback
{
    char id[32];
    uint64_t ns;
    uint64_t answered_ns;
    bool is_answered, is_alert;
    char *text;
    int64_t user;
};

struct update
{
    int64_t id, chat_id, message_id;
    int64_t keep_until; /* of the platform's clock: nobody fetched it until then, it is dropped */
    char *json;         /* the member beside update_id: "message":{...} */
    uint64_t handed_ns;
    unsigned handed_count, attempt_count;
    uint64_t not_before_ns; /* webhook: next try */
    bool is_confirmed, is_delivering;
};

/* -- faults ------------------------------------------------------------------------------------ */
enum fault_kind
{
    FAULT_NONE,
    FAULT_CLOSE,       /* before anything is done */
    FAULT_HALF_OPEN,   /* nothing is done, nothing is answered, the connection stays */
    FAULT_LOSE_ANSWER, /* done, and the connection is cut */
    FAULT_CUT,         /* done, half of the body is sent */
    FAULT_SLOW,        /* done, `bytes` at a time every `ms` */
    FAULT_DELAY,       /* done, answered after `ms` */
    FAULT_STATUS,      /* not done: this status in the platform's shape */
    FAULT_HTML,        /* not done: a proxy's page with this status */
    FAULT_GARBAGE,     /* done, and the answer is no JSON */
    FAULT_OTHER_CHAT,  /* done, and the answer is a message of another chat */
};
struct fault
{
    char method[32]; /* lower case; "*" any method, "file" downloads */
    enum fault_kind kind;
    long times, skip, ms, bytes, status, seconds;
    int64_t chat_id; /* 0: any */
    char text[128];  /* STATUS: the description; "" = as the platform says it */
    char holds[64];  /* only calls whose members, as JSON, hold this; "" = any */
};

/* -- connections ------------------------------------------------------------------------------- */
enum peer_kind
{
    PEER_CLIENT,  /* somebody calls us */
    PEER_WEBHOOK, /* we call the bot */
};
struct connection
{
    enum peer_kind kind;
    int fd;
    struct connection *next, *previous;
    bool is_closed; /* waits for fake_bury: an event of it may still be in the batch */
    struct sma_buf in, out;
    size_t sent;
    uint64_t resume_ns; /* do not write before */
    struct fault fault; /* bends the answer under way */
    bool is_busy, is_dead, is_closing, is_writing_watched, is_continued;
    bool is_polling;
    int64_t poll_offset;
    size_t poll_limit;
    uint64_t poll_until_ns;
    struct update *update; /* webhook: under way */
};

struct load
{
    size_t chat_count; /* made so far */
    size_t total, started, finished;
    size_t per_chat; /* then another chat takes its place */
    int64_t first_chat;
    int64_t id_offset; /* message ids begin behind it */
    char text[256];    /* with %s for the token */
};

struct fake_telegram
{
    pthread_mutex_t lock;
    pthread_t thread;
    bool is_stopping;
    int port, listen_fd, epoll_fd, wake_fd;
    struct connection *connections, *closed;
    size_t paused_count;

    char token[128];
    bool is_revoked, reads_all;
    int64_t clock_skew_s;
    struct user *users;
    size_t user_count, user_room;
    uint32_t user_slots[CHAT_TABLE_SIZE]; /* index into users + 1, by id */
    struct chat *chats[CHAT_TABLE_SIZE];
    struct file *files;
    size_t file_count, file_room;
    struct callback *callbacks;
    size_t callback_count, callback_room;
    uint64_t callback_ms_max;
    uint64_t number; /* for ids */

    struct update **updates; /* every one there ever was */
    size_t update_count, update_room;
    struct update **queue; /* not confirmed, oldest at queue_first */
    size_t queue_first, queue_end, queue_room;
    int64_t next_update_id;
    uint32_t allowed; /* bit by type */
    struct connection *poll;

    char webhook_url[512], webhook_secret[257], webhook_host[64];
    int webhook_port;
    size_t webhook_count_max, webhook_open_count;
    uint64_t webhook_retry_ms;

    struct fault *faults;
    size_t fault_count, fault_room;
    unsigned chat_per_second, bot_per_second, group_per_minute;
    uint64_t bot_window_ns;
    unsigned bot_window_count;
    json_t *commands; /* last setMyCommands by scope */
    json_t *counts;   /* calls by method */
    uint64_t handed_count, confirmed_count, sent_count, conflict_count, refused_count,
        expired_count, preview_count;   /* preview: addresses that the platform fetched by itself */
    uint64_t flooded_count, same_count; /* refused: too fast; edits that change nothing */
    struct load load;
};

/* -- fake_telegram.c: the state ---------------------------------------------------------------- */
uint64_t fake_now_ns(void);
int64_t fake_date(const struct fake_telegram *fake);
/** Grow a list to hold count + 1; ends the process when there is no memory. */
void *fake_grow(void *list, size_t count, size_t *room, size_t size);
char *fake_copy(struct sma_str text);
struct chat *fake_chat(const struct fake_telegram *fake, int64_t id);
struct chat *fake_add_chat(struct fake_telegram *fake, int64_t id, const char *type,
                           const char *title);
struct user *fake_user(const struct fake_telegram *fake, int64_t id);
struct user *fake_add_user(struct fake_telegram *fake, int64_t id, const char *first_name,
                           const char *username, const char *language);
struct message *fake_message(const struct chat *chat, int64_t id);
struct message *fake_add_message(struct chat *chat);
size_t fake_add_file(struct fake_telegram *fake, const char *kind, const char *name,
                     struct sma_str bytes);
/** A file that a person sends, into the message and its tree. wanted: as command "say" has it. */
void fake_put_file(struct fake_telegram *fake, struct message *message, json_t *tree,
                   const json_t *wanted);
const struct file *fake_find_file(const struct fake_telegram *fake, const char *id,
                                  const char *path);
bool fake_has_topic(const struct chat *chat, int64_t thread);
void fake_put_user(struct sma_buf *out, const struct user *user);
void fake_put_bot(struct sma_buf *out);
void fake_put_chat(const struct fake_telegram *fake, struct sma_buf *out, const struct chat *chat);
/** A number of ours names a message of theirs: "m<chat>-<message>". */
struct message *fake_find_token(const struct fake_telegram *fake, const char *text,
                                struct chat **ret_chat);

/* -- fake_telegram_updates.c ------------------------------------------------------------------- */
/** Queue an update of this type; json (the whole member) is copied. false: the type is not allowed,
 *  no number used. */
bool fake_queue_update(struct fake_telegram *fake, const char *type, const char *json,
                       int64_t chat_id, int64_t message_id);
/** Queue one again that was confirmed. */
void fake_requeue(struct fake_telegram *fake, struct update *update);
/** The bits of a list of names. */
uint32_t fake_allowed_mask(const json_t *list);
void fake_poll(struct fake_telegram *fake, struct connection *connection, const json_t *params);
/** Answer the waiting poll when there is something or its time is over. */
void fake_serve_poll(struct fake_telegram *fake, uint64_t now);
void fake_drop_queue(struct fake_telegram *fake);
/** What waited longer than the platform keeps it goes. */
void fake_expire_updates(struct fake_telegram *fake);
void fake_confirm(struct fake_telegram *fake, struct update *update);
size_t fake_queue_length(const struct fake_telegram *fake);

/* -- fake_telegram_http.c ---------------------------------------------------------------------- */
struct connection *fake_open_connection(struct fake_telegram *fake, enum peer_kind kind, int fd);
void fake_close_connection(struct fake_telegram *fake, struct connection *connection);
/** Free what was closed; between two batches of events. */
void fake_bury(struct fake_telegram *fake);
void fake_respond(struct fake_telegram *fake, struct connection *connection, int status,
                  const char *type, const char *headers, struct sma_str body);
/** @return false when the connection was closed */
bool fake_write_some(struct fake_telegram *fake, struct connection *connection);
void fake_handle_event(struct fake_telegram *fake, struct connection *connection, uint32_t events);
void fake_accept(struct fake_telegram *fake);
/** Write what was paused; @return ms until the next pause ends, -1: none. */
int fake_resume(struct fake_telegram *fake, uint64_t now);

/* -- fake_telegram_webhook.c ------------------------------------------------------------------- */
bool fake_set_webhook(struct fake_telegram *fake, const char *url, const char *secret);
/** Start deliveries that may start; @return ms until one may, -1: none waits. */
int fake_deliver(struct fake_telegram *fake, uint64_t now);
void fake_webhook_event(struct fake_telegram *fake, struct connection *connection, uint32_t events);

/* -- fake_telegram_html.c ---------------------------------------------------------------------- */
/** Plain text of HTML as the platform reads it, entities as a JSON list (or empty). NULL: fine,
 *  else what is wrong. */
const char *fake_parse_html(struct sma_str html, struct sma_buf *plain, struct sma_buf *entities);
/** The same for MarkdownV2, without entities: escapes and reserved characters are checked. */
const char *fake_parse_markdown(struct sma_str text, struct sma_buf *plain);

/* -- fake_telegram_rules.c --------------------------------------------------------------------- */
/** What is wrong with a reply_markup; NULL: nothing. */
const char *fake_check_keyboard(const json_t *markup);
/** Is this call one too many, for the bot, the chat or a group's minute? It counts.
 *  *ret_wait_s: whole seconds until one is taken again. */
bool fake_is_flooded(struct fake_telegram *fake, struct chat *chat, long *ret_wait_s);
/** What is wrong with the bytes of a photo; NULL: nothing. */
const char *fake_check_photo(struct sma_str bytes);
/** What is wrong with a list of reactions; NULL: nothing. *ret_emoji: of the first, NULL to take it
 *  away. */
const char *fake_check_reactions(const json_t *list, const char **ret_emoji);
/** The same of setMyCommands. */
const char *fake_check_commands(const json_t *list);

/* -- fake_telegram_methods.c ------------------------------------------------------------------- */
/** @return false: nobody can forbid that */
bool fake_forbid(struct chat *chat, const char *what);
/** Why the chat does not take this request, with the status; NULL: it does. */
const char *fake_forbidden(const struct chat *chat, const char *method, const json_t *params,
                           int *ret_status);
bool fake_is_admin(const struct chat *chat, int64_t user);
/** Do one method and answer it. `method` in lower case. */
void fake_call(struct fake_telegram *fake, struct connection *connection, const char *method,
               json_t *params, const struct platform_upload *uploads, size_t upload_count);
void fake_answer_error(struct fake_telegram *fake, struct connection *connection, int status,
                       const char *description, long retry_after, int64_t migrate_to);

/* -- fake_telegram_control.c ------------------------------------------------------------------- */
json_t *fake_control(struct fake_telegram *fake, const json_t *command);
/** A load chat got its answer: the next message. */
void fake_load_answered(struct fake_telegram *fake, struct chat *chat);

#endif
