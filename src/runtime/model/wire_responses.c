/* OpenAI Responses API, stateless (store:false, everything sent each time). Source:
 * protocols/llm.md §3. */
#include "wire_priv.h"

static void put_tools(struct sma_buf *buf, const struct sma_tool_spec *tools, size_t tool_count)
{
    if (tool_count == 0)
        return;
    sma_buf_put_json_key(buf, "tools");
    for (size_t i = 0; i < tool_count; i++) {
        sma_buf_put_text(buf, i == 0 ? "[" : ",");
        sma_buf_put_text(buf, "{\"type\":\"function\",\"name\":");
        sma_buf_put_json_string(buf, tools[i].name);
        sma_buf_put_json_key(buf, "description");
        sma_buf_put_json_string(buf, tools[i].description);
        sma_buf_put_json_key(buf, "parameters");
        sma_wire_put_schema(buf, tools[i].parameters_json);
        /* The default of this API is strict, which refuses schemas with optional members. */
        sma_buf_put_text(buf, ",\"strict\":false}");
    }
    sma_buf_put_char(buf, ']');
}

static void put_head(struct sma_buf *buf, const struct sma_target *target, struct sma_str system,
                     const struct sma_tool_spec *tools, size_t tool_count)
{
    const struct sma_config_llm *llm = target->llm;
    sma_buf_put_text(buf, "{\"model\":");
    sma_buf_put_json_string(buf, sma_str(llm->model));
    sma_buf_put_text(buf, ",\"store\":false");
    if (sma_wire_is_openai(
            llm)) /* reasoning items must travel with their calls when nothing is stored */
        sma_buf_put_text(buf, ",\"include\":[\"reasoning.encrypted_content\"]");
    if (llm->max_tokens > 0) {
        sma_buf_put_json_key(buf, "max_output_tokens");
        sma_buf_put_i64(buf, llm->max_tokens);
    }
    sma_wire_put_option(buf, "temperature", llm->has_temperature, llm->temperature);
    sma_wire_put_option(buf, "top_p", llm->has_top_p, llm->top_p);
    if (llm->is_stream)
        sma_buf_put_text(buf, ",\"stream\":true");
    put_tools(buf, tools, tool_count);
    if (system.len > 0) {
        sma_buf_put_json_key(buf, "instructions");
        sma_buf_put_json_string(buf, system);
    }
    sma_buf_put_json_key(buf, "input");
    sma_buf_put_char(buf, '[');
}

static void put_user(struct sma_buf *buf, const struct sma_str *blocks, size_t block_count)
{
    sma_buf_put_text(buf, "{\"role\":\"user\",");
    sma_wire_put_blocks(buf, "input_text", blocks, block_count);
    sma_buf_put_char(buf, '}');
}

static void put_results(struct sma_buf *buf, const struct sma_tool_result *results,
                        size_t result_count)
{
    for (size_t i = 0; i < result_count; i++) {
        sma_buf_put_text(buf, i == 0 ? "" : ",");
        sma_buf_put_text(buf, "{\"type\":\"function_call_output\",\"call_id\":");
        sma_buf_put_json_string(buf, results[i].call_id);
        sma_buf_put_json_key(buf, "output");
        sma_buf_put_json_string(buf, results[i].content);
        sma_buf_put_char(buf, '}');
    }
}

const struct sma_wire sma_wire_responses = {
    .name = "responses",
    .put_head = put_head,
    .put_tail = sma_wire_put_tail,
    .put_user = put_user,
    .put_results = put_results,
    .put_assistant_text = sma_wire_put_assistant_text,
};
