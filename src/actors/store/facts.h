/*
 * facts.h — the opaque bytes kept beside the row of a message or delivery.
 */
#ifndef SMA_STORE_FACTS_H
#define SMA_STORE_FACTS_H

#include "store.h"

/* What is kept beside the row of a message. */
struct store_facts
{
    struct sma_route route; /* adapter and chat_key are not stored */
    struct sma_str context, text;
    bool has_text; /* otherwise the history line has it */
    int64_t wall_ms;
    int64_t accepted_ms; /* when it was accepted, wall clock; 0 = not noted */
    struct sma_str group_key;
    /* What has to happen before the row may start; gone from the row when it has. */
    struct sma_str preparation;
    bool wants_role;
    bool is_role_open; /* with wants_role: it runs whatever the role is */
    uint8_t control;   /* of a command that waits for the role of its author, or for its turn */
    bool is_retry;     /* of a command: it is answered like the message whose words are here */
    bool is_apart;     /* not its author's own words: never a part of a run that is open */
    bool is_behind;    /* ... but of the run of the words right before it */
    bool is_group,
        is_admin;    /* where it was said; the platform calls its author an administrator there */
    bool may_answer; /* may be the answer to a request, once the role of its author is known */
    bool is_else_ignored; /* ... and when it is not, it is only recorded */
    bool is_judged;       /* the agent is asked whether it is the answer to a request */
    struct sma_str
        /* may_answer, is_judged: the request that it means; empty: a press, which says it */
        request_id;
    uint8_t change;       /* of a NOTE: enum sma_change of the message route.message_id */
    struct sma_str parts; /* its pictures, files and sounds: message_parts.h; empty = none */
    bool is_fallback;     /* of a delivery: no tool sends it */
    struct sma_str why;   /* why it is not answered: a word of sma/reasons.h; empty = it is */
};
void sma_store_facts_put(struct sma_buf *buf, const struct store_facts *facts);
/** The row is no message, and yet a run: /compact. */
static inline bool sma_store_is_run_command(const struct store_facts *facts)
{
    return facts->control == SMA_CONTROL_COMPACT;
}
/** Slices point into bytes. */
SMA_CHECKED enum sma_err sma_store_facts_get(struct sma_str bytes, struct store_facts *ret_facts);
/** They were written by a newer version of the program: not damaged, and not to be thrown away. */
bool sma_store_facts_is_newer(struct sma_str bytes);
/** The "text" of a history line, appended to buf. */
SMA_CHECKED enum sma_err sma_store_line_text(struct sma_str line, struct sma_buf *buf);

#endif
