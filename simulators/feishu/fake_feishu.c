/*
 * fake_feishu.c — the state of the fake Feishu and its thread. See fake_feishu.h.
 */
#include "fake_feishu_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define TICK_MS 5
#define COMPLAINTS_MAX 200

/* -- ids --------------------------------------------------------------------------------------- */
void fake_feishu_make_id(struct fake_feishu *fake, const char *prefix, char *ret_id)
{
    uint64_t number = ++fake->number;
    snprintf(ret_id, FEISHU_ID_SIZE, "%s%016llx%016llx", prefix,
             (unsigned long long)(number * 0x9E3779B97F4A7C15u), (unsigned long long)number);
}

size_t fake_feishu_index(const struct fake_feishu *fake, const char *key)
{
    const json_t *number = json_object_get(fake->index, key);
    return number == NULL ? 0 : (size_t)json_integer_value(number) + 1;
}

void fake_feishu_set_index(struct fake_feishu *fake, const char *key, size_t number)
{
    json_object_set_new(fake->index, key, json_integer((json_int_t)number));
}

void fake_feishu_complain(struct fake_feishu *fake, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (json_array_size(fake->complaints) < COMPLAINTS_MAX)
        json_array_append_new(fake->complaints, json_string(text));
}

static void *make(size_t size)
{
    void *made = calloc(1, size);
    if (made == NULL)
        abort();
    return made;
}

/* -- people, chats, messages, files ------------------------------------------------------------ */
struct person *fake_feishu_person(const struct fake_feishu *fake, const char *id)
{
    size_t at = strncmp(id, "ou_", 3) == 0 ? fake_feishu_index(fake, id) : 0;
    return at == 0 ? NULL : fake->persons[at - 1];
}

struct person *fake_feishu_add_person(struct fake_feishu *fake, const char *id, const char *name)
{
    struct person *person = fake_feishu_person(fake, id);
    if (person != NULL)
        return person;
    person = make(sizeof *person);
    snprintf(person->id, sizeof person->id, "%s", id);
    person->name = platform_copy(sma_str(name));
    fake->persons = platform_grow(fake->persons, fake->person_count, &fake->person_room,
                                  sizeof(struct person *));
    fake_feishu_set_index(fake, id, fake->person_count);
    fake->persons[fake->person_count++] = person;
    return person;
}

struct room *fake_feishu_room(const struct fake_feishu *fake, const char *id)
{
    size_t at = strncmp(id, "oc_", 3) == 0 ? fake_feishu_index(fake, id) : 0;
    return at == 0 ? NULL : fake->rooms[at - 1];
}

struct room *fake_feishu_add_room(struct fake_feishu *fake, const char *id, const char *name)
{
    struct room *room = fake_feishu_room(fake, id);
    if (room != NULL)
        return room;
    room = make(sizeof *room);
    snprintf(room->id, sizeof room->id, "%s", id);
    room->name = platform_copy(sma_str(name));
    room->has_bot = true;
    room->managers = json_array();
    room->members = json_array();
    fake->rooms =
        platform_grow(fake->rooms, fake->room_count, &fake->room_room, sizeof(struct room *));
    fake_feishu_set_index(fake, id, fake->room_count);
    fake->rooms[fake->room_count++] = room;
    return room;
}

/* Ids of messages end in their place in the list. */
static size_t place_of(const char *id)
{
    size_t len = strlen(id);
    return len < 12 ? 0 : (size_t)strtoull(id + len - 12, NULL, 16);
}

struct note *fake_feishu_note(const struct fake_feishu *fake, const char *id)
{
    size_t place = place_of(id);
    if (place == 0 || place > fake->note_count || strcmp(fake->notes[place - 1]->id, id) != 0)
        return NULL;
    return fake->notes[place - 1];
}

