/*
 * mcp_log.c — lines of the log about a server, and what it writes to stderr: a file and the one
 * before it, so many bytes a minute. A server that writes without end costs a few pages of the
 * cache and no more.
 */
#include "mcp_priv.h"

#include "sma/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUDGET_NS (60 * SMA_NS_PER_S)

/* -- lines of the log -------------------------------------------------------------------------- */
void mcp_log(struct mcp_server *server, enum sma_log_level level, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* cut: as well */
    va_end(arguments);
    struct sma_buf clean, line;
    sma_buf_init(&clean, 8192);
    sma_buf_init(&line, 8192);
    sma_secrets_put(server->mcp->secrets, &clean, sma_str(text));
    sma_mcp_put_clean(&line, sma_buf_str(&clean), sizeof text);
    if (clean.err == SMA_ERR_OK && line.err == SMA_ERR_OK)
        sma_ctx_log(server->mcp->ctx, level, "mcp %s: %s", server->name,
                    line.ptr == NULL ? "" : line.ptr);
    sma_buf_fini(&clean);
    sma_buf_fini(&line);
}

/* -- stderr ------------------------------------------------------------------------------------ */
void mcp_stderr_init(struct mcp_stderr *log)
{
    *log = (struct mcp_stderr){.fd = -1, .is_at_end = true};
    sma_secrets_stream_init(&log->stream);
}

static bool put_path(const struct mcp_server *server, char *path, const char *end)
{
    return snprintf(path, PATH_MAX, "%s/logs/mcp/%s.log%s", server->mcp->config->state_dir,
                    server->name, end) < PATH_MAX;
}

static void open_file(struct mcp_server *server, struct mcp_stderr *log)
{
    char path[PATH_MAX];
    struct stat facts;
    if (snprintf(path, sizeof path, "%s/logs/mcp", server->mcp->config->state_dir) >= PATH_MAX ||
        sma_sys_make_dirs(sma_ctx_sys(server->mcp->ctx), path, NULL) != SMA_ERR_OK ||
        !put_path(server, path, ""))
        return;
    log->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    log->bytes = log->fd >= 0 && fstat(log->fd, &facts) == 0 ? (uint64_t)facts.st_size : 0;
}

static void turn_over(struct mcp_server *server, struct mcp_stderr *log)
{
    char path[PATH_MAX], before[PATH_MAX];
    close(log->fd);
    log->fd = -1;
    if (put_path(server, path, "") && put_path(server, before, ".1") && rename(path, before) == 0)
        open_file(server, log);
}

/* What cannot be written is lost: it is for people who look for a fault. */
static void write_text(struct mcp_server *server, struct mcp_stderr *log, struct sma_str text)
{
    if (log->fd < 0)
        open_file(server, log);
    if (log->fd >= 0 && log->bytes + text.len > SMA_MCP_LOG_BYTES_MAX && log->bytes > 0)
        turn_over(server, log);
    if (log->fd < 0 || text.len == 0)
        return;
    ssize_t written = write(log->fd, text.ptr, text.len);
    log->bytes += written > 0 ? (uint64_t)written : 0;
}

/* The newest line that says something: why it died. */
static void note_last(struct mcp_stderr *log, struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.ptr[i];
        if (byte == '\n') {
            log->is_at_end = true;
            continue;
        }
        if (log->is_at_end)
            log->last_len = 0;
        log->is_at_end = false;
        if (log->last_len < sizeof log->last - 1 && (unsigned char)byte >= ' ')
            log->last[log->last_len++] = byte;
    }
    log->last[log->last_len] = '\0';
}

static void put_clean(struct mcp_server *server, struct mcp_stderr *log, struct sma_str text)
{
    uint64_t now = sma_ctx_now(server->mcp->ctx);
    if (now - log->budget_ns >= BUDGET_NS) {
        if (log->dropped > 0) {
            char line[80];
            (void)snprintf(line, sizeof line, "\n[%llu bytes left out]\n",
                           (unsigned long long)log->dropped);
            write_text(server, log, sma_str(line));
        }
        log->budget_ns = now;
        log->budget = SMA_MCP_LOG_BYTES_MAX;
        log->dropped = 0;
    }
    size_t len = text.len < log->budget ? text.len : (size_t)log->budget;
    log->budget -= len;
    log->dropped += text.len - len;
    write_text(server, log, (struct sma_str){text.ptr, len});
    note_last(log, text);
}

void mcp_stderr_put(struct mcp_server *server, struct mcp_stderr *log, struct sma_str text)
{
    struct sma_buf clean;
    sma_buf_init(&clean, 1024 * 1024);
    sma_secrets_stream_put(server->mcp->secrets, &log->stream, &clean, text);
    if (clean.err == SMA_ERR_OK)
        put_clean(server, log, sma_buf_str(&clean));
    sma_buf_fini(&clean);
}

void mcp_stderr_fini(struct mcp_server *server, struct mcp_stderr *log)
{
    struct sma_buf clean;
    sma_buf_init(&clean, 1024 * 1024);
    sma_secrets_stream_end(server->mcp->secrets, &log->stream, &clean);
    if (clean.err == SMA_ERR_OK)
        put_clean(server, log, sma_buf_str(&clean));
    sma_buf_fini(&clean);
    sma_secrets_stream_fini(&log->stream);
    if (log->fd >= 0)
        close(log->fd);
    log->fd = -1;
}
