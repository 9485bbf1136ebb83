/* run_turn.c — the turn: the user's message and the rounds so far, as the target that is asked
 * takes them. See run.h. */
#include "run_priv.h"

#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define FACTS_BYTES_USUAL 480
#define TURN_BYTES_USUAL 256 /* besides the blocks: the wire's own words */
#define ID_BYTES_MAX 64
#define CALL_ROOM (ID_BYTES_MAX + SMA_MCP_WIRE_BYTES_MAX) /* its id and name */

/* -- fragments --------------------------------------------------------------------------------- */
void run_open_fragment(struct sma_run *run)
{
    SMA_ASSERT(run->fragment_count < FRAGMENT_COUNT_MAX);
    if (run->fragment_count > 0)
        sma_buf_put_char(&run->turn, ',');
    run->fragment_starts[run->fragment_count] = run->turn.len;
    run->fragment_is_user[run->fragment_count] = false;
}

void run_close_fragment(struct sma_run *run, uint32_t message_count)
{
    run->fragment_messages[run->fragment_count] = message_count;
    run->fragment_ends[run->fragment_count++] = run->turn.len;
    run->message_count += message_count;
}

static void close_user_fragment(struct sma_run *run, uint32_t message_count)
{
    run->fragment_is_user[run->fragment_count] = true;
    run_close_fragment(run, message_count);
}

/* -- the user's message ------------------------------------------------------------------------ */
/* One allocation instead of several while a buffer grows. What it was too small for still grows. */
static void make_room(struct sma_buf *buf, size_t bytes)
{
    (void)sma_buf_reserve(buf,
                          bytes); /* a failure stays in the buffer and is met at the next request */
}

static void put_user(struct sma_run *run)
{
    size_t bytes = TURN_BYTES_USUAL;
    for (uint32_t i = 0; i < run->block_count; i++)
        bytes += run->blocks[i].len + run->blocks[i].len / 8;
    make_room(&run->turn, bytes);
    run_open_fragment(run);
    uint32_t part_count;
    const struct sma_block_part *parts = run_parts_places(run, &part_count);
    sma_wire_put_user_parts(&run->turn, run->target->wire, run->target, run->blocks,
                            run->block_count, parts, part_count);
    close_user_fragment(run, 1);
}

/* Facts, then each earlier message, then context, then the text itself: blocks of one user
 * message. */
static void fill_blocks(struct sma_run *run, const size_t *header_ends)
{
    const struct sma_run_order *order = run->order;
    size_t recalled = run_find_recalled(run);
    run->blocks[run->block_count++] = (struct sma_str){run->facts.ptr, recalled};
    if (recalled < run->facts.len) /* without the line feed between them */
        run->blocks[run->block_count++] =
            (struct sma_str){run->facts.ptr + recalled + 1, run->facts.len - recalled - 1};
    if (run->past.chatter.len > 0) {
        run_content_came(run);
        run->blocks[run->block_count++] = sma_buf_str(&run->past.chatter_head);
        run->blocks[run->block_count++] = sma_buf_str(&run->past.chatter);
    }
    for (uint32_t i = 0; i < order->collected_count; i++) {
        size_t start = i == 0 ? 0 : header_ends[i - 1];
        run_parts_add(run, order->collected[i].parts, order->collected[i].part_count,
                      run->block_count);
        if (header_ends[i] > start) /* a further piece of one text has none */
            run->blocks[run->block_count++] =
                (struct sma_str){run->earlier.ptr + start, header_ends[i] - start};
        if (order->collected[i].context.len > 0)
            run->blocks[run->block_count++] = order->collected[i].context;
        if (order->collected[i].text.len > 0)
            run->blocks[run->block_count++] = order->collected[i].text;
    }
    /* in front of everything when it is the only one: models read a picture best before its text */
    run_parts_add(run, order->parts, order->part_count,
                  order->collected_count == 0 ? 0 : run->block_count);
    if (order->context.len > 0)
        run->blocks[run->block_count++] = order->context;
    if (order->text.len > 0)
        run->blocks[run->block_count++] = order->text;
}

