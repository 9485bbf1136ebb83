/*
 * mcp.c — `shipmyagent mcp`: which MCP servers mcp.json names and how they stand; logins.
 */
#include "mcp.h"

#include "api.h"
#include "cli.h"
#include "commands.h"
#include "prompt.h"
#include "runtime/decisive/accepted.h"
#include "runtime/json/json_read.h"
#include "runtime/mcp/oauth_file.h"
#include "sma/plural.h"
#include "sma/text.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define CHANGE_COUNT_SHOWN 40

static const char *find_variable(void *user, const char *name)
{
    (void)user;
    return getenv(name);
}

static void warn(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "shipmyagent: %s\n", line);
}

/* -- list -------------------------------------------------------------------------------------- */
/* "logged in" "login over, is renewed" ... */
static const char *login_of(const struct sma_config *config,
                            const struct sma_mcp_config_server *server)
{
    struct sma_oauth_token token;
    struct sma_error error = {.code = SMA_ERR_OK};
    if (server->transport == SMA_MCP_STDIO || server->trouble != NULL)
        return "";
    enum sma_err err =
        sma_oauth_file_read(config->project_dir, server->name, server->url, &token, &error);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOTFOUND ? "" : "login damaged";
    sma_oauth_token_fini(&token);
    return "logged in";
}

/* "tools/srv.py is changed" when it is not what was accepted; else empty. Nothing is recorded. */
static void put_held(const struct sma_config *config, const struct sma_mcp_config_server *server,
                     struct sma_buf *line)
{
    struct sma_program_look *look = NULL;
    enum sma_program_state state = SMA_PROGRAM_FOREIGN;
    struct sma_error error = {.code = SMA_ERR_OK};
    struct sma_buf changes;
    sma_buf_init(&changes, 1024 * 1024);
    enum sma_err err =
        sma_program_look(config->project_dir, server, &state, &changes, &look, &error);
    if (err == SMA_ERR_BADINPUT)
        sma_buf_put_text(line, error.text);
    else if (err == SMA_ERR_OK && state == SMA_PROGRAM_CHANGED)
        sma_program_put_changes(line, sma_buf_str(&changes));
    sma_program_look_destroy(look);
    sma_buf_fini(&changes);
}

/* What the running service says of its servers; NULL: none runs. A new reference. */
static json_t *ask_service(const char *folder)
{
    struct sma_cli_api api;
    struct sma_buf answer;
    json_t *root = NULL;
    long status = 0;
    if (sma_cli_api_open("mcp", folder, &api) != 0)
        return NULL;
    sma_buf_init(&answer, SMA_CLI_ANSWER_BYTES_MAX);
    if (sma_cli_api_get(&api, "mcp", "/api/status", &root, &answer, &status) != 0)
        root = NULL;
    sma_buf_fini(&answer);
    json_t *servers = json_incref(json_object_get(root, "mcp"));
    json_decref(root);
    return servers;
}

static int list_json(const struct sma_config *config, const struct sma_mcp_config *servers,
                     const json_t *running)
{
    json_t *root = json_object();
    for (size_t i = 0; i < servers->server_count; i++) {
        const struct sma_mcp_config_server *server = &servers->servers[i];
        const json_t *seen = sma_json_get(running, server->name);
        json_t *item = json_pack(
            "{s:s,s:s*,s:s,s:O*}", "type", sma_mcp_transport_name(server->transport), "trouble",
            server->trouble, "login", login_of(config, server), "running", seen);
        (void)json_object_set_new(root, server->name, item);
    }
    char *text = root == NULL ? NULL : json_dumps(root, JSON_INDENT(2));
    json_decref(root);
    if (text == NULL)
        return sma_cli_fail("mcp: out of memory");
    puts(text);
    free(text);
    return 0;
}

static void print_tool_count(long long count)
{
    printf(", %lld tool%s", count, SMA_S(count));
}

static void print_server(const struct sma_config *config,
                         const struct sma_mcp_config_server *server, const json_t *running)
{
    const json_t *seen = sma_json_get(running, server->name);
    struct sma_str state = sma_json_str(seen, "state"), why = sma_json_str(seen, "error");
    const char *login = login_of(config, server);
    printf("%-20s %-6s ", server->name, sma_mcp_transport_name(server->transport));
    if (server->trouble != NULL) {
        fputs("wrong: ", stdout);
        sma_cli_print_clean(sma_str(server->trouble));
    } else {
        sma_cli_print_clean(state.len == 0 ? SMA_STR("not running") : state);
        if (json_is_integer(sma_json_get(seen, "tools")))
            print_tool_count((long long)json_integer_value(sma_json_get(seen, "tools")));
        printf("%s%s", login[0] == '\0' ? "" : ", ", login);
        struct sma_buf held;
        sma_buf_init(&held, 8192);
        if (why.len == 0)
            put_held(config, server, &held);
        if (why.len > 0 || held.len > 0) {
            fputs(": ", stdout);
            sma_cli_print_clean(why.len > 0 ? why : sma_buf_str(&held));
        }
        if (held.len > 0)
            printf("; look at it, then `shipmyagent mcp accept %s`", server->name);
        sma_buf_fini(&held);
    }
    puts("");
}

