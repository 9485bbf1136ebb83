/*
 * Aim: `permissions` of both eras mean what the notes say; rules that would open everything are
 * refused; bindings change with what they bind. Method: small configurations and one command each.
 */
#include "runtime/policy/shell_priv.h"
#include "support/check.h"

static struct sma_shell *shell;

static bool stay_in_src(void *user, struct sma_str path)
{
    (void)user;
    return path.len < 4 || memcmp(path.ptr, "link", 4) != 0;
}

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
    struct sma_policy_query query = {.command = sma_str(command),
                                     .project_dir = SMA_STR("/home/me/project"),
                                     .stays = stay_in_src,
                                     .may_write = write_freely};
    struct sma_policy_decision decision;
    sma_policy_decide(policy, shell, &query, &decision);
    sma_policy_destroy(policy);
    return decision;
}

CASE(verdicts_follow_the_configuration)
{
    static const struct
    {
        const char *permissions, *command;
        enum sma_policy_verdict verdict;
        const char *rule;
    } cases[] = {
        {NULL, "ls", SMA_POLICY_ASK, ""},
        {"", "rm x", SMA_POLICY_REFUSE, "rm"},
        {"{}", "ls", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":false}", "ls", SMA_POLICY_REFUSE, "permissions.exec_shell: false"},
        {"{\"exec_shell\":true}", "ls | rm x", SMA_POLICY_ALLOW, "permissions.exec_shell"},
        {"{\"exec_shell\":true}", "ls 'x", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":true}", "$x", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":true}", "ls > .env", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{}}", "ls", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{}}", "rm x", SMA_POLICY_REFUSE, "rm"},
        {"{\"exec_shell\":{\"deny\":[]}}", "rm x", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"deny\":[\"rm\"],\"requiresApproval\":false}}", "ls", SMA_POLICY_ALLOW,
         "permissions.exec_shell"},
        {"{\"exec_shell\":{\"deny\":[\"rm\"],\"requiresApproval\":true}}", "ls", SMA_POLICY_ASK,
         "permissions.exec_shell.requiresApproval"},
        {"{\"exec_shell\":{\"requiresApproval\":false}}", "rm x", SMA_POLICY_REFUSE, "rm"},
        {"{\"exec_shell\":{\"requiresApproval\":false}}", "sh x.sh", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"requiresApproval\":false}}", "mytool rm", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"ls\"],\"requiresApproval\":false}}", "cat x",
         SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"ls\"],\"requiresApproval\":true}}", "ls x", SMA_POLICY_ASK,
         "permissions.exec_shell.requiresApproval"},
        {"{\"exec_shell\":{\"deny\":[\"ls\"],\"allow\":[\"ls\"]}}", "ls", SMA_POLICY_REFUSE, "ls"},
        {"{\"exec_shell\":{\"deny\":[\"ls\"],\"denyRequiresApproval\":true}}", "ls", SMA_POLICY_ASK,
         "ls"},
        {"{\"exec_shell\":{\"allow\":[\"ls\"]}}", "", SMA_POLICY_REFUSE, ""},
        {"{\"exec_shell\":{\"allow\":[\"ls\"]}}", "# nothing", SMA_POLICY_REFUSE, ""},
        /* rules */
        {"{\"exec_shell\":{\"allow\":[\"git status\"]}}", "git status -s", SMA_POLICY_ALLOW,
         "git status"},
        {"{\"exec_shell\":{\"allow\":[\"git status\"]}}", "git stash", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"git status\"]}}", "git", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"git status *\"]}}", "git status -s", SMA_POLICY_ALLOW,
         "git status *"},
        {"{\"exec_shell\":{\"allow\":[\"=git status\"]}}", "git status", SMA_POLICY_ALLOW,
         "=git status"},
        {"{\"exec_shell\":{\"allow\":[\"=git status\"]}}", "git status -s", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"git\"]}}", "/usr/bin/git status", SMA_POLICY_ALLOW, "git"},
        {"{\"exec_shell\":{\"allow\":[\"git\"]}}", "/opt/git status", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"./run\"]}}", "./run x", SMA_POLICY_ALLOW, "./run"},
        {"{\"exec_shell\":{\"allow\":[\"./run\"]}}", "run x", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"'my tool' a\"]}}", "my\\ tool a b", SMA_POLICY_ALLOW,
         "'my tool' a"},
        {"{\"exec_shell\":{\"allow\":[\"sudo apt update\"]}}", "sudo apt update", SMA_POLICY_ALLOW,
         "sudo apt update"},
        {"{\"exec_shell\":{\"allow\":[\"sudo apt update\"]}}", "sudo apt install x", SMA_POLICY_ASK,
         ""},
        {"{\"exec_shell\":{\"allow\":[\"sudo apt update\"]}}", "apt update", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"apt update\"]}}", "sudo apt update", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"docker exec web ls\"]}}", "docker exec web ls -l",
         SMA_POLICY_ALLOW, "docker exec web ls"},
        {"{\"exec_shell\":{\"allow\":[\"docker exec web ls\"]}}", "docker exec web sh",
         SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"find . -name\"]}}", "find . -name x -exec ls {} +",
         SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"find . -exec ls\"]}}", "find . -exec ls {} +",
         SMA_POLICY_ALLOW, "find . -exec ls"},
        {"{\"exec_shell\":{\"allow\":[\"cat .env\"]}}", "cat .env", SMA_POLICY_ALLOW, "cat .env"},
        {"{\"exec_shell\":{\"allow\":[\"cat .env\"]}}", "cat .env .env.local", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"sh -c 'ls; pwd'\"]}}", "sh -c 'ls; pwd'", SMA_POLICY_ALLOW,
         "sh -c 'ls; pwd'"},
        {"{\"exec_shell\":{\"allow\":[\"sh -c 'ls; pwd'\"]}}", "sh -c 'ls; id'", SMA_POLICY_ASK,
         ""},
        {"{\"exec_shell\":{\"allow\":[\"make CC=clang\"]}}", "make CC=clang all", SMA_POLICY_ALLOW,
         "make CC=clang"},
        {"{\"exec_shell\":{\"allow\":[\"make\"]}}", "make CC=clang all", SMA_POLICY_ASK, ""},
        /* deny rules of several words */
        {"{\"exec_shell\":{\"deny\":[\"git push\"],\"requiresApproval\":false}}",
         "git commit -m push", SMA_POLICY_ALLOW, "permissions.exec_shell"},
        {"{\"exec_shell\":{\"deny\":[\"git push\"],\"requiresApproval\":false}}", "git push",
         SMA_POLICY_REFUSE, "git push"},
        {"{\"exec_shell\":{\"deny\":[\"ls -la\"],\"requiresApproval\":false}}", "ls -l x -a",
         SMA_POLICY_REFUSE, "ls -la"},
        {"{\"exec_shell\":{\"deny\":[\"ls -la\"],\"requiresApproval\":false}}", "ls -l",
         SMA_POLICY_ALLOW, "permissions.exec_shell"},
        {"{\"exec_shell\":{\"deny\":[\"ls -a\"],\"requiresApproval\":false}}", "ls --all",
         SMA_POLICY_ASK, "ls -a"},
        {"{\"exec_shell\":{\"deny\":[\"ls -a\"],\"requiresApproval\":false}}", "ls \"$x\"",
         SMA_POLICY_ASK, "ls -a"},
        {"{\"exec_shell\":{\"deny\":[\"=ls -a\"],\"requiresApproval\":false}}", "ls -a",
         SMA_POLICY_REFUSE, "=ls -a"},
        {"{\"exec_shell\":{\"deny\":[\"/opt/x/tool\"],\"requiresApproval\":false}}", "tool",
         SMA_POLICY_REFUSE, "/opt/x/tool"},
        /* files */
        {"{\"exec_shell\":{\"allow\":[\"ls\"]}}", "ls > /home/me/project/out", SMA_POLICY_ALLOW,
         "ls"},
        {"{\"exec_shell\":{\"allow\":[\"ls\"]}}", "ls > /home/me/projects/out", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"ls\"]}}", "ls > /home/me/project", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"ls\"]}}", "ls > ./out/a.txt", SMA_POLICY_ALLOW, "ls"},
        {"{\"exec_shell\":{\"allow\":[\"ls\"]}}", "ls > link/a", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"ls\"]}}", "ls > /home/me/project/link", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"ls\"]}}", "cd src && ls > a", SMA_POLICY_ALLOW, "ls"},
        {"{\"exec_shell\":{\"allow\":[\"ls\"]}}", "cd link && ls", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"cp\"]}}", "cp a link/b", SMA_POLICY_ASK, ""},
        {"{\"exec_shell\":{\"allow\":[\"ls\"]}}", "ls > ''", SMA_POLICY_ASK, ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_policy_decision decision = decide(cases[i].permissions, cases[i].command);
        if (decision.verdict != cases[i].verdict || strcmp(decision.rule, cases[i].rule) != 0)
            fprintf(stderr, "%s\n  %s\n  %s: %s\n", cases[i].permissions, cases[i].command,
                    decision.program, decision.reason);
        CHECK_TEXT(sma_policy_verdict_name(cases[i].verdict),
                   sma_policy_verdict_name(decision.verdict));
        CHECK_TEXT(cases[i].rule, decision.rule);
        CHECK(decision.reason[0] != '\0');
    }
}

