/*
 * Aim: what a command writes is judged, however it says so: what only owners may change and what
 * rules run is asked about, a plain file is as free as the caller says, and what cannot be told is
 * asked.
 * Method: tables of commands against an allow list under which each program runs without a
 * question.
 */
#include "runtime/policy/owner_files.h"
#include "runtime/policy/policy.h"
#include "runtime/policy/shell.h"
#include "support/check.h"

static struct sma_shell *shell;

static const char RULES[] =
    "{\"exec_shell\":{\"deny\":[],\"allow\":[\"find\",\"git\",\"cat\",\"ls\","
    "\"echo\",\"printf\",\"cp\",\"mv\",\"tee\","
    "\"sed\",\"split\",\"tar\",\"touch\",\"mkdir\",\"ln\",\"install\","
    "\"dd\",\"truncate\",\"rm\",\"chmod\",\"sort\","
    "\"make\",\"npm test\",\"python3 scripts/report.py\",\"cd\"]}}";

static enum sma_policy_write say(void *user, struct sma_str path)
{
    const enum sma_policy_write *answer = user;
    CHECK(path.len > 0 && path.ptr[0] != '/' && memmem(path.ptr, path.len, "../", 3) == NULL);
    return *answer;
}

static struct sma_policy_decision decide(const char *command, enum sma_policy_write answer,
                                         bool has_answer)
{
    struct sma_policy *policy = NULL;
    struct sma_error error = {0};
    CHECK_OK(sma_policy_load(RULES, &policy, &error));
    struct sma_policy_query query = {.command = sma_str(command),
                                     .project_dir = SMA_STR("/project"),
                                     .may_write = has_answer ? say : NULL,
                                     .user = &answer};
    struct sma_policy_decision decision;
    sma_policy_decide(policy, shell, &query, &decision);
    sma_policy_destroy(policy);
    return decision;
}

static struct sma_policy_decision decide_free(const char *command)
{
    return decide(command, SMA_POLICY_WRITE_FREE, true);
}

/* Each of them was allowed, and the next `make`, `npm test` or script ran what it had written. */
static void what_rules_run_is_never_written_unasked(void)
{
    static const char *const commands[] = {
        "cp m.txt Makefile",
        "cp m.txt Makefil?",
        "cp m.txt Makefil[e]",
        "cp m.txt [M]akefile",
        "printf x | tee Makefil[e]",
        "printf x | tee sub/GNUmakefil*",
        "sed -i s/a/b/ packag?.json",
        "sed -i s/a/b/ packag?.js*",
        "sed -i s/a/b/ scripts/*.py",
        "sed -i s/a/b/ *.json",
        "printf x > Makefile.sh",
        "printf x > Makefile,v",
        "printf x > s.Makefile",
        "printf x > makefile.c",
        "printf x > scripts/json.py",
        "printf x > scripts/json/__init__.py",
        "printf x > scripts/report.py",
        "printf x > scripts/data.csv",
        "mv scripts other",
        "mv -f other scripts",
        "printf x > Agent.md",
        "cat a.txt >> ship.json",
        "cat a.txt > ./Agent.md",
        "cat a.txt > /project/Agent.md",
        "cat a.txt > AGENT.md",
        "cd src && cat a.txt > Makefile",
        "printf x > .env",
        "printf x > .env.local",
        "printf x > .ship/skills/a.md",
        "printf x > .claude/skills/a.md",
        "printf x > .github/workflows/a.yml",
        "printf x > .gitlab-ci.yml",
        "printf x > Jenkinsfile",
        "printf x > azure-pipelines.yml",
        "printf x > .husky/pre-commit",
        "printf x > .git/hooks/pre-commit",
        "printf x > .git/config",
        "printf x > evil/config",
        "printf x > evil/hooks/update",
        "printf x > .npmrc",
        "printf x > .cargo/config.toml",
        "dd of=Makefile",
        "touch package.json",
        "truncate -s 0 Cargo.toml",
        "ln -f a.txt Makefile",
        "ln -s Makefile a.txt",
        "install a.txt Makefile",
        "chmod +x .husky/pre-commit",
        "ls > \"Makefile\"",
        "ls > Make''file",
        "ls >| Makefile",
        "ls 2> Makefile",
        "ls &> Makefile",
        "ls <> Makefile",
        "(cd sub; ls > Makefile)",
        "f() { ls > Makefile; }; f",
        "> Makefile",
        "ls > sub/package.json",
        "mkdir -p Makefile/x",
        "mv Makefile m.txt",
        "rm Makefile",
        "git mv -f m.txt Makefile",
        "git checkout HEAD~1 -- Makefile",
        "git checkout HEAD~2",
        "git checkout v1 --",
        "git checkout -b x v1",
        "git checkout -f",
        "git checkout Makefile",
        "git restore --source=x Makefile",
        "git apply m.patch",
        "split -a1 --additional-suffix=kefile m.txt M",
        "cp -b -S file a.txt Make",
        "cp -bSfile a.txt Make",
        "mv -b -Sfile a.txt Make",
        "tar cf m.tar --transform=s/m.txt/Makefile/ m.txt; tar xf m.tar",
        "tar xf m.tar",
        "tar -xvC.git -f a.tar",
        "cp -t.cargo config.toml",
        "cp -rt.git config",
        "cp -vt.ship f",
        "mv -vt.git f",
        "cp Makefile.new/Makefile .",
        "cp sub/Makefile ./",
        "cp sub/package.json /project",
        "cp -r evil/. .",
        "tee -a Makefil[e]",
        "printf Makefile | xargs -I% -n2 touch",
        "printf Makefile | xargs --replace=% --max-lines=2 touch",
        "printf Makefile | xargs -I% --max-args=2 tee",
        "printf -- '-delete' | xargs -I% -L3 find .",
        "npm test -C src",
        "npm test --prefix=src",
    };
    int bad = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++) {
        struct sma_policy_decision decision = decide_free(commands[i]);
        if (decision.verdict == SMA_POLICY_ASK)
            continue;
        fprintf(stderr, "%s: %s\n", sma_policy_verdict_name(decision.verdict), commands[i]);
        bad++;
    }
    CHECK_INT(0, bad);
}

