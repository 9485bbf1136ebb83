/*
 * Aim: mcp.json as mcp_config.h says: what is right is read, what is wrong is said with file,
 * server, member and remedy, and harms no other server.
 * Method: files in a folder of the test's own; variables of the test's own.
 */
#include "runtime/mcp/mcp_config.h"
#include "support/check.h"

#include "sma/sys.h"

#include <limits.h>
#include <unistd.h>

static char dir[] = "/tmp/sma-mcp-config-XXXXXX", warnings[8192];

static const char *find(void *user, const char *name)
{
    (void)user;
    return strcmp(name, "TOKEN") == 0 ? "s3cret" : strcmp(name, "HOST") == 0 ? "wiki" : NULL;
}

static void warn(void *user, const char *line)
{
    (void)user;
    size_t len = strlen(warnings);
    snprintf(warnings + len, sizeof warnings - len, "%s\n", line);
}

static enum sma_err load(const char *text, struct sma_mcp_config **ret_config,
                         struct sma_error *error)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/.ship/mcp", dir);
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), path, NULL));
    snprintf(path, sizeof path, "%s/" SMA_MCP_CONFIG_FILE, dir);
    if (text == NULL)
        (void)unlink(path);
    else
        CHECK_OK(sma_sys_write_file_unsynced(sma_sys_real(), path, sma_str(text), 0600, NULL));
    warnings[0] = '\0';
    struct sma_mcp_config_options options = {.project_dir = dir, .find = find, .warn = warn};
    return sma_mcp_config_load(&options, ret_config, error);
}

static struct sma_mcp_config *load_good(const char *text)
{
    struct sma_mcp_config *config = NULL;
    struct sma_error error = {.text = ""};
    CHECK_OK(load(text, &config, &error));
    return config;
}

ENDING(sma_mcp_config_destroy, struct sma_mcp_config)

CASE(a_stdio_server_is_read)
{
    SMA_AUTO(sma_mcp_config_destroyp)
    struct sma_mcp_config *config = load_good(
        "{\"$schema\":\"./mcp.schema.json\",\"servers\":{\"files\":{\"type\":\"stdio\","
        "\"command\":\"mcp-${HOST}\",\"args\":[\"-v\",\"${HOST}\"],\"env\":{\"A\":\"x${TOKEN}y\","
        "\"B\":\"${NOPE}\",\"C\":\"$X "
        "${\",\"D\":\"${NOPE:-d}\",\"E\":\"${TOKEN:-d}\",\"F\":\"${NOPE-a-b:-c}\"},\"timeoutMs\":"
        "5000,\"tools\":{\"allow\":[\"read_*\"],"
        "\"deny\":[\"*_all\"]},\"sandbox\":{\"network\":true},\"permissions\":{\"a\":1}}}}");
    CHECK_INT(1, config->server_count);
    const struct sma_mcp_config_server *server = &config->servers[0];
    CHECK(server->trouble == NULL && server->transport == SMA_MCP_STDIO);
    CHECK_TEXT("files", server->name);
    CHECK_TEXT("mcp-${HOST}", server->command); /* not here */
    CHECK_INT(2, server->args.count);
    CHECK_TEXT("${HOST}", server->args.items[1]); /* nor here */
    CHECK_INT(6, server->env.count);
    CHECK_TEXT("A=xs3crety", server->env.items[0]);
    CHECK_TEXT("B=", server->env.items[1]);
    CHECK_TEXT("C=$X ${", server->env.items[2]);
    CHECK_TEXT("D=d", server->env.items[3]);
    CHECK_TEXT("E=s3cret", server->env.items[4]);
    CHECK_TEXT("F=a-b:-c", server->env.items[5]);
    CHECK_INT(5000, server->timeout_ms);
    CHECK(server->is_sandboxed && server->has_network);
    CHECK_TEXT("{\"a\":1}", server->permissions_json);
    CHECK_TEXT(".ship/mcp/mcp.json: servers.files.env.B: the variable NOPE is not set, so it is "
               "empty; set it in .env\n",
               warnings);
    CHECK(sma_mcp_config_allows(server, SMA_STR("read_one")));
    CHECK(!sma_mcp_config_allows(server, SMA_STR("read_all")));
    CHECK(!sma_mcp_config_allows(server, SMA_STR("write")));
    CHECK(sma_mcp_config_find(config, "files") == server);
    CHECK(sma_mcp_config_find(config, "file") == NULL);
}

