/*
 * oauth_discover.c — who gives tokens for a server, and how: RFC 9728, RFC 8414, OpenID's places.
 */
#include "oauth_priv.h"

#include "origin.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdlib.h>

/* -- places ------------------------------------------------------------------------------------ */
static void clear_places(struct sma_oauth *oauth)
{
    for (size_t i = 0; i < OAUTH_PLACE_COUNT_MAX; i++) {
        free(oauth->places[i]);
        oauth->places[i] = NULL;
    }
    oauth->place_count = oauth->place = 0;
}

/* origin, a middle, the path of `url`: where there is no path, one place is two. */
static void add_place(struct sma_oauth *oauth, const char *url, bool has_path_first,
                      const char *middle, bool has_path)
{
    struct sma_buf text;
    sma_buf_init(&text, SMA_MCP_URL_BYTES_MAX * 2);
    enum sma_err err = sma_mcp_url_put_origin(&text, url);
    if (err == SMA_ERR_OK && has_path_first)
        err = sma_mcp_url_put_path(&text, url);
    while (text.len > 0 && text.ptr[text.len - 1] == '/')
        text.ptr[--text.len] = '\0';
    sma_buf_put_text(&text, middle);
    if (err == SMA_ERR_OK && has_path)
        err = sma_mcp_url_put_path(&text, url);
    while (text.len > 0 && text.ptr[text.len - 1] == '/') /* RFC 8414 §3.1: before it is put in */
        text.ptr[--text.len] = '\0';
    bool is_new =
        err == SMA_ERR_OK && text.err == SMA_ERR_OK && oauth->place_count < OAUTH_PLACE_COUNT_MAX;
    for (size_t i = 0; is_new && i < oauth->place_count; i++)
        is_new = strcmp(oauth->places[i], text.ptr) != 0;
    if (is_new)
        oauth->places[oauth->place_count++] = sma_buf_take(&text);
    sma_buf_fini(&text);
}

/* @return false: there is none left */
static bool ask_place(struct sma_oauth *oauth)
{
    if (oauth->place >= oauth->place_count || oauth->places[oauth->place] == NULL)
        return false;
    oauth_get(oauth, oauth->places[oauth->place++]);
    return true;
}

void oauth_discover(struct sma_oauth *oauth, const struct sma_mcp_challenge *challenge)
{
    oauth->at = OAUTH_RESOURCE;
    if (challenge != NULL && challenge->resource_metadata[0] != '\0') {
        struct sma_buf url;
        sma_buf_init(&url, SMA_MCP_URL_BYTES_MAX * 2);
        if (sma_mcp_url_join(&url, oauth->server_url, sma_str(challenge->resource_metadata)) !=
            SMA_ERR_OK)
            oauth_fail(oauth, "the address of its metadata cannot be read");
        else if (oauth_may_ask(oauth, url.ptr, "its metadata"))
            oauth->places[oauth->place_count++] = sma_buf_take(&url);
        sma_buf_fini(&url);
    } else {
        add_place(oauth, oauth->server_url, false, "/.well-known/oauth-protected-resource", true);
        add_place(oauth, oauth->server_url, false, "/.well-known/oauth-protected-resource", false);
    }
    if (oauth->step != SMA_OAUTH_FAILED && !ask_place(oauth))
        oauth_fail(oauth, "its url cannot be read");
}

/* -- the authorization server ------------------------------------------------------------------ */
static void ask_server(struct sma_oauth *oauth)
{
    clear_places(oauth);
    oauth->at = OAUTH_SERVER;
    if (!oauth_may_ask(oauth, oauth->issuer, "its authorization server"))
        return;
    add_place(oauth, oauth->issuer, false, "/.well-known/oauth-authorization-server", true);
    add_place(oauth, oauth->issuer, false, "/.well-known/openid-configuration", true);
    add_place(oauth, oauth->issuer, true, "/.well-known/openid-configuration", false);
    if (!ask_place(oauth))
        oauth_fail(oauth, "the address of its authorization server cannot be read");
}

