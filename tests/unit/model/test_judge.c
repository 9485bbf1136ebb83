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
#define EXTRA(place)                                            \
    "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":" place \
    ",\"msg\":\"Extra inputs are not permitted\",\"input\":\"x\"}]}"
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
CASE(one_sentence_means_what_its_provider_means)
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

CASE(codes_of_providers_are_known)
{
    static const struct failure_case cases[] = {
#include "judge_rows.h"
    };
    check_all(cases, SMA_COUNT_OF(cases));
}

CASE(refused_members_are_named)
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

/* What a server does not take is told in its words, whatever the status. */
CASE(refused_forms_are_known)
{
    static const struct
    {
        int status;
        const char *body, *form;
    } cases[] = {
        {422,
         "{\"detail\":[{\"type\":\"string_type\",\"loc\":[\"body\",\"messages\",1,\"content\"],"
         "\"msg\":\"Input should be a valid string\",\"input\":[{\"type\":\"text\"}]}]}",
         "content.lists"},
        {400, SAID("messages[1].content: invalid type: sequence, expected a string at line 1"),
         "content.lists"},
        {400, SAID("json: cannot unmarshal array into Go struct field .content of type string"),
         "content.lists"},
        {400, SAID("message content must be a string"), "content.lists"},
        {500, SAID("[json.exception.type_error.302] type must be string, but is array"),
         "content.lists"},
        {422,
         "{\"detail\":[{\"loc\":[\"body\",\"messages\",2,\"content\"],\"msg\":\"Input should be a "
         "valid string\",\"input\":null}]}",
         "content.null"},
        {400, SAID("messages[3].content: invalid type: null, expected a string"), "content.null"},
        {400, SAID("System role not supported"), "role.system"},
        {500, SAID("Jinja Exception: System role not supported"), "role.system"},
        {400, SAID("Developer instruction is not enabled for models/gemma-3-27b-it"),
         "role.system"},
        {400, SAID("Conversation roles must alternate user/assistant/user/assistant/..."),
         "role.system"},
        {400, "{\"error\":\"registry.ollama.ai/library/gemma:2b does not support tools\"}",
         "request.tools"},
        {400,
         SAID("\\\"auto\\\" tool choice requires --enable-auto-tool-choice and "
              "--tool-call-parser to be set"),
         "request.tools"},
        {500, SAID("tools param requires --jinja flag"), "request.tools"},
        {404, SAID("No endpoints found that support tool use."), "request.tools"},
        {400, SAID("Function calling is not enabled for models/x"), "request.tools"},
        {400, SAID("该模型不支持工具调用"), "request.tools"},
        {400, SAID("Streaming is not supported by this model"), "request.stream"},
        {400, SAID("messages.2.reasoning_content: Extra inputs are not permitted"),
         "content.no_reasoning"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct failure_case wanted = {
            NULL, cases[i].status, cases[i].body, NO, MEMBER, 0, cases[i].form, 0};
        check_all(&wanted, 1);
    }
    struct failure_case unknown = {NULL, 400, SAID("something else"), NO, SESSION, 0, NULL, 0};
    CHECK(judge(&unknown).is_unexplained);
    unknown.body = SAID("Corrupted thought signature.");
    CHECK(!judge(&unknown).is_unexplained);
}

/* One fact in many words, of a 400, 413, 422 or an error inside a 200. */
CASE(a_full_window_is_known_in_any_words)
{
    static const struct
    {
        int status;
        const char *said;
        uint64_t window;
    } cases[] = {
        {400, "prompt token count of 130123 exceeds the limit of 128000", 128000},
        {400, "length of prompt_tokens (9000) must be less than max_seq_len (8192).", 8192},
        {422, "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000", 4097},
        {400, "Total tokens of image and text exceed max message tokens", 0},
        {400, "Requested token count exceeds the model's maximum context length of 32768 tokens",
         32768},
        {400, "the input is too large for the model's sequence length", 0},
        {400, "Your conversation is too long for this model", 0},
        {400, "This request has too many input tokens for the selected deployment", 0},
        {400, "输入的token数量超过上限", 0},
        {400, "对话长度过长,请减少后重试", 0},
        {400, "input text length greater than 20000", 0},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char body[512];
        snprintf(body, sizeof body, "{\"error\":{\"message\":\"%s\"}}", cases[i].said);
        struct failure_case wanted = {NULL, cases[i].status, body, SHORTEN, REQUEST, 0,
                                      NULL, cases[i].window};
        check_all(&wanted, 1);
    }
    static const char *const others[] = {
        "max_tokens is too large: 100000. This model supports at most 4096 completion tokens",
        "temperature: Input should be less than or equal to 2",
        "Invalid schema for function 'f': tokens exceed", "something else"};
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++) {
        char body[512];
        snprintf(body, sizeof body, "{\"error\":{\"message\":\"%s\"}}", others[i]);
        struct failure_case other = {.status = 400, .body = body};
        CHECK(judge(&other).retry != SHORTEN);
    }
}

