/* agent_world.c — see agent_world.h. */
#include "unit/agent/agent_world.h"

uint64_t roll(struct world *world, uint64_t below)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return world->random % below;
}

/* -- the fakes --------------------------------------------------------------------------------- */
static void answer_step(struct world *world, const struct sma_msg *question, struct sma_ctx *ctx)
{
    const struct sma_step *step =
        SMA_MSG_BODY((struct sma_msg *)(uintptr_t)question, struct sma_step);
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_STEP_DONE, struct sma_step_done,
                    step->delivery_count * sizeof(struct sma_step_delivery_state) + 16);
    struct sma_step_done *body = SMA_MSG_BODY(msg, struct sma_step_done);
    body->seq = step->seq;
    if (world->is_weather && world->run_states[step->seq] != WEATHER_OPEN) {
        body->verdict = SMA_STEP_STOPPED;
    } else if (world->no_disk_left > 0) {
        world->no_disk_left--;
        body->verdict = SMA_STEP_NO_DISK; /* without a number, as a store may */
    } else {
        world->step_count++;
        if (step->request_json.len > 0) {
            world->parked_count++;
            body->verdict = SMA_STEP_PARKED;
        }
        if (step->delivery_count > 0)
            snprintf(world->last_sent, sizeof world->last_sent, "%s", step->deliveries[0].text.ptr);
        body->number = step->number;
        body->delivery_count = step->delivery_count;
        body->deliveries = sma_msg_space(msg, step->delivery_count * sizeof *body->deliveries);
        for (uint32_t i = 0; i < step->delivery_count; i++)
            body->deliveries[i] = (struct sma_step_delivery_state){.step = step->number,
                                                                   .call = step->deliveries[i].call,
                                                                   .outbox_id = step->seq * 100 + i,
                                                                   .state = SMA_DELIVERY_BEGUN};
    }
    sma_ctx_answer(ctx, question, &msg);
}

static void answer_done(struct world *world, const struct sma_msg *question, struct sma_ctx *ctx)
{
    const struct sma_done *done =
        SMA_MSG_BODY((struct sma_msg *)(uintptr_t)question, struct sma_done);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DONE_DONE, struct sma_step_done, 0);
    uint8_t verdict = world->verdict;
    if (world->is_weather) {
        verdict =
            world->run_states[done->seq] == WEATHER_OPEN ? SMA_STEP_DURABLE : SMA_STEP_STOPPED;
        if (verdict == SMA_STEP_DURABLE && roll(world, 10) == 0)
            verdict = SMA_STEP_NO_DISK;
        if (verdict == SMA_STEP_DURABLE)
            world->run_states[done->seq] = WEATHER_DONE;
    }
    SMA_MSG_BODY(msg, struct sma_step_done)->verdict = verdict;
    SMA_MSG_BODY(msg, struct sma_step_done)->seq = done->seq;
    sma_ctx_answer(ctx, question, &msg);
}

static void store_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct world *world = state;
    struct sma_msg *answer;
    switch ((*msg)->kind) {
    case SMA_MSG_STEP:
        answer_step(world, *msg, ctx);
        break;
    case SMA_MSG_DONE: {
        const struct sma_done *done = SMA_MSG_BODY(*msg, struct sma_done);
        world->done_count++;
        world->last_done_seq = done->seq;
        world->last_outcome = done->outcome;
        snprintf(world->last_text, sizeof world->last_text, "%s",
                 done->delivery_count > 0 ? done->deliveries[0].text.ptr : "");
        if (world->is_done_held && world->held_done == NULL)
            world->held_done = SMA_TAKE(*msg);
        else
            answer_done(world, *msg, ctx);
        break;
    }
    case SMA_MSG_JUDGED:
        world->judged = *SMA_MSG_BODY(*msg, struct sma_judged);
        snprintf(world->judged_response, sizeof world->judged_response, "%s",
                 world->judged.response.ptr);
        CHECK_STR("a1", world->judged.approval_id);
        answer = SMA_MSG_NEW(SMA_MSG_JUDGED_DONE, struct sma_step_done, 0);
        if (world->judged_no_disk_left > 0) {
            world->judged_no_disk_left--;
            SMA_MSG_BODY(answer, struct sma_step_done)->verdict = SMA_STEP_NO_DISK;
        } else {
            world->judged_count++;
        }
        sma_ctx_answer(ctx, *msg, &answer);
        break;
    case SMA_MSG_SPENT: {
        const struct sma_spent *spent = SMA_MSG_BODY(*msg, struct sma_spent);
        world->spent_count++;
        world->spent_seq = spent->seq;
        world->spent_input = spent->usage.input;
        snprintf(world->spent_target, sizeof world->spent_target, "%.*s", (int)spent->target.len,
                 spent->target.ptr);
        break;
    }
    case SMA_MSG_HISTORY:
        answer = SMA_MSG_NEW(SMA_MSG_HISTORY_LINES, struct sma_history_lines, 0);
        sma_ctx_answer(ctx, *msg, &answer);
        break;
    case SMA_MSG_CONTACT:
        answer = SMA_MSG_NEW(SMA_MSG_CONTACT_RESULT, struct sma_contact_result, 0);
        sma_ctx_answer(ctx, *msg, &answer);
        break;
    case SMA_MSG_SESSION:
        world->session_count++;
        if (world->is_session_held && world->held_session == NULL) {
            world->held_session = SMA_TAKE(*msg);
            break;
        }
        answer = SMA_MSG_NEW(SMA_MSG_SESSION_TURNS, struct sma_session_turns, 0);
        sma_ctx_answer(ctx, *msg, &answer);
        break;
    default:
        break;
    }
}

