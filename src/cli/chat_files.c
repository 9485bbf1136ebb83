/* chat_files.c — see chat_files.h. */
#include "chat_files.h"

#include "adapters/common/given.h"
#include "sma/limits.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER ".ship/.cache/cli/"
#define JSON_BYTES_MAX 65536
#define READ_BYTES 65536

void sma_chat_files_init(struct sma_chat_files *files, const char *project_dir)
{
    *files = (struct sma_chat_files){.project_dir = project_dir};
    sma_buf_init(&files->json, JSON_BYTES_MAX);
    sma_buf_init(&files->names, JSON_BYTES_MAX);
}

void sma_chat_files_clear(struct sma_chat_files *files)
{
    files->count = 0;
    sma_buf_clear(&files->json);
    sma_buf_clear(&files->names);
}

void sma_chat_files_fini(struct sma_chat_files *files)
{
    sma_buf_fini(&files->json);
    sma_buf_fini(&files->names);
}

/* -- taking along ------------------------------------------------------------------------------ */
/* The path as the service will see it: a path of the project. */
static SMA_CHECKED enum sma_err put_file(struct sma_chat_files *files, const char *path,
                                         const char *name, struct sma_error *error)
{
    struct sma_buf item;
    sma_buf_init(&item, JSON_BYTES_MAX);
    sma_buf_put_text(&item, "{\"path\":");
    sma_buf_put_json_string(&item, sma_str(path));
    sma_buf_put_char(&item, '}');
    bool is_known = item.err == SMA_ERR_OK && files->json.len > 0 &&
                    memmem(files->json.ptr, files->json.len, item.ptr, item.len) != NULL;
    enum sma_err err = item.err;
    if (err == SMA_ERR_OK && !is_known && files->count == SMA_ATTACHMENT_COUNT_MAX)
        err = sma_fail(error, SMA_ERR_TOOBIG, "a message takes at most %d files",
                       SMA_ATTACHMENT_COUNT_MAX);
    if (err == SMA_ERR_OK && !is_known) {
        sma_buf_put_text(&files->json, files->count == 0 ? "" : ",");
        sma_buf_put_str(&files->json, sma_buf_str(&item));
        sma_buf_put_text(&files->names, files->count == 0 ? "" : ", ");
        sma_buf_put_text(&files->names, name);
        files->count++;
    }
    sma_buf_fini(&item);
    return err == SMA_ERR_OK ? files->json.err : err;
}

static SMA_CHECKED enum sma_err read_all(int fd, struct sma_given_sink *sink, const char *path,
                                         struct sma_error *error)
{
    char bytes[READ_BYTES];
    size_t total = 0;
    for (ssize_t len; total <= SMA_ATTACHMENT_BYTES_MAX; total += (size_t)len) {
        len = read(fd, bytes, sizeof bytes);
        if (len == 0)
            break;
        if (len < 0 && errno != EINTR)
            return sma_fail_os(error, errno, "cannot read %.200s", path);
        len = len < 0 ? 0 : len;
        sma_given_put(sink, bytes, (size_t)len);
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err copy_file(struct sma_chat_files *files, int fd, const char *path,
                                          struct sma_error *error)
{
    const struct sma_given_place place = {sma_sys_real(), files->project_dir, FOLDER};
    const char *slash = strrchr(path, '/');
    struct sma_given given;
    struct sma_given_sink *sink = sma_given_open(&place, error);
    if (sink == NULL)
        return error->code;
    enum sma_err err = read_all(fd, sink, path, error);
    if (err != SMA_ERR_OK) {
        sma_given_drop(sink);
        return err;
    }
    SMA_TRY(sma_given_finish(sink, sma_str(slash == NULL ? path : slash + 1), &given, error));
    return put_file(files, given.path, given.name, error);
}

/* Only a regular file, without waiting for a pipe's other end. */
static SMA_CHECKED enum sma_err open_file(const char *path, int *ret_fd, struct sma_error *error)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return sma_fail_os(error, errno, "cannot read %.200s", path);
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        *ret_fd = fd;
        return SMA_ERR_OK;
    }
    close(fd);
    return sma_fail(error, SMA_ERR_BADINPUT, "%.200s is not a file", path);
}

