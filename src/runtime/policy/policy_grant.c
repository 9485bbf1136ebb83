/*
 * policy_grant.c — rules that people give for a while: which may be recorded, and the one that says
 * a command exactly.
 */
#include "read_rules.h"
#include "shell_priv.h"

#include "sma/buf.h"
#include "sma/text.h"

#include <stdlib.h>

enum sma_err sma_policy_check_grant(struct sma_str rule, struct sma_error *error)
{
    if (rule.len > SMA_POLICY_RULE_BYTES_MAX ||
        (rule.len > 0 && memchr(rule.ptr, '\0', rule.len) != NULL))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "a rule has at most %d bytes and no control characters",
                        SMA_POLICY_RULE_BYTES_MAX);
    struct sma_shell *shell = sma_shell_create();
    char *text = strndup(rule.len == 0 ? "" : rule.ptr, rule.len);
    struct rule parsed = {0};
    enum sma_err err = shell == NULL || text == NULL
                           ? sma_fail(error, SMA_ERR_NOMEM, "out of memory")
                           : sma_rule_parse(shell, text, "grant", true, &parsed, error);
    sma_rule_fini(&parsed);
    free(text);
    sma_shell_destroy(shell);
    return err;
}

static bool is_plain_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || (byte != '\0' && strchr("_-./:,+@%=", byte) != NULL);
}

/* A word so that it is read as the same word again. */
static bool put_word(struct sma_buf *buf, struct sma_str word)
{
    bool is_plain = word.len > 0;
    for (size_t i = 0; i < word.len; i++) {
        unsigned char byte = (unsigned char)word.ptr[i];
        if (byte < 0x20 || byte == 0x7f || byte == '\'')
            return false;
        is_plain &= is_plain_byte(word.ptr[i]);
    }
    if (!is_plain)
        sma_buf_put_char(buf, '\'');
    sma_buf_put_str(buf, word);
    if (!is_plain)
        sma_buf_put_char(buf, '\'');
    return true;
}

static bool put_words(const struct sma_shell *shell, struct sma_buf *buf)
{
    const struct sma_shell_command *command = &shell->commands[0];
    const struct sma_shell_word *words = sma_shell_words(shell, command);
    sma_buf_put_char(buf, '=');
    for (uint32_t i = 0; i < command->word_count; i++) {
        if (!sma_shell_word_is_constant(&words[i]) || (words[i].flags & SMA_WORD_FOREIGN) != 0)
            return false;
        if (i > 0)
            sma_buf_put_char(buf, ' ');
        if (!put_word(buf, sma_shell_word_str(&words[i])))
            return false;
    }
    return buf->err == SMA_ERR_OK;
}

enum sma_err sma_policy_put_grant(const struct sma_shell *shell, struct sma_buf *buf)
{
    uint32_t own_count = 0; /* what launchers start is fixed by the words of the launcher */
    for (uint32_t i = 0; i < shell->command_count; i++)
        own_count += shell->commands[i].parent < 0;
    if (shell->is_uncertain || own_count != 1 || shell->commands[0].parent >= 0 ||
        shell->commands[0].word_count == 0 || shell->commands[0].has_more_words ||
        shell->redirect_count > 0 || shell->assign_count > 0)
        return SMA_ERR_NOTFOUND;
    struct sma_buf rule;
    sma_buf_init(&rule, SMA_POLICY_RULE_BYTES_MAX);
    struct sma_error error;
    bool is_good =
        put_words(shell, &rule) && sma_policy_check_grant(sma_buf_str(&rule), &error) == SMA_ERR_OK;
    if (is_good)
        sma_buf_put_str(buf, sma_buf_str(&rule));
    sma_buf_fini(&rule);
    if (!is_good)
        return SMA_ERR_NOTFOUND;
    return buf->err;
}

const char *sma_policy_find_read_rule(struct sma_str command,
                                      bool (*use)(void *user, struct sma_str rule), void *user)
{
#define RULE_ROW(rule) rule,
    static const char *const rules[] = {SMA_POLICY_READ_RULES(RULE_ROW, RULE_ROW)};
#undef RULE_ROW
    for (size_t i = 0; i < SMA_COUNT_OF(rules); i++) {
        size_t program = strcspn(rules[i], " ");
        bool is_exact = rules[i][0] == '='; /* "always" says these already */
        if (!is_exact && memmem(command.ptr, command.len, rules[i], program) != NULL &&
            use(user, sma_str(rules[i])))
            return rules[i];
    }
    return NULL;
}
