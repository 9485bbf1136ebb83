/*
 * What a person adds while their run is open (queue.mode steer), or answers to a question of it.
 *
 * It is accepted as ever: a row that waits, with its place in the queue. Besides, the agent is told
 * of it, and takes it with the run's next request. The step that says so makes the row one that
 * this run answers, in its own transaction. Until then nothing has changed: a run that ends, waits
 * or is lost leaves it where it is, for a run of its own, or for this one when it goes on.
 *
 * In the order of a person's messages: what may not go into the run keeps those behind it.
 */
#include "budget.h"
#include "facts.h"
#include "intake.h"
#include "item.h"
#include "outbox.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include "runtime/chat/state_read.h"
#include "sma/commands.h"

static bool is_steering(const struct sma_store *store)
{
    return store->config->queue_mode == SMA_QUEUE_STEER;
}

void sma_store_note_addition(struct sma_store *store, const struct store_chat *chat)
{
    if (chat->run == NULL || chat->has_two_runs)
        return;
    if (chat->held_count == 0 && !chat->has_behind && !is_steering(store) &&
        !chat->run->steering.is_asking)
        return; /* no row of it is worth reading */
    chat->run->steering.is_due = true;
    store->runs->has_additions = true;
}

bool sma_store_is_addition(const struct store_chat *chat, uint64_t seq)
{
    const struct store_steering *steering = chat->run != NULL ? &chat->run->steering : NULL;
    for (uint32_t i = 0; steering != NULL && i < steering->told_count; i++)
        if (steering->told[i] == seq)
            return true;
    return false;
}

bool sma_store_note_told(struct store_run *run, uint64_t seq)
{
    struct store_steering *steering = &run->steering;
    if (run->collected_count + steering->told_count >= STORE_COLLECT_COUNT_MAX)
        return false;
    steering->told[steering->told_count++] = seq;
    return true;
}

void sma_store_note_waiting(struct sma_store *store, struct store_run *run,
                            const struct sma_step *step)
{
    struct store_steering *steering = &run->steering;
    if (step->asks_words) {
        steering->is_asking = true;
        steering->asked_seq = sma_state_next_seq(store->state) - 1;
    } else if (step->kind == SMA_STEP_RESULTS) {
        steering->is_asking = false;
    }
    sma_store_keep_place(store, run,
                         step->kind == SMA_STEP_ANSWER || step->kind == SMA_STEP_NOTE ||
                             step->opens_calls);
}

static void forget_told(struct store_run *run, uint64_t seq)
{
    struct store_steering *steering = &run->steering;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < steering->told_count; i++)
        if (steering->told[i] != seq)
            steering->told[kept++] = steering->told[i];
    steering->told_count = kept;
}

/* Each caller gets a result of its own there. */
static bool wants_own_result(const struct sma_store *store, const struct sma_route *route)
{
    int adapter = sma_store_adapter_of(store, route);
    return adapter < 0 || sma_store_is_channel_quiet(route) ||
           store->adapters[adapter].adapter->ops->capabilities.is_stored_delivery;
}

/* It stands for what a server gives, which a run asks for when it begins. An answer to a question
 * is one whatever it looks like. */
static bool is_prompt(const struct store_run *run, struct sma_msg *msg)
{
    const struct sma_steer *steer = SMA_MSG_BODY(msg, struct sma_steer);
    struct sma_str server, name, words;
    return !run->steering.is_asking &&
           sma_control_prompt(steer->messages[0].text, &server, &name, &words);
}

/* What is forwarded belongs to the words before it in every mode, but answers nothing. */
static bool may_go_in(const struct sma_store *store, const struct store_run *run,
                      const struct store_facts *facts)
{
    if (wants_own_result(store, &facts->route))
        return false;
    if (facts->is_behind)
        return !run->steering.is_asking;
    return (is_steering(store) || run->steering.is_asking) && !facts->is_apart &&
           facts->group_key.len == 0;
}

/* One waiting message. *ret_is_told false: it waits for a run of its own, and so do those behind
 * it. What cannot be read is such a one: its own start will say so. */
static SMA_CHECKED enum sma_err tell(struct sma_store *store, struct store_run *run, uint64_t seq,
                                     bool *ret_is_told)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_message message;
    struct store_facts facts;
    struct sma_msg *msg = NULL;
    *ret_is_told = false;
    enum sma_err err = sma_state_message_read(store->state, seq, &rows, &message);
    if (err == SMA_ERR_OK)
        err = sma_store_facts_get(message.facts, &facts);
    if (err == SMA_ERR_OK && (message.state != SMA_ROW_WAITING || !may_go_in(store, run, &facts)))
        return SMA_ERR_OK;
    if (err == SMA_ERR_OK)
        err = sma_store_steer_from_row(store, run, seq, &msg);
    if (err != SMA_ERR_OK)
        return sma_store_is_damage(store, err) ? SMA_ERR_OK : err;
    *ret_is_told = !is_prompt(run, msg) && sma_store_note_told(run, seq);
    if (!*ret_is_told) {
        sma_msg_destroy(msg);
        return SMA_ERR_OK;
    }
    sma_store_send_later(store, SMA_ACTOR_AGENT, &msg);
    run->steering.told_seq = seq;
    return SMA_ERR_OK;
}

