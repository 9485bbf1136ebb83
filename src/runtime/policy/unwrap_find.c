/*
 * unwrap_find.c — find: the commands it starts, and the expressions that are known to only look.
 *
 * Source: find(1) GNU findutils 4.9.0.
 */
#include "options.h"

static const char ALONE[] =
    "-a -and -o -or -not ! ( ) , -daystart -depth -d -follow -help --help -ignore_readdir_race "
    "-noignore_readdir_race -mount -xdev -noleaf -nowarn -warn -version --version -empty "
    "-executable -false -nogroup -nouser -readable -true -writable -ls -print -print0 -prune "
    "-quit -H -L -P -O0 -O1 -O2 -O3";
static const char VALUED[] =
    "-amin -anewer -atime -cmin -cnewer -context -ctime -fstype -gid -group -ilname -iname -inum "
    "-ipath -iregex -iwholename -links -lname -maxdepth -mindepth -mmin -mtime -name -newer -path "
    "-perm -regex -regextype -samefile -size -type -uid -used -user -wholename -xtype -printf -D "
    "-newermt -newerat -newerct -newermm -newerma -newermc -neweraa -neweram -newerac -newerca "
    "-newercm -newercc -newerBt -newermB";

/* {} becomes a path below a starting point, which does not begin with a dash when the starting
 * points do not. */
static void mark_found(struct sma_shell *shell, const struct sma_shell_command *child)
{
    for (uint32_t i = 0; i < child->word_count; i++) {
        struct sma_shell_word *word = &shell->words[child->first_word + i];
        if (i > 0 && word->len == 2 && memcmp(word->text, "{}", 2) == 0) {
            word->text = "./{}";
            word->len = 4;
            word->fixed_len = 2;
            word->flags |= SMA_WORD_DYNAMIC;
        }
    }
    sma_unwrap_mark_replaced(shell, child, SMA_STR("{}"));
}

/* May the word become {}, ; or +, which end or fill the command? find sees what the shell makes of
 * it: with x='}' the word "{$x" is {}. */
static bool may_steer(const struct sma_shell_word *word)
{
    return !sma_shell_word_is_constant(word) &&
           (word->fixed_len == 0 || memchr("{;+", word->text[0], 3) != NULL);
}

/* Where the command behind -exec ends: at a ; or at a + right behind {}. */
static uint32_t end_of_command(const struct sma_shell *shell, uint32_t command, uint32_t from)
{
    uint32_t count = shell->commands[command].word_count, end = from;
    for (; end < count; end++) {
        struct sma_str text = sma_unwrap_text_at(shell, command, end);
        bool is_behind_braces =
            end > from &&
            sma_str_is_equal(sma_unwrap_text_at(shell, command, end - 1), SMA_STR("{}"));
        if (sma_str_is_equal(text, SMA_STR(";")) ||
            (is_behind_braces && sma_str_is_equal(text, SMA_STR("+"))))
            break;
    }
    return end;
}

/* In the folder of what was found, Makefiles and scripts are other ones than those a rule means. */
static bool only_reads(const struct sma_shell *shell, uint32_t command, uint32_t program)
{
    struct sma_str base = sma_program_base(sma_unwrap_text_at(shell, command, program));
    const struct description *description = sma_options_of(base);
    return sma_shell_word_is_constant(sma_unwrap_word_at(shell, command, program)) &&
           sma_program_kind(base) == PROGRAM_PLAIN &&
           memchr(sma_unwrap_text_at(shell, command, program).ptr, '/',
                  sma_unwrap_text_at(shell, command, program).len) == NULL &&
           (description == NULL || !sma_options_can_harm(description));
}

/* @return the index of the last word taken. */
static uint32_t unwrap_exec(struct sma_shell *shell, uint32_t command, uint32_t at)
{
    uint32_t end = end_of_command(shell, command, at + 1);
    if (end == at + 1) {
        sma_unwrap_note(shell, command, shell->commands[command].word_count,
                        "find would run something that is not complete");
        return at;
    }
    for (uint32_t i = at + 1; i < end; i++)
        if (may_steer(sma_unwrap_word_at(shell, command, i)))
            sma_unwrap_note(shell, command, i, "where this command of find ends cannot be told");
    if (sma_list_has("-execdir -okdir", sma_unwrap_text_at(shell, command, at)) &&
        !only_reads(shell, command, at + 1))
        sma_unwrap_note(shell, command, end, "find would run it in other folders");
    struct sma_shell_command *child = sma_unwrap_child(shell, command, at + 1, end);
    if (child != NULL)
        mark_found(shell, child);
    return end;
}

void sma_unwrap_find(struct sma_shell *shell, uint32_t command)
{
    uint32_t count = shell->commands[command].word_count;
    for (uint32_t i = 1; i < count; i++) {
        const struct sma_shell_word *word = sma_unwrap_word_at(shell, command, i);
        struct sma_str text = sma_shell_word_str(word);
        if (sma_list_has("-delete -fprint -fprint0 -fprintf -fls", text))
            sma_unwrap_note(shell, command, i, "find would delete or write files");
        else if (sma_list_has("-exec -execdir -ok -okdir", text))
            i = unwrap_exec(shell, command, i);
        else if (sma_list_has(VALUED, text))
            i++; /* a value that may be several words is asked about as such */
        else if (text.len > 1 && text.ptr[0] == '-' && !sma_list_has(ALONE, text))
            sma_unwrap_note(shell, command, i, "an expression of find that is not known");
    }
}
