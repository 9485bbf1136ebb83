/*
 * Aim: servers over HTTP: both eras and HTTP+SSE are found out, connected and called; what breaks
 * on the way is told as what it is, nothing is done twice, no hostile server hurts.
 * Method: http_mcp (as strict as the official servers) in this process, the real actor, a stand-in
 * agent on a thread of its own.
 *   test_mcp_http work | breaks | login | hostile
 */
#include "actor_world.h"

#include "sma/sys.h"
#include "support/http_mcp.h"
#include "support/oauth_server.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>

static struct http_mcp *fake;
static char urls[8][128];
static unsigned url_count;

static const char *at(const char *path)
{
    char *url = urls[url_count++ % 8];
    snprintf(url, sizeof urls[0], "%s", http_mcp_url(fake, path));
    return url;
}

static const char *sse_at(const char *path)
{
    char *url = urls[url_count++ % 8];
    snprintf(url, sizeof urls[0], "sse:%s", http_mcp_url(fake, path));
    return url;
}

static struct world *begin(const char *path, const char *more)
{
    fake = http_mcp_start();
    return world_create((const char *const[]){"a", at(path), NULL}, more);
}

static struct world *begin_connected(const char *path)
{
    struct world *world = begin(path, "");
    world_await_state(world, "a", SMA_MCP_CONNECTED);
    return world;
}

static void end(struct world *world)
{
    world_destroy(world);
    http_mcp_stop(fake);
}

static void check_echo(struct world *world, const char *server)
{
    const struct world_call *call = world_do(world, server, "echo", "{\"message\":\"hi\"}");
    CHECK_INT(SMA_MCP_OK, call->outcome);
    CHECK_TEXT("hi", call->text);
}

static const struct world_call *check_call(struct world *world, enum sma_mcp_outcome outcome,
                                           const char *part)
{
    const struct world_call *call = world_do(world, "a", "echo", "{\"message\":\"hi\"}");
    if (call->outcome != outcome || strstr(call->text, part) == NULL)
        fprintf(stderr, "outcome %d: %s\n", call->outcome, call->text);
    CHECK_INT(outcome, call->outcome);
    CHECK(strstr(call->text, part) != NULL);
    return call;
}

/* -- work -------------------------------------------------------------------------------------- */
static void every_kind_is_connected_and_called(void)
{
    fake = http_mcp_start();
    struct world *world =
        world_create((const char *const[]){"json", at("/json"), "sse", at("/sse"), "modern",
                                           at("/modern"), "stateless", at("/stateless"), NULL},
                     "");
    static const char *const names[] = {"json", "sse", "modern", "stateless"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        world_await_state(world, names[i], SMA_MCP_CONNECTED);
        check_echo(world, names[i]);
    }
    world_await_log(world,
                    "mcp modern: connected: 5 tools, 0 resources, 0 prompts (MCP 2026-07-28)");
    world_await_log(world, "mcp json: connected: 5 tools, 0 resources, 0 prompts (MCP 2025-11-25)");
    (void)world_do(world, "sse", "slow", "{}");
    world_await_progress(world, "half way");
    CHECK_INT(SMA_MCP_TOOL_ERROR, world_do(world, "json", "fail", "{}")->outcome);
    CHECK_INT(SMA_MCP_PROTOCOL_ERROR, world_do(world, "json", "nope", "{}")->outcome);
    CHECK_INT(SMA_MCP_OK, world_do(world, "modern", "slow", "{}")->outcome);
    end(world);
}

static void old_servers_are_found_out(void)
{
    fake = http_mcp_start();
    struct world *world = world_create((const char *const[]){"a", sse_at("/old"), NULL}, "");
    world_await_state(world, "a", SMA_MCP_CONNECTED);
    check_echo(world, "a");
    world_destroy(world);
    world = world_create((const char *const[]){"a", at("/plain"), NULL}, "");
    world_await_state(world, "a", SMA_MCP_CONNECTED);
    check_echo(world, "a");
    end(world);
}

static void arguments_are_repeated_in_headers(void)
{
    struct world *world = begin_connected("/modern");
    CHECK_INT(SMA_MCP_OK, world_do(world, "a", "mark", "{\"region\":\"eu-1\"}")->outcome);
    CHECK_INT(1, http_mcp_count(fake, "Mcp-Param-Region: eu-1"));
    CHECK_INT(SMA_MCP_OK, world_do(world, "a", "mark", "{\"region\":\"z\xc3\xbc\"}")->outcome);
    world_await_tool(world, "a:mark", true);
    world_await_tool(world, "a:badmark", false);
    end(world);
}

