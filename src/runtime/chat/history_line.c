/*
 * history_line.c — one line of history: written, read, and the name of the file it stands in.
 */
#include "history_priv.h"

#include "sma/text.h"

#include <ctype.h>
#include <stdlib.h>

/* Fixed for ever: file names on disk depend on it. */
static const uint8_t name_key[16] = {'s', 'm', 'a', '-', 'h', 'i', 's', 't',
                                     'o', 'r', 'y', '-', 'n', 'a', 'm', 'e'};

uint64_t history_hash(const void *bytes, size_t len)
{
    return sma_siphash(name_key, bytes, len);
}

static void put_string(struct sma_buf *buf, const char *key, struct sma_str text)
{
    sma_buf_put_json_key(buf, key);
    sma_buf_put_json_string(buf, text);
}

/* A raw object that cannot break the line it is copied into. */
static bool is_meta_usable(struct sma_str meta)
{
    if (meta.len < 2 || meta.ptr[0] != '{' || meta.ptr[meta.len - 1] != '}')
        return false;
    for (size_t i = 0; i < meta.len; i++) {
        if ((unsigned char)meta.ptr[i] < 0x20)
            return false;
    }
    return sma_utf8_is_valid(meta);
}

void sma_history_format(struct sma_buf *buf, const struct sma_history_entry *entry)
{
    sma_buf_put_str(buf, SMA_STR("{\"v\":1,\"ts\":"));
    sma_buf_put_i64(buf, entry->wall_ms);
    put_string(buf, "channel", entry->channel);
    put_string(buf, "chatId", entry->chat_id);
    put_string(buf, "chatKey", entry->chat_key);
    if (entry->user_id.len > 0)
        put_string(buf, "userId", entry->user_id);
    if (entry->message_id.len > 0)
        put_string(buf, "messageId", entry->message_id);
    put_string(buf, "role", entry->role);
    put_string(buf, "text", entry->text);
    if (is_meta_usable(entry->meta_json)) {
        sma_buf_put_json_key(buf, "meta");
        sma_buf_put_str(buf, entry->meta_json);
    }
    sma_buf_put_str(buf, SMA_STR("}\n"));
}

/* "x.archive-7": the main file of this chat would be taken for an archive of chat "x". */
static bool is_like_archive(struct sma_str stem)
{
    static const char mark[] = ".archive-";
    size_t at = stem.len;
    while (at > 0 && isdigit((unsigned char)stem.ptr[at - 1]))
        at--;
    size_t mark_len = sizeof mark - 1;
    return at < stem.len && at >= mark_len && memcmp(stem.ptr + at - mark_len, mark, mark_len) == 0;
}

/* Longest prefix of an encoded name of at most max bytes that does not cut a %XX. */
static size_t cut_encoded(struct sma_str stem, size_t max)
{
    size_t len = stem.len < max ? stem.len : max;
    for (size_t back = 1; back <= 2 && back <= len && len < stem.len; back++) {
        if (stem.ptr[len - back] == '%')
            return len - back;
    }
    return len;
}

void sma_history_put_file_stem(struct sma_buf *buf, struct sma_str chat_key)
{
    size_t start = buf->len;
    sma_buf_put_file_name(buf, chat_key);
    if (buf->err != SMA_ERR_OK)
        return;
    struct sma_str stem = {buf->ptr + start, buf->len - start};
    if (stem.len <= SMA_FILE_NAME_BYTES_MAX && !is_like_archive(stem))
        return;
    buf->len = start + cut_encoded(stem, SMA_FILE_NAME_BYTES_MAX - 17);
    sma_buf_printf(buf, "~%016llx", (unsigned long long)history_hash(chat_key.ptr, chat_key.len));
}

struct sma_str history_trim_line(struct sma_str line, bool is_first)
{
    if (is_first && sma_str_starts_with(line, SMA_STR("\xEF\xBB\xBF"))) {
        line.ptr += 3;
        line.len -= 3;
    }
    while (line.len > 0 && line.ptr[line.len - 1] == '\r')
        line.len--;
    return line;
}

/* Value of \uXXXX at text (6 bytes available), or -1. */
static int read_escape(const char *text)
{
    if (text[0] != '\\' || text[1] != 'u')
        return -1;
    int value = 0;
    for (int i = 2; i < 6; i++) {
        if (!isxdigit((unsigned char)text[i]))
            return -1;
        int digit = text[i] <= '9' ? text[i] - '0' : (text[i] | 0x20) - 'a' + 10;
        value = value * 16 + digit;
    }
    return value;
}

/* JSON.stringify writes half of a cut surrogate pair as \udXXX, which the parser refuses: make it
 * \ufffd. */
