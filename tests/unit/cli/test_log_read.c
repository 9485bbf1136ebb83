/*
 * Aim: the log files are read as they were written: the wanted lines, whole ones only, in order,
 *      and as they come, over midnight's new file.
 * Method: files of three days in a private folder; a line is appended when the one before was read.
 */
#include "cli/cli.h"
#include "cli/log_read.h"
#include "sma/actor.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* main.c's: here it is silent. */
int sma_cli_fail(const char *format, ...)
{
    (void)format;
    return 1;
}

static char dir[] = "/tmp/sma-log-read-XXXXXX";

static void append(const char *day, const char *line)
{
    char path[128];
    snprintf(path, sizeof path, "%s/logs/%s.jsonl", dir, day);
    FILE *file = fopen(path, "a");
    CHECK(file != NULL);
    CHECK(fputs(line, file) >= 0);
    CHECK_INT(0, fclose(file));
}

#define LINE(day, time, level, message, details)                                 \
    append(day,                                                                  \
           "{\"id\":\"a\",\"timestamp\":\"" day "T" time "Z\",\"type\":\"" level \
           "\",\"message\":\"" message "\",\"details\":{" details "},\"level\":\"" level "\"}\n")

static void write_days(void)
{
    char logs[64];
    CHECK(mkdtemp(dir) != NULL);
    snprintf(logs, sizeof logs, "%s/logs", dir);
    CHECK_INT(0, mkdir(logs, 0700));
    LINE("2026-11-21", "10:00:00.000", "info", "one", "\"chatKey\":\"a:chat:1\",\"runId\":\"7\"");
    LINE("2026-11-22", "10:00:00.000", "warn", "two", "\"chatKey\":\"a:chat:2\"");
    LINE("2026-11-22", "11:00:00.000", "debug", "three", "\"messageId\":\"55\"");
    append("2026-11-22", "this is no JSON\n");
    LINE("2026-11-23", "10:00:00.000", "info", "four", "\"chatKey\":\"a:chat:12\"");
    append("2026-11-23", "{\"id\":\"a\",\"half\":"); /* still being written */
}

static char seen[512];

static bool note(void *user, json_t *root)
{
    (void)user;
    size_t len = strlen(seen);
    snprintf(seen + len, sizeof seen - len, "%s ", sma_cli_log_text(root, "message"));
    return true;
}

static void expect(const struct sma_cli_log_wanted *wanted, size_t count_max, const char *words)
{
    seen[0] = '\0';
    CHECK_INT(0, sma_cli_log_each(dir, wanted, count_max, note, NULL));
    CHECK_TEXT(words, seen);
}

CASE(what_is_wanted_is_read_in_order)
{
    int64_t since;
    expect(&(struct sma_cli_log_wanted){0}, SIZE_MAX, "one two three four ");
    expect(&(struct sma_cli_log_wanted){0}, 2, "three four ");
    expect(&(struct sma_cli_log_wanted){0}, 3, "two three four ");
    expect(&(struct sma_cli_log_wanted){.level = SMA_LOG_INFO}, 2, "two four ");
    expect(&(struct sma_cli_log_wanted){.level = SMA_LOG_WARN}, SIZE_MAX, "two ");
    expect(&(struct sma_cli_log_wanted){.chat = "a:chat:1"}, SIZE_MAX, "one ");
    expect(&(struct sma_cli_log_wanted){.chat = "a:chat:1*"}, SIZE_MAX, "one four ");
    expect(&(struct sma_cli_log_wanted){.run = "7"}, SIZE_MAX, "one ");
    expect(&(struct sma_cli_log_wanted){.message = "55"}, 10, "three ");
    CHECK(sma_cli_log_parse_since("2026-11-22T10:30:00Z", 0, &since));
    expect(&(struct sma_cli_log_wanted){.since_ms = since}, SIZE_MAX, "three four ");
    expect(&(struct sma_cli_log_wanted){.since_ms = since}, 1, "four ");
}

