/*
 * Aim: text facts agree with their sources: the file names of old projects, ECMAScript dates,
 * SipHash's own vectors.
 */
#include "sma/text.h"
#include "support/check.h"

static void check_name(const char *wanted, const char *text)
{
    struct sma_buf buf, back;
    sma_buf_init(&buf, 1000);
    sma_buf_init(&back, 1000);
    sma_buf_put_file_name(&buf, sma_str(text));
    CHECK_STR(wanted, sma_buf_str(&buf));
    CHECK_OK(sma_buf_put_file_name_decoded(&back, sma_buf_str(&buf)));
    CHECK_STR(text, sma_buf_str(&back));
    sma_buf_fini(&buf);
    sma_buf_fini(&back);
}

CASE(file_names_are_the_reference_s)
{
    check_name("telegram%3Achat%3A-100%3Atopic%3A42", "telegram:chat:-100:topic:42");
    check_name("api%3Achat%3Aa%2Fb", "api:chat:a/b");
    check_name("AZaz09-_.!~*'()", "AZaz09-_.!~*'()");
    check_name("%20%25%E4%BD%A0%7F", " %\xe4\xbd\xa0\x7f");
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 100);
    CHECK_OK(sma_buf_put_file_name_decoded(&buf, SMA_STR("%e4%BD%a0")));
    CHECK_STR("\xe4\xbd\xa0", sma_buf_str(&buf));
    CHECK_ERR(SMA_ERR_BADINPUT, sma_buf_put_file_name_decoded(&buf, SMA_STR("a%4")));
    CHECK_ERR(SMA_ERR_BADINPUT, sma_buf_put_file_name_decoded(&buf, SMA_STR("a%")));
    CHECK_ERR(SMA_ERR_BADINPUT, sma_buf_put_file_name_decoded(&buf, SMA_STR("%zz")));
}

static void check_time(const char *wanted, int64_t wall_ms)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 100);
    sma_buf_put_iso_time(&buf, wall_ms);
    CHECK_STR(wanted, sma_buf_str(&buf));
}

CASE(times_are_iso_with_milliseconds)
{
    check_time("1970-01-01T00:00:00.000Z", 0);
    check_time("1969-12-31T23:59:59.999Z", -1);
    check_time("2038-01-19T03:14:07.000Z", 2147483647000);
    check_time("2038-01-19T03:14:08.001Z", 2147483648001);
    check_time("2000-02-29T12:00:00.000Z", 951825600000);
    check_time("2100-03-01T00:00:00.000Z", 4107542400000);
    check_time("2026-11-21T22:17:00.123Z", 1795299420123);
    check_time("9999-12-31T23:59:59.999Z", 253402300799999);
    check_time("+275760-09-13T00:00:00.000Z", INT64_MAX);
    check_time("-271821-04-20T00:00:00.000Z", INT64_MIN);
}

/* Whole words of ASCII are passed over at once: a bad byte is found wherever it stands. */
CASE(a_bad_byte_is_found_at_every_place)
{
    char text[41];
    for (size_t at = 0; at < sizeof text; at++) {
        memset(text, 'x', sizeof text);
        text[at] = (char)0x80;
        for (size_t start = 0; start <= at; start++) {
            CHECK(!sma_utf8_is_valid((struct sma_str){text + start, sizeof text - start}));
            CHECK(sma_utf8_is_valid((struct sma_str){text + start, at - start}));
        }
        memcpy(text + (at < 39 ? at : 38), "\xe4\xbd\xa0", 3);
        CHECK(sma_utf8_is_valid((struct sma_str){text, sizeof text}));
        CHECK(at > 37 || !sma_utf8_is_valid((struct sma_str){text, at + 2}));
    }
}

