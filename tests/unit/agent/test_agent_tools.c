/*
 * Aim: the agent actor with working tools, parked runs and the judge: order of effects, bounds,
 * stop, drain, no tools actor.
 * Method: the seeded scheduler with a fake store, model, dispatcher and tools actor.
 */
#include "runtime/approval/request.h"
#include "sma/metrics.h"
#include "unit/agent/agent_world.h"

/* -- tools ------------------------------------------------------------------------------------- */
CASE(a_command_is_checked_stored_and_run)
{
    SMA_AUTO(world_fini) struct world w;
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
}

CASE(a_run_that_waits_for_people_is_over)
{
    SMA_AUTO(world_fini) struct world w;
    world_init(&w, 1);
    w.shells_per_run = 1;
    w.tool_plan.verdict = SMA_TOOL_ASKS;
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK_INT(1, w.parked_count);
    CHECK_INT(0, w.done_count);
    CHECK_INT(0, w.tool_run_count);
    CHECK_INT(1, w.progress[SMA_PROGRESS_FINISHED]);
    sma_sim_advance(w.system, (SMA_SESSION_IDLE_S + 1) * SMA_NS_PER_S);
    w.tool_plan.verdict = SMA_TOOL_ALLOWED;
    hand_out(&w, 2, "d", false); /* its session is not held either */
    rest(&w);
    CHECK_INT(1, sma_gauge_get(SMA_GAUGE_sessions));
    sma_sim_life(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN);
    rest(&w);
    CHECK(sma_sim_life_is_done(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN));
}

CASE(stop_and_drain_end_what_runs)
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
        settle_until(&w, SMA_NS_PER_S);
        CHECK_INT(is_drain, fake_tools_open_count(w.tools)); /* draining waits a while */
        rest(&w);
        CHECK_INT(0, fake_tools_open_count(w.tools)); /* and its late answer is nothing */
        CHECK_INT(!is_drain,
                  w.done_count); /* what was done before /stop stays in the conversation */
        CHECK_INT(is_drain, sma_sim_life_is_done(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN));
        world_fini(&w);
    }
}

CASE(more_calls_than_the_edge_holds_wait_their_turn)
{
    SMA_AUTO(world_fini) struct world w;
    world_init(&w, 1);
    w.sends_per_run = w.shells_per_run = 8;
    w.tool_plan.delay_ns = SMA_NS_PER_S;
    char chat[20];
    for (uint32_t i = 1; i <= 300; i++) { /* 300 * 8 calls, 2048 places */
        snprintf(chat, sizeof chat, "chat%u", i);
        hand_out(&w, i, chat, false);
    }
    rest(&w);
    CHECK_INT(300, w.done_count);
    CHECK_INT(2400, w.tool_run_count);
}

CASE(without_a_tools_actor_calls_fail_and_the_run_goes_on)
{
    SMA_AUTO(world_fini) struct world w;
    world_init_with(&w, 1, NULL, false);
    w.sends_per_run = 3;
    w.shells_per_run = 2;
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK_INT(1, w.done_count);
    CHECK_INT(1, w.send_count);
    CHECK(strstr(w.last_request, "the working tools do not run in this program") != NULL);
}

/* -- judge ------------------------------------------------------------------------------------- */
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

CASE(the_model_says_whether_a_message_is_an_answer)
{
    static const struct
    {
        const char *said;
        bool agrees;
        uint64_t refused;
    } rows[] = {
        {"{\"approved\":[1],\"refused\":[2],\"reason\":\"too late\"}", true, 2},
        {"{\"approved\":[1,2],\"refused\":[]}", true, 0},
        {"{\"approved\":[],\"refused\":[]}", false, 0},
        {"{\"approved\":[7],\"refused\":[]}", false, 0},
        {"Yes, certainly!", false, 0},
        {"", false, 0},
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
        CHECK_INT(rows[i].agrees, w.judged.seems_to_agree);
        CHECK_INT(rows[i].refused, w.judged.refused_mask);
        CHECK(i != 0 || strstr(w.judged_response, "too late") != NULL);
        CHECK(strstr(w.last_request, "perhaps") != NULL);
        CHECK(strstr(w.last_request, "\"tools\"") == NULL);
        CHECK(!sma_sim_step(w.system)); /* at rest, no timer */
        world_fini(&w);
    }
}

