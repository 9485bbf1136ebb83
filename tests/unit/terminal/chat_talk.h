/* chat_talk.h — a chat on a pseudo terminal, its screen, and the service it talks to, which is the
 * test. */
#ifndef SMA_TEST_CHAT_TALK_H
#define SMA_TEST_CHAT_TALK_H

#include "adapters/terminal/terminal.h"
#include "cli/chat.h"
#include "support/check.h"
#include "support/vt.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 10000

static char dir[1000], socket_path[1100];
static int listener = -1;

struct talk
{
    pid_t pid;
    int master, server;
    struct vt *vt;
    struct termios before;
    char received[200000];
    size_t received_len;
};

static long long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void open_server(void)
{
    struct sma_error error;
    CHECK_OK(sma_terminal_listen(socket_path, &listener, &error));
    CHECK(fcntl(listener, F_SETFL, 0) == 0);
    CHECK(listen(listener, 4) == 0);
}

static void close_server(void)
{
    close(listener);
    CHECK(unlink(socket_path) == 0);
}

static struct talk *start_sized(int columns, int rows)
{
    struct talk *talk = calloc(1, sizeof *talk);
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    int slave;
    CHECK(talk != NULL && openpty(&talk->master, &slave, NULL, NULL, &size) == 0);
    CHECK(tcgetattr(slave, &talk->before) == 0);
    talk->server = -1;
    talk->vt = vt_create(columns, rows);
    talk->pid = fork();
    CHECK(talk->pid >= 0);
    if (talk->pid == 0) {
        struct sma_chat_options options = {.chat = "test",
                                           .user = "jo",
                                           .in_fd = slave,
                                           .out_fd = slave,
                                           .err_fd = slave,
                                           .project_dir = dir};
        close(talk->master);
        close(listener);
        int status = sma_chat_client(socket_path, &options);
        vt_destroy(talk->vt);
        free(talk);
        exit(status); /* the leak check looks at the client, too */
    }
    close(slave);
    return talk;
}

static void pull(struct talk *talk)
{
    char bytes[65536];
    ssize_t len = read(talk->master, bytes, sizeof bytes);
    if (len > 0)
        vt_take(talk->vt, bytes, (size_t)len);
}

static bool is_ready(int fd, int wait_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    return poll(&ready, 1, wait_ms) == 1;
}

static void fail_with_screen(const struct talk *talk, const char *what)
{
    char *text = vt_text(talk->vt);
    fprintf(stderr, "waiting for \"%s\" in vain; the screen:\n%s\n", what, text);
    free(text);
    exit(1);
}

/* Until the screen shows this text in one row. */
static int wait_row(struct talk *talk, const char *text)
{
    long long until = now_ms() + PATIENCE_MS;
    while (vt_find(talk->vt, text) < 0) {
        if (!is_ready(talk->master, 50) && now_ms() > until)
            fail_with_screen(talk, text);
        if (is_ready(talk->master, 0))
            pull(talk);
    }
    return vt_find(talk->vt, text);
}

static void wait_no_row(struct talk *talk, const char *text)
{
    long long until = now_ms() + PATIENCE_MS;
    while (vt_find(talk->vt, text) >= 0) {
        if (!is_ready(talk->master, 50) && now_ms() > until)
            fail_with_screen(talk, text);
        if (is_ready(talk->master, 0))
            pull(talk);
    }
}

/* Until the row of the user is this, exactly. */
static void wait_line(struct talk *talk, const char *text)
{
    long long until = now_ms() + PATIENCE_MS;
    while (strcmp(vt_row(talk->vt, talk->vt->row), text) != 0 || talk->vt->is_cursor_hidden) {
        if (!is_ready(talk->master, 50) && now_ms() > until)
            fail_with_screen(talk, text);
        if (is_ready(talk->master, 0))
            pull(talk);
    }
}

static void type(struct talk *talk, const char *text)
{
    CHECK(write(talk->master, text, strlen(text)) == (ssize_t)strlen(text));
}

static json_t *receive(struct talk *talk)
{
    char *newline;
    long long until = now_ms() + PATIENCE_MS;
    while ((newline = memchr(talk->received, '\n', talk->received_len)) == NULL) {
        if (is_ready(talk->master, 0))
            pull(talk); /* the client must not wait for its screen */
        if (!is_ready(talk->server, 20)) {
            if (now_ms() > until)
                fail_with_screen(talk, "a line to the service");
            continue;
        }
        ssize_t len = recv(talk->server, talk->received + talk->received_len,
                           sizeof talk->received - talk->received_len, 0);
        CHECK(len > 0);
        talk->received_len += (size_t)len;
    }
    size_t len = (size_t)(newline - talk->received);
    json_t *root = json_loadb(talk->received, len, 0, NULL);
    CHECK(root != NULL);
    talk->received_len -= len + 1;
    memmove(talk->received, newline + 1, talk->received_len);
    return root;
}

