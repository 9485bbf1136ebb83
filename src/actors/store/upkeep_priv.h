/*
 * upkeep_priv.h — what the files of the part "upkeep" share. Thread: the store's.
 */
#ifndef SMA_STORE_UPKEEP_PRIV_H
#define SMA_STORE_UPKEEP_PRIV_H

#include "upkeep.h"

#include "runtime/chat/archive_keep.h"
#include "runtime/chat/keep.h"

/* What a pass goes through, in this order. */
enum store_keep_stage
{
    STORE_KEEP_ROWS,
    STORE_KEEP_STRANGERS,
    STORE_KEEP_ARCHIVES,
    STORE_KEEP_LOGS, /* when the disk is short */
    STORE_KEEP_OUTPUTS,
    STORE_KEEP_STAGE_COUNT,
};
struct store_keep
{
    struct sma_keep pass;
    unsigned stage;                    /* enum store_keep_stage */
    struct sma_archive_keep *archives; /* NULL = not begun */
    uint64_t archives_removed, logs_removed;
    bool is_passing, has_clock;
    uint64_t due_ns;   /* the next pass; 0 = the first one */
    uint64_t begun_ns; /* the last one */
    uint64_t slice_ns; /* the next slice of the one under way */
    int64_t clock_offset_ms;
    uint64_t distrust_until_ns; /* the clock has jumped: what it says is not believed before */
    struct sma_state_sizes sizes;
    uint64_t sizes_ns; /* when they were looked at; 0 = never */
};

struct store_contacts; /* contacts.c */

struct store_upkeep
{
    struct store_contacts *contacts;
    uint64_t wal_ns;      /* when to look at a trouble of checkpoints again; 0 = there is none */
    uint64_t wal_told_ns; /* when it may be told again */
    uint64_t early_told, early_told_ns; /* claims that went early; when to tell of more */
    struct store_keep keep;
};

/** Remove files of /full that are old enough; 0: no time is known, nothing is. */
void sma_store_remove_outputs(const struct sma_store *store, int64_t now_ms);
SMA_CHECKED enum sma_err sma_store_contacts_create(struct sma_store *store);
uint64_t sma_store_contacts_wake(const struct sma_store *store);
void sma_store_contacts_fini(struct sma_store *store);

#endif
