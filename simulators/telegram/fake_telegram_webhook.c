/*
 * fake_telegram_webhook.c — the other way to deliver updates: one POST each to the bot's address,
 * in order within a chat, tried again until it is taken.
 */
#include "fake_telegram_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define RETRY_MS_MAX 60000

bool fake_set_webhook(struct fake_telegram *fake, const char *url, const char *secret)
{
    char host[64] = "";
    int port = 80;
    if (url[0] == '\0') {
        fake->webhook_url[0] = '\0';
        return true;
    }
    if (sscanf(url, "http://%63[0-9.]:%d", host, &port) < 1)
        return false;
    snprintf(fake->webhook_url, sizeof fake->webhook_url, "%s", url);
    snprintf(fake->webhook_secret, sizeof fake->webhook_secret, "%s", secret);
    snprintf(fake->webhook_host, sizeof fake->webhook_host, "%s", host);
    fake->webhook_port = port;
    return true;
}

static void put_request(const struct fake_telegram *fake, const struct update *update,
                        struct sma_buf *out)
{
    const char *path = strchr(fake->webhook_url + 7, '/');
    struct sma_buf body;
    sma_buf_init(&body, 1u << 20);
    sma_buf_printf(&body, "{\"update_id\":%lld,", (long long)update->id);
    sma_buf_put_text(&body, update->json);
    sma_buf_put_char(&body, '}');
    sma_buf_printf(out,
                   "POST %s HTTP/1.1\r\nHost: %s:%d\r\nContent-Type: "
                   "application/json\r\nContent-Length: %zu\r\n",
                   path == NULL ? "/" : path, fake->webhook_host, fake->webhook_port, body.len);
    if (fake->webhook_secret[0] != '\0')
        sma_buf_printf(out, "X-Telegram-Bot-Api-Secret-Token: %s\r\n", fake->webhook_secret);
    sma_buf_put_text(out, "Connection: close\r\n\r\n");
    sma_buf_put_str(out, sma_buf_str(&body));
    sma_buf_fini(&body);
}

static void end_delivery(struct fake_telegram *fake, struct connection *connection, bool is_taken,
                         long retry_after_s)
{
    struct update *update = connection->update;
    struct chat *chat = fake_chat(fake, update->chat_id);
    uint64_t wait_ms = fake->webhook_retry_ms;
    if (chat != NULL)
        chat->is_delivering = false;
    update->is_delivering = false;
    fake->webhook_open_count--;
    fake_close_connection(fake, connection);
    if (is_taken) {
        if (!update->is_confirmed)
            fake_confirm(fake, update);
        return;
    }
    for (unsigned i = 1; i < update->attempt_count && wait_ms < RETRY_MS_MAX; i++)
        wait_ms *= 2;
    if (retry_after_s >= 0)
        wait_ms = (uint64_t)(retry_after_s > 3600 ? 3600 : retry_after_s) * 1000;
    else if (update->attempt_count <= 1)
        wait_ms = 0; /* the first time at once */
    update->not_before_ns = fake_now_ns() + wait_ms * 1000000u;
}

static void start_delivery(struct fake_telegram *fake, struct update *update, struct chat *chat,
                           uint64_t now)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)fake->webhook_port)};
    struct message *message = fake_message(chat, update->message_id);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || inet_pton(AF_INET, fake->webhook_host, &address.sin_addr) != 1)
        abort();
    (void)connect(fd, (struct sockaddr *)&address,
                  sizeof address); /* a refusal shows as an event */
    struct connection *connection = fake_open_connection(fake, PEER_WEBHOOK, fd);
    connection->update = update;
    put_request(fake, update, &connection->out);
    update->is_delivering = true;
    update->attempt_count++;
    fake->webhook_open_count++;
    fake->handed_count++;
    if (update->handed_count++ == 0)
        update->handed_ns = now;
    if (chat != NULL)
        chat->is_delivering = true;
    if (message != NULL && message->handed_ns == 0)
        message->handed_ns = now;
}

/* An earlier update of the same chat that is not taken holds the later ones back. */
static bool is_held_back(const struct fake_telegram *fake, size_t index)
{
    for (size_t i = fake->queue_first; i < index; i++)
        if (fake->queue[i]->chat_id == fake->queue[index]->chat_id && !fake->queue[i]->is_confirmed)
            return true;
    return false;
}

int fake_deliver(struct fake_telegram *fake, uint64_t now)
{
    uint64_t soonest = UINT64_MAX;
    while (fake->queue_first < fake->queue_end && fake->queue[fake->queue_first]->is_confirmed)
        fake->queue_first++;
    if (fake->webhook_url[0] == '\0')
        return -1;
    fake_expire_updates(fake);
    for (size_t i = fake->queue_first;
         i < fake->queue_end && fake->webhook_open_count < fake->webhook_count_max; i++) {
        struct update *update = fake->queue[i];
        struct chat *chat = fake_chat(fake, update->chat_id);
        if (update->is_confirmed || update->is_delivering ||
            (chat != NULL && chat->is_delivering) || is_held_back(fake, i))
            continue;
        if (update->not_before_ns <= now)
            start_delivery(fake, update, chat, now);
        else if (update->not_before_ns < soonest)
            soonest = update->not_before_ns;
    }
    return soonest == UINT64_MAX ? -1 : (int)((soonest - now) / 1000000 + 1);
}

static bool write_request(struct fake_telegram *fake, struct connection *connection)
{
    struct sma_buf *out = &connection->out;
    while (connection->sent < out->len) {
        ssize_t count = send(connection->fd, out->ptr + connection->sent,
                             out->len - connection->sent, MSG_NOSIGNAL);
        if (count < 0)
            return errno == EAGAIN || errno == EINTR;
        connection->sent += (size_t)count;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    epoll_ctl(fake->epoll_fd, EPOLL_CTL_MOD, connection->fd, &event);
    return true;
}

void fake_webhook_event(struct fake_telegram *fake, struct connection *connection, uint32_t events)
{
    if ((events & EPOLLOUT) != 0 && (events & (EPOLLERR | EPOLLHUP)) == 0) {
        if (!write_request(fake, connection))
            end_delivery(fake, connection, false, -1);
        return;
    }
    char *room = sma_buf_reserve(&connection->in, 65536);
    ssize_t count = room == NULL ? 0 : recv(connection->fd, room, 65535, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count > 0) {
        connection->in.len += (size_t)count;
        connection->in.ptr[connection->in.len] = '\0';
    }
    int status = 0;
    if (connection->in.len == 0 || sscanf(connection->in.ptr, "HTTP/1.1 %d", &status) != 1 ||
        strstr(connection->in.ptr, "\r\n\r\n") == NULL) {
        if (count <= 0)
            end_delivery(fake, connection, false, -1);
        return;
    }
    const char *retry = strcasestr(connection->in.ptr, "\r\nretry-after:");
    end_delivery(fake, connection, status >= 200 && status < 300,
                 retry == NULL ? -1 : strtol(retry + 14, NULL, 10));
}
