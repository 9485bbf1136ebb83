/*
 * Aim: what providers say when they refuse is understood: what kind of failure it is, whether a
 *      repeat helps and when, which member is refused, how large the window is.
 * Method: bodies as the providers of protocols/models.md §6 send them.
 */
#include "runtime/model/retry.h"
#include "runtime/model/wire_part.h"
#include "support.h"

struct failure_case
{
    const char *provider; /* NULL = custom */
    int status;
    const char *body;
    enum sma_retry retry;
    enum sma_model_failure trouble;
    int64_t retry_after_ms; /* 0 = not compared */
    const char *member;
    uint64_t window;
};

static bool shows; /* the request held a picture */

#define TRANSIENT SMA_MODEL_FAILURE_TRANSIENT
#define RATE SMA_MODEL_FAILURE_RATE
#define QUOTA SMA_MODEL_FAILURE_QUOTA
#define AUTH SMA_MODEL_FAILURE_AUTH
#define NO_MODEL SMA_MODEL_FAILURE_NO_MODEL
#define MEMBER SMA_MODEL_FAILURE_MEMBER
#define SESSION SMA_MODEL_FAILURE_SESSION
#define REQUEST SMA_MODEL_FAILURE_REQUEST
#define SETUP SMA_MODEL_FAILURE_SETUP
#define NO SMA_RETRY_NO
#define YES SMA_RETRY_YES
#define SHORTEN SMA_RETRY_CONTEXT_LENGTH
#define ERROR(members) "{\"error\":{" members "}}"
#define SAID(text) ERROR("\"message\":\"" text "\"")
#define MONEY "You exceeded your current quota, please check your plan and billing details."

static struct sma_failure_verdict judge(const struct failure_case *wanted)
{
    static const char *const hosts[][2] = {
        {"gemini", "https://generativelanguage.googleapis.com/v1beta/openai"},
        {"dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1"},
        {"zhipu", "https://open.bigmodel.cn/api/paas/v4"},
        {"anthropic", "https://api.anthropic.com"},
        {"openai", "https://api.openai.com/v1"},
    };
    const char *provider = wanted->provider == NULL ? "custom" : wanted->provider;
    bool is_anthropic = strcmp(provider, "anthropic") == 0;
    struct sma_config_llm llm = test_llm(is_anthropic ? SMA_LLM_MESSAGES : SMA_LLM_CHAT, "custom");
    for (size_t i = 0; i < SMA_COUNT_OF(hosts); i++)
        if (strcmp(provider, hosts[i][0]) == 0)
            llm.base_url = hosts[i][1]; /* known by the host, as a "custom" one is */
    struct sma_failure failure = {
        .trouble = SMA_FAILURE_HTTP,
        .llm = &llm,
        .http_status = wanted->status,
        .retry_after_ms = -1,
        .wall_ms = 1795299420000, /* 2026-11-21 22:17:00 UTC */
        .has_files = shows,
    };
    sma_wire_error_parse(sma_str(wanted->body), &failure.error);
    struct sma_failure_verdict verdict;
    sma_failure_judge(&failure, &verdict);
    return verdict;
}

static void check_all(const struct failure_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct failure_case *wanted = &cases[i];
        struct sma_failure_verdict verdict = judge(wanted);
        if (verdict.retry != wanted->retry ||
            (wanted->retry != SHORTEN && verdict.trouble != wanted->trouble))
            fprintf(stderr, "  %d %s: member '%s'\n", wanted->status, wanted->body,
                    verdict.refused_member);
        CHECK_INT(wanted->retry, verdict.retry);
        if (wanted->retry != SHORTEN)
            CHECK_INT(wanted->trouble, verdict.trouble);
        CHECK_TEXT(wanted->member == NULL ? "" : wanted->member, verdict.refused_member);
        if (wanted->retry_after_ms != 0)
            CHECK_INT(wanted->retry_after_ms, verdict.retry_after_ms);
        CHECK_INT(wanted->window, verdict.window_tokens);
    }
}

