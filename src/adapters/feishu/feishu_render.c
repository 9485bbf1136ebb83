/* feishu_render.c — text to parts. See feishu_out.h. */
#include "feishu_out.h"

#include <stdio.h>

#include "adapters/common/part.h"
#include "runtime/delivery/split.h"
#include "runtime/markup/markup.h"
#include "sma/limits.h"
#include "sma/text.h"

/* The first byte of a part says what follows. */
#define PART_TEXT 't'
#define PART_CARD 'c'
#define PART_FILE 'f' /* kind, newline, target */
#define PART_CONSENT 'q'
#define PART_REACTION 'r'

#define AT_TAG_BYTES_MAX 256
#define SOURCE_BYTES_MAX (4 * SMA_TEXT_BYTES_MAX)

struct render
{
    sma_part_fn *each;
    void *user;
    char kind;
    struct sma_buf part;
};
/* A line that asks for a file. Slices point into the line. */
struct attach
{
    const char *kind;
    struct sma_str target, caption;
};

static void emit(struct render *render)
{
    if (render->part.err == SMA_ERR_OK && render->part.len > 1)
        render->each(render->user, sma_buf_str(&render->part));
}

static void emit_split(void *user, const struct sma_split_part *part)
{
    struct render *render = user;
    if (sma_text_is_blank(part->body)) /* a message of blanks is refused */
        return;
    sma_buf_clear(&render->part);
    sma_buf_put_char(&render->part, render->kind);
    sma_buf_put_str(&render->part, part->prefix);
    sma_buf_put_str(&render->part, part->body);
    sma_buf_put_str(&render->part, part->suffix);
    emit(render);
}

static enum sma_err put_parts(struct render *render, struct sma_str text)
{
    uint32_t units_max = render->kind == PART_CARD ? FEISHU_CARD_UNITS_MAX : FEISHU_TEXT_UNITS_MAX;
    enum sma_err err = sma_text_split(text, units_max, emit_split, render);
    return err == SMA_ERR_OK ? render->part.err : err;
}

/* -- lines ------------------------------------------------------------------------------------- */

static struct sma_str take_line(struct sma_str *rest) /* with its newline */
{
    const char *end = memchr(rest->ptr, '\n', rest->len);
    size_t len = end == NULL ? rest->len : (size_t)(end + 1 - rest->ptr);
    struct sma_str line = {rest->ptr, len};
    rest->ptr += len;
    rest->len -= len;
    return line;
}

/* Length of the fence marker at the line's head, 0 = none; the same character closes it. */
static size_t fence_length(struct sma_str line, char *ret_mark)
{
    size_t from = 0;
    while (from < line.len && from < 4 && line.ptr[from] == ' ')
        from++;
    if (from == 4 || from == line.len || (line.ptr[from] != '`' && line.ptr[from] != '~'))
        return 0;
    size_t len = 0;
    while (from + len < line.len && line.ptr[from + len] == line.ptr[from])
        len++;
    *ret_mark = line.ptr[from];
    return len >= 3 ? len : 0;
}

/* Where the reader stands relative to fenced code, line by line. */
struct fence_state
{
    size_t len; /* 0 = outside */
    char mark;
};

/* @return whether this line belongs to fenced code (its fences included) */
static bool step_fence(struct fence_state *state, struct sma_str line)
{
    char mark = 0;
    size_t len = fence_length(line, &mark);
    if (state->len == 0) {
        *state = (struct fence_state){len, mark};
        return len > 0;
    }
    if (len >= state->len && mark == state->mark)
        *state = (struct fence_state){0};
    return true;
}

static bool read_attach(struct sma_str line, struct attach *ret_attach)
{
    static const char *const kinds[] = {"photo", "document", "voice", "audio"};
    struct sma_str rest = sma_str_trim(line);
    struct sma_str head = SMA_STR("@attach ");
    if (rest.len <= head.len ||
        !sma_str_is_equal_nocase((struct sma_str){rest.ptr, head.len}, head))
        return false;
    rest = sma_str_trim((struct sma_str){rest.ptr + head.len, rest.len - head.len});
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        size_t len = strlen(kinds[i]);
        if (rest.len <= len || (rest.ptr[len] != ' ' && rest.ptr[len] != '\t') ||
            !sma_str_is_equal_nocase((struct sma_str){rest.ptr, len}, sma_str(kinds[i])))
            continue;
        struct sma_str target = {rest.ptr + len, rest.len - len}, caption = {"", 0};
        const char *bar = memchr(target.ptr, '|', target.len);
        if (bar != NULL) {
            caption = sma_str_trim(
                (struct sma_str){bar + 1, (size_t)(target.ptr + target.len - bar - 1)});
            target.len = (size_t)(bar - target.ptr);
        }
        *ret_attach = (struct attach){kinds[i], sma_str_trim(target), caption};
        return ret_attach->target.len > 0;
    }
    return false;
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

