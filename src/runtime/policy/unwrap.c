/*
 * unwrap.c — what launchers start. The list of commands grows while it is walked, so that launchers
 * of launchers are unwrapped too; a launcher whose options are not all known gets a note and is
 * asked about.
 */
#include "options.h"

#include "sma/text.h"

void sma_unwrap_add_assign(struct sma_shell *shell, uint32_t command,
                           const struct sma_shell_word *word)
{
    const char *equals = memchr(word->text, '=', word->len);
    size_t name_len = equals == NULL ? word->len : (size_t)(equals - word->text);
    if (shell->assign_count == SMA_SHELL_ASSIGN_COUNT_MAX) {
        sma_shell_doubt(shell, NULL, "too many assignments");
        return;
    }
    struct sma_shell_word value = *word;
    size_t skip = equals == NULL ? word->len : name_len + 1;
    value.text += skip;
    value.len -= (uint32_t)skip;
    value.fixed_len -= value.fixed_len < skip ? value.fixed_len : (uint32_t)skip;
    shell->assigns[shell->assign_count++] =
        (struct sma_shell_assign){.name = {word->text, name_len},
                                  .value = value,
                                  .command = (int32_t)command,
                                  .is_exported = true};
}

/* -- launchers --------------------------------------------------------------------------------- */
struct options
{
    uint32_t next;           /* the first word that is no option */
    struct sma_str replaced; /* -I of xargs */
    bool appends;            /* -n or -L of xargs, which take -I back */
};

static bool take_cluster(const struct launcher *launcher, struct sma_str text,
                         struct options *options, struct sma_str following)
{
    for (size_t k = 1; k < text.len; k++) {
        char letter = text.ptr[k];
        if (strchr(launcher->flags, letter) != NULL)
            continue;
        if (strchr(launcher->valued, letter) == NULL)
            return launcher->traits == LAUNCHER_ADDS_NOTHING && k == 1 && letter >= '0' &&
                   letter <= '9' && strcmp(launcher->name, "nice") == 0;
        struct sma_str value =
            k + 1 < text.len ? (struct sma_str){text.ptr + k + 1, text.len - k - 1} : following;
        if (letter == 'I' && (launcher->traits & LAUNCHER_APPENDS) != 0)
            options->replaced = value;
        options->appends |= letter == 'n' || letter == 'L';
        options->next += k + 1 == text.len;
        return true;
    }
    return true;
}

static bool take_long(const struct launcher *launcher, struct sma_str text, struct options *options,
                      struct sma_str following)
{
    const char *equals = memchr(text.ptr, '=', text.len);
    struct sma_str name = {text.ptr + 2,
                           (equals == NULL ? text.len : (size_t)(equals - text.ptr)) - 2};
    if (sma_list_has(launcher->long_flags, name))
        return equals == NULL;
    if (!sma_list_has(launcher->long_valued, name))
        return false;
    if (equals != NULL)
        following = (struct sma_str){equals + 1, text.len - name.len - 3};
    if (sma_list_has("replace max-lines", name) && (equals == NULL || following.len == 0))
        return false; /* their value is optional: the next word may be the program */
    if ((launcher->traits & LAUNCHER_APPENDS) != 0 && sma_str_is_equal(name, SMA_STR("replace")))
        options->replaced = following;
    options->appends |= sma_list_has("max-args max-lines", name);
    options->next += equals == NULL;
    return true;
}

