/* markdown.c — elements and text of a page become Markdown. See markdown.h. */
#include "page/markdown.h"

#include "page/markdown_out.h"
#include "page/visible.h"

#include <libxml/HTMLparser.h>
#include <libxml/uri.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))
#define LIST_DEPTH_MAX 16
#define COLUMN_COUNT_MAX 64
#define LIST_NUMBER_MAX 1000000000

enum what
{
    WHAT_INLINE, /* text goes on */
    WHAT_SKIP,   /* nothing of it is read */
    WHAT_BLOCK,  /* stands between empty lines */
    WHAT_LINE,   /* stands in a line of its own */
    WHAT_HEADING,
    WHAT_BREAK,
    WHAT_RULE,
    WHAT_LIST,
    WHAT_ITEM,
    WHAT_QUOTE,
    WHAT_PRE,
    WHAT_CODE,
    WHAT_LINK,
    WHAT_IMAGE,
    WHAT_TITLE,
    WHAT_TABLE,
    WHAT_ROW,
    WHAT_CELL,
};

/* clang-format off */
static const struct element { const char *name; enum what what; } elements[] = {
    {"p", WHAT_BLOCK}, {"div", WHAT_LINE}, {"section", WHAT_BLOCK}, {"article", WHAT_BLOCK},
    {"header", WHAT_LINE}, {"footer", WHAT_LINE}, {"main", WHAT_LINE}, {"nav", WHAT_LINE},
    {"aside", WHAT_LINE}, {"address", WHAT_LINE}, {"figure", WHAT_BLOCK}, {"figcaption", WHAT_LINE},
    {"details", WHAT_LINE}, {"summary", WHAT_LINE}, {"form", WHAT_LINE}, {"fieldset", WHAT_LINE},
    {"dl", WHAT_BLOCK}, {"dt", WHAT_LINE}, {"dd", WHAT_LINE}, {"center", WHAT_LINE},
    {"h1", WHAT_HEADING}, {"h2", WHAT_HEADING}, {"h3", WHAT_HEADING}, {"h4", WHAT_HEADING},
    {"h5", WHAT_HEADING}, {"h6", WHAT_HEADING}, {"br", WHAT_BREAK}, {"hr", WHAT_RULE},
    {"ul", WHAT_LIST}, {"ol", WHAT_LIST}, {"menu", WHAT_LIST}, {"li", WHAT_ITEM},
    {"blockquote", WHAT_QUOTE}, {"pre", WHAT_PRE}, {"code", WHAT_CODE}, {"tt", WHAT_CODE},
    {"kbd", WHAT_CODE}, {"samp", WHAT_CODE}, {"a", WHAT_LINK}, {"img", WHAT_IMAGE},
    {"title", WHAT_TITLE}, {"table", WHAT_TABLE}, {"tr", WHAT_ROW}, {"td", WHAT_CELL},
    {"th", WHAT_CELL}, {"caption", WHAT_LINE}, {"script", WHAT_SKIP}, {"style", WHAT_SKIP},
    {"noscript", WHAT_SKIP}, {"template", WHAT_SKIP}, {"svg", WHAT_SKIP}, {"math", WHAT_SKIP},
    {"iframe", WHAT_SKIP}, {"object", WHAT_SKIP}, {"embed", WHAT_SKIP}, {"canvas", WHAT_SKIP},
    {"audio", WHAT_SKIP}, {"video", WHAT_SKIP}, {"select", WHAT_SKIP}, {"textarea", WHAT_SKIP},
    {"button", WHAT_SKIP}, {"input", WHAT_SKIP}, {"dialog", WHAT_LINE}, {"applet", WHAT_SKIP},
};
/* clang-format on */

struct list
{
    bool is_ordered;
    long next;
};

struct reading
{
    htmlParserCtxtPtr parser;
    struct sma_markdown *page;
    struct markdown_out out;
    struct visible *visible;
    const char *base;
    unsigned depth;
    unsigned skip_depth;  /* depth of the element that is left out; 0 = none */
    bool is_open_skipped; /* ... and visible knows of it */
    bool is_in_title, has_title, is_too_deep;
    bool is_pre_fresh; /* the line break right behind <pre> does not count */
    unsigned pre_depth, code_depth, link_depth; /* elements that are open */
    char href[SMA_MARKDOWN_URL_BYTES_MAX + 1];  /* of the open link; "" = it is shown as text */
    struct list lists[LIST_DEPTH_MAX];
    unsigned list_depth;
    unsigned table_depth, row_count, column_count;
};

