/* run_added.c — what a person adds while their run is open. See run_added.h. */
#include "run_priv.h"

#include "runtime/agent/same_text.h"
#include "sma/text.h"

#include <stdlib.h>

#define GONE "[a message that cannot be read any more]"

void run_added_init(struct sma_run *run)
{
    sma_buf_init(&run->added.text, 2 * SMA_REQUEST_BYTES_MAX); /* of several parts */
}

void run_added_fini(struct sma_run *run)
{
    struct run_added *added = &run->added;
    for (uint32_t i = 0; i < added->count; i++)
        sma_buf_fini(&added->room->list[i].bytes);
    free(added->room);
    free(added->collected);
    sma_buf_fini(&added->text);
}

/* -- what waits -------------------------------------------------------------------------------- */
static struct run_addition *find(const struct run_added *added, uint64_t seq)
{
    for (uint32_t i = 0; i < added->count; i++)
        if (added->room->list[i].seq == seq)
            return &added->room->list[i];
    return NULL;
}

/* NULL: no memory, or too many. It waits for a run of its own then. */
static struct run_addition *append(struct run_added *added, uint64_t seq)
{
    if (added->room == NULL)
        added->room = calloc(1, sizeof *added->room);
    if (added->room == NULL || added->count == RUN_ADDED_COUNT_MAX)
        return NULL;
    struct run_addition *addition = &added->room->list[added->count++];
    *addition = (struct run_addition){.seq = seq};
    sma_buf_init(&addition->bytes, SMA_REQUEST_BYTES_MAX);
    return addition;
}

/* It is withdrawn. true: it is known here; what was given stays, and so does word of a recall,
 * which the store tells under the number of that word, again at times. */
static bool take_back(struct run_added *added, uint64_t seq)
{
    struct run_addition *addition = find(added, seq);
    if (addition == NULL)
        return false;
    if (addition->message != NULL && addition->message->change == SMA_CHANGE_RECALL)
        return true;
    struct run_addition *end = added->room->list + added->count;
    if (addition < added->room->list + added->given_count)
        return true;
    sma_buf_fini(&addition->bytes);
    memmove(addition, addition + 1, (size_t)(end - addition - 1) * sizeof *addition);
    added->count--;
    return true;
}

void run_added_take(struct sma_run *run, const struct sma_steer *steer)
{
    if (run->state == RUN_FINISHING)
        return;
    for (uint32_t i = 0; i < steer->message_count; i++) {
        const struct sma_collected *message = &steer->messages[i];
        if (message->change == SMA_CHANGE_RECALL && take_back(&run->added, message->seq))
            continue;
        if (find(&run->added, message->seq) != NULL)
            continue; /* the store tells again what it told before something was undone */
        struct run_addition *addition = append(&run->added, message->seq);
        if (addition == NULL)
            return;
        addition->message = message;
        addition->standing = steer->standing;
    }
}

bool run_added_is_due(const struct sma_run *run)
{
    return run->added.count > run->added.given_count && !run->is_draining && !run->is_summing &&
           run->round < SMA_RUN_STEP_COUNT_MAX;
}

/* -- the step ---------------------------------------------------------------------------------- */
static void ask(const struct run_added *added, struct run_added_asked *asked)
{
    asked->count = 0;
    for (uint32_t i = added->given_count; i < added->count; i++)
        asked->seqs[asked->count++].seq = added->room->list[i].seq;
}

void run_added_put(struct sma_run *run, struct sma_buf *results)
{
    struct run_added_room *room = run->added.room;
    if (room == NULL)
        return;
    room->results.count = 0;
    if (!run_added_is_due(run))
        return;
    ask(&run->added, &room->results);
    sma_codec_put_results_added(results, room->results.seqs, room->results.count);
}

struct sma_str run_added_text(struct sma_run *run, struct sma_str text)
{
    struct sma_buf *whole = &run->added.text;
    sma_buf_clear(whole);
    sma_buf_put_str(whole, sma_buf_str(&run->parts));
    if (sma_str_trim(text).len > 0 && !sma_str_is_equal(text, sma_str(RUN_NO_WORDS)))
        run_join_part(whole, text);
    return sma_buf_str(whole);
}

