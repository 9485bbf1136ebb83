/*
 * policy_bind.c — what exactly was approved: a digest over the command, the directory and the scripts that would run.
 */
#include "approval_priv.h"

#include "sma/text.h"

#include <openssl/evp.h>
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
    sma_policy_read_fn *read;
    void *user;
    struct sma_policy_binding *binding;
};

static enum sma_err put_script(struct binding_work *work, struct sma_str path)
{
    char full[PATH_BYTES_MAX];
    bool is_absolute = path.len > 0 && path.ptr[0] == '/';
    size_t prefix = is_absolute ? 0 : work->directory.len + 1;
    if (prefix + path.len + 1 > sizeof full ||
        work->binding->script_count == SMA_POLICY_SCRIPT_COUNT_MAX) {
        work->binding->is_complete = false;
        return SMA_ERR_OK;
    }
    if (!is_absolute) {
        memcpy(full, work->directory.ptr, work->directory.len);
        full[work->directory.len] = '/';
    }
    memcpy(full + prefix, path.ptr, path.len);
    full[prefix + path.len] = '\0';
    char *bytes = NULL;
    size_t len = 0;
    enum sma_err err = work->read(work->user, full, SMA_POLICY_SCRIPT_BYTES_MAX, &bytes, &len);
    if (err == SMA_ERR_NOMEM)
        return err;
    work->binding->script_count++;
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        work->binding->is_complete = false;
    put(&work->hashing, err == SMA_ERR_OK ? SMA_STR("script") : SMA_STR("missing"));
    put(&work->hashing, sma_str(full));
    put(&work->hashing, (struct sma_str){bytes, err == SMA_ERR_OK ? len : 0});
    free(bytes);
    return SMA_ERR_OK;
}

static bool is_of_the_system(struct sma_str path)
{
    return sma_str_starts_with(path, SMA_STR("/usr/")) ||
           sma_str_starts_with(path, SMA_STR("/bin/")) ||
           sma_str_starts_with(path, SMA_STR("/sbin/"));
}

static enum sma_err put_scripts(struct binding_work *work, const struct sma_shell *shell)
{
    enum sma_err err = SMA_ERR_OK;
    bool changes_folder = false;
    for (uint32_t i = 0; err == SMA_ERR_OK && i < shell->command_count; i++) {
        const struct sma_shell_command *command = &shell->commands[i];
        if (command->word_count == 0)
            continue;
        const struct sma_shell_word *word = sma_shell_words(shell, command);
        struct sma_str text = sma_shell_word_str(word);
        changes_folder |= sma_program_kind(text) == PROGRAM_CD;
        work->binding->is_complete &= sma_shell_word_is_constant(word) && !command->has_more_words;
        if (memchr(text.ptr, '/', text.len) != NULL && !is_of_the_system(text))
            err = put_script(work, text);
    }
    for (uint32_t i = 0; err == SMA_ERR_OK && i < shell->note_count; i++) {
        const struct sma_shell_note *note = &shell->notes[i];
        const struct sma_shell_command *command = &shell->commands[note->command];
        if (note->is_script && note->origin < command->word_count)
            err = put_script(work,
                             sma_shell_word_str(&sma_shell_words(shell, command)[note->origin]));
        else
            work->binding->is_complete = false;
    }
    if (changes_folder && work->binding->script_count > 0)
        work->binding->is_complete = false; /* a relative name may be another file there */
    return err;
}

enum sma_err sma_policy_bind(const struct sma_shell *shell, struct sma_str directory,
                             sma_policy_read_fn *read, void *user,
                             struct sma_policy_binding *ret_binding)
{
    struct sma_policy_binding binding = {.is_complete = !shell->is_uncertain};
    struct binding_work work = {.hashing = {.context = EVP_MD_CTX_new()},
                                .directory = directory,
                                .read = read,
                                .user = user,
                                .binding = &binding};
    if (work.hashing.context == NULL)
        return SMA_ERR_NOMEM;
    if (EVP_DigestInit_ex(work.hashing.context, EVP_sha256(), NULL) != 1)
        work.hashing.has_failed = true;
    put(&work.hashing, SMA_STR("command binding 1"));
    put(&work.hashing, (struct sma_str){shell->arena, shell->source_len});
    put(&work.hashing, directory);
    put_words(&work.hashing, shell);
    enum sma_err err = put_scripts(&work, shell);
    if (EVP_DigestFinal_ex(work.hashing.context, binding.digest, NULL) != 1)
        work.hashing.has_failed = true;
    EVP_MD_CTX_free(work.hashing.context);
    if (err != SMA_ERR_OK || work.hashing.has_failed)
        return SMA_ERR_NOMEM;
    *ret_binding = binding;
    return SMA_ERR_OK;
}
