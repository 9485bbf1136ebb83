/*
 * sandbox_tmpfs.c — the folders in memory that a command may fill: together as much as it may have
 * memory.
 */
#include "sandbox.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define INODE_BYTES 1024 /* what the kernel holds for an empty file, about */

static const struct
{
    const char *path;
    unsigned sixteenths; /* of the command's memory */
} FOLDERS[] = {{"/tmp", 8}, {"/var/tmp", 2}, {"/dev/shm", 3}, {"/run", 1}, {NULL /* HOME */, 2}};

size_t sma_sandbox_tmpfs_count(void)
{
    return SMA_COUNT_OF(FOLDERS);
}

const char *sma_sandbox_tmpfs(size_t index, const struct sma_config *config, int64_t memory_mb,
                              char size[24])
{
    SMA_ASSERT(index < SMA_COUNT_OF(FOLDERS));
    snprintf(size, 24, "%lld", (long long)memory_mb * 65536 * FOLDERS[index].sixteenths);
    return FOLDERS[index].path == NULL ? sma_sandbox_home(config) : FOLDERS[index].path;
}

uint64_t sma_sandbox_tmpfs_bytes(const struct sma_config *config, pid_t inside)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(FOLDERS); i++) {
        char path[PATH_MAX + 32], size[24];
        struct statfs facts;
        const char *folder = sma_sandbox_tmpfs(i, config, 0, size);
        snprintf(path, sizeof path, "/proc/%d/root%s", (int)inside, folder);
        if (folder[0] == '\0' || statfs(path, &facts) != 0 ||
            facts.f_type != 0x01021994 /* tmpfs */)
            continue; /* it has just ended, or does not have the folder */
        bytes += (facts.f_blocks - facts.f_bfree) * (uint64_t)facts.f_bsize +
                 (facts.f_files - facts.f_ffree) * INODE_BYTES;
    }
    return bytes;
}
