/*
 * Aim: a file is replaced whole or not at all, whichever call fails; reads keep to their limit;
 * errors say what.
 * Method: a table over the real one that fails the n-th call, for every n.
 */
#include "sma/sys.h"
#include "support/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/sma-sys-XXXXXX";
static char path[128];

/* -- the failing table ------------------------------------------------------------------------- */
static int calls_left; /* fail when it reaches 0 */
static int fail_with;
static bool is_short; /* write at most three bytes a call */

static bool must_fail(void)
{
    if (--calls_left != 0)
        return false;
    errno = fail_with;
    return true;
}

static int bad_open(void *self, const char *name, int flags, mode_t mode)
{
    return must_fail() ? -1 : sma_sys_real()->open(self, name, flags, mode);
}

static int bad_close(void *self, int fd)
{
    int status = sma_sys_real()->close(self, fd);
    return must_fail() ? -1 : status;
}

static ssize_t bad_pread(void *self, int fd, void *bytes, size_t len, off_t offset)
{
    return must_fail()
               ? -1
               : sma_sys_real()->pread(self, fd, bytes, is_short && len > 3 ? 3 : len, offset);
}

static ssize_t bad_pwrite(void *self, int fd, const void *bytes, size_t len, off_t offset)
{
    return must_fail()
               ? -1
               : sma_sys_real()->pwrite(self, fd, bytes, is_short && len > 3 ? 3 : len, offset);
}

static int bad_fsync(void *self, int fd)
{
    return must_fail() ? -1 : sma_sys_real()->fsync(self, fd);
}

static int bad_rename(void *self, const char *from, const char *to)
{
    return must_fail() ? -1 : sma_sys_real()->rename(self, from, to);
}

static struct sma_sys bad_table(void)
{
    struct sma_sys table = *sma_sys_real();
    table.open = bad_open;
    table.close = bad_close;
    table.pread = bad_pread;
    table.pwrite = bad_pwrite;
    table.fsync = bad_fsync;
    table.rename = bad_rename;
    return table;
}

static void check_content(const char *wanted)
{
    char *bytes;
    size_t len;
    struct sma_error error;
    CHECK_OK(sma_sys_read_file(sma_sys_real(), path, 1000, &bytes, &len, &error));
    CHECK_STR(wanted, ((struct sma_str){bytes, len}));
    CHECK(bytes[len] == '\0');
    free(bytes);
}

