/* proxy_talk.c — see proxy_talk.h. */
#include "proxy_talk.h"

#include "names.h"

#include "sma/text.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <stdarg.h>

static enum sma_err refuse(struct proxy_talk *talk, const char *format, ...) SMA_PRINTF(2, 3);
static enum sma_err refuse(struct proxy_talk *talk, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(talk->error, sizeof talk->error, format, arguments);
    va_end(arguments);
    for (char *at = talk->error; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f) /* it goes into a log line */
            *at = ' ';
    return SMA_ERR_BADINPUT;
}

static void put(struct proxy_talk *talk, const void *bytes, size_t len)
{
    SMA_ASSERT(len <= sizeof talk->out - talk->out_len); /* lengths are checked at the beginning */
    memcpy(talk->out + talk->out_len, bytes, len);
    talk->out_len += len;
}

/* -- HTTP ------------------------------------------------------------------------------------- */
static void put_connect(struct proxy_talk *talk)
{
    const struct sma_proxy *proxy = talk->proxy;
    bool is_ipv6 = strchr(talk->host, ':') != NULL;
    char place[NET_HOST_BYTES + NET_PORT_BYTES + 4], line[2 * sizeof place + 128];
    (void)snprintf(place, sizeof place, "%s%s%s:%s", is_ipv6 ? "[" : "", talk->host,
                   is_ipv6 ? "]" : "", talk->port);
    int len =
        snprintf(line, sizeof line,
                 "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: shipmyagent/" SMA_VERSION "\r\n",
                 place, place);
    put(talk, line, (size_t)len);
    if (proxy->user[0] != '\0' || proxy->password[0] != '\0') {
        static const char name[] = "Proxy-Authorization: Basic ";
        char plain[2 * SMA_PROXY_USER_BYTES + 2];
        unsigned char coded[4 * sizeof plain / 3 + 8];
        int plain_len = snprintf(plain, sizeof plain, "%s:%s", proxy->user, proxy->password);
        int coded_len = EVP_EncodeBlock(coded, (unsigned char *)plain, plain_len);
        put(talk, name, sizeof name - 1);
        put(talk, coded, (size_t)coded_len);
        put(talk, "\r\n", 2);
        explicit_bzero(plain, sizeof plain);
        explicit_bzero(coded, sizeof coded);
    }
    put(talk, "\r\n", 2);
}

static enum sma_err read_connect(struct proxy_talk *talk)
{
    static const char version[] = "HTTP/1.";
    size_t start = talk->in_len < 7 ? talk->in_len : 7;
    if (memcmp(talk->in, version, start) != 0)
        return refuse(talk, "the proxy does not speak HTTP");
    const char *end = memmem(talk->in, talk->in_len, "\r\n\r\n", 4);
    if (end == NULL)
        return talk->in_len < sizeof talk->in ? SMA_ERR_EMPTY
                                              : refuse(talk, "the proxy's answer does not end");
    int64_t status = 0;
    if (sma_parse_i64((struct sma_str){talk->in + 9, 3}, 100, 599, &status) != SMA_ERR_OK)
        return refuse(talk, "the proxy does not speak HTTP");
    const char *line_end = memchr(talk->in, '\r', talk->in_len);
    if (status == 407)
        return refuse(talk, talk->proxy->user[0] == '\0'
                                ? "the proxy wants a user and a password (407)"
                                : "the proxy refuses the user or the password (407)");
    if (status < 200 || status >= 300)
        return refuse(talk, "the proxy refuses: %.*s", (int)(line_end - talk->in - 9),
                      talk->in + 9);
    if ((size_t)(end + 4 - talk->in) != talk->in_len)
        return refuse(talk, "the proxy speaks before it is its turn");
    return SMA_ERR_OK;
}

/* -- SOCKS 5 ---------------------------------------------------------------------------------- */
static bool has_login(const struct proxy_talk *talk)
{
    return talk->proxy->user[0] != '\0' || talk->proxy->password[0] != '\0';
}

static void put_login(struct proxy_talk *talk)
{
    const char *const texts[] = {talk->proxy->user, talk->proxy->password};
    put(talk, "\x01", 1);
    for (size_t i = 0; i < 2; i++) {
        unsigned char len = (unsigned char)strlen(texts[i]); /* 255 at most: SMA_PROXY_USER_BYTES */
        put(talk, &len, 1);
        put(talk, texts[i], len);
    }
}

