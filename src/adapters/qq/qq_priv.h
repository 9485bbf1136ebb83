/*
 * qq_priv.h — the adapter's state and what its parts ask of each other.
 *
 * Invariants: one token request at a time; every ATTEMPT, PREPARE and WEBHOOK is answered exactly
 *             once; an event of the gateway is finished (qq_session_done) only after ACCEPTED or
 *             when it needs no storing; the token and the secret are logged nowhere.
 * Threads:    the adapter's; settings are constant after create.
 */
#ifndef SMA_QQ_PRIV_H
#define SMA_QQ_PRIV_H

#include "qq.h"
#include "qq_event.h"
#include "qq_hook.h"
#include "qq_login.h"
#include "qq_out.h"
#include "qq_session.h"

#include "adapters/common/answers.h"
#include "adapters/common/platform.h"
#include "sma/net.h"
#include "sma/ws.h"

#define QQ_SHARD_COUNT_MAX 16
#define QQ_BACKOFF_MAX_S 60
#define QQ_TOKEN_REFUSED_S 60 /* a wrong secret is tried again this often */
#define QQ_CONTROL_MS 15000   /* token, gateway and the like */
#define QQ_ASK_COUNT_MAX 1024 /* events at the store; at it reading pauses, a webhook gets 503 */
#define QQ_INTERACTION_LATE_MS \
    3000 /* a button turns this long at most; the platform waits about 5 s */
#define QQ_FILE_DATA_BYTES_MAX \
    (10 * 1024 * 1024) /* sent inside the request; larger ones go in blocks */
#define QQ_GARBAGE_COUNT_MAX \
    3 /* unreadable frames in a row that are asked for again; then passed over */
#define QQ_FRESH_COUNT_MAX 64 /* chats whose last word is remembered */
#define QQ_INTERACTION_DONE 0 /* codes of an acknowledged press; the client shows what they mean */
#define QQ_INTERACTION_TOO_OFTEN 2
#define QQ_INTERACTION_NOT_ALLOWED 4
#define QQ_BOT_ID_BYTES_MAX 64

struct qq;

/* -- settings (qq_config.c) -------------------------------------------------------------------- */
struct qq_settings
{
    char *app_id, *secret, *api_root, *token_url, *gateway_url,
        *ca_file; /* never NULL; "" = not given */
    bool is_sandbox, is_webhook, is_markdown, is_keyboard, is_api_default;
    unsigned shard_count;
    uint32_t intents;
    uint32_t per_second, per_chat_minute; /* 0 = none */
    size_t attachment_bytes_max;
};
extern const struct sma_params qq_params;
/** Read the block. NOTFOUND: no credentials. BADINPUT with *error. Release with qq_settings_fini in
 *  any case. */
SMA_CHECKED enum sma_err qq_settings_read(struct qq_settings *settings, const char *project_dir,
                                          const char *json, struct sma_error *error);
void qq_settings_fini(struct qq_settings *settings); /* wipes the secret; accepts a zeroed struct */
void qq_put_intents(struct sma_buf *buf, uint32_t mask); /* their names in adapters.qq.intents */

/* -- requests and the access token (qq_call.c) ------------------------------------------------- */
extern const struct sma_call_ops qq_call_ops;

/* -- may we? (qq_probe.c) ---------------------------------------------------------------------- */
void qq_probe(void *state, struct sma_probing *probing);

/* -- the gateway (qq_gateway.c, qq_keep.c) ----------------------------------------------------- */
struct qq_shard
{
    struct qq *qq;
    unsigned index;
    struct qq_session session;
    uint8_t seen_state; /* enum qq_session_state when last looked at, for the log */
    struct sma_ws_conn *conn;
    struct sma_call *call;   /* on the way to a connection */
    uint64_t connect_due_ns; /* waits for its turn among the shards; UINT64_MAX = does not */
    uint64_t link;           /* counts connections: verdicts of an older one close none */
    uint32_t epoch;          /* marks the session in the cursor; 0 = no session yet */
    uint64_t cursor_ask_id;
    bool is_started, is_paused;
    bool is_up;        /* READY, as last told */
    uint64_t ready_ns; /* since when, or when last; 0 = never */
    unsigned garbage_count, trouble_count;
    uint32_t told_intents; /* that we may not have, as last told */
    char cursor_name[SMA_BOT_NAME_BYTES_MAX + 16];
    char kept_id[QQ_SESSION_ID_BYTES_MAX]; /* of the file, until the cursor is known */
    int64_t kept_seq;
};
void qq_gateway_begin(struct qq *qq);
/** The answer to the question for a shard's cursor. */
void qq_gateway_on_cursor(struct qq *qq, uint64_t ask_id, struct sma_str json);
/** @return when to look again */
uint64_t qq_gateway_tick(struct qq *qq, uint64_t now_ns);
/** An event's verdict. */
void qq_gateway_settle(struct qq *qq, const struct sma_origin *origin,
                       const struct sma_accepted *accepted);
/** There is room for events again. */
void qq_gateway_resume_reading(struct qq *qq);
/** Take no more events; links stay up, because the platform takes messages only from a bot that is
 *  connected. */
void qq_gateway_stop_reading(struct qq *qq);
/** Presses of buttons come: without that right a keyboard would be a wall of dead buttons. */
bool qq_gateway_hears_buttons(const struct qq *qq);
/** Everything at the store is answered: keep where we are. */
void qq_gateway_keep(struct qq *qq);
void qq_gateway_close(struct qq *qq);

/** What is kept over a restart, of one shard. Unusable or another bot's: nothing is filled in.
 *  Blocks: a small file. */
