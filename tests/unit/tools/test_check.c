/*
 * Aim: every working tool is allowed, asked about or refused as standing, permissions, grants and
 * the files say; what people are asked is exact, and changes with everything that makes the call
 * what it is.
 */
#include "check_call.h"
#include "runtime/approval/request.h"
#include "runtime/files/check.h"
#include "runtime/policy/shell.h"
#include "runtime/tools/tools.h"
#include "sma/chats.h"

/* Verdict of a member's call; -1 = a bad argument. */
static int verdict_of(const struct project *project, const char *name, const char *arguments)
{
    struct call call = {.name = name, .arguments = arguments, .standing = SMA_STANDING_MEMBER};
    struct outcome outcome;
    check_call(project, &call, &outcome);
    sma_request_fini(&outcome.request);
    return outcome.err == SMA_ERR_OK ? (int)outcome.check.verdict : -1;
}

CASE(strangers_get_no_tool)
{
    static const char *const calls[][2] = {
        {"exec_shell", "{\"command\":\"true\"}"},
        {"read_file", "{\"path\":\"a\"}"},
        {"read_more", "{\"handle\":\"0123456789abcdef\"}"},
        {"list_files", "{}"},
        {"search_files", "{\"pattern\":\"x\"}"},
        {"write_file", "{\"path\":\"a\",\"content\":\"\"}"},
        {"edit_file", "{\"path\":\"a\",\"old_text\":\"x\",\"new_text\":\"y\"}"},
        {"send_file", "{\"path\":\"a\"}"},
        {"react", "{\"emoji\":\"x\"}"},
        {"chat_contact_send", "{\"username\":\"bob\",\"text\":\"hi\"}"},
    };
    SMA_AUTO(project_close) struct project project;
    project_open(&project,
                 "{\"exec_shell\":true,\"write_repo\":true,\"send_elsewhere\":\"allow\"}");
    project_put(&project, "a", "x");
    for (size_t i = 0; i < SMA_COUNT_OF(calls); i++) {
        struct call call = {calls[i][0],           calls[i][1],     "key bob",
                            SMA_STANDING_STRANGER, {.until_ms = 0}, false};
        struct outcome outcome;
        check_call(&project, &call, &outcome);
        CHECK_OK(outcome.err);
        CHECK_INT(SMA_TOOL_REFUSED, outcome.check.verdict);
        CHECK(strstr(outcome.why, "strangers") != NULL);
        call.standing = SMA_STANDING_MEMBER;
        check_call(&project, &call, &outcome);
        CHECK_OK(outcome.err);
        CHECK_INT(SMA_TOOL_ALLOWED, outcome.check.verdict);
    }
}

/* The run refuses them before; a question that comes all the same is refused here. */
CASE(what_chats_takes_away_is_refused)
{
    static const struct sma_chat_rule rules[] = {
        {.pattern = "telegram-chat-*",
         .says_tools = true,
         .refused_tools = UINT32_C(1) << SMA_TOOL_READ_FILE | UINT32_C(1) << SMA_TOOL_EXEC_SHELL}};
    static const struct call taken[] = {
        {"read_file", "{\"path\":\"a.txt\"}", "", .standing = SMA_STANDING_OWNER},
        {"exec_shell", "{\"command\":\"ls\"}", "", .standing = SMA_STANDING_OWNER}};
    static const struct call left = {"list_files", "{}", "", .standing = SMA_STANDING_OWNER};
    SMA_AUTO(project_close) struct project project;
    struct outcome outcome;
    project_open(&project, "{\"exec_shell\":true}");
    project.config.chats = rules;
    project.config.chat_count = SMA_COUNT_OF(rules);
    for (size_t i = 0; i < SMA_COUNT_OF(taken); i++) {
        check_call(&project, &taken[i], &outcome);
        CHECK_OK(outcome.err);
        CHECK_INT(SMA_TOOL_REFUSED, outcome.check.verdict);
        CHECK(strstr(outcome.why, "not available in this chat") != NULL);
        CHECK(strstr(outcome.check.decision.reason, "`chats`") != NULL);
    }
    check_call(&project, &left, &outcome);
    CHECK_INT(SMA_TOOL_ALLOWED, outcome.check.verdict);
}