CASE(rules_that_open_everything_are_refused)
{
    static const char *const rules[] = {
        "sh",
        "bash",
        "bash -c",
        "/bin/sh",
        "zsh *",
        "sh -s",
        "python3",
        "python3 -c",
        "python3.11",
        "python3 -m",
        "perl",
        "perl -e",
        "node",
        "node -e",
        "ruby *",
        "=python3",
        "=bash",
        "env",
        "env -i",
        "sudo",
        "sudo -u root",
        "timeout 5",
        "nice -n 5",
        "xargs",
        "xargs -0",
        "nohup",
        "eval",
        "exec",
        "command",
        "busybox",
        "ssh host",
        "docker",
        "docker exec",
        "docker exec web",
        "docker run",
        "npx",
        "vim",
        "source",
        ".",
        "watch",
        "flock x",
        "env python3",
        "sudo bash",
        "timeout 5 sh",
        "busybox sh",
        "find . -exec",
        "git -c",
        "bash -x",
        "parallel",
        "tmux",
        "trap",
        "xargs sh -c",
        "poetry run",
        "sh -c \"$x\"",
        "git -c core.pager=x -c",
        "find . -exec sh -c",
        "sudo -E env",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rules); i++) {
        char permissions[256];
        size_t len = 0;
        len += (size_t)snprintf(permissions, sizeof permissions, "{\"exec_shell\":{\"allow\":[\"");
        for (const char *at = rules[i]; *at != '\0'; at++) {
            if (*at == '"')
                permissions[len++] = '\\';
            permissions[len++] = *at;
        }
        snprintf(permissions + len, sizeof permissions - len, "\"]}}");
        struct sma_policy *policy = NULL;
        struct sma_error error = {0};
        enum sma_err err = sma_policy_load(permissions, &policy, &error);
        if (err != SMA_ERR_BADINPUT)
            fprintf(stderr, "%s\n", rules[i]);
        CHECK_ERR(SMA_ERR_BADINPUT, err);
        CHECK(policy == NULL && strstr(error.text, "permissions.exec_shell.allow") != NULL);
    }
}

