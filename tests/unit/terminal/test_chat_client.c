/*
 * Aim: the chat client in a pipe and on a terminal: what goes where, exit statuses, and no control
 *      character of a model on the screen.
 * Method: the client in a child process (stdin and stdout are pipes, or a pseudo terminal) against
 *         a server in the test that follows the protocol by hand.
 */
#include "adapters/terminal/terminal.h"
#include "cli/chat.h"
#include "cli/chat_screen.h"
#include "support/check.h"
#include "support/pictures.h"

#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define OUT_BYTES_MAX 65536
#define PATIENCE_MS 5000

static char dir[1000], socket_path[1100];
static int listener;
static const char *project_dir, *attached[2]; /* of clients started from now on */

struct talk
{
    pid_t pid;
    int in_fd, out_fd, err_fd; /* our ends; in_fd == out_fd with a pseudo terminal */
    int server_fd;
    char out[OUT_BYTES_MAX], err[OUT_BYTES_MAX], received[OUT_BYTES_MAX];
    size_t out_len, err_len, received_len;
};

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

static struct talk *start(int child_in, int child_out, int child_err)
{
    struct talk *talk = calloc(1, sizeof *talk);
    talk->server_fd = -1;
    talk->pid = fork();
    CHECK(talk->pid >= 0);
    if (talk->pid == 0) {
        struct sma_chat_options options = {.chat = "test",
                                           .user = "jo",
                                           .in_fd = child_in,
                                           .out_fd = child_out,
                                           .err_fd = child_err,
                                           .project_dir = project_dir,
                                           .attach = attached,
                                           .attach_count = attached[0] != NULL};
        int status = sma_chat_client(socket_path, &options);
        _exit(status);
    }
    return talk;
}

static struct talk *start_in_pipe(const char *input, size_t len)
{
    int in[2], out[2], err[2];
    CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0);
    pid_t feeder = fork();
    CHECK(feeder >= 0);
    if (feeder == 0) {
        close(in[0]);
        while (len > 0) {
            ssize_t done = write(in[1], input, len);
            if (done <= 0)
                break;
            input += done;
            len -= (size_t)done;
        }
        _exit(0);
    }
    close(in[1]);
    struct talk *talk = start(in[0], out[1], err[1]);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    talk->in_fd = -1;
    talk->out_fd = out[0];
    talk->err_fd = err[0];
    return talk;
}

static struct talk *start_on_terminal(void)
{
    int master, slave;
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    CHECK(openpty(&master, &slave, NULL, NULL, &size) == 0);
    struct termios mode;
    CHECK(tcgetattr(slave, &mode) == 0);
    mode.c_lflag &= ~(tcflag_t)ECHO; /* so that only the client's own output is read */
    CHECK(tcsetattr(slave, TCSANOW, &mode) == 0);
    setenv("TERM", "dumb", 1); /* plain lines; test_chat_live has the others */
    struct talk *talk = start(slave, slave, slave);
    close(slave);
    talk->in_fd = talk->out_fd = master;
    talk->err_fd = -1;
    return talk;
}

static void pull(int fd, char *bytes, size_t *len)
{
    ssize_t done = *len < OUT_BYTES_MAX - 1 ? read(fd, bytes + *len, OUT_BYTES_MAX - 1 - *len) : 0;
    if (done > 0)
        *len += (size_t)done;
    bytes[*len] = '\0';
}

static bool is_ready(int fd, int wait_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    return poll(&ready, 1, wait_ms) == 1;
}

static void wait_for_output(struct talk *talk, const char *text)
{
    while (strstr(talk->out, text) == NULL) {
        if (!is_ready(talk->out_fd, PATIENCE_MS)) {
            fprintf(stderr, "waiting for %s in vain; so far: %s\n", text, talk->out);
            exit(1);
        }
        pull(talk->out_fd, talk->out, &talk->out_len);
    }
}

