/*
 * openai_json.c — objects and events of chat completions and of responses, member by member as
 * OpenAI's servers write them: the official libraries have types for all of them.
 *
 * Source: the OpenAPI description of OpenAI's API (openai-openapi), objects
 * CreateChatCompletionResponse, CreateChatCompletionStreamResponse, Response, ResponseStreamEvent.
 */
#include "openai.h"

/* -- parts of both ----------------------------------------------------------------------------- */

static uint64_t tokens_in(const struct sma_usage *usage)
{
    return usage == NULL ? 0 : usage->input + usage->cached + usage->written;
}

static uint64_t tokens_out(const struct sma_usage *usage)
{
    return usage == NULL ? 0 : usage->output;
}

static void put_usage(struct sma_buf *buf, bool is_responses, const struct sma_usage *usage)
{
    const char *in = is_responses ? "input_tokens" : "prompt_tokens";
    const char *out = is_responses ? "output_tokens" : "completion_tokens";
    uint64_t in_count = tokens_in(usage), out_count = tokens_out(usage);
    sma_buf_put_json_key(buf, "usage");
    sma_buf_printf(buf,
                   "{\"%s\":%llu,\"%s\":%llu,\"total_tokens\":%llu,"
                   "\"%s_details\":{\"cached_tokens\":%llu},"
                   "\"%s_details\":{\"reasoning_tokens\":%llu}}",
                   in, (unsigned long long)in_count, out, (unsigned long long)out_count,
                   (unsigned long long)(in_count + out_count), in,
                   (unsigned long long)(usage == NULL ? 0 : usage->cached), out,
                   (unsigned long long)(usage == NULL ? 0 : usage->reasoning));
}

/* -- chat completions -------------------------------------------------------------------------- */
static void put_chat_head(struct sma_buf *buf, const struct http_openai *openai, uint64_t seq,
                          const char *object)
{
    sma_buf_printf(buf, "{\"id\":\"chatcmpl-%llu\",\"object\":\"%s\",\"created\":%lld",
                   (unsigned long long)seq, object, (long long)openai->created_s);
    sma_buf_put_json_key(buf, "model");
    sma_buf_put_json_string(buf, sma_str(openai->model));
    sma_buf_put_text(buf, ",\"service_tier\":\"default\",\"system_fingerprint\":null");
}

static void put_chat_whole(struct sma_buf *buf, const struct http_openai *openai,
                           const struct http_openai_end *end)
{
    put_chat_head(buf, openai, end->seq, "chat.completion");
    sma_buf_put_text(buf, ",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\"");
    sma_buf_put_json_key(buf, "content");
    sma_buf_put_json_string(buf, end->text);
    sma_buf_put_text(buf, ",\"refusal\":null,\"annotations\":[]},\"logprobs\":null,"
                          "\"finish_reason\":\"stop\"}]");
    put_usage(buf, false, end->usage);
    sma_buf_put_char(buf, '}');
}

/* One chunk; delta: JSON of its members, NULL: no choice at all, with the usage. */
static void put_chunk(struct sma_buf *buf, const struct http_openai *openai, uint64_t seq,
                      struct sma_str text, const char *before)
{
    sma_buf_put_text(buf, "data: ");
    put_chat_head(buf, openai, seq, "chat.completion.chunk");
    sma_buf_put_text(buf, ",\"choices\":[{\"index\":0,\"delta\":{");
    sma_buf_put_text(buf, before);
    sma_buf_put_json_string(buf, text);
    sma_buf_put_text(buf, before[1] == 'r' ? ",\"refusal\":null}" : "}");
    sma_buf_put_text(buf, ",\"logprobs\":null,\"finish_reason\":null}]");
    sma_buf_put_text(buf, openai->wants_usage ? ",\"usage\":null}\n\n" : "}\n\n");
}

static void put_chat_end(struct sma_buf *buf, const struct http_openai *openai,
                         const struct http_openai_end *end)
{
    sma_buf_put_text(buf, "data: ");
    put_chat_head(buf, openai, end->seq, "chat.completion.chunk");
    sma_buf_put_text(buf, ",\"choices\":[{\"index\":0,\"delta\":{},\"logprobs\":null,"
                          "\"finish_reason\":\"stop\"}]");
    sma_buf_put_text(buf, openai->wants_usage ? ",\"usage\":null}\n\n" : "}\n\n");
    if (openai->wants_usage) {
        sma_buf_put_text(buf, "data: ");
        put_chat_head(buf, openai, end->seq, "chat.completion.chunk");
        sma_buf_put_text(buf, ",\"choices\":[]");
        put_usage(buf, false, end->usage);
        sma_buf_put_text(buf, "}\n\n");
    }
    sma_buf_put_text(buf, "data: [DONE]\n\n");
}

