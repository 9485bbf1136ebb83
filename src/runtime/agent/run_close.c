/* run_close.c — the calls of an answer are made, checked and asked about until all are resolved.
 * See run_priv.h. */
#include "run_priv.h"
#include "sma/text.h"

static bool is_at_tools(enum call_stage stage)
{
    return stage == CALL_CHECK || stage == CALL_RUN || stage == CALL_ENCODE;
}

void run_open_call(struct sma_run *run, uint32_t index, enum call_stage stage)
{
    SMA_ASSERT(run->calls[index].stage == CALL_IDLE);
    run->calls[index].stage = stage;
    if (run->calls[index].begun_ns == 0)
        run->calls[index].begun_ns = run->now_ns;
    run->open_count++;
    run->tool_open_count += is_at_tools(stage);
    run->mcp.open_count += stage == CALL_MCP;
}

struct run_call *run_close_call(struct sma_run *run, uint32_t index, enum call_stage stage)
{
    if (index >= run->call_count || run->calls[index].stage != stage)
        return NULL;
    run->calls[index].stage = CALL_IDLE;
    run->calls[index].ended_ns = run->now_ns;
    SMA_ASSERT(run->open_count > 0);
    run->open_count--;
    run->tool_open_count -= is_at_tools(stage);
    run->mcp.open_count -= stage == CALL_MCP && run->mcp.open_count > 0;
    return &run->calls[index];
}

/* "<chat key> <name> (<who>)", for sends elsewhere. The chat key is the same for the check, the
 * request and the check after consent; who it is a resumed run does not know. */
static struct sma_str put_receiver(struct sma_run *run, const struct run_call *call)
{
    sma_buf_clear(&run->scratch);
    if (!call->goes_elsewhere)
        return (struct sma_str){0};
    const struct sma_route *route = &call->route;
    sma_buf_put_str(&run->scratch, route->chat_key);
    sma_buf_put_char(&run->scratch, ' ');
    if (call->tool != SMA_TOOL_CONTACT_SEND) { /* a chat: its name and key */
        sma_buf_put_str(&run->scratch, call->whom);
        return sma_buf_str(&run->scratch);
    }
    sma_buf_put_str(&run->scratch,
                    route->user_name.len > 0 ? route->user_name : call->args.user_name);
    if (call->whom.len > 0) {
        sma_buf_put_text(&run->scratch, " (");
        sma_buf_put_str(&run->scratch, call->whom);
        sma_buf_put_char(&run->scratch, ')');
    }
    return sma_buf_str(&run->scratch);
}

/* Several questions of one event may be open: each receiver needs bytes of its own until the next
 * event. */
static bool keep_receiver(struct sma_run *run, struct run_call *call, struct sma_str *ret_receiver)
{
    struct sma_str text = put_receiver(run, call);
    sma_buf_clear(&call->delivery_text);
    sma_buf_put_str(&call->delivery_text, text);
    *ret_receiver = sma_buf_str(&call->delivery_text);
    return run->scratch.err == SMA_ERR_OK && call->delivery_text.err == SMA_ERR_OK;
}

/* What the owner has allowed them counts in a run that has read them. */
static struct sma_str loaded_skills(const struct sma_run *run, struct sma_str tool)
{
    return sma_tool_find(tool) == SMA_TOOL_EXEC_SHELL ? sma_buf_str(&run->skills)
                                                      : (struct sma_str){NULL, 0};
}

/* The same in all chats of a platform. */
static uint64_t person_of(const struct sma_route *route)
{
    static const uint8_t key[16];
    if (route->user_id.len == 0)
        return 0;
    uint64_t channel = sma_siphash(key, route->channel.ptr, route->channel.len);
    return (channel ^ sma_siphash(key, route->user_id.ptr, route->user_id.len)) | 1;
}

