/* agent_ask.c — what a run wants done, as messages to the store, the model, the tools and the
 * dispatcher. */
#include "agent_priv.h"

#include "actors/kernel/traffic.h"
#include "runtime/agent/trace.h"
#include "sma/text.h"

#include <stdlib.h>

struct sma_msg *agent_need(struct sma_agent *agent, struct sma_msg *msg)
{
    if (msg == NULL)
        sma_ctx_fatal(agent->ctx, "the agent is out of memory; its runs continue after a restart");
    return msg;
}

static void block(struct sma_agent *agent, enum sma_actor_id to, const struct agent_blocked *what)
{
    struct agent_blocked *blocked = malloc(sizeof *blocked);
    if (blocked == NULL)
        sma_ctx_fatal(agent->ctx, "the agent is out of memory; its runs continue after a restart");
    *blocked = *what;
    blocked->next = NULL;
    if (agent->blocked_last[to] != NULL)
        agent->blocked_last[to]->next = blocked;
    else
        agent->blocked_first[to] = blocked;
    agent->blocked_last[to] = blocked;
}

/* Without a tools actor, or one for servers, a call still gets a result. Not here: the run is in
 * the middle of its actions. */
static void note_gone(struct sma_agent *agent, enum sma_actor_id to,
                      const struct agent_blocked *what)
{
    if (to != SMA_ACTOR_TOOLS && to != SMA_ACTOR_MCP && to != SMA_ACTOR_MEMORY)
        return; /* that actor has ended: so do we, and the run continues after the next start */
    struct agent_blocked *gone = malloc(sizeof *gone);
    if (gone == NULL)
        sma_ctx_fatal(agent->ctx, "the agent is out of memory; its runs continue after a restart");
    *gone = *what;
    gone->msg = NULL;
    gone->next = NULL;
    if (agent->gone_last != NULL)
        agent->gone_last->next = gone;
    else
        agent->gone_first = gone;
    agent->gone_last = gone;
}

bool agent_take_gone(struct sma_agent *agent, struct agent_ask *ret_ask, uint8_t *ret_kind)
{
    struct agent_blocked *gone = agent->gone_first;
    if (gone == NULL)
        return false;
    agent->gone_first = gone->next;
    if (gone->next == NULL)
        agent->gone_last = NULL;
    *ret_ask = (struct agent_ask){.seq = gone->seq, .serial = gone->serial, .call = gone->call};
    *ret_kind = gone->kind;
    free(gone);
    return true;
}

static void put_model(struct agent_run *entry, uint32_t call, uint64_t id)
{
    for (size_t i = 0; i < SMA_COUNT_OF(entry->models); i++) {
        if (entry->models[i].id != 0)
            continue;
        entry->models[i] = (struct agent_model_ask){.id = id, .call = call};
        return;
    }
    SMA_ASSERT(false); /* each sub-agent has one at a time */
}

uint64_t agent_take_model(struct agent_run *entry, uint32_t call)
{
    for (size_t i = 0; i < SMA_COUNT_OF(entry->models); i++) {
        uint64_t id = entry->models[i].id;
        if (id == 0 || entry->models[i].call != call)
            continue;
        entry->models[i].id = 0;
        return id;
    }
    return 0;
}

/* Asked at once, or kept for later while the edge is full. Bounded: each open run has a bounded
 * number of questions. */
static void ask(struct sma_agent *agent, enum sma_actor_id to, struct agent_run *entry,
                uint32_t call, struct sma_msg *msg, uint64_t deadline_ns)
{
    uint64_t id = 0;
    enum sma_err err = SMA_ERR_FULL;
    struct agent_blocked what = {.seq = entry->seq,
                                 .serial = entry->serial,
                                 .deadline_ns = deadline_ns,
                                 .call = call,
                                 .kind = (uint8_t)msg->kind};
    if (agent->blocked_first[to] == NULL)
        err = sma_ctx_ask(agent->ctx, to, &msg, deadline_ns, &id);
    if (err == SMA_ERR_OK) {
        agent_ask_put(agent,
                      &(struct agent_ask){
                          .id = id, .seq = entry->seq, .serial = entry->serial, .call = call});
        if (to == SMA_ACTOR_MODEL)
            put_model(entry, call, id);
    } else if (err == SMA_ERR_FULL) {
        what.msg = msg;
        block(agent, to, &what);
    } else {
        sma_msg_destroy(msg);
        note_gone(agent, to, &what);
    }
}

