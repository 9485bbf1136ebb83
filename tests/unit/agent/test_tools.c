/* Aim: the table is sorted and its schemas are JSON; arguments at their bounds; results as the
 * reference has them. */
#include "runtime/tools/tools.h"
#include "support/check.h"

CASE(specs_are_sorted_and_found)
{
    size_t count;
    const struct sma_tool_spec *specs = sma_tool_specs(&count);
    CHECK_INT(SMA_TOOL_COUNT, count);
    for (size_t i = 0; i < count; i++) {
        CHECK_INT(i, sma_tool_find(specs[i].name));
        CHECK(i == 0 || strcmp(specs[i - 1].name.ptr, specs[i].name.ptr) < 0);
        CHECK(strstr(specs[i].parameters_json.ptr, "{\"type\":\"object\",\"properties\":{") ==
              specs[i].parameters_json.ptr);
        CHECK(strstr(specs[i].parameters_json.ptr, "\"additionalProperties\":false}") != NULL);
        CHECK(strstr(specs[i].parameters_json.ptr, ",,") == NULL);
    }
    CHECK_INT(SMA_TOOL_UNKNOWN, sma_tool_find(SMA_STR("chat_sen")));
    CHECK_INT(SMA_TOOL_UNKNOWN, sma_tool_find(SMA_STR("")));
}

static enum sma_err parse(enum sma_tool tool, const char *arguments, struct sma_tool_args *args)
{
    struct sma_buf why;
    sma_buf_init(&why, 1000);
    enum sma_err err = sma_tool_args_parse(tool, sma_str(arguments), args, &why);
    CHECK((err == SMA_ERR_OK) == (why.len == 0));
    sma_buf_fini(&why);
    return err;
}

CASE(history_arguments_at_their_bounds)
{
    static const struct
    {
        const char *json;
        uint32_t limit; /* 0 = refused */
        const char *keyword;
    } rows[] = {
        {"{}", 30, ""},
        {"{\"limit\":null,\"keyword\":null}", 30, ""},
        {"{\"limit\":1}", 1, ""},
        {"{\"limit\":200}", 200, ""},
        {"{\"limit\":20.0}", 20, ""},
        {"{\"limit\":201}", 0, NULL},
        {"{\"limit\":-1}", 0, NULL},
        {"{\"limit\":1e300}", 0, NULL},
        {"{\"limit\":true}", 0, NULL},
        {"{\"keyword\":\"  two words \"}", 30, "two words"},
        {"{\"keyword\":\"  \"}", 30, ""},
        {"{\"keyword\":\"x\",\"other\":[1,2]}", 30, "x"},
        {"[]", 0, NULL},
        {"", 0, NULL},
        {"{\"limit\":1", 0, NULL},
        {"{} trailing", 0, NULL},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_tool_args args;
        enum sma_err err = parse(SMA_TOOL_LOAD_HISTORY, rows[i].json, &args);
        CHECK_INT(rows[i].limit == 0 ? SMA_ERR_BADINPUT : SMA_ERR_OK, err);
        if (err != SMA_ERR_OK)
            continue;
        CHECK_INT(rows[i].limit, args.limit);
        CHECK_STR(rows[i].keyword, args.keyword);
        sma_tool_args_fini(&args);
    }
}

CASE(keyword_of_200_characters_is_the_most)
{
    for (int length = 199; length <= 201; length++) {
        char json[1000] = "{\"keyword\":\"";
        for (int i = 0; i < length; i++)
            strncat(json, "\xc3\xa9", 3); /* two bytes, one character */
        strncat(json, "\"}", 3);
        struct sma_tool_args args;
        CHECK_INT(length <= 200 ? SMA_ERR_OK : SMA_ERR_BADINPUT,
                  parse(SMA_TOOL_LOAD_HISTORY, json, &args));
        if (length <= 200)
            sma_tool_args_fini(&args);
    }
}

CASE(texts_are_kept_as_they_are)
{
    struct sma_tool_args args;
    CHECK_OK(parse(SMA_TOOL_SEND, "{\"text\":\" a\\n\\u4f60 \"}", &args));
    CHECK_STR(" a\n\xe4\xbd\xa0 ", args.text);
    sma_tool_args_fini(&args);
    CHECK_OK(parse(SMA_TOOL_CONTACT_SEND, "{\"username\":\" @bob \",\"text\":\"x\"}", &args));
    CHECK_STR("bob", args.user_name);
    sma_tool_args_fini(&args);
    CHECK_ERR(SMA_ERR_BADINPUT,
              parse(SMA_TOOL_CONTACT_SEND, "{\"username\":\"@\",\"text\":\"x\"}", &args));
}

CASE(history_results_keep_the_newest)
{
    struct sma_history_line lines[40];
    char *text = malloc(2000);
    CHECK(text != NULL);
    memset(text, 'y', 2000);
    for (int i = 0; i < 40; i++)
        lines[i] = (struct sma_history_line){
            .is_user = i % 2 == 0, .user_name = SMA_STR("Ann"), .text = {text, 1000}};
    lines[39].text = SMA_STR("the newest");
    struct sma_history_lines list = {.line_count = 40, .lines = lines};
    struct sma_buf buf;
    sma_buf_init(&buf, 1 << 20);
    sma_tool_put_history(&buf, &list, SMA_STR("k"), false);
    CHECK(buf.len <= SMA_TOOL_RESULT_BYTES_MAX + 500);
    CHECK(strstr(buf.ptr, "the newest") != NULL);
    CHECK(strstr(buf.ptr, "\"mode\":\"search\",\"keyword\":\"k\"") != NULL);
    CHECK(strstr(buf.ptr, "There are more") != NULL);
    sma_buf_clear(&buf);
    list.line_count = 1;
    lines[0].text = SMA_STR("hey");
    lines[0].wall_ms = 1795299420123;
    lines[0].message_id = SMA_STR("m1");
    sma_tool_put_history(&buf, &list, (struct sma_str){0}, true);
    CHECK_STR("{\"success\":true,\"inserted\":1,\"mode\":\"recent\",\"messages\":[{\"role\":"
              "\"user\",\"time\":\"2026-11-21T22:17:00.123Z\",\"id\":\"m1\",\"content\":"
              "\"Ann: hey\"}]}",
              sma_buf_str(&buf));
    sma_buf_clear(&buf);
    list.line_count = 0;
    sma_tool_put_history(&buf, &list, (struct sma_str){0}, true);
    CHECK_STR("{\"success\":true,\"inserted\":0,\"mode\":\"recent\",\"note\":\"There is "
              "nothing besides the conversation above.\",\"messages\":[]}",
              sma_buf_str(&buf));
    sma_buf_clear(&buf);
    list.err = SMA_ERR_IO;
    list.error = SMA_STR("bad \"disk\"");
    sma_tool_put_history(&buf, &list, (struct sma_str){0}, true);
    CHECK_STR("{\"success\":false,\"error\":\"bad \\\"disk\\\"\"}", sma_buf_str(&buf));
    sma_buf_fini(&buf);
    free(text);
}

CASES_MAIN
