/*
 * fake_telegram_control.c — what people do, and what a test wants to know: JSON commands with a
 * member "do".
 */
#include "fake_telegram_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

/* clang-format off */
const char fake_telegram_commands[] =
    "  user id [first_name username language id_offset]  a person, and the private chat\n"
    "        with the bot, whose message ids\n"
    "        begin behind id_offset\n"
    "  chat id [type title forum admins]  a group; \"type\" group, supergroup (default),\n"
    "        channel\n"
    "  topic chat user name  -> thread\n"
    "  say chat user [text entities caption thread reply_to quote group forward file date\n"
    "        members]\n"
    "        file: {kind, name, mime, size, text or base64, width height, animated}; members:\n"
    "        anything that is put into the Message as it is\n"
    "        -> message_id, is_queued (false: its type is not allowed, or privacy mode\n"
    "        hides it)\n"
    "  edit chat user message_id [text entities]  its author writes a message anew; without\n"
    "        a text it looks the same, as when a link gets its preview -> as of say\n"
    "  press chat user message_id data | button  a button is pressed -> id of the callback\n"
    "        query, is_queued. button: its\n"
    "        number (0, 1, ... over all rows) or its text; data: whatever a made-up client\n"
    "        sends, shown or not\n"
    "  toast id  what the press with this id got -> is_answered, text, is_alert, ms (from\n"
    "        the press to the answer), is_late (not answered, and the platform takes no\n"
    "        answer any more). Ask until one is true\n"
    "  migrate chat to; block chat on [what: see ..._rules.c]; kick chat on; take_in chat from\n"
    "  list chat [from] -> messages, written_ms, draft, actions;  callbacks;  counters;\n"
    "        commands;\n"
    "        latencies (us, of load); counters [unfinished]: our messages that end with an\n"
    "        ellipsis, flooded: calls refused for the rate, not_modified: edits that changed\n"
    "        nothing; written_ms: when messages and edits were taken, by the rate's clock\n"
    "        a message: id is_ours from thread reply_to kind text (as people see it now)\n"
    "        raw edits is_deleted has_markup\n"
    "        buttons: [{text, data, row}]; reaction: the bot's emoji or \"\"; file_name\n"
    "        file_size file_text\n"
    "  fault method kind [times skip ms bytes status seconds chat text holds]; clear_faults\n"
    "        kind: close half_open lose_answer cut slow delay status html garbage unknown (seed)\n"
    "  redeliver count; gap count; restart [update_id]; revoke on; token token; clock\n"
    "        seconds\n"
    "  rates chat_per_second bot_per_second group_per_minute (0: no limit; at start: bot 30,\n"
    "        group 20 in the program, none in a test); privacy on; callback_deadline ms;\n"
    "        webhook url secret\n"
    "  load chats total per_chat first_chat id_offset text  so many chats talk, each says\n"
    "        the next when it is answered; after\n"
    "        per_chat messages a fresh chat takes over; text holds %s for\n"
    "        \"m<chat>-<message>\", which the answer must repeat\n";
/* clang-format on */

static int64_t number_of(const json_t *command, const char *name)
{
    return json_integer_value(json_object_get(command, name));
}

static const char *text_of(const json_t *command, const char *name, const char *fallback)
{
    const char *text = json_string_value(json_object_get(command, name));
    return text == NULL ? fallback : text;
}

static json_t *problem(const char *text)
{
    return json_pack("{s:s}", "error", text);
}

static json_t *done(void)
{
    return json_object();
}

/* -- people and chats -------------------------------------------------------------------------- */
static json_t *add_user(struct fake_telegram *fake, const json_t *command)
{
    int64_t id = number_of(command, "id");
    fake_add_user(fake, id, text_of(command, "first_name", "Ann"), text_of(command, "username", ""),
                  text_of(command, "language", ""))
        ->is_bot = json_is_true(json_object_get(command, "is_bot"));
    fake_add_chat(fake, id, "private", "")->id_offset = number_of(command, "id_offset");
    return done();
}

static json_t *add_chat(struct fake_telegram *fake, const json_t *command)
{
    struct chat *chat =
        fake_add_chat(fake, number_of(command, "id"), text_of(command, "type", "supergroup"),
                      text_of(command, "title", "Team"));
    const json_t *admins = json_object_get(command, "admins");
    chat->is_forum = json_is_true(json_object_get(command, "forum"));
    for (size_t i = 0; i < json_array_size(admins) && i < ADMIN_COUNT_MAX; i++)
        chat->admins[chat->admin_count++] = json_integer_value(json_array_get(admins, i));
    return done();
}

