/* target.c — see target.h. */
#include "runtime/model/target.h"

#include "sma/text.h"
#include "wire_priv.h"

#include <stdio.h>
#include <string.h>

void sma_target_init(struct sma_target *target, const struct sma_config_llm *llm)
{
    struct sma_str host = sma_url_host(llm->base_url);
    *target = (struct sma_target){.llm = llm, .wire = sma_wire_get(llm->api)};
    sma_profile_find(llm, &target->profile);
    snprintf(target->key, sizeof target->key, "%s %.*s %s", target->wire->name, (int)host.len,
             host.ptr, llm->model);
}

bool sma_target_refuses(const struct sma_target *target, const char *member)
{
    for (size_t i = 0; i < target->refused_count; i++)
        if (strcmp(target->refused[i], member) == 0)
            return true;
    return false;
}

bool sma_target_refuses_tool(const struct sma_target *target, struct sma_str name)
{
    for (size_t i = 0; i < target->refused_count; i++) {
        struct sma_str refused = sma_str(target->refused[i]);
        if (sma_str_starts_with(refused, SMA_STR(SMA_REFUSES_TOOL)) &&
            sma_str_is_equal(sma_str(refused.ptr + sizeof SMA_REFUSES_TOOL - 1), name))
            return true;
    }
    return false;
}

/* -- learning ---------------------------------------------------------------------------------- */
/* What the encoders can leave out, or say in another way. Those of llm.extraBody come on top. */
/* clang-format off */
static const char *const DROPPABLE[] = {
    "temperature", "top_p", "frequency_penalty", "presence_penalty", "max_tokens",
    "max_output_tokens", "max_completion_tokens", "reasoning_effort", "reasoning", "output_config",
    "thinking", "enable_thinking", "chat_template_kwargs", "stream_options", "include", "store",
    "strict", "prompt_cache_key", "prompt_cache_breakpoint", SMA_MEMBER_CACHE, SMA_MEMBER_MARK,
};
/* clang-format on */

/* Everything of a request that the target decides, with a tool, a system text and a cache key. */
static void render(struct sma_buf *buf, const struct sma_target *target)
{
    static const struct sma_tool_spec tool = {{"t", 1}, {"", 0}, {"", 0}};
    sma_buf_init(buf, 256 * 1024);
    target->wire->put_head(buf, target, SMA_STR("s"), &tool, 1);
    target->wire->put_tail(buf, target, SMA_STR("k"));
    sma_buf_put_str(buf, sma_target_mark(target));
}

/* Keep the name if requests are others then: only that can be a cure. */
static bool try_refuse(struct sma_target *target, struct sma_str name)
{
    if (name.len == 0 || name.len >= SMA_REFUSED_BYTES_MAX ||
        target->refused_count == SMA_REFUSED_COUNT_MAX)
        return false;
    struct sma_buf before, after;
    render(&before, target);
    char *room = target->refused[target->refused_count];
    memcpy(room, name.ptr, name.len);
    room[name.len] = '\0';
    target->refused_count++;
    render(&after, target);
    bool is_cure = before.err == SMA_ERR_OK && after.err == SMA_ERR_OK &&
                   !sma_str_is_equal(sma_buf_str(&before), sma_buf_str(&after));
    sma_buf_fini(&before);
    sma_buf_fini(&after);
    if (!is_cure)
        target->refused_count--;
    return is_cure;
}

static bool is_droppable(struct sma_str name)
{
    for (size_t i = 0; i < SMA_COUNT_OF(DROPPABLE); i++)
        if (sma_str_is_equal(name, sma_str(DROPPABLE[i])))
            return true;
    return false;
}

