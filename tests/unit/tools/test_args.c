/*
 * Aim: what the schemas of the working tools say is what the check of arguments does; every wrong
 * argument is answered with a sentence; what a chat is offered depends on its channel.
 */
#include "runtime/tools/tools.h"
#include "sma/limits.h"
#include "support/check.h"

#include <jansson.h>

static bool parse(enum sma_tool tool, const char *arguments, struct sma_tool_args *args, char *said)
{
    struct sma_buf why;
    sma_buf_init(&why, 1000);
    enum sma_err err = sma_tool_args_parse(tool, sma_str(arguments), args, &why);
    CHECK(err == SMA_ERR_OK || err == SMA_ERR_BADINPUT);
    CHECK((err == SMA_ERR_OK) == (why.len == 0));
    snprintf(said, 1000, "%s", why.len == 0 ? "" : why.ptr);
    sma_buf_fini(&why);
    return err == SMA_ERR_OK;
}

CASE(wrong_arguments_are_answered)
{
    static const struct
    {
        enum sma_tool tool;
        const char *json, *said; /* NULL: good */
    } rows[] = {
        {SMA_TOOL_EXEC_SHELL, "{\"command\":\"ls\"}", NULL},
        {SMA_TOOL_EXEC_SHELL, "{\"command\":\"ls\",\"timeout\":null,\"cwd\":\"x\"}", NULL},
        /* Sent to this chat, it would be called sent to the one that is named. */
        {SMA_TOOL_SEND, "{\"text\":\"a\",\"chatId\":null}", NULL},
        {SMA_TOOL_SEND, "{\"text\":\"a\",\"chatId\":\"7\",\"messageId\":9}", NULL},
        {SMA_TOOL_SEND, "{\"text\":\"a\",\"chatId\":[7]}",
         "Expected \"chatId\": a string with an id as the platform writes it, without spaces. "
         "Nothing was sent."},
        {SMA_TOOL_SEND, "{\"text\":\"a\",\"messageThreadId\":\"7\\n\\b8\"}",
         "Expected \"messageThreadId\": a string with an id as the platform writes it, without "
         "spaces. Nothing was sent."},
        {SMA_TOOL_SEND, "{\"tex\":\"b\",\"text\":\"a\"}",
         "\"tex\" is not known to this tool: nothing was sent. Call again without it."},
        {SMA_TOOL_CONTACT_SEND, "{\"text\":\"a\",\"username\":\"b\"}", NULL},
        {SMA_TOOL_CONTACT_SEND, "{\"text\":\"a\",\"username\":\"b\",\"channel\":\"qq\"}",
         "\"channel\" is not known to this tool: nothing was sent. Call again without it."},
        {SMA_TOOL_SEND_FILE, "{\"path\":\"a\",\"chatId\":\"7\"}", NULL},
        {SMA_TOOL_SEND_FILE, "{\"path\":\"a\",\"chatID\":\"7\"}",
         "\"chatID\" is not known to this tool: nothing was sent. Call again without it."},
        {SMA_TOOL_SEND_FILE, "{\"path\":\"a\",\"chatId\":\"a b\"}",
         "Expected \"chatId\": a string with an id as the platform writes it, without spaces. "
         "Nothing was sent."},
        {SMA_TOOL_SEND_VOICE, "{\"path\":\"a.ogg\",\"channel\":\"qq\",\"chatId\":7}", NULL},
        {SMA_TOOL_SEND_VOICE, "{\"path\":\"a.mp3\",\"caption\":\"listen\"}", NULL},
        {SMA_TOOL_SEND_VOICE, "{\"path\":\"a.txt\"}",
         "\"path\" is no sound file (.ogg, .oga, .opus, .mp3, .m4a, .aac, .flac, .wav): nothing "
         "was sent. send_file sends any file."},
        {SMA_TOOL_SEND_VOICE, "{\"path\":\"a.ogg\",\"kind\":\"photo\"}",
         "\"kind\" is not known to this tool: nothing was sent. Call again without it."},
        {SMA_TOOL_MEMORY_UPSERT, "{\"content\":\"a\",\"user\":\"telegram:1001\"}",
         "\"user\" is not known to this tool: nothing was done. Call again without it."},
        {SMA_TOOL_MEMORY_UPSERT,
         "{\"content\":\"a\",\"type\":\"fact\",\"importance\":5,\"scope\":\"here\",\"tags\":[\"b\"]"
         "}",
         NULL},
        {SMA_TOOL_REACT, "{\"emoji\":\"a\",\"message_id\":\"7\"}", NULL},
        {SMA_TOOL_REACT, "{\"emoji\":\"a\",\"messageId\":\"7\"}",
         "\"messageId\" is not known to this tool: nothing was sent. Call again without it."},
        {SMA_TOOL_DOWNLOAD, "{\"messageId\":\"7\"}", NULL},
        {SMA_TOOL_DOWNLOAD, "{\"path\":\".ship/.cache/telegram/a\"}", NULL},
        {SMA_TOOL_DOWNLOAD, "{\"messageId\":\"7\",\"chatId\":\"8\"}",
         "\"chatId\" is not known to this tool: nothing was done. Call again without it."},
        {SMA_TOOL_DOWNLOAD, "{}",
         "Expected \"messageId\": a string with the id of an earlier message, or \"path\". Nothing "
         "was done."},
        {SMA_TOOL_DOWNLOAD, "{\"path\":[]}",
         "Expected \"path\": a string with the path of an @attach line, or \"messageId\". Nothing "
         "was done."},
        {SMA_TOOL_EXEC_SHELL, "{}",
         "Expected \"command\": a string with the shell command. Nothing was done."},
        {SMA_TOOL_EXEC_SHELL, "{\"command\":[\"ls\"]}",
         "Expected \"command\": a string with the shell command. Nothing was done."},
        {SMA_TOOL_EXEC_SHELL, "{\"command\":\" \\n\"}",
         "\"command\" is blank: nothing was run. Expected a shell command."},
        {SMA_TOOL_EXEC_SHELL, "{\"command\":\"ls\",\"timeout\":-1}",
         "Expected \"timeout\": a number of milliseconds, 0 or more. Nothing was done."},
        {SMA_TOOL_EXEC_SHELL, "{\"command\":\"ls\",\"timeout\":-0.5}",
         "Expected \"timeout\": a number of milliseconds, 0 or more. Nothing was done."},
        {SMA_TOOL_EXEC_SHELL, "{\"command\":\"ls\",\"timeout\":\"5\"}",
         "Expected \"timeout\": a number of milliseconds, 0 or more. Nothing was done."},
        {SMA_TOOL_EXEC_SHELL, "{\"command\":\"l\\u0000s\"}",
         "A string holds the character \\u0000, which is not possible. Call again without it."},
        {SMA_TOOL_READ_FILE, "{\"path\":\"a\",\"offset\":1,\"limit\":100000}", NULL},
        {SMA_TOOL_READ_FILE, "{\"path\":\"a\",\"offset\":0}",
         "Expected \"offset\": a line number from 1. Nothing was done."},
        {SMA_TOOL_READ_FILE, "{\"path\":\"a\",\"limit\":0}",
         "Expected \"limit\": an integer from 1 to 100000. Nothing was done."},
        {SMA_TOOL_READ_FILE, "{\"path\":\"a\",\"limit\":1.5}",
         "Expected \"limit\": an integer from 1 to 100000. Nothing was done."},
        {SMA_TOOL_READ_FILE, "{\"path\":\"\"}",
         "Expected \"path\": a path relative to the project's folder. Nothing was done."},
        {SMA_TOOL_READ_MORE, "{\"handle\":\"x\",\"offset\":0,\"limit\":30000}", NULL},
        {SMA_TOOL_READ_MORE, "{\"handle\":\"x\",\"limit\":30001}",
         "Expected \"limit\": an integer from 1 to 30000. Nothing was done."},
        {SMA_TOOL_LIST_FILES, "{}", NULL},
        {SMA_TOOL_LIST_FILES, "{\"recursive\":1}",
         "Expected \"recursive\": true or false. Nothing was done."},
        {SMA_TOOL_SEARCH_FILES, "{\"pattern\":\"\"}",
         "Expected \"pattern\": a regular expression or a plain text. Nothing was done."},
        {SMA_TOOL_EDIT_FILE, "{\"path\":\"a\",\"old_text\":\"x\",\"new_text\":\"\"}", NULL},
        {SMA_TOOL_EDIT_FILE, "{\"path\":\"a\",\"old_text\":\"\",\"new_text\":\"x\"}",
         "Expected \"old_text\": a string with the exact text that is in the file now. Nothing was "
         "done."},
        {SMA_TOOL_EDIT_FILE, "{\"path\":\"a\",\"old_text\":\"x\",\"new_text\":\"x\"}",
         "\"old_text\" and \"new_text\" are the same: nothing was changed."},
        {SMA_TOOL_EDIT_FILE, "{\"path\":\"a\",\"old_text\":\"x\"}",
         "Expected \"new_text\": a string with the text to put there. Nothing was done."},
        {SMA_TOOL_WRITE_FILE, "{\"path\":\"a\",\"content\":\"\"}", NULL},
        {SMA_TOOL_WRITE_FILE, "{\"path\":\"a\"}",
         "Expected \"content\": a string with the whole text of the file. Nothing was done."},
        {SMA_TOOL_SEND_FILE, "{\"path\":\"a\",\"kind\":\"photo\"}", NULL},
        {SMA_TOOL_SEND_FILE, "{\"path\":\"a\",\"kind\":\"video\"}",
         "Expected \"kind\": \"photo\", \"document\", \"voice\" or \"audio\". Nothing was done."},
        {SMA_TOOL_REACT, "{\"emoji\":\"\xf0\x9f\x91\x8d\"}", NULL},
        {SMA_TOOL_REACT, "{\"emoji\":5}",
         "Expected \"emoji\": a string with one emoji. Nothing was done."},
        {SMA_TOOL_WRITE_FILE, "[]",
         "The arguments are not a JSON object. Call again with an object as in the tool's schema."},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_tool_args args;
        char said[1000];
        bool is_good = parse(rows[i].tool, rows[i].json, &args, said);
        CHECK_STR(rows[i].said == NULL ? "" : rows[i].said, sma_str(said));
        CHECK(is_good == (rows[i].said == NULL));
        if (is_good)
            sma_tool_args_fini(&args);
    }
}