/* Three providers, one sentence, three meanings. */
static void one_sentence_means_what_its_provider_means(void)
{
    static const struct failure_case cases[] = {
        {"openai", 429,
         ERROR("\"message\":\"" MONEY
               "\",\"type\":\"insufficient_quota\",\"code\":\"insufficient_quota\""),
         NO, QUOTA, 0, NULL, 0},
        {"dashscope", 429, ERROR("\"message\":\"" MONEY "\",\"code\":\"insufficient_quota\""), YES,
         RATE, 0, NULL, 0},
        {"gemini", 429,
         "[{\"error\":{\"code\":429,\"message\":\"" MONEY
         "\\nPlease retry in 30.638054576s.\",\"status\":\"RESOURCE_EXHAUSTED\","
         "\"details\":[{\"@type\":\"QuotaFailure\",\"violations\":[{\"quotaId\":"
         "\"GenerateRequestsPerMinutePerProject\"}]},{\"retryDelay\":\"30s\"}]}}]",
         YES, RATE, 30638, NULL, 0},
        {"gemini", 429,
         ERROR(
             "\"code\":429,\"message\":\"" MONEY
             " Please retry in 9.4s\",\"status\":\"RESOURCE_EXHAUSTED\","
             "\"details\":[{\"violations\":[{\"quotaId\":\"GenerateRequestsPerDayPerProject\"}]}]"),
         NO, QUOTA, -1, NULL, 0},
        {"gemini", 429, SAID(MONEY " * Quota exceeded for metric: x, limit: 0, model: y"), NO,
         QUOTA, 0, NULL, 0},
        {"gemini", 429, SAID(MONEY " * Quota exceeded for metric: x, limit: 05, model: y"), YES,
         RATE, 0, NULL, 0},
        {"gemini", 429,
         ERROR("\"message\":\"busy\",\"status\":\"RESOURCE_EXHAUSTED\",\"details\":[{"
               "\"retryDelay\":\"7s\"}]"),
         YES, RATE, 7000, NULL, 0},
    };
    check_all(cases, SMA_COUNT_OF(cases));
}

