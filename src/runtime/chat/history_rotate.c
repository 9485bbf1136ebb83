/*
 * history_rotate.c — moving the older half of a main file into an archive, so that a crash anywhere leaves a state
 * from which the same plan comes to the same end.
 *
 * Order: archive.tmp and main.tmp written and synced; archive.tmp renamed, directory synced; main.tmp renamed,
 * directory synced. So the main file never loses a line before the archive durably has it. Which step was reached is
 * read from the files themselves: the plan holds the hashes of both parts.
 */
#include "history_priv.h"

#include "sma/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

/* -- parts of files --------------------------------------------------------------------------------------------- */
/* Hash of file bytes [from, to), block by block, each keyed by the hash before it. */
static enum sma_err hash_range(struct sma_history *history, int fd, uint64_t from, uint64_t to,
                               uint64_t *ret_hash, struct sma_error *error)
{
    SMA_AUTO(sma_freep) char *block = malloc(HISTORY_BLOCK_BYTES);
    if (block == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory to read a history file");
    uint64_t key[2] = {0x726F74617465ull, 0};
    while (from < to) {
        size_t want = to - from < HISTORY_BLOCK_BYTES ? (size_t)(to - from) : HISTORY_BLOCK_BYTES;
        enum sma_err err = history_read_exact(history->sys, fd, block, want, from, error);
        if (err != SMA_ERR_OK)
            return err;
        uint8_t key_bytes[16];
        memcpy(key_bytes, key, sizeof key_bytes);
        key[1] = sma_siphash(key_bytes, block, want);
        from += want;
    }
    *ret_hash = key[1];
    return SMA_ERR_OK;
}

static enum sma_err copy_range(struct sma_history *history, int from_fd, uint64_t from, uint64_t to,
                               int to_fd, struct sma_error *error)
{
    SMA_AUTO(sma_freep) char *block = malloc(HISTORY_BLOCK_BYTES);
    if (block == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory to copy a history file");
    for (uint64_t at = from; at < to;) {
        size_t want = to - at < HISTORY_BLOCK_BYTES ? (size_t)(to - at) : HISTORY_BLOCK_BYTES;
        enum sma_err err = history_read_exact(history->sys, from_fd, block, want, at, error);
        if (err == SMA_ERR_OK)
            err = sma_sys_write_all(history->sys, to_fd, block, want, (off_t)(at - from), error);
        if (err != SMA_ERR_OK)
            return err;
        at += want;
    }
    return SMA_ERR_OK;
}

/* Offset behind the line_count-th newline. */
static enum sma_err find_split(struct sma_history *history, int fd, uint64_t size,
                               uint64_t line_count, uint64_t *ret_offset, struct sma_error *error)
{
    SMA_AUTO(sma_freep) char *block = malloc(HISTORY_BLOCK_BYTES);
    if (block == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory to read a history file");
    for (uint64_t at = 0; at < size;) {
        size_t want = size - at < HISTORY_BLOCK_BYTES ? (size_t)(size - at) : HISTORY_BLOCK_BYTES;
        enum sma_err err = history_read_exact(history->sys, fd, block, want, at, error);
        if (err != SMA_ERR_OK)
            return err;
        const char *end = block + want;
        for (const char *p = block; p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL;
             p++) {
            if (--line_count > 0)
                continue;
            *ret_offset = at + (uint64_t)(p - block) + 1;
            return SMA_ERR_OK;
        }
        at += want;
    }
    return sma_fail(error, SMA_ERR_IO, "a history file became shorter while it was read");
}

/* -- plans ------------------------------------------------------------------------------------------------------ */
/* Two halves, and a key that a plan can hold. */
static bool can_rotate(const struct history_chat *chat)
{
    return chat->line_count >= 2 && memchr(chat->key, '\0', chat->key_len) == NULL;
}

bool sma_history_is_rotation_due(const struct sma_history *history, struct sma_str chat_key)
{
    const struct history_chat *chat = history_find_chat(history, chat_key);
    return chat != NULL && chat->is_checked && chat->reserved == chat->written &&
           chat->line_count > history->options.lines_max && can_rotate(chat);
}

static enum sma_err fill_plan(struct sma_history *history, struct history_chat *chat,
                              struct sma_history_plan *plan, struct sma_error *error)
{
    enum sma_err err = history_file_size(chat->fd, &plan->end_offset, error);
    if (err == SMA_ERR_OK)
        err = find_split(history, chat->fd, plan->end_offset, chat->line_count / 2,
                         &plan->split_offset, error);
    if (err == SMA_ERR_OK)
        err = hash_range(history, chat->fd, 0, plan->split_offset, &plan->archive_hash, error);
    if (err == SMA_ERR_OK)
        err = hash_range(history, chat->fd, plan->split_offset, plan->end_offset, &plan->rest_hash,
                         error);
    if (err == SMA_ERR_OK)
        err = history_archive_max(history, chat->stem, &plan->archive_number, error);
    plan->archive_number++;
    return err;
}

enum sma_err sma_history_plan_rotation(struct sma_history *history, struct sma_str chat_key,
                                       uint64_t generation, struct sma_history_plan *ret_plan,
                                       struct sma_error *error)
{
    struct history_chat *chat = history_find_chat(history, chat_key);
    if (chat == NULL || !chat->is_checked || !can_rotate(chat))
        return SMA_ERR_EMPTY;
    if (chat->reserved != chat->written)
        return sma_fail(error, SMA_ERR_BUSY, "chat %s has lines that are not written", chat->stem);
    enum sma_err err = history_open_main(history, chat, false, error);
    if (err == SMA_ERR_NOTFOUND)
        return SMA_ERR_EMPTY;
    if (err == SMA_ERR_OK)
        err = sma_history_sync(history, chat_key, error);
    SMA_AUTO(sma_freep) struct sma_history_plan *plan = calloc(1, sizeof *plan);
    if (err == SMA_ERR_OK && plan == NULL)
        err = sma_fail(error, SMA_ERR_NOMEM, "no memory for a rotation");
    if (err != SMA_ERR_OK)
        return err;
    memcpy(plan->chat_key, chat->key, chat->key_len);
    plan->generation = generation;
    err = fill_plan(history, chat, plan, error);
    if (err == SMA_ERR_OK)
        *ret_plan = *plan;
    return err;
}

void sma_history_plan_format(struct sma_buf *buf, const struct sma_history_plan *plan)
{
    sma_buf_put_str(buf, SMA_STR("{\"chatKey\":"));
    sma_buf_put_json_string(buf, sma_str(plan->chat_key));
    sma_buf_printf(buf,
                   ",\"generation\":%llu,\"archive\":%u,\"split\":%llu,\"end\":%llu,"
                   "\"archiveHash\":\"%016llx\","
                   "\"restHash\":\"%016llx\"}",
                   (unsigned long long)plan->generation, plan->archive_number,
                   (unsigned long long)plan->split_offset, (unsigned long long)plan->end_offset,
                   (unsigned long long)plan->archive_hash, (unsigned long long)plan->rest_hash);
}

static bool read_number(const json_t *object, const char *key, uint64_t max, uint64_t *ret_number)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > max)
        return false;
    *ret_number = (uint64_t)json_integer_value(value);
    return true;
}

static bool read_hash(const json_t *object, const char *key, uint64_t *ret_hash)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text == NULL || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return false;
    *ret_hash = strtoull(text, NULL, 16);
    return true;
}