CASE(permissions_decide)
{
    static const struct
    {
        const char *permissions, *name, *arguments;
        int verdict;
    } rows[] = {
        {"", "exec_shell", "{\"command\":\"ls\"}", SMA_TOOL_ASKS},
        {"", "exec_shell", "{\"command\":\"rm -rf x\"}", SMA_TOOL_REFUSED},
        {"", "exec_shell", "{\"command\":\"ls; rm x\",\"timeout\":5}", SMA_TOOL_REFUSED},
        {"", "exec_shell", "{\"command\":\"\"}", -1},
        {"{\"exec_shell\":{\"allow\":[\"ls\"]}}", "exec_shell", "{\"command\":\"ls -la\"}",
         SMA_TOOL_ALLOWED},
        {"{\"exec_shell\":{\"allow\":[\"cat\"]}}", "exec_shell", "{\"command\":\"cat < a.txt\"}",
         SMA_TOOL_ALLOWED},
        {"{\"exec_shell\":{\"allow\":[\"cat\"]}}", "exec_shell", "{\"command\":\"cat < out.txt\"}",
         SMA_TOOL_ASKS}, /* a link that leads out */
        {"{\"exec_shell\":{\"allow\":[\"cat\"]}}", "exec_shell", "{\"command\":\"cat .env\"}",
         SMA_TOOL_ASKS},
        {"{\"exec_shell\":{\"allow\":[\"ls\"],\"requiresApproval\":true}}", "exec_shell",
         "{\"command\":\"ls\"}", SMA_TOOL_ASKS},
        {"{\"exec_shell\":false}", "exec_shell", "{\"command\":\"ls\"}", SMA_TOOL_REFUSED},
        {"", "write_file", "{\"path\":\"a.txt\",\"content\":\"x\"}", SMA_TOOL_ASKS},
        {"", "edit_file", "{\"path\":\"a.txt\",\"old_text\":\"one\",\"new_text\":\"1\"}",
         SMA_TOOL_ASKS},
        {"", "edit_file", "{\"path\":\"a.txt\",\"old_text\":\"two\",\"new_text\":\"1\"}", -1},
        {"", "write_file", "{\"path\":\".env\",\"content\":\"x\"}", SMA_TOOL_REFUSED},
        {"", "write_file", "{\"path\":\"../x\",\"content\":\"x\"}", SMA_TOOL_REFUSED},
        {"", "write_file", "{\"path\":\".git/hooks/x\",\"content\":\"x\"}", SMA_TOOL_REFUSED},
        {"", "write_file", "{\"path\":\"out.txt\",\"content\":\"x\"}", -1}, /* a link */
        {"{\"write_repo\":true}", "write_file", "{\"path\":\"a.txt\",\"content\":\"x\"}",
         SMA_TOOL_ALLOWED},
        {"{\"write_repo\":true}", "write_file", "{\"path\":\"ship.json\",\"content\":\"x\"}",
         SMA_TOOL_ASKS},
        {"{\"write_repo\":true}", "write_file", "{\"path\":\"./Agent.md\",\"content\":\"x\"}",
         SMA_TOOL_ASKS},
        {"{\"write_repo\":true}", "write_file", "{\"path\":\".env\",\"content\":\"x\"}",
         SMA_TOOL_REFUSED},
        {"{\"write_repo\":true,\"exec_shell\":{\"allow\":[\"./run.sh\"]}}", "write_file",
         "{\"path\":\"run.sh\",\"content\":\"x\"}", SMA_TOOL_ASKS},
        {"{\"write_repo\":true,\"exec_shell\":{\"allow\":[\"make\"]}}", "write_file",
         "{\"path\":\"sub/Makefile\",\"content\":\"x\"}", SMA_TOOL_ASKS},
        {"{\"write_repo\":true,\"exec_shell\":{\"allow\":[\"timeout 60 make\"]}}", "write_file",
         "{\"path\":\"rules.mk\",\"content\":\"x\"}", SMA_TOOL_ASKS},
        {"{\"write_repo\":true,\"exec_shell\":{\"allow\":[\"npm test\"]}}", "write_file",
         "{\"path\":\"package.json\",\"content\":\"{}\"}", SMA_TOOL_ASKS},
        {"{\"write_repo\":true,\"exec_shell\":{\"allow\":[\"npm test\"]}}", "write_file",
         "{\"path\":\"Makefile\",\"content\":\"x\"}", SMA_TOOL_ASKS},
        {"{\"write_repo\":true}", "write_file", "{\"path\":\"Makefile\",\"content\":\"x\"}",
         SMA_TOOL_ASKS},
        {"{\"write_repo\":true}", "write_file", "{\"path\":\".husky/a\",\"content\":\"x\"}",
         SMA_TOOL_ASKS},
        {"{\"write_repo\":true}", "write_file", "{\"path\":\"sub/.npmrc\",\"content\":\"x\"}",
         SMA_TOOL_ASKS},
        {"{\"write_repo\":true}", "write_file",
         "{\"path\":\"public/index.html\",\"content\":\"x\"}", SMA_TOOL_ASKS},
        {"{\"write_repo\":{\"paths\":[\"public/*\"],\"requiresApproval\":false}}", "write_file",
         "{\"path\":\"public/index.html\",\"content\":\"x\"}", SMA_TOOL_ALLOWED},
        {"{\"write_repo\":{\"paths\":[\".github/**\"],\"requiresApproval\":false}}", "write_file",
         "{\"path\":\".github/a.yml\",\"content\":\"x\"}", SMA_TOOL_ASKS},
        {"{\"write_repo\":{\"paths\":[\".gitignore\"],\"requiresApproval\":false}}", "write_file",
         "{\"path\":\".gitignore\",\"content\":\"x\"}", SMA_TOOL_ALLOWED},
        {"{\"write_repo\":false}", "write_file", "{\"path\":\"a.txt\",\"content\":\"x\"}",
         SMA_TOOL_REFUSED},
        {"{\"write_repo\":{\"paths\":[\"src/**\"],\"requiresApproval\":false}}", "write_file",
         "{\"path\":\"src/a.txt\",\"content\":\"x\"}", SMA_TOOL_ALLOWED},
        {"{\"write_repo\":{\"paths\":[\"src/**\"],\"requiresApproval\":false}}", "write_file",
         "{\"path\":\"a.txt\",\"content\":\"x\"}", SMA_TOOL_REFUSED},
        {"", "send_file", "{\"path\":\"a.txt\"}", SMA_TOOL_ALLOWED},
        {"", "send_file", "{\"path\":\"ship.json\"}", SMA_TOOL_REFUSED},
        {"", "send_file", "{\"path\":\".env\"}", SMA_TOOL_REFUSED},
        {"", "send_file", "{\"path\":\"out.txt\"}", SMA_TOOL_REFUSED},
        {"", "send_file", "{\"path\":\"secret-inside.txt\"}", SMA_TOOL_REFUSED},
        {"{\"read_repo\":false}", "send_file", "{\"path\":\"a.txt\"}", SMA_TOOL_REFUSED},
        {"", "send_file", "{}", -1},
        {"", "react", "{\"emoji\":\"x\"}", SMA_TOOL_ALLOWED},
        {"", "no_such_tool", "{}", -1},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct project project;
        char full[200];
        project_open(&project, rows[i].permissions);
        project_put(&project, "a.txt", "one\n");
        project_put(&project, "ship.json", "{}");
        project_put(&project, ".env", "X=1");
        project_put(&project, "secret-inside.txt", "x sk-canary-123456\n");
        snprintf(full, sizeof full, "%s/out.txt", project.dir);
        CHECK(symlink("../secret.txt", full) == 0);
        int verdict = verdict_of(&project, rows[i].name, rows[i].arguments);
        if (verdict != rows[i].verdict)
            fprintf(stderr, "row %zu: %s %s\n", i, rows[i].name, rows[i].arguments);
        CHECK_INT(rows[i].verdict, verdict);
        project_close(&project);
    }
}

