/*
 * The store actor: the only owner of everything durable. One message in, one batch out.
 * Story and guarantees: docs/notes/store-actor.md; its parts: part.h.
 */
#include "store.h"
#include "batch_priv.h"
#include "budget.h"
#include "consent.h"
#include "hooks.h"
#include "intake.h"
#include "memory.h"
#include "outbox.h"
#include "people.h"
#include "platform_ask.h"
#include "query.h"
#include "record.h"
#include "runs.h"
#include "upkeep.h"

#include "sma/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define STORE_MAGIC 0x53544F52u
#define SCRATCH_BYTES_MAX ((size_t)64 * 1024 * 1024)

/* -- create and destroy ------------------------------------------------------------------------ */
static bool read_free_space(void *user, uint64_t *ret_free_bytes)
{
    const struct sma_store *store = user;
    struct statvfs facts;
    if (statvfs(store->config->state_dir, &facts) != 0)
        return false;
    *ret_free_bytes = (uint64_t)facts.f_bavail * facts.f_frsize;
    return true;
}

static void init_buffers(struct sma_store *store)
{
    sma_buf_init(&store->scratch.line, SCRATCH_BYTES_MAX);
    sma_buf_init(&store->scratch.meta, SCRATCH_BYTES_MAX);
    sma_buf_init(&store->scratch.facts, SCRATCH_BYTES_MAX);
    sma_buf_init(&store->scratch.text, SCRATCH_BYTES_MAX);
    sma_buf_init(&store->scratch.load, 4 * SCRATCH_BYTES_MAX);
    sma_buf_init(&store->scratch.parts, SCRATCH_BYTES_MAX);
    sma_buf_init(&store->scratch.model, SMA_ID_BYTES_MAX);
    sma_buf_init(&store->boot_log, 64 * 1024);
}

/* On the checkpointer's thread: an idle store would notice it with its next batch only. As
 * sma_ctx_fatal. */
static void end_program(void *user, const char *text)
{
    (void)user;
    fprintf(stderr, "fatal store: %s\n", text);
    _exit(1);
}

static SMA_CHECKED enum sma_err
open_files(struct sma_store *store, const struct sma_store_hooks *hooks, struct sma_error *error)
{
    const char *dir = store->config->state_dir;
    char path[4096];
    enum sma_err err = sma_sys_make_dirs(store->sys, dir, error);
    if (err != SMA_ERR_OK)
        return err;
    if (snprintf(path, sizeof path, "%s/state.db", dir) >= (int)sizeof path - 16)
        return sma_fail(error, SMA_ERR_TOOBIG, "the path of the project is too long: %s", dir);
    err = sma_state_open(
        &(struct sma_state_options){.path = path,
                                    .sys = store->sys,
                                    .is_durability_none = store->config->durability_is_none,
                                    .is_single_threaded = hooks->is_single_threaded,
                                    .on_fatal = end_program},
        &store->state, error);
    if (err != SMA_ERR_OK)
        return err;
    sma_store_set_retention(store);
    snprintf(path, sizeof path, "%s/chats", dir);
    return sma_history_open(
        &(struct sma_history_options){.sys = store->sys,
                                      .directory = path,
                                      .is_single_threaded = hooks->is_single_threaded,
                                      .report = sma_store_report,
                                      .self = store},
        &store->history, error);
}

static SMA_CHECKED enum sma_err set_up(struct sma_store *store,
                                       const struct sma_store_options *options,
                                       const struct sma_store_hooks *hooks, struct sma_error *error)
{
    if (options->adapter_count > SMA_ADAPTER_COUNT_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "at most %d adapters may be configured",
                        SMA_ADAPTER_COUNT_MAX);
    for (size_t i = 0; i < options->adapter_count; i++)
        store->adapters[i] = (struct store_adapter){
            .adapter = &options->adapters[i],
            .label = sma_label_place(SMA_LABEL_PLATFORM,
                                     sma_str(sma_adapter_name(&options->adapters[i])))};
    store->adapter_count = (uint32_t)options->adapter_count;
    if (sma_store_create_parts(store) != SMA_ERR_OK)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    sma_store_set_hooks(store);
    if (hooks->disk != NULL)
        sma_store_set_disk(store, hooks->disk, hooks->disk_user);
    else
        sma_store_set_disk(store, read_free_space, store);
    int chat_max = store->config->queue_chat_waiting_max, max = store->config->queue_waiting_max;
    struct sma_queue_options queue = {
        .is_fair = store->config->queue_is_fair,
        .chat_waiting_max = chat_max > 0 ? (uint32_t)chat_max : SMA_CHAT_WAITING_COUNT_MAX,
        .waiting_max = max > 0 ? (uint32_t)max : SMA_INBOX_WAITING_COUNT_MAX,
        .person_of = sma_store_person_of,
        .user = store,
    };
    if (sma_queue_create(&queue, &store->queue) != SMA_ERR_OK)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    store->sys->random_bytes(store->sys->self, store->hash_key, sizeof store->hash_key);
    enum sma_err err = sma_store_load_rules(store);
    if (err != SMA_ERR_OK)
        return sma_fail(error, err, "out of memory");
    err = open_files(store, hooks, error);
    if (err == SMA_ERR_OK)
        err = sma_store_recover(store, error);
    if (err != SMA_ERR_OK)
        return err;
    err = sma_store_load_approval_key(store);
    if (err != SMA_ERR_OK)
        return sma_fail(error, err, "the key of approval buttons cannot be read or written: %s",
                        sma_state_error(store->state)->text);
    sma_store_project_all(store);
    return SMA_ERR_OK;
}

