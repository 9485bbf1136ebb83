/*
 * exec_processes.c — /proc as a table.
 */
#include "exec_processes.h"

#include "exec_env.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT_MAX 65536 /* of one look; a machine with more is past caring */
#define ENVIRON_BYTES_MAX (256 * 1024)
#define ROUND_COUNT_MAX \
    64 /* of passing ownership down: as deep as families get between two looks */

static ssize_t read_small(const char *path, char *bytes, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t len = read(fd, bytes, size - 1);
    close(fd);
    if (len >= 0)
        bytes[len] = '\0';
    return len;
}

/* "PID (name, which may hold anything) S PPID PGRP SESSION ..." */
static bool read_stat(pid_t pid, struct sma_process *process)
{
    char path[48], bytes[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (read_small(path, bytes, sizeof bytes) <= 0)
        return false;
    const char *end = strrchr(bytes, ')');
    int parent = 0, session = 0;
    unsigned long long rss = 0;
    char state = 0;
    if (end == NULL ||
        sscanf(end + 1,
               " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %*u %*u "
               "%llu",
               &state, &parent, &session, &rss) != 4)
        return false;
    static long page_bytes;
    if (page_bytes == 0)
        page_bytes = sysconf(_SC_PAGESIZE);
    *process = (struct sma_process){.pid = pid,
                                    .parent = parent,
                                    .session = session,
                                    .state = state,
                                    .owner = SMA_PROCESS_NONE,
                                    .rss_bytes = rss * (uint64_t)page_bytes};
    return true;
}

static bool reserve_one(struct sma_process_table *table)
{
    if (table->count < table->capacity)
        return true;
    size_t capacity = table->capacity == 0 ? 256 : table->capacity * 2;
    if (capacity > COUNT_MAX)
        return false;
    struct sma_process *items = realloc(table->items, capacity * sizeof *items);
    if (items == NULL)
        return false;
    table->items = items;
    table->capacity = capacity;
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct sma_process *left = a, *right = b;
    return left->pid < right->pid ? -1 : left->pid > right->pid;
}

static pid_t to_pid(const char *name)
{
    if (!isdigit((unsigned char)name[0]))
        return 0;
    long pid = strtol(name, NULL, 10);
    return pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

enum sma_err sma_processes_scan(struct sma_process_table *table)
{
    table->count = 0;
    DIR *dir = opendir("/proc");
    if (dir == NULL)
        return SMA_ERR_IO;
    enum sma_err err = SMA_ERR_OK;
    for (struct dirent *entry; err == SMA_ERR_OK && (entry = readdir(dir)) != NULL;) {
        pid_t pid = to_pid(entry->d_name);
        if (pid == 0)
            continue;
        if (!reserve_one(table))
            err = SMA_ERR_NOMEM;
        else if (read_stat(pid, &table->items[table->count]))
            table->count++;
    }
    closedir(dir);
    if (table->count > 1)
        qsort(table->items, table->count, sizeof *table->items, compare);
    return err;
}

void sma_processes_fini(struct sma_process_table *table)
{
    free(table->items);
    *table = (struct sma_process_table){.items = NULL};
}

/* -- whose ------------------------------------------------------------------------------------- */
static const struct sma_process *find(const struct sma_process_table *table, pid_t pid)
{
    struct sma_process key = {.pid = pid};
    return table->count == 0 ? NULL
                             : bsearch(&key, table->items, table->count, sizeof key, compare);
}

/* Copies the value of SMA_EXEC_ID in the environment a process was started with. */
static bool read_marker(pid_t pid, char *marker, size_t size)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    char *bytes = malloc(ENVIRON_BYTES_MAX);
    if (bytes == NULL)
        return false;
    ssize_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && len < ENVIRON_BYTES_MAX - 1) {
        ssize_t got = read(fd, bytes + len, (size_t)(ENVIRON_BYTES_MAX - 1 - len));
        if (got <= 0)
            break;
        len += got;
    }
    if (fd >= 0)
        close(fd);
    bytes[len] = '\0';
    bool is_found = false;
    for (const char *at = bytes; at < bytes + len && !is_found; at += strlen(at) + 1) {
        is_found = strncmp(at, SMA_EXEC_MARKER "=", strlen(SMA_EXEC_MARKER) + 1) == 0;
        if (is_found)
            snprintf(marker, size, "%s", at + strlen(SMA_EXEC_MARKER) + 1);
    }
    free(bytes);
    return is_found;
}

static int owner_by_root(const struct sma_process *process, const struct sma_process_root *roots,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((process->pid == roots[i].pid && roots[i].pid != 0) ||
            (process->session == roots[i].session && roots[i].session != 0) ||
            (process->pid == roots[i].inside && roots[i].inside != 0))
            return (int)i;
    return SMA_PROCESS_NONE;
}

static bool is_adopted(const struct sma_process *process, pid_t self, pid_t own_session)
{
    return process->parent == self && process->session != own_session;
}

static int owner_by_marker(pid_t pid, const struct sma_process_root *roots, size_t count,
                           bool takes_strays)
{
    char marker[128] = "";
    bool has_marker = read_marker(pid, marker, sizeof marker);
    int last = SMA_PROCESS_NONE;
    if (has_marker && strstr(marker, SMA_PROCESS_SERVER_MARK) != NULL)
        return SMA_PROCESS_NONE; /* an MCP server's: no command left it behind */
    for (size_t i = 0; i < count; i++) {
        if (roots[i].marker == NULL)
            continue;
        last = (int)i;
        if (has_marker && strcmp(marker, roots[i].marker) == 0)
            return (int)i;
    }
    return takes_strays ? last : SMA_PROCESS_NONE;
}

