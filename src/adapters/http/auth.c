/*
 * auth.c — Host, Origin and the token. Everything that decides about trust stands in this file.
 *
 * Loopback is not a person: every account of the machine, every container on its network and every
 * command with a network reaches 127.0.0.1. Who may read <state>/api-token is the same user as the
 * service; that file is always a key, so that the command line needs no configuration. api.token of
 * ship.json is a second one, for callers elsewhere.
 */
#include "http_priv.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

/* A keyed hash of one length for all tokens; the key is of this load alone. Costs no allocation, as
 * libcrypto's digests do. */
static void digest_of(const struct http_auth *auth, struct sma_str token,
                      uint64_t digest[HTTP_TOKEN_DIGEST_WORDS])
{
    for (size_t i = 0; i < HTTP_TOKEN_DIGEST_WORDS; i++)
        digest[i] = sma_siphash(auth->keys[i], token.ptr, token.len);
}

/* All tokens together: whoever changes one ends what was opened with it. */
static bool make_session_key(struct http_auth *auth, struct sma_str token, struct sma_str more)
{
    static const char name[] = "sessions of pages";
    uint8_t both[2][32];
    bool is_made = HMAC(EVP_sha256(), name, sizeof name, (const uint8_t *)token.ptr, token.len,
                        both[0], NULL) != NULL &&
                   HMAC(EVP_sha256(), name, sizeof name, (const uint8_t *)more.ptr, more.len,
                        both[1], NULL) != NULL &&
                   HMAC(EVP_sha256(), name, sizeof name, both[0], sizeof both, auth->session_key,
                        NULL) != NULL;
    OPENSSL_cleanse(both, sizeof both);
    return is_made;
}

static void put_name(struct http_auth *auth, size_t index, const char *name)
{
    bool is_bare_ipv6 = strchr(name, ':') != NULL && name[0] != '[';
    snprintf(auth->names[index], sizeof auth->names[index], is_bare_ipv6 ? "[%s]" : "%s", name);
}

enum sma_err http_auth_load(struct sma_http *http, struct sma_error *error)
{
    struct http_auth auth = {.port = atomic_load(&http->port)};
    const char *host = http->config->start_host;
    const struct sma_sys *sys = sma_sys_real();
    sys->random_bytes(sys->self, auth.keys, sizeof auth.keys);
    sys->random_bytes(sys->self, auth.ticket_keys, sizeof auth.ticket_keys);
    put_name(&auth, 0, "localhost");
    put_name(&auth, 1, "127.0.0.1");
    put_name(&auth, 2, "::1");
    put_name(&auth, 3, host);
    /* A page that rebinds its name to us cannot know the token; on loopback only our own names are
     * let in besides. */
    auth.is_any_host = !http->is_loopback;
    struct sma_buf token;
    sma_buf_init(&token, HTTP_TOKEN_BYTES_MAX);
    enum sma_err err = http_token_file_read(http, &token, error);
    if (err == SMA_ERR_OK)
        digest_of(&auth, sma_buf_str(&token), auth.digests[auth.digest_count++]);
    if (err == SMA_ERR_OK &&
        !make_session_key(&auth, sma_buf_str(&token), sma_str(http->config->api_token)))
        err = sma_fail(error, SMA_ERR_NOMEM, "out of memory for the HTTP adapter");
    if (token.ptr != NULL)
        OPENSSL_cleanse(token.ptr, token.len);
    sma_buf_fini(&token);
    if (err != SMA_ERR_OK)
        return err;
    if (http->config->api_token[0] != '\0')
        digest_of(&auth, sma_str(http->config->api_token), auth.digests[auth.digest_count++]);
    http->auth = auth;
    return SMA_ERR_OK;
}

/* Digests of equal length, all of them compared, each in constant time: how long it takes tells
 * nothing. */
bool http_auth_is_token(const struct http_auth *auth, struct sma_str token)
{
    uint64_t digest[HTTP_TOKEN_DIGEST_WORDS];
    bool is_known = false;
    if (token.len == 0 || token.len > HTTP_TOKEN_BYTES_MAX)
        return false;
    digest_of(auth, token, digest);
    for (size_t i = 0; i < auth->digest_count; i++)
        is_known |= CRYPTO_memcmp(digest, auth->digests[i], sizeof digest) == 0;
    return is_known;
}

bool http_auth_has_token(const struct http_auth *auth, const struct sma_http_request *request)
{
    if (request->has_authorization) {
        struct sma_str value = request->authorization;
        struct sma_str scheme = {value.ptr, value.len < 7 ? value.len : 7};
        if (!sma_str_is_equal_nocase(scheme, SMA_STR("bearer ")))
            return false;
        return http_auth_is_token(auth,
                                  sma_str_trim((struct sma_str){value.ptr + 7, value.len - 7}));
    }
    return request->has_api_token && http_auth_is_token(auth, request->api_token);
}

/* Split "name:port" (or "[v6]:port"); *port = 80 when there is none. */
static bool split_host(struct sma_str host, struct sma_str *name, int64_t *port)
{
    const char *colon = memrchr(host.ptr, ':', host.len);
    const char *bracket = memrchr(host.ptr, ']', host.len);
    *port = 80;
    *name = host;
    if (colon != NULL && (bracket == NULL || colon > bracket)) {
        name->len = (size_t)(colon - host.ptr);
        if (sma_parse_i64((struct sma_str){colon + 1, host.len - name->len - 1}, 1, 65535, port) !=
            SMA_ERR_OK)
            return false;
    }
    return name->len > 0;
}

bool http_auth_allows_host(const struct http_auth *auth, const struct sma_http_request *request)
{
    struct sma_str name;
    int64_t port;
    if (request->host.len == 0 || request->host.len > 255 ||
        !split_host(request->host, &name, &port))
        return false;
    if (auth->is_any_host)
        return true;
    if (port != auth->port)
        return false;
    for (size_t i = 0; i < SMA_COUNT_OF(auth->names); i++)
        if (sma_str_is_equal_nocase(name, sma_str(auth->names[i])))
            return true;
    return false;
}

bool http_auth_allows_origin(const struct sma_http_request *request)
{
    if (!request->has_origin)
        return true;
    struct sma_str origin = request->origin;
    size_t scheme = origin.len > 7 && sma_str_is_equal_nocase((struct sma_str){origin.ptr, 7},
                                                              SMA_STR("http://"))
                        ? 7
                    : origin.len > 8 && sma_str_is_equal_nocase((struct sma_str){origin.ptr, 8},
                                                                SMA_STR("https://"))
                        ? 8
                        : 0;
    if (scheme == 0)
        return false; /* "null" too */
    return sma_str_is_equal_nocase((struct sma_str){origin.ptr + scheme, origin.len - scheme},
                                   request->host);
}
