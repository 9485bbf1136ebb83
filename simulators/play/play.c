/*
 * play.c — see play.h; docs/notes/talks.md teaches the language.
 *
 * A script is lines; deeper indented lines belong to the line above. This file knows cases, `each`
 * and the blocks of platforms; what a line does is in play_lines.c and
 * play_talk.c.
 */
#include "play/play_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 4000

struct line
{
    unsigned number, indent;
    char *text;
};
static struct
{
    struct line lines[LINES_MAX];
    size_t line_count;
    unsigned case_count;
} script;
struct play_state play;

void play_fail(const char *format, ...)
{
    static char text[8192];
    static bool is_failing; /* showing may fail, too */
    if (!is_failing) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        is_failing = true;
        stage_show(&play.stage, json_object_get(play.kept, "chat"));
    }
    fprintf(stderr, "%s:%u: %s\n", play.options->script, play.number, text);
    exit(1);
}

/* -- the script ------------------------------------------------------------------------------ */
static void play_lines(size_t from, size_t to);

/* telegram|qq: — whether the line begins so. @return what follows; NULL: it does not */
static char *skip_platforms(char *text, bool *ret_is_meant)
{
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz|");
    if (text[len] != ':' || len == 0)
        return NULL;
    bool is_meant = false;
    for (size_t at = 0; at < len; at += strcspn(text + at, "|:") + 1) {
        static const char *const names[] = {"telegram", "feishu", "qq"};
        size_t word = strcspn(text + at, "|:"), i = 0;
        while (i < SMA_COUNT_OF(names) &&
               (strlen(names[i]) != word || strncmp(names[i], text + at, word) != 0))
            i++;
        if (i == SMA_COUNT_OF(names))
            return NULL;
        is_meant |= strcmp(names[i], play.program->name) == 0;
    }
    *ret_is_meant = is_meant;
    return text + len + 1 + strspn(text + len + 1, " ");
}

/* %name of each `each` around the line. */
static void play_text(const char *text)
{
    char *made = NULL, *meant = NULL;
    size_t size = 0;
    bool is_meant = true;
    FILE *out = open_memstream(&made, &size);
    for (const char *at = text; out != NULL && *at != '\0';) {
        size_t i = play.each_count;
        while (i > 0 && (*at != '%' || strncmp(at + 1, play.each[i - 1].name,
                                               strlen(play.each[i - 1].name)) != 0))
            i--;
        if (i > 0) {
            fputs(play.each[i - 1].value, out);
            at += 1 + strlen(play.each[i - 1].name);
        } else {
            fputc(*at++, out);
        }
    }
    if (out == NULL || fclose(out) != 0)
        play_fail("out of memory");
    meant = skip_platforms(made, &is_meant);
    if (is_meant)
        play_line(meant == NULL ? made : meant);
    while (play.scrap_count > 0)
        free(play.scraps[--play.scrap_count]);
    free(made);
    play.stage.bot = 0;
    play.is_now = false;
}

/* each NAME [NAME] in A B C | LINE | LINE, or with the lines below; A..B counts, and ; in an
 * item is a space. */
static void play_each(const char *text, size_t from, size_t to)
{
    char list[4096], one[4096], *at = list;
    long low, high;
    const char *bar = strstr(text, " | ");
    size_t depth = play.each_count;
    snprintf(list, sizeof list, "%.*s", bar == NULL ? (int)strlen(text) : (int)(bar - text), text);
    (void)play_next_word(&at);
    for (const char *name; strcmp(name = play_next_word(&at), "in") != 0; play.each_count++) {
        if (*at == '\0' || play.each_count == EACH_DEPTH_MAX)
            play_fail("each NAME in ITEMS, and lines below or behind bars");
        snprintf(play.each[play.each_count].name, sizeof play.each[0].name, "%s", name);
    }
    bool is_range = sscanf(at, "%ld..%ld", &low, &high) == 2;
    while (is_range ? low <= high : *at != '\0') {
        for (size_t i = depth; i < play.each_count; i++) {
            char *value = play.each[i].value;
            if (is_range)
                snprintf(value, sizeof play.each[i].value, "%ld", low++);
            else
                snprintf(value, sizeof play.each[i].value, "%s", play_next_word(&at));
            for (char *gap = value; (gap = strchr(gap, ';')) != NULL;)
                *gap = ' ';
        }
        if (bar == NULL)
            play_lines(from, to);
        for (const char *part = bar; part != NULL;) {
            const char *next = strstr(part + 3, " | ");
            snprintf(one, sizeof one, "%.*s",
                     next == NULL ? (int)strlen(part + 3) : (int)(next - part - 3), part + 3);
            play_text(one);
            part = next;
        }
    }
    play.each_count = depth;
}