void agent_ask_blocked(struct sma_agent *agent, enum sma_actor_id to)
{
    while (agent->blocked_first[to] != NULL && sma_ctx_ask_room(agent->ctx, to) > 0) {
        struct agent_blocked *blocked = agent->blocked_first[to];
        uint64_t id = 0;
        enum sma_err err = sma_ctx_ask(agent->ctx, to, &blocked->msg, blocked->deadline_ns, &id);
        if (err == SMA_ERR_FULL)
            return;
        agent->blocked_first[to] = blocked->next;
        if (blocked->next == NULL)
            agent->blocked_last[to] = NULL;
        if (err == SMA_ERR_OK) {
            agent_ask_put(agent, &(struct agent_ask){.id = id,
                                                     .seq = blocked->seq,
                                                     .serial = blocked->serial,
                                                     .call = blocked->call});
            struct agent_run *entry = agent_run_find(agent, blocked->seq);
            if (to == SMA_ACTOR_MODEL && entry != NULL)
                put_model(entry, blocked->call, id);
        } else {
            note_gone(agent, to, blocked);
        }
        sma_msg_destroy(blocked->msg); /* NULL after OK */
        free(blocked);
    }
}

#define ANY_CALL UINT32_MAX

static void drop_blocked(struct sma_agent *agent, enum sma_actor_id to, uint64_t seq, uint32_t call)
{
    struct agent_blocked **link = &agent->blocked_first[to], *last = NULL;
    while (*link != NULL) {
        struct agent_blocked *blocked = *link;
        if (blocked->seq == seq && (call == ANY_CALL || blocked->call == call)) {
            *link = blocked->next;
            sma_msg_destroy(blocked->msg);
            free(blocked);
        } else {
            last = blocked;
            link = &blocked->next;
        }
    }
    agent->blocked_last[to] = last;
}

/* A dropped run's questions that were never asked. Its steps are dropped too: the store has ended
 * the run. */
void agent_drop_blocked(struct sma_agent *agent, uint64_t seq)
{
    for (int to = 0; to < SMA_ACTOR_ADAPTER_0; to++)
        drop_blocked(agent, (enum sma_actor_id)to, seq, ANY_CALL);
}

/* -- one function a kind ----------------------------------------------------------------------- */
static void ask_session(struct sma_agent *agent, struct agent_run *entry,
                        const struct sma_session_ask *from)
{
    ask(agent, SMA_ACTOR_STORE, entry, 0, agent_need(agent, sma_msg_make_session(from)), 0);
}

/* The request is written straight into the message: it is large. */
static void ask_model(struct sma_agent *agent, struct agent_run *entry, uint32_t call)
{
    const struct sma_run *run = sma_run_asker(entry->run, call);
    struct sma_model_ask question = {.body = {NULL, sma_run_request_size(run)},
                                     .chat_key = sma_run_order_of(run)->route.chat_key};
    /* copied into the message, which then is the one that is written to */
    question.files =
        (struct sma_body_file *)(uintptr_t)sma_run_request_files(run, &question.file_count);
    struct sma_msg *msg = agent_need(agent, sma_msg_make_model(&question));
    struct sma_model_ask *body = SMA_MSG_BODY(msg, struct sma_model_ask);
    sma_run_request_write(run, sma_msg_fill(msg, body->body), body);
    ask(agent, SMA_ACTOR_MODEL, entry, call, msg,
        sma_ctx_now(agent->ctx) + SMA_MODEL_TOTAL_S * SMA_NS_PER_S);
}

