/* archive_keep.c — see its header. */
#include "runtime/chat/archive_keep.h"

#include "runtime/chat/history_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct sma_archive_keep
{
    DIR *folder;
};

struct sma_archive_keep *sma_archive_keep_begin(const char *directory)
{
    struct sma_archive_keep *keep = calloc(1, sizeof *keep);
    if (keep == NULL)
        return NULL;
    keep->folder = opendir(directory);
    if (keep->folder != NULL)
        return keep;
    free(keep);
    return NULL;
}

static bool is_old_archive(int folder, const char *name, int64_t before_ms)
{
    size_t stem_len;
    uint32_t number;
    struct stat status;
    return history_parse_archive_name(sma_str(name), &stem_len, &number) &&
           fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
           (int64_t)status.st_mtim.tv_sec * 1000 < before_ms;
}

bool sma_archive_keep_slice(struct sma_archive_keep *keep, int64_t before_ms, unsigned names_max,
                            uint64_t *removed)
{
    int folder = dirfd(keep->folder);
    for (unsigned i = 0; i < names_max; i++) {
        const struct dirent *item = readdir(keep->folder);
        if (item == NULL)
            return true;
        if (is_old_archive(folder, item->d_name, before_ms) &&
            unlinkat(folder, item->d_name, 0) == 0)
            (*removed)++;
    }
    return false;
}

void sma_archive_keep_end(struct sma_archive_keep *keep)
{
    if (keep == NULL)
        return;
    (void)closedir(keep->folder);
    free(keep);
}
