/*
 * fake_telegram.c — the state of the fake Bot API and its thread. See fake_telegram.h.
 */
#include "fake_telegram_priv.h"

#include "sma/clock.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

uint64_t fake_now_ns(void)
{
    return sma_clock_now_ns();
}

int64_t fake_date(const struct fake_telegram *fake)
{
    return sma_clock_wall_ms() / 1000 + fake->clock_skew_s;
}

void *fake_grow(void *list, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return list;
    *room = *room == 0 ? 16 : *room * 2;
    void *grown = realloc(list, *room * size);
    if (grown == NULL)
        abort();
    memset((char *)grown + count * size, 0, (*room - count) * size);
    return grown;
}

char *fake_copy(struct sma_str text)
{
    char *copy = malloc(text.len + 1);
    if (copy == NULL)
        abort();
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

/* -- people and chats -------------------------------------------------------------------------- */
static size_t slot_of(const struct fake_telegram *fake, int64_t id)
{
    size_t slot = ((uint64_t)id * 0x9E3779B97F4A7C15u) >> 50;
    while (fake->chats[slot] != NULL && fake->chats[slot]->id != id)
        slot = (slot + 1) % CHAT_TABLE_SIZE;
    return slot;
}

struct chat *fake_chat(const struct fake_telegram *fake, int64_t id)
{
    return fake->chats[slot_of(fake, id)];
}

struct chat *fake_add_chat(struct fake_telegram *fake, int64_t id, const char *type,
                           const char *title)
{
    static const char *const types[] = {"private", "group", "supergroup", "channel"};
    size_t slot = slot_of(fake, id);
    if (fake->chats[slot] != NULL)
        return fake->chats[slot];
    struct chat *chat = calloc(1, sizeof *chat);
    if (chat == NULL)
        abort();
    chat->id = id;
    chat->type = types[2];
    for (size_t i = 0; i < SMA_COUNT_OF(types); i++)
        if (strcmp(type, types[i]) == 0)
            chat->type = types[i];
    chat->title = fake_copy(sma_str(title));
    fake->chats[slot] = chat;
    return chat;
}

static size_t user_slot_of(const struct fake_telegram *fake, int64_t id)
{
    size_t slot = ((uint64_t)id * 0x9E3779B97F4A7C15u) >> 50;
    while (fake->user_slots[slot] != 0 && fake->users[fake->user_slots[slot] - 1].id != id)
        slot = (slot + 1) % CHAT_TABLE_SIZE;
    return slot;
}

struct user *fake_user(const struct fake_telegram *fake, int64_t id)
{
    uint32_t index = fake->user_slots[user_slot_of(fake, id)];
    return index == 0 ? NULL : &fake->users[index - 1];
}

struct user *fake_add_user(struct fake_telegram *fake, int64_t id, const char *first_name,
                           const char *username, const char *language)
{
    struct user *user = fake_user(fake, id);
    if (user != NULL)
        return user;
    fake->users = fake_grow(fake->users, fake->user_count, &fake->user_room, sizeof *fake->users);
    size_t slot = user_slot_of(fake, id);
    user = &fake->users[fake->user_count++];
    fake->user_slots[slot] = (uint32_t)fake->user_count;
    *user = (struct user){.id = id, .first_name = fake_copy(sma_str(first_name))};
    user->username = fake_copy(sma_str(username));
    user->language = fake_copy(sma_str(language));
    return user;
}

struct message *fake_message(const struct chat *chat, int64_t id)
{
    id -= chat == NULL ? 0 : chat->id_offset;
    if (chat == NULL || id < 1 || (uint64_t)id > chat->message_count)
        return NULL;
    struct message *message = &chat->messages[id - 1];
    return message->is_deleted ? NULL : message;
}

struct message *fake_add_message(struct chat *chat)
{
    chat->messages =
        fake_grow(chat->messages, chat->message_count, &chat->message_room, sizeof *chat->messages);
    struct message *message = &chat->messages[chat->message_count++];
    *message = (struct message){
        .id = chat->id_offset + (int64_t)chat->message_count, .kind = "text", .ns = fake_now_ns()};
    return message;
}

size_t fake_add_file(struct fake_telegram *fake, const char *kind, const char *name,
                     struct sma_str bytes)
{
    fake->files = fake_grow(fake->files, fake->file_count, &fake->file_room, sizeof *fake->files);
    struct file *file = &fake->files[fake->file_count++];
    char id[96], path[96];
    const char *dot = strrchr(name, '.');
    snprintf(id, sizeof id, "%08zxAAFileIdOf%s", fake->file_count * 7919, kind);
    snprintf(path, sizeof path, "%ss/file_%zu%.16s", kind, fake->file_count,
             dot == NULL ? "" : dot);
    *file = (struct file){fake_copy(sma_str(id)), fake_copy(sma_str(path)),
                          fake_copy(sma_str(name)), fake_copy(bytes), bytes.len};
    return fake->file_count;
}

const struct file *fake_find_file(const struct fake_telegram *fake, const char *id,
                                  const char *path)
{
    for (size_t i = 0; i < fake->file_count; i++)
        if ((id != NULL && strcmp(fake->files[i].id, id) == 0) ||
            (path != NULL && strcmp(fake->files[i].path, path) == 0))
            return &fake->files[i];
    return NULL;
}

bool fake_has_topic(const struct chat *chat, int64_t thread)
{
    for (size_t i = 0; i < chat->topic_count; i++)
        if (chat->topics[i] == thread)
            return true;
    return false;
}

void fake_put_user(struct sma_buf *out, const struct user *user)
{
    sma_buf_printf(out, "{\"id\":%lld,\"is_bot\":%s,\"first_name\":", (long long)user->id,
                   user->is_bot ? "true" : "false");
    sma_buf_put_json_string(out, sma_str(user->first_name));
    if (user->username[0] != '\0') {
        sma_buf_put_text(out, ",\"username\":");
        sma_buf_put_json_string(out, sma_str(user->username));
    }
    if (user->language[0] != '\0') {
        sma_buf_put_text(out, ",\"language_code\":");
        sma_buf_put_json_string(out, sma_str(user->language));
    }
    sma_buf_put_char(out, '}');
}

void fake_put_bot(struct sma_buf *out)
{
    sma_buf_printf(out,
                   "{\"id\":%lld,\"is_bot\":true,\"first_name\":\"Helper\",\"username\":\"%s\"}",
                   (long long)FAKE_TELEGRAM_BOT_ID, FAKE_TELEGRAM_BOT_NAME);
}

void fake_put_chat(const struct fake_telegram *fake, struct sma_buf *out, const struct chat *chat)
{
    const struct user *user = chat->id > 0 ? fake_user(fake, chat->id) : NULL;
    sma_buf_printf(out, "{\"id\":%lld,\"type\":\"%s\"", (long long)chat->id, chat->type);
    sma_buf_put_text(out, chat->id > 0 ? ",\"first_name\":" : ",\"title\":");
    sma_buf_put_json_string(out, sma_str(user != NULL ? user->first_name : chat->title));
    if (user != NULL && user->username[0] != '\0') {
        sma_buf_put_text(out, ",\"username\":");
        sma_buf_put_json_string(out, sma_str(user->username));
    }
    sma_buf_put_text(out, chat->is_forum ? ",\"is_forum\":true}" : "}");
}

struct message *fake_find_token(const struct fake_telegram *fake, const char *text,
                                struct chat **ret_chat)
{
    for (const char *at = text; (at = strchr(at, 'm')) != NULL; at++) {
        long long chat_id, id;
        if ((at > text && at[-1] != ' ') || sscanf(at, "m%lld-%lld", &chat_id, &id) != 2)
            continue;
        *ret_chat = fake_chat(fake, chat_id);
        struct message *message = fake_message(*ret_chat, id);
        if (message != NULL)
            return message;
    }
    return NULL;
}

/* -- life -------------------------------------------------------------------------------------- */
static struct fake_telegram *create(int port)
{
    struct fake_telegram *fake = calloc(1, sizeof *fake);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t len = sizeof address;
    int one = 1;
    if (fake == NULL)
        abort();
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fake->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    fake->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    fake->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    setsockopt(fake->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fake->wake_fd < 0 || fake->epoll_fd < 0 ||
        bind(fake->listen_fd, (struct sockaddr *)&address, len) != 0 ||
        listen(fake->listen_fd, 1024) != 0 ||
        getsockname(fake->listen_fd, (struct sockaddr *)&address, &len) != 0) {
        perror("fake_telegram");
        exit(2);
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(fake->epoll_fd, EPOLL_CTL_ADD, fake->listen_fd, &event);
    event.data.ptr = &fake->wake_fd;
    epoll_ctl(fake->epoll_fd, EPOLL_CTL_ADD, fake->wake_fd, &event);
    pthread_mutex_init(&fake->lock, NULL);
    fake->port = ntohs(address.sin_port);
    snprintf(fake->token, sizeof fake->token, "%s", FAKE_TELEGRAM_TOKEN);
    fake->reads_all = true;
    fake->next_update_id = 900000000;
    fake->allowed = fake_allowed_mask(NULL);
    fake->callback_ms_max = 15000;
    fake->webhook_count_max = 40;
    fake->webhook_retry_ms = 100;
    fake->commands = json_object();
    fake->counts = json_object();
    return fake;
}

int fake_telegram_port(const struct fake_telegram *fake)
{
    return fake->port;
}

static int sooner(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* What is due now; @return ms until the next thing is. */
static int work(struct fake_telegram *fake)
{
    uint64_t now = fake_now_ns();
    int wait = fake_resume(fake, now);
    fake_serve_poll(fake, now);
    wait = sooner(wait, fake_deliver(fake, now));
    if (fake->poll != NULL) {
        uint64_t until = fake->poll->poll_until_ns;
        wait = sooner(wait, until <= now ? 0 : (int)((until - now) / 1000000 + 1));
    }
    return wait;
}

static void serve(struct fake_telegram *fake)
{
    struct epoll_event events[64];
    pthread_mutex_lock(&fake->lock);
    while (!fake->is_stopping) {
        int wait = work(fake);
        fake_bury(fake);
        pthread_mutex_unlock(&fake->lock);
        int count =
            epoll_wait(fake->epoll_fd, events, SMA_COUNT_OF(events), sma_clock_poll_ms(wait));
        pthread_mutex_lock(&fake->lock);
        for (int i = 0; i < count; i++) {
            uint64_t ignored;
            if (events[i].data.ptr == NULL)
                fake_accept(fake);
            else if (events[i].data.ptr == &fake->wake_fd)
                (void)!read(fake->wake_fd, &ignored, sizeof ignored);
            else
                fake_handle_event(fake, events[i].data.ptr, events[i].events);
        }
    }
    pthread_mutex_unlock(&fake->lock);
}

static void *run_thread(void *user)
{
    serve(user);
    return NULL;
}

struct fake_telegram *fake_telegram_start(int port)
{
    struct fake_telegram *fake = create(port);
    if (pthread_create(&fake->thread, NULL, run_thread, fake) != 0)
        abort();
    return fake;
}

static void free_chat(struct chat *chat)
{
    if (chat == NULL)
        return;
    for (size_t i = 0; i < chat->message_count; i++) {
        free(chat->messages[i].text);
        free(chat->messages[i].raw);
        free(chat->messages[i].markup);
        free(chat->messages[i].reaction);
        free(chat->messages[i].json);
    }
    free(chat->messages);
    free(chat->written_ns);
    free(chat->draft);
    free(chat->title);
    free(chat);
}

static void free_lists(struct fake_telegram *fake)
{
    for (size_t i = 0; i < CHAT_TABLE_SIZE; i++)
        free_chat(fake->chats[i]);
    for (size_t i = 0; i < fake->user_count; i++) {
        free(fake->users[i].first_name);
        free(fake->users[i].username);
        free(fake->users[i].language);
    }
    for (size_t i = 0; i < fake->file_count; i++) {
        free(fake->files[i].id);
        free(fake->files[i].path);
        free(fake->files[i].name);
        free(fake->files[i].bytes);
    }
    for (size_t i = 0; i < fake->callback_count; i++)
        free(fake->callbacks[i].text);
    for (size_t i = 0; i < fake->update_count; i++) {
        free(fake->updates[i]->json);
        free(fake->updates[i]);
    }
    free(fake->users);
    free(fake->files);
    free(fake->callbacks);
    free(fake->updates);
    free(fake->queue);
    free(fake->faults);
}

void fake_telegram_stop(struct fake_telegram *fake)
{
    uint64_t one = 1;
    pthread_mutex_lock(&fake->lock);
    fake->is_stopping = true;
    pthread_mutex_unlock(&fake->lock);
    (void)!write(fake->wake_fd, &one, sizeof one);
    pthread_join(fake->thread, NULL);
    while (fake->connections != NULL)
        fake_close_connection(fake, fake->connections);
    fake_bury(fake);
    close(fake->listen_fd);
    close(fake->epoll_fd);
    close(fake->wake_fd);
    free_lists(fake);
    json_decref(fake->commands);
    json_decref(fake->counts);
    pthread_mutex_destroy(&fake->lock);
    free(fake);
}

json_t *fake_telegram_command(struct fake_telegram *fake, json_t *command)
{
    uint64_t one = 1;
    pthread_mutex_lock(&fake->lock);
    json_t *answer = fake_control(fake, command);
    pthread_mutex_unlock(&fake->lock);
    (void)!write(fake->wake_fd, &one, sizeof one);
    json_decref(command);
    return answer;
}

static json_t *run_command(void *fake, json_t *command)
{
    return fake_telegram_command(fake, command);
}

struct platform_client fake_telegram_client(struct fake_telegram *fake)
{
    return (struct platform_client){run_command, fake, fake->port};
}
