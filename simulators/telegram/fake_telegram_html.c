/*
 * fake_telegram_html.c — formatted text as the platform reads it. Source: the parser of the
 * open-source Bot API server: which tags exist, what closes what, which named entities are known.
 * Messages are the platform's, as far as they are known.
 */
#include "fake_telegram_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 32

struct open_tag
{
    char name[16], detail[256];
    const char *type; /* of the entity */
    size_t start;     /* UTF-16 units */
    size_t text_start;
};

static const struct
{
    const char *tag, *type;
} TAGS[] = {{"b", "bold"},
            {"strong", "bold"},
            {"i", "italic"},
            {"em", "italic"},
            {"u", "underline"},
            {"ins", "underline"},
            {"s", "strikethrough"},
            {"strike", "strikethrough"},
            {"del", "strikethrough"},
            {"span", "spoiler"},
            {"tg-spoiler", "spoiler"},
            {"a", "text_link"},
            {"code", "code"},
            {"pre", "pre"},
            {"blockquote", "blockquote"},
            {"tg-emoji", "custom_emoji"},
            {"tg-time", "date_time"}};

static _Thread_local char problem[256];

#define PROBLEM(...) (snprintf(problem, sizeof problem, __VA_ARGS__), problem)

static void put_code_point(struct sma_buf *out, unsigned long code)
{
    if (code < 0x80) {
        sma_buf_put_char(out, (char)code);
        return;
    }
    char bytes[4];
    size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3F));
    bytes[0] = (char)((len == 2 ? 0xC0 : len == 3 ? 0xE0 : 0xF0) | code);
    sma_buf_put(out, bytes, len);
}

/* The entity at text (which starts with '&'). @return bytes used, 0: it is none and stands for
 * itself */
static size_t decode_entity(struct sma_str text, struct sma_buf *out)
{
    static const struct
    {
        const char *name;
        char byte;
    } named[] = {{"&lt", '<'}, {"&gt", '>'}, {"&amp", '&'}, {"&quot", '"'}};
    if (text.len > 3 && text.ptr[1] == '#') {
        bool is_hex = text.ptr[2] == 'x';
        char *end;
        unsigned long code = strtoul(text.ptr + (is_hex ? 3 : 2), &end, is_hex ? 16 : 10);
        if (code == 0 || code >= 0x10FFFF || end == text.ptr + 2)
            return 0;
        put_code_point(out, code);
        return (size_t)(end - text.ptr) + (*end == ';');
    }
    for (size_t i = 0; i < SMA_COUNT_OF(named); i++) {
        size_t len = strlen(named[i].name);
        if (text.len < len || memcmp(text.ptr, named[i].name, len) != 0 ||
            (text.len > len && isalpha((unsigned char)text.ptr[len])))
            continue;
        sma_buf_put_char(out, named[i].byte);
        return len + (text.len > len && text.ptr[len] == ';');
    }
    return 0;
}

static size_t units_of(const struct sma_buf *plain)
{
    return sma_utf16_length(sma_buf_str(plain));
}

static void put_entity(struct sma_buf *entities, const struct open_tag *tag, size_t end)
{
    if (end == tag->start)
        return;
    sma_buf_printf(entities, "%s{\"type\":\"%s\",\"offset\":%zu,\"length\":%zu",
                   entities->len == 0 ? "" : ",", tag->type, tag->start, end - tag->start);
    if (tag->detail[0] != '\0') {
        sma_buf_put_text(entities, strcmp(tag->type, "pre") == 0 ? ",\"language\":" : ",\"url\":");
        sma_buf_put_json_string(entities, sma_str(tag->detail));
    }
    sma_buf_put_char(entities, '}');
}

/* Attributes up to '>'. *at is behind the tag's name; afterwards behind '>'. */
static const char *parse_attributes(struct sma_str html, size_t *at, struct open_tag *tag,
                                    bool *ret_is_spoiler)
{
    size_t start = *at;
    for (;;) {
        while (*at < html.len && isspace((unsigned char)html.ptr[*at]))
            (*at)++;
        if (*at >= html.len)
            return PROBLEM("Unclosed start tag at byte offset %zu", start);
        if (html.ptr[*at] == '>') {
            (*at)++;
            return NULL;
        }
        size_t name = *at;
        while (*at < html.len && !isspace((unsigned char)html.ptr[*at]) &&
               strchr("=>", html.ptr[*at]) == NULL)
            (*at)++;
        size_t name_len = *at - name;
        if (name_len == 0)
            return PROBLEM("Empty attribute name in the tag \"%s\" at byte offset %zu", tag->name,
                           start);
        if (*at >= html.len || html.ptr[*at] != '=')
            continue; /* an attribute without a value */
        (*at)++;
        char quote = *at < html.len ? html.ptr[*at] : '\0';
        bool is_quoted = quote == '"' || quote == '\'';
        *at += is_quoted;
        struct sma_buf value;
        sma_buf_init(&value, 65536);
        while (*at < html.len &&
               (is_quoted ? html.ptr[*at] != quote
                          : !isspace((unsigned char)html.ptr[*at]) && html.ptr[*at] != '>')) {
            size_t used =
                html.ptr[*at] == '&'
                    ? decode_entity((struct sma_str){html.ptr + *at, html.len - *at}, &value)
                    : 0;
            if (used == 0) {
                sma_buf_put_char(&value, html.ptr[*at]);
                used = 1;
            }
            *at += used;
        }
        if (is_quoted && *at >= html.len) {
            sma_buf_fini(&value);
            return PROBLEM("Unclosed start tag at byte offset %zu", start);
        }
        *at += is_quoted;
        bool is_href = name_len == 4 && memcmp(html.ptr + name, "href", 4) == 0;
        bool is_class = name_len == 5 && memcmp(html.ptr + name, "class", 5) == 0;
        if (is_href && strcmp(tag->name, "a") == 0)
            snprintf(tag->detail, sizeof tag->detail, "%s", value.ptr == NULL ? "" : value.ptr);
        if (is_class && value.ptr != NULL && strcmp(value.ptr, "tg-spoiler") == 0)
            *ret_is_spoiler = true;
        if (is_class && value.ptr != NULL && strcmp(tag->name, "code") == 0 &&
            strncmp(value.ptr, "language-", 9) == 0)
            snprintf(tag->detail, sizeof tag->detail, "%s", value.ptr + 9);
        sma_buf_fini(&value);
    }
}