/* Servers that answer 200 to everything: by number and words as a 400 would be. */
CASE(errors_inside_a_200_are_known)
{
    static const struct
    {
        const char *body;
        enum sma_retry retry;
        enum sma_model_failure trouble;
    } cases[] = {
        {"{\"choices\":null,\"base_resp\":{\"status_code\":1008,\"status_msg\":\"insufficient "
         "balance\"}}",
         NO, QUOTA},
        {"{\"choices\":null,\"base_resp\":{\"status_code\":1004,\"status_msg\":\"login\"}}", NO,
         AUTH},
        {"{\"base_resp\":{\"status_code\":1002,\"status_msg\":\"rate limit\"}}", YES, RATE},
        {"{\"code\":\"InvalidApiKey\",\"message\":\"Invalid API-key provided.\"}", NO, AUTH},
        {"{\"code\":30001,\"message\":\"account balance is insufficient\",\"data\":null}", NO,
         QUOTA},
        {"{\"error_code\":336103,\"error_msg\":\"the max input characters is 4000, prompt too "
         "long\"}",
         SHORTEN, REQUEST},
        {"{\"code\":10907,\"message\":\"token number exceeds the upper limit\",\"sid\":\"x\"}",
         SHORTEN, REQUEST},
        {"{\"success\":false,\"msg\":\"account in arrears\"}", NO, QUOTA},
        {"{\"status\":429,\"message\":\"slow\"}", YES, RATE},
        {"{\"code\":\"Throttling\",\"message\":\"Too many requests\"}", YES, RATE},
        {"{\"code\":20012,\"message\":\"Model does not exist\"}", NO, NO_MODEL},
        {"{\"status\":\"error\",\"message\":\"服务繁忙\"}", YES, TRANSIENT},
    };
    static const enum sma_llm_api apis[] = {SMA_LLM_CHAT, SMA_LLM_MESSAGES, SMA_LLM_RESPONSES};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++)
        for (size_t k = 0; k < 2 * SMA_COUNT_OF(apis); k++) {
            struct sma_config_llm llm = test_llm(apis[k / 2], "custom");
            struct sma_decoder *decoder = sma_decoder_create(&llm);
            struct sma_buf body;
            sma_buf_init(&body, 4096);
            sma_buf_printf(&body, k % 2 == 0 ? "%s" : "data: %s\n\n", cases[i].body);
            sma_decoder_reset(decoder, 1);
            sma_decoder_feed(decoder, body.ptr, body.len);
            const struct sma_decoded *decoded = sma_decoder_finish(decoder);
            CHECK_INT(SMA_DECODED_ERROR, decoded->status);
            struct sma_failure failure = {.trouble = SMA_FAILURE_EVENT,
                                          .llm = &llm,
                                          .http_status = 200,
                                          .retry_after_ms = -1,
                                          .error = decoded->error};
            struct sma_failure_verdict verdict;
            sma_failure_judge(&failure, &verdict);
            if (verdict.retry != cases[i].retry ||
                (cases[i].retry != SHORTEN && verdict.trouble != cases[i].trouble))
                fprintf(stderr, "  %s\n", cases[i].body);
            CHECK_INT(cases[i].retry, verdict.retry);
            if (cases[i].retry != SHORTEN)
                CHECK_INT(cases[i].trouble, verdict.trouble);
            sma_buf_fini(&body);
            sma_decoder_destroy(decoder);
        }
}