/* false: an option that is not known, at options->next. */
static bool take_options(const struct sma_shell *shell, uint32_t command,
                         const struct launcher *launcher, struct options *options)
{
    uint32_t count = shell->commands[command].word_count;
    for (options->next = 1; options->next < count; options->next++) {
        uint32_t index = options->next;
        const struct sma_shell_word *word = sma_unwrap_word_at(shell, command, index);
        if (!sma_shell_word_is_constant(word))
            return word->fixed_len > 0 && word->text[0] != '-'; /* may be an option after all */
        struct sma_str text = sma_shell_word_str(word);
        if (text.len < 2 || text.ptr[0] != '-')
            return text.len != 1 || text.ptr[0] != '-';
        struct sma_str following = {0};
        if (index + 1 < count && sma_shell_word_is_constant(word + 1))
            following = sma_shell_word_str(word + 1);
        if (text.len == 2 && text.ptr[1] == '-') {
            options->next++;
            return true;
        }
        bool is_known = text.ptr[1] == '-' ? take_long(launcher, text, options, following)
                                           : take_cluster(launcher, text, options, following);
        bool took_next = options->next > index && index + 1 < count;
        if (!is_known || (took_next && !sma_shell_word_is_constant(word + 1))) {
            options->next = index; /* a pattern as value may be several words */
            return false;
        }
    }
    if (options->next > count)
        options->next = count;
    return true;
}

/* The words [from, ...) as one text for a shell; NULL when one is not constant or nothing is
 * there. */
static bool join_words(struct sma_shell *shell, uint32_t command, uint32_t from,
                       struct sma_str *ret_text)
{
    uint32_t count = shell->commands[command].word_count;
    size_t len = 0;
    for (uint32_t i = from; i < count; i++) {
        if (!sma_shell_word_is_constant(sma_unwrap_word_at(shell, command, i)))
            return false;
        len += sma_unwrap_text_at(shell, command, i).len + 1;
    }
    char *text = from >= count ? NULL : sma_shell_reserve(shell, len + 1);
    if (text == NULL)
        return false;
    size_t at = 0;
    for (uint32_t i = from; i < count; i++) {
        struct sma_str word = sma_unwrap_text_at(shell, command, i);
        if (i > from)
            text[at++] = ' ';
        memcpy(text + at, word.ptr, word.len);
        at += word.len;
    }
    text[at] = '\0';
    *ret_text = (struct sma_str){text, at};
    return true;
}

static void unwrap_text(struct sma_shell *shell, uint32_t command, uint32_t from,
                        bool is_transparent)
{
    struct sma_str text;
    uint32_t last = shell->commands[command].word_count - 1;
    if (!shell->commands[command].has_more_words && join_words(shell, command, from, &text)) {
        shell->commands[command].is_transparent = is_transparent;
        sma_shell_parse_child(shell, text, command, last);
    } else {
        sma_unwrap_note(shell, command, last + 1, "the text it runs is not constant");
    }
}

static uint32_t take_assigns(struct sma_shell *shell, uint32_t command, uint32_t from)
{
    uint32_t count = shell->commands[command].word_count;
    for (; from < count; from++) {
        const struct sma_shell_word *word = sma_unwrap_word_at(shell, command, from);
        const char *equals = memchr(word->text, '=', word->fixed_len);
        if (equals == NULL || (word->flags & SMA_WORD_SPLITS) != 0)
            break; /* even a name of no bytes is an assignment to env */
        sma_unwrap_add_assign(shell, command, word);
    }
    return from;
}

