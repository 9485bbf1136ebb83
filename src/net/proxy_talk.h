/*
 * proxy_talk.h — what is said to a proxy before it lets us through: HTTP's CONNECT (RFC 9110,
 * 9.3.6) or SOCKS 5 (RFC 1928, 1929). Pure: bytes in, bytes out.
 */
#ifndef SMA_NET_PROXY_TALK_H
#define SMA_NET_PROXY_TALK_H

#include "sma/proxy.h"

#define PROXY_ANSWER_BYTES_MAX 8192

struct proxy_talk
{
    const struct sma_proxy *proxy; /* borrowed */
    const char *host, *port;       /* likewise: where to */
    enum
    {
        PROXY_CONNECT,
        PROXY_METHOD,
        PROXY_LOGIN,
        PROXY_REPLY,
    } step;
    char out[2048];
    size_t out_len, out_at; /* what is still to be sent */
    char in[PROXY_ANSWER_BYTES_MAX];
    size_t in_len;
    char error[256]; /* why not */
};
/** The first words lie in `out` after it. BADINPUT: too long for the proxy's protocol; error says
 *  what. */
SMA_CHECKED enum sma_err proxy_talk_begin(struct proxy_talk *talk, const struct sma_proxy *proxy,
                                          const char *host, const char *port);
/** in_len has grown. @return OK: through | EMPTY: send `out`, if there is any, and read on |
 *  BADINPUT: error says why. */
SMA_CHECKED enum sma_err proxy_talk_read(struct proxy_talk *talk);

#endif
