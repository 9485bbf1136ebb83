/* chat_screen.c — see chat_screen.h. */
#include "chat_screen.h"

#include "chat_cluster.h"
#include "sma/text.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#define TEXT_BYTES_MAX (32u * 1024 * 1024)
#define FRAME_BYTES_MAX (8u * 1024 * 1024)
#define TAB_COLUMNS 4u
#define OUT_BYTES_HELD (1024u * 1024)
/* What is changed appears at once where the terminal knows the mark; others ignore it. */
#define CHANGE_BEGIN "\x1b[?2026h\x1b[?25l"
#define CHANGE_END "\x1b[?25h\x1b[?2026l"
/* Rows are not wrapped: a character whose width we misjudge costs a column, not the frame. */
#define FRAME_BEGIN "\x1b[?7l"
#define FRAME_END "\x1b[?7h"

void sma_chat_screen_init(struct sma_chat_screen *screen, int out_fd)
{
    *screen = (struct sma_chat_screen){.out_fd = out_fd};
    sma_buf_init(&screen->frames[0].bytes, FRAME_BYTES_MAX);
    sma_buf_init(&screen->frames[1].bytes, FRAME_BYTES_MAX);
    sma_buf_init(&screen->out, TEXT_BYTES_MAX);
    sma_chat_screen_measure(screen);
}

void sma_chat_screen_fini(struct sma_chat_screen *screen)
{
    sma_buf_fini(&screen->frames[0].bytes);
    sma_buf_fini(&screen->frames[1].bytes);
    sma_buf_fini(&screen->out);
}

static void write_all(int fd, struct sma_str text)
{
    while (text.len > 0) {
        ssize_t done = write(fd, text.ptr, text.len);
        if (done < 0 && errno == EAGAIN) { /* who shares the terminal has set it so */
            struct pollfd ready = {.fd = fd, .events = POLLOUT};
            (void)poll(&ready, 1, -1);
            continue;
        }
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return; /* nobody reads: there is no one to tell */
        text = (struct sma_str){text.ptr + done, text.len - (size_t)done};
    }
}

void sma_chat_screen_raw(struct sma_chat_screen *screen, const char *text)
{
    write_all(screen->out_fd, sma_str(text));
}

/* Length of the code point at text[at]; *ret_code -1 for an invalid byte. */
static size_t step(struct sma_str text, size_t at, utf8proc_int32_t *ret_code)
{
    utf8proc_ssize_t len = utf8proc_iterate((const utf8proc_uint8_t *)text.ptr + at,
                                            (utf8proc_ssize_t)(text.len - at), ret_code);
    if (len > 0)
        return (size_t)len;
    *ret_code = -1;
    return 1;
}

static bool is_control(utf8proc_int32_t code)
{
    if (code == '\n' || code == '\t')
        return false;
    return code < 0x20 ||
           (code >= 0x7f && code <= 0x9f); /* invalid bytes (-1) too: terminals read some as C1 */
}

void sma_chat_put_clean(struct sma_buf *buf, struct sma_str text)
{
    size_t len;
    utf8proc_int32_t code, before = 0;
    for (size_t at = 0; at < text.len; at += len, before = code) {
        len = step(text, at, &code);
        if (is_control(code))
            continue;
        if (sma_point_misleads((uint32_t)code, before < 0 ? 0 : (uint32_t)before))
            sma_buf_printf(buf, "\\u{%04X}", (unsigned)code);
        else
            sma_buf_put(buf, text.ptr + at, len);
    }
}

/* -- frames ------------------------------------------------------------------------------------ */
static struct sma_chat_frame *shown(struct sma_chat_screen *screen)
{
    return &screen->frames[0];
}

static void clear_frame(struct sma_chat_frame *frame)
{
    sma_buf_clear(&frame->bytes);
    frame->count = frame->cursor_row = frame->cursor_column = 0;
}

struct sma_chat_frame *sma_chat_screen_begin(struct sma_chat_screen *screen)
{
    clear_frame(&screen->frames[1]);
    return &screen->frames[1];
}

/* Length of the style at text[at] (ESC [ ... m); 0: there is none. */
static size_t style_len(struct sma_str text, size_t at)
{
    if (text.ptr[at] != '\x1b' || at + 1 >= text.len || text.ptr[at + 1] != '[')
        return 0;
    for (size_t end = at + 2; end < text.len && end < at + 16; end++)
        if (text.ptr[end] == 'm')
            return end + 1 - at;
    return 0;
}

/* Where a row is being written. */
struct pen
{
    struct sma_chat_frame *frame;
    const struct sma_chat_wrap *wrap;
    size_t from;
    unsigned column;
    char style[64]; /* what is on, to be said again at the next row */
};

