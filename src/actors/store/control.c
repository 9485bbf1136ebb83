/*
 * Commands: carried out in the transaction that accepts them. Their rows: include/sma/commands.h.
 *
 * A stop or clear acts on everything of its chat that was accepted before it. The credit of a
 * stopped run is free with
 * the commit: the agent gets CONTROL before any later RUN, on the same lane, and drops the run
 * without a DONE; whatever it had sent before is answered STOPPED and not stored.
 */
#include "consent.h"
#include "intake.h"
#include "outbox.h"
#include "people.h"
#include "people_priv.h"
#include "record.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include "sma/commands.h"
#include "sma/links.h"

enum sma_err sma_store_cancel_open(struct sma_store *store, struct store_run *run, uint32_t *count)
{
    for (uint32_t i = 0; i < run->collected_count; i++) {
        SMA_TRY(sma_store_cancel_message(store, run->collected[i]));
    }
    SMA_TRY(sma_store_cancel_message(store, run->seq));
    sma_store_run_end(store, run);
    SMA_METRIC_ADD(runs_done_total, 1);
    (*count)++;
    return SMA_ERR_OK;
}

static struct store_run *find_run(struct sma_store *store, const struct store_chat *chat,
                                  uint64_t mark)
{
    for (uint32_t i = 0; i < store->runs->open_count; i++)
        if (store->runs->entries[i]->chat == chat && store->runs->entries[i]->seq < mark)
            return store->runs->entries[i];
    return NULL;
}

static SMA_CHECKED enum sma_err cancel_run(struct sma_store *store, struct store_chat *chat,
                                           uint64_t mark, uint32_t *count)
{
    enum sma_err err = SMA_ERR_OK;
    for (struct store_run *run;
         err == SMA_ERR_OK && chat->run != NULL && (run = find_run(store, chat, mark)) != NULL;)
        err = sma_store_cancel_open(store, run, count);
    return err;
}

static SMA_CHECKED enum sma_err cancel_waiting(struct sma_store *store, struct store_chat *chat,
                                               uint64_t mark, uint32_t *count)
{
    uint64_t seq, collected;
    while (sma_queue_take_below(store->queue, chat->id, mark, &seq)) {
        enum sma_err err = sma_store_cancel_message(store, seq);
        /* It may be a run from before this start, not resumed yet, that answers others too. */
        while (err == SMA_ERR_OK && sma_store_take_collected(store, seq, &collected))
            err = sma_store_cancel_message(store, collected);
        if (err != SMA_ERR_OK)
            return err;
        (*count)++;
    }
    return SMA_ERR_OK;
}

/* The run was ended by /stop: what it had done until then is still a turn of its chat, and what its
 * last step did not tell of was used, too. Nobody waits for it. A repeated one brings nothing. */
void sma_store_keep_late_turn(struct sma_store *store, const struct sma_done *done)
{
    if (done->outcome != SMA_OUTCOME_CANCELLED || done->turn.len == 0 ||
        sma_store_disk_level(store) >= 2)
        return;
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_state_late_turn(store->state,
                                  &(struct sma_state_finish){.seq = done->seq,
                                                             .wire = done->wire,
                                                             .turn = done->turn,
                                                             .message_id = SMA_STR("")});
    if (err == SMA_ERR_OK)
        err = sma_store_count_usage_of(store, done->seq, &done->usage, done->target);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND && err != SMA_ERR_EXISTS)
        sma_store_fail_batch(store, err);
}

/* Under every key the chat has had: what was handed out before a move is known by a former one. */
void sma_store_tell_agent(struct sma_store *store, const struct store_chat *chat,
                          enum sma_control control, uint64_t mark)
{
    for (const struct sma_state_chat *at = chat->state; at != NULL;
         at = sma_state_chat_next_former(at)) {
        const struct sma_control_order order = {
            .control = (uint8_t)control, .mark_seq = mark, .chat_key = at->key};
        struct sma_msg *msg = sma_store_made(store, sma_msg_make_control(&order));
        sma_store_send_later(store, SMA_ACTOR_AGENT, &msg);
    }
}

static void tell_dispatcher(struct sma_store *store, const struct store_chat *chat, uint64_t mark)
{
    for (const struct sma_state_chat *at = chat->state; at != NULL;
         at = sma_state_chat_next_former(at)) {
        const struct sma_cancel_deliver cancel = {.chat_key = at->key, .mark_seq = mark};
        struct sma_msg *msg = sma_store_made(store, sma_msg_make_cancel_deliver(&cancel));
        sma_store_send_later(store, SMA_ACTOR_DISPATCHER, &msg);
    }
}

