/*
 * oauth_grant.c — the client, and each way to a token.
 */
#include "oauth_priv.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <openssl/evp.h>
#include <stdlib.h>

#define FORM "Content-Type: application/x-www-form-urlencoded"
#define DEVICE_GRANT "urn:ietf:params:oauth:grant-type:device_code"
#define INTERVAL_MS_MAX 60000
#define DEVICE_MS_MAX (30 * 60 * 1000)

/* What an error of OAuth says, for people. */
static void fail_with(struct sma_oauth *oauth, const char *what, int status, struct sma_str body)
{
    json_t *root = NULL;
    const char *error = NULL, *text = NULL;
    if (body.len > 0 && sma_json_load(body, &root) == SMA_ERR_OK) {
        error = json_string_value(sma_json_get(root, "error"));
        text = json_string_value(sma_json_get(root, "error_description"));
    }
    if (status == 0)
        oauth_fail(oauth, "its authorization server cannot be reached");
    else
        oauth_fail(oauth, "%s was refused (HTTP status %d%s%.80s%s%.150s)", what, status,
                   error == NULL ? "" : ": ", error == NULL ? "" : error, text == NULL ? "" : ": ",
                   text == NULL ? "" : text);
    json_decref(root);
}

/* -- how the client proves itself -------------------------------------------------------------- */
static const char *choose_method(const struct sma_oauth *oauth)
{
    const struct sma_oauth_token *token = &oauth->token;
    if (token->client_secret == NULL || token->client_secret[0] == '\0')
        return "none";
    if (token->method != NULL && strcmp(token->method, "none") != 0)
        return token->method;
    return oauth->has_methods && !oauth->has_basic && oauth->has_post ? "client_secret_post"
                                                                      : "client_secret_basic";
}

/* Into the body, or the header Authorization. */
static void put_client(struct sma_oauth *oauth)
{
    struct sma_oauth_token *token = &oauth->token;
    oauth_set(oauth, &token->method, sma_str(choose_method(oauth)));
    sma_buf_clear(&oauth->authorization);
    if (oauth->step == SMA_OAUTH_FAILED)
        return;
    if (strcmp(token->method, "client_secret_basic") != 0) {
        oauth_put_form(&oauth->body, "client_id", token->client_id);
        if (strcmp(token->method, "client_secret_post") == 0)
            oauth_put_form(&oauth->body, "client_secret", token->client_secret);
        return;
    }
    struct sma_buf id, secret, both;
    sma_buf_init(&id, 8192);
    sma_buf_init(&secret, 8192);
    sma_buf_init(&both, 16384);
    oauth_put_form(&id, "", token->client_id); /* encoded behind a '=' */
    oauth_put_form(&secret, "", token->client_secret);
    if (id.len > 0 && secret.len > 0)
        sma_buf_printf(&both, "%s:%s", id.ptr + 1, secret.ptr + 1);
    sma_buf_put_text(&oauth->authorization, "Authorization: Basic ");
    sma_mcp_put_base64(&oauth->authorization, sma_buf_str(&both));
    sma_buf_fini(&id);
    sma_buf_fini(&secret);
    sma_buf_fini(&both);
}

/* -- a client ---------------------------------------------------------------------------------- */
static void ask_registration(struct sma_oauth *oauth)
{
    bool is_device = oauth->grant == SMA_OAUTH_DEVICE;
    const char *method = oauth->has_basic && oauth->has_methods  ? "client_secret_basic"
                         : oauth->has_post && oauth->has_methods ? "client_secret_post"
                                                                 : "none";
    json_t *body =
        json_pack("{s:s,s:s,s:[s,s],s:s}", "client_name", "ShipMyAgent", "application_type",
                  "native", "grant_types", is_device ? DEVICE_GRANT : "authorization_code",
                  "refresh_token", "token_endpoint_auth_method", method);
    if (body != NULL && !is_device) {
        (void)json_object_set_new(body, "redirect_uris", json_pack("[s]", oauth->redirect_uri));
        (void)json_object_set_new(body, "response_types", json_pack("[s]", "code"));
    }
    char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);
    json_decref(body);
    sma_buf_clear(&oauth->body);
    sma_buf_clear(&oauth->authorization);
    sma_buf_put_text(&oauth->body, text == NULL ? "" : text);
    free(text);
    oauth->at = OAUTH_REGISTER;
    oauth_post(oauth, oauth->registration, "Content-Type: application/json");
}

static void begin_code(struct sma_oauth *oauth);
static void ask_device(struct sma_oauth *oauth);

static void begin_with_client(struct sma_oauth *oauth)
{
    if (oauth->grant == SMA_OAUTH_CODE)
        begin_code(oauth);
    else if (oauth->grant == SMA_OAUTH_DEVICE)
        ask_device(oauth);
    else
        oauth_ask_token(oauth);
}

