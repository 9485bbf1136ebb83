/* The part "intake" and its life; what it does is in accept.c, notice.c, prepare.c, group.c,
 * migrate.c. */
#include "intake.h"
#include "intake_priv.h"
#include "map.h"
#include "part.h"
#include "record.h"
#include "store.h"

#include <stdlib.h>

static enum sma_err create(struct sma_store *store)
{
    store->intake = calloc(1, sizeof *store->intake);
    if (store->intake == NULL)
        return SMA_ERR_NOMEM;
    sma_buf_init(&store->intake->audit, STORE_AUDIT_BYTES_MAX);
    return SMA_ERR_OK;
}

static void fini(struct sma_store *store)
{
    if (store->state != NULL)
        sma_store_forget_holds(store);
    sma_store_reset_quiet(store);
    sma_store_drop_busy(store, 0);
    free(store->intake->busy);
    sma_store_map_fini(&store->intake->questions);
    sma_store_map_fini(&store->intake->groups);
    sma_store_map_fini(&store->intake->leaders);
    sma_buf_fini(&store->intake->audit);
    free(store->intake);
}

/* Questions and albums are made again while the queue is read; those of which no row told are
 * over. */
static enum sma_err load(struct sma_store *store)
{
    sma_store_drop_lost_questions(store);
    return SMA_ERR_OK;
}

static void mark(const struct sma_store *store, struct store_marks *marks)
{
    marks->busy = store->intake->busy_count;
    marks->audit = store->intake->audit.len;
}

static void forget(struct sma_store *store, const struct store_marks *to)
{
    sma_store_drop_busy(store, to->busy);
    sma_store_drop_audit(store, to->audit);
    sma_store_reset_holds(store);
    sma_store_reset_quiet(store);
}

static enum sma_err expire(struct sma_store *store)
{
    sma_store_expire_groups(store);
    sma_store_expire_quiet(store);
    return sma_store_expire_questions(store);
}

static void follow(struct sma_store *store)
{
    sma_store_drop_busy(store, 0);
    sma_store_ask_questions(store);
    sma_store_flush_audit(store);
    (void)sma_reason_tick(&store->intake->reasons, store->ctx); /* wake() says when again */
}

static uint64_t wake(const struct sma_store *store)
{
    uint64_t groups = sma_store_groups_wake(store);
    uint64_t questions =
        sma_store_disk_level(store) < 2 ? sma_store_questions_wake(store) : UINT64_MAX;
    if (sma_store_is_retrying(store))
        return UINT64_MAX;
    uint64_t quiet = sma_store_quiet_wake(store);
    groups = quiet < groups ? quiet : groups;
    uint64_t told = sma_reason_due(&store->intake->reasons);
    groups = told < groups ? told : groups;
    return questions < groups ? questions : groups;
}

const struct store_part sma_store_intake_part = {.name = "intake",
                                                 .create = create,
                                                 .load = load,
                                                 .mark = mark,
                                                 .forget = forget,
                                                 .expire = expire,
                                                 .complete = sma_store_busy_notices,
                                                 .follow = follow,
                                                 .wake = wake,
                                                 .fini = fini};
