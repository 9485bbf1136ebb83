/*
 * completion.c — `shipmyagent completion bash|zsh|fish`: what a shell needs to complete commands,
 * options and their values, from the table of commands. packaging/ holds them for installation.
 */
#include "adapters.h"
#include "cli.h"
#include "commands.h"
#include "runtime/model/profile.h"

#include <stdio.h>

#define TEXT_BYTES_MAX (256 * 1024)

/* The word by which a script names a kind of value. */
static const char *const KINDS[] = {
    [SMA_VALUE_NONE] = "none",       [SMA_VALUE_TEXT] = "text",         [SMA_VALUE_FILE] = "file",
    [SMA_VALUE_FOLDER] = "folder",   [SMA_VALUE_WORDS] = "words",       [SMA_VALUE_BOOL] = "words",
    [SMA_VALUE_PROVIDER] = "words",  [SMA_VALUE_ADAPTER] = "words",     [SMA_VALUE_MODEL] = "words",
    [SMA_VALUE_COMMAND] = "words",   [SMA_VALUE_APPROVAL] = "approval", [SMA_VALUE_GRANT] = "grant",
    [SMA_VALUE_PAIRING] = "pairing", [SMA_VALUE_RUN] = "run",           [SMA_VALUE_CHAT] = "chat",
};

static void put_word(struct sma_buf *buf, const char *word)
{
    bool is_first = buf->len == 0 || strchr(" \"'(", buf->ptr[buf->len - 1]) != NULL;
    sma_buf_printf(buf, "%s%s", is_first ? "" : " ", word);
}

static void put_commands(struct sma_buf *buf)
{
    for (size_t i = 0; sma_cli_commands[i] != NULL; i++)
        if (sma_cli_commands[i]->summary != NULL)
            put_word(buf, sma_cli_commands[i]->name);
}

void sma_cli_command_put_words(struct sma_buf *buf, enum sma_value value, const char *words)
{
    size_t count = 0;
    for (const char *at = words; at != NULL && *at != '\0'; at++)
        sma_buf_put_char(buf, (char)(*at == '|' ? ' ' : *at));
    if (value == SMA_VALUE_COMMAND)
        put_commands(buf);
    const struct sma_provider *providers = sma_provider_all(&count);
    for (size_t i = 0; value == SMA_VALUE_PROVIDER && i < count; i++)
        put_word(buf, providers[i].name);
    for (size_t i = 0; value == SMA_VALUE_MODEL && i < count; i++)
        for (size_t k = 0; providers[i].menu[k] != NULL; k++)
            put_word(buf, providers[i].menu[k]);
    if (value != SMA_VALUE_ADAPTER)
        return;
    put_word(buf, "none");
    for (size_t i = 0; sma_adapter_table[i].ops != NULL; i++)
        if (sma_adapter_table[i].ops->setup.members != NULL)
            put_word(buf, sma_adapter_table[i].ops->name);
}

/* -- bash -------------------------------------------------------------------------------------- */
static const char BASH_HEAD[] =
    "# bash completion for shipmyagent and sma. Made by `shipmyagent completion bash`.\n"
    "_shipmyagent() {\n"
    "    local all=() places=() i word before=\"\" command=start at=1\n"
    "    local kind=text list=\"\" options=\"\" valued=\"\" verbs=\"\" first=none second=none\n"
    "    # bash cuts words at : and =, which ids and --option=value have\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        if ((i > 1)) && [[ ${COMP_WORDS[i]} == [:=]* || ${all[-1]} == *[:=] ]]; then\n"
    "            all[-1]+=${COMP_WORDS[i]}\n"
    "        else\n"
    "            all+=(\"${COMP_WORDS[i]}\")\n"
    "        fi\n"
    "    done\n"
    "    word=${all[-1]}\n";

static const char BASH_MIDDLE[] =
    "    for ((i = at; i < ${#all[@]} - 1; i++)); do\n"
    "        if [[ ${all[i]} == -- ]]; then\n"
    "            mapfile -t COMPREPLY < <(compgen -c -f -- \"$word\")\n"
    "            return\n"
    "        elif [[ \" $valued \" == *\" ${all[i]} \"* ]]; then\n"
    "            before=\"\"\n"
    "            ((++i == ${#all[@]} - 1)) && before=${all[i - 1]}\n"
    "        elif [[ ${all[i]} != -* ]]; then\n"
    "            places+=(\"${all[i]}\")\n"
    "        fi\n"
    "    done\n"
    "    if [[ $word == --*=* ]]; then\n"
    "        before=${word%%=*}\n"
    "        word=${word#*=}\n"
    "    fi\n"
    "    if [[ -n $before ]]; then\n"
    "        case \"$command $before\" in\n";