static void put_line(struct talk *talk, json_t *root)
{
    char *text = json_dumps(root, JSON_COMPACT);
    CHECK(text != NULL);
    json_decref(root);
    size_t len = strlen(text);
    text[len++] = '\n';
    for (size_t at = 0; at < len;) {
        ssize_t done = send(talk->server, text + at, len - at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done > 0)
            at += (size_t)done;
        else
            CHECK(errno == EAGAIN);
        if (is_ready(talk->master, done > 0 ? 0 : 20))
            pull(talk);
    }
    free(text);
}

/* A client comes: greet it. */
static void greet(struct talk *talk)
{
    CHECK(is_ready(listener, PATIENCE_MS));
    talk->server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(talk->server >= 0);
    talk->received_len = 0;
    json_t *hello = receive(talk);
    CHECK_TEXT("hello", json_string_value(json_object_get(hello, "type")));
    CHECK_TEXT("test", json_string_value(json_object_get(hello, "chat")));
    json_decref(hello);
    put_line(talk, json_pack("{s:s, s:i}", "type", "hello", "version", 1));
    put_line(talk, json_pack("{s:s, s:s, s:s}", "type", "welcome", "agent", "Ada", "model",
                             "offline/echo"));
}

static void expect_message(struct talk *talk, const char *text, char id[64])
{
    json_t *message = receive(talk);
    CHECK_TEXT("message", json_string_value(json_object_get(message, "type")));
    CHECK_TEXT(text, json_string_value(json_object_get(message, "text")));
    snprintf(id, 64, "%s", json_string_value(json_object_get(message, "id")));
    json_decref(message);
}

static void put_accepted(struct talk *talk, const char *id, int seq)
{
    put_line(talk, json_pack("{s:s, s:s, s:i, s:s, s:i}", "type", "accepted", "id", id, "seq", seq,
                             "verdict", "accepted", "position", 0));
}

static void put_progress(struct talk *talk, int seq, const char *kind, const char *text)
{
    put_line(talk, json_pack("{s:s, s:i, s:s, s:s}", "type", "progress", "seq", seq, "kind", kind,
                             "text", text));
}

static void put_text(struct talk *talk, int seq, const char *text)
{
    put_line(talk, json_pack("{s:s, s:i, s:s, s:s}", "type", "message", "seq", seq, "intent",
                             "text", "text", text));
}

static void put_done(struct talk *talk, const char *id, int seq, const char *state,
                     const char *output)
{
    put_line(talk,
             json_pack("{s:s, s:s, s:i, s:b, s:s, s:s}", "type", "done", "id", id, "seq", seq,
                       "success", strcmp(state, "done") == 0, "state", state, "output", output));
}

/* The client has ended, and left the terminal as it was. */
static void finish(struct talk *talk, int wanted)
{
    int status;
    long long until = now_ms() + PATIENCE_MS;
    while (waitpid(talk->pid, &status, WNOHANG) == 0) {
        if (is_ready(talk->master, 20))
            pull(talk);
        if (now_ms() > until)
            fail_with_screen(talk, "the end of the client");
    }
    while (is_ready(talk->master, 0)) {
        char byte;
        if (read(talk->master, &byte, 1) != 1)
            break;
        vt_take(talk->vt, &byte, 1);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted) {
        fprintf(stderr, "status %x, wanted %d\n", (unsigned)status, wanted);
        fail_with_screen(talk, "a good end");
    }
    if (talk->vt->has_strange)
        fprintf(stderr, "strange bytes: %s\n", talk->vt->strange);
    CHECK(!talk->vt->has_strange);
    CHECK(!talk->vt->is_paste_on && !talk->vt->is_cursor_hidden && !talk->vt->is_wrap_off);
    struct termios after;
    CHECK(tcgetattr(talk->master, &after) == 0);
    CHECK_INT(talk->before.c_lflag, after.c_lflag);
    CHECK_INT(talk->before.c_iflag, after.c_iflag);
}

static void end(struct talk *talk)
{
    if (talk->server >= 0)
        close(talk->server);
    close(talk->master);
    vt_destroy(talk->vt);
    free(talk);
}

static struct talk *start_and_greet_sized(int columns, int rows)
{
    open_server();
    struct talk *talk = start_sized(columns, rows);
    greet(talk);
    wait_row(talk, "Ada answers with offline/echo.");
    wait_line(talk, ">");
    return talk;
}

static struct talk *start_and_greet(void)
{
    return start_and_greet_sized(80, 24);
}

static void leave(struct talk *talk)
{
    type(talk, "\x04");
    finish(talk, 0);
    end(talk);
    close_server();
}
ENDING(leave, struct talk)

#endif