/* Is the server's address the resource, or below it? */
static bool is_of(const char *resource, const char *url)
{
    struct sma_buf above, below;
    sma_buf_init(&above, SMA_MCP_URL_BYTES_MAX * 2);
    sma_buf_init(&below, SMA_MCP_URL_BYTES_MAX * 2);
    sma_buf_put_text(&above, "");
    sma_buf_put_text(&below, "");
    bool is_below = sma_mcp_url_is_same_origin(resource, url) &&
                    sma_mcp_url_put_path(&above, resource) == SMA_ERR_OK &&
                    sma_mcp_url_put_path(&below, url) == SMA_ERR_OK;
    if (is_below) {
        while (above.len > 0 && above.ptr[above.len - 1] == '/')
            above.len--;
        is_below = below.len >= above.len && strncmp(below.ptr, above.ptr, above.len) == 0 &&
                   (below.len == above.len || below.ptr[above.len] == '/');
    }
    sma_buf_fini(&above);
    sma_buf_fini(&below);
    return is_below;
}

static void join_scopes(struct sma_oauth *oauth, const json_t *scopes)
{
    struct sma_buf text;
    if (oauth->asked_scope != NULL || json_array_size(scopes) == 0)
        return;
    sma_buf_init(&text, 4096);
    for (size_t i = 0; i < json_array_size(scopes); i++) {
        const char *scope = json_string_value(json_array_get(scopes, i));
        if (scope != NULL)
            sma_buf_printf(&text, "%s%s", text.len == 0 ? "" : " ", scope);
    }
    if (text.err == SMA_ERR_OK && text.len > 0)
        oauth_set(oauth, &oauth->asked_scope, sma_buf_str(&text));
    sma_buf_fini(&text);
}

static void on_resource(struct sma_oauth *oauth, const json_t *root)
{
    const char *resource = json_string_value(sma_json_get(root, "resource"));
    const json_t *servers = sma_json_get(root, "authorization_servers");
    struct sma_str first = sma_json_str_of(json_array_get(servers, 0));
    if (resource == NULL || !is_of(resource, oauth->server_url)) {
        oauth_fail(oauth, "its metadata is of another server (%.200s)",
                   resource == NULL ? "none" : resource);
        return;
    }
    oauth_set(oauth, &oauth->token.resource, sma_str(resource));
    join_scopes(oauth, sma_json_get(root, "scopes_supported"));
    struct sma_buf origin;
    sma_buf_init(&origin, SMA_MCP_URL_BYTES_MAX * 2);
    if (first.len == 0 && sma_mcp_url_put_origin(&origin, oauth->server_url) == SMA_ERR_OK)
        first = sma_buf_str(&origin);
    oauth_set(oauth, &oauth->issuer, first);
    sma_buf_fini(&origin);
    if (oauth->step != SMA_OAUTH_FAILED)
        ask_server(oauth);
}

/* 2025-03-26: the server's own origin gives the tokens. */
static void be_without_resource(struct sma_oauth *oauth)
{
    struct sma_buf origin;
    sma_buf_init(&origin, SMA_MCP_URL_BYTES_MAX * 2);
    if (sma_mcp_url_put_origin(&origin, oauth->server_url) == SMA_ERR_OK) {
        oauth_set(oauth, &oauth->issuer, sma_buf_str(&origin));
        if (oauth->step != SMA_OAUTH_FAILED)
            ask_server(oauth);
    } else {
        oauth_fail(oauth, "its url cannot be read");
    }
    sma_buf_fini(&origin);
}

/* -- its metadata ------------------------------------------------------------------------------ */
static bool holds(const json_t *list, const char *wanted)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text != NULL && strcmp(text, wanted) == 0)
            return true;
    }
    return false;
}

static void set_endpoint(struct sma_oauth *oauth, char **into, const json_t *root,
                         const char *member)
{
    struct sma_str url = sma_json_str(root, member);
    if (url.len == 0)
        return;
    oauth_set(oauth, into, url);
    if (*into != NULL)
        (void)oauth_may_ask(oauth, *into, member); /* else it fails */
}

