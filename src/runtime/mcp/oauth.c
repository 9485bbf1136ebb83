/*
 * oauth.c — a way to a token: its state, what it asks, what comes back. See oauth.h.
 */
#include "oauth_priv.h"

#include "origin.h"
#include "sma/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BODY_BYTES_MAX 65536

/* -- texts ------------------------------------------------------------------------------------- */
void oauth_fail(struct sma_oauth *oauth, const char *format, ...)
{
    if (oauth->step == SMA_OAUTH_FAILED)
        return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(oauth->why, sizeof oauth->why, format, arguments); /* cut: as well */
    va_end(arguments);
    oauth->step = SMA_OAUTH_FAILED;
    oauth->at = OAUTH_END;
}

void oauth_set(struct sma_oauth *oauth, char **into, struct sma_str text)
{
    char *copy = strndup(text.len == 0 ? "" : text.ptr, text.len);
    if (copy == NULL)
        oauth_fail(oauth, "out of memory");
    free(*into);
    *into = copy;
}

static void wipe(char **text)
{
    if (*text != NULL)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

/* base64url without padding, from base64. */
static void put_random(char *into, size_t size, const uint8_t *bytes, size_t len)
{
    struct sma_buf text;
    sma_buf_init(&text, 256);
    sma_mcp_put_base64(&text, (struct sma_str){(const char *)bytes, len});
    size_t at = 0;
    for (size_t i = 0; i < text.len && at + 1 < size && text.ptr[i] != '='; i++)
        into[at++] = text.ptr[i] == '+' ? '-' : text.ptr[i] == '/' ? '_' : text.ptr[i];
    into[at] = '\0';
    sma_buf_fini(&text);
}

/* -- life -------------------------------------------------------------------------------------- */
static void set_from(struct sma_oauth *oauth, char **into, const char *text)
{
    if (text != NULL && text[0] != '\0')
        oauth_set(oauth, into, sma_str(text));
}

/* A client that was registered at the issuer before is used again. */
static void take_known(struct sma_oauth *oauth, const struct sma_oauth_token *known)
{
    struct sma_oauth_token *token = &oauth->token;
    if (known == NULL)
        return;
    set_from(oauth, &oauth->known_issuer, known->issuer);
    set_from(oauth, &token->resource, known->resource);
    set_from(oauth, &token->token_endpoint, known->token_endpoint);
    set_from(oauth, &token->refresh_token, known->refresh_token);
    set_from(oauth, &token->scope, known->scope);
    set_from(oauth, &token->method, known->method);
    if (!oauth->has_own_client) {
        set_from(oauth, &token->client_id, known->client_id);
        set_from(oauth, &token->client_secret, known->client_secret);
    }
}

static void begin(struct sma_oauth *oauth, const struct sma_oauth_options *options)
{
    const struct sma_mcp_challenge *challenge = options->challenge;
    oauth->grant = options->grant;
    oauth->has_own_client = options->client_id != NULL && options->client_id[0] != '\0';
    set_from(oauth, &oauth->server_url, options->server_url);
    set_from(oauth, &oauth->token.server_url, options->server_url);
    set_from(oauth, &oauth->redirect_uri, options->redirect_uri);
    set_from(oauth, &oauth->token.client_id, options->client_id);
    set_from(oauth, &oauth->token.client_secret, options->client_secret);
    set_from(oauth, &oauth->asked_scope, challenge == NULL ? NULL : challenge->scope);
    set_from(oauth, &oauth->asked_scope, options->scope);
    take_known(oauth, options->known);
    put_random(oauth->verifier, sizeof oauth->verifier, options->random, 40);
    put_random(oauth->state, sizeof oauth->state, options->random + 40, 24);
    if (options->grant != SMA_OAUTH_REFRESH) {
        oauth_discover(oauth, challenge);
        return;
    }
    set_from(oauth, &oauth->issuer, oauth->known_issuer);
    if (oauth->token.refresh_token == NULL || oauth->token.token_endpoint == NULL)
        oauth_fail(oauth, "there is no refresh token");
    else
        oauth_ask_token(oauth);
}

struct sma_oauth *sma_oauth_create(const struct sma_oauth_options *options)
{
    struct sma_oauth *oauth = calloc(1, sizeof *oauth);
    if (oauth == NULL)
        return NULL;
    sma_buf_init(&oauth->body, BODY_BYTES_MAX);
    sma_buf_init(&oauth->authorization, BODY_BYTES_MAX);
    sma_buf_init(&oauth->ask_url, BODY_BYTES_MAX);
    begin(oauth, options);
    return oauth;
}

void sma_oauth_token_fini(struct sma_oauth_token *token)
{
    char **texts[] = {&token->server_url, &token->resource,     &token->token_endpoint,
                      &token->issuer,     &token->client_id,    &token->client_secret,
                      &token->method,     &token->access_token, &token->refresh_token,
                      &token->scope};
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        wipe(texts[i]);
    token->expires_ms = 0;
}

void sma_oauth_destroy(struct sma_oauth *oauth)
{
    if (oauth == NULL)
        return;
    char **texts[] = {&oauth->server_url,   &oauth->redirect_uri, &oauth->known_issuer,
                      &oauth->asked_scope,  &oauth->issuer,       &oauth->authorize,
                      &oauth->registration, &oauth->device,       &oauth->code,
                      &oauth->device_code,  &oauth->url,          &oauth->user_code};
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        wipe(texts[i]);
    for (size_t i = 0; i < OAUTH_PLACE_COUNT_MAX; i++)
        wipe(&oauth->places[i]);
    sma_oauth_token_fini(&oauth->token);
    struct sma_buf *bufs[] = {&oauth->body, &oauth->authorization, &oauth->ask_url};
    for (size_t i = 0; i < SMA_COUNT_OF(bufs); i++) {
        if (bufs[i]->ptr != NULL)
            explicit_bzero(bufs[i]->ptr, bufs[i]->cap);
        sma_buf_fini(bufs[i]);
    }
    explicit_bzero(oauth, sizeof *oauth);
    free(oauth);
}

/* -- asking ------------------------------------------------------------------------------------ */
bool oauth_may_ask(struct sma_oauth *oauth, const char *url, const char *what)
{
    struct sma_buf read;
    sma_buf_init(&read, SMA_MCP_URL_BYTES_MAX * 2);
    enum sma_err err = sma_mcp_url_join(&read, oauth->server_url, sma_str(url));
    bool is_good =
        err == SMA_ERR_OK &&
        (strncmp(read.ptr, "https://", 8) == 0 ||
         (sma_mcp_url_is_loopback(read.ptr) && sma_mcp_url_is_loopback(oauth->server_url)));
    sma_buf_fini(&read);
    if (!is_good)
        oauth_fail(oauth, "%s is at an address that is not asked: only https is", what);
    return is_good;
}

static void begin_ask(struct sma_oauth *oauth, const char *method, const char *url)
{
    sma_buf_clear(&oauth->ask_url);
    sma_buf_put_text(&oauth->ask_url, url);
    if (oauth->ask_url.err != SMA_ERR_OK || ++oauth->asked_count > SMA_OAUTH_ASK_COUNT_MAX) {
        oauth_fail(oauth, "it takes too many questions");
        return;
    }
    oauth->ask = (struct sma_oauth_ask){.method = method,
                                        .url = oauth->ask_url.ptr,
                                        .headers = {"Accept: application/json"},
                                        .header_count = 1};
    if (oauth->step != SMA_OAUTH_FAILED)
        oauth->step = SMA_OAUTH_ASK;
}

void oauth_get(struct sma_oauth *oauth, const char *url)
{
    begin_ask(oauth, "GET", url);
}

void oauth_post(struct sma_oauth *oauth, const char *url, const char *type)
{
    if (oauth->body.err != SMA_ERR_OK || oauth->authorization.err != SMA_ERR_OK)
        oauth_fail(oauth, "out of memory");
    begin_ask(oauth, "POST", url);
    oauth->ask.headers[oauth->ask.header_count++] = type;
    if (oauth->authorization.len > 0)
        oauth->ask.headers[oauth->ask.header_count++] = oauth->authorization.ptr;
    oauth->ask.body = sma_buf_str(&oauth->body);
}

static void put_encoded(struct sma_buf *buf, const char *text)
{
    for (; *text != '\0'; text++) {
        char c = *text;
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            strchr("-._~", c) != NULL)
            sma_buf_put_char(buf, c);
        else
            sma_buf_printf(buf, "%%%02X", (unsigned char)c);
    }
}

