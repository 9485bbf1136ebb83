/* line_list.c — history lines of this batch, and the chats whose files are not synced yet. See
 * record_priv.h. */
#include "record_priv.h"
#include "store.h"

void sma_store_mark_dirty(struct sma_store *store, struct store_chat *chat)
{
    if (!chat->is_dirty) {
        chat->is_dirty = true;
        chat->dirty_next = store->record->dirty_first;
        store->record->dirty_first = chat;
    }
    struct sma_str key = sma_store_chat_key(chat);
    if (!chat->is_rotating && (sma_history_needs_count(store->history, key) ||
                               sma_history_is_rotation_due(store->history, key))) {
        chat->is_rotating = true;
        chat->rotate_next = store->record->rotate_first;
        store->record->rotate_first = chat;
    }
}

enum sma_err sma_store_push_line(struct sma_store *store, struct store_chat *chat, uint64_t offset,
                                 struct sma_str line)
{
    struct store_record *record = store->record;
    if (!sma_store_grow(&record->lines, record->line_count, &record->line_cap,
                        sizeof *record->lines))
        return SMA_ERR_NOMEM;
    size_t start = record->line_bytes.len;
    sma_buf_put_str(&record->line_bytes, line);
    if (record->line_bytes.err != SMA_ERR_OK)
        return record->line_bytes.err;
    record->lines[record->line_count++] =
        (struct store_line){.chat = chat, .offset = offset, .start = start, .len = line.len};
    chat->line_count++;
    return SMA_ERR_OK;
}

uint64_t sma_store_line_bytes(const struct sma_store *store)
{
    return store->record->line_bytes.len;
}

/* The places of undone lines are free again. */
void sma_store_forget_lines(struct sma_store *store, uint32_t count)
{
    struct store_record *record = store->record;
    while (record->line_count > count) {
        struct store_line *line = &record->lines[--record->line_count];
        sma_history_release(store->history, sma_store_chat_key(line->chat), line->offset);
        line->chat->line_count--;
        record->line_bytes.len = line->start;
    }
    record->line_bytes.err = SMA_ERR_OK;
}
