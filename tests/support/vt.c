/* vt.c — see vt.h. */
#include "vt.h"

#include "check.h"

#include <string.h>
#include <utf8proc.h>

struct vt *vt_create(int columns, int rows)
{
    struct vt *vt = calloc(1, sizeof *vt);
    CHECK(vt != NULL && columns <= VT_COLUMNS_MAX && rows <= VT_ROWS_MAX);
    vt->columns = columns;
    vt->rows = rows;
    return vt;
}

void vt_destroy(struct vt *vt)
{
    for (int i = 0; i < vt->history_count; i++)
        free(vt->history[i]);
    free(vt);
}

static void strange(struct vt *vt, const char *what, const char *bytes, size_t len)
{
    if (!vt->has_strange)
        snprintf(vt->strange, sizeof vt->strange, "%s: %.*s", what, (int)(len < 100 ? len : 100),
                 bytes);
    vt->has_strange = true;
}

const char *vt_row(const struct vt *vt, int row)
{
    static char text[VT_COLUMNS_MAX * VT_CELL_BYTES + 1];
    size_t len = 0, end = 0;
    for (int i = 0; i < vt->columns; i++) {
        const struct vt_cell *cell = &vt->cells[row][i];
        if (cell->is_right_half)
            continue;
        size_t own = strlen(cell->text);
        memcpy(text + len, own == 0 ? " " : cell->text, own == 0 ? 1 : own);
        len += own == 0 ? 1 : own;
        if (own > 0 && strcmp(cell->text, " ") != 0)
            end = len;
    }
    text[end] = '\0';
    return text;
}

char *vt_text(const struct vt *vt)
{
    size_t size = 1, len = 0;
    for (int i = 0; i < vt->history_count; i++)
        size += strlen(vt->history[i]) + 1;
    size += (size_t)vt->rows * (VT_COLUMNS_MAX * 8 + 1);
    char *text = calloc(1, size);
    CHECK(text != NULL);
    for (int i = 0; i < vt->history_count + vt->rows; i++) {
        const char *row =
            i < vt->history_count ? vt->history[i] : vt_row(vt, i - vt->history_count);
        CHECK(len + strlen(row) + 2 < size);
        len += (size_t)sprintf(text + len, "%s\n", row);
    }
    while (len > 0 && text[len - 1] == '\n')
        text[--len] = '\0';
    return text;
}

int vt_find(const struct vt *vt, const char *text)
{
    for (int row = 0; row < vt->rows; row++)
        if (strstr(vt_row(vt, row), text) != NULL)
            return row;
    return -1;
}

static void scroll(struct vt *vt)
{
    CHECK(vt->history_count < VT_HISTORY_MAX);
    vt->history[vt->history_count++] = strdup(vt_row(vt, 0));
    memmove(vt->cells[0], vt->cells[1], sizeof vt->cells[0] * (size_t)(vt->rows - 1));
    memset(vt->cells[vt->rows - 1], 0, sizeof vt->cells[0]);
}

static void line_feed(struct vt *vt)
{
    vt->is_wrap_due = false;
    if (vt->row == vt->rows - 1)
        scroll(vt);
    else
        vt->row++;
}

/* A row that is too long goes on in a new one below it. */
static void split_row(struct vt *vt, int row, int columns)
{
    if (vt->row == vt->rows - 1) {
        scroll(vt);
        vt->row--;
        row--;
    }
    for (int below = vt->rows - 1; row >= 0 && below > row + 1; below--)
        memcpy(vt->cells[below], vt->cells[below - 1], sizeof vt->cells[0]);
    memset(vt->cells[row + 1], 0, sizeof vt->cells[0]);
    for (int i = columns; row >= 0 && i < vt->columns; i++)
        vt->cells[row + 1][i - columns] = vt->cells[row][i];
    if (vt->row > row || (vt->row == row && vt->column >= columns)) {
        vt->column -= vt->row == row ? columns : 0;
        vt->row++;
    }
}

