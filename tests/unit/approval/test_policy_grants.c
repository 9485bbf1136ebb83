/*
 * Aim: grants allow what they name and nothing else, undo no refusal, and none lets a shell or an
 * interpreter run anything; requiresApproval: true is obeyed to the letter.
 */
#include "runtime/policy/policy.h"
#include "runtime/policy/shell.h"
#include "sma/buf.h"
#include "support/check.h"

static struct sma_shell *shell;

static enum sma_policy_write write_freely(void *user, struct sma_str path)
{
    (void)user, (void)path;
    return SMA_POLICY_WRITE_FREE;
}

static enum sma_policy_verdict decide(const char *permissions, const char *command,
                                      const char *grant)
{
    struct sma_policy *policy;
    struct sma_error error;
    CHECK_OK(sma_policy_load(permissions, &policy, &error));
    struct sma_policy_query query = {.command = sma_str(command),
                                     .project_dir = SMA_STR("/srv/agent"),
                                     .may_write = write_freely};
    struct sma_str grants[] = {SMA_STR("sh"), SMA_STR("'"), sma_str(grant)};
    struct sma_policy_decision decision;
    sma_policy_decide_granted(policy, shell, &query, grants, grant == NULL ? 2 : 3, &decision);
    sma_policy_destroy(policy);
    return decision.verdict;
}

CASE(grants_allow_what_they_name)
{
    static const struct
    {
        const char *permissions, *grant, *command;
        enum sma_policy_verdict verdict;
    } rows[] = {
        {"", NULL, "git status", SMA_POLICY_ASK},
        {"", "git status", "git status", SMA_POLICY_ALLOW},
        {"", "git status", "git status -s", SMA_POLICY_ALLOW},
        {"", "=git status", "git status -s", SMA_POLICY_ASK},
        {"", "git status", "git push", SMA_POLICY_ASK},
        {"", "git status", "git status; ls", SMA_POLICY_ASK},
        {"", "git status", "git status > .env", SMA_POLICY_ASK},
        {"", "git status", "cd sub && git status", SMA_POLICY_ALLOW},
        {"", "git status", "git status; rm x", SMA_POLICY_REFUSE},
        {"", "rm", "rm x", SMA_POLICY_REFUSE},
        {"", "sh", "sh -c 'ls'", SMA_POLICY_ASK},
        {"", "./run.sh", "./run.sh", SMA_POLICY_ALLOW},
        {"", "./run.sh", "./run.sh; echo x > run.sh", SMA_POLICY_ASK},
        {"{\"exec_shell\":false}", "ls", "ls", SMA_POLICY_REFUSE},
        {"{\"exec_shell\":{\"allow\":[\"ls\"]}}", "pwd", "ls; pwd", SMA_POLICY_ALLOW},
        {"{\"exec_shell\":{\"denyRequiresApproval\":true}}", "rm", "rm x", SMA_POLICY_ASK},
        /* to the letter: what a rule allows is asked, too */
        {"{\"exec_shell\":{\"allow\":[\"ls\"],\"requiresApproval\":true}}", NULL, "ls",
         SMA_POLICY_ASK},
        {"{\"exec_shell\":{\"allow\":[\"ls\"],\"requiresApproval\":true}}", NULL, "true",
         SMA_POLICY_ASK},
        {"{\"exec_shell\":{\"requiresApproval\":true}}", NULL, "rm x", SMA_POLICY_REFUSE},
        {"{\"exec_shell\":{\"allow\":[\"ls\"],\"requiresApproval\":true}}", "ls", "ls x",
         SMA_POLICY_ALLOW},
        {"{\"exec_shell\":{\"allow\":[\"ls\"],\"requiresApproval\":true}}", "pwd", "ls; pwd",
         SMA_POLICY_ASK},
        {"{\"exec_shell\":{\"requiresApproval\":true,\"deny\":[]}}", "pwd", "true", SMA_POLICY_ASK},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        enum sma_policy_verdict verdict =
            decide(rows[i].permissions, rows[i].command, rows[i].grant);
        if (verdict != rows[i].verdict)
            fprintf(stderr, "row %zu: %s with %s\n", i, rows[i].command, rows[i].grant);
        CHECK_INT(rows[i].verdict, verdict);
    }
}

CASE(no_grant_lets_anything_run)
{
    static const char *const bad[] = {
        "",       " ",    "=",     "sh",           "bash -c",   "python3",         "python3 -c",
        "env",    "sudo", "xargs", "find . -exec", "ls; pwd",   "ls | cat",        "ls > x",
        "a && b", "$x",   "`id`",  "node -e",      "timeout 5", "docker exec web", "eval",
        "X=1 ls", "*",    "'",     "ssh host",     "git *x",
    };
    static const char *const good[] = {"git status",
                                       "git status *",
                                       "=git status",
                                       "ls",
                                       "./run.sh",
                                       "npm test",
                                       "python3 scripts/report.py"};
    struct sma_error error;
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++) {
        if (sma_policy_check_grant(sma_str(bad[i]), &error) == SMA_ERR_OK)
            fprintf(stderr, "may be granted: %s\n", bad[i]);
        CHECK_ERR(SMA_ERR_BADINPUT, sma_policy_check_grant(sma_str(bad[i]), &error));
    }
    for (size_t i = 0; i < SMA_COUNT_OF(good); i++)
        CHECK_OK(sma_policy_check_grant(sma_str(good[i]), &error));
    CHECK_ERR(SMA_ERR_BADINPUT, sma_policy_check_grant((struct sma_str){"ls\0sh", 5}, &error));
    char *big = malloc(SMA_POLICY_RULE_BYTES_MAX + 2);
    CHECK(big != NULL);
    memset(big, 'a', SMA_POLICY_RULE_BYTES_MAX + 1);
    CHECK_OK(sma_policy_check_grant((struct sma_str){big, SMA_POLICY_RULE_BYTES_MAX}, &error));
    CHECK_ERR(SMA_ERR_BADINPUT,
              sma_policy_check_grant((struct sma_str){big, SMA_POLICY_RULE_BYTES_MAX + 1}, &error));
    free(big);
}

