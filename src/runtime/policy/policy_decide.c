/*
 * policy_decide.c — one command against the rules: refuse if a deny rule sees anything, else allow
 * if everything is allowed, else ask. The first thing that stands in the way of allowing is what
 * people are told.
 */
#include "options.h"
#include "policy_priv.h"

#include "sma/text.h"

#include <fnmatch.h>
#include <stdlib.h>

static void put_text(char *to, size_t size, struct sma_str text)
{
    size_t len = sma_utf8_cut(text, size - 1);
    if (len > 0)
        memcpy(to, text.ptr, len);
    to[len] = '\0';
}

void sma_deciding_settle(struct deciding *deciding, enum sma_policy_verdict verdict,
                         const char *rule, struct sma_str program, const char *reason)
{
    struct sma_policy_decision *decision = deciding->decision;
    if (decision->verdict >= verdict)
        return;
    decision->verdict = verdict;
    put_text(decision->rule, sizeof decision->rule, sma_str(rule));
    put_text(decision->program, sizeof decision->program, program);
    put_text(decision->reason, sizeof decision->reason, sma_str(reason));
}

void sma_deciding_ask(struct deciding *deciding, struct sma_str program, const char *reason)
{
    sma_deciding_settle(deciding, SMA_POLICY_ASK, "", program, reason);
}

static struct sma_str program_of(const struct sma_shell *shell,
                                 const struct sma_shell_command *command)
{
    if (command->word_count == 0)
        return SMA_STR("");
    const struct sma_shell_word *word = sma_shell_words(shell, command);
    return sma_shell_word_is_constant(word) ? sma_shell_word_str(word)
                                            : (struct sma_str){word->raw, word->raw_len};
}

/* -- deny -------------------------------------------------------------------------------------- */
enum match
{
    MATCH_NO,
    MATCH_PERHAPS,
    MATCH_YES,
};

static bool is_denied_name(const struct rule *rule, const struct sma_shell_word *word)
{
    struct sma_str name = rule->base, base = sma_program_base(sma_shell_word_str(word));
    if ((word->flags & SMA_WORD_GLOB) == 0)
        return sma_str_is_equal(name, base) && (word->flags & SMA_WORD_DYNAMIC) == 0;
    char pattern[256], plain[256]; /* /bin/r? */
    if (base.len >= sizeof pattern || name.len >= sizeof plain)
        return false;
    put_text(pattern, sizeof pattern, base);
    put_text(plain, sizeof plain, name);
    return fnmatch(pattern, plain, 0) == 0;
}

/* Are all letters of the option -rf somewhere among the command's short options? */
static bool has_letters(const struct sma_shell *shell, const struct sma_shell_command *command,
                        struct sma_str option)
{
    const struct sma_shell_word *words = sma_shell_words(shell, command);
    for (size_t k = 1; k < option.len; k++) {
        bool is_found = false;
        for (uint32_t i = 1; i < command->word_count && !is_found; i++)
            is_found = words[i].len > 1 && words[i].text[0] == '-' && words[i].text[1] != '-' &&
                       memchr(words[i].text + 1, option.ptr[k], words[i].len - 1) != NULL;
        if (!is_found)
            return false;
    }
    return option.len > 1;
}

static bool has_word(const struct sma_shell *shell, const struct sma_shell_command *command,
                     struct sma_str wanted)
{
    const struct sma_shell_word *words = sma_shell_words(shell, command);
    for (uint32_t i = 1; i < command->word_count; i++)
        if (sma_str_is_equal(sma_shell_word_str(&words[i]), wanted))
            return true;
    bool is_short = wanted.len > 1 && wanted.ptr[0] == '-' && wanted.ptr[1] != '-';
    return is_short && has_letters(shell, command, wanted);
}

/* Could words that are not known, or long forms of options, be the ones the rule names? */
static bool has_unknown_words(const struct sma_shell *shell,
                              const struct sma_shell_command *command, bool for_option)
{
    const struct sma_shell_word *words = sma_shell_words(shell, command);
    for (uint32_t i = 1; i < command->word_count; i++)
        if (!sma_shell_word_is_constant(&words[i]) ||
            (for_option && words[i].len > 2 && memcmp(words[i].text, "--", 2) == 0))
            return true;
    return command->has_more_words;
}

