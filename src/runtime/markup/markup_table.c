/*
 * markup_table.c — a table as columns of monospaced text.
 *
 * Width is what a terminal shows: two columns for wide characters (Chinese, Japanese, Korean) and
 * emoji, none for combining marks; counted by grapheme cluster, so that an emoji made of several
 * code points counts two.
 */
#include "markup_priv.h"

#include <md4c.h>
#include <stdlib.h>
#include <utf8proc.h>

#define WIDTH_MAX \
    200 /* padding of a column stops here: one endless cell must not widen every line */

size_t sma_markup_width(struct sma_str text)
{
    size_t width = 0, cluster = 0;
    utf8proc_int32_t before = -1, code, state = 0;
    for (size_t at = 0; at < text.len;) {
        utf8proc_ssize_t len = utf8proc_iterate((const utf8proc_uint8_t *)text.ptr + at,
                                                (utf8proc_ssize_t)(text.len - at), &code);
        if (len <= 0) { /* an invalid byte: shown as one replacement character */
            code = 0xFFFD;
            len = 1;
        }
        at += (size_t)len;
        if (before < 0 || utf8proc_grapheme_break_stateful(before, code, &state)) {
            width += cluster;
            cluster = 0;
        }
        size_t wide = (size_t)utf8proc_charwidth(code);
        bool is_flag = code >= 0x1F1E6 && code <= 0x1F1FF;
        if (code == 0xFE0F || is_flag)
            wide = 2;
        if (wide > cluster)
            cluster = wide;
        before = code;
    }
    return width + cluster;
}

void sma_table_init(struct table *table, uint32_t column_count, uint32_t head_row_count)
{
    *table = (struct table){.column_count = column_count, .head_row_count = head_row_count};
    sma_buf_init(&table->cells, SMA_MARKUP_TEXT_BYTES_MAX);
}

void sma_table_fini(struct table *table)
{
    sma_buf_fini(&table->cells);
    free(table->ends);
    *table = (struct table){0};
}

enum sma_err sma_table_end_cell(struct table *table)
{
    if (table->cells.err != SMA_ERR_OK)
        return table->cells.err;
    if (table->cell_count == SMA_MARKUP_COUNT_MAX * 4)
        return SMA_ERR_TOOBIG;
    if (table->cell_count == table->cell_room) {
        uint32_t room = table->cell_room == 0 ? 64 : table->cell_room * 2;
        uint32_t *ends = realloc(table->ends, room * sizeof *ends);
        if (ends == NULL)
            return SMA_ERR_NOMEM;
        table->ends = ends;
        table->cell_room = room;
    }
    table->ends[table->cell_count++] = (uint32_t)table->cells.len;
    return SMA_ERR_OK;
}

static struct sma_str cell_at(const struct table *table, uint32_t index)
{
    uint32_t from = index == 0 ? 0 : table->ends[index - 1];
    return (struct sma_str){table->cells.ptr == NULL ? "" : table->cells.ptr + from,
                            table->ends[index] - from};
}

static void put_many(struct sma_buf *text, char byte, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sma_buf_put_char(text, byte);
}

static void put_cell(struct sma_buf *text, struct sma_str cell, size_t width, uint8_t align,
                     bool is_last)
{
    size_t own = sma_markup_width(cell);
    size_t free_width = own < width ? width - own : 0;
    size_t left = align == MD_ALIGN_RIGHT    ? free_width
                  : align == MD_ALIGN_CENTER ? free_width / 2
                                             : 0;
    if (is_last && cell.len == 0)
        return; /* no blanks at the end of a line */
    put_many(text, ' ', left);
    sma_buf_put_str(text, cell);
    if (!is_last)
        put_many(text, ' ', free_width - left);
}

static void put_rule(struct sma_buf *text, const size_t *widths, uint32_t column_count)
{
    for (uint32_t column = 0; column < column_count; column++) {
        if (column > 0)
            sma_buf_put_text(text, "-+-");
        put_many(text, '-', widths[column]);
    }
}

enum sma_err sma_table_put(const struct table *table, struct sma_buf *text)
{
    size_t widths[COLUMN_COUNT_MAX] = {0};
    uint32_t columns = table->column_count;
    for (uint32_t i = 0; i < table->cell_count; i++) {
        size_t width = sma_markup_width(cell_at(table, i));
        size_t *most = &widths[i % columns];
        *most = width > *most ? width : *most;
        *most = *most > WIDTH_MAX ? WIDTH_MAX : *most;
    }
    uint32_t row_count = table->cell_count / columns;
    for (uint32_t row = 0; row < row_count && text->err == SMA_ERR_OK; row++) {
        if (row > 0)
            sma_buf_put_char(text, '\n');
        for (uint32_t column = 0; column < columns; column++) {
            bool is_last = column + 1 == columns;
            struct sma_str cell = cell_at(table, row * columns + column);
            if (column > 0)
                sma_buf_put_text(text, is_last && cell.len == 0 ? " |" : " | ");
            put_cell(text, cell, widths[column], table->aligns[column], is_last);
        }
        if (row + 1 == table->head_row_count) {
            sma_buf_put_char(text, '\n');
            put_rule(text, widths, columns);
        }
    }
    return text->err;
}
