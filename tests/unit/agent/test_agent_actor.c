/*
 * Aim: the agent actor with real messages: order of effects, many runs at once, bounds, stop and clear, disk full,
 * draining, rest. Method: the seeded scheduler with a fake store, model and dispatcher.
 */
#include "runtime/approval/request.h"
#include "sma/actors.h"
#include "sma/messages.h"
#include "sma/metrics.h"
#include "sma/sim.h"
#include "support/check.h"
#include "support/fake_tools.h"

#include <stdio.h>

#define NS_PER_S UINT64_C(1000000000)
#define SENDS_PER_RUN 8

#define WEATHER_RUN_COUNT 60
#define WEATHER_CHAT_COUNT 4

enum weather_run
{
    WEATHER_WAITING,
    WEATHER_OPEN,
    WEATHER_DONE,
    WEATHER_STOPPED,
};

struct world
{
    struct sma_system *system;
    struct sma_config config;
    struct sma_agent *agent;
    struct sma_model *offline; /* the real one, in one case */

    /* store */
    uint32_t step_count, done_count, no_disk_left, session_count;
    uint64_t last_done_seq;
    uint8_t last_outcome, verdict;
    char last_text[1000], last_sent[1000];
    bool is_done_held, is_session_held;
    struct sma_msg *held_done, *held_session;

    /* model */
    bool is_model_held;
    struct sma_msg *held[80];
    uint32_t held_count, model_count, cancel_count;
    char *last_request;
    uint32_t sends_per_run;

    /* weather: everything that can go wrong does, by a seed */
    bool is_weather;
    uint64_t random;
    uint8_t run_states[WEATHER_RUN_COUNT + 1]; /* enum weather_run */

    /* tools; the model calls exec_shell instead of chat_send */
    struct fake_tools *tools;
    struct fake_tool_plan tool_plan;
    uint32_t tool_run_count, tool_check_count, shells_per_run, parked_count;
    char last_rule[100];

    /* judge */
    uint32_t judged_count, judged_no_disk_left;
    struct sma_judged judged;
    char judged_response[200];
    const char *model_text; /* what the model says without calls; NULL: "final" */

    /* dispatcher */
    uint32_t send_count, send_open, send_open_max, progress[4];
    uint64_t send_wait_ns;
    bool is_send_before_step;
    char last_progress[100];
};

static uint64_t roll(struct world *world, uint64_t below)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return world->random % below;
}

/* -- the fakes ---------------------------------------------------------------------------------------------------- */
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

static void answer_model(struct world *world, const struct sma_msg *question, struct sma_ctx *ctx,
                         uint8_t status)
{
    const struct sma_model_ask *ask =
        SMA_MSG_BODY((struct sma_msg *)(uintptr_t)question, struct sma_model_ask);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_MODEL_ANSWER, struct sma_model_answer, 4096);
    struct sma_model_answer *body = SMA_MSG_BODY(msg, struct sma_model_answer);
    body->seq = ask->seq;
    body->status = status;
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
    body->fragment = SMA_STR("{\"role\":\"assistant\",\"content\":\"f\"}");
    body->text = has_calls                   ? SMA_STR("")
                 : world->model_text != NULL ? sma_str(world->model_text)
                                             : SMA_STR("final");
    if (has_calls) {
        body->call_count = world->sends_per_run;
        body->calls = sma_msg_space(msg, world->sends_per_run * sizeof *body->calls);
        for (uint32_t i = 0; i < world->sends_per_run; i++)
            body->calls[i] =
                i < world->shells_per_run
                    ? (struct sma_model_call){SMA_STR("c"), SMA_STR("exec_shell"),
                                              SMA_STR("{\"command\":\"make\"}"), false}
                : world->is_weather && roll(world, 2) == 0
                    ? (struct sma_model_call){SMA_STR("c"), SMA_STR("chat_load_history"),
                                              SMA_STR("{}"), false}
                    : (struct sma_model_call){SMA_STR("c"), SMA_STR("chat_send"),
                                              SMA_STR("{\"text\":\"t\"}"), false};
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
        plan->delay_ns = luck < 4 ? roll(world, 5) * NS_PER_S : 0;
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

/* -- the world ---------------------------------------------------------------------------------------------------- */
static void world_init_with(struct world *world, uint64_t seed, const struct sma_actor_ops *model,
                            bool has_tools)
{
    *world = (struct world){.sends_per_run = 1};
    world->config = (struct sma_config){.project_dir = "/p",
                                        .agent_md = "bot",
                                        .language = SMA_LANGUAGE_EN,
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
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_AGENT, &sma_agent_actor_ops, world->agent));
    CHECK_OK(sma_system_start(world->system, &error));
}

