/* args.c — the check of arguments. See tools.h. */
#include "runtime/tools/card_check.h"
#include "runtime/tools/tools.h"
#include "sma/bot.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static struct sma_str string_of(const json_t *value)
{
    return (struct sma_str){json_string_value(value), json_string_length(value)};
}

static enum sma_err refuse(struct sma_buf *why, const char *sentence)
{
    sma_buf_put_text(why, sentence);
    return SMA_ERR_BADINPUT;
}

/* What goes out goes where the call says, and what is remembered is of whom it says: one that was
 * called with something that is not understood must not say that it was done. @return their names,
 * NULL: of this tool nobody is told anything wrong */
static const char *members_of_strict(enum sma_tool tool)
{
#define DESTINATION "channel chatId messageThreadId chatType messageId "
    return tool == SMA_TOOL_SEND              ? DESTINATION "text"
           : tool == SMA_TOOL_CONTACT_SEND    ? "username text"
           : tool == SMA_TOOL_SEND_FILE       ? DESTINATION "path kind caption"
           : tool == SMA_TOOL_SEND_VOICE      ? DESTINATION "path caption"
           : tool == SMA_TOOL_SEND_CARD       ? DESTINATION "card"
           : tool == SMA_TOOL_REACT           ? "emoji message_id"
           : tool == SMA_TOOL_RESOLVE_PROFILE ? "userId channel"
           : tool == SMA_TOOL_DOWNLOAD        ? "messageId path"
           : tool == SMA_TOOL_MEMORY_UPSERT   ? "content type importance scope replaces tags"
                                              : NULL;
}

static bool is_listed(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list; len > 0 && (at = strstr(at, name)) != NULL; at++)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return strchr(name, ' ') == NULL;
    return false;
}

static enum sma_err refuse_others(enum sma_tool tool, const json_t *root, struct sma_buf *why)
{
    const char *known = members_of_strict(tool), *name;
    bool is_send = tool != SMA_TOOL_MEMORY_UPSERT && tool != SMA_TOOL_RESOLVE_PROFILE &&
                   tool != SMA_TOOL_DOWNLOAD;
    json_t *value;
    if (known == NULL)
        return SMA_ERR_OK;
    json_object_foreach((json_t *)(uintptr_t)root, name, value)
    {
        if (is_listed(known, name) || json_is_null(value))
            continue;
        sma_buf_printf(why,
                       "\"%.*s\" is not known to this tool: nothing was %s. Call again without it.",
                       (int)sma_utf8_cut(sma_str(name), 60), name, is_send ? "sent" : "done");
        return SMA_ERR_BADINPUT;
    }
    return SMA_ERR_OK;
}

static enum sma_err parse_text(const json_t *root, struct sma_tool_args *args, struct sma_buf *why)
{
    const json_t *text = json_object_get(root, "text");
    if (!json_is_string(text))
        return refuse(why,
                      "Expected \"text\": a string with what is to be sent. Nothing was sent.");
    args->text = string_of(text);
    if (sma_str_trim(args->text).len == 0)
        return refuse(why,
                      "\"text\" is blank: nothing was sent. Call again with the text to send.");
    if (args->text.len > SMA_TEXT_BYTES_MAX)
        return refuse(why, "\"text\" is over 1 MiB: nothing was sent. Send a shorter text.");
    return SMA_ERR_OK;
}

/* -- another chat ------------------------------------------------------------------------------ */
/* Ids are texts here and numbers on some platforms: models write both. Names of places are plain
 * bytes; the store compares them with what it knows. */
static enum sma_err read_place(json_t *root, const char *name, struct sma_str *ret_value,
                               struct sma_buf *why)
{
    json_t *value = json_object_get(root, name);
    if (value == NULL || json_is_null(value))
        return SMA_ERR_OK;
    if (json_is_integer(value)) {
        char digits[32];
        snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(value));
        value = json_string(digits);
        if (value == NULL || json_object_set_new(root, name, value) != 0)
            return SMA_ERR_NOMEM;
    }
    struct sma_str text = json_is_string(value) ? sma_str_trim(string_of(value)) : SMA_STR("");
    bool is_good = json_is_string(value) && text.len <= SMA_ID_BYTES_MAX;
    for (size_t i = 0; i < text.len && is_good; i++)
        is_good = (unsigned char)text.ptr[i] > ' ' && text.ptr[i] != 0x7f;
    if (!is_good) {
        sma_buf_printf(why,
                       "Expected \"%s\": a string with an id as the platform writes it, without "
                       "spaces. Nothing was sent.",
                       name);
        return SMA_ERR_BADINPUT;
    }
    *ret_value = text;
    return SMA_ERR_OK;
}

