/*
 * Aim: what ship.json names and what the servers of mcp.json run is the owner's, in every way in
 *      which an entry may name it; plain data beside it is not. A program that is other than it was
 *      accepted is found; what it writes for itself is none.
 * Method: projects in a folder of the test's own, read as the service reads them.
 */
#include "../tools/project.h"
#include "runtime/approval/request.h"
#include "runtime/decisive/accepted.h"
#include "runtime/decisive/decisive.h"
#include "runtime/files/check.h"
#include "runtime/files/file_tools.h"
#include "runtime/policy/shell.h"
#include "sma/config.h"

#include <jansson.h>

static void put_entry(const struct project *project, const char *entry)
{
    char text[2048];
    snprintf(text, sizeof text, "{\"servers\":{\"box\":{\"type\":\"stdio\",%s}}}", entry);
    project_put(project, ".ship/mcp/mcp.json", text);
}

static struct sma_config *load(const struct project *project)
{
    struct sma_config *config = NULL;
    struct sma_error error = {.text = ""};
    struct sma_config_overrides overrides = {.provider = "offline"};
    enum sma_err err = sma_config_load(project->dir, &overrides, NULL, NULL, &config, &error);
    if (err != SMA_ERR_OK)
        fprintf(stderr, "%s\n", error.text);
    CHECK_OK(err);
    return config;
}

static void begin(struct project *project)
{
    static const char *const files[] = {
        "Agent.md",          "tools/srv.py",    "tools/lib.py",    "tools/notes.txt",
        "tools/sub/mod.py",  "web/server.js",   "web/data.json",   "web/node_modules/x/index.js",
        "node_modules/y.js", "venv/pyvenv.cfg", "venv/bin/python", "data/app.db",
        "conf/box.yaml",     "conf/box.json",   "hook.js",         "lib/a.rb",
        "bin/run",           "cmd/main.go",     "pkg/mod.py",      "ca.pem",
        "Team.md",           "plain.txt",       "plain.sh"};
    project_open(project, NULL);
    for (size_t i = 0; i < SMA_COUNT_OF(files); i++)
        project_put(project, files[i], "x\n");
    project_put(project, "app/package.json",
                "{\"scripts\":{\"mcp\":\"npm run real\",\"real\":\"node ../web/server.js\"}}");
}

#define OUT "\"sandbox\":{\"enabled\":false},"
#define NET "\"sandbox\":{\"network\":true},"

/* -- who may write what ------------------------------------------------------------------------ */
#define OWNER SMA_POLICY_WRITE_OWNER
#define FREE SMA_POLICY_WRITE_FREE
#define ASKED SMA_POLICY_WRITE_ASKED

ENDING(sma_config_destroy, struct sma_config)

ENDING(sma_mcp_config_destroy, struct sma_mcp_config)

CASE(what_an_entry_runs_is_the_owners)
{
    static const struct
    {
        const char *entry, *path;
        enum sma_policy_write wanted;
    } rows[] = {
        {"\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", "tools/srv.py", OWNER},
        {"\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", "TOOLS/SRV.PY", OWNER},
        {"\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", "tools", OWNER},
        {"\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", "tools/json.py", OWNER},
        {"\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", "tools/sub/new.py", OWNER},
        {"\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", "tool\1/srv.py", OWNER},
        {"\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", "\1\2\1\2\1\2/srv.py", OWNER},
        {"\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", "tools/notes.txt", ASKED},
        {"\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", "tools/srv.js", OWNER},
        {"\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", "plain.txt", FREE},
        {"\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", "toolset/srv.py", FREE},
        {"\"command\":\"python3.11\",\"args\":[\"-u\",\"./tools/srv.py\"]", "tools/srv.py", OWNER},
        {"\"command\":\"python3\",\"args\":[\"-m\",\"pkg.mod\"]", "pkg/mod.py", OWNER},
        {"\"command\":\"python3\",\"args\":[\"-m\",\"pkg.mod\"]", "pkg/__init__.py", OWNER},
        {"\"command\":\"python3\",\"args\":[\"new/not-there.py\"]", "new/not-there.py", OWNER},
        {"\"command\":\"./bin/run\"", "bin/run", OWNER},
        {"\"command\":\"bin/none\"", "bin/none", OWNER},
        {"\"command\":\"sh\",\"args\":[\"-c\",\"exec python3 tools/srv.py\"]", "tools/srv.py",
         OWNER},
        {"\"command\":\"sh\",\"args\":[\"-c\",\"cd tools && python3 srv.py\"]", "tools/srv.py",
         OWNER},
        {"\"command\":\"env\",\"args\":[\"A=b\",\"python3\",\"tools/srv.py\"]", "tools/srv.py",
         OWNER},
        {"\"command\":\"uv\",\"args\":[\"--directory\",\"tools\",\"run\",\"srv.py\"]",
         "tools/srv.py", OWNER},
        {"\"command\":\"uv\",\"args\":[\"run\",\"tools/srv.py\"]", "tools/srv.py", OWNER},
        {"\"command\":\"bun\",\"args\":[\"run\",\"web/server.js\"]", "web/server.js", OWNER},
        {"\"command\":\"node\",\"args\":[\"web/server\"]", "web/server.js", OWNER},
        {"\"command\":\"node\",\"args\":[\"web/server.js\"]", "web/node_modules/x/index.js", OWNER},
        {"\"command\":\"node\",\"args\":[\"web/server.js\"]", "node_modules/z.js", OWNER},
        {"\"command\":\"node\",\"args\":[\"--require\",\"./hook.js\",\"x\"]", "hook.js", OWNER},
        {"\"command\":\"node\",\"args\":[\"--require=./hook.js\",\"x\"]", "hook.js", OWNER},
        {"\"command\":\"node\",\"args\":[\"x\"],\"env\":{\"NODE_OPTIONS\":\"--require ./hook.js\"}",
         "hook.js", OWNER},
        {"\"command\":\"python3\",\"args\":[\"x\"],\"env\":{\"PYTHONPATH\":\"/opt:lib\"}",
         "lib/x.py", OWNER},
        {"\"command\":\"ruby\",\"args\":[\"-Ilib\",\"x\"]", "lib/a.rb", OWNER},
        {"\"command\":\"venv/bin/python\",\"args\":[\"tools/srv.py\"]", "venv/lib/site.py", OWNER},
        {"\"command\":\"go\",\"args\":[\"run\",\"./cmd\"]", "cmd/main.go", OWNER},
        {"\"command\":\"npm\",\"args\":[\"--prefix\",\"app\",\"run\",\"mcp\"]", "web/server.js",
         OWNER},
        {"\"command\":\"mcp-box\",\"args\":[\"--config\",\"conf/box.json\"]", "conf/box.json",
         OWNER},
        {"\"command\":\"mcp-box\",\"args\":[\"conf/box.yaml\"]", "conf/box.yaml", OWNER},
        {"\"command\":\"mcp-box\",\"args\":[\"--db-path\",\"data/app.db\"]", "data/app.db", FREE},
        {"\"command\":\"mcp-box\",\"args\":[\"web/data.json\"]", "web/data.json", FREE},
        {"\"command\":\"mcp-files\",\"args\":[\".\",\"data\"]", "data/new.txt", FREE},
        {"\"command\":\"mcp-files\",\"args\":[\".\",\"data\"]", "plain.sh", FREE},
    };
    SMA_AUTO(project_close) struct project project;
    begin(&project);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        const char *why;
        put_entry(&project, rows[i].entry);
        struct sma_config *config = load(&project);
        enum sma_policy_write found = sma_decisive_judge(config, sma_str(rows[i].path), &why);
        if (found != rows[i].wanted)
            fprintf(stderr, "%s: %s is %d\n", rows[i].entry, rows[i].path, (int)found);
        CHECK_INT(rows[i].wanted, found);
        CHECK((found == FREE) == (why[0] == '\0'));
        sma_config_destroy(config);
    }
}

