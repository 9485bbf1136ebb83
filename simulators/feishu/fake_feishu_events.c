/*
 * fake_feishu_events.c — what people do in the chats, as the events that tell the bot of it.
 */
#include "fake_feishu_priv.h"

#include <stdio.h>
#include <stdlib.h>

/* -- events ------------------------------------------------------------------------------------ */
struct event *fake_feishu_publish_bytes(struct fake_feishu *fake, const char *id, char *json)
{
    struct event *event = calloc(1, sizeof *event);
    if (event == NULL)
        abort();
    event->index = fake->event_count;
    snprintf(event->id, sizeof event->id, "%s", id);
    event->json = json;
    event->made_ns = platform_now_ns();
    fake->events =
        platform_grow(fake->events, fake->event_count, &fake->event_room, sizeof(struct event *));
    fake->events[fake->event_count++] = event;
    return event;
}

struct event *fake_feishu_publish(struct fake_feishu *fake, const char *type, json_t *body)
{
    char id[FEISHU_ID_SIZE], time[32];
    bool is_callback = strcmp(type, "card.action.trigger") == 0;
    fake_feishu_make_id(fake, "", id);
    snprintf(time, sizeof time, "%lld%s", (long long)platform_wall_ms(),
             is_callback ? "123" : ""); /* callbacks: microseconds */
    json_t *tree =
        json_pack("{s:s,s:{s:s,s:s,s:s,s:s,s:s,s:s},s:o}", "schema", "2.0", "header", "event_id",
                  id, "event_type", type, "create_time", time, "token", fake->hook_token, "app_id",
                  fake->app, "tenant_key", FEISHU_TENANT, "event", body);
    if (tree == NULL)
        abort();
    struct event *event = fake_feishu_publish_bytes(fake, id, json_dumps(tree, JSON_COMPACT));
    event->is_callback = is_callback;
    json_decref(tree);
    return event;
}

static json_t *ids_of(const char *open_id)
{
    char union_id[FEISHU_ID_SIZE];
    snprintf(union_id, sizeof union_id, "on_%.56s", open_id + 3);
    return json_pack("{s:s,s:n,s:s}", "union_id", union_id, "user_id", "open_id", open_id);
}

/* -- messages ---------------------------------------------------------------------------------- */
static json_t *mention(const struct fake_feishu *fake, const char *open_id, const char *key)
{
    const struct person *person = fake_feishu_person(fake, open_id);
    bool is_bot = strcmp(open_id, FAKE_FEISHU_BOT) == 0;
    return json_pack("{s:s,s:o,s:s,s:s,s:s}", "key", key, "id", ids_of(open_id), "mentioned_type",
                     is_bot ? "bot" : "user", "name",
                     is_bot           ? "Helper"
                     : person == NULL ? "Somebody"
                                      : person->name,
                     "tenant_key", FEISHU_TENANT);
}

/* "@{ou_ann} hi @{bot} @{all}" as the platform has it: "@_user_1 hi @_user_2 @_all". Takes mentions
 * down. */
static void put_words(const struct fake_feishu *fake, const char *text, struct sma_buf *out,
                      json_t *mentions)
{
    for (const char *at = text; *at != '\0'; at++) {
        const char *end = at[0] == '@' && at[1] == '{' ? strchr(at, '}') : NULL;
        char id[FEISHU_ID_SIZE], key[24];
        if (end == NULL) {
            sma_buf_put_char(out, *at);
            continue;
        }
        snprintf(id, sizeof id, "%.*s", (int)(end - at - 2), at + 2);
        if (strcmp(id, "bot") == 0)
            snprintf(id, sizeof id, "%s", FAKE_FEISHU_BOT);
        if (strcmp(id, "all") == 0) {
            snprintf(key, sizeof key, "@_all");
        } else {
            snprintf(key, sizeof key, "@_user_%zu", json_array_size(mentions) + 1);
            json_array_append_new(mentions, mention(fake, id, key));
        }
        sma_buf_put_text(out, key);
        at = end;
    }
}

