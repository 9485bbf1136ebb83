/*
 * policy_write.c — the files of a command: which it reads and writes by redirections, operands and
 * options, and what stands in the way.
 *
 * A file that a command writes is judged by the caller's may_write, the same that judges
 * write_file: one verdict for one path. What cannot be told (patterns, expansions, folders into
 * which something is unpacked) is judged by what it may be.
 */
#include "owner_files.h"
#include "policy_priv.h"

#include "sma/text.h"

#define PATH_BYTES_MAX 4096

static const char WRITES_ELSEWHERE[] = "it writes a file that is not plainly one of the project";
static const char WRITES_BELOW[] = "it writes files whose names cannot be told";
static const char READS_ELSEWHERE[] = "it reads a file that is not plainly one of the project";
static const char WRITES_SCRIPT[] = "it writes a script that a rule lets run";
static const char WRITES_OWNERS[] = "only an owner may agree to a change of this file";
static const char NOT_WRITTEN[] = "permissions.write_repo does not permit to write this file";

/* -- scripts that rules run -------------------------------------------------------------------- */
/* What the programs of a language load beside the file they are given. */
static const struct
{
    const char *programs, *suffixes;
} LANGUAGES[] = {
    {"python pypy", "py pyc pyo pyi pyd so pth zip egg"},
    {"node nodejs bun deno", "js cjs mjs ts cts mts jsx tsx json node wasm"},
    {"perl", "pl pm plx so"},
    {"ruby", "rb so"},
    {"php", "php inc phar"},
    {"lua luajit", "lua so"},
    {"Rscript R julia tclsh wish expect", "R r jl tcl exp so"},
    {"", "sh bash zsh ksh inc env"}, /* shells, and what says itself what it is */
};

struct sma_str sma_path_suffix(struct sma_str path)
{
    struct sma_str base = sma_program_base(path);
    const char *dot = base.len == 0 ? NULL : memrchr(base.ptr, '.', base.len);
    if (dot == NULL)
        return (struct sma_str){base.ptr + base.len, 0};
    return (struct sma_str){dot + 1, (size_t)(base.ptr + base.len - dot - 1)};
}

const char *sma_script_suffixes(struct sma_str program, struct sma_str script)
{
    program = sma_program_base(program);
    while (program.len > 0 && strchr("0123456789.-", program.ptr[program.len - 1]) != NULL)
        program.len--;
    struct sma_str suffix = sma_path_suffix(script);
    for (size_t i = 0; i < SMA_COUNT_OF(LANGUAGES); i++)
        if ((program.len > 0 && sma_list_has(LANGUAGES[i].programs, program)) ||
            (suffix.len > 0 && sma_list_has(LANGUAGES[i].suffixes, suffix)))
            return LANGUAGES[i].suffixes;
    return LANGUAGES[SMA_COUNT_OF(LANGUAGES) - 1].suffixes;
}

/* Without "./" at its beginning and slashes at its end. */
static struct sma_str plain_path(struct sma_str path)
{
    while (path.len > 1 && path.ptr[0] == '.' && path.ptr[1] == '/') {
        path = (struct sma_str){path.ptr + 2, path.len - 2};
        while (path.len > 0 && path.ptr[0] == '/')
            path = (struct sma_str){path.ptr + 1, path.len - 1};
    }
    while (path.len > 0 && path.ptr[path.len - 1] == '/')
        path.len--;
    return path;
}

static struct sma_str folder_of(struct sma_str path)
{
    size_t len = (size_t)(sma_program_base(path).ptr - path.ptr);
    return (struct sma_str){path.ptr, len > 0 ? len - 1 : 0};
}

static bool is_below(struct sma_str path, struct sma_str folder)
{
    return folder.len == 0 || (path.len > folder.len && path.ptr[folder.len] == '/' &&
                               memcmp(path.ptr, folder.ptr, folder.len) == 0);
}

static bool has_wildcard(struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (memchr("*?[", text.ptr[i], 3) != NULL)
            return true;
    return false;
}