CASE(times_are_read_as_people_write_them)
{
    static const char *const wrong[] = {"", "10", "m", "-5m", "10x", "2026-13-40", "yesterday"};
    int64_t ms = 0;
    CHECK(sma_cli_log_parse_since("10m", 1000000000, &ms));
    CHECK_INT(1000000000 - 600000, ms);
    CHECK(sma_cli_log_parse_since("2d", 1000000000, &ms));
    CHECK_INT(1000000000 - 2 * 86400000LL, ms);
    CHECK(sma_cli_log_parse_since("1970-01-02T00:00:00Z", 0, &ms));
    CHECK_INT(86400000, ms);
    CHECK(sma_cli_log_parse_since("2026-11-23", 0, &ms));
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++) {
        if (sma_cli_log_parse_since(wrong[i], 0, &ms))
            fprintf(stderr, "\"%s\" is taken\n", wrong[i]);
        CHECK(!sma_cli_log_parse_since(wrong[i], 0, &ms));
    }
    CHECK_INT(1, sma_cli_log_parse_time("1970-01-01T00:00:00.001Z"));
    CHECK_INT(0, sma_cli_log_parse_time("soon"));
}

/* Each line brings the next one. */
static bool go_on(void *user, json_t *root)
{
    const char *message = sma_cli_log_text(root, "message");
    (void)note(user, root);
    if (strcmp(message, "four") == 0)
        append("2026-11-23", "1}\n"); /* the half line is whole now, and of no event */
    if (strcmp(message, "four") == 0)
        LINE("2026-11-23", "23:59:59.999", "info", "five", "");
    if (strcmp(message, "five") == 0) { /* midnight: the old file's last line, and the new file */
        LINE("2026-11-23", "23:59:59.999", "info", "six", "");
        LINE("2026-11-24", "00:00:00.000", "info", "seven", "");
    }
    if (strcmp(message, "seven") == 0)
        LINE("2026-11-25", "00:00:00.000", "info", "eight", "");
    return strcmp(message, "eight") != 0;
}

CASE(a_log_is_followed_over_midnight)
{
    seen[0] = '\0';
    const struct sma_cli_log_wanted wanted = {.level = SMA_LOG_INFO};
    CHECK_INT(0, sma_cli_log_follow(dir, &wanted, 1, go_on, NULL));
    CHECK_TEXT("four five six seven eight ", seen);
}

/* Cut by hand or by a rotation that copies: what is written then is told, too. */
static bool cut(void *user, json_t *root)
{
    char path[128];
    (void)note(user, root);
    if (strcmp(sma_cli_log_text(root, "message"), "nine") != 0)
        return false;
    snprintf(path, sizeof path, "%s/logs/2026-11-26.jsonl", dir);
    CHECK_INT(0, truncate(path, 0));
    LINE("2026-11-26", "00:00:02.000", "info", "ten", "");
    return true;
}

static bool cut_after_others(void *user, json_t *root)
{
    const char *time = sma_cli_log_text(root, "timestamp");
    return strncmp(time, "2026-11-26", 10) < 0 || cut(user, root);
}

CASE(a_file_that_was_cut_is_read_on)
{
    char pipe[128];
    seen[0] = '\0';
    snprintf(pipe, sizeof pipe, "%s/logs/2026-11-20.jsonl", dir); /* no log: is passed over */
    CHECK_INT(0, mkfifo(pipe, 0600));
    LINE("2026-11-26", "00:00:01.000", "info", "nine", "\"chatKey\":\"longer than the next\"");
    const struct sma_cli_log_wanted wanted = {.level = SMA_LOG_INFO};
    CHECK_INT(0, sma_cli_log_follow(dir, &wanted, SIZE_MAX, cut_after_others, NULL));
    CHECK_TEXT("nine ten ", seen);
}

CASE(a_project_that_never_ran_is_told)
{
    char nowhere[64];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere", dir);
    CHECK_INT(1, sma_cli_log_each(nowhere, &(struct sma_cli_log_wanted){0}, 1, note, NULL));
}

int main(void)
{
    write_days();
    check_run_cases(NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", dir);
    CHECK_INT(0, system(command));
    return check_summary();
}