static bool mend_surrogates(char *text, size_t len)
{
    bool is_changed = false;
    for (size_t i = 0; i + 1 < len;) {
        if (text[i] != '\\') {
            i++;
            continue;
        }
        int code = i + 6 <= len ? read_escape(text + i) : -1;
        if (code < 0xD800 || code > 0xDFFF) {
            i +=
                /* an escape is at least two bytes; \\ must not be read as the start of another */
                2;
            continue;
        }
        int next = i + 12 <= len ? read_escape(text + i + 6) : -1;
        if (code < 0xDC00 && next >= 0xDC00 && next <= 0xDFFF) {
            i += 12;
            continue;
        }
        memcpy(text + i, "\\ufffd", 6);
        is_changed = true;
        i += 6;
    }
    return is_changed;
}

static json_t *load_line(struct sma_str line)
{
    json_error_t detail;
    size_t flags = JSON_ALLOW_NUL;
    json_t *root = json_loadb(line.ptr == NULL ? "" : line.ptr, line.len, flags, &detail);
    if (root != NULL || line.len == 0 || memmem(line.ptr, line.len, "\\u", 2) == NULL)
        return root;
    SMA_AUTO(sma_freep) char *copy = malloc(line.len);
    if (copy == NULL)
        return NULL;
    memcpy(copy, line.ptr, line.len);
    return mend_surrogates(copy, line.len) ? json_loadb(copy, line.len, flags, &detail) : NULL;
}

/* A string member; absent gives the empty slice and false. */
static bool get_string(const json_t *object, const char *key, struct sma_str *ret_text)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value)) {
        *ret_text = (struct sma_str){NULL, 0};
        return false;
    }
    *ret_text = (struct sma_str){json_string_value(value), json_string_length(value)};
    return true;
}

/* protocols/project.md §7.5: v == 1, the same chatKey, numeric ts, string role and text. */
static bool fill_entry(const json_t *root, struct sma_str chat_key, struct sma_history_entry *entry)
{
    const json_t *version = json_object_get(root, "v");
    const json_t *stamp = json_object_get(root, "ts");
    if (!json_is_number(version) || json_number_value(version) != 1 || !json_is_number(stamp))
        return false;
    double wall_ms = json_number_value(stamp);
    if (!(wall_ms > -9e15 && wall_ms < 9e15))
        return false;
    entry->wall_ms = json_is_integer(stamp) ? (int64_t)json_integer_value(stamp) : (int64_t)wall_ms;
    if (!get_string(root, "chatKey", &entry->chat_key) || !get_string(root, "role", &entry->role) ||
        !get_string(root, "text", &entry->text))
        return false;
    (void)get_string(root, "channel", &entry->channel); /* absent is allowed by the check */
    (void)get_string(root, "chatId", &entry->chat_id);
    (void)get_string(root, "userId", &entry->user_id);
    (void)get_string(root, "messageId", &entry->message_id);
    return chat_key.ptr == NULL || sma_str_is_equal(chat_key, entry->chat_key);
}

/* "/stop", "/clear@bot": lines from before commands were marked. */
static bool is_bare_command(struct sma_str text)
{
    text = sma_str_trim(text);
    bool is_name = false;
    if (text.len < 2 || text.len > 64 || text.ptr[0] != '/')
        return false;
    for (size_t i = 1; i < text.len; i++) {
        char byte = text.ptr[i];
        if (byte == '@' && i > 1 && !is_name)
            is_name = true;
        else if (!isalnum((unsigned char)byte) && byte != '_')
            return false;
    }
    return true;
}

static bool is_clearing(const struct sma_history_entry *entry, struct sma_str aside)
{
    static const char *const words[] = {"/clear", "/new"};
    struct sma_str text = sma_str_trim(entry->text);
    const char *at = text.len == 0 ? NULL : memchr(text.ptr, '@', text.len);
    if (at != NULL)
        text.len = (size_t)(at - text.ptr);
    for (size_t i = 0; i < SMA_COUNT_OF(words) && aside.len == 0; i++)
        if (sma_str_is_equal(entry->role, SMA_STR("user")) &&
            sma_str_is_equal_nocase(text, sma_str(words[i])))
            return true;
    return sma_str_is_equal(aside, SMA_STR("clear"));
}

enum sma_err history_parse(struct sma_str line, struct sma_str chat_key,
                           struct history_parsed *ret_parsed)
{
    json_t *root = load_line(line);
    struct history_parsed parsed = {.root = root};
    if (!json_is_object(root) || !fill_entry(root, chat_key, &parsed.entry)) {
        json_decref(root);
        return SMA_ERR_BADINPUT;
    }
    const json_t *meta = json_object_get(root, "meta");
    parsed.is_notice = json_is_true(json_object_get(meta, "notice"));
    struct sma_str aside;
    (void)get_string(meta, "aside", &aside);
    parsed.is_clear = is_clearing(&parsed.entry, aside);
    parsed.is_aside = aside.len > 0 || parsed.is_clear ||
                      (sma_str_is_equal(parsed.entry.role, SMA_STR("user")) &&
                       is_bare_command(parsed.entry.text));
    /* json_object_get accepts NULL and other types */
    if (!get_string(meta, "name", &parsed.user_name))
        (void)get_string(meta, "username", &parsed.user_name);
    *ret_parsed = parsed;
    return SMA_ERR_OK;
}