CASE(wrong_configurations_are_refused_with_a_reason)
{
    static const char *const texts[] = {
        "[]",
        "{",
        "{\"exec_shell\":1}",
        "{\"exec_shell\":\"yes\"}",
        "{\"exec_shell\":null}",
        "{\"exec_shell\":{\"deny\":\"rm\"}}",
        "{\"exec_shell\":{\"deny\":[1]}}",
        "{\"exec_shell\":{\"deny\":[\"\"]}}",
        "{\"exec_shell\":{\"deny\":[\"*\"]}}",
        "{\"exec_shell\":{\"deny\":[\"a; b\"]}}",
        "{\"exec_shell\":{\"deny\":[\"a > b\"]}}",
        "{\"exec_shell\":{\"deny\":[\"A=1 b\"]}}",
        "{\"exec_shell\":{\"allow\":[\"git *.c\"]}}",
        "{\"exec_shell\":{\"allow\":[\"git 'x\"]}}",
        "{\"exec_shell\":{\"allow\":[\"=\"]}}",
        "{\"exec_shell\":{\"allow\":{\"a\":1}}}",
        "{\"exec_shell\":{\"requiresApproval\":\"no\"}}",
        "{\"exec_shell\":{\"denyRequiresApproval\":0}}",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
        struct sma_policy *policy = NULL;
        struct sma_error error = {0};
        CHECK_ERR(SMA_ERR_BADINPUT, sma_policy_load(texts[i], &policy, &error));
        CHECK(policy == NULL && strstr(error.text, "permissions") != NULL);
    }
}

