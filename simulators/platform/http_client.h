/*
 * http_client.h — the smallest HTTP/1.1 client that can be cut anywhere: one request a connection,
 * blocking, with a deadline. The simulators post webhooks with it; test drivers ask with it.
 */
#ifndef PLATFORM_HTTP_CLIENT_H
#define PLATFORM_HTTP_CLIENT_H

#include <stddef.h>

struct http_answer
{
    int status; /* 0: no complete answer came */
    char *body; /* malloc'ed, NUL-terminated; NULL when status is 0 */
    size_t len;
    char cookie[160]; /* what Set-Cookie says; "" = it is not there */
};
struct http_request
{
    int port; /* of 127.0.0.1 */
    const char *method, *path;
    const char *headers; /* lines, each ending in CR LF, or "" */
    const char *body;    /* NULL: none, and no Content-Length */
    size_t body_len;
    int timeout_ms; /* of each step */
};
/** Thread: any. */
struct http_answer http_exchange(const struct http_request *request);
/** POST with a body of JSON; headers: more lines. */
struct http_answer http_post(int port, const char *path, const char *headers, const char *body,
                             int timeout_ms);
void http_answer_fini(struct http_answer *answer);

#endif
