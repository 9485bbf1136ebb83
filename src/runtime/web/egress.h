/*
 * egress.h — how much of a model's own making leaves in an address, and whether people are asked.
 *
 * After contents of the project came into a chat, whatever the model makes up may carry them, in
 * any encoding. So bytes are counted that neither the person nor the web has written before, over
 * the whole session, those of keys and hashes for more. Of an address that is known the choice
 * itself counts as a byte, and what answered an address of the model's own making may repeat it:
 * that counts again.
 * Threads: any; no state.
 */
#ifndef SMA_RUNTIME_WEB_EGRESS_H
#define SMA_RUNTIME_WEB_EGRESS_H

#include "sma/buf.h"

/* in addresses of hosts that the owner has not listed; asked about at every one but with
 * "web": "allow", where four to eight made-up addresses of documents are as many. A byte of what
 * looks like data (a key, a hash, base64) counts for eight: of 47 ordinary addresses two are asked
 * about, a commit and a document by their ids. */
#define SMA_EGRESS_BYTES_MAX 256
#define SMA_EGRESS_DATA_WEIGHT 8
/* to hosts of the owner's list, his search, his MCP servers elsewhere; in one day (UTC) */
#define SMA_EGRESS_LISTED_BYTES_MAX (16u * 1024)

/* Whom something goes to. */
enum sma_egress_to
{
    SMA_EGRESS_NOBODY, /* or to a host that a person has allowed */
    SMA_EGRESS_ANYBODY,
    SMA_EGRESS_LISTED,
};

/* Of one session: what came in, and what has left since people last agreed to something. */
struct sma_egress
{
    bool has_read;
    uint32_t bytes, listed_bytes;
    uint32_t day; /* of listed_bytes: days since 1970 */
};

enum sma_egress_kind
{
    SMA_EGRESS_TYPED,  /* by the person */
    SMA_EGRESS_FETCH,  /* what came of fetching `asked` */
    SMA_EGRESS_SEARCH, /* what came of searching for `asked` */
};
/* A text that an address may have been taken from. */
struct sma_egress_text
{
    enum sma_egress_kind kind;
    struct sma_str text, asked;
};

/** What was counted on another day does not count any more. */
void sma_egress_set_day(struct sma_egress *egress, int64_t wall_ms);
struct sma_egress_cost
{
    uint32_t bytes;
    uint32_t weight; /* those of words that look like data count SMA_EGRESS_DATA_WEIGHT times */
};
/** Of `address` what is the model's own. @texts: oldest first */
struct sma_egress_cost sma_egress_cost(struct sma_str address, const struct sma_egress_text *texts,
                                       size_t count);
/** Would `bytes` more be too much to leave without a question? */
bool sma_egress_is_much(const struct sma_egress *before, enum sma_egress_to to, uint32_t bytes);
/** Count them, or take them back. */
void sma_egress_add(struct sma_egress *egress, enum sma_egress_to to, uint32_t bytes);
void sma_egress_take(struct sma_egress *egress, enum sma_egress_to to, uint32_t bytes);

#endif
