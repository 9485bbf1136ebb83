/*
 * fake_qq_priv.h — what the parts of the fake QQ platform share. Everything is guarded by the
 * server's lock.
 */
#ifndef FAKE_QQ_PRIV_H
#define FAKE_QQ_PRIV_H

#include "fake_qq.h"

#include "sma/buf.h"

#define QQ_CHAT_TABLE_SIZE 16384 /* power of two */
#define QQ_INTENT_GUILDS (UINT32_C(1) << 0)
#define QQ_INTENT_MEMBERS (UINT32_C(1) << 1)
#define QQ_INTENT_GUILD_MESSAGES (UINT32_C(1) << 9)
#define QQ_INTENT_REACTIONS (UINT32_C(1) << 10)
#define QQ_INTENT_DIRECT (UINT32_C(1) << 12)
#define QQ_INTENT_CHAT (UINT32_C(1) << 25)
#define QQ_INTENT_INTERACTION (UINT32_C(1) << 26)
#define QQ_INTENT_AUDIT (UINT32_C(1) << 27)
#define QQ_INTENT_PUBLIC (UINT32_C(1) << 30)
#define QQ_NO_PAYLOAD SIZE_MAX
#define QQ_LINK_MS 3600000 /* of an attachment; the platform says no more than that it ends */

enum scene
{
    SCENE_C2C,
    SCENE_GROUP,
    SCENE_CHANNEL,
    SCENE_DM,
};
/* Replies to one message or event. */
struct replies
{
    unsigned count;
    int64_t *seqs; /* msg_seq used up */
    size_t seq_count, seq_room;
};
/* One event. What is pushed is {"op":0,"s":..,"t":type,"id":id,"d":data}. */
struct payload
{
    const char *type;
    char *id, *data;
    uint32_t intent; /* the bit that asks for it */
    uint64_t shard_key;
    size_t chat, message;          /* SIZE_MAX: none */
    int64_t wall_ms;               /* of the fake's clock */
    uint64_t pushed_ns;            /* first written to somebody; 0 = not yet */
    const struct session *session; /* the last that took it; NULL: none */
    struct replies replies;        /* by event_id */
    unsigned webhook_tries;        /* done so far */
    bool is_webhook_done;
};
struct message
{
    char *id, *text;
    bool is_ours, is_recalled;
    bool is_load; /* theirs: answered by a text with its token, and nothing else */
    int64_t wall_ms;
    uint64_t ns;            /* ours: the platform had it, monotonic */
    size_t payload;         /* theirs */
    uint64_t reply_ns;      /* theirs: first reply came */
    struct replies replies; /* theirs */
    char *replied;          /* ours: msg_id or event_id, "" = active */
    char *kind;             /* ours: text markdown media input */
    char *detail;           /* ours: keyboard, or what file */
    int64_t msg_seq;
    bool is_stream, is_streaming; /* ours: sent in pieces; its last piece has not come */
    int64_t piece;                /* index of the last one */
    uint64_t piece_ms;
};
struct chat
{
    struct chat *next;
    size_t index;
    enum scene scene;
    char key[96];
    const char *id; /* in key */
    char guild[40], user[72], name[64];
    bool refuses, is_gone, is_muted, refuses_active, tells_all;
    struct message *messages;
    size_t message_count, message_room;
    unsigned typing_count;
    int64_t active_from_ms; /* of the minute that is counted */
    unsigned active_count;
    int64_t active_day; /* that is counted, since 1970 */
    unsigned active_day_count;
    size_t load_left; /* of a load: messages to come */
};
struct session
{
    struct session *next; /* older */
    char id[48];
    unsigned shard, shard_count;
    uint32_t intents;
    struct entry
    {
        int64_t seq;
        size_t payload; /* QQ_NO_PAYLOAD: READY, RESUMED */
    } * entries;
    size_t entry_count, entry_room;
    int64_t last_seq, beat_seq, resumed_from; /* what the client told */
    unsigned conn;                            /* 0: nobody listens */
    uint64_t lost_ms;                         /* since when */
    bool is_ended;
};
struct link
{
    struct link *next;
    unsigned conn;
    struct session *session;                             /* NULL: has not introduced itself */
    uint64_t opened_ms, beat_ms, window_ms, close_at_ms; /* close_at: 0 = not planned */
    unsigned window_count, close_code;
    bool is_closing;
};
struct file /* for people's attachments and the bot's uploads */
{
    char *id, *name, *bytes;
    size_t len;
    int64_t given_ms; /* when its link was made, by the platform's clock */
};
struct upload /* in parts */
{
    char id[32], scope[96];
    int64_t file_type;
    uint64_t size, block_size;
    char md5[33], sha1[41], md5_10m[33];
    char *bytes;
    unsigned char *part_states; /* 0 nothing, 1 bytes came, 2 finished */
    size_t part_count;
};
struct media
{
    char info[48], scope[96];
    char *what;       /* for people */
    int64_t until_ms; /* 0: no end */
};
struct interaction
{
    char id[40];
    uint64_t pushed_ns;
    int64_t code; /* -1: not acknowledged */
    unsigned ack_count;
    int64_t took_ms;
};
struct qq_load
{
    bool is_flood;
    size_t chat_count, chats_made, total, started, finished, per_chat, first;
    uint64_t interval_ns, next_ns; /* flood */
    char text[256];                /* with %s for the token */
};
struct fake_qq
{
    struct platform platform;
    struct ws_server *server;
    struct platform_sender *sender;
    bool is_stopping;
    uint64_t number; /* for ids */
    int64_t clock_skew_ms;

