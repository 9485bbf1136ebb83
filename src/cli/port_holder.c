/* port_holder.c — see port_holder.h. */
#include "port_holder.h"

#include "sma/text.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define LOCK "/.ship/lock" /* that each service holds open (lock.h) */

/* The inode of the socket that listens on this port, by /proc/net/tcp and tcp6; 0: not found. */
static unsigned long find_listener(int port)
{
    static const char *const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    char line[512];
    unsigned long found = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(tables) && found == 0; i++) {
        FILE *table = fopen(tables[i], "re");
        while (table != NULL && found == 0 && fgets(line, sizeof line, table) != NULL) {
            unsigned at_port = 0, state = 0;
            unsigned long inode = 0;
            if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %*s %*s %lu", &at_port,
                       &state, &inode) == 3 &&
                state == 0x0a && (int)at_port == port)
                found = inode;
        }
        if (table != NULL)
            (void)fclose(table);
    }
    return found;
}

typedef bool match_fn(const char *link, const void *wanted);

static bool is_socket(const char *link, const void *wanted)
{
    return strcmp(link, wanted) == 0;
}

static bool is_lock(const char *link, const void *wanted)
{
    size_t len = strlen(link), end = strlen(wanted);
    return len > end && strcmp(link + len - end, wanted) == 0;
}

/* The first open file of the process that is such a one. */
static bool find_open(const char *pid, match_fn *match, const void *wanted, char link[PATH_MAX])
{
    char folder[64], path[400];
    bool is_found = false;
    (void)snprintf(folder, sizeof folder, "/proc/%.20s/fd", pid);
    DIR *fds = opendir(folder); /* only of our own processes, or as root */
    for (struct dirent *entry; fds != NULL && !is_found && (entry = readdir(fds)) != NULL;) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        ssize_t len = readlink(path, link, PATH_MAX - 1);
        link[len < 0 ? 0 : len] = '\0';
        is_found = match(link, wanted);
    }
    if (fds != NULL)
        (void)closedir(fds);
    return is_found;
}

static void describe(const char *pid, char *holder)
{
    char path[64], name[64] = "", link[PATH_MAX];
    (void)snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
    FILE *comm = fopen(path, "re");
    if (comm != NULL) {
        (void)!fgets(name, sizeof name, comm);
        (void)fclose(comm);
    }
    name[strcspn(name, "\n")] = '\0';
    bool is_ours = find_open(pid, is_lock, LOCK, link);
    if (is_ours)
        link[strlen(link) - strlen(LOCK)] = '\0';
    (void)snprintf(holder, SMA_PORT_HOLDER_BYTES_MAX, "%s (process %.20s)%s%.400s", name, pid,
                   is_ours ? ", which serves " : "", is_ours ? link : "");
}

void sma_port_holder(int port, char holder[SMA_PORT_HOLDER_BYTES_MAX])
{
    char wanted[64], link[PATH_MAX];
    unsigned long inode = find_listener(port);
    DIR *processes = inode == 0 ? NULL : opendir("/proc");
    (void)snprintf(wanted, sizeof wanted, "socket:[%lu]", inode);
    (void)snprintf(holder, SMA_PORT_HOLDER_BYTES_MAX, "another program");
    for (struct dirent *entry; processes != NULL && (entry = readdir(processes)) != NULL;)
        if (isdigit((unsigned char)entry->d_name[0]) &&
            find_open(entry->d_name, is_socket, wanted, link)) {
            describe(entry->d_name, holder);
            break;
        }
    if (processes != NULL)
        (void)closedir(processes);
}