CASE(what_the_model_wrote_wrongly_is_chance)
{
    struct failure_case groq = {
        NULL,
        400,
        ERROR("\"message\":\"Failed to call a function. Please adjust your prompt.\",\"type\":"
              "\"invalid_request_error\",\"code\":\"tool_use_failed\",\"failed_generation\":\"x\""),
        YES,
        TRANSIENT,
        0,
        NULL,
        0};
    check_all(&groq, 1);
    CHECK_INT(2, judge(&groq).repeat_max);
}

CASE(what_the_conversation_is_refused_for_is_known)
{
    static const struct failure_case cases[] = {
        {"anthropic", 400,
         SAID("messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound "
              "to a different conversation."),
         NO, SESSION, 0, NULL, 0},
        {NULL, 400,
         SAID("The reasoning_content in the thinking mode must be passed back to the API."), NO,
         MEMBER, 0, "content.reasoning", 0},
        {NULL, 400,
         SAID(
             "thinking is enabled but reasoning_content is missing in assistant tool call message"),
         NO, MEMBER, 0, "content.reasoning", 0},
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
         NO, MEMBER, 0, "content.no_reasoning", 0},
        {NULL, 400, SAID("something else"), NO, SESSION, 0, NULL, 0},
    };
    check_all(cases, SMA_COUNT_OF(cases));
}

CASE(the_window_is_learned_from_overflows)
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

CASE(waits_are_found_in_bodies_of_every_shape)
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

CASE(long_waits_are_reported_not_slept)
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

CASE(the_header_that_tells_to_repeat_wins)
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

CASE(our_own_side_is_not_repeated)
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

CASE(resets_in_headers_are_read)
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
CASE(refusals_of_pictures_are_told_apart)
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
        {NULL, 500, SAID("image input is not supported - hint: you may need to provide the mmproj"),
         NO, SMA_MODEL_FAILURE_PICTURE, 0, SMA_REFUSES_IMAGES, 0},
        {NULL, 500, SAID("Multimodal is not implemented for this model"), PICTURE,
         SMA_REFUSES_IMAGES, 0},
        {NULL, 501, SAID("Image input not implemented"), PICTURE, SMA_REFUSES_IMAGES, 0},
        {NULL, 500, SAID("vision is not implemented yet"), PICTURE, SMA_REFUSES_IMAGES, 0},
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

