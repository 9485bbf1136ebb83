/* tools.c — the table and the schemas. See tools.h. */
#include "runtime/tools/tools.h"

#define SCHEMA_END "\"additionalProperties\":false}"

/* Members of a schema, so that the table below reads like a list. */
#define OBJECT(members, required)                                                       \
    SMA_STR("{\"type\":\"object\",\"properties\":{" members "},\"required\":[" required \
            "]," SCHEMA_END)
#define TEXT(name, description) \
    "\"" name "\":{\"type\":\"string\",\"description\":\"" description "\"}"
#define FLAG(name, description) \
    "\"" name "\":{\"type\":\"boolean\",\"description\":\"" description "\"}"
#define NUMBER(name, low, high, description)                                   \
    "\"" name "\":{\"type\":\"integer\",\"minimum\":" low ",\"maximum\":" high \
    ",\"description\":\"" description "\"}"

static const struct sma_tool_spec specs[SMA_TOOL_COUNT] = {
    [SMA_TOOL_CONTACT_LOOKUP] =
        {SMA_STR("chat_contact_lookup"),
         SMA_STR("Find a person who has talked to this agent before, by user name. Returns where "
                 "they were last seen, and all of them when several people have the name."),
         SMA_STR("{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\","
                 "\"description\":"
                 "\"user name, without @, or "
                 "channel:userId\"}},\"required\":[\"username\"]," SCHEMA_END)},
    [SMA_TOOL_CONTACT_SEND] =
        {SMA_STR("chat_contact_send"),
         SMA_STR("Send a text to another person, in the chat where they were last seen. Only when "
                 "the user asks for "
                 "it. It does not answer the user of this chat."),
         SMA_STR("{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\","
                 "\"description\":"
                 "\"user name of the receiver, without @, or channel:userId when several have "
                 "the name\"},\"text\":{\"type\":\"string\",\"description\":"
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
         SMA_STR("Send a message to the current chat at once: while you go on working, or when you "
                 "need more than one. Your final text is delivered without it."),
         SMA_STR(
             "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\",\"description\":"
             "\"what the user will read\"}},\"required\":[\"text\"]," SCHEMA_END)},
    [SMA_TOOL_EDIT_FILE] =
        {SMA_STR("edit_file"),
         SMA_STR("Replace an exact text in a file of the project by another. old_text must occur "
                 "exactly once, with its white space, unless replace_all is true. Read the file "
                 "first."),
         OBJECT(TEXT("path", "relative to the project's folder") "," TEXT(
                    "old_text",
                    "the text that is there now") "," TEXT("new_text",
                                                           "what stands there "
                                                           "afterwards") "," FLAG("replace_all",
                                                                                  "replace every "
                                                                                  "occurrence, "
                                                                                  "default false"),
                "\"path\",\"old_text\",\"new_text\"")},
    [SMA_TOOL_EXEC_SHELL] =
        {SMA_STR("exec_shell"),
         SMA_STR(
             "Run a shell command (sh -c) in the project's folder and get exit code, stdout "
             "and stderr. No input is possible. Commands usually run in a sandbox: only the "
             "project's folder and /tmp are writable, and there is no network unless the project "
             "allows it, so that downloads, installations and git pull or push fail there; the "
             "result says so. Some commands must be agreed to by a person "
             "first: keep commands short and plain."),
         OBJECT(TEXT("command", "the command line") "," NUMBER("timeout", "0", "3600000",
                                                               "milliseconds, default 30000"),
                "\"command\"")},
    [SMA_TOOL_LIST_FILES] =
        {SMA_STR("list_files"),
         SMA_STR("List files and folders of the project. Folders end in a slash."),
         OBJECT(TEXT("path", "folder, relative to the project's folder, default the whole "
                             "project") "," TEXT("pattern",
                                                 "only names like this: *.md, "
                                                 "src/**/*.c") "," FLAG("recursive",
                                                                        "also what lies in folders "
                                                                        "below, default false"),
                "")},
    [SMA_TOOL_REACT] =
        {SMA_STR("react"),
         SMA_STR("Put an emoji on a message of this chat instead of writing an answer."),
         OBJECT(TEXT("emoji", "one emoji") "," TEXT(
                    "message_id", "of the message, default the one that is being answered"),
                "\"emoji\"")},
    [SMA_TOOL_READ_FILE] =
        {SMA_STR("read_file"),
         SMA_STR("Read a text file of the project. Long files come in pieces: use offset and "
                 "limit."),
         OBJECT(TEXT("path", "relative to the project's folder") "," NUMBER(
                    "offset", "1", "1000000000",
                    "first line, default 1") "," NUMBER("limit", "1", "100000",
                                                        "how many lines at most"),
                "\"path\"")},
    [SMA_TOOL_READ_MORE] =
        {SMA_STR("read_more"),
         SMA_STR("Read on in the output of a command that was too long, by its logPath."),
         OBJECT(TEXT("handle", "the logPath") "," NUMBER(
                    "offset", "0", "1000000000000",
                    "first byte, default 0") "," NUMBER("limit", "1", "30000",
                                                        "how many bytes at most"),
                "\"handle\"")},
    [SMA_TOOL_SEARCH_FILES] = {SMA_STR("search_files"),
                               SMA_STR("Find lines in the project's text files. Gives path, line "
                                       "number and line."),
                               OBJECT(TEXT("pattern", "regular expression, or plain text") "," TEXT(
                                          "path",
                                          "file or folder to search, default the whole "
                                          "project") "," TEXT("glob",
                                                              "only files with names like "
                                                              "this: *.ts") "," FLAG("ignore_"
                                                                                     "case",
                                                                                     "default "
                                                                                     "false"),
                                      "\"pattern\"")},
    [SMA_TOOL_SEND_FILE] =
        {SMA_STR("send_file"), SMA_STR("Send a file of the project to the current chat."),
         OBJECT(TEXT("path",
                     "relative to the project's folder") ","
                                                         "\"kind\":{\"type\":\"string\",\"enum\":["
                                                         "\"photo\",\"document\",\"voice\","
                                                         "\"audio\"],\"description\":\"default by "
                                                         "the name of the file\"}," TEXT(
                                                             "caption",
                                                             "a line that is shown with it"),
                "\"path\"")},
    [SMA_TOOL_WRITE_FILE] =
        {SMA_STR("write_file"),
         SMA_STR("Write a whole text file of the project, new or in place of the old one. For a "
                 "change in a long file use edit_file."),
         OBJECT(
             TEXT("path", "relative to the project's folder") "," TEXT("content", "the whole text"),
             "\"path\",\"content\"")},
};

/* What a tool is, besides its schema. */
static const struct
{
    uint32_t offer; /* 0: every chat has it */
    bool is_gated, is_work;
} traits[SMA_TOOL_COUNT] = {
    [SMA_TOOL_CONTACT_SEND] = {.is_gated = true},
    [SMA_TOOL_EDIT_FILE] = {0, true, true},
    [SMA_TOOL_EXEC_SHELL] = {0, true, true},
    [SMA_TOOL_LIST_FILES] = {0, false, true},
    [SMA_TOOL_REACT] = {SMA_TOOL_OFFER_REACTIONS, true, false},
    [SMA_TOOL_READ_FILE] = {0, false, true},
    [SMA_TOOL_READ_MORE] = {0, false, true},
    [SMA_TOOL_SEARCH_FILES] = {0, false, true},
    [SMA_TOOL_SEND_FILE] = {SMA_TOOL_OFFER_FILES, true, false},
    [SMA_TOOL_WRITE_FILE] = {0, true, true},
};

bool sma_tool_is_offered(enum sma_tool tool, uint32_t offers)
{
    return tool < SMA_TOOL_COUNT && (traits[tool].offer & ~offers) == 0;
}

bool sma_tool_is_gated(enum sma_tool tool)
{
    return tool < SMA_TOOL_COUNT && traits[tool].is_gated;
}

bool sma_tool_is_work(enum sma_tool tool)
{
    return tool < SMA_TOOL_COUNT && traits[tool].is_work;
}

size_t sma_tool_specs_for(uint32_t offers, struct sma_tool_spec *ret_specs)
{
    size_t count = 0;
    for (int i = 0; i < SMA_TOOL_COUNT; i++)
        if (sma_tool_is_offered((enum sma_tool)i, offers))
            ret_specs[count++] = specs[i];
    return count;
}

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
