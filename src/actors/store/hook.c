/*
 * hook.c — a run has ended: whoever `hooks` of ship.json names is told.
 *
 * The event is a row of the outbox in the transaction that ends the run, so it is there exactly
 * when the run is over, and waits over restarts like any delivery. A hook whose receiver has not
 * taken SMA_OUTBOX_CHAT_COUNT_MAX events gets no more until it takes some; the row says so, and a
 * line in the log. Nothing that is wrong with a hook ends a run differently.
 */
#include "facts.h"
#include "item.h"
#include "outbox.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include "runtime/chat/state_read.h"
#include "sma/chats.h"
#include "sma/hooks.h"
#include "sma/text.h"

struct ending
{
    uint64_t seq;
    enum sma_hook_end end;
    struct sma_str text;
    struct sma_state_head head;
    bool is_group;
};

static enum sma_hook_end end_of(enum sma_row_state state)
{
    switch (state) {
    case SMA_ROW_DONE:
        return SMA_HOOK_ANSWERED;
    case SMA_ROW_CANCELLED:
        return SMA_HOOK_CANCELLED;
    case SMA_ROW_GIVEN_UP:
        return SMA_HOOK_GIVEN_UP;
    default:
        return SMA_HOOK_FAILED;
    }
}

static bool wants(const struct sma_hook *hook, const struct ending *ending, struct sma_str chat_key)
{
    if ((hook->ends >> ending->end & 1) == 0)
        return false;
    for (size_t i = 0; i < hook->chat_count; i++)
        if (sma_chat_pattern_fits(hook->chats[i], chat_key, ending->is_group))
            return true;
    return hook->chat_count == 0;
}

static void put_event(struct sma_store *store, struct sma_buf *json, const struct sma_hook *hook,
                      const struct ending *ending)
{
    static const char *const words[SMA_HOOK_END_COUNT] = {"answered", "failed", "cancelled",
                                                          "given_up"};
    sma_buf_put_text(json, "{\"type\":\"run.ended\",\"timestamp\":\"");
    sma_buf_put_iso_time(json, sma_ctx_wall(store->ctx));
    sma_buf_put_text(json, "\",\"data\":{\"hook\":");
    sma_buf_put_json_string(json, sma_str(hook->name));
    sma_buf_put_json_member(json, "project", sma_str(store->config->name));
    sma_buf_put_json_member(json, "end", sma_str(words[ending->end]));
    if (hook->has_text) {
        struct sma_str text = ending->text;
        text.len = sma_utf8_cut(text, SMA_HOOK_TEXT_BYTES_MAX);
        sma_buf_put_json_member(json, "text", text);
        sma_buf_put_json_key(json, "isTextCut");
        sma_buf_put_text(json, text.len < ending->text.len ? "true" : "false");
    }
    sma_buf_put_json_key(json, "run");
    if (sma_store_put_run(store, json, &ending->head) != SMA_ERR_OK)
        json->err = json->err == SMA_ERR_OK ? SMA_ERR_IO : json->err;
    sma_buf_put_text(json, "}}");
}

static SMA_CHECKED enum sma_err tell(struct sma_store *store, size_t index,
                                     const struct ending *ending)
{
    const struct sma_hook *hook = &store->runs->hooks[index];
    char key[sizeof SMA_HOOK_KEY_PREFIX + SMA_BOT_ID_BYTES_MAX];
    struct sma_step_delivery_state state;
    struct sma_buf json;
    (void)snprintf(key, sizeof key, SMA_HOOK_KEY_PREFIX "%s", hook->name);
    sma_buf_init(&json, SMA_HOOK_EVENT_BYTES_MAX);
    put_event(store, &json, hook, ending);
    struct sma_step_delivery delivery = {.call = STORE_HOOK_CALL + (uint32_t)index,
                                         .intent = SMA_INTENT_ASSISTANT_TEXT,
                                         .route = {.channel = SMA_STR(SMA_HOOK_CHANNEL),
                                                   .chat_id = sma_str(hook->name),
                                                   .chat_key = sma_str(key)},
                                         .text = sma_buf_str(&json)};
    const struct store_delivery_facts facts = {
        .seq = ending->seq, .step = STORE_NOTICE_STEP, .is_about_cards = true};
    enum sma_err err =
        json.err != SMA_ERR_OK ? json.err : sma_store_deliver(store, &facts, &delivery, &state);
    sma_buf_fini(&json);
    bool is_lost = err == SMA_ERR_FULL || err == SMA_ERR_TOOBIG ||
                   (err == SMA_ERR_OK && state.state == SMA_DELIVERY_FAILED);
    if (is_lost)
        sma_ctx_log(store->ctx, SMA_LOG_WARN, "hook %s is not told that run %llu has ended: %s",
                    hook->name, (unsigned long long)ending->seq,
                    err == SMA_ERR_OK ? "1024 events wait for its receiver already"
                                      : sma_err_text(err));
    return is_lost ? SMA_ERR_OK : err;
}

/* What cannot be read of the message is not known: a pattern for groups does not fit then. */
static SMA_CHECKED enum sma_err look(struct sma_store *store, struct ending *ending,
                                     struct sma_state_rows *rows,
                                     struct sma_state_message *ret_message)
{
    struct store_facts facts;
    SMA_TRY(sma_state_head_get(store->state, ending->seq, &ending->head));
    SMA_TRY(sma_state_message_read(store->state, ending->seq, rows, ret_message));
    ending->is_group =
        sma_store_facts_get(ret_message->facts, &facts) == SMA_ERR_OK && facts.is_group;
    return SMA_ERR_OK;
}

/* A message that another run answers has no end of its own; a command is no run. */
static bool is_run(const struct ending *ending, const struct sma_state_message *message)
{
    struct store_facts facts;
    bool is_own = ending->head.run_seq == 0 || ending->head.run_seq == ending->seq;
    bool is_command = ending->head.kind != SMA_EVENT_MESSAGE &&
                      !(sma_store_facts_get(message->facts, &facts) == SMA_ERR_OK &&
                        (facts.is_retry || sma_store_is_run_command(&facts)));
    return is_own && !is_command;
}

static enum sma_err tell_hooks(struct sma_store *store, const struct sma_state_finish *finish)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_message message;
    struct ending ending = {
        .seq = finish->seq, .end = end_of(finish->state), .text = finish->output};
    enum sma_err err = look(store, &ending, &rows, &message);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOTFOUND || sma_store_is_damage(store, err) ? SMA_ERR_OK : err;
    if (!is_run(&ending, &message))
        return SMA_ERR_OK;
    for (size_t i = 0; i < store->runs->hook_count; i++)
        if (wants(&store->runs->hooks[i], &ending, message.chat->key))
            SMA_TRY(tell(store, i, &ending));
    return SMA_ERR_OK;
}

void sma_store_set_hooks(struct sma_store *store)
{
    struct store_runs *runs = store->runs;
    runs->hooks = store->config->hooks;
    runs->hook_count = store->config->hook_count;
    runs->tell_hooks = runs->hook_count > 0 ? tell_hooks : NULL;
}