CASE(rule_counts_and_lengths_have_a_limit)
{
    for (size_t extra = 0; extra < 2; extra++) {
        size_t count = SMA_POLICY_RULE_COUNT_MAX + extra, len = 0;
        char *text = malloc(count * 6 + 64);
        CHECK(text != NULL);
        len += (size_t)snprintf(text, 64, "{\"exec_shell\":{\"deny\":[");
        for (size_t i = 0; i < count; i++)
            len += (size_t)snprintf(text + len, 8, "%s\"a\"", i > 0 ? "," : "");
        snprintf(text + len, 8, "]}}");
        struct sma_policy *policy = NULL;
        CHECK_ERR(extra == 0 ? SMA_ERR_OK : SMA_ERR_BADINPUT, sma_policy_load(text, &policy, NULL));
        sma_policy_destroy(policy);
        free(text);
    }
    for (size_t extra = 0; extra < 2; extra++) {
        size_t bytes = SMA_POLICY_RULE_BYTES_MAX + extra;
        char *text = malloc(bytes + 64);
        CHECK(text != NULL);
        size_t len = (size_t)snprintf(text, 64, "{\"exec_shell\":{\"deny\":[\"");
        memset(text + len, 'a', bytes);
        snprintf(text + len + bytes, 8, "\"]}}");
        struct sma_policy *policy = NULL;
        CHECK_ERR(extra == 0 ? SMA_ERR_OK : SMA_ERR_BADINPUT, sma_policy_load(text, &policy, NULL));
        sma_policy_destroy(policy);
        free(text);
    }
}

/* -- bindings ---------------------------------------------------------------------------------- */
struct disk
{
    const char *path, *bytes;
    enum sma_err err;
};