static enum sma_err parse_destination(json_t *root, struct sma_tool_args *args, struct sma_buf *why)
{
    SMA_TRY(read_place(root, "channel", &args->channel, why));
    SMA_TRY(read_place(root, "chatId", &args->chat_id, why));
    SMA_TRY(read_place(root, "messageThreadId", &args->thread_id, why));
    SMA_TRY(read_place(root, "chatType", &args->chat_type, why));
    return read_place(root, "messageId", &args->message_id, why);
}

bool sma_tool_args_are_elsewhere(const struct sma_tool_args *args, const struct sma_route *own)
{
    bool is_channel = args->channel.len == 0 || sma_str_is_equal(args->channel, own->channel) ||
                      sma_str_is_equal(args->channel, sma_bot_platform(own->channel));
    bool is_key = args->chat_id.len > 0 && sma_str_is_equal(args->chat_id, own->chat_key);
    bool is_chat =
        args->chat_id.len == 0 || is_key || sma_str_is_equal(args->chat_id, own->chat_id);
    bool is_topic = args->thread_id.len == 0 || sma_str_is_equal(args->thread_id, own->thread_id);
    return !is_channel || !is_chat || !is_topic;
}

bool sma_tool_goes_elsewhere(enum sma_tool tool, struct sma_str arguments,
                             const struct sma_route *own)
{
    static const char *const words[] = {"\"channel", "\"chatId", "\"messageThreadId", "\\u"};
    if (tool == SMA_TOOL_CONTACT_SEND)
        return true;
    bool may_be = false;
    bool has_place = sma_tool_has_destination(tool) && arguments.len > 0;
    for (size_t i = 0; i < SMA_COUNT_OF(words) && has_place; i++)
        may_be |= memmem(arguments.ptr, arguments.len, words[i], strlen(words[i])) != NULL;
    json_t *root = may_be ? json_loadb(arguments.ptr, arguments.len, 0, NULL) : NULL;
    struct sma_tool_args args = {0};
    struct sma_buf why;
    sma_buf_init(&why, 512);
    bool is_elsewhere = json_is_object(root) &&
                        parse_destination(root, &args, &why) == SMA_ERR_OK &&
                        sma_tool_args_are_elsewhere(&args, own);
    sma_buf_fini(&why);
    json_decref(root);
    return is_elsewhere;
}

static enum sma_err parse_send(json_t *root, struct sma_tool_args *args, struct sma_buf *why)
{
    SMA_TRY(parse_text(root, args, why));
    return parse_destination(root, args, why);
}

/* Models write it as an object, and as its text. It goes out as it was checked. */
static enum sma_err parse_card(json_t *root, struct sma_tool_args *args, struct sma_buf *why)
{
    json_t *given = json_object_get(root, "card"), *card = json_incref(given);
    if (json_is_string(given)) {
        json_decref(card);
        card = json_loadb(json_string_value(given), json_string_length(given), 0, NULL);
    }
    char *text = NULL;
    enum sma_err err = sma_card_check(card, &text, why);
    json_decref(card);
    if (err != SMA_ERR_OK)
        return err;
    int rc = json_object_set_new(root, "card", json_string(text));
    free(text);
    if (rc != 0)
        return SMA_ERR_NOMEM;
    args->content = string_of(json_object_get(root, "card"));
    return parse_destination(root, args, why);
}

