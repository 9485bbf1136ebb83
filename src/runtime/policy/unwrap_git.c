/*
 * unwrap_git.c — git: options that set a pager, an editor, an alias or a transport run whatever
 * they name.
 *
 * The options of the subcommands are in options_git.c.  Source: git(1), gitremote-helpers(7).
 */
#include "options.h"

#include "sma/text.h"

static bool is_constant_at(const struct sma_shell *shell, uint32_t command, uint32_t index)
{
    return sma_shell_word_is_constant(&shell->words[shell->commands[command].first_word + index]);
}

static bool is_tame_setting(struct sma_str setting)
{
    static const char *const names[] = {"user.name=", "user.email=", "color.", "advice.",
                                        "core.quotepath="};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        if (sma_str_starts_with(setting, sma_str(names[i])))
            return true;
    return false;
}

/* -c core.pager=..., -C folder with a configuration of its own. What it names is shown to the deny
 * rules. */
static void note_setting(struct sma_shell *shell, uint32_t command, uint32_t index)
{
    struct sma_str setting = sma_unwrap_text_at(shell, command, index);
    const char *equals = memchr(setting.ptr, '=', setting.len);
    sma_unwrap_note(shell, command, index, "an option of git that can run anything");
    if (equals == NULL)
        return;
    struct sma_str value = {equals + 1, setting.len - (size_t)(equals + 1 - setting.ptr)};
    sma_shell_parse_child(shell, value, command, index);
}

/* Options before the subcommand; the index of the subcommand, or 0 with a note. */
static uint32_t take_options(struct sma_shell *shell, uint32_t command)
{
    uint32_t count = shell->commands[command].word_count;
    for (uint32_t i = 1; i < count; i++) {
        struct sma_str text = sma_unwrap_text_at(shell, command, i);
        if (!is_constant_at(shell, command, i)) {
            sma_unwrap_note(shell, command, i, "what git does is not constant");
            return 0;
        }
        if (text.len == 0 || text.ptr[0] != '-')
            return i;
        if (sma_list_has("--no-pager -P --no-optional-locks --literal-pathspecs --version --help",
                         text))
            continue;
        bool has_value = i + 1 < count && is_constant_at(shell, command, i + 1);
        if (!has_value || !sma_list_has("-c -C", text)) {
            sma_unwrap_note(shell, command, count, "an option of git that can run anything");
            return 0;
        }
        i++;
        if (text.ptr[1] == 'C' || !is_tame_setting(sma_unwrap_text_at(shell, command, i)))
            note_setting(shell, command, i);
    }
    return 0;
}

static void check_config(struct sma_shell *shell, uint32_t command, uint32_t at)
{
    uint32_t count = shell->commands[command].word_count;
    for (uint32_t i = at + 1; i < count; i++)
        if (sma_list_has("--get --get-all --get-regexp --list -l",
                         sma_unwrap_text_at(shell, command, i)) &&
            i == at + 1)
            return;
    sma_unwrap_note(shell, command, count, "git config can set what other git commands run");
}

void sma_unwrap_git(struct sma_shell *shell, uint32_t command)
{
    uint32_t count = shell->commands[command].word_count, at = take_options(shell, command);
    if (at == 0)
        return;
    struct sma_str name = sma_unwrap_text_at(shell, command, at);
    if (sma_str_is_equal(name, SMA_STR("config"))) {
        check_config(shell, command, at);
        return;
    }
    const struct description *description = sma_options_of_git(name);
    if (description == NULL) {
        sma_unwrap_note(shell, command, at, "a subcommand of git that is not known to be tame");
        return;
    }
    for (uint32_t i = at + 1; i < count; i++) {
        struct sma_str text = sma_unwrap_text_at(shell, command, i);
        if (memmem(text.ptr, text.len, "::", 2) != NULL &&
            sma_list_has("clone fetch pull push remote ls-remote submodule", name))
            sma_unwrap_note(shell, command, i, "an address of git that runs a command");
    }
    sma_options_read(shell, command, at + 1, description);
}
