/*
 * Aim: what a provider wants back comes back as it came: signatures, unknown members, pieces put
 *      together; and nothing goes back that is refused.
 * Method: one body in, the fragment out; streams are fed in pieces of 7 bytes.
 */
#include "support.h"

static struct sma_decoder *decoder_of;

/* The decoder lives until the next call. */
static const struct sma_decoded *decode_as(enum sma_llm_api api, const char *provider,
                                           const char *body)
{
    struct sma_config_llm llm = test_llm(api, provider);
    sma_decoder_destroy(decoder_of);
    decoder_of = sma_decoder_create(&llm);
    CHECK(decoder_of != NULL);
    sma_decoder_reset(decoder_of, 1);
    feed_pieces(decoder_of, sma_str(body), 7);
    return sma_decoder_finish(decoder_of);
}

static const struct sma_decoded *chat(const char *body)
{
    return decode_as(SMA_LLM_CHAT, "custom", body);
}

static const struct sma_decoded *messages(const char *body)
{
    return decode_as(SMA_LLM_MESSAGES, "custom", body);
}

static const struct sma_decoded *responses(const char *body)
{
    return decode_as(SMA_LLM_RESPONSES, "custom", body);
}

#define EVENT(json) "data: " json "\n\n"
#define DONE "data: [DONE]\n\n"

CASE(thought_signatures_of_gemini_come_back_in_their_call)
{
    const struct sma_decoded *decoded = chat(EVENT(
        "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"tool_calls\":[{\"index\":0,\"id\":"
        "\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"},"
        "\"extra_content\":{\"google\":{\"thought_signature\":\"S1\"}}},{\"index\":1,\"id\":"
        "\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\",\"mark\":7}}]},"
        "\"finish_reason\":\"tool_calls\"}]}") DONE);
    CHECK_STR("{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"type\":"
              "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"},\"extra_content\":"
              "{\"google\":{\"thought_signature\":\"S1\"}}},{\"id\":\"b\",\"type\":\"function\","
              "\"function\":{\"name\":\"g\",\"arguments\":\"{}\",\"mark\":7}}]}",
              decoded->fragment);
}

CASE(unknown_members_of_a_message_come_back)
{
    const struct sma_decoded *decoded =
        chat(EVENT("{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"hi\","
                   "\"annotations\":[],\"audio\":null,\"obfuscation\":\"xx\",\"extra_content\":"
                   "{\"google\":{\"a\":1}}}}]}")
                 EVENT("{\"choices\":[{\"delta\":{\"extra_content\":{\"google\":{"
                       "\"thought_signature\":\"S\"}}},\"finish_reason\":\"stop\"}]}") DONE);
    CHECK_STR("{\"role\":\"assistant\",\"content\":\"hi\",\"extra_content\":{\"google\":{\"a\":1,"
              "\"thought_signature\":\"S\"}}}",
              decoded->fragment);
}

CASE(pieces_of_reasoning_details_are_one_entry_each)
{
    const struct sma_decoded *decoded = chat(
        EVENT("{\"choices\":[{\"delta\":{\"reasoning\":\"Let \",\"reasoning_details\":[{\"type\":"
              "\"reasoning.text\",\"text\":\"Let \",\"format\":null,\"index\":0}]}}]}")
            EVENT("{\"choices\":[{\"delta\":{\"reasoning\":\"me\",\"reasoning_details\":[{\"type\":"
                  "\"reasoning.text\",\"text\":\"me\",\"format\":\"anthropic-claude-v1\","
                  "\"index\":0}]}}]}")
                EVENT("{\"choices\":[{\"delta\":{\"reasoning_details\":[{\"type\":\"reasoning."
                      "text\",\"signature\":\"SIG\",\"index\":0},{\"type\":\"reasoning.encrypted\","
                      "\"data\":\"E1\",\"index\":1},{\"type\":\"reasoning.encrypted\",\"data\":"
                      "\"E2\",\"index\":1}]}}]}")
                    EVENT("{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\","
                          "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
                          "\"finish_reason\":\"tool_calls\"}]}") DONE);
    CHECK_STR("Let me", decoded->reasoning);
    CHECK_STR("{\"role\":\"assistant\",\"content\":null,\"reasoning_details\":[{\"type\":"
              "\"reasoning.text\",\"text\":\"Let me\",\"format\":\"anthropic-claude-v1\",\"index\":"
              "0,\"signature\":\"SIG\"},{\"type\":\"reasoning.encrypted\",\"data\":\"E1\","
              "\"index\":1},{\"type\":\"reasoning.encrypted\",\"data\":\"E2\",\"index\":1}],"
              "\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\","
              "\"arguments\":\"{}\"}}]}",
              decoded->fragment);
}

