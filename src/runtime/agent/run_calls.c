/* run_calls.c — the calls of one answer: what may be done, what each waits for, its result. See
 * run.h. */
#include "run_priv.h"

#include "sma/bot.h"

#include "runtime/agent/same_text.h"
#include "runtime/model/decode.h"

#include <stdlib.h>

/* -- results of calls -------------------------------------------------------------------------- */

static void set_sent(struct run_call *call, enum sma_send_state state, struct sma_str error)
{
    bool is_named = call->goes_elsewhere && call->tool != SMA_TOOL_CONTACT_SEND;
    /* A resumed run knows what the model wrote, and not which chat that was. */
    const struct sma_str names[] = {call->route.chat_key, call->args.chat_id, call->args.thread_id,
                                    call->args.channel, SMA_STR("another chat")};
    struct sma_str to = SMA_STR("");
    for (size_t i = 0; i < SMA_COUNT_OF(names) && is_named && to.len == 0; i++)
        to = names[i];
    /* Only what goes to the user's own chat answers the user. */
    call->is_delivered = sma_tool_put_sent(&call->result, state, error, to) &&
                         call->tool == SMA_TOOL_SEND && !call->goes_elsewhere;
    run_set_result(call, state == SMA_SEND_FAILED);
}

/* -- open questions ---------------------------------------------------------------------------- */

/* -- what can be said before anything is done -------------------------------------------------- */
/* A path that is one field of one line (see put_attachment), and not an address: adapters would
 * fetch that. */
static bool is_attachable(struct sma_str path)
{
    for (size_t i = 0; i < path.len; i++) {
        if ((unsigned char)path.ptr[i] < ' ' || path.ptr[i] == '|')
            return false;
    }
    return path.len == 0 || memmem(path.ptr, path.len, "://", 3) == NULL;
}

/* Calls that are not for this person, not for this place, or have failed often enough. */
static bool refuse_call(struct sma_run *run, uint32_t index)
{
    struct run_call *call = &run->calls[index];
    bool is_talk = (call->tool == SMA_TOOL_SEND && !call->goes_elsewhere) ||
                   call->tool == SMA_TOOL_LOAD_HISTORY;
    if (run->order->standing == SMA_STANDING_STRANGER && !is_talk)
        run_set_error(call, SMA_STR("Not carried out: the person who speaks is not known here and "
                                    "may only talk; for them no tool works but chat_send and "
                                    "chat_load_history. Answer in text."));
    else if (call->tool != SMA_TOOL_MCP && !sma_tool_is_offered(call->tool, run->offers))
        run_set_error(call, SMA_STR("Not carried out: the platform of this chat cannot do that. "
                                    "Answer in text."));
    else if (run_is_repeated(run, &run->answer.calls[index]))
        run_set_error(call, SMA_STR("Not carried out: this very call has failed 3 times already. "
                                    "Read the errors above and do it in another way, or tell the "
                                    "user what does not work."));
    return call->has_result;
}

/* The same text twice in a row, in one answer or in two: nobody wants to read it again. */
static bool is_sent_before(const struct sma_run *run, uint32_t index)
{
    struct sma_str text = run->calls[index].args.text;
    for (uint32_t i = index; i > 0; i--) {
        const struct run_call *before = &run->calls[i - 1];
        if (before->tool == SMA_TOOL_SEND && !before->goes_elsewhere && before->args.text.len > 0)
            return sma_text_is_same(text, before->args.text);
    }
    struct sma_str sent = sma_buf_str(&run->sent_texts);
    return sent.len > run->last_sent && run->sent_texts.err == SMA_ERR_OK &&
           sma_text_is_same(text,
                            (struct sma_str){sent.ptr + run->last_sent, sent.len - run->last_sent});
}

