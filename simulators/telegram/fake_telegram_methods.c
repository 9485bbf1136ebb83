/*
 * fake_telegram_methods.c — the methods of the Bot API and everything they refuse.
 */
#include "fake_telegram_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

struct call
{
    struct fake_telegram *fake;
    struct connection *connection;
    const char *method;
    json_t *params;
    const struct platform_upload *uploads;
    size_t upload_count;
    bool is_answered;
};

void fake_answer_error(struct fake_telegram *fake, struct connection *connection, int status,
                       const char *description, long retry_after, int64_t migrate_to)
{
    struct sma_buf body;
    char headers[64] = "";
    sma_buf_init(&body, 65536);
    sma_buf_printf(&body, "{\"ok\":false,\"error_code\":%d,\"description\":", status);
    sma_buf_put_json_string(&body, sma_str(description));
    if (retry_after > 0) {
        sma_buf_printf(&body, ",\"parameters\":{\"retry_after\":%ld}", retry_after);
        snprintf(headers, sizeof headers, "Retry-After: %ld\r\n", retry_after);
    }
    if (migrate_to != 0)
        sma_buf_printf(&body, ",\"parameters\":{\"migrate_to_chat_id\":%lld}",
                       (long long)migrate_to);
    sma_buf_put_char(&body, '}');
    fake->refused_count++;
    fake_respond(fake, connection, status, "application/json", headers, sma_buf_str(&body));
    sma_buf_fini(&body);
}

static void refuse(struct call *call, int status, const char *description)
{
    if (call->is_answered)
        return;
    call->is_answered = true;
    fake_answer_error(call->fake, call->connection, status, description, 0, 0);
}

static void answer(struct call *call, struct sma_str result)
{
    struct sma_buf body;
    sma_buf_init(&body, BODY_BYTES_MAX);
    sma_buf_put_text(&body, "{\"ok\":true,\"result\":");
    sma_buf_put_str(&body, result);
    sma_buf_put_char(&body, '}');
    call->is_answered = true;
    fake_respond(call->fake, call->connection, 200, "application/json", "", sma_buf_str(&body));
    sma_buf_fini(&body);
}

/* -- parameters -------------------------------------------------------------------------------- */
static const char *text_of(const struct call *call, const char *name)
{
    const char *text = json_string_value(json_object_get(call->params, name));
    return text == NULL ? "" : text;
}

static int64_t number_in(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (json_is_integer(value))
        return json_integer_value(value);
    return json_is_string(value) ? strtoll(json_string_value(value), NULL, 10) : 0;
}

static int64_t number_of(const struct call *call, const char *name)
{
    return number_in(call->params, name);
}

static bool truth_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_true(value) ||
           (json_is_string(value) && strcasecmp(json_string_value(value), "true") == 0);
}

/* A structured parameter; decref it. NULL: not given or not readable. */
static json_t *tree_of(const struct call *call, const char *name)
{
    json_t *value = json_object_get(call->params, name);
    if (json_is_string(value))
        return json_loads(json_string_value(value), 0, NULL);
    return json_incref(value);
}

static void refuse_rate(struct call *call, long wait_s)
{
    char text[64];
    call->is_answered = true;
    call->fake->flooded_count++;
    snprintf(text, sizeof text, "Too Many Requests: retry after %ld", wait_s);
    fake_answer_error(call->fake, call->connection, 429, text, wait_s, 0);
}

/* The chat that is written to; NULL: refused. */
static struct chat *take_chat(struct call *call)
{
    struct fake_telegram *fake = call->fake;
    struct chat *chat = fake_chat(fake, number_of(call, "chat_id"));
    const char *words;
    long wait_s = 0;
    int status;
    if (json_object_get(call->params, "chat_id") == NULL)
        refuse(call, 400, "Bad Request: chat_id is empty");
    else if (chat == NULL)
        refuse(call, 400, "Bad Request: chat not found");
    else if (chat->migrated_to != 0) {
        call->is_answered = true;
        fake_answer_error(fake, call->connection, 400,
                          "Bad Request: group chat was upgraded to a supergroup chat", 0,
                          chat->migrated_to);
    } else if (chat->is_blocked)
        refuse(call, 403, "Forbidden: bot was blocked by the user");
    else if (chat->is_kicked)
        refuse(call, 403,
               strcmp(chat->type, "group") == 0
                   ? "Forbidden: bot was kicked from the group chat"
                   : "Forbidden: bot was kicked from the supergroup chat");
    else if ((words = fake_forbidden(chat, call->method, call->params, &status)) != NULL)
        refuse(call, status, words);
    else if (strcmp(call->method, "sendchataction") != 0 && fake_is_flooded(fake, chat, &wait_s))
        refuse_rate(call, wait_s);
    return call->is_answered ? NULL : chat;
}

