/* Answers in the three formats, and how they can go wrong. */
#include "fake_model.h"
#include "fake_model_errors.h"

#include "fake_model_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- faults as text ---------------------------------------------------------------------------- */
long fake_option(const char *fault, const char *key, long fallback)
{
    size_t len = strlen(key);
    for (const char *at = fault; at != NULL && (at = strstr(at, key)) != NULL; at += len)
        if ((at == fault || at[-1] == ' ') && at[len] == '=')
            return strtol(at + len + 1, NULL, 10);
    return fallback;
}

bool fake_is(const char *fault, const char *name)
{
    size_t len = strlen(name);
    return fault != NULL && strncmp(fault, name, len) == 0 &&
           (fault[len] == '\0' || fault[len] == ' ');
}

/* -- HTTP -------------------------------------------------------------------------------------- */
static const char *reason(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 302:
        return "Found";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 404:
        return "Not Found";
    case 429:
        return "Too Many Requests";
    case 502:
        return "Bad Gateway";
    default:
        return status >= 500 ? "Server Error" : "Error";
    }
}

void fake_put_head(struct fake_response *response, int status, const char *type, const char *more,
                   long length)
{
    response->status = status;
    sma_buf_printf(&response->bytes, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%s", status,
                   reason(status), type, more);
    if (length < 0)
        sma_buf_put_text(&response->bytes, "Transfer-Encoding: chunked\r\n\r\n");
    else
        sma_buf_printf(&response->bytes, "Content-Length: %ld\r\n\r\n", length);
}

static void put_chunk(struct sma_buf *out, struct sma_str bytes)
{
    if (bytes.len == 0)
        return;
    sma_buf_printf(out, "%zx\r\n", bytes.len);
    sma_buf_put_str(out, bytes);
    sma_buf_put_text(out, "\r\n");
}

/* In chunks of so many bytes, wherever that cuts; 0 = in one. */
static void put_split(struct sma_buf *out, struct sma_str bytes, size_t size)
{
    while (size > 0 && bytes.len > size) {
        put_chunk(out, (struct sma_str){bytes.ptr, size});
        bytes = (struct sma_str){bytes.ptr + size, bytes.len - size};
    }
    put_chunk(out, bytes);
}

/* -- streams: events first go to one buffer, each ended by an empty line ----------------------- */
static void put_chat_stream(struct sma_buf *out, const struct fake_answer *answer)
{
    if (answer->text.len > 0) {
        struct sma_str left = answer->text;
        while (left.len > 0) {
            size_t piece = left.len < 24 ? left.len : 24;
            while (piece < left.len && ((unsigned char)left.ptr[piece] & 0xc0) == 0x80)
                piece++;
            sma_buf_put_text(out, "data: "
                                  "{\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,"
                                  "\"delta\":{\"content\":");
            sma_buf_put_json_string(out, (struct sma_str){left.ptr, piece});
            sma_buf_put_text(out, "},\"finish_reason\":null}]}\n\n");
            left = (struct sma_str){left.ptr + piece, left.len - piece};
        }
    }
    for (size_t i = 0; i < answer->call_count; i++) {
        sma_buf_printf(out,
                       "data: "
                       "{\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{"
                       "\"tool_calls\":"
                       "[{\"index\":%zu,\"id\":\"call_%llu_%zu\",\"type\":\"function\","
                       "\"function\":{\"name\":",
                       i, (unsigned long long)answer->number, i);
        sma_buf_put_json_string(out, answer->calls[i].name);
        sma_buf_printf(out,
                       ",\"arguments\":\"\"}}]},\"finish_reason\":null}]}\n\n"
                       "data: "
                       "{\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{"
                       "\"tool_calls\":"
                       "[{\"index\":%zu,\"function\":{\"arguments\":",
                       i);
        sma_buf_put_json_string(out, answer->calls[i].arguments);
        sma_buf_put_text(out, "}}]},\"finish_reason\":null}]}\n\n");
    }
    sma_buf_printf(
        out,
        "data: "
        "{\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_"
        "reason\":"
        "\"%s\"}]}\n\ndata: "
        "{\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{\"prompt_tokens\":"
        "%zu,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":%zu}}}\n\n"
        "data: [DONE]\n\n",
        answer->call_count > 0 ? "tool_calls" : "stop", answer->input_tokens,
        answer->cached_tokens);
}

