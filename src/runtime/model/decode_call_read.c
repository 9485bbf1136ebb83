/* decode_call_read.c — see decode_call_read.h. */
#include "decode_call_read.h"

#include "sma/text.h"

#define PAIR_COUNT_MAX 256

static size_t skip_text(struct sma_str text, size_t at, const char *what)
{
    return sma_str_starts_with(slice(text, at, text.len), sma_str(what)) ? at + strlen(what) : at;
}

static bool is_one_of(struct sma_str word, const char *const *list)
{
    for (; *list != NULL; list++)
        if (sma_str_is_equal_nocase(word, sma_str(*list)))
            return true;
    return false;
}

static const char *const NAME_MEMBERS[] = {"name",   "tool_name",      "function_name", "tool",
                                           "action", "recipient_name", "function",      NULL};
static const char *const ARGUMENT_MEMBERS[] = {"arguments", "parameters",   "args",
                                               "input",     "action_input", "tool_input",
                                               "kwargs",    "params",       NULL};

static bool add_call(struct sma_call_reader *reader, struct sma_str name, json_t *arguments)
{
    json_t *call = json_pack("{s:s%,s:o}", "name", name.ptr, name.len, "arguments", arguments);
    reader->calls = reader->calls == NULL ? json_array() : reader->calls;
    return call != NULL && json_array_append_new(reader->calls, call) == 0 &&
           json_array_size(reader->calls) <= SMA_DECODE_CALL_COUNT_MAX;
}

/* -- JSON -------------------------------------------------------------------------------------- */
/* Behind the value whose bracket stands at `at`; 0 = it stays open. */
static size_t end_of_json(struct sma_str text, size_t at)
{
    size_t depth = 0;
    bool is_in_string = false;
    for (; at < text.len; at++) {
        char byte = text.ptr[at];
        if (is_in_string) {
            at += byte == '\\';
            is_in_string = byte != '"';
        } else if (byte == '"') {
            is_in_string = true;
        } else if (byte == '{' || byte == '[') {
            depth++;
        } else if ((byte == '}' || byte == ']') && --depth == 0) {
            return at + 1;
        }
    }
    return 0;
}

static const json_t *get_any(const json_t *object, const char *const *members)
{
    for (; *members != NULL; members++)
        if (json_object_get(object, *members) != NULL)
            return json_object_get(object, *members);
    return NULL;
}

/* {"name":...,"arguments":...} in the members that models use, or {"<tool>":{...}}. */
static bool add_object(struct sma_call_reader *reader, const json_t *object)
{
    static const char *const wrappers[] = {"tool_call",     "tool_calls", "tool_use",
                                           "function_call", "function",   NULL};
    for (size_t i = 0; wrappers[i] != NULL; i++)
        if (json_is_object(json_object_get(object, wrappers[i])))
            object = json_object_get(object, wrappers[i]);
    const json_t *arguments = get_any(object, ARGUMENT_MEMBERS);
    struct sma_str name = {"", 0};
    for (size_t i = 0; NAME_MEMBERS[i] != NULL && name.len == 0; i++)
        name = sma_json_str(object, NAME_MEMBERS[i]);
    if (name.len == 0 && json_object_size(object) == 1) {
        const char *key = json_object_iter_key(json_object_iter((json_t *)object));
        name = sma_decode_resolve(reader->decoder, sma_str(key));
        arguments = json_object_get(object, key);
    }
    if (name.len == 0 || (arguments != NULL && !json_is_object(arguments) &&
                          !json_is_string(arguments) && !json_is_null(arguments)))
        return false;
    bool is_told = json_is_object(arguments) || json_is_string(arguments);
    return add_call(reader, name, is_told ? json_incref((json_t *)arguments) : json_object());
}

static bool add_value(struct sma_call_reader *reader, const json_t *value)
{
    const json_t *list = json_object_get(value, "tool_calls");
    if (list == NULL && json_is_array(value))
        list = value;
    if (!json_is_array(list))
        return add_object(reader, value);
    bool is_read = json_array_size(list) > 0;
    for (size_t i = 0; i < json_array_size(list) && is_read; i++)
        is_read = add_object(reader, json_array_get(list, i));
    return is_read;
}

