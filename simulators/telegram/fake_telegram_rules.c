/* fake_telegram_rules.c — what the platform takes: how much, and as a keyboard, a reaction, a list
 * of commands. */
#include "fake_telegram_priv.h"

struct window
{
    uint64_t *start_ns, length_ns;
    unsigned *count;
};

/* Is the call one too many? *ret_wait_s: whole seconds until it is not. */
static bool is_over_rate(uint64_t now, unsigned limit, struct window window, long *ret_wait_s)
{
    if (now - *window.start_ns > window.length_ns) {
        *window.start_ns = now;
        *window.count = 0;
    }
    *ret_wait_s = (long)((*window.start_ns + window.length_ns - now) / 1000000000u) + 1;
    return limit > 0 && ++*window.count > limit;
}

bool fake_is_flooded(struct fake_telegram *fake, struct chat *chat, long *ret_wait_s)
{
    const uint64_t second = 1000000000u;
    uint64_t now = fake_now_ns();
    unsigned per_minute = strcmp(chat->type, "private") == 0 ? 0 : fake->group_per_minute;
    return is_over_rate(now, fake->bot_per_second,
                        (struct window){&fake->bot_window_ns, second, &fake->bot_window_count},
                        ret_wait_s) ||
           is_over_rate(now, fake->chat_per_second,
                        (struct window){&chat->window_ns, second, &chat->window_count},
                        ret_wait_s) ||
           is_over_rate(now, per_minute,
                        (struct window){&chat->minute_ns, 60 * second, &chat->minute_count},
                        ret_wait_s);
}

/* What is wrong with a button; NULL: nothing. */
static const char *check_button(const json_t *button)
{
    const json_t *data = json_object_get(button, "callback_data"),
                 *url = json_object_get(button, "url"), *text = json_object_get(button, "text");
    if (!json_is_object(button))
        return "Bad Request: can't parse inline keyboard button: InlineKeyboardButton must be an "
               "Object";
    if (!json_is_string(text))
        return "Bad Request: can't parse inline keyboard button: Field \"text\" must be of type "
               "String";
    if (sma_str_trim(sma_str(json_string_value(text))).len == 0)
        return "Bad Request: can't parse inline keyboard button: BUTTON_TEXT_INVALID";
    if (data == NULL && url == NULL)
        return "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the "
               "inline keyboard";
    if (data != NULL && url != NULL)
        return "Bad Request: can't parse inline keyboard button: BUTTON_TYPE_INVALID";
    if (data != NULL && !json_is_string(data))
        return "Bad Request: can't parse inline keyboard button: Field \"callback_data\" must be "
               "of "
               "type String";
    if (data != NULL && (json_string_length(data) == 0 || json_string_length(data) > 64))
        return "Bad Request: BUTTON_DATA_INVALID"; /* bytes of UTF-8 */
    return NULL;
}

const char *fake_check_keyboard(const json_t *markup)
{
    const json_t *rows = json_object_get(markup, "inline_keyboard");
    size_t count = 0;
    if (!json_is_object(markup))
        return "Bad Request: object expected as reply markup";
    if (rows == NULL)
        return NULL; /* of another kind, or none */
    if (!json_is_array(rows))
        return "Bad Request: can't parse inline keyboard: Field \"inline_keyboard\" must be of "
               "type Array";
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (!json_is_array(row))
            return "Bad Request: can't parse inline keyboard: an inline keyboard row must be an "
                   "Array";
        count += json_array_size(row);
        for (size_t j = 0; j < json_array_size(row); j++) {
            const char *wrong = check_button(json_array_get(row, j));
            if (wrong != NULL)
                return wrong;
        }
    }
    return count > 100 ? "Bad Request: REPLY_MARKUP_TOO_LONG" : NULL;
}

/* Bytes of a PNG's header as a number. */
static uint64_t number_at(const char *bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < 4; i++)
        number = number << 8 | (unsigned char)bytes[i];
    return number;
}