static enum what find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(elements); i++)
        if (strcmp(elements[i].name, name) == 0)
            return elements[i].what;
    return WHAT_INLINE;
}

/* libxml2 gives names in small letters, values as they are; a name without a value has NULL. */
static const char *attribute(const xmlChar **attributes, const char *name)
{
    for (size_t i = 0; attributes != NULL && attributes[i] != NULL; i += 2)
        if (strcmp((const char *)attributes[i], name) == 0)
            return attributes[i + 1] == NULL ? "" : (const char *)attributes[i + 1];
    return NULL;
}

/* -- links ------------------------------------------------------------------------------------- */
static bool is_address(const char *url)
{
    return strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0 ||
           strncasecmp(url, "mailto:", 7) == 0;
}

/* "" when it leads nowhere, into the page itself, or is no address of the web. */
static void make_whole(struct reading *reading, const char *href)
{
    reading->href[0] = '\0';
    if (href == NULL || href[0] == '#' || strlen(href) > SMA_MARKDOWN_URL_BYTES_MAX)
        return;
    xmlChar *whole = xmlBuildURI((const xmlChar *)href, (const xmlChar *)reading->base);
    const char *text = (const char *)whole;
    if (text != NULL && is_address(text) && strlen(text) <= SMA_MARKDOWN_URL_BYTES_MAX &&
        strpbrk(text, " \t\r\n<>()\\") == NULL)
        memcpy(reading->href, text, strlen(text) + 1);
    xmlFree(whole);
}

static void end_link(struct reading *reading)
{
    if (reading->link_depth == 0)
        return;
    reading->link_depth = 0;
    if (reading->href[0] == '\0')
        return;
    struct markdown_out *out = &reading->out;
    bool owed = out->owes_blank;
    out->owes_blank = false; /* it stands behind the link, not in it */
    markdown_out_text(out, "](");
    for (const char *at = reading->href; *at != '\0'; at++) {
        size_t len;
        if (!markdown_is_hidden(at, strlen(at), &len))
            markdown_out_put(out, at, len);
        at += len - 1;
    }
    markdown_out_text(out, ")");
    out->owes_blank = owed;
    reading->href[0] = '\0';
}

static void begin_link(struct reading *reading, const xmlChar **attributes)
{
    end_link(reading); /* there is no link in a link */
    make_whole(reading, attribute(attributes, "href"));
    reading->link_depth = reading->depth;
    if (reading->href[0] == '\0')
        return;
    markdown_out_text(&reading->out, "[");
    reading->out.is_at_line = true; /* no blank behind it */
}

static void put_image(struct reading *reading, const xmlChar **attributes)
{
    const char *text = attribute(attributes, "alt");
    const char *sides[] = {attribute(attributes, "width"), attribute(attributes, "height")};
    if (text == NULL || *text == '\0' || !visible_is_picture_seen(reading->visible))
        return;
    for (size_t i = 0; i < COUNT_OF(sides); i++)
        if (sides[i] != NULL && *sides[i] != '\0' && strtod(sides[i], NULL) <= 2)
            return; /* a picture of a dot, that nobody sees */
    size_t len = strnlen(text, SMA_MARKDOWN_TITLE_BYTES_MAX);
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    markdown_out_text(&reading->out, "[Image: ");
    markdown_out_flow(&reading->out, text, len);
    markdown_out_text(&reading->out, "]");
}

/* -- lists and tables -------------------------------------------------------------------------- */
static void begin_item(struct reading *reading)
{
    char mark[24] = "- ";
    struct list *list = reading->list_depth == 0 || reading->list_depth > LIST_DEPTH_MAX
                            ? NULL
                            : &reading->lists[reading->list_depth - 1];
    if (list != NULL && list->is_ordered) {
        (void)snprintf(mark, sizeof mark, "%ld. ", list->next);
        list->next += list->next < LIST_NUMBER_MAX;
    }
    reading->out.is_after_mark = false; /* the item before was empty */
    markdown_out_break(&reading->out, 1);
    markdown_out_mark(&reading->out, mark);
    markdown_out_push(&reading->out, ' ');
}

