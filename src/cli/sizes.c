/* sizes.c — how much room the files of a project take: the service counts what is in state.db, here
 * are the others. */
#include "sizes.h"

#include "sma/plural.h"
#include "sma/sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 4

struct sum
{
    unsigned long long files, bytes;
};

/* Takes fd. What cannot be read counts as nothing. */
static void add_folder(int fd, struct sum *sum, int depth)
{
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        (void)close(fd);
        return;
    }
    for (struct dirent *item; (item = readdir(folder)) != NULL;) {
        struct stat status;
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0 ||
            fstatat(fd, item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISREG(status.st_mode)) {
            sum->files++;
            sum->bytes += (unsigned long long)status.st_blocks * 512;
        } else if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX) {
            int inner = openat(fd, item->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (inner >= 0)
                add_folder(inner, sum, depth + 1);
        }
    }
    (void)closedir(folder);
}

void sma_cli_print_sizes(const char *state_dir)
{
    static const struct
    {
        const char *folder, *name;
    } folders[] = {{"chats", "history"}, {"logs", "logs"}, {"approvals", "approvals"}};
    puts("disk");
    for (size_t i = 0; i < SMA_COUNT_OF(folders); i++) {
        char path[4096 + 32];
        struct sum sum = {0};
        snprintf(path, sizeof path, "%s/%s", state_dir, folders[i].folder);
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0)
            add_folder(fd, &sum, 0);
        printf("  %-18s %.1f MB in %llu file%s\n", folders[i].name, (double)sum.bytes / 1e6,
               sum.files, SMA_S(sum.files));
    }
}
