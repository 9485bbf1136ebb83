/*
 * Aim: the rules that `init` writes let what only reads run, and nothing else: of the ordinary
 * commands of an agent that codes at most 40 are asked about, and each rule is no way to write or
 * run something. Method: two tables under exactly those rules.
 */
#include "runtime/policy/policy.h"
#include "runtime/policy/read_rules.h"
#include "runtime/policy/shell.h"
#include "support/check.h"

#define ASKED_MAX 40 /* of ORDINARY; without rules it is nearly all of them */

/* What such agents run in a day of work, in the order of how it goes: look around, read, search,
 * history, change, build, test, publish. */
static const char *const ORDINARY[] = {
    "ls -la",
    "ls src tests",
    "pwd",
    "find . -name '*.c' -not -path './build/*'",
    "find src -type f | head -50",
    "find . -maxdepth 2 -type d",
    "tree -L 2",
    "cat README.md",
    "cat package.json",
    "cat src/main.c | head -100",
    "head -40 src/main.c",
    "tail -50 logs/app.log",
    "sed -n '100,160p' src/main.c",
    "wc -l src/*.c",
    "cat *.md | wc -l",
    "grep -rn 'load_config' src",
    "grep -n \"main\" src/*.c | cut -d: -f1 | sort | uniq -c",
    "rg -n 'create_user' --type py",
    "rg --files | wc -l",
    "find . -name '*.py' -exec grep -l import {} +",
    "file data/input.bin",
    "stat src/main.c",
    "du -sh .",
    "df -h",
    "which node",
    "date",
    "jq '.scripts' package.json",
    "diff -u old.c new.c",
    "md5sum data/input.bin",
    "cat data.csv | cut -d, -f2 | sort -n | tail -5",
    "tr a-z A-Z < notes.txt",
    "git status --short",
    "git status && git diff --stat",
    "git diff HEAD~1",
    "git log --oneline -20",
    "git log -p -3 -- src/main.c",
    "git show HEAD --stat",
    "git branch -a",
    "git branch --show-current",
    "git blame -L 10,20 src/main.c",
    "git ls-files | wc -l",
    "git rev-parse --short HEAD",
    "git stash list",
    "git checkout -b feature/x",
    "git add -A",
    "git commit -m 'fix: read the whole file'",
    "git pull --rebase",
    "git push origin HEAD",
    "mkdir -p src/new",
    "touch src/new/__init__.py",
    "cp config.example.json config.json",
    "mv old.py new.py",
    "rm -rf build",
    "sed -i 's/foo/bar/g' src/main.c",
    "echo 'x = 1' > settings.py",
    "cat > notes.txt <<'EOF'\nhello\nEOF",
    "chmod +x scripts/run.sh",
    "npm ci",
    "npm test",
    "npm run build",
    "npx tsc --noEmit",
    "npx eslint src",
    "node index.js",
    "node --version",
    "python3 --version",
    "python3 -m pytest -q",
    "python3 -c 'import sys; print(sys.version)'",
    "pip install -r requirements.txt",
    "make -j4",
    "cargo test",
    "go build ./...",
    "docker ps",
    "curl -s http://localhost:3000/health",
    "tar -czf backup.tgz src",
};

/* Each writes, runs or changes something, with a program that a rule names. */
/* Beside what is asked about for what an option or an expansion may be. */
static const char *const NEIGHBOURS[] = {
    "diff -U3 --label a old.c new.c",
    "git log --format='%h %s'",
    "git log --pretty=oneline",
    "for f in src tests; do cat \"$f/README.md\"; done",
    "cat \"${X:-src/main.c}\"",
    "cat \"${DIR}/notes.md\"",
    "diff a b",
    "grep -rn credentials src",
    "jq .a.key data.json",
    "cat .env.example deploy/id_rsa.pub",
    "cat src/config docs/pem.md",
    "git log -- config",
    "find . -name .gitignore",
    "cat src/keyboard.c monkey.c",
    "git --no-pager log --oneline -5",
    "git -P --no-pager diff --stat",
    "git --no-pager branch -a",
    "git --version",
    "git grep -n main src",
    "git remote -v",
    "git remote get-url origin",
    "git tag -l",
    "git describe --tags",
    "git stash list",
    "git reflog",
    "git reflog show -5",
    "git shortlog -sn",
    "git cat-file -p HEAD:README.md",
    "git branch --merged main",
    "echo hello; printf '%s\\n' a b; true; test -f a && [ -d b ]",
    "basename a/b; dirname a/b; realpath a; readlink -f a",
    "sha256sum a; nl a; seq 3; nproc; uname -a; whoami; id",
    "column -t a; paste a b; comm a b; strings a; hexdump -C a; tree -L 2",
    "grep -rn process.env src",
    "grep -rn --include=*.js '.env' src",
    "rg -n .env src",
    "grep -c -- .npmrc README.md",
    "find . -name .env",
    "find . -type f -iname '*.key' -not -path './build/*'",
};