/* One verdict for one path, whoever writes it. */
CASE(commands_and_tools_write_alike)
{
    enum
    {
        FIRST_WITH_PATHS = 3,
        CP = 4
    };
    static const char *const settings[] = {
        "",
        "\"write_repo\":true,",
        "\"write_repo\":false,",
        "\"write_repo\":{\"paths\":[\"src/**\",\"Makefile\",\".gitignore\"]},",
        "\"write_repo\":{\"paths\":[\"src/"
        "**\",\"*.md\",\".gitignore\"],\"requiresApproval\":false},",
    };
    static const char *const paths[] = {
        "new.txt",       "old.txt",      "src/a.c",         "sub/b.txt",     "Agent.md",
        "ship.json",     "Makefile",     "sub/Makefile",    "package.json",  ".gitignore",
        ".github/a.yml", ".husky/a",     "scripts/json.py", "scripts/a.txt", "run.sh",
        "public/app.js", "public/a.png", "docs/x.md",       "Jenkinsfile",   "src/hooks/use.c",
        "linked",        "linkdir/x",
    };
    static const char *const commands[] = {"cat a.csv > @",   "cat a.csv >> @", "cat a.csv | tee @",
                                           "touch @",         "cp a.csv @",     "dd of=@",
                                           "sed -i s/a/b/ @", "truncate -s 0 @"};
    for (size_t k = 0; k < SMA_COUNT_OF(settings); k++) {
        struct project project;
        char permissions[500], text[300], full[200];
        snprintf(permissions, sizeof permissions,
                 "{%s\"exec_shell\":{\"allow\":[\"cat\",\"cp\",\"tee\",\"touch\",\"dd\",\"sed\","
                 "\"truncate\","
                 "\"make\",\"python3 scripts/report.py\",\"./run.sh\"]}}",
                 settings[k]);
        project_open(&project, permissions);
        project_put(&project, "a.csv", "x");
        project_put(&project, "old.txt", "x");
        project_put(&project, "other/x", "x");
        snprintf(full, sizeof full, "%s/linked", project.dir);
        CHECK(symlink("Makefile", full) == 0);
        snprintf(full, sizeof full, "%s/linkdir", project.dir);
        CHECK(symlink("other", full) == 0);
        for (size_t i = 0; i < SMA_COUNT_OF(paths); i++) {
            snprintf(text, sizeof text, "{\"path\":\"%s\",\"content\":\"y\"}", paths[i]);
            int wanted = verdict_of(&project, "write_file", text);
            for (size_t c = 0; c < SMA_COUNT_OF(commands); c++) {
                snprintf(text, sizeof text, "{\"command\":\"%.*s%s\"}",
                         (int)strcspn(commands[c], "@"), commands[c], paths[i]);
                int actual = verdict_of(&project, "exec_shell", text);
                /* a link cannot be written by the tool: of a command it is asked */
                int other = wanted < 0 ? SMA_TOOL_ASKS : wanted;
                if (wanted < 0 && actual == SMA_TOOL_REFUSED)
                    other = SMA_TOOL_REFUSED;
                if (c == CP && wanted == SMA_TOOL_REFUSED && actual == SMA_TOOL_ASKS)
                    other = SMA_TOOL_ASKS; /* it may be a folder: its name is not certain */
                if (c == CP && k >= FIRST_WITH_PATHS && actual == SMA_TOOL_ASKS)
                    other = SMA_TOOL_ASKS; /* and patterns do not name what is below */
                if (actual != other)
                    fprintf(stderr, "%s %s: tool %d, command %d\n", settings[k], text, wanted,
                            actual);
                CHECK_INT(other, actual);
            }
        }
        project_close(&project);
    }
}

