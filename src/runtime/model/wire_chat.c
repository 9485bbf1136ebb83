/* OpenAI chat completions, the format most compatible servers speak. Source: protocols/llm.md §2,
 * §5; models.md §2. */
#include "wire_priv.h"

#include <stdlib.h>

/* Gemini refuses calls of other models without it. Source: protocols/models.md §5. */
#define FOREIGN_SIGNATURE                                    \
    ",\"extra_content\":{\"google\":{\"thought_signature\":" \
    "\"skip_thought_signature_validator\"}}"

/* Small servers read strings only: what is text alone leaves as one. */
static void put_joined(struct sma_buf *buf, const struct sma_str *blocks, size_t block_count)
{
    bool is_first = true;
    sma_buf_put_text(buf, "\"content\":\"");
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i].len == 0)
            continue;
        sma_buf_put_text(buf, is_first ? "" : "\\n\\n");
        sma_buf_put_json_escaped(buf, blocks[i]);
        is_first = false;
    }
    sma_buf_put_char(buf, '"');
}

static void put_user(struct sma_buf *buf, const struct sma_target *target,
                     const struct sma_str *blocks, size_t block_count)
{
    sma_buf_put_text(buf, "{\"role\":\"user\",");
    /* The model without a network tells its own blocks apart by them. */
    bool is_offline = target != NULL && target->llm->api == SMA_LLM_OFFLINE;
    if (sma_wire_has_marks(target) || (is_offline && block_count > 1))
        sma_wire_put_blocks(buf, "text", true, blocks, block_count);
    else
        put_joined(buf, blocks, block_count);
    sma_buf_put_char(buf, '}');
}

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

static void put_system(struct sma_buf *buf, const struct sma_target *target, struct sma_str system)
{
    const char *mark = "";
    if (sma_target_refuses(target, SMA_REFUSES_SYSTEM)) {
        /* In front of the first user message; an answer between them, since some templates want
         * the two sides in turn. */
        put_user(buf, target, &system, 1);
        sma_buf_put_text(buf, ",{\"role\":\"assistant\",\"content\":\"Understood.\"},");
        return;
    }
    if (sma_wire_has_marks(target))
        mark = SMA_WIRE_MARK;
    else if (target->profile.cache == SMA_CACHE_BREAKPOINT &&
             sma_wire_allows(target, "prompt_cache_breakpoint"))
        mark = ",\"prompt_cache_breakpoint\":{\"mode\":\"explicit\"}";
    sma_buf_put_text(buf, "{\"role\":\"system\",\"content\":");
    if (mark[0] != '\0')
        sma_buf_put_text(buf, "[{\"type\":\"text\",\"text\":");
    sma_buf_put_json_string(buf, system);
    if (mark[0] != '\0') {
        sma_buf_put_text(buf, mark);
        sma_buf_put_text(buf, "}]");
    }
    sma_buf_put_text(buf, "},");
}

static void put_head(struct sma_buf *buf, const struct sma_target *target, struct sma_str system,
                     const struct sma_tool_spec *tools, size_t tool_count)
{
    sma_buf_put_text(buf, "{\"model\":");
    sma_buf_put_json_string(buf, sma_str(target->llm->model));
    tool_count = sma_target_refuses(target, SMA_REFUSES_TOOLS) ? 0 : tool_count;
    sma_wire_put_cap(buf, target);
    sma_wire_put_sampling(buf, target, tool_count > 0);
    sma_wire_put_effort(buf, target, tool_count > 0, 0);
    if (target->llm->is_stream && sma_wire_allows(target, SMA_REFUSES_STREAM)) {
        sma_buf_put_text(buf, ",\"stream\":true");
        if (target->profile.has_stream_usage && sma_wire_allows(target, "stream_options"))
            sma_buf_put_text(buf, ",\"stream_options\":{\"include_usage\":true}");
    }
    put_tools(buf, tools, tool_count);
    sma_buf_put_json_key(buf, "messages");
    sma_buf_put_char(buf, '[');
    if (system.len > 0)
        put_system(buf, target, system);
}

/* GLM may want the bare text. Source: protocols/models.md §4.1. */
static void put_image(struct sma_buf *buf, const struct sma_target *target,
                      const struct sma_part *part)
{
    sma_buf_put_text(buf, "{\"type\":\"image_url\",\"image_url\":{\"url\":");
    if (target != NULL && sma_target_refuses(target, SMA_REFUSES_DATA_URLS)) {
        sma_buf_put_char(buf, '"');
        sma_part_put_marker(buf, part);
        sma_buf_put_char(buf, '"');
    } else {
        sma_wire_put_data_url(buf, part);
    }
    sma_buf_put_text(buf, "}}");
}