void answer_model(struct world *world, const struct sma_msg *question, struct sma_ctx *ctx,
                  uint8_t status)
{
    const struct sma_model_ask *ask =
        SMA_MSG_BODY((struct sma_msg *)(uintptr_t)question, struct sma_model_ask);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_MODEL_ANSWER, struct sma_model_answer, 4096);
    struct sma_model_answer *body = SMA_MSG_BODY(msg, struct sma_model_answer);
    body->seq = ask->seq;
    body->status = status;
    if (status == SMA_MODEL_CANCELLED)
        body->usage = (struct sma_usage){.request_count = 1, .input = 7};
    if (world->is_weather && status == SMA_MODEL_OK) {
        uint64_t luck = roll(world, 12);
        body->status = luck == 0   ? SMA_MODEL_FAILED
                       : luck == 1 ? SMA_MODEL_CONTEXT_LENGTH
                                   : SMA_MODEL_OK;
        world->sends_per_run = (uint32_t)roll(world, 4);
        world->shells_per_run = (uint32_t)roll(world, 3);
    }
    bool has_calls = (ask->round == 0 || (world->is_weather && ask->round < 4)) &&
                     world->sends_per_run > 0 && world->model_text == NULL;
    body->finish = has_calls ? SMA_FINISH_TOOLS : SMA_FINISH_STOP;
    if (status == SMA_MODEL_FAILED && world->refused_member != NULL) {
        body->trouble = SMA_MODEL_FAILURE_MEMBER;
        body->refused_member = sma_str(world->refused_member);
    }
    body->fragment = SMA_STR("{\"role\":\"assistant\",\"content\":\"f\"}");
    body->text = has_calls                   ? SMA_STR("")
                 : world->model_text != NULL ? sma_str(world->model_text)
                                             : SMA_STR("final");
    if (has_calls) {
        body->call_count = world->sends_per_run;
        body->calls = sma_msg_space(msg, world->sends_per_run * sizeof *body->calls);
        for (uint32_t i = 0; i < world->sends_per_run; i++)
            body->calls[i] =
                world->called != NULL
                    ? (struct sma_model_call){.id = SMA_STR("c"),
                                              .name = sma_str(world->called),
                                              .arguments = SMA_STR("{\"path\":\"a\"}")}
                : i < world->shells_per_run
                    ? (struct sma_model_call){.id = SMA_STR("c"),
                                              .name = SMA_STR("exec_shell"),
                                              .arguments = SMA_STR("{\"command\":\"make\"}")}
                : world->is_weather && roll(world, 2) == 0
                    ? (struct sma_model_call){.id = SMA_STR("c"),
                                              .name = SMA_STR("chat_load_history"),
                                              .arguments = SMA_STR("{}")}
                    : (struct sma_model_call){.id = SMA_STR("c"),
                                              .name = SMA_STR("chat_send"),
                                              .arguments = i % 2 == 0 /* no text twice in a row */
                                                               ? SMA_STR("{\"text\":\"t\"}")
                                                               : SMA_STR("{\"text\":\"u\"}")};
    }
    sma_ctx_answer(ctx, question, &msg);
}

