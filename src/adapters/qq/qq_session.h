/*
 * qq_session.h — one gateway session as a state machine: when to connect, identify, resume, beat,
 * give up on a link.
 * Pure: time and chance are passed in, and what is to be done comes out as actions in order.
 *
 *   WAITING --(its time)--> CONNECTING --opened--> GREETING --hello--> (HOLDING) --> STARTING
 *   --READY/RESUMED--> READY
 *      ^                        |                     |                   |
 *      |
 *      +------------------------+---- closed, silent, refused
 *      ------------+-------------------------+
 *
 * Invariants
 * - After a loss a session that is known is resumed first, with the last sequence number that is
 *   *durable*: everything after it comes again. An identify, which loses what happened in between,
 *   follows only when the platform refused the resume, QQ_RESUME_COUNT_MAX resumes failed, or there
 *   is no session.
 * - It never gives up. Fatal refusals (wrong intents after the smallest set, banned, wrong shard)
 *   are tried again every QQ_FATAL_RETRY_S and their reason stands in `trouble`.
 * - It never hammers: delays double from 1 s with jitter, stay at QQ_QUICK_S_MAX for the better
 *   part of a minute, so that a short outage costs a short time, and grow on to QQ_DELAY_MAX_S,
 *   until a session has lasted QQ_STABLE_S. While the store refuses events, a link is made every
 *   QQ_REFUSED_S, so that it goes on when the disk has room again.
 *
 * Source: protocols/qq.md §2. Threads: the owner's only.
 */
#ifndef SMA_QQ_SESSION_H
#define SMA_QQ_SESSION_H

#include "qq_frame.h"

#define QQ_RESUME_COUNT_MAX 5 /* failed resumes in a row before an identify */
#define QQ_QUICK_COUNT 16     /* tries in a row that stay close together, */
#define QQ_QUICK_S_MAX 4      /* at most this far */
#define QQ_DELAY_MAX_S 60     /* longest ordinary pause between two tries */
#define QQ_FATAL_RETRY_S 600  /* pause after a refusal that only the owner can mend */
#define QQ_REFUSED_S 2 /* pause after an event that could not be stored: the link itself is well */
#define QQ_STABLE_S 60 /* a session this old resets the delays */
#define QQ_HELLO_S 15  /* opened, and no hello (or READY) for this long: the link is dead */
#define QQ_IDENTIFY_PAUSE_S 5 /* the platform allows one identify per 5 s */
#define QQ_BEAT_MS_MIN 100    /* intervals of hello outside these are taken as the nearest */
#define QQ_BEAT_MS_MAX 300000
#define QQ_UNFINISHED_COUNT_MAX \
    4096 /* events handed on and not yet durable; at it the link is paused */

/* What identify asks for. Each but the first needs a right, and asking without it closes the link
 * with 4014. */
#define QQ_INTENT_GROUP_AND_C2C (UINT32_C(1) << 25)
#define QQ_INTENT_INTERACTION (UINT32_C(1) << 26)
#define QQ_INTENT_AUDIT (UINT32_C(1) << 27)
#define QQ_INTENT_GUILD_AT (UINT32_C(1) << 30)
#define QQ_INTENT_DIRECT (UINT32_C(1) << 12)
#define QQ_INTENT_GUILD_ALL (UINT32_C(1) << 9)