CASE(a_signature_ends_a_thought_where_no_index_does)
{
    const struct sma_decoded *decoded =
        chat(EVENT("{\"choices\":[{\"delta\":{\"content\":\"x\",\"reasoning_details\":[{\"type\":"
                   "\"reasoning.text\",\"text\":\"a\"},{\"type\":\"reasoning.text\",\"text\":\"b\","
                   "\"signature\":\"1\"},{\"type\":\"reasoning.text\",\"text\":\"c\",\"signature\":"
                   "\"2\"}]},\"finish_reason\":\"stop\"}]}") DONE);
    CHECK_STR("{\"role\":\"assistant\",\"content\":\"x\",\"reasoning_details\":[{\"type\":"
              "\"reasoning.text\",\"text\":\"ab\",\"signature\":\"1\"},{\"type\":\"reasoning."
              "text\",\"text\":\"c\",\"signature\":\"2\"}]}",
              decoded->fragment);
}

CASE(reasoning_of_plain_turns_goes_where_it_is_wanted)
{
    static const char thought[] = EVENT("{\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\","
                                        "\"content\":\"x\"},\"finish_reason\":\"stop\"}]}") DONE;
    static const char none[] =
        EVENT("{\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}") DONE;
    CHECK_STR("{\"role\":\"assistant\",\"content\":\"x\"}", chat(thought)->fragment);
    CHECK_STR("{\"role\":\"assistant\",\"content\":\"x\",\"reasoning_content\":\"hm\"}",
              decode_as(SMA_LLM_CHAT, "moonshot", thought)->fragment);
    CHECK_STR("{\"role\":\"assistant\",\"content\":\"x\",\"reasoning_content\":\"\"}",
              decode_as(SMA_LLM_CHAT, "moonshot", none)->fragment);
    CHECK_STR("{\"role\":\"assistant\",\"content\":\"x\",\"reasoning_content\":\"\"}",
              decode_as(SMA_LLM_CHAT, "deepseek", none)->fragment);
}

/* -- Messages ---------------------------------------------------------------------------------- */
CASE(blank_text_blocks_are_not_sent_back)
{
    const struct sma_decoded *decoded = messages(
        "{\"content\":[{\"type\":\"text\",\"text\":\"\\n\\n\"},{\"type\":\"tool_use\",\"id\":"
        "\"t\",\"name\":\"f\",\"input\":{},\"caller\":{\"type\":\"direct\"}}],\"stop_reason\":"
        "\"tool_use\"}");
    CHECK_STR("{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":"
              "\"f\",\"input\":{},\"caller\":{\"type\":\"direct\"}}]}",
              decoded->fragment);
    decoded = messages("{\"content\":[{\"type\":\"text\",\"text\":\" \\n\"}],\"stop_reason\":"
                       "\"end_turn\"}");
    CHECK_INT(SMA_DECODED_OK, decoded->status);
    CHECK_INT(0, decoded->fragment.len);
}

CASE(thoughts_come_back_with_their_signature_only)
{
    const struct sma_decoded *decoded = messages(
        "{\"content\":[{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"S\"},{\"type\":"
        "\"redacted_thinking\",\"data\":\"R\"},{\"type\":\"thinking\",\"thinking\":\"cut off\"},"
        "{\"type\":\"text\",\"text\":\"x\",\"citations\":null}],\"stop_reason\":\"end_turn\"}");
    CHECK_STR("{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"\","
              "\"signature\":\"S\"},{\"type\":\"redacted_thinking\",\"data\":\"R\"},{\"type\":"
              "\"text\",\"text\":\"x\"}]}",
              decoded->fragment);
}

