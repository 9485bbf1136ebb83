/* write_judge.c — see write_judge.h. */
#include "runtime/files/write_judge.h"

#include "runtime/decisive/decisive.h"
#include "runtime/files/served.h"
#include "runtime/policy/owner_files.h"
#include "runtime/skills/places.h"

#include <fnmatch.h>

#define SERVED_BYTES_MAX 64 /* no served path is longer; a pattern of more bytes is asked about */

static bool holds_now(const struct sma_write_rules *rules, const struct sma_grant *grant)
{
    return grant->until_ms == 0 || grant->until_ms > rules->wall_ms;
}

static bool is_write(struct sma_str tool)
{
    return sma_str_is_equal(tool, SMA_STR("write_file")) ||
           sma_str_is_equal(tool, SMA_STR("edit_file"));
}

static bool is_granted(const struct sma_write_rules *rules, struct sma_str path)
{
    for (uint32_t i = 0; i < rules->grant_count; i++) {
        const struct sma_grant *grant = &rules->grants[i];
        if (is_write(grant->tool) && holds_now(rules, grant) && grant->rule.len > 0 &&
            (sma_str_is_equal(grant->rule, path) || sma_glob_fits(grant->rule, path)))
            return true;
    }
    return false;
}

/* What is the file to the scripts that rules and grants let run? Writing those would allow
 * anything. */
static enum sma_policy_write judge_script(const struct sma_write_rules *rules, struct sma_str path)
{
    enum sma_policy_write worst = sma_policy_judge_script(rules->policy, path);
    for (uint32_t i = 0; i < rules->grant_count; i++) {
        const struct sma_grant *grant = &rules->grants[i];
        if (!sma_str_is_equal(grant->tool, SMA_STR("exec_shell")) || !holds_now(rules, grant))
            continue;
        enum sma_policy_write found = sma_policy_grant_judge_script(grant->rule, path);
        worst = found > worst ? found : worst;
    }
    return worst;
}

/* .husky/pre-commit, .npmrc, .gitattributes: they steer other programs. A pattern of write_repo may
 * name them. */
static bool is_hidden(const struct sma_write_rules *rules, struct sma_str path)
{
    bool is_dot = path.len > 0 && path.ptr[0] == '.';
    for (size_t i = 1; i < path.len; i++)
        is_dot = is_dot || (path.ptr[i] == '.' && path.ptr[i - 1] == '/');
    return is_dot && !sma_file_rules_names_written(rules->files);
}

#define SERVED_PATH(request, name, type) "public/" name,
static const char *const SERVED[] = {"public", SMA_SERVED_FILES(SERVED_PATH)};
#undef SERVED_PATH

/* A path, or what the policy makes of a pattern: bytes 1 and 2 stand for what is not known. */
static bool may_be(struct sma_str path, const char *served)
{
    char pattern[SERVED_BYTES_MAX + 1];
    size_t len = 0;
    for (size_t i = 0; i < path.len; i++) {
        bool is_wild = path.ptr[i] == '\1' || path.ptr[i] == '\2';
        if (is_wild && len > 0 && pattern[len - 1] == '*')
            continue;
        if (len == SERVED_BYTES_MAX)
            return memchr(path.ptr, '\1', path.len) != NULL;
        pattern[len++] = is_wild ? '*' : path.ptr[i];
    }
    pattern[len] = '\0';
    return fnmatch(pattern, served, FNM_PATHNAME | FNM_NOESCAPE | FNM_CASEFOLD) == 0;
}

/* Browsers open it at the address of the API. The folder itself: another one may be moved to its
 * place. */
static bool is_served(const struct sma_write_rules *rules, struct sma_str path)
{
    bool is_one = false;
    for (size_t i = 0; i < SMA_COUNT_OF(SERVED) && !is_one; i++)
        is_one = may_be(path, SERVED[i]);
    return is_one && !sma_file_rules_names_written(rules->files);
}

struct sma_write_judgement sma_write_judge(const struct sma_write_rules *rules, struct sma_str path)
{
    static const char rule[] = "permissions.write_repo";
    enum sma_file_verdict said = sma_file_rules_write(rules->files, path);
    if (said == SMA_FILE_REFUSE)
        return (struct sma_write_judgement){SMA_POLICY_WRITE_REFUSED, rule,
                                            "writing it is not permitted"};
    if (sma_skill_place_holds(rules->config, path))
        return (struct sma_write_judgement){SMA_POLICY_WRITE_OWNER, "skills.paths",
                                            "it changes what guides this agent"};
    const char *owners = sma_file_owner_reason(path);
    if (owners != NULL)
        return (struct sma_write_judgement){SMA_POLICY_WRITE_OWNER, "", owners};
    const char *why;
    enum sma_policy_write decisive = sma_decisive_judge(rules->config, path, &why);
    if (decisive == SMA_POLICY_WRITE_OWNER)
        return (struct sma_write_judgement){decisive, "", why};
    enum sma_policy_write script = judge_script(rules, path);
    if (decisive > script)
        return (struct sma_write_judgement){decisive, "", why};
    if (script != SMA_POLICY_WRITE_FREE)
        return (struct sma_write_judgement){script, "", "it writes a script that a rule lets run"};
    bool is_shown = is_served(rules, path);
    if (said == SMA_FILE_ALLOW && !is_shown && !is_hidden(rules, path))
        return (struct sma_write_judgement){SMA_POLICY_WRITE_FREE, rule, "writing is allowed"};
    if (is_granted(rules, path))
        return (struct sma_write_judgement){SMA_POLICY_WRITE_FREE, "",
                                            "writing this file was allowed by a person"};
    if (said == SMA_FILE_ALLOW && is_shown)
        return (struct sma_write_judgement){SMA_POLICY_WRITE_ASKED, "",
                                            "the service shows this file to browsers"};
    if (said == SMA_FILE_ALLOW)
        return (struct sma_write_judgement){SMA_POLICY_WRITE_ASKED, "",
                                            "files that begin with a dot steer other programs"};
    return (struct sma_write_judgement){SMA_POLICY_WRITE_ASKED, rule, "writing must be agreed to"};
}
