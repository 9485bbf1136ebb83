/*
 * policy_bind.c — what exactly was approved: a digest over the command, the directory, the scripts
 * that would run, what they may load, the recipes of programs, and every file that a word names.
 */
#include "shell_priv.h"

#include "sma/buf.h"
#include "sma/text.h"

#include <fnmatch.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#define PATH_BYTES_MAX 4096

struct hashing
{
    EVP_MD_CTX *context;
    bool has_failed;
};

/* Every field with its length, so that two different lists never give one text. */
static void put(struct hashing *hashing, struct sma_str text)
{
    uint8_t len[8];
    for (unsigned i = 0; i < 8; i++)
        len[i] = (uint8_t)((uint64_t)text.len >> (8 * i));
    if (EVP_DigestUpdate(hashing->context, len, sizeof len) != 1 ||
        (text.len > 0 && EVP_DigestUpdate(hashing->context, text.ptr, text.len) != 1))
        hashing->has_failed = true;
}

static void put_words(struct hashing *hashing, const struct sma_shell *shell)
{
    for (uint32_t i = 0; i < shell->command_count; i++) {
        const struct sma_shell_command *command = &shell->commands[i];
        put(hashing, SMA_STR("command"));
        for (uint32_t k = 0; k < command->word_count; k++) {
            const struct sma_shell_word *word = &sma_shell_words(shell, command)[k];
            put(hashing, sma_shell_word_is_constant(word)
                             ? sma_shell_word_str(word)
                             : (struct sma_str){word->raw, word->raw_len});
        }
    }
}

struct binding_work
{
    struct hashing hashing;
    struct sma_str directory;
    struct sma_str there; /* where some of it runs, seen from the directory: cd, env -C */
    bool is_lost;         /* or at places that cannot be told */
    const struct sma_policy_files *files;
    struct sma_policy_binding *binding;
    size_t bytes; /* read so far */
    uint32_t folder_count, name_count;
    bool reads_folders; /* the program whose words are looked at may read what is in one */
    bool runs_unseen;   /* what no word of it says */
    enum sma_err err;
};

static bool has(struct sma_str path, const char *part)
{
    return memmem(path.ptr, path.len, part, strlen(part)) != NULL;
}

/* /proc/self/cwd/x is another file to the command than to us. */
static bool is_of_a_process(struct sma_str path)
{
    bool is_proc = has(path, "/proc/");
    return ((is_proc || has(path, "/dev/fd/")) && (has(path, "/cwd") || has(path, "/root"))) ||
           (is_proc && has(path, "/fd/"));
}

/* `path` as the command sees it. */
static bool join(struct binding_work *work, struct sma_str path, char full[PATH_BYTES_MAX])
{
    bool is_absolute = path.len > 0 && path.ptr[0] == '/';
    size_t prefix = is_absolute ? 0 : work->directory.len + 1;
    if (is_of_a_process(path)) {
        work->binding->is_complete = false;
        return false;
    }
    if (prefix + path.len + 1 > PATH_BYTES_MAX) {
        work->binding->is_complete = false;
        return false;
    }
    if (!is_absolute) {
        memcpy(full, work->directory.ptr, work->directory.len);
        full[work->directory.len] = '/';
    }
    memcpy(full + prefix, path.ptr, path.len);
    full[prefix + path.len] = '\0';
    return true;
}

/* ... and where it goes. false: nowhere else, or the path says where it is */
static bool join_there(struct binding_work *work, struct sma_str path, char full[PATH_BYTES_MAX])
{
    char there[PATH_BYTES_MAX];
    if (work->there.len == 0 || path.len == 0 || path.ptr[0] == '/')
        return false;
    int len = snprintf(there, sizeof there, "%.*s/%.*s", (int)work->there.len, work->there.ptr,
                       (int)path.len, path.ptr);
    if (len <= 0 || (size_t)len >= sizeof there) {
        work->binding->is_complete = false;
        return false;
    }
    return join(work, (struct sma_str){there, (size_t)len}, full);
}

