/*
 * policy_bind.c — what exactly was approved: a digest over the command, the directory, the scripts
 * that would run, what they may load, and the recipes of programs.
 */
#include "shell_priv.h"

#include "sma/text.h"

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
    const struct sma_policy_files *files;
    struct sma_policy_binding *binding;
    size_t bytes; /* read so far */
    uint32_t folder_count;
    enum sma_err err;
};

/* `path` as the command sees it. */
static bool join(struct binding_work *work, struct sma_str path, char full[PATH_BYTES_MAX])
{
    bool is_absolute = path.len > 0 && path.ptr[0] == '/';
    size_t prefix = is_absolute ? 0 : work->directory.len + 1;
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

/* The wanted ones among `names`, in their order, and `depth` levels of folders. */
static void put_folder(struct binding_work *work, const char *folder, const struct wanted *wanted,
                       unsigned depth);

static void put_names(struct binding_work *work, const char *folder, const struct wanted *wanted,
                      unsigned depth, char *names)
{
    const char **list = malloc(SMA_POLICY_FOLDER_NAME_COUNT_MAX * sizeof *list);
    size_t count = 0;
    if (list == NULL) {
        work->err = SMA_ERR_NOMEM;
        return;
    }
    for (char *at = names; *at != '\0' && count < SMA_POLICY_FOLDER_NAME_COUNT_MAX;
         at += strlen(at) + 1)
        list[count++] = at;
    qsort(list, count, sizeof *list, compare_names);
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
    for (uint32_t i = 0; i < shell->command_count; i++) {
        const struct sma_shell_command *other = &shell->commands[i];
        const struct sma_shell_word *place = sma_shell_words(shell, other);
        if (other->word_count > 1 && sma_program_kind(sma_shell_word_str(place)) == PROGRAM_CD &&
            join(work, sma_shell_word_str(&place[1]), full))
            put_folder(work, full, &wanted, 0);
    }
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

static bool is_of_the_system(struct sma_str path)
{
    return sma_str_starts_with(path, SMA_STR("/usr/")) ||
           sma_str_starts_with(path, SMA_STR("/bin/")) ||
           sma_str_starts_with(path, SMA_STR("/sbin/"));
}

static void put_scripts(struct binding_work *work, const struct sma_shell *shell)
{
    bool changes_folder = false;
    for (uint32_t i = 0; i < shell->command_count; i++) {
        const struct sma_shell_command *command = &shell->commands[i];
        if (command->word_count == 0)
            continue;
        const struct sma_shell_word *word = sma_shell_words(shell, command);
        struct sma_str text = sma_shell_word_str(word);
        changes_folder |= sma_program_kind(text) == PROGRAM_CD;
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
            work->binding->is_complete = false;
            continue;
        }
        struct sma_str script = sma_shell_word_str(&words[note->origin]);
        put_script(work, script);
        put_modules(work, sma_shell_word_str(&words[0]), script);
    }
    if (changes_folder && work->binding->script_count > 0)
        work->binding->is_complete = false; /* a relative name may be another file there */
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
    put(&work.hashing, SMA_STR("command binding 2"));
    put(&work.hashing, (struct sma_str){shell->arena, shell->source_len});
    put(&work.hashing, directory);
    put_words(&work.hashing, shell);
    put_scripts(&work, shell);
    if (EVP_DigestFinal_ex(work.hashing.context, binding.digest, NULL) != 1)
        work.hashing.has_failed = true;
    EVP_MD_CTX_free(work.hashing.context);
    if (work.err != SMA_ERR_OK || work.hashing.has_failed)
        return SMA_ERR_NOMEM;
    *ret_binding = binding;
    return SMA_ERR_OK;
}
