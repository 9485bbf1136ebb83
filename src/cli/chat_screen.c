/* chat_screen.c — see chat_screen.h. */
#include "chat_screen.h"

#include "sma/text.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#define TEXT_BYTES_MAX (32u * 1024 * 1024)

void sma_chat_screen_init(struct sma_chat_screen *screen, int out_fd, bool is_fancy)
{
    *screen = (struct sma_chat_screen){.out_fd = out_fd, .is_fancy = is_fancy};
    sma_buf_init(&screen->shown, TEXT_BYTES_MAX);
}

void sma_chat_screen_fini(struct sma_chat_screen *screen)
{
    sma_buf_fini(&screen->shown);
}

static void write_all(int fd, struct sma_str text)
{
    while (text.len > 0) {
        ssize_t done = write(fd, text.ptr, text.len);
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

unsigned sma_chat_rows(struct sma_str text, unsigned columns)
{
    unsigned rows = 1, column = 0;
    size_t len;
    for (size_t at = 0; at < text.len; at += len) {
        utf8proc_int32_t code;
        len = step(text, at, &code);
        unsigned width = code < 0 ? 1 : (unsigned)utf8proc_charwidth(code);
        if (code == '\t')
            width = 8 - column % 8;
        if (code == '\n') {
            rows++;
            column = 0;
        } else if (column + width > columns) {
            rows++;
            column = width;
        } else {
            column += width;
        }
    }
    return rows;
}

static void ask_size(const struct sma_chat_screen *screen, unsigned *ret_columns,
                     unsigned *ret_rows)
{
    struct winsize size = {0};
    if (screen->columns_fix != 0)
        size = (struct winsize){.ws_col = (unsigned short)screen->columns_fix,
                                .ws_row = (unsigned short)screen->rows_fix};
    else if (ioctl(screen->out_fd, TIOCGWINSZ, &size) != 0)
        size.ws_col = 0;
    *ret_columns = size.ws_col == 0 ? 80 : size.ws_col;
    *ret_rows = size.ws_row == 0 ? 24 : size.ws_row;
}

void sma_chat_screen_erase(struct sma_chat_screen *screen)
{
    if (screen->shown.len == 0)
        return;
    unsigned columns, rows;
    ask_size(screen, &columns, &rows);
    unsigned up = sma_chat_rows(sma_buf_str(&screen->shown), columns) - 1;
    char text[32];
    if (up > 0) {
        snprintf(text, sizeof text, "\x1b[%uA", up);
        sma_chat_screen_raw(screen, text);
    }
    sma_chat_screen_raw(screen, "\r\x1b[J");
    sma_buf_clear(&screen->shown);
}

void sma_chat_screen_progress(struct sma_chat_screen *screen, struct sma_str text)
{
    if (!screen->is_fancy)
        return;
    struct sma_buf clean;
    sma_buf_init(&clean, TEXT_BYTES_MAX);
    sma_chat_put_clean(&clean, text);
    unsigned columns, rows;
    ask_size(screen, &columns, &rows);
    /* taller than the screen it could not be erased: what is shown stays until the final text
     * comes */
    bool fits = clean.err == SMA_ERR_OK && sma_chat_rows(sma_buf_str(&clean), columns) + 1 < rows;
    if (fits && clean.len > 0) {
        size_t old = screen->shown.len;
        bool goes_on =
            old > 0 && old <= clean.len && memcmp(screen->shown.ptr, clean.ptr, old) == 0;
        if (!goes_on) {
            sma_chat_screen_erase(screen);
            old = 0;
        }
        struct sma_str added = {clean.ptr + old, clean.len - old};
        write_all(screen->out_fd, added);
        sma_buf_put_str(&screen->shown, added);
    }
    sma_buf_fini(&clean);
}

void sma_chat_screen_final(struct sma_chat_screen *screen, struct sma_str text)
{
    struct sma_buf clean;
    sma_buf_init(&clean, TEXT_BYTES_MAX);
    sma_chat_put_clean(&clean, text);
    sma_chat_screen_erase(screen);
    if (clean.len == 0 || clean.ptr[clean.len - 1] != '\n')
        sma_buf_put_char(&clean, '\n');
    write_all(screen->out_fd, sma_buf_str(&clean));
    sma_buf_fini(&clean);
}