CASE(utf8_is_told_from_noise)
{
    CHECK(sma_utf8_is_valid(sma_str(NULL)));
    CHECK(sma_utf8_is_valid(SMA_STR("a\xc2\x80\xe0\xa0\x80\xf4\x8f\xbf\xbf")));
    static const char *const bad[] = {"\x80",
                                      "\xc0\x80",
                                      "\xc3",
                                      "\xe0\x9f\x80",
                                      "\xed\xa0\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xff"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK(!sma_utf8_is_valid(sma_str(bad[i])));
    struct sma_str text = SMA_STR("a\xe4\xbd\xa0\xf0\x9f\x98\x80");
    static const size_t cuts[] = {0, 1, 1, 1, 4, 4, 4, 4, 8, 8};
    for (size_t max = 0; max < SMA_COUNT_OF(cuts); max++)
        CHECK_INT((long long)cuts[max], (long long)sma_utf8_cut(text, max));
    CHECK_INT(5, (long long)sma_utf8_cut(SMA_STR("\x80\x80\x80\x80\x80\x80\x80\x80"), 5));
    CHECK_INT(4, (long long)sma_utf16_length(text));
    CHECK_INT(3, (long long)sma_utf16_length(SMA_STR("\xe4\xbd"
                                                     "x")));
}

CASE(small_text_helpers)
{
    CHECK_STR("a b", sma_str_trim(SMA_STR(" \t\r\na b\v\f ")));
    CHECK_INT(0, (long long)sma_str_trim(SMA_STR("  ")).len);
    CHECK(sma_str_starts_with(SMA_STR("abc"), SMA_STR("ab")));
    CHECK(!sma_str_starts_with(SMA_STR("a"), SMA_STR("ab")));
    CHECK(sma_str_starts_with(sma_str(NULL), sma_str(NULL)));
    CHECK(sma_str_is_equal_nocase(SMA_STR("Content-TYPE"), SMA_STR("content-type")));
    CHECK(!sma_str_is_equal_nocase(SMA_STR("a"), SMA_STR("b")));
    CHECK(!sma_str_is_equal_nocase(SMA_STR("@"), SMA_STR("`")));
    CHECK_INT(3, sma_text_distance(SMA_STR("kitten"), SMA_STR("sitting")));
    CHECK_INT(0, sma_text_distance(sma_str(NULL), sma_str(NULL)));
    CHECK_INT(8, sma_text_distance(SMA_STR("completely different"), SMA_STR("x")));
    CHECK_INT(1, sma_text_distance(SMA_STR("port"), SMA_STR("ports")));
}

CASE(numbers_are_read_whole_or_not_at_all)
{
    int64_t number = 77;
    CHECK_OK(sma_parse_i64(SMA_STR("-9223372036854775808"), INT64_MIN, INT64_MAX, &number));
    CHECK(number == INT64_MIN);
    CHECK_OK(sma_parse_i64(SMA_STR("9223372036854775807"), INT64_MIN, INT64_MAX, &number));
    CHECK(number == INT64_MAX);
    CHECK_OK(sma_parse_i64(SMA_STR("007"), 0, 7, &number));
    CHECK_INT(7, number);
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1a",
                                      "0x1",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999",
                                      "8",
                                      "-1"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, sma_parse_i64(sma_str(bad[i]), 0, 7, &number));
    CHECK_INT(7, number);
}

/* Source: vectors_sip64 of the SipHash reference implementation (key 00..0f, input 00..len-1),
 * lengths 0..15. */
CASE(siphash_is_siphash)
{
    static const uint64_t wanted[] = {
        0x726fdb47dd0e0e31u, 0x74f839c593dc67fdu, 0x0d6c8009d9a94f5au, 0x85676696d7fb7e2du,
        0xcf2794e0277187b7u, 0x18765564cd99a68du, 0xcbc9466e58fee3ceu, 0xab0200f58b01d137u,
        0x93f5f5799a932462u, 0x9e0082df0ba9e4b0u, 0x7a5dbbc594ddb9f3u, 0xf4b32f46226bada7u,
        0x751e8fbc860ee5fbu, 0x14ea5627c0843d90u, 0xf723ca908e7af2eeu, 0xa129ca6149be45e5u};
    uint8_t key[16], input[16];
    for (uint8_t i = 0; i < 16; i++)
        key[i] = input[i] = i;
    for (size_t len = 0; len < 16; len++)
        CHECK(sma_siphash(key, input, len) == wanted[len]);
}

/* Direction, separators, tags and zero widths are told; joiners of emoji and letters are text. */
CASE(marks_that_mislead_are_known)
{
    static const uint32_t bad[] = {0x61C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202E,
                                   0x2060, 0x2066, 0x2069, 0xFEFF, 0xE0041,
                                   /* blanks that are no blanks */
                                   0xAD, 0x34F, 0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0};
    static const uint32_t good[] = {'a', 0xE9, 0x4F60, 0x2010, 0x202F, 0x1F600, 0xFE0F, 0xE0100};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK(sma_point_misleads(bad[i], 'a') && sma_point_misleads(bad[i], 0x1F600));
    for (size_t i = 0; i < SMA_COUNT_OF(good); i++)
        CHECK(!sma_point_misleads(good[i], 'a'));
    CHECK(sma_point_misleads(0x200D, 's') && sma_point_misleads(0x200C, 0));
    CHECK(!sma_point_misleads(0x200D, 0x1F468) && !sma_point_misleads(0x200C, 0x645));
}

CASES_MAIN
