/* chat.c — see chat.h. One message in a pipe, plain lines on a terminal that can do no more; what a
 * terminal shows otherwise is chat_ui.c's. */
#include "chat.h"

#include "adapters/terminal/terminal.h"
#include "chat_files.h"
#include "chat_screen.h"
#include "chat_ui.h"
#include "chat_wire.h"
#include "sma/adapter.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#define PIPE_TEXT_BYTES_MAX (16u * 1024 * 1024)
#define STATUS_RUNNING (-1)
#define HISTORY_NAME ".ship/chat-history"

struct chat
{
    int in_fd, out_fd, err_fd;
    int log_fd; /* of our own service; -1 = none */
    bool is_interactive;
    struct sma_chat_link wire;
    struct sma_chat_screen screen;
    struct sma_chat_ui *ui;      /* NULL: pipe or plain lines */
    struct sma_buf typed;        /* from the keyboard, up to the next line end */
    struct sma_buf text;         /* lines gathered by trailing backslashes */
    struct sma_buf answers;      /* in a pipe: what was delivered for our message */
    struct sma_chat_files files; /* of the next message */
    unsigned open_count;         /* messages sent and not done */
    bool is_stop_sent;
    json_int_t seq; /* in a pipe: our message's; 0 = not accepted yet */
    int status;     /* STATUS_RUNNING, then the exit status */
};

/* A signal handler has no other way to its chat. Each byte is the number of a signal. */
static int interrupt_pipe[2] = {-1, -1};

static void on_signal(int number)
{
    int saved = errno;
    char byte = (char)number;
    ssize_t done = write(interrupt_pipe[1], &byte, 1);
    (void)done; /* full: there are interrupts enough */
    errno = saved;
}

static void say_error(const struct chat *chat, const char *format, ...) SMA_PRINTF(2, 3);
static void say_error(const struct chat *chat, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct sma_buf clean;
    sma_buf_init(&clean, 2048);
    sma_chat_put_clean(&clean, sma_str(text));
    dprintf(chat->err_fd, "shipmyagent chat: %s\n", clean.ptr == NULL ? "" : clean.ptr);
    sma_buf_fini(&clean);
}

static void prompt(struct chat *chat)
{
    if (chat->is_interactive && chat->open_count == 0 && chat->status == STATUS_RUNNING)
        sma_chat_screen_raw(&chat->screen, chat->text.len > 0 ? ". " : "> ");
}

/* -- to the service ---------------------------------------------------------------------------- */
static void send_message(struct chat *chat, struct sma_str text)
{
    struct sma_str files = chat->files.count == 0 ? SMA_STR("") : sma_buf_str(&chat->files.json);
    chat->open_count++;
    chat->is_stop_sent = false;
    enum sma_err err = sma_wire_send(&chat->wire, text, files);
    sma_chat_files_clear(&chat->files);
    if (err == SMA_ERR_OK)
        return;
    chat->open_count--;
    say_error(chat, "%s; nothing was sent",
              err == SMA_ERR_FULL ? "too many messages wait for an answer" : sma_err_text(err));
}

/* -- from the service -------------------------------------------------------------------------- */
static void print(struct chat *chat, struct sma_str text)
{
    struct sma_buf clean;
    sma_buf_init(&clean, 2 * PIPE_TEXT_BYTES_MAX);
    sma_chat_put_clean(&clean, text);
    sma_chat_screen_print(&chat->screen, clean.len == 0 ? SMA_STR("") : sma_buf_str(&clean));
    sma_buf_fini(&clean);
}

/* A question to people, or its outcome: the words that say how to answer, under their title. */
static void put_card(struct sma_buf *buf, const json_t *root)
{
    sma_buf_put_str(buf, sma_wire_text(root, "title"));
    sma_buf_put_char(buf, '\n');
    sma_buf_put_str(buf, sma_wire_text(root, "plain"));
}

static void on_text(struct chat *chat, const json_t *root, struct sma_str text)
{
    if (chat->is_interactive) {
        print(chat, text);
        prompt(
            /* nothing of ours is open: it came by itself, and is answered like anything else */
            chat);
        return;
    }
    if (chat->seq != 0 && json_integer_value(json_object_get(root, "seq")) != chat->seq)
        return; /* another terminal's conversation in the same chat */
    sma_chat_put_clean(&chat->answers, text);
    sma_buf_put_char(&chat->answers, '\n');
}