void sma_processes_own(struct sma_process_table *table, const struct sma_process_root *roots,
                       size_t root_count, bool takes_strays)
{
    pid_t self = getpid(), own_session = getsid(0);
    for (size_t i = 0; i < table->count; i++) {
        struct sma_process *process = &table->items[i];
        process->owner = owner_by_root(process, roots, root_count);
        if (process->owner == SMA_PROCESS_NONE && is_adopted(process, self, own_session))
            process->owner = owner_by_marker(process->pid, roots, root_count, takes_strays);
    }
    bool has_changed = true;
    for (int round = 0; round < ROUND_COUNT_MAX && has_changed; round++) {
        has_changed = false;
        for (size_t i = 0; i < table->count; i++) {
            struct sma_process *process = &table->items[i];
            if (process->owner != SMA_PROCESS_NONE || process->pid == self)
                continue;
            const struct sma_process *parent = find(table, process->parent);
            if (parent == NULL || parent->owner == SMA_PROCESS_NONE)
                continue;
            process->owner = parent->owner;
            has_changed = true;
        }
    }
}

/* -- what they hold, and their end ------------------------------------------------------------- */
static bool is_living(const struct sma_process *process, int owner)
{
    return process->owner == owner && process->state != 'Z' && process->state != 'X';
}

struct sma_process_load sma_processes_measure(const struct sma_process_table *table, int owner,
                                              pid_t skip)
{
    struct sma_process_load load = {0, 0};
    for (size_t i = 0; i < table->count; i++) {
        if (!is_living(&table->items[i], owner) || table->items[i].pid == skip)
            continue;
        load.count++;
        load.rss_bytes += table->items[i].rss_bytes;
    }
    return load;
}

uint64_t sma_processes_exact_bytes(const struct sma_process_table *table, int owner)
{
    uint64_t total = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (!is_living(&table->items[i], owner))
            continue;
        char path[64], bytes[2048];
        snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)table->items[i].pid);
        if (read_small(path, bytes, sizeof bytes) <= 0)
            return 0;
        const char *line = strstr(bytes, "\nPss:");
        unsigned long long kb = 0;
        if (line == NULL || sscanf(line + 5, " %llu", &kb) != 1)
            return 0;
        total += kb * 1024;
    }
    return total;
}

size_t sma_processes_signal(const struct sma_process_table *table, int owner, int signo, pid_t skip)
{
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct sma_process *process = &table->items[i];
        if (is_living(process, owner) && process->pid != skip && process->pid != getpid() &&
            kill(process->pid, signo) == 0)
            count++;
    }
    return count;
}

void sma_processes_reap(const struct sma_process_table *table, const struct sma_process_root *roots,
                        size_t root_count, void (*gone)(void *user, pid_t pid), void *user)
{
    pid_t self = getpid(), own_session = getsid(0);
    for (size_t i = 0; i < table->count; i++) {
        const struct sma_process *process = &table->items[i];
        if (process->state != 'Z' || !is_adopted(process, self, own_session))
            continue;
        bool is_root = false;
        for (size_t k = 0; k < root_count; k++)
            is_root = is_root || process->pid == roots[k].pid;
        if (!is_root && waitpid(process->pid, NULL, WNOHANG) == process->pid && gone != NULL)
            gone(user, process->pid);
    }
}

void sma_processes_reap_strays(void)
{
    struct sma_process_table table = {.items = NULL};
    pid_t self = getpid(), own_session = getsid(0);
    if (sma_processes_scan(&table) != SMA_ERR_OK)
        return;
    for (size_t i = 0; i < table.count; i++) {
        const struct sma_process *process = &table.items[i];
        char path[48], name[64];
        if (process->state != 'Z' || !is_adopted(process, self, own_session))
            continue;
        (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)process->pid);
        if (read_small(path, name, sizeof name) > 0 && strcmp(name, "bwrap\n") != 0)
            (void)waitpid(process->pid, NULL, WNOHANG); /* somebody else was first: as well */
    }
    sma_processes_fini(&table);
}

size_t sma_processes_end_marked(const char *prefix)
{
    return sma_processes_end_marked_to(prefix, NULL, 0);
}

size_t sma_processes_end_marked_to(const char *prefix, pid_t *pids, size_t pid_count_max)
{
    struct sma_process_table table = {.items = NULL};
    size_t count = 0;
    if (sma_processes_scan(&table) == SMA_ERR_OK) {
        for (size_t i = 0; i < table.count; i++) {
            char marker[128] = "";
            pid_t pid = table.items[i].pid;
            if (pid != getpid() && table.items[i].state != 'Z' &&
                read_marker(pid, marker, sizeof marker) &&
                strncmp(marker, prefix, strlen(prefix)) == 0 && kill(pid, SIGKILL) == 0) {
                if (count < pid_count_max)
                    pids[count] = pid;
                count++;
            }
        }
    }
    sma_processes_fini(&table);
    return count;
}

size_t sma_processes_user_tasks(const struct sma_process_table *table)
{
    size_t count = 0;
    uid_t self = getuid();
    for (size_t i = 0; i < table->count; i++) {
        char path[48], bytes[2048];
        snprintf(path, sizeof path, "/proc/%d/status", (int)table->items[i].pid);
        if (read_small(path, bytes, sizeof bytes) <= 0)
            continue;
        const char *uid_line = strstr(bytes, "\nUid:"), *threads_line = strstr(bytes, "\nThreads:");
        unsigned uid = 0, threads = 0;
        if (uid_line != NULL && threads_line != NULL && sscanf(uid_line + 5, " %u", &uid) == 1 &&
            sscanf(threads_line + 9, " %u", &threads) == 1 && uid == self)
            count += threads;
    }
    return count;
}
