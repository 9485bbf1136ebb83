/*
 * tools_skills_files.c — the files of accepted skills: outside the project they are read by
 * the file tools and found by commands; scripts run by the rules of their skill where the owner
 * says so.
 *
 * What is not accepted as it is now is not there: before a file is read or a rule counts the skills
 * are looked at again, which reads only what has changed.
 */
#include "tools_priv.h"

#include "runtime/policy/policy.h"
#include "runtime/skills/rules.h"
#include "runtime/skills/scan.h"
#include "runtime/tools/tools.h"
#include "sma/text.h"

#include <stdlib.h>

#define WHY_BYTES_MAX 1000

static bool is_outer(const struct sma_skill *skill)
{
    return skill->state == SMA_SKILL_ACCEPTED && skill->place[0] == '/';
}

static bool is_reading(enum sma_tool tool)
{
    return tool == SMA_TOOL_READ_FILE || tool == SMA_TOOL_LIST_FILES ||
           tool == SMA_TOOL_SEARCH_FILES;
}

static bool may_have_rules(const struct tools_job *job)
{
    const char *named = job->setup->config->skill_rules;
    return sma_tool_find(job->ask->name) == SMA_TOOL_EXEC_SHELL && named != NULL &&
           named[0] != '\0';
}

bool tools_skills_may_have_files(const struct tools_job *job)
{
    if (may_have_rules(job))
        return true;
    return job->setup->config->has_outer_skills &&
           (job->kind == TOOLS_KIND_EXEC || is_reading(sma_tool_find(job->ask->name)));
}

/* By name alone; what the path leads to is the guard's. NULL: none. */
static const struct sma_skill *find_holder(const struct sma_skills *skills, struct sma_str path)
{
    for (size_t i = 0; i < skills->count; i++) {
        const struct sma_skill *skill = &skills->list[i];
        size_t len = strlen(skill->place);
        if (is_outer(skill) && path.len >= len && memcmp(path.ptr, skill->place, len) == 0 &&
            (path.len == len || path.ptr[len] == '/'))
            return skill;
    }
    return NULL;
}

/* *ret_path: malloc'ed; NULL: it names no folder outside. */
static enum sma_err read_path(const struct tools_job *job, char **ret_path)
{
    struct sma_tool_args args = {0};
    struct sma_buf why;
    sma_buf_init(&why, WHY_BYTES_MAX);
    enum sma_err err =
        sma_tool_args_parse(sma_tool_find(job->ask->name), job->ask->arguments, &args, &why);
    *ret_path = NULL;
    if (err == SMA_ERR_OK && args.path.len > 0 && args.path.ptr[0] == '/') {
        *ret_path = strndup(args.path.ptr, args.path.len);
        err = *ret_path == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
    }
    sma_tool_args_fini(&args);
    sma_buf_fini(&why);
    return err == SMA_ERR_BADINPUT ? SMA_ERR_OK : err; /* the tool says what is wrong */
}

struct sma_file_tools *tools_skills_view(struct tools_job *job)
{
    SMA_AUTO(sma_freep) char *path = NULL;
    struct sma_file_tools *view = NULL;
    struct sma_error error = {.code = SMA_ERR_OK};
    if (!job->setup->config->has_outer_skills || !is_reading(sma_tool_find(job->ask->name)) ||
        job->look == NULL || read_path(job, &path) != SMA_ERR_OK || path == NULL ||
        find_holder(job->look->skills, sma_str(path)) == NULL ||
        sma_skills_scan(job->setup->config, job->look->skills, &job->skills) != SMA_ERR_OK)
        return NULL;
    const struct sma_skill *skill = find_holder(job->skills, sma_str(path));
    if (skill != NULL &&
        sma_file_tools_create_view(job->setup->files, skill->place, &view, &error) != SMA_ERR_OK)
        return NULL;
    return view;
}

size_t tools_skills_put_shown(const struct tools_job *job, const char **folders, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; job->look != NULL && i < job->look->skills->count && count < max; i++)
        if (is_outer(&job->look->skills->list[i]))
            folders[count++] = job->look->skills->list[i].place;
    return count;
}

/* -- rules ------------------------------------------------------------------------------------- */
#define RULES_BYTES_MAX (64 * 1024)

static bool is_loaded(struct sma_str loaded, const char *place)
{
    while (loaded.len > 0) {
        const char *end = memchr(loaded.ptr, '\n', loaded.len);
        size_t len = end == NULL ? loaded.len : (size_t)(end - loaded.ptr);
        if (sma_str_is_equal((struct sma_str){loaded.ptr, len}, sma_str(place)))
            return true;
        len += end != NULL;
        loaded = (struct sma_str){loaded.ptr + len, loaded.len - len};
    }
    return false;
}

/* Those that people could give as well: none that lets an interpreter run anything. */
static uint32_t take_rules(struct sma_str lines, struct sma_grant *grants, uint32_t max)
{
    uint32_t count = 0;
    while (lines.len > 0 && count < max) {
        const char *end = memchr(lines.ptr, '\n', lines.len);
        struct sma_str rule = {lines.ptr, end == NULL ? lines.len : (size_t)(end - lines.ptr)};
        struct sma_error error = {.code = SMA_ERR_OK};
        if (sma_policy_check_grant(rule, &error) == SMA_ERR_OK)
            grants[count++] = (struct sma_grant){.tool = SMA_STR("exec_shell"), .rule = rule};
        lines.ptr += rule.len + (end != NULL);
        lines.len -= rule.len + (end != NULL);
    }
    return count;
}

void tools_skills_add_rules(struct tools_job *job, struct tools_skill_rules *rules)
{
    const struct sma_tool_ask *ask = job->ask;
    const struct sma_config *config = job->setup->config;
    sma_buf_init(&rules->lines, RULES_BYTES_MAX);
    rules->ask = *ask;
    if (!may_have_rules(job) || ask->skills.len == 0 || job->look == NULL ||
        sma_skills_scan(config, job->look->skills, &job->skills) != SMA_ERR_OK)
        return;
    for (size_t i = 0; i < job->skills->count; i++)
        if (is_loaded(ask->skills, job->skills->list[i].place))
            sma_skill_put_rules(&rules->lines, config, &job->skills->list[i]);
    uint32_t count =
        ask->grant_count < SMA_GRANT_COUNT_MAX ? ask->grant_count : SMA_GRANT_COUNT_MAX;
    for (uint32_t i = 0; i < count; i++)
        rules->grants[i] = ask->grants[i];
    if (rules->lines.err == SMA_ERR_OK)
        count +=
            take_rules(sma_buf_str(&rules->lines), rules->grants + count, SMA_SKILL_RULE_COUNT_MAX);
    rules->ask.grants = rules->grants;
    rules->ask.grant_count = count;
}