static void codes_of_providers_are_known(void)
{
    static const struct failure_case cases[] = {
        {"zhipu", 429, ERROR("\"code\":\"1302\",\"message\":\"x\""), YES, RATE, 0, NULL, 0},
        {"zhipu", 429, ERROR("\"code\":\"1312\",\"message\":\"x\""), YES, TRANSIENT, 0, NULL, 0},
        {"zhipu", 429, ERROR("\"code\":\"1113\",\"message\":\"x\""), NO, QUOTA, 0, NULL, 0},
        {"zhipu", 429,
         ERROR("\"code\":\"1308\",\"message\":\"Your limit will reset at 2026-11-22 07:17:00\""),
         NO, QUOTA, 3600000, NULL, 0},
        {"zhipu", 401, ERROR("\"code\":\"1000\",\"message\":\"x\""), NO, AUTH, 0, NULL, 0},
        {"zhipu", 400, ERROR("\"code\":\"1211\",\"message\":\"x\""), NO, NO_MODEL, 0, NULL, 0},
        {"zhipu", 400, ERROR("\"code\":\"1261\",\"message\":\"Prompt 超长\""), SHORTEN, REQUEST, 0,
         NULL, 0},
        {"zhipu", 400, ERROR("\"code\":\"1301\",\"message\":\"x\""), NO, REQUEST, 0, NULL, 0},
        {"zhipu", 400, ERROR("\"code\":\"1210\",\"message\":\"reasoning_effort 参数有误\""), NO,
         MEMBER, 0, "reasoning_effort", 0},
        {"zhipu", 400, ERROR("\"code\":\"1210\",\"message\":\"Tool choice must be auto\""), NO,
         MEMBER, 0, "tool_choice", 0},
        {"dashscope", 400, ERROR("\"code\":\"Arrearage\",\"message\":\"Access denied\""), NO, QUOTA,
         0, NULL, 0},
        {"dashscope", 403, ERROR("\"code\":\"AllocationQuota.FreeTierOnly\",\"message\":\"x\""), NO,
         QUOTA, 0, NULL, 0},
        {"dashscope", 429, ERROR("\"code\":\"Throttling.AllocationQuota\",\"message\":\"x\""), YES,
         RATE, 0, NULL, 0},
        {"dashscope", 400,
         SAID("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, "
              "98304]"),
         SHORTEN, REQUEST, 0, NULL, 98304},
        {"anthropic", 429,
         "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"x\","
         "\"details\":{\"error_code\":\"enforced_spend_limit_reached\"}}}",
         NO, QUOTA, 0, NULL, 0},
        {"anthropic", 429,
         "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"x\"}}", NO,
         RATE, 0, NULL, 0},
        {"anthropic", 400,
         "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Your "
         "credit balance is too low\"}}",
         NO, QUOTA, 0, NULL, 0},
        {"anthropic", 404,
         "{\"type\":\"error\",\"error\":{\"type\":\"not_found_error\",\"message\":\"model: "
         "claude-sonnet-4-20250514\"}}",
         NO, NO_MODEL, 0, NULL, 0},
        {"anthropic", 400,
         "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt "
         "is too long: 212000 tokens > 200000 maximum\"}}",
         SHORTEN, REQUEST, 0, NULL, 200000},
        {"anthropic", 400,
         "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input "
         "length and `max_tokens` exceed context limit: 190000 + 64000 > 200000, decrease\"}}",
         SHORTEN, REQUEST, 0, NULL, 200000},
        {NULL, 403,
         ERROR("\"type\":\"exceeded_current_quota_error\",\"message\":\"suspended due to "
               "insufficient balance\""),
         NO, QUOTA, 0, NULL, 0},
        {NULL, 429,
         ERROR("\"type\":\"engine_overloaded_error\",\"message\":\"The engine is currently "
               "overloaded\""),
         YES, RATE, 0, NULL, 0},
        {NULL, 429,
         ERROR("\"type\":\"rate_limit_reached_error\",\"message\":\"max RPM: 3, please try again "
               "after 1 seconds\""),
         YES, RATE, 1000, NULL, 0},
        {NULL, 429,
         ERROR("\"type\":\"rate_limit_reached_error\",\"message\":\"request reached TPD rate "
               "limit\""),
         NO, QUOTA, 0, NULL, 0},
        {NULL, 402, ERROR("\"code\":402,\"message\":\"This request requires more credits\""), NO,
         QUOTA, 0, NULL, 0},
        {NULL, 403, SAID("Key limit exceeded (total limit)"), NO, QUOTA, 0, NULL, 0},
        {NULL, 429,
         ERROR("\"code\":429,\"message\":\"Rate limit exceeded: "
               "free-models-per-day\",\"metadata\":{\"headers\":{\"X-RateLimit-Reset\":"
               "\"1795303020000\"}}"),
         NO, QUOTA, 3600000, NULL, 0},
        {NULL, 400,
         "{\"error\":{\"message\":\"Model Not Exist\",\"type\":\"invalid_request_error\"}}", NO,
         NO_MODEL, 0, NULL, 0},
        {NULL, 404, "{\"error\":\"model 'x' not found\"}", NO, NO_MODEL, 0, NULL, 0},
        {NULL, 404, "<html><title>404 Not Found</title>", NO, SETUP, 0, NULL, 0},
        {NULL, 400, SAID("API key not valid. Please pass a valid API key."), NO, AUTH, 0, NULL, 0},
        {NULL, 400,
         ERROR("\"code\":\"content_filter\",\"message\":\"The response was filtered due to the "
               "prompt triggering Azure's content management policy\""),
         NO, REQUEST, 0, NULL, 0},
        /* OpenRouter's moderation: it is no trouble of the key, which all chats use */
        {NULL, 403,
         ERROR(
             "\"code\":403,\"message\":\"a/b requires moderation on B. Your input was flagged for "
             "\\\"violence\\\". No credits were charged.\""),
         NO, REQUEST, 0, NULL, 0},
        {NULL, 405, "", NO, SETUP, 0, NULL, 0},
        {NULL, 418, "", NO, REQUEST, 0, NULL, 0},
        {NULL, 503, "{\"error\":{\"message\":\"Loading model\",\"code\":503}}", YES, TRANSIENT, 0,
         NULL, 0},
    };
    check_all(cases, SMA_COUNT_OF(cases));
}

