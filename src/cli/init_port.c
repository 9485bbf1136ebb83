/*
 * init_port.c — the port of a new project: free now, and not that of a project beside it, which may
 * only be stopped at the moment.
 */
#include "init.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT_FIRST 3000
#define PORT_LAST 3199
#define NEIGHBOUR_COUNT_MAX 500

/* start.port of folder/name/ship.json, `otherwise` where it says none; 0: there is no such
 * project. */
static int read_port(const char *folder, const char *name, int otherwise)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s/ship.json", folder, name) >= (int)sizeof path)
        return 0;
    json_t *root = json_load_file(path, 0, NULL);
    json_int_t port = json_integer_value(json_object_get(json_object_get(root, "start"), "port"));
    bool is_project = root != NULL;
    json_decref(root);
    return port > 0 && port <= 65535 ? (int)port : is_project ? otherwise : 0;
}

static void note_neighbours(const char *dir, bool *is_used)
{
    char parent[PATH_MAX];
    if (snprintf(parent, sizeof parent, "%s/..", dir) >= (int)sizeof parent)
        return;
    DIR *folder = opendir(parent);
    if (folder == NULL) { /* a folder that is not there yet has no ".." */
        snprintf(parent, sizeof parent, "%s", dir);
        char *slash = strrchr(parent, '/');
        if (slash != NULL)
            slash[slash == parent] = '\0';
        folder = opendir(slash == NULL ? "." : parent);
        if (slash == NULL)
            snprintf(parent, sizeof parent, ".");
    }
    struct dirent *entry;
    for (int i = 0; folder != NULL && i < NEIGHBOUR_COUNT_MAX && (entry = readdir(folder)) != NULL;
         i++) {
        /* One that says nothing listens on the usual port. */
        int port = entry->d_name[0] == '.' ? 0 : read_port(parent, entry->d_name, PORT_FIRST);
        if (port >= PORT_FIRST && port <= PORT_LAST)
            is_used[port - PORT_FIRST] = true;
    }
    if (folder != NULL)
        closedir(folder);
}

static bool is_free(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_bound = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
                    bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                    listen(fd, 1) == 0;
    if (fd >= 0)
        close(fd);
    return is_bound;
}

int init_find_port(const char *dir)
{
    bool is_used[PORT_LAST - PORT_FIRST + 1] = {false};
    int own = read_port(dir, ".", 0);
    if (own != 0)
        return own; /* its service may be what listens there */
    note_neighbours(dir, is_used);
    for (int port = PORT_FIRST; port <= PORT_LAST; port++)
        if (!is_used[port - PORT_FIRST] && is_free(port))
            return port;
    return 0;
}