static void begin_row(struct pen *pen, const char *lead)
{
    pen->from = pen->frame->bytes.len;
    sma_buf_put_text(&pen->frame->bytes, lead);
    sma_buf_put_text(&pen->frame->bytes, pen->style);
    pen->column = sma_cluster_width(sma_str(lead));
}

static void end_row(struct pen *pen)
{
    struct sma_chat_frame *frame = pen->frame;
    if (pen->style[0] != '\0')
        sma_buf_put_text(&frame->bytes, "\x1b[0m");
    if (frame->count == CHAT_FRAME_ROW_COUNT_MAX) { /* the last ones are kept */
        memmove(frame->rows, frame->rows + 1, (frame->count - 1) * sizeof frame->rows[0]);
        frame->count--;
        frame->cursor_row -= frame->cursor_row > 0;
    }
    frame->rows[frame->count++] =
        (struct sma_chat_row){pen->from, frame->bytes.len - pen->from, pen->column};
}

static void note_style(struct pen *pen, struct sma_str style)
{
    size_t len = strlen(pen->style);
    if (style.len == 4 && memcmp(style.ptr, "\x1b[0m", 4) == 0)
        pen->style[0] = '\0';
    else if (len + style.len < sizeof pen->style) {
        memcpy(pen->style + len, style.ptr, style.len);
        pen->style[len + style.len] = '\0';
    }
}

static void put_cluster(struct pen *pen, struct sma_str cluster, unsigned width)
{
    if (cluster.ptr[0] == '\t') {
        width = TAB_COLUMNS;
        cluster = SMA_STR("    ");
    }
    if (pen->column + width > pen->wrap->columns) {
        end_row(pen);
        begin_row(pen, pen->wrap->indent);
    }
    sma_buf_put_str(&pen->frame->bytes, cluster);
    pen->column += width;
}

static void mark_cursor(struct pen *pen)
{
    bool is_full = pen->column >= pen->wrap->columns;
    if (is_full) {
        end_row(pen);
        begin_row(pen, pen->wrap->indent);
    }
    pen->frame->cursor_row = pen->frame->count;
    pen->frame->cursor_column = pen->column;
}

void sma_chat_frame_put(struct sma_chat_frame *frame, struct sma_str styled,
                        const struct sma_chat_wrap *wrap)
{
    struct pen pen = {.frame = frame, .wrap = wrap};
    begin_row(&pen, wrap->prefix);
    for (size_t at = 0, len; at < styled.len; at += len) {
        unsigned width;
        if (at == wrap->mark)
            mark_cursor(&pen);
        len = style_len(styled, at);
        if (len > 0) {
            note_style(&pen, (struct sma_str){styled.ptr + at, len});
            sma_buf_put(&frame->bytes, styled.ptr + at, len);
            continue;
        }
        len = sma_cluster_next(styled, at, &width);
        if (styled.ptr[at] == '\n') {
            len = 1; /* a line feed and what combines with it are no cluster on a screen */
            end_row(&pen);
            begin_row(&pen, wrap->indent);
        } else {
            put_cluster(&pen, (struct sma_str){styled.ptr + at, len}, width);
        }
    }
    if (wrap->mark == styled.len)
        mark_cursor(&pen);
    end_row(&pen);
}

void sma_chat_frame_cut(struct sma_chat_frame *frame, unsigned from, unsigned count)
{
    memmove(frame->rows + from, frame->rows + from + count,
            (frame->count - from - count) * sizeof frame->rows[0]);
    frame->count -= count;
    if (frame->cursor_row >= from + count)
        frame->cursor_row -= count;
}

/* -- drawing ----------------------------------------------------------------------------------- */
/* A terminal that was made narrower has wrapped our rows anew, but for those that cut them. */
static void follow_wrap(struct sma_chat_screen *screen, unsigned columns)
{
    struct sma_chat_frame *frame = shown(screen);
    const char *term = getenv("TERM");
    if (columns >= screen->columns || columns == 0 || getenv("XTERM_VERSION") != NULL ||
        (term != NULL && (strncmp(term, "linux", 5) == 0 || strncmp(term, "screen", 6) == 0)))
        return;
    unsigned extra = 0;
    for (unsigned row = 0; row < frame->count && row < frame->cursor_row; row++)
        extra += frame->rows[row].width > 0 ? (frame->rows[row].width - 1) / columns : 0;
    frame->cursor_row += extra + frame->cursor_column / columns;
}