void oauth_put_form(struct sma_buf *buf, const char *name, const char *value)
{
    if (value == NULL)
        return;
    char last = buf->len == 0 ? '\0' : buf->ptr[buf->len - 1];
    sma_buf_printf(buf, "%s%s=", last == '\0' || last == '?' ? "" : "&", name);
    put_encoded(buf, value);
}

/* -- outside ----------------------------------------------------------------------------------- */
enum sma_oauth_step sma_oauth_step(const struct sma_oauth *oauth)
{
    return oauth->step;
}

const struct sma_oauth_ask *sma_oauth_ask(const struct sma_oauth *oauth)
{
    SMA_ASSERT(oauth->step == SMA_OAUTH_ASK);
    return &oauth->ask;
}

void sma_oauth_answer(struct sma_oauth *oauth, int status, struct sma_str body, int64_t now_ms)
{
    SMA_ASSERT(oauth->step == SMA_OAUTH_ASK);
    switch (oauth->at) {
    case OAUTH_RESOURCE:
    case OAUTH_SERVER:
        oauth_on_metadata(oauth, status, body);
        break;
    case OAUTH_REGISTER:
        oauth_on_registered(oauth, status, body);
        break;
    case OAUTH_DEVICE:
        oauth_on_device(oauth, status, body, now_ms);
        break;
    case OAUTH_TOKEN:
        oauth_on_token(oauth, status, body, now_ms);
        break;
    case OAUTH_PERSON:
    case OAUTH_END:
        break;
    }
}

