#include "wire_priv.h"

#include "sma/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const struct sma_wire *sma_wire_get(enum sma_llm_api api)
{
    switch (api) {
    case SMA_LLM_RESPONSES:
        return &sma_wire_responses;
    case SMA_LLM_MESSAGES:
        return &sma_wire_messages;
    case SMA_LLM_CHAT:
    case SMA_LLM_OFFLINE:
        break;
    }
    return &sma_wire_chat;
}

void sma_wire_put_name(struct sma_buf *buf, struct sma_str name)
{
    sma_buf_put_char(buf, '"');
    for (size_t i = 0; i < name.len && i < 64; i++) {
        char byte = name.ptr[i];
        bool is_name = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= '0' && byte <= '9') || byte == '-';
        sma_buf_put_char(buf, is_name ? byte : '_');
    }
    sma_buf_put_text(buf, name.len == 0 ? "unnamed\"" : "\"");
}

/* -- texts ------------------------------------------------------------------------------------- */
void sma_wire_put_number(struct sma_buf *buf, double number)
{
    char text[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, number);
        if (strtod(text, NULL) == number)
            break;
    }
    char *comma = strchr(text, ',');
    if (comma != NULL)
        *comma = '.';
    sma_buf_put_text(buf, text);
}

void sma_wire_put_schema(struct sma_buf *buf, struct sma_str parameters_json)
{
    sma_buf_put_str(buf,
                    parameters_json.len > 0 ? parameters_json : SMA_STR(SMA_WIRE_NO_PARAMETERS));
}

bool sma_wire_is_blank(struct sma_str text)
{
    return sma_str_trim(text).len == 0;
}

void sma_wire_put_blocks(struct sma_buf *buf, const char *type, bool is_list,
                         const struct sma_str *blocks, size_t block_count)
{
    size_t filled_count = 0;
    struct sma_str only = {"", 0};
    for (size_t i = 0; i < block_count; i++)
        if (blocks[i].len > 0) {
            filled_count++;
            only = blocks[i];
        }
    sma_buf_put_text(buf, "\"content\":");
    if (filled_count == 0 || (filled_count == 1 && !is_list)) {
        sma_buf_put_json_string(buf, only);
        return;
    }
    char separator = '[';
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i].len == 0)
            continue;
        sma_buf_put_char(buf, separator);
        sma_buf_put_text(buf, "{\"type\":\"");
        sma_buf_put_text(buf, type);
        sma_buf_put_text(buf, "\",\"text\":");
        sma_buf_put_json_string(buf, blocks[i]);
        sma_buf_put_char(buf, '}');
        separator = ',';
    }
    sma_buf_put_char(buf, ']');
}

void sma_wire_put_arguments(struct sma_buf *buf, const struct sma_model_call *call)
{
    if (!call->is_invalid) {
        sma_buf_put_str(buf, call->arguments.len > 0 ? call->arguments : SMA_STR("{}"));
        return;
    }
    sma_buf_put_text(buf, "{\"invalid_arguments\":");
    sma_buf_put_json_string(buf, call->arguments);
    sma_buf_put_char(buf, '}');
}

#define CALL_ID_BYTES_MAX \
    40 /* chat completions at OpenAI; Responses takes 64. Source: protocols/models.md §2.1 */

void sma_wire_put_call_id(struct sma_buf *buf, struct sma_str id)
{
    bool is_plain = id.len > 0 && id.len <= CALL_ID_BYTES_MAX;
    for (size_t i = 0; is_plain && i < id.len; i++) {
        char byte = id.ptr[i];
        is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                   (byte >= '0' && byte <= '9') || byte == '_' || byte == '-';
    }
    if (is_plain) {
        sma_buf_put_str(buf, id);
        return;
    }
    static const uint8_t keys[2][16] = {"call id, part 1", "call id, part 2"};
    sma_buf_printf(buf, "call_%016llx%016llx",
                   (unsigned long long)sma_siphash(keys[0], id.ptr, id.len),
                   (unsigned long long)sma_siphash(keys[1], id.ptr, id.len));
}

