/*
 * Aim: no trick runs silently, no ordinary command is asked about. Method: two tables, and random
 * wrappings of a denied program whose verdict may be anything but `allow`.
 */
#include "bypasses.h"
#include "runtime/policy/policy.h"
#include "runtime/policy/shell.h"
#include "support/check.h"

static struct sma_shell *shell;
static uint64_t seed = 0x243f6a8885a308d3u;

/* As `write_repo: true` says of plain files. */
static enum sma_policy_write write_freely(void *user, struct sma_str path)
{
    (void)user;
    bool is_hidden = path.ptr[0] == '.' || memmem(path.ptr, path.len, "/.", 2) != NULL;
    return is_hidden ? SMA_POLICY_WRITE_ASKED : SMA_POLICY_WRITE_FREE;
}

static struct sma_policy_decision decide(const char *permissions, const char *command)
{
    struct sma_policy *policy = NULL;
    struct sma_error error = {0};
    enum sma_err err = sma_policy_load(permissions, &policy, &error);
    if (err != SMA_ERR_OK)
        fprintf(stderr, "%s\n", error.text);
    CHECK_OK(err);
    struct sma_policy_query query = {
        .command = sma_str(command), .project_dir = SMA_STR("/project"), .may_write = write_freely};
    struct sma_policy_decision decision;
    sma_policy_decide(policy, shell, &query, &decision);
    sma_policy_destroy(policy);
    return decision;
}

CASE(no_bypass_is_allowed)
{
    CHECK(BYPASS_COUNT >= 150);
    int bad = 0;
    for (size_t i = 0; i < BYPASS_COUNT; i++)
        if (decide(BYPASS_PERMISSIONS, BYPASSES[i]).verdict == SMA_POLICY_ALLOW) {
            fprintf(stderr, "allowed: %s\n", BYPASSES[i]);
            bad++;
        }
    CHECK_INT(0, bad);
}

/* The same with everything allowed that is not denied: what hides a denied program is asked about
 * at least. */
CASE(no_denied_program_is_allowed_in_an_open_policy)
{
    static const char open_policy[] =
        "{\"exec_shell\":{\"deny\":[\"rm\",\"git push\",\"curl\"],\"requiresApproval\":false}}";
    int bad = 0;
    for (size_t i = 0; i < BYPASS_COUNT; i++) {
        const char *command = BYPASSES[i];
        if (strstr(command, "rm ") == NULL || strstr(command, "rm -- ") != NULL)
            continue;
        if (decide(open_policy, command).verdict == SMA_POLICY_ALLOW) {
            fprintf(stderr, "allowed: %s\n", command);
            bad++;
        }
    }
    CHECK_INT(0, bad);
}

CASE(no_ordinary_command_is_asked_about)
{
    CHECK(ORDINARY_COUNT >= 60);
    int bad = 0;
    for (size_t i = 0; i < ORDINARY_COUNT; i++) {
        struct sma_policy_decision decision = decide(BYPASS_PERMISSIONS, ORDINARY[i]);
        if (decision.verdict != SMA_POLICY_ALLOW) {
            fprintf(stderr, "%s: %s\n  %s: %s\n", sma_policy_verdict_name(decision.verdict),
                    ORDINARY[i], decision.program, decision.reason);
            bad++;
        }
    }
    CHECK_INT(0, bad);
}

CASE(plain_denials_are_refused_not_asked)
{
    static const char *const commands[] = {
        "rm x",
        "ls; rm x",
        "ls && /bin/rm x",
        "echo $(rm x)",
        "echo `rm x`",
        "sh -c 'rm x'",
        "env rm x",
        "xargs rm",
        "r''m x",
        "\\rm x",
        "if x; then rm y; fi",
        "cat <<E\n$(rm x)\nE",
        "find . -exec rm {} +",
        "timeout 5 nice rm x",
        "git push",
        "git -C a push",
        "for f in a; do rm $f; done",
        "eval 'rm x'",
        "exec rm x",
        "busybox rm x",
        "sudo rm x",
        "watch 'ls; rm x'",
        "$'\\x72m' x",
        "env -S 'rm x'",
        "trap 'rm x' EXIT",
        "f() { rm x; }",
        "ssh host 'rm x'",
        "(rm x)",
        "/bin/r? x",
        "bash -c 'sh -c \"rm x\"'",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++) {
        struct sma_policy_decision decision = decide(BYPASS_PERMISSIONS, commands[i]);
        if (decision.verdict != SMA_POLICY_REFUSE)
            fprintf(stderr, "%s\n", commands[i]);
        CHECK_INT(SMA_POLICY_REFUSE, decision.verdict);
        CHECK(decision.rule[0] != '\0' && decision.program[0] != '\0');
    }
}

