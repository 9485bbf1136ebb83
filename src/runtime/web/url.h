/*
 * url.h — an address that a model wants fetched: read once, by the reader that fetches it.
 *
 * libcurl's URL parser makes one spelling of it; what is judged, shown to people and fetched is
 * that spelling, so that no two readers can see two hosts in it. Refused: other schemes than http
 * and https, a user or password, blanks and control characters, backslashes, more than
 * SMA_WEB_URL_BYTES_MAX bytes.
 * Threads: any; no state.
 */
#ifndef SMA_RUNTIME_WEB_URL_H
#define SMA_RUNTIME_WEB_URL_H

#include "sma/buf.h"
#include "sma/limits.h"

#define SMA_WEB_HOST_BYTES 256

struct sma_web_url
{
    char text[SMA_WEB_URL_BYTES_MAX + 1]; /* the one spelling, without its fragment */
    char host[SMA_WEB_HOST_BYTES]; /* ASCII (punycode), small letters; IPv6 without brackets */
    unsigned port;
    bool is_tls;
    bool is_ip; /* the host is an address, in whatever spelling */
};
/** OK | BADINPUT: the sentence for the model is appended to *why | NOMEM */
SMA_CHECKED enum sma_err sma_web_url_read(struct sma_str text, struct sma_web_url *ret_url,
                                          struct sma_buf *why);
/** What a redirect leads to, as above. `location` may be relative. */
SMA_CHECKED enum sma_err sma_web_url_follow(const struct sma_web_url *from, struct sma_str location,
                                            struct sma_web_url *ret_url, struct sma_buf *why);
/** A host as it stands in configuration or in what somebody wrote, as `host` above. @return false:
 *  it is none */
bool sma_web_host_read(struct sma_str text, char ret_host[SMA_WEB_HOST_BYTES]);

#endif