static const char BASH_TAIL[] =
    "        esac\n"
    "    elif [[ $word == -* ]]; then\n"
    "        kind=words list=$options\n"
    "    elif ((${#places[@]} == 0)); then\n"
    "        kind=$first list=\"$verbs $commands\"\n"
    "    elif ((${#places[@]} == 1)) && [[ \" $verbs \" == *\" ${places[0]} \"* ]]; then\n"
    "        kind=$second list=\"\"\n"
    "    else\n"
    "        kind=folder list=\"\"\n"
    "    fi\n"
    "    case $kind in\n"
    "    text) return ;;\n"
    "    file) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
    "    folder) mapfile -t COMPREPLY < <(compgen -W \"$list\" -- \"$word\"; compgen -d -- "
    "\"$word\") ;;\n"
    "    words | none) mapfile -t COMPREPLY < <(compgen -W \"$list\" -- \"$word\") ;;\n"
    "    *) mapfile -t COMPREPLY < <(compgen -W \"$list $(shipmyagent values \"$kind\" . "
    "2>/dev/null)\" -- \"$word\") ;;\n"
    "    esac\n"
    "    if [[ $word == *:* ]]; then # what stands before the : stays\n"
    "        COMPREPLY=(\"${COMPREPLY[@]#\"${word%:*}:\"}\")\n"
    "    fi\n"
    "    [[ $kind == file || $kind == folder ]] && compopt -o filenames 2>/dev/null\n"
    "    return 0\n"
    "}\n"
    "complete -F _shipmyagent shipmyagent sma\n";

static void put_option_names(struct sma_buf *buf, const struct sma_cli_command *command,
                             bool is_valued_only)
{
    for (size_t i = 0; command->options != NULL && command->options[i].name != NULL; i++) {
        const struct sma_cli_command_option *option = &command->options[i];
        bool is_valued = option->value != SMA_VALUE_NONE && option->value != SMA_VALUE_BOOL;
        if (option->text == NULL || (is_valued_only && !is_valued))
            continue;
        char word[80];
        snprintf(word, sizeof word, "--%s", option->name);
        put_word(buf, word);
        snprintf(word, sizeof word, "-%c", option->key);
        if (is_valued_only && option->is_short)
            put_word(buf, word);
    }
    if (!is_valued_only)
        put_word(buf, "--help");
}

static void put_bash_command(struct sma_buf *buf, const struct sma_cli_command *command)
{
    sma_buf_printf(buf, "    %s)\n        options=\"", command->name);
    put_option_names(buf, command, false);
    sma_buf_put_text(buf, "\" valued=\"");
    put_option_names(buf, command, true);
    sma_buf_put_text(buf, "\"\n        verbs=\"");
    sma_cli_command_put_words(buf, command->first, command->verbs);
    sma_buf_printf(buf, "\" first=%s second=%s ;;\n", KINDS[command->first],
                   KINDS[command->second]);
}

static void put_bash_values(struct sma_buf *buf, const struct sma_cli_command *command)
{
    for (size_t i = 0; command->options != NULL && command->options[i].name != NULL; i++) {
        const struct sma_cli_command_option *option = &command->options[i];
        if (option->text == NULL || option->value == SMA_VALUE_NONE)
            continue;
        sma_buf_printf(buf, "        \"%s --%s\"", command->name, option->name);
        if (option->is_short)
            sma_buf_printf(buf, " | \"%s -%c\"", command->name, option->key);
        sma_buf_printf(buf, ") kind=%s list=\"", KINDS[option->value]);
        sma_cli_command_put_words(buf, option->value, option->words);
        sma_buf_put_text(buf, "\" ;;\n");
    }
}

static void put_bash(struct sma_buf *buf)
{
    sma_buf_put_text(buf, BASH_HEAD);
    sma_buf_put_text(buf, "    local commands=\"");
    put_commands(buf);
    sma_buf_put_text(buf,
                     "\"\n    if ((${#all[@]} > 2)) && [[ \" $commands \" == *\" ${all[1]} \"* "
                     "]]; then\n        command=${all[1]} at=2\n    fi\n"
                     "    ((at == 2)) && commands=\"\"\n    case $command in\n");
    for (size_t i = 0; sma_cli_commands[i] != NULL; i++)
        if (sma_cli_commands[i]->summary != NULL)
            put_bash_command(buf, sma_cli_commands[i]);
    sma_buf_put_text(buf, "    esac\n");
    sma_buf_put_text(buf, BASH_MIDDLE);
    for (size_t i = 0; sma_cli_commands[i] != NULL; i++)
        if (sma_cli_commands[i]->summary != NULL)
            put_bash_values(buf, sma_cli_commands[i]);
    sma_buf_put_text(buf, BASH_TAIL);
}

