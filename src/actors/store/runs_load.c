/*
 * The runs and the queue, from the rows: at start, and again after something was undone.
 *
 * What no row says is which runs the agent holds: those whose RUN has left, or leaves with the open
 * transaction. Each of them that is RUNNING in its row goes on; one that is not was started before
 * a commit that failed: it is taken back. Every other open row waits in the queue. A row that
 * cannot be read concerns nobody but its message.
 */
#include "consent.h"
#include "facts.h"
#include "intake.h"
#include "item.h"
#include "outbox.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"
#include "trouble.h"

#include "runtime/chat/state_read.h"

#include <stdlib.h>

/* -- rows that are left alone ------------------------------------------------------------------ */

void sma_store_leave_stuck(struct sma_store *store, uint64_t seq)
{
    struct store_run *run = sma_store_run_find(store, seq);
    if (run == NULL)
        return;
    sma_store_set_stuck(store, seq, sma_store_chat_key(run->chat), "and not ended either");
    sma_store_run_end(store, run);
    run->end = STORE_END_FAILED;
}

/* -- what the agent holds ---------------------------------------------------------------------- */
static void keep(struct sma_store *store, struct store_run *run)
{
    run->chat->run = NULL;
    run->chat->has_two_runs = false;
    run->chat = NULL;
    run->next = store->runs->kept;
    store->runs->kept = run;
}

void sma_store_forget_runs(struct sma_store *store, const struct store_marks *to)
{
    struct store_runs *runs = store->runs;
    while (runs->open_count > 0)
        keep(store, runs->entries[--runs->open_count]);
    /* What was undone ended them; the others of the transaction are still over. */
    while (runs->ended_count > to->ended)
        keep(store, runs->ended[--runs->ended_count]);
    for (uint32_t i = 0; i < runs->suspect_count; i++)
        runs->suspects[i].is_over = false;
    runs->orphan_count = 0;
    sma_store_reset_notes(store);
    sma_store_reset_waits(store);
    sma_queue_clear(store->queue);
}

static void take_back(struct sma_store *store, const struct store_run *run)
{
    const struct sma_control_order order = {.control = SMA_CONTROL_STOP,
                                            .mark_seq = run->seq + 1,
                                            .chat_key = {run->key, run->key_len}};
    struct sma_msg *msg = sma_store_made(store, sma_msg_make_control(&order));
    sma_store_send_now(store, SMA_ACTOR_AGENT, &msg);
}

/* The chat of an open row. NOTFOUND, CORRUPT: nobody can say. */
static SMA_CHECKED enum sma_err
find_chat(struct sma_store *store, const struct sma_state_head *head, struct store_chat **ret_chat)
{
    struct sma_state_chat *state_chat = sma_state_chat_by_id(store->state, head->chat_id);
    if (state_chat == NULL)
        return SMA_ERR_CORRUPT;
    *ret_chat = sma_store_chat(store, state_chat);
    return *ret_chat == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

/* What a run that is RUNNING in its row has done until now. */
static SMA_CHECKED enum sma_err read_again(struct sma_store *store, struct store_run *run,
                                           const struct sma_state_head *head)
{
    struct store_chat *chat;
    run->collected_count = 0;                                /* their rows name it */
    run->steering = (struct store_steering){.is_due = true}; /* what was told may be told again */
    store->runs->has_additions = true;
    run->last_step = 0;
    run->usage = (struct sma_usage){0};
    run->is_suspect = head->attempt > 0 && sma_store_find_suspect(store, run->seq) != NULL;
    enum sma_err err = find_chat(store, head, &chat);
    if (err == SMA_ERR_OK)
        err = sma_state_step_last(store->state, run->seq, &run->last_step);
    if (err == SMA_ERR_OK)
        err = sma_state_steps_usage(store->state, run->seq, &run->usage);
    if (err == SMA_ERR_OK)
        sma_store_enter_run(store, run, chat);
    return err;
}

static SMA_CHECKED enum sma_err load_kept(struct sma_store *store, struct store_run *run)
{
    struct sma_state_head head;
    if (!run->is_sent && !sma_store_hands_out(store, SMA_MSG_RUN, run->seq)) {
        free(run); /* nobody has heard of it */
        return SMA_ERR_OK;
    }
    enum sma_err err = sma_state_head_get(store->state, run->seq, &head);
    bool is_open = err == SMA_ERR_OK && head.state == SMA_ROW_RUNNING && head.run_seq == 0;
    if (is_open)
        err = read_again(store, run, &head);
    if (is_open && err == SMA_ERR_OK)
        return err;
    bool is_damaged = sma_store_is_damage(store, err) && err != SMA_ERR_NOTFOUND;
    if (is_damaged)
        sma_store_set_stuck(store, run->seq, (struct sma_str){run->key, run->key_len},
                            sma_err_text(err));
    if (err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND || is_damaged) {
        take_back(store, run);
        err = SMA_ERR_OK;
    }
    free(run);
    return err;
}

static SMA_CHECKED enum sma_err load_all_kept(struct sma_store *store)
{
    enum sma_err err = SMA_ERR_OK;
    while (err == SMA_ERR_OK && store->runs->kept != NULL) {
        struct store_run *run = store->runs->kept;
        store->runs->kept = run->next;
        err = load_kept(store, run);
    }
    return err;
}

/* -- the queue --------------------------------------------------------------------------------- */
/* A piece of an album waits for the message that leads it, a command for the role of its author. */
static SMA_CHECKED enum sma_err queue_waiting(struct sma_store *store, struct store_chat *chat,
                                              const struct sma_state_head *head)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_message message;
    uint64_t seq = head->seq, run_seq = head->run_seq;
    uint8_t kind = head->kind;
    bool is_held = false, is_quiet = false, is_run = kind == SMA_EVENT_MESSAGE;
    struct store_facts facts;
    struct sma_str message_id = SMA_STR("");
    enum sma_err err = sma_state_message_read(store->state, seq, &rows, &message);
    if (err == SMA_ERR_OK && sma_store_facts_get(message.facts, &facts) == SMA_ERR_OK) {
        is_quiet = sma_store_wants_quiet(store, &facts.route);
        chat->has_behind |= facts.is_behind;
        message_id = facts.change == SMA_CHANGE_EDIT ? facts.route.message_id : SMA_STR("");
        is_run =
            is_run || facts.is_retry || (!facts.wants_role && sma_store_is_run_command(&facts));
    }
    if (err == SMA_ERR_OK) {
        err = sma_store_hold_again(store, &message, &is_held);
    } else if (sma_store_is_damage(store, err)) {
        err = SMA_ERR_OK; /* its start will say that it cannot be read */
    }
    if (err == SMA_ERR_OK && kind == SMA_EVENT_NOTE)
        return sma_store_add_note(store, chat, seq, message_id);
    if (err != SMA_ERR_OK || !is_run)
        return err;
    if (run_seq != 0)
        return sma_store_add_collected(store, run_seq, seq);
    SMA_TRY(is_held ? sma_queue_push_held(store->queue, chat->id, seq)
                    : sma_queue_push_accepted(store->queue, chat->id, seq));
    if (is_quiet)
        sma_store_await_quiet(store, chat);
    return SMA_ERR_OK;
}

