/*
 * Aim: the command line says what, where and what to do; nothing happens that was not asked for.
 * Method: run the real binary with good and wrong words in private folders; compare exit status and
 *   text. scenario_cli BINARY
 */
#include "http_client.h"
#include "process.h"
#include "support/check.h"

#include <sys/stat.h>
#include <unistd.h>

static char *binary;

static void expect(int status, const char *text, const char *input, const char *const *words)
{
    char *argv[16] = {binary};
    for (int i = 0; words[i] != NULL; i++)
        argv[i + 1] = (char *)words[i];
    char *output = NULL;
    int actual = run_to_end(argv, input, &output, 30000);
    if (actual != status || strstr(output, text) == NULL)
        fprintf(stderr, "shipmyagent %s %s: status %d, wanted %d and \"%s\":\n%s\n",
                words[0] == NULL ? "" : words[0],
                words[0] == NULL || words[1] == NULL ? "" : words[1], actual, status, text, output);
    CHECK(actual == status && strstr(output, text) != NULL);
    free(output);
}
#define EXPECT(status, text, ...) \
    expect((status), (text), "", (const char *const[]){__VA_ARGS__, NULL})

CASE(words_are_understood_or_refused)
{
    EXPECT(0, "0.1.0", "--version");
    EXPECT(0, "0.1.0", "-v");
    EXPECT(0, "shipmyagent chat", "help");
    EXPECT(0, "--port", "help", "start");
    EXPECT(1, "there is no command nope", "help", "nope");
    EXPECT(0, "--interactive-web", "start", "--help");
    EXPECT(0, "shipmyagent chat [FOLDER] [options]", "chat", "--help");
    EXPECT(0, "shipmyagent policy check", "policy", "--help");
    EXPECT(1, "did you mean `shipmyagent start`", "strat");
    EXPECT(1, "neither a command nor a folder; see `shipmyagent help`", "zzzzzzzz");
    EXPECT(1, "neither a command nor a folder; see `shipmyagent help`", "foo"); /* not: why */
    EXPECT(1, "did you mean `shipmyagent chat`", "chta");
    EXPECT(1, "there is no command stop: press Ctrl-C", "stop");
    EXPECT(1, "there is no command reload: send SIGHUP", "reload");
    EXPECT(1, "option --prot is unknown; did you mean --port?", "start", "--prot", "3001");
    EXPECT(1, "option --prot=1 is unknown; did you mean --port?", "start", "--prot=1");
    EXPECT(3, "not running: /nonexistent/bot: No such file", "status", "/nonexistent/bot");
    EXPECT(3, "not running: /proc (there is no Agent.md", "runs", "/proc");
    EXPECT(3, "not running: /proc (there is no Agent.md", "usage", "/proc");
    EXPECT(1, "why: there is no /proc/.ship/logs: the service has never run here; name the folder",
           "why", "7", "/proc");
    EXPECT(1, "option -q is unknown", "start", "-q");
    EXPECT(1, "option --nope is unknown", "start", "--nope");
    EXPECT(1, "option -p is unknown or lacks its value", "start", "-p");
    EXPECT(1, "port 99999 is not a number", "start", "--port", "99999");
    EXPECT(1, "port 80x is not a number", "start", "--port", "80x");
    EXPECT(1, "--sandbox takes auto or require, not off", "start", "--sandbox", "off");
    EXPECT(1, "takes true or false, not maybe", "start", "--interactive-web=maybe");
    EXPECT(1, "found --interactive-web, which this version does not use", "start",
           "--interactive-web", "true", "/nonexistent/folder");
    EXPECT(1, "found --interactive-port, which this version does not use", "start",
           "--interactive-port", "3001", "/nonexistent/folder");
    EXPECT(1, "only one folder can be served; what is /tmp for?", "start", "/", "/tmp");
    EXPECT(1, "an argument is empty", "status", ""); /* "$DIR" that is not set: not the root */
    EXPECT(1, "an argument is empty", "logs", "");
    EXPECT(1, "an argument is empty", "export", "a:b", "");
}

CASE(a_folder_without_a_project_is_refused)
{
    struct folder folder;
    folder_create(&folder, NULL);
    char path[256];
    snprintf(path, sizeof path, "%s/Agent.md", folder.path);
    CHECK(unlink(path) == 0);
    EXPECT(1, "no Agent.md here; run `shipmyagent init /", "start", folder.path);
    const char *home = getenv("HOME");
    char before[4096];
    snprintf(before, sizeof before, "%s", home == NULL ? "/" : home);
    setenv("HOME", folder.path, 1); /* not all that is mine */
    EXPECT(1, "no Agent.md here; run `shipmyagent init my-agent`", "start", folder.path);
    setenv("HOME", before, 1);
    EXPECT(1, "no Agent.md here", folder.path);
    EXPECT(1, "not a folder", "start", "/nonexistent/folder");
    folder_write(&folder, "Agent.md", "x");
    folder_write(&folder, "ship.json", "{\"llm\":{\"provider\":\"offline\"},}");
    EXPECT(1, "ship.json:1:", "start", folder.path);
    folder_write(
        &folder, "ship.json",
        "{\"llm\":{\"provider\":\"offline\"},\"permissions\":{\"exec_shell\":{\"deny\":5}}}");
    EXPECT(1, "permissions.exec_shell.deny", "start", folder.path, "--port", "0");
    folder_write(&folder, "ship.json", "{\"start\":{\"port\":true}}");
    EXPECT(1, "start.port must be a whole number", "start", folder.path);
    folder_remove(&folder);
}

