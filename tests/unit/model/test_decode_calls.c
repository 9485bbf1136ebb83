/*
 * Aim: calls as models without a grammar write them: repaired where that can be meant in one way,
 *      else returned with the place of the error; calls left in the text become calls and are not
 *      shown.
 * Method: tables of arguments and texts through the chat decoder.
 */
#include "sma/buf.h"
#include "support.h"

static struct sma_decoder *decoder_of;
static const char *asked = "";
static const char *base_url = "http://127.0.0.1:1/v1";

static const struct sma_decoded *decode(const char *body)
{
    struct sma_config_llm llm = test_llm(SMA_LLM_CHAT, "custom");
    llm.base_url = base_url;
    sma_decoder_destroy(decoder_of);
    decoder_of = sma_decoder_create(&llm);
    CHECK(decoder_of != NULL);
    sma_decoder_reset(decoder_of, 1);
    sma_decoder_set_request(decoder_of, sma_str(asked));
    feed_pieces(decoder_of, sma_str(body), 5);
    return sma_decoder_finish(decoder_of);
}

static const struct sma_decoded *decode_arguments(const char *arguments, const char *finish)
{
    struct sma_buf body;
    sma_buf_init(&body, 1 << 20);
    sma_buf_put_text(&body,
                     "{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"a\",\"function\":"
                     "{\"name\":\"f\",\"arguments\":");
    sma_buf_put_json_string(&body, sma_str(arguments));
    sma_buf_printf(&body, "}}]},\"finish_reason\":\"%s\"}]}", finish);
    const struct sma_decoded *decoded = decode(body.ptr);
    sma_buf_fini(&body);
    return decoded;
}

ENDING(sma_decoder_destroy, struct sma_decoder)