/* A file that `program` runs is `script`. What is the file `path` (or pattern) to it? */
static enum sma_policy_write judge_script(struct sma_str program, struct sma_str script,
                                          struct sma_str path)
{
    path = plain_path(path);
    script = plain_path(script);
    struct sma_str base = sma_program_base(path), name = sma_program_base(script);
    struct sma_str folder = folder_of(script), above = folder_of(path);
    char text[256];
    if (sma_str_is_equal(base, name) || is_below(script, path))
        return SMA_POLICY_WRITE_OWNER; /* it, its like elsewhere, or a folder above it */
    if (has_wildcard(path)) {
        if (name.len >= sizeof text || has_wildcard(above))
            return SMA_POLICY_WRITE_ASKED;
        memcpy(text, name.ptr, name.len);
        text[name.len] = '\0';
        if (sma_pattern_may_be(base, text))
            return SMA_POLICY_WRITE_OWNER;
    }
    if (!is_below(path, folder))
        return SMA_POLICY_WRITE_FREE;
    struct sma_str suffix = sma_path_suffix(path);
    if (sma_list_has(sma_script_suffixes(program, script), suffix) ||
        (suffix.len > 0 && has_wildcard(suffix)))
        return SMA_POLICY_WRITE_OWNER; /* it may be loaded: scripts/json.py */
    return folder.len > 0 && sma_str_is_equal(above, folder) ? SMA_POLICY_WRITE_ASKED
                                                             : SMA_POLICY_WRITE_FREE;
}

/* python3 -m pytest: a file or folder of this name in the project is loaded instead of the module
 * of the system. */
static bool shadows_module(const struct rule *rule, struct sma_str path)
{
    path = plain_path(path);
    for (uint32_t i = 1; i + 1 < rule->word_count; i++) {
        struct sma_str module = rule->words[i + 1];
        const char *dot = module.len == 0 ? NULL : memchr(module.ptr, '.', module.len);
        module.len = dot == NULL ? module.len : (size_t)(dot - module.ptr);
        if (sma_str_is_equal(rule->words[i], SMA_STR("-m")) && module.len > 0 &&
            path.len >= module.len && memcmp(path.ptr, module.ptr, module.len) == 0 &&
            (path.len == module.len || memchr("/.", path.ptr[module.len], 2) != NULL))
            return true;
    }
    return false;
}

static enum sma_policy_write judge_rules(const struct rules *rules, struct sma_str path)
{
    enum sma_policy_write worst = SMA_POLICY_WRITE_FREE;
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->items[i];
        if (shadows_module(rule, path))
            return SMA_POLICY_WRITE_OWNER;
        if (rule->script == NULL)
            continue;
        enum sma_policy_write found =
            judge_script(rule->words[rule->script_program], sma_str(rule->script), path);
        worst = found > worst ? found : worst;
    }
    return worst;
}

enum sma_policy_write sma_policy_judge_script(const struct sma_policy *policy, struct sma_str path)
{
    return judge_rules(&policy->allow, path);
}

size_t sma_policy_allow_count(const struct sma_policy *policy)
{
    return policy->allow.count;
}

const char *sma_policy_script(const struct sma_policy *policy, size_t index)
{
    SMA_ASSERT(index < policy->allow.count);
    return policy->allow.items[index].script;
}

enum sma_policy_write sma_policy_grant_judge_script(struct sma_str rule, struct sma_str path)
{
    enum sma_policy_write worst = SMA_POLICY_WRITE_FREE;
    struct sma_str before = SMA_STR("");
    for (size_t from = 0, i = 0; i <= rule.len; i++) {
        if (i < rule.len && memchr(" ='\"", rule.ptr[i], 4) == NULL)
            continue;
        struct sma_str word = {rule.ptr + from, i - from};
        from = i + 1;
        if (word.len == 0)
            continue;
        bool is_file = memchr(word.ptr, '/', word.len) != NULL || sma_path_suffix(word).len > 0;
        enum sma_policy_write found =
            is_file ? judge_script(before, word, path) : SMA_POLICY_WRITE_FREE;
        worst = found > worst ? found : worst;
        before = word;
    }
    return worst;
}

/* -- paths ------------------------------------------------------------------------------------- */
static bool is_device(struct sma_str path)
{
    return sma_list_has("/dev/null /dev/stdin /dev/stdout /dev/stderr /dev/zero", path);
}

/* Relative to the project, without a ".." in it. */
static bool find_inside(const struct deciding *deciding, struct sma_str path,
                        struct sma_str *ret_path)
{
    struct sma_str root = deciding->query->project_dir;
    if (path.len > 0 && path.ptr[0] == '/') {
        if (root.len == 0 || path.len <= root.len || path.ptr[root.len] != '/' ||
            memcmp(path.ptr, root.ptr, root.len) != 0)
            return false;
        path = (struct sma_str){path.ptr + root.len, path.len - root.len};
        while (path.len > 0 && path.ptr[0] == '/')
            path = (struct sma_str){path.ptr + 1, path.len - 1};
    }
    if (path.len == 0 || path.ptr[0] == '~')
        return false;
    for (size_t i = 0; i + 1 < path.len; i++)
        if (path.ptr[i] == '.' && path.ptr[i + 1] == '.' && (i == 0 || path.ptr[i - 1] == '/') &&
            (i + 2 == path.len || path.ptr[i + 2] == '/'))
            return false;
    *ret_path = plain_path(path);
    return ret_path->len > 0;
}