/* What a server of tools offers is refused: the request says which one that is. */
CASE(a_tool_that_is_refused_is_found)
{
    static const char chat[] =
        "[{\"type\":\"function\",\"function\":{\"name\":\"exec_shell\",\"parameters\":{\"type\":"
        "\"object\",\"properties\":{\"command\":{\"type\":\"string\"}}}}},"
        "{\"type\":\"function\",\"function\":{\"name\":\"docs__Fetch\",\"parameters\":{\"type\":"
        "\"object\",\"properties\":{\"pages\":{\"type\":\"array\"}}}}},"
        "{\"type\":\"function\",\"function\":{\"name\":\"docs__fetch_all\",\"parameters\":{"
        "\"type\":"
        "\"object\",\"properties\":{\"depth\":{\"exclusiveMinimum\":0}}}}}]";
    static const char flat[] = "[{\"name\":\"a\",\"input_schema\":{}},{\"name\":\"b\","
                               "\"input_schema\":{\"prefixItems\":[]}}]";
    static const struct
    {
        const char *tools;
        int status;
        const char *body, *member;
    } cases[] = {
        /* OpenAI */
        {chat, 400,
         ERROR(
             "\"message\":\"Invalid schema for function 'docs__Fetch': In context=('properties', "
             "'pages'), array schema missing items.\",\"type\":\"invalid_request_error\","
             "\"param\":\"tools[1].function.parameters\",\"code\":\"invalid_function_parameters\""),
         "tool.docs__Fetch"},
        {chat, 400, SAID("Invalid schema for function 'docs__fetch_all': bad"),
         "tool.docs__fetch_all"},
        /* Anthropic */
        {flat, 400,
         ERROR("\"type\":\"invalid_request_error\",\"message\":\"tools.1.custom.input_schema: JSON "
               "schema is invalid. It must match JSON Schema draft 2020-12\""),
         "tool.b"},
        /* Google: its list inside the first of ours */
        {chat, 400,
         SAID("* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties["
              "pages].items: missing field."),
         "tool.docs__Fetch"},
        /* pydantic */
        {chat, 422,
         "{\"detail\":[{\"loc\":[\"body\",\"tools\",2,\"function\",\"parameters\"],\"msg\":\"Input "
         "should be a valid dictionary\"}]}",
         "tool.docs__fetch_all"},
        /* Moonshot, llama.cpp: the words of the schema alone */
        {chat, 400,
         SAID(
             "tools.function.parameters is not a valid moonshot flavored json schema, details: <At "
             "path 'properties.pages': items are missing>"),
         "tool.docs__Fetch"},
        {chat, 500, SAID("JSON schema conversion failed: unsupported 'exclusiveMinimum'"),
         "tool.docs__fetch_all"},
        {flat, 400, SAID("schema keyword `prefixItems` is unknown"), "tool.b"},
        /* none of them alone, though the body quotes them all */
        {chat, 422,
         "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"tools\"],\"msg\":\"Extra "
         "inputs "
         "are not permitted\",\"input\":[{\"function\":{\"name\":\"exec_shell\"}}]}]}",
         "request.tools"},
        {chat, 422,
         "{\"detail\":[{\"type\":\"missing\",\"loc\":[\"body\",\"tools\",0,\"function\"],\"msg\":"
         "\"Field required\"}]}",
         "request.tools"},
        {chat, 400, SAID("tools[7].function.parameters: invalid"), ""},
        {chat, 400, SAID("the schema has a 'type' that is unknown"), ""},
        {chat, 400, SAID("'tools' has too many tools: 3, at most 1"), ""},
        {chat, 500, SAID("internal error in tool docs__Fetch"), ""},
        {flat, 400, SAID("a tool or b tool may be wrong"), ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_config_llm llm = test_llm(SMA_LLM_CHAT, "custom");
        struct sma_failure failure = {.trouble = SMA_FAILURE_HTTP,
                                      .llm = &llm,
                                      .http_status = cases[i].status,
                                      .retry_after_ms = -1,
                                      .tools = sma_str(cases[i].tools)};
        struct sma_failure_verdict verdict;
        sma_wire_error_parse(sma_str(cases[i].body), &failure.error);
        sma_failure_judge(&failure, &verdict);
        CHECK_TEXT(cases[i].member, verdict.refused_member);
        if (cases[i].member[0] != '\0')
            CHECK_INT(MEMBER, verdict.trouble);
    }
}

/* What names its place, or refuses under the status of a broken server: it will not pass. */
CASE(a_refusal_counts_whatever_its_place_and_status)
{
    static const struct failure_case cases[] = {
        {NULL, 422, EXTRA("[\"body\",\"tools\"]"), NO, MEMBER, 0, "request.tools", 0},
        {NULL, 422,
         "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"tools\"],\"msg\":\"Extra "
         "inputs are not permitted\"},{\"type\":\"extra_forbidden\",\"loc\":[\"body\","
         "\"stream_options\"],\"msg\":\"Extra inputs are not permitted\"}]}",
         NO, MEMBER, 0, "request.tools", 0},
        {NULL, 422, EXTRA("[\"body\",\"stream_options\"]"), NO, MEMBER, 0, "stream_options", 0},
        {NULL, 422, "{\"object\":\"error\",\"message\":" EXTRA("[\"body\",\"tools\"]") "}", NO,
         MEMBER, 0, "request.tools", 0},
        {NULL, 500, SAID("Jinja Exception: Only user and assistant roles are supported!"), NO,
         MEMBER, 0, "role.system", 0},
        {NULL, 500,
         SAID("Value is not callable: null at row 1, column 72: raise_exception('tool role')"), NO,
         SESSION, 0, NULL, 0},
        {NULL, 500, SAID("Unsupported parameter: 'temperature'"), NO, MEMBER, 0, "temperature", 0},
        {NULL, 500, SAID("internal error"), YES, TRANSIENT, 0, NULL, 0},
        {NULL, 400,
         ERROR("\"message\":\"Invalid 'messages[2].tool_calls[0].id': string too long. Expected a "
               "string with maximum length 40, but got a string with length 58 instead.\","
               "\"param\":\"messages[2].tool_calls[0].id\",\"code\":\"string_above_max_length\""),
         NO, SESSION, 0, NULL, 0},
        {NULL, 400,
         SAID("Invalid 'messages[1].content': string too long. Expected a string with maximum "
              "length 10485760"),
         SHORTEN, REQUEST, 0, NULL, 0},
        {NULL, 500, SAID("input is too large to process. increase the physical batch size"),
         SHORTEN, REQUEST, 0, NULL, 0},
        {NULL, 405, "Method Not Allowed", NO, SETUP, 0, NULL, 0},
    };
    static const struct failure_case pictures[] = {
        {NULL, 501, "{\"error\":\"Multimodal is not implemented\"}", PICTURE, SMA_REFUSES_IMAGES,
         0},
        {NULL, 500, SAID("image input is not implemented"), PICTURE, SMA_REFUSES_IMAGES, 0},
    };
    check_all(cases, SMA_COUNT_OF(cases));
    shows = true;
    check_all(pictures, SMA_COUNT_OF(pictures));
    shows = false;
}

/* The address of a web interface, not of an API. A page with status 200 may be a gateway's for a
 * moment, so it is asked for again first. */
CASE(an_address_that_is_no_api_is_named)
{
    static const struct
    {
        int status;
        const char *body;
        enum sma_retry retry;
    } cases[] = {{200, "<!doctype html><title>Open WebUI</title>", YES},
                 {405, "Method Not Allowed", NO}};
    struct sma_config_llm llm = test_llm(SMA_LLM_CHAT, "custom");
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_failure failure = {.trouble = SMA_FAILURE_HTTP,
                                      .llm = &llm,
                                      .http_status = cases[i].status,
                                      .retry_after_ms = -1};
        struct sma_decoder *decoder = sma_decoder_create(&llm);
        sma_decoder_feed(decoder, cases[i].body, strlen(cases[i].body));
        if (cases[i].status == 200) {
            failure.trouble = SMA_FAILURE_GARBAGE;
            failure.error = sma_decoder_finish(decoder)->error;
        }
        struct sma_failure_verdict verdict;
        sma_failure_judge(&failure, &verdict);
        CHECK_INT(cases[i].retry, verdict.retry);
        CHECK_INT(SETUP, verdict.trouble);
        struct sma_buf line;
        sma_buf_init(&line, 4096);
        sma_failure_describe(&line, &failure, &llm, "http://one/chat/completions");
        sma_buf_put_char(&line, '\0');
        CHECK(strstr(line.ptr, "llm.baseUrl") != NULL && strstr(line.ptr, "/v1") != NULL);
        sma_buf_fini(&line);
        sma_decoder_destroy(decoder);
    }
}

CASES_MAIN
