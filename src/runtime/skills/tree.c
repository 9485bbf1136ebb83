/* tree.c — see tree.h. */
#include "runtime/skills/tree.h"

#include "sma/buf.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)64 * 1024)
#define NS_PER_S INT64_C(1000000000)
/* A change within this time of a look may not show in its times. */
#define BLUR_NS (2 * NS_PER_S)
#define STAMP_KEY "skill tree stamp"

struct entry
{
    char *path; /* relative to the skill's folder */
    struct stat stat;
};
struct walk
{
    int folder;
    struct entry *list;
    uint32_t count, room;
    uint64_t bytes;
    struct sma_skill_budget *budget;
    struct sma_error *error;
};

static enum sma_err fail(const struct walk *walk, const char *path, const char *what)
{
    return sma_fail(walk->error, SMA_ERR_BADINPUT, "%.200s %s", path, what);
}

/* -- the list ---------------------------------------------------------------------------------- */
/* Part by part, no link anywhere: folders may be exchanged for links meanwhile. @return -1 */
static int open_beneath(int folder, const char *path, int flags)
{
    int fd = openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && *path != '\0') {
        char name[NAME_MAX + 1];
        const char *end = strchrnul(path, '/');
        size_t len = (size_t)(end - path);
        bool is_last = *end == '\0';
        int next = -1;
        if (len < sizeof name) {
            memcpy(name, path, len);
            name[len] = '\0';
            next = openat(fd, name,
                          O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                              (is_last ? flags : O_PATH | O_DIRECTORY));
        }
        close(fd);
        fd = next;
        path = is_last ? end : end + 1;
    }
    return fd;
}

static enum sma_err add(struct walk *walk, const char *above, const char *name, DIR *dir)
{
    if (walk->count == SMA_SKILL_FILE_COUNT_MAX || walk->budget->entries == 0)
        return sma_fail(walk->error, SMA_ERR_BADINPUT,
                        walk->budget->entries == 0
                            ? "there are too many files in all skills to look at this one"
                            : "it holds more than %d files",
                        SMA_SKILL_FILE_COUNT_MAX);
    walk->budget->entries--;
    if (walk->count == walk->room) {
        uint32_t room = walk->room * 2 + 32;
        struct entry *more = realloc(walk->list, room * sizeof *more);
        if (more == NULL)
            return SMA_ERR_NOMEM;
        walk->list = more;
        walk->room = room;
    }
    struct entry *entry = &walk->list[walk->count];
    if (asprintf(&entry->path, "%s%s%s", above, above[0] == '\0' ? "" : "/", name) < 0)
        return SMA_ERR_NOMEM;
    walk->count++;
    if (fstatat(dirfd(dir), name, &entry->stat, AT_SYMLINK_NOFOLLOW) != 0)
        return fail(walk, entry->path, "is being changed, or cannot be read");
    mode_t mode = entry->stat.st_mode;
    if (!S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode))
        return fail(walk, entry->path, "is a pipe, a socket or a device");
    if (strlen(entry->path) >= PATH_MAX / 2)
        return fail(walk, entry->path, "has too long a path");
    if (S_ISREG(mode))
        walk->bytes += (uint64_t)entry->stat.st_size;
    if (walk->bytes > SMA_SKILL_BYTES_MAX)
        return sma_fail(walk->error, SMA_ERR_BADINPUT, "its files have more than %d bytes",
                        SMA_SKILL_BYTES_MAX);
    return SMA_ERR_OK;
}

static enum sma_err add_folder(struct walk *walk, const char *path)
{
    size_t depth = 1;
    for (const char *at = path; *at != '\0'; at++)
        depth += *at == '/';
    if (depth > SMA_SKILL_DEPTH_MAX)
        return fail(walk, path, "lies too deep");
    int fd = path[0] == '\0' ? openat(walk->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                             : open_beneath(walk->folder, path, O_RDONLY | O_DIRECTORY);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return fail(walk, path[0] == '\0' ? "its folder" : path, "cannot be read");
    }
    enum sma_err err = SMA_ERR_OK;
    for (struct dirent *item; err == SMA_ERR_OK && (item = readdir(dir)) != NULL;)
        if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0)
            err = add(walk, path, item->d_name, dir);
    closedir(dir);
    return err;
}

static int compare_entries(const void *left, const void *right)
{
    return strcmp(((const struct entry *)left)->path, ((const struct entry *)right)->path);
}

static enum sma_err list_all(struct walk *walk)
{
    SMA_TRY(add_folder(walk, ""));
    for (uint32_t i = 0; i < walk->count; i++) /* grows meanwhile */
        if (S_ISDIR(walk->list[i].stat.st_mode))
            SMA_TRY(add_folder(walk, walk->list[i].path));
    if (walk->count > 0)
        qsort(walk->list, walk->count, sizeof *walk->list, compare_entries);
    return SMA_ERR_OK;
}