static void put_messages_stream(struct sma_buf *out, const struct fake_answer *answer)
{
    size_t index = 0;
    sma_buf_printf(
        out,
        "event: message_start\ndata: "
        "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_%llu\",\"type\":"
        "\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":%zu,"
        "\"cache_read_input_tokens\":%zu,\"output_tokens\":1}}}\n\nevent: ping\ndata: "
        "{\"type\":\"ping\"}\n\n",
        (unsigned long long)answer->number, answer->input_tokens - answer->cached_tokens,
        answer->cached_tokens);
    if (answer->text.len > 0) {
        sma_buf_printf(
            out,
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":%zu,"
            "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: "
            "content_block_delta\ndata: {\"type\":"
            "\"content_block_delta\",\"index\":%zu,\"delta\":{\"type\":\"text_delta\",\"text\":",
            index, index);
        sma_buf_put_json_string(out, answer->text);
        sma_buf_printf(out,
                       "}}\n\nevent: content_block_stop\ndata: "
                       "{\"type\":\"content_block_stop\",\"index\":%zu}\n\n",
                       index);
        index++;
    }
    for (size_t i = 0; i < answer->call_count; i++, index++) {
        sma_buf_printf(
            out,
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":%zu,"
            "\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_%llu_%zu\",\"name\":",
            index, (unsigned long long)answer->number, i);
        sma_buf_put_json_string(out, answer->calls[i].name);
        sma_buf_printf(out,
                       ",\"input\":{}}}\n\nevent: content_block_delta\ndata: "
                       "{\"type\":\"content_block_delta\",\"index\":%zu,"
                       "\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":",
                       index);
        sma_buf_put_json_string(out, answer->calls[i].arguments);
        sma_buf_printf(out,
                       "}}\n\nevent: content_block_stop\ndata: "
                       "{\"type\":\"content_block_stop\",\"index\":%zu}\n\n",
                       index);
    }
    sma_buf_printf(
        out,
        "event: message_delta\ndata: "
        "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\"},\"usage\":"
        "{\"output_tokens\":7}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        answer->call_count > 0 ? "tool_use" : "end_turn");
}

/* One output item of the responses format, whole. */
static void put_item(struct sma_buf *out, const struct fake_answer *answer, size_t call)
{
    if (call == SIZE_MAX) {
        sma_buf_printf(out,
                       "{\"type\":\"message\",\"id\":\"msg_%llu\",\"role\":\"assistant\","
                       "\"status\":\"completed\","
                       "\"content\":[{\"type\":\"output_text\",\"text\":",
                       (unsigned long long)answer->number);
        sma_buf_put_json_string(out, answer->text);
        sma_buf_put_text(out, ",\"annotations\":[]}]}");
        return;
    }
    sma_buf_printf(out,
                   "{\"type\":\"function_call\",\"id\":\"fc_%llu_%zu\",\"call_id\":\"call_%llu_%"
                   "zu\",\"name\":",
                   (unsigned long long)answer->number, call, (unsigned long long)answer->number,
                   call);
    sma_buf_put_json_string(out, answer->calls[call].name);
    sma_buf_put_text(out, ",\"arguments\":");
    sma_buf_put_json_string(out, answer->calls[call].arguments);
    sma_buf_put_text(out, ",\"status\":\"completed\"}");
}

static void put_response_object(struct sma_buf *out, const struct fake_answer *answer)
{
    bool has_text = answer->text.len > 0;
    sma_buf_printf(out,
                   "{\"id\":\"resp_%llu\",\"object\":\"response\",\"status\":\"completed\","
                   "\"error\":null,\"output\":[",
                   (unsigned long long)answer->number);
    if (has_text)
        put_item(out, answer, SIZE_MAX);
    for (size_t i = 0; i < answer->call_count; i++) {
        if (has_text || i > 0)
            sma_buf_put_char(out, ',');
        put_item(out, answer, i);
    }
    sma_buf_printf(out,
                   "],\"usage\":{\"input_tokens\":%zu,\"input_tokens_details\":{\"cached_tokens\":%"
                   "zu},\"output_tokens\":7}}",
                   answer->input_tokens, answer->cached_tokens);
}

static void put_responses_stream(struct sma_buf *out, const struct fake_answer *answer)
{
    size_t index = 0, total = answer->call_count + (answer->text.len > 0);
    for (; index < total; index++) {
        size_t call = answer->text.len == 0 ? index : index == 0 ? SIZE_MAX : index - 1;
        if (call == SIZE_MAX) {
            sma_buf_printf(
                out,
                "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\","
                "\"output_index\":%zu,\"item\":{\"type\":\"message\",\"id\":\"msg_%llu\",\"role\":"
                "\"assistant\","
                "\"content\":[]}}\n\nevent: response.output_text.delta\ndata: {\"type\":"
                "\"response.output_text.delta\",\"output_index\":%zu,\"delta\":",
                index, (unsigned long long)answer->number, index);
            sma_buf_put_json_string(out, answer->text);
            sma_buf_put_text(out, "}\n\n");
        } else {
            sma_buf_printf(
                out,
                "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\","
                "\"output_index\":%zu,\"item\":{\"type\":\"function_call\",\"id\":\"fc_%llu_%zu\","
                "\"call_id\":"
                "\"call_%llu_%zu\",\"name\":",
                index, (unsigned long long)answer->number, call, (unsigned long long)answer->number,
                call);
            sma_buf_put_json_string(out, answer->calls[call].name);
            sma_buf_printf(
                out,
                ",\"arguments\":\"\"}}\n\nevent: response.function_call_arguments.delta\ndata: "
                "{\"type\":"
                "\"response.function_call_arguments.delta\",\"output_index\":%zu,\"delta\":",
                index);
            sma_buf_put_json_string(out, answer->calls[call].arguments);
            sma_buf_put_text(out, "}\n\n");
        }
        sma_buf_printf(out,
                       "event: response.output_item.done\ndata: "
                       "{\"type\":\"response.output_item.done\",\"output_index\":%zu,"
                       "\"item\":",
                       index);
        put_item(out, answer, call);
        sma_buf_put_text(out, "}\n\n");
    }
    sma_buf_put_text(
        out, "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":");
    put_response_object(out, answer);
    sma_buf_put_text(out, "}\n\n");
}

/* -- documents --------------------------------------------------------------------------------- */
static void put_chat_document(struct sma_buf *out, const struct fake_answer *answer)
{
    sma_buf_put_text(out, "{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{"
                          "\"role\":\"assistant\",\"content\":");
    if (answer->text.len > 0 || answer->call_count == 0)
        sma_buf_put_json_string(out, answer->text);
    else
        sma_buf_put_text(out, "null");
    for (size_t i = 0; i < answer->call_count; i++) {
        sma_buf_printf(out,
                       "%s{\"id\":\"call_%llu_%zu\",\"type\":\"function\",\"function\":{\"name\":",
                       i == 0 ? ",\"tool_calls\":[" : ",", (unsigned long long)answer->number, i);
        sma_buf_put_json_string(out, answer->calls[i].name);
        sma_buf_put_text(out, ",\"arguments\":");
        sma_buf_put_json_string(out, answer->calls[i].arguments);
        sma_buf_put_text(out, "}}");
    }
    sma_buf_printf(
        out,
        "%s},\"finish_reason\":\"%s\"}],\"usage\":{\"prompt_tokens\":%zu,\"completion_tokens\":7}}",
        answer->call_count > 0 ? "]" : "", answer->call_count > 0 ? "tool_calls" : "stop",
        answer->input_tokens);
}

static void put_messages_document(struct sma_buf *out, const struct fake_answer *answer)
{
    const char *separator = "";
    sma_buf_printf(out,
                   "{\"id\":\"msg_%llu\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[",
                   (unsigned long long)answer->number);
    if (answer->text.len > 0) {
        sma_buf_put_text(out, "{\"type\":\"text\",\"text\":");
        sma_buf_put_json_string(out, answer->text);
        sma_buf_put_char(out, '}');
        separator = ",";
    }
    for (size_t i = 0; i < answer->call_count; i++, separator = ",") {
        sma_buf_printf(out,
                       "%s{\"type\":\"tool_use\",\"id\":\"toolu_%llu_%zu\",\"name\":", separator,
                       (unsigned long long)answer->number, i);
        sma_buf_put_json_string(out, answer->calls[i].name);
        sma_buf_put_text(out, ",\"input\":");
        sma_buf_put_str(out, answer->calls[i].arguments);
        sma_buf_put_char(out, '}');
    }
    sma_buf_printf(out,
                   "],\"stop_reason\":\"%s\",\"usage\":{\"input_tokens\":%zu,\"output_tokens\":7}}",
                   answer->call_count > 0 ? "tool_use" : "end_turn", answer->input_tokens);
}

static void put_events(struct sma_buf *out, enum sma_llm_api api, const struct fake_answer *answer)
{
    if (answer->question != NULL)
        fake_events(answer->question, answer, out);
    else if (api == SMA_LLM_RESPONSES)
        put_responses_stream(out, answer);
    else if (api == SMA_LLM_MESSAGES)
        put_messages_stream(out, answer);
    else
        put_chat_stream(out, answer);
}

static void put_profile_document(struct sma_buf *out, const struct fake_answer *answer)
{
    json_t *document = fake_document(answer->question, answer);
    char *text = json_dumps(document, JSON_COMPACT);
    sma_buf_put_text(out, text == NULL ? "{}" : text);
    free(text);
    json_decref(document);
}

static void put_document(struct fake_response *response, enum sma_llm_api api,
                         const struct fake_answer *answer, const char *fault)
{
    struct sma_buf body;
    sma_buf_init(&body, 64 << 20);
    if (answer->question != NULL)
        put_profile_document(&body, answer);
    else if (api == SMA_LLM_RESPONSES)
        put_response_object(&body, answer);
    else if (api == SMA_LLM_MESSAGES)
        put_messages_document(&body, answer);
    else
        put_chat_document(&body, answer);
    bool is_short = fake_is(fault, "shortlength");
    fake_put_head(response, 200, "application/json", "", (long)body.len + (is_short ? 100 : 0));
    sma_buf_put_str(&response->bytes, sma_buf_str(&body));
    response->is_closed |= is_short;
    sma_buf_fini(&body);
}

/* -- an answer, straight or bent --------------------------------------------------------------- */
static void pause_at(struct fake_response *response, uint64_t ms)
{
    if (response->pause_count == FAKE_PAUSE_COUNT_MAX)
        return;
    response->pauses[response->pause_count].offset = response->bytes.len;
    response->pauses[response->pause_count++].ms = ms;
}

static void put_huge_line(struct sma_buf *out, long bytes)
{
    sma_buf_put_text(out, ": ");
    for (long i = 0; i < bytes; i++)
        sma_buf_put_char(out, 'x');
    sma_buf_put_text(out, "\n");
}

static void put_bend(struct fake_response *response, const char *fault, size_t event)
{
    struct sma_buf *out = &response->bytes;
    if (event == 0 && fake_is(fault, "comments")) {
        for (long i = fake_option(fault, "count", 10); i > 0; i--)
            put_chunk(out, SMA_STR(": keep-alive\n\n"));
        response->drip_bytes = strlen("e\r\n: keep-alive\n\n\r\n");
        response->drip_ms = (uint64_t)fake_option(fault, "ms", 10);
    }
    if (event == 0 && fake_is(fault, "hugeline")) {
        struct sma_buf line;
        sma_buf_init(&line, 64 << 20);
        put_huge_line(&line, fake_option(fault, "bytes", 1 << 20));
        put_chunk(out, sma_buf_str(&line));
        sma_buf_fini(&line);
    }
    if (event == 1 && fake_is(fault, "stall"))
        pause_at(response, (uint64_t)fake_option(fault, "ms", 1000));
    if (event == 1 && fake_is(fault, "error200"))
        put_chunk(
            out, SMA_STR("event: error\ndata: "
                         "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":"
                         "\"Overloaded inside\"}}\n\n"));
    if (event == 1 && fake_is(fault, "garbage"))
        put_chunk(out, SMA_STR("data: {\"choices\":[{]]}\n\n"));
}

void fake_put_answer(struct fake_response *response, enum sma_llm_api api, bool is_stream,
                     const struct fake_answer *answer, const char *fault)
{
    if (fake_is(fault, "silence")) /* before anything, the head too */
        pause_at(response, (uint64_t)fake_option(fault, "ms", 1000));
    if (!is_stream || fake_is(fault, "json") || fake_is(fault, "shortlength")) {
        put_document(response, api, answer, fault);
        return;
    }
    struct sma_buf events;
    sma_buf_init(&events, 64 << 20);
    put_events(&events, api, answer);
    fake_put_head(response, 200, "text/event-stream", "Cache-Control: no-cache\r\n", -1);
    if (fake_is(fault, "drip")) {
        response->drip_bytes = (size_t)fake_option(fault, "bytes", 1);
        response->drip_ms = (uint64_t)fake_option(fault, "ms", 0);
    }
    response->drip_offset = response->bytes.len;
    struct sma_str left = sma_buf_str(&events);
    bool is_cut = fake_is(fault, "cut") || fake_is(fault, "nodone");
    for (size_t event = 0; left.len > 0; event++) {
        const char *end = memmem(left.ptr, left.len, "\n\n", 2);
        size_t len = (size_t)(end - left.ptr) + 2;
        put_bend(response, fault, event);
        bool is_last = fake_is(fault, "cut") ? event == 1
                                             : is_cut && memcmp(left.ptr, "data: [DONE]", 12) == 0;
        if (is_last) {
            if (fake_is(fault, "cut"))
                put_chunk(&response->bytes, (struct sma_str){left.ptr, len / 2});
            break;
        }
        put_split(&response->bytes, (struct sma_str){left.ptr, len},
                  (size_t)fake_option(fault, "split", 0));
        left = (struct sma_str){left.ptr + len, left.len - len};
    }
    if (fake_is(fault, "hang"))
        pause_at(response, (uint64_t)fake_option(fault, "ms", 60000));
    if (is_cut)
        response->is_closed = true;
    else
        sma_buf_put_text(&response->bytes, "0\r\n\r\n");
    sma_buf_fini(&events);
}

void fake_put_error(struct fake_response *response, enum sma_llm_api api, int status,
                    const char *code, const char *message, const char *more_headers)
{
    struct sma_buf body;
    sma_buf_init(&body, 65536);
    sma_buf_put_text(&body, api == SMA_LLM_MESSAGES ? "{\"type\":\"error\",\"error\":{\"type\":"
                                                    : "{\"error\":{\"code\":");
    sma_buf_put_json_string(&body, sma_str(code));
    sma_buf_put_text(&body, ",\"message\":");
    sma_buf_put_json_string(&body, sma_str(message));
    sma_buf_put_text(&body,
                     api == SMA_LLM_MESSAGES ? "}}" : ",\"type\":\"error\",\"param\":null}}");
    fake_put_head(response, status, "application/json", more_headers, (long)body.len);
    sma_buf_put_str(&response->bytes, sma_buf_str(&body));
    sma_buf_fini(&body);
}

static void put_page(struct fake_response *response, int status)
{
    static const char page[] =
        "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
    fake_put_head(response, status, "text/html", "", (long)strlen(page));
    sma_buf_put_text(&response->bytes, page);
}

bool fake_put_fault(struct fake_response *response, enum sma_llm_api api, const char *fault)
{
    char more[160] = "";
    long seconds = fake_option(fault, "retry-after", -1),
         ms = fake_option(fault, "retry-after-ms", -1);
    if (seconds >= 0)
        snprintf(more, sizeof more, "Retry-After: %ld\r\n", seconds);
    if (ms >= 0)
        snprintf(more + strlen(more), sizeof more - strlen(more), "retry-after-ms: %ld\r\n", ms);
    long should = fake_option(fault, "should-retry", -1);
    if (should >= 0)
        snprintf(more + strlen(more), sizeof more - strlen(more), "x-should-retry: %s\r\n",
                 should ? "true" : "false");
    if (fake_is(fault, "quota")) {
        fake_put_error(response, api, 429, "insufficient_quota", "You exceeded your current quota",
                       more);
    } else if (fake_is(fault, "context")) {
        fake_put_error(response, api, 400, "context_length_exceeded",
                       "This model's maximum context length is 10 tokens", more);
    } else if (fake_is(fault, "html")) {
        put_page(response, 502);
    } else if (fake_is(fault, "page200")) {
        put_page(response, 200);
    } else if (fake_is(fault, "reset")) {
        response->is_closed = true;
    } else if (fake_put_field(response, fault, more)) {
        return true;
    } else if (fault[0] >= '3' && fault[0] <= '5') {
        int status = (int)strtol(fault, NULL, 10);
        fake_put_error(response, api, status,
                       status == 429 ? "rate_limit_exceeded" : "server_error",
                       "asked to fail with this status", more);
    } else {
        return false;
    }
    return true;
}

void fake_put_models(struct fake_response *response)
{
    static const char list[] =
        "{\"object\":\"list\",\"data\":[{\"id\":\"fake-embedding-1\",\"object\":\"model\"},"
        "{\"id\":\"fake-model\",\"object\":\"model\"},"
        "{\"id\":\"fake-model-large\",\"object\":\"model\"}]}";
    fake_put_head(response, 200, "application/json", "", (long)sizeof list - 1);
    sma_buf_put_text(&response->bytes, list);
}