static void put_file(struct binding_work *work, const char *full)
{
    char *bytes = NULL;
    size_t len = 0;
    if (work->err != SMA_ERR_OK)
        return;
    if (work->binding->script_count == SMA_POLICY_SCRIPT_COUNT_MAX ||
        work->bytes >= SMA_POLICY_BOUND_BYTES_MAX) {
        work->binding->is_complete = false;
        return;
    }
    enum sma_err err =
        work->files->read(work->files->user, full, SMA_POLICY_SCRIPT_BYTES_MAX, &bytes, &len);
    if (err == SMA_ERR_NOMEM) {
        work->err = err;
        return;
    }
    work->binding->script_count++;
    work->bytes += err == SMA_ERR_OK ? len : 0;
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        work->binding->is_complete = false;
    put(&work->hashing, err == SMA_ERR_OK ? SMA_STR("script") : SMA_STR("missing"));
    put(&work->hashing, sma_str(full));
    put(&work->hashing, (struct sma_str){bytes, err == SMA_ERR_OK ? len : 0});
    free(bytes);
}

static void put_script(struct binding_work *work, struct sma_str path)
{
    char full[PATH_BYTES_MAX];
    if (join(work, path, full))
        put_file(work, full);
    if (join_there(work, path, full))
        put_file(work, full);
}

/* -- what is read beside the command's own files ----------------------------------------------- */
/* Which files of a folder are bound: recipes of a program, or modules of a language. */
struct wanted
{
    struct sma_str program; /* its recipes; empty: modules */
    const char *suffixes;
};

