/*
 * agent.c — the agent actor: runs by seq, sessions by chat key; every message becomes an event of
 * one run.
 *
 * Late answers (of a run that was stopped, of a model question that was cancelled) are recognised
 * by their question's id and thrown away. Draining: nothing new is started, the model and the tools
 * are given three seconds, steps on their way to the disk are waited for; a run that did not end
 * stays at its last durable step.
 */
#include "agent_priv.h"

#include "actors/kernel/traffic.h"
#include "runtime/mcp/catalogue.h"
#include "runtime/policy/policy_mcp.h"

#include <stdlib.h>

#define AGENT_MAGIC 0x4147454Eu

/* -- making and ending ------------------------------------------------------------------------- */
enum sma_err sma_agent_create(const struct sma_config *config, const struct sma_adapter *adapters,
                              size_t adapter_count, struct sma_agent **ret_agent,
                              struct sma_error *error)
{
    struct sma_agent *agent = calloc(1, sizeof *agent);
    if (agent == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "the agent is out of memory at start");
    agent->magic = AGENT_MAGIC;
    agent->config = config;
    agent->adapters = adapters;
    agent->adapter_count = adapter_count;
    for (size_t i = 0; i < adapter_count; i++) {
        agent->has_files_somewhere |= adapters[i].ops->capabilities.has_files;
        agent->has_cards_somewhere |= adapters[i].ops->capabilities.has_cards;
    }
    struct sma_mcp_policy *policy; /* read again there, where nobody can say what is wrong */
    enum sma_err err = sma_mcp_policy_load(config->permissions_json, &policy, error);
    if (err != SMA_ERR_OK) {
        sma_agent_destroy(agent);
        return err;
    }
    sma_mcp_policy_destroy(policy);
    err = sma_run_settings_create(config, NULL, &agent->settings);
    if (err != SMA_ERR_OK) {
        sma_agent_destroy(agent);
        return sma_fail(error, err, "Agent.md is too large for a request (or memory is short): %s",
                        sma_err_text(err));
    }
    *ret_agent = agent;
    return SMA_ERR_OK;
}

static void release_settings(struct sma_agent *agent, struct sma_run_settings *settings)
{
    SMA_ASSERT(settings->use_count > 0);
    settings->use_count--;
    if (settings->use_count == 0 && settings != agent->settings)
        sma_run_settings_destroy(settings);
}

static void free_run(struct sma_agent *agent, struct agent_run *entry)
{
    agent_retry_remove(agent, entry);
    agent_run_remove(agent, entry);
    sma_run_destroy(entry->run);
    sma_msg_destroy(entry->order);
    while (entry->steer_count > 0)
        sma_msg_destroy(entry->steers[--entry->steer_count]);
    free(entry->steers);
    release_settings(agent, entry->settings);
    free(entry);
}

void sma_agent_destroy(struct sma_agent *agent)
{
    if (agent == NULL)
        return;
    SMA_ASSERT(agent->magic == AGENT_MAGIC);
    agent->magic = 0;
    for (size_t i = 0; i < AGENT_BUCKET_COUNT; i++) {
        while (agent->runs[i] != NULL)
            free_run(agent, agent->runs[i]);
    }
    agent_elicit_fini(agent);
    agent_sample_fini(agent);
    agent_judge_fini(agent);
    agent_extract_fini(agent);
    agent_tables_fini(agent);
    free(agent->learned);
    sma_sessions_destroy(agent->sessions);
    sma_run_settings_destroy(agent->settings);
    free(agent);
}

static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct sma_agent *agent = state;
    uint64_t key[2] = {sma_ctx_random(ctx), sma_ctx_random(ctx)};
    uint8_t bytes[16];
    memcpy(bytes, key, sizeof bytes);
    agent->sessions = sma_sessions_create(bytes);
    return agent->sessions != NULL
               ? SMA_ERR_OK
               : sma_fail(error, SMA_ERR_NOMEM, "the agent is out of memory at start");
}

