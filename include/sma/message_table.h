/*
 * message_table.h — every message kind in one table: who sends it to whom, how, what it holds.
 *
 * Not a header of declarations. messages.h, messages.c and edges.c include this file several times,
 * each time with other meanings of the words below, and make of it the kinds and their names, the
 * structs, the functions that size and copy them (sma_msg_make_<name>), what may travel where, the
 * lanes, and two tables of ARCHITECTURE.md. A new kind is a row and its body here, and the code of
 * its sender and its receiver.
 *
 *   MSG(kind, name, class, from, to, body)
 *       class     ASK(answer): answered exactly once, by that kind | ANSWER |
 *                 SIGNAL: may be dropped | HANDOFF: the store keeps it as a row, or it is control
 *       from, to  an actor, ADAPTER (each of them) or ANY
 *   ALSO(kind, from, to)
 *       a second way that the same message takes
 *   LANE(from, to, capacity, signals, asks)
 *       slots of the main lane, slots of the droppable lane, questions `from` may have open at
 *       `to`. A lane that carries answers is at least as large as the questions they answer.
 *       ADAPTER, ADAPTER is every pair of different ones.
 *   BODY(struct) ... END
 *       a body, or a part of one (before what holds it). One field a line:
 *       FIELD(type, name)            a number, a flag, a plain struct, something immutable
 *       FIXED(type, name, count)     an array inside the body
 *       TEXT(name)                   struct sma_str: text or bytes
 *       TEXTS(count, names)          uint32_t count; struct sma_str *names
 *       PART(struct, name)           another BODY inside this one
 *       LIST(struct, count, names)   uint32_t count; struct *names, an array of BODYs
 *
 * Texts, lists and what they hold are copied into the message, each text with a NUL behind it.
 * Times are monotonic ns unless named _ms.
 */
/* clang-format off */
#ifndef MSG
#define MSG(kind, name, class, from, to, body)
#endif
#ifndef ALSO
#define ALSO(kind, from, to)
#endif
#ifndef LANE
#define LANE(from, to, capacity, signals, asks)
#endif
#ifndef BODY
#define BODY(struct_name)
#define FIELD(type, name)
#define FIXED(type, name, count)
#define TEXT(name)
#define TEXTS(count, names)
#define PART(struct_name, name)
#define LIST(struct_name, count, names)
#define END
#endif

