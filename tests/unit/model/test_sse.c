/*
 * Aim: the event-stream rules, and the text of a chat_send call read while it arrives. Method:
 *      tables, each input in every size of pieces; limits at max and max + 1.
 */
#include "runtime/model/send_text.h"
#include "runtime/text/sse.h"
#include "sma/limits.h"
#include "support/check.h"

static void put_event(void *user, struct sma_str name, struct sma_str data)
{
    struct sma_buf *out = user;
    sma_buf_printf(out, "(%.*s|%.*s)", (int)name.len, name.ptr, (int)data.len, data.ptr);
}

CASE(rules_hold_however_the_bytes_are_split)
{
    static const struct
    {
        const char *input, *events;
    } cases[] = {
        {"data: a\n\n", "(|a)"},
        {"data:a\r\n\r\ndata: b\r\rdata:  c\n\n", "(|a)(|b)(| c)"},
        {"\xef\xbb\xbf"
         "data: a\n\n",
         "(|a)"},
        {"data: a\ndata: b\n\n", "(|a\nb)"},
        {": note\n\n: note\ndata: a\n: note\n\n", "(|a)"},
        {"event: x\nid: 1\nretry: 5\nfoo: bar\nfoo\ndata: a\n\ndata: b\n\n", "(x|a)(|b)"},
        {"event: x\n\ndata: a\n\n", "(|a)"},
        {"data:\n\ndata: \n\ndata\n\ndata: a\n\n", "(|a)"},
        {"\n\n\ndata: a\n\n\n\n", "(|a)"},
        {"data: [DONE]", "(|[DONE])"},
        {"data: a\n", "(|a)"},
        {"event: x", ""},
        {"data: \xe6\x9d\xad\n\n", "(|\xe6\x9d\xad)"},
        {"dat: a\n\n datax: b\n\n", ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        size_t len = strlen(cases[i].input);
        for (size_t piece = 1; piece <= len; piece++) {
            struct sma_buf out;
            struct sma_sse sse;
            sma_buf_init(&out, 4096);
            sma_sse_init(&sse, put_event, &out);
            for (size_t at = 0; at < len; at += piece)
                CHECK_OK(
                    sma_sse_feed(&sse, cases[i].input + at, len - at < piece ? len - at : piece));
            CHECK_OK(sma_sse_finish(&sse));
            CHECK_STR(cases[i].events, sma_buf_str(&out));
            sma_sse_fini(&sse);
            sma_buf_fini(&out);
        }
    }
}

static void count_event(void *user, struct sma_str name, struct sma_str data)
{
    (void)name;
    *(size_t *)user += data.len;
}

static enum sma_err feed_line(size_t line_bytes, size_t *ret_seen)
{
    static char block[65536];
    memset(block, 'x', sizeof block);
    struct sma_sse sse;
    *ret_seen = 0;
    sma_sse_init(&sse, count_event, ret_seen);
    enum sma_err err = sma_sse_feed(&sse, "data: ", 6);
    for (size_t left = line_bytes - 6; left > 0 && err == SMA_ERR_OK;) {
        size_t piece = left < sizeof block ? left : sizeof block;
        err = sma_sse_feed(&sse, block, piece);
        left -= piece;
    }
    if (err == SMA_ERR_OK)
        err = sma_sse_feed(&sse, "\n\n", 2);
    if (err != SMA_ERR_OK)
        CHECK_ERR(err, sma_sse_feed(&sse, "data: a\n\n", 9)); /* sticky */
    sma_sse_fini(&sse);
    return err;
}

CASE(lines_are_bounded)
{
    size_t seen = 0;
    CHECK_OK(feed_line(SMA_SSE_LINE_BYTES_MAX - 1, &seen));
    CHECK_INT(SMA_SSE_LINE_BYTES_MAX - 7, seen);
    CHECK_OK(feed_line(SMA_SSE_LINE_BYTES_MAX, &seen));
    CHECK_ERR(SMA_ERR_TOOBIG, feed_line(SMA_SSE_LINE_BYTES_MAX + 1, &seen));
    CHECK_INT(0, seen);
}

CASE(send_text_is_read_as_it_comes)
{
    static const struct
    {
        const char *arguments, *text;
    } cases[] = {
        {"{\"text\":\"hello\"}", "hello"},
        {" { \"text\" : \"a\\n\\\"b\\\\\\/\\t\" , \"x\":1}", "a\n\"b\\/\t"},
        {"{\"x\":{\"text\":\"no\"},\"y\":[\"text\",\"}\"],\"z\":\"a\\\"b\",\"text\":\"yes\"}",
         "yes"},
        {"{\"n\":12,\"t\":true,\"text\":\"yes\"}", "yes"},
        {"{\"text\":\"\\u00e9\\u6b22\\ud83d\\ude00\"}", "\xc3\xa9\xe6\xac\xa2\xf0\x9f\x98\x80"},
        {"{\"text\":\"\\ud83dx\\ude00\"}", "\xef\xbf\xbdx\xef\xbf\xbd"},
        {"{\"text\":\"cut", "cut"},
        {"{\"text\":\"cut\\u00", "cut"},
        {"{\"text\":\"bad\\q more\"}", "bad"},
        {"{\"text\":5,\"text\":\"late\"}", ""},
        {"{\"tex\":\"no\",\"texts\":\"no\",\"t\\u0065xt\":\"no\"}", ""},
        {"[\"text\",\"no\"]", ""},
        {"", ""},
        {"nonsense", ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        size_t len = strlen(cases[i].arguments);
        for (size_t piece = 1; piece <= len + 1; piece++) {
            struct sma_send_text reader;
            sma_send_text_init(&reader, 1024);
            for (size_t at = 0; at < len; at += piece)
                sma_send_text_feed(&reader, (struct sma_str){cases[i].arguments + at,
                                                             len - at < piece ? len - at : piece});
            CHECK_STR(cases[i].text, sma_buf_str(&reader.text));
            sma_send_text_fini(&reader);
        }
    }
}

CASES_MAIN