/* -- time -------------------------------------------------------------------------------------- */
static void set_wake(struct sma_agent *agent)
{
    uint64_t at = agent->retry_first != NULL ? agent->retry_first->retry_ns : UINT64_MAX;
    if (agent->drain_ns != 0 && agent->drain_ns < at)
        at = agent->drain_ns;
    uint64_t judge_ns = agent_judge_wake_ns(agent);
    if (judge_ns < at)
        at = judge_ns;
    uint64_t elicit_ns = agent_elicit_wake_ns(agent);
    if (elicit_ns < at)
        at = elicit_ns;
    uint64_t sample_ns = agent_sample_wake_ns(agent);
    if (sample_ns < at)
        at = sample_ns;
    if (agent->extract.due_ns != 0 && agent->extract.due_ns < at)
        at = agent->extract.due_ns;
    sma_ctx_wake_at(agent->ctx, at);
}

static void check_drained(struct sma_agent *agent)
{
    if (!agent->is_draining || agent->has_drained || agent->run_count > 0 ||
        !agent_judge_is_idle(agent))
        return;
    agent->has_drained = true;
    agent->drain_ns = 0;
    set_wake(agent);
    sma_ctx_life_done(agent->ctx, SMA_PHASE_DRAIN);
}

/* -- one event of one run ---------------------------------------------------------------------- */
static void end_run(struct sma_agent *agent, struct agent_run *entry)
{
    uint64_t now = sma_ctx_now(agent->ctx);
    struct sma_session *session = entry->session;
    agent_drop_blocked(agent, entry->seq);
    agent_elicit_end_run(agent, entry->serial);
    agent_sample_end(agent, entry->serial, SMA_MCP_CALL_ALL);
    bool was_waiting = entry->retry_ns != 0;
    free_run(agent, entry);
    if (was_waiting)
        set_wake(agent);
    sma_session_unpin(agent->sessions, session, now);
    sma_sessions_evict(agent->sessions, now);
    SMA_METRIC_SET(sessions, (int64_t)sma_sessions_count(agent->sessions));
    SMA_METRIC_SET(session_bytes, (int64_t)sma_sessions_bytes(agent->sessions));
    check_drained(agent);
}

static void feed(struct sma_agent *agent, struct agent_run *entry, struct sma_run_event event)
{
    event.now_ns = sma_ctx_now(agent->ctx);
    struct sma_run_actions *actions = &agent->actions;
    sma_run_event(entry->run, &event, actions);
    bool has_wait = false;
    for (uint32_t i = 0; i < actions->count; i++) {
        const struct sma_run_action *action = &actions->list[i];
        has_wait |= action->kind == SMA_RUN_WAIT;
        if (action->kind == SMA_RUN_END) {
            SMA_ASSERT(i + 1 == actions->count);
            /* of a conversation with a summary always: the memory may not have heard of it */
            if ((action->is_counted && action->outcome == SMA_OUTCOME_OK) ||
                entry->session->past.below > 0)
                agent_tell_talked(agent, entry, false);
            end_run(agent, entry);
            return;
        }
        if (action->kind == SMA_RUN_ELICITED)
            agent_elicit_answer(agent, entry, &action->elicited);
        else
            agent_carry_out(agent, entry, action);
    }
    if (has_wait)
        set_wake(agent);
}

/* -- from the store ---------------------------------------------------------------------------- */
static const struct sma_adapter_ops *find_adapter(const struct sma_agent *agent, uint8_t adapter)
{
    static const struct sma_adapter_ops unknown;
    for (size_t i = 0; i < agent->adapter_count; i++) {
        if ((uint8_t)agent->adapters[i].actor == adapter)
            return agent->adapters[i].ops;
    }
    return &unknown;
}

/* Handed out again: the batch that held it was undone. The store is the truth, what was begun is
 * dropped. */
static void drop_old(struct sma_agent *agent, uint64_t seq)
{
    struct agent_run *entry = agent_run_find(agent, seq);
    if (entry == NULL)
        return;
    sma_session_remove(agent->sessions, entry->session, seq);
    feed(agent, entry, (struct sma_run_event){.kind = SMA_RUN_STOP});
    entry = agent_run_find(agent, seq);
    if (entry != NULL) /* its DONE was asked: the answer is not waited for */
        end_run(agent, entry);
}

