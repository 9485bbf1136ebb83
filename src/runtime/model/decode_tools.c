/*
 * decode_tools.c — the tools that a request offers: which one a name means, and of what type a
 * value is that a model wrote as text.
 *
 * A name is nearly right in one of few ways: control marks behind it, a namespace or a number
 * beside it, other case, '-' for '_'. It means a tool where exactly one offered tool is left.
 */
#include "decode_priv.h"

#include "runtime/model/request_scan.h"
#include "sma/text.h"

#include <ctype.h>
#include <stdlib.h>

#define NAME_BYTES_MAX 256
#define SEGMENT_COUNT_MAX 8

const json_t *sma_decode_tools(struct sma_decoder *decoder)
{
    struct sma_request_facts facts;
    if (decoder->has_tools || decoder->request.len == 0)
        return decoder->tools;
    decoder->has_tools = true;
    sma_request_scan(decoder->request, &facts);
    decoder->tools = sma_json_parse(facts.tools);
    return decoder->tools;
}

static struct sma_str name_of(const json_t *tool)
{
    const json_t *function = json_object_get(tool, "function");
    return sma_json_str(json_is_object(function) ? function : tool, "name");
}

static const json_t *find_tool(const json_t *tools, struct sma_str name)
{
    for (size_t i = 0; i < json_array_size(tools); i++)
        if (sma_str_is_equal(name_of(json_array_get(tools, i)), name))
            return json_array_get(tools, i);
    return NULL;
}

bool sma_decode_is_tool(struct sma_decoder *decoder, struct sma_str name, bool is_open)
{
    const json_t *tools = sma_decode_tools(decoder);
    for (size_t i = 0; i < json_array_size(tools) && is_open; i++)
        if (sma_str_starts_with(name_of(json_array_get(tools, i)), name))
            return true;
    return name.len > 0 && find_tool(tools, name) != NULL;
}

/* -- names ------------------------------------------------------------------------------------- */
/* Letters and digits in lower case. */
static size_t fold(struct sma_str name, char room[NAME_BYTES_MAX])
{
    size_t len = 0;
    for (size_t i = 0; i < name.len && len + 1 < NAME_BYTES_MAX; i++)
        if (isalnum((unsigned char)name.ptr[i]))
            room[len++] = (char)tolower((unsigned char)name.ptr[i]);
    room[len] = '\0';
    return len;
}

/* The only tool that is called so but for case and dashes; *ret_count: how many are. */
static struct sma_str find_folded(const json_t *tools, const char *wanted, size_t *ret_count)
{
    struct sma_str found = {"", 0};
    char room[NAME_BYTES_MAX];
    *ret_count = 0;
    for (size_t i = 0; i < json_array_size(tools) && wanted[0] != '\0'; i++) {
        struct sma_str name = name_of(json_array_get(tools, i));
        if (fold(name, room) == 0 || strcmp(room, wanted) != 0)
            continue;
        found = name;
        ++*ret_count;
    }
    return *ret_count == 1 ? found : (struct sma_str){"", 0};
}

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || (byte != '\0' && strchr("_-.:/", byte) != NULL);
}

size_t sma_decode_find_tool_line(struct sma_decoder *decoder, struct sma_str text, bool is_whole)
{
    struct sma_notation_cursor cursor = {.is_line_start = true};
    size_t at = sma_notation_skip_space(text, 0);
    while (at < text.len) {
        bool is_begin = text.ptr[at] == '<' || text.ptr[at] == '[';
        size_t end = at + is_begin;
        while (end < text.len && is_begin && is_name_byte(text.ptr[end]))
            end++;
        struct sma_str word = {text.ptr + at + is_begin, end - at - is_begin};
        bool is_open = is_begin && end == text.len && !is_whole;
        bool is_closed = end < text.len && text.ptr[end] == (text.ptr[at] == '<' ? '>' : '(');
        if (is_begin && (is_open || is_closed) && sma_decode_is_tool(decoder, word, is_open) &&
            !sma_notation_is_code(&cursor, text, at))
            return at;
        const char *line = memchr(text.ptr + at, '\n', text.len - at);
        at = line == NULL ? text.len : (size_t)(line - text.ptr) + 1;
    }
    return text.len;
}

/* What is a name of it: without control marks in front, up to the first one behind. */
static struct sma_str cut_name(struct sma_str name)
{
    const char *to = memchr(name.ptr, '=', name.len); /* "to=x", "<function=x>" */
    if (to != NULL)
        name = (struct sma_str){to + 1, name.len - (size_t)(to + 1 - name.ptr)};
    while (name.len > 2 && memcmp(name.ptr, "<|", 2) == 0) {
        const char *end = memmem(name.ptr, name.len, "|>", 2);
        size_t len = end == NULL ? 2 : (size_t)(end + 2 - name.ptr);
        name = (struct sma_str){name.ptr + len, name.len - len};
    }
    while (name.len > 0 && !isalnum((unsigned char)name.ptr[0]) && name.ptr[0] != '_')
        name = (struct sma_str){name.ptr + 1, name.len - 1};
    size_t len = 0;
    while (len < name.len && is_name_byte(name.ptr[len]))
        len++;
    return (struct sma_str){name.ptr, len};
}