/* git commit -m push is no push: where the subcommand stands plainly, it alone counts. */
static bool is_other_subcommand(const struct sma_shell *shell,
                                const struct sma_shell_command *command, struct sma_str wanted)
{
    const struct sma_shell_word *words = sma_shell_words(shell, command);
    return sma_program_kind(sma_program_base(sma_shell_word_str(&words[0]))) == PROGRAM_GIT &&
           command->word_count > 1 && wanted.len > 0 && wanted.ptr[0] != '-' &&
           sma_shell_word_is_constant(&words[1]) && words[1].len > 0 && words[1].text[0] != '-' &&
           !sma_str_is_equal(sma_shell_word_str(&words[1]), wanted);
}

static enum match match_deny(const struct rule *rule, const struct sma_shell *shell,
                             const struct sma_shell_command *command)
{
    if (command->word_count == 0 || !is_denied_name(rule, sma_shell_words(shell, command)))
        return MATCH_NO;
    if (rule->is_exact && command->word_count != rule->word_count)
        return has_unknown_words(shell, command, false) ? MATCH_PERHAPS : MATCH_NO;
    enum match match = MATCH_YES;
    for (uint32_t i = 1; i < rule->word_count; i++) {
        if (i == 1 && is_other_subcommand(shell, command, rule->words[1]))
            return MATCH_NO;
        if (has_word(shell, command, rule->words[i]))
            continue;
        bool is_option = rule->words[i].len > 0 && rule->words[i].ptr[0] == '-';
        if (!has_unknown_words(shell, command, is_option))
            return MATCH_NO;
        match = MATCH_PERHAPS;
    }
    return match;
}

static void check_deny(struct deciding *deciding)
{
    const struct sma_shell *shell = deciding->shell;
    const struct rules *deny = &deciding->policy->deny;
    for (uint32_t i = 0; i < shell->command_count; i++)
        for (size_t k = 0; k < deny->count; k++) {
            enum match match = match_deny(&deny->items[k], shell, &shell->commands[i]);
            if (match == MATCH_NO)
                continue;
            bool is_refused = match == MATCH_YES && !deciding->policy->deny_is_question;
            sma_deciding_settle(deciding, is_refused ? SMA_POLICY_REFUSE : SMA_POLICY_ASK,
                                deny->items[k].text, program_of(shell, &shell->commands[i]),
                                match == MATCH_YES ? "a deny rule names it"
                                                   : "a deny rule may mean it");
        }
}

static bool is_name_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '-' || byte == '.' ||
           (byte & 0x80) != 0;
}

/* An unknown program may be a launcher: a denied name among its words, or in a text it gets, is
 * asked about. */
static bool mentions_denied(const struct deciding *deciding, const struct sma_shell_word *word)
{
    const struct rules *deny = &deciding->policy->deny;
    for (uint32_t from = 0, at = 0; at <= word->len; at++) {
        if (at < word->len && is_name_byte(word->text[at]))
            continue;
        struct sma_str name = {word->text + from, at - from};
        for (size_t k = 0; name.len > 0 && k < deny->count; k++)
            if (sma_str_is_equal(name, deny->items[k].base))
                return true;
        from = at + 1;
    }
    return false;
}

/* -- variables --------------------------------------------------------------------------------- */
static bool is_tame_variable(const struct deciding *deciding, const struct sma_shell_assign *assign)
{
    static const char exported[] =
        "LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR TERM CI DEBUG COLUMNS LINES NODE_ENV "
        "RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE VERBOSE CGO_ENABLED "
        "GOOS GOARCH LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE LC_IDENTIFICATION LC_MEASUREMENT "
        "LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME";
    if (!sma_shell_is_name(assign->name))
        return false; /* declare 'LC_a[$(x)]=1' runs x */
    if (sma_list_has(exported, assign->name))
        return memchr(assign->value.text, '/', assign->value.len) == NULL;
    if (sma_str_is_equal(assign->name, SMA_STR("IFS")) &&
        assign->command >= 0) { /* IFS= read -r line */
        const struct sma_shell_command *command = &deciding->shell->commands[assign->command];
        return assign->value.len == 0 && sma_shell_word_is_constant(&assign->value) &&
               sma_str_is_equal(program_of(deciding->shell, command), SMA_STR("read"));
    }
    if (assign->is_exported || memmem(assign->name.ptr, assign->name.len, "proxy", 5) != NULL ||
        memmem(assign->name.ptr, assign->name.len, "path", 4) != NULL ||
        memmem(assign->name.ptr, assign->name.len, "config", 6) != NULL)
        return false;
    for (size_t i = 0; i < assign->name.len; i++)
        if (assign->name.ptr[i] >= 'A' && assign->name.ptr[i] <= 'Z')
            return false;
    return true;
}