static void unwrap_launcher(struct sma_shell *shell, uint32_t command,
                            const struct launcher *launcher)
{
    struct options options = {0};
    uint32_t count = shell->commands[command].word_count;
    bool is_lookup = strcmp(launcher->name, "command") == 0 && count > 1 &&
                     (sma_str_is_equal(sma_unwrap_text_at(shell, command, 1), SMA_STR("-v")) ||
                      sma_str_is_equal(sma_unwrap_text_at(shell, command, 1), SMA_STR("-V")));
    if (is_lookup) {
        shell->commands[command].is_transparent = true;
        return;
    }
    if ((launcher->traits & LAUNCHER_EVALUATES) != 0) {
        unwrap_text(shell, command, 1, true);
        return;
    }
    if (!take_options(shell, command, launcher, &options)) {
        sma_unwrap_note(shell, command, count, "a launcher with an option that is not understood");
        sma_unwrap_guess(shell, command, options.next, count);
        return;
    }
    uint32_t from = options.next;
    for (uint32_t i = 0; i < launcher->operand_count && from < count; i++, from++) {
        if (!sma_shell_word_is_constant(sma_unwrap_word_at(shell, command, from)))
            sma_unwrap_note(shell, command, count, "a launcher whose operand is not constant");
        if ((launcher->traits & LAUNCHER_MAKES_FILE) != 0)
            sma_unwrap_touch_at(shell, command, from, SMA_TOUCH_WRITE,
                                sma_unwrap_word_at(shell, command, from));
    }
    if ((launcher->traits & LAUNCHER_ASSIGNS) != 0)
        from = take_assigns(shell, command, from);
    if (from >= count) {
        sma_unwrap_note(shell, command, NOTE_NEVER_COVERED, "a launcher without a program");
        return;
    }
    if (sma_unwrap_word_at(shell, command, from)->text[0] ==
        '-') { /* flock file -c 'text', su name -c 'text' */
        sma_unwrap_note(shell, command, count, "a launcher with an option that is not understood");
        sma_unwrap_guess(shell, command, from, count);
        return;
    }
    bool is_transparent = (launcher->traits & LAUNCHER_ADDS_NOTHING) != 0;
    if ((launcher->traits & LAUNCHER_JOINS) != 0) {
        unwrap_text(shell, command, from, is_transparent);
        return;
    }
    struct sma_shell_command *child = sma_unwrap_child(shell, command, from, count);
    if (child == NULL)
        return;
    shell->commands[command].is_transparent = is_transparent;
    if (options.replaced.len > 0)
        sma_unwrap_mark_replaced(shell, child, options.replaced);
    if (options.replaced.len == 0 || options.appends)
        child->has_more_words |= (launcher->traits & LAUNCHER_APPENDS) != 0;
}

/* -- runners ----------------------------------------------------------------------------------- */
/* npx, docker, strace: how the program is started is not modelled, which one it is can be told in
 * the plain cases. */
static void unwrap_runner(struct sma_shell *shell, uint32_t command, struct sma_str base)
{
    uint32_t count = shell->commands[command].word_count, origin = 1;
    if (count > 1 && sma_list_has("exec run x eval dlx tool task compose container",
                                  sma_unwrap_text_at(shell, command, 1)))
        origin = sma_list_has("docker podman kubectl docker-compose", base) ? 3 : 2;
    for (uint32_t i = 1; i <= origin && i < count; i++)
        if (!sma_shell_word_is_constant(sma_unwrap_word_at(shell, command, i)) ||
            sma_unwrap_text_at(shell, command, i).len == 0 ||
            sma_unwrap_text_at(shell, command, i).ptr[0] == '-' ||
            (i > 1 && sma_list_has("exec run", sma_unwrap_text_at(shell, command, i))))
            origin = count;
    sma_unwrap_note(shell, command, origin < count ? origin : count, "it starts another program");
    if (origin < count)
        (void)sma_unwrap_child(shell, command, origin, count); /* a failure has raised the doubt */
    else
        sma_unwrap_guess(shell, command, 1, shell->commands[command].word_count);
}

/* docker exec web ls -l: the options are those of ls. */
static bool starts_child(const struct sma_shell *shell, uint32_t command, struct sma_str base)
{
    return sma_program_kind(base) == PROGRAM_RUNNER && shell->commands[command].word_count > 1 &&
           sma_list_has("exec run", sma_unwrap_text_at(shell, command, 1));
}

