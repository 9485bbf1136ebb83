/*
 * feed.c — GET /api/runs/:id/events: what happens in a run, as EventSource reads it.
 *
 * What a run has told so far is kept with its watch (tale.h) from the first reader on until its
 * result: the text of now, and the other events, numbered together. The text is sent whole once and
 * then as what is added to it; each event's id says how far its reader is, so that one who comes
 * again (Last-Event-ID) misses nothing and hears nothing twice. After a restart of the service
 * numbers are others: a reader is told what there is.
 *
 * A text is told in pieces, one a turn of the loop and reader, and the next when it is written: a
 * reader that does not keep up costs nothing, and is told the rest when it does.
 */
#include "http_priv.h"
#include "tale.h"

#include <stdio.h>

#define RETRY "retry: 3000\n\n"

static struct http_tale *tale_of(struct sma_http *http, uint32_t watch)
{
    struct http_watch *at = &http->watches[watch];
    uint32_t epoch;
    if (at->tale == NULL) {
        http->sys->random_bytes(http->sys->self, &epoch, sizeof epoch);
        at->tale = http_tale_create(epoch);
    }
    return at->tale;
}

/* -- what a reader has heard ------------------------------------------------------------------- */
/* "17-9f2c0a11-5": epoch and number; anything else has heard nothing. */
static bool read_place(const struct http_conn *conn, uint32_t epoch, uint32_t *ret_number)
{
    unsigned long long seq;
    unsigned their_epoch, number;
    char rest;
    if (sscanf(conn->last_event, "%llu-%8x-%9u%c", &seq, &their_epoch, &number, &rest) != 3 ||
        seq != conn->seq || their_epoch != epoch)
        return false;
    *ret_number = number;
    return true;
}

/* The id of the event that ends a stream. */
static void put_end_id(const struct http_conn *conn, const struct sma_result *result, char id[80])
{
    static const char mark[] = "{\"id\":\"";
    struct sma_str pending = result->pending_json;
    int len = 0;
    if (result->state == SMA_RUN_PARKED && sma_str_starts_with(pending, SMA_STR("{\"id\":\""))) {
        const char *from = pending.ptr + sizeof mark - 1;
        len = (int)strcspn(from, "\"");
        (void)snprintf(id, 80, "%llu-parked-%.*s", (unsigned long long)conn->seq,
                       len > 40 ? 40 : len, from);
        return;
    }
    (void)snprintf(id, 80, "%llu-%s", (unsigned long long)conn->seq,
                   result->state == SMA_RUN_PARKED ? "parked" : "done");
}

/* -- telling ----------------------------------------------------------------------------------- */
static bool has_backlog(const struct http_conn *conn)
{
    return conn->out.len + conn->sending.len > HTTP_STREAM_BACKLOG_BYTES;
}

static bool has_all_text(const struct http_conn *conn, const struct http_tale *tale)
{
    return !conn->feed_resets && conn->feed_told == tale->text.len;
}

static void put_id(struct sma_buf *buf, uint64_t seq, const struct http_tale *tale, uint32_t number)
{
    sma_buf_printf(buf, "id: %llu-%08x-%u\n", (unsigned long long)seq, tale->epoch, number);
}

/* The next piece, which ends behind a whole character. */
static struct sma_str next_piece(const struct http_conn *conn, const struct http_tale *tale)
{
    size_t from = conn->feed_resets ? 0 : conn->feed_told, len = tale->text.len - from;
    if (len > HTTP_FEED_PIECE_BYTES) {
        len = HTTP_FEED_PIECE_BYTES;
        while (len > 1 && ((uint8_t)tale->text.ptr[from + len] & 0xC0) == 0x80)
            len--;
    }
    return (struct sma_str){tale->text.ptr + from, len};
}

/* What is new of the text, from its beginning or where the reader is. In pieces: with hundreds of
 * readers a long text would hold up everybody else's requests, and be held as often as they are. */
