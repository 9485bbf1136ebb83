/* feishu_render.c — text to parts. See feishu_out.h. */
#include "feishu_out.h"

#include <stdio.h>

#include "adapters/common/part.h"
#include "runtime/delivery/split.h"
#include "runtime/markup/markup.h"
#include "runtime/text/attach_text.h"
#include "sma/limits.h"
#include "sma/text.h"

#define AT_TAG_BYTES_MAX 256
#define SOURCE_BYTES_MAX (4 * SMA_TEXT_BYTES_MAX)

struct render
{
    sma_part_fn *each;
    void *user;
    bool is_card; /* Markdown; else plain text */
    struct sma_buf part;
};

static void emit(struct render *render)
{
    if (render->part.err == SMA_ERR_OK)
        render->each(render->user, sma_buf_str(&render->part));
}

static void put_whole(struct sma_buf *buf, const struct sma_split_part *part)
{
    sma_buf_put_str(buf, part->prefix);
    sma_buf_put_str(buf, part->body);
    sma_buf_put_str(buf, part->suffix);
}

/* A card's Markdown is its plain form, too: as good a text as any where the card is refused. */
static void emit_split(void *user, const struct sma_split_part *part)
{
    struct render *render = user;
    if (sma_text_is_blank(part->body)) /* a message of blanks is refused */
        return;
    sma_part_begin_text(&render->part);
    if (render->is_card)
        put_whole(&render->part, part);
    sma_part_end_marked(&render->part);
    put_whole(&render->part, part);
    emit(render);
}

static enum sma_err put_parts(struct render *render, struct sma_str text)
{
    uint32_t units_max = render->is_card ? FEISHU_CARD_UNITS_MAX : FEISHU_TEXT_UNITS_MAX;
    enum sma_err err = sma_text_split(text, units_max, emit_split, render);
    return err == SMA_ERR_OK ? render->part.err : err;
}

/* -- cleaning ---------------------------------------------------------------------------------- */

/* `<at id=all>` and its like would call everybody: a blank behind '<' makes it text. */
static bool is_call_to_all(struct sma_str text)
{
    if (text.len < 5 || !sma_str_is_equal_nocase((struct sma_str){text.ptr, 3}, SMA_STR("<at")))
        return false;
    size_t limit = text.len < AT_TAG_BYTES_MAX ? text.len : AT_TAG_BYTES_MAX;
    const char *end = memchr(text.ptr, '>', limit);
    size_t inside = end == NULL ? limit : (size_t)(end - text.ptr);
    for (size_t i = 3; i + 3 <= inside; i++) {
        if (sma_str_is_equal_nocase((struct sma_str){text.ptr + i, 3}, SMA_STR("all")))
            return true;
    }
    return false;
}

/* One line without control characters; calls to everybody disarmed; outside code, images become
 * links. */
static void put_clean_line(struct sma_buf *buf, struct sma_str line, bool is_markdown)
{
    size_t tick_count = 0;
    for (size_t i = 0; i < line.len; i++) {
        unsigned char byte = (unsigned char)line.ptr[i];
        struct sma_str rest = {line.ptr + i, line.len - i};
        if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f)
            continue;
        tick_count += byte == '`';
        if (byte == '<' && is_call_to_all(rest))
            sma_buf_put_text(buf, "< ");
        else if (is_markdown && tick_count % 2 == 0 && sma_str_starts_with(rest, SMA_STR("![]("))) {
            sma_buf_put_text(buf, "[image](");
            i += 3;
        } else if (is_markdown && tick_count % 2 == 0 && sma_str_starts_with(rest, SMA_STR("![")))
            continue; /* without its mark it is a link */
        else
            sma_buf_put_char(buf, (char)byte);
    }
}

/* The text without lines that ask for files, cleaned for its kind of message. */
static void put_clean(struct sma_buf *buf, struct sma_str text, bool is_markdown, bool has_attach)
{
    struct sma_attach_reader reader;
    struct sma_attach_item item;
    sma_attach_reader_init(&reader, text);
    while (sma_attach_next(&reader, &item))
        if (!has_attach || !item.is_attachment)
            put_clean_line(buf, item.line, is_markdown && !item.is_fenced);
}

/* -- cards ------------------------------------------------------------------------------------- */

/* The line under a table's head: bars, dashes, colons, at least one bar and one dash. */
static bool is_table_rule(struct sma_str line)
{
    bool has_bar = false, has_dash = false;
    for (size_t i = 0; i < line.len; i++) {
        if (strchr("|-: \t\n", line.ptr[i]) == NULL || line.ptr[i] == '\0')
            return false;
        has_bar = has_bar || line.ptr[i] == '|';
        has_dash = has_dash || line.ptr[i] == '-';
    }
    return has_bar && has_dash;
}

/* Cards of at most FEISHU_CARD_TABLE_COUNT_MAX tables: cut before the head of the next one. */
static enum sma_err put_cards(struct render *render, struct sma_str text)
{
    struct sma_attach_reader reader;
    struct sma_attach_item item;
    struct sma_str before = {text.ptr, 0};
    const char *from = text.ptr;
    size_t table_count = 0;
    enum sma_err err = SMA_ERR_OK;
    sma_attach_reader_init(&reader, text);
    while (err == SMA_ERR_OK && sma_attach_next(&reader, &item)) {
        bool has_head = before.len > 0 && memchr(before.ptr, '|', before.len) != NULL;
        if (!item.is_fenced && has_head && is_table_rule(item.line) && !is_table_rule(before) &&
            table_count++ == FEISHU_CARD_TABLE_COUNT_MAX) {
            err = put_parts(render, (struct sma_str){from, (size_t)(before.ptr - from)});
            from = before.ptr;
            table_count = 1;
        }
        before = item.line;
    }
    if (err != SMA_ERR_OK)
        return err;
    return put_parts(render, (struct sma_str){from, (size_t)(text.ptr + text.len - from)});
}

