/*
 * unwrap_code.c — programs that take code: shells, interpreters, sed (awk: unwrap_awk.c). A shell's
 * text is parsed like any command; of the others only what is known to run nothing passes.
 */
#include "shell_priv.h"

/* -- shells ------------------------------------------------------------------------------------ */
/* Options of a shell; false when one is not known. */
static bool take_shell_options(const struct sma_shell *shell, uint32_t command, uint32_t *next,
                               bool *has_text)
{
    uint32_t count = shell->commands[command].word_count;
    for (*next = 1; *next < count; (*next)++) {
        const struct sma_shell_word *word = sma_unwrap_word_at(shell, command, *next);
        if (!sma_shell_word_is_constant(word))
            return word->fixed_len > 0 && word->text[0] != '-' && word->text[0] != '+';
        struct sma_str text = sma_shell_word_str(word);
        if (text.len == 0 || (text.ptr[0] != '-' && text.ptr[0] != '+'))
            return true;
        if (sma_list_has("- --", text)) {
            (*next)++;
            return true;
        }
        if (sma_list_has("--norc --noprofile --posix", text))
            continue;
        bool takes_value = false;
        for (size_t i = 1; i < text.len; i++) {
            if (strchr("ceuxvnfCbhmo", text.ptr[i]) == NULL || text.len == 1)
                return false;
            *has_text |= text.ptr[i] == 'c' && text.ptr[0] == '-';
            takes_value |= text.ptr[i] == 'o';
        }
        if (takes_value) {
            (*next)++;
            if (*next >= count ||
                !sma_list_has("pipefail errexit nounset xtrace", sma_shell_word_str(word + 1)))
                return false;
        }
    }
    return true;
}

void sma_unwrap_shell(struct sma_shell *shell, uint32_t command)
{
    uint32_t count = shell->commands[command].word_count, next = 1;
    struct sma_str base =
        sma_program_base(sma_shell_word_str(sma_unwrap_word_at(shell, command, 0)));
    bool has_text = false, is_source = sma_list_has(". source", base);
    if (!is_source && !take_shell_options(shell, command, &next, &has_text)) {
        sma_unwrap_note(shell, command, count, "a shell with an option that is not understood");
        has_text = has_text && next < count;
    }
    if (next >= count) {
        sma_unwrap_note(shell, command, NOTE_NEVER_COVERED,
                        "a shell that reads its commands from elsewhere");
        return;
    }
    const struct sma_shell_word *word = sma_unwrap_word_at(shell, command, next);
    if (!has_text) {
        if (sma_shell_word_is_constant(word))
            sma_unwrap_script(shell, command, next);
        else
            sma_unwrap_note(shell, command, NOTE_NEVER_COVERED,
                            "a script whose name is not constant");
        return;
    }
    if (!sma_shell_word_is_constant(word) || shell->commands[command].has_more_words) {
        sma_unwrap_note(shell, command, count, "the text it runs is not constant");
        return;
    }
    /* the reader knows these; zsh and ksh evaluate numbers (exit 'a[$(x)]'), others have a grammar
     * of their own */
    if (!sma_list_has("sh dash bash ash", base))
        sma_unwrap_note(shell, command, count, "a shell whose language is not understood");
    shell->commands[command].is_transparent = true;
    sma_shell_parse_child(shell, sma_shell_word_str(word), command, next);
}

/* -- interpreters ------------------------------------------------------------------------------ */
void sma_unwrap_interpreter(struct sma_shell *shell, uint32_t command, struct sma_str base)
{
    uint32_t count = shell->commands[command].word_count, next = 1;
    bool is_python = base.len >= 6 && memcmp(base.ptr, "python", 6) == 0;
    if (count == 2 && sma_shell_word_is_constant(sma_unwrap_word_at(shell, command, 1)) &&
        sma_list_has("--version -V --help",
                     sma_shell_word_str(sma_unwrap_word_at(shell, command, 1))))
        return;
    while (next < count && is_python &&
           sma_list_has("-u -B -E -s -S -I -O",
                        sma_shell_word_str(sma_unwrap_word_at(shell, command, next))))
        next++;
    if (next >= count ||
        sma_list_has("- -i", sma_shell_word_str(sma_unwrap_word_at(shell, command, count - 1))))
        sma_unwrap_note(shell, command, NOTE_NEVER_COVERED,
                        "an interpreter that reads its program from elsewhere");
    if (next >= count)
        return;
    const struct sma_shell_word *word = sma_unwrap_word_at(shell, command, next);
    struct sma_str text = sma_shell_word_str(word);
    bool is_module = is_python && next + 1 < count && sma_str_is_equal(text, SMA_STR("-m")) &&
                     sma_shell_word_is_constant(word + 1);
    if (is_module)
        sma_unwrap_note(shell, command, next + 1, "it runs a module");
    else if (sma_shell_word_is_constant(word) && text.len > 0 && text.ptr[0] != '-')
        sma_unwrap_script(shell, command, next);
    else
        sma_unwrap_note(shell, command, count, "an interpreter with code or options of its own");
}

/* -- sed --------------------------------------------------------------------------------------- */
static size_t skip_delimited(struct sma_str script, size_t at, char delimiter)
{
    for (; at < script.len && script.ptr[at] != delimiter; at++) {
        if (script.ptr[at] == '\n')
            return SIZE_MAX;
        if (script.ptr[at] == '\\')
            at++;
        else if (script.ptr[at] == '[') { /* a delimiter inside of a set is read in two ways */
            size_t first = at + 1 + (at + 1 < script.len && script.ptr[at + 1] == '^') + 1;
            const char *close =
                first < script.len ? memchr(script.ptr + first, ']', script.len - first) : NULL;
            if (close == NULL ||
                memchr(script.ptr + at, delimiter, (size_t)(close - script.ptr) - at) != NULL)
                return SIZE_MAX;
        }
    }
    return at < script.len ? at + 1 : SIZE_MAX;
}