static void check_assigns(struct deciding *deciding)
{
    for (uint32_t i = 0; i < deciding->shell->assign_count; i++) {
        const struct sma_shell_assign *assign = &deciding->shell->assigns[i];
        struct sma_str value = sma_shell_word_str(&assign->value);
        /* `for f in .e*`; `for f in *` is everybody's, and names no hidden file */
        bool is_hidden = (assign->value.flags & SMA_WORD_GLOB) != 0 && value.len > 0 &&
                         (value.ptr[0] == '.' || memmem(value.ptr, value.len, "/.", 2) != NULL);
        if (!is_tame_variable(deciding, assign))
            sma_deciding_ask(deciding, assign->name, "this variable can change what programs do");
        else if (sma_path_is_protected(value, is_hidden, true) ||
                 ((assign->value.flags & SMA_WORD_DYNAMIC) != 0 &&
                  sma_word_may_be_protected(
                      (struct sma_str){assign->value.raw, assign->value.raw_len}, true)))
            sma_deciding_ask(deciding, assign->name, "it names a protected file");
    }
}

/* -- commands ---------------------------------------------------------------------------------- */
/* <(sort a): the name of a pipe. */
static bool is_pipe(const struct sma_shell_word *word)
{
    struct sma_str raw = {word->raw, word->raw_len};
    return raw.len > 2 && raw.ptr[0] == '<' && raw.ptr[1] == '(' && raw.ptr[raw.len - 1] == ')' &&
           memchr(raw.ptr, '$', raw.len) == NULL && memchr(raw.ptr, '`', raw.len) == NULL;
}

/* Can it not become an option, or several words, whatever it expands to? */
static bool is_steady(const struct sma_shell_word *word)
{
    bool may_split = (word->flags & SMA_WORD_SPLITS) != 0 && (word->flags & SMA_WORD_DYNAMIC) != 0;
    if (sma_shell_word_is_constant(word) || (word->flags & SMA_WORD_VOUCHED) != 0 || is_pipe(word))
        return true;
    if (may_split || word->fixed_len == 0)
        return (word->flags & ~(uint32_t)SMA_WORD_QUOTED) == SMA_WORD_TILDE;
    return word->text[0] != '-' || (word->fixed_len > 2 && word->text[1] == '-' &&
                                    memchr(word->text, '=', word->fixed_len) != NULL);
}

struct checked
{
    uint32_t index;
    enum program_kind kind;
    struct sma_str base;
    bool is_plain, shows_names_only;
};

static struct checked describe(const struct sma_shell *shell, uint32_t index)
{
    const struct sma_shell_command *command = &shell->commands[index];
    const struct sma_shell_word *words = sma_shell_words(shell, command);
    struct checked checked = {.index = index,
                              .base = sma_program_base(sma_shell_word_str(&words[0]))};
    checked.kind = sma_program_kind(checked.base);
    bool is_add = checked.kind == PROGRAM_GIT && command->word_count > 1 &&
                  sma_str_is_equal(sma_shell_word_str(&words[1]), SMA_STR("add"));
    checked.is_plain = checked.kind == PROGRAM_PLAIN || checked.kind == PROGRAM_NEUTRAL || is_add;
    const struct description *description = sma_options_of(checked.base);
    if (description != NULL && sma_options_can_harm(description) &&
        !sma_list_has("test [ printf", checked.base)) /* may_evaluate() looks at these */
        checked.is_plain = false;
    checked.shows_names_only =
        sma_list_has("echo printf ls stat file wc du basename dirname test [ :", checked.base);
    return checked;
}

/* src/{a,b}.c: whatever the braces give, it lies in a folder that is none of the protected ones,
 * and no name begins with a
 * dot: not src/{.env,x}, not src/{a,}.env, not src/../{.env,x}. */
static bool is_below_folder(const struct sma_shell_word *word)
{
    if (word->fixed_len == 0 || word->text[0] == '.' ||
        memchr(word->text, '/', word->fixed_len) == NULL)
        return false;
    for (size_t i = 0; i + 1 < word->len; i++) {
        char byte = word->text[i], next = word->text[i + 1];
        bool begins = byte == '/' || byte == '{' || byte == ',';
        if ((begins && next == '.') ||
            ((byte == '{' || byte == ',') && (next == ',' || next == '}')))
            return false;
    }
    return true;
}