static bool fill_parsed_plan(const json_t *root, struct sma_history_plan *plan)
{
    const json_t *key = json_object_get(root, "chatKey");
    uint64_t number;
    if (!json_is_string(key) || json_string_length(key) > SMA_CHAT_KEY_BYTES_MAX ||
        !read_number(root, "archive", UINT32_MAX, &number) || number == 0)
        return false;
    memset(plan, 0, sizeof *plan);
    memcpy(plan->chat_key, json_string_value(key), json_string_length(key));
    plan->archive_number = (uint32_t)number;
    return read_number(root, "generation", INT64_MAX - 1, &plan->generation) &&
           read_number(root, "split", INT64_MAX, &plan->split_offset) &&
           read_number(root, "end", INT64_MAX, &plan->end_offset) &&
           read_hash(root, "archiveHash", &plan->archive_hash) &&
           read_hash(root, "restHash", &plan->rest_hash) && plan->split_offset > 0 &&
           plan->split_offset < plan->end_offset;
}

enum sma_err sma_history_plan_parse(struct sma_str json, struct sma_history_plan *ret_plan)
{
    json_t *root = json_loadb(json.ptr == NULL ? "" : json.ptr, json.len, 0, NULL);
    struct sma_history_plan plan;
    bool is_good = fill_parsed_plan(root, &plan);
    json_decref(root);
    if (!is_good)
        return SMA_ERR_BADINPUT;
    *ret_plan = plan;
    return SMA_ERR_OK;
}

