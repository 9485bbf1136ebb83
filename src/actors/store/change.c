/*
 * A message was edited, or is there no more: a NOTE that names it.
 *
 * Before its run has begun the message itself follows: it gets the new text, or is withdrawn. Later
 * its author's next request is told: the note is then a row that waits, outside of the queue, and
 * goes into the run that is open for him (steer.c) or comes with his next one. An edit is never an
 * answer to a request, and no command.
 */
#include "facts.h"
#include "intake_priv.h"
#include "outbox.h"
#include "people.h"
#include "runs.h"
#include "store.h"

#include "runtime/chat/state_read.h"

#define WITHDRAWN "[withdrawn]"

struct change
{
    struct sma_store *store;
    struct store_chat *chat;
    const struct sma_ingress *in;
    struct sma_state_head head; /* of the message that it is about */
    bool is_edit;
};

enum fate
{
    FATE_NOTHING, /* nobody's business: not even recorded */
    FATE_RECORD,  /* in the history, and that is all */
    FATE_DONE,    /* the message has followed */
    FATE_TELL,    /* the model is to hear of it */
};

/* -- before its run has begun ------------------------------------------------------------------ */
struct rewriting
{
    struct change *change;
    struct sma_str text;
    bool drops_parts;
    bool is_same, is_kept; /* out: it says so already; its words are read as an answer */
};

static enum sma_err rewrite_row(void *user, const struct sma_state_message *message)
{
    struct rewriting *rewriting = user;
    struct sma_store *store = rewriting->change->store;
    struct store_facts facts;
    SMA_TRY(sma_store_facts_get(message->facts, &facts));
    struct sma_buf *old = &store->scratch.text;
    sma_buf_clear(old);
    if (facts.has_text)
        sma_buf_put_str(old, facts.text);
    else
        SMA_TRY(sma_store_line_text(message->line, old));
    rewriting->is_same = sma_str_is_equal(sma_buf_str(old), rewriting->text);
    rewriting->is_kept = facts.may_answer || facts.is_judged;
    bool is_begun = message->state != SMA_ROW_WAITING || rewriting->is_kept;
    if (rewriting->is_same || is_begun)
        return old->err;
    facts.has_text = true;
    facts.text = rewriting->text;
    if (rewriting->drops_parts)
        facts.parts = facts.context = SMA_STR("");
    sma_buf_clear(&store->scratch.facts);
    sma_store_facts_put(&store->scratch.facts, &facts);
    SMA_TRY(store->scratch.facts.err);
    return sma_state_set_facts(store->state, message->seq, sma_buf_str(&store->scratch.facts));
}

/* The text of the waiting message, or whether the model must be told of it. */
static SMA_CHECKED enum sma_err edit(struct change *change, enum fate *ret_fate)
{
    struct sma_store *store = change->store;
    struct rewriting rewriting = {.change = change, .text = change->in->text};
    bool is_told = sma_store_is_addition(change->chat, change->head.seq);
    bool is_open = sma_row_is_open(change->head.state);
    bool is_waiting = change->head.state == SMA_ROW_WAITING && !is_told;
    SMA_TRY(sma_store_begin(store));
    if (is_waiting)
        SMA_TRY(sma_state_message_get(store->state, change->head.seq, rewrite_row, &rewriting));
    if (rewriting.is_same)
        *ret_fate = FATE_NOTHING;
    else if (is_waiting && !rewriting.is_kept)
        *ret_fate = FATE_DONE;
    else
        *ret_fate = is_open || change->head.state == SMA_ROW_DONE ||
                            change->head.state == SMA_ROW_FAILED ||
                            change->head.state == SMA_ROW_GIVEN_UP
                        ? FATE_TELL
                        : FATE_RECORD;
    return SMA_ERR_OK;
}

/* Others of an album still wait for this one: it stays, without what it said. */
static SMA_CHECKED enum sma_err empty_leader(struct change *change)
{
    struct rewriting rewriting = {
        .change = change, .text = SMA_STR(WITHDRAWN), .drops_parts = true};
    return sma_state_message_get(change->store->state, change->head.seq, rewrite_row, &rewriting);
}