void run_check_call(struct sma_run *run, uint32_t index)
{
    const struct sma_stored_call *stored = &run->answer.calls[index];
    struct run_call *call = &run->calls[index];
    if (run->answer.finish == SMA_FINISH_LENGTH) {
        run_set_error(call,
                      stored->is_cut || stored->is_invalid
                          ? SMA_STR("Not carried out: your answer was cut off in the middle of "
                                    "this call, since it was too long. Call again with less at "
                                    "once: write a long file in pieces, the first with "
                                    "write_file, the others with edit_file.")
                          : SMA_STR("Not carried out: your answer was cut off behind this call. "
                                    "Call again, with fewer or shorter calls at once."));
        return;
    }
    if (index >= SMA_TOOL_CALL_COUNT_MAX) {
        run_set_error(call, SMA_STR("Too many calls in one answer: only the first 32 were carried "
                                    "out, this one was not."));
        return;
    }
    if (call->tool == SMA_TOOL_UNKNOWN && stored->is_invalid &&
        sma_str_is_equal(stored->name, SMA_STR(SMA_UNREADABLE_CALL))) {
        run_set_error(call, stored->problem);
        return;
    }
    if (call->tool == SMA_TOOL_UNKNOWN) {
        sma_tool_put_unknown(&call->result, stored->name, run->offers);
        run_set_result(call, true);
        return;
    }
    if (refuse_call(run, index))
        return;
    if (call->tool == SMA_TOOL_MCP) {
        run_mcp_check_call(run, index);
        return;
    }
    struct sma_str arguments = stored->is_invalid ? SMA_STR("") : stored->arguments;
    sma_buf_clear(&run->scratch);
    if (sma_tool_args_parse(call->tool, arguments, &call->args, &run->scratch) != SMA_ERR_OK)
        run_set_error(call, run->scratch.len > 0 ? sma_buf_str(&run->scratch)
                                                 : SMA_STR("Out of memory."));
    else if (!call->goes_elsewhere && sma_tool_sends_file(call->tool) && !run->has_files)
        run_set_error(call, SMA_STR("Not carried out: the platform of this chat takes no files. "
                                    "Name another chat, or answer in text."));
    else if (!call->goes_elsewhere && call->tool == SMA_TOOL_SEND_CARD && !run->has_cards)
        run_set_error(call, SMA_STR("Not carried out: the platform of this chat has no cards. "
                                    "Name another chat, or answer in text."));
    else if (call->tool == SMA_TOOL_AGENT_RUN)
        run_child_check(run, index);
    else if (sma_tool_sends_file(call->tool) && !is_attachable(call->args.path))
        run_set_error(call, SMA_STR("Only a file of the project can be sent, and none whose name "
                                    "holds \"|\", \"://\" or a line break. Copy it under another "
                                    "name and send that."));
    else if (call->tool == SMA_TOOL_SEND && !call->goes_elsewhere && is_sent_before(run, index)) {
        sma_tool_put_sent_before(&call->result);
        run_set_result(call, false);
    }
}

/* -- carried out ------------------------------------------------------------------------------- */
void run_ask_contact(struct sma_run *run, uint32_t index)
{
    run_open_call(run, index, CALL_CONTACT);
    const struct sma_tool_args *args = &run->calls[index].args;
    const struct sma_route *own = &run->order->route;
    struct sma_run_action *action = run_act(run, SMA_RUN_ASK_CONTACT);
    action->call = index;
    action->contact =
        (struct sma_contact_ask){.user_name = args->user_name,
                                 .asked_in = own->channel,
                                 .channel = args->channel,
                                 .chat_id = args->chat_id,
                                 .thread_id = args->thread_id,
                                 .chat_type = args->chat_type,
                                 .message_id = args->message_id,
                                 .wants_files = sma_tool_sends_file(run->calls[index].tool),
                                 .wants_cards = run->calls[index].tool == SMA_TOOL_SEND_CARD};
    bool is_topic = run->calls[index].goes_elsewhere && args->channel.len == 0 &&
                    args->chat_id.len == 0 && args->thread_id.len > 0;
    if (is_topic) /* of this very chat */
        action->contact.chat_id = own->chat_id;
    if (run_names_message(run, index)) { /* of this very chat, it says */
        action->contact.channel = own->channel;
        action->contact.chat_id = own->chat_key;
        action->contact.thread_id = SMA_STR("");
    }
}

