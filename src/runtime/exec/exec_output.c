/*
 * exec_output.c — beginning and end of a stream, and the result made of them.
 */
#include "exec_output.h"

#include "sma/limits.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define RESULT_FRAME_BYTES 1400 /* members, notes and the note between the halves */
#define NOTE_BYTES_MAX 400

/* -- keeping ----------------------------------------------------------------------------------- */
void sma_exec_stream_init(struct sma_exec_stream *stream)
{
    memset(stream, 0, sizeof *stream);
    sma_secrets_stream_init(&stream->secrets);
    sma_buf_init(&stream->head, SMA_EXEC_HEAD_BYTES);
}

void sma_exec_stream_fini(struct sma_exec_stream *stream)
{
    sma_secrets_stream_fini(&stream->secrets);
    sma_buf_fini(&stream->head);
    free(stream->tail);
    stream->tail = NULL;
}

static void keep_tail(struct sma_exec_stream *stream, struct sma_str text)
{
    if (text.len > SMA_EXEC_TAIL_BYTES) {
        text.ptr += text.len - SMA_EXEC_TAIL_BYTES;
        text.len = SMA_EXEC_TAIL_BYTES;
    }
    for (size_t i = 0; i < text.len;) {
        size_t end = (stream->tail_begin + stream->tail_len) % SMA_EXEC_TAIL_BYTES;
        size_t len = text.len - i;
        if (len > SMA_EXEC_TAIL_BYTES - end)
            len = SMA_EXEC_TAIL_BYTES - end;
        memcpy(stream->tail + end, text.ptr + i, len);
        i += len;
        stream->tail_len += len;
        if (stream->tail_len > SMA_EXEC_TAIL_BYTES) {
            stream->tail_begin += stream->tail_len - SMA_EXEC_TAIL_BYTES;
            stream->tail_begin %= SMA_EXEC_TAIL_BYTES;
            stream->tail_len = SMA_EXEC_TAIL_BYTES;
        }
    }
}

static enum sma_err keep(struct sma_exec_stream *stream, struct sma_str text)
{
    size_t room = SMA_EXEC_HEAD_BYTES - stream->head.len;
    size_t len = text.len < room ? text.len : room;
    sma_buf_put(&stream->head, text.ptr, len);
    stream->total += text.len;
    if (len == text.len)
        return stream->head.err;
    if (stream->tail == NULL)
        stream->tail = malloc(SMA_EXEC_TAIL_BYTES);
    if (stream->tail == NULL)
        return SMA_ERR_NOMEM;
    keep_tail(stream, (struct sma_str){text.ptr + len, text.len - len});
    return stream->head.err;
}

void sma_exec_stream_put(struct sma_exec_stream *stream, const struct sma_secrets *secrets,
                         struct sma_str piece, bool is_end, struct sma_buf *clean)
{
    size_t before = clean->len;
    sma_secrets_stream_put(secrets, &stream->secrets, clean, piece);
    if (is_end)
        sma_secrets_stream_end(secrets, &stream->secrets, clean);
    if (clean->err != SMA_ERR_OK || clean->len == before)
        return;
    enum sma_err err = keep(stream, (struct sma_str){clean->ptr + before, clean->len - before});
    if (err != SMA_ERR_OK)
        clean->err = err;
}

static bool says(const struct sma_exec_stream *stream, const char *const *signs, size_t count)
{
    const struct sma_str parts[] = {
        sma_buf_str(&stream->head),
        {stream->tail,
         stream->tail == NULL ? 0 : stream->tail_len}}; /* the seam of the ring may hide one */
    for (size_t i = 0; i < SMA_COUNT_OF(parts); i++)
        for (size_t j = 0; parts[i].len > 0 && j < count; j++)
            if (memmem(parts[i].ptr, parts[i].len, signs[j], strlen(signs[j])) != NULL)
                return true;
    return false;
}

bool sma_exec_stream_meets_read_only(const struct sma_exec_stream *stream)
{
    static const char *const signs[] = {"Read-only file system", "EROFS", "Device or resource busy",
                                        "EBUSY"};
    return says(stream, signs, SMA_COUNT_OF(signs));
}

bool sma_exec_stream_misses_login(const struct sma_exec_stream *stream)
{
    static const char *const signs[] = {"could not read Username",
                                        "could not read Password",
                                        "Authentication failed",
                                        "E401",
                                        "ENEEDAUTH",
                                        "does not appear to be a git repository"};
    return says(stream, signs, SMA_COUNT_OF(signs));
}