static void a_list_that_changes_is_heard_of(const char *path)
{
    struct world *world = begin_connected(path);
    world_await_tool(world, "a:grown", false);
    if (strcmp(path, "/sse") == 0)
        http_mcp_await(fake, "GET /sse", 1);
    else
        http_mcp_await(fake, "subscriptions/listen", 1);
    (void)world_do(world, "a", "grow", "{}");
    world_await_tool(world, "a:grown", true);
    end(world);
}

static void the_session_is_ended_at_the_end(void)
{
    struct world *world = begin_connected("/json");
    world_destroy(world);
    CHECK_INT(1, http_mcp_count(fake, "DELETE /json"));
    http_mcp_stop(fake);
}

static void nothing_overtakes_initialized(void)
{
    struct world *world = begin_connected("/late");
    check_echo(world, "a");
    end(world);
}

static void headers_of_the_file_are_sent(void)
{
    struct world *world =
        begin("/key", ",\"headers\":{\"Authorization\":\"Bearer let-me-in\",\"Accept\":\"x/y\"}");
    world_await_state(world, "a", SMA_MCP_CONNECTED);
    check_echo(world, "a");
    end(world);
}

/* -- what breaks ------------------------------------------------------------------------------- */
static void a_broken_stream_is_asked_to_go_on(void)
{
    struct world *world = begin_connected("/drops");
    check_call(world, SMA_MCP_OK, "after all");
    CHECK_INT(1, http_mcp_count(fake, "tools/call"));
    CHECK_INT(1, http_mcp_count(fake, "Last-Event-ID: call-"));
    end(world);
}

static void a_call_is_not_sent_twice(void)
{
    struct world *world = begin_connected("/closes");
    check_call(world, SMA_MCP_UNKNOWN, "the connection ended before the answer came");
    CHECK_INT(1, http_mcp_count(fake, "tools/call"));
    end(world);
}

static void a_session_that_is_lost_is_begun_anew(const char *path)
{
    struct world *world = begin_connected(path);
    check_echo(world, "a");
    check_call(world, SMA_MCP_NOT_CONNECTED, "ask again");
    http_mcp_await(fake, "\"initialize\"", 2);
    world_await_state(world, "a", SMA_MCP_CONNECTED);
    check_echo(world, "a");
    CHECK_INT(3, http_mcp_count(fake, "tools/call")); /* none by itself */
    end(world);
}

/* The field: 503, or 200 and an error in the stream, for a session that is forgotten. */
struct forgetful
{
    bool is_stream;
    atomic_int begun_count;
};

static char *forget(void *user, const char *method, const char *path, const char *head,
                    const char *body, int *ret_status, char more[1024])
{
    struct forgetful *forgetful = user;
    (void)path, (void)head;
    if (strstr(body, "\"initialize\"") != NULL)
        atomic_fetch_add(&forgetful->begun_count, 1);
    bool is_asked =
        strstr(body, "\"tools/call\"") != NULL || strstr(body, "\"method\":\"ping\"") != NULL;
    if (strcmp(method, "POST") != 0 || !is_asked || atomic_load(&forgetful->begun_count) > 1)
        return NULL;
    *ret_status = forgetful->is_stream ? 200 : 503;
    snprintf(more, 1024, "Content-Type: %s\r\n",
             forgetful->is_stream ? "text/event-stream" : "application/json");
    return strdup(forgetful->is_stream ? "event: message\ndata: {\"error\":\"Session "
                                         "not found\"}\n\n"
                                       : "{\"error\":\"unknown session\"}");
}

static void a_session_that_is_forgotten_in_other_words_is_begun_anew(void)
{
    for (int is_stream = 0; is_stream <= 1; is_stream++) {
        struct forgetful forgetful = {.is_stream = is_stream};
        fake = http_mcp_start();
        http_mcp_set_hook(fake, forget, &forgetful);
        struct world *world = world_create((const char *const[]){"a", at("/json"), NULL}, "");
        world_await_state(world, "a", SMA_MCP_CONNECTED);
        for (int i = 0; i < 2; i++)
            (void)check_call(world, SMA_MCP_UNKNOWN, "");
        http_mcp_await(fake, "\"initialize\"", 2);
        world_await_state(world, "a", SMA_MCP_CONNECTED);
        check_echo(world, "a");
        end(world);
    }
}

static char *send_round(void *user, const char *method, const char *path, const char *head,
                        const char *body, int *ret_status, char more[1024])
{
    (void)user, (void)method, (void)head, (void)body;
    if (strcmp(path, "/round") != 0)
        return NULL;
    *ret_status = 307;
    snprintf(more, 1024, "Location: /round\r\n");
    return strdup("");
}

