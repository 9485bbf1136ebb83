/*
 * Any path against a tree full of traps: links out, links in, links to protected files, hard links,
 * a pipe. The first byte
 * chooses: 'w' writes, 'l' walks, 'g' fits the rest as a pattern, anything else reads. Promises
 * under test, besides not crashing: what is read lies inside and is not protected, nothing outside
 * and nothing protected changes, a refusal says why.
 */
#include "fuzz.h"

#include "runtime/files/file_rules.h"
#include "runtime/files/guard.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char outer[64], root[80];
static struct sma_guard *guard;

static void require(bool condition)
{
    if (!condition)
        abort();
}

static int remove_entry(const char *path, const struct stat *stat, int flag, struct FTW *place)
{
    (void)stat, (void)flag, (void)place;
    return remove(path);
}

static void remove_tree(void)
{
    sma_guard_destroy(guard);
    (void)nftw(outer, remove_entry, 16, FTW_DEPTH | FTW_PHYS); /* what is left lies in /tmp */
}

static const char *full_path(const char *path)
{
    static char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    return full;
}

static void put(const char *path, const char *text)
{
    int fd = open(full_path(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    require(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void make_tree(void)
{
    static const char *const folders[] = {"sub", ".ship", ".ship/public", ".git", ".git/hooks"};
    static const char *const hidden[] = {".env", "sub/.env.local", ".ship/state.db", ".git/config",
                                         "../secret"};
    static const char *const links[][2] = {
        {"../secret", "out"},  {"..", "up"},  {"/", "slash"},   {".env", "env-link"},
        {".ship", "s"},        {"sub", "in"}, {"loop", "loop"}, {"/proc/self/root", "magic"},
        {"../none", "nothing"}};
    snprintf(outer, sizeof outer, "/tmp/sma-fuzz-guard-XXXXXX");
    require(mkdtemp(outer) != NULL);
    snprintf(root, sizeof root, "%s/p", outer);
    require(mkdir(root, 0755) == 0);
    for (size_t i = 0; i < SMA_COUNT_OF(folders); i++)
        require(mkdir(full_path(folders[i]), 0755) == 0);
    for (size_t i = 0; i < SMA_COUNT_OF(hidden); i++)
        put(hidden[i], "HIDDEN");
    put("a", "open");
    put("sub/b", "open");
    for (size_t i = 0; i < SMA_COUNT_OF(links); i++)
        require(symlink(links[i][0], full_path(links[i][1])) == 0);
    char from[512];
    snprintf(from, sizeof from, "%s", full_path(".env"));
    require(link(from, full_path("hard")) == 0 && mkfifo(full_path("pipe"), 0644) == 0);
    struct sma_error error;
    require(sma_guard_create(root, &guard, &error) == SMA_ERR_OK);
    require(atexit(remove_tree) == 0);
}

/* Everything hidden is as it was. */
static void check_tree(void)
{
    static const char *const hidden[] = {".env",        "sub/.env.local", ".ship/state.db",
                                         ".git/config", "../secret",      "hard"};
    for (size_t i = 0; i < SMA_COUNT_OF(hidden); i++) {
        char text[16] = {0};
        int fd = open(full_path(hidden[i]), O_RDONLY | O_CLOEXEC);
        require(fd >= 0 && read(fd, text, sizeof text - 1) == 6 && strcmp(text, "HIDDEN") == 0);
        close(fd);
    }
}

static enum sma_guard_step visit(void *user, const struct sma_guard_entry *entry)
{
    (void)user;
    require(sma_guard_classify(entry->path, SMA_GUARD_LIST) != SMA_GUARD_PROTECTED);
    return SMA_GUARD_GO_ON;
}

static void use_path(char mode, struct sma_str path)
{
    struct sma_buf clean, why;
    char *bytes = NULL;
    size_t len = 0;
    bool is_cut;
    sma_buf_init(&clean, SMA_GUARD_PATH_BYTES_MAX + 1);
    sma_buf_init(&why, 10000);
    enum sma_err err = sma_guard_clean(guard, path, &clean, &why);
    struct sma_str cleaned = sma_buf_str(&clean);
    if (err == SMA_ERR_OK && mode == 'w')
        err = sma_guard_write(guard, cleaned, SMA_STR("written"), NULL, &why);
    else if (err == SMA_ERR_OK && mode == 'l')
        err = sma_guard_walk(guard, cleaned, visit, NULL, &is_cut, &why);
    else if (err == SMA_ERR_OK)
        err = sma_guard_read(guard, cleaned, SMA_GUARD_READ, 1000, &bytes, &len, &why);
    require(err == SMA_ERR_OK || why.len > 0);
    require(bytes == NULL || memmem(bytes, len, "HIDDEN", 6) == NULL);
    (void)sma_guard_stays(guard, path);
    free(bytes);
    sma_buf_fini(&clean);
    sma_buf_fini(&why);
    check_tree();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (guard == NULL)
        make_tree();
    if (len == 0 || len > 3 * SMA_GUARD_PATH_BYTES_MAX)
        return 0;
    struct sma_str rest = {(const char *)bytes + 1, len - 1};
    if (bytes[0] == 'g')
        (void)sma_glob_fits(rest, SMA_STR("src/main/java/org/example/Thing.java"));
    else
        use_path((char)bytes[0], rest);
    return 0;
}
