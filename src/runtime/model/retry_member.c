/* retry_member.c — which form or member of the request a refusal is about. Texts:
 * protocols/models.md §2, the threads named there, and those of the field. */
#include "retry_priv.h"

#include "runtime/model/target.h"

#include <ctype.h>
#include <stdio.h>

/* What no request can do without: a repeat without them makes no sense. */
static bool is_needed(const char *member)
{
    static const char *const roots[] = {"model",  "messages", "input",    "inputs", "tools",
                                        "system", "prompt",   "contents", "stream", "instructions"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        size_t len = strlen(roots[i]);
        if (strncmp(member, roots[i], len) == 0 &&
            (member[len] == '\0' || member[len] == '.' || member[len] == '['))
            return true;
    }
    return false;
}

/* -- forms ------------------------------------------------------------------------------------- */
/* Words of refusal -> what is written otherwise from then on. '*' stands for any bytes; the first
 * row that fits counts. Sources: the field (issues of the servers named), or seen in several. */
static const struct
{
    const char *form, *words;
} FORMS[] = {
    /* DeepSeek, Moonshot, and gateways to them */
    {SMA_WANTS_REASONING,
     "reasoning_content*must be passed back|reasoning_content is missing|"
     "missing*reasoning_content|reasoning_content*is required|must include*reasoning_content"},
    {SMA_REFUSES_REASONING, "reasoning_content*not permitted|reasoning_content*unsupported|"
                            "reasoning_content*not supported|reasoning_content*not allowed|"
                            "unknown field*reasoning_content|unexpected*reasoning_content"},
    /* null: pydantic, serde, Go */
    {SMA_REFUSES_NULL,
     "content\"*input should be a valid string*\"input\":null|none is not an allowed value|"
     "invalid type: null|content*not be null|content*cannot be null|content*got null|"
     "expected*string*null|nonetype"},
    /* lists */
    {SMA_REFUSES_LISTS, "only text content|unhashable type: 'list'|"
                        "content\"*input should be a valid string|content*str type expected|"
                        "invalid type: sequence, expected a string|cannot unmarshal array|"
                        "type must be string, but is array"},
    /* llama.cpp */
    {SMA_REFUSES_LISTS,
     "content*must be a string|content*should be a string|content*must be string|"
     "content*expected*string*array|content*expected*string*list|"
     "content*is not of type 'string'|concatenate str (not \"list\")|"
     "'list' object has no attribute|only string content|content parts*not supported|"
     "content*必须是字符串"},
    /* system: templates of Gemma, Mistral; Google for Gemma */
    {SMA_REFUSES_SYSTEM,
     "only `user`*assistant`|developer role*not support|"
     "system role*not support|role*system*not support|not support*system role|"
     "not support*system message|system message*not support|not support*system prompt|"
     "system prompt*not support|system*not allowed|unknown variant `system`|"
     "invalid role*system|unexpected role*system|unknown role*system|unsupported role*system|"
     "only user and assistant roles|developer instruction is not enabled|roles must alternate|"
     "不支持system"},
    /* tools: Ollama, vLLM, llama.cpp, OpenRouter, Google */
    {SMA_REFUSES_TOOLS,
     "\"body\",\"tools\"]|\"body\",\"tools\",*\"function\"]*required|`tools` is not|'tools' is "
     "not|tool calling not|tools not supported|function calling not|"
     "not support tool|not support*function call|support tool use|tool use is not|"
     "tools are not|tools is not supported|tool calling is not|tool calls are not|"
     "function calling is not|functions are not supported|enable-auto-tool-choice|"
     "tool-call-parser|requires --jinja|unsupported*: tools|unsupported parameter*'tools'|"
     "unknown field*\"tools|tools: extra inputs|不支持工具|不支持函数|不支持function"},
    /* streams */
    {SMA_REFUSES_STREAM,
     "not support stream|streaming is not|streaming not|stream is not supported|"
     "stream=true*not support|stream must be false"},
};

const char *sma_retry_find_form(const char *said)
{
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++)
        if (sma_retry_has(said, FORMS[i].words))
            return FORMS[i].form;
    return NULL;
}

/* -- members ----------------------------------------------------------------------------------- */
static size_t name_length(const char *text)
{
    size_t len = 0;
    while (isalnum((unsigned char)text[len]) || text[len] == '_' || text[len] == '.' ||
           text[len] == '-')
        len++;
    while (len > 0 && (text[len - 1] == '.' || text[len - 1] == '-')) /* the end of a sentence */
        len--;
    return len;
}

static bool take(const char *name, size_t len, char *ret_member, size_t size)
{
    char member[SMA_RETRY_MEMBER_BYTES_MAX];
    if (len > 5 && memcmp(name, "body.", 5) == 0) {
        name += 5;
        len -= 5;
    }
    if (len == 0 || len >= sizeof member || len >= size || isdigit((unsigned char)name[0]))
        return false;
    snprintf(member, sizeof member, "%.*s", (int)len, name);
    if (is_needed(member))
        return false;
    memcpy(ret_member, member, len + 1);
    return true;
}