static SMA_CHECKED enum sma_err withdraw(struct change *change, enum fate *ret_fate)
{
    struct sma_store *store = change->store;
    uint64_t seq = change->head.seq;
    uint32_t place = 0;
    uint64_t piece;
    if (change->head.state != SMA_ROW_WAITING) {
        *ret_fate = sma_row_is_open(change->head.state) ? FATE_TELL : FATE_RECORD;
        return SMA_ERR_OK;
    }
    *ret_fate = FATE_DONE;
    SMA_TRY(sma_store_begin(store));
    if (sma_store_next_collected(store, seq, &place, &piece))
        return empty_leader(change);
    sma_store_take_back_addition(store, change->chat, seq);
    (void)sma_queue_remove(store->queue, change->chat->id, seq); /* or it is a piece of an album */
    sma_store_drop_collected(store, seq);
    SMA_METRIC_ADD(messages_withdrawn_total, 1);
    return sma_store_cancel_message(store, seq);
}

/* -- of what was only recorded ---------------------------------------------------------------- */
/* A copy that speaks to us may still make it run (accept.c): with its new words, or not at all. */
static enum sma_err amend_row(void *user, const struct sma_state_message *message)
{
    const struct change *change = user;
    struct sma_store *store = change->store;
    struct store_facts facts = {0};
    if (message->facts.len > 0)
        SMA_TRY(sma_store_facts_get(message->facts, &facts));
    facts.has_text = facts.has_text || change->is_edit;
    if (change->is_edit)
        facts.text = change->in->text;
    else
        facts.change = SMA_CHANGE_RECALL;
    sma_buf_clear(&store->scratch.facts);
    sma_store_facts_put(&store->scratch.facts, &facts);
    SMA_TRY(store->scratch.facts.err);
    return sma_state_set_facts(store->state, message->seq, sma_buf_str(&store->scratch.facts));
}

/* -- the event --------------------------------------------------------------------------------- */
#define RECENT_COUNT 1000

/* A recall does not always name the topic: the message among the newest, when it is of the same
 * chat. */
