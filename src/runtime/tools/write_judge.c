/* write_judge.c — see write_judge.h. */
#include "runtime/tools/write_judge.h"

#include "runtime/approval/owner_files.h"

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

/* What is the file to the scripts that rules and grants let run? Writing those would allow anything. */
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

/* .husky/pre-commit, .npmrc, .gitattributes: they steer other programs. A pattern of write_repo may name them. */
static bool is_hidden(const struct sma_write_rules *rules, struct sma_str path)
{
    bool is_dot = path.len > 0 && path.ptr[0] == '.';
    for (size_t i = 1; i < path.len; i++)
        is_dot = is_dot || (path.ptr[i] == '.' && path.ptr[i - 1] == '/');
    return is_dot && !sma_file_rules_names_written(rules->files);
}

struct sma_write_judgement sma_write_judge(const struct sma_write_rules *rules, struct sma_str path)
{
    static const char rule[] = "permissions.write_repo";
    enum sma_file_verdict said = sma_file_rules_write(rules->files, path);
    if (said == SMA_FILE_REFUSE)
        return (struct sma_write_judgement){SMA_POLICY_WRITE_REFUSED, rule,
                                            "writing it is not permitted"};
    if (sma_file_is_owner_only(path))
        return (struct sma_write_judgement){
            SMA_POLICY_WRITE_OWNER, "",
            "it changes what this agent is and may do, or what programs run"};
    enum sma_policy_write script = judge_script(rules, path);
    if (script != SMA_POLICY_WRITE_FREE)
        return (struct sma_write_judgement){script, "", "it writes a script that a rule lets run"};
    if (said == SMA_FILE_ALLOW && !is_hidden(rules, path))
        return (struct sma_write_judgement){SMA_POLICY_WRITE_FREE, rule, "writing is allowed"};
    if (is_granted(rules, path))
        return (struct sma_write_judgement){SMA_POLICY_WRITE_FREE, "",
                                            "writing this file was allowed by a person"};
    if (said == SMA_FILE_ALLOW)
        return (struct sma_write_judgement){SMA_POLICY_WRITE_ASKED, "",
                                            "files that begin with a dot steer other programs"};
    return (struct sma_write_judgement){SMA_POLICY_WRITE_ASKED, rule, "writing must be agreed to"};
}
