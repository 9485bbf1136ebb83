/*
 * actor_world.h — the mcp actor on its thread, a stand-in agent that asks it, and a project in a
 * folder of its own, whose servers are fake_mcp. Whoever asks people is told that it is Ann.
 */
#ifndef SMA_TEST_MCP_ACTOR_WORLD_H
#define SMA_TEST_MCP_ACTOR_WORLD_H

#include "runtime/mcp/catalogue.h"
#include "sma/actors.h"
#include "sma/messages.h"
#include "support/check.h"
#include "support/patience.h"

#define WORLD_CALL_COUNT_MAX 1024

struct world;

struct world_call
{
    uint64_t seq, ask_id, asked_ns, answered_ns;
    int answer_count;
    enum sma_mcp_outcome outcome;
    char *text, *part; /* part: NULL, or "count: kind mime path" of the first */
};

#define WORLD_PRIVATE "what a chat left" /* in every folder of .ship that a world puts there */
/** The project has a rule for the script t/run.sh, which holds WORLD_PRIVATE like its Makefile.
 *  servers: NULL-terminated pairs of name and mode of fake_mcp, e.g. {"a", "good", NULL}; or of
 *  name and whole entry, {"a", "{...}", NULL}.
 *  more: further members of each, with a comma in front, or "". */
struct world *world_create(const char *const *servers, const char *more);
/** ... whose way to servers is a proxy, or NULL. It outlives the world. */
struct world *world_create_through(const char *proxy, const char *const *servers, const char *more);
/** Ordered end: every call has been answered once, no process and no zombie is left. */
void world_destroy(struct world *world);
const char *world_dir(const struct world *world);

/** Write mcp.json anew and have it read. */
void world_reload(struct world *world, const char *const *servers, const char *more);
/** ... and ship.json: its block "permissions". */
void world_permit(struct world *world, const char *permissions_json);
/** The agent takes so long for a catalogue; 0 as a rule. Changed while there is no world. */
extern unsigned world_agent_pause_ms;
/** Waits until the newest catalogue says this of a server. */
void world_await_state(struct world *world, const char *server, enum sma_mcp_state state);
/** ... and until it holds a tool, by "server:tool"; or does not. */
void world_await_tool(struct world *world, const char *shown, bool is_there);
/** Waits until the server is not in it. */
void world_await_gone(struct world *world, const char *server);
/** A fact of the newest catalogue; NULL: it is not there. Good until the next catalogue. */
const struct sma_mcp_server *world_server(struct world *world, const char *server);
/** Resources and prompts of all servers in it. */
size_t world_count_others(struct world *world);
const struct sma_mcp_tool *world_tool(struct world *world, const char *shown);

size_t world_ask(struct world *world, const char *server, const char *tool, const char *arguments,
                 uint32_t timeout_ms);
size_t world_ask_kind(struct world *world, enum sma_mcp_call_kind kind, const char *server,
                      const char *name, const char *arguments);
const struct world_call *world_await(struct world *world, size_t call);
/** world_ask and world_await. */
const struct world_call *world_do(struct world *world, const char *server, const char *tool,
                                  const char *arguments);
void world_cancel(struct world *world, size_t call);
/** How often the model was to be asked; it says "words of the model". */
unsigned world_sample_count(struct world *world);
bool world_is_answered(struct world *world, size_t call);
/** Waits until the log, or the words of progress, hold this. */
void world_await_log(struct world *world, const char *part);
void world_await_progress(struct world *world, const char *part);
/** Living processes and zombies of this world whose command line holds the word. */
size_t world_count_processes(const struct world *world);

#endif