/* A page at the address of the API is somebody's words in the mouth of the service. */
CASE(what_the_api_serves_is_never_written_unasked)
{
    static const char *const asked[] = {
        "cat a.csv > public/index.html",
        "cat a.csv > ./public//app.js",
        "cat a.csv > PUBLIC/Index.html",
        "cat a.csv > public/../public/app.js",
        "cd public && cat ../a.csv > index.html",
        "cd public && cp a.csv styles.css",
        "cp a.csv public/styles.css",
        "cp other/index.html public",
        "cp other/index.html public/",
        "cp -t public other/app.js",
        "cp -r other/. public",
        "mv other public",
        "mv other/app.js public/",
        "ln -s ../a.csv public/index.html",
        "ln -s other public",
        "tee public/app.js",
        "touch public/index.html",
        "sed -i s/a/b/ public/*.html",
        "sed -i s/a/b/ public/*",
        "sed -i s/a/b/ */index.html",
        "sed -i s/a/b/ publi?/app.js",
        "sed -i s/a/b/ publi[c]/a[p]p.js",
    };
    static const char *const free[] = {
        "cat a.csv > public/logo.svg",    "cat a.csv > public/sub/index.html",
        "cat a.csv > site/index.html",    "cat a.csv > index.html",
        "cat a.csv > publications/a.csv", "sed -i s/a/b/ public/*.svg",
    };
    static const char permissions[] =
        "{\"write_repo\":true,\"exec_shell\":{\"allow\":[\"cat\",\"cp\",\"mv\",\"ln\",\"tee\","
        "\"touch\",\"sed\",\"cd\"]}}";
    SMA_AUTO(project_close) struct project project;
    char text[300];
    project_open(&project, permissions);
    project_put(&project, "a.csv", "x");
    project_put(&project, "other/index.html", "x");
    project_put(&project, "public/index.html", "x");
    project_put(&project, "public/a.svg", "x");
    for (size_t i = 0; i < SMA_COUNT_OF(asked) + SMA_COUNT_OF(free); i++) {
        bool is_asked = i < SMA_COUNT_OF(asked);
        const char *command = is_asked ? asked[i] : free[i - SMA_COUNT_OF(asked)];
        snprintf(text, sizeof text, "{\"command\":\"%s\"}", command);
        int verdict = verdict_of(&project, "exec_shell", text);
        if (verdict != (is_asked ? SMA_TOOL_ASKS : SMA_TOOL_ALLOWED))
            fprintf(stderr, "%s: %d\n", command, verdict);
        CHECK_INT(is_asked ? SMA_TOOL_ASKS : SMA_TOOL_ALLOWED, verdict);
    }
}

