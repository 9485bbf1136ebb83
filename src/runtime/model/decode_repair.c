/*
 * decode_repair.c — arguments of a call that are not quite JSON: what models without a grammar
 * really write.
 *
 * Repaired is only what can be meant in one way: code fences around the object, an object inside a
 * string, control characters and odd escapes in strings, commas in front of a closing bracket,
 * strings, lists and objects left open at the end, one bracket too many, the quotes and words of
 * Python. Everything else goes back
 * to the model with its place.
 */
#include "decode_priv.h"

#include "sma/text.h"

struct repair
{
    struct sma_str text;
    struct sma_buf *out;
    char open[SMA_JSON_DEPTH_MAX]; /* the closing bracket of each level */
    size_t depth;
    size_t comma_at; /* where out holds a comma that nothing follows yet, + 1; 0 = none */
    char quote;      /* of the string that is open; 0 = none is */
};

bool sma_json_is_object(struct sma_str text)
{
    json_t *value = sma_json_parse_strict(text, NULL);
    bool is_object = json_is_object(value);
    json_decref(value);
    return is_object;
}

static bool is_hex(struct sma_str text, size_t at)
{
    for (size_t i = at; i < at + 4; i++)
        if (i >= text.len || strchr("0123456789abcdefABCDEF", text.ptr[i]) == NULL ||
            text.ptr[i] == '\0')
            return false;
    return true;
}

/* A backslash in a string; returns how many bytes it and its letter take. */
static size_t put_escape(struct repair *repair, size_t at)
{
    struct sma_str text = repair->text;
    if (at + 1 >= text.len)
        return 1; /* the end: nothing was escaped any more */
    char byte = text.ptr[at + 1];
    if (byte == 'u' ? is_hex(text, at + 2) : byte != '\0' && strchr("\"\\/bfnrt", byte) != NULL) {
        sma_buf_put(repair->out, text.ptr + at, 2);
        return 2;
    }
    if (byte == '\'') {
        sma_buf_put_char(repair->out, byte);
        return 2;
    }
    sma_buf_put_text(repair->out, "\\\\"); /* "\d" and "C:\Users": the backslash itself is meant */
    return 1;
}

static size_t put_in_string(struct repair *repair, size_t at)
{
    unsigned char byte = (unsigned char)repair->text.ptr[at];
    if (byte == '\\')
        return put_escape(repair, at);
    /* An apostrophe ends nothing but where a string may end. */
    size_t next = at + 1;
    while (next < repair->text.len && repair->text.ptr[next] == ' ')
        next++;
    bool may_end =
        byte == '"' || next >= repair->text.len || strchr(",:}]\n", repair->text.ptr[next]) != NULL;
    if (byte == (unsigned char)repair->quote && may_end) {
        repair->quote = '\0';
        sma_buf_put_char(repair->out, '"');
    } else if (byte == '"') {
        sma_buf_put_text(repair->out, "\\\"");
    } else if (byte == '\n')
        sma_buf_put_text(repair->out, "\\n");
    else if (byte == '\t')
        sma_buf_put_text(repair->out, "\\t");
    else if (byte == '\r')
        sma_buf_put_text(repair->out, "\\r");
    else if (byte < 0x20)
        sma_buf_printf(repair->out, "\\u%04x", byte);
    else
        sma_buf_put_char(repair->out, (char)byte);
    return 1;
}

static void close_level(struct repair *repair)
{
    if (repair->comma_at > 0)
        repair->out->ptr[repair->comma_at - 1] = ' ';
    repair->comma_at = 0;
    sma_buf_put_char(repair->out, repair->open[--repair->depth]);
}

/* A closing bracket closes what was left open inside of its pair; without a pair it is one too
 * many. */
static void on_close(struct repair *repair, char byte)
{
    if (memchr(repair->open, byte, repair->depth) == NULL)
        return;
    while (repair->open[repair->depth - 1] != byte)
        close_level(repair);
    close_level(repair);
}

/* false: this is beyond repair. */
static bool on_byte(struct repair *repair, size_t at)
{
    char byte = repair->text.ptr[at];
    if (byte == '}' || byte == ']') {
        on_close(repair, byte);
        return true;
    }
    bool is_space = byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
    if (byte == ',')
        repair->comma_at = repair->out->len + 1;
    else if (!is_space)
        repair->comma_at = 0;
    if (byte == '{' || byte == '[') {
        if (repair->depth == SMA_JSON_DEPTH_MAX)
            return false;
        repair->open[repair->depth++] = byte == '{' ? '}' : ']';
    }
    repair->quote = byte == '"' || byte == '\'' ? byte : '\0';
    sma_buf_put_char(repair->out, byte == '\'' ? '"' : byte);
    return true;
}

