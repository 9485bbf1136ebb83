/* Anthropic Messages. Source: protocols/llm.md §4, §6; models.md §2.2, §3. */
#include "wire_priv.h"

#define OUTPUT_STREAM_MAX \
    64000 /* thinking included; more is not needed and may not fit beside a long input */
#define OUTPUT_WHOLE_MAX \
    16000 /* without a stream an answer must be there before connections time out */
#define OUTPUT_UNKNOWN 16384
#define OUTPUT_CAREFUL 4096 /* what every model takes; for those that refused more */

/* max_tokens is required. */
static int64_t cap_of(const struct sma_target *target)
{
    if (sma_target_refuses(target, "max_tokens"))
        return OUTPUT_CAREFUL;
    if (target->llm->max_tokens > 0)
        return sma_wire_cap(target);
    int64_t most = target->llm->is_stream ? OUTPUT_STREAM_MAX : OUTPUT_WHOLE_MAX;
    int64_t known = target->profile.output_max;
    if (known == 0)
        known = OUTPUT_UNKNOWN;
    return known < most ? known : most;
}

static void put_tools(struct sma_buf *buf, const struct sma_tool_spec *tools, size_t tool_count)
{
    if (tool_count == 0)
        return;
    sma_buf_put_json_key(buf, "tools");
    for (size_t i = 0; i < tool_count; i++) {
        sma_buf_put_text(buf, i == 0 ? "[" : ",");
        sma_buf_put_text(buf, "{\"name\":");
        sma_buf_put_json_string(buf, tools[i].name);
        sma_buf_put_json_key(buf, "description");
        sma_buf_put_json_string(buf, tools[i].description);
        sma_buf_put_json_key(buf, "input_schema");
        sma_wire_put_schema(buf, tools[i].parameters_json);
        sma_buf_put_char(buf, '}');
    }
    sma_buf_put_char(buf, ']');
}

/* Two marks that never change: cache_control of the request is moved along with the last block by
 * the server, so that the whole conversation is cached while its bytes stay equal from request to
 * request; the one on the system block covers tools and system, and is what the first request of
 * another chat finds. */
static void put_system(struct sma_buf *buf, const struct sma_target *target, struct sma_str system)
{
    sma_buf_put_text(buf, ",\"system\":[{\"type\":\"text\",\"text\":");
    sma_buf_put_json_string(buf, system);
    if (!sma_target_refuses(target, SMA_MEMBER_MARK))
        sma_buf_put_text(buf, SMA_WIRE_MARK);
    sma_buf_put_text(buf, "}]");
}

static void put_head(struct sma_buf *buf, const struct sma_target *target, struct sma_str system,
                     const struct sma_tool_spec *tools, size_t tool_count)
{
    int64_t cap = cap_of(target);
    tool_count = sma_target_refuses(target, SMA_REFUSES_TOOLS) ? 0 : tool_count;
    sma_buf_put_text(buf, "{\"model\":");
    sma_buf_put_json_string(buf, sma_str(target->llm->model));
    if (!sma_wire_has_extra(target, "max_tokens")) {
        sma_buf_put_json_key(buf, "max_tokens");
        sma_buf_put_i64(buf, cap);
    }
    sma_wire_put_sampling(buf, target, tool_count > 0);
    sma_wire_put_effort(buf, target, tool_count > 0, cap);
    if (target->llm->is_stream && sma_wire_allows(target, SMA_REFUSES_STREAM))
        sma_buf_put_text(buf, ",\"stream\":true");
    if (target->profile.cache == SMA_CACHE_TOP && sma_wire_allows(target, SMA_MEMBER_CACHE))
        sma_buf_put_text(buf, SMA_WIRE_MARK);
    put_tools(buf, tools, tool_count);
    if (system.len > 0)
        put_system(buf, target, system);
    sma_buf_put_json_key(buf, "messages");
    sma_buf_put_char(buf, '[');
}

