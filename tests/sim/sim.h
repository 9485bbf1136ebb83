/*
 * sim.h — the whole service in one thread from one number: what the files of sim_run share.
 *
 *   sim_world.c  the program: store, dispatcher, agent, offline model, two fake platforms, in a
 *   project folder of its own;
 *                lives that end by crash or in order
 *   sim_load.c   the people and the platforms: events, redelivery, outcomes of attempts; the ledger
 *   of what was seen
 *   sim_consent.c  the rules of the tools, and people who decide what they ask
 *   sim_change.c  edits and recalls; the judge of what the agent is given, and for whom
 *   sim_parts.c  pictures of messages, and the judge of what a run gets of them
 *   sim_budget.c budgets, and their judge
 *   sim_check.c  the judge: ledger, disk and state.db against the promises
 *   sim_run.c    one seed, a seed twice, many seeds
 *
 * Everything that decides comes from the seed; docs/notes/simulation.md tells what is promised and
 * how it is judged.
 */
#ifndef SMA_TEST_SIM_H
#define SMA_TEST_SIM_H

#include "actors/store/hooks.h"
#include "actors/store/store.h"
#include "sma/chats.h"
#include "sma/sim.h"
#include "support/fake_adapter.h"
#include "support/fake_tools.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PLATFORM_COUNT 2 /* 0 may show a repeat twice, 1 is idempotent */
#define CHAT_COUNT_MAX 6 /* of one platform */
#define EVENT_COUNT_MAX 3000
#define ROW_COUNT_MAX 16384 /* deliveries; a power of two */
#define PART_COUNT_MAX 4
#define LIFE_COUNT_MAX 32
#define PREPARE_COUNT_MAX (PLATFORM_COUNT * SMA_ASK_PREPARE_COUNT_MAX)
#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

/* -- chance ------------------------------------------------------------------------------------ */
struct chance
{
    uint64_t state;
};
uint64_t draw(struct chance *chance, uint64_t below);
static inline bool draw_percent(struct chance *chance, unsigned percent)
{
    return draw(chance, 100) < percent;
}

/* -- what is asked for ------------------------------------------------------------------------- */
struct sim_options
{
    uint64_t seed;
    size_t steps;
    int crashes; /* -1: drawn */
    bool is_verbose;
};

/* -- people ------------------------------------------------------------------------------------ */
enum event_type
{
    EVENT_PLAIN, /* "hello #12#": the answer must quote it */
    EVENT_SAME,  /* the same words again and again */
    EVENT_PAST,
    EVENT_TELL,
    EVENT_FAIL,
    EVENT_SLOW,
    EVENT_COMMAND,
    EVENT_MOVE, /* the platform says that a chat goes on under another id */
    EVENT_EDIT, /* somebody writes anew what he has said */
    EVENT_RECALL,
};
struct event
{
    uint8_t platform, chat, type, control;
    /* the chat's id on the platform: chat, or chat + CHAT_COUNT_MAX when it has moved */
    uint8_t place;
    uint8_t addressed, first_addressed;
    bool is_acked, is_upgraded, is_accepted_told, has_run_without;
    uint8_t verdict; /* the first one */
    uint64_t ask_id; /* open question, 0 = none */
    uint64_t seq;
    uint32_t tries, crash_count_first; /* crashes before the first try */
    char id[24], user[8], text[160];
    char preparation[8], group_key[16]; /* empty = none */
    uint32_t line_count;                /* in history, while that is read */
    /* EVENT_EDIT, EVENT_RECALL: what they are about, else NULL; the rest is for them alone */
    const struct event *target;
    bool is_foreign; /* not its author */
    uint32_t acked_life;
    uint64_t acked_ns, told_run;
    bool has_begun; /* the agent has been given this message */
};

/* -- what users saw ---------------------------------------------------------------------------- */
struct part
{
    char *text;
    char key[64]; /* the same in every life */
    uint32_t attempt_count, seen_count;
    /* the last time it was shown */
    uint32_t shown_life;
    uint64_t shown_due_ns; /* when the program was to know */
    bool is_shown_unknown; /* the answer was "unknown", or late */
};
struct row
{
    uint64_t outbox_id; /* 0 = free */
    uint8_t platform, chat, intent;
    uint32_t part_count;
    bool is_hopeless; /* some attempt ended so that the row may have failed, or nobody knows */
    struct part parts[PART_COUNT_MAX];
};

