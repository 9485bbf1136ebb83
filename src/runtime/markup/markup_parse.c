/*
 * markup_parse.c — Markdown into flat text and marks, driven by md4c's callbacks.
 *
 * A line begins lazily: blocks only ask for a break, and the next text writes it, then the
 * indentation of the lists and quotes it stands in. Marks of blocks wait for that moment too
 * (`from` is PENDING), so that a quote begins at its first line and an empty block leaves nothing
 * behind.
 */
#include "markup_priv.h"

#include "sma/text.h"

#include <md4c.h>

/* Raw HTML is text: the model means it as such, and no chat shows it. Fixed for a renderer's
 * version. */
#define FLAGS (MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_NOHTML)
#define CONTAINER_COUNT_MAX 64 /* lists and quotes inside each other that are told apart */
#define INDENT_COUNT_MAX 8     /* of these, how many indent: keeps the text linear in the source */
#define SPAN_COUNT_MAX 256     /* spans inside each other; with more the text is kept as it came */
#define LINK_COUNT_MAX 16      /* links and images inside each other; as above */
#define PAD_BYTES 64           /* see make_copy */
#define PENDING UINT32_MAX
#define RULE_TEXT "————————"

static const char *const default_schemes[] = {"http:", "https:", NULL};

/* A list or a quote that is open. */
struct container
{
    bool is_list, is_ordered, is_tight;
    bool is_marked; /* a quote inside a quote: lines begin with "> " */
    char delimiter;
    unsigned next;  /* number of the next item */
    unsigned width; /* indentation of lines of the current item */
};
struct link
{
    struct sma_str target;
    uint32_t detail_at; /* where the target is in details */
    size_t text_at;     /* where the link's text begins in the sink */
    bool has_mark, is_image;
};
struct reader
{
    struct sma_markup *out;
    const char *const *schemes;
    enum sma_err err;
    struct sma_buf target; /* the target being decoded */
    unsigned breaks;       /* newlines to write before the next text */
    bool is_line_open;     /* its indentation is written */
    bool has_content;      /* something that a person sees, dashes aside */
    size_t marker_end;     /* text length right after a bullet; SIZE_MAX = other text came since */
    struct container containers[CONTAINER_COUNT_MAX];
    unsigned container_count, quote_count;
    struct link links[LINK_COUNT_MAX];
    unsigned link_count;
    uint8_t spans[SPAN_COUNT_MAX]; /* MD_SPANTYPE of the open ones */
    unsigned span_count;
    uint32_t open[SMA_MARK_KIND_COUNT];  /* index of the open mark of this kind */
    uint32_t depth[SMA_MARK_KIND_COUNT]; /* how often it was opened; only the outermost is a mark */
    struct table table;
    bool is_in_table;
    bool has_signs; /* markup_cjk.c put some in */
};

static struct sma_buf *sink(struct reader *reader)
{
    return reader->is_in_table ? &reader->table.cells : &reader->out->text;
}

static struct container *top(struct reader *reader)
{
    unsigned count = reader->container_count;
    return count == 0 || count > CONTAINER_COUNT_MAX ? NULL : &reader->containers[count - 1];
}

static unsigned gap(struct reader *reader)
{
    struct container *container = top(reader);
    bool is_deep = reader->container_count > CONTAINER_COUNT_MAX;
    return is_deep || (container != NULL && container->is_list && container->is_tight) ? 1 : 2;
}

static void put_piece(struct reader *reader, struct sma_buf *buf, struct sma_str piece)
{
    if (reader->has_signs)
        sma_markup_put_unsigned(buf, piece);
    else
        sma_buf_put_str(buf, piece);
}

/* -- lines ------------------------------------------------------------------------------------- */
static void break_line(struct reader *reader, unsigned breaks)
{
    struct sma_buf *text = &reader->out->text;
    if (text->len == 0 || text->len == reader->marker_end)
        return; /* nothing before it, or only the bullet whose text this is */
    reader->breaks = breaks > reader->breaks ? breaks : reader->breaks;
    reader->is_line_open = false;
}

static void put_breaks(struct reader *reader)
{
    for (; reader->breaks > 0; reader->breaks--)
        sma_buf_put_char(&reader->out->text, '\n');
    struct sma_markup *out = reader->out;
    for (uint32_t i = out->mark_count; i > 0 && out->marks[i - 1].from == PENDING; i--)
        out->marks[i - 1].from = (uint32_t)out->text.len;
}

