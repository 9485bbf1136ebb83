/*
 * Which run starts, and what its steps and its end do.
 *
 * A started message is RUNNING in its row by the same transaction that accepts it or that ends the
 * run before it, so that a crash finds it as begun. RUN itself leaves before the commit only for a
 * message that just came in (no effect
 * can follow: the first step is answered by a later commit), otherwise after it.
 */
#include "budget.h"
#include "intake.h"
#include "item.h"
#include "outbox.h"
#include "runs_priv.h"
#include "store.h"

#include "runtime/chat/state_read.h"

#include <stdlib.h>

/* The same in all chats and at all bots of a platform. */
static uint32_t person_in(const struct sma_store *store, struct sma_str channel,
                          struct sma_str user_id)
{
    struct sma_str platform = sma_bot_platform(channel);
    return (uint32_t)(sma_siphash(store->hash_key, platform.ptr, platform.len) ^
                      sma_siphash(store->hash_key, user_id.ptr, user_id.len)) |
           1;
}

static uint32_t concurrency(const struct sma_store *store)
{
    int wanted = store->config->agent_concurrency;
    return wanted < 1 ? 1 : wanted > SMA_CONCURRENCY_MAX ? SMA_CONCURRENCY_MAX : (uint32_t)wanted;
}

enum sma_err sma_store_queue_accepted(struct sma_store *store, const struct store_chat *chat,
                                      uint64_t seq, struct sma_str user_id, bool is_held)
{
    const struct sma_state_chat *known = sma_state_chat_by_id(store->state, chat->id);
    store->runs->author =
        (struct store_author){seq, known == NULL ? 1 : person_in(store, known->channel, user_id)};
    enum sma_err err = is_held ? sma_queue_push_held(store->queue, chat->id, seq)
                               : sma_queue_push_accepted(store->queue, chat->id, seq);
    store->runs->author.seq = 0;
    return err;
}

uint32_t sma_store_person_of(void *user, uint64_t seq)
{
    struct sma_store *store = user;
    struct sma_state_head head;
    if (seq == store->runs->author.seq)
        return store->runs->author.person;
    if (sma_state_head_get(store->state, seq, &head) != SMA_ERR_OK)
        return 1; /* its start will say that it cannot be read */
    const struct sma_state_chat *chat = sma_state_chat_by_id(store->state, head.chat_id);
    return person_in(store, chat == NULL ? SMA_STR("") : chat->channel, head.user_id);
}

/* A run that waits for words of its person leaves its place to others, and one that has made no
 * step for longer than calls or a model usually take: a command, a server, a page or a model is
 * slow. Who has no run open does not wait so long for a model that others have asked. Its next step
 * has the place again. Nothing of it is stored. */
static uint64_t place_until_ns(const struct sma_store *store, const struct store_run *run,
                               uint32_t running)
{
    uint64_t ms = run->place_ms;
    if (store->config->agent_is_strict)
        return UINT64_MAX;
    if (running == 0 && ms > SMA_PLACE_OTHER_MS)
        ms = SMA_PLACE_OTHER_MS;
    return run->steering.is_asking ? 0 : run->place_ns + ms * SMA_NS_PER_MS;
}

void sma_store_keep_place(const struct sma_store *store, struct store_run *run, bool is_calling)
{
    run->place_ns = sma_ctx_now(store->ctx);
    run->place_ms = is_calling ? SMA_PLACE_CALL_MS : SMA_PLACE_MODEL_MS;
}

/* For a person of whom so many run. Nobody takes the last ones: half of what is left is others'. */
static bool has_place(const struct sma_store *store, uint32_t open_count, uint32_t running)
{
    uint32_t places = concurrency(store);
    uint64_t now = sma_ctx_now(store->ctx);
    for (uint32_t i = 0; open_count >= places && i < store->runs->open_count; i++)
        places += place_until_ns(store, store->runs->entries[i], running) <= now &&
                  places < SMA_CONCURRENCY_MAX;
    return open_count < places && open_count + running < SMA_CONCURRENCY_MAX;
}

/* When a place is left. Only while somebody waits for one, so that nobody is woken for nothing. */
static uint64_t places_wake(const struct sma_store *store)
{
    uint32_t chat_id, running = sma_queue_running(store->queue, 0);
    uint64_t seq, wake = UINT64_MAX, now = sma_ctx_now(store->ctx);
    if (has_place(store, store->runs->open_count, running) ||
        !sma_queue_peek(store->queue, &chat_id, &seq))
        return UINT64_MAX;
    for (uint32_t i = 0; i < store->runs->open_count; i++) {
        uint64_t until_ns = place_until_ns(store, store->runs->entries[i], running);
        if (until_ns > now && until_ns < wake)
            wake = until_ns;
    }
    return wake;
}

