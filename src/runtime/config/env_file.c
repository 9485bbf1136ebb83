/*
 * env_file.c — the .env dialect of the old program: KEY=VALUE or "KEY: VALUE", optional export,
 * three kinds of quotes that may span lines, \n and \r only in double quotes, # comments, no
 * expansion.
 */
#include "config_priv.h"

#include "sma/beneath.h"
#include "sma/buf.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cursor
{
    const char *at, *end;
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\v' || byte == '\f';
}

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '.' || byte == '-';
}

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && is_blank(*cursor->at))
        cursor->at++;
}

static void skip_line(struct cursor *cursor)
{
    while (cursor->at < cursor->end && *cursor->at != '\n')
        cursor->at++;
    if (cursor->at < cursor->end)
        cursor->at++;
}

/* The end of a quoted value that starts at cursor->at, or NULL when the quote is never closed. */
static const char *find_closing_quote(const struct cursor *cursor)
{
    char quote = *cursor->at;
    for (const char *at = cursor->at + 1; at < cursor->end; at++) {
        if (*at == '\\' && at + 1 < cursor->end && at[1] == quote)
            at++;
        else if (*at == quote)
            return at;
    }
    return NULL;
}

static char *dup_range(const char *from, const char *to)
{
    size_t len = (size_t)(to - from);
    char *copy = malloc(len + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, from, len);
    copy[len] = '\0';
    return copy;
}

/* \n and \r of a double-quoted value become the characters. */
static void expand_line_ends(char *value)
{
    char *to = value;
    for (const char *from = value; *from != '\0'; from++) {
        if (from[0] == '\\' && (from[1] == 'n' || from[1] == 'r')) {
            *to++ = from[1] == 'n' ? '\n' : '\r';
            from++;
            continue;
        }
        *to++ = *from;
    }
    *to = '\0';
}

static char *take_quoted(struct cursor *cursor, const char *closing)
{
    char quote = *cursor->at;
    char *value = dup_range(cursor->at + 1, closing);
    cursor->at = closing + 1;
    if (value != NULL && quote == '"')
        expand_line_ends(value);
    return value;
}

static char *take_plain(struct cursor *cursor)
{
    const char *from = cursor->at;
    while (cursor->at < cursor->end && *cursor->at != '\n' && *cursor->at != '\r' &&
           *cursor->at != '#')
        cursor->at++;
    const char *to = cursor->at;
    while (to > from && (is_blank(to[-1])))
        to--;
    return dup_range(from, to);
}

static char *take_value(struct cursor *cursor)
{
    skip_blanks(cursor);
    if (cursor->at < cursor->end &&
        (*cursor->at == '\'' || *cursor->at == '"' || *cursor->at == '`')) {
        const char *closing = find_closing_quote(cursor);
        if (closing != NULL)
            return take_quoted(cursor, closing);
    }
    return take_plain(cursor);
}

/* "export " is optional and only a prefix when a name follows. */
static void skip_export(struct cursor *cursor)
{
    static const char word[] = "export";
    size_t len = sizeof word - 1;
    if ((size_t)(cursor->end - cursor->at) > len && memcmp(cursor->at, word, len) == 0 &&
        is_blank(cursor->at[len])) {
        cursor->at += len;
        skip_blanks(cursor);
    }
}

static bool take_separator(struct cursor *cursor)
{
    const char *start = cursor->at;
    skip_blanks(cursor);
    if (cursor->at < cursor->end && *cursor->at == '=') {
        cursor->at++;
        return true;
    }
    cursor->at = start;
    if (cursor->end - cursor->at >= 2 && cursor->at[0] == ':' && is_blank(cursor->at[1])) {
        cursor->at += 2;
        return true;
    }
    return false;
}

/* Editors of Windows write UTF-16, with a mark or without; the first letters are plain ones. */
static bool is_utf16(struct sma_str text, bool *ret_is_big)
{
    if (text.len < 4 || text.len % 2 != 0)
        return false;
    const unsigned char *at = (const unsigned char *)text.ptr;
    *ret_is_big = (at[0] == 0xFE && at[1] == 0xFF) || (at[0] == 0 && at[1] != 0);
    return (at[0] == 0xFF && at[1] == 0xFE) || *ret_is_big || (at[1] == 0 && at[0] != 0);
}

