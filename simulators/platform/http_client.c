/*
 * http_client.c — see http_client.h. Every failure is "no answer": the caller asks again.
 */
#include "http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_BYTES_FIRST ((size_t)16 * 1024)
#define ANSWER_BYTES_MAX ((size_t)16 * 1024 * 1024) /* the longest list has 8 MiB */

static int connect_to(int port, int timeout_ms)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    struct timeval limit = {timeout_ms / 1000, (timeout_ms % 1000) * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        len -= (size_t)sent;
    }
    return true;
}

static long content_length(const char *head, const char *end)
{
    for (const char *at = head; at != NULL && at < end; at = strchr(at + 1, '\n'))
        if (strncasecmp(at + (at != head), "content-length:", 15) == 0)
            return strtol(at + (at != head) + 15, NULL, 10);
    return -1;
}

/* Room for more, twice as much: talks ask thousands of times, for a few bytes each. */
static bool grow(char **bytes, size_t *room)
{
    size_t wanted = *bytes == NULL ? ANSWER_BYTES_FIRST : *room * 2;
    char *grown = wanted > ANSWER_BYTES_MAX ? NULL : realloc(*bytes, wanted);
    if (grown == NULL)
        return false;
    *bytes = grown;
    *room = wanted;
    return true;
}

/* Reads until the body is complete by its length, or by the end of the connection where there is
 * none. */
static struct http_answer read_answer(int fd)
{
    struct http_answer none = {0};
    char *bytes = NULL;
    size_t len = 0, room = 0;
    bool is_at_end = false;
    while (len + 1 < room || grow(&bytes, &room)) {
        ssize_t got = recv(fd, bytes + len, room - 1 - len, 0);
        if (got < 0)
            break;
        is_at_end = got == 0;
        len += (size_t)got;
        bytes[len] = '\0';
        char *end = strstr(bytes, "\r\n\r\n");
        long want = end == NULL ? -1 : content_length(bytes, end);
        bool is_whole = want >= 0 && (size_t)want <= len - (size_t)(end + 4 - bytes);
        int status = 0;
        if (end != NULL && (is_whole || (is_at_end && want < 0)) &&
            sscanf(bytes, "HTTP/1.%*d %d", &status) == 1) {
            size_t body_len = is_whole ? (size_t)want : len - (size_t)(end + 4 - bytes);
            struct http_answer answer = {.status = status, .body = bytes, .len = body_len};
            const char *cookie = strstr(bytes, "\r\nSet-Cookie: ");
            if (cookie != NULL && cookie < end)
                (void)sscanf(cookie + 14, "%159[^\r]", answer.cookie);
            memmove(bytes, end + 4, body_len);
            bytes[body_len] = '\0';
            return answer;
        }
        if (is_at_end)
            break;
    }
    free(bytes);
    return none;
}

struct http_answer http_exchange(const struct http_request *request)
{
    struct http_answer answer = {0};
    int fd = connect_to(request->port, request->timeout_ms);
    if (fd < 0)
        return answer;
    char head[3072];
    int len = snprintf(head, sizeof head,
                       "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n%s",
                       request->method, request->path, request->port, request->headers);
    if (request->body != NULL)
        len += snprintf(head + len, sizeof head - (size_t)len, "Content-Length: %zu\r\n",
                        request->body_len);
    len += snprintf(head + len, sizeof head - (size_t)len, "\r\n");
    if (send_all(fd, head, (size_t)len) &&
        (request->body == NULL || send_all(fd, request->body, request->body_len)))
        answer = read_answer(fd);
    close(fd);
    return answer;
}

struct http_answer http_post(int port, const char *path, const char *headers, const char *body,
                             int timeout_ms)
{
    char lines[2560];
    snprintf(lines, sizeof lines, "%sContent-Type: application/json\r\n", headers);
    return http_exchange(&(struct http_request){.port = port,
                                                .method = "POST",
                                                .path = path,
                                                .headers = lines,
                                                .body = body,
                                                .body_len = strlen(body),
                                                .timeout_ms = timeout_ms});
}

void http_answer_fini(struct http_answer *answer)
{
    free(answer->body);
    answer->body = NULL;
}