static const char *open_one(struct sma_str html, size_t *at, const struct sma_buf *plain,
                            struct open_tag *tag)
{
    size_t start = *at, name = ++*at;
    while (*at < html.len && !isspace((unsigned char)html.ptr[*at]) && html.ptr[*at] != '>')
        (*at)++;
    if (*at >= html.len)
        return PROBLEM("Unclosed start tag at byte offset %zu", start);
    *tag = (struct open_tag){.start = units_of(plain), .text_start = plain->len};
    char full[64];
    snprintf(full, sizeof full, "%.*s", (int)(*at - name), html.ptr + name);
    for (char *c = full; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    for (size_t i = 0; i < SMA_COUNT_OF(TAGS); i++)
        if (strcmp(full, TAGS[i].tag) == 0)
            tag->type = TAGS[i].type;
    if (tag->type == NULL)
        return PROBLEM("Unsupported start tag \"%.60s\" at byte offset %zu", full, start);
    snprintf(tag->name, sizeof tag->name, "%.15s", full);
    bool is_spoiler = false;
    const char *wrong = parse_attributes(html, at, tag, &is_spoiler);
    if (wrong == NULL && strcmp(tag->name, "span") == 0 && !is_spoiler)
        return PROBLEM("Tag \"span\" must have class \"tg-spoiler\" at byte offset %zu", start);
    return wrong;
}

static const char *close_one(struct sma_str html, size_t *at, const struct sma_buf *plain,
                             struct sma_buf *entities, struct open_tag *tags, size_t *depth)
{
    size_t start = *at, name = *at + 2;
    const char *end = memchr(html.ptr + *at, '>', html.len - *at);
    if (*depth == 0)
        return PROBLEM("Unexpected end tag at byte offset %zu", start);
    if (end == NULL)
        return PROBLEM("Unclosed end tag at byte offset %zu", start);
    struct open_tag *tag = &tags[*depth - 1];
    struct sma_str found =
        sma_str_trim((struct sma_str){html.ptr + name, (size_t)(end - html.ptr) - name});
    if (found.len > 0 && !sma_str_is_equal_nocase(found, sma_str(tag->name)))
        return PROBLEM(
            "Unmatched end tag at byte offset %zu, expected \"</%s>\", found \"</%.*s>\"", start,
            tag->name, (int)(found.len > 60 ? 60 : found.len), found.ptr);
    put_entity(entities, tag, units_of(plain));
    (*depth)--;
    *at = (size_t)(end - html.ptr) + 1;
    return NULL;
}

const char *fake_parse_html(struct sma_str html, struct sma_buf *plain, struct sma_buf *entities)
{
    struct open_tag tags[DEPTH_MAX];
    size_t depth = 0;
    const char *wrong = NULL;
    if (!sma_utf8_is_valid(html))
        return PROBLEM("Text must be encoded in UTF-8");
    for (size_t at = 0; at < html.len && wrong == NULL;) {
        size_t used = 0;
        if (html.ptr[at] == '&')
            used = decode_entity((struct sma_str){html.ptr + at, html.len - at}, plain);
        if (used > 0) {
            at += used;
        } else if (html.ptr[at] != '<') {
            sma_buf_put_char(plain, html.ptr[at++]);
        } else if (at + 1 < html.len && html.ptr[at + 1] == '/') {
            wrong = close_one(html, &at, plain, entities, tags, &depth);
        } else if (depth == DEPTH_MAX) {
            wrong = PROBLEM("Too many nested tags at byte offset %zu", at);
        } else {
            wrong = open_one(html, &at, plain, &tags[depth]);
            depth += wrong == NULL;
        }
    }
    if (wrong == NULL && depth > 0)
        wrong =
            PROBLEM("Can't find end tag corresponding to start tag \"%s\"", tags[depth - 1].name);
    return wrong;
}

/* Outside code, a reserved character that is no markup must be escaped; marks must be closed. */
const char *fake_parse_markdown(struct sma_str text, struct sma_buf *plain)
{
    char open[DEPTH_MAX];
    size_t depth = 0, start = 0;
    for (size_t at = 0; at < text.len; at++) {
        char byte = text.ptr[at];
        bool is_in_code = depth > 0 && open[depth - 1] == '`';
        if (byte == '\\' && at + 1 < text.len && (unsigned char)text.ptr[at + 1] < 127) {
            sma_buf_put_char(plain, text.ptr[++at]);
        } else if (byte == '`' || (!is_in_code && strchr("*_~", byte) != NULL)) {
            if (depth > 0 && open[depth - 1] == byte) {
                depth--;
            } else if (depth < DEPTH_MAX) {
                open[depth++] = byte;
                start = at;
            }
        } else if (!is_in_code && strchr("[]()>#+-=|{}.!", byte) != NULL) {
            return PROBLEM("Character '%c' is reserved and must be escaped with the preceding '\\'",
                           byte);
        } else {
            sma_buf_put_char(plain, byte);
        }
    }
    if (depth > 0)
        return PROBLEM("Can't find end of the entity starting at byte offset %zu", start);
    return NULL;
}
