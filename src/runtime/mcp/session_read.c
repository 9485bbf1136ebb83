/* session_read.c — a message as a tree, also where its numbers are too large or it is too deep. */
#include "session_priv.h"

#include "runtime/json/json_read.h"
#include "sma/limits.h"

#include <stdlib.h>

#define DIGITS_SAFE 18 /* an integer of so many fits */

static bool is_of_number(char byte)
{
    return (byte >= '0' && byte <= '9') || strchr("+-.eE", byte) != NULL;
}

/* A number as it stood, or the nearest that can be read. */
static void put_number(struct sma_buf *buf, struct sma_str number)
{
    char text[64];
    bool is_plain = memchr(number.ptr, '.', number.len) == NULL &&
                    memchr(number.ptr, 'e', number.len) == NULL &&
                    memchr(number.ptr, 'E', number.len) == NULL;
    if (is_plain && number.len <= DIGITS_SAFE) {
        sma_buf_put_str(buf, number);
        return;
    }
    bool is_below = number.len > 0 && number.ptr[0] == '-';
    if (number.len >= sizeof text) { /* of hundreds of digits */
        sma_buf_put_text(buf, is_below ? "-1e308" : "1e308");
        return;
    }
    memcpy(text, number.ptr, number.len);
    text[number.len] = '\0';
    char *end;
    double value = strtod(text, &end);
    bool is_huge = *end == '\0' && (value > 1e308 || value < -1e308);
    if (is_huge)
        sma_buf_put_text(buf, is_below ? "-1e308" : "1e308");
    else
        sma_buf_put_str(buf, number);
    if (!is_huge && is_plain && *end == '\0' && (value >= 9.2e18 || value <= -9.2e18))
        sma_buf_put_text(buf, "e0"); /* a real number then */
}

/* @return was it too deep? */
static bool put_readable(struct sma_buf *buf, struct sma_str text)
{
    bool is_string = false, is_cut = false;
    size_t depth = 0;
    for (size_t i = 0; i < text.len;) {
        size_t from = i;
        char byte = text.ptr[i++];
        if (byte == '"')
            is_string = !is_string;
        if (is_string && byte == '\\' && i < text.len)
            i++;
        bool is_number = !is_string && (byte == '-' || (byte >= '0' && byte <= '9'));
        while (is_number && i < text.len && is_of_number(text.ptr[i]))
            i++;
        struct sma_str piece = {text.ptr + from, i - from};
        bool is_end = !is_string && depth > 0 && (byte == '}' || byte == ']');
        depth += !is_string && (byte == '{' || byte == '[');
        bool is_below = depth > SMA_JSON_DEPTH_MAX;
        bool is_edge = is_below && !is_end && depth == SMA_JSON_DEPTH_MAX + 1 && !is_string &&
                       (byte == '{' || byte == '[');
        depth -= is_end;
        is_cut |= is_below;
        if (is_edge)
            sma_buf_put_text(buf, "null");
        if (is_below)
            continue;
        if (is_number)
            put_number(buf, piece);
        else
            sma_buf_put_str(buf, piece);
    }
    return is_cut;
}

enum sma_err session_read(struct sma_str message, json_t **ret_root, bool *ret_is_cut)
{
    struct sma_buf readable;
    enum sma_err err = sma_json_load_tolerant(message, false, ret_root);
    *ret_is_cut = false;
    if (err != SMA_ERR_BADINPUT)
        return err;
    sma_buf_init(&readable, 2 * message.len + 16); /* "e0" behind nineteen digits */
    *ret_is_cut = put_readable(&readable, message);
    err = readable.err != SMA_ERR_OK ? readable.err
          : readable.len == message.len && memcmp(readable.ptr, message.ptr, message.len) == 0
              ? SMA_ERR_BADINPUT
              : sma_json_load_tolerant(sma_buf_str(&readable), false, ret_root);
    sma_buf_fini(&readable);
    return err;
}