static void cancel_model(struct sma_agent *agent, struct agent_run *entry, uint32_t call)
{
    uint64_t ask_id = agent_take_model(entry, call);
    struct agent_ask taken;
    if (ask_id == 0) { /* never asked: the edge was full */
        drop_blocked(agent, SMA_ACTOR_MODEL, entry->seq, call);
        return;
    }
    /* so that its answer is not taken for the next one's; what it used counts all the same */
    if (agent_ask_take(agent, ask_id, &taken)) {
        taken.spent_target = strdup(sma_run_target_key(sma_run_asker(entry->run, call)));
        if (taken.spent_target != NULL)
            agent_ask_put(agent, &taken);
    }
    agent_cancel_model(agent, ask_id);
}

void agent_cancel_model(struct sma_agent *agent, uint64_t ask_id)
{
    const struct sma_model_cancel cancel = {.ask_id = ask_id};
    struct sma_msg *msg = agent_need(agent, sma_msg_make_model_cancel(&cancel));
    if (sma_ctx_send(agent->ctx, SMA_ACTOR_MODEL, &msg) != SMA_ERR_OK)
        sma_msg_destroy(msg); /* the answer then comes for nothing and is thrown away */
}

static void ask_contact(struct sma_agent *agent, struct agent_run *entry,
                        const struct sma_run_action *action)
{
    struct sma_msg *msg = agent_need(agent, sma_msg_make_contact(&action->contact));
    ask(agent, SMA_ACTOR_STORE, entry, action->call, msg, 0);
}

static void ask_history(struct sma_agent *agent, struct agent_run *entry,
                        const struct sma_run_action *action)
{
    struct sma_msg *msg = agent_need(agent, sma_msg_make_history(&action->history));
    ask(agent, SMA_ACTOR_STORE, entry, action->call, msg, 0);
}

static void ask_fetch(struct sma_agent *agent, struct agent_run *entry,
                      const struct sma_run_action *action)
{
    struct sma_msg *msg = agent_need(agent, sma_msg_make_fetch(&action->fetch));
    ask(agent, SMA_ACTOR_STORE, entry, action->call, msg, 0);
}

/* The message is durable and will arrive without the run: while every slot is taken, others may
 * wait for this one. */
static uint64_t send_wait_ns(const struct sma_agent *agent)
{
    int slots = agent->config->agent_concurrency;
    bool is_full = slots > 0 && agent->run_count >= (uint64_t)slots;
    return is_full ? AGENT_SEND_WAIT_FULL_NS : SMA_SEND_WAIT_S * SMA_NS_PER_S;
}

static void ask_send(struct sma_agent *agent, struct agent_run *entry,
                     const struct sma_run_action *action)
{
    const struct sma_send question = {.seq = entry->seq, .outbox_id = action->outbox_id};
    struct sma_msg *msg = agent_need(agent, sma_msg_make_send(&question));
    ask(agent, SMA_ACTOR_DISPATCHER, entry, action->call, msg,
        sma_ctx_now(agent->ctx) + send_wait_ns(agent));
}

static void ask_tool(struct sma_agent *agent, struct agent_run *entry, uint32_t call,
                     const struct sma_tool_ask *from)
{
    ask(agent, SMA_ACTOR_TOOLS, entry, call, agent_need(agent, sma_msg_make_tool(from)), 0);
}

static void ask_encode(struct sma_agent *agent, struct agent_run *entry, uint32_t call,
                       const struct sma_encode_ask *from)
{
    ask(agent, SMA_ACTOR_TOOLS, entry, call, agent_need(agent, sma_msg_make_encode(from)), 0);
}

static void ask_mcp(struct sma_agent *agent, struct agent_run *entry,
                    const struct sma_mcp_call *from)
{
    ask(agent, SMA_ACTOR_MCP, entry, from->call, agent_need(agent, sma_msg_make_mcp_call(from)), 0);
}