static enum sma_err parse_user_name(const json_t *root, struct sma_tool_args *args,
                                    struct sma_buf *why)
{
    const json_t *name = json_object_get(root, "username");
    if (!json_is_string(name))
        return refuse(why, "Expected \"username\": a string with the person's user name.");
    args->user_name = sma_str_trim(string_of(name));
    if (args->user_name.len > 0 && args->user_name.ptr[0] == '@') {
        args->user_name.ptr++;
        args->user_name.len--;
    }
    if (args->user_name.len == 0 || args->user_name.len > SMA_NAME_BYTES_MAX)
        return refuse(why, "\"username\" is blank or too long: expected the person's user name.");
    return SMA_ERR_OK;
}

static enum sma_err parse_history(const json_t *root, struct sma_tool_args *args,
                                  struct sma_buf *why)
{
    const json_t *limit = json_object_get(root, "limit");
    args->limit = SMA_TOOL_HISTORY_LIMIT_DEFAULT;
    if (limit != NULL && !json_is_null(limit)) {
        double number = json_is_number(limit) ? json_number_value(limit) : 0;
        if (!(number >= 1 && number <= SMA_HISTORY_LOAD_COUNT_MAX) ||
            number != (double)(uint32_t)number)
            return refuse(why, "Expected \"limit\": an integer from 1 to 200.");
        args->limit = (uint32_t)number;
    }
    const json_t *keyword = json_object_get(root, "keyword");
    if (keyword == NULL || json_is_null(keyword))
        return SMA_ERR_OK;
    if (!json_is_string(keyword))
        return refuse(why, "Expected \"keyword\": a string.");
    args->keyword = sma_str_trim(string_of(keyword));
    if (sma_utf16_length(args->keyword) > SMA_TOOL_KEYWORD_LENGTH_MAX)
        return refuse(why, "Expected \"keyword\": at most 200 characters.");
    return SMA_ERR_OK;
}

/* -- tools that work --------------------------------------------------------------------------- */
enum member_kind
{
    MEMBER_TEXT,
    MEMBER_NUMBER32,
    MEMBER_NUMBER64,
    MEMBER_FLAG,
    MEMBER_TOOLS, /* a list of names: bits of enum sma_tool */
};
struct member
{
    const char *name;
    enum member_kind kind;
    bool is_required, may_be_empty;
    size_t offset;             /* into struct sma_tool_args */
    uint64_t low, high, usual; /* numbers; texts: high = most bytes */
    const char *what;          /* "a string with ...", "an integer from ..." */
};

#define AT(field) offsetof(struct sma_tool_args, field)
#define FILE_PATH                                                                  \
    {                                                                              \
        "path", MEMBER_TEXT, true, false, AT(path), 0, SMA_TOOL_PATH_BYTES_MAX, 0, \
            "a path relative to the project's folder"                              \
    }

