/*
 * Everything that reads bytes of an HTTP client. The first byte chooses the reader: '0' a head, '1'
 * the body of POST /api/execute, '2' a query string. Promises under test, besides not crashing:
 * every slice lies inside the head, and a head that comes in pieces is read as one that comes
 * whole.
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
    const struct sma_str parts[] = {request->path,          request->query,     request->host,
                                    request->origin,        request->api_token, request->accept,
                                    request->authorization, request->prefer};
    require(request->head_bytes >= 4 && request->head_bytes <= bytes.len);
    require(memcmp(bytes.ptr + request->head_bytes - 4, "\r\n\r\n", 4) == 0);
    require(request->path.len > 0);
    for (size_t i = 0; i < SMA_COUNT_OF(parts); i++) {
        require_inside(parts[i], head);
        require_line_safe(parts[i]);
    }
    require(!request->has_transfer_encoding || request->content_bytes == 0);
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
    return 0;
}