CASE(times_are_kept_in_bounds)
{
    static const struct
    {
        const char *json;
        uint32_t timeout_ms;
    } rows[] = {
        {"{\"command\":\"ls\"}", SMA_EXEC_TIMEOUT_MS},
        {"{\"command\":\"ls\",\"timeout\":1}", 1},
        {"{\"command\":\"ls\",\"timeout\":0.5}", 1},
        {"{\"command\":\"ls\",\"timeout\":3600000}", 3600000},
        {"{\"command\":\"ls\",\"timeout\":3600001}", 3600000},
        {"{\"command\":\"ls\",\"timeout\":1e300}", 3600000},
        {"{\"command\":\"ls\",\"timeout\":0}", 3600000},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_tool_args args;
        char said[1000];
        CHECK(parse(SMA_TOOL_EXEC_SHELL, rows[i].json, &args, said));
        CHECK_INT(rows[i].timeout_ms, args.timeout_ms);
        sma_tool_args_fini(&args);
    }
}

CASE(files_have_a_kind)
{
    static const char *const rows[][2] = {{"a.PNG", "photo"},   {"a.txt", "document"},
                                          {"a.ogg", "voice"},   {"b/a.mp3", "audio"},
                                          {".png", "document"}, {"png", "document"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_tool_args args;
        char json[100], said[1000];
        snprintf(json, sizeof json, "{\"path\":\"%s\"}", rows[i][0]);
        CHECK(parse(SMA_TOOL_SEND_FILE, json, &args, said));
        CHECK_STR(rows[i][1], args.kind);
        sma_tool_args_fini(&args);
    }
}

CASE(lengths_have_limits)
{
    static const struct
    {
        enum sma_tool tool;
        const char *before, *after;
        size_t max;
    } rows[] = {
        {SMA_TOOL_EXEC_SHELL, "{\"command\":\"", "\"}", SMA_TOOL_COMMAND_BYTES_MAX},
        {SMA_TOOL_READ_FILE, "{\"path\":\"", "\"}", SMA_TOOL_PATH_BYTES_MAX},
        {SMA_TOOL_SEARCH_FILES, "{\"pattern\":\"", "\"}", SMA_TOOL_PATTERN_BYTES_MAX},
        {SMA_TOOL_WRITE_FILE, "{\"path\":\"a\",\"content\":\"", "\"}", SMA_FILE_WRITE_BYTES_MAX},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        for (size_t len = rows[i].max - 1; len <= rows[i].max + 1; len++) {
            struct sma_buf json;
            sma_buf_init(&json, 1 << 22);
            sma_buf_put_text(&json, rows[i].before);
            memset(sma_buf_reserve(&json, len), 'x', len);
            json.len += len;
            sma_buf_put_text(&json, rows[i].after);
            struct sma_tool_args args;
            char said[1000];
            bool is_good = parse(rows[i].tool, json.ptr, &args, said);
            CHECK(is_good == (len <= rows[i].max));
            if (is_good)
                sma_tool_args_fini(&args);
            else
                CHECK(strstr(said, "too long: expected at most") != NULL);
            sma_buf_fini(&json);
        }
}

/* Every schema is strict JSON, and an object with a wrong type for any member of it is refused. */
CASE(schemas_say_what_is_checked)
{
    size_t count;
    const struct sma_tool_spec *specs = sma_tool_specs(&count);
    for (size_t i = 0; i < count; i++) {
        json_t *schema =
            json_loadb(specs[i].parameters_json.ptr, specs[i].parameters_json.len, 0, NULL);
        CHECK(json_is_object(schema));
        CHECK(json_is_false(json_object_get(schema, "additionalProperties")));
        const char *name;
        json_t *member, *required = json_object_get(schema, "required");
        json_object_foreach(json_object_get(schema, "properties"), name, member)
        {
            CHECK(json_is_string(json_object_get(member, "description")));
            char json[200], said[1000];
            struct sma_tool_args args;
            snprintf(json, sizeof json, "{\"%s\":{}}", name);
            CHECK(!parse((enum sma_tool)i, json, &args, said));
        }
        for (size_t k = 0; k < json_array_size(required); k++)
            CHECK(json_object_get(json_object_get(schema, "properties"),
                                  json_string_value(json_array_get(required, k))) != NULL);
        json_decref(schema);
    }
}

/* What may have done something before a restart is never called harmless. */
CASE(what_only_reads_is_listed)
{
    static const char *const readers[] = {
        "chat_contact_lookup", "chat_load_history", "download_attachment", "list_files",
        "memory_search",       "read_file",         "read_more",           "resolve_user_profile",
        "search_files",        "skills_list",       "skills_load",         "web_search"};
    size_t count = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(readers); i++)
        CHECK(sma_tool_only_reads(sma_tool_find(sma_str(readers[i]))));
    for (int i = 0; i <= SMA_TOOL_MCP; i++)
        count += sma_tool_only_reads((enum sma_tool)i);
    CHECK_INT(SMA_COUNT_OF(readers), count);
}

CASE(channels_are_offered_what_they_can)
{
    struct sma_tool_spec specs[SMA_TOOL_COUNT];
    CHECK_INT(SMA_TOOL_COUNT - 10, sma_tool_specs_for(0, specs));
    CHECK_INT(SMA_TOOL_COUNT, sma_tool_specs_for(SMA_TOOL_OFFER_ALL, specs));
    for (uint32_t offers = 0; offers <= SMA_TOOL_OFFER_ALL; offers++) {
        size_t count = sma_tool_specs_for(offers, specs);
        for (size_t i = 1; i < count; i++)
            CHECK(strcmp(specs[i - 1].name.ptr, specs[i].name.ptr) < 0);
        CHECK(sma_tool_is_offered(SMA_TOOL_SEND_FILE, offers) ==
              ((offers & SMA_TOOL_OFFER_FILES) != 0));
        CHECK(sma_tool_is_offered(SMA_TOOL_REACT, offers) ==
              ((offers & SMA_TOOL_OFFER_REACTIONS) != 0));
        CHECK(sma_tool_is_offered(SMA_TOOL_SEND_CARD, offers) ==
              ((offers & SMA_TOOL_OFFER_CARDS) != 0));
        CHECK(sma_tool_is_offered(SMA_TOOL_WEB_FETCH, offers) ==
              ((offers & SMA_TOOL_OFFER_WEB) != 0));
        CHECK(sma_tool_is_offered(SMA_TOOL_WEB_SEARCH, offers) ==
              ((offers & SMA_TOOL_OFFER_SEARCH) != 0));
        CHECK(
            sma_tool_is_offered(SMA_TOOL_EXEC_SHELL, offers)); /* whoever speaks: one set a chat */
        CHECK(!sma_tool_is_offered(SMA_TOOL_UNKNOWN, offers));
    }
    CHECK(sma_tool_is_gated(SMA_TOOL_EXEC_SHELL) && sma_tool_is_work(SMA_TOOL_EXEC_SHELL));
    CHECK(sma_tool_is_gated(SMA_TOOL_CONTACT_SEND) && !sma_tool_is_work(SMA_TOOL_CONTACT_SEND));
    CHECK(!sma_tool_is_gated(SMA_TOOL_READ_FILE) && sma_tool_is_work(SMA_TOOL_READ_FILE));
    CHECK(!sma_tool_is_gated(SMA_TOOL_UNKNOWN) && !sma_tool_is_work(SMA_TOOL_UNKNOWN));
}

CASES_MAIN
