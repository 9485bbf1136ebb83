/*
 * Aim: whatever call the process dies in, after the next start every committed line stands in the
 *      chat's files once, in order, and nothing else does. Also when the power fails: bytes that
 *      were not synced are cut or zero.
 * Method: a small store (rows in shared memory stand for state.db) writes two chats and rotates
 *      them often. A child process dies before, after or inside the k-th effect, for every k until
 *      one run ends by itself. Then the store starts again and finishes its work, and the files are
 *      read. Syncs only note what is durable, to save time.
 */
#include "history_support.h"

#include <jansson.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum
{
    MESSAGE_COUNT = 99,
    BATCH_COUNT = 3,
    LINES_MAX = 6,
    CHAT_COUNT = 2,
    INODE_COUNT = 4096,
    STATUS_DIED = 9,
};

/* -- what survives a crash --------------------------------------------------------------------- */
struct row
{
    int chat;
    uint64_t generation, offset;
    size_t len;
    char line[300];
    bool is_flushed;
};
struct database
{
    struct row rows[MESSAGE_COUNT];
    int row_count;
    uint64_t generation[CHAT_COUNT];
    bool has_plan[CHAT_COUNT];
    struct sma_history_plan plan[CHAT_COUNT];
    struct
    {
        ino_t inode;
        off_t synced;
    } files[INODE_COUNT]; /* what the disk holds for certain */
    int file_count;
};
static struct database *database;
static const char *const chat_keys[CHAT_COUNT] = {"api:chat:a", "api:chat:b"};
static const char *const stems[CHAT_COUNT] = {"api%3Achat%3Aa", "api%3Achat%3Ab"};

/* -- a system that dies ------------------------------------------------------------------------ */
enum tear
{
    TEAR_BEFORE,
    TEAR_AFTER,
    TEAR_ONE,  /* a write ends after one byte */
    TEAR_HALF, /* after half */
    TEAR_LAST, /* one byte short */
    TEAR_COUNT,
};
static long effect_count, die_at; /* 0 = never */
static enum tear tear;
static bool was_write; /* the fatal call was a write: tearing it makes a difference */

static bool is_now(void)
{
    return ++effect_count == die_at;
}

static void die_if(bool now, enum tear when)
{
    if (now && tear == when)
        _exit(STATUS_DIED);
}

static ssize_t dying_pwrite(void *self, int fd, const void *bytes, size_t len, off_t offset)
{
    (void)self;
    bool now = is_now();
    die_if(now, TEAR_BEFORE);
    size_t part = !now                ? len
                  : tear == TEAR_ONE  ? 1
                  : tear == TEAR_HALF ? len / 2
                  : tear == TEAR_LAST ? len - 1
                                      : len;
    ssize_t done = pwrite(fd, bytes, part, offset);
    CHECK(done == (ssize_t)part);
    if (now)
        _exit(STATUS_DIED + 1);
    return done;
}

#define DYING(call)           \
    bool now = is_now();      \
    (void)self;               \
    die_if(now, TEAR_BEFORE); \
    int status = call;        \
    if (now)                  \
        _exit(STATUS_DIED);   \
    return status

static int dying_ftruncate(void *self, int fd, off_t len)
{
    DYING(ftruncate(fd, len));
}
static int dying_rename(void *self, const char *from, const char *to)
{
    DYING(rename(from, to));
}
static int dying_unlink(void *self, const char *path)
{
    DYING(unlink(path));
}

static int note_synced(int fd)
{
    struct stat status;
    CHECK(fstat(fd, &status) == 0);
    int i = 0;
    while (i < database->file_count && database->files[i].inode != status.st_ino)
        i++;
    CHECK(i < INODE_COUNT);
    database->files[i].inode = status.st_ino;
    database->files[i].synced = status.st_size;
    if (i == database->file_count)
        database->file_count++;
    return 0;
}
static int dying_sync(void *self, int fd)
{
    DYING(note_synced(fd));
}
static int dying_open(void *self, const char *path, int flags, mode_t mode)
{
    if ((flags & O_CREAT) == 0)
        return open(path, flags | O_CLOEXEC, mode);
    DYING(open(path, flags | O_CLOEXEC, mode));
}

static const struct sma_sys *dying_sys(void)
{
    static struct sma_sys sys;
    sys = *sma_sys_real();
    sys.open = dying_open;
    sys.pwrite = dying_pwrite;
    sys.ftruncate = dying_ftruncate;
    sys.fdatasync = dying_sync;
    sys.fsync = dying_sync;
    sys.rename = dying_rename;
    sys.unlink = dying_unlink;
    return &sys;
}

/* -- the store --------------------------------------------------------------------------------- */
static void mark_flushed(struct sma_history *history)
{
    CHECK_OK(sma_history_sync_all(history, NULL));
    for (int i = 0; i < database->row_count; i++)
        database->rows[i].is_flushed = true;
    for (int chat = 0; chat < CHAT_COUNT; chat++)
        database->has_plan[chat] = false;
}