static void world_init(struct world *world, uint64_t seed)
{
    world_init_with(world, seed, NULL, true);
}

static void world_fini(struct world *world)
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

static void rest(struct world *world)
{
    for (int i = 0; i < 4000000; i++) {
        if (!sma_sim_step(world->system))
            return;
    }
    CHECK(false); /* an agent that never comes to rest */
}

static void settle_until(struct world *world, uint64_t ns)
{
    (void)sma_sim_run(world->system, 1000000, sma_sim_now(world->system) + ns);
}

static void hand_out(struct world *world, uint64_t seq, const char *chat, bool has_past)
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

static void control(struct world *world, uint8_t kind, uint64_t mark, const char *chat)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_CONTROL, struct sma_control_order, 100);
    struct sma_control_order *order = SMA_MSG_BODY(msg, struct sma_control_order);
    order->control = kind;
    order->mark_seq = mark;
    order->chat_key = sma_msg_dup(msg, sma_str(chat));
    CHECK_OK(sma_ctx_send(sma_system_ctx(world->system, SMA_ACTOR_STORE), SMA_ACTOR_AGENT, &msg));
}

/* -- cases -------------------------------------------------------------------------------------------------------- */
static void one_message_through_the_tool_loop(void)
{
    struct world w;
    world_init(&w, 1);
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK_INT(2, w.model_count);
    CHECK_INT(2, w.step_count);
    CHECK_INT(1, w.send_count);
    CHECK(!w.is_send_before_step);
    CHECK_INT(1, w.done_count);
    CHECK_TEXT("", w.last_text); /* delivered by chat_send */
    CHECK_INT(1, w.progress[SMA_PROGRESS_STARTED]);
    CHECK_INT(1, w.progress[SMA_PROGRESS_TOOL]);
    CHECK_INT(1, w.progress[SMA_PROGRESS_FINISHED]);
    CHECK(strstr(w.last_request, "question 1") != NULL);
    CHECK(!sma_sim_step(w.system)); /* at rest, no timer */
    world_fini(&w);
}

/* A slow platform holds a slot for as long as others need none. */
static void a_receipt_is_waited_for_shortly_while_every_slot_is_taken(void)
{
    struct world w;
    world_init(&w, 1);
    w.config.agent_concurrency = 2;
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK(w.send_wait_ns > (SMA_SEND_WAIT_S - 1) * NS_PER_S);
    w.is_model_held = true;
    hand_out(&w, 2, "c", false);
    rest(&w);
    w.is_model_held = false;
    hand_out(&w, 3, "d", false);
    rest(&w);
    CHECK(w.send_wait_ns > 0 && w.send_wait_ns <= 5 * NS_PER_S);
    CHECK_INT(2, w.done_count);
    world_fini(&w);
}