bool oauth_is_same_issuer(struct sma_str a, struct sma_str b)
{
    a.len -= a.len > 0 && a.ptr[a.len - 1] == '/';
    b.len -= b.len > 0 && b.ptr[b.len - 1] == '/';
    return sma_str_is_equal(a, b);
}

static void on_server(struct sma_oauth *oauth, const json_t *root)
{
    const json_t *methods = sma_json_get(root, "token_endpoint_auth_methods_supported");
    struct sma_str issuer = sma_json_str(root, "issuer");
    /* 2025-03-26: nobody named it, so it is whoever speaks for the server's own origin */
    bool is_unnamed = oauth->token.resource == NULL && issuer.len > 0 &&
                      sma_mcp_url_is_same_origin(issuer.ptr, oauth->issuer);
    if (!is_unnamed && !oauth_is_same_issuer(issuer, sma_str(oauth->issuer))) {
        oauth_fail(oauth, "the metadata of its authorization server names another issuer: %.150s",
                   issuer.len == 0 ? "none" : issuer.ptr);
        return;
    }
    oauth_set(oauth, &oauth->issuer, issuer);
    set_endpoint(oauth, &oauth->authorize, root, "authorization_endpoint");
    set_endpoint(oauth, &oauth->token.token_endpoint, root, "token_endpoint");
    set_endpoint(oauth, &oauth->registration, root, "registration_endpoint");
    set_endpoint(oauth, &oauth->device, root, "device_authorization_endpoint");
    oauth->has_methods = json_array_size(methods) > 0;
    oauth->has_basic = holds(methods, "client_secret_basic");
    oauth->has_post = holds(methods, "client_secret_post");
    oauth->tells_issuer =
        json_is_true(sma_json_get(root, "authorization_response_iss_parameter_supported"));
    bool has_s256 = holds(sma_json_get(root, "code_challenge_methods_supported"), "S256");
    if (oauth->token.token_endpoint == NULL)
        oauth_fail(oauth, "its authorization server names no token_endpoint");
    else if (oauth->grant == SMA_OAUTH_CODE && !has_s256)
        oauth_fail(oauth, "its authorization server does not say that it checks PKCE with S256");
    else
        oauth_begin_grant(oauth);
}

/* 2025-03-26: no metadata at all, so the usual places on its origin. */
static void be_without_server(struct sma_oauth *oauth)
{
    static const char *const names[] = {"/authorize", "/token", "/register"};
    char **into[] = {&oauth->authorize, &oauth->token.token_endpoint, &oauth->registration};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        struct sma_buf url;
        sma_buf_init(&url, SMA_MCP_URL_BYTES_MAX * 2);
        sma_buf_put_text(&url, oauth->issuer);
        sma_buf_put_text(&url, names[i]);
        if (url.err == SMA_ERR_OK)
            oauth_set(oauth, into[i], sma_buf_str(&url));
        sma_buf_fini(&url);
    }
    if (oauth->step != SMA_OAUTH_FAILED)
        oauth_begin_grant(oauth);
}

void oauth_on_metadata(struct sma_oauth *oauth, int status, struct sma_str body)
{
    json_t *root = NULL;
    bool is_good =
        status == 200 && sma_json_load(body, &root) == SMA_ERR_OK && json_is_object(root);
    if (is_good && oauth->at == OAUTH_RESOURCE)
        on_resource(oauth, root);
    else if (is_good)
        on_server(oauth, root);
    else if (status == 0 && oauth->at == OAUTH_SERVER)
        oauth_fail(oauth, "its authorization server cannot be reached");
    else if (ask_place(oauth))
        oauth->step = oauth->step == SMA_OAUTH_FAILED ? SMA_OAUTH_FAILED : SMA_OAUTH_ASK;
    else if (oauth->at == OAUTH_RESOURCE)
        be_without_resource(oauth);
    else if (oauth->token.resource == NULL)
        be_without_server(oauth);
    else
        oauth_fail(oauth, "its authorization server has no metadata");
    json_decref(root);
}