/* Likewise; each question is answered all the same. */
static void cancel_mcp(struct sma_agent *agent, const struct agent_run *entry)
{
    drop_blocked(agent, SMA_ACTOR_MCP, entry->seq, ANY_CALL);
    const struct sma_mcp_cancel cancel = {.seq = entry->seq, .call = SMA_MCP_CALL_ALL};
    struct sma_msg *msg = agent_need(agent, sma_msg_make_mcp_cancel(&cancel));
    if (sma_ctx_send(agent->ctx, SMA_ACTOR_MCP, &msg) != SMA_ERR_OK)
        sma_msg_destroy(msg); /* it goes on to its own end, which is bounded */
}

/* What was never asked is not asked any more; what was is ended there. Its answers find no run that
 * wants them. */
static void cancel_tools(struct sma_agent *agent, const struct agent_run *entry)
{
    drop_blocked(agent, SMA_ACTOR_TOOLS, entry->seq, ANY_CALL);
    const struct sma_tool_cancel cancel = {.seq = entry->seq};
    struct sma_msg *msg = agent_need(agent, sma_msg_make_tool_cancel(&cancel));
    enum sma_err err = sma_ctx_send(agent->ctx, SMA_ACTOR_TOOLS, &msg);
    if (err == SMA_ERR_FULL)
        sma_ctx_log(agent->ctx, SMA_LOG_WARN,
                    "the tools do not keep up: what run %llu has started goes on to its own end",
                    (unsigned long long)entry->seq);
    if (err != SMA_ERR_OK)
        sma_msg_destroy(msg);
}

static int64_t run_wall_now(const struct sma_agent *agent, const struct agent_run *entry)
{
    return sma_run_wall_ms(entry->run, sma_ctx_now(agent->ctx));
}

/* What the run has noted moves into the message. A step that comes back for want of disk has lost
 * it: it only tells. */
static void store_step(struct sma_agent *agent, struct agent_run *entry,
                       const struct sma_step *from)
{
    struct sma_trace *trace = sma_run_trace(entry->run);
    if (from->request_json.len > 0 || from->wait_ms > 0)
        sma_trace_wait(trace, run_wall_now(agent, entry), from->wait_ms);
    struct sma_step step = *from;
    step.trace = sma_trace_bytes(trace);
    struct sma_msg *msg = agent_need(agent, sma_msg_make_step(&step));
    sma_trace_clear(trace);
    ask(agent, SMA_ACTOR_STORE, entry, from->number, msg, 0);
}

static void store_done(struct sma_agent *agent, struct agent_run *entry,
                       const struct sma_done *from)
{
    struct sma_trace *trace = sma_run_trace(entry->run);
    sma_trace_end(trace, run_wall_now(agent, entry), from->outcome);
    struct sma_done done = *from;
    done.trace = sma_trace_bytes(trace);
    struct sma_msg *msg = agent_need(agent, sma_msg_make_done(&done));
    sma_trace_clear(trace);
    ask(agent, SMA_ACTOR_STORE, entry, 0, msg, 0);
}

void agent_progress(struct sma_agent *agent, const struct agent_run *entry,
                    enum sma_progress_kind kind, struct sma_str text, struct sma_str detail)
{
    struct sma_msg *msg =
        sma_msg_make_progress(&(struct sma_progress){.seq = entry->seq,
                                                     .kind = (uint8_t)kind,
                                                     .route = sma_run_order_of(entry->run)->route,
                                                     .text = text,
                                                     .detail = detail});
    if (msg != NULL) /* a signal may be lost */
        sma_ctx_signal(agent->ctx, SMA_ACTOR_DISPATCHER, &msg);
}

void agent_tell_talked(struct sma_agent *agent, const struct agent_run *entry, bool is_urgent)
{
    const struct sma_run_order *order = sma_run_order_of(entry->run);
    if (!agent->config->memory_extracts || agent->config->memory == SMA_MEMORY_REFUSE ||
        order->standing <= SMA_STANDING_STRANGER || order->over.scope != SMA_BUDGET_NONE)
        return;
    const struct sma_memory_ask talked = {.op = SMA_MEMORY_TALKED,
                                          .route = order->route,
                                          .is_group = order->is_group,
                                          .seq = order->seq,
                                          .count = 2 + order->collected_count,
                                          .is_urgent = is_urgent,
                                          .dropped_seq = entry->session->past.below};
    struct sma_msg *msg = sma_msg_make_memory(&talked);
    if (msg == NULL || sma_ctx_ask(agent->ctx, SMA_ACTOR_MEMORY, &msg, 0, NULL) != SMA_ERR_OK)
        sma_msg_destroy(msg); /* the next run tells */
}