static void log_begun(struct sma_agent *agent, const struct sma_run_order *order)
{
    static const char *const standings[] = {[SMA_STANDING_STRANGER] = "stranger",
                                            [SMA_STANDING_MEMBER] = "member",
                                            [SMA_STANDING_ADMIN] = "admin",
                                            [SMA_STANDING_OWNER] = "owner"};
    struct sma_traffic line;
    if (!sma_traffic_begin(&line, agent->ctx, SMA_LOG_INFO, "run_begun", order->seq,
                           order->route.chat_key))
        return;
    sma_traffic_str(&line, "userId", order->route.user_id);
    if (order->standing < SMA_COUNT_OF(standings))
        sma_traffic_str(&line, "standing", sma_str(standings[order->standing]));
    sma_traffic_ms(&line, "waitedMs", order->stamps.read_ns, sma_ctx_now(agent->ctx));
    if (order->is_resumed)
        sma_traffic_bool(&line, "resumed", true);
    if (order->step_count > 0)
        sma_traffic_u64(&line, "steps", order->step_count);
    if (order->attempt > 1)
        sma_traffic_u64(&line, "attempt", order->attempt);
    if (order->collected_count > 0)
        sma_traffic_u64(&line, "collected", order->collected_count);
    sma_traffic_end(&line);
}

static void on_run(struct sma_agent *agent, struct sma_msg **msg)
{
    const struct sma_run_order *order = SMA_MSG_BODY(*msg, struct sma_run_order);
    if (agent->is_draining)
        return; /* the store still has it and hands it out after the next start */
    drop_old(agent, order->seq);
    uint64_t now = sma_ctx_now(agent->ctx);
    agent_forget_learned(agent, now);
    const struct sma_adapter_ops *adapter = find_adapter(agent, order->route.adapter);
    struct agent_run *entry = calloc(1, sizeof *entry);
    struct sma_session *session = sma_session_pin(agent->sessions, order->route.chat_key, now);
    struct sma_run_options options = {.order = order,
                                      .sessions = agent->sessions,
                                      .session = session,
                                      .settings = agent->settings,
                                      .is_chinese_by_default = adapter->is_chinese_by_default,
                                      .has_files = adapter->capabilities.has_files,
                                      .has_reactions = adapter->capabilities.has_reactions,
                                      .has_cards = adapter->capabilities.has_cards,
                                      .has_files_elsewhere = agent->has_files_somewhere,
                                      .has_cards_elsewhere = agent->has_cards_somewhere,
                                      .has_markdown = adapter->capabilities.has_markdown ||
                                                      sma_channel_is_page(order->route.channel),
                                      .is_stored = adapter->capabilities.is_stored_delivery,
                                      .part_chars_max = adapter->capabilities.part_chars_max,
                                      .wall_ms = sma_ctx_wall(agent->ctx)};
    options.random[0] = sma_ctx_random(agent->ctx);
    options.random[1] = sma_ctx_random(agent->ctx);
    if (entry == NULL || session == NULL || sma_run_create(&options, &entry->run) != SMA_ERR_OK)
        sma_ctx_fatal(agent->ctx, "the agent is out of memory; its runs continue after a restart");
    entry->seq = order->seq;
    entry->serial = ++agent->next_serial;
    entry->session = session;
    entry->settings = agent->settings;
    entry->settings->use_count++;
    entry->order = SMA_TAKE(*msg);
    log_begun(agent, order);
    agent_run_put(agent, entry);
    feed(agent, entry, (struct sma_run_event){.kind = SMA_RUN_START});
}

