/*
 * oauth_priv.h — the state of a way to a token among its files.
 */
#ifndef SMA_RUNTIME_MCP_OAUTH_PRIV_H
#define SMA_RUNTIME_MCP_OAUTH_PRIV_H

#include "oauth.h"

#define OAUTH_PLACE_COUNT_MAX 4

enum oauth_at
{
    OAUTH_RESOURCE, /* the server's metadata */
    OAUTH_SERVER,   /* the authorization server's */
    OAUTH_REGISTER,
    OAUTH_PERSON,
    OAUTH_DEVICE, /* a code for another device */
    OAUTH_TOKEN,
    OAUTH_END,
};

struct sma_oauth
{
    enum sma_oauth_grant grant;
    enum sma_oauth_step step;
    enum oauth_at at;
    char why[512];
    char *server_url, *redirect_uri, *known_issuer;
    char *asked_scope; /* of mcp.json or of the challenge */
    bool has_own_client;
    char *issuer, *authorize, *registration, *device;
    bool tells_issuer;                     /* answers of the browser name it */
    bool has_basic, has_post, has_methods; /* how it lets clients prove themselves */
    struct sma_oauth_token token;
    char verifier[64], state[48];
    char *places[OAUTH_PLACE_COUNT_MAX]; /* where metadata may be, in order */
    size_t place_count, place;
    char *code, *device_code, *url, *user_code;
    uint32_t interval_ms;
    int64_t device_until_ms;
    unsigned asked_count;
    struct sma_oauth_ask ask;
    struct sma_buf body, authorization, ask_url;
};

/* -- oauth.c ----------------------------------------------------------------------------------- */
void oauth_fail(struct sma_oauth *oauth, const char *format, ...) SMA_PRINTF(2, 3);
/** *into becomes a copy; out of memory fails. */
void oauth_set(struct sma_oauth *oauth, char **into, struct sma_str text);
/** GET this, or POST `body` as it stands. */
void oauth_get(struct sma_oauth *oauth, const char *url);
void oauth_post(struct sma_oauth *oauth, const char *url, const char *type);
/** May this address, which a server names, be asked? Else fails. */
bool oauth_may_ask(struct sma_oauth *oauth, const char *url, const char *what);
void oauth_put_form(struct sma_buf *buf, const char *name, const char *value);

/* -- oauth_discover.c -------------------------------------------------------------------------- */
void oauth_discover(struct sma_oauth *oauth, const struct sma_mcp_challenge *challenge);
void oauth_on_metadata(struct sma_oauth *oauth, int status, struct sma_str body);

/* -- oauth_grant.c ----------------------------------------------------------------------------- */
/** Everything is known of the servers: a client, then the grant. */
void oauth_begin_grant(struct sma_oauth *oauth);
void oauth_on_registered(struct sma_oauth *oauth, int status, struct sma_str body);
void oauth_on_device(struct sma_oauth *oauth, int status, struct sma_str body, int64_t now_ms);
void oauth_ask_token(struct sma_oauth *oauth);
void oauth_on_token(struct sma_oauth *oauth, int status, struct sma_str body, int64_t now_ms);

/** "https://a/x" and "https://a/x/" are one issuer. */
bool oauth_is_same_issuer(struct sma_str a, struct sma_str b);

#endif