bool run_names_message(const struct sma_run *run, uint32_t index)
{
    const struct run_call *call = &run->calls[index];
    const struct sma_run_order *order = run->order;
    struct sma_str id = call->args.message_id;
    bool may_name = sma_tool_has_destination(call->tool) || call->tool == SMA_TOOL_REACT;
    if (call->goes_elsewhere || !may_name || id.len == 0 ||
        sma_str_is_equal(id, order->route.message_id))
        return false;
    for (uint32_t i = 0; i < order->collected_count; i++)
        if (sma_str_is_equal(id, order->collected[i].message_id))
            return false;
    return !run_past_knows(run, id);
}

/* An administrator is one of his platform, an owner everywhere. */
static void ask_profile(struct sma_run *run, uint32_t index)
{
    const struct sma_tool_args *args = &run->calls[index].args;
    const struct sma_route *own = &run->order->route;
    uint8_t standing = run->order->standing;
    bool is_own = args->channel.len == 0 || sma_str_is_equal(args->channel, own->channel) ||
                  sma_str_is_equal(args->channel, sma_bot_platform(own->channel));
    run_open_call(run, index, CALL_CONTACT);
    struct sma_run_action *action = run_act(run, SMA_RUN_ASK_CONTACT);
    action->call = index;
    action->contact =
        (struct sma_contact_ask){.wants_profile = true,
                                 .user_id = args->user_id,
                                 .channel = is_own ? own->channel : args->channel,
                                 .asker = *own,
                                 .is_asker_trusted = standing == SMA_STANDING_OWNER ||
                                                     (standing == SMA_STANDING_ADMIN && is_own)};
}

/* What the live session holds already. Several questions of one answer share the list; a session
 * only shrinks during a run, so the room of the first time suffices. */
static bool list_session_ids(struct sma_run *run, uint32_t *ret_count)
{
    const struct sma_session *session = run->session;
    const struct sma_run_order *order = run->order;
    if (run->session_ids == NULL) {
        size_t room = order->collected_count;
        for (uint32_t i = 0; i < session->turn_count; i++)
            room += session->turns[i]->id_count;
        run->session_ids = calloc(room + 1, sizeof *run->session_ids);
        run->session_id_room = (uint32_t)room;
        if (run->session_ids == NULL)
            return false;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < order->collected_count; i++)
        run->session_ids[count++] = order->collected[i].message_id;
    for (uint32_t i = 0; i < session->turn_count; i++) {
        const struct sma_session_turn *turn = session->turns[i];
        for (uint32_t k = 0; k < turn->id_count && count < run->session_id_room; k++)
            run->session_ids[count++] = turn->ids[k];
    }
    *ret_count = count;
    return true;
}

static void ask_history(struct sma_run *run, uint32_t index)
{
    const struct sma_run_order *order = run->order;
    const struct sma_session *session = run->session;
    struct run_call *call = &run->calls[index];
    uint32_t count;
    if (!list_session_ids(run, &count)) {
        run_set_error(call, SMA_STR("Out of memory."));
        return;
    }
    bool has_summary = session->turn_count > 0 && session->turns[0]->is_summary;
    uint64_t first_seq = 0; /* turns made of the history itself have none (run_past.c) */
    for (uint32_t i = has_summary; i < session->turn_count && first_seq == 0; i++)
        first_seq = session->turns[i]->seq;
    if (first_seq == 0 && order->collected_count > 0)
        first_seq = order->collected[0].seq;
    run_open_call(run, index, CALL_HISTORY);
    struct sma_run_action *action = run_act(run, SMA_RUN_ASK_HISTORY);
    action->call = index;
    action->history = (struct sma_history_ask){.chat_key = order->route.chat_key,
                                               .limit = call->args.limit,
                                               .keyword = call->args.keyword,
                                               .current_seq = order->seq,
                                               .session_first_seq = first_seq,
                                               .session_id_count = count,
                                               .session_ids = run->session_ids,
                                               .given = run_past_given(&run->past)};
}

/* Of this chat only: what came elsewhere is for those who are there. */
static void ask_fetch(struct sma_run *run, uint32_t index)
{
    const struct sma_tool_args *args = &run->calls[index].args;
    run_open_call(run, index, CALL_FETCH);
    struct sma_run_action *action = run_act(run, SMA_RUN_ASK_FETCH);
    action->call = index;
    action->fetch = (struct sma_fetch_ask){
        .route = run->order->route, .message_id = args->message_id, .path = args->path};
}