/* What its code loads is not in its words: so all that may be code is the owner's. */
CASE(without_walls_the_project_is_the_owners)
{
    static const struct
    {
        const char *entry;
        bool is_owners; /* srv.js somewhere */
    } rows[] = {
        {"\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", true},
        {"\"command\":\"sh\",\"args\":[\"tools/start.sh\"]", true},
        {"\"command\":\"python3\",\"args\":[\"-c\",\"import x\"]", true},
        {"\"command\":\"python3\",\"args\":[\"-m\",\"not_there\"]", true},
        {"\"command\":\"node\"", true},
        {"\"command\":\"bash\",\"args\":[\"-lc\",\"mcp-box\"]", true},
        {"\"command\":\"env\",\"args\":[\"-S\",\"mcp-box\"]", true},
        {"\"command\":\"mcp-box\",\"args\":[\"--stdio\",\"python3 tools/srv.py\"]", true},
        {"\"command\":\"mcp-box\",\"args\":[\"run\",\"tools/srv.py:mcp\"]", true},
        {"\"command\":\"mcp-box\",\"args\":[\"$PWD\"]", true},
        {"\"command\":\"mcp-box\",\"args\":[\"../x/y\"]", true},
        {"\"command\":\"mcp-box\",\"args\":[\"-fplain.sh\"]", true},
        {"\"command\":\"mcp-box\",\"env\":{\"PLUGIN\":\"tools/srv.py\"}", true},
        {"\"command\":\"mcp-box\",\"env\":{\"PYTHONPATH\":\"not-there\"}", true},
        {"\"command\":\"mcp-box\",\"env\":{\"PATH\":\"/usr/bin:\"}", true},
        {"\"command\":\"./bin/run\"", true},
        {"\"command\":\"java\",\"args\":[\"@args\"]", true},
        {"\"command\":\"npx\",\"args\":[\"-y\",\"./tools\"]", true},
        {"\"command\":\"npx\",\"args\":[\"-c\",\"x\"]", true},
        {"\"command\":\"npx\",\"args\":[\"-y\",\"@scope/box\",\"--token\",\"abc\"]", false},
        {"\"command\":\"uvx\",\"args\":[\"mcp-box\"]", false},
        {"\"command\":\"/usr/bin/true\"", false},
        {"\"command\":\"mcp-box\",\"args\":[\"--url\",\"https://a.example/x?y=z&k=1\"]", false},
        {"\"command\":\"mcp-box\",\"args\":[\"--db-path\",\"data/app.db\"]", false},
        {"\"command\":\"/usr/bin/python3\",\"args\":[\"-u\",\"/opt/srv.py\"]", false},
        {"\"command\":\"mcp-box\",\"env\":{\"TZ\":\"Europe/Berlin\",\"KEY\":\"a b\"}", false},
    };
    static const char *const code[] = {"far/srv.js", "far/none", "conf.json", "src/a.py", "far"};
    SMA_AUTO(project_close) struct project project;
    begin(&project);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        const char *why;
        char entry[1024];
        snprintf(entry, sizeof entry, "%s,\"sandbox\":{\"enabled\":false}", rows[i].entry);
        put_entry(&project, entry);
        struct sma_config *config = load(&project);
        for (size_t k = 0; k < SMA_COUNT_OF(code); k++) {
            enum sma_policy_write found = sma_decisive_judge(config, sma_str(code[k]), &why);
            if ((found == OWNER) != rows[i].is_owners)
                fprintf(stderr, "%s: %s is %d\n", rows[i].entry, code[k], (int)found);
            CHECK_INT(rows[i].is_owners ? OWNER : FREE, found);
        }
        CHECK_INT(FREE, sma_decisive_judge(config, SMA_STR("far/notes.md"), &why));
        CHECK_INT(FREE, sma_decisive_judge(config, SMA_STR("data/app.db"), &why));
        if (strstr(rows[i].entry, "npx") != NULL)
            CHECK_INT(OWNER, sma_decisive_judge(config, SMA_STR("node_modules/.bin/box"), &why));
        sma_config_destroy(config);
    }
}