/* -- carrying out ----------------------------------------------------------------------------------------------- */
enum main_state
{
    MAIN_OLD,     /* whole, as the plan saw it (more may follow) */
    MAIN_NEW,     /* only the part that stays */
    MAIN_UNKNOWN, /* neither: changed by somebody else */
};
enum archive_state
{
    ARCHIVE_ABSENT,
    ARCHIVE_GOOD,    /* holds exactly the older part */
    ARCHIVE_FOREIGN, /* another file of that name */
};

/* One rotation at work: the four paths and what was found. */
struct rotation
{
    struct sma_history *history;
    const struct sma_history_plan *plan;
    struct history_chat *chat;
    struct sma_buf main_path, main_tmp, archive_path, archive_tmp;
    uint64_t size; /* of the main file */
    mode_t mode;   /* of the main file */
    enum main_state main;
    enum archive_state archive;
};

static enum sma_err init_paths(struct rotation *rotation, struct sma_error *error)
{
    struct sma_buf *all[] = {&rotation->main_path, &rotation->main_tmp, &rotation->archive_path,
                             &rotation->archive_tmp};
    for (size_t i = 0; i < SMA_COUNT_OF(all); i++)
        sma_buf_init(all[i], HISTORY_PATH_BYTES_MAX);
    const char *stem = rotation->chat->stem;
    uint32_t number = rotation->plan->archive_number;
    history_put_path(&rotation->main_path, rotation->history, stem, ".jsonl");
    history_put_path(&rotation->main_tmp, rotation->history, stem, ".jsonl.tmp");
    history_put_archive_path(&rotation->archive_path, rotation->history, stem, number, "");
    history_put_archive_path(&rotation->archive_tmp, rotation->history, stem, number, ".tmp");
    for (size_t i = 0; i < SMA_COUNT_OF(all); i++) {
        if (all[i]->err != SMA_ERR_OK)
            return sma_fail(error, all[i]->err, "no memory for a path");
    }
    return SMA_ERR_OK;
}

static void fini_paths(struct rotation *rotation)
{
    sma_buf_fini(&rotation->main_path);
    sma_buf_fini(&rotation->main_tmp);
    sma_buf_fini(&rotation->archive_path);
    sma_buf_fini(&rotation->archive_tmp);
}

/* Does the file hold [0, len) with this hash? exact: and nothing more. A missing file is ARCHIVE_ABSENT. */
static enum sma_err look_at_archive(struct rotation *rotation, const char *path,
                                    enum archive_state *ret_state, struct sma_error *error)
{
    const struct sma_sys *sys = rotation->history->sys;
    int fd = sys->open(sys->self, path, O_RDONLY, 0);
    if (fd < 0 && errno == ENOENT) {
        *ret_state = ARCHIVE_ABSENT;
        return SMA_ERR_OK;
    }
    if (fd < 0)
        return sma_fail_os(error, errno, "cannot open %s", path);
    uint64_t size = 0, hash = 0;
    enum sma_err err = history_file_size(fd, &size, error);
    bool has_size = size == rotation->plan->split_offset;
    if (err == SMA_ERR_OK && has_size)
        err = hash_range(rotation->history, fd, 0, size, &hash, error);
    (void)sys->close(sys->self, fd); /* only read */
    if (err == SMA_ERR_OK)
        *ret_state =
            has_size && hash == rotation->plan->archive_hash ? ARCHIVE_GOOD : ARCHIVE_FOREIGN;
    return err;
}