/* "functions.read_file:0": the longest run of its segments that is a tool. */
static struct sma_str find_in_segments(const json_t *tools, struct sma_str name)
{
    size_t starts[SEGMENT_COUNT_MAX], ends[SEGMENT_COUNT_MAX], count = 0, begin = 0;
    for (size_t i = 0; i <= name.len && count < SEGMENT_COUNT_MAX; i++) {
        if (i < name.len && strchr(".:/", name.ptr[i]) == NULL)
            continue;
        starts[count] = begin;
        ends[count++] = i;
        begin = i + 1;
    }
    for (size_t width = count; width > 0; width--)
        for (size_t first = 0; first + width <= count; first++) {
            char room[NAME_BYTES_MAX];
            size_t same = 0;
            size_t from = starts[first], to = ends[first + width - 1];
            (void)fold((struct sma_str){name.ptr + from, to - from}, room);
            struct sma_str found = find_folded(tools, room, &same);
            if (same > 0)
                return found; /* empty where two are meant */
        }
    return (struct sma_str){"", 0};
}

/* "functions_read_file", "read_file_0", "read_file_tool". Longer words first. */
static struct sma_str find_without_words(const json_t *tools, struct sma_str name)
{
    static const char *const before[] = {"functions", "function",  "defaultapi", "default", "tools",
                                         "tool",      "namespace", "api",        "call",    "to"};
    static const char *const behind[] = {"function", "tool", "call", "json", "commentary"};
    char room[NAME_BYTES_MAX];
    size_t len = fold(name, room), same = 0;
    char *from = room;
    for (size_t i = 0; i < SMA_COUNT_OF(before); i++) {
        size_t word = strlen(before[i]);
        if (strncmp(from, before[i], word) == 0) {
            from += word;
            len -= word;
        }
    }
    struct sma_str found = find_folded(tools, from, &same);
    while (found.len == 0 && len > 0 && isdigit((unsigned char)from[len - 1]))
        from[--len] = '\0';
    if (found.len == 0)
        found = find_folded(tools, from, &same);
    for (size_t i = 0; i < SMA_COUNT_OF(behind) && found.len == 0; i++) {
        size_t word = strlen(behind[i]);
        if (len <= word || strcmp(from + len - word, behind[i]) != 0)
            continue;
        from[len - word] = '\0';
        found = find_folded(tools, from, &same);
        from[len - word] = behind[i][0];
    }
    return found;
}

/* "read file"; "mcp__fs__read_file" where there is no server of that name. */
static struct sma_str find_elsewhere(const json_t *tools, struct sma_str name)
{
    char room[NAME_BYTES_MAX];
    size_t same = 0, server = 0;
    if (sma_str_starts_with(name, SMA_STR("mcp__")))
        for (size_t i = 5; i + 2 < name.len && server == 0; i++)
            server = memcmp(name.ptr + i, "__", 2) == 0 ? i + 2 : 0;
    for (size_t i = 0; i < json_array_size(tools) && server > 0; i++)
        if (sma_str_starts_with(name_of(json_array_get(tools, i)),
                                (struct sma_str){name.ptr, server}))
            return (struct sma_str){"", 0};
    (void)fold((struct sma_str){name.ptr + server, name.len - server}, room);
    return find_folded(tools, room, &same);
}

struct sma_str sma_decode_resolve(struct sma_decoder *decoder, struct sma_str name)
{
    const json_t *tools = sma_decode_tools(decoder), *exact = find_tool(tools, name);
    if (exact != NULL || json_array_size(tools) == 0)
        return exact == NULL ? (struct sma_str){"", 0} : name_of(exact);
    struct sma_str proper = cut_name(name);
    struct sma_str found = find_in_segments(tools, proper);
    if (found.len == 0)
        found = find_without_words(tools, proper);
    return found.len > 0 ? found : find_elsewhere(tools, name);
}