/* -- what each does: it writes what is answered ------------------------------------------------ */
static SMA_CHECKED enum sma_err put_notice(const struct store_command *command,
                                           enum sma_notice notice)
{
    sma_buf_clear(command->text); /* it is the store's scratch: what was cancelled has used it */
    sma_notice_format(command->text, command->language, notice);
    return command->text->err;
}

static enum sma_err stop(struct sma_store *store, const struct store_command *command)
{
    struct store_chat *chat = command->chat;
    uint64_t seq = command->seq;
    uint32_t count = 0;
    SMA_TRY(sma_state_chat_set_stop_mark(store->state, chat->state, seq));
    SMA_TRY(cancel_run(store, chat, seq, &count));
    SMA_TRY(cancel_waiting(store, chat, seq, &count));
    SMA_TRY(sma_store_cancel_rows(store, chat, seq));
    sma_store_tell_agent(store, chat, SMA_CONTROL_STOP, seq);
    if (chat->first != NULL)
        tell_dispatcher(store, chat, seq);
    /* Last: the cards that tell of it are not to be stopped with the rest. */
    SMA_TRY(sma_store_cancel_parked(store, chat, seq, &count));
    return put_notice(command, count > 0 ? SMA_NOTICE_STOPPED : SMA_NOTICE_NOTHING_TO_STOP);
}

static SMA_CHECKED enum sma_err forget_talk(struct sma_store *store,
                                            const struct store_command *command)
{
    struct store_chat *chat = command->chat;
    uint32_t count = 0;
    SMA_TRY(sma_state_chat_set_clear_mark(store->state, chat->state, command->seq));
    SMA_TRY(cancel_run(store, chat, command->seq, &count));
    sma_store_tell_agent(store, chat, SMA_CONTROL_CLEAR, command->seq);
    return sma_store_cancel_parked(store, chat, command->seq, &count);
}

static enum sma_err clear(struct sma_store *store, const struct store_command *command)
{
    SMA_TRY(forget_talk(store, command));
    return put_notice(command, SMA_NOTICE_CLEARED);
}

static enum sma_err begin_anew(struct sma_store *store, const struct store_command *command)
{
    SMA_TRY(forget_talk(store, command));
    return put_notice(command, SMA_NOTICE_NEW);
}

static enum sma_err show_status(struct sma_store *store, const struct store_command *command)
{
    sma_notice_format(command->text, command->language, SMA_NOTICE_STATUS,
                      sma_queue_chat_waiting(store->queue, command->chat->id),
                      sma_queue_waiting(store->queue), store->runs->wait_count,
                      (unsigned)sma_store_answered_count(store));
    SMA_TRY(sma_store_put_asked(store, command->chat, command->language, command->text));
    return command->text->err;
}

static enum sma_err show_usage(struct sma_store *store, const struct store_command *command)
{
    sma_store_put_usage_notice(store, command->text, command->chat, command->ingress);
    return command->text->err;
}

static enum sma_err show_help(struct sma_store *store, const struct store_command *command)
{
    (void)store;
    struct sma_buf lines;
    sma_buf_init(&lines, 16 * 1024);
    sma_commands_put_help(&lines, command->language);
    sma_buf_put_char(&lines, '\0');
    sma_notice_format(command->text, command->language, SMA_NOTICE_HELP,
                      lines.err == SMA_ERR_OK ? lines.ptr : "");
    enum sma_err err = lines.err == SMA_ERR_OK ? command->text->err : lines.err;
    sma_buf_fini(&lines);
    return err;
}

static enum sma_err say_hello(struct sma_store *store, const struct store_command *command)
{
    struct sma_buf lines;
    sma_buf_init(&lines, 16 * 1024);
    sma_commands_put_help(&lines, command->language);
    sma_buf_put_char(&lines, '\0');
    sma_notice_format(command->text, command->language, SMA_NOTICE_HELLO, store->config->name,
                      lines.err == SMA_ERR_OK ? lines.ptr : "");
    enum sma_err err = lines.err == SMA_ERR_OK ? command->text->err : lines.err;
    sma_buf_fini(&lines);
    return err;
}

