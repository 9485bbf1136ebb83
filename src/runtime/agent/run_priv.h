/*
 * run_priv.h — inside of a run, shared by run.c (states), run_context.c (what is sent), run_model.c
 * (what an answer does), run_round.c (one answer and its results), run_calls.c (each call),
 * run_tools.c (consent), run_nudge.c (answers that are none), run_added.c (what comes meanwhile),
 * run_mcp.c (tools of servers), run_finish.c (ends), run_resume.c, run_settings.c.
 */
#ifndef SMA_RUNTIME_AGENT_RUN_PRIV_H
#define SMA_RUNTIME_AGENT_RUN_PRIV_H

#include "runtime/agent/prompt.h"
#include "runtime/agent/run.h"
#include "runtime/agent/run_added.h"
#include "runtime/agent/run_child.h"
#include "runtime/agent/run_compact.h"
#include "runtime/agent/run_mcp.h"
#include "runtime/agent/run_parts.h"
#include "runtime/agent/run_question.h"
#include "runtime/agent/trace.h"
#include "runtime/approval/request.h"
#include "sma/notices.h"

#define RUN_MAGIC 0x52554e31u
#define FRAGMENT_COUNT_MAX \
    (4 +                   \
     3 * SMA_RUN_STEP_COUNT_MAX) /* user; answer, results and what was added of each round; two \
                                        at the limit of steps, the last answer or how it ended */
/* Stands for an answer without words: some models must be sent an answer between two messages of
 * the other side, and none takes a blank one. */
#define RUN_NO_WORDS "[no words]"
#define RUN_CACHE_KEY_BYTES 16 /* which chat it is, for providers that route by it */
/* facts, what is remembered, two of what was said since, context, text */
#define BLOCKS_FEW 6
#define SMA_RUN_LADDER_MAX 5
#define TOOL_CALLS_BYTES_MAX (1024 * 1024)

enum run_state
{
    RUN_NEW,
    RUN_LOADING,    /* SESSION asked */
    RUN_PREPARING,  /* ENCODE asked, or llm.vision: before a request */
    RUN_MODEL,      /* MODEL asked */
    RUN_COMPACTING, /* MODEL asked for a summary */
    RUN_CHECKING,   /* receivers and verdicts asked, the answer not stored yet */
    RUN_STORING,    /* the answer's STEP asked */
    RUN_TOOLS,      /* its calls are carried out */
    RUN_SETTLING,   /* draining: waits for the last STEP, then ends */
    RUN_FINISHING,  /* DONE asked */
    RUN_OVER,
};

/* What a call waits for. */
enum call_stage
{
    CALL_IDLE,
    CALL_CONTACT, /* the store: who is it? */
    CALL_HISTORY, /* the store */
    CALL_MEMORY,  /* the store */
    CALL_FETCH,   /* the store, which asks the platform */
    CALL_CHECK,   /* the tools: may it be done? */
    CALL_TURN,    /* a command: files of the same answer are written first */
    CALL_RUN,     /* the tools: its result */
    CALL_ENCODE,  /* the tools: what its result shows */
    CALL_MCP,     /* a server: its result */
    CALL_NOTE,    /* the step that holds its delivery */
    CALL_SENT,    /* the dispatcher */
    CALL_CHILD,   /* a sub-agent: its end is durable, then it has its result */
};
/* One call of the answer that is being worked on. */
struct run_call
{
    enum sma_tool tool;
    enum call_stage stage; /* not IDLE: open */
    struct sma_tool_args args;
    uint64_t begun_ns,
        ended_ns; /* first question about it asked, last one answered; 0 = there was none */
    bool has_result;
    uint32_t times; /* it brought the same result so often in a row; 0 = it is new */
    bool is_error, is_delivered;
    bool goes_elsewhere;                      /* to another chat than the run's */
    bool is_asked;                            /* people must agree to item */
    bool is_decided, is_approved;             /* they have spoken */
    const struct sma_stored_decision *agreed; /* is_approved: to this */
    uint32_t delivery;                        /* index + 1 of its delivery in the step; 0 = none */
    struct sma_route route; /* of the receiver; slices in route_text or in the stored answer */
    struct sma_str whom;    /* who that is, for people; likewise */
    bool is_doubtful;       /* whether it is who was meant */
    uint32_t leaving_bytes, leaving_weight; /* counted until the check has said to whom they go */
    struct sma_buf route_text, delivery_text;
    struct sma_buf item; /* as the tools made it */
    struct sma_buf result;
    const char *asked_people; /* its server did: what came of it; NULL: it did not */
    struct run_part *parts;   /* what it shows */
    uint32_t part_count, part_open_count;
};
/* A round that is over, as no provider's format has it: the turn can be made again from it for any
 * target. */