static void put_part(struct sma_buf *buf, const struct sma_target *target,
                     const struct sma_part *part)
{
    if (part->kind == SMA_PART_IMAGE) {
        put_image(buf, target, part);
    } else if (part->kind == SMA_PART_AUDIO) {
        sma_buf_put_text(buf, "{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"");
        sma_part_put_marker(buf, part);
        sma_buf_put_text(buf, "\"");
        sma_buf_put_json_member(buf, "format", sma_part_sound_format(part));
        sma_buf_put_text(buf, "}}");
    } else {
        sma_buf_put_text(buf, "{\"type\":\"file\",\"file\":{");
        sma_wire_put_file_name(buf, "filename", part);
        sma_buf_put_json_key(buf, "file_data");
        sma_wire_put_data_url(buf, part);
        sma_buf_put_text(buf, "}}");
    }
}

/* A result is text alone here: what it shows is in a user message behind all of them. Source:
 * protocols/models.md §4.2. */
static void put_shown(struct sma_buf *buf, const struct sma_target *target,
                      const struct sma_tool_result *results, size_t result_count)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < result_count; i++)
        count += results[i].part_count;
    if (count == 0)
        return;
    struct sma_block_part *parts = calloc(count, sizeof *parts);
    if (parts == NULL) {
        buf->err = SMA_ERR_NOMEM;
        return;
    }
    for (size_t i = 0; i < result_count; i++)
        for (uint32_t k = 0; k < results[i].part_count; k++)
            parts[at++] = (struct sma_block_part){.part = &results[i].parts[k], .block = 1};
    struct sma_str head = SMA_STR("Attached to the results of the tools:");
    sma_buf_put_char(buf, ',');
    sma_wire_put_user_parts(buf, &sma_wire_chat, target, &head, 1, parts, count);
    free(parts);
}

static void put_results(struct sma_buf *buf, const struct sma_target *target,
                        const struct sma_tool_result *results, size_t result_count)
{
    bool is_list = sma_wire_has_marks(target);
    for (size_t i = 0; i < result_count; i++) {
        sma_buf_put_text(buf, i == 0 ? "" : ",");
        sma_buf_put_text(buf, "{\"role\":\"tool\",\"tool_call_id\":");
        sma_buf_put_json_string(buf, results[i].call_id);
        sma_buf_put_char(buf, ',');
        /* no error flag here: the text says it */
        sma_wire_put_blocks(buf, "text", is_list, &results[i].content, 1);
        sma_buf_put_char(buf, '}');
    }
    put_shown(buf, target, results, result_count);
}

/* Only behind a text: pictures carry no marks here. */
static bool find_mark(struct sma_str fragment, size_t *ret_offset)
{
    return fragment.len >= 4 && fragment.ptr[fragment.len - 4] == '"' &&
           sma_wire_find_mark(fragment, ret_offset);
}

/* While it thinks, the provider wants the member on every message, also on those of other
 * models. */
static void put_no_reasoning(struct sma_buf *buf, const struct sma_target *target)
{
    if (target != NULL && target->profile.echo == SMA_ECHO_EVERY)
        sma_buf_put_json_member(buf, target->profile.echo_member, (struct sma_str){"", 0});
}

static void put_assistant_text(struct sma_buf *buf, const struct sma_target *target,
                               struct sma_str text)
{
    sma_buf_put_text(buf, "{\"role\":\"assistant\",\"content\":");
    sma_buf_put_json_string(buf, text);
    put_no_reasoning(buf, target);
    sma_buf_put_char(buf, '}');
}

static void put_call(struct sma_buf *buf, const struct sma_model_call *call)
{
    struct sma_buf arguments; /* a string that holds JSON */
    sma_buf_init(&arguments, 6 * call->arguments.len + 64);
    sma_wire_put_arguments(&arguments, call);
    sma_buf_put_text(buf, "{\"id\":");
    sma_buf_put_json_string(buf, call->id);
    sma_buf_put_text(buf, ",\"type\":\"function\",\"function\":{\"name\":");
    sma_wire_put_name(buf, call->name);
    sma_buf_put_json_member(buf, "arguments", sma_buf_str(&arguments));
    sma_buf_put_char(buf, '}');
    if (arguments.err != SMA_ERR_OK)
        buf->err = arguments.err;
    sma_buf_fini(&arguments);
}

static void put_assistant(struct sma_buf *buf, const struct sma_target *target, struct sma_str text,
                          const struct sma_model_call *calls, size_t call_count)
{
    bool is_blank = sma_wire_is_blank(text);
    if (call_count == 0) {
        if (!is_blank)
            put_assistant_text(buf, target, text);
        return;
    }
    sma_buf_put_text(buf, "{\"role\":\"assistant\",\"content\":");
    bool has_null = target == NULL || !sma_target_refuses(target, SMA_REFUSES_NULL);
    if (is_blank && has_null)
        sma_buf_put_text(buf, "null");
    else
        sma_buf_put_json_string(buf, is_blank ? SMA_STR("") : text);
    put_no_reasoning(buf, target);
    bool is_signed = target != NULL && target->profile.has_call_signatures;
    for (size_t i = 0; i < call_count; i++) {
        sma_buf_put_text(buf, i == 0 ? ",\"tool_calls\":[" : ",");
        put_call(buf, &calls[i]);
        sma_buf_put_text(buf, i == 0 && is_signed ? FOREIGN_SIGNATURE "}" : "}");
    }
    sma_buf_put_text(buf, "]}");
}

const struct sma_wire sma_wire_chat = {
    .name = "chat",
    .put_head = put_head,
    .put_tail = sma_wire_put_tail,
    .put_user = put_user,
    .text_type = "text",
    .put_part = put_part,
    .put_results = put_results,
    .put_assistant_text = put_assistant_text,
    .put_assistant = put_assistant,
    .find_mark = find_mark,
};