CASE(blocks_of_unknown_kinds_come_back_whole)
{
    const struct sma_decoded *decoded = messages(
        "event: content_block_start\n" EVENT(
            "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
            "\"server_tool_use\",\"id\":\"s\",\"name\":\"web\",\"input\":{}}}")
            EVENT("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_"
                  "delta\",\"partial_json\":\"{\\\"q\\\":\"}}")
                EVENT("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_"
                      "json_delta\",\"partial_json\":\"1}\"}}")
                    EVENT("{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{"
                          "\"type\":\"text\",\"text\":\"ok\"}}")
                        EVENT("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_"
                              "turn\"}}") EVENT("{\"type\":\"message_stop\"}"));
    CHECK_STR("{\"role\":\"assistant\",\"content\":[{\"type\":\"server_tool_use\",\"id\":\"s\","
              "\"name\":\"web\",\"input\":{\"q\":1}},{\"type\":\"text\",\"text\":\"ok\"}]}",
              decoded->fragment);
}

/* -- Responses --------------------------------------------------------------------------------- */
CASE(items_come_back_with_what_we_do_not_know)
{
    const struct sma_decoded *decoded = responses(
        "{\"status\":\"completed\",\"output\":[{\"type\":\"reasoning\",\"id\":\"rs_1\","
        "\"summary\":[],\"encrypted_content\":\"E\"},{\"type\":\"message\",\"id\":\"msg_1\","
        "\"role\":\"assistant\",\"phase\":\"commentary\",\"content\":[{\"type\":\"output_text\","
        "\"text\":\"x\"}]},{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c\","
        "\"name\":\"f\",\"arguments\":\"{}\",\"namespace\":\"n\"}]}");
    CHECK_STR("{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":"
              "\"E\"},{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"phase\":"
              "\"commentary\",\"content\":[{\"type\":\"output_text\",\"text\":\"x\"}]},{\"type\":"
              "\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":"
              "\"{}\",\"namespace\":\"n\"}",
              decoded->fragment);
}

/* The id of an item is checked against the reasoning it came with. */
CASE(ids_stay_away_where_their_reasoning_does)
{
    const struct sma_decoded *decoded = responses(
        "{\"status\":\"completed\",\"output\":[{\"type\":\"reasoning\",\"id\":\"rs_1\","
        "\"summary\":[]},{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\","
        "\"content\":[{\"type\":\"output_text\",\"text\":\"x\"}]},{\"type\":\"function_call\","
        "\"id\":\"fc_1\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"}]}");
    CHECK_STR("{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_"
              "text\",\"text\":\"x\"}]},{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":"
              "\"f\",\"arguments\":\"{}\"}",
              decoded->fragment);
}