CASE(a_judge_that_does_not_come_to_a_verdict_says_no)
{
    struct world w;
    world_init(&w, 1); /* calls instead of words */
    judge(&w, 7, "perhaps");
    rest(&w);
    CHECK_INT(1, w.judged_count);
    CHECK(!w.judged.seems_to_agree && w.judged.refused_mask == 0);
    world_fini(&w);

    world_init(&w, 1); /* silence */
    w.is_model_held = true;
    uint64_t start = sma_sim_now(w.system);
    judge(&w, 7, "perhaps");
    rest(&w);
    CHECK_INT(1, w.judged_count);
    CHECK(!w.judged.seems_to_agree && w.judged.refused_mask == 0);
    CHECK_INT(1, w.cancel_count);
    CHECK(sma_sim_now(w.system) >= start + 20 * SMA_NS_PER_S);
    CHECK(sma_sim_now(w.system) < start + 50 * SMA_NS_PER_S);
    world_fini(&w);

    world_init(&w, 1); /* the program ends: three seconds, and not before the store has it */
    w.is_model_held = true;
    w.judged_no_disk_left = 1;
    judge(&w, 7, "perhaps");
    settle_until(&w, SMA_NS_PER_S);
    sma_sim_life(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN);
    settle_until(&w, SMA_NS_PER_S);
    CHECK(!sma_sim_life_is_done(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN));
    rest(&w);
    CHECK(sma_sim_life_is_done(w.system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN));
    judge(&w, 8, "perhaps"); /* and one that comes after it */
    rest(&w);
    CHECK_INT(1, w.judged_count);
    CHECK_INT(8, w.judged.seq);
    world_fini(&w);
}

/* -- a judge that fails ------------------------------------------------------------------------ */
static const struct sma_config_llm small = {.api = SMA_LLM_CHAT,
                                            .provider = "deepseek",
                                            .model = "small",
                                            .has_temperature = true,
                                            .temperature = 0.5,
                                            .base_url = "http://one",
                                            .api_key = "k"};
static const struct sma_config_llm fallback = {.api = SMA_LLM_CHAT,
                                               .provider = "openai",
                                               .model = "fallback",
                                               .base_url = "http://two",
                                               .api_key = "k"};

/* The judge of its own, or the first target, which is then the judge. */
static void use_targets(struct world *w, struct sma_config *config, bool has_judge, size_t count)
{
    world_init(w, 1);
    *config = w->config;
    config->llm = has_judge ? fallback : small;
    config->llm_targets[0] = &config->llm;
    config->llm_targets[1] = &fallback;
    config->llm_target_count = count;
    config->llm_judge = has_judge ? &small : NULL;
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_RELOAD, struct sma_reload, 16);
    SMA_MSG_BODY(msg, struct sma_reload)->config = config;
    CHECK_OK(sma_ctx_send(sma_system_ctx(w->system, SMA_ACTOR_SUPERVISOR), SMA_ACTOR_AGENT, &msg));
    w->model_text = "{\"approved\":[1],\"refused\":[]}";
    w->is_model_held = true;
    judge(w, 7, "perhaps");
    settle_until(w, SMA_NS_PER_S);
    CHECK_INT(1, w->held_count);
}

/* The newest question, which goes to this model, is answered. */
static void answer_as(struct world *w, const char *model, uint8_t status)
{
    struct sma_msg **held = &w->held[w->held_count - 1];
    CHECK_TEXT(model, SMA_MSG_BODY(*held, struct sma_model_ask)->llm->model);
    answer_model(w, *held, sma_system_ctx(w->system, SMA_ACTOR_MODEL), status);
    sma_msg_destroyp(held);
    settle_until(w, SMA_NS_PER_S);
}

