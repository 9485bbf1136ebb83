/* retry_member.c — which member of the request a 400 is about. Texts: protocols/models.md §2 and
 * the threads named there. */
#include "retry_priv.h"

#include <ctype.h>
#include <stdio.h>

/* What no request can do without: a repeat without them makes no sense. */
static bool is_needed(const char *member)
{
    static const char *const roots[] = {"model",  "messages", "input",  "tools",       "system",
                                        "prompt", "contents", "stream", "instructions"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        size_t len = strlen(roots[i]);
        if (strncmp(member, roots[i], len) == 0 &&
            (member[len] == '\0' || member[len] == '.' || member[len] == '['))
            return true;
    }
    return false;
}

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
    static const char *const refusals[] = {
        "not support", "unsupported", "not permitted", "unknown", "unrecogni", "deprecated",
        "invalid",     "not allowed", "must be",       "cannot",  "may only",  "unexpected",
        "not be used", "restricted",  "参数",          "不支持"};
    static const char *const names[] = {"temperature",
                                        "top_p",
                                        "top_k",
                                        "frequency_penalty",
                                        "presence_penalty",
                                        "reasoning.effort",
                                        "reasoning_effort",
                                        "reasoning.summary",
                                        "thinking_budget",
                                        "enable_thinking",
                                        "thinking.type",
                                        "thinking.budget_tokens",
                                        "output_config.effort",
                                        "output_config",
                                        "stream_options",
                                        "max_completion_tokens",
                                        "max_output_tokens",
                                        "max_tokens",
                                        "tool_choice",
                                        "parallel_tool_calls",
                                        "prompt_cache_key",
                                        "prompt_cache_options",
                                        "prompt_cache_retention",
                                        "prompt_cache_breakpoint",
                                        "cache_control",
                                        "service_tier",
                                        "tool_stream",
                                        "clear_thinking",
                                        "preserve_thinking",
                                        "chat_template_kwargs",
                                        "context_management",
                                        "reasoning.encrypted_content"};
    if (!sma_retry_has_word(said, refusals, sizeof refusals / sizeof *refusals))
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
        if (sma_retry_has_word(failure->error.said, &sentences[i].pattern, 1))
            return take(sentences[i].member, strlen(sentences[i].member), ret_member, size);
    return false;
}

void sma_retry_find_member(const struct sma_failure *failure, char *ret_member, size_t size)
{
    const struct sma_wire_error *error = &failure->error;
    ret_member[0] = '\0';
    static const char *const lacking[] = {"missing required", "field required", "is required"};
    if (sma_retry_has_word(error->said, lacking, sizeof lacking / sizeof *lacking))
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