/* Whoever is late finds it over: what was added then has a run of its own. */
static void on_steer(struct sma_agent *agent, struct sma_msg **msg)
{
    const struct sma_steer *steer = SMA_MSG_BODY(*msg, struct sma_steer);
    struct agent_run *entry = agent_run_find(agent, steer->seq);
    if (entry == NULL)
        return;
    if (entry->steer_count == entry->steer_room) {
        uint32_t room = entry->steer_room * 2 + 4;
        struct sma_msg **more = realloc(entry->steers, room * sizeof *more);
        if (more == NULL)
            return; /* as if it were late */
        entry->steers = more;
        entry->steer_room = room;
    }
    entry->steers[entry->steer_count++] = SMA_TAKE(*msg);
    feed(agent, entry, (struct sma_run_event){.kind = SMA_RUN_ADDED, .steer = steer});
}

/* The order is durable: the store has ended what it stops. Runs accepted later go on, but not on a
 * cleared session. */
static void on_control(struct sma_agent *agent, const struct sma_control_order *order)
{
    struct sma_session *session = sma_session_find(agent->sessions, order->chat_key);
    if (session != NULL && order->control == SMA_CONTROL_RETRY)
        sma_session_remove(agent->sessions, session, order->mark_seq); /* its turn is gone */
    if (session == NULL ||
        (order->control != SMA_CONTROL_STOP && order->control != SMA_CONTROL_CLEAR))
        return;
    session->pin_count++; /* ending its last run must not take it from under us */
    bool is_clear = order->control == SMA_CONTROL_CLEAR;
    if (is_clear)
        sma_session_clear(agent->sessions, session, order->mark_seq);
    for (struct agent_run *entry = session->user, *next; entry != NULL; entry = next) {
        next = entry->chat_next;
        if (order->only_seq != 0 && entry->seq != order->only_seq)
            continue;
        if (entry->seq < order->mark_seq)
            feed(agent, entry,
                 (struct sma_run_event){.kind = SMA_RUN_STOP, .is_by_user = !is_clear});
        else if (is_clear)
            feed(agent, entry, (struct sma_run_event){.kind = SMA_RUN_CLEARED});
    }
    session->pin_count--;
    SMA_METRIC_SET(session_bytes, (int64_t)sma_sessions_bytes(agent->sessions));
}

/* -- answers ----------------------------------------------------------------------------------- */
/* A request that was cancelled with its run, or for what came in between: its tokens were used. */
static bool take_spent(struct sma_agent *agent, struct agent_ask *ask, struct sma_msg *msg)
{
    if (ask->spent_target == NULL)
        return false;
    if (msg->kind == SMA_MSG_MODEL_ANSWER)
        agent_tell_spent(
            agent, &(struct sma_spent){.seq = ask->seq,
                                       .usage = SMA_MSG_BODY(msg, struct sma_model_answer)->usage,
                                       .target = sma_str(ask->spent_target)});
    free(ask->spent_target);
    return true;
}

