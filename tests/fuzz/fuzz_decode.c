/*
 * Everything that reads bytes of a model server. The first byte chooses the reader: '0' chat, '1'
 * responses, '2' messages, '3' error body and its verdicts, '4' send text, '5' offline turn, '6'
 * retry-after, '7' a chat call with these bytes as its arguments, '8' a chat answer with these
 * bytes as its text. Promise under test, besides not crashing: the result of a decoder does not
 * depend on how its input was split, and what it sends back is JSON.
 */
#include "fuzz.h"

#include "runtime/model/decode.h"
#include "runtime/model/offline.h"
#include "runtime/model/retry.h"
#include "runtime/model/send_text.h"

#include "sma/buf.h"

#include "sma/retry_after.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const struct sma_config_llm *llm_of(enum sma_llm_api api)
{
    static struct sma_config_llm llm;
    llm = (struct sma_config_llm){
        .api = api, .provider = "custom", .model = "m", .base_url = "", .api_key = ""};
    return &llm;
}

static void require(bool condition)
{
    if (!condition)
        abort();
}

static bool is_object(struct sma_str text)
{
    json_t *value = json_loadb(text.ptr, text.len, JSON_ALLOW_NUL, NULL);
    bool result = json_is_object(value);
    json_decref(value);
    return result;
}

/* A fragment: objects joined by commas. */
static bool is_list_of_objects(struct sma_str text)
{
    struct sma_buf list;
    sma_buf_init(&list, text.len + 8);
    sma_buf_put_char(&list, '[');
    sma_buf_put_str(&list, text);
    sma_buf_put_char(&list, ']');
    json_t *value = json_loadb(list.ptr, list.len, JSON_ALLOW_NUL, NULL);
    bool result = json_array_size(value) > 0;
    for (size_t i = 0; i < json_array_size(value); i++)
        result &= json_is_object(json_array_get(value, i));
    json_decref(value);
    sma_buf_fini(&list);
    return result;
}

static const struct sma_decoded *decode(struct sma_decoder *decoder, struct sma_str body,
                                        size_t piece)
{
    sma_decoder_reset(decoder, 1);
    for (size_t at = 0; at < body.len; at += piece)
        sma_decoder_feed(decoder, body.ptr + at, body.len - at < piece ? body.len - at : piece);
    return sma_decoder_finish(decoder);
}

static void check_decoder(enum sma_llm_api api, struct sma_str body)
{
    struct sma_decoder *whole = sma_decoder_create(llm_of(api)),
                       *split = sma_decoder_create(llm_of(api));
    require(whole != NULL && split != NULL);
    const struct sma_decoded *a = decode(whole, body, body.len + 1);
    for (size_t piece = 1; piece <= 7; piece += 3) {
        const struct sma_decoded *b = decode(split, body, piece);
        require(a->status == b->status && a->finish == b->finish && a->call_count == b->call_count);
        require(sma_str_is_equal(a->text, b->text) && sma_str_is_equal(a->fragment, b->fragment));
    }
    require(a->status == SMA_DECODED_OK || (a->call_count == 0 && a->fragment.len == 0));
    for (size_t i = 0; i < a->call_count; i++)
        require(a->calls[i].id.len > 0 && a->calls[i].arguments.len > 0 &&
                (a->calls[i].is_invalid || is_object(a->calls[i].arguments)) &&
                (!a->calls[i].is_cut || a->calls[i].is_invalid));
    require(a->finish != SMA_FINISH_REFUSED || (a->fragment.len == 0 && a->call_count == 0));
    require(a->fragment.len == 0 || is_list_of_objects(a->fragment));
    sma_decoder_destroy(whole);
    sma_decoder_destroy(split);
}

/* Bytes of a model inside a whole chat answer: arguments of a call, or its text. */
static void check_inside(const char *before, struct sma_str bytes, const char *after)
{
    struct sma_buf body;
    sma_buf_init(&body, 8 * bytes.len + 4096);
    sma_buf_put_text(&body, before);
    sma_buf_put_json_string(&body, bytes);
    sma_buf_put_text(&body, after);
    check_decoder(SMA_LLM_CHAT, sma_buf_str(&body));
    sma_buf_fini(&body);
}