static const struct member agent_members[] = {
    {"instructions", MEMBER_TEXT, true, false, AT(instructions), 0,
     SMA_HELPER_INSTRUCTION_BYTES_MAX, 0, "a string with the whole task"},
    {"tools", MEMBER_TOOLS, false, false, AT(tools), 0, 0, 0, "a list with names of your tools"},
    {"model", MEMBER_TEXT, false, true, AT(model), 0, SMA_NAME_BYTES_MAX, 0,
     "a string with the name of a configured model"},
};
static const struct member download_members[] = {
    {"messageId", MEMBER_TEXT, false, true, AT(message_id), 0, SMA_ID_BYTES_MAX, 0,
     "a string with the id of an earlier message, or \"path\""},
    {"path", MEMBER_TEXT, false, true, AT(path), 0, SMA_TOOL_PATH_BYTES_MAX, 0,
     "a string with the path of an @attach line, or \"messageId\""},
};
static const struct member edit_members[] = {
    FILE_PATH,
    {"old_text", MEMBER_TEXT, true, false, AT(old_text), 0, SMA_FILE_WRITE_BYTES_MAX, 0,
     "a string with the exact text that is in the file now"},
    {"new_text", MEMBER_TEXT, true, true, AT(new_text), 0, SMA_FILE_WRITE_BYTES_MAX, 0,
     "a string with the text to put there"},
    {"replace_all", MEMBER_FLAG, false, false, AT(replaces_all), 0, 0, 0, "true or false"},
};
static const struct member exec_members[] = {
    {"command", MEMBER_TEXT, true, false, AT(command), 0, SMA_TOOL_COMMAND_BYTES_MAX, 0,
     "a string with the shell command"},
    {"timeout", MEMBER_NUMBER32, false, false, AT(timeout_ms), 0, SMA_EXEC_TIMEOUT_MS_MAX,
     SMA_EXEC_TIMEOUT_MS, "a number of milliseconds, 0 or more"},
};
static const struct member list_members[] = {
    {"path", MEMBER_TEXT, false, true, AT(path), 0, SMA_TOOL_PATH_BYTES_MAX, 0,
     "a folder relative to the project's folder"},
    {"pattern", MEMBER_TEXT, false, true, AT(pattern), 0, SMA_TOOL_PATTERN_BYTES_MAX, 0,
     "a pattern for names, like *.md"},
    {"recursive", MEMBER_FLAG, false, false, AT(is_recursive), 0, 0, 0, "true or false"},
};
static const struct member recall_members[] = {
    {"query", MEMBER_TEXT, true, false, AT(query), 0, SMA_MEMORY_TEXT_BYTES_MAX, 0,
     "a string with words to look for"},
    {"limit", MEMBER_NUMBER32, false, false, AT(limit), 1, SMA_MEMORY_SEARCH_COUNT_MAX, 10,
     "an integer from 1 to 50"},
};
static const struct member remember_members[] = {
    {"content", MEMBER_TEXT, true, false, AT(content), 0, SMA_MEMORY_TEXT_BYTES_MAX, 0,
     "a string with the fact"},
    {"type", MEMBER_TEXT, false, true, AT(kind), 0, 20, 0,
     "\"preference\", \"fact\", \"entity\" or \"task\""},
    {"importance", MEMBER_NUMBER32, false, false, AT(importance), 1, 10, 0,
     "an integer from 1 to 10"},
    {"scope", MEMBER_TEXT, false, true, AT(scope), 0, 20, 0, "\"here\" or \"project\""},
    {"replaces", MEMBER_TEXT, false, true, AT(handle), 0, 20, 0, "the id of a remembered fact"},
};
static const struct member react_members[] = {
    {"emoji", MEMBER_TEXT, true, false, AT(emoji), 0, SMA_TOOL_EMOJI_BYTES_MAX, 0,
     "a string with one emoji"},
    {"message_id", MEMBER_TEXT, false, true, AT(message_id), 0, SMA_ID_BYTES_MAX, 0,
     "a string with the id of a message of this chat"},
};
static const struct member profile_members[] = {
    {"userId", MEMBER_TEXT, false, true, AT(user_id), 0, SMA_ID_BYTES_MAX, 0,
     "a string with the id of a person"},
    {"channel", MEMBER_TEXT, false, true, AT(channel), 0, SMA_ID_BYTES_MAX, 0,
     "a string with the name of a platform"},
};
static const struct member read_members[] = {
    FILE_PATH,
    {"offset", MEMBER_NUMBER64, false, false, AT(offset), 1, 1000000000, 1, "a line number from 1"},
    {"limit", MEMBER_NUMBER32, false, false, AT(limit), 1, 100000, 0,
     "an integer from 1 to 100000"},
};
static const struct member more_members[] = {
    {"handle", MEMBER_TEXT, true, false, AT(handle), 0, 100, 0,
     "the handle that a result has named"},
    {"offset", MEMBER_NUMBER64, false, false, AT(offset), 0, 1000000000000, 0,
     "a byte position from 0"},
    {"limit", MEMBER_NUMBER32, false, false, AT(limit), 1, 30000, 0, "an integer from 1 to 30000"},
};
static const struct member search_members[] = {
    {"pattern", MEMBER_TEXT, true, false, AT(pattern), 0, SMA_TOOL_PATTERN_BYTES_MAX, 0,
     "a regular expression or a plain text"},
    {"path", MEMBER_TEXT, false, true, AT(path), 0, SMA_TOOL_PATH_BYTES_MAX, 0,
     "a file or folder relative to the project's folder"},
    {"glob", MEMBER_TEXT, false, true, AT(glob), 0, SMA_TOOL_PATTERN_BYTES_MAX, 0,
     "a pattern for names, like *.ts"},
    {"ignore_case", MEMBER_FLAG, false, false, AT(ignores_case), 0, 0, 0, "true or false"},
};
static const struct member send_members[] = {
    FILE_PATH,
    {"kind", MEMBER_TEXT, false, true, AT(kind), 0, 20, 0,
     "\"photo\", \"document\", \"voice\" or \"audio\""},
    {"caption", MEMBER_TEXT, false, true, AT(caption), 0, SMA_META_BYTES_MAX, 0, "a string"},
};
static const struct member voice_members[] = {
    FILE_PATH,
    {"caption", MEMBER_TEXT, false, true, AT(caption), 0, SMA_META_BYTES_MAX, 0, "a string"},
};
#define REFRESH                                                                       \
    {                                                                                 \
        "refresh", MEMBER_FLAG, false, false, AT(refreshes), 0, 0, 0, "true or false" \
    }