    char app[40];
    char token[40], old_token[40];
    int64_t token_until_ms, old_token_until_ms; /* of the fake's clock */
    int64_t token_life_s, token_overlap_s;
    bool is_expiry_number;

    struct chat *chats[QQ_CHAT_TABLE_SIZE];
    struct chat **chat_list;
    size_t chat_count, chat_room;
    struct payload *payloads;
    size_t payload_count, payload_room;
    struct file *files;
    size_t file_count, file_room;
    struct upload *uploads;
    size_t upload_count, upload_room;
    struct media *media;
    size_t media_count, media_room;
    struct interaction *interactions;
    size_t interaction_count, interaction_room;
    json_t *refusals; /* [{call, code, chat}] */

    struct session *sessions; /* newest first */
    struct link *links;
    char gateway_url[256];      /* "" = this server's */
    struct ws_server *impostor; /* with a certificate of its own making; NULL = none yet */
    uint64_t heartbeat_ms, session_ms;
    uint32_t intents_allowed;
    int64_t identify_total, identify_remaining, identify_concurrency;
    uint64_t identify_window_ms;
    int64_t identify_window_count;
    int64_t shards_told;
    bool is_hello_off, is_ack_off;
    /* what an unknown session gets: "op9", "4006", "4007"; always: "!" in front */
    char resume_refusal[16];
    int64_t upgrade_refusals;
    int upgrade_status; /* 0: no answer at all */
    size_t fragment_count;
    size_t oversize_bytes;

    bool is_stream_off; /* the bot has no right to stream_messages */
    uint64_t stream_second;
    int64_t stream_count;
    uint64_t stream_refused_count; /* pieces: too fast, out of order, not what was shown */
    bool is_markdown_off, is_keyboard_off, is_active_off, is_audit, refuses_urls, notes_refused;
    bool answers_elsewhere; /* answers of channels name another channel than was asked for */
    int64_t text_max, active_per_minute, active_per_day, per_second, block_size, file_bytes_max,
        media_ttl_s;
    int64_t window_scale; /* windows are that many times shorter */
    int64_t interaction_ms_max;
    uint64_t rate_second;
    int64_t rate_count;

    char webhook_path[256];
    int webhook_port; /* 0: gateway */
    int64_t webhook_retry_ms;
    unsigned webhook_tries_max;
    struct webhook_retry
    {
        size_t payload;
        uint64_t at_ms;
    } * webhook_retries;
    size_t webhook_retry_count, webhook_retry_room;

    uint64_t identify_count, resume_count, resume_refused_count, beat_count, event_count,
        replay_count, lost_count, filtered_count, closed_by_us_count, sent_count, duplicate_count,
        webhook_sent_count, webhook_failed_count, webhook_taken_count, leak_count, token_count;
    unsigned client_close_code;
    struct qq_load load;
};

/* -- fake_qq.c --------------------------------------------------------------------------------- */
int64_t fake_qq_now_ms(const struct fake_qq *fake); /* wall clock, as skewed */
uint64_t fake_qq_ticks_ms(void);                    /* monotonic */
struct chat *fake_qq_chat(const struct fake_qq *fake, const char *key);
/** Finds it too. @return NULL: the key has another form */
struct chat *fake_qq_add_chat(struct fake_qq *fake, const char *key);
struct message *fake_qq_add_message(struct fake_qq *fake, struct chat *chat, bool is_ours);
/** By its id; NULL: there is none. */
struct message *fake_qq_message(const struct fake_qq *fake, const char *id, struct chat **ret_chat);
/** Newest payload: type is constant, data is taken over. The id is made here. @return its index */
size_t fake_qq_add_payload(struct fake_qq *fake, const char *type, char *data, size_t chat,
                           size_t message);
