/* chat_edit.c — see chat_edit.h. libedit's wide functions: one wchar_t is one code point here,
 * whatever the locale. */
#include "chat_edit.h"

#include "chat_cluster.h"
#include "sma/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utf8proc.h>
#include <wchar.h>

#define LIBRARY "libedit.so.2"
#define KEY_FIRST 0x81 /* keys of libedit's that no terminal sends: ours to bind */

/* Of the library, found by name. */
struct library
{
    void *handle;
    EditLine *(*init)(const char *, FILE *, FILE *, FILE *, int, int, int);
    void (*end)(EditLine *);
    int (*set)(EditLine *, int, ...);
    const wchar_t *(*gets)(EditLine *, int *);
    const LineInfoW *(*line)(EditLine *);
    int (*insert)(EditLine *, const wchar_t *);
    void (*erase)(EditLine *, int);
    int (*move)(EditLine *, int);
    HistoryW *(*history_init)(void);
    void (*history_end)(HistoryW *);
    int (*history)(HistoryW *, HistEventW *, int, ...);
};
struct sma_chat_edit
{
    struct library library;
    EditLine *line;
    HistoryW *history;
    FILE *in, *out;
    int master_fd;
    wchar_t key; /* the next one of libedit; 0 = none */
    struct sma_buf text, found, draft;
    unsigned recalled; /* 0 = what is written; 1 = the newest line of the history, ... */
};

static const struct
{
    enum sma_chat_edit_command command;
    const wchar_t *name;
} bindings[] = {
    {CHAT_EDIT_WORD_LEFT, L"ed-prev-word"},
    {CHAT_EDIT_WORD_RIGHT, L"em-next-word"},
    {CHAT_EDIT_ERASE_WORD, L"ed-delete-prev-word"},
    {CHAT_EDIT_KILL_WORD, L"em-delete-next-word"},
    {CHAT_EDIT_KILL_REST, L"ed-kill-line"},
    {CHAT_EDIT_KILL_ALL, L"em-kill-line"},
    {CHAT_EDIT_YANK, L"em-yank"},
    {CHAT_EDIT_TRANSPOSE, L"ed-transpose-chars"},
    {CHAT_EDIT_UPPER, L"em-upper-case"},
    {CHAT_EDIT_LOWER, L"em-lower-case"},
    {CHAT_EDIT_CAPITALIZE, L"em-capitol-case"},
};

/* -- making ------------------------------------------------------------------------------------ */
static bool load_library(struct library *library)
{
    const struct
    {
        const char *name;
        void *to;
    } rows[] = {
        {"el_init_fd", &library->init},
        {"el_end", &library->end},
        {"el_wset", &library->set},
        {"el_wgets", &library->gets},
        {"el_wline", &library->line},
        {"el_winsertstr", &library->insert},
        {"el_deletestr", &library->erase},
        {"el_cursor", &library->move},
        {"history_winit", &library->history_init},
        {"history_wend", &library->history_end},
        {"history_w", &library->history},
    };
    library->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library->handle != NULL && i < SMA_COUNT_OF(rows); i++) {
        void *symbol = dlsym(library->handle, rows[i].name);
        if (symbol == NULL)
            return false;
        memcpy(rows[i].to, &symbol, sizeof symbol); /* POSIX: a symbol fits a function pointer */
    }
    return library->handle != NULL;
}

static struct sma_chat_edit *the_editor;

/* libedit asks for its next key. -1: there is none. */
static int give_key(EditLine *line, wchar_t *ret_key)
{
    (void)line;
    struct sma_chat_edit *edit = the_editor; /* one a process, as its locale and its terminal */
    if (edit == NULL || edit->key == 0)
        return -1;
    *ret_key = edit->key;
    edit->key = 0;
    return 1;
}

static wchar_t *no_prompt(EditLine *line)
{
    static wchar_t none[] = L"";
    (void)line;
    return none;
}

/* A terminal that nobody looks at: libedit reads and sets its modes. */
static bool open_terminal(struct sma_chat_edit *edit)
{
    char path[128];
    edit->master_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (edit->master_fd < 0 || grantpt(edit->master_fd) != 0 || unlockpt(edit->master_fd) != 0 ||
        ptsname_r(edit->master_fd, path, sizeof path) != 0)
        return false;
    int fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    edit->in = fd < 0 ? NULL : fdopen(fd, "r");
    if (edit->in == NULL && fd >= 0)
        close(fd);
    edit->out = fopen("/dev/null", "we");
    return edit->in != NULL && edit->out != NULL;
}