static uint64_t play_many(uint64_t seed, uint32_t runs, uint32_t sends)
{
    struct world w;
    world_init(&w, seed);
    w.sends_per_run = sends;
    char chat[20];
    for (uint32_t i = 1; i <= runs; i++) {
        snprintf(chat, sizeof chat, "chat%u", i);
        hand_out(&w, i, chat, i % 3 == 0);
    }
    rest(&w);
    CHECK_INT(runs, w.done_count);
    CHECK_INT(2 * runs, w.model_count);
    CHECK_INT(sends * runs, w.send_count);
    CHECK_INT(2 * runs, w.step_count);
    CHECK_INT(runs / 3, w.session_count);
    uint64_t hash = sma_sim_trace_hash(w.system);
    world_fini(&w);
    return hash;
}

static void a_thousand_runs_at_once_stay_inside_the_bounds(void)
{
    /* 1024 * 8 sends are twice what the edge holds: the rest waits its turn. */
    (void)play_many(3, SMA_CONCURRENCY_MAX, SENDS_PER_RUN);
}

static void the_same_seed_gives_the_same_trace(void)
{
    CHECK(play_many(7, 50, 3) == play_many(7, 50, 3));
    CHECK(play_many(7, 50, 3) != play_many(8, 50, 3));
}

static void the_next_run_sees_the_turn_before_its_done_is_durable(void)
{
    struct world w;
    world_init(&w, 1);
    w.sends_per_run = 0;
    w.is_done_held = true;
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK(w.held_done != NULL);
    hand_out(&w, 2, "c", true);
    rest(&w);
    CHECK_INT(2, w.model_count);
    CHECK_INT(0, w.session_count);
    const char *first = strstr(w.last_request, "question 1");
    CHECK(first != NULL && strstr(first, "question 2") != NULL);
    world_fini(&w);
}

static void stop_cancels_at_once_and_the_late_answer_is_nothing(void)
{
    struct world w;
    world_init(&w, 1);
    w.is_model_held = true;
    hand_out(&w, 1, "c", false);
    hand_out(&w, 2, "d", false);
    rest(&w);
    CHECK_INT(2, w.held_count);
    control(&w, SMA_CONTROL_STOP, 5, "c");
    control(&w, SMA_CONTROL_STOP, 5, "unknown chat");
    rest(&w);
    CHECK_INT(1, w.cancel_count);
    CHECK_INT(0, w.done_count);
    CHECK_INT(1, w.progress[SMA_PROGRESS_FINISHED]);
    w.is_model_held = false;
    hand_out(&w, 6, "c", false); /* accepted later: runs */
    rest(&w);
    CHECK_INT(1, w.done_count);
    CHECK_INT(6, w.last_done_seq);
    world_fini(&w);
}

static void clear_drops_the_session_under_a_later_run(void)
{
    struct world w;
    world_init(&w, 1);
    w.sends_per_run = 0;
    hand_out(&w, 1, "c", false);
    rest(&w);
    w.is_model_held = true;
    hand_out(&w, 3, "c",
             true); /* handed out in the batch that holds the clear (2), before its order came */
    rest(&w);
    CHECK(strstr(w.last_request, "question 1") != NULL);
    control(&w, SMA_CONTROL_CLEAR, 2, "c");
    rest(&w);
    CHECK_INT(1, w.cancel_count);
    CHECK_INT(3, w.model_count);
    CHECK(strstr(w.last_request, "question 1") == NULL);
    CHECK(strstr(w.last_request, "question 3") != NULL);
    control(&w, SMA_CONTROL_CLEAR, 4, "c"); /* and now the run itself */
    rest(&w);
    CHECK_INT(2, w.cancel_count);
    CHECK_INT(1, w.done_count);
    world_fini(&w);
}

static void a_stopped_turn_does_not_stay_in_the_session(void)
{
    struct world w;
    world_init(&w, 1);
    w.sends_per_run = 0;
    w.verdict = SMA_STEP_STOPPED;
    hand_out(&w, 1, "c", false);
    rest(&w);
    w.verdict = SMA_STEP_DURABLE;
    hand_out(&w, 2, "c", false);
    rest(&w);
    CHECK(strstr(w.last_request, "question 1") == NULL);
    world_fini(&w);
}

