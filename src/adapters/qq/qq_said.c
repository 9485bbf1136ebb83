/* qq_said.c — the words of a message: mentions, faces, entities, cards. See qq_event_priv.h. */
#include "qq_event_priv.h"

#include "runtime/text/attach.h"

#include <openssl/evp.h>

#define MENTION_COUNT_MAX 64
#define FACE_EXT_BYTES_MAX 1024 /* of base64; what a face says of itself is some dozens */
#define CARD_WORDS_BYTES_MAX 512
#define FACE_BYTES_MAX (FACE_EXT_BYTES_MAX + 128)
#define CARD_MEMBER_COUNT_MAX 4

/* -- mentions ---------------------------------------------------------------------------------- */
bool qq_is_us(const struct qq_reading *in, const json_t *mention)
{
    if (json_is_true(json_object_get(mention, "is_you"))) /* so does a mention of everybody */
        return !sma_str_is_equal(sma_json_str(mention, "scope"), SMA_STR("all"));
    /* Before our own id is known (a webhook may come first), a bot that is mentioned to us is
     * us. */
    if (in->options->bot_id.len == 0)
        return json_is_true(json_object_get(mention, "bot")) &&
               json_object_get(mention, "is_you") == NULL;
    return sma_str_is_equal(sma_json_str(mention, "id"), in->options->bot_id);
}

static const json_t *our_mention(const struct qq_reading *in)
{
    const json_t *mentions = sma_json_get(in->data, "mentions");
    for (size_t i = 0; i < json_array_size(mentions) && i < MENTION_COUNT_MAX; i++)
        if (qq_is_us(in, json_array_get(mentions, i)))
            return json_array_get(mentions, i);
    return NULL;
}

bool qq_is_mentioned(const struct qq_reading *in)
{
    return our_mention(in) != NULL;
}

struct sma_str qq_our_name(const struct qq_reading *in)
{
    struct sma_str name = sma_json_str(our_mention(in), "username");
    return name.len > 0 ? name : SMA_STR("bot");
}

static const json_t *find_mention(const struct qq_reading *in, struct sma_str id)
{
    const json_t *mentions = sma_json_get(in->data, "mentions");
    for (size_t i = 0; i < json_array_size(mentions) && i < MENTION_COUNT_MAX; i++) {
        const json_t *mention = json_array_get(mentions, i);
        if (sma_str_is_equal(sma_json_str(mention, "id"), id) ||
            sma_str_is_equal(sma_json_str(mention, "member_openid"), id))
            return mention;
    }
    return NULL;
}

/* `<@id>` or `<@!id>` at text[at]: its length, 0 = none. */
static size_t mention_at(struct sma_str text, size_t at, struct sma_str *ret_id)
{
    if (text.len - at < 4 || text.ptr[at] != '<' || text.ptr[at + 1] != '@')
        return 0;
    size_t start = at + 2 + (text.ptr[at + 2] == '!'), end = start;
    while (end < text.len && end - start <= 64 && text.ptr[end] != '>' && text.ptr[end] != '<' &&
           text.ptr[end] != ' ')
        end++;
    if (end >= text.len || text.ptr[end] != '>' || end == start)
        return 0;
    *ret_id = (struct sma_str){text.ptr + start, end - start};
    return end + 1 - at;
}

static size_t entity_at(struct sma_str text, size_t at, char *ret_byte)
{
    static const struct
    {
        struct sma_str entity;
        char byte;
    } entities[] = {{SMA_STR("&amp;"), '&'}, {SMA_STR("&lt;"), '<'}, {SMA_STR("&gt;"), '>'}};
    struct sma_str rest = {text.ptr + at, text.len - at};
    for (size_t i = 0; i < SMA_COUNT_OF(entities); i++) {
        if (sma_str_starts_with(rest, entities[i].entity)) {
            *ret_byte = entities[i].byte;
            return entities[i].entity.len;
        }
    }
    return 0;
}

static void put_mention(const struct qq_reading *in, struct sma_str id, struct sma_buf *buf)
{
    const json_t *mention = find_mention(in, id);
    bool is_ours = mention != NULL
                       ? qq_is_us(in, mention)
                       : in->options->bot_id.len > 0 && sma_str_is_equal(id, in->options->bot_id);
    if (is_ours)
        return;
    struct sma_str name = sma_json_str(mention, "username");
    sma_buf_put_char(buf, '@');
    sma_attach_put_label(buf, name.len > 0 ? name : id, SMA_NAME_BYTES_MAX);
}