void run_delivery_is(struct sma_run *run, uint32_t index,
                     const struct sma_step_delivery_state *delivery)
{
    static const enum sma_send_state states[] = {[SMA_DELIVERY_WAITING] = SMA_SEND_QUEUED,
                                                 [SMA_DELIVERY_BEGUN] = SMA_SEND_QUEUED,
                                                 [SMA_DELIVERY_SENT] = SMA_SEND_SENT,
                                                 [SMA_DELIVERY_FAILED] = SMA_SEND_FAILED,
                                                 [SMA_DELIVERY_UNKNOWN] = SMA_SEND_UNKNOWN};
    bool is_known = delivery->state < SMA_COUNT_OF(states);
    set_sent(&run->calls[index], is_known ? states[delivery->state] : SMA_SEND_QUEUED,
             delivery->error);
}

void run_delivery_state(struct sma_run *run, uint32_t index,
                        const struct sma_step_delivery_state *delivery)
{
    if (delivery->state == SMA_DELIVERY_SENT || delivery->state == SMA_DELIVERY_FAILED ||
        delivery->state == SMA_DELIVERY_UNKNOWN) {
        run_delivery_is(run, index, delivery);
        return;
    }
    run_open_call(run, index, CALL_SENT);
    struct sma_run_action *action = run_act(run, SMA_RUN_ASK_SEND);
    action->call = index;
    action->outbox_id = delivery->outbox_id;
}

/* A file written beside a command could be the very script that people have agreed to: between the
 * look at it and its start it would be exchanged. What is written comes first, so that the look
 * sees it. */
static bool is_write(const struct sma_run *run, uint32_t index)
{
    enum sma_tool tool = sma_tool_find(run->answer.calls[index].name);
    return tool == SMA_TOOL_WRITE_FILE || tool == SMA_TOOL_EDIT_FILE;
}

void run_begin_commands(struct sma_run *run)
{
    for (uint32_t i = 0; i < run->call_count; i++)
        if (run->calls[i].stage == CALL_RUN && is_write(run, i))
            return;
    for (uint32_t i = 0; i < run->call_count; i++) {
        struct run_call *call = run_close_call(run, i, CALL_TURN);
        if (call == NULL)
            continue;
        run_progress_call(run, i);
        if (run->is_draining)
            run_set_error(call, SMA_STR("Not carried out: the program is stopping."));
        else
            run_ask_tool(run, i, SMA_TOOL_RUN);
    }
}

void run_begin_call(struct sma_run *run, uint32_t index)
{
    enum sma_tool tool = run->calls[index].tool;
    run_egress_agreed(run, &run->calls[index]);
    for (uint32_t i = 0; i < run->call_count && tool == SMA_TOOL_EXEC_SHELL; i++) {
        if (!is_write(run, i))
            continue;
        run_open_call(run, index, CALL_TURN);
        return;
    }
    if (tool == SMA_TOOL_MCP) {
        run_mcp_begin(run, index);
        return;
    }
    run_progress_call(run, index);
    if (tool == SMA_TOOL_AGENT_RUN)
        run_child_begin(run, index);
    else if (tool == SMA_TOOL_LOAD_HISTORY)
        ask_history(run, index);
    else if (tool == SMA_TOOL_CONTACT_LOOKUP)
        run_ask_contact(run, index);
    else if (tool == SMA_TOOL_DOWNLOAD)
        ask_fetch(run, index);
    else if (tool == SMA_TOOL_RESOLVE_PROFILE)
        ask_profile(run, index);
    else if (tool == SMA_TOOL_MEMORY_SEARCH || tool == SMA_TOOL_MEMORY_UPSERT)
        run_ask_memory(run, index);
    else
        run_ask_tool(run, index, sma_tool_is_work(tool) ? SMA_TOOL_RUN : SMA_TOOL_CHECK);
}

