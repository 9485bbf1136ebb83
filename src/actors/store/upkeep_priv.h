/*
 * upkeep_priv.h — what the files of the part "upkeep" share. Thread: the store's.
 */
#ifndef SMA_STORE_UPKEEP_PRIV_H
#define SMA_STORE_UPKEEP_PRIV_H

#include "upkeep.h"

struct store_upkeep
{
    uint64_t wal_ns;      /* when to look at a trouble of checkpoints again; 0 = there is none */
    uint64_t wal_told_ns; /* when it may be told again */
    uint64_t early_told, early_told_ns; /* claims that went early; when to tell of more */
};

#endif
