/*
 * Aim: the terminal chat with a real service: a question is answered by one key; a service that
 * ends or is killed while somebody writes loses nothing, doubles nothing, and nothing that is typed
 * goes anywhere else; a chat's own service is made again.
 * Method: the real binary on a pseudo terminal whose bytes go into a terminal of the test's
 * (support/vt.h), and a model server that does what the text says.
 *   scenario_chat_terminal BINARY FAKE_MODEL
 */
#include "support/check.h"
#include "support/clock.h"
#include "support/patience.h"
#include "support/vt.h"
#include "talk.h"
#include "world.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LLM "\"api\":\"chat\",\"apiKey\":\"" WORLD_API_KEY "\""
#define WANT_COUNT "please [[call exec_shell {\"command\":\"echo done >> count\"}]]"

static const char *binary, *fake_model;

struct chat
{
    pid_t pid;
    int fd;
    struct vt *vt;
};

static void chat_start(struct chat *chat, const struct world *world)
{
    struct winsize size = {.ws_row = 40, .ws_col = 120};
    chat->vt = vt_create(120, 40);
    chat->pid = forkpty(&chat->fd, NULL, NULL, &size);
    CHECK(chat->pid >= 0);
    if (chat->pid == 0) {
        setenv("TERM", "xterm-256color", 1);
        unsetenv("NO_COLOR");
        execl(binary, binary, "chat", world->folder.path, (char *)NULL);
        _exit(127);
    }
    CHECK(fcntl(chat->fd, F_SETFD, FD_CLOEXEC) == 0);
}

/* What comes within so many milliseconds. false: nothing did. */
static bool pull(struct chat *chat, int wait_ms)
{
    char bytes[65536];
    struct pollfd ready = {.fd = chat->fd, .events = POLLIN};
    if (poll(&ready, 1, wait_ms) != 1)
        return false;
    ssize_t len = read(chat->fd, bytes, sizeof bytes);
    if (len > 0)
        vt_take(chat->vt, bytes, (size_t)len);
    return len > 0;
}

static void fail(const struct chat *chat, const char *what)
{
    char *text = vt_text(chat->vt);
    fprintf(stderr, "waiting for \"%s\" in vain; the screen:\n%s\n", what, text);
    free(text);
    exit(1);
}

static void await(struct chat *chat, const char *text)
{
    long long until = process_now_ms() + PATIENCE_AWAIT_MS;
    while (vt_find(chat->vt, text) < 0) {
        if (!pull(chat, 50) && process_now_ms() > until)
            fail(chat, text);
    }
}

/* The user's line is this, exactly. */
static void await_line(struct chat *chat, const char *text)
{
    long long until = process_now_ms() + PATIENCE_AWAIT_MS;
    while (strcmp(vt_row(chat->vt, chat->vt->row), text) != 0 || chat->vt->is_cursor_hidden) {
        if (!pull(chat, 50) && process_now_ms() > until)
            fail(chat, text);
    }
}

static void type(const struct chat *chat, const char *bytes)
{
    CHECK(write(chat->fd, bytes, strlen(bytes)) == (ssize_t)strlen(bytes));
}

static size_t count_of(const struct chat *chat, const char *part)
{
    char *text = vt_text(chat->vt);
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    free(text);
    return count;
}

static void chat_end(struct chat *chat)
{
    int status;
    type(chat, "\x04");
    while (waitpid(chat->pid, &status, WNOHANG) == 0)
        (void)pull(chat, 50); /* the time limit of the test ends it */
    while (pull(chat, 0))
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || chat->vt->has_strange)
        fprintf(stderr, "status %x; %s\n", (unsigned)status, chat->vt->strange);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(!chat->vt->has_strange && !chat->vt->is_paste_on);
    close(chat->fd);
    vt_destroy(chat->vt);
}

static size_t lines(const struct world *world)
{
    char *text = folder_read(&world->folder, "count");
    size_t count = 0;
    for (const char *at = text; at != NULL && (at = strchr(at, '\n')) != NULL; at++)
        count++;
    free(text);
    return count;
}