/* The rule made of a command allows that command, and is given for one program with constant words
 * only. */
CASE(the_rule_of_a_command_is_exact)
{
    static const struct
    {
        const char *command, *rule; /* NULL: none can be said */
    } rows[] = {
        {"git status", "=git status"},
        {"git  status   -s", "=git status -s"},
        {"grep -n \"two words\" src/a.c", "=grep -n 'two words' src/a.c"},
        {"python3 scripts/report.py", "=python3 scripts/report.py"},
        {"timeout 5 ls", "=timeout 5 ls"},
        {"echo ''", "=echo ''"},
        {"ls; pwd", NULL},
        {"ls | cat", NULL},
        {"ls > x", NULL},
        {"X=1 ls", NULL},
        {"ls *.c", NULL},
        {"echo $x", NULL},
        {"echo \"it's\"", NULL},
        {"bash", NULL},
        {"", NULL},
        {"ls \"", NULL},
        {"sh -c \"$x\"", NULL},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        (void)decide("{\"exec_shell\":{\"deny\":[]}}", rows[i].command, NULL);
        struct sma_buf buf;
        sma_buf_init(&buf, 10000);
        enum sma_err err = sma_policy_put_grant(shell, &buf);
        if ((err == SMA_ERR_OK) != (rows[i].rule != NULL))
            fprintf(stderr, "%s: %.*s\n", rows[i].command, (int)buf.len, buf.ptr);
        CHECK_INT(rows[i].rule == NULL ? SMA_ERR_NOTFOUND : SMA_ERR_OK, err);
        if (err == SMA_ERR_OK) {
            CHECK_STR(rows[i].rule, sma_buf_str(&buf));
            CHECK_INT(SMA_POLICY_ALLOW,
                      decide("{\"exec_shell\":{\"deny\":[]}}", rows[i].command, buf.ptr));
        }
        sma_buf_fini(&buf);
    }
}

CASE(scripts_that_rules_run_are_known)
{
    static const struct
    {
        const char *path;
        enum sma_policy_write verdict;
    } rows[] = {
        {"run.sh", SMA_POLICY_WRITE_OWNER},
        {"a/x.sh", SMA_POLICY_WRITE_OWNER},
        {"tools/x.sh", SMA_POLICY_WRITE_OWNER},
        {"./tools//x.sh", SMA_POLICY_WRITE_OWNER},
        {"tools", SMA_POLICY_WRITE_OWNER},
        {"tools/lib.sh", SMA_POLICY_WRITE_OWNER},
        {"tools/list.txt", SMA_POLICY_WRITE_ASKED},
        {"scripts/json.py", SMA_POLICY_WRITE_OWNER},
        {"scripts/json/__init__.py", SMA_POLICY_WRITE_OWNER},
        {"scripts/table.csv", SMA_POLICY_WRITE_ASKED},
        {"scripts/out/table.csv", SMA_POLICY_WRITE_FREE},
        {"scripts/*.csv", SMA_POLICY_WRITE_ASKED},
        {"scripts/rep*", SMA_POLICY_WRITE_OWNER},
        {"s*/report.py", SMA_POLICY_WRITE_OWNER},
        {"src/json.py", SMA_POLICY_WRITE_FREE},
        {"src/*.py", SMA_POLICY_WRITE_OWNER},
        {"src/*.c", SMA_POLICY_WRITE_FREE},
        {"run.sh.txt", SMA_POLICY_WRITE_FREE},
        {"notes.txt", SMA_POLICY_WRITE_FREE},
        {"pytest.py", SMA_POLICY_WRITE_OWNER},
        {"./pytest/__init__.py", SMA_POLICY_WRITE_OWNER},
        {"pytests.md", SMA_POLICY_WRITE_FREE},
    };
    struct sma_policy *policy;
    struct sma_error error;
    CHECK_OK(sma_policy_load("{\"exec_shell\":{\"allow\":[\"./run.sh\",\"sh tools/x.sh\","
                             "\"timeout 5 python3 scripts/report.py\",\"python3 -m pytest\"]}}",
                             &policy, &error));
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        enum sma_policy_write verdict = sma_policy_judge_script(policy, sma_str(rows[i].path));
        if (verdict != rows[i].verdict)
            fprintf(stderr, "%s\n", rows[i].path);
        CHECK_INT(rows[i].verdict, verdict);
    }
    sma_policy_destroy(policy);
    CHECK_INT(SMA_POLICY_WRITE_OWNER,
              sma_policy_grant_judge_script(SMA_STR("=python3 'scripts/report.py'"),
                                            SMA_STR("scripts/json.py")));
    CHECK_INT(SMA_POLICY_WRITE_FREE,
              sma_policy_grant_judge_script(SMA_STR("=git status"), SMA_STR("scripts/json.py")));
}

int main(void)
{
    shell = sma_shell_create();
    CHECK(shell != NULL);
    check_run_cases(NULL);
    sma_shell_destroy(shell);
    return check_summary();
}
