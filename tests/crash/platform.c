/*
 * platform.c — a chat platform that keeps its side of the bargain and no more: an event is
 * delivered again, in order, until it is acknowledged, and never after that. What the platform
 * shows its users is saw.log, written by the scripted adapter before it reports "sent".
 */
#include "world.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CHAT_COUNT 6
#define OPEN_PER_CHAT 3
#define EVENT_RARITY \
    16 /* a new event in one of so many looks at a chat: about 200 a second in all */

struct chat
{
    unsigned next;   /* number of the next new event */
    unsigned oldest; /* first one not acknowledged */
    unsigned sent;   /* up to here delivered on this connection */
};

struct scripted
{
    struct caller *caller;
    struct chat chats[CHAT_COUNT];
    int fd;
    char in[65536];
    size_t in_len;
    uint64_t random;
};

static int connect_platform(const struct world *world)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", world->socket);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void lose_connection(struct scripted *platform)
{
    close(platform->fd);
    platform->fd = -1;
    platform->in_len = 0;
    for (unsigned i = 0; i < CHAT_COUNT; i++)
        platform->chats[i].sent =
            platform->chats[i].oldest; /* what is not acknowledged comes again */
}

static bool deliver(struct scripted *platform, unsigned chat, unsigned number)
{
    char line[512];
    int len = snprintf(line, sizeof line,
                       "{\"id\":\"s%u-%u\",\"chat\":\"room%u\",\"user\":\"u%u\",\"text\":\"please "
                       "repeat s%u-%u\"}\n",
                       chat, number, chat, number % 3, chat, number);
    return send(platform->fd, line, (size_t)len, MSG_NOSIGNAL) == len;
}

static void send_events(struct scripted *platform)
{
    bool is_stopping = atomic_load(&platform->caller->world->is_stopping);
    for (unsigned i = 0; i < CHAT_COUNT && platform->fd >= 0; i++) {
        struct chat *chat = &platform->chats[i];
        if (!is_stopping && chat->next - chat->oldest < OPEN_PER_CHAT &&
            world_random(&platform->random) % EVENT_RARITY == 0)
            chat->next++;
        for (; chat->sent < chat->next; chat->sent++)
            if (!deliver(platform, i, chat->sent)) {
                lose_connection(platform);
                return;
            }
    }
}

static void take_line(struct scripted *platform, char *line)
{
    unsigned chat, number;
    char verdict[32];
    if (sscanf(line, "ACCEPTED s%u-%u %31s", &chat, &number, verdict) != 3 || chat >= CHAT_COUNT)
        return; /* refused events are not acknowledged: they come again */
    if (strcmp(verdict, "refused") == 0) {
        lose_connection(platform);
        return;
    }
    struct chat *state = &platform->chats[chat];
    if (number < state->oldest)
        return; /* acknowledged before the connection was lost */
    if (number != state->oldest) {
        world_fail(platform->caller->world, "s%u-%u acknowledged before s%u-%u", chat, number, chat,
                   state->oldest);
        return;
    }
    state->oldest++;
    atomic_fetch_add(&platform->caller->world->accepted, 1);
    world_note(platform->caller->world, "S accepted s%u-%u %s", chat, number, verdict);
}

static void read_lines(struct scripted *platform)
{
    struct pollfd wait = {platform->fd, POLLIN, 0};
    if (poll(&wait, 1, 2) <= 0)
        return;
    ssize_t got = recv(platform->fd, platform->in + platform->in_len,
                       sizeof platform->in - platform->in_len - 1, 0);
    if (got <= 0) {
        lose_connection(platform);
        return;
    }
    platform->in_len += (size_t)got;
    platform->in[platform->in_len] = '\0';
    char *line = platform->in, *end;
    while (platform->fd >= 0 && (end = strchr(line, '\n')) != NULL) {
        *end = '\0';
        take_line(platform, line);
        line = end + 1;
    }
    if (platform->fd < 0)
        return;
    platform->in_len -= (size_t)(line - platform->in);
    memmove(platform->in, line, platform->in_len);
}

static bool is_finished(const struct scripted *platform)
{
    if (!atomic_load(&platform->caller->world->is_stopping))
        return false;
    for (unsigned i = 0; i < CHAT_COUNT; i++)
        if (platform->chats[i].oldest != platform->chats[i].next)
            return false;
    return true;
}

void *scripted_run(void *user)
{
    struct scripted *platform = calloc(1, sizeof *platform);
    if (platform == NULL)
        abort();
    platform->caller = user;
    platform->random = platform->caller->seed;
    platform->fd = -1;
    while (!is_finished(platform)) {
        if (platform->fd < 0)
            platform->fd = connect_platform(platform->caller->world);
        if (platform->fd < 0) {
            world_sleep_ms(3);
            continue;
        }
        send_events(platform);
        if (platform->fd >= 0)
            read_lines(platform);
    }
    if (platform->fd >= 0)
        close(platform->fd);
    free(platform);
    return NULL;
}