static const char *const ATTACKS[] = {
    "cat ${X:-sub/.env}",
    "cat ${X-.env}",
    "cat \"${X:-${Y:-.ship/mcp/mcp.json}}\"",
    "cat su${X:-b/.e}nv",
    "cat \"sub/.e${Y}nv\"",
    "cat \"${Y}.env\"",
    "cat \"sub/.$Y\"",
    "cat ship${Y}.json",
    "cat \"$Y\"ship.json",
    "git log --format=%GG",
    "git log --format %h%G?",
    "git show --pretty=%GK HEAD",
    "git show --pretty='format:%G?' HEAD",
    "git log \"--format=$F\"",
    "diff -l a b",
    "diff -ul a b",
    "diff --paginate a b",
    "find . -delete",
    "find . -name x -exec sh -c y {} +",
    "find . -exec touch x ';'",
    "find . -execdir cat {} ';' -ok rm {} ';'",
    "find . -fprint out",
    "find . -fprintf out x",
    "find . -fls out",
    "find . -files0-from x",
    "find . -exec find . -delete ';'",
    "sort -o out a",
    "sort -oout a",
    "sort -uo out a",
    "sort --output=out a",
    "sort --outp out a",
    "sort --compress-program=x a",
    "sort -T .. a",
    "uniq a out",
    "uniq -c a out",
    "rg --pre x y",
    "rg --pre=x y",
    "rg --hostname-bin x y",
    "rg -z x",
    "date -s now",
    "date --set=now",
    "date 010100002020",
    "file -C -m x",
    "file --compile -m x",
    "file -z a",
    "cat a > b",
    "cat a >> b",
    "ls > out",
    "tail a | sh",
    "cat a | xargs rm",
    "cat a | tee b",
    "grep x a > .git/hooks/pre-commit",
    "jq . a > b",
    "git branch x",
    "git branch -a x",
    "git branch -D x",
    "git branch -v -D x",
    "git branch --list -D x",
    "git branch -m a b",
    "git branch --edit-description",
    "git branch --show-current x",
    "git diff --output=x",
    "git diff --ext-diff",
    "git log --output x",
    "git log --textconv -p",
    "git show --output=Makefile",
    "git show --ext-diff",
    "git blame --contents ../x a",
    "git -c core.pager=x log",
    "git -C sub status",
    "git log -p --show-signature",
    "GIT_PAGER=x git log",
    "GIT_EXTERNAL_DIFF=x git diff",
    "PATH=.:$PATH ls",
    "LD_PRELOAD=./x.so ls",
    "RIPGREP_CONFIG_PATH=x rg y",
    "TMPDIR=.. sort a",
    "./ls",
    "/tmp/cat a",
    "bin/find .",
    "cat .env",
    "cat sub/.env.local",
    "cat .envrc",
    "head deploy/id_rsa",
    "cat certs/server.pem",
    "grep -c '' tls.key",
    "cat .netrc",
    "jq . deploy/service-account-prod.json",
    "cat .aws/credentials",
    "wc -c ~/.ssh/config",
    "cat web/.npmrc",
    "cat .git/config",
    "cat .git/c*",
    "cat lib/.git/modules/a/config",
    "cat mirror.git/config",
    "git show HEAD:config/master.key",
    "cat deploy/*.pem",
    "cat kubeconfig.yaml deploy/kubeconfig",
    "head -c 100 .env",
    "grep -rf.env a.txt",
    "rg -f.env x",
    "jq -n --rawfile a .env '$a'",
    "diff .env a.txt",
    "tail ship.json",
    "find . -newer .ship/state.db",
    "md5sum .env",
    "stat .ship",
    "ls $(x)",
    "cat <(x)",
    "wc -l `x`",
    "du --files0-from=.env",
    "which rm; rm x",
    "git --no-pager log --output=x",
    "git -P diff --ext-diff",
    "git --no-pager branch x",
    "git --no-pager -c core.pager=x log",
    "git --paginate log",
    "git -p log",
    "git --exec-path=x log",
    "git \"$X\" log",
    "git --no-pager push",
    "git grep -Ox y",
    "git grep -nO y",
    "git grep --open-files-in-pager=x y",
    "git grep --open y",
    "git grep --textconv y",
    "git grep x -- .env",
    "git grep -f .env",
    "git describe --contains --output=x --unknown",
    "git shortlog --output=x",
    "git shortlog --format=%G?",
    "git cat-file --textconv HEAD:a",
    "git cat-file --filters HEAD:a",
    "git cat-file -p HEAD:.env",
    "git reflog expire --all",
    "git reflog delete HEAD@{1}",
    "git reflog show --output=x",
    "git reflog show --ext-diff -p",
    "git remote -v update",
    "git remote add a b",
    "git remote set-url origin x",
    "git remote get-url origin ext::x",
    "git tag x",
    "git tag -l -d x",
    "git tag -d x",
    "git stash",
    "git stash list --output=x",
    "git branch --merged -D x",
    "git branch --merged main x",
    "git --version log",
    "tree -o out",
    "tree -ao out",
    "tree --output out",
    "tree -R -L 1",
    "echo x > out",
    "printf x >> out",
    "printf -v PATH x",
    "sha256sum .env",
    "nl .env",
    "strings deploy/id_rsa",
    "hexdump -C prod.env",
    "paste .env a",
    "comm .netrc a",
    "column -t terraform.tfstate",
    "grep x .env",
    "grep -e x .env",
    "grep .env -e x",
    "grep .env -re x",
    "grep .env --regexp=x",
    "grep .env --reg x",
    "grep -f .env a",
    "grep --file .env a",
    "grep -rf .env a",
    "grep .env -f a",
    "grep --exclude-from .env x a",
    "grep -A .env x a",
    "grep -- x .env",
    "grep .env .env",
    "grep .env $X",
    "grep .env *",
    "rg --files .env",
    "rg -g x .env a",
    "rg --ignore-file .env x",
    "rg .env -e x",
    "find . -name .env -exec cat {} +",
    "find . -name .env | xargs cat",
    "find -name .env -newer .env",
    "find .env -name x",
    "find . -samefile .env",
    "find . -name $X .env",
    "cat $(find . -name .env)",
    "ls *.tfvars prod.env; cat a/prod.env",
    "cat .dev.vars",
};