/* The topic written to; false: refused. */
static bool take_thread(struct call *call, const struct chat *chat, int64_t *ret_thread)
{
    int64_t thread = number_of(call, "message_thread_id");
    *ret_thread = 0;
    if (thread == 0 || (!chat->is_forum && strcmp(chat->type, "private") != 0))
        return true; /* ignored where there are no topics */
    if (!fake_has_topic(chat, thread)) {
        refuse(call, 400, "Bad Request: message thread not found");
        return false;
    }
    *ret_thread = thread;
    return true;
}

static bool take_reply(struct call *call, const struct chat *chat, int64_t *ret_reply,
                       int64_t *thread)
{
    json_t *reply = tree_of(call, "reply_parameters");
    int64_t id =
        reply == NULL ? number_of(call, "reply_to_message_id") : number_in(reply, "message_id");
    bool is_optional =
        truth_of(reply != NULL ? reply : call->params, "allow_sending_without_reply");
    const struct message *target = fake_message(chat, id);
    json_decref(reply);
    *ret_reply = target == NULL ? 0 : id;
    if (id != 0 && target == NULL && !is_optional) {
        refuse(call, 400, "Bad Request: message to be replied not found");
        return false;
    }
    if (target != NULL && *thread == 0)
        *thread = target->thread; /* a reply lands where its target is */
    return true;
}

/* *ret_markup is the keyboard as JSON, to be freed; NULL: none. @return false: refused */
static bool take_markup(struct call *call, char **ret_markup)
{
    bool is_given = json_object_get(call->params, "reply_markup") != NULL;
    json_t *markup = tree_of(call, "reply_markup");
    const char *wrong = is_given ? fake_check_keyboard(markup) : NULL;
    const json_t *rows = json_object_get(markup, "inline_keyboard");
    if (wrong != NULL)
        refuse(call, 400, wrong);
    else
        *ret_markup = json_array_size(rows) == 0 ? NULL : json_dumps(rows, JSON_COMPACT);
    json_decref(markup);
    return wrong == NULL;
}

/* Parsed text in *plain (to be freed); false: refused. */
static bool take_text(struct call *call, const char *name, size_t units_max, bool may_be_empty,
                      char **ret_plain, char **ret_entities)
{
    const json_t *value = json_object_get(call->params, name);
    struct sma_str raw = {json_string_value(value), json_string_length(value)};
    const char *mode = text_of(call, "parse_mode"), *wrong = NULL;
    struct sma_buf plain, entities;
    sma_buf_init(&plain, BODY_BYTES_MAX);
    sma_buf_init(&entities, BODY_BYTES_MAX);
    if (raw.len > TEXT_BYTES_MAX)
        refuse(call, 400, "Bad Request: text is too long");
    else if (strcasecmp(mode, "HTML") == 0)
        wrong = fake_parse_html(raw, &plain, &entities);
    else if (strcasecmp(mode, "MarkdownV2") == 0)
        wrong = fake_parse_markdown(raw, &plain);
    else if (mode[0] != '\0')
        refuse(call, 400, "Bad Request: unsupported parse_mode");
    else if (!sma_utf8_is_valid(raw))
        refuse(call, 400, "Bad Request: strings must be encoded in UTF-8");
    else
        sma_buf_put_str(&plain, raw);
    if (wrong != NULL) {
        char text[320];
        snprintf(text, sizeof text, "Bad Request: can't parse entities: %s", wrong);
        refuse(call, 400, text);
    }
    struct sma_str trimmed = sma_str_trim(sma_buf_str(&plain));
    if (!call->is_answered && trimmed.len == 0 && !may_be_empty)
        refuse(call, 400, "Bad Request: message text is empty");
    if (!call->is_answered && sma_utf16_length(trimmed) > units_max)
        refuse(call, 400,
               units_max == CAPTION_UNITS_MAX ? "Bad Request: message caption is too long"
                                              : "Bad Request: message is too long");
    if (!call->is_answered) {
        *ret_plain = fake_copy(trimmed);
        *ret_entities = fake_copy(sma_buf_str(&entities));
    }
    sma_buf_fini(&plain);
    sma_buf_fini(&entities);
    return !call->is_answered;
}

