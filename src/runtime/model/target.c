/* target.c — see target.h. */
#include "runtime/model/target.h"

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

bool sma_target_refuse(struct sma_target *target, struct sma_str member)
{
    char name[SMA_REFUSED_BYTES_MAX];
    if (member.len == 0 || member.len >= sizeof name ||
        target->refused_count == SMA_REFUSED_COUNT_MAX)
        return false;
    memcpy(name, member.ptr, member.len);
    name[member.len] = '\0';
    if (sma_target_refuses(target, name))
        return false;
    memcpy(target->refused[target->refused_count++], name, member.len + 1);
    return true;
}

struct sma_str sma_target_mark(const struct sma_target *target)
{
    (void)target;
    return (struct sma_str){0};
}