/* &lt; and its like, as a page writes them, are the bytes that they stand for. */
void sma_call_put_unescaped(struct sma_buf *buf, struct sma_str text)
{
    static const char *const entities[][2] = {{"&lt;", "<"},   {"&gt;", ">"},  {"&quot;", "\""},
                                              {"&#34;", "\""}, {"&#39;", "'"}, {"&apos;", "'"},
                                              {"&amp;", "&"}};
    for (size_t at = 0; at < text.len && buf->err == SMA_ERR_OK;) {
        size_t i = text.ptr[at] == '&' ? 0 : SMA_COUNT_OF(entities);
        while (i < SMA_COUNT_OF(entities) && skip_text(text, at, entities[i][0]) == at)
            i++;
        if (i < SMA_COUNT_OF(entities))
            sma_buf_put_text(buf, entities[i][1]);
        else
            sma_buf_put_char(buf, text.ptr[at]);
        at += i < SMA_COUNT_OF(entities) ? strlen(entities[i][0]) : 1;
    }
}

/* The value at `at`, repaired where that can be meant in one way; *ret_end. NULL: none. */
static json_t *parse_at(struct sma_str text, size_t at, size_t *ret_end)
{
    struct sma_notation_cursor cursor = {.at = at, .is_line_start = true};
    size_t end = end_of_json(text, at);
    if (end == 0 &&
        sma_notation_next(&cursor, text, SMA_NOTATIONS(SMA_NOTATION_CALLS_END), &end).kind == 0)
        end = text.len;
    *ret_end = end;
    struct sma_str inner = slice(text, at, end);
    json_t *value = sma_json_parse(inner);
    if (value != NULL)
        return value;
    struct sma_buf plain, object, fixed;
    sma_buf_init(&plain, inner.len + 64);
    sma_buf_init(&object, inner.len + 64);
    sma_buf_init(&fixed, 6 * (inner.len + 64));
    bool is_list = text.ptr[at] == '[';
    if (memmem(inner.ptr, inner.len, "&quot;", 6) != NULL)
        sma_call_put_unescaped(&plain, inner);
    inner = plain.len > 0 ? sma_buf_str(&plain) : inner;
    sma_buf_printf(&object, is_list ? "{\"tool_calls\":%.*s}" : "%.*s", (int)inner.len, inner.ptr);
    if (object.err == SMA_ERR_OK && sma_arguments_repair(sma_buf_str(&object), &fixed))
        value = sma_json_parse(sma_buf_str(&fixed));
    sma_buf_fini(&plain);
    sma_buf_fini(&object);
    sma_buf_fini(&fixed);
    return value;
}

static bool read_json(struct sma_call_reader *reader)
{
    size_t end;
    json_t *value = parse_at(reader->text, reader->at, &end);
    bool is_read = value != NULL && add_value(reader, value);
    json_decref(value);
    reader->at = is_read ? end : reader->at;
    return is_read;
}

/* -- elements ---------------------------------------------------------------------------------- */
struct tag
{
    bool is_close, is_json; /* is_json: it says that its text is no string */
    struct sma_str element, value, arguments;
    size_t end; /* behind it */
};

/* ` name="x" string="true"` */
static size_t read_attributes(struct sma_str text, size_t at, struct tag *tag)
{
    for (;;) {
        at = sma_notation_skip_space(text, at);
        size_t end = word_end(text, at);
        if (end == at || end + 1 >= text.len || text.ptr[end] != '=')
            return at;
        struct sma_str key = slice(text, at, end);
        char quote = text.ptr[end + 1];
        bool is_quoted = quote == '"' || quote == '\'';
        size_t from = end + 1 + is_quoted;
        const char *close = is_quoted ? memchr(text.ptr + from, quote, text.len - from) : NULL;
        if (is_one_of(key, ARGUMENT_MEMBERS) && from < text.len && text.ptr[from] == '{' &&
            end_of_json(text, from) > 0) /* its quotes are those of JSON */
            close = text.ptr + end_of_json(text, from);
        size_t to = close != NULL ? (size_t)(close - text.ptr) : word_end(text, from);
        if (sma_str_is_equal(key, SMA_STR("name")))
            tag->value = slice(text, from, to);
        else if (sma_str_is_equal(key, SMA_STR("string")))
            tag->is_json = sma_str_is_equal(slice(text, from, to), SMA_STR("false"));
        else if (is_one_of(key, ARGUMENT_MEMBERS))
            tag->arguments = slice(text, from, to);
        at = to + (close != NULL);
    }
}

