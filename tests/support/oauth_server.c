/* oauth_server.c — see oauth_server.h. */
#include "support/oauth_server.h"

#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ID "client-1"
#define SECRET "client-secret-canary"

void oauth_server_init(struct oauth_server *server, const char *base)
{
    *server = (struct oauth_server){.methods = ""};
    snprintf(server->base, sizeof server->base, "%s", base);
    pthread_mutex_init(&server->mutex, NULL);
}

void oauth_server_expire(struct oauth_server *server)
{
    pthread_mutex_lock(&server->mutex);
    server->access[0] = '\0';
    pthread_mutex_unlock(&server->mutex);
}

__attribute__((format(printf, 1, 2))) static char *make(const char *format, ...)
{
    char *text = NULL;
    va_list values;
    va_start(values, format);
    if (vasprintf(&text, format, values) < 0)
        abort();
    va_end(values);
    return text;
}

/* The value of a name in a query or form, decoded. */
static bool value(const char *form, const char *name, char into[1024])
{
    size_t len = strlen(name), out = 0;
    into[0] = '\0';
    for (const char *at = form; at != NULL && *at != '\0';) {
        if (strncmp(at, name, len) == 0 && at[len] == '=') {
            for (at += len + 1; *at != '\0' && *at != '&' && out < 1023; at++) {
                unsigned byte = (unsigned char)*at;
                if (*at == '%' && sscanf(at + 1, "%2x", &byte) == 1)
                    at += 2;
                into[out++] = (char)byte;
            }
            into[out] = '\0';
            return true;
        }
        at = strchr(at, '&');
        at = at == NULL ? NULL : at + 1;
    }
    return false;
}

static bool is_value(const char *form, const char *name, const char *wanted)
{
    char found[1024];
    return value(form, name, found) && strcmp(found, wanted) == 0;
}

static char *refuse(struct oauth_server *server, int *ret_status, const char *error,
                    const char *why)
{
    server->breaches++;
    fprintf(stderr, "oauth_server: %s: %s\n", error, why);
    *ret_status = 400;
    return make("{\"error\":\"%s\",\"error_description\":\"%s\"}", error, why);
}

static bool is_resource(const struct oauth_server *server, const char *form)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "%s/guarded", server->base);
    return is_value(form, "resource", wanted);
}

/* -- what it says of itself -------------------------------------------------------------------- */
static char *tell_resource(struct oauth_server *server, int *ret_status)
{
    *ret_status = 200;
    return make("{\"resource\":\"%s/guarded\",\"authorization_servers\":[\"%s/as\"],"
                "\"scopes_supported\":[\"mcp:read\",\"mcp:write\"]}",
                server->is_of_another ? "https://elsewhere.example" : server->base, server->base);
}

static char *tell_server(struct oauth_server *server, int *ret_status)
{
    const char *base = server->base;
    *ret_status = 200;
    return make("{\"issuer\":\"%s%s\",\"authorization_endpoint\":\"%s/as/authorize\","
                "\"token_endpoint\":\"%s/as/token\",\"registration_endpoint\":\"%s/as/register\","
                "\"device_authorization_endpoint\":\"%s/as/device\","
                "\"authorization_response_iss_parameter_supported\":true%s%s%s}",
                base, server->names_another_issuer ? "/other" : "/as", base, base, base, base,
                server->has_no_s256 ? "" : ",\"code_challenge_methods_supported\":[\"S256\"]",
                server->methods[0] == '\0' ? "" : ",\"token_endpoint_auth_methods_supported\":",
                server->methods);
}

static char *register_client(struct oauth_server *server, const char *body, int *ret_status)
{
    static const char member[] = "\"redirect_uris\":[\"";
    const char *at = strstr(body, member);
    const char *method = strstr(body, "\"token_endpoint_auth_method\":\"");
    if (method == NULL)
        return refuse(server, ret_status, "invalid_client_metadata", "no method");
    if (at != NULL)
        sscanf(at + sizeof member - 1, "%255[^\"]", server->redirect_uri);
    sscanf(method + 30, "%31[^\"]", server->client_method);
    server->clients++;
    *ret_status = 201;
    bool has_secret = strcmp(server->client_method, "none") != 0;
    return make("{\"client_id\":\"" ID "\"%s,\"token_endpoint_auth_method\":\"%s\"}",
                has_secret ? ",\"client_secret\":\"" SECRET "\"" : "", server->client_method);
}