static void a_circle_of_addresses_is_told_as_one(void)
{
    fake = http_mcp_start();
    http_mcp_set_hook(fake, send_round, NULL);
    struct world *world = world_create((const char *const[]){"a", at("/round"), NULL}, "");
    world_await_log(world, "it sends from one address to another more than");
    end(world);
}

static void only_the_same_server_may_send_elsewhere(void)
{
    struct world *world = begin_connected("/moved");
    check_echo(world, "a");
    end(world);
    world = begin("/away", ",\"headers\":{\"Authorization\":\"Bearer let-me-in\"}");
    world_await_log(world, "it sends to another address (HTTP status 307, host 127.0.0.1:1)");
    end(world);
    fake = http_mcp_start();
    world = world_create((const char *const[]){"a", sse_at("/oldaway"), NULL}, "");
    world_await_log(world, "it names an address for messages at another host, which is refused");
    end(world);
}

static void a_server_that_wants_a_token_says_so(void)
{
    struct world *world = begin("/key", "");
    world_await_log(
        world, "mcp a: it wants a login: type `shipmyagent mcp login a` (HTTP status 401: no)");
    end(world);
}

static void nobody_there_is_told(void)
{
    fake = http_mcp_start();
    struct world *world =
        world_create((const char *const[]){"a", "http://127.0.0.1:1/mcp", NULL}, "");
    world_await_log(world, "mcp a: it cannot be reached: 127.0.0.1:1: ");
    CHECK_INT(SMA_MCP_NOT_CONNECTED, world_do(world, "a", "echo", "{}")->outcome);
    end(world);
}

static void a_call_that_is_given_up_is_told(void)
{
    struct world *world = begin_connected("/silent");
    const struct world_call *call = world_await(world, world_ask(world, "a", "echo", "{}", 100));
    CHECK_INT(SMA_MCP_UNKNOWN, call->outcome);
    http_mcp_await(fake, "notifications/cancelled", 1);
    size_t open = world_ask(world, "a", "echo", "{}", 0);
    http_mcp_await(fake, "tools/call", 2);
    world_cancel(world, open);
    CHECK_INT(SMA_MCP_CANCELLED, world_await(world, open)->outcome);
    http_mcp_await(fake, "notifications/cancelled", 2);
    end(world);
}

/* -- hostile ----------------------------------------------------------------------------------- */
static long memory_kb(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_maxrss;
}

