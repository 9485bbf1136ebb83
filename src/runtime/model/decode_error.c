/* Error objects in every place and shape servers put them. Source: protocols/llm.md §2 Errors, §4
 * Errors, §5. */
#include "decode_priv.h"

#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* One line: runs of white space and control characters become one space; cut where a character
 * ends. */
static void copy_line(char *to, size_t size, struct sma_str text)
{
    text = sma_str_trim(text);
    size_t used = 0;
    bool is_gap = false;
    for (size_t i = 0; i < text.len && used + 2 < size; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (byte <= ' ' || byte == 0x7f) {
            is_gap = true;
            continue;
        }
        if (is_gap && used > 0)
            to[used++] = ' ';
        is_gap = false;
        to[used++] = (char)byte;
    }
    size_t last = used; /* the last character may have been cut */
    while (last > 0 && ((unsigned char)to[last - 1] & 0xc0) == 0x80)
        last--;
    if (last > 0 && !sma_utf8_is_valid((struct sma_str){to + last - 1, used - last + 1}))
        used = last - 1;
    to[used] = '\0';
    if (!sma_utf8_is_valid(sma_str(to)))
        for (char *at = to; *at != '\0'; at++)
            if ((unsigned char)*at >= 0x80)
                *at = '?';
}

static void on_code(struct sma_wire_error *error, const json_t *code)
{
    if (json_is_string(code)) {
        copy_line(error->code, sizeof error->code, sma_json_text_of(code));
        return;
    }
    if (!json_is_integer(code))
        return;
    json_int_t number = json_integer_value(code);
    snprintf(error->code, sizeof error->code, "%" JSON_INTEGER_FORMAT, number);
    if (number >= 400 && number <= 599)
        error->status = (int)number;
}

static struct sma_str find_message(const json_t *object)
{
    static const char *const keys[] = {"message",           "msg",   "detail",
                                       "error_description", "title", "errors"};
    for (size_t i = 0; i < SMA_COUNT_OF(keys); i++) {
        const json_t *value = json_object_get(object, keys[i]);
        if (json_is_string(value) && json_string_length(value) > 0)
            return sma_json_text_of(value);
        if (!json_is_array(value) || json_array_size(value) == 0)
            continue;
        const json_t *first = json_array_get(value, 0); /* FastAPI: [{loc,msg,type}] */
        struct sma_str text = sma_json_get_str(first, "msg");
        return text.len > 0 ? text : sma_json_get_str(first, "message");
    }
    return (struct sma_str){"", 0};
}

/* -- the member of the request ----------------------------------------------------------------- */
/* FastAPI: "loc": ["body", "a", "b"]. */
static void take_place(struct sma_wire_error *error, const json_t *object)
{
    const json_t *first = json_array_get(json_object_get(object, "detail"), 0);
    const json_t *place = json_object_get(first, "loc");
    struct sma_buf path;
    sma_buf_init(&path, 4096);
    for (size_t i = 0; i < json_array_size(place); i++) {
        const json_t *step = json_array_get(place, i);
        struct sma_str name = sma_json_text_of(step);
        if (i == 0 && sma_str_is_equal(name, SMA_STR("body")))
            continue;
        if (path.len > 0)
            sma_buf_put_char(&path, '.');
        if (json_is_integer(step))
            sma_buf_put_i64(&path, json_integer_value(step));
        else
            sma_buf_put_str(&path, name);
    }
    if (path.len > 0 && path.err == SMA_ERR_OK)
        copy_line(error->param, sizeof error->param, sma_buf_str(&path));
    sma_buf_fini(&path);
}

/* -- how long to wait -------------------------------------------------------------------------- */
static void say_wait(struct sma_wire_error *error, double ms)
{
    if (!(ms >= 0) || ms > 1e12 || error->has_retry_after)
        return;
    error->has_retry_after = true;
    error->retry_after_ms = (int64_t)ms;
}

/* "6m0s", "30.6s", "20ms", "2 seconds", "1 hour 5 minutes" at the start of text; -1 = no
 * duration. */
static double duration_ms(const char *text)
{
    double ms = -1;
    for (;;) {
        const char *number = text + strspn(text, " ");
        char *end = NULL;
        if (*number < '0' || *number > '9')
            return ms;
        double value = strtod(number, &end);
        end += strspn(end, " ");
        double unit = strncmp(end, "ms", 2) == 0 || strncmp(end, "milli", 5) == 0 ? 1
                      : *end == 's'                                               ? 1000
                      : *end == 'm'                                               ? 60000
                      : *end == 'h'                                               ? 3600000
                      : *end == 'd'                                               ? 86400000
                                                                                  : 0;
        if (unit == 0)
            return ms;
        ms = (ms < 0 ? 0 : ms) + value * unit;
        text = end + strspn(end, "abcdefghijklmnopqrstuvwxyz");
    }
}

