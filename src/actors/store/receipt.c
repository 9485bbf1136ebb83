/*
 * What became of a delivery: RECEIPT.
 */
#include "consent.h"
#include "facts.h"
#include "intake.h"
#include "map.h"
#include "outbox.h"
#include "outbox_priv.h"
#include "runs.h"
#include "store.h"

#include "runtime/approval/consent.h"
#include "runtime/chat/state_read.h"
#include "runtime/text/attach_text.h"
#include "sma/notices.h"
#include "sma/text.h"

#include <stdio.h>

#define NOTICE_BYTES_MAX 4096

/* It was sent, whatever stands in its row: what cannot be read is missing in the history, and the
 * receipt counts. */
static SMA_CHECKED enum sma_err write_sent_line(struct sma_store *store,
                                                const struct store_row *row)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_delivery delivery;
    struct store_facts facts;
    enum sma_err err = sma_state_delivery_read(store->state, row->id, &rows, &delivery);
    if (err == SMA_ERR_OK)
        err = sma_store_facts_get(delivery.route, &facts);
    if (sma_store_is_row_damage(store, err)) {
        sma_ctx_log(
            store->ctx, SMA_LOG_ERROR,
            "delivery %llu to %s was sent, but cannot be read any more: the history lacks it",
            (unsigned long long)row->id, row->chat->key);
        return SMA_ERR_OK;
    }
    if (err != SMA_ERR_OK)
        return err;
    return sma_store_delivery_line(store, row->chat,
                                   &(struct store_said){.route = &facts.route,
                                                        .text = delivery.text,
                                                        .intent = delivery.intent,
                                                        .is_fallback = facts.is_fallback,
                                                        .run_seq = sma_state_outbox_seq(row->id),
                                                        .wall_ms = sma_ctx_wall(store->ctx)});
}

/* A receipt on which nothing waits: it may ride on the next commit's sync. A power failure before
 * that costs what one before the receipt costs: the row is begun and is repeated. Whatever is
 * handed out next makes the batch urgent. */
static bool may_ride(const struct store_row *row, const struct sma_receipt *receipt)
{
    return receipt->is_final && receipt->state == SMA_DELIVERY_SENT && receipt->part_count == 1 &&
           sma_state_outbox_call(row->id) < STORE_CARD_CALL;
}

/* The platform does not show these words, and nobody but the person can say it differently: the run
 * is over. Of a text before its end the model hears, and can. Of a file that did not get there the
 * person hears in any case: the words about it are there. */
static SMA_CHECKED enum sma_err tell_refused(struct sma_store *store, const struct store_row *row,
                                             const struct sma_receipt *receipt)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_delivery refused;
    struct store_facts facts;
    enum sma_err err = sma_state_delivery_read(store->state, row->id, &rows, &refused);
    if (err == SMA_ERR_OK)
        err = sma_store_facts_get(refused.route, &facts);
    if (err != SMA_ERR_OK)
        return sma_store_is_row_damage(store, err) ? SMA_ERR_OK : err;
    struct sma_attach_reader reader;
    struct sma_attach_line file;
    sma_attach_reader_init(&reader, refused.text);
    bool is_file = sma_attach_next_file(&reader, &file) && receipt->part + 1 >= receipt->part_count;
    if (!sma_intent_is_answer(refused.intent) || (!is_file && sma_store_is_interim(store, row)))
        return SMA_ERR_OK;
    facts.route.chat_key = row->chat->state->key;
    struct sma_buf text;
    sma_buf_init(&text, NOTICE_BYTES_MAX);
    char name[128] = "";
    if (is_file)
        snprintf(name, sizeof name, "%.*s", (int)sma_utf8_cut(file.target, sizeof name - 1),
                 file.target.ptr);
    bool is_unknown = receipt->state == SMA_DELIVERY_UNKNOWN;
    sma_notice_format(&text, sma_store_language(store, &facts.route),
                      !is_file     ? SMA_NOTICE_ANSWER_REFUSED
                      : is_unknown ? SMA_NOTICE_FILE_UNKNOWN
                                   : SMA_NOTICE_FILE_FAILED,
                      name);
    struct sma_step_delivery delivery = {.call = STORE_REFUSED_CALL,
                                         .intent = SMA_INTENT_ERROR,
                                         .route = facts.route,
                                         .text = sma_buf_str(&text)};
    struct store_delivery_facts of = {
        .seq = sma_state_outbox_seq(row->id), .step = STORE_NOTICE_STEP, .is_about_cards = true};
    struct sma_step_delivery_state state;
    err = text.err != SMA_ERR_OK ? text.err : sma_store_deliver(store, &of, &delivery, &state);
    sma_buf_fini(&text);
    return err;
}

