/*
 * mcp_client.c — our MCP client as a command that judges of the protocol can run: it connects to
 * the server at the address that is its last argument, calls what the scenario asks for, and ends.
 *
 *   mcp_client [--tool NAME ARGUMENTS EXPECTED] [--sse] [--token TOKEN] URL
 * MCP_CONFORMANCE_SCENARIO names the scenario of @modelcontextprotocol/conformance.
 */
#include "unit/mcp/actor_world.h"

#include <stdio.h>

static const struct
{
    const char *scenario, *tool, *arguments;
} calls[] = {{"tools_call", "add_numbers", "{\"a\":5,\"b\":3}"},
             {"sse-retry", "test_reconnection", "{}"},
             {"elicitation", "test_client_elicitation_defaults", "{}"},
             {"auth/", "test-tool", "{}"}};

static int call(struct world *world, const char *tool, const char *arguments, const char *expected)
{
    const struct world_call *done = world_do(world, "judge", tool, arguments);
    printf("%s: outcome %d: %s\n", tool, done->outcome, done->text);
    return done->outcome == SMA_MCP_OK && strstr(done->text, expected) != NULL ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *scenario = getenv("MCP_CONFORMANCE_SCENARIO");
    const char *tool = NULL, *arguments = "{}", *expected = "", *token = NULL;
    char url[1024], more[8192] = "";
    int status = 0, i = 1;
    bool is_sse = false;
    for (; i < argc - 1; i++) {
        if (strcmp(argv[i], "--sse") == 0)
            is_sse = true;
        else if (strcmp(argv[i], "--token") == 0)
            token = argv[++i];
        else if (strcmp(argv[i], "--tool") == 0 && i + 4 < argc) {
            tool = argv[i + 1];
            arguments = argv[i + 2];
            expected = argv[i + 3];
            i += 3;
        }
    }
    CHECK(argc > 1);
    snprintf(url, sizeof url, "%s%s", is_sse ? "sse:" : "", argv[argc - 1]);
    if (token != NULL)
        snprintf(more, sizeof more, ",\"headers\":{\"Authorization\":\"Bearer %s\"}", token);
    struct world *world = world_create((const char *const[]){"judge", url, NULL}, more);
    world_await_state(world, "judge", SMA_MCP_CONNECTED);
    if (tool != NULL)
        status = call(world, tool, arguments, expected);
    for (size_t c = 0; scenario != NULL && c < SMA_COUNT_OF(calls); c++)
        if (strncmp(scenario, calls[c].scenario, strlen(calls[c].scenario)) == 0)
            status = call(world, calls[c].tool, calls[c].arguments, "");
    world_destroy(world);
    return status;
}
