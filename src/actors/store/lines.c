/*
 * History lines: formatted in the open transaction with a place in their file, written after its
 * commit.
 */
#include "record_priv.h"
#include "store.h"

#include "runtime/chat/state_asides.h"

#include <stdlib.h>

#define LINE_BYTES_MAX ((size_t)256 * 1024 * 1024)

/* -- history lines ----------------------------------------------------------------------------- */

/* Where the line goes: a place in the file, or none while the chat is set aside. */
static SMA_CHECKED enum sma_err find_place(struct sma_store *store, struct store_chat *chat,
                                           int64_t *ret_offset)
{
    struct sma_error error = {0};
    uint64_t offset;
    *ret_offset = SMA_STATE_LINE_WAITS;
    if (sma_store_is_placeless(store, chat->id))
        return SMA_ERR_OK;
    enum sma_err err = sma_history_reserve(store->history, sma_store_chat_key(chat),
                                           store->scratch.line.len, &offset, &error);
    if (err == SMA_ERR_CORRUPT)
        sma_ctx_fatal(store->ctx, "history cannot be made durable: %s", error.text);
    if (err == SMA_ERR_NOMEM || err == SMA_ERR_TOOBIG)
        return err;
    if (err == SMA_ERR_OK)
        *ret_offset = (int64_t)offset;
    else
        sma_store_set_aside(store, chat->state, err, error.text);
    return SMA_ERR_OK;
}

enum sma_err sma_store_place_line(struct sma_store *store, struct store_chat *chat,
                                  const struct sma_history_entry *entry, int64_t *ret_offset)
{
    sma_buf_clear(&store->scratch.line);
    sma_history_format(&store->scratch.line, entry);
    if (store->scratch.line.err != SMA_ERR_OK)
        return store->scratch.line.err;
    enum sma_err err = find_place(store, chat, ret_offset);
    if (err != SMA_ERR_OK)
        return err;
    if (*ret_offset != SMA_STATE_LINE_WAITS)
        return sma_store_push_line(store, chat, (uint64_t)*ret_offset,
                                   sma_buf_str(&store->scratch.line));
    store->record->has_unflushed = true; /* the flush records who is set aside */
    store->record->last_line_ns = sma_ctx_now(store->ctx);
    return SMA_ERR_OK;
}

enum sma_err sma_store_add_line(struct sma_store *store, struct store_chat *chat,
                                const struct sma_history_entry *entry, uint64_t run_seq)
{
    int64_t offset;
    SMA_TRY(sma_store_place_line(store, chat, entry, &offset));
    uint64_t seq;
    return sma_state_accept(store->state,
                            &(struct sma_state_message){.chat = chat->state,
                                                        .state = SMA_ROW_LINE,
                                                        .run_seq = run_seq,
                                                        .generation = chat->state->generation,
                                                        .history_offset = offset,
                                                        .line = sma_buf_str(&store->scratch.line)},
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
static void write_run(struct sma_store *store, uint32_t first, uint32_t last)
{
    struct store_chat *chat = store->record->lines[first].chat;
    struct sma_str bytes = {store->record->line_bytes.ptr + store->record->lines[first].start,
                            store->record->lines[first].len};
    if (last - first > 1) {
        sma_buf_clear(&store->scratch.load);
        for (uint32_t i = first; i < last; i++)
            sma_buf_put(&store->scratch.load,
                        store->record->line_bytes.ptr + store->record->lines[i].start,
                        store->record->lines[i].len);
        sma_store_need(store, store->scratch.load.err == SMA_ERR_OK);
        bytes = sma_buf_str(&store->scratch.load);
    }
    enum sma_history_outcome outcome;
    struct sma_error error = {0};
    enum sma_err err =
        sma_history_write(store->history, sma_store_chat_key(chat),
                          store->record->lines[first].offset, bytes, &outcome, &error);
    if (err == SMA_ERR_NOMEM || err == SMA_ERR_CORRUPT)
        sma_ctx_fatal(store->ctx, "history of %s cannot be written: %s", chat->key, error.text);
    if (err == SMA_ERR_OK)
        sma_store_mark_dirty(store, chat);
    else /* state.db has the lines, with their places */
        sma_store_set_aside(store, chat->state, err, error.text);
}

static void clear_lines(struct store_record *record)
{
    record->line_count = 0;
    sma_buf_clear(&record->line_bytes);
    if (record->line_bytes.cap > STORE_BATCH_LINE_BYTES) {
        sma_buf_fini(&record->line_bytes);
        sma_buf_init(&record->line_bytes, LINE_BYTES_MAX);
    }
}

void sma_store_write_lines(struct sma_store *store)
{
    struct store_record *record = store->record;
    if (record->line_count == 0)
        return;
    /* Lines of one chat are already in order; sorting brings them together. */
    qsort(record->lines, record->line_count, sizeof *record->lines, compare_lines);
    for (uint32_t first = 0, last; first < record->line_count; first = last) {
        const struct store_line *line = &record->lines[first];
        struct store_chat *chat = line->chat;
        last = first + 1;
        while (last < record->line_count && record->lines[last].chat == chat &&
               record->lines[last].offset ==
                   record->lines[last - 1].offset + record->lines[last - 1].len)
            last++;
        chat->line_count -= last - first;
        const struct store_file_aside *aside = sma_store_aside(store, chat->id);
        if (aside == NULL || aside->state != STORE_ASIDE_WAITS)
            write_run(store, first, last);
    }
    record->lines_since_flush += record->line_count;
    record->bytes_since_flush += record->line_bytes.len;
    clear_lines(record);
    record->last_line_ns = sma_ctx_now(store->ctx);
    record->has_unflushed = true;
}

bool sma_store_has_lines(const struct sma_store *store)
{
    return store->record->line_count > 0;
}

/* -- the part ---------------------------------------------------------------------------------- */
static void mark(const struct sma_store *store, struct store_marks *marks)
{
    marks->lines = store->record->line_count;
}

static void forget(struct sma_store *store, const struct store_marks *to)
{
    sma_store_forget_lines(store, to->lines);
}

static enum sma_err load(struct sma_store *store)
{
    sma_store_check_asides(store);
    return SMA_ERR_OK;
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
    sma_store_free_asides(store);
    sma_buf_fini(&store->record->line_bytes);
    free(store->record->lines);
    free(store->record->planned);
    free(store->record);
}

const struct store_part sma_store_record_part = {.name = "record",
                                                 .create = create,
                                                 .mark = mark,
                                                 .forget = forget,
                                                 .load = load,
                                                 .wake = sma_store_record_wake,
                                                 .fini = fini};