/* Its plan goes when the directory is synced. */
static void carry_out_plan(struct sma_history *history, int chat)
{
    enum sma_history_rotation rotation;
    CHECK_OK(sma_history_rotate(history, &database->plan[chat], &rotation, NULL));
}

static void recover(struct sma_history *history)
{
    for (int chat = 0; chat < CHAT_COUNT; chat++) {
        if (database->has_plan[chat])
            carry_out_plan(history, chat);
    }
    for (int i = 0; i < database->row_count; i++) {
        struct row *row = &database->rows[i];
        enum sma_history_outcome outcome;
        if (row->is_flushed)
            continue;
        CHECK_OK(sma_history_replay(history, sma_str(chat_keys[row->chat]), row->generation,
                                    database->generation[row->chat], row->offset,
                                    (struct sma_str){row->line, row->len}, &outcome, NULL));
        CHECK(outcome != SMA_HISTORY_APPENDED);
    }
    mark_flushed(history);
}

static void fill_row(struct sma_history *history, int number)
{
    struct row *row = &database->rows[number];
    char text[128], id[16];
    row->chat = number % 5 < 3 ? 0 : 1;
    snprintf(id, sizeof id, "%d", number);
    snprintf(text, sizeof text, "message %d %.*s", number, number * 7 % 100,
             "-------------------------------------------------------------------------------------"
             "---------------");
    struct sma_history_entry entry = make_entry(chat_keys[row->chat], "user", id, text, number);
    struct sma_buf line;
    sma_buf_init(&line, sizeof row->line);
    sma_history_format(&line, &entry);
    CHECK_OK(line.err);
    memcpy(row->line, line.ptr, line.len);
    row->len = line.len;
    row->is_flushed = false;
    sma_buf_fini(&line);
    row->generation = database->generation[row->chat];
    CHECK_OK(
        sma_history_reserve(history, sma_str(chat_keys[row->chat]), row->len, &row->offset, NULL));
}

/* Rows [first, end) of one chat, joined to one write. */
static void write_rows(struct sma_history *history, int chat, int first, int end)
{
    char joined[BATCH_COUNT * 300];
    size_t len = 0;
    uint64_t offset = 0;
    for (int i = first; i < end; i++) {
        const struct row *row = &database->rows[i];
        if (row->chat != chat)
            continue;
        offset = len == 0 ? row->offset : offset;
        memcpy(joined + len, row->line, row->len);
        len += row->len;
    }
    enum sma_history_outcome outcome;
    if (len > 0)
        CHECK_OK(sma_history_write(history, sma_str(chat_keys[chat]), offset,
                                   (struct sma_str){joined, len}, &outcome, NULL));
}

static void rotate_if_due(struct sma_history *history, int chat)
{
    struct sma_str key = sma_str(chat_keys[chat]);
    struct sma_history_plan plan;
    struct sma_buf json;
    if (database->has_plan[chat] || !is_due(history, chat_keys[chat]))
        return;
    sma_buf_init(&json, 8192);
    CHECK_OK(sma_history_plan_rotation(history, key, database->generation[chat], &plan, NULL));
    sma_history_plan_format(&json, &plan); /* through its stored form, as the store does */
    CHECK_OK(sma_history_plan_parse(sma_buf_str(&json), &database->plan[chat]));
    sma_buf_fini(&json);
    database->has_plan[chat] = true; /* one commit */
    database->generation[chat]++;
    carry_out_plan(history, chat);
}

static void run_store(void)
{
    struct sma_history *history = open_with(dying_sys(), LINES_MAX, 0);
    recover(history);
    for (int batch = 0; database->row_count < MESSAGE_COUNT; batch++) {
        int first = database->row_count;
        int end = first + BATCH_COUNT < MESSAGE_COUNT ? first + BATCH_COUNT : MESSAGE_COUNT;
        for (int i = first; i < end; i++)
            fill_row(history, i);
        database->row_count = end; /* the commit */
        for (int chat = 0; chat < CHAT_COUNT; chat++)
            write_rows(history, chat, first, end);
        if (batch % 3 == 2)
            mark_flushed(history);
        for (int chat = 0; chat < CHAT_COUNT; chat++)
            rotate_if_due(history, chat);
    }
    mark_flushed(history);
    for (int chat = 0; chat < CHAT_COUNT; chat++) { /* replayed lines count, too */
        uint64_t offset;
        CHECK_OK(sma_history_reserve(history, sma_str(chat_keys[chat]), 0, &offset, NULL));
        rotate_if_due(history, chat);
    }
    sma_history_close(history);
}

/* Run the store in a child that dies at effect k. False when it ended by itself. */
static bool run_dying(long k, enum tear how)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        die_at = k;
        tear = how;
        effect_count = 0;
        run_store();
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    int code = WEXITSTATUS(status);
    CHECK(code == 0 || code == STATUS_DIED || code == STATUS_DIED + 1);
    was_write = code == STATUS_DIED + 1;
    return code != 0;
}

/* -- checking ---------------------------------------------------------------------------------- */
static int next_expected[CHAT_COUNT];