static int list(const struct sma_config *config, const struct sma_mcp_config *servers,
                const struct sma_mcp_options *options)
{
    json_t *running = ask_service(options->folder);
    int status = 0;
    if (options->is_json)
        status = list_json(config, servers, running);
    for (size_t i = 0; !options->is_json && i < servers->server_count; i++)
        print_server(config, &servers->servers[i], running);
    if (servers->server_count == 0 && !options->is_json)
        puts("No MCP servers: name them in " SMA_MCP_CONFIG_FILE " (docs/mcp.md of the sources).");
    json_decref(running);
    return status;
}

/* -- accept ------------------------------------------------------------------------------------ */
/* Shows what is other than it was accepted, and asks. @return exit status */
static int accept_one(const struct sma_config *config, const struct sma_mcp_config_server *server,
                      const struct sma_mcp_options *options, bool is_named)
{
    struct sma_program_look *look = NULL;
    struct sma_error error = {.code = SMA_ERR_OK};
    enum sma_program_state state = SMA_PROGRAM_FOREIGN;
    struct sma_buf changes;
    sma_buf_init(&changes, 1024 * 1024);
    enum sma_err err =
        sma_program_look(config->project_dir, server, &state, &changes, &look, &error);
    bool is_damaged = err == SMA_ERR_BADINPUT;
    bool is_open = is_damaged || state == SMA_PROGRAM_CHANGED || state == SMA_PROGRAM_NEW;
    int status = 0;
    if (err != SMA_ERR_OK && !is_damaged)
        status = sma_cli_fail("mcp accept: %s", error.text);
    else if (is_damaged)
        printf("%s\n", error.text);
    if (status == 0 && !is_open && is_named)
        printf("%s: %s\n", server->name,
               state == SMA_PROGRAM_FOREIGN ? "it runs nothing of the project: nothing to accept"
                                            : "its program is what was accepted");
    if (status == 0 && is_open) {
        printf("%s runs, in %s:\n", server->name, config->project_dir);
        sma_cli_print_lines(sma_buf_str(&changes), "  ", CHANGE_COUNT_SHOWN);
        if (!sma_prompt_agree("mcp", options->is_yes, "Accept it as it lies there?"))
            status = 1;
        else if (sma_program_accept(look, &error) != SMA_ERR_OK)
            status = sma_cli_fail("mcp accept: %s", error.text);
        else
            printf("Accepted. A running service starts %s within 15 s, "
                   "or at once with SIGHUP (systemctl reload).\n",
                   server->name);
    }
    sma_program_look_destroy(look);
    sma_buf_fini(&changes);
    return status;
}

static int accept_all(const struct sma_config *config, const struct sma_mcp_config *servers,
                      const struct sma_mcp_options *options)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < servers->server_count; i++)
        if (servers->servers[i].trouble == NULL)
            status = accept_one(config, &servers->servers[i], options, false);
    return status;
}

/* -- logout ------------------------------------------------------------------------------------ */
static int logout(const struct sma_config *config, const struct sma_mcp_options *options)
{
    struct sma_error error = {.code = SMA_ERR_OK};
    enum sma_err err = sma_oauth_file_remove(config->project_dir, options->server, &error);
    if (err == SMA_ERR_NOTFOUND)
        printf("There is no login for %s.\n", options->server);
    else if (err != SMA_ERR_OK)
        return sma_cli_fail("mcp logout: %s", error.text);
    else
        printf("The login for %s is forgotten here; a running service knows it until it is "
               "restarted. The server may still take it: end it there, too.\n",
               options->server);
    return 0;
}

