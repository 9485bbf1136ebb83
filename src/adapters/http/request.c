/* request.c — see request.h. */
#include "request.h"

#include "sma/text.h"

static bool is_token_char(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_token(struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_token_char((unsigned char)text.ptr[i]))
            return false;
    return text.len > 0;
}

static bool is_clean(struct sma_str text) /* no control characters but TAB */
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

size_t sma_http_skip_blank(struct sma_str bytes)
{
    size_t at = 0;
    while (at + 1 < bytes.len && bytes.ptr[at] == '\r' && bytes.ptr[at + 1] == '\n')
        at += 2;
    return at;
}

static enum sma_http_method method_of(struct sma_str name)
{
    static const char *const names[] = {
        [SMA_HTTP_GET] = "GET",       [SMA_HTTP_HEAD] = "HEAD",       [SMA_HTTP_POST] = "POST",
        [SMA_HTTP_DELETE] = "DELETE", [SMA_HTTP_OPTIONS] = "OPTIONS",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        if (sma_str_is_equal(name, sma_str(names[i])))
            return (enum sma_http_method)i;
    return SMA_HTTP_OTHER;
}

/* "METHOD SP target SP HTTP/1.x" without the line end. @return 0, or the status to refuse with. */
static int parse_line(struct sma_str line, struct sma_http_request *request)
{
    const char *first = memchr(line.ptr, ' ', line.len);
    if (first == NULL)
        return 400;
    struct sma_str method = {line.ptr, (size_t)(first - line.ptr)};
    struct sma_str rest = {first + 1, line.len - method.len - 1};
    const char *second = memchr(rest.ptr, ' ', rest.len);
    if (second == NULL || !is_token(method))
        return 400;
    struct sma_str target = {rest.ptr, (size_t)(second - rest.ptr)};
    struct sma_str version = {second + 1, rest.len - target.len - 1};
    if (version.len != 8 || memcmp(version.ptr, "HTTP/", 5) != 0)
        return 400;
    if (memcmp(version.ptr, "HTTP/1.", 7) != 0 || (version.ptr[7] != '0' && version.ptr[7] != '1'))
        return 505;
    if (target.len == 0 || !is_clean(target) ||
        (target.ptr[0] != '/' && !sma_str_is_equal(target, SMA_STR("*"))))
        return 400;
    request->is_keep_alive = version.ptr[7] == '1';
    request->method = method_of(method);
    const char *mark = memchr(target.ptr, '?', target.len);
    request->path = target;
    if (mark != NULL) {
        request->path.len = (size_t)(mark - target.ptr);
        request->query = (struct sma_str){mark + 1, target.len - request->path.len - 1};
    }
    return 0;
}

static bool take_once(struct sma_str value, bool *has, struct sma_str *slot)
{
    if (*has)
        return false;
    *has = true;
    *slot = value;
    return true;
}

/* Headers that say one thing: twice is a mistake, or an attack. */
static bool is_once(struct sma_str name, struct sma_str value, struct sma_http_request *request,
                    bool *ret_is_twice)
{
    const struct
    {
        const char *name;
        bool *has;
        struct sma_str *slot;
    } slots[] = {
        {"host", &request->has_host, &request->host},
        {"origin", &request->has_origin, &request->origin},
        {"authorization", &request->has_authorization, &request->authorization},
        {"x-api-token", &request->has_api_token, &request->api_token},
        {"idempotency-key", &request->has_idempotency_key, &request->idempotency_key},
        {"x-chat-id", &request->has_chat_id, &request->chat_id},
        {"cookie", &request->has_cookie, &request->cookie},
        {"x-page-key", &request->has_page_key, &request->page_key},
        {"last-event-id", &request->has_last_event_id, &request->last_event_id},
        {"access-control-request-method", &request->has_preflight_method,
         &request->preflight_method},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(slots); i++)
        if (sma_str_is_equal_nocase(name, sma_str(slots[i].name))) {
            *ret_is_twice = !take_once(value, slots[i].has, slots[i].slot);
            return true;
        }
    return false;
}

/* @return 0, or the status to refuse with. */
static int take_header(struct sma_str name, struct sma_str value, bool *has_length,
                       struct sma_http_request *request)
{
    bool is_twice = false;
    if (sma_str_is_equal_nocase(name, SMA_STR("content-length"))) {
        int64_t bytes = 0;
        if (*has_length || value.len == 0 || value.ptr[0] < '0' || value.ptr[0] > '9' ||
            sma_parse_i64(value, 0, INT64_MAX, &bytes) != SMA_ERR_OK)
            return 400;
        *has_length = true;
        request->content_bytes = (uint64_t)bytes;
    } else if (sma_str_is_equal_nocase(name, SMA_STR("transfer-encoding"))) {
        if (request->has_transfer_encoding)
            return 400;
        request->has_transfer_encoding = true;
        request->is_chunked = sma_str_is_equal_nocase(value, SMA_STR("chunked"));
    } else if (is_once(name, value, request, &is_twice)) {
        return is_twice ? 400 : 0;
    } else if (sma_str_is_equal_nocase(name, SMA_STR("accept"))) {
        request->accept = value;
    } else if (sma_str_is_equal_nocase(name, SMA_STR("prefer"))) {
        request->prefer = value;
    } else if (sma_str_is_equal_nocase(name, SMA_STR("expect"))) {
        request->expects_continue = sma_str_is_equal_nocase(value, SMA_STR("100-continue"));
    } else if (sma_str_is_equal_nocase(name, SMA_STR("connection"))) {
        if (sma_http_list_has(value, SMA_STR("close")))
            request->is_keep_alive = false;
        else if (sma_http_list_has(value, SMA_STR("keep-alive")))
            request->is_keep_alive = true;
    }
    return 0;
}

/* All lines of the head, each ending in CR LF, without the empty one. @return 0, or the status to
 * refuse with. */
static int parse_head(struct sma_str head, struct sma_http_request *request)
{
    bool is_first = true, has_length = false, is_new = false;
    while (head.len > 0) {
        const char *end = memmem(head.ptr, head.len, "\r\n", 2);
        if (end == NULL)
            return 400;
        struct sma_str line = {head.ptr, (size_t)(end - head.ptr)};
        head.ptr += line.len + 2;
        head.len -= line.len + 2;
        int status = 0;
        if (is_first) {
            status = is_clean(line) ? parse_line(line, request) : 400;
            is_new = request->is_keep_alive; /* HTTP/1.1, until a header says something else */
            request->headers = head;
        } else {
            const char *colon = memchr(line.ptr, ':', line.len);
            if (colon == NULL)
                return 400;
            struct sma_str name = {line.ptr, (size_t)(colon - line.ptr)};
            struct sma_str value =
                sma_str_trim((struct sma_str){colon + 1, line.len - name.len - 1});
            if (!is_token(name) || !is_clean(value))
                return 400;
            status = take_header(name, value, &has_length, request);
        }
        if (status != 0)
            return status;
        is_first = false;
    }
    /* Two lengths for one body, or one that the client's version does not know: the classics of
     * request smuggling. */
    return request->has_transfer_encoding && (has_length || !is_new) ? 400 : 0;
}

enum sma_err sma_http_request_parse(struct sma_str bytes, size_t scanned, size_t head_bytes_max,
                                    struct sma_http_request *ret_request, int *ret_status)
{
    size_t from = scanned > 3 ? scanned - 3 : 0;
    const char *end =
        bytes.len - from < 4 ? NULL : memmem(bytes.ptr + from, bytes.len - from, "\r\n\r\n", 4);
    size_t head_bytes = end == NULL ? bytes.len : (size_t)(end - bytes.ptr) + 4;
    if (head_bytes > head_bytes_max || (end == NULL && bytes.len == head_bytes_max)) {
        *ret_status = 431;
        return SMA_ERR_TOOBIG;
    }
    if (bytes.len > 0 && !is_token_char((unsigned char)bytes.ptr[0]) && bytes.ptr[0] != '\r') {
        *ret_status =
            400; /* not HTTP at all (a TLS hello, say): no need to wait for an empty line */
        return SMA_ERR_BADINPUT;
    }
    if (end == NULL)
        return SMA_ERR_EMPTY;
    struct sma_http_request request = {.head_bytes = head_bytes};
    int status = parse_head((struct sma_str){bytes.ptr, head_bytes - 2}, &request);
    if (status != 0) {
        *ret_status = status;
        return SMA_ERR_BADINPUT;
    }
    *ret_request = request;
    return SMA_ERR_OK;
}

struct sma_str sma_http_header_get(const struct sma_http_request *request, const char *name)
{
    struct sma_str left = request->headers;
    size_t len = strlen(name);
    while (left.len > 0) {
        const char *end = memchr(left.ptr, '\n', left.len);
        size_t line = end == NULL ? left.len : (size_t)(end - left.ptr) + 1;
        if (line > len && left.ptr[len] == ':' &&
            sma_str_is_equal_nocase((struct sma_str){left.ptr, len}, sma_str(name)))
            return sma_str_trim((struct sma_str){left.ptr + len + 1, line - len - 1});
        left.ptr += line;
        left.len -= line;
    }
    return SMA_STR("");
}

bool sma_http_list_has(struct sma_str list, struct sma_str member)
{
    while (list.len > 0) {
        const char *comma = memchr(list.ptr, ',', list.len);
        size_t len = comma == NULL ? list.len : (size_t)(comma - list.ptr);
        const char *semicolon = memchr(list.ptr, ';', len);
        struct sma_str item = {list.ptr, semicolon == NULL ? len : (size_t)(semicolon - list.ptr)};
        if (sma_str_is_equal_nocase(sma_str_trim(item), member))
            return true;
        size_t step = comma == NULL ? list.len : len + 1;
        list.ptr += step;
        list.len -= step;
    }
    return false;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static enum sma_err put_decoded(struct sma_buf *buf, struct sma_str text, char plus)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '%') {
            sma_buf_put_char(buf, text.ptr[i] == '+' ? plus : text.ptr[i]);
            continue;
        }
        int high = i + 2 < text.len ? hex_digit(text.ptr[i + 1]) : -1;
        int low = i + 2 < text.len ? hex_digit(text.ptr[i + 2]) : -1;
        if (high < 0 || low < 0)
            return SMA_ERR_BADINPUT;
        sma_buf_put_char(buf, (char)(high * 16 + low));
        i += 2;
    }
    return buf->err;
}

