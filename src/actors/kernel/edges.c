/* edges.c — the table of message kinds (class and direction) and the lanes made from the table of
 * edges. */
#include "kernel_priv.h"

#define SUPERVISOR_LANE_COUNT 16

/* Roles: an actor id, or one of these. */
enum
{
    ROLE_SUPERVISOR = SMA_ACTOR_SUPERVISOR,
    ROLE_STORE = SMA_ACTOR_STORE,
    ROLE_DISPATCHER = SMA_ACTOR_DISPATCHER,
    ROLE_AGENT = SMA_ACTOR_AGENT,
    ROLE_MODEL = SMA_ACTOR_MODEL,
    ROLE_TOOLS = SMA_ACTOR_TOOLS,
    ROLE_LOG = SMA_ACTOR_LOG,
    ROLE_ADAPTER = 200,
    ROLE_ANY,
};

struct kind_row
{
    uint8_t class, from, to;
};

#define ROW(kind, class_name, from, to) \
    [SMA_MSG_##kind] = {CLASS_##class_name, ROLE_##from, ROLE_##to}

static const struct kind_row kinds[SMA_MSG_KIND_COUNT] = {
    ROW(LIFE, HANDOFF, SUPERVISOR, ANY),
    ROW(LIFE_DONE, HANDOFF, ANY, SUPERVISOR),
    ROW(RELOAD, HANDOFF, SUPERVISOR, ANY),
    ROW(LOG, SIGNAL, ANY, LOG),
    ROW(INGRESS, ASK, ADAPTER, STORE),
    ROW(ACCEPTED, ANSWER, STORE, ADAPTER),
    ROW(PREPARE, ASK, STORE, ADAPTER),
    ROW(PREPARED, ANSWER, ADAPTER, STORE),
    ROW(WEBHOOK, ASK, ADAPTER, ADAPTER),
    ROW(WEBHOOK_ANSWER, ANSWER, ADAPTER, ADAPTER),
    ROW(AWAIT, ASK, ADAPTER, STORE),
    ROW(RESULT, ANSWER, STORE, ADAPTER),
    ROW(QUERY, ASK, ADAPTER, STORE),
    ROW(QUERY_RESULT, ANSWER, STORE, ADAPTER),
    ROW(RUN, HANDOFF, STORE, AGENT),
    ROW(CONTROL, HANDOFF, STORE, AGENT),
    ROW(SESSION, ASK, AGENT, STORE),
    ROW(SESSION_TURNS, ANSWER, STORE, AGENT),
    ROW(STEP, ASK, AGENT, STORE),
    ROW(STEP_DONE, ANSWER, STORE, AGENT),
    ROW(DONE, ASK, AGENT, STORE),
    ROW(DONE_DONE, ANSWER, STORE, AGENT),
    ROW(HISTORY, ASK, AGENT, STORE),
    ROW(HISTORY_LINES, ANSWER, STORE, AGENT),
    ROW(CONTACT, ASK, AGENT, STORE),
    ROW(CONTACT_RESULT, ANSWER, STORE, AGENT),
    ROW(MODEL, ASK, AGENT, MODEL),
    ROW(MODEL_ANSWER, ANSWER, MODEL, AGENT),
    ROW(MODEL_CANCEL, HANDOFF, AGENT, MODEL),
    ROW(MODEL_DELTA, SIGNAL, MODEL, AGENT),
    ROW(SEND, ASK, AGENT, DISPATCHER),
    ROW(SEND_RESULT, ANSWER, DISPATCHER, AGENT),
    ROW(DELIVER, HANDOFF, STORE, DISPATCHER),
    ROW(CANCEL_DELIVER, HANDOFF, STORE, DISPATCHER),
    ROW(RECEIPT, ASK, DISPATCHER, STORE),
    ROW(RECEIPT_DONE, ANSWER, STORE, DISPATCHER),
    ROW(ATTEMPT, ASK, DISPATCHER, ADAPTER),
    ROW(ATTEMPT_RESULT, ANSWER, ADAPTER, DISPATCHER),
    ROW(TOOL, ASK, AGENT, TOOLS),
    ROW(TOOL_ANSWER, ANSWER, TOOLS, AGENT),
    ROW(TOOL_CANCEL, HANDOFF, AGENT, TOOLS),
    ROW(JUDGE, HANDOFF, STORE, AGENT),
    ROW(JUDGED, ASK, AGENT, STORE),
    ROW(JUDGED_DONE, ANSWER, STORE, AGENT),
    ROW(DECIDE, ASK, ADAPTER, STORE),
    ROW(DECIDED, ANSWER, STORE, ADAPTER),
    ROW(LEARNED, HANDOFF, STORE, AGENT),
    ROW(LEARN, HANDOFF, AGENT, STORE),
    ROW(PROGRESS, SIGNAL, ANY,
        ANY), /* agent -> dispatcher -> adapter: the lanes that exist decide */
};

enum kind_class sma_kernel_class(unsigned kind)
{
    return kind < SMA_MSG_KIND_COUNT ? (enum kind_class)kinds[kind].class : CLASS_NONE;
}

static bool plays(unsigned role, unsigned id)
{
    if (role == ROLE_ANY)
        return true;
    return role == ROLE_ADAPTER ? sma_actor_is_adapter(id) : role == id;
}

bool sma_kernel_may_travel(unsigned kind, unsigned from, unsigned to)
{
    if (kind == SMA_MSG_NONE || kind >= SMA_MSG_KIND_COUNT)
        return false;
    return plays(kinds[kind].from, from) && plays(kinds[kind].to, to);
}

/* -- lanes ------------------------------------------------------------------------------------- */
struct edge_row
{
    uint8_t from, to;
    unsigned capacity, asks, signals;
};

static const struct edge_row edge_rows[] = {
#define X(from, to, capacity, asks, signals) {ROLE_##from, ROLE_##to, capacity, asks, signals},
    SMA_EDGE_MAP(X)
#undef X
};

#define X(from, to, capacity, asks, signals) \
    _Static_assert((asks) <= (capacity), "an edge holds all questions that may be open on it");
SMA_EDGE_MAP(X)
#undef X

static enum sma_err add_edge(struct sma_ctx *from, struct sma_ctx *to, const struct edge_row *row)
{
    struct edge *edge = &from->edges[to->id];
    SMA_ASSERT(edge->main == NULL && edge->signal == NULL);
    if (row->capacity > 0) {
        edge->main = sma_mailbox_add_lane(to->box, row->capacity);
        if (edge->main == NULL)
            return SMA_ERR_NOMEM;
    }
    if (row->signals > 0) {
        edge->signal = sma_mailbox_add_lane(to->box, row->signals);
        if (edge->signal == NULL)
            return SMA_ERR_NOMEM;
    }
    edge->ask_max = row->asks;
    edge->handoff_max = row->capacity;
    return SMA_ERR_OK;
}

/* An answer always finds room: as many places as the other side may have questions open are not for
 * hand-offs. */
static void keep_room_for_answers(struct sma_system *system)
{
    for (unsigned from = 0; from < SMA_ACTOR_COUNT_MAX; from++) {
        for (unsigned to = 0; to < SMA_ACTOR_COUNT_MAX; to++) {
            if (system->actors[from] == NULL || system->actors[to] == NULL)
                continue;
            struct edge *edge = &system->actors[from]->edges[to];
            size_t answers = system->actors[to]->edges[from].ask_max;
            edge->handoff_max -= answers < edge->handoff_max ? answers : edge->handoff_max;
        }
    }
}

static enum sma_err add_row(struct sma_system *system, const struct edge_row *row)
{
    for (unsigned from = 0; from < SMA_ACTOR_COUNT_MAX; from++) {
        if (system->actors[from] == NULL || !plays(row->from, from))
            continue;
        for (unsigned to = 0; to < SMA_ACTOR_COUNT_MAX; to++) {
            if (system->actors[to] == NULL || to == from || !plays(row->to, to))
                continue;
            SMA_TRY(add_edge(system->actors[from], system->actors[to], row));
        }
    }
    return SMA_ERR_OK;
}

/* Supervisor <-> everybody, and everybody -> log. */
static enum sma_err add_house_edges(struct sma_system *system, struct sma_ctx *actor)
{
    static const struct edge_row control = {.capacity = SUPERVISOR_LANE_COUNT};
    static const struct edge_row control_and_log = {.capacity = SUPERVISOR_LANE_COUNT,
                                                    .signals = SMA_SIGNAL_COUNT_MAX};
    static const struct edge_row log_only = {.signals = SMA_SIGNAL_COUNT_MAX};
    struct sma_ctx *supervisor = system->actors[SMA_ACTOR_SUPERVISOR];
    bool is_log = actor->id == SMA_ACTOR_LOG;
    SMA_TRY(add_edge(supervisor, actor, is_log ? &control_and_log : &control));
    SMA_TRY(add_edge(actor, supervisor, &control));
    if (!is_log && system->actors[SMA_ACTOR_LOG] != NULL)
        SMA_TRY(add_edge(actor, system->actors[SMA_ACTOR_LOG], &log_only));
    return SMA_ERR_OK;
}

enum sma_err sma_kernel_build_lanes(struct sma_system *system)
{
    for (size_t i = 0; i < system->order_count; i++) {
        SMA_TRY(add_house_edges(system, system->actors[system->order[i]]));
    }
    for (size_t i = 0; i < SMA_COUNT_OF(edge_rows); i++) {
        SMA_TRY(add_row(system, &edge_rows[i]));
    }
    keep_room_for_answers(system);
    return SMA_ERR_OK;
}