static void tell_text(struct http_conn *conn, const struct http_tale *tale)
{
    if (has_all_text(conn, tale) || conn->is_writing)
        return;
    struct sma_buf json;
    struct sma_str piece = next_piece(conn, tale);
    size_t told = (size_t)(piece.ptr - tale->text.ptr) + piece.len;
    sma_buf_init(&json, HTTP_RESPONSE_BYTES_MAX);
    sma_buf_put_text(&json, "{\"text\":");
    sma_buf_put_json_string(&json, piece);
    sma_buf_put_char(&json, '}');
    if (json.err == SMA_ERR_OK) {
        conn->is_paced = told < tale->text.len;
        if (!conn->is_paced) /* a number says that all of the text was heard */
            put_id(&conn->out, conn->seq, tale, tale->text_number);
        http_put_event(conn, conn->feed_resets ? "progress" : "delta", sma_buf_str(&json));
        conn->feed_resets = false;
        conn->feed_told = told;
    }
    sma_buf_fini(&json);
}

void http_feed_more(struct http_conn *conn)
{
    const struct http_tale *tale =
        conn->watch == HTTP_NONE ? NULL : conn->server->watches[conn->watch].tale;
    conn->is_paced = false;
    if (tale == NULL || has_all_text(conn, tale))
        return;
    tell_text(conn, tale);
    http_conn_flush(conn);
}

/* Whether readers go on from where they are, or are told the whole text again. */
static bool take_text(struct http_tale *tale, struct sma_str text)
{
    bool is_longer = text.len >= tale->text.len &&
                     (tale->text.len == 0 || memcmp(text.ptr, tale->text.ptr, tale->text.len) == 0);
    size_t from = is_longer ? tale->text.len : 0;
    if (!is_longer)
        sma_buf_clear(&tale->text);
    sma_buf_put(&tale->text, text.ptr + from, text.len - from);
    if (tale->text.err != SMA_ERR_OK) { /* longer than anybody reads: from here on it is not told */
        sma_buf_fini(&tale->text);
        sma_buf_init(&tale->text, TALE_TEXT_BYTES_MAX);
        return false;
    }
    return is_longer;
}

static void keep_frame(struct http_tale *tale, uint64_t seq, const char *name, struct sma_str json)
{
    if (tale->mark_count == TALE_MARK_COUNT || tale->frames.err != SMA_ERR_OK)
        return; /* one who comes again has missed more than that */
    tale->marks[tale->mark_count].number = tale->number;
    tale->marks[tale->mark_count++].at = tale->frames.len;
    put_id(&tale->frames, seq, tale, tale->number);
    sma_buf_printf(&tale->frames, "event: %s\ndata: ", name);
    sma_buf_put_str(&tale->frames, json);
    sma_buf_put_text(&tale->frames, "\n\n");
    if (tale->frames.err != SMA_ERR_OK)
        tale->mark_count--;
}

static void tell_all(struct sma_http *http, uint32_t watch, bool is_text, bool resets,
                     const char *name, struct sma_str json)
{
    const struct http_tale *tale = http->watches[watch].tale;
    uint64_t seq = http->watches[watch].seq;
    uint32_t index = http->watches[watch].first_conn;
    while (index != HTTP_NONE) {
        struct http_conn *conn = http->conns[index];
        index = conn->watch_next;
        if (conn->state != HTTP_STREAM || !conn->is_feed)
            continue;
        conn->feed_resets |= resets;
        if (is_text) {
            tell_text(conn, tale);
        } else if (has_backlog(conn)) {
            http_conn_close(conn); /* it comes again, and hears what it has missed */
            continue;
        } else {
            if (has_all_text(conn, tale)) /* else its id would say that it has heard the text */
                put_id(&conn->out, seq, tale, tale->number);
            http_put_event(conn, name, json);
        }
        http_conn_flush(conn);
    }
}

