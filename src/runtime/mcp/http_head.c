/* http_head.c — see http_head.h. */
#include "http_head.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define MARK "x-mcp-header"
#define MARK_COUNT_MAX 16
#define MARK_BYTES_MAX 64
#define VALUE_BYTES_MAX 4096
#define PARAMETER_COUNT_MAX 64 /* of one header */

/* -- values ------------------------------------------------------------------------------------ */
void sma_mcp_put_base64(struct sma_buf *buf, struct sma_str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        const unsigned char *at = (const unsigned char *)bytes.ptr + i;
        unsigned three = (unsigned)at[0] << 16 | (left > 1 ? (unsigned)at[1] << 8 : 0u) |
                         (left > 2 ? (unsigned)at[2] : 0u);
        sma_buf_put_char(buf, digits[three >> 18]);
        sma_buf_put_char(buf, digits[three >> 12 & 63]);
        sma_buf_put_char(buf, left > 1 ? digits[three >> 6 & 63] : '=');
        sma_buf_put_char(buf, left > 2 ? digits[three & 63] : '=');
    }
}

/* Blanks at an end would be lost, and what looks encoded would be decoded. */
static bool is_plain(struct sma_str value)
{
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.ptr[i] < 0x20 || (unsigned char)value.ptr[i] > 0x7e)
            return false;
    return sma_str_trim(value).len == value.len &&
           !sma_str_starts_with(value, SMA_STR("=?base64?"));
}

void sma_mcp_put_header_value(struct sma_buf *buf, struct sma_str value)
{
    if (is_plain(value)) {
        sma_buf_put_str(buf, value);
        return;
    }
    sma_buf_put_text(buf, "=?base64?");
    sma_mcp_put_base64(buf, value);
    sma_buf_put_text(buf, "?=");
}

/* -- marks ------------------------------------------------------------------------------------- */
static bool is_token(const char *text)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    size_t len = strlen(text);
    if (len == 0 || len > MARK_BYTES_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && strchr(others, c) == NULL)
            return false;
    }
    return true;
}

static bool is_simple_type(const json_t *property)
{
    const char *type = json_string_value(sma_json_get(property, "type"));
    return type != NULL && (strcmp(type, "string") == 0 || strcmp(type, "integer") == 0 ||
                            strcmp(type, "boolean") == 0);
}

/* Marks so far, to find one that comes twice. */
struct marks
{
    const char *names[MARK_COUNT_MAX];
    size_t count;
};

static bool add_mark(struct marks *marks, const json_t *property)
{
    const json_t *mark = sma_json_get(property, MARK);
    const char *name = json_string_value(mark);
    if (mark == NULL)
        return true;
    if (name == NULL || !is_token(name) || !is_simple_type(property) ||
        marks->count == MARK_COUNT_MAX)
        return false;
    for (size_t i = 0; i < marks->count; i++)
        if (sma_str_is_equal_nocase(sma_str(marks->names[i]), sma_str(name)))
            return false;
    marks->names[marks->count++] = name;
    return true;
}

/* Properties of properties, as deep as schemas may be. */
static bool look_at(struct marks *marks, const json_t *schema, unsigned depth)
{
    const char *key;
    json_t *property;
    if (depth > SMA_MCP_SCHEMA_DEPTH_MAX)
        return true;
    json_object_foreach((json_t *)(uintptr_t)sma_json_get(schema, "properties"), key, property)
    {
        if (!add_mark(marks, property) || !look_at(marks, property, depth + 1))
            return false;
    }
    return true;
}

/* A mark where no value can be told by its place (in items, in alternatives) is none. */
static size_t count_marks(const json_t *node, unsigned depth)
{
    const char *key;
    json_t *value;
    size_t count = 0;
    if (depth > SMA_MCP_SCHEMA_DEPTH_MAX * 2)
        return 0;
    json_object_foreach((json_t *)(uintptr_t)node, key, value)
    {
        count += strcmp(key, MARK) == 0 && !json_is_object(value);
        count += count_marks(value, depth + 1);
    }
    for (size_t i = 0; i < json_array_size(node); i++)
        count += count_marks(json_array_get(node, i), depth + 1);
    return count;
}

bool sma_mcp_header_marks_are_good(const json_t *schema)
{
    struct marks marks = {.count = 0};
    return look_at(&marks, schema, 0) && count_marks(schema, 0) == marks.count;
}