static int file_count(void)
{
    DIR *dir = opendir(directory);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

CASE(a_file_is_replaced_whole_or_not_at_all)
{
    struct sma_error error;
    CHECK_OK(sma_sys_write_file_atomic(sma_sys_real(), path, SMA_STR("old"), 0600, &error));
    struct stat info;
    CHECK_INT(0, stat(path, &info));
    CHECK_INT(0600, info.st_mode & 0777);
    struct sma_sys bad = bad_table();
    is_short = true;
    int failures = 0, absorbed = 0;
    for (int n = 1;; n++) {
        calls_left = n;
        fail_with = n % 2 == 0 ? ENOSPC : EIO;
        enum sma_err err =
            sma_sys_write_file_atomic(&bad, path, SMA_STR("the new content"), 0600, &error);
        if (calls_left > 0) { /* nothing failed any more */
            CHECK_OK(err);
            break;
        }
        failures++;
        if (err == SMA_ERR_OK) { /* the last call only closes the directory: nothing is lost */
            absorbed++;
            check_content("the new content");
            continue;
        }
        CHECK(err == (fail_with == EIO ? SMA_ERR_IO : SMA_ERR_NOSPACE));
        CHECK_INT(fail_with, error.os_errno);
        CHECK(strstr(error.text, strerror(fail_with)) != NULL);
        CHECK_INT(1, file_count()); /* no temporary left */
        char *bytes;
        size_t len;
        CHECK_OK(sma_sys_read_file(sma_sys_real(), path, 1000, &bytes, &len, &error));
        CHECK(strcmp(bytes, "old") == 0 || strcmp(bytes, "the new content") == 0);
        free(bytes);
    }
    CHECK(failures >= 10);
    CHECK_INT(1, absorbed);
    is_short = false;
    check_content("the new content");
}

static int no_fsync(void *self, int fd)
{
    (void)self;
    (void)fd;
    errno = EIO;
    return -1;
}

CASE(a_file_may_be_replaced_without_the_disk)
{
    struct sma_error error;
    struct sma_sys table = *sma_sys_real();
    table.fsync = no_fsync;
    CHECK_ERR(SMA_ERR_IO,
              sma_sys_write_file_atomic(&table, path, SMA_STR("waited for"), 0600, &error));
    CHECK_OK(sma_sys_write_file_unsynced(&table, path, SMA_STR("not waited for"), 0600, &error));
    check_content("not waited for");
    CHECK_INT(1, file_count());
}

CASE(interrupted_calls_are_repeated)
{
    struct sma_sys bad = bad_table();
    struct sma_error error;
    calls_left = 2; /* the first write */
    fail_with = EINTR;
    CHECK_OK(sma_sys_write_file_atomic(&bad, path, SMA_STR("again"), 0600, &error));
    check_content("again");
    char *bytes;
    size_t len;
    calls_left = 2; /* the first read */
    CHECK_OK(sma_sys_read_file(&bad, path, 1000, &bytes, &len, &error));
    CHECK_TEXT("again", bytes);
    free(bytes);
}

CASE(reads_keep_to_their_limit)
{
    struct sma_error error;
    char *bytes = NULL;
    size_t len = 0;
    CHECK_OK(sma_sys_write_file_atomic(sma_sys_real(), path, SMA_STR("12345"), 0600, &error));
    CHECK_ERR(SMA_ERR_TOOBIG, sma_sys_read_file(sma_sys_real(), path, 4, &bytes, &len, &error));
    CHECK(bytes == NULL && strstr(error.text, "larger than 4 bytes") != NULL);
    for (size_t max = 5; max <= 6; max++) {
        CHECK_OK(sma_sys_read_file(sma_sys_real(), path, max, &bytes, &len, &error));
        CHECK_INT(5, (long long)len);
        free(bytes);
        bytes = NULL;
    }
    CHECK_ERR(SMA_ERR_NOTFOUND,
              sma_sys_read_file(sma_sys_real(), "/nonexistent/x", 9, &bytes, &len, &error));
    CHECK_ERR(SMA_ERR_IO, sma_sys_read_file(sma_sys_real(), directory, 9, &bytes, &len, &error));
    char *big = malloc(300000);
    memset(big, 'b', 300000);
    CHECK_OK(sma_sys_write_file_atomic(sma_sys_real(), path, (struct sma_str){big, 300000}, 0600,
                                       &error));
    CHECK_OK(sma_sys_read_file(sma_sys_real(), path, 300000, &bytes, &len, &error));
    CHECK(len == 300000 && memcmp(bytes, big, len) == 0);
    free(bytes);
    free(big);
    char fifo[160];
    snprintf(fifo, sizeof fifo, "%s/fifo", directory);
    CHECK_INT(0, mkfifo(fifo, 0600));
    CHECK_ERR(SMA_ERR_IO, sma_sys_read_file(sma_sys_real(), fifo, 9, &bytes, &len,
                                            &error)); /* and does not hang */
    CHECK_INT(0, unlink(fifo));
}

CASE(directories_are_made_once_or_found)
{
    struct sma_error error;
    char deep[160];
    snprintf(deep, sizeof deep, "%s/a/b/c", directory);
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), deep, &error));
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), deep, &error));
    struct stat info;
    CHECK_INT(0, stat(deep, &info));
    CHECK(S_ISDIR(info.st_mode));
    char blocked[192];
    snprintf(blocked, sizeof blocked, "%s/d", path); /* path is a file */
    CHECK_ERR(SMA_ERR_IO, sma_sys_make_dirs(sma_sys_real(), blocked, &error));
    CHECK(strstr(error.text, "cannot create directory") != NULL);
    for (int level = 0; level < 3; level++) {
        CHECK_INT(0, rmdir(deep));
        deep[strlen(deep) - 2] = '\0';
    }
}

CASE(the_clock_runs_and_chance_differs)
{
    const struct sma_sys *sys = sma_sys_real();
    uint64_t first = sys->now_ns(sys->self), a = 0, b = 0;
    CHECK(sys->now_ns(sys->self) >= first && first > 0);
    CHECK(sys->wall_ms(sys->self) > 1700000000000);
    sys->random_bytes(sys->self, &a, sizeof a);
    sys->random_bytes(sys->self, &b, sizeof b);
    CHECK(a != b);
}

/* In a child: the third passage of the named point, and no other, is the end. */
CASE(a_crash_point_ends_the_process)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        setenv("SMA_CRASH_AT", "store.after_commit:3", 1);
        sma_crash_init();
        SMA_CRASH_POINT("store.other");
        SMA_CRASH_POINT("store.after_commit");
        SMA_CRASH_POINT("store.after_commit");
        if (write(STDERR_FILENO, "", 0) < 0)
            _exit(2);
        SMA_CRASH_POINT("store.after_commit");
        _exit(3);
    }
    int status;
    CHECK_INT(child, waitpid(child, &status, 0));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK(!sma_crash_is_armed);
    SMA_CRASH_POINT("store.after_commit");
}

CASE(errors_have_names_and_texts)
{
    CHECK_TEXT("TOOBIG", sma_err_name(SMA_ERR_TOOBIG));
    CHECK_TEXT("success", sma_err_text(SMA_ERR_OK));
    CHECK_TEXT("unknown error", sma_err_text((enum sma_err)9999));
    struct sma_error error;
    char longer[1000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK_ERR(SMA_ERR_NOMEM, sma_fail_os(&error, ENOMEM, "%s", longer));
    CHECK_INT(sizeof error.text - 1, (long long)strlen(error.text));
    CHECK_ERR(SMA_ERR_BUSY, sma_fail(NULL, SMA_ERR_BUSY, "x"));
}

int main(void)
{
    CHECK(mkdtemp(directory) != NULL);
    snprintf(path, sizeof path, "%s/file", directory);
    check_run_cases(NULL);
    unlink(path);
    rmdir(directory);
    return check_summary();
}