/* -- sending ----------------------------------------------------------------------------------- */
/* The Message object of one of ours. */
static void put_message(const struct call *call, const struct chat *chat,
                        const struct message *message, const char *entities, struct sma_buf *out)
{
    bool is_text = strcmp(message->kind, "text") == 0;
    sma_buf_printf(out, "{\"message_id\":%lld,\"from\":", (long long)message->id);
    fake_put_bot(out);
    sma_buf_put_text(out, ",\"chat\":");
    fake_put_chat(call->fake, out, chat);
    sma_buf_printf(out, ",\"date\":%lld", (long long)fake_date(call->fake));
    if (message->thread != 0)
        sma_buf_printf(out, ",\"message_thread_id\":%lld,\"is_topic_message\":true",
                       (long long)message->thread);
    if (message->file > 0) {
        const struct file *file = &call->fake->files[message->file - 1];
        bool is_photo = strcmp(message->kind, "photo") == 0;
        sma_buf_printf(out,
                       ",\"%s\":%s{\"file_id\":\"%s\",\"file_unique_id\":\"u%s\",\"file_size\":%zu,"
                       "\"file_name\":",
                       message->kind, is_photo ? "[" : "", file->id, file->id, file->len);
        sma_buf_put_json_string(out, sma_str(file->name));
        sma_buf_put_text(out, is_photo ? "}]" : "}");
    }
    if (is_text || message->text[0] != '\0') {
        sma_buf_put_text(out, is_text ? ",\"text\":" : ",\"caption\":");
        sma_buf_put_json_string(out, sma_str(message->text));
    }
    if (entities != NULL && entities[0] != '\0')
        sma_buf_printf(out, ",\"%s\":[%s]", is_text ? "entities" : "caption_entities", entities);
    if (message->markup != NULL)
        sma_buf_printf(out, ",\"reply_markup\":{\"inline_keyboard\":%s}", message->markup);
    sma_buf_put_char(out, '}');
}

/* What the rate of a chat counts was taken: when. */
static void note_written(struct chat *chat)
{
    chat->written_ns = fake_grow(chat->written_ns, chat->written_count, &chat->written_room,
                                 sizeof *chat->written_ns);
    chat->written_ns[chat->written_count++] = fake_now_ns();
}

static void note_answer(struct fake_telegram *fake, const struct message *ours)
{
    struct chat *chat;
    struct message *theirs = fake_find_token(fake, ours->text, &chat);
    if (theirs == NULL || theirs->is_ours || theirs->reply_ns != 0)
        return;
    theirs->reply_ns = ours->ns;
    if (chat->load_count > 0)
        fake_load_answered(fake, chat);
}

/* Source: Bot API, LinkPreviewOptions: without is_disabled the first address is fetched. */
static void note_preview(struct call *call, const char *text)
{
    json_t *options = tree_of(call, "link_preview_options");
    call->fake->preview_count += strstr(text, "://") != NULL && !truth_of(options, "is_disabled");
    json_decref(options);
}

/* Everything is checked: the message is there. Takes `plain` and `entities`. */
static void post(struct call *call, struct chat *chat, struct message ready, char *plain,
                 char *entities)
{
    struct message *message = fake_add_message(chat);
    ready.id = message->id;
    ready.ns = message->ns;
    *message = ready;
    message->is_ours = true;
    message->from = FAKE_TELEGRAM_BOT_ID;
    message->text = plain;
    message->is_plain = text_of(call, "parse_mode")[0] == '\0';
    const char *raw = text_of(call, "text");
    note_preview(call, raw);
    message->raw = fake_copy(sma_str(raw[0] != '\0' ? raw : text_of(call, "caption")));
    struct sma_buf out;
    sma_buf_init(&out, BODY_BYTES_MAX);
    put_message(call, chat, message, entities, &out);
    message->json = fake_copy(sma_buf_str(&out));
    free(entities);
    free(chat->draft);
    chat->draft = NULL; /* the message takes the place of the preview */
    call->fake->sent_count++;
    note_written(chat);
    answer(call, sma_buf_str(&out));
    sma_buf_fini(&out);
    note_answer(call->fake, message);
}