static size_t skip_set(struct sma_str script, size_t at, const char *set)
{
    while (at < script.len && script.ptr[at] != '\0' && strchr(set, script.ptr[at]) != NULL)
        at++;
    return at;
}

static size_t skip_addresses(struct sma_str script, size_t at)
{
    for (;;) {
        at = skip_set(script, at, " \t0123456789$,~+!");
        if (at >= script.len || script.ptr[at] != '/')
            return at;
        at = skip_delimited(script, at + 1, '/');
        if (at == SIZE_MAX)
            return at;
        at = skip_set(script, at, "IM");
    }
}

/* Addresses with p d q and the like, s without flags that run or write, y. */
static bool is_tame_sed(struct sma_str script)
{
    for (size_t at = 0; at < script.len;) {
        at = skip_set(script, at, "; \t\n{}");
        if (at >= script.len)
            return true;
        at = skip_addresses(script, at);
        if (at == SIZE_MAX || at >= script.len)
            return false;
        char verb = script.ptr[at++];
        if (verb == '{')
            continue;
        if (verb == 's' || verb == 'y') {
            if (at >= script.len || memchr("\\\n; \t", script.ptr[at], 5) != NULL)
                return false;
            char delimiter = script.ptr[at++];
            at = skip_delimited(script, at, delimiter);
            at = at == SIZE_MAX ? at : skip_delimited(script, at, delimiter);
            if (at == SIZE_MAX)
                return false;
            at = skip_set(script, at, "gpiIM0123456789");
        } else if (verb == '\0' || strchr("pdqnNDGgHhPx=", verb) == NULL) {
            return false;
        }
        at = skip_set(script, at, " \t");
        if (at < script.len && memchr(";\n}", script.ptr[at], 3) == NULL)
            return false;
    }
    return true;
}

/* The end of -i, -Ei, -i.bak; NULL where sed does not write in place. */
static const char *in_place_suffix(const struct sma_shell *shell, uint32_t command)
{
    for (uint32_t i = 1; i < shell->commands[command].word_count; i++) {
        const struct sma_shell_word *word = sma_unwrap_word_at(shell, command, i);
        if (word->len < 2 || word->text[0] != '-')
            continue;
        const char *letter = memchr(word->text, 'i', word->len);
        if (word->text[1] != '-' && letter != NULL)
            return letter + 1;
        if (word->len > 4 && memcmp(word->text, "--in", 4) == 0)
            return "";
    }
    return NULL;
}

/* A file that sed -i changes, and the one it keeps beside it. */
static void touch_in_place(struct sma_shell *shell, uint32_t command, uint32_t index,
                           const char *suffix)
{
    struct sma_shell_word file = *sma_unwrap_word_at(shell, command, index);
    sma_unwrap_touch_at(shell, command, index, SMA_TOUCH_WRITE, &file);
    size_t len = strlen(suffix);
    char *text = len == 0 ? NULL : sma_shell_reserve(shell, file.len + len + 1);
    if (text == NULL)
        return;
    memcpy(text, file.text, file.len);
    memcpy(text + file.len, suffix, len + 1);
    file.text = text;
    file.len += (uint32_t)len;
    sma_unwrap_touch_at(shell, command, index, SMA_TOUCH_WRITE, &file);
}

static bool is_tame_script(const struct sma_shell_word *word)
{
    return sma_shell_word_is_constant(word) && is_tame_sed(sma_shell_word_str(word));
}

void sma_unwrap_sed(struct sma_shell *shell, uint32_t command)
{
    static const char why[] = "a sed script that may run commands or write files";
    uint32_t count = shell->commands[command].word_count;
    bool has_script = false;
    const char *suffix = in_place_suffix(shell, command);
    if (shell->commands[command].has_more_words)
        sma_unwrap_note(shell, command, count, "sed with words that are not known");
    for (uint32_t i = 1; i < count; i++) {
        const struct sma_shell_word *word = sma_unwrap_word_at(shell, command, i);
        struct sma_str text = sma_shell_word_str(word);
        bool is_option = text.len > 1 && text.ptr[0] == '-';
        if (!is_option) {
            if (!has_script && !is_tame_script(word))
                sma_unwrap_note(shell, command, i, why);
            else if (has_script && suffix != NULL)
                touch_in_place(shell, command, i, suffix);
            has_script = true;
            continue;
        }
        if (!sma_shell_word_is_constant(word)) {
            sma_unwrap_note(shell, command, i, why);
            continue;
        }
        if (sma_list_has("-e -ne -nE -nr -En -rn -Ee -re", text)) {
            bool takes = text.ptr[text.len - 1] == 'e';
            if (takes && (i + 1 >= count || !is_tame_script(word + 1)))
                sma_unwrap_note(shell, command, i + 1 < count ? i + 1 : count, why);
            i += takes;
            has_script |= takes;
        } else if (!sma_list_has("-n -E -r -s -z -u -i --quiet --silent --regexp-extended "
                                 "--in-place --null-data "
                                 "--separate --posix -i.bak -i.orig -Ei -ri -ni --version --help",
                                 text)) {
            sma_unwrap_note(shell, command, count, why);
        }
    }
}
