/*
 * Aim: `approvals`, `grants` and `pair` ask the running service for what was meant, show its
 *      answer, and say what is wrong otherwise.
 * Method: a project folder whose lock the test holds, with a server of the test's own behind
 *         service.json; the commands run in child processes, their output read from pipes.
 */
#include "cli/cli.h"
#include "cli/lock.h"
#include "support/check.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[200];
static int listener;
static char request[8192]; /* the last one the server got */
static const char *answer_body;
static int answer_status;
static bool is_other_user; /* the command is given by somebody who cannot look into .ship */

/* -- the server -------------------------------------------------------------------------------- */
static void serve_one(void)
{
    char answer[8192];
    size_t len = 0;
    int fd = accept(listener, NULL, NULL);
    CHECK(fd >= 0);
    for (;;) {
        ssize_t count = recv(fd, request + len, sizeof request - 1 - len, 0);
        CHECK(count >= 0);
        len += (size_t)count;
        request[len] = '\0';
        const char *body = strstr(request, "\r\n\r\n"),
                   *length = strcasestr(request, "content-length:");
        size_t body_len = length == NULL ? 0 : strtoul(length + 15, NULL, 10);
        if (body != NULL && strlen(body + 4) >= body_len)
            break;
        CHECK(count > 0);
    }
    int size = snprintf(answer, sizeof answer,
                        "HTTP/1.1 %d X\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                        answer_status, strlen(answer_body), answer_body);
    CHECK(send(fd, answer, (size_t)size, MSG_NOSIGNAL) == size);
    close(fd);
}

static void write_file(const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void open_world(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    char json[100], path[300];
    snprintf(dir, sizeof dir, "%s/sma-cli-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CHECK(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/.ship", dir);
    CHECK(mkdir(path, 0700) == 0);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0 && bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(listener, 4) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &len) == 0);
    snprintf(json, sizeof json, "{\"host\":\"127.0.0.1\",\"port\":%d}", ntohs(address.sin_port));
    write_file(".ship/service.json", json);
    write_file(".ship/api-token", "the-token\n");
}

static void close_world(void)
{
    char command[300];
    static const char *const names[] = {".ship/service.json",
                                        ".ship/api-token",
                                        ".ship/lock",
                                        ".ship/service.lock",
                                        ".ship",
                                        "ship.json",
                                        "Agent.md",
                                        ""};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        snprintf(command, sizeof command, "%s/%s", dir, names[i]);
        (void)remove(command); /* not all of them are there */
    }
    close(listener);
}

/* -- the command ------------------------------------------------------------------------------- */
struct run
{
    int status;
    char output[8192];
};

/* Words up to NULL; the service is asked when `asks`. */
static struct run run_command(bool asks, int (*command)(int, char **), const char *const *words)
{
    struct run run = {0};
    char *argv[16] = {(char *)"command"};
    int argc = 1, ends[2];
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)words[argc - 1];
    CHECK(pipe(ends) == 0);
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        CHECK(dup2(ends[1], 1) == 1 && dup2(ends[1], 2) == 2);
        close(ends[0]);
        close(ends[1]);
        if (is_other_user && geteuid() == 0)
            CHECK(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
        int status = command(argc, argv);
        fflush(NULL);
        _exit(status);
    }
    close(ends[1]);
    if (asks)
        serve_one();
    size_t len = 0;
    for (ssize_t count = 1; count > 0 && len < sizeof run.output - 1; len += (size_t)count) {
        count = read(ends[0], run.output + len, sizeof run.output - 1 - len);
        CHECK(count >= 0);
    }
    close(ends[0]);
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    run.status = WEXITSTATUS(status);
    return run;
}

static void expect(bool asks, int (*command)(int, char **), int status, const char *text,
                   const char *const *words)
{
    struct run run = run_command(asks, command, words);
    if (run.status != status || strstr(run.output, text) == NULL)
        fprintf(stderr, "%s: status %d, wanted %d and \"%s\":\n%s\n", words[0], run.status, status,
                text, run.output);
    CHECK(run.status == status && strstr(run.output, text) != NULL);
}
#define ASKS(command, status, text, ...) \
    expect(true, command, status, text, (const char *const[]){__VA_ARGS__, NULL})
#define SAYS(command, status, text, ...) \
    expect(false, command, status, text, (const char *const[]){__VA_ARGS__, NULL})