static void on_delivery(struct chat *chat, const json_t *root)
{
    struct sma_buf card;
    if (sma_wire_text(root, "plain").len == 0) {
        on_text(chat, root, sma_wire_text(root, "text"));
        return;
    }
    sma_buf_init(&card, SMA_TERMINAL_LINE_BYTES_MAX);
    put_card(&card, root);
    on_text(chat, root, card.err == SMA_ERR_OK ? sma_buf_str(&card) : sma_wire_text(root, "text"));
    sma_buf_fini(&card);
}

static void finish_pipe(struct chat *chat, const json_t *root, bool is_success)
{
    struct sma_str output = sma_wire_text(root, "output");
    bool is_parked = sma_str_is_equal(sma_wire_text(root, "state"), SMA_STR("parked"));
    if (chat->answers.len == 0 && output.len > 0) {
        sma_chat_put_clean(&chat->answers, output);
        sma_buf_put_char(&chat->answers, '\n');
    }
    if (is_success && chat->answers.len > 0) {
        sma_chat_screen_raw(&chat->screen, chat->answers.ptr);
    } else if (!is_success) {
        say_error(chat, "%s",
                  is_parked
                      ? "the agent waits for somebody's consent; answer with the next message, "
                        "or see `shipmyagent approvals`"
                      : "the agent could not finish this");
        if (chat->answers.len > 0)
            dprintf(chat->err_fd, "%s", chat->answers.ptr);
    }
    chat->status = is_success ? 0 : 1;
}

static void on_done(struct chat *chat, const json_t *root, const struct sma_wire_message *message)
{
    if (message == NULL || chat->open_count == 0)
        return;
    chat->open_count--;
    bool is_success = json_is_true(json_object_get(root, "success"));
    if (!chat->is_interactive) {
        finish_pipe(chat, root, is_success);
        return;
    }
    prompt(chat);
}

static void on_error(struct chat *chat, const json_t *root, const struct sma_wire_message *message)
{
    struct sma_str text = sma_wire_text(root, "text");
    say_error(chat, "%.*s", (int)(text.len < 900 ? text.len : 900), text.ptr);
    if (message != NULL && chat->open_count > 0)
        chat->open_count--;
    if (!chat->is_interactive)
        chat->status = 1;
    else
        prompt(chat);
}

/* A pipe goes on waiting: its answer is the answer. */
static void on_waiting(struct chat *chat, const json_t *root)
{
    struct sma_str text = sma_wire_text(root, "text");
    say_error(chat, "%.*s", (int)(text.len < 900 ? text.len : 900), text.ptr);
}

static void end_with_error(struct chat *chat, const char *text)
{
    if (chat->status != STATUS_RUNNING)
        return;
    say_error(chat, "%s", text);
    chat->status = 1;
    if (chat->is_interactive)
        (void)tcflush(chat->in_fd, TCIFLUSH); /* what is typed is not the shell's */
}

static void on_event(void *user, enum sma_wire_event event, const json_t *root,
                     struct sma_wire_message *message)
{
    struct chat *chat = user;
    if (chat->ui != NULL)
        sma_chat_ui_on(chat->ui, event, root, message);
    else if (chat->status != STATUS_RUNNING)
        return;
    else if (event == WIRE_DELIVERY)
        on_delivery(chat, root);
    else if (event == WIRE_DONE)
        on_done(chat, root, message);
    else if (event == WIRE_ERROR)
        on_error(chat, root, message);
    else if (event == WIRE_TAKEN && message != NULL)
        chat->seq = message->seq;
    else if (event == WIRE_WAITING)
        on_waiting(chat, root);
    else if (event == WIRE_LOST)
        end_with_error(chat, "the service has closed the connection");
    else if (event == WIRE_STRANGE)
        end_with_error(chat, "the service does not speak the terminal protocol");
}