/* The next line of the client as JSON. */
static json_t *receive(struct talk *talk)
{
    char *newline;
    while ((newline = memchr(talk->received, '\n', talk->received_len)) == NULL) {
        CHECK(is_ready(talk->server_fd, PATIENCE_MS));
        size_t before = talk->received_len;
        pull(talk->server_fd, talk->received, &talk->received_len);
        CHECK(talk->received_len > before);
    }
    size_t len = (size_t)(newline - talk->received);
    json_t *root = json_loadb(talk->received, len, 0, NULL);
    CHECK(root != NULL);
    talk->received_len -= len + 1;
    memmove(talk->received, newline + 1, talk->received_len);
    return root;
}

static void greet(struct talk *talk)
{
    CHECK(is_ready(listener, PATIENCE_MS));
    talk->server_fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(talk->server_fd >= 0);
    json_t *hello = receive(talk);
    CHECK_TEXT("hello", json_string_value(json_object_get(hello, "type")));
    CHECK_TEXT("test", json_string_value(json_object_get(hello, "chat")));
    CHECK_TEXT("jo", json_string_value(json_object_get(hello, "user")));
    json_decref(hello);
}

static void reply(struct talk *talk, const char *text)
{
    CHECK(send(talk->server_fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
    CHECK(send(talk->server_fd, "\n", 1, MSG_NOSIGNAL) == 1);
}

/* Receive a message; its id goes to id (64 bytes). */
static void expect_message(struct talk *talk, const char *text, char id[64])
{
    json_t *message = receive(talk);
    CHECK_TEXT("message", json_string_value(json_object_get(message, "type")));
    CHECK_TEXT(text, json_string_value(json_object_get(message, "text")));
    snprintf(id, 64, "%s", json_string_value(json_object_get(message, "id")));
    json_decref(message);
}

static void reply_done(struct talk *talk, const char *id, bool is_success, const char *output)
{
    char line[400];
    snprintf(line, sizeof line,
             "{\"type\":\"done\",\"id\":\"%s\",\"seq\":5,\"success\":%s,\"state\":\"done\","
             "\"output\":\"%s\"}",
             id, is_success ? "true" : "false", output);
    reply(talk, line);
}

static void finish(struct talk *talk, int wanted_status)
{
    int status;
    for (int fds = 0; fds < 2; fds++) {
        int fd = fds == 0 ? talk->out_fd : talk->err_fd;
        char *bytes = fds == 0 ? talk->out : talk->err;
        size_t *len = fds == 0 ? &talk->out_len : &talk->err_len;
        for (size_t before = SIZE_MAX; fd >= 0 && *len != before;) {
            before = *len;
            if (is_ready(fd, PATIENCE_MS))
                pull(fd, bytes, len);
        }
    }
    CHECK(waitpid(talk->pid, &status, 0) == talk->pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted_status) {
        fprintf(stderr, "status %x, wanted %d; out: %s err: %s\n", (unsigned)status, wanted_status,
                talk->out, talk->err);
        exit(1);
    }
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

static void end(struct talk *talk)
{
    if (talk->server_fd >= 0)
        close(talk->server_fd);
    if (talk->in_fd >= 0 && talk->in_fd != talk->out_fd)
        close(talk->in_fd);
    close(talk->out_fd);
    if (talk->err_fd >= 0)
        close(talk->err_fd);
    free(talk);
}

/* -- in a pipe --------------------------------------------------------------------------------- */
CASE(a_pipe_prints_the_answer_alone)
{
    open_server();
    struct talk *talk = start_in_pipe("two\nlines\n", 10);
    char id[64];
    greet(talk);
    reply(talk, "{\"type\":\"hello\",\"version\":1}");
    expect_message(talk, "two\nlines", id);
    char line[200];
    snprintf(line, sizeof line,
             "{\"type\":\"accepted\",\"id\":\"%s\",\"seq\":5,\"verdict\":\"accepted\"}", id);
    reply(talk, line);
    reply(talk, "{\"type\":\"progress\",\"seq\":5,\"kind\":\"text\",\"text\":\"an\"}");
    reply(talk, "{\"type\":\"message\",\"seq\":4,\"text\":\"for somebody else\"}");
    reply(talk, "{\"type\":\"message\",\"seq\":5,\"text\":\"an \\u001b[31manswer\\u0007\"}");
    reply_done(talk, id, true, "not needed");
    finish(talk, 0);
    CHECK_TEXT("an [31manswer\n", talk->out);
    CHECK_TEXT("", talk->err);
    end(talk);
    close_server();
}

CASE(a_pipe_prints_the_output_when_nothing_was_delivered)
{
    open_server();
    struct talk *talk = start_in_pipe("hi", 2);
    char id[64];
    greet(talk);
    expect_message(talk, "hi", id);
    reply_done(talk, id, true, "the output");
    finish(talk, 0);
    CHECK_TEXT("the output\n", talk->out);
    end(talk);
    close_server();
}

CASE(a_failure_goes_to_stderr)
{
    open_server();
    struct talk *talk = start_in_pipe("hi", 2);
    char id[64];
    greet(talk);
    expect_message(talk, "hi", id);
    reply_done(talk, id, false, "the model is out");
    finish(talk, 1);
    CHECK_TEXT("", talk->out);
    CHECK(strstr(talk->err, "the model is out") != NULL);
    end(talk);
    close_server();
}

CASE(an_error_line_ends_a_pipe)
{
    open_server();
    struct talk *talk = start_in_pipe("hi", 2);
    char id[64], line[200];
    greet(talk);
    expect_message(talk, "hi", id);
    snprintf(line, sizeof line,
             "{\"type\":\"error\",\"id\":\"%s\",\"text\":\"too many \\u001bwait\"}", id);
    reply(talk, line);
    finish(talk, 1);
    CHECK(strstr(talk->err, "too many wait") != NULL);
    end(talk);
    close_server();
}

CASE(a_service_that_goes_is_an_error)
{
    open_server();
    struct talk *talk = start_in_pipe("hi", 2);
    char id[64];
    greet(talk);
    expect_message(talk, "hi", id);
    close(talk->server_fd);
    talk->server_fd = -1;
    finish(talk, 1);
    CHECK(strstr(talk->err, "closed the connection") != NULL);
    end(talk);
    talk = start_in_pipe("hi", 2);
    greet(talk);
    reply(talk, "HTTP/1.1 400 Bad Request");
    finish(talk, 1);
    CHECK(strstr(talk->err, "does not speak") != NULL);
    end(talk);
    close_server();
}

CASE(no_service_no_input_bad_input)
{
    struct talk *talk = start_in_pipe("hi", 2);
    finish(talk, 1);
    CHECK(strstr(talk->err, "shipmyagent start") != NULL);
    end(talk);
    talk = start_in_pipe(" \n\n", 3);
    finish(talk, 1);
    CHECK(strstr(talk->err, "empty") != NULL);
    end(talk);
    talk = start_in_pipe("\xff\xfe", 2);
    finish(talk, 1);
    CHECK(strstr(talk->err, "UTF-8") != NULL);
    end(talk);
    char *big = malloc(SMA_TEXT_BYTES_MAX + 1);
    memset(big, 'x', SMA_TEXT_BYTES_MAX + 1);
    talk = start_in_pipe(big, SMA_TEXT_BYTES_MAX + 1);
    finish(talk, 1);
    CHECK(strstr(talk->err, "1 MiB") != NULL);
    end(talk);
    free(big);
}

CASE(an_interrupt_in_a_pipe_stops_then_leaves)
{
    open_server();
    struct talk *talk = start_in_pipe("hi", 2);
    char id[64];
    greet(talk);
    expect_message(talk, "hi", id);
    CHECK(kill(talk->pid, SIGINT) == 0);
    json_t *stop = receive(talk);
    CHECK_TEXT("stop", json_string_value(json_object_get(stop, "type")));
    json_decref(stop);
    CHECK(kill(talk->pid, SIGINT) == 0);
    finish(talk, 130);
    end(talk);
    close_server();
}

/* -- on a terminal ----------------------------------------------------------------------------- */
static void type(struct talk *talk, const char *text)
{
    CHECK(write(talk->in_fd, text, strlen(text)) == (ssize_t)strlen(text));
}

CASE(a_plain_terminal_shows_whole_texts)
{
    open_server();
    struct talk *talk = start_on_terminal();
    char id[64];
    greet(talk);
    wait_for_output(talk, "> ");
    type(talk, "first\\\nsecond\n");
    expect_message(talk, "first\nsecond", id);
    reply(talk, "{\"type\":\"progress\",\"seq\":5,\"kind\":\"text\",\"text\":\"Hel\"}");
    reply(talk, "{\"type\":\"message\",\"seq\":5,\"text\":\"**Hello** world\\u009b2J!\"}");
    reply_done(talk, id, true, "");
    wait_for_output(talk, "**Hello** world2J!\r\n> ");
    CHECK(strchr(talk->out, '\x1b') == NULL);
    type(talk, "/exit\n");
    finish(talk, 0);
    end(talk);
    close_server();
}

CASE(a_question_is_shown_and_answered_by_words)
{
    open_server();
    struct talk *talk = start_on_terminal();
    char id[64];
    greet(talk);
    wait_for_output(talk, "> ");
    type(talk, "push it\n");
    expect_message(talk, "push it", id);
    reply(talk, "{\"type\":\"message\",\"seq\":5,\"intent\":\"approval\",\"id\":\"00\",\"title\":"
                "\"Approval needed\","
                "\"text\":\"**x**\",\"plain\":\"Run:\\n| git\\u001b push\\nReply: yes / "
                "no\",\"buttons\":[]}");
    wait_for_output(talk, "Approval needed\r\nRun:\r\n| git push\r\nReply: yes / no\r\n");
    reply_done(talk, id, false, "");
    wait_for_output(talk, "> ");
    type(talk, "yes\n");
    expect_message(talk, "yes", id);
    reply_done(talk, id, true, "");
    wait_for_output(talk, "> ");
    reply(talk,
          "{\"type\":\"message\",\"seq\":5,\"text\":\"pushed\"}"); /* of the run that went on */
    wait_for_output(talk, "pushed\r\n> ");
    type(talk, "\x04");
    finish(talk, 0);
    end(talk);
    close_server();
}

CASE(a_pipe_says_that_consent_is_needed)
{
    open_server();
    struct talk *talk = start_in_pipe("push it", 7);
    char id[64], line[200];
    greet(talk);
    expect_message(talk, "push it", id);
    reply(talk,
          "{\"type\":\"message\",\"seq\":5,\"intent\":\"approval\",\"title\":\"Approval needed\","
          "\"text\":\"x\",\"plain\":\"Run this?\"}");
    snprintf(line, sizeof line,
             "{\"type\":\"done\",\"id\":\"%s\",\"seq\":5,\"success\":false,\"state\":\"parked\","
             "\"output\":\"\"}",
             id);
    reply(talk, line);
    finish(talk, 1);
    CHECK_TEXT("", talk->out);
    CHECK(strstr(talk->err, "shipmyagent approvals") != NULL);
    CHECK(strstr(talk->err, "Approval needed\nRun this?\n") != NULL);
    end(talk);
    close_server();
}

CASE(an_interrupt_stops_a_second_leaves)
{
    open_server();
    struct talk *talk = start_on_terminal();
    char id[64];
    greet(talk);
    wait_for_output(talk, "> ");
    type(talk, "hi\n");
    expect_message(talk, "hi", id);
    CHECK(kill(talk->pid, SIGINT) == 0);
    json_t *stop = receive(talk);
    CHECK_TEXT("stop", json_string_value(json_object_get(stop, "type")));
    json_decref(stop);
    reply_done(talk, id, false, "");
    wait_for_output(talk, "leaves)\r\n> ");
    type(talk, "again\n"); /* the chat goes on */
    expect_message(talk, "again", id);
    CHECK(kill(talk->pid, SIGINT) == 0);
    json_decref(receive(talk));
    CHECK(kill(talk->pid, SIGINT) == 0);
    finish(talk, 0);
    end(talk);
    close_server();
}

/* -- the screen -------------------------------------------------------------------------------- */
CASE(control_characters_are_taken_out)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 1000);
    sma_chat_put_clean(&buf, SMA_STR("a\tb\nc\r\x1b]0;title\x07\x7f\xC2\x9B\xFF\xE4\xB8\xAD"));
    CHECK_STR("a\tb\nc]0;title\xE4\xB8\xAD", sma_buf_str(&buf));
}

/* -- files ------------------------------------------------------------------------------------- */
static void make_picture(char path[1200])
{
    struct picture png = picture_png(2, 2, 1);
    snprintf(path, 1200, "%s/my plan.png", dir);
    picture_write(path, &png);
    free(png.bytes);
    project_dir = dir;
}

static void expect_files(struct talk *talk, const char *text, const char *path, char id[64])
{
    json_t *message = receive(talk);
    const json_t *files = json_object_get(message, "attachments");
    CHECK_TEXT(text, json_string_value(json_object_get(message, "text")));
    CHECK_INT(path == NULL ? 0 : 1, json_array_size(files));
    if (path != NULL)
        CHECK_TEXT(path, json_string_value(json_object_get(json_array_get(files, 0), "path")));
    snprintf(id, 64, "%s", json_string_value(json_object_get(message, "id")));
    json_decref(message);
}

CASE(a_pipe_takes_what_is_attached_and_nothing_else)
{
    char path[1200], id[64];
    make_picture(path);
    attached[0] = path;
    open_server();
    struct talk *talk = start_in_pipe("what is it?", 11);
    greet(talk);
    expect_files(talk, "what is it?", "my plan.png", id);
    reply_done(talk, id, true, "a plan");
    finish(talk, 0);
    end(talk);
    talk = start_in_pipe("", 0); /* a file alone is a message */
    greet(talk);
    expect_files(talk, "", "my plan.png", id);
    reply_done(talk, id, true, "a plan");
    finish(talk, 0);
    end(talk);
    attached[0] = NULL;
    talk = start_in_pipe("'my plan.png'", 13); /* words of a pipe are words */
    greet(talk);
    expect_files(talk, "'my plan.png'", NULL, id);
    reply_done(talk, id, true, "ok");
    finish(talk, 0);
    end(talk);
    attached[0] = "/nothing/here.png";
    talk = start_in_pipe("hi", 2);
    finish(talk, 1);
    CHECK(strstr(talk->err, "/nothing/here.png") != NULL);
    end(talk);
    attached[0] = project_dir = NULL;
    close_server();
    CHECK(unlink(path) == 0);
}

CASE(a_file_that_is_dragged_in_goes_with_its_message)
{
    char path[1200], typed[1400], id[64];
    make_picture(path);
    open_server();
    struct talk *talk = start_on_terminal();
    greet(talk);
    wait_for_output(talk, "> ");
    int len = snprintf(typed, sizeof typed, "'%s' what is wrong here?\n", path);
    CHECK(write(talk->in_fd, typed, (size_t)len) == len);
    typed[len - 1] = '\0';
    expect_files(talk, typed, "my plan.png", id);
    wait_for_output(talk, "(with my plan.png)");
    reply_done(talk, id, true, "");
    len = snprintf(typed, sizeof typed, "%s/my\\ plan.png \n", dir);
    CHECK(write(talk->in_fd, typed, (size_t)len) == len);
    expect_files(talk, "", "my plan.png", id);
    reply_done(talk, id, true, "");
    CHECK(write(talk->in_fd, "and now?\n", 9) == 9); /* a file goes once */
    expect_files(talk, "and now?", NULL, id);
    reply_done(talk, id, true, "");
    CHECK(write(talk->in_fd, "\004", 1) == 1);
    finish(talk, 0);
    end(talk);
    close_server();
    project_dir = NULL;
    CHECK(unlink(path) == 0);
}

int main(void)
{
    snprintf(dir, sizeof dir, "%s/sma_chat_XXXXXX",
             getenv("TMPDIR") == NULL ? "/tmp" : getenv("TMPDIR"));
    CHECK(mkdtemp(dir) != NULL);
    snprintf(socket_path, sizeof socket_path, "%s/%s", dir, SMA_TERMINAL_SOCKET_NAME);
    check_run_cases(NULL);
    CHECK(rmdir(dir) == 0);
    return check_summary();
}