struct run_round
{
    struct sma_buf answer_data,
        results_data; /* as in the steps; the slices below point into them */
    struct sma_stored_answer answer;
    struct sma_stored_results results; /* one for each call; none: answer.line was said after it */
    uint32_t added_first, added_count; /* of run->added.list: given behind it */
};
/* In which form rounds and session are sent. */
enum run_form
{
    RUN_FORM_OWN, /* fragments of the target that is asked as they are, others without reasoning */
    RUN_FORM_PLAIN, /* no reasoning at all, and of the session only what was said */
    RUN_FORM_TOLD,  /* rounds are told in words: no calls either */
};
/* A call of this run: how often it has failed, and brought what it had brought before. */
struct run_failure
{
    uint64_t hash; /* of its name and canonical arguments, which takes many allocations: */
    const struct sma_stored_call *call; /* not made yet, of this one of a round; NULL: it is */
    uint64_t result;
    uint32_t count;
    uint32_t same_count; /* in a row, the first time counted */
};

/* What `chats` and /model say of this chat. */
struct run_chat
{
    const struct sma_chat_rule *prompt; /* NULL: Agent.md alone */
    size_t first;                       /* who is asked first */
    uint32_t skipped;                   /* bit = index: not asked in this chat */
};

/* What the memory says before the first request (run_memory.c). */
struct run_recall
{
    bool is_asked, is_open;
    uint32_t count;
    struct sma_recalled facts[SMA_MEMORY_RECALL_COUNT_MAX]; /* texts: offsets into `texts` */
    struct sma_buf texts, told;
};

/* Lines of the history that the model was shown in this run (run_past.c). */
struct run_past
{
    uint64_t *marks; /* sma_line_mark */
    uint32_t count, room;
    /* a group: what was said since our last text; empty = nothing */
    bool asks_chatter;
    struct sma_buf chatter_head, chatter;
};

struct sma_run
{
    uint32_t magic;
    enum run_state state;
    const struct sma_run_order *order; /* own_order */
    struct sma_run_order own_order; /* as it came; standing is the least of all who wrote so far */
    struct run_added added;
    struct sma_sessions *sessions;
    struct sma_session *session;
    struct sma_run_settings *settings;
    const struct sma_target *target; /* of the settings: who is asked now */
    size_t target_index;
    enum sma_language language;
    int64_t wall_ms;
    struct sma_prompt_channel channel;
    uint64_t random[2], now_ns;
    uint64_t begun_ns, asked_ns; /* of wall_ms; the model was asked last */
    struct sma_trace trace;
    struct sma_stamps stamps;
    uint64_t offers;           /* enum sma_tool_offer */
    bool has_files, has_cards; /* the chat itself; the tools are offered for other chats, too */
    struct run_chat chat;
    struct sma_budget_over over; /* scope not NONE: it makes no further request */
    const struct sma_buf *head;
    bool is_draining, has_delivered;
    bool asks_skills; /* LOADING: the lines that name the skills are asked for */
    bool has_shown;   /* a file or a reaction: an answer without words */
    bool tells_time;  /* resumed long after the message: the next results say what time it is */
    bool has_worked;  /* tools have given results since the user was last sent a text */
    /* the last round only sent to this chat: that no model closes it is no news */
    bool is_answered;
    bool is_waiting; /* WAIT was asked */
    uint32_t round, shrink_count, next_number;