static char *authorize(struct oauth_server *server, const char *query, int *ret_status,
                       char more[1024])
{
    char state[1024], method[1024], challenge[1024], redirect[1024], scope[1024];
    value(query, "state", state);
    value(query, "code_challenge_method", method);
    value(query, "code_challenge", challenge);
    value(query, "redirect_uri", redirect);
    value(query, "scope", scope);
    if (!is_value(query, "client_id", ID) || !is_value(query, "response_type", "code"))
        return refuse(server, ret_status, "invalid_request", "client or response type");
    if (strcmp(redirect, server->redirect_uri) != 0)
        return refuse(server, ret_status, "invalid_request", "redirect_uri");
    if (strcmp(method, "S256") != 0 || strlen(challenge) != 43 || strlen(state) < 16)
        return refuse(server, ret_status, "invalid_request", "PKCE or state");
    if (!is_resource(server, query) || strcmp(scope, "mcp:read mcp:write") != 0)
        return refuse(server, ret_status, "invalid_target", "resource or scope");
    snprintf(server->challenge, sizeof server->challenge, "%s", challenge);
    snprintf(server->code, sizeof server->code, "code-%d", ++server->codes);
    server->is_code_used = false;
    snprintf(more, 1024, "Location: %s?code=%s&state=%s&iss=%s/%s\r\n", redirect, server->code,
             state, server->base, server->comes_back_as_another ? "evil" : "as");
    *ret_status = 302;
    return NULL;
}

/* -- tokens ------------------------------------------------------------------------------------ */
static bool is_verifier_good(const struct oauth_server *server, const char *form)
{
    char verifier[1024];
    unsigned char digest[EVP_MAX_MD_SIZE], text[128];
    unsigned len = 0;
    if (!value(form, "code_verifier", verifier) || strlen(verifier) < 43)
        return false;
    EVP_Digest(verifier, strlen(verifier), digest, &len, EVP_sha256(), NULL);
    EVP_EncodeBlock(text, digest, (int)len);
    for (unsigned char *at = text; *at != '\0'; at++)
        *at = *at == '+' ? '-' : *at == '/' ? '_' : *at == '=' ? '\0' : *at;
    return strcmp((const char *)text, server->challenge) == 0;
}

static bool is_client_good(const struct oauth_server *server, const char *head, const char *form)
{
    static const char basic[] = "Authorization: Basic Y2xpZW50LTE6Y2xpZW50LXNlY3JldC1jYW5hcnk=";
    char secret[1024];
    bool has_basic = strstr(head, basic) != NULL, has_any = strstr(head, "Authorization:") != NULL;
    bool has_secret = value(form, "client_secret", secret);
    if (strcmp(server->client_method, "client_secret_basic") == 0)
        return has_basic && !has_secret;
    if (strcmp(server->client_method, "client_secret_post") == 0)
        return !has_any && has_secret && strcmp(secret, SECRET) == 0 &&
               is_value(form, "client_id", ID);
    return !has_any && !has_secret && is_value(form, "client_id", ID);
}

static char *give(struct oauth_server *server, int *ret_status, bool has_refresh)
{
    snprintf(server->access, sizeof server->access, "access-canary-%d", ++server->tokens);
    snprintf(server->refresh, sizeof server->refresh, "refresh-canary-%d", server->tokens);
    *ret_status = 200;
    return make("{\"access_token\":\"%s\",\"token_type\":\"Bearer\",\"expires_in\":3600%s%s%s}",
                server->access, has_refresh ? ",\"refresh_token\":\"" : "",
                has_refresh ? server->refresh : "", has_refresh ? "\"" : "");
}

