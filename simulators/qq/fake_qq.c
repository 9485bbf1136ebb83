/*
 * fake_qq.c — life and state of the fake QQ platform: chats, messages, events, files. See
 * fake_qq.h.
 */
#include "fake_qq_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TICK_MS 10
#define TICK_FLOOD_MS 1
#define SENDER_THREADS 8

int64_t fake_qq_now_ms(const struct fake_qq *fake)
{
    return platform_wall_ms() + fake->clock_skew_ms;
}

uint64_t fake_qq_ticks_ms(void)
{
    return platform_now_ns() / 1000000;
}

/* -- chats ------------------------------------------------------------------------------------- */
static size_t slot_of(const char *key)
{
    uint64_t hash = 1469598103934665603u;
    for (; *key != '\0'; key++)
        hash = (hash ^ (unsigned char)*key) * 1099511628211u;
    return (size_t)(hash & (QQ_CHAT_TABLE_SIZE - 1));
}

struct chat *fake_qq_chat(const struct fake_qq *fake, const char *key)
{
    struct chat *chat = fake->chats[slot_of(key)];
    while (chat != NULL && strcmp(chat->key, key) != 0)
        chat = chat->next;
    return chat;
}

struct chat *fake_qq_add_chat(struct fake_qq *fake, const char *key)
{
    static const char *const starts[] = {"c2c:", "group:", "channel:", "dm:"};
    struct chat *chat = fake_qq_chat(fake, key);
    if (chat != NULL)
        return chat;
    size_t scene = 0;
    while (scene < SMA_COUNT_OF(starts) && strncmp(key, starts[scene], strlen(starts[scene])) != 0)
        scene++;
    if (scene == SMA_COUNT_OF(starts) || strlen(key) >= sizeof chat->key)
        return NULL;
    chat = calloc(1, sizeof *chat);
    if (chat == NULL)
        abort();
    snprintf(chat->key, sizeof chat->key, "%s", key);
    chat->scene = (enum scene)scene;
    chat->id = chat->key + strlen(starts[scene]);
    chat->index = fake->chat_count;
    chat->next = fake->chats[slot_of(key)];
    fake->chats[slot_of(key)] = chat;
    fake->chat_list =
        platform_grow(fake->chat_list, fake->chat_count, &fake->chat_room, sizeof *fake->chat_list);
    fake->chat_list[fake->chat_count++] = chat;
    return chat;
}

/* -- messages ---------------------------------------------------------------------------------- */
/* The id says where the message lies; the form is that of the platform. */
struct message *fake_qq_add_message(struct fake_qq *fake, struct chat *chat, bool is_ours)
{
    char id[80];
    bool is_guild = chat->scene == SCENE_CHANNEL || chat->scene == SCENE_DM;
    snprintf(id, sizeof id, "%s%zum%zu", is_guild ? "08" : "ROBOT1.0_c", chat->index,
             chat->message_count);
    chat->messages = platform_grow(chat->messages, chat->message_count, &chat->message_room,
                                   sizeof *chat->messages);
    struct message *message = &chat->messages[chat->message_count++];
    *message = (struct message){.id = platform_copy(sma_str(id)),
                                .is_ours = is_ours,
                                .wall_ms = fake_qq_now_ms(fake),
                                .ns = platform_now_ns(),
                                .payload = QQ_NO_PAYLOAD};
    return message;
}

struct message *fake_qq_message(const struct fake_qq *fake, const char *id, struct chat **ret_chat)
{
    size_t chat, index;
    if (sscanf(id, "ROBOT1.0_c%zum%zu", &chat, &index) != 2 &&
        sscanf(id, "08%zum%zu", &chat, &index) != 2)
        return NULL;
    if (chat >= fake->chat_count || index >= fake->chat_list[chat]->message_count)
        return NULL;
    *ret_chat = fake->chat_list[chat];
    struct message *message = &(*ret_chat)->messages[index];
    return strcmp(message->id, id) == 0 ? message : NULL;
}

/* -- events ------------------------------------------------------------------------------------ */
static uint32_t intent_of(const char *type)
{
    static const struct
    {
        const char *start;
        uint32_t intent;
    } intents[] = {{"C2C_", QQ_INTENT_CHAT},
                   {"GROUP_MEMBER_", UINT32_C(1) << 24},
                   {"GROUP_", QQ_INTENT_CHAT},
                   {"FRIEND_", QQ_INTENT_CHAT},
                   {"AT_MESSAGE_", QQ_INTENT_PUBLIC},
                   {"PUBLIC_MESSAGE_", QQ_INTENT_PUBLIC},
                   {"MESSAGE_AUDIT_", QQ_INTENT_AUDIT},
                   {"MESSAGE_REACTION_", QQ_INTENT_REACTIONS},
                   {"MESSAGE_", QQ_INTENT_GUILD_MESSAGES},
                   {"DIRECT_MESSAGE_", QQ_INTENT_DIRECT},
                   {"INTERACTION_", QQ_INTENT_INTERACTION},
                   {"GUILD_MEMBER_", QQ_INTENT_MEMBERS},
                   {"GUILD_", QQ_INTENT_GUILDS},
                   {"CHANNEL_", QQ_INTENT_GUILDS}};
    for (size_t i = 0; i < SMA_COUNT_OF(intents); i++)
        if (strncmp(type, intents[i].start, strlen(intents[i].start)) == 0)
            return intents[i].intent;
    return 0; /* everybody gets it */
}