static void send_message(struct call *call)
{
    struct message ready = {.kind = "text"};
    struct chat *chat = take_chat(call);
    char *plain, *entities;
    if (chat == NULL || !take_thread(call, chat, &ready.thread) ||
        !take_reply(call, chat, &ready.reply_to, &ready.thread) ||
        !take_markup(call, &ready.markup))
        return;
    if (take_text(call, "text", TEXT_UNITS_MAX, false, &plain, &entities))
        post(call, chat, ready, plain, entities);
    else
        free(ready.markup);
}

static bool take_file(struct call *call, const char *kind, size_t *ret_file)
{
    size_t max = strcmp(kind, "photo") == 0 ? 10u << 20 : 50u << 20;
    for (size_t i = 0; i < call->upload_count; i++) {
        const struct platform_upload *upload = &call->uploads[i];
        if (strcmp(upload->name, kind) != 0)
            continue;
        if (upload->bytes.len > max)
            refuse(call, 413, "Request Entity Too Large");
        else if (upload->bytes.len == 0)
            refuse(call, 400, "Bad Request: file must be non-empty");
        else if (strcmp(kind, "photo") == 0 && fake_check_photo(upload->bytes) != NULL)
            refuse(call, 400, fake_check_photo(upload->bytes));
        else
            *ret_file = fake_add_file(call->fake, kind, upload->file_name, upload->bytes);
        return !call->is_answered;
    }
    const char *given = text_of(call, kind);
    const struct file *file = fake_find_file(call->fake, given, NULL);
    if (given[0] == '\0') {
        char text[80];
        snprintf(text, sizeof text, "Bad Request: there is no %s in the request", kind);
        refuse(call, 400, text);
    } else if (file == NULL) {
        refuse(call, 400, "Bad Request: wrong file identifier/HTTP URL specified");
    } else {
        *ret_file = (size_t)(file - call->fake->files) + 1;
    }
    return !call->is_answered;
}

static void send_file(struct call *call, const char *kind)
{
    struct message ready = {.kind = kind};
    struct chat *chat = take_chat(call);
    char *plain, *entities;
    if (chat == NULL || !take_thread(call, chat, &ready.thread) ||
        !take_reply(call, chat, &ready.reply_to, &ready.thread) ||
        !take_markup(call, &ready.markup))
        return;
    if (take_file(call, kind, &ready.file) &&
        take_text(call, "caption", CAPTION_UNITS_MAX, true, &plain, &entities))
        post(call, chat, ready, plain, entities);
    else
        free(ready.markup);
}

static void send_draft(struct call *call)
{
    struct chat *chat = take_chat(call);
    int64_t thread;
    char *plain, *entities;
    if (chat == NULL)
        return;
    if (strcmp(chat->type, "private") != 0)
        refuse(call, 400, "Bad Request: the method is available only for private chats");
    else if (number_of(call, "draft_id") == 0)
        refuse(call, 400, "Bad Request: draft identifier must be non-zero");
    if (call->is_answered || !take_thread(call, chat, &thread) ||
        !take_text(call, "text", TEXT_UNITS_MAX, true, &plain, &entities))
        return;
    free(entities);
    free(chat->draft);
    chat->draft = plain;
    chat->draft_id = number_of(call, "draft_id");
    chat->draft_count++;
    answer(call, SMA_STR("true"));
}

static void send_action(struct call *call)
{
    static const char *const actions[] = {
        "typing",        "upload_photo",      "record_video",     "upload_video",
        "record_voice",  "upload_voice",      "upload_document",  "choose_sticker",
        "find_location", "record_video_note", "upload_video_note"};
    struct chat *chat = take_chat(call);
    bool is_known = false;
    for (size_t i = 0; i < SMA_COUNT_OF(actions); i++)
        is_known |= strcmp(text_of(call, "action"), actions[i]) == 0;
    if (chat == NULL)
        return;
    if (!is_known) {
        refuse(call, 400, "Bad Request: wrong parameter action in request");
        return;
    }
    chat->action_count++;
    chat->action_thread = number_of(call, "message_thread_id");
    answer(call, SMA_STR("true"));
}

static bool is_same(const char *one, const char *other)
{
    return strcmp(one == NULL ? "" : one, other == NULL ? "" : other) == 0;
}