/* -- zsh --------------------------------------------------------------------------------------- */
/* One line of `text` for use between single quotes and, in _arguments, between brackets. */
static void put_quoted(struct sma_buf *buf, const char *text)
{
    for (const char *at = text; *at != '\0' && *at != '\n'; at++) {
        if (strchr("[]:\\", *at) != NULL)
            sma_buf_put_char(buf, '\\');
        sma_buf_put_text(buf, *at == '\'' ? "'\\''" : (char[]){*at, '\0'});
    }
}

static void put_zsh_value(struct sma_buf *buf, enum sma_value value, const char *words)
{
    if (value == SMA_VALUE_FILE)
        sma_buf_put_text(buf, "_files");
    else if (value == SMA_VALUE_FOLDER)
        sma_buf_put_text(buf, "_files -/");
    else if (value >= SMA_VALUE_APPROVAL)
        sma_buf_printf(buf, " _shipmyagent_ask %s", KINDS[value]); /* blank: as it is */
    else if (value > SMA_VALUE_TEXT) {
        sma_buf_put_char(buf, '(');
        sma_cli_command_put_words(buf, value, words);
        sma_buf_put_char(buf, ')');
    } else {
        sma_buf_put_char(buf, ' ');
    }
}

static void put_zsh_option(struct sma_buf *buf, const struct sma_cli_command_option *option)
{
    if (option->is_short)
        sma_buf_printf(buf, " \\\n            '(-%c --%s)'{-%c%s,--%s%s}'[", option->key,
                       option->name, option->key, option->value == SMA_VALUE_NONE ? "" : "+",
                       option->name, option->value == SMA_VALUE_NONE ? "" : "=");
    else
        sma_buf_printf(buf, " \\\n            '--%s%s[", option->name,
                       option->value == SMA_VALUE_NONE   ? ""
                       : option->value == SMA_VALUE_BOOL ? "=-"
                                                         : "=");
    put_quoted(buf, option->text);
    sma_buf_put_char(buf, ']');
    if (option->value != SMA_VALUE_NONE) {
        sma_buf_printf(buf, "%s:%s:", option->value == SMA_VALUE_BOOL ? ":" : "",
                       KINDS[option->value]);
        put_zsh_value(buf, option->value, option->words);
    }
    sma_buf_put_char(buf, '\'');
}

static void put_zsh_command(struct sma_buf *buf, const struct sma_cli_command *command)
{
    sma_buf_printf(buf, "    %s)\n        _arguments '(- *)--help[say what it does]'",
                   command->name);
    for (size_t i = 0; command->options != NULL && command->options[i].name != NULL; i++)
        if (command->options[i].text != NULL)
            put_zsh_option(buf, &command->options[i]);
    if (command->verbs != NULL || command->first != SMA_VALUE_NONE) {
        sma_buf_printf(buf, " \\\n            '1:%s: _shipmyagent_first %s ",
                       command->verbs != NULL ? "what" : KINDS[command->first],
                       KINDS[command->first]);
        sma_cli_command_put_words(buf, command->first, command->verbs);
        sma_buf_put_char(buf, '\'');
    }
    if (command->second != SMA_VALUE_NONE) {
        sma_buf_printf(buf, " \\\n            '2:%s:", KINDS[command->second]);
        put_zsh_value(buf, command->second, NULL);
        sma_buf_put_char(buf, '\'');
    }
    if (command->first != SMA_VALUE_NONE && command->first != SMA_VALUE_COMMAND)
        sma_buf_put_text(buf, " \\\n            '*:folder:_files -/'");
    sma_buf_put_text(buf, " ;;\n");
}

