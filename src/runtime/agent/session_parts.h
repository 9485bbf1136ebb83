/*
 * session_parts.h — pictures, files and sounds of the turns of a session: kept with the turn, and
 * hidden when they are old, refused or too many. For session.c; the rest is in session.h.
 * Threads: the owner only.
 */
#ifndef SMA_RUNTIME_AGENT_SESSION_PARTS_H
#define SMA_RUNTIME_AGENT_SESSION_PARTS_H

#include "runtime/agent/codec.h"

/** Bytes of the strings of a turn's parts. */
size_t sma_session_parts_bytes(const struct sma_stored_turn *turn);
/** Copy the parts to to->parts (room for them all) and their strings to *at, which moves on. */
void sma_session_copy_parts(char **at, const struct sma_stored_turn *from,
                            struct sma_stored_turn *to);

#endif
