/* guard.c — names, and opening beneath the root. See guard.h. */
#include "runtime/files/guard_priv.h"

#include "runtime/secrets/secret_files.h"
#include "sma/beneath.h"
#include "sma/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* -- names ------------------------------------------------------------------------------------- */
/* Names are compared without case: some file systems do. */
static bool has_prefix(struct sma_str text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len &&
           sma_str_is_equal_nocase((struct sma_str){text.ptr, len}, sma_str(prefix));
}

static bool is_name(struct sma_str name, const char *wanted)
{
    return sma_str_is_equal_nocase(name, sma_str(wanted));
}

/* `.env*` for every use; other keys may be put there, which people are asked about as of any file.
 * Those that are keys by their bytes are looked at when they are open. */
static bool is_secret_name(struct sma_str name, bool is_in_git, bool is_last,
                           enum sma_guard_use use)
{
    const struct sma_secret_row *row = sma_secret_find(name, is_in_git, is_last);
    if (row != NULL && row->is_of_git)
        return true;
    return row != NULL && row->holds[0] == '\0' &&
           (use != SMA_GUARD_WRITE || has_prefix(name, ".env"));
}

static bool is_below(struct sma_str path, const char *folder)
{
    size_t len = strlen(folder);
    return has_prefix(path, folder) && (path.len == len || path.ptr[len] == '/');
}

static bool is_open_state(struct sma_str path, enum sma_guard_use use)
{
    if (use == SMA_GUARD_WRITE || use == SMA_GUARD_OUTPUT)
        return false;
    /* what models were shown in any chat has no name that its chat was told */
    if (is_below(path, ".ship/.cache/parts"))
        return false;
    /* files that people sent in any chat, and what commands of any chat said: each has a name that
     * its own chat was told, and nobody finds it */
    bool is_told = is_below(path, ".ship/.cache") || is_below(path, ".ship/logs/exec");
    return is_below(path, ".ship/public") || (is_told && use != SMA_GUARD_LIST);
}

/* A file right in .ship/output: an answer of one chat, which its own delivery sends (/full). */
static bool is_output(struct sma_str path)
{
    struct sma_str folder = SMA_STR(".ship/output/");
    return path.len > folder.len && has_prefix(path, folder.ptr) &&
           memchr(path.ptr + folder.len, '/', path.len - folder.len) == NULL;
}

enum sma_guard_class sma_guard_classify(struct sma_str path, enum sma_guard_use use)
{
    bool is_in_git = false, is_in_folder = false; /* a repository, also a bare one; .git itself */
    size_t from = 0;
    if (use == SMA_GUARD_OUTPUT)
        return is_output(path) ? SMA_GUARD_PLAIN : SMA_GUARD_PROTECTED;
    for (size_t i = 0; i <= path.len; i++) {
        if (i < path.len && path.ptr[i] != '/')
            continue;
        struct sma_str name = {path.ptr + from, i - from};
        if (is_secret_name(name, is_in_git, i == path.len, use) ||
            (is_name(name, ".ship") && !is_open_state(path, use)))
            return SMA_GUARD_PROTECTED;
        is_in_git |= sma_secret_is_git(name);
        is_in_folder |= is_name(name, ".git");
        from = i + 1;
    }
    if (is_in_folder && use == SMA_GUARD_WRITE)
        return SMA_GUARD_PROTECTED;
    bool is_ship_json = is_name(path, "ship.json");
    if (is_ship_json && use == SMA_GUARD_SEND)
        return SMA_GUARD_PROTECTED;
    if (use == SMA_GUARD_WRITE && (is_ship_json || is_name(path, "Agent.md")))
        return SMA_GUARD_CAREFUL;
    return SMA_GUARD_PLAIN;
}

enum sma_err guard_refuse(struct sma_buf *why, struct sma_str path, const char *reason)
{
    sma_buf_put_str(why, (struct sma_str){path.ptr, sma_utf8_cut(path, 300)});
    sma_buf_put_text(why, reason);
    return SMA_ERR_BADINPUT;
}