static void begin_list(struct reading *reading, const char *name, const xmlChar **attributes)
{
    reading->out.is_after_mark = false;
    markdown_out_break(&reading->out, reading->list_depth == 0 ? 2 : 1);
    if (reading->list_depth < LIST_DEPTH_MAX) {
        struct list *list = &reading->lists[reading->list_depth];
        const char *start = attribute(attributes, "start");
        long first = start == NULL ? 1 : strtol(start, NULL, 10);
        *list = (struct list){.is_ordered = strcmp(name, "ol") == 0,
                              .next = first < 0 || first > LIST_NUMBER_MAX ? 1 : first};
    }
    reading->list_depth++;
}

static void end_row(struct reading *reading)
{
    if (reading->column_count == 0)
        return;
    reading->out.owes_blank = false;
    markdown_out_text(&reading->out, " |");
    if (reading->row_count++ == 0) {
        markdown_out_break(&reading->out, 1);
        markdown_out_text(&reading->out, "|");
        for (unsigned i = 0; i < reading->column_count && i < COLUMN_COUNT_MAX; i++)
            markdown_out_text(&reading->out, " --- |");
    }
    reading->column_count = 0;
}

static void begin_cell(struct reading *reading)
{
    if (reading->column_count == 0)
        markdown_out_break(&reading->out, 1);
    reading->out.owes_blank = false;
    markdown_out_text(&reading->out, reading->column_count == 0 ? "|" : " |");
    reading->column_count++;
    reading->out.owes_blank = true;
}

/* -- elements ---------------------------------------------------------------------------------- */
/* Within a table's cell a line stays a line. */
static void part(struct reading *reading, unsigned count)
{
    if (reading->table_depth > 0 && reading->column_count > 0)
        reading->out.owes_blank = true;
    else if (reading->pre_depth == 0)
        markdown_out_break(&reading->out, count);
}

static void begin_code(struct reading *reading, bool is_block)
{
    if (reading->pre_depth > 0 || (!is_block && reading->code_depth > 0))
        return;
    if (!is_block) {
        reading->code_depth = reading->depth;
        markdown_out_text(&reading->out, "`");
        return;
    }
    part(reading, 2);
    reading->pre_depth = reading->depth;
    reading->is_pre_fresh = true;
    markdown_out_text(&reading->out, "```");
    markdown_out_break(&reading->out, 1);
}

static void begin(struct reading *reading, const char *name, const xmlChar **attributes)
{
    struct markdown_out *out = &reading->out;
    switch (find(name)) {
    case WHAT_SKIP: /* but what opens a part of the page is that part's heading */
        if (strcmp(name, "button") != 0 || attribute(attributes, "aria-expanded") == NULL)
            reading->skip_depth = reading->depth;
        break;
    case WHAT_TITLE:
        reading->is_in_title = !reading->has_title;
        reading->skip_depth = reading->has_title ? reading->depth : 0;
        break;
    case WHAT_BLOCK:
        part(reading, 2);
        break;
    case WHAT_LINE:
    case WHAT_BREAK:
        part(reading, 1);
        break;
    case WHAT_HEADING:
        part(reading, 2);
        if (reading->column_count == 0 && reading->pre_depth == 0)
            markdown_out_mark(out, &"###### "['6' - name[1]]);
        break;
    case WHAT_RULE:
        part(reading, 2);
        markdown_out_text(out, "---");
        part(reading, 2);
        break;
    case WHAT_LIST:
        if (reading->column_count == 0)
            begin_list(reading, name, attributes);
        break;
    case WHAT_ITEM:
        if (reading->column_count == 0)
            begin_item(reading);
        else
            out->owes_blank = true;
        break;
    case WHAT_QUOTE:
        part(reading, 2);
        markdown_out_push(out, '>');
        break;
    case WHAT_PRE:
    case WHAT_CODE:
        begin_code(reading, strcmp(name, "pre") == 0);
        break;
    case WHAT_LINK:
        if (reading->pre_depth == 0 && reading->code_depth == 0)
            begin_link(reading, attributes);
        break;
    case WHAT_IMAGE:
        put_image(reading, attributes);
        break;
    case WHAT_TABLE:
        part(reading, 2);
        reading->row_count = reading->table_depth++ == 0 ? 0 : reading->row_count;
        break;
    case WHAT_ROW:
        if (reading->table_depth == 1)
            end_row(reading);
        break;
    case WHAT_CELL:
        if (reading->table_depth == 1)
            begin_cell(reading);
        break;
    default:
        break;
    }
}