    /* the current turn, as it goes on the wire */
    struct sma_buf facts, turn, earlier;
    struct run_parts see;  /* what the messages show */
    struct sma_buf masked; /* what people wrote, without the word of our blocks */
    struct sma_str few_blocks[BLOCKS_FEW], *many_blocks,
        *blocks; /* blocks points to one of the two */
    uint32_t block_count;
    uint32_t fragment_count, message_count;
    size_t fragment_starts[FRAGMENT_COUNT_MAX], fragment_ends[FRAGMENT_COUNT_MAX];
    bool fragment_is_user[FRAGMENT_COUNT_MAX]; /* made by put_user or put_results */
    struct run_round *rounds;                  /* made when there is one */
    uint32_t round_count, round_room;
    /* of the session and of the first form_round_count rounds; later ones: OWN */
    enum run_form form;
    uint32_t form_round_count;
    uint32_t moved_first,
        moved_end; /* rounds before which something has changed since they were made */
    bool is_break; /* the session was refused as it was: the stored turn says so */
    uint32_t fragment_messages[FRAGMENT_COUNT_MAX];
    struct sma_buf tool_calls, sent_texts; /* for DONE; what the user has been sent */
    size_t last_sent;                      /* where the newest of them begins */

    /* answers that were not the end (run_nudge.c) */
    struct sma_buf parts; /* of a text that was cut off, so far */
    uint32_t cut_text_count, cut_call_count, empty_count;
    bool is_looping; /* that is why: the same steps came again and again */
    bool is_summing; /* the steps are used up: the next text is the end, whatever it is */

    /* the answer that is being worked on */
    struct sma_buf answer_data;
    struct sma_stored_answer answer;
    struct run_call *calls;
    uint32_t call_count, open_count, tool_open_count;
    struct sma_step_delivery *deliveries;
    uint32_t delivery_count;
    uint32_t answer_number;
    bool answer_is_asked;
    /* > 0: it is no answer that is being stored, but that the run waits for a model */
    uint32_t wait_ms;
    bool is_parking; /* the answer's step asks people: request */
    struct sma_buf request;
    struct sma_stored_decisions decisions;
    bool has_decisions;
    uint32_t note_number; /* the step with the deliveries of approved sends, on its way; 0 = none */
    bool note_is_asked;

    /* over the rounds */
    struct run_failure *failures;
    uint32_t failure_count, failure_room;
    uint32_t stale_count;   /* rounds in a row that brought nothing new */
    uint32_t unknown_count; /* calls of tools that there are not */
    uint32_t unreadable_count;

    /* the results step that may still be on its way to the disk */
    struct sma_buf results_data;
    uint32_t results_number; /* 0 = none open */
    bool results_are_asked;

    /* models that do not answer */
    uint32_t tried; /* bit = index: failed since the last good answer of this life */
    uint8_t troubles[SMA_MODEL_COUNT_MAX];  /* enum sma_model_failure, of those that were tried */
    struct sma_stored_wait wait;            /* since when, how often; count 0 = it does not wait */
    struct sma_buf notice;                  /* that it waits */
    bool has_asked;                         /* a model, in this life */
    const char *ladder[SMA_RUN_LADDER_MAX]; /* forms that were tried for a refusal nobody knows */
    uint32_t ladder_count;
    char window_fact[32];
    bool was_tried_smaller;     /* for such a refusal */
    size_t asked_refused_count; /* what the target was known to refuse when it was asked last */
    struct sma_usage usage;     /* since the last step that told it */
    const struct sma_target *usage_target; /* who answered last; NULL = nobody */

    struct run_compact compact;
    struct run_mcp mcp;
    struct run_prompt prompt;
    struct run_questions questions;