static const struct member skills_members[] = {REFRESH};
static const struct member skill_members[] = {
    {"name", MEMBER_TEXT, true, false, AT(name), 0, SMA_TOOL_PATTERN_BYTES_MAX, 0,
     "a string with the id or name of a skill"},
    REFRESH,
};
static const struct member fetch_members[] = {
    {"url", MEMBER_TEXT, true, false, AT(url), 0, SMA_WEB_URL_BYTES_MAX, 0,
     "a string with the address of a page, https://..."},
    {"maxChars", MEMBER_NUMBER32, false, false, AT(max_bytes), 100, SMA_WEB_TEXT_BYTES_MAX,
     SMA_WEB_TEXT_BYTES, "an integer from 100 to 28000"},
};
static const struct member web_search_members[] = {
    {"query", MEMBER_TEXT, true, false, AT(query), 0, SMA_WEB_QUERY_BYTES_MAX, 0,
     "a string with what to search for"},
    {"count", MEMBER_NUMBER32, false, false, AT(count), 1, SMA_WEB_RESULT_COUNT_MAX,
     SMA_WEB_RESULT_COUNT, "an integer from 1 to 20"},
};
static const struct member write_members[] = {
    FILE_PATH,
    {"content", MEMBER_TEXT, true, true, AT(content), 0, SMA_FILE_WRITE_BYTES_MAX, 0,
     "a string with the whole text of the file"},
};
static const struct
{
    const struct member *members;
    size_t count;
} tables[SMA_TOOL_COUNT] = {
#define TABLE(list)              \
    {                            \
        list, SMA_COUNT_OF(list) \
    }
    [SMA_TOOL_AGENT_RUN] = TABLE(agent_members),
    [SMA_TOOL_DOWNLOAD] = TABLE(download_members),
    [SMA_TOOL_EDIT_FILE] = TABLE(edit_members),
    [SMA_TOOL_EXEC_SHELL] = TABLE(exec_members),
    [SMA_TOOL_LIST_FILES] = TABLE(list_members),
    [SMA_TOOL_REACT] = TABLE(react_members),
    [SMA_TOOL_READ_FILE] = TABLE(read_members),
    [SMA_TOOL_RESOLVE_PROFILE] = TABLE(profile_members),
    [SMA_TOOL_READ_MORE] = TABLE(more_members),
    [SMA_TOOL_SEARCH_FILES] = TABLE(search_members),
    [SMA_TOOL_SEND_FILE] = TABLE(send_members),
    [SMA_TOOL_SEND_VOICE] = TABLE(voice_members),
    [SMA_TOOL_SKILLS_LIST] = TABLE(skills_members),
    [SMA_TOOL_SKILLS_LOAD] = TABLE(skill_members),
    [SMA_TOOL_WEB_FETCH] = TABLE(fetch_members),
    [SMA_TOOL_WEB_SEARCH] = TABLE(web_search_members),
    [SMA_TOOL_WRITE_FILE] = TABLE(write_members),
    [SMA_TOOL_MEMORY_SEARCH] = TABLE(recall_members),
    [SMA_TOOL_MEMORY_UPSERT] = TABLE(remember_members),
};