static bool is_within(const struct sma_buf *buf, struct sma_str text)
{
    return buf->ptr != NULL && text.ptr >= buf->ptr && text.ptr < buf->ptr + buf->len;
}

static bool cross_out_word(struct sma_run *run)
{
    char word[17];
    size_t bytes = 0;
    if (run->order->facts_word == 0)
        return true;
    run_print_word(run, word);
    sma_buf_clear(&run->masked);
    for (uint32_t i = 0; i < run->block_count; i++)
        bytes += run->blocks[i].len;
    for (uint32_t i = 0; i < run->block_count; i++) {
        struct sma_str *block = &run->blocks[i];
        if (block->len == 0 || is_within(&run->facts, *block) || is_within(&run->earlier, *block) ||
            is_within(&run->past.chatter_head, *block) ||
            memmem(block->ptr, block->len, word, sizeof word - 1) == NULL)
            continue;
        if (run->masked.len == 0 && sma_buf_reserve(&run->masked, bytes) == NULL)
            return false; /* it must not move: blocks point into it */
        char *copy = run->masked.ptr + run->masked.len;
        sma_buf_put_str(&run->masked, *block);
        *block = (struct sma_str){copy, block->len};
        run_cross_out(run, copy, block->len);
    }
    return true;
}

/* Does the conversation that is sent along tell about the chat? After a cut, or a change of the
 * word, it does not. */
static bool knows_chat(struct sma_run *run)
{
    const struct sma_session *session = run->session;
    sma_buf_clear(&run->scratch);
    sma_prompt_put_chat_mark(&run->scratch, run->order->facts_word);
    struct sma_str chat = session->past.chat; /* beside a summary, whose bytes are not made yet */
    if (chat.len > 0 && memmem(chat.ptr, chat.len, run->scratch.ptr, run->scratch.len) != NULL)
        return true;
    for (uint32_t i = 0; i < session->turn_count && run->scratch.len > 0; i++) {
        struct sma_str bytes = session->turns[i]->bytes;
        if (memmem(bytes.ptr, bytes.len, run->scratch.ptr, run->scratch.len) != NULL)
            return true;
    }
    return false;
}

/* Behind the facts of the message that it was asked for by. */
static void put_prompt(struct sma_run *run)
{
    const struct run_prompt *prompt = &run->prompt;
    if (prompt->text.len == 0)
        return;
    sma_prompt_put_prompt(&run->facts, run->order->facts_word);
    sma_buf_put_str(&run->facts, prompt->server);
    sma_buf_put_text(&run->facts, ":\n");
    size_t at = run->facts.len;
    sma_buf_put_str(&run->facts, sma_buf_str(&prompt->text));
    /* nobody but us begins a block with our word */
    if (run->facts.err == SMA_ERR_OK)
        run_cross_out(run, run->facts.ptr + at, run->facts.len - at);
}

static void put_fresh_facts(struct sma_run *run)
{
    sma_prompt_put_facts(&run->facts, run->order, run->wall_ms);
    if (!knows_chat(run))
        sma_prompt_put_chat(&run->facts, run->order, &run->channel);
    put_prompt(run);
    if (run->recall.count > 0 || run->prompt.text.len > 0)
        run_content_came(run);
    if (run->recall.count > 0)
        run_put_recalled(run);
    if (run->parent != NULL)
        run_child_put_role(run);
}