static uint64_t shard_key_of(const struct fake_qq *fake, size_t chat)
{
    if (chat == SIZE_MAX)
        return 0;
    const struct chat *where = fake->chat_list[chat];
    if (where->scene == SCENE_CHANNEL || where->scene == SCENE_DM)
        return strtoull(where->guild, NULL, 10) >> 22;
    return slot_of(where->id); /* not documented: any shard may carry it */
}

size_t fake_qq_add_payload(struct fake_qq *fake, const char *type, char *data, size_t chat,
                           size_t message)
{
    char id[128];
    size_t index = fake->payload_count;
    snprintf(id, sizeof id, "%s:e%zuAb", type, index);
    fake->payloads =
        platform_grow(fake->payloads, index, &fake->payload_room, sizeof *fake->payloads);
    fake->payloads[index] = (struct payload){.type = type,
                                             .id = platform_copy(sma_str(id)),
                                             .data = data,
                                             .intent = intent_of(type),
                                             .shard_key = shard_key_of(fake, chat),
                                             .chat = chat,
                                             .message = message,
                                             .wall_ms = fake_qq_now_ms(fake)};
    fake->payload_count++;
    return index;
}

struct payload *fake_qq_payload(const struct fake_qq *fake, const char *id)
{
    const char *colon = strchr(id, ':');
    size_t index;
    if (colon == NULL || sscanf(colon, ":e%zuAb", &index) != 1 || index >= fake->payload_count ||
        strcmp(fake->payloads[index].id, id) != 0)
        return NULL;
    return &fake->payloads[index];
}

/* -- small things ------------------------------------------------------------------------------ */
size_t fake_qq_add_file(struct fake_qq *fake, const char *name, struct sma_str bytes)
{
    char id[32];
    fake->files =
        platform_grow(fake->files, fake->file_count, &fake->file_room, sizeof *fake->files);
    snprintf(id, sizeof id, "f%zu", fake->file_count);
    fake->files[fake->file_count] = (struct file){.id = platform_copy(sma_str(id)),
                                                  .name = platform_copy(sma_str(name)),
                                                  .bytes = platform_copy(bytes),
                                                  .len = bytes.len,
                                                  .given_ms = fake_qq_now_ms(fake)};
    return fake->file_count++;
}

void fake_qq_put_time(char *text, size_t size, int64_t wall_ms, bool is_old_form)
{
    time_t shifted = (time_t)(wall_ms / 1000 + 8 * 3600);
    struct tm parts;
    gmtime_r(&shifted, &parts);
    strftime(text, size,
             is_old_form ? "%Y-%m-%d %H:%M:%S +0800 CST m=+1234.567890123"
                         : "%Y-%m-%dT%H:%M:%S+08:00",
             &parts);
}

/* -- life -------------------------------------------------------------------------------------- */
static void tick(void *user, struct ws_server *server)
{
    struct fake_qq *fake = user;
    if (fake->is_stopping)
        return;
    uint64_t now_ms = fake_qq_ticks_ms();
    fake_qq_tick_links(fake, now_ms);
    fake_qq_tick_webhook(fake, now_ms);
    fake_qq_tick_load(fake, platform_now_ns());
    bool is_flooding = fake->load.is_flood && fake->load.started < fake->load.total;
    ws_server_after(server, is_flooding ? TICK_FLOOD_MS : TICK_MS, tick, fake);
}

static void on_request(void *user, struct ws_server *server,
                       const struct ws_server_request *request)
{
    (void)server;
    struct fake_qq *fake = user;
    if (request->is_upgrade)
        fake_qq_upgrade(fake, request);
    else
        fake_qq_serve(fake, request);
}

static void on_message(void *user, struct ws_server *server, unsigned conn, struct sma_str bytes,
                       bool is_binary)
{
    (void)server;
    fake_qq_link_message(user, conn, bytes, is_binary);
}

static void on_closed(void *user, struct ws_server *server, unsigned conn, unsigned code,
                      struct sma_str reason)
{
    (void)server;
    (void)reason;
    fake_qq_link_closed(user, conn, code);
}