static void end_code(struct reading *reading)
{
    if (reading->code_depth == reading->depth && reading->code_depth > 0) {
        markdown_out_text(&reading->out, "`");
        reading->code_depth = 0;
    }
    if (reading->pre_depth != reading->depth || reading->pre_depth == 0)
        return;
    reading->pre_depth = 0;
    markdown_out_break(&reading->out, 1);
    markdown_out_text(&reading->out, "```");
    part(reading, 2);
}

static void end(struct reading *reading, const char *name)
{
    struct markdown_out *out = &reading->out;
    switch (find(name)) {
    case WHAT_TITLE:
        reading->has_title = reading->has_title || reading->is_in_title;
        reading->is_in_title = false;
        break;
    case WHAT_BLOCK:
    case WHAT_HEADING:
        part(reading, 2);
        break;
    case WHAT_LINE:
        part(reading, 1);
        break;
    case WHAT_LIST:
        if (reading->column_count == 0 && reading->list_depth > 0) {
            out->is_after_mark = false;
            markdown_out_break(out, --reading->list_depth == 0 ? 2 : 1);
        }
        break;
    case WHAT_ITEM:
        if (reading->column_count == 0)
            markdown_out_pop(out);
        break;
    case WHAT_QUOTE:
        markdown_out_pop(out);
        part(reading, 2);
        break;
    case WHAT_PRE:
    case WHAT_CODE:
        end_code(reading);
        break;
    case WHAT_LINK:
        end_link(reading);
        break;
    case WHAT_ROW:
        if (reading->table_depth == 1)
            end_row(reading);
        break;
    case WHAT_TABLE:
        if (reading->table_depth == 1)
            end_row(reading);
        reading->table_depth -= reading->table_depth > 0;
        part(reading, 2);
        break;
    default:
        break;
    }
}

/* -- what libxml2 calls ------------------------------------------------------------------------ */
static void on_start(void *user, const xmlChar *name, const xmlChar **attributes)
{
    struct reading *reading = user;
    reading->depth++;
    if (reading->depth > SMA_MARKDOWN_DEPTH_MAX || reading->out.is_cut) {
        reading->is_too_deep = true;
        xmlStopParser(reading->parser);
        return;
    }
    if (reading->skip_depth > 0)
        return;
    enum visible_what what =
        visible_open(reading->visible, (const char *)name, (const char *const *)attributes);
    reading->out.has_failed = reading->out.has_failed || what == VISIBLE_FAILED;
    if (what == VISIBLE_FAILED || what == VISIBLE_SPENT) { /* the rest may be hidden */
        reading->is_too_deep = true;
        xmlStopParser(reading->parser);
    }
    if (what == VISIBLE_SEEN)
        begin(reading, (const char *)name, attributes);
    else
        reading->skip_depth = reading->depth;
    reading->is_open_skipped = what == VISIBLE_SEEN && reading->skip_depth > 0;
}

static void on_end(void *user, const xmlChar *name)
{
    struct reading *reading = user;
    if (reading->skip_depth == 0) {
        end(reading, (const char *)name);
        visible_close(reading->visible);
    } else if (reading->skip_depth == reading->depth) {
        reading->skip_depth = 0;
        if (reading->is_open_skipped) /* left out for what it is, a script or a form */
            visible_close(reading->visible);
    }
    reading->depth -= reading->depth > 0;
}

static void add_title(struct reading *reading, const char *text, size_t len)
{
    struct sma_markdown *page = reading->page;
    size_t have = strlen(page->title), count;
    for (size_t at = 0; at < len; at += count) {
        bool is_hidden = markdown_is_hidden(text + at, len - at, &count);
        bool is_blank = strchr(" \t\r\n\f", text[at]) != NULL;
        if (is_hidden || (is_blank && (have == 0 || page->title[have - 1] == ' ')))
            continue;
        if (have + count > SMA_MARKDOWN_TITLE_BYTES_MAX)
            break;
        memcpy(page->title + have, is_blank ? " " : text + at, count);
        have += count;
        page->title[have] = '\0';
    }
}

