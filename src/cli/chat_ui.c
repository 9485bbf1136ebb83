/* chat_ui.c — see chat_ui.h. One poll loop over the keyboard, the service's socket, signals and
 * time. */
#include "chat_ui_priv.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#define READ_BYTES 4096
#define LOG_BYTES_MAX 65536 /* a longer line is shown in pieces */

/* Pasted text in brackets; and, where the terminal may know it, Enter with modifiers as a sequence
 * of its own (kitty; xterm's modifyOtherKeys, which others take for a colour). */
#define KEYS_ON "\x1b[?2004h"
#define KEYS_OFF "\x1b[?2004l"
#define KITTY_ON "\x1b[>1u"
#define KITTY_OFF "\x1b[<u"
#define XTERM_ON "\x1b[>4;1m"
#define XTERM_OFF "\x1b[>4;0m"

struct terminal
{
    struct termios old;
    bool is_raw;
};
static struct terminal the_terminal; /* one a process */

static bool is_term(const char *begin)
{
    const char *term = getenv("TERM");
    return term != NULL && strncmp(term, begin, strlen(begin)) == 0;
}

static bool has_kitty(void)
{
    const char *program = getenv("TERM_PROGRAM");
    return !is_term("linux") && (program == NULL || strcmp(program, "Apple_Terminal") != 0);
}

static bool has_xterm_keys(void)
{
    return getenv("XTERM_VERSION") != NULL || getenv("TMUX") != NULL;
}

static void make_raw(struct sma_chat_ui *ui)
{
    struct termios raw = the_terminal.old;
    raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR | IGNCR | ISTRIP | BRKINT | PARMRK);
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL | ISIG | IEXTEN);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    (void)tcsetattr(ui->options.in_fd, TCSADRAIN, &raw); /* it was asked for its modes before */
    the_terminal.is_raw = ui->options.screen->is_live = true;
    sma_chat_screen_raw(ui->options.screen, KEYS_ON);
    sma_chat_screen_raw(ui->options.screen, has_kitty() ? KITTY_ON : "");
    sma_chat_screen_raw(ui->options.screen, has_xterm_keys() ? XTERM_ON : "");
}

/* is_flushed: what was typed and not read goes to nobody. */
static void make_cooked(struct sma_chat_ui *ui, bool is_flushed)
{
    if (!the_terminal.is_raw)
        return;
    the_terminal.is_raw = false;
    sma_chat_screen_erase(ui->options.screen);
    ui->options.screen->is_live = false;
    sma_chat_screen_raw(ui->options.screen, has_xterm_keys() ? XTERM_OFF : "");
    sma_chat_screen_raw(ui->options.screen, has_kitty() ? KITTY_OFF : "");
    sma_chat_screen_raw(ui->options.screen, KEYS_OFF);
    (void)tcsetattr(ui->options.in_fd, is_flushed ? TCSAFLUSH : TCSADRAIN, &the_terminal.old);
}