CASE(people_are_asked_exactly)
{
    SMA_AUTO(project_close) struct project project;
    struct outcome outcome;
    project_open(&project, "");
    project_put(&project, "a.txt", "one\nsk-canary-123456\n");
    struct call call = {.name = "exec_shell",
                        .arguments = "{\"command\":\"git  status\\n\"}",
                        .standing = SMA_STANDING_OWNER};
    check_call(&project, &call, &outcome);
    const struct sma_request_item *item = &outcome.request.items[0];
    CHECK_INT(3, item->call);
    CHECK_STR("exec_shell", item->type);
    CHECK_STR("exec_shell", item->tool);
    CHECK_STR("git  status ", item->title);
    CHECK_STR("{\"command\":\"git  status\\n\"}", item->details_json);
    CHECK_STR("=git status", item->grant_rule);
    CHECK_STR("git", item->program);
    CHECK_STR("no rule allows it", item->reason);
    CHECK(item->is_admin_only && outcome.check.is_complete);
    sma_request_fini(&outcome.request);

    /* notices and lists show the title: what turns or hides text is escaped in it */
    call.arguments = "{\"command\":\"ls \xE2\x80\xAEx\xE2\xA0\x80y\"}";
    check_call(&project, &call, &outcome);
    CHECK_STR("ls \\u{202E}x\\u{2800}y", outcome.request.items[0].title);
    sma_request_fini(&outcome.request);

    call.arguments = "{\"command\":\"echo sk-canary-123456 | wc\"}";
    check_call(&project, &call, &outcome);
    CHECK_STR("echo [redacted] | wc", outcome.request.items[0].title);
    CHECK_STR("", outcome.request.items[0].grant_rule);
    sma_request_fini(&outcome.request);

    call.name = "edit_file";
    call.arguments = "{\"path\":\"./a.txt\",\"old_text\":\"one\",\"new_text\":\"two\"}";
    check_call(&project, &call, &outcome);
    item = &outcome.request.items[0];
    CHECK_STR("write_repo", item->type);
    CHECK_STR("edit_file", item->tool);
    CHECK_STR("a.txt", item->title);
    CHECK_STR("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+two\n [redacted]\n", item->diff);
    CHECK_STR("a.txt", item->grant_rule);
    CHECK_STR("{\"filePath\":\"a.txt\",\"content\":\"--- a/a.txt\\n+++ b/a.txt\\n@@ -1,2 +1,2 "
              "@@\\n-one\\n+two\\n [redacted]\\n\"}",
              item->details_json);
    CHECK(item->is_admin_only);
    sma_request_fini(&outcome.request);

    /* Whoever agrees must know that he has not seen all of it. */
    static char long_arguments[80000];
    snprintf(long_arguments, sizeof long_arguments, "{\"path\":\"b.txt\",\"content\":\"%070000d\"}",
             7);
    call.name = "write_file";
    call.arguments = long_arguments;
    check_call(&project, &call, &outcome);
    CHECK(strstr(outcome.check.decision.reason, "too long to be shown whole") != NULL);
    sma_request_fini(&outcome.request);

    call.name = "write_file";
    call.arguments = "{\"path\":\"*\",\"content\":\"x\"}"; /* a name that would be a rule for all */
    check_call(&project, &call, &outcome);
    CHECK_STR("", outcome.request.items[0].grant_rule);
    sma_request_fini(&outcome.request);

    call = (struct call){.name = "chat_contact_send",
                         .arguments = "{\"username\":\"bob\",\"text\":\"hi\\nthere\"}",
                         .receiver = "telegram-chat-2 Bob B",
                         .standing = SMA_STANDING_MEMBER};
    check_call(&project, &call, &outcome);
    item = &outcome.request.items[0];
    CHECK_STR("send", item->type);
    CHECK_STR("Bob B", item->title);
    CHECK_STR("{\"receiver\":\"telegram-chat-2 Bob B\",\"text\":\"hi\\nthere\"}",
              item->details_json);
    CHECK_STR("telegram-chat-2", item->grant_rule);
    CHECK(!item->is_admin_only);
    sma_request_fini(&outcome.request);
}

CASE(large_writes_make_bounded_items)
{
    SMA_AUTO(project_close) struct project project;
    struct outcome outcome;
    struct sma_buf arguments;
    project_open(&project, "");
    sma_buf_init(&arguments, 2 << 20);
    sma_buf_put_text(&arguments, "{\"path\":\"a.txt\",\"content\":\"");
    for (int i = 0; i < 50000; i++)
        sma_buf_printf(&arguments, "%d\\n\\u0001", i);
    sma_buf_put_text(&arguments, "\"}");
    struct call call = {
        .name = "write_file", .arguments = arguments.ptr, .standing = SMA_STANDING_MEMBER};
    check_call(&project, &call, &outcome);
    const struct sma_request_item *item = &outcome.request.items[0];
    CHECK(item->diff.len <= SMA_APPROVAL_DIFF_BYTES_MAX);
    CHECK(item->diff.len > SMA_APPROVAL_DIFF_BYTES_MAX - 100);
    CHECK(item->details_json.len < 64 * 1024 * 6 + 1000);
    CHECK_STR("{}", item->input_json);
    sma_request_fini(&outcome.request);
    sma_buf_fini(&arguments);
}