static enum sma_err read_script(void *user, const char *path, size_t max, char **ret_bytes,
                                size_t *ret_len)
{
    const struct disk *disk = user;
    CHECK(max == SMA_POLICY_SCRIPT_BYTES_MAX);
    if (disk->path == NULL || strcmp(path, disk->path) != 0)
        return SMA_ERR_NOTFOUND;
    if (disk->err != SMA_ERR_OK)
        return disk->err;
    *ret_bytes = strdup(disk->bytes);
    *ret_len = strlen(disk->bytes);
    return *ret_bytes == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

static struct sma_policy_binding bind(const char *command, const char *directory, struct disk disk)
{
    struct sma_policy_binding binding;
    sma_shell_parse(shell, sma_str(command));
    sma_shell_unwrap(shell);
    const struct sma_policy_files files = {.read = read_script, .user = &disk};
    CHECK_OK(sma_policy_bind(shell, sma_str(directory), &files, &binding));
    return binding;
}

static bool is_same(struct sma_policy_binding a, struct sma_policy_binding b)
{
    return memcmp(a.digest, b.digest, sizeof a.digest) == 0;
}

CASE(bindings_change_with_what_they_bind)
{
    struct disk script = {"/p/x.sh", "ls\n", SMA_ERR_OK}, changed = {"/p/x.sh", "rm\n", SMA_ERR_OK},
                none = {0};
    struct sma_policy_binding first = bind("sh x.sh a", "/p", script);
    CHECK(first.is_complete && first.script_count == 1);
    CHECK(is_same(first, bind("sh x.sh a", "/p", script)));
    CHECK(!is_same(first, bind("sh x.sh a", "/p", changed)));
    CHECK(!is_same(first, bind("sh x.sh a", "/p", none)));
    CHECK(!is_same(first, bind("sh x.sh b", "/p", script)));
    CHECK(!is_same(first, bind("sh x.sh a", "/q", script)));
    CHECK(!is_same(bind("a 'b c'", "/p", none), bind("a b c", "/p", none)));
    CHECK(bind("./x.sh", "/p", (struct disk){"/p/./x.sh", "ls", SMA_ERR_OK}).script_count == 1);
    CHECK(bind("/p/x.sh", "/elsewhere", script).script_count == 1);
    CHECK_INT(0, bind("/usr/bin/git status", "/p", none).script_count);
    CHECK(bind("git status", "/p", none).is_complete);
    CHECK(bind("env sh -e x.sh", "/p", script).script_count == 1);
}

CASE(bindings_say_when_they_do_not_bind_everything)
{
    struct disk script = {"/p/x.sh", "ls\n", SMA_ERR_OK}, broken = {"/p/x.sh", "", SMA_ERR_IO};
    struct disk large = {"/p/x.sh", "", SMA_ERR_TOOBIG}, full = {"/p/x.sh", "", SMA_ERR_NOMEM};
    CHECK(!bind("sh x.sh", "/p", broken).is_complete);
    CHECK(!bind("sh x.sh", "/p", large).is_complete);
    CHECK(!bind("cd a && sh x.sh", "/p", script).is_complete);
    CHECK(!bind("$x", "/p", script).is_complete);
    CHECK(!bind("ls 'x", "/p", script).is_complete);
    CHECK(!bind("python3 -c x", "/p", script).is_complete);
    CHECK(!bind("ls | xargs git add", "/p", script).is_complete);
    struct sma_policy_binding binding;
    sma_shell_parse(shell, SMA_STR("sh x.sh"));
    sma_shell_unwrap(shell);
    const struct sma_policy_files files = {.read = read_script, .user = &full};
    CHECK_ERR(SMA_ERR_NOMEM, sma_policy_bind(shell, SMA_STR("/p"), &files, &binding));
}

static enum sma_err look_at_nothing(void *user, const char *path,
                                    struct sma_policy_file_facts *ret_facts)
{
    (void)user, (void)path, (void)ret_facts;
    return SMA_ERR_NOTFOUND;
}

CASE(bindings_say_what_reads_beside_its_words)
{
    static const char *const open[] = {"gcc -c a.c",
                                       "g++ a.cc",
                                       "/usr/bin/cc a.c",
                                       "clang-18 a.c",
                                       "gcc-13 a.c",
                                       "cpp a.c",
                                       "ld a.o",
                                       "as a.s",
                                       "rustc a.rs",
                                       "javac A.java",
                                       "tcc a.c",
                                       "go build a.go",
                                       "terraform plan",
                                       "git commit -am x",
                                       "git -C sub merge other",
                                       "git push",
                                       "git stash",
                                       "git apply a.patch",
                                       "jq -L lib . a.json",
                                       "jq -rL lib . a.json",
                                       "jq 'import \"a\" as a; .' b.json",
                                       "rg x",
                                       "rg -n x",
                                       "grep -r x",
                                       "egrep -rh x",
                                       "fgrep --recursive x",
                                       "grep -d recurse x",
                                       "git show HEAD:a.txt",
                                       "git grep -h x",
                                       "git cat-file -p HEAD:a",
                                       "sort --files0-from=a",
                                       "wc --files0-from=a"};
    static const char *const bound[] = {"grep -n x a.txt", "grep -e r a.txt", "cat a.txt",
                                        "jq -r .x a.json", "rg -n x a.txt",   "sort -n a",
                                        "git status",      "git log -1"};
    struct disk none = {0};
    const struct sma_policy_files files = {
        .read = read_script, .look = look_at_nothing, .user = &none};
    for (size_t i = 0; i < SMA_COUNT_OF(open) + SMA_COUNT_OF(bound); i++) {
        bool is_open = i < SMA_COUNT_OF(open);
        const char *command = is_open ? open[i] : bound[i - SMA_COUNT_OF(open)];
        struct sma_policy_binding binding;
        sma_shell_parse(shell, sma_str(command));
        sma_shell_unwrap(shell);
        CHECK_OK(sma_policy_bind(shell, SMA_STR("/p"), &files, &binding));
        if (binding.loads_beside != is_open || binding.reads_unnamed)
            fprintf(stderr, "%s\n", command);
        CHECK(binding.loads_beside == is_open && !binding.reads_unnamed);
    }
}

/* -- recipes and modules ----------------------------------------------------------------------- */
/* A project by path; a file may be changed. */
struct tree
{
    const char *changed; /* its contents are others */
    const char *files[12];
};

static enum sma_err read_tree(void *user, const char *path, size_t max, char **ret_bytes,
                              size_t *ret_len)
{
    const struct tree *tree = user;
    (void)max;
    for (size_t i = 0; i < SMA_COUNT_OF(tree->files) && tree->files[i] != NULL; i++) {
        if (strcmp(path, tree->files[i]) != 0)
            continue;
        bool is_changed = tree->changed != NULL && strcmp(path, tree->changed) == 0;
        *ret_bytes = strdup(is_changed ? "other" : "same");
        *ret_len = strlen(*ret_bytes);
        return SMA_ERR_OK;
    }
    return SMA_ERR_NOTFOUND;
}

static enum sma_err list_tree(void *user, const char *path, size_t max, char **ret_names)
{
    const struct tree *tree = user;
    char *names = calloc(1, 4096), *at = names;
    size_t len = strlen(path);
    CHECK(names != NULL && max == SMA_POLICY_FOLDER_NAME_COUNT_MAX);
    if (len > 1 && strcmp(path + len - 2, "/.") == 0)
        len -= 2;
    for (size_t i = 0; i < SMA_COUNT_OF(tree->files) && tree->files[i] != NULL; i++) {
        const char *file = tree->files[i];
        if (strncmp(file, path, len) != 0 || file[len] != '/')
            continue;
        const char *slash = strchr(file + len + 1, '/'); /* a folder's name ends with it */
        at += 1 + snprintf(at, 200, "%.*s",
                           slash == NULL ? 200 : (int)(slash + 1 - file - (ptrdiff_t)len - 1),
                           file + len + 1);
    }
    if (at == names) {
        free(names);
        return SMA_ERR_NOTFOUND;
    }
    *ret_names = names;
    return SMA_ERR_OK;
}

static bool binds(const char *command, const char *changed)
{
    struct tree tree = {NULL,
                        {"/p/Makefile", "/p/package.json", "/p/sub/Makefile", "/p/x.py",
                         "/p/s/a.py", "/p/s/json.py", "/p/s/pack/b.py", "/p/s/notes.txt",
                         "/p/rules.mk", "/p/other", "/p/t/c.js", "/p/a.txt"}};
    struct sma_policy_binding first, second;
    sma_shell_parse(shell, sma_str(command));
    sma_shell_unwrap(shell);
    struct sma_policy_files files = {.read = read_tree, .list = list_tree, .user = &tree};
    CHECK_OK(sma_policy_bind(shell, SMA_STR("/p"), &files, &first));
    tree.changed = changed;
    CHECK_OK(sma_policy_bind(shell, SMA_STR("/p"), &files, &second));
    return !is_same(first, second);
}

CASE(bindings_hold_recipes_and_modules)
{
    static const struct
    {
        const char *command, *changed;
        bool is_bound;
    } rows[] = {
        {"make", "/p/Makefile", true},
        {"make -j4 test", "/p/rules.mk", true},
        {"timeout 60 make", "/p/Makefile", true},
        {"ls && make", "/p/Makefile", true},
        {"sh -c 'make test'", "/p/Makefile", true},
        {"cd sub && make", "/p/sub/Makefile", true},
        {"make -C sub", "/p/sub/Makefile", true},
        {"npm test", "/p/package.json", true},
        {"npm test", "/p/Makefile", false},
        {"make", "/p/a.txt", false},
        {"ls", "/p/Makefile", false},
        {"python3 s/a.py", "/p/s/a.py", true},
        {"python3 s/a.py", "/p/s/json.py", true},
        {"python3 s/a.py", "/p/s/pack/b.py", true},
        {"python3 s/a.py", "/p/s/notes.txt", false},
        {"python3 s/a.py", "/p/t/c.js", false},
        {"node t/d.js", "/p/t/c.js", true},
        {"python3 x.py", "/p/s/a.py", true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        bool is_bound = binds(rows[i].command, rows[i].changed);
        if (is_bound != rows[i].is_bound)
            fprintf(stderr, "%s: %s\n", rows[i].command, rows[i].changed);
        CHECK_INT(rows[i].is_bound, is_bound);
    }
}

/* A folder of more than can be read is said to be so. */
static enum sma_err list_many(void *user, const char *path, size_t max, char **ret_names)
{
    (void)user, (void)path, (void)max;
    char *names = calloc(1, 4096), *at = names;
    CHECK(names != NULL);
    for (size_t i = 0; i <= SMA_POLICY_SCRIPT_COUNT_MAX; i++)
        at += 1 + snprintf(at, 32, "m%zu.py", i);
    *ret_names = names;
    return SMA_ERR_OK;
}

CASE(bindings_of_too_much_say_so)
{
    struct tree tree = {NULL, {"/p/s/a.py"}};
    struct sma_policy_files files = {.read = read_tree, .list = list_many, .user = &tree};
    struct sma_policy_binding binding;
    sma_shell_parse(shell, SMA_STR("python3 s/a.py"));
    sma_shell_unwrap(shell);
    CHECK_OK(sma_policy_bind(shell, SMA_STR("/p"), &files, &binding));
    CHECK(!binding.is_complete && binding.script_count == SMA_POLICY_SCRIPT_COUNT_MAX);
}

/* -- tables ------------------------------------------------------------------------------------ */
CASE(every_known_program_is_found)
{
    static const char *const names[] = {".",     ":",     "R",    "Rscript", "[",       "awk",
                                        "bash",  "cat",   "env",  "find",    "git",     "python",
                                        "sed",   "sh",    "tee",  "test",    "watch",   "wc",
                                        "which", "xargs", "yash", "zsh",     "busybox", "docker"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        CHECK(sma_program_kind(sma_str(names[i])) != PROGRAM_OTHER);
    CHECK_INT(PROGRAM_INTERPRETER, sma_program_kind(SMA_STR("python3.11")));
    CHECK_INT(PROGRAM_SHELL, sma_program_kind(SMA_STR("bash-5.2")));
    CHECK_INT(PROGRAM_OTHER, sma_program_kind(SMA_STR("cat2")));
    CHECK_INT(PROGRAM_OTHER, sma_program_kind(SMA_STR("ca")));
    CHECK_INT(PROGRAM_OTHER, sma_program_kind(SMA_STR("")));
    CHECK(sma_programs_are_sorted());
}

int main(void)
{
    shell = sma_shell_create();
    CHECK(shell != NULL);
    check_run_cases(NULL);
    sma_shell_destroy(shell);
    return check_summary();
}