CASE(init_asks_or_is_told)
{
    struct folder folder;
    folder_create(&folder, NULL);
    char path[256];
    snprintf(path, sizeof path, "%s/new", folder.path);
    EXPECT(1, "use --yes", "init", path);
    EXPECT(1, "--adapter takes none", "init", path, "--yes", "--adapter", "irc");
    EXPECT(0, "Next:", "init", path, "--yes", "--name", "a \"quoted\" name", "--model",
           "deepseek-flash");
    EXPECT(1, "--force overwrites", "init", path, "--yes");
    EXPECT(0, "Next:", "init", path, "--yes", "--force", "--provider", "offline");
    struct folder made;
    snprintf(made.path, sizeof made.path, "%.100s", path);
    char *json = folder_read(&made, "ship.json");
    CHECK(json != NULL && strstr(json, "\"provider\": \"offline\"") != NULL);
    free(json);
    char *schema = folder_read(&made, ".ship/schema/ship.schema.json");
    CHECK(schema != NULL && strstr(schema, "\"chatWaitingMax\"") != NULL);
    free(schema);
    char *mcp = folder_read(&made, ".ship/mcp/mcp.json");
    CHECK(mcp != NULL);
    free(mcp);
    folder_remove(&folder);
}

/* What was refused or broken off leaves no folder, and no key goes to another provider's
 * address. */
CASE(init_refuses_what_cannot_work)
{
    struct folder folder;
    folder_create(&folder, NULL);
    char path[256];
    snprintf(path, sizeof path, "%s/new", folder.path);
    EXPECT(1, "anthropic does not serve gpt-6-sol; use --provider openai", "init", path, "--yes",
           "--provider", "anthropic", "--model", "gpt-6-sol");
    EXPECT(1, "provider nonsense is not known; take one of anthropic", "init", path, "--yes",
           "--provider", "nonsense", "--model", "m");
    EXPECT(1, "which provider serves mystery-9 is not known here", "init", path, "--yes", "--model",
           "mystery-9");
    EXPECT(1, "needs the server's address", "init", path, "--yes", "--provider", "custom",
           "--model", "mystery-9");
    EXPECT(1, "--adapter takes none", "init", path, "--yes", "--adapter", "irc");
    CHECK(access(path, F_OK) != 0);
    EXPECT(0, "provider's key, if it wants one\n", "init", path, "--yes", "--provider", "custom",
           "--model", "mystery-9", "--base-url", "http://127.0.0.1:11434/v1");
    folder_remove(&folder);
}

CASE(init_writes_what_the_provider_takes)
{
    static const struct
    {
        const char *words[3], *provider, *model;
    } rows[] = {{{"--provider", "openai"}, "openai", NULL},
                {{"--provider", "anthropic"}, "anthropic", NULL},
                {{"--model", "kimi-k3"}, "moonshot", "kimi-k3"},
                {{"--model", "gemini-3.8-flash"}, "gemini", "gemini-3.8-flash"},
                {{"--model", "glm-5.3"}, "zhipu", "glm-5.3"},
                {{"--model", "qwen3.8-max"}, "qwen", "qwen3.8-max"},
                {{"--model", "anthropic/claude-sonnet-5-5"}, "openrouter", NULL}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct folder folder;
        char wanted[256];
        folder_create(&folder, NULL);
        EXPECT(0, "Next:", "init", folder.path, "--yes", "--force", rows[i].words[0],
               rows[i].words[1]);
        char *json = folder_read(&folder, "ship.json");
        CHECK(json != NULL && strstr(json, "temperature") == NULL);
        snprintf(wanted, sizeof wanted, "\"provider\": \"%s\"", rows[i].provider);
        CHECK(strstr(json, wanted) != NULL);
        if (rows[i].model != NULL)
            CHECK(strstr(json, rows[i].model) != NULL);
        free(json);
        folder_remove(&folder);
    }
}