CASE(when_the_judge_fails_another_target_is_asked_once)
{
    struct world w;
    struct sma_config config;
    for (int has_judge = 0; has_judge < 2; has_judge++) {
        for (int is_good = 0; is_good < 2; is_good++) {
            use_targets(&w, &config, has_judge, has_judge ? 1 : 2);
            answer_as(&w, "small", SMA_MODEL_FAILED);
            CHECK_INT(0, w.judged_count);
            CHECK_INT(2, w.held_count);
            CHECK(strstr(w.last_request, "perhaps") != NULL);
            answer_as(&w, "fallback", is_good ? SMA_MODEL_OK : SMA_MODEL_FAILED);
            rest(&w);
            CHECK_INT(2, w.held_count); /* nobody else */
            CHECK_INT(1, w.judged_count);
            CHECK_INT(is_good, w.judged.seems_to_agree);
            world_fini(&w);
        }
    }
    use_targets(&w, &config, false, 1); /* there is no other */
    answer_as(&w, "small", SMA_MODEL_FAILED);
    rest(&w);
    CHECK_INT(1, w.held_count);
    CHECK_INT(1, w.judged_count);
    world_fini(&w);
    use_targets(&w, &config, true, 1); /* what it answers is an answer */
    w.model_text = "I cannot tell";
    answer_as(&w, "small", SMA_MODEL_OK);
    rest(&w);
    CHECK_INT(1, w.held_count);
    CHECK(w.judged_count == 1 && !w.judged.seems_to_agree);
    world_fini(&w);
}

CASE(what_the_judge_refuses_is_left_out)
{
    SMA_AUTO(world_fini) struct world w;
    struct sma_config config;
    use_targets(&w, &config, true, 1);
    CHECK(strstr(w.last_request, "\"temperature\"") != NULL);
    w.refused_member = "temperature";
    answer_as(&w, "small", SMA_MODEL_FAILED);
    CHECK_INT(2, w.held_count); /* the same one again */
    CHECK(strstr(w.last_request, "\"temperature\"") == NULL);
    answer_as(&w, "small", SMA_MODEL_FAILED); /* it was not in it: another one is asked */
    CHECK_INT(3, w.held_count);
    answer_as(&w, "fallback", SMA_MODEL_OK);
    rest(&w);
    CHECK_INT(1, w.judged_count);
    CHECK(w.judged.seems_to_agree);
    judge(&w, 9, "perhaps"); /* it is remembered */
    settle_until(&w, SMA_NS_PER_S);
    CHECK_INT(4, w.held_count);
    CHECK(strstr(w.last_request, "\"temperature\"") == NULL);
    answer_as(&w, "small", SMA_MODEL_OK);
}

CASE(both_judges_have_one_time)
{
    SMA_AUTO(world_fini) struct world w;
    struct sma_config config;
    use_targets(&w, &config, true, 1);
    uint64_t start = sma_sim_now(w.system);
    settle_until(&w, 40 * SMA_NS_PER_S);
    answer_as(&w, "small", SMA_MODEL_FAILED);
    CHECK_INT(2, w.held_count);
    rest(&w); /* the second one is silent */
    CHECK_INT(1, w.judged_count);
    CHECK(!w.judged.seems_to_agree);
    CHECK_INT(1, w.cancel_count);
    CHECK(sma_sim_now(w.system) < start + 50 * SMA_NS_PER_S);
}

CASE(many_judges_wait_for_each_other)
{
    SMA_AUTO(world_fini) struct world w;
    world_init(&w, 1);
    w.model_text = "{\"approved\":[1],\"refused\":[]}";
    w.is_model_held = true;
    for (uint64_t i = 1; i <= 300; i++)
        judge(&w, i, "perhaps");
    settle_until(&w, SMA_NS_PER_S);
    CHECK_INT(64, w.held_count);
    w.is_model_held = false;
    for (uint32_t i = 0; i < w.held_count; i++) {
        answer_model(&w, w.held[i], sma_system_ctx(w.system, SMA_ACTOR_MODEL), SMA_MODEL_OK);
        sma_msg_destroyp(&w.held[i]);
    }
    rest(&w);
    CHECK_INT(300, w.judged_count);
    CHECK(w.judged.seems_to_agree);
}

CASES_MAIN
