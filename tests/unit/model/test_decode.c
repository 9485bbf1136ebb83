/*
 * Aim: every stored stream of tests/golden/llm decodes to the stated answer, whatever the sizes of
 *      the pieces it comes in. Method: each is fed whole, byte by byte and in pieces of 2..17
 *      bytes; results are compared member by member.
 */
#include "support.h"

struct wanted_call
{
    const char *id, *name, *arguments; /* id NULL = made up */
};
struct wanted
{
    const char *file;
    enum sma_llm_api api;
    const char *provider;
    enum sma_decoded_status status;
    enum sma_finish finish;
    const char *text;
    struct wanted_call calls[2];
    size_t call_count, cut_count; /* cut_count: of the last ones */
    uint64_t input, cached, output;
    const char *reasoning;
    const char *fragment; /* NULL = not compared */
    const char *error;    /* part of the error message */
};

#define CHAT_CALL(id, name, args)                                             \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name \
    "\",\"arguments\":\"" args "\"}}"

static const struct wanted table[] = {
    {.file = "oai-chat-stream-text.txt",
     .text = "Hello, world. This is streamed.",
     .input = 2,
     .output = 8,
     .fragment = "{\"role\":\"assistant\",\"content\":\"Hello, world. This is streamed.\"}"},
    {.file = "oai-chat-stream-reasoning.txt",
     .text = "42",
     .reasoning = "Let me think about it.",
     .fragment = "{\"role\":\"assistant\",\"content\":\"42\"}"},
    {.file = "oai-chat-stream-tools.txt",
     .finish = SMA_FINISH_TOOLS,
     .text = "",
     .call_count = 2,
     .input = 3,
     .output = 14,
     .calls = {{"call__97BMkpW8kjIfo7J", "get_weather", "{\"city\":\"Paris\"}"},
               {"call_JgrvloRDHORn7WbR", "get_time", "{\"tz\":\"Europe/Paris\"}"}},
     .fragment = "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" CHAT_CALL(
         "call__97BMkpW8kjIfo7J", "get_weather",
         "{\\\"city\\\":\\\"Paris\\\"}") "," CHAT_CALL("call_JgrvloRDHORn7WbR", "get_time",
                                                       "{\\\"tz\\\":\\\"Europe/Paris\\\"}") "]}"},
    {.file = "oai-chat-stream-tools.txt",
     .provider = "deepseek",
     .finish = SMA_FINISH_TOOLS,
     .text = "",
     .call_count = 2,
     .input = 3,
     .output = 14,
     .calls = {{"call__97BMkpW8kjIfo7J", "get_weather", "{\"city\":\"Paris\"}"},
               {"call_JgrvloRDHORn7WbR", "get_time", "{\"tz\":\"Europe/Paris\"}"}},
     .fragment =
         "{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"\",\"tool_calls\":"
         "[" CHAT_CALL("call__97BMkpW8kjIfo7J", "get_weather",
                       "{\\\"city\\\":\\\"Paris\\\"}") "," CHAT_CALL("call_JgrvloRDHORn7WbR",
                                                                     "get_time",
                                                                     "{\\\"tz\\\":\\\"Europe/"
                                                                     "Paris\\\"}") "]}"},
    {.file = "oai-chat-json-tools.txt",
     .finish = SMA_FINISH_TOOLS,
     .text = "",
     .call_count = 2,
     .input = 3,
     .output = 14,
     .calls = {{"call_M8wMEruAYDChtr4M", "get_weather", "{\"city\":\"Paris\"}"},
               {"call_na99JWjTfHwkqeEq", "get_time", "{\"tz\":\"Europe/Paris\"}"}}},
    {.file = "oai-chat-429.txt",
     .status = SMA_DECODED_ERROR,
     .text = "",
     .error = "Rate limit reached"},
    {.file = "quirk-crlf-nospace-multiline.sse", .text = "ab"},
    {.file = "quirk-empty-choices-first.sse", .text = "ok"},
    {.file = "quirk-empty-id-on-continuation.sse",
     .finish = SMA_FINISH_TOOLS,
     .text = "",
     .call_count = 1,
     .calls = {{"call_1", "f", "{\"city\": \"杭州\"}"}},
     .input = 5,
     .cached = 4,
     .output = 6,
     .fragment = "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[" CHAT_CALL(
         "call_1", "f", "{\\\"city\\\": \\\"杭州\\\"}") "]}"},
    {.file = "quirk-error-only-event.sse",
     .status = SMA_DECODED_ERROR,
     .text = "",
     .error = "The server had an error"},
    {.file = "quirk-keepalive-and-comments.sse", .text = "hi"},
    {.file = "quirk-midstream-error.sse",
     .status = SMA_DECODED_ERROR,
     .text = "par",
     .error = "Provider disconnected"},
    {.file = "quirk-missing-index.sse",
     .finish = SMA_FINISH_TOOLS,
     .text = "",
     .call_count = 1,
     .calls = {{"call_1", "f", "{\"a\":1}"}}},
    {.file = "quirk-no-done-no-finish.sse", .status = SMA_DECODED_TRUNCATED, .text = "partial"},
    {.file = "quirk-ollama-index-zero.sse",
     .finish = SMA_FINISH_TOOLS,
     .text = "",
     .call_count = 2,
     .calls = {{"call_a", "f", "{\"x\":1}"}, {"call_b", "g", "{\"y\":2}"}}},
    {.file = "quirk-reasoning-fields.sse", .text = "42", .reasoning = "thinking more"},
    {.file = "quirk-usage-in-last-choice.sse", .text = "hi", .input = 1, .output = 1},
    {.file = "quirk-no-id-no-index-object-args.txt",
     .finish = SMA_FINISH_TOOLS,
     .text = "",
     .call_count = 1,
     .calls = {{NULL, "f", "{\"x\":1}"}},
     .input = 1,
     .output = 1,
     .fragment = "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" CHAT_CALL(
         "call_abc_1", "f", "{\\\"x\\\":1}") "]}"},
    {.file = "quirk-json-answer-to-stream-request.txt", .text = "ok"},
    {.file = "oai-responses-stream-tools.txt",
     .api = SMA_LLM_RESPONSES,
     .finish = SMA_FINISH_TOOLS,
     .text = "",
     .call_count = 2,
     .calls = {{"call_lyUbAMMMy0sPTgNm", "get_weather", "{\"city\":\"Paris\"}"},
               {"call_Iyfd_Vi3GVFZwWYF", "get_time", "{\"tz\":\"Europe/Paris\"}"}},
     .fragment = "{\"type\":\"function_call\",\"id\":\"fc-rZag6R_M7Zk__BgZ\",\"call_id\":\"call_"
                 "lyUbAMMMy0sPTgNm\","
                 "\"name\":\"get_weather\",\"arguments\":\"{\\\"city\\\":\\\"Paris\\\"}\","
                 "\"status\":\"completed\"},"
                 "{\"type\":\"function_call\",\"id\":\"fc-rnlX4BGKooXuaz2O\",\"call_id\":\"call_"
                 "Iyfd_Vi3GVFZwWYF\","
                 "\"name\":\"get_time\",\"arguments\":\"{\\\"tz\\\":\\\"Europe/"
                 "Paris\\\"}\",\"status\":\"completed\"}"},
    {.file = "anthropic-full-stream.sse",
     .api = SMA_LLM_MESSAGES,
     .finish = SMA_FINISH_TOOLS,
     .text = "I'll check.",
     .reasoning = "Let me",
     .call_count = 2,
     .input = 1520,
     .cached = 1500,
     .output = 89,
     .calls = {{"toolu_1", "get_weather", "{\"city\": \"Paris\"}"}, {"toolu_2", "now", "{}"}},
     .fragment =
         "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"Let me\","
         "\"signature\":\"c2ln\"},{\"type\":\"text\",\"text\":\"I'll "
         "check.\"},{\"type\":\"tool_use\","
         "\"id\":\"toolu_1\",\"name\":\"get_weather\",\"input\":{\"city\": "
         "\"Paris\"}},{\"type\":\"tool_use\","
         "\"id\":\"toolu_2\",\"name\":\"now\",\"input\":{}}]}"},
    {.file = "gemini-parallel-tools.sse",
     .finish = SMA_FINISH_TOOLS,
     .text = "",
     .call_count = 2,
     .input = 50,
     .output = 50,
     .calls = {{"function-call-1", "get_weather", "{\"city\":\"Paris\"}"},
               {"function-call-2", "get_time", "{\"tz\":\"Europe/Paris\"}"}},
     .fragment = "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"function-call-"
                 "1\",\"type\":"
                 "\"function\",\"function\":{\"name\":\"get_weather\",\"arguments\":\"{"
                 "\\\"city\\\":\\\"Paris\\\"}\"},"
                 "\"extra_content\":{\"google\":{\"thought_signature\":\"Ci8=\"}}}," CHAT_CALL(
                     "function-call-2", "get_time",
                     "{\\\"tz\\\":\\\"Europe/Paris\\\"}") "],\"extra_content\":{\"google\":{"
                                                          "\"thought_signature\":"
                                                          "\"RU5E\"}}}"},
    {.file = "openrouter-claude-thinking.sse",
     .finish = SMA_FINISH_TOOLS,
     .text = "",
     .reasoning = "Let me look.",
     .call_count = 1,
     .input = 100,
     .cached = 60,
     .output = 30,
     .calls = {{"toolu_1", "f", "{\"a\":1}"}},
     .fragment =
         "{\"role\":\"assistant\",\"content\":\"\",\"reasoning_details\":[{\"type\":\"reasoning."
         "text\","
         "\"text\":\"Let me look.\",\"format\":\"anthropic-claude-v1\",\"index\":0,\"signature\":"
         "\"c2ln\"}],\"tool_calls\":[" CHAT_CALL("toolu_1", "f", "{\\\"a\\\":1}") "]}"},
    {.file = "anthropic-cut-in-call.sse",
     .api = SMA_LLM_MESSAGES,
     .finish = SMA_FINISH_LENGTH,
     .text = "\n\n",
     .call_count = 1,
     .cut_count = 1,
     .input = 127,
     .cached = 100,
     .output = 64,
     .calls = {{"toolu_1", "write_file", "{\"path\": \"a"}},
     .fragment =
         "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"\","
         "\"signature\":"
         "\"c2ln\"},{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"write_file\",\"input\":{"
         "\"cut_arguments\":\"{\\\"path\\\": \\\"a\"}}]}"},
    {.file = "anthropic-stream-both.txt",
     .api = SMA_LLM_MESSAGES,
     .finish = SMA_FINISH_TOOLS,
     .text = "I will look.",
     .call_count = 1,
     .calls = {{"toolu_PEx_cWtFSU7XrihJ", "get_weather", "{\"city\":\"Rome\"}"}}},
    {.file = "anthropic-json-tools.txt",
     .api = SMA_LLM_MESSAGES,
     .finish = SMA_FINISH_TOOLS,
     .text = "",
     .call_count = 2,
     .calls = {{"toolu_af2YbA1XwHzULf1f", "get_weather", "{\"city\":\"Paris\"}"},
               {"toolu_gZDPSX76QFolJ-ZR", "get_time", "{\"tz\":\"Europe/Paris\"}"}}},
    {.file = "anthropic-midstream-error.sse",
     .api = SMA_LLM_MESSAGES,
     .status = SMA_DECODED_ERROR,
     .text = "",
     .error = "Overloaded"},
};

