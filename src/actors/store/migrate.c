/*
 * A chat goes on under another key (a group became another kind of group and has another id).
 *
 * One transaction: the chat's record takes the new key (the other record keeps the old one and
 * whatever it had), the initiator goes with it, the plan for the history files is recorded. Then
 * the files are renamed, then the plan is dropped. A crash before the commit leaves the old chat,
 * and the platform tells us again; after it, start-up finishes the renaming before anything reads
 * them. When both keys had messages, theirs become one history, one queue, one session.
 */
#include "intake_priv.h"
#include "outbox.h"
#include "people.h"
#include "query.h"
#include "record.h"
#include "runs.h"
#include "store.h"

#include <stdlib.h>

/* -- the transaction --------------------------------------------------------------------------- */
static void put_initiator_key(struct sma_buf *buf, struct sma_str chat_key)
{
    sma_buf_clear(buf);
    sma_buf_put_text(buf, "initiator:");
    sma_buf_put_str(buf, chat_key);
}

/* Who was first under the old key stays the first; who was first under the new one only if nobody
 * was before. */
static SMA_CHECKED enum sma_err move_initiator(struct sma_store *store, struct sma_str from,
                                               struct sma_str to)
{
    put_initiator_key(&store->scratch.text, from);
    sma_buf_clear(&store->scratch.facts);
    enum sma_err err = sma_state_access_get(store->state, sma_buf_str(&store->scratch.text),
                                            &store->scratch.facts);
    if (err == SMA_ERR_NOTFOUND)
        return SMA_ERR_OK;
    if (err == SMA_ERR_OK)
        err = sma_state_access_set(store->state, sma_buf_str(&store->scratch.text), SMA_STR(""));
    if (err != SMA_ERR_OK)
        return err;
    put_initiator_key(&store->scratch.text, to);
    if (store->scratch.text.err != SMA_ERR_OK)
        return store->scratch.text.err;
    return sma_state_access_set(store->state, sma_buf_str(&store->scratch.text),
                                sma_buf_str(&store->scratch.facts));
}

static struct sma_str chat_id_of(struct sma_str chat_key)
{
    const char *colon = memrchr(chat_key.ptr, ':', chat_key.len);
    const char *id = colon == NULL ? chat_key.ptr : colon + 1;
    return (struct sma_str){id, (size_t)(chat_key.ptr + chat_key.len - id)};
}

static SMA_CHECKED enum sma_err record_plan(struct sma_store *store, struct sma_state_chat *chat,
                                            const struct sma_state_chat *other,
                                            const struct sma_history_move *move)
{
    enum sma_err err = SMA_ERR_OK;
    if (move->main_number != 0) {
        /* Two files become one history: no place of before is a place in it any more. */
        uint32_t newest =
            chat->generation > other->generation ? chat->generation : other->generation;
        err = sma_state_chat_set_generation(store->state, chat, newest + 1);
    }
    sma_buf_clear(&store->scratch.load);
    sma_history_move_format(&store->scratch.load, move);
    if (err == SMA_ERR_OK)
        err = store->scratch.load.err;
    return err == SMA_ERR_OK
               ? sma_state_chat_set_rotation(store->state, chat, sma_buf_str(&store->scratch.load))
               : err;
}

static SMA_CHECKED enum sma_err write_move(struct sma_store *store, const struct sma_ingress *in,
                                           const struct sma_history_move *move,
                                           struct sma_state_chat **ret_chat,
                                           struct sma_state_chat **ret_other)
{
    enum sma_err err =
        sma_state_chat_open(store->state, in->migrated_from, in->route.channel, ret_chat);
    if (err == SMA_ERR_OK)
        err = sma_state_chat_open(store->state, in->route.chat_key, in->route.channel, ret_other);
    if (err == SMA_ERR_OK)
        err = record_plan(store, *ret_chat, *ret_other, move);
    /* By the name the chat had: it may have had others before the one that is told. */
    if (err == SMA_ERR_OK)
        err = move_initiator(store, (*ret_chat)->key, in->route.chat_key);
    if (err == SMA_ERR_OK)
        err = sma_store_move_choice(store, (*ret_chat)->id, (*ret_other)->id);
    if (err == SMA_ERR_OK)
        err = sma_store_group_move(store, in->route.channel, chat_id_of((*ret_chat)->key),
                                   in->route.chat_id);
    if (err == SMA_ERR_OK)
        err = sma_state_chat_move(store->state, *ret_chat, *ret_other, in->route.chat_id);
    return err;
}

/* -- memory ------------------------------------------------------------------------------------ */
static SMA_CHECKED enum sma_err take_key(struct store_chat *chat)
{
    char *key = malloc(chat->state->key.len + 1);
    if (key == NULL)
        return SMA_ERR_NOMEM;
    memcpy(key, chat->state->key.ptr, chat->state->key.len);
    key[chat->state->key.len] = '\0';
    if (chat->has_own_key)
        free(chat->key);
    chat->key = key;
    chat->key_len = (uint32_t)chat->state->key.len;
    chat->has_own_key = true;
    return SMA_ERR_OK;
}

