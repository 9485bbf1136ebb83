/* openapi.h — docs/openapi.json, made part of the program when it is built. */
#ifndef SMA_HTTP_OPENAPI_H
#define SMA_HTTP_OPENAPI_H

#include <stddef.h>

extern const char http_openapi_bytes[];
extern const size_t http_openapi_len;

#endif
