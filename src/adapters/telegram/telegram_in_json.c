/*
 * telegram_in_json.c — the envelope is looked through byte by byte before anything is built, so
 * that one update that jansson will not take (bytes that are no UTF-8, half a surrogate pair, a
 * thousand brackets) costs that update alone and not the whole answer, which would be fetched again
 * and again.
 */
#include "telegram_in_priv.h"

static size_t skip_space(struct sma_str json, size_t at)
{
    while (at < json.len && memchr(" \t\r\n", json.ptr[at], 4) != NULL)
        at++;
    return at;
}

/* `at` stands on the opening quote. */
static size_t skip_string(struct sma_str json, size_t at)
{
    for (at++; at < json.len; at++) {
        if (json.ptr[at] == '"')
            return at + 1;
        if (json.ptr[at] == '\\')
            at++;
    }
    return SIZE_MAX;
}

static size_t skip_scalar(struct sma_str json, size_t at)
{
    size_t start = at;
    while (at < json.len && memchr(",]} \t\r\n\"[{:", json.ptr[at], 11) == NULL)
        at++;
    return at == start ? SIZE_MAX : at;
}

static size_t skip_nested(struct sma_str json, size_t at, size_t *ret_depth)
{
    size_t depth = 0, deepest = 0;
    while (at < json.len) {
        char byte = json.ptr[at];
        if (byte == '"') {
            at = skip_string(json, at);
            if (at == SIZE_MAX)
                return SIZE_MAX;
            continue;
        }
        at++;
        if (byte == '{' || byte == '[') {
            if (++depth > deepest)
                deepest = depth;
        } else if ((byte == '}' || byte == ']') && --depth == 0) {
            *ret_depth = deepest;
            return at;
        }
    }
    return SIZE_MAX;
}

/* The index behind the value that starts at `at`, or SIZE_MAX. Brackets are counted, not matched:
 * jansson does that. */
static size_t skip_value(struct sma_str json, size_t at, size_t *ret_depth)
{
    *ret_depth = 0;
    if (at >= json.len)
        return SIZE_MAX;
    if (json.ptr[at] == '"')
        return skip_string(json, at);
    if (json.ptr[at] == '{' || json.ptr[at] == '[')
        return skip_nested(json, at, ret_depth);
    return skip_scalar(json, at);
}

enum step
{
    STEP_ITEM,
    STEP_END,
    STEP_BROKEN,
};

/* To the next item of an object or array; *at then stands on it, or behind the closing bracket. */
static enum step next_item(struct sma_str json, char close, bool is_first, size_t *at)
{
    size_t here = skip_space(json, *at);
    if (here >= json.len)
        return STEP_BROKEN;
    if (json.ptr[here] == close) {
        *at = here + 1;
        return STEP_END;
    }
    if (!is_first) {
        if (json.ptr[here] != ',')
            return STEP_BROKEN;
        here = skip_space(json, here + 1);
    }
    *at = here;
    return STEP_ITEM;
}

/* From a member's key to its value: *ret_key without quotes, *at on the value. */
static bool read_key(struct sma_str json, size_t *at, struct sma_str *ret_key)
{
    size_t start = *at;
    if (start >= json.len || json.ptr[start] != '"')
        return false;
    size_t end = skip_string(json, start);
    if (end == SIZE_MAX)
        return false;
    *ret_key = (struct sma_str){json.ptr + start + 1, end - start - 2};
    end = skip_space(json, end);
    if (end >= json.len || json.ptr[end] != ':')
        return false;
    *at = skip_space(json, end + 1);
    return true;
}

static enum sma_err find_elements(struct sma_str body, size_t at, struct sma_buf *spans,
                                  size_t *ret_end, struct sma_error *error)
{
    sma_buf_clear(spans);
    for (size_t count = 0;; count++) {
        enum step step = next_item(body, ']', count == 0, &at);
        if (step == STEP_END)
            break;
        struct telegram_span span = {.start = at};
        if (step == STEP_ITEM)
            span.end = skip_value(body, at, &span.depth);
        if (step == STEP_BROKEN || span.end == SIZE_MAX)
            return sma_fail(error, SMA_ERR_BADINPUT, "the list of updates is cut off or broken");
        if (count >= TELEGRAM_UPDATES_COUNT_MAX)
            return sma_fail(error, SMA_ERR_BADINPUT, "more than %d updates in one answer",
                            TELEGRAM_UPDATES_COUNT_MAX);
        sma_buf_put(spans, &span, sizeof span);
        at = span.end;
    }
    if (spans->err != SMA_ERR_OK)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for the list of updates");
    *ret_end = at;
    return SMA_ERR_OK;
}

