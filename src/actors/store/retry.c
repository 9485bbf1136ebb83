/*
 * retry.c — /retry: the last message of a chat is answered again.
 *
 * The command's row becomes the message: it gets the words, context and parts of what the last run
 * answered, and waits for a run like any other. In the same transaction the last run's turn leaves
 * the conversation, so that the model does not see its first answer; what was delivered stays with
 * the people. Only its author may have a message answered again: in the name of another one it
 * could do more than its author may. A run whose tools have changed something is repeated only
 * when that is said ("/retry anyway").
 */
#include "budget.h"
#include "facts.h"
#include "message_parts.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include "runtime/chat/state_read.h"
#include "runtime/tools/tools.h"
#include "sma/text.h"

#include <jansson.h>

/* What is to be answered again. */
struct retry
{
    struct sma_store *store;
    const struct store_command *command;
    uint64_t last; /* the run */
    struct sma_buf text, context, parts;
    uint32_t part_count;
    bool is_other; /* somebody else's */
};

static SMA_CHECKED enum sma_err say(const struct store_command *command, enum sma_notice notice)
{
    sma_notice_format(command->text, command->language, notice);
    return command->text->err;
}

static bool is_busy(const struct sma_store *store, const struct store_chat *chat)
{
    /* That a message was edited is nothing under way: the answer hears of it. */
    return chat->run != NULL || chat->held_count > sma_store_count_notes(store, chat) ||
           chat->approval_count > 0 || sma_queue_is_busy(store->queue, chat->id) ||
           sma_queue_chat_waiting(store->queue, chat->id) > 0;
}

/* -- what its tools have done ------------------------------------------------------------------ */
static enum sma_err copy_calls(void *user, const struct sma_state_result *result)
{
    struct sma_buf *calls = user;
    sma_buf_put_str(calls, result->tool_calls_json);
    return calls->err;
}

/* Names of tools that change something, each once. What cannot be read has changed something. */
static void name_effects(const struct sma_buf *calls, struct sma_buf *names)
{
    json_t *list = calls->len == 0 ? json_array() : json_loadb(calls->ptr, calls->len, 0, NULL);
    const json_t *item;
    uint32_t seen = 0;
    size_t i;
    if (!json_is_array(list))
        sma_buf_put_text(names, "?");
    json_array_foreach(list, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "tool"));
        enum sma_tool tool = sma_tool_find(sma_str(name == NULL ? "" : name));
        if (!sma_tool_is_gated(tool) || sma_tool_only_reads(tool) || (seen >> tool & 1) != 0)
            continue;
        seen |= UINT32_C(1) << tool;
        if (names->len > 0)
            sma_buf_put_text(names, ", ");
        sma_buf_put_text(names, name);
    }
    json_decref(list);
}

static SMA_CHECKED enum sma_err find_effects(struct sma_store *store, uint64_t seq,
                                             struct sma_buf *names)
{
    struct sma_buf calls;
    sma_buf_init(&calls, 8 * 1024 * 1024);
    enum sma_err err = sma_state_result_get(store->state, seq, copy_calls, &calls);
    if (err == SMA_ERR_OK)
        name_effects(&calls, names);
    else if (err == SMA_ERR_NOTFOUND)
        sma_buf_put_text(names, "?");
    sma_buf_fini(&calls);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

static bool says_anyway(struct sma_str argument)
{
    return sma_str_is_equal_nocase(argument, SMA_STR("anyway")) ||
           sma_str_is_equal(argument, SMA_STR("仍然"));
}

/* -- its words --------------------------------------------------------------------------------- */
static void put_apart(struct sma_buf *buf, struct sma_str text)
{
    if (buf->len > 0 && text.len > 0)
        sma_buf_put_text(buf, "\n\n");
    sma_buf_put_str(buf, text);
}

static SMA_CHECKED enum sma_err add_parts(struct retry *retry, struct sma_str bytes)
{
    struct sma_part parts[SMA_ATTACHMENT_COUNT_MAX];
    uint32_t count, room = SMA_ATTACHMENT_COUNT_MAX - retry->part_count;
    SMA_TRY(sma_store_message_parts_get(bytes, parts, &count));
    count = count < room ? count : room;
    sma_store_message_parts_put(&retry->parts, parts, count);
    retry->part_count += count;
    return retry->parts.err;
}

static SMA_CHECKED enum sma_err add_words(struct retry *retry, const struct store_facts *facts,
                                          struct sma_str line)
{
    struct sma_buf said;
    sma_buf_init(&said, SMA_TEXT_BYTES_MAX);
    enum sma_err err = facts->has_text ? SMA_ERR_OK : sma_store_line_text(line, &said);
    if (err == SMA_ERR_OK)
        put_apart(&retry->text, facts->has_text ? facts->text : sma_buf_str(&said));
    sma_buf_fini(&said);
    put_apart(&retry->context, facts->context);
    if (err == SMA_ERR_OK)
        err = add_parts(retry, facts->parts);
    if (err != SMA_ERR_OK)
        return err;
    return retry->text.err != SMA_ERR_OK ? retry->text.err : retry->context.err;
}

/* NOTFOUND: its words are not there any more, or it is no message. */
static SMA_CHECKED enum sma_err add_message(struct retry *retry, uint64_t seq)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_message message;
    struct store_facts facts;
    SMA_TRY(sma_state_message_read(retry->store->state, seq, &rows, &message));
    bool is_there = message.facts.len > 0 &&
                    sma_store_facts_get(message.facts, &facts) == SMA_ERR_OK &&
                    (message.kind == SMA_EVENT_MESSAGE || facts.is_retry) &&
                    (facts.has_text || message.line.len > 0);
    if (!is_there)
        return SMA_ERR_NOTFOUND;
    retry->is_other = retry->is_other || !sma_str_is_equal(facts.route.user_id,
                                                           retry->command->ingress->route.user_id);
    return add_words(retry, &facts, message.line);
}

