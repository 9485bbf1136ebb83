/*
 * Aim: what is repeated, what is not, what asks for a shorter request, how long to wait, and what
 *      people read.
 * Method: the stored error bodies with their verdicts, and tables.
 */
#include "runtime/model/retry.h"
#include "support.h"

#include "sma/retry_after.h"
#include <jansson.h>

static struct sma_failure http_failure(enum sma_llm_api api, int status, const char *body)
{
    static struct sma_config_llm llms[4];
    llms[api] = test_llm(api, "custom");
    struct sma_failure failure = {.trouble = SMA_FAILURE_HTTP,
                                  .llm = &llms[api],
                                  .http_status = status,
                                  .retry_after_ms = -1};
    sma_wire_error_parse(sma_str(body), &failure.error);
    return failure;
}

static enum sma_retry retry_of(const struct sma_failure *failure)
{
    struct sma_failure_verdict verdict;
    sma_failure_judge(failure, &verdict);
    return verdict.retry;
}

CASE(stored_errors_have_their_verdicts)
{
    static const struct
    {
        enum sma_retry retry;
        const char *message;
    } wanted[] = {
        {SMA_RETRY_YES, "Overloaded"},
        {SMA_RETRY_YES, "..."},
        {SMA_RETRY_NO, "messages.1: `tool_use` ids"},
        {SMA_RETRY_YES, "Rate limit reached"},
        {SMA_RETRY_NO, "You exceeded your current quota"},
        {SMA_RETRY_CONTEXT_LENGTH, "This model's maximum context length"},
        {SMA_RETRY_NO, "Incorrect API key provided"},
        {SMA_RETRY_NO, "The reasoning_content in the thinking mode"},
        {SMA_RETRY_NO, "Insufficient credits"},
        {SMA_RETRY_NO, "model 'x' not found"},
    };
    size_t len = 0;
    char *bytes = read_golden("errors-handmade.json", &len);
    json_t *root = json_loadb(bytes, len, 0, NULL);
    const json_t *errors = json_object_get(root, "errors");
    CHECK_INT(SMA_COUNT_OF(wanted), json_array_size(errors));
    for (size_t i = 0; i < SMA_COUNT_OF(wanted); i++) {
        const json_t *entry = json_array_get(errors, i);
        const char *api = json_string_value(json_object_get(entry, "api"));
        char *body = json_dumps(json_object_get(entry, "body"), 0);
        struct sma_failure failure =
            http_failure(strcmp(api, "anthropic") == 0 ? SMA_LLM_MESSAGES : SMA_LLM_CHAT,
                         (int)json_integer_value(json_object_get(entry, "http")), body);
        const char *after =
            json_string_value(json_object_get(json_object_get(entry, "headers"), "retry-after"));
        if (after != NULL)
            failure.retry_after_ms = sma_retry_after_parse(sma_str(after), 0);
        CHECK_INT(wanted[i].retry, retry_of(&failure));
        CHECK(strncmp(wanted[i].message, failure.error.message, strlen(wanted[i].message)) == 0);
        free(body);
    }
    json_decref(root);
    free(bytes);
}

CASE(statuses_are_classified)
{
    static const struct
    {
        int status;
        enum sma_retry retry;
    } cases[] = {
        {301, SMA_RETRY_NO},  {400, SMA_RETRY_NO},  {401, SMA_RETRY_NO},
        {402, SMA_RETRY_NO},  {403, SMA_RETRY_NO},  {404, SMA_RETRY_NO},
        {408, SMA_RETRY_YES}, {409, SMA_RETRY_YES}, {413, SMA_RETRY_CONTEXT_LENGTH},
        {422, SMA_RETRY_NO},  {429, SMA_RETRY_YES}, {500, SMA_RETRY_YES},
        {502, SMA_RETRY_YES}, {503, SMA_RETRY_YES}, {504, SMA_RETRY_YES},
        {529, SMA_RETRY_YES},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_failure failure = http_failure(SMA_LLM_CHAT, cases[i].status, "");
        CHECK_INT(cases[i].retry, retry_of(&failure));
    }
    struct sma_failure spend_cap = http_failure(SMA_LLM_MESSAGES, 429, "");
    CHECK_INT(SMA_RETRY_NO, retry_of(&spend_cap));
    spend_cap.retry_after_ms = 1000;
    CHECK_INT(SMA_RETRY_YES, retry_of(&spend_cap));
    spend_cap.retry_after_ms = SMA_RETRY_AFTER_MAX_MS;
    CHECK_INT(SMA_RETRY_YES, retry_of(&spend_cap));
    spend_cap.retry_after_ms = SMA_RETRY_AFTER_MAX_MS + 1;
    CHECK_INT(SMA_RETRY_NO, retry_of(&spend_cap));
    struct sma_failure told = http_failure(SMA_LLM_CHAT, 400, "");
    told.has_should_retry = told.should_retry = true;
    CHECK_INT(SMA_RETRY_YES, retry_of(&told));
    told = http_failure(SMA_LLM_CHAT, 500, "");
    told.has_should_retry = true;
    CHECK_INT(SMA_RETRY_NO, retry_of(&told));
}

