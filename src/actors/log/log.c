/*
 * log.c — the log actor: one line on the terminal, one JSON line in .ship/logs/<UTC date>.jsonl,
 * both redacted. What was sent to models and came back goes to .ship/logs/llm/<UTC date>.jsonl
 * alone: it is long, and must not push out what happened.
 *
 * Log lines are signals: senders never wait, lines beyond the lane are dropped and counted. Known
 * secret values are replaced by value, wherever they occur (a Telegram token stands in the path of
 * a URL, not under a key name).
 * Source: protocols/project.md §3 (terminal form), §11.4 (file form).
 */
#include "log_file.h"
#include "runtime/secrets/secrets.h"
#include "sma/actors.h"
#include "sma/log_ring.h"
#include "sma/metrics.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SCREEN_DETAILS_BYTES_MAX 300 /* the file has them whole */
#define LOG_FILE_BYTES_MAX \
    (64 * 1024 * 1024) /* a day's file; beyond it only warnings and errors are written */
#define LOG_DAYS_KEPT 30
#define LOG_MODEL_FILE_BYTES_MAX \
    (64 * 1024 * 1024)        /* likewise; beyond it nothing is written, and that is said */
#define LOG_MODEL_DAYS_KEPT 7 /* when the configuration does not say */
#define LOG_BATCH_BYTES_MAX (1024 * 1024)
#define LOG_DROPPED_NS UINT64_C(5000000000) /* between two lines that tell of dropped ones */

struct sma_log
{
    struct log_file day, model;
    struct sma_secrets *secrets; /* old ones are kept when a reload brings new ones */
    bool is_quiet, shows_debug, is_tty, is_journal;
    bool is_model_full; /* said, for this day */
    uint64_t line_number;
    uint64_t dropped_seen, dropped_due_ns;
    int64_t last_wall_ms;
    struct sma_buf screen_batch, scratch;
};

static const struct
{
    const char *word, *colour;
} LEVELS[] = {
    [SMA_LOG_DEBUG] = {"debug", "\033[90m"},   [SMA_LOG_INFO] = {"info", ""},
    [SMA_LOG_ACTION] = {"action", "\033[36m"}, [SMA_LOG_WARN] = {"warn", "\033[33m"},
    [SMA_LOG_ERROR] = {"error", "\033[31m"},
};

/* -- secrets ----------------------------------------------------------------------------------- */
static void add_secrets(struct sma_log *log, const struct sma_config *config)
{
    if (sma_secrets_add_config(log->secrets, config) != SMA_ERR_OK)
        fputs("log: a secret more than can be kept: its value will not be replaced\n", stderr);
}

/* -- one line ---------------------------------------------------------------------------------- */
static void put_base36(struct sma_buf *buf, uint64_t number)
{
    char digits[16];
    size_t count = 0;
    do {
        digits[count++] = "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36];
        number /= 36;
    } while (number > 0);
    while (count > 0)
        sma_buf_put_char(buf, digits[--count]);
}

static void put_file_line(struct sma_log *log, struct log_file *file,
                          const struct sma_log_line *line)
{
    struct sma_buf *out = &file->batch;
    sma_buf_put_text(out, "{\"id\":\"");
    put_base36(out, (uint64_t)line->wall_ms * 1000 + log->line_number++ % 1000);
    sma_buf_put_text(out, "\",\"timestamp\":\"");
    sma_buf_put_iso_time(out, line->wall_ms);
    sma_buf_printf(out, "\",\"type\":\"%s\",\"message\":", LEVELS[line->level].word);
    sma_buf_clear(&log->scratch);
    sma_secrets_put(log->secrets, &log->scratch, line->text);
    sma_buf_put_json_string(out, sma_buf_str(&log->scratch));
    if (line->details_json.len > 0) {
        sma_buf_put_text(out, ",\"details\":");
        sma_secrets_put(log->secrets, out, line->details_json);
    }
    sma_buf_printf(out, ",\"level\":\"%s\"}\n", LEVELS[line->level].word);
}