bool sma_exec_stream_misses_file(const struct sma_exec_stream *stream)
{
    static const char *const signs[] = {"not found", "No such file or directory", "ENOENT"};
    return says(stream, signs, SMA_COUNT_OF(signs));
}

bool sma_exec_stream_misses_network(const struct sma_exec_stream *stream)
{
    static const char *const signs[] = {"Could not resolve",
                                        "name resolution",
                                        "Name or service not known",
                                        "Network is unreachable",
                                        "unreachable",
                                        "ENOTFOUND",
                                        "EAI_AGAIN",
                                        "ENETUNREACH",
                                        "ECONNREFUSED",
                                        "getaddrinfo",
                                        "Connection refused",
                                        "connection refused",
                                        "no such host",
                                        "network",
                                        "Network"};
    return says(stream, signs, SMA_COUNT_OF(signs));
}

/* -- the result -------------------------------------------------------------------------------- */
/* Bytes that the character at text takes in a JSON string, at most; *ret_len: its own bytes. */
static size_t json_cost(struct sma_str text, size_t *ret_len)
{
    unsigned char byte = (unsigned char)text.ptr[0];
    *ret_len = 1;
    if (byte == '"' || byte == '\\' || byte == '\n' || byte == '\r' || byte == '\t' ||
        byte == '\b' || byte == '\f')
        return 2;
    if (byte < 0x20)
        return 6;
    if (byte < 0x80)
        return 1;
    size_t len = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    if (byte < 0xc2 || len > text.len || !sma_utf8_is_valid((struct sma_str){text.ptr, len}))
        return 3; /* U+FFFD */
    *ret_len = len;
    return len;
}

static size_t cost_of(struct sma_str text)
{
    size_t cost = 0, len;
    for (size_t at = 0; at < text.len; at += len)
        cost += json_cost((struct sma_str){text.ptr + at, text.len - at}, &len);
    return cost;
}

/* The longest beginning that costs at most `budget`. */
static struct sma_str take_head(struct sma_str text, size_t budget)
{
    size_t cost = 0, len;
    for (size_t at = 0; at < text.len; at += len) {
        cost += json_cost((struct sma_str){text.ptr + at, text.len - at}, &len);
        if (cost > budget)
            return (struct sma_str){text.ptr, at};
    }
    return text;
}

/* The longest end that costs at most `budget`. */
static struct sma_str take_tail(struct sma_str text, size_t budget)
{
    size_t cost = cost_of(text), at = 0, len;
    while (at < text.len && cost > budget) {
        cost -= json_cost((struct sma_str){text.ptr + at, text.len - at}, &len);
        at += len;
    }
    return (struct sma_str){text.ptr + at, text.len - at};
}

/* One stream on its way into a result. */
struct view
{
    struct sma_buf end;        /* ring made straight; whole text if that is known */
    struct sma_str head, tail; /* is_whole: head is all of it */
    bool is_whole;
    uint64_t total;
    size_t cost;
};

static void straighten(const struct sma_exec_stream *stream, struct sma_buf *buf)
{
    size_t first = SMA_EXEC_TAIL_BYTES - stream->tail_begin;
    if (first > stream->tail_len)
        first = stream->tail_len;
    sma_buf_put(buf, stream->tail + stream->tail_begin, first);
    sma_buf_put(buf, stream->tail, stream->tail_len - first);
}

static bool strip_newline(struct sma_str *text)
{
    if (text->len == 0 || text->ptr[text->len - 1] != '\n')
        return false;
    text->len--;
    return true;
}

static void look(const struct sma_exec_stream *stream, struct view *view)
{
    sma_buf_init(&view->end, SMA_EXEC_HEAD_BYTES + SMA_EXEC_TAIL_BYTES + 1);
    view->total = stream->total;
    view->head = sma_buf_str(&stream->head);
    view->is_whole = stream->total <= stream->head.len + stream->tail_len;
    if (stream->tail_len > 0) {
        if (view->is_whole)
            sma_buf_put_str(&view->end, view->head);
        straighten(stream, &view->end);
        view->tail = sma_buf_str(&view->end);
        if (view->is_whole)
            view->head = view->tail;
    } else {
        view->tail = view->head;
    }
    if (view->is_whole)
        (void)strip_newline(&view->head);
    if (strip_newline(&view->tail))
        view->total--;
    /* a ring begins anywhere: not inside a character */
    for (int i = 0; i < 3 && !view->is_whole && view->tail.len > 0 &&
                    ((unsigned char)view->tail.ptr[0] & 0xc0) == 0x80;
         i++) {
        view->tail.ptr++;
        view->tail.len--;
    }
    view->cost = view->is_whole ? cost_of(view->head) : SIZE_MAX;
}