/* <element>, <prefix:element name="value">, <element=value>, </element>. */
static bool read_tag(struct sma_str text, size_t at, struct tag *tag)
{
    *tag = (struct tag){.value = {"", 0}};
    if (at + 1 >= text.len || text.ptr[at] != '<')
        return false;
    bool is_spaced;
    size_t bar;
    at = sma_notation_name_at(text, at + 1, &tag->is_close, &is_spaced, &bar);
    if (bar > 0)
        return false;
    size_t end = word_end(text, at);
    if (end < text.len && end > at && text.ptr[end] == ':') {
        at = end + 1;
        end = word_end(text, at);
    }
    tag->element = slice(text, at, end);
    if (end == at || end >= text.len)
        return false;
    at = end;
    if (text.ptr[at] == '=' || text.ptr[at] == '(') {
        at += 1;
        at += at < text.len && (text.ptr[at] == '"' || text.ptr[at] == '\'');
        end = word_end(text, at);
        tag->value = slice(text, at, end);
        at = end;
        while (at < text.len && strchr("\"') ", text.ptr[at]) != NULL && text.ptr[at] != '\0')
            at++;
    } else {
        at = read_attributes(text, at, tag);
    }
    at = skip_text(text, at, "/");
    bool is_closed = at < text.len && text.ptr[at] == '>';
    /* Groq: the arguments stand in the element itself. */
    tag->end = at + is_closed;
    return is_closed || (at < text.len && text.ptr[at] == '{' && tag->value.len > 0);
}

/* Where the text of an element ends: at its closing tag, or where that was forgotten, at the next
 * tag or mark; *ret_next is where reading goes on. */
static size_t end_of_element(struct sma_str text, size_t from, struct sma_str element,
                             size_t *ret_next)
{
    struct tag tag;
    for (size_t pass = 0; pass < 2; pass++) {
        const char *at = text.ptr + from, *limit = text.ptr + text.len;
        for (; (at = memchr(at, '<', (size_t)(limit - at))) != NULL; at++) {
            size_t place = (size_t)(at - text.ptr);
            bool is_tag = read_tag(text, place, &tag);
            bool is_same = is_tag && sma_str_is_equal_nocase(tag.element, element);
            if (pass == 0 && is_same && !tag.is_close && tag.value.len > 0)
                break; /* the next one begins: this one's end was forgotten */
            bool is_end =
                pass == 0
                    ? is_same && tag.is_close
                    : is_same || (is_tag && tag.is_close) ||
                          sma_notation_at(text, place, SMA_NOTATIONS(SMA_NOTATION_CALLS_END)).kind;
            if (!is_end)
                continue;
            *ret_next = pass == 0 ? tag.end : place;
            return place;
        }
    }
    *ret_next = text.len;
    return text.len;
}

/* A value's own lines: templates put it on lines of its own. */
static struct sma_str value_of(struct sma_str text)
{
    if (text.len > 0 && text.ptr[0] == '\n')
        text = slice(text, 1, text.len);
    if (text.len > 0 && text.ptr[text.len - 1] == '\n')
        text.len--;
    bool is_raw = text.len >= 12 && sma_str_starts_with(text, SMA_STR("<![CDATA[")) &&
                  memcmp(text.ptr + text.len - 3, "]]>", 3) == 0;
    return is_raw ? slice(text, 9, text.len - 3) : text;
}

static bool merge_json(struct sma_call_reader *reader, json_t *arguments)
{
    size_t end;
    json_t *value = parse_at(reader->text, reader->at, &end);
    bool is_read = json_is_object(value) && json_object_update(arguments, value) == 0;
    json_decref(value);
    reader->at = end;
    return is_read;
}

static bool read_pair(struct sma_call_reader *reader, struct tag tag, struct sma_str *name,
                      json_t *arguments)
{
    struct sma_str text = reader->text;
    size_t next, end = end_of_element(text, tag.end, tag.element, &next);
    struct sma_str value = slice(text, tag.end, end);
    struct sma_str key = tag.value.len > 0 ? tag.value : tag.element;
    if (tag.value.len == 0 && name->len == 0 && is_one_of(tag.element, NAME_MEMBERS)) {
        *name = sma_str_trim(value);
        reader->at = next;
        return true;
    }
    static const char *const keys[] = {"arg_key", "longcat_arg_key", NULL};
    static const char *const others[] = {"server_name", "server", "id", "type", "call_id", NULL};
    if (tag.value.len == 0 && name->len == 0 && is_one_of(tag.element, others)) {
        reader->at = next;
        return true;
    }
    if (is_one_of(tag.element, keys)) {
        key = sma_str_trim(value);
        next = sma_notation_skip_space(text, next);
        if (!read_tag(text, next, &tag) ||
            memmem(tag.element.ptr, tag.element.len, "_value", 6) == NULL)
            return false;
        end = end_of_element(text, tag.end, tag.element, &next);
        value = slice(text, tag.end, end);
    }
    value = value_of(value);
    json_t *typed = sma_decode_value(reader->decoder, *name, key, value);
    if (tag.is_json && json_is_string(typed)) {
        json_error_t ignored;
        json_t *said = json_loadb(value.ptr, value.len, JSON_DECODE_ANY, &ignored);
        if (said != NULL) {
            json_decref(typed);
            typed = said;
        }
    }
    reader->at = next;
    return key.len > 0 && json_object_setn_new_nocheck(arguments, key.ptr, key.len, typed) == 0;
}

