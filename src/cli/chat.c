/* chat.c — see chat.h. One poll loop over the keyboard, the service's socket and Ctrl-C. */
#include "chat.h"

#include "adapters/terminal/terminal.h"
#include "chat_files.h"
#include "chat_screen.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_BYTES_MAX (16u * 1024 * 1024) /* of the service: an escaped text may be large */
#define PIPE_TEXT_BYTES_MAX (16u * 1024 * 1024)
#define STATUS_RUNNING (-1)

struct chat
{
    int socket_fd, in_fd, out_fd, err_fd;
    bool is_interactive, is_input_over;
    struct sma_chat_screen screen;
    struct sma_buf input;        /* from the service, up to the next line end */
    struct sma_buf typed;        /* from the keyboard, up to the next line end */
    struct sma_buf text;         /* lines gathered by trailing backslashes */
    struct sma_buf answers;      /* in a pipe: what was delivered for our message */
    struct sma_chat_files files; /* of the next message */
    char id_prefix[17];
    unsigned message_count, open_count; /* messages sent; of these not done */
    bool is_stop_sent;
    json_int_t seq; /* in a pipe: our message's; 0 = not accepted yet */
    int status;     /* STATUS_RUNNING, then the exit status */
};

static int interrupt_pipe[2] = {-1, -1}; /* a signal handler has no other way to its chat */

