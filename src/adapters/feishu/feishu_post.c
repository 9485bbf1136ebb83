/* feishu_post.c — rich text as Markdown. Two levels of lists, walked by loops. See
 * feishu_event.h. */
#include "feishu_event_priv.h"

#include <stdio.h>

#include "adapters/common/visible.h"
#include "runtime/text/attach.h"
#include "sma/text.h"

#define LANGUAGE_BYTES_MAX 32
#define FENCE_MIN 3
#define HREF_BYTES_MAX 2048

static bool has_style(const json_t *element, const char *wanted)
{
    const json_t *style = sma_json_get(element, "style");
    size_t count = json_array_size(style);
    for (size_t i = 0; i < count; i++) {
        if (sma_str_is_equal(sma_json_str_of(json_array_get(style, i)), sma_str(wanted)))
            return true;
    }
    return false;
}

/* Markers hug the words: blanks inside them would not be emphasis. */
static void put_styled(struct feishu_reading *reading, const json_t *element)
{
    struct sma_str text = sma_json_str(element, "text"), core = sma_str_trim(text);
    struct sma_buf *body = &reading->body;
    char marker[8] = "";
    size_t len = 0;
    if (core.len > 0 && memchr(core.ptr, '\n', core.len) == NULL) {
        if (has_style(element, "lineThrough"))
            len += (size_t)snprintf(marker + len, sizeof marker - len, "~~");
        if (has_style(element, "bold"))
            len += (size_t)snprintf(marker + len, sizeof marker - len, "**");
        if (has_style(element, "italic"))
            len += (size_t)snprintf(marker + len, sizeof marker - len, "*");
    }
    if (len == 0) {
        feishu_put_resolved(reading, body, text);
        return;
    }
    sma_buf_put(body, text.ptr, (size_t)(core.ptr - text.ptr));
    sma_buf_put(body, marker, len);
    feishu_put_resolved(reading, body, core);
    for (size_t i = len;
         i-- > 0;) /* every marker is made of one character repeated: reversing is closing */
        sma_buf_put_char(body, marker[i]);
    const char *end = core.ptr + core.len;
    sma_buf_put(body, end, (size_t)(text.ptr + text.len - end));
}

static void put_link(struct feishu_reading *reading, const json_t *element)
{
    struct sma_str text = sma_json_str(element, "text"), href = sma_json_str(element, "href");
    struct sma_buf *body = &reading->body;
    if (href.len == 0 || sma_str_is_equal(text, href)) {
        feishu_put_resolved(reading, body, text);
        return;
    }
    sma_buf_put_char(body, '[');
    feishu_put_resolved(reading, body, text.len > 0 ? text : href);
    sma_buf_put_text(body, "](");
    sma_attach_put_label(body, href, HREF_BYTES_MAX);
    sma_buf_put_char(body, ')');
}

