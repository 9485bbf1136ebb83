/*
 * Aim: the reader takes frames in any cutting and refuses what a server may not send; the writer's
 * frames are what RFC 6455 says; URLs and headers that could smuggle something are refused; the
 * answer is checked strictly.
 * Method: the pure functions alone; every stream is fed whole, byte by byte and at every cut in
 * two.
 */
#include "net/ws_priv.h"
#include "support/check.h"

static const unsigned char mask[4] = {1, 2, 3, 4};

struct outcome
{
    char text[512]; /* what was found, in order */
};

static void feed(struct ws_reader *reader, struct sma_str bytes, struct outcome *outcome)
{
    while (bytes.len > 0) {
        struct ws_found found;
        size_t used = ws_reader_take(reader, bytes, &found);
        CHECK(used > 0 && used <= bytes.len);
        bytes.ptr += used;
        bytes.len -= used;
        size_t at = strlen(outcome->text), room = sizeof outcome->text - at;
        static const char *const names[] = {"", "message", "ping", "pong", "close", "fault"};
        if (found.kind == WS_FOUND_NOTHING)
            continue;
        (void)snprintf(outcome->text + at, room, "%s%s%u:%.*s;", names[found.kind],
                       found.is_binary ? "b" : "", found.code,
                       found.bytes.len > 40 ? 40 : (int)found.bytes.len,
                       found.bytes.len == 0 ? "" : found.bytes.ptr);
        if (found.kind == WS_FOUND_FAULT)
            return;
    }
}

static void check_stream(struct sma_str bytes, size_t max, const char *wanted)
{
    for (size_t cut = 0; cut <= bytes.len + 1; cut++) {
        struct ws_reader reader;
        struct outcome outcome = {0};
        ws_reader_init(&reader, max);
        /* A copy of exactly the size, so that the sanitizer sees a look beyond the end. */
        if (cut <= bytes.len) {
            char *first = malloc(cut + 1), *second = malloc(bytes.len - cut + 1);
            CHECK(first != NULL && second != NULL);
            memcpy(first, bytes.ptr, cut);
            memcpy(second, bytes.ptr + cut, bytes.len - cut);
            feed(&reader, (struct sma_str){first, cut}, &outcome);
            if (strstr(outcome.text, "fault") == NULL)
                feed(&reader, (struct sma_str){second, bytes.len - cut}, &outcome);
            free(first);
            free(second);
        } else {
            for (size_t i = 0; i < bytes.len && strstr(outcome.text, "fault") == NULL; i++)
                feed(&reader, (struct sma_str){bytes.ptr + i, 1}, &outcome);
        }
        CHECK_TEXT(wanted, outcome.text);
        ws_reader_fini(&reader);
    }
}
#define STREAM(literal, max, wanted) check_stream(SMA_STR(literal), max, wanted)

static void whole_messages(void)
{
    STREAM("\x81\x05hello", 100, "message0:hello;");
    STREAM("\x82\x03\x00\xff\x01", 100, "messageb0:;"); /* begins with NUL */
    STREAM("\x81\x00", 100, "message0:;");
    STREAM("\x81\x01"
           "a\x82\x01"
           "b\x81\x01"
           "c",
           100, "message0:a;messageb0:b;message0:c;");
}

static void fragments_with_control_frames_between(void)
{
    STREAM("\x01\x02he\x89\x02hi\x00\x02ll\x8a\x00\x80\x01o\x81\x01x", 100,
           "ping0:hi;pong0:;message0:hello;message0:x;");
    STREAM("\x01\x00\x00\x00\x80\x00", 100, "message0:;");
    STREAM("\x02\x01"
           "a\x80\x00",
           100, "messageb0:a;");
    STREAM("\x01\x02\xe4\xbd\x80\x01\xa0", 100,
           "message0:\xe4\xbd\xa0;"); /* a character across frames */
}

static void close_frames(void)
{
    STREAM("\x88\x00", 100, "close0:;");
    STREAM("\x88\x06\x03\xe8"
           "done",
           100, "close1000:done;");
    STREAM("\x88\x04\x0f\xa4\xff\xfe", 100,
           "close4004:;"); /* a reason that is not UTF-8 is left out */
    STREAM("\x88\x01\x03", 100, "fault1002:a close frame of one byte;");
}