/* Does the main file hold bytes with these hashes at the front? */
static enum sma_err look_at_main(struct rotation *rotation, struct sma_error *error)
{
    const struct sma_history_plan *plan = rotation->plan;
    int fd = rotation->chat->fd;
    uint64_t rest_len = plan->end_offset - plan->split_offset;
    uint64_t archive_hash = 0, rest_hash = 0;
    enum sma_err err = SMA_ERR_OK;
    rotation->main = MAIN_UNKNOWN;
    if (rotation->size >= plan->end_offset) {
        err = hash_range(rotation->history, fd, 0, plan->split_offset, &archive_hash, error);
        if (err == SMA_ERR_OK)
            err = hash_range(rotation->history, fd, plan->split_offset, plan->end_offset,
                             &rest_hash, error);
        if (err == SMA_ERR_OK && archive_hash == plan->archive_hash && rest_hash == plan->rest_hash)
            rotation->main = MAIN_OLD;
    }
    if (err == SMA_ERR_OK && rotation->main == MAIN_UNKNOWN && rotation->size >= rest_len) {
        err = hash_range(rotation->history, fd, 0, rest_len, &rest_hash, error);
        if (err == SMA_ERR_OK && rest_hash == plan->rest_hash)
            rotation->main = MAIN_NEW;
    }
    return err;
}

static enum sma_err look(struct rotation *rotation, struct sma_error *error)
{
    rotation->main = MAIN_UNKNOWN;
    enum sma_err err = history_open_main(rotation->history, rotation->chat, false, error);
    if (err == SMA_ERR_OK) {
        struct stat status;
        if (fstat(rotation->chat->fd, &status) != 0)
            return sma_fail_os(error, errno, "cannot stat %s", rotation->main_path.ptr);
        rotation->size = (uint64_t)status.st_size;
        rotation->mode = status.st_mode & 0777;
        err = look_at_main(rotation, error);
    } else if (err == SMA_ERR_NOTFOUND) {
        err = SMA_ERR_OK;
    }
    if (err == SMA_ERR_OK)
        err = look_at_archive(rotation, rotation->archive_path.ptr, &rotation->archive, error);
    return err;
}

/* A temporary with main file bytes [from, to), synced. */
static enum sma_err make_temporary(struct rotation *rotation, const char *path, uint64_t from,
                                   uint64_t to, struct sma_error *error)
{
    const struct sma_sys *sys = rotation->history->sys;
    int fd = sys->open(sys->self, path, O_WRONLY | O_CREAT | O_TRUNC, rotation->mode);
    if (fd < 0)
        return sma_fail_os(error, errno, "cannot create %s", path);
    enum sma_err err = copy_range(rotation->history, rotation->chat->fd, from, to, fd, error);
    if (err == SMA_ERR_OK && sys->fsync(sys->self, fd) != 0)
        err = sma_fail_os(error, errno, "cannot sync %s", path);
    if (sys->close(sys->self, fd) != 0 && err == SMA_ERR_OK)
        err = sma_fail_os(error, errno, "cannot close %s", path);
    return err;
}

static enum sma_err move(struct rotation *rotation, const char *from, const char *to,
                         struct sma_error *error)
{
    const struct sma_sys *sys = rotation->history->sys;
    if (sys->rename(sys->self, from, to) != 0)
        return sma_fail(error, SMA_ERR_IO, "cannot rename %s to %s: %s", from, to, strerror(errno));
    rotation->history->is_directory_dirty = true;
    return history_sync_directory(rotation->history, error);
}

/* Temporaries hold only copies: whether they can be removed does not matter. */
static void drop_temporaries(struct rotation *rotation)
{
    const struct sma_sys *sys = rotation->history->sys;
    (void)sys->unlink(sys->self, rotation->main_tmp.ptr);
    (void)sys->unlink(sys->self, rotation->archive_tmp.ptr);
}

