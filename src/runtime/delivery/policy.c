/* policy.c — see policy.h. */
#include "runtime/delivery/policy.h"

/* In a window of per_ns a bucket lets `burst` and then per_ns / period through: the period is
 * chosen so that both together are the limit. The window is taken a little longer, for messages
 * that come nearer to each other on the way. */
struct sma_rate sma_rate_make(uint32_t count, uint64_t per_ns, uint32_t burst)
{
    if (count == 0)
        return (struct sma_rate){0, 0};
    if (burst > count / 2)
        burst = count / 2;
    if (burst == 0)
        burst = 1;
    uint64_t period = (per_ns + per_ns / 64) / (count - burst + 1);
    return (struct sma_rate){period, period * (burst - 1)};
}

uint64_t sma_rate_ready_at(const struct sma_rate *rate, uint64_t taken)
{
    if (rate->period_ns == 0 || taken <= rate->slack_ns)
        return 0;
    return taken - rate->slack_ns;
}

uint64_t sma_rate_take(const struct sma_rate *rate, uint64_t taken, uint64_t now)
{
    if (rate->period_ns == 0)
        return 0;
    return (taken > now ? taken : now) + rate->period_ns;
}

uint64_t sma_delivery_backoff_ns(uint32_t attempt, uint64_t random)
{
    uint64_t delay = SMA_DELIVERY_RETRY_FIRST_MS * SMA_NS_PER_MS;
    for (uint32_t i = 1; i < attempt && delay < SMA_RETRY_DELAY_MAX_S * SMA_NS_PER_S; i++)
        delay *= 2;
    if (delay > SMA_RETRY_DELAY_MAX_S * SMA_NS_PER_S)
        delay = SMA_RETRY_DELAY_MAX_S * SMA_NS_PER_S;
    /* half fixed, half by chance: many rows that failed together do not come back together */
    return delay / 2 + random % (delay / 2 + 1);
}

static struct sma_delivery_decision give_up(const struct sma_delivery_try *try)
{
    /* an earlier attempt may have arrived: then it is not a definite failure */
    enum sma_delivery_next next =
        try->unknown_count > 0 ? SMA_DELIVERY_NEXT_UNKNOWN : SMA_DELIVERY_NEXT_FAILED;
    return (struct sma_delivery_decision){next, 0, false};
}

static struct sma_delivery_decision back_off(struct sma_delivery_try *try, uint64_t random)
{
    if (++try->attempt_count >= SMA_ATTEMPT_COUNT_MAX)
        return give_up(try);
    enum sma_delivery_next next =
        try->unknown_count > 0 ? SMA_DELIVERY_NEXT_REPEAT : SMA_DELIVERY_NEXT_WAIT;
    uint64_t delay = sma_delivery_backoff_ns(try->attempt_count, random);
    return (struct sma_delivery_decision){next, delay, false};
}

static struct sma_delivery_decision wait_as_ordered(struct sma_delivery_try *try,
                                                    uint32_t retry_after_ms, uint64_t random)
{
    uint64_t delay = (retry_after_ms < 1000 ? 1000 : retry_after_ms) * SMA_NS_PER_MS;
    uint64_t jitter_max = delay / 10 < SMA_NS_PER_S ? delay / 10 : SMA_NS_PER_S;
    struct sma_delivery_decision decision = give_up(try);
    if (delay <= try->left_ns) {
        try->waited_ns += delay;
        decision.next = try->unknown_count > 0 ? SMA_DELIVERY_NEXT_REPEAT : SMA_DELIVERY_NEXT_WAIT;
    }
    decision.delay_ns = delay + random % (jitter_max + 1);
    decision.is_ordered = true;
    return decision;
}

struct sma_delivery_decision sma_delivery_decide(struct sma_delivery_try *try,
                                                 enum sma_attempt_class attempt_class,
                                                 uint32_t retry_after_ms, bool is_repeatable,
                                                 uint64_t random)
{
    switch (attempt_class) {
    case SMA_ATTEMPT_SENT:
        return (struct sma_delivery_decision){SMA_DELIVERY_NEXT_SENT, 0, false};
    case SMA_ATTEMPT_RETRY_AFTER:
        return wait_as_ordered(try, retry_after_ms, random);
    case SMA_ATTEMPT_RETRY:
        return back_off(try, random);
    case SMA_ATTEMPT_GIVE_UP:
        return give_up(try);
    case SMA_ATTEMPT_UNKNOWN:
        break;
    }
    try->unknown_count++;
    if (is_repeatable || try->unknown_count == 1)
        return back_off(try, random);
    return give_up(try);
}

/* The place of this chat, else one whose time is over, else the one that is over first. */
static struct sma_limit_seen *place_of(struct sma_limits *limits, uint64_t chat)
{
    struct sma_limit_seen *place = &limits->seen[0];
    for (size_t i = 0; i < SMA_LIMIT_SEEN_COUNT; i++) {
        if (limits->seen[i].chat == chat)
            return &limits->seen[i];
        if (limits->seen[i].until_ns < place->until_ns)
            place = &limits->seen[i];
    }
    return place;
}

bool sma_limits_note(struct sma_limits *limits, uint64_t chat, bool is_group, uint64_t until_ns,
                     uint64_t now_ns)
{
    unsigned weight = 0;
    *place_of(limits, chat) = (struct sma_limit_seen){chat, until_ns, is_group};
    for (size_t i = 0; i < SMA_LIMIT_SEEN_COUNT; i++) {
        const struct sma_limit_seen *seen = &limits->seen[i];
        uint64_t apart_ns =
            seen->until_ns > until_ns ? seen->until_ns - until_ns : until_ns - seen->until_ns;
        if (seen->until_ns > now_ns && apart_ns <= SMA_LIMIT_APART_NS)
            weight += seen->is_group ? 1 : 2;
    }
    return weight > 2;
}
