/* Anthropic Messages. Source: protocols/llm.md §4, §6. */
#include "wire_priv.h"

/* max_tokens is required. The most each family accepts (reference §2.4); unknown models get a value
 * all accept. */
static int64_t default_max_tokens(const char *model)
{
    static const struct
    {
        const char *part;
        int64_t max_tokens;
    } table[] = {
        {"opus-4-2025", 32000},   {"opus-4-0", 32000},      {"opus-4-1", 32000},
        {"3-7-sonnet", 64000},    {"3-5-haiku", 8192},      {"3-5-sonnet", 8192},
        {"claude-3-haiku", 4096}, {"claude-3-opus", 4096},  {"sonnet-4", 64000},
        {"opus-4-", 64000},       {"haiku-4", 64000},       {"claude-haiku", 64000},
        {"claude-opus", 64000},   {"claude-sonnet", 64000},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(table); i++)
        if (strstr(model, table[i].part) != NULL)
            return table[i].max_tokens;
    return 8192;
}

/* From this version on the API answers 400 when a sampling member is present at all. */
static bool has_sampling(const struct sma_config_llm *llm)
{
    return strcmp(llm->anthropic_version, "2026-10-21") < 0;
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

static void put_head(struct sma_buf *buf, const struct sma_target *target, struct sma_str system,
                     const struct sma_tool_spec *tools, size_t tool_count)
{
    const struct sma_config_llm *llm = target->llm;
    sma_buf_put_text(buf, "{\"model\":");
    sma_buf_put_json_string(buf, sma_str(llm->model));
    sma_buf_put_json_key(buf, "max_tokens");
    sma_buf_put_i64(buf, llm->max_tokens > 0 ? llm->max_tokens : default_max_tokens(llm->model));
    sma_wire_put_option(buf, "temperature", llm->has_temperature && has_sampling(llm),
                        llm->temperature);
    sma_wire_put_option(buf, "top_p", llm->has_top_p && has_sampling(llm), llm->top_p);
    if (llm->is_stream)
        sma_buf_put_text(buf, ",\"stream\":true");
    put_tools(buf, tools, tool_count);
    if (system.len > 0) {
        /* The one cache mark: it covers tools and system, which come first in the provider's order
         * too, and it never
         * moves, so that the bytes of a session's prefix stay equal from request to request. */
        sma_buf_put_text(buf, ",\"system\":[{\"type\":\"text\",\"text\":");
        sma_buf_put_json_string(buf, system);
        sma_buf_put_text(buf, ",\"cache_control\":{\"type\":\"ephemeral\"}}]");
    }
    sma_buf_put_json_key(buf, "messages");
    sma_buf_put_char(buf, '[');
}

/* All results in one user message, nothing before them: any other order is refused. */
static void put_results(struct sma_buf *buf, const struct sma_tool_result *results,
                        size_t result_count)
{
    if (result_count == 0)
        return;
    sma_buf_put_text(buf, "{\"role\":\"user\",\"content\":[");
    for (size_t i = 0; i < result_count; i++) {
        sma_buf_put_text(buf, i == 0 ? "" : ",");
        sma_buf_put_text(buf, "{\"type\":\"tool_result\",\"tool_use_id\":");
        sma_buf_put_json_string(buf, results[i].call_id);
        if (results[i].content.len > 0) {
            sma_buf_put_json_key(buf, "content");
            sma_buf_put_json_string(buf, results[i].content);
        }
        if (results[i].is_error)
            sma_buf_put_text(buf, ",\"is_error\":true");
        sma_buf_put_char(buf, '}');
    }
    sma_buf_put_text(buf, "]}");
}

const struct sma_wire sma_wire_messages = {
    .name = "messages",
    .put_head = put_head,
    .put_tail = sma_wire_put_tail,
    .put_user = sma_wire_put_user,
    .put_results = put_results,
    .put_assistant_text = sma_wire_put_assistant_text,
};
