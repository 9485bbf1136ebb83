/* response.c — status lines, headers, error bodies and event-stream framing. */
#include "http_priv.h"

#include <stdarg.h>
#include <stdio.h>

static const char *reason_of(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 202:
        return "Accepted";
    case 204:
        return "No Content";
    case 302:
        return "Found";
    case 304:
        return "Not Modified";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 406:
        return "Not Acceptable";
    case 408:
        return "Request Timeout";
    case 409:
        return "Conflict";
    case 410:
        return "Gone";
    case 413:
        return "Content Too Large";
    case 422:
        return "Unprocessable Content";
    case 426:
        return "Upgrade Required";
    case 429:
        return "Too Many Requests";
    case 431:
        return "Request Header Fields Too Large";
    case 500:
        return "Internal Server Error";
    case 501:
        return "Not Implemented";
    case 503:
        return "Service Unavailable";
    case 504:
        return "Gateway Timeout";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "Error";
    }
}

/* What browsers may make of an answer of the API: nothing. It is no page, no frame, and no other
 * site's to include. */
#define API_POLICY                                                                     \
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"                   \
    "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'; sandbox\r\n" \
    "Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n"    \
    "X-Frame-Options: DENY\r\n"
/* The files of public/ may have been written by anybody who writes in the project. A sandboxed page
 * has an origin of its own ("null"), so its script is a stranger to the API, to our cookies and to
 * our storage; its own style and script come to it from another origin, therefore cross-origin. */
#define PAGE_POLICY                                                                  \
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"                 \
    "Content-Security-Policy: sandbox allow-scripts; default-src 'none'; "           \
    "script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "          \
    "img-src 'self' data:; font-src data:; connect-src 'none'; form-action 'none'; " \
    "base-uri 'none'; frame-ancestors 'none'\r\n"                                    \
    "Cross-Origin-Resource-Policy: cross-origin\r\nReferrer-Policy: no-referrer\r\n" \
    "X-Frame-Options: DENY\r\n"

void http_respond_as(struct http_conn *conn, int status, const char *type, struct sma_str body,
                     const char *policy, const char *extra)
{
    struct sma_buf *out = &conn->out;
    if (status >= 400)
        SMA_METRIC_ADD(http_rejected_total, 1);
    sma_buf_put_text(out, "HTTP/1.1 ");
    sma_buf_put_u64(out, (uint64_t)status);
    sma_buf_put_char(out, ' ');
    sma_buf_put_text(out, reason_of(status));
    sma_buf_put_text(out, "\r\n");
    if (status != 204 && status != 304) {
        sma_buf_put_text(out, "Content-Type: ");
        sma_buf_put_text(out, type);
        sma_buf_put_text(out, "\r\nContent-Length: ");
        sma_buf_put_u64(out, body.len);
        sma_buf_put_text(out, "\r\n");
    }
    sma_buf_put_text(out, policy);
    http_put_cors(conn, out);
    if (extra != NULL)
        sma_buf_put_text(out, extra);
    if (conn->closes_after)
        sma_buf_put_text(out, "Connection: close\r\n");
    sma_buf_put_text(out, "\r\n");
    if (!conn->is_head_only)
        sma_buf_put_str(out, body);
    http_conn_finish(conn);
}

void http_respond(struct http_conn *conn, int status, const char *type, struct sma_str body,
                  const char *extra)
{
    if (conn->guise != NULL)
        conn->guise->respond(conn, status, body);
    else
        http_respond_as(conn, status, type, body, API_POLICY, extra);
}

void http_respond_page(struct http_conn *conn, const char *type, struct sma_str body)
{
    http_respond_as(conn, 200, type, body, PAGE_POLICY, NULL);
}

SMA_PRINTF(4, 0)
static void respond_message(struct http_conn *conn, int status, const char *extra,
                            const char *format, va_list args)
{
    char message[1024];
    vsnprintf(message, sizeof message, format, args);
    struct sma_buf body;
    sma_buf_init(&body, 8192);
    if (conn->dialect != HTTP_DIALECT_OWN) {
        http_openai_put_error(&body, conn, status, sma_str(message));
    } else {
        sma_buf_put_text(&body, "{\"success\":false,\"message\":");
        sma_buf_put_json_string(&body, sma_str(message));
        sma_buf_put_char(&body, '}');
    }
    http_respond(conn, status, HTTP_JSON, sma_buf_str(&body), extra);
    sma_buf_fini(&body);
}

void http_respond_error(struct http_conn *conn, int status, const char *extra, const char *format,
                        ...)
{
    va_list args;
    va_start(args, format);
    respond_message(conn, status, extra, format, args);
    va_end(args);
}

void http_reject(struct http_conn *conn, int status, const char *extra, const char *format, ...)
{
    va_list args;
    conn->closes_after = true;
    va_start(args, format);
    respond_message(conn, status, extra, format, args);
    va_end(args);
}

void http_respond_not_found(struct http_conn *conn, struct sma_str path)
{
    if (sma_str_starts_with(path, SMA_STR("/api/")) || conn->dialect != HTTP_DIALECT_OWN)
        http_respond_error(conn, 404, NULL, "404 Not Found");
    else /* where pages are; the words of the old program */
        http_respond(conn, 404, "text/plain; charset=utf-8", SMA_STR("404 Not Found"), NULL);
}

void http_respond_empty(struct http_conn *conn, const char *extra)
{
    http_respond_as(conn, 204, NULL, SMA_STR(""), API_POLICY, extra);
}

void http_put_stream_head(struct http_conn *conn)
{
    conn->closes_after =
        true; /* the end of the stream is the end of the connection: no length is known */
    sma_buf_put_text(
        &conn->out,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n" API_POLICY
        "X-Accel-Buffering: no\r\nConnection: close\r\n");
    http_put_cors(conn, &conn->out);
    sma_buf_put_text(&conn->out, "\r\n");
}

void http_put_event(struct http_conn *conn, const char *name, struct sma_str json)
{
    if (conn->guise != NULL) {
        conn->guise->event(conn, name, json);
        return;
    }
    sma_buf_put_text(&conn->out, "event: ");
    sma_buf_put_text(&conn->out, name);
    sma_buf_put_text(&conn->out,
                     "\ndata: "); /* JSON has no raw line end, so one data line holds it */
    sma_buf_put_str(&conn->out, json);
    sma_buf_put_text(&conn->out, "\n\n");
}