static bool is_denied_file(const struct deciding *deciding, const struct sma_shell_word *word)
{
    const struct rules *deny = &deciding->policy->deny;
    for (size_t k = 0; k < deny->count; k++)
        if (is_denied_name(&deny->items[k], word))
            return true;
    return false;
}

/* Does one of the words come from an expansion? */
static bool has_dynamic(const struct sma_shell_word *words, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if ((words[i].flags & SMA_WORD_DYNAMIC) != 0)
            return true;
    return false;
}

/* bash evaluates the name behind -v, with the commands in it: no word of a test may turn into that
 * option where another may be such a name. */
static bool may_evaluate(const struct checked *checked, const struct sma_shell_word *words,
                         uint32_t index, uint32_t count)
{
    const struct sma_shell_word *word = &words[index];
    if (sma_str_is_equal(checked->base, SMA_STR("printf")))
        return index == 1 && !is_steady(word);
    if (!sma_list_has("test [", checked->base))
        return false;
    bool is_dynamic = (word->flags & SMA_WORD_DYNAMIC) != 0;
    return (word->flags & SMA_WORD_SPLITS) != 0 ||
           (!is_dynamic && memchr(word->text, '$', word->len) != NULL) ||
           memchr(word->text, '`', word->len) != NULL ||
           (memchr(word->text, '[', word->len) != NULL && has_dynamic(words, count)) ||
           (is_dynamic && index + 1 < count && (words[index + 1].flags & SMA_WORD_DYNAMIC) != 0);
}

/* Is the option one that takes nothing from another word, so that no pattern comes from it?
 * Clusters of letters, and long ones with their value, which names no file. */
static bool is_search_flag(struct sma_str text)
{
    static const char equals[] = "--color= --colour= --include= --exclude= --exclude-dir= --glob= "
                                 "--type= --max-count= --context=";
    const char *end = text.len == 0 ? NULL : memchr(text.ptr, '=', text.len);
    if (text.len < 2 || text.ptr[0] != '-')
        return false;
    if (end != NULL)
        return sma_list_has(equals, (struct sma_str){text.ptr, (size_t)(end - text.ptr) + 1});
    if (text.ptr[1] == '-')
        return sma_list_has("--color --ignore-case --line-number --recursive --count --hidden "
                            "--word-regexp --files-with-matches --fixed-strings --no-heading "
                            "--extended-regexp --perl-regexp --invert-match --only-matching "
                            "--no-filename --with-filename --no-ignore --smart-case",
                            text);
    for (size_t i = 1; i < text.len; i++)
        if (memchr("EFGPivwxclLonhHsqrRaIS", text.ptr[i], 22) == NULL)
            return false;
    return true;
}

/* The first operand of grep and rg is what is looked for, unless an option brings it: none but
 * known flags, wherever they stand. */
static bool is_searched_for(const struct checked *checked, const struct sma_shell_word *words,
                            uint32_t index, uint32_t count)
{
    bool is_behind = false; /* -- */
    uint32_t operand = 0;
    if (!sma_list_has("grep egrep fgrep rg", checked->base))
        return false;
    for (uint32_t i = 1; i < count; i++) {
        struct sma_str text = sma_shell_word_str(&words[i]);
        bool is_option = !is_behind && text.len > 1 && text.ptr[0] == '-';
        if (!is_behind && !is_steady(&words[i]))
            return false;
        if (is_option && sma_str_is_equal(text, SMA_STR("--")))
            is_behind = true;
        else if (is_option && !is_search_flag(text))
            return false;
        else if (!is_option && operand == 0)
            operand = i;
    }
    return operand == index;
}

/* find -name .env tells where one is; beside another command it may be read. */
static bool is_found_name(const struct deciding *deciding, const struct checked *checked,
                          const struct sma_shell_word *words, uint32_t index, uint32_t count)
{
    const struct sma_shell *shell = deciding->shell;
    if (!sma_str_is_equal(checked->base, SMA_STR("find")) ||
        shell->command_count != 1 || /* cat $(find ...) */
        !sma_list_has("-name -iname", sma_shell_word_str(&words[index - 1])))
        return false;
    for (uint32_t i = 1; i < count; i++)
        if (!sma_shell_word_is_constant(&words[i]) ||
            sma_list_has("-exec -execdir -ok -okdir -files0-from", sma_shell_word_str(&words[i])))
            return false;
    return true;
}

