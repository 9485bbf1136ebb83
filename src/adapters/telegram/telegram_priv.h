/*
 * telegram_priv.h — the adapter's state and what its parts ask of each other.
 *
 * Invariants: one poll at a time, and only while no update of the last one waits for the store;
 *             poll.offset is behind every update that is not finished; every ATTEMPT, PREPARE and
 *             WEBHOOK is answered exactly once; the URL of a request, which holds the token, is
 *             logged nowhere.
 * Threads:    the adapter's; settings are constant after create.
 */
#ifndef SMA_TELEGRAM_PRIV_H
#define SMA_TELEGRAM_PRIV_H

#include "telegram.h"
#include "telegram_in.h"
#include "telegram_out.h"

#include "adapters/common/answers.h"
#include "adapters/common/platform.h"
#include "sma/net.h"

#define TELEGRAM_CLOUD_ROOT "https://api.telegram.org"

#define TELEGRAM_POLL_COUNT 100 /* updates asked for at once: the platform's maximum */
#define TELEGRAM_POLL_GRACE_S \
    10 /* beyond the long poll's own time: then the connection is given up */
#define TELEGRAM_POLL_BYTES_MAX \
    (16 * 1024 * 1024)             /* of an answer; the platform cuts at about 4 MiB */
#define TELEGRAM_EMPTY_COUNT_MAX 3 /* empty answers without waiting that are taken before a pause */
#define TELEGRAM_CONFLICT_COUNT_MAX 3 /* 409 in a row that may be our own ghost */
#define TELEGRAM_BACKOFF_MAX_S 60
#define TELEGRAM_ASK_COUNT_MAX \
    512 /* events at the store; at the limit the poll stops, a webhook gets 503 */
#define TELEGRAM_CALLBACK_LATE_MS 5000 /* a button's wheel turns this long at most */
#define TELEGRAM_CALLBACK_MS 10000
#define TELEGRAM_PHOTO_BYTES_MAX (10 * 1024 * 1024) /* the platform's limits on uploads */
#define TELEGRAM_UPLOAD_BYTES_MAX (50 * 1024 * 1024)
#define TELEGRAM_MOVED_COUNT_MAX \
    64 /* groups that became supergroups, remembered to send straight there */
#define TELEGRAM_RUN_COUNT_MAX SMA_CONCURRENCY_MAX
#define TELEGRAM_RUN_S 300 /* a run that says nothing for so long shows nothing any more */
#define TELEGRAM_TYPING_FIRST_MS 400 /* a shorter run shows no typing */
#define TELEGRAM_TYPING_MS 4000      /* the platform shows it for 5 s */
#define TELEGRAM_DRAFT_MS 1000
#define TELEGRAM_DRAFT_KEEP_MS \
    20000 /* an unchanged draft is repeated: the platform drops it after 30 s */
#define TELEGRAM_PROGRESS_COUNT_MAX \
    16 /* requests of typing and drafts in flight; beyond, they are skipped */
#define TELEGRAM_CONTROL_MS 20000 /* getMe and the like */

struct telegram;

/* -- settings (telegram_config.c) -------------------------------------------------------------- */
enum telegram_progress_mode
{
    TELEGRAM_PROGRESS_AUTO,
    TELEGRAM_PROGRESS_TYPING,
    TELEGRAM_PROGRESS_OFF,
};
struct telegram_settings
{
    char *token, *api_root, *webhook_url,
        *webhook_secret; /* never NULL; "" = not given; root without trailing slash */
    bool is_webhook, is_cloud;
    bool is_paired;   /* access is not "anyone": strangers get no further than to a code */
    uint8_t progress; /* enum telegram_progress_mode */
    uint32_t per_second, per_chat_minute, per_group_minute; /* 0 = none */
    uint32_t poll_timeout_s;
    size_t attachment_bytes_max;
};
extern const struct sma_params telegram_params;
/** Read the block. NOTFOUND: no token. BADINPUT with *error. Release with telegram_settings_fini in
 *  any case. */
SMA_CHECKED enum sma_err telegram_settings_read(struct telegram_settings *settings,
                                                const char *json, struct sma_error *error);
void telegram_settings_fini(
    struct telegram_settings *settings); /* wipes the secrets; accepts a zeroed struct */

