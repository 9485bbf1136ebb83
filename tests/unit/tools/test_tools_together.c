/*
 * test_tools_together.c — the tools actor with the real rules and file tools: consent by digest, scripts that change, and a
 * long result read to its end.
 */
#include "runtime/approval/request.h"
#include "world.h"

static const char PERMISSIONS[] =
    "{\"exec_shell\":{\"deny\":[\"rm\"],\"allow\":[\"echo\",\"seq\"],\"requiresApproval\":false}}";

static struct sma_tool_ask question(uint8_t mode, uint8_t standing, const char *name,
                                    const char *arguments)
{
    return (struct sma_tool_ask){.mode = mode,
                                 .standing = standing,
                                 .name = sma_str(name),
                                 .arguments = sma_str(arguments),
                                 .chat_key = SMA_STR("test:7")};
}

static const struct world_record *ask(struct world *world, uint8_t mode, uint8_t standing,
                                      const char *name, const char *arguments)
{
    struct sma_tool_ask ask_of = question(mode, standing, name, arguments);
    return world_await(world, world_ask(world, &ask_of));
}

static void rules_decide_about_commands(void)
{
    struct world *world = world_create(PERMISSIONS);
    const struct world_record *record =
        ask(world, SMA_TOOL_RUN, SMA_STANDING_MEMBER, "exec_shell", "{\"command\":\"echo hi\"}");
    CHECK_INT(SMA_TOOL_ALLOWED, record->verdict);
    CHECK_TEXT("hi", world_member(world, record, "stdout"));
    world_put_file(world, "precious", "x");
    record = ask(world, SMA_TOOL_RUN, SMA_STANDING_OWNER, "exec_shell",
                 "{\"command\":\"echo a && rm precious\"}");
    CHECK_INT(SMA_TOOL_REFUSED, record->verdict);
    CHECK(world_has_file(world, "precious"));
    record = ask(world, SMA_TOOL_CHECK, SMA_STANDING_STRANGER, "exec_shell",
                 "{\"command\":\"echo hi\"}");
    CHECK_INT(SMA_TOOL_REFUSED, record->verdict);
    CHECK(world_has_logged(world, "policy: refused exec_shell"));
    world_destroy(world);
}

static void consent_ends_when_the_script_changes(void)
{
    struct world *world = world_create(PERMISSIONS);
    const char *arguments = "{\"command\":\"sh ./job.sh\"}";
    world_put_file(world, "job.sh", "echo first\n");
    const struct world_record *record =
        ask(world, SMA_TOOL_CHECK, SMA_STANDING_OWNER, "exec_shell", arguments);
    CHECK_INT(SMA_TOOL_ASKS, record->verdict);
    struct sma_buf json;
    struct sma_str item = sma_str(record->item);
    struct sma_request request;
    uint32_t call = 0;
    sma_buf_init(&json, 1024 * 1024);
    CHECK_OK(sma_request_put(&json, &item, &call, 1));
    CHECK_OK(sma_request_parse(sma_buf_str(&json), &request));
    struct sma_tool_ask approved =
        question(SMA_TOOL_RUN, SMA_STANDING_OWNER, "exec_shell", arguments);
    approved.is_approved = true;
    memcpy(approved.digest, request.items[0].digest, sizeof approved.digest);
    sma_request_fini(&request);
    sma_buf_fini(&json);
    record = world_await(world, world_ask(world, &approved));
    CHECK_INT(SMA_TOOL_ALLOWED, record->verdict);
    CHECK_TEXT("first", world_member(world, record, "stdout"));
    CHECK(world_has_logged(world, "policy: approved exec_shell"));
    world_put_file(world, "job.sh", "echo other > done\n");
    record = world_await(world, world_ask(world, &approved));
    CHECK_INT(SMA_TOOL_ASKS, record->verdict);
    CHECK(!world_has_file(world, "done"));
    world_destroy(world);
}

static void a_long_result_can_be_read_to_its_end(void)
{
    struct world *world = world_create(PERMISSIONS);
    const struct world_record *record = ask(world, SMA_TOOL_RUN, SMA_STANDING_MEMBER, "exec_shell",
                                            "{\"command\":\"seq 100000 120000\"}");
    CHECK_TEXT("true", world_member(world, record, "truncated"));
    const char *out = world_member(world, record, "stdout");
    const char *named = strstr(out, "read_more with handle \"");
    CHECK(named != NULL);
    char handle[128], arguments[256];
    CHECK(sscanf(named, "read_more with handle \"%127[^\"]", handle) == 1);
    snprintf(arguments, sizeof arguments, "{\"handle\":\"%s\",\"offset\":70000,\"limit\":7}",
             handle);
    record = ask(world, SMA_TOOL_RUN, SMA_STANDING_MEMBER, "read_more", arguments);
    CHECK_INT(SMA_TOOL_ALLOWED, record->verdict);
    CHECK(strstr(record->content, "110000\\n") != NULL);
    record = ask(world, SMA_TOOL_RUN, SMA_STANDING_MEMBER, "read_file", "{\"path\":\"Agent.md\"}");
    CHECK(strstr(record->content, "# agent") != NULL);
    world_destroy(world);
}

int main(void)
{
    RUN(rules_decide_about_commands);
    RUN(consent_ends_when_the_script_changes);
    RUN(a_long_result_can_be_read_to_its_end);
    return check_summary();
}