static void edit_text(struct call *call)
{
    struct chat *chat = take_chat(call);
    struct message *message =
        chat == NULL ? NULL : fake_message(chat, number_of(call, "message_id"));
    char *plain, *entities, *markup = NULL;
    if (chat == NULL)
        return;
    if (message == NULL || message->is_deleted)
        refuse(call, 400, "Bad Request: message to edit not found");
    else if (!message->is_ours || strcmp(message->kind, "text") != 0)
        refuse(call, 400, "Bad Request: message can't be edited");
    if (call->is_answered || !take_markup(call, &markup))
        return;
    if (!take_text(call, "text", TEXT_UNITS_MAX, false, &plain, &entities)) {
        free(markup);
        return;
    }
    bool is_plain = text_of(call, "parse_mode")[0] == '\0';
    if (strcmp(message->raw, text_of(call, "text")) == 0 && message->is_plain == is_plain &&
        is_same(message->markup, markup)) {
        call->fake->same_count++;
        refuse(call, 400,
               "Bad Request: message is not modified: specified new message content and reply "
               "markup are exactly the same as a current content and reply markup of the message");
        free(plain);
        free(entities);
        free(markup);
        return;
    }
    free(message->text);
    free(message->raw);
    free(message->markup);
    free(message->json);
    message->text = plain;
    message->raw = fake_copy(sma_str(text_of(call, "text")));
    message->markup = markup; /* none given: the keyboard goes */
    message->is_plain = is_plain;
    message->edit_count++;
    note_preview(call, message->raw);
    note_written(chat);
    struct sma_buf out;
    sma_buf_init(&out, BODY_BYTES_MAX);
    put_message(call, chat, message, entities, &out);
    free(entities);
    message->json = fake_copy(sma_buf_str(&out));
    answer(call, sma_buf_str(&out));
    sma_buf_fini(&out);
    note_answer(call->fake, message);
}

static void delete_message(struct call *call)
{
    struct chat *chat = take_chat(call);
    struct message *message =
        chat == NULL ? NULL : fake_message(chat, number_of(call, "message_id"));
    if (chat == NULL)
        return;
    if (message == NULL || message->is_deleted)
        refuse(call, 400, "Bad Request: message to delete not found");
    else if (!message->is_ours && !fake_is_admin(chat, FAKE_TELEGRAM_BOT_ID))
        refuse(call, 400, "Bad Request: message can't be deleted");
    if (call->is_answered)
        return;
    message->is_deleted = true;
    answer(call, SMA_STR("true"));
}

/* -- reactions --------------------------------------------------------------------------------- */
static void set_reaction(struct call *call)
{
    struct chat *chat = take_chat(call);
    struct message *message =
        chat == NULL ? NULL : fake_message(chat, number_of(call, "message_id"));
    const char *emoji = NULL;
    if (chat == NULL)
        return;
    json_t *list = tree_of(call, "reaction");
    const char *wrong = fake_check_reactions(list, &emoji);
    if (message == NULL || message->is_deleted)
        wrong = "Bad Request: message to react not found";
    if (wrong == NULL) {
        free(message->reaction);
        message->reaction = emoji == NULL ? NULL : fake_copy(sma_str(emoji));
        answer(call, SMA_STR("true"));
    } else {
        refuse(call, 400, wrong);
    }
    json_decref(list);
}

/* -- the rest ---------------------------------------------------------------------------------- */
static void answer_callback(struct call *call)
{
    struct fake_telegram *fake = call->fake;
    const char *id = text_of(call, "callback_query_id");
    struct callback *found = NULL;
    for (size_t i = 0; i < fake->callback_count; i++)
        if (strcmp(fake->callbacks[i].id, id) == 0)
            found = &fake->callbacks[i];
    if (found == NULL || fake_now_ns() - found->ns > fake->callback_ms_max * 1000000u) {
        refuse(call, 400,
               "Bad Request: query is too old and response timeout expired or query ID is invalid");
        return;
    }
    if (sma_utf16_length(sma_str(text_of(call, "text"))) > 200) {
        refuse(call, 400, "Bad Request: MESSAGE_TOO_LONG");
        return;
    }
    if (!found->is_answered)
        found->answered_ns = fake_now_ns();
    found->is_answered = true;
    found->is_alert = truth_of(call->params, "show_alert");
    free(found->text);
    found->text = fake_copy(sma_str(text_of(call, "text")));
    answer(call, SMA_STR("true"));
}

