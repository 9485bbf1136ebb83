/* card.c — button data, and the card as JSON. What stands in it is made in card_text.c. See
 * card.h. */
#include "runtime/approval/card.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#define PREFIX "sa1:"
#define PREFIX_LEN (sizeof PREFIX - 1)
#define ID_LEN 22u
#define SIGNATURE_BYTES 12u
#define SIGNATURE_LEN 16u

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* -- button data ------------------------------------------------------------------------------- */
/* base64url without padding. @return where it ended */
static char *encode(char *to, const uint8_t *bytes, size_t len)
{
    uint32_t held = 0;
    unsigned bits = 0;
    for (size_t i = 0; i < len; i++) {
        held = held << 8 | bytes[i];
        for (bits += 8; bits >= 6; bits -= 6)
            *to++ = alphabet[held >> (bits - 6) & 63];
    }
    if (bits > 0)
        *to++ = alphabet[held << (6 - bits) & 63];
    return to;
}

static bool decode(struct sma_str text, uint8_t *bytes, size_t len)
{
    uint32_t held = 0;
    unsigned bits = 0;
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char *at = text.ptr[i] == '\0' ? NULL : strchr(alphabet, text.ptr[i]);
        if (at == NULL)
            return false;
        held = held << 6 | (uint32_t)(at - alphabet);
        bits += 6;
        if (bits < 8)
            continue;
        bits -= 8;
        if (count == len)
            return false;
        bytes[count++] = (uint8_t)(held >> bits);
    }
    return count == len && (held & ((1u << bits) - 1)) == 0;
}

static bool is_action(char action)
{
    return action == SMA_CARD_APPROVE || action == SMA_CARD_REFUSE ||
           action == SMA_CARD_TEN_MINUTES || action == SMA_CARD_ALWAYS ||
           action == SMA_CARD_PROGRAM;
}

/* Of what stands before it. */
static bool put_signature(const uint8_t key[SMA_CARD_KEY_BYTES], struct sma_str signed_text,
                          char ret_signature[SIGNATURE_LEN])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (HMAC(EVP_sha256(), key, SMA_CARD_KEY_BYTES, (const unsigned char *)signed_text.ptr,
             signed_text.len, digest, &len) == NULL ||
        len < SIGNATURE_BYTES)
        return false;
    (void)encode(ret_signature, digest, SIGNATURE_BYTES);
    return true;
}

void sma_card_sign(const uint8_t key[SMA_CARD_KEY_BYTES], const struct sma_card_press *press,
                   char data[SMA_CARD_DATA_BYTES_MAX + 1])
{
    SMA_ASSERT(press->item <= SMA_TOOL_CALL_COUNT_MAX);
    SMA_ASSERT(is_action((char)press->action));
    memcpy(data, PREFIX, PREFIX_LEN);
    char *at = encode(data + PREFIX_LEN, press->id, sizeof press->id);
    *at++ = ':';
    if (press->item == 0)
        *at++ = '*';
    if (press->item >= 10)
        *at++ = (char)('0' + press->item / 10);
    if (press->item > 0)
        *at++ = (char)('0' + press->item % 10);
    *at++ = ':';
    *at++ = (char)press->action;
    *at++ = ':';
    /* without a signature nobody can press it, which is the safe way to fail */
    if (put_signature(key, (struct sma_str){data, (size_t)(at - data)}, at))
        at += SIGNATURE_LEN;
    *at = '\0';
}

bool sma_card_is_ours(struct sma_str data)
{
    return sma_str_starts_with(data, SMA_STR(PREFIX));
}

static bool read_item_number(struct sma_str text, uint32_t *ret_item)
{
    int64_t number = 0;
    if (sma_str_is_equal(text, SMA_STR("*"))) {
        *ret_item = 0;
        return true;
    }
    if (text.len == 0 || text.len > 2 || text.ptr[0] < '1' || text.ptr[0] > '9' ||
        sma_parse_i64(text, 1, SMA_TOOL_CALL_COUNT_MAX, &number) != SMA_ERR_OK)
        return false;
    *ret_item = (uint32_t)number;
    return true;
}