void http_feed_progress(struct sma_http *http, uint32_t watch, const struct sma_progress *progress,
                        const char *name, struct sma_str json)
{
    struct http_tale *tale = http->watches[watch].tale;
    if (tale == NULL)
        return; /* nobody reads events of this run */
    tale->number++;
    if (progress->kind == SMA_PROGRESS_TEXT) {
        tale->text_number = tale->number;
        bool goes_on = take_text(tale, progress->text);
        tell_all(http, watch, true, !goes_on, NULL, SMA_STR(""));
        return;
    }
    if (progress->kind == SMA_PROGRESS_STARTED)
        name = "started";
    keep_frame(tale, http->watches[watch].seq, name, json);
    tell_all(http, watch, false, false, name, json);
}

/* -- a reader comes ---------------------------------------------------------------------------- */
/* What there is and it has not heard. */
static void tell_past(struct http_conn *conn, const struct http_tale *tale)
{
    uint32_t heard = 0;
    bool has_heard = read_place(conn, tale->epoch, &heard);
    for (uint32_t i = 0; i < tale->mark_count; i++) {
        size_t end = i + 1 < tale->mark_count ? tale->marks[i + 1].at : tale->frames.len;
        if (!has_heard || tale->marks[i].number > heard)
            sma_buf_put(&conn->out, tale->frames.ptr + tale->marks[i].at, end - tale->marks[i].at);
    }
    bool has_text = has_heard && tale->text_number <= heard;
    conn->feed_told = has_text ? tale->text.len : 0;
    conn->feed_resets = !has_text && tale->text.len > 0;
    tell_text(conn, tale);
}

static bool is_over(const struct sma_result *result)
{
    return result->state == SMA_RUN_DONE || result->state == SMA_RUN_FAILED ||
           result->state == SMA_RUN_CANCELLED || result->state == SMA_RUN_PARKED;
}

void http_feed_end(struct http_conn *conn, const struct sma_result *result, struct sma_str json)
{
    if (is_over(result)) {
        char id[80];
        put_end_id(conn, result, id);
        sma_buf_printf(&conn->out, "id: %s\n", id);
        http_put_event(conn, "result", json);
    }
    http_conn_finish(conn); /* else it comes again by itself */
}

bool http_feed_peeked(struct http_conn *conn, const struct sma_result *result, struct sma_str json)
{
    char end[80];
    put_end_id(conn, result, end);
    if (is_over(result) && strcmp(end, conn->last_event) == 0) {
        http_respond_empty(conn, NULL); /* EventSource asks no more then */
        return false;
    }
    conn->state = HTTP_STREAM;
    conn->wait_end_ns = http_now(conn->server) + SMA_HTTP_WAIT_S * SMA_NS_PER_S;
    http_put_stream_head(conn);
    sma_buf_put_text(&conn->out, RETRY);
    if (is_over(result))
        http_feed_end(conn, result, json);
    return !is_over(result);
}

void http_feed_begin(struct http_conn *conn, struct sma_str json)
{
    http_put_event(conn, "state", json);
    const struct http_tale *tale = tale_of(conn->server, conn->watch);
    if (tale != NULL)
        tell_past(conn, tale);
    http_conn_deadline_in(conn, HTTP_STREAM_BEAT_S * SMA_NS_PER_S);
    http_conn_flush(conn);
}

bool http_feed_open(struct http_conn *conn, const struct sma_http_request *request)
{
    if (request->method == SMA_HTTP_HEAD) {
        http_respond(conn, 200, "text/event-stream; charset=utf-8", SMA_STR(""), NULL);
        return false;
    }
    if (!http_watch_has_room(conn->server)) {
        http_respond_error(conn, 503, "Retry-After: 1\r\n",
                           "Too many callers are waiting for results: try again");
        return false;
    }
    struct sma_str last = request->last_event_id;
    (void)snprintf(conn->last_event, sizeof conn->last_event, "%.*s",
                   last.len < sizeof conn->last_event ? (int)last.len : 0,
                   last.len == 0 ? "" : last.ptr);
    conn->is_feed = true;
    return true;
}
