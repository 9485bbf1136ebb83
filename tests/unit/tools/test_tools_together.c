/*
 * test_tools_together.c — the tools actor with the real rules and file tools: writers of one file,
 * consent by digest, scripts that change, and a long result read to its end.
 */
#include "runtime/approval/request.h"
#include "world.h"

#include <sys/stat.h>

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

CASE(rules_decide_about_commands)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create(PERMISSIONS);
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
}

CASE(consent_ends_when_the_script_changes)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create(PERMISSIONS);
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
}

CASE(a_long_result_can_be_read_to_its_end)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create(PERMISSIONS);
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
}

/* A command that reads what it likes by itself is asked about while a secret could be among it. */
CASE(too_large_a_project_is_asked_about)
{
    struct world *world = world_create(PERMISSIONS);
    char path[512];
    if (!world_is_boxed(world)) {
        world_destroy(world);
        return;
    }
    (void)snprintf(path, sizeof path, "%s/sub", world_dir(world));
    CHECK(mkdir(path, 0755) == 0);
    for (int i = 0; i < 600; i++) {
        (void)snprintf(path, sizeof path, "sub/%d.key", i);
        world_put_file(world, path, "x");
    }
    const struct world_record *record =
        ask(world, SMA_TOOL_RUN, SMA_STANDING_MEMBER, "exec_shell", "{\"command\":\"echo hi\"}");
    CHECK_INT(SMA_TOOL_ASKS, record->verdict);
    record =
        ask(world, SMA_TOOL_CHECK, SMA_STANDING_MEMBER, "exec_shell", "{\"command\":\"echo hi\"}");
    CHECK_INT(SMA_TOOL_ASKS, record->verdict);
    CHECK(strstr(record->item, "too many files") != NULL);
    world_destroy(world);
}

/* -- writers of one file ----------------------------------------------------------------------- */
#define EDIT_COUNT 8
#define ROUND_COUNT 20
static const char lines[] = "a\nb\nc\nd\ne\nf\ng\nh\n", edited[] = "A\nB\nC\nD\nE\nF\nG\nH\n";

/* One of the letters into its capital, the file under one of the ways its path can be written. */
static const char *edit_of(const struct world *world, size_t number, char arguments[512])
{
    const char *prefixes[] = {"", "./", ".//./", world_dir(world)};
    snprintf(arguments, 512, "{\"path\":\"%s%sdir/f.txt\",\"old_text\":\"%c\",\"new_text\":\"%c\"}",
             prefixes[number % 4], number % 4 == 3 ? "/" : "", (int)('a' + number),
             (int)('A' + number));
    return arguments;
}

CASE(edits_of_one_file_at_once_are_all_made)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create("{\"write_repo\":true}");
    char arguments[512];
    (void)ask(world, SMA_TOOL_RUN, SMA_STANDING_MEMBER, "write_file",
              "{\"path\":\"dir/f.txt\",\"content\":\"x\"}");
    for (int round = 0; round < ROUND_COUNT; round++) {
        size_t records[EDIT_COUNT];
        world_put_file(world, "dir/f.txt", lines);
        for (size_t i = 0; i < EDIT_COUNT; i++) {
            struct sma_tool_ask edit = question(SMA_TOOL_RUN, SMA_STANDING_MEMBER, "edit_file",
                                                edit_of(world, i, arguments));
            edit.seq = 100 + i % 2; /* of two chats */
            edit.chat_key = i % 2 == 0 ? SMA_STR("test:7") : SMA_STR("test:8");
            records[i] = world_ask(world, &edit);
        }
        for (size_t i = 0; i < EDIT_COUNT; i++)
            CHECK_TEXT("true", world_member(world, world_await(world, records[i]), "success"));
        CHECK_TEXT(edited, world_get_file(world, "dir/f.txt"));
    }
}