/* Python's words for JSON's; returns how many bytes were one. */
static size_t put_word(struct repair *repair, size_t at)
{
    static const char *const words[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    struct sma_str rest = {repair->text.ptr + at, repair->text.len - at};
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++)
        if (sma_str_starts_with(rest, sma_str(words[i][0]))) {
            repair->comma_at = 0;
            sma_buf_put_text(repair->out, words[i][1]);
            return strlen(words[i][0]);
        }
    return 0;
}

static bool is_rest_empty(struct sma_str text, size_t at)
{
    for (; at < text.len; at++)
        if (strchr(" \t\r\n}]`", text.ptr[at]) == NULL || text.ptr[at] == '\0')
            return false;
    return true;
}

static bool rewrite(struct sma_str text, struct sma_buf *out)
{
    struct repair repair = {.text = text, .out = out};
    if (text.len == 0 || text.ptr[0] != '{')
        return false;
    for (size_t at = 0; at < text.len && out->err == SMA_ERR_OK;) {
        size_t len = repair.quote != '\0' ? put_in_string(&repair, at) : put_word(&repair, at);
        at += len;
        if (len > 0)
            continue;
        if (!on_byte(&repair, at++))
            return false;
        if (repair.depth == 0)
            return is_rest_empty(text, at);
    }
    if (repair.quote != '\0')
        sma_buf_put_char(out, '"');
    while (repair.depth > 0 && out->err == SMA_ERR_OK)
        close_level(&repair);
    return true;
}

/* ```json ... ``` around everything, or a "{}" in front of the object that was meant. */
static struct sma_str unwrap(struct sma_str text)
{
    text = sma_str_trim(text);
    if (sma_str_starts_with(text, SMA_STR("```"))) {
        const char *line = memchr(text.ptr, '\n', text.len);
        const char *brace = memchr(text.ptr, '{', text.len);
        const char *start = line != NULL && (brace == NULL || line < brace) ? line : brace;
        if (start != NULL)
            text = (struct sma_str){start, text.len - (size_t)(start - text.ptr)};
        text = sma_str_trim(text);
        if (text.len >= 3 && memcmp(text.ptr + text.len - 3, "```", 3) == 0)
            text.len -= 3;
        text = sma_str_trim(text);
    }
    if (sma_str_starts_with(text, SMA_STR("{}"))) {
        struct sma_str rest = sma_str_trim((struct sma_str){text.ptr + 2, text.len - 2});
        if (rest.len > 0 && rest.ptr[0] == '{')
            return rest;
    }
    return text;
}

/* "{\"a\":1}" with quotes around: the object inside. */
static bool on_out_of_string(struct sma_str text, struct sma_buf *fixed)
{
    struct sma_buf list;
    if (text.len == 0 || text.ptr[0] != '"')
        return false;
    sma_buf_init(&list, text.len + 8);
    sma_buf_put_char(&list, '[');
    sma_buf_put_str(&list, text);
    sma_buf_put_char(&list, ']');
    json_t *value = sma_json_parse_strict(sma_buf_str(&list), NULL);
    struct sma_str inner = sma_str_trim(sma_json_str_of(json_array_get(value, 0)));
    bool is_object = json_array_size(value) == 1 && sma_json_is_object(inner);
    if (is_object)
        sma_buf_put_str(fixed, inner);
    json_decref(value);
    sma_buf_fini(&list);
    return is_object && fixed->err == SMA_ERR_OK;
}

bool sma_arguments_repair(struct sma_str text, struct sma_buf *fixed)
{
    text = unwrap(text);
    if (sma_json_is_object(text)) {
        sma_buf_put_str(fixed, text);
        return fixed->err == SMA_ERR_OK;
    }
    if (on_out_of_string(text, fixed))
        return true;
    if (!rewrite(text, fixed) || fixed->err != SMA_ERR_OK)
        return false;
    if (sma_json_is_object(sma_buf_str(fixed)))
        return true;
    /* Halves of surrogate pairs: only their replacement can be sent back. */
    json_t *value = sma_json_parse(sma_buf_str(fixed));
    bool is_object = json_is_object(value);
    sma_buf_clear(fixed);
    if (is_object)
        sma_json_put(fixed, value);
    json_decref(value);
    return is_object && fixed->err == SMA_ERR_OK;
}

void sma_arguments_problem(struct sma_str text, struct sma_buf *problem)
{
    json_error_t error = {0};
    json_t *value = sma_json_parse_strict(text, &error);
    if (value != NULL) {
        sma_buf_printf(problem, "they are a list, not an object");
    } else if (error.line <= 0) {
        sma_buf_printf(problem, "they are nested deeper than %d levels", SMA_JSON_DEPTH_MAX);
    } else {
        struct sma_str said = sma_str(error.text);
        sma_buf_put_str(problem, sma_utf8_is_valid(said) ? said : SMA_STR("not JSON"));
        sma_buf_printf(problem, ", at line %d, column %d (byte %d)", error.line, error.column,
                       error.position);
    }
    json_decref(value);
}