    /* sub-agents (run_child.h) */
    struct sma_run *parent;        /* of a sub-agent: the run that it works for; borrowed */
    struct run_children *children; /* of the open answer; NULL: it has none */
    const struct run_machine *machine;
    uint32_t child_total;  /* of the rounds that are over */
    uint32_t child_number; /* of the newest that was begun in this life */
    uint32_t round_max;    /* answers of the model that it may have */

    /* the end */
    uint8_t outcome;
    struct sma_buf final_text, done_text, turn_data;
    struct sma_step_delivery done_delivery;
    bool has_done_delivery, done_is_asked;
    struct sma_buf scratch;
    struct sma_buf skills; /* folders of those that were loaded, a line each */
    struct sma_str *session_ids;
    uint32_t session_id_room;
    struct run_recall recall;
    struct run_past past;
    struct sma_run_actions *actions; /* of the event being handled */
};

/* run.c */
/* One event; actions are added behind those that there are. */
void run_handle(struct sma_run *run, const struct sma_run_event *event);
struct sma_run_action *run_act(struct sma_run *run, enum sma_run_action_kind kind);
void run_progress(struct sma_run *run, enum sma_progress_kind kind, struct sma_str text);
/** TOOL: this call is carried out. */
void run_progress_call(struct sma_run *run, uint32_t index);
void run_store_results(struct sma_run *run);
void run_wait(struct sma_run *run);
/* Draining: end now, or when the step that is on its way has been answered. */
void run_settle(struct sma_run *run);
void run_end(struct sma_run *run, bool is_counted);
void run_cancel_tools(struct sma_run *run);

/* run_past.c */
void run_past_fini(struct run_past *past);
/* The chat has lines and no turns: make turns of them, in plain form, and the session of those. */
void run_past_fill(struct sma_run *run, const struct sma_history_lines *lines);
/* Ask what was said in the group since our last text. false: it is none. */
bool run_past_ask_chatter(struct sma_run *run);
void run_past_put_chatter(struct sma_run *run, const struct sma_history_lines *lines);
/* Is this the id of a message of the live session? */
bool run_past_knows(const struct sma_run *run, struct sma_str id);
/* For the question: what is not to be given again. */
struct sma_str run_past_given(const struct run_past *past);
/* Note the lines that this result of chat_load_history shows. */
void run_past_read(struct run_past *past, struct sma_str result);
/* Leave out what was shown: two calls of one answer ask at once. @return lines left */
uint32_t run_past_filter(const struct run_past *past, struct sma_history_line *lines,
                         uint32_t count);

/* run_settings.c */
/* Everything of a request before its messages, when these tools are offered. */
struct run_head_need
{
    struct sma_run_head_key key;
    struct sma_mcp_view view; /* what key.catalogue and key.tools mean */
    uint64_t facts_word;
};
SMA_CHECKED enum sma_err run_find_head(struct sma_run_settings *settings,
                                       const struct run_head_need *need,
                                       const struct sma_buf **ret_head);

/* run_chat.c */
/* What holds in the run's chat: who is asked, what is offered. */
void run_chat_init(struct sma_run *run, uint64_t channel_offers);
/* The head of what is asked now. */
SMA_CHECKED enum sma_err run_take_head(struct sma_run *run);
/* Who can be asked now: the chat's own model, then llm.fallbacks; model_count = nobody. `tried` is
 * left out. */
size_t run_find_target(const struct sma_run *run, uint32_t tried);
/* Who can be asked first when nobody can be now. */
size_t run_first_back(const struct sma_run *run);

