/*
 * intake.h — events on their way through the store: asked, remembered, confirmed with whoever
 * brought them.
 *
 * An event is confirmed to its platform when the store has it, never before. The questions stand in
 * a ring, oldest first, for answers mostly come in that order. Whoever brought an event (the link,
 * a webhook request) is named by its origin; the platform alone knows what its numbers mean, and
 * gets them back with the verdict.
 *
 * A press of a button turns a wheel until it is answered: it is answered with the verdict and its
 * words, or when that is late without them. At most SMA_PRESS_CALL_COUNT_MAX answers are in flight,
 * for each holds a connection and people press faster than a platform that hangs answers; the rest
 * stand in line, and of SMA_PRESS_COUNT_MAX the oldest goes: its wheel has stopped by itself.
 *
 * Invariants: a question is settled exactly once, or dropped by sma_intake_drop; a refused event is
 *             never confirmed.
 * Threads:    the actor's.
 * Limits:     count_max of the platform's table; at the limit FULL: the link is not read, a webhook
 *             gets 503.
 */
#ifndef SMA_ADAPTERS_COMMON_INTAKE_H
#define SMA_ADAPTERS_COMMON_INTAKE_H

#include "sma/messages.h"
#include "sma/net.h"

#include "actors/kernel/reason_log.h"

#define SMA_PRESS_ID_BYTES_MAX 128
#define SMA_PRESS_TEXT_BYTES_MAX 600
#define SMA_PRESS_COUNT_MAX 256
#define SMA_PRESS_CALL_COUNT_MAX 16

struct sma_platform;
struct sma_webhook_slot;

/* Where an event came from. What the platform does not need stays 0. */
struct sma_origin
{
    struct sma_webhook_slot *slot; /* a webhook request; NULL = the link */
    bool is_nobody;                /* nobody waits: an event that we made ourselves */
    bool is_press;           /* the platform waits for words about a button, and brings it once */
    uint32_t place;          /* an entry of the batch, a shard */
    uint32_t epoch;          /* which session's numbers these are */
    uint64_t link;           /* which connection it came on */
    int64_t number;          /* the platform's own: update id, sequence number */
    uint64_t read_ns;        /* when its bytes were read */
    struct sma_str press_id; /* answered by answer_press(); empty = none. Copied, like stub */
    struct sma_str stub;     /* what must be sent back to confirm it */
};
/* One event as it was read. */
struct sma_platform_event
{
    const struct sma_ingress *ingress; /* NULL: of no interest, why says it */
    const char *why;                   /* constant; begins with a word of sma/reasons.h */
    struct sma_str type;               /* as the platform calls it; for the log, may be empty */
    /* of no interest: where it stood, as far as it was read */
    struct sma_str chat_key, user_id, message_id;
};
struct sma_press
{
    char id[SMA_PRESS_ID_BYTES_MAX];
    char text[SMA_PRESS_TEXT_BYTES_MAX + 1]; /* what the core says to whoever pressed; may be "" */
    /* enum sma_verdict; ACCEPTED also when it is not known yet, or the event needs none */
    uint8_t verdict;
};

struct sma_intake_ops
{
    uint32_t count_max;     /* questions at the store */
    uint32_t press_late_ms; /* then a button is answered without a verdict */
    /** An event of the link has its verdict; result: what put_result wrote, "" without. */
    void (*settle)(void *state, const struct sma_origin *origin,
                   const struct sma_accepted *accepted, struct sma_str result);
    /** What confirms a press within the acknowledgement itself; NULL = nothing does. */
    void (*put_result)(void *state, const struct sma_origin *origin,
                       const struct sma_accepted *accepted, struct sma_buf *json);
    /** Stop the wheel; ends with sma_press_answered. false: out of memory. NULL: buttons are
     * answered by put_result. */
    bool (*answer_press)(void *state, const struct sma_press *press);
    /** What the platform makes of the store's word, before anybody hears it. May be NULL. */
    void (*judge)(void *state, const struct sma_origin *origin, struct sma_accepted *accepted);
    /** The number of open questions has changed. May be NULL. */
    void (*note_room)(void *state);
};

struct sma_asked;
struct sma_presses;
/* Clients cut a long text into messages of at most 4,096 units that follow at once (as seen). */
#define SMA_PASTE_UNITS_MIN 3900
#define SMA_PASTE_GAP_MS 2000
#define SMA_PASTE_ID_GAP_MAX 8 /* others may have said something between */
#define SMA_PASTE_COUNT_MAX 16
#define SMA_GROUP_KEY_PASTE_BYTES 40
struct sma_intake
{
    struct sma_platform *platform;
    struct sma_asked *ring; /* count_max places; answered ones may stand between open ones */
    size_t first, span, count;
    unsigned full_count; /* events that found no room; for the log */
    struct sma_reason_gate reasons;
    /* Long texts of the last seconds, which may be the first piece of one that the client cut. */
    struct sma_paste
    {
        uint64_t who; /* hash of chat and author; 0 = free place */
        int64_t sent_ms, id;
        bool is_long, is_forward; /* more may follow; what began it was forwarded */
        uint8_t addressed;        /* of words that something forwarded may follow; NONE = of none */
        char key[SMA_GROUP_KEY_PASTE_BYTES];
    } pastes[SMA_PASTE_COUNT_MAX];
    size_t paste_next;
    size_t press_count;          /* open questions whose press is not answered yet */
    struct sma_presses *presses; /* NULL when answer_press is */
};
SMA_CHECKED enum sma_err sma_intake_init(struct sma_intake *intake, struct sma_platform *platform);
void sma_intake_fini(struct sma_intake *intake); /* accepts a zeroed struct */

enum sma_took
{
    SMA_TOOK_FINISHED, /* it needs no store: confirm it now */
    SMA_TOOK_ASKED,    /* the verdict comes */
    SMA_TOOK_NOT,      /* no room, or we are stopping: do not confirm it, it must come again */
};
/** Take one event: counts it, says why it is of no interest, asks the store to accept it. */
enum sma_took sma_intake_take(struct sma_intake *intake, const struct sma_platform_event *event,
                              const struct sma_origin *origin);
/** The question alone. OK | FULL, NOMEM: not asked | GONE */
SMA_CHECKED enum sma_err sma_intake_ask(struct sma_intake *intake,
                                        const struct sma_ingress *ingress,
                                        const struct sma_origin *origin);
void sma_intake_on_accepted(struct sma_intake *intake, struct sma_msg *msg);
/** Questions without an answer. */
size_t sma_intake_count(const struct sma_intake *intake);
/** May a further event be asked? false while stopping, too. */
bool sma_intake_has_room(const struct sma_intake *intake);
/** So empty that reading goes on: half. */
bool sma_intake_is_roomy(const struct sma_intake *intake);
/** Answer buttons whose verdict is late. @return when to look again */
uint64_t sma_intake_tick(struct sma_intake *intake, uint64_t now_ns);
/** Forget all questions. */
void sma_intake_drop(struct sma_intake *intake);

/** Stop the wheel of a press that needs no verdict. */
void sma_press_answer(struct sma_intake *intake, struct sma_str id, struct sma_str text,
                      enum sma_verdict verdict);
/** A call of answer_press has ended, whatever came of it. */
void sma_press_answered(struct sma_intake *intake);

#endif