/* -- llm.extraBody ----------------------------------------------------------------------------- */
/* How long the string that begins at text is, with its quotes. */
static size_t string_len(struct sma_str text)
{
    size_t at = 1;
    while (at < text.len && text.ptr[at] != '"')
        at += text.ptr[at] == '\\' ? 2 : 1;
    return at < text.len ? at + 1 : text.len;
}

static size_t value_len(struct sma_str text)
{
    size_t depth = 0, at = 0;
    while (at < text.len) {
        char byte = text.ptr[at];
        if (depth == 0 && (byte == ',' || byte == '}'))
            break;
        if (byte == '"') {
            at += string_len((struct sma_str){text.ptr + at, text.len - at});
            continue;
        }
        depth += byte == '{' || byte == '[';
        depth -= byte == '}' || byte == ']';
        at++;
    }
    return at;
}

bool sma_wire_next_member(struct sma_str *at, struct sma_str *ret_name, struct sma_str *ret_value)
{
    if (at->len < 2 || at->ptr[1] != '"') /* the '{' or ',' before it, then its name */
        return false;
    struct sma_str rest = {at->ptr + 1, at->len - 1};
    size_t name_len = string_len(rest);
    if (name_len < 2 || name_len + 1 >= rest.len)
        return false;
    *ret_name = (struct sma_str){rest.ptr + 1, name_len - 2};
    rest = (struct sma_str){rest.ptr + name_len + 1, rest.len - name_len - 1};
    size_t len = value_len(rest);
    *ret_value = (struct sma_str){rest.ptr, len};
    *at = (struct sma_str){rest.ptr + len, rest.len - len};
    return true;
}

static struct sma_str extra_of(const struct sma_target *target)
{
    return sma_str(target->llm->extra_body_json == NULL ? "" : target->llm->extra_body_json);
}

bool sma_wire_has_extra(const struct sma_target *target, const char *member)
{
    struct sma_str at = extra_of(target), name, value;
    while (sma_wire_next_member(&at, &name, &value))
        if (sma_str_is_equal(name, sma_str(member)))
            return true;
    return false;
}

static void put_extra(struct sma_buf *buf, const struct sma_target *target)
{
    struct sma_str at = extra_of(target), name, value;
    while (sma_wire_next_member(&at, &name, &value)) {
        char member[SMA_REFUSED_BYTES_MAX];
        snprintf(member, sizeof member, "%.*s", (int)name.len, name.ptr);
        if (sma_target_refuses(target, member))
            continue;
        sma_buf_put_text(buf, ",\"");
        sma_buf_put_str(buf, name);
        sma_buf_put_text(buf, "\":");
        sma_buf_put_str(buf, value);
    }
}

bool sma_wire_allows(const struct sma_target *target, const char *member)
{
    /* What cannot be left out is no option. */
    bool is_needed = strcmp(member, SMA_REFUSES_STREAM) == 0 || strncmp(member, "max_", 4) == 0;
    return !sma_target_refuses(target, member) && !sma_wire_has_extra(target, member) &&
           (is_needed || !sma_target_refuses(target, SMA_REFUSES_OPTIONS));
}

/* -- options ----------------------------------------------------------------------------------- */
int64_t sma_wire_cap(const struct sma_target *target)
{
    const struct sma_profile *profile = &target->profile;
    int64_t cap = target->llm->max_tokens;
    if (cap < (int64_t)profile->output_min)
        cap = profile->output_min;
    return profile->output_max > 0 && cap > (int64_t)profile->output_max
               ? (int64_t)profile->output_max
               : cap;
}

void sma_wire_put_cap(struct sma_buf *buf, const struct sma_target *target)
{
    static const char *const names[] = {"max_tokens", "max_completion_tokens"};
    const char *member = target->profile.output_member;
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        if (target->llm->max_tokens == 0 || sma_wire_has_extra(target, names[i]))
            return;
    if (sma_target_refuses(target, member) && strncmp(member, "max_output", 10) != 0)
        member = strcmp(member, names[0]) == 0 ? names[1] : names[0];
    if (!sma_wire_allows(target, member))
        return;
    sma_buf_put_json_key(buf, member);
    sma_buf_put_i64(buf, sma_wire_cap(target));
}

/* The effort that this request says. Beside function tools some models take none, or only
 * "none". */
