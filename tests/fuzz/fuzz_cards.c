/*
 * Cards and reactions on their way out of the three platforms. The first byte chooses how many
 * buttons there are and how many stand in a row; the rest is a card as JSON, or else the words of
 * one. Promises under test, besides not crashing: one part, whatever is asked; bodies are JSON
 * within the platform's limits.
 */
#include "fuzz.h"

#include "adapters/feishu/feishu_out.h"
#include "adapters/qq/qq_out.h"
#include "adapters/telegram/telegram_out.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdlib.h>

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void keep(void *user, struct sma_str bytes)
{
    struct sma_buf *kept = user;
    require(kept->len == 0);
    sma_buf_put_str(kept, bytes);
}

/* The body as JSON, which it must be; decref. */
static json_t *load(struct sma_buf *body)
{
    require(body->err == SMA_ERR_OK);
    json_t *tree = json_loadb(body->ptr, body->len, JSON_ALLOW_NUL, NULL);
    require(tree != NULL);
    sma_buf_fini(body);
    sma_buf_init(body, 1 << 22);
    return tree;
}

static struct sma_str str_of(const json_t *value)
{
    return (struct sma_str){json_string_value(value), json_string_length(value)};
}

/* -- the platforms ----------------------------------------------------------------------------- */
static void check_telegram(const struct sma_deliver *row, struct sma_buf *kept)
{
    struct telegram_part part;
    struct telegram_card card;
    struct sma_buf body;
    require(telegram_part_decode(sma_buf_str(kept), &part) == SMA_ERR_OK);
    if (part.kind != TELEGRAM_PART_CARD || telegram_card_open(&part, &card) != SMA_ERR_OK)
        return;
    require(card.html.len <= 32768);
    require(sma_utf16_length(sma_buf_str(&card.plain)) <= 4096);
    struct telegram_part text = {.kind = TELEGRAM_PART_TEXT,
                                 .html = sma_buf_str(&card.html),
                                 .plain = sma_buf_str(&card.plain)};
    struct telegram_send send = {.route = &row->route, .part = &text, .card = &card.card};
    sma_buf_init(&body, 1 << 22);
    telegram_put_send_message(&body, &send);
    json_t *tree = load(&body);
    const json_t *rows = json_object_get(json_object_get(tree, "reply_markup"), "inline_keyboard");
    for (size_t i = 0; i < json_array_size(rows); i++)
        for (size_t j = 0; j < json_array_size(json_array_get(rows, i)); j++) {
            const json_t *button = json_array_get(json_array_get(rows, i), j);
            size_t len = json_string_length(json_object_get(button, "callback_data"));
            require(len > 0 && len <= TELEGRAM_BUTTON_DATA_BYTES_MAX);
            require(json_string_length(json_object_get(button, "text")) > 0);
        }
    json_decref(tree);
    telegram_put_edit_message(&body, &send, card.card.message_id);
    json_decref(load(&body));
    telegram_card_without_buttons(&card);
    require(sma_utf16_length(sma_buf_str(&card.plain)) <= 4096);
    sma_buf_fini(&body);
    telegram_card_fini(&card);
}

static void check_feishu(struct sma_buf *kept)
{
    struct feishu_part part;
    struct feishu_consent consent;
    struct feishu_target target = {.chat_id = SMA_STR("oc_1")};
    struct sma_buf body;
    require(feishu_part_decode(sma_buf_str(kept), &part) == SMA_ERR_OK);
    if (part.kind != FEISHU_PART_CONSENT || feishu_consent_open(&part, &consent) != SMA_ERR_OK)
        return;
    struct feishu_card card = feishu_consent_card(&consent);
    sma_buf_init(&body, 1 << 22);
    feishu_put_card_message(&body, &target, &card, SMA_STR("sma-1-0"));
    require(body.len <= FEISHU_CARD_BODY_BYTES_MAX);
    json_t *tree = load(&body);
    json_t *content =
        json_loadb(str_of(json_object_get(tree, "content")).ptr,
                   str_of(json_object_get(tree, "content")).len, JSON_ALLOW_NUL, NULL);
    require(content != NULL);
    json_decref(content);
    json_decref(tree);
    feishu_put_card_patch(&body, &card);
    json_decref(load(&body));
    feishu_put_text(&body, &target, sma_buf_str(&consent.plain), SMA_STR("sma-1-0"));
    require(body.len <= 3 * FEISHU_TEXT_BODY_BYTES_MAX);
    json_decref(load(&body));
    sma_buf_fini(&body);
    feishu_consent_fini(&consent);
}

static size_t count_characters(struct sma_str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return count;
}

