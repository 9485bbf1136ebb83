/* request_scan.c — see request_scan.h. */
#include "runtime/model/request_scan.h"

#include "sma/text.h"

/* Behind the string that begins at text[at]. */
static size_t skip_string(struct sma_str text, size_t at)
{
    for (at++; at < text.len; at++) {
        const char *end = memchr(text.ptr + at, '"', text.len - at);
        if (end == NULL)
            return text.len;
        at = (size_t)(end - text.ptr);
        size_t slashes = 0;
        while (text.ptr[at - 1 - slashes] == '\\') /* a quote stands before them */
            slashes++;
        if (slashes % 2 == 0)
            return at + 1;
    }
    return text.len;
}

/* Behind the value that begins at text[at]; *ret_count: elements of it, when it is a list or an
 * object. */
static size_t skip_value(struct sma_str text, size_t at, size_t *ret_count)
{
    size_t depth = 0, commas = 0;
    bool is_empty = true;
    for (; at < text.len; at++) {
        char byte = text.ptr[at];
        if (depth == 0 && (byte == ',' || byte == ']' || byte == '}'))
            break;
        if (byte == ']' || byte == '}') {
            depth--;
            continue;
        }
        commas += depth == 1 && byte == ',';
        is_empty = is_empty && depth == 0;
        if (byte == '"')
            at = skip_string(text, at) - 1;
        else if (byte == '[' || byte == '{')
            depth++;
    }
    *ret_count = is_empty ? 0 : commas + 1;
    return at;
}

/* The first message, when it is the system's. */
static struct sma_str first_system(struct sma_str list)
{
    size_t count;
    if (list.len < 2)
        return (struct sma_str){0};
    size_t end = skip_value(list, 1, &count);
    struct sma_str first = {list.ptr + 1, end - 1};
    size_t head = first.len < 32 ? first.len : 32;
    bool is_system =
        first.len > 0 && (memmem(first.ptr, head, "\"role\":\"system\"", 15) != NULL ||
                          memmem(first.ptr, head, "\"role\":\"developer\"", 18) != NULL);
    return is_system ? first : (struct sma_str){0};
}

static void take_member(struct sma_request_facts *facts, struct sma_str name, struct sma_str value,
                        size_t count)
{
    if (sma_str_is_equal(name, SMA_STR("tools"))) {
        facts->tool_count = count;
        facts->tools = value;
    } else if (sma_str_is_equal(name, SMA_STR("system")) ||
               sma_str_is_equal(name, SMA_STR("instructions"))) {
        facts->system = value;
    } else if (sma_str_is_equal(name, SMA_STR("messages")) ||
               sma_str_is_equal(name, SMA_STR("input"))) {
        facts->message_count = count;
        if (facts->system.len == 0)
            facts->system = first_system(value);
    }
}

void sma_request_scan(struct sma_str body, struct sma_request_facts *ret_facts)
{
    *ret_facts = (struct sma_request_facts){0};
    size_t at = 1;
    while (at < body.len && body.ptr[at] == '"') {
        size_t end = skip_string(body, at), count;
        struct sma_str name = {body.ptr + at + 1, end - at - 2};
        if (end >= body.len || body.ptr[end] != ':')
            return;
        size_t next = skip_value(body, end + 1, &count);
        take_member(ret_facts, name, (struct sma_str){body.ptr + end + 1, next - end - 1}, count);
        at = next + 1;
    }
}