CASE(reasoning_without_what_it_led_to_stays_away)
{
    const struct sma_decoded *decoded = responses(
        "{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},"
        "\"output\":[{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":[{"
        "\"type\":\"output_text\",\"text\":\"x\"}]},{\"type\":\"reasoning\",\"id\":\"rs_1\","
        "\"summary\":[],\"encrypted_content\":\"E\"}]}");
    CHECK_INT(SMA_FINISH_LENGTH, decoded->finish);
    CHECK_STR("{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":[{"
              "\"type\":\"output_text\",\"text\":\"x\"}]}",
              decoded->fragment);
}

/* Azure fills encrypted_content in the last event only; others leave it out there. */
CASE(the_copy_of_an_item_that_tells_more_is_kept)
{
#define REASONING(more) "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]" more "}"
#define ANSWER \
    "{\"type\":\"message\",\"id\":\"m\",\"content\":[{\"type\":\"output_text\",\"text\":\"x\"}]}"
    static const char *const copies[][2] = {
        {"", ",\"encrypted_content\":\"E\""},
        {",\"encrypted_content\":\"E\"", ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(copies); i++) {
        char body[1024];
        snprintf(
            body, sizeof body,
            EVENT("{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":" REASONING(
                "%s") "}") EVENT("{\"type\":\"response.completed\",\"response\":{\"status\":"
                                 "\"completed\",\"output\":[" REASONING("%s") "," ANSWER "]}}"),
            copies[i][0], copies[i][1]);
        CHECK_STR(REASONING(",\"encrypted_content\":\"E\"") "," ANSWER, responses(body)->fragment);
    }
}

/* -- ends -------------------------------------------------------------------------------------- */
CASE(refusals_are_told_apart_and_not_replayed)
{
    static const struct
    {
        enum sma_llm_api api;
        const char *body, *text;
        enum sma_finish finish;
    } cases[] = {
        {SMA_LLM_MESSAGES,
         "{\"content\":[{\"type\":\"text\",\"text\":\"Part of\"}],\"stop_reason\":\"refusal\","
         "\"stop_details\":{\"category\":\"cyber\",\"explanation\":\"Not this.\"}}",
         "Not this.", SMA_FINISH_REFUSED},
        {SMA_LLM_MESSAGES, "{\"content\":[],\"stop_reason\":\"refusal\",\"stop_details\":null}", "",
         SMA_FINISH_REFUSED},
        {SMA_LLM_CHAT,
         "{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"I can't.\"},\"finish_reason\":"
         "\"stop\"}]}",
         "I can't.", SMA_FINISH_REFUSED},
        {SMA_LLM_RESPONSES,
         "{\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":"
         "\"refusal\",\"refusal\":\"I can't.\"}]}]}",
         "I can't.", SMA_FINISH_REFUSED},
        {SMA_LLM_CHAT,
         "{\"choices\":[{\"message\":{\"content\":\"So\"},\"finish_reason\":\"content_filter\"}]}",
         "So", SMA_FINISH_FILTERED},
        {SMA_LLM_CHAT,
         "{\"choices\":[{\"message\":{\"content\":\"\"},\"finish_reason\":\"sensitive\"}]}", "",
         SMA_FINISH_FILTERED},
        {SMA_LLM_RESPONSES,
         "{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"content_filter\"},"
         "\"output\":[]}",
         "", SMA_FINISH_FILTERED},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        const struct sma_decoded *decoded = decode_as(cases[i].api, "custom", cases[i].body);
        CHECK_INT(SMA_DECODED_OK, decoded->status);
        CHECK_INT(cases[i].finish, decoded->finish);
        CHECK_STR(cases[i].text, decoded->text);
        CHECK_INT(0, decoded->call_count);
        CHECK(decoded->finish != SMA_FINISH_REFUSED || decoded->fragment.len == 0);
    }
}

CASE(ends_that_nobody_meant_are_failures)
{
    static const struct
    {
        const char *choice;
        enum sma_decoded_status status;
    } cases[] = {
        {"\"message\":{\"content\":\"x\"},\"finish_reason\":\"error\"", SMA_DECODED_ERROR},
        {"\"message\":{\"content\":\"x\"},\"finish_reason\":\"network_error\"", SMA_DECODED_ERROR},
        {"\"message\":{\"content\":\"x\"},\"finish_reason\":\"abort\"", SMA_DECODED_ERROR},
        {"\"message\":{\"content\":\"\"},\"finish_reason\":\"something_new\"", SMA_DECODED_ERROR},
        {"\"message\":{\"content\":\"x\"},\"finish_reason\":\"something_new\"", SMA_DECODED_OK},
        {"\"message\":{\"content\":\"x\"},\"finish_reason\":null", SMA_DECODED_OK},
        {"\"message\":{\"content\":\"\"},\"finish_reason\":null", SMA_DECODED_TRUNCATED},
        {"\"message\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":"
         "\"{\"}}]},\"finish_reason\":null",
         SMA_DECODED_TRUNCATED},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char body[512];
        snprintf(body, sizeof body, "{\"choices\":[{%s}]}", cases[i].choice);
        CHECK_INT(cases[i].status, chat(body)->status);
    }
}

CASE(a_paused_turn_goes_on)
{
    const struct sma_decoded *decoded = messages(
        "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"stop_reason\":\"pause_turn\"}");
    CHECK_INT(SMA_FINISH_LENGTH, decoded->finish);
}

/* -- usage ------------------------------------------------------------------------------------- */
CASE(usage_of_every_shape_becomes_one)
{
    static const struct
    {
        enum sma_llm_api api;
        const char *usage;
        struct sma_usage wanted;
    } cases[] = {
        {SMA_LLM_CHAT,
         "{\"prompt_tokens\":100,\"completion_tokens\":20,\"total_tokens\":120,\"prompt_tokens_"
         "details\":{\"cached_tokens\":60,\"cache_write_tokens\":30},\"completion_tokens_details\":"
         "{\"reasoning_tokens\":5}}",
         {.input = 10, .cached = 60, .written = 30, .output = 20, .reasoning = 5}},
        {SMA_LLM_CHAT,
         "{\"prompt_tokens\":100,\"completion_tokens\":20,\"prompt_cache_hit_tokens\":64,\"prompt_"
         "cache_miss_tokens\":36}",
         {.input = 36, .cached = 64, .output = 20}},
        {SMA_LLM_CHAT,
         "{\"prompt_tokens\":100,\"completion_tokens\":20,\"cached_tokens\":40}",
         {.input = 60, .cached = 40, .output = 20}},
        {SMA_LLM_CHAT, /* Gemini: its thoughts are in the total only */
         "{\"prompt_tokens\":100,\"completion_tokens\":20,\"total_tokens\":150}",
         {.input = 100, .output = 50, .reasoning = 30}},
        {SMA_LLM_CHAT,
         "{\"prompt_tokens\":10,\"completion_tokens\":2,\"total_tokens\":12,\"cost\":0.00125}",
         {.input = 10, .output = 2, .cost_nano = 1250000}},
        {SMA_LLM_CHAT,
         "{\"prompt_tokens\":10,\"completion_tokens\":2,\"prompt_tokens_details\":{\"cached_"
         "tokens\":99}}",
         {.input = 0, .cached = 10, .output = 2}}, /* no more than was sent */
        {SMA_LLM_RESPONSES,
         "{\"input_tokens\":100,\"output_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":50,"
         "\"cache_write_tokens\":20},\"output_tokens_details\":{\"reasoning_tokens\":4}}",
         {.input = 30, .cached = 50, .written = 20, .output = 9, .reasoning = 4}},
        {SMA_LLM_MESSAGES,
         "{\"input_tokens\":10,\"output_tokens\":9,\"cache_read_input_tokens\":50,\"cache_creation_"
         "input_tokens\":20}",
         {.input = 10, .cached = 50, .written = 20, .output = 9}},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char body[1024];
        snprintf(body, sizeof body,
                 cases[i].api == SMA_LLM_CHAT        ? "{\"choices\":[{\"message\":{\"content\":"
                                                       "\"x\"},\"finish_reason\":\"stop\"}],"
                                                       "\"usage\":%s}"
                 : cases[i].api == SMA_LLM_RESPONSES ? "{\"status\":\"completed\",\"output\":[],"
                                                       "\"usage\":%s}"
                                                     : "{\"content\":[],\"stop_reason\":\"end_"
                                                       "turn\",\"usage\":%s}",
                 cases[i].usage);
        const struct sma_usage *usage = &decode_as(cases[i].api, "custom", body)->usage;
        CHECK_INT(cases[i].wanted.input, usage->input);
        CHECK_INT(cases[i].wanted.cached, usage->cached);
        CHECK_INT(cases[i].wanted.written, usage->written);
        CHECK_INT(cases[i].wanted.output, usage->output);
        CHECK_INT(cases[i].wanted.reasoning, usage->reasoning);
        CHECK_INT(cases[i].wanted.cost_nano, usage->cost_nano);
    }
}

int main(void)
{
    check_run_cases(NULL);
    sma_decoder_destroy(decoder_of);
    return check_summary();
}