enum sma_err sma_http_path_get(struct sma_str part, struct sma_buf *buf)
{
    return put_decoded(buf, part, '+');
}

enum sma_err sma_http_string_get(struct sma_str value, struct sma_str *ret_text)
{
    if (value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"')
        value = (struct sma_str){value.ptr + 1, value.len - 2};
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] == '"' || value.ptr[i] == '\\' || (unsigned char)value.ptr[i] >= 0x7f)
            return SMA_ERR_BADINPUT;
    if (value.len == 0)
        return SMA_ERR_BADINPUT;
    *ret_text = value;
    return SMA_ERR_OK;
}

enum sma_err sma_http_query_get(struct sma_str query, struct sma_str name, struct sma_buf *buf)
{
    while (query.len > 0) {
        const char *amp = memchr(query.ptr, '&', query.len);
        struct sma_str item = {query.ptr, amp == NULL ? query.len : (size_t)(amp - query.ptr)};
        if (item.len > name.len && item.ptr[name.len] == '=' &&
            memcmp(item.ptr, name.ptr, name.len) == 0)
            return put_decoded(
                buf, (struct sma_str){item.ptr + name.len + 1, item.len - name.len - 1}, ' ');
        size_t step = amp == NULL ? query.len : item.len + 1;
        query.ptr += step;
        query.len -= step;
    }
    return SMA_ERR_NOTFOUND;
}