static void find_wait(struct sma_wire_error *error, const char *said)
{
    static const char *const words[] = {
        "try again in ", "retry in ",         "try again after ",    "retry after ", "retry_after ",
        "wait for ",     "\"retrydelay\":\"", "retrydelay\\\":\\\"", "please wait "};
    for (size_t i = 0; i < SMA_COUNT_OF(words) && !error->has_retry_after; i++) {
        const char *at = strstr(said, words[i]);
        double ms = at == NULL ? -1 : duration_ms(at + strlen(words[i]));
        if (ms >= 0)
            say_wait(error, ms);
    }
}

/* "... will reset at 2026-11-23 00:00:00": without a zone it is that of China, whose providers
 * write so. */
static void find_reset(struct sma_wire_error *error, const char *said)
{
    if (strstr(said, "reset") == NULL && strstr(said, "重置") == NULL)
        return;
    for (const char *at = strstr(said, "20"); at != NULL; at = strstr(at + 1, "20")) {
        struct tm when = {0};
        const char *rest = strptime(at, "%Y-%m-%d", &when);
        if (rest == NULL || (*rest != ' ' && *rest != 't'))
            continue;
        rest = strptime(rest + 1, "%H:%M:%S", &when);
        if (rest == NULL)
            continue;
        bool is_utc = *rest == 'z' || *rest == '.' || strncmp(rest, "+00", 3) == 0 ||
                      strncmp(rest, " utc", 4) == 0;
        error->reset_ms = ((int64_t)timegm(&when) - (is_utc ? 0 : 8 * 3600)) * 1000;
        return;
    }
}

static void on_wait(struct sma_wire_error *error, const json_t *object)
{
    static const char *const keys[] = {"retry_after", "retry_after_seconds", "resets_in_seconds"};
    for (size_t i = 0; i < SMA_COUNT_OF(keys); i++) {
        const json_t *value = json_object_get(object, keys[i]);
        if (json_is_number(value))
            say_wait(error, json_number_value(value) * 1000);
    }
    double at = json_number_value(json_object_get(object, "resets_at")); /* seconds since 1970 */
    if (at > 1e9 && at < 1e11)
        error->reset_ms = (int64_t)(at * 1000);
    const json_t *headers = json_object_get(json_object_get(object, "metadata"), "headers");
    struct sma_str reset =
        sma_json_get_str(headers, "X-RateLimit-Reset"); /* OpenRouter: ms since 1970 */
    int64_t reset_ms = 0;
    if (sma_parse_i64(reset, 0, INT64_MAX / 2, &reset_ms) == SMA_ERR_OK && reset_ms > 0)
        error->reset_ms = reset_ms;
}

/* -- the window -------------------------------------------------------------------------------- */
static uint64_t number_at(const char *text)
{
    uint64_t number = 0;
    for (; (*text >= '0' && *text <= '9') || *text == ',' || *text == '_'; text++)
        if (*text >= '0' && *text <= '9' && number < 1000000000)
            number = number * 10 + (uint64_t)(*text - '0');
    return number;
}

