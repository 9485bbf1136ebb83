/* rules.c — see rules.h. */
#include "runtime/skills/rules.h"

#include "sma/text.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#define WORD_COUNT_MAX 16
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./="

bool sma_skill_has_rules(const struct sma_config *config, const struct sma_skill *skill)
{
    const char *at = config->skill_rules == NULL ? "" : config->skill_rules;
    if (skill->state != SMA_SKILL_ACCEPTED || skill->front.allowed_tools == NULL)
        return false;
    for (size_t len; *at != '\0'; at += len + (at[len] == '\n')) {
        len = strcspn(at, "\n");
        if (sma_str_is_equal((struct sma_str){at, len}, sma_str(skill->id)))
            return true;
    }
    return false;
}

/* A file that lies in the skill by this name; no link, no way out. */
static bool is_own_file(const struct sma_config *config, const struct sma_skill *skill,
                        struct sma_str word)
{
    char path[PATH_MAX];
    struct stat facts;
    bool is_inside = skill->place[0] != '/';
    if (word.len == 0 || word.ptr[0] == '/' || word.ptr[0] == '-' ||
        memmem(word.ptr, word.len, "..", 2) != NULL)
        return false;
    int len = snprintf(path, sizeof path, "%s%s%s/%.*s", is_inside ? config->project_dir : "",
                       is_inside ? "/" : "", skill->place, (int)word.len, word.ptr);
    return len > 0 && (size_t)len < sizeof path && lstat(path, &facts) == 0 &&
           S_ISREG(facts.st_mode);
}

static bool is_plain(const char *text, size_t len)
{
    return len > 0 && strspn(text, PLAIN) >= len;
}

/* @return how many; 0: it has a word that is not plain, or too many */
static size_t split(struct sma_str command, struct sma_str words[WORD_COUNT_MAX])
{
    size_t count = 0;
    for (size_t at = 0; at < command.len;) {
        size_t begin = at;
        while (at < command.len && command.ptr[at] != ' ')
            at++;
        struct sma_str word = {command.ptr + begin, at - begin};
        at++;
        if (word.len == 0)
            continue;
        if (count == WORD_COUNT_MAX || !is_plain(word.ptr, word.len))
            return 0;
        words[count++] = word;
    }
    return count;
}

/* The script is the first word, or the second behind the name of a program. */
static void put_rule(struct sma_buf *buf, const struct sma_config *config,
                     const struct sma_skill *skill, struct sma_str command)
{
    struct sma_str words[WORD_COUNT_MAX];
    size_t count = split(command, words), script = 0;
    if (count == 0 || !is_plain(skill->place, strlen(skill->place)))
        return;
    if (!is_own_file(config, skill, words[0])) {
        bool is_program = memchr(words[0].ptr, '/', words[0].len) == NULL;
        if (!is_program || count < 2 || !is_own_file(config, skill, words[1]))
            return;
        script = 1;
    }
    for (size_t i = 0; i < count; i++) {
        sma_buf_put_text(buf, i > 0 ? " " : "");
        if (i == script)
            sma_buf_printf(buf, "%s/", skill->place);
        sma_buf_put_str(buf, words[i]);
    }
    sma_buf_put_char(buf, '\n');
}

/* "Bash(scripts/x.py:*)": scripts/x.py and what stands behind it. */
static bool read_entry(struct sma_str entry, struct sma_str *ret_command)
{
    static const char *const names[] = {"Bash(", "exec_shell("};
    entry = sma_str_trim(entry);
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        size_t len = strlen(names[i]);
        if (entry.len <= len || !sma_str_starts_with(entry, sma_str(names[i])) ||
            entry.ptr[entry.len - 1] != ')')
            continue;
        *ret_command = (struct sma_str){entry.ptr + len, entry.len - len - 1};
        bool has_more = ret_command->len > 2 &&
                        (memcmp(ret_command->ptr + ret_command->len - 2, ":*", 2) == 0 ||
                         memcmp(ret_command->ptr + ret_command->len - 2, " *", 2) == 0);
        ret_command->len -= has_more ? 2 : 0;
        return true;
    }
    return false;
}

/* Entries stand behind commas or blanks, as both are written; what stands in brackets is one. */
static void put_entries(struct sma_buf *buf, const struct sma_config *config,
                        const struct sma_skill *skill, struct sma_str text)
{
    int depth = 0;
    for (size_t i = 0, begin = 0; i <= text.len; i++) {
        char byte = i == text.len ? ',' : text.ptr[i];
        depth += byte == '(' ? 1 : byte == ')' ? -1 : 0;
        bool separates = byte == ',' || byte == ' ' || byte == '\t' || byte == '\n';
        if (i < text.len && (!separates || depth > 0))
            continue;
        struct sma_str command;
        if (read_entry((struct sma_str){text.ptr + begin, i - begin}, &command))
            put_rule(buf, config, skill, command);
        begin = i + 1;
    }
}

void sma_skill_put_rules(struct sma_buf *buf, const struct sma_config *config,
                         const struct sma_skill *skill)
{
    const json_t *item;
    size_t index;
    if (!sma_skill_has_rules(config, skill))
        return;
    json_t *tools = json_loads(skill->front.allowed_tools, JSON_DECODE_ANY, NULL);
    if (json_is_string(tools))
        put_entries(buf, config, skill, sma_str(json_string_value(tools)));
    json_array_foreach(tools, index, item) if (json_is_string(item))
        put_entries(buf, config, skill, sma_str(json_string_value(item)));
    json_decref(tools);
}