static bool may_start(const struct sma_store *store)
{
    return sma_store_may_write(store) && sma_store_deferred_count(store) == 0 &&
           !sma_store_is_quarantined(store);
}

bool sma_store_has_room(const struct sma_store *store)
{
    return may_start(store) &&
           has_place(store, store->runs->open_count, sma_queue_running(store->queue, 0));
}

static bool is_ending_in(const struct sma_store *store, const struct store_chat *chat)
{
    for (uint32_t i = 0; i < store->runs->ended_count; i++)
        if (store->runs->ended[i]->chat == chat)
            return true;
    return false;
}

bool sma_store_may_start_now(const struct sma_store *store, const struct store_chat *chat,
                             struct sma_str user_id)
{
    const struct store_runs *runs = store->runs;
    uint32_t other_chat;
    uint64_t other_seq;
    /* Runs that end in this very batch count: the agent still has them. */
    uint32_t person = person_in(store, chat->state->channel, user_id);
    return may_start(store) &&
           has_place(store, runs->open_count + runs->ended_count,
                     sma_queue_running(store->queue, person)) &&
           runs->suspect_count == 0 && !runs->is_cautious && chat->run == NULL &&
           !is_ending_in(store, chat) && !sma_queue_is_busy(store->queue, chat->id) &&
           sma_queue_chat_waiting(store->queue, chat->id) == 0 &&
           !sma_store_has_notes(store, chat) &&
           !sma_queue_peek(store->queue, &other_chat, &other_seq);
}

void sma_store_enter_run(struct sma_store *store, struct store_run *run, struct store_chat *chat)
{
    SMA_ASSERT(store->runs->open_count < SMA_COUNT_OF(store->runs->entries));
    run->chat = chat;
    chat->has_two_runs = chat->has_two_runs || chat->run != NULL;
    chat->run = run;
    store->runs->entries[store->runs->open_count++] = run;
}

static SMA_CHECKED enum sma_err add_run(struct sma_store *store, struct store_chat *chat,
                                        uint64_t seq, struct store_run **ret_run)
{
    struct sma_str key = sma_store_chat_key(chat);
    struct store_run *run = calloc(1, sizeof *run + key.len + 1);
    if (run == NULL)
        return SMA_ERR_NOMEM;
    run->seq = seq;
    run->started_ns = sma_ctx_now(store->ctx);
    run->stamps.run_ns = run->started_ns;
    sma_store_keep_place(store, run, false);
    run->key_len = (uint32_t)key.len;
    memcpy(run->key, key.ptr, key.len);
    sma_store_enter_run(store, run, chat);
    *ret_run = run;
    return SMA_ERR_OK;
}

/* -- starting ---------------------------------------------------------------------------------- */
void sma_store_start_now(struct sma_store *store, struct store_chat *chat,
                         const struct sma_ingress *ingress, uint64_t seq)
{
    struct store_run *run;
    uint32_t person = person_in(store, chat->state->channel, ingress->route.user_id);
    if (sma_queue_hold(store->queue, chat->id, person) != SMA_ERR_OK ||
        add_run(store, chat, seq, &run) != SMA_ERR_OK)
        sma_ctx_fatal(store->ctx, "out of memory");
    run->stamps = ingress->stamps;
    run->stamps.run_ns = run->started_ns;
    run->is_sent = true;
    struct sma_msg *msg = sma_store_order_from_ingress(store, run, ingress);
    SMA_METRIC_ADD(runs_started_total, 1);
    sma_store_send_now(store, SMA_ACTOR_AGENT, &msg);
}

void sma_store_note_asks(struct store_run *run)
{
    run->end = STORE_END_ASKS;
}

static void adopt_collected(struct sma_store *store, struct store_run *run)
{
    uint64_t seq;
    while (run->collected_count < STORE_COLLECT_COUNT_MAX &&
           sma_store_take_collected(store, run->seq, &seq))
        run->collected[run->collected_count++] = seq;
}