static enum sma_err put_parts(struct sma_str path, struct sma_buf *ret_path, struct sma_buf *why,
                              struct sma_str whole)
{
    size_t from = 0, start = ret_path->len;
    for (size_t i = 0; i <= path.len; i++) {
        if (i < path.len && path.ptr[i] != '/')
            continue;
        struct sma_str part = {path.ptr + from, i - from};
        from = i + 1;
        if (part.len == 0 || sma_str_is_equal(part, SMA_STR(".")))
            continue;
        if (sma_str_is_equal(part, SMA_STR("..")))
            return guard_refuse(why, whole,
                                ": expected a path inside the project, without \"..\".");
        if (part.len > 255)
            return guard_refuse(why, whole, ": a name in it is too long.");
        if (ret_path->len > start)
            sma_buf_put_char(ret_path, '/');
        sma_buf_put_str(ret_path, part);
    }
    return ret_path->err;
}

enum sma_err sma_guard_clean(const struct sma_guard *guard, struct sma_str path,
                             struct sma_buf *ret_path, struct sma_buf *why)
{
    struct sma_str whole = path;
    if (path.len > SMA_GUARD_PATH_BYTES_MAX)
        return guard_refuse(why, path, ": the path is too long.");
    if (path.len > 0 && memchr(path.ptr, '\0', path.len) != NULL)
        return guard_refuse(why, SMA_STR("The path"), " holds a character that is not possible.");
    if (path.len > 0 && path.ptr[0] == '/') {
        size_t len = strlen(guard->root);
        bool is_inside = path.len >= len && memcmp(path.ptr, guard->root, len) == 0 &&
                         (path.len == len || path.ptr[len] == '/');
        if (!is_inside)
            return guard_refuse(why, path,
                                ": expected a path inside the project, relative to its folder.");
        path = (struct sma_str){path.ptr + len, path.len - len};
    }
    return put_parts(path, ret_path, why, whole);
}

/* -- opening ----------------------------------------------------------------------------------- */
int guard_open_plain(const struct sma_guard *guard, const char *path, int flags)
{
    if (guard->has_openat2)
        return sma_open_beneath(guard->root_fd, path, flags, SMA_BENEATH_NO_LINKS);
    return sma_open_by_parts(guard->root_fd, path, flags);
}

/* Where is what was opened, really? false: outside, or it cannot be told. */
static bool find_real_path(const struct sma_guard *guard, int fd, char *ret_path, size_t size)
{
    char link[64], root[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", guard->root_fd);
    ssize_t root_len = readlink(link, root, sizeof root);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, ret_path, size);
    if (root_len <= 0 || len <= root_len || (size_t)root_len >= sizeof root ||
        (size_t)len >= size || memcmp(ret_path, root, (size_t)root_len) != 0)
        return false;
    size_t skip = (size_t)root_len + (root_len > 1);
    if (root_len > 1 && ret_path[root_len] != '/')
        return false;
    memmove(ret_path, ret_path + skip, (size_t)len - skip);
    ret_path[(size_t)len - skip] = '\0';
    return true;
}

static enum sma_err tell_errno(struct sma_buf *why, struct sma_str path, int os_errno)
{
    switch (os_errno) {
    case ENOENT:
    case ENOTDIR:
        (void)guard_refuse(why, path, ": there is no such file."); /* the code is another one */
        return SMA_ERR_NOTFOUND;
    case EXDEV:
    case ELOOP:
        return guard_refuse(why, path, ": a link there is not followed.");
    case EISDIR:
        return guard_refuse(why, path, " is a folder: expected a file.");
    case EACCES:
    case EPERM:
        return guard_refuse(why, path, ": the system does not permit it.");
    case ENOMEM:
        return SMA_ERR_NOMEM;
    default:
        (void)guard_refuse(why, path, ": "); /* the code is another one */
        sma_buf_put_text(why, strerrordesc_np(os_errno));
        return SMA_ERR_IO;
    }
}

enum sma_err guard_tell_errno(struct sma_buf *why, struct sma_str path)
{
    return tell_errno(why, path, errno);
}

enum sma_err guard_refuse_protected(struct sma_buf *why, struct sma_str path)
{
    return guard_refuse(why, path, " is protected: no tool reads or writes it.");
}

/* A link on the way: it may stay inside, but then the real name counts, too. */
static int open_linked(const struct sma_guard *guard, const char *path, int flags,
                       enum sma_guard_use use, bool *ret_is_protected)
{
    int fd = guard->has_openat2
                 ? sma_open_beneath(guard->root_fd, path, flags, SMA_BENEATH_INNER_LINKS)
                 : -1;
    char real[PATH_MAX];
    if (fd < 0)
        return -1;
    *ret_is_protected = !find_real_path(guard, fd, real, sizeof real) ||
                        sma_guard_classify(sma_str(real), use) == SMA_GUARD_PROTECTED;
    return fd;
}

