/* parts_folder.c — .ship/.cache/parts: one file is written, old ones go. See prepare.h. */
#include "media_priv.h"

#include "sma/limits.h"
#include "sma/sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CHUNK_BYTES (48u * 1024) /* a multiple of 3: its base64 stands alone */
#define TEXT_BYTES (CHUNK_BYTES / 3 * 4 + 1)
#define FILE_COUNT_MAX 65536
#define DAY_S 86400
#define KEEP_S (30 * (int64_t)DAY_S)
#define KEEP_FULL_S (2 * (int64_t)DAY_S) /* relatime lets a day pass between two notes of a use */
#define TEMPORARY_S 3600
#define TEMPORARY "tmp-"

struct media_sink
{
    EVP_MD_CTX *digest;
    int fd;
    size_t held; /* of chunk */
    uint64_t length;
    bool has_failed, is_full;
    char folder[PATH_MAX], path[PATH_MAX];
    uint8_t chunk[CHUNK_BYTES];
    uint8_t text[TEXT_BYTES];
};

static bool has_room(const char *folder)
{
    struct statvfs facts;
    return statvfs(folder, &facts) != 0 ||
           (uint64_t)facts.f_bavail * facts.f_frsize >= 4 * (uint64_t)SMA_DISK_RESERVE_BYTES;
}

