/*
 * feishu_priv.h — the adapter's state and what its parts ask of each other.
 *
 * Invariants: one token request and one connection at a time; an acknowledgement goes out on the
 *             connection its event came on, or not at all; every ATTEMPT, PREPARE and WEBHOOK is
 *             answered exactly once; secrets, tokens and the connection's URL are logged nowhere.
 * Threads:    the adapter's; settings are constant after create.
 */
#ifndef SMA_FEISHU_PRIV_H
#define SMA_FEISHU_PRIV_H

#include "feishu.h"
#include "feishu_crypto.h"
#include "feishu_event.h"
#include "feishu_fragments.h"
#include "feishu_login.h"
#include "feishu_out.h"

#include "adapters/common/answers.h"
#include "adapters/common/platform.h"
#include "sma/net.h"
#include "sma/ws.h"

#define FEISHU_FATAL_S 600 /* what will fail for ever is tried again this often */
#define FEISHU_BACKOFF_MAX_S 60
#define FEISHU_CONTROL_MS 15000 /* token, bot, endpoint and the like */
#define FEISHU_ACK_LATE_MS \
    2500 /* the platform waits 3 s; an answer after this is none, the event comes again */
#define FEISHU_ASK_COUNT_MAX \
    512 /* events at the store; at the limit the connection is not read, a webhook gets 503 */
#define FEISHU_PROBE_S_MAX \
    15 /* a ping unanswered for so long is repeated; twice: the connection is dead */
#define FEISHU_STEADY_S \
    30 /* a connection that lived so long was healthy: its loss is a first failure */
#define FEISHU_ROLE_COUNT_MAX 256 /* roles remembered; the oldest goes first */
#define FEISHU_ROLE_S 600

struct feishu;

/* -- settings (feishu_config.c) ---------------------------------------------------------------- */
enum feishu_progress_mode
{
    FEISHU_PROGRESS_AUTO, /* a card in private chats */
    FEISHU_PROGRESS_CARD, /* everywhere */
    FEISHU_PROGRESS_OFF,
};
struct feishu_settings
{
    /* never NULL; "" = not given; domain without trailing slash */
    char *app_id, *app_secret, *domain, *encrypt_key, *verification_token, *ca_file;
    bool is_webhook;
    uint8_t progress;                                       /* enum feishu_progress_mode */
    uint32_t per_second, per_chat_minute, per_group_minute; /* 0 = none */
    size_t attachment_bytes_max;
};
extern const struct sma_params feishu_params;
/** Read the block. NOTFOUND: no id or no secret. BADINPUT, NOMEM with *error. Release with _fini in
 *  any case. */
SMA_CHECKED enum sma_err feishu_settings_read(struct feishu_settings *settings,
                                              const char *project_dir, const char *json,
                                              struct sma_error *error);
void feishu_settings_fini(
    struct feishu_settings *settings); /* wipes secrets; accepts a zeroed struct */

/* -- requests and the access token (feishu_call.c) --------------------------------------------- */
extern const struct sma_call_ops feishu_call_ops;

/* -- may we? (feishu_probe.c) ------------------------------------------------------------------ */
void feishu_probe(void *state, struct sma_probing *probing);

/* -- who the bot is (feishu_bot.c) ------------------------------------------------------------- */
struct feishu_identity
{
    struct feishu_bot bot; /* open_id "" = not known yet */
    bool is_fresh;         /* asked in this life; else remembered from the last one */
    uint64_t due_ns;
    struct sma_call *call;
    unsigned failure_count;
};
void feishu_bot_begin(struct feishu *feishu);
/** @return when to look again */
uint64_t feishu_bot_tick(struct feishu *feishu, uint64_t now_ns);

/* -- the long connection (feishu_socket.c) ----------------------------------------------------- */
enum feishu_socket_state
{
    FEISHU_SOCKET_IDLE, /* until due_ns */
    FEISHU_SOCKET_ASKING,
    FEISHU_SOCKET_CONNECTING,
    FEISHU_SOCKET_OPEN,
};
struct feishu_socket
{
    uint8_t state; /* enum feishu_socket_state */
    struct sma_call *call;
    struct sma_ws_conn *conn;
    unsigned generation; /* of the connection */
    struct feishu_client_config config;
    int32_t service_id;
    char device_id[64];
    uint64_t due_ns, opened_ns, heard_ns;
    uint64_t ping_due_ns, probe_due_ns; /* the next ping; when the last one counts as unanswered */
    unsigned unanswered_count;
    unsigned failure_count, garbage_count;
    bool is_paused, is_leaving, is_ready_told;
    struct feishu_fragments *fragments;
};
void feishu_socket_begin(struct feishu *feishu); /* does nothing when it is begun */
/** Read no more; end when the last event has its verdict. */
void feishu_socket_leave(struct feishu *feishu);
/** An event has its verdict: there is room again. */
void feishu_socket_note_room(struct feishu *feishu);
/** Answer an event that came on connection `generation`; without effect when that one is gone. */
void feishu_socket_ack(struct feishu *feishu, unsigned generation, struct sma_str stub,
                       const struct feishu_ack *ack);
uint64_t feishu_socket_tick(struct feishu *feishu,
                            uint64_t now_ns); /* @return when to look again */

/* -- events at the store (feishu_intake.c) ----------------------------------------------------- */
extern const struct sma_intake_ops feishu_intake_ops;
/** Take an event of whatever way; origin names who brought it. */
enum sma_took feishu_take(struct feishu *feishu, const struct feishu_event *event,
                          struct sma_origin *origin);
/** One whole event from the connection: asks, or acknowledges what needs no store. */
void feishu_intake_frame(struct feishu *feishu, const struct feishu_frame *frame,
                         struct sma_str payload, uint64_t read_ns);