static void model_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct world *world = state;
    if ((*msg)->kind == SMA_MSG_MODEL_CANCEL) {
        world->cancel_count++;
        uint64_t id = SMA_MSG_BODY(*msg, struct sma_model_cancel)->ask_id;
        for (uint32_t i = 0; i < world->held_count; i++) {
            if (world->held[i] == NULL || world->held[i]->ask_id != id)
                continue;
            answer_model(world, world->held[i], ctx, SMA_MODEL_CANCELLED);
            sma_msg_destroyp(&world->held[i]);
        }
        return;
    }
    if ((*msg)->kind != SMA_MSG_MODEL)
        return;
    const struct sma_model_ask *ask = SMA_MSG_BODY(*msg, struct sma_model_ask);
    CHECK(ask->turn_offset < ask->turn_end && ask->turn_end < ask->body.len);
    world->model_count++;
    free(world->last_request);
    world->last_request = strndup(ask->body.ptr, ask->body.len);
    if (world->is_model_held)
        world->held[world->held_count++] = SMA_TAKE(*msg);
    else
        answer_model(world, *msg, ctx, SMA_MODEL_OK);
}

static void dispatcher_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct world *world = state;
    if ((*msg)->kind == SMA_MSG_PROGRESS) {
        const struct sma_progress *progress = SMA_MSG_BODY(*msg, struct sma_progress);
        world->progress[progress->kind]++;
        if (progress->kind == SMA_PROGRESS_TEXT)
            snprintf(world->last_progress, sizeof world->last_progress, "%s", progress->text.ptr);
        if (progress->kind == SMA_PROGRESS_TOOL)
            snprintf(world->last_detail, sizeof world->last_detail, "%.*s: %.*s",
                     (int)progress->text.len, progress->text.ptr, (int)progress->detail.len,
                     progress->detail.ptr);
        return;
    }
    if ((*msg)->kind != SMA_MSG_SEND)
        return;
    const struct sma_send *send = SMA_MSG_BODY(*msg, struct sma_send);
    world->send_count++;
    world->is_send_before_step |= world->step_count == 0;
    world->send_wait_ns = (*msg)->deadline_ns - sma_ctx_now(ctx);
    struct sma_msg *answer = SMA_MSG_NEW(SMA_MSG_SEND_RESULT, struct sma_send_result, 0);
    *SMA_MSG_BODY(answer, struct sma_send_result) =
        (struct sma_send_result){send->seq, send->outbox_id, SMA_SEND_SENT, {0}};
    sma_ctx_answer(ctx, *msg, &answer);
}

static void tools_rule(void *user, const struct sma_tool_ask *ask, struct fake_tool_plan *plan)
{
    struct world *world = user;
    if (world->is_weather) {
        uint64_t luck = roll(world, 8);
        plan->verdict = luck == 0 ? SMA_TOOL_REFUSED : SMA_TOOL_ALLOWED;
        plan->delay_ns = luck < 4 ? roll(world, 5) * SMA_NS_PER_S : 0;
    } else {
        *plan = world->tool_plan;
        if (ask->mode == SMA_TOOL_CHECK) /* only what runs takes its time */
            plan->is_held = false;
    }
    world->tool_check_count += ask->mode == SMA_TOOL_CHECK;
    if (ask->grant_count > 0)
        snprintf(world->last_rule, sizeof world->last_rule, "%s", ask->grants[0].rule.ptr);
    CHECK_STR("exec_shell", ask->name);
    CHECK_STR("{\"command\":\"make\"}", ask->arguments);
}

static void tools_run(void *user, const struct sma_tool_ask *ask)
{
    struct world *world = user;
    world->tool_run_count++;
    CHECK(world->step_count > 0);
    CHECK(!world->is_weather || ask->seq <= WEATHER_RUN_COUNT);
}

static const struct sma_actor_ops store_ops = {.name = "store", .handle = store_handle};
static const struct sma_actor_ops model_ops = {.name = "model", .handle = model_handle};
static const struct sma_actor_ops dispatcher_ops = {.name = "dispatcher",
                                                    .handle = dispatcher_handle};

/* -- the world --------------------------------------------------------------------------------- */
static const struct sma_actor_ops *mcp_ops;
static void *mcp_state;

void world_init_mcp(struct world *world, const struct sma_actor_ops *mcp, void *state)
{
    mcp_ops = mcp;
    mcp_state = state;
    world_init(world, 1);
    mcp_ops = NULL;
}