void qq_keep_read(struct qq_shard *shard);
/** Write it, or remove it when there is no session. */
void qq_keep_write(struct qq_shard *shard);
/** The cursor's value for this session and sequence number, and back: @return seq, or -1 when it is
 *  of another session. */
int64_t qq_cursor_make(uint32_t epoch, int64_t seq);
int64_t qq_cursor_seq(uint32_t epoch, int64_t cursor);
uint32_t qq_epoch_make(int64_t wall_ms, uint32_t previous);

/* -- events at the store (qq_intake.c) --------------------------------------------------------- */
extern const struct sma_intake_ops qq_intake_ops;
/** Take an event of whatever way; origin names who brought it. */
enum sma_took qq_take(struct qq *qq, const struct qq_event *event,
                      const struct sma_ingress *ingress, const struct sma_origin *origin);
struct qq_event_options qq_event_options_now(const struct qq *qq, uint64_t read_ns);

/* -- webhook (qq_webhook.c) -------------------------------------------------------------------- */
extern const struct sma_webhook_ops qq_webhook_ops;
/** Ask who we are. */
void qq_webhook_begin(struct qq *qq);
void qq_webhook_tick(struct qq *qq, uint64_t now_ns);

/* -- attempts (qq_send.c, qq_upload.c) --------------------------------------------------------- */
struct qq_attempt
{
    struct sma_sending base; /* first */
    struct qq_part part;
    enum qq_way way;
    bool was_window_closed, was_answer_tried;
    bool is_stream_again; /* the last piece goes out under the number of the one before it */
    struct qq_card card;  /* of a CARD part, which then stands as a TEXT part in `part` */
    struct sma_buf words; /* what goes out in place of the part's own */
    /* answered instead of the route's message; "" = that one */
    char answered[SMA_ID_BYTES_MAX + 1];
    void *upload;    /* in progress, see qq_upload.c */
    char *file_info; /* of the uploaded file; NULL = not uploaded */
};
extern const struct sma_sending_ops qq_sending_ops;
/** Upload the FILE part; ends with qq_upload_ended. */
void qq_upload_begin(struct qq_attempt *attempt);
void qq_upload_cancel(struct qq_attempt *attempt);
/** outcome NULL: attempt->file_info is there. */
void qq_upload_ended(struct qq_attempt *attempt, const struct sma_answered *outcome);

/* -- the last word of each chat (qq_fresh.c) --------------------------------------------------- */
struct qq_fresh
{
    char chat_id[128], chat_type[16];
    char message_id[SMA_ID_BYTES_MAX + 1]; /* as in a route; "" = free place */
    uint64_t noted_ns;                     /* by our own clock: the platform's may be another */
    uint32_t used_count;
    uint64_t outbox_id; /* the last part that took it */
    uint32_t part;
};
/** Somebody has written or pressed a button. */
void qq_fresh_note(struct qq *qq, const struct sma_ingress *ingress);
/** Is there something newer in this chat that may be answered by this part? Counts it as used; a
 *  repeat gets the same. */
bool qq_fresh_take(struct qq *qq, const struct sma_attempt *attempt,
                   char message_id[SMA_ID_BYTES_MAX + 1]);

/* -- answers that grow in private chats (qq_stream.c) ------------------------------------------ */
#define QQ_USED_COUNT_MAX 64 /* runs whose answers are counted */
struct qq_used
{
    uint64_t seq; /* of the run */
    uint32_t count;
};
extern const struct sma_stream_ops qq_stream_ops;
/** An answer of this run was shown. */
void qq_stream_note_answer(struct qq *qq, uint64_t seq);
/** A text part as it stands in a stream. Slice of the part. */
struct sma_str qq_stream_words(const struct qq_part *part);
/** Does the part begin with what is shown? Also true when that is not known: the platform says. */
bool qq_stream_may_become(const struct sma_stream *stream, const struct qq_part *part);
/** POST: the last piece. is_again: under the number of the piece before it, which was not taken. */
void qq_stream_put_path(const struct sma_stream *stream, struct sma_buf *path);
void qq_stream_put_last(const struct sma_stream *stream, struct sma_str words, bool is_again,
                        struct sma_buf *body);

/* -- preparation (qq_files.c) ------------------------------------------------------------------ */
extern const struct sma_fetch_ops qq_fetch_ops;

/* -- raw capture (qq_record_raw.c) ------------------------------------------------------------- */
/** What the environment asks for. In create. */
void qq_capture_begin(struct qq *qq);
/** Keep a payload as it came when SHIP_QQ_CAPTURE_EVENTS asks for it. */
void qq_record_raw(struct qq *qq, const struct qq_frame *frame, struct sma_str bytes);

/* -- everything -------------------------------------------------------------------------------- */
struct qq
{
    struct sma_platform base; /* first: a pointer to the one is a pointer to the other */
    struct sma_ctx *ctx;      /* base.ctx */
    struct qq_settings settings;
    struct qq_shard *shards;   /* settings.shard_count; NULL in webhook mode */
    struct qq_gateway gateway; /* as last told; url "" = never */
    uint64_t identify_next_ns; /* the next shard's turn */
    char bot_id[QQ_BOT_ID_BYTES_MAX], bot_name[QQ_BOT_ID_BYTES_MAX];
    uint64_t bot_due_ns; /* webhook mode: ask who we are */
    unsigned bot_failure_count;
    struct qq_fresh fresh[QQ_FRESH_COUNT_MAX];
    struct qq_used used[QQ_USED_COUNT_MAX];
    size_t used_next;
    bool has_no_streams; /* the bot has no right to them */

    uint8_t capture; /* 0 off, 1 dispatches, 2 everything */
    const char *capture_folder;
};
#endif
