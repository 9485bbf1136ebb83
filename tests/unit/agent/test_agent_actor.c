/*
 * Aim: the agent actor with real messages: order of effects, many runs at once, bounds, stop and
 * clear, disk full, draining, rest. Method: the seeded scheduler with a fake store, model and
 * dispatcher.
 */
#include "sma/metrics.h"
#include "unit/agent/agent_world.h"

/* -- cases ------------------------------------------------------------------------------------- */
CASE(one_message_through_the_tool_loop)
{
    SMA_AUTO(world_fini) struct world w;
    world_init(&w, 1);
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK_INT(2, w.model_count);
    CHECK_INT(1, w.step_count); /* the answer; what became of its message its row tells */
    CHECK_INT(1, w.send_count);
    CHECK(!w.is_send_before_step);
    CHECK_INT(1, w.done_count);
    CHECK_TEXT("final", w.last_text); /* the answer, after what chat_send has sent */
    CHECK_INT(1, w.progress[SMA_PROGRESS_STARTED]);
    CHECK_INT(1, w.progress[SMA_PROGRESS_TOOL]);
    CHECK_INT(1, w.progress[SMA_PROGRESS_FINISHED]);
    CHECK(strstr(w.last_request, "question 1") != NULL);
    CHECK(!sma_sim_step(w.system)); /* at rest, no timer */
}

/* A slow platform holds a slot for as long as others need none. */
CASE(a_receipt_is_waited_for_shortly_while_every_slot_is_taken)
{
    SMA_AUTO(world_fini) struct world w;
    world_init(&w, 1);
    w.config.agent_concurrency = 2;
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK(w.send_wait_ns > (SMA_SEND_WAIT_S - 1) * SMA_NS_PER_S);
    w.is_model_held = true;
    hand_out(&w, 2, "c", false);
    rest(&w);
    w.is_model_held = false;
    hand_out(&w, 3, "d", false);
    rest(&w);
    CHECK(w.send_wait_ns > 0 && w.send_wait_ns <= 5 * SMA_NS_PER_S);
    CHECK_INT(2, w.done_count);
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
    CHECK_INT(runs, w.step_count);
    CHECK_INT(runs / 3, w.session_count);
    uint64_t hash = sma_sim_trace_hash(w.system);
    world_fini(&w);
    return hash;
}

CASE(a_thousand_runs_at_once_stay_inside_the_bounds)
{
    /* 1024 * 8 sends are twice what the edge holds: the rest waits its turn. */
    (void)play_many(3, SMA_CONCURRENCY_MAX, SENDS_PER_RUN);
}

CASE(the_same_seed_gives_the_same_trace)
{
    CHECK(play_many(7, 50, 3) == play_many(7, 50, 3));
    CHECK(play_many(7, 50, 3) != play_many(8, 50, 3));
}

CASE(the_next_run_sees_the_turn_before_its_done_is_durable)
{
    SMA_AUTO(world_fini) struct world w;
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
}

CASE(stop_cancels_at_once_and_the_late_answer_is_nothing)
{
    SMA_AUTO(world_fini) struct world w;
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
    CHECK_INT(1, w.done_count); /* its turn, for the next message */
    CHECK_INT(1, w.last_done_seq);
    CHECK_INT(SMA_OUTCOME_CANCELLED, w.last_outcome);
    CHECK_TEXT("", w.last_text);
    CHECK_INT(1, w.progress[SMA_PROGRESS_FINISHED]);
    CHECK_INT(1, w.spent_count); /* what it had used by then */
    CHECK_INT(1, w.spent_seq);
    CHECK_INT(7, w.spent_input);
    CHECK(w.spent_target[0] != '\0');
    w.is_model_held = false;
    hand_out(&w, 6, "c", false); /* accepted later: runs, and knows what was stopped */
    rest(&w);
    CHECK_INT(2, w.done_count);
    CHECK_INT(6, w.last_done_seq);
    CHECK(strstr(w.last_request, "question 1") != NULL);
    CHECK(strstr(w.last_request, "[ended: the user stopped it]") != NULL);
}

/* Two chats became one, and both have a run: one of them is stopped from outside. */
CASE(a_run_that_is_stopped_alone_leaves_an_older_one_of_its_chat)
{
    SMA_AUTO(world_fini) struct world w;
    world_init(&w, 1);
    w.is_model_held = true;
    hand_out(&w, 1, "c", false);
    hand_out(&w, 2, "c", false);
    rest(&w);
    struct sma_msg *msg = sma_msg_make_control(&(struct sma_control_order){
        .control = SMA_CONTROL_STOP, .mark_seq = 3, .only_seq = 2, .chat_key = SMA_STR("c")});
    CHECK_OK(sma_ctx_send(sma_system_ctx(w.system, SMA_ACTOR_STORE), SMA_ACTOR_AGENT, &msg));
    rest(&w);
    CHECK_INT(1, w.done_count);
    CHECK_INT(2, w.last_done_seq);
    CHECK_INT(SMA_OUTCOME_CANCELLED, w.last_outcome);
    control(&w, SMA_CONTROL_STOP, 3, "c"); /* all of them */
    rest(&w);
    CHECK_INT(2, w.done_count);
    CHECK_INT(1, w.last_done_seq);
}

