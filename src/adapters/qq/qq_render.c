/* qq_render.c — an outbox row into parts, and parts as bytes. See qq_out.h. */
#include "qq_out.h"

#include "adapters/common/part.h"
#include "runtime/delivery/split.h"
#include "runtime/markup/markup.h"
#include "runtime/text/attach_text.h"
#include "sma/limits.h"
#include "sma/notices.h"
#include "sma/text.h"

#define NOTE_UNITS 64 /* room for the note that something was cut */
#define UNITS_LEAST \
    128 /* a text whose plain form is longer than its Markdown is cut no finer than this */

static struct sma_str slice(struct sma_str text, size_t from, size_t to)
{
    return (struct sma_str){text.ptr + from, to - from};
}

bool qq_is_group(const struct sma_route *route)
{
    return sma_str_is_equal(route->chat_type, SMA_STR("group")) ||
           sma_str_is_equal(route->chat_type, SMA_STR("channel"));
}

/* -- cleaning ---------------------------------------------------------------------------------- */
static struct sma_str take_line(struct sma_str text, size_t *at) /* with its newline */
{
    const char *end = memchr(text.ptr + *at, '\n', text.len - *at);
    size_t from = *at;
    *at = end == NULL ? text.len : (size_t)(end - text.ptr) + 1;
    return slice(text, from, *at);
}

/* `![words](target` at the head of rest: an image. */
static bool is_image(struct sma_str rest)
{
    if (!sma_str_starts_with(rest, SMA_STR("![")))
        return false;
    const char *end = memchr(rest.ptr, ']', rest.len);
    return end != NULL && end + 1 < rest.ptr + rest.len && end[1] == '(';
}

static bool is_call_to_all(struct sma_str rest)
{
    static const char *const calls[] = {"@everyone", "<qqbot-at-everyone"};
    for (size_t i = 0; i < SMA_COUNT_OF(calls); i++) {
        struct sma_str call = sma_str(calls[i]);
        if (rest.len >= call.len && sma_str_is_equal_nocase(slice(rest, 0, call.len), call))
            return true;
    }
    return false;
}

static void put_clean_line(struct sma_buf *buf, struct sma_str line, bool has_images)
{
    for (size_t i = 0; i < line.len; i++) {
        unsigned char byte = (unsigned char)line.ptr[i];
        struct sma_str rest = slice(line, i, line.len);
        if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f)
            continue;
        if (byte == '!' && has_images && is_image(rest)) {
            if (rest.ptr[2] == ']') { /* a link needs words */
                sma_buf_put_text(buf, "[image");
                i++;
            }
            continue;
        }
        sma_buf_put_char(buf, (char)byte);
        if ((byte == '@' || byte == '<') && is_call_to_all(rest))
            sma_buf_put_char(buf, ' ');
    }
}

/* The text as it may be sent, without attachment lines. @return how many of those there were */
static size_t put_clean(struct sma_buf *buf, struct sma_str text, bool is_markdown, bool has_files)
{
    struct sma_attach_reader reader;
    struct sma_attach_item item;
    size_t file_count = 0;
    sma_attach_reader_init(&reader, text);
    while (sma_attach_next(&reader, &item)) {
        if (has_files && item.is_attachment)
            file_count++;
        else
            put_clean_line(buf, item.line, is_markdown && !item.is_fenced);
    }
    return file_count;
}

void qq_put_clean_text(struct sma_buf *buf, struct sma_str text, bool is_markdown)
{
    (void)put_clean(buf, text, is_markdown, false); /* no line of it is taken for a file */
}

/* -- text parts -------------------------------------------------------------------------------- */
struct output
{
    sma_part_fn *each; /* NULL = only count */
    void *user;
    bool is_markdown;
    uint32_t units_max; /* of either form of a part */
    size_t count, count_max;
    struct sma_str note;  /* behind the last part of count_max, when more follow; empty = nothing */
    struct sma_buf bytes; /* of the part being made */
    enum sma_err err;
};

/* Once more behind the Markdown parser: an entity or a mark inside the word hid it from
 * put_clean. */
static void put_disarmed(struct sma_buf *buf, struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.ptr[i];
        sma_buf_put_char(buf, byte);
        if ((byte == '@' || byte == '<') && is_call_to_all(slice(text, i, text.len)))
            sma_buf_put_char(buf, ' ');
    }
}

static void put_with_note(struct output *output, struct sma_str text)
{
    put_disarmed(&output->bytes, text);
    if (output->note.len > 0 && output->count + 1 == output->count_max) {
        sma_buf_put_text(&output->bytes, "\n\n");
        sma_buf_put_str(&output->bytes, output->note);
    }
}