static void on_interrupt(int number)
{
    (void)number;
    int saved = errno;
    ssize_t done = write(interrupt_pipe[1], "!", 1);
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
static void send_line(struct chat *chat, struct sma_buf *line)
{
    sma_buf_put_text(line, "}\n");
    size_t at = 0;
    while (line->err == SMA_ERR_OK && at < line->len) {
        ssize_t done = send(chat->socket_fd, line->ptr + at, line->len - at, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            say_error(chat, "the service has closed the connection");
            chat->status = 1;
            break;
        }
        at += (size_t)done;
    }
    sma_buf_fini(line);
}

static void begin_line(struct sma_buf *line, const char *type)
{
    sma_buf_init(line, LINE_BYTES_MAX);
    sma_buf_printf(line, "{\"type\":\"%s\"", type);
}

static void send_hello(struct chat *chat, const struct sma_chat_options *options)
{
    const char *user = options->user != NULL ? options->user : getenv("USER");
    struct sma_buf line;
    begin_line(&line, "hello");
    sma_buf_put_json_key(&line, "version");
    sma_buf_put_u64(&line, SMA_TERMINAL_VERSION);
    sma_buf_put_json_key(&line, "chat");
    sma_buf_put_json_string(&line, sma_str(options->chat != NULL ? options->chat : "main"));
    sma_buf_put_json_key(&line, "user");
    sma_buf_put_json_string(&line, sma_str(user != NULL && *user != '\0' ? user : "local"));
    send_line(chat, &line);
}

static void send_message(struct chat *chat, struct sma_str text)
{
    char id[40];
    snprintf(id, sizeof id, "%s-%u", chat->id_prefix, ++chat->message_count);
    struct sma_buf line;
    begin_line(&line, "message");
    sma_buf_put_json_key(&line, "id");
    sma_buf_put_json_string(&line, sma_str(id));
    sma_buf_put_json_key(&line, "text");
    sma_buf_put_json_string(&line, text);
    if (chat->files.count > 0) {
        sma_buf_put_text(&line, ",\"attachments\":[");
        sma_buf_put_str(&line, sma_buf_str(&chat->files.json));
        sma_buf_put_char(&line, ']');
    }
    sma_chat_files_clear(&chat->files);
    chat->open_count++;
    chat->is_stop_sent = false;
    send_line(chat, &line);
}

static void send_stop(struct chat *chat)
{
    struct sma_buf line;
    begin_line(&line, "stop");
    chat->is_stop_sent = true;
    send_line(chat, &line);
}

/* -- from the service -------------------------------------------------------------------------- */
static struct sma_str string_of(const json_t *root, const char *member)
{
    const json_t *text = json_object_get(root, member);
    if (!json_is_string(text))
        return SMA_STR("");
    return (struct sma_str){json_string_value(text), json_string_length(text)};
}

static bool is_ours(const struct chat *chat, const json_t *root)
{
    struct sma_str id = string_of(root, "id");
    return id.len > 16 && memcmp(id.ptr, chat->id_prefix, 16) == 0;
}

static void on_progress(struct chat *chat, const json_t *root)
{
    struct sma_str kind = string_of(root, "kind"), text = string_of(root, "text");
    if (!chat->is_interactive)
        return;
    if (sma_str_is_equal(kind, SMA_STR("text")))
        sma_chat_screen_progress(&chat->screen, text);
    else if (sma_str_is_equal(kind, SMA_STR("started")))
        sma_chat_screen_progress(&chat->screen, SMA_STR("..."));
    else if (sma_str_is_equal(kind, SMA_STR("finished")))
        sma_chat_screen_erase(&chat->screen);
}

/* A question to people, or its outcome: the words that say how to answer, under their title. */
static void put_card(struct sma_buf *buf, const json_t *root)
{
    sma_buf_put_str(buf, string_of(root, "title"));
    sma_buf_put_char(buf, '\n');
    sma_buf_put_str(buf, string_of(root, "plain"));
}

static void on_text(struct chat *chat, const json_t *root, struct sma_str text)
{
    if (chat->is_interactive) {
        sma_chat_screen_final(&chat->screen, text);
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
    if (string_of(root, "plain").len == 0) {
        on_text(chat, root, string_of(root, "text"));
        return;
    }
    sma_buf_init(&card, SMA_TERMINAL_LINE_BYTES_MAX);
    put_card(&card, root);
    on_text(chat, root, card.err == SMA_ERR_OK ? sma_buf_str(&card) : string_of(root, "text"));
    sma_buf_fini(&card);
}

static void finish_pipe(struct chat *chat, const json_t *root, bool is_success)
{
    struct sma_str output = string_of(root, "output");
    bool is_parked = sma_str_is_equal(string_of(root, "state"), SMA_STR("parked"));
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

static void on_done(struct chat *chat, const json_t *root)
{
    if (!is_ours(chat, root) || chat->open_count == 0)
        return;
    chat->open_count--;
    bool is_success = json_is_true(json_object_get(root, "success"));
    if (!chat->is_interactive) {
        finish_pipe(chat, root, is_success);
        return;
    }
    sma_chat_screen_erase(&chat->screen);
    prompt(chat);
}

static void on_error(struct chat *chat, const json_t *root)
{
    struct sma_str text = string_of(root, "text");
    sma_chat_screen_erase(&chat->screen);
    say_error(chat, "%.*s", (int)(text.len < 900 ? text.len : 900), text.ptr);
    if (is_ours(chat, root) && chat->open_count > 0)
        chat->open_count--;
    if (!chat->is_interactive)
        chat->status = 1;
    else
        prompt(chat);
}

static void take_line(struct chat *chat, struct sma_str line)
{
    json_t *root = json_loadb(line.ptr, line.len, 0, NULL);
    struct sma_str type = string_of(root, "type");
    if (sma_str_is_equal(type, SMA_STR("message")))
        on_delivery(chat, root);
    else if (sma_str_is_equal(type, SMA_STR("progress")))
        on_progress(chat, root);
    else if (sma_str_is_equal(type, SMA_STR("done")))
        on_done(chat, root);
    else if (sma_str_is_equal(type, SMA_STR("error")))
        on_error(chat, root);
    else if (sma_str_is_equal(type, SMA_STR("accepted")) && is_ours(chat, root))
        chat->seq = json_integer_value(json_object_get(root, "seq"));
    else if (root == NULL) {
        say_error(chat, "the service does not speak the terminal protocol");
        chat->status = 1;
    }
    json_decref(root);
}

/* Take whole lines off the front of buf. */
static void take_lines(struct chat *chat, struct sma_buf *buf,
                       void (*take)(struct chat *, struct sma_str))
{
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

static void read_socket(struct chat *chat)
{
    char bytes[65536];
    ssize_t len = recv(chat->socket_fd, bytes, sizeof bytes, 0);
    if (len < 0 && errno == EINTR)
        return;
    if (len > 0)
        sma_buf_put(&chat->input, bytes, (size_t)len);
    if (len <= 0 || chat->input.err != SMA_ERR_OK) {
        sma_chat_screen_erase(&chat->screen);
        say_error(chat, len <= 0 ? "the service has closed the connection"
                                 : "the service sent too long a line");
        chat->status = 1;
        return;
    }
    take_lines(chat, &chat->input, take_line);
}

/* -- from the keyboard ------------------------------------------------------------------------- */
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
        sma_chat_screen_erase(&chat->screen);
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
    take_lines(chat, &chat->typed, on_typed);
}

static void take_interrupt(struct chat *chat)
{
    char bytes[16];
    ssize_t len = read(interrupt_pipe[0], bytes, sizeof bytes);
    (void)len; /* however many: they are one wish */
    bool can_stop = chat->open_count > 0 && !chat->is_stop_sent;
    sma_chat_screen_erase(&chat->screen);
    if (can_stop) {
        if (chat->is_interactive)
            sma_chat_screen_raw(&chat->screen, "\n(stopping; Ctrl-C again leaves)\n");
        send_stop(chat);
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
static void run_loop(struct chat *chat)
{
    while (chat->status == STATUS_RUNNING) {
        struct pollfd polls[3] = {
            {.fd = chat->socket_fd, .events = POLLIN},
            {.fd = interrupt_pipe[0], .events = POLLIN},
            {.fd = chat->is_interactive ? chat->in_fd : -1, .events = POLLIN}};
        if (poll(polls, SMA_COUNT_OF(polls), -1) < 0)
            continue; /* EINTR: the pipe has the signal */
        if (polls[1].revents != 0)
            take_interrupt(chat);
        if (polls[0].revents != 0 && chat->status == STATUS_RUNNING)
            read_socket(chat);
        if (polls[2].revents != 0 && chat->status == STATUS_RUNNING)
            read_keyboard(chat);
    }
}

static void talk(struct chat *chat, const struct sma_chat_options *options)
{
    send_hello(chat, options);
    if (chat->status == STATUS_RUNNING && !chat->is_interactive) {
        send_message(chat, sma_buf_str(&chat->text));
        sma_buf_clear(&chat->text);
    }
    prompt(chat);
    run_loop(chat);
}

static void init_chat(struct chat *chat, const struct sma_chat_options *options)
{
    *chat = (struct chat){.socket_fd = -1, .status = STATUS_RUNNING};
    chat->in_fd = options->in_fd;
    chat->out_fd = options->out_fd == 0 ? STDOUT_FILENO : options->out_fd;
    chat->err_fd = options->err_fd == 0 ? STDERR_FILENO : options->err_fd;
    chat->is_interactive = isatty(chat->in_fd) == 1;
    const char *term = getenv("TERM");
    bool is_fancy = !options->is_plain && chat->is_interactive && isatty(chat->out_fd) == 1 &&
                    term != NULL && strcmp(term, "dumb") != 0;
    sma_chat_screen_init(&chat->screen, chat->out_fd, is_fancy);
    sma_buf_init(&chat->input, LINE_BYTES_MAX);
    sma_buf_init(&chat->typed, SMA_TEXT_BYTES_MAX + 4096);
    sma_buf_init(&chat->text, SMA_TEXT_BYTES_MAX);
    sma_buf_init(&chat->answers, PIPE_TEXT_BYTES_MAX);
    sma_chat_files_init(&chat->files, options->project_dir);
    uint64_t random;
    const struct sma_sys *sys = sma_sys_real();
    sys->random_bytes(sys->self, &random, sizeof random);
    snprintf(chat->id_prefix, sizeof chat->id_prefix, "%016llx", (unsigned long long)random);
}

static void fini_chat(struct chat *chat)
{
    if (chat->socket_fd >= 0)
        close(chat->socket_fd);
    sma_chat_screen_fini(&chat->screen);
    sma_buf_fini(&chat->input);
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

/* With SIGINT as a readable descriptor; the caller's handling is put back. */
static void talk_with_interrupts(struct chat *chat, const struct sma_chat_options *options)
{
    struct sigaction action = {.sa_handler = on_interrupt}, old_action;
    sigset_t interrupt, old_mask;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    if (pipe2(interrupt_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        say_error(chat, "cannot watch for Ctrl-C: %s", strerror(errno));
        chat->status = 1;
        return;
    }
    sigaction(SIGINT, &action, &old_action);
    pthread_sigmask(SIG_UNBLOCK, &interrupt, &old_mask);
    talk(chat, options);
    pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
    sigaction(SIGINT, &old_action, NULL);
    close(interrupt_pipe[0]);
    close(interrupt_pipe[1]);
    interrupt_pipe[0] = interrupt_pipe[1] = -1;
}

int sma_chat_client(const char *socket_path, const struct sma_chat_options *options)
{
    struct chat chat;
    struct sma_error error;
    init_chat(&chat, options);
    if (!take_attached(&chat, options) || (!chat.is_interactive && !read_whole_input(&chat)))
        chat.status = 1;
    if (chat.status == STATUS_RUNNING &&
        sma_terminal_connect(socket_path, &chat.socket_fd, &error) != SMA_ERR_OK) {
        say_error(&chat, "%s", error.text);
        chat.status = 1;
    }
    if (chat.status == STATUS_RUNNING)
        talk_with_interrupts(&chat, options);
    fini_chat(&chat);
    return chat.status;
}
