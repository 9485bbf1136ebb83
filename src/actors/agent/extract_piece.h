/*
 * extract_piece.h — which lines of a conversation are read for what is worth remembering, so that
 * they fit one question. Pure; any thread.
 */
#ifndef SMA_AGENT_EXTRACT_PIECE_H
#define SMA_AGENT_EXTRACT_PIECE_H

#include "sma/messages.h"

/* lines[first] to lines[end - 1]; empty: first is end. */
struct extract_piece
{
    uint32_t first, end;
};

/** The newest lines behind `after_ms` that fit SMA_MEMORY_EXTRACT_BYTES_MAX. What is older and does
 * not fit is not read. */
struct extract_piece extract_newest_piece(const struct sma_history_lines *lines, int64_t after_ms);
/** The oldest ones, when everything is to be read, piece by piece: the time of the last line says
 * how far it was read, so lines of one time stay together, even where they fit no longer. */
struct extract_piece extract_oldest_piece(const struct sma_history_lines *lines, int64_t after_ms);

#endif