/* -- from the keyboard ------------------------------------------------------------------------- */
/* Take whole lines off the front of what was typed. */
static void take_lines(struct chat *chat, void (*take)(struct chat *, struct sma_str))
{
    struct sma_buf *buf = &chat->typed;
    size_t begin = 0;
    char *newline;
    while (chat->status == STATUS_RUNNING && begin < buf->len &&
           (newline = memchr(buf->ptr + begin, '\n', buf->len - begin)) != NULL) {
        size_t end = (size_t)(newline - buf->ptr);
        take(chat, (struct sma_str){buf->ptr + begin, end - begin});
        begin = end + 1;
    }
    if (begin > 0)
        memmove(buf->ptr, buf->ptr + begin, buf->len - begin);
    buf->len -= begin;
}

/* What is taken along is said before it goes; what cannot be taken keeps the message here. */
static void send_typed(struct chat *chat, struct sma_str text)
{
    struct sma_error error;
    struct sma_buf said;
    bool is_all = false;
    if (sma_control_parse(text) == SMA_CONTROL_NONE &&
        sma_chat_files_find(&chat->files, text, &is_all, &error) != SMA_ERR_OK) {
        say_error(chat, "%s; nothing was sent", error.text);
        sma_chat_files_clear(&chat->files);
        return;
    }
    if (chat->files.count > 0) {
        sma_buf_init(&said, PIPE_TEXT_BYTES_MAX);
        sma_buf_put_text(&said, "(with ");
        sma_chat_put_clean(&said, sma_buf_str(&chat->files.names));
        sma_buf_put_text(&said, ")\n");
        sma_chat_screen_raw(&chat->screen, said.err == SMA_ERR_OK ? said.ptr : "");
        sma_buf_fini(&said);
    }
    send_message(chat, is_all ? SMA_STR("") : text);
}

static bool leaves(struct sma_str text)
{
    return sma_str_is_equal(text, SMA_STR("/exit")) || sma_str_is_equal(text, SMA_STR("/quit"));
}

static void on_typed(struct chat *chat, struct sma_str line)
{
    bool goes_on = line.len > 0 && line.ptr[line.len - 1] == '\\';
    sma_buf_put(&chat->text, line.ptr, line.len - (goes_on ? 1 : 0));
    if (goes_on) {
        sma_buf_put_char(&chat->text, '\n');
        prompt(chat);
        return;
    }
    if (chat->text.err != SMA_ERR_OK)
        say_error(chat, "the message is longer than 1 MiB: send it in parts");
    else if (leaves(sma_str_trim(sma_buf_str(&chat->text))))
        chat->status = 0;
    else if (sma_str_trim(sma_buf_str(&chat->text)).len > 0)
        send_typed(chat, sma_buf_str(&chat->text));
    sma_buf_clear(&chat->text);
    prompt(chat);
}

static void read_keyboard(struct chat *chat)
{
    char bytes[4096];
    ssize_t len = read(chat->in_fd, bytes, sizeof bytes);
    if (len < 0 && errno == EINTR)
        return;
    if (len <= 0) {
        sma_chat_screen_raw(&chat->screen, "\n");
        chat->status = 0; /* Ctrl-D leaves; what runs goes on in the service */
        return;
    }
    sma_buf_put(&chat->typed, bytes, (size_t)len);
    if (chat->typed.err != SMA_ERR_OK) {
        say_error(chat, "the line is longer than 1 MiB: send it in parts");
        sma_buf_clear(&chat->typed);
        return;
    }
    take_lines(chat, on_typed);
}

static void take_interrupt(struct chat *chat)
{
    char bytes[16];
    ssize_t len = read(interrupt_pipe[0], bytes, sizeof bytes);
    (void)len; /* however many: they are one wish */
    bool can_stop = chat->open_count > 0 && !chat->is_stop_sent;
    if (can_stop) {
        if (chat->is_interactive)
            sma_chat_screen_raw(&chat->screen, "\n(stopping; Ctrl-C again leaves)\n");
        chat->is_stop_sent = true;
        sma_wire_stop(&chat->wire);
        return;
    }
    if (chat->is_interactive)
        sma_chat_screen_raw(&chat->screen, "\n");
    chat->status = chat->is_interactive ? 0 : 130;
}