static bool is_another(void *user, const char *named, const char *path)
{
    const struct stat *wanted = user;
    struct stat facts;
    (void)named;
    return path == NULL || stat(path, &facts) != 0 || facts.st_dev != wanted->st_dev ||
           facts.st_ino != wanted->st_ino;
}

/* By its bytes, under its own name: a link may have another. What the settings of git include is of
 * their kind. */
static bool is_secret_inside(const struct sma_guard *guard, int fd)
{
    char real[PATH_MAX];
    struct stat facts;
    if (snprintf(real, sizeof real, "%s/.git/config", guard->root) < (int)sizeof real &&
        fstat(fd, &facts) == 0 && !sma_secret_files_included(real, is_another, &facts) &&
        sma_secret_file_holds(fd, sma_secret_find(SMA_STR("config"), true, true)))
        return true;
    if (!find_real_path(guard, fd, real, sizeof real))
        return false;
    const char *slash = strrchr(real, '/');
    const struct sma_secret_row *row =
        sma_secret_find(sma_str(slash == NULL ? real : slash + 1), false, true);
    return row != NULL && row->holds[0] != '\0' && sma_secret_file_holds(fd, row);
}

static enum sma_err open_as_written(const struct sma_guard *guard, struct sma_str path, int flags,
                                    enum sma_guard_use use, int *ret_fd, struct sma_buf *why)
{
    if (sma_guard_classify(path, use) == SMA_GUARD_PROTECTED)
        return guard_refuse_protected(why, path);
    char *name = strndup(path.len == 0 ? "" : path.ptr, path.len);
    if (name == NULL)
        return SMA_ERR_NOMEM;
    bool is_protected = false;
    int fd = guard_open_plain(guard, name, flags);
    if (fd < 0 && errno == ELOOP && !guard->follows_no_link)
        fd = open_linked(guard, name, flags, use, &is_protected);
    int saved = errno;
    free(name);
    if (fd < 0)
        return tell_errno(why, path, saved);
    if (is_protected) {
        close(fd);
        return guard_refuse_protected(why, path);
    }
    *ret_fd = fd;
    return SMA_ERR_OK;
}

enum sma_err guard_open_any(const struct sma_guard *guard, struct sma_str path, int flags,
                            enum sma_guard_use use, int *ret_fd, struct sma_buf *why)
{
    size_t said = why->len;
    enum sma_err err = open_as_written(guard, path, flags, use, ret_fd, why);
    struct sma_buf found;
    if (err != SMA_ERR_NOTFOUND)
        return err;
    sma_buf_init(&found, SMA_GUARD_PATH_BYTES_MAX * 2);
    if (guard_find_name(guard, path, &found)) { /* checked anew: it is another name */
        why->len = said;
        err = open_as_written(guard, sma_buf_str(&found), flags, use, ret_fd, why);
    }
    sma_buf_fini(&found);
    return err;
}

enum sma_err sma_guard_open(const struct sma_guard *guard, struct sma_str path,
                            enum sma_guard_use use, int *ret_fd, struct stat *ret_stat,
                            struct sma_buf *why)
{
    int fd = -1;
    struct stat stat;
    if (path.len == 0)
        return guard_refuse(why, SMA_STR("The path"), " is empty: expected the path of a file.");
    enum sma_err err = guard_open_any(guard, path, O_RDONLY, use, &fd, why);
    if (err != SMA_ERR_OK)
        return err;
    if (fstat(fd, &stat) != 0)
        err = tell_errno(why, path, errno);
    else if (S_ISDIR(stat.st_mode))
        err = tell_errno(why, path, EISDIR);
    else if (!S_ISREG(stat.st_mode))
        err = guard_refuse(why, path, " is a pipe, a socket or a device: expected a file.");
    else if (guard_is_protected_link(guard, &stat, use))
        err = guard_refuse(why, path, " is, or may be, another name of a protected file.");
    else if (use != SMA_GUARD_WRITE && use != SMA_GUARD_OUTPUT && is_secret_inside(guard, fd))
        err = guard_refuse_protected(why, path);
    if (err != SMA_ERR_OK) {
        close(fd);
        return err;
    }
    *ret_fd = fd;
    *ret_stat = stat;
    return SMA_ERR_OK;
}