/* -- responses --------------------------------------------------------------------------------- */
/* The chat stands in the id, so that one who goes on from it needs nothing that is kept here. */
static void put_response_id(struct sma_buf *buf, const struct http_openai *openai, uint64_t seq)
{
    sma_buf_printf(buf, "\"resp_%llu_", (unsigned long long)seq);
    for (const char *at = openai->chat_id; *at != '\0'; at++)
        sma_buf_printf(buf, "%02x", (unsigned char)*at);
    sma_buf_put_char(buf, '"');
}

static void put_text_or_null(struct sma_buf *buf, const char *key, const char *text)
{
    sma_buf_put_json_key(buf, key);
    if (text[0] == '\0')
        sma_buf_put_text(buf, "null");
    else
        sma_buf_put_json_string(buf, sma_str(text));
}

static void put_part(struct sma_buf *buf, struct sma_str text)
{
    sma_buf_put_text(buf, "{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[]");
    sma_buf_put_json_key(buf, "text");
    sma_buf_put_json_string(buf, text);
    sma_buf_put_char(buf, '}');
}

/* text.ptr == NULL: nothing yet. */
static void put_item(struct sma_buf *buf, uint64_t seq, const char *status, struct sma_str text)
{
    sma_buf_printf(buf,
                   "{\"id\":\"msg_%llu\",\"type\":\"message\",\"status\":\"%s\","
                   "\"role\":\"assistant\",\"content\":[",
                   (unsigned long long)seq, status);
    if (text.ptr != NULL)
        put_part(buf, text);
    sma_buf_put_text(buf, "]}");
}

static void put_response(struct sma_buf *buf, const struct http_openai *openai,
                         const struct http_openai_end *end)
{
    bool is_failed = strcmp(end->status, "failed") == 0;
    bool is_over = strcmp(end->status, "in_progress") != 0;
    sma_buf_put_text(buf, "{\"id\":");
    put_response_id(buf, openai, end->seq);
    sma_buf_printf(buf, ",\"object\":\"response\",\"created_at\":%lld,\"status\":\"%s\"",
                   (long long)openai->created_s, end->status);
    sma_buf_put_text(buf, ",\"background\":false,\"error\":");
    if (is_failed) {
        sma_buf_put_text(buf, "{\"code\":\"server_error\"");
        sma_buf_put_json_key(buf, "message");
        sma_buf_put_json_string(buf, end->text);
        sma_buf_put_char(buf, '}');
    } else {
        sma_buf_put_text(buf, "null");
    }
    sma_buf_put_text(buf, ",\"incomplete_details\":null,\"instructions\":null,"
                          "\"max_output_tokens\":null,\"max_tool_calls\":null");
    put_text_or_null(buf, "model", openai->model);
    sma_buf_put_json_key(buf, "output");
    sma_buf_put_char(buf, '[');
    if (is_over && !is_failed)
        put_item(buf, end->seq, "completed", end->text);
    sma_buf_put_text(buf, "],\"parallel_tool_calls\":true");
    put_text_or_null(buf, "previous_response_id", openai->previous);
    if (openai->conversation[0] != '\0') {
        sma_buf_put_text(buf, ",\"conversation\":{");
        sma_buf_put_json_member(buf, "id", sma_str(openai->conversation));
        sma_buf_put_char(buf, '}');
    }
    sma_buf_put_text(buf, ",\"reasoning\":{\"effort\":null,\"summary\":null},\"store\":true,"
                          "\"temperature\":1.0,\"text\":{\"format\":{\"type\":\"text\"}},"
                          "\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":1.0,"
                          "\"truncation\":\"disabled\",\"user\":null,\"metadata\":{}");
    if (is_over)
        put_usage(buf, true, end->usage);
    else
        sma_buf_put_text(buf, ",\"usage\":null");
    sma_buf_put_char(buf, '}');
}