/* What permissions.roles and `shipmyagent pair approve` take. */
static enum sma_err show_who(struct sma_store *store, const struct store_command *command)
{
    const struct sma_route *route = &command->ingress->route;
    char name[SMA_PAIRING_NAME_BYTES_MAX + 1], id[512], chat[512];
    sma_store_pairing_name(name, route);
    enum sma_standing standing =
        sma_store_standing(store, command->chat, route, command->ingress->is_group);
    snprintf(id, sizeof id, "%.*s:%.*s", (int)route->channel.len, route->channel.ptr,
             (int)route->user_id.len, route->user_id.len == 0 ? "" : route->user_id.ptr);
    snprintf(chat, sizeof chat, "%.*s", (int)route->chat_key.len, route->chat_key.ptr);
    sma_notice_format(command->text, command->language, SMA_NOTICE_WHOAMI, name, id,
                      sma_access_standing_name((enum sma_access_standing)standing), chat);
    return command->text->err;
}

/* Whoever may has it accepted as a run (accept.c): here are the others. */
static enum sma_err refuse_compaction(struct sma_store *store, const struct store_command *command)
{
    (void)store;
    return put_notice(command, SMA_NOTICE_COMPACT_ADMINS);
}

/* By enum sma_control. A new command: a row of commands.h, and its function here. */
static store_command_fn *const commands[] = {
    [SMA_CONTROL_STOP] = stop,
    [SMA_CONTROL_CLEAR] = clear,
    [SMA_CONTROL_STATUS] = show_status,
    [SMA_CONTROL_HELP] = show_help,
    [SMA_CONTROL_USAGE] = show_usage,
    [SMA_CONTROL_MODEL] = sma_store_choose_model,
    [SMA_CONTROL_NEW] = begin_anew,
    [SMA_CONTROL_RETRY] = sma_store_retry,
    [SMA_CONTROL_COMPACT] = refuse_compaction,
    [SMA_CONTROL_START] = say_hello,
    [SMA_CONTROL_WHOAMI] = show_who,
    [SMA_CONTROL_APPROVE] = sma_store_approve_by_id,
    [SMA_CONTROL_REJECT] = sma_store_reject_by_id,
    [SMA_CONTROL_APPROVALS] = sma_store_tell_asked,
    [SMA_CONTROL_TASKS] = sma_store_show_tasks,
    [SMA_CONTROL_LOGS] = sma_store_show_logs,
    [SMA_CONTROL_MEMORY] = sma_store_show_memory,
    [SMA_CONTROL_FORGET] = sma_store_forget,
    [SMA_CONTROL_MORE] = sma_store_send_more,
    [SMA_CONTROL_FULL] = sma_store_send_full,
    [SMA_CONTROL_PROMPTS] = sma_store_show_prompts,
};

enum sma_err sma_store_control(struct sma_store *store, struct store_chat *chat,
                               const struct sma_ingress *ingress, uint64_t seq)
{
    bool becomes_run = false;
    uint8_t intent = SMA_INTENT_NOTICE;
    struct store_command command = {.chat = chat,
                                    .ingress = ingress,
                                    .seq = seq,
                                    .argument = sma_control_argument(ingress->text),
                                    .language = sma_store_language(store, &ingress->route),
                                    .text = &store->scratch.text,
                                    .intent = &intent,
                                    .becomes_run = &becomes_run};
    store_command_fn *carry_out =
        ingress->control < SMA_COUNT_OF(commands) ? commands[ingress->control] : NULL;
    sma_buf_clear(&store->scratch.text);
    enum sma_err err = carry_out == NULL ? put_notice(&command, SMA_NOTICE_UNKNOWN_COMMAND)
                                         : carry_out(store, &command);
    if (err != SMA_ERR_OK || becomes_run)
        return err;

    struct sma_step_delivery reply = {.intent = intent,
                                      .route = ingress->route,
                                      .text = sma_buf_str(&store->scratch.text),
                                      .is_fallback = intent != SMA_INTENT_NOTICE};
    struct sma_step_delivery_state state;
    err = sma_store_deliver(store,
                            &(struct store_delivery_facts){.seq = seq, .step = STORE_NOTICE_STEP},
                            &reply, &state);
    if (err != SMA_ERR_OK)
        return err;
    err = sma_state_finish(store->state,
                           &(struct sma_state_finish){.seq = seq,
                                                      .state = SMA_ROW_DONE,
                                                      .outcome = SMA_OUTCOME_OK,
                                                      .is_success = true,
                                                      .output = sma_buf_str(&store->scratch.text),
                                                      .wall_ms = sma_ctx_wall(store->ctx)});
    if (err == SMA_ERR_OK)
        sma_store_note_finished(store, seq);
    return err;
}