/* The text without @attach lines, cleaned for its kind of message. */
static void put_clean(struct sma_buf *buf, struct sma_str text, bool is_markdown, bool has_attach)
{
    struct fence_state fence = {0};
    struct attach attach;
    while (text.len > 0) {
        struct sma_str line = take_line(&text);
        bool is_code = step_fence(&fence, line);
        if (has_attach && !is_code && read_attach(line, &attach))
            continue;
        put_clean_line(buf, line, is_markdown && !is_code);
    }
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
    struct fence_state fence = {0};
    struct sma_str rest = text, before = {text.ptr, 0};
    const char *from = text.ptr;
    size_t table_count = 0;
    enum sma_err err = SMA_ERR_OK;
    while (rest.len > 0 && err == SMA_ERR_OK) {
        struct sma_str line = take_line(&rest);
        bool is_code = step_fence(&fence, line);
        bool has_head = before.len > 0 && memchr(before.ptr, '|', before.len) != NULL;
        if (!is_code && has_head && is_table_rule(line) && !is_table_rule(before) &&
            table_count++ == FEISHU_CARD_TABLE_COUNT_MAX) {
            err = put_parts(render, (struct sma_str){from, (size_t)(before.ptr - from)});
            from = before.ptr;
            table_count = 1;
        }
        before = line;
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
    render->kind = is_card ? PART_CARD : PART_TEXT;
    if (err == SMA_ERR_OK)
        err = is_card ? put_cards(render, core) : put_parts(render, core);
    sma_buf_fini(&clean);
    return err;
}

static enum sma_err put_files(struct render *render, struct sma_str text)
{
    struct fence_state fence = {0};
    struct attach attach;
    enum sma_err err = SMA_ERR_OK;
    while (text.len > 0 && err == SMA_ERR_OK) {
        struct sma_str line = take_line(&text);
        if (step_fence(&fence, line) || !read_attach(line, &attach))
            continue;
        if (attach.caption.len > 0)
            err = put_text(render, attach.caption, false, false);
        sma_buf_clear(&render->part);
        sma_buf_printf(&render->part, "%c%s\n", PART_FILE, attach.kind);
        sma_buf_put_str(&render->part, attach.target);
        emit(render);
        if (err == SMA_ERR_OK)
            err = render->part.err;
    }
    return err;
}

void feishu_put_clean_text(struct sma_buf *buf, struct sma_str text, bool is_markdown)
{
    put_clean(buf, text, is_markdown, false);
}

enum sma_err feishu_render(const struct sma_deliver *row, sma_part_fn *each, void *user)
{
    if (row->intent == SMA_INTENT_REACTION)
        return sma_part_render_whole(row, PART_REACTION, each, user);
    if (row->intent == SMA_INTENT_APPROVAL_REQUEST || row->intent == SMA_INTENT_APPROVAL_OUTCOME) {
        enum sma_err card_err = sma_part_render_whole(row, PART_CONSENT, each, user);
        if (card_err != SMA_ERR_BADINPUT) /* what is no card is better read as it is than lost */
            return card_err;
    }
    bool is_own = row->intent == SMA_INTENT_ASSISTANT_TEXT;
    struct render render = {.each = each, .user = user};
    sma_buf_init(&render.part, SOURCE_BYTES_MAX);
    enum sma_err err =
        row->text.len == 0 ? SMA_ERR_OK : put_text(&render, row->text, is_own, is_own);
    if (err == SMA_ERR_OK && is_own && row->text.len > 0)
        err = put_files(&render, row->text);
    sma_buf_fini(&render.part);
    return err;
}

enum sma_err feishu_part_decode(struct sma_str part_bytes, struct feishu_part *ret_part)
{
    if (part_bytes.len < 2)
        return SMA_ERR_BADINPUT;
    struct sma_str rest = {part_bytes.ptr + 1, part_bytes.len - 1};
    if (part_bytes.ptr[0] == PART_TEXT || part_bytes.ptr[0] == PART_CARD) {
        *ret_part = (struct feishu_part){.kind = part_bytes.ptr[0] == PART_TEXT ? FEISHU_PART_TEXT
                                                                                : FEISHU_PART_CARD,
                                         .text = rest};
        return SMA_ERR_OK;
    }
    if (part_bytes.ptr[0] == PART_CONSENT || part_bytes.ptr[0] == PART_REACTION) {
        *ret_part = (struct feishu_part){
            .kind = part_bytes.ptr[0] == PART_CONSENT ? FEISHU_PART_CONSENT : FEISHU_PART_REACTION,
            .text = rest};
        return SMA_ERR_OK;
    }
    const char *end = memchr(rest.ptr, '\n', rest.len);
    if (part_bytes.ptr[0] != PART_FILE || end == NULL || end + 1 == rest.ptr + rest.len)
        return SMA_ERR_BADINPUT;
    size_t len = (size_t)(end - rest.ptr);
    *ret_part = (struct feishu_part){.kind = FEISHU_PART_FILE,
                                     .file_kind = {rest.ptr, len},
                                     .target = {end + 1, rest.len - len - 1}};
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