static void check_decoded(const struct wanted *wanted, const struct sma_decoded *decoded)
{
    CHECK_INT(wanted->status, decoded->status);
    CHECK_STR(wanted->text, decoded->text);
    CHECK_INT(wanted->call_count, decoded->call_count);
    for (size_t i = 0; i < wanted->call_count; i++) {
        CHECK_STR(wanted->calls[i].id == NULL ? "call_abc_1" : wanted->calls[i].id,
                  decoded->calls[i].id);
        CHECK_STR(wanted->calls[i].name, decoded->calls[i].name);
        CHECK_STR(wanted->calls[i].arguments, decoded->calls[i].arguments);
        CHECK_INT(i + wanted->cut_count >= wanted->call_count, decoded->calls[i].is_cut);
        CHECK_INT(decoded->calls[i].is_cut, decoded->calls[i].is_invalid);
    }
    if (wanted->reasoning != NULL)
        CHECK_STR(wanted->reasoning, decoded->reasoning);
    if (wanted->fragment != NULL)
        CHECK_STR(wanted->fragment, decoded->fragment);
    if (wanted->error != NULL)
        CHECK(strstr(decoded->error.message, wanted->error) != NULL);
    if (wanted->status != SMA_DECODED_OK)
        return;
    CHECK_INT(wanted->finish, decoded->finish);
    CHECK_INT(wanted->input, decoded->usage.input + decoded->usage.cached + decoded->usage.written);
    CHECK_INT(wanted->cached, decoded->usage.cached);
    CHECK_INT(wanted->output, decoded->usage.output);
}