static void set_defaults(struct fake_qq *fake)
{
    *fake = (struct fake_qq){.token_life_s = 7200,
                             .token_overlap_s = 60,
                             .heartbeat_ms = 41250,
                             .session_ms = 300000,
                             .intents_allowed = QQ_INTENT_GUILDS | QQ_INTENT_MEMBERS |
                                                QQ_INTENT_REACTIONS | QQ_INTENT_DIRECT |
                                                QQ_INTENT_CHAT | QQ_INTENT_INTERACTION |
                                                QQ_INTENT_AUDIT | QQ_INTENT_PUBLIC,
                             .identify_total = 1000,
                             .identify_remaining = 1000,
                             .identify_concurrency = 1,
                             .shards_told = 1,
                             .resume_refusal = "op9",
                             .text_max = 5000,
                             .active_per_minute = 20,
                             .active_per_day = 1000,
                             .per_second = 100,
                             .block_size = 5000000,
                             .file_bytes_max = 200 << 20,
                             .media_ttl_s = 300,
                             .window_scale = 1,
                             .interaction_ms_max = 5000,
                             .webhook_retry_ms = 1000,
                             .webhook_tries_max = 8,
                             .refusals = json_array()};
    platform_init(&fake->platform);
}

struct fake_qq *fake_qq_start(int port)
{
    static const struct ws_server_hooks hooks = {
        .request = on_request, .message = on_message, .closed = on_closed};
    struct fake_qq *fake = calloc(1, sizeof *fake);
    if (fake == NULL)
        abort();
    set_defaults(fake);
    snprintf(fake->app, sizeof fake->app, "%s", FAKE_QQ_APP_ID);
    fake->sender = platform_sender_create(SENDER_THREADS);
    /* The hooks wait for the first call of a client, and that needs the port, which is told after
     * this. */
    fake->server = ws_server_start(
        &(struct ws_server_options){.port = (uint16_t)port, .hooks = &hooks, .user = fake});
    ws_server_lock(fake->server);
    fake->platform.server = fake->server;
    ws_server_after(fake->server, TICK_MS, tick, fake);
    ws_server_unlock(fake->server);
    return fake;
}

static void free_chat(struct chat *chat)
{
    for (size_t i = 0; i < chat->message_count; i++) {
        struct message *message = &chat->messages[i];
        free(message->id);
        free(message->text);
        free(message->replied);
        free(message->kind);
        free(message->detail);
        free(message->replies.seqs);
    }
    free(chat->messages);
    free(chat);
}

static void free_sessions(struct fake_qq *fake)
{
    while (fake->sessions != NULL) {
        struct session *session = fake->sessions;
        fake->sessions = session->next;
        free(session->entries);
        free(session);
    }
    while (fake->links != NULL) {
        struct link *link = fake->links;
        fake->links = link->next;
        free(link);
    }
}

static void free_files(struct fake_qq *fake)
{
    for (size_t i = 0; i < fake->file_count; i++) {
        free(fake->files[i].id);
        free(fake->files[i].name);
        free(fake->files[i].bytes);
    }
    for (size_t i = 0; i < fake->upload_count; i++) {
        free(fake->uploads[i].bytes);
        free(fake->uploads[i].part_states);
    }
    for (size_t i = 0; i < fake->media_count; i++)
        free(fake->media[i].what);
    free(fake->files);
    free(fake->uploads);
    free(fake->media);
}

void fake_qq_stop(struct fake_qq *fake)
{
    ws_server_lock(fake->server);
    fake->is_stopping = true;
    ws_server_unlock(fake->server);
    platform_sender_destroy(fake->sender);
    ws_server_stop(fake->server);
    if (fake->impostor != NULL)
        ws_server_stop(fake->impostor);
    platform_fini(&fake->platform);
    for (size_t i = 0; i < fake->payload_count; i++) {
        free(fake->payloads[i].id);
        free(fake->payloads[i].data);
        free(fake->payloads[i].replies.seqs);
    }
    for (size_t i = 0; i < fake->chat_count; i++)
        free_chat(fake->chat_list[i]);
    free_sessions(fake);
    free_files(fake);
    free(fake->payloads);
    free(fake->chat_list);
    free(fake->interactions);
    free(fake->webhook_retries);
    json_decref(fake->refusals);
    free(fake);
}

int fake_qq_port(const struct fake_qq *fake)
{
    return ws_server_port(fake->server);
}

static json_t *run(void *user, json_t *command)
{
    struct fake_qq *fake = user;
    json_t *answer = fake_qq_talk(fake, command);
    if (answer == NULL) {
        ws_server_lock(fake->server);
        answer = fake_qq_control(fake, command);
        ws_server_unlock(fake->server);
    }
    json_decref(command);
    return answer;
}

struct platform_client fake_qq_client(struct fake_qq *fake)
{
    return (struct platform_client){.run = run, .fake = fake, .port = fake_qq_port(fake)};
}
