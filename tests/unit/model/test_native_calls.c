/*
 * Aim: what servers send as calls (names, ids, pieces, wrappers, events that are none) is read as
 *      it was meant.
 * Method: tables of names and events through the decoders, with a request that offers tools.
 */
#include "offered_tools.h"

#define LOCAL "http://127.0.0.1:1/v1"

static const struct sma_decoded *decode_body(enum sma_llm_api api, const char *body)
{
    begin(api, LOCAL);
    feed_pieces(decoder_of, sma_str(body), 5);
    return sma_decoder_finish(decoder_of);
}

CASE(decorated_names_mean_the_tool)
{
    static const char *const names[] = {
        "read_file<|channel|>commentary",
        "functions.read_file",
        "default_api.read_file",
        "default_api:read_file",
        "read_file</arg_value>",
        "read-file",
        "Read_File",
        "readFile",
        "functions.read_file:0",
        "functions_read_file",
        "tools/read_file",
        "read_file\n",
        " read_file",
        "read_file()",
        "\"read_file\"",
        "read_file_0",
        "to=functions.read_file",
        "read_file_tool",
        "<|channel|>commentary to=functions.read_file",
        "read_file<tool_call>",
        "READ_FILE",
        "mcp__fs__read_file",
        "read file",
        "<function=read_file>",
        "read_file\u202f",
        "read\u202ffile",
        "\u00a0read_file",
        "read_\u200bfile\u3000",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        struct sma_buf body;
        sma_buf_init(&body, 65536);
        sma_buf_put_text(&body, "{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"a\","
                                "\"function\":{\"name\":");
        sma_buf_put_json_string(&body, sma_str(names[i]));
        sma_buf_put_text(&body, ",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}");
        const struct sma_decoded *decoded = decode_body(SMA_LLM_CHAT, body.ptr);
        CHECK_INT(1, decoded->call_count);
        CHECK_STR("read_file", decoded->calls[0].name);
        CHECK(memmem(decoded->fragment.ptr, decoded->fragment.len, "\"name\":\"read_file\"", 18) !=
              NULL);
        sma_buf_fini(&body);
    }
}

CASE(names_that_mean_no_tool_or_two_stay_unknown)
{
    static const char *const cases[][2] = {{"delete_file", "delete_file"},
                                           {"GET-DATA", "GET-DATA"},
                                           /* which of the two? */ {"file", "file"},
                                           {"x.y|z", "x_y"},
                                           {"<|>", "unnamed"}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char body[512];
        snprintf(body, sizeof body,
                 "{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":"
                 "\"%s\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}",
                 cases[i][0]);
        CHECK_STR(cases[i][1], decode_body(SMA_LLM_CHAT, body)->calls[0].name);
    }
}

#define PIECE(members) "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{" members "}]}}]}\n\n"
#define FN(name, arguments) "\"function\":{\"name\":\"" name "\",\"arguments\":\"" arguments "\"}"
#define ONLY(arguments) "\"function\":{\"arguments\":\"" arguments "\"}"
#define PIECES_END \
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"

