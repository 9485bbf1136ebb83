/*
 * policy.h — the rules of delivery: how often a chat may be written to, and what follows from one
 * attempt's outcome.
 *
 * Rates are kept by the generic cell rate algorithm: the whole state of one bucket is one number,
 * the time at which the bucket would be full again if nothing more were taken ("taken"). 0 is a
 * full bucket.
 *
 * Invariants: in any window of the length that a limit is given for, no more sends are allowed than
 * the limit says, the
 *             burst included; a part ends FAILED only when no attempt of it can have reached the
 *             platform; where a repeat
 *             may be shown twice at most one attempt follows an unknown outcome.
 * Threads:    no state here; the caller's.
 */
#ifndef SMA_DELIVERY_POLICY_H
#define SMA_DELIVERY_POLICY_H

#include "sma/base.h"
#include "sma/messages.h"

#define SMA_DELIVERY_AGE_MAX_S \
    (24 * 3600) /* an order to wait that ends when the row is older than this fails the row */
#define SMA_DELIVERY_AGE_LEAST_S \
    3600 /* a row that is older when it comes gets as much all the same */
#define SMA_DELIVERY_RETRY_FIRST_MS 1000 /* the first back-off; each further one is twice as long */

struct sma_rate
{
    uint64_t period_ns; /* one send per period; 0 = no limit */
    uint64_t slack_ns;  /* (burst - 1) periods */
};

/**
 * At most `count` sends in any `per_ns`, at most `burst` of them at once. count 0 = no limit; burst
 * 0 counts as 1, and one above half of the count as half of it: what goes at once is missing from
 * the steady rate.
 */
struct sma_rate sma_rate_make(uint32_t count, uint64_t per_ns, uint32_t burst);
/** The earliest time at which a bucket in state `taken` lets the next send through. */
uint64_t sma_rate_ready_at(const struct sma_rate *rate, uint64_t taken);
/** The bucket's state after one send at now. */
uint64_t sma_rate_take(const struct sma_rate *rate, uint64_t taken, uint64_t now);

/* What is remembered of one part between its attempts. Zero = a fresh part. */
struct sma_delivery_try
{
    uint32_t attempt_count; /* attempts that used up the budget of SMA_ATTEMPT_COUNT_MAX */
    uint32_t unknown_count; /* attempts with unknown outcome; one before a crash counts */
    uint64_t waited_ns;     /* spent on the platform's orders to wait */
    uint64_t left_ns; /* until the row is too old to be waited for; set before each decision */
};
enum sma_delivery_next
{
    SMA_DELIVERY_NEXT_SENT, /* the part is out */
    SMA_DELIVERY_NEXT_WAIT, /* certainly not out: try again after delay_ns */
    /* may be out: try again after delay_ns, same key, flagged as a repeat */
    SMA_DELIVERY_NEXT_REPEAT,
    SMA_DELIVERY_NEXT_FAILED,  /* certainly not out, and will not be */
    SMA_DELIVERY_NEXT_UNKNOWN, /* may be out; given up */
};
struct sma_delivery_decision
{
    enum sma_delivery_next next;
    uint64_t delay_ns;
    /* the platform ordered the delay: it holds for the chat or, as it said, the whole adapter,
     * and also when the row itself is given up */
    bool is_ordered;
};
/**
 * What follows from an attempt's outcome; counts it in *try.
 * @retry_after_ms  of RETRY_AFTER; less than a second is taken as a second
 * @is_repeatable   of UNKNOWN: a repeat is hidden by the platform, or the platform itself answered
 * that it failed
 * @random          any 64 random bits, for the jitter
 */
struct sma_delivery_decision sma_delivery_decide(struct sma_delivery_try *try,
                                                 enum sma_attempt_class attempt_class,
                                                 uint32_t retry_after_ms, bool is_repeatable,
                                                 uint64_t random);
/** Back-off before attempt number `attempt` + 1 (attempt >= 1): between half of and the whole
 *  doubled delay, capped. */
uint64_t sma_delivery_backoff_ns(uint32_t attempt, uint64_t random);

/* -- whom a limit is for ----------------------------------------------------------------------- */
/*
 * Platforms that limit a chat and the whole bot answer alike. A limit is taken for the chat's that
 * met it, until other chats are told to wait until the same time: a limit of the bot ends at one
 * time, whoever meets it. Groups have limits of their own, which two of them may meet together: a
 * group counts half.
 */
#define SMA_LIMIT_SEEN_COUNT 4
#define SMA_LIMIT_APART_NS UINT64_C(2000000000) /* whole seconds, and the way here */
struct sma_limits
{
    struct sma_limit_seen
    {
        uint64_t chat, until_ns;
        bool is_group;
    } seen[SMA_LIMIT_SEEN_COUNT];
};
/** A chat was told to wait until until_ns. @return whether the limit is everybody's */
bool sma_limits_note(struct sma_limits *limits, uint64_t chat, bool is_group, uint64_t until_ns,
                     uint64_t now_ns);

#endif