/* -- webhook (feishu_webhook.c) ---------------------------------------------------------------- */
extern const struct sma_webhook_ops feishu_webhook_ops;

/* -- attempts (feishu_send.c) ------------------------------------------------------------------ */
struct feishu_attempt
{
    struct sma_sending base; /* first */
    struct feishu_part part;
    struct feishu_consent consent; /* of a CONSENT part */
    struct sma_buf words;          /* what goes out in place of the part's own */
    bool is_stream_mended; /* a change of the streamed card was refused and asked for anew */
    /* of the streamed card that becomes this part; "" = none */
    char card_id[FEISHU_MESSAGE_ID_BYTES_MAX + 1];
    char key[256]; /* of the uploaded file; "" = not uploaded */
    struct sma_net_field fields[4];
};
/** Somebody has written in a topic. */
void feishu_note_thread(struct feishu *feishu, const struct sma_ingress *ingress);
/** A message of the route's topic other than the route's own; empty: none is known. */
struct sma_str feishu_topic_message(struct feishu *feishu, const struct sma_route *route);
extern const struct sma_sending_ops feishu_sending_ops;

/* -- preparation (feishu_files.c) -------------------------------------------------------------- */
struct feishu_known_role
{
    char chat_id[80], user_id[80];
    uint8_t role;
    uint64_t until_ns;
};
extern const struct sma_fetch_ops feishu_fetch_ops; /* user: struct feishu */

/* -- the card that grows (feishu_stream.c) ---------------------------------------------------- */
#define FEISHU_STREAM_PLAIN "-" /* entity of a stream whose card is none of CardKit's */
extern const struct sma_stream_ops feishu_stream_ops;
/** It is changed by PATCH. */
bool feishu_stream_is_plain(const struct sma_stream *stream);
/** A change of the card was refused with this code. @return whether it can be asked once more */
bool feishu_stream_mend(struct sma_stream *stream, int64_t code);

/* -- a sign of life in groups (feishu_typing.c) ------------------------------------------------ */
#define FEISHU_TYPING_COUNT_MAX 64 /* runs at once; further ones show none */
struct feishu_typing
{
    uint64_t seq; /* 0 = free place */
    char message_id[FEISHU_MESSAGE_ID_BYTES_MAX + 1];
    char reaction_id[FEISHU_MESSAGE_ID_BYTES_MAX + 1]; /* "" = not there, or not known yet */
    uint64_t due_ns;
    struct sma_call *call;
    uint8_t state;
};
void feishu_typing_take(struct feishu *feishu, const struct sma_progress *progress);
/** @return when to look again */
uint64_t feishu_typing_tick(struct feishu *feishu, uint64_t now_ns);
void feishu_typing_drop(struct feishu *feishu);

/* -- everything -------------------------------------------------------------------------------- */
#define FEISHU_NAME_COUNT_MAX 512
#define FEISHU_NAME_WAY_COUNT 4 /* places that one id may have */
#define FEISHU_TOPIC_COUNT_MAX 64
struct feishu_topic
{
    uint64_t hash; /* of its first message's id */
    uint64_t seq;  /* with which message it was shown: asked for again, that one has it again */
};
/* Messages of a topic: an answer must reply to one of it, or it opens a new topic. */
struct feishu_thread
{
    uint64_t hash; /* of the thread's id; 0 = free place */
    char first[FEISHU_MESSAGE_ID_BYTES_MAX + 1], newest[FEISHU_MESSAGE_ID_BYTES_MAX + 1];
};
struct feishu_known_name
{
    uint64_t hash, until_ns; /* hash of the id; 0 = free */
    char open_id[64], name[128];
};

struct feishu
{
    struct sma_platform base; /* first: a pointer to the one is a pointer to the other */
    struct sma_ctx *ctx;      /* base.ctx */
    struct feishu_settings settings;
    struct feishu_identity identity;
    struct feishu_socket socket;
    unsigned scope_count;

    struct feishu_known_role roles[FEISHU_ROLE_COUNT_MAX];
    size_t role_next;
    struct feishu_known_name names[FEISHU_NAME_COUNT_MAX];
    uint64_t names_refused_ns; /* until then names are not asked for; 0 = they are */
    struct feishu_topic topics[FEISHU_TOPIC_COUNT_MAX]; /* whose first message was shown lately */
    size_t topic_next;
    struct feishu_thread threads[FEISHU_TOPIC_COUNT_MAX];
    size_t thread_next;
    bool has_no_kit; /* CardKit was refused: plain cards */
    struct feishu_typing typing[FEISHU_TYPING_COUNT_MAX];
    uint64_t typing_hold_ns;
    bool has_no_typing; /* the app has no right to reactions */
};
/* -- look-ups before a run (feishu_look.c) ----------------------------------------------------- */
void feishu_look_up(void *user, struct sma_fetch *fetch); /* of the table of fetches */
struct sma_call *feishu_ask_profile(void *user, struct sma_fetch_job *job,
                                    const struct sma_route *route);
/** What events are read with, names that are known too. */
struct feishu_event_options feishu_event_options_now(struct feishu *feishu, uint64_t read_ns);
/** What this person is called; "" = the platform does not tell; without ptr: not known. user: the
 *  platform. */
struct sma_str feishu_name_of(void *user, struct sma_str open_id);

/* -- what is wrong (feishu_trouble.c) ---------------------------------------------------------- */
/** Show what stands in the way for good, and say it once until it changes. */
void feishu_trouble(struct feishu *feishu, enum sma_cause cause, const char *text);
/** The owner must change the app in the console: said at the 1st, 2nd, 4th, ... time. */
void feishu_tell_scope(struct feishu *feishu, const char *error);

#endif