struct payload *fake_qq_payload(const struct fake_qq *fake, const char *id);
size_t fake_qq_add_file(struct fake_qq *fake, const char *name, struct sma_str bytes);
void fake_qq_put_time(char *text, size_t size, int64_t wall_ms, bool is_old_form);

/* -- fake_qq_gateway.c ------------------------------------------------------------------------- */
void fake_qq_upgrade(struct fake_qq *fake, const struct ws_server_request *request);
void fake_qq_link_message(struct fake_qq *fake, unsigned conn, struct sma_str bytes,
                          bool is_binary);
void fake_qq_link_closed(struct fake_qq *fake, unsigned conn, unsigned code);
/** Send it to who is to have it: a session, or the webhook. @return false: nobody took it */
bool fake_qq_push(struct fake_qq *fake, size_t payload);
void fake_qq_tick_links(struct fake_qq *fake, uint64_t now_ms);
struct link *fake_qq_link(const struct fake_qq *fake, unsigned conn);
/** Close frame with this code; codes that end a session end it. */
void fake_qq_close_link(struct fake_qq *fake, struct link *link, unsigned code, const char *reason);
/** The session cannot be resumed any more. */
void fake_qq_end_session(struct session *session);
bool fake_qq_has_ready_link(const struct fake_qq *fake);
void fake_qq_put_frame(struct sma_buf *out, int64_t seq, const struct payload *payload);

/* -- fake_qq_events.c: commands of people ------------------------------------------------------ */
json_t *fake_qq_say(void *fake, const json_t *command);
json_t *fake_qq_press(void *fake, const json_t *command);
json_t *fake_qq_relate(void *fake, const json_t *command);
json_t *fake_qq_emit(void *fake, const json_t *command);
json_t *fake_qq_start_load(void *fake, const json_t *command);
json_t *fake_qq_latencies(void *fake, const json_t *command);
void fake_qq_tick_load(struct fake_qq *fake, uint64_t now_ns);
/** Text of ours in the chat: does it answer a message of the load? */
void fake_qq_load_answered(struct fake_qq *fake, struct chat *chat, const char *text);

/* -- fake_qq_rest.c, fake_qq_send.c, fake_qq_media.c ------------------------------------------- */
#define REST_PART_COUNT_MAX 6
struct rest
{
    struct fake_qq *fake;
    struct platform_call call;
    const struct ws_server_request *request;
    const char *name; /* of the call: "send" ... */
    char *path;       /* cut into parts */
    const char *parts[REST_PART_COUNT_MAX];
    size_t part_count;
    json_t *body; /* an object, or NULL */
    enum scene scene;
    struct chat *chat; /* NULL: no such chat, or the call concerns none */
};
void fake_qq_serve(struct fake_qq *fake, const struct ws_server_request *request);
/** Answer in the platform's form of an error and note it. */
void fake_qq_refuse(struct rest *rest, int status, int64_t code, const char *message);
void fake_qq_answer(struct rest *rest, int status,
                    json_t *body); /* takes the body over; NULL: none */
void fake_qq_do_send(struct rest *rest);
void fake_qq_do_stream(struct rest *rest);
/** Messages in pieces that people see without their last one. */
size_t fake_qq_unfinished(const struct fake_qq *fake);
void fake_qq_do_recall(struct rest *rest);
void fake_qq_do_files(struct rest *rest);
void fake_qq_do_upload_prepare(struct rest *rest);
void fake_qq_do_upload_finish(struct rest *rest);
void fake_qq_do_upload_put(struct rest *rest);
void fake_qq_do_download(struct rest *rest);
/** What file_info names, in this scope; NULL: nothing, or no longer. */
const struct media *fake_qq_media(const struct fake_qq *fake, const char *info, const char *scope);
void fake_qq_hex_digest(const char *kind, struct sma_str bytes, char *ret_hex);

/* -- fake_qq_webhook.c ------------------------------------------------------------------------- */
void fake_qq_post_event(struct fake_qq *fake, size_t payload);
void fake_qq_tick_webhook(struct fake_qq *fake, uint64_t now_ms);
/** Hex signature of timestamp and body, with a key made from the secret; 129 bytes. */
void fake_qq_sign(const char *secret, const char *timestamp, const char *body, char *ret_hex);
/** Commands that talk to the bot: without the lock. NULL: it is another command. */
json_t *fake_qq_talk(struct fake_qq *fake, const json_t *command);

/* -- fake_qq_control.c ------------------------------------------------------------------------- */
json_t *fake_qq_control(struct fake_qq *fake, const json_t *command);

#endif
