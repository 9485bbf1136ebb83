/* state_rows.c — the memory of rows that were read: copies of their own, freed together. See
 * state_read.h. */
#include "runtime/chat/state_priv.h"
#include "sma/messages.h"

#include <stdlib.h>

#define PIECE_BYTES ((size_t)4096)

struct sma_state_piece
{
    struct sma_state_piece *next;
    size_t used, capacity;
    char bytes[];
};

void sma_state_rows_free(struct sma_state_rows *rows)
{
    while (rows->pieces != NULL) {
        struct sma_state_piece *piece = rows->pieces;
        rows->pieces = piece->next;
        free(piece);
    }
}

void *sma_state_rows_take(struct sma_state_rows *rows, size_t bytes)
{
    size_t need = (bytes + 15) & ~(size_t)15;
    struct sma_state_piece *piece = rows->pieces;
    if (piece == NULL || piece->capacity - piece->used < need) {
        size_t capacity = need > PIECE_BYTES ? need : PIECE_BYTES;
        piece = malloc(sizeof *piece + capacity);
        if (piece == NULL)
            return NULL;
        *piece = (struct sma_state_piece){.next = rows->pieces, .capacity = capacity};
        rows->pieces = piece;
    }
    void *taken = piece->bytes + piece->used;
    piece->used += need;
    return taken;
}

enum sma_err sma_state_rows_own(struct sma_state_rows *rows, struct sma_str *const *slices,
                                size_t count)
{
    size_t bytes = 1; /* what is empty gets an address, too */
    for (size_t i = 0; i < count; i++)
        bytes += slices[i]->len;
    char *at = sma_state_rows_take(rows, bytes);
    for (size_t i = 0; at != NULL && i < count; i++) {
        if (slices[i]->len > 0)
            memcpy(at, slices[i]->ptr, slices[i]->len);
        slices[i]->ptr = at;
        at += slices[i]->len;
    }
    return at == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

/* Of a row whose bytes SQLite itself cannot make out: other rows may be fine. */
enum sma_err sma_state_fail_row(struct sma_state *state, int rc, const char *what)
{
    return (rc & 0xff) == SQLITE_CORRUPT ? sma_state_damaged(state, what)
                                         : sma_state_fail(state, rc, what);
}