enum sma_err sma_store_create_hooked(const struct sma_store_options *options,
                                     const struct sma_store_hooks *hooks,
                                     struct sma_store **ret_store, struct sma_error *error)
{
    struct sma_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    store->magic = STORE_MAGIC;
    store->config = options->config;
    store->sys = hooks->sys != NULL ? hooks->sys : sma_sys_real();
    store->chats.sweep_at = STORE_CHAT_KEPT_COUNT;
    init_buffers(store);
    enum sma_err err = set_up(store, options, hooks, error);
    if (err != SMA_ERR_OK) {
        sma_store_destroy(store);
        return err;
    }
    *ret_store = store;
    return SMA_ERR_OK;
}

enum sma_err sma_store_create(const struct sma_store_options *options, struct sma_store **ret_store,
                              struct sma_error *error)
{
    return sma_store_create_hooked(options, &(struct sma_store_hooks){0}, ret_store, error);
}

static void free_chats(struct sma_store *store)
{
    while (store->chats.first != NULL) {
        struct store_chat *chat = store->chats.first;
        store->chats.first = chat->next;
        if (chat->has_own_key)
            free(chat->key);
        free(chat);
    }
}

void sma_store_destroy(struct sma_store *store)
{
    if (store == NULL)
        return;
    SMA_ASSERT(store->magic == STORE_MAGIC);
    store->magic = 0;
    sma_store_end_parts(store);
    free_chats(store);
    sma_history_close(store->history);
    bool is_untouched = store->has_failed_start && !store->has_worked &&
                        (store->state == NULL || sma_state_was_clean(store->state));
    sma_state_close(store->state, store->is_drained || is_untouched);
    sma_queue_destroy(store->queue);
    sma_buf_fini(&store->scratch.line);
    sma_buf_fini(&store->scratch.meta);
    sma_buf_fini(&store->scratch.facts);
    sma_buf_fini(&store->scratch.text);
    sma_buf_fini(&store->scratch.load);
    sma_buf_fini(&store->scratch.parts);
    sma_buf_fini(&store->scratch.model);
    sma_buf_fini(&store->boot_log);
    free(store);
}

void sma_store_note_failed_start(struct sma_store *store)
{
    SMA_ASSERT(store->magic == STORE_MAGIC);
    store->has_failed_start = true;
}

/* -- the actor --------------------------------------------------------------------------------- */
/* One line of boot_log: level byte, text, newline. */
static void log_boot(struct sma_store *store)
{
    const char *at = store->boot_log.ptr, *end = at + store->boot_log.len;
    while (store->boot_log.len > 0 && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL)
            break;
        sma_ctx_log(store->ctx, (enum sma_log_level)(at[0] - '0'), "%.*s", (int)(stop - at - 1),
                    at + 1);
        at = stop + 1;
    }
    sma_buf_clear(&store->boot_log);
}

static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)error;
    struct sma_store *store = state;
    SMA_ASSERT(store->magic == STORE_MAGIC);
    store->ctx = ctx;
    store->start_ns = sma_ctx_now(ctx);
    struct sma_state_counts counts;
    sma_state_counts(store->state, &counts);
    store->batch->sync_count = counts.wal_syncs;
    store->batch->commit_count = counts.commits;
    store->batch->lazy_commit_count = counts.lazy_commits;
    log_boot(store);
    if (store->config->durability_is_none)
        sma_ctx_log(ctx, SMA_LOG_WARN,
                    "durability is \"none\": after a power failure accepted messages may be lost "
                    "or answered twice");
    sma_store_check_disk(store);
    sma_store_publish_disk(store);
    SMA_METRIC_SET(chats, (int64_t)counts.chats);
    /* What is open from before starts with the first batch, when every other actor listens. */
    sma_ctx_wake_at(ctx, sma_ctx_now(ctx));
    return SMA_ERR_OK;
}

static void drain(struct sma_store *store)
{
    store->is_draining = true;
    if (sma_store_save_clocks(store) != SMA_ERR_OK)
        sma_ctx_log(store->ctx, SMA_LOG_WARN,
                    "how much time requests have left was not written: %s",
                    sma_state_error(store->state)->text);
    sma_store_end_batch(store);
    sma_store_send_deferred(store);
    sma_store_answer_all_waiters(store);
    sma_store_flush_all(store);
    sma_store_finish_contacts(store);
    store->is_drained = true;
}