CASE(an_at_sign_behind_the_host_is_no_user)
{
    SMA_AUTO(sma_mcp_config_destroyp)
    struct sma_mcp_config *config =
        load_good("{\"servers\":{\"w\":{\"type\":\"http\",\"url\":\"https://x/a@b?c@d\"}}}");
    CHECK(config->servers[0].trouble == NULL);
}

CASE(sampling_is_refused_unless_it_is_allowed)
{
    static const char *const rows[] = {"", ",\"sampling\":\"refuse\"", ",\"sampling\":\"allow\""};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char text[160];
        snprintf(text, sizeof text,
                 "{\"servers\":{\"a\":{\"type\":\"stdio\",\"command\":\"x\"%s}}}", rows[i]);
        struct sma_mcp_config *config = load_good(text);
        CHECK(config->servers[0].trouble == NULL);
        CHECK_INT(i == 2, config->servers[0].may_sample);
        sma_mcp_config_destroy(config);
    }
}

CASE(a_remote_server_is_read)
{
    SMA_AUTO(sma_mcp_config_destroyp)
    struct sma_mcp_config *config = load_good(
        "{\"servers\":{\"w\":{\"type\":\"http\",\"url\":\"https://${HOST}/mcp\",\"headers\":{"
        "\"Authorization\":\"Bearer ${TOKEN}\"}},\"old\":{\"type\":\"sse\",\"url\":"
        "\"http://h/sse\"}}}");
    CHECK_INT(2, config->server_count);
    CHECK_TEXT("https://wiki/mcp", config->servers[0].url);
    CHECK_TEXT("Authorization: Bearer s3cret", config->servers[0].headers.items[0]);
    CHECK_INT(SMA_MCP_TIMEOUT_MS, config->servers[0].timeout_ms);
    CHECK(sma_mcp_config_allows(&config->servers[0], SMA_STR("anything")));
    CHECK_INT(SMA_MCP_SSE, config->servers[1].transport);
    CHECK_TEXT("", warnings);
}

CASE(no_file_and_no_servers_are_nothing)
{
    static const char *const files[] = {NULL, "{}", "{\"servers\":{}}"};
    for (size_t i = 0; i < SMA_COUNT_OF(files); i++) {
        struct sma_mcp_config *config = load_good(files[i]);
        CHECK_INT(0, config->server_count);
        CHECK_TEXT("", warnings);
        sma_mcp_config_destroy(config);
    }
    sma_mcp_config_destroy(NULL);
}