static bool is_wanted(const struct wanted *wanted, struct sma_str name)
{
    if (wanted->program.len > 0)
        return sma_program_reads(wanted->program, sma_file_recipes(name));
    struct sma_str suffix = sma_path_suffix(name);
    return suffix.len > 0 && sma_list_has(wanted->suffixes, suffix);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of a folder in their order; free() it. NULL: no memory, which is kept */
static const char **sort_names(struct binding_work *work, const char *names, size_t *ret_count)
{
    const char **list = malloc(SMA_POLICY_FOLDER_NAME_COUNT_MAX * sizeof *list);
    size_t count = 0;
    if (list == NULL)
        work->err = SMA_ERR_NOMEM;
    for (const char *at = names;
         list != NULL && *at != '\0' && count < SMA_POLICY_FOLDER_NAME_COUNT_MAX;
         at += strlen(at) + 1)
        list[count++] = at;
    if (count > 0)
        qsort(list, count, sizeof *list, compare_names);
    *ret_count = count;
    return list;
}

/* The wanted ones among `names`, in their order, and `depth` levels of folders. */
static void put_folder(struct binding_work *work, const char *folder, const struct wanted *wanted,
                       unsigned depth);

static void put_names(struct binding_work *work, const char *folder, const struct wanted *wanted,
                      unsigned depth, const char *names)
{
    size_t count = 0;
    const char **list = sort_names(work, names, &count);
    for (size_t i = 0; i < count && work->err == SMA_ERR_OK; i++) {
        struct sma_str name = sma_str(list[i]);
        bool is_folder = name.ptr[name.len - 1] == '/';
        char full[PATH_BYTES_MAX];
        int len = snprintf(full, sizeof full, "%s/%s", folder, list[i]);
        if (len <= 0 || (size_t)len >= sizeof full) {
            work->binding->is_complete = false;
        } else if (!is_folder && is_wanted(wanted, name)) {
            put_file(work, full);
        } else if (is_folder && depth > 0 && name.ptr[0] != '.') {
            full[len - 1] = '\0';
            put_folder(work, full, wanted, depth - 1);
        }
    }
    free(list);
}

static void put_folder(struct binding_work *work, const char *folder, const struct wanted *wanted,
                       unsigned depth)
{
    char *names = NULL;
    if (work->err != SMA_ERR_OK || work->files->list == NULL)
        return;
    if (work->folder_count++ >= SMA_POLICY_FOLDER_COUNT_MAX) {
        work->binding->is_complete = false;
        return;
    }
    enum sma_err err =
        work->files->list(work->files->user, folder, SMA_POLICY_FOLDER_NAME_COUNT_MAX, &names);
    if (err == SMA_ERR_OK)
        put_names(work, folder, wanted, depth, names);
    else if (err == SMA_ERR_NOMEM)
        work->err = err;
    else if (err != SMA_ERR_NOTFOUND)
        work->binding->is_complete = false;
    free(names);
}

/* Modules of the script's folder and the packages in it: an import finds them before those of the
 * system. */
static void put_modules(struct binding_work *work, struct sma_str program, struct sma_str script)
{
    char full[PATH_BYTES_MAX];
    if (sma_program_kind(sma_program_base(program)) != PROGRAM_INTERPRETER ||
        !join(work, script, full))
        return;
    *strrchr(full, '/') = '\0';
    put_folder(work, full, &(struct wanted){.suffixes = sma_script_suffixes(program, script)}, 1);
}

/* The recipes in the folder of the command, where it goes with cd, and in every folder or file that
 * its words name. */
static void put_recipes(struct binding_work *work, const struct sma_shell *shell,
                        const struct sma_shell_command *command)
{
    const struct sma_shell_word *words = sma_shell_words(shell, command);
    const struct wanted wanted = {.program = sma_shell_word_str(&words[0])};
    char full[PATH_BYTES_MAX];
    if (!sma_program_has_recipes(wanted.program))
        return;
    put(&work->hashing, SMA_STR("recipes"));
    if (join(work, SMA_STR(""), full)) {
        full[strlen(full) - 1] = '\0'; /* the directory itself, without the slash */
        put_folder(work, full, &wanted, 0);
    }
    if (work->there.len > 0 && join(work, work->there, full))
        put_folder(work, full, &wanted, 0);
    for (uint32_t i = 1; i < command->word_count; i++) {
        struct sma_str text = sma_shell_word_str(&words[i]);
        const char *equals = text.len == 0 ? NULL : memchr(text.ptr, '=', text.len);
        if (equals != NULL)
            text = (struct sma_str){equals + 1, (size_t)(text.ptr + text.len - equals - 1)};
        if (text.len == 0 || text.ptr[0] == '-' || !sma_shell_word_is_constant(&words[i]) ||
            !join(work, text, full))
            continue;
        put_folder(work, full, &wanted, 0);
        if (sma_path_suffix(text).len > 0 || memchr(text.ptr, '/', text.len) != NULL)
            put_file(work, full); /* make -f other, pytest tests/a.py */
    }
}

/* What lies there is not the project's, and no way leads out again. */
static bool is_below(struct sma_str path, const char *folders)
{
    const char *slash = path.len < 2 ? NULL : memchr(path.ptr + 1, '/', path.len - 1);
    return slash != NULL && path.ptr[0] == '/' && !has(path, "/..") &&
           sma_list_has(folders, (struct sma_str){path.ptr + 1, (size_t)(slash - path.ptr - 1)});
}

static bool is_of_the_system(struct sma_str path)
{
    return is_below(path, "usr bin sbin");
}

static void put_scripts(struct binding_work *work, const struct sma_shell *shell)
{
    for (uint32_t i = 0; i < shell->command_count; i++) {
        const struct sma_shell_command *command = &shell->commands[i];
        if (command->word_count == 0)
            continue;
        const struct sma_shell_word *word = sma_shell_words(shell, command);
        struct sma_str text = sma_shell_word_str(word);
        work->binding->is_complete &= sma_shell_word_is_constant(word) && !command->has_more_words;
        if (memchr(text.ptr, '/', text.len) != NULL && !is_of_the_system(text))
            put_script(work, text);
        put_recipes(work, shell, command);
    }
    for (uint32_t i = 0; i < shell->note_count; i++) {
        const struct sma_shell_note *note = &shell->notes[i];
        const struct sma_shell_command *command = &shell->commands[note->command];
        const struct sma_shell_word *words = sma_shell_words(shell, command);
        if (!note->is_script || note->origin >= command->word_count) {
            work->runs_unseen = true;
            continue;
        }
        struct sma_str script = sma_shell_word_str(&words[note->origin]);
        put_script(work, script);
        put_modules(work, sma_shell_word_str(&words[0]), script);
    }
    if ((work->is_lost || work->there.len > 0) && work->binding->script_count > 0)
        work->runs_unseen = true; /* modules may be others there; what it names: put_name() */
}

/* -- files that words name --------------------------------------------------------------------- */
/* They do not read what their operands name. */
static const char NAMES_ONLY[] = "echo printf basename dirname seq sleep date pwd test [ : true "
                                 "false which type ls stat du find mkdir rmdir touch cd export "
                                 "declare local readonly kill exit return set shift";

/* A folder among their operands is none to them: `jq .` */
static const char READS_NO_FOLDER[] = "jq cat head tail wc sort uniq cut tr tac rev nl";

/* What stands there now: its bytes, or where they are too many whatever changes with them. A folder
 * is bound by what programs read of it only where they say so: recipes and modules. */
static void put_named_file(struct binding_work *work, const char *full, bool is_read)
{
    struct sma_policy_file_facts facts;
    if (work->name_count++ >= SMA_POLICY_NAMED_COUNT_MAX) {
        work->binding->reads_unnamed = true;
        return;
    }
    enum sma_err err = work->files->look(work->files->user, full, &facts);
    if (err == SMA_ERR_NOTFOUND)
        return; /* that it came to be shows in the digest then */
    if (err == SMA_ERR_NOMEM)
        work->err = err;
    if (err != SMA_ERR_OK || facts.is_folder) {
        work->binding->reads_unnamed |= is_read && (work->reads_folders || err != SMA_ERR_OK);
        return;
    }
    char *bytes = NULL;
    size_t len = 0;
    bool is_small = facts.is_plain && facts.size <= SMA_POLICY_NAMED_BYTES_MAX &&
                    work->bytes + facts.size <= SMA_POLICY_BOUND_BYTES_MAX;
    if (is_small)
        err = work->files->read(work->files->user, full, SMA_POLICY_SCRIPT_BYTES_MAX, &bytes, &len);
    if (err == SMA_ERR_NOMEM)
        work->err = err;
    is_small = is_small && err == SMA_ERR_OK;
    work->bytes += len;
    put(&work->hashing, is_small ? SMA_STR("named file") : SMA_STR("large file"));
    put(&work->hashing, sma_str(full));
    put(&work->hashing,
        is_small ? (struct sma_str){bytes, len}
                 : (struct sma_str){(const char *)facts.identity, sizeof facts.identity});
    free(bytes);
}

/* `path` as seen from the directory, and from where the command goes. */
static void put_name(struct binding_work *work, struct sma_str path, bool is_read)
{
    char full[PATH_BYTES_MAX];
    if (path.len == 0 || path.len >= PATH_BYTES_MAX - work->directory.len - 1 ||
        is_below(path, "usr bin sbin lib lib32 lib64 libx32 sys") || path.ptr == work->there.ptr)
        return; /* no file has such a name */
    if (is_below(path, "proc dev") && !is_of_a_process(path) && !has(path, "/dev/shm/"))
        return;
    work->binding->reads_unnamed |= is_read && work->is_lost && path.ptr[0] != '/';
    if (join(work, path, full))
        put_named_file(work, full, is_read);
    if (join_there(work, path, full))
        put_named_file(work, full, is_read);
}

static bool may_begin(struct sma_str text, size_t at)
{
    if (at == 0 || memchr("=:,;@<\"' ", text.ptr[at - 1], 9) != NULL)
        return true;
    if (text.ptr[0] != '-' || at < 2 || text.ptr[1] == '-')
        return false; /* -ffile, -rffile: behind any letter of a cluster */
    for (size_t i = 1; i < at; i++)
        if (!(text.ptr[i] >= 'a' && text.ptr[i] <= 'z') &&
            !(text.ptr[i] >= 'A' && text.ptr[i] <= 'Z') &&
            !(text.ptr[i] >= '0' && text.ptr[i] <= '9'))
            return false;
    return true;
}

static void put_name_parts(struct binding_work *work, struct sma_str text, bool is_read);

/* dir/x*.c: what it matches now, by name and bytes; another match is another command. */
static bool put_matches(struct binding_work *work, struct sma_str pattern, bool is_read)
{
    char folder[PATH_BYTES_MAX], full[PATH_BYTES_MAX];
    const char *slash = memrchr(pattern.ptr, '/', pattern.len);
    size_t at = slash == NULL ? 0 : (size_t)(slash - pattern.ptr) + 1, count = 0;
    char *names = NULL;
    (void)snprintf(folder, sizeof folder, "%.*s", (int)at, pattern.ptr);
    if (at == pattern.len || strpbrk(folder, "*?[") != NULL || work->files->list == NULL ||
        !join(work, sma_str(folder), full) || work->folder_count++ >= SMA_POLICY_FOLDER_COUNT_MAX)
        return false;
    enum sma_err err =
        work->files->list(work->files->user, full, SMA_POLICY_FOLDER_NAME_COUNT_MAX, &names);
    const char **list = err == SMA_ERR_OK ? sort_names(work, names, &count) : NULL;
    bool has_match = false;
    for (size_t i = 0; i < count; i++) {
        struct sma_str name = sma_str(list[i]);
        char path[PATH_BYTES_MAX];
        name.len -= name.ptr[name.len - 1] == '/';
        int len = snprintf(path, sizeof path, "%s%.*s", folder, (int)name.len, name.ptr);
        if (len >= (int)sizeof path || fnmatch(pattern.ptr + at, path + at, FNM_PERIOD) != 0)
            continue;
        has_match = true;
        put(&work->hashing, SMA_STR("match"));
        put(&work->hashing, sma_str(path));
        put_name(work, sma_str(path), is_read);
    }
    free(list);
    free(names);
    if (!has_match) /* it stands for itself then, or for nothing */
        put_name_parts(work, pattern, is_read);
    return err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND;
}

/* Every part of a word that may be the name of a file: name=file, -ffile, @file, a:b. */
static void put_word_files(struct binding_work *work, const struct sma_shell_word *word,
                           bool is_read)
{
    bool is_pattern =
        (word->flags & (SMA_WORD_DYNAMIC | SMA_WORD_BRACE | SMA_WORD_TILDE | SMA_WORD_QUOTED)) == 0;
    if (sma_shell_word_is_constant(word))
        put_name_parts(work, sma_shell_word_str(word), is_read);
    else if (is_read && (!is_pattern || work->is_lost || work->there.len > 0 ||
                         !put_matches(work, sma_shell_word_str(word), is_read)))
        work->binding->reads_unnamed = true;
}

static void put_name_parts(struct binding_work *work, struct sma_str text, bool is_read)
{
    for (size_t at = 0; at < text.len && work->err == SMA_ERR_OK; at++) {
        if (!may_begin(text, at))
            continue;
        size_t end = at;
        while (end < text.len && memchr(":,;\"' ", text.ptr[end], 6) == NULL)
            end++;
        put_name(work, (struct sma_str){text.ptr + at, text.len - at}, is_read);
        if (end < text.len)
            put_name(work, (struct sma_str){text.ptr + at, end - at}, is_read);
        if (work->name_count > SMA_POLICY_NAMED_COUNT_MAX)
            return; /* and that is said */
    }
}

/* Compilers read what their sources include, tools of infrastructure all of their folder. */
static const char READS_BESIDE[] =
    "gcc g++ cc c++ c89 c99 clang clang++ cpp ld ld.lld ld.gold gold lld mold as nasm yasm rustc "
    "javac kotlinc scalac tcc go gfortran gnat ghc ocamlc ocamlopt nvcc swiftc dmd ldc2 fpc nim "
    "zig tsc protoc flex bison m4 pdflatex xelatex lualatex latex terraform tofu terragrunt "
    "pulumi ansible ansible-playbook";
/* What of git takes the contents of the work tree, of the index, of history or of another place
 * along. */
static const char GIT_TAKES[] =
    "commit merge push pull stash apply am rebase cherry-pick revert add "
    "checkout switch restore reset archive bundle clone fetch show cat-file diff grep";

static bool has_word(const struct sma_shell_command *command, const struct sma_shell_word *words,
                     const char *list)
{
    for (uint32_t i = 1; i < command->word_count; i++)
        if (sma_list_has(list, sma_shell_word_str(&words[i])))
            return true;
    return false;
}

/* Of rg and its like: words that neither begin with a dash nor are the value of a short option. */
static uint32_t count_operands(const struct sma_shell_command *command,
                               const struct sma_shell_word *words)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < command->word_count; i++)
        count += words[i].len > 0 && words[i].text[0] != '-' &&
                 !(words[i - 1].len == 2 && words[i - 1].text[0] == '-' &&
                   strchr("ABCEMTdefgjmrt", words[i - 1].text[1]) != NULL);
    return count;
}

