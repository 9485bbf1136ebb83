/* run_context.c — the request: head, session, turn and tail, made to fit and written. See run.h. */
#include "run_priv.h"

#include "runtime/agent/session_view.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define MARK_COUNT_MAX 2
#define TINY_HEAD_BYTES 500 /* of a result when nothing else is left to shorten */
#define TINY_TAIL_BYTES 250

/* -- the bytes --------------------------------------------------------------------------------- */
/* Where the provider is told to cache up to: the two newest parts of the turn that are not the
 * model's, so that the next request finds what this one has written. Earlier turns need none: the
 * provider looks back far enough from the user's message. The marks are in the written copy only:
 * what is kept stays byte-identical. */
struct marks
{
    uint32_t count;
    size_t offsets[MARK_COUNT_MAX]; /* in run->turn, the later one first */
    struct sma_str bytes;
};

static struct marks find_marks(const struct sma_run *run)
{
    struct marks marks = {.bytes = sma_target_mark(run->target)};
    if (marks.bytes.len == 0 || run->target->wire->find_mark == NULL)
        return marks;
    for (uint32_t i = run->fragment_count; i > 0 && marks.count < MARK_COUNT_MAX; i--) {
        size_t start = run->fragment_starts[i - 1], offset;
        struct sma_str fragment = {run->turn.ptr + start, run->fragment_ends[i - 1] - start};
        if (run->fragment_is_user[i - 1] && run->target->wire->find_mark(fragment, &offset))
            marks.offsets[marks.count++] = start + offset;
    }
    return marks;
}

const struct sma_body_file *sma_run_request_files(const struct sma_run *run, uint32_t *ret_count)
{
    *ret_count = run->compact.request.len > 0 ? 0 : run->see.file_count; /* a summary has none */
    return run->see.files;
}

/* The request to llm.vision. */
static void write_look(const struct sma_run *run, char *bytes, struct sma_model_ask *ask)
{
    memcpy(bytes, run->see.look.ptr, run->see.look.len);
    ask->turn_offset = 0;
    ask->turn_end = (uint32_t)run->see.look.len;
    ask->llm = run->settings->vision.llm;
}

size_t sma_run_request_size(const struct sma_run *run)
{
    if (run->see.is_looking)
        return run->see.look.len;
    const struct sma_session *session = run->session;
    if (run->compact.request.len > 0)
        return run->compact.request.len;
    struct marks marks = find_marks(run);
    return run->head->len + session->bytes + session->turn_count - run->compact.skip_bytes +
           run->turn.len + marks.count * marks.bytes.len +
           run->settings->tails[run->target_index].len;
}

static char *copy(char *at, struct sma_str text)
{
    if (text.len > 0)
        memcpy(at, text.ptr, text.len);
    return at + text.len;
}

static char *copy_turn(const struct sma_run *run, char *at)
{
    struct marks marks = find_marks(run);
    size_t done = 0;
    for (uint32_t i = marks.count; i > 0; i--) {
        at = copy(at, (struct sma_str){run->turn.ptr + done, marks.offsets[i - 1] - done});
        at = copy(at, marks.bytes);
        done = marks.offsets[i - 1];
    }
    return copy(at, (struct sma_str){run->turn.ptr + done, run->turn.len - done});
}

/* The tail is the same for all chats but for these digits, which tell a provider which requests
 * belong together. */
static char *copy_tail(const struct sma_run *run, char *at)
{
    static const uint8_t no_key[16];
    size_t offset = run->settings->key_offsets[run->target_index];
    char *end = copy(at, sma_buf_str(&run->settings->tails[run->target_index]));
    if (offset == SIZE_MAX)
        return end;
    struct sma_str chat_key = run->order->route.chat_key;
    char digits[RUN_CACHE_KEY_BYTES + 1];
    snprintf(digits, sizeof digits, "%016llx",
             (unsigned long long)sma_siphash(no_key, chat_key.ptr, chat_key.len));
    memcpy(at + offset, digits, RUN_CACHE_KEY_BYTES);
    return end;
}

/* The request for a summary. */
static void write_compact(const struct sma_run *run, char *bytes, struct sma_model_ask *ask)
{
    const struct run_compact *compact = &run->compact;
    (void)copy(bytes, sma_buf_str(&compact->request));
    ask->turn_offset = (uint32_t)compact->turn_offset;
    ask->turn_end = (uint32_t)compact->turn_end;
    ask->llm = run->target->llm;
}

static void write_turns(const struct sma_run *run, char *bytes, struct sma_model_ask *ask)
{
    const struct sma_session *session = run->session;
    char *at = copy(bytes, sma_buf_str(run->head));
    for (uint32_t i = 0; i < session->turn_count; i++) {
        if (run_is_skipped(run, i))
            continue;
        at = copy(at, session->turns[i]->bytes);
        *at++ = ',';
    }
    ask->turn_offset = (uint32_t)(at - bytes);
    at = copy_turn(run, at);
    ask->turn_end = (uint32_t)(at - bytes);
    at = copy_tail(run, at);
    SMA_ASSERT((size_t)(at - bytes) == sma_run_request_size(run));
    ask->llm = run->target->llm;
}

void sma_run_request_write(const struct sma_run *run, char *bytes, struct sma_model_ask *ask)
{
    size_t len = sma_run_request_size(run);
    if (run->see.is_looking)
        write_look(run, bytes, ask);
    else if (run->compact.request.len > 0)
        write_compact(run, bytes, ask);
    else
        write_turns(run, bytes, ask);
    if (run->see.file_count > 0 && run->compact.request.len == 0)
        len = run_parts_take_out(ask->files, &ask->file_count, bytes, len, &ask->turn_offset,
                                 &ask->turn_end);
    ask->forms = sma_target_answer_forms(run->target);
    ask->body = (struct sma_str){bytes, len};
    ask->seq = run->order->seq;
    ask->round = run->round;
    ask->read_ns = run->order->stamps.read_ns;
}