/* Each entry must be the next one of its chat. */
static enum sma_err check_record(void *self, const struct sma_history_record *record)
{
    (void)self;
    int chat = sma_str_is_equal(record->entry.chat_key, sma_str(chat_keys[0])) ? 0 : 1;
    int *next = &next_expected[chat];
    while (*next < database->row_count && database->rows[*next].chat != chat)
        (*next)++;
    CHECK(*next < database->row_count);
    char wanted[16];
    snprintf(wanted, sizeof wanted, "%d", *next);
    CHECK_STR(wanted, record->entry.message_id);
    (*next)++;
    return SMA_ERR_OK;
}

/* Every byte of the chat's files is a committed line, each once, in order; `all`: and none is
 * missing. */
static void check_files(bool all)
{
    memset(next_expected, 0, sizeof next_expected);
    struct sma_history *history = open_with(sma_sys_real(), LINES_MAX, 0);
    CHECK_OK(sma_history_walk(history, check_record, NULL, NULL));
    CHECK_INT(0, report_counts[SMA_HISTORY_LINE_DAMAGED] + report_counts[SMA_HISTORY_LINE_MOVED] +
                     report_counts[SMA_HISTORY_FILE_UNREADABLE]);
    sma_history_close(history);
    for (int i = 0; i < database->row_count; i++) {
        const struct row *row = &database->rows[i];
        CHECK(i < next_expected[row->chat] || !(all || row->is_flushed));
    }
}

static void check_nothing_is_left_over(void)
{
    DIR *directory = opendir(test_directory);
    CHECK(directory != NULL);
    for (struct dirent *item; (item = readdir(directory)) != NULL;)
        CHECK(strstr(item->d_name, ".tmp") == NULL && strstr(item->d_name, ".damaged") == NULL);
    closedir(directory);
    char main_name[64];
    for (int chat = 0; chat < CHAT_COUNT; chat++) {
        snprintf(main_name, sizeof main_name, "%s.jsonl", stems[chat]);
        /* several deaths may leave several batches to the one rotation at the end */
        CHECK(count_lines(main_name) <= LINES_MAX + BATCH_COUNT);
    }
}

static void start_afresh(void)
{
    remove_files(test_directory);
    memset(database, 0, sizeof *database);
}

static void recover_and_check(void)
{
    die_at = 0;
    run_store();
    check_files(true);
    check_nothing_is_left_over();
}

/* What a power failure does to the bytes that were not synced. */
static void lose_power(unsigned kind)
{
    DIR *directory = opendir(test_directory);
    CHECK(directory != NULL);
    for (struct dirent *item; (item = readdir(directory)) != NULL;) {
        struct stat status;
        const char *path = file_path(item->d_name);
        if (item->d_name[0] == '.' || stat(path, &status) != 0)
            continue;
        off_t synced = 0;
        for (int i = 0; i < database->file_count; i++)
            synced = database->files[i].inode == status.st_ino ? database->files[i].synced : synced;
        if (synced >= status.st_size)
            continue;
        off_t keep = kind == 2 ? synced + (status.st_size - synced) / 2 : synced;
        CHECK(truncate(path, keep) == 0);
        if (kind >= 1) /* the file grew, its pages did not come */
            CHECK(truncate(path, status.st_size) == 0);
    }
    closedir(directory);
}

/* -- cases ------------------------------------------------------------------------------------- */
CASE(death_at_every_effect)
{
    bool has_died = true;
    long k = 0;
    while (has_died) {
        k++;
        was_write = false;
        for (int how = TEAR_BEFORE; how < (was_write ? TEAR_COUNT : TEAR_ONE); how++) {
            start_afresh();
            has_died = run_dying(k, (enum tear)how);
            recover_and_check();
        }
    }
    fprintf(stderr, "died at each of %ld effects\n", k - 1);
    CHECK(k > 100);
}

CASE(death_and_loss_of_power)
{
    bool has_died = true;
    for (long k = 1; has_died; k++) {
        start_afresh();
        has_died = run_dying(k, k % 2 == 0 ? TEAR_HALF : TEAR_AFTER);
        lose_power((unsigned)(k % 3));
        recover_and_check();
    }
}

CASE(death_in_the_recovery_of_a_death)
{
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 60; round++) {
        start_afresh();
        for (int death = 0; death < 4; death++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (void)run_dying(1 + (long)(random % (death == 0 ? 200 : 25)),
                            (enum tear)(random >> 32) % TEAR_COUNT);
        }
        recover_and_check();
    }
}

/* The database is lost with the crash: what the files hold is whole, in order, and nothing is
 * doubled. */
CASE(death_and_loss_of_the_database)
{
    bool has_died = true;
    for (long k = 1; has_died; k++) {
        start_afresh();
        has_died = run_dying(k, k % 2 == 0 ? TEAR_HALF : TEAR_AFTER);
        check_files(false);
        check_files(false);
    }
}

int main(void)
{
    database =
        mmap(NULL, sizeof *database, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(database != MAP_FAILED);
    make_directory();
    check_run_cases(NULL);
    drop_directory();
    return check_summary();
}