enum qq_action_kind
{
    QQ_ACTION_CONNECT,  /* open a socket: token and gateway address are the caller's affair */
    QQ_ACTION_IDENTIFY, /* send identify with session->intents */
    QQ_ACTION_RESUME,   /* send resume with session_id and durable_seq */
    QQ_ACTION_BEAT,     /* send a heartbeat with last_seq */
    QQ_ACTION_CLOSE,    /* close the socket with close_code; no further action until closed() */
    /* the access token was refused: fetch a new one before the next CONNECT */
    QQ_ACTION_DROP_TOKEN,
    QQ_ACTION_SAVE, /* session_id is new (or gone): keep it over a restart */
};
struct qq_action
{
    enum qq_action_kind kind;
    unsigned close_code;
};
enum qq_session_state
{
    QQ_WAITING,
    QQ_CONNECTING,
    QQ_GREETING, /* waits for hello */
    QQ_HOLDING,  /* greeted; the next identify may not be sent yet */
    QQ_STARTING,
    QQ_READY,
    QQ_CLOSING,
};
struct qq_session
{
    enum qq_session_state state;
    uint32_t intents; /* what identify asks for; fewer after each 4014 */
    char session_id[QQ_SESSION_ID_BYTES_MAX];
    size_t session_id_len; /* 0 = none: identify */
    int64_t last_seq;      /* newest seen, for heartbeats */
    int64_t durable_seq;   /* newest of the contiguous durable prefix, for resume */
    bool is_resuming;      /* STARTING: resume, not identify */
    bool is_beat_answered;
    bool is_refused; /* CLOSING, because an event could not be stored */
    uint32_t failed_resume_count, failure_count;
    uint64_t deadline_ns; /* of the state; UINT64_MAX = none */
    uint64_t beat_ns, beat_interval_ns;
    uint64_t ready_since_ns, identified_ns;
    uint64_t ready_count, resume_count, identify_count, loss_count; /* for status and tests */
    char trouble[200]; /* why there is no session now, for people; "" = fine */
    bool is_fatal;     /* trouble is the owner's to mend */
    struct qq_action actions[8];
    uint32_t action_first, action_count;
    /* events handed on, in order of arrival, waiting to be durable */
    struct qq_unfinished
    {
        int64_t seq;
        bool is_done;
    } * unfinished;
    uint32_t unfinished_first, unfinished_count;
};

/** @return OK | NOMEM. Nothing happens before qq_session_start. */
SMA_CHECKED enum sma_err qq_session_init(struct qq_session *session, uint32_t intents);
void qq_session_fini(struct qq_session *session);
/** A session kept over a restart. Before start. */
void qq_session_restore(struct qq_session *session, struct sma_str session_id, int64_t seq);
void qq_session_start(struct qq_session *session, uint64_t now_ns);
/** The next thing to do; false: none. Ask after every call below until false. */
bool qq_session_next(struct qq_session *session, struct qq_action *ret_action);
/** When qq_session_tick wants to be called. */
uint64_t qq_session_wake_at(const struct qq_session *session);
void qq_session_tick(struct qq_session *session, uint64_t now_ns, uint64_t random);

void qq_session_opened(struct qq_session *session, uint64_t now_ns);
/** CONNECT could not be carried out (no token, no address, no socket). `why` is shown to people. */
void qq_session_not_connected(struct qq_session *session, const char *why, uint64_t now_ns,
                              uint64_t random);
/**
 * CONNECT must wait so long: the day's identifies are used up (qq_gateway_identify_wait_ms). Only
 * worth it without a
 * session: a resume counts as none.
 */
void qq_session_hold(struct qq_session *session, const char *why, uint64_t delay_ns,
                     uint64_t now_ns);
/** The socket has ended. code 0 = without a close frame. */
void qq_session_closed(struct qq_session *session, unsigned code, uint64_t now_ns, uint64_t random);
/**
 * A frame has come. @return true: it is an event to be handed on; afterwards
 * qq_session_done(frame->seq) must be called once it is durable or needs no storing.
 */
bool qq_session_frame(struct qq_session *session, const struct qq_frame *frame, uint64_t now_ns,
                      uint64_t random);
/** The event with this sequence number is finished. */
void qq_session_done(struct qq_session *session, int64_t seq);
/** An event could not be stored: end the link, so that the platform replays from durable_seq. */
void qq_session_refused(struct qq_session *session, uint64_t now_ns);
/** The link is not read at present: what the gateway does not seem to say proves nothing. Before
 *  each tick meanwhile. */
void qq_session_note_paused(struct qq_session *session, uint64_t now_ns);
/** More events are in flight than may be: stop reading until some are done. */
bool qq_session_is_full(const struct qq_session *session);

#endif
