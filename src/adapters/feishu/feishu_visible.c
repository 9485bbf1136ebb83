/* feishu_visible.c — cards, and messages of types without a rule of their own: all that people see
 * of them reaches the model or is named as left out. See feishu_event.h. */
#include "feishu_event_priv.h"
#include "feishu_out.h"

#include "adapters/common/visible.h"
#include "runtime/text/attach.h"
#include "sma/text.h"

#define VALUE_BYTES_MAX 2048
#define LEFT_OUT "[a card whose content the platform does not give out]"

static bool is_one_of(struct sma_str word, const char *const *words)
{
    for (; *words != NULL; words++)
        if (sma_str_is_equal(word, sma_str(*words)))
            return true;
    return false;
}

/* -- types without a rule ---------------------------------------------------------------------- */
struct listing
{
    struct feishu_reading *reading;
    bool is_first;
};

static void put_value(void *user, const char *key, const json_t *parent, struct sma_str text)
{
    static const char *const plain[] = {"text",    "title", "topic",     "summary",
                                        "content", "name",  "un_escape", NULL};
    static const char *const marks[] = {"tag", "type", "un_escape", NULL};
    struct listing *listing = user;
    struct sma_buf *body = &listing->reading->body;
    (void)parent;
    if (sma_str_trim(text).len == 0 || is_one_of(sma_str(key), marks))
        return;
    sma_buf_put_text(body, listing->is_first ? ": " : "; ");
    if (!is_one_of(sma_str(key), plain))
        sma_buf_printf(body, "%s: ", key);
    sma_attach_put_label(body, text, VALUE_BYTES_MAX);
    listing->is_first = false;
}

static void put_type(struct sma_buf *buf, struct sma_str type)
{
    size_t len = type.len < 63 ? type.len : 63;
    for (size_t i = 0; i < len; i++) {
        char byte = type.ptr[i];
        sma_buf_put_char(buf, (byte >= 'a' && byte <= 'z') || byte == '_' ? byte : ' ');
    }
}

void feishu_put_unread(struct feishu_reading *reading, struct sma_str type, struct sma_str words)
{
    sma_buf_put_text(&reading->body, "[a message of type ");
    put_type(&reading->body, type.len > 0 ? type : SMA_STR("unknown"));
    sma_buf_put_text(&reading->body, " that could not be read");
    if (words.len > 0 && strchr("{[", words.ptr[0]) == NULL) {
        sma_buf_put_text(&reading->body, ": ");
        sma_attach_put_label(&reading->body, words, VALUE_BYTES_MAX);
    }
    sma_buf_put_char(&reading->body, ']');
}

bool feishu_put_other(struct feishu_reading *reading, struct sma_str type)
{
    struct listing listing = {reading, true};
    size_t start = reading->body.len;
    sma_buf_put_char(&reading->body, '[');
    put_type(&reading->body, type);
    if (!sma_visible_walk(reading->content, put_value, &listing))
        sma_buf_put_text(&reading->body, "; more is left out");
    sma_buf_put_char(&reading->body, ']');
    if (listing.is_first) {
        reading->body.len = start;
        feishu_put_unread(reading, type, SMA_STR(""));
    }
    return !listing.is_first;
}

/* -- cards ------------------------------------------------------------------------------------- */
/* Client software that cannot show a card is given these words in its place (as seen). */
static void find_stub(void *user, const char *key, const json_t *parent, struct sma_str text)
{
    static const char *const stubs[] = {"请升级至最新版本客户端", "upgrade to the latest version",
                                        "upgrade your client"};
    (void)key;
    (void)parent;
    for (size_t i = 0; i < SMA_COUNT_OF(stubs); i++)
        if (text.len > 0 && strcasestr(text.ptr, stubs[i]) != NULL)
            *(bool *)user = true;
}

struct lines
{
    struct feishu_reading *reading; /* whose mentions are resolved; NULL: of a card of ours */
    struct sma_buf *body;
};

static void put_line(void *user, const char *key, const json_t *parent, struct sma_str text)
{
    static const char *const shown[] = {
        "img",   "img_combination", "chart",       "audio",  "video",
        "media", "person",          "person_list", "avatar", NULL};
    static const char *const marks[] = {"tag", "type", "data_type", "name", "element", NULL};
    const struct lines *lines = user;
    struct sma_buf *body = lines->body;
    bool is_link = strcmp(key, "url") == 0 || strcmp(key, "href") == 0;
    bool is_named = strcmp(key, "tag") == 0 && is_one_of(text, shown);
    (void)parent;
    if (!is_named && (sma_str_trim(text).len == 0 || is_one_of(sma_str(key), marks)))
        return;
    if (body->len > 0 && body->ptr[body->len - 1] != '\n')
        sma_buf_put_char(body, is_link ? ' ' : '\n');
    if (is_named || is_link) {
        sma_buf_put_char(body, is_link ? '(' : '[');
        sma_attach_put_label(body, text, VALUE_BYTES_MAX);
        sma_buf_put_text(body, is_link ? ")" : " that is left out]");
        return;
    }
    if (lines->reading == NULL)
        sma_buf_put_str(body, text);
    else
        feishu_put_resolved(lines->reading, body, text);
}

/* A card inside text: as who sent it wrote it. Source: card_msg_content_type (as documented). */
static json_t *inner_card(const json_t *content)
{
    static const char *const members[] = {"user_dsl", "json_card", "raw_card_content"};
    json_t *card = NULL;
    for (size_t i = 0; i < SMA_COUNT_OF(members); i++) {
        struct sma_str text = sma_json_str(content, members[i]);
        if (text.len > 0 && sma_json_load_brief(text, true, &card) == SMA_ERR_OK)
            return card;
    }
    return NULL;
}

void feishu_put_card_words(struct feishu_reading *reading, const json_t *content)
{
    SMA_AUTO(sma_json_freep) json_t *inner = inner_card(content);
    const json_t *card = inner != NULL ? inner : content;
    const json_t *elements = sma_json_get(card, "elements");
    bool is_stub = false, is_whole = sma_visible_walk(card, find_stub, &is_stub);
    size_t start = reading->body.len;
    if (is_stub) {
        sma_buf_put_text(&reading->body, LEFT_OUT);
        return;
    }
    if (json_is_array(json_array_get(elements, 0)) || json_is_array(sma_json_get(card, "content")))
        feishu_put_post(reading, card); /* the reduced form that events bring */
    else
        is_whole = sma_visible_walk(card, put_line, &(struct lines){reading, &reading->body});
    if (reading->body.len == start)
        sma_buf_put_text(&reading->body, LEFT_OUT);
    if (!is_whole)
        sma_buf_put_text(&reading->body, "\n[more of the card is left out]");
}

void feishu_put_own_card_words(struct sma_buf *buf, struct sma_str json)
{
    SMA_AUTO(sma_json_freep) json_t *card = NULL;
    if (sma_json_load_brief(json, true, &card) == SMA_ERR_OK &&
        !sma_visible_walk(card, put_line, &(struct lines){NULL, buf}))
        sma_buf_put_text(buf, "\n…");
}