static const char *find_fault(const struct deciding *deciding, const struct checked *checked,
                              const struct sma_shell_word *words, uint32_t index, uint32_t count)
{
    const struct sma_shell_word *word = &words[index];
    struct sma_str text = sma_shell_word_str(word);
    if (!checked->is_plain && !is_steady(word))
        return "a word of it is not constant and may be an option";
    bool is_pattern = (word->flags & SMA_WORD_GLOB) != 0 && !checked->shows_names_only;
    if ((word->flags & SMA_WORD_BRACE) != 0 && !checked->shows_names_only && !is_below_folder(word))
        return "it may name a protected file";
    bool is_text =
        sma_shell_word_is_constant(word) && (is_searched_for(checked, words, index, count) ||
                                             is_found_name(deciding, checked, words, index, count));
    bool for_git = checked->is_plain || checked->kind == PROGRAM_GIT;
    bool is_tail =
        (word->flags & SMA_WORD_DYNAMIC) != 0 && /* "$PWD"/.env */
        (sma_path_is_protected((struct sma_str){word->raw, word->raw_len}, false, for_git) ||
         sma_word_may_be_protected((struct sma_str){word->raw, word->raw_len}, for_git));
    if (!is_text && (is_tail || sma_path_is_protected(text, is_pattern, for_git)))
        return "it names a protected file";
    if (memchr(text.ptr, '/', text.len) != NULL && is_denied_file(deciding, word))
        return "it names a program that a deny rule names";
    if ((checked->kind == PROGRAM_OTHER || checked->kind == PROGRAM_RUNNER) &&
        mentions_denied(deciding, word))
        return "it may start a program that a deny rule names";
    return NULL;
}

/* `cd src && ls && cd ..`: nothing comes behind it, so that it does not matter where it goes. */
static bool ends_text(const struct sma_shell *shell, const struct sma_shell_command *command)
{
    const struct sma_shell_word *last = sma_shell_words(shell, command) + command->word_count - 1;
    const char *at = last->raw + last->raw_len, *end = shell->arena + shell->source_len;
    if (command->parent >= 0 || command->word_count != 2 || !sma_shell_word_is_constant(last) ||
        last->raw < shell->arena || at > end)
        return false;
    while (at < end && memchr(" \t\n;", *at, 4) != NULL)
        at++;
    return at == end;
}

static void check_folder(struct deciding *deciding, const struct sma_shell_command *command)
{
    const struct sma_shell_word *words = sma_shell_words(deciding->shell, command);
    if (ends_text(deciding->shell, command))
        return;
    if (command->word_count == 2 && sma_deciding_is_harmless(deciding, &words[1], 0) &&
        words[1].text[0] != '-')
        return;
    sma_deciding_ask(deciding, program_of(deciding->shell, command),
                     "it leaves the project's folder");
}

static void check_words(struct deciding *deciding, const struct checked *checked)
{
    const struct sma_shell_command *command = &deciding->shell->commands[checked->index];
    const struct sma_shell_word *words = sma_shell_words(deciding->shell, command);
    struct sma_str program = program_of(deciding->shell, command);
    uint32_t cover = deciding->covers[checked->index];
    if (command->has_more_words && !checked->is_plain && cover != UINT32_MAX &&
        !command->is_transparent)
        sma_deciding_ask(deciding, program, "it gets words that are not known");
    for (uint32_t i = 1; i < command->word_count; i++) {
        if (i < cover)
            continue;
        const char *fault = find_fault(deciding, checked, words, i, command->word_count);
        if (fault == NULL && may_evaluate(checked, words, i, command->word_count))
            fault = "a word of it may be evaluated";
        if (fault != NULL)
            sma_deciding_ask(deciding, program, fault);
    }
}

/* A redirection without a program empties a file: no rule has allowed that. */
static void check_empty(struct deciding *deciding, uint32_t index)
{
    const struct sma_shell *shell = deciding->shell;
    for (uint32_t i = 0; i < shell->redirect_count && !deciding->policy->allows_the_rest; i++)
        if (shell->redirects[i].command == (int32_t)index &&
            shell->redirects[i].kind == SMA_REDIRECT_WRITE)
            sma_deciding_ask(deciding, sma_shell_word_str(&shell->redirects[i].target),
                             "a redirection without a program");
}