/* Digest of a call that asks. */
static void digest_of(const struct project *project, const char *name, const char *arguments,
                      const char *receiver, uint8_t digest[32])
{
    struct call call = {.name = name,
                        .arguments = arguments,
                        .receiver = receiver,
                        .standing = SMA_STANDING_MEMBER};
    struct outcome outcome;
    check_call(project, &call, &outcome);
    CHECK_INT(SMA_TOOL_ASKS, outcome.check.verdict);
    memcpy(digest, outcome.check.digest, 32);
    sma_request_fini(&outcome.request);
}

CASE(digests_tell_calls_apart)
{
    static const char *const calls[][3] = {
        {"exec_shell", "{\"command\":\"sh x.sh\"}", ""},
        {"exec_shell", "{\"command\":\"sh  x.sh\"}", ""},
        {"exec_shell", "{\"command\":\"sh y.sh\"}", ""},
        {"write_file", "{\"path\":\"a.txt\",\"content\":\"x\"}", ""},
        {"write_file", "{\"path\":\"a.txt\",\"content\":\"y\"}", ""},
        {"write_file", "{\"path\":\"b.txt\",\"content\":\"x\"}", ""},
        {"edit_file", "{\"path\":\"a.txt\",\"old_text\":\"one\",\"new_text\":\"two\"}", ""},
        {"edit_file", "{\"path\":\"a.txt\",\"old_text\":\"one\",\"new_text\":\"2\"}", ""},
        {"edit_file", "{\"path\":\"a.txt\",\"old_text\":\"on\",\"new_text\":\"two\"}", ""},
        {"chat_contact_send", "{\"username\":\"b\",\"text\":\"x\"}", "key1 Bob"},
        {"chat_contact_send", "{\"username\":\"b\",\"text\":\"x\"}", "key2 Bob"},
        {"chat_contact_send", "{\"username\":\"b\",\"text\":\"y\"}", "key1 Bob"},
    };
    uint8_t digests[SMA_COUNT_OF(calls)][32], again[32];
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    project_put(&project, "a.txt", "one\n");
    project_put(&project, "x.sh", "echo x\n");
    project_put(&project, "y.sh", "echo x\n");
    for (size_t i = 0; i < SMA_COUNT_OF(calls); i++) {
        digest_of(&project, calls[i][0], calls[i][1], calls[i][2], digests[i]);
        digest_of(&project, calls[i][0], calls[i][1], calls[i][2], again);
        CHECK(memcmp(digests[i], again, 32) == 0);
        for (size_t k = 0; k < i; k++)
            CHECK(memcmp(digests[i], digests[k], 32) != 0);
    }
    project_put(&project, "x.sh", "echo y\n"); /* changed in between */
    project_put(&project, "a.txt", "one two\n");
    /* An edit is the same whatever the rest of the file says by then; the whole of a file is
     * not. */
    static const bool is_changed[SMA_COUNT_OF(calls)] = {
        [0] = true, [1] = true, [3] = true, [4] = true};
    for (size_t i = 0; i < SMA_COUNT_OF(calls); i++) {
        digest_of(&project, calls[i][0], calls[i][1], calls[i][2], again);
        CHECK_INT(is_changed[i], memcmp(digests[i], again, 32) != 0);
    }
}

CASE(scripts_that_are_pipes_do_not_block)
{
    SMA_AUTO(project_close) struct project project;
    char full[200];
    project_open(&project, "");
    snprintf(full, sizeof full, "%s/pipe.sh", project.dir);
    CHECK(mkfifo(full, 0644) == 0);
    CHECK_INT(SMA_TOOL_ASKS, verdict_of(&project, "exec_shell", "{\"command\":\"sh pipe.sh\"}"));
}

