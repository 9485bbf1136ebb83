/* prompt.c — see prompt.h. */
#include "prompt.h"

#include "cli.h"
#include "key_shape.h"
#include "sma/buf.h"
#include "sma/plural.h"
#include "sma/text.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>
#include <utf8proc.h>

#define ESCAPE_MS 50 /* what an arrow key sends follows its ESC at once */

/* A signal handler has no other way to the terminal. */
static struct termios before;
static const char *words_at_end = "";
static volatile sig_atomic_t has_terminal;
static bool is_open;
static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static struct sigaction handlers_before[SMA_COUNT_OF(signals)];

/* -- the terminal ------------------------------------------------------------------------------ */
static void on_end(int number)
{
    if (has_terminal)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before); /* nothing else can be done about it */
    ssize_t done = write(STDERR_FILENO, words_at_end, strlen(words_at_end));
    (void)done;
    _exit(128 + number);
}

static void quiet_terminal(void)
{
    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return;
    struct termios quiet = before;
    quiet.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    quiet.c_cc[VMIN] = 1;
    quiet.c_cc[VTIME] = 0;
    quiet.c_cc[VSUSP] = _POSIX_VDISABLE; /* the shell would get a terminal without echo */
    has_terminal = tcsetattr(STDIN_FILENO, TCSANOW, &quiet) == 0;
}

void sma_prompt_open(const char *last_words)
{
    struct sigaction action = {.sa_handler = on_end};
    words_at_end = last_words;
    for (size_t i = 0; i < SMA_COUNT_OF(signals); i++)
        sigaction(signals[i], &action, &handlers_before[i]);
    is_open = true;
    quiet_terminal();
}

void sma_prompt_close(void)
{
    if (!is_open)
        return;
    if (has_terminal)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before); /* as on_end */
    has_terminal = false;
    for (size_t i = 0; i < SMA_COUNT_OF(signals); i++)
        sigaction(signals[i], &handlers_before[i], NULL);
    is_open = false;
}

/* -- one line ---------------------------------------------------------------------------------- */
struct line
{
    char *bytes;
    size_t len, room;
    bool is_secret;
    bool is_hidden; /* it reads as a key in the wrong place: until the line is empty again */
    const struct menu *menu; /* only what may be a choice of it is shown; NULL: all of it */
};

struct menu
{
    const char *question;
    const char *const *choices;
    size_t count, otherwise;
    bool is_beside_secret; /* what is typed may be a secret that came too early */
};

/* Is the line, or will it be, a number or a word of the menu? */
static bool may_be_choice(const struct line *line)
{
    size_t digits = 0;
    while (digits < line->len && line->bytes[digits] >= '0' && line->bytes[digits] <= '9')
        digits++;
    if (digits == line->len)
        return line->len <= 2;
    for (size_t i = 0; i < line->menu->count; i++)
        if (strncmp(line->menu->choices[i], line->bytes, line->len) == 0)
            return true;
    return false;
}

static bool is_shown(const struct line *line)
{
    return !line->is_secret && !line->is_hidden && (line->menu == NULL || may_be_choice(line));
}

/* -1: the input has ended. */
static int read_byte(void)
{
    unsigned char byte;
    ssize_t done;
    do
        done = read(STDIN_FILENO, &byte, 1);
    while (done < 0 && errno == EINTR);
    return done == 1 ? byte : -1;
}

/* The next byte of an escape sequence; -1: it has none, it was the key Escape. */
static int read_soon(void)
{
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&ready, 1, ESCAPE_MS) == 1 ? read_byte() : -1;
}

/* ESC [ parameters final, ESC O final, ESC letter: none of it is text. */
static void swallow_escape(void)
{
    int byte = read_soon();
    if (byte == 'O') {
        (void)read_soon();
        return;
    }
    if (byte != '[')
        return;
    do
        byte = read_soon();
    while (byte >= 0x20 && byte < 0x40);
}

static void show(const char *text, size_t len)
{
    fwrite(text, 1, len, stdout);
    fflush(stdout);
}

/* The last character and the columns it took. */
static void take_back(struct line *line)
{
    size_t start = line->len;
    while (start > 0 && ((unsigned char)line->bytes[--start] & 0xC0) == 0x80)
        continue;
    utf8proc_int32_t point = -1;
    (void)utf8proc_iterate((const utf8proc_uint8_t *)line->bytes + start,
                           (utf8proc_ssize_t)(line->len - start), &point);
    int columns = !is_shown(line) || line->len == start ? 0
                  : point < 0                           ? 1
                                                        : utf8proc_charwidth(point);
    line->len = start;
    line->is_hidden = line->is_hidden && start > 0;
    while (columns-- > 0)
        show("\b \b", 3);
}

static size_t count_columns(const struct line *line)
{
    size_t columns = 0;
    for (size_t i = 0; i < line->len; i++)
        columns += ((unsigned char)line->bytes[i] & 0xC0) != 0x80;
    return columns;
}

/* As soon as it can be seen to be one; what is on the screen of it goes. */
static void hide_key(struct line *line)
{
    if (!is_shown(line) || !sma_key_looks_like_one(line->bytes, line->len))
        return;
    for (size_t columns = count_columns(line) - 1; columns > 0; columns--)
        show("\b \b", 3);
    line->is_hidden = true;
}

static void put_byte(struct line *line, char byte)
{
    if (line->len + 1 >= line->room) {
        show("\a", 1);
        return;
    }
    line->bytes[line->len++] = byte;
    hide_key(line);
    if (is_shown(line))
        show(&byte, 1);
}