/* At text[at] stands C0, DEL, C1, or a byte that is no UTF-8 and may be taken for C1. *ret_len:
 * bytes that belong together. */
static bool is_control(struct sma_str text, size_t at, size_t *ret_len)
{
    unsigned char byte = (unsigned char)text.ptr[at];
    size_t len = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    len = len < text.len - at ? len : text.len - at;
    bool is_valid = sma_utf8_is_valid((struct sma_str){text.ptr + at, len});
    *ret_len = is_valid ? len : 1;
    bool is_c1 = len == 2 && byte == 0xc2 && (unsigned char)text.ptr[at + 1] < 0xa0;
    return !is_valid || byte < 0x20 || byte == 0x7f || is_c1;
}

/* Of valid UTF-8. */
static uint32_t point_at(const char *bytes, size_t len)
{
    uint32_t point = (unsigned char)bytes[0];
    if (len > 1)
        point &= 0xFFu >> (len + 1);
    for (size_t i = 1; i < len; i++)
        point = point << 6 | ((unsigned char)bytes[i] & 0x3Fu);
    return point;
}

/* A log line is one line: what a model or a platform wrote cannot move the cursor or fake another
 * line. */
static void put_screen_text(struct sma_log *log, struct sma_str text, size_t bytes_max)
{
    struct sma_buf *out = &log->screen_batch;
    sma_buf_clear(&log->scratch);
    sma_secrets_put(log->secrets, &log->scratch,
                    text); /* first: half a secret is not known as one */
    struct sma_str clean = sma_buf_str(&log->scratch);
    clean.len = sma_utf8_cut(clean, bytes_max);
    size_t len;
    uint32_t point, before = 0;
    for (size_t at = 0; at < clean.len; at += len, before = point) {
        bool is_bad = is_control(clean, at, &len);
        point = is_bad ? ' ' : point_at(clean.ptr + at, len);
        if (is_bad)
            sma_buf_put_char(out, ' ');
        else if (sma_point_misleads(point, before))
            sma_buf_printf(out, "\\u{%04X}", point);
        else
            sma_buf_put(out, clean.ptr + at, len);
    }
    if (clean.len < log->scratch.len)
        sma_buf_put_text(out, "...");
}

/* journald puts the time before each line and takes the level from "<N>": `journalctl -p warning`
 * finds what it should. Source: sd-daemon(3), syslog(3). */
static void put_journal_head(struct sma_log *log, const struct sma_log_line *line)
{
    static const int priorities[] = {[SMA_LOG_DEBUG] = 7,
                                     [SMA_LOG_INFO] = 6,
                                     [SMA_LOG_ACTION] = 5,
                                     [SMA_LOG_WARN] = 4,
                                     [SMA_LOG_ERROR] = 3};
    sma_buf_printf(&log->screen_batch, "<%d>", priorities[line->level]);
}

static void put_head(struct sma_log *log, const struct sma_log_line *line, const char *colour)
{
    time_t seconds = (time_t)(line->wall_ms / 1000);
    struct tm local;
    localtime_r(&seconds, &local);
    char word[16];
    snprintf(word, sizeof word, "%s", LEVELS[line->level].word);
    for (char *at = word; *at != '\0'; at++)
        *at = (char)(*at - 'a' + 'A');
    sma_buf_printf(&log->screen_batch, "%s[%02d:%02d:%02d] [%-7s] ", colour, local.tm_hour,
                   local.tm_min, local.tm_sec, word);
}

static void put_screen_line(struct sma_log *log, const struct sma_log_line *line)
{
    struct sma_buf *out = &log->screen_batch;
    const char *colour = log->is_tty ? LEVELS[line->level].colour : "";
    if (log->is_journal)
        put_journal_head(log, line);
    else
        put_head(log, line, colour);
    put_screen_text(log, line->text, SIZE_MAX);
    if (line->details_json.len > 0 &&
        !line->is_traffic) { /* "approval: asked" alone tells nobody what */
        sma_buf_put_char(out, ' ');
        put_screen_text(log, line->details_json, SCREEN_DETAILS_BYTES_MAX);
    }
    sma_buf_put_text(out, colour[0] == '\0' ? "\n" : "\033[0m\n");
}