static void hostile_answers_are_told_and_bounded(void)
{
    static const struct
    {
        const char *path;
        enum sma_mcp_outcome outcome;
        const char *part;
    } cases[] = {
        {"/html", SMA_MCP_PROTOCOL_ERROR, "\"text/html\" instead of JSON"},
        {"/empty", SMA_MCP_PROTOCOL_ERROR, "HTTP status 202"},
        {"/refuses", SMA_MCP_UNKNOWN, "HTTP status 500: out of order"},
        {"/packed", SMA_MCP_PROTOCOL_ERROR, "something else than an answer"},
        {"/big", SMA_MCP_PROTOCOL_ERROR, "too large to be read"},
        {"/heads", SMA_MCP_PROTOCOL_ERROR, "too large to be read"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct world *world = begin_connected(cases[i].path);
        long before = memory_kb();
        check_call(world, cases[i].outcome, cases[i].part);
        check_call(world, cases[i].outcome, cases[i].part); /* it is still connected */
        CHECK(memory_kb() - before < 200 * 1024);
        end(world);
    }
}

static void what_never_ends_is_given_up_in_time(void)
{
    static const char *const paths[] = {"/endless", "/drip", "/silent"};
    for (size_t i = 0; i < SMA_COUNT_OF(paths); i++) {
        fake = http_mcp_start();
        struct world *world =
            world_create((const char *const[]){"a", at(paths[i]), "b", at("/json"), NULL}, "");
        world_await_state(world, "a", SMA_MCP_CONNECTED);
        world_await_state(world, "b", SMA_MCP_CONNECTED);
        size_t call = world_ask(world, "a", "echo", "{}", 500);
        check_echo(world, "b"); /* nobody else is hurt */
        CHECK_INT(SMA_MCP_UNKNOWN, world_await(world, call)->outcome);
        check_echo(world, "b");
        end(world);
    }
}

static void a_session_id_that_is_none_is_refused(void)
{
    struct world *world = begin("/badsession", "");
    world_await_log(world, "its Mcp-Session-Id cannot be one");
    end(world);
}

/* -- logins ------------------------------------------------------------------------------------ */
static struct oauth_server guard;

static void begin_guarded(void)
{
    static char base[128];
    fake = http_mcp_start();
    snprintf(base, sizeof base, "http://127.0.0.1:%d", http_mcp_port(fake));
    oauth_server_init(&guard, base);
    http_mcp_set_hook(fake, oauth_server_hook, &guard);
}

static void credentials_open_a_server(void)
{
    begin_guarded();
    snprintf(guard.client_method, sizeof guard.client_method, "client_secret_basic");
    struct world *world = world_create(
        (const char *const[]){"a", at("/guarded"), NULL},
        ",\"oauth\":{\"clientId\":\"client-1\",\"clientSecret\":\"client-secret-canary\","
        "\"grant\":\"client_credentials\"}");
    world_await_state(world, "a", SMA_MCP_CONNECTED);
    check_echo(world, "a");
    CHECK_INT(1, guard.tokens);
    const struct world_call *call =
        world_do(world, "a", "echo", "{\"message\":\"access-canary-1 client-secret-canary\"}");
    CHECK(strstr(call->text, "canary") == NULL); /* nor would a model see it */
    oauth_server_expire(&guard); /* in the middle of things: a new one, and the call is done once */
    check_echo(world, "a");
    CHECK_INT(2, guard.tokens);
    CHECK_INT(0, guard.breaches);
    end(world);
}

static void a_login_is_used_and_made_fresh(void)
{
    begin_guarded();
    snprintf(guard.client_method, sizeof guard.client_method, "none");
    snprintf(guard.refresh, sizeof guard.refresh, "refresh-canary-0");
    struct world *world = world_create((const char *const[]){"a", at("/guarded"), NULL}, "");
    world_await_log(world, "mcp a: it wants a login: type `shipmyagent mcp login a` (HTTP status "
                           "401: log in)");
    char path[256], text[1024];
    snprintf(path, sizeof path, "%s/.ship/mcp/tokens", world_dir(world));
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), path, NULL));
    snprintf(path, sizeof path, "%s/.ship/mcp/tokens/a.json", world_dir(world));
    snprintf(text, sizeof text,
             "{\"server_url\":\"%s/guarded\",\"resource\":\"%s/guarded\",\"client_id\":"
             "\"client-1\",\"token_endpoint\":\"%s/as/token\",\"access_token\":\"old\","
             "\"refresh_token\":\"refresh-canary-0\"}",
             guard.base, guard.base, guard.base);
    CHECK_OK(sma_sys_write_file_unsynced(sma_sys_real(), path, sma_str(text), 0600, NULL));
    world_reload(world, (const char *const[]){"a", at("/guarded"), NULL}, "");
    world_await_state(world, "a", SMA_MCP_CONNECTED);
    check_echo(world, "a");
    CHECK_INT(1, guard.tokens);
    CHECK_INT(0, guard.breaches);
    snprintf(guard.refresh, sizeof guard.refresh, "another");
    oauth_server_expire(&guard); /* nobody can make it fresh: a person has to */
    (void)world_do(world, "a", "echo", "{}");
    world_await_log(world, "login a` (a token was refused (HTTP status 400: invalid_grant");
    end(world);
}

int main(int argc, char **argv)
{
    const char *group = argc > 1 ? argv[1] : "";
    if (strcmp(group, "work") == 0) {
        every_kind_is_connected_and_called();
        old_servers_are_found_out();
        arguments_are_repeated_in_headers();
        a_list_that_changes_is_heard_of("/sse");
        a_list_that_changes_is_heard_of("/modern");
        the_session_is_ended_at_the_end();
        headers_of_the_file_are_sent();
        nothing_overtakes_initialized();
    } else if (strcmp(group, "breaks") == 0) {
        a_broken_stream_is_asked_to_go_on();
        a_call_is_not_sent_twice();
        a_session_that_is_lost_is_begun_anew("/forgets");
        a_session_that_is_lost_is_begun_anew("/forgets400");
        a_session_that_is_forgotten_in_other_words_is_begun_anew();
        a_circle_of_addresses_is_told_as_one();
        only_the_same_server_may_send_elsewhere();
        a_server_that_wants_a_token_says_so();
        nobody_there_is_told();
        a_call_that_is_given_up_is_told();
    } else if (strcmp(group, "login") == 0) {
        credentials_open_a_server();
        a_login_is_used_and_made_fresh();
    } else {
        hostile_answers_are_told_and_bounded();
        what_never_ends_is_given_up_in_time();
        a_session_id_that_is_none_is_refused();
    }
    return 0;
}