static void without_disk_the_step_is_asked_again_each_second(void)
{
    struct world w;
    world_init(&w, 1);
    w.no_disk_left = 3;
    hand_out(&w, 1, "c", false);
    settle_until(&w, NS_PER_S / 2);
    CHECK_INT(0, w.send_count);
    uint64_t start = sma_sim_now(w.system);
    rest(&w);
    CHECK(sma_sim_now(w.system) >= start + 2 * NS_PER_S);
    CHECK_INT(1, w.send_count);
    CHECK_INT(1, w.done_count);
    world_fini(&w);
}

static void draining_waits_three_seconds_for_the_model(void)
{
    struct world w;
    world_init(&w, 1);
    w.is_model_held = true;
    hand_out(&w, 1, "c", false);
    rest(&w);
    sma_sim_life(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN);
    settle_until(&w, NS_PER_S);
    CHECK(!sma_sim_life_is_done(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN));
    CHECK_INT(0, w.cancel_count);
    rest(&w);
    CHECK(sma_sim_life_is_done(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN));
    CHECK_INT(1, w.cancel_count);
    CHECK_INT(0, w.done_count); /* it stays where it is, in the store */
    hand_out(&w, 2, "d", false);
    rest(&w);
    CHECK_INT(1, w.model_count);
    world_fini(&w);

    world_init(&w, 1); /* nothing to do: at once */
    sma_sim_life(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN);
    rest(&w);
    CHECK(sma_sim_life_is_done(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN));
    world_fini(&w);
}

static void deltas_become_progress(void)
{
    struct world w;
    world_init(&w, 1);
    w.is_model_held = true;
    hand_out(&w, 1, "c", false);
    rest(&w);
    for (int i = 0; i < 2; i++) { /* the second is of no open run */
        struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_MODEL_DELTA, struct sma_model_delta, 100);
        SMA_MSG_BODY(msg, struct sma_model_delta)->seq = (uint64_t)(i == 0 ? 1 : 99);
        SMA_MSG_BODY(msg, struct sma_model_delta)->text = sma_msg_dup(msg, SMA_STR("so far"));
        sma_ctx_signal(sma_system_ctx(w.system, SMA_ACTOR_MODEL), SMA_ACTOR_AGENT, &msg);
        rest(&w);
    }
    CHECK_INT(1, w.progress[SMA_PROGRESS_TEXT]);
    CHECK_TEXT("so far", w.last_progress);
    world_fini(&w);
}

static void a_run_handed_out_again_replaces_the_first(void)
{
    struct world w;
    world_init(&w, 1);
    w.is_model_held = true;
    hand_out(&w, 1, "c", false);
    rest(&w);
    hand_out(&w, 1, "d", false);
    rest(&w);
    CHECK_INT(1, w.cancel_count);
    CHECK_INT(2, w.model_count);
    answer_model(&w, w.held[1], sma_system_ctx(w.system, SMA_ACTOR_MODEL), SMA_MODEL_OK);
    sma_msg_destroyp(&w.held[1]);
    w.is_model_held = false;
    rest(&w);
    CHECK_INT(1, w.done_count);
    world_fini(&w);
}

static void a_new_wire_loads_sessions_again(void)
{
    struct world w;
    world_init(&w, 1);
    w.sends_per_run = 0;
    hand_out(&w, 1, "c", false);
    rest(&w);
    struct sma_config changed = w.config;
    changed.llm.api = SMA_LLM_MESSAGES;
    changed.llm.model = changed.llm.api_key = "x";
    changed.llm.anthropic_version = "2023-06-01";
    sma_system_reload(w.system, &changed);
    rest(&w);
    hand_out(&w, 2, "c", true);
    rest(&w);
    CHECK_INT(1, w.session_count);
    CHECK(strstr(w.last_request, "\"max_tokens\"") != NULL);
    CHECK_INT(2, w.done_count);
    world_fini(&w);
}