ENDING(sma_decoder_destroy, struct sma_decoder)

CASE(every_vector_decodes_however_it_is_split)
{
    for (size_t i = 0; i < SMA_COUNT_OF(table); i++) {
        const struct wanted *wanted = &table[i];
        fprintf(stderr, "  %s\n", wanted->file);
        size_t len = 0;
        char *bytes = read_golden(wanted->file, &len);
        struct sma_str body = vector_body(bytes, len);
        struct sma_config_llm llm =
            test_llm(wanted->api, wanted->provider == NULL ? "custom" : wanted->provider);
        struct sma_decoder *decoder = sma_decoder_create(&llm);
        CHECK(decoder != NULL);
        for (size_t piece = 1; piece <= 18; piece++) {
            sma_decoder_reset(decoder, 0xabc);
            feed_pieces(decoder, body, piece == 18 ? body.len : piece);
            check_decoded(wanted, sma_decoder_finish(decoder));
        }
        sma_decoder_destroy(decoder);
        free(bytes);
    }
}

/* -- made here: one string in, the neutral answer out ------------------------------------------ */
static struct sma_decoder *decode(enum sma_llm_api api, const char *body)
{
    struct sma_config_llm llm = test_llm(api, "custom");
    struct sma_decoder *decoder = sma_decoder_create(&llm);
    CHECK(decoder != NULL);
    sma_decoder_reset(decoder, 1);
    feed_pieces(decoder, sma_str(body), 7);
    return decoder;
}