static int compare_seqs(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* A command is a run by itself. */
static bool is_message(struct sma_store *store, uint64_t seq)
{
    struct sma_state_head head;
    return sma_state_head_get(store->state, seq, &head) != SMA_ERR_OK ||
           head.kind != SMA_EVENT_CONTROL;
}

static bool may_collect_more(struct sma_store *store, const struct store_run *run)
{
    uint64_t next;
    return store->config->queue_mode == SMA_QUEUE_COLLECT &&
           sma_queue_first(store->queue, run->chat->id, &next) &&
           run->collected_count + 1 + sma_store_count_collected(store, next) <=
               STORE_COLLECT_COUNT_MAX &&
           is_message(store, next) && is_message(store, run->seq);
}

/* Everything that one run answers: the pieces of an album, which its first one names; with
 * queue.mode collect all that waits for the chat, which the newest message names. */
static SMA_CHECKED enum sma_err collect(struct sma_store *store, struct store_run *run)
{
    uint64_t seq;
    adopt_collected(store, run);
    SMA_TRY(sma_store_adopt_notes(store, run));
    sma_store_release(store, run->seq);
    while (may_collect_more(store, run) && sma_queue_take_more(store->queue, run->chat->id, &seq)) {
        run->collected[run->collected_count++] = run->seq;
        run->seq = seq;
        adopt_collected(store, run);
        sma_store_release(store, seq);
    }
    if (run->collected_count > 1)
        qsort(run->collected, run->collected_count, sizeof *run->collected, compare_seqs);
    for (uint32_t i = 0; i < run->collected_count; i++) {
        enum sma_err err =
            sma_state_set_run(store->state, run->collected[i], SMA_ROW_RUNNING, run->seq);
        if (err != SMA_ERR_OK)
            return err;
    }
    return sma_state_set_row_state(store->state, run->seq, SMA_ROW_RUNNING);
}

/* Its person is told, if its row says who that is. */
static SMA_CHECKED enum sma_err tell_given_up(struct sma_store *store, uint64_t seq)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_message message;
    struct store_facts facts;
    enum sma_err err = sma_state_message_read(store->state, seq, &rows, &message);
    if (err == SMA_ERR_OK)
        err = sma_store_facts_get(message.facts, &facts);
    if (err != SMA_ERR_OK)
        return sma_store_is_damage(store, err) ? SMA_ERR_OK : err;
    facts.route.chat_key = message.chat->key;
    sma_buf_clear(&store->scratch.text);
    sma_notice_format(&store->scratch.text, sma_store_language(store, &facts.route),
                      SMA_NOTICE_GIVEN_UP);
    struct sma_step_delivery delivery = {.call = STORE_GIVEN_UP_CALL,
                                         .intent = SMA_INTENT_NOTICE,
                                         .route = facts.route,
                                         .text = sma_buf_str(&store->scratch.text)};
    struct sma_step_delivery_state state;
    return sma_store_deliver(store,
                             &(struct store_delivery_facts){.seq = seq, .step = STORE_NOTICE_STEP},
                             &delivery, &state);
}

enum sma_err sma_store_finish_run(struct sma_store *store, struct store_run *run,
                                  struct sma_state_finish *finish)
{
    const struct sma_state_finish ended = *finish;
    finish->wall_ms = sma_ctx_wall(store->ctx);
    finish->usage = &run->usage;
    sma_store_share_learn(store, run);
    SMA_TRY(sma_state_finish(store->state, finish));
    sma_store_note_finished(store, run->seq);
    finish->turn = finish->tool_calls_json = finish->output = finish->trace = SMA_STR("");
    finish->usage = NULL;
    for (uint32_t i = 0; i < run->collected_count; i++) {
        finish->seq = run->collected[i];
        SMA_TRY(sma_state_finish(store->state, finish));
        sma_store_note_finished(store, run->collected[i]);
    }
    sma_store_forget_suspect(store, run->seq);
    sma_store_run_end(store, run);
    run->end = (uint8_t)(STORE_END_OK + finish->outcome);
    SMA_METRIC_ADD(runs_done_total, 1);
    if (finish->outcome != SMA_OUTCOME_OK && finish->outcome != SMA_OUTCOME_CANCELLED)
        SMA_METRIC_ADD(runs_failed_total, 1);
    return sma_store_tell_hooks(store, &ended);
}

/* -- the stored result ------------------------------------------------------------------------- */

static bool is_text(const struct sma_state_delivery *delivery)
{
    return delivery->intent != SMA_INTENT_APPROVAL_REQUEST &&
           delivery->intent != SMA_INTENT_APPROVAL_OUTCOME &&
           delivery->intent != SMA_INTENT_REACTION && delivery->state != SMA_DELIVERY_FAILED &&
           sma_state_outbox_step(delivery->outbox_id) != STORE_NOTICE_STEP;
}

