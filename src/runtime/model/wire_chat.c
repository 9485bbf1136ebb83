/* OpenAI chat completions, the format most compatible servers speak. Source: protocols/llm.md §2,
 * §5. */
#include "wire_priv.h"

static void put_tools(struct sma_buf *buf, const struct sma_tool_spec *tools, size_t tool_count)
{
    if (tool_count == 0)
        return;
    sma_buf_put_json_key(buf, "tools");
    for (size_t i = 0; i < tool_count; i++) {
        sma_buf_put_text(buf, i == 0 ? "[" : ",");
        sma_buf_put_text(buf, "{\"type\":\"function\",\"function\":{\"name\":");
        sma_buf_put_json_string(buf, tools[i].name);
        sma_buf_put_json_key(buf, "description");
        sma_buf_put_json_string(buf, tools[i].description);
        sma_buf_put_json_key(buf, "parameters");
        sma_wire_put_schema(buf, tools[i].parameters_json);
        sma_buf_put_text(buf, "}}");
    }
    sma_buf_put_char(buf, ']');
}

static void put_head(struct sma_buf *buf, const struct sma_target *target, struct sma_str system,
                     const struct sma_tool_spec *tools, size_t tool_count)
{
    const struct sma_config_llm *llm = target->llm;
    sma_buf_put_text(buf, "{\"model\":");
    sma_buf_put_json_string(buf, sma_str(llm->model));
    if (llm->max_tokens > 0) {
        /* OpenAI's reasoning models refuse max_tokens; most other servers know nothing else. */
        sma_buf_put_json_key(buf, sma_wire_is_openai(llm) ? "max_completion_tokens" : "max_tokens");
        sma_buf_put_i64(buf, llm->max_tokens);
    }
    sma_wire_put_option(buf, "temperature", llm->has_temperature, llm->temperature);
    sma_wire_put_option(buf, "top_p", llm->has_top_p, llm->top_p);
    sma_wire_put_option(buf, "frequency_penalty", llm->has_frequency_penalty,
                        llm->frequency_penalty);
    sma_wire_put_option(buf, "presence_penalty", llm->has_presence_penalty, llm->presence_penalty);
    if (llm->is_stream) {
        sma_buf_put_text(buf, ",\"stream\":true");
        if (sma_wire_has_stream_usage(llm))
            sma_buf_put_text(buf, ",\"stream_options\":{\"include_usage\":true}");
    }
    put_tools(buf, tools, tool_count);
    sma_buf_put_json_key(buf, "messages");
    sma_buf_put_char(buf, '[');
    if (system.len == 0)
        return;
    sma_buf_put_text(buf, "{\"role\":\"system\",\"content\":");
    sma_buf_put_json_string(buf, system);
    sma_buf_put_text(buf, "},");
}

static void put_results(struct sma_buf *buf, const struct sma_tool_result *results,
                        size_t result_count)
{
    for (size_t i = 0; i < result_count; i++) {
        sma_buf_put_text(buf, i == 0 ? "" : ",");
        sma_buf_put_text(buf, "{\"role\":\"tool\",\"tool_call_id\":");
        sma_buf_put_json_string(buf, results[i].call_id);
        sma_buf_put_json_key(buf, "content");
        sma_buf_put_json_string(buf, results[i].content); /* no error flag here: the text says it */
        sma_buf_put_char(buf, '}');
    }
}

const struct sma_wire sma_wire_chat = {
    .name = "chat",
    .put_head = put_head,
    .put_tail = sma_wire_put_tail,
    .put_user = sma_wire_put_user,
    .put_results = put_results,
    .put_assistant_text = sma_wire_put_assistant_text,
};