enum sma_err sma_card_verify(const uint8_t key[SMA_CARD_KEY_BYTES], struct sma_str data,
                             struct sma_card_press *ret_press)
{
    /* sa1:<22>:<1..2>:<1>:<16> */
    size_t least = PREFIX_LEN + ID_LEN + 1 + 1 + 1 + 1 + 1 + SIGNATURE_LEN;
    if (!sma_card_is_ours(data) || data.len < least || data.len > least + 1)
        return SMA_ERR_BADINPUT;
    size_t item_from = PREFIX_LEN + ID_LEN + 1, sign_from = data.len - SIGNATURE_LEN;
    struct sma_card_press press = {0};
    char action = data.ptr[sign_from - 2];
    char signature[SIGNATURE_LEN];
    if (data.ptr[item_from - 1] != ':' || data.ptr[sign_from - 1] != ':' ||
        data.ptr[sign_from - 3] != ':' || !is_action(action) ||
        !decode((struct sma_str){data.ptr + PREFIX_LEN, ID_LEN}, press.id, sizeof press.id) ||
        !read_item_number((struct sma_str){data.ptr + item_from, sign_from - 3 - item_from},
                          &press.item) ||
        !put_signature(key, (struct sma_str){data.ptr, sign_from}, signature) ||
        CRYPTO_memcmp(signature, data.ptr + sign_from, SIGNATURE_LEN) != 0)
        return SMA_ERR_BADINPUT;
    press.action = (enum sma_card_action)action;
    *ret_press = press;
    return SMA_ERR_OK;
}

/* -- JSON -------------------------------------------------------------------------------------- */
static void put_bool(struct sma_buf *buf, const char *key, bool value)
{
    sma_buf_put_json_key(buf, key);
    sma_buf_put_text(buf, value ? "true" : "false");
}

void sma_card_put(struct sma_buf *buf, const struct sma_card *card)
{
    SMA_ASSERT(card->button_count <= SMA_CARD_BUTTON_COUNT_MAX);
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_member(buf, "id", card->id);
    sma_buf_put_json_member(buf, "title", card->title);
    sma_buf_put_json_member(buf, "text", card->text);
    sma_buf_put_json_member(buf, "plain", card->plain);
    sma_buf_put_json_member(buf, "messageId", card->message_id);
    put_bool(buf, "isOutcome", card->is_outcome);
    sma_buf_put_json_key(buf, "buttons");
    sma_buf_put_char(buf, '[');
    for (uint32_t i = 0; i < card->button_count; i++) {
        const struct sma_card_button *button = &card->buttons[i];
        sma_buf_put_text(buf, i == 0 ? "{" : ",{");
        sma_buf_put_json_member(buf, "text", button->text);
        sma_buf_put_json_member(buf, "data", button->data);
        put_bool(buf, "isApproval", button->is_approval);
        sma_buf_put_json_key(buf, "row");
        sma_buf_put_u64(buf, button->row);
        sma_buf_put_char(buf, '}');
    }
    sma_buf_put_text(buf, "]}");
}

static bool read_text(const json_t *object, const char *key, struct sma_str *ret_text)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return false;
    *ret_text = sma_json_str_of(value);
    return true;
}

static bool read_button(const json_t *object, struct sma_card_button *button)
{
    const json_t *approval = json_object_get(object, "isApproval");
    const json_t *row = json_object_get(object, "row");
    if (!read_text(object, "text", &button->text) || !read_text(object, "data", &button->data) ||
        button->text.len == 0 || button->data.len == 0 ||
        button->data.len > SMA_CARD_DATA_BYTES_MAX || !json_is_boolean(approval) ||
        !json_is_integer(row) || json_integer_value(row) < 0 ||
        json_integer_value(row) >= SMA_CARD_BUTTON_COUNT_MAX)
        return false;
    button->is_approval = json_is_true(approval);
    button->row = (uint32_t)json_integer_value(row);
    return true;
}

static bool read_card(const json_t *root, struct sma_card *card)
{
    const json_t *outcome = json_object_get(root, "isOutcome");
    const json_t *buttons = json_object_get(root, "buttons");
    if (!read_text(root, "id", &card->id) || card->id.len != 32 ||
        !read_text(root, "title", &card->title) || !read_text(root, "text", &card->text) ||
        !read_text(root, "plain", &card->plain) ||
        !read_text(root, "messageId", &card->message_id) ||
        card->message_id.len > SMA_ID_BYTES_MAX || !json_is_boolean(outcome) ||
        !json_is_array(buttons) || json_array_size(buttons) > SMA_CARD_BUTTON_COUNT_MAX)
        return false;
    card->is_outcome = json_is_true(outcome);
    for (size_t i = 0; i < json_array_size(buttons); i++) {
        if (!read_button(json_array_get(buttons, i), &card->buttons[i]))
            return false;
        card->button_count++;
    }
    return !card->is_outcome || card->button_count == 0;
}

enum sma_err sma_card_parse(struct sma_str json, struct sma_card *ret_card)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    enum sma_err err = sma_json_load(json, &root);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOMEM ? err : SMA_ERR_BADINPUT;
    struct sma_card card = {0};
    if (!read_card(root, &card))
        return SMA_ERR_BADINPUT;
    card.root = SMA_TAKE(root);
    *ret_card = card;
    return SMA_ERR_OK;
}

void sma_card_fini(struct sma_card *card)
{
    json_decref(card->root);
    *card = (struct sma_card){0};
}