static bool open_file(struct media_sink *sink, const char *state_dir, struct sma_buf *why)
{
    struct sma_error error = {.code = SMA_ERR_OK};
    const struct sma_sys *sys = sma_sys_real();
    uint64_t random = 0;
    sys->random_bytes(sys->self, &random, sizeof random);
    if (snprintf(sink->folder, PATH_MAX, "%s/.cache/parts", state_dir) >= PATH_MAX - 80)
        return sma_buf_put_text(why, "the path of the project is too long"), false;
    if (sma_sys_make_dirs(sys, sink->folder, &error) != SMA_ERR_OK)
        return sma_buf_put_text(why, "the folder .ship/.cache/parts cannot be made"), false;
    if (!has_room(sink->folder))
        return sma_buf_put_text(why, "the disk of this computer is almost full"), false;
    snprintf(sink->path, PATH_MAX, "%.4000s/" TEMPORARY "%016llx", sink->folder,
             (unsigned long long)random);
    sink->fd = open(sink->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (sink->fd < 0)
        sma_buf_put_text(why, "no file can be made in .ship/.cache/parts");
    return sink->fd >= 0;
}

static void free_sink(struct media_sink *sink)
{
    if (sink->fd >= 0)
        close(sink->fd);
    EVP_MD_CTX_free(sink->digest);
    free(sink);
}

struct media_sink *media_sink_open(const char *state_dir, struct sma_buf *why)
{
    struct media_sink *sink = calloc(1, sizeof *sink);
    if (sink == NULL)
        return sma_buf_put_text(why, "memory is out"), NULL;
    sink->fd = -1;
    sink->digest = EVP_MD_CTX_new();
    if (sink->digest == NULL || EVP_DigestInit_ex(sink->digest, EVP_sha256(), NULL) != 1) {
        sma_buf_put_text(why, "memory is out");
    } else if (open_file(sink, state_dir, why)) {
        return sink;
    }
    free_sink(sink);
    return NULL;
}

static void flush(struct media_sink *sink)
{
    if (sink->held == 0 || sink->has_failed)
        return;
    int len = EVP_EncodeBlock(sink->text, sink->chunk, (int)sink->held);
    sink->held = 0;
    struct sma_error error = {.code = SMA_ERR_OK};
    enum sma_err err = SMA_ERR_IO;
    if (len > 0)
        err = sma_sys_write_all(sma_sys_real(), sink->fd, sink->text, (size_t)len,
                                (off_t)sink->length, &error);
    if (err != SMA_ERR_OK) {
        sink->is_full = err == SMA_ERR_NOSPACE;
        sink->has_failed = true;
        return;
    }
    sink->length += (uint64_t)len;
}

bool media_sink_put(struct media_sink *sink, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    if (EVP_DigestUpdate(sink->digest, bytes, len) != 1)
        sink->has_failed = true;
    while (len > 0 && !sink->has_failed) {
        size_t piece = CHUNK_BYTES - sink->held < len ? CHUNK_BYTES - sink->held : len;
        memcpy(sink->chunk + sink->held, at, piece);
        sink->held += piece;
        at += piece;
        len -= piece;
        if (sink->held == CHUNK_BYTES)
            flush(sink);
    }
    return !sink->has_failed;
}

void media_sink_drop(struct media_sink *sink)
{
    (void)unlink(sink->path); /* tidying takes what is left */
    free_sink(sink);
}

bool media_sink_finish(struct media_sink *sink, struct sma_media_made *made, struct sma_buf *why)
{
    uint8_t digest[32];
    char path[PATH_MAX];
    unsigned digest_len = 0;
    flush(sink);
    bool is_good = !sink->has_failed && sink->length > 0 &&
                   EVP_DigestFinal_ex(sink->digest, digest, &digest_len) == 1;
    if (is_good) {
        for (size_t i = 0; i < sizeof digest; i++)
            snprintf(made->hash + 2 * i, 3, "%02x", digest[i]);
        snprintf(path, sizeof path, "%.4000s/%s.b64", sink->folder, made->hash);
        is_good = rename(sink->path, path) == 0;
    }
    if (!is_good) {
        sma_buf_put_text(why, sink->is_full ? "the disk of this computer is full"
                                            : "it could not be written to .ship/.cache/parts");
        made->hash[0] = '\0';
        media_sink_drop(sink);
        return false;
    }
    made->length = sink->length;
    free_sink(sink);
    return true;
}

/* -- tidying ----------------------------------------------------------------------------------- */
struct old_file
{
    char name[80];
    int64_t used_s;
    uint64_t bytes;
};

static int by_use(const void *a, const void *b)
{
    const struct old_file *one = a, *other = b;
    return one->used_s < other->used_s ? -1 : one->used_s > other->used_s;
}

static bool read_file(int folder, const char *name, struct old_file *file)
{
    struct stat facts;
    size_t len = strlen(name);
    if (len >= sizeof file->name || fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(facts.st_mode))
        return false;
    memcpy(file->name, name, len + 1);
    file->used_s = facts.st_atime > facts.st_mtime ? facts.st_atime : facts.st_mtime;
    file->bytes = (uint64_t)facts.st_size;
    return true;
}

static size_t read_files(DIR *dir, struct old_file **ret_files)
{
    size_t count = 0, capacity = 0;
    struct old_file *files = NULL;
    for (struct dirent *entry; count < FILE_COUNT_MAX && (entry = readdir(dir)) != NULL;) {
        if (count == capacity) {
            capacity = capacity == 0 ? 64 : capacity * 2;
            struct old_file *bigger = realloc(files, capacity * sizeof *files);
            if (bigger == NULL)
                break;
            files = bigger;
        }
        count += read_file(dirfd(dir), entry->d_name, &files[count]);
    }
    *ret_files = files;
    return count;
}

uint64_t sma_media_tidy(const char *state_dir, int64_t now_s)
{
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s/.cache/parts", state_dir) >= PATH_MAX)
        return 0;
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return 0;
    struct old_file *files = NULL;
    size_t count = read_files(dir, &files);
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += files[i].bytes;
    if (count > 0)
        qsort(files, count, sizeof *files, by_use);
    for (size_t i = 0; i < count; i++) {
        int64_t age_s = now_s - files[i].used_s;
        bool is_left = strncmp(files[i].name, TEMPORARY, sizeof TEMPORARY - 1) == 0;
        if (age_s > KEEP_S || (is_left && age_s > TEMPORARY_S) ||
            (bytes > SMA_PARTS_BYTES_SOFT && age_s > KEEP_FULL_S))
            if (unlinkat(dirfd(dir), files[i].name, 0) == 0)
                bytes -= files[i].bytes;
    }
    free(files);
    closedir(dir);
    return bytes;
}