static SMA_CHECKED enum sma_err write_receipt(struct sma_store *store, struct store_row *row,
                                              const struct sma_receipt *receipt)
{
    bool is_sent = receipt->state == SMA_DELIVERY_SENT;
    struct sma_state_delivery update = {
        .outbox_id = row->id,
        .state = receipt->is_final ? receipt->state : SMA_DELIVERY_BEGUN,
        /* The next part starts with the answer to this receipt: it is begun by the same commit. */
        .is_part_begun = !receipt->is_final,
        .renderer_version = receipt->renderer_version,
        .part_done_count = receipt->part + (is_sent ? 1 : 0),
        .part_count = receipt->part_count,
        .attempt_count = receipt->attempt_count,
        .error = is_sent ? receipt->platform_message_id : receipt->error,
        .ended_ms = receipt->is_final ? sma_ctx_wall(store->ctx) : 0,
    };
    if (is_sent && sma_state_outbox_call(row->id) >= STORE_CARD_CALL) {
        sma_buf_clear(&store->scratch.text);
        sma_card_mark_put(&store->scratch.text, receipt, sma_ctx_wall(store->ctx));
        update.error = sma_buf_str(&store->scratch.text);
    }
    enum sma_err err =
        may_ride(row, receipt) ? sma_store_begin_lazy(store) : sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_state_outbox_update(store->state, &update);
    if (err == SMA_ERR_OK && is_sent) {
        sma_store_note_ours(store, sma_store_chat_key(row->chat), receipt->platform_message_id);
        sma_store_note_ours(store, sma_store_chat_key(row->chat), receipt->reply_id);
    }
    if (err != SMA_ERR_OK || !receipt->is_final)
        return err;
    if (sma_state_outbox_call(row->id) >= STORE_CARD_CALL)
        err = sma_store_approval_delivered(store, row->id);
    if (err != SMA_ERR_OK)
        return err;
    if (is_sent)
        sma_store_heal_long_hold(store, row);
    if (is_sent || receipt->state == SMA_DELIVERY_UNKNOWN)
        err = write_sent_line(store, row);
    if (err == SMA_ERR_OK && receipt->is_content_refused)
        err = tell_refused(store, row, receipt);
    return err == SMA_ERR_OK ? sma_store_finish_row(store, row) : err;
}

void sma_store_receipt(struct sma_store *store, struct sma_msg **msg)
{
    const struct sma_receipt *receipt = SMA_MSG_BODY(*msg, struct sma_receipt);
    struct store_row *row = sma_store_map_get(&store->outbox->rows, receipt->outbox_id);
    if (receipt->is_held && row != NULL) {
        sma_store_take_back_row(store, row, *msg);
        return;
    }
    struct sma_msg *answer =
        sma_store_made(store, sma_msg_make_receipt_done(&(struct sma_receipt_done){
                                  .outbox_id = receipt->outbox_id, .verdict = SMA_STEP_DURABLE}));
    struct sma_receipt_done *done = SMA_MSG_BODY(answer, struct sma_receipt_done);
    if (row == NULL) {
        done->verdict = SMA_STEP_STOPPED;
        sma_store_answer_later(store, *msg, &answer, 0);
        return;
    }
    enum sma_err err = write_receipt(store, row, receipt);
    if (err == SMA_ERR_OK) {
        sma_store_mark(store, STORE_MARK_RECEIPT);
        sma_store_answer_later(store, *msg, &answer, 0);
        /* The chat's next row goes with the end of the batch, behind this answer: what takes the
         * credit must not come before what gives it back, and what is wrong with the next row is no
         * matter of this receipt. */
        return;
    }
    sma_store_fail_batch(store, err);
    done->verdict = SMA_STEP_NO_DISK;
    sma_ctx_answer(store->ctx, *msg, &answer);
}