enum consent
{
    CONSENT_NONE,     /* nobody has spoken about it */
    CONSENT_APPROVED, /* somebody has agreed, or may have: his answer was lost */
};

struct life
{
    bool is_crash;
    uint64_t end_ns;
};

struct world
{
    struct sim_options options;
    struct chance chance;

    /* drawn for this seed */
    uint32_t chat_count, life_count, fault_percent, late_percent, event_period, shift_percent,
        disk_percent;
    bool is_chatty;
    bool has_people;       /* groups, roles, attachments, albums */
    bool has_moves;        /* chats get another id */
    bool has_changes;      /* people edit and withdraw */
    bool has_small_window; /* older messages become summaries */
    uint64_t notes_count;
    bool has_choices;             /* /model and /new are among the commands */
    struct sma_config_llm second; /* has_choices: the other model */
    bool has_consent;             /* some sends elsewhere are refused, some asked */
    bool has_outages;             /* the model is away for a while, again and again */
    bool is_told[PLATFORM_COUNT][CHAT_COUNT_MAX];  /* the platform has said so */
    bool is_mixed[PLATFORM_COUNT][CHAT_COUNT_MAX]; /* messages came under both ids: two orders */
    bool is_strict;          /* in groups only the first one and administrators */
    uint32_t silent_percent; /* PREPARE that gets no answer */

    /* the program */
    char dir[64], life_dir[96], state_dir[112];
    struct sma_config config;
    struct sma_sys sys;
    struct sma_adapter_ops adapter_ops[PLATFORM_COUNT];
    struct sma_adapter adapters[PLATFORM_COUNT];
    struct fake_adapter *fakes[PLATFORM_COUNT];
    struct sma_store *store;
    struct sma_dispatcher *dispatcher;
    struct sma_agent *agent;
    struct sma_model *model;
    struct fake_tools *tools;
    struct sma_system *system;
    uint64_t disk_free;
    int64_t wall_offset_ms;
    uint64_t idle_ns; /* the monotonic clock while no system runs */
    uint32_t life, crash_count;
    struct life lives[LIFE_COUNT_MAX];
    uint64_t trace_hash, step_count;
    /* a crash inside a batch: the folder is copied while a write is half done */
    uint32_t torn_countdown;
    bool has_snapshot;
    bool is_storing; /* every system call of this system is made by the store's handlers */
    uint64_t sys_random;

    /* people and platforms */
    struct sma_msg *prepares[PREPARE_COUNT_MAX]; /* open PREPARE questions */
    uint8_t prepare_platform[PREPARE_COUNT_MAX];
    bool is_prepare_silent[PREPARE_COUNT_MAX];
    uint64_t prepare_ns[PREPARE_COUNT_MAX]; /* when it came */
    bool has_late_prepare;                  /* some answer came when the store no longer waited */
    uint32_t prepare_count;
    struct event events[EVENT_COUNT_MAX];
    uint32_t event_count;
    struct row rows[ROW_COUNT_MAX];
    uint32_t row_count;
    uint64_t newest_shown[PLATFORM_COUNT]
                         [CHAT_COUNT_MAX]; /* outbox id and part of answers, for order */
    uint32_t newest_part[PLATFORM_COUNT][CHAT_COUNT_MAX];

    /* sends elsewhere, by the number in their text */
    uint8_t consents[EVENT_COUNT_MAX + 1]; /* enum consent */
    /* the run that asked; an event may not know its own yet */
    uint64_t asked_seqs[EVENT_COUNT_MAX + 1];
    uint64_t decide_ask_id; /* open question, 0 = none */
    uint8_t decide_platform;
    uint32_t approved_count, declined_count;

    /* numbers for the summary */
    uint32_t shown_count, window_count, refused_count, duplicate_count, busy_count, cancelled_count,
        choice_count, given_up_count, broken_count, outage_count, run_order_count, part_seen_count,
        shown_picture_count, edited_count, told_count;
};

/* Something is broken: say what; the program ends with status 1 after the run. */
void complain(struct world *world, const char *format, ...) SMA_PRINTF(2, 3);

