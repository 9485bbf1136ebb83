/* run_priv.h — inside of a run, shared by run.c (states), run_round.c (calls), run_finish.c (ends), run_resume.c. */
#ifndef SMA_RUNTIME_AGENT_RUN_PRIV_H
#define SMA_RUNTIME_AGENT_RUN_PRIV_H

#include "runtime/agent/run.h"
#include "runtime/tools/tools.h"
#include "sma/notices.h"

#define RUN_MAGIC 0x52554e31u
#define FRAGMENT_COUNT_MAX \
    (2 + 2 * SMA_RUN_STEP_COUNT_MAX) /* user, answer and results of each round, the last answer */
#define BLOCKS_FEW 3                 /* facts, context, text */
#define TOOL_CALLS_BYTES_MAX (1024 * 1024)

enum run_state
{
    RUN_NEW,
    RUN_LOADING,   /* SESSION asked */
    RUN_MODEL,     /* MODEL asked */
    RUN_RESOLVING, /* receivers of chat_contact_send asked, the answer not stored yet */
    RUN_STORING,   /* the answer's STEP asked */
    RUN_TOOLS,     /* its calls asked */
    RUN_SETTLING,  /* draining: waits for the last STEP, then ends */
    RUN_FINISHING, /* DONE asked */
    RUN_OVER,
};

/* One call of the answer that is being worked on. */
struct run_call
{
    enum sma_tool tool;
    struct sma_tool_args args;
    bool is_open; /* asked, not answered */
    bool has_result;
    bool is_error, is_delivered;
    uint32_t delivery;      /* index + 1 of its delivery in the step; 0 = none */
    struct sma_route route; /* of the receiver; slices in route_text */
    struct sma_buf route_text;
    struct sma_buf result;
};

struct sma_run
{
    uint32_t magic;
    enum run_state state;
    const struct sma_run_order *order;
    struct sma_sessions *sessions;
    struct sma_session *session;
    struct sma_run_settings *settings;
    enum sma_language language;
    int64_t wall_ms;
    uint64_t random[2], now_ns;
    struct sma_stamps stamps;
    bool is_draining, has_delivered;
    bool is_waiting; /* WAIT was asked */
    uint32_t round, shrink_count, next_number;

    /* the current turn, as it goes on the wire */
    struct sma_buf facts, turn, earlier;
    struct sma_str few_blocks[BLOCKS_FEW], *many_blocks,
        *blocks; /* blocks points to one of the two */
    uint32_t block_count;
    uint32_t fragment_count, message_count;
    size_t fragment_starts[FRAGMENT_COUNT_MAX], fragment_ends[FRAGMENT_COUNT_MAX];
    struct sma_buf tool_calls, sent_texts; /* for DONE; what the user has been sent */

    /* the answer that is being worked on */
    struct sma_buf answer_data;
    struct sma_stored_answer answer;
    struct run_call *calls;
    uint32_t call_count, open_count;
    struct sma_step_delivery *deliveries;
    uint32_t delivery_count;
    uint32_t answer_number;
    bool answer_is_asked;

    /* the results step that may still be on its way to the disk */
    struct sma_buf results_data;
    uint32_t results_number; /* 0 = none open */
    bool results_are_asked;

    /* the end */
    uint8_t outcome;
    struct sma_buf final_text, done_text, turn_data;
    struct sma_step_delivery done_delivery;
    bool has_done_delivery, done_is_asked;
    struct sma_buf scratch;
    struct sma_str *session_ids;
    uint32_t session_id_room;
    struct sma_run_actions *actions; /* of the event being handled */
};

/* run.c */
struct sma_run_action *run_act(struct sma_run *run, enum sma_run_action_kind kind);
void run_progress(struct sma_run *run, enum sma_progress_kind kind, struct sma_str text);
/* Begin a fragment of the turn; write it to run->turn; end it. */
void run_open_fragment(struct sma_run *run);
void run_close_fragment(struct sma_run *run, uint32_t message_count);
/* The next request, after shrinking the session while it is over the bound. */
void run_ask_model(struct sma_run *run);
void run_store_results(struct sma_run *run);
void run_wait(struct sma_run *run);
/* Draining: end now, or when the step that is on its way has been answered. */
void run_settle(struct sma_run *run);
void run_end(struct sma_run *run, bool is_counted);
/* The user's message as the first fragment; stored_facts when it was sent before. */
void run_put_user(struct sma_run *run, struct sma_str stored_facts);

/* run_round.c */
void run_take_answer(struct sma_run *run, const struct sma_model_answer *answer);
/* Read run->answer_data and make room for its calls. false: the run has failed. */
bool run_open_answer(struct sma_run *run);
void run_drop_answer(struct sma_run *run);
void run_store_answer(struct sma_run *run);
void run_carry_out(struct sma_run *run, const struct sma_step_done *step);
void run_contact(struct sma_run *run, uint32_t index, const struct sma_contact_result *contact);
void run_history(struct sma_run *run, uint32_t index, const struct sma_history_lines *lines);
void run_sent(struct sma_run *run, uint32_t index, enum sma_send_state state, struct sma_str error);
/* What an outbox row says about its call: a result, or a question to the dispatcher. */
void run_delivery_state(struct sma_run *run, uint32_t index,
                        const struct sma_step_delivery_state *delivery);
void run_set_error(struct run_call *call, struct sma_str text);
/* All results there: the round is over. Draining: perhaps without waiting for the rest. */
void run_check_round(struct sma_run *run);
/* An answer and its results become part of the turn, of the tool calls and of what was delivered. */
void run_absorb(struct sma_run *run, const struct sma_stored_answer *answer,
                const struct sma_stored_result *results, uint32_t count);

/* run_finish.c */
void run_finish_answer(struct sma_run *run, const struct sma_model_answer *answer);
/* The end with a notice, which the caller has formatted into run->done_text. */
void run_finish_notice(struct sma_run *run, enum sma_outcome outcome);
void run_finish_too_long(struct sma_run *run);
void run_finish_failed(struct sma_run *run, const char *why);
void run_store_done(struct sma_run *run);

/* run_resume.c */
void run_resume(struct sma_run *run);

#endif
