/*
 * Everything that reads bytes of an HTTP client. The first byte chooses the reader: '0' a head, '1'
 * the body of POST /api/execute, '2' a query string, '3' a body in chunks, '4' the value of a
 * header or a part of a path. Promises under test, besides not crashing: every slice lies inside
 * the head, and a head or a body that comes in pieces is read as one that comes whole.
 */
#include "fuzz.h"

#include "adapters/http/http_priv.h"

#include <stdlib.h>

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void require_inside(struct sma_str part, struct sma_str whole)
{
    require(part.len == 0 || (part.ptr >= whole.ptr && part.len <= whole.len &&
                              part.ptr - whole.ptr <= (ptrdiff_t)(whole.len - part.len)));
}

static void require_line_safe(struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++)
        require(text.ptr[i] != '\r' && text.ptr[i] != '\n' && text.ptr[i] != '\0');
}

static void check_slices(const struct sma_http_request *request, struct sma_str bytes)
{
    struct sma_str head = {bytes.ptr, request->head_bytes};
    const struct sma_str parts[] = {
        request->path,          request->query,           request->host,
        request->origin,        request->api_token,       request->accept,
        request->authorization, request->prefer,          request->idempotency_key,
        request->last_event_id, request->preflight_method};
    require(request->head_bytes >= 4 && request->head_bytes <= bytes.len);
    require(memcmp(bytes.ptr + request->head_bytes - 4, "\r\n\r\n", 4) == 0);
    require(request->path.len > 0);
    for (size_t i = 0; i < SMA_COUNT_OF(parts); i++) {
        require_inside(parts[i], head);
        require_line_safe(parts[i]);
    }
    require(!request->has_transfer_encoding || request->content_bytes == 0);
    require(!request->is_chunked || request->has_transfer_encoding);
    struct sma_str value;
    (void)http_route_find(request->method, request->path, &value);
    require_inside(value, head);
}

static void check_head(struct sma_str bytes)
{
    struct sma_http_request whole = {0}, part = {0};
    int status = 0, part_status = 0;
    size_t blank = sma_http_skip_blank(bytes);
    require(blank <= bytes.len);
    bytes = (struct sma_str){bytes.ptr + blank, bytes.len - blank};
    enum sma_err err = sma_http_request_parse(bytes, 0, 8192, &whole, &status);
    require(err == SMA_ERR_OK || err == SMA_ERR_EMPTY || (status >= 400 && status < 600));
    size_t scanned = 0;
    for (size_t len = 1; len <= bytes.len && len < 512; len++) {
        enum sma_err now = sma_http_request_parse((struct sma_str){bytes.ptr, len}, scanned, 8192,
                                                  &part, &part_status);
        if (now == SMA_ERR_EMPTY) {
            scanned = len;
            continue;
        }
        require(now == err && (err != SMA_ERR_OK || part.head_bytes == whole.head_bytes));
        require(err == SMA_ERR_OK || part_status == status);
        break;
    }
    if (err == SMA_ERR_OK)
        check_slices(&whole, bytes);
}

static void check_body(struct sma_str bytes)
{
    struct http_execute_body body;
    struct sma_error error = {0};
    if (http_execute_parse(bytes, &body, &error) != SMA_ERR_OK) {
        require(error.text[0] != '\0');
        return;
    }
    require(body.instructions.len > 0 || body.attachments != NULL);
    require(body.chat_id.len > 0 && body.user_id.len > 0);
    require(sma_utf8_is_valid(body.instructions) && body.message_id.len <= SMA_ID_BYTES_MAX);
    http_execute_fini(&body);
}

static void check_query(struct sma_str query)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 1 << 16);
    enum sma_err err = sma_http_query_get(query, SMA_STR("wait"), &buf);
    require(err != SMA_ERR_OK || buf.len <= query.len);
    sma_buf_fini(&buf);
    (void)sma_http_list_has(query, SMA_STR("text/event-stream"));
}

struct decoded
{
    enum sma_err err;
    uint64_t body_bytes, hash;
    size_t used;
};

/* In pieces of so many bytes. */
static struct decoded decode(struct sma_str bytes, size_t piece, uint64_t body_bytes_max)
{
    static const uint8_t key[16] = {7};
    struct decoded result = {.err = SMA_ERR_EMPTY};
    struct sma_http_chunks chunks = {0};
    char *body = malloc(bytes.len + 1), *part = malloc(piece);
    size_t body_len = 0;
    require(body != NULL && part != NULL);
    while (result.err == SMA_ERR_EMPTY && result.used < bytes.len) {
        size_t rest = bytes.len - result.used;
        struct sma_http_chunk_bytes some = {.ptr = part, .len = rest < piece ? rest : piece};
        memcpy(part, bytes.ptr + result.used, some.len);
        result.err = sma_http_chunks_read(&chunks, body_bytes_max, &some);
        require(some.made <= some.used && some.used <= some.len);
        require(result.err != SMA_ERR_EMPTY || some.used == some.len);
        memcpy(body + body_len, part, some.made);
        body_len += some.made;
        result.used += some.used;
    }
    require(body_len == chunks.body_bytes && body_len <= body_bytes_max);
    result.body_bytes = body_len;
    result.hash = sma_siphash(key, body, body_len);
    free(body);
    free(part);
    return result;
}

static void check_chunks(struct sma_str bytes)
{
    static const size_t pieces[] = {1, 2, 3, 7, 64, 4096};
    struct decoded whole = decode(bytes, bytes.len + 1, 300);
    for (size_t i = 0; i < SMA_COUNT_OF(pieces); i++) {
        struct decoded part = decode(bytes, pieces[i], 300);
        require(part.err == whole.err && part.used == whole.used);
        require(part.body_bytes == whole.body_bytes && part.hash == whole.hash);
    }
}

static void check_value(struct sma_str value)
{
    struct sma_str text;
    struct sma_buf buf;
    if (sma_http_string_get(value, &text) == SMA_ERR_OK) {
        require(text.len > 0 && memchr(text.ptr, '"', text.len) == NULL);
        require_inside(text, value);
    }
    sma_buf_init(&buf, 1 << 16);
    require(sma_http_path_get(value, &buf) != SMA_ERR_OK || buf.len <= value.len);
    sma_buf_fini(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    struct sma_str rest = {(const char *)bytes + 1, len - 1};
    if (bytes[0] == '0')
        check_head(rest);
    else if (bytes[0] == '1')
        check_body(rest);
    else if (bytes[0] == '2')
        check_query(rest);
    else if (bytes[0] == '3')
        check_chunks(rest);
    else if (bytes[0] == '4')
        check_value(rest);
    return 0;
}
