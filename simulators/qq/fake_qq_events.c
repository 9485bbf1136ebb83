/*
 * fake_qq_events.c — what people do, as events: messages, buttons, relations; and load for
 * benchmarks. The commands are described in fake_qq_control.c.
 */
#include "fake_qq_priv.h"

#include <stdio.h>
#include <stdlib.h>

static json_t *strings_of(const char *first, const char *second)
{
    return second[0] == '\0' ? json_pack("[s]", first) : json_pack("[s,s]", first, second);
}

/* -- attachments ------------------------------------------------------------------------------- */
/* {type, name, text, base64 or size, bare, asr, url, wav}: bare leaves the scheme out, wav: it is
 * offered as WAV, too. */
static json_t *attachment_of(struct fake_qq *fake, const json_t *command)
{
    const char *type = platform_text(command, "type", "image/jpeg"),
               *name = platform_text(command, "name", "photo.jpg"),
               *asr = platform_text(command, "asr", NULL);
    size_t len;
    char *bytes = platform_bytes(command, 64, &len), url[160];
    size_t file = fake_qq_add_file(fake, name, (struct sma_str){bytes, len});
    free(bytes);
    snprintf(url, sizeof url, "%s127.0.0.1:%d/download/%s",
             platform_flag(command, "bare", false) ? "" : "http://", fake_qq_port(fake),
             fake->files[file].id);
    json_t *tree = json_pack("{s:s,s:s,s:I,s:s}", "content_type", type, "filename", name, "size",
                             (json_int_t)len, "url", platform_text(command, "url", url));
    if (strncmp(type, "image/", 6) == 0)
        json_object_update_new(tree, json_pack("{s:i,s:i}", "height", 720, "width", 1280));
    if (platform_flag(command, "wav", false))
        json_object_set(tree, "voice_wav_url", json_object_get(tree, "url"));
    if (asr != NULL)
        json_object_set_new(tree, "asr_refer_text", json_string(asr));
    return tree;
}

static json_t *attachments_of(struct fake_qq *fake, const json_t *wanted)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(wanted); i++)
        json_array_append_new(list, attachment_of(fake, json_array_get(wanted, i)));
    return list;
}

/* -- messages ---------------------------------------------------------------------------------- */
static json_t *author_of(const struct chat *chat, const json_t *command, const char *user)
{
    const char *name = platform_text(command, "name", "Ann");
    bool is_old = platform_flag(command, "old", false),
         is_bot = platform_flag(command, "is_bot", false);
    if (chat->scene == SCENE_C2C)
        return is_old ? json_pack("{s:s}", "user_openid", user)
                      : json_pack("{s:s,s:s,s:s}", "id", user, "user_openid", user, "union_openid",
                                  "");
    if (chat->scene == SCENE_GROUP)
        return is_old ? json_pack("{s:s}", "member_openid", user)
                      : json_pack("{s:s,s:s,s:s,s:s,s:b,s:s}", "id", user, "member_openid", user,
                                  "member_role", platform_text(command, "role", "member"),
                                  "username", name, "bot", is_bot, "union_openid", "");
    return json_pack("{s:s,s:s,s:s,s:b}", "id", user, "username", name, "avatar",
                     "http://thirdqq.qlogo.cn/0", "bot", is_bot);
}

/* Members of guild messages that the others do not have. */
static void add_guild(struct chat *chat, json_t *tree, const json_t *command, bool is_at)
{
    const char *role = platform_text(command, "role", "1");
    json_object_update_new(
        tree, json_pack("{s:s,s:s,s:{s:s,s:s,s:o},s:i,s:s}", "channel_id", chat->id, "guild_id",
                        chat->guild, "member", "joined_at", "2021-04-12T16:34:42+08:00", "nick",
                        platform_text(command, "name", "Ann"), "roles", strings_of(role, ""), "seq",
                        101, "seq_in_channel", "101"));
    if (is_at)
        json_object_set_new(tree, "mentions",
                            json_pack("[{s:s,s:s,s:b}]", "id", FAKE_QQ_BOT_ID, "username",
                                      FAKE_QQ_BOT_NAME, "bot", 1));
    if (chat->scene == SCENE_DM)
        json_object_update_new(tree,
                               json_pack("{s:s,s:b,s:s}", "guild_id", chat->id, "direct_message", 1,
                                         "src_guild_id", "18700000000001"));
}

static const struct message *find_message(const struct chat *chat, const char *id)
{
    for (size_t i = 0; i < chat->message_count; i++)
        if (strcmp(chat->messages[i].id, id) == 0)
            return &chat->messages[i];
    return NULL;
}