void run_ask_tool(struct sma_run *run, uint32_t index, enum sma_tool_mode mode)
{
    struct run_call *call = &run->calls[index];
    const struct sma_stored_call *stored = &run->answer.calls[index];
    struct sma_str receiver;
    if (!keep_receiver(run, call, &receiver)) {
        run_set_error(call, SMA_STR("Out of memory."));
        return;
    }
    run_open_call(run, index, mode == SMA_TOOL_RUN ? CALL_RUN : CALL_CHECK);
    struct sma_run_action *action = run_act(run, SMA_RUN_ASK_TOOL);
    action->call = index;
    action->tool = (struct sma_tool_ask){
        .seq = run->order->seq,
        .call = index,
        .mode = (uint8_t)mode,
        .standing = run->order->standing,
        .is_approved = call->is_approved,
        .name = stored->name,
        .arguments = stored->arguments,
        .chat_key = run->order->route.chat_key,
        .is_group = sma_prompt_is_group(run->order->route.chat_type),
        .person = person_of(&run->order->route),
        .receiver = receiver,
        .is_receiver_doubtful = call->is_doubtful,
        .grant_count = run->order->grant_count,
        .grants = run->order->grants,
        .words = call->tool == SMA_TOOL_WEB_FETCH ? run_own_words(run) : (struct sma_str){NULL, 0},
        .skills = loaded_skills(run, stored->name)};
    if (mode == SMA_TOOL_CHECK)
        run_egress_ask(run, call, &action->tool);
    if (call->is_approved) {
        memcpy(action->tool.digest, call->agreed->digest, sizeof action->tool.digest);
        action->tool.is_by_owner = call->agreed->is_by_owner;
    }
}

/* No item that cannot be read goes to the store: its call is refused instead. */
static enum sma_err put_request(struct sma_run *run, struct sma_str *items, uint32_t *calls,
                                uint32_t *ret_count)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->call_count && i < SMA_TOOL_CALL_COUNT_MAX; i++) {
        if (run->calls[i].has_result || !run->calls[i].is_asked)
            continue;
        items[count] = sma_buf_str(&run->calls[i].item);
        calls[count++] = i;
    }
    *ret_count = count;
    sma_buf_clear(&run->request);
    if (count == 0)
        return SMA_ERR_OK;
    enum sma_err err = sma_request_put(&run->request, items, calls, count);
    return err != SMA_ERR_OK ? err : run->request.err;
}

bool run_build_request(struct sma_run *run)
{
    struct sma_str items[SMA_TOOL_CALL_COUNT_MAX];
    uint32_t calls[SMA_TOOL_CALL_COUNT_MAX], count;
    enum sma_err err = put_request(run, items, calls, &count);
    if (err == SMA_ERR_NOMEM) {
        run_finish_failed(run, sma_err_text(err));
        return false;
    }
    for (uint32_t i = 0; err != SMA_ERR_OK && i < count; i++)
        run_set_error(&run->calls[calls[i]],
                      SMA_STR("Not carried out: it needs consent, and people could not be asked."));
    run->is_parking = err == SMA_ERR_OK && count > 0;
    return true;
}

/* Calls become deliveries of the step, so that their outbox rows are in its transaction. When
 * people are asked about the answer only what goes to the chat itself goes out before they have
 * spoken. */
static void collect_deliveries(struct sma_run *run)
{
    run->delivery_count = 0;
    for (uint32_t i = 0; i < run->call_count; i++) {
        const struct run_call *call = &run->calls[i];
        bool goes_now =
            run_is_send(call->tool) &&
            (!run->is_parking || (call->tool == SMA_TOOL_SEND && !call->goes_elsewhere));
        if (!call->has_result && goes_now)
            run_put_delivery(run, i);
    }
}

/* The results that are known before the step is stored become part of it. */
static bool close_answer(struct sma_run *run)
{
    for (uint32_t i = 0; i < run->call_count; i++) {
        struct sma_stored_call *stored = &run->answer.calls[i];
        stored->has_result = run->calls[i].has_result;
        stored->is_error = run->calls[i].is_error;
        stored->result = sma_buf_str(&run->calls[i].result);
        stored->has_receiver =
            run->is_parking && !stored->has_result && run->calls[i].goes_elsewhere;
        stored->receiver = run->calls[i].route;
    }
    sma_codec_put_known_results(&run->answer_data, run->answer.calls, run->call_count);
    sma_codec_put_receivers(&run->answer_data, run->answer.calls, run->call_count);
    run_added_close_answer(run);
    sma_codec_put_answer_egress(&run->answer_data, run_egress(run));
    sma_stored_answer_fini(&run->answer); /* its slices point into bytes that may have moved */
    enum sma_err err = run->answer_data.err;
    if (err == SMA_ERR_OK)
        err = sma_codec_get_answer(sma_buf_str(&run->answer_data), &run->answer);
    if (err == SMA_ERR_OK)
        return true;
    run_finish_failed(run, sma_err_text(err));
    return false;
}

