/* unwrap_note.c — what unwrapping finds, written down: notes, touched files, children, guesses.
 * See shell_priv.h. */
#include "options.h"
#include "sma/text.h"

void sma_unwrap_note(struct sma_shell *shell, uint32_t command, uint32_t origin, const char *why)
{
    if (shell->note_count == SMA_SHELL_NOTE_COUNT_MAX)
        sma_shell_doubt(shell, NULL, "too much in one command that cannot be seen");
    else
        shell->notes[shell->note_count++] =
            (struct sma_shell_note){.command = command, .origin = origin, .why = why};
}

void sma_unwrap_script(struct sma_shell *shell, uint32_t command, uint32_t origin)
{
    uint32_t before = shell->note_count;
    sma_unwrap_note(shell, command, origin, "it runs a script");
    if (shell->note_count > before)
        shell->notes[before].is_script = true;
}

void sma_unwrap_touch_at(struct sma_shell *shell, uint32_t command, uint32_t origin,
                         enum sma_shell_touch_kind kind, const struct sma_shell_word *target)
{
    if (shell->touch_count == SMA_SHELL_TOUCH_COUNT_MAX)
        sma_shell_doubt(shell, NULL, "too many files in one command");
    else
        shell->touches[shell->touch_count++] = (struct sma_shell_touch){
            .kind = kind, .command = command, .origin = origin, .target = *target};
}

struct sma_shell_command *sma_unwrap_child(struct sma_shell *shell, uint32_t command, uint32_t from,
                                           uint32_t to)
{
    const struct sma_shell_command *parent = &shell->commands[command];
    uint32_t count = to - from;
    if (shell->command_count == SMA_SHELL_COMMAND_COUNT_MAX ||
        parent->depth + 1 >= SMA_SHELL_DEPTH_MAX ||
        count > SMA_SHELL_WORD_COUNT_MAX - shell->word_count) {
        sma_shell_doubt(shell, NULL, "too many commands in one");
        return NULL;
    }
    struct sma_shell_command *child = &shell->commands[shell->command_count++];
    *child = (struct sma_shell_command){.first_word = shell->word_count,
                                        .word_count = count,
                                        .parent = (int32_t)command,
                                        .origin = from,
                                        .depth = (uint16_t)(parent->depth + 1),
                                        .has_more_words = parent->has_more_words};
    memcpy(&shell->words[shell->word_count], &shell->words[parent->first_word + from],
           count * sizeof shell->words[0]);
    shell->word_count += count;
    for (uint32_t i = 0; i < count; i++) /* what was said about them was said for the launcher */
        shell->words[child->first_word + i].flags &=
            ~(uint32_t)(SMA_WORD_OPERAND | SMA_WORD_VOUCHED);
    if (sma_shell_is_reserved(sma_shell_word_str(&shell->words[child->first_word])))
        sma_shell_doubt(shell, shell->words[child->first_word].raw,
                        "a word of the shell's grammar as a program");
    return child;
}

/* What an option that is not known may run, so that deny rules see it. */
void sma_unwrap_guess(struct sma_shell *shell, uint32_t command, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to && i < shell->commands[command].word_count; i++) {
        struct sma_str text = sma_unwrap_text_at(shell, command, i);
        const char *equals = memchr(text.ptr, '=', text.len);
        if (equals != NULL)
            text = (struct sma_str){equals + 1, text.len - (size_t)(equals + 1 - text.ptr)};
        else if (text.len > 2 && text.ptr[0] == '-' && text.ptr[1] != '-' &&
                 memchr(text.ptr, ' ', text.len) != NULL)
            text = (struct sma_str){text.ptr + 2, text.len - 2}; /* -S'rm -rf x' */
        if (text.len > 0 && sma_shell_word_is_constant(sma_unwrap_word_at(shell, command, i)))
            sma_shell_parse_child(shell, text, command, i);
    }
}

/* xargs -I R: the words that hold R are not known. */
void sma_unwrap_mark_replaced(struct sma_shell *shell, const struct sma_shell_command *child,
                              struct sma_str replaced)
{
    for (uint32_t i = 0; i < child->word_count; i++) {
        struct sma_shell_word *word = &shell->words[child->first_word + i];
        const char *found = memmem(word->text, word->len, replaced.ptr, replaced.len);
        if (found == NULL)
            continue;
        word->flags |= SMA_WORD_DYNAMIC;
        if (word->fixed_len > (uint32_t)(found - word->text))
            word->fixed_len = (uint32_t)(found - word->text);
    }
}