/* @return false: the input has ended */
static bool take_byte(struct line *line, int byte, bool *ret_is_complete)
{
    *ret_is_complete = byte == '\n' || byte == '\r';
    if (byte < 0 || (byte == 4 && line->len == 0))
        return false;
    if (byte == 0x1B)
        swallow_escape();
    else if (byte == 0x7F || byte == '\b')
        take_back(line);
    else if (byte == 0x15) /* Ctrl-U */
        while (line->len > 0)
            take_back(line);
    else if (byte >= 0x20)
        put_byte(line, (char)byte);
    return true;
}

static bool read_line(char *answer, size_t room, bool is_secret, const struct menu *menu)
{
    struct line line = {.bytes = answer, .room = room, .is_secret = is_secret, .menu = menu};
    bool is_complete = false;
    fflush(stdout);
    while (!is_complete)
        if (!take_byte(&line, read_byte(), &is_complete)) {
            puts("");
            return false;
        }
    struct sma_str text = sma_str_trim((struct sma_str){line.bytes, line.len});
    memmove(answer, text.ptr, text.len);
    answer[text.len] = '\0';
    return true;
}

/* It is neither repeated nor kept. */
static bool refuse_key(char *answer)
{
    size_t len = strlen(answer);
    if (!sma_key_looks_like_one(answer, len))
        return false;
    explicit_bzero(answer, len);
    puts("This looks like a key and is not kept. Keys are asked for with the screen off.");
    return true;
}

/* -- questions --------------------------------------------------------------------------------- */
bool sma_prompt_line(const char *question, const char *otherwise, char *answer, size_t room)
{
    char usual[1024];
    snprintf(usual, sizeof usual, "%s", otherwise); /* it may be where the answer goes */
    do {
        if (usual[0] == '\0')
            printf("%s: ", question);
        else
            printf("%s [%s]: ", question, usual);
        if (!read_line(answer, room, false, NULL))
            return false;
        puts("");
    } while (refuse_key(answer));
    if (answer[0] == '\0')
        snprintf(answer, room, "%s", usual);
    return true;
}

bool sma_prompt_secret(const char *question, char *answer, size_t room)
{
    printf("%s (it is not shown): ", question);
    if (!read_line(answer, room, true, NULL))
        return false;
    printf("%zu character%s\n", strlen(answer), SMA_S(strlen(answer)));
    return true;
}

bool sma_prompt_yes(const char *question, bool otherwise, bool *ret_is_yes)
{
    char line[64];
    for (;;) {
        if (!sma_prompt_line(question, otherwise ? "yes" : "no", line, sizeof line))
            return false;
        if (sma_cli_parse_bool(line, ret_is_yes))
            return true;
        puts("yes or no, please.");
    }
}

static bool find_choice(const char *line, const char *const *choices, size_t count,
                        size_t *ret_index)
{
    int64_t number;
    size_t found = 0, len = strlen(line);
    if (sma_parse_i64(sma_str(line), 1, (int64_t)count, &number) == SMA_ERR_OK) {
        *ret_index = (size_t)number - 1;
        return true;
    }
    for (size_t i = 0; i < count; i++)
        if (len > 0 && strncmp(choices[i], line, len) == 0) {
            *ret_index = i;
            if (choices[i][len] == '\0' || choices[i][len] == ' ')
                return true; /* the word itself, and not the beginning of others, too */
            found++;
        }
    return found == 1;
}

static bool choose(const struct menu *menu, size_t *ret_index)
{
    char line[256];
    printf("%s\n", menu->question);
    for (size_t i = 0; i < menu->count; i++)
        printf("  %zu) %s\n", i + 1, menu->choices[i]);
    for (;;) {
        printf("number or name [%zu]: ", menu->otherwise + 1);
        if (!read_line(line, sizeof line, false, menu->is_beside_secret ? menu : NULL))
            return false;
        puts("");
        if (line[0] == '\0') {
            *ret_index = menu->otherwise;
            return true;
        }
        if (find_choice(line, menu->choices, menu->count, ret_index))
            return true;
        if (menu->is_beside_secret)
            puts("That is none of them. A key or token is asked for after the choice.");
        else if (!refuse_key(line))
            printf("%s is not in the list.\n", line);
    }
}

bool sma_prompt_choice(const char *question, const char *const *choices, size_t count,
                       size_t otherwise, size_t *ret_index)
{
    const struct menu menu = {question, choices, count, otherwise, false};
    return choose(&menu, ret_index);
}

bool sma_prompt_choice_beside_secret(const char *question, const char *const *choices, size_t count,
                                     size_t otherwise, size_t *ret_index)
{
    const struct menu menu = {question, choices, count, otherwise, true};
    return choose(&menu, ret_index);
}

bool sma_prompt_is_pressed(int timeout_ms)
{
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    char line[256];
    fflush(stdout);
    return poll(&ready, 1, timeout_ms) == 1 && (!read_line(line, sizeof line, true, NULL) || true);
}

bool sma_prompt_agree(const char *command, bool is_yes, const char *question)
{
    bool agrees = false;
    if (is_yes)
        return true;
    if (isatty(STDIN_FILENO) == 0) {
        (void)sma_cli_fail("%s: nothing was accepted; look at what is shown above and say --yes",
                           command);
        return false;
    }
    sma_prompt_open("nothing was accepted\n");
    agrees = sma_prompt_yes(question, false, &agrees) && agrees;
    sma_prompt_close();
    if (!agrees)
        puts("Nothing was accepted.");
    return agrees;
}
