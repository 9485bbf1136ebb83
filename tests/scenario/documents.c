/*
 * Aim: docs/troubleshooting.md quotes what the program really says, and explains every reason for
 *   which a message is not answered; README.zh.md shows the commands of README.md.
 * Method: each quoted message is looked for in the binary, whose strings are what it can say; the
 *   blocks of code of the two READMEs are compared one by one. documents BINARY
 */
#include "process.h"
#include "sma/reasons.h"
#include "support/check.h"

#include <stdlib.h>

static char *binary;

static char *read_file(const char *path, size_t *ret_len)
{
    FILE *file = fopen(path, "r");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    CHECK(size >= 0);
    char *bytes = malloc((size_t)size + 1);
    CHECK(bytes != NULL && fseek(file, 0, SEEK_SET) == 0);
    CHECK(fread(bytes, 1, (size_t)size, file) == (size_t)size && fclose(file) == 0);
    bytes[size] = '\0';
    *ret_len = (size_t)size;
    return bytes;
}

static char *read_source(const char *name)
{
    char path[512];
    size_t len;
    snprintf(path, sizeof path, "%s/%s", SMA_SOURCE_DIR, name);
    return read_file(path, &len);
}

/* -- quotes ------------------------------------------------------------------------------------ */
static bool is_said(const char *program, size_t len, const char *part, size_t part_len)
{
    return memmem(program, len, part, part_len) != NULL;
}

/* "no Agent.md here; run …": every part between the dots stands in the program. */
static bool is_quoted_right(const char *program, size_t len, const char *quote)
{
    static const char dots[] = "…";
    size_t longest = 0;
    for (const char *at = quote; *at != '\0';) {
        const char *end = strstr(at, dots);
        size_t part = end == NULL ? strlen(at) : (size_t)(end - at);
        longest = part > longest ? part : longest;
        if (part > 0 && !is_said(program, len, at, part))
            return false;
        at += part + (end == NULL ? 0 : strlen(dots));
    }
    return longest >= 8; /* less says nothing */
}

/* An optimizing compiler may build a text out of pieces: the debug build judges them all. */
#ifdef __OPTIMIZE__
#define TAKES_TEXTS_APART true
#else
#define TAKES_TEXTS_APART false
#endif

/* The first quote of a table's first column; false: this line is none of a table. */
static bool take_quote(const char *line, char *quote, size_t size)
{
    if (strncmp(line, "| `", 3) != 0)
        return false;
    const char *end = strchr(line + 3, '`');
    CHECK(end != NULL && (size_t)(end - line - 3) < size);
    snprintf(quote, size, "%.*s", (int)(end - line - 3), line + 3);
    return strcmp(quote, "error") != 0 && strcmp(quote, "warning") != 0;
}

CASE(what_is_quoted_is_what_the_program_says)
{
    size_t len;
    char *program = read_file(binary, &len), *text = read_source("docs/troubleshooting.md");
    char quote[300];
    int count = 0, wrong = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (!take_quote(line, quote, sizeof quote) || sma_reason_of_word(sma_str(quote)) != 0)
            continue;
        count++;
        if (!is_quoted_right(program, len, quote)) {
            fprintf(stderr, "docs/troubleshooting.md quotes what the program does not say: %s\n",
                    quote);
            wrong++;
        }
    }
    CHECK(wrong == 0 || TAKES_TEXTS_APART);
    CHECK(count > 40);
    /* the test itself: words that nobody says are found out */
    CHECK(!is_quoted_right(program, len, "the bot token is refused for being green"));
    CHECK(!is_quoted_right(program, len, "short"));
    free(program);
    free(text);
}

CASE(every_reason_is_explained)
{
    char *text = read_source("docs/troubleshooting.md");
    for (int i = SMA_REASON_NONE + 1; i < SMA_REASON_COUNT; i++) {
        char row[80];
        snprintf(row, sizeof row, "\n| `%s` | ", sma_reason_text((enum sma_reason)i)->word);
        if (strstr(text, row) == NULL)
            fprintf(stderr, "docs/troubleshooting.md does not explain %s\n", row + 3);
        CHECK(strstr(text, row) != NULL);
    }
    free(text);
}