/* -- faces ------------------------------------------------------------------------------------- */
/* What ext says, base64 of {"text":"[思考]"}: `思考` appended. */
static void put_face_words(struct sma_buf *buf, struct sma_str ext)
{
    unsigned char bytes[FACE_EXT_BYTES_MAX];
    json_t *root = NULL;
    int len = ext.len == 0 || ext.len > FACE_EXT_BYTES_MAX || ext.len % 4 != 0
                  ? -1
                  : EVP_DecodeBlock(bytes, (const unsigned char *)ext.ptr, (int)ext.len);
    while (len > 0 && bytes[len - 1] == '\0') /* padding is decoded as zeros */
        len--;
    if (len <= 0 ||
        sma_json_load((struct sma_str){(const char *)bytes, (size_t)len}, &root) != SMA_ERR_OK)
        return;
    struct sma_str words = sma_str_trim(sma_json_str(root, "text"));
    if (words.len >= 2 && words.ptr[0] == '[' && words.ptr[words.len - 1] == ']')
        words = (struct sma_str){words.ptr + 1, words.len - 2};
    if (words.len > 0)
        sma_buf_put_char(buf, ':');
    sma_attach_put_label(buf, words, SMA_NAME_BYTES_MAX);
    json_decref(root);
}

/* `<faceType=4,faceId="",ext="eyJ0ZXh0IjoiW…">` at text[at]: `[表情:…]` appended. @return its
 * length, 0 = none */
static size_t put_face_at(struct sma_str text, size_t at, struct sma_buf *buf)
{
    static const struct sma_str head = SMA_STR("<faceType="), key = SMA_STR(",ext=\"");
    struct sma_str rest = {text.ptr + at, text.len - at};
    if (!sma_str_starts_with(rest, head))
        return 0;
    size_t limit = rest.len < FACE_BYTES_MAX ? rest.len : FACE_BYTES_MAX;
    const char *end = memchr(rest.ptr, '>', limit);
    if (end == NULL)
        return 0;
    struct sma_str face = {rest.ptr, (size_t)(end - rest.ptr)};
    const char *ext = memmem(face.ptr, face.len, key.ptr, key.len);
    const char *last =
        ext == NULL ? NULL : memchr(ext + key.len, '"', (size_t)(end - ext) - key.len);
    sma_buf_put_text(buf, "[表情");
    if (last != NULL)
        put_face_words(buf, (struct sma_str){ext + key.len, (size_t)(last - ext) - key.len});
    sma_buf_put_char(buf, ']');
    return face.len + 1;
}

/* -- the words --------------------------------------------------------------------------------- */
void qq_put_said(const struct qq_reading *in, struct sma_str content, struct sma_buf *buf)
{
    struct sma_str id, place = in->event.ingress.route.chat_type;
    bool has_entities =
        sma_str_is_equal(place, SMA_STR("channel")) || sma_str_is_equal(place, SMA_STR("dm"));
    for (size_t at = 0; at < content.len;) {
        char byte;
        size_t len = content.ptr[at] == '<' ? mention_at(content, at, &id) : 0;
        if (len > 0) {
            put_mention(in, id, buf);
        } else if (content.ptr[at] == '<' && (len = put_face_at(content, at, buf)) > 0) {
            /* it is there */
        } else if (has_entities && (len = entity_at(content, at, &byte)) > 0) {
            sma_buf_put_char(buf, byte);
        } else {
            sma_buf_put_char(buf, content.ptr[at]);
            len = 1;
        }
        at += len;
    }
}

/* -- cards ------------------------------------------------------------------------------------- */
static void put_card_part(struct sma_buf *buf, const json_t *object, const char *key,
                          size_t *part_count)
{
    struct sma_str words = sma_str_trim(sma_json_str(object, key));
    if (words.len == 0)
        return;
    words.len = sma_utf8_cut(words, CARD_WORDS_BYTES_MAX);
    sma_buf_put_text(buf, (*part_count)++ == 0 ? ": " : ", ");
    sma_buf_put_json_string(buf, words);
}

/* A card is written for clients: what people see of it is in prompt, and in title and desc of
 * what meta holds. */
static void put_card_words(struct sma_buf *buf, json_t *card)
{
    static const char *const outer[] = {"prompt", "desc"};
    static const char *const inner[] = {"title", "desc", "tag", "jumpUrl", "qqdocurl", "url"};
    size_t part_count = 0, member_count = 0;
    const char *name;
    json_t *member;
    for (size_t i = 0; i < SMA_COUNT_OF(outer); i++)
        put_card_part(buf, card, outer[i], &part_count);
    json_object_foreach(json_object_get(card, "meta"), name, member)
    {
        if (member_count++ == CARD_MEMBER_COUNT_MAX)
            break;
        for (size_t i = 0; i < SMA_COUNT_OF(inner); i++)
            put_card_part(buf, member, inner[i], &part_count);
    }
}

bool qq_put_card(struct sma_buf *buf, const json_t *ark_data)
{
    json_t *card = NULL;
    if (json_is_string(ark_data) && sma_json_load(sma_json_str_of(ark_data), &card) != SMA_ERR_OK)
        card = NULL;
    if (json_is_object(ark_data))
        card = json_incref((json_t *)(uintptr_t)ark_data);
    if (card == NULL)
        return false;
    sma_buf_put_text(buf, "[card");
    put_card_words(buf, card);
    sma_buf_put_char(buf, ']');
    json_decref(card);
    return true;
}