CASE(what_ship_json_names_is_the_owners)
{
    SMA_AUTO(project_close) struct project project;
    const char *why;
    begin(&project);
    project_put(&project, "ship.json",
                "{\"chats\":{\"telegram\":{\"promptFile\":\"./Team.md\"}},"
                "\"adapters\":{\"feishu\":{\"enabled\":false,\"caFile\":\"ca.pem\"}}}");
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = load(&project);
    CHECK_INT(OWNER, sma_decisive_judge(config, SMA_STR("Team.md"), &why));
    CHECK_INT(OWNER, sma_decisive_judge(config, SMA_STR("ca.pem"), &why));
    CHECK_INT(FREE, sma_decisive_judge(config, SMA_STR("plain.txt"), &why));
}

/* For a git outside of the walls they are .git/config; also what is not there yet. */
CASE(what_git_settings_include_is_the_owners)
{
    SMA_AUTO(project_close) struct project project;
    const char *why;
    begin(&project);
    project_put(&project, ".git/config",
                "[include]\n\tpath = ../tools/./git.inc\n\tpath = /etc/gitconfig\n"
                "[includeIf \"onbranch:x\"]\n\tpath = ../later/git.inc\n\tpath = ../alias\n");
    project_put(&project, ".git/config.worktree", "[include] path = ../own.inc\n");
    project_put(&project, "tools/git.inc", "[include]\n\tpath = further.inc\n");
    char path[512];
    snprintf(path, sizeof path, "%s/alias", project.dir);
    CHECK(symlink("data/real.inc", path) == 0);
    project_put(&project, "data/real.inc", "");
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = load(&project);
    static const char *const names[] = {"tools/git.inc", "later/git.inc", "tools/further.inc",
                                        "alias",         "data/real.inc", "own.inc",
                                        "later"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        CHECK_INT(OWNER, sma_decisive_judge(config, sma_str(names[i]), &why));
        CHECK_TEXT("the settings of git name it", why);
    }
    CHECK_INT(FREE, sma_decisive_judge(config, SMA_STR("tools/other.inc"), &why));
}

/* Also where only the text or a link leads to it: an administrator may not agree. */
CASE(commands_that_write_it_are_for_its_owner)
{
    static const struct
    {
        const char *command;
        bool is_owner_only;
    } rows[] = {
        {"cp plain.sh tools/srv.py", true},          {"cp plain.sh data/../tools/srv.py", true},
        {"cp plain.sh tools/./srv.py", true},        {"echo x > tools//srv.py", true},
        {"cp plain.sh alias/srv.py", true},          {"sed -i s/a/b/ alias.py", true},
        {"cd tools && cp ../plain.sh srv.py", true}, {"mv tools away", true},
        {"cp plain.sh tool?/srv.py", true},          {"rm -rf tools", true},
        {"cp plain.sh data/x.txt", false},           {"cp plain.sh data/../plain.txt", false},
    };
    SMA_AUTO(project_close) struct project project;
    char path[512];
    struct sma_shell *shell = sma_shell_create();
    begin(&project);
    put_entry(&project, "\"command\":\"python3\",\"args\":[\"tools/srv.py\"]");
    snprintf(path, sizeof path, "%s/alias", project.dir);
    CHECK(symlink("tools", path) == 0);
    snprintf(path, sizeof path, "%s/alias.py", project.dir);
    CHECK(symlink("tools/srv.py", path) == 0);
    project_put(
        &project, "ship.json",
        "{\"permissions\":{\"write_repo\":true,\"exec_shell\":{\"deny\":[],\"allow\":[\"cp\","
        "\"mv\",\"sed -i\",\"echo\",\"rm\",\"cd\"]}}}");
    struct sma_config *config = load(&project);
    struct sma_tool_rules *rules;
    CHECK_OK(sma_tool_rules_create(config, &rules, NULL));
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_policy_decision decision;
        sma_tool_rules_decide(rules, shell, sma_str(rows[i].command), &decision);
        bool is_asked = decision.verdict == SMA_POLICY_ASK;
        if (decision.is_owner_only != rows[i].is_owner_only)
            fprintf(stderr, "%s: %s\n", rows[i].command, decision.reason);
        CHECK_INT(rows[i].is_owner_only, decision.is_owner_only);
        CHECK(is_asked || !rows[i].is_owner_only);
    }
    sma_tool_rules_destroy(rules);
    sma_config_destroy(config);
    sma_shell_destroy(shell);
}