/* run_context.c */
/* Begin a fragment of the turn; write it to run->turn; end it. */
void run_open_fragment(struct sma_run *run);
void run_close_fragment(struct sma_run *run, uint32_t message_count);
/* Something that the program says to the model, as from the user, at the end of the turn. */
void run_say(struct sma_run *run, struct sma_str line);
/* The user's message as the first fragment; stored_facts when it was sent before. */
void run_put_user(struct sma_run *run, struct sma_str stored_facts);
/* run->answer, whose results are these bytes (as in a RESULTS step; empty: it had no calls), is
 * over: a round of the turn. Takes run->answer_data. NULL: the turn has failed, the next request
 * tells. */
struct run_round *run_add_round(struct sma_run *run, struct sma_str results);
void run_drop_rounds(struct sma_run *run);
/* Make the turn again: for another target, in another form. */
void run_rebuild(struct sma_run *run);
/* What stands before round `first` is not what its model has seen: of this and of later rounds so
 * far, thinking that is bound to it is left out of the turn, when it is made again. */
void run_mark_moved(struct sma_run *run, uint32_t first);
/* The largest results of this run's rounds first. true: that alone should be enough. */
bool run_shorten_own(struct sma_run *run);
/* Make the next request shorter. false: there is nothing left to leave out. */
bool run_shrink(struct sma_run *run);
/* Session and head are what the target takes. false: the run has ended. */
bool run_make_fit(struct sma_run *run);
/* And the request is within the bounds. */
bool run_fit_request(struct sma_run *run);

/* run_model.c */
/* Who is asked first in this life. */
void run_pick_target(struct sma_run *run);
/* The next request; or, when every model has asked to be left alone for a while, the wait. */
void run_ask_model(struct sma_run *run);
/* The run waits on disk for a model. false: waiting is no use (any more). */
bool run_wait_for_model(struct sma_run *run, uint32_t targets, struct sma_str reason);
/* A stored wait is read again. */
void run_resume_wait(struct sma_run *run, const struct sma_stored_wait *wait);
/* A round is over: the next request, or the end when there were enough. */
void run_next(struct sma_run *run);
void run_model_answered(struct sma_run *run, const struct sma_model_answer *answer);

/* Key of who answered since the last step that told the usage; empty = nobody. */
struct sma_str run_usage_target(const struct sma_run *run);

/* run_words.c */
/* The word that our blocks begin with. */
void run_print_word(const struct sma_run *run, char word[17]);
/* The same, crossed out of what people wrote. */
void run_cross_out(const struct sma_run *run, char *text, size_t len);
/* A part that goes on where the ones before were cut off: what it repeats of their end is left
 * out. */
void run_join_part(struct sma_buf *parts, struct sma_str text);

/* run_nudge.c */
/* Each OK answer before anything else is done with it. true: it was not the end, run_go_on (or an
 * end) was called. */
bool run_nudge(struct sma_run *run, const struct sma_model_answer *answer);
/* run->answer has been read, live or again: count what was not the end. */
void run_nudge_count(struct sma_run *run);
/* The last step that a run may make is over, its results are in the turn. Live: results are stored
 * already. Ends the run, or asks a last time (run_ask_model). */
void run_nudge_limit(struct sma_run *run);

/* run_round.c */
/* This answer is not the end: it stays in the turn, `line` is said after it as if by the user, and
 * the model is asked again as soon as the step that holds both is durable. answer->text may be
 * blank. For run_nudge.c. */
void run_go_on(struct sma_run *run, const struct sma_model_answer *answer, struct sma_str line);
void run_on_answer(struct sma_run *run, const struct sma_model_answer *answer);
/* Read run->answer_data and make room for its calls. false: the run has failed. */
bool run_open_answer(struct sma_run *run);
void run_drop_answer(struct sma_run *run);
void run_store_answer(struct sma_run *run);
void run_carry_out(struct sma_run *run, const struct sma_step_done *step);
/* Everything that had to be known before the answer is stored is known. */
void run_resolved(struct sma_run *run);
/* All results there: the round is over. Draining: perhaps without waiting for the rest. */
void run_check_round(struct sma_run *run);
/* The run waits: store it. NULL delivery: the chat is not told. */
void run_store_wait(struct sma_run *run, uint32_t wait_ms, const struct sma_stored_wait *wait,
                    const struct sma_step_delivery *delivery);