static void reflow(struct vt *vt, int columns)
{
    for (int row = 0; row < vt->rows && columns < vt->columns; row++) {
        bool is_long = false;
        for (int i = columns; i < vt->columns; i++)
            is_long = is_long || vt->cells[row][i].text[0] != '\0';
        int count = vt->history_count;
        if (is_long)
            split_row(vt, row, columns);
        row -= vt->history_count - count;
    }
}

void vt_resize(struct vt *vt, int columns, int rows, bool is_reflowed)
{
    CHECK(columns <= VT_COLUMNS_MAX && rows <= VT_ROWS_MAX);
    if (is_reflowed)
        reflow(vt, columns);
    for (int row = 0; row < vt->rows; row++)
        for (int i = columns; i < vt->columns; i++)
            memset(&vt->cells[row][i], 0, sizeof vt->cells[row][i]);
    while (vt->row > rows - 1) {
        scroll(vt);
        vt->row--;
    }
    for (int row = rows; row < vt->rows; row++)
        memset(vt->cells[row], 0, sizeof vt->cells[row]);
    vt->columns = columns;
    vt->rows = rows;
    vt->column = vt->column < columns ? vt->column : columns - 1;
}

/* -- text -------------------------------------------------------------------------------------- */
static void erase_cells(struct vt *vt, int row, int from, int to)
{
    for (int i = from; i < to; i++)
        memset(&vt->cells[row][i], 0, sizeof vt->cells[row][i]);
}

static void put_point(struct vt *vt, utf8proc_int32_t code, const char *bytes, size_t len)
{
    static utf8proc_int32_t before, state;
    int width = utf8proc_charwidth(code);
    struct vt_cell *last =
        vt->column > 0 ? &vt->cells[vt->row][vt->column - (vt->is_wrap_due ? 0 : 1)] : NULL;
    if (last != NULL && last->is_right_half)
        last--;
    bool is_joined = last != NULL && last->text[0] != '\0' && before != 0 &&
                     !utf8proc_grapheme_break_stateful(before, code, &state);
    before = code;
    if (is_joined) {
        if (strlen(last->text) + len < sizeof last->text)
            strncat(last->text, bytes, len);
        return;
    }
    state = 0;
    if (width <= 0)
        return;
    if (code >= 0x1F1E6 && code <= 0x1F1FF)
        width = 2;
    if (vt->is_wrap_due || vt->column + width > vt->columns) {
        if (vt->is_wrap_off) {
            strange(vt, "text beyond the edge", bytes, len);
            vt->column = vt->columns - width;
        } else {
            vt->column = 0;
            line_feed(vt);
        }
        vt->is_wrap_due = false;
    }
    struct vt_cell *cell = &vt->cells[vt->row][vt->column];
    *cell = (struct vt_cell){.is_bold = vt->is_bold};
    memcpy(cell->text, bytes, len);
    if (width == 2)
        cell[1] = (struct vt_cell){.is_right_half = true};
    vt->column += width;
    if (vt->column >= vt->columns) {
        vt->column = vt->columns - 1;
        vt->is_wrap_due = true;
    }
}

/* -- sequences --------------------------------------------------------------------------------- */
static void set_mode(struct vt *vt, const char *params, bool is_on)
{
    switch (atoi(params + 1)) {
    case 7:
        vt->is_wrap_off = !is_on;
        break;
    case 25:
        vt->is_cursor_hidden = !is_on;
        break;
    case 2004:
        vt->is_paste_on = is_on;
        break;
    case 2026:
        break;
    default:
        strange(vt, "mode", params, strlen(params));
    }
}