static void handle_life(struct sma_store *store, const struct sma_msg *msg)
{
    unsigned phase = SMA_MSG_BODY((struct sma_msg *)msg, struct sma_life)->phase;
    if (phase == SMA_PHASE_DRAIN && !store->is_drained)
        drain(store);
    sma_ctx_life_done(store->ctx, phase);
}

static void dispatch(struct sma_store *store, struct sma_msg **msg)
{
    switch ((*msg)->kind) {
    case SMA_MSG_INGRESS:
        sma_store_ingress(store, msg);
        break;
    case SMA_MSG_PREPARED:
        if (!sma_store_platform_said(store, *msg))
            sma_store_prepared(store, msg);
        break;
    case SMA_MSG_STEP:
        sma_store_step(store, msg);
        break;
    case SMA_MSG_DONE:
        sma_store_done(store, msg);
        break;
    case SMA_MSG_RECEIPT:
        sma_store_receipt(store, msg);
        break;
    case SMA_MSG_LATE:
        sma_store_late(store, SMA_MSG_BODY(*msg, struct sma_late));
        break;
    case SMA_MSG_AWAIT:
        sma_store_await(store, msg);
        break;
    case SMA_MSG_QUERY:
        sma_store_query(store, msg);
        break;
    case SMA_MSG_HISTORY:
        sma_store_history(store, msg);
        break;
    case SMA_MSG_SESSION:
        sma_store_session(store, msg);
        break;
    case SMA_MSG_FETCH:
        sma_store_fetch(store, msg);
        break;
    case SMA_MSG_CONTACT:
        sma_store_contact(store, msg);
        break;
    case SMA_MSG_DECIDE:
        sma_store_decide(store, msg);
        break;
    case SMA_MSG_JUDGED:
        sma_store_judged(store, msg);
        break;
    case SMA_MSG_SPENT:
        sma_store_count_spent(store, SMA_MSG_BODY(*msg, struct sma_spent));
        break;
    case SMA_MSG_MCP_HELD:
        sma_store_program_held(store, *msg);
        break;
    case SMA_MSG_LEARN:
        sma_store_learn(store, SMA_MSG_BODY(*msg, struct sma_learned));
        break;
    case SMA_MSG_LIFE:
        handle_life(store, *msg);
        break;
    case SMA_MSG_RELOAD:
        store->config = SMA_MSG_BODY(*msg, struct sma_reload)->config;
        sma_store_set_retention(store);
        sma_store_set_budgets(store);
        if (sma_store_load_rules(store) != SMA_ERR_OK)
            sma_ctx_fatal(store->ctx, "out of memory");
        break;
    default:
        sma_ctx_log(store->ctx, SMA_LOG_WARN, "the store got a message of kind %s it does not know",
                    sma_msg_kind_name((*msg)->kind));
        break;
    }
}

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct sma_store *store = state;
    SMA_ASSERT(store->magic == STORE_MAGIC && store->ctx == ctx);
    store->has_worked =
        store->has_worked || ((*msg)->kind != SMA_MSG_LIFE && (*msg)->kind != SMA_MSG_RELOAD);
    sma_store_teach(store);
    dispatch(store, msg);
    if (store->batch->effect_count >= SMA_BATCH_COUNT_MAX ||
        sma_store_line_bytes(store) >= STORE_BATCH_LINE_BYTES)
        sma_store_end_batch(store);
}

static void set_wake(struct sma_store *store)
{
    uint64_t wake = sma_store_wake_parts(store), now = sma_ctx_now(store->ctx);
    sma_ctx_wake_at(store->ctx, wake < now ? now : wake);
}

static void batch_end(void *state, struct sma_ctx *ctx)
{
    (void)ctx;
    struct sma_store *store = state;
    sma_store_teach(store);
    if (store->batch->retry_ns != 0 && sma_ctx_now(store->ctx) >= store->batch->retry_ns)
        store->batch->retry_ns = 0;
    /* Before the batch looks for what it may start: nothing else would wake it for what these held
     * up. */
    if (store->batch->deferred_count > 0)
        sma_store_send_deferred(store);
    if (sma_store_disk_level(store) > 0)
        sma_store_check_disk(store);
    sma_store_end_batch(store);
    if (store->is_drained) {
        sma_store_refuse_searches(store);
        return;
    }
    sma_store_sync_lazy(store, sma_ctx_now(store->ctx));
    sma_store_search_slice(store);
    sma_store_tend_wal(store);
    sma_store_tend_claims(store);
    sma_store_tend_contacts(store);
    sma_store_keep_slice(store);
    sma_store_between(store);
    set_wake(store);
}

/* Everything happens in batch_end, which follows. */
static void wake(void *state, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx;
}

const struct sma_actor_ops sma_store_actor_ops = {
    .name = "store",
    .start = start,
    .handle = handle,
    .batch_end = batch_end,
    .wake = wake,
};