/* "Unsupported parameter: 'x'": the words, an optional quote, the name. */
static bool find_behind_words(const char *said, char *ret_member, size_t size)
{
    static const char *const words[] = {"unsupported parameter: ",
                                        "unsupported parameter ",
                                        "unknown parameter: ",
                                        "unrecognized request argument supplied: ",
                                        "unrecognized request arguments supplied: ",
                                        "unsupported value: ",
                                        "unknown name ",
                                        "property ",
                                        "unexpected keyword argument ",
                                        "unknown field ",
                                        "unrecognized field ",
                                        "unknown argument: ",
                                        "the parameter ",
                                        "invalid parameter: ",
                                        "invalid value for ",
                                        "parameter ",
                                        "'loc': ('body', "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(said, words[i]);
        for (; at != NULL; at = strstr(at + 1, words[i])) {
            const char *name = at + strlen(words[i]);
            bool is_quoted = *name == '\'' || *name == '"' || *name == '`' ||
                             (name[0] == '\\' && name[1] == '"');
            name += is_quoted ? 1 + (*name == '\\') : 0;
            size_t len = name_length(name);
            bool is_name = is_quoted || strchr("'\"`:", words[i][strlen(words[i]) - 2]) != NULL ||
                           memchr(name, '_', len) != NULL;
            if (is_name && take(name, len, ret_member, size))
                return true;
        }
    }
    return false;
}

/* "temperature: Extra inputs are not permitted", "`temperature` is deprecated for this model". */
static bool find_in_front(const char *said, char *ret_member, size_t size)
{
    const char *name = said + (*said == '`' || *said == '\'' || *said == '"');
    size_t len = name_length(name);
    if (name != said)
        return name[len] == *said && take(name, len, ret_member, size);
    if (strncmp(name + len, ": ", 2) != 0 || (len >= 5 && memcmp(name + len - 5, "error", 5) == 0))
        return false;
    bool is_path = memchr(name, '_', len) != NULL || memchr(name, '.', len) != NULL ||
                   strstr(said, "extra inputs are not permitted") != NULL ||
                   strncmp(name + len, ": range: ", 9) == 0;
    return is_path && take(name, len, ret_member, size);
}

static bool is_word_at(const char *text, const char *at, size_t len)
{
    bool has_start = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
    return has_start && !(isalnum((unsigned char)at[len]) || at[len] == '_');
}

/* Anywhere in a sentence that refuses: only names that are not words of a language. */
static bool find_known(const char *said, char *ret_member, size_t size)
{
    /* clang-format off */
    static const char *const names[] = {
        "temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty",
        "reasoning.effort", "reasoning_effort", "reasoning.summary", "thinking_budget",
        "enable_thinking", "thinking.type", "thinking.budget_tokens", "output_config.effort",
        "output_config", "stream_options", "max_completion_tokens", "max_output_tokens",
        "max_tokens", "tool_choice", "parallel_tool_calls", "prompt_cache_key",
        "prompt_cache_options", "prompt_cache_retention", "prompt_cache_breakpoint",
        "cache_control", "service_tier", "tool_stream", "clear_thinking", "preserve_thinking",
        "chat_template_kwargs", "context_management", "reasoning.encrypted_content",};
    /* clang-format on */
    if (!sma_retry_has(said, "not support|unsupported|not permitted|unknown|unrecogni|deprecated|"
                             "invalid|not allowed|must be|cannot|may only|unexpected|not be used|"
                             "restricted|参数|不支持"))
        return false;
    const char *first = NULL, *name = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *at = strstr(said, names[i]);
        if (at == NULL || !is_word_at(said, at, strlen(names[i])) || (first != NULL && at >= first))
            continue;
        first = at;
        name = names[i];
    }
    return name != NULL && take(name, strlen(name), ret_member, size);
}

/* Sentences that name a member in plain words. */
static bool find_said(const struct sma_failure *failure, char *ret_member, size_t size)
{
    bool is_messages = failure->llm != NULL && failure->llm->api == SMA_LLM_MESSAGES;
    const struct
    {
        const char *pattern, *member;
    } sentences[] = {
        {"temperature*top_p*cannot both", "top_p"},
        {"encrypted content is not supported", "include"},
        {"tool choice must be", "tool_choice"},
        {"support this tool_choice", "tool_choice"},
        {"support the effort parameter", is_messages ? "output_config.effort" : "reasoning_effort"},
        {"thinking*is not supported", is_messages ? "thinking" : "enable_thinking"},
    };
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (sma_retry_has(failure->error.said, sentences[i].pattern))
            return take(sentences[i].member, strlen(sentences[i].member), ret_member, size);
    return false;
}

void sma_retry_find_member(const struct sma_failure *failure, char *ret_member, size_t size)
{
    const struct sma_wire_error *error = &failure->error;
    ret_member[0] = '\0';
    if (sma_retry_has(error->said, "missing required|field required|is required"))
        return; /* something is not there: leaving more out is no cure */
    if (error->param[0] != '\0' && name_length(error->param) == strlen(error->param)) {
        (void)take(error->param, strlen(error->param), ret_member,
                   size); /* empty when it is needed */
        return;
    }
    if (find_said(failure, ret_member, size) || find_behind_words(error->said, ret_member, size) ||
        find_in_front(error->said, ret_member, size))
        return;
    (void)find_known(error->said, ret_member, size); /* else none is named */
}
