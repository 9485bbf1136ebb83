/* tools.c — the table, the schemas and the check of arguments. See tools.h. */
#include "runtime/tools/tools.h"
#include "sma/text.h"

#include <jansson.h>

#define SCHEMA_END "\"additionalProperties\":false}"

static const struct sma_tool_spec specs[SMA_TOOL_COUNT] = {
    [SMA_TOOL_CONTACT_LOOKUP] =
        {SMA_STR("chat_contact_lookup"),
         SMA_STR("Find a person who has talked to this agent before, by user name. Returns where "
                 "they were last seen."),
         SMA_STR("{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\","
                 "\"description\":"
                 "\"user name, without @\"}},\"required\":[\"username\"]," SCHEMA_END)},
    [SMA_TOOL_CONTACT_SEND] =
        {SMA_STR("chat_contact_send"),
         SMA_STR("Send a text to another person, in the chat where they were last seen. Only when "
                 "the user asks for "
                 "it. It does not answer the user of this chat."),
         SMA_STR("{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\","
                 "\"description\":"
                 "\"user name of the receiver, without "
                 "@\"},\"text\":{\"type\":\"string\",\"description\":"
                 "\"the text to send\"}},\"required\":[\"username\",\"text\"]," SCHEMA_END)},
    [SMA_TOOL_LOAD_HISTORY] = {SMA_STR("chat_load_history"),
                               SMA_STR("Read earlier messages of this chat that are not in the "
                                       "conversation above: the newest ones, or "
                                       "those that match a keyword."),
                               SMA_STR("{\"type\":\"object\",\"properties\":{\"limit\":{\"type\":"
                                       "\"integer\",\"minimum\":1,\"maximum\":200,"
                                       "\"description\":\"how many messages at most, default "
                                       "30\"},\"keyword\":{\"type\":\"string\","
                                       "\"description\":\"regular expression or plain text to "
                                       "search for, at most 200 characters\"}}," SCHEMA_END)},
    [SMA_TOOL_SEND] =
        {SMA_STR("chat_send"),
         SMA_STR("Send a text to the current chat. This is how the user gets your answer. May be "
                 "called several times."),
         SMA_STR(
             "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\",\"description\":"
             "\"what the user will read\"}},\"required\":[\"text\"]," SCHEMA_END)},
};

const struct sma_tool_spec *sma_tool_specs(size_t *ret_count)
{
    *ret_count = SMA_TOOL_COUNT;
    return specs;
}

enum sma_tool sma_tool_find(struct sma_str name)
{
    for (int i = 0; i < SMA_TOOL_COUNT; i++) {
        if (sma_str_is_equal(name, specs[i].name))
            return (enum sma_tool)i;
    }
    return SMA_TOOL_UNKNOWN;
}

static struct sma_str string_of(const json_t *value)
{
    return (struct sma_str){json_string_value(value), json_string_length(value)};
}

static enum sma_err refuse(struct sma_buf *why, const char *sentence)
{
    sma_buf_put_text(why, sentence);
    return SMA_ERR_BADINPUT;
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

enum sma_err sma_tool_args_parse(enum sma_tool tool, struct sma_str arguments,
                                 struct sma_tool_args *ret_args, struct sma_buf *why)
{
    json_t *root = json_loadb(arguments.ptr == NULL ? "" : arguments.ptr, arguments.len, 0, NULL);
    struct sma_tool_args args = {.root = root};
    enum sma_err err;
    if (!json_is_object(root))
        err = refuse(why, "The arguments are not a JSON object. Call again with an object as in "
                          "the tool's schema.");
    else if (tool == SMA_TOOL_LOAD_HISTORY)
        err = parse_history(root, &args, why);
    else if (tool == SMA_TOOL_SEND)
        err = parse_text(root, &args, why);
    else {
        err = parse_user_name(root, &args, why);
        if (err == SMA_ERR_OK && tool == SMA_TOOL_CONTACT_SEND)
            err = parse_text(root, &args, why);
    }
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
