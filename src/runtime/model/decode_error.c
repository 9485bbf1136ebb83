/* Error objects in every place and shape servers put them. Source: protocols/llm.md §2 Errors, §4
 * Errors, §5. */
#include "decode_priv.h"

#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
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

static const json_t *find_code(const json_t *object)
{
    static const char *const keys[] = {"code",       "status_code", "error_code", "errcode",
                                       "err_code",   "Code",        "errorCode",  "errorcode",
                                       "resultCode", "statusCode",  "errno",      "__type"};
    for (size_t i = 0; i < SMA_COUNT_OF(keys); i++)
        if (json_object_get(object, keys[i]) != NULL)
            return json_object_get(object, keys[i]);
    return NULL;
}

static bool is_good_code(const json_t *code)
{
    static const char *const words[] = {"", "0", "200", "ok", "success"};
    bool is_good = !json_is_string(code) && !json_is_integer(code);
    is_good |=
        json_is_integer(code) && (json_integer_value(code) == 0 || json_integer_value(code) == 200);
    for (size_t i = 0; i < SMA_COUNT_OF(words) && json_is_string(code); i++)
        is_good |= strcasecmp(json_string_value(code), words[i]) == 0;
    return is_good;
}

static struct sma_str find_message(const json_t *object)
{
    static const char *const keys[] = {
        "message",    "msg",          "detail",    "error_description",
        "status_msg", "error_msg",    "errmsg",    "Message",
        "errorMsg",   "errorMessage", "resultMsg", "faultstring",
        "title",      "errors",       "error",     "__type"};
    for (size_t i = 0; i < SMA_COUNT_OF(keys); i++) {
        const json_t *value = json_object_get(object, keys[i]);
        if (json_is_array(value)) /* FastAPI: [{loc,msg,type}] */
            value = json_array_get(value, 0);
        if (json_is_string(value) && json_string_length(value) > 0)
            return sma_json_str_of(value);
        struct sma_str text = sma_json_str(value, "msg");
        text = text.len > 0 ? text : sma_json_str(value, "message");
        if (text.len > 0)
            return text;
    }
    return (struct sma_str){"", 0};
}

/* The object that holds an error, however deep: of those members that hold nothing else, and of
 * those that hold one where their code is none of success. */
static const json_t *find_error(const json_t *root)
{
    static const struct
    {
        const char *key;
        bool needs_code;
    } places[] = {
        {"error", false}, {"Error", false},  {"Response", false}, {"ResponseMetadata", false},
        {"fault", false}, {"errors", false}, {"base_resp", true}, {"header", true},
        {"Output", true}, {"data", true},    {"detail", true}};
    for (size_t depth = 0; depth < 4; depth++) {
        const json_t *inner = NULL;
        for (size_t i = 0; i < SMA_COUNT_OF(places) && inner == NULL; i++) {
            const json_t *value = json_object_get(root, places[i].key);
            value = json_is_array(value) ? json_array_get(value, 0) : value;
            bool is_error = json_object_size(value) > 0 &&
                            (!places[i].needs_code || !is_good_code(find_code(value)) ||
                             json_object_size(json_object_get(value, "error")) > 0);
            inner = is_error ? value : NULL;
        }
        if (inner == NULL || (depth > 0 && find_message(root).len > 0))
            return root;
        root = inner;
    }
    return root;
}

/* Errors without a status: no part of an answer, and any of the members by which servers tell that
 * it is none. */
bool sma_decode_is_error(const json_t *event)
{
    static const char *const of_answers[] = {"choices",  "delta",  "content",    "output",
                                             "response", "item",   "candidates", "type",
                                             "usage",    "message"};
    static const char *const of_errors[] = {"msg",        "detail",  "error_msg", "errmsg",
                                            "status_msg", "Message", "errorMsg",  "resultMsg"};
    const json_t *error = json_object_get(event, "error");
    if ((json_is_string(error) && json_string_length(error) > 0) || json_is_true(error) ||
        sma_json_is(event, "object", "error") || json_array_size(error) > 0 ||
        find_error(event) != event)
        return true;
    for (size_t i = 0; i < SMA_COUNT_OF(of_answers); i++) {
        const json_t *value = json_object_get(event, of_answers[i]);
        bool is_words = i + 1 == SMA_COUNT_OF(of_answers) && json_is_string(value);
        if (value != NULL && !json_is_null(value) && !is_words)
            return false;
    }
    const json_t *status = json_object_get(event, "status");
    bool is_told = json_is_false(json_object_get(event, "success")) ||
                   !is_good_code(find_code(event)) || json_integer_value(status) >= 400 ||
                   sma_json_is(event, "status", "error") ||
                   sma_json_is(event, "status", "failed") || sma_json_is(event, "status", "fail") ||
                   json_is_string(json_object_get(event, "message"));
    for (size_t i = 0; i < SMA_COUNT_OF(of_errors); i++)
        is_told |= json_object_get(event, of_errors[i]) != NULL;
    return is_told;
}

