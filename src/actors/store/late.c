/*
 * Messages that come too late to be answered as if they were new (adr 0033), one rule for all
 * platforms that date their messages:
 *
 *   older than `backlogMaxS`                                                          recorded, its
 *     author told
 *   older than `backlogLateS`, and a newer message of the chat is answered already    recorded, its
 *     author told
 *   `backlog` is "record", and dated before this program started                      recorded
 *
 * Platforms bring unacknowledged events again after minutes or hours and in no order, and keep what
 * came while the program was away. What is answered is read from the chat's turns, so a restart
 * forgets nothing. While the platform's clock is known to be ahead of ours by more than
 * `backlogLateS`, dates tell no order: nothing counts as overtaken then.
 */
#include "intake.h"
#include "intake_priv.h"
#include "people.h"
#include "store.h"

#include "runtime/chat/state_read.h"

#define TURN_COUNT_MAX \
    8 /* of the newest: runs end in another order than their messages were written */
#define TURN_BYTES_MAX ((uint64_t)64 * 1024 * 1024)
#define DATE_MS_MAX 999 /* some platforms say whole seconds */

struct newer
{
    struct sma_store *store;
    int64_t than_ms;
    bool is_found;
};

static enum sma_err look_at_message(void *user, const struct sma_state_message *message)
{
    struct newer *newer = user;
    struct store_facts facts;
    if (sma_store_facts_get(message->facts, &facts) == SMA_ERR_OK &&
        facts.wall_ms > newer->than_ms + DATE_MS_MAX)
        newer->is_found = true;
    return SMA_ERR_OK;
}

static enum sma_err look_at_turn(void *user, uint64_t seq, struct sma_str wire,
                                 struct sma_str message_id, struct sma_str turn)
{
    struct newer *newer = user;
    (void)wire;
    (void)message_id;
    (void)turn;
    if (newer->is_found)
        return SMA_ERR_OK;
    enum sma_err err = sma_state_message_get(newer->store->state, seq, look_at_message, newer);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err; /* older than what is kept */
}

static SMA_CHECKED enum sma_err is_overtaken(struct sma_store *store, const struct store_chat *chat,
                                             int64_t sent_ms, bool *ret_is)
{
    struct newer newer = {.store = store, .than_ms = sent_ms};
    enum sma_err err = sma_state_each_turn(store->state, chat->state, INT64_MAX, TURN_COUNT_MAX,
                                           TURN_BYTES_MAX, look_at_turn, &newer);
    *ret_is = err == SMA_ERR_OK && newer.is_found;
    return err;
}

static SMA_CHECKED enum sma_err find_late(struct sma_store *store, const struct store_chat *chat,
                                          const struct sma_ingress *in, enum store_late *ret_late)
{
    *ret_late = STORE_IN_TIME;
    if (in->sent_ms <= 0)
        return SMA_ERR_OK; /* a channel without dates brings no old messages */
    const struct sma_access_backlog backlog = sma_store_backlog(store, &in->route);
    int64_t now_ms = sma_ctx_wall(store->ctx), age_ms = now_ms - in->sent_ms;
    int64_t start_ms =
        now_ms - (int64_t)((sma_ctx_now(store->ctx) - store->start_ns) / SMA_NS_PER_MS);
    sma_store_note_clock(store, in, age_ms > backlog.max_ms);
    if (age_ms > backlog.max_ms) {
        *ret_late = STORE_TOO_OLD;
        return SMA_ERR_OK;
    }
    if (backlog.is_recorded && in->sent_ms < start_ms - DATE_MS_MAX) {
        *ret_late = STORE_PASSED;
        return SMA_ERR_OK;
    }
    bool is = false;
    bool is_late = age_ms > backlog.late_ms && sma_store_slow_ms(store, in) <= backlog.late_ms;
    enum sma_err err =
        is_late && chat != NULL ? is_overtaken(store, chat, in->sent_ms, &is) : SMA_ERR_OK;
    if (is)
        *ret_late = STORE_OVERTAKEN;
    return err;
}

/* Would it have been answered, now or when its author's role is known? Then somebody waits for
 * an answer. */
static bool is_missed(const struct sma_access_outcome *outcome)
{
    return outcome->decision == SMA_ACCESS_RUN || outcome->decision == SMA_ACCESS_ASK_ROLE;
}

enum sma_err sma_store_judge_in_time(struct sma_store *store, struct store_chat *chat,
                                     const struct sma_ingress *in,
                                     struct sma_access_outcome *ret_outcome,
                                     enum store_late *ret_late)
{
    *ret_late = STORE_IN_TIME;
    enum sma_err err = sma_store_judge(store, chat, in, ret_outcome);
    if (err != SMA_ERR_OK || ret_outcome->decision == SMA_ACCESS_RECORD)
        return err;
    err = find_late(store, chat, in, ret_late);
    if (err != SMA_ERR_OK || *ret_late == STORE_IN_TIME)
        return err;
    static const enum sma_reason reasons[] = {[STORE_TOO_OLD] = SMA_REASON_TOO_OLD,
                                              [STORE_OVERTAKEN] = SMA_REASON_OVERTAKEN,
                                              [STORE_PASSED] = SMA_REASON_BEFORE_START};
    enum sma_reason reason = reasons[*ret_late];
    if (!is_missed(ret_outcome))
        *ret_late = STORE_PASSED; /* nobody is told */
    *ret_outcome = (struct sma_access_outcome){.decision = SMA_ACCESS_RECORD, .reason = reason};
    return SMA_ERR_OK;
}