CASE(a_cut_stream_never_yields_calls)
{
    size_t len = 0;
    char *bytes = read_golden("oai-chat-stream-tools.txt", &len);
    struct sma_str body = vector_body(bytes, len);
    struct sma_config_llm llm = test_llm(SMA_LLM_CHAT, "custom");
    struct sma_decoder *decoder = sma_decoder_create(&llm);
    const char *finish = memmem(body.ptr, body.len, "\"finish_reason\":\"tool_calls\"", 28);
    CHECK(finish != NULL);
    for (size_t cut = 0; cut < (size_t)(finish - body.ptr); cut++) {
        sma_decoder_reset(decoder, 1);
        sma_decoder_feed(decoder, body.ptr, cut);
        const struct sma_decoded *decoded = sma_decoder_finish(decoder);
        CHECK_INT(SMA_DECODED_TRUNCATED, decoded->status);
        CHECK_INT(0, decoded->call_count);
        CHECK_INT(0, decoded->fragment.len);
    }
    sma_decoder_destroy(decoder);
    free(bytes);
}

CASE(a_reason_to_stop_is_enough_without_done)
{
    SMA_AUTO(sma_decoder_destroyp)
    struct sma_decoder *decoder = decode(
        SMA_LLM_CHAT,
        "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n");
    CHECK(sma_decoder_is_finishing(decoder));
    CHECK(!sma_decoder_is_done(decoder));
    CHECK_INT(SMA_DECODED_OK, sma_decoder_finish(decoder)->status);
}

/* The model is told that its call was cut; to be told, the call must be there, and its turn
 * legal. */
CASE(calls_of_a_cut_answer_are_kept_and_marked)
{
    struct sma_decoder *decoder =
        decode(SMA_LLM_CHAT, "data: {\"choices\":[{\"delta\":{\"content\":\"so\",\"tool_calls\":["
                             "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":"
                             "\"{\\\"x\\\":1}\"}},{\"index\":1,\"id\":\"b\",\"function\":{\"name\":"
                             "\"g\",\"arguments\":\"{\\\"y\\\":\\\"abc\"}}]},\"finish_reason\":"
                             "\"length\"}]}\n\ndata: [DONE]\n\n");
    const struct sma_decoded *decoded = sma_decoder_finish(decoder);
    CHECK_INT(SMA_DECODED_OK, decoded->status);
    CHECK_INT(SMA_FINISH_LENGTH, decoded->finish);
    CHECK_INT(2, decoded->call_count);
    CHECK(!decoded->calls[0].is_cut && !decoded->calls[0].is_invalid);
    CHECK(decoded->calls[1].is_cut && decoded->calls[1].is_invalid);
    CHECK_STR("the answer ended inside of them, after 9 bytes", decoded->calls[1].problem);
    CHECK_STR(
        "{\"role\":\"assistant\",\"content\":\"so\",\"tool_calls\":[" CHAT_CALL(
            "a", "f", "{\\\"x\\\":1}") "," CHAT_CALL("b", "g",
                                                     "{\\\"cut_arguments\\\":\\\"{"
                                                     "\\\\\\\"y\\\\\\\":\\\\\\\"abc\\\"}") "]}",
        decoded->fragment);
    sma_decoder_destroy(decoder);

    /* Before the first byte of the arguments, too. */
    decoder =
        decode(SMA_LLM_CHAT, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,"
                             "\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]},"
                             "\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n");
    CHECK(sma_decoder_finish(decoder)->calls[0].is_cut);
    sma_decoder_destroy(decoder);
}