static void plain_files_are_as_free_as_the_caller_says(void)
{
    static const char *const commands[] = {
        "cat a.txt > b.txt", "cat a.txt >> out/b.txt", "cat a.txt | tee b.txt",
        "cp a.txt b.txt",    "mv a.txt b.txt",         "touch a.txt out/b",
        "mkdir -p out/a",    "sed -i s/a/b/ a.txt",    "sed -i s/a/b/ src/*.c",
        "dd of=out.bin",     "ls > /project/out.txt",  "cd src && ls > a",
        "ls > scripts.txt",  "ls > src/json.py",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++) {
        struct sma_policy_decision decision = decide_free(commands[i]);
        if (decision.verdict != SMA_POLICY_ALLOW)
            fprintf(stderr, "%s: %s: %s\n", commands[i], decision.program, decision.reason);
        CHECK_INT(SMA_POLICY_ALLOW, decision.verdict);
        CHECK_INT(SMA_POLICY_ASK, decide(commands[i], SMA_POLICY_WRITE_ASKED, true).verdict);
        CHECK_INT(SMA_POLICY_ASK, decide(commands[i], SMA_POLICY_WRITE_FREE, false).verdict);
        decision = decide(commands[i], SMA_POLICY_WRITE_OWNER, true);
        CHECK(decision.verdict == SMA_POLICY_ASK && decision.is_owner_only);
        CHECK(decide(commands[i], SMA_POLICY_WRITE_REFUSED, true).verdict != SMA_POLICY_ALLOW);
    }
    CHECK_INT(SMA_POLICY_REFUSE, decide("ls > a", SMA_POLICY_WRITE_REFUSED, true).verdict);
    CHECK_INT(SMA_POLICY_ALLOW, decide("ls > /dev/null", SMA_POLICY_WRITE_REFUSED, true).verdict);
    CHECK_TEXT("permissions.write_repo", decide("ls > a", SMA_POLICY_WRITE_ASKED, true).rule);
}

static void what_cannot_be_told_is_asked(void)
{
    static const char *const commands[] = {
        "ls > $x",        "ls > \"$x\"",  "ls > out-$x",  "ls > ~/a", "ls > a{b,c}",
        "ls > ../a",      "ls > a/../b",  "ls > /etc/a",  "ls > ''",  "sed -i s/a/b/ *",
        "cp a.txt [^x]*", "cp a .[^e]nv", "tee */config",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++) {
        if (decide_free(commands[i]).verdict != SMA_POLICY_ASK)
            fprintf(stderr, "%s\n", commands[i]);
        CHECK_INT(SMA_POLICY_ASK, decide_free(commands[i]).verdict);
    }
}

