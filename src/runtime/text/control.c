/* control.c — the rows of commands.h, and how they are recognised at the head of a message. See
 * include/sma/adapter.h. */
#include "sma/adapter.h"
#include "sma/commands.h"
#include "sma/limits.h"
#include "sma/text.h"

#define COMMAND_BYTES_MAX 32 /* of an unknown but well-formed command word */

static const struct sma_command commands[] = {
#define X(control, word, chinese_word, traits, doc, chinese_doc) \
    {SMA_CONTROL_##control, word, chinese_word, traits, doc, chinese_doc},
    SMA_COMMAND_MAP(X)
#undef X
};

const struct sma_command *sma_commands(size_t *ret_count)
{
    *ret_count = SMA_COUNT_OF(commands);
    return commands;
}

const struct sma_command *sma_command_of(enum sma_control control)
{
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++)
        if (commands[i].control == control)
            return &commands[i];
    return NULL;
}

void sma_commands_put_help(struct sma_buf *buf, enum sma_language language)
{
    bool is_chinese = language == SMA_LANGUAGE_ZH;
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++) {
        const struct sma_command *command = &commands[i];
        if ((command->traits & SMA_COMMAND_ALIAS) != 0)
            continue;
        sma_buf_put_text(buf, "\n/");
        sma_buf_put_text(buf, is_chinese && command->chinese_word != NULL ? command->chinese_word
                                                                          : command->word);
        sma_buf_put_text(buf, is_chinese ? "：" : " — ");
        sma_buf_put_text(buf, is_chinese ? command->chinese_doc : command->doc);
    }
}

/* A letter, then letters, digits and underscores: "/etc/passwd" and "/2" are text, "/foo" is a
 * command. */
static bool is_well_formed(struct sma_str word)
{
    if (word.len == 0 || word.len > COMMAND_BYTES_MAX)
        return false;
    for (size_t i = 0; i < word.len; i++) {
        char byte = word.ptr[i];
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        bool is_later = i > 0 && ((byte >= '0' && byte <= '9') || byte == '_');
        if (!is_letter && !is_later)
            return false;
    }
    return true;
}

/* The word of a command at the head of text, which begins with '/'. */
static struct sma_str command_word(struct sma_str text)
{
    struct sma_str word = {text.ptr + 1, 0};
    while (word.len + 1 < text.len && memchr(" \t\r\n\v\f@", word.ptr[word.len], 7) == NULL)
        word.len++;
    return word;
}

static const struct sma_command *find_command(struct sma_str word)
{
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++)
        if (sma_str_is_equal_nocase(word, sma_str(commands[i].word)) ||
            (commands[i].chinese_word != NULL &&
             sma_str_is_equal_nocase(word, sma_str(commands[i].chinese_word))))
            return &commands[i];
    return NULL;
}

enum sma_control sma_control_parse(struct sma_str text)
{
    struct sma_str trimmed = sma_str_trim(text);
    if (trimmed.len < 2 || trimmed.ptr[0] != '/')
        return SMA_CONTROL_NONE;
    struct sma_str word = command_word(trimmed);
    const struct sma_command *command = find_command(word);
    if (command != NULL)
        return command->control;
    return is_well_formed(word) ? SMA_CONTROL_UNKNOWN : SMA_CONTROL_NONE;
}

static struct sma_str skip_mention(struct sma_str text)
{
    text = sma_str_trim(text);
    size_t len = 0;
    if (text.len == 0 || text.ptr[0] != '@')
        return text;
    while (len < text.len && memchr(" \t\r\n\v\f", text.ptr[len], 6) == NULL)
        len++;
    return sma_str_trim((struct sma_str){text.ptr + len, text.len - len});
}

enum sma_control sma_control_word(struct sma_str text)
{
    static const struct
    {
        const char *word;
        enum sma_control control;
    } words[] = {{"继续", SMA_CONTROL_MORE},       {"下一页", SMA_CONTROL_MORE},
                 {"more", SMA_CONTROL_MORE},       {"next page", SMA_CONTROL_MORE},
                 {"发完整输出", SMA_CONTROL_FULL}, {"发送完整输出", SMA_CONTROL_FULL},
                 {"full output", SMA_CONTROL_FULL}};
    struct sma_str said = skip_mention(text);
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++)
        if (sma_str_is_equal_nocase(said, sma_str(words[i].word)))
            return words[i].control;
    return SMA_CONTROL_NONE;
}

static bool is_blank(char byte)
{
    return memchr(" \t\r\n\v\f", byte, 6) != NULL;
}

/* As mcp.json has it. */
static bool is_server_name(struct sma_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char byte = name.ptr[i];
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        if (!is_letter && (byte < '0' || byte > '9') && strchr("_.-", byte) == NULL)
            return false;
    }
    return name.len > 0 && name.len <= SMA_MCP_SERVER_NAME_BYTES_MAX;
}

bool sma_control_prompt(struct sma_str text, struct sma_str *ret_server, struct sma_str *ret_prompt,
                        struct sma_str *ret_rest)
{
    struct sma_str rest = sma_str_trim(text);
    size_t len = 0;
    while (rest.len > 0 && rest.ptr[0] == '@') {
        for (len = 0; len < rest.len && !is_blank(rest.ptr[len]);)
            len++;
        rest = sma_str_trim((struct sma_str){rest.ptr + len, rest.len - len});
    }
    if (rest.len == 0 || rest.ptr[0] != '/')
        return false;
    for (len = 0; len < rest.len && !is_blank(rest.ptr[len]);)
        len++;
    const char *colon = memchr(rest.ptr, ':', len);
    if (colon == NULL)
        return false;
    struct sma_str server = {rest.ptr + 1, (size_t)(colon - rest.ptr) - 1};
    struct sma_str prompt = {colon + 1, len - server.len - 2};
    if (!is_server_name(server) || prompt.len == 0 || prompt.len > SMA_MCP_NAME_BYTES_MAX)
        return false;
    *ret_server = server;
    *ret_prompt = prompt;
    *ret_rest = sma_str_trim((struct sma_str){rest.ptr + len, rest.len - len});
    return true;
}

/* A mention may stand before it, and "@bot" close behind its word. */
struct sma_str sma_control_argument(struct sma_str text)
{
    for (size_t at = 0; at + 1 < text.len; at++) {
        bool begins = at == 0 || memchr(" \t\r\n\v\f", text.ptr[at - 1], 6) != NULL;
        if (!begins || text.ptr[at] != '/')
            continue;
        struct sma_str rest = {text.ptr + at, text.len - at};
        struct sma_str word = command_word(rest);
        if (find_command(word) == NULL)
            continue;
        rest = (struct sma_str){word.ptr + word.len, rest.len - word.len - 1};
        while (rest.len > 0 && memchr(" \t\r\n\v\f", rest.ptr[0], 6) == NULL)
            rest = (struct sma_str){rest.ptr + 1, rest.len - 1};
        return sma_str_trim(rest);
    }
    return (struct sma_str){text.ptr + text.len, 0};
}
