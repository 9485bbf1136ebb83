/*
 * Aim: other agents reach this one over the Model Context Protocol: every tool over both transports
 *      and in both eras, approvals with the rights of the API and no others, strangers and hostile
 *      input refused, nothing lost or done twice when the service is killed during a call.
 * Method: the real service, a model server that calls what the text says, `mcp-serve` on pipes and
 *   POST /mcp.  scenario_mcp_serve BINARY FAKE_MODEL
 */
#include "support/check.h"
#include "support/patience.h"
#include "talk.h"
#include "world.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define LLM "\"api\":\"chat\",\"apiKey\":\"" WORLD_API_KEY "\""
#define COUNT_COMMAND "echo done >> count"
#define WANT_COUNT "please [[call exec_shell {\\\"command\\\":\\\"" COUNT_COMMAND "\\\"}]]"
#define MODERN                                                               \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{},"                     \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}"

static const char *binary, *fake_model;
static struct world world;

/* -- mcp-serve on pipes ------------------------------------------------------------------------ */
struct peer
{
    pid_t pid;
    int in, out;
    char *bytes; /* read, and no line yet */
    size_t len;
};

static void peer_start(struct peer *peer)
{
    int to[2], from[2];
    *peer = (struct peer){.pid = -1};
    /* no other child may hold an end of it open */
    CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    peer->pid = fork();
    CHECK(peer->pid >= 0);
    if (peer->pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        execl(binary, binary, "mcp-serve", world.folder.path, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    peer->in = to[1];
    peer->out = from[0];
}

static void peer_send(struct peer *peer, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t count = write(peer->in, bytes, len);
        CHECK(count > 0);
        bytes += count;
        len -= (size_t)count;
    }
}

static void peer_say(struct peer *peer, const char *line)
{
    peer_send(peer, line, strlen(line));
    peer_send(peer, "\n", 1);
}

/* The next line as JSON; decref it. */
static json_t *peer_hear(struct peer *peer)
{
    long long until = process_now_ms() + PATIENCE_AWAIT_MS;
    for (;;) {
        char *end = peer->len == 0 ? NULL : memchr(peer->bytes, '\n', peer->len);
        if (end != NULL) {
            size_t len = (size_t)(end - peer->bytes);
            json_t *root = json_loadb(peer->bytes, len, 0, NULL);
            CHECK(root != NULL);
            peer->len -= len + 1;
            memmove(peer->bytes, end + 1, peer->len);
            return root;
        }
        struct pollfd wait = {.fd = peer->out, .events = POLLIN};
        CHECK(process_now_ms() < until);
        if (poll(&wait, 1, 1000) <= 0)
            continue;
        peer->bytes = realloc(peer->bytes, peer->len + 65536);
        CHECK(peer->bytes != NULL);
        ssize_t count = read(peer->out, peer->bytes + peer->len, 65536);
        CHECK(count > 0);
        peer->len += (size_t)count;
    }
}

/* Its input ends: so does it. */
static void peer_stop(struct peer *peer)
{
    int status;
    close(peer->in);
    CHECK(waitpid(peer->pid, &status, 0) == peer->pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_INT(0, peer->len);
    close(peer->out);
    free(peer->bytes);
}

/* -- one request over either transport --------------------------------------------------------- */
static json_t *post(const char *headers, const char *body, int status)
{
    struct http_answer answer = http_ask(world.service.port, "/mcp", headers, body, TALK_MS);
    if (answer.status != status)
        fprintf(stderr, "%s: %d %s\n", body, answer.status, answer.body == NULL ? "" : answer.body);
    CHECK_INT(status, answer.status);
    json_t *root = answer.body == NULL || answer.body[0] == '\0' ? NULL : talk_json(&answer);
    http_answer_fini(&answer);
    return root;
}

/* peer NULL: over HTTP. */
static json_t *ask(struct peer *peer, const char *message)
{
    if (peer == NULL)
        return post("", message, 200);
    peer_say(peer, message);
    return peer_hear(peer);
}

/* The result of a tool; its text; decref it. */
static json_t *call(struct peer *peer, const char *tool, const char *arguments, bool is_error,
                    const char **ret_text)
{
    char message[4096];
    snprintf(
        message, sizeof message,
        "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
        "\"arguments\":%s}}",
        tool, arguments);
    json_t *root = ask(peer, message);
    const json_t *result = json_object_get(root, "result");
    *ret_text = talk_text(json_array_get(json_object_get(result, "content"), 0), "text");
    if (json_is_true(json_object_get(result, "isError")) != is_error) {
        char *dump = json_dumps(root, 0);
        fprintf(stderr, "%s %s: %s\n", tool, arguments, dump);
        free(dump);
    }
    CHECK_TEXT("c", talk_text(root, "id"));
    CHECK(result != NULL && json_is_true(json_object_get(result, "isError")) == is_error);
    return root;
}

static void expect(struct peer *peer, const char *tool, const char *arguments, bool is_error,
                   const char *part)
{
    const char *text;
    json_t *root = call(peer, tool, arguments, is_error, &text);
    if (strstr(text, part) == NULL)
        fprintf(stderr, "%s: \"%s\", wanted \"%s\"\n", tool, text, part);
    CHECK(strstr(text, part) != NULL);
    json_decref(root);
}

/* -- every tool -------------------------------------------------------------------------------- */
static void expect_tools(struct peer *peer)
{
    char arguments[200];
    const char *chat = peer == NULL ? "by-http" : "by-line";
    json_t *root =
        ask(peer, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                  "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{"
                  "\"name\":\"t\",\"version\":\"1\"}}}");
    CHECK_TEXT("2025-06-18", talk_text(json_object_get(root, "result"), "protocolVersion"));
    json_decref(root);
    root = ask(peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    CHECK_INT(6, json_array_size(json_object_get(json_object_get(root, "result"), "tools")));
    json_decref(root);
    snprintf(arguments, sizeof arguments, "{\"text\":\"how are you\",\"chat\":\"%s\"}", chat);
    expect(peer, "ask_agent", arguments, false, "You said: how are you");
    expect(peer, "list_chats", "{}", false, chat);
    snprintf(arguments, sizeof arguments, "{\"chatKey\":\"api:chat:%s\",\"limit\":2}", chat);
    expect(peer, "read_history", arguments, false, "You said: how are you");
    snprintf(arguments, sizeof arguments, "{\"chatKey\":\"api:chat:%s\",\"text\":\"a note\"}",
             chat);
    expect(peer, "send_message", arguments, false, "\"outboxId\":");
    expect(peer, "send_message", "{\"chatKey\":\"telegram:chat:1\",\"text\":\"x\"}", true, "chat");
    expect(peer, "list_approvals", "{}", false, "\"approvals\":[]");
    expect(peer, "decide_approval", "{\"id\":\"abcdef\",\"decision\":\"approve\"}", true, "");
    expect(peer, "ask_agent", "{\"txt\":\"x\"}", true, "txt");
}

CASE(every_tool_works_over_both_transports)
{
    struct peer peer;
    peer_start(&peer);
    expect_tools(&peer);
    expect_tools(NULL);
    peer_stop(&peer);
}

CASE(the_new_era_is_spoken_over_both)
{
    static const char call[] = "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/"
                               "call\",\"params\":{\"name\":\"ask_agent\","
                               "\"arguments\":{\"text\":\"new era\"}," MODERN "}}";
    static const char headers[] = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                                  "mcp-name: ask_agent\r\n";
    struct peer peer;
    peer_start(&peer);
    for (int i = 0; i < 2; i++) {
        json_t *root = NULL;
        if (i == 0) {
            peer_say(&peer, call);
            root = peer_hear(&peer);
        } else {
            root = post(headers, call, 200);
        }
        const json_t *result = json_object_get(root, "result");
        CHECK_TEXT("complete", talk_text(result, "resultType"));
        CHECK_TEXT("You said: new era",
                   talk_text(json_array_get(json_object_get(result, "content"), 0), "text"));
        json_decref(root);
    }
    json_t *root =
        post("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n", call, 400);
    CHECK_INT(-32020, json_integer_value(json_object_get(json_object_get(root, "error"), "code")));
    json_decref(root);
    peer_stop(&peer);
}

/* -- approvals --------------------------------------------------------------------------------- */
static size_t count_lines(void)
{
    char *text = folder_read(&world.folder, "count");
    size_t count = 0;
    for (const char *at = text; at != NULL && (at = strchr(at, '\n')) != NULL; at++)
        count++;
    free(text);
    return count;
}

static void decide(struct peer *peer, const char *chat, const char *decision)
{
    char arguments[400], id[64], run[64], path[128];
    const char *text;
    snprintf(arguments, sizeof arguments, "{\"text\":\"" WANT_COUNT "\",\"chat\":\"%s\"}", chat);
    json_t *root = call(peer, "ask_agent", arguments, false, &text);
    CHECK(strstr(text, COUNT_COMMAND) != NULL);
    const json_t *told = json_object_get(json_object_get(root, "result"), "structuredContent");
    CHECK_TEXT("parked", talk_text(told, "status"));
    snprintf(id, sizeof id, "%s", talk_text(json_object_get(told, "pendingApproval"), "id"));
    snprintf(run, sizeof run, "%s", talk_text(told, "runId"));
    json_decref(root);
    expect(peer, "list_approvals", "{}", false, id);
    snprintf(arguments, sizeof arguments, "{\"id\":\"%s\",\"decision\":\"%s\"}", id, decision);
    expect(peer, "decide_approval", arguments, false, "");
    snprintf(path, sizeof path, "/api/runs/%s?wait=20", run);
    root = talk_get(world.service.port, path);
    CHECK_TEXT("done", talk_text(root, "status"));
    json_decref(root);
    /* decided once: who comes later is told so */
    expect(peer, "decide_approval", arguments, true, "");
    snprintf(arguments, sizeof arguments, "{\"id\":\"%s\",\"decision\":\"%s\"}", id,
             strcmp(decision, "approve") == 0 ? "reject" : "approve");
    expect(peer, "decide_approval", arguments, true, "");
}

CASE(approvals_are_decided_once_with_the_rights_of_the_api)
{
    struct peer peer;
    peer_start(&peer);
    decide(&peer, "consent-a", "approve");
    CHECK_INT(1, count_lines());
    decide(&peer, "consent-b", "reject");
    CHECK_INT(1, count_lines());
    decide(NULL, "consent-c", "approve");
    CHECK_INT(2, count_lines());
    decide(NULL, "consent-d", "reject");
    CHECK_INT(2, count_lines());
    peer_stop(&peer);
}

/* -- progress and cancel ----------------------------------------------------------------------- */
static const char dripping[] =
    "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"ask_agent\","
    "\"arguments\":{\"text\":\"[[plain]] [[fault:drip bytes=60 ms=50]] one two three four five six "
    "seven eight nine ten\",\"chat\":\"drip\"},\"_meta\":{\"progressToken\":\"tok\"}}}";

CASE(progress_is_told_before_the_answer)
{
    struct peer peer;
    json_int_t last = 0;
    peer_start(&peer);
    peer_say(&peer, dripping);
    for (;;) {
        json_t *root = peer_hear(&peer);
        if (json_object_get(root, "method") == NULL) {
            CHECK_INT(9, json_integer_value(json_object_get(root, "id")));
            json_decref(root);
            break;
        }
        const json_t *params = json_object_get(root, "params");
        json_int_t now = json_integer_value(json_object_get(params, "progress"));
        CHECK_TEXT("tok", talk_text(params, "progressToken"));
        CHECK(now > last);
        last = now;
        json_decref(root);
    }
    CHECK(last >= 2);
    peer_stop(&peer);
    /* without the right Accept there is one answer and no stream */
    json_t *root = post("", dripping, 200);
    CHECK(json_object_get(root, "result") != NULL);
    json_decref(root);
}

static void wait_asked(const char *part)
{
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS;
         world_asked_count(&world, part) == 0; process_pause_ms(5))
        CHECK(process_now_ms() < until);
}

CASE(a_cancelled_call_is_not_answered)
{
    struct peer peer;
    peer_start(&peer);
    peer_say(&peer,
             "{\"jsonrpc\":\"2.0\",\"id\":\"slow\",\"method\":\"tools/call\",\"params\":{\"name\":"
             "\"ask_agent\",\"arguments\":{\"text\":\"[[fault:silence ms=60000]] slow\","
             "\"chat\":\"slow\"}}}");
    wait_asked("slow");
    /* its id is taken while it is open */
    peer_say(&peer,
             "{\"jsonrpc\":\"2.0\",\"id\":\"slow\",\"method\":\"tools/call\",\"params\":{\"name\":"
             "\"list_chats\"}}");
    json_t *root = peer_hear(&peer);
    CHECK_INT(-32600, json_integer_value(json_object_get(json_object_get(root, "error"), "code")));
    json_decref(root);
    expect(&peer, "list_chats", "{}", false, "slow"); /* others go on beside it */
    peer_say(&peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                    "\"requestId\":\"slow\"}}");
    world_end_silence(&world);
    expect(&peer, "ask_agent", "{\"text\":\"after it\",\"chat\":\"slow\"}", false,
           "You said: after it");
    peer_stop(&peer); /* no line is left over */
}

/* -- strangers and hostile input --------------------------------------------------------------- */
CASE(strangers_are_refused)
{
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    struct
    {
        const char *method, *headers;
        int status;
    } rows[] = {
        {"POST", HTTP_AS_STRANGER, 401},
        {"POST", "Authorization: Bearer wrong\r\n", 401},
        {"POST", "Origin: https://evil.example\r\n", 403},
        {"POST", "Origin: null\r\n", 403},
        {"GET", "Accept: text/event-stream\r\n", 405},
        {"DELETE", "Mcp-Session-Id: x\r\n", 405},
        {"POST", "", 200},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool has_body = rows[i].method[0] == 'P';
        struct http_answer answer =
            http_call(world.service.port, rows[i].method, "/mcp", rows[i].headers,
                      has_body ? ping : NULL, has_body ? strlen(ping) : 0, TALK_MS);
        if (answer.status != rows[i].status)
            fprintf(stderr, "%s %s\n", rows[i].method, rows[i].headers);
        CHECK_INT(rows[i].status, answer.status);
        http_answer_fini(&answer);
    }
    /* a name of another site that leads here (DNS rebinding) */
    char token[128], head[512];
    int fd = raw_connect(world.service.port);
    http_token_of(world.service.port, token);
    snprintf(head, sizeof head,
             "POST /mcp HTTP/1.1\r\nHost: evil.example:%d\r\nAuthorization: Bearer %s\r\n"
             "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
             world.service.port, token, strlen(ping), ping);
    CHECK(raw_send(fd, head, strlen(head)));
    char *bytes = raw_read(fd, "\x01", TALK_MS);
    CHECK(strstr(bytes, " 403 ") != NULL);
    free(bytes);
    close(fd);
}

CASE(hostile_input_hurts_nobody)
{
    struct peer peer;
    size_t len = 3u * 1024 * 1024;
    char *deep = malloc(len);
    CHECK(deep != NULL);
    memset(deep, '[', len);
    peer_start(&peer);
    peer_send(&peer, deep, len); /* over the limit of a line, of which the rest is thrown away */
    peer_say(&peer, "");
    json_t *root = peer_hear(&peer);
    CHECK_INT(-32600, json_integer_value(json_object_get(json_object_get(root, "error"), "code")));
    json_decref(root);
    peer_send(&peer, deep, 100000);
    peer_say(&peer, "");
    root = peer_hear(&peer);
    CHECK_INT(-32700, json_integer_value(json_object_get(json_object_get(root, "error"), "code")));
    json_decref(root);
    peer_send(&peer, "\xff\xfe{\n\n\r\n", 7);
    json_decref(peer_hear(&peer));
    expect(&peer, "list_chats", "{}", false, "chats");
    deep[100000] = '\0';
    json_decref(post("", deep, 400));
    json_decref(post("", "{}", 400));
    CHECK(post("", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 202) == NULL);
    expect(NULL, "list_chats", "{}", false, "chats");
    peer_stop(&peer);
    free(deep);
}

/* -- no service -------------------------------------------------------------------------------- */
CASE(a_killed_service_is_said_and_nothing_is_done_twice)
{
    struct peer peer;
    peer_start(&peer);
    peer_say(&peer, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":"
                    "\"ask_agent\",\"arguments\":{\"text\":\"[[fault:silence ms=60000]] survivor\","
                    "\"chat\":\"killed\",\"messageId\":\"m-survivor\"}}}");
    wait_asked("survivor");
    service_kill(&world.service);
    json_t *root = peer_hear(&peer);
    const json_t *result = json_object_get(root, "result");
    const char *text = talk_text(json_array_get(json_object_get(result, "content"), 0), "text");
    CHECK(json_is_true(json_object_get(result, "isError")));
    CHECK(strstr(text, "do not repeat it blindly") != NULL);
    json_decref(root);
    expect(&peer, "list_chats", "{}", true, "does not run");
    root = ask(&peer, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}");
    CHECK(json_object_get(root, "result") != NULL);
    json_decref(root);
    world_end_silence(&world);
    service_start(&world.service, binary, &world.folder);
    http_use_token_of(world.service.port, world.folder.path);
    /* the same client goes on: what was accepted is answered once, and asking for it again under
     * its id gives that answer */
    for (int i = 0; i < 2; i++)
        expect(&peer, "ask_agent",
               "{\"text\":\"[[fault:silence ms=60000]] survivor\",\"chat\":\"killed\","
               "\"messageId\":\"m-survivor\"}",
               false, "You said: [[fault:silence ms=60000]] survivor");
    expect(&peer, "ask_agent",
           "{\"text\":\"something else\",\"chat\":\"killed\",\"messageId\":\"m-survivor\"}", true,
           "this message id was used before");
    expect(&peer, "ask_agent", "{\"text\":\"and now\",\"chat\":\"killed\"}", false,
           "You said: and now");
    json_t *call_root =
        call(&peer, "read_history", "{\"chatKey\":\"api:chat:killed\"}", false, &text);
    const char *at = strstr(text, "You said: [[fault:silence ms=60000]] survivor");
    CHECK(at != NULL && strstr(at + 1, "You said: [[fault:silence ms=60000]] survivor") == NULL);
    json_decref(call_root);
    peer_stop(&peer);
}

CASE(without_a_service_it_says_so)
{
    struct folder folder;
    char *output = NULL;
    folder_create(&folder, "{\"name\":\"x\"}");
    char *argv[] = {(char *)binary, (char *)"mcp-serve", folder.path, NULL};
    CHECK_INT(3, run_to_end(argv, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}\n", &output,
                            PATIENCE_AWAIT_MS));
    CHECK(strstr(output, "no service runs for") != NULL &&
          strstr(output, "shipmyagent start") != NULL);
    CHECK(strchr(output, '{') == NULL);
    free(output);
    folder_remove(&folder);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    (void)signal(SIGPIPE, SIG_IGN);
    world_start(&world, binary, fake_model, LLM, "");
    check_run_cases(NULL);
    world_stop(&world);
    return 0;
}