/* What a pattern may stand for, however shells read it. */
static void patterns_and_braces_read_no_secret(void)
{
    static const char *const commands[] = {
        "cat .[^e]nv",         "cat .[!x]nv",        "cat .e*.staging",  "cat .?nv*",
        "cat .env[.]local",    "cat src/../.e{nv,}", "cat src/.e{nv,x}", "cat src/{.e,x}nv",
        "cat src/{a,}.env",    "cat .s[^x]ip/a",     "cat [^a]hip.json", "cat sh*.json",
        "cat src/{x,../.en}v",
    };
    static const char *const fine[] = {"cat src/{a,b}.c", "cat *.c", "cat .git*", "ls .e*",
                                       "cat [!a]*.txt"};
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++) {
        if (decide_free(commands[i]).verdict != SMA_POLICY_ASK)
            fprintf(stderr, "%s\n", commands[i]);
        CHECK_INT(SMA_POLICY_ASK, decide_free(commands[i]).verdict);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(fine); i++) {
        if (decide_free(fine[i]).verdict != SMA_POLICY_ALLOW)
            fprintf(stderr, "asked: %s\n", fine[i]);
        CHECK_INT(SMA_POLICY_ALLOW, decide_free(fine[i]).verdict);
    }
}

static void files_of_owners_are_known_by_name(void)
{
    static const char *const owners[] = {"Agent.md",
                                         "agent.MD",
                                         "ship.json",
                                         "sub/ship.json",
                                         ".env",
                                         ".ENV.local",
                                         ".envrc",
                                         ".ship/a",
                                         ".git/config",
                                         ".git",
                                         "a/.github/b/c",
                                         ".gitlab-ci.yml",
                                         ".circleci/config.yml",
                                         "Jenkinsfile",
                                         ".husky/_/x",
                                         "Makefile",
                                         "a/b/Makefile",
                                         "Makefile.am",
                                         "GNUmakefile",
                                         "x.mk",
                                         "package.json",
                                         "package.json.bak",
                                         "setup.py",
                                         "Dockerfile.dev",
                                         "./Makefile",
                                         "a//Makefile",
                                         "/project/Makefile",
                                         "repo/hooks/post-receive",
                                         "config",
                                         ".npmrc"};
    static const char *const plain[] = {"a.txt",
                                        "src/a.c",
                                        ".env.example",
                                        ".gitignore",
                                        "src/hooks/useAuth.ts",
                                        "config.yml",
                                        "config/app.yml",
                                        "Agent.md.d",
                                        "environment",
                                        "docs/ship.md",
                                        "",
                                        "."};
    for (size_t i = 0; i < SMA_COUNT_OF(owners); i++) {
        if (!sma_file_is_owner_only(sma_str(owners[i])))
            fprintf(stderr, "plain: %s\n", owners[i]);
        CHECK(sma_file_is_owner_only(sma_str(owners[i])));
        CHECK(sma_pattern_is_owner_only(sma_str(owners[i])));
    }
    for (size_t i = 0; i < SMA_COUNT_OF(plain); i++) {
        if (sma_file_is_owner_only(sma_str(plain[i])))
            fprintf(stderr, "an owner's: %s\n", plain[i]);
        CHECK(!sma_file_is_owner_only(sma_str(plain[i])));
    }
    static const char *const patterns[] = {"*",
                                           "M*",
                                           "*file",
                                           "*.json",
                                           "Makefile.*",
                                           ".*",
                                           ".g*",
                                           "*/config",
                                           "a/?akefile",
                                           "[M]akefile",
                                           "[[:upper:]]akefile",
                                           "[!a]*",
                                           "*.m?",
                                           "*.[mx]k",
                                           "Agen?.md",
                                           ".h[!x]sky/a",
                                           "mirror.git/?ooks/update",
                                           "a.git/hooks/up*",
                                           "*/hook[s]/post-*"};
    static const char *const harmless[] = {"*.csv", "*.c", "src/*.md", "logs/*.log",
                                           "src/hooks/*.css"};
    for (size_t i = 0; i < SMA_COUNT_OF(patterns); i++) {
        if (!sma_pattern_is_owner_only(sma_str(patterns[i])))
            fprintf(stderr, "plain: %s\n", patterns[i]);
        CHECK(sma_pattern_is_owner_only(sma_str(patterns[i])));
    }
    for (size_t i = 0; i < SMA_COUNT_OF(harmless); i++) {
        if (sma_pattern_is_owner_only(sma_str(harmless[i])))
            fprintf(stderr, "an owner's: %s\n", harmless[i]);
        CHECK(!sma_pattern_is_owner_only(sma_str(harmless[i])));
    }
}