/* Has the user been sent it, or is there nothing to send? */
static bool is_said(const struct sma_run *run, struct sma_str text)
{
    return sma_str_trim(text).len == 0 ||
           (run->sent_texts.err == SMA_ERR_OK && run->sent_texts.len > 0 &&
            sma_text_is_said(text, sma_buf_str(&run->sent_texts), run->last_sent));
}

void run_added_close_answer(struct sma_run *run)
{
    struct run_added *added = &run->added;
    if (added->room != NULL)
        added->room->answer.count = 0;
    if (added->room == NULL || !added->is_going_on) {
        sma_codec_put_answer_added(&run->answer_data, NULL, 0);
        return;
    }
    ask(added, &added->room->answer);
    sma_codec_put_answer_added(&run->answer_data, added->room->answer.seqs,
                               added->room->answer.count);
    struct sma_str text = sma_buf_str(&added->text);
    if (!is_said(run, text))
        run->deliveries[run->delivery_count++] =
            (struct sma_step_delivery){.intent = SMA_INTENT_ASSISTANT_TEXT,
                                       .route = run->order->route,
                                       .text = text,
                                       .is_fallback = true};
}

void run_added_tell(const struct sma_run *run, struct sma_step *step)
{
    struct run_added_room *room = run->added.room;
    if (room == NULL || (step->kind != SMA_STEP_RESULTS && step->kind != SMA_STEP_ANSWER))
        return;
    struct run_added_asked *asked = step->kind == SMA_STEP_RESULTS ? &room->results : &room->answer;
    step->added_count = asked->count;
    step->added = asked->seqs;
}

/* -- the turn ---------------------------------------------------------------------------------- */
static void put_block(struct sma_run *run, struct run_addition *addition, struct sma_str text)
{
    size_t start = addition->bytes.len;
    if (text.len == 0)
        return;
    sma_buf_put_str(&addition->bytes, text);
    if (addition->bytes.err == SMA_ERR_OK)
        run_cross_out(run, addition->bytes.ptr + start, text.len);
    addition->ends[addition->block_count++] = addition->bytes.len;
}

static void make_blocks(struct sma_run *run, struct run_addition *addition)
{
    const struct sma_collected *message = addition->message;
    if (message == NULL) {
        put_block(run, addition, SMA_STR(GONE));
        return;
    }
    sma_prompt_put_added(&addition->bytes, message, run->order->facts_word);
    addition->ends[addition->block_count++] = addition->bytes.len;
    put_block(run, addition, message->context);
    put_block(run, addition, message->text);
}

static void give(struct sma_run *run, uint64_t seq)
{
    struct run_added *added = &run->added;
    struct run_addition *addition = find(added, seq);
    if (addition == NULL)
        addition = append(added, seq);
    if (addition == NULL) {
        run->turn.err = SMA_ERR_NOMEM; /* the next request fails the run */
        return;
    }
    struct run_addition *place = &added->room->list[added->given_count];
    if (addition < place)
        return; /* given before */
    struct run_addition moved = *addition;
    *addition = *place;
    *place = moved;
    added->given_count++;
    make_blocks(run, place);
    if (place->message != NULL)
        run_parts_add_later(run, place->message->parts, place->message->part_count,
                            added->given_count - 1);
    if (place->bytes.err != SMA_ERR_OK)
        run->turn.err = place->bytes.err;
    if (place->message != NULL && place->message->change != SMA_CHANGE_RECALL &&
        place->standing < run->own_order.standing)
        run->own_order.standing = place->standing;
}

/* The answer was sent, though it was not the end. */
static void note_sent(struct sma_run *run, const struct run_round *round)
{
    struct sma_str text = run_added_text(run, round->answer.text);
    if (!is_said(run, text)) {
        if (run->sent_texts.len > 0)
            sma_buf_put_text(&run->sent_texts, "\n\n");
        sma_buf_put_str(&run->sent_texts, text);
        run->has_delivered = true;
    }
    sma_buf_clear(&run->parts);
    run->added.end_count++;
}

