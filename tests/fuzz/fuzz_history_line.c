/*
 * A line of a history file, written by us, by the old program or by hand. Promises under test,
 * besides not crashing: what can be read can be written as one line and read again alike, and every
 * chat key has a file name of its own folder.
 */
#include "fuzz.h"

#include "runtime/chat/history_priv.h"
#include "sma/limits.h"

#include <stdlib.h>

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_name(struct sma_str chat_key)
{
    struct sma_buf stem;
    sma_buf_init(&stem, 8 * 65536);
    sma_history_put_file_stem(&stem, chat_key);
    require(stem.err != SMA_ERR_OK || chat_key.len == 0 ||
            (stem.len > 0 && stem.len <= SMA_FILE_NAME_BYTES_MAX));
    for (size_t i = 0; i < stem.len; i++)
        require(stem.ptr[i] != '/' && stem.ptr[i] != '\0');
    sma_buf_fini(&stem);
}

static void check_again(const struct sma_history_entry *entry)
{
    struct sma_buf line;
    sma_buf_init(&line, 16 << 20);
    sma_history_format(&line, entry);
    require(line.err == SMA_ERR_OK && line.ptr[line.len - 1] == '\n' &&
            memchr(line.ptr, '\n', line.len - 1) == NULL);
    struct history_parsed again;
    require(history_parse((struct sma_str){line.ptr, line.len - 1}, entry->chat_key, &again) ==
            SMA_ERR_OK);
    require(again.entry.wall_ms == entry->wall_ms);
    require(sma_str_is_equal(again.entry.text, entry->text));
    require(sma_str_is_equal(again.entry.role, entry->role));
    require(sma_str_is_equal(again.entry.user_id, entry->user_id));
    json_decref(again.root);
    sma_buf_fini(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct sma_str line = history_trim_line((struct sma_str){(const char *)bytes, len}, true);
    struct history_parsed parsed;
    if (history_parse(line, (struct sma_str){NULL, 0}, &parsed) != SMA_ERR_OK)
        return 0;
    check_name(parsed.entry.chat_key);
    check_again(&parsed.entry);
    json_decref(parsed.root);
    return 0;
}
