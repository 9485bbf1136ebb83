/* guard_walk.c — walking a tree by handle, and knowing hard links of protected files by it. See
 * guard.h. */
#include "runtime/files/guard_priv.h"

#include "sma/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* One folder that is being walked: its entries' names, in order. */
struct level
{
    int fd;
    size_t path_len; /* of the folder in walk.path */
    char **names;
    size_t count, at;
};

struct walk
{
    const struct sma_guard *guard;
    struct level levels[SMA_GUARD_DEPTH_MAX];
    size_t depth;
    struct sma_buf path;
    bool is_cut;
    enum sma_err err;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool keep_name(struct level *level, size_t *cap, const char *name)
{
    if (level->count == *cap) {
        size_t bigger = *cap == 0 ? 64 : *cap * 2;
        char **names = realloc(level->names, bigger * sizeof *names);
        if (names == NULL)
            return false;
        level->names = names;
        *cap = bigger;
    }
    level->names[level->count] = strdup(name);
    if (level->names[level->count] == NULL)
        return false;
    level->count++;
    return true;
}

static void read_names(struct walk *walk, struct level *level)
{
    size_t cap = 0;
    int copy = fcntl(level->fd, F_DUPFD_CLOEXEC, 0);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (dir == NULL) {
        if (copy >= 0)
            close(copy);
        walk->is_cut = true;
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (level->count == SMA_GUARD_FOLDER_ENTRY_COUNT_MAX) {
            walk->is_cut = true;
            break;
        }
        if (!keep_name(level, &cap, entry->d_name)) {
            walk->err = SMA_ERR_NOMEM;
            break;
        }
    }
    closedir(dir);
    if (level->count > 0)
        qsort(level->names, level->count, sizeof *level->names, compare_names);
}

/* Takes fd. */
static void enter(struct walk *walk, int fd)
{
    if (fd < 0 || walk->depth == SMA_GUARD_DEPTH_MAX || walk->path.len > SMA_GUARD_PATH_BYTES_MAX) {
        if (fd >= 0)
            close(fd);
        walk->is_cut = true;
        return;
    }
    struct level *level = &walk->levels[walk->depth++];
    *level = (struct level){.fd = fd, .path_len = walk->path.len};
    read_names(walk, level);
}

static void leave(struct walk *walk)
{
    struct level *level = &walk->levels[--walk->depth];
    close(level->fd);
    for (size_t i = 0; i < level->count; i++)
        free(level->names[i]);
    free(level->names);
}

/* @return false at the end */
static bool visit_next(struct walk *walk, sma_guard_visit_fn *visit, void *user)
{
    struct level *level = &walk->levels[walk->depth - 1];
    walk->path.len = level->path_len;
    if (level->at == level->count) {
        leave(walk);
        return true;
    }
    const char *name = level->names[level->at++];
    if (walk->path.len > 0)
        sma_buf_put_char(&walk->path, '/');
    sma_buf_put_text(&walk->path, name);
    if (walk->path.err != SMA_ERR_OK) {
        walk->err = walk->path.err;
        return false;
    }
    struct stat stat;
    if (sma_guard_classify(sma_buf_str(&walk->path), SMA_GUARD_LIST) == SMA_GUARD_PROTECTED ||
        fstatat(level->fd, name, &stat, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    struct sma_guard_entry entry = {sma_buf_str(&walk->path), level->fd, name, &stat};
    enum sma_guard_step step = visit(user, &entry);
    if (step == SMA_GUARD_GO_ON && S_ISDIR(stat.st_mode))
        enter(walk, openat(level->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return step != SMA_GUARD_END;
}

enum sma_err sma_guard_walk(const struct sma_guard *guard, struct sma_str path,
                            sma_guard_visit_fn *visit, void *user, bool *ret_is_cut,
                            struct sma_buf *why)
{
    int fd;
    enum sma_err err =
        guard_open_any(guard, path, O_RDONLY | O_DIRECTORY, SMA_GUARD_LIST, &fd, why);
    if (err != SMA_ERR_OK)
        return err;
    struct walk *walk = calloc(1, sizeof *walk);
    if (walk == NULL) {
        close(fd);
        return SMA_ERR_NOMEM;
    }
    walk->guard = guard;
    sma_buf_init(&walk->path, SMA_GUARD_PATH_BYTES_MAX * 2);
    sma_buf_put_str(&walk->path, path);
    enter(walk, fd);
    while (walk->err == SMA_ERR_OK && walk->depth > 0 && visit_next(walk, visit, user)) {
    }
    while (walk->depth > 0)
        leave(walk);
    *ret_is_cut = walk->is_cut;
    err = walk->err;
    sma_buf_fini(&walk->path);
    free(walk);
    return err;
}

/* -- hard links -------------------------------------------------------------------------------- */
/* A file with several names may be a protected one under another: the protected ones are looked
 * through. This walk is its own, for it looks at what the other one leaves out. */
struct scan
{
    const struct stat *wanted;
    enum sma_guard_use use;
    size_t left; /* entries that may still be looked at */
    bool is_found;
};

/* Large, and nothing in it is protected. */
static bool is_left_out(struct sma_str path)
{
    static const char objects[] = ".git/objects";
    size_t len = sizeof objects - 1;
    const char *slash = memrchr(path.ptr, '/', path.len);
    struct sma_str name = path;
    if (slash != NULL)
        name = (struct sma_str){slash + 1, path.len - (size_t)(slash + 1 - path.ptr)};
    return sma_str_is_equal(name, SMA_STR("node_modules")) ||
           (path.len >= len && memcmp(path.ptr + path.len - len, objects, len) == 0);
}

/* fd is closed. `is_inside`: everything below is protected. Depth is bounded by
 * SMA_GUARD_DEPTH_MAX. */
static void scan_folder(struct scan *scan, int fd, struct sma_buf *path, unsigned depth)
{
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    size_t path_len = path->len;
    const struct dirent *entry;
    while (!scan->is_found && scan->left > 0 && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        scan->left--;
        struct stat stat;
        if (fstatat(dirfd(dir), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (path->len > 0)
            sma_buf_put_char(path, '/');
        sma_buf_put_text(path, entry->d_name);
        if (path->err != SMA_ERR_OK)
            scan->left = 0;
        else if (S_ISDIR(stat.st_mode) && !is_left_out(sma_buf_str(path)) &&
                 depth < SMA_GUARD_DEPTH_MAX)
            scan_folder(
                scan,
                openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                path, depth + 1);
        else if (stat.st_ino == scan->wanted->st_ino && stat.st_dev == scan->wanted->st_dev)
            scan->is_found =
                sma_guard_classify(sma_buf_str(path), scan->use) == SMA_GUARD_PROTECTED;
        path->len = path_len;
    }
    closedir(dir);
}

bool guard_is_protected_link(const struct sma_guard *guard, const struct stat *stat,
                             enum sma_guard_use use)
{
    if (stat->st_nlink < 2)
        return false;
    struct scan scan = {.wanted = stat, .use = use, .left = SMA_GUARD_LINK_SCAN_COUNT_MAX};
    struct sma_buf path;
    sma_buf_init(&path, SMA_GUARD_PATH_BYTES_MAX * 2);
    scan_folder(&scan, guard_open_plain(guard, "", O_RDONLY | O_DIRECTORY), &path, 0);
    sma_buf_fini(&path);
    return scan.is_found || scan.left == 0;
}