static void fini_walk(struct walk *walk)
{
    for (uint32_t i = 0; i < walk->count; i++)
        free(walk->list[i].path);
    free(walk->list);
}

/* -- what shows a change without reading ------------------------------------------------------- */
static int64_t ns_of(struct timespec time)
{
    return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec;
}

static int64_t wall_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
    return ns_of(now);
}

static void put_stamp(const struct walk *walk, struct sma_skill_tree *tree)
{
    static const uint8_t key[16] = STAMP_KEY;
    for (uint32_t i = 0; i < walk->count; i++) {
        const struct entry *entry = &walk->list[i];
        const struct stat *stat = &entry->stat;
        const int64_t facts[] = {
            (int64_t)tree->stamp,   (int64_t)stat->st_dev,
            (int64_t)stat->st_ino,  (int64_t)stat->st_size,
            (int64_t)stat->st_mode, ns_of(stat->st_mtim),
            ns_of(stat->st_ctim),   (int64_t)sma_siphash(key, entry->path, strlen(entry->path)),
        };
        tree->stamp = sma_siphash(key, facts, sizeof facts);
        if (ns_of(stat->st_ctim) > tree->newest_ns)
            tree->newest_ns = ns_of(stat->st_ctim);
    }
}

static bool is_unchanged(const struct sma_skill_tree *before, const struct sma_skill_tree *now)
{
    return before != NULL && before->entry_count == now->entry_count &&
           before->bytes == now->bytes && before->stamp == now->stamp &&
           before->newest_ns + BLUR_NS < before->looked_ns;
}

/* -- the digest -------------------------------------------------------------------------------- */
static bool put_field(EVP_MD_CTX *hash, const void *bytes, size_t len)
{
    uint8_t head[8];
    for (size_t i = 0; i < sizeof head; i++)
        head[i] = (uint8_t)((uint64_t)len >> (8 * i));
    return EVP_DigestUpdate(hash, head, sizeof head) == 1 &&
           EVP_DigestUpdate(hash, bytes, len) == 1;
}

/* A link leads to something in the folder, by the kernel's word. */
static enum sma_err put_link(const struct walk *walk, const struct entry *entry, EVP_MD_CTX *hash)
{
    char target[PATH_MAX];
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    ssize_t len = readlinkat(walk->folder, entry->path, target, sizeof target);
    int fd = (int)syscall(SYS_openat2, walk->folder, entry->path, &how, sizeof how);
    if (fd >= 0)
        close(fd);
    if (fd < 0 || len <= 0 || (size_t)len >= sizeof target)
        return fail(walk, entry->path, "is a link that leads out of the skill, or to nothing");
    return put_field(hash, target, (size_t)len) ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

/* The whole content goes into `hash` as its own digest; of SKILL.md into *keep as well. */
static enum sma_err put_bytes(struct walk *walk, const struct entry *entry, int fd,
                              EVP_MD_CTX *hash, struct sma_buf *keep)
{
    SMA_AUTO(sma_freep) uint8_t *piece = malloc(PIECE_BYTES);
    EVP_MD_CTX *inner = EVP_MD_CTX_new();
    uint8_t digest[32];
    uint64_t left = SMA_SKILL_BYTES_MAX;
    enum sma_err err =
        piece == NULL || inner == NULL || EVP_DigestInit_ex(inner, EVP_sha256(), NULL) != 1
            ? SMA_ERR_NOMEM
            : SMA_ERR_OK;
    while (err == SMA_ERR_OK) {
        ssize_t got = read(fd, piece, PIECE_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            err = got < 0 ? fail(walk, entry->path, "cannot be read") : err;
            break;
        }
        uint64_t count = (uint64_t)got;
        if (count > left || count > walk->budget->bytes) { /* it grows while it is read */
            err = fail(walk, entry->path, "is too much to be read with all the others");
            break;
        }
        left -= count;
        walk->budget->bytes -= count;
        if (EVP_DigestUpdate(inner, piece, (size_t)got) != 1)
            err = SMA_ERR_NOMEM;
        if (keep != NULL)
            sma_buf_put(keep, piece, (size_t)got);
    }
    if (err == SMA_ERR_OK &&
        (EVP_DigestFinal_ex(inner, digest, NULL) != 1 || !put_field(hash, digest, sizeof digest)))
        err = SMA_ERR_NOMEM;
    EVP_MD_CTX_free(inner);
    return err;
}

static enum sma_err put_file(struct walk *walk, const struct entry *entry, EVP_MD_CTX *hash,
                             struct sma_buf *keep)
{
    struct stat stat;
    int fd = open_beneath(walk->folder, entry->path, O_RDONLY);
    if (fd < 0 || fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode)) {
        if (fd >= 0)
            close(fd);
        return fail(walk, entry->path, "is being changed, or cannot be read");
    }
    bool is_text = strcmp(entry->path, "SKILL.md") == 0;
    enum sma_err err = put_bytes(walk, entry, fd, hash, is_text ? keep : NULL);
    close(fd);
    if (err == SMA_ERR_OK && is_text &&
        (keep->err == SMA_ERR_TOOBIG || keep->len > SMA_SKILL_MD_BYTES_MAX))
        err = sma_fail(walk->error, SMA_ERR_BADINPUT, "SKILL.md has more than %d bytes",
                       SMA_SKILL_MD_BYTES_MAX);
    else if (err == SMA_ERR_OK && is_text && keep->err != SMA_ERR_OK)
        err = keep->err;
    return err;
}