static void refused_members_are_named(void)
{
    static const struct failure_case cases[] = {
        {"openai", 400,
         ERROR("\"message\":\"Unsupported parameter: 'max_tokens' is not supported with this "
               "model. Use 'max_completion_tokens' "
               "instead.\",\"param\":\"max_tokens\",\"code\":\"unsupported_parameter\""),
         NO, MEMBER, 0, "max_tokens", 0},
        {"openai", 400,
         ERROR("\"message\":\"Unsupported value: 'temperature' does not support 0.7 with this "
               "model.\",\"param\":\"temperature\""),
         NO, MEMBER, 0, "temperature", 0},
        {"openai", 400,
         SAID("Unsupported value: 'reasoning.effort' does not support 'max' with the 'x' model. "
              "Supported values are: 'low'."),
         NO, MEMBER, 0, "reasoning.effort", 0},
        {"openai", 400,
         ERROR(
             "\"message\":\"Encrypted content is not supported with this model.\",\"param\":null"),
         NO, MEMBER, 0, "include", 0},
        {"openai", 400,
         ERROR("\"message\":\"Function tools with reasoning_effort are not supported for gpt-5.6 "
               "in /v1/chat/completions.\",\"param\":\"reasoning_effort\""),
         NO, MEMBER, 0, "reasoning_effort", 0},
        {"openai", 400,
         ERROR("\"message\":\"Unrecognized request argument supplied: prompt_cache_options\""), NO,
         MEMBER, 0, "prompt_cache_options", 0},
        {"openai", 400,
         ERROR("\"message\":\"Missing required parameter: 'messages'.\",\"param\":\"messages\""),
         NO, SESSION, 0, NULL, 0},
        {"anthropic", 400, SAID("temperature: Extra inputs are not permitted"), NO, MEMBER, 0,
         "temperature", 0},
        {"anthropic", 400, SAID("`temperature` is deprecated for this model."), NO, MEMBER, 0,
         "temperature", 0},
        {"anthropic", 400,
         SAID("`temperature` and `top_p` cannot both be specified for this model. Please use only "
              "one."),
         NO, MEMBER, 0, "top_p", 0},
        {"anthropic", 400, SAID("output_config.effort: Input should be 'low'"), NO, MEMBER, 0,
         "output_config.effort", 0},
        {"anthropic", 400, SAID("adaptive thinking is not supported on this model"), NO, MEMBER, 0,
         "thinking", 0},
        {"anthropic", 400, SAID("This model does not support the effort parameter."), NO, MEMBER, 0,
         "output_config.effort", 0},
        {"gemini", 400,
         "[" SAID("Invalid JSON payload received. Unknown name \\\"frequency_penalty\\\": Cannot "
                  "find field.") "]",
         NO, MEMBER, 0, "frequency_penalty", 0},
        {NULL, 422,
         "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"prompt_cache_key\"],"
         "\"msg\":\"Extra inputs are not permitted\"}]}",
         NO, MEMBER, 0, "prompt_cache_key", 0},
        {NULL, 400, SAID("property 'service_tier' is unsupported"), NO, MEMBER, 0, "service_tier",
         0},
        {NULL, 400, SAID("json: unknown field \\\"stream_options\\\""), NO, MEMBER, 0,
         "stream_options", 0},
        {NULL, 400, SAID("Thinking mode does not support this tool_choice"), NO, MEMBER, 0,
         "tool_choice", 0},
        {NULL, 400, SAID("The value of the enable_thinking parameter is restricted to True."), NO,
         MEMBER, 0, "enable_thinking", 0},
        {NULL, 400,
         ERROR("\"message\":\"Provider returned "
               "error\",\"code\":400,\"metadata\":{\"raw\":\"{\\\"error\\\":{\\\"message\\\":"
               "\\\"Unsupported parameter: 'top_p'\\\"}}\"}"),
         NO, MEMBER, 0, "top_p", 0},
        {NULL, 400,
         ERROR("\"message\":\"Invalid schema for function "
               "'f'\",\"param\":\"tools[0].function.parameters\""),
         NO, REQUEST, 0, NULL, 0},
    };
    check_all(cases, SMA_COUNT_OF(cases));
}