CASE(clear_drops_the_session_under_a_later_run)
{
    SMA_AUTO(world_fini) struct world w;
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
}

CASE(a_stopped_turn_does_not_stay_in_the_session)
{
    SMA_AUTO(world_fini) struct world w;
    world_init(&w, 1);
    w.sends_per_run = 0;
    w.verdict = SMA_STEP_STOPPED;
    hand_out(&w, 1, "c", false);
    rest(&w);
    w.verdict = SMA_STEP_DURABLE;
    hand_out(&w, 2, "c", false);
    rest(&w);
    CHECK(strstr(w.last_request, "question 1") == NULL);
}

CASE(without_disk_the_step_is_asked_again_each_second)
{
    SMA_AUTO(world_fini) struct world w;
    world_init(&w, 1);
    w.no_disk_left = 3;
    hand_out(&w, 1, "c", false);
    settle_until(&w, SMA_NS_PER_S / 2);
    CHECK_INT(0, w.send_count);
    uint64_t start = sma_sim_now(w.system);
    rest(&w);
    CHECK(sma_sim_now(w.system) >= start + 2 * SMA_NS_PER_S);
    CHECK_INT(1, w.send_count);
    CHECK_INT(1, w.done_count);
}

CASE(draining_waits_three_seconds_for_the_model)
{
    struct world w;
    world_init(&w, 1);
    w.is_model_held = true;
    hand_out(&w, 1, "c", false);
    rest(&w);
    sma_sim_life(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN);
    settle_until(&w, SMA_NS_PER_S);
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

CASE(deltas_become_progress)
{
    SMA_AUTO(world_fini) struct world w;
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
}

CASE(a_run_handed_out_again_replaces_the_first)
{
    SMA_AUTO(world_fini) struct world w;
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
}

static void switch_to_messages(struct world *w, struct sma_config *changed)
{
    *changed = w->config;
    changed->llm.api = SMA_LLM_MESSAGES;
    changed->llm.model = changed->llm.api_key = "x";
    changed->llm.anthropic_version = "2023-06-01";
    sma_system_reload(w->system, changed);
    rest(w);
}

CASE(a_session_survives_a_switch_to_another_wire)
{
    SMA_AUTO(world_fini) struct world w;
    struct sma_config changed;
    world_init(&w, 1);
    w.sends_per_run = 0;
    hand_out(&w, 1, "c", false);
    rest(&w);
    switch_to_messages(&w, &changed);
    hand_out(&w, 2, "c", true);
    rest(&w);
    CHECK_INT(0, w.session_count); /* in memory all the time */
    CHECK(strstr(w.last_request, "\"max_tokens\"") != NULL);
    CHECK(strstr(w.last_request, "question 1") != NULL);
    CHECK(strstr(w.last_request, "question 2") != NULL);
    CHECK_INT(2, w.done_count);
}

CASE(an_idle_session_goes_with_the_next_activity)
{
    SMA_AUTO(world_fini) struct world w;
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
}

CASE(a_session_that_is_loaded_during_the_switch_stays)
{
    SMA_AUTO(world_fini) struct world w;
    struct sma_config changed;
    world_init(&w, 1);
    w.is_session_held = true;
    hand_out(&w, 1, "c", true);
    rest(&w);
    switch_to_messages(&w, &changed);
    w.is_model_held = true;
    struct sma_msg *answer = SMA_MSG_NEW(SMA_MSG_SESSION_TURNS, struct sma_session_turns, 0);
    sma_ctx_answer(sma_system_ctx(w.system, SMA_ACTOR_STORE), w.held_session, &answer);
    rest(&w);
    CHECK_INT(1, w.held_count);
    control(&w, SMA_CONTROL_STOP, 2, "c");
    rest(&w);
    hand_out(&w, 3, "c", true);
    rest(&w);
    CHECK_INT(1, w.session_count);
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

CASE(in_any_weather_every_run_ends_once)
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
        CHECK(sma_sim_now(w.system) < before + SMA_NS_PER_S);
        world_fini(&w);
    }
}

/* Two messages through the built-in model: it really goes through the tool loop, and its answers
 * are readable. */
CASE(the_offline_model_answers)
{
    SMA_AUTO(world_fini) struct world w;
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
}

CASES_MAIN