/* Every call of the answer was known when it was stored, or is a message to this chat, whose row
 * tells: no results are stored of it. */
bool run_is_known_by_rows(const struct sma_run *run);
/* Store this answer; line: see run_go_on. false: the run has failed. */
bool run_begin_round(struct sma_run *run, const struct sma_model_answer *answer,
                     struct sma_str line);
/* An answer and its results become part of the turn, of the tool calls and of what was
 * delivered. */
void run_absorb(struct sma_run *run, struct sma_str results);
/* The results of all calls of the answer, encoded into run->results_data. false: the run has
 * failed. */
bool run_put_results(struct sma_run *run);
/* The user has stopped the run in the middle of a round: the same with what there is. */
void run_absorb_open(struct sma_run *run);

/* run_recall.c */
/* Facts that fit the message, behind the facts of the run; those that the conversation holds
 * already are left out. */
void run_put_recalled(struct sma_run *run);
/* Into recall.told: the facts that the conversation holds. */
void run_find_told(struct sma_run *run);
/* Asks the memory, once. false: there is nothing to ask, or it has been asked. */
bool run_recall_ask(struct sma_run *run);
/* It has answered. NULL: it is not waited for any longer. */
void run_recall_came(struct sma_run *run, const struct sma_memory_result *result);
void run_recall_init(struct run_recall *recall);
void run_recall_fini(struct run_recall *recall);
/* Where they begin in the facts, in this life or an earlier one; their length = they hold none. */
size_t run_find_recalled(struct sma_run *run);

/* run_memory.c */
void run_ask_memory(struct sma_run *run, uint32_t index);
void run_memory(struct sma_run *run, uint32_t index, const struct sma_memory_result *result);

/* run_calls.c */
void run_contact(struct sma_run *run, uint32_t index, const struct sma_contact_result *contact);
void run_history(struct sma_run *run, uint32_t index, const struct sma_history_lines *lines);
void run_fetched(struct sma_run *run, uint32_t index, const struct sma_fetched *fetched);
void run_sent(struct sma_run *run, uint32_t index, enum sma_send_state state, struct sma_str error);
void run_ask_contact(struct sma_run *run, uint32_t index);
/* What is known of an outbox row by now, as its call's result. */
void run_delivery_is(struct sma_run *run, uint32_t index,
                     const struct sma_step_delivery_state *delivery);
/* What an outbox row says about its call: a result, or a question to the dispatcher. */
void run_delivery_state(struct sma_run *run, uint32_t index,
                        const struct sma_step_delivery_state *delivery);
void run_set_error(struct run_call *call, struct sma_str text);
void run_set_result(struct run_call *call, bool is_error);
/* What can be said of a call without doing anything: its result, when it will not be carried out.
 * Reads its arguments. */
void run_check_call(struct sma_run *run, uint32_t index);
/* A question about a call is open, or has been answered (NULL: no such question is open). */
void run_open_call(struct sma_run *run, uint32_t index, enum call_stage stage);
struct run_call *run_close_call(struct sma_run *run, uint32_t index, enum call_stage stage);
/* Ask for what the call needs, now that it may be done. */
void run_begin_call(struct sma_run *run, uint32_t index);
/* All calls are begun, or a result has come: commands whose turn it is. */
void run_begin_commands(struct sma_run *run);
/* The delivery that a send is. */
void run_put_delivery(struct sma_run *run, uint32_t index);

/* run_tools.c */
bool run_is_send(enum sma_tool tool);
/** Does it reply or react to a message of this chat of which the run itself knows nothing? The
 *  store is asked then: it may be one of another chat. */