/* -- the program as it was accepted ------------------------------------------------------------ */
/* @return its state; accepts it when it is new, as the service does */
static enum sma_program_state look(const struct project *project, const char *entry,
                                   const char *wanted)
{
    struct sma_mcp_config *servers = NULL;
    struct sma_program_look *program = NULL;
    struct sma_error error = {.text = ""};
    struct sma_buf changes;
    enum sma_program_state state;
    sma_buf_init(&changes, 100000);
    put_entry(project, entry);
    struct sma_mcp_config_options options = {.project_dir = project->dir, .find = NULL};
    CHECK_OK(sma_mcp_config_load(&options, &servers, &error));
    CHECK_OK(
        sma_program_look(project->dir, &servers->servers[0], &state, &changes, &program, &error));
    if (state == SMA_PROGRAM_NEW ||
        (state == SMA_PROGRAM_FOREIGN && !sma_program_is_recorded(program)))
        CHECK_OK(sma_program_accept(program, &error));
    if (state == SMA_PROGRAM_CHANGED && strcmp(wanted, changes.ptr) != 0)
        fprintf(stderr, "%s", changes.ptr);
    CHECK(state != SMA_PROGRAM_CHANGED || strcmp(wanted, changes.ptr) == 0);
    sma_program_look_destroy(program);
    sma_mcp_config_destroy(servers);
    sma_buf_fini(&changes);
    return state;
}

CASE(another_program_is_found)
{
    static const char entry[] = "\"command\":\"python3\",\"args\":[\"tools/srv.py\"]";
    SMA_AUTO(project_close) struct project project;
    begin(&project);
    CHECK_INT(SMA_PROGRAM_FOREIGN, look(&project, "\"command\":\"true\"", ""));
    CHECK_INT(SMA_PROGRAM_NEW, look(&project, entry, ""));
    CHECK_INT(SMA_PROGRAM_SAME, look(&project, entry, ""));
    project_put(&project, "tools/notes.txt", "it writes data beside itself\n");
    project_put(&project, "tools/state.json", "{}");
    project_put(&project, "tools/__pycache__/lib.cpython-311.pyc", "made by python\n");
    CHECK_INT(SMA_PROGRAM_SAME, look(&project, entry, ""));
    project_put(&project, "tools/lib.py", "evil\n");
    CHECK_INT(SMA_PROGRAM_CHANGED, look(&project, entry, "changed tools/lib.py\n"));
    project_put(&project, "tools/lib.py", "x\n");
    CHECK_INT(SMA_PROGRAM_SAME, look(&project, entry, "")); /* as it was */
    project_put(&project, "tools/sub/json.py", "evil\n");
    CHECK_INT(SMA_PROGRAM_CHANGED, look(&project, entry, "new tools/sub/json.py\n"));
    /* what the entry says beside its words changes nothing about it */
    CHECK_INT(SMA_PROGRAM_CHANGED,
              look(&project,
                   "\"command\":\"python3\",\"args\":[\"tools/srv.py\"],\"timeoutMs\":70000,"
                   "\"sandbox\":{\"enabled\":false}",
                   "new tools/sub/json.py\n"));
    /* other words are the owner's new entry */
    CHECK_INT(SMA_PROGRAM_NEW,
              look(&project, "\"command\":\"python3\",\"args\":[\"-u\",\"tools/srv.py\"]", ""));
}

/* What an owner is shown before he accepts it. @return in *text */
static void show(const struct project *project, bool accepts, struct sma_buf *text)
{
    struct sma_mcp_config *servers = NULL;
    struct sma_program_look *program = NULL;
    struct sma_error error = {.text = ""};
    enum sma_program_state state;
    put_entry(project, "\"command\":\"python3\",\"args\":[\"tools/srv.py\"]");
    struct sma_mcp_config_options options = {.project_dir = project->dir, .find = NULL};
    CHECK_OK(sma_mcp_config_load(&options, &servers, &error));
    CHECK_OK(sma_program_look(project->dir, &servers->servers[0], &state, NULL, &program, &error));
    sma_buf_clear(text);
    sma_program_put_diffs(program, sma_file_tools_put_diff, 12, text);
    sma_buf_put_char(text, '\0');
    if (accepts)
        CHECK_OK(sma_program_accept(program, &error));
    sma_program_look_destroy(program);
    sma_mcp_config_destroy(servers);
}