/* -- sim_world.c ------------------------------------------------------------------------------- */
/** "fake" and "fakei"; in some seeds the second is another bot of the first, "fake@i". */
const char *world_channel(const struct world *world, size_t platform);
void world_make(struct world *world);
void world_open(struct world *world);  /* a new life on the folder */
void world_crash(struct world *world); /* and the folder as it was then becomes the next life's */
void world_stop(struct world *world);  /* ordered shutdown */
void world_end(struct world *world);
uint64_t world_now(const struct world *world);

/* -- sim_parts.c ------------------------------------------------------------------------------- */
#define PARTS_PATH_SIZE 64
/* Whether it brings a picture along, which need not be fetched. */
bool parts_come_with(const struct world *world, const struct event *event);
struct sma_part parts_said(char path[PARTS_PATH_SIZE], const struct event *event);
struct sma_part parts_fetched(char path[PARTS_PATH_SIZE], struct sma_str message_id);
/** A life ends: for whose pictures nobody waits any more is not asked again in the next one. */
void parts_note_given_up(struct world *world);
void parts_judge(struct world *world, const struct sma_run_order *order);
/* What the model is asked. */
void parts_judge_request(struct world *world, const struct sma_model_ask *ask);

/* -- sim_change.c ------------------------------------------------------------------------------ */
void change_new_event(struct world *world);
void change_acked(struct world *world, struct event *event);
/* What the agent is given with a run, or while it is open. */
void change_judge_order(struct world *world, const struct sma_run_order *order);
void change_judge(struct world *world, const struct sma_collected *message);
void change_judge_shown(struct world *world, const struct row *row,
                        const struct sma_attempt *attempt);
bool change_is_withdrawn(const struct world *world, const struct event *event);
/* One that somebody has withdrawn, at rest. */
void change_check(struct world *world, const struct event *event, uint8_t state);

/* -- sim_load.c -------------------------------------------------------------------------------- */
void load_new_event(struct world *world);
void load_deliver(struct world *world, struct event *event);
/* Deliver again one that was not acknowledged, if there is one that nobody asks about. */
bool load_redeliver(struct world *world);
void load_duplicate(struct world *world);
bool load_is_all_acked(const struct world *world);
void load_forget_questions(struct world *world); /* the program is gone: nobody answers */
/* Every second chat of a project with people is a group; every second person is an administrator of
 * it. */
bool load_is_group(const struct world *world, const struct event *event);
bool load_may_be_refused(const struct world *world, const struct event *event);
void load_take_prepare(struct world *world, unsigned platform, struct sma_msg **msg);
/* Answer one of the open PREPARE questions. false: there is none that gets an answer. */
bool load_answer_prepare(struct world *world);
void load_plan(void *user, const struct sma_attempt *attempt, unsigned number,
               struct fake_plan *plan);
void load_accepted(void *user, const struct fake_accepted *accepted);
static inline uint8_t chat_of_place(unsigned place)
{
    return (uint8_t)(place >= CHAT_COUNT_MAX ? place - CHAT_COUNT_MAX : place);
}
struct row *load_find_row(struct world *world, uint64_t outbox_id, bool may_add);

/* -- sim_consent.c ----------------------------------------------------------------------------- */
void consent_rule(void *user, const struct sma_tool_ask *ask, struct fake_tool_plan *plan);
/* Somebody decides about an open request. false: there is none, or somebody is just deciding. */
bool consent_decide(struct world *world);
void consent_take(struct world *world, unsigned platform, const struct sma_msg *msg); /* DECIDED */
void consent_forget(struct world *world); /* the program is gone: nobody answers */
/* A message that was passed on is shown: was that allowed? */
void consent_check_shown(struct world *world, struct sma_str text);

/* -- sim_budget.c ------------------------------------------------------------------------------ */
void budget_draw(struct world *world); /* before the first life */
/* What is reserved and spent is what the rows say. Nothing without budgets. */
void check_budgets(struct world *world, bool is_at_rest);

/* -- sim_check.c ------------------------------------------------------------------------------- */
/* After a start: what was acknowledged is there, history is whole. */
void check_started(struct world *world);
/* At rest, before the last stop. */
void check_rest(struct world *world);
/* After the last stop. */
void check_history(struct world *world, bool is_final);

#endif