/* jq -L lib, -rL lib; `import` in its program. */
static bool jq_loads(const struct sma_shell_command *command, const struct sma_shell_word *words)
{
    for (uint32_t i = 1; i < command->word_count; i++) {
        struct sma_str text = sma_shell_word_str(&words[i]);
        bool is_short = text.len > 1 && text.ptr[0] == '-' && text.ptr[1] != '-';
        if ((is_short && memchr(text.ptr, 'L', text.len) != NULL) ||
            sma_str_starts_with(text, SMA_STR("--library-path")) ||
            memmem(text.ptr, text.len, "import", 6) != NULL ||
            memmem(text.ptr, text.len, "include", 7) != NULL)
            return true;
    }
    return false;
}

/* grep -r, -rn, --recursive, -d recurse */
static bool goes_down(const struct sma_shell_command *command, const struct sma_shell_word *words)
{
    for (uint32_t i = 1; i < command->word_count; i++) {
        struct sma_str text = sma_shell_word_str(&words[i]);
        bool is_option = text.len > 1 && text.ptr[0] == '-';
        bool is_long = is_option && text.ptr[1] == '-';
        if ((is_option && !is_long && strpbrk(text.ptr, "rR") != NULL) ||
            (is_long && memmem(text.ptr, text.len, "rec", 3) != NULL) ||
            sma_str_is_equal(text, SMA_STR("recurse")))
            return true;
    }
    return false;
}