/* The content of a file somebody sends; remembers its bytes. */
static json_t *file_content(struct fake_feishu *fake, struct note *note, const json_t *about)
{
    const char *name = platform_text(about, "name", "");
    bool is_image = strcmp(note->type, "image") == 0;
    size_t len;
    char *bytes = platform_bytes(about, 10, &len);
    struct file *file =
        fake_feishu_add_file(fake, is_image ? "img_v3_" : "file_v3_", is_image ? "image" : "file",
                             name, (struct sma_str){bytes, len});
    free(bytes);
    snprintf(file->note, sizeof file->note, "%s", note->id);
    if (is_image)
        return json_pack("{s:s}", "image_key", file->key);
    if (strcmp(note->type, "audio") == 0)
        return json_pack("{s:s,s:i}", "file_key", file->key, "duration", 2000);
    if (strcmp(note->type, "media") == 0)
        return json_pack("{s:s,s:s,s:s,s:i}", "file_key", file->key, "image_key", "img_v3_none",
                         "file_name", name, "duration", 2000);
    return json_pack("{s:s,s:s}", "file_key", file->key, "file_name", name);
}

/* Rich text as people write it: words, and pictures below them. */
static json_t *post_with_images(struct fake_feishu *fake, struct note *note, const json_t *command)
{
    const json_t *images = json_object_get(command, "images");
    json_t *rows =
        json_pack("[[{s:s,s:s}]]", "tag", "text", "text", platform_text(command, "text", ""));
    for (size_t i = 0; i < json_array_size(images); i++) {
        size_t len;
        char *bytes = platform_bytes(json_array_get(images, i), 10, &len);
        struct file *file =
            fake_feishu_add_file(fake, "img_v3_", "image", "", (struct sma_str){bytes, len});
        free(bytes);
        snprintf(file->note, sizeof file->note, "%s", note->id);
        json_array_append_new(rows, json_pack("[{s:s,s:s}]", "tag", "img", "image_key", file->key));
    }
    return json_pack("{s:s,s:o}", "title", "", "content", rows);
}

static json_t *content_of(struct fake_feishu *fake, struct note *note, const json_t *command)
{
    const json_t *given = json_object_get(command, "content"),
                 *file = json_object_get(command, "file");
    if (file != NULL)
        return file_content(fake, note, file);
    if (json_array_size(json_object_get(command, "images")) > 0)
        return post_with_images(fake, note, command);
    if (given == NULL) {
        struct sma_buf text;
        sma_buf_init(&text, FEISHU_JSON_MAX);
        put_words(fake, platform_text(command, "text", ""), &text, note->mentions);
        json_t *tree = json_pack("{s:s%}", "text", text.ptr == NULL ? "" : text.ptr, text.len);
        note->text = platform_copy(sma_buf_str(&text));
        sma_buf_fini(&text);
        return tree;
    }
    /* Mentions inside rich text: the same marks anywhere in its strings. */
    char *plain = json_dumps(given, JSON_COMPACT | JSON_ENCODE_ANY);
    struct sma_buf text;
    sma_buf_init(&text, FEISHU_JSON_MAX);
    put_words(fake, plain, &text, note->mentions);
    json_t *tree = json_loadb(text.ptr, text.len, JSON_DECODE_ANY, NULL);
    sma_buf_fini(&text);
    free(plain);
    return tree;
}

static bool mentions_bot(const struct note *note)
{
    size_t i;
    json_t *entry;
    json_array_foreach(note->mentions, i,
                       entry) if (strcmp(platform_text(json_object_get(entry, "id"), "open_id", ""),
                                         FAKE_FEISHU_BOT) == 0) return true;
    return false;
}

static void set_reply(struct fake_feishu *fake, struct note *note, const char *target_id)
{
    const struct note *target = fake_feishu_note(fake, target_id);
    if (target == NULL)
        return;
    memcpy(note->parent, target->id, sizeof note->parent);
    memcpy(note->root, target->root[0] == '\0' ? target->id : target->root, sizeof note->root);
    memcpy(note->thread, target->thread, sizeof note->thread);
}