static void play_lines(size_t from, size_t to)
{
    while (from < to) {
        const struct line *line = &script.lines[from++];
        size_t end = from;
        bool is_meant = false;
        play.number = line->number;
        while (end < to && script.lines[end].indent > line->indent)
            end++;
        char *after = skip_platforms(line->text, &is_meant);
        if (strncmp(line->text, "each ", 5) == 0)
            play_each(line->text, from, end);
        else if (after != NULL && is_meant && strncmp(after, "each ", 5) == 0)
            play_each(after, from, end);
        else if (after != NULL && *after == '\0' && is_meant)
            play_lines(from, end);
        else if (after == NULL || *after != '\0')
            play_text(line->text);
        from = end;
    }
}

static void read_script(const char *path)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    unsigned number = 0;
    if (file == NULL)
        play_fail("it cannot be read");
    for (ssize_t len; (len = getline(&line, &size, file)) > 0;) {
        number++;
        line[strcspn(line, "\r\n")] = '\0';
        const char *text = line + strspn(line, " \t");
        if (*text == '\0' || *text == '#')
            continue;
        play.number = number;
        if (script.line_count == LINES_MAX)
            play_fail("a script has at most %d lines", LINES_MAX);
        script.lines[script.line_count++] =
            (struct line){number, (unsigned)(text - line), strdup(text)};
    }
    free(line);
    fclose(file);
}

/* platforms A B: of the script's head. */
static void check_platforms(const char *text)
{
    char word[32];
    snprintf(word, sizeof word, " %s", play.program->name);
    const char *at = strstr(text, word);
    if (at == NULL || strchr(" ", at[strlen(word)]) == NULL)
        play_fail("this script is not written for %s", play.program->name);
}

static bool is_head(const struct line *line)
{
    return strncmp(line->text, "case ", 5) == 0 || strncmp(line->text, "also ", 5) == 0;
}

static bool is_wanted(size_t head)
{
    size_t from = head;
    while (from > 0 && strncmp(script.lines[from].text, "case ", 5) != 0)
        from--;
    for (size_t i = from; i < script.line_count; i++) {
        if (i > from && strncmp(script.lines[i].text, "case ", 5) == 0)
            return false;
        if (is_head(&script.lines[i]) && (play.options->only == NULL ||
                                          strstr(script.lines[i].text, play.options->only) != NULL))
            return true;
    }
    return false;
}

/* @return where the next case begins */
static size_t play_case(size_t head, size_t first_head, bool *is_world_meant)
{
    size_t end = head + 1;
    while (end < script.line_count && !is_head(&script.lines[end]))
        end++;
    play.number = script.lines[head].number;
    bool is_meant = true, is_new = script.lines[head].text[0] == 'c';
    char *text = script.lines[head].text + 5, *name = skip_platforms(text, &is_meant);
    if (is_new) {
        if (play.stage.is_open)
            stage_close(&play.stage);
        *is_world_meant = is_meant && is_wanted(head);
    }
    if (!is_meant || !*is_world_meant)
        return end;
    long long begun = play_real_ms();
    if (is_new)
        play_lines(script.lines[0].text[0] == 'p' ? 1 : 0,
                   first_head); /* what all cases begin with */
    play_lines(head + 1, end);
    fprintf(stderr, "ok %s (%lld ms)\n", name == NULL ? text : name, play_real_ms() - begun);
    script.case_count++;
    return end;
}

int play_script(const struct fake_program *program, const struct play_options *options)
{
    size_t first_head = 0;
    bool is_world_meant = false;
    play.program = program;
    play.options = options;
    play.kept = json_object();
    read_script(options->script);
    if (script.line_count > 0 && strncmp(script.lines[0].text, "platforms", 9) == 0)
        check_platforms(script.lines[0].text + 9);
    while (first_head < script.line_count && !is_head(&script.lines[first_head]))
        first_head++;
    for (size_t at = first_head; at < script.line_count;)
        at = play_case(at, first_head, &is_world_meant);
    if (play.stage.is_open)
        stage_close(&play.stage);
    for (size_t i = 0; i < script.line_count; i++)
        free(script.lines[i].text);
    json_decref(play.kept);
    json_decref(play.it);
    json_decref(play.counters);
    free(play.output);
    if (script.case_count == 0)
        fprintf(stderr, "%s: no case was played\n", options->script);
    fprintf(stderr, "%u cases passed\n", script.case_count);
    return script.case_count > 0 ? 0 : 1;
}
