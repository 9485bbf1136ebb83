/* owner_files.c — see owner_files.h. */
#include "owner_files.h"

#include "shell_priv.h"
#include "sma/text.h"

#include <fnmatch.h>

#define NAME_BYTES_MAX 255 /* a longer part of a path cannot exist */

/* Wherever they stand in a path. A star at the end: whatever follows. */
static const char *const NAMES[] = {
    /* the agent */
    "Agent.md", "ship.json", ".env*", ".ship", ".claude", ".agents",
    /* hooks */
    ".git", ".githooks", ".husky", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml",
    "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", ".overcommit.yml",
    /* CI */
    ".github", ".gitlab-ci*", ".gitlab", ".gitea", ".forgejo", ".circleci", ".buildkite",
    ".woodpecker*", ".drone*", ".travis.yml", ".cirrus*", ".semaphore", ".appveyor.yml",
    "appveyor.yml", "Jenkinsfile", "azure-pipelines.yml", "azure-pipelines.yaml",
    "bitbucket-pipelines.yml", "cloudbuild.yml", "cloudbuild.yaml", "buildspec.yml",
    "buildspec.yaml", "wercker.yml", "codefresh.yml",
    /* what programs read before they begin */
    ".npmrc", ".yarnrc*", ".pnpmfile.cjs", ".cargo", ".mvn", ".bundle", ".devcontainer*", ".vscode",
    ".idea", ".mise*", ".tool-versions", ".babelrc*", ".eslintrc*", ".mocharc*", ".prettierrc*",
    ".bazelrc", ".rspec", ".gdbinit", ".pythonrc*", ".bashrc", ".profile"};

#define ROOT_NAME_COUNT 2 /* the first ones mean something in the project's own folder only */

/* Of git, in a folder `hooks` of any repository, also a bare one. */
static const char HOOKS[] = "applypatch-msg pre-applypatch post-applypatch pre-commit "
                            "pre-merge-commit prepare-commit-msg commit-msg "
                            "post-commit pre-rebase post-checkout post-merge pre-push pre-receive "
                            "update proc-receive post-receive "
                            "post-update reference-transaction push-to-checkout pre-auto-gc "
                            "post-rewrite sendemail-validate "
                            "fsmonitor-watchman post-index-change";

static bool is_named(const char *wanted, struct sma_str name)
{
    size_t len = strlen(wanted);
    bool is_open = wanted[len - 1] == '*';
    len -= is_open;
    return (is_open ? name.len >= len : name.len == len) &&
           sma_str_is_equal_nocase((struct sma_str){name.ptr, len}, (struct sma_str){wanted, len});
}

static bool is_example(struct sma_str name)
{
    return is_named(".env.example", name) || is_named(".env.sample", name) ||
           is_named(".env.template", name);
}

static bool is_owner_name(struct sma_str name)
{
    for (size_t i = 0; i < SMA_COUNT_OF(NAMES); i++)
        if (is_named(NAMES[i], name))
            return !is_example(name);
    return false;
}

uint32_t sma_file_recipes(struct sma_str base)
{
    uint32_t recipes = sma_program_recipes(base);
    for (size_t len = base.len; recipes == 0 && len > 0; len--) /* Makefile.sh, Makefile,v */
        if (base.ptr[len - 1] == '.' || base.ptr[len - 1] == ',')
            recipes = sma_program_recipes((struct sma_str){base.ptr, len - 1});
    if (recipes == 0 && sma_str_starts_with(base, SMA_STR("s.")))
        recipes = sma_program_recipes((struct sma_str){base.ptr + 2, base.len - 2}); /* SCCS */
    return recipes;
}

static bool is_owner_base(struct sma_str folder, struct sma_str base)
{
    if (sma_file_recipes(base) != 0 || is_named("config", base) ||
        is_named("config.worktree", base))
        return true; /* `config`: of a repository that lies anywhere */
    return sma_str_is_equal(folder, SMA_STR("hooks")) && sma_list_has(HOOKS, base);
}

/* The next part of a path that is none of "" and "."; false at the end. */
static bool next_part(struct sma_str path, size_t *at, struct sma_str *ret_part)
{
    while (*at < path.len) {
        const char *slash = memchr(path.ptr + *at, '/', path.len - *at);
        size_t end = slash == NULL ? path.len : (size_t)(slash - path.ptr);
        *ret_part = (struct sma_str){path.ptr + *at, end - *at};
        *at = end + 1;
        if (ret_part->len > 0 && !sma_str_is_equal(*ret_part, SMA_STR(".")))
            return true;
    }
    return false;
}

bool sma_file_is_owner_only(struct sma_str path)
{
    struct sma_str part, folder = SMA_STR(""), base = SMA_STR("");
    for (size_t at = 0; next_part(path, &at, &part);) {
        if (is_owner_name(part) || sma_program_recipes(part) != 0)
            return true; /* mkdir -p Makefile/x replaces one, too */
        folder = base;
        base = part;
    }
    return base.len > 0 && is_owner_base(folder, base);
}