CASE(interleaved_indexes_are_assembled)
{
    SMA_AUTO(sma_decoder_destroyp)
    struct sma_decoder *decoder = decode(
        SMA_LLM_CHAT,
        "data: "
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{"
        "\"name\":\"f\",\"arguments\":\"{\"}},"
        "{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{\"}}]}}]}\n\n"
        "data: "
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":"
        "\"\\\"y\\\":2}\"}}]}}]}\n\n"
        "data: "
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
        "\"\\\"x\\\":1}\"}}]},"
        "\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]");
    const struct sma_decoded *decoded = sma_decoder_finish(decoder);
    CHECK_INT(2, decoded->call_count);
    CHECK_STR("{\"x\":1}", decoded->calls[0].arguments);
    CHECK_STR("{\"y\":2}", decoded->calls[1].arguments);
    CHECK_INT(SMA_FINISH_TOOLS, decoded->finish);
}

CASE(repeated_whole_arguments_replace_the_pieces)
{
    SMA_AUTO(sma_decoder_destroyp)
    struct sma_decoder *decoder =
        decode(SMA_LLM_CHAT, "data: "
                             "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\","
                             "\"function\":{\"name\":\"f\",\"arguments\":"
                             "\"{\\\"x\\\":1}\"}}]}}]}\n\n"
                             "data: "
                             "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{"
                             "\"arguments\":\"{\\\"x\\\":1}\"}}]},"
                             "\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n");
    const struct sma_decoded *decoded = sma_decoder_finish(decoder);
    CHECK_STR("{\"x\":1}", decoded->calls[0].arguments);
    CHECK(!decoded->calls[0].is_invalid);
}

CASE(broken_arguments_are_marked_and_go_back_as_json)
{
    SMA_AUTO(sma_decoder_destroyp)
    struct sma_decoder *decoder =
        decode(SMA_LLM_CHAT, "{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"a\","
                             "\"function\":{\"name\":\"f\",\"arguments\":"
                             "\"{oops\"}},{\"id\":\"a\",\"function\":{\"name\":\"g\",\"arguments\":"
                             "\"\"}}]},\"finish_reason\":\"tool_calls\"}]}");
    const struct sma_decoded *decoded = sma_decoder_finish(decoder);
    CHECK_INT(2, decoded->call_count);
    CHECK(decoded->calls[0].is_invalid);
    CHECK_STR("{oops", decoded->calls[0].arguments);
    CHECK_STR("{}", decoded->calls[1].arguments);
    CHECK_STR("call_1_2", decoded->calls[1].id); /* the repeated id was replaced */
    CHECK_STR("{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" CHAT_CALL(
                  "a", "f", "{\\\"invalid_arguments\\\":\\\"{oops\\\"}") "," CHAT_CALL("call_1_2",
                                                                                       "g",
                                                                                       "{}") "]}",
              decoded->fragment);
}

CASE(think_blocks_are_hidden_and_do_not_go_back)
{
    SMA_AUTO(sma_decoder_destroyp)
    struct sma_decoder *decoder =
        decode(SMA_LLM_CHAT, "data: {\"choices\":[{\"delta\":{\"content\":\"\\n<think>hm\"}}]}\n\n"
                             "data: "
                             "{\"choices\":[{\"delta\":{\"content\":\"</"
                             "think>\\n\\nyes\"},\"finish_reason\":\"stop\"}]}\n\n"
                             "data: [DONE]\n\n");
    const struct sma_decoded *decoded = sma_decoder_finish(decoder);
    CHECK_STR("yes", decoded->text);
    /* Resent, it would be paid for in every later request; the templates of such models leave it
     * out themselves. */
    CHECK_STR("{\"role\":\"assistant\",\"content\":\"yes\"}", decoded->fragment);
}

CASE(reasoning_goes_back_under_its_own_name)
{
    SMA_AUTO(sma_decoder_destroyp)
    struct sma_decoder *decoder =
        decode(SMA_LLM_CHAT, "data: "
                             "{\"choices\":[{\"delta\":{\"reasoning\":\"a\",\"reasoning_details\":["
                             "{\"type\":\"reasoning.text\","
                             "\"text\":\"a\"}]}}]}\n\ndata: "
                             "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"i\","
                             "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_"
                             "reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n");
    const struct sma_decoded *decoded = sma_decoder_finish(decoder);
    CHECK_STR("a", decoded->reasoning);
    CHECK_STR("{\"role\":\"assistant\",\"content\":null,\"reasoning_details\":["
              "{\"type\":"
              "\"reasoning.text\",\"text\":\"a\"}],\"tool_calls\":[" CHAT_CALL("i", "f", "{}") "]}",
              decoded->fragment);
}

CASE(broken_text_is_repaired_not_refused)
{
    SMA_AUTO(sma_decoder_destroyp)
    struct sma_decoder *decoder =
        decode(SMA_LLM_CHAT, "data: {\"choices\":[{\"delta\":{\"content\":\"a\\ud83d\"}}]}\n\n"
                             "data: "
                             "{\"choices\":[{\"delta\":{\"content\":\"\xe6\x9d\\\\\\ud83d\\ude00\"}"
                             ",\"finish_reason\":\"stop\"}]}\n\n");
    CHECK_STR("a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\\\xf0\x9f\x98\x80",
              sma_decoder_finish(decoder)->text);
}

CASE(garbage_and_pages_are_errors)
{
    static const struct
    {
        const char *body;
        enum sma_decoded_status status;
    } cases[] = {
        {"<html><title>502 Bad Gateway</title>", SMA_DECODED_GARBAGE},
        {"data: {broken\n\n", SMA_DECODED_GARBAGE},
        {"data: [1,2]\n\n", SMA_DECODED_GARBAGE},
        {"", SMA_DECODED_TRUNCATED},
        {"\n\n  \n", SMA_DECODED_TRUNCATED},
        {"{\"choices\":[{\"message\":{\"content\":\"ok\"", SMA_DECODED_TRUNCATED},
        {"{\"code\":1302,\"msg\":\"busy\"}", SMA_DECODED_ERROR},
        {"{\"choices\":[]}", SMA_DECODED_ERROR},
        {"[{\"error\":{\"message\":\"x\"}}]", SMA_DECODED_ERROR},
        {"data: {\"object\":\"error\",\"message\":\"no\"}\n\n", SMA_DECODED_ERROR},
        {"event: error\ndata: {\"message\":\"no\"}\n\n", SMA_DECODED_ERROR},
        {"random words\nwithout form\n\n", SMA_DECODED_TRUNCATED},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_decoder *decoder = decode(SMA_LLM_CHAT, cases[i].body);
        CHECK_INT(cases[i].status, sma_decoder_finish(decoder)->status);
        sma_decoder_destroy(decoder);
    }
}

CASE(deep_json_is_refused)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf body;
    sma_buf_init(&body, 1 << 20);
    sma_buf_put_text(&body, "data: {\"choices\":");
    for (int i = 0; i < 100000; i++)
        sma_buf_put_char(&body, '[');
    sma_buf_put_text(&body, "\n\n");
    SMA_AUTO(sma_decoder_destroyp) struct sma_decoder *decoder = decode(SMA_LLM_CHAT, body.ptr);
    CHECK_INT(SMA_DECODED_GARBAGE, sma_decoder_finish(decoder)->status);
}