static json_t *tree_of_chat(const struct fake_telegram *fake, const struct chat *chat)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    fake_put_chat(fake, &buf, chat);
    json_t *tree = json_loadb(buf.ptr, buf.len, 0, NULL);
    sma_buf_fini(&buf);
    return tree;
}

static json_t *tree_of_user(const struct fake_telegram *fake, int64_t id)
{
    const struct user *user = fake_user(fake, id);
    struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    if (user == NULL)
        fake_put_bot(&buf);
    else
        fake_put_user(&buf, user);
    json_t *tree = json_loadb(buf.ptr, buf.len, 0, NULL);
    sma_buf_fini(&buf);
    return tree;
}

/* -- messages ---------------------------------------------------------------------------------- */
static size_t word_length(const char *text)
{
    size_t len = 0;
    while (isalnum((unsigned char)text[len]) || text[len] == '_')
        len++;
    return len;
}

/* Commands and mentions, as the platform finds them. */
static json_t *find_entities(const char *text)
{
    json_t *list = json_array();
    for (size_t at = 0; text[at] != '\0'; at++) {
        bool is_free = at == 0 || !(isalnum((unsigned char)text[at - 1]) ||
                                    strchr("_/@", text[at - 1]) != NULL);
        if (!is_free || (text[at] != '/' && text[at] != '@'))
            continue;
        size_t len = 1 + word_length(text + at + 1);
        bool is_command = text[at] == '/';
        if (len < 2 || (!is_command && len < 4))
            continue;
        if (is_command && text[at + len] == '@')
            len += 1 + word_length(text + at + len + 1);
        size_t offset = sma_utf16_length((struct sma_str){text, at});
        json_array_append_new(list, json_pack("{s:s,s:I,s:I}", "type",
                                              is_command ? "bot_command" : "mention", "offset",
                                              (json_int_t)offset, "length", (json_int_t)len));
        at += len - 1;
    }
    return list;
}

static bool mentions_bot(const char *text)
{
    const char *at = strcasestr(text, "@" FAKE_TELEGRAM_BOT_NAME);
    return at != NULL;
}

static void add_reply(const struct chat *chat, json_t *tree, int64_t id, bool is_implicit)
{
    const struct message *target = fake_message(chat, id);
    if (target == NULL)
        return;
    json_t *original = json_loads(target->json, 0, NULL);
    json_object_del(original, "reply_to_message");
    json_object_set_new(tree, "reply_to_message", original);
    if (!is_implicit && !json_object_get(tree, "message_thread_id") &&
        strcmp(chat->type, "supergroup") == 0)
        json_object_set_new(tree, "message_thread_id",
                            json_integer(id)); /* a reply chain, no topic */
}

static void add_words(const json_t *command, json_t *tree, struct message *message)
{
    static const char *const pairs[][2] = {{"text", "entities"}, {"caption", "caption_entities"}};
    for (size_t i = 0; i < 2; i++) {
        const char *text = text_of(command, pairs[i][0], NULL);
        if (text == NULL)
            continue;
        json_t *entities = json_object_get(command, "entities");
        entities = entities == NULL ? find_entities(text) : json_incref(entities);
        json_object_set_new(tree, pairs[i][0], json_string(text));
        if (json_array_size(entities) > 0)
            json_object_set(tree, pairs[i][1], entities);
        json_decref(entities);
        message->text = fake_copy(sma_str(text));
    }
}

static json_t *forward_origin(const struct fake_telegram *fake, const json_t *forward)
{
    if (json_is_integer(forward))
        return json_pack("{s:s,s:i,s:o}", "type", "user", "date", 1750000000, "sender_user",
                         tree_of_user(fake, json_integer_value(forward)));
    return json_pack("{s:s,s:i,s:s}", "type", "hidden_user", "date", 1750000000, "sender_user_name",
                     json_string_value(forward));
}

static bool is_shown_to_bot(const struct fake_telegram *fake, const struct chat *chat,
                            const json_t *tree)
{
    const json_t *reply = json_object_get(json_object_get(tree, "reply_to_message"), "from");
    const char *text = text_of(tree, "text", text_of(tree, "caption", ""));
    if (chat->is_kicked || chat->is_blocked || chat->migrated_to != 0)
        return false;
    if (fake->reads_all || strcmp(chat->type, "private") == 0)
        return true;
    return text[0] == '/' || mentions_bot(text) ||
           json_integer_value(json_object_get(reply, "id")) == FAKE_TELEGRAM_BOT_ID;
}