CASE(a_server_that_is_wrong_says_so_and_harms_no_other)
{
    static const struct
    {
        const char *server, *trouble;
    } rows[] = {
        {"7", "servers.bad: it must be an object with \"type\" and \"command\" or \"url\""},
        {"{}", "servers.bad: type is missing; it must be \"stdio\", \"http\" or \"sse\""},
        {"{\"type\":\"htp\"}",
         "servers.bad: type is htp; it must be \"stdio\", \"http\" or \"sse\""},
        {"{\"type\":\"stdio\"}",
         "servers.bad: command is missing: the program that is the server, as a text"},
        {"{\"type\":\"stdio\",\"command\":\"\"}",
         "servers.bad: command is missing: the program that is the server, as a text"},
        {"{\"type\":\"stdio\",\"command\":\"x\",\"args\":[1]}",
         "servers.bad: args must be a list of texts"},
        {"{\"type\":\"stdio\",\"command\":\"x\",\"env\":[]}",
         "servers.bad: env must be an object of texts"},
        {"{\"type\":\"stdio\",\"command\":\"x\",\"env\":{\"A=B\":\"1\"}}",
         "servers.bad: env.A=B must be a text under a plain name"},
        {"{\"type\":\"stdio\",\"command\":\"x\",\"sampling\":true}",
         "servers.bad: sampling must be \"allow\" or \"refuse\""},
        {"{\"type\":\"http\",\"url\":\"http://x\",\"sampling\":\"Allow\"}",
         "servers.bad: sampling must be \"allow\" or \"refuse\""},
        {"{\"type\":\"stdio\",\"command\":\"x\",\"timeoutMs\":1}",
         "servers.bad: timeoutMs must be a whole number from 100 to 3600000"},
        {"{\"type\":\"stdio\",\"command\":\"x\",\"timeoutMs\":\"5000\"}",
         "servers.bad: timeoutMs must be a whole number from 100 to 3600000"},
        {"{\"type\":\"stdio\",\"command\":\"x\",\"sandbox\":false}",
         "servers.bad: sandbox must be an object: {\"enabled\":true,\"network\":false}"},
        {"{\"type\":\"stdio\",\"command\":\"x\",\"sandbox\":{\"network\":1}}",
         "servers.bad: sandbox.network must be true or false"},
        {"{\"type\":\"http\",\"url\":\"ftp://x\"}",
         "servers.bad: url is missing or wrong: it begins with https:// or http://"},
        {"{\"type\":\"http\"}",
         "servers.bad: url is missing or wrong: it begins with https:// or http://"},
        {"{\"type\":\"http\",\"url\":\"https://ann:secret@x/mcp\"}",
         "servers.bad: url holds a user or a password: take them out, and write \"headers\": "
         "{\"Authorization\": \"Basic ${NAME}\"}, with the base64 of user:password in .env"},
        {"{\"type\":\"http\",\"url\":\"http://x\",\"headers\":{\"A\":\"b\\r\\nc: d\"}}",
         "servers.bad: headers.A holds a line end, which a header cannot"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char text[512], wanted[512];
        snprintf(text, sizeof text,
                 "{\"servers\":{\"bad\":%s,\"good\":{\"type\":\"stdio\",\"command\":\"x\"}}}",
                 rows[i].server);
        struct sma_mcp_config *config = load_good(text);
        CHECK_INT(2, config->server_count);
        CHECK(config->servers[0].trouble != NULL);
        CHECK_TEXT(rows[i].trouble, config->servers[0].trouble);
        CHECK(config->servers[1].trouble == NULL);
        snprintf(wanted, sizeof wanted, ".ship/mcp/mcp.json: %s; this server is not started\n",
                 rows[i].trouble);
        CHECK_TEXT(wanted, warnings);
        sma_mcp_config_destroy(config);
    }
}

CASE(unknown_members_are_warned_of_with_the_nearest)
{
    struct sma_mcp_config *config =
        load_good("{\"servrs\":{},\"servers\":{\"a\":{\"type\":\"stdio\",\"command\":\"x\","
                  "\"arg\":[],\"zzzzzzzzzz\":1,\"tools\":{\"alow\":[]}}}}");
    CHECK(strstr(warnings, "servrs is not known; is \"servers\" meant?; it has no effect") != NULL);
    CHECK(strstr(warnings, "servers.a.arg is not known; is \"args\" meant?") != NULL);
    CHECK(strstr(warnings, "servers.a.zzzzzzzzzz is not known; it has no effect") != NULL);
    CHECK(strstr(warnings, "servers.a.tools.alow is not known; is \"allow\" meant?") != NULL);
    CHECK(config->servers[0].trouble == NULL);
    sma_mcp_config_destroy(config);
    config = load_good("{\"mcpServers\":{\"a\":{}}}");
    CHECK_TEXT(".ship/mcp/mcp.json: mcpServers has no effect: write it as \"servers\"\n", warnings);
    sma_mcp_config_destroy(config);
}

CASE(names_are_plain)
{
    char name[SMA_MCP_SERVER_NAME_BYTES_MAX + 2], text[512];
    memset(name, 'n', sizeof name);
    name[SMA_MCP_SERVER_NAME_BYTES_MAX] = '\0';
    snprintf(text, sizeof text,
             "{\"servers\":{\"%s\":{\"type\":\"stdio\",\"command\":\"x\"},\"a:b\":{},\"../x\":{},"
             "\"\":{},\"a b\":{},\"%sn\":{}}}",
             name, name);
    SMA_AUTO(sma_mcp_config_destroyp) struct sma_mcp_config *config = load_good(text);
    CHECK_INT(1, config->server_count);
    CHECK(strstr(warnings, "the name \"../x\" cannot be a server's: 1 to 64 of") != NULL);
}

CASE(a_file_that_is_broken_says_where)
{
    struct sma_mcp_config *config = NULL;
    struct sma_error error = {.text = ""};
    CHECK_ERR(SMA_ERR_BADINPUT, load("{\n\"servers\":{\n", &config, &error));
    CHECK(strstr(error.text, ".ship/mcp/mcp.json: line 3: ") == error.text);
    CHECK_ERR(SMA_ERR_BADINPUT, load("{\"servers\":{\"a\":{},\"a\":{}}}", &config, &error));
    CHECK_ERR(SMA_ERR_BADINPUT, load("[]", &config, &error));
    CHECK_ERR(SMA_ERR_BADINPUT, load("{\"servers\":[]}", &config, &error));
    CHECK(config == NULL);
}

CASE(too_many_servers_are_said)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf text;
    sma_buf_init(&text, 65536);
    sma_buf_put_text(&text, "{\"servers\":{");
    for (int i = 0; i <= SMA_MCP_SERVER_COUNT_MAX; i++)
        sma_buf_printf(&text, "%s\"s%d\":{\"type\":\"stdio\",\"command\":\"x\"}", i == 0 ? "" : ",",
                       i);
    sma_buf_put_text(&text, "}}");
    SMA_AUTO(sma_mcp_config_destroyp) struct sma_mcp_config *config = load_good(text.ptr);
    CHECK_INT(SMA_MCP_SERVER_COUNT_MAX, config->server_count);
    CHECK(strstr(warnings, "more than 32 servers; \"s32\"") != NULL);
}