static void what_the_conversation_is_refused_for_is_known(void)
{
    static const struct failure_case cases[] = {
        {"anthropic", 400,
         SAID("messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound "
              "to a different conversation."),
         NO, SESSION, 0, NULL, 0},
        {NULL, 400,
         SAID("The reasoning_content in the thinking mode must be passed back to the API."), NO,
         SESSION, 0, NULL, 0},
        {NULL, 400,
         SAID(
             "thinking is enabled but reasoning_content is missing in assistant tool call message"),
         NO, SESSION, 0, NULL, 0},
        {"gemini", 400,
         "[" SAID("Function call is missing a thought_signature in functionCall parts.") "]", NO,
         SESSION, 0, NULL, 0},
        {"gemini", 400, SAID("Corrupted thought signature."), NO, SESSION, 0, NULL, 0},
        {"openai", 400, SAID("No tool output found for function call call_1."), NO, SESSION, 0,
         NULL, 0},
        {"openai", 400,
         SAID("Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' "
              "item: 'rs_1'."),
         NO, SESSION, 0, NULL, 0},
        {"openai", 400,
         ERROR("\"message\":\"The encrypted content gAAA could not be "
               "verified.\",\"code\":\"invalid_encrypted_content\""),
         NO, SESSION, 0, NULL, 0},
        {"anthropic", 400,
         SAID("messages.3.content.1.image.source.base64: image exceeds 5 MB maximum: 6 bytes > "
              "5242880 bytes"),
         NO, SESSION, 0, NULL, 0},
        {NULL, 400,
         SAID("'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : "
              "property 'reasoning_content' is unsupported)]"),
         NO, SESSION, 0, NULL, 0},
        {NULL, 400, SAID("something else"), NO, SESSION, 0, NULL, 0},
    };
    check_all(cases, SMA_COUNT_OF(cases));
}

static void the_window_is_learned_from_overflows(void)
{
    static const struct failure_case cases[] = {
        {NULL, 400,
         ERROR("\"code\":400,\"message\":\"the request exceeds the available context "
               "size\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":9000,\"n_ctx\":"
               "8192"),
         SHORTEN, REQUEST, 0, NULL, 8192},
        {NULL, 400,
         "{\"object\":\"error\",\"message\":\"This model's maximum context length is 32,768 "
         "tokens. However, you requested 40000 tokens (39000 in the messages, 1000 in the "
         "completion).\",\"code\":400}",
         SHORTEN, REQUEST, 0, NULL, 32768},
        {"gemini", 400,
         "[" SAID("The input token count (1048577) exceeds the maximum number of tokens allowed "
                  "(1048576).") "]",
         SHORTEN, REQUEST, 0, NULL, 1048576},
        {NULL, 400, SAID("Your request exceeded model token limit: 262144 (requested: 300000)"),
         SHORTEN, REQUEST, 0, NULL, 262144},
        {NULL, 413,
         ERROR("\"message\":\"Request too large for model `x` on tokens per minute (TPM): Limit "
               "6000, Requested 7000, please reduce your message "
               "size\",\"code\":\"rate_limit_exceeded\""),
         SHORTEN, REQUEST, 0, NULL, 6000},
        {NULL, 429,
         ERROR("\"message\":\"Rate limit reached on tokens per min (TPM): Limit 30000, Used 25000, "
               "Requested 7000. Please try again in 4s.\",\"code\":\"rate_limit_exceeded\""),
         YES, RATE, 4000, NULL, 0},
        {NULL, 413, "<html><title>413 Request Entity Too Large</title>", SHORTEN, REQUEST, 0, NULL,
         0},
    };
    check_all(cases, SMA_COUNT_OF(cases));
}