/* -- results arrive ---------------------------------------------------------------------------- */
/* The result outlives the message that brought it: its strings move into the call. */
static bool keep_route(struct run_call *call, const struct sma_contact_result *contact)
{
    const struct sma_route *route = &contact->route;
    const struct sma_str *from[] = {&route->channel,   &route->chat_key,  &route->chat_id,
                                    &route->chat_type, &route->thread_id, &route->message_id,
                                    &route->user_id,   &route->user_name, &route->language};
    call->route = *route;
    struct sma_str *to[] = {&call->route.channel,   &call->route.chat_key,  &call->route.chat_id,
                            &call->route.chat_type, &call->route.thread_id, &call->route.message_id,
                            &call->route.user_id,   &call->route.user_name, &call->route.language};
    for (size_t i = 0; i < SMA_COUNT_OF(from); i++)
        sma_buf_put_str(&call->route_text, *from[i]);
    sma_buf_put_str(&call->route_text, contact->whom);
    if (call->route_text.err != SMA_ERR_OK)
        return false;
    const char *at = call->route_text.ptr;
    for (size_t i = 0; i < SMA_COUNT_OF(to); i++) {
        to[i]->ptr = at;
        if (at != NULL)
            at += to[i]->len;
    }
    call->whom = (struct sma_str){at, contact->whom.len};
    call->is_doubtful = contact->is_doubtful;
    return true;
}

void run_contact(struct sma_run *run, uint32_t index, const struct sma_contact_result *contact)
{
    bool is_checking = run->state == RUN_CHECKING;
    if (!is_checking && run->state != RUN_TOOLS)
        return;
    struct run_call *call = run_close_call(run, index, CALL_CONTACT);
    if (call == NULL)
        return;
    if (call->tool == SMA_TOOL_RESOLVE_PROFILE) {
        if (contact->contact_json.len > 0) /* the store has put it together */
            sma_buf_put_str(&call->result, contact->contact_json);
        else
            sma_tool_put_error(&call->result, contact->why);
        run_set_result(call, !contact->is_found);
    } else if (contact->count > 1) {
        sma_tool_put_namesakes(&call->result, call->args.user_name, contact->contact_json);
        run_set_result(call, true);
    } else if (!contact->is_found && call->tool != SMA_TOOL_CONTACT_SEND && is_checking) {
        sma_tool_put_no_chat(&call->result, contact->why);
        run_set_result(call, true);
    } else if (!contact->is_found) {
        sma_tool_put_no_contact(&call->result, call->args.user_name);
        run_set_result(call, true);
    } else if (!is_checking) {
        sma_tool_put_contact(&call->result, contact->contact_json);
        run_set_result(call, false);
    } else if (!keep_route(call, contact)) {
        run_set_error(call, SMA_STR("Out of memory."));
    } else {
        run_ask_tool(run, index, SMA_TOOL_CHECK);
    }
    if (!is_checking)
        run_check_round(run);
    else if (run->open_count == 0)
        run_resolved(run);
}

void run_history(struct sma_run *run, uint32_t index, const struct sma_history_lines *lines)
{
    if (run->state != RUN_TOOLS)
        return;
    struct run_call *call = run_close_call(run, index, CALL_HISTORY);
    if (call == NULL)
        return;
    struct sma_history_lines shown = *lines; /* the message is ours: its list may be shortened */
    shown.line_count = run_past_filter(&run->past, shown.lines, shown.line_count);
    sma_tool_put_history(&call->result, &shown, call->args.keyword,
                         sma_prompt_is_group(run->order->route.chat_type));
    run_set_result(call, lines->err != SMA_ERR_OK);
    run_past_read(&run->past, sma_buf_str(&call->result));
    run_check_round(run);
}

void run_fetched(struct sma_run *run, uint32_t index, const struct sma_fetched *fetched)
{
    if (run->state != RUN_TOOLS)
        return;
    struct run_call *call = run_close_call(run, index, CALL_FETCH);
    if (call == NULL)
        return;
    run_set_result(call, !sma_tool_put_fetched(&call->result, fetched));
    run_check_round(run);
}

void run_sent(struct sma_run *run, uint32_t index, enum sma_send_state state, struct sma_str error)
{
    if (run->state != RUN_TOOLS)
        return;
    struct run_call *call = run_close_call(run, index, CALL_SENT);
    if (call == NULL)
        return;
    set_sent(call, state, error);
    run_check_round(run);
}
