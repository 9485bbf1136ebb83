/* process_metrics.c — see process_metrics.h. */
#include "process_metrics.h"

#include <curl/curl.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static void put(struct sma_buf *buf, const char *name, const char *type, const char *help,
                double value)
{
    sma_buf_printf(buf, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name,
                   value);
}

static void put_build(struct sma_buf *buf)
{
    sma_buf_printf(buf,
                   "# HELP sma_build_info what runs\n# TYPE sma_build_info gauge\n"
                   "sma_build_info{version=\"%s\",curl=\"%s\"} 1\n",
                   SMA_VERSION, curl_version_info(CURLVERSION_NOW)->version);
}

static double count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    double count = 0;
    if (folder == NULL)
        return -1;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    (void)closedir(folder); /* was only read; it is one of those that were counted */
    return count - 1;
}

static void put_descriptors(struct sma_buf *buf)
{
    struct rlimit limit;
    double count = count_descriptors();
    if (count >= 0)
        put(buf, "process_open_fds", "gauge", "open file descriptors", count);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        put(buf, "process_max_fds", "gauge", "how many there may be", (double)limit.rlim_cur);
}

/* Members 14, 15, 20 and 22 to 24 of /proc/self/stat, after the name, which may hold anything:
 * proc(5). */
static void put_times_and_memory(struct sma_buf *buf)
{
    char line[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    if (file == NULL)
        return;
    size_t len = fread(line, 1, sizeof line - 1, file);
    (void)fclose(file); /* was only read */
    line[len] = '\0';
    const char *at = strrchr(line, ')');
    unsigned long user, system, bytes;
    unsigned long long begun;
    long threads, pages;
    if (at == NULL || sscanf(at,
                             ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu %*s %*s %*s "
                             "%*s %ld %*s %llu %lu %ld",
                             &user, &system, &threads, &begun, &bytes, &pages) != 6)
        return;
    double ticks = (double)sysconf(_SC_CLK_TCK);
    struct timespec now, up;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* known clocks */
    (void)clock_gettime(CLOCK_BOOTTIME, &up);
    double booted = (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) / 1e9;
    put(buf, "process_cpu_seconds_total", "counter", "processor time, user and system",
        (double)(user + system) / ticks);
    put(buf, "process_resident_memory_bytes", "gauge", "memory in use",
        (double)pages * (double)sysconf(_SC_PAGESIZE));
    put(buf, "process_virtual_memory_bytes", "gauge", "address space in use", (double)bytes);
    put(buf, "process_threads", "gauge", "threads", (double)threads);
    put(buf, "process_start_time_seconds", "gauge", "when it began, since 1970",
        booted + (double)begun / ticks);
}

void sma_process_metrics_format(struct sma_buf *buf, const char *state_dir)
{
    struct statvfs disk;
    put_build(buf);
    put_times_and_memory(buf);
    put_descriptors(buf);
    if (statvfs(state_dir, &disk) == 0)
        put(buf, "sma_disk_free_bytes", "gauge", "room on the disk of .ship",
            (double)disk.f_bavail * (double)disk.f_frsize);
}
