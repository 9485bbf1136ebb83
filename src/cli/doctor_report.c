/* doctor_report.c — see doctor_report.h. */
#include "doctor_report.h"

#include "chat_screen.h"
#include "runtime/secrets/secrets.h"
#include "sma/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE_COUNT_MAX 512
#define REPORT_BYTES_MAX (4 * 1024 * 1024)
#define NAME_COLUMNS 20

static const char *const WORDS[] = {"ok", "warning", "error"};

static struct sma_probe_line *add(struct doctor_report *report)
{
    if (report->count == LINE_COUNT_MAX)
        return NULL;
    if (report->count == report->capacity) {
        size_t capacity = report->capacity == 0 ? 64 : 2 * report->capacity;
        struct sma_probe_line *grown = reallocarray(report->lines, capacity, sizeof *report->lines);
        if (grown == NULL) {
            report->is_out_of_memory = true;
            return NULL;
        }
        report->lines = grown;
        report->capacity = capacity;
    }
    return &report->lines[report->count++];
}

static void keep_text(char *room, size_t size, const char *text)
{
    size_t len = sma_utf8_cut(sma_str(text), size - 1);
    memcpy(room, text, len);
    room[len] = '\0';
}

void doctor_say(struct doctor_report *report, enum sma_probe_state state, const char *name,
                const char *remedy, const char *seen, ...)
{
    char text[4 * SMA_PROBE_TEXT_BYTES_MAX];
    struct sma_probe_line *line = add(report);
    va_list arguments;
    if (line == NULL)
        return;
    va_start(arguments, seen);
    (void)vsnprintf(text, sizeof text, seen, arguments);
    va_end(arguments);
    line->state = state;
    keep_text(line->name, sizeof line->name, name);
    keep_text(line->seen, sizeof line->seen, text);
    keep_text(line->remedy, sizeof line->remedy, remedy);
}

void doctor_say_line(struct doctor_report *report, const struct sma_probe_line *line)
{
    struct sma_probe_line *place = add(report);
    if (place != NULL)
        *place = *line;
}

size_t doctor_count(const struct doctor_report *report, enum sma_probe_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++)
        count += report->lines[i].state == state;
    return count;
}

/* -- forms ------------------------------------------------------------------------------------- */
/* The lines quote files and answers of servers, which may hold anything. */
static void put_clean(struct sma_buf *out, const struct sma_secrets *secrets, const char *text)
{
    struct sma_buf shown;
    sma_buf_init(&shown, REPORT_BYTES_MAX);
    if (secrets != NULL)
        sma_secrets_put(secrets, &shown, sma_str(text));
    else
        sma_buf_put_text(&shown, text);
    if (shown.len > 0)
        sma_chat_put_clean(out, sma_buf_str(&shown));
    sma_buf_fini(&shown);
}

static void put_colour(struct sma_buf *out, bool is_coloured, enum sma_probe_state state)
{
    static const char *const codes[] = {"\x1b[32m", "\x1b[33m", "\x1b[31m"};
    if (is_coloured)
        sma_buf_put_text(out, codes[state]);
}

static void put_text_line(struct sma_buf *out, const struct sma_probe_line *line,
                          const struct sma_secrets *secrets, bool is_coloured)
{
    put_colour(out, is_coloured, line->state);
    sma_buf_printf(out, "%-8s", WORDS[line->state]);
    sma_buf_put_text(out, is_coloured ? "\x1b[0m" : "");
    size_t begin = out->len;
    put_clean(out, secrets, line->name);
    for (size_t len = out->len - begin; len < NAME_COLUMNS; len++)
        sma_buf_put_char(out, ' ');
    sma_buf_put_text(out, "  ");
    put_clean(out, secrets, line->seen);
    if (line->remedy[0] != '\0') {
        sma_buf_put_text(out, "\n          -> ");
        put_clean(out, secrets, line->remedy);
    }
    sma_buf_put_char(out, '\n');
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void put_text(struct sma_buf *out, const struct doctor_report *report,
                     const struct sma_secrets *secrets)
{
    const char *no_colour = getenv("NO_COLOR");
    bool is_coloured = isatty(STDOUT_FILENO) == 1 && (no_colour == NULL || no_colour[0] == '\0');
    size_t errors = doctor_count(report, SMA_PROBE_ERROR);
    size_t warnings = doctor_count(report, SMA_PROBE_WARNING);
    for (size_t i = 0; i < report->count; i++)
        put_text_line(out, &report->lines[i], secrets, is_coloured);
    if (errors == 0 && warnings == 0)
        sma_buf_put_text(out, "\nAll is well.\n");
    else
        sma_buf_printf(out, "\n%zu error%s, %zu warning%s.\n", errors, plural(errors), warnings,
                       plural(warnings));
}

static void put_member(struct sma_buf *out, const char *name, const char *text,
                       const struct sma_secrets *secrets)
{
    struct sma_buf clean;
    sma_buf_init(&clean, REPORT_BYTES_MAX);
    put_clean(&clean, secrets, text);
    sma_buf_put_json_member(out, name, clean.len == 0 ? SMA_STR("") : sma_buf_str(&clean));
    sma_buf_fini(&clean);
}

static void put_json(struct sma_buf *out, const struct doctor_report *report,
                     const struct sma_secrets *secrets)
{
    sma_buf_put_text(out, "{");
    sma_buf_put_json_member(out, "version", SMA_STR(SMA_VERSION));
    sma_buf_put_json_number(out, "errors", doctor_count(report, SMA_PROBE_ERROR));
    sma_buf_put_json_number(out, "warnings", doctor_count(report, SMA_PROBE_WARNING));
    sma_buf_put_json_key(out, "lines");
    for (size_t i = 0; i < report->count; i++) {
        sma_buf_put_text(out, i == 0 ? "[{" : ",{");
        sma_buf_put_json_member(out, "state", sma_str(WORDS[report->lines[i].state]));
        put_member(out, "name", report->lines[i].name, secrets);
        put_member(out, "seen", report->lines[i].seen, secrets);
        put_member(out, "remedy", report->lines[i].remedy, secrets);
        sma_buf_put_char(out, '}');
    }
    sma_buf_put_text(out, report->count == 0 ? "[]}\n" : "]}\n");
}

void doctor_print(const struct doctor_report *report, const struct sma_secrets *secrets,
                  bool is_json)
{
    struct sma_buf out;
    sma_buf_init(&out, REPORT_BYTES_MAX);
    if (is_json)
        put_json(&out, report, secrets);
    else
        put_text(&out, report, secrets);
    if (out.err == SMA_ERR_OK && !report->is_out_of_memory)
        (void)fwrite(out.ptr, 1, out.len, stdout);
    else
        fputs("shipmyagent: doctor: out of memory\n", stderr);
    sma_buf_fini(&out);
}

void doctor_report_fini(struct doctor_report *report)
{
    free(report->lines);
    *report = (struct doctor_report){0};
}
