#include "runtime/text/sse.h"

#include "sma/text.h"

#include <stdio.h>

void sma_sse_init(struct sma_sse *sse, sma_sse_event_fn *on_event, void *user)
{
    *sse = (struct sma_sse){.on_event = on_event, .user = user, .retry_ms = -1};
    sma_buf_init(&sse->line, SMA_SSE_LINE_BYTES_MAX);
    sma_buf_init(&sse->name, 256);
    sma_buf_init(&sse->data, SMA_SSE_LINE_BYTES_MAX);
}

void sma_sse_fini(struct sma_sse *sse)
{
    sma_buf_fini(&sse->line);
    sma_buf_fini(&sse->name);
    sma_buf_fini(&sse->data);
}

void sma_sse_limit(struct sma_sse *sse, size_t bytes_max)
{
    sse->line.max = bytes_max + sizeof "data: ";
    sse->data.max = bytes_max;
}

void sma_sse_reset(struct sma_sse *sse)
{
    sse->id[0] = '\0';
    sse->retry_ms = -1;
    sse->has_next_id = false;
    sma_buf_clear(&sse->line);
    sma_buf_clear(&sse->name);
    sma_buf_clear(&sse->data);
    sse->is_started = sse->is_lf_skipped = sse->has_data = false;
    sse->err = SMA_ERR_OK;
}

static void dispatch(struct sma_sse *sse)
{
    struct sma_str name = {sse->name.len > 0 ? sse->name.ptr : "", sse->name.len};
    if (sse->has_next_id)
        memcpy(sse->id, sse->next_id, sizeof sse->id);
    sse->has_next_id = false;
    struct sma_str data = {sse->data.len > 0 ? sse->data.ptr : "", sse->data.len};
    if (sse->has_data && sma_str_trim(data).len > 0)
        sse->on_event(sse->user, name, data);
    sma_buf_clear(&sse->name);
    sma_buf_clear(&sse->data);
    sse->has_data = false;
}

/* One that cannot be said again, in a header, is none. */
static void take_id(struct sma_sse *sse, struct sma_str value)
{
    if (value.len > SMA_SSE_ID_BYTES_MAX)
        return;
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.ptr[i] < 0x20 || value.ptr[i] == 0x7f)
            return;
    (void)snprintf(sse->next_id, sizeof sse->next_id, "%.*s", (int)value.len, value.ptr);
    sse->has_next_id = true;
}

static void on_field(struct sma_sse *sse, struct sma_str field, struct sma_str value)
{
    if (sma_str_is_equal(field, SMA_STR("data"))) {
        if (sse->has_data)
            sma_buf_put_char(&sse->data, '\n');
        sma_buf_put_str(&sse->data, value);
        sse->has_data = true;
        if (sse->data.err != SMA_ERR_OK)
            sse->err = sse->data.err;
        return;
    }
    if (sma_str_is_equal(field, SMA_STR("id"))) {
        take_id(sse, value);
        return;
    }
    if (sma_str_is_equal(field, SMA_STR("retry"))) {
        int64_t retry_ms = 0;
        if (sma_parse_i64(value, 0, INT32_MAX, &retry_ms) == SMA_ERR_OK)
            sse->retry_ms = retry_ms;
        return;
    }
    if (!sma_str_is_equal(field, SMA_STR("event")))
        return; /* unknown fields say nothing */
    sma_buf_clear(&sse->name);
    sma_buf_put_str(&sse->name, value);
    if (sse->name.err != SMA_ERR_OK)
        sma_buf_clear(&sse->name); /* a name that long is none we know */
}

static void take_line(struct sma_sse *sse, struct sma_str line)
{
    if (!sse->is_started) {
        sse->is_started = true;
        if (sma_str_starts_with(line, SMA_STR("\xef\xbb\xbf")))
            line = (struct sma_str){line.ptr + 3, line.len - 3};
    }
    if (line.len == 0) {
        dispatch(sse);
        return;
    }
    if (line.ptr[0] == ':')
        return;
    const char *colon = memchr(line.ptr, ':', line.len);
    if (colon == NULL) {
        on_field(sse, line, (struct sma_str){"", 0});
        return;
    }
    struct sma_str field = {line.ptr, (size_t)(colon - line.ptr)};
    struct sma_str value = {colon + 1, line.len - field.len - 1};
    if (value.len > 0 && value.ptr[0] == ' ')
        value = (struct sma_str){value.ptr + 1, value.len - 1};
    on_field(sse, field, value);
}

/* Length of the line at the start of bytes, or len when no line end is in sight. */
static size_t line_length(const char *bytes, size_t len)
{
    const char *lf = memchr(bytes, '\n', len);
    size_t before = lf == NULL ? len : (size_t)(lf - bytes);
    const char *cr = memchr(bytes, '\r', before);
    return cr == NULL ? before : (size_t)(cr - bytes);
}

enum sma_err sma_sse_feed(struct sma_sse *sse, const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len && sse->err == SMA_ERR_OK) {
        if (sse->is_lf_skipped) {
            sse->is_lf_skipped = false;
            if (bytes[at] == '\n') {
                at++;
                continue;
            }
        }
        size_t length = line_length(bytes + at, len - at);
        bool is_whole = at + length < len;
        if (!is_whole || sse->line.len > 0) {
            sma_buf_put(&sse->line, bytes + at, length);
            if (sse->line.err != SMA_ERR_OK) {
                sse->err = sse->line.err;
                break;
            }
        }
        if (!is_whole)
            break;
        sse->is_lf_skipped = bytes[at + length] == '\r';
        if (sse->line.len > 0) {
            take_line(sse, sma_buf_str(&sse->line));
            sma_buf_clear(&sse->line);
        } else {
            take_line(sse, (struct sma_str){bytes + at, length});
        }
        at += length + 1;
    }
    return sse->err;
}

enum sma_err sma_sse_finish(struct sma_sse *sse)
{
    if (sse->err != SMA_ERR_OK)
        return sse->err;
    if (sse->line.len > 0) {
        take_line(sse, sma_buf_str(&sse->line));
        sma_buf_clear(&sse->line);
    }
    if (sse->err == SMA_ERR_OK)
        dispatch(sse);
    return sse->err;
}