/* Begun before this start of the program. */
static SMA_CHECKED enum sma_err queue_begun(struct sma_store *store, struct store_chat *chat,
                                            const struct sma_state_head *head)
{
    uint64_t seq = head->seq;
    bool was_running = head->state == SMA_ROW_RUNNING;
    if (!store->runs->is_loaded && store->runs->is_cautious && was_running)
        sma_store_add_suspect(store, seq);
    enum sma_err err = sma_queue_push_resumed(store->queue, chat->id, seq);
    const struct store_suspect *suspect = sma_store_find_suspect(store, seq);
    if (err == SMA_ERR_OK && was_running && suspect != NULL && !suspect->is_let_go)
        sma_queue_set_held(store->queue, chat->id, seq, true);
    return err;
}

static SMA_CHECKED enum sma_err queue_row(struct sma_store *store, struct store_chat *chat,
                                          const struct sma_state_head *head)
{
    bool is_asked_about = head->state == SMA_ROW_PARKED && head->run_seq == 0 &&
                          (sma_store_is_waiting_run(store, head->seq) ||
                           sma_store_approval_of_run(store, head->seq) != NULL);
    if (is_asked_about)
        return sma_queue_hold(store->queue, chat->id, 0);
    if (sma_store_run_find(store, head->seq) != NULL)
        return sma_queue_hold(store->queue, chat->id, sma_store_person_of(store, head->seq));
    if (head->state == SMA_ROW_WAITING)
        return queue_waiting(store, chat, head);
    if (head->run_seq == 0)
        return queue_begun(store, chat, head);
    struct store_run *run = sma_store_run_find(store, head->run_seq);
    if (run == NULL)
        return sma_store_add_collected(store, head->run_seq, head->seq);
    if (run->collected_count < STORE_COLLECT_COUNT_MAX)
        run->collected[run->collected_count++] = head->seq;
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err load_row(struct sma_store *store, uint64_t seq)
{
    struct sma_state_head head;
    struct store_chat *chat;
    if (sma_store_is_stuck(store, seq))
        return SMA_ERR_OK;
    enum sma_err err = sma_state_head_get(store->state, seq, &head);
    if (err == SMA_ERR_OK)
        err = find_chat(store, &head, &chat);
    if (err == SMA_ERR_OK && sma_store_is_aside(store, chat->state)) {
        sma_store_note_aside_message(store, chat->state); /* nobody could get its answer */
        return sma_queue_hold(store->queue, chat->id, 0);
    }
    if (err == SMA_ERR_OK)
        return queue_row(store, chat, &head);
    if (!sma_store_is_damage(store, err))
        return err;
    sma_store_set_stuck(store, seq, SMA_STR(""), sma_err_text(err));
    return SMA_ERR_OK;
}

/* Which of them are over is in the rows, too: not RUNNING, or with a step since the attempt. */
static void load_suspects(struct sma_store *store)
{
    struct sma_state_head head;
    for (uint32_t i = 0; i < store->runs->suspect_count; i++) {
        struct store_suspect *suspect = &store->runs->suspects[i];
        const struct store_run *run = sma_store_run_find(store, suspect->seq);
        bool is_begun = sma_state_head_get(store->state, suspect->seq, &head) == SMA_ERR_OK &&
                        head.state == SMA_ROW_RUNNING;
        suspect->is_over = !is_begun || (run != NULL && !run->is_suspect);
    }
}

enum sma_err sma_store_load_runs(struct sma_store *store)
{
    enum sma_err err = sma_store_load_waits(store);
    if (err == SMA_ERR_OK)
        err = load_all_kept(store);
    for (uint64_t seq = 0;
         err == SMA_ERR_OK && (seq = sma_state_open_next(store->state, seq)) != 0;)
        err = load_row(store, seq);
    if (err == SMA_ERR_OK)
        load_suspects(store);
    store->runs->is_loaded = true;
    return err;
}