/* Arguments to the end of the call: JSON, or an element each. */
static bool read_pairs(struct sma_call_reader *reader, struct sma_str element, struct sma_str *name,
                       json_t *arguments)
{
    struct sma_str text = reader->text;
    for (size_t count = 0; count < PAIR_COUNT_MAX; count++) {
        struct tag tag;
        reader->at = skip_text(text, sma_notation_skip_space(text, reader->at), ">");
        reader->at = sma_notation_skip_space(text, reader->at);
        if (reader->at >= text.len ||
            sma_notation_at(text, reader->at,
                            SMA_NOTATIONS(SMA_NOTATION_CALLS_END) | SMA_NOTATIONS_OF_CALLS)
                .kind)
            return true;
        if (text.ptr[reader->at] == '{') {
            if (!merge_json(reader, arguments))
                return false;
            continue;
        }
        if (!read_tag(text, reader->at, &tag))
            return false;
        size_t inner = sma_notation_skip_space(text, tag.end);
        bool is_group = tag.value.len == 0 && is_one_of(tag.element, ARGUMENT_MEMBERS) &&
                        inner < text.len && strchr("{<", text.ptr[inner]) != NULL;
        if (tag.is_close || is_group) {
            reader->at = tag.end;
            if (tag.is_close && sma_str_is_equal_nocase(tag.element, element))
                return true;
        } else if (!read_pair(reader, tag, name, arguments)) {
            return false;
        }
    }
    return false;
}

static bool read_element(struct sma_call_reader *reader)
{
    static const char *const calls[] = {"function", "invoke", "tool", "tool_call", "call", NULL};
    struct tag tag;
    if (!read_tag(reader->text, reader->at, &tag) || tag.is_close)
        return false;
    bool is_call = is_one_of(tag.element, calls) && (tag.value.len > 0 || tag.element.len == 6);
    bool is_tool = !is_call && sma_decode_is_tool(reader->decoder, tag.element, false);
    bool is_name =
        !is_call && !is_tool && (reader->is_in_block || is_one_of(tag.element, NAME_MEMBERS));
    if (!is_call && !is_tool && !is_name)
        return false;
    struct sma_str name = is_call ? tag.value : is_tool ? tag.element : SMA_STR("");
    if (!is_name)
        reader->at = tag.end;
    json_t *arguments = tag.arguments.len > 0 ? sma_json_parse(tag.arguments) : json_object();
    bool is_self_closed = tag.end >= 2 && reader->text.ptr[tag.end - 2] == '/';
    if (arguments == NULL ||
        (!(is_self_closed && is_call) &&
         !read_pairs(reader, is_name ? SMA_STR("") : tag.element, &name, arguments)) ||
        name.len == 0) {
        json_decref(arguments);
        return false;
    }
    return add_call(reader, name, arguments);
}

/* -- a name and what stands behind it ---------------------------------------------------------- */
/* One value of `name(key="value", ...)` or `name{key:value}`; *at behind it. */
static struct sma_str read_inline(struct sma_str text, size_t *at, char close, bool *ret_is_quoted)
{
    static const char *const quotes[] = {"\"\"\"", "'''", "<escape>", "<|\"|>", "\"", "'"};
    for (size_t i = 0; i < SMA_COUNT_OF(quotes); i++) {
        size_t from = skip_text(text, *at, quotes[i]);
        if (from == *at)
            continue;
        size_t to = from;
        while (to < text.len && skip_text(text, to, quotes[i]) == to)
            to += text.ptr[to] == '\\' ? 2 : 1;
        to = to < text.len ? to : text.len;
        *at = skip_text(text, to, quotes[i]);
        *ret_is_quoted = true;
        return slice(text, from, to);
    }
    size_t from = *at, to = 0;
    *ret_is_quoted = false;
    if (from < text.len && strchr("{[", text.ptr[from]) != NULL)
        to = end_of_json(text, from);
    for (to = to == 0 ? from : to; to < text.len && text.ptr[to] != ',' && text.ptr[to] != close;)
        to++;
    *at = to;
    return trim_end(slice(text, from, to));
}