static void the_decision_says_when_only_an_owner_may_agree(void)
{
    static const char *const owners[] = {"ls > Agent.md", "unknown > ship.json", "cp a Makefil?",
                                         "mv a .github/x", "ls > scripts/json.py"};
    static const char *const others[] = {"unknown", "ls > $x", "ls > a", "cat Makefile",
                                         "unknown Agent.md"};
    for (size_t i = 0; i < SMA_COUNT_OF(owners); i++) {
        struct sma_policy_decision decision = decide_free(owners[i]);
        if (decision.verdict != SMA_POLICY_ASK || !decision.is_owner_only)
            fprintf(stderr, "%s\n", owners[i]);
        CHECK(decision.verdict == SMA_POLICY_ASK && decision.is_owner_only);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++) {
        if (decide_free(others[i]).is_owner_only)
            fprintf(stderr, "%s\n", others[i]);
        CHECK(!decide_free(others[i]).is_owner_only);
    }
}

/* The owner's rule is his word for what `git pull` brings, but for nothing that runs beside it. */
static void a_rule_for_a_writer_opens_his_files(void)
{
    static const struct
    {
        const char *command;
        bool is_ruled;
    } rows[] = {{"git pull", true},
                {"git pull --ff-only", true},
                {"git pull && git status", false},
                {"git status", false},
                {"ls > a", false},
                {"touch a", false},
                {"cp a.txt b.txt", false},
                {"git pull | cat", false}};
    struct sma_policy *policy = NULL;
    struct sma_error error = {0};
    enum sma_policy_write answer = SMA_POLICY_WRITE_FREE;
    CHECK_OK(sma_policy_load("{\"exec_shell\":{\"allow\":[\"git pull\",\"git "
                             "status\",\"ls\",\"touch\",\"cp\",\"cat\"]}}",
                             &policy, &error));
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_policy_query query = {.command = sma_str(rows[i].command),
                                         .project_dir = SMA_STR("/project"),
                                         .may_write = say,
                                         .user = &answer};
        struct sma_policy_decision decision;
        sma_policy_decide(policy, shell, &query, &decision);
        if (decision.verdict != SMA_POLICY_ALLOW || decision.is_owner_ruled != rows[i].is_ruled)
            fprintf(stderr, "%s: %s\n", rows[i].command, decision.reason);
        CHECK(decision.verdict == SMA_POLICY_ALLOW && decision.is_owner_ruled == rows[i].is_ruled);
    }
    sma_policy_destroy(policy);
}

/* No rule may be `flock` alone, but where everything understood runs it made any file, empty. */
static void the_file_of_a_lock_is_written(void)
{
    static const struct
    {
        const char *command;
        enum sma_policy_verdict verdict;
    } rows[] = {
        {"flock a.lock cat a.txt", SMA_POLICY_ALLOW},
        {"flock rust-toolchain cat a.txt", SMA_POLICY_ASK},
        {"flock -n .git/hooks/update cat a.txt", SMA_POLICY_ASK},
        {"flock -w 1 ../x cat a.txt", SMA_POLICY_ASK},
    };
    enum sma_policy_write answer = SMA_POLICY_WRITE_FREE;
    struct sma_policy *policy = NULL;
    struct sma_error error = {0};
    CHECK_OK(sma_policy_load("{\"exec_shell\":true}", &policy, &error));
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_policy_query query = {.command = sma_str(rows[i].command),
                                         .project_dir = SMA_STR("/project"),
                                         .may_write = say,
                                         .user = &answer};
        struct sma_policy_decision decision;
        sma_policy_decide(policy, shell, &query, &decision);
        if (decision.verdict != rows[i].verdict)
            fprintf(stderr, "%s: %s\n", rows[i].command, decision.reason);
        CHECK_INT(rows[i].verdict, decision.verdict);
    }
    sma_policy_destroy(policy);
}

int main(void)
{
    shell = sma_shell_create();
    CHECK(shell != NULL);
    RUN(what_rules_run_is_never_written_unasked);
    RUN(plain_files_are_as_free_as_the_caller_says);
    RUN(what_cannot_be_told_is_asked);
    RUN(patterns_and_braces_read_no_secret);
    RUN(files_of_owners_are_known_by_name);
    RUN(the_decision_says_when_only_an_owner_may_agree);
    RUN(a_rule_for_a_writer_opens_his_files);
    RUN(the_file_of_a_lock_is_written);
    sma_shell_destroy(shell);
    return check_summary();
}