static void finish_part(struct output *output)
{
    if (output->err == SMA_ERR_OK)
        output->err = output->bytes.err;
    if (output->err == SMA_ERR_OK)
        output->each(output->user, sma_buf_str(&output->bytes));
    output->count++;
}

static void make_text_part(struct output *output, struct sma_str markdown, struct sma_str plain)
{
    struct sma_buf *bytes = &output->bytes;
    if (output->each == NULL || output->count >= output->count_max) {
        output->count++;
        return;
    }
    sma_part_begin_text(bytes);
    if (!sma_str_is_equal(markdown, plain))
        put_with_note(output, markdown);
    sma_part_end_marked(bytes);
    put_with_note(output, plain);
    finish_part(output);
}

/* White space at the end, empty lines at the beginning; indentation stays. */
static struct sma_str trim_lines(struct sma_str text)
{
    while (text.len > 0 && memchr(" \t\r\n", text.ptr[text.len - 1], 4) != NULL)
        text.len--;
    while (text.len > 0 && (text.ptr[0] == '\n' || text.ptr[0] == '\r'))
        text = slice(text, 1, text.len);
    return text;
}

static bool is_quoted(const struct sma_markup *markup, size_t at)
{
    for (uint32_t i = 0; i < markup->mark_count; i++) {
        const struct sma_mark *mark = &markup->marks[i];
        if (mark->kind == SMA_MARK_QUOTE && at >= mark->from && at < mark->to)
            return true;
    }
    return false;
}

/* Of the marks only quotes would be missed in plain text. */
static void put_plain(struct sma_buf *buf, const struct sma_markup *markup)
{
    struct sma_str text = sma_buf_str(&markup->text);
    for (size_t at = 0; at < text.len;) {
        bool is_marked = is_quoted(markup, at);
        struct sma_str line = take_line(text, &at);
        if (is_marked)
            sma_buf_put_text(buf, "> ");
        sma_buf_put_str(buf, line);
    }
}

static void cut(struct output *output, struct sma_str text, uint32_t units);

struct cutting
{
    struct output *output;
    uint32_t units;
    struct sma_buf piece;
};

/* One slice of the source: a part, unless its plain form is too long (a wide table), which is cut
 * finer. */
static void take_slice(struct output *output, struct sma_str source, uint32_t units)
{
    static const char *const no_schemes[] = {NULL}; /* plain text has to show where links lead */
    static const struct sma_markup_options options = {no_schemes};
    source = trim_lines(source);
    if (sma_text_is_blank(source) || output->err != SMA_ERR_OK)
        return;
    if (!output->is_markdown) {
        make_text_part(output, source, source);
        return;
    }
    struct sma_markup markup;
    sma_markup_init(&markup);
    output->err = sma_markup_parse(&markup, source, &options);
    struct sma_buf flat;
    sma_buf_init(&flat, 3 * markup.text.len + 64);
    put_plain(&flat, &markup);
    if (output->err == SMA_ERR_OK)
        output->err = flat.err;
    struct sma_str plain = trim_lines(sma_buf_str(&flat));
    bool is_too_long = sma_utf16_length(plain) > output->units_max;
    if (is_too_long || sma_text_is_blank(plain))
        plain = source;
    if (is_too_long && units / 2 >= UNITS_LEAST)
        cut(output, source, units / 2);
    else
        make_text_part(output, source, plain);
    sma_buf_fini(&flat);
    sma_markup_fini(&markup);
}

static void on_split(void *user, const struct sma_split_part *part)
{
    struct cutting *cutting = user;
    sma_buf_clear(&cutting->piece);
    sma_buf_put_str(&cutting->piece, part->prefix);
    sma_buf_put_str(&cutting->piece, part->body);
    sma_buf_put_str(&cutting->piece, part->suffix);
    if (cutting->piece.err != SMA_ERR_OK && cutting->output->err == SMA_ERR_OK)
        cutting->output->err = cutting->piece.err;
    take_slice(cutting->output, sma_buf_str(&cutting->piece), cutting->units);
}

static void cut(struct output *output, struct sma_str text, uint32_t units)
{
    if (output->err != SMA_ERR_OK)
        return;
    struct cutting cutting = {.output = output, .units = units};
    sma_buf_init(&cutting.piece, text.len + 4096);
    enum sma_err err = sma_text_split(text, units, on_split, &cutting);
    if (err != SMA_ERR_OK && output->err == SMA_ERR_OK)
        output->err = err;
    sma_buf_fini(&cutting.piece);
}

static size_t count_parts(struct output *output, struct sma_str text, uint32_t units)
{
    struct output counting = {.is_markdown = output->is_markdown, .units_max = units};
    cut(&counting, text, units);
    if (output->err == SMA_ERR_OK)
        output->err = counting.err;
    return counting.count;
}