static void begin_event(struct sma_buf *buf, struct http_openai *openai, const char *type)
{
    sma_buf_printf(buf, "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%u", type, type,
                   openai->number++);
}

static void end_event(struct sma_buf *buf)
{
    sma_buf_put_text(buf, "}\n\n");
}

static void put_response_event(struct sma_buf *buf, struct http_openai *openai, const char *type,
                               const struct http_openai_end *end)
{
    begin_event(buf, openai, type);
    sma_buf_put_json_key(buf, "response");
    put_response(buf, openai, end);
    end_event(buf);
}

static void begin_part_event(struct sma_buf *buf, struct http_openai *openai, const char *type,
                             uint64_t seq)
{
    begin_event(buf, openai, type);
    sma_buf_printf(buf, ",\"item_id\":\"msg_%llu\",\"output_index\":0,\"content_index\":0",
                   (unsigned long long)seq);
}

static void put_responses_begin(struct sma_buf *buf, struct http_openai *openai, uint64_t seq)
{
    const struct http_openai_end end = {.seq = seq, .status = "in_progress"};
    put_response_event(buf, openai, "response.created", &end);
    put_response_event(buf, openai, "response.in_progress", &end);
    begin_event(buf, openai, "response.output_item.added");
    sma_buf_put_text(buf, ",\"output_index\":0,\"item\":");
    put_item(buf, seq, "in_progress", (struct sma_str){0});
    end_event(buf);
    begin_part_event(buf, openai, "response.content_part.added", seq);
    sma_buf_put_text(buf, ",\"part\":");
    put_part(buf, SMA_STR(""));
    end_event(buf);
}

static void put_responses_end(struct sma_buf *buf, struct http_openai *openai,
                              const struct http_openai_end *end)
{
    begin_part_event(buf, openai, "response.output_text.done", end->seq);
    sma_buf_put_json_key(buf, "text");
    sma_buf_put_json_string(buf, end->text);
    sma_buf_put_text(buf, ",\"logprobs\":[]");
    end_event(buf);
    begin_part_event(buf, openai, "response.content_part.done", end->seq);
    sma_buf_put_text(buf, ",\"part\":");
    put_part(buf, end->text);
    end_event(buf);
    begin_event(buf, openai, "response.output_item.done");
    sma_buf_put_text(buf, ",\"output_index\":0,\"item\":");
    put_item(buf, end->seq, "completed", end->text);
    end_event(buf);
    put_response_event(buf, openai, "response.completed", end);
}

/* -- either ------------------------------------------------------------------------------------ */
void http_openai_put_whole(struct sma_buf *buf, const struct http_openai *openai,
                           const struct http_openai_end *end)
{
    if (openai->is_responses)
        put_response(buf, openai, end);
    else
        put_chat_whole(buf, openai, end);
}

void http_openai_put_begin(struct sma_buf *buf, struct http_openai *openai, uint64_t seq)
{
    if (openai->is_responses)
        put_responses_begin(buf, openai, seq);
    else
        put_chunk(buf, openai, seq, SMA_STR(""), "\"role\":\"assistant\",\"content\":");
}

void http_openai_put_delta(struct sma_buf *buf, struct http_openai *openai, uint64_t seq,
                           struct sma_str text)
{
    if (!openai->is_responses) {
        put_chunk(buf, openai, seq, text, "\"content\":");
        return;
    }
    begin_part_event(buf, openai, "response.output_text.delta", seq);
    sma_buf_put_json_key(buf, "delta");
    sma_buf_put_json_string(buf, text);
    sma_buf_put_text(buf, ",\"logprobs\":[]");
    end_event(buf);
}

void http_openai_put_end(struct sma_buf *buf, struct http_openai *openai,
                         const struct http_openai_end *end)
{
    if (openai->is_responses)
        put_responses_end(buf, openai, end);
    else
        put_chat_end(buf, openai, end);
}

void http_openai_put_failure(struct sma_buf *buf, struct http_openai *openai,
                             const struct http_openai_end *end)
{
    if (openai->is_responses) {
        put_response_event(buf, openai, "response.failed", end);
        return;
    }
    sma_buf_put_text(buf, "data: {\"error\":{");
    sma_buf_put_json_member(buf, "message", end->text);
    sma_buf_put_text(buf,
                     ",\"type\":\"server_error\",\"param\":null,\"code\":\"run_failed\"}}\n\n");
}
