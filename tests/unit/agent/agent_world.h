/*
 * agent_world.h — the agent actor under the seeded scheduler between a fake store, model,
 * dispatcher and tools actor.
 */
#ifndef TEST_AGENT_WORLD_H
#define TEST_AGENT_WORLD_H

#include "sma/actors.h"
#include "sma/messages.h"
#include "sma/sim.h"
#include "support/check.h"
#include "support/fake_tools.h"

#include <stdio.h>

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
    uint32_t spent_count;
    uint64_t spent_seq, spent_input;
    char spent_target[100];
    bool is_done_held, is_session_held;
    struct sma_msg *held_done, *held_session;

    /* model */
    bool is_model_held;
    struct sma_msg *held[80];
    uint32_t held_count, model_count, cancel_count;
    char *last_request;
    uint32_t sends_per_run;
    const char *called; /* the model calls this tool instead; NULL: as the counts say */

    /* weather: everything that can go wrong does, by a seed */
    bool is_weather;
    uint64_t random;
    uint8_t run_states[WEATHER_RUN_COUNT + 1]; /* enum weather_run */

    /* tools; the model calls exec_shell instead of chat_send */
    struct fake_tools *tools;
    struct fake_tool_plan tool_plan;
    uint32_t tool_run_count, tool_check_count, shells_per_run, parked_count;
    char last_rule[100];
    char last_detail[300]; /* of a progress of a tool */

    /* judge */
    uint32_t judged_count, judged_no_disk_left;
    struct sma_judged judged;
    char judged_response[200];
    const char *refused_member; /* why the model fails; NULL: for no reason */
    const char *model_text;     /* what the model says without calls; NULL: "final" */

    /* dispatcher */
    uint32_t send_count, send_open, send_open_max, progress[5];
    uint64_t send_wait_ns;
    bool is_send_before_step;
    char last_progress[100];
};

/* A number below `below`, from the world's seed. */
uint64_t roll(struct world *world, uint64_t below);
/* Answer a MODEL question as the world says. */
void answer_model(struct world *world, const struct sma_msg *question, struct sma_ctx *ctx,
                  uint8_t status);
/* @model NULL: the fake, else the ops of the real one. */
void world_init_with(struct world *world, uint64_t seed, const struct sma_actor_ops *model,
                     bool has_tools);
/* The same with an actor for MCP servers. */
void world_init_mcp(struct world *world, const struct sma_actor_ops *mcp, void *state);
void world_init(struct world *world, uint64_t seed);
void world_fini(struct world *world);
/* Until nothing is left to do; a test that never comes to rest fails. */
void rest(struct world *world);
void settle_until(struct world *world, uint64_t ns);
void hand_out(struct world *world, uint64_t seq, const char *chat, bool has_past);
void control(struct world *world, uint8_t kind, uint64_t mark, const char *chat);

#endif