/* -- README in two languages ------------------------------------------------------------------- */
/* The next block between ``` lines, ended by NUL; *at goes on behind it. NULL: no more. */
static char *next_block(char **at, int *line)
{
    char *begin = strstr(*at, "\n```");
    if (begin == NULL)
        return NULL;
    char *end = strstr(begin + 4, "\n```");
    CHECK(end != NULL);
    *end = '\0';
    for (const char *step = *at; step <= begin; step++)
        *line += *step == '\n';
    for (const char *step = begin + 1; *step != '\0'; step++)
        *line += *step == '\n';
    *line += 1;
    *at = end + 4;
    return begin + 1;
}

/* A command's words without its comment: comments are in the reader's language. */
static void put_commands(char *to, size_t size, const char *block)
{
    size_t len = 0;
    for (const char *at = block; *at != '\0' && len + 2 < size;) {
        size_t line = strcspn(at, "\n"), used = line;
        for (size_t i = 0; i + 2 < line; i++)
            if (at[i] == ' ' && at[i + 1] == '#' && at[i + 2] == ' ') {
                used = i;
                break;
            }
        while (used > 0 && at[used - 1] == ' ')
            used--;
        if (len + used + 2 >= size)
            used = size - len - 2;
        memcpy(to + len, at, used);
        len += used;
        to[len++] = '\n';
        at += line + (at[line] == '\n');
    }
    to[len] = '\0';
}

/* Blocks of JSON and of commands are the same but for comments; what people say in a block without
 * a `$` or a known command may be translated. */
static bool is_talk(const char *block)
{
    return strncmp(block, "```\n> ", 6) == 0;
}

CASE(the_chinese_readme_shows_the_same_commands)
{
    char *english = read_source("README.md"), *chinese = read_source("README.zh.md");
    char *at = english, *zh_at = chinese, left[8192], right[8192];
    int line = 1, zh_line = 1, count = 0;
    for (;; count++) {
        char *block = next_block(&at, &line), *zh_block = next_block(&zh_at, &zh_line);
        if (block == NULL && zh_block == NULL)
            break;
        if (block == NULL || zh_block == NULL) {
            fprintf(stderr, "%s has a block of code more, before line %d:\n%s\n",
                    block == NULL ? "README.zh.md" : "README.md", block == NULL ? zh_line : line,
                    block == NULL ? zh_block : block);
            CHECK(block != NULL && zh_block != NULL);
            break;
        }
        if (is_talk(block) && is_talk(zh_block))
            continue;
        put_commands(left, sizeof left, block);
        put_commands(right, sizeof right, zh_block);
        if (strcmp(left, right) != 0)
            fprintf(stderr,
                    "the block that ends before line %d of README.md and line %d of README.zh.md "
                    "differs:\n%s---\n%s\n",
                    line, zh_line, left, right);
        CHECK(strcmp(left, right) == 0);
    }
    CHECK(count > 3);
    free(english);
    free(chinese);
}

/* Every link of README to a file leads to the same file from README.zh.md. */
CASE(the_chinese_readme_links_the_same_documents)
{
    char *english = read_source("README.md"), *chinese = read_source("README.zh.md");
    for (char *at = english; (at = strstr(at, "](")) != NULL;) {
        char link[200];
        at += 2;
        snprintf(link, sizeof link, "](%.*s)", (int)strcspn(at, ")"), at);
        if (strcmp(link, "](README.zh.md)") == 0)
            continue;
        if (strstr(chinese, link) == NULL)
            fprintf(stderr, "README.zh.md has no link %s, which README.md has\n", link + 1);
        CHECK(strstr(chinese, link) != NULL);
    }
    free(english);
    free(chinese);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    binary = argv[1];
    check_run_cases(NULL);
    return check_summary();
}