static struct sma_shell *shell;

static enum sma_policy_write write_asked(void *user, struct sma_str path)
{
    (void)user, (void)path;
    return SMA_POLICY_WRITE_ASKED;
}

static int count_asked(const char *permissions, const char *const *commands, size_t count,
                       bool tells_allowed)
{
    struct sma_policy *policy;
    struct sma_error error = {0};
    CHECK_OK(sma_policy_load(permissions, &policy, &error));
    int asked = 0;
    for (size_t i = 0; i < count; i++) {
        struct sma_policy_query query = {.command = sma_str(commands[i]),
                                         .project_dir = SMA_STR("/project"),
                                         .may_write = write_asked};
        struct sma_policy_decision decision;
        sma_policy_decide(policy, shell, &query, &decision);
        asked += decision.verdict != SMA_POLICY_ALLOW;
        if (tells_allowed && decision.verdict == SMA_POLICY_ALLOW)
            fprintf(stderr, "allowed: %s\n", commands[i]);
    }
    sma_policy_destroy(policy);
    return asked;
}

static const char RULES[] =
    "{\"exec_shell\":{\"deny\":[\"rm\"],\"allow\":[" SMA_POLICY_READ_RULES_JSON "]}}";

CASE(what_only_reads_runs_without_a_question)
{
    int count = (int)SMA_COUNT_OF(ORDINARY);
    int before = count_asked("{}", ORDINARY, SMA_COUNT_OF(ORDINARY), false);
    int asked = count_asked(RULES, ORDINARY, SMA_COUNT_OF(ORDINARY), false);
    printf("# of %d ordinary commands %d are asked about, %d without rules\n", count, asked,
           before);
    CHECK_INT(74, count);
    CHECK(before >= 70); /* it is no list of what is allowed anyway */
    CHECK(asked <= ASKED_MAX);
    /* and none that changes something is among those that run */
    CHECK_INT(0, count_asked(RULES, NEIGHBOURS, SMA_COUNT_OF(NEIGHBOURS), false));
    CHECK_INT(30, count_asked(RULES, ORDINARY + count - 30, 30, true));
}

CASE(none_of_the_rules_writes_or_runs)
{
    CHECK_INT((int)SMA_COUNT_OF(ATTACKS), count_asked(RULES, ATTACKS, SMA_COUNT_OF(ATTACKS), true));
}

int main(void)
{
    shell = sma_shell_create();
    CHECK(shell != NULL);
    check_run_cases(NULL);
    sma_shell_destroy(shell);
    return check_summary();
}