void sma_chat_screen_measure(struct sma_chat_screen *screen)
{
    struct winsize size = {0};
    if (ioctl(screen->out_fd, TIOCGWINSZ, &size) != 0)
        size.ws_col = 0;
    unsigned columns = size.ws_col == 0 ? 80 : size.ws_col,
             rows = size.ws_row == 0 ? 24 : size.ws_row;
    columns = columns < 4 ? 4 : columns;
    if (shown(screen)->count > 0)
        follow_wrap(screen, columns);
    if (columns != screen->columns || rows != screen->rows)
        for (unsigned row = 0; row < shown(screen)->count; row++)
            shown(screen)->rows[row].width = UINT32_MAX; /* to be written again */
    screen->columns = columns;
    screen->rows = rows < 2 ? 2 : rows;
}

static void put_up(struct sma_buf *out, unsigned rows)
{
    if (rows > 0)
        sma_buf_printf(out, "\x1b[%uA", rows);
    sma_buf_put_char(out, '\r');
}

static void put_erase(struct sma_chat_screen *screen)
{
    struct sma_chat_frame *frame = shown(screen);
    if (frame->count == 0)
        return;
    put_up(&screen->out, frame->cursor_row);
    sma_buf_put_text(&screen->out, "\x1b[J");
    clear_frame(frame);
}

static void flush(struct sma_chat_screen *screen)
{
    write_all(screen->out_fd, sma_buf_str(&screen->out));
    sma_buf_clear(&screen->out);
}

static void begin_change(struct sma_chat_screen *screen)
{
    if (screen->is_live && screen->out.len == 0)
        sma_buf_put_text(&screen->out, CHANGE_BEGIN);
}

static void end_change(struct sma_chat_screen *screen)
{
    sma_buf_put_text(&screen->out, screen->is_live ? CHANGE_END : "");
    flush(screen);
}

void sma_chat_screen_erase(struct sma_chat_screen *screen)
{
    begin_change(screen);
    put_erase(screen);
    end_change(screen);
}

void sma_chat_screen_clear(struct sma_chat_screen *screen)
{
    clear_frame(shown(screen));
    sma_chat_screen_raw(screen, "\x1b[H\x1b[2J");
}

void sma_chat_screen_print(struct sma_chat_screen *screen, struct sma_str styled)
{
    begin_change(screen);
    put_erase(screen);
    sma_buf_put_str(&screen->out, styled);
    if (styled.len == 0 || styled.ptr[styled.len - 1] != '\n')
        sma_buf_put_char(&screen->out, '\n');
    if (!screen->is_live || screen->out.len > OUT_BYTES_HELD)
        flush(screen); /* else the live part below it goes along: no moment without */
}

static bool is_same_row(const struct sma_chat_frame *a, const struct sma_chat_frame *b,
                        unsigned row)
{
    return row < a->count && a->rows[row].width == b->rows[row].width &&
           a->rows[row].len == b->rows[row].len &&
           memcmp(a->bytes.ptr + a->rows[row].from, b->bytes.ptr + b->rows[row].from,
                  a->rows[row].len) == 0;
}

static void put_frame(struct sma_chat_screen *screen, const struct sma_chat_frame *frame)
{
    struct sma_buf *out = &screen->out;
    const struct sma_chat_frame *old = shown(screen);
    put_up(out, old->count > 0 ? old->cursor_row : 0);
    for (unsigned row = 0; row < frame->count; row++) {
        if (row > 0)
            sma_buf_put_text(out, "\r\n");
        if (is_same_row(old, frame, row))
            continue;
        sma_buf_put(out, frame->bytes.ptr + frame->rows[row].from, frame->rows[row].len);
        sma_buf_put_text(out, "\x1b[K");
    }
    if (old->count > frame->count)
        sma_buf_put_text(out, "\r\n\x1b[J\x1b[1A");
    if (frame->count > 0)
        put_up(out, frame->count - 1 - frame->cursor_row);
    if (frame->cursor_column > 0)
        sma_buf_printf(out, "\x1b[%uC", frame->cursor_column);
}

static bool is_same(const struct sma_chat_frame *a, const struct sma_chat_frame *b)
{
    bool is_it = a->count == b->count && a->cursor_row == b->cursor_row &&
                 a->cursor_column == b->cursor_column;
    for (unsigned row = 0; is_it && row < b->count; row++)
        is_it = is_same_row(a, b, row);
    return is_it;
}

void sma_chat_screen_show(struct sma_chat_screen *screen)
{
    struct sma_chat_frame *frame = &screen->frames[1];
    if (frame->bytes.err != SMA_ERR_OK || is_same(shown(screen), frame))
        return;
    begin_change(screen);
    sma_buf_put_text(&screen->out, FRAME_BEGIN);
    put_frame(screen, frame);
    sma_buf_put_text(&screen->out, FRAME_END);
    end_change(screen);
    struct sma_chat_frame other = screen->frames[0];
    screen->frames[0] = screen->frames[1];
    screen->frames[1] = other;
}
