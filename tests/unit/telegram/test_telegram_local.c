/*
 * Aim: a Bot API server of one's own names files on this machine's disk: they are copied, within
 * the cap, or named.
 * Method: a server of a few lines that answers every method at once, and getUpdates never.
 */
#include "actor_world.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONNECTION_COUNT_MAX 32
#define PREPARATION_NAME ".ship/.cache/telegram/1795292293344-FILEIDLO-notes.txt"

static struct
{
    int listener, port;
    char file_path[512];
    atomic_bool is_ending;
    pthread_t thread;
} server;

static void answer(int fd, const char *request)
{
    char body[1024] = "{\"ok\":true,\"result\":true}", head[200];
    if (strstr(request, "/getUpdates ") != NULL)
        return;
    if (strstr(request, "/getMe ") != NULL)
        snprintf(body, sizeof body,
                 "{\"ok\":true,\"result\":{\"id\":7,\"is_bot\":true,\"username\":\"helper_bot\"}}");
    if (strstr(request, "/getFile ") != NULL)
        snprintf(body, sizeof body,
                 "{\"ok\":true,\"result\":{\"file_id\":\"FILEIDLONG\",\"file_path\":\"%s\"}}",
                 server.file_path);
    int len = snprintf(head, sizeof head,
                       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                       "%zu\r\n\r\n",
                       strlen(body));
    CHECK(send(fd, head, (size_t)len, MSG_NOSIGNAL) == len);
    CHECK(send(fd, body, strlen(body), MSG_NOSIGNAL) == (ssize_t)strlen(body));
}

/* Requests here are small and come in one piece after the other: answered at the end of their
 * body. */
static void *serve(void *argument)
{
    struct pollfd ready[CONNECTION_COUNT_MAX] = {{.fd = server.listener, .events = POLLIN}};
    static char bytes[CONNECTION_COUNT_MAX][16384];
    size_t lens[CONNECTION_COUNT_MAX] = {0}, count = 1;
    (void)argument;
    while (!atomic_load(&server.is_ending)) {
        if (poll(ready, count, 20) <= 0)
            continue;
        if (ready[0].revents != 0 && count < CONNECTION_COUNT_MAX) {
            ready[count] =
                (struct pollfd){.fd = accept(server.listener, NULL, NULL), .events = POLLIN};
            lens[count++] = 0;
        }
        for (size_t i = 1; i < count; i++) {
            if ((ready[i].revents & (POLLIN | POLLHUP)) == 0)
                continue;
            ssize_t len = recv(ready[i].fd, bytes[i] + lens[i], sizeof bytes[i] - lens[i] - 1, 0);
            if (len <= 0) {
                close(ready[i].fd);
                ready[i].fd = -1;
                continue;
            }
            lens[i] += (size_t)len;
            bytes[i][lens[i]] = '\0';
            const char *end = strstr(bytes[i], "\r\n\r\n");
            const char *length = strcasestr(bytes[i], "content-length:");
            if (end == NULL ||
                lens[i] < (size_t)(end + 4 - bytes[i]) +
                              (length == NULL ? 0 : (size_t)strtoul(length + 15, NULL, 10)))
                continue;
            answer(ready[i].fd, bytes[i]);
            lens[i] = 0;
        }
    }
    for (size_t i = 1; i < count; i++)
        if (ready[i].fd >= 0)
            close(ready[i].fd);
    return NULL;
}

static void start_server(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    server.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(server.listener, (struct sockaddr *)&address, size) == 0);
    CHECK(listen(server.listener, 16) == 0);
    CHECK(getsockname(server.listener, (struct sockaddr *)&address, &size) == 0);
    server.port = ntohs(address.sin_port);
    CHECK(pthread_create(&server.thread, NULL, serve, NULL) == 0);
}

static void stop_server(void)
{
    atomic_store(&server.is_ending, true);
    CHECK(pthread_join(server.thread, NULL) == 0);
    close(server.listener);
}

/* What the server's disk holds at "path"; NULL = no such file. */
static struct world_prepared prepare_with(const char *content, size_t bytes_max, char copied[256])
{
    char members[200], path[512];
    static const char preparation[] =
        "[{\"kind\":\"document\",\"fileId\":\"FILEIDLONG\",\"path\":\"" PREPARATION_NAME
        "\",\"name\":\"notes.txt\"}]";
    struct world_prepared prepared;
    snprintf(members, sizeof members,
             ",\"apiRoot\":\"http://127.0.0.1:%d\",\"attachmentBytesMax\":%zu", server.port,
             bytes_max);
    world_make_project();
    snprintf(server.file_path, sizeof server.file_path, "%s/of the server.txt", world_dir);
    if (content != NULL) {
        FILE *file = fopen(server.file_path, "w");
        CHECK(file != NULL);
        fputs(content, file);
        CHECK(fclose(file) == 0);
    }
    world_open(members);
    uint64_t seq = world_prepare(preparation, "501", "501", false);
    WORLD_WAIT(world_has_prepared(seq, &prepared));
    copied[0] = '\0';
    snprintf(path, sizeof path, "%s/" PREPARATION_NAME, world_dir);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        struct stat status;
        CHECK(fstat(fileno(file), &status) == 0 && (status.st_mode & 0077) == 0);
        copied[fread(copied, 1, 255, file)] = '\0';
        fclose(file);
    }
    world_close();
    return prepared;
}

static void a_file_on_this_machine_is_copied(void)
{
    char copied[256];
    CHECK_TEXT("", prepare_with("from the disk", 1000, copied).context);
    CHECK_TEXT("from the disk", copied);
}

static void a_file_elsewhere_is_named(void)
{
    char copied[256];
    CHECK(strstr(prepare_with(NULL, 1000, copied).context, "not on this machine") != NULL);
    CHECK_TEXT("", copied);
}

static void the_cap_holds_there_too(void)
{
    char copied[256];
    CHECK(strstr(prepare_with("from the disk", 5, copied).context, "attachmentBytesMax") != NULL);
    CHECK_TEXT("", copied);
}

int main(void)
{
    start_server();
    RUN(a_file_on_this_machine_is_copied);
    RUN(a_file_elsewhere_is_named);
    RUN(the_cap_holds_there_too);
    stop_server();
    return check_summary();
}
