/*
 * chat_screen.h — what the chat writes: lines that stay, and on a terminal below them a live part
 * that is drawn anew in place: the answer while it is written, what goes on, the line of the user.
 *
 * The live part is a frame: rows that are cut to the width of the terminal here, so that the
 * terminal wraps none of them and the cursor is where we believe it is. Rows that did not change
 * are not written again. A line that stays is written where the live part began, which is then
 * drawn below it.
 *
 * Invariants: nothing a model or a service says reaches the descriptor with control characters
 *             other than \n and \t (sma_chat_put_clean); a frame has fewer rows than the terminal.
 * Threads:    the caller's.
 */
#ifndef SMA_CLI_CHAT_SCREEN_H
#define SMA_CLI_CHAT_SCREEN_H

#include "sma/buf.h"

#define CHAT_FRAME_ROW_COUNT_MAX 512

struct sma_chat_row
{
    size_t from, len; /* of the frame's bytes */
    unsigned width;
};
struct sma_chat_frame
{
    struct sma_buf bytes;
    struct sma_chat_row rows[CHAT_FRAME_ROW_COUNT_MAX];
    unsigned count;
    unsigned cursor_row, cursor_column;
};
struct sma_chat_screen
{
    int out_fd;
    bool is_live; /* there is a live part: what is printed goes out with the next frame */
    unsigned columns, rows;
    struct sma_chat_frame frames[2]; /* the one on the screen, the one that is made */
    struct sma_buf out;
};

void sma_chat_screen_init(struct sma_chat_screen *screen, int out_fd);
void sma_chat_screen_fini(struct sma_chat_screen *screen);
/** Append text without control characters (\n and \t stay; C0, DEL and C1 go). */
void sma_chat_put_clean(struct sma_buf *buf, struct sma_str text);
/** Write as it is (the program's own words). Not while there is a live part. */
void sma_chat_screen_raw(struct sma_chat_screen *screen, const char *text);
/** Write a whole text that stays, and a line end if it has none. @styled: clean, but for the
 *  program's own styles. */
void sma_chat_screen_print(struct sma_chat_screen *screen, struct sma_str styled);

/* -- the live part ----------------------------------------------------------------------------- */
/** Ask the terminal for its size; what is on the screen may have been wrapped by it. */
void sma_chat_screen_measure(struct sma_chat_screen *screen);
/** An empty frame to be filled. */
struct sma_chat_frame *sma_chat_screen_begin(struct sma_chat_screen *screen);
/**
 * Append rows: styled text cut at line feeds and at `columns`, each row after the first of a line
 * indented by `indent`. Tabs become blanks. `prefix` stands before the first row.
 * @mark  a byte of `text` whose place becomes the cursor's; SIZE_MAX: none
 */
struct sma_chat_wrap
{
    const char *prefix, *indent; /* of the same width */
    unsigned columns;
    size_t mark;
};
void sma_chat_frame_put(struct sma_chat_frame *frame, struct sma_str styled,
                        const struct sma_chat_wrap *wrap);
/** Leave out rows [from, from + count). The cursor must stand elsewhere. */
void sma_chat_frame_cut(struct sma_chat_frame *frame, unsigned from, unsigned count);
/** Put the frame on the screen in place of the old one. */
void sma_chat_screen_show(struct sma_chat_screen *screen);
/** Empty the screen; the live part is drawn at its top. */
void sma_chat_screen_clear(struct sma_chat_screen *screen);
/** Take the live part off the screen; the cursor stands where it began. */
void sma_chat_screen_erase(struct sma_chat_screen *screen);

#endif