static void add_param(const json_t *property, const json_t *value, sma_mcp_header_fn *add,
                      void *user)
{
    const char *name = json_string_value(sma_json_get(property, MARK));
    struct sma_buf line;
    if (name == NULL || value == NULL || json_is_null(value))
        return;
    sma_buf_init(&line, VALUE_BYTES_MAX * 2);
    sma_buf_printf(&line, "Mcp-Param-%s: ", name);
    if (json_is_string(value))
        sma_mcp_put_header_value(&line, sma_json_str_of(value));
    else if (json_is_integer(value))
        sma_buf_put_i64(&line, json_integer_value(value));
    else if (json_is_boolean(value))
        sma_buf_put_text(&line, json_is_true(value) ? "true" : "false");
    else
        line.err = SMA_ERR_BADINPUT; /* the server will say what is wrong with it */
    if (line.err == SMA_ERR_OK)
        add(user, line.ptr);
    sma_buf_fini(&line);
}

static void add_params(const json_t *schema, const json_t *arguments, sma_mcp_header_fn *add,
                       void *user, unsigned depth)
{
    const char *key;
    json_t *property;
    if (depth > SMA_MCP_SCHEMA_DEPTH_MAX || !json_is_object(arguments))
        return;
    json_object_foreach((json_t *)(uintptr_t)sma_json_get(schema, "properties"), key, property)
    {
        const json_t *value = json_object_get(arguments, key);
        add_param(property, value, add, user);
        add_params(property, value, add, user, depth + 1);
    }
}

void sma_mcp_header_params(const json_t *schema, const json_t *arguments, sma_mcp_header_fn *add,
                           void *user)
{
    add_params(schema, arguments, add, user, 0);
}

/* -- challenges -------------------------------------------------------------------------------- */
static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

static const char *skip_word(const char *at, const char *end)
{
    while (at < end && strchr(" \t,=\"", *at) == NULL)
        at++;
    return at;
}

/* A token or a text in quotes; what does not fit is empty. */
static const char *read_value(const char *at, const char *end, char *into, size_t size)
{
    size_t len = 0;
    bool is_quoted = at < end && *at == '"';
    at += is_quoted;
    while (at < end && (is_quoted ? *at != '"' : strchr(" \t,", *at) == NULL)) {
        if (is_quoted && *at == '\\' && at + 1 < end)
            at++;
        if (len + 1 < size)
            into[len] = *at;
        len++;
        at++;
    }
    into[len + 1 < size ? len : 0] = '\0';
    return is_quoted && at < end ? at + 1 : at;
}

static const char *read_parameter(const char *name, const char *name_end, const char *end,
                                  struct sma_mcp_challenge *challenge)
{
    char other[8];
    struct sma_str key = {name, (size_t)(name_end - name)};
    const char *at = skip_blanks(name_end, end);
    at = skip_blanks(at < end ? at + 1 : at, end); /* '=' */
    if (sma_str_is_equal_nocase(key, SMA_STR("resource_metadata")))
        return read_value(at, end, challenge->resource_metadata,
                          sizeof challenge->resource_metadata);
    if (sma_str_is_equal_nocase(key, SMA_STR("scope")))
        return read_value(at, end, challenge->scope, sizeof challenge->scope);
    if (sma_str_is_equal_nocase(key, SMA_STR("error")))
        return read_value(at, end, challenge->error, sizeof challenge->error);
    return read_value(at, end, other, sizeof other);
}

bool sma_mcp_challenge_parse(struct sma_str header, struct sma_mcp_challenge *ret_challenge)
{
    const char *at = header.ptr, *end = header.len == 0 ? at : at + header.len;
    bool is_bearer = false, has_one = false;
    *ret_challenge = (struct sma_mcp_challenge){.scope = ""};
    for (unsigned i = 0; at < end && i < PARAMETER_COUNT_MAX; i++) {
        while (at < end && strchr(" \t,", *at) != NULL)
            at++;
        const char *word = at;
        at = skip_word(at, end);
        const char *next = skip_blanks(at, end);
        if (next < end && *next == '=') {
            struct sma_mcp_challenge ignored;
            at = read_parameter(word, at, end, is_bearer ? ret_challenge : &ignored);
        } else if (at > word) {
            struct sma_str scheme = {word, (size_t)(at - word)};
            if (has_one && is_bearer)
                break; /* another scheme */
            is_bearer = sma_str_is_equal_nocase(scheme, SMA_STR("Bearer"));
            has_one = has_one || is_bearer;
        } else if (at < end) {
            at++; /* '=' or '"' where a word should be */
        }
    }
    return has_one;
}