static const char ZSH_HEAD[] =
    "#compdef shipmyagent sma\n"
    "# zsh completion for shipmyagent and sma. Made by `shipmyagent completion zsh`.\n"
    "_shipmyagent_ask() { # KIND: ids that the running service knows\n"
    "    local -a found\n"
    "    found=(${(f)\"$(shipmyagent values $1 . 2>/dev/null)\"})\n"
    "    (( $#found )) && compadd -a found\n"
    "}\n"
    "_shipmyagent_first() { # KIND WORD...: words, or what is of this kind\n"
    "    local kind=$1\n"
    "    shift\n"
    "    (( $# )) && compadd -- $@\n"
    "    case $kind in\n"
    "    folder) _files -/ ;;\n"
    "    file) _files ;;\n"
    "    none | words | text) ;;\n"
    "    *) _shipmyagent_ask $kind ;;\n"
    "    esac\n"
    "}\n"
    "_shipmyagent() {\n"
    "    local command=start\n"
    "    local -a commands\n"
    "    commands=(\n";

static const char ZSH_MIDDLE[] = "    )\n"
                                 "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
                                 "        _describe -t commands command commands\n"
                                 "        _files -/\n"
                                 "        return\n"
                                 "    fi\n"
                                 "    if (( ${commands[(I)$words[2]:*]} )); then\n"
                                 "        command=$words[2]\n"
                                 "        shift words\n"
                                 "        (( CURRENT-- ))\n"
                                 "    fi\n"
                                 "    case $command in\n";

static const char ZSH_TAIL[] = "    esac\n"
                               "}\n"
                               "if [[ $funcstack[1] == _shipmyagent ]]; then\n"
                               "    _shipmyagent \"$@\"\n"
                               "else\n"
                               "    compdef _shipmyagent shipmyagent sma\n"
                               "fi\n";

static void put_zsh(struct sma_buf *buf)
{
    sma_buf_put_text(buf, ZSH_HEAD);
    for (size_t i = 0; sma_cli_commands[i] != NULL; i++) {
        if (sma_cli_commands[i]->summary == NULL)
            continue;
        sma_buf_printf(buf, "        '%s:", sma_cli_commands[i]->name);
        put_quoted(buf, sma_cli_commands[i]->summary);
        sma_buf_put_text(buf, "'\n");
    }
    sma_buf_put_text(buf, ZSH_MIDDLE);
    for (size_t i = 0; sma_cli_commands[i] != NULL; i++)
        if (sma_cli_commands[i]->summary != NULL)
            put_zsh_command(buf, sma_cli_commands[i]);
    sma_buf_put_text(buf, ZSH_TAIL);
}

/* -- fish -------------------------------------------------------------------------------------- */
static void put_fish_text(struct sma_buf *buf, const char *text)
{
    sma_buf_put_text(buf, " -d '");
    for (const char *at = text; *at != '\0' && *at != '\n'; at++)
        sma_buf_put_text(buf, *at == '\'' ? "\\'" : *at == '\\' ? "\\\\" : (char[]){*at, '\0'});
    sma_buf_put_char(buf, '\'');
}

static void put_fish_value(struct sma_buf *buf, enum sma_value value, const char *words)
{
    if (value == SMA_VALUE_FILE) {
        sma_buf_put_text(buf, " -F");
        return;
    }
    if (value == SMA_VALUE_FOLDER && words == NULL) {
        sma_buf_put_text(buf, " -a '(__fish_complete_directories)'");
        return;
    }
    if (value == SMA_VALUE_TEXT)
        return;
    sma_buf_put_text(buf, " -a '");
    sma_cli_command_put_words(buf, value, words);
    if (value == SMA_VALUE_FOLDER)
        sma_buf_put_text(buf, " (__fish_complete_directories)");
    else if (value >= SMA_VALUE_APPROVAL)
        sma_buf_printf(buf, "%s(shipmyagent values %s . 2>/dev/null)", words == NULL ? "" : " ",
                       KINDS[value]);
    sma_buf_put_char(buf, '\'');
}

static void put_fish_option(struct sma_buf *buf, const char *when,
                            const struct sma_cli_command_option *option)
{
    sma_buf_printf(buf, "complete -c shipmyagent -n '%s' -l %s", when, option->name);
    if (option->is_short)
        sma_buf_printf(buf, " -s %c", option->key);
    if (option->value != SMA_VALUE_NONE && option->value != SMA_VALUE_BOOL)
        sma_buf_put_text(buf, option->value == SMA_VALUE_FILE ? " -r" : " -x");
    if (option->value != SMA_VALUE_NONE)
        put_fish_value(buf, option->value, option->words);
    put_fish_text(buf, option->text);
    sma_buf_put_char(buf, '\n');
}