static void set_commands(struct call *call)
{
    static const char *const scopes[] = {
        "default", "all_private_chats",   "all_group_chats", "all_chat_administrators",
        "chat",    "chat_administrators", "chat_member"};
    json_t *list = tree_of(call, "commands"), *scope = tree_of(call, "scope");
    const char *wrong = fake_check_commands(list);
    const char *type = json_string_value(json_object_get(scope, "type"));
    bool is_known = scope == NULL;
    for (size_t i = 0; type != NULL && i < SMA_COUNT_OF(scopes); i++)
        is_known |= strcmp(type, scopes[i]) == 0;
    if (wrong == NULL && !is_known)
        wrong = "Bad Request: can't parse BotCommandScope: unsupported type specified";
    if (wrong != NULL) {
        refuse(call, 400, wrong);
    } else {
        char key[96];
        snprintf(key, sizeof key, "%s %s", type == NULL ? "default" : type,
                 text_of(call, "language_code"));
        json_object_set(call->fake->commands, key, list);
        answer(call, SMA_STR("true"));
    }
    json_decref(list);
    json_decref(scope);
}

static void get_file(struct call *call)
{
    const struct file *file = fake_find_file(call->fake, text_of(call, "file_id"), NULL);
    if (file == NULL) {
        refuse(call, 400, "Bad Request: wrong file_id or the file is temporarily unavailable");
        return;
    }
    if (file->len > DOWNLOAD_BYTES_MAX) {
        refuse(call, 400, "Bad Request: file is too big");
        return;
    }
    struct sma_buf out;
    sma_buf_init(&out, 4096);
    sma_buf_printf(
        &out,
        "{\"file_id\":\"%s\",\"file_unique_id\":\"u%s\",\"file_size\":%zu,\"file_path\":\"%s\"}",
        file->id, file->id, file->len, file->path);
    answer(call, sma_buf_str(&out));
    sma_buf_fini(&out);
}

static void put_member(const struct call *call, struct sma_buf *out, const struct chat *chat,
                       int64_t id)
{
    const struct user *user = fake_user(call->fake, id);
    const char *status = !fake_is_admin(chat, id) ? "member"
                         : chat->admins[0] == id  ? "creator"
                                                  : "administrator";
    sma_buf_printf(out, "{\"status\":\"%s\",\"user\":", status);
    if (user != NULL)
        fake_put_user(out, user);
    else
        fake_put_bot(out);
    sma_buf_put_char(out, '}');
}

static void get_members(struct call *call, bool is_one)
{
    struct chat *chat = take_chat(call);
    struct sma_buf out;
    if (chat == NULL)
        return;
    if (!is_one && strcmp(chat->type, "private") == 0) {
        refuse(call, 400, "Bad Request: there are no administrators in the private chat");
        return;
    }
    if (is_one && fake_user(call->fake, number_of(call, "user_id")) == NULL &&
        number_of(call, "user_id") != FAKE_TELEGRAM_BOT_ID) {
        refuse(call, 400, "Bad Request: PARTICIPANT_ID_INVALID");
        return;
    }
    sma_buf_init(&out, 1u << 20);
    if (is_one)
        put_member(call, &out, chat, number_of(call, "user_id"));
    else
        sma_buf_put_char(&out, '[');
    for (size_t i = 0; !is_one && i < chat->admin_count; i++) {
        if (i > 0)
            sma_buf_put_char(&out, ',');
        put_member(call, &out, chat, chat->admins[i]);
    }
    if (!is_one)
        sma_buf_put_char(&out, ']');
    answer(call, sma_buf_str(&out));
    sma_buf_fini(&out);
}

static void get_me(struct call *call)
{
    struct sma_buf out;
    sma_buf_init(&out, 4096);
    sma_buf_printf(&out,
                   "{\"id\":%lld,\"is_bot\":true,\"first_name\":\"Helper\",\"username\":\"%s\","
                   "\"can_join_groups\":true,"
                   "\"can_read_all_group_messages\":%s,\"supports_inline_queries\":false}",
                   (long long)FAKE_TELEGRAM_BOT_ID, FAKE_TELEGRAM_BOT_NAME,
                   call->fake->reads_all ? "true" : "false");
    answer(call, sma_buf_str(&out));
    sma_buf_fini(&out);
}