struct note *fake_feishu_add_note(struct fake_feishu *fake, struct room *room, const char *from,
                                  const char *type)
{
    static const char *const types[] = {"text",       "post",       "image",         "file",
                                        "audio",      "media",      "sticker",       "interactive",
                                        "share_chat", "share_user", "merge_forward", "location",
                                        "folder",     "system",     "vote"};
    struct note *note = make(sizeof *note);
    fake->notes =
        platform_grow(fake->notes, fake->note_count, &fake->note_room, sizeof(struct note *));
    fake->notes[fake->note_count++] = note;
    unsigned long long place = fake->note_count;
    snprintf(note->id, sizeof note->id, "om_%020llx%012llx", place * 0x9E3779B97F4A7C15u, place);
    snprintf(note->from, sizeof note->from, "%s", from);
    note->type = "other";
    for (size_t i = 0; i < SMA_COUNT_OF(types); i++)
        if (strcmp(types[i], type) == 0)
            note->type = types[i];
    note->room = room;
    note->ns = platform_now_ns();
    note->wall_ms = platform_wall_ms();
    return note;
}

struct note *fake_feishu_named_note(const struct fake_feishu *fake, const char *text)
{
    static const char end[] = "-feishu";
    for (const char *at = text; (at = strstr(at, end)) != NULL; at += sizeof end - 1) {
        const char *start = at;
        while (start > text && start[-1] >= '0' && start[-1] <= '9')
            start--;
        size_t place = (size_t)strtoull(start, NULL, 10);
        if (start > text && start[-1] == 'm' && place > 0 && place <= fake->note_count)
            return fake->notes[place - 1];
    }
    return NULL;
}

struct file *fake_feishu_add_file(struct fake_feishu *fake, const char *prefix, const char *type,
                                  const char *name, struct sma_str bytes)
{
    static const char *const types[] = {"image", "opus", "mp4",    "pdf", "doc",
                                        "xls",   "ppt",  "stream", "file"};
    struct file *file = make(sizeof *file);
    fake_feishu_make_id(fake, prefix, file->key);
    file->type = "file";
    for (size_t i = 0; i < SMA_COUNT_OF(types); i++)
        if (strcmp(types[i], type) == 0)
            file->type = types[i];
    file->name = platform_copy(sma_str(name));
    file->bytes = platform_copy(bytes);
    file->len = bytes.len;
    fake->files =
        platform_grow(fake->files, fake->file_count, &fake->file_room, sizeof(struct file *));
    fake_feishu_set_index(fake, file->key, fake->file_count);
    fake->files[fake->file_count++] = file;
    return file;
}

struct file *fake_feishu_file(const struct fake_feishu *fake, const char *key)
{
    bool is_key = strncmp(key, "img_", 4) == 0 || strncmp(key, "file_", 5) == 0;
    size_t at = is_key ? fake_feishu_index(fake, key) : 0;
    return at == 0 ? NULL : fake->files[at - 1];
}

/* -- life -------------------------------------------------------------------------------------- */
static void on_request(void *user, struct ws_server *server,
                       const struct ws_server_request *request)
{
    struct fake_feishu *fake = user;
    if (platform_serve_control(server, request, fake_feishu_control, fake))
        return;
    if (sma_str_is_equal(request->path, SMA_STR("/ws/v2")))
        fake_feishu_serve_handshake(fake, request);
    else
        fake_feishu_serve(fake, request);
}

static void on_message(void *user, struct ws_server *server, unsigned conn, struct sma_str bytes,
                       bool is_binary)
{
    (void)server;
    fake_feishu_take_frame(user, conn, bytes, is_binary);
}

static void on_closed(void *user, struct ws_server *server, unsigned conn, unsigned code,
                      struct sma_str reason)
{
    (void)server;
    (void)reason;
    fake_feishu_link_closed(user, conn, code);
}

static void on_tick(void *user, struct ws_server *server)
{
    fake_feishu_tick(user);
    ws_server_after(server, TICK_MS, on_tick, user);
}

