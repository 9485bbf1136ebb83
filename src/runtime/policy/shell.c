/*
 * shell.c — life of a parse: the arena, doubt, the check of the bytes before anything is read.
 */
#include "shell_priv.h"

#include "sma/text.h"

#include <stdlib.h>

struct sma_shell *sma_shell_create(void)
{
    struct sma_shell *shell = malloc(sizeof *shell);
    if (shell != NULL)
        sma_shell_parse(shell, SMA_STR(""));
    return shell;
}

void sma_shell_destroy(struct sma_shell *shell)
{
    free(shell);
}

void sma_shell_doubt(struct sma_shell *shell, const char *at, const char *why)
{
    if (shell->is_uncertain)
        return;
    shell->is_uncertain = true;
    shell->why = why;
    /* text made from text (backticks, sh -c) has no place in the source; the first byte stands for
     * it */
    const char *source = shell->arena;
    shell->at = at >= source && at <= source + shell->source_len ? (size_t)(at - source) : 0;
}

char *sma_shell_reserve(struct sma_shell *shell, size_t len)
{
    if (len > sizeof shell->arena - shell->arena_len) {
        sma_shell_doubt(shell, NULL, "the command is too long to be understood");
        return NULL;
    }
    char *bytes = shell->arena + shell->arena_len;
    shell->arena_len += len;
    return bytes;
}

struct sma_shell_command *sma_shell_add_command(struct parser *parser)
{
    struct sma_shell *shell = parser->shell;
    if (shell->command_count == SMA_SHELL_COMMAND_COUNT_MAX) {
        sma_shell_doubt(shell, parser->pos, "too many commands in one");
        return NULL;
    }
    struct sma_shell_command *command = &shell->commands[shell->command_count++];
    *command = (struct sma_shell_command){.first_word = shell->word_count,
                                          .parent = parser->parent,
                                          .origin = parser->origin,
                                          .depth = (uint16_t)parser->depth,
                                          .is_from_text = parser->is_from_text};
    return command;
}

/* Characters that make a text look like another one: they are said, wherever they stand. */
static bool is_deceptive(uint32_t point)
{
    return (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
           point == 0x2028 || point == 0x2029 || (point >= 0x80 && point <= 0x9f);
}

static void check_bytes(struct sma_shell *shell, struct sma_str text)
{
    bool is_ascii = true;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if ((byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7f)
            sma_shell_doubt(shell, text.ptr + i, "a control character");
        is_ascii = is_ascii && byte < 0x80;
    }
    if (is_ascii)
        return;
    if (!sma_utf8_is_valid(text))
        sma_shell_doubt(shell, text.ptr, "the text is not UTF-8");
    for (size_t i = 0; i + 1 < text.len; i++) {
        const unsigned char *at = (const unsigned char *)text.ptr + i;
        uint32_t point = (at[0] & 0xe0) == 0xc0 ? (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu)
                         : (at[0] & 0xf0) == 0xe0
                             ? (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu)
                             : 0;
        if (is_deceptive(point))
            sma_shell_doubt(shell, text.ptr + i, "a character that hides what is written");
    }
}

void sma_shell_parse(struct sma_shell *shell, struct sma_str text)
{
    shell->is_uncertain = false;
    shell->why = NULL;
    shell->at = 0;
    shell->command_count = shell->word_count = shell->redirect_count = 0;
    shell->assign_count = shell->note_count = shell->pending_count = shell->touch_count = 0;
    shell->arena_len = shell->source_len = 0;
    if (text.len > SMA_SHELL_TEXT_BYTES_MAX) {
        sma_shell_doubt(shell, NULL, "the command is too long to be understood");
        text.len = SMA_SHELL_TEXT_BYTES_MAX;
    }
    char *copy = sma_shell_reserve(shell, text.len + 1);
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    shell->source_len = text.len;
    check_bytes(shell, (struct sma_str){copy, text.len});
    struct parser parser = {
        .shell = shell, .pos = copy, .end = copy + text.len, .parent = SMA_SHELL_NO_PARENT};
    sma_shell_parse_all(&parser);
}

void sma_shell_parse_child(struct sma_shell *shell, struct sma_str text, uint32_t parent,
                           uint32_t origin)
{
    struct parser parser = {.shell = shell,
                            .pos = text.ptr,
                            .end = text.ptr + text.len,
                            .depth = shell->commands[parent].depth + 1u,
                            .parent = (int32_t)parent,
                            .origin = origin,
                            .is_from_text = true};
    sma_shell_parse_all(&parser);
}
