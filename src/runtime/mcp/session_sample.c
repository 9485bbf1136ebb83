/*
 * session_sample.c — what a server wants the model asked (sampling/createMessage), read and
 * bounded, and the model's words as its result. Text alone: neither pictures nor
 * tools are announced.
 *
 * What is not about the question itself is not looked at: modelPreferences (the configuration
 * chooses), includeContext (nothing of a conversation is ever sent), temperature, stopSequences and
 * metadata.
 * Source: schema of 2025-11-25 and 2026-07-28, CreateMessageRequestParams and CreateMessageResult.
 */
#include "session_priv.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

/* @return NULL, or why not */
static const char *put_text(struct sma_buf *to, struct sma_str text, size_t *left)
{
    if (text.len > *left)
        return "the text of a sampling request is too large (64 KiB in all)";
    *left -= text.len;
    sma_mcp_put_clean(to, text, SMA_MCP_SAMPLE_BYTES_MAX);
    return to->err == SMA_ERR_OK ? NULL : "out of memory";
}

static const char *put_part(struct sma_buf *to, const json_t *part, size_t *left)
{
    if (!sma_str_is_equal(sma_json_str(part, "type"), SMA_STR("text")) ||
        !json_is_string(json_object_get(part, "text")))
        return "sampling takes text alone: no pictures, sound, tools or their results";
    return put_text(to, sma_json_str(part, "text"), left);
}

/* One part, or a list of them. */
static const char *put_content(struct sma_buf *to, const json_t *content, size_t *left)
{
    if (!json_is_array(content))
        return put_part(to, content, left);
    const char *why = NULL;
    for (size_t i = 0; why == NULL && i < json_array_size(content); i++) {
        if (i > 0)
            sma_buf_put_char(to, '\n');
        why = put_part(to, json_array_get(content, i), left);
    }
    return why;
}

/* Messages of one side that follow each other are one. lines[].text.ptr is set at the end. */
static const char *read_message(struct session_sample *sample, const json_t *message, size_t *left)
{
    struct sma_str role = sma_json_str(message, "role");
    bool is_user = sma_str_is_equal(role, SMA_STR("user"));
    if (!is_user && !sma_str_is_equal(role, SMA_STR("assistant")))
        return "the role of a message is \"user\" or \"assistant\"";
    struct sma_mcp_sample_line *line =
        sample->line_count == 0 ? NULL : &sample->lines[sample->line_count - 1];
    size_t start = sample->text.len;
    if (line != NULL && line->is_user == is_user)
        sma_buf_put_char(&sample->text, '\n');
    else
        line = NULL;
    size_t before = sample->text.len;
    const char *why = put_content(&sample->text, sma_json_get(message, "content"), left);
    if (why == NULL &&
        (sample->text.len == before ||
         sma_str_trim((struct sma_str){sample->text.ptr + before, sample->text.len - before}).len ==
             0))
        why = "a message of a sampling request holds no text";
    if (why != NULL)
        return why;
    if (line == NULL) {
        line = &sample->lines[sample->line_count++];
        *line = (struct sma_mcp_sample_line){.is_user = is_user};
    }
    line->text.len += sample->text.len - start;
    return sample->text.err == SMA_ERR_OK ? NULL : "out of memory";
}

static const char *read_messages(struct session_sample *sample, const json_t *list, size_t *left)
{
    const char *why = NULL;
    if (json_array_size(list) == 0 || json_array_size(list) > SMA_MCP_SAMPLE_MESSAGE_COUNT_MAX)
        return "a sampling request has 1 to 64 messages";
    for (size_t i = 0; why == NULL && i < json_array_size(list); i++)
        why = read_message(sample, json_array_get(list, i), left);
    if (why != NULL)
        return why;
    if (!sample->lines[0].is_user || !sample->lines[sample->line_count - 1].is_user)
        return "the first and the last message of a sampling request are the user's";
    const char *at = sample->text.ptr;
    for (uint32_t i = 0; i < sample->line_count; i++) {
        sample->lines[i].text.ptr = at;
        at += sample->lines[i].text.len;
    }
    return NULL;
}

const char *session_sample_read(struct session_sample *sample, const json_t *params)
{
    size_t left = SMA_MCP_SAMPLE_BYTES_MAX;
    sample->line_count = 0;
    /* what cannot be read is three bytes for one, and line ends come between */
    sma_buf_init(&sample->system, 4 * SMA_MCP_SAMPLE_BYTES_MAX);
    sma_buf_init(&sample->text, 4 * SMA_MCP_SAMPLE_BYTES_MAX);
    if (sma_json_get(params, "tools") != NULL || sma_json_get(params, "toolChoice") != NULL)
        return "sampling is done without tools: sampling.tools was not announced";
    int64_t tokens = sma_json_int(params, "maxTokens", 1, INT64_MAX, 0);
    if (tokens == 0)
        return "maxTokens of a sampling request must be a whole number, at least 1";
    sample->tokens_max =
        (uint32_t)(tokens < SMA_MCP_SAMPLE_TOKENS_MAX ? tokens : SMA_MCP_SAMPLE_TOKENS_MAX);
    const char *why = put_text(&sample->system, sma_json_str(params, "systemPrompt"), &left);
    return why != NULL ? why : read_messages(sample, sma_json_get(params, "messages"), &left);
}

void session_sample_fini(struct session_sample *sample)
{
    sma_buf_fini(&sample->system);
    sma_buf_fini(&sample->text);
}

json_t *session_sample_reply(const struct sma_mcp_sampled *sampled)
{
    return json_pack("{s:s,s:{s:s,s:s%},s:s%,s:s}", "role", "assistant", "content", "type", "text",
                     "text", sampled->text.ptr, sampled->text.len, "model", sampled->model.ptr,
                     sampled->model.len, "stopReason", sampled->is_cut ? "maxTokens" : "endTurn");
}