static bool put_facts(struct sma_run *run, struct sma_str stored_facts, size_t *header_ends)
{
    const struct sma_run_order *order = run->order;
    make_room(&run->facts, stored_facts.len > 0 ? stored_facts.len : FACTS_BYTES_USUAL);
    if (stored_facts.len > 0)
        sma_buf_put_str(&run->facts, stored_facts);
    else
        put_fresh_facts(run);
    for (uint32_t i = 0; i < order->collected_count; i++) {
        if (!order->collected[i].is_piece) /* of the message itself */
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
    put_user(run);
}

/* -- rounds ------------------------------------------------------------------------------------ */
static void put_line(struct sma_run *run, struct sma_str line)
{
    run_open_fragment(run);
    run->target->wire->put_user(&run->turn, run->target, &line, 1);
    close_user_fragment(run, 1);
}

/* Ids of another target's calls, made to fit, one for each call and different from the others. */
static void put_id(struct sma_buf *buf, const struct sma_stored_answer *answer, uint32_t index)
{
    struct sma_str id = answer->calls[index].id;
    bool is_good = id.len > 0;
    for (uint32_t i = 0; i < index && is_good; i++)
        is_good = !sma_str_is_equal(answer->calls[i].id, id);
    if (is_good) {
        sma_wire_put_call_id(buf, id);
    } else {
        sma_buf_put_text(buf, "call_");
        sma_buf_put_u64(buf, index);
    }
}

/* One round in the forms of a wire, with these ids. */
static void put_parts(struct sma_run *run, const struct run_round *round,
                      struct sma_model_call *calls, struct sma_tool_result *results, bool is_own)
{
    const struct sma_stored_answer *answer = &round->answer;
    const struct sma_wire *wire = run->target->wire;
    if (answer->call_count > 0 ||
        sma_str_trim(answer->text).len > 0) { /* providers refuse blanks */
        run_open_fragment(run);
        if (is_own && answer->fragment.len > 0)
            sma_buf_put_str(&run->turn, answer->fragment);
        else
            wire->put_assistant(&run->turn, run->target, answer->text, calls, answer->call_count);
        run_close_fragment(run, 1);
    }
    if (answer->call_count > 0) {
        run_open_fragment(run);
        wire->put_results(&run->turn, run->target, results, answer->call_count);
        close_user_fragment(run, answer->call_count);
    }
    if (answer->line.len > 0)
        put_line(run, answer->line);
}

static enum run_form form_of(const struct sma_run *run, const struct run_round *round)
{
    return round < run->rounds + run->form_round_count ? run->form : RUN_FORM_OWN;
}

static bool is_moved(const struct sma_run *run, const struct run_round *round)
{
    return round >= run->rounds + run->moved_first && round < run->rounds + run->moved_end;
}

void run_mark_moved(struct sma_run *run, uint32_t first)
{
    uint32_t end = run->round_count + (run->call_count > 0); /* and the one that is open */
    if (first >= end)
        return;
    /* One range: to leave out too much is harmless, since what is before it moves with it. */
    if (run->moved_end == 0 || first < run->moved_first)
        run->moved_first = first;
    if (end > run->moved_end)
        run->moved_end = end;
}

static bool is_own(const struct sma_run *run, const struct run_round *round)
{
    const struct sma_stored_answer *answer = &round->answer;
    if (run->target->profile.binds_thinking && is_moved(run, round))
        return false;
    return form_of(run, round) == RUN_FORM_OWN && answer->fragment.len > 0 &&
           sma_str_is_equal(answer->key, sma_str(run->target->key));
}

static bool is_cleared(const struct sma_run *run, const struct run_round *round,
                       struct sma_str content)
{
    return round < run->rounds + run->compact.cleared_round_count &&
           content.len > SMA_VIEW_CLEARED_MIN;
}

static void put_in_form(struct sma_run *run, const struct run_round *round)
{
    const struct sma_stored_answer *answer = &round->answer;
    uint32_t count = answer->call_count;
    struct sma_model_call *calls = calloc((size_t)count + 1, sizeof *calls);
    struct sma_tool_result *results = calloc((size_t)count + 1, sizeof *results);
    bool keeps = is_own(run, round);
    struct sma_buf ids;
    sma_buf_init(&ids, (size_t)count * CALL_ROOM + 1);
    if (calls == NULL || results == NULL ||
        sma_buf_reserve(&ids, (size_t)count * CALL_ROOM + 1) == NULL)
        run->turn.err = SMA_ERR_NOMEM; /* the next request fails the run */
    for (uint32_t i = 0; i < count && run->turn.err != SMA_ERR_NOMEM; i++) {
        const struct sma_stored_call *call = &answer->calls[i];
        size_t start = ids.len;
        put_id(&ids, answer, i);
        struct sma_str id = keeps ? call->id : (struct sma_str){ids.ptr + start, ids.len - start};
        struct sma_str name = run_mcp_wire_name(run, &ids, call->name);
        bool has_arguments = !call->is_invalid && call->arguments.len > 0;
        calls[i] = (struct sma_model_call){
            .id = id, .name = name, .arguments = has_arguments ? call->arguments : SMA_STR("{}")};
        const struct sma_stored_result *result = &round->results.results[i];
        struct sma_str content = is_cleared(run, round, result->content)
                                     ? SMA_STR(SMA_VIEW_CLEARED_TEXT)
                                     : result->content;
        results[i] = (struct sma_tool_result){.call_id = id,
                                              .name = name,
                                              .content = content,
                                              .is_error = result->is_error,
                                              .part_count = result->part_count,
                                              .parts = result->parts};
    }
    if (run->turn.err != SMA_ERR_NOMEM)
        put_parts(run, round, calls, results, keeps);
    sma_buf_fini(&ids);
    free(calls);
    free(results);
}

/* For a model that takes neither its own calls back nor those of others: what was done, in
 * words. */
static void put_told(struct sma_run *run, const struct run_round *round)
{
    const struct sma_stored_answer *answer = &round->answer;
    struct sma_buf told;
    sma_buf_init(&told, SMA_REQUEST_BYTES_MAX);
    sma_buf_put_text(&told, "[what you have done for the message above, told by the program]");
    if (sma_str_trim(answer->text).len > 0) {
        sma_buf_put_text(&told, "\nYou wrote: ");
        sma_buf_put_str(&told, answer->text);
    }
    for (uint32_t i = 0; i < answer->call_count; i++) {
        sma_buf_put_text(&told, "\nYou called ");
        sma_buf_put_str(&told, answer->calls[i].name);
        sma_buf_put_text(&told, " with ");
        sma_buf_put_str(&told, answer->calls[i].arguments);
        sma_buf_put_text(&told, "\nIts result: ");
        sma_buf_put_str(&told, round->results.results[i].content);
    }
    if (answer->line.len > 0) {
        sma_buf_put_char(&told, '\n');
        sma_buf_put_str(&told, answer->line);
    }
    if (told.err == SMA_ERR_OK)
        put_line(run, sma_buf_str(&told));
    else
        run->turn.err = told.err;
    sma_buf_fini(&told);
}

/* What was added while this round was going on, as one message of the user. */
static void put_added(struct sma_run *run, const struct run_round *round)
{
    struct sma_str *blocks = calloc((size_t)round->added_count * RUN_ADDED_BLOCKS, sizeof *blocks);
    if (blocks == NULL) {
        run->turn.err = SMA_ERR_NOMEM; /* the next request fails the run */
        return;
    }
    struct sma_block_part *places = NULL;
    uint32_t count = 0, place_count = 0;
    bool has_memory = true;
    for (uint32_t i = 0; i < round->added_count; i++) {
        has_memory &=
            run_parts_places_later(run, round->added_first + i, count, &places, &place_count);
        count += run_added_blocks(run, round->added_first + i, 1, blocks + count);
    }
    if (!has_memory)
        run->turn.err = SMA_ERR_NOMEM;
    run_open_fragment(run);
    sma_wire_put_user_parts(&run->turn, run->target->wire, run->target, blocks, count, places,
                            place_count);
    close_user_fragment(run, 1);
    free(places);
    free(blocks);
}

static void put_round(struct sma_run *run, const struct run_round *round)
{
    if (form_of(run, round) == RUN_FORM_TOLD)
        put_told(run, round);
    else
        put_in_form(run, round);
    if (round->added_count > 0 && run->turn.err != SMA_ERR_NOMEM)
        put_added(run, round);
}

static struct run_round *new_round(struct sma_run *run)
{
    if (run->round_count == run->round_room) {
        uint32_t room = run->round_room * 2 + 4;
        struct run_round *more = realloc(run->rounds, room * sizeof *more);
        if (more == NULL) {
            run->turn.err = SMA_ERR_NOMEM; /* the next request fails the run */
            return NULL;
        }
        run->rounds = more;
        run->round_room = room;
    }
    struct run_round *round = &run->rounds[run->round_count++];
    *round = (struct run_round){0};
    sma_buf_init(&round->answer_data, SMA_STEP_BYTES_MAX);
    sma_buf_init(&round->results_data, SMA_STEP_BYTES_MAX);
    return round;
}

static void free_round(struct run_round *round)
{
    sma_stored_answer_fini(&round->answer);
    sma_stored_results_fini(&round->results);
    sma_buf_fini(&round->answer_data);
    sma_buf_fini(&round->results_data);
}

struct run_round *run_add_round(struct sma_run *run, struct sma_str results)
{
    struct run_round *round = new_round(run);
    if (round == NULL)
        return NULL;
    sma_buf_put_str(&round->results_data, results);
    enum sma_err err = round->results_data.err;
    if (err == SMA_ERR_OK && results.len > 0)
        err = sma_codec_get_results(sma_buf_str(&round->results_data), &round->results);
    if (err == SMA_ERR_OK && round->results.count != run->answer.call_count)
        err = SMA_ERR_CORRUPT;
    if (err != SMA_ERR_OK) {
        free_round(round);
        run->round_count--;
        run->turn.err = SMA_ERR_NOMEM;
        return NULL;
    }
    round->answer_data = run->answer_data; /* the slices stay: the bytes do not move */
    round->answer = run->answer;
    sma_buf_init(&run->answer_data, SMA_STEP_BYTES_MAX);
    run->answer = (struct sma_stored_answer){0};
    run_added_give(run, round);
    put_round(run, round);
    return round;
}

void run_say(struct sma_run *run, struct sma_str line)
{
    struct run_round *round = new_round(run);
    if (round == NULL)
        return;
    sma_buf_put_str(&round->answer_data, line);
    round->answer.line = sma_buf_str(&round->answer_data);
    round->answer.text = sma_str(RUN_NO_WORDS);
    if (round->answer_data.err != SMA_ERR_OK)
        run->turn.err = round->answer_data.err;
    put_round(run, round);
}

void run_drop_rounds(struct sma_run *run)
{
    for (uint32_t i = 0; i < run->round_count; i++)
        free_round(&run->rounds[i]);
    free(run->rounds);
    run->rounds = NULL;
    run->round_count = run->round_room = 0;
}

void run_rebuild(struct sma_run *run)
{
    if (run->fragment_count == 0)
        return; /* nothing was put yet */
    if (run->turn.err == SMA_ERR_NOMEM)
        return;
    sma_buf_clear(&run->turn);
    run->fragment_count = run->message_count = 0;
    put_user(run);
    /* A summary stands for rounds, never for what a person wrote since this run began. */
    for (uint32_t i = 0; i < run->compact.round_count && i < run->round_count; i++)
        if (run->rounds[i].added_count > 0 && run->turn.err != SMA_ERR_NOMEM)
            put_added(run, &run->rounds[i]);
    for (uint32_t i = run->compact.round_count; i < run->round_count; i++)
        put_round(run, &run->rounds[i]);
}