static void on_code(struct sma_wire_error *error, const json_t *code)
{
    if (json_is_string(code)) {
        copy_line(error->code, sizeof error->code, sma_json_str_of(code));
        return;
    }
    if (!json_is_integer(code))
        return;
    json_int_t number = json_integer_value(code);
    snprintf(error->code, sizeof error->code, "%" JSON_INTEGER_FORMAT, number);
    if (number >= 400 && number <= 599)
        error->status = (int)number;
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
        struct sma_str name = sma_json_str_of(step);
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

double sma_wire_duration_ms(const char **text)
{
    double ms = -1;
    for (const char *at = *text;;) {
        static const struct
        {
            const char *word;
            double ms;
        } units[] = {{"ms", 1},    {"milli", 1},   {"s", 1000},
                     {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
        const char *number = at + strspn(at, " ");
        char *end = NULL;
        if (*number < '0' || *number > '9')
            return ms;
        double value = strtod(number, &end);
        size_t unit = 0;
        end += strspn(end, " ");
        while (unit < SMA_COUNT_OF(units) &&
               strncmp(end, units[unit].word, strlen(units[unit].word)) != 0)
            unit++;
        if (unit == SMA_COUNT_OF(units))
            return ms;
        ms = (ms < 0 ? 0 : ms) + value * units[unit].ms;
        *text = at = end + strspn(end, "abcdefghijklmnopqrstuvwxyz");
    }
}

static void find_wait(struct sma_wire_error *error, const char *said)
{
    static const char *const words[] = {
        "try again in ", "retry in ",         "try again after ",    "retry after ", "retry_after ",
        "wait for ",     "\"retrydelay\":\"", "retrydelay\\\":\\\"", "please wait "};
    for (size_t i = 0; i < SMA_COUNT_OF(words) && !error->has_retry_after; i++) {
        const char *at = strstr(said, words[i]);
        const char *from = at == NULL ? "" : at + strlen(words[i]);
        double ms = sma_wire_duration_ms(&from);
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
        sma_json_str(headers, "X-RateLimit-Reset"); /* OpenRouter: ms since 1970 */
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

/* clang-format off */
static void find_window(struct sma_wire_error *error, const char *said)
{
    static const struct
    {
        const char *before,
            *between; /* words in front of the number; what must follow them first */
    } places[] = {
        {"maximum context length is ", ""}, {"maximum context length of ", ""},
        {"maximum prompt length is ", ""}, {"range of input length should be [", ", "},
        {"maximum number of tokens allowed (", ""}, {"exceed context limit: ", "> "},
        {"prompt is too long: ", "> "}, {"exceeded model token limit: ", ""},
        {"available context size (", ""}, {"max context length ", ""}, {"context window of ", ""},
        {"requested tokens (", "context window of "}, {"maximum context length (", ""},
        {"maximum model length of ", ""}, {"exceeds the limit of ", ""}, {"exceeds limit of ", ""},
        {"exceeds the maximum of ", ""}, {"less than max_seq_len (", ""}, {"must be <= ", ""},
        {"maximum of ", ""}, {"limit of ", ""}, {"n_ctx = ", ""}, {"n_ctx=", ""},
    };
    /* clang-format on */
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
    sma_json_put(said, value);
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
    struct sma_str raw = sma_json_str(json_object_get(object, "metadata"), "raw");
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
    copy_line(error->type, sizeof error->type, sma_json_str(object, "type"));
    copy_line(error->param, sizeof error->param, sma_json_str(object, "param"));
    on_code(error, find_code(object));
    json_int_t status = json_integer_value(json_object_get(object, "status"));
    if (error->status == 0 && status >= 400 && status <= 599)
        error->status = (int)status;
    /* Anthropic's finer code, and Google's word for the number. */
    struct sma_str finer = sma_json_str(details, "error_code");
    if (finer.len == 0)
        finer = sma_json_str(object, "status");
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
    if (json_array_size(json_object_get(json_object_get(root, "message"), "detail")) > 0)
        root = json_object_get(root, "message"); /* Mistral */
    const json_t *place = find_error(root);
    on_object(error, place, &said);
    if (place != root && error->code[0] == '\0')
        on_code(error, find_code(root));
    if (place == root)
        put_said(&said, sma_json_str(root, "error"));
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
    size_t len = 0;
    json_t *sentence = root == NULL ? sma_json_parse_first(body, &len) : NULL;
    if (json_is_string(sentence)) /* a sentence as JSON */
        body = (struct sma_str){body.ptr + 1, len - 2};
    json_decref(sentence);
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