/* -- the command ------------------------------------------------------------------------------- */
static int carry_out(const struct sma_config *config, const struct sma_mcp_options *options)
{
    struct sma_mcp_config_options reading = {
        .project_dir = config->project_dir, .find = find_variable, .warn = warn};
    struct sma_mcp_config *servers = NULL;
    struct sma_error error = {.code = SMA_ERR_OK};
    if (sma_mcp_config_load(&reading, &servers, &error) != SMA_ERR_OK)
        return sma_cli_fail("mcp: %s", error.text);
    const struct sma_mcp_config_server *server =
        options->server == NULL ? NULL : sma_mcp_config_find(servers, options->server);
    int status;
    bool accepts = strcmp(options->verb, "accept") == 0;
    if (strcmp(options->verb, "list") == 0)
        status = list(config, servers, options);
    else if (accepts && options->server == NULL)
        status = accept_all(config, servers, options);
    else if (server == NULL)
        status = sma_cli_fail("mcp %s: %s names no server \"%s\"; `shipmyagent mcp list` shows all",
                              options->verb, SMA_MCP_CONFIG_FILE, options->server);
    else if (strcmp(options->verb, "login") == 0)
        status = sma_mcp_login(config, server, options);
    else if (accepts)
        status = accept_one(config, server, options, true);
    else
        status = logout(config, options);
    sma_mcp_config_destroy(servers);
    return status;
}

static int read_words(int argc, char **argv, struct sma_mcp_options *options)
{
    static const char *const verbs[] = {"list", "login", "logout", "accept"};
    int at = optind;
    for (size_t i = 0; at < argc && i < SMA_COUNT_OF(verbs); i++)
        if (strcmp(argv[at], verbs[i]) == 0)
            options->verb = verbs[i];
    at += at < argc && strcmp(argv[at], options->verb) == 0;
    bool has_server = strcmp(options->verb, "list") != 0;
    bool may_lack = strcmp(options->verb, "accept") == 0;
    if (has_server && at < argc)
        options->server = argv[at++];
    if (at < argc)
        options->folder = argv[at++];
    if (at < argc)
        return sma_cli_fail("mcp: too many words at %s; see `shipmyagent help mcp`", argv[at]);
    if (has_server && !may_lack && options->server == NULL)
        return sma_cli_fail("mcp %s: which server? `shipmyagent mcp list` shows all",
                            options->verb);
    return 0;
}

static int run_mcp(int argc, char **argv)
{
    struct sma_mcp_options options = {.verb = "list", .folder = "."};
    int option;
    while ((option = sma_cli_option(&sma_cli_command_mcp, argc, argv)) != -1) {
        if (option == '?')
            return 1;
        options.is_json |= option == 'j';
        options.is_device |= option == 'd';
        options.is_yes |= option == 'y';
        if (option == 's')
            options.scope = optarg;
        int64_t port = 0;
        if (option == 'p' && sma_parse_i64(sma_str(optarg), 1, 65535, &port) != SMA_ERR_OK)
            return sma_cli_fail("mcp: --port must be a number from 1 to 65535");
        options.port = port != 0 ? (long)port : options.port;
    }
    int status = read_words(argc, argv, &options);
    if (status != 0)
        return status;
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    struct sma_config_overrides overrides = {.provider = "offline"}; /* no model is needed here */
    if (sma_config_load(options.folder, &overrides, NULL, NULL, &config, &error) != SMA_ERR_OK)
        return sma_cli_fail("%s", error.text);
    status = carry_out(config, &options);
    sma_config_destroy(config);
    return status;
}

static const struct sma_cli_command_option MCP_OPTIONS[] = {
    {"json", 'j', false, SMA_VALUE_NONE, NULL, NULL, "list: as JSON"},
    {"device", 'd', false, SMA_VALUE_NONE, NULL, NULL,
     "login: with a code that is entered in a browser anywhere"},
    {"yes", 'y', false, SMA_VALUE_NONE, NULL, NULL, "accept: what is shown, without a question"},
    {"scope", 's', false, SMA_VALUE_TEXT, NULL, "SCOPES",
     "login: ask for these rights instead of those that the server names"},
    {"port", 'p', false, SMA_VALUE_TEXT, NULL, "PORT",
     "login: where the browser comes back to on this machine; any free one otherwise"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_mcp = {
    .name = "mcp",
    .run = run_mcp,
    .place = "[list|login SERVER|logout SERVER|accept SERVER] [FOLDER]",
    .summary = "the MCP servers of the project, and logins to them",
    .usage = "shipmyagent mcp [list] [FOLDER]\n"
             "shipmyagent mcp login SERVER [FOLDER]\n"
             "shipmyagent mcp logout SERVER [FOLDER]\n"
             "shipmyagent mcp accept [SERVER [FOLDER]] [--yes]\n",
    .options = MCP_OPTIONS,
    .text = "list shows the servers of .ship/mcp/mcp.json and, when the service runs, how they\n"
            "stand. login opens a server that wants one, by OAuth; the login is kept in\n"
            ".ship/mcp/tokens and renewed by the service. accept: the program of a server, which "
            "is not\n"
            "started when its files in the project are not those that were accepted; without a "
            "name, of\n"
            "all servers. The first start of an entry accepts what lies there.\n",
    .verbs = "list|login|logout|accept",
    .first = SMA_VALUE_FOLDER,
    .second = SMA_VALUE_TEXT,
};
