/*
 * test_tools_actor.c — what the tools actor does with a question before anything runs: verdicts,
 * consent, audit, cancelling, reload, the end. Rules and file tools are stood in for.
 */
#include "world.h"

#include "sma/health.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sma_tool_ask ask_of(uint8_t mode, const char *name, const char *arguments)
{
    return (struct sma_tool_ask){.mode = mode,
                                 .standing = SMA_STANDING_MEMBER,
                                 .name = sma_str(name),
                                 .arguments = sma_str(arguments),
                                 .chat_key = SMA_STR("test:7")};
}

static const struct world_record *ask(struct world *world, uint8_t mode, const char *name,
                                      const char *arguments)
{
    struct sma_tool_ask question = ask_of(mode, name, arguments);
    return world_await(world, world_ask(world, &question));
}

/* As a container that gives nobody a namespace: bubblewrap cannot mount. */
static void forbid_mounts(void)
{
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {SMA_COUNT_OF(lines), lines};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

/* "": nothing is said of the sandbox. */
static bool says(struct sma_buf *text, const char *wanted)
{
    sma_buf_clear(text);
    sma_health_format(text);
    sma_buf_put_char(text, '\0');
    CHECK_OK(text->err);
    return wanted[0] != '\0' ? strstr(text->ptr, wanted) != NULL
                             : strstr(text->ptr, "\"sandbox\"") == NULL;
}

static void expect_health(const char *permissions, const char *wanted)
{
    struct world *world = world_create(permissions);
    CHECK(!world_is_boxed(world));
    struct sma_buf text;
    sma_buf_init(&text, 4096);
    for (int i = 0; i < 2000 && !says(&text, wanted); i++) /* until the actor has started */
        (void)usleep(5000);
    CHECK(says(&text, wanted));
    sma_buf_fini(&text);
    world_destroy(world);
}

/* /health is degraded by it (test_http_access): nobody reads the line at start. First, while
 * there is one thread: TSan wants no more before a fork. */
CASE(a_sandbox_that_fell_back_is_trouble)
{
    pid_t pid = fork(); /* it keeps the filter */
    if (pid == 0) {
        forbid_mounts();
        expect_health("{\"exec_shell\":{\"sandbox\":\"auto\"}}", "\"sandbox\":\"bubblewrap ");
        /* switched off is the owner's word */
        expect_health("{\"exec_shell\":{\"sandbox\":\"off\"}}", "");
        _exit(check_summary());
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_INT(0, status);
}

CASE(check_says_what_the_rules_say)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create("");
    const struct world_record *record =
        ask(world, SMA_TOOL_CHECK, "exec_shell", "{\"command\":\"touch no\"}");
    CHECK_INT(SMA_TOOL_ALLOWED, record->verdict);
    record = ask(world, SMA_TOOL_CHECK, "exec_shell", "{\"command\":\"x\",\"verdict\":\"ask\"}");
    CHECK_INT(SMA_TOOL_ASKS, record->verdict);
    CHECK_TEXT("{\"tool\":\"exec_shell\"}", record->item);
    record = ask(world, SMA_TOOL_CHECK, "write_file", "{\"path\":\"x\",\"verdict\":\"no\"}");
    CHECK_INT(SMA_TOOL_REFUSED, record->verdict);
    CHECK(record->is_error);
    CHECK_TEXT("rm is refused here", world_member(world, record, "error"));
    record = ask(world, SMA_TOOL_CHECK, "exec_shell", "{\"bad\":true}");
    CHECK_INT(SMA_TOOL_REFUSED, record->verdict);
    CHECK_TEXT("command must be text", world_member(world, record, "error"));
    CHECK(!world_has_file(world, "no"));
}

CASE(consent_is_for_what_was_agreed_to)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create("");
    const char *arguments = "{\"command\":\"touch done\",\"verdict\":\"ask\",\"digest\":7}";
    struct sma_tool_ask question = ask_of(SMA_TOOL_RUN, "exec_shell", arguments);
    const struct world_record *record = world_await(world, world_ask(world, &question));
    CHECK_INT(SMA_TOOL_ASKS, record->verdict);
    question.is_approved = true;
    question.digest[0] = 6; /* something else was agreed to */
    record = world_await(world, world_ask(world, &question));
    CHECK_INT(SMA_TOOL_ASKS, record->verdict);
    CHECK(record->is_error && strstr(record->content, "changed since") != NULL);
    CHECK(!world_has_file(world, "done"));
    question.digest[0] = 7;
    record = world_await(world, world_ask(world, &question));
    CHECK_INT(SMA_TOOL_ALLOWED, record->verdict);
    CHECK(world_has_file(world, "done"));
    /* no consent undoes a refusal */
    question = ask_of(SMA_TOOL_RUN, "exec_shell",
                      "{\"command\":\"touch bad\",\"verdict\":\"no\",\"digest\":7}");
    question.is_approved = true;
    question.digest[0] = 7;
    record = world_await(world, world_ask(world, &question));
    CHECK_INT(SMA_TOOL_REFUSED, record->verdict);
    CHECK(!world_has_file(world, "bad"));
}