static void put_indent(struct reader *reader)
{
    unsigned count = reader->container_count;
    if (count > INDENT_COUNT_MAX)
        count = INDENT_COUNT_MAX;
    for (unsigned i = 0; i < count; i++) {
        const struct container *container = &reader->containers[i];
        if (container->is_marked)
            sma_buf_put_text(&reader->out->text, "> ");
        for (unsigned blank = 0; container->is_list && blank < container->width; blank++)
            sma_buf_put_char(&reader->out->text, ' ');
    }
}

static void begin_line(struct reader *reader)
{
    if (reader->is_in_table)
        return;
    put_breaks(reader);
    if (!reader->is_line_open)
        put_indent(reader);
    reader->is_line_open = true;
    reader->marker_end = SIZE_MAX;
}

/* -- marks ------------------------------------------------------------------------------------- */
static bool open_mark(struct reader *reader, enum sma_mark_kind kind, bool is_pending)
{
    if (reader->is_in_table || reader->depth[kind]++ > 0)
        return false;
    struct sma_mark *mark = sma_markup_add(reader->out, &reader->err);
    if (mark == NULL)
        return false;
    uint32_t from = is_pending ? PENDING : (uint32_t)reader->out->text.len;
    *mark = (struct sma_mark){(uint8_t)kind, from, from, {NULL, 0}};
    reader->open[kind] = reader->out->mark_count - 1;
    return true;
}

static void close_mark(struct reader *reader, enum sma_mark_kind kind)
{
    if (reader->is_in_table)
        return;
    if (reader->depth[kind] == 0) {
        reader->err = SMA_ERR_CORRUPT; /* see push_span */
        return;
    }
    if (--reader->depth[kind] > 0)
        return;
    struct sma_markup *out = reader->out;
    struct sma_mark *mark = &out->marks[reader->open[kind]];
    if (mark->from == PENDING || mark->from == out->text.len)
        out->mark_count = reader->open[kind]; /* empty, and so is what was inside it */
    else
        mark->to = (uint32_t)out->text.len;
}

/* Details are kept as offsets until the buffer stops moving. */
static void set_detail(struct reader *reader, uint32_t mark, struct sma_str detail)
{
    reader->out->marks[mark].detail =
        (struct sma_str){(const char *)(uintptr_t)reader->out->details.len, detail.len};
    sma_buf_put_str(&reader->out->details, detail);
}

static void settle_details(struct sma_markup *markup)
{
    for (uint32_t i = 0; i < markup->mark_count; i++) {
        struct sma_str *detail = &markup->marks[i].detail;
        detail->ptr = detail->len == 0 ? "" : markup->details.ptr + (uintptr_t)detail->ptr;
    }
}

/* -- links ------------------------------------------------------------------------------------- */
static void read_attribute(struct reader *reader, const MD_ATTRIBUTE *attribute)
{
    struct sma_buf *buf = &reader->target;
    sma_buf_clear(buf);
    for (unsigned i = 0; attribute->size > 0 && attribute->substr_offsets[i] < attribute->size;
         i++) {
        MD_OFFSET from = attribute->substr_offsets[i];
        struct sma_str piece = {attribute->text + from, attribute->substr_offsets[i + 1] - from};
        if (attribute->substr_types[i] == MD_TEXT_ENTITY)
            sma_markup_put_entity(buf, piece);
        else
            put_piece(reader, buf, piece);
    }
}

static bool is_scheme_wanted(const struct reader *reader, struct sma_str target)
{
    for (const char *const *scheme = reader->schemes; *scheme != NULL; scheme++) {
        struct sma_str wanted = sma_str(*scheme);
        if (target.len > wanted.len &&
            sma_str_is_equal_nocase((struct sma_str){target.ptr, wanted.len}, wanted))
            return true;
    }
    return false;
}