/* The text is {"state":"...",...}, of ours. */
static void log_compaction(struct sma_agent *agent, const struct agent_run *entry,
                           struct sma_str text)
{
    static const char begin[] = "{\"state\":\"";
    const struct sma_stored_past *past = sma_run_past(entry->run);
    struct sma_traffic line;
    struct sma_str state = {text.ptr + sizeof begin - 1, 0};
    if (!sma_str_starts_with(text, sma_str(begin)) ||
        !sma_traffic_begin(&line, agent->ctx, SMA_LOG_INFO, "compaction", entry->seq,
                           sma_run_order_of(entry->run)->route.chat_key))
        return;
    while (state.ptr + state.len < text.ptr + text.len && state.ptr[state.len] != '"')
        state.len++;
    sma_traffic_str(&line, "state", state);
    sma_traffic_u64(&line, "turns", past->turn_count);
    sma_traffic_u64(&line, "tokensBefore", past->tokens_before);
    if (past->tokens_after > 0)
        sma_traffic_u64(&line, "tokensAfter", past->tokens_after);
    sma_traffic_end(&line);
}

void agent_carry_out(struct sma_agent *agent, struct agent_run *entry,
                     const struct sma_run_action *action)
{
    switch (action->kind) {
    case SMA_RUN_ASK_SESSION:
        ask_session(agent, entry, &action->session);
        break;
    case SMA_RUN_ASK_MODEL:
        ask_model(agent, entry, action->call);
        break;
    case SMA_RUN_CANCEL_MODEL:
        cancel_model(agent, entry, action->call);
        break;
    case SMA_RUN_ASK_CONTACT:
        ask_contact(agent, entry, action);
        break;
    case SMA_RUN_ASK_HISTORY:
        ask_history(agent, entry, action);
        break;
    case SMA_RUN_ASK_FETCH:
        ask_fetch(agent, entry, action);
        break;
    case SMA_RUN_ASK_MEMORY:
        ask(agent, SMA_ACTOR_MEMORY, entry, action->call,
            agent_need(agent, sma_msg_make_memory(&action->memory)), 0);
        break;
    case SMA_RUN_ASK_SEND:
        ask_send(agent, entry, action);
        break;
    case SMA_RUN_ASK_TOOL:
        ask_tool(agent, entry, action->call, &action->tool);
        break;
    case SMA_RUN_ASK_MCP:
        ask_mcp(agent, entry, &action->mcp);
        break;
    case SMA_RUN_CANCEL_MCP:
        cancel_mcp(agent, entry);
        break;
    case SMA_RUN_ASK_ENCODE:
        ask_encode(agent, entry, action->call, &action->encode);
        break;
    case SMA_RUN_CANCEL_TOOLS:
        cancel_tools(agent, entry);
        break;
    case SMA_RUN_STORE_STEP:
        store_step(agent, entry, &action->step);
        break;
    case SMA_RUN_STORE_DONE:
        store_done(agent, entry, &action->done);
        break;
    case SMA_RUN_LEARN:
        agent_tell_learned(agent, &action->learned);
        break;
    case SMA_RUN_PROGRESS:
        if (action->progress == SMA_PROGRESS_COMPACTION) {
            log_compaction(agent, entry, action->text);
            agent_tell_talked(agent, entry, true);
        }
        agent_progress(agent, entry, (enum sma_progress_kind)action->progress, action->text,
                       action->detail);
        break;
    case SMA_RUN_WAIT:
        agent_retry_add(agent, entry, sma_ctx_now(agent->ctx) + AGENT_RETRY_NS);
        break;
    case SMA_RUN_ELICITED:
    case SMA_RUN_END:
        break; /* agent.c does it */
    }
}