/* -- shorter ----------------------------------------------------------------------------------- */
/* One result of one round with its middle left out. @return bytes saved */
static size_t shorten_result(struct run_round *round, uint32_t index, size_t head, size_t tail)
{
    struct sma_stored_results *list = &round->results;
    struct sma_str before = list->results[index].content;
    struct sma_buf content, data;
    struct sma_stored_results made;
    sma_buf_init(&content, SMA_STEP_BYTES_MAX);
    sma_buf_init(&data, SMA_STEP_BYTES_MAX);
    size_t saved = 0;
    if (sma_view_put_short(&content, before, head, tail) && content.err == SMA_ERR_OK) {
        list->results[index].content = sma_buf_str(&content);
        sma_codec_put_results(&data, list->results, list->count);
        list->results[index].content = before;
        if (data.err == SMA_ERR_OK &&
            sma_codec_get_results(sma_buf_str(&data), &made) == SMA_ERR_OK) {
            sma_stored_results_fini(list);
            sma_buf_fini(&round->results_data);
            *list = made;
            round->results_data = data;
            sma_buf_init(&data, 0);
            saved = before.len - content.len;
        }
    }
    sma_buf_fini(&content);
    sma_buf_fini(&data);
    return saved;
}

/* The largest results of this run first, until `excess` bytes are saved. @return bytes saved */
static size_t shorten_rounds(struct sma_run *run, size_t excess, size_t head, size_t tail)
{
    size_t saved = 0, more = 1;
    while (saved < excess && more > 0) {
        struct run_round *largest = NULL;
        uint32_t index = 0;
        size_t len = 0;
        for (uint32_t i = run->compact.round_count; i < run->round_count; i++) {
            for (uint32_t k = 0; k < run->rounds[i].results.count; k++) {
                if (run->rounds[i].results.results[k].content.len <= len)
                    continue;
                largest = &run->rounds[i];
                index = k;
                len = largest->results.results[k].content.len;
            }
        }
        more = largest == NULL ? 0 : shorten_result(largest, index, head, tail);
        if (more > 0)
            run_mark_moved(run, (uint32_t)(largest - run->rounds) + 1);
        saved += more;
    }
    if (saved > 0) {
        run->session->measure = (struct sma_context_measure){0};
        run_rebuild(run);
    }
    return saved;
}

static size_t size_of(struct sma_run *run)
{
    /* Runs of other chats may have taken the place of its head meanwhile. */
    if (run_take_head(run) != SMA_ERR_OK ||
        sma_session_fit(run->sessions, run->session, run->target, run->form >= RUN_FORM_PLAIN) ==
            SMA_ERR_NOMEM)
        run->turn.err = SMA_ERR_NOMEM; /* the next request fails the run */
    return run->turn.err == SMA_ERR_TOOBIG ? 2 * SMA_REQUEST_BYTES_MAX : sma_run_request_size(run);
}

bool run_shorten_own(struct sma_run *run)
{
    if (run->shrink_count >= SMA_SHRINK_COUNT_MAX)
        return false;
    size_t size = size_of(run), wanted = size / 5 * 3;
    if (shorten_rounds(run, size - wanted, SMA_SHORT_HEAD_BYTES, SMA_SHORT_TAIL_BYTES) == 0)
        return false;
    run->shrink_count++;
    return size_of(run) <= wanted; /* what was left out stays so in any case */
}

bool run_shrink(struct sma_run *run)
{
    run->compact.skip_count = 0;
    run->compact.skip_bytes = 0;
    if (run->shrink_count >= SMA_SHRINK_COUNT_MAX)
        return false;
    run->shrink_count++;
    size_t size = size_of(run), wanted = size / 5 * 3;
    bool has_changed =
        shorten_rounds(run, size - wanted, SMA_SHORT_HEAD_BYTES, SMA_SHORT_TAIL_BYTES) > 0;
    bool has_moved = size_of(run) > wanted && sma_session_shorten(run->session);
    if (size_of(run) > wanted)
        has_moved |= sma_session_shrink(run->sessions, run->session);
    if (has_moved) {
        run_mark_moved(run, 0);
        run_rebuild(run);
        has_changed = true;
    }
    if (!has_changed)
        has_changed = shorten_rounds(run, size - wanted, TINY_HEAD_BYTES, TINY_TAIL_BYTES) > 0;
    return has_changed;
}

bool run_make_fit(struct sma_run *run)
{
    run->compact.skip_count = 0; /* of this target and these turns: it is counted anew */
    run->compact.skip_bytes = 0;
    enum sma_err err = run_take_head(run);
    if (err == SMA_ERR_OK)
        err =
            sma_session_fit(run->sessions, run->session, run->target, run->form >= RUN_FORM_PLAIN);
    if (err == SMA_ERR_OK && run->turn.err == SMA_ERR_NOMEM)
        err = SMA_ERR_NOMEM;
    if (err != SMA_ERR_OK) {
        run_finish_failed(run, sma_err_text(err));
        return false;
    }
    return true;
}

bool run_fit_request(struct sma_run *run)
{
    while (run->turn.err != SMA_ERR_OK || sma_run_request_size(run) > SMA_REQUEST_BYTES_MAX) {
        if (!run_shrink(run)) {
            run_finish_too_long(run);
            return false;
        }
    }
    run->compact.sent = run_context_size(run);
    return true;
}
