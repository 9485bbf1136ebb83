/*
 * oauth_token.c — what is kept of a login, as JSON.
 */
#include "oauth.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stddef.h>
#include <stdlib.h>

static const struct
{
    const char *name;
    size_t place;
    bool is_needed;
} members[] = {
    {"server_url", offsetof(struct sma_oauth_token, server_url), true},
    {"resource", offsetof(struct sma_oauth_token, resource), false},
    {"issuer", offsetof(struct sma_oauth_token, issuer), false},
    {"token_endpoint", offsetof(struct sma_oauth_token, token_endpoint), false},
    {"client_id", offsetof(struct sma_oauth_token, client_id), false},
    {"client_secret", offsetof(struct sma_oauth_token, client_secret), false},
    {"token_endpoint_auth_method", offsetof(struct sma_oauth_token, method), false},
    {"access_token", offsetof(struct sma_oauth_token, access_token), true},
    {"refresh_token", offsetof(struct sma_oauth_token, refresh_token), false},
    {"scope", offsetof(struct sma_oauth_token, scope), false},
};

enum sma_err sma_oauth_token_format(const struct sma_oauth_token *token, struct sma_buf *buf)
{
    sma_buf_put_char(buf, '{');
    for (size_t i = 0; i < SMA_COUNT_OF(members); i++) {
        const char *const *text =
            (const char *const *)(const void *)((const char *)token + members[i].place);
        if (*text != NULL)
            sma_buf_put_json_member(buf, members[i].name, sma_str(*text));
    }
    sma_buf_put_json_number(buf, "expires_at_ms", (uint64_t)token->expires_ms);
    sma_buf_put_text(buf, "}\n");
    return buf->err;
}

enum sma_err sma_oauth_token_parse(struct sma_str text, struct sma_oauth_token *ret_token)
{
    json_t *root = NULL;
    struct sma_oauth_token token = {.expires_ms = 0};
    SMA_TRY(sma_json_load(text, &root));
    enum sma_err err = json_is_object(root) ? SMA_ERR_OK : SMA_ERR_BADINPUT;
    for (size_t i = 0; i < SMA_COUNT_OF(members) && err == SMA_ERR_OK; i++) {
        const char *value = json_string_value(sma_json_get(root, members[i].name));
        char **into = (char **)(void *)((char *)&token + members[i].place);
        if (value == NULL)
            err = members[i].is_needed ? SMA_ERR_BADINPUT : SMA_ERR_OK;
        else if ((*into = strdup(value)) == NULL)
            err = SMA_ERR_NOMEM;
    }
    token.expires_ms = sma_json_int(root, "expires_at_ms", 0, INT64_MAX, 0);
    json_decref(root);
    for (const char *at = err == SMA_ERR_OK ? token.access_token : ""; *at != '\0'; at++)
        if (*at < 0x21 || *at > 0x7e)
            err = SMA_ERR_BADINPUT; /* it goes into a header */
    if (err == SMA_ERR_OK)
        *ret_token = token;
    else
        sma_oauth_token_fini(&token);
    return err;
}
