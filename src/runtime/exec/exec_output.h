/*
 * exec_output.h — what a command wrote: bounded for the model, whole for the log, secrets replaced
 * in both.
 *
 * Of each stream the beginning and the end are kept. A result of at most SMA_TOOL_RESULT_BYTES_MAX
 * is made of them; what is left out is named with the handle that read_more takes. Memory is
 * bounded by EXEC_HEAD + EXEC_TAIL a stream.
 * Threads: the owner.
 */
#ifndef SMA_TOOLS_EXEC_OUTPUT_H
#define SMA_TOOLS_EXEC_OUTPUT_H

#include "runtime/secrets/secrets.h"

#define SMA_EXEC_HEAD_BYTES 32768 /* more than one result holds: what is not longer is kept whole */
#define SMA_EXEC_TAIL_BYTES 16384

struct sma_exec_stream
{
    struct sma_secrets_stream secrets;
    struct sma_buf head;
    char *tail; /* ring, NULL until the head is full */
    size_t tail_begin, tail_len;
    uint64_t total; /* clean bytes */
};
void sma_exec_stream_init(struct sma_exec_stream *stream);
void sma_exec_stream_fini(struct sma_exec_stream *stream); /* accepts a zeroed struct */
/** Take bytes as they came; what is certainly no secret is kept and appended to `clean`. is_end:
 *  nothing follows. A failed allocation sets clean->err. */
void sma_exec_stream_put(struct sma_exec_stream *stream, const struct sma_secrets *secrets,
                         struct sma_str piece, bool is_end, struct sma_buf *clean);

/** Does what was kept look like a program that found no network? */
bool sma_exec_stream_misses_network(const struct sma_exec_stream *stream);
/** ... that misses a file or program? */
bool sma_exec_stream_misses_file(const struct sma_exec_stream *stream);
/** ... that asks for a login, or whose own was refused? */
bool sma_exec_stream_misses_login(const struct sma_exec_stream *stream);
/** ... that met a file it may not change? */
bool sma_exec_stream_meets_read_only(const struct sma_exec_stream *stream);

struct sma_exec_outcome
{
    bool has_exit_code;
    int exit_code;
    bool is_timed_out;
    bool is_log_cut; /* the log has not all of it */
    /* file name under .ship/logs/exec; its path is the handle; empty: there is none */
    struct sma_str log;
    struct sma_str note; /* what else the model should know; may be empty */
};
/** Append {"success","exitCode","stdout","stderr","timedOut","truncated","logPath","note"}, at most
 *  SMA_TOOL_RESULT_BYTES_MAX bytes. @return whether it succeeded */
bool sma_exec_put_result(struct sma_buf *buf, const struct sma_exec_stream *out,
                         const struct sma_exec_stream *err, const struct sma_exec_outcome *outcome);

#endif