static void put_lines(struct reading *reading, const char *text, size_t len)
{
    size_t skipped = reading->is_pre_fresh && text[0] == '\n';
    reading->is_pre_fresh = false;
    markdown_out_lines(&reading->out, text + skipped, len - skipped);
}

static void on_text(void *user, const xmlChar *bytes, int len)
{
    struct reading *reading = user;
    const char *text = (const char *)bytes;
    if (reading->skip_depth > 0 || len <= 0)
        return;
    if (!visible_is_text_seen(reading->visible) && !reading->is_in_title)
        return;
    if (reading->is_in_title)
        add_title(reading, text, (size_t)len);
    else if (reading->pre_depth > 0)
        put_lines(reading, text, (size_t)len);
    else
        markdown_out_flow(&reading->out, text, (size_t)len);
}

static void on_error(void *user, const char *format, ...)
{
    (void)user;
    (void)format;
}

void sma_markdown_load(void)
{
    xmlInitParser();
}

static bool take(struct reading *reading, struct sma_markdown *page)
{
    struct markdown_out *out = &reading->out;
    if (out->has_failed) {
        free(out->ptr);
        return false;
    }
    out->ptr[out->len] = '\0';
    page->text = out->ptr;
    page->len = out->len;
    page->is_cut = out->is_cut || reading->is_too_deep;
    size_t len = strlen(page->title);
    if (len > 0 && page->title[len - 1] == ' ')
        page->title[len - 1] = '\0';
    return true;
}

/* -- the sheets of a page ---------------------------------------------------------------------- */
/* Read first: one at the end of a page holds for its beginning. */
struct collecting
{
    struct style_sheets *sheets;
    bool is_in_style, has_failed;
    char *text;
    size_t len;
    unsigned depth, skip_depth; /* skip: of what a browser reads as text, or not at all */
};

static void on_sheet_start(void *user, const xmlChar *name, const xmlChar **attributes)
{
    static const char *const skipped[] = {"noscript", "template", "textarea", "title",
                                          "iframe",   "noembed",  "noframes", "xmp"};
    struct collecting *collecting = user;
    const char *type = attribute(attributes, "type"), *relation = attribute(attributes, "rel");
    collecting->depth++;
    for (size_t i = 0; i < COUNT_OF(skipped) && collecting->skip_depth == 0; i++)
        if (strcmp(skipped[i], (const char *)name) == 0)
            collecting->skip_depth = collecting->depth;
    bool is_read =
        collecting->skip_depth == 0 && style_is_media_met(attribute(attributes, "media"));
    collecting->is_in_style = is_read && strcmp((const char *)name, "style") == 0 &&
                              (type == NULL || *type == '\0' || strcasecmp(type, "text/css") == 0);
    if (is_read && strcmp((const char *)name, "link") == 0 && relation != NULL &&
        strcasestr(relation, "stylesheet") != NULL && strcasestr(relation, "alternate") == NULL)
        style_sheets_set_linked(collecting->sheets);
    collecting->len = 0;
}

static void on_sheet_text(void *user, const xmlChar *bytes, int len)
{
    struct collecting *collecting = user;
    if (!collecting->is_in_style || len <= 0)
        return;
    char *text = realloc(collecting->text, collecting->len + (size_t)len);
    collecting->has_failed = collecting->has_failed || text == NULL;
    if (text == NULL)
        return;
    memcpy(text + collecting->len, bytes, (size_t)len);
    collecting->text = text;
    collecting->len += (size_t)len;
}

static void on_sheet_end(void *user, const xmlChar *name)
{
    struct collecting *collecting = user;
    (void)name;
    if (collecting->is_in_style && collecting->len > 0 &&
        !style_sheets_add(collecting->sheets, collecting->text, collecting->len))
        collecting->has_failed = true;
    collecting->is_in_style = false;
    collecting->skip_depth =
        collecting->skip_depth == collecting->depth ? 0 : collecting->skip_depth;
    collecting->depth -= collecting->depth > 0;
}

