/*
 * memory_scope.h — whose facts a message is about: made of the route of an accepted message, and of
 * nothing that a model or a tool's arguments say. Thread: any; no state.
 */
#ifndef SMA_RUNTIME_MEMORY_SCOPE_H
#define SMA_RUNTIME_MEMORY_SCOPE_H

#include "runtime/memory/memory.h"
#include "sma/messages.h"

/** Its author, and the group that it was written in. A private chat whose person has no id is a
 *  person of its own. @person  holds the person; borrowed by the scope. */
struct sma_memory_scope sma_memory_scope_of(const struct sma_route *route, bool is_group,
                                            struct sma_buf *person);
/** What is offered in a chat alone, whoever speaks there (proposals of old files): its own
 *  audience, in private, too. */
struct sma_memory_scope sma_memory_scope_of_chat(struct sma_str chat_key, struct sma_buf *person);

#endif