/* Finish the message and queue its update. */
static json_t *publish_as(struct fake_telegram *fake, struct chat *chat, struct message *message,
                          json_t *tree, const char *type)
{
    struct sma_buf member;
    message->json = json_dumps(tree, JSON_COMPACT);
    if (message->text == NULL)
        message->text = fake_copy(SMA_STR(""));
    bool is_queued = is_shown_to_bot(fake, chat, tree);
    sma_buf_init(&member, 16u << 20);
    sma_buf_printf(&member, "\"%s\":", type);
    sma_buf_put_text(&member, message->json);
    if (is_queued)
        is_queued = fake_queue_update(fake, type, member.ptr, chat->id, message->id);
    sma_buf_fini(&member);
    json_decref(tree);
    return json_pack("{s:I,s:b,s:I}", "message_id", (json_int_t)message->id, "is_queued", is_queued,
                     "update_id", (json_int_t)(fake->next_update_id - 1));
}

static json_t *publish(struct fake_telegram *fake, struct chat *chat, struct message *message,
                       json_t *tree)
{
    return publish_as(fake, chat, message, tree, "message");
}

static json_t *begin(struct fake_telegram *fake, const struct chat *chat,
                     const struct message *message, int64_t user, int64_t date)
{
    return json_pack("{s:I,s:o,s:o,s:I}", "message_id", (json_int_t)message->id, "from",
                     tree_of_user(fake, user), "chat", tree_of_chat(fake, chat), "date",
                     (json_int_t)(date == 0 ? fake_date(fake) : date));
}

static json_t *say(struct fake_telegram *fake, const json_t *command)
{
    struct chat *chat = fake_chat(fake, number_of(command, "chat"));
    const char *chat_name = text_of(command, "group", NULL),
               *quote = text_of(command, "quote", NULL);
    if (chat == NULL || fake_user(fake, number_of(command, "user")) == NULL)
        return problem("no such chat or user");
    struct message *message = fake_add_message(chat);
    message->from = number_of(command, "user");
    message->thread = number_of(command, "thread");
    message->reply_to = number_of(command, "reply_to");
    json_t *tree = begin(fake, chat, message, message->from, number_of(command, "date"));
    if (message->thread != 0)
        json_object_update_new(tree, json_pack("{s:I,s:b}", "message_thread_id",
                                               (json_int_t)message->thread, "is_topic_message", 1));
    add_words(command, tree, message);
    if (json_object_get(command, "file") != NULL)
        fake_put_file(fake, message, tree, json_object_get(command, "file"));
    if (chat_name != NULL)
        json_object_set_new(tree, "media_group_id", json_string(chat_name));
    if (json_object_get(command, "forward") != NULL)
        json_object_set_new(tree, "forward_origin",
                            forward_origin(fake, json_object_get(command, "forward")));
    if (message->reply_to != 0 || message->thread != 0)
        add_reply(chat, tree, message->reply_to != 0 ? message->reply_to : message->thread,
                  message->reply_to == 0);
    if (quote != NULL)
        json_object_set_new(
            tree, "quote",
            json_pack("{s:s,s:i,s:b}", "text", quote, "position", 0, "is_manual", 1));
    json_object_update(tree, json_object_get(command, "members"));
    return publish(fake, chat, message, tree);
}

static json_t *edit(struct fake_telegram *fake, const json_t *command)
{
    struct chat *chat = fake_chat(fake, number_of(command, "chat"));
    struct message *message = fake_message(chat, number_of(command, "message_id"));
    if (message == NULL || message->is_ours || message->from != number_of(command, "user"))
        return problem("no such message of this user");
    json_t *tree = json_loads(message->json, 0, NULL);
    bool has_caption = json_object_get(tree, "caption") != NULL;
    if (has_caption && text_of(command, "text", NULL) != NULL) {
        json_decref(tree);
        return problem("a message with a file has a caption");
    }
    if (text_of(command, "text", text_of(command, "caption", NULL)) != NULL) {
        json_object_del(tree, "entities");
        json_object_del(tree, "caption_entities");
        free(message->text);
        add_words(command, tree, message);
    }
    json_object_set_new(tree, "edit_date", json_integer(fake_date(fake)));
    free(message->json);
    return publish_as(fake, chat, message, tree, "edited_message");
}