/* What the run has sent to its own chat, or will, into scratch.text; otherwise its final text. */
enum sma_err sma_store_collect_output(struct sma_store *store, const struct store_run *run,
                                      struct sma_str otherwise, bool *ret_is_sent)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_deliveries list = {0};
    *ret_is_sent = false;
    sma_buf_clear(&store->scratch.text);
    enum sma_err err = sma_state_deliveries_read(store->state, run->seq, &rows, &list);
    if (err != SMA_ERR_OK && !sma_store_is_damage(store, err))
        return err; /* what of it cannot be read is not told */
    for (size_t i = 0; err == SMA_ERR_OK && i < list.count; i++) {
        if (list.items[i].chat != run->chat->state || !is_text(&list.items[i]))
            continue;
        if (*ret_is_sent)
            sma_buf_put_text(&store->scratch.text, "\n\n");
        sma_buf_put_str(&store->scratch.text, list.items[i].text);
        *ret_is_sent = true;
    }
    if (!*ret_is_sent)
        sma_buf_put_str(&store->scratch.text, otherwise);
    return store->scratch.text.err;
}

/* The run is not handed out: too many attempts, or its row cannot be read. */
enum sma_err sma_store_give_up_run(struct sma_store *store, struct store_run *run, const char *why)
{
    sma_ctx_log(store->ctx, SMA_LOG_ERROR, "message %llu of %s is given up: %s",
                (unsigned long long)run->seq, run->chat->key, why);
    sma_store_note_error(store, why);
    SMA_METRIC_ADD(runs_given_up_total, 1);
    /* Who has the answer already is not told to send the message again. */
    bool is_sent;
    SMA_TRY(sma_store_collect_output(store, run, SMA_STR(""), &is_sent));
    if (!is_sent)
        SMA_TRY(tell_given_up(store, run->seq));
    if (!is_sent)
        sma_buf_clear(&store->scratch.text); /* what was told is no result */
    struct sma_state_finish finish = {.seq = run->seq,
                                      .state = SMA_ROW_GIVEN_UP,
                                      .outcome = SMA_OUTCOME_GIVEN_UP,
                                      .output = sma_buf_str(&store->scratch.text)};
    return sma_store_finish_run(store, run, &finish);
}

/* Begun before this start of the program. A suspect's attempt is written down before it is made. */
static SMA_CHECKED enum sma_err prepare_resumed(struct sma_store *store, struct store_run *run,
                                                const struct sma_state_head *head,
                                                uint32_t *ret_attempt)
{
    adopt_collected(store, run);
    SMA_METRIC_ADD(runs_resumed_total, 1);
    *ret_attempt = 1;
    SMA_TRY(sma_state_step_last(store->state, run->seq, &run->last_step));
    SMA_TRY(sma_state_steps_usage(store->state, run->seq, &run->usage));
    const struct store_suspect *suspect = sma_store_find_suspect(store, run->seq);
    if (suspect == NULL || suspect->is_over)
        return SMA_ERR_OK;
    /* No attempt is on record in the first life of a run: it counts unless it made a step. */
    uint32_t before = head->attempt == 0 && run->last_step == 0 ? 1 : head->attempt;
    *ret_attempt = before + 1;
    run->is_suspect = true;
    return sma_state_set_attempt(store->state, run->seq, *ret_attempt);
}

/* What was approved counts as started from this commit on: it is never carried out twice. */
static SMA_CHECKED enum sma_err unpark(struct sma_store *store, const struct store_run *run)
{
    enum sma_err err = sma_store_end_wait(store, run->seq);
    if (err == SMA_ERR_OK)
        err = sma_state_set_row_state(store->state, run->seq, SMA_ROW_RUNNING);
    for (uint32_t i = 0; i < run->collected_count && err == SMA_ERR_OK; i++)
        err = sma_state_set_run(store->state, run->collected[i], SMA_ROW_RUNNING, run->seq);
    return err;
}

/* One start: what it takes from the queue, and whose row is to blame when it fails. */
struct start
{
    uint32_t chat_id;
    uint64_t seq;
    struct store_order order;
};

