/*
 * History lines: formatted in the open transaction with a place in their file, written after its commit.
 */
#include "batch_priv.h"
#include "record.h"
#include "record_priv.h"
#include "store.h"

#include <stdlib.h>

#define LINE_BYTES_MAX ((size_t)256 * 1024 * 1024)

/* -- history lines ---------------------------------------------------------------------------------------------- */
enum sma_err sma_store_place_line(struct sma_store *store, struct store_chat *chat,
                                  const struct sma_history_entry *entry, int64_t *ret_offset)
{
    sma_buf_clear(&store->line_buf);
    sma_history_format(&store->line_buf, entry);
    if (store->line_buf.err != SMA_ERR_OK)
        return store->line_buf.err;
    if (!sma_store_grow(&store->record->lines, store->record->line_count, &store->record->line_cap,
                        sizeof *store->record->lines))
        return SMA_ERR_NOMEM;
    size_t start = store->record->line_bytes.len;
    sma_buf_put_str(&store->record->line_bytes, sma_buf_str(&store->line_buf));
    if (store->record->line_bytes.err != SMA_ERR_OK)
        return store->record->line_bytes.err;
    uint64_t offset;
    struct sma_error error = {0};
    enum sma_err err = sma_history_reserve(store->history, sma_store_chat_key(chat),
                                           store->line_buf.len, &offset, &error);
    if (err != SMA_ERR_OK) {
        store->batch->has_no_place = true;
        store->record->line_bytes.len = start;
        sma_store_note_error(store, error.text);
        sma_ctx_log(store->ctx, SMA_LOG_ERROR, "nothing can be recorded in %s: %s", chat->key,
                    error.text);
        return err;
    }
    store->record->lines[store->record->line_count++] = (struct store_line){
        .chat = chat, .offset = offset, .start = start, .len = store->line_buf.len};
    chat->line_count++;
    *ret_offset = (int64_t)offset;
    return SMA_ERR_OK;
}

enum sma_err sma_store_add_line(struct sma_store *store, struct store_chat *chat,
                                const struct sma_history_entry *entry, uint64_t run_seq)
{
    int64_t offset;
    enum sma_err err = sma_store_place_line(store, chat, entry, &offset);
    if (err != SMA_ERR_OK)
        return err;
    uint64_t seq;
    return sma_state_accept(store->state,
                            &(struct sma_state_message){.chat = chat->state,
                                                        .state = SMA_ROW_LINE,
                                                        .run_seq = run_seq,
                                                        .generation = chat->state->generation,
                                                        .history_offset = offset,
                                                        .line = sma_buf_str(&store->line_buf)},
                            &seq);
}