CASE(every_decision_is_in_the_log)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create("");
    (void)ask(world, SMA_TOOL_CHECK, "exec_shell", "{\"command\":\"echo 1\"}");
    CHECK(world_has_logged(world, "policy: allowed exec_shell{\"chat\":\"test:7\",\"standing\":"
                                  "\"member\",\"mode\":\"check\",\"command\":\"echo 1\"}"));
    (void)ask(world, SMA_TOOL_CHECK, "write_file", "{\"path\":\"a\",\"verdict\":\"no\"}");
    CHECK(world_has_logged(world, "policy: refused write_file"));
    (void)ask(world, SMA_TOOL_CHECK, "react", "{\"emoji\":\"x\",\"verdict\":\"ask\"}");
    CHECK(world_has_logged(world, "policy: asks react"));
    char arguments[1024];
    snprintf(arguments, sizeof arguments, "{\"command\":\"echo %0400d\"}", 1);
    (void)ask(world, SMA_TOOL_CHECK, "exec_shell", arguments);
    CHECK(world_has_logged(world, "echo 0000"));
    char all[400];
    snprintf(all, sizeof all, "%0350d", 0);
    CHECK(strstr(arguments, all) != NULL);
}

CASE(file_tools_run_on_workers_and_stop)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create("");
    const struct world_record *record = ask(world, SMA_TOOL_RUN, "read_file", "{}");
    CHECK_INT(SMA_TOOL_ALLOWED, record->verdict);
    CHECK_TEXT("hello", world_member(world, record, "text"));
    size_t searches[8];
    for (size_t i = 0; i < SMA_COUNT_OF(searches); i++) {
        struct sma_tool_ask question = ask_of(SMA_TOOL_RUN, "search_files", "{}");
        question.seq = 1000;
        searches[i] = world_ask(world, &question);
    }
    /* searches that take for ever leave a worker for a check */
    record = ask(world, SMA_TOOL_CHECK, "exec_shell", "{\"command\":\"x\"}");
    CHECK_INT(SMA_TOOL_ALLOWED, record->verdict);
    world_cancel(world, 1000);
    for (size_t i = 0; i < SMA_COUNT_OF(searches); i++)
        CHECK_INT(SMA_TOOL_STOPPED, world_await(world, searches[i])->verdict);
    record = ask(world, SMA_TOOL_RUN, "chat_contact_send", "{}");
    CHECK(record->is_error);
}

CASE(drain_answers_everything)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create("");
    size_t records[4];
    for (size_t i = 0; i < 4; i++) {
        struct sma_tool_ask question = ask_of(SMA_TOOL_RUN, "search_files", "{}");
        records[i] = world_ask(world, &question);
    }
    (void)ask(world, SMA_TOOL_CHECK, "exec_shell", "{\"command\":\"x\"}");
    world_drain(world);
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(SMA_TOOL_STOPPED, world_await(world, records[i])->verdict);
}

CASE(a_reload_changes_rules_or_nothing)
{
    struct world *world = world_create("");
    world_reload(world, "{\"broken\":1}");
    CHECK(world_has_logged(world, "the rules stay as they were: ship.json: permissions.broken"));
    (void)ask(world, SMA_TOOL_CHECK, "exec_shell", "{\"command\":\"x\"}");
    world_destroy(world);
    world = world_create("");
    world_reload(world, "{\"exec_shell\":{\"memoryMb\":777}}");
    CHECK(world_has_logged(world, "memory 777 MB"));
    (void)ask(world, SMA_TOOL_CHECK, "exec_shell", "{\"command\":\"x\"}");
    world_destroy(world);
}

/* The oldest go: by number here, at the start. */
CASE(old_logs_are_deleted)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create("");
    (void)world_do(world, "echo x"); /* makes the folder */
    for (int i = 0; i < 1010; i++) {
        char name[64];
        snprintf(name, sizeof name, ".ship/logs/exec/old-%d.%s", i, i % 2 == 0 ? "log" : "txt");
        world_put_file(world, name, "");
        struct timespec times[2] = {{i + 1, 0}, {i + 1, 0}};
        char path[256];
        snprintf(path, sizeof path, "%s/%s", world_dir(world), name);
        CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
    }
    world_put_file(world, ".ship/logs/exec/notes", "not ours");
    for (int i = 0; i < 63; i++) /* the 64th command looks */
        (void)world_do(world, "true");
    CHECK(!world_has_file(world, ".ship/logs/exec/old-0.log"));
    CHECK(!world_has_file(world, ".ship/logs/exec/old-9.txt"));
    CHECK(world_has_file(world, ".ship/logs/exec/old-100.log"));
    CHECK(world_has_file(world, ".ship/logs/exec/old-1009.txt"));
    CHECK(world_has_file(world, ".ship/logs/exec/notes"));
}