static void check_qq(const struct sma_deliver *row, struct sma_buf *kept)
{
    struct qq_part part;
    struct qq_card card;
    struct qq_button buttons[SMA_CARD_BUTTON_COUNT_MAX];
    struct sma_buf body;
    require(qq_part_decode(sma_buf_str(kept), &part) == SMA_ERR_OK);
    if (part.kind != QQ_PART_CARD || qq_card_open(&part, &card) != SMA_ERR_OK)
        return;
    require(sma_utf16_length(sma_buf_str(&card.plain)) <= QQ_PART_UNITS_LARGE + 16);
    struct qq_part text = {.kind = QQ_PART_TEXT,
                           .markdown = sma_buf_str(&card.markdown),
                           .plain = sma_buf_str(&card.plain)};
    struct qq_send send = {.route = &row->route,
                           .part = &text,
                           .is_markdown = true,
                           .buttons = buttons,
                           .button_count = qq_card_put_buttons(&card, buttons)};
    sma_buf_init(&body, 1 << 22);
    qq_put_message(&body, &send);
    json_t *tree = load(&body);
    const json_t *keyboard = json_object_get(json_object_get(tree, "keyboard"), "content");
    const json_t *rows = json_object_get(keyboard, "rows");
    require(json_array_size(rows) <= 5);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *in_row = json_object_get(json_array_get(rows, i), "buttons");
        require(json_array_size(in_row) >= 1 && json_array_size(in_row) <= 5);
        for (size_t j = 0; j < json_array_size(in_row); j++) {
            const json_t *render = json_object_get(json_array_get(in_row, j), "render_data");
            require(count_characters(str_of(json_object_get(render, "label"))) <=
                    QQ_BUTTON_LABEL_CHARS_MAX);
        }
    }
    json_decref(tree);
    sma_buf_fini(&body);
    qq_card_fini(&card);
}

/* -- the input --------------------------------------------------------------------------------- */
/* A card of these words, cut into labels too. */
static void put_card(struct sma_buf *json, uint8_t shape, struct sma_str words)
{
    uint32_t per_row = 1 + (shape >> 5);
    struct sma_card card = {.id = SMA_STR("00112233445566778899aabbccddeeff"),
                            .title = {words.ptr, words.len < 40 ? words.len : 40},
                            .text = words,
                            .plain = words,
                            .message_id = SMA_STR("7"),
                            .button_count = (shape & 31) % (SMA_CARD_BUTTON_COUNT_MAX + 1)};
    card.is_outcome = card.button_count == 0;
    for (uint32_t i = 0; i < card.button_count; i++) {
        size_t from = words.len == 0 ? 0 : i * 7 % words.len;
        size_t len = words.len - from < 16 ? words.len - from : 16;
        card.buttons[i] = (struct sma_card_button){.text = {words.ptr + from, len},
                                                   .data = SMA_STR("sa1:x"),
                                                   .is_approval = i % 2 == 0,
                                                   .row = i / per_row};
    }
    sma_card_put(json, &card);
}

static void check_all(uint8_t intent, struct sma_str text)
{
    struct sma_deliver row = {.intent = intent,
                              .text = text,
                              .route = {.chat_id = SMA_STR("-1"),
                                        .chat_type = SMA_STR("group"),
                                        .message_id = SMA_STR("5")}};
    struct sma_card card;
    bool is_whole = text.len > 0 &&
                    (intent == SMA_INTENT_REACTION || sma_card_parse(text, &card) == SMA_ERR_OK);
    if (is_whole && intent != SMA_INTENT_REACTION)
        sma_card_fini(&card);
    if (!is_whole)
        return; /* text, which the other targets look at */
    struct sma_buf kept;
    sma_buf_init(&kept, 1 << 22);
    require(telegram_render(&row, keep, &kept) == SMA_ERR_OK && kept.len > 0);
    check_telegram(&row, &kept);
    sma_buf_clear(&kept);
    require(feishu_render(&row, keep, &kept) == SMA_ERR_OK && kept.len > 0);
    check_feishu(&kept);
    sma_buf_clear(&kept);
    require(qq_render(&row, keep, &kept) == SMA_ERR_OK && kept.len > 0);
    check_qq(&row, &kept);
    sma_buf_fini(&kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    struct sma_str rest = {(const char *)bytes + 1, len - 1};
    struct sma_buf json;
    check_all(SMA_INTENT_APPROVAL_REQUEST, rest);
    sma_buf_init(&json, 1 << 22);
    put_card(&json, bytes[0], rest);
    if (json.err == SMA_ERR_OK)
        check_all(SMA_INTENT_APPROVAL_OUTCOME, sma_buf_str(&json));
    sma_buf_fini(&json);
    check_all(SMA_INTENT_REACTION, rest);
    (void)telegram_reaction_find(rest);
    (void)feishu_reaction_find(rest);
    return 0;
}
