/*
 * test_extract_piece.c — a conversation is read for facts in pieces that fit: nothing twice,
 * nothing behind the last reading left out, nothing over the bound.
 */
#include "actors/agent/extract_piece.h"
#include "sma/limits.h"

#include "support/check.h"

#define COUNT 200                                          /* SMA_MEMORY_EXTRACT_URGENT_COUNT_MAX */
#define ROOM (2 * SMA_MEMORY_EXTRACT_LINE_BYTES_MAX + 200) /* of a long line */
#define FIT (SMA_MEMORY_EXTRACT_BYTES_MAX / ROOM)          /* so many long lines */

static char text[SMA_MEMORY_EXTRACT_LINE_BYTES_MAX * 4];
static struct sma_history_line list[COUNT];
static struct sma_history_lines lines;

/* `count` lines of `len` bytes, said in the milliseconds 1, 2, 3 ... */
static void say(uint32_t count, size_t len)
{
    memset(text, 'x', sizeof text);
    for (uint32_t i = 0; i < COUNT; i++)
        list[i] = (struct sma_history_line){.text = {text, len}, .wall_ms = i + 1};
    lines = (struct sma_history_lines){.lines = list, .line_count = count};
}

static void check(struct extract_piece piece, uint32_t first, uint32_t end)
{
    CHECK_INT(first, piece.first);
    CHECK_INT(end, piece.end);
}

CASE(what_was_read_is_not_read_again)
{
    say(10, 5);
    check(extract_newest_piece(&lines, 0), 0, 10);
    check(extract_oldest_piece(&lines, 0), 0, 10);
    check(extract_newest_piece(&lines, 4), 4, 10);
    check(extract_oldest_piece(&lines, 4), 4, 10);
    check(extract_newest_piece(&lines, 10), 10, 10);
    check(extract_oldest_piece(&lines, 10), 10, 10);
    say(0, 0);
    check(extract_newest_piece(&lines, 0), 0, 0);
    check(extract_oldest_piece(&lines, 0), 0, 0);
}

CASE(as_much_as_fits_and_no_more)
{
    say(FIT, SMA_MEMORY_EXTRACT_LINE_BYTES_MAX);
    check(extract_newest_piece(&lines, 0), 0, FIT);
    check(extract_oldest_piece(&lines, 0), 0, FIT);
    say(FIT + 1, SMA_MEMORY_EXTRACT_LINE_BYTES_MAX);
    check(extract_newest_piece(&lines, 0), 1, FIT + 1);
    check(extract_oldest_piece(&lines, 0), 0, FIT);
    say(FIT + 1, sizeof text); /* of a longer one no more is read */
    check(extract_newest_piece(&lines, 0), 1, FIT + 1);
    check(extract_oldest_piece(&lines, 0), 0, FIT);
    /* to the byte: what is left is of the last line */
    size_t rest = (SMA_MEMORY_EXTRACT_BYTES_MAX - FIT * ROOM - 200) / 2;
    say(FIT + 1, SMA_MEMORY_EXTRACT_LINE_BYTES_MAX);
    list[FIT].text.len = rest;
    check(extract_newest_piece(&lines, 0), 0, FIT + 1);
    check(extract_oldest_piece(&lines, 0), 0, FIT + 1);
    list[FIT].text.len = rest + 1;
    check(extract_newest_piece(&lines, 0), 1, FIT + 1);
    check(extract_oldest_piece(&lines, 0), 0, FIT);
}

/* Each piece begins where the last one ended, and every line is in one of them. */
CASE(piece_by_piece_everything_is_read_once)
{
    say(COUNT, SMA_MEMORY_EXTRACT_LINE_BYTES_MAX);
    for (uint32_t i = 0; i < COUNT; i++)
        list[i].wall_ms = i / 3 + 1; /* three in a millisecond */
    int64_t after = 0;
    uint32_t read = 0, pieces = 0;
    while (read < COUNT) {
        struct extract_piece piece = extract_oldest_piece(&lines, after);
        CHECK_INT(read, piece.first);
        CHECK(piece.end > piece.first && piece.end - piece.first <= FIT + 2);
        CHECK(piece.end == COUNT || list[piece.end].wall_ms != list[piece.end - 1].wall_ms);
        after = list[piece.end - 1].wall_ms;
        read = piece.end;
        pieces++;
    }
    CHECK(pieces <= COUNT / FIT + 1);
}

CASES_MAIN
