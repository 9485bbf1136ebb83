/* memory_actor.c — messages in and out, and what time brings. See memory_priv.h. */
#include "memory_priv.h"

#include "sma/limits.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define MEMORY_MAGIC 0x6d656d61u
#define SCRUB_DELAY_NS (UINT64_C(2) * 1000000000) /* after the last deletion */
#define SCRUB_REST_NS UINT64_C(20000000)          /* between two pieces: questions come first */
#define OLD_DELAY_NS (UINT64_C(2) * 1000000000)   /* after the start */
#define GUARD_NS (UINT64_C(600) * 1000000000)     /* the agent answers long before */

/* -- conversations to be read ------------------------------------------------------------------ */
/* What the model said and is not written yet. */
static void apply_answers(struct sma_memory_actor *actor)
{
    struct memory_chat chat;
    while (memory_work_unapplied(actor, &chat) == SMA_ERR_OK) {
        uint32_t count = memory_apply(actor, &chat);
        SMA_CRASH_POINT("memory.extracted");
        if (count > 0)
            sma_ctx_log(actor->ctx, SMA_LOG_INFO, "memory: %u facts of %.*s are %s", count,
                        (int)chat.route.chat_key.len, chat.route.chat_key.ptr,
                        actor->config->memory == SMA_MEMORY_ALLOW ? "kept" : "proposed");
        enum sma_err err = memory_work_applied(actor, chat.route.chat_key);
        memory_chat_fini(&chat);
        if (err != SMA_ERR_OK)
            return; /* said already; after the next start once more, which writes nothing twice */
    }
}

static void ask_agent(struct sma_memory_actor *actor, const struct memory_chat *chat)
{
    const struct sma_extract extract = {.route = chat->route,
                                        .is_group = chat->is_group,
                                        .seq = chat->seq,
                                        .after_ms = chat->until_ms,
                                        .line_count_max =
                                            chat->is_urgent ? SMA_MEMORY_EXTRACT_URGENT_COUNT_MAX
                                                            : SMA_MEMORY_EXTRACT_MESSAGE_COUNT_MAX};
    struct sma_msg *msg = sma_msg_make_extract(&extract);
    if (msg == NULL || chat->route.chat_key.len >= sizeof actor->asked_chat ||
        sma_ctx_send(actor->ctx, SMA_ACTOR_AGENT, &msg) != SMA_ERR_OK) {
        sma_msg_destroy(msg);
        (void)(memory_work_put_off(actor, chat->route.chat_key) == SMA_ERR_OK);
        return;
    }
    (void)snprintf(actor->asked_chat, sizeof actor->asked_chat, "%.*s",
                   (int)chat->route.chat_key.len, chat->route.chat_key.ptr);
    actor->asked_count = chat->count;
    actor->asked_seq = chat->seq;
    actor->guard_ns = sma_ctx_now(actor->ctx) + GUARD_NS;
}

/* One conversation at a time. @return when the next one is due */
static uint64_t read_next(struct sma_memory_actor *actor)
{
    struct memory_chat chat;
    int64_t due_ms;
    bool is_wanted = actor->config->memory_extracts && actor->config->memory != SMA_MEMORY_REFUSE &&
                     !actor->is_draining;
    if (!is_wanted || actor->asked_chat[0] != '\0' ||
        memory_work_next(actor, &chat, &due_ms) != SMA_ERR_OK)
        return UINT64_MAX;
    int64_t left_ms = due_ms - sma_ctx_wall(actor->ctx);
    uint64_t at = UINT64_MAX;
    if (left_ms <= 0)
        ask_agent(actor, &chat);
    else
        at = sma_ctx_now(actor->ctx) + (uint64_t)left_ms * 1000000;
    memory_chat_fini(&chat);
    return at;
}

static void on_extracted(struct sma_memory_actor *actor, const struct sma_memory_ask *ask)
{
    if (!sma_str_is_equal(ask->route.chat_key, sma_str(actor->asked_chat)))
        return; /* given up long ago */
    actor->asked_chat[0] = '\0';
    actor->guard_ns = UINT64_MAX;
    if (ask->is_put_off) {
        (void)(memory_work_put_off(actor, ask->route.chat_key) == SMA_ERR_OK);
        return;
    }
    if (ask->is_failed) {
        (void)(memory_work_failed(actor, ask->route.chat_key) == SMA_ERR_OK);
        return;
    }
    if (memory_work_answered(actor, ask) == SMA_ERR_OK)
        apply_answers(actor);
}

/* -- time -------------------------------------------------------------------------------------- */
static void scrub(struct sma_memory_actor *actor)
{
    struct sma_memory *memories[] = {actor->facts, actor->proposed};
    bool is_done = true;
    for (size_t i = 0; i < SMA_COUNT_OF(memories); i++) {
        bool is_this_done = true;
        if (memories[i] != NULL && sma_memory_scrub(memories[i], &is_this_done) != SMA_ERR_OK)
            memory_tell_trouble(actor, memories[i], SMA_ERR_IO);
        is_done &= is_this_done;
    }
    actor->scrub_ns = is_done ? UINT64_MAX : sma_ctx_now(actor->ctx) + SCRUB_REST_NS;
}

static bool wants_scrub(const struct sma_memory *memory)
{
    return memory != NULL && sma_memory_wants_scrub(memory);
}