void world_init_with(struct world *world, uint64_t seed, const struct sma_actor_ops *model,
                     bool has_tools)
{
    *world = (struct world){.sends_per_run = 1};
    world->config = (struct sma_config){.project_dir = "/p",
                                        .agent_md = "bot",
                                        .language = SMA_LANGUAGE_EN,
                                        .permissions_json = "{\"mcp\":{\"allow\":[\"files:*\"]}}",
                                        .llm = {.api = SMA_LLM_OFFLINE,
                                                .provider = "offline",
                                                .model = "",
                                                .base_url = "",
                                                .api_key = "",
                                                .anthropic_version = ""}};
    struct sma_error error;
    CHECK_OK(sma_agent_create(&world->config, NULL, 0, &world->agent, &error));
    world->system =
        sma_system_create(&(struct sma_system_options){.is_simulated = true, .seed = seed});
    CHECK(world->system != NULL);
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_STORE, &store_ops, world));
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_DISPATCHER, &dispatcher_ops, world));
    struct sma_error ignored;
    if (model != NULL)
        CHECK_OK(sma_model_create(&world->config, &world->offline, &ignored));
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_MODEL, model != NULL ? model : &model_ops,
                            model != NULL ? (void *)world->offline : world));
    if (has_tools) {
        world->tools = fake_tools_create(
            &(struct fake_tools_options){.rule = tools_rule, .on_run = tools_run, .user = world});
        CHECK_OK(sma_system_add(world->system, SMA_ACTOR_TOOLS, &fake_tools_ops, world->tools));
    }
    if (mcp_ops != NULL)
        CHECK_OK(sma_system_add(world->system, SMA_ACTOR_MCP, mcp_ops, mcp_state));
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_AGENT, &sma_agent_actor_ops, world->agent));
    CHECK_OK(sma_system_start(world->system, &error));
}

void world_init(struct world *world, uint64_t seed)
{
    world_init_with(world, seed, NULL, true);
}

void world_fini(struct world *world)
{
    for (uint32_t i = 0; i < world->held_count; i++)
        sma_msg_destroy(world->held[i]);
    sma_msg_destroy(world->held_done);
    sma_msg_destroy(world->held_session);
    sma_system_destroy(world->system);
    sma_agent_destroy(world->agent);
    fake_tools_destroy(world->tools);
    sma_model_destroy(world->offline);
    free(world->last_request);
}

void rest(struct world *world)
{
    for (int i = 0; i < 4000000; i++) {
        if (!sma_sim_step(world->system))
            return;
    }
    CHECK(false); /* an agent that never comes to rest */
}

void settle_until(struct world *world, uint64_t ns)
{
    (void)sma_sim_run(world->system, 1000000, sma_sim_now(world->system) + ns);
}

void hand_out(struct world *world, uint64_t seq, const char *chat, bool has_past)
{
    struct sma_route route = {.adapter = SMA_ACTOR_ADAPTER_0,
                              .channel = SMA_STR("cli"),
                              .chat_key = sma_str(chat),
                              .chat_id = sma_str(chat),
                              .message_id = SMA_STR("m")};
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_RUN, struct sma_run_order, sma_route_space(&route) + 300);
    struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    order->seq = seq;
    order->route = sma_route_dup(msg, &route);
    char text[40];
    snprintf(text, sizeof text, "question %llu", (unsigned long long)seq);
    order->text = sma_msg_dup(msg, sma_str(text));
    order->has_past = has_past;
    order->attempt = 1;
    order->standing = SMA_STANDING_OWNER;
    order->grant_count = 1;
    order->grants = sma_msg_space(msg, sizeof *order->grants);
    order->grants[0] = (struct sma_grant){.id = sma_msg_dup(msg, SMA_STR("g")),
                                          .tool = sma_msg_dup(msg, SMA_STR("exec_shell")),
                                          .rule = sma_msg_dup(msg, SMA_STR("git status"))};
    CHECK_OK(sma_ctx_send(sma_system_ctx(world->system, SMA_ACTOR_STORE), SMA_ACTOR_AGENT, &msg));
}

void control(struct world *world, uint8_t kind, uint64_t mark, const char *chat)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_CONTROL, struct sma_control_order, 100);
    struct sma_control_order *order = SMA_MSG_BODY(msg, struct sma_control_order);
    order->control = kind;
    order->mark_seq = mark;
    order->chat_key = sma_msg_dup(msg, sma_str(chat));
    CHECK_OK(sma_ctx_send(sma_system_ctx(world->system, SMA_ACTOR_STORE), SMA_ACTOR_AGENT, &msg));
}
