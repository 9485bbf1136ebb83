/* run_context.c — what the model is sent: the user's message, the turn so far, the session before it. See run.h. */
#include "run_priv.h"

#include "runtime/agent/prompt.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define FACTS_BYTES_USUAL 480
#define TURN_BYTES_USUAL 256 /* besides the blocks: the wire's own words */

/* -- the turn ------------------------------------------------------------------------------------------------------- */
void run_open_fragment(struct sma_run *run)
{
    SMA_ASSERT(run->fragment_count < FRAGMENT_COUNT_MAX);
    if (run->fragment_count > 0)
        sma_buf_put_char(&run->turn, ',');
    run->fragment_starts[run->fragment_count] = run->turn.len;
}

void run_close_fragment(struct sma_run *run, uint32_t message_count)
{
    run->fragment_ends[run->fragment_count++] = run->turn.len;
    run->message_count += message_count;
}

/* -- the request -------------------------------------------------------------------------------------------------- */
size_t sma_run_request_size(const struct sma_run *run)
{
    const struct sma_session *session = run->session;
    return run->head->len + session->bytes + session->turn_count + run->turn.len +
           run->settings->tail.len;
}

static char *copy(char *at, struct sma_str text)
{
    if (text.len > 0)
        memcpy(at, text.ptr, text.len);
    return at + text.len;
}

void sma_run_request_write(const struct sma_run *run, char *bytes, struct sma_model_ask *ask)
{
    const struct sma_session *session = run->session;
    char *at = copy(bytes, sma_buf_str(run->head));
    for (uint32_t i = 0; i < session->turn_count; i++) {
        at = copy(at, session->turns[i]->bytes);
        *at++ = ',';
    }
    ask->turn_offset = (uint32_t)(at - bytes);
    at = copy(at, sma_buf_str(&run->turn));
    ask->turn_end = (uint32_t)(at - bytes);
    at = copy(at, sma_buf_str(&run->settings->tail));
    SMA_ASSERT((size_t)(at - bytes) == sma_run_request_size(run));
    ask->llm = run->target->llm;
    ask->chat_key = run->order->route.chat_key;
    ask->seq = run->order->seq;
    ask->round = run->round;
    ask->read_ns = run->order->stamps.read_ns;
}

bool run_shrink(struct sma_run *run)
{
    if (run->shrink_count >= SMA_SHRINK_COUNT_MAX)
        return false;
    run->shrink_count++;
    return sma_session_shrink(run->sessions, run->session);
}

void run_ask_model(struct sma_run *run)
{
    if (run->turn.err == SMA_ERR_NOMEM) {
        run_finish_failed(run, "out of memory");
        return;
    }
    while (run->turn.err != SMA_ERR_OK || sma_run_request_size(run) > SMA_REQUEST_BYTES_MAX) {
        if (run->turn.err != SMA_ERR_OK || !run_shrink(run)) {
            run_finish_too_long(run);
            return;
        }
    }
    run->state = RUN_MODEL;
    (void)run_act(run, SMA_RUN_ASK_MODEL);
}

/* Facts, then each earlier message, then context, then the text itself: blocks of one user message. */
static void fill_blocks(struct sma_run *run, const size_t *header_ends)
{
    const struct sma_run_order *order = run->order;
    run->blocks[run->block_count++] = sma_buf_str(&run->facts);
    for (uint32_t i = 0; i < order->collected_count; i++) {
        size_t start = i == 0 ? 0 : header_ends[i - 1];
        run->blocks[run->block_count++] =
            (struct sma_str){run->earlier.ptr + start, header_ends[i] - start};
        if (order->collected[i].context.len > 0)
            run->blocks[run->block_count++] = order->collected[i].context;
        if (order->collected[i].text.len > 0)
            run->blocks[run->block_count++] = order->collected[i].text;
    }
    if (order->context.len > 0)
        run->blocks[run->block_count++] = order->context;
    if (order->text.len > 0)
        run->blocks[run->block_count++] = order->text;
}

static bool is_within(const struct sma_buf *buf, struct sma_str text)
{
    return buf->ptr != NULL && text.ptr >= buf->ptr && text.ptr < buf->ptr + buf->len;
}

/* A model can be talked into telling the word that our blocks begin with. It still serves nobody: in what people write it is
 * crossed out, in the same way each time, so that the bytes of a session stay. */
