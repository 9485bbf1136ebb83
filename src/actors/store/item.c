/* Items of a batch: see item.h. */
#include "item.h"
#include "batch_priv.h"
#include "store.h"
#include "trouble.h"

bool sma_store_is_damage(const struct sma_store *store, enum sma_err err)
{
    if (sma_state_is_fatal(store->state))
        return false;
    return err == SMA_ERR_CORRUPT || err == SMA_ERR_NOTFOUND || err == SMA_ERR_BADINPUT ||
           err == SMA_ERR_TOOBIG || err == SMA_ERR_UNSUPPORTED;
}

/* In state.db, then in memory: every part forgets, and reads what the transaction has without the
 * item. Its answers are
 * dropped: whoever asked is answered by who carried the item out. */
static SMA_CHECKED enum sma_err go_back(struct sma_store *store, const struct store_marks *to)
{
    SMA_TRY(sma_state_savepoint_back(store->state));
    sma_store_forget_parts(store, to);
    sma_store_drop_answers(store, to->effects);
    sma_store_drop_undone_chats(store);
    return sma_store_load_parts(store);
}

/* OK: kept, or *ret_damage and gone back. */
static SMA_CHECKED enum sma_err attempt(struct sma_store *store, store_step_fn *step, void *ctx,
                                        enum sma_err *ret_damage)
{
    struct store_marks marks = sma_store_marks(store);
    *ret_damage = SMA_ERR_OK;
    enum sma_err err = sma_state_savepoint(store->state);
    if (err != SMA_ERR_OK)
        return err;
    store->batch->is_in_item = true;
    err = step(store, ctx);
    if (err == SMA_ERR_OK)
        err = sma_state_savepoint_keep(store->state);
    store->batch->is_in_item = false;
    if (err == SMA_ERR_OK)
        return err;
    if (!sma_store_is_damage(store, err)) {
        sma_store_drop_answers(store, marks.effects); /* the caller fails the batch and answers */
        return err;
    }
    *ret_damage = err;
    return go_back(store, &marks);
}

static void tell(struct sma_store *store, const struct store_item *item, const char *detail)
{
    char what[400];
    snprintf(what, sizeof what, "%s %llu%s%.*s cannot be used (%s)%s", item->name,
             (unsigned long long)item->number, item->chat_key.len > 0 ? " of " : "",
             (int)item->chat_key.len, item->chat_key.len > 0 ? item->chat_key.ptr : "", detail,
             item->is_stuck ? " nor ended: it is left alone" : " and was ended as failed");
    sma_store_note_error(store, what);
    sma_store_trouble(store, &(struct store_trouble){.name = item->name,
                                                     .chat_key = item->chat_key,
                                                     .what = what,
                                                     .remedy = item->remedy,
                                                     .is_over = true});
}

enum sma_err sma_store_item(struct sma_store *store, struct store_item *item)
{
    item->damage = SMA_ERR_OK;
    item->is_stuck = false;
    if (store->batch->is_in_item)
        return item->step(store, item->ctx);
    enum sma_err err = sma_store_begin_lazy(store);
    if (err == SMA_ERR_OK)
        err = attempt(store, item->step, item->ctx, &item->damage);
    if (err != SMA_ERR_OK || item->damage == SMA_ERR_OK)
        return err;
    const char *text = sma_state_error(store->state)->text;
    char detail[200];
    snprintf(detail, sizeof detail, "%.*s", (int)sizeof detail - 1,
             text[0] != '\0' ? text : sma_err_text(item->damage));
    if (item->on_damage != NULL) {
        enum sma_err damage = SMA_ERR_OK;
        err = attempt(store, item->on_damage, item->ctx, &damage);
        item->is_stuck = damage != SMA_ERR_OK;
    }
    if (err == SMA_ERR_OK)
        tell(store, item, detail);
    return err;
}