static json_t *message_tree(const struct fake_feishu *fake, const struct note *note,
                            const json_t *command)
{
    char time[24];
    snprintf(time, sizeof time, "%lld", (long long)note->wall_ms);
    (void)fake;
    json_t *tree = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "message_id", note->id, "create_time",
                             time, "update_time", time, "chat_id", note->room->id, "chat_type",
                             note->room->is_p2p ? "p2p" : "group", "message_type",
                             platform_text(command, "type", note->type), "content", note->content);
    const char *const pairs[][2] = {
        {"root_id", note->root}, {"parent_id", note->parent}, {"thread_id", note->thread}};
    for (size_t i = 0; i < SMA_COUNT_OF(pairs); i++)
        if (pairs[i][1][0] != '\0')
            json_object_set_new(tree, pairs[i][0], json_string(pairs[i][1]));
    if (json_array_size(note->mentions) > 0)
        json_object_set(tree, "mentions", note->mentions);
    json_object_update(tree, json_object_get(command, "members"));
    return tree;
}

json_t *fake_feishu_say(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    struct room *room = fake_feishu_room(fake, platform_text(command, "chat", ""));
    const char *from = platform_text(command, "user", "");
    const json_t *file = json_object_get(command, "file");
    if (room == NULL || (fake_feishu_person(fake, from) == NULL && strcmp(from, "app") != 0))
        return platform_problem("no such chat or user");
    struct note *note = fake_feishu_add_note(fake, room, from,
                                             file != NULL ? platform_text(file, "kind", "file")
                                                          : platform_text(command, "type", "text"));
    note->wall_ms += platform_number(command, "clock_ms", 0);
    note->mentions = json_array();
    set_reply(fake, note, platform_text(command, "reply_to", ""));
    if (platform_text(command, "thread", "")[0] != '\0')
        snprintf(note->thread, sizeof note->thread, "%s", platform_text(command, "thread", ""));
    else if (room->is_topics && note->thread[0] == '\0')
        fake_feishu_make_id(fake, "omt_", note->thread);
    json_t *content = content_of(fake, note, command);
    /* Bare words go out as they are: a merged forward's content is no JSON (as seen: openclaw PR
     * 28707, feishu-cli v1.24.0; documented is nothing). */
    note->content = json_is_string(content) ? platform_copy(sma_str(json_string_value(content)))
                                            : json_dumps(content, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(content);
    if (note->text == NULL)
        note->text = platform_copy(sma_str(platform_text(file, "name", note->content)));
    json_t *body = json_pack("{s:{s:o,s:s,s:s},s:o}", "sender", "sender_id", ids_of(from),
                             "sender_type", strcmp(from, "app") == 0 ? "app" : "user", "tenant_key",
                             FEISHU_TENANT, "message", message_tree(fake, note, command));
    bool is_seen = room->has_bot && !room->is_dissolved &&
                   (room->is_p2p || fake->reads_all || mentions_bot(note));
    json_t *answer = json_pack("{s:s,s:s,s:b}", "message_id", note->id, "thread", note->thread,
                               "is_queued", is_seen);
    if (!is_seen) {
        json_decref(body);
        return answer;
    }
    struct event *event = fake_feishu_publish(fake, "im.message.receive_v1", body);
    note->event = event->index + 1;
    event->note = fake->note_count;
    json_object_set_new(answer, "event_id", json_string(event->id));
    fake_feishu_deliver(fake, event);
    return answer;
}

json_t *fake_feishu_press(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    const struct note *note = fake_feishu_note(fake, platform_text(command, "message_id", ""));
    const char *from = platform_text(command, "user", "");
    json_t *value = json_object_get(command, "value");
    if (note == NULL || !note->is_ours || strcmp(note->type, "interactive") != 0)
        return platform_problem("no such card of the bot");
    if (note->is_recalled)
        return platform_problem("the card was recalled");
    const char *label = platform_text(command, "button", NULL);
    json_t *buttons = fake_feishu_buttons(note->content), *button;
    size_t i;
    if (json_is_integer(value))
        value =
            json_object_get(json_array_get(buttons, (size_t)json_integer_value(value)), "value");
    json_array_foreach(buttons, i, button)
    {
        if (value == NULL && label != NULL &&
            strcmp(platform_text(button, "label", ""), label) == 0)
            value = json_object_get(button, "value");
    }
    if (value == NULL) {
        json_decref(buttons);
        return platform_problem("no such button");
    }
    char token[FEISHU_ID_SIZE];
    fake_feishu_make_id(fake, "c-", token);
    json_t *operator= ids_of(from);
    json_object_set_new(operator, "tenant_key", json_string(FEISHU_TENANT));
    struct event *event = fake_feishu_publish(
        fake, "card.action.trigger",
        json_pack("{s:o,s:s,s:{s:O,s:s,s:s},s:s,s:{s:s,s:s}}", "operator", operator, "token", token,
                  "action", "value", value, "tag", "button", "timezone", "Asia/Shanghai", "host",
                  "im_message", "context", "open_message_id", note->id, "open_chat_id",
                  note->room->id));
    json_decref(buttons);
    fake_feishu_deliver(fake, event);
    return json_pack("{s:s}", "event_id", event->id);
}

json_t *fake_feishu_change_bot(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    struct room *room = fake_feishu_room(fake, platform_text(command, "chat", ""));
    bool is_added = strcmp(platform_text(command, "do", ""), "bot_added") == 0;
    if (room == NULL)
        return platform_problem("no such chat");
    room->has_bot = is_added;
    struct event *event = fake_feishu_publish(
        fake, is_added ? "im.chat.member.bot.added_v1" : "im.chat.member.bot.deleted_v1",
        json_pack("{s:s,s:o,s:b,s:s,s:s}", "chat_id", room->id, "operator_id",
                  ids_of(platform_text(command, "user", "ou_somebody")), "external", 0,
                  "operator_tenant_key", FEISHU_TENANT, "name", room->name));
    fake_feishu_deliver(fake, event);
    return json_pack("{s:s}", "event_id", event->id);
}

json_t *fake_feishu_recall(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    struct note *note = fake_feishu_note(fake, platform_text(command, "message_id", ""));
    if (note == NULL)
        return platform_problem("no such message");
    char time[24];
    snprintf(time, sizeof time, "%lld", (long long)platform_wall_ms());
    note->is_recalled = true;
    if (platform_flag(command, "quietly", false))
        return platform_done();
    fake_feishu_deliver(fake,
                        fake_feishu_publish(fake, "im.message.recalled_v1",
                                            json_pack("{s:s,s:s,s:s,s:s}", "message_id", note->id,
                                                      "chat_id", note->room->id, "recall_time",
                                                      time, "recall_type", "message_owner")));
    return platform_done();
}

json_t *fake_feishu_raw_event(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    const char *bytes = json_string_value(json_object_get(command, "bytes"));
    json_t *body = json_object_get(command, "event");
    char id[FEISHU_ID_SIZE];
    struct event *event;
    if (bytes != NULL) { /* whatever it is */
        fake_feishu_make_id(fake, "", id);
        event = fake_feishu_publish_bytes(fake, id, platform_copy(sma_str(bytes)));
    } else {
        event =
            fake_feishu_publish(fake, platform_text(command, "type", "im.message.message_read_v1"),
                                body == NULL ? json_object() : json_incref(body));
    }
    fake_feishu_deliver(fake, event);
    return json_pack("{s:s}", "event_id", event->id);
}

/* -- load -------------------------------------------------------------------------------------- */
/* One message of the load: made by hand, a benchmark waits for it. */
static void say_load(struct fake_feishu *fake, struct room *room)
{
    struct load *load = &fake->load;
    const struct person *person = fake->persons[room->person - 1];
    struct note *note = fake_feishu_add_note(fake, room, person->id, "text");
    struct sma_buf json;
    char id[FEISHU_ID_SIZE], token[48];
    const char *mark = strstr(load->text, "%s");
    fake_feishu_make_id(fake, "", id);
    snprintf(token, sizeof token, "m%zu-feishu", fake->note_count);
    sma_buf_init(&json, FEISHU_JSON_MAX);
    sma_buf_printf(
        &json,
        "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"%s\",\"event_type\":\"im.message.receive_"
        "v1\","
        "\"create_time\":\"%lld\",\"token\":\"%s\",\"app_id\":\"%s"
        "\",\"tenant_key\":\"" FEISHU_TENANT "\"},\"event\":{\"sender\":{\"sender_id\":"
        "{\"union_id\":\"on_%s\",\"user_id\":null,\"open_id\":\"%s\"},\"sender_type\":\"user\","
        "\"tenant_key\":\"" FEISHU_TENANT "\"},\"message\":{\"message_id\":\"%s\",",
        id, (long long)note->wall_ms, fake->hook_token, fake->app, person->id + 3, person->id,
        note->id);
    sma_buf_printf(
        &json,
        "\"create_time\":\"%lld\",\"update_time\":\"%lld\",\"chat_id\":\"%s\",\"chat_type\":\"%s\","
        "\"message_type\":\"text\",\"content\":\"{\\\"text\\\":\\\"%.*s%s%s\\\"}\"}}}",
        (long long)note->wall_ms, (long long)note->wall_ms, room->id,
        room->is_p2p ? "p2p" : "group",
        (int)(mark == NULL ? strlen(load->text) : (size_t)(mark - load->text)), load->text, token,
        mark == NULL ? "" : mark + 2);
    struct event *event = fake_feishu_publish_bytes(fake, id, platform_copy(sma_buf_str(&json)));
    sma_buf_fini(&json);
    note->event = event->index + 1;
    event->note = fake->note_count;
    event->is_load = true;
    load->started++;
    fake_feishu_deliver(fake, event);
}

static struct room *load_room(struct fake_feishu *fake)
{
    char id[FEISHU_ID_SIZE];
    size_t number = fake->load.next_chat++;
    snprintf(id, sizeof id, "ou_load%zu", number);
    size_t place = fake->person_count + 1;
    (void)fake_feishu_add_person(fake, id, id);
    snprintf(id, sizeof id, "oc_load%zu", number);
    struct room *room = fake_feishu_add_room(fake, id, "");
    if (room->person == 0)
        room->person = place;
    room->is_p2p = !fake->load.is_flood;
    return room;
}

void fake_feishu_load_next(struct fake_feishu *fake, struct room *room)
{
    struct load *load = &fake->load;
    load->finished++;
    if (room->load_left > 0)
        room->load_left--;
    /* from inside a delivery: fake_feishu_start_load's loop goes on by itself */
    if (load->is_asking)
        return;
    if (load->started >= load->total)
        return;
    if (!load->is_flood && room->load_left == 0) {
        room = load_room(fake);
        room->load_left = load->per_chat;
    } else if (load->is_flood) {
        room = fake->rooms[(size_t)fake_feishu_index(fake, "flood") - 1 +
                           load->started % load->chat_count];
    }
    say_load(fake, room);
}

json_t *fake_feishu_start_load(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    struct load *load = &fake->load;
    size_t chat_from = load->next_chat;
    *load = (struct load){.total = (size_t)platform_number(command, "total", 1),
                          .chat_count = (size_t)platform_number(command, "chats", 1),
                          .per_chat = (size_t)platform_number(command, "per_chat", 1 << 30),
                          .window = (size_t)platform_number(command, "window", 1000),
                          .next_chat = chat_from,
                          .is_flood = strcmp(platform_text(command, "do", ""), "flood") == 0};
    snprintf(load->text, sizeof load->text, "%s",
             platform_text(command, "text", "please repeat %s"));
    if (strpbrk(load->text, "\"\\") != NULL || load->chat_count == 0)
        return platform_problem("the text must be plain, and chats at least 1");
    fake_feishu_set_index(fake, "flood", fake->room_count);
    for (size_t i = 0; i < load->chat_count; i++)
        load_room(fake)->load_left = load->per_chat;
    size_t first = fake_feishu_index(fake, "flood") - 1;
    size_t count = load->is_flood ? load->window : load->chat_count;
    load->is_asking = true;
    for (size_t i = 0; i < count && load->started < load->total; i++)
        say_load(fake, fake->rooms[first + i % load->chat_count]);
    load->is_asking = false;
    return platform_done();
}