static uint8_t kind_of(const struct sma_run *run)
{
    return run->compact.is_step ? SMA_STEP_COMPACTION
           : run->wait_ms > 0   ? SMA_STEP_WAIT
                                : SMA_STEP_ANSWER;
}

void run_store_answer(struct sma_run *run)
{
    bool is_past = run->compact.is_step;
    bool is_behind = run->results_number != 0 && !run->results_are_asked;
    run->answer_is_asked =
        !is_behind; /* numbers stay in order: RETRY stores the results first, then this */
    if (is_behind) {
        if (run->is_draining)
            run_end(run, false);
        return;
    }
    struct sma_run_action *action = run_act(run, SMA_RUN_STORE_STEP);
    action->step = (struct sma_step){.seq = run->order->seq,
                                     .number = run->answer_number,
                                     .kind = kind_of(run),
                                     .wait_ms = run->wait_ms,
                                     .usage = run->usage,
                                     .target = run_usage_target(run),
                                     .past_below = is_past ? run->compact.past.below : 0,
                                     .past_first = is_past ? run->compact.past.first : 0,
                                     .data = sma_buf_str(&run->answer_data),
                                     .delivery_count = run->delivery_count,
                                     .deliveries = run->deliveries,
                                     .request_json = run->is_parking ? sma_buf_str(&run->request)
                                                                     : (struct sma_str){0}};
    run_added_tell(run, &action->step);
}

void run_resolved(struct sma_run *run)
{
    if (!run_build_request(run))
        return;
    collect_deliveries(run);
    if (!close_answer(run))
        return;
    run->answer_number = run->next_number++;
    run->state = RUN_STORING;
    run_store_answer(run);
}

/* One line, in the words that adapters read files from: whatever is in the caption stays in it. */
static void put_attachment(struct sma_buf *buf, const struct sma_tool_args *args)
{
    sma_buf_clear(buf);
    sma_buf_put_text(buf, "@attach ");
    sma_buf_put_str(buf, args->kind);
    sma_buf_put_char(buf, ' ');
    sma_buf_put_str(buf, args->path);
    struct sma_str caption = sma_str_trim(args->caption);
    if (caption.len > 0)
        sma_buf_put_text(buf, " | ");
    for (size_t i = 0; i < caption.len; i++)
        sma_buf_put_char(buf, (unsigned char)caption.ptr[i] < ' ' ? ' ' : caption.ptr[i]);
}

void run_put_delivery(struct sma_run *run, uint32_t index)
{
    struct run_call *call = &run->calls[index];
    struct sma_step_delivery *delivery = &run->deliveries[run->delivery_count++];
    *delivery = (struct sma_step_delivery){.call = index,
                                           .intent = SMA_INTENT_ASSISTANT_TEXT,
                                           .route = run->order->route,
                                           .text = call->args.text};
    call->delivery = run->delivery_count;
    if (call->goes_elsewhere)
        delivery->route = call->route;
    else if (call->args.message_id.len > 0)
        delivery->route.message_id = call->args.message_id;
    if (call->tool == SMA_TOOL_REACT) {
        delivery->intent = SMA_INTENT_REACTION;
        delivery->text = call->args.emoji;
        if (call->args.message_id.len > 0)
            delivery->route.message_id = call->args.message_id;
    } else if (call->tool == SMA_TOOL_SEND_CARD) {
        delivery->intent = SMA_INTENT_CARD;
        delivery->text = call->args.content;
    } else if (sma_tool_sends_file(call->tool)) {
        put_attachment(&call->delivery_text, &call->args);
        delivery->text = sma_buf_str(&call->delivery_text);
    }
}
