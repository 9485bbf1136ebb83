/*
 * Aim: what the program reads of a project is read in the project: through no link, also not by
 *      parts where the kernel has no openat2; the project's folder itself may be a link, and a file
 *      that the owner names by an absolute path elsewhere is read there.
 */
#include "sma/beneath.h"
#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/sma-beneath-XXXXXX";

static const char *at(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, 256, "%s/%s", top, name);
    return path;
}

static void put(const char *name, const char *text)
{
    int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static enum sma_err read_it(const char *folder, const char *path, const char *wanted)
{
    char *bytes = NULL;
    size_t len = 0;
    struct sma_error error = {.text = ""};
    enum sma_err err = sma_read_beneath(folder, path, 100, &bytes, &len, &error);
    if (err == SMA_ERR_OK)
        CHECK(len == strlen(wanted) && memcmp(bytes, wanted, len) == 0);
    else
        CHECK(error.text[0] != '\0');
    free(bytes);
    return err;
}

CASE(plain_files_are_read)
{
    CHECK_OK(read_it(at("p"), "a.md", "a"));
    CHECK_OK(read_it(at("p"), "./sub//b.md", "b"));
    CHECK_OK(read_it(at("by-link"), "sub/b.md", "b"));
    CHECK_ERR(SMA_ERR_NOTFOUND, read_it(at("p"), "none", ""));
    CHECK_ERR(SMA_ERR_TOOBIG, read_it(at("p"), "big", ""));
}

CASE(links_are_not_followed)
{
    CHECK_ERR(SMA_ERR_BADINPUT, read_it(at("p"), "out.md", ""));
    CHECK_ERR(SMA_ERR_BADINPUT, read_it(at("p"), "inner.md", "")); /* a link that stays inside */
    CHECK_ERR(SMA_ERR_BADINPUT, read_it(at("p"), "linked/b.md", ""));
    CHECK_ERR(SMA_ERR_BADINPUT, read_it(at("p"), "../secret", ""));
    CHECK_ERR(SMA_ERR_BADINPUT, read_it(at("p"), "sub/../../secret", ""));
    CHECK_ERR(SMA_ERR_BADINPUT, read_it(at("p"), "pipe", "")); /* nor is a pipe waited for */
    CHECK_ERR(SMA_ERR_BADINPUT, read_it(at("p"), "sub", ""));
}

/* Both ways give one answer. */
CASE(by_parts_it_is_the_same)
{
    static const struct
    {
        const char *path;
        int os_errno; /* 0: it opens */
    } rows[] = {{"a.md", 0},         {"sub/b.md", 0},       {"", 0},
                {"out.md", ELOOP},   {"inner.md", ELOOP},   {"linked/b.md", ELOOP},
                {"linked", ELOOP},   {"../secret", EXDEV},  {"none", ENOENT},
                {"a.md/x", ENOTDIR}, {"sub/none/x", ENOENT}};
    int root = open(at("p"), O_PATH | O_DIRECTORY);
    CHECK(root >= 0);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        for (int way = 0; way < 2; way++) {
            int fd = way == 0 ? sma_open_beneath(root, rows[i].path, O_RDONLY, SMA_BENEATH_NO_LINKS)
                              : sma_open_by_parts(root, rows[i].path, O_RDONLY);
            if ((fd >= 0) != (rows[i].os_errno == 0) || (fd < 0 && errno != rows[i].os_errno))
                fprintf(stderr, "%s, way %d: %d, %s\n", rows[i].path, way, fd, strerror(errno));
            CHECK(fd >= 0 ? rows[i].os_errno == 0 : errno == rows[i].os_errno);
            if (fd >= 0)
                close(fd);
        }
    close(root);
}

int main(void)
{
    CHECK(mkdtemp(top) != NULL);
    CHECK(mkdir(at("p"), 0700) == 0 && mkdir(at("p/sub"), 0700) == 0);
    put("p/a.md", "a");
    put("p/sub/b.md", "b");
    put("secret", "s");
    put("p/big", "0123456789012345678901234567890123456789012345678901234567890123456789"
                 "0123456789012345678901234567890123456789");
    CHECK(symlink("../secret", at("p/out.md")) == 0 && symlink("a.md", at("p/inner.md")) == 0 &&
          symlink("sub", at("p/linked")) == 0 && symlink("p", at("by-link")) == 0 &&
          mkfifo(at("p/pipe"), 0600) == 0);
    check_run_cases(NULL);
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", top);
    CHECK(system(command) == 0);
    return check_summary();
}
