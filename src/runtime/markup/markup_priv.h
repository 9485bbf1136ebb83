/* markup_priv.h — what the files of this folder share. */
#ifndef SMA_MARKUP_PRIV_H
#define SMA_MARKUP_PRIV_H

#include "runtime/markup/markup.h"

#define COLUMN_COUNT_MAX 64 /* of a table; with more the text is kept as it came */

/* -- markup.c ---------------------------------------------------------------------------------- */
/** Append text; invalid bytes and, if `is_nul_bad`, NUL become U+FFFD. Errors stick to buf. */
void sma_markup_put_valid(struct sma_buf *buf, struct sma_str text, bool is_nul_bad);
/** Room for one more mark. NULL: over SMA_MARKUP_COUNT_MAX or no memory (*ret_err). */
struct sma_mark *sma_markup_add(struct sma_markup *markup, enum sma_err *ret_err);
/** Empty text, no marks; the memory stays. */
void sma_markup_clear(struct sma_markup *markup);

/* -- markup_entity.c --------------------------------------------------------------------------- */
/** Append what `&name;` or `&#number;` stands for; an unknown one as it is. */
void sma_markup_put_entity(struct sma_buf *buf, struct sma_str entity);

/* -- markup_cjk.c ------------------------------------------------------------------------------ */
/** Append text with signs that help emphasis beside text without spaces. @return whether there are
 *  any */
bool sma_markup_put_signed(struct sma_buf *buf, struct sma_str text);
/** Append text without them. */
void sma_markup_put_unsigned(struct sma_buf *buf, struct sma_str text);

/* -- markup_rule.c ----------------------------------------------------------------------------- */
/** Append text with the rules of its tables in the form that md4c takes. */
void sma_markup_put_widened(struct sma_buf *buf, struct sma_str text);

/* -- markup_table.c ---------------------------------------------------------------------------- */
/* A table while it is read: the cells' texts one after the other, then laid out. */
struct table
{
    struct sma_buf cells;
    uint32_t *ends; /* of each cell in `cells` */
    uint32_t cell_count, cell_room;
    uint32_t column_count, head_row_count;
    uint8_t aligns[COLUMN_COUNT_MAX]; /* MD_ALIGN */
};
void sma_table_init(struct table *table, uint32_t column_count, uint32_t head_row_count);
void sma_table_fini(struct table *table);
/** The cell that was put into table->cells is complete. OK | NOMEM | TOOBIG. */
SMA_CHECKED enum sma_err sma_table_end_cell(struct table *table);
/** Append the table in columns of equal display width, lines joined by '\n'. */
SMA_CHECKED enum sma_err sma_table_put(const struct table *table, struct sma_buf *text);
/** Columns that a terminal gives this text: wide characters and emoji count two, marks none. */
size_t sma_markup_width(struct sma_str text);

#endif