CASE(writers_of_one_file_go_in_the_order_of_their_calls)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create("{\"write_repo\":true}");
    for (int round = 0; round < ROUND_COUNT; round++) {
        size_t records[EDIT_COUNT];
        char arguments[EDIT_COUNT][128];
        world_put_file(world, "f.txt", "0");
        for (size_t i = 0; i < EDIT_COUNT; i++) { /* each finds what the one before it left */
            snprintf(arguments[i], sizeof arguments[i],
                     "{\"path\":\"f.txt\",\"old_text\":\"%zu\",\"new_text\":\"%zu\"}", i, i + 1);
            struct sma_tool_ask edit =
                question(SMA_TOOL_RUN, SMA_STANDING_MEMBER, "edit_file", arguments[i]);
            records[i] = world_ask(world, &edit);
        }
        for (size_t i = 0; i < EDIT_COUNT; i++)
            CHECK_TEXT("true", world_member(world, world_await(world, records[i]), "success"));
        CHECK_TEXT("8", world_get_file(world, "f.txt"));
    }
}

/* What people agreed to, as the RUN of it. */
static struct sma_tool_ask agreed(struct world *world, const char *name, const char *arguments)
{
    const struct world_record *record =
        ask(world, SMA_TOOL_CHECK, SMA_STANDING_OWNER, name, arguments);
    CHECK_INT(SMA_TOOL_ASKS, record->verdict);
    struct sma_buf json;
    struct sma_str item = sma_str(record->item);
    struct sma_request request;
    uint32_t call = 0;
    sma_buf_init(&json, 1024 * 1024);
    CHECK_OK(sma_request_put(&json, &item, &call, 1));
    CHECK_OK(sma_request_parse(sma_buf_str(&json), &request));
    struct sma_tool_ask run = question(SMA_TOOL_RUN, SMA_STANDING_OWNER, name, arguments);
    run.is_approved = true;
    memcpy(run.digest, request.items[0].digest, sizeof run.digest);
    sma_request_fini(&request);
    sma_buf_fini(&json);
    return run;
}

CASE(agreed_edits_of_one_file_are_all_made)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create("");
    char arguments[3][512];
    struct sma_tool_ask edits[3];
    size_t records[3];
    world_put_file(world, "f.txt", "a\nb\nc\n");
    for (size_t i = 0; i < 3; i++) {
        snprintf(arguments[i], sizeof arguments[i],
                 "{\"path\":\"f.txt\",\"old_text\":\"%c\",\"new_text\":\"%c\"}", (int)('a' + i),
                 (int)('A' + i));
        edits[i] = agreed(world, "edit_file", arguments[i]);
    }
    world_put_file(world, "f.txt", "a\nb\nc\ntheirs\n"); /* stays */
    for (size_t i = 0; i < 3; i++)
        records[i] = world_ask(world, &edits[i]);
    for (size_t i = 0; i < 3; i++)
        CHECK_TEXT("true", world_member(world, world_await(world, records[i]), "success"));
    CHECK_TEXT("A\nB\nC\ntheirs\n", world_get_file(world, "f.txt"));
    /* what would be replaced twice by now is not what was agreed to */
    struct sma_tool_ask doubled =
        agreed(world, "edit_file",
               "{\"path\":\"f.txt\",\"old_text\":\"A\",\"new_text\":\"x\",\"replace_all\":true}");
    world_put_file(world, "f.txt", "A\nA\n");
    CHECK_INT(SMA_TOOL_ASKS, world_await(world, world_ask(world, &doubled))->verdict);
    CHECK_TEXT("A\nA\n", world_get_file(world, "f.txt"));
}

CASE(an_agreed_file_is_not_written_over_a_change)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create("");
    world_put_file(world, "f.txt", "old\n");
    struct sma_tool_ask write =
        agreed(world, "write_file", "{\"path\":\"f.txt\",\"content\":\"new\\n\"}");
    world_put_file(world, "f.txt", "somebody else's\n");
    CHECK_INT(SMA_TOOL_ASKS, world_await(world, world_ask(world, &write))->verdict);
    CHECK_TEXT("somebody else's\n", world_get_file(world, "f.txt"));
    write = agreed(world, "write_file", "{\"path\":\"f.txt\",\"content\":\"new\\n\"}");
    CHECK_INT(SMA_TOOL_ALLOWED, world_await(world, world_ask(world, &write))->verdict);
    CHECK_TEXT("new\n", world_get_file(world, "f.txt"));
}

CASES_MAIN