static void add_to_file(struct sma_log *log, const struct sma_log_line *line,
                        const struct sma_sys *sys)
{
    bool is_new_day;
    bool is_open = log_file_open(&log->day, sys, line->wall_ms, &is_new_day);
    if (is_open && (log_file_len(&log->day) < LOG_FILE_BYTES_MAX || line->level >= SMA_LOG_WARN)) {
        size_t begun = log->day.batch.len;
        put_file_line(log, &log->day, line);
        if (log->day.batch.err == SMA_ERR_OK)
            sma_log_ring_put(
                (struct sma_str){log->day.batch.ptr + begun, log->day.batch.len - begun});
    }
}

static void add_line(struct sma_log *log, const struct sma_log_line *line,
                     const struct sma_sys *sys)
{
    add_to_file(log, line, sys);
    int least = log->is_quiet ? SMA_LOG_WARN : log->shows_debug ? SMA_LOG_DEBUG : SMA_LOG_INFO;
    if (line->level >= least)
        put_screen_line(log, line);
    log->last_wall_ms = line->wall_ms;
}

/* -- what models are sent and say -------------------------------------------------------------- */
static void say_full(struct sma_log *log, const struct sma_log_line *line,
                     const struct sma_sys *sys)
{
    char text[240];
    snprintf(text, sizeof text,
             "%s/%s.jsonl has %d MB: requests and answers of models are not written there any more "
             "today (llm.logMessages false switches them off)",
             log->model.dir, log->model.date, LOG_MODEL_FILE_BYTES_MAX / (1024 * 1024));
    log->is_model_full = true;
    add_line(log,
             &(struct sma_log_line){
                 .level = SMA_LOG_WARN, .wall_ms = line->wall_ms, .text = sma_str(text)},
             sys);
}

static void add_block(struct sma_log *log, const struct sma_log_line *line,
                      const struct sma_sys *sys)
{
    bool is_new_day;
    bool is_open = log_file_open(&log->model, sys, line->wall_ms, &is_new_day);
    if (is_new_day)
        log->is_model_full = false;
    if (is_open && log_file_len(&log->model) < LOG_MODEL_FILE_BYTES_MAX) {
        put_file_line(log, &log->model, line);
        if (log->model.batch.len > LOG_BATCH_BYTES_MAX)
            log_file_write(&log->model, sys);
        return;
    }
    SMA_METRIC_ADD(log_blocks_dropped_total, 1);
    if (is_open && !log->is_model_full)
        say_full(log, line, sys);
}

static int model_days(const struct sma_config *config)
{
    int days = config->retention.request_log_days;
    return days > 0 ? days : LOG_MODEL_DAYS_KEPT;
}

static void on_config(struct sma_log *log, const struct sma_config *config)
{
    add_secrets(log, config);
    log->model.days_kept = model_days(config);
}

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct sma_log *log = state;
    if ((*msg)->kind == SMA_MSG_RELOAD)
        on_config(log, SMA_MSG_BODY(*msg, struct sma_reload)->config);
    if ((*msg)->kind != SMA_MSG_LOG)
        return;
    const struct sma_log_line *line = SMA_MSG_BODY(*msg, struct sma_log_line);
    SMA_ASSERT(line->level >= SMA_LOG_DEBUG && line->level <= SMA_LOG_ERROR);
    if (line->is_block)
        add_block(log, line, sma_ctx_sys(ctx));
    else
        add_line(log, line, sma_ctx_sys(ctx));
}