/* Everything that hangs on the other record hangs on the chat from now on. */
static SMA_CHECKED enum sma_err merge(struct sma_store *store, struct store_chat *chat,
                                      struct store_chat *other)
{
    struct store_marks all = sma_store_marks(store);
    sma_store_forget_parts(store, &all);
    sma_store_groups_reset(store, true);
    if (other != NULL) {
        sma_store_merge_rows(store, chat, other);
        sma_store_drop_rotation(store, other);
        SMA_ASSERT(!other->is_dirty && other->line_count == 0 && other->held_count == 0);
        other->state->user = NULL;
        sma_store_chat_free(store, other);
    }
    return sma_store_load_parts(store);
}

/* -- the whole --------------------------------------------------------------------------------- */
/* What is open is committed, what is written is synced, nobody reads: the files stand still. */
static bool settle(struct sma_store *store)
{
    sma_store_end_batch(store);
    if (sma_store_is_degraded(store) || sma_store_has_lines(store) || sma_store_is_retrying(store))
        return false;
    while (sma_store_is_searching(store))
        sma_store_search_slice(store);
    sma_store_flush_all(store);
    return true;
}

static void follow(struct sma_store *store, struct sma_state_chat *state_chat,
                   struct store_chat *other)
{
    struct sma_error error = {0};
    struct sma_history_move move;
    SMA_CRASH_POINT("store.migration_recorded");
    if (sma_history_move_parse(state_chat->rotation, &move) != SMA_ERR_OK ||
        sma_history_move(store->history, &move, &error) != SMA_ERR_OK)
        sma_ctx_fatal(store->ctx, "the history of %s cannot be given its new name: %s",
                      state_chat->key.ptr, error.text);
    SMA_CRASH_POINT("store.migration_renamed");
    if (sma_store_drop_plan(store, state_chat) != SMA_ERR_OK)
        sma_ctx_fatal(store->ctx, "the move of %s cannot be recorded: %s; start again to finish it",
                      state_chat->key.ptr, sma_state_error(store->state)->text);
    struct store_chat *chat = sma_store_chat(store, state_chat);
    if (chat == NULL || take_key(chat) != SMA_ERR_OK || merge(store, chat, other) != SMA_ERR_OK)
        sma_ctx_fatal(store->ctx, "out of memory, or state.db cannot be read: %s",
                      sma_state_error(store->state)->text);
    sma_ctx_log(store->ctx, SMA_LOG_INFO, "the chat %s goes on as %s", move.from_key, move.to_key);
}

void sma_store_migrate(struct sma_store *store, const struct sma_ingress *in,
                       struct sma_str *ret_obstacle)
{
    struct sma_state_chat *chat = sma_state_chat_get(store->state, in->migrated_from);
    struct sma_state_chat *other = sma_state_chat_get(store->state, in->route.chat_key);
    if (sma_str_is_equal(in->migrated_from, in->route.chat_key) || (chat != NULL && chat == other))
        return; /* told before, by the other side */
    *ret_obstacle = SMA_STR("the chat cannot be moved now; please try again later");
    if (store->is_draining || !settle(store))
        return;
    if ((chat != NULL && sma_store_is_file_aside(store, chat->id)) ||
        (other != NULL && sma_store_is_file_aside(store, other->id)))
        return; /* its files cannot be used now */
    struct sma_history_move move;
    struct sma_error error = {0};
    /* The files have the name that the chat has now, which may be a later one than the one that is
     * told. */
    chat = sma_state_chat_get(store->state, in->migrated_from);
    enum sma_err err =
        sma_history_plan_move(store->history, chat != NULL ? chat->key : in->migrated_from,
                              in->route.chat_key, &move, &error);
    if (err == SMA_ERR_OK)
        err = sma_state_begin(store->state);
    if (err == SMA_ERR_OK) {
        err = write_move(store, in, &move, &chat, &other);
        if (err == SMA_ERR_OK)
            err = sma_state_commit(store->state);
        else
            sma_state_rollback(store->state);
    }
    if (sma_state_is_fatal(store->state))
        sma_ctx_fatal(store->ctx, "state.db: %s", sma_state_error(store->state)->text);
    if (err != SMA_ERR_OK) {
        const char *detail =
            error.text[0] != '\0' ? error.text : sma_state_error(store->state)->text;
        sma_ctx_log(store->ctx, SMA_LOG_ERROR, "the chat %.*s could not be moved: %s",
                    (int)in->migrated_from.len, in->migrated_from.ptr, detail);
        return;
    }
    *ret_obstacle = SMA_STR("");
    follow(store, chat, other->user);
}