static enum sma_effort effort_of(const struct sma_target *target, bool has_tools)
{
    const struct sma_profile *profile = &target->profile;
    if (target->llm->api != SMA_LLM_CHAT || !has_tools)
        return profile->effort;
    switch (profile->chat_tools) {
    case SMA_CHAT_TOOLS_UNSET:
    case SMA_CHAT_TOOLS_NEVER:
        return SMA_EFFORT_UNSET;
    case SMA_CHAT_TOOLS_NONE:
        return (profile->efforts & 1u << SMA_EFFORT_NONE) != 0 ? SMA_EFFORT_NONE : SMA_EFFORT_UNSET;
    case SMA_CHAT_TOOLS_FREE:
        break;
    }
    return profile->effort;
}

static bool thinks_aloud(const struct sma_profile *profile)
{
    return (profile->thinking == SMA_THINKING_BUDGET ||
            profile->thinking == SMA_THINKING_ADAPTIVE) &&
           profile->effort != SMA_EFFORT_UNSET && profile->effort != SMA_EFFORT_NONE;
}

static void put_option(struct sma_buf *buf, const struct sma_target *target, const char *member,
                       const double *number)
{
    if (number == NULL || !isfinite(*number) || !sma_wire_allows(target, member))
        return;
    sma_buf_put_json_key(buf, member);
    sma_wire_put_number(buf, *number);
}

void sma_wire_put_sampling(struct sma_buf *buf, const struct sma_target *target, bool has_tools)
{
    const struct sma_config_llm *llm = target->llm;
    const struct sma_profile *profile = &target->profile;
    bool may_sample = profile->sampling == SMA_SAMPLING_ANY;
    if (profile->sampling == SMA_SAMPLING_ONE)
        may_sample = !thinks_aloud(profile);
    else if (profile->sampling == SMA_SAMPLING_AT_NONE)
        may_sample = effort_of(target, has_tools) == SMA_EFFORT_NONE;
    if (!may_sample)
        return;
    bool is_one = profile->sampling == SMA_SAMPLING_ONE && llm->has_temperature;
    put_option(buf, target, "temperature", llm->has_temperature ? &llm->temperature : NULL);
    put_option(buf, target, "top_p", llm->has_top_p && !is_one ? &llm->top_p : NULL);
    if (!profile->has_penalties)
        return;
    put_option(buf, target, "frequency_penalty",
               llm->has_frequency_penalty ? &llm->frequency_penalty : NULL);
    put_option(buf, target, "presence_penalty",
               llm->has_presence_penalty ? &llm->presence_penalty : NULL);
}

/* Anthropic's older models: at least 1,024, and less than the cap. Half of it is left for the
 * answer. */
static int64_t budget_of(enum sma_effort effort, int64_t max_tokens)
{
    static const int64_t budgets[SMA_EFFORT_COUNT] = {0, 1024, 2048, 8192, 16384, 32768, 32768};
    return budgets[effort] > max_tokens / 2 ? max_tokens / 2 : budgets[effort];
}

static void put_type(struct sma_buf *buf, const char *type)
{
    sma_buf_printf(buf, ",\"thinking\":{\"type\":\"%s\"}", type);
}

static void put_thinking(struct sma_buf *buf, const struct sma_target *target, int64_t max_tokens)
{
    enum sma_effort effort = target->profile.effort;
    bool is_off = effort == SMA_EFFORT_NONE;
    switch (target->profile.thinking) {
    case SMA_THINKING_FIXED:
        break;
    case SMA_THINKING_BUDGET:
        if (!is_off && budget_of(effort, max_tokens) >= 1024)
            sma_buf_printf(buf, ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":%lld}",
                           (long long)budget_of(effort, max_tokens));
        break;
    case SMA_THINKING_ADAPTIVE:
        if (!is_off)
            put_type(buf, "adaptive");
        break;
    case SMA_THINKING_ON:
        if (is_off)
            put_type(buf, "disabled");
        break;
    case SMA_THINKING_BETWEEN: /* less than its least effort was asked for */
        if (sma_effort_find(target->llm->effort) < effort)
            put_type(buf, "between_tools");
        break;
    case SMA_THINKING_TYPE:
        put_type(buf, is_off ? "disabled" : "enabled");
        break;
    case SMA_THINKING_ENABLE:
    case SMA_THINKING_TEMPLATE:
        break;
    }
}