enum sma_err sma_guard_read_fd(int fd, size_t max, char **ret_bytes, size_t *ret_len)
{
    size_t cap = 64 * 1024, len = 0;
    char *bytes = malloc(cap + 1);
    while (bytes != NULL) {
        ssize_t got = pread(fd, bytes + len, cap - len, (off_t)len);
        if (got == 0)
            break;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(bytes);
            return SMA_ERR_IO;
        }
        len += (size_t)got;
        if (len > max) {
            free(bytes);
            return SMA_ERR_TOOBIG;
        }
        if (len < cap)
            continue;
        char *bigger = realloc(bytes, cap * 2 + 1);
        if (bigger == NULL)
            free(bytes);
        bytes = bigger;
        cap *= 2;
    }
    if (bytes == NULL)
        return SMA_ERR_NOMEM;
    bytes[len] = '\0';
    *ret_bytes = bytes;
    *ret_len = len;
    return SMA_ERR_OK;
}

enum sma_err sma_guard_read(const struct sma_guard *guard, struct sma_str path,
                            enum sma_guard_use use, size_t max, char **ret_bytes, size_t *ret_len,
                            struct sma_buf *why)
{
    int fd;
    struct stat stat;
    enum sma_err err = sma_guard_open(guard, path, use, &fd, &stat, why);
    if (err != SMA_ERR_OK)
        return err;
    err = (uint64_t)stat.st_size > max ? SMA_ERR_TOOBIG
                                       : sma_guard_read_fd(fd, max, ret_bytes, ret_len);
    close(fd);
    if (err == SMA_ERR_TOOBIG) {
        sma_buf_put_str(why, (struct sma_str){path.ptr, sma_utf8_cut(path, 300)});
        sma_buf_printf(why, " has %lld bytes; at most %zu are possible.", (long long)stat.st_size,
                       max);
    } else if (err == SMA_ERR_IO) {
        (void)tell_errno(why, path, errno); /* IO as well */
    }
    return err;
}

bool sma_guard_stays(const struct sma_guard *guard, struct sma_str path)
{
    struct sma_buf clean, why;
    sma_buf_init(&clean, SMA_GUARD_PATH_BYTES_MAX + 1);
    sma_buf_init(&why, 4000);
    bool stays = sma_guard_clean(guard, path, &clean, &why) == SMA_ERR_OK;
    for (bool is_done = !stays || clean.len == 0; !is_done;) {
        int fd;
        enum sma_err err =
            guard_open_any(guard, sma_buf_str(&clean), O_PATH, SMA_GUARD_READ, &fd, &why);
        char *slash = strrchr(clean.ptr, '/');
        struct stat link; /* one to nothing: it would be made where it points */
        bool is_link = err == SMA_ERR_NOTFOUND &&
                       fstatat(guard->root_fd, clean.ptr, &link, AT_SYMLINK_NOFOLLOW) == 0 &&
                       S_ISLNK(link.st_mode);
        is_done = err != SMA_ERR_NOTFOUND || is_link || slash == NULL;
        stays = err == SMA_ERR_OK || (err == SMA_ERR_NOTFOUND && !is_link);
        if (err == SMA_ERR_OK)
            close(fd);
        else if (!is_done)
            clean.len = (size_t)(slash - clean.ptr);
        clean.ptr[clean.len] = '\0';
    }
    sma_buf_fini(&clean);
    sma_buf_fini(&why);
    return stays;
}

/* -- instance ---------------------------------------------------------------------------------- */
enum sma_err sma_guard_create(const char *project_dir, struct sma_guard **ret_guard,
                              struct sma_error *error)
{
    struct sma_guard *guard = calloc(1, sizeof *guard);
    if (guard == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    guard->root_fd = open(project_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int saved = errno;
    guard->root = strdup(project_dir);
    if (guard->root_fd < 0 || guard->root == NULL) {
        sma_guard_destroy(guard);
        return sma_fail_os(error, saved, "the project's folder %s cannot be opened", project_dir);
    }
    for (size_t len = strlen(guard->root); len > 1 && guard->root[len - 1] == '/'; len--)
        guard->root[len - 1] = '\0';
    guard->has_openat2 = true; /* where it is missing, beneath.h does without */
    *ret_guard = guard;
    return SMA_ERR_OK;
}

void sma_guard_refuse_links(struct sma_guard *guard)
{
    guard->follows_no_link = true;
}

void sma_guard_destroy(struct sma_guard *guard)
{
    if (guard == NULL)
        return;
    if (guard->root_fd >= 0)
        close(guard->root_fd);
    free(guard->root);
    free(guard);
}