static void check_error(struct sma_str body)
{
    static const char *const hosts[] = {"https://generativelanguage.googleapis.com",
                                        "https://dashscope.aliyuncs.com", "https://api.z.ai",
                                        "https://api.openai.com/v1", ""};
    struct sma_failure failure = {
        .trouble = SMA_FAILURE_HTTP, .http_status = 400, .retry_after_ms = -1};
    sma_wire_error_parse(body, &failure.error);
    require(strlen(failure.error.said) < sizeof failure.error.said);
    for (size_t i = 0; i < 2 * sizeof hosts / sizeof *hosts; i++) {
        struct sma_config_llm llm = *llm_of(i % 2 == 0 ? SMA_LLM_CHAT : SMA_LLM_MESSAGES);
        struct sma_failure_verdict verdict;
        struct sma_buf line;
        llm.base_url = hosts[i / 2];
        failure.llm = &llm;
        failure.http_status = i % 3 == 0 ? 400 : i % 3 == 1 ? 429 : 503;
        sma_failure_judge(&failure, &verdict);
        require((verdict.trouble == SMA_MODEL_FAILURE_MEMBER) ==
                (verdict.refused_member[0] != '\0'));
        require(verdict.retry_after_ms >= -1);
        sma_buf_init(&line, 8192);
        sma_failure_describe(&line, &failure, &llm, "https://h/v1");
        require(line.len > 0);
        sma_buf_fini(&line);
    }
}

static void check_send_text(struct sma_str text)
{
    struct sma_send_text whole, split;
    sma_send_text_init(&whole, 1 << 20);
    sma_send_text_init(&split, 1 << 20);
    sma_send_text_feed(&whole, text);
    for (size_t i = 0; i < text.len; i++)
        sma_send_text_feed(&split, (struct sma_str){text.ptr + i, 1});
    require(sma_str_is_equal(sma_buf_str(&whole.text), sma_buf_str(&split.text)));
    sma_send_text_fini(&whole);
    sma_send_text_fini(&split);
}

static void check_offline(struct sma_str turn)
{
    struct sma_buf answer;
    uint64_t delay_ms = 0;
    bool is_failure = false;
    sma_buf_init(&answer, 1 << 22);
    if (sma_offline_answer(turn, 1, &answer, &delay_ms, &is_failure) == SMA_ERR_OK && !is_failure) {
        struct sma_decoder *decoder = sma_decoder_create(llm_of(SMA_LLM_CHAT));
        require(decoder != NULL);
        const struct sma_decoded *decoded = decode(decoder, sma_buf_str(&answer), answer.len);
        require(decoded->status == SMA_DECODED_OK);
        for (size_t i = 0; i < decoded->call_count; i++)
            require(!decoded->calls[i].is_invalid);
        sma_decoder_destroy(decoder);
    }
    sma_buf_fini(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    struct sma_str rest = {(const char *)bytes + 1, len - 1};
    switch (bytes[0]) {
    case '0':
        check_decoder(SMA_LLM_CHAT, rest);
        break;
    case '1':
        check_decoder(SMA_LLM_RESPONSES, rest);
        break;
    case '2':
        check_decoder(SMA_LLM_MESSAGES, rest);
        break;
    case '3':
        check_error(rest);
        break;
    case '4':
        check_send_text(rest);
        break;
    case '5':
        check_offline(rest);
        break;
    case '6':
        require(sma_retry_after_parse(rest, 0) >= -1);
        require(sma_retry_reset_parse(rest, 0) >= -1);
        break;
    case '7':
        check_inside("{\"choices\":[{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"f\","
                     "\"arguments\":",
                     rest, "}}]},\"finish_reason\":\"tool_calls\"}]}");
        break;
    case '8':
        check_inside("{\"choices\":[{\"message\":{\"content\":", rest,
                     "},\"finish_reason\":\"stop\"}]}");
        break;
    default:
        break;
    }
    return 0;
}
