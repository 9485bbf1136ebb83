/*
 * Retention: what is over leaves, in slices of a few milliseconds, when nobody waits. The table is
 * runtime/chat/keep.c; here is when.
 *
 * A pass begins ten minutes after the start and then an hour after the last one; at once when the
 * disk is short. A slice is a transaction of its own without a sync: what a power failure brings
 * back is removed again. Ages are told by the wall clock, so a clock that has jumped is not
 * believed for a day: until then only bytes count.
 */
#include "batch.h"
#include "people.h"
#include "record.h"
#include "upkeep_priv.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#define FIRST_NS (600 * SMA_NS_PER_S)
#define PASS_NS (3600 * SMA_NS_PER_S)
#define SHORT_NS (60 * SMA_NS_PER_S) /* between passes while the disk is short */
#define PAUSE_NS UINT64_C(20000000)
#define ROW_COUNT 256  /* of one slice */
#define NAME_COUNT 512 /* likewise */
#define DAY_MS INT64_C(86400000)
#define JUMP_MS 600000
#define TRUST_NS (24 * 3600 * SMA_NS_PER_S)
#define SIZES_NS (60 * SMA_NS_PER_S)

void sma_store_set_retention(struct sma_store *store)
{
    sma_state_set_turn_count(store->state, (uint32_t)store->config->retention.turns);
}

/* The wall clock, or 0 while it is not believed. */
static int64_t trusted_wall(struct sma_store *store, uint64_t now)
{
    struct store_keep *keep = &store->upkeep->keep;
    int64_t wall = sma_ctx_wall(store->ctx);
    int64_t offset = wall - (int64_t)(now / 1000000);
    int64_t change = offset - keep->clock_offset_ms;
    if (keep->has_clock && (change > JUMP_MS || change < -JUMP_MS)) {
        keep->distrust_until_ns = now + TRUST_NS;
        sma_ctx_log(store->ctx, SMA_LOG_WARN,
                    "the clock has jumped by %lld s: for a day nothing is removed for its age",
                    (long long)(change / 1000));
    }
    keep->has_clock = true;
    keep->clock_offset_ms = offset;
    return now < keep->distrust_until_ns ? 0 : wall;
}

static void end_pass(struct sma_store *store, uint64_t now)
{
    struct store_keep *keep = &store->upkeep->keep;
    keep->is_passing = false;
    keep->due_ns = now + PASS_NS;
    keep->sizes_ns = 0;
    sma_buf_clear(&store->scratch.text);
    sma_keep_format(&keep->pass, &store->scratch.text);
    if (store->scratch.text.len == 0 && keep->archives_removed + keep->logs_removed == 0)
        return;
    sma_ctx_log(store->ctx, SMA_LOG_INFO,
                "retention: removed %.*s; %llu archives of history, %llu days of request logs",
                store->scratch.text.len == 0 ? 7 : (int)store->scratch.text.len,
                store->scratch.text.len == 0 ? "no rows" : store->scratch.text.ptr,
                (unsigned long long)keep->archives_removed, (unsigned long long)keep->logs_removed);
}

static void give_up(struct sma_store *store, enum sma_err err, uint64_t now)
{
    struct store_keep *keep = &store->upkeep->keep;
    if (sma_state_is_fatal(store->state))
        sma_ctx_fatal(store->ctx, "state.db: %s", sma_state_error(store->state)->text);
    const struct sma_error *error = sma_state_error(store->state);
    sma_ctx_log(store->ctx, SMA_LOG_WARN,
                "retention: nothing is removed now, it is tried again in an hour: %s",
                error->text[0] != '\0' ? error->text : sma_err_text(err));
    keep->is_passing = false;
    keep->due_ns = now + PASS_NS;
}

static SMA_CHECKED enum sma_err remove_some(struct sma_store *store, bool *ret_is_over)
{
    enum sma_err err = sma_state_begin(store->state);
    if (err == SMA_ERR_OK)
        err = sma_keep_slice(&store->upkeep->keep.pass, store->state, ROW_COUNT, ret_is_over);
    if (err == SMA_ERR_OK)
        return sma_state_commit_lazy(store->state);
    if (sma_state_is_in_transaction(store->state))
        sma_state_rollback(store->state);
    return err;
}

/* @return the stage is over; so the next two */
static bool remove_archives(struct sma_store *store)
{
    struct store_keep *keep = &store->upkeep->keep;
    int64_t days = store->config->retention.archive_days;
    if (days <= 0 || keep->pass.now_ms == 0)
        return true;
    if (keep->archives == NULL) {
        char path[4096];
        snprintf(path, sizeof path, "%s/chats", store->config->state_dir);
        keep->archives = sma_archive_keep_begin(path);
    }
    bool is_over = keep->archives == NULL ||
                   sma_archive_keep_slice(keep->archives, keep->pass.now_ms - days * DAY_MS,
                                          NAME_COUNT, &keep->archives_removed);
    if (is_over)
        sma_store_end_keep(store);
    return is_over;
}