static void put_utf8(struct sma_buf *buf, struct sma_str text, bool is_big)
{
    for (size_t i = 0; i + 1 < text.len; i += 2) {
        uint32_t unit = (uint8_t)text.ptr[i + is_big] | (uint32_t)(uint8_t)text.ptr[i + !is_big]
                                                            << 8;
        bool is_pair = unit >= 0xD800 && unit < 0xDC00 && i + 3 < text.len;
        uint32_t low = is_pair ? (uint8_t)text.ptr[i + 2 + is_big] |
                                     (uint32_t)(uint8_t)text.ptr[i + 2 + !is_big] << 8
                               : 0;
        if (is_pair && low >= 0xDC00 && low < 0xE000) {
            unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            i += 2;
        }
        unit = unit >= 0xD800 && unit < 0xE000 ? 0xFFFD : unit; /* half a character */
        unsigned more = unit < 0x80 ? 0 : unit < 0x800 ? 1 : unit < 0x10000 ? 2 : 3;
        static const uint8_t heads[] = {0, 0xC0, 0xE0, 0xF0};
        if (unit == 0xFEFF)
            continue;
        sma_buf_put_char(buf, (char)(heads[more] | unit >> (6 * more)));
        while (more-- > 0)
            sma_buf_put_char(buf, (char)(0x80 | (unit >> (6 * more) & 0x3F)));
    }
}

enum sma_err sma_env_parse(struct sma_str text, sma_env_fn *each, void *user)
{
    bool is_big = false;
    if (is_utf16(text, &is_big)) {
        struct sma_buf read;
        sma_buf_init(&read, 2 * text.len + 16);
        put_utf8(&read, text, is_big);
        enum sma_err err = read.err;
        if (err == SMA_ERR_OK && read.len > 0)
            err = sma_env_parse(sma_buf_str(&read), each, user); /* is none any more */
        sma_buf_fini(&read);
        return err;
    }
    struct cursor cursor = {text.ptr, text.ptr + text.len};
    if (text.len >= 3 && memcmp(text.ptr, "\xEF\xBB\xBF", 3) == 0)
        cursor.at += 3;
    while (cursor.at < cursor.end) {
        while (cursor.at < cursor.end && isspace((unsigned char)*cursor.at))
            cursor.at++;
        skip_export(&cursor);
        const char *from = cursor.at;
        while (cursor.at < cursor.end && is_name_byte(*cursor.at))
            cursor.at++;
        const char *to = cursor.at;
        if (from == to || !take_separator(&cursor)) {
            skip_line(&cursor);
            continue;
        }
        SMA_AUTO(sma_freep) char *name = dup_range(from, to);
        SMA_AUTO(sma_freep) char *value = take_value(&cursor);
        if (name == NULL || value == NULL)
            return SMA_ERR_NOMEM;
        each(user, name, value);
        skip_line(&cursor);
    }
    return SMA_ERR_OK;
}

/* -- one variable, before there is a configuration --------------------------------------------- */
#define ENV_FILE_BYTES_MAX (1024 * 1024)

struct wanted
{
    const char *name;
    char *value;
    size_t room;
    bool is_found;
};

static void take_wanted(void *user, const char *name, const char *value)
{
    struct wanted *wanted = user;
    if (strcmp(name, wanted->name) == 0) /* a later line overrides an earlier one */
        wanted->is_found = snprintf(wanted->value, wanted->room, "%s", value) < (int)wanted->room &&
                           value[0] != '\0';
}

bool sma_config_find_variable(const char *folder, const char *const *names, char *value,
                              size_t room)
{
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    bool has_file =
        sma_read_beneath(folder, ".env", ENV_FILE_BYTES_MAX, &bytes, &len, NULL) == SMA_ERR_OK;
    for (; *names != NULL; names++) {
        const char *given = getenv(*names);
        struct wanted wanted = {*names, value, room, false};
        if (given != NULL)
            take_wanted(&wanted, *names, given);
        else if (has_file &&
                 sma_env_parse((struct sma_str){bytes, len}, take_wanted, &wanted) != SMA_ERR_OK)
            wanted.is_found = false;
        if (wanted.is_found)
            return true;
    }
    return false;
}
