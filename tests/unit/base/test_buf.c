/*
 * Aim: the buffer never passes its maximum and its JSON writer escapes what JSON.stringify escapes,
 * no more.
 * Method: exact cases, then generated strings (valid and broken UTF-8) that a JSON library must
 * read back.
 */
#include "sma/buf.h"
#include "sma/text.h"
#include "support/check.h"

#include <jansson.h>

CASE(appends_stop_at_the_maximum)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 10);
    sma_buf_put_text(&buf, "123456789");
    CHECK(buf.err == SMA_ERR_OK);
    sma_buf_put_char(&buf, 'x'); /* exactly the maximum */
    CHECK(buf.err == SMA_ERR_OK && buf.len == 10 && buf.ptr[10] == '\0');
    sma_buf_put_char(&buf, 'y');
    CHECK(buf.err == SMA_ERR_TOOBIG && buf.len == 10);
    sma_buf_put_text(&buf, ""); /* sticky, even for what would fit */
    CHECK(buf.err == SMA_ERR_TOOBIG);
    CHECK(sma_buf_take(&buf) == NULL);
    sma_buf_clear(&buf);
    CHECK(buf.err == SMA_ERR_OK && buf.len == 0);
    sma_buf_printf(&buf, "%s", "12345678901");
    CHECK(buf.err == SMA_ERR_TOOBIG && buf.len == 0 && buf.ptr[0] == '\0');
    sma_buf_clear(&buf);
    CHECK(sma_buf_reserve(&buf, 11) == NULL && buf.err == SMA_ERR_TOOBIG);
    sma_buf_fini(&buf);
    sma_buf_fini(&buf);
}

CASE(numbers_and_formats_are_exact)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 1 << 20);
    sma_buf_put_u64(&buf, 0);
    sma_buf_put_char(&buf, ' ');
    sma_buf_put_u64(&buf, UINT64_MAX);
    sma_buf_put_char(&buf, ' ');
    sma_buf_put_i64(&buf, INT64_MIN);
    sma_buf_printf(&buf, " %d %s", -5, "text");
    CHECK_STR("0 18446744073709551615 -9223372036854775808 -5 text", sma_buf_str(&buf));
    for (int i = 0; i < 1000; i++)
        sma_buf_printf(&buf, "%0100d", i);
    CHECK(buf.err == SMA_ERR_OK);
    char *text = sma_buf_take(&buf);
    CHECK(text != NULL && strlen(text) == 51 + 100000 && buf.ptr == NULL);
    free(text);
    text = sma_buf_take(&buf); /* an empty buffer gives an empty string */
    CHECK_TEXT("", text);
    free(text);
}

static void check_escape(const char *wanted, struct sma_str text)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 1 << 16);
    sma_buf_put_json_string(&buf, text);
    CHECK_STR(wanted, sma_buf_str(&buf));
}

CASE(json_escapes_like_stringify)
{
    check_escape("\"\"", sma_str(NULL));
    check_escape("\"a\\\"b\\\\c/d\"", SMA_STR("a\"b\\c/d"));
    check_escape("\"\\b\\f\\n\\r\\t\\u0000\\u0001\\u001f\x7f\"",
                 SMA_STR("\b\f\n\r\t\0\x01\x1f\x7f"));
    check_escape("\"\xe4\xbd\xa0\xf0\x9f\x98\x80\xe2\x80\xa8\"",
                 SMA_STR("\xe4\xbd\xa0\xf0\x9f\x98\x80\xe2\x80\xa8"));
    /* maximal subparts: Unicode 15, table 3-8 and 3-11 */
    check_escape("\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", SMA_STR("\xed\xa0\x80"));
    check_escape("\"\xef\xbf\xbd"
                 "A\"",
                 SMA_STR("\xf0\x9f\x98"
                         "A"));
    check_escape("\"\xef\xbf\xbd\xef\xbf\xbd\"", SMA_STR("\xc0\xaf"));
    check_escape("\"12345678\xef\xbf\xbd\"", SMA_STR("12345678\xe4\xbd"));
    for (int at = 0; at < 24; at++) { /* every place inside and across words */
        char text[24], wanted[64];
        memset(text, 'a', sizeof text);
        text[at] = '"';
        snprintf(wanted, sizeof wanted, "\"%.*s\\\"%.*s\"", at, "aaaaaaaaaaaaaaaaaaaaaaaa", 23 - at,
                 "aaaaaaaaaaaaaaaaaaaaaaaa");
        check_escape(wanted, (struct sma_str){text, sizeof text});
    }
}

static uint64_t state = 88172645463325252u;

static unsigned draw(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state % below);
}

static void round_trip(struct sma_str text)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 1 << 16);
    sma_buf_put_json_string(&buf, text);
    CHECK(buf.err == SMA_ERR_OK);
    json_error_t error;
    json_t *root = json_loadb(buf.ptr, buf.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    CHECK(root != NULL);
    struct sma_str back = {json_string_value(root), json_string_length(root)};
    if (sma_utf8_is_valid(text))
        CHECK(sma_str_is_equal(text, back));
    else
        CHECK(sma_utf8_is_valid(back) && memmem(back.ptr, back.len, "\xef\xbf\xbd", 3) != NULL);
    json_decref(root);
}

CASE(any_bytes_become_valid_json)
{
    static const char *const pieces[] = {
        "a",   "\"", "\\", "\n", "\xc3\xa9", "\xe4\xbd\xa0", "\xf0\x9f\x98\x80", "plain words ",
        "\x01"};
    char text[200];
    for (int i = 0; i < 20000; i++) {
        size_t len = 0;
        bool is_raw = i % 2 == 0;
        for (unsigned n = draw(40); n > 0 && len + 16 < sizeof text; n--) {
            if (is_raw && draw(3) == 0) {
                text[len++] = (char)draw(256);
                continue;
            }
            const char *piece = pieces[draw(SMA_COUNT_OF(pieces))];
            memcpy(text + len, piece, strlen(piece));
            len += strlen(piece);
        }
        round_trip((struct sma_str){text, len});
    }
}

CASE(keys_find_their_comma)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 100);
    sma_buf_put_char(&buf, '{');
    sma_buf_put_json_key(&buf, "a");
    sma_buf_put_u64(&buf, 1);
    sma_buf_put_json_key(&buf, "b");
    sma_buf_put_char(&buf, '{');
    sma_buf_put_json_key(&buf, "c");
    sma_buf_put_text(&buf, "[]}");
    sma_buf_put_json_member(&buf, "d", SMA_STR("x\"y"));
    sma_buf_put_char(&buf, '}');
    CHECK_STR("{\"a\":1,\"b\":{\"c\":[]},\"d\":\"x\\\"y\"}", sma_buf_str(&buf));
}

CASES_MAIN