CASE(pieces_of_calls_are_put_together)
{
    static const struct
    {
        const char *body;
        size_t count;
        const char *first, *second;
    } cases[] = {
        /* an id in each piece */
        {PIECE("\"index\":0,\"id\":\"11\"," FN("read_file", ""))
             PIECE("\"index\":0,\"id\":\"12\"," FN("", "{\\\"pa"))
                 PIECE("\"index\":0,\"id\":\"13\"," FN("", "th\\\":\\\"a\\\"}")) PIECES_END,
         1, "{\"path\":\"a\"}", NULL},
        /* the same, and the name in each, too */
        {PIECE("\"index\":0,\"id\":\"11\"," FN("read_file", "{\\\"pa"))
             PIECE("\"index\":0,\"id\":\"12\"," FN("read_file", "th\\\":\\\"a\\\"}")) PIECES_END,
         1, "{\"path\":\"a\"}", NULL},
        /* at the end the whole once more, encoded twice */
        {PIECE("\"index\":0,\"id\":\"11\"," FN("read_file", "{\\\"path\\\":"))
             PIECE("\"index\":0,\"id\":\"12\"," ONLY("\\\"a\\\"}"))
                 PIECE("\"index\":0,\"id\":\"13\"," ONLY(
                     "\\\"{\\\\\\\"path\\\\\\\":\\\\\\\"a\\\\\\\"}\\\"")) PIECES_END,
         1, "{\"path\":\"a\"}", NULL},
        /* the whole once more behind pieces */
        {PIECE("\"index\":0,\"id\":\"1\"," FN("read_file", "{\\\"path\\\":"))
             PIECE("\"index\":0," ONLY("\\\"a\\\"}"))
                 PIECE("\"index\":0," ONLY("{\\\"path\\\":\\\"a\\\"}")) PIECES_END,
         1, "{\"path\":\"a\"}", NULL},
        /* two objects under one index */
        {PIECE("\"index\":0,\"id\":\"1\"," FN("read_file", "{\\\"path\\\":\\\"notes.txt\\\"}"))
             PIECE("\"index\":0," ONLY("{\\\"path\\\":\\\"other.txt\\\"}")) PIECES_END,
         2, "{\"path\":\"notes.txt\"}", "{\"path\":\"other.txt\"}"},
        {PIECE("\"index\":0,\"id\":\"1\"," FN(
             "read_file", "{\\\"path\\\":\\\"a\\\"}{\\\"path\\\":\\\"b\\\"}")) PIECES_END,
         2, "{\"path\":\"a\"}", "{\"path\":\"b\"}"},
        /* a name in two pieces */
        {PIECE("\"index\":0,\"id\":\"1\"," FN("read_", ""))
             PIECE("\"index\":0," FN("file", "{\\\"path\\\":\\\"a\\\"}")) PIECES_END,
         1, "{\"path\":\"a\"}", NULL},
        /* its name in the last one */
        {PIECE("\"index\":0,\"id\":\"1\"," ONLY("{\\\"path\\\":"))
             PIECE("\"index\":0," ONLY("\\\"a\\\"}"))
                 PIECE("\"index\":0,\"function\":{\"name\":\"read_file\"}") PIECES_END,
         1, "{\"path\":\"a\"}", NULL},
        {PIECE("\"index\":0," ONLY("{\\\"path\\\":\\\"a\\\"}"))
             PIECE("\"index\":0,\"id\":\"1\",\"function\":{\"name\":\"read_file\"}") PIECES_END,
         1, "{\"path\":\"a\"}", NULL},
        {PIECE(ONLY("{\\\"path\\\":\\\"a\\\"}")) PIECE("\"function\":{\"name\":\"read_file\"}")
             PIECES_END,
         1, "{\"path\":\"a\"}", NULL},
        /* the call once more in its arguments */
        {PIECE("\"index\":0,\"id\":\"1\"," FN(
             "read_file",
             "{\\\"name\\\":\\\"read_file\\\",\\\"input\\\":{\\\"path\\\":\\\"a\\\"}}")) PIECES_END,
         1, "{\"path\":\"a\"}", NULL},
        {PIECE("\"index\":0,\"id\":\"1\"," FN(
             "read_file", "{\\\"arguments\\\":\\\"{\\\\\\\"path\\\\\\\":\\\\\\\"a\\\\\\\"}\\\"}"))
             PIECES_END,
         1, "{\"path\":\"a\"}", NULL},
        /* whole calls under one index, told apart by ids (Ollama) */
        {PIECE("\"index\":0,\"id\":\"1\"," FN("read_file", "{\\\"path\\\":\\\"a\\\"}")) PIECE(
             "\"index\":0,\"id\":\"2\"," FN("read_file", "{\\\"path\\\":\\\"b\\\"}")) PIECES_END,
         2, "{\"path\":\"a\"}", "{\"path\":\"b\"}"},
        /* pieces of two calls in turn, told apart by ids alone */
        {PIECE("\"id\":\"1\"," FN("read_file", "{\\\"path\\\":"))
             PIECE("\"id\":\"2\"," FN("read_file", "{\\\"path\\\":"))
                 PIECE("\"id\":\"1\"," ONLY("\\\"a\\\"}")) PIECE("\"id\":\"2\"," ONLY("\\\"b\\\"}"))
                     PIECES_END,
         2, "{\"path\":\"a\"}", "{\"path\":\"b\"}"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        const struct sma_decoded *decoded = decode_body(SMA_LLM_CHAT, cases[i].body);
        if (cases[i].count != decoded->call_count)
            printf("case %zu\n", i);
        CHECK_INT(cases[i].count, decoded->call_count);
        for (size_t k = 0; k < decoded->call_count && k < 2; k++) {
            CHECK_STR("read_file", decoded->calls[k].name);
            CHECK(!decoded->calls[k].is_invalid);
            CHECK_STR(k == 0 ? cases[i].first : cases[i].second, decoded->calls[k].arguments);
        }
    }
}

/* The request holds the ids of the rounds before. */
CASE(ids_are_new_in_the_conversation)
{
    static const char *const cases[][2] = {{"read_file:0", "read_file:2"}, {"call_1", "call_1_1"}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char body[512];
        snprintf(body, sizeof body,
                 "{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"%s\",\"function\":{"
                 "\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}",
                 cases[i][0]);
        begin(SMA_LLM_CHAT, LOCAL);
        sma_decoder_set_request(
            decoder_of, SMA_STR("{\"messages\":[{\"tool_calls\":[{\"id\":\"read_file:0\"},{\"id\":"
                                "\"read_file:1\"},{\"id\":\"call_1\"}]}]}"));
        feed_pieces(decoder_of, sma_str(body), 5);
        const struct sma_decoded *decoded = sma_decoder_finish(decoder_of);
        CHECK_STR(cases[i][1], decoded->calls[0].id);
        CHECK(memmem(decoded->fragment.ptr, decoded->fragment.len, cases[i][1],
                     strlen(cases[i][1])) != NULL);
    }
}

#define ITEM_EVENT(type, rest) \
    "data: {\"type\":\"response." type "\",\"output_index\":0," rest "}\n\n"
CASE(the_fullest_arguments_win)
{
    static const char *const ends[] = {"\"\"", "\"{}\"", "null", "\"{\\\"path\\\":\\\"a\\\"}\""};
    for (size_t i = 0; i < SMA_COUNT_OF(ends); i++) {
        char body[2048];
        snprintf(body, sizeof body,
                 ITEM_EVENT("output_item.added",
                            "\"item\":{\"type\":\"function_call\",\"id\":\"x\",\"call_id\":\"c\","
                            "\"name\":\"read_file\",\"arguments\":\"\"}")
                     ITEM_EVENT("function_call_arguments.delta",
                                "\"delta\":\"{\\\"path\\\":\\\"a\\\"}\"")
                         ITEM_EVENT("function_call_arguments.done", "\"arguments\":%s")
                             ITEM_EVENT("output_item.done",
                                        "\"item\":{\"type\":\"function_call\",\"id\":\"x\","
                                        "\"call_id\":\"c\",\"name\":\"read_file\",\"arguments\":%"
                                        "s}") "data: "
                                              "{\"type\":\"response.completed\",\"response\":{"
                                              "\"status\":"
                                              "\"completed\",\"output\":[]}}\n\n",
                 ends[i], ends[i]);
        const struct sma_decoded *decoded = decode_body(SMA_LLM_RESPONSES, body);
        CHECK_INT(1, decoded->call_count);
        CHECK_STR("{\"path\":\"a\"}", decoded->calls[0].arguments);
    }
}

/* Neither announced nor told again. */
CASE(arguments_alone_make_a_call)
{
    const struct sma_decoded *decoded = decode_body(
        SMA_LLM_RESPONSES,
        ITEM_EVENT("function_call_arguments.delta", "\"item_id\":\"x\",\"delta\":\"{\\\"path\\\":"
                                                    "\\\"a\\\"}\"")
            ITEM_EVENT(
                "output_item.done",
                "\"item\":{\"type\":\"function_call\",\"id\":\"x\",\"call_id\":\"c\","
                "\"name\":\"read_file\",\"arguments\":null}") "data: "
                                                              "{\"type\":\"response.completed\","
                                                              "\"response\":{\"status\":"
                                                              "\"completed\","
                                                              "\"output\":[]}}\n\n");
    CHECK_INT(1, decoded->call_count);
    CHECK_STR("read_file", decoded->calls[0].name);
    CHECK_STR("{\"path\":\"a\"}", decoded->calls[0].arguments);
}

#define ID_40 "0123456789012345678901234567890123456789"

/* OpenAI refuses a call id of more than 40 bytes, also one that another model made. The call and
 * what goes back about it bear the same one; LiteLLM's hold a signature and stay. */
CASE(ids_that_are_too_long_become_our_own)
{
    static const struct
    {
        const char *first, *second;
        bool stays;
    } rows[] = {
        {ID_40, "b", true},
        {ID_40 "4", "b", false},
        {ID_40 ID_40 ID_40, ID_40 ID_40 ID_40, false},
        {"call_1__thought__" ID_40, "b", true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char body[2048], held[256];
        snprintf(body, sizeof body,
                 "{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"%s\",\"function\":{"
                 "\"name\":\"list\",\"arguments\":\"{}\"}},{\"id\":\"%s\",\"function\":{\"name\":"
                 "\"list\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}",
                 rows[i].first, rows[i].second);
        const struct sma_decoded *decoded = decode_body(SMA_LLM_CHAT, body);
        CHECK_INT(2, decoded->call_count);
        struct sma_str id = decoded->calls[0].id;
        CHECK_INT(rows[i].stays, sma_str_is_equal(id, sma_str(rows[i].first)));
        CHECK(rows[i].stays || (id.len > 0 && id.len <= 40));
        CHECK(!sma_str_is_equal(id, decoded->calls[1].id));
        snprintf(held, sizeof held, "\"id\":\"%.*s\"", (int)id.len, id.ptr);
        CHECK(memmem(decoded->fragment.ptr, decoded->fragment.len, held, strlen(held)) != NULL);
    }
}

/* Each was a piece of an answer, which would look whole without it. */
CASE(an_answer_with_a_broken_event_is_not_taken_for_whole)
{
    static const struct
    {
        enum sma_llm_api api;
        const char *event;
    } rows[] = {
        {SMA_LLM_CHAT, "{\"id\":\"x\",\"cho"},
        {SMA_LLM_CHAT, "{\"id\":\"x\",\"choices\":[{\"delta\":{\"content\":\"a"},
        {SMA_LLM_MESSAGES,
         "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\""},
        {SMA_LLM_RESPONSES,
         "{\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char body[512];
        snprintf(body, sizeof body, "data: %s\n\ndata: [DONE]\n\n", rows[i].event);
        CHECK_INT(SMA_DECODED_GARBAGE, decode_body(rows[i].api, body)->status);
    }
}

/* -- streams ----------------------------------------------------------------------------------- */
CASE(events_that_are_no_json_are_passed_over)
{
    const struct sma_decoded *decoded =
        decode_body(SMA_LLM_CHAT,
                    "data: : OPENROUTER PROCESSING\n\ndata: {\"choices\":[{\"delta\":{\"content\":"
                    "\"Hi\"}}]}\n\ndata: nonsense\n\n" PIECES_END);
    CHECK_INT(SMA_DECODED_OK, decoded->status);
    CHECK_STR("Hi", decoded->text);
    decoded = decode_body(SMA_LLM_CHAT, "{\"choices\":[{\"message\":{\"content\":null,\"audio\":{"
                                        "\"transcript\":\"Hi\"}},\"finish_reason\":\"stop\"}]}");
    CHECK_STR("Hi", decoded->text);
    CHECK_INT(SMA_DECODED_GARBAGE,
              decode_body(SMA_LLM_CHAT, "data: nonsense\n\ndata: more\n\n")->status);
}

CASE(halves_of_a_character_are_joined)
{
    static const char *const cases[][2] = {
        {"data: {\"choices\":[{\"delta\":{\"content\":\"Sun \\ud83c\"}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"content\":\"\\udf1e!\"}}]}\n\n" PIECES_END,
         "Sun \xf0\x9f\x8c\x9e!"},
        {"data: {\"choices\":[{\"delta\":{\"content\":\"Sun \\ud83c\"}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"content\":\" and rain\"}}]}\n\n" PIECES_END,
         "Sun \xef\xbf\xbd and rain"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++)
        CHECK_STR(cases[i][1], decode_body(SMA_LLM_CHAT, cases[i][0])->text);
}

/* Text or whole calls, and the body ended as it said: an answer. Cut, or half a call: none. */
CASE(ends_that_servers_leave_out_are_ends)
{
    static const struct
    {
        enum sma_llm_api api;
        const char *body;
        bool is_whole;
    } cases[] = {
        {SMA_LLM_CHAT, "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n", true},
        {SMA_LLM_CHAT,
         PIECE("\"index\":0,\"id\":\"1\"," FN("read_file", "{\\\"path\\\":\\\"a\\\"}")), true},
        {SMA_LLM_CHAT, PIECE("\"index\":0,\"id\":\"1\"," FN("read_file", "{\\\"path\\\":")), false},
        {SMA_LLM_CHAT, "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n", false},
        {SMA_LLM_MESSAGES,
         "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\","
         "\"text\":\"Hi\"}}\n\n",
         true},
        {SMA_LLM_RESPONSES,
         "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hi\"}\n\n",
         true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++)
        for (int is_clean = 0; is_clean < 2; is_clean++) {
            begin(cases[i].api, LOCAL);
            feed_pieces(decoder_of, sma_str(cases[i].body), 5);
            if (is_clean == 1)
                sma_decoder_end_cleanly(decoder_of);
            const struct sma_decoded *decoded = sma_decoder_finish(decoder_of);
            CHECK_INT(is_clean == 1 && cases[i].is_whole ? SMA_DECODED_OK : SMA_DECODED_TRUNCATED,
                      decoded->status);
            if (decoded->status == SMA_DECODED_OK)
                CHECK(decoded->call_count == 1 || sma_str_is_equal(decoded->text, SMA_STR("Hi")));
        }
}

CASE(a_call_that_its_server_could_not_read_is_read)
{
    static const char body[] =
        "{\"error\":{\"message\":\"Failed to call a function.\",\"code\":\"tool_use_failed\","
        "\"failed_generation\":\"<function=read_file>{\\\"path\\\":\\\"a\\\"}</function>\"}}";
    begin(SMA_LLM_CHAT, LOCAL);
    CHECK(sma_decoder_read_failed(decoder_of, sma_str(body)));
    const struct sma_decoded *decoded = sma_decoder_finish(decoder_of);
    CHECK_INT(SMA_DECODED_OK, decoded->status);
    CHECK_INT(1, decoded->call_count);
    CHECK_STR("{\"path\":\"a\"}", decoded->calls[0].arguments);
    begin(SMA_LLM_CHAT, LOCAL);
    CHECK(
        !sma_decoder_read_failed(decoder_of, SMA_STR("{\"error\":{\"failed_generation\":\"x\"}}")));
}

int main(void)
{
    check_run_cases(NULL);
    sma_decoder_destroy(decoder_of);
    return check_summary();
}