static void take_csi(struct vt *vt, const char *params, char final)
{
    int number = atoi(params), count = number == 0 ? 1 : number;
    if (final != 'm' && final != 'h' && final != 'l')
        vt->is_wrap_due = false;
    if ((final == 'h' || final == 'l') && params[0] == '?')
        set_mode(vt, params, final == 'h');
    else if (final == 'u' && (params[0] == '>' || params[0] == '<'))
        return; /* kitty's keys */
    else if (final == 'm' && params[0] == '>')
        return; /* xterm's */
    else if (final == 'm')
        vt->is_bold = params[0] == '1' || (vt->is_bold && params[0] != '0' && params[0] != '\0');
    else if (final == 'A')
        vt->row = vt->row > count ? vt->row - count : 0;
    else if (final == 'B')
        vt->row = vt->row + count < vt->rows ? vt->row + count : vt->rows - 1;
    else if (final == 'C')
        vt->column = vt->column + count < vt->columns ? vt->column + count : vt->columns - 1;
    else if (final == 'H' && params[0] == '\0')
        vt->row = vt->column = 0;
    else if (final == 'K' && params[0] == '\0')
        erase_cells(vt, vt->row, vt->column, vt->columns);
    else if (final == 'J' && (number == 0 || number == 2)) {
        erase_cells(vt, vt->row, number == 2 ? 0 : vt->column, vt->columns);
        for (int row = number == 2 ? 0 : vt->row + 1; row < vt->rows; row++)
            erase_cells(vt, row, 0, vt->columns);
    } else {
        char text[80];
        snprintf(text, sizeof text, "%.60s %c", params, final);
        strange(vt, "sequence", text, strlen(text));
    }
}

/* @return bytes taken; 0: more are needed */
static size_t take_sequence(struct vt *vt, const char *bytes, size_t len)
{
    char params[100];
    if (len < 2)
        return 0;
    if (bytes[1] != '[') {
        strange(vt, "escape", bytes, len);
        return 1;
    }
    for (size_t i = 2; i < len && i < sizeof params; i++) {
        if (bytes[i] < 0x40 || bytes[i] > 0x7e)
            continue;
        memcpy(params, bytes + 2, i - 2);
        params[i - 2] = '\0';
        take_csi(vt, params, bytes[i]);
        return i + 1;
    }
    return 0;
}

static size_t take_one(struct vt *vt, const char *bytes, size_t len)
{
    utf8proc_int32_t code;
    unsigned char first = (unsigned char)bytes[0];
    if (first == 0x1b)
        return take_sequence(vt, bytes, len);
    if (first == '\r') {
        vt->column = 0;
        vt->is_wrap_due = false;
    } else if (first == '\n') {
        line_feed(vt);
    } else if (first == '\t') {
        vt->column =
            vt->column / 8 * 8 + 8 < vt->columns ? vt->column / 8 * 8 + 8 : vt->columns - 1;
    } else if (first < 0x20 || first == 0x7f) {
        strange(vt, "control", bytes, 1);
    } else {
        utf8proc_ssize_t own =
            utf8proc_iterate((const utf8proc_uint8_t *)bytes, (utf8proc_ssize_t)len, &code);
        if (own < 0 && len < 4 && first >= 0xC2)
            return 0;
        if (own < 0 || (code >= 0x80 && code < 0xA0)) {
            strange(vt, "byte", bytes, 1);
            return own < 0 ? 1 : (size_t)own;
        }
        put_point(vt, code, bytes, (size_t)own);
        return (size_t)own;
    }
    return 1;
}

void vt_take(struct vt *vt, const char *bytes, size_t len)
{
    char *all = malloc(vt->pending_len + len + 1);
    CHECK(all != NULL);
    memcpy(all, vt->pending, vt->pending_len);
    memcpy(all + vt->pending_len, bytes, len);
    len += vt->pending_len;
    size_t at = 0, own = 1;
    while (at < len && (own = take_one(vt, all + at, len - at)) > 0)
        at += own;
    CHECK(len - at < sizeof vt->pending);
    vt->pending_len = len - at;
    memcpy(vt->pending, all + at, vt->pending_len);
    free(all);
}