CASE(a_change_changes_the_fingerprint)
{
    static const char *const rows[] = {"\"command\":\"x\"",
                                       "\"command\":\"y\"",
                                       "\"command\":\"x\",\"args\":[\"1\"]",
                                       "\"command\":\"x\",\"env\":{\"A\":\"1\"}",
                                       "\"command\":\"x\",\"timeoutMs\":1000",
                                       "\"command\":\"x\",\"tools\":{\"deny\":[\"1\"]}",
                                       "\"command\":\"x\",\"tools\":{\"allow\":[\"1\"]}",
                                       "\"command\":\"x\",\"sandbox\":{\"enabled\":false}",
                                       "\"command\":\"x\",\"sampling\":\"allow\"",
                                       "\"command\":\"x\",\"permissions\":{}"};
    uint64_t seen[SMA_COUNT_OF(rows)];
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"servers\":{\"a\":{\"type\":\"stdio\",%s}}}", rows[i]);
        struct sma_mcp_config *config = load_good(text), *again = load_good(text);
        seen[i] = config->servers[0].fingerprint;
        CHECK(seen[i] == again->servers[0].fingerprint);
        for (size_t k = 0; k < i; k++)
            CHECK(seen[k] != seen[i]);
        sma_mcp_config_destroy(config);
        sma_mcp_config_destroy(again);
    }
}

CASE(patterns_match_as_said)
{
    CHECK(sma_mcp_matches(SMA_STR("*"), SMA_STR("")));
    CHECK(sma_mcp_matches(SMA_STR("a*c*"), SMA_STR("abcabc")));
    CHECK(sma_mcp_matches(SMA_STR("*:read_*"), SMA_STR("files:read_one")));
    CHECK(!sma_mcp_matches(SMA_STR("a*c"), SMA_STR("abcd")));
    CHECK(!sma_mcp_matches(SMA_STR(""), SMA_STR("a")));
    char pattern[100], text[2000];
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = i % 2 == 0 ? '*' : 'a';
    memset(text, 'a', sizeof text);
    CHECK(!sma_mcp_matches((struct sma_str){pattern, sizeof pattern - 1}, SMA_STR("b")));
    text[sizeof text - 1] = 'b';
    pattern[sizeof pattern - 1] = 'a';
    CHECK(!sma_mcp_matches((struct sma_str){pattern, sizeof pattern},
                           (struct sma_str){text, sizeof text})); /* and soon */
}

int main(void)
{
    CHECK(mkdtemp(dir) != NULL);
    check_run_cases(NULL);
    char command[PATH_MAX];
    snprintf(command, sizeof command, "%s/" SMA_MCP_CONFIG_FILE, dir);
    (void)unlink(command);
    static const char *const folders[] = {"/.ship/mcp", "/.ship", ""};
    for (size_t i = 0; i < SMA_COUNT_OF(folders); i++) {
        snprintf(command, sizeof command, "%s%s", dir, folders[i]);
        (void)rmdir(command);
    }
    return check_summary();
}