/* Everything that waits for the run's own person, up to the first that may not go into it. */
static SMA_CHECKED enum sma_err tell_run(struct sma_store *store, struct store_run *run)
{
    struct sma_state_head own, head;
    uint32_t place = 0;
    uint64_t seq;
    bool is_held, is_told = true;
    char author[SMA_ID_BYTES_MAX + 1];
    if (run->chat->held_count == 0 &&
        !sma_queue_each(store->queue, run->chat->id, &place, &seq, &is_held)) {
        run->chat->has_behind = false;
        return SMA_ERR_OK;
    }
    place = 0;
    enum sma_err err = sma_state_head_get(store->state, run->seq, &own);
    if (err != SMA_ERR_OK || own.user_id.len == 0 || own.user_id.len >= sizeof author)
        return err != SMA_ERR_OK && !sma_store_is_damage(store, err) ? err : SMA_ERR_OK;
    memcpy(author, own.user_id.ptr, own.user_id.len);
    struct sma_str user_id = {author, own.user_id.len};
    SMA_TRY(sma_store_tell_notes(store, run, user_id));
    bool has_mode = is_steering(store);
    while (is_told && sma_queue_each(store->queue, run->chat->id, &place, &seq, &is_held)) {
        if (seq <= run->steering.told_seq || (!has_mode && seq <= run->steering.asked_seq))
            continue;
        err = sma_state_head_get(store->state, seq, &head);
        if (err != SMA_ERR_OK)
            return sma_store_is_damage(store, err) ? SMA_ERR_OK : err;
        if (!sma_str_is_equal(head.user_id, user_id))
            continue;
        if (is_held)
            return SMA_ERR_OK;
        SMA_TRY(tell(store, run, seq, &is_told));
    }
    return SMA_ERR_OK;
}

enum sma_err sma_store_tell_additions(struct sma_store *store)
{
    struct store_runs *runs = store->runs;
    if (!runs->has_additions || !sma_store_may_write(store))
        return SMA_ERR_OK;
    runs->has_additions = false;
    for (uint32_t i = 0; i < runs->open_count; i++) {
        struct store_run *run = runs->entries[i];
        if (!run->steering.is_due || run->chat->has_two_runs)
            continue;
        run->steering.is_due = false;
        SMA_TRY(tell_run(store, run));
    }
    return SMA_ERR_OK;
}

void sma_store_take_back_addition(struct sma_store *store, struct store_chat *chat, uint64_t seq)
{
    if (!sma_store_is_addition(chat, seq))
        return;
    struct sma_collected message = {.seq = seq, .change = SMA_CHANGE_RECALL};
    struct sma_steer steer = {.seq = chat->run->seq,
                              .standing = SMA_STANDING_OWNER,
                              .message_count = 1,
                              .messages = &message};
    struct sma_msg *msg = sma_store_made(store, sma_msg_make_steer(&steer));
    sma_store_send_later(store, SMA_ACTOR_AGENT, &msg);
    forget_told(chat->run, seq);
}

enum sma_err sma_store_take_additions(struct sma_store *store, struct store_run *run,
                                      const struct sma_step *step)
{
    for (uint32_t i = 0; i < step->added_count; i++) {
        uint64_t seq = step->added[i].seq;
        struct sma_state_head head;
        enum sma_err err = sma_state_head_get(store->state, seq, &head);
        bool is_waiting = err == SMA_ERR_OK && head.state == SMA_ROW_WAITING && head.run_seq == 0;
        if (err != SMA_ERR_OK && !sma_store_is_damage(store, err))
            return err;
        forget_told(run, seq);
        /* Withdrawn in between, or taken by an earlier step that was asked again. */
        if (!is_waiting || run->collected_count == STORE_COLLECT_COUNT_MAX ||
            !(sma_queue_remove(store->queue, run->chat->id, seq) ||
              sma_store_take_note(store, seq)))
            continue;
        SMA_TRY(sma_state_set_run(store->state, seq, SMA_ROW_RUNNING, run->seq));
        run->collected[run->collected_count++] = seq;
        SMA_TRY(sma_store_share_leave(store, seq));
        SMA_METRIC_ADD(messages_steered_total, 1);
    }
    return SMA_ERR_OK;
}