static enum sma_err expect(struct sma_buf *why, const struct member *member)
{
    sma_buf_printf(why, "Expected \"%s\": %s. Nothing was done.", member->name, member->what);
    return SMA_ERR_BADINPUT;
}

static enum sma_err read_text(const struct member *member, const json_t *value,
                              struct sma_tool_args *args, struct sma_buf *why)
{
    if (!json_is_string(value))
        return expect(why, member);
    struct sma_str text = string_of(value);
    if (text.len > member->high) {
        sma_buf_printf(why, "\"%s\" is too long: expected at most %llu bytes. Nothing was done.",
                       member->name, (unsigned long long)member->high);
        return SMA_ERR_BADINPUT;
    }
    if (!member->may_be_empty && text.len == 0)
        return expect(why, member);
    memcpy((char *)args + member->offset, &text, sizeof text);
    return SMA_ERR_OK;
}

static enum sma_err read_number(const struct member *member, const json_t *value,
                                struct sma_tool_args *args, struct sma_buf *why)
{
    double number = json_is_number(value) ? json_number_value(value) : -1;
    bool is_time = member->low == 0 && member->kind == MEMBER_NUMBER32;
    /* a longer time than is possible, and none, is the longest; parts of a millisecond count as
     * one */
    if (is_time && number >= 0)
        number = number == 0 || number > (double)member->high ? (double)member->high : ceil(number);
    if (!(number >= (double)member->low && number <= (double)member->high) ||
        number != floor(number))
        return expect(why, member);
    uint64_t wide = (uint64_t)number;
    uint32_t narrow = (uint32_t)wide;
    if (member->kind == MEMBER_NUMBER32)
        memcpy((char *)args + member->offset, &narrow, sizeof narrow);
    else
        memcpy((char *)args + member->offset, &wide, sizeof wide);
    return SMA_ERR_OK;
}

/* A name or a pattern of a server's tool, as people or as models know it, or one of our tools
 * around them. */
static bool is_server_tool(struct sma_str name)
{
    return (name.len > 0 && memchr(name.ptr, ':', name.len) != NULL) ||
           sma_str_starts_with(name, SMA_STR("mcp_")) ||
           sma_str_is_equal(name, SMA_STR("tool_search"));
}

static enum sma_err read_tools(const struct member *member, const json_t *value,
                               struct sma_tool_args *args, struct sma_buf *why)
{
    if (!json_is_array(value) || json_array_size(value) > SMA_TOOL_COUNT_NAMED_MAX)
        return expect(why, member);
    args->says_tools = true;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *name = json_array_get(value, i);
        enum sma_tool tool =
            json_is_string(name) ? sma_tool_find(string_of(name)) : SMA_TOOL_UNKNOWN;
        if (tool == SMA_TOOL_UNKNOWN && json_is_string(name) && is_server_tool(string_of(name))) {
            args->server_tools = value;
            continue;
        }
        if (tool == SMA_TOOL_UNKNOWN) {
            struct sma_str shown = json_is_string(name) ? string_of(name) : SMA_STR("(no name)");
            shown.len = sma_utf8_cut(shown, 60);
            sma_buf_put_text(why, "\"tools\" names a tool that there is not: ");
            sma_buf_put_str(why, shown);
            sma_buf_put_text(why, ". Nothing was done.");
            return SMA_ERR_BADINPUT;
        }
        args->tools |= UINT32_C(1) << tool;
    }
    return SMA_ERR_OK;
}

static enum sma_err read_member(const struct member *member, const json_t *root,
                                struct sma_tool_args *args, struct sma_buf *why)
{
    const json_t *value = json_object_get(root, member->name);
    json_t *usual = NULL;
    if (value == NULL || json_is_null(value)) {
        if (member->is_required)
            return expect(why, member);
        if (member->usual == 0)
            return SMA_ERR_OK;
        value = usual = json_integer((json_int_t)member->usual);
        if (usual == NULL)
            return SMA_ERR_NOMEM;
    }
    enum sma_err err = SMA_ERR_OK;
    if (member->kind == MEMBER_TEXT) {
        err = read_text(member, value, args, why);
    } else if (member->kind == MEMBER_TOOLS) {
        err = read_tools(member, value, args, why);
    } else if (member->kind != MEMBER_FLAG) {
        err = read_number(member, value, args, why);
    } else if (json_is_boolean(value)) {
        bool flag = json_is_true(value);
        memcpy((char *)args + member->offset, &flag, sizeof flag);
    } else {
        err = expect(why, member);
    }
    json_decref(usual);
    return err;
}

