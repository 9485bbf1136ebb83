/*
 * chunked.h — the chunked transfer coding of a request's body, undone in place. Pure.
 *
 * Source: RFC 9112 §7.1. As strict as request.h: bare LF, a sign, a space inside a size and control
 * characters are errors. Extensions and trailers are read and dropped.
 * Limits: a size has at most 16 digits; extensions, trailers and what surrounds them 8 KiB
 *         together (SMA_HTTP_HEADER_BYTES_MAX); the body what the caller says.
 */
#ifndef SMA_HTTP_CHUNKED_H
#define SMA_HTTP_CHUNKED_H

#include "sma/buf.h"

struct sma_http_chunks
{
    uint64_t left;       /* bytes of this chunk that have not come */
    uint64_t body_bytes; /* decoded so far */
    uint32_t extra_bytes;
    uint8_t phase, digit_count;
};

/* What came since the last call, and what was made of it. */
struct sma_http_chunk_bytes
{
    char *ptr;   /* decoded bytes take their place from the front */
    size_t len;  /* of what came */
    size_t used; /* out: so many were read: all, unless the body is whole */
    size_t made; /* out: so many decoded ones stand at the front */
};

/**
 * Decode what has come.
 * @chunks  zeros at first; keeps where it stands between calls
 * @return OK: the body is whole | EMPTY: more is to come | BADINPUT | TOOBIG: over body_bytes_max
 */
SMA_CHECKED enum sma_err sma_http_chunks_read(struct sma_http_chunks *chunks,
                                              uint64_t body_bytes_max,
                                              struct sma_http_chunk_bytes *bytes);

#endif