static void check_command(struct deciding *deciding, uint32_t index)
{
    const struct sma_shell_command *command = &deciding->shell->commands[index];
    if (command->word_count == 0) {
        check_empty(deciding, index);
        return;
    }
    struct sma_str program = program_of(deciding->shell, command);
    const struct sma_shell_word *word = sma_shell_words(deciding->shell, command);
    if (!sma_shell_word_is_constant(word) || (word->flags & SMA_WORD_FOREIGN) != 0 ||
        word->len == 0 || word->text[0] == '-') {
        sma_deciding_ask(deciding, program, "which program this is cannot be told");
        return;
    }
    struct checked checked = describe(deciding->shell, index);
    bool needs_rule = checked.kind != PROGRAM_NEUTRAL && checked.kind != PROGRAM_CD &&
                      checked.kind != PROGRAM_DECLARE && !command->is_transparent;
    /* ./test and /tmp/env are not what their names say */
    struct sma_str folder = {program.ptr, program.len - checked.base.len};
    if (folder.len > 0 && !sma_list_has("/usr/bin/ /bin/", folder))
        needs_rule = true;
    if (deciding->folder.len > 0 && folder.len > 0 && folder.ptr[0] != '/') {
        sma_deciding_ask(deciding, program, "behind cd this may be another file");
        return;
    }
    if (needs_rule && deciding->covers[index] == 0) {
        sma_deciding_ask(deciding, program, "no rule allows it");
        return;
    }
    if (checked.kind == PROGRAM_CD)
        check_folder(deciding, command);
    check_words(deciding, &checked);
}

static void check_notes(struct deciding *deciding)
{
    const struct sma_shell *shell = deciding->shell;
    for (uint32_t i = 0; i < shell->note_count; i++)
        if (deciding->covers[shell->notes[i].command] <= shell->notes[i].origin ||
            (shell->notes[i].is_script && deciding->folder.len > 0))
            sma_deciding_ask(deciding, program_of(shell, &shell->commands[shell->notes[i].command]),
                             shell->notes[i].why);
}

/* The best of `rules` for a command: how many words it fixes. The first that helps is the one that
 * is told. */
static uint32_t find_cover(struct deciding *deciding, const struct rules *rules,
                           const struct sma_shell_command *command, uint32_t best)
{
    struct sma_policy_decision *decision = deciding->decision;
    for (size_t k = 0; command->word_count > 0 && k < rules->count; k++) {
        uint32_t cover = sma_rule_cover(&rules->items[k], deciding->shell, command);
        if (cover <= best)
            continue;
        best = cover;
        if (decision->rule[0] == '\0') {
            put_text(decision->rule, sizeof decision->rule, sma_str(rules->items[k].text));
            put_text(decision->program, sizeof decision->program,
                     program_of(deciding->shell, command));
        }
    }
    return best;
}

/* Which words of which command the allow rules fix. Parents come before their children. */
static void find_covers(struct deciding *deciding)
{
    const struct sma_shell *shell = deciding->shell;
    for (uint32_t i = 0; i < shell->command_count; i++) {
        const struct sma_shell_command *command = &shell->commands[i];
        bool is_child = command->parent >= 0;
        uint32_t own =
            is_child ? sma_rule_inherit(deciding->own_covers[command->parent], command) : 0;
        own = find_cover(deciding, &deciding->allow, command, own);
        uint32_t best = is_child ? sma_rule_inherit(deciding->covers[command->parent], command) : 0;
        best = find_cover(deciding, &deciding->granted, command, own > best ? own : best);
        deciding->own_covers[i] = own;
        if (best == 0 && deciding->policy->allows_the_rest)
            best = 1;
        deciding->covers[i] = best;
    }
}

static void find_folders(struct deciding *deciding)
{
    const struct sma_shell *shell = deciding->shell;
    for (uint32_t i = 0; i < shell->command_count; i++) {
        const struct sma_shell_command *command = &shell->commands[i];
        if (command->word_count < 2 ||
            !sma_str_is_equal(program_of(shell, command), SMA_STR("cd")) ||
            ends_text(shell, command))
            continue;
        deciding->has_many_folders |= deciding->folder.len > 0;
        deciding->folder = sma_shell_word_str(sma_shell_words(shell, command) + 1);
    }
}

