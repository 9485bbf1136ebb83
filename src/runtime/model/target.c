/* target.c — see target.h. */
#include "runtime/model/target.h"

#include "wire_priv.h"

#include <stdio.h>
#include <string.h>

/* The host with its port, without scheme, credentials and path. */
static struct sma_str host_of(const char *url)
{
    const char *rest = strstr(url, "://");
    rest = rest == NULL ? url : rest + 3;
    size_t len = strcspn(rest, "/?#");
    const char *at = memrchr(rest, '@', len);
    const char *start = at == NULL ? rest : at + 1;
    return (struct sma_str){start, len - (size_t)(start - rest)};
}

void sma_target_init(struct sma_target *target, const struct sma_config_llm *llm)
{
    struct sma_str host = host_of(llm->base_url);
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

/* -- learning ----------------------------------------------------------------------------------------------------- */
/* What the encoders can leave out, or say in another way. Those of llm.extraBody come on top. */
static const char *const DROPPABLE[] = {
    "temperature",
    "top_p",
    "frequency_penalty",
    "presence_penalty",
    "max_tokens",
    "max_output_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "reasoning",
    "output_config",
    "thinking",
    "enable_thinking",
    "chat_template_kwargs",
    "stream_options",
    "include",
    "store",
    "strict",
    "prompt_cache_key",
    "prompt_cache_breakpoint",
    SMA_MEMBER_CACHE,
    SMA_MEMBER_MARK,
};

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

bool sma_target_refuse(struct sma_target *target, struct sma_str member)
{
    static const struct sma_str mark = {SMA_MEMBER_MARK, sizeof SMA_MEMBER_MARK - 1};
    struct sma_str first = next_name(&(struct sma_str){member.ptr, member.len});
    bool is_whole = first.len == member.len;
    struct sma_str name;
    for (struct sma_str rest = member; (name = next_name(&rest)).len > 0;) {
        if (!is_droppable(name))
            continue;
        bool is_mark = sma_str_is_equal(name, SMA_STR(SMA_MEMBER_CACHE));
        if ((!is_mark || is_whole) && try_refuse(target, name))
            return true;
        if (is_mark && try_refuse(target, mark))
            return true;
    }
    char text[SMA_REFUSED_BYTES_MAX];
    snprintf(text, sizeof text, "%.*s", (int)first.len, first.ptr);
    return sma_wire_has_extra(target, text) && try_refuse(target, first);
}

struct sma_str sma_target_mark(const struct sma_target *target)
{
    return sma_wire_has_marks(target) ? SMA_STR(SMA_WIRE_MARK) : (struct sma_str){0};
}
