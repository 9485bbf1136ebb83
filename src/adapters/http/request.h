/*
 * request.h — the head of an HTTP/1.1 request as slices of the bytes it was read from. Pure, no
 * state.
 *
 * Source: RFC 9112 §2–§6. Strict where leniency has been an attack: bare LF, obs-fold, space before
 * the colon, two Content-Length, two Transfer-Encoding, one beside the other, Transfer-Encoding in
 * HTTP/1.0 and control characters are errors, not guesses.
 */
#ifndef SMA_HTTP_REQUEST_H
#define SMA_HTTP_REQUEST_H

#include "sma/buf.h"

enum sma_http_method
{
    SMA_HTTP_GET,
    SMA_HTTP_HEAD,
    SMA_HTTP_POST,
    SMA_HTTP_DELETE,
    SMA_HTTP_OPTIONS,
    SMA_HTTP_OTHER, /* a well-formed method this server does not serve */
};
struct sma_http_request
{
    enum sma_http_method method;
    struct sma_str path, query; /* query without '?' */
    struct sma_str headers;     /* all header lines, each with CR LF */
    struct sma_str host, origin, authorization, api_token, accept, prefer;
    struct sma_str idempotency_key, last_event_id, preflight_method, chat_id, cookie, page_key;
    uint64_t content_bytes; /* of the body; 0 = none */
    size_t head_bytes;      /* up to and including the empty line */
    bool has_host, has_origin, has_authorization, has_api_token;
    bool has_idempotency_key, has_last_event_id, has_preflight_method, has_chat_id, has_cookie;
    bool has_page_key;
    /* is_chunked: the one coding that is read; with another one has_transfer_encoding alone */
    bool has_transfer_encoding, is_chunked, is_keep_alive, expects_continue;
};

/**
 * Read a head from bytes (which must start with a method, see sma_http_skip_blank).
 * @scanned     bytes known not to end the head (0 at first); the search goes on from there
 * @ret_request slices into bytes
 * @ret_status  the HTTP status to answer with on BADINPUT and TOOBIG
 * @return OK | EMPTY (more bytes needed) | BADINPUT | TOOBIG (head over head_bytes_max)
 */
SMA_CHECKED enum sma_err sma_http_request_parse(struct sma_str bytes, size_t scanned,
                                                size_t head_bytes_max,
                                                struct sma_http_request *ret_request,
                                                int *ret_status);
/** The value of the first header of this name; empty: there is none. */
struct sma_str sma_http_header_get(const struct sma_http_request *request, const char *name);
/** Append the decoded text of a part of the path: as below, but '+' is itself. */
SMA_CHECKED enum sma_err sma_http_path_get(struct sma_str part, struct sma_buf *buf);
/** The value of a header as a string of RFC 8941, or as it stands without quotes; empty, quotes or
 *  backslashes inside are BADINPUT. A slice of it. */
SMA_CHECKED enum sma_err sma_http_string_get(struct sma_str value, struct sma_str *ret_text);
/** Bytes of empty lines (CR LF) at the start of bytes: RFC 9112 §2.2 lets a client send them before
 *  a request. */
size_t sma_http_skip_blank(struct sma_str bytes);
/** A header list contains this member ("text/event-stream", "respond-async"); parameters are
 *  ignored. */
bool sma_http_list_has(struct sma_str list, struct sma_str member);
/** Append the decoded value of ?name=...; NOTFOUND | BADINPUT (broken escape). */
SMA_CHECKED enum sma_err sma_http_query_get(struct sma_str query, struct sma_str name,
                                            struct sma_buf *buf);

#endif
