/* css.c — see css.h. */
#include "page/css.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_DEPTH_MAX 256 /* what stands deeper is passed over to the end of the text */
#define NUMBER_BYTES_MAX 48

uint32_t css_hash(const char *text, size_t len, bool is_exact)
{
    uint32_t value = 2166136261u;
    for (size_t i = 0; i < len; i++)
        value = (value ^
                 (uint32_t)(is_exact ? (unsigned char)text[i] : tolower((unsigned char)text[i]))) *
                16777619u;
    return value == 0 ? 1 : value;
}

static char peek(const struct css_text *in, size_t ahead)
{
    return (size_t)(in->end - in->at) > ahead ? in->at[ahead] : '\0';
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\f';
}

static bool is_name(char byte)
{
    return isalnum((unsigned char)byte) || byte == '-' || byte == '_' || (byte & 0x80) != 0;
}

static bool is_escape(const struct css_text *in, size_t ahead)
{
    return peek(in, ahead) == '\\' && peek(in, ahead + 1) != '\n' &&
           in->end - in->at > (ptrdiff_t)ahead + 1;
}

static bool begins_name(const struct css_text *in)
{
    char first = peek(in, 0), second = peek(in, 1);
    if (first == '-')
        return (is_name(second) && !isdigit((unsigned char)second)) || is_escape(in, 1);
    return (is_name(first) && !isdigit((unsigned char)first)) || is_escape(in, 0);
}

static bool begins_number(const struct css_text *in)
{
    size_t at = peek(in, 0) == '+' || peek(in, 0) == '-';
    at += peek(in, at) == '.';
    return isdigit((unsigned char)peek(in, at));
}

static void put(struct css_token *token, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char small = (char)tolower((unsigned char)bytes[i]);
        token->exact = (token->exact ^ (unsigned char)bytes[i]) * 16777619u;
        token->hash = (token->hash ^ (unsigned char)small) * 16777619u;
        if (token->len++ < sizeof token->text - 1) {
            token->text[token->len - 1] = small;
            token->raw[token->len - 1] = bytes[i];
            token->text[token->len] = token->raw[token->len] = '\0';
        }
    }
}

static void put_escape(struct css_text *in, struct css_token *token)
{
    char bytes[4];
    uint32_t code = 0;
    in->at++;
    if (!isxdigit((unsigned char)*in->at)) {
        put(token, in->at++, 1);
        return;
    }
    for (int i = 0; i < 6 && isxdigit((unsigned char)peek(in, 0)); i++, in->at++)
        code = code * 16 + (uint32_t)(*in->at <= '9' ? *in->at - '0' : (*in->at | 0x20) - 'a' + 10);
    in->at += is_blank(peek(in, 0));
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = len; i-- > 1; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(len == 1 ? code : (0xf00u >> len & 0xff) | code);
    put(token, bytes, len);
}

static void put_name(struct css_text *in, struct css_token *token)
{
    while (is_name(peek(in, 0)) || is_escape(in, 0))
        if (*in->at == '\\')
            put_escape(in, token);
        else
            put(token, in->at++, 1);
}

static void put_number(struct css_text *in, struct css_token *token)
{
    char digits[NUMBER_BYTES_MAX + 1];
    size_t len = peek(in, 0) == '+' || peek(in, 0) == '-';
    while (isdigit((unsigned char)peek(in, len)))
        len++;
    if (peek(in, len) == '.' && isdigit((unsigned char)peek(in, len + 1)))
        for (len++; isdigit((unsigned char)peek(in, len));)
            len++;
    size_t sign = peek(in, len + 1) == '+' || peek(in, len + 1) == '-';
    if ((peek(in, len) | 0x20) == 'e' && isdigit((unsigned char)peek(in, len + 1 + sign)))
        for (len += 1 + sign; isdigit((unsigned char)peek(in, len));)
            len++;
    size_t kept = len < NUMBER_BYTES_MAX ? len : NUMBER_BYTES_MAX;
    memcpy(digits, in->at, kept);
    digits[kept] = '\0';
    token->number = strtod(digits, NULL);
    if (!(token->number > -1e9 && token->number < 1e9))
        token->number = token->number < 0 ? -1e9 : 1e9;
    in->at += len;
    if (peek(in, 0) == '%')
        put(token, in->at++, 1);
    else if (begins_name(in))
        put_name(in, token);
}

static enum css_kind put_string(struct css_text *in, struct css_token *token)
{
    char quote = *in->at++;
    while (in->at < in->end && *in->at != quote) {
        if (*in->at == '\n')
            return CSS_BAD;
        if (is_escape(in, 0))
            put_escape(in, token);
        else if (*in->at == '\\')
            in->at += in->end - in->at > 1 ? 2 : 1; /* the line goes on */
        else
            put(token, in->at++, 1);
    }
    in->at += in->at < in->end;
    return CSS_STRING;
}

