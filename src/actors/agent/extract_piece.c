/* extract_piece.c — which lines are read at once. See extract_piece.h. */
#include "extract_piece.h"

#include "sma/limits.h"

/* In JSON, with what stands around it. */
static size_t room_of(const struct sma_history_line *line)
{
    size_t len = line->text.len < SMA_MEMORY_EXTRACT_LINE_BYTES_MAX
                     ? line->text.len
                     : SMA_MEMORY_EXTRACT_LINE_BYTES_MAX;
    return 2 * len + 200;
}

struct extract_piece extract_newest_piece(const struct sma_history_lines *lines, int64_t after_ms)
{
    struct extract_piece piece = {lines->line_count, lines->line_count};
    size_t bytes = 0;
    while (piece.first > 0 && lines->lines[piece.first - 1].wall_ms > after_ms) {
        bytes += room_of(&lines->lines[piece.first - 1]);
        if (bytes > SMA_MEMORY_EXTRACT_BYTES_MAX)
            break;
        piece.first--;
    }
    return piece;
}

struct extract_piece extract_oldest_piece(const struct sma_history_lines *lines, int64_t after_ms)
{
    struct extract_piece piece = {0, 0};
    size_t bytes = 0;
    while (piece.first < lines->line_count && lines->lines[piece.first].wall_ms <= after_ms)
        piece.first++;
    for (piece.end = piece.first; piece.end < lines->line_count; piece.end++) {
        const struct sma_history_line *line = &lines->lines[piece.end];
        bytes += room_of(line); /* the first one fits in any case */
        if (bytes > SMA_MEMORY_EXTRACT_BYTES_MAX && line->wall_ms != line[-1].wall_ms)
            break;
    }
    return piece;
}