static void add_chat_fields(const struct chat *chat, json_t *tree, const json_t *command,
                            const char *index, bool is_at)
{
    const char *quote = platform_text(command, "quote", "");
    const struct message *target = find_message(chat, platform_text(command, "reply_to", ""));
    char mine[64], theirs[160] = "REFIDX_0", ref[192];
    snprintf(mine, sizeof mine, "msg_idx=REFIDX_%s", index);
    if (platform_flag(command, "old", false))
        return;
    if (target != NULL) { /* quoting it: its index is the one that its sender was told */
        quote = target->text;
        snprintf(theirs, sizeof theirs, "REFIDX_%s", target->id + (target->is_ours ? 0 : 9));
    }
    snprintf(ref, sizeof ref, "ref_msg_idx=%s", theirs);
    json_object_update_new(tree, json_pack("{s:i,s:{s:s,s:o}}", "message_type",
                                           quote[0] == '\0' ? 0 : 103, "message_scene", "source",
                                           "default", "ext",
                                           strings_of(mine, quote[0] == '\0' ? "" : ref)));
    if (quote[0] != '\0')
        json_object_set_new(
            tree, "msg_elements",
            json_pack("[{s:s,s:s,s:i}]", "msg_idx", theirs, "content", quote, "message_type", 0));
    if (chat->scene != SCENE_GROUP)
        return;
    json_t *mentions = json_array();
    if (is_at)
        json_array_append_new(mentions, json_pack("{s:s,s:s,s:s,s:s,s:b,s:b}", "scope", "single",
                                                  "id", "B07", "member_openid", "B07", "username",
                                                  FAKE_QQ_BOT_NAME, "bot", 1, "is_you", 1));
    if (platform_flag(command, "everybody", false))
        json_array_append_new(mentions, json_pack("{s:s,s:b,s:s}", "scope", "all", "is_you", 1,
                                                  "username", "everybody"));
    json_object_set_new(tree, "mentions", mentions);
}

static json_t *content_of(const struct chat *chat, const char *text, bool is_at)
{
    char *content = NULL;
    int len;
    if (chat->scene == SCENE_CHANNEL && is_at)
        len = asprintf(&content, "<@!%s> %s", FAKE_QQ_BOT_ID, text);
    else /* the mention is cut out of a group's text, its blank is not */
        len = asprintf(&content, "%s%s", chat->scene == SCENE_GROUP && is_at ? " " : "", text);
    if (len < 0)
        abort();
    json_t *value = json_stringn_nocheck(content, (size_t)len);
    free(content);
    return value;
}

static const char *type_of(const struct chat *chat, bool is_at)
{
    switch (chat->scene) {
    case SCENE_C2C:
        return "C2C_MESSAGE_CREATE";
    case SCENE_GROUP:
        return is_at ? "GROUP_AT_MESSAGE_CREATE" : "GROUP_MESSAGE_CREATE";
    case SCENE_CHANNEL:
        return is_at ? "AT_MESSAGE_CREATE" : "MESSAGE_CREATE";
    default:
        return "DIRECT_MESSAGE_CREATE";
    }
}

/* Of a message that is quoted; one that has nothing else has an empty content. */
static void add_quoted_files(struct fake_qq *fake, json_t *tree, const json_t *command)
{
    const json_t *wanted = json_object_get(command, "quote_attachments");
    if (json_array_size(wanted) == 0)
        return;
    json_t *element = json_array_get(json_object_get(tree, "msg_elements"), 0);
    if (element == NULL) {
        element =
            json_pack("{s:s,s:s,s:i}", "msg_idx", "REFIDX_0", "content", "", "message_type", 0);
        json_object_set_new(tree, "msg_elements", json_pack("[o]", element));
        json_object_set_new(tree, "message_type", json_integer(103));
    }
    json_object_set_new(element, "attachments", attachments_of(fake, wanted));
}