static bool is_day_file(const char *name)
{
    return strlen(name) == sizeof "2026-01-01.jsonl" - 1 && strcmp(name + 10, ".jsonl") == 0;
}

/* What models were sent is the first that nobody misses; the day that is being written stays. */
static void remove_logs(struct sma_store *store)
{
    char path[4096], newest[32] = "";
    snprintf(path, sizeof path, "%s/logs/llm", store->config->state_dir);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return;
    for (struct dirent *item; (item = readdir(folder)) != NULL;)
        if (is_day_file(item->d_name) && strcmp(item->d_name, newest) > 0)
            snprintf(newest, sizeof newest, "%.16s", item->d_name);
    rewinddir(folder);
    for (struct dirent *item; (item = readdir(folder)) != NULL;)
        if (is_day_file(item->d_name) && strcmp(item->d_name, newest) < 0 &&
            unlinkat(dirfd(folder), item->d_name, 0) == 0)
            store->upkeep->keep.logs_removed++;
    (void)closedir(folder);
}

static SMA_CHECKED enum sma_err one_slice(struct sma_store *store, bool *ret_is_over)
{
    *ret_is_over = true;
    switch ((enum store_keep_stage)store->upkeep->keep.stage) {
    case STORE_KEEP_ROWS:
        return remove_some(store, ret_is_over);
    case STORE_KEEP_STRANGERS:
        return sma_store_strangers_slice(store, ret_is_over);
    case STORE_KEEP_ARCHIVES:
        *ret_is_over = remove_archives(store);
        break;
    case STORE_KEEP_LOGS:
        if (sma_store_disk_level(store) > 0)
            remove_logs(store);
        break;
    case STORE_KEEP_OUTPUTS:
        sma_store_remove_outputs(store, store->upkeep->keep.pass.now_ms);
        break;
    case STORE_KEEP_STAGE_COUNT:
        break;
    }
    return SMA_ERR_OK;
}

void sma_store_end_keep(struct sma_store *store)
{
    sma_archive_keep_end(store->upkeep->keep.archives);
    store->upkeep->keep.archives = NULL;
}

void sma_store_keep_slice(struct sma_store *store)
{
    struct store_keep *keep = &store->upkeep->keep;
    uint64_t now = sma_ctx_now(store->ctx);
    if (store->is_draining || now < sma_store_keep_wake(store))
        return;
    if (!keep->is_passing) {
        sma_keep_begin(&keep->pass, &store->config->retention, trusted_wall(store, now));
        sma_store_strangers_begin(store, keep->pass.now_ms);
        keep->is_passing = true;
        keep->stage = STORE_KEEP_ROWS;
        keep->archives_removed = keep->logs_removed = 0;
        keep->begun_ns = now;
    }
    bool is_over = false;
    enum sma_err err = one_slice(store, &is_over);
    if (err != SMA_ERR_OK)
        give_up(store, err, now);
    else if (is_over && ++keep->stage == STORE_KEEP_STAGE_COUNT)
        end_pass(store, now);
    keep->slice_ns = now + PAUSE_NS;
}

uint64_t sma_store_keep_wake(const struct sma_store *store)
{
    const struct store_keep *keep = &store->upkeep->keep;
    if (keep->is_passing)
        return keep->slice_ns;
    uint64_t due = keep->due_ns != 0 ? keep->due_ns : store->start_ns + FIRST_NS;
    bool is_short = sma_store_disk_level(store) > 0;
    uint64_t soon = keep->begun_ns == 0 ? 0 : keep->begun_ns + SHORT_NS;
    return is_short && soon < due ? soon : due;
}

/* -- sizes ------------------------------------------------------------------------------------- */
static void put_table(struct sma_buf *buf, const char *name, struct sma_state_table_size size)
{
    sma_buf_put_json_key(buf, name);
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_number(buf, "rows", size.rows);
    sma_buf_put_json_number(buf, "bytes", size.bytes);
    sma_buf_put_char(buf, '}');
}

void sma_store_put_sizes(struct sma_store *store, struct sma_buf *json)
{
    struct store_keep *keep = &store->upkeep->keep;
    uint64_t now = sma_ctx_now(store->ctx);
    if (keep->sizes_ns == 0 || now - keep->sizes_ns >= SIZES_NS) {
        if (sma_state_sizes(store->state, &keep->sizes) != SMA_ERR_OK)
            keep->sizes = (struct sma_state_sizes){0};
        keep->sizes_ns = now | 1;
    }
    const struct sma_state_sizes *sizes = &keep->sizes;
    sma_buf_put_json_key(json, "sizes");
    sma_buf_put_char(json, '{');
    sma_buf_put_json_number(json, "stateBytes", sizes->file_bytes);
    sma_buf_put_json_number(json, "freeBytes", sizes->free_bytes);
    sma_buf_put_json_number(json, "walBytes", sizes->wal_bytes);
    put_table(json, "messages", sizes->messages);
    put_table(json, "turns", sizes->turns);
    put_table(json, "results", sizes->results);
    put_table(json, "deliveries", sizes->deliveries);
    sma_buf_put_char(json, '}');
}