static void set_defaults(struct fake_feishu *fake)
{
    platform_init(&fake->platform);
    snprintf(fake->secret, sizeof fake->secret, "%s", FAKE_FEISHU_SECRET);
    snprintf(fake->app, sizeof fake->app, "%s", FAKE_FEISHU_APP);
    fake->index = json_object();
    fake->reactions = json_array();
    fake->complaints = json_array();
    fake->forged = json_array();
    fake->token_life_s = 7200;
    fake->token_renew_s = 1800;
    fake->link_max = 50;
    fake->ping_interval_s = 120;
    fake->reconnect_interval_s = 120;
    fake->reconnect_nonce_s = 30;
    fake->has_pongs = fake->has_pong_config = true;
    fake->service = 33554678;
    fake->scale = 1;
    fake->ack_ms = 3000;
    fake->chat_per_second = 5;
    fake->edit_per_second = 5;
    fake->app_per_second = 50;
    fake->kit_per_second = 10;
    fake->kit_stream_ms = 600000;
    fake->uuid_life_ms = 3600000;
}

struct fake_feishu *fake_feishu_start(int port)
{
    static const struct ws_server_hooks hooks = {
        .request = on_request, .message = on_message, .closed = on_closed};
    struct fake_feishu *fake = make(sizeof *fake);
    set_defaults(fake);
    fake->server = ws_server_start(
        &(struct ws_server_options){.port = (uint16_t)port, .hooks = &hooks, .user = fake});
    fake->platform.server = fake->server;
    ws_server_after(fake->server, TICK_MS, on_tick, fake);
    return fake;
}

int fake_feishu_port(const struct fake_feishu *fake)
{
    return ws_server_port(fake->server);
}

static void free_rooms(struct fake_feishu *fake)
{
    for (size_t i = 0; i < fake->person_count; i++) {
        free(fake->persons[i]->name);
        free(fake->persons[i]);
    }
    for (size_t i = 0; i < fake->room_count; i++) {
        json_decref(fake->rooms[i]->managers);
        json_decref(fake->rooms[i]->members);
        free(fake->rooms[i]->name);
        free(fake->rooms[i]);
    }
    for (size_t i = 0; i < fake->note_count; i++) {
        json_decref(fake->notes[i]->mentions);
        free(fake->notes[i]->content);
        free(fake->notes[i]->text);
        free(fake->notes[i]);
    }
    for (size_t i = 0; i < fake->file_count; i++) {
        free(fake->files[i]->name);
        free(fake->files[i]->bytes);
        free(fake->files[i]);
    }
    free(fake->persons);
    free(fake->rooms);
    free(fake->notes);
    free(fake->files);
}

static void free_events(struct fake_feishu *fake)
{
    for (size_t i = 0; i < fake->event_count; i++) {
        json_decref(fake->events[i]->result);
        free(fake->events[i]->json);
        free(fake->events[i]);
    }
    for (size_t i = 0; i < fake->delivery_count; i++) {
        sma_buf_fini(&fake->deliveries[i]->stub);
        free(fake->deliveries[i]);
    }
    free(fake->events);
    free(fake->deliveries);
    free(fake->tickets);
}

void fake_feishu_stop(struct fake_feishu *fake)
{
    platform_sender_destroy(fake->sender); /* before the lock its threads need goes */
    ws_server_stop(fake->bad_tls);
    ws_server_stop(fake->server);
    platform_fini(&fake->platform);
    free_rooms(fake);
    free_events(fake);
    fake_feishu_kit_free(fake);
    json_decref(fake->index);
    json_decref(fake->reactions);
    json_decref(fake->complaints);
    json_decref(fake->forged);
    free(fake);
}

json_t *fake_feishu_command(struct fake_feishu *fake, json_t *command)
{
    ws_server_lock(fake->server);
    json_t *answer = fake_feishu_control(fake, command);
    ws_server_unlock(fake->server);
    json_decref(command);
    return answer;
}

static json_t *run_command(void *fake, json_t *command)
{
    return fake_feishu_command(fake, command);
}

struct platform_client fake_feishu_client(struct fake_feishu *fake)
{
    return (struct platform_client){run_command, fake, fake_feishu_port(fake)};
}