CASE(arguments_that_can_be_meant_in_one_way_are_repaired)
{
    static const char *const cases[][2] = {
        {"{\"a\":\"one\ntwo\tthree\"}", "{\"a\":\"one\\ntwo\\tthree\"}"},
        {"{\"a\":\"\x01\"}", "{\"a\":\"\\u0001\"}"},
        {"{\"a\":\"open", "{\"a\":\"open\"}"},
        {"{\"a\":{\"b\":[1,2", "{\"a\":{\"b\":[1,2]}}"},
        {"{\"a\":[1,2}", "{\"a\":[1,2]}"},
        {"{\"a\":1}}", "{\"a\":1}"},
        {"{\"a\":1,}", "{\"a\":1 }"},
        {"{\"a\":[1,2, ],}", "{\"a\":[1,2  ] }"},
        {"```json\n{\"a\":1}\n```", "{\"a\":1}"},
        {"```{\"a\":1}```", "{\"a\":1}"},
        {"\"{\\\"a\\\":1}\"", "{\"a\":1}"},
        {"{}{\"a\":1}", "{\"a\":1}"},
        {"{\"a\":\"C:\\Windows\\d+\\'\"}", "{\"a\":\"C:\\\\Windows\\\\d+'\"}"},
        {"{\"a\":\"x\\", "{\"a\":\"x\"}"},
        {"{'a':'it's','b':[True,None]}", "{\"a\":\"it's\",\"b\":[true,null]}"},
        {"{'say': \"hi\", 'as': 'a \"b\"'}", "{\"say\": \"hi\", \"as\": \"a \\\"b\\\"\"}"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        const struct sma_decoded *decoded = decode_arguments(cases[i][0], "tool_calls");
        CHECK_INT(1, decoded->call_count);
        CHECK(!decoded->calls[0].is_invalid);
        CHECK_STR(cases[i][1], decoded->calls[0].arguments);
    }
}

CASE(what_was_repaired_is_what_goes_back)
{
    const struct sma_decoded *decoded = decode_arguments("{\"a\":\"b\nc\"", "tool_calls");
    CHECK_STR("{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"type\":"
              "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":\\\"b\\\\nc"
              "\\\"}\"}}]}",
              decoded->fragment);
}

CASE(a_cut_call_is_never_closed_for_the_model)
{
    const struct sma_decoded *decoded = decode_arguments("{\"command\":\"rm -rf /tmp/x", "length");
    CHECK_INT(SMA_FINISH_LENGTH, decoded->finish);
    CHECK(decoded->calls[0].is_invalid && decoded->calls[0].is_cut);
    CHECK_STR("{\"command\":\"rm -rf /tmp/x", decoded->calls[0].arguments);
}

CASE(what_cannot_be_meant_comes_back_with_its_place)
{
    static const char *const cases[][2] = {
        {"{\"a\":\n tru}", "line 2, column 4 (byte 10)"},
        {"{\"a\" 1}", "line 1, column 6 (byte 6)"},
        {"{\"a\":", "line 1"},
        {"{a:1}", "line 1, column 2 (byte 2)"},
        {"[1]", "they are a list, not an object"},
        {"{\"a\":1} and more", "line 1"},
        {"just words", "line 1"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        const struct sma_decoded *decoded = decode_arguments(cases[i][0], "tool_calls");
        CHECK_INT(1, decoded->call_count);
        CHECK(decoded->calls[0].is_invalid && !decoded->calls[0].is_cut);
        struct sma_str problem = decoded->calls[0].problem;
        if (memmem(problem.ptr, problem.len, cases[i][1], strlen(cases[i][1])) == NULL)
            CHECK_STR(cases[i][1], problem);
    }
    char deep[512];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    deep[sizeof deep - 1] = '\0';
    CHECK_STR("they are nested deeper than 64 levels",
              decode_arguments(deep, "tool_calls")->calls[0].problem);
}

CASE(only_the_head_of_a_long_cut_call_goes_back)
{
    static char text[20000];
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "{\"a\":\"", 6);
    const struct sma_decoded *decoded = decode_arguments(text, "length");
    CHECK_INT(sizeof text - 1, decoded->calls[0].arguments.len);
    CHECK(decoded->fragment.len > 2048 && decoded->fragment.len < 3000);
    CHECK(memmem(decoded->fragment.ptr, decoded->fragment.len, "bytes_left_out", 14) != NULL);
}

/* -- calls in the text ------------------------------------------------------------------------- */
static const struct sma_decoded *decode_text(const char *text, const char *finish)
{
    struct sma_buf body;
    sma_buf_init(&body, 1 << 22);
    sma_buf_put_text(&body, "{\"choices\":[{\"message\":{\"content\":");
    sma_buf_put_json_string(&body, sma_str(text));
    sma_buf_printf(&body, "},\"finish_reason\":\"%s\"}]}", finish);
    const struct sma_decoded *decoded = decode(body.ptr);
    sma_buf_fini(&body);
    return decoded;
}

CASE(calls_written_as_text_become_calls)
{
    static const struct
    {
        const char *text, *shown;
        const char *names[2];
        size_t count;
    } cases[] = {
        {"<tool_call>\n{\"name\":\"f\",\"arguments\":{\"a\":1}}\n</tool_call>", "", {"f"}, 1},
        {"Let me look.\n\n<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>\n"
         "<tool_call>{\"name\":\"g\",\"arguments\":\"{\\\"a\\\":1}\"}</tool_call>\n",
         "Let me look.",
         {"f", "g"},
         2},
        {"<think>hm</think>\n<tool_call>\n{\"name\":\"f\",\"parameters\":{\"a\":1}}", "", {"f"}, 1},
        {"ok\n```tool_call\n{\"name\":\"f\",\"arguments\":{\"a\":1}}\n```", "ok", {"f"}, 1},
        {"<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>\nis it.", "", {"f"}, 1},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        const struct sma_decoded *decoded = decode_text(cases[i].text, "stop");
        CHECK_INT(SMA_FINISH_TOOLS, decoded->finish);
        CHECK_INT(cases[i].count, decoded->call_count);
        CHECK_STR(cases[i].shown, decoded->text);
        for (size_t k = 0; k < cases[i].count; k++) {
            CHECK_STR(cases[i].names[k], decoded->calls[k].name);
            CHECK_STR("{\"a\":1}", decoded->calls[k].arguments);
            CHECK(decoded->calls[k].id.len > 0);
        }
        CHECK(memmem(decoded->fragment.ptr, decoded->fragment.len, "<tool_call>", 11) == NULL);
        CHECK(memmem(decoded->fragment.ptr, decoded->fragment.len, "\"tool_calls\":[", 14) != NULL);
    }
}

CASE(words_about_calls_stay_words)
{
    static const char *const texts[] = {
        "Write <tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call> to call f.",
        "Like <tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\nis how it looks.",
        "```\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n```",
        "A <tool_call>no json</tool_call>",
        "<tool_calling>",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
        const struct sma_decoded *decoded = decode_text(texts[i], "stop");
        CHECK_INT(0, decoded->call_count);
        CHECK_STR(texts[i], decoded->text);
    }
}

/* "What does this line of the log mean?" - and the model begins by quoting it. */
CASE(a_call_that_was_shown_to_the_model_is_quoted_not_made)
{
    static const char *const requests[] = {
        "{\"content\":\"What is <tool_call>{\\\"name\\\":\\\"f\\\",\\\"arguments\\\":{\\\"a\\\":1}}"
        "</tool_call>?\"}",
        "{\"content\":\"<tool_call>x<tool_call>\\n{\\\"name\\\": "
        "\\\"f\\\",\\n\\t\\\"arguments\\\": {\\\"a\\\": "
        "1}}\\r\\n</tool_call>\"}",
    };
    static const char text[] = "It says:\n<tool_call>{\"name\":\"f\", \"arguments\":{\"a\":1}}\n"
                               "</tool_call>";
    static const char other[] = "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":2}}</tool_call>";
    for (size_t i = 0; i < SMA_COUNT_OF(requests); i++) {
        asked = requests[i];
        const struct sma_decoded *decoded = decode_text(text, "stop");
        CHECK_INT(0, decoded->call_count);
        CHECK_STR(text, decoded->text);
        CHECK_INT(1, decode_text(other, "stop")->call_count); /* its own call still is one */
    }
    asked = "";
}