/* Everything that the last run answered, in its order. */
static SMA_CHECKED enum sma_err collect(struct retry *retry)
{
    uint64_t seqs[STORE_COLLECT_COUNT_MAX];
    uint32_t count;
    struct sma_store *store = retry->store;
    bool is_put = false;
    SMA_TRY(sma_state_last_run(store->state, retry->command->chat->state, retry->command->seq,
                               &retry->last));
    SMA_TRY(sma_state_run_messages(store->state, retry->last, seqs, SMA_COUNT_OF(seqs), &count));
    for (uint32_t i = 0; i < count; i++) {
        if (!is_put && seqs[i] > retry->last)
            SMA_TRY(add_message(retry, retry->last));
        is_put = is_put || seqs[i] > retry->last;
        SMA_TRY(add_message(retry, seqs[i]));
    }
    return is_put ? SMA_ERR_OK : add_message(retry, retry->last);
}

/* -- the command becomes a message ------------------------------------------------------------- */
static SMA_CHECKED enum sma_err write_facts(struct retry *retry)
{
    struct sma_store *store = retry->store;
    uint64_t seq = retry->command->seq;
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_message row;
    struct store_facts facts;
    SMA_TRY(sma_state_message_read(store->state, seq, &rows, &row));
    SMA_TRY(sma_store_facts_get(row.facts, &facts));
    facts.text = sma_buf_str(&retry->text);
    facts.context = sma_buf_str(&retry->context);
    facts.parts = sma_buf_str(&retry->parts);
    facts.has_text = facts.is_retry = true;
    facts.wants_role = false;
    facts.control = SMA_CONTROL_NONE;
    sma_buf_clear(&store->scratch.facts);
    sma_store_facts_put(&store->scratch.facts, &facts);
    if (store->scratch.facts.err != SMA_ERR_OK)
        return store->scratch.facts.err;
    return sma_state_set_facts(store->state, seq, sma_buf_str(&store->scratch.facts));
}

static SMA_CHECKED enum sma_err become_message(struct retry *retry)
{
    struct sma_store *store = retry->store;
    const struct store_command *command = retry->command;
    SMA_TRY(write_facts(retry));
    SMA_TRY(sma_state_set_row_state(store->state, command->seq, SMA_ROW_WAITING));
    SMA_TRY(sma_state_turn_remove(store->state, retry->last));
    sma_store_tell_agent(store, command->chat, SMA_CONTROL_RETRY, retry->last);
    SMA_TRY(sma_queue_push_accepted(store->queue, command->chat->id, command->seq));
    *command->becomes_run = true;
    return SMA_ERR_OK;
}

/* It begins work like any message: over a budget nothing is changed, above all not the turn. */
static SMA_CHECKED enum sma_err begin(struct retry *retry)
{
    struct sma_store *store = retry->store;
    const struct store_command *command = retry->command;
    const struct sma_route *route = &command->ingress->route;
    struct store_share share;
    SMA_TRY(sma_store_share_ask(store, command->chat, command->ingress, &share));
    if (share.over.scope != SMA_BUDGET_NONE) {
        sma_store_share_put_text(store, command->text, command->language, &share.over);
        return command->text->err;
    }
    SMA_TRY(sma_store_share_take(store, command->chat, route, command->seq, &share));
    return become_message(retry);
}

static SMA_CHECKED enum sma_err carry_out(struct retry *retry, struct sma_buf *names)
{
    const struct store_command *command = retry->command;
    enum sma_err err = collect(retry);
    if (err == SMA_ERR_NOTFOUND || err == SMA_ERR_TOOBIG)
        return say(command, SMA_NOTICE_RETRY_NOTHING);
    if (err != SMA_ERR_OK)
        return err;
    if (retry->is_other)
        return say(command, SMA_NOTICE_RETRY_NOT_YOURS);
    SMA_TRY(find_effects(retry->store, retry->last, names));
    if (names->len == 0 || says_anyway(command->argument))
        return begin(retry);
    sma_buf_put_char(names, '\0');
    if (names->err != SMA_ERR_OK)
        return names->err;
    sma_notice_format(command->text, command->language, SMA_NOTICE_RETRY_EFFECTS, names->ptr);
    return command->text->err;
}

enum sma_err sma_store_retry(struct sma_store *store, const struct store_command *command)
{
    struct retry retry = {.store = store, .command = command};
    struct sma_buf names;
    if (is_busy(store, command->chat) ||
        sma_queue_check(store->queue, command->chat->id) != SMA_ERR_OK)
        return say(command, SMA_NOTICE_RETRY_BUSY);
    sma_buf_init(&retry.text, SMA_TEXT_BYTES_MAX);
    sma_buf_init(&retry.context, SMA_TEXT_BYTES_MAX);
    sma_buf_init(&retry.parts, SMA_TEXT_BYTES_MAX);
    sma_buf_init(&names, 4096);
    enum sma_err err = carry_out(&retry, &names);
    sma_buf_fini(&retry.text);
    sma_buf_fini(&retry.context);
    sma_buf_fini(&retry.parts);
    sma_buf_fini(&names);
    return err;
}
