/* memory.c — the files and who follows them. See memory.h. */
#include "runtime/memory/memory_priv.h"

#include "sma/beneath.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define GUEST_FOLLOW_COUNT_MAX 8   /* files that have changed */
#define GUEST_CHANGE_COUNT_MAX 300 /* facts that are added and dropped: a few ms */

/* -- life -------------------------------------------------------------------------------------- */
enum sma_err sma_memory_create(const struct sma_memory_options *options,
                               struct sma_memory **ret_memory)
{
    struct sma_memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        return SMA_ERR_NOMEM;
    int len = snprintf(memory->folder, sizeof memory->folder, "%s", options->folder);
    if (len < 0 || (size_t)len >= sizeof memory->folder)
        memory->folder[0] = '\0'; /* a folder that cannot be: there is nothing in it */
    memory->sys = options->sys;
    memory->secrets = options->secrets;
    memory->is_guest = memory->has_looked = options->is_guest;
    memory->is_thorough = options->is_thorough;
    *ret_memory = memory;
    return SMA_ERR_OK;
}

void sma_memory_destroy(struct sma_memory *memory)
{
    if (memory == NULL)
        return;
    memory_index_close(&memory->index);
    free(memory);
}

struct sma_str sma_memory_trouble(struct sma_memory *memory)
{
    memcpy(memory->shown, memory->error.text, sizeof memory->shown);
    memory->error.text[0] = '\0';
    return sma_str(memory->shown);
}

bool memory_path(const struct sma_memory *memory, struct sma_str name, char *path)
{
    int len =
        snprintf(path, MEMORY_PATH_BYTES_MAX, "%s/%.*s", memory->folder, (int)name.len, name.ptr);
    return memory->folder[0] != '\0' && len > 0 && len < MEMORY_PATH_BYTES_MAX;
}

enum sma_err memory_open(struct sma_memory *memory)
{
    char path[MEMORY_PATH_BYTES_MAX];
    if (memory->index.db != NULL && !memory->index.is_damaged)
        return SMA_ERR_OK;
    if (!memory_path(memory, SMA_STR("index.db"), path))
        return sma_fail(&memory->error, SMA_ERR_IO, "the folder of the memory has too long a name");
    bool is_damaged = memory->index.is_damaged;
    if (is_damaged && memory->is_guest)
        return sma_fail(&memory->error, SMA_ERR_CORRUPT, "the index is being made anew");
    memory_index_close(&memory->index);
    if (is_damaged)
        (void)unlink(path); /* with what it has in its WAL: opening begins anew */
    SMA_TRY(sma_sys_make_dirs(memory->sys, memory->folder, &memory->error));
    memory->index.is_guest = memory->is_guest;
    memory->index.change_limit =
        memory->is_guest && !memory->is_thorough ? GUEST_CHANGE_COUNT_MAX : 0;
    SMA_TRY(memory_index_open(&memory->index, path, &memory->error));
    (void)chmod(path, 0600); /* beside files of 0600 in a folder of 0700: one fence more */
    return SMA_ERR_OK;
}

/* -- names ------------------------------------------------------------------------------------- */
void sma_memory_put_file_name(struct sma_buf *buf, struct sma_str person)
{
    static const uint8_t key[16] = "names of people.";
    size_t start = buf->len;
    sma_buf_put_file_name(buf, person);
    /* "." and ".." cannot come: a person has a colon, which is written as %3A */
    if (buf->err == SMA_ERR_OK && buf->len - start > SMA_MEMORY_NAME_BYTES_MAX) {
        buf->len = start + SMA_MEMORY_NAME_BYTES_MAX - 20;
        if (buf->ptr[buf->len - 1] == '%')
            buf->len--;
        else if (buf->ptr[buf->len - 2] == '%')
            buf->len -= 2;
        sma_buf_printf(buf, "~%016llx",
                       (unsigned long long)sma_siphash(key, person.ptr, person.len));
    }
    sma_buf_put_text(buf, ".md");
}

void memory_put_name(struct sma_buf *buf, struct sma_str person)
{
    if (person.len == 0) {
        sma_buf_put_text(buf, MEMORY_PROJECT_FILE);
        return;
    }
    sma_buf_put_text(buf, "users/");
    sma_memory_put_file_name(buf, person);
}