static bool has_dot_name(struct sma_str path)
{
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] == '.' && (i == 0 || path.ptr[i - 1] == '/') && i + 1 < path.len &&
            path.ptr[i + 1] != '/')
            return true;
    return false;
}

/* The path as seen from where `cd` has gone; false: it cannot be told. Without a cd: the path. */
static bool join(const struct deciding *deciding, struct sma_str path, char *buf, size_t size,
                 struct sma_str *ret_path)
{
    struct sma_str folder = plain_path(deciding->folder);
    *ret_path = path;
    if (folder.len == 0 || sma_str_is_equal(folder, SMA_STR(".")))
        return true;
    if (deciding->has_many_folders || folder.ptr[0] == '/' || folder.len + path.len + 2 > size)
        return false;
    memcpy(buf, folder.ptr, folder.len);
    buf[folder.len] = '/';
    memcpy(buf + folder.len + 1, path.ptr, path.len);
    *ret_path = (struct sma_str){buf, folder.len + 1 + path.len};
    return true;
}

static bool stays_inside(const struct deciding *deciding, struct sma_str path)
{
    const struct sma_policy_query *query = deciding->query;
    return query->stays == NULL || query->stays(query->user, path);
}

bool sma_deciding_is_harmless(const struct deciding *deciding, const struct sma_shell_word *word,
                              uint32_t may_have)
{
    struct sma_str path = sma_shell_word_str(word), inside, joined;
    char buf[PATH_BYTES_MAX];
    if ((word->flags & SMA_WORD_NOT_CONSTANT & ~may_have) != 0 ||
        !sma_path_is_harmless(path, deciding->query->project_dir))
        return false;
    if ((word->flags & SMA_WORD_GLOB) != 0 || is_device(path))
        return true;
    if (!find_inside(deciding, path, &inside) || !stays_inside(deciding, inside))
        return false;
    return join(deciding, inside, buf, sizeof buf, &joined) &&
           (joined.ptr == inside.ptr || stays_inside(deciding, joined));
}

/* -- one file that is written ------------------------------------------------------------------ */
struct write
{
    const struct sma_shell_word *word;
    struct sma_str raw;
    bool is_certain;  /* this file is written, and nothing else may be meant */
    bool is_own_word; /* a rule of the owner names this word */
    bool is_granted;  /* that, or a grant does */
    bool is_target;   /* only what is more than a plain file of the project counts */
};

static void ask_owner(struct deciding *deciding, const struct write *write, const char *reason)
{
    deciding->decision->is_owner_only = true;
    sma_deciding_ask(deciding, write->raw, reason);
}

static void ask_write(struct deciding *deciding, const struct write *write, const char *reason)
{
    if (!write->is_granted)
        sma_deciding_ask(deciding, write->raw, reason);
}

/* What the caller says of a pattern: of a name that only a wildcard of a rule of his would fit. */
static enum sma_policy_write ask_pattern(const struct deciding *deciding, struct sma_str pattern)
{
    char probe[PATH_BYTES_MAX];
    size_t len = 0;
    bool is_class = false;
    for (size_t i = 0; i < pattern.len; i++) {
        if (len + 8 > sizeof probe)
            return SMA_POLICY_WRITE_ASKED;
        char byte = pattern.ptr[i];
        if (is_class) {
            is_class = byte != ']';
        } else if (byte == '*') {
            memcpy(probe + len, "\1\2\1\2\1\2", 6);
            len += 6;
        } else if (byte == '?' || byte == '[') {
            probe[len++] = '\1';
            is_class = byte == '[';
        } else {
            probe[len++] = byte;
        }
    }
    return deciding->query->may_write(deciding->query->user, (struct sma_str){probe, len});
}

static enum sma_policy_write ask_caller(const struct deciding *deciding, struct sma_str path,
                                        bool is_pattern)
{
    const struct sma_policy_query *query = deciding->query;
    if (query->may_write == NULL)
        return SMA_POLICY_WRITE_ASKED;
    return is_pattern ? ask_pattern(deciding, path) : query->may_write(query->user, path);
}