void sma_decode_settle_name(struct sma_decoder *decoder, struct sma_answer_part *part)
{
    struct sma_buf clean;
    struct sma_str name = {part->name.len > 0 ? part->name.ptr : "", part->name.len};
    if (json_array_size(sma_decode_tools(decoder)) == 0)
        return;
    sma_buf_init(&clean, SMA_ANSWER_BYTES_MAX);
    sma_buf_put_str(&clean, sma_decode_resolve(decoder, name));
    if (clean.len == 0 && part->name_rest.len > 0) { /* its name came in two pieces */
        sma_buf_put_str(&part->name, sma_buf_str(&part->name_rest));
        name = sma_buf_str(&part->name);
        sma_buf_put_str(&clean, sma_decode_resolve(decoder, name));
    }
    if (clean.len == 0) { /* no tool: at least a name that providers take back */
        struct sma_str proper = cut_name(name);
        for (size_t i = 0; i < proper.len && i < 64; i++)
            sma_buf_put_char(&clean, strchr(".:/", proper.ptr[i]) == NULL ? proper.ptr[i] : '_');
        if (clean.len == 0)
            sma_buf_put_text(&clean, "unnamed");
    }
    sma_buf_clear(&part->name);
    sma_buf_put_str(&part->name, sma_buf_str(&clean));
    sma_decode_fail_for(decoder, part->name.err != SMA_ERR_OK ? part->name.err : clean.err);
    sma_buf_fini(&clean);
}

/* -- values ------------------------------------------------------------------------------------ */
static bool has_type(const json_t *schema, const char *type)
{
    const json_t *types = json_object_get(schema, "type");
    if (json_is_string(types))
        return strcmp(json_string_value(types), type) == 0;
    for (size_t i = 0; i < json_array_size(types); i++)
        if (sma_str_is_equal(sma_json_str_of(json_array_get(types, i)), sma_str(type)))
            return true;
    return false;
}

static json_t *parse_value(struct sma_str text)
{
    static const char *const words[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    json_error_t ignored;
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++)
        if (sma_str_is_equal(text, sma_str(words[i][0])))
            text = sma_str(words[i][1]);
    if (text.len > 0 && (text.ptr[0] == '{' || text.ptr[0] == '['))
        return sma_json_parse(text);
    return json_loadb(text.ptr, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &ignored);
}

static const json_t *properties_of(struct sma_decoder *decoder, struct sma_str tool)
{
    const json_t *found = find_tool(sma_decode_tools(decoder), sma_decode_resolve(decoder, tool));
    const json_t *function = json_object_get(found, "function");
    const json_t *holder = json_is_object(function) ? function : found;
    const json_t *schema = json_object_get(holder, "parameters");
    if (schema == NULL)
        schema = json_object_get(holder, "input_schema");
    return json_object_get(schema, "properties");
}

/* {"name":"<tool>","input":{...}}, {"arguments":"{...}"}: of a tool that has no such properties. */
void sma_decode_unwrap(struct sma_decoder *decoder, struct sma_answer_part *part)
{
    static const char *const members[] = {"arguments", "parameters", "input", "args"};
    struct sma_str name = {part->name.ptr, part->name.len};
    const json_t *properties = properties_of(decoder, name);
    json_t *whole =
        json_object_size(properties) == 0 ? NULL : sma_json_parse(sma_buf_str(&part->content));
    const json_t *inner = NULL, *told = json_object_get(whole, "name");
    for (size_t i = 0; i < SMA_COUNT_OF(members) && inner == NULL; i++)
        if (json_object_get(properties, members[i]) == NULL)
            inner = json_object_get(whole, members[i]);
    bool is_named = told != NULL && json_object_get(properties, "name") == NULL &&
                    sma_str_is_equal(sma_decode_resolve(decoder, sma_json_str_of(told)), name);
    struct sma_str text = sma_str_trim(sma_json_str_of(inner));
    if (json_object_size(whole) == (size_t)1 + is_named &&
        (json_is_object(inner) || sma_json_is_object(text))) {
        struct sma_buf kept;
        sma_buf_init(&kept, SMA_ANSWER_BYTES_MAX);
        if (json_is_object(inner))
            sma_json_put(&kept, inner);
        else
            sma_buf_put_str(&kept, text);
        sma_buf_clear(&part->content);
        sma_buf_put_str(&part->content, sma_buf_str(&kept));
        sma_decode_fail_for(decoder, kept.err != SMA_ERR_OK ? kept.err : part->content.err);
        sma_buf_fini(&kept);
    }
    json_decref(whole);
}

json_t *sma_decode_value(struct sma_decoder *decoder, struct sma_str tool, struct sma_str key,
                         struct sma_str text)
{
    const json_t *properties = properties_of(decoder, tool);
    const json_t *property = json_object_getn(properties, key.ptr, key.len);
    bool is_text = has_type(property, "string");
    json_t *value = is_text ? NULL : parse_value(sma_str_trim(text));
    /* Where no type is told, a word in quotes is what it says, and so is a bare one. */
    return value != NULL ? value : json_stringn_nocheck(text.ptr, text.len);
}