/* -- one file ---------------------------------------------------------------------------------- */
enum sma_err memory_read(struct sma_memory *memory, struct sma_str name, char **ret_bytes,
                         size_t *ret_len)
{
    char path[MEMORY_PATH_BYTES_MAX];
    struct stat stat;
    if (!memory_path(memory, name, path))
        return sma_fail(&memory->error, SMA_ERR_IO, "%.*s: too long a name", (int)name.len,
                        name.ptr);
    if (lstat(path, &stat) != 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? SMA_ERR_NOTFOUND
                   : sma_fail_os(&memory->error, errno, "cannot look at %s", path);
    if (!S_ISREG(stat.st_mode))
        return sma_fail(&memory->error, SMA_ERR_CORRUPT,
                        "%s is no plain file: it is neither read nor written", path);
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    enum sma_err err = sma_read_beneath(memory->folder, path + strlen(memory->folder) + 1,
                                        SMA_MEMORY_FILE_BYTES_MAX, &bytes, &len, &memory->error);
    if (err == SMA_ERR_BADINPUT) /* links: as for any other that is no plain file */
        return memory->error.code = SMA_ERR_CORRUPT;
    if (err == SMA_ERR_TOOBIG)
        return sma_fail(&memory->error, SMA_ERR_CORRUPT,
                        "%s is over %d KiB: it is neither read nor written; make it smaller", path,
                        SMA_MEMORY_FILE_BYTES_MAX / 1024);
    SMA_TRY(err);
    if (!sma_memory_is_readable((struct sma_str){bytes, len}))
        return sma_fail(&memory->error, SMA_ERR_CORRUPT,
                        "%s is no UTF-8 text: it is neither read nor written; repair it", path);
    *ret_bytes = SMA_TAKE(bytes);
    *ret_len = len;
    return SMA_ERR_OK;
}

void memory_stamp(const struct sma_memory *memory, struct sma_str name,
                  char stamp[MEMORY_STAMP_BYTES])
{
    char path[MEMORY_PATH_BYTES_MAX];
    struct stat stat;
    stamp[0] = '\0';
    if (memory_path(memory, name, path) && lstat(path, &stat) == 0)
        snprintf(stamp, MEMORY_STAMP_BYTES, "%lld %lld.%09ld %lld.%09ld %llu",
                 (long long)stat.st_size, (long long)stat.st_mtim.tv_sec, stat.st_mtim.tv_nsec,
                 (long long)stat.st_ctim.tv_sec, stat.st_ctim.tv_nsec,
                 (unsigned long long)stat.st_ino);
}

static SMA_CHECKED enum sma_err drop_file(struct sma_memory *memory, struct sma_str name)
{
    enum sma_err err = memory_index_drop_file(&memory->index, name, &memory->error);
    memory->is_behind |= err == SMA_ERR_BUSY;
    return err == SMA_ERR_BUSY ? SMA_ERR_OK : err;
}

enum sma_err memory_follow(struct sma_memory *memory, struct sma_str name, struct sma_str person)
{
    char stamp[MEMORY_STAMP_BYTES];
    memory_stamp(memory, name, stamp);
    sqlite3_stmt *get = memory_statement(&memory->index, MEMORY_GET_FILE, &memory->error);
    if (get == NULL)
        return memory->error.code;
    memory_bind(get, 1, name);
    int code = sqlite3_step(get);
    bool is_known = code == SQLITE_ROW;
    bool is_same = is_known && sma_str_is_equal(memory_column(get, 1), sma_str(stamp));
    sqlite3_reset(get);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return memory_index_fail(&memory->index, code, &memory->error);
    if (is_same || (!is_known && stamp[0] == '\0'))
        return SMA_ERR_OK;
    if (stamp[0] == '\0')
        return drop_file(memory, name);
    if (memory->index.change_limit > 0 && memory->follow_count++ >= GUEST_FOLLOW_COUNT_MAX) {
        memory->is_behind = true;
        return SMA_ERR_OK;
    }
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    enum sma_err err = memory_read(memory, name, &bytes, &len);
    if (err == SMA_ERR_NOTFOUND)
        return drop_file(memory, name);
    if (err != SMA_ERR_OK && err != SMA_ERR_CORRUPT)
        return err;
    /* what cannot be read says nothing; the trouble stays for whoever asks */
    struct sma_error error = {.code = SMA_ERR_OK};
    const struct memory_file file = {
        .name = name, .person = person, .stamp = sma_str(stamp), .bytes = {bytes, len}};
    err = memory_index_put_file(&memory->index, &file, memory->secrets, &error);
    if (err == SMA_ERR_BUSY) {
        memory->is_behind = true; /* who keeps the index reads it */
        return SMA_ERR_OK;
    }
    if (err != SMA_ERR_OK)
        memory->error = error;
    return err;
}

/* -- all of them ------------------------------------------------------------------------------- */
static bool is_memory_name(const char *name)
{
    size_t len = strlen(name);
    return len > 3 && name[0] != '.' && strcmp(name + len - 3, ".md") == 0;
}

/* users/telegram%3A1001.md is of "telegram:1001". A name that was cut says nobody: only who has it
 * finds it. */
static SMA_CHECKED enum sma_err follow_entry(struct sma_memory *memory, const char *entry)
{
    struct sma_buf name, person;
    sma_buf_init(&name, MEMORY_PATH_BYTES_MAX);
    sma_buf_init(&person, MEMORY_PATH_BYTES_MAX);
    sma_buf_put_text(&name, "users/");
    sma_buf_put_text(&name, entry);
    enum sma_err err = SMA_ERR_OK;
    bool is_name = strchr(entry, '~') == NULL &&
                   sma_buf_put_file_name_decoded(
                       &person, (struct sma_str){entry, strlen(entry) - 3}) == SMA_ERR_OK &&
                   person.err == SMA_ERR_OK && name.err == SMA_ERR_OK && person.len > 0;
    if (is_name) {
        /* another spelling of the same person is no file of theirs */
        struct sma_buf again;
        sma_buf_init(&again, MEMORY_PATH_BYTES_MAX);
        memory_put_name(&again, sma_buf_str(&person));
        if (sma_str_is_equal(sma_buf_str(&again), sma_buf_str(&name)))
            err = memory_follow(memory, sma_buf_str(&name), sma_buf_str(&person));
        sma_buf_fini(&again);
    }
    sma_buf_fini(&name);
    sma_buf_fini(&person);
    return err;
}

static SMA_CHECKED enum sma_err follow_people(struct sma_memory *memory)
{
    char path[MEMORY_PATH_BYTES_MAX];
    if (!memory_path(memory, SMA_STR("users"), path))
        return SMA_ERR_OK;
    DIR *folder = opendir(path);
    if (folder == NULL)
        return SMA_ERR_OK;
    enum sma_err err = SMA_ERR_OK;
    for (const struct dirent *entry;
         (err == SMA_ERR_OK || err == SMA_ERR_CORRUPT) && (entry = readdir(folder)) != NULL;)
        if (is_memory_name(entry->d_name))
            err = follow_entry(memory, entry->d_name);
    closedir(folder);
    return err;
}

/* Files that are known and gone. One at a time: the walk cannot go on under a change. */
static SMA_CHECKED enum sma_err drop_gone(struct sma_memory *memory)
{
    for (bool is_done = false; !is_done;) {
        struct sma_buf gone;
        sma_buf_init(&gone, MEMORY_PATH_BYTES_MAX);
        sqlite3_stmt *all = memory_statement(&memory->index, MEMORY_ALL_FILES, &memory->error);
        int code = SQLITE_DONE;
        while (all != NULL && (code = sqlite3_step(all)) == SQLITE_ROW && gone.len == 0) {
            char stamp[MEMORY_STAMP_BYTES];
            struct sma_str name = memory_column(all, 0);
            memory_stamp(memory, name, stamp);
            if (stamp[0] == '\0')
                sma_buf_put_str(&gone, name);
        }
        if (all != NULL)
            sqlite3_reset(all);
        enum sma_err err = all == NULL ? memory->error.code
                           : code != SQLITE_DONE && code != SQLITE_ROW
                               ? memory_index_fail(&memory->index, code, &memory->error)
                               : gone.err;
        if (err == SMA_ERR_OK && gone.len > 0)
            err = drop_file(memory, sma_buf_str(&gone));
        is_done = gone.len == 0 || memory->is_behind;
        sma_buf_fini(&gone);
        SMA_TRY(err);
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err look(struct sma_memory *memory)
{
    SMA_TRY(memory_open(memory));
    SMA_TRY(memory_follow(memory, SMA_STR(MEMORY_PROJECT_FILE), SMA_STR("")));
    SMA_TRY(follow_people(memory));
    SMA_TRY(drop_gone(memory));
    memory->has_looked = true;
    return SMA_ERR_OK;
}

/* Damage that is found on the way is mended by doing it again. */
enum sma_err sma_memory_look(struct sma_memory *memory)
{
    enum sma_err err = look(memory);
    if (err == SMA_ERR_CORRUPT && memory->index.is_damaged)
        err = look(memory);
    return err;
}

/* A project file with nothing but its headings, and no person's: nothing is opened for it. */
static bool is_there(struct sma_memory *memory)
{
    char path[MEMORY_PATH_BYTES_MAX];
    bool has = false;
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    if (memory_read(memory, SMA_STR(MEMORY_PROJECT_FILE), &bytes, &len) == SMA_ERR_OK) {
        struct sma_memory_reader reader;
        struct sma_memory_line line;
        sma_memory_reader_init(&reader, (struct sma_str){bytes, len});
        has = sma_memory_reader_next(&reader, &line);
        sma_memory_reader_fini(&reader);
    }
    DIR *folder = has || !memory_path(memory, SMA_STR("users"), path) ? NULL : opendir(path);
    for (const struct dirent *entry; folder != NULL && !has && (entry = readdir(folder)) != NULL;)
        has = is_memory_name(entry->d_name);
    if (folder != NULL)
        closedir(folder);
    return has;
}

bool sma_memory_is_behind(const struct sma_memory *memory)
{
    return memory->is_behind;
}

bool sma_memory_has_any(struct sma_memory *memory, uint64_t now_ns)
{
    uint64_t rest_s = memory->has_any    ? SMA_MEMORY_LOOK_S
                      : memory->is_guest ? 0 /* another one may have written the first fact */
                                         : SMA_MEMORY_LOOK_FIRST_S;
    bool is_time = memory->looked_ns == 0 || now_ns - memory->looked_ns > rest_s * SMA_NS_PER_S;
    if (!is_time)
        return memory->has_any;
    memory->looked_ns = now_ns | 1;
    memory->has_any = memory->index.db != NULL || is_there(memory);
    memory->has_looked = memory->is_guest; /* the next question follows every file */
    return memory->has_any;
}