static json_t *message_of(struct fake_qq *fake, struct chat *chat, const struct message *message,
                          const json_t *command, bool is_at)
{
    char time[64];
    fake_qq_put_time(time, sizeof time,
                     message->wall_ms - 1000 * platform_number(command, "age", 0),
                     platform_flag(command, "old", false));
    json_t *tree = json_pack("{s:s,s:o,s:s,s:o}", "id", message->id, "content",
                             content_of(chat, message->text, is_at), "timestamp", time, "author",
                             author_of(chat, command, platform_text(command, "user", chat->user)));
    json_t *attachments = attachments_of(fake, json_object_get(command, "attachments"));
    if (json_array_size(attachments) > 0 ||
        (chat->scene == SCENE_GROUP && !platform_flag(command, "old", false)))
        json_object_set(tree, "attachments", attachments);
    json_decref(attachments);
    if (chat->scene == SCENE_GROUP) {
        json_object_update_new(
            tree, json_pack("{s:s,s:s}", "group_id", chat->id, "group_openid", chat->id));
    }
    const char *answered = platform_text(command, "reply_to", "");
    if (chat->scene == SCENE_CHANNEL || chat->scene == SCENE_DM) {
        add_guild(chat, tree, command, is_at);
        if (answered[0] != '\0')
            json_object_set_new(tree, "message_reference",
                                json_pack("{s:s}", "message_id", answered));
    } else {
        add_chat_fields(chat, tree, command, message->id + 9, is_at);
        add_quoted_files(fake, tree, command);
    }
    json_object_update(tree, json_object_get(command, "members"));
    return tree;
}

json_t *fake_qq_say(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    struct chat *chat = fake_qq_chat(fake, platform_text(command, "chat", ""));
    if (chat == NULL)
        return platform_problem("no such chat");
    bool is_at = platform_flag(command, "at", true), is_pushed = false;
    if (chat->is_gone || (chat->scene == SCENE_GROUP && !is_at && !chat->tells_all))
        return json_pack("{s:s,s:b}", "id", "", "is_pushed", 0);
    size_t index = chat->message_count;
    struct message *message = fake_qq_add_message(fake, chat, false);
    message->text = platform_copy(sma_str(platform_text(command, "text", "")));
    json_t *tree = message_of(fake, chat, message, command, is_at);
    message->payload = fake_qq_add_payload(fake, type_of(chat, is_at),
                                           json_dumps(tree, JSON_COMPACT), chat->index, index);
    json_decref(tree);
    int64_t times = platform_number(command, "times", 1);
    for (int64_t i = 0; i < times; i++)
        is_pushed = fake_qq_push(fake, message->payload) || is_pushed;
    if (platform_flag(command, "both", false) && chat->scene == SCENE_GROUP) {
        char *data = platform_copy(sma_str(fake->payloads[message->payload].data));
        (void)fake_qq_push(
            fake, fake_qq_add_payload(fake, "GROUP_MESSAGE_CREATE", data, chat->index, index));
    }
    return json_pack("{s:s,s:s,s:b}", "id", message->id, "event",
                     fake->payloads[message->payload].id, "is_pushed", is_pushed);
}

/* -- buttons, relations, anything -------------------------------------------------------------- */
json_t *fake_qq_press(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    struct chat *chat = fake_qq_chat(fake, platform_text(command, "chat", ""));
    if (chat == NULL)
        return platform_problem("no such chat");
    static const char *const scenes[] = {"c2c", "group", "guild", "guild"};
    static const int types[] = {2, 1, 0, 0};
    const char *who = platform_text(command, "user", chat->user);
    bool is_guild = chat->scene >= SCENE_CHANNEL;
    char time[64];
    fake->interactions = platform_grow(fake->interactions, fake->interaction_count,
                                       &fake->interaction_room, sizeof *fake->interactions);
    struct interaction *interaction = &fake->interactions[fake->interaction_count++];
    *interaction = (struct interaction){.code = -1, .pushed_ns = platform_now_ns()};
    snprintf(interaction->id, sizeof interaction->id, "int-%llu",
             (unsigned long long)++fake->number);
    fake_qq_put_time(time, sizeof time, fake_qq_now_ms(fake), false);
    json_t *tree = json_pack(
        "{s:s,s:i,s:s,s:i,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:i,s:{s:i,s:{s:s,s:s,s:s,s:s,s:s}}}", "id",
        interaction->id, "type", 11, "scene", scenes[chat->scene], "chat_type", types[chat->scene],
        "timestamp", time, "guild_id", chat->guild, "channel_id",
        chat->scene == SCENE_CHANNEL ? chat->id : "", "user_openid",
        chat->scene == SCENE_C2C ? chat->id : "", "group_openid",
        chat->scene == SCENE_GROUP ? chat->id : "", "group_member_openid",
        chat->scene == SCENE_GROUP ? who : "", "application_id", fake->app, "version", 1, "data",
        "type", 11, "resolved", "button_id", platform_text(command, "button", "b1"), "button_data",
        platform_text(command, "data", ""), "user_id", is_guild ? who : "", "message_id", "",
        "feature_id", "");
    size_t index = fake_qq_add_payload(fake, "INTERACTION_CREATE", json_dumps(tree, JSON_COMPACT),
                                       chat->index, SIZE_MAX);
    json_decref(tree);
    bool is_pushed = fake_qq_push(fake, index);
    return json_pack("{s:s,s:s,s:b}", "id", interaction->id, "event", fake->payloads[index].id,
                     "is_pushed", is_pushed);
}