static void enter_link(struct reader *reader, const MD_ATTRIBUTE *target, bool is_image)
{
    if (reader->link_count == LINK_COUNT_MAX) {
        reader->err = SMA_ERR_TOOBIG;
        return;
    }
    reader->link_count++;
    begin_line(reader);
    read_attribute(reader, target);
    struct sma_str address = sma_buf_str(&reader->target);
    struct link *link = &reader->links[reader->link_count - 1];
    *link = (struct link){.text_at = sink(reader)->len, .is_image = is_image};
    link->detail_at = (uint32_t)reader->out->details.len;
    link->target.len = address.len;
    bool is_target = address.len > 0 && address.len <= SMA_MARKUP_TARGET_BYTES_MAX &&
                     is_scheme_wanted(reader, address) && !sma_text_is_blank(address);
    if (is_target && reader->depth[SMA_MARK_LINK] == 0)
        link->has_mark = open_mark(reader, SMA_MARK_LINK, false);
    if (link->has_mark)
        set_detail(reader, reader->open[SMA_MARK_LINK], address);
    else
        sma_buf_put_str(&reader->out->details, address);
}

/* Has the text of the link said already where it leads? */
static bool is_target_said(const struct reader *reader, const struct link *link,
                           struct sma_str text)
{
    static const struct sma_str mail = SMA_STR("mailto:");
    struct sma_str target = link->target;
    bool is_inner_image = link->is_image && reader->depth[SMA_MARK_LINK] > 0;
    if (target.len == 0 || target.ptr[0] == '#' || is_inner_image)
        /* a place in the document, or the picture of a link that has an address of its own */
        return true;
    if (sma_str_starts_with(target, mail))
        target = (struct sma_str){target.ptr + mail.len, target.len - mail.len};
    return sma_str_is_equal(target, text);
}

static void leave_link(struct reader *reader)
{
    struct link *link = &reader->links[--reader->link_count]; /* pop_span knows that there is one */
    struct sma_buf *buf = sink(reader);
    if (buf->err != SMA_ERR_OK || reader->out->details.err != SMA_ERR_OK)
        return;
    link->target.ptr = link->target.len == 0 ? "" : reader->out->details.ptr + link->detail_at;
    struct sma_str text = {buf->len == 0 ? "" : buf->ptr + link->text_at, buf->len - link->text_at};
    bool is_empty = sma_text_is_blank(text);
    if (is_empty) { /* show the address: it is all there is */
        sma_buf_put_str(buf, link->target);
        reader->has_content = reader->has_content || link->target.len > 0;
    } else if (!link->has_mark && !is_target_said(reader, link, text)) {
        sma_buf_put_text(buf, " (");
        sma_buf_put_str(buf, link->target);
        sma_buf_put_char(buf, ')');
    }
    if (link->has_mark)
        close_mark(reader, SMA_MARK_LINK);
}

/* -- blocks ------------------------------------------------------------------------------------ */
static void push_container(struct reader *reader, struct container container)
{
    if (reader->container_count++ < CONTAINER_COUNT_MAX)
        reader->containers[reader->container_count - 1] = container;
}

static void enter_list(struct reader *reader, bool is_ordered, unsigned start, bool is_tight,
                       char delimiter)
{
    break_line(reader, gap(reader));
    push_container(reader, (struct container){.is_list = true,
                                              .is_ordered = is_ordered,
                                              .is_tight = is_tight,
                                              .delimiter = delimiter,
                                              .next = start});
}

static void enter_item(struct reader *reader, const MD_BLOCK_LI_DETAIL *item)
{
    static const char *const bullets[] = {"\xE2\x80\xA2 ", "\xE2\x97\xA6 ", "\xE2\x96\xAA "};
    struct sma_buf *text = &reader->out->text;
    struct container *list = top(reader);
    break_line(reader, gap(reader));
    if (list != NULL)
        list->width = 0; /* the bullet stands where the list does */
    begin_line(reader);
    unsigned level = reader->container_count - reader->quote_count;
    if (list != NULL && list->is_ordered) {
        size_t before = text->len;
        sma_buf_put_u64(text, list->next++);
        sma_buf_put_char(text, list->delimiter);
        sma_buf_put_char(text, ' ');
        list->width = (unsigned)(text->len - before);
    } else if (!item->is_task) {
        sma_buf_put_text(text, bullets[level <= 1 ? 0 : level == 2 ? 1 : 2]);
    }
    if (list != NULL && !list->is_ordered)
        list->width = 2;
    if (item->is_task) /* a ballot box, empty or checked */
        sma_buf_put_text(text, item->task_mark == ' ' ? "\xE2\x98\x90 " : "\xE2\x98\x91 ");
    reader->marker_end = text->len;
}