static json_t *add_topic(struct fake_telegram *fake, const json_t *command)
{
    struct chat *chat = fake_chat(fake, number_of(command, "chat"));
    if (chat == NULL || chat->topic_count == TOPIC_COUNT_MAX)
        return problem("no such chat, or too many topics");
    struct message *message = fake_add_message(chat);
    message->from = number_of(command, "user");
    message->thread = message->id;
    chat->topics[chat->topic_count++] = message->id;
    json_t *tree = begin(fake, chat, message, message->from, 0);
    json_object_update_new(
        tree, json_pack("{s:I,s:b,s:{s:s,s:i}}", "message_thread_id", (json_int_t)message->id,
                        "is_topic_message", 1, "forum_topic_created", "name",
                        text_of(command, "name", "Topic"), "icon_color", 7322096));
    int64_t thread = message->id;
    json_decref(publish(fake, chat, message, tree));
    return json_pack("{s:I}", "thread", (json_int_t)thread);
}

static json_t *migrate(struct fake_telegram *fake, const json_t *command)
{
    struct chat *old = fake_chat(fake, number_of(command, "chat"));
    int64_t to = number_of(command, "to");
    if (old == NULL || fake->user_count == 0)
        return problem("no such chat");
    struct chat *new = fake_add_chat(fake, to, "supergroup", old->title);
    memcpy(new->admins, old->admins, sizeof new->admins);
    new->admin_count = old->admin_count;
    struct message *message = fake_add_message(old);
    message->from = fake->users[0].id;
    json_t *tree = begin(fake, old, message, message->from, 0);
    json_object_set_new(tree, "migrate_to_chat_id", json_integer(to));
    json_decref(publish(fake, old, message, tree));
    old->migrated_to = to;
    message = fake_add_message(new);
    message->from = fake->users[0].id;
    tree = begin(fake, new, message, message->from, 0);
    json_object_set_new(tree, "migrate_from_chat_id", json_integer(old->id));
    return publish(fake, new, message, tree);
}

/* take_in: somebody has it in a group in which it has not been. */
static json_t *change_membership(struct fake_telegram *fake, const json_t *command)
{
    struct chat *chat = fake_chat(fake, number_of(command, "chat"));
    bool is_new = strcmp(text_of(command, "do", ""), "take_in") == 0;
    bool is_on = !is_new && !json_is_false(json_object_get(command, "on"));
    if (chat == NULL || fake->user_count == 0 || fake_forbid(chat, text_of(command, "what", "")))
        return chat == NULL || fake->user_count == 0 ? problem("no such chat") : done();
    if (strcmp(chat->type, "private") == 0)
        chat->is_blocked = is_on;
    else
        chat->is_kicked = is_on;
    int64_t user = chat->id > 0 ? chat->id : fake->users[0].id;
    const char *before = is_on ? "member" : is_new ? "left" : "kicked";
    json_t *tree =
        json_pack("{s:o,s:o,s:I,s:{s:s,s:o},s:{s:s,s:o}}", "chat", tree_of_chat(fake, chat), "from",
                  tree_of_user(fake, is_new ? number_of(command, "from") : user), "date",
                  (json_int_t)fake_date(fake), "old_chat_member", "status", before, "user",
                  tree_of_user(fake, FAKE_TELEGRAM_BOT_ID), "new_chat_member", "status",
                  is_on ? "kicked" : "member", "user", tree_of_user(fake, FAKE_TELEGRAM_BOT_ID));
    char *text = json_dumps(tree, JSON_COMPACT);
    struct sma_buf member;
    sma_buf_init(&member, 65536);
    sma_buf_printf(&member, "\"my_chat_member\":%s", text);
    (void)fake_queue_update(fake, "my_chat_member", member.ptr, chat->id, 0);
    sma_buf_fini(&member);
    free(text);
    json_decref(tree);
    return done();
}

/* [{text, data, row}] of a message's keyboard. */
static json_t *buttons_of(const struct message *message)
{
    json_t *list = json_array(),
           *rows = message->markup == NULL ? NULL : json_loads(message->markup, 0, NULL);
    for (size_t i = 0; i < json_array_size(rows); i++)
        for (size_t j = 0; j < json_array_size(json_array_get(rows, i)); j++) {
            const json_t *button = json_array_get(json_array_get(rows, i), j);
            json_array_append_new(
                list, json_pack("{s:s,s:s,s:i}", "text", text_of(button, "text", ""), "data",
                                text_of(button, "callback_data", ""), "row", (int)i));
        }
    json_decref(rows);
    return list;
}

