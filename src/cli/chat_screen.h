/*
 * chat_screen.h — what the chat writes: plain lines, and on a terminal one text in progress that is
 * rewritten in place.
 *
 * Invariants: nothing a model or a service says reaches the descriptor with control characters
 *             other than \n and \t; a text in progress never has more rows than can be erased
 *             again.
 * Threads:    the caller's.
 */
#ifndef SMA_CLI_CHAT_SCREEN_H
#define SMA_CLI_CHAT_SCREEN_H

#include "sma/buf.h"

struct sma_chat_screen
{
    int out_fd;
    bool is_fancy;        /* a terminal that understands escape sequences */
    unsigned columns_fix; /* tests: instead of asking the terminal; 0 = ask */
    unsigned rows_fix;
    struct sma_buf shown; /* the text in progress that is on the screen */
};

void sma_chat_screen_init(struct sma_chat_screen *screen, int out_fd, bool is_fancy);
void sma_chat_screen_fini(struct sma_chat_screen *screen);
/** Append text without control characters (\n and \t stay; C0, DEL and C1 go). */
void sma_chat_put_clean(struct sma_buf *buf, struct sma_str text);
/** Rows that text takes on a terminal of so many columns; an empty text takes one. */
unsigned sma_chat_rows(struct sma_str text, unsigned columns);
/** Show text as the text in progress. Without a fancy terminal: nothing. */
void sma_chat_screen_progress(struct sma_chat_screen *screen, struct sma_str text);
/** Take the text in progress off the screen. */
void sma_chat_screen_erase(struct sma_chat_screen *screen);
/** Write a whole text and a line end, in place of the text in progress. */
void sma_chat_screen_final(struct sma_chat_screen *screen, struct sma_str text);
/** Write as it is (the program's own words: prompt). */
void sma_chat_screen_raw(struct sma_chat_screen *screen, const char *text);

#endif