static int compare_lines(const void *left, const void *right)
{
    const struct store_line *a = left, *b = right;
    if (a->chat->id != b->chat->id)
        return a->chat->id < b->chat->id ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* One write of lines [first, last) of one chat, which stand together. */
static enum sma_err write_run(struct sma_store *store, uint32_t first, uint32_t last)
{
    struct store_chat *chat = store->record->lines[first].chat;
    struct sma_str bytes = {store->record->line_bytes.ptr + store->record->lines[first].start,
                            store->record->lines[first].len};
    if (last - first > 1) {
        sma_buf_clear(&store->load_buf);
        for (uint32_t i = first; i < last; i++)
            sma_buf_put(&store->load_buf,
                        store->record->line_bytes.ptr + store->record->lines[i].start,
                        store->record->lines[i].len);
        sma_store_need(store, store->load_buf.err == SMA_ERR_OK);
        bytes = sma_buf_str(&store->load_buf);
    }
    enum sma_history_outcome outcome;
    struct sma_error error = {0};
    enum sma_err err =
        sma_history_write(store->history, sma_store_chat_key(chat),
                          store->record->lines[first].offset, bytes, &outcome, &error);
    if (err == SMA_ERR_IO || err == SMA_ERR_NOMEM || err == SMA_ERR_CORRUPT)
        sma_ctx_fatal(store->ctx, "history of %s cannot be written: %s", chat->key, error.text);
    if (err != SMA_ERR_OK)
        sma_store_note_error(store, error.text);
    return err;
}

/* Drop lines that were written; keep the others (disk full) for the next try. Their bytes stay where they are. */
static void keep_lines(struct sma_store *store, uint32_t kept)
{
    store->record->line_count = kept;
    store->record->is_history_stuck = kept > 0;
    sma_store_publish_disk(store);
    if (kept > 0)
        return;
    sma_buf_clear(&store->record->line_bytes);
    if (store->record->line_bytes.cap > STORE_BATCH_LINE_BYTES) {
        sma_buf_fini(&store->record->line_bytes);
        sma_buf_init(&store->record->line_bytes, LINE_BYTES_MAX);
    }
}

void sma_store_write_lines(struct sma_store *store)
{
    if (store->record->line_count == 0)
        return;
    /* Lines of one chat are already in order; sorting brings them together. */
    qsort(store->record->lines, store->record->line_count, sizeof *store->record->lines,
          compare_lines);
    uint32_t kept = 0, first = 0;
    while (first < store->record->line_count) {
        uint32_t last = first + 1;
        const struct store_line *line = &store->record->lines[first];
        while (last < store->record->line_count && store->record->lines[last].chat == line->chat &&
               store->record->lines[last].offset ==
                   store->record->lines[last - 1].offset + store->record->lines[last - 1].len)
            last++;
        struct store_chat *chat = line->chat;
        uint64_t run_bytes = store->record->lines[last - 1].offset +
                             store->record->lines[last - 1].len - line->offset;
        if (write_run(store, first, last) == SMA_ERR_OK) {
            chat->line_count -= last - first;
            store->record->lines_since_flush += last - first;
            store->record->bytes_since_flush += run_bytes;
            sma_store_mark_dirty(store, chat);
        } else {
            memmove(&store->record->lines[kept], &store->record->lines[first],
                    (last - first) * sizeof *store->record->lines);
            kept += last - first;
        }
        first = last;
    }
    if (kept > 0 && !store->record->is_history_stuck)
        sma_ctx_log(
            store->ctx, SMA_LOG_ERROR,
            "the disk is full: %u history lines wait in state.db; free space and they are written",
            kept);
    keep_lines(store, kept);
    store->record->last_line_ns = sma_ctx_now(store->ctx);
    store->record->has_unflushed = true;
}

bool sma_store_has_lines(const struct sma_store *store)
{
    return store->record->line_count > 0;
}

uint64_t sma_store_line_bytes(const struct sma_store *store)
{
    return store->record->line_bytes.len;
}

bool sma_store_is_history_stuck(const struct sma_store *store)
{
    return store->record->is_history_stuck;
}

/* -- the part --------------------------------------------------------------------------------------------------- */
static void mark(const struct sma_store *store, struct store_marks *marks)
{
    marks->lines = store->record->line_count;
}

/* The places of undone lines are free again. Lines before the mark are of earlier, committed batches (disk was full). */
static void forget(struct sma_store *store, const struct store_marks *to)
{
    struct store_record *record = store->record;
    while (record->line_count > to->lines) {
        struct store_line *line = &record->lines[--record->line_count];
        sma_history_release(store->history, sma_store_chat_key(line->chat), line->offset);
        line->chat->line_count--;
        record->line_bytes.len = line->start;
    }
    record->line_bytes.err = SMA_ERR_OK;
}

static enum sma_err create(struct sma_store *store)
{
    store->record = calloc(1, sizeof *store->record);
    if (store->record == NULL)
        return SMA_ERR_NOMEM;
    sma_buf_init(&store->record->line_bytes, LINE_BYTES_MAX);
    return SMA_ERR_OK;
}

static void fini(struct sma_store *store)
{
    sma_buf_fini(&store->record->line_bytes);
    free(store->record->lines);
    free(store->record->planned);
    free(store->record);
}

const struct store_part sma_store_record_part = {.name = "record",
                                                 .create = create,
                                                 .mark = mark,
                                                 .forget = forget,
                                                 .wake = sma_store_record_wake,
                                                 .fini = fini};