/* The first of a free chat becomes a run. NOTFOUND: it is not the first any more. */
static SMA_CHECKED enum sma_err take_first(struct sma_store *store, const struct start *start,
                                           struct store_run **ret_run)
{
    struct sma_state_chat *state_chat = sma_state_chat_by_id(store->state, start->chat_id);
    SMA_ASSERT(state_chat != NULL);
    struct store_chat *chat = sma_store_chat(store, state_chat);
    uint64_t seq;
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    if (!sma_queue_start(store->queue, start->chat_id, &seq) || seq != start->seq)
        return SMA_ERR_NOTFOUND;
    return add_run(store, chat, seq, ret_run);
}

/* Its share, or what it is over; then the run is finished with a notice. */
static SMA_CHECKED enum sma_err set_budget(struct sma_store *store, struct store_run *run,
                                           bool is_new, struct sma_run_order *order,
                                           bool *ret_is_over)
{
    struct store_share share;
    const struct store_cover how = {.standing = (enum sma_standing)order->standing,
                                    .is_new = is_new};
    SMA_TRY(sma_store_share_cover(store, run, &how, &share));
    *ret_is_over = share.over.scope != SMA_BUDGET_NONE;
    if (!*ret_is_over)
        return is_new ? SMA_ERR_OK : sma_store_share_check(store, run->seq, &order->over);
    SMA_TRY(sma_store_share_notice(store, run->chat, &order->route, run->seq, &share));
    struct sma_state_finish finish = {.seq = run->seq,
                                      .state = SMA_ROW_FAILED,
                                      .outcome = SMA_OUTCOME_FAILED,
                                      .output = sma_store_share_reason(store, &share)};
    return sma_store_finish_run(store, run, &finish);
}

static enum sma_err start_queued(struct sma_store *store, void *ctx)
{
    struct start *start = ctx;
    struct store_run *run;
    struct sma_state_head head;
    SMA_TRY(sma_store_begin(store));
    SMA_TRY(take_first(store, start, &run));
    SMA_TRY(sma_state_head_get(store->state, start->seq, &head));
    start->order = (struct store_order){.run = run,
                                        .attempt = 1,
                                        .is_resumed = head.state != SMA_ROW_WAITING,
                                        .is_decided = head.state == SMA_ROW_PARKED &&
                                                      !sma_store_is_waiting_run(store, start->seq)};
    bool is_parked = head.state == SMA_ROW_PARKED;
    if (start->order.is_decided) /* it goes on with calls */
        sma_store_keep_place(store, run, true);
    SMA_TRY(start->order.is_resumed ? prepare_resumed(store, run, &head, &start->order.attempt)
                                    : collect(store, run));
    if (is_parked)
        SMA_TRY(unpark(store, run));
    if (start->order.attempt > SMA_RUN_ATTEMPT_COUNT_MAX)
        return sma_store_give_up_run(store, run, "interrupted three times without a step");
    struct sma_msg *msg;
    SMA_TRY(sma_store_order_from_rows(store, &start->order, &msg));
    bool is_over = false;
    enum sma_err err = set_budget(store, run, !start->order.is_resumed,
                                  SMA_MSG_BODY(msg, struct sma_run_order), &is_over);
    if (err != SMA_ERR_OK || is_over) {
        sma_msg_destroy(msg);
        return err;
    }
    if (run->is_suspect && store->runs->quarantine_ns == 0)
        store->runs->quarantine_ns = run->started_ns + STORE_QUARANTINE_S * UINT64_C(1000000000);
    SMA_METRIC_ADD(runs_started_total, 1);
    sma_store_send_later(store, SMA_ACTOR_AGENT, &msg);
    sma_store_note_addition(store, run->chat);
    return SMA_ERR_OK;
}

/* One that the run would have answered besides: the run itself is good. */
static SMA_CHECKED enum sma_err give_up_piece(struct sma_store *store, uint32_t chat_id,
                                              uint64_t seq)
{
    (void)sma_queue_remove(store->queue, chat_id, seq); /* or it is an orphan */
    sma_store_drop_collected(store, seq);
    sma_store_release(store, seq);
    SMA_METRIC_ADD(runs_given_up_total, 1);
    enum sma_err err = tell_given_up(store, seq);
    if (err == SMA_ERR_OK)
        err = sma_state_finish(store->state,
                               &(struct sma_state_finish){.seq = seq,
                                                          .state = SMA_ROW_GIVEN_UP,
                                                          .outcome = SMA_OUTCOME_GIVEN_UP,
                                                          .wall_ms = sma_ctx_wall(store->ctx)});
    if (err == SMA_ERR_OK)
        sma_store_note_finished(store, seq);
    return err;
}