/* In at most count_max parts: as small as suits, else larger, else with a note that the rest is
 * missing. */
static void render_text(struct output *output, struct sma_str text, size_t count_max,
                        const struct sma_deliver *row)
{
    struct sma_buf note;
    sma_buf_init(&note, 1024);
    uint32_t units = QQ_PART_UNITS;
    if (count_parts(output, text, units) > count_max)
        units = QQ_PART_UNITS_LARGE;
    if (units == QQ_PART_UNITS_LARGE && count_parts(output, text, units) > count_max) {
        struct sma_str hint = row->language.len > 0 ? row->language : row->route.language;
        sma_notice_format(&note, sma_notice_language(SMA_LANGUAGE_AUTO, hint, true),
                          SMA_NOTICE_CUT_MORE);
        output->note = sma_buf_str(&note);
        units -= NOTE_UNITS;
        if (output->err == SMA_ERR_OK)
            output->err = note.err;
    }
    output->units_max = units;
    output->count_max = count_max;
    cut(output, text, units);
    sma_buf_fini(&note);
}

/* -- file parts -------------------------------------------------------------------------------- */
static void on_caption(void *user, const struct sma_split_part *part)
{
    if (part->index == 0)
        sma_buf_put_str(user, part->body);
    else if (part->index == 1)
        sma_buf_put_text(user, "\xE2\x80\xA6");
}

static void make_file_part(struct output *output, const struct sma_attach_line *attach)
{
    struct sma_buf *bytes = &output->bytes;
    sma_part_begin_file(bytes, attach->kind, attach->target);
    enum sma_err err = sma_text_split(attach->caption, QQ_CAPTION_UNITS_MAX, on_caption, bytes);
    if (err != SMA_ERR_OK && output->err == SMA_ERR_OK)
        output->err = err;
    finish_part(output);
}

static void render_files(struct output *output, struct sma_str text)
{
    struct sma_attach_reader reader;
    struct sma_attach_line attach;
    sma_attach_reader_init(&reader, text);
    while (output->err == SMA_ERR_OK && sma_attach_next_file(&reader, &attach))
        make_file_part(output, &attach);
}

/* -- the whole --------------------------------------------------------------------------------- */
uint32_t qq_replies_max(const struct sma_route *route)
{
    return sma_str_is_equal(route->chat_type, SMA_STR("c2c")) ? QQ_REPLIES_C2C : QQ_REPLIES_OTHER;
}

/* How many parts the text may have. What answers nothing, or comes after the last answer, is
 * active: no number. */
static size_t parts_left(const struct sma_deliver *row, size_t file_count)
{
    uint32_t replies = qq_replies_max(&row->route);
    if (row->route.message_id.len == 0)
        return SIZE_MAX;
    size_t left = row->reply_count < replies ? replies - row->reply_count : replies;
    left -= row->is_interim && left > 1; /* the run has not said its last word */
    return left > file_count + 1 ? left - file_count : 1;
}

enum sma_err qq_render(const struct sma_deliver *row, sma_part_fn *each, void *user)
{
    enum sma_err err;
    if (sma_part_render_whole(row, each, user, &err))
        return err;
    bool is_assistant = sma_intent_is_answer(row->intent);
    struct output output = {.each = each, .user = user, .is_markdown = is_assistant};
    struct sma_buf clean;
    sma_buf_init(&clean, 2 * row->text.len + 64);
    sma_buf_init(&output.bytes, 8 * row->text.len + 64 * 1024);
    size_t file_count = put_clean(&clean, row->text, is_assistant, is_assistant);
    output.err = clean.err;
    if (output.err == SMA_ERR_OK && clean.len > 0)
        render_text(&output, sma_buf_str(&clean), parts_left(row, file_count), row);
    if (output.err == SMA_ERR_OK && file_count > 0)
        render_files(&output, row->text);
    sma_buf_fini(&clean);
    sma_buf_fini(&output.bytes);
    return output.err;
}

/* -- what was left out ------------------------------------------------------------------------- */
struct remainder
{
    struct output counting;
    size_t shown_count;
    struct sma_buf piece, *rest;
    bool has_begun;
};

/* From the first slice that is not there as a whole; code that goes on there is fenced again. */
static void on_remainder(void *user, const struct sma_split_part *part)
{
    struct remainder *remainder = user;
    if (!remainder->has_begun) {
        sma_buf_clear(&remainder->piece);
        sma_buf_put_str(&remainder->piece, part->prefix);
        sma_buf_put_str(&remainder->piece, part->body);
        sma_buf_put_str(&remainder->piece, part->suffix);
        take_slice(&remainder->counting, sma_buf_str(&remainder->piece),
                   remainder->counting.units_max);
        remainder->has_begun = remainder->counting.count > remainder->shown_count;
        if (remainder->has_begun)
            sma_buf_put_str(remainder->rest, part->prefix);
    }
    if (remainder->has_begun)
        sma_buf_put_str(remainder->rest, part->body);
}