CASE(what_changed_is_shown)
{
    struct project project;
    struct sma_buf text;
    begin(&project);
    sma_buf_init(&text, 100000);
    project_put(&project, "tools/lib.py", "a\nb\nc\n");
    show(&project, true, &text);
    CHECK_TEXT("", text.ptr);
    project_put(&project, "tools/lib.py", "a\nevil\nc\n");
    show(&project, false, &text);
    CHECK(strstr(text.ptr, "| --- a/tools/lib.py\n") != NULL);
    CHECK(strstr(text.ptr, "| -b\n| +evil\n|  c\n") != NULL);
    show(&project, true, &text); /* from now on it is the old one */
    project_put(&project, "tools/lib.py", "a\nc\n");
    show(&project, false, &text);
    CHECK(strstr(text.ptr, "| -evil\n") != NULL && strstr(text.ptr, "| -b\n") == NULL);
    project_put(&project, "tools/new.py", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
    show(&project, false, &text); /* no more lines than were asked for */
    size_t lines = 0;
    for (const char *at = text.ptr; *at != '\0'; at++)
        lines += *at == '\n';
    CHECK_INT(12, (int)lines);
    CHECK(strstr(text.ptr, "| ...\n") != NULL);
    /* without a copy: what can be told all the same */
    char command[PATH_MAX + 64];
    snprintf(command, sizeof command, "rm -r '%s/.ship/mcp/accepted.d'", project.dir);
    CHECK_INT(0, system(command)); // NOLINT(cert-env33-c)
    show(&project, false, &text);
    CHECK(strstr(text.ptr, "| tools/lib.py: 4 bytes, sha256 ") != NULL);
    sma_buf_fini(&text);
    project_close(&project);
}

CASE(what_comes_later_is_a_change)
{
    static const char module[] = "\"command\":\"python3\",\"args\":[\"-m\",\"mods.late\"]";
    static const char open[] = "\"command\":\"python3\",\"args\":[\"-m\",\"other.later\"],"
                               "\"sandbox\":{\"enabled\":false}";
    static const char entry[] = "\"command\":\"python3\",\"args\":[\"tools/srv.py\"]";
    SMA_AUTO(project_close) struct project project;
    begin(&project);
    CHECK_INT(SMA_PROGRAM_FOREIGN, look(&project, module, ""));
    CHECK_INT(SMA_PROGRAM_FOREIGN, look(&project, module, ""));
    project_put(&project, "mods/late.py", "evil\n");
    CHECK_INT(SMA_PROGRAM_CHANGED, look(&project, module, "new mods/late.py\n"));
    CHECK_INT(SMA_PROGRAM_NEW, look(&project, open, ""));
    CHECK_INT(SMA_PROGRAM_SAME, look(&project, open, ""));
    project_put(&project, "other/later.py", "evil\n");
    CHECK_INT(SMA_PROGRAM_CHANGED, look(&project, open, "new other/later.py\n"));
    /* a folder is not looked into, if it was a venv when it was accepted */
    CHECK_INT(SMA_PROGRAM_NEW, look(&project, entry, ""));
    project_put(&project, "tools/more/x.py", "evil\n");
    project_put(&project, "tools/more/pyvenv.cfg", "");
    CHECK_INT(SMA_PROGRAM_CHANGED, look(&project, entry, "new tools/more/pyvenv.cfg\n"));
}

/* However deep it lies, and whatever its folder is called; too deep: the server is not started. */
CASE(what_lies_deep_is_bound)
{
    static const char entry[] = "\"command\":\"python3\",\"args\":[\"tools/srv.py\"]";
    static const char *const late[] = {"tools/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/x.py",
                                       "tools/node_modules/opt/x.py"};
    for (size_t i = 0; i < SMA_COUNT_OF(late); i++) {
        struct project project;
        char wanted[128];
        begin(&project);
        snprintf(wanted, sizeof wanted, "new %s\n", late[i]);
        CHECK_INT(SMA_PROGRAM_NEW, look(&project, entry, ""));
        project_put(&project, late[i], "evil\n");
        CHECK_INT(SMA_PROGRAM_CHANGED, look(&project, entry, wanted));
        project_close(&project);
    }
    struct project project;
    struct sma_mcp_config *servers = NULL;
    struct sma_program_look *program = NULL;
    struct sma_error error = {.text = ""};
    enum sma_program_state state;
    begin(&project);
    put_entry(&project, entry);
    project_put(&project, "tools/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/x.py", "x\n");
    struct sma_mcp_config_options options = {.project_dir = project.dir, .find = NULL};
    CHECK_OK(sma_mcp_config_load(&options, &servers, &error));
    CHECK_ERR(SMA_ERR_TOOBIG,
              sma_program_look(project.dir, &servers->servers[0], &state, NULL, &program, &error));
    CHECK(strstr(error.text, "put the program into a folder of its own") != NULL);
    sma_mcp_config_destroy(servers);
    project_close(&project);
}

/* A server without walls loads modules that lie right in the project: another one is a change, the
 * owner's work on those that are there is none, nor is data. */
CASE(a_module_beside_an_open_server_is_a_change)
{
    static const char open[] = "\"command\":\"python3\",\"args\":[\"-c\",\"import opt\"],"
                               "\"sandbox\":{\"enabled\":false}";
    static const char walled[] = "\"command\":\"python3\",\"args\":[\"-c\",\"import opt\"]";
    struct project project;
    begin(&project);
    project_put(&project, "mine.py", "x\n");
    CHECK_INT(SMA_PROGRAM_NEW, look(&project, open, ""));
    project_put(&project, "mine.py", "y\n");
    project_put(&project, "notes.md", "z\n");
    CHECK_INT(SMA_PROGRAM_SAME, look(&project, open, ""));
    project_put(&project, "opt.py", "evil\n");
    CHECK_INT(SMA_PROGRAM_CHANGED, look(&project, open, "new opt.py\n"));
    CHECK_INT(SMA_PROGRAM_FOREIGN, look(&project, walled, ""));
    project_close(&project);
}

/* Whatever the settings name, git runs outside of the walls when its owner works. */
CASE(what_git_settings_name_is_the_owners)
{
    static const struct
    {
        const char *path;
        int found;
    } rows[] = {{"githooks/pre-commit", OWNER},
                {"githooks", OWNER},
                {"abs/post-commit", OWNER},
                {"tools/st.sh", OWNER},
                {"plain.sh", OWNER},
                {"tools/fs.sh", OWNER},
                {"tools/d.sh", OWNER},
                {"tools/clean", OWNER},
                {"team/attrs", OWNER},
                {"tools/cred.sh", OWNER},
                {"tools/key.sh", OWNER},
                {"tools/other.sh", FREE},
                {"plain.txt", FREE},
                {"data", FREE},
                {"data/app.db", FREE},
                {"src/a.c", FREE},
                {"real/hook", OWNER},
                {"home/hooks/pre-push", OWNER},
                {"src/go.sh", OWNER},
                {"my hooks/pre-push", OWNER},
                {"sub/hooked/pre-commit", OWNER},
                {"sub/run.sh", OWNER},
                {"tree/githooks/pre-commit", OWNER},
                {"tree/own.sh", OWNER},
                {"refs/heads/main", FREE},
                {"main", FREE},
                {"h/r.git", FREE},
                {"tools/no.sh", FREE}};
    SMA_AUTO(project_close) struct project project;
    char text[2048];
    const char *why;
    begin(&project);
    snprintf(text, sizeof text,
             "[core]\n\thooksPath = ./githooks/\n\tfsmonitor = sh tools/fs.sh\n"
             "\tattributesFile = team/attrs\n\tsshCommand = \"ssh -F x; tools/key.sh\"\n"
             "[alias]\n\tst = !tools/st.sh\n\tp = \"!sh plain.sh\"\n"
             "[diff \"plain.txt\"]\n\ttextconv = tools/d.sh --a\n"
             "[filter \"c\"]\n\tclean = python3 \\\n  tools/clean\n"
             "[credential] helper = %s/tools/cred.sh\n# x = tools/no.sh\n"
             "[remote \"o\"]\n\turl = https://h/r.git\n[include]\n\tpath = ../tools/more\n"
             "[branch \"main\"]\n\tmerge = refs/heads/main\n"
             "[alias]\n\tlog = \"!git log data ./data/\"\n\tgo = !cd src && `./go.sh`\n"
             "[core]\n\thooksPath = \"my hooks\" ; there\n\thooksPath = ~/home/hooks\n",
             project.dir);
    SMA_AUTO(sma_freep) char *home = strdup(getenv("HOME") == NULL ? "/" : getenv("HOME"));
    CHECK_INT(0, setenv("HOME", project.dir, 1));
    project_put(&project, "src/a.c", "x");
    project_put(&project, "src/go.sh", "x");
    project_put(&project, "real/hook", "x");
    char gitdir[512];
    snprintf(gitdir, sizeof gitdir, "%s/tools/d.sh", project.dir);
    CHECK_INT(0, symlink("../real/hook", gitdir));
    project_put(&project, "sub/.git", "gitdir: ../.git/modules/lib/sub\n");
    project_put(&project, ".git/modules/lib/sub/config",
                "[core]\n\tworktree = ../../../../sub\n\thooksPath = hooked\n"
                "[alias]\n\tr = !./run.sh\n");
    project_put(&project, "tree/.git", "gitdir: ../.git/worktrees/tree\n");
    project_put(&project, ".git/worktrees/tree/config.worktree", "[alias]\n\to = !./own.sh\n");
    snprintf(gitdir, sizeof gitdir, "%s/tree/.git\n", project.dir);
    project_put(&project, ".git/worktrees/tree/gitdir", gitdir);
    project_put(&project, ".git/config", text);
    snprintf(text, sizeof text, "[core] hookspath=\"%s/abs\"\n", project.dir);
    project_put(&project, "tools/more", text);
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = load(&project);
    CHECK_INT(0, setenv("HOME", home, 1));
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        int found = (int)sma_decisive_judge(config, sma_str(rows[i].path), &why);
        if (found != rows[i].found)
            fprintf(stderr, "%s\n", rows[i].path);
        CHECK_INT(rows[i].found, found);
    }
}