static void an_idle_session_goes_with_the_next_activity(void)
{
    struct world w;
    world_init(&w, 1);
    hand_out(&w, 1, "idle", false);
    rest(&w);
    CHECK_INT(1, sma_gauge_get(SMA_GAUGE_sessions));
    sma_sim_advance(w.system, (SMA_SESSION_IDLE_S + 1) * UINT64_C(1000000000));
    hand_out(&w, 2, "new", false);
    rest(&w);
    CHECK_INT(1, sma_gauge_get(SMA_GAUGE_sessions));
    hand_out(&w, 3, "idle", true);
    rest(&w);
    CHECK_INT(1, w.session_count); /* it is loaded again */
    world_fini(&w);
}

static void what_was_loaded_for_the_old_wire_does_not_stay(void)
{
    struct world w;
    world_init(&w, 1);
    w.is_session_held = true;
    hand_out(&w, 1, "c", true);
    rest(&w);
    struct sma_config changed = w.config;
    changed.llm.api = SMA_LLM_MESSAGES;
    changed.llm.model = changed.llm.api_key = "x";
    changed.llm.anthropic_version = "2023-06-01";
    sma_system_reload(w.system, &changed);
    rest(&w);
    w.is_model_held = true;
    struct sma_msg *answer = SMA_MSG_NEW(SMA_MSG_SESSION_TURNS, struct sma_session_turns, 0);
    sma_ctx_answer(sma_system_ctx(w.system, SMA_ACTOR_STORE), w.held_session, &answer);
    rest(&w);
    CHECK_INT(1, w.held_count);
    control(&w, SMA_CONTROL_STOP, 2, "c"); /* it ends without a turn of its own */
    rest(&w);
    hand_out(&w, 3, "c", true);
    rest(&w);
    CHECK_INT(2, w.session_count);
    world_fini(&w);
}

/* The store's part: at most one open run a chat, the next as soon as the last has ended. */
static void weather_hand_out(struct world *w, uint64_t *next_seq, uint64_t *open)
{
    uint64_t chat = roll(w, WEATHER_CHAT_COUNT);
    char name[16];
    snprintf(name, sizeof name, "w%u", (unsigned)chat);
    bool is_busy = open[chat] != 0 && w->run_states[open[chat]] == WEATHER_OPEN;
    if (is_busy &&
        roll(w, 8) == 0) { /* stop or clear: takes a number, ends what was accepted before it */
        w->run_states[open[chat]] = WEATHER_STOPPED;
        control(w, roll(w, 2) == 0 ? SMA_CONTROL_STOP : SMA_CONTROL_CLEAR, *next_seq, name);
        w->run_states[(*next_seq)++] = WEATHER_STOPPED;
    } else if (!is_busy) {
        open[chat] = (*next_seq)++;
        w->run_states[open[chat]] = WEATHER_OPEN;
        hand_out(w, open[chat], name, roll(w, 2) == 0);
    }
}

static void in_any_weather_every_run_ends_once(void)
{
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct world w;
        world_init(&w, seed);
        w.is_weather = true;
        w.random = seed * UINT64_C(0x9E3779B97F4A7C15);
        uint64_t next_seq = 1, open[WEATHER_CHAT_COUNT] = {0};
        while (next_seq < WEATHER_RUN_COUNT) {
            weather_hand_out(&w, &next_seq, open);
            if (roll(&w, 10) == 0)
                w.no_disk_left = 1 + (uint32_t)roll(&w, 3);
            for (uint64_t steps = roll(&w, 30); steps > 0; steps--)
                (void)sma_sim_step(w.system);
        }
        rest(&w);
        for (uint64_t seq = 1; seq < next_seq; seq++)
            CHECK(w.run_states[seq] == WEATHER_DONE || w.run_states[seq] == WEATHER_STOPPED);
        sma_sim_life(w.system, SMA_ACTOR_AGENT,
                     SMA_PHASE_DRAIN); /* nothing is left inside: done at once */
        uint64_t before = sma_sim_now(w.system);
        rest(&w);
        CHECK(sma_sim_life_is_done(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN));
        CHECK(sma_sim_now(w.system) < before + NS_PER_S);
        world_fini(&w);
    }
}