CASE(context_length_is_recognised)
{
    static const char *const bodies[] = {
        "{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"x\"}}",
        "{\"error\":{\"code\":400,\"type\":\"exceed_context_size_error\",\"message\":\"x\",\"n_"
        "ctx\":1}}",
        "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is "
        "too long: 9 tokens\"}}",
        "{\"message\":\"This model's maximum context length is 4096 tokens\"}",
        "{\"error\":\"the request exceeds the available context size\"}",
        "{\"detail\":[{\"msg\":\"input is too long for requested model\"}]}",
        "{\"error\":{\"message\":\"Please reduce the length of the messages\"}}",
        "{\"error\":{\"type\":\"x\",\"message\":\"exceeds context window of 8\"}}",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(bodies); i++) {
        struct sma_failure failure = http_failure(SMA_LLM_CHAT, 400, bodies[i]);
        CHECK_INT(SMA_RETRY_CONTEXT_LENGTH, retry_of(&failure));
    }
    struct sma_failure rate =
        http_failure(SMA_LLM_CHAT, 429, "{\"error\":{\"message\":\"took too long\"}}");
    CHECK_INT(SMA_RETRY_YES, retry_of(&rate));
}

CASE(errors_inside_answers_are_classified)
{
    static const struct
    {
        const char *body;
        enum sma_retry retry;
    } cases[] = {
        {"{\"error\":{\"code\":502,\"message\":\"Provider disconnected\"}}", SMA_RETRY_YES},
        {"{\"error\":{\"code\":400,\"message\":\"no\"}}", SMA_RETRY_NO},
        {"{\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}", SMA_RETRY_YES},
        {"{\"error\":{\"type\":\"server_error\",\"message\":\"x\"}}", SMA_RETRY_YES},
        {"{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"x\"}}", SMA_RETRY_NO},
        {"{\"error\":{\"type\":\"insufficient_quota\",\"message\":\"x\"}}", SMA_RETRY_NO},
        {"{\"error\":{\"code\":\"model_context_window_exceeded\"}}", SMA_RETRY_CONTEXT_LENGTH},
        {"{\"error\":\"something\"}", SMA_RETRY_YES},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_failure failure = http_failure(SMA_LLM_CHAT, 200, cases[i].body);
        failure.trouble = SMA_FAILURE_EVENT;
        CHECK_INT(cases[i].retry, retry_of(&failure));
    }
}

CASE(retry_after_is_read)
{
    static const struct
    {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"2", 2000},
        {" 0 ", 0},
        {"1.5", 1500},
        {"", -1},
        {"soon", -1},
        {"-3", -1},
        {"5 s", -1},
        {"Sat, 21 Nov 2026 22:17:30 GMT", 30000},
        {"Sat, 21 Nov 2026 22:16:00 GMT", 0},
        {"99999999999999999999", -1},
    };
    int64_t wall_ms = 1795299420000; /* Sat, 21 Nov 2026 22:17:00 GMT */
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++)
        CHECK_INT(cases[i].ms, sma_retry_after_parse(sma_str(cases[i].text), wall_ms));
}

CASE(delays_double_to_eight_seconds)
{
    static const uint64_t bases[] = {500, 1000, 2000, 4000, 8000, 8000};
    for (unsigned attempt = 1; attempt <= SMA_COUNT_OF(bases); attempt++)
        for (uint64_t random = 0; random < 10000; random += 7) {
            uint64_t delay = sma_retry_delay_ms(attempt, -1, random);
            CHECK(delay <= bases[attempt - 1] && delay >= bases[attempt - 1] * 3 / 4);
        }
    CHECK_INT(1234, sma_retry_delay_ms(1, 1234, 99));
    CHECK_INT(0, sma_retry_delay_ms(1, 0, 99));
}

static void check_line(const struct sma_failure *failure, const char *wanted)
{
    struct sma_config_llm llm = test_llm(SMA_LLM_CHAT, "custom");
    llm.api_key = "sk-abcdef";
    SMA_AUTO(sma_buf_fini) struct sma_buf line;
    sma_buf_init(&line, 4096);
    sma_failure_describe(&line, failure, &llm,
                         "https://user:pass@h.example/v1/chat/completions?key=1");
    CHECK_STR(wanted, sma_buf_str(&line));
}

