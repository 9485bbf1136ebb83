/* markup_entity.c — character references of HTML in Markdown: numbers, and the names that people
 * write. */
#include "markup_priv.h"

#include "sma/text.h"

#include <utf8proc.h>

/* Source: HTML Living Standard, 13.5 Named character references. Sorted by nothing but use; others
 * stay as they are. */
static const struct
{
    const char *name;
    utf8proc_int32_t code;
} names[] = {
    {"amp", '&'},      {"lt", '<'},       {"gt", '>'},       {"quot", '"'},      {"apos", '\''},
    {"nbsp", 0xA0},    {"copy", 0xA9},    {"reg", 0xAE},     {"trade", 0x2122},  {"hellip", 0x2026},
    {"mdash", 0x2014}, {"ndash", 0x2013}, {"lsquo", 0x2018}, {"rsquo", 0x2019},  {"ldquo", 0x201C},
    {"rdquo", 0x201D}, {"laquo", 0xAB},   {"raquo", 0xBB},   {"bull", 0x2022},   {"middot", 0xB7},
    {"times", 0xD7},   {"divide", 0xF7},  {"plusmn", 0xB1},  {"deg", 0xB0},      {"micro", 0xB5},
    {"para", 0xB6},    {"sect", 0xA7},    {"euro", 0x20AC},  {"pound", 0xA3},    {"yen", 0xA5},
    {"cent", 0xA2},    {"larr", 0x2190},  {"uarr", 0x2191},  {"rarr", 0x2192},   {"darr", 0x2193},
    {"harr", 0x2194},  {"rArr", 0x21D2},  {"lArr", 0x21D0},  {"ne", 0x2260},     {"le", 0x2264},
    {"ge", 0x2265},    {"asymp", 0x2248}, {"infin", 0x221E}, {"sum", 0x2211},    {"radic", 0x221A},
    {"minus", 0x2212}, {"frac12", 0xBD},  {"frac14", 0xBC},  {"frac34", 0xBE},   {"sup2", 0xB2},
    {"sup3", 0xB3},    {"alpha", 0x3B1},  {"beta", 0x3B2},   {"gamma", 0x3B3},   {"delta", 0x3B4},
    {"lambda", 0x3BB}, {"mu", 0x3BC},     {"pi", 0x3C0},     {"sigma", 0x3C3},   {"omega", 0x3C9},
    {"check", 0x2713}, {"cross", 0x2717}, {"star", 0x2606},  {"hearts", 0x2665},
};

static void put_code(struct sma_buf *buf, utf8proc_int32_t code)
{
    utf8proc_uint8_t bytes[4];
    if (code == 0 || !utf8proc_codepoint_valid(code))
        code = 0xFFFD;
    utf8proc_ssize_t len = utf8proc_encode_char(code, bytes);
    sma_buf_put(buf, bytes, len > 0 ? (size_t)len : 0);
}

/* Of "#123" or "#x1F": false when it is no number. md4c lets at most 7 digits through. */
static bool read_number(struct sma_str digits, utf8proc_int32_t *ret_code)
{
    bool is_hex = digits.len > 1 && (digits.ptr[1] == 'x' || digits.ptr[1] == 'X');
    size_t from = is_hex ? 2 : 1;
    uint32_t code = 0;
    if (digits.len <= from || digits.len - from > 7)
        return false;
    for (size_t i = from; i < digits.len; i++) {
        char byte = digits.ptr[i], lower = (char)(byte | 0x20);
        if (byte >= '0' && byte <= '9')
            code = code * (is_hex ? 16 : 10) + (uint32_t)(byte - '0');
        else if (is_hex && lower >= 'a' && lower <= 'f')
            code = code * 16 + (uint32_t)(lower - 'a' + 10);
        else
            return false;
    }
    *ret_code = (utf8proc_int32_t)code;
    return true;
}

void sma_markup_put_entity(struct sma_buf *buf, struct sma_str entity)
{
    struct sma_str name = {entity.ptr + 1, entity.len < 3 ? 0 : entity.len - 2};
    utf8proc_int32_t code;
    if (name.len > 0 && name.ptr[0] == '#' && read_number(name, &code)) {
        put_code(buf, code);
        return;
    }
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        if (sma_str_is_equal(name, sma_str(names[i].name))) {
            put_code(buf, names[i].code);
            return;
        }
    }
    sma_buf_put_str(buf, entity);
}