CASE(grants_spare_the_question)
{
    static const struct
    {
        const char *tool, *rule;
        int64_t until_ms;
        const char *name, *arguments;
        enum sma_tool_verdict verdict;
    } rows[] = {
        {"exec_shell", "git status", 0, "exec_shell", "{\"command\":\"git status -s\"}",
         SMA_TOOL_ALLOWED},
        {"exec_shell", "git status", NOW_MS + 1, "exec_shell", "{\"command\":\"git status\"}",
         SMA_TOOL_ALLOWED},
        {"exec_shell", "git status", NOW_MS, "exec_shell", "{\"command\":\"git status\"}",
         SMA_TOOL_ASKS},
        {"write_file", "git status", 0, "exec_shell", "{\"command\":\"git status\"}",
         SMA_TOOL_ASKS},
        {"exec_shell", "rm", 0, "exec_shell", "{\"command\":\"rm x\"}", SMA_TOOL_REFUSED},
        {"write_file", "a.txt", 0, "write_file", "{\"path\":\"a.txt\",\"content\":\"x\"}",
         SMA_TOOL_ALLOWED},
        {"edit_file", "a.txt", 0, "write_file", "{\"path\":\"./a.txt\",\"content\":\"x\"}",
         SMA_TOOL_ALLOWED},
        {"write_file", "src/**", 0, "write_file", "{\"path\":\"src/x/y\",\"content\":\"x\"}",
         SMA_TOOL_ALLOWED},
        {"write_file", "b.txt", 0, "write_file", "{\"path\":\"a.txt\",\"content\":\"x\"}",
         SMA_TOOL_ASKS},
        {"write_file", "a.txt", 5, "write_file", "{\"path\":\"a.txt\",\"content\":\"x\"}",
         SMA_TOOL_ASKS},
        {"write_file", "ship.json", 0, "write_file", "{\"path\":\"ship.json\",\"content\":\"x\"}",
         SMA_TOOL_ASKS},
        {"write_file", "**", 0, "write_file", "{\"path\":\".env\",\"content\":\"x\"}",
         SMA_TOOL_REFUSED},
        {"exec_shell", "./run.sh", 0, "write_file", "{\"path\":\"run.sh\",\"content\":\"x\"}",
         SMA_TOOL_ASKS},
        {"chat_contact_send", "key2", 0, "chat_contact_send",
         "{\"username\":\"bob\",\"text\":\"x\"}", SMA_TOOL_ALLOWED},
        {"chat_contact_send", "key", 0, "chat_contact_send",
         "{\"username\":\"bob\",\"text\":\"x\"}", SMA_TOOL_ASKS},
    };
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct call call = {
            rows[i].name,
            rows[i].arguments,
            "key2 Bob",
            SMA_STANDING_MEMBER,
            {SMA_STR("id"), sma_str(rows[i].tool), sma_str(rows[i].rule), rows[i].until_ms},
            false};
        struct outcome outcome;
        check_call(&project, &call, &outcome);
        CHECK_OK(outcome.err);
        if (outcome.check.verdict != rows[i].verdict)
            fprintf(stderr, "row %zu\n", i);
        CHECK_INT(rows[i].verdict, outcome.check.verdict);
        sma_request_fini(&outcome.request);
    }
}

CASE(the_own_chat_is_not_elsewhere)
{
    struct project project;
    struct outcome outcome;
    struct call call = {.name = "chat_contact_send",
                        .arguments = "{\"username\":\"b\",\"text\":\"x\"}",
                        .receiver = "telegram-chat-1 Bob",
                        .standing = SMA_STANDING_MEMBER};
    project_open(&project, "");
    check_call(&project, &call, &outcome);
    CHECK_INT(SMA_TOOL_ALLOWED, outcome.check.verdict);
    project_close(&project);
    project_open(&project, "{\"send_elsewhere\":\"refuse\"}");
    call.receiver = "key2 Bob";
    check_call(&project, &call, &outcome);
    CHECK_INT(SMA_TOOL_REFUSED, outcome.check.verdict);
    project_close(&project);
    /* "allow" is meant for people whom one knows by their names */
    project_open(&project, "{\"send_elsewhere\":\"allow\"}");
    call.receiver = "key2 Bob (member, telegram:7)";
    check_call(&project, &call, &outcome);
    CHECK_INT(SMA_TOOL_ALLOWED, outcome.check.verdict);
    call.is_doubtful = true;
    check_call(&project, &call, &outcome);
    CHECK_INT(SMA_TOOL_ASKS, outcome.check.verdict);
    CHECK_STR("Bob (member, telegram:7)", outcome.request.items[0].title);
    sma_request_fini(&outcome.request);
    project_close(&project);
}

/* Whoever is asked reads which file goes where; another file there is another question. */
CASE(a_file_for_another_chat_is_asked_about)
{
    SMA_AUTO(project_close) struct project project;
    struct outcome outcome;
    uint8_t digest[sizeof outcome.check.digest];
    project_open(&project, "");
    project_put(&project, "a.txt", "one\n");
    project_put(&project, "b.txt", "two\n");
    project_put(&project, ".env", "X=1");
    struct call call = {.name = "send_file",
                        .arguments =
                            "{\"path\":\"a.txt\",\"chatId\":\"7\",\"caption\":\"for you\"}",
                        .receiver = "key Bob (key)",
                        .standing = SMA_STANDING_OWNER};
    check_call(&project, &call, &outcome);
    CHECK_INT(SMA_TOOL_ASKS, outcome.check.verdict);
    CHECK_STR("Bob (key)", outcome.request.items[0].title);
    CHECK_STR("{\"receiver\":\"key Bob (key)\",\"text\":\"document a.txt | for you\"}",
              outcome.request.items[0].details_json);
    memcpy(digest, outcome.check.digest, sizeof digest);
    sma_request_fini(&outcome.request);
    call.arguments = "{\"path\":\"b.txt\",\"chatId\":\"7\",\"caption\":\"for you\"}";
    check_call(&project, &call, &outcome);
    CHECK_INT(SMA_TOOL_ASKS, outcome.check.verdict);
    CHECK(memcmp(digest, outcome.check.digest, sizeof digest) != 0);
    sma_request_fini(&outcome.request);
    call.arguments = "{\"path\":\".env\",\"chatId\":\"7\"}";
    check_call(&project, &call, &outcome);
    CHECK_INT(SMA_TOOL_REFUSED, outcome.check.verdict);
}