/* Does it read files that its words do not name? */
static bool reads_beside(const struct sma_shell_command *command,
                         const struct sma_shell_word *words, struct sma_str base)
{
    size_t len = base.len; /* gcc-13, clang-18, x86_64-linux-gnu-gcc is none of these */
    while (len > 1 && memchr("0123456789.", base.ptr[len - 1], 11) != NULL)
        len--;
    struct sma_str plain = {
        base.ptr, len > 1 && len < base.len && base.ptr[len - 1] == '-' ? len - 1 : base.len};
    if (sma_list_has(READS_BESIDE, plain))
        return true;
    if (sma_str_is_equal(base, SMA_STR("git")))
        return has_word(command, words, GIT_TAKES);
    if (sma_list_has("jq gojq jaq", base))
        return jq_loads(command, words);
    /* without a place it is the folder */
    bool is_search = sma_list_has("rg ag ack", base) ||
                     (sma_list_has("grep egrep fgrep", base) && goes_down(command, words));
    if (is_search)
        return count_operands(command, words) < 2;
    for (uint32_t i = 1; i < command->word_count; i++)
        if (sma_str_starts_with(sma_shell_word_str(&words[i]), SMA_STR("--files0-from")))
            return true;
    return false;
}

/* Does it look for code by itself, whatever its words name? */
static bool loads_by_itself(const struct sma_shell_command *command,
                            const struct sma_shell_word *words)
{
    struct sma_str program = sma_shell_word_str(&words[0]), base = sma_program_base(program);
    enum program_kind kind = sma_program_kind(base);
    bool is_version = command->word_count == 2 &&
                      sma_list_has("--version -V -v --help", sma_shell_word_str(&words[1]));
    if (is_version || sma_list_has("read set", base))
        return false;
    return kind == PROGRAM_INTERPRETER || kind == PROGRAM_RUNNER || kind == PROGRAM_OPAQUE ||
           (kind == PROGRAM_SHELL && !command->is_transparent) || sma_program_has_recipes(base) ||
           (memchr(program.ptr, '/', program.len) != NULL && !is_of_the_system(program));
}