/* The path below the project's folder; NULL: it lies elsewhere, or cannot be said in JSON. */
static const char *path_in_project(const struct sma_chat_files *files, const char *real)
{
    size_t len = strlen(files->project_dir);
    bool is_inside =
        strncmp(real, files->project_dir, len) == 0 && real[len] == '/' && real[len + 1] != '\0';
    return is_inside && sma_utf8_is_valid(sma_str(real)) ? real + len + 1 : NULL;
}

enum sma_err sma_chat_files_add(struct sma_chat_files *files, const char *path,
                                struct sma_error *error)
{
    char real[PATH_MAX];
    int fd;
    if (files->project_dir == NULL)
        return sma_fail(error, SMA_ERR_UNSUPPORTED, "no project to take files into");
    if (realpath(path, real) == NULL)
        return sma_fail_os(error, errno, "cannot read %.200s", path);
    SMA_TRY(open_file(real, &fd, error));
    const char *inside = path_in_project(files, real);
    const char *name =
        inside == NULL || strrchr(inside, '/') == NULL ? inside : strrchr(inside, '/') + 1;
    enum sma_err err =
        inside != NULL ? put_file(files, inside, name, error) : copy_file(files, fd, path, error);
    close(fd);
    return err;
}

/* -- words ------------------------------------------------------------------------------------- */
struct word
{
    char path[PATH_MAX];
    bool is_dragged; /* absolute: as a terminal pastes it */
};

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static bool put_byte(struct word *word, size_t *len, char byte)
{
    if (*len + 1 >= sizeof word->path || byte == '\0')
        return false;
    word->path[(*len)++] = byte;
    word->path[*len] = '\0';
    return true;
}

/* In quotes at text[at]; in single ones '\'' stands for one of them. @return where it ends,
 * 0: it is no quoted word */
static size_t read_quoted(struct sma_str text, size_t at, struct word *word)
{
    char quote = text.ptr[at++];
    size_t len = 0;
    word->path[0] = '\0';
    for (; at < text.len; at++) {
        char byte = text.ptr[at];
        bool is_inner =
            quote == '\'' && text.len - at >= 4 && memcmp(text.ptr + at, "'\\''", 4) == 0;
        if (byte == quote && !is_inner)
            return at + 1 == text.len || is_space(text.ptr[at + 1]) ? at + 1 : 0;
        if (is_inner)
            at += 3;
        else if (quote == '"' && byte == '\\' && at + 1 < text.len)
            byte = text.ptr[++at];
        if (!put_byte(word, &len, byte))
            return 0;
    }
    return 0;
}

/* Up to white space; a backslash takes the next byte as it is. *ret_is_good: it fits. */
static size_t read_plain(struct sma_str text, size_t at, struct word *word, bool *ret_is_good)
{
    size_t len = 0;
    *ret_is_good = true;
    word->path[0] = '\0';
    for (; at < text.len && !is_space(text.ptr[at]); at++) {
        if (text.ptr[at] == '\\' && at + 1 < text.len)
            at++;
        *ret_is_good = *ret_is_good && put_byte(word, &len, text.ptr[at]);
    }
    return at;
}