/* Whoever is asked reads the whole card and to whom it goes; another card is another question. */
CASE(a_card_for_another_chat_is_asked_about)
{
#define CARD_FOR_7(element) "{\"card\":{\"elements\":[" element "]},\"chatId\":\"7\"}"
    struct project project;
    struct outcome outcome;
    uint8_t digest[sizeof outcome.check.digest];
    struct call call = {.name = "send_card",
                        .arguments = CARD_FOR_7("{\"tag\":\"hr\",\"name\":\"one\"}"),
                        .receiver = "key Bob (key)",
                        .standing = SMA_STANDING_OWNER};
    project_open(&project, "");
    check_call(&project, &call, &outcome);
    CHECK_INT(SMA_TOOL_ASKS, outcome.check.verdict);
    CHECK_STR("Bob (key)", outcome.request.items[0].title);
    struct sma_str details = outcome.request.items[0].details_json; /* a member a line */
    CHECK(sma_str_starts_with(details, SMA_STR("{\"receiver\":\"key Bob (key)\",")));
    CHECK(strstr(details.ptr, "\\\"hr\\\",\\n") != NULL);
    CHECK(strstr(details.ptr, "\\\"name\\\": \\\"one\\\"\\n") != NULL);
    memcpy(digest, outcome.check.digest, sizeof digest);
    sma_request_fini(&outcome.request);
    call.arguments = CARD_FOR_7("{\"tag\":\"hr\",\"name\":\"two\"}");
    check_call(&project, &call, &outcome);
    CHECK_INT(SMA_TOOL_ASKS, outcome.check.verdict);
    CHECK(memcmp(digest, outcome.check.digest, sizeof digest) != 0);
    sma_request_fini(&outcome.request);
    call.receiver = "";
    check_call(&project, &call, &outcome);
    CHECK_INT(SMA_TOOL_ALLOWED, outcome.check.verdict);
    project_close(&project);
    project_open(&project, "{\"send_elsewhere\":\"refuse\"}");
    call.receiver = "key Bob (key)";
    check_call(&project, &call, &outcome);
    CHECK_INT(SMA_TOOL_REFUSED, outcome.check.verdict);
    project_close(&project);
#undef CARD_FOR_7
}

/* The request would show something else than what goes out. */
CASE(what_holds_a_key_goes_to_no_other_chat)
{
    static const char *const calls[][2] = {
        {"chat_send", "{\"text\":\"it is sk-canary-123456\",\"chatId\":\"7\"}"},
        {"chat_contact_send", "{\"text\":\"sk-canary-123456\",\"username\":\"bob\"}"},
        {"send_file", "{\"path\":\"a.txt\",\"caption\":\"sk-canary-123456\",\"chatId\":\"7\"}"},
        {"send_card",
         "{\"card\":{\"elements\":[{\"tag\":\"hr\",\"name\":\"sk-\\u0063anary-123456\"}]},"
         "\"chatId\":\"7\"}"}};
    SMA_AUTO(project_close) struct project project;
    struct outcome outcome;
    project_open(&project, "{\"send_elsewhere\":\"allow\"}");
    project_put(&project, "a.txt", "x\n");
    for (size_t i = 0; i < SMA_COUNT_OF(calls); i++) {
        struct call call = {.name = calls[i][0],
                            .arguments = calls[i][1],
                            .receiver = "key Bob (key)",
                            .standing = SMA_STANDING_OWNER};
        check_call(&project, &call, &outcome);
        CHECK_INT(SMA_TOOL_REFUSED, outcome.check.verdict);
        CHECK(strstr(outcome.why, "key or token of this project") != NULL);
    }
}

CASE(bad_permissions_stop_the_start)
{
    static const char *const bad[] = {"{\"exec_shell\":3}", "{\"exec_shell\":{\"allow\":[\"sh\"]}}",
                                      "{\"read_repo\":3}", "{\"send_elsewhere\":\"x\"}"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++) {
        struct project project;
        struct sma_tool_rules *rules;
        struct sma_error error = {0};
        project_open(&project, "");
        project.config.permissions_json = bad[i];
        CHECK_ERR(SMA_ERR_BADINPUT, sma_tool_rules_create(&project.config, &rules, &error));
        CHECK(strncmp(error.text, "permissions.", 12) == 0);
        CHECK(strchr(error.text, '\n') == NULL);
        project_close(&project);
    }
}

int main(void)
{
    shell = sma_shell_create();
    CHECK(shell != NULL);
    check_run_cases(NULL);
    sma_shell_destroy(shell);
    return check_summary();
}