static SMA_CHECKED enum sma_err find_recent(struct sma_store *store, const struct sma_ingress *in,
                                            struct store_chat **ret_chat,
                                            struct sma_state_head *ret_head)
{
    uint64_t seq;
    SMA_TRY(sma_state_find_event(store->state, in->target_id, RECENT_COUNT, &seq));
    SMA_TRY(sma_state_head_get(store->state, seq, ret_head));
    struct sma_state_chat *chat = sma_state_chat_by_id(store->state, ret_head->chat_id);
    if (chat == NULL || ret_head->kind != SMA_EVENT_MESSAGE ||
        !sma_str_is_equal(sma_store_chat_base(chat->key), sma_store_chat_base(in->route.chat_key)))
        return SMA_ERR_NOTFOUND;
    *ret_chat = sma_store_chat(store, chat);
    return *ret_chat == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

/* NOTFOUND: nothing is known of it. */
static SMA_CHECKED enum sma_err find_in_chat(struct sma_store *store, const struct sma_ingress *in,
                                             struct store_chat **ret_chat,
                                             struct sma_state_head *ret_head)
{
    struct sma_state_chat *chat = sma_state_chat_get(store->state, in->route.chat_key);
    if (chat == NULL || in->target_id.len == 0)
        return SMA_ERR_NOTFOUND;
    uint32_t claim_id = sma_str_is_equal(chat->key, in->route.chat_key)
                            ? chat->claim_id
                            : sma_state_claim_id(store->state, in->route.chat_key);
    SMA_TRY(
        sma_state_claim_find(store->state, claim_id, SMA_EVENT_MESSAGE, in->target_id, ret_head));
    *ret_chat = sma_store_chat(store, chat);
    return *ret_chat == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err find_message(struct sma_store *store, const struct sma_ingress *in,
                                             struct store_chat **ret_chat,
                                             struct sma_state_head *ret_head)
{
    enum sma_err err = find_in_chat(store, in, ret_chat, ret_head);
    if (err != SMA_ERR_NOTFOUND || in->change != SMA_CHANGE_RECALL || in->target_id.len == 0)
        return err;
    return find_recent(store, in, ret_chat, ret_head);
}

/* Only its author writes a message anew. That it is gone is the platform's word. */
static bool may_change(const struct change *change)
{
    return !change->is_edit || (change->head.user_id.len > 0 &&
                                sma_str_is_equal(change->head.user_id, change->in->route.user_id));
}

static SMA_CHECKED enum sma_err decide(struct change *change, enum fate *ret_fate)
{
    uint8_t state = change->head.state;
    *ret_fate = FATE_NOTHING;
    if (!may_change(change))
        return SMA_ERR_OK;
    if (state != SMA_ROW_IGNORED && state != SMA_ROW_BUSY)
        return change->is_edit ? edit(change, ret_fate) : withdraw(change, ret_fate);
    bool is_stranger;
    SMA_TRY(sma_store_is_stranger(change->store, change->in, &is_stranger));
    *ret_fate = is_stranger ? FATE_NOTHING : FATE_RECORD;
    if (is_stranger || state != SMA_ROW_IGNORED)
        return SMA_ERR_OK;
    SMA_TRY(sma_store_begin(change->store));
    return sma_state_message_get(change->store->state, change->head.seq, amend_row, change);
}

static SMA_CHECKED enum sma_err pass_over(struct sma_store *store, struct sma_msg *msg)
{
    SMA_TRY(sma_store_save_cursor(store, SMA_MSG_BODY(msg, struct sma_ingress)));
    sma_store_accept_later(
        store, msg, &(struct sma_accepted){.verdict = SMA_VERDICT_IGNORED, .why = SMA_REASON_NOTE});
    return SMA_ERR_OK;
}

/* The note as a row, and a line in the history. */
static SMA_CHECKED enum sma_err record(struct change *change, const struct sma_ingress *note,
                                       enum fate fate, struct sma_msg *msg)
{
    struct sma_store *store = change->store;
    bool is_told = fate == FATE_TELL;
    struct store_acceptance how = {
        .row_state = is_told ? SMA_ROW_WAITING : SMA_ROW_DONE,
        .is_unkept = is_told && !sma_store_wants_note_line(store, change->chat, note->target_id)};
    uint64_t seq;
    SMA_TRY(sma_store_begin(store));
    SMA_TRY(sma_store_write_row(store, change->chat, note, &how, &seq));
    if (fate == FATE_TELL)
        SMA_TRY(sma_store_add_note(store, change->chat, seq, note->target_id));
    sma_store_accept_later(store, msg,
                           &(struct sma_accepted){.verdict = SMA_VERDICT_ACCEPTED, .seq = seq});
    return SMA_ERR_OK;
}

enum sma_err sma_store_change(struct sma_store *store, struct sma_msg *msg)
{
    const struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    struct change change = {.store = store, .in = in, .is_edit = in->change == SMA_CHANGE_EDIT};
    struct sma_ingress note = *in; /* it is of the message's author, whoever took it away */
    enum fate fate = FATE_NOTHING;
    enum sma_err err = find_message(store, in, &change.chat, &change.head);
    if (err == SMA_ERR_OK) {
        char author[SMA_ID_BYTES_MAX];
        size_t len = change.head.user_id.len < sizeof author ? change.head.user_id.len : 0;
        if (len > 0)
            memcpy(author, change.head.user_id.ptr, len); /* the head is of the last look */
        change.head.user_id = (struct sma_str){author, len};
        err = decide(&change, &fate);
        note.route.user_id = change.head.user_id;
        if (err == SMA_ERR_OK && fate != FATE_NOTHING)
            return record(&change, &note, fate, msg);
    }
    return err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND ? err : pass_over(store, msg);
}