static int hex_value(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

/* file:///a%20b, file://localhost/a%20b -> /a b */
static bool decode_url(struct word *word)
{
    const char *from = strchr(word->path + 7, '/');
    bool is_here =
        from != NULL && (from == word->path + 7 || strncmp(word->path + 7, "localhost/", 10) == 0);
    char *to = word->path;
    if (!is_here)
        return false;
    while (*from != '\0') {
        int high = *from == '%' ? hex_value(from[1]) : -1;
        int low = high < 0 ? -1 : hex_value(from[2]);
        if (*from == '%' && (low < 0 || high * 16 + low == 0))
            return false;
        *to++ = *from == '%' ? (char)(high * 16 + low) : *from;
        from += *from == '%' ? 3 : 1;
    }
    *to = '\0';
    return true;
}

static bool expand(struct word *word)
{
    char path[PATH_MAX];
    const char *home = getenv("HOME");
    if (strncmp(word->path, "file://", 7) == 0 && !decode_url(word))
        return false;
    if (word->path[0] == '~' && word->path[1] == '/' && home != NULL) {
        int len = snprintf(path, sizeof path, "%s%s", home, word->path + 1);
        if (len >= (int)sizeof path)
            return false;
        memcpy(word->path, path, (size_t)len + 1);
    }
    word->is_dragged = word->path[0] == '/';
    return word->path[0] != '\0';
}

/* The next word. false: there is none. *ret_is_good: it may be a path. */
static bool next_word(struct sma_str text, size_t *at, struct word *word, bool *ret_is_good)
{
    while (*at < text.len && is_space(text.ptr[*at]))
        ++*at;
    if (*at == text.len)
        return false;
    char first = text.ptr[*at];
    size_t end = first == '\'' || first == '"' ? read_quoted(text, *at, word) : 0;
    *ret_is_good = end > 0;
    *at = end > 0 ? end : read_plain(text, *at, word, ret_is_good);
    *ret_is_good = *ret_is_good && expand(word);
    return true;
}

/* -- what words name --------------------------------------------------------------------------- */
/* A regular file there; as it stands, below the project's folder, or without a mark behind it. */
static bool is_file(const struct sma_chat_files *files, struct word *word)
{
    char path[2 * PATH_MAX];
    struct stat status;
    for (size_t len = strlen(word->path); len > 0; word->path[--len] = '\0') {
        if (stat(word->path, &status) == 0)
            return S_ISREG(status.st_mode);
        if (!word->is_dragged) {
            int whole = snprintf(path, sizeof path, "%s/%s", files->project_dir, word->path);
            if (whole < PATH_MAX && stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
                memcpy(word->path, path, (size_t)whole + 1);
                return true;
            }
        }
        if (strchr(",.;:!?)", word->path[len - 1]) == NULL)
            return false;
    }
    return false;
}

static bool is_shown(const char *path)
{
    struct sma_error error;
    int fd;
    if (open_file(path, &fd, &error) != SMA_ERR_OK)
        return false;
    bool is_it = sma_given_is_shown(fd);
    close(fd);
    return is_it;
}

/* Whether there is nothing but absolute paths of files. */
static bool is_drag(const struct sma_chat_files *files, struct sma_str text)
{
    struct word word;
    size_t at = 0, count = 0;
    bool is_good;
    while (next_word(text, &at, &word, &is_good)) {
        if (!is_good || !word.is_dragged || !is_file(files, &word))
            return false;
        count++;
    }
    return count > 0;
}

enum sma_err sma_chat_files_find(struct sma_chat_files *files, struct sma_str text,
                                 bool *ret_is_all, struct sma_error *error)
{
    struct word word;
    size_t at = 0;
    bool is_good, takes_all, is_all = true;
    *ret_is_all = false;
    if (files->project_dir == NULL || text.len > CHAT_FILES_TEXT_BYTES_MAX)
        return SMA_ERR_OK;
    takes_all = is_drag(files, text);
    while (next_word(text, &at, &word, &is_good)) {
        bool is_taken = is_good && is_file(files, &word) && (takes_all || is_shown(word.path));
        if (is_taken)
            SMA_TRY(sma_chat_files_add(files, word.path, error));
        is_all = is_all && is_taken;
    }
    *ret_is_all = is_all && files->count > 0;
    return SMA_ERR_OK;
}