static void put_switches(struct sma_buf *buf, const struct sma_target *target, int64_t max_tokens)
{
    bool is_off = target->profile.effort == SMA_EFFORT_NONE;
    if (sma_wire_allows(target, "thinking"))
        put_thinking(buf, target, max_tokens);
    if (target->profile.thinking == SMA_THINKING_ENABLE &&
        sma_wire_allows(target, "enable_thinking"))
        sma_buf_put_text(buf, is_off ? ",\"enable_thinking\":false" : ",\"enable_thinking\":true");
    if (target->profile.thinking == SMA_THINKING_TEMPLATE &&
        sma_wire_allows(target, "chat_template_kwargs"))
        sma_buf_printf(buf, ",\"chat_template_kwargs\":{\"enable_thinking\":%s}",
                       is_off ? "false" : "true");
}

void sma_wire_put_effort(struct sma_buf *buf, const struct sma_target *target, bool has_tools,
                         int64_t max_tokens)
{
    const struct sma_profile *profile = &target->profile;
    enum sma_effort effort = effort_of(target, has_tools);
    if (profile->effort != SMA_EFFORT_UNSET)
        put_switches(buf, target, max_tokens);
    bool is_switched = (effort == SMA_EFFORT_NONE && profile->thinking != SMA_THINKING_FIXED) ||
                       profile->thinking == SMA_THINKING_BUDGET;
    if (effort == SMA_EFFORT_UNSET || is_switched || (profile->efforts >> effort & 1) == 0)
        return;
    const char *name = sma_effort_name(effort);
    if (profile->effort_form == SMA_EFFORT_FORM_PLAIN &&
        sma_wire_allows(target, "reasoning_effort"))
        sma_buf_printf(buf, ",\"reasoning_effort\":\"%s\"", name);
    else if (profile->effort_form == SMA_EFFORT_FORM_REASONING &&
             sma_wire_allows(target, "reasoning"))
        sma_buf_printf(buf, ",\"reasoning\":{\"effort\":\"%s\"}", name);
    else if (profile->effort_form == SMA_EFFORT_FORM_OUTPUT &&
             sma_wire_allows(target, "output_config"))
        sma_buf_printf(buf, ",\"output_config\":{\"effort\":\"%s\"}", name);
}

/* -- messages ---------------------------------------------------------------------------------- */
bool sma_wire_has_marks(const struct sma_target *target)
{
    if (target == NULL || sma_target_refuses(target, SMA_MEMBER_MARK) ||
        sma_target_refuses(target, SMA_REFUSES_OPTIONS))
        return false;
    return target->profile.cache == SMA_CACHE_MARKS ||
           (target->profile.cache == SMA_CACHE_TOP && sma_target_refuses(target, SMA_MEMBER_CACHE));
}

/* The last part of a list of parts; a plain string has no place for a mark. */
bool sma_wire_find_mark(struct sma_str fragment, size_t *ret_offset)
{
    static const char end[] = "}]}";
    size_t len = sizeof end - 1;
    if (fragment.len < len || memcmp(fragment.ptr + fragment.len - len, end, len) != 0)
        return false;
    *ret_offset = fragment.len - len;
    return true;
}

void sma_wire_put_tail(struct sma_buf *buf, const struct sma_target *target,
                       struct sma_str cache_key)
{
    sma_buf_put_char(buf, ']');
    if (target->profile.has_cache_key && cache_key.len > 0 &&
        sma_wire_allows(target, "prompt_cache_key"))
        sma_buf_put_json_member(buf, "prompt_cache_key", cache_key);
    put_extra(buf, target);
    sma_buf_put_char(buf, '}');
}

void sma_wire_put_user(struct sma_buf *buf, const struct sma_target *target,
                       const struct sma_str *blocks, size_t block_count)
{
    sma_buf_put_text(buf, "{\"role\":\"user\",");
    sma_wire_put_blocks(buf, "text", sma_wire_has_marks(target), blocks, block_count);
    sma_buf_put_char(buf, '}');
}