CASE(answers_are_bounded)
{
    struct sma_config_llm llm = test_llm(SMA_LLM_CHAT, "custom");
    SMA_AUTO(sma_decoder_destroyp) struct sma_decoder *decoder = sma_decoder_create(&llm);
    struct sma_buf event;
    sma_buf_init(&event, 1 << 20);
    sma_buf_put_text(&event, "data: {\"choices\":[{\"delta\":{\"content\":\"");
    for (int i = 0; i < 65536; i++)
        sma_buf_put_char(&event, 'x');
    sma_buf_put_text(&event, "\"}}]}\n\n");
    size_t fed = 0;
    for (; fed < 65 && !sma_decoder_is_done(decoder); fed++)
        sma_decoder_feed(decoder, event.ptr, event.len);
    CHECK_INT(65, fed); /* 64 fill the limit exactly, the next one is over */
    CHECK_INT(SMA_DECODED_TOOBIG, sma_decoder_finish(decoder)->status);
    sma_buf_clear(&event);
    sma_decoder_reset(decoder, 1);
    for (int i = 0; i <= SMA_DECODE_CALL_COUNT_MAX && !sma_decoder_is_done(decoder); i++) {
        sma_buf_clear(&event);
        sma_buf_printf(
            &event, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":%d}]}}]}\n\n", i);
        sma_decoder_feed(decoder, event.ptr, event.len);
        CHECK_INT(i == SMA_DECODE_CALL_COUNT_MAX, sma_decoder_is_done(decoder));
    }
    sma_buf_fini(&event);
}

CASE(send_text_can_be_shown_while_it_streams)
{
    struct sma_config_llm llm = test_llm(SMA_LLM_CHAT, "custom");
    SMA_AUTO(sma_decoder_destroyp) struct sma_decoder *decoder = sma_decoder_create(&llm);
    bool is_send = false;
    static const char first[] =
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":"
        "{\"name\":\"chat_send\",\"arguments\":\"{\\\"text\\\":\\\"He\\\\\"}}]}}]}\n\n";
    static const char second[] =
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":"
        "{\"arguments\":\"nllo\\\",\\\"x\\\":1}\"}}]}}]}\n\n";
    sma_decoder_feed(decoder, first, strlen(first));
    CHECK_STR("He", sma_decoder_progress(decoder, &is_send));
    CHECK(is_send);
    sma_decoder_feed(decoder, second, strlen(second));
    CHECK_STR("He\nllo", sma_decoder_progress(decoder, &is_send));
}