/* All of stdin as one message. false: said why not. */
static bool read_whole_input(struct chat *chat)
{
    char bytes[65536];
    ssize_t len;
    while ((len = read(chat->in_fd, bytes, sizeof bytes)) != 0) {
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0) {
            say_error(chat, "cannot read the message: %s", strerror(errno));
            return false;
        }
        sma_buf_put(&chat->text, bytes, (size_t)len);
        if (chat->text.err != SMA_ERR_OK) {
            say_error(chat, "the message is longer than 1 MiB: send it in parts");
            return false;
        }
    }
    while (chat->text.len > 0 && (chat->text.ptr[chat->text.len - 1] == '\n' ||
                                  chat->text.ptr[chat->text.len - 1] == '\r'))
        chat->text.len--;
    if (sma_str_trim(sma_buf_str(&chat->text)).len == 0 && chat->files.count == 0) {
        say_error(chat, "nothing to send: the input is empty");
        return false;
    }
    if (!sma_utf8_is_valid(sma_buf_str(&chat->text))) {
        say_error(chat, "the message is not UTF-8 text");
        return false;
    }
    return true;
}

/* -- the loop ---------------------------------------------------------------------------------- */
/* What our own service says of itself goes where it would have gone. */
static void pass_log(struct chat *chat)
{
    char bytes[4096];
    ssize_t len = read(chat->log_fd, bytes, sizeof bytes);
    if (len > 0)
        dprintf(chat->err_fd, "%.*s", (int)len, bytes);
    else
        chat->log_fd = -1;
}

static void run_loop(struct chat *chat)
{
    while (chat->status == STATUS_RUNNING) {
        struct pollfd polls[] = {{.fd = chat->wire.fd, .events = POLLIN},
                                 {.fd = interrupt_pipe[0], .events = POLLIN},
                                 {.fd = chat->is_interactive ? chat->in_fd : -1, .events = POLLIN},
                                 {.fd = chat->log_fd, .events = POLLIN}};
        if (poll(polls, SMA_COUNT_OF(polls), -1) < 0)
            continue; /* EINTR: the pipe has the signal */
        if (polls[1].revents != 0)
            take_interrupt(chat);
        if (polls[0].revents != 0 && chat->status == STATUS_RUNNING)
            sma_wire_read(&chat->wire);
        if (polls[2].revents != 0 && chat->status == STATUS_RUNNING)
            read_keyboard(chat);
        if (polls[3].revents != 0)
            pass_log(chat);
    }
}

static void talk(struct chat *chat)
{
    if (chat->ui != NULL) {
        chat->status = sma_chat_ui_run(chat->ui);
        return;
    }
    if (chat->status == STATUS_RUNNING && !chat->is_interactive) {
        send_message(chat, chat->text.len == 0 ? SMA_STR("") : sma_buf_str(&chat->text));
        sma_buf_clear(&chat->text);
    }
    prompt(chat);
    run_loop(chat);
}

static void init_chat(struct chat *chat, const struct sma_chat_options *options)
{
    const char *user = options->user != NULL ? options->user : getenv("USER");
    *chat = (struct chat){.status = STATUS_RUNNING};
    chat->in_fd = options->in_fd;
    chat->out_fd = options->out_fd == 0 ? STDOUT_FILENO : options->out_fd;
    chat->err_fd = options->err_fd == 0 ? STDERR_FILENO : options->err_fd;
    chat->log_fd = options->log_fd == NULL ? -1 : *options->log_fd;
    chat->is_interactive = isatty(chat->in_fd) == 1;
    sma_wire_init(&chat->wire, on_event, chat);
    chat->wire.chat = options->chat != NULL ? options->chat : "main";
    chat->wire.user_name = user != NULL && *user != '\0' ? user : "local";
    sma_chat_screen_init(&chat->screen, chat->out_fd);
    sma_buf_init(&chat->typed, SMA_TEXT_BYTES_MAX + 4096);
    sma_buf_init(&chat->text, SMA_TEXT_BYTES_MAX);
    sma_buf_init(&chat->answers, PIPE_TEXT_BYTES_MAX);
    sma_chat_files_init(&chat->files, options->project_dir);
}