void run_added_give(struct sma_run *run, struct run_round *round)
{
    bool is_end = round->answer.added_count > 0;
    uint32_t count = is_end ? round->answer.added_count : round->results.added_count;
    const struct sma_seq *seqs = is_end ? round->answer.added : round->results.added;
    if (count == 0)
        return;
    if (is_end)
        note_sent(run, round);
    round->added_first = run->added.given_count;
    for (uint32_t i = 0; i < count; i++)
        give(run, seqs[i].seq);
    round->added_count = run->added.given_count - round->added_first;
    /* It asks for an answer of its own, and that may be the same words again. */
    run->has_worked = true;
    run->last_sent = run->sent_texts.len;
}

uint32_t run_added_blocks(const struct sma_run *run, uint32_t first, uint32_t count,
                          struct sma_str *blocks)
{
    uint32_t block_count = 0;
    for (uint32_t i = first; i < first + count; i++) {
        const struct run_addition *addition = &run->added.room->list[i];
        for (uint32_t k = 0; k < addition->block_count; k++) {
            size_t start = k == 0 ? 0 : addition->ends[k - 1];
            blocks[block_count++] =
                (struct sma_str){addition->bytes.ptr + start, addition->ends[k] - start};
        }
    }
    return block_count;
}

uint32_t run_added_first_block(const struct sma_run *run, uint32_t addition)
{
    uint32_t block = addition == 0 ? 0 : run->block_count;
    for (uint32_t i = 0; i + 1 < addition; i++)
        block += run->added.room->list[i].block_count;
    return block;
}

uint32_t run_added_ids(const struct sma_run *run, struct sma_str *ids)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->added.given_count; i++)
        if (run->added.room->list[i].message != NULL)
            ids[count++] = run->added.room->list[i].message->message_id;
    return count;
}

/* -- resuming ---------------------------------------------------------------------------------- */
/* What this step gave, as far as its rows are there. false: it is damaged or memory is short. */
static bool expect_step(struct sma_run *run, const struct sma_stored_step *step)
{
    struct sma_stored_answer answer = {0};
    struct sma_stored_results results = {0};
    enum sma_err err = SMA_ERR_OK;
    if (step->kind == SMA_STEP_ANSWER)
        err = sma_codec_get_answer(step->data, &answer);
    else if (step->kind == SMA_STEP_RESULTS)
        err = sma_codec_get_results(step->data, &results);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_CORRUPT; /* resuming comes upon it */
    uint32_t count = answer.added_count > 0 ? answer.added_count : results.added_count;
    const struct sma_seq *seqs = answer.added_count > 0 ? answer.added : results.added;
    bool is_good = true;
    for (uint32_t i = 0; i < count && is_good; i++)
        is_good =
            find(&run->added, seqs[i].seq) != NULL || append(&run->added, seqs[i].seq) != NULL;
    sma_stored_answer_fini(&answer);
    sma_stored_results_fini(&results);
    return is_good;
}

bool run_added_resume(struct sma_run *run)
{
    struct sma_run_order *order = &run->own_order;
    struct run_added *added = &run->added;
    if (order->collected_count == 0)
        return true;
    bool is_good = true;
    for (uint32_t i = 0; i < order->step_count && is_good; i++)
        is_good = expect_step(run, &order->steps[i]);
    if (is_good && added->count > 0)
        added->collected = calloc(order->collected_count, sizeof *added->collected);
    if (!is_good || (added->count > 0 && added->collected == NULL))
        return false;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < order->collected_count && added->count > 0; i++) {
        struct run_addition *addition = find(added, order->collected[i].seq);
        if (addition == NULL)
            added->collected[kept++] = order->collected[i];
        else
            addition->message = &order->collected[i];
        if (addition != NULL)
            addition->standing = order->standing; /* the least of all already */
    }
    if (added->count > 0) {
        order->collected = added->collected;
        order->collected_count = kept;
    }
    return true;
}