static bool parse(const char *html, size_t len, const xmlSAXHandler *calls, void *user,
                  htmlParserCtxtPtr *parser)
{
    *parser = htmlNewParserCtxt();
    if (*parser == NULL)
        return false;
    *(*parser)->sax = *calls;
    (*parser)->sax->error = on_error;
    (*parser)->sax->warning = on_error;
    (*parser)->sax->fatalError = on_error;
    (*parser)->userData = user;
    htmlDocPtr tree = htmlCtxtReadMemory(*parser, html, (int)len, NULL, "UTF-8",
                                         HTML_PARSE_RECOVER | HTML_PARSE_NONET |
                                             HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING);
    if (tree != NULL)
        xmlFreeDoc(tree);
    htmlFreeParserCtxt(*parser);
    *parser = NULL;
    return true;
}

static bool has_sheets(const char *html, size_t len)
{
    const char *at = html, *end = html + len;
    while ((at = memchr(at, '<', (size_t)(end - at))) != NULL) {
        if (end - at > 6 && (strncasecmp(at, "<style", 6) == 0 || strncasecmp(at, "<link", 5) == 0))
            return true;
        at++;
    }
    return false;
}

static struct style_sheets *collect_sheets(const char *html, size_t len)
{
    static const xmlSAXHandler calls = {.startElement = on_sheet_start,
                                        .endElement = on_sheet_end,
                                        .characters = on_sheet_text,
                                        .cdataBlock = on_sheet_text};
    htmlParserCtxtPtr parser;
    bool has_doctype = memmem(html, len < 1024 ? len : 1024, "octype", 6) != NULL ||
                       memmem(html, len < 1024 ? len : 1024, "OCTYPE", 6) != NULL;
    struct collecting collecting = {.sheets = style_sheets_create(!has_doctype)};
    bool is_good = collecting.sheets != NULL &&
                   (!has_sheets(html, len) || parse(html, len, &calls, &collecting, &parser)) &&
                   !collecting.has_failed;
    free(collecting.text);
    if (!is_good) {
        style_sheets_destroy(collecting.sheets);
        return NULL;
    }
    return collecting.sheets;
}

bool sma_markdown_from_html(const char *html, size_t len, const char *base, size_t max,
                            struct sma_markdown *ret_markdown)
{
    static const xmlSAXHandler calls = {.startElement = on_start,
                                        .endElement = on_end,
                                        .characters = on_text,
                                        .cdataBlock = on_text,
                                        .ignorableWhitespace = on_text};
    struct reading reading = {.page = ret_markdown, .base = base};
    *ret_markdown = (struct sma_markdown){.text = NULL};
    struct style_sheets *sheets = len > INT32_MAX ? NULL : collect_sheets(html, len);
    if (sheets == NULL || !markdown_out_init(&reading.out, max)) {
        style_sheets_destroy(sheets);
        return false;
    }
    reading.visible = visible_create(sheets, SMA_MARKDOWN_DEPTH_MAX);
    if (reading.visible == NULL || !parse(html, len, &calls, &reading, &reading.parser))
        reading.out.has_failed = true;
    visible_destroy(reading.visible);
    style_sheets_destroy(sheets);
    end_link(&reading);
    if (reading.pre_depth > 0) {
        markdown_out_break(&reading.out, 1);
        markdown_out_text(&reading.out, "```");
    }
    return take(&reading, ret_markdown);
}

bool sma_markdown_from_text(const char *text, size_t len, size_t max,
                            struct sma_markdown *ret_markdown)
{
    struct reading reading = {.page = ret_markdown};
    *ret_markdown = (struct sma_markdown){.text = NULL};
    if (!markdown_out_init(&reading.out, max))
        return false;
    for (size_t at = 0, count; at < len && !reading.out.is_cut; at += count) {
        bool is_hidden = markdown_is_hidden(text + at, len - at, &count);
        if (!is_hidden && text[at] != '\r')
            markdown_out_put(&reading.out, text + at, count);
    }
    return take(&reading, ret_markdown);
}

void sma_markdown_fini(struct sma_markdown *markdown)
{
    free(markdown->text);
    markdown->text = NULL;
}