static void check_request(const char *line, const char *body)
{
    CHECK(strncmp(request, line, strlen(line)) == 0);
    CHECK(strstr(request, "Authorization: Bearer the-token\r\n") != NULL);
    const char *actual = strstr(request, "\r\n\r\n");
    CHECK(actual != NULL);
    CHECK_TEXT(body, actual + 4);
}

/* -- cases ------------------------------------------------------------------------------------- */
static void without_a_service_there_is_a_clear_error(void)
{
    SAYS(sma_cli_approvals, 3, "approvals: no service runs for", dir);
    SAYS(sma_cli_approvals, 3, "shipmyagent start", "approve", "abcdef", dir);
    SAYS(sma_cli_grants, 3, "grants: no service runs", dir);
    SAYS(sma_cli_pair, 3, "pair: no service runs", "approve", "ABCD2345", dir);
}

static void decisions_are_asked_for(void)
{
    answer_status = 200;
    answer_body = "{\"success\":true,\"message\":\"approved\\u001b by api\"}";
    ASKS(sma_cli_approvals, 0, "approved by api\n", "approve", "abcdef", dir);
    check_request("POST /api/approvals/abcdef/approve HTTP/1.1\r\n", "{}");
    ASKS(sma_cli_approvals, 0, "approved", "approve", "abcdef", dir, "--items", "1, 3", "--for",
         "10m", "--response", "a \"b\"");
    check_request("POST /api/approvals/abcdef/approve ",
                  "{\"items\":[1,3],\"response\":\"a \\\"b\\\"\",\"grant\":\"10m\"}");
    ASKS(sma_cli_approvals, 0, "approved", "approve", "abcdef", "--always", dir);
    check_request("POST /api/approvals/abcdef/approve ", "{\"grant\":\"always\"}");
    ASKS(sma_cli_approvals, 0, "", "reject", "abcdef", dir, "--response", "no");
    check_request("POST /api/approvals/abcdef/reject ", "{\"response\":\"no\"}");
    ASKS(sma_cli_grants, 0, "", "revoke", "feed", dir);
    check_request("POST /api/grants/feed/revoke ", "{}");
    ASKS(sma_cli_pair, 0, "", "approve", "ABCD2345", dir, "--role", "admin");
    check_request("POST /api/pairings/ABCD2345/approve ", "{\"role\":\"admin\"}");
    ASKS(sma_cli_pair, 0, "", "approve", "telegram:1001", dir, "--role", "owner");
    check_request("POST /api/pairings/telegram:1001/approve ", "{\"role\":\"owner\"}");
    ASKS(sma_cli_pair, 0, "", "reject", "feishu:ou_84a0", dir);
    check_request("POST /api/pairings/feishu:ou_84a0/reject ", "{}");
    ASKS(sma_cli_pair, 0, "", "reject", "ABCD2345", dir);
    check_request("POST /api/pairings/ABCD2345/reject ", "{}");
    answer_status = 409;
    answer_body = "{\"success\":false,\"message\":\"already decided by Alice\"}";
    ASKS(sma_cli_approvals, 1, "approvals: already decided by Alice", "approve", "abcdef", dir);
    answer_status = 500;
    answer_body = "oh";
    ASKS(sma_cli_approvals, 1, "answered HTTP 500", "approve", "abcdef", dir);
}

static void a_shell_is_told_the_ids_to_complete(void)
{
    answer_status = 200;
    answer_body = "{\"approvals\":[{\"id\":\"0123456789abcdef\"},{\"id\":\"feed\\u001b\"}]}";
    ASKS(sma_cli_values, 0, "0123456789ab\nfeed\n", "approval", dir);
    check_request("GET /api/approvals HTTP/1.1\r\n", "");
    answer_body = "{\"pairings\":[{\"code\":\"ABCD2345\"}],\"people\":[{\"channel\":\"telegram\","
                  "\"userId\":\"1001\"}]}";
    ASKS(sma_cli_values, 0, "ABCD2345\ntelegram:1001\n", "pairing", dir);
    answer_body = "{\"runs\":[{\"runId\":17},{\"runId\":3}]}";
    ASKS(sma_cli_values, 0, "17\n3\n", "run", dir);
    answer_body = "{\"chats\":[{\"chatKey\":\"telegram:chat:1001\"}]}";
    ASKS(sma_cli_values, 0, "telegram:chat:1001\n", "chat", dir);
    /* between two key strokes nobody reads an error */
    answer_body = "no JSON";
    CHECK_TEXT("", run_command(true, sma_cli_values, (const char *[]){"grant", dir, NULL}).output);
    CHECK_TEXT("",
               run_command(false, sma_cli_values, (const char *[]){"run", "/none", NULL}).output);
}