static void enter_quote(struct reader *reader)
{
    break_line(reader, gap(reader));
    bool is_marked = !open_mark(reader, SMA_MARK_QUOTE, true);
    if (is_marked && reader->marker_end == reader->out->text.len) {
        sma_buf_put_text(&reader->out->text, "> "); /* on the line of its bullet */
        reader->marker_end = reader->out->text.len;
    }
    reader->quote_count++;
    push_container(reader, (struct container){.is_marked = is_marked});
}

/* A block of lines that keep their own white space: starts on a line of its own and is not
 * indented. */
static void enter_pre(struct reader *reader)
{
    break_line(reader, gap(reader));
    if (reader->out->text.len > 0 && reader->out->text.len == reader->marker_end)
        reader->breaks = 1;
    put_breaks(reader);
    reader->is_line_open = true;
    reader->marker_end = SIZE_MAX;
    (void)open_mark(reader, SMA_MARK_PRE, false); /* never inside another one */
}

static void leave_pre(struct reader *reader)
{
    struct sma_buf *text = &reader->out->text;
    uint32_t from = reader->out->marks[reader->open[SMA_MARK_PRE]].from;
    while (text->len > from && text->ptr[text->len - 1] == '\n')
        text->len--;
    close_mark(reader, SMA_MARK_PRE);
    break_line(reader, gap(reader));
}

static bool is_language(struct sma_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char byte = name.ptr[i];
        bool is_letter = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
        bool is_other =
            (byte >= '0' && byte <= '9') || (byte != '\0' && strchr("+#._-", byte) != NULL);
        if (!is_letter && !is_other)
            return false;
    }
    return name.len > 0 && name.len <= SMA_MARKUP_LANGUAGE_BYTES_MAX;
}

static void enter_code(struct reader *reader, const MD_BLOCK_CODE_DETAIL *code)
{
    enter_pre(reader);
    read_attribute(reader, &code->lang);
    struct sma_str language = sma_buf_str(&reader->target);
    if (reader->err == SMA_ERR_OK && is_language(language))
        set_detail(reader, reader->open[SMA_MARK_PRE], language);
}

static void leave_code(struct reader *reader, const MD_BLOCK_CODE_DETAIL *code)
{
    struct sma_buf *text = &reader->out->text;
    read_attribute(reader, &code->info);
    bool is_empty = reader->out->marks[reader->open[SMA_MARK_PRE]].from == text->len;
    if (is_empty && reader->target.len > 0) { /* a line that only looked like a fence */
        sma_buf_put_str(text, sma_buf_str(&reader->target));
        reader->has_content = true;
    }
    leave_pre(reader);
}

static void enter_table(struct reader *reader, const MD_BLOCK_TABLE_DETAIL *detail)
{
    enter_pre(reader);
    if (detail->col_count == 0 || detail->col_count > COLUMN_COUNT_MAX)
        reader->err = SMA_ERR_TOOBIG;
    sma_table_init(&reader->table, detail->col_count, detail->head_row_count);
    reader->is_in_table = true;
}

static void leave_table(struct reader *reader)
{
    reader->is_in_table = false;
    enum sma_err err = sma_table_put(&reader->table, &reader->out->text);
    if (reader->err == SMA_ERR_OK)
        reader->err = err;
    sma_table_fini(&reader->table);
    leave_pre(reader);
}

static void leave_cell(struct reader *reader, const MD_BLOCK_TD_DETAIL *cell)
{
    struct table *table = &reader->table;
    if (table->cell_count < table->column_count)
        table->aligns[table->cell_count] = (uint8_t)cell->align;
    enum sma_err err = sma_table_end_cell(table);
    if (reader->err == SMA_ERR_OK)
        reader->err = err;
}

static int verdict(const struct reader *reader)
{
    return reader->err != SMA_ERR_OK || reader->out->text.err != SMA_ERR_OK ||
           reader->out->details.err != SMA_ERR_OK || reader->target.err != SMA_ERR_OK ||
           reader->table.cells.err != SMA_ERR_OK;
}

/*
 * md4c 0.4.8 ends some spans twice, or never, when images and links overlap. Spans that do not
 * nest, or outlive their block, make the whole text plain: marks built on them would be wrong.
 * @return whether to go on
 */
static bool push_span(struct reader *reader, MD_SPANTYPE type)
{
    if (reader->span_count == SPAN_COUNT_MAX)
        return false;
    reader->spans[reader->span_count++] = (uint8_t)type;
    return true;
}