/* -- patterns ---------------------------------------------------------------------------------- */
static size_t literal_len(struct sma_str pattern)
{
    for (size_t i = 0; i < pattern.len; i++)
        if (memchr("*?[\\", pattern.ptr[i], 4) != NULL)
            return i;
    return pattern.len;
}

/* May the pattern stand for a name that begins with `head`? By the beginnings alone. */
static bool may_begin(struct sma_str pattern, struct sma_str head)
{
    size_t len = literal_len(pattern);
    if (len == 0 && head.len > 0 && head.ptr[0] == '.')
        return false; /* no wildcard stands for the dot that hides a file */
    len = len < head.len ? len : head.len;
    return sma_str_is_equal_nocase((struct sma_str){pattern.ptr, len},
                                   (struct sma_str){head.ptr, len});
}

/* The same by what stands behind the last wildcard. */
static bool may_end(struct sma_str pattern, struct sma_str name)
{
    size_t tail = pattern.len;
    while (tail > 0 && memchr("*?]\\", pattern.ptr[tail - 1], 4) == NULL)
        tail--;
    size_t len = pattern.len - tail < name.len ? pattern.len - tail : name.len;
    return sma_str_is_equal_nocase((struct sma_str){pattern.ptr + pattern.len - len, len},
                                   (struct sma_str){name.ptr + name.len - len, len});
}

/* Any character for a class: shells and fnmatch differ about [^x] and ranges. */
static void copy_pattern(char *to, struct sma_str pattern)
{
    for (size_t i = 0; i < pattern.len; i++) {
        const char *end = pattern.ptr[i] != '[' || i + 2 >= pattern.len
                              ? NULL
                              : memchr(pattern.ptr + i + 2, ']', pattern.len - i - 2);
        *to++ = end == NULL ? pattern.ptr[i] : '?';
        i = end == NULL ? i : (size_t)(end - pattern.ptr);
    }
    *to = '\0';
}

bool sma_pattern_may_be(struct sma_str pattern, const char *name)
{
    char text[NAME_BYTES_MAX + 1];
    size_t len = strlen(name);
    if (pattern.len > NAME_BYTES_MAX)
        return true;
    if (name[len - 1] == '*')
        return may_begin(pattern, (struct sma_str){name, len - 1});
    if (name[0] == '*') { /* a suffix: the ends must go together */
        size_t tail = pattern.len;
        while (tail > 0 && memchr("*?]", pattern.ptr[tail - 1], 3) == NULL)
            tail--;
        size_t common = pattern.len - tail < len - 1 ? pattern.len - tail : len - 1;
        return memcmp(pattern.ptr + pattern.len - common, name + len - common, common) == 0;
    }
    struct sma_str wanted = {name, len};
    if (!may_begin(pattern, wanted) || !may_end(pattern, wanted))
        return false;                                      /* most end here */
    if (memmem(pattern.ptr, pattern.len, "[[", 2) != NULL) /* [[:alpha:]] */
        return may_begin(pattern, (struct sma_str){name, len});
    copy_pattern(text, pattern);
    return fnmatch(text, name, FNM_PERIOD | FNM_CASEFOLD) == 0;
}

static bool may_be_owner_base(struct sma_str pattern)
{
    /* Makefile.*: what stands before the wildcard is a recipe's name already */
    struct sma_str head = {pattern.ptr, literal_len(pattern)};
    return sma_program_may_be_recipe(pattern) || sma_file_recipes(head) != 0 ||
           sma_pattern_may_be(pattern, "config");
}

/* mirror.git/?ooks/update, hooks/up*: one of git's hooks, where the folder may be called hooks. */
static bool may_be_hook(struct sma_str folder, struct sma_str base)
{
    char name[32];
    if (folder.len == 0 || !sma_pattern_may_be(folder, "hooks"))
        return false;
    for (const char *at = HOOKS; *at != '\0';) {
        size_t len = strcspn(at, " ");
        SMA_ASSERT(len < sizeof name);
        memcpy(name, at, len);
        name[len] = '\0';
        if (sma_pattern_may_be(base, name))
            return true;
        at += len + (at[len] == ' ');
    }
    return false;
}

bool sma_pattern_is_owner_only(struct sma_str pattern)
{
    struct sma_str part, folder = SMA_STR(""), base = SMA_STR("");
    if (sma_file_is_owner_only(pattern))
        return true;
    for (size_t at = 0; next_part(pattern, &at, &part); folder = base, base = part) {
        /* docs and a star may match another Agent.md than the agent's own */
        for (size_t i = base.len > 0 ? ROOT_NAME_COUNT : 0; i < SMA_COUNT_OF(NAMES); i++)
            if (sma_pattern_may_be(part, NAMES[i]))
                return true;
    }
    return base.len > 0 && (may_be_owner_base(base) || may_be_hook(folder, base));
}