static void act_and_set_wake(struct sma_memory_actor *actor)
{
    uint64_t now = sma_ctx_now(actor->ctx);
    if (actor->old_ns <= now) {
        actor->old_ns = UINT64_MAX;
        memory_read_old(actor);
        apply_answers(actor);
    }
    if (actor->guard_ns <= now) {
        actor->guard_ns = UINT64_MAX;
        actor->asked_chat[0] = '\0';
    }
    if (actor->scrub_ns <= now)
        scrub(actor);
    else if (actor->scrub_ns == UINT64_MAX &&
             (wants_scrub(actor->facts) || wants_scrub(actor->proposed)))
        actor->scrub_ns = now + SCRUB_DELAY_NS;
    uint64_t at = read_next(actor);
    const uint64_t others[] = {actor->old_ns, actor->guard_ns, actor->scrub_ns};
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++)
        at = others[i] < at ? others[i] : at;
    sma_ctx_wake_at(actor->ctx, at);
}

/* -- messages ---------------------------------------------------------------------------------- */
static void on_question(struct sma_memory_actor *actor, struct sma_msg *question)
{
    const struct sma_memory_ask *ask = SMA_MSG_BODY(question, struct sma_memory_ask);
    bool is_on = actor->config->memory != SMA_MEMORY_REFUSE;
    if (ask->op == SMA_MEMORY_TALKED && is_on && actor->config->memory_extracts)
        (void)(memory_work_talked(actor, ask) == SMA_ERR_OK); /* said when it failed */
    if (ask->op == SMA_MEMORY_EXTRACTED)
        on_extracted(actor, ask);
    memory_answer(actor, question);
}

static void on_forgotten(struct sma_memory_actor *actor)
{
    /* opens what is there, so that it follows */
    struct sma_memory *memories[] = {memory_facts(actor), memory_proposed(actor)};
    for (size_t i = 0; i < SMA_COUNT_OF(memories); i++) {
        if (memories[i] == NULL || !sma_memory_has_any(memories[i], sma_ctx_now(actor->ctx)))
            continue;
        if (sma_memory_look(memories[i]) != SMA_ERR_OK)
            memory_tell_trouble(actor, memories[i], SMA_ERR_IO);
        sma_memory_want_scrub(memories[i]);
    }
    actor->scrub_ns = sma_ctx_now(actor->ctx) + SCRUB_DELAY_NS;
}

static void on_reload(struct sma_memory_actor *actor, const struct sma_reload *reload)
{
    actor->config = reload->config;
    if (actor->secrets != NULL &&
        sma_secrets_add_config(actor->secrets, actor->config) != SMA_ERR_OK)
        sma_ctx_log(actor->ctx, SMA_LOG_WARN,
                    "out of memory: the new secrets are not kept out of .ship/memory");
}

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct sma_memory_actor *actor = state;
    SMA_ASSERT(actor->magic == MEMORY_MAGIC);
    actor->ctx = ctx;
    switch ((*msg)->kind) {
    case SMA_MSG_LIFE:
        actor->is_draining = true;
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
        return;
    case SMA_MSG_RELOAD:
        on_reload(actor, SMA_MSG_BODY(*msg, struct sma_reload));
        break;
    case SMA_MSG_MEMORY:
        on_question(actor, *msg);
        break;
    case SMA_MSG_FORGOTTEN:
        on_forgotten(actor);
        break;
    default:
        break;
    }
    act_and_set_wake(actor);
}

static void wake(void *state, struct sma_ctx *ctx)
{
    struct sma_memory_actor *actor = state;
    actor->ctx = ctx;
    act_and_set_wake(actor);
}

static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)error;
    struct sma_memory_actor *actor = state;
    actor->ctx = ctx;
    actor->sys = sma_ctx_sys(ctx);
    actor->old_ns = sma_ctx_now(ctx) + OLD_DELAY_NS;
    sma_ctx_wake_at(ctx, actor->old_ns);
    return SMA_ERR_OK;
}

/* -- life -------------------------------------------------------------------------------------- */
enum sma_err sma_memory_actor_create(const struct sma_config *config,
                                     struct sma_memory_actor **ret_actor, struct sma_error *error)
{
    struct sma_memory_actor *actor = calloc(1, sizeof *actor);
    if (actor == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    actor->magic = MEMORY_MAGIC;
    actor->config = config;
    actor->scrub_ns = actor->guard_ns = actor->old_ns = UINT64_MAX;
    sma_buf_init(&actor->person, 64 * 1024);
    sma_buf_init(&actor->texts, 2 * SMA_MEMORY_RECALL_BYTES_MAX);
    sma_buf_init(&actor->gone, SMA_MEMORY_TOLD_COUNT_MAX * sizeof(uint64_t));
    *ret_actor = actor;
    return SMA_ERR_OK;
}

void sma_memory_actor_destroy(struct sma_memory_actor *actor)
{
    if (actor == NULL)
        return;
    sma_memory_destroy(actor->facts);
    sma_memory_destroy(actor->proposed);
    sma_secrets_destroy(actor->secrets);
    memory_work_close(actor->work);
    sma_buf_fini(&actor->person);
    sma_buf_fini(&actor->texts);
    sma_buf_fini(&actor->gone);
    free(actor);
}

const struct sma_actor_ops sma_memory_actor_ops = {
    .name = "memory", .start = start, .handle = handle, .wake = wake};