static void get_chat(struct call *call)
{
    struct chat *chat = take_chat(call);
    struct sma_buf out;
    if (chat == NULL)
        return;
    sma_buf_init(&out, 65536);
    fake_put_chat(call->fake, &out, chat);
    answer(call, sma_buf_str(&out));
    sma_buf_fini(&out);
}

static void set_webhook(struct call *call)
{
    struct fake_telegram *fake = call->fake;
    const char *secret = text_of(call, "secret_token"), *url = text_of(call, "url");
    size_t len = strlen(secret);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)secret[i]) && secret[i] != '_' && secret[i] != '-') {
            refuse(call, 400, "Bad Request: secret token contains unallowed characters");
            return;
        }
    if (len > 256) {
        refuse(call, 400, "Bad Request: secret token is too long");
        return;
    }
    if (!fake_set_webhook(fake, url, secret)) {
        refuse(call, 400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook");
        return;
    }
    json_t *allowed = tree_of(call, "allowed_updates");
    if (json_is_array(allowed))
        fake->allowed = fake_allowed_mask(allowed);
    json_decref(allowed);
    if (number_of(call, "max_connections") > 0 && number_of(call, "max_connections") <= 100)
        fake->webhook_count_max = (size_t)number_of(call, "max_connections");
    if (truth_of(call->params, "drop_pending_updates"))
        fake_drop_queue(fake);
    if (fake->poll != NULL && url[0] != '\0') {
        struct connection *poll = fake->poll;
        poll->is_polling = false;
        fake->poll = NULL;
        fake_answer_error(fake, poll, 409, "Conflict: terminated by setWebhook request", 0, 0);
        if (poll != call->connection)
            (void)fake_write_some(fake, poll);
    }
    answer(call, SMA_STR("true,\"description\":\"Webhook was set\""));
}

static void delete_webhook(struct call *call)
{
    call->fake->webhook_url[0] = '\0';
    if (truth_of(call->params, "drop_pending_updates"))
        fake_drop_queue(call->fake);
    answer(call, SMA_STR("true,\"description\":\"Webhook was deleted\""));
}

static void webhook_info(struct call *call)
{
    struct sma_buf out;
    sma_buf_init(&out, 4096);
    sma_buf_put_text(&out, "{\"url\":");
    sma_buf_put_json_string(&out, sma_str(call->fake->webhook_url));
    sma_buf_printf(&out, ",\"has_custom_certificate\":false,\"pending_update_count\":%zu}",
                   fake_queue_length(call->fake));
    answer(call, sma_buf_str(&out));
    sma_buf_fini(&out);
}

static void send_document(struct call *call)
{
    send_file(call, "document");
}
static void send_photo(struct call *call)
{
    send_file(call, "photo");
}
static void send_voice(struct call *call)
{
    send_file(call, "voice");
}
static void send_audio(struct call *call)
{
    send_file(call, "audio");
}
static void get_member(struct call *call)
{
    get_members(call, true);
}
static void get_administrators(struct call *call)
{
    get_members(call, false);
}

static const struct
{
    const char *name;
    void (*run)(struct call *call);
} METHODS[] = {
    {"sendmessage", send_message},
    {"sendchataction", send_action},
    {"sendmessagedraft", send_draft},
    {"editmessagetext", edit_text},
    {"setmessagereaction", set_reaction},
    {"deletemessage", delete_message},
    {"answercallbackquery", answer_callback},
    {"setmycommands", set_commands},
    {"getfile", get_file},
    {"getme", get_me},
    {"getchat", get_chat},
    {"getchatmember", get_member},
    {"getchatadministrators", get_administrators},
    {"setwebhook", set_webhook},
    {"deletewebhook", delete_webhook},
    {"getwebhookinfo", webhook_info},
    {"senddocument", send_document},
    {"sendphoto", send_photo},
    {"sendvoice", send_voice},
    {"sendaudio", send_audio},
};

void fake_call(struct fake_telegram *fake, struct connection *connection, const char *method,
               json_t *params, const struct platform_upload *uploads, size_t upload_count)
{
    struct call call = {fake, connection, method, params, uploads, upload_count, false};
    if (strcmp(method, "getupdates") == 0) {
        fake_poll(fake, connection, params);
        return;
    }
    for (size_t i = 0; i < SMA_COUNT_OF(METHODS); i++)
        if (strcmp(method, METHODS[i].name) == 0) {
            METHODS[i].run(&call);
            return;
        }
    refuse(&call, 404, "Not Found: method not found");
}