static void on_answer(struct sma_agent *agent, struct sma_msg *msg)
{
    struct agent_ask ask;
    struct agent_run *entry = NULL;
    if (agent_judge_answer(agent, msg) || agent_extract_answer(agent, msg) ||
        agent_sample_answer(agent, msg))
        return;
    if (agent_ask_take(agent, msg->ask_id, &ask))
        entry = take_spent(agent, &ask, msg) ? NULL : agent_run_find(agent, ask.seq);
    if (msg->from < SMA_COUNT_OF(agent->blocked_first))
        agent_ask_blocked(agent, (enum sma_actor_id)msg->from);
    if (entry == NULL || entry->serial != ask.serial)
        return; /* its run is over */
    struct sma_run_event event = {.call = ask.call};
    struct sma_step_done step;
    switch (msg->kind) {
    case SMA_MSG_SESSION_TURNS:
        event.kind = SMA_RUN_SESSION;
        event.turns = SMA_MSG_BODY(msg, struct sma_session_turns);
        break;
    case SMA_MSG_MODEL_ANSWER:
        event.kind = SMA_RUN_MODEL;
        event.model = SMA_MSG_BODY(msg, struct sma_model_answer);
        (void)agent_take_model(entry, ask.call); /* its answer is this one */
        break;
    case SMA_MSG_CONTACT_RESULT:
        event.kind = SMA_RUN_CONTACT;
        event.contact = SMA_MSG_BODY(msg, struct sma_contact_result);
        break;
    case SMA_MSG_MEMORY_RESULT:
        event.kind = SMA_RUN_MEMORY;
        event.memory = SMA_MSG_BODY(msg, struct sma_memory_result);
        break;
    case SMA_MSG_HISTORY_LINES:
        event.kind = SMA_RUN_HISTORY;
        event.history = SMA_MSG_BODY(msg, struct sma_history_lines);
        break;
    case SMA_MSG_FETCHED:
        event.kind = SMA_RUN_FETCHED;
        event.fetched = SMA_MSG_BODY(msg, struct sma_fetched);
        break;
    case SMA_MSG_SEND_RESULT:
        event.kind = SMA_RUN_SENT;
        event.sent = SMA_MSG_BODY(msg, struct sma_send_result);
        break;
    case SMA_MSG_TOOL_ANSWER:
        event.kind = SMA_RUN_TOOL;
        event.tool = SMA_MSG_BODY(msg, struct sma_tool_answer);
        break;
    case SMA_MSG_MCP_ANSWER:
        event.kind = SMA_RUN_MCP;
        event.mcp = SMA_MSG_BODY(msg, struct sma_mcp_answer);
        agent_sample_end(agent, entry->serial, ask.call);
        break;
    case SMA_MSG_ENCODED:
        event.kind = SMA_RUN_ENCODED;
        event.part = &SMA_MSG_BODY(msg, struct sma_encoded)->part;
        break;
    case SMA_MSG_STEP_DONE:
    case SMA_MSG_DONE_DONE:
        event.kind = msg->kind == SMA_MSG_STEP_DONE ? SMA_RUN_STEP_DONE : SMA_RUN_DONE_DONE;
        step = *SMA_MSG_BODY(msg, struct sma_step_done);
        step.number = ask.call; /* which step it was about is known here, whatever a refusal says */
        event.step = &step;
        break;
    default:
        return;
    }
    feed(agent, entry, event);
}

/* Calls for which there is nobody: they get a result like any other. */
static void answer_gone(struct sma_agent *agent)
{
    struct agent_ask ask;
    uint8_t kind;
    while (agent_take_gone(agent, &ask, &kind)) {
        struct agent_run *entry = agent_run_find(agent, ask.seq);
        if (entry == NULL || entry->serial != ask.serial)
            continue;
        if (kind == SMA_MSG_ENCODE) {
            feed(agent, entry, (struct sma_run_event){.kind = SMA_RUN_ENCODED, .call = ask.call});
            continue;
        }
        if (kind == SMA_MSG_MCP_CALL) {
            const struct sma_mcp_answer none = {.outcome = SMA_MCP_NOT_CONNECTED,
                                                .text = SMA_STR("no server runs in this program")};
            feed(agent, entry,
                 (struct sma_run_event){.kind = SMA_RUN_MCP, .call = ask.call, .mcp = &none});
            continue;
        }
        if (kind == SMA_MSG_MEMORY) {
            const struct sma_memory_result none = {
                .is_error = true,
                .content = SMA_STR("{\"success\":false,\"error\":\"No memory runs in this "
                                   "program.\"}")};
            feed(agent, entry,
                 (struct sma_run_event){.kind = SMA_RUN_MEMORY, .call = ask.call, .memory = &none});
            continue;
        }
        struct sma_tool_answer answer = {
            .seq = ask.seq,
            .call = ask.call,
            .verdict = SMA_TOOL_REFUSED,
            .is_error = true,
            .content = SMA_STR("{\"success\":false,\"error\":\"Not carried out: the working tools "
                               "do not run in this program.\"}")};
        feed(agent, entry,
             (struct sma_run_event){.kind = SMA_RUN_TOOL, .call = ask.call, .tool = &answer});
    }
}