static const char *relation_type(const char *name)
{
    static const char *const types[] = {"GROUP_ADD_ROBOT",   "GROUP_DEL_ROBOT", "GROUP_MSG_REJECT",
                                        "GROUP_MSG_RECEIVE", "FRIEND_ADD",      "FRIEND_DEL",
                                        "C2C_MSG_REJECT",    "C2C_MSG_RECEIVE"};
    for (size_t i = 0; i < SMA_COUNT_OF(types); i++)
        if (strcmp(types[i], name) == 0)
            return types[i];
    return NULL;
}

json_t *fake_qq_relate(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    struct chat *chat = fake_qq_chat(fake, platform_text(command, "chat", ""));
    const char *type = relation_type(platform_text(command, "type", ""));
    if (chat == NULL || type == NULL)
        return platform_problem("no such chat or relation");
    chat->is_gone = strstr(type, "_DEL") != NULL || (chat->is_gone && strstr(type, "_ADD") == NULL);
    if (strstr(type, "_REJECT") != NULL || strstr(type, "_RECEIVE") != NULL)
        chat->refuses_active = strstr(type, "_REJECT") != NULL;
    json_int_t now = (json_int_t)(fake_qq_now_ms(fake) / 1000);
    json_t *tree = chat->scene == SCENE_GROUP
                       ? json_pack("{s:I,s:s,s:s}", "timestamp", now, "group_openid", chat->id,
                                   "op_member_openid", platform_text(command, "user", "M1"))
                       : json_pack("{s:I,s:s}", "timestamp", now, "openid", chat->id);
    size_t index =
        fake_qq_add_payload(fake, type, json_dumps(tree, JSON_COMPACT), chat->index, SIZE_MAX);
    json_decref(tree);
    bool is_pushed = fake_qq_push(fake, index);
    return json_pack("{s:s,s:b}", "event", fake->payloads[index].id, "is_pushed", is_pushed);
}

json_t *fake_qq_emit(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    const json_t *data = json_object_get(command, "data");
    static const char *const types[] = {
        "GUILD_CREATE",          "GUILD_MEMBER_ADD",     "MESSAGE_REACTION_ADD",
        "MESSAGE_AUDIT_PASS",    "CHANNEL_CREATE",       "MESSAGE_AUDIT_REJECT",
        "SOMETHING_NEW",         "MESSAGE_DELETE",       "C2C_MESSAGE_CREATE",
        "GROUP_MESSAGE_CREATE",  "AT_MESSAGE_CREATE",    "INTERACTION_CREATE",
        "PUBLIC_MESSAGE_DELETE", "DIRECT_MESSAGE_DELETE"};
    for (size_t i = 0; data != NULL && i < SMA_COUNT_OF(types); i++) {
        if (strcmp(types[i], platform_text(command, "type", "")) != 0)
            continue;
        size_t index = fake_qq_add_payload(
            fake, types[i], json_dumps(data, JSON_COMPACT | JSON_ENCODE_ANY), SIZE_MAX, SIZE_MAX);
        bool is_pushed = fake_qq_push(fake, index);
        return json_pack("{s:s,s:b}", "event", fake->payloads[index].id, "is_pushed", is_pushed);
    }
    return platform_problem("no such type, or no data");
}

/* -- load -------------------------------------------------------------------------------------- */
/* Event bytes are made without a JSON library: this has to be faster than what it measures. */
static void say_load(struct fake_qq *fake, struct chat *chat)
{
    char token[64], time[64];
    size_t index = chat->message_count;
    struct message *message = fake_qq_add_message(fake, chat, false);
    struct sma_buf text, data;
    message->is_load = true;
    const char *pattern = fake->load.text, *mark = strstr(pattern, "%s");
    snprintf(token, sizeof token, "m%s-%zu", chat->id, index);
    sma_buf_init(&text, 4096);
    sma_buf_init(&data, 65536);
    sma_buf_put(&text, pattern, mark == NULL ? strlen(pattern) : (size_t)(mark - pattern));
    sma_buf_put_text(&text, token);
    sma_buf_put_text(&text, mark == NULL ? "" : mark + 2);
    message->text = platform_copy(sma_buf_str(&text));
    fake_qq_put_time(time, sizeof time, message->wall_ms, false);
    sma_buf_printf(&data, "{\"id\":\"%s\",\"content\":", message->id);
    sma_buf_put_json_string(&data, sma_buf_str(&text));
    sma_buf_printf(&data,
                   ",\"timestamp\":\"%s\",\"author\":{\"id\":\"%s\",\"user_openid\":\"%s\","
                   "\"union_openid\":\"\"},\"message_scene\":{\"source\":\"default\",\"ext\":"
                   "[\"msg_idx=REFIDX_%zu\"]},\"message_type\":0}",
                   time, chat->id, chat->id, index);
    message->payload = fake_qq_add_payload(fake, "C2C_MESSAGE_CREATE",
                                           platform_copy(sma_buf_str(&data)), chat->index, index);
    sma_buf_fini(&text);
    sma_buf_fini(&data);
    fake->load.started++;
    (void)fake_qq_push(fake, message->payload);
}

