/* leak.c — see leak.h. */
#include "runtime/web/leak.h"

#include "sma/text.h"

#include <stdlib.h>

#define PIECE_BYTES_MIN 8 /* shorter ones hold no secret of six bytes */

static int hex(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte = (char)(byte | 0x20);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static int base64(char byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return byte - 'A';
    if (byte >= 'a' && byte <= 'z')
        return byte - 'a' + 26;
    if (byte >= '0' && byte <= '9')
        return byte - '0' + 52;
    return byte == '+' || byte == '-' ? 62 : byte == '/' || byte == '_' ? 63 : -1;
}

/* In place: the text becomes no longer. @return its length */
static size_t undo_percent(char *text, size_t len)
{
    size_t done = 0;
    for (size_t i = 0; i < len; i++) {
        bool is_escape =
            text[i] == '%' && i + 2 < len && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0;
        text[done++] = is_escape ? (char)(hex(text[i + 1]) * 16 + hex(text[i + 2])) : text[i];
        i += is_escape ? 2 : 0;
    }
    return done;
}

/* Pairs of digits, in each run of them behind the first `skip`. */
static size_t read_hex(const char *text, size_t len, size_t skip, char *out)
{
    size_t done = 0, left = skip;
    for (size_t i = 0; i + 1 < len;) {
        if (hex(text[i]) < 0)
            left = skip;
        if (left > 0 && hex(text[i]) >= 0) {
            left--;
            i++;
        } else if (hex(text[i]) >= 0 && hex(text[i + 1]) >= 0) {
            out[done++] = (char)(hex(text[i]) * 16 + hex(text[i + 1]));
            i += 2;
        } else {
            out[done++] = '\0'; /* nothing that a secret goes across */
            i++;
        }
    }
    return done;
}

/* Groups of four, in each run of them behind the first `skip`. */
static size_t read_base64(const char *text, size_t len, size_t skip, char *out)
{
    size_t done = 0, left = skip;
    uint32_t bits = 0, count = 0;
    for (size_t i = 0; i < len; i++) {
        int value = base64(text[i]);
        if (value < 0) {
            bits = count = 0;
            left = skip;
            continue;
        }
        if (left > 0) {
            left--;
            continue;
        }
        bits = (bits << 6 | (uint32_t)value) & 0xffffff;
        count += 6;
        if (count < 8)
            continue;
        count -= 8;
        out[done++] = (char)(bits >> count & 0xff);
    }
    return done;
}

/* In all spellings, from each place at which a group may begin. */
static bool is_spelled(const struct sma_secrets *secrets, const char *text, size_t len, char *room)
{
    if (sma_secrets_has(secrets, (struct sma_str){text, len}))
        return true;
    for (size_t skip = 0; skip < 4; skip++) {
        size_t count = read_base64(text, len, skip, room);
        if (sma_secrets_has(secrets, (struct sma_str){room, count}))
            return true;
        count = skip < 2 ? read_hex(text, len, skip, room) : 0;
        if (count > 0 && sma_secrets_has(secrets, (struct sma_str){room, count}))
            return true;
    }
    return false;
}

bool sma_web_leaks(const struct sma_secrets *secrets, struct sma_str text)
{
    if (text.len < PIECE_BYTES_MIN)
        return sma_secrets_has(secrets, text);
    SMA_AUTO(sma_freep) char *copy = malloc(text.len);
    SMA_AUTO(sma_freep) char *room = malloc(text.len);
    if (copy == NULL || room == NULL)
        return true;
    memcpy(copy, text.ptr, text.len);
    size_t len = text.len;
    for (int i = 0; i < 3; i++) {
        if (is_spelled(secrets, copy, len, room))
            return true;
        size_t before = len;
        len = undo_percent(copy, len);
        if (len == before)
            return false;
    }
    return false;
}