const char *fake_check_photo(struct sma_str bytes)
{
    static const struct sma_str png = {"\x89PNG\r\n\x1a\n", 8};
    bool is_webp = bytes.len >= 12 && memcmp(bytes.ptr, "RIFF", 4) == 0 &&
                   memcmp(bytes.ptr + 8, "WEBP", 4) == 0;
    if (!sma_str_starts_with(bytes, png))
        return sma_str_starts_with(bytes, SMA_STR("\xff\xd8\xff")) ||
                       sma_str_starts_with(bytes, SMA_STR("GIF8")) ||
                       sma_str_starts_with(bytes, SMA_STR("BM")) || is_webp
                   ? NULL
                   : "Bad Request: IMAGE_PROCESS_FAILED";
    uint64_t width = bytes.len < 24 ? 0 : number_at(bytes.ptr + 16),
             height = bytes.len < 24 ? 0 : number_at(bytes.ptr + 20);
    if (width == 0 || height == 0)
        return "Bad Request: IMAGE_PROCESS_FAILED";
    if (width + height > 10000 || width > 20 * height || height > 20 * width)
        return "Bad Request: PHOTO_INVALID_DIMENSIONS";
    return NULL;
}

const char *fake_check_reactions(const json_t *list, const char **ret_emoji)
{
    /* the whole list of ReactionTypeEmoji */
    static const char *const known[] = {
        "👍",    "👎",    "❤",    "🔥",    "🥰", "👏",    "😁",          "🤔", "🤯",
        "😱",    "🤬", "😢",    "🎉",    "🤩", "🤮", "💩",          "🙏",    "👌",
        "🕊", "🤡", "🥱", "🥴", "😍",    "🐳",    "❤‍🔥", "🌚",    "🌭",
        "💯",    "🤣", "⚡",    "🍌",    "🏆",    "💔",    "🤨",       "😐",    "🍓",
        "🍾", "💋",    "🖕", "😈",    "😴",    "😭",    "🤓",       "👻",    "👨‍💻",
        "👀",    "🎃",    "🙈",    "😇",    "😨",    "🤝", "✍",          "🤗", "🫡",
        "🎅",    "🎄",    "☃",    "💅",    "🤪", "🗿",    "🆒",          "💘",    "🙉",
        "🦄", "😘",    "💊",    "🙊",    "😎",    "👾",    "🤷‍♂", "🤷", "🤷‍♀",
        "😡"};
    const json_t *first = json_array_get(list, 0);
    const char *type = json_string_value(json_object_get(first, "type"));
    const char *emoji = json_string_value(json_object_get(first, "emoji"));
    *ret_emoji = emoji;
    if (list != NULL && !json_is_array(list))
        return "Bad Request: can't parse reaction types JSON object";
    if (json_array_size(list) == 0)
        return NULL;
    if (json_array_size(list) > 1)
        return "Bad Request: REACTIONS_TOO_MANY";
    if (type == NULL || strcmp(type, "emoji") != 0 || emoji == NULL)
        return "Bad Request: REACTION_INVALID";
    for (size_t i = 0; i < SMA_COUNT_OF(known); i++)
        if (strcmp(known[i], emoji) == 0)
            return NULL;
    return "Bad Request: REACTION_INVALID";
}

const char *fake_check_commands(const json_t *list)
{
    if (!json_is_array(list))
        return "Bad Request: parameter \"commands\" is required";
    if (json_array_size(list) > 100)
        return "Bad Request: too many bot commands";
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(entry, "command"));
        const json_t *about = json_object_get(entry, "description");
        size_t len = name == NULL ? 0 : strlen(name + (name[0] == '/'));
        if (len < 1 || len > 32 ||
            strspn(name + (name[0] == '/'), "abcdefghijklmnopqrstuvwxyz0123456789_") != len)
            return "Bad Request: BOT_COMMAND_INVALID";
        if (json_string_length(about) < 1 || json_string_length(about) > 256)
            return "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID";
    }
    return NULL;
}

/* What administrators of a group can forbid a bot, and how the platform says so: it has
 * several ways for one thing. */