/*  kind            name            class                from        to          body */
MSG(LIFE,           life,           HANDOFF,             SUPERVISOR, ANY,        sma_life)
MSG(LIFE_DONE,      life_done,      HANDOFF,             ANY,        SUPERVISOR, sma_life)
MSG(RELOAD,         reload,         HANDOFF,             SUPERVISOR, ANY,        sma_reload)
MSG(LOG,            log,            SIGNAL,              ANY,        LOG,        sma_log_line)
MSG(INGRESS,        ingress,        ASK(ACCEPTED),       ADAPTER,    STORE,      sma_ingress)
MSG(ACCEPTED,       accepted,       ANSWER,              STORE,      ADAPTER,    sma_accepted)
MSG(PREPARE,        prepare,        ASK(PREPARED),       STORE,      ADAPTER,    sma_prepare)
MSG(PREPARED,       prepared,       ANSWER,              ADAPTER,    STORE,      sma_prepared)
MSG(WEBHOOK,        webhook,        ASK(WEBHOOK_ANSWER), ADAPTER,    ADAPTER,    sma_webhook)
MSG(WEBHOOK_ANSWER, webhook_answer, ANSWER,              ADAPTER,    ADAPTER,    sma_webhook_answer)
MSG(AWAIT,          await,          ASK(RESULT),         ADAPTER,    STORE,      sma_await)
MSG(RESULT,         result,         ANSWER,              STORE,      ADAPTER,    sma_result)
MSG(QUERY,          query,          ASK(QUERY_RESULT),   ADAPTER,    STORE,      sma_query)
MSG(QUERY_RESULT,   query_result,   ANSWER,              STORE,      ADAPTER,    sma_query_result)
MSG(RUN,            run,            HANDOFF,             STORE,      AGENT,      sma_run_order)
MSG(STEER,          steer,          HANDOFF,             STORE,      AGENT,      sma_steer)
MSG(CONTROL,        control,        HANDOFF,             STORE,      AGENT,      sma_control_order)
MSG(SESSION,        session,        ASK(SESSION_TURNS),  AGENT,      STORE,      sma_session_ask)
MSG(SESSION_TURNS,  session_turns,  ANSWER,              STORE,      AGENT,      sma_session_turns)
MSG(STEP,           step,           ASK(STEP_DONE),      AGENT,      STORE,      sma_step)
MSG(STEP_DONE,      step_done,      ANSWER,              STORE,      AGENT,      sma_step_done)
MSG(DONE,           done,           ASK(DONE_DONE),      AGENT,      STORE,      sma_done)
MSG(DONE_DONE,      done_done,      ANSWER,              STORE,      AGENT,      sma_step_done)
MSG(HISTORY,        history,        ASK(HISTORY_LINES),  AGENT,      STORE,      sma_history_ask)
MSG(HISTORY_LINES,  history_lines,  ANSWER,              STORE,      AGENT,      sma_history_lines)
MSG(FETCH,          fetch,          ASK(FETCHED),        AGENT,      STORE,      sma_fetch_ask)
MSG(FETCHED,        fetched,        ANSWER,              STORE,      AGENT,      sma_fetched)
MSG(CONTACT,        contact,        ASK(CONTACT_RESULT), AGENT,      STORE,      sma_contact_ask)
MSG(CONTACT_RESULT, contact_result, ANSWER,              STORE,      AGENT,      sma_contact_result)
MSG(MEMORY,         memory,         ASK(MEMORY_RESULT),  AGENT,      MEMORY,     sma_memory_ask)
MSG(MEMORY_RESULT,  memory_result,  ANSWER,              MEMORY,     AGENT,      sma_memory_result)
MSG(EXTRACT,        extract,        HANDOFF,             MEMORY,     AGENT,      sma_extract)
MSG(FORGOTTEN,      forgotten,      SIGNAL,              STORE,      MEMORY,     sma_forgotten)
MSG(SPENT,          spent,          HANDOFF,             AGENT,      STORE,      sma_spent)
MSG(MODEL,          model,          ASK(MODEL_ANSWER),   AGENT,      MODEL,      sma_model_ask)
MSG(MODEL_ANSWER,   model_answer,   ANSWER,              MODEL,      AGENT,      sma_model_answer)
MSG(MODEL_CANCEL,   model_cancel,   HANDOFF,             AGENT,      MODEL,      sma_model_cancel)
MSG(MODEL_DELTA,    model_delta,    SIGNAL,              MODEL,      AGENT,      sma_model_delta)
MSG(SEND,           send,           ASK(SEND_RESULT),    AGENT,      DISPATCHER, sma_send)
MSG(SEND_RESULT,    send_result,    ANSWER,              DISPATCHER, AGENT,      sma_send_result)
MSG(DELIVER,        deliver,        HANDOFF,             STORE,      DISPATCHER, sma_deliver)
MSG(CANCEL_DELIVER, cancel_deliver, HANDOFF,             STORE,      DISPATCHER, sma_cancel_deliver)
MSG(RECEIPT,        receipt,        ASK(RECEIPT_DONE),   DISPATCHER, STORE,      sma_receipt)
MSG(RECEIPT_DONE,   receipt_done,   ANSWER,              STORE,      DISPATCHER, sma_receipt_done)
MSG(LATE,           late,           SIGNAL,              DISPATCHER, STORE,      sma_late)
MSG(ATTEMPT,        attempt,        ASK(ATTEMPT_RESULT), DISPATCHER, ADAPTER,    sma_attempt)
MSG(ATTEMPT_RESULT, attempt_result, ANSWER,              ADAPTER,    DISPATCHER, sma_attempt_result)
MSG(PROGRESS,       progress,       SIGNAL,              AGENT,      DISPATCHER, sma_progress)
MSG(TOOL,           tool,           ASK(TOOL_ANSWER),    AGENT,      TOOLS,      sma_tool_ask)
MSG(TOOL_ANSWER,    tool_answer,    ANSWER,              TOOLS,      AGENT,      sma_tool_answer)
MSG(TOOL_CANCEL,    tool_cancel,    HANDOFF,             AGENT,      TOOLS,      sma_tool_cancel)
MSG(ENCODE,         encode,         ASK(ENCODED),        AGENT,      TOOLS,      sma_encode_ask)
MSG(ENCODED,        encoded,        ANSWER,              TOOLS,      AGENT,      sma_encoded)
MSG(JUDGE,          judge,          HANDOFF,             STORE,      AGENT,      sma_judge)
MSG(JUDGED,         judged,         ASK(JUDGED_DONE),    AGENT,      STORE,      sma_judged)
MSG(JUDGED_DONE,    judged_done,    ANSWER,              STORE,      AGENT,      sma_step_done)
MSG(DECIDE,         decide,         ASK(DECIDED),        ADAPTER,    STORE,      sma_decide)
MSG(DECIDED,        decided,        ANSWER,              STORE,      ADAPTER,    sma_decided)
MSG(LEARNED,        learned,        HANDOFF,             STORE,      AGENT,      sma_learned)
MSG(LEARN,          learn,          HANDOFF,             AGENT,      STORE,      sma_learned)
MSG(MCP_CALL,       mcp_call,       ASK(MCP_ANSWER),     AGENT,      MCP,        sma_mcp_call)
MSG(MCP_ANSWER,     mcp_answer,     ANSWER,              MCP,        AGENT,      sma_mcp_answer)
MSG(MCP_CANCEL,     mcp_cancel,     HANDOFF,             AGENT,      MCP,        sma_mcp_cancel)
MSG(MCP_PROGRESS,   mcp_progress,   SIGNAL,              MCP,        AGENT,      sma_mcp_progress)
MSG(MCP_CATALOGUE,  mcp_catalogue,  ASK(MCP_TAKEN),      MCP,        AGENT,      sma_mcp_offer)
MSG(MCP_TAKEN,      mcp_taken,      ANSWER,              AGENT,      MCP,        sma_mcp_taken)
MSG(MCP_ELICIT,     mcp_elicit,     ASK(MCP_ELICITED),   MCP,        AGENT,      sma_mcp_elicit)
MSG(MCP_ELICITED,   mcp_elicited,   ANSWER,              AGENT,      MCP,        sma_mcp_elicited)
MSG(MCP_SAMPLE,     mcp_sample,     ASK(MCP_SAMPLED),    MCP,        AGENT,      sma_mcp_sample)
MSG(MCP_SAMPLED,    mcp_sampled,    ANSWER,              AGENT,      MCP,        sma_mcp_sampled)
MSG(MCP_HELD,       mcp_held,       ASK(MCP_RULED),      MCP,        STORE,      sma_mcp_held)
MSG(MCP_RULED,      mcp_ruled,      ANSWER,              STORE,      MCP,        sma_mcp_ruled)
ALSO(PROGRESS, DISPATCHER, ADAPTER)

