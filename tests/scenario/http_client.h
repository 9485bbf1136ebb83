/*
 * http_client.h — the smallest HTTP/1.1 client that can be cut anywhere: one request a connection, blocking, with a
 * deadline. For test drivers only.
 */
#ifndef SMA_TEST_HTTP_CLIENT_H
#define SMA_TEST_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

struct http_answer
{
    int status; /* 0: no complete answer came */
    char *body; /* malloc'ed, NUL-terminated; NULL when status is 0 */
    size_t len;
};

/**
 * POST (body != NULL) or GET on 127.0.0.1:port.
 * @headers  extra header lines, each ending in CRLF, or ""
 */
struct http_answer http_ask(int port, const char *path, const char *headers, const char *body,
                            int timeout_ms);
/** Any method; the content type is the caller's affair. body NULL: none. */
struct http_answer http_call(int port, const char *method, const char *path, const char *headers,
                             const char *body, size_t body_len, int timeout_ms);
void http_answer_fini(struct http_answer *answer);

#endif
