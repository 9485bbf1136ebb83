/*
 * Deliveries that may not be attempted yet: their chat's rate is used up, they are in back-off, or
 * the platform wants this chat to wait. They hold no credit, so that other chats go on.
 *
 * Only memory changes: the row in state.db says "begun" since it was handed out for the first time.
 * After a crash it is repeated as any begun row, which it would have been while the dispatcher held
 * it, too.
 */
#include "outbox_priv.h"
#include "store.h"
#include "trouble.h"

void sma_store_hold_row(struct sma_store *store, struct store_row *row, uint64_t due_ns)
{
    row->due_ns = due_ns;
    row->held_prev = NULL;
    row->held_next = store->outbox->held_first;
    if (row->held_next != NULL)
        row->held_next->held_prev = row;
    store->outbox->held_first = row;
    store->outbox->held_count++;
    if (store->outbox->held_count == 1 || row->due_ns < store->outbox->held_wake_ns)
        store->outbox->held_wake_ns = row->due_ns;
}

static void answer(struct sma_store *store, const struct sma_msg *question,
                   enum sma_step_verdict verdict, bool is_now)
{
    const struct sma_receipt *receipt =
        SMA_MSG_BODY((struct sma_msg *)question, struct sma_receipt);
    struct sma_msg *msg =
        sma_store_made(store, sma_msg_make_receipt_done(&(struct sma_receipt_done){
                                  .outbox_id = receipt->outbox_id, .verdict = (uint8_t)verdict}));
    if (is_now)
        sma_ctx_answer(store->ctx, question, &msg);
    else
        sma_store_answer_later(store, question, &msg, 0);
}

/* /stop came while it was on its way back. */
static void stop_row(struct sma_store *store, struct store_row *row, const struct sma_msg *question)
{
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_store_give_up_row(store, row);
    if (err == SMA_ERR_OK) {
        answer(store, question, SMA_STEP_STOPPED, false);
        return;
    }
    sma_store_fail_batch(store, err);
    answer(store, question, SMA_STEP_NO_DISK, true);
}

/* -- who waits for long ------------------------------------------------------------------------ */
#define LONG_MS (SMA_DELIVERY_LONG_HOLD_S * 1000u)
static const char trouble_name[] = "platform limit";

/* Whose limit it is: of the platform, or of this chat. */
static struct sma_str limited(const struct sma_store *store, const struct store_row *row,
                              bool is_platform_held)
{
    const struct sma_adapter *adapter = store->adapters[row->adapter].adapter;
    return is_platform_held ? sma_str(sma_adapter_channel(adapter)) : sma_store_chat_key(row->chat);
}

static void tell_long_hold(struct sma_store *store, struct store_row *row,
                           const struct sma_receipt *receipt)
{
    struct sma_str whose = limited(store, row, receipt->is_platform_held);
    row->is_long_held = receipt->hold_ms >= LONG_MS;
    if (!row->is_long_held || sma_store_has_trouble(store, trouble_name, whose))
        return;
    char what[320], until[40];
    struct sma_buf time = {0};
    sma_buf_init(&time, sizeof until);
    sma_buf_put_iso_time(&time, sma_ctx_wall(store->ctx) + receipt->hold_ms);
    snprintf(until, sizeof until, "%.*s", (int)time.len, time.len == 0 ? "" : time.ptr);
    sma_buf_fini(&time);
    snprintf(what, sizeof what,
             "%.*s: the platform takes no message %s before %s; what is to be sent waits",
             (int)whose.len, whose.ptr, receipt->is_platform_held ? "of this bot" : "in this chat",
             until);
    sma_store_trouble(store,
                      &(struct store_trouble){
                          .name = trouble_name,
                          .chat_key = whose,
                          .what = what,
                          .remedy = "it is sent then, unless it is older than a day; write "
                                    "less often, or raise the bot's limits with the platform"});
    store->outbox->long_hold_count++;
}

void sma_store_heal_long_hold(struct sma_store *store, const struct store_row *row)
{
    if (store->outbox->long_hold_count == 0)
        return;
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        struct sma_str whose = limited(store, row, is_wide);
        if (!sma_store_has_trouble(store, trouble_name, whose))
            continue;
        sma_store_healed(store, trouble_name, whose);
        store->outbox->long_hold_count--;
    }
}

void sma_store_take_back_row(struct sma_store *store, struct store_row *row,
                             const struct sma_msg *question)
{
    const struct sma_receipt *receipt =
        SMA_MSG_BODY((struct sma_msg *)question, struct sma_receipt);
    struct store_out *out = row->out;
    SMA_ASSERT(row->is_handed && out != NULL && out->is_out);
    out->is_attempted = receipt->attempt_count > 0 || receipt->waited_ms > 0 || receipt->part > 0;
    out->waited_ms = receipt->waited_ms;
    if (row->is_stopped && !out->is_attempted) {
        stop_row(store, row, question);
        return;
    }
    /* Before anything that takes its credit, and whatever becomes of the open transaction. */
    answer(store, question, SMA_STEP_DURABLE, true);
    out->is_out = row->is_handed = false;
    row->is_repeat = false; /* it is known that nothing of it is on its way */
    store->outbox->lanes[row->adapter].credits++;
    tell_long_hold(store, row, receipt);
    if (receipt->hold_ms > 0) {
        out->due_ns = sma_ctx_now(store->ctx) + receipt->hold_ms * SMA_NS_PER_MS;
        sma_store_hold_row(store, row, out->due_ns);
    } else {
        sma_store_wait_for_credit(store, row->chat);
    }
}

void sma_store_late(struct sma_store *store, const struct sma_late *late)
{
    struct store_row *row = sma_store_map_get(&store->outbox->rows, late->outbox_id);
    if (row == NULL || row->out == NULL)
        return;
    row->out->steps_aside = row->steps_aside = true;
    sma_store_wait_for_credit(store, row->chat); /* the next one's turn */
}

void sma_store_expire_held_rows(struct sma_store *store)
{
    uint64_t now = sma_ctx_now(store->ctx), wake = UINT64_MAX;
    if (store->outbox->held_first == NULL || now < store->outbox->held_wake_ns)
        return;
    for (struct store_row *row = store->outbox->held_first, *next; row != NULL; row = next) {
        next = row->held_next;
        if (row->due_ns > now) {
            wake = row->due_ns < wake ? row->due_ns : wake;
            continue;
        }
        sma_store_unhold_row(store, row);
        if (row->is_long_held)
            sma_store_heal_long_hold(store, row); /* the time that was told has come */
        sma_store_wait_for_credit(store, row->chat);
    }
    store->outbox->held_wake_ns = wake;
}

uint64_t sma_store_held_rows_wake(const struct sma_store *store)
{
    return store->outbox->held_first == NULL || store->is_draining ? UINT64_MAX
                                                                   : store->outbox->held_wake_ns;
}