/* Data of the button that is meant, to be freed; NULL: there is none such. */
static char *pressed_data(const struct message *message, const json_t *command)
{
    const json_t *wanted = json_object_get(command, "button");
    const char *label = text_of(command, "button", "");
    if (wanted == NULL)
        return fake_copy(sma_str(text_of(command, "data", "")));
    json_t *buttons = buttons_of(message), *button;
    char *data = NULL;
    size_t i;
    json_array_foreach(buttons, i, button)
    {
        bool is_wanted = json_is_integer(wanted) ? (size_t)json_integer_value(wanted) == i
                                                 : strcmp(text_of(button, "text", ""), label) == 0;
        if (is_wanted && data == NULL)
            data = fake_copy(sma_str(text_of(button, "data", "")));
    }
    json_decref(buttons);
    return data;
}

static json_t *press(struct fake_telegram *fake, const json_t *command)
{
    struct chat *chat = fake_chat(fake, number_of(command, "chat"));
    const struct message *message = fake_message(chat, number_of(command, "message_id"));
    if (message == NULL || message->is_deleted)
        return problem("no such message");
    char *data = pressed_data(message, command);
    if (data == NULL)
        return problem("no such button");
    fake->callbacks = fake_grow(fake->callbacks, fake->callback_count, &fake->callback_room,
                                sizeof *fake->callbacks);
    struct callback *callback = &fake->callbacks[fake->callback_count++];
    *callback = (struct callback){.ns = fake_now_ns(), .user = number_of(command, "user")};
    snprintf(callback->id, sizeof callback->id, "%llu", 4000000000000000000ull + ++fake->number);
    json_t *tree =
        json_pack("{s:s,s:o,s:o,s:s,s:s}", "id", callback->id, "from",
                  tree_of_user(fake, number_of(command, "user")), "message",
                  json_loads(message->json, 0, NULL), "chat_instance", "-1", "data", data);
    char *text = json_dumps(tree, JSON_COMPACT);
    struct sma_buf member;
    sma_buf_init(&member, 1u << 20);
    sma_buf_printf(&member, "\"callback_query\":%s", text);
    bool is_queued = fake_queue_update(fake, "callback_query", member.ptr, chat->id, 0);
    sma_buf_fini(&member);
    free(text);
    free(data);
    json_decref(tree);
    return json_pack("{s:s,s:b}", "id", callback->id, "is_queued", is_queued);
}

static json_t *tell_toast(struct fake_telegram *fake, const json_t *command)
{
    for (size_t i = 0; i < fake->callback_count; i++) {
        const struct callback *callback = &fake->callbacks[i];
        if (strcmp(callback->id, text_of(command, "id", "")) != 0)
            continue;
        uint64_t now = fake_now_ns(),
                 ns = (callback->is_answered ? callback->answered_ns : now) - callback->ns;
        return json_pack("{s:b,s:s,s:b,s:I,s:b}", "is_answered", callback->is_answered, "text",
                         callback->text == NULL ? "" : callback->text, "is_alert",
                         callback->is_alert, "ms", (json_int_t)(ns / 1000000u), "is_late",
                         !callback->is_answered && ns > fake->callback_ms_max * 1000000u);
    }
    return problem("no such press");
}

/* -- looking ----------------------------------------------------------------------------------- */
static json_t *describe(const struct fake_telegram *fake, const struct message *message)
{
    json_t *tree = json_pack(
        "{s:I,s:b,s:I,s:I,s:I,s:s,s:s,s:s,s:b,s:b,s:b,s:i,s:I,s:I,s:I,s:b}", "id",
        (json_int_t)message->id, "is_ours", message->is_ours, "from", (json_int_t)message->from,
        "thread", (json_int_t)message->thread, "reply_to", (json_int_t)message->reply_to, "kind",
        message->kind, "text", message->text, "raw", message->raw == NULL ? "" : message->raw,
        "is_plain", message->is_plain, "is_deleted", message->is_deleted, "has_markup",
        message->markup != NULL, "edits", (int)message->edit_count, "ns", (json_int_t)message->ns,
        "handed_ns", (json_int_t)message->handed_ns, "reply_ns", (json_int_t)message->reply_ns,
        "is_confirmed", message->is_confirmed);
    json_object_set_new(tree, "buttons", buttons_of(message));
    json_object_set_new(tree, "reaction",
                        json_string(message->reaction == NULL ? "" : message->reaction));
    if (message->file > 0 && tree != NULL) {
        const struct file *file = &fake->files[message->file - 1];
        size_t len = sma_utf8_cut((struct sma_str){file->bytes, file->len}, 4096);
        json_t *head = json_stringn(file->bytes, len);
        json_object_update_new(tree, json_pack("{s:s,s:I,s:o}", "file_name", file->name,
                                               "file_size", (json_int_t)file->len, "file_text",
                                               head == NULL ? json_null() : head));
    }
    return tree;
}