/* What a file is sent as when the model does not say. */
static struct sma_str kind_by_name(struct sma_str path)
{
    static const struct
    {
        const char *extension;
        struct sma_str kind;
    } rows[] = {
        {".jpg", SMA_STR("photo")},  {".jpeg", SMA_STR("photo")}, {".png", SMA_STR("photo")},
        {".webp", SMA_STR("photo")}, {".ogg", SMA_STR("voice")},  {".oga", SMA_STR("voice")},
        {".opus", SMA_STR("voice")}, {".mp3", SMA_STR("audio")},  {".m4a", SMA_STR("audio")},
        {".aac", SMA_STR("audio")},  {".flac", SMA_STR("audio")}, {".wav", SMA_STR("audio")},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_str extension = sma_str(rows[i].extension);
        if (path.len > extension.len &&
            sma_str_is_equal_nocase(
                (struct sma_str){path.ptr + path.len - extension.len, extension.len}, extension))
            return rows[i].kind;
    }
    return SMA_STR("document");
}

/* What no platform plays as a voice message is an audio file. */
static enum sma_err check_voice(struct sma_tool_args *args, struct sma_buf *why)
{
    args->kind = kind_by_name(args->path);
    if (sma_str_is_equal(args->kind, SMA_STR("voice")) ||
        sma_str_is_equal(args->kind, SMA_STR("audio")))
        return SMA_ERR_OK;
    return refuse(why, "\"path\" is no sound file (.ogg, .oga, .opus, .mp3, .m4a, .aac, .flac, "
                       ".wav): nothing was sent. send_file sends any file.");
}

static bool is_kind(struct sma_str kind)
{
    return sma_str_is_equal(kind, SMA_STR("photo")) ||
           sma_str_is_equal(kind, SMA_STR("document")) ||
           sma_str_is_equal(kind, SMA_STR("voice")) || sma_str_is_equal(kind, SMA_STR("audio"));
}

static bool is_one_of(struct sma_str text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (sma_str_is_equal(text, sma_str(*words)))
            return true;
    return text.len == 0;
}

/* m0123456789abcdef, as recalls and searches show it */
static bool read_fact_id(struct sma_str text, uint64_t *ret_id)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t id = 0;
    for (size_t i = 1; i < text.len; i++) {
        const char *digit = strchr(digits, text.ptr[i]);
        if (digit == NULL || text.ptr[i] == '\0')
            return false;
        id = id << 4 | (uint64_t)(digit - digits);
    }
    *ret_id = id;
    return text.len == 17 && text.ptr[0] == 'm' && id != 0;
}

static enum sma_err check_fact(const json_t *root, struct sma_tool_args *args, struct sma_buf *why)
{
    static const char *const kinds[] = {"preference", "fact", "entity", "task", NULL};
    static const char *const scopes[] = {"here", "project", NULL};
    if (sma_str_trim(args->content).len == 0)
        return refuse(why, "\"content\" is blank: there is nothing to remember.");
    if (!is_one_of(args->kind, kinds))
        return expect(why, &remember_members[1]);
    if (!is_one_of(args->scope, scopes))
        return expect(why, &remember_members[3]);
    if (args->handle.len > 0 && !read_fact_id(args->handle, &args->replaces))
        return expect(why, &remember_members[4]);
    json_t *tags = json_object_get(root, "tags");
    if (tags == NULL || json_is_null(tags))
        return SMA_ERR_OK;
    for (size_t i = 0; i < json_array_size(tags); i++)
        if (!json_is_string(json_array_get(tags, i)))
            return refuse(why, "Expected \"tags\": a list of strings. Nothing was done.");
    if (!json_is_array(tags) || json_array_size(tags) > SMA_MEMORY_TAG_COUNT_MAX)
        return refuse(why, "Expected \"tags\": a list of at most 8 strings. Nothing was done.");
    args->tags = tags;
    return SMA_ERR_OK;
}

