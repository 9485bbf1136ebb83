/*
 * proxy.h — which proxy requests go through: none, one that is named, or the environment's.
 *
 * A proxy looks names up itself: a request through one asks no name server here. This machine's own
 * servers (localhost, 127.0.0.1, ::1) are never asked through one.
 * Secrets: user and password are in no text but what is sent to the proxy; `name` is for people.
 * Threads: values; any.
 */
#ifndef SMA_PROXY_H
#define SMA_PROXY_H

#include "sma/base.h"

#define SMA_PROXY_USER_BYTES 256

enum sma_proxy_kind
{
    SMA_PROXY_NONE,
    SMA_PROXY_HTTP,        /* CONNECT */
    SMA_PROXY_SOCKS5H,     /* with names; what is written socks5:// too */
    SMA_PROXY_OTHER,       /* https://, socks4://: libcurl's only, not a WebSocket's */
    SMA_PROXY_ENVIRONMENT, /* https_proxy, http_proxy, all_proxy, no_proxy */
};
struct sma_proxy
{
    enum sma_proxy_kind kind;
    char host[256], port[8];
    char user[SMA_PROXY_USER_BYTES], password[SMA_PROXY_USER_BYTES]; /* decoded */
    char name[280]; /* "http://host:port", or "the environment's"; "" = none */
};

/** "" and "none": none. "environment". Else scheme://[user[:password]@]host[:port], the user and
 *  the password percent-encoded. @return OK | BADINPUT */
SMA_CHECKED enum sma_err sma_proxy_parse(struct sma_str text, struct sma_proxy *ret_proxy);
/** For a connection of one's own to this host: what *proxy comes to there, NONE for this machine's
 *  own. @return OK | BADINPUT: it cannot carry a connection of one's own (OTHER, or a variable
 *  that is no proxy) */
SMA_CHECKED enum sma_err sma_proxy_choose(const struct sma_proxy *proxy, const char *host,
                                          bool is_tls, struct sma_proxy *ret_proxy);

#endif
