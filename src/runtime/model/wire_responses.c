/* OpenAI Responses API, stateless (store:false, everything sent each time). Source:
 * protocols/llm.md §3; models.md §2.1. */
#include "wire_priv.h"

static void put_tools(struct sma_buf *buf, const struct sma_target *target,
                      const struct sma_tool_spec *tools, size_t tool_count)
{
    if (tool_count == 0)
        return;
    /* The default of this API is strict, which refuses schemas with optional members. */
    const char *end = sma_target_refuses(target, "strict") ? "}" : ",\"strict\":false}";
    sma_buf_put_json_key(buf, "tools");
    for (size_t i = 0; i < tool_count; i++) {
        sma_buf_put_text(buf, i == 0 ? "[" : ",");
        sma_buf_put_text(buf, "{\"type\":\"function\",\"name\":");
        sma_buf_put_json_string(buf, tools[i].name);
        sma_buf_put_json_key(buf, "description");
        sma_buf_put_json_string(buf, tools[i].description);
        sma_buf_put_json_key(buf, "parameters");
        sma_wire_put_schema(buf, tools[i].parameters_json);
        sma_buf_put_text(buf, end);
    }
    sma_buf_put_char(buf, ']');
}

/* instructions are a string and hold no breakpoint, so that the text then is the first item. */
static void put_system(struct sma_buf *buf, const struct sma_target *target, struct sma_str system)
{
    bool has_breakpoint = target->profile.cache == SMA_CACHE_BREAKPOINT &&
                          sma_wire_allows(target, "prompt_cache_breakpoint");
    if (system.len > 0 && !has_breakpoint) {
        sma_buf_put_json_key(buf, "instructions");
        sma_buf_put_json_string(buf, system);
    }
    sma_buf_put_json_key(buf, "input");
    sma_buf_put_char(buf, '[');
    if (system.len == 0 || !has_breakpoint)
        return;
    sma_buf_put_text(buf,
                     "{\"role\":\"developer\",\"content\":[{\"type\":\"input_text\",\"text\":");
    sma_buf_put_json_string(buf, system);
    sma_buf_put_text(buf, ",\"prompt_cache_breakpoint\":{\"mode\":\"explicit\"}}]},");
}

static void put_head(struct sma_buf *buf, const struct sma_target *target, struct sma_str system,
                     const struct sma_tool_spec *tools, size_t tool_count)
{
    tool_count = sma_target_refuses(target, SMA_REFUSES_TOOLS) ? 0 : tool_count;
    sma_buf_put_text(buf, "{\"model\":");
    sma_buf_put_json_string(buf, sma_str(target->llm->model));
    if (sma_wire_allows(target, "store"))
        sma_buf_put_text(buf, ",\"store\":false");
    /* Reasoning items must travel with their calls when nothing is stored; models that do not
     * reason refuse the member. */
    if (target->profile.has_encrypted_reasoning && sma_wire_allows(target, "include"))
        sma_buf_put_text(buf, ",\"include\":[\"reasoning.encrypted_content\"]");
    sma_wire_put_cap(buf, target);
    sma_wire_put_sampling(buf, target, tool_count > 0);
    sma_wire_put_effort(buf, target, tool_count > 0, 0);
    if (target->llm->is_stream && sma_wire_allows(target, SMA_REFUSES_STREAM))
        sma_buf_put_text(buf, ",\"stream\":true");
    put_tools(buf, target, tools, tool_count);
    put_system(buf, target, system);
}

static void put_user(struct sma_buf *buf, const struct sma_target *target,
                     const struct sma_str *blocks, size_t block_count)
{
    (void)target;
    sma_buf_put_text(buf, "{\"role\":\"user\",");
    sma_wire_put_blocks(buf, "input_text", false, blocks, block_count);
    sma_buf_put_char(buf, '}');
}

/* image_url is a string here. Source: protocols/models.md §4.1. */
static void put_part(struct sma_buf *buf, const struct sma_target *target,
                     const struct sma_part *part)
{
    (void)target;
    if (part->kind == SMA_PART_IMAGE) {
        sma_buf_put_text(buf, "{\"type\":\"input_image\",\"detail\":\"auto\",\"image_url\":");
    } else {
        sma_buf_put_text(buf, "{\"type\":\"input_file\",");
        sma_wire_put_file_name(buf, "filename", part);
        sma_buf_put_json_key(buf, "file_data");
    }
    sma_wire_put_data_url(buf, part);
    sma_buf_put_char(buf, '}');
}

static void put_output(struct sma_buf *buf, const struct sma_target *target,
                       const struct sma_tool_result *result)
{
    if (result->part_count == 0) {
        sma_buf_put_json_string(buf, result->content);
        return;
    }
    sma_buf_put_char(buf, '[');
    if (result->content.len > 0)
        sma_wire_put_text_part(buf, "input_text", result->content);
    sma_wire_put_result_parts(buf, &sma_wire_responses, target, result);
    sma_buf_put_char(buf, ']');
}

static void put_results(struct sma_buf *buf, const struct sma_target *target,
                        const struct sma_tool_result *results, size_t result_count)
{
    for (size_t i = 0; i < result_count; i++) {
        sma_buf_put_text(buf, i == 0 ? "" : ",");
        sma_buf_put_text(buf, "{\"type\":\"function_call_output\",\"call_id\":");
        sma_buf_put_json_string(buf, results[i].call_id);
        sma_buf_put_json_key(buf, "output");
        put_output(buf, target, &results[i]);
        sma_buf_put_char(buf, '}');
    }
}

static void put_assistant_text(struct sma_buf *buf, const struct sma_target *target,
                               struct sma_str text)
{
    (void)target;
    sma_buf_put_text(buf, "{\"role\":\"assistant\",\"content\":");
    sma_buf_put_json_string(buf, text);
    sma_buf_put_char(buf, '}');
}

/* Items without ids of their own: those of another model are refused. */
static void put_assistant(struct sma_buf *buf, const struct sma_target *target, struct sma_str text,
                          const struct sma_model_call *calls, size_t call_count)
{
    bool is_blank = sma_wire_is_blank(text);
    if (!is_blank)
        put_assistant_text(buf, target, text);
    for (size_t i = 0; i < call_count; i++) {
        struct sma_buf arguments; /* a string that holds JSON */
        sma_buf_init(&arguments, 6 * calls[i].arguments.len + 64);
        sma_wire_put_arguments(&arguments, &calls[i]);
        sma_buf_put_text(buf, i == 0 && is_blank ? "" : ",");
        sma_buf_put_text(buf, "{\"type\":\"function_call\",\"call_id\":");
        sma_buf_put_json_string(buf, calls[i].id);
        sma_buf_put_json_key(buf, "name");
        sma_wire_put_name(buf, calls[i].name);
        sma_buf_put_json_member(buf, "arguments", sma_buf_str(&arguments));
        sma_buf_put_char(buf, '}');
        if (arguments.err != SMA_ERR_OK)
            buf->err = arguments.err;
        sma_buf_fini(&arguments);
    }
}

static bool find_mark(struct sma_str fragment, size_t *ret_offset)
{
    (void)fragment;
    (void)ret_offset;
    return false; /* providers of this wire cache by themselves */
}

const struct sma_wire sma_wire_responses = {
    .name = "responses",
    .put_head = put_head,
    .put_tail = sma_wire_put_tail,
    .put_user = put_user,
    .text_type = "input_text",
    .put_part = put_part,
    .put_results = put_results,
    .put_assistant_text = put_assistant_text,
    .put_assistant = put_assistant,
    .find_mark = find_mark,
};