bool run_names_message(const struct sma_run *run, uint32_t index);
/** Does it send to another chat than the run's? */
bool run_goes_elsewhere(const struct sma_run *run, const struct sma_stored_call *call);
/* Ask the tools about a call: CHECK or RUN. */
void run_ask_tool(struct sma_run *run, uint32_t index, enum sma_tool_mode mode);
void run_tool(struct sma_run *run, uint32_t index, const struct sma_tool_answer *answer);
/* Make run->request of what people must be asked; false: the run has failed. */
bool run_build_request(struct sma_run *run);
void run_store_note(struct sma_run *run);
void run_note_durable(struct sma_run *run, const struct sma_step_done *step);
/* Words that came with the consent, and what time it is by now, go to the model with the result. */
void run_add_words(struct sma_run *run, uint32_t index);
/* Has this very call failed too often? Count how a call ended; true: it brought something new. */
bool run_is_repeated(struct sma_run *run, const struct sma_stored_call *call);
bool run_count_result(struct sma_run *run, const struct sma_stored_call *call,
                      struct sma_str content, bool is_error);
/* The model is told with the result that it asks for the same again. */
void run_tell_repeated(struct sma_run *run, uint32_t index);
/* Rounds without news: the run is summed up and ended. */
bool run_goes_in_circles(struct sma_run *run);

/* run_egress.c */
/* Of the whole session, shared with sub-agents: what came in, what has left. */
struct sma_egress *run_egress(const struct sma_run *run);
/* Contents of the project, its memory, its people or its servers came before the model. */
void run_content_came(struct sma_run *run);
/* The person's own words of the message that is answered: nothing of what they forward or quote. */
struct sma_str run_own_words(const struct sma_run *run);
/* web_fetch, web_search: fill the question, and count what would leave until it is answered. */
void run_egress_ask(struct sma_run *run, struct run_call *call, struct sma_tool_ask *ask);
void run_egress_checked(struct sma_run *run, struct run_call *call, enum sma_egress_to to);
/* Arguments for a server elsewhere: would they be too much? */
bool run_egress_is_much(struct sma_run *run, uint32_t bytes);
/* A call is about to be carried out: after consent counting begins anew. */
void run_egress_agreed(struct sma_run *run, const struct run_call *call);
/* As an answer's step says. */
void run_egress_resume(struct sma_run *run, const struct sma_egress *stored);

/* run_finish.c */
void run_finish_answer(struct sma_run *run, const struct sma_model_answer *answer);
/* The end with a notice, which the caller has formatted into run->done_text. why: for the model, of
 * its next turn. */
void run_finish_notice(struct sma_run *run, enum sma_outcome outcome, const char *why);
/* No model could be reached, or none took the request. OK and one soft line when
 * run->is_answered. */
void run_finish_model_failed(struct sma_run *run, const struct sma_model_answer *answer);
/* The user has stopped it, the store knows: what was done stays for the next turn. */
void run_finish_stopped(struct sma_run *run);
void run_finish_too_long(struct sma_run *run);
/* A command is carried out: run->done_text says it. No turn is made of it. */
void run_finish_command(struct sma_run *run, enum sma_outcome outcome);
void run_finish_failed(struct sma_run *run, const char *why);
void run_finish_over(struct sma_run *run);
void run_store_done(struct sma_run *run);

/* run_command.c */
/* The run is no message but /compact. */
void run_command_begin(struct sma_run *run);
/* A summary of it is durable, or there is none. */
void run_command_durable(struct sma_run *run);
void run_command_failed(struct sma_run *run);

/* run_trace.c: notes for the trace */
void run_trace_begin(struct sma_run *run);
void run_count_answer(struct sma_str target, const struct sma_model_answer *answer, uint64_t ns);
void run_trace_answer(struct sma_run *run, const struct sma_model_answer *answer);
/* The target is not asked before this time: for `status`. */
void run_trace_cooled(const struct sma_run *run, uint64_t until_ns, struct sma_str why);
/* Of the round that has all its results. */
void run_trace_calls(struct sma_run *run);

/* run_resume.c */
void run_resume(struct sma_run *run);

#endif