/* -- where it runs ----------------------------------------------------------------------------- */
/* Programs with an option that says where they or what they start work. */
static const struct
{
    const char *programs, *long_names; /* may be shortened */
    char letter;
} PLACES[] = {{"env tar bsdtar make gmake ninja cargo pnpm", "chdir directory", 'C'},
              {"git", "git-dir work-tree", 'C'},
              {"sudo doas cpio bsdcpio", "chdir directory", 'D'},
              {"patch", "directory", 'd'},
              {"parallel unshare nsenter systemd-run", "wd workdir working-directory root", '\0'}};
static const char ANYWHERE[] = "popd pushd chroot bwrap su runuser start-stop-daemon";

static bool may_be_short(struct sma_str name, const char *names)
{
    for (const char *at = names; *at != '\0'; at = strchrnul(at, ' '), at += *at == ' ')
        if (name.len > 0 && sma_str_starts_with(sma_str(at), name))
            return true;
    return false;
}

/* One place that is plainly said is followed: cd x, -C x, --chdir=x. */
static void put_place(struct binding_work *work, const struct sma_shell_word *word,
                      struct sma_str place)
{
    work->is_lost |= work->there.len > 0 || place.len == 0 || place.ptr[0] == '-' ||
                     !sma_shell_word_is_constant(word);
    work->there = place;
}