/* Platforms take calls out of the text themselves, and sometimes do not. */
CASE(calls_in_the_text_of_platforms_are_calls)
{
    static const char text[] = "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
    const char *own = base_url;
    base_url = "https://api.openai.com/v1";
    const struct sma_decoded *decoded = decode_text(text, "stop");
    CHECK_INT(1, decoded->call_count);
    CHECK_STR("", decoded->text);
    base_url = own;
}

CASE(a_call_in_a_cut_text_is_neither_run_nor_shown)
{
    const struct sma_decoded *decoded =
        decode_text("Now.\n<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"b", "length");
    CHECK_INT(SMA_FINISH_LENGTH, decoded->finish);
    CHECK_INT(0, decoded->call_count);
    CHECK_STR("Now.", decoded->text);
}

CASE(calls_in_the_text_are_not_streamed)
{
    static const char text[] = "Hi.\\n<tool_call>{\\\"name\\\":\\\"f\\\",\\\"arguments\\\":{}}";
    struct sma_config_llm llm = test_llm(SMA_LLM_CHAT, "custom");
    SMA_AUTO(sma_decoder_destroyp) struct sma_decoder *decoder = sma_decoder_create(&llm);
    for (size_t i = 0; i < sizeof text - 1;) {
        char event[128];
        bool is_send = false;
        size_t step = text[i] == '\\' ? 2 : 1;
        snprintf(event, sizeof event,
                 "data: {\"choices\":[{\"delta\":{\"content\":\"%.*s\"}}]}\n\n", (int)step,
                 text + i);
        sma_decoder_feed(decoder, event, strlen(event));
        i += step;
        struct sma_str shown = sma_decoder_progress(decoder, &is_send);
        CHECK(shown.len <= 4 && memcmp(shown.ptr, "Hi.\n", shown.len) == 0);
    }
}

/* 100,000 tags that begin nothing: must not take the time of their square. */
CASE(a_text_full_of_tags_is_read_in_time)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf text;
    sma_buf_init(&text, 1 << 22);
    for (int i = 0; i < 100000; i++)
        sma_buf_put_text(&text, "<tool_call>x\n"); /* each is read to the end of the text */
    const struct sma_decoded *decoded = decode_text(text.ptr, "stop");
    CHECK_INT(1, decoded->call_count); /* one that failed */
    CHECK(decoded->calls[0].is_invalid);
    CHECK_INT(0, decoded->text.len);
}

int main(void)
{
    check_run_cases(NULL);
    sma_decoder_destroy(decoder_of);
    return check_summary();
}
