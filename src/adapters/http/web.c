/*
 * web.c — the page of the program: its files, which are bytes of the program (web/dist), packed.
 *
 * They are public; what they show is asked for by a page that is signed in (sessions.c). The policy
 * lets nothing run that is not one of them: no script in a text, no code made of a text, no other
 * host, and no place in the document takes HTML as text at all (trusted-types 'none').
 */
#include "http_priv.h"
#include "web_files.h"

#define SHARED_HEADERS                                                                          \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "        \
    "img-src 'self' blob: data:; connect-src 'self'; manifest-src 'self'; form-action 'self'; " \
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "             \
    "trusted-types 'none'\r\n"                                                                  \
    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"                       \
    "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n"  \
    "X-Frame-Options: DENY\r\n"                                                                 \
    "Permissions-Policy: camera=(), microphone=(), geolocation=(), display-capture=()\r\n"
/* Names have a hash of what they hold; the one that names them is asked for each time. */
#define FILE_HEADERS \
    SHARED_HEADERS   \
    "Cache-Control: public, max-age=31536000, immutable\r\nContent-Encoding: gzip\r\n"
#define INDEX_HEADERS SHARED_HEADERS "Cache-Control: no-cache\r\nContent-Encoding: gzip\r\n"

/* The first word behind /ui/ of addresses that the page itself makes something of. An unknown one
 * stays a 404, so that a mistake does not become a page. */
static const char *const places[] = {"",      "chat",   "now",   "runs", "approvals",
                                     "chats", "people", "usage", "logs"};

static bool is_place(struct sma_str name)
{
    const char *slash = name.len == 0 ? NULL : memchr(name.ptr, '/', name.len);
    struct sma_str word = {name.ptr, slash == NULL ? name.len : (size_t)(slash - name.ptr)};
    for (size_t i = 0; i < SMA_COUNT_OF(places); i++)
        if (sma_str_is_equal(word, sma_str(places[i])))
            return slash == NULL || word.len > 0;
    return false;
}

static const struct http_web_file *find(struct sma_str name)
{
    if (is_place(name))
        name = SMA_STR("index.html");
    else if (sma_str_is_equal(name, SMA_STR("index.html")))
        return NULL; /* one page, one address */
    for (size_t i = 0; i < http_web_file_count; i++)
        if (sma_str_is_equal(name, sma_str(http_web_files[i].name)))
            return &http_web_files[i];
    return NULL;
}

void http_web_lead(struct http_conn *conn)
{
    http_respond(conn, 302, "text/plain; charset=utf-8", SMA_STR("The page is at /ui/\n"),
                 "Location: /ui/\r\n");
}

void http_web(struct http_conn *conn, const struct sma_http_request *request)
{
    static const char root[] = "/ui/";
    char etag[48];
    if (request->path.len < sizeof root - 1) {
        http_web_lead(conn);
        return;
    }
    const struct http_web_file *file = find((struct sma_str){
        request->path.ptr + sizeof root - 1, request->path.len - (sizeof root - 1)});
    if (file == NULL) {
        http_respond_not_found(conn, request->path);
        return;
    }
    if (!sma_http_list_has(sma_http_header_get(request, "Accept-Encoding"), SMA_STR("gzip"))) {
        http_respond_error(conn, 406, NULL, "The page is sent packed: send Accept-Encoding: gzip");
        return;
    }
    bool is_index = strcmp(file->name, "index.html") == 0;
    (void)snprintf(etag, sizeof etag, "ETag: \"%s\"\r\n", file->hash);
    struct sma_str known = sma_http_header_get(request, "If-None-Match");
    bool is_known = known.len == strlen(file->hash) + 2 &&
                    memcmp(known.ptr + 1, file->hash, strlen(file->hash)) == 0;
    http_respond_as(conn, is_known ? 304 : 200, file->type,
                    is_known ? SMA_STR("") : (struct sma_str){file->bytes, file->len},
                    is_index ? INDEX_HEADERS : FILE_HEADERS, etag);
}