/* After each message and wake: what could not be done in the middle of it. */
static void finish_message(struct sma_agent *agent)
{
    answer_gone(agent);
    agent_extract_pump(agent);
    agent_sample_pump(agent);
    if (!agent->has_judges)
        return;
    agent_judge_pump(agent);
    agent->has_judges = !agent_judge_is_idle(agent);
    set_wake(agent);
    check_drained(agent);
}

static void on_delta(struct sma_agent *agent, const struct sma_model_delta *delta)
{
    struct agent_run *entry = agent_run_find(agent, delta->seq);
    if (entry != NULL && sma_run_waits_for_model(entry->run))
        agent_progress(agent, entry, SMA_PROGRESS_TEXT, delta->text, SMA_STR(""));
}

/* -- life -------------------------------------------------------------------------------------- */
/* To every run; a run may end meanwhile. */
static void feed_all(struct sma_agent *agent, enum sma_run_event_kind kind)
{
    for (size_t i = 0; i < AGENT_BUCKET_COUNT; i++) {
        for (struct agent_run *entry = agent->runs[i], *next; entry != NULL; entry = next) {
            next = entry->hash_next;
            feed(agent, entry, (struct sma_run_event){.kind = kind});
        }
    }
}

static void on_life(struct sma_agent *agent, const struct sma_life *life)
{
    if (life->phase != SMA_PHASE_DRAIN) {
        sma_ctx_life_done(agent->ctx, life->phase);
        return;
    }
    agent->is_draining = true;
    agent->drain_ns = sma_ctx_now(agent->ctx) + AGENT_DRAIN_NS;
    feed_all(agent, SMA_RUN_DRAIN);
    set_wake(agent);
    check_drained(agent);
}

/* What targets refuse, known from before. It comes before the first run. */
static void on_learned(struct sma_agent *agent, const struct sma_learned *learned)
{
    for (uint32_t i = 0; i < learned->fact_count; i++)
        agent_learn(agent, &learned->facts[i]);
}

/* -- MCP servers ------------------------------------------------------------------------------- */
/* For runs that begin from now on; open ones keep what they have. */
static void on_catalogue(struct sma_agent *agent, struct sma_msg *msg)
{
    const struct sma_mcp_catalogue *catalogue = SMA_MSG_BODY(msg, struct sma_mcp_offer)->catalogue;
    const struct sma_mcp_taken taken = {.version = catalogue->version};
    if (sma_run_settings_offer(agent->settings, catalogue) != SMA_ERR_OK)
        sma_ctx_log(agent->ctx, SMA_LOG_ERROR,
                    "what the MCP servers offer is not taken: out of memory");
    struct sma_msg *answer = agent_need(agent, sma_msg_make_mcp_taken(&taken));
    sma_ctx_answer(agent->ctx, msg, &answer);
}

/* A line of a call that is at a server: for who watches. */
static void on_mcp_progress(struct sma_agent *agent, const struct sma_mcp_progress *progress)
{
    struct agent_run *entry = agent_run_find(agent, progress->seq);
    struct sma_str name =
        entry == NULL ? (struct sma_str){0} : sma_run_mcp_name(entry->run, progress->call);
    if (name.len > 0)
        agent_progress(agent, entry, SMA_PROGRESS_TOOL, name, progress->text);
}

/* A server asks people something: the run puts it into its chat. */
static void on_mcp_elicit(struct sma_agent *agent, struct sma_msg **msg)
{
    uint64_t seq = SMA_MSG_BODY(*msg, struct sma_mcp_elicit)->seq;
    struct agent_run *entry = agent_run_find(agent, seq);
    const struct sma_mcp_elicit *asked = agent_elicit_keep(agent, entry, msg);
    if (asked == NULL)
        return;
    feed(agent, entry,
         (struct sma_run_event){.kind = SMA_RUN_ELICIT, .call = asked->call, .elicit = asked});
    set_wake(agent);
}

/* A server wants the model asked in a call of a run. */
static void on_mcp_sample(struct sma_agent *agent, struct sma_msg **msg)
{
    uint64_t seq = SMA_MSG_BODY(*msg, struct sma_mcp_sample)->seq;
    agent_sample_ask(agent, agent_run_find(agent, seq), msg);
    set_wake(agent);
}