CASE(lines_for_people_name_the_remedy_and_no_secret)
{
    struct sma_failure failure = http_failure(
        SMA_LLM_CHAT, 401, "{\"error\":{\"message\":\"Incorrect\\n API key: sk-abcdef.\"}}");
    check_line(&failure, "HTTP 401 from https://h.example/v1/chat/completions: Incorrect API key: "
                         "***.; set llm.apiKey in "
                         "ship.json or LLM_API_KEY in .env");
    failure = http_failure(SMA_LLM_CHAT, 502, "<html>\n<TITLE>502 Bad\nGateway</title>");
    check_line(&failure, "HTTP 502 from https://h.example/v1/chat/completions: 502 Bad Gateway; "
                         "the provider has trouble "
                         "at the moment: try again later");
    failure = (struct sma_failure){
        .trouble = SMA_FAILURE_SILENT, .retry_after_ms = -1, .detail = "sent no data within 90 s"};
    check_line(
        &failure,
        "https://h.example/v1/chat/completions sent no data within 90 s; try again later, or raise "
        "llm.timeouts in ship.json");
    failure = (struct sma_failure){
        .trouble = SMA_FAILURE_UNREACHABLE, .retry_after_ms = -1, .detail = "refused"};
    check_line(&failure, "cannot reach https://h.example/v1/chat/completions: refused; check "
                         "llm.baseUrl in ship.json and "
                         "the network");
}

CASE(a_message_cut_within_the_key_does_not_show_it)
{
    for (size_t before = 300; before < 330; before++) {
        char body[512];
        memset(body, 'x', sizeof body);
        snprintf(body + before, sizeof body - before, "sk-abcdef and more");
        struct sma_failure failure = http_failure(SMA_LLM_CHAT, 401, body);
        struct sma_config_llm llm = test_llm(SMA_LLM_CHAT, "custom");
        llm.api_key = "sk-abcdef";
        struct sma_buf line;
        sma_buf_init(&line, 4096);
        sma_failure_describe(&line, &failure, &llm, "https://h.example/v1");
        CHECK(line.len > 300 && memmem(line.ptr, line.len, "sk-a", 4) == NULL);
        sma_buf_fini(&line);
    }
}

CASE(long_messages_are_cut_at_characters)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf body;
    sma_buf_init(&body, 65536);
    sma_buf_put_text(&body, "x");
    for (int i = 0; i < 1000; i++)
        sma_buf_put_text(&body, "\xe6\x9d\xad");
    struct sma_wire_error error;
    sma_wire_error_parse(sma_buf_str(&body), &error);
    size_t len = strlen(error.message);
    CHECK(len > 300 && len < sizeof error.message && (len - 1) % 3 == 0);
}