static void a_refused_token_says_who_may(void)
{
    answer_status = 401;
    answer_body = "{\"success\":false,\"message\":\"x\"}";
    ASKS(sma_cli_approvals, 1, "run this as the user who runs the service", dir);
    ASKS(sma_cli_status, 1, "SMA_API_TOKEN", dir);
    answer_status = 200;
    answer_body = "{\"grants\":[]}";
    CHECK(setenv("SMA_API_TOKEN", "another", 1) == 0);
    ASKS(sma_cli_grants, 0, "", dir);
    CHECK(strstr(request, "Authorization: Bearer another\r\n") != NULL);
    CHECK(unsetenv("SMA_API_TOKEN") == 0);
}

/* A folder of mode 0700: neither the token nor where the service listens can be read in it. */
static void other_users_need_the_token(void)
{
    char path[300], json[200];
    snprintf(path, sizeof path, "%s/.ship", dir);
    CHECK(chmod(dir, 0755) == 0 && chmod(path, geteuid() == 0 ? 0700 : 0) == 0);
    is_other_user = true;
    SAYS(sma_cli_status, 1, "run this as the user who runs the service", dir);
    SAYS(sma_cli_approvals, 1, "SMA_API_TOKEN", "approve", "abcdef", dir);
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    CHECK(getsockname(listener, (struct sockaddr *)&address, &len) == 0);
    snprintf(json, sizeof json, "{\"llm\":{\"provider\":\"offline\"},\"start\":{\"port\":%d}}",
             ntohs(address.sin_port));
    write_file("ship.json", json);
    write_file("Agent.md", "You answer.\n");
    answer_status = 200;
    answer_body = "{\"grants\":[]}";
    CHECK(setenv("SMA_API_TOKEN", "given", 1) == 0);
    ASKS(sma_cli_grants, 0, "", dir);
    CHECK(strstr(request, "Authorization: Bearer given\r\n") != NULL);
    CHECK(unsetenv("SMA_API_TOKEN") == 0);
    is_other_user = false;
    CHECK(chmod(path, 0700) == 0);
}

static void lists_are_shown(void)
{
    answer_status = 200;
    answer_body =
        "{\"approvals\":[{\"id\":\"0123456789abcdef0123456789abcdef\",\"chatKey\":\"telegram:chat:"
        "5\","
        "\"createdAt\":\"2026-11-22T00:00:00.000Z\",\"items\":[{\"item\":1,\"tool\":\"exec_shell\","
        "\"title\":\"git \\u001b[2Jpush\\nx\",\"rule\":\"git *\",\"status\":\"pending\"},"
        "{\"item\":2,\"tool\":\"react\",\"title\":\"y\",\"status\":\"approved\"}]}]}";
    ASKS(sma_cli_approvals, 0,
         "0123456789ab  telegram:chat:5  since 2026-11-22T00:00:00.000Z\n"
         "   1 exec_shell   git [2Jpush x\n     rule: git *\n"
         "   2 react        y  (approved)\n",
         dir);
    check_request("GET /api/approvals HTTP/1.1\r\n", "");
    ASKS(sma_cli_approvals, 0, "{\"approvals\":[{\"id\":", "list", dir, "--json");
    /* A title is one line: what really runs stands below it. */
    answer_body =
        "{\"approvals\":[{\"id\":\"ab\",\"chatKey\":\"c\",\"createdAt\":\"t\",\"items\":[{\"item\":"
        "1,"
        "\"tool\":\"exec_shell\",\"title\":\"git status rm x\",\"details\":{\"command\":\"git "
        "status\\nrm x\"}},{\"item\":2,\"tool\":\"exec_shell\",\"title\":\"ls\",\"details\":{"
        "\"command\":\"ls\"}},{\"item\":3,\"tool\":\"write_file\",\"title\":\"a\",\"details\":{"
        "\"filePath\":\"a\",\"content\":\"+++ b/a\\n+x\\u001b\\u202e\"}}]}]}";
    ASKS(sma_cli_approvals, 0,
         "   1 exec_shell   git status rm x\n     | git status\n     | rm x\n"
         "   2 exec_shell   ls\n   3 write_file   a\n     | +++ b/a\n     | +x\\u{202E}\n",
         dir);
    answer_body = "{\"approvals\":[]}";
    ASKS(sma_cli_approvals, 0, "nothing waits for a decision\n", dir);
    answer_body =
        "{\"grants\":[{\"id\":\"ab\",\"tool\":\"exec_shell\",\"rule\":\"ls\",\"chatKey\":\"c\","
        "\"until\":null,\"by\":\"Bob\"}]}";
    ASKS(sma_cli_grants, 0,
         "ab\n     tool: exec_shell\n     rule: ls\n     chat: c\n     until: it is revoked\n     "
         "by: "
         "Bob\n",
         dir);
    answer_body =
        "{\"pairings\":[{\"code\":\"ABCD2345\",\"channel\":\"telegram\",\"userId\":\"7\","
        "\"userName\":\"Eve\",\"created\":0}],\"people\":[{\"channel\":\"qq\",\"userId\":\"u\","
        "\"role\":\"member\",\"via\":\"history\"}]}";
    ASKS(sma_cli_pair, 0,
         "ABCD2345  telegram:7  Eve  since 1970-01-01T00:00:00.000Z\npeople\n  member  qq:u  "
         "(history)\n",
         "list", dir);
    check_request("GET /api/pairings ", "");
    answer_body = "{\"approvals\":5}";
    ASKS(sma_cli_approvals, 0, "nothing waits", dir);
    answer_body = "nonsense";
    ASKS(sma_cli_approvals, 1, "answered HTTP 200", dir);
}

