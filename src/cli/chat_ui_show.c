/* chat_ui_show.c — how the chat looks on a terminal. See chat_ui.h. */
#include "chat_ui_priv.h"

#include "chat_cluster.h"
#include "chat_markdown.h"
#include "runtime/text/attach_text.h"
#include "sma/clock.h"
#include "sma/sys.h"

#include <stdarg.h>
#include <stdio.h>

#define WINDOW_BYTES 8192 /* of a long line, before and behind the cursor */
#define DIM "\x1b[2m"

/* The machine's time: keys come from a person, or in the pace of a terminal. */
uint64_t ui_now(void)
{
    return sma_clock_machine_ns(sma_clock_now_ns());
}

/* -- what stays -------------------------------------------------------------------------------- */
void ui_print(struct sma_chat_ui *ui, const char *style, struct sma_str clean)
{
    struct sma_buf text;
    const char *on = ui->options.is_styled ? style : "";
    sma_buf_init(&text, UI_TEXT_BYTES_MAX);
    sma_buf_put_text(&text, on);
    sma_buf_put_str(&text, clean);
    sma_buf_put_text(&text, *on == '\0' ? "" : "\x1b[0m");
    sma_chat_screen_print(ui->options.screen, text.len == 0 ? SMA_STR("") : sma_buf_str(&text));
    sma_buf_fini(&text);
}

/* A file that is sent: where it is, so that it can be opened. */
static void put_file(const struct sma_chat_ui *ui, struct sma_buf *buf,
                     const struct sma_attach_line *file)
{
    const char *project = ui->options.files->project_dir;
    bool is_inside = project != NULL && file->target.ptr[0] != '/' &&
                     memmem(file->target.ptr, file->target.len, "://", 3) == NULL;
    if (buf->len > 0 && buf->ptr[buf->len - 1] != '\n')
        sma_buf_put_char(buf, '\n');
    sma_buf_put_text(buf, "file: ");
    if (is_inside) {
        sma_chat_put_clean(buf, sma_str(project));
        sma_buf_put_char(buf, '/');
    }
    sma_chat_put_clean(buf, file->target);
    if (file->caption.len > 0) {
        sma_buf_put_text(buf, " (");
        sma_chat_put_clean(buf, file->caption);
        sma_buf_put_char(buf, ')');
    }
}

static void put_answer(const struct sma_chat_ui *ui, struct sma_buf *buf, struct sma_str text)
{
    struct sma_attach_reader reader;
    struct sma_attach_line file;
    struct sma_buf rest;
    struct sma_str all = text;
    sma_buf_init(&rest, UI_TEXT_BYTES_MAX);
    (void)sma_attach_put_rest(&rest, text, false); /* how many files: they are read below */
    text = rest.err != SMA_ERR_OK ? text : rest.len == 0 ? SMA_STR("") : sma_buf_str(&rest);
    if (ui->options.is_styled)
        sma_chat_put_markdown(buf, text);
    else
        sma_chat_put_clean(buf, text);
    sma_buf_fini(&rest);
    sma_attach_reader_init(&reader, all);
    while (sma_attach_next_file(&reader, &file))
        put_file(ui, buf, &file);
}

void ui_print_answer(struct sma_chat_ui *ui, struct sma_str text)
{
    struct sma_buf styled;
    sma_buf_init(&styled, UI_TEXT_BYTES_MAX);
    put_answer(ui, &styled, text);
    sma_chat_screen_print(ui->options.screen, styled.len == 0 ? SMA_STR("") : sma_buf_str(&styled));
    sma_buf_fini(&styled);
}

void ui_print_card(struct sma_chat_ui *ui, const json_t *root)
{
    sma_buf_clear(&ui->scratch);
    sma_chat_card_put(&ui->scratch, root, ui->options.is_styled);
    ui_print(ui, "", sma_buf_str(&ui->scratch));
}

void ui_keep_progress(struct sma_chat_ui *ui)
{
    if (ui->progress.len > 0)
        ui_print_answer(ui, sma_buf_str(&ui->progress));
    sma_buf_clear(&ui->progress);
}

void ui_say(struct sma_chat_ui *ui, const char *format, ...)
{
    char text[2048];
    struct sma_buf clean;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sma_buf_init(&clean, sizeof text * 8);
    sma_chat_put_clean(&clean, sma_str(text));
    ui_print(ui, DIM, clean.len == 0 ? SMA_STR("") : sma_buf_str(&clean));
    sma_buf_fini(&clean);
}

void ui_hint(struct sma_chat_ui *ui, const char *text)
{
    sma_buf_clear(&ui->hint);
    sma_buf_put_text(&ui->hint, text);
    ui->hint_until_ns = ui_now() + UI_HINT_NS;
}