static json_t *list_chat(struct fake_telegram *fake, const json_t *command)
{
    const struct chat *chat = fake_chat(fake, number_of(command, "chat"));
    if (chat == NULL)
        return problem("no such chat");
    json_t *messages = json_array();
    size_t from = (size_t)number_of(command, "from");
    for (size_t i = from; i < chat->message_count; i++)
        json_array_append_new(messages, describe(fake, &chat->messages[i]));
    json_t *written = json_array();
    for (size_t i = 0; i < chat->written_count; i++)
        json_array_append_new(written, json_integer((json_int_t)chat->written_ns[i] / 1000000));
    return json_pack("{s:o,s:o,s:s,s:I,s:i,s:i,s:I}", "messages", messages, "written_ms", written,
                     "draft", chat->draft == NULL ? "" : chat->draft, "draft_id",
                     (json_int_t)chat->draft_id, "drafts", (int)chat->draft_count, "actions",
                     (int)chat->action_count, "action_thread", (json_int_t)chat->action_thread);
}

static json_t *list_callbacks(struct fake_telegram *fake, const json_t *command)
{
    json_t *list = json_array();
    (void)command;
    for (size_t i = 0; i < fake->callback_count; i++) {
        const struct callback *callback = &fake->callbacks[i];
        json_array_append_new(list,
                              json_pack("{s:s,s:I,s:b,s:b,s:s}", "id", callback->id, "user",
                                        (json_int_t)callback->user, "is_answered",
                                        callback->is_answered, "is_alert", callback->is_alert,
                                        "text", callback->text == NULL ? "" : callback->text));
    }
    return json_pack("{s:o}", "callbacks", list);
}

/* Messages of ours that were begun and never finished: they say so themselves. */
static size_t count_unfinished(const struct fake_telegram *fake)
{
    size_t count = 0;
    for (size_t at = 0; at < CHAT_TABLE_SIZE; at++) {
        const struct chat *chat = fake->chats[at];
        for (size_t i = 0; chat != NULL && i < chat->message_count; i++) {
            const struct message *message = &chat->messages[i];
            size_t len = message->text == NULL ? 0 : strlen(message->text);
            count += message->is_ours && !message->is_deleted && len >= 3 &&
                     strcmp(message->text + len - 3, "\xE2\x80\xA6") == 0;
        }
    }
    return count;
}

static json_t *count_all(struct fake_telegram *fake, const json_t *command)
{
    bool counts_open = json_is_true(json_object_get(command, "unfinished"));
    long faults_left = 0;
    for (size_t i = 0; i < fake->fault_count; i++)
        faults_left += fake->faults[i].times;
    const struct
    {
        const char *name;
        uint64_t number;
    } numbers[] = {{"handed", fake->handed_count},
                   {"confirmed", fake->confirmed_count},
                   {"queued", fake_queue_length(fake)},
                   {"sent", fake->sent_count},
                   {"previews", fake->preview_count},
                   {"conflicts", fake->conflict_count},
                   {"expired", fake->expired_count},
                   {"refused", fake->refused_count},
                   {"flooded", fake->flooded_count},
                   {"not_modified", fake->same_count},
                   {"unfinished", counts_open ? count_unfinished(fake) : 0},
                   {"finished", fake->load.finished},
                   {"started", fake->load.started},
                   {"faults_left", (uint64_t)faults_left},
                   {"next_update_id", (uint64_t)fake->next_update_id}};
    /* a copy: whoever asked reads it while the platform counts on */
    json_t *tree = json_pack("{s:b,s:b,s:o}", "is_polled", fake->poll != NULL, "has_webhook",
                             fake->webhook_url[0] != '\0', "calls", json_deep_copy(fake->counts));
    for (size_t i = 0; i < SMA_COUNT_OF(numbers); i++)
        json_object_set_new(tree, numbers[i].name, json_integer((json_int_t)numbers[i].number));
    return tree;
}

static json_t *list_commands(struct fake_telegram *fake, const json_t *command)
{
    (void)command;
    return json_pack("{s:o}", "commands", json_deep_copy(fake->commands));
}