/* Members that providers name by a part of them. */
static struct sma_str member_of(struct sma_str name)
{
    static const struct
    {
        const char *part, *member;
    } rows[] = {{"encrypted_content", "include"}, {"budget_tokens", "thinking"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        if (sma_str_is_equal(name, sma_str(rows[i].part)))
            return sma_str(rows[i].member);
    return name;
}

/* The next name of a path: "tools[0].strict", "system.0.cache_control", "output_config.effort". */
static struct sma_str next_name(struct sma_str *path)
{
    static const char ends[] = ".[]/'\"` ";
    while (path->len > 0 && strchr(ends, path->ptr[0]) != NULL)
        *path = (struct sma_str){path->ptr + 1, path->len - 1};
    size_t len = 0;
    while (len < path->len && strchr(ends, path->ptr[len]) == NULL)
        len++;
    struct sma_str name = {path->ptr, len};
    *path = (struct sma_str){path->ptr + len, path->len - len};
    return name;
}

/* Leave out one name of a path. Of marks that of the request goes first where none is named, then
 * those of its parts. */
static bool try_name(struct sma_target *target, struct sma_str name, bool is_alone)
{
    if (!is_droppable(name))
        return false;
    bool is_mark = sma_str_is_equal(name, SMA_STR(SMA_MEMBER_CACHE));
    if ((!is_mark || is_alone) && try_refuse(target, name))
        return true;
    /* A cap that is too large is called by its first name also when the other one was sent. */
    if (sma_str_is_equal(name, SMA_STR("max_tokens")))
        return try_refuse(target, SMA_STR("max_completion_tokens"));
    return is_mark && try_refuse(target, SMA_STR(SMA_MEMBER_MARK));
}

/* What stands in messages: requests without any are as they were. */
static bool is_of_content(struct sma_str name)
{
    static const char *const names[] = {
        SMA_REFUSES_IMAGES,  SMA_REFUSES_DOCUMENTS, SMA_REFUSES_AUDIO,     SMA_REFUSES_DATA_URLS,
        SMA_REFUSES_OPTIONS, SMA_REFUSES_NULL,      SMA_REFUSES_LISTS,     SMA_REFUSES_SYSTEM,
        SMA_REFUSES_STREAM,  SMA_REFUSES_TOOLS,     SMA_REFUSES_REASONING, SMA_WANTS_REASONING};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        if (sma_str_is_equal(name, sma_str(names[i])))
            return true;
    return sma_str_starts_with(name, SMA_STR(SMA_REFUSES_TOOL));
}

static bool refuse_content(struct sma_target *target, struct sma_str name)
{
    char *room = target->refused[target->refused_count % SMA_REFUSED_COUNT_MAX];
    if (target->refused_count == SMA_REFUSED_COUNT_MAX || name.len >= SMA_REFUSED_BYTES_MAX)
        return false;
    size_t tool_count = 0;
    for (size_t i = 0; i < target->refused_count; i++) {
        if (sma_str_is_equal(name, sma_str(target->refused[i])))
            return false;
        tool_count += sma_str_starts_with(sma_str(target->refused[i]), SMA_STR(SMA_REFUSES_TOOL));
    }
    if (sma_str_starts_with(name, SMA_STR(SMA_REFUSES_TOOL)) &&
        tool_count == SMA_REFUSED_TOOL_COUNT_MAX)
        return false;
    memcpy(room, name.ptr, name.len);
    room[name.len] = '\0';
    target->refused_count++;
    if (strcmp(room, SMA_WANTS_REASONING) == 0) {
        target->profile.echo = SMA_ECHO_EVERY;
        target->profile.echo_member = "reasoning_content";
    } else if (strcmp(room, SMA_REFUSES_REASONING) == 0) {
        target->profile.echo = SMA_ECHO_NEVER;
    }
    return true;
}

uint8_t sma_target_answer_forms(const struct sma_target *target)
{
    bool is_reasoned = sma_target_refuses(target, SMA_WANTS_REASONING);
    bool is_bare = sma_target_refuses(target, SMA_REFUSES_REASONING) && !is_reasoned;
    return (uint8_t)((is_reasoned ? SMA_ANSWER_REASONED : 0) | (is_bare ? SMA_ANSWER_BARE : 0) |
                     (sma_target_refuses(target, SMA_REFUSES_NULL) ? SMA_ANSWER_NO_NULL : 0));
}

void sma_target_allow(struct sma_target *target, const char *form)
{
    for (size_t i = 0; i < target->refused_count; i++)
        if (strcmp(target->refused[i], form) == 0) {
            size_t rest = --target->refused_count - i;
            memmove(target->refused[i], target->refused[i + 1], rest * sizeof *target->refused);
            sma_profile_find(target->llm, &target->profile); /* what it echoes, too */
            return;
        }
}

const char *sma_target_next_form(const struct sma_target *target, bool has_files)
{
    static const char *const ladder[] = {SMA_REFUSES_OPTIONS, SMA_REFUSES_NULL, SMA_REFUSES_LISTS,
                                         SMA_REFUSES_SYSTEM, SMA_REFUSES_TOOLS};
    for (size_t i = 0; i < SMA_COUNT_OF(ladder); i++)
        if (!sma_target_refuses(target, ladder[i]) && (has_files || i != 2) &&
            (target->llm->api == SMA_LLM_CHAT || i == 0 || i == 4))
            return ladder[i];
    return NULL;
}

#define PATH_COUNT_MAX 8

bool sma_target_refuse(struct sma_target *target, struct sma_str member)
{
    struct sma_str names[PATH_COUNT_MAX], rest = member;
    size_t count = 0;
    if (is_of_content(member))
        return refuse_content(target, member);
    while (count < PATH_COUNT_MAX && (names[count] = next_name(&rest)).len > 0)
        count++;
    for (size_t i = count; i > 0; i--) /* the innermost name says the most */
        if (try_name(target, member_of(names[i - 1]), count == 1))
            return true;
    if (count == 0)
        return false;
    char first[SMA_REFUSED_BYTES_MAX];
    snprintf(first, sizeof first, "%.*s", (int)names[0].len, names[0].ptr);
    return sma_wire_has_extra(target, first) && try_refuse(target, names[0]);
}

struct sma_str sma_target_mark(const struct sma_target *target)
{
    return sma_wire_has_marks(target) ? SMA_STR(SMA_WIRE_MARK) : (struct sma_str){0};
}