static bool pop_span(struct reader *reader, MD_SPANTYPE type)
{
    if (reader->span_count == 0 || reader->spans[reader->span_count - 1] != type)
        return false;
    reader->span_count--;
    return true;
}

/* -- callbacks --------------------------------------------------------------------------------- */
static int on_enter_block(MD_BLOCKTYPE type, void *detail, void *user)
{
    struct reader *reader = user;
    if (reader->span_count > 0)
        return -1;
    const MD_BLOCK_UL_DETAIL *bullets = detail;
    const MD_BLOCK_OL_DETAIL *numbers = detail;
    switch (type) {
    case MD_BLOCK_QUOTE:
        enter_quote(reader);
        break;
    case MD_BLOCK_UL:
        enter_list(reader, false, 0, bullets->is_tight != 0, 0);
        break;
    case MD_BLOCK_OL:
        enter_list(reader, true, numbers->start, numbers->is_tight != 0, numbers->mark_delimiter);
        break;
    case MD_BLOCK_LI:
        enter_item(reader, detail);
        break;
    case MD_BLOCK_HR:
        break_line(reader, gap(reader));
        begin_line(reader);
        sma_buf_put_text(&reader->out->text, RULE_TEXT);
        break_line(reader, gap(reader));
        break;
    case MD_BLOCK_H:
        break_line(reader, gap(reader));
        (void)open_mark(reader, SMA_MARK_BOLD, true);
        break;
    case MD_BLOCK_P:
        break_line(reader, gap(reader));
        break;
    case MD_BLOCK_CODE:
        enter_code(reader, detail);
        break;
    case MD_BLOCK_TABLE:
        enter_table(reader, detail);
        break;
    default: /* document, rows and cells; raw HTML does not come */
        break;
    }
    return verdict(reader);
}

static int on_leave_block(MD_BLOCKTYPE type, void *detail, void *user)
{
    struct reader *reader = user;
    if (reader->span_count > 0)
        return -1;
    switch (type) {
    case MD_BLOCK_QUOTE:
        close_mark(reader, SMA_MARK_QUOTE);
        reader->quote_count--;
        reader->container_count--;
        reader->marker_end = SIZE_MAX;
        break_line(reader, gap(reader));
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        reader->container_count--;
        break_line(reader, gap(reader));
        break;
    case MD_BLOCK_LI:
        reader->marker_end = SIZE_MAX; /* an item without text still is a line */
        break_line(reader, 1);
        break;
    case MD_BLOCK_H:
        close_mark(reader, SMA_MARK_BOLD);
        break_line(reader, gap(reader));
        break;
    case MD_BLOCK_P:
        break_line(reader, gap(reader));
        break;
    case MD_BLOCK_CODE:
        leave_code(reader, detail);
        break;
    case MD_BLOCK_TABLE:
        leave_table(reader);
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        leave_cell(reader, detail);
        break;
    default:
        break;
    }
    return verdict(reader);
}

static int mark_of(MD_SPANTYPE type)
{
    switch (type) {
    case MD_SPAN_EM:
        return SMA_MARK_ITALIC;
    case MD_SPAN_STRONG:
        return SMA_MARK_BOLD;
    case MD_SPAN_CODE:
        return SMA_MARK_CODE;
    case MD_SPAN_DEL:
        return SMA_MARK_STRIKE;
    default: /* the others belong to extensions that are off */
        return -1;
    }
}

static int on_enter_span(MD_SPANTYPE type, void *detail, void *user)
{
    struct reader *reader = user;
    int kind = mark_of(type);
    if (!push_span(reader, type))
        return -1;
    if (type == MD_SPAN_A)
        enter_link(reader, &((const MD_SPAN_A_DETAIL *)detail)->href, false);
    else if (type == MD_SPAN_IMG)
        enter_link(reader, &((const MD_SPAN_IMG_DETAIL *)detail)->src, true);
    if (kind >= 0) {
        begin_line(reader);
        (void)open_mark(reader, (enum sma_mark_kind)kind, false);
    }
    return verdict(reader);
}