/* -- one request to the platform (telegram_call.c) --------------------------------------------- */
extern const struct sma_call_ops telegram_call_ops; /* a path is a method of the Bot API */
/** Where a file of getFile's is; holds the token. */
void telegram_put_file_url(const struct telegram *telegram, struct sma_str file_path,
                           struct sma_buf *url);
/** "description" of a Bot API answer, cut; "" when there is none. */
void telegram_describe(const struct sma_net_answer *answer, char text[200]);
/** The "result" object of a successful answer; NULL when it is none. Borrowed from *ret_root, which
 *  the caller unrefs. */
struct json_t;
struct json_t *telegram_result(const struct sma_net_answer *answer, struct json_t **ret_root);

/* Endless back-off: 1 s doubling to a minute, each between half and the whole of it. */
uint64_t telegram_backoff_ns(struct telegram *telegram, unsigned failure_count);

/* -- events at the store (telegram_intake.c) --------------------------------------------------- */
extern const struct sma_intake_ops telegram_intake_ops;
/** Take an event of whatever way; origin names who brought it. */
enum sma_took telegram_take(struct telegram *telegram, const struct telegram_event *event,
                            const struct sma_origin *origin);
/* Messages whose number another bot of this project has used before: their keys hold our own
 * number, too. */
#define TELEGRAM_SHARED_COUNT_MAX 128 /* more than one poll brings */
struct telegram_shared
{
    int64_t update_ids[TELEGRAM_SHARED_COUNT_MAX];
    size_t next;
    bool is_told;
};
/** Options for telegram_in.h, of this moment. */
struct telegram_in_options telegram_in_options_now(struct telegram *telegram, uint64_t read_ns);

/* -- may we? (telegram_probe.c) ---------------------------------------------------------------- */
void telegram_probe(void *state, struct sma_probing *probing);
/* telegram_owner.c */
void telegram_find_owner(void *state, const char *code, struct sma_probing *probing);

/* -- who we are (telegram_bot.c) --------------------------------------------------------------- */
enum telegram_phase
{
    TELEGRAM_PHASE_CURSOR, /* waits for the store */
    TELEGRAM_PHASE_UNHOOK, /* deleteWebhook */
    TELEGRAM_PHASE_WHO,    /* getMe */
    TELEGRAM_PHASE_HOOK,   /* setWebhook */
    TELEGRAM_PHASE_READY,
};
void telegram_bot_begin(struct telegram *telegram);
void telegram_bot_take_cursor(struct telegram *telegram, struct sma_str json);
/** A webhook stands in the way of polling: remove it after this time, then poll. */
void telegram_bot_unhook(struct telegram *telegram, uint64_t delay_ns);
void telegram_bot_tick(struct telegram *telegram, uint64_t now_ns);
/** The token was refused: shown, and said once until it works again. */
void telegram_bot_refused(struct telegram *telegram, int status);
/** telegram_commands.c: tell the platform which commands there are, unless it was told before. */
void telegram_commands_tell(struct telegram *telegram);

/* -- long polling (telegram_poll.c) ------------------------------------------------------------ */
struct telegram_entry
{
    int64_t update_id;
    uint8_t state; /* enum telegram_entry_state */
};
struct telegram_poll
{
    struct sma_call *call;
    uint64_t asked_ns, due_ns,
        conflict_told_ns; /* due: when to poll again; UINT64_MAX = not by time */
    int64_t offset;       /* what the next poll asks from; 0 = from the oldest */
    struct telegram_entry entries[TELEGRAM_POLL_COUNT];
    size_t entry_count, open_count;
    bool is_cut; /* updates behind the entries were left for the next poll */
    unsigned failure_count, conflict_count, empty_count;
    char cursor_name[SMA_BOT_NAME_BYTES_MAX + 8]; /* of the offset, in the store */
};
void telegram_poll_start(struct telegram *telegram);
void telegram_poll_stop(struct telegram *telegram);
void telegram_poll_settle(struct telegram *telegram, uint32_t index,
                          const struct sma_accepted *accepted);
void telegram_poll_tick(struct telegram *telegram, uint64_t now_ns);

/* -- webhook (telegram_webhook.c) -------------------------------------------------------------- */
extern const struct sma_webhook_ops telegram_webhook_ops;