static void start_decision(struct deciding *deciding)
{
    struct sma_policy_decision *decision = deciding->decision;
    decision->verdict = SMA_POLICY_ALLOW;
    decision->is_owner_only = decision->is_owner_ruled = false;
    decision->rule[0] = decision->program[0] = '\0';
    put_text(decision->reason, sizeof decision->reason, SMA_STR("every program in it is allowed"));
    decision->at = deciding->shell->at;
    find_covers(deciding);
    find_folders(deciding);
    if (decision->rule[0] == '\0' && deciding->shell->command_count > 0) {
        if (deciding->policy->allows_the_rest)
            put_text(decision->rule, sizeof decision->rule, SMA_STR("permissions.exec_shell"));
        put_text(decision->program, sizeof decision->program,
                 program_of(deciding->shell, deciding->shell->commands));
    }
}

/* The order: what refuses, then what must be asked; the first reason to ask is the one that is
 * told. */
static void decide(struct deciding *deciding)
{
    const struct sma_shell *shell = deciding->shell;
    const struct sma_policy *policy = deciding->policy;
    start_decision(deciding);
    bool has_rule = deciding->decision->rule[0] != '\0';
    struct sma_str program =
        shell->command_count == 0 ? SMA_STR("") : program_of(shell, shell->commands);
    if (policy->is_off)
        sma_deciding_settle(deciding, SMA_POLICY_REFUSE, "permissions.exec_shell: false", program,
                            "commands are switched off");
    check_deny(deciding);
    if (shell->command_count == 0 && !shell->is_uncertain)
        sma_deciding_settle(deciding, SMA_POLICY_REFUSE, "", SMA_STR(""),
                            "there is nothing to run");
    if (deciding->decision->verdict == SMA_POLICY_REFUSE)
        return;
    if (policy->asks_always && !has_rule)
        sma_deciding_settle(deciding, SMA_POLICY_ASK, "permissions.exec_shell.requiresApproval",
                            program, "every command must be agreed to");
    if (shell->is_uncertain)
        sma_deciding_ask(deciding, program, shell->why);
    sma_deciding_check_files(deciding);
    check_assigns(deciding);
    check_notes(deciding);
    for (uint32_t i = 0; i < shell->command_count; i++)
        check_command(deciding, i);
    sma_deciding_check_asked_writes(deciding);
}

static void decide_with(const struct sma_policy *policy, struct sma_shell *shell,
                        const struct sma_policy_query *query, struct rules granted,
                        struct sma_policy_decision *ret_decision)
{
    sma_shell_parse(shell, query->command);
    sma_shell_unwrap(shell);
    /* the covers stay uninitialised: find_covers writes those that are read */
    struct deciding deciding;
    deciding.policy = policy;
    deciding.allow = policy->asks_always ? (struct rules){0} : policy->allow;
    deciding.granted = granted;
    deciding.shell = shell;
    deciding.query = query;
    deciding.decision = ret_decision;
    deciding.folder = SMA_STR("");
    deciding.has_many_folders = false;
    deciding.asked_write = SMA_STR("");
    decide(&deciding);
}

void sma_policy_decide(const struct sma_policy *policy, struct sma_shell *shell,
                       const struct sma_policy_query *query,
                       struct sma_policy_decision *ret_decision)
{
    decide_with(policy, shell, query, (struct rules){0}, ret_decision);
}

void sma_policy_decide_granted(const struct sma_policy *policy, struct sma_shell *shell,
                               const struct sma_policy_query *query, const struct sma_str *grants,
                               size_t grant_count, struct sma_policy_decision *ret_decision)
{
    struct rules granted = {0};
    granted.items = grant_count == 0 ? NULL : calloc(grant_count, sizeof *granted.items);
    for (size_t i = 0; granted.items != NULL && i < grant_count; i++) {
        struct rule *rule = &granted.items[granted.count++];
        char *text = strndup(grants[i].ptr == NULL ? "" : grants[i].ptr, grants[i].len);
        struct sma_error error;
        enum sma_err err =
            text == NULL ? SMA_ERR_NOMEM : sma_rule_parse(shell, text, "grant", true, rule, &error);
        free(text);
        if (err == SMA_ERR_OK)
            continue; /* what is no rule, or finds no memory, grants nothing: it is asked again */
        sma_rule_fini(rule);
        granted.count--;
    }
    decide_with(policy, shell, query, granted, ret_decision);
    sma_rules_free(&granted);
}
