/*
 * bare_log — the least a turn could cost on a disk: the rows of its transactions, one behind the
 * other in one file. Rows as bench_turn makes them, in the commits that a turn has: accept; step,
 * end and delivery; the receipt rides on the next. What the kernel counts as written, for a
 * message, at so many messages a commit.
 *   bare_log [DIRECTORY]     (not in memory: there nothing is counted)
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_COUNT 4096
#define ACCEPT_BYTES 330 /* message row with line and facts, cursor */
#define DONE_BYTES 1150  /* result, turn, delivery, the answer's line, usage */
#define RECEIPT_BYTES 60

static unsigned long long written_bytes(void)
{
    char line[128];
    unsigned long long bytes = 0;
    FILE *io = fopen("/proc/self/io", "re");
    while (io != NULL && fgets(line, sizeof line, io) != NULL)
        if (strncmp(line, "write_bytes:", 12) == 0)
            bytes = strtoull(line + 12, NULL, 10);
    if (io != NULL)
        fclose(io);
    return bytes;
}

/* One commit: so many bytes at the end, synced. */
static off_t append(int fd, off_t at, size_t len)
{
    static char bytes[1 << 20];
    if (len > sizeof bytes || pwrite(fd, bytes, len, at) != (ssize_t)len || fdatasync(fd) != 0) {
        perror("bare_log");
        exit(1);
    }
    return at + (off_t)len;
}

static double bytes_a_message(int fd, unsigned batch)
{
    off_t at = 0;
    unsigned long long before = written_bytes();
    for (unsigned done = 0; done < MESSAGE_COUNT; done += batch) {
        at = append(fd, at, (size_t)batch * (ACCEPT_BYTES + RECEIPT_BYTES));
        at = append(fd, at, (size_t)batch * DONE_BYTES);
    }
    return (double)(written_bytes() - before) / MESSAGE_COUNT;
}

int main(int argc, char **argv)
{
    char path[4096];
    static const char zeros[4096];
    snprintf(path, sizeof path, "%s/bare_log.tmp", argc > 1 ? argv[1] : ".");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        perror(path);
        return 1;
    }
    for (off_t at = 0; at < 16 << 20; at += (off_t)sizeof zeros)
        if (pwrite(fd, zeros, sizeof zeros, at) != (ssize_t)sizeof zeros)
            return 1;
    (void)fsync(fd); /* blocks that exist: as the WAL's */
    static const unsigned batches[] = {1, 16, 64};
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++)
        printf("%u messages a commit: %.0f bytes a message\n", batches[i],
               bytes_a_message(fd, batches[i]));
    (void)close(fd);
    (void)unlink(path);
    return 0;
}