void oauth_begin_grant(struct sma_oauth *oauth)
{
    bool is_known = oauth->token.client_id != NULL &&
                    (oauth->has_own_client ||
                     (oauth->known_issuer != NULL &&
                      oauth_is_same_issuer(sma_str(oauth->known_issuer), sma_str(oauth->issuer))));
    oauth_set(oauth, &oauth->token.issuer, sma_str(oauth->issuer));
    if (oauth->token.resource == NULL) /* no metadata says how it calls itself */
        oauth_set(oauth, &oauth->token.resource, sma_str(oauth->server_url));
    if (oauth->step == SMA_OAUTH_FAILED)
        return;
    if (oauth->grant == SMA_OAUTH_DEVICE && oauth->device == NULL)
        oauth_fail(oauth, "its authorization server gives no codes for other devices; log in "
                          "without --device");
    else if (oauth->grant == SMA_OAUTH_CODE && oauth->authorize == NULL)
        oauth_fail(oauth, "its authorization server names no authorization_endpoint");
    else if (is_known)
        begin_with_client(oauth);
    else if (oauth->grant == SMA_OAUTH_CREDENTIALS)
        oauth_fail(oauth, "it wants a client: write oauth.clientId and oauth.clientSecret into "
                          "mcp.json");
    else if (oauth->registration == NULL)
        oauth_fail(oauth, "its authorization server registers nobody by itself: write "
                          "oauth.clientId (and oauth.clientSecret) into mcp.json");
    else
        ask_registration(oauth);
}

void oauth_on_registered(struct sma_oauth *oauth, int status, struct sma_str body)
{
    json_t *root = NULL;
    struct sma_oauth_token *token = &oauth->token;
    bool is_good = (status == 200 || status == 201) && sma_json_load(body, &root) == SMA_ERR_OK;
    struct sma_str id = sma_json_str(root, "client_id");
    struct sma_str secret = sma_json_str(root, "client_secret");
    struct sma_str method = sma_json_str(root, "token_endpoint_auth_method");
    if (!is_good || id.len == 0) {
        fail_with(oauth, "the registration of a client", status, body);
    } else {
        oauth_set(oauth, &token->client_id, id);
        free(token->client_secret);
        token->client_secret = NULL;
        if (secret.len > 0)
            oauth_set(oauth, &token->client_secret, secret);
        if (method.len > 0)
            oauth_set(oauth, &token->method, method);
        if (oauth->step != SMA_OAUTH_FAILED)
            begin_with_client(oauth);
    }
    json_decref(root);
}

/* -- a code, by a browser here ----------------------------------------------------------------- */
static void put_challenge(struct sma_buf *buf, const char *verifier)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    struct sma_buf text;
    sma_buf_init(&text, 256);
    if (EVP_Digest(verifier, strlen(verifier), digest, &len, EVP_sha256(), NULL) == 1)
        sma_mcp_put_base64(&text, (struct sma_str){(const char *)digest, len});
    else
        buf->err = SMA_ERR_NOMEM;
    for (size_t i = 0; i < text.len && text.ptr[i] != '='; i++)
        text.ptr[i] = text.ptr[i] == '+' ? '-' : text.ptr[i] == '/' ? '_' : text.ptr[i];
    while (text.len > 0 && text.ptr[text.len - 1] == '=')
        text.ptr[--text.len] = '\0';
    if (text.len > 0)
        oauth_put_form(buf, "code_challenge", text.ptr);
    sma_buf_fini(&text);
}

static void begin_code(struct sma_oauth *oauth)
{
    struct sma_buf url;
    sma_buf_init(&url, SMA_MCP_URL_BYTES_MAX * 4);
    sma_buf_put_text(&url, oauth->authorize);
    if (strchr(oauth->authorize, '?') == NULL)
        sma_buf_put_char(&url, '?');
    oauth_put_form(&url, "response_type", "code");
    oauth_put_form(&url, "client_id", oauth->token.client_id);
    oauth_put_form(&url, "redirect_uri", oauth->redirect_uri);
    put_challenge(&url, oauth->verifier);
    oauth_put_form(&url, "code_challenge_method", "S256");
    oauth_put_form(&url, "state", oauth->state);
    oauth_put_form(&url, "resource", oauth->token.resource);
    oauth_put_form(&url, "scope", oauth->asked_scope);
    if (url.err != SMA_ERR_OK)
        oauth_fail(oauth, "out of memory");
    else
        oauth_set(oauth, &oauth->url, sma_buf_str(&url));
    sma_buf_fini(&url);
    if (oauth->step == SMA_OAUTH_FAILED)
        return;
    oauth->at = OAUTH_PERSON;
    oauth->step = SMA_OAUTH_PERSON;
}

/* -- a code, by another device ----------------------------------------------------------------- */
static void ask_device(struct sma_oauth *oauth)
{
    sma_buf_clear(&oauth->body);
    put_client(oauth);
    oauth_put_form(&oauth->body, "scope", oauth->asked_scope);
    oauth_put_form(&oauth->body, "resource", oauth->token.resource);
    oauth->at = OAUTH_DEVICE;
    oauth_post(oauth, oauth->device, FORM);
}

