/*
 * oauth.h — how a token for an MCP server is got: OAuth 2.1 as a machine without I/O and clock.
 *
 * The machine says what to ask (sma_oauth_ask), takes the answer, and says what is next, until
 * there is a token or a reason. In order: the server's metadata (RFC 9728), that of its
 * authorization server (RFC 8414, OpenID's places too), a client (of mcp.json, one that was
 * registered before, or a new one by RFC 7591), then the grant: client credentials, a code with
 * PKCE on a loopback address (RFC 8252, 7636), a code for another device (RFC 8628), or a refresh
 * token. The resource is named in every request for a token (RFC 8707).
 *
 * Trust: what a server names is asked only over https, or on this machine when the server itself is
 * on this machine. The metadata must be of the server (resource) and of the issuer that was asked;
 * an authorization server without S256 is refused. No redirect is followed; the driver must not.
 * Source: MCP specification 2025-11-25 and 2026-07-28, "Authorization"; 2025-03-26 where there is
 * no metadata of the resource.
 * Threads: the owner's. Allocates. Texts that it hands out are the machine's.
 */
#ifndef SMA_RUNTIME_MCP_OAUTH_H
#define SMA_RUNTIME_MCP_OAUTH_H

#include "http_head.h"
#include "sma/buf.h"

#define SMA_OAUTH_RANDOM_BYTES 64
#define SMA_OAUTH_ANSWER_BYTES_MAX (256 * 1024) /* of one answer; a larger one is refused */
#define SMA_OAUTH_ASK_COUNT_MAX 64              /* of one way to a token; then it is given up */

struct sma_oauth;

enum sma_oauth_grant
{
    SMA_OAUTH_CODE,        /* a person at a browser on this machine */
    SMA_OAUTH_DEVICE,      /* a person at any browser */
    SMA_OAUTH_CREDENTIALS, /* nobody: clientId and clientSecret */
    SMA_OAUTH_REFRESH,     /* nobody: a refresh token */
};
enum sma_oauth_step
{
    SMA_OAUTH_ASK,    /* sma_oauth_ask, then sma_oauth_answer */
    SMA_OAUTH_PERSON, /* CODE: open sma_oauth_url, then sma_oauth_came */
    SMA_OAUTH_DONE,   /* sma_oauth_token */
    SMA_OAUTH_FAILED, /* sma_oauth_why */
};

/* What is kept of a login, in .ship/mcp/tokens/<server>.json. Owned texts; NULL = none. */
struct sma_oauth_token
{
    char *server_url; /* of mcp.json: it is good for that address alone */
    char *resource, *token_endpoint, *issuer;
    char *client_id, *client_secret, *method; /* method: none, client_secret_basic, ..._post */
    char *access_token, *refresh_token, *scope;
    int64_t expires_ms; /* wall clock; 0 = not known */
};
void sma_oauth_token_fini(struct sma_oauth_token *token); /* wipes */
/** As JSON, and back. OK | BADINPUT | NOMEM. */
SMA_CHECKED enum sma_err sma_oauth_token_format(const struct sma_oauth_token *token,
                                                struct sma_buf *buf);
SMA_CHECKED enum sma_err sma_oauth_token_parse(struct sma_str text,
                                               struct sma_oauth_token *ret_token);

struct sma_oauth_options
{
    enum sma_oauth_grant grant;
    const char *server_url;
    const struct sma_mcp_challenge *challenge;     /* may be NULL */
    const char *client_id, *client_secret, *scope; /* of mcp.json; NULL = none */
    const char *redirect_uri;                      /* CODE: "http://127.0.0.1:PORT/callback" */
    const struct sma_oauth_token *known;           /* REFRESH, or a client of before; or NULL */
    uint8_t random[SMA_OAUTH_RANDOM_BYTES];
};
/** NULL: out of memory. Copies what it needs. */
struct sma_oauth *sma_oauth_create(const struct sma_oauth_options *options);
void sma_oauth_destroy(struct sma_oauth *oauth); /* accepts NULL; wipes */

struct sma_oauth_ask
{
    const char *method, *url;
    const char *headers[3]; /* "Name: value" */
    size_t header_count;
    struct sma_str body;
    uint32_t wait_ms; /* before it is asked (a device's code is not entered yet) */
};
enum sma_oauth_step sma_oauth_step(const struct sma_oauth *oauth);
const struct sma_oauth_ask *sma_oauth_ask(const struct sma_oauth *oauth);
/** status 0: it was not reached. now_ms: wall clock. */
void sma_oauth_answer(struct sma_oauth *oauth, int status, struct sma_str body, int64_t now_ms);
/** What a person opens in a browser; DEVICE: with this code ("" = it is in the address). */
const char *sma_oauth_url(const struct sma_oauth *oauth);
const char *sma_oauth_user_code(const struct sma_oauth *oauth);
/** CODE: the query with which the browser came back ("code=...&state=..."). */
void sma_oauth_came(struct sma_oauth *oauth, struct sma_str query);
const char *sma_oauth_why(const struct sma_oauth *oauth);
/** DONE: moves it out. */
void sma_oauth_take_token(struct sma_oauth *oauth, struct sma_oauth_token *ret_token);

#endif