/* Under load every batch would have a line about it: one in LOG_DROPPED_NS, and one at the end. */
static void say_dropped(struct sma_log *log, struct sma_ctx *ctx, bool is_end)
{
    uint64_t dropped = sma_counter_get(SMA_COUNTER_log_dropped_total), now = sma_ctx_now(ctx);
    if (dropped <= log->dropped_seen)
        return;
    if (!is_end && now < log->dropped_due_ns) {
        sma_ctx_wake_at(ctx, log->dropped_due_ns);
        return;
    }
    char text[96];
    snprintf(text, sizeof text, "%llu log lines were dropped: too many at once",
             (unsigned long long)(dropped - log->dropped_seen));
    log->dropped_seen = dropped;
    log->dropped_due_ns = now + LOG_DROPPED_NS;
    add_line(log,
             &(struct sma_log_line){
                 .level = SMA_LOG_WARN, .wall_ms = sma_ctx_wall(ctx), .text = sma_str(text)},
             sma_ctx_sys(ctx));
}

static void batch_end(void *state, struct sma_ctx *ctx)
{
    struct sma_log *log = state;
    say_dropped(log, ctx, false);
    log_file_write(&log->day, sma_ctx_sys(ctx));
    log_file_write(&log->model, sma_ctx_sys(ctx));
    if (log->screen_batch.len > 0) {
        fwrite(log->screen_batch.ptr, 1, log->screen_batch.len, stderr);
        sma_buf_clear(&log->screen_batch);
    }
}

/* Only to go on in batch_end. */
static void wake(void *state, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx;
}

static void stop(void *state, struct sma_ctx *ctx)
{
    struct sma_log *log = state;
    say_dropped(log, ctx, true);
    batch_end(state, ctx);
    log_file_close(&log->day, sma_ctx_sys(ctx));
    log_file_close(&log->model, sma_ctx_sys(ctx));
}

const struct sma_actor_ops sma_log_actor_ops = {
    .name = "log", .handle = handle, .batch_end = batch_end, .wake = wake, .stop = stop};

enum sma_err sma_log_create(const struct sma_log_options *options, struct sma_log **ret_log,
                            struct sma_error *error)
{
    struct sma_log *log = calloc(1, sizeof *log);
    if (log == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "log: out of memory");
    log->day.fd = log->model.fd = -1;
    log->is_quiet = options->is_quiet;
    log->shows_debug = options->shows_debug;
    log->is_tty = isatty(STDERR_FILENO) == 1;
    log->is_journal = sma_sys_is_journal(STDERR_FILENO);
    sma_buf_init(&log->screen_batch, LOG_BATCH_BYTES_MAX);
    sma_buf_init(&log->scratch, LOG_BATCH_BYTES_MAX);
    if (sma_secrets_create(options->config, &log->secrets) != SMA_ERR_OK) {
        sma_log_destroy(log);
        return sma_fail(error, SMA_ERR_NOMEM, "log: out of memory");
    }
    char *day_dir = NULL, *model_dir = NULL;
    if (asprintf(&day_dir, "%s/logs", options->config->state_dir) < 0)
        day_dir = NULL;
    if (asprintf(&model_dir, "%s/logs/llm", options->config->state_dir) < 0)
        model_dir = NULL;
    enum sma_err err = log_file_init(&log->model, model_dir, model_days(options->config));
    if (log_file_init(&log->day, day_dir, LOG_DAYS_KEPT) != SMA_ERR_OK || err != SMA_ERR_OK) {
        sma_log_destroy(log);
        return sma_fail(error, SMA_ERR_NOMEM, "log: out of memory");
    }
    err = sma_sys_make_dirs(sma_sys_real(), log->day.dir, error);
    if (err != SMA_ERR_OK) {
        sma_log_destroy(log);
        return err;
    }
    *ret_log = log;
    return SMA_ERR_OK;
}

void sma_log_note_warning(struct sma_log *log, struct sma_str text)
{
    const struct sma_sys *sys = sma_sys_real();
    const struct sma_log_line line = {
        .level = SMA_LOG_WARN, .wall_ms = sys->wall_ms(sys->self), .text = text};
    add_to_file(log, &line, sys);
    log_file_write(&log->day, sys);
}

void sma_log_destroy(struct sma_log *log)
{
    if (log == NULL)
        return;
    sma_secrets_destroy(log->secrets);
    log_file_fini(&log->day);
    log_file_fini(&log->model);
    sma_buf_fini(&log->screen_batch);
    sma_buf_fini(&log->scratch);
    free(log);
}