static enum sma_err has_structure(struct sma_str text, bool *ret_has)
{
    struct sma_markup markup;
    sma_markup_init(&markup);
    enum sma_err err = sma_markup_parse(&markup, text, NULL);
    *ret_has = err == SMA_ERR_OK && markup.mark_count > 0;
    sma_markup_fini(&markup);
    return err;
}

/* -- the operation ----------------------------------------------------------------------------- */

static enum sma_err put_text(struct render *render, struct sma_str text, bool has_attach,
                             bool may_be_card)
{
    struct sma_buf clean;
    bool is_card = false;
    sma_buf_init(&clean, SOURCE_BYTES_MAX);
    put_clean(&clean, text, false, has_attach);
    enum sma_err err = clean.err;
    struct sma_str core = sma_str_trim(sma_buf_str(&clean));
    if (err == SMA_ERR_OK && may_be_card)
        err = has_structure(core, &is_card);
    if (err == SMA_ERR_OK && is_card) {
        sma_buf_clear(&clean);
        put_clean(&clean, text, true, has_attach);
        err = clean.err;
        core = sma_str_trim(sma_buf_str(&clean));
    }
    render->is_card = is_card;
    if (err == SMA_ERR_OK)
        err = is_card ? put_cards(render, core) : put_parts(render, core);
    sma_buf_fini(&clean);
    return err;
}

static enum sma_err put_files(struct render *render, struct sma_str text)
{
    struct sma_attach_reader reader;
    struct sma_attach_line attach;
    enum sma_err err = SMA_ERR_OK;
    sma_attach_reader_init(&reader, text);
    while (err == SMA_ERR_OK && sma_attach_next_file(&reader, &attach)) {
        if (attach.caption.len > 0) /* the platform has none: a text in front of the file */
            err = put_text(render, attach.caption, false, false);
        sma_part_begin_file(&render->part, attach.kind, attach.target);
        emit(render);
        if (err == SMA_ERR_OK)
            err = render->part.err;
    }
    return err;
}

static enum sma_err put_own_card(struct render *render, struct sma_str json)
{
    sma_buf_clear(&render->part);
    sma_buf_put_char(&render->part, SMA_RENDERED_OWN_CARD);
    sma_buf_put_str(&render->part, json);
    if (render->part.err == SMA_ERR_OK)
        emit(render);
    return render->part.err;
}

void feishu_put_clean_text(struct sma_buf *buf, struct sma_str text, bool is_markdown)
{
    put_clean(buf, text, is_markdown, false);
}

enum sma_err feishu_render(const struct sma_deliver *row, sma_part_fn *each, void *user)
{
    enum sma_err err;
    if (sma_part_render_whole(row, each, user, &err))
        return err;
    bool is_own = sma_intent_is_answer(row->intent);
    struct render render = {.each = each, .user = user};
    sma_buf_init(&render.part, 2 * SOURCE_BYTES_MAX);
    if (row->intent == SMA_INTENT_CARD) {
        err = put_own_card(&render, row->text);
        sma_buf_fini(&render.part);
        return err;
    }
    err = row->text.len == 0 ? SMA_ERR_OK : put_text(&render, row->text, is_own, is_own);
    if (err == SMA_ERR_OK && is_own && row->text.len > 0)
        err = put_files(&render, row->text);
    sma_buf_fini(&render.part);
    return err;
}

enum sma_err feishu_part_decode(struct sma_str part_bytes, struct feishu_part *ret_part)
{
    struct sma_rendered_part read;
    SMA_TRY(sma_part_decode(part_bytes, &read));
    if (read.mark == SMA_RENDERED_CARD)
        *ret_part = (struct feishu_part){.kind = FEISHU_PART_CONSENT, .text = read.first};
    else if (read.mark == SMA_RENDERED_REACTION)
        *ret_part = (struct feishu_part){.kind = FEISHU_PART_REACTION, .text = read.first};
    else if (read.mark == SMA_RENDERED_OWN_CARD)
        *ret_part = (struct feishu_part){.kind = FEISHU_PART_OWN_CARD, .text = read.first};
    else if (read.mark == SMA_RENDERED_FILE)
        *ret_part = (struct feishu_part){
            .kind = FEISHU_PART_FILE, .file_kind = sma_str(read.file_kind), .target = read.first};
    else if (read.second.len == 0)
        return SMA_ERR_BADINPUT;
    else if (read.first.len > 0)
        *ret_part = (struct feishu_part){.kind = FEISHU_PART_CARD, .text = read.first};
    else
        *ret_part = (struct feishu_part){.kind = FEISHU_PART_TEXT, .text = read.second};
    return SMA_ERR_OK;
}

void feishu_key(const struct sma_deliver *row, uint32_t part, struct sma_buf *buf)
{
    sma_buf_put_text(buf, "sma-");
    if (row->salt != 0)
        sma_buf_printf(buf, "%016llx", (unsigned long long)row->salt);
    else
        sma_buf_put_u64(buf, row->outbox_id);
    sma_buf_put_char(buf, '-');
    sma_buf_put_u64(buf, part);
}

bool feishu_is_group(const struct sma_route *route)
{
    return route->chat_type.len > 0 && !sma_str_is_equal(route->chat_type, SMA_STR("p2p"));
}