CASE(wrong_settings_are_named)
{
    static const char *const rows[][2] = {
        {"{\"exec_shell\":{\"sandbox\":\"maybe\"}}", "permissions.exec_shell.sandbox"},
        {"{\"exec_shell\":{\"memoryMb\":1}}", "permissions.exec_shell.memoryMb"},
        {"{\"exec_shell\":{\"memoryMb\":\"2\"}}", "permissions.exec_shell.memoryMb"},
        {"{\"exec_shell\":{\"network\":1}}", "permissions.exec_shell.network"},
        {"{\"exec_shell\":{\"env\":\"HOME\"}}", "permissions.exec_shell.env"},
        {"{\"exec_shell\":{\"env\":[\"A=B\"]}}", "permissions.exec_shell.env[0]"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_config config = {.project_dir = "/nowhere",
                                    .state_dir = "/nowhere/.ship",
                                    .permissions_json = rows[i][0]};
        struct sma_tools *tools = NULL;
        struct sma_error error = {.code = SMA_ERR_OK};
        CHECK_ERR(SMA_ERR_BADINPUT, sma_tools_create(&config, &tools, &error));
        CHECK(strstr(error.text, rows[i][1]) != NULL);
    }
}

/* -- persons ----------------------------------------------------------------------------------- */
static size_t run_for_person(struct world *world, uint64_t person, const char *command)
{
    char arguments[256];
    snprintf(arguments, sizeof arguments, "{\"command\":\"%s\",\"timeout\":60000}", command);
    const struct sma_tool_ask ask = {.seq = person,
                                     .mode = SMA_TOOL_RUN,
                                     .standing = SMA_STANDING_OWNER,
                                     .person = person,
                                     .name = SMA_STR("exec_shell"),
                                     .arguments = sma_str(arguments),
                                     .chat_key = SMA_STR("chat")};
    return world_ask(world, &ask);
}

/* All commands of one person together, whatever the chat; others have their own time. */
CASE(the_time_of_commands_counts_per_person)
{
    SMA_AUTO(world_destroyp)
    struct world *world = world_create("{\"exec_shell\":{\"sandbox\":\"off\"}}");
    world_config(world)->agent_command_seconds = 1;
    size_t two[] = {run_for_person(world, 7, "sleep 30"), run_for_person(world, 7, "sleep 31")};
    for (size_t i = 0; i < 2; i++) {
        const struct world_record *ended = world_await(world, two[i]);
        CHECK(ended->is_error && ended->answered_ns - ended->asked_ns < 20 * SMA_NS_PER_S);
        CHECK(strstr(world_member(world, ended, "note"), "agent.commandSeconds") != NULL);
    }
    const struct world_record *refused = world_await(world, run_for_person(world, 7, "echo x"));
    CHECK_INT(SMA_TOOL_REFUSED, refused->verdict);
    CHECK(strstr(world_member(world, refused, "error"), "Not run: the commands of this person") !=
          NULL);
    CHECK(strstr(world_member(world, refused, "error"), "minutes") != NULL);
    CHECK_INT(SMA_TOOL_ALLOWED, world_await(world, run_for_person(world, 8, "echo x"))->verdict);
    world_config(world)->agent_command_seconds = 0; /* no limit */
    CHECK_TEXT("0", world_member(world, world_await(world, run_for_person(world, 7, "echo x")),
                                 "exitCode"));
}

/* Who fills all his places keeps nobody else from his. */
CASE(one_person_does_not_take_all_places)
{
    SMA_AUTO(world_destroyp)
    struct world *world = world_create("{\"exec_shell\":{\"sandbox\":\"off\"}}");
    size_t records[SMA_EXEC_COUNT_MAX];
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++)
        records[i] =
            run_for_person(world, 7, "touch begun; while ! test -e go; do sleep 0.05; done");
    world_await_file(world, "begun");
    CHECK_TEXT("0", world_member(world, world_await(world, run_for_person(world, 8, "echo x")),
                                 "exitCode"));
    CHECK(!world_is_answered(world, records[0]));
    world_put_file(world, "go", "");
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++)
        CHECK_TEXT("0", world_member(world, world_await(world, records[i]), "exitCode"));
}

CASES_MAIN
