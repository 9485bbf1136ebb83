/*
 * Aim: official servers work over stdio, in the sandbox, in the whole program: server-everything
 *      (handshake) and one of the SDK that speaks 2026-07-28.
 * Method: the packages that `scripts/judge-mcp --install` puts into .cache/judges; skipped (77)
 *   where they are not.
 *   scenario_mcp_judges BINARY FAKE_MODEL
 */
#include "mcp_world.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CACHE SMA_SOURCE_DIR "/.cache/judges"
#define EVERYTHING CACHE "/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
#define NODE CACHE "/node_modules/node/bin/node"
#define SDK "/node_modules/@modelcontextprotocol/server/package.json"
#define ALLOWED "\"mcp\":{\"allow\":[\"*\"]}"

CASE(server_everything_is_used_over_stdio)
{
    struct world world;
    mcp_begin_with(&world,
                   "{\"servers\":{\"every\":{\"type\":\"stdio\",\"command\":\"" NODE
                   "\",\"args\":[\"" EVERYTHING "\",\"stdio\"]}}}",
                   ALLOWED);
    mcp_await_state(&world, "every", "connected");
    CHECK(mcp_number(&world, "every", "tools") >= 12);
    talk_expect(world.service.port, "c1",
                "[[do: call mcp__every__echo {\"message\":\"hi\"}; call mcp__every__get-sum "
                "{\"a\":2,\"b\":3}; call mcp__every__trigger-long-running-operation "
                "{\"duration\":1,\"steps\":2}; call mcp_list_resources {}; text done]]",
                "done");
    /* alone: the message that brings the picture counts as a step of the model */
    talk_expect(world.service.port, "c2", "[[do: call mcp__every__get-tiny-image {}; text seen]]",
                "");
    CHECK(world_asked_count(&world, "Echo: hi") > 0);
    CHECK(world_asked_count(&world, "The sum of 2 and 3 is 5.") > 0);
    CHECK(world_asked_count(&world, "[Image: image/png]") > 0);
    CHECK(world_asked_count(&world, "Long running operation completed") > 0);
    CHECK(world_asked_count(&world, "demo://resource") > 0);
    CHECK_INT(0, service_stop(&world.service));
    server_stop(world.fake);
    folder_remove(&world.folder);
}

CASE(a_server_of_the_sdk_is_used_in_the_modern_era)
{
    struct world world;
    char *output = NULL;
    char *copy[] = {(char *)(uintptr_t) "/bin/cp",
                    (char *)(uintptr_t)SMA_SOURCE_DIR "/tests/judges/sdk_stdio.mjs",
                    (char *)(uintptr_t)CACHE "/sdk_stdio.mjs", NULL};
    CHECK_INT(0, run_to_end(copy, "", &output, WAIT_MS)); /* it finds its packages beside it */
    free(output);
    mcp_begin_with(&world,
                   "{\"servers\":{\"sdk\":{\"type\":\"stdio\",\"command\":\"" NODE
                   "\",\"args\":[\"" CACHE "/sdk_stdio.mjs\"]}}}",
                   ALLOWED);
    mcp_await_state(&world, "sdk", "connected");
    CHECK(world_log_has(&world, "mcp sdk: connected: 2 tools, 0 resources, 0 prompts (MCP "
                                "2026-07-28)"));
    talk_expect(world.service.port, "c1",
                "[[do: call mcp__sdk__add {\"a\":20,\"b\":22}; text done]]", "done");
    CHECK(world_asked_count(&world, "\\\"output\\\":\\\"42\\\"") > 0);
    CHECK_INT(0, service_stop(&world.service));
    server_stop(world.fake);
    folder_remove(&world.folder);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    programs = (struct mcp_programs){argv[1], argv[2], ""};
    if (access(EVERYTHING, R_OK) != 0 || access(NODE, X_OK) != 0 || access(CACHE SDK, R_OK) != 0) {
        puts("skipped: " CACHE " is not there; scripts/judge-mcp --install makes it");
        return 77;
    }
    check_run_cases(NULL);
    return check_summary();
}