static void put_part(struct sma_buf *buf, const struct sma_target *target,
                     const struct sma_part *part)
{
    (void)target;
    sma_buf_put_text(buf, part->kind == SMA_PART_IMAGE ? "{\"type\":\"image\""
                                                       : "{\"type\":\"document\"");
    sma_buf_put_text(buf, ",\"source\":{\"type\":\"base64\"");
    sma_buf_put_json_member(buf, "media_type", part->mime);
    sma_buf_put_text(buf, ",\"data\":\"");
    sma_part_put_marker(buf, part);
    sma_buf_put_text(buf, "\"}");
    if (part->kind != SMA_PART_IMAGE) {
        sma_buf_put_char(buf, ',');
        sma_wire_put_file_name(buf, "title", part);
    }
    sma_buf_put_char(buf, '}');
}

static void put_content(struct sma_buf *buf, const struct sma_target *target,
                        const struct sma_tool_result *result)
{
    bool has_parts = result->part_count > 0 && !result->is_error;
    if (result->content.len == 0 && !has_parts)
        return;
    sma_buf_put_json_key(buf, "content");
    if (!has_parts) {
        sma_buf_put_json_string(buf, result->content);
        return;
    }
    sma_buf_put_char(buf, '[');
    if (result->content.len > 0)
        sma_wire_put_text_part(buf, "text", result->content);
    sma_wire_put_result_parts(buf, &sma_wire_messages, target, result);
    sma_buf_put_char(buf, ']');
}

/* All results in one user message, nothing before them: any other order is refused. A result that
 * is an error holds text alone: what it shows stands behind them. Source: protocols/models.md
 * §4.2. */
static void put_results(struct sma_buf *buf, const struct sma_target *target,
                        const struct sma_tool_result *results, size_t result_count)
{
    if (result_count == 0)
        return;
    sma_buf_put_text(buf, "{\"role\":\"user\",\"content\":[");
    for (size_t i = 0; i < result_count; i++) {
        sma_buf_put_text(buf, i == 0 ? "" : ",");
        sma_buf_put_text(buf, "{\"type\":\"tool_result\",\"tool_use_id\":");
        sma_buf_put_json_string(buf, results[i].call_id);
        put_content(buf, target, &results[i]);
        if (results[i].is_error)
            sma_buf_put_text(buf, ",\"is_error\":true");
        sma_buf_put_char(buf, '}');
    }
    for (size_t i = 0; i < result_count; i++)
        if (results[i].is_error)
            sma_wire_put_result_parts(buf, &sma_wire_messages, target, &results[i]);
    sma_buf_put_text(buf, "]}");
}

static void put_assistant_text(struct sma_buf *buf, const struct sma_target *target,
                               struct sma_str text)
{
    (void)target;
    sma_buf_put_text(buf, "{\"role\":\"assistant\",\"content\":");
    sma_buf_put_json_string(buf, text);
    sma_buf_put_char(buf, '}');
}

static void put_assistant(struct sma_buf *buf, const struct sma_target *target, struct sma_str text,
                          const struct sma_model_call *calls, size_t call_count)
{
    bool is_blank = sma_wire_is_blank(text); /* a blank block is refused */
    if (call_count == 0) {
        if (!is_blank)
            put_assistant_text(buf, target, text);
        return;
    }
    sma_buf_put_text(buf, "{\"role\":\"assistant\",\"content\":[");
    if (!is_blank) {
        sma_buf_put_text(buf, "{\"type\":\"text\",\"text\":");
        sma_buf_put_json_string(buf, text);
        sma_buf_put_text(buf, "},");
    }
    for (size_t i = 0; i < call_count; i++) {
        sma_buf_put_text(buf, i == 0 ? "" : ",");
        sma_buf_put_text(buf, "{\"type\":\"tool_use\",\"id\":");
        sma_buf_put_json_string(buf, calls[i].id);
        sma_buf_put_json_key(buf, "name");
        sma_wire_put_name(buf, calls[i].name);
        sma_buf_put_json_key(buf, "input");
        sma_wire_put_arguments(buf, &calls[i]);
        sma_buf_put_char(buf, '}');
    }
    sma_buf_put_text(buf, "]}");
}

const struct sma_wire sma_wire_messages = {
    .name = "messages",
    .put_head = put_head,
    .put_tail = sma_wire_put_tail,
    .put_user = sma_wire_put_user,
    .text_type = "text",
    .put_part = put_part,
    .put_results = put_results,
    .put_assistant_text = put_assistant_text,
    .put_assistant = put_assistant,
    .find_mark = sma_wire_find_mark,
};