/* -- weather ----------------------------------------------------------------------------------- */
static json_t *add_fault(struct fake_telegram *fake, const json_t *command)
{
    static const char *const kinds[] = {"none", "close",   "half_open", "lose_answer",
                                        "cut",  "slow",    "delay",     "status",
                                        "html", "garbage", "other_chat"};
    const char *kind = text_of(command, "kind", "");
    bool is_unknown = strcmp(kind, "unknown") == 0;
    struct fault fault = {.times = 1, .ms = 1, .bytes = 1, .status = is_unknown ? 400 : 502};
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++)
        if (strcmp(is_unknown ? "status" : kind, kinds[i]) == 0)
            fault.kind = (enum fault_kind)i;
    if (fault.kind == FAULT_NONE)
        return problem("no such kind of fault");
    const char *method = text_of(command, "method", "*");
    for (size_t i = 0; method[i] != '\0' && i < sizeof fault.method - 1; i++)
        fault.method[i] = (char)tolower((unsigned char)method[i]);
    const struct
    {
        const char *name;
        long *value;
    } numbers[] = {{"times", &fault.times}, {"skip", &fault.skip},     {"ms", &fault.ms},
                   {"bytes", &fault.bytes}, {"status", &fault.status}, {"seconds", &fault.seconds}};
    for (size_t i = 0; i < SMA_COUNT_OF(numbers); i++)
        if (json_object_get(command, numbers[i].name) != NULL)
            *numbers[i].value = (long)number_of(command, numbers[i].name);
    fault.chat_id = number_of(command, "chat");
    snprintf(fault.text, sizeof fault.text, "%s", text_of(command, "text", ""));
    snprintf(fault.holds, sizeof fault.holds, "%s", text_of(command, "holds", ""));
    if (is_unknown)
        platform_make_unknown(number_of(command, "seed"), NULL, fault.text, sizeof fault.text);
    fake->faults =
        fake_grow(fake->faults, fake->fault_count, &fake->fault_room, sizeof *fake->faults);
    fake->faults[fake->fault_count++] = fault;
    return done();
}

static json_t *clear_faults(struct fake_telegram *fake, const json_t *command)
{
    (void)command;
    fake->fault_count = 0;
    return done();
}

static json_t *redeliver(struct fake_telegram *fake, const json_t *command)
{
    size_t count = (size_t)number_of(command, "count");
    for (size_t i = fake->update_count; i > 0 && count > 0; i--, count--)
        fake_requeue(fake, fake->updates[i - 1]);
    return done();
}

static json_t *restart(struct fake_telegram *fake, const json_t *command)
{
    if (number_of(command, "update_id") != 0)
        fake->next_update_id = number_of(command, "update_id");
    for (struct connection *at = fake->connections; at != NULL; at = at->next)
        if (at->kind == PEER_CLIENT)
            shutdown(at->fd, SHUT_RDWR); /* seen as an event on each */
    fake->poll = NULL;
    return done();
}

static json_t *set_weather(struct fake_telegram *fake, const json_t *command)
{
    const char *what = text_of(command, "do", "");
    bool is_on = !json_is_false(json_object_get(command, "on"));
    if (strcmp(what, "revoke") == 0)
        fake->is_revoked = is_on;
    else if (strcmp(what, "token") == 0)
        snprintf(fake->token, sizeof fake->token, "%s",
                 text_of(command, "token", FAKE_TELEGRAM_TOKEN));
    else if (strcmp(what, "clock") == 0)
        fake->clock_skew_s = number_of(command, "seconds");
    else if (strcmp(what, "gap") == 0)
        fake->next_update_id += number_of(command, "count");
    else if (strcmp(what, "privacy") == 0)
        fake->reads_all = !is_on;
    else if (strcmp(what, "callback_deadline") == 0)
        fake->callback_ms_max = (uint64_t)number_of(command, "ms");
    else if (strcmp(what, "rates") == 0) {
        fake->chat_per_second = (unsigned)number_of(command, "chat_per_second");
        fake->bot_per_second = (unsigned)number_of(command, "bot_per_second");
        fake->group_per_minute = (unsigned)number_of(command, "group_per_minute");
    } else if (!fake_set_webhook(fake, text_of(command, "url", ""), text_of(command, "secret", "")))
        return problem("no URL of the form http://address:port/path");
    return done();
}