static char *give_token(struct oauth_server *server, const char *head, const char *form,
                        int *ret_status)
{
    char grant[1024], redirect[1024];
    value(form, "grant_type", grant);
    value(form, "redirect_uri", redirect);
    if (strcasestr(head, "Content-Type: application/x-www-form-urlencoded") == NULL)
        return refuse(server, ret_status, "invalid_request", "Content-Type");
    if (!is_client_good(server, head, form))
        return refuse(server, ret_status, "invalid_client", server->client_method);
    if (!is_resource(server, form))
        return refuse(server, ret_status, "invalid_target", form);
    if (strcmp(grant, "client_credentials") == 0)
        return give(server, ret_status, false);
    if (strcmp(grant, "refresh_token") == 0)
        return is_value(form, "refresh_token", server->refresh)
                   ? give(server, ret_status, true)
                   : refuse(server, ret_status, "invalid_grant", "refresh token");
    if (strstr(grant, "device_code") != NULL) {
        if (!is_value(form, "device_code", "device-1"))
            return refuse(server, ret_status, "invalid_grant", "device code");
        *ret_status = 400;
        return server->pending-- > 0 ? make("{\"error\":\"authorization_pending\"}")
                                     : give(server, ret_status, true);
    }
    if (strcmp(grant, "authorization_code") != 0 || !is_value(form, "code", server->code) ||
        server->is_code_used)
        return refuse(server, ret_status, "invalid_grant", "code");
    server->is_code_used = true;
    if (strcmp(redirect, server->redirect_uri) != 0 || !is_verifier_good(server, form))
        return refuse(server, ret_status, "invalid_grant", "redirect_uri or PKCE");
    return give(server, ret_status, true);
}

static char *give_device(struct oauth_server *server, int *ret_status)
{
    *ret_status = 200;
    return make("{\"device_code\":\"device-1\",\"user_code\":\"ABCD-EFGH\",\"verification_uri\":"
                "\"%s/as/go\",\"expires_in\":600,\"interval\":1}",
                server->base);
}

static char *guard(struct oauth_server *server, const char *head, int *ret_status, char more[1024])
{
    char wanted[128];
    snprintf(wanted, sizeof wanted, "Authorization: Bearer %s\r\n", server->access);
    if (server->access[0] != '\0' && strstr(head, wanted) != NULL)
        return NULL; /* the MCP server answers */
    if (!server->has_no_metadata)
        snprintf(more, 1024,
                 "WWW-Authenticate: Bearer error=\"invalid_token\", resource_metadata=\""
                 "%s/.well-known/oauth-protected-resource/guarded\"\r\n",
                 server->base);
    *ret_status = 401;
    return make("{\"message\":\"log in\"}");
}

char *oauth_server_hook(void *user, const char *method, const char *path, const char *head,
                        const char *body, int *ret_status, char more[1024])
{
    struct oauth_server *server = user;
    char bare[256];
    const char *query = strchr(path, '?');
    char *made = NULL;
    bool is_post = strcmp(method, "POST") == 0;
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(path, "?"), path);
    query = query == NULL ? "" : query + 1;
    pthread_mutex_lock(&server->mutex);
    if (strcmp(bare, "/guarded") == 0)
        made = guard(server, head, ret_status, more);
    else if (strcmp(bare, "/.well-known/oauth-protected-resource/guarded") == 0 &&
             !server->has_no_metadata)
        made = tell_resource(server, ret_status);
    else if (strcmp(bare, "/.well-known/oauth-authorization-server/as") == 0)
        made = tell_server(server, ret_status);
    else if (strcmp(bare, "/as/register") == 0 && is_post)
        made = register_client(server, body, ret_status);
    else if (strcmp(bare, "/as/authorize") == 0)
        made = authorize(server, query, ret_status, more);
    else if (strcmp(bare, "/as/token") == 0 && is_post)
        made = give_token(server, head, body, ret_status);
    else if (strcmp(bare, "/as/device") == 0 && is_post)
        made = give_device(server, ret_status);
    else if (strncmp(bare, "/.well-known/", 13) == 0 || strncmp(bare, "/as/", 4) == 0)
        *ret_status = 404;
    pthread_mutex_unlock(&server->mutex);
    return made;
}