/* -- attempts (telegram_send.c, telegram_upload.c) --------------------------------------------- */
struct telegram_attempt
{
    struct sma_sending base; /* first */
    struct telegram_part part;
    int64_t moved_to;          /* 0 = the route's own chat */
    struct telegram_card card; /* of a CARD part, which then stands as a TEXT part in `part` */
    struct sma_buf words;      /* what goes out in place of the part's own */
    struct sma_buf reply_parameters; /* of an upload, like the fields */
    char chat_id[24];                /* of moved_to */
    struct sma_net_field fields[5];
};
extern const struct sma_sending_ops telegram_sending_ops;
struct telegram_moved
{
    int64_t from, to;
};
/** The multipart request of a FILE part; done as for any message. */
void telegram_upload_start(struct telegram_attempt *attempt, const struct telegram_send *send);

/* -- preparation (telegram_files.c) ------------------------------------------------------------ */
extern const struct sma_fetch_ops telegram_fetch_ops; /* user: struct telegram */

/* -- progress (telegram_progress.c) ------------------------------------------------------------ */
#define TELEGRAM_DRAFTLESS_COUNT_MAX 32 /* chats whose drafts were refused lately */
#define TELEGRAM_DRAFTLESS_S 3600
struct telegram_draftless
{
    uint64_t chat, until_ns; /* chat: a hash of its key */
};
struct telegram_draft /* a preview on its way; its run may be over before it arrives */
{
    uint64_t seq, chat; /* seq of the run; 0 = none */
};
struct telegram_run
{
    uint64_t chat; /* as in telegram_draftless */
    uint64_t seq, heard_ns, typing_due_ns, draft_due_ns, draft_sent_ns;
    struct sma_msg *last; /* a PROGRESS: its route, and when has_text the text to show */
    bool has_text;
    bool is_over; /* a delivery has begun: no draft any more */
    bool is_private;
};
void telegram_progress_take(struct telegram *telegram, struct sma_msg **msg);
/**
 * A delivery of this run is to go out: no further preview of it.
 * @return whether one is on its way; sma_sendings_go_on is called when it has arrived, or
 * failed
 */
bool telegram_progress_note_attempt(struct telegram *telegram, uint64_t seq);
/** @return when to look again */
uint64_t telegram_progress_tick(struct telegram *telegram, uint64_t now_ns);
void telegram_progress_drop(struct telegram *telegram);

/* -- answers that grow in groups (telegram_stream.c) ------------------------------------------- */
#define TELEGRAM_PACE_COUNT_MAX 64 /* groups whose messages of the last minute are remembered */
struct telegram_pace
{
    int64_t chat_id;
    uint64_t next_ns; /* before it the group has had its share; 0 = free place */
};
extern const struct sma_stream_ops telegram_stream_ops;
/** A message for a group leaves: its stream has one less. */
void telegram_stream_note_attempt(struct telegram *telegram, const struct sma_route *route);

/* -- everything -------------------------------------------------------------------------------- */
struct telegram
{
    struct sma_platform base; /* first: a pointer to the one is a pointer to the other */
    struct sma_ctx *ctx;      /* base.ctx */
    struct telegram_settings settings;

    uint8_t phase; /* enum telegram_phase */
    uint64_t bot_due_ns;
    unsigned bot_failure_count;
    bool is_ready_told;
    uint8_t told_count; /* lists of commands that the platform has taken since getMe */
    struct telegram_bot bot;
    char bot_name[64];

    struct telegram_poll poll;
    struct telegram_shared shared;

    struct telegram_moved moved[TELEGRAM_MOVED_COUNT_MAX];
    size_t moved_next;

    struct telegram_run *runs; /* TELEGRAM_RUN_COUNT_MAX places */
    size_t run_count, progress_call_count;
    struct telegram_draft drafts[TELEGRAM_PROGRESS_COUNT_MAX];
    uint64_t progress_due_ns, progress_hold_ns;
    bool has_no_drafts;
    struct telegram_draftless draftless[TELEGRAM_DRAFTLESS_COUNT_MAX];
    unsigned draftless_next;
    struct telegram_pace paces[TELEGRAM_PACE_COUNT_MAX];
};
#endif
