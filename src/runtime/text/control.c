/* control.c — recognise control commands at the head of a message. See include/sma/adapter.h. */
#include "sma/adapter.h"
#include "sma/text.h"

#define COMMAND_BYTES_MAX 32 /* of an unknown but well-formed command word */

struct command
{
    const char *word;
    enum sma_control control;
};

static const struct command commands[] = {
    {"stop", SMA_CONTROL_STOP},   {"clear", SMA_CONTROL_CLEAR}, {"status", SMA_CONTROL_STATUS},
    {"help", SMA_CONTROL_HELP},   {"start", SMA_CONTROL_HELP},  {"停止", SMA_CONTROL_STOP},
    {"清除", SMA_CONTROL_CLEAR},  {"状态", SMA_CONTROL_STATUS}, {"帮助", SMA_CONTROL_HELP},
    {"usage", SMA_CONTROL_USAGE}, {"用量", SMA_CONTROL_USAGE},
};

/* A letter, then letters, digits and underscores: "/etc/passwd" and "/2" are text, "/foo" is a
 * command. */
static bool is_well_formed(struct sma_str word)
{
    if (word.len == 0 || word.len > COMMAND_BYTES_MAX)
        return false;
    for (size_t i = 0; i < word.len; i++) {
        char byte = word.ptr[i];
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        bool is_later = i > 0 && ((byte >= '0' && byte <= '9') || byte == '_');
        if (!is_letter && !is_later)
            return false;
    }
    return true;
}

enum sma_control sma_control_parse(struct sma_str text)
{
    struct sma_str trimmed = sma_str_trim(text);
    if (trimmed.len < 2 || trimmed.ptr[0] != '/')
        return SMA_CONTROL_NONE;
    struct sma_str word = {trimmed.ptr + 1, 0};
    while (word.len + 1 < trimmed.len && memchr(" \t\r\n\v\f@", word.ptr[word.len], 7) == NULL)
        word.len++;
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++) {
        if (sma_str_is_equal_nocase(word, sma_str(commands[i].word)))
            return commands[i].control;
    }
    return is_well_formed(word) ? SMA_CONTROL_UNKNOWN : SMA_CONTROL_NONE;
}
