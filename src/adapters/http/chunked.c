/* chunked.c — see chunked.h. One byte after the other, but for the data. */
#include "chunked.h"

#include "sma/limits.h"

#include <string.h>

#define DIGIT_COUNT_MAX 16

enum phase
{
    SIZE,  /* digits */
    BLANK, /* between size and extension */
    EXTENSION,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER, /* a line begins */
    TRAILER_LINE,
    TRAILER_LF,
    END_LF,
    WHOLE,
};

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_plain(char c)
{
    return (unsigned char)c >= 0x20 ? c != 0x7f : c == '\t';
}

/* A line of a size, behind its digits. */
static enum sma_err read_size_end(struct sma_http_chunks *chunks, char c)
{
    if (c == '\r' && chunks->phase != BLANK)
        chunks->phase = SIZE_LF;
    else if (c == ';')
        chunks->phase = EXTENSION;
    else if (chunks->phase == EXTENSION && is_plain(c))
        return SMA_ERR_OK;
    else if (chunks->phase != EXTENSION && (c == ' ' || c == '\t'))
        chunks->phase = BLANK; /* allowed before an extension, and nowhere else */
    else
        return SMA_ERR_BADINPUT;
    return SMA_ERR_OK;
}

static enum sma_err read_size(struct sma_http_chunks *chunks, char c)
{
    int digit = hex_of(c);
    if (digit < 0)
        return chunks->digit_count == 0 ? SMA_ERR_BADINPUT : read_size_end(chunks, c);
    if (++chunks->digit_count > DIGIT_COUNT_MAX)
        return SMA_ERR_BADINPUT;
    chunks->left = chunks->left << 4 | (unsigned)digit;
    return SMA_ERR_OK;
}

static enum sma_err expect(struct sma_http_chunks *chunks, char c, char wanted, enum phase next)
{
    chunks->phase = (uint8_t)next;
    return c == wanted ? SMA_ERR_OK : SMA_ERR_BADINPUT;
}

static enum sma_err begin_data(struct sma_http_chunks *chunks, uint64_t body_bytes_max)
{
    chunks->digit_count = 0;
    chunks->phase = chunks->left == 0 ? TRAILER : DATA;
    return chunks->left > body_bytes_max - chunks->body_bytes ? SMA_ERR_TOOBIG : SMA_ERR_OK;
}

/* Trailers are dropped; a line that begins with a space would belong to the one before it. */
static enum sma_err read_trailer(struct sma_http_chunks *chunks, char c)
{
    if (c == '\r')
        chunks->phase = chunks->phase == TRAILER ? END_LF : TRAILER_LF;
    else if (!is_plain(c) || (chunks->phase == TRAILER && (c == ' ' || c == '\t' || c == ':')))
        return SMA_ERR_BADINPUT;
    else
        chunks->phase = TRAILER_LINE;
    return SMA_ERR_OK;
}

/* Anything but data. */
static enum sma_err read_byte(struct sma_http_chunks *chunks, char c, uint64_t body_bytes_max)
{
    switch (chunks->phase) {
    case SIZE:
        return read_size(chunks, c);
    case BLANK:
    case EXTENSION:
        chunks->extra_bytes++;
        return read_size_end(chunks, c);
    case SIZE_LF:
        return c == '\n' ? begin_data(chunks, body_bytes_max) : SMA_ERR_BADINPUT;
    case DATA_CR:
        return expect(chunks, c, '\r', DATA_LF);
    case DATA_LF:
        return expect(chunks, c, '\n', SIZE);
    case TRAILER:
    case TRAILER_LINE:
        chunks->extra_bytes++;
        return read_trailer(chunks, c);
    case TRAILER_LF:
        return expect(chunks, c, '\n', TRAILER);
    default:
        return expect(chunks, c, '\n', WHOLE);
    }
}

enum sma_err sma_http_chunks_read(struct sma_http_chunks *chunks, uint64_t body_bytes_max,
                                  struct sma_http_chunk_bytes *bytes)
{
    bytes->used = bytes->made = 0;
    while (bytes->used < bytes->len && chunks->phase != WHOLE) {
        if (chunks->phase != DATA) {
            SMA_TRY(read_byte(chunks, bytes->ptr[bytes->used++], body_bytes_max));
            if (chunks->extra_bytes > SMA_HTTP_HEADER_BYTES_MAX)
                return SMA_ERR_BADINPUT;
            continue;
        }
        size_t rest = bytes->len - bytes->used;
        size_t count = chunks->left < rest ? (size_t)chunks->left : rest;
        memmove(bytes->ptr + bytes->made, bytes->ptr + bytes->used, count);
        bytes->used += count;
        bytes->made += count;
        chunks->left -= count;
        chunks->body_bytes += count;
        if (chunks->left == 0)
            chunks->phase = DATA_CR;
    }
    return chunks->phase == WHOLE ? SMA_ERR_OK : SMA_ERR_EMPTY;
}
