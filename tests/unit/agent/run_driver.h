/*
 * run_driver.h — plays store, model and dispatcher for one run: keeps the steps that became
 * durable, the deliveries and their states, and what was asked, so that a test can cut the run
 * anywhere and continue it.
 */
#ifndef TEST_RUN_DRIVER_H
#define TEST_RUN_DRIVER_H

#include "runtime/agent/run.h"
#include "runtime/approval/request.h"
#include "support/check.h"

#include <stdio.h>

#define DRIVER_WALL_MS \
    INT64_C(1795000000000) /* of the first start; each further one an hour later */
#define DRIVER_STEP_MAX 80
#define DRIVER_DELIVERY_MAX 64

struct driver
{
    struct sma_config config;
    struct sma_run_settings *settings;
    struct sma_sessions *sessions;
    struct sma_session *session;
    struct sma_run_order order;
    struct sma_run *run;
    struct sma_run_actions actions;
    uint32_t asker; /* call of the MODEL question that requests and answers are about; 0: the run */
    uint64_t random, now_ns;
    int64_t wall_ms, start_ms; /* of the first start; each further one is so much later */

    /* what the "store" holds */
    struct sma_stored_step steps[DRIVER_STEP_MAX];
    uint32_t step_count;
    struct sma_step_delivery_state deliveries[DRIVER_DELIVERY_MAX];
    char *texts[DRIVER_DELIVERY_MAX];
    char *chats[DRIVER_DELIVERY_MAX];
    uint32_t delivery_count;
    uint8_t first_state; /* of a new delivery: SMA_DELIVERY_BEGUN unless a test says otherwise */
    char *done_text, *done_output, *done_tool_calls, *done_turn, *done_wire;
    size_t done_turn_len;
    uint8_t done_outcome, done_intent;
    uint32_t done_count;
};

/* A chat "t:1", message "m1" of user u1, seq 10, on this wire. */
void driver_init(struct driver *driver, enum sma_llm_api api);
/* The same with these targets; config.llm is the first. The settings are made anew. */
void driver_targets(struct driver *driver, const struct sma_config_llm *const *llms, size_t count);
/* Server "files" with tools "write" and "read", under these permissions. The settings are made
 * anew. */
void driver_offer(struct driver *driver, const char *permissions);
void driver_fini(struct driver *driver);
/* Create the run and send START. With steps stored: as resumed. */
void driver_start(struct driver *driver);
/* Destroy the run as a crash would; what is stored stays. */
void driver_cut(struct driver *driver);
void driver_event(struct driver *driver, struct sma_run_event event);
/* The action of this kind in the last answer; NULL when there is none. */
const struct sma_run_action *driver_find(const struct driver *driver,
                                         enum sma_run_action_kind kind);
uint32_t driver_count(const struct driver *driver, enum sma_run_action_kind kind);

struct driver_call
{
    const char *id, *name, *arguments;
};
/* The model answers. Calls end with a NULL id. */
void driver_answer(struct driver *driver, const char *text, enum sma_finish finish,
                   const struct driver_call *calls);
void driver_model_status(struct driver *driver, enum sma_model_status status, const char *error);
/* FAILED with this trouble. */
void driver_trouble(struct driver *driver, enum sma_model_failure trouble, int64_t retry_after_ms);
/* The next message of the chat: nothing is stored of its run yet. Does not start it. */
void driver_next(struct driver *driver);
/* Store the STEP in the last actions, as durable; its deliveries get ids and first_state. Does not
 * tell the run. */
void driver_store(struct driver *driver);
/* Store and tell the run. */
void driver_durable(struct driver *driver);
void driver_verdict(struct driver *driver, uint32_t number, enum sma_step_verdict verdict);
void driver_sent(struct driver *driver, uint32_t call, enum sma_send_state state,
                 const char *error);
/* The tools answer. ASKS in a check: an item whose digest begins with the first byte of content. */
void driver_tool(struct driver *driver, uint32_t call, enum sma_tool_verdict verdict,
                 const char *content);
/* What the store does when people have spoken: a DECISION step, and the run is handed out with
 * is_decided. */
void driver_decide(struct driver *driver, const struct sma_stored_decision *list, uint32_t count);
/* Take the DONE in the last actions; is_durable: and answer it. */
void driver_done(struct driver *driver, bool is_durable);
/* The facts of the first start, and of no later one, stand in the request. */
void driver_check_facts(const struct driver *driver);
/* The request as bytes; malloc'ed, NUL-terminated. */
char *driver_request(const struct driver *driver, struct sma_model_ask *ret_ask);
/* The same with "<" the first four digits of its hash ">" for each file. */
char *driver_sent_bytes(const struct driver *driver);
bool driver_sends(const struct driver *driver, const char *text);
/* The tools have prepared the part that was asked for first: its hash begins so, or the note. */
void driver_encoded(struct driver *driver, const char *start, const char *note);
void driver_encoded_at(struct driver *driver, uint32_t index, const struct sma_part *asked,
                       const char *start, const char *note);

/* -- a run played to its end ------------------------------------------------------------------- */
/* An action that waits for its answer. */
struct driver_pending
{
    enum sma_run_action_kind kind;
    uint32_t call, number; /* of the step */
    uint64_t outbox_id;
    uint8_t mode; /* of a tool */
    bool is_parking;
    char arguments[64]; /* of a tool */
};
/* The world of a run: every action waits in a queue and is answered in its turn, so that the run
 * can be cut between any two. What a test has besides stands behind it in a structure of its
 * own. */
struct driver_play
{
    struct driver d;
    struct driver_pending queue[512];
    size_t head, tail, event_count;
    bool is_over;
    /* What only the test knows; NULL: nothing. */
    void (*note)(struct driver_play *play, const struct sma_run_action *action,
                 struct driver_pending *pending);
    void (*answer_model)(struct driver_play *play, uint32_t call); /* never NULL */
    void (*answer_tool)(struct driver_play *play, const struct driver_pending *pending);
    void (*stored)(struct driver_play *play, const struct driver_pending *pending);
};
/* What the world does with the actions of the last event. */
void play_perform(struct driver_play *play);
/* Answer what has waited longest: the run always waits for something. */
void play_step(struct driver_play *play);
/* A crash: nothing waits, and the session in memory is gone. What is stored stays. */
void play_cut(struct driver_play *play);

/* The kinds of the actions, one letter each, in order. */
void driver_check_kinds(const struct driver *driver, const char *wanted);
/* Is this in the request that would be asked now? */
bool driver_request_has(const struct driver *driver, const char *text);
/* The question about this call among the actions. */
const struct sma_tool_ask *driver_tool_ask(const struct driver *driver, uint32_t call);

#endif
