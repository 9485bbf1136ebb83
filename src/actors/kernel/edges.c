/* edges.c — made from message_table.h: which kind may go where, in which class, and the lanes. */
#include "kernel_priv.h"

/* Roles: an actor id, or one of these. */
enum
{
    ROLE_SUPERVISOR = SMA_ACTOR_SUPERVISOR,
    ROLE_STORE = SMA_ACTOR_STORE,
    ROLE_DISPATCHER = SMA_ACTOR_DISPATCHER,
    ROLE_AGENT = SMA_ACTOR_AGENT,
    ROLE_MODEL = SMA_ACTOR_MODEL,
    ROLE_TOOLS = SMA_ACTOR_TOOLS,
    ROLE_MCP = SMA_ACTOR_MCP,
    ROLE_LOG = SMA_ACTOR_LOG,
    ROLE_MEMORY = SMA_ACTOR_MEMORY,
    ROLE_ADAPTER = 200,
    ROLE_ANY,
};

static const struct
{
    uint8_t class, answer;
} kinds[SMA_MSG_KIND_COUNT] = {
#define ASK(answer) CLASS_ASK, SMA_MSG_##answer
#define ANSWER CLASS_ANSWER, SMA_MSG_NONE
#define SIGNAL CLASS_SIGNAL, SMA_MSG_NONE
#define HANDOFF CLASS_HANDOFF, SMA_MSG_NONE
#define MSG(kind, name, class, from, to, body) [SMA_MSG_##kind] = {class},
#include "sma/message_table.h"
#undef ASK
#undef ANSWER
#undef SIGNAL
#undef HANDOFF
};

static const struct
{
    uint8_t kind, from, to;
} ways[] = {
#define MSG(kind, name, class, from, to, body) {SMA_MSG_##kind, ROLE_##from, ROLE_##to},
#define ALSO(kind, from, to) {SMA_MSG_##kind, ROLE_##from, ROLE_##to},
#include "sma/message_table.h"
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
    for (size_t i = 0; i < SMA_COUNT_OF(ways); i++)
        if (ways[i].kind == kind && plays(ways[i].from, from) && plays(ways[i].to, to))
            return true;
    return false;
}

bool sma_kernel_is_answer_to(unsigned question, unsigned answer)
{
    return question < SMA_MSG_KIND_COUNT && answer != SMA_MSG_NONE &&
           kinds[question].answer == answer;
}

/* -- lanes ------------------------------------------------------------------------------------- */
struct edge_row
{
    uint8_t from, to;
    unsigned capacity, asks, signals;
};

static const struct edge_row edge_rows[] = {
#define LANE(from, to, capacity, signals, asks) {ROLE_##from, ROLE_##to, capacity, asks, signals},
#include "sma/message_table.h"
};

#define LANE(from, to, capacity, signals, asks) \
    _Static_assert((asks) <= (capacity), "an edge holds all questions that may be open on it");
#include "sma/message_table.h"

/* Two rows may make one edge: the supervisor's control messages to the log, and its lines. */
static enum sma_err add_edge(struct sma_ctx *from, struct sma_ctx *to, const struct edge_row *row)
{
    struct edge *edge = &from->edges[to->id];
    if (row->capacity > 0) {
        SMA_ASSERT(edge->main == NULL);
        edge->main = sma_mailbox_add_lane(to->box, row->capacity);
        if (edge->main == NULL)
            return SMA_ERR_NOMEM;
        edge->ask_max = row->asks;
        edge->handoff_max = row->capacity;
    }
    if (row->signals > 0) {
        SMA_ASSERT(edge->signal == NULL);
        edge->signal = sma_mailbox_add_lane(to->box, row->signals);
        if (edge->signal == NULL)
            return SMA_ERR_NOMEM;
    }
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

enum sma_err sma_kernel_build_lanes(struct sma_system *system)
{
    for (size_t i = 0; i < SMA_COUNT_OF(edge_rows); i++) {
        SMA_TRY(add_row(system, &edge_rows[i]));
    }
    keep_room_for_answers(system);
    return SMA_ERR_OK;
}
