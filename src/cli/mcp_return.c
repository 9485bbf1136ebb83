/*
 * mcp_return.c — where a browser comes back after a login: a loopback address (RFC 8252), or what
 * somebody types in, whose browser is on another machine.
 */
#include "mcp.h"

#include "sma/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WAIT_S 600
#define READ_MS 5000 /* for a browser's request */
#define PLACE "/callback?"

int sma_mcp_return_listen(long port, unsigned *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 8) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        close(fd);
        return -1;
    }
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static char *query_of(const char *text)
{
    const char *at = strstr(text, PLACE);
    if (at == NULL)
        return NULL;
    at += sizeof PLACE - 1;
    return strndup(at, strcspn(at, " \r\n#"));
}

static void say(int fd, const char *status, const char *text)
{
    char answer[1024];
    int len = snprintf(answer, sizeof answer,
                       "HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\n"
                       "Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\n"
                       "Connection: close\r\n\r\n<!doctype html><title>ShipMyAgent</title><p>%s",
                       status, text);
    if (send(fd, answer, (size_t)len, MSG_NOSIGNAL) != len)
        return; /* the browser's loss: the code is here */
}

/* One connection. @return its query; NULL: something else was asked for */
static char *take_browser(int listener)
{
    char request[16384];
    size_t len = 0;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return NULL;
    request[0] = '\0';
    while (len + 1 < sizeof request && strstr(request, "\r\n") == NULL) {
        struct pollfd watch = {.fd = fd, .events = POLLIN};
        ssize_t got = poll(&watch, 1, READ_MS) <= 0
                          ? 0
                          : recv(fd, request + len, sizeof request - 1 - len, 0);
        if (got <= 0)
            break;
        len += (size_t)got;
        request[len] = '\0';
    }
    request[strcspn(request, "\r\n")] = '\0'; /* the first line alone */
    char *query =
        strncmp(request, "GET " PLACE, 4 + sizeof PLACE - 1) == 0 ? query_of(request) : NULL;
    if (query == NULL)
        say(fd, "404 Not Found", "Nothing is here.");
    else
        say(fd, "200 OK", "That is all: you may close this page and go back to the terminal.");
    explicit_bzero(request, sizeof request);
    close(fd);
    return query;
}

static char *take_typed(bool *ret_is_over)
{
    char *line = NULL, *query = NULL;
    size_t size = 0;
    if (getline(&line, &size, stdin) < 0)
        *ret_is_over = true;
    else if ((query = query_of(line)) == NULL)
        puts("That is not the address where the browser ended: it begins with "
             "http://127.0.0.1 and holds a code.");
    free(line);
    return query;
}

char *sma_mcp_return_wait(int listener)
{
    time_t until = time(NULL) + WAIT_S;
    bool is_over = !isatty(STDIN_FILENO);
    for (;;) {
        struct pollfd watch[2] = {{.fd = listener, .events = POLLIN},
                                  {.fd = is_over ? -1 : STDIN_FILENO, .events = POLLIN}};
        time_t left = until - time(NULL);
        int count = left <= 0 ? 0 : poll(watch, 2, (int)left * 1000);
        if (count == 0 || (count < 0 && errno != EINTR))
            return NULL;
        char *query = count > 0 && watch[0].revents != 0 ? take_browser(listener) : NULL;
        if (query == NULL && count > 0 && watch[1].revents != 0)
            query = take_typed(&is_over);
        if (query != NULL)
            return query;
    }
}