/* Npx runs what lies in the project's packages before it fetches; while there are none,
 * any command may make them. */
CASE(packages_that_come_later_are_a_change)
{
    static const char entry[] = "\"command\":\"npx\",\"args\":[\"-y\",\"@scope/box\"],"
                                "\"sandbox\":{\"enabled\":false}";
    SMA_AUTO(project_close) struct project project;
    char path[512];
    begin(&project);
    snprintf(path, sizeof path, "%s/node_modules", project.dir);
    char away[512], manifest[512];
    snprintf(away, sizeof away, "%s/away", project.dir);
    snprintf(manifest, sizeof manifest, "%s/package.json", project.dir);
    CHECK_INT(0, rename(path, away));
    CHECK_INT(SMA_PROGRAM_NEW, look(&project, entry, ""));
    CHECK_INT(SMA_PROGRAM_SAME, look(&project, entry, ""));
    /* what stands in for it while commands run, for this server or for another */
    static const char open[] = OUT "\"command\":\"python3\",\"args\":[\"-c\",\"import opt\"]";
    CHECK_INT(0, mkdir(path, 0755));
    project_put(&project, "package.json", SMA_DECISIVE_STAND_IN_JSON);
    project_put(&project, ".npmrc", SMA_DECISIVE_STAND_IN);
    CHECK_INT(SMA_PROGRAM_SAME, look(&project, entry, ""));
    CHECK_INT(0, unlink(manifest));
    CHECK_INT(SMA_PROGRAM_NEW, look(&project, open, ""));
    project_put(&project, "package.json", SMA_DECISIVE_STAND_IN_JSON);
    CHECK_INT(SMA_PROGRAM_SAME, look(&project, open, ""));
    CHECK_INT(SMA_PROGRAM_NEW, look(&project, entry, ""));
    project_put(&project, ".npmrc", "script-shell=evil\n");
    CHECK_INT(SMA_PROGRAM_CHANGED, look(&project, entry, "changed .npmrc\n"));
    project_put(&project, ".npmrc", SMA_DECISIVE_STAND_IN);
    project_put(&project, "node_modules/.bin/box", "evil\n");
    CHECK_INT(SMA_PROGRAM_CHANGED, look(&project, entry, "changed node_modules\n"));
}

/* A folder that is named but not there yet has none; the record knows that they were looked for. */
CASE(packages_of_a_folder_that_comes_later_are_a_change)
{
    static const char entry[] =
        OUT "\"command\":\"sh\",\"args\":[\"-c\",\"cd late && npx -y box\"]";
    SMA_AUTO(project_close) struct project project;
    begin(&project);
    CHECK_INT(SMA_PROGRAM_NEW, look(&project, entry, ""));
    project_put(&project, "late/node_modules/.bin/box", "evil\n");
    CHECK_INT(SMA_PROGRAM_CHANGED, look(&project, entry, "new late/node_modules\n"));
}