/* -- tools -------------------------------------------------------------------------------------------------------- */
static void a_command_is_checked_stored_and_run(void)
{
    struct world w;
    world_init(&w, 1);
    w.sends_per_run = 3;
    w.shells_per_run = 2;
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK_INT(2, w.tool_check_count);
    CHECK_INT(2, w.tool_run_count);
    CHECK_INT(1, w.send_count);
    CHECK_INT(1, w.done_count);
    CHECK_INT(3, w.progress[SMA_PROGRESS_TOOL]);
    CHECK_TEXT("git status", w.last_rule);
    CHECK(strstr(w.last_request, "{\\\"success\\\":true}") != NULL);
    world_fini(&w);
}

static void a_run_that_waits_for_people_is_over(void)
{
    struct world w;
    world_init(&w, 1);
    w.shells_per_run = 1;
    w.tool_plan.verdict = SMA_TOOL_ASKS;
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK_INT(1, w.parked_count);
    CHECK_INT(0, w.done_count);
    CHECK_INT(0, w.tool_run_count);
    CHECK_INT(1, w.progress[SMA_PROGRESS_FINISHED]);
    sma_sim_advance(w.system, (SMA_SESSION_IDLE_S + 1) * NS_PER_S);
    w.tool_plan.verdict = SMA_TOOL_ALLOWED;
    hand_out(&w, 2, "d", false); /* its session is not held either */
    rest(&w);
    CHECK_INT(1, sma_gauge_get(SMA_GAUGE_sessions));
    sma_sim_life(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN);
    rest(&w);
    CHECK(sma_sim_life_is_done(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN));
    world_fini(&w);
}

static void stop_and_drain_end_what_runs(void)
{
    for (int is_drain = 0; is_drain < 2; is_drain++) {
        struct world w;
        world_init(&w, 1);
        w.shells_per_run = 1;
        w.tool_plan.is_held = true;
        hand_out(&w, 1, "c", false);
        rest(&w);
        CHECK_INT(1, fake_tools_open_count(w.tools));
        if (is_drain)
            sma_sim_life(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN);
        else
            control(&w, SMA_CONTROL_STOP, 2, "c");
        settle_until(&w, NS_PER_S);
        CHECK_INT(is_drain, fake_tools_open_count(w.tools)); /* draining waits a while */
        rest(&w);
        CHECK_INT(0, fake_tools_open_count(w.tools)); /* and its late answer is nothing */
        CHECK_INT(0, w.done_count);
        CHECK_INT(is_drain, sma_sim_life_is_done(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN));
        world_fini(&w);
    }
}

static void more_calls_than_the_edge_holds_wait_their_turn(void)
{
    struct world w;
    world_init(&w, 1);
    w.sends_per_run = w.shells_per_run = 8;
    w.tool_plan.delay_ns = NS_PER_S;
    char chat[20];
    for (uint32_t i = 1; i <= 300; i++) { /* 300 * 8 calls, 2048 places */
        snprintf(chat, sizeof chat, "chat%u", i);
        hand_out(&w, i, chat, false);
    }
    rest(&w);
    CHECK_INT(300, w.done_count);
    CHECK_INT(2400, w.tool_run_count);
    world_fini(&w);
}

static void without_a_tools_actor_calls_fail_and_the_run_goes_on(void)
{
    struct world w;
    world_init_with(&w, 1, NULL, false);
    w.sends_per_run = 3;
    w.shells_per_run = 2;
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK_INT(1, w.done_count);
    CHECK_INT(1, w.send_count);
    CHECK(strstr(w.last_request, "the working tools do not run in this program") != NULL);
    world_fini(&w);
}