static void put_code(struct sma_buf *body, const json_t *element)
{
    struct sma_str text = sma_json_str(element, "text"),
                   language = sma_json_str(element, "language");
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < text.len; i++) {
        run = text.ptr[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    size_t fence = longest < FENCE_MIN ? FENCE_MIN : longest + 1;
    if (body->len > 0 && body->ptr[body->len - 1] != '\n')
        sma_buf_put_char(body, '\n');
    for (size_t i = 0; i < fence; i++)
        sma_buf_put_char(body, '`');
    language.len = sma_utf8_cut(language, LANGUAGE_BYTES_MAX);
    for (size_t i = 0; i < language.len; i++) {
        if ((unsigned char)language.ptr[i] > 0x20 && language.ptr[i] != '`')
            sma_buf_put_char(body, language.ptr[i]);
    }
    sma_buf_put_char(body, '\n');
    sma_buf_put_str(body, text);
    if (text.len == 0 || text.ptr[text.len - 1] != '\n')
        sma_buf_put_char(body, '\n');
    for (size_t i = 0; i < fence; i++)
        sma_buf_put_char(body, '`');
}

static void put_media(struct feishu_reading *reading, const json_t *element, bool is_image)
{
    struct sma_str name = sma_json_str(element, "file_name");
    if (name.len == 0)
        name = is_image ? SMA_STR("photo.jpg") : SMA_STR("video.mp4");
    size_t number = feishu_attach(reading, is_image ? "photo" : FEISHU_VIDEO,
                                  sma_json_str(element, is_image ? "image_key" : "file_key"), name);
    sma_buf_printf(&reading->body, number > 0 ? "[%s %zu]" : "[%s, not fetched]",
                   is_image ? "image" : "video", number);
}

static void put_file(struct feishu_reading *reading, const json_t *element, const char *kind)
{
    struct sma_str name = sma_json_str(element, "file_name");
    name = name.len > 0 ? name : SMA_STR("file");
    size_t number = feishu_attach(reading, kind, sma_json_str(element, "file_key"), name);
    sma_buf_put_text(&reading->body, "[file: ");
    sma_attach_put_label(&reading->body, name, SMA_NAME_BYTES_MAX);
    sma_buf_put_text(&reading->body, number > 0 ? "]" : ", not fetched]");
}

static void put_seen(void *user, const char *key, const json_t *parent, struct sma_str text)
{
    struct feishu_reading *reading = user;
    (void)parent;
    if (strcmp(key, "tag") == 0 || strcmp(key, "type") == 0 || sma_str_trim(text).len == 0)
        return;
    sma_buf_put_char(&reading->body, ' ');
    feishu_put_resolved(reading, &reading->body, text);
}

static bool is_tag(struct sma_str tag, const char *wanted)
{
    return sma_str_is_equal(tag, sma_str(wanted));
}

static void put_element(struct feishu_reading *reading, const json_t *element)
{
    struct sma_str tag = sma_json_str(element, "tag");
    struct sma_buf *body = &reading->body;
    if (is_tag(tag, "text"))
        put_styled(reading, element);
    else if (is_tag(tag, "md") || is_tag(tag, "markdown") || is_tag(tag, "lark_md"))
        feishu_put_resolved(reading, body,
                            sma_json_str(element, is_tag(tag, "md") ? "text" : "content"));
    else if (is_tag(tag, "a"))
        put_link(reading, element);
    else if (is_tag(tag, "at"))
        feishu_put_mention(reading, body, sma_json_str(element, "user_id"),
                           sma_json_str(element, "user_name"));
    else if (is_tag(tag, "img"))
        put_media(reading, element, true);
    else if (is_tag(tag, "media"))
        put_media(reading, element, false);
    else if (is_tag(tag, "file") || is_tag(tag, "audio"))
        put_file(reading, element, is_tag(tag, "audio") ? "voice" : "document");
    else if (is_tag(tag, "code_block"))
        put_code(body, element);
    else if (is_tag(tag, "hr"))
        sma_buf_put_text(body, "---");
    else if (is_tag(tag, "emotion")) {
        sma_buf_put_char(body, '[');
        sma_attach_put_label(body, sma_json_str(element, "emoji_type"), 64);
        sma_buf_put_char(body, ']');
    } else if (sma_json_str(element, "text").len > 0 || tag.len == 0) {
        feishu_put_resolved(reading, body, sma_json_str(element, "text"));
    } else { /* what has no words of its own: all that people see of it */
        sma_buf_put_char(body, '[');
        sma_attach_put_label(body, tag, LANGUAGE_BYTES_MAX);
        sma_buf_put_text(body, sma_visible_walk(element, put_seen, reading) ? "]" : " ...]");
    }
}

static void put_paragraphs(struct feishu_reading *reading, const json_t *paragraphs)
{
    size_t count = json_array_size(paragraphs);
    for (size_t i = 0; i < count; i++) {
        const json_t *paragraph = json_array_get(paragraphs, i);
        if (i > 0)
            sma_buf_put_char(&reading->body, '\n');
        size_t element_count = json_array_size(paragraph);
        for (size_t k = 0; k < element_count; k++)
            put_element(reading, json_array_get(paragraph, k));
        if (json_is_object(paragraph)) /* a card's elements may stand without the inner list */
            put_element(reading, paragraph);
    }
}

/* A post may stand below a locale: the first member that looks like a post. */
static const json_t *find_post(const json_t *content)
{
    static const char *const locales[] = {"zh_cn", "en_us", "ja_jp", "zh_hk", "zh_tw"};
    for (size_t i = 0; i < SMA_COUNT_OF(locales); i++) {
        const json_t *post = sma_json_get(content, locales[i]);
        if (json_is_object(post))
            return post;
    }
    return content;
}

void feishu_put_post(struct feishu_reading *reading, const json_t *content)
{
    static const char *const bodies[] = {"content_v2", "content", "elements"};
    const json_t *post = find_post(content);
    struct sma_str title = sma_str_trim(sma_json_str(post, "title"));
    if (title.len > 0) {
        sma_buf_put_text(&reading->body, "# ");
        sma_attach_put_label(&reading->body, title, SMA_NAME_BYTES_MAX);
        sma_buf_put_char(&reading->body, '\n');
    }
    for (size_t i = 0; i < SMA_COUNT_OF(bodies); i++) {
        const json_t *paragraphs = sma_json_get(post, bodies[i]);
        if (!json_is_array(paragraphs) || json_array_size(paragraphs) == 0)
            continue;
        if (title.len > 0)
            sma_buf_put_char(&reading->body, '\n');
        put_paragraphs(reading, paragraphs);
        return;
    }
}