static bool cross_out_word(struct sma_run *run)
{
    char word[17];
    size_t bytes = 0;
    if (run->order->facts_word == 0)
        return true;
    snprintf(word, sizeof word, "%016llx", (unsigned long long)run->order->facts_word);
    sma_buf_clear(&run->masked);
    for (uint32_t i = 0; i < run->block_count; i++)
        bytes += run->blocks[i].len;
    for (uint32_t i = 0; i < run->block_count; i++) {
        struct sma_str *block = &run->blocks[i];
        if (is_within(&run->facts, *block) || is_within(&run->earlier, *block) ||
            memmem(block->ptr, block->len, word, sizeof word - 1) == NULL)
            continue;
        if (run->masked.len == 0 && sma_buf_reserve(&run->masked, bytes) == NULL)
            return false; /* it must not move: blocks point into it */
        char *copy = run->masked.ptr + run->masked.len;
        sma_buf_put_str(&run->masked, *block);
        *block = (struct sma_str){copy, block->len};
        for (char *at = copy;
             (at = memmem(at, block->len - (size_t)(at - copy), word, sizeof word - 1)) != NULL;)
            memset(at, '-', sizeof word - 1);
    }
    return true;
}

/* One allocation instead of several while a buffer grows. What it was too small for still grows. */
static void make_room(struct sma_buf *buf, size_t bytes)
{
    (void)sma_buf_reserve(buf,
                          bytes); /* a failure stays in the buffer and is met at the next request */
}

static bool put_facts(struct sma_run *run, struct sma_str stored_facts, size_t *header_ends)
{
    const struct sma_run_order *order = run->order;
    make_room(&run->facts, stored_facts.len > 0 ? stored_facts.len : FACTS_BYTES_USUAL);
    if (stored_facts.len > 0)
        sma_buf_put_str(&run->facts, stored_facts);
    else
        sma_prompt_put_facts(&run->facts, order, run->wall_ms, run->random);
    for (uint32_t i = 0; i < order->collected_count; i++) {
        sma_prompt_put_earlier(&run->earlier, &order->collected[i], order->facts_word);
        header_ends[i] = run->earlier.len;
    }
    return run->facts.err == SMA_ERR_OK && run->earlier.err == SMA_ERR_OK;
}

void run_put_user(struct sma_run *run, struct sma_str stored_facts)
{
    uint32_t collected_count = run->order->collected_count;
    size_t *header_ends = NULL;
    run->blocks = run->few_blocks;
    if (collected_count > 0) {
        header_ends = calloc(collected_count, sizeof *header_ends);
        run->blocks = run->many_blocks =
            calloc(BLOCKS_FEW + 3 * (size_t)collected_count, sizeof *run->blocks);
    }
    bool has_memory = collected_count == 0 || (header_ends != NULL && run->many_blocks != NULL);
    if (!has_memory || !put_facts(run, stored_facts, header_ends)) {
        run->turn.err = SMA_ERR_NOMEM; /* the next request fails the run */
        free(header_ends);
        return;
    }
    fill_blocks(run, header_ends);
    free(header_ends);
    if (!cross_out_word(run)) {
        run->turn.err = run->masked.err;
        return;
    }
    size_t bytes = TURN_BYTES_USUAL;
    for (uint32_t i = 0; i < run->block_count; i++)
        bytes += run->blocks[i].len + run->blocks[i].len / 8;
    make_room(&run->turn, bytes);
    run_open_fragment(run);
    run->target->wire->put_user(&run->turn, run->target, run->blocks, run->block_count);
    run_close_fragment(run, 1);
}

void run_absorb_line(struct sma_run *run, const struct sma_stored_answer *answer)
{
    if (sma_str_trim(answer->text).len >
        0) { /* providers refuse a blank one, and it says nothing */
        run_open_fragment(run);
        if (answer->fragment.len > 0)
            sma_buf_put_str(&run->turn, answer->fragment);
        else
            run->target->wire->put_assistant_text(&run->turn, run->target, answer->text);
        run_close_fragment(run, 1);
    }
    run_open_fragment(run);
    run->target->wire->put_user(&run->turn, run->target, &answer->line, 1);
    run_close_fragment(run, 1);
}
