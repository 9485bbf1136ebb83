/*
 * Aim: whatever call on a history file the machine stops in, and whatever happens to bytes and
 *      names that were not synced, every acknowledged line stands in its chat's files once and in
 *      order after the next start.
 * Method: a child plays a story with a rotation and an orderly restart in it and dies at the k-th
 *      effect below struct sma_sys, for every k; in shared memory stands what is durable. The rest
 *      is cut off, half cut off or zero bytes, new names are taken back; then the store starts
 *      again. An argument k looks at every k-th only.
 */
#include "store_support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define OLD_LINE_COUNT 999
#define INODE_COUNT 64
#define NAME_COUNT 64
#define DIED 9

static struct world w;

struct disk
{
    struct
    {
        ino_t inode;
        off_t synced;
    } files[INODE_COUNT];
    struct
    {
        char from[200], to[200]; /* from empty: created */
    } names[NAME_COUNT];         /* since the last sync of the directory */
    int file_count, name_count;
    char acknowledged[32][8];
    int acknowledged_count;
};
static struct disk *disk;
static long countdown; /* 0 = nobody dies */
static bool dies_after;

/* -- a system that dies ------------------------------------------------------------------------ */
static bool is_now(void)
{
    bool is = countdown > 0 && --countdown == 0;
    if (is && !dies_after)
        _exit(DIED);
    return is;
}
static void die_if(bool is)
{
    if (is)
        _exit(DIED);
}

static bool is_history(const char *path)
{
    return strstr(path, "/chats/") != NULL;
}

static int note_file(int fd, bool is_synced)
{
    struct stat facts;
    CHECK(fstat(fd, &facts) == 0);
    if (S_ISDIR(facts.st_mode)) {
        disk->name_count = is_synced ? 0 : disk->name_count;
        return 0;
    }
    int i = 0;
    while (i < disk->file_count && disk->files[i].inode != facts.st_ino)
        i++;
    CHECK(i < INODE_COUNT);
    disk->files[i].inode = facts.st_ino;
    disk->files[i].synced = is_synced               ? facts.st_size
                            : i == disk->file_count ? 0
                                                    : disk->files[i].synced;
    disk->file_count += i == disk->file_count;
    return 0;
}

static void note_name(const char *from, const char *to)
{
    CHECK(disk->name_count < NAME_COUNT);
    snprintf(disk->names[disk->name_count].from, sizeof disk->names[0].from, "%s", from);
    snprintf(disk->names[disk->name_count].to, sizeof disk->names[0].to, "%s", to);
    disk->name_count++;
}

static int dying_open(void *self, const char *path, int flags, mode_t mode)
{
    (void)self;
    bool is_new = (flags & O_CREAT) != 0 && is_history(path) && access(path, F_OK) != 0;
    bool now = is_new && is_now();
    int fd = open(path, flags | O_CLOEXEC, mode);
    if (is_new && fd >= 0) {
        note_file(fd, false);
        note_name("", path);
    }
    die_if(now);
    return fd;
}

static ssize_t dying_pwrite(void *self, int fd, const void *bytes, size_t len, off_t offset)
{
    (void)self;
    bool now = is_now();
    ssize_t done = pwrite(fd, bytes, now ? len / 2 : len, offset);
    die_if(now);
    return done;
}

static int dying_sync(void *self, int fd)
{
    (void)self;
    bool now = is_now();
    note_file(
        fd, true); /* what is durable is ours to say: the kernel's own sync would only take time */
    die_if(now);
    return 0;
}

static int dying_rename(void *self, const char *from, const char *to)
{
    (void)self;
    bool now = is_history(from) && is_now();
    int status = rename(from, to);
    if (status == 0 && is_history(from))
        note_name(from, to);
    die_if(now);
    return status;
}

static struct sma_sys dying_sys(void)
{
    struct sma_sys sys = *sma_sys_real();
    sys.open = dying_open;
    sys.pwrite = dying_pwrite;
    sys.fdatasync = sys.fsync = dying_sync;
    sys.rename = dying_rename;
    return sys;
}

/* -- the power fails --------------------------------------------------------------------------- */
static int cut_file(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)kind;
    (void)place;
    for (int i = 0; i < disk->file_count; i++) {
        off_t synced = disk->files[i].synced;
        if (!S_ISREG(facts->st_mode) || disk->files[i].inode != facts->st_ino ||
            synced >= facts->st_size)
            continue;
        CHECK(truncate(path, countdown == 2 ? synced + (facts->st_size - synced) / 2 : synced) ==
              0);
        if (countdown >= 1) /* the file grew, its pages did not come */
            CHECK(truncate(path, facts->st_size) == 0);
    }
    return 0;
}

