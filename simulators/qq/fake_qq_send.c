/*
 * fake_qq_send.c — messages of the bot: what the platform takes, and what it refuses: content,
 * rights, windows, counts, numbers that were used before.
 */
#include "fake_qq_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_C2C_MS (60 * 60 * 1000)
#define WINDOW_MS (5 * 60 * 1000)
#define RECALL_MS_MAX (2 * 60 * 1000)
#define REPLIES_C2C 4
#define REPLIES_GROUP 5
#define BUTTON_ROWS_MAX 5
#define BUTTON_LABEL_CHARS_MAX 10
#define CODE_NONE 0

struct verdict
{
    int status;
    int64_t code; /* CODE_NONE: fine */
    const char *message;
};
static const struct verdict fine = {0, CODE_NONE, ""};

static struct verdict no(int64_t code, const char *message)
{
    return (struct verdict){400, code, message};
}

static size_t count_characters(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* -- content ----------------------------------------------------------------------------------- */
/* type 0 names its people, 3 the roles of a guild. */
static bool is_permission(const json_t *permission)
{
    int64_t type = platform_number(permission, "type", -1);
    const char *wanted = type == 0 ? "specify_user_ids" : type == 3 ? "specify_role_ids" : NULL;
    return type >= 0 && type <= 3 &&
           (wanted == NULL || json_array_size(json_object_get(permission, wanted)) > 0);
}

static bool is_button(const json_t *button)
{
    const json_t *render = json_object_get(button, "render_data"),
                 *action = json_object_get(button, "action");
    const char *label = platform_text(render, "label", "");
    int64_t style = platform_number(render, "style", 0), type = platform_number(action, "type", -1);
    return label[0] != '\0' && count_characters(label) <= BUTTON_LABEL_CHARS_MAX && style >= 0 &&
           style <= 4 && type >= 0 && type <= 2 &&
           json_is_string(json_object_get(action, "data")) &&
           is_permission(json_object_get(action, "permission"));
}

/* @return false: two of them have the same id */
static bool note_ids(json_t *ids, const json_t *buttons)
{
    for (size_t i = 0; i < json_array_size(buttons); i++) {
        const char *id = platform_text(json_array_get(buttons, i), "id", "");
        if (id[0] != '\0' && json_object_get(ids, id) != NULL)
            return false;
        json_object_set_new(ids, id, json_true());
    }
    return true;
}

static struct verdict check_keyboard(const struct fake_qq *fake, const json_t *keyboard)
{
    if (keyboard == NULL)
        return fine;
    if (fake->is_keyboard_off)
        return no(304037, "no permission for keyboards");
    if (json_is_string(json_object_get(keyboard, "id")))
        return fine;
    const json_t *rows = json_object_get(json_object_get(keyboard, "content"), "rows");
    size_t row_count = json_array_size(rows);
    if (row_count == 0)
        return no(305007, "keyboard is not valid");
    if (row_count > BUTTON_ROWS_MAX)
        return no(40034029, "keyboard is too large");
    struct verdict verdict = fine;
    json_t *ids = json_object();
    for (size_t i = 0; i < row_count; i++) {
        const json_t *buttons = json_object_get(json_array_get(rows, i), "buttons");
        size_t count = json_array_size(buttons);
        if (count == 0 || count > BUTTON_ROWS_MAX)
            verdict = no(40034029, "a row of a keyboard has one to five buttons");
        else if (!note_ids(ids, buttons))
            verdict = no(305007, "two buttons have the same id");
        for (size_t j = 0; j < count; j++)
            if (!is_button(json_array_get(buttons, j)))
                verdict = no(305007, "button is not valid");
    }
    json_decref(ids);
    return verdict;
}

/* With a scheme or without: labels, a dot, and a last label of letters; or four numbers. */
static bool has_url(const char *text)
{
    if (strcasestr(text, "http://") != NULL || strcasestr(text, "https://") != NULL)
        return true;
    for (const char *dot = strchr(text, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
        size_t letters = strspn(dot + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        unsigned char before = dot == text ? ' ' : (unsigned char)dot[-1];
        int part[4], len = 0;
        if ((isalnum(before) || before >= 0x80) && letters >= 2)
            return true;
        const char *number = dot;
        while (number > text && isdigit((unsigned char)number[-1]))
            number--;
        if (sscanf(number, "%3d.%3d.%3d.%3d%n", &part[0], &part[1], &part[2], &part[3], &len) == 4)
            return true;
    }
    return false;
}

static struct verdict check_text(const struct fake_qq *fake, const char *text)
{
    if (fake->text_max > 0 && count_characters(text) > (size_t)fake->text_max)
        return no(40054007, "message is too long");
    if (fake->refuses_urls && has_url(text))
        return no(40034028, "请求参数不允许包含url");
    if (strstr(text, "[[forbidden]]") != NULL)
        return no(40034006, "content is not allowed");
    return fine;
}

static struct verdict check_markdown(const struct rest *rest)
{
    const json_t *markdown = json_object_get(rest->body, "markdown");
    const char *content = platform_text(markdown, "content", "");
    if (rest->fake->is_markdown_off)
        return no(304036, "no permission for markdown");
    if (!json_is_object(markdown) || is_blank(content))
        return no(40034008, "markdown is empty");
    if (platform_text(rest->body, "content", "")[0] != '\0')
        return no(22006, "content beside markdown");
    if (strstr(content, "[[bad markdown]]") != NULL)
        return no(40034010, "markdown is not valid");
    return check_text(rest->fake, content);
}

static struct verdict check_media(const struct rest *rest)
{
    const char *info = platform_text(json_object_get(rest->body, "media"), "file_info", "");
    if (rest->chat == NULL || fake_qq_media(rest->fake, info, rest->chat->key) == NULL)
        return no(304080, "file_info is not valid");
    return check_text(rest->fake, platform_text(rest->body, "content", ""));
}

static struct verdict check_input(const struct rest *rest)
{
    const json_t *notify = json_object_get(rest->body, "input_notify");
    int64_t seconds = platform_number(notify, "input_second", -1);
    bool is_good = rest->scene == SCENE_C2C && platform_number(notify, "input_type", 0) == 1 &&
                   seconds >= 0 && seconds <= 60;
    return is_good ? fine : no(22006, "input state is not valid");
}

static struct verdict check_content(const struct rest *rest, int64_t type)
{
    const char *text = platform_text(rest->body, "content", "");
    switch (type) {
    case 0:
        if (json_object_get(rest->body, "markdown") != NULL)
            return no(22006, "markdown in a text message");
        return is_blank(text) ? no(50006, "message is empty") : check_text(rest->fake, text);
    case 2:
        return check_markdown(rest);
    case 3:
        return no(304004, "no permission for ark");
    case 6:
        return check_input(rest);
    case 7:
        return check_media(rest);
    default:
        return no(22006, "msg_type is not valid here");
    }
}

/* Guilds have no msg_type: any of the members, at least one. */
static struct verdict check_guild_content(const struct rest *rest)
{
    const char *text = platform_text(rest->body, "content", ""),
               *image = platform_text(rest->body, "image", "");
    if (json_object_get(rest->body, "markdown") != NULL)
        return check_markdown(rest);
    if (is_blank(text) && image[0] == '\0')
        return no(50006, "message is empty");
    if (image[0] != '\0' && strncmp(image, "http://", 7) != 0 && strncmp(image, "https://", 8) != 0)
        return no(304003, "image is no url");
    return check_text(rest->fake, text);
}

/* -- what is answered -------------------------------------------------------------------------- */
static bool was_used(const struct replies *replies, int64_t seq)
{
    for (size_t i = 0; i < replies->seq_count; i++)
        if (replies->seqs[i] == seq)
            return true;
    return false;
}

static void use_seq(struct replies *replies, int64_t seq)
{
    replies->seqs =
        platform_grow(replies->seqs, replies->seq_count, &replies->seq_room, sizeof(int64_t));
    replies->seqs[replies->seq_count++] = seq;
}

static bool is_repliable(const struct rest *rest, const struct payload *payload)
{
    static const char *const c2c[] = {"INTERACTION_CREATE", "C2C_MSG_RECEIVE", "FRIEND_ADD"},
                             *const group[] = {"INTERACTION_CREATE", "GROUP_ADD_ROBOT",
                                               "GROUP_MSG_RECEIVE"};
    const char *const *types = rest->scene == SCENE_C2C ? c2c : group;
    for (size_t i = 0; i < 3; i++)
        if (strcmp(payload->type, types[i]) == 0)
            return true;
    return rest->scene >= SCENE_CHANNEL && strcmp(payload->type, "INTERACTION_CREATE") == 0;
}

struct target
{
    struct replies *replies; /* NULL: an active message */
    struct message *message; /* NULL: an event, or active */
    int64_t wall_ms;
};

static struct verdict find_target(const struct rest *rest, struct target *ret_target)
{
    const char *msg_id = platform_text(rest->body, "msg_id", ""),
               *event_id = platform_text(rest->body, "event_id", "");
    *ret_target = (struct target){0};
    if (msg_id[0] != '\0' && event_id[0] != '\0')
        return no(40034005, "msg_id and event_id exclude each other");
    if (msg_id[0] != '\0') {
        struct chat *chat = NULL;
        struct message *message = fake_qq_message(rest->fake, msg_id, &chat);
        if (message == NULL || chat != rest->chat || message->is_ours)
            return no(40034024, "msg_id is not valid");
        *ret_target = (struct target){&message->replies, message, message->wall_ms};
    } else if (event_id[0] != '\0') {
        struct payload *payload = fake_qq_payload(rest->fake, event_id);
        if (payload == NULL || payload->chat != rest->chat->index)
            return no(40034025, "event_id is not valid");
        if (!is_repliable(rest, payload))
            return no(40034027, "event cannot be replied to");
        *ret_target = (struct target){&payload->replies, NULL, payload->wall_ms};
    }
    return fine;
}

static struct verdict check_window(const struct rest *rest, const struct target *target)
{
    int64_t window_ms =
        (rest->scene == SCENE_C2C ? WINDOW_C2C_MS : WINDOW_MS) / rest->fake->window_scale;
    unsigned count_max = rest->scene == SCENE_C2C     ? REPLIES_C2C
                         : rest->scene == SCENE_GROUP ? REPLIES_GROUP
                                                      : UINT32_MAX;
    bool is_late = fake_qq_now_ms(rest->fake) - target->wall_ms > window_ms;
    if (is_late && target->message == NULL)
        return no(40034026, "event_id has expired");
    if (is_late && rest->scene >= SCENE_CHANNEL)
        return no(304027, "msg_id has expired");
    if (is_late || target->replies->count >= count_max)
        return no(40034128, "no passive reply is left");
    return fine;
}

/* Channels take 20 a day, direct messages of guilds 2, the others as many as the bot may. */
static bool take_one_of_the_day(const struct fake_qq *fake, struct chat *chat, int64_t now_ms)
{
    int64_t day = now_ms / 86400000, count_max = fake->active_per_day;
    if (chat->scene >= SCENE_CHANNEL && count_max > 0)
        count_max = chat->scene == SCENE_DM ? 2 : 20;
    if (chat->active_day != day)
        chat->active_day_count = 0;
    chat->active_day = day;
    if (count_max > 0 && chat->active_day_count >= (uint64_t)count_max)
        return false;
    chat->active_day_count++;
    return true;
}

static struct verdict check_active(struct rest *rest)
{
    struct fake_qq *fake = rest->fake;
    struct chat *chat = rest->chat;
    int64_t now_ms = fake_qq_now_ms(fake);
    if (fake->is_active_off)
        return no(rest->scene >= SCENE_CHANNEL ? 304045 : 40034105, "no active messages");
    if (chat->refuses_active)
        return no(40054013, "the user refuses active messages");
    if (now_ms - chat->active_from_ms >= 60000) {
        chat->active_from_ms = now_ms;
        chat->active_count = 0;
    }
    if (fake->active_per_minute > 0 && chat->active_count >= (unsigned)fake->active_per_minute)
        return no(40034100, "too many active messages");
    if (!take_one_of_the_day(fake, chat, now_ms))
        return rest->scene >= SCENE_CHANNEL ? no(304045, "no active message is left today")
                                            : no(40034100, "too many active messages today");
    chat->active_count++;
    return fine;
}

/* -- the chat ---------------------------------------------------------------------------------- */
static struct verdict check_chat(const struct rest *rest)
{
    const struct chat *chat = rest->chat;
    if (rest->scene >= SCENE_CHANNEL && rest->fake->webhook_port == 0 &&
        !fake_qq_has_ready_link(rest->fake))
        return no(304018, "the bot is not connected to the gateway");
    if (rest->scene == SCENE_C2C && (chat == NULL || chat->is_gone))
        return no(40054004, "no friend of the bot");
    if (rest->scene == SCENE_GROUP && (chat == NULL || chat->is_gone))
        return no(40034101, "the bot is not in the group");
    if (chat == NULL || chat->is_gone)
        return no(11264, "the guild did not grant it");
    if (chat->refuses)
        return no(40054013, "the user refuses messages");
    return chat->is_muted ? no(40054002, "the bot is muted") : fine;
}

static struct verdict check_rate(struct fake_qq *fake)
{
    uint64_t second = fake_qq_ticks_ms() / 1000;
    if (second != fake->rate_second) {
        fake->rate_second = second;
        fake->rate_count = 0;
    }
    if (fake->per_second > 0 && ++fake->rate_count > fake->per_second)
        return (struct verdict){429, 22009, "message limit exceeded"};
    return fine;
}

/* msg_seq of C2C and groups: new for what is answered. */
static struct verdict check_seq(struct rest *rest, const struct target *target, int64_t *ret_seq)
{
    const json_t *seq = json_object_get(rest->body, "msg_seq");
    *ret_seq = seq == NULL ? 1 : json_integer_value(seq);
    if (seq != NULL && (!json_is_integer(seq) || *ret_seq < 1 || *ret_seq > INT32_MAX))
        return no(12002, "msg_seq is not valid");
    if (rest->scene >= SCENE_CHANNEL || target->replies == NULL)
        return fine;
    if (was_used(target->replies, *ret_seq)) {
        rest->fake->duplicate_count++;
        return no(40054005, "msg_seq was used for this message");
    }
    if (rest->fake->notes_refused)
        use_seq(target->replies, *ret_seq);
    return fine;
}

/* -- taken ------------------------------------------------------------------------------------- */
static char *describe(const struct rest *rest)
{
    const json_t *keyboard = json_object_get(rest->body, "keyboard");
    if (keyboard != NULL)
        return json_dumps(keyboard, JSON_COMPACT);
    const struct media *media = fake_qq_media(
        rest->fake, platform_text(json_object_get(rest->body, "media"), "file_info", ""),
        rest->chat->key);
    return platform_copy(
        sma_str(media != NULL ? media->what : platform_text(rest->body, "image", "")));
}

static void note_reply(struct rest *rest, const struct target *target, int64_t seq)
{
    if (target->replies == NULL)
        return;
    target->replies->count++;
    if (rest->scene < SCENE_CHANNEL && !rest->fake->notes_refused)
        use_seq(target->replies, seq);
    if (target->message != NULL && target->message->reply_ns == 0 && !target->message->is_load)
        target->message->reply_ns = platform_now_ns();
}

static void answer_audit(struct rest *rest, bool is_reply, const char *id)
{
    fake_qq_answer(rest, 202,
                   json_pack("{s:i,s:i,s:s,s:{s:{s:s}}}", "code", is_reply ? 304024 : 304023,
                             "err_code", is_reply ? 304024 : 304023, "message",
                             "push message is waiting for audit now", "data", "message_audit",
                             "audit_id", id));
}

static void show(struct rest *rest, const struct target *target, const char *kind, int64_t seq)
{
    struct fake_qq *fake = rest->fake;
    struct chat *chat = rest->chat;
    bool is_reply = target->replies != NULL;
    char time[64], ref[64];
    note_reply(rest, target, seq); /* before the list of messages moves */
    struct message *message = fake_qq_add_message(fake, chat, true);
    const char *text = strcmp(kind, "markdown") == 0
                           ? platform_text(json_object_get(rest->body, "markdown"), "content", "")
                           : platform_text(rest->body, "content", "");
    message->text = platform_copy(sma_str(text));
    message->kind = platform_copy(sma_str(kind));
    message->detail = describe(rest);
    message->replied = platform_copy(
        sma_str(platform_text(rest->body, "msg_id", platform_text(rest->body, "event_id", ""))));
    message->msg_seq = seq;
    fake->sent_count++;
    fake_qq_put_time(time, sizeof time, message->wall_ms, false);
    snprintf(ref, sizeof ref, "REFIDX_%s", message->id);
    if (fake->is_audit)
        answer_audit(rest, is_reply, message->id);
    else if (rest->scene >= SCENE_CHANNEL)
        fake_qq_answer(rest, 200,
                       json_pack("{s:s,s:s,s:s,s:s,s:s}", "id", message->id, "channel_id",
                                 fake->answers_elsewhere ? "100099" : chat->id, "guild_id",
                                 chat->guild, "content", text, "timestamp", time));
    else
        fake_qq_answer(rest, 200,
                       json_pack("{s:s,s:s,s:{s:s}}", "id", message->id, "timestamp", time,
                                 "ext_info", "ref_idx", ref));
    fake_qq_load_answered(fake, chat, text);
}

static const char *kind_of(const struct rest *rest, int64_t type)
{
    if (rest->scene >= SCENE_CHANNEL) {
        if (json_object_get(rest->body, "markdown") != NULL)
            return "markdown";
        return json_object_get(rest->body, "image") != NULL ? "media" : "text";
    }
    return type == 2 ? "markdown" : type == 7 ? "media" : "text";
}

static struct verdict check_all(struct rest *rest, int64_t type, struct target *ret_target,
                                int64_t *ret_seq)
{
    struct verdict verdict = check_rate(rest->fake);
    if (verdict.code == CODE_NONE && !json_is_object(rest->body))
        verdict = no(12002, "body is not valid");
    if (verdict.code == CODE_NONE)
        verdict = check_chat(rest);
    if (verdict.code == CODE_NONE)
        verdict = find_target(rest, ret_target);
    if (verdict.code == CODE_NONE && type == 6)
        return check_input(rest);
    if (verdict.code == CODE_NONE)
        verdict = check_seq(rest, ret_target, ret_seq);
    if (verdict.code == CODE_NONE)
        verdict =
            rest->scene >= SCENE_CHANNEL ? check_guild_content(rest) : check_content(rest, type);
    if (verdict.code == CODE_NONE)
        verdict = check_keyboard(rest->fake, json_object_get(rest->body, "keyboard"));
    if (verdict.code == CODE_NONE)
        verdict = ret_target->replies == NULL ? check_active(rest) : check_window(rest, ret_target);
    return verdict;
}

void fake_qq_do_send(struct rest *rest)
{
    struct target target = {0};
    int64_t seq = 1, type = platform_number(rest->body, "msg_type", 0);
    struct verdict verdict = check_all(rest, type, &target, &seq);
    if (verdict.code != CODE_NONE) {
        fake_qq_refuse(rest, verdict.status, verdict.code, verdict.message);
    } else if (type == 6 && rest->scene < SCENE_CHANNEL) {
        rest->chat->typing_count++;
        fake_qq_answer(rest, 200, json_pack("{s:s}", "id", "typing"));
    } else {
        show(rest, &target, kind_of(rest, type), seq);
    }
}

/* -- in pieces --------------------------------------------------------------------------------- */
/* The codes but 40007, 50001 and 50002 are unconfirmed. */
#define PIECE_MS_MIN 250
#define STREAMS_PER_SECOND 50
#define PIECE_LAST 10

static struct verdict check_stream_rate(struct fake_qq *fake)
{
    uint64_t second = fake_qq_ticks_ms() / 1000;
    if (second != fake->stream_second) {
        fake->stream_second = second;
        fake->stream_count = 0;
    }
    return ++fake->stream_count > STREAMS_PER_SECOND ? (struct verdict){429, 50002, "too fast"}
                                                     : fine;
}

static struct verdict check_piece(const struct rest *rest)
{
    const char *mode = platform_text(rest->body, "input_mode", "append"),
               *raw = platform_text(rest->body, "content_raw", "");
    int64_t state = platform_number(rest->body, "input_state", -1);
    if (strcmp(mode, "append") != 0 && strcmp(mode, "replace") != 0)
        return no(12002, "input_mode is not valid");
    if (state != 1 && state != PIECE_LAST)
        return no(12002, "input_state is not valid");
    if (strcmp(platform_text(rest->body, "content_type", ""), "markdown") != 0)
        return no(12002, "content_type is not valid");
    if (rest->fake->is_markdown_off)
        return no(304036, "no permission for markdown");
    return is_blank(raw) ? no(50006, "message is empty") : check_text(rest->fake, raw);
}

/* The message that the piece goes on with; *ret_verdict: why not. */
static struct message *begun_message(struct rest *rest, const struct target *target,
                                     struct verdict *ret_verdict)
{
    struct chat *chat = NULL;
    struct message *message =
        fake_qq_message(rest->fake, platform_text(rest->body, "stream_msg_id", ""), &chat);
    const char *raw = platform_text(rest->body, "content_raw", "");
    bool is_replaced = strcmp(platform_text(rest->body, "input_mode", "append"), "replace") == 0;
    if (message == NULL || chat != rest->chat || !message->is_stream || target->message == NULL ||
        strcmp(message->replied, target->message->id) != 0 ||
        platform_number(rest->body, "msg_seq", 1) != message->msg_seq)
        *ret_verdict = no(40034024, "stream_msg_id is not valid");
    else if (message->is_recalled)
        *ret_verdict = no(40034024, "the message was recalled");
    else if (!message->is_streaming)
        *ret_verdict = no(40054005, "the stream has ended");
    else if (platform_number(rest->body, "index", -1) != message->piece + 1)
        *ret_verdict = no(40006, "index is not the next one");
    else if (fake_qq_ticks_ms() - message->piece_ms < PIECE_MS_MIN)
        *ret_verdict = no(50002, "too fast");
    else if (is_replaced && strncmp(raw, message->text, strlen(message->text)) != 0)
        *ret_verdict = no(40007, "content_raw does not begin with what was shown");
    return ret_verdict->code == CODE_NONE ? message : NULL;
}

static void add_piece(struct rest *rest, struct message *message)
{
    const char *raw = platform_text(rest->body, "content_raw", "");
    bool is_replaced = strcmp(platform_text(rest->body, "input_mode", "append"), "replace") == 0;
    size_t kept = is_replaced || message->text == NULL ? 0 : strlen(message->text);
    char *text = malloc(kept + strlen(raw) + 1), time[64];
    if (text == NULL)
        abort();
    memcpy(text, message->text == NULL ? "" : message->text, kept);
    memcpy(text + kept, raw, strlen(raw) + 1);
    free(message->text);
    message->text = text;
    message->piece = platform_number(rest->body, "index", 0);
    message->piece_ms = fake_qq_ticks_ms();
    message->is_streaming = platform_number(rest->body, "input_state", 1) != PIECE_LAST;
    fake_qq_put_time(time, sizeof time, message->wall_ms, false);
    fake_qq_answer(rest, 200,
                   json_pack("{s:s,s:s,s:{},s:i}", "id", message->id, "timestamp", time, "ext_info",
                             "remain_msg_len", 4000));
    if (!message->is_streaming)
        fake_qq_load_answered(rest->fake, rest->chat, message->text);
}

/* Answers count once: with the first piece. */
static struct message *begin_message(struct rest *rest, const struct target *target, int64_t seq)
{
    note_reply(rest, target, seq); /* before the list of messages moves */
    struct message *message = fake_qq_add_message(rest->fake, rest->chat, true);
    message->kind = platform_copy(sma_str("markdown"));
    message->detail = platform_copy(sma_str(""));
    message->replied = platform_copy(sma_str(platform_text(rest->body, "msg_id", "")));
    message->msg_seq = seq;
    message->is_stream = true;
    message->piece = -1;
    rest->fake->sent_count++;
    return message;
}

void fake_qq_do_stream(struct rest *rest)
{
    struct target target = {0};
    struct message *message = NULL;
    int64_t seq = 1;
    bool is_first = platform_text(rest->body, "stream_msg_id", "")[0] == '\0';
    struct verdict verdict = check_stream_rate(rest->fake);
    if (verdict.code == CODE_NONE)
        verdict = check_chat(rest);
    if (verdict.code == CODE_NONE)
        verdict = check_piece(rest);
    if (verdict.code == CODE_NONE)
        verdict = find_target(rest, &target);
    if (verdict.code == CODE_NONE && target.message == NULL)
        verdict = no(12002, "only a message can be answered in pieces");
    if (verdict.code == CODE_NONE && is_first && platform_number(rest->body, "index", -1) != 0)
        verdict = no(40006, "index of the first piece is 0");
    if (verdict.code == CODE_NONE && is_first)
        verdict = check_seq(rest, &target, &seq);
    if (verdict.code == CODE_NONE && is_first)
        verdict = check_window(rest, &target);
    if (verdict.code == CODE_NONE && !is_first)
        message = begun_message(rest, &target, &verdict);
    if (verdict.code != CODE_NONE) {
        rest->fake->stream_refused_count++;
        fake_qq_refuse(rest, verdict.status, verdict.code, verdict.message);
        return;
    }
    add_piece(rest, is_first ? begin_message(rest, &target, seq) : message);
}

size_t fake_qq_unfinished(const struct fake_qq *fake)
{
    size_t count = 0;
    for (size_t i = 0; i < fake->chat_count; i++)
        for (size_t j = 0; j < fake->chat_list[i]->message_count; j++) {
            const struct message *message = &fake->chat_list[i]->messages[j];
            count += message->is_ours && message->is_streaming && !message->is_recalled;
        }
    return count;
}

void fake_qq_do_recall(struct rest *rest)
{
    struct chat *chat = NULL;
    struct message *message = fake_qq_message(rest->fake, rest->parts[rest->part_count - 1], &chat);
    if (message == NULL || chat != rest->chat || !message->is_ours || message->is_recalled)
        fake_qq_refuse(rest, 400, 40064001, "no such message");
    else if (fake_qq_now_ms(rest->fake) - message->wall_ms > RECALL_MS_MAX)
        fake_qq_refuse(rest, 400, 40064004, "too late to recall");
    else {
        message->is_recalled = true;
        fake_qq_answer(rest, 204, NULL);
    }
}