/* -- load -------------------------------------------------------------------------------------- */
static void say_load(struct fake_telegram *fake, struct chat *chat)
{
    char token[64];
    struct message *message = fake_add_message(chat);
    struct sma_buf json, text;
    const char *pattern = fake->load.text, *mark = strstr(pattern, "%s");
    snprintf(token, sizeof token, "m%lld-%lld", (long long)chat->id, (long long)message->id);
    sma_buf_init(&text, 4096);
    sma_buf_init(&json, 65536);
    sma_buf_put(&text, pattern, mark == NULL ? strlen(pattern) : (size_t)(mark - pattern));
    sma_buf_put_text(&text, token);
    sma_buf_put_text(&text, mark == NULL ? "" : mark + 2);
    sma_buf_printf(&json, "\"message\":{\"message_id\":%lld,\"from\":", (long long)message->id);
    fake_put_user(&json, fake_user(fake, chat->id));
    sma_buf_put_text(&json, ",\"chat\":");
    fake_put_chat(fake, &json, chat);
    sma_buf_printf(&json, ",\"date\":%lld,\"text\":", (long long)fake_date(fake));
    sma_buf_put_json_string(&json, sma_buf_str(&text));
    sma_buf_put_char(&json, '}');
    message->from = chat->id;
    message->text = fake_copy(sma_buf_str(&text));
    message->json = fake_copy((struct sma_str){json.ptr + 10, json.len - 10});
    fake->load.started++;
    (void)fake_queue_update(fake, "message", json.ptr, chat->id, message->id);
    sma_buf_fini(&text);
    sma_buf_fini(&json);
}

/* One more chat of the load. */
static void open_load_chat(struct fake_telegram *fake)
{
    struct load *load = &fake->load;
    int64_t id = load->first_chat + (int64_t)load->chat_count++;
    char name[32];
    snprintf(name, sizeof name, "load%lld", (long long)id);
    fake_add_user(fake, id, name, name, "en");
    struct chat *chat = fake_add_chat(fake, id, "private", "");
    chat->load_count = load->per_chat;
    if (chat->message_count == 0)
        chat->id_offset = load->id_offset;
    say_load(fake, chat);
}

void fake_load_answered(struct fake_telegram *fake, struct chat *chat)
{
    struct load *load = &fake->load;
    load->finished++;
    chat->load_count--;
    if (load->started == load->total)
        return;
    if (chat->load_count > 0)
        say_load(fake, chat);
    else
        open_load_chat(fake);
}

static json_t *start_load(struct fake_telegram *fake, const json_t *command)
{
    struct load *load = &fake->load;
    size_t chat_count = (size_t)number_of(command, "chats"),
           per_chat = (size_t)number_of(command, "per_chat");
    *load = (struct load){.total = (size_t)number_of(command, "total"),
                          .per_chat = per_chat == 0 ? SIZE_MAX : per_chat,
                          .first_chat = number_of(command, "first_chat"),
                          .id_offset = number_of(command, "id_offset")};
    snprintf(load->text, sizeof load->text, "%s", text_of(command, "text", "please repeat %s"));
    while (load->chat_count < chat_count && load->started < load->total)
        open_load_chat(fake);
    return done();
}

/* Update handed out -> reply received, of the chats of the load, in microseconds; their first
 * `skip` left out. */
static json_t *list_latencies(struct fake_telegram *fake, const json_t *command)
{
    json_t *list = json_array();
    size_t skip = (size_t)number_of(command, "skip");
    for (size_t i = 0; i < fake->load.chat_count; i++) {
        const struct chat *chat = fake_chat(fake, fake->load.first_chat + (int64_t)i);
        size_t seen = 0;
        for (size_t j = 0; chat != NULL && j < chat->message_count; j++) {
            const struct message *message = &chat->messages[j];
            if (!message->is_ours && message->reply_ns != 0 && message->handed_ns != 0 &&
                seen++ >= skip)
                json_array_append_new(
                    list,
                    json_integer((json_int_t)((message->reply_ns - message->handed_ns) / 1000)));
        }
    }
    return json_pack("{s:o}", "latencies", list);
}

json_t *fake_control(struct fake_telegram *fake, const json_t *command)
{
    static const struct
    {
        const char *name;
        json_t *(*run)(struct fake_telegram *fake, const json_t *command);
    } commands[] = {{"user", add_user},
                    {"chat", add_chat},
                    {"topic", add_topic},
                    {"say", say},
                    {"edit", edit},
                    {"press", press},
                    {"toast", tell_toast},
                    {"migrate", migrate},
                    {"block", change_membership},
                    {"kick", change_membership},
                    {"take_in", change_membership},
                    {"list", list_chat},
                    {"callbacks", list_callbacks},
                    {"counters", count_all},
                    {"commands", list_commands},
                    {"latencies", list_latencies},
                    {"fault", add_fault},
                    {"clear_faults", clear_faults},
                    {"redeliver", redeliver},
                    {"restart", restart},
                    {"gap", set_weather},
                    {"revoke", set_weather},
                    {"token", set_weather},
                    {"clock", set_weather},
                    {"privacy", set_weather},
                    {"rates", set_weather},
                    {"callback_deadline", set_weather},
                    {"webhook", set_weather},
                    {"load", start_load}};
    const char *name = text_of(command, "do", "");
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(fake, command);
    return problem("no such command");
}