static void what_a_server_may_not_send(void)
{
    STREAM("\xc1\x01"
           "a",
           100, "fault1002:a frame with reserved bits;");
    STREAM("\x91\x01"
           "a",
           100, "fault1002:a frame with reserved bits;");
    STREAM("\x81\x81\x00\x00\x00\x00"
           "a",
           100, "fault1002:a masked frame from a server;");
    STREAM("\x83\x00", 100, "fault1002:a frame with an unknown opcode;");
    STREAM("\x8f\x00", 100, "fault1002:a frame with an unknown opcode;");
    STREAM("\x09\x00", 100, "fault1002:a control frame that is fragmented or to;");
    STREAM("\x89\x7e\x00\x7e", 100, "fault1002:a control frame that is fragmented or to;");
    STREAM("\x80\x01"
           "a",
           100, "fault1002:a continuation without a message;");
    STREAM("\x01\x01"
           "a\x81\x01"
           "b",
           100, "fault1002:a new message inside another;");
    STREAM("\x81\x7e\x00\x7d", 1000, "fault1002:a frame with a malformed length;");
    STREAM("\x81\x7f\x00\x00\x00\x00\x00\x00\xff\xff", 100000,
           "fault1002:a frame with a malformed length;");
    STREAM("\x81\x7f\x80\x00\x00\x00\x00\x01\x00\x00", 100000,
           "fault1002:a frame with a malformed length;");
    STREAM("\x81\x02\xff\xfe", 100, "fault1007:a text message that is not UTF-8;");
    STREAM("\x82\x02\xff\xfe", 100, "messageb0:\xff\xfe;");
}

static void the_limit_of_a_message(void)
{
    STREAM("\x82\x04"
           "abcd",
           5, "messageb0:abcd;");
    STREAM("\x82\x05"
           "abcde",
           5, "messageb0:abcde;");
    STREAM("\x82\x06"
           "abcdef",
           5, "fault1009:a message over the limit;");
    STREAM("\x02\x03"
           "abc\x80\x02"
           "de",
           5, "messageb0:abcde;");
    STREAM("\x02\x03"
           "abc\x80\x03"
           "def",
           5, "fault1009:a message over the limit;");
    STREAM("\x82\x7f\x00\x00\x00\x7f\xff\xff\xff\xff", 5, "fault1009:a message over the limit;");
}

static void writer_makes_masked_frames_of_each_length(void)
{
    static const size_t lens[] = {0, 1, 7, 8, 9, 125, 126, 127, 65535, 65536, 70001};
    for (size_t i = 0; i < SMA_COUNT_OF(lens); i++) {
        struct sma_buf buf;
        sma_buf_init(&buf, 1 << 20);
        char *payload = malloc(lens[i] + 1);
        CHECK(payload != NULL);
        for (size_t k = 0; k < lens[i]; k++)
            payload[k] = (char)(k * 7);
        ws_put_frame(&buf, WS_BINARY, (struct sma_str){payload, lens[i]}, mask);
        CHECK_INT(ws_frame_bytes(lens[i]), buf.len);
        const unsigned char *at = (const unsigned char *)buf.ptr;
        size_t length_bytes = lens[i] < 126 ? 0 : lens[i] < 65536 ? 2 : 8;
        CHECK_INT(0x82, at[0]);
        CHECK_INT(0x80 | (length_bytes == 0 ? lens[i] : length_bytes == 2 ? 126 : 127), at[1]);
        size_t len = length_bytes == 0 ? lens[i] : 0;
        for (size_t k = 0; k < length_bytes; k++)
            len = len << 8 | at[2 + k];
        CHECK_INT(lens[i], len);
        at += 2 + length_bytes;
        CHECK(memcmp(at, mask, 4) == 0);
        for (size_t k = 0; k < lens[i]; k++)
            CHECK_INT((unsigned char)(k * 7), at[4 + k] ^ mask[k % 4]);
        free(payload);
        sma_buf_fini(&buf);
    }
}

