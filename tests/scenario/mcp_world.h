/*
 * mcp_world.h — a project whose mcp.json names servers that are fake_mcp, a model and the service.
 */
#ifndef SMA_TEST_MCP_WORLD_H
#define SMA_TEST_MCP_WORLD_H

#include "support/check.h"
#include "talk.h"
#include "world.h"

#define WAIT_MS 60000

/* From the command line. */
struct mcp_programs
{
    const char *service, *fake_model, *fake_mcp;
};
extern struct mcp_programs programs;

/** Pairs of name and mode of fake_mcp, NULL at the end; more: further members of each server, with
 *  a comma in front, or "". */
void mcp_write(const struct world *world, const char *const *servers, const char *more);
/** permissions: members of it in ship.json. The service has been started. */
void mcp_begin(struct world *world, const char *const *servers, const char *permissions);
/** The same with a file of one's own. */
void mcp_begin_with(struct world *world, const char *mcp_json, const char *permissions);
/** Waits until /api/status says so; NULL: until it knows no such server. */
void mcp_await_state(const struct world *world, const char *server, const char *state);
/** A number of a server in /api/status; -1: it is not there. */
long long mcp_number(const struct world *world, const char *server, const char *member);
/** Lines of calls.txt that are `text`. */
size_t mcp_count_calls(const struct world *world, const char *text);
void mcp_await_call(const struct world *world, const char *text);
void mcp_await_asked(const struct world *world, const char *part);
/** Living processes whose command line names the folder, the service left out. */
size_t mcp_count_processes(const struct world *world);
/** Ends it all well, and nothing of the servers is left. */
void mcp_end(struct world *world);

#endif