static enum sma_err give_up_queued(struct sma_store *store, void *ctx)
{
    const struct start *start = ctx;
    struct store_run *run;
    uint64_t blamed = start->order.blamed_seq;
    if (blamed != 0 && blamed != start->seq)
        return give_up_piece(store, start->chat_id, blamed);
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = take_first(store, start, &run);
    if (err != SMA_ERR_OK)
        return err;
    adopt_collected(store, run);
    sma_store_release(store, run->seq);
    err = sma_store_end_wait(store, run->seq);
    return err == SMA_ERR_OK ? sma_store_give_up_run(store, run, "its row cannot be read") : err;
}

/* A message that cannot be started is over, and no other is the worse for it. */
static SMA_CHECKED enum sma_err start_one(struct sma_store *store, uint32_t chat_id, uint64_t seq)
{
    struct start start = {.chat_id = chat_id, .seq = seq};
    const struct sma_state_chat *chat = sma_state_chat_by_id(store->state, chat_id);
    struct store_item item = {.step = start_queued,
                              .on_damage = give_up_queued,
                              .ctx = &start,
                              .name = "message",
                              .number = seq,
                              .chat_key = chat != NULL ? chat->key : SMA_STR(""),
                              .remedy = "its person may send it again"};
    enum sma_err err = sma_store_item(store, &item);
    if (err != SMA_ERR_OK || !item.is_stuck)
        return err;
    uint64_t blamed = start.order.blamed_seq != 0 ? start.order.blamed_seq : seq;
    sma_store_set_stuck(store, blamed, item.chat_key, "and not ended either");
    (void)sma_queue_remove(store->queue, chat_id, blamed); /* or it is an orphan */
    sma_store_drop_collected(store, blamed);
    return SMA_ERR_OK;
}

static enum sma_err pump(struct sma_store *store)
{
    uint32_t chat_id;
    uint64_t seq;
    sma_store_let_suspect_go(store);
    while (sma_store_has_room(store) && sma_queue_peek(store->queue, &chat_id, &seq)) {
        SMA_TRY(start_one(store, chat_id, seq));
        sma_store_let_suspect_go(store); /* when it was given up */
    }
    return sma_store_tell_additions(store);
}

struct store_run_counts sma_store_run_counts(const struct sma_store *store)
{
    return (struct store_run_counts){.open = store->runs->open_count,
                                     .suspects = store->runs->suspect_count,
                                     .waiting_for_model = store->runs->wait_count};
}

/* -- the part ---------------------------------------------------------------------------------- */
static enum sma_err create(struct sma_store *store)
{
    store->runs = calloc(1, sizeof *store->runs);
    return store->runs != NULL ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

static void mark(const struct sma_store *store, struct store_marks *marks)
{
    marks->ended = store->runs->ended_count;
}

static void settle(struct sma_store *store)
{
    struct store_runs *runs = store->runs;
    for (uint32_t i = 0; i < runs->ended_count; i++) {
        sma_store_log_end(store, runs->ended[i]);
        free(runs->ended[i]);
    }
    runs->ended_count = 0;
    for (uint32_t i = 0; i < runs->open_count; i++)
        runs->entries[i]->is_sent = true; /* in a moment */
    sma_store_settle_suspects(store);
}

static uint64_t wake(const struct sma_store *store)
{
    uint64_t waits = sma_store_waits_wake(store), suspects = sma_store_suspects_wake(store);
    if (sma_store_is_retrying(store))
        return UINT64_MAX;
    uint64_t places = places_wake(store), first = waits < suspects ? waits : suspects;
    return first < places ? first : places;
}

static void fini(struct sma_store *store)
{
    struct store_runs *runs = store->runs;
    sma_store_forget_waits(store);
    for (uint32_t i = 0; i < runs->open_count; i++)
        free(runs->entries[i]);
    for (uint32_t i = 0; i < runs->ended_count; i++)
        free(runs->ended[i]);
    sma_store_free_kept_runs(store);
    free(runs->ended);
    free(runs->stuck);
    free(runs->orphans);
    while (runs->note_count > 0)
        runs->notes[--runs->note_count].chat->held_count--;
    free(runs->notes);
    free(runs);
}

const struct store_part sma_store_runs_part = {.name = "runs",
                                               .create = create,
                                               .load = sma_store_load_runs,
                                               .forget = sma_store_forget_runs,
                                               .mark = mark,
                                               .expire = sma_store_expire_waits,
                                               .complete = pump,
                                               .settle = settle,
                                               .wake = wake,
                                               .fini = fini};