static void find_window(struct sma_wire_error *error, const char *said)
{
    static const struct
    {
        const char *before,
            *between; /* words in front of the number; what must follow them first */
    } places[] = {
        {"maximum context length is ", ""},
        {"maximum context length of ", ""},
        {"maximum prompt length is ", ""},
        {"range of input length should be [", ", "},
        {"maximum number of tokens allowed (", ""},
        {"exceed context limit: ", "> "},
        {"prompt is too long: ", "> "},
        {"exceeded model token limit: ", ""},
        {"available context size (", ""},
        {"max context length ", ""},
        {"context window of ", ""},
        {"requested tokens (", "context window of "},
        {"maximum context length (", ""},
        {"maximum model length of ", ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(places) && error->window_tokens == 0; i++) {
        const char *at = strstr(said, places[i].before);
        if (at == NULL)
            continue;
        at += strlen(places[i].before);
        if (places[i].between[0] != '\0') {
            at = strstr(at, places[i].between);
            at = at == NULL ? "" : at + strlen(places[i].between);
        }
        error->window_tokens = number_at(at);
    }
    const char *limit =
        strstr(said, "limit "); /* Groq: of tokens a minute, yet no request over it passes */
    if (error->window_tokens == 0 && limit != NULL && strstr(limit, ", requested ") != NULL)
        error->window_tokens = number_at(limit + 6);
}

/* -- everything -------------------------------------------------------------------------------- */
static void put_said(struct sma_buf *said, struct sma_str text)
{
    if (text.len == 0)
        return;
    if (said->len > 0)
        sma_buf_put_char(said, '\n');
    sma_buf_put_str(said, text);
}

static void put_value(struct sma_buf *said, const json_t *value)
{
    if (value == NULL)
        return;
    if (said->len > 0)
        sma_buf_put_char(said, '\n');
    sma_json_dump(said, value);
}

static void find_in_words(struct sma_wire_error *error, const struct sma_buf *said)
{
    size_t used = 0;
    for (size_t i = 0; i < said->len && used + 1 < sizeof error->said; i++) {
        char byte = said->ptr[i];
        if (byte != '\0')
            error->said[used++] = byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
    }
    error->said[used] = '\0';
    find_wait(error, error->said);
    find_reset(error, error->said);
    find_window(error, error->said);
}

/* "Provider returned error" says nothing: the upstream's own words stand in metadata.raw. */
static void on_upstream(struct sma_wire_error *error, const json_t *object, struct sma_buf *said)
{
    struct sma_str raw = sma_json_get_str(json_object_get(object, "metadata"), "raw");
    if (raw.len == 0)
        return;
    put_said(said, raw);
    json_t *root = sma_json_parse(raw);
    const json_t *inner = json_object_get(root, "error");
    struct sma_str text = find_message(json_is_object(inner) ? inner : root);
    char upstream[sizeof error->message];
    copy_line(upstream, sizeof upstream, text.len > 0 ? text : raw);
    json_decref(root);
    size_t used = strlen(error->message);
    char both[2 * sizeof error->message + 4];
    int len = snprintf(both, sizeof both, "%s%s%s", error->message, used > 0 ? ": " : "", upstream);
    copy_line(error->message, sizeof error->message, (struct sma_str){both, (size_t)len});
}

static void on_object(struct sma_wire_error *error, const json_t *object, struct sma_buf *said)
{
    const json_t *details = json_object_get(object, "details");
    copy_line(error->message, sizeof error->message, find_message(object));
    copy_line(error->type, sizeof error->type, sma_json_get_str(object, "type"));
    copy_line(error->param, sizeof error->param, sma_json_get_str(object, "param"));
    on_code(error, json_object_get(object, "code"));
    /* Anthropic's finer code, and Google's word for the number. */
    struct sma_str finer = sma_json_get_str(details, "error_code");
    if (finer.len == 0)
        finer = sma_json_get_str(object, "status");
    if (finer.len > 0)
        copy_line(error->code, sizeof error->code, finer);
    uint64_t window = sma_json_get_u64(object, "n_ctx");
    error->window_tokens = window < 1000000000 ? window : 0;
    take_place(error, object);
    on_wait(error, object);
    put_said(said, find_message(object));
    put_said(said, sma_str(error->type));
    put_said(said, sma_str(error->code));
    on_upstream(error, object, said);
    put_value(said, details);
    put_value(said, json_object_get(object, "detail"));
}

static void on_error(struct sma_wire_error *error, const json_t *root)
{
    struct sma_buf said;
    sma_buf_init(&said, 65536); /* what is more is left out */
    if (json_is_array(root))
        root = json_array_get(root, 0);
    const json_t *inner = json_object_get(root, "error");
    if (json_is_string(inner)) {
        copy_line(error->message, sizeof error->message, sma_json_text_of(inner));
        on_code(error, json_object_get(root, "code"));
        put_said(&said, sma_json_text_of(inner));
        put_said(&said, find_message(root));
    } else {
        on_object(error, json_is_object(inner) ? inner : root, &said);
    }
    find_in_words(error, &said);
    sma_buf_fini(&said);
}

void sma_decode_fail_with(struct sma_decoder *decoder, const json_t *root)
{
    if (decoder->status != SMA_DECODED_OK)
        return;
    on_error(&decoder->decoded.error, root);
    sma_decode_fail(decoder, SMA_DECODED_ERROR);
}

/* What a proxy's page says: its title, else the text as it is. */
static struct sma_str page_text(struct sma_str body)
{
    for (size_t i = 0; i + 7 < body.len; i++) {
        if (!sma_str_is_equal_nocase((struct sma_str){body.ptr + i, 7}, SMA_STR("<title>")))
            continue;
        const char *start = body.ptr + i + 7;
        const char *end = memchr(start, '<', body.len - i - 7);
        if (end != NULL)
            return (struct sma_str){start, (size_t)(end - start)};
    }
    return body;
}

void sma_wire_error_parse(struct sma_str body, struct sma_wire_error *ret_error)
{
    *ret_error = (struct sma_wire_error){0};
    body = sma_str_trim(body);
    if (sma_str_starts_with(body, SMA_STR("data:")))
        body = sma_str_trim((struct sma_str){body.ptr + 5, body.len - 5});
    json_t *root = sma_json_parse(body);
    if (root == NULL) {
        struct sma_buf said;
        sma_buf_init(&said, 4096);
        put_said(&said, (struct sma_str){body.ptr, body.len < 4096 ? body.len : 4096});
        copy_line(ret_error->message, sizeof ret_error->message, page_text(body));
        find_in_words(ret_error, &said);
        sma_buf_fini(&said);
        return;
    }
    on_error(ret_error, root);
    json_decref(root);
}