static enum sma_err put_entry(struct walk *walk, const struct entry *entry, EVP_MD_CTX *hash,
                              struct sma_buf *keep)
{
    mode_t mode = entry->stat.st_mode;
    const char *kind = S_ISDIR(mode) ? "d" : S_ISLNK(mode) ? "l" : (mode & 0111) != 0 ? "x" : "f";
    if (!put_field(hash, kind, 1) || !put_field(hash, entry->path, strlen(entry->path)))
        return SMA_ERR_NOMEM;
    if (S_ISLNK(mode))
        return put_link(walk, entry, hash);
    return S_ISREG(mode) ? put_file(walk, entry, hash, keep) : SMA_ERR_OK;
}

static enum sma_err read_all(struct walk *walk, struct sma_skill_tree *tree)
{
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    struct sma_buf keep;
    sma_buf_init(&keep, SMA_SKILL_MD_BYTES_MAX + 2); /* one too many, and the NUL */
    enum sma_err err = hash == NULL || EVP_DigestInit_ex(hash, EVP_sha256(), NULL) != 1 ||
                               !put_field(hash, "skill 1", 7)
                           ? SMA_ERR_NOMEM
                           : SMA_ERR_OK;
    for (uint32_t i = 0; err == SMA_ERR_OK && i < walk->count; i++)
        err = put_entry(walk, &walk->list[i], hash, &keep);
    if (err == SMA_ERR_OK && EVP_DigestFinal_ex(hash, tree->digest, NULL) != 1)
        err = SMA_ERR_NOMEM;
    EVP_MD_CTX_free(hash);
    sma_buf_put_char(&keep, '\0');
    if (err == SMA_ERR_OK && keep.err != SMA_ERR_OK)
        err = SMA_ERR_NOMEM;
    if (err == SMA_ERR_OK) {
        tree->text_len = keep.len - 1;
        tree->text = sma_buf_take(&keep);
    }
    sma_buf_fini(&keep);
    return err;
}

enum sma_err sma_skill_tree_read(int folder, const struct sma_skill_tree *before,
                                 struct sma_skill_budget *budget, struct sma_skill_tree *ret_tree,
                                 struct sma_error *error)
{
    struct walk walk = {.folder = folder, .budget = budget, .error = error};
    struct sma_skill_tree tree = {.looked_ns = wall_ns()}; /* before the first fact is taken */
    enum sma_err err = list_all(&walk);
    if (err == SMA_ERR_OK) {
        tree.entry_count = walk.count;
        tree.bytes = walk.bytes;
        put_stamp(&walk, &tree);
        if (is_unchanged(before, &tree))
            memcpy(tree.digest, before->digest, sizeof tree.digest);
        else
            err = read_all(&walk, &tree);
    }
    fini_walk(&walk);
    if (err == SMA_ERR_OK)
        *ret_tree = tree;
    return err;
}

enum sma_err sma_skill_tree_list(int folder, size_t max, struct sma_buf *buf,
                                 struct sma_error *error)
{
    struct sma_skill_budget budget = {SMA_SKILL_FILE_COUNT_MAX, SMA_SKILL_BYTES_MAX};
    struct walk walk = {.folder = folder, .budget = &budget, .error = error};
    enum sma_err err = list_all(&walk);
    size_t shown = 0;
    for (uint32_t i = 0; err == SMA_ERR_OK && i < walk.count; i++) {
        if (S_ISDIR(walk.list[i].stat.st_mode) || ++shown > max)
            continue;
        /* one line a file, whatever its name: a name with a line in it would look like two files */
        for (const char *at = walk.list[i].path; *at != '\0'; at++)
            sma_buf_put_char(buf, *at == '\n' ? '?' : *at);
        sma_buf_put_char(buf, '\n');
    }
    fini_walk(&walk);
    return err != SMA_ERR_OK ? err : buf->err;
}