/* A name goes as it is: the proxy looks it up. */
static void put_place(struct proxy_talk *talk)
{
    unsigned char address[16], len = (unsigned char)strlen(talk->host);
    int64_t port = 0;
    (void)!sma_parse_i64(sma_str(talk->port), 1, 65535, &port);
    unsigned char port_bytes[2] = {(unsigned char)(port >> 8), (unsigned char)port};
    put(talk, "\x05\x01\x00", 3);
    if (inet_pton(AF_INET, talk->host, address) == 1) {
        put(talk, "\x01", 1);
        put(talk, address, 4);
    } else if (inet_pton(AF_INET6, talk->host, address) == 1) {
        put(talk, "\x04", 1);
        put(talk, address, 16);
    } else {
        put(talk, "\x03", 1);
        put(talk, &len, 1);
        put(talk, talk->host, len);
    }
    put(talk, port_bytes, 2);
    talk->step = PROXY_REPLY;
}

static void drop_in(struct proxy_talk *talk, size_t len)
{
    talk->in_len -= len;
    memmove(talk->in, talk->in + len, talk->in_len);
}

static enum sma_err read_method(struct proxy_talk *talk)
{
    if (talk->in_len >= 1 && talk->in[0] != 5)
        return refuse(talk, "the proxy does not speak SOCKS 5");
    if (talk->in_len < 2)
        return SMA_ERR_EMPTY;
    unsigned char method = (unsigned char)talk->in[1];
    drop_in(talk, 2);
    if (method == 2 && has_login(talk)) {
        put_login(talk);
        talk->step = PROXY_LOGIN;
    } else if (method == 0) {
        put_place(talk);
    } else {
        return refuse(talk, has_login(talk) ? "the proxy takes no user and password"
                                            : "the proxy wants a user and a password");
    }
    return SMA_ERR_EMPTY;
}

static enum sma_err read_login(struct proxy_talk *talk)
{
    if (talk->in_len < 2)
        return SMA_ERR_EMPTY;
    if (talk->in[1] != 0)
        return refuse(talk, "the proxy refuses the user or the password");
    drop_in(talk, 2);
    put_place(talk);
    return SMA_ERR_EMPTY;
}

static enum sma_err read_reply(struct proxy_talk *talk)
{
    static const char *const reasons[] = {"",
                                          "general failure",
                                          "not allowed by its rules",
                                          "network unreachable",
                                          "host unreachable, or its name unknown",
                                          "connection refused",
                                          "no answer in time",
                                          "it cannot connect",
                                          "it does not know this kind of address"};
    if (talk->in_len < 5)
        return SMA_ERR_EMPTY;
    unsigned char code = (unsigned char)talk->in[1], kind = (unsigned char)talk->in[3];
    if (talk->in[0] != 5)
        return refuse(talk, "the proxy does not speak SOCKS 5");
    if (code != 0)
        return refuse(talk, "the proxy refuses: %s",
                      code < SMA_COUNT_OF(reasons) ? reasons[code] : "unknown reason");
    size_t len = kind == 1 ? 10 : kind == 4 ? 22 : 7 + (size_t)(unsigned char)talk->in[4];
    if (talk->in_len < len)
        return SMA_ERR_EMPTY;
    return talk->in_len == len ? SMA_ERR_OK
                               : refuse(talk, "the proxy speaks before it is its turn");
}

/* -- both ------------------------------------------------------------------------------------- */
enum sma_err proxy_talk_begin(struct proxy_talk *talk, const struct sma_proxy *proxy,
                              const char *host, const char *port)
{
    talk->proxy = proxy;
    talk->host = host;
    talk->port = port;
    talk->out_len = talk->out_at = talk->in_len = 0;
    talk->error[0] = '\0';
    if (strlen(host) > 255)
        return refuse(talk, "the host's name is too long");
    talk->step = proxy->kind == SMA_PROXY_HTTP ? PROXY_CONNECT : PROXY_METHOD;
    if (proxy->kind == SMA_PROXY_HTTP)
        put_connect(talk);
    else if (has_login(talk))
        put(talk, "\x05\x02\x00\x02", 4);
    else
        put(talk, "\x05\x01\x00", 3);
    return SMA_ERR_OK;
}

enum sma_err proxy_talk_read(struct proxy_talk *talk)
{
    enum sma_err err = SMA_ERR_EMPTY;
    size_t before;
    do { /* several answers may have come at once */
        before = talk->in_len;
        switch (talk->step) {
        case PROXY_CONNECT:
            return read_connect(talk);
        case PROXY_METHOD:
            err = read_method(talk);
            break;
        case PROXY_LOGIN:
            err = read_login(talk);
            break;
        case PROXY_REPLY:
            return read_reply(talk);
        }
    } while (err == SMA_ERR_EMPTY && talk->in_len > 0 && talk->in_len < before);
    return err;
}