static void fini_chat(struct chat *chat)
{
    sma_chat_ui_destroy(chat->ui);
    sma_wire_fini(&chat->wire);
    sma_chat_screen_fini(&chat->screen);
    sma_buf_fini(&chat->typed);
    sma_buf_fini(&chat->text);
    sma_buf_fini(&chat->answers);
    sma_chat_files_fini(&chat->files);
}

static bool take_attached(struct chat *chat, const struct sma_chat_options *options)
{
    struct sma_error error;
    for (unsigned i = 0; i < options->attach_count; i++) {
        if (sma_chat_files_add(&chat->files, options->attach[i], &error) == SMA_ERR_OK)
            continue;
        say_error(chat, "%s", error.text);
        return false;
    }
    return true;
}

/* The live chat, on a terminal that can show it. Without an editor it is plain lines. */
static void make_ui(struct chat *chat, const struct sma_chat_options *options,
                    const char *socket_path)
{
    static char history[PATH_MAX];
    struct sma_error error;
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    if (options->is_plain || !chat->is_interactive || isatty(chat->out_fd) != 1 || term == NULL ||
        *term == '\0' || strcmp(term, "dumb") == 0)
        return;
    struct sma_chat_ui_options ui = {.wire = &chat->wire,
                                     .screen = &chat->screen,
                                     .files = &chat->files,
                                     .in_fd = chat->in_fd,
                                     .signal_fd = interrupt_pipe[0],
                                     .is_styled = no_color == NULL || *no_color == '\0',
                                     .socket_path = socket_path,
                                     .log_fd = options->log_fd,
                                     .revive = options->revive,
                                     .user = options->revive_user};
    int len = options->project_dir == NULL
                  ? -1
                  : snprintf(history, sizeof history, "%s/" HISTORY_NAME, options->project_dir);
    ui.history_path = len > 0 && (size_t)len < sizeof history ? history : NULL;
    enum sma_err err = sma_chat_ui_create(&ui, &chat->ui, &error);
    if (err != SMA_ERR_OK)
        say_error(chat, "no line editor: %s", error.text);
}

static void open_and_talk(struct chat *chat, const struct sma_chat_options *options,
                          const char *socket_path)
{
    struct sma_error error;
    make_ui(chat, options, socket_path);
    if (sma_wire_open(&chat->wire, socket_path, &error) == SMA_ERR_OK) {
        talk(chat);
        return;
    }
    say_error(chat, "%s", error.text);
    chat->status = 1;
}

/* Signals that are told through a descriptor while we talk; the caller's handling is put back. Only
 * the live chat has a terminal to put back before it ends. */
static const int signals[] = {SIGINT, SIGWINCH, SIGTERM, SIGHUP};

static void talk_with_signals(struct chat *chat, const struct sma_chat_options *options,
                              const char *socket_path)
{
    struct sigaction action = {.sa_handler = on_signal}, old[SMA_COUNT_OF(signals)];
    size_t count = chat->is_interactive ? SMA_COUNT_OF(signals) : 1;
    sigset_t interrupt, old_mask;
    sigemptyset(&interrupt);
    if (pipe2(interrupt_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        say_error(chat, "cannot watch for Ctrl-C: %s", strerror(errno));
        chat->status = 1;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        sigaddset(&interrupt, signals[i]);
        sigaction(signals[i], &action, &old[i]);
    }
    pthread_sigmask(SIG_UNBLOCK, &interrupt, &old_mask);
    open_and_talk(chat, options, socket_path);
    pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
    for (size_t i = 0; i < count; i++)
        sigaction(signals[i], &old[i], NULL);
    close(interrupt_pipe[0]);
    close(interrupt_pipe[1]);
    interrupt_pipe[0] = interrupt_pipe[1] = -1;
}

int sma_chat_client(const char *socket_path, const struct sma_chat_options *options)
{
    struct chat chat;
    init_chat(&chat, options);
    if (!take_attached(&chat, options) || (!chat.is_interactive && !read_whole_input(&chat)))
        chat.status = 1;
    if (chat.status == STATUS_RUNNING)
        talk_with_signals(&chat, options, socket_path);
    fini_chat(&chat);
    return chat.status;
}