static void find_place_of_option(struct binding_work *work, const struct sma_shell_command *command,
                                 const struct sma_shell_word *words, size_t row)
{
    bool is_tar = sma_list_has("tar bsdtar", sma_program_base(sma_shell_word_str(&words[0])));
    for (uint32_t k = 1; k < command->word_count; k++) {
        struct sma_str text = sma_shell_word_str(&words[k]), name = text;
        bool is_cluster = text.len > 1 && text.ptr[0] == '-' && text.ptr[1] != '-';
        bool is_long = text.len > 2 && text.ptr[0] == '-' && !is_cluster;
        const char *equals = is_long ? memchr(text.ptr, '=', text.len) : NULL;
        if (is_long)
            name = (struct sma_str){text.ptr + 2,
                                    (equals == NULL ? text.len : (size_t)(equals - text.ptr)) - 2};
        bool is_plain = is_long ? sma_list_has(PLACES[row].long_names, name)
                                : is_cluster && text.len == 2 && text.ptr[1] == PLACES[row].letter;
        if (is_plain && equals != NULL)
            put_place(work, &words[k],
                      (struct sma_str){equals + 1, text.len - (size_t)(equals + 1 - text.ptr)});
        else if (is_plain && k + 1 < command->word_count)
            put_place(work, &words[k + 1], sma_shell_word_str(&words[k + 1]));
        else if (is_long) /* --ch */
            work->is_lost |= may_be_short(name, PLACES[row].long_names);
        else if (is_cluster || (is_tar && k == 1 && text.len > 0)) /* -xCd, tar xCf */
            work->is_lost |= memchr(text.ptr, PLACES[row].letter, text.len) != NULL;
    }
}