static enum sma_err check_end(struct sma_str body, size_t at, bool is_ok, bool has_result,
                              struct sma_error *error)
{
    if (skip_space(body, at) != body.len)
        return sma_fail(error, SMA_ERR_BADINPUT, "the answer goes on after its end");
    if (!is_ok)
        return sma_fail(error, SMA_ERR_BADINPUT, "the answer does not say ok:true");
    if (!has_result)
        return sma_fail(error, SMA_ERR_BADINPUT, "the answer has no list of updates");
    return SMA_ERR_OK;
}

enum sma_err telegram_in_find_updates(struct sma_str body, struct sma_buf *spans,
                                      struct sma_error *error)
{
    bool is_ok = false, has_result = false, is_first = true;
    size_t at = skip_space(body, 0);
    if (at >= body.len || body.ptr[at] != '{')
        return sma_fail(error, SMA_ERR_BADINPUT, "the answer is not a JSON object");
    for (at++;; is_first = false) {
        enum step step = next_item(body, '}', is_first, &at);
        if (step == STEP_END)
            return check_end(body, at, is_ok, has_result, error);
        struct sma_str key;
        if (step == STEP_BROKEN || !read_key(body, &at, &key))
            return sma_fail(error, SMA_ERR_BADINPUT, "the answer is cut off or broken");
        if (sma_str_is_equal(key, SMA_STR("result")) && at < body.len && body.ptr[at] == '[') {
            SMA_TRY(find_elements(body, at + 1, spans, &at, error));
            has_result = true;
            continue;
        }
        size_t start = at, depth;
        at = skip_value(body, at, &depth);
        if (at == SIZE_MAX)
            return sma_fail(error, SMA_ERR_BADINPUT, "the answer is cut off or broken");
        if (sma_str_is_equal(key, SMA_STR("ok")))
            is_ok =
                sma_str_is_equal((struct sma_str){body.ptr + start, at - start}, SMA_STR("true"));
        else if (sma_str_is_equal(key, SMA_STR("result")))
            has_result = false;
    }
}

size_t telegram_in_object_depth(struct sma_str json)
{
    size_t depth, at = skip_space(json, 0);
    if (at >= json.len || json.ptr[at] != '{')
        return SIZE_MAX;
    size_t end = skip_value(json, at, &depth);
    return end == SIZE_MAX || skip_space(json, end) != json.len ? SIZE_MAX : depth;
}

int64_t telegram_in_find_update_id(struct sma_str json)
{
    int64_t found = 0;
    bool is_first = true;
    size_t at = skip_space(json, 0);
    if (at >= json.len || json.ptr[at] != '{')
        return 0;
    for (at++; next_item(json, '}', is_first, &at) == STEP_ITEM; is_first = false) {
        struct sma_str key;
        size_t depth;
        if (!read_key(json, &at, &key))
            break;
        size_t start = at;
        at = skip_value(json, at, &depth);
        if (at == SIZE_MAX)
            break;
        int64_t number;
        if (sma_str_is_equal(key, SMA_STR("update_id")) &&
            sma_parse_i64((struct sma_str){json.ptr + start, at - start}, 1, TELEGRAM_UPDATE_ID_MAX,
                          &number) == SMA_ERR_OK)
            found = number;
    }
    return found;
}

/* -- members ----------------------------------------------------------------------------------- */

int64_t telegram_in_int(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : 0;
}

struct sma_str telegram_in_str(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value))
        return SMA_STR("");
    return (struct sma_str){json_string_value(value), json_string_length(value)};
}

bool telegram_in_true(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

const json_t *telegram_in_object(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_object(value) ? value : NULL;
}

const json_t *telegram_in_array(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_array(value) ? value : NULL;
}

bool telegram_in_has(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return value != NULL && !json_is_null(value);
}