/* uv makes its venv at the first start. */
CASE(packages_that_a_program_makes_are_no_change)
{
    static const char entry[] =
        OUT "\"command\":\"uv\",\"args\":[\"--directory\",\"tools\",\"run\",\"srv.py\"]";
    SMA_AUTO(project_close) struct project project;
    begin(&project);
    CHECK_INT(SMA_PROGRAM_NEW, look(&project, entry, ""));
    project_put(&project, "tools/.venv/pyvenv.cfg", "");
    CHECK_INT(SMA_PROGRAM_SAME, look(&project, entry, ""));
}

/* Whoever looks for packages before it fetches any: they are the owner's, also before they come. */
CASE(where_packages_are_looked_for_is_the_owners)
{
    enum kept
    {
        NO,
        YES,
        BUT_IN_WALLS /* left writable for commands */
    };
    static const struct
    {
        const char *entry, *folder;
        enum kept wanted;
    } rows[] = {
        {OUT "\"command\":\"npx\",\"args\":[\"-y\",\"box\"]", "node_modules", YES},
        {OUT "\"command\":\"bunx\",\"args\":[\"box\"]", "node_modules", YES},
        {OUT "\"command\":\"pnpm\",\"args\":[\"dlx\",\"box\"]", "node_modules", YES},
        {OUT "\"command\":\"env\",\"args\":[\"A=b\",\"npx\",\"box\"]", "node_modules", YES},
        {OUT "\"command\":\"sh\",\"args\":[\"-c\",\"cd app && npx box\"]", "app/node_modules", YES},
        {OUT "\"command\":\"deno\",\"args\":[\"run\",\"npm:box\"]", "node_modules", YES},
        {OUT "\"command\":\"node\",\"args\":[\"tools/srv.js\"]", "tools/node_modules", YES},
        {OUT "\"command\":\"pipx\",\"args\":[\"run\",\"box\"]", "__pypackages__", YES},
        {OUT "\"command\":\"uv\",\"args\":[\"--directory\",\"tools\",\"run\",\"s.py\"]",
         "tools/.venv", YES},
        {OUT "\"command\":\"npx\",\"args\":[\"box\"]", "linked", YES},
        {OUT "\"command\":\"npx\",\"args\":[\"box\"]", ".npmrc", YES},
        {OUT "\"command\":\"npx\",\"args\":[\"box\"]", "package.json", YES},
        {OUT "\"command\":\"bunx\",\"args\":[\"box\"]", "bunfig.toml", YES},
        {OUT "\"command\":\"yarn\",\"args\":[\"dlx\",\"box\"]", ".yarnrc.yml", YES},
        {"\"command\":\"npx\",\"args\":[\"box\"]", ".npmrc", NO},
        {OUT "\"command\":\"uvx\",\"args\":[\"box\"]", "node_modules", NO},
        {OUT "\"command\":\"/usr/bin/node\",\"args\":[\"/opt/srv.js\"]", "node_modules", NO},
        {"\"command\":\"npx\",\"args\":[\"box\"]", "node_modules", NO},
        {"\"command\":\"npx\",\"args\":[\"box\"],\"env\":{\"TZ\":\"UTC\"}", "node_modules", NO},
        {"\"command\":\"npx\",\"args\":[\"box\"],\"env\":{\"GH_TOKEN\":\"x\"}", "node_modules",
         BUT_IN_WALLS},
        {NET "\"command\":\"npx\",\"args\":[\"box\"]", "node_modules", BUT_IN_WALLS},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        SMA_AUTO(project_close) struct project project;
        char path[512], other[512];
        enum kept found = NO;
        begin(&project);
        snprintf(path, sizeof path, "%s/node_modules", project.dir);
        snprintf(other, sizeof other, "%s/linked", project.dir);
        CHECK_INT(0, rename(path, other));
        if (strcmp(rows[i].folder, "linked") == 0)
            CHECK_INT(0, symlink("linked", path));
        put_entry(&project, rows[i].entry);
        SMA_AUTO(sma_config_destroyp) struct sma_config *config = load(&project);
        for (size_t k = 0; k < config->decisive_count; k++)
            if (strcmp(config->decisive[k].path, rows[i].folder) == 0)
                found = config->decisive[k].is_awaited    ? YES
                        : config->decisive[k].is_unwalled ? BUT_IN_WALLS
                                                          : found;
        if (found != rows[i].wanted)
            fprintf(stderr, "%s: %s\n", rows[i].entry, rows[i].folder);
        CHECK_INT(rows[i].wanted, found);
    }
}

/* A server between walls may have what commands have not: then whoever writes a module that it
 * loads has it, too. */
CASE(who_runs_the_project_with_more_is_told)
{
    static const struct
    {
        const char *entry, *told; /* NULL: nothing */
    } rows[] = {
        {NET "\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", "keys of its own"},
        {NET "\"command\":\"npx\",\"args\":[\"-y\",\"box\"]", "keys of its own"},
        {"\"env\":{\"GH_TOKEN\":\"x\"},\"command\":\"node\",\"args\":[\"web/server.js\"]",
         "keys of its own"},
        {OUT "\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", "without walls"},
        {NET "\"command\":\"uvx\",\"args\":[\"box\"]", NULL},
        {NET "\"command\":\"mcp-files\",\"args\":[\".\",\"data\"]", NULL},
        {NET "\"command\":\"/usr/bin/python3\",\"args\":[\"/opt/srv.py\"]", NULL},
        {"\"env\":{\"TZ\":\"UTC\"},\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", NULL},
        {"\"command\":\"python3\",\"args\":[\"tools/srv.py\"]", NULL},
        {OUT "\"command\":\"npx\",\"args\":[\"-y\",\"box\"]", NULL},
    };
    SMA_AUTO(project_close) struct project project;
    begin(&project);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_mcp_config *servers = NULL;
        struct sma_mcp_config_options options = {.project_dir = project.dir};
        put_entry(&project, rows[i].entry);
        SMA_AUTO(sma_config_destroyp) struct sma_config *config = load(&project);
        CHECK_OK(sma_mcp_config_load(&options, &servers, NULL));
        const char *remedy = NULL;
        const char *told = sma_decisive_warning(config, &servers->servers[0], &remedy);
        if ((told == NULL) != (rows[i].told == NULL))
            fprintf(stderr, "%s\n", rows[i].entry);
        CHECK((told == NULL) == (rows[i].told == NULL) && (told == NULL) == (remedy == NULL));
        CHECK(told == NULL || strstr(told, rows[i].told) != NULL);
        sma_mcp_config_destroy(servers);
    }
}