void oauth_on_device(struct sma_oauth *oauth, int status, struct sma_str body, int64_t now_ms)
{
    json_t *root = NULL;
    bool is_good = status == 200 && sma_json_load(body, &root) == SMA_ERR_OK;
    struct sma_str code = sma_json_str(root, "device_code");
    struct sma_str user_code = sma_json_str(root, "user_code");
    struct sma_str url = sma_json_str(root, "verification_uri");
    if (!is_good || code.len == 0 || user_code.len == 0 || url.len == 0) {
        fail_with(oauth, "a code for another device", status, body);
        json_decref(root);
        return;
    }
    int64_t until_s = sma_json_int(root, "expires_in", 1, DEVICE_MS_MAX / 1000, 600);
    oauth->interval_ms = (uint32_t)sma_json_int(root, "interval", 1, 60, 5) * 1000;
    oauth->device_until_ms = now_ms + until_s * 1000;
    oauth_set(oauth, &oauth->device_code, code);
    oauth_set(oauth, &oauth->user_code, user_code);
    oauth_set(oauth, &oauth->url, url);
    json_decref(root);
    if (oauth->step != SMA_OAUTH_FAILED)
        oauth_ask_token(oauth);
}

/* @return was it "not yet"? */
static bool waits_on(struct sma_oauth *oauth, const json_t *root, int64_t now_ms)
{
    struct sma_str error = sma_json_str(root, "error");
    bool is_slow = sma_str_is_equal(error, SMA_STR("slow_down"));
    if (oauth->grant != SMA_OAUTH_DEVICE ||
        (!is_slow && !sma_str_is_equal(error, SMA_STR("authorization_pending"))))
        return false;
    if (is_slow && oauth->interval_ms < INTERVAL_MS_MAX)
        oauth->interval_ms += 5000;
    oauth->asked_count = 0; /* device_until_ms bounds it */
    if (now_ms >= oauth->device_until_ms)
        oauth_fail(oauth, "nobody entered the code in time");
    else
        oauth_ask_token(oauth);
    return true;
}

/* -- tokens ------------------------------------------------------------------------------------ */
void oauth_ask_token(struct sma_oauth *oauth)
{
    static const char *const grants[] = {[SMA_OAUTH_CODE] = "authorization_code",
                                         [SMA_OAUTH_DEVICE] = DEVICE_GRANT,
                                         [SMA_OAUTH_CREDENTIALS] = "client_credentials",
                                         [SMA_OAUTH_REFRESH] = "refresh_token"};
    sma_buf_clear(&oauth->body);
    oauth_put_form(&oauth->body, "grant_type", grants[oauth->grant]);
    if (oauth->grant == SMA_OAUTH_CODE) {
        oauth_put_form(&oauth->body, "code", oauth->code);
        oauth_put_form(&oauth->body, "redirect_uri", oauth->redirect_uri);
        oauth_put_form(&oauth->body, "code_verifier", oauth->verifier);
    } else if (oauth->grant == SMA_OAUTH_DEVICE) {
        oauth_put_form(&oauth->body, "device_code", oauth->device_code);
    } else if (oauth->grant == SMA_OAUTH_REFRESH) {
        oauth_put_form(&oauth->body, "refresh_token", oauth->token.refresh_token);
    } else {
        oauth_put_form(&oauth->body, "scope", oauth->asked_scope);
    }
    put_client(oauth);
    oauth_put_form(&oauth->body, "resource", oauth->token.resource);
    oauth->at = OAUTH_TOKEN;
    if (oauth_may_ask(oauth, oauth->token.token_endpoint, "token_endpoint"))
        oauth_post(oauth, oauth->token.token_endpoint, FORM);
    oauth->ask.wait_ms = oauth->grant == SMA_OAUTH_DEVICE ? oauth->interval_ms : 0;
}

static bool is_header_text(struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < 0x21 || text.ptr[i] > 0x7e)
            return false;
    return text.len > 0 && text.len <= 12000;
}

void oauth_on_token(struct sma_oauth *oauth, int status, struct sma_str body, int64_t now_ms)
{
    json_t *root = NULL;
    struct sma_oauth_token *token = &oauth->token;
    bool is_json = body.len > 0 && sma_json_load(body, &root) == SMA_ERR_OK;
    struct sma_str access = sma_json_str(root, "access_token");
    struct sma_str refresh = sma_json_str(root, "refresh_token");
    struct sma_str scope = sma_json_str(root, "scope");
    if (is_json && status != 200 && waits_on(oauth, root, now_ms)) {
        json_decref(root);
        return;
    }
    if (!is_json || status != 200 || !is_header_text(access)) {
        fail_with(oauth, "a token", status, body);
    } else {
        int64_t lasts_s = sma_json_int(root, "expires_in", 1, INT32_MAX, 0);
        oauth_set(oauth, &token->access_token, access);
        if (refresh.len > 0)
            oauth_set(oauth, &token->refresh_token, refresh);
        if (scope.len > 0)
            oauth_set(oauth, &token->scope, scope);
        token->expires_ms = lasts_s == 0 ? 0 : now_ms + lasts_s * 1000;
        oauth->at = OAUTH_END;
        if (oauth->step != SMA_OAUTH_FAILED)
            oauth->step = SMA_OAUTH_DONE;
    }
    json_decref(root);
}