static void waits_are_found_in_bodies_of_every_shape(void)
{
    static const struct failure_case cases[] = {
        {NULL, 429, SAID("Please try again in 6m0s."), NO, RATE, 360000, NULL, 0},
        {NULL, 429, SAID("Please try again in 20ms."), YES, RATE, 20, NULL, 0},
        {NULL, 429, SAID("Please try again in 1.5s."), YES, RATE, 1500, NULL, 0},
        {NULL, 429, SAID("try again after 2 seconds"), YES, RATE, 2000, NULL, 0},
        {NULL, 429, SAID("try again in 1h2m"), NO, RATE, 3720000, NULL, 0},
        {NULL, 429, ERROR("\"message\":\"x\",\"retry_after\":2.5"), YES, RATE, 2500, NULL, 0},
        {NULL, 429,
         ERROR("\"type\":\"usage_limit_reached\",\"message\":\"x\",\"resets_in_seconds\":7200"), NO,
         QUOTA, 7200000, NULL, 0},
        {NULL, 503, SAID("Please retry in 3s"), YES, TRANSIENT, 3000, NULL, 0},
    };
    check_all(cases, SMA_COUNT_OF(cases));
}

static void long_waits_are_reported_not_slept(void)
{
    struct sma_failure failure = {
        .trouble = SMA_FAILURE_HTTP, .http_status = 429, .retry_after_ms = 65000};
    struct sma_failure_verdict verdict;
    sma_failure_judge(&failure, &verdict);
    CHECK_INT(NO, verdict.retry);
    CHECK_INT(RATE, verdict.trouble);
    CHECK_INT(65000, verdict.retry_after_ms);
    failure.retry_after_ms = 60000;
    sma_failure_judge(&failure, &verdict);
    CHECK_INT(YES, verdict.retry);
}

static void the_header_that_tells_to_repeat_wins(void)
{
    struct sma_failure failure = {.trouble = SMA_FAILURE_HTTP,
                                  .http_status = 503,
                                  .retry_after_ms = -1,
                                  .has_should_retry = true};
    struct sma_failure_verdict verdict;
    sma_failure_judge(&failure, &verdict);
    CHECK_INT(NO, verdict.retry);
    failure.http_status = 400;
    failure.should_retry = true;
    sma_failure_judge(&failure, &verdict);
    CHECK_INT(YES, verdict.retry);
    CHECK_INT(TRANSIENT, verdict.trouble);
    snprintf(failure.error.code, sizeof failure.error.code, "context_length_exceeded");
    failure.should_retry = false;
    sma_failure_judge(&failure, &verdict);
    CHECK_INT(SHORTEN, verdict.retry);
}

static void our_own_side_is_not_repeated(void)
{
    static const struct
    {
        enum sma_failure_cause trouble;
        enum sma_retry retry;
        enum sma_model_failure wanted;
    } cases[] = {
        {SMA_FAILURE_SETUP, NO, SETUP},        {SMA_FAILURE_NOMEM, NO, SETUP},
        {SMA_FAILURE_TOOBIG, NO, REQUEST},     {SMA_FAILURE_UNREACHABLE, YES, TRANSIENT},
        {SMA_FAILURE_SILENT, YES, TRANSIENT},  {SMA_FAILURE_TRUNCATED, YES, TRANSIENT},
        {SMA_FAILURE_GARBAGE, YES, TRANSIENT},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_failure failure = {.trouble = cases[i].trouble, .retry_after_ms = -1};
        struct sma_failure_verdict verdict;
        sma_failure_judge(&failure, &verdict);
        CHECK_INT(cases[i].retry, verdict.retry);
        CHECK_INT(cases[i].wanted, verdict.trouble);
    }
}

static void resets_in_headers_are_read(void)
{
    static const struct
    {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"6m0s", 360000},
        {"120ms", 120},
        {"1.5s", 1500},
        {"1.5", 1500},
        {"1h", 3600000},
        {"1795299430", 10000},
        {"1795299430000", 10000},
        {"2026-11-21T22:17:30Z", 30000},
        {"2026-11-21T22:16:30Z", 0},
        {"", -1},
        {"soon", -1},
        {"-1", -1},
        {"nan", -1},
        {"6x", -1},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++)
        CHECK_INT(cases[i].ms, sma_retry_reset_parse(sma_str(cases[i].text), 1795299420000));
}