/* how: 0 cut, 1 zero bytes, 2 half of it zero bytes; the names go with the even ones. */
static void lose_power(long how)
{
    char path[200];
    snprintf(path, sizeof path, "%s/chats", w.state_dir);
    countdown = how;
    CHECK(nftw(path, cut_file, 16, FTW_PHYS) == 0);
    countdown = 0;
    for (int i = disk->name_count; how % 2 == 0 && i-- > 0;) {
        if (disk->names[i].from[0] == '\0')
            CHECK(unlink(disk->names[i].to) == 0);
        else
            CHECK(rename(disk->names[i].to, disk->names[i].from) == 0);
    }
}

/* -- the story --------------------------------------------------------------------------------- */
static void say_id(const char *chat, const char *id)
{
    say(&w, chat, id, id);
    expect_accepted(&w);
    snprintf(disk->acknowledged[disk->acknowledged_count++], sizeof disk->acknowledged[0], "%s",
             id);
}

static void play(void)
{
    struct sma_sys sys = dying_sys();
    w.sys = &sys;
    open_world(&w);
    say_id("a", "a1");
    say_id("b", "b1");
    say_id("a", "a2");
    run_for(&w, 5 * SECOND); /* a flush */
    say_id("r", "r1");
    say_id("r", "r2");
    say_id("r", "r3"); /* 1,002 lines: a rotation */
    run_for(&w, SECOND / 2);
    say_id("r", "r4"); /* into the new file, nothing of it synced yet */
    run_for(&w, 5 * SECOND);
    say_id("a", "a3");
    run_for(&w, 5 * SECOND);
    say_id("b", "b2");
    restart_world(&w); /* nothing is left to replay */
    say_id("a", "a4");
    _exit(0);
}

static void put_old_lines(void)
{
    char path[200];
    snprintf(path, sizeof path, "%s/chats/test%%3Achat%%3Ar.jsonl", w.state_dir);
    FILE *out = fopen(path, "w");
    CHECK(out != NULL);
    for (int i = 0; i < OLD_LINE_COUNT; i++)
        fprintf(
            out,
            "{\"v\":1,\"ts\":1,\"channel\":\"test\",\"chatId\":\"r\",\"chatKey\":\"test:chat:r\","
            "\"role\":\"user\",\"text\":\"old line %d, which is as long as lines are\"}\n",
            i);
    note_file(fileno(out), false);
    CHECK(fflush(out) == 0);
    note_file(fileno(out), true);
    fclose(out);
}

/* -- what is left ------------------------------------------------------------------------------ */
/* Of the chat: each id at most once, in order; the acknowledged ones are there. */
static void check_chat(const char *chat, int old_count)
{
    static char text[1 << 23]; /* twice what history() gives */
    char file[64], id[32];
    snprintf(file, sizeof file, "test%%3Achat%%3A%s.archive-1", chat);
    snprintf(text, sizeof text / 2, "%s", history(&w, file));
    snprintf(file, sizeof file, "test%%3Achat%%3A%s", chat);
    size_t len = strlen(text);
    snprintf(text + len, sizeof text - len, "%s", history(&w, file));
    CHECK_INT(old_count, (long long)count_of(text, "old line "));
    const char *last = text;
    for (int i = 1; i < 9; i++) {
        snprintf(id, sizeof id, "\"messageId\":\"%s%d\"", chat, i);
        const char *at = strstr(text, id);
        bool is_due = false;
        for (int k = 0; k < disk->acknowledged_count; k++)
            is_due = is_due ||
                     (disk->acknowledged[k][0] == chat[0] && disk->acknowledged[k][1] == '0' + i);
        CHECK(at != NULL || !is_due);
        CHECK(count_of(text, id) <= 1);
        CHECK(at == NULL || at > last);
        last = at == NULL ? last : at;
    }
}

static bool die_and_start_again(long at, long how)
{
    memset(disk, 0, sizeof *disk);
    new_world(&w);
    stop_world(&w);
    close_system(&w);
    put_old_lines();
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        countdown = at;
        dies_after = at % 3 != 0;
        play();
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == DIED);
    lose_power(how);
    open_world(&w);
    run_for(&w, 10 * SECOND);
    check_chat("a", 0);
    check_chat("b", 0);
    check_chat("r", OLD_LINE_COUNT);
    CHECK_INT(0, (long long)sma_gauge_get(SMA_GAUGE_store_troubles));
    end_world(&w);
    return WEXITSTATUS(status) == DIED;
}

static long stride = 1;

CASE(no_line_is_lost_or_doubled_when_the_power_fails)
{
    long deaths = 0;
    for (long how = 0; how < 3; how++) {
        bool is_dead = true;
        for (long at = 1; is_dead; at += stride)
            deaths += is_dead = die_and_start_again(at, how);
    }
    fprintf(stderr, "   %ld deaths\n", deaths);
    CHECK(deaths > 5);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        stride = strtol(argv[1], NULL, 10);
    disk = mmap(NULL, sizeof *disk, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(disk != MAP_FAILED);
    check_run_cases(NULL);
    munmap(disk, sizeof *disk);
    return check_summary();
}