/* The main file is whole: nothing of the archive is needed. */
static enum sma_err undo_archive(struct rotation *rotation, struct sma_error *error)
{
    const struct sma_sys *sys = rotation->history->sys;
    if (sys->unlink(sys->self, rotation->archive_path.ptr) != 0)
        return sma_fail(error, SMA_ERR_IO, "cannot remove %s: %s", rotation->archive_path.ptr,
                        strerror(errno));
    rotation->history->is_directory_dirty = true;
    return history_sync_directory(rotation->history, error);
}

/* The main file is whole. */
static enum sma_err rotate_old(struct rotation *rotation, enum sma_history_rotation *ret_rotation,
                               struct sma_error *error)
{
    uint64_t split = rotation->plan->split_offset;
    bool is_archive_made = rotation->archive == ARCHIVE_GOOD;
    enum sma_err err = SMA_ERR_OK;
    if (!is_archive_made)
        err = make_temporary(rotation, rotation->archive_tmp.ptr, 0, split, error);
    if (err == SMA_ERR_OK)
        err = make_temporary(rotation, rotation->main_tmp.ptr, split, rotation->size, error);
    if (err != SMA_ERR_OK) {
        drop_temporaries(rotation);
        *ret_rotation = SMA_HISTORY_UNDONE;
        if (!is_archive_made)
            return err;
        enum sma_err undo_err = undo_archive(rotation, error);
        return undo_err == SMA_ERR_OK ? err : undo_err;
    }
    if (is_archive_made) { /* renamed before a crash, perhaps not durably */
        rotation->history->is_directory_dirty = true;
        err = history_sync_directory(rotation->history, error);
    } else {
        err = move(rotation, rotation->archive_tmp.ptr, rotation->archive_path.ptr, error);
    }
    if (err == SMA_ERR_OK)
        err = move(rotation, rotation->main_tmp.ptr, rotation->main_path.ptr, error);
    *ret_rotation = SMA_HISTORY_ROTATED;
    return err;
}

static void report_odd(struct rotation *rotation, const char *text)
{
    history_report(rotation->history, SMA_HISTORY_ROTATION_ODD, rotation->main_path.ptr, 0, 0,
                   text);
}

/* The main file holds only the newer part: the rotation went through, or nearly so. */
static enum sma_err rotate_new(struct rotation *rotation, struct sma_error *error)
{
    if (rotation->archive == ARCHIVE_ABSENT) {
        enum archive_state temporary;
        enum sma_err err = look_at_archive(rotation, rotation->archive_tmp.ptr, &temporary, error);
        if (err != SMA_ERR_OK)
            return err;
        if (temporary == ARCHIVE_GOOD)
            return move(rotation, rotation->archive_tmp.ptr, rotation->archive_path.ptr, error);
    }
    if (rotation->archive != ARCHIVE_GOOD)
        report_odd(rotation, "a rotation was cut short and its archive is not there as planned; "
                             "the main file is kept");
    rotation->history->is_directory_dirty = true;
    return history_sync_directory(rotation->history, error);
}

static enum sma_err act(struct rotation *rotation, enum sma_history_rotation *ret_rotation,
                        struct sma_error *error)
{
    *ret_rotation = SMA_HISTORY_ROTATED;
    enum sma_err err = SMA_ERR_OK;
    if (rotation->main == MAIN_NEW) {
        err = rotate_new(rotation, error);
    } else if (rotation->main == MAIN_OLD && rotation->archive != ARCHIVE_FOREIGN) {
        err = rotate_old(rotation, ret_rotation, error);
    } else {
        *ret_rotation =
            rotation->archive == ARCHIVE_GOOD ? SMA_HISTORY_ROTATED : SMA_HISTORY_UNDONE;
        report_odd(
            rotation,
            rotation->main == MAIN_OLD
                ? "another file has the name of the planned archive; the rotation was left out"
                : "somebody changed the file during a rotation; both files are left as they are");
    }
    if (err == SMA_ERR_OK)
        drop_temporaries(rotation);
    return err;
}