/* -- judge -------------------------------------------------------------------------------------------------------- */
static void judge(struct world *w, uint64_t seq, const char *text)
{
    struct sma_buf item, request;
    sma_buf_init(&item, 4096);
    sma_buf_init(&request, 4096);
    struct sma_request_item what = {.type = SMA_STR("exec_shell"),
                                    .tool = SMA_STR("exec_shell"),
                                    .title = SMA_STR("make"),
                                    .input_json = SMA_STR("{\"command\":\"make\"}"),
                                    .details_json = SMA_STR("{\"command\":\"make\"}")};
    sma_request_put_item(&item, &what);
    struct sma_str items[] = {sma_buf_str(&item), sma_buf_str(&item)};
    uint32_t calls[] = {0, 1};
    CHECK_OK(sma_request_put(&request, items, calls, 2));
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_JUDGE, struct sma_judge, request.len + strlen(text) + 100);
    struct sma_judge *body = SMA_MSG_BODY(msg, struct sma_judge);
    body->seq = seq;
    body->approval_id = sma_msg_dup(msg, SMA_STR("a1"));
    body->chat_key = sma_msg_dup(msg, SMA_STR("c"));
    body->text = sma_msg_dup(msg, sma_str(text));
    body->request_json = sma_msg_dup(msg, sma_buf_str(&request));
    CHECK_OK(sma_ctx_send(sma_system_ctx(w->system, SMA_ACTOR_STORE), SMA_ACTOR_AGENT, &msg));
    sma_buf_fini(&item);
    sma_buf_fini(&request);
}

static void the_model_says_whether_a_message_is_an_answer(void)
{
    static const struct
    {
        const char *said;
        bool is_answer;
        uint64_t approved, refused;
    } rows[] = {
        {"{\"approved\":[1],\"refused\":[2],\"reason\":\"too late\"}", true, 1, 2},
        {"{\"approved\":[1,2],\"refused\":[]}", true, 3, 0},
        {"{\"approved\":[],\"refused\":[]}", false, 0, 0},
        {"{\"approved\":[7],\"refused\":[]}", false, 0, 0},
        {"Yes, certainly!", false, 0, 0},
        {"", false, 0, 0},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct world w;
        world_init(&w, 1);
        w.model_text = rows[i].said;
        w.judged_no_disk_left = 2;
        judge(&w, 7, "well, the first \"perhaps\"");
        rest(&w);
        CHECK_INT(1, w.judged_count);
        CHECK_INT(7, w.judged.seq);
        CHECK_INT(rows[i].is_answer, w.judged.is_answer);
        CHECK_INT(rows[i].approved, w.judged.approved_mask);
        CHECK_INT(rows[i].refused, w.judged.refused_mask);
        CHECK(i != 0 || strstr(w.judged_response, "too late") != NULL);
        CHECK(strstr(w.last_request, "perhaps") != NULL);
        CHECK(strstr(w.last_request, "\"tools\"") == NULL);
        CHECK(!sma_sim_step(w.system)); /* at rest, no timer */
        world_fini(&w);
    }
}

static void a_judge_that_does_not_come_to_a_verdict_says_no(void)
{
    struct world w;
    world_init(&w, 1); /* calls instead of words */
    judge(&w, 7, "perhaps");
    rest(&w);
    CHECK_INT(1, w.judged_count);
    CHECK(!w.judged.is_answer);
    world_fini(&w);

    world_init(&w, 1); /* silence */
    w.is_model_held = true;
    uint64_t start = sma_sim_now(w.system);
    judge(&w, 7, "perhaps");
    rest(&w);
    CHECK_INT(1, w.judged_count);
    CHECK(!w.judged.is_answer);
    CHECK_INT(1, w.cancel_count);
    CHECK(sma_sim_now(w.system) >= start + 20 * NS_PER_S);
    CHECK(sma_sim_now(w.system) < start + 25 * NS_PER_S);
    world_fini(&w);

    world_init(&w, 1); /* the program ends: three seconds, and not before the store has it */
    w.is_model_held = true;
    w.judged_no_disk_left = 1;
    judge(&w, 7, "perhaps");
    settle_until(&w, NS_PER_S);
    sma_sim_life(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN);
    settle_until(&w, NS_PER_S);
    CHECK(!sma_sim_life_is_done(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN));
    rest(&w);
    CHECK(sma_sim_life_is_done(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN));
    judge(&w, 8, "perhaps"); /* and one that comes after it */
    rest(&w);
    CHECK_INT(1, w.judged_count);
    CHECK_INT(8, w.judged.seq);
    world_fini(&w);
}