/* The escapes of a quoted string, where there are any. */
static json_t *unquote(struct sma_str value)
{
    struct sma_buf quoted;
    json_error_t ignored;
    json_t *text = NULL;
    sma_buf_init(&quoted, 2 * value.len + 64);
    sma_buf_put_char(&quoted, '"');
    for (size_t i = 0; i < value.len; i++) {
        bool is_plain_quote = value.ptr[i] == '"' && (i == 0 || value.ptr[i - 1] != '\\');
        if (value.ptr[i] == '\\' && i + 1 < value.len && value.ptr[i + 1] == '\'')
            continue;
        if (value.ptr[i] == '\n')
            sma_buf_put_text(&quoted, "\\n");
        else if (is_plain_quote)
            sma_buf_put_text(&quoted, "\\\"");
        else
            sma_buf_put_char(&quoted, value.ptr[i]);
    }
    sma_buf_put_char(&quoted, '"');
    if (quoted.err == SMA_ERR_OK)
        text = json_loadb(quoted.ptr, quoted.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &ignored);
    sma_buf_fini(&quoted);
    return text != NULL ? text : json_stringn_nocheck(value.ptr, value.len);
}

static bool read_inline_pairs(struct sma_call_reader *reader, struct sma_str name, char close,
                              json_t *arguments)
{
    struct sma_str text = reader->text;
    for (size_t count = 0; count < PAIR_COUNT_MAX; count++) {
        size_t at = sma_notation_skip_space(text, reader->at);
        at = sma_notation_skip_space(text, skip_text(text, at, ","));
        if (at < text.len && text.ptr[at] == close) {
            reader->at = at + 1;
            return true;
        }
        size_t end = word_end(text, at);
        struct sma_str key = slice(text, at, end);
        end = sma_notation_skip_space(text, end);
        if (key.len == 0 || end >= text.len || (text.ptr[end] != '=' && text.ptr[end] != ':'))
            return false;
        bool is_quoted;
        at = sma_notation_skip_space(text, end + 1);
        struct sma_str value = read_inline(text, &at, close, &is_quoted);
        json_t *typed =
            is_quoted ? unquote(value) : sma_decode_value(reader->decoder, name, key, value);
        if (json_object_setn_new_nocheck(arguments, key.ptr, key.len, typed) != 0)
            return false;
        reader->at = at;
    }
    return false;
}

static bool read_arguments(struct sma_call_reader *reader, struct sma_str name, json_t *arguments)
{
    struct sma_str text = reader->text;
    size_t at = sma_notation_skip_space(text, reader->at);
    bool is_tool = sma_decode_resolve(reader->decoder, name).len > 0;
    if (at >= text.len ||
        sma_notation_at(text, at,
                        SMA_NOTATIONS(SMA_NOTATION_CALLS_END) | SMA_NOTATIONS(SMA_NOTATION_END))
            .kind)
        return is_tool; /* it takes none */
    size_t end;
    reader->at = at;
    char byte = text.ptr[at];
    json_t *value = byte == '{' ? parse_at(text, at, &end) : NULL;
    if (json_is_object(value)) {
        int result = json_object_update(arguments, value);
        json_decref(value);
        reader->at = end;
        return result == 0;
    }
    json_decref(value);
    bool is_read = false;
    if (byte == '<') {
        is_read = read_pairs(reader, SMA_STR(""), &name, arguments);
    } else if (byte == '(' || byte == '{') {
        reader->at = at + 1;
        is_read = read_inline_pairs(reader, name, byte == '(' ? ')' : '}', arguments);
    }
    return is_read && (is_tool || json_object_size(arguments) > 0);
}

static size_t name_end(struct sma_str text, size_t at)
{
    size_t end = word_end(text, at);
    while (end < text.len && (text.ptr[end] == ':' || text.ptr[end] == '/')) {
        size_t next = word_end(text, end + 1);
        if (next == end + 1)
            break;
        end = next;
    }
    return end;
}