/* By name and by what the caller says. *ret_why: where it is not free; NULL: like any file that is
 * asked about. */
static enum sma_policy_write judge_inside(const struct deciding *deciding, struct sma_str path,
                                          bool is_pattern, const char **ret_why)
{
    enum sma_policy_write said = ask_caller(deciding, path, is_pattern),
                          own = judge_rules(&deciding->policy->allow, path),
                          granted = judge_rules(&deciding->granted, path);
    *ret_why = NOT_WRITTEN;
    if (said == SMA_POLICY_WRITE_REFUSED)
        return said;
    *ret_why = WRITES_SCRIPT;
    if (own != SMA_POLICY_WRITE_FREE || granted != SMA_POLICY_WRITE_FREE)
        return own > granted ? own : granted;
    *ret_why = WRITES_OWNERS;
    if (said == SMA_POLICY_WRITE_OWNER ||
        (is_pattern ? sma_pattern_is_owner_only(path) : sma_file_is_owner_only(path)))
        return SMA_POLICY_WRITE_OWNER;
    bool is_hidden = (is_pattern || deciding->query->may_write == NULL) && has_dot_name(path);
    *ret_why = is_hidden ? WRITES_ELSEWHERE : NULL;
    return is_hidden ? SMA_POLICY_WRITE_ASKED : said;
}

static void apply(struct deciding *deciding, const struct write *write,
                  enum sma_policy_write verdict, const char *why)
{
    switch (verdict) {
    case SMA_POLICY_WRITE_FREE:
        return;
    case SMA_POLICY_WRITE_OWNER:
        ask_owner(deciding, write, why);
        return;
    case SMA_POLICY_WRITE_REFUSED:
        if (write->is_target) { /* what the project's recipe makes is the recipe's matter */
            struct sma_str path = sma_shell_word_str(write->word);
            if (sma_file_is_owner_only(path) ||
                judge_rules(&deciding->policy->allow, path) != SMA_POLICY_WRITE_FREE)
                ask_owner(deciding, write, WRITES_OWNERS);
            return;
        }
        if (write->is_certain && deciding->folder.len == 0)
            sma_deciding_settle(deciding, SMA_POLICY_REFUSE, "permissions.write_repo", write->raw,
                                why);
        else
            ask_write(deciding, write, NOT_WRITTEN);
        return;
    case SMA_POLICY_WRITE_ASKED:
        if (why != NULL)
            ask_write(deciding, write, why);
        else if (!write->is_target && !write->is_granted && deciding->asked_write.len == 0)
            deciding->asked_write = write->raw;
        return;
    }
}

/* Where a name with ".." leads by its text: sub/../tools/srv.py. Who may agree depends on it; that
 * it is asked about does not. */
static bool fold(const struct deciding *deciding, struct sma_str path, char *buf, size_t size,
                 struct sma_str *ret_path)
{
    struct sma_str root = deciding->query->project_dir;
    size_t used = 0;
    bool is_absolute = path.len > 0 && path.ptr[0] == '/';
    if (path.len == 0 || root.len + path.len + 2 > size)
        return false;
    for (size_t from = 0, i = 0; i <= path.len; i++) {
        if (i < path.len && path.ptr[i] != '/')
            continue;
        struct sma_str part = {path.ptr + from, i - from};
        from = i + 1;
        if (sma_str_is_equal(part, SMA_STR(".."))) {
            const char *slash = used == 0 ? NULL : memrchr(buf, '/', used);
            if (used == 0 && !is_absolute)
                return false;
            used = slash == NULL ? 0 : (size_t)(slash - buf);
        } else if (part.len > 0 && !sma_str_is_equal(part, SMA_STR("."))) {
            if (used > 0 || is_absolute)
                buf[used++] = '/';
            memcpy(buf + used, part.ptr, part.len);
            used += part.len;
        }
    }
    return find_inside(deciding, (struct sma_str){buf, used}, ret_path);
}

