/*
 * Aim: a page with the token is told the status at once and when it changes, one without is not let
 * in; whatever pages do, nobody else is held up, nothing grows, and the service stops.
 * Method: raw sockets; the answers are read frame by frame.
 */
#include "harness.h"

#include "sma/links.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define UPGRADE                                                 \
    "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n" \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
#define MANY 500

static struct harness *harness;

static int ask(const char *lines, const char *behind)
{
    char text[1024];
    int fd = client_connect(harness);
    (void)snprintf(text, sizeof text, "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\n%s",
                   harness_port(harness), lines, behind);
    client_text(fd, text);
    return fd;
}

static void read_bytes(int fd, void *room, size_t len)
{
    char *at = room;
    while (len > 0) {
        struct pollfd waits = {.fd = fd, .events = POLLIN};
        CHECK(poll(&waits, 1, 20000) == 1);
        ssize_t got = recv(fd, at, len, 0);
        CHECK(got > 0);
        at += got;
        len -= (size_t)got;
    }
}

static void read_101(int fd)
{
    char head[2048];
    size_t len = 0;
    do {
        CHECK(len < sizeof head - 1);
        read_bytes(fd, head + len, 1);
        head[++len] = '\0';
    } while (len < 4 || strcmp(head + len - 4, "\r\n\r\n") != 0);
    CHECK(strncmp(head, "HTTP/1.1 101 ", 13) == 0);
    CHECK(strstr(head, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") != NULL);
}

/* One frame. @return its opcode; text is freed by the caller */
static int read_frame(int fd, char **ret_text, size_t *ret_len)
{
    unsigned char head[2], more[8];
    read_bytes(fd, head, 2);
    CHECK((head[0] & 0x80) != 0 && (head[1] & 0x80) == 0);
    size_t len = head[1] & 0x7f, extra = len == 126 ? 2 : len == 127 ? 8 : 0;
    if (extra > 0) {
        read_bytes(fd, more, extra);
        len = 0;
        for (size_t i = 0; i < extra; i++)
            len = len << 8 | more[i];
    }
    char *text = malloc(len + 1);
    CHECK(text != NULL);
    read_bytes(fd, text, len);
    text[len] = '\0';
    *ret_text = text;
    *ret_len = len;
    return head[0] & 0x0f;
}

static void expect_status(int fd, const char *part)
{
    for (;;) {
        char *text;
        size_t len;
        CHECK_INT(1, read_frame(fd, &text, &len));
        CHECK(strncmp(text, "{\"name\":\"shipmyagent\"", 21) == 0);
        bool has_part = strstr(text, part) != NULL;
        free(text);
        if (has_part)
            return;
    }
}

static int open_page(void)
{
    int fd = ask(HARNESS_TOKEN_LINE UPGRADE, "");
    read_101(fd);
    return fd;
}

CASE(the_status_comes_at_once_and_when_it_changes)
{
    int fd = open_page();
    expect_status(fd, "\"store\":");
    uint64_t before = sma_sys_real()->now_ns(NULL);
    sma_link_down("telegram", 1700000000000, SMA_STR("first trouble"));
    expect_status(fd, "first trouble");
    sma_link_error("telegram", 1700000000000, SMA_STR("second trouble"));
    expect_status(fd, "second trouble");
    CHECK(sma_sys_real()->now_ns(NULL) - before >= 900000000u); /* once a second at most */
    wait_ms(1100); /* what was rung while it was asked is asked for once more */
    unsigned asked = harness_status_count(harness);
    struct pollfd waits = {.fd = fd, .events = POLLIN};
    CHECK_INT(0, poll(&waits, 1, 2500));             /* nothing changes: nothing is said */
    CHECK_INT(asked, harness_status_count(harness)); /* nor is anybody asked */
    for (int i = 0; i < 200; i++) { /* a busy service is asked once a second at most */
        sma_link_error("telegram", 1700000000000 + i, SMA_STR("third trouble"));
        wait_ms(5);
    }
    CHECK(harness_status_count(harness) - asked <= 25); /* the test clock is quicker */
    expect_status(fd, "third trouble");
    (void)close(fd);
}

CASE(who_may_not_come_in)
{
    static const struct
    {
        const char *lines;
        int status;
    } cases[] = {
        {UPGRADE, 401},
        {"X-Api-Token: wrong\r\n" UPGRADE, 401},
        {HARNESS_TOKEN_LINE "Origin: http://elsewhere.example\r\n" UPGRADE, 403},
        {HARNESS_TOKEN_LINE, 426},
        {HARNESS_TOKEN_LINE "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n",
         426},
        {HARNESS_TOKEN_LINE "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
                            "8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
         426},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        int fd = ask(cases[i].lines, "");
        struct reply reply = client_read(fd);
        CHECK_INT(cases[i].status, reply.status);
        reply_free(&reply);
        (void)close(fd);
    }
    int fd = client_connect(harness);
    client_text(fd, "GET /ws HTTP/1.1\r\nHost: evil.example\r\n" HARNESS_TOKEN_LINE UPGRADE "\r\n");
    struct reply reply = client_read(fd);
    CHECK_INT(403, reply.status);
    reply_free(&reply);
    (void)close(fd);
}

/* Frames glued to the request; a text, a ping that is answered, a close that is answered. */
CASE(what_a_page_says_is_read_and_leads_nowhere)
{
    static const char behind[] = "\x81\x82mask\x05\x08"
                                 "\x89\x82mask\x05\x08"
                                 "\x88\x82mask\x6e\x89";
    int fd = client_connect(harness);
    char text[1024];
    int len =
        snprintf(text, sizeof text,
                 "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" HARNESS_TOKEN_LINE UPGRADE "\r\n",
                 harness_port(harness));
    memcpy(text + len, behind, sizeof behind - 1);
    client_send(fd, text, (size_t)len + sizeof behind - 1);
    read_101(fd);
    int opcode;
    do {
        char *got;
        size_t got_len;
        opcode = read_frame(fd, &got, &got_len);
        free(got);
    } while (opcode != 8);
    CHECK(client_is_closed(fd));
    (void)close(fd);
}

/* The store's answer to the page before may be on its way: what changes behind it is told. */
CASE(a_page_that_comes_right_behind_another_misses_nothing)
{
    harness_slow_status(harness, 200);
    (void)close(open_page());
    int fd = open_page();
    expect_status(fd, "\"store\":");
    sma_link_error("telegram", 1700000000000, SMA_STR("behind another"));
    expect_status(fd, "behind another");
    harness_slow_status(harness, 0);
    (void)close(fd);
}

/* Browsers mask; a program that does not is let in by its token, and says nothing that counts. */
CASE(a_frame_without_a_mask_is_taken_like_one_with)
{
    int fd = open_page();
    client_send(fd, "\x81\x02hi", 4);
    sma_link_error("telegram", 1700000000000, SMA_STR("behind the frame"));
    expect_status(fd, "behind the frame");
    (void)close(fd);
}

CASE(a_frame_over_the_limit_ends_the_page)
{
    int fd = open_page();
    client_send(fd, "\x82\xff\x00\x00\x00\x01\x00\x00\x00\x00mask", 14);
    int opcode;
    do {
        char *got;
        size_t got_len;
        opcode = read_frame(fd, &got, &got_len);
        CHECK(opcode != 8 || (got_len >= 2 && memcmp(got, "\x03\xf1", 2) == 0)); /* 1009 */
        free(got);
    } while (opcode != 8);
    (void)close(fd);
}

/* Nobody reads, half of them leave by RST, the rest by FIN: nobody else is held up. */
CASE(five_hundred_pages_that_do_not_read_and_leave)
{
    static int fds[MANY];
    for (size_t i = 0; i < MANY; i++)
        fds[i] = open_page();
    for (int i = 0; i < 3; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "change %d", i);
        sma_link_error("telegram", 1700000000000 + i, sma_str(text));
        CHECK_INT(200, request_status(harness, "GET /api/status", "", NULL));
        wait_ms(1100);
    }
    double before = cpu_seconds();
    wait_ms(2000);
    CHECK(cpu_seconds() - before < 1.0); /* a loop that turns would take 2 */
    for (size_t i = 0; i < MANY; i++) {
        struct linger reset = {.l_onoff = 1, .l_linger = 0};
        if (i % 2 == 0)
            CHECK_INT(0, setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof reset));
        (void)close(fds[i]);
    }
    int fd = open_page(); /* there is room again, and the newest is told */
    expect_status(fd, "change 2");
    (void)close(fd);
}

CASE(the_end_is_said_with_a_close_frame)
{
    int fd = open_page();
    expect_status(fd, "\"store\":");
    harness_begin_stop(harness);
    int opcode;
    do {
        char *got;
        size_t got_len;
        opcode = read_frame(fd, &got, &got_len);
        CHECK(opcode != 8 || (got_len >= 2 && memcmp(got, "\x03\xe9", 2) == 0)); /* 1001 */
        free(got);
    } while (opcode != 8);
    (void)close(fd);
    harness_stop(harness);
}

int main(void)
{
    harness = harness_start(&(struct harness_options){0});
    check_run_cases(NULL);
    return check_summary();
}