static void wrong_words_are_named(void)
{
    SAYS(sma_cli_approvals, 1, "the id of the approval is missing", "approve");
    SAYS(sma_cli_grants, 1, "the id of the grant is missing", "revoke");
    SAYS(sma_cli_pair, 1, "the code is missing", "reject");
    SAYS(sma_cli_approvals, 1, "is not expected here", "approve", "abcdef", dir, "more");
    SAYS(sma_cli_approvals, 1, "--items takes numbers", "approve", "abcdef", "--items", "1,x", dir);
    SAYS(sma_cli_approvals, 1, "--items takes numbers", "approve", "abcdef", "--items", "", dir);
    SAYS(sma_cli_approvals, 1, "--items takes numbers", "approve", "abcdef", "--items", "33", dir);
    SAYS(sma_cli_approvals, 1, "not both", "approve", "abcdef", "--always", "--for", "1h", dir);
    SAYS(sma_cli_approvals, 1, "--always and --for go with", "reject", "abcdef", "--always", dir);
    SAYS(sma_cli_approvals, 1, "--items and --response go with", "--items", "1", dir);
    SAYS(sma_cli_approvals, 1, "approvals: option --role is unknown", "approve", "abcdef", "--role",
         "owner", dir);
    SAYS(sma_cli_approvals, 1, "is not an id; `shipmyagent approvals` lists", "approve",
         "../../etc", dir);
    SAYS(sma_cli_approvals, 1, "is not an id; `shipmyagent approvals` lists", "approve",
         "telegram:1001", dir);
    SAYS(sma_cli_pair, 1, "is not a code, person or group;", "approve", "../telegram:1001", dir);
    SAYS(sma_cli_pair, 1, "pair: option --always is unknown", "approve", "ABCD", "--always", dir);
    SAYS(sma_cli_approvals, 1, "option --nope is unknown", "--nope", dir);
    SAYS(sma_cli_approvals, 1, "lacks its value", "approve", "abcdef", "--for");
}

int main(void)
{
    struct sma_error error;
    char state_dir[300];
    int lock = -1;
    open_world();
    snprintf(state_dir, sizeof state_dir, "%s/.ship", dir);
    RUN(without_a_service_there_is_a_clear_error);
    RUN(wrong_words_are_named);
    CHECK_OK(sma_lock_take(state_dir, &lock, &error));
    RUN(decisions_are_asked_for);
    RUN(lists_are_shown);
    RUN(a_shell_is_told_the_ids_to_complete);
    RUN(a_refused_token_says_who_may);
    RUN(other_users_need_the_token);
    close(lock);
    close_world();
    return check_summary();
}
