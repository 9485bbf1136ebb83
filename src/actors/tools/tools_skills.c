/*
 * tools_skills.c — the disk's side of skills: before a run what the prompt says of them, and the
 * tools skills_list and skills_load.
 *
 * A worker looks, with the newest look at hand, so that only what has changed is read. Each look is
 * constant; the newest one stays.
 */
#include "tools_priv.h"

#include "runtime/skills/show.h"
#include "runtime/tools/tools.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <stdlib.h>

#define WHY_BYTES_MAX 4000

void tools_unref_look(struct tools_look *look)
{
    if (look == NULL || --look->refs > 0)
        return;
    sma_skills_destroy(look->skills);
    free(look);
}

bool tools_skills_has(const struct tools_job *job)
{
    enum sma_tool tool = sma_tool_find(job->ask->name);
    return job->ask->mode == SMA_TOOL_SKILLS || tool == SMA_TOOL_SKILLS_LIST ||
           tool == SMA_TOOL_SKILLS_LOAD;
}

/* -- on the worker ----------------------------------------------------------------------------- */
/* What the model gets holds none of our secrets, whoever has written them there. */
static void redact(struct tools_job *job)
{
    struct sma_buf clean;
    sma_buf_init(&clean, SMA_TOOL_RESULT_BYTES_MAX);
    sma_secrets_put(job->setup->secrets, &clean, sma_buf_str(&job->result));
    sma_buf_clear(&job->result);
    if (clean.err == SMA_ERR_OK)
        sma_buf_put_str(&job->result, sma_buf_str(&clean));
    else
        job->result.err = clean.err;
    sma_buf_fini(&clean);
}

static enum sma_err load(struct tools_job *job, struct sma_str name, struct sma_buf *why)
{
    const struct sma_skill *skill = sma_skills_find(job->skills, name, why);
    if (skill == NULL)
        return SMA_ERR_BADINPUT;
    return sma_skill_put_loaded(&job->result, job->setup->config, skill, SMA_TOOL_RESULT_BYTES_MAX,
                                why);
}

static enum sma_err carry_out(struct tools_job *job, struct sma_buf *why)
{
    bool is_prompt = job->ask->mode == SMA_TOOL_SKILLS;
    enum sma_tool tool = sma_tool_find(job->ask->name);
    struct sma_tool_args args = {0};
    if (!is_prompt)
        SMA_TRY(sma_tool_args_parse(tool, job->ask->arguments, &args, why));
    const struct sma_skills *before =
        job->look == NULL || args.refreshes ? NULL : job->look->skills;
    enum sma_err err = sma_skills_scan(job->setup->config, before, &job->skills);
    if (err == SMA_ERR_OK && is_prompt)
        sma_skills_put_prompt(&job->result, job->skills);
    else if (err == SMA_ERR_OK && tool == SMA_TOOL_SKILLS_LIST)
        sma_skills_put_list(&job->result, job->skills, SMA_TOOL_RESULT_BYTES_MAX);
    else if (err == SMA_ERR_OK)
        err = load(job, args.name, why);
    sma_tool_args_fini(&args);
    return err == SMA_ERR_OK ? job->result.err : err;
}

void tools_skills_work(struct tools_job *job)
{
    struct sma_buf why;
    sma_buf_init(&why, WHY_BYTES_MAX);
    enum sma_err err = carry_out(job, &why);
    if (err != SMA_ERR_OK) {
        sma_buf_clear(&job->result);
        sma_tool_put_error(&job->result,
                           why.len > 0 ? sma_buf_str(&why) : sma_str(sma_err_text(err)));
    }
    redact(job);
    job->is_done = true;
    job->is_success = err == SMA_ERR_OK;
    sma_buf_fini(&why);
}

/* -- on the actor's thread --------------------------------------------------------------------- */
static void put_ids(struct sma_buf *buf, const struct sma_skills *skills,
                    enum sma_skill_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < skills->count; i++) {
        const struct sma_skill *skill = &skills->list[i];
        if (skill->state != state || ++count > 10)
            continue;
        sma_buf_put_text(buf, count == 1 ? " (" : ", ");
        sma_buf_put_text(buf, skill->id);
        if (state == SMA_SKILL_BROKEN)
            sma_buf_printf(buf, ": %s", skill->why);
    }
    sma_buf_put_text(buf, count > 10 ? ", ...)" : count > 0 ? ")" : "");
}

/* Lines, into one. */
static void put_notes(struct sma_buf *buf, const char *notes)
{
    for (const char *at = notes; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        if (len > 0) {
            sma_buf_put_text(buf, "; ");
            sma_buf_put_str(buf, (struct sma_str){at, len});
        }
        at += len + (at[len] == '\n');
    }
}

static bool has_trouble(const struct sma_skills *skills)
{
    return skills->notes[0] != '\0' ||
           sma_skills_count(skills, SMA_SKILL_ACCEPTED) != skills->count;
}

/* One line when something is new: what is held back must not be silent. */
static void tell(struct sma_tools *tools, const struct sma_skills *skills)
{
    static const uint8_t key[16] = "skills logged";
    struct sma_buf line;
    sma_buf_init(&line, 16384);
    sma_buf_printf(&line, "skills: %zu accepted", sma_skills_count(skills, SMA_SKILL_ACCEPTED));
    size_t held =
        sma_skills_count(skills, SMA_SKILL_NEW) + sma_skills_count(skills, SMA_SKILL_CHANGED);
    if (held > 0) {
        sma_buf_printf(&line, "; %zu held back until `shipmyagent skills accept`:", held);
        put_ids(&line, skills, SMA_SKILL_NEW);
        put_ids(&line, skills, SMA_SKILL_CHANGED);
    }
    if (sma_skills_count(skills, SMA_SKILL_BROKEN) > 0) {
        sma_buf_printf(&line, "; %zu broken:", sma_skills_count(skills, SMA_SKILL_BROKEN));
        put_ids(&line, skills, SMA_SKILL_BROKEN);
    }
    put_notes(&line, skills->notes);
    uint64_t hash = line.len == 0 ? 0 : sma_siphash(key, line.ptr, line.len);
    if (hash != tools->told_skills && line.err == SMA_ERR_OK)
        sma_ctx_log(tools->ctx, has_trouble(skills) ? SMA_LOG_WARN : SMA_LOG_INFO, "%.*s",
                    (int)line.len, line.ptr);
    tools->told_skills = hash;
    sma_buf_fini(&line);
}

void tools_skills_done(struct tools_job *job)
{
    struct sma_tools *tools = job->tools;
    if (job->skills == NULL)
        return;
    struct tools_look *look = calloc(1, sizeof *look);
    if (look == NULL) {
        sma_skills_destroy(SMA_TAKE(job->skills)); /* the next look reads more */
        return;
    }
    *look = (struct tools_look){.refs = 1, .skills = SMA_TAKE(job->skills)};
    tell(tools, look->skills);
    tools_unref_look(tools->look);
    tools->look = look;
}

void tools_skills_begin(struct sma_tools *tools)
{
    struct sma_error error = {.code = SMA_ERR_OK};
    size_t count = 0;
    if (sma_skills_begin(tools->setup->config, &count, &error) != SMA_ERR_OK)
        sma_ctx_log(tools->ctx, SMA_LOG_WARN,
                    "skills: which are accepted cannot be noted, they are held back: %s",
                    error.text);
    else if (count > 0)
        sma_ctx_log(tools->ctx, SMA_LOG_WARN,
                    "skills: the first start with %zu of them: they count as accepted. What is new "
                    "or changed from now on is held back until `shipmyagent skills accept`",
                    count);
}