static void set_locale(void)
{
    /* What is a letter, for stepping over words; and the file of the history is in UTF-8. */
    if (setlocale(LC_CTYPE, "") == NULL || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        (void)setlocale(LC_CTYPE, "C.UTF-8");
}

static void bound(const struct library *library, HistoryW *history)
{
    HistEventW event;
    library->history(history, &event, H_SETSIZE, CHAT_HISTORY_COUNT_MAX);
    library->history(history, &event, H_SETUNIQUE, 1);
}

static void configure(struct sma_chat_edit *edit)
{
    const struct library *library = &edit->library;
    library->set(edit->line, EL_EDITOR, L"emacs");
    library->set(edit->line, EL_SIGNAL, 0);
    library->set(edit->line, EL_PROMPT, no_prompt);
    library->set(edit->line, EL_GETCFN, give_key);
    for (size_t i = 0; i < SMA_COUNT_OF(bindings); i++) {
        wchar_t key[8];
        swprintf(key, SMA_COUNT_OF(key), L"\\%o", KEY_FIRST + (unsigned)bindings[i].command);
        library->set(edit->line, EL_BIND, key, bindings[i].name, NULL);
    }
    library->set(edit->line, EL_UNBUFFERED, 1);
    bound(library, edit->history);
}

enum sma_err sma_chat_edit_create(struct sma_chat_edit **ret_edit, struct sma_error *error)
{
    struct sma_chat_edit *edit = calloc(1, sizeof *edit);
    if (edit == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    edit->master_fd = -1;
    sma_buf_init(&edit->text, 4 * CHAT_EDIT_BYTES_MAX);
    sma_buf_init(&edit->draft, 4 * CHAT_EDIT_BYTES_MAX);
    sma_buf_init(&edit->found, 4 * CHAT_EDIT_BYTES_MAX);
    if (!load_library(&edit->library)) {
        sma_chat_edit_destroy(edit);
        return sma_fail(error, SMA_ERR_UNSUPPORTED, "%s (package libedit2) is not there", LIBRARY);
    }
    set_locale();
    if (!open_terminal(edit)) {
        sma_chat_edit_destroy(edit);
        return sma_fail_os(error, errno, "cannot make a pseudo terminal for the editor");
    }
    edit->line = edit->library.init("shipmyagent", edit->in, edit->out, edit->out, fileno(edit->in),
                                    fileno(edit->in), fileno(edit->out));
    edit->history = edit->library.history_init();
    if (edit->line == NULL || edit->history == NULL) {
        sma_chat_edit_destroy(edit);
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    }
    the_editor = edit;
    configure(edit);
    *ret_edit = edit;
    return SMA_ERR_OK;
}

void sma_chat_edit_destroy(struct sma_chat_edit *edit)
{
    if (edit == NULL)
        return;
    the_editor = the_editor == edit ? NULL : the_editor;
    if (edit->history != NULL)
        edit->library.history_end(edit->history);
    if (edit->line != NULL)
        edit->library.end(edit->line);
    if (edit->in != NULL)
        fclose(edit->in);
    if (edit->out != NULL)
        fclose(edit->out);
    if (edit->master_fd >= 0)
        close(edit->master_fd);
    /* The library stays: what it and terminfo keep for the process would be lost with it. */
    sma_buf_fini(&edit->text);
    sma_buf_fini(&edit->draft);
    sma_buf_fini(&edit->found);
    free(edit);
}

/* -- text -------------------------------------------------------------------------------------- */
static void put_wide(struct sma_buf *buf, const wchar_t *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint8_t bytes[4];
        sma_buf_put(buf, bytes, (size_t)utf8proc_encode_char((utf8proc_int32_t)text[i], bytes));
    }
}

struct sma_str sma_chat_edit_text(struct sma_chat_edit *edit, size_t *ret_cursor)
{
    const LineInfoW *line = edit->library.line(edit->line);
    sma_buf_clear(&edit->text);
    put_wide(&edit->text, line->buffer, (size_t)(line->cursor - line->buffer));
    if (ret_cursor != NULL)
        *ret_cursor = edit->text.len;
    put_wide(&edit->text, line->cursor, (size_t)(line->lastchar - line->cursor));
    if (edit->text.len == 0)
        return SMA_STR("");
    return sma_buf_str(&edit->text);
}

/* @return malloc'ed; *ret_count code points */
static wchar_t *widen(struct sma_str text, size_t *ret_count)
{
    wchar_t *wide = malloc((text.len + 1) * sizeof *wide);
    size_t count = 0;
    for (size_t at = 0; wide != NULL && at < text.len;) {
        utf8proc_int32_t code;
        utf8proc_ssize_t len = utf8proc_iterate((const utf8proc_uint8_t *)text.ptr + at,
                                                (utf8proc_ssize_t)(text.len - at), &code);
        if (len > 0 && code != 0)
            wide[count++] = (wchar_t)code;
        at += len > 0 ? (size_t)len : 1;
    }
    if (wide != NULL)
        wide[count] = L'\0';
    *ret_count = count;
    return wide;
}

enum sma_err sma_chat_edit_insert(struct sma_chat_edit *edit, struct sma_str text)
{
    size_t count;
    if (sma_chat_edit_text(edit, NULL).len + text.len > CHAT_EDIT_BYTES_MAX)
        return SMA_ERR_TOOBIG;
    wchar_t *wide = widen(text, &count);
    if (wide == NULL)
        return SMA_ERR_NOMEM;
    int status = count == 0 ? 0 : edit->library.insert(edit->line, wide);
    free(wide);
    return status == 0 ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

/* Code points of so many bytes of the text. */
static int count_points(struct sma_str text)
{
    int count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.ptr[i] & 0xC0) != 0x80;
    return count;
}

/* The cursor to that byte of the text. */
static void go_to(struct sma_chat_edit *edit, struct sma_str text, size_t from, size_t to)
{
    if (to < from)
        edit->library.move(edit->line, -count_points((struct sma_str){text.ptr + to, from - to}));
    else if (to > from)
        edit->library.move(edit->line, count_points((struct sma_str){text.ptr + from, to - from}));
}

static size_t line_begin(struct sma_str text, size_t at)
{
    while (at > 0 && text.ptr[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(struct sma_str text, size_t at)
{
    while (at < text.len && text.ptr[at] != '\n')
        at++;
    return at;
}

static void do_with_key(struct sma_chat_edit *edit, wchar_t key)
{
    int len;
    edit->key = key;
    (void)edit->library.gets(edit->line, &len); /* one command; the line is asked for afterwards */
    edit->key = 0;
}

void sma_chat_edit_do(struct sma_chat_edit *edit, enum sma_chat_edit_command command)
{
    size_t cursor, other;
    struct sma_str text = sma_chat_edit_text(edit, &cursor);
    switch (command) {
    case CHAT_EDIT_ERASE:
    case CHAT_EDIT_LEFT:
        if (cursor == 0)
            return;
        other = sma_cluster_begin(text, cursor);
        if (command == CHAT_EDIT_LEFT)
            go_to(edit, text, cursor, other);
        else
            edit->library.erase(edit->line,
                                count_points((struct sma_str){text.ptr + other, cursor - other}));
        return;
    case CHAT_EDIT_ERASE_NEXT:
    case CHAT_EDIT_RIGHT:
        if (cursor == text.len)
            return;
        other = cursor + sma_cluster_next(text, cursor, NULL);
        go_to(edit, text, cursor, other);
        if (command == CHAT_EDIT_ERASE_NEXT)
            edit->library.erase(edit->line,
                                count_points((struct sma_str){text.ptr + cursor, other - cursor}));
        return;
    case CHAT_EDIT_HOME:
        go_to(edit, text, cursor, line_begin(text, cursor));
        return;
    case CHAT_EDIT_END:
        go_to(edit, text, cursor, line_end(text, cursor));
        return;
    default:
        if (text.len > 0 || command == CHAT_EDIT_YANK) /* libedit takes an empty line for an end */
            do_with_key(edit, KEY_FIRST + (wchar_t)command);
    }
}

/* Where in the line that begins at `begin` a cursor stands below `column` columns. */
static size_t at_column(struct sma_str text, size_t begin, unsigned column)
{
    size_t at = begin, end = line_end(text, begin);
    for (unsigned used = 0, width; at < end; used += width) {
        size_t len = sma_cluster_next(text, at, &width);
        if (used + width > column)
            break;
        at += len;
    }
    return at;
}

bool sma_chat_edit_step(struct sma_chat_edit *edit, int direction)
{
    size_t cursor;
    struct sma_str text = sma_chat_edit_text(edit, &cursor);
    size_t begin = line_begin(text, cursor), end = line_end(text, cursor);
    if (direction < 0 ? begin == 0 : end == text.len)
        return false;
    unsigned column = sma_cluster_width((struct sma_str){text.ptr + begin, cursor - begin});
    size_t to = direction < 0 ? line_begin(text, begin - 1) : end + 1;
    go_to(edit, text, cursor, at_column(text, to, column));
    return true;
}

void sma_chat_edit_set(struct sma_chat_edit *edit, struct sma_str text)
{
    size_t cursor;
    struct sma_str old = sma_chat_edit_text(edit, &cursor);
    go_to(edit, old, cursor, old.len);
    edit->library.erase(edit->line, count_points(old));
    enum sma_err err = sma_chat_edit_insert(edit, text);
    (void)err; /* out of memory: the line is empty */
}

/* -- history ----------------------------------------------------------------------------------- */
/* The line at this place, newest first; *ret_event is good until the next call. */
static bool history_at(struct sma_chat_edit *edit, unsigned index, HistEventW *ret_event)
{
    int status = edit->library.history(edit->history, ret_event, H_FIRST);
    for (unsigned i = 0; i < index && status >= 0; i++)
        status = edit->library.history(edit->history, ret_event, H_NEXT);
    return status >= 0;
}

/* What providers' keys and passwords look like in a line. */
static bool looks_secret(struct sma_str text)
{
    static const char *const marks[] = {
        "sk-",       "ghp_",    "github_pat_", "xoxb-", "AKIA",    "Bearer ", "-----BEGIN",
        "password=", "passwd=", "PASSWORD=",   "_KEY=", "_TOKEN=", "_SECRET="};
    for (size_t i = 0; i < SMA_COUNT_OF(marks); i++)
        if (memmem(text.ptr, text.len, marks[i], strlen(marks[i])) != NULL)
            return true;
    return false;
}

static void enter(const struct library *library, HistoryW *history, struct sma_str text)
{
    HistEventW event;
    size_t count;
    wchar_t *wide = widen(text, &count);
    if (wide != NULL)
        library->history(history, &event, H_ENTER, wide);
    free(wide);
}

bool sma_chat_edit_remember(struct sma_chat_edit *edit, struct sma_str text)
{
    edit->recalled = 0;
    if (sma_str_trim(text).len == 0 || text.ptr[0] == ' ' ||
        text.len > CHAT_HISTORY_LINE_BYTES_MAX || looks_secret(text))
        return false;
    enter(&edit->library, edit->history, text);
    return true;
}

bool sma_chat_edit_recall(struct sma_chat_edit *edit, int direction)
{
    HistEventW event;
    unsigned to = edit->recalled + (direction < 0 ? 1u : (unsigned)-1);
    if (direction > 0 && edit->recalled == 0)
        return false;
    if (to == 0) {
        sma_chat_edit_set(edit, edit->draft.len == 0 ? SMA_STR("") : sma_buf_str(&edit->draft));
        edit->recalled = 0;
        return true;
    }
    if (!history_at(edit, to - 1, &event))
        return false;
    if (edit->recalled == 0) {
        sma_buf_clear(&edit->draft);
        sma_buf_put_str(&edit->draft, sma_chat_edit_text(edit, NULL));
    }
    sma_buf_clear(&edit->found);
    put_wide(&edit->found, event.str, wcslen(event.str));
    sma_chat_edit_set(edit, sma_buf_str(&edit->found));
    edit->recalled = to;
    return true;
}

const char *sma_chat_edit_search(struct sma_chat_edit *edit, struct sma_str part, unsigned skip)
{
    HistEventW event;
    int status = edit->library.history(edit->history, &event, H_FIRST);
    for (; status >= 0; status = edit->library.history(edit->history, &event, H_NEXT)) {
        sma_buf_clear(&edit->found);
        put_wide(&edit->found, event.str, wcslen(event.str));
        bool is_it = edit->found.len > 0 &&
                     memmem(edit->found.ptr, edit->found.len, part.ptr, part.len) != NULL;
        if (is_it && skip-- == 0)
            return edit->found.ptr;
    }
    return NULL;
}

static void load(const struct library *library, HistoryW *history, const char *path)
{
    HistEventW event;
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISREG(status.st_mode))
        (void)library->history(history, &event, H_LOAD, path); /* or none */
}

void sma_chat_edit_load(struct sma_chat_edit *edit, const char *path)
{
    load(&edit->library, edit->history, path);
}

static bool write_history(const struct library *library, HistoryW *history, FILE *file)
{
    HistEventW event;
    bool is_written = library->history(history, &event, H_SAVE_FP, file) >= 0;
    return fclose(file) == 0 && is_written;
}

enum sma_err sma_chat_edit_save(struct sma_chat_edit *edit, const char *path, struct sma_str text,
                                struct sma_error *error)
{
    char temporary[PATH_MAX];
    int len = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    HistoryW *all = edit->library.history_init();
    if (len < 0 || (size_t)len >= sizeof temporary || all == NULL)
        return sma_fail(error, SMA_ERR_TOOBIG, "%.200s: the path is too long", path);
    int fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600 */
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    int os_errno = errno;
    bool is_written = false;
    if (file != NULL) {
        bound(&edit->library, all);
        load(&edit->library, all, path);
        enter(&edit->library, all, text);
        is_written = write_history(&edit->library, all, file) && rename(temporary, path) == 0;
        os_errno = errno;
    } else if (fd >= 0) {
        close(fd);
    }
    edit->library.history_end(all);
    if (is_written)
        return SMA_ERR_OK;
    if (fd >= 0)
        (void)unlink(temporary);
    return sma_fail_os(error, os_errno, "cannot write %.200s", path);
}