/* -- the live part ----------------------------------------------------------------------------- */
static void put_progress(struct sma_chat_ui *ui, struct sma_chat_frame *frame)
{
    struct sma_chat_wrap wrap = {"", "", ui->options.screen->columns, SIZE_MAX};
    if (ui->progress.len == 0)
        return;
    struct sma_buf rest;
    sma_buf_init(&rest, UI_TEXT_BYTES_MAX);
    (void)sma_attach_put_rest(&rest, sma_buf_str(&ui->progress), true); /* shown when it is sent */
    struct sma_str text = rest.len == 0 ? SMA_STR("") : sma_buf_str(&rest);
    sma_buf_clear(&ui->scratch);
    if (ui->options.is_styled)
        sma_chat_put_markdown_tail(&ui->scratch, text);
    else
        sma_chat_put_clean(&ui->scratch, text);
    sma_buf_fini(&rest);
    if (ui->scratch.len > 0)
        sma_chat_frame_put(frame, sma_buf_str(&ui->scratch), &wrap);
}

/* The one line above the user's: the most urgent of what there is to say. */
static void put_status(struct sma_chat_ui *ui, struct sma_chat_frame *frame)
{
    struct sma_buf *line = &ui->scratch;
    struct sma_chat_wrap wrap = {"", "  ", ui->options.screen->columns, SIZE_MAX};
    sma_buf_clear(line);
    sma_buf_put_text(line, ui->options.is_styled ? DIM : "");
    size_t empty = line->len;
    if (ui->hint.len > 0)
        sma_buf_put_str(line, sma_buf_str(&ui->hint));
    else if (ui->is_lost)
        sma_buf_put_text(line, "The service is away. Trying to reach it ...");
    else if (sma_chat_cards_top(&ui->cards) != NULL)
        sma_chat_cards_put_keys(line, &ui->cards);
    else if (ui->working.len > 0)
        sma_buf_put_str(line, sma_buf_str(&ui->working));
    else if (sma_wire_open_count(ui->options.wire) > 0 && ui->progress.len == 0 && !ui->is_answered)
        sma_buf_put_text(line, "...");
    if (line->len == empty)
        return;
    sma_buf_put_text(line, ui->options.is_styled ? "\x1b[0m" : "");
    sma_chat_frame_put(frame, sma_buf_str(line), &wrap);
}

/* Of a very long text only what is around the cursor is laid out. */
static struct sma_str window_of(struct sma_str text, size_t *cursor)
{
    size_t from = *cursor > WINDOW_BYTES ? *cursor - WINDOW_BYTES : 0;
    size_t to = text.len - *cursor > WINDOW_BYTES ? *cursor + WINDOW_BYTES : text.len;
    while (from > 0 && ((unsigned char)text.ptr[from] & 0xC0) == 0x80)
        from--;
    while (to < text.len && ((unsigned char)text.ptr[to] & 0xC0) == 0x80)
        to++;
    *cursor -= from;
    return (struct sma_str){text.ptr + from, to - from};
}

static void put_input(struct sma_chat_ui *ui, struct sma_chat_frame *frame)
{
    struct sma_chat_wrap wrap = {"> ", "  ", ui->options.screen->columns, 0};
    struct sma_str text = window_of(sma_chat_edit_text(ui->edit, &wrap.mark), &wrap.mark);
    if (!ui->search.is_on) {
        sma_chat_frame_put(frame, text, &wrap);
        return;
    }
    const char *found = sma_chat_edit_search(
        ui->edit, ui->search.part.len == 0 ? SMA_STR("") : sma_buf_str(&ui->search.part),
        ui->search.skip);
    sma_buf_clear(&ui->scratch);
    sma_buf_put_text(&ui->scratch, "search: ");
    sma_buf_put_str(&ui->scratch, sma_buf_str(&ui->search.part));
    wrap.mark = ui->scratch.len;
    sma_buf_put_text(&ui->scratch, "\n");
    sma_chat_put_clean(&ui->scratch, sma_str(found == NULL ? "(nothing)" : found));
    sma_chat_frame_put(frame, sma_buf_str(&ui->scratch), &wrap);
}

/* The frame into the screen: of the answer its end, of the user's text the part with the cursor. */
static void fit(struct sma_chat_frame *frame, unsigned rows, unsigned above)
{
    if (frame->count > rows && above > 0) {
        unsigned extra = frame->count - rows;
        sma_chat_frame_cut(frame, 0, extra < above ? extra : above);
    }
    if (frame->count > rows && frame->cursor_row >= rows)
        sma_chat_frame_cut(frame, 0, frame->cursor_row + 1 - rows);
    if (frame->count > rows)
        sma_chat_frame_cut(frame, rows, frame->count - rows);
}

void ui_show(struct sma_chat_ui *ui)
{
    struct sma_chat_screen *screen = ui->options.screen;
    struct sma_chat_frame *frame = sma_chat_screen_begin(screen);
    put_progress(ui, frame);
    unsigned above = frame->count;
    put_status(ui, frame);
    put_input(ui, frame);
    above = above < frame->cursor_row ? above : frame->cursor_row;
    fit(frame, screen->rows - 1, above);
    sma_chat_screen_show(screen);
}
