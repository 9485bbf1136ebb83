/*
 * http_client.h — a test driver's requests to a service: with the API token of its folder unless it
 * says otherwise.
 */
#ifndef SMA_TEST_HTTP_CLIENT_H
#define SMA_TEST_HTTP_CLIENT_H

#include "platform/http_client.h"

#include <stdbool.h>
#include <stddef.h>

#define HTTP_AS_STRANGER "X-Caller: stranger\r\n"

/** What http_ask and http_call send to this port unless the headers name one: the token in the file
 *  of the service's folder. Nothing when it is not there. Thread: any. */
void http_use_token_of(int port, const char *folder);
/** The token used for this port; "" = none. */
void http_token_of(int port, char ret_token[128]);

/**
 * POST (body != NULL) or GET on 127.0.0.1:port.
 * @headers  extra header lines, each ending in CRLF, or ""; HTTP_AS_STRANGER: without a token
 */
struct http_answer http_ask(int port, const char *path, const char *headers, const char *body,
                            int timeout_ms);
/** Any method; the content type is the caller's affair. body NULL: none. */
struct http_answer http_call(int port, const char *method, const char *path, const char *headers,
                             const char *body, size_t body_len, int timeout_ms);

#endif
