/*
 * Aim: `shipmyagent mcp` through the binary: list shows what mcp.json names and how it stands,
 *      login by a device's code keeps a token that the service then uses, logout forgets it.
 * Method: the real binary; an MCP server and its authorization server in this process.
 *   scenario_mcp_cli BINARY FAKE_MCP
 */
#include "process.h"

#include "support/check.h"
#include "support/http_mcp.h"
#include "support/oauth_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WAIT_MS 60000

static char *binary;
static struct folder folder;
static struct http_mcp *fake;
static struct oauth_server guard;

static void write_servers(const char *fake_mcp)
{
    char path[256], text[2048];
    snprintf(path, sizeof path, "%s/.ship", folder.path);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/.ship/mcp", folder.path);
    (void)mkdir(path, 0700);
    snprintf(text, sizeof text,
             "{\"servers\":{\"files\":{\"type\":\"stdio\",\"command\":\"%s\",\"args\":[\"good\"]},"
             "\"wiki\":{\"type\":\"http\",\"url\":\"%s/guarded\"},"
             "\"named\":{\"type\":\"http\",\"url\":\"https://ann:secret-word@h/mcp\"}}}",
             fake_mcp, guard.base);
    folder_write(&folder, ".ship/mcp/mcp.json", text);
}

/* `shipmyagent mcp WORDS... FOLDER`. @return exit status */
static int mcp(char **ret_output, const char *const *words)
{
    char *argv[12] = {binary, (char *)(uintptr_t) "mcp"};
    size_t count = 2;
    for (; *words != NULL; words++)
        argv[count++] = (char *)(uintptr_t)*words;
    argv[count++] = folder.path;
    return run_to_end(argv, "", ret_output, WAIT_MS);
}
#define MCP(output, ...) mcp(output, (const char *const[]){__VA_ARGS__, NULL})

static void check_says(int wanted, int status, char *output, const char *part)
{
    if (status != wanted || strstr(output, part) == NULL)
        fprintf(stderr, "status %d, said: %s\n", status, output);
    CHECK_INT(wanted, status);
    CHECK(strstr(output, part) != NULL);
    free(output);
}

/* The rest of the line that begins with a server's name. */
static char *line_of(char *output, const char *server)
{
    char *at = strstr(output, server);
    CHECK(at != NULL);
    at[strcspn(at, "\n")] = '\0';
    return at;
}

CASE(list_shows_what_is_there)
{
    char *output = NULL;
    CHECK_INT(0, MCP(&output, "list"));
    CHECK(strstr(output, "secret-word") == NULL);
    CHECK(strstr(line_of(output, "named "), "wrong: servers.named: url holds a user") != NULL);
    free(output);
    CHECK_INT(0, MCP(&output, "list"));
    CHECK(strstr(line_of(output, "files "), "stdio  not running") != NULL);
    free(output);
    CHECK_INT(0, MCP(&output, "list"));
    CHECK(strstr(line_of(output, "wiki "), "logged in") == NULL);
    free(output);
}

CASE(wrong_words_are_told)
{
    char *output = NULL;
    int status = MCP(&output, "login", "nobody");
    check_says(1, status, output, "names no server \"nobody\"");
    status = MCP(&output, "login", "files");
    check_says(1, status, output, "files is a program of this machine");
    status = MCP(&output, "logout", "wiki");
    check_says(0, status, output, "There is no login for wiki.");
}

CASE(a_code_logs_in)
{
    char *output = NULL, path[256];
    struct stat info;
    snprintf(guard.client_method, sizeof guard.client_method, "none");
    guard.pending = 1;
    int status = MCP(&output, "login", "--device", "wiki");
    CHECK(strstr(output, "/as/go") != NULL && strstr(output, "canary") == NULL);
    check_says(0, status, output, "Logged in to wiki.");
    snprintf(path, sizeof path, "%s/.ship/mcp/tokens/wiki.json", folder.path);
    CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0600);
    CHECK_INT(0, MCP(&output, "list"));
    CHECK(strstr(line_of(output, "wiki "), "not running, logged in") != NULL);
    free(output);
    status = MCP(&output, "list", "--json");
    check_says(0, status, output, "\"login\": \"logged in\"");
    CHECK_INT(1, guard.tokens);
    CHECK_INT(0, guard.breaches);
}

CASE(the_service_uses_it)
{
    struct service service;
    char *output = NULL;
    long long end = process_now_ms() + WAIT_MS;
    service_start(&service, binary, &folder);
    for (bool is_there = false; !is_there;) {
        CHECK_INT(0, MCP(&output, "list"));
        is_there = strstr(line_of(output, "wiki "), "connected, 5 tools, logged in") != NULL;
        free(output);
        CHECK(is_there || process_now_ms() < end);
    }
    CHECK_INT(0, service_stop(&service));
}

CASE(logout_forgets_it)
{
    char *output = NULL, path[256];
    struct stat info;
    int status = MCP(&output, "logout", "wiki");
    check_says(0, status, output, "The login for wiki is forgotten here");
    snprintf(path, sizeof path, "%s/.ship/mcp/tokens/wiki.json", folder.path);
    CHECK(stat(path, &info) != 0);
    CHECK_INT(0, MCP(&output, "list"));
    CHECK(strstr(line_of(output, "wiki "), "logged in") == NULL);
    free(output);
}

int main(int argc, char **argv)
{
    char base[128];
    CHECK(argc == 3);
    binary = argv[1];
    fake = http_mcp_start();
    snprintf(base, sizeof base, "http://127.0.0.1:%d", http_mcp_port(fake));
    oauth_server_init(&guard, base);
    http_mcp_set_hook(fake, oauth_server_hook, &guard);
    folder_create(&folder, "{\"name\":\"tools\",\"llm\":{\"provider\":\"offline\"}}");
    write_servers(argv[2]);
    check_run_cases(NULL);
    http_mcp_stop(fake);
    folder_remove(&folder);
    return check_summary();
}