/* Until it is known how the files stand nothing may be said about the plan: every failure is IO, "keep the plan". */
static enum sma_err prepare(struct rotation *rotation, struct sma_error *error)
{
    enum sma_err err = init_paths(rotation, error);
    if (err == SMA_ERR_OK)
        err = history_sync_chat(rotation->history, rotation->chat, error);
    if (err == SMA_ERR_OK)
        err = look(rotation, error);
    return err == SMA_ERR_OK ? SMA_ERR_OK : SMA_ERR_IO;
}

enum sma_err sma_history_rotate(struct sma_history *history, const struct sma_history_plan *plan,
                                enum sma_history_rotation *ret_rotation, struct sma_error *error)
{
    SMA_ASSERT(plan->split_offset > 0 && plan->split_offset < plan->end_offset);
    struct rotation rotation = {.history = history, .plan = plan};
    if (history_get_chat(history, sma_str(plan->chat_key), &rotation.chat) != SMA_ERR_OK)
        return sma_fail(error, SMA_ERR_IO, "no memory to rotate a history file");
    struct history_chat *chat = rotation.chat;
    SMA_ASSERT(!chat->is_checked || chat->reserved == chat->written);
    enum sma_err err = prepare(&rotation, error);
    if (err == SMA_ERR_OK)
        err = act(&rotation, ret_rotation, error);
    bool has_archive = rotation.archive != ARCHIVE_ABSENT ||
                       (err == SMA_ERR_OK && *ret_rotation == SMA_HISTORY_ROTATED);
    if (has_archive)
        history_archive_note(history, chat->stem, plan->archive_number);
    history_close_main(history, chat); /* it may be another file now */
    chat->is_checked = false;
    chat->written = chat->reserved = 0;
    fini_paths(&rotation);
    return err;
}

/* -- a plan that was lost with the database --------------------------------------------------------------------- */
/* Is the archive, as a whole, the head of the main file? */
static enum sma_err guess(struct sma_history *history, struct history_chat *chat, int archive_fd,
                          struct sma_history_plan *plan, struct sma_error *error)
{
    uint64_t head_hash = 0;
    enum sma_err err = history_file_size(chat->fd, &plan->end_offset, error);
    if (err == SMA_ERR_OK)
        err = history_file_size(archive_fd, &plan->split_offset, error);
    if (err != SMA_ERR_OK)
        return err;
    if (plan->split_offset == 0 || plan->split_offset >= plan->end_offset)
        return SMA_ERR_EMPTY;
    err = hash_range(history, archive_fd, 0, plan->split_offset, &plan->archive_hash, error);
    if (err == SMA_ERR_OK)
        err = hash_range(history, chat->fd, 0, plan->split_offset, &head_hash, error);
    if (err == SMA_ERR_OK && head_hash != plan->archive_hash)
        return SMA_ERR_EMPTY;
    return err == SMA_ERR_OK ? hash_range(history, chat->fd, plan->split_offset, plan->end_offset,
                                          &plan->rest_hash, error)
                             : err;
}

enum sma_err history_guess_plan(struct sma_history *history, struct sma_str chat_key,
                                uint32_t number, struct sma_history_plan *ret_plan,
                                struct sma_error *error)
{
    struct history_chat *chat;
    enum sma_err err = history_get_chat(history, chat_key, &chat);
    if (err == SMA_ERR_OK)
        err = history_open_main(history, chat, false, error);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOTFOUND ? SMA_ERR_EMPTY : err;
    struct sma_buf path;
    sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
    history_put_archive_path(&path, history, chat->stem, number, "");
    const struct sma_sys *sys = history->sys;
    int fd = path.err == SMA_ERR_OK ? sys->open(sys->self, path.ptr, O_RDONLY, 0) : -1;
    sma_buf_fini(&path);
    if (fd < 0)
        return SMA_ERR_EMPTY;
    memset(ret_plan, 0, sizeof *ret_plan);
    memcpy(ret_plan->chat_key, chat->key, chat->key_len);
    ret_plan->archive_number = number;
    err = guess(history, chat, fd, ret_plan, error);
    (void)sys->close(sys->self, fd); /* only read */
    return err;
}