static void check_write(struct deciding *deciding, const struct write *write)
{
    const struct sma_shell_word *word = write->word;
    struct sma_str path = sma_shell_word_str(word), inside, joined;
    bool is_pattern = (word->flags & SMA_WORD_GLOB) != 0;
    char buf[PATH_BYTES_MAX];
    const char *why;
    if (write->is_own_word || (!is_pattern && is_device(path)))
        return;
    if ((word->flags & SMA_WORD_NOT_CONSTANT & ~(uint32_t)(SMA_WORD_GLOB | SMA_WORD_SPLITS)) != 0 ||
        !find_inside(deciding, path, &inside)) {
        if (sma_file_is_owner_only(path) ||
            (sma_shell_word_is_constant(word) && fold(deciding, path, buf, sizeof buf, &inside) &&
             judge_inside(deciding, inside, false, &why) == SMA_POLICY_WRITE_OWNER))
            deciding->decision->is_owner_only = true;
        ask_write(deciding, write, WRITES_ELSEWHERE);
        return;
    }
    if (!is_pattern && !stays_inside(deciding, inside))
        ask_write(deciding, write, WRITES_ELSEWHERE);
    enum sma_policy_write verdict = judge_inside(deciding, inside, is_pattern, &why);
    apply(deciding, write, verdict, why);
    if (!join(deciding, inside, buf, sizeof buf, &joined)) {
        ask_write(deciding, write, WRITES_ELSEWHERE);
    } else if (joined.ptr !=
               inside.ptr) { /* behind a cd it is there, or it is in a subshell and it is here */
        if (!is_pattern && !stays_inside(deciding, joined))
            ask_write(deciding, write, WRITES_ELSEWHERE);
        verdict = judge_inside(deciding, joined, is_pattern, &why);
        apply(deciding, write, verdict, why);
    }
}

/* -- all of them ------------------------------------------------------------------------------- */
static void check_redirects(struct deciding *deciding)
{
    const struct sma_shell *shell = deciding->shell;
    for (uint32_t i = 0; i < shell->redirect_count; i++) {
        const struct sma_shell_redirect *redirect = &shell->redirects[i];
        struct sma_str raw = {redirect->target.raw, redirect->target.raw_len};
        if (redirect->kind == SMA_REDIRECT_WRITE) /* no rule can name a redirection */
            check_write(deciding,
                        &(struct write){.word = &redirect->target, .raw = raw, .is_certain = true});
        else if (redirect->kind == SMA_REDIRECT_READ &&
                 !sma_deciding_is_harmless(deciding, &redirect->target, 0))
            sma_deciding_ask(deciding, raw, READS_ELSEWHERE);
    }
}

/* Is the target what stands in the word, not a name made of several (cp a b: b, or b/a where b is a
 * folder)? */
static bool is_as_written(const struct sma_shell *shell, const struct sma_shell_touch *touch)
{
    const struct sma_shell_command *command = &shell->commands[touch->command];
    if (touch->origin >= command->word_count)
        return false;
    const struct sma_shell_word *word = &sma_shell_words(shell, command)[touch->origin];
    return touch->target.text >= word->text && touch->target.text <= word->text + word->len;
}

static void check_touch(struct deciding *deciding, const struct sma_shell_touch *touch)
{
    struct write write = {.word = &touch->target,
                          .raw = {touch->target.raw, touch->target.raw_len},
                          .is_certain = is_as_written(deciding->shell, touch),
                          .is_own_word = touch->origin < deciding->own_covers[touch->command],
                          .is_granted = touch->origin < deciding->covers[touch->command]};
    if (touch->kind != SMA_TOUCH_READ && write.is_own_word && deciding->shell->command_count == 1)
        deciding->decision->is_owner_ruled = true;
    switch (touch->kind) {
    case SMA_TOUCH_READ:
        if (!write.is_granted &&
            !sma_deciding_is_harmless(deciding, &touch->target, SMA_WORD_GLOB | SMA_WORD_SPLITS))
            sma_deciding_ask(deciding, write.raw, READS_ELSEWHERE);
        return;
    case SMA_TOUCH_WRITE:
        check_write(deciding, &write);
        return;
    case SMA_TOUCH_MAKE:
        write.is_target = true;
        check_write(deciding, &write);
        return;
    case SMA_TOUCH_WRITE_BELOW:
        check_write(deciding, &write); /* the folder may be one of an owner */
        if (!write.is_own_word)
            ask_write(deciding, &write, WRITES_BELOW);
        return;
    }
}

void sma_deciding_check_files(struct deciding *deciding)
{
    check_redirects(deciding);
    for (uint32_t i = 0; i < deciding->shell->touch_count; i++)
        check_touch(deciding, &deciding->shell->touches[i]);
}

void sma_deciding_check_asked_writes(struct deciding *deciding)
{
    if (deciding->asked_write.len > 0)
        sma_deciding_settle(deciding, SMA_POLICY_ASK, "permissions.write_repo",
                            deciding->asked_write, "writing must be agreed to");
}