/* As a version that knew nothing of packages and of bunfig.toml has written it. */
static void make_record_older(const struct project *project)
{
    char record[512];
    snprintf(record, sizeof record, "%s/" SMA_ACCEPTED_FILE, project->dir);
    json_t *root = json_load_file(record, 0, NULL);
    json_t *box = json_object_get(json_object_get(root, "servers"), "box");
    CHECK_INT(0, json_object_del(box, "packages"));
    CHECK_INT(0, json_object_del(json_object_get(box, "files"), "node_modules"));
    CHECK_INT(0, json_object_del(json_object_get(box, "files"), "bunfig.toml"));
    CHECK_INT(0, json_dump_file(root, record, 0));
    json_decref(root);
}

/* Those that are there are no change, and what is not there is none; what comes from now on is. */
CASE(an_older_record_knows_no_packages)
{
    static const char entry[] = OUT "\"command\":\"npx\",\"args\":[\"box\"]";
    SMA_AUTO(project_close) struct project project;
    char path[512], away[512];
    begin(&project);
    snprintf(path, sizeof path, "%s/node_modules", project.dir);
    snprintf(away, sizeof away, "%s/away", project.dir);
    CHECK_INT(SMA_PROGRAM_NEW, look(&project, entry, ""));
    make_record_older(&project);
    CHECK_INT(SMA_PROGRAM_NEW, look(&project, entry, "")); /* nobody has looked there yet */
    CHECK_INT(SMA_PROGRAM_SAME, look(&project, entry, ""));
    make_record_older(&project);
    CHECK_INT(0, rename(path, away));
    CHECK_INT(SMA_PROGRAM_NEW, look(&project, entry, "")); /* that there are none */
    CHECK_INT(SMA_PROGRAM_SAME, look(&project, entry, ""));
    project_put(&project, "node_modules/.bin/box", "evil\n");
    project_put(&project, "bunfig.toml", "evil\n");
    CHECK_INT(SMA_PROGRAM_CHANGED,
              look(&project, entry, "changed node_modules\nchanged bunfig.toml\n"));
}

CASE(links_and_missing_files_are_known)
{
    static const char entry[] = "\"command\":\"./bin/tool\"";
    SMA_AUTO(project_close) struct project project;
    char path[512], other[512];
    begin(&project);
    CHECK_INT(SMA_PROGRAM_NEW, look(&project, entry, "")); /* it is not there yet */
    snprintf(path, sizeof path, "%s/bin/tool", project.dir);
    CHECK(symlink("run", path) == 0);
    CHECK_INT(SMA_PROGRAM_CHANGED, look(&project, entry, "changed bin/tool\nnew bin/run\n"));
    CHECK(unlink(path) == 0);
    CHECK_INT(SMA_PROGRAM_SAME, look(&project, entry, ""));
    snprintf(path, sizeof path, "%s/bin/py", project.dir);
    CHECK(symlink("/bin/true", path) == 0);
    CHECK_INT(SMA_PROGRAM_NEW, look(&project, "\"command\":\"bin/py\"", ""));
    CHECK_INT(SMA_PROGRAM_SAME, look(&project, "\"command\":\"bin/py\"", ""));
    snprintf(other, sizeof other, "%s/bin/py2", project.dir);
    CHECK(symlink("/bin/false", other) == 0 && rename(other, path) == 0);
    CHECK_INT(SMA_PROGRAM_CHANGED, look(&project, "\"command\":\"bin/py\"", "changed bin/py\n"));
}

CASE(a_damaged_record_accepts_nothing)
{
    SMA_AUTO(project_close) struct project project;
    SMA_AUTO(sma_mcp_config_destroyp) struct sma_mcp_config *servers = NULL;
    struct sma_program_look *program = NULL;
    struct sma_error error = {.text = ""};
    enum sma_program_state state;
    begin(&project);
    put_entry(&project, "\"command\":\"python3\",\"args\":[\"tools/srv.py\"]");
    project_put(&project, SMA_ACCEPTED_FILE, "{\"version\":1}");
    struct sma_mcp_config_options options = {.project_dir = project.dir};
    CHECK_OK(sma_mcp_config_load(&options, &servers, &error));
    CHECK_ERR(SMA_ERR_BADINPUT,
              sma_program_look(project.dir, &servers->servers[0], &state, NULL, &program, &error));
    CHECK(strstr(error.text, "shipmyagent mcp accept") != NULL);
    CHECK_OK(sma_program_accept(program, &error)); /* the owner's word mends it */
    sma_program_look_destroy(program);
    CHECK_OK(sma_program_look(project.dir, &servers->servers[0], &state, NULL, &program, &error));
    CHECK_INT(SMA_PROGRAM_SAME, state);
    sma_program_look_destroy(program);
}

CASES_MAIN