/* A text to another chat is not shown in this one while it is written. */
CASE(text_to_another_chat_is_not_shown)
{
    static const struct
    {
        const char *name, *arguments, *shown;
    } rows[] = {
        {"chat_send", "{\\\"chatId\\\":\\\"7\\\",\\\"text\\\":\\\"Hello\\\"", ""},
        {"send_message", "{\\\"channel\\\":\\\"qq\\\",\\\"text\\\":\\\"Hello\\\"", ""},
        {"send_message", "{\\\"chatId\\\":null,\\\"text\\\":\\\"Hello\\\"", "Hello"},
        {"chat_send", "{\\\"x\\\":[1],\\\"text\\\":\\\"Hello\\\"", "Hello"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_config_llm llm = test_llm(SMA_LLM_CHAT, "custom");
        struct sma_decoder *decoder = sma_decoder_create(&llm);
        bool is_send = false;
        char event[512];
        int len = snprintf(event, sizeof event,
                           "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":"
                           "\"a\",\"function\":{\"name\":\"%s\",\"arguments\":\"%s\"}}]}}]}\n\n",
                           rows[i].name, rows[i].arguments);
        sma_decoder_feed(decoder, event, (size_t)len);
        CHECK_STR(rows[i].shown, sma_decoder_progress(decoder, &is_send));
        sma_decoder_destroy(decoder);
    }
}

CASE(responses_text_and_limits)
{
    struct sma_decoder *decoder = decode(
        SMA_LLM_RESPONSES,
        "event: response.output_item.added\ndata: "
        "{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":"
        "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}}\n\n"
        "event: response.output_item.done\ndata: "
        "{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":"
        "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"zzz\"}}\n\n"
        "event: response.output_item.added\ndata: "
        "{\"output_index\":1,\"item\":{\"type\":\"function_call\",\"id\":\"fc_1\","
        "\"call_id\":\"c1\",\"name\":\"f\",\"arguments\":\"\"}}\n\n"
        "event: response.completed\ndata: "
        "{\"response\":{\"status\":\"completed\",\"output\":[],\"usage\":{\"input_tokens\":9,"
        "\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":3}}}\n\n");
    const struct sma_decoded *decoded = sma_decoder_finish(decoder);
    CHECK_INT(SMA_DECODED_OK, decoded->status);
    CHECK_STR(
        "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"zzz\"},"
        "{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c1\",\"name\":\"f\","
        "\"arguments\":\"{}\"}",
        decoded->fragment);
    CHECK_INT(4, decoded->usage.cached);
    CHECK_INT(5, decoded->usage.input);
    sma_decoder_destroy(decoder);

    decoder = decode(SMA_LLM_RESPONSES, "{\"status\":\"incomplete\",\"incomplete_details\":{"
                                        "\"reason\":\"max_output_tokens\"},\"error\":null,"
                                        "\"output\":[{\"type\":\"message\",\"role\":\"assistant\","
                                        "\"content\":[{\"type\":\"output_text\",\"text\":"
                                        "\"so\"}]},{\"type\":\"function_call\",\"call_id\":\"c\","
                                        "\"name\":\"f\",\"arguments\":\"{\",\"status\":"
                                        "\"incomplete\"}]}");
    decoded = sma_decoder_finish(decoder);
    CHECK_INT(SMA_FINISH_LENGTH, decoded->finish);
    CHECK_STR("so", decoded->text);
    CHECK_INT(1, decoded->call_count);
    CHECK(decoded->calls[0].is_cut);
    CHECK_STR("{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","
              "\"text\":\"so\"}]},{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\","
              "\"arguments\":\"{\\\"cut_arguments\\\":\\\"{\\\"}\"}",
              decoded->fragment);
    sma_decoder_destroy(decoder);

    decoder = decode(
        SMA_LLM_RESPONSES,
        "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":"
        "\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"broke\"}}}\n\n");
    decoded = sma_decoder_finish(decoder);
    CHECK_INT(SMA_DECODED_ERROR, decoded->status);
    CHECK_TEXT("server_error", decoded->error.code);
    sma_decoder_destroy(decoder);
}

CASE(context_window_stop_reasons_are_errors)
{
    SMA_AUTO(sma_decoder_destroyp)
    struct sma_decoder *decoder =
        decode(SMA_LLM_MESSAGES, "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"stop_"
                                 "reason\":\"model_context_window_exceeded\"}");
    const struct sma_decoded *decoded = sma_decoder_finish(decoder);
    CHECK_INT(SMA_DECODED_ERROR, decoded->status);
    CHECK_TEXT("model_context_window_exceeded", decoded->error.code);
}

CASE(empty_end_turns_send_nothing_back)
{
    SMA_AUTO(sma_decoder_destroyp)
    struct sma_decoder *decoder =
        decode(SMA_LLM_MESSAGES,
               "{\"content\":[{\"type\":\"text\",\"text\":\"\"}],\"stop_reason\":\"end_turn\"}");
    const struct sma_decoded *decoded = sma_decoder_finish(decoder);
    CHECK_INT(SMA_DECODED_OK, decoded->status);
    CHECK_INT(0, decoded->fragment.len);
}