static void urls(void)
{
    struct ws_url url;
    CHECK_OK(ws_url_parse(SMA_STR("wss://msg.example.com/ws/v2?a=1&b=%20#part"), &url));
    CHECK(url.is_tls && url.is_default_port && !url.is_ipv6);
    CHECK_TEXT("msg.example.com", url.host);
    CHECK_TEXT("443", url.port);
    CHECK_STR("/ws/v2?a=1&b=%20", url.target);
    CHECK_OK(ws_url_parse(SMA_STR("WS://[::1]:8080?q"), &url));
    CHECK(!url.is_tls && !url.is_default_port && url.is_ipv6);
    CHECK_TEXT("::1", url.host);
    CHECK_TEXT("8080", url.port);
    CHECK_STR("?q", url.target);
    CHECK_OK(ws_url_parse(SMA_STR("ws://h"), &url));
    CHECK_TEXT("80", url.port);
    CHECK_STR("", url.target);
    static const char *const bad[] = {"",
                                      "ws",
                                      "ws:",
                                      "ws:/h",
                                      "http://h/",
                                      "ws://",
                                      "ws:///x",
                                      "ws://:80/",
                                      "ws://u@h/",
                                      "ws://u:p@h/",
                                      "ws://h:0/",
                                      "ws://h:65536/",
                                      "ws://h:/",
                                      "ws://h:8x/",
                                      "ws://[::1/",
                                      "ws://[]/",
                                      "ws://[::1]8/",
                                      "ws://h/a b",
                                      "ws://h/a\r\nX: y",
                                      "ws://h/\xc3\xa4",
                                      "ws://h\\x/",
                                      "ws://%41/",
                                      "wsss://h/"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, ws_url_parse(sma_str(bad[i]), &url));
    static char text[WS_URL_BYTES_MAX + 2] = "ws://h/";
    memset(text + 7, 'p', WS_URL_BYTES_MAX - 7);
    CHECK_OK(ws_url_parse(sma_str(text), &url));
    text[WS_URL_BYTES_MAX] = 'p';
    CHECK_ERR(SMA_ERR_BADINPUT, ws_url_parse(sma_str(text), &url));
    memset(text + 5, 'h', 300);
    CHECK_ERR(SMA_ERR_BADINPUT, ws_url_parse(sma_str(text), &url));
}

static void the_request(void)
{
    struct ws_url url;
    struct sma_buf buf;
    sma_buf_init(&buf, WS_REQUEST_BYTES_MAX);
    CHECK_OK(ws_url_parse(SMA_STR("ws://[::1]:81?q"), &url));
    const char *headers[] = {"Authorization: Bearer x", "X-Empty:"};
    CHECK_OK(ws_put_request(&buf, &url, "dGhlIHNhbXBsZSBub25jZQ==", headers, 2));
    CHECK_STR("GET /?q HTTP/1.1\r\nHost: [::1]:81\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
              "Authorization: Bearer x\r\nX-Empty:\r\n\r\n",
              sma_buf_str(&buf));
    static const char *const bad[] = {"",
                                      "no colon",
                                      ": v",
                                      "a b: c",
                                      "A: b\r\nC: d",
                                      "A: b\n",
                                      "host: x",
                                      "Sec-WebSocket-Extensions: permessage-deflate",
                                      "Content-Length: 1"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++) {
        sma_buf_clear(&buf);
        CHECK_ERR(SMA_ERR_BADINPUT, ws_put_request(&buf, &url, "k", &bad[i], 1));
    }
    sma_buf_fini(&buf);
}

/* Source: the example of RFC 6455 §1.3. */
#define GOOD_HEAD                                                                        \
    "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nConnection: keep-alive, " \
    "Upgrade\r\n"                                                                        \
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
#define KEY "dGhlIHNhbXBsZSBub25jZQ=="

static const char *fault_of(const char *text)
{
    struct ws_answer answer;
    CHECK_OK(ws_answer_parse(sma_str(text), &answer));
    return ws_answer_fault(&answer, KEY, false);
}

