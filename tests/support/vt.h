/*
 * vt.h — a terminal as its user sees it: bytes in, rows of text out. Knows what xterm does with
 * text of any width, wrapping, scrolling, cursor movement, erasing, and the modes that programs
 * set. What it does not know it notes: nothing but what is known may be sent.
 */
#ifndef SMA_TEST_VT_H
#define SMA_TEST_VT_H

#include <stdbool.h>
#include <stddef.h>

#define VT_COLUMNS_MAX 200
#define VT_ROWS_MAX 100
#define VT_CELL_BYTES 64
#define VT_HISTORY_MAX 40000

struct vt_cell
{
    char text[VT_CELL_BYTES]; /* "" = blank, or the right half of a wide one */
    bool is_bold, is_right_half;
};
struct vt
{
    int columns, rows, row, column;
    bool is_wrap_off, is_wrap_due, is_bold, is_cursor_hidden, is_paste_on;
    struct vt_cell cells[VT_ROWS_MAX][VT_COLUMNS_MAX];
    char *history[VT_HISTORY_MAX]; /* rows that were scrolled out at the top */
    int history_count;
    char pending[256]; /* bytes of a sequence or character that is not whole */
    size_t pending_len;
    bool has_strange; /* something a terminal of this kind would not show as it is meant */
    char strange[300];
};

struct vt *vt_create(int columns, int rows);
void vt_destroy(struct vt *vt);
void vt_take(struct vt *vt, const char *bytes, size_t len);
/** Make it narrower or wider: rows are cut, or (is_reflowed) wrapped anew. */
void vt_resize(struct vt *vt, int columns, int rows, bool is_reflowed);
/** A row of the screen without blanks at its end. Good until the next call. */
const char *vt_row(const struct vt *vt, int row);
/** Everything, history and screen, rows joined by '\n', blank rows at the end left out. Free it. */
char *vt_text(const struct vt *vt);
/** The row (of the screen) that has this text; -1: none. */
int vt_find(const struct vt *vt, const char *text);

#endif