static struct chat *load_chat(struct fake_qq *fake, size_t number)
{
    char key[64];
    snprintf(key, sizeof key, "c2c:%032zX", fake->load.first + number);
    return fake_qq_add_chat(fake, key);
}

static void open_load_chat(struct fake_qq *fake)
{
    struct chat *chat = load_chat(fake, fake->load.chats_made++);
    chat->load_left = fake->load.per_chat;
    say_load(fake, chat);
}

/* The message of the load that this text names by its token, if it waits for an answer. */
static struct message *find_asked(struct chat *chat, const char *text)
{
    char token[80];
    size_t index;
    int len = snprintf(token, sizeof token, "m%s-", chat->id);
    const char *at = strstr(text, token);
    if (at == NULL || sscanf(at + len, "%zu", &index) != 1 || index >= chat->message_count)
        return NULL;
    struct message *message = &chat->messages[index];
    return message->is_load && message->reply_ns == 0 ? message : NULL;
}

void fake_qq_load_answered(struct fake_qq *fake, struct chat *chat, const char *text)
{
    struct qq_load *load = &fake->load;
    struct message *message = chat->load_left == 0 ? NULL : find_asked(chat, text);
    if (message == NULL)
        return;
    message->reply_ns = platform_now_ns();
    load->finished++;
    chat->load_left--;
    if (load->is_flood || load->started == load->total)
        return;
    if (chat->load_left > 0)
        say_load(fake, chat);
    else
        open_load_chat(fake);
}

json_t *fake_qq_start_load(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    struct qq_load *load = &fake->load;
    int64_t rate = platform_number(command, "rate", 0);
    *load = (struct qq_load){.is_flood = rate > 0,
                             .chat_count = (size_t)platform_number(command, "chats", 1),
                             .total = (size_t)platform_number(command, "total", 1),
                             .per_chat = (size_t)platform_number(command, "per_chat", INT64_MAX),
                             .first = (size_t)platform_number(command, "first_chat", 1)};
    snprintf(load->text, sizeof load->text, "%s",
             platform_text(command, "text", "please repeat %s"));
    if (load->chat_count == 0 || load->per_chat == 0)
        return platform_problem("a load needs chats and messages");
    if (load->is_flood) {
        load->interval_ns = 1000000000u / (uint64_t)rate;
        load->next_ns = platform_now_ns();
    }
    while (!load->is_flood && load->chats_made < load->chat_count && load->started < load->total)
        open_load_chat(fake);
    return platform_done();
}

void fake_qq_tick_load(struct fake_qq *fake, uint64_t now_ns)
{
    struct qq_load *load = &fake->load;
    while (load->is_flood && load->started < load->total && load->next_ns <= now_ns) {
        struct chat *chat = load_chat(fake, load->started % load->chat_count);
        chat->load_left++;
        say_load(fake, chat);
        load->next_ns += load->interval_ns;
    }
}

/* Written to the socket -> its answer came, of the chats of the load, in microseconds; their first
 * `skip` left out. */
json_t *fake_qq_latencies(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    json_t *list = json_array();
    size_t skip = (size_t)platform_number(command, "skip", 0);
    size_t count = fake->load.is_flood ? fake->load.chat_count : fake->load.chats_made;
    for (size_t i = 0; i < count; i++) {
        const struct chat *chat = load_chat(fake, i);
        size_t seen = 0;
        for (size_t j = 0; j < chat->message_count; j++) {
            const struct message *message = &chat->messages[j];
            if (message->is_ours || message->reply_ns == 0 || seen++ < skip)
                continue;
            uint64_t pushed_ns = fake->payloads[message->payload].pushed_ns;
            json_array_append_new(
                list, json_integer((json_int_t)((message->reply_ns - pushed_ns) / 1000)));
        }
    }
    return json_pack("{s:o}", "latencies", list);
}