/* What holds between members. */
static enum sma_err check_whole(enum sma_tool tool, struct sma_tool_args *args, struct sma_buf *why)
{
    if (tool == SMA_TOOL_MEMORY_UPSERT)
        return check_fact(args->root, args, why);
    if (tool == SMA_TOOL_DOWNLOAD && args->message_id.len == 0 && args->path.len == 0)
        return expect(why, &download_members[0]);
    if (tool == SMA_TOOL_AGENT_RUN && sma_str_trim(args->instructions).len == 0)
        return refuse(why, "\"instructions\" is blank: nothing was done. Expected the whole task.");
    if (tool == SMA_TOOL_EXEC_SHELL && sma_str_trim(args->command).len == 0)
        return refuse(why, "\"command\" is blank: nothing was run. Expected a shell command.");
    if (tool == SMA_TOOL_EDIT_FILE && sma_str_is_equal(args->old_text, args->new_text))
        return refuse(why, "\"old_text\" and \"new_text\" are the same: nothing was changed.");
    if (tool == SMA_TOOL_SEND_VOICE)
        return check_voice(args, why);
    if (tool == SMA_TOOL_SEND_FILE && args->kind.len == 0)
        args->kind = kind_by_name(args->path);
    if (tool == SMA_TOOL_SEND_FILE && !is_kind(args->kind))
        return expect(why, &send_members[1]);
    return SMA_ERR_OK;
}

static enum sma_err parse_members(enum sma_tool tool, const json_t *root,
                                  struct sma_tool_args *args, struct sma_buf *why)
{
    SMA_ASSERT(tool < SMA_TOOL_COUNT && tables[tool].members != NULL);
    enum sma_err err = SMA_ERR_OK;
    for (size_t i = 0; err == SMA_ERR_OK && i < tables[tool].count; i++)
        err = read_member(&tables[tool].members[i], root, args, why);
    if (err == SMA_ERR_OK && sma_tool_sends_file(tool))
        err = parse_destination((json_t *)(uintptr_t)root, args, why);
    return err == SMA_ERR_OK ? check_whole(tool, args, why) : err;
}

enum sma_err sma_tool_args_parse(enum sma_tool tool, struct sma_str arguments,
                                 struct sma_tool_args *ret_args, struct sma_buf *why)
{
    json_error_t detail = {0};
    json_t *root =
        json_loadb(arguments.ptr == NULL ? "" : arguments.ptr, arguments.len, 0, &detail);
    struct sma_tool_args args = {.root = root};
    enum sma_err err;
    if (root == NULL && json_error_code(&detail) == json_error_null_character)
        err = refuse(why, "A string holds the character \\u0000, which is not possible. Call again "
                          "without it.");
    else if (!json_is_object(root))
        err = refuse(why, "The arguments are not a JSON object. Call again with an object as in "
                          "the tool's schema.");
    else if (tool == SMA_TOOL_LOAD_HISTORY)
        err = parse_history(root, &args, why);
    else if (tool == SMA_TOOL_SEND)
        err = parse_send(root, &args, why);
    else if (tool == SMA_TOOL_SEND_CARD)
        err = parse_card(root, &args, why);
    else if (tool > SMA_TOOL_SEND || tool == SMA_TOOL_AGENT_RUN)
        err = parse_members(tool, root, &args, why);
    else {
        err = parse_user_name(root, &args, why);
        if (err == SMA_ERR_OK && tool == SMA_TOOL_CONTACT_SEND)
            err = parse_text(root, &args, why);
    }
    if (err == SMA_ERR_OK)
        err = refuse_others(tool, root, why);
    if (err != SMA_ERR_OK) {
        json_decref(root);
        return err;
    }
    *ret_args = args;
    return SMA_ERR_OK;
}

void sma_tool_args_fini(struct sma_tool_args *args)
{
    json_decref(args->root);
    *args = (struct sma_tool_args){0};
}