/* An error wherever its server puts it, also without a status: what it is, and what to do. */
CASE(errors_inside_a_200_of_any_shape_are_known)
{
    static const struct
    {
        const char *body;
        enum sma_model_failure trouble;
        const char *remedy;
    } cases[] = {
        /* Tencent */
        {"{\"Response\":{\"Error\":{\"Code\":\"AuthFailure.SignatureFailure\",\"Message\":\"The "
         "provided "
         "credentials could not be validated.\"},\"RequestId\":\"x\"}}",
         SMA_MODEL_FAILURE_AUTH, "llm.apiKey"},
        {"{\"Response\":{\"Error\":{\"Code\":\"FailedOperation.ResourcePackExhausted\",\"Message\":"
         "\"x\"}}}",
         SMA_MODEL_FAILURE_QUOTA, "top it up"},
        {"{\"Response\":{\"Error\":{\"Code\":\"UnsupportedRegion\",\"Message\":\"The requested "
         "region is "
         "not supported.\"}}}",
         SMA_MODEL_FAILURE_AUTH, "region"},
        /* Volcengine */
        {"{\"ResponseMetadata\":{\"Error\":{\"CodeN\":100010,\"Code\":\"SignatureDoesNotMatch\","
         "\"Message\":\"x\"}}}",
         SMA_MODEL_FAILURE_AUTH, "llm.apiKey"},
        {"{\"error\":{\"code\":\"ModelNotOpen\",\"message\":\"Your account has not activated the "
         "model\"}}",
         SMA_MODEL_FAILURE_NO_MODEL, "llm.model"},
        {"{\"error\":{\"code\":\"AccountOverdueError\",\"message\":\"overdue balance\"}}",
         SMA_MODEL_FAILURE_QUOTA, "top it up"},
        /* iFlytek */
        {"{\"header\":{\"code\":11200,\"message\":\"AppIdNoAuthError\",\"status\":2}}",
         SMA_MODEL_FAILURE_AUTH, "llm.apiKey"},
        {"data: {\"header\":{\"code\":11202,\"message\":\"x\",\"status\":2}}\n\n",
         SMA_MODEL_FAILURE_RATE, "rate"},
        /* OpenRouter, MiniMax, Baidu, AWS, Cloudflare, Apigee, new-api */
        {"{\"choices\":[{\"error\":{\"code\":502,\"message\":\"Upstream error\"},\"finish_reason\":"
         "\"error\"}]}",
         SMA_MODEL_FAILURE_TRANSIENT, "try again"},
        {"{\"choices\":[],\"base_resp\":{\"status_code\":2013,\"status_msg\":\"invalid params, "
         "unknown "
         "model\"}}",
         SMA_MODEL_FAILURE_NO_MODEL, "llm.model"},
        {"{\"error_code\":17,\"error_msg\":\"Open api daily request limit reached\"}",
         SMA_MODEL_FAILURE_QUOTA, "top it up"},
        {"{\"message\":\"The security token included in the request is invalid.\",\"__type\":"
         "\"UnrecognizedClientException\"}",
         SMA_MODEL_FAILURE_AUTH, "llm.apiKey"},
        {"{\"errors\":[{\"message\":\"you have used up your daily free "
         "allocation\",\"code\":4006}],"
         "\"success\":false}",
         SMA_MODEL_FAILURE_QUOTA, "top it up"},
        {"{\"fault\":{\"faultstring\":\"Invalid ApiKey\",\"detail\":{\"errorcode\":\"x\"}}}",
         SMA_MODEL_FAILURE_AUTH, "llm.apiKey"},
        {"{\"error\":{\"message\":\"当前分组 default 下对于模型 m "
         "无可用渠道\",\"type\":\"new_api_error\"}}",
         SMA_MODEL_FAILURE_NO_MODEL, "llm.model"},
        /* gateways */
        {"{\"errorCode\":401,\"errorMsg\":\"invalid token\"}", SMA_MODEL_FAILURE_AUTH,
         "llm.apiKey"},
        {"{\"resultCode\":\"401\",\"resultMsg\":\"Unauthorized\"}", SMA_MODEL_FAILURE_AUTH,
         "llm.apiKey"},
        {"{\"data\":{\"error\":{\"message\":\"invalid api key\"}}}", SMA_MODEL_FAILURE_AUTH,
         "llm.apiKey"},
        {"{\"code\":401,\"msg\":\"令牌已过期\"}", SMA_MODEL_FAILURE_AUTH, "llm.apiKey"},
        {"{\"detail\":\"Not authenticated\"}", SMA_MODEL_FAILURE_AUTH, "llm.apiKey"},
        {"{\"detail\":\"Not Found\"}", SMA_MODEL_FAILURE_SETUP, "llm.baseUrl"},
        {"{\"error\":[\"Invalid key\"]}", SMA_MODEL_FAILURE_AUTH, "llm.apiKey"},
        {"{\"error\":true,\"message\":\"insufficient credits\"}", SMA_MODEL_FAILURE_QUOTA,
         "top it up"},
        {"Invalid API key", SMA_MODEL_FAILURE_AUTH, "llm.apiKey"},
        {"\"Api key is invalid\"", SMA_MODEL_FAILURE_AUTH, "llm.apiKey"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_config_llm llm = test_llm(SMA_LLM_CHAT, "custom");
        struct sma_decoder *decoder = sma_decoder_create(&llm);
        sma_decoder_reset(decoder, 1);
        feed_pieces(decoder, sma_str(cases[i].body), 9);
        sma_decoder_end_cleanly(decoder);
        const struct sma_decoded *decoded = sma_decoder_finish(decoder);
        CHECK_INT(SMA_DECODED_ERROR, decoded->status);
        struct sma_failure failure = {.trouble = SMA_FAILURE_EVENT,
                                      .llm = &llm,
                                      .http_status = 200,
                                      .retry_after_ms = -1,
                                      .error = decoded->error};
        struct sma_failure_verdict verdict;
        sma_failure_judge(&failure, &verdict);
        if (verdict.trouble != cases[i].trouble)
            fprintf(stderr, "  %s\n", cases[i].body);
        CHECK_INT(cases[i].trouble, verdict.trouble);
        CHECK(strstr(sma_failure_remedy(&failure), cases[i].remedy) != NULL);
        CHECK(decoded->error.message[0] != '\0');
        sma_decoder_destroy(decoder);
    }
}

CASES_MAIN