static void the_answer(void)
{
    struct ws_answer answer;
    CHECK(fault_of(GOOD_HEAD "\r\n") == NULL);
    CHECK(fault_of(GOOD_HEAD "Sec-WebSocket-Extensions: x\r\n\r\n") != NULL);
    CHECK(fault_of(GOOD_HEAD "Sec-WebSocket-Protocol: x\r\n\r\n") != NULL);
    CHECK(fault_of("HTTP/1.1 101 \r\n\r\n") != NULL);
    CHECK(fault_of("HTTP/1.1 101\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n") != NULL);
    CHECK_OK(ws_answer_parse(
        SMA_STR("HTTP/1.1 403 No\r\nHandshake-Status:  514 \r\nContent-Length: 3\r\n\r\nwhy"),
        &answer));
    CHECK_INT(403, answer.status);
    CHECK_STR("514", ws_header(answer.head, "handshake-status"));
    CHECK_STR("", ws_header(answer.head, "Handshake"));
    CHECK_INT(3, ws_refusal_bytes(&answer));
    CHECK_OK(ws_answer_parse(SMA_STR("HTTP/1.0 502\r\n\r\n"), &answer));
    CHECK_INT(502, answer.status);
    CHECK_INT(0, answer.head.len);
    CHECK_INT(WS_REFUSAL_BYTES_MAX, ws_refusal_bytes(&answer));
    struct sma_str whole = SMA_STR(GOOD_HEAD "\r\n");
    for (size_t len = 0; len < whole.len; len++)
        CHECK_ERR(SMA_ERR_EMPTY, ws_answer_parse((struct sma_str){whole.ptr, len}, &answer));
    static const char *const bad[] = {"x",
                                      "SSH-2.0",
                                      "HTTP/2 101",
                                      "HTTP/1.1  101\r\n\r\n",
                                      "HTTP/1.1 \r\n\r\n",
                                      "HTTP/1.1 99 x\r\n\r\n",
                                      "HTTP/1.1 1011\r\n\r\n",
                                      "HTTP/1.1 abc\r\n\r\n"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, ws_answer_parse(sma_str(bad[i]), &answer));
}

/* Whatever the bytes are: the cutting changes nothing, and no look goes beyond the end (the
 * sanitizer sees to that). */
static void random_bytes_in_any_cutting(void)
{
    static const unsigned char seeds[] = {0x81, 0x82, 0x01, 0x00, 0x80, 0x88, 0x89,
                                          0x8a, 0x7e, 0x7f, 0x02, 0x05, 'a',  0xc3};
    uint64_t random = 88172645463325252u;
    for (unsigned round = 0; round < 20000; round++) {
        size_t len = 1 + round % 60;
        char *bytes = malloc(len);
        CHECK(bytes != NULL);
        for (size_t i = 0; i < len; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            bytes[i] = (char)(random % 8 == 0 ? random >> 20 : seeds[(random >> 8) % sizeof seeds]);
        }
        struct ws_reader whole, cut;
        struct outcome of_whole = {0}, of_cut = {0};
        ws_reader_init(&whole, 40);
        ws_reader_init(&cut, 40);
        feed(&whole, (struct sma_str){bytes, len}, &of_whole);
        for (size_t i = 0; i < len && strstr(of_cut.text, "fault") == NULL; i++)
            feed(&cut, (struct sma_str){bytes + i, 1}, &of_cut);
        CHECK_TEXT(of_whole.text, of_cut.text);
        ws_reader_fini(&whole);
        ws_reader_fini(&cut);
        free(bytes);
    }
}

static void close_codes(void)
{
    static const unsigned good[] = {1000, 1001, 1003, 1007, 1011, 1014, 3000, 4004, 4999};
    static const unsigned bad[] = {0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65535};
    for (size_t i = 0; i < SMA_COUNT_OF(good); i++)
        CHECK(ws_close_code_is_valid(good[i]));
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK(!ws_close_code_is_valid(bad[i]));
}

int main(void)
{
    RUN(whole_messages);
    RUN(fragments_with_control_frames_between);
    RUN(close_frames);
    RUN(what_a_server_may_not_send);
    RUN(the_limit_of_a_message);
    RUN(writer_makes_masked_frames_of_each_length);
    RUN(urls);
    RUN(the_request);
    RUN(the_answer);
    RUN(random_bytes_in_any_cutting);
    RUN(close_codes);
    return check_summary();
}