/* A server may count nonsense; one answer may not use up everybody's budget by it. */
CASE(no_more_comes_from_a_cache_than_was_sent)
{
    static const struct
    {
        enum sma_llm_api api;
        const char *body;
    } rows[] = {
        {SMA_LLM_CHAT,
         "{\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}],\"usage\":"
         "{\"prompt_tokens\":100,\"completion_tokens\":1,\"prompt_tokens_details\":"
         "{\"cached_tokens\":10000000,\"cache_write_tokens\":5}}}"},
        {SMA_LLM_RESPONSES,
         "{\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"role\":\"assistant\","
         "\"content\":[{\"type\":\"output_text\",\"text\":\"x\"}]}],\"usage\":{\"input_tokens\":"
         "100,"
         "\"output_tokens\":1,\"input_tokens_details\":{\"cached_tokens\":10000000}}}"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_decoder *decoder = decode(rows[i].api, rows[i].body);
        const struct sma_decoded *decoded = sma_decoder_finish(decoder);
        CHECK_INT(SMA_DECODED_OK, decoded->status);
        CHECK_INT(100, decoded->usage.cached);
        CHECK_INT(0, decoded->usage.input + decoded->usage.written);
        sma_decoder_destroy(decoder);
    }
}

#define EVENT(members) "data: {\"choices\":[{" members "}]}\n\n"
#define DELTA(members) EVENT("\"index\":0,\"delta\":{" members "}")
#define STOP EVENT("\"delta\":{},\"finish_reason\":\"stop\"")
#define OLLAMA(members, done) \
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\"," members "},\"done\":" done "}\n"
#define HI "\"content\":\"Hi\""

/* Forms that servers send where they mean what others say. Source: Ollama's own API, its gateways,
 * legacy completions, Mistral's lists, and reports of the field. */
static const char *const answers[] = {
    OLLAMA("\"content\":\"H\"", "false") OLLAMA("\"content\":\"i\"", "false")
        OLLAMA("\"content\":\"\"", "true"),
    OLLAMA("\"content\":\"\",\"thinking\":\"Hm.\"", "false") OLLAMA(HI, "true"),
    OLLAMA(HI ",\"thinking\":\"Hm.\"", "true"),
    "data: " OLLAMA("\"content\":\"H\"", "false") "\ndata: " OLLAMA("\"content\":\"i\"",
                                                                    "true") "\n",
    "{\"response\":\"H\",\"done\":false}\n{\"response\":\"i\",\"done\":true}\n",
    EVENT("\"text\":\"H\"") EVENT("\"text\":\"i\",\"finish_reason\":\"stop\""),
    "{\"choices\":[{\"text\":\"Hi\",\"finish_reason\":\"stop\"}]}",
    DELTA("\"content\":[\"H\",\"i\"]") STOP,
    DELTA("\"content\":[{\"type\":\"output_text\",\"text\":\"Hi\"}]") STOP,
    DELTA("\"content\":{\"type\":\"text\",\"text\":\"Hi\"}") STOP,
    "data: {\"choices\":{\"delta\":{" HI "}}}\n\n" STOP,
    "data: [{\"choices\":[{\"delta\":{" HI "}}]}]\n\n" STOP,
    "data: data: {\"choices\":[{\"delta\":{" HI "}}]}\n\n" STOP,
    "data: {\"choices\":[{\"delta\":{" HI "}}]}\ndata: {\"choices\":[{\"delta\":{},"
    "\"finish_reason\":\"stop\"}]}\ndata: [DONE]\n",
    EVENT("\"message\":{\"content\":\"H\"}")
        EVENT("\"message\":{" HI "},\"finish_reason\":\"stop\""),
    "data: {\"error\":{},\"choices\":[{\"delta\":{" HI "}}]}\n\n" STOP,
    DELTA("\"thinking\":\"Hm.\"") DELTA(HI) STOP,
    DELTA(HI) STOP "data: [done]\n\n",
    "\xef\xbb\xbf" DELTA(HI) STOP,
    ": keep-alive\n\nevent: ping\ndata: {}\n\ndata: {\"type\":\"ping\"}\n\n" DELTA(HI) STOP,
};

static const char *const called[] = {
    DELTA("\"function_call\":{\"name\":\"f\",\"arguments\":\"\"}")
        DELTA("\"function_call\":{\"arguments\":\"{\\\"a\\\":\"}")
            DELTA("\"function_call\":{\"arguments\":\"1}\"}")
                EVENT("\"delta\":{},\"finish_reason\":"
                      "\"function_call\""),
    "{\"choices\":[{\"message\":{\"content\":null,\"function_call\":{\"name\":\"f\",\"arguments\":"
    "\"{\\\"a\\\":1}\"}},\"finish_reason\":\"function_call\"}]}",
    OLLAMA(
        "\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}]",
        "false") OLLAMA("\"content\":\"\"", "true"),
    DELTA("\"tool_calls\":[{\"id\":\"1\",\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}]") STOP,
    DELTA("\"tool_calls\":[{\"id\":\"1\",\"name\":\"f\",\"input\":{\"a\":1}}]") STOP,
    DELTA("\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"f\",\"parameters\":{\"a\":1}}}]")
        STOP,
    DELTA("\"tool_calls\":{\"id\":\"1\",\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}")
        STOP,
    DELTA("\"content\":[{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"f\",\"input\":{\"a\":1}}]")
        STOP,
};

CASE(answers_in_other_shapes_are_read)
{
    for (size_t i = 0; i < SMA_COUNT_OF(answers) + SMA_COUNT_OF(called); i++) {
        bool is_call = i >= SMA_COUNT_OF(answers);
        struct sma_decoder *decoder =
            decode(SMA_LLM_CHAT, is_call ? called[i - SMA_COUNT_OF(answers)] : answers[i]);
        const struct sma_decoded *decoded = sma_decoder_finish(decoder);
        if (decoded->status != SMA_DECODED_OK || decoded->call_count != is_call)
            printf("case %zu\n", i);
        CHECK_INT(SMA_DECODED_OK, decoded->status);
        CHECK_STR(is_call ? "" : "Hi", decoded->text);
        CHECK_INT(is_call, decoded->call_count);
        CHECK_STR("f", is_call ? decoded->calls[0].name : SMA_STR("f"));
        CHECK_STR("{\"a\":1}", is_call ? decoded->calls[0].arguments : SMA_STR("{\"a\":1}"));
        sma_decoder_destroy(decoder);
    }
}

CASES_MAIN