static int on_leave_span(MD_SPANTYPE type, void *detail, void *user)
{
    struct reader *reader = user;
    int kind = mark_of(type);
    (void)detail;
    if (!pop_span(reader, type))
        return -1;
    if (type == MD_SPAN_A || type == MD_SPAN_IMG)
        leave_link(reader);
    if (kind >= 0)
        close_mark(reader, (enum sma_mark_kind)kind);
    return verdict(reader);
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size, void *user)
{
    struct reader *reader = user;
    if (type == MD_TEXT_BR || type == MD_TEXT_SOFTBR) { /* two lines written are two lines meant */
        if (reader->is_in_table)
            sma_buf_put_char(&reader->table.cells, ' ');
        else
            break_line(reader, 1);
        return verdict(reader);
    }
    struct sma_str piece = {text, size};
    begin_line(reader);
    struct sma_buf *buf = sink(reader);
    size_t before = buf->len;
    if (type == MD_TEXT_ENTITY)
        sma_markup_put_entity(buf, piece);
    else
        put_piece(reader, buf, piece);
    if (!reader->has_content && buf->err == SMA_ERR_OK && buf->len > before)
        reader->has_content =
            !sma_text_is_blank((struct sma_str){buf->ptr + before, buf->len - before});
    return verdict(reader);
}

/* -- parsing ----------------------------------------------------------------------------------- */
/* 0 = read; otherwise the markup is half full. */
static int parse_copy(struct reader *reader, struct sma_str copy)
{
    static const MD_PARSER parser = {
        0,    FLAGS, on_enter_block, on_leave_block, on_enter_span, on_leave_span, on_text,
        NULL, NULL};
    sma_buf_init(&reader->target, SMA_MARKUP_SOURCE_BYTES_MAX);
    int status = md_parse(copy.ptr, (MD_SIZE)copy.len, &parser, reader);
    if (status == 0)
        status = verdict(reader);
    sma_table_fini(&reader->table);
    sma_buf_fini(&reader->target);
    return status;
}

/*
 * md4c 0.4.8 looks a few bytes past the end of some texts (its issue 167) and is confused by NUL:
 * it gets a copy without NUL, of valid UTF-8, with blank room behind it. @return its length without
 * that room, SIZE_MAX: no memory
 */
static size_t make_copy(struct sma_buf *copy, struct sma_str source, bool *ret_has_signs)
{
    struct sma_buf valid, widened;
    sma_buf_init(&valid, SMA_MARKUP_SOURCE_BYTES_MAX * 3 + PAD_BYTES);
    sma_buf_init(&widened, SMA_MARKUP_SOURCE_BYTES_MAX * 6 + PAD_BYTES);
    sma_markup_put_valid(&valid, source, true);
    sma_markup_put_widened(&widened, sma_buf_str(&valid));
    *ret_has_signs = sma_markup_put_signed(copy, sma_buf_str(&widened));
    size_t len = copy->len;
    char *pad = sma_buf_reserve(copy, PAD_BYTES);
    if (pad != NULL)
        memset(pad, '\n', PAD_BYTES);
    bool is_failed = valid.err != SMA_ERR_OK || widened.err != SMA_ERR_OK || pad == NULL;
    sma_buf_fini(&valid);
    sma_buf_fini(&widened);
    return is_failed ? SIZE_MAX : len;
}

enum sma_err sma_markup_parse(struct sma_markup *markup, struct sma_str source,
                              const struct sma_markup_options *options)
{
    sma_markup_clear(markup);
    if (source.len > SMA_MARKUP_SOURCE_BYTES_MAX)
        return sma_markup_set_plain(markup, source);
    struct reader reader = {.out = markup, .schemes = default_schemes, .marker_end = SIZE_MAX};
    if (options != NULL && options->link_schemes != NULL)
        reader.schemes = options->link_schemes;
    struct sma_buf copy;
    sma_buf_init(&copy, SMA_MARKUP_SOURCE_BYTES_MAX * 8 + PAD_BYTES * 2);
    size_t len = make_copy(&copy, source, &reader.has_signs);
    if (len == SIZE_MAX || sma_buf_reserve(&markup->text, len + len / 8 + PAD_BYTES) == NULL) {
        sma_buf_fini(&copy);
        return SMA_ERR_NOMEM;
    }
    int status = parse_copy(&reader, (struct sma_str){copy.ptr, len});
    sma_buf_fini(&copy);
    if (status != 0 || !reader.has_content)
        return sma_markup_set_plain(markup, source);
    settle_details(markup);
    return SMA_ERR_OK;
}