static void many_judges_wait_for_each_other(void)
{
    struct world w;
    world_init(&w, 1);
    w.model_text = "{\"approved\":[1],\"refused\":[]}";
    w.is_model_held = true;
    for (uint64_t i = 1; i <= 300; i++)
        judge(&w, i, "perhaps");
    settle_until(&w, NS_PER_S);
    CHECK_INT(64, w.held_count);
    w.is_model_held = false;
    for (uint32_t i = 0; i < w.held_count; i++) {
        answer_model(&w, w.held[i], sma_system_ctx(w.system, SMA_ACTOR_MODEL), SMA_MODEL_OK);
        sma_msg_destroyp(&w.held[i]);
    }
    rest(&w);
    CHECK_INT(300, w.judged_count);
    CHECK(w.judged.is_answer);
    world_fini(&w);
}

/* Two messages through the built-in model: it really goes through the tool loop, and its answers are readable. */
static void the_offline_model_answers(void)
{
    struct world w;
    world_init_with(&w, 1, &sma_model_offline_actor_ops, true);
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK_TEXT("You said: question 1", w.last_sent);
    CHECK_INT(1, w.done_count);
    CHECK_INT(SMA_OUTCOME_OK, w.last_outcome);
    CHECK_TEXT("", w.last_text);
    hand_out(&w, 2, "c", true);
    rest(&w);
    CHECK_TEXT("You said: question 2", w.last_sent);
    CHECK_INT(2, w.done_count);
    CHECK_INT(2, w.send_count);
    world_fini(&w);
}

int main(void)
{
    RUN(one_message_through_the_tool_loop);
    RUN(a_receipt_is_waited_for_shortly_while_every_slot_is_taken);
    RUN(a_thousand_runs_at_once_stay_inside_the_bounds);
    RUN(the_same_seed_gives_the_same_trace);
    RUN(the_next_run_sees_the_turn_before_its_done_is_durable);
    RUN(stop_cancels_at_once_and_the_late_answer_is_nothing);
    RUN(clear_drops_the_session_under_a_later_run);
    RUN(a_stopped_turn_does_not_stay_in_the_session);
    RUN(without_disk_the_step_is_asked_again_each_second);
    RUN(draining_waits_three_seconds_for_the_model);
    RUN(deltas_become_progress);
    RUN(a_run_handed_out_again_replaces_the_first);
    RUN(a_new_wire_loads_sessions_again);
    RUN(an_idle_session_goes_with_the_next_activity);
    RUN(what_was_loaded_for_the_old_wire_does_not_stay);
    RUN(in_any_weather_every_run_ends_once);
    RUN(a_command_is_checked_stored_and_run);
    RUN(a_run_that_waits_for_people_is_over);
    RUN(stop_and_drain_end_what_runs);
    RUN(more_calls_than_the_edge_holds_wait_their_turn);
    RUN(without_a_tools_actor_calls_fail_and_the_run_goes_on);
    RUN(the_model_says_whether_a_message_is_an_answer);
    RUN(a_judge_that_does_not_come_to_a_verdict_says_no);
    RUN(many_judges_wait_for_each_other);
    RUN(the_offline_model_answers);
    return check_summary();
}