static void put_fish_command(struct sma_buf *buf, const struct sma_cli_command *command)
{
    char when[400], verbs[200] = "";
    for (size_t i = 0; command->verbs != NULL && i <= strlen(command->verbs); i++)
        verbs[i] = (char)(command->verbs[i] == '|' ? ' ' : command->verbs[i]);
    sma_buf_printf(buf, "complete -c shipmyagent -n __fish_use_subcommand -a %s", command->name);
    put_fish_text(buf, command->summary);
    sma_buf_put_char(buf, '\n');
    snprintf(when, sizeof when, "__fish_seen_subcommand_from %s", command->name);
    for (size_t i = 0; command->options != NULL && command->options[i].name != NULL; i++) {
        if (command->options[i].text == NULL)
            continue;
        put_fish_option(buf, when, &command->options[i]);
        if (strcmp(command->name, "start") == 0)
            put_fish_option(buf, "__fish_use_subcommand", &command->options[i]);
    }
    if (command->verbs != NULL)
        snprintf(when, sizeof when,
                 "__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from %s",
                 command->name, verbs);
    if (command->verbs != NULL || command->first != SMA_VALUE_NONE) {
        sma_buf_printf(buf, "complete -c shipmyagent -n '%s'", when);
        put_fish_value(buf, command->first, command->verbs);
        sma_buf_put_char(buf, '\n');
    }
    if (command->second == SMA_VALUE_NONE)
        return;
    sma_buf_printf(buf,
                   "complete -c shipmyagent -n '__fish_seen_subcommand_from %s; and "
                   "__fish_seen_subcommand_from "
                   "%s'",
                   command->name, verbs);
    put_fish_value(buf, command->second, NULL);
    sma_buf_put_char(buf, '\n');
}

static void put_fish(struct sma_buf *buf)
{
    sma_buf_put_text(
        buf,
        "# fish completion for shipmyagent and sma. Made by `shipmyagent completion fish`.\n"
        "complete -c shipmyagent -f\n"
        "complete -c shipmyagent -l help -d 'Say what it does'\n"
        "complete -c shipmyagent -n __fish_use_subcommand -a '(__fish_complete_directories)'\n");
    for (size_t i = 0; sma_cli_commands[i] != NULL; i++)
        if (sma_cli_commands[i]->summary != NULL)
            put_fish_command(buf, sma_cli_commands[i]);
    sma_buf_put_text(buf, "complete -c sma -w shipmyagent\n");
}

/* -- command ----------------------------------------------------------------------------------- */
bool sma_cli_command_format(struct sma_buf *buf, const char *form)
{
    static const struct
    {
        const char *form;
        void (*put)(struct sma_buf *buf);
    } forms[] = {{"bash", put_bash},
                 {"zsh", put_zsh},
                 {"fish", put_fish},
                 {"man", sma_cli_command_format_man}};
    for (size_t i = 0; i < SMA_COUNT_OF(forms); i++)
        if (strcmp(form, forms[i].form) == 0) {
            forms[i].put(buf);
            return true;
        }
    return false;
}

static int completion(int argc, char **argv)
{
    if (argc != 2)
        return sma_cli_fail("completion: name the shell: bash, zsh or fish");
    struct sma_buf buf;
    sma_buf_init(&buf, TEXT_BYTES_MAX);
    bool is_known = sma_cli_command_format(&buf, argv[1]);
    bool is_written =
        is_known && buf.err == SMA_ERR_OK && fwrite(buf.ptr, 1, buf.len, stdout) == buf.len;
    sma_buf_fini(&buf);
    if (!is_known)
        return sma_cli_fail("completion: there is none for %s, only for bash, zsh and fish",
                            argv[1]);
    return is_written ? 0 : sma_cli_fail("completion: cannot write it");
}

const struct sma_cli_command sma_cli_command_completion = {
    .name = "completion",
    .run = completion,
    .place = "SHELL",
    .summary = "what bash, zsh or fish needs to complete commands and their values",
    .usage = "shipmyagent completion bash|zsh|fish\n",
    .text = "Prints the completion for this shell; a package installs it. Otherwise:\n"
            "  bash: shipmyagent completion bash > "
            "~/.local/share/bash-completion/completions/shipmyagent\n"
            "  zsh:  shipmyagent completion zsh > \"${fpath[1]}/_shipmyagent\"\n"
            "  fish: shipmyagent completion fish > ~/.config/fish/completions/shipmyagent.fish\n"
            "Ids of approvals, grants, pairings and runs come from the service of the current "
            "folder.\n",
    .verbs = "bash|zsh|fish",
};