/*   from        to          capacity  signals               asks */
LANE(SUPERVISOR, ANY,        16,       0,                    0)
LANE(ANY,        SUPERVISOR, 16,       0,                    0)
LANE(ANY,        LOG,        0,        SMA_SIGNAL_COUNT_MAX, 0)
LANE(ADAPTER,    STORE,      4096,     0,
     SMA_ASK_INGRESS_COUNT_MAX + SMA_ASK_AWAIT_COUNT_MAX)
LANE(STORE,      ADAPTER,    4096,     0,                    SMA_ASK_PREPARE_COUNT_MAX)
LANE(ADAPTER,    ADAPTER,    256,      0,                    SMA_ASK_WEBHOOK_COUNT_MAX)
LANE(STORE,      AGENT,      8192,     0,                    0)
LANE(AGENT,      STORE,      4096,     0,                    SMA_ASK_STORE_COUNT_MAX)
LANE(STORE,      DISPATCHER, 2048,     0,                    0)
LANE(DISPATCHER, STORE,      1024,     SMA_SIGNAL_COUNT_MAX, SMA_ASK_RECEIPT_COUNT_MAX)
LANE(AGENT,      MODEL,      2048,     0,                    SMA_ASK_MODEL_COUNT_MAX)
LANE(MODEL,      AGENT,      1024,     SMA_SIGNAL_COUNT_MAX, 0)
LANE(AGENT,      DISPATCHER, 4096,     SMA_SIGNAL_COUNT_MAX, SMA_ASK_SEND_COUNT_MAX)
LANE(DISPATCHER, AGENT,      4096,     0,                    0)
LANE(DISPATCHER, ADAPTER,    64,       SMA_SIGNAL_COUNT_MAX, SMA_ASK_ATTEMPT_COUNT_MAX)
LANE(ADAPTER,    DISPATCHER, 64,       0,                    0)
LANE(AGENT,      TOOLS,      4096,     0,                    SMA_ASK_TOOL_COUNT_MAX)
LANE(TOOLS,      AGENT,      2048,     0,                    0)
LANE(AGENT,      MCP,        1024,     0,                    SMA_ASK_MCP_COUNT_MAX)
LANE(AGENT,      MEMORY,     2048,     0,                    SMA_ASK_MEMORY_COUNT_MAX)
LANE(MEMORY,     AGENT,      2048,     0,                    0)
LANE(STORE,      MEMORY,     0,        SMA_SIGNAL_COUNT_MAX, 0)
LANE(MCP,        AGENT,      1024,     SMA_SIGNAL_COUNT_MAX,
     1 + SMA_ASK_ELICIT_COUNT_MAX + SMA_ASK_SAMPLE_COUNT_MAX)
LANE(MCP,        STORE,      64,       0,                    SMA_ASK_HELD_COUNT_MAX)
LANE(STORE,      MCP,        64,       0,                    0)

#include "sma/message_bodies.h"

#undef MSG
#undef ALSO
#undef LANE
#undef BODY
#undef FIELD
#undef FIXED
#undef TEXT
#undef TEXTS
#undef PART
#undef LIST
#undef END