CASE(a_question_is_answered_by_one_key)
{
    struct world world = {0};
    struct chat chat;
    world_start(&world, binary, fake_model, LLM, "");
    chat_start(&chat, &world);
    await(&chat, "tested answers with custom/fake-1.");
    type(&chat, WANT_COUNT "\r");
    await(&chat, "y/1 Approve");
    CHECK_INT(0, lines(&world));
    type(&chat, "hello?\r"); /* what waits behind a question is told so */
    await(&chat, "I am waiting for a decision about: echo done >> count. I have your message");
    type(&chat, "/status\r");
    await(&chat, "Running. Waiting here: 1");
    await(&chat, "I am waiting for a decision about: echo done >> count.");
    /* the calm before a key decides: time is what is meant, and a person's is the machine's */
    process_pause_ms((int)sma_clock_of_machine(700));
    type(&chat, "y");
    await(&chat, "> Approve");
    await(&chat, "Approved: ");
    await(&chat, "· exec_shell  echo done >> count");
    await_line(&chat, ">");
    long long until = process_now_ms() + PATIENCE_AWAIT_MS;
    while (lines(&world) == 0 && process_now_ms() < until)
        (void)pull(&chat, 20);
    CHECK_INT(1, lines(&world));
    CHECK_INT(1, count_of(&chat, "Approved"));
    await(&chat, "You said: hello?");
    type(&chat, "and now?\r"); /* the chat goes on */
    await(&chat, "You said: and now?");
    chat_end(&chat);
    world_stop(&world);
}

/* How often the history has this as a message of the user. */
static int said(const struct world *world, const char *text)
{
    char *history = folder_read(&world->folder, ".ship/chats/cli%3Achat%3Amain.jsonl"), part[200];
    int count = 0;
    snprintf(part, sizeof part, "\"role\":\"user\",\"text\":\"%s\"", text);
    for (const char *at = history; at != NULL && (at = strstr(at, part)) != NULL; at++)
        count++;
    free(history);
    return count;
}

/* is_killed: without a word; else it is asked to stop. */
static void restart(bool is_killed)
{
    struct world world = {0};
    struct chat chat;
    world.may_prefix_move = true;
    world_start(&world, binary, fake_model, LLM, "");
    chat_start(&chat, &world);
    await(&chat, "tested answers with");
    type(&chat, "first\r");
    await(&chat, "You said: first");
    type(&chat, "half a sen");
    await_line(&chat, "> half a sen");
    if (is_killed)
        service_kill(&world.service);
    else
        CHECK_INT(0, service_stop(&world.service));
    await(&chat, "The service is away.");
    type(&chat, "tence\r");
    await(&chat, "> half a sentence");
    type(&chat, "touch /tmp/never");
    await_line(&chat, "> touch /tmp/never");
    service_start(&world.service, binary, &world.folder);
    await(&chat, "The service is back.");
    await(&chat, "You said: half a sentence");
    await_line(&chat, "> touch /tmp/never");
    CHECK_INT(1, count_of(&chat, "You said: half a sentence"));
    CHECK_INT(1, count_of(&chat, "You said: first"));
    CHECK_INT(1, said(&world, "half a sentence"));
    type(&chat, "\x03");
    await_line(&chat, ">");
    chat_end(&chat);
    world_stop(&world);
}

CASE(what_is_typed_while_the_service_restarts_reaches_it)
{
    restart(false);
}

CASE(what_is_typed_after_a_kill_reaches_the_next_service)
{
    restart(true);
}

/* The answer is on its way when the service is killed: it comes, once. */
CASE(an_answer_that_a_kill_cut_comes_once)
{
    struct world world = {0};
    struct chat chat;
    world.may_prefix_move = true;
    world_start(&world, binary, fake_model, LLM, "");
    chat_start(&chat, &world);
    await(&chat, "tested answers with");
    type(&chat, "slowly [[fault:silence ms=60000]]\r");
    long long until = process_now_ms() + PATIENCE_AWAIT_MS;
    while (world_asked_count(&world, "slowly") == 0 && process_now_ms() < until)
        (void)pull(&chat, 20);
    service_kill(&world.service);
    await(&chat, "The service is away.");
    service_start(&world.service, binary, &world.folder);
    await(&chat, "You said: slowly");
    type(&chat, "after\r");
    await(&chat, "You said: after");
    CHECK_INT(1, count_of(&chat, "You said: slowly"));
    chat_end(&chat);
    world_stop(&world);
}

static pid_t holder(const struct world *world)
{
    char *text = folder_read(&world->folder, ".ship/lock");
    pid_t pid = text == NULL ? 0 : (pid_t)atoi(text);
    free(text);
    return pid;
}

CASE(a_service_of_the_chats_own_is_made_again)
{
    struct world world = {0};
    struct chat chat;
    world.may_prefix_move = true;
    world_create(&world, fake_model, LLM, "");
    chat_start(&chat, &world);
    await(&chat, "tested answers with");
    type(&chat, "first\r");
    await(&chat, "You said: first");
    pid_t pid = holder(&world);
    CHECK(pid > 0 && pid != chat.pid && kill(pid, SIGKILL) == 0);
    await(&chat, "The service is back.");
    CHECK(holder(&world) != pid);
    type(&chat, "second\r");
    await(&chat, "You said: second");
    CHECK_INT(1, count_of(&chat, "You said: first"));
    chat_end(&chat);
    server_stop(world.fake);
    folder_remove(&world.folder);
}

CASES_MAIN_GIVEN(&binary, &fake_model)
