/* telegram_render.c — an outbox row into parts, and parts as bytes. See telegram_out.h. */
#include "telegram_out_priv.h"

#include "adapters/common/part.h"
#include "runtime/text/attach_text.h"
#include "sma/text.h"

#define PART_ROOM (TELEGRAM_PART_BYTES_MAX + TELEGRAM_PART_UNITS * 3 + SMA_RENDERED_TEXT_HEAD_BYTES)

const struct sma_markup_limits telegram_markup_limits = {
    .units_max = TELEGRAM_PART_UNITS,
    .bytes_max = TELEGRAM_PART_BYTES_MAX,
    .mark_bytes = 48, /* <pre><code class="language-"></code></pre> and a little */
};
static const char *const link_schemes[] = {"http:", "https:", "tg:", NULL};
const struct sma_markup_options telegram_markup_options = {link_schemes};

/* -- text parts -------------------------------------------------------------------------------- */
struct output
{
    struct sma_buf bytes; /* of the part being made */
    sma_part_fn *each;
    void *user;
    enum sma_err err;
    bool is_last_only; /* keep the part in `bytes`, do not give it out */
};

static void finish_part(struct output *output)
{
    if (output->bytes.err != SMA_ERR_OK)
        output->err = output->bytes.err;
    else if (!output->is_last_only && output->err == SMA_ERR_OK)
        output->each(output->user, sma_buf_str(&output->bytes));
}

/* The words alone, for when their marks are refused: where a link leads is a part of what was
 * said. */
static void put_plain(struct sma_buf *buf, const struct sma_markup_part *part)
{
    size_t at = 0, begin = buf->len;
    for (uint32_t i = 0; i < part->mark_count; i++) { /* links stand in order, one at a time */
        const struct sma_mark *mark = &part->marks[i];
        struct sma_str said = {part->text.ptr + mark->from, mark->to - mark->from};
        if (mark->kind != SMA_MARK_LINK || sma_str_is_equal(said, mark->detail))
            continue;
        sma_buf_put(buf, part->text.ptr + at, mark->to - at);
        sma_buf_put_text(buf, " (");
        sma_buf_put_str(buf, mark->detail);
        sma_buf_put_char(buf, ')');
        at = mark->to;
    }
    sma_buf_put(buf, part->text.ptr + at, part->text.len - at);
    if (buf->err == SMA_ERR_OK && sma_utf16_length((struct sma_str){
                                      buf->ptr + begin, buf->len - begin}) > TELEGRAM_PART_UNITS) {
        buf->len = begin;
        sma_buf_put_str(buf, part->text);
    }
}

static void make_text_part(void *user, const struct sma_markup_part *part)
{
    struct output *output = user;
    struct sma_buf *bytes = &output->bytes;
    sma_part_begin_text(bytes);
    if (part->mark_count > 0)
        telegram_put_html(bytes, part);
    sma_part_end_marked(bytes);
    put_plain(bytes, part);
    finish_part(output);
}

/* Not one letter or digit, of any script: what is left when the attachment lines stood under a
 * rule. */
static bool is_decoration(struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i], lower = byte | 0x20;
        if ((lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') || byte >= 0x80)
            return false;
    }
    return true;
}

/* `is_optional`: files follow, so a text in which nothing is said need not be sent. */
static enum sma_err render_text(struct output *output, struct sma_str text, bool is_markdown,
                                bool is_optional)
{
    struct sma_markup markup;
    sma_markup_init(&markup);
    enum sma_err err = is_markdown ? sma_markup_parse(&markup, text, &telegram_markup_options)
                                   : sma_markup_set_plain(&markup, text);
    bool is_left_out = is_optional && markup.is_plain && is_decoration(text);
    if (err == SMA_ERR_OK && !is_left_out)
        err = sma_markup_split(&markup, &telegram_markup_limits, make_text_part, output);
    sma_markup_fini(&markup);
    return err != SMA_ERR_OK ? err : output->err;
}

/* -- file parts -------------------------------------------------------------------------------- */
static void make_file_part(struct output *output, const struct sma_attach_line *attachment)
{
    struct sma_buf *bytes = &output->bytes;
    sma_part_begin_file(bytes, attachment->kind, attachment->target);
    telegram_put_cut(bytes, attachment->caption, TELEGRAM_CAPTION_UNITS_MAX);
    finish_part(output);
}

static void render_files(struct output *output, struct sma_str text)
{
    struct sma_attach_reader reader;
    struct sma_attach_line attachment;
    sma_attach_reader_init(&reader, text);
    while (output->err == SMA_ERR_OK && sma_attach_next_file(&reader, &attachment))
        make_file_part(output, &attachment);
}

static void init_output(struct output *output, sma_part_fn *each, void *user, size_t bytes_max)
{
    *output = (struct output){.each = each, .user = user, .err = SMA_ERR_OK};
    sma_buf_init(&output->bytes, bytes_max);
}

enum sma_err telegram_render(const struct sma_deliver *row, sma_part_fn *each, void *user)
{
    struct output output;
    struct sma_buf rest;
    enum sma_err err;
    if (sma_part_render_whole(row, each, user, &err))
        return err;
    init_output(&output, each, user, PART_ROOM + row->text.len);
    sma_buf_init(&rest, row->text.len + 1);
    bool is_markdown = sma_intent_is_answer(row->intent);
    bool has_files = is_markdown && sma_attach_put_rest(&rest, row->text, false) > 0;
    err = rest.err;
    if (err == SMA_ERR_OK)
        err = render_text(&output, has_files ? sma_buf_str(&rest) : row->text, is_markdown,
                          has_files);
    if (err == SMA_ERR_OK && has_files) {
        render_files(&output, row->text);
        err = output.err;
    }
    sma_buf_fini(&rest);
    sma_buf_fini(&output.bytes);
    return err;
}

enum sma_err telegram_render_preview(struct sma_str text, sma_part_fn *each, void *user)
{
    struct output output;
    struct sma_buf rest;
    init_output(&output, each, user, PART_ROOM + text.len);
    output.is_last_only = true;
    sma_buf_init(&rest, text.len + 1);
    bool has_files = sma_attach_put_rest(&rest, text, true) > 0;
    enum sma_err err = rest.err;
    if (err == SMA_ERR_OK)
        err = render_text(&output, sma_buf_str(&rest), true, has_files);
    if (err == SMA_ERR_OK && output.bytes.len > 0)
        each(user, sma_buf_str(&output.bytes));
    sma_buf_fini(&rest);
    sma_buf_fini(&output.bytes);
    return err;
}

/* -- reading ----------------------------------------------------------------------------------- */
enum sma_err telegram_part_decode(struct sma_str part_bytes, struct telegram_part *ret_part)
{
    struct sma_rendered_part read;
    SMA_TRY(sma_part_decode(part_bytes, &read));
    if (read.mark == SMA_RENDERED_CARD)
        *ret_part = (struct telegram_part){.kind = TELEGRAM_PART_CARD, .card_json = read.first};
    else if (read.mark == SMA_RENDERED_REACTION)
        *ret_part = (struct telegram_part){.kind = TELEGRAM_PART_REACTION, .emoji = read.first};
    else if (read.mark == SMA_RENDERED_TEXT)
        *ret_part = (struct telegram_part){
            .kind = TELEGRAM_PART_TEXT, .html = read.first, .plain = read.second};
    else
        *ret_part = (struct telegram_part){.kind = TELEGRAM_PART_FILE,
                                           .file_kind = sma_str(read.file_kind),
                                           .target = read.first,
                                           .caption = read.second};
    return SMA_ERR_OK;
}