#define PICTURE NO, SMA_MODEL_FAILURE_PICTURE, 0
/* Of a request that shows something; the same words about another request are about that. */
static void refusals_of_pictures_are_told_apart(void)
{
    static const struct failure_case cases[] = {
        {"anthropic", 400,
         ERROR("\"type\":\"invalid_request_error\",\"message\":\"messages.0.content.0.image.source."
               "base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes\""),
         PICTURE, "", 0},
        {"anthropic", 400, ERROR("\"type\":\"image_dimensions_too_large\",\"message\":\"no\""),
         PICTURE, "", 0},
        {"anthropic", 400,
         SAID(
             "The image was specified using the image/jpeg media type, but the image appears to be "
             "a image/png image"),
         PICTURE, "", 0},
        {"openai", 400, ERROR("\"code\":\"invalid_image_url\",\"message\":\"bad\""), PICTURE, "",
         0},
        {NULL, 400, SAID("Too many images in request: 31 > 30"), PICTURE, SMA_PARTS_TOO_MANY, 0},
        {"dashscope", 400, SAID("Exceeded limit on max bytes per data-uri item : 10485760"),
         PICTURE, "", 0},
        {"zhipu", 400, ERROR("\"code\":\"1210\",\"message\":\"图片输入格式/解析错误\""), PICTURE,
         SMA_REFUSES_DATA_URLS, 0},
        {NULL, 400,
         SAID("Failed to deserialize the JSON body: messages[0]: unknown variant `image_url`, "
              "expected `text`"),
         PICTURE, SMA_REFUSES_IMAGES, 0},
        {NULL, 404, SAID("No endpoints found that support image input"), PICTURE,
         SMA_REFUSES_IMAGES, 0},
        {NULL, 400, SAID("file inputs are not supported"), PICTURE, SMA_REFUSES_DOCUMENTS, 0},
        {NULL, 400, SAID("this model does not support audio"), PICTURE, SMA_REFUSES_AUDIO, 0},
        {NULL, 503, SAID("image service unavailable"), YES, TRANSIENT, 0, "", 0},
        /* the conversation is too long: the pictures are only named */
        {"vllm", 400,
         SAID("The decoder prompt (length 9000) is longer than the maximum model length of 8192. "
              "Make sure that `max_model_len` is no smaller than the number of text tokens plus "
              "multimodal tokens. For image inputs, the number of image tokens depends on the "
              "number of images and their aspect ratios as well."),
         SHORTEN, REQUEST, 0, "", 8192},
        {NULL, 400,
         ERROR("\"code\":\"context_length_exceeded\",\"message\":\"This model's maximum context "
               "length is 128000 tokens, image_url parts included\""),
         SHORTEN, REQUEST, 0, "", 128000},
    };
    static const struct failure_case others[] = {
        {NULL, 400, SAID("image exceeds 5 MB maximum"), NO, SESSION, 0, "", 0},
        {NULL, 503, SAID("image service unavailable"), YES, TRANSIENT, 0, "", 0},
    };
    shows = true;
    check_all(cases, SMA_COUNT_OF(cases));
    shows = false;
    check_all(others, SMA_COUNT_OF(others));
}

int main(void)
{
    RUN(one_sentence_means_what_its_provider_means);
    RUN(codes_of_providers_are_known);
    RUN(refused_members_are_named);
    RUN(what_the_conversation_is_refused_for_is_known);
    RUN(the_window_is_learned_from_overflows);
    RUN(waits_are_found_in_bodies_of_every_shape);
    RUN(long_waits_are_reported_not_slept);
    RUN(the_header_that_tells_to_repeat_wins);
    RUN(refusals_of_pictures_are_told_apart);
    RUN(our_own_side_is_not_repeated);
    RUN(resets_in_headers_are_read);
    return check_summary();
}