const char *sma_oauth_url(const struct sma_oauth *oauth)
{
    return oauth->url == NULL ? "" : oauth->url;
}

const char *sma_oauth_user_code(const struct sma_oauth *oauth)
{
    return oauth->user_code == NULL ? "" : oauth->user_code;
}

const char *sma_oauth_why(const struct sma_oauth *oauth)
{
    return oauth->why;
}

void sma_oauth_take_token(struct sma_oauth *oauth, struct sma_oauth_token *ret_token)
{
    SMA_ASSERT(oauth->step == SMA_OAUTH_DONE);
    *ret_token = oauth->token;
    oauth->token = (struct sma_oauth_token){.expires_ms = 0};
}

/* -- the way back from the browser ------------------------------------------------------------- */
static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The value of a name in a query, decoded; false: it is not there. */
static bool find_value(struct sma_str query, const char *name, char *into, size_t size)
{
    size_t name_len = strlen(name);
    for (size_t at = 0; at < query.len;) {
        const char *begin = query.ptr + at;
        const char *end = memchr(begin, '&', query.len - at);
        size_t len = end == NULL ? query.len - at : (size_t)(end - begin), out = 0;
        at += len + 1;
        if (len <= name_len || strncmp(begin, name, name_len) != 0 || begin[name_len] != '=')
            continue;
        for (size_t i = name_len + 1; i < len && out + 1 < size; i++) {
            int high = begin[i] == '%' && i + 2 < len + 1 ? hex(begin[i + 1]) : -1;
            int low = high >= 0 && i + 2 < len ? hex(begin[i + 2]) : -1;
            into[out++] = low >= 0 ? (char)(high * 16 + low) : begin[i] == '+' ? ' ' : begin[i];
            i += low >= 0 ? 2 : 0;
        }
        into[out] = '\0';
        return true;
    }
    return false;
}

void sma_oauth_came(struct sma_oauth *oauth, struct sma_str query)
{
    char state[128] = "", issuer[SMA_MCP_URL_BYTES_MAX + 1] = "", code[4096] = "", error[256] = "";
    SMA_ASSERT(oauth->step == SMA_OAUTH_PERSON);
    if (!find_value(query, "state", state, sizeof state) || strcmp(state, oauth->state) != 0) {
        oauth_fail(oauth, "the browser came back with another state than it was sent with");
        return;
    }
    bool has_issuer = find_value(query, "iss", issuer, sizeof issuer);
    if ((has_issuer || oauth->tells_issuer) &&
        !oauth_is_same_issuer(sma_str(issuer), sma_str(oauth->issuer))) {
        oauth_fail(oauth, "the browser came back from another authorization server (iss)");
        return;
    }
    if (find_value(query, "error", error, sizeof error)) {
        oauth_fail(oauth, "the login was refused: %.100s", error);
        return;
    }
    if (!find_value(query, "code", code, sizeof code) || code[0] == '\0') {
        oauth_fail(oauth, "the browser came back without a code");
        return;
    }
    oauth_set(oauth, &oauth->code, sma_str(code));
    explicit_bzero(code, sizeof code);
    oauth_ask_token(oauth);
}