/* `read_file<sep>{...}`, `function<sep>read_file ...`, `to=functions.read_file json<sep>{...}`. */
static bool read_named(struct sma_call_reader *reader)
{
    static const char *const fillers[] = {"json", "code", "commentary", "analysis", NULL};
    struct sma_str text = reader->text, name = {"", 0}, first = {"", 0};
    for (size_t i = 0; i < 12; i++) {
        reader->at = sma_notation_skip_space(text, reader->at);
        struct sma_notation mark =
            sma_notation_at(text, reader->at, SMA_NOTATIONS(SMA_NOTATION_BETWEEN));
        reader->at += mark.text.len;
        if (mark.kind != SMA_NOTATION_NONE && sma_decode_resolve(reader->decoder, name).len == 0) {
            first = name.len > 0 ? name : first; /* a kind, or an id: the name may follow */
            name.len = 0;
        }
        if (mark.kind != SMA_NOTATION_NONE)
            continue;
        size_t id = skip_text(text, reader->at, "[CALL_ID]"); /* Mistral */
        if (id != reader->at) {
            reader->at = word_end(text, id);
            continue;
        }
        reader->at = skip_text(text, skip_text(text, reader->at, "to="), "call:");
        size_t end = name_end(text, reader->at);
        struct sma_str word = slice(text, reader->at, end);
        if (word.len == 0 || (name.len == 0 && first.len > 0 && text.ptr[reader->at] == '{'))
            break;
        bool is_print = sma_str_is_equal(word, SMA_STR("print")) && skip_text(text, end, "(") > end;
        reader->at = end + is_print;
        if (is_one_of(word, fillers) || is_print)
            continue;
        if (name.len > 0)
            return false; /* prose */
        name = word;
    }
    json_t *arguments = json_object();
    name = name.len > 0 ? name : first;
    if (name.len == 0 || !read_arguments(reader, name, arguments)) {
        json_decref(arguments);
        return false;
    }
    reader->at = skip_text(text, reader->at, ")"); /* of a print(...) around it */
    return add_call(reader, name, arguments);
}

/* `[read_file(path="a"), read_file(path="b")]` */
static bool read_line_of_python(struct sma_call_reader *reader)
{
    size_t begin = reader->at;
    reader->at++;
    do {
        reader->at =
            sma_notation_skip_space(reader->text, skip_text(reader->text, reader->at, ","));
        if (reader->at >= reader->text.len ||
            !isalpha((unsigned char)reader->text.ptr[reader->at]) || !read_named(reader)) {
            reader->at = begin;
            return false;
        }
        reader->at = sma_notation_skip_space(reader->text, reader->at);
    } while (reader->at < reader->text.len && reader->text.ptr[reader->at] == ',');
    reader->at = skip_text(reader->text, reader->at, "]");
    return true;
}

static bool read_next(struct sma_call_reader *reader)
{
    switch (reader->text.ptr[reader->at]) {
    case '<':
        return read_element(reader) || read_named(reader);
    case '{':
        return read_json(reader);
    case '[':
        return read_json(reader) || read_line_of_python(reader);
    default:
        return read_named(reader);
    }
}

bool sma_call_read_all(struct sma_call_reader *reader)
{
    static const unsigned wrappers =
        SMA_NOTATIONS(SMA_NOTATION_CALLS) | SMA_NOTATIONS(SMA_NOTATION_CALLS_END) |
        SMA_NOTATIONS(SMA_NOTATION_END) | SMA_NOTATIONS(SMA_NOTATION_RESULT) |
        SMA_NOTATIONS(SMA_NOTATION_BETWEEN) | SMA_NOTATIONS(SMA_NOTATION_ANSWER_END);
    for (;;) {
        reader->at = sma_notation_skip_space(reader->text, reader->at);
        while (reader->at < reader->text.len && strchr(";,", reader->text.ptr[reader->at]) != NULL)
            reader->at = sma_notation_skip_space(reader->text, reader->at + 1);
        struct sma_str rest = slice(reader->text, reader->at, reader->text.len);
        if (rest.len == 0)
            return true;
        struct sma_notation mark = sma_notation_at(rest, 0, wrappers);
        if (mark.kind == SMA_NOTATION_RESULT && json_array_size(reader->calls) > 0)
            return true;
        if (mark.kind != SMA_NOTATION_NONE && mark.kind != SMA_NOTATION_RESULT) {
            reader->is_in_block &= mark.kind == SMA_NOTATION_BETWEEN;
            reader->is_in_block |= mark.kind == SMA_NOTATION_CALLS;
            reader->at += mark.text.len;
        } else if (json_array_size(reader->calls) > 0 && sma_notation_hold(rest) == 0) {
            return true; /* its end was cut */
        } else if (!read_next(reader)) {
            return false;
        } else {
            reader->is_in_block = false;
        }
    }
}
