/* test_http_request.c — heads of requests are read strictly. Aim: every refusal of request.h, whole
 * and in pieces. */
#include "adapters/http/request.h"
#include "support/check.h"

static enum sma_err parse(const char *text, struct sma_http_request *request, int *status)
{
    return sma_http_request_parse(sma_str(text), 0, 8192, request, status);
}

CASE(whole_head_is_read)
{
    static const char text[] = "POST /api/execute?a=1&b=%20x HTTP/1.1\r\nHost: localhost:3000\r\n"
                               "content-LENGTH: 12\r\nAccept: text/html, text/event-stream;q=1\r\n"
                               "Prefer: respond-async\r\nOrigin: http://localhost:3000\r\n\r\nbody";
    struct sma_http_request request;
    int status = 0;
    CHECK_OK(parse(text, &request, &status));
    CHECK_INT(SMA_HTTP_POST, request.method);
    CHECK_STR("/api/execute", request.path);
    CHECK_STR("a=1&b=%20x", request.query);
    CHECK_STR("localhost:3000", request.host);
    CHECK_INT(12, request.content_bytes);
    CHECK_INT(sizeof text - 1 - 4, request.head_bytes);
    CHECK(request.is_keep_alive && request.has_origin && !request.has_transfer_encoding);
    CHECK(sma_http_list_has(request.accept, SMA_STR("text/event-stream")));
    CHECK(!sma_http_list_has(request.accept, SMA_STR("text/event")));
    for (size_t cut = 0; cut < request.head_bytes; cut++) {
        struct sma_http_request part;
        CHECK_ERR(SMA_ERR_EMPTY,
                  sma_http_request_parse((struct sma_str){text, cut}, cut > 0 ? cut - 1 : 0, 8192,
                                         &part, &status));
    }
}

CASE(bad_heads_are_refused)
{
    static const struct
    {
        const char *text;
        int status;
    } cases[] = {
        {"GET /\r\n\r\n", 400},
        {"GET  / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1 \r\n\r\n", 400},
        {"GET / HTTP/2.0\r\n\r\n", 505},
        {"GET / HTTP/1.2\r\n\r\n", 505},
        {"GET / http/1.1\r\n\r\n", 400},
        {"G(T / HTTP/1.1\r\n\r\n", 400},
        {"GET x HTTP/1.1\r\n\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\n\r\n", 400},
        {"GET /\x01 HTTP/1.1\r\n\r\n", 400},
        {"\x16\x03\x01", 400},
        {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nnonsense\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nX: a\nY: b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nX: a\x7f\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nContent-Length: \r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n", 400},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_http_request request;
        int status = 0;
        CHECK_ERR(SMA_ERR_BADINPUT, parse(cases[i].text, &request, &status));
        CHECK_INT(cases[i].status, status);
    }
}

CASE(head_limit_is_exact)
{
    char text[300];
    struct sma_http_request request;
    int status = 0;
    for (size_t size = 99; size <= 101; size++) {
        size_t fill = size - strlen("GET / HTTP/1.1\r\nX: \r\n\r\n");
        snprintf(text, sizeof text, "GET / HTTP/1.1\r\nX: %.*s\r\n\r\n", (int)fill,
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                 "aaaaaaaaaaaaaaa");
        CHECK_INT(size, strlen(text));
        CHECK_ERR(size <= 100 ? SMA_ERR_OK : SMA_ERR_TOOBIG,
                  sma_http_request_parse(sma_str(text), 0, 100, &request, &status));
    }
    CHECK_INT(431, status);
    CHECK_ERR(SMA_ERR_EMPTY,
              sma_http_request_parse((struct sma_str){text, 99}, 0, 100, &request, &status));
    CHECK_ERR(SMA_ERR_TOOBIG,
              sma_http_request_parse((struct sma_str){text, 100}, 0, 100, &request, &status));
}

CASE(connection_header_decides)
{
    struct sma_http_request request;
    int status = 0;
    CHECK_OK(parse("GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n", &request, &status));
    CHECK(!request.is_keep_alive);
    CHECK_OK(parse("GET / HTTP/1.0\r\n\r\n", &request, &status));
    CHECK(!request.is_keep_alive);
    CHECK_OK(parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", &request, &status));
    CHECK(request.is_keep_alive);
    CHECK_INT(4, sma_http_skip_blank(SMA_STR("\r\n\r\nGET")));
    CHECK_INT(0, sma_http_skip_blank(SMA_STR("\rGET")));
}

CASE(query_values_are_decoded)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 64);
    CHECK_OK(
        sma_http_query_get(SMA_STR("a=1&chatKey=api%3Achat%3a+x&b="), SMA_STR("chatKey"), &buf));
    CHECK_STR("api:chat: x", sma_buf_str(&buf));
    sma_buf_clear(&buf);
    CHECK_ERR(SMA_ERR_NOTFOUND,
              sma_http_query_get(SMA_STR("xchatKey=1&chatKeyy=2"), SMA_STR("chatKey"), &buf));
    CHECK_ERR(SMA_ERR_BADINPUT,
              sma_http_query_get(SMA_STR("chatKey=%4"), SMA_STR("chatKey"), &buf));
    sma_buf_clear(&buf);
    CHECK_ERR(SMA_ERR_BADINPUT,
              sma_http_query_get(SMA_STR("chatKey=%zz"), SMA_STR("chatKey"), &buf));
}

/* Any bytes: an answer of the four, slices inside the input. The copy is exact, so that a sanitizer
 * sees one byte over. */
CASE(damaged_heads_stay_inside)
{
    static const char whole[] =
        "POST /api/execute?a=%20 HTTP/1.1\r\nHost: localhost:1\r\nContent-Length: 12\r\n"
        "Accept: a, b;q=1\r\nConnection: close\r\n\r\n";
    static const char spice[] = "\r\n:, ;%\0 \t/?\xff/HTTP";
    uint32_t seed = 1;
    for (int round = 0; round < 50000; round++) {
        size_t len = sizeof whole - 1 - (seed >> 8) % 20;
        char *bytes = malloc(len);
        CHECK(bytes != NULL);
        memcpy(bytes, whole, len);
        for (int i = 0; i < 3; i++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[(seed >> 10) % len] = spice[(seed >> 4) % sizeof spice];
        }
        struct sma_http_request request;
        int status = 0;
        struct sma_str text = {bytes, len};
        size_t blank = sma_http_skip_blank(text);
        text = (struct sma_str){bytes + blank, len - blank};
        enum sma_err err = sma_http_request_parse(text, 0, 8192, &request, &status);
        CHECK(err == SMA_ERR_OK || err == SMA_ERR_EMPTY ||
              (err == SMA_ERR_BADINPUT && status >= 400));
        if (err == SMA_ERR_OK) {
            CHECK(request.head_bytes <= text.len);
            CHECK(request.path.ptr >= bytes && request.path.ptr + request.path.len <= bytes + len);
            (void)sma_http_list_has(request.accept, SMA_STR("b"));
            struct sma_buf value;
            sma_buf_init(&value, 64);
            err = sma_http_query_get(request.query, SMA_STR("a"), &value);
            CHECK(err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND || err == SMA_ERR_BADINPUT);
            sma_buf_fini(&value);
        }
        free(bytes);
    }
}

CASES_MAIN