CASE(alias_changes_its_own_block_only)
{
    struct folder home;
    folder_create(&home, NULL);
    folder_write(&home, ".bashrc", "# mine\nexport A=1");
    folder_write(&home, ".zshrc", "alias sma=\"other\"\n");
    setenv("HOME", home.path, 1);
    EXPECT(0, "alias sma=\"shipmyagent\"", "alias", "--print");
    EXPECT(0, "would be changed", "alias", "--dry-run");
    char *text = folder_read(&home, ".bashrc");
    CHECK_TEXT("# mine\nexport A=1", text);
    free(text);
    EXPECT(0, "skipped", "alias");
    EXPECT(0, "already there", "alias", "--shell", "bash");
    text = folder_read(&home, ".bashrc");
    CHECK_TEXT("# mine\nexport A=1\n# >>> shipmyagent alias >>>\nalias sma=\"shipmyagent\"\n"
               "# <<< shipmyagent alias <<<\n",
               text);
    free(text);
    text = folder_read(&home, ".zshrc");
    CHECK_TEXT("alias sma=\"other\"\n", text);
    free(text);
    folder_remove(&home);
}

CASE(one_process_serves_a_project)
{
    struct folder folder;
    folder_create(&folder, "{\"name\":\"lonely\",\"llm\":{\"provider\":\"offline\"}}");
    EXPECT(3, "; start it with `shipmyagent start ", "status", folder.path);
    EXPECT(3, "start it with `shipmyagent start", "approvals", folder.path);
    struct service service;
    service_start(&service, binary, &folder);
    EXPECT(1, "already serves this project", "start", folder.path, "--port", "0");
    EXPECT(0, "running", "status", folder.path);
    EXPECT(0, "\"status\"", "status", folder.path, "--json");
    EXPECT(0, "nothing waits for a decision", "approvals", folder.path);
    EXPECT(0, "nothing is granted", "grants", folder.path);
    EXPECT(0, "nobody waits to be let in", "pair", folder.path);
    EXPECT(1, "approvals: ", "approvals", "approve", "abcdef", folder.path);
    EXPECT(1, "grants: ", "grants", "revoke", "abcdef", folder.path);
    EXPECT(1, "pair: ", "pair", "approve", "ABCD2345", folder.path);
    EXPECT(1, "Member \"grant\"", "approvals", "approve", "abcdef", "--for", "10w", folder.path);
    struct folder other;
    folder_create(&other, "{\"llm\":{\"provider\":\"offline\"}}");
    char port[16];
    snprintf(port, sizeof port, "%d", service.port);
    EXPECT(1, port, "start", other.path, "--port", port); /* the port is taken: the line names it */
    folder_remove(&other);
    CHECK_INT(0, service_stop(&service));
    EXPECT(3, "not running", "status", folder.path);
    folder_remove(&folder);
}

static bool is_said_in_log(const struct folder *folder, const char *part)
{
    char *log = folder_read(folder, "service.log");
    bool is_said = log != NULL && strstr(log, part) != NULL;
    free(log);
    return is_said;
}

/* Whoever frees the port and starts again has nothing to look for. A crash before that is still
 * told. */
CASE(a_start_that_finds_its_port_taken_leaves_no_trace)
{
    static const char warning[] = "did not end cleanly";
    struct folder one, other;
    struct service holder, service;
    char port[16];
    folder_create(&one, "{\"llm\":{\"provider\":\"offline\"}}");
    folder_create(&other, "{\"llm\":{\"provider\":\"offline\"}}");
    service_start(&holder, binary, &one);
    snprintf(port, sizeof port, "%d", holder.port);
    EXPECT(1, port, "start", other.path, "--port", port); /* the first start of all */
    service_start(&service, binary, &other);
    CHECK(!is_said_in_log(&other, warning));
    CHECK_INT(0, service_stop(&service));
    EXPECT(1, port, "start", other.path, "--port", port); /* and one after a good end */
    service_start(&service, binary, &other);
    CHECK(!is_said_in_log(&other, warning));
    service_kill(&service);
    EXPECT(1, port, "start", other.path, "--port", port);
    service_start(&service, binary, &other);
    CHECK(is_said_in_log(&other, warning));
    CHECK_INT(0, service_stop(&service));
    CHECK_INT(0, service_stop(&holder));
    folder_remove(&one);
    folder_remove(&other);
}

CASE(chat_works_in_a_pipe)
{
    struct folder folder;
    folder_create(&folder, "{\"llm\":{\"provider\":\"offline\"}}");
    /* without a service: one is started for the time of the chat */
    expect(0, "purple elephant", "please repeat purple elephant\n",
           (const char *const[]){"chat", folder.path, NULL});
    EXPECT(3, "not running", "status", folder.path);
    /* with a running one */
    struct service service;
    service_start(&service, binary, &folder);
    expect(0, "green giraffe", "please repeat green giraffe\n",
           (const char *const[]){"chat", folder.path, "--name", "tester", NULL});
    CHECK_INT(0, service_stop(&service));
    char *history = folder_read(&folder, ".ship/chats/cli%3Achat%3Atester.jsonl");
    CHECK(history != NULL && strstr(history, "green giraffe") != NULL);
    free(history);
    folder_remove(&folder);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    binary = argv[1];
    check_run_cases(NULL);
    return check_summary();
}