/* -- builtins of the shell --------------------------------------------------------------------- */
static void unwrap_declare(struct sma_shell *shell, uint32_t command)
{
    for (uint32_t i = 1; i < shell->commands[command].word_count; i++) {
        const struct sma_shell_word *word = sma_unwrap_word_at(shell, command, i);
        struct sma_str text = sma_shell_word_str(word);
        const char *equals = memchr(text.ptr, '=', word->fixed_len);
        struct sma_str name = {text.ptr, equals == NULL ? text.len : (size_t)(equals - text.ptr)};
        if (sma_list_has("-x -r -g -p", text) && sma_shell_word_is_constant(word))
            continue;
        if ((!sma_shell_word_is_constant(word) && equals == NULL) || !sma_shell_is_name(name) ||
            (word->flags & SMA_WORD_SPLITS) != 0)
            sma_unwrap_note(shell, command, NOTE_NEVER_COVERED,
                            "a declaration that is not understood");
        else
            sma_unwrap_add_assign(shell, command, word);
    }
}

static bool is_small_name(struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!(text.ptr[i] >= 'a' && text.ptr[i] <= 'z') && text.ptr[i] != '_')
            return false;
    return text.len > 0;
}

/* `set -e` and `read -r name` are what scripts begin with; every other form of them changes too
 * much. */
static bool is_tame_builtin(const struct sma_shell *shell, uint32_t command, struct sma_str base)
{
    uint32_t count = shell->commands[command].word_count;
    bool is_set = sma_str_is_equal(base, SMA_STR("set")),
         is_read = sma_str_is_equal(base, SMA_STR("read"));
    for (uint32_t i = 1; (is_set || is_read) && i < count; i++) {
        struct sma_str text = sma_unwrap_text_at(shell, command, i);
        if (!sma_shell_word_is_constant(sma_unwrap_word_at(shell, command, i)))
            return false;
        if (is_set && !sma_list_has("-e -u -x -eu -ex -eux -ue -euo -eo -o pipefail +e +x", text))
            return false;
        if (is_read && (i != 1 || !sma_str_is_equal(text, SMA_STR("-r"))) && !is_small_name(text))
            return false;
    }
    return (is_set || is_read) && count > 1;
}

static void unwrap_by_kind(struct sma_shell *shell, uint32_t command, enum program_kind kind,
                           struct sma_str base)
{
    switch (kind) {
    case PROGRAM_SHELL:
        sma_unwrap_shell(shell, command);
        break;
    case PROGRAM_INTERPRETER:
        sma_unwrap_interpreter(shell, command, base);
        break;
    case PROGRAM_AWK:
        sma_unwrap_awk(shell, command);
        break;
    case PROGRAM_SED:
        sma_unwrap_sed(shell, command);
        break;
    case PROGRAM_FIND:
        sma_unwrap_find(shell, command);
        break;
    case PROGRAM_GIT:
        sma_unwrap_git(shell, command);
        break;
    case PROGRAM_LAUNCHER:
        unwrap_launcher(shell, command, sma_program_launcher(base));
        break;
    case PROGRAM_RUNNER:
        unwrap_runner(shell, command, base);
        break;
    case PROGRAM_DECLARE:
        unwrap_declare(shell, command);
        break;
    case PROGRAM_OPAQUE:
        if (is_tame_builtin(shell, command, base)) {
            shell->commands[command].is_transparent = true;
            break;
        }
        sma_unwrap_note(shell, command, NOTE_NEVER_COVERED, "a program that can run anything");
        sma_unwrap_guess(shell, command, 1, shell->commands[command].word_count);
        break;
    default:
        break;
    }
}

void sma_shell_unwrap(struct sma_shell *shell)
{
    for (uint32_t i = 0; i < shell->command_count; i++) { /* bounded: SMA_SHELL_COMMAND_COUNT_MAX */
        if (shell->commands[i].word_count == 0)
            continue;
        const struct sma_shell_word *program = sma_unwrap_word_at(shell, i, 0);
        if (!sma_shell_word_is_constant(program))
            continue;
        struct sma_str base = sma_program_base(sma_shell_word_str(program));
        unwrap_by_kind(shell, i, sma_program_kind(base), base);
        const struct description *description = sma_options_of(base);
        if (description != NULL && !starts_child(shell, i, base))
            sma_options_read(shell, i, 1, description);
    }
}
