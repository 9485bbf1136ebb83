/* prompt_words.c — see prompt_words.h. */
#include "runtime/mcp/prompt_words.h"

#include "sma/text.h"

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static bool begins_with(struct sma_str text, const char *prefix)
{
    return text.len >= strlen(prefix) && memcmp(text.ptr, prefix, strlen(prefix)) == 0;
}

/* What stands in quotation marks at the head of *rest; false: nothing does. */
static bool take_quoted(struct sma_str *rest, struct sma_str *ret_word)
{
    static const char *const marks[][2] = {{"\"", "\""}, {"'", "'"}, {"“", "”"}};
    for (size_t i = 0; i < SMA_COUNT_OF(marks); i++) {
        if (!begins_with(*rest, marks[i][0]))
            continue;
        size_t head = strlen(marks[i][0]), tail = strlen(marks[i][1]);
        const char *end = memmem(rest->ptr + head, rest->len - head, marks[i][1], tail);
        if (end == NULL)
            return false;
        *ret_word = (struct sma_str){rest->ptr + head, (size_t)(end - rest->ptr) - head};
        size_t used = head + ret_word->len + tail;
        *rest = (struct sma_str){rest->ptr + used, rest->len - used};
        return true;
    }
    return false;
}

static struct sma_str take_word(struct sma_str *rest)
{
    struct sma_str word;
    if (take_quoted(rest, &word))
        return word;
    word = (struct sma_str){rest->ptr, 0};
    while (word.len < rest->len && !is_blank(word.ptr[word.len]))
        word.len++;
    *rest = (struct sma_str){rest->ptr + word.len, rest->len - word.len};
    return word;
}

/* "name=" at the head of *rest, with the name of an argument: its index. */
static uint32_t take_name(const struct sma_mcp_prompt *prompt, struct sma_str *rest)
{
    for (uint32_t i = 0; i < prompt->argument_count; i++) {
        struct sma_str name = prompt->arguments[i].name;
        if (name.len == 0 || rest->len <= name.len || rest->ptr[name.len] != '=' ||
            memcmp(rest->ptr, name.ptr, name.len) != 0)
            continue;
        *rest = (struct sma_str){rest->ptr + name.len + 1, rest->len - name.len - 1};
        return i;
    }
    return prompt->argument_count;
}

static uint32_t next_free(const struct sma_mcp_prompt *prompt, const bool *has, uint32_t from)
{
    while (from < prompt->argument_count && has[from])
        from++;
    return from;
}

/* Names stand anywhere; what is left of the text goes to the last argument that is left. */
static enum sma_prompt_words assign(const struct sma_mcp_prompt *prompt, struct sma_str words,
                                    struct sma_str *values, bool *has)
{
    for (struct sma_str rest = sma_str_trim(words); rest.len > 0; rest = sma_str_trim(rest)) {
        struct sma_str before = rest;
        uint32_t at = take_name(prompt, &rest);
        bool is_named = at < prompt->argument_count;
        at = is_named ? at : next_free(prompt, has, 0);
        if (at == prompt->argument_count || has[at])
            return SMA_PROMPT_SURPLUS;
        has[at] = true;
        values[at] = take_word(&rest);
        bool is_last = next_free(prompt, has, 0) == prompt->argument_count;
        if (is_named || !is_last || sma_str_trim(rest).len == 0)
            continue;
        values[at] = before; /* as it was written, quotation marks and all */
        return SMA_PROMPT_FIT;
    }
    return SMA_PROMPT_FIT;
}

enum sma_prompt_words sma_prompt_words_read(const struct sma_mcp_prompt *prompt,
                                            struct sma_str words, struct sma_buf *json,
                                            struct sma_str *ret_missing)
{
    struct sma_str values[SMA_MCP_ARGUMENT_COUNT_MAX];
    bool has[SMA_MCP_ARGUMENT_COUNT_MAX] = {false};
    enum sma_prompt_words found = assign(prompt, words, values, has);
    if (found != SMA_PROMPT_FIT)
        return found;
    bool is_first = true;
    sma_buf_put_char(json, '{');
    for (uint32_t i = 0; i < prompt->argument_count; i++) {
        if (!has[i] && prompt->arguments[i].is_required) {
            *ret_missing = prompt->arguments[i].name;
            return SMA_PROMPT_MISSES;
        }
        if (!has[i])
            continue;
        sma_buf_put_text(json, is_first ? "" : ",");
        is_first = false;
        sma_buf_put_json_string(json, prompt->arguments[i].name);
        sma_buf_put_char(json, ':');
        sma_buf_put_json_string(json, values[i]);
    }
    sma_buf_put_char(json, '}');
    return SMA_PROMPT_FIT;
}

void sma_prompt_words_put_usage(struct sma_buf *buf, const struct sma_mcp_prompt *prompt)
{
    sma_buf_put_char(buf, '/');
    sma_buf_put_str(buf, prompt->server);
    sma_buf_put_char(buf, ':');
    sma_buf_put_str(buf, prompt->name);
    for (uint32_t i = 0; i < prompt->argument_count; i++) {
        const struct sma_mcp_argument *argument = &prompt->arguments[i];
        sma_buf_put_text(buf, argument->is_required ? " " : " [");
        sma_buf_put_str(buf, argument->name);
        sma_buf_put_text(buf, argument->is_required ? "" : "]");
    }
}
