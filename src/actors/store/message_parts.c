/* message_parts.c — see message_parts.h. An entry: kind byte; path, name and type, each 4-byte
 * length and bytes. */
#include "message_parts.h"

static void put_text(struct sma_buf *buf, struct sma_str text)
{
    uint32_t len = (uint32_t)text.len;
    sma_buf_put(buf, &len, sizeof len);
    sma_buf_put_str(buf, text);
}

void sma_store_message_parts_put(struct sma_buf *buf, const struct sma_part *parts, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < SMA_ATTACHMENT_COUNT_MAX; i++) {
        sma_buf_put_char(buf, (char)parts[i].kind);
        put_text(buf, parts[i].path);
        put_text(buf, parts[i].name);
        put_text(buf, parts[i].mime);
    }
}

static SMA_CHECKED enum sma_err take_text(struct sma_str *rest, struct sma_str *ret_text)
{
    uint32_t len;
    if (rest->len < sizeof len)
        return SMA_ERR_CORRUPT;
    memcpy(&len, rest->ptr, sizeof len);
    *rest = (struct sma_str){rest->ptr + sizeof len, rest->len - sizeof len};
    if (rest->len < len)
        return SMA_ERR_CORRUPT;
    *ret_text = (struct sma_str){rest->ptr, len};
    *rest = (struct sma_str){rest->ptr + len, rest->len - len};
    return SMA_ERR_OK;
}

enum sma_err sma_store_message_parts_get(struct sma_str bytes, struct sma_part *parts,
                                         uint32_t *ret_count)
{
    uint32_t count = 0;
    while (bytes.len > 0 && count < SMA_ATTACHMENT_COUNT_MAX) {
        struct sma_part part = {.kind = (uint8_t)bytes.ptr[0]};
        bytes = (struct sma_str){bytes.ptr + 1, bytes.len - 1};
        SMA_TRY(take_text(&bytes, &part.path));
        SMA_TRY(take_text(&bytes, &part.name));
        SMA_TRY(take_text(&bytes, &part.mime));
        parts[count++] = part;
    }
    *ret_count = count;
    return SMA_ERR_OK;
}