static void find_place(struct binding_work *work, const struct sma_shell *shell)
{
    for (uint32_t i = 0; i < shell->assign_count; i++)
        work->is_lost |= sma_str_is_equal(shell->assigns[i].name, SMA_STR("CDPATH"));
    for (uint32_t i = 0; i < shell->command_count; i++) {
        const struct sma_shell_command *command = &shell->commands[i];
        const struct sma_shell_word *words = sma_shell_words(shell, command);
        if (command->word_count == 0)
            continue;
        struct sma_str base = sma_program_base(sma_shell_word_str(&words[0]));
        if (sma_program_kind(base) == PROGRAM_CD) {
            work->is_lost |= command->word_count != 2;
            if (command->word_count == 2)
                put_place(work, &words[1], sma_shell_word_str(&words[1]));
        }
        work->is_lost |= sma_list_has(ANYWHERE, base);
        for (uint32_t k = 1; sma_str_is_equal(base, SMA_STR("find")) && k < command->word_count;
             k++)
            work->is_lost |= sma_list_has("-execdir -okdir", sma_shell_word_str(&words[k]));
        for (size_t row = 0; row < SMA_COUNT_OF(PLACES); row++)
            if (sma_list_has(PLACES[row].programs, base))
                find_place_of_option(work, command, words, row);
    }
}

static void put_named_files(struct binding_work *work, const struct sma_shell *shell)
{
    if (work->files->look == NULL)
        return;
    put(&work->hashing, SMA_STR("named"));
    for (uint32_t i = 0; i < shell->command_count; i++) {
        const struct sma_shell_command *command = &shell->commands[i];
        const struct sma_shell_word *words = sma_shell_words(shell, command);
        if (command->word_count == 0)
            continue;
        struct sma_str base = sma_program_base(sma_shell_word_str(&words[0]));
        bool is_read = !sma_list_has(NAMES_ONLY, base);
        work->reads_folders = is_read && !sma_list_has(READS_NO_FOLDER, base);
        work->binding->loads_beside |=
            loads_by_itself(command, words) || reads_beside(command, words, base);
        work->binding->reads_unnamed |= command->has_more_words && is_read;
        for (uint32_t k = 1; k < command->word_count; k++)
            put_word_files(work, &words[k], is_read && !command->is_transparent);
    }
    work->reads_folders = true;
    for (uint32_t i = 0; i < shell->redirect_count; i++)
        if (shell->redirects[i].kind == SMA_REDIRECT_READ)
            put_word_files(work, &shell->redirects[i].target, true);
    for (uint32_t i = 0; i < shell->assign_count; i++)
        put_word_files(work, &shell->assigns[i].value, shell->assigns[i].is_exported);
}

enum sma_err sma_policy_bind(const struct sma_shell *shell, struct sma_str directory,
                             const struct sma_policy_files *files,
                             struct sma_policy_binding *ret_binding)
{
    struct sma_policy_binding binding = {.is_complete = !shell->is_uncertain};
    struct binding_work work = {.hashing = {.context = EVP_MD_CTX_new()},
                                .directory = directory,
                                .files = files,
                                .binding = &binding};
    if (work.hashing.context == NULL)
        return SMA_ERR_NOMEM;
    if (EVP_DigestInit_ex(work.hashing.context, EVP_sha256(), NULL) != 1)
        work.hashing.has_failed = true;
    put(&work.hashing, SMA_STR("command binding 3"));
    put(&work.hashing, (struct sma_str){shell->arena, shell->source_len});
    put(&work.hashing, directory);
    put_words(&work.hashing, shell);
    find_place(&work, shell);
    put_scripts(&work, shell);
    put_named_files(&work, shell);
    binding.reads_unnamed |= !binding.is_complete;
    binding.loads_beside |= work.runs_unseen;
    binding.is_complete &= !work.runs_unseen;
    if (EVP_DigestFinal_ex(work.hashing.context, binding.digest, NULL) != 1)
        work.hashing.has_failed = true;
    EVP_MD_CTX_free(work.hashing.context);
    if (work.err != SMA_ERR_OK || work.hashing.has_failed)
        return SMA_ERR_NOMEM;
    *ret_binding = binding;
    return SMA_ERR_OK;
}