/* -- random wrappings -------------------------------------------------------------------------- */
static size_t below(size_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed % limit);
}

/* @ is what is wrapped, as it stands; % the same inside of single quotes. */
static const char *const WRAPPERS[] = {
    "@",
    "git status; @",
    "git status && @",
    "ls | @",
    "@ | ls",
    "@ &",
    "(@)",
    "{ @; }",
    "! @",
    "echo $(@)",
    "echo \"$(@)\"",
    "echo \"a ${x:-$(@)} b\"",
    "if @; then ls; fi",
    "if true; then @; fi",
    "while true; do @; done",
    "for f in a b; do @; done",
    "case x in a) ls ;; *) @ ;; esac",
    "cat <<E\n$(@)\nE",
    "cat <<E; @\ntext\nE",
    "sh -c %",
    "bash -ec %",
    "eval %",
    "watch %",
    "env -S %",
    "trap % EXIT",
    "find . -exec sh -c % \\;",
    "diff <(@) a",
    "x=$(@) git status",
    "git status > $(@)",
    "ls\n@",
    "# text\n@",
    "ls # text\n@",
    "f() { @; }",
    "git -c core.pager=% log",
    "tar --to-command=% -xf a",
    "ssh host %",
    "timeout 5 sh -c %",
};

static const char *const CORES[] = {
    "rm -rf x",
    "/bin/rm x",
    "r''m x",
    "\\rm x",
    "env rm x",
    "xargs rm",
    "nice rm x",
    "sudo rm x",
    "command rm",
    "find . -exec rm {} +",
    "busybox rm x",
    "git push origin",
    "r\\m x",
    "\"rm\" x",
    "timeout 1 rm x",
    "exec rm x",
    "A=1 rm x",
    "rm >/dev/null x",
    ">/dev/null rm x",
    "2>&1 curl x",
    "git -C a push",
    "unknown x",
    "$x y",
    "python3 -c x",
};

static void put(char *to, size_t size, const char *text, bool is_quoted)
{
    size_t at = strlen(to);
    for (; *text != '\0' && at + 6 < size; text++)
        if (is_quoted && *text == '\'')
            at += (size_t)snprintf(to + at, size - at, "'\\''");
        else
            to[at++] = *text;
    to[at] = '\0';
}

static void wrap(char *text, size_t size)
{
    char wrapped[8192] = "";
    const char *wrapper = WRAPPERS[below(SMA_COUNT_OF(WRAPPERS))];
    if (strstr(wrapper, "<<E; @") != NULL && strchr(text, '\n') != NULL)
        return; /* its further lines would be the document */
    for (; *wrapper != '\0'; wrapper++) {
        char one[2] = {*wrapper, '\0'};
        if (*wrapper == '%') {
            put(wrapped, sizeof wrapped, "'", false);
            put(wrapped, sizeof wrapped, text, true);
            put(wrapped, sizeof wrapped, "'", false);
        } else {
            put(wrapped, sizeof wrapped, *wrapper == '@' ? text : one, false);
        }
    }
    if (strlen(wrapped) + 1 < size && strlen(wrapped) + 16 < sizeof wrapped)
        memcpy(text, wrapped, strlen(wrapped) + 1);
}

CASE(wrapped_programs_are_never_allowed)
{
    struct sma_policy *policy = NULL, *open_policy = NULL;
    CHECK_OK(sma_policy_load(BYPASS_PERMISSIONS, &policy, NULL));
    CHECK_OK(sma_policy_load("{\"exec_shell\":{\"deny\":[\"rm\",\"git push\",\"curl\",\"unknown\"],"
                             "\"requiresApproval\":false}}",
                             &open_policy, NULL));
    for (int round = 0; round < 20000; round++) {
        char text[4096];
        snprintf(text, sizeof text, "%s", CORES[below(SMA_COUNT_OF(CORES))]);
        for (size_t depth = below(5); depth > 0; depth--)
            wrap(text, sizeof text);
        struct sma_policy_query query = {.command = sma_str(text),
                                         .project_dir = SMA_STR("/project"),
                                         .may_write = write_freely};
        for (int which = 0; which < 2; which++) {
            struct sma_policy_decision decision;
            sma_policy_decide(which == 0 ? policy : open_policy, shell, &query, &decision);
            if (decision.verdict == SMA_POLICY_ALLOW)
                fprintf(stderr, "policy %d allowed: %s\n", which, text);
            CHECK(decision.verdict != SMA_POLICY_ALLOW);
        }
    }
    sma_policy_destroy(policy);
    sma_policy_destroy(open_policy);
}

int main(void)
{
    shell = sma_shell_create();
    CHECK(shell != NULL);
    check_run_cases(NULL);
    sma_shell_destroy(shell);
    return check_summary();
}
