/* part.c — see part.h. */
#include "part.h"

#include "runtime/approval/card.h"

#define FILE_HEAD_BYTES 6
#define LENGTH_BYTES 4

static const char *const file_kinds[] = {"photo", "document", "voice", "audio"};

static void put_length(struct sma_buf *buf, size_t at, size_t len)
{
    for (unsigned i = 0; i < LENGTH_BYTES; i++)
        buf->ptr[at + i] = (char)(uint8_t)(len >> (8 * i));
}

static size_t get_length(struct sma_str bytes, size_t at)
{
    size_t len = 0;
    for (unsigned i = 0; i < LENGTH_BYTES; i++)
        len |= (size_t)(uint8_t)bytes.ptr[at + i] << (8 * i);
    return len;
}

static bool is_card(struct sma_str text, enum sma_err *ret_err)
{
    struct sma_card card;
    *ret_err = sma_card_parse(text, &card);
    if (*ret_err == SMA_ERR_OK)
        sma_card_fini(&card);
    return *ret_err != SMA_ERR_BADINPUT;
}

bool sma_part_render_whole(const struct sma_deliver *row, sma_part_fn *each, void *user,
                           enum sma_err *ret_err)
{
    bool is_reaction = row->intent == SMA_INTENT_REACTION;
    bool may_be_card =
        row->intent == SMA_INTENT_APPROVAL_REQUEST || row->intent == SMA_INTENT_APPROVAL_OUTCOME;
    struct sma_buf bytes;
    *ret_err = SMA_ERR_OK;
    if (!is_reaction && !(may_be_card && is_card(row->text, ret_err)))
        return false;
    sma_buf_init(&bytes, row->text.len + 2);
    sma_buf_put_char(&bytes, is_reaction ? SMA_RENDERED_REACTION : SMA_RENDERED_CARD);
    sma_buf_put_str(&bytes, row->text);
    if (*ret_err == SMA_ERR_OK)
        *ret_err = bytes.err;
    if (*ret_err == SMA_ERR_OK)
        each(user, sma_buf_str(&bytes));
    sma_buf_fini(&bytes);
    return true;
}

void sma_part_begin_text(struct sma_buf *bytes)
{
    sma_buf_clear(bytes);
    sma_buf_put(bytes, "T\0\0\0\0", SMA_RENDERED_TEXT_HEAD_BYTES);
}

void sma_part_end_marked(struct sma_buf *bytes)
{
    if (bytes->err == SMA_ERR_OK)
        put_length(bytes, 1, bytes->len - SMA_RENDERED_TEXT_HEAD_BYTES);
}

static char kind_byte(const char *kind)
{
    size_t i = 0;
    while (i < SMA_COUNT_OF(file_kinds) && strcmp(kind, file_kinds[i]) != 0)
        i++;
    SMA_ASSERT(i < SMA_COUNT_OF(file_kinds)); /* the kinds of attach.h are ours */
    return (char)i;
}

void sma_part_begin_file(struct sma_buf *bytes, const char *kind, struct sma_str target)
{
    sma_buf_clear(bytes);
    sma_buf_put_char(bytes, SMA_RENDERED_FILE);
    sma_buf_put_char(bytes, kind_byte(kind));
    sma_buf_put(bytes, "\0\0\0\0", LENGTH_BYTES);
    if (bytes->err == SMA_ERR_OK)
        put_length(bytes, FILE_HEAD_BYTES - LENGTH_BYTES, target.len);
    sma_buf_put_str(bytes, target);
}

bool sma_part_is_file(struct sma_str bytes)
{
    return bytes.len > 0 && bytes.ptr[0] == SMA_RENDERED_FILE;
}

static struct sma_str slice(struct sma_str text, size_t from, size_t to)
{
    return (struct sma_str){text.ptr + from, to - from};
}

enum sma_err sma_part_decode(struct sma_str bytes, struct sma_rendered_part *ret_part)
{
    struct sma_rendered_part part = {.mark = bytes.len > 0 ? bytes.ptr[0] : '\0'};
    if (bytes.len > 1 && (part.mark == SMA_RENDERED_CARD || part.mark == SMA_RENDERED_REACTION ||
                          part.mark == SMA_RENDERED_OWN_CARD)) {
        part.first = slice(bytes, 1, bytes.len);
        *ret_part = part;
        return SMA_ERR_OK;
    }
    bool is_text = part.mark == SMA_RENDERED_TEXT, is_file = part.mark == SMA_RENDERED_FILE;
    size_t head = is_text ? SMA_RENDERED_TEXT_HEAD_BYTES : FILE_HEAD_BYTES;
    if ((!is_text && !is_file) || bytes.len < head)
        return SMA_ERR_BADINPUT;
    size_t len = get_length(bytes, head - LENGTH_BYTES);
    if (len > bytes.len - head)
        return SMA_ERR_BADINPUT;
    part.first = slice(bytes, head, head + len);
    part.second = slice(bytes, head + len, bytes.len);
    if (is_file) {
        uint8_t kind = (uint8_t)bytes.ptr[1];
        if (kind >= SMA_COUNT_OF(file_kinds) || len == 0)
            return SMA_ERR_BADINPUT;
        part.file_kind = file_kinds[kind];
    }
    *ret_part = part;
    return SMA_ERR_OK;
}