static SMA_CHECKED enum sma_err put_remainder(struct sma_str text, size_t shown_count,
                                              struct sma_buf *rest)
{
    struct remainder remainder = {
        .counting = {.is_markdown = true, .units_max = QQ_PART_UNITS_LARGE - NOTE_UNITS},
        .shown_count = shown_count,
        .rest = rest};
    sma_buf_init(&remainder.piece, text.len + 4096);
    enum sma_err err = sma_text_split(text, remainder.counting.units_max, on_remainder, &remainder);
    if (err == SMA_ERR_OK)
        err = remainder.counting.err;
    if (err == SMA_ERR_OK)
        err = remainder.piece.err;
    sma_buf_fini(&remainder.piece);
    return err == SMA_ERR_OK ? rest->err : err;
}

enum sma_err qq_rest(const struct sma_deliver *row, uint32_t part_count, struct sma_buf *rest)
{
    struct output output = {.is_markdown = true};
    struct sma_buf clean;
    enum sma_err err = SMA_ERR_NOTFOUND;
    if (row->intent != SMA_INTENT_ASSISTANT_TEXT || row->route.message_id.len == 0)
        return err; /* an active message has as many parts as it needs */
    sma_buf_init(&clean, 2 * row->text.len + 64);
    size_t file_count = put_clean(&clean, row->text, true, true);
    size_t shown_count = part_count > file_count ? part_count - file_count : 0;
    struct sma_str text = sma_buf_str(&clean);
    bool is_whole = shown_count == 0 || count_parts(&output, text, QQ_PART_UNITS) <= shown_count ||
                    count_parts(&output, text, QQ_PART_UNITS_LARGE) <= shown_count;
    if (clean.err != SMA_ERR_OK || output.err != SMA_ERR_OK)
        err = clean.err != SMA_ERR_OK ? clean.err : output.err;
    else if (!is_whole)
        err = put_remainder(text, shown_count, rest);
    sma_buf_fini(&clean);
    return err;
}

/* -- reading ----------------------------------------------------------------------------------- */
enum sma_err qq_part_decode(struct sma_str part_bytes, struct qq_part *ret_part)
{
    struct sma_rendered_part read;
    SMA_TRY(sma_part_decode(part_bytes, &read));
    if (read.mark == SMA_RENDERED_TEXT && read.second.len == 0)
        return SMA_ERR_BADINPUT;
    if (read.mark == SMA_RENDERED_CARD)
        *ret_part = (struct qq_part){.kind = QQ_PART_CARD, .card_json = read.first};
    else if (read.mark == SMA_RENDERED_REACTION)
        *ret_part = (struct qq_part){.kind = QQ_PART_REACTION};
    else if (read.mark == SMA_RENDERED_TEXT)
        *ret_part =
            (struct qq_part){.kind = QQ_PART_TEXT, .markdown = read.first, .plain = read.second};
    else
        *ret_part = (struct qq_part){.kind = QQ_PART_FILE,
                                     .file_kind = sma_str(read.file_kind),
                                     .target = read.first,
                                     .caption = read.second};
    return SMA_ERR_OK;
}

/* -- passive or active ------------------------------------------------------------------------- */
bool qq_is_answer_kept(const struct sma_attempt *attempt)
{
    return attempt->is_interim || attempt->intent == SMA_INTENT_NOTICE ||
           attempt->intent == SMA_INTENT_APPROVAL_OUTCOME;
}

enum qq_way qq_way_choose(const struct sma_attempt *attempt)
{
    uint32_t limit = qq_replies_max(&attempt->route) - qq_is_answer_kept(attempt);
    bool is_answer = attempt->route.message_id.len > 0 && attempt->reply_count < limit &&
                     attempt->part < limit - attempt->reply_count;
    return is_answer ? QQ_PASSIVE : QQ_ACTIVE;
}

/* The first two forms have the numbers that they had in older versions: a part may be repeated by a
 * newer one. */
uint32_t qq_msg_seq(uint64_t outbox_id, uint32_t part, uint32_t form)
{
    static const uint8_t key[16] = "qq msg_seq"; /* no secret: it only has to spread */
    uint64_t run = outbox_id >> 16, row = outbox_id & 0xffff;
    uint64_t place = (row * SMA_PART_COUNT_MAX + part % SMA_PART_COUNT_MAX) * 2 + form % 2 +
                     (uint64_t)(form / 2) * 0x10000 * SMA_PART_COUNT_MAX * 2;
    return (uint32_t)((sma_siphash(key, &run, sizeof run) % INT32_MAX + place) % INT32_MAX + 1);
}
