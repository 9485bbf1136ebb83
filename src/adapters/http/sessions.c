/*
 * sessions.c — pages that are signed in.
 *
 * Who can run `shipmyagent page` has the token, and gets a code that opens one session: once, and
 * within two minutes. A session has two halves. A cookie alone is sent to every port of its host,
 * so to the servers of other accounts of the machine, too; storage of a page is of its origin
 * alone, and may be read by whatever script ever runs there. So one half is a cookie that no script
 * reads, the other one is kept by the page and sent as a header, which no other site can make a
 * browser send. Neither is of any use without the other.
 *
 * What is kept is a digest of both, made with a key of the tokens, in .ship/page-sessions: it
 * survives a restart, a new token ends every session, and whoever reads the file has nothing.
 */
#include "http_priv.h"

#include "runtime/json/json_read.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>

#define SESSION_S (INT64_C(30) * 86400)
#define CODE_S 120
#define HALF_BYTES 64u /* of each, in hex */
#define REFUSED_MAX 5u /* wrong tokens a minute */
#define FILE_BYTES_MAX 8192u
#define LINE_FORMAT "%64[0-9a-f] %lld\n"

static void put_random(struct sma_http *http, size_t bytes, char *hex)
{
    unsigned char random[HALF_BYTES / 2];
    SMA_ASSERT(bytes <= sizeof random);
    http->sys->random_bytes(http->sys->self, random, bytes);
    for (size_t i = 0; i < bytes; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", random[i]);
    OPENSSL_cleanse(random, sizeof random);
}

static bool digest_of(const struct sma_http *http, struct sma_str cookie, struct sma_str key,
                      uint8_t digest[32])
{
    char both[2 * HALF_BYTES];
    if (cookie.len != HALF_BYTES || key.len != HALF_BYTES)
        return false;
    memcpy(both, cookie.ptr, HALF_BYTES);
    memcpy(both + HALF_BYTES, key.ptr, HALF_BYTES);
    return HMAC(EVP_sha256(), http->auth.session_key, sizeof http->auth.session_key,
                (const uint8_t *)both, sizeof both, digest, NULL) != NULL;
}

/* -- the file ---------------------------------------------------------------------------------- */
static bool put_path(const struct sma_http *http, char path[4608])
{
    int len = snprintf(path, 4608, "%s/page-sessions", http->config->state_dir);
    return len > 0 && len < 4608;
}

static bool read_digest(const char *hex, uint8_t digest[32])
{
    for (size_t i = 0; i < 32; i++) {
        unsigned byte;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
            return false;
        digest[i] = (uint8_t)byte;
    }
    return true;
}

void http_sessions_load(struct sma_http *http)
{
    struct http_sessions *sessions = &http->sessions;
    SMA_AUTO(sma_freep) char *bytes = NULL;
    char path[4608], hex[HALF_BYTES + 1];
    size_t len = 0;
    long long made_s;
    sessions->count = 0;
    if (!put_path(http, path) ||
        sma_sys_read_file(http->sys, path, FILE_BYTES_MAX, &bytes, &len, NULL) != SMA_ERR_OK)
        return;
    for (const char *at = bytes; sessions->count < HTTP_SESSION_COUNT_MAX; at++) {
        struct http_session *session = &sessions->list[sessions->count];
        if (sscanf(at, LINE_FORMAT, hex, &made_s) != 2 || !read_digest(hex, session->digest))
            return;
        session->made_s = made_s;
        sessions->count++;
        at = strchr(at, '\n');
        if (at == NULL)
            return;
    }
}

/* false: it could not be kept; what is in memory counts until the next start. */
static bool save(struct sma_http *http)
{
    struct sma_buf text;
    char path[4608];
    struct sma_error error = {0};
    sma_buf_init(&text, FILE_BYTES_MAX);
    for (size_t i = 0; i < http->sessions.count; i++) {
        for (size_t k = 0; k < 32; k++)
            sma_buf_printf(&text, "%02x", http->sessions.list[i].digest[k]);
        sma_buf_printf(&text, " %lld\n", (long long)http->sessions.list[i].made_s);
    }
    bool is_kept = put_path(http, path) && text.err == SMA_ERR_OK &&
                   sma_sys_write_file_unsynced(http->sys, path, sma_buf_str(&text), 0600, &error) ==
                       SMA_ERR_OK;
    sma_buf_fini(&text);
    if (!is_kept)
        sma_ctx_log(http->ctx, SMA_LOG_WARN, "sessions of the page are not kept: %s", error.text);
    return is_kept;
}

/* -- who comes --------------------------------------------------------------------------------- */
/* The value of our cookie; its name has the port, since other ports' are sent to us, too. */
static struct sma_str cookie_of(const struct sma_http *http, struct sma_str left)
{
    char name[32];
    (void)snprintf(name, sizeof name, "sma-%d=", http->auth.port);
    while (left.len > 0) {
        const char *end = memchr(left.ptr, ';', left.len);
        struct sma_str item = {left.ptr, end == NULL ? left.len : (size_t)(end - left.ptr)};
        left.ptr += item.len + (end != NULL);
        left.len -= item.len + (end != NULL);
        item = sma_str_trim(item);
        if (sma_str_starts_with(item, sma_str(name)))
            return (struct sma_str){item.ptr + strlen(name), item.len - strlen(name)};
    }
    return SMA_STR("");
}

/* @return its place in the list; count: it is none of them */
static size_t find(const struct sma_http *http, const struct sma_http_request *request)
{
    const struct http_sessions *sessions = &http->sessions;
    uint8_t digest[32];
    size_t found = sessions->count;
    if (!request->has_cookie || !request->has_page_key || sessions->count == 0 ||
        !digest_of(http, cookie_of(http, request->cookie), request->page_key, digest))
        return found;
    int64_t now_s = sma_ctx_wall(http->ctx) / 1000;
    for (size_t i = 0; i < sessions->count; i++)
        if (CRYPTO_memcmp(digest, sessions->list[i].digest, sizeof digest) == 0 &&
            now_s - sessions->list[i].made_s < SESSION_S)
            found = i;
    return found;
}

bool http_session_opens(const struct sma_http *http, const struct sma_http_request *request)
{
    return sma_str_starts_with(request->path, SMA_STR("/api/")) &&
           find(http, request) < http->sessions.count;
}

/* -- codes ------------------------------------------------------------------------------------- */
void http_sign_in_code(struct http_conn *conn, const struct sma_http_request *request)
{
    struct sma_http *http = conn->server;
    struct http_sessions *sessions = &http->sessions;
    char code[HTTP_CODE_BYTES + 1], json[128];
    if (request->has_origin) {
        http_respond_error(conn, 403, NULL, "Codes are for programs, not for pages");
        return;
    }
    put_random(http, HTTP_CODE_BYTES / 2, code);
    size_t place = sessions->next_code++ % HTTP_CODE_COUNT_MAX; /* the oldest makes room */
    memcpy(sessions->codes[place].text, code, HTTP_CODE_BYTES);
    sessions->codes[place].end_ns = http_now(http) + CODE_S * SMA_NS_PER_S;
    (void)snprintf(json, sizeof json, "{\"success\":true,\"code\":\"%s\",\"seconds\":%d}", code,
                   CODE_S);
    http_respond(conn, 200, HTTP_JSON, sma_str(json), NULL);
    OPENSSL_cleanse(code, sizeof code);
    OPENSSL_cleanse(json, sizeof json);
}

/* A code counts once. */
static bool take_code(struct sma_http *http, struct sma_str code)
{
    bool is_taken = false;
    for (size_t i = 0; i < HTTP_CODE_COUNT_MAX && code.len == HTTP_CODE_BYTES; i++) {
        bool is_live = http->sessions.codes[i].end_ns > http_now(http);
        if (CRYPTO_memcmp(http->sessions.codes[i].text, code.ptr, HTTP_CODE_BYTES) != 0 || !is_live)
            continue;
        http->sessions.codes[i].end_ns = 0;
        is_taken = true;
    }
    return is_taken;
}

/* Guessing a token takes tries. Codes are not counted: others of the machine could lock out the
 * owner, and nobody guesses one in two minutes. */
static bool may_try_token(struct sma_http *http)
{
    struct http_sessions *sessions = &http->sessions;
    if (http_now(http) - sessions->refused_since_ns >= 60 * SMA_NS_PER_S) {
        sessions->refused_since_ns = http_now(http);
        sessions->refused_tokens = sessions->refused_count = 0;
    }
    return sessions->refused_tokens < REFUSED_MAX;
}

static void refuse(struct http_conn *conn, bool is_token)
{
    struct http_sessions *sessions = &conn->server->sessions;
    sessions->refused_tokens += is_token;
    if (sessions->refused_count++ < REFUSED_MAX) /* anybody can make these lines */
        sma_ctx_log(conn->server->ctx, SMA_LOG_WARN, "a page was not let in: wrong %s",
                    is_token ? "token" : "code");
    http_respond_error(conn, 401, NULL,
                       is_token
                           ? "This is not the token; it stands in .ship/api-token of the project"
                           : "This link was used, or is older than two minutes: run "
                             "`shipmyagent page` for a new one");
}

/* -- in and out -------------------------------------------------------------------------------- */
static void open_session(struct http_conn *conn, const struct sma_http_request *request)
{
    struct sma_http *http = conn->server;
    struct http_sessions *sessions = &http->sessions;
    char cookie[HALF_BYTES + 1], key[HALF_BYTES + 1], extra[256], json[128];
    struct http_session session = {.made_s = sma_ctx_wall(http->ctx) / 1000};
    bool is_secure = request->origin.len > 8 && memcmp(request->origin.ptr, "https://", 8) == 0;
    put_random(http, HALF_BYTES / 2, cookie);
    put_random(http, HALF_BYTES / 2, key);
    if (!digest_of(http, sma_str(cookie), sma_str(key), session.digest)) {
        http_respond_error(conn, 503, "Retry-After: 1\r\n", "Out of memory: sign in again");
        return;
    }
    if (sessions->count == HTTP_SESSION_COUNT_MAX)
        memmove(sessions->list, sessions->list + 1,
                --sessions->count * sizeof *sessions->list); /* who came first leaves */
    sessions->list[sessions->count++] = session;
    (void)save(http);
    (void)snprintf(extra, sizeof extra,
                   "Set-Cookie: sma-%d=%s; Path=/api/; Max-Age=%lld; HttpOnly; "
                   "SameSite=Strict%s\r\n",
                   http->auth.port, cookie, (long long)SESSION_S, is_secure ? "; Secure" : "");
    (void)snprintf(json, sizeof json, "{\"success\":true,\"key\":\"%s\",\"role\":\"owner\"}", key);
    http_respond(conn, 200, HTTP_JSON, sma_str(json), extra);
    OPENSSL_cleanse(cookie, sizeof cookie);
    OPENSSL_cleanse(key, sizeof key);
    sma_ctx_log(http->ctx, SMA_LOG_INFO, "a page has signed in");
}

void http_sign_in(struct http_conn *conn, const struct sma_http_request *request,
                  struct sma_str body)
{
    struct sma_http *http = conn->server;
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    bool is_form = sma_json_load(body, &root) == SMA_ERR_OK && json_is_object(root) &&
                   json_object_size(root) == 1;
    struct sma_str code = is_form ? sma_json_str(root, "code") : SMA_STR("");
    struct sma_str token = is_form ? sma_json_str(root, "token") : SMA_STR("");
    bool may_try = may_try_token(http);
    if (conn->origin_len > 0)
        http_respond_error(conn, 403, NULL, "Only the page of this service signs in here");
    else if (code.len == 0 && token.len == 0)
        http_respond_error(conn, 400, NULL, "Send {\"code\": \"...\"} or {\"token\": \"...\"}");
    else if (!may_try && token.len > 0)
        http_respond_error(conn, 429, "Retry-After: 60\r\n",
                           "Too many wrong tokens: wait a minute, or run `shipmyagent page`");
    else if (token.len > 0 ? http_auth_is_token(&http->auth, token) : take_code(http, code))
        open_session(conn, request);
    else
        refuse(conn, token.len > 0);
}

void http_sign_out(struct http_conn *conn, const struct sma_http_request *request,
                   struct sma_str body)
{
    struct sma_http *http = conn->server;
    struct http_sessions *sessions = &http->sessions;
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    char extra[128];
    size_t place = find(http, request);
    bool is_everywhere = sma_json_load(body, &root) == SMA_ERR_OK &&
                         json_is_true(json_object_get(root, "everywhere"));
    if (is_everywhere) { /* what they have opened and can open ends with them */
        sessions->count = 0;
        http->sys->random_bytes(http->sys->self, http->auth.ticket_keys,
                                sizeof http->auth.ticket_keys);
        http_pages_end(http);
    } else if (place < sessions->count)
        memmove(&sessions->list[place], &sessions->list[place + 1],
                (--sessions->count - place) * sizeof *sessions->list);
    if (!save(http)) { /* else it would come back with the next start */
        http_respond_error(conn, 503, "Retry-After: 5\r\n",
                           "Signed out until the service starts again: its disk takes nothing");
        return;
    }
    (void)snprintf(extra, sizeof extra, "Set-Cookie: sma-%d=; Path=/api/; Max-Age=0\r\n",
                   http->auth.port);
    http_respond(conn, 200, HTTP_JSON, SMA_STR("{\"success\":true}"), extra);
}