static const struct
{
    const char *what, *methods; /* methods NULL: all that write */
    const char *holds;          /* only a request that holds this; NULL: each */
    int status;
    const char *words, *source;
} rights[] = {
    {"photos", "sendphoto", NULL, 400, "Bad Request: not enough rights to send photos to the chat",
     "as seen: reports of users of bots"},
    {"photos_rpc", "sendphoto", NULL, 403, "Forbidden: CHAT_SEND_PHOTOS_FORBIDDEN",
     "as documented: errors of messages.sendMedia"},
    {"media", "sendphoto senddocument sendvoice sendaudio sendvideo", NULL, 400,
     "Bad Request: CHAT_SEND_MEDIA_FORBIDDEN", "as documented: errors of messages.sendMedia"},
    {"files", "sendphoto senddocument sendvoice sendaudio sendvideo", NULL, 403,
     "Forbidden: CHAT_WRITE_FORBIDDEN", "as seen: reports of users of bots"},
    {"videos", "sendphoto senddocument", NULL, 400,
     "Bad Request: not enough rights to send videos to the chat", "as seen"},
    {"documents", "senddocument", NULL, 400, "Bad Request: CHAT_SEND_DOCS_FORBIDDEN",
     "as documented: errors of messages.sendMedia"},
    {"text", "sendmessage", NULL, 400,
     "Bad Request: not enough rights to send text messages to the chat", "as seen"},
    {"text_rpc", "sendmessage", NULL, 403, "Forbidden: CHAT_SEND_PLAIN_FORBIDDEN",
     "as documented: errors of messages.sendMessage"},
    {"links", "sendmessage", "https://", 400, "Bad Request: not enough rights to send previews",
     "as seen"},
    {"links_rpc", "sendmessage", "https://", 403, "Forbidden: CHAT_SEND_WEBPAGE_FORBIDDEN",
     "as documented: errors of messages.sendMessage"},
    {"topic", NULL, "message_thread_id", 400, "Bad Request: TOPIC_CLOSED",
     "as documented: errors of messages.sendMessage"},
    {"topic_gone", NULL, "message_thread_id", 400, "Bad Request: TOPIC_DELETED",
     "as documented: errors of messages.sendMessage"},
    {"topic_unknown", NULL, "message_thread_id", 400, "Bad Request: message thread not found",
     "as seen"},
    {"all", NULL, NULL, 403, "Forbidden: CHAT_WRITE_FORBIDDEN", "as seen"},
    {"all_words", NULL, NULL, 400, "Bad Request: have no rights to send a message", "as seen"},
    {"topics", NULL, NULL, 400, "Bad Request: TOPIC_CLOSED", "as seen: the general topic, too"},
};

bool fake_forbid(struct chat *chat, const char *what)
{
    for (size_t i = 0; i < SMA_COUNT_OF(rights); i++)
        if (strcmp(rights[i].what, what) == 0) {
            chat->forbidden |= UINT32_C(1) << i;
            return true;
        }
    return false;
}

const char *fake_forbidden(const struct chat *chat, const char *method, const json_t *params,
                           int *ret_status)
{
    SMA_AUTO(sma_freep) char *text = json_dumps(params, 0);
    bool writes = strncmp(method, "send", 4) == 0 && strcmp(method, "sendchataction") != 0;
    for (size_t i = 0; i < SMA_COUNT_OF(rights) && writes; i++) {
        bool is_it = rights[i].methods == NULL || strstr(rights[i].methods, method) != NULL;
        bool is_held =
            rights[i].holds == NULL || (text != NULL && strstr(text, rights[i].holds) != NULL);
        *ret_status = rights[i].status;
        if ((chat->forbidden >> i & 1) != 0 && is_it && is_held)
            return rights[i].words;
    }
    return NULL;
}

bool fake_is_admin(const struct chat *chat, int64_t user)
{
    for (size_t i = 0; i < chat->admin_count; i++)
        if (chat->admins[i] == user)
            return true;
    return false;
}
