/*
 * The command policy on any text. Promises under test, besides not crashing: counts stay within
 * their limits, every text is in place and ends in NUL, doubt has a reason, and what is not
 * understood is never allowed.
 */
#include "fuzz.h"

#include "runtime/policy/policy.h"
#include "runtime/policy/shell.h"

#include <stdlib.h>

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_word(const struct sma_shell_word *word)
{
    require(word->text != NULL && word->text[word->len] == '\0' && word->fixed_len <= word->len);
    require(sma_shell_word_is_constant(word) || (word->flags & SMA_WORD_NOT_CONSTANT) != 0);
}

static void check_shell(const struct sma_shell *shell)
{
    require(shell->is_uncertain == (shell->why != NULL) && shell->at <= shell->source_len);
    require(shell->pending_count == 0 && shell->arena_len <= sizeof shell->arena);
    for (uint32_t i = 0; i < shell->command_count; i++) {
        const struct sma_shell_command *command = &shell->commands[i];
        require(command->first_word + command->word_count <= shell->word_count);
        require(command->parent < (int32_t)i && command->depth <= SMA_SHELL_DEPTH_MAX);
    }
    for (uint32_t i = 0; i < shell->word_count; i++)
        check_word(&shell->words[i]);
    for (uint32_t i = 0; i < shell->redirect_count; i++)
        check_word(&shell->redirects[i].target);
    for (uint32_t i = 0; i < shell->assign_count; i++)
        check_word(&shell->assigns[i].value);
    for (uint32_t i = 0; i < shell->note_count; i++)
        require(shell->notes[i].command < shell->command_count && shell->notes[i].why != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static struct sma_shell *shell;
    static struct sma_policy *closed, *open;
    if (shell == NULL) {
        shell = sma_shell_create();
        require(shell != NULL);
        require(sma_policy_load(
                    "{\"exec_shell\":{\"deny\":[\"rm\",\"git push\",\"ls "
                    "-la\"],\"allow\":[\"git\",\"ls\",\"cat\","
                    "\"echo\",\"find\",\"sed\",\"awk\",\"cp\",\"python3 x.py\",\"=docker ps\"]}}",
                    &closed, NULL) == SMA_ERR_OK);
        require(sma_policy_load("{\"exec_shell\":true}", &open, NULL) == SMA_ERR_OK);
    }
    struct sma_policy_query query = {.command = {(const char *)bytes, len},
                                     .project_dir = SMA_STR("/project")};
    struct sma_policy_decision decision;
    const struct sma_policy *policies[] = {closed, open};
    for (size_t i = 0; i < SMA_COUNT_OF(policies); i++) {
        sma_policy_decide(policies[i], shell, &query, &decision);
        check_shell(shell);
        require(decision.reason[0] != '\0');
        require(!shell->is_uncertain || decision.verdict != SMA_POLICY_ALLOW);
        for (uint32_t k = 0; decision.verdict == SMA_POLICY_ALLOW && k < shell->command_count; k++)
            require(shell->commands[k].word_count == 0 ||
                    sma_shell_word_is_constant(sma_shell_words(shell, &shell->commands[k])));
    }
    return 0;
}