/* Behind "url(", where no quotation mark follows. */
static enum css_kind pass_address(struct css_text *in)
{
    enum css_kind kind = CSS_URL;
    bool has_ended = false;
    for (; in->at < in->end && *in->at != ')'; in->at++) {
        if (*in->at == '"' || *in->at == '\'' || *in->at == '(' ||
            (has_ended && !is_blank(*in->at)))
            kind = CSS_BAD;
        has_ended = has_ended || is_blank(*in->at);
        in->at += *in->at == '\\' && in->end - in->at > 1;
    }
    in->at += in->at < in->end;
    return kind;
}

static enum css_kind take(struct css_text *in, struct css_token *token)
{
    char first = *in->at;
    if (is_blank(first)) {
        while (is_blank(peek(in, 0)))
            in->at++;
        return CSS_BLANK;
    }
    if (first == '"' || first == '\'')
        return put_string(in, token);
    if (begins_number(in)) {
        put_number(in, token);
        return CSS_NUMBER;
    }
    if (begins_name(in)) {
        put_name(in, token);
        if (peek(in, 0) != '(')
            return CSS_WORD;
        token->sign = *in->at++;
        struct css_text rest = *in;
        while (is_blank(peek(&rest, 0)))
            rest.at++;
        if (strcmp(token->text, "url") != 0 || peek(&rest, 0) == '"' || peek(&rest, 0) == '\'')
            return CSS_FUNCTION;
        *in = rest;
        return pass_address(in);
    }
    in->at++;
    if ((first == '#' && (is_name(peek(in, 0)) || is_escape(in, 0))) ||
        (first == '@' && begins_name(in))) {
        put_name(in, token);
        return first == '#' ? CSS_HASH : CSS_AT;
    }
    token->sign = first;
    return CSS_SIGN;
}

struct css_token css_next(struct css_text *in)
{
    struct css_token token;
    token.sign = '\0';
    token.number = 0;
    token.len = 0;
    token.hash = token.exact = 2166136261u;
    while (peek(in, 0) == '/' && peek(in, 1) == '*') {
        const char *end = memmem(in->at + 2, (size_t)(in->end - in->at) - 2, "*/", 2);
        in->at = end == NULL ? in->end : end + 2;
    }
    token.kind = CSS_END;
    token.text[0] = token.raw[0] = '\0';
    if (in->at < in->end)
        token.kind = take(in, &token);
    token.hash += token.hash == 0;
    token.exact += token.exact == 0;
    return token;
}

struct css_token css_next_solid(struct css_text *in)
{
    struct css_token token = css_next(in);
    while (token.kind == CSS_BLANK)
        token = css_next(in);
    return token;
}

struct css_text css_until(struct css_text *in, const char *stops)
{
    char ends[BLOCK_DEPTH_MAX];
    unsigned depth = 0;
    struct css_text found = *in;
    for (;;) {
        struct css_text before = *in;
        struct css_token token = css_next(in);
        char sign = token.kind == CSS_SIGN || token.kind == CSS_FUNCTION ? token.sign : '\0';
        if (token.kind == CSS_END ||
            (depth == 0 && token.kind == CSS_SIGN && strchr(stops, sign) != NULL)) {
            found.end = before.at;
            in->at -= token.kind != CSS_END; /* behind comments, at the sign itself */
            return found;
        }
        if (depth > 0 && sign == ends[depth - 1])
            depth--;
        else if (sign == '(' || sign == '[' || sign == '{') {
            if (depth == BLOCK_DEPTH_MAX)
                in->at = in->end;
            else
                ends[depth++] = sign == '(' ? ')' : sign == '[' ? ']' : '}';
        }
    }
}

struct css_text css_inside(struct css_text *in, const char *end)
{
    struct css_text inner = css_until(in, end);
    (void)css_next(in);
    return inner;
}

bool css_is_end(struct css_text in)
{
    return css_next_solid(&in).kind == CSS_END;
}

bool css_is_word(const struct css_token *token, const char *word)
{
    return token->kind == CSS_WORD && strcmp(token->text, word) == 0;
}

int css_place(const struct css_token *token, const char *list)
{
    int place = 0;
    for (size_t len; *list != '\0'; place++, list += len + (list[len] == ' ')) {
        len = strcspn(list, " ");
        if (len == token->len && strncmp(list, token->text, len) == 0)
            return place;
    }
    return -1;
}
