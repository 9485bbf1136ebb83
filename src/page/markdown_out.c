/* markdown_out.c — see markdown_out.h. */
#include "page/markdown_out.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 4096
#define OWED_LINE_COUNT_MAX 20 /* empty lines in code; further ones are left out */

bool markdown_out_init(struct markdown_out *out, size_t max)
{
    *out = (struct markdown_out){.max = max, .cap = FIRST_BYTES, .is_at_line = true};
    out->ptr = malloc(out->cap + 1);
    return out->ptr != NULL;
}

/* Text that is valid UTF-8 is cut between two characters. */
static void put_raw(struct markdown_out *out, const char *bytes, size_t len)
{
    if (out->is_cut || out->has_failed || len == 0)
        return;
    if (len > out->max - out->len) {
        len = out->max - out->len;
        while (len > 0 && ((unsigned char)bytes[len] & 0xc0) == 0x80)
            len--;
        out->is_cut = true;
    }
    if (out->len + len > out->cap) {
        size_t cap = out->cap;
        while (cap < out->len + len)
            cap *= 2;
        char *bigger = realloc(out->ptr, cap + 1);
        if (bigger == NULL) {
            out->has_failed = true;
            return;
        }
        out->ptr = bigger;
        out->cap = cap;
    }
    memcpy(out->ptr + out->len, bytes, len);
    out->len += len;
}

static void put_prefix(struct markdown_out *out)
{
    for (unsigned i = 0; i < out->prefix_count; i++)
        put_raw(out, out->prefix[i] == '>' ? "> " : "  ", 2);
}

static void settle(struct markdown_out *out)
{
    if (out->len == 0) {
        out->owed_lines = 0;
        put_prefix(out);
    }
    for (; out->owed_lines > 0; out->owed_lines--) {
        put_raw(out, "\n", 1);
        if (out->owed_lines == 1)
            put_prefix(out);
    }
    if (out->owes_blank && !out->is_at_line)
        put_raw(out, " ", 1);
    out->owes_blank = false;
    out->is_at_line = out->is_after_mark = false;
}

void markdown_out_put(struct markdown_out *out, const char *bytes, size_t len)
{
    if (len == 0)
        return;
    settle(out);
    put_raw(out, bytes, len);
}

void markdown_out_text(struct markdown_out *out, const char *text)
{
    markdown_out_put(out, text, strlen(text));
}

/* -- characters that do not show --------------------------------------------------------------- */
static uint32_t decode(const char *at, size_t left, size_t *ret_len)
{
    const uint8_t *byte = (const uint8_t *)at;
    *ret_len = byte[0] < 0x80 ? 1 : byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;
    if (*ret_len > left) {
        *ret_len = left;
        return 0xfffd;
    }
    switch (*ret_len) {
    case 1:
        return byte[0];
    case 2:
        return (uint32_t)(byte[0] & 0x1f) << 6 | (byte[1] & 0x3f);
    case 3:
        return (uint32_t)(byte[0] & 0x0f) << 12 | (uint32_t)(byte[1] & 0x3f) << 6 |
               (byte[2] & 0x3f);
    default:
        return (uint32_t)(byte[0] & 0x07) << 18 | (uint32_t)(byte[1] & 0x3f) << 12 |
               (uint32_t)(byte[2] & 0x3f) << 6 | (byte[3] & 0x3f);
    }
}

bool markdown_is_hidden(const char *at, size_t left, size_t *ret_len)
{
    static const uint32_t ranges[][2] = {
        {0x00, 0x08},       {0x0b, 0x0c},     {0x0e, 0x1f},       {0x7f, 0x9f},
        {0xad, 0xad},       {0x34f, 0x34f},   {0x61c, 0x61c},     {0x115f, 0x1160},
        {0x17b4, 0x17b5},   {0x180b, 0x180f}, {0x200b, 0x200f},   {0x202a, 0x202e},
        {0x2060, 0x206f},   {0x3164, 0x3164}, {0xfe00, 0xfe0e},   {0xfeff, 0xfeff},
        {0xffa0, 0xffa0},   {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
        {0xe0000, 0xe0fff},
    };
    uint32_t code = decode(at, left, ret_len);
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\f';
}

void markdown_out_flow(struct markdown_out *out, const char *bytes, size_t len)
{
    for (size_t at = 0, count; at < len && !out->is_cut; at += count) {
        bool is_hidden = markdown_is_hidden(bytes + at, len - at, &count);
        bool is_nbsp = count == 2 && memcmp(bytes + at, "\xc2\xa0", 2) == 0;
        if (is_blank(bytes[at]) || is_nbsp)
            out->owes_blank = true;
        else if (!is_hidden)
            markdown_out_put(out, bytes + at, count);
    }
}

void markdown_out_lines(struct markdown_out *out, const char *bytes, size_t len)
{
    for (size_t at = 0, count; at < len && !out->is_cut; at += count) {
        bool is_hidden = markdown_is_hidden(bytes + at, len - at, &count);
        if (bytes[at] == '\n') {
            out->owed_lines += out->owed_lines < OWED_LINE_COUNT_MAX;
            out->is_at_line = true;
        } else if (!is_hidden && bytes[at] != '\r') {
            markdown_out_put(out, bytes + at, count);
        }
    }
}

void markdown_out_break(struct markdown_out *out, unsigned count)
{
    if (out->is_after_mark)
        return;
    if (count > out->owed_lines)
        out->owed_lines = count;
    out->owes_blank = false;
    out->is_at_line = true;
}

void markdown_out_mark(struct markdown_out *out, const char *mark)
{
    markdown_out_text(out, mark);
    out->is_at_line = out->is_after_mark = true;
}

void markdown_out_push(struct markdown_out *out, char prefix)
{
    if (out->prefix_count < MARKDOWN_PREFIX_DEPTH_MAX)
        out->prefix[out->prefix_count++] = prefix;
    else
        out->hidden_prefix_count++;
}

void markdown_out_pop(struct markdown_out *out)
{
    if (out->hidden_prefix_count > 0)
        out->hidden_prefix_count--;
    else if (out->prefix_count > 0)
        out->prefix_count--;
}