/* -- making ------------------------------------------------------------------------------------ */
enum sma_err sma_chat_ui_create(const struct sma_chat_ui_options *options,
                                struct sma_chat_ui **ret_ui, struct sma_error *error)
{
    struct sma_chat_ui *ui = calloc(1, sizeof *ui);
    if (ui == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    ui->options = *options;
    ui->status = UI_STATUS_RUNNING;
    sma_chat_keys_init(&ui->keys);
    sma_buf_init(&ui->progress, UI_TEXT_BYTES_MAX);
    sma_buf_init(&ui->working, 65536);
    sma_buf_init(&ui->scratch, UI_TEXT_BYTES_MAX);
    sma_buf_init(&ui->hint, 1024);
    sma_buf_init(&ui->notice, 65536);
    sma_buf_init(&ui->log, LOG_BYTES_MAX);
    sma_buf_init(&ui->search.part, CHAT_HISTORY_LINE_BYTES_MAX);
    enum sma_err err = sma_chat_edit_create(&ui->edit, error);
    if (err == SMA_ERR_OK && tcgetattr(options->in_fd, &the_terminal.old) != 0)
        err = sma_fail_os(error, errno, "cannot ask the terminal for its modes");
    if (err != SMA_ERR_OK) {
        sma_chat_ui_destroy(ui);
        return err;
    }
    if (options->history_path != NULL)
        sma_chat_edit_load(ui->edit, options->history_path);
    *ret_ui = ui;
    return SMA_ERR_OK;
}

void sma_chat_ui_destroy(struct sma_chat_ui *ui)
{
    if (ui == NULL)
        return;
    sma_chat_keys_fini(&ui->keys);
    sma_chat_cards_fini(&ui->cards);
    sma_chat_edit_destroy(ui->edit);
    sma_buf_fini(&ui->progress);
    sma_buf_fini(&ui->working);
    sma_buf_fini(&ui->scratch);
    sma_buf_fini(&ui->hint);
    sma_buf_fini(&ui->notice);
    sma_buf_fini(&ui->log);
    sma_buf_fini(&ui->search.part);
    free(ui);
}

/* -- the loop ---------------------------------------------------------------------------------- */
static void on_key(void *user, enum sma_chat_key key, struct sma_str text)
{
    struct sma_chat_ui *ui = user;
    if (ui->status == UI_STATUS_RUNNING)
        ui_on_key(ui, key, text);
}

static void read_keyboard(struct sma_chat_ui *ui)
{
    char bytes[READ_BYTES];
    ssize_t len = read(ui->options.in_fd, bytes, sizeof bytes);
    if (len < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (len > 0)
        sma_chat_keys_take(&ui->keys, (struct sma_str){bytes, (size_t)len}, on_key, ui);
    else
        ui->status = 0; /* the terminal has gone */
}

static void read_signals(struct sma_chat_ui *ui)
{
    char numbers[16];
    ssize_t len = read(ui->options.signal_fd, numbers, sizeof numbers);
    for (ssize_t i = 0; i < len && ui->status == UI_STATUS_RUNNING; i++) {
        if (numbers[i] == SIGINT)
            ui_interrupt(ui);
        else if (numbers[i] == SIGWINCH)
            sma_chat_screen_measure(ui->options.screen);
        else
            ui->status = 128 + numbers[i];
    }
}

/* What our own service says of itself: lines that stay. */
static void read_log(struct sma_chat_ui *ui)
{
    char bytes[READ_BYTES];
    char *newline;
    ssize_t len = read(*ui->options.log_fd, bytes, sizeof bytes);
    if (len > 0)
        sma_buf_put(&ui->log, bytes, (size_t)len);
    while (ui->log.len > 0 && ((newline = memchr(ui->log.ptr, '\n', ui->log.len)) != NULL ||
                               ui->log.len + READ_BYTES > LOG_BYTES_MAX || len <= 0)) {
        size_t end = newline == NULL ? ui->log.len : (size_t)(newline - ui->log.ptr);
        ui_say(ui, "%.*s", (int)end, ui->log.ptr);
        ui->log.len -= newline == NULL ? end : end + 1;
        memmove(ui->log.ptr, ui->log.ptr + (newline == NULL ? end : end + 1), ui->log.len);
    }
    ui->is_log_over = len == 0;
}

static int log_fd(const struct sma_chat_ui *ui)
{
    return ui->options.log_fd == NULL || ui->is_log_over ? -1 : *ui->options.log_fd;
}

static void suspend(struct sma_chat_ui *ui)
{
    make_cooked(ui, false);
    raise(SIGSTOP); /* goes on with SIGCONT */
    make_raw(ui);
    sma_chat_screen_measure(ui->options.screen);
    ui->status = UI_STATUS_RUNNING;
}

static void connect_again(struct sma_chat_ui *ui)
{
    struct sma_error error;
    ui->retry_ns = 0;
    enum sma_err err = sma_wire_open(ui->options.wire, ui->options.socket_path, &error);
    if (err == SMA_ERR_OK)
        return; /* it welcomes us, or is lost again */
    if (err == SMA_ERR_NOTFOUND && ui->options.revive != NULL &&
        (ui->revive_count++ == UI_REVIVE_COUNT_MAX || !ui->options.revive(ui->options.user))) {
        ui_say(ui, "shipmyagent chat: the service has ended");
        ui->status = 1;
        return;
    }
    ui->is_log_over = false; /* there may be a new one */
    sma_chat_ui_on(ui, WIRE_LOST, NULL, NULL);
}

static void take_time(struct sma_chat_ui *ui, uint64_t now)
{
    if (ui->hint.len > 0 && ui->hint_until_ns <= now)
        sma_buf_clear(&ui->hint);
    if (ui->choice_ns != 0 && ui->choice_ns <= now)
        ui_choose(ui);
    if (ui->retry_ns != 0 && ui->retry_ns <= now)
        connect_again(ui);
}

static void sooner(int *wait_ms, uint64_t at_ns, uint64_t now)
{
    uint64_t left_ms = at_ns <= now ? 0 : (at_ns - now) / 1000000 + 1;
    if (*wait_ms < 0 || left_ms < (uint64_t)*wait_ms)
        *wait_ms = (int)left_ms;
}

static int wait_ms(const struct sma_chat_ui *ui, uint64_t now)
{
    int wait = sma_chat_keys_wait_ms(&ui->keys);
    if (ui->hint.len > 0)
        sooner(&wait, ui->hint_until_ns, now);
    if (ui->choice_ns != 0)
        sooner(&wait, ui->choice_ns, now);
    if (ui->retry_ns != 0)
        sooner(&wait, ui->retry_ns, now);
    return wait;
}

static void run_once(struct sma_chat_ui *ui)
{
    struct pollfd polls[] = {{.fd = ui->options.wire->fd, .events = POLLIN},
                             {.fd = ui->options.signal_fd, .events = POLLIN},
                             {.fd = ui->options.in_fd, .events = POLLIN},
                             {.fd = log_fd(ui), .events = POLLIN}};
    uint64_t now = ui_now();
    ui_show(ui);
    int count = poll(polls, SMA_COUNT_OF(polls), wait_ms(ui, now));
    if (count < 0)
        return; /* EINTR: the pipe has the signal */
    bool is_quiet = polls[2].revents == 0 && sma_chat_keys_wait_ms(&ui->keys) >= 0 &&
                    ui_now() - now >= (uint64_t)sma_chat_keys_wait_ms(&ui->keys) * 1000000;
    if (polls[1].revents != 0)
        read_signals(ui);
    if (polls[3].revents != 0)
        read_log(ui);
    if (polls[0].revents != 0 && ui->status == UI_STATUS_RUNNING && ui->options.wire->fd >= 0)
        sma_wire_read(ui->options.wire);
    if (polls[2].revents != 0 && ui->status == UI_STATUS_RUNNING)
        read_keyboard(ui);
    else if (is_quiet && ui->status == UI_STATUS_RUNNING)
        sma_chat_keys_end(&ui->keys, on_key, ui);
    if (ui->status == UI_STATUS_RUNNING)
        take_time(ui, ui_now());
    if (ui->status == UI_STATUS_SUSPEND)
        suspend(ui);
}

int sma_chat_ui_run(struct sma_chat_ui *ui)
{
    make_raw(ui);
    while (ui->status == UI_STATUS_RUNNING)
        run_once(ui);
    unsigned kept = ui->is_lost ? sma_wire_open_count(ui->options.wire) : 0;
    if (kept > 0)
        ui_say(ui,
               "shipmyagent chat: the service is away; %u of your messages may not have "
               "reached it",
               kept);
    make_cooked(ui, ui->status != 0);
    return ui->status;
}
