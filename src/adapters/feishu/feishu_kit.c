/*
 * feishu_kit.c — requests to CardKit: a card that is made first, then sent by its id, and changed
 * without being a message of the chat's rate. Source: protocols/feishu.md §9.3.
 */
#include "feishu_out.h"

#include "sma/text.h"

#define CARD_BYTES_MAX (512 * 1024)

void feishu_put_kit_path(struct sma_buf *buf, struct sma_str card_id, bool is_content)
{
    sma_buf_put_text(buf, "/open-apis/cardkit/v1/cards");
    if (card_id.len == 0)
        return;
    sma_buf_put_char(buf, '/');
    sma_buf_put_file_name(buf, card_id); /* percent-encoding; also right for a path segment */
    if (is_content)
        sma_buf_put_text(buf, "/elements/" FEISHU_KIT_ELEMENT "/content");
}

/* {"type":"card_json","data":"<the card as text>" */
static void put_card(struct sma_buf *buf, struct sma_str markdown, bool is_streaming)
{
    struct sma_buf card;
    sma_buf_init(&card, CARD_BYTES_MAX);
    feishu_put_card_json(&card, &(struct feishu_card){.markdown = markdown,
                                                      .mode = is_streaming ? FEISHU_CARD_STREAMING
                                                                           : FEISHU_CARD_STREAMED});
    sma_buf_put_text(buf, "{\"type\":\"card_json\",\"data\":");
    sma_buf_put_json_string(buf, sma_buf_str(&card));
    sma_buf_put_char(buf, '}');
    if (card.err != SMA_ERR_OK)
        buf->err = card.err;
    sma_buf_fini(&card);
}

void feishu_put_kit_create(struct sma_buf *buf, struct sma_str markdown)
{
    put_card(buf, markdown, true);
}

static void put_sequence(struct sma_buf *buf, struct sma_str key, uint32_t sequence)
{
    sma_buf_put_json_key(buf, "sequence");
    sma_buf_put_u64(buf, sequence);
    sma_buf_put_json_key(buf, "uuid");
    sma_buf_printf(buf, "\"%.*s-%u\"", (int)key.len, key.ptr, sequence);
}

void feishu_put_kit_content(struct sma_buf *buf, struct sma_str markdown, struct sma_str key,
                            uint32_t sequence)
{
    sma_buf_put_text(buf, "{\"content\":");
    sma_buf_put_json_string(buf, markdown);
    put_sequence(buf, key, sequence);
    sma_buf_put_char(buf, '}');
}

void feishu_put_kit_card(struct sma_buf *buf, struct sma_str markdown, struct sma_str key,
                         uint32_t sequence)
{
    sma_buf_put_text(buf, "{\"card\":");
    put_card(buf, markdown, false);
    put_sequence(buf, key, sequence);
    sma_buf_put_char(buf, '}');
}