static void put_left_out(struct sma_buf *buf, uint64_t count,
                         const struct sma_exec_outcome *outcome)
{
    char line[NOTE_BYTES_MAX];
    if (outcome->log.len == 0)
        snprintf(line, sizeof line, "\n[... %llu bytes left out ...]\n", (unsigned long long)count);
    else
        snprintf(line, sizeof line,
                 "\n[... %llu bytes left out; read_more with handle \".ship/logs/exec/%.*s\" has "
                 "%s ...]\n",
                 (unsigned long long)count, (int)outcome->log.len, outcome->log.ptr,
                 outcome->is_log_cut ? "more of it" : "all of it");
    sma_buf_put_json_escaped(buf, sma_str(line));
}

/* @return whether something was left out */
static bool put_stream(struct sma_buf *buf, const char *key, const struct view *view, size_t budget,
                       const struct sma_exec_outcome *outcome)
{
    sma_buf_put_json_key(buf, key);
    if (view->cost <= budget) {
        sma_buf_put_json_string(buf, view->head);
        return false;
    }
    struct sma_str head = take_head(view->head, budget / 2);
    struct sma_str tail = take_tail(view->tail, budget - budget / 2);
    if (!view->is_whole) /* a character cut by the head's end is neither here nor there */
        head.len = sma_utf8_cut(head, head.len);
    sma_buf_put_char(buf, '"');
    sma_buf_put_json_escaped(buf, head);
    put_left_out(buf, view->total - head.len - tail.len, outcome);
    sma_buf_put_json_escaped(buf, tail);
    sma_buf_put_char(buf, '"');
    return true;
}

/* Each gets what it needs when both fit, else what the other leaves, at least half. */
static size_t share(size_t own, size_t other, size_t whole)
{
    if (own <= whole / 2)
        return own;
    return other <= whole / 2 ? whole - other : whole / 2;
}

bool sma_exec_put_result(struct sma_buf *buf, const struct sma_exec_stream *out,
                         const struct sma_exec_stream *err, const struct sma_exec_outcome *outcome)
{
    struct view views[2] = {{.is_whole = false}};
    look(out, &views[0]);
    look(err, &views[1]);
    bool is_success = outcome->has_exit_code && outcome->exit_code == 0;
    sma_buf_put_text(buf, is_success ? "{\"success\":true" : "{\"success\":false");
    if (outcome->has_exit_code) {
        sma_buf_put_json_key(buf, "exitCode");
        sma_buf_put_i64(buf, outcome->exit_code);
    }
    size_t whole = SMA_TOOL_RESULT_BYTES_MAX - RESULT_FRAME_BYTES;
    bool is_cut =
        put_stream(buf, "stdout", &views[0], share(views[0].cost, views[1].cost, whole), outcome);
    is_cut =
        put_stream(buf, "stderr", &views[1], share(views[1].cost, views[0].cost, whole), outcome) ||
        is_cut;
    sma_buf_put_json_key(buf, "timedOut");
    sma_buf_put_text(buf, outcome->is_timed_out ? "true" : "false");
    sma_buf_put_json_key(buf, "truncated");
    sma_buf_put_text(buf, is_cut ? "true" : "false");
    if (outcome->log.len > 0) {
        sma_buf_put_json_key(buf, "logPath");
        sma_buf_put_text(buf, "\".ship/logs/exec/");
        sma_buf_put_json_escaped(buf, outcome->log);
        sma_buf_put_char(buf, '"');
    }
    if (outcome->note.len > 0) {
        sma_buf_put_json_key(buf, "note");
        sma_buf_put_json_string(
            buf, (struct sma_str){outcome->note.ptr, sma_utf8_cut(outcome->note, NOTE_BYTES_MAX)});
    }
    sma_buf_put_char(buf, '}');
    for (size_t i = 0; i < 2; i++) {
        if (views[i].end.err != SMA_ERR_OK)
            buf->err = views[i].end.err;
        sma_buf_fini(&views[i].end);
    }
    return is_success;
}