/* Open runs finish with the configuration they began with. Sessions stay: each turn is made to fit
 * whoever is asked. */
static void on_reload(struct sma_agent *agent, const struct sma_reload *reload)
{
    struct sma_run_settings *settings;
    enum sma_err err = sma_run_settings_create(reload->config, agent->settings, &settings);
    if (err != SMA_ERR_OK) {
        sma_ctx_log(agent->ctx, SMA_LOG_ERROR, "the new configuration is not used by the agent: %s",
                    sma_err_text(err));
        return;
    }
    struct sma_run_settings *before = agent->settings;
    agent->settings = settings;
    agent->config = reload->config;
    for (uint32_t i = 0; i < agent->learned_count; i++)
        agent_learn_by(settings, &agent->learned[i]);
    if (before->use_count == 0)
        sma_run_settings_destroy(before);
}

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct sma_agent *agent = state;
    SMA_ASSERT(agent->magic == AGENT_MAGIC);
    agent->ctx = ctx;
    switch ((*msg)->kind) {
    case SMA_MSG_LIFE:
        on_life(agent, SMA_MSG_BODY(*msg, struct sma_life));
        break;
    case SMA_MSG_RELOAD:
        on_reload(agent, SMA_MSG_BODY(*msg, struct sma_reload));
        break;
    case SMA_MSG_RUN:
        on_run(agent, msg);
        break;
    case SMA_MSG_STEER:
        on_steer(agent, msg);
        break;
    case SMA_MSG_LEARNED:
        on_learned(agent, SMA_MSG_BODY(*msg, struct sma_learned));
        break;
    case SMA_MSG_EXTRACT:
        agent_extract_on_order(agent, msg);
        break;
    case SMA_MSG_JUDGE:
        agent_judge_on_answer(agent, msg);
        break;
    case SMA_MSG_MCP_CATALOGUE:
        on_catalogue(agent, *msg);
        break;
    case SMA_MSG_MCP_PROGRESS:
        on_mcp_progress(agent, SMA_MSG_BODY(*msg, struct sma_mcp_progress));
        break;
    case SMA_MSG_MCP_ELICIT:
        on_mcp_elicit(agent, msg);
        break;
    case SMA_MSG_MCP_SAMPLE:
        on_mcp_sample(agent, msg);
        break;
    case SMA_MSG_CONTROL:
        on_control(agent, SMA_MSG_BODY(*msg, struct sma_control_order));
        break;
    case SMA_MSG_MODEL_DELTA:
        on_delta(agent, SMA_MSG_BODY(*msg, struct sma_model_delta));
        break;
    default:
        if ((*msg)->ask_id != 0)
            on_answer(agent, *msg);
        break;
    }
    finish_message(agent);
}

static void wake(void *state, struct sma_ctx *ctx)
{
    struct sma_agent *agent = state;
    agent->ctx = ctx;
    uint64_t now = sma_ctx_now(ctx);
    while (agent->retry_first != NULL && agent->retry_first->retry_ns <= now) {
        struct agent_run *entry = agent->retry_first;
        agent_retry_remove(agent, entry);
        feed(agent, entry, (struct sma_run_event){.kind = SMA_RUN_RETRY});
    }
    uint64_t seq;
    uint32_t call;
    while (agent_elicit_take_due(agent, now, &seq, &call)) {
        struct agent_run *entry = agent_run_find(agent, seq);
        if (entry != NULL)
            feed(agent, entry, (struct sma_run_event){.kind = SMA_RUN_ELICIT_END, .call = call});
    }
    if (agent->drain_ns != 0 && agent->drain_ns <= now) {
        agent->drain_ns = 0;
        agent_judge_hurry(agent);
        feed_all(agent, SMA_RUN_DRAIN_HARD);
    }
    finish_message(agent);
    set_wake(agent);
}

const struct sma_actor_ops sma_agent_actor_ops = {
    .name = "agent", .start = start, .handle = handle, .wake = wake};
