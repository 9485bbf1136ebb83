/*
 * fetch_page.c — a program of its own that gets one page from the web and gives its text.
 *
 *   fetch-page      the request as JSON on standard input, the answer as JSON on standard output
 *
 * Request: {"url", "timeMs", "bytesMax" (of the page, unpacked), "textMax" (of its text)} and
 * optionally {"proxy", "isPrivate" (may be in a private network), "method", "headers": [], "body",
 * "isRaw" (any text as it is)}.
 * Answer: {"status", "url", "location" (of a redirect; it is not followed), "type", "title",
 * "content", "isCut"} or {"error": a sentence}. Exits with 0 when it has answered; 1: called
 * wrongly or out of memory.
 *
 * It is not part of the service: what strangers send is unpacked, decoded and parsed here, in a
 * process that holds nothing. Its environment has no secrets. What it needs of the disk it reads
 * first (who signs certificates, converters, the resolver's files); the name is looked up once and
 * each of its addresses judged; then it gives up files, programs and all sockets but IPv4's and
 * IPv6's, and only then connects, to an address that is judged again. One process asks one host
 * once: a redirect is its caller's to judge.
 */
#include "confine/confine.h"
#include "page/address.h"
#include "page/charset.h"
#include "page/markdown.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <jansson.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define MEMORY_BYTES (UINT64_C(768) * 1024 * 1024)
#define CPU_S 15
#define REQUEST_BYTES_MAX (256u * 1024)
#define HEADER_COUNT_MAX 16
#define ADDRESS_COUNT_MAX 16
#define PAGE_BYTES_MAX (32u * 1024 * 1024)
#define TEXT_BYTES_MAX (4u * 1024 * 1024)
#define TIME_MS_MAX 120000
#define CONNECT_MS 10000
#define SIGNERS_BYTES_MAX (8u * 1024 * 1024)
#define SIGNERS "/etc/ssl/certs/ca-certificates.crt"
#define TYPE_BYTES_MAX 200
#define ERROR_BYTES_MAX 600

struct request
{
    json_t *root;
    const char *url, *proxy, *method, *body;
    json_t *headers;
    long time_ms;
    size_t bytes_max, text_max;
    bool is_private, is_raw;
};

struct fetch
{
    struct request request;
    CURL *curl;
    CURLU *url;
    struct curl_slist *hosts, *headers; /* looked up; sent */
    struct curl_blob signers;
    char *page;
    size_t len, cap;
    bool is_page_cut;
    const char *forbidden; /* what an address was that would have been connected to */
    char error[ERROR_BYTES_MAX];
};

__attribute__((format(printf, 2, 3))) static bool fail(struct fetch *fetch, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(fetch->error, sizeof fetch->error, format, values);
    va_end(values);
    return false;
}

/* -- the request ------------------------------------------------------------------------------- */
static char *read_input(size_t *ret_len)
{
    char *bytes = malloc(REQUEST_BYTES_MAX);
    size_t len = 0;
    while (bytes != NULL && len < REQUEST_BYTES_MAX) {
        ssize_t got = read(STDIN_FILENO, bytes + len, REQUEST_BYTES_MAX - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    *ret_len = len;
    return bytes;
}

static size_t read_size(const json_t *root, const char *name, size_t most)
{
    json_int_t value = json_integer_value(json_object_get(root, name));
    return value <= 0 || (uint64_t)value > most ? most : (size_t)value;
}

static bool read_request(struct request *request)
{
    size_t len;
    char *bytes = read_input(&len);
    if (bytes == NULL)
        return false;
    request->root = json_loadb(bytes, len, 0, NULL);
    free(bytes);
    const json_t *root = request->root;
    request->url = json_string_value(json_object_get(root, "url"));
    request->proxy = json_string_value(json_object_get(root, "proxy"));
    request->method = json_string_value(json_object_get(root, "method"));
    request->body = json_string_value(json_object_get(root, "body"));
    request->headers = json_object_get(root, "headers");
    request->time_ms = (long)read_size(root, "timeMs", TIME_MS_MAX);
    request->bytes_max = read_size(root, "bytesMax", PAGE_BYTES_MAX);
    request->text_max = read_size(root, "textMax", TEXT_BYTES_MAX);
    request->is_private = json_is_true(json_object_get(root, "isPrivate"));
    request->is_raw = json_is_true(json_object_get(root, "isRaw"));
    return request->url != NULL && json_array_size(request->headers) <= HEADER_COUNT_MAX;
}

/* A resolver that waits has no other end. What has been done by then is not worth an answer. */
static void set_alarm(long time_ms)
{
    const struct itimerval timer = {
        .it_value = {.tv_sec = time_ms / 1000 + 1, .tv_usec = time_ms % 1000 * 1000}};
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* -- names ------------------------------------------------------------------------------------- */
/* Cut at a bracket, when curl gives an IPv6 address with them. */
static void unbracket(char *host)
{
    size_t len = strlen(host);
    if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
        memmove(host, host + 1, len - 2);
        host[len - 2] = '\0';
    }
}

struct place
{
    char host[256];
    char port[8];
};

static bool read_place(CURLU *url, struct place *place)
{
    char *host = NULL, *port = NULL;
    bool is_good = curl_url_get(url, CURLUPART_HOST, &host, CURLU_PUNYCODE) == CURLUE_OK &&
                   curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                   strlen(host) < sizeof place->host && strlen(port) < sizeof place->port;
    if (is_good) {
        memcpy(place->host, host, strlen(host) + 1);
        memcpy(place->port, port, strlen(port) + 1);
        unbracket(place->host);
    }
    curl_free(host);
    curl_free(port);
    return is_good;
}

/* "host:port:address,address": curl connects there and asks nobody else. */
static bool pin(struct fetch *fetch, const struct place *place, const struct addrinfo *found)
{
    char line[ADDRESS_COUNT_MAX * (INET6_ADDRSTRLEN + 4) + 300];
    int len = snprintf(line, sizeof line, "%s:%s:", place->host, place->port);
    unsigned count = 0;
    for (; found != NULL && count < ADDRESS_COUNT_MAX; found = found->ai_next) {
        char text[INET6_ADDRSTRLEN + 2];
        if (getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, NULL, 0,
                        NI_NUMERICHOST) != 0 ||
            strchr(text, '%') != NULL)
            continue; /* a zone of this machine is in no page's address */
        bool is_6 = found->ai_family == AF_INET6;
        len += snprintf(line + len, sizeof line - (size_t)len, "%s%s%s%s", count > 0 ? "," : "",
                        is_6 ? "[" : "", text, is_6 ? "]" : "");
        count++;
    }
    if (count == 0)
        return fail(fetch, "%s has no address.", place->host);
    struct curl_slist *more = curl_slist_append(fetch->hosts, line);
    if (more == NULL)
        return fail(fetch, "out of memory");
    fetch->hosts = more;
    return true;
}

static bool is_inner_name(const char *host)
{
    static const char *const ends[] = {"localhost", ".localhost", ".local", ".internal",
                                       ".home.arpa"};
    size_t len = strlen(host);
    len -= len > 0 && host[len - 1] == '.'; /* the same name, spelt from the root */
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t end = strlen(ends[i]);
        if (len >= end && strncasecmp(host + len - end, ends[i], end) == 0 &&
            (len == end || ends[i][0] == '.'))
            return true;
    }
    return false;
}

static bool refuse(struct fetch *fetch, const char *host, const char *what)
{
    return fail(fetch,
                "%s is not fetched: it is %s. The owner can allow it with web.allowPrivateHosts in "
                "ship.json.",
                host, what);
}

/* One address that is forbidden forbids all: an honest name has none. */
static bool look_up(struct fetch *fetch, const struct place *place, bool is_judged, bool is_pinned)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *found = NULL;
    if (is_judged && is_inner_name(place->host))
        return refuse(fetch, place->host, "a name of inner networks");
    int status = getaddrinfo(place->host, place->port, &hints, &found);
    if (status == EAI_ADDRFAMILY || status == EAI_NONAME)
        status = getaddrinfo(place->host, place->port,
                             &(struct addrinfo){.ai_socktype = SOCK_STREAM}, &found);
    if (status != 0)
        return is_pinned ? fail(fetch, "%s is not found (%s).", place->host, gai_strerror(status))
                         : true; /* the proxy may know it */
    const char *forbidden = NULL;
    for (const struct addrinfo *at = found; is_judged && at != NULL; at = at->ai_next)
        if (forbidden == NULL)
            forbidden = sma_address_forbidden(at->ai_addr);
    bool is_good = forbidden == NULL || refuse(fetch, place->host, forbidden);
    if (is_good && is_pinned)
        is_good = pin(fetch, place, found);
    freeaddrinfo(found);
    return is_good;
}

/* Through a proxy the name is the proxy's to look up; what is known here is judged all the same. */
static bool look_up_all(struct fetch *fetch)
{
    const struct request *request = &fetch->request;
    struct place place;
    if (!read_place(fetch->url, &place))
        return fail(fetch, "The address is not complete.");
    bool has_proxy = request->proxy != NULL && request->proxy[0] != '\0';
    if (!look_up(fetch, &place, !request->is_private, !has_proxy))
        return false;
    if (!has_proxy)
        return true;
    CURLU *proxy = curl_url();
    struct place there;
    bool is_good =
        proxy != NULL && curl_url_set(proxy, CURLUPART_URL, request->proxy,
                                      CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME) == CURLUE_OK;
    if (is_good && !read_place(proxy, &there)) {
        (void)curl_url_set(proxy, CURLUPART_PORT, "1080", 0); /* libcurl's own default */
        is_good = read_place(proxy, &there);
    }
    curl_url_cleanup(proxy);
    return is_good ? look_up(fetch, &there, false, true)
                   : fail(fetch, "The proxy of ship.json cannot be read.");
}

/* -- the connection ---------------------------------------------------------------------------- */
/* The last word: the address that the kernel is told. */
static curl_socket_t on_open(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct fetch *fetch = user;
    bool has_proxy = fetch->request.proxy != NULL && fetch->request.proxy[0] != '\0';
    const char *forbidden =
        fetch->request.is_private || has_proxy ? NULL : sma_address_forbidden(&address->addr);
    if (purpose != CURLSOCKTYPE_IPCXN || forbidden != NULL) {
        fetch->forbidden = forbidden;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* What is over the bound is not unpacked further. */
static size_t on_bytes(char *bytes, size_t size, size_t count, void *user)
{
    struct fetch *fetch = user;
    size_t len = size * count, room = fetch->request.bytes_max - fetch->len;
    size_t taken = len < room ? len : room;
    if (fetch->len + taken > fetch->cap) {
        size_t cap = fetch->cap == 0 ? 65536 : fetch->cap;
        while (cap < fetch->len + taken)
            cap *= 2;
        char *bigger = realloc(fetch->page, cap);
        if (bigger == NULL)
            return 0;
        fetch->page = bigger;
        fetch->cap = cap;
    }
    if (taken > 0)
        memcpy(fetch->page + fetch->len, bytes, taken);
    fetch->len += taken;
    fetch->is_page_cut = taken < len;
    return taken;
}

/* Certificates are checked with what was read before the disk was given up. */
static bool read_signers(struct fetch *fetch)
{
    FILE *file = fopen(SIGNERS, "re");
    char *bytes = file == NULL ? NULL : malloc(SIGNERS_BYTES_MAX);
    size_t len = bytes == NULL ? 0 : fread(bytes, 1, SIGNERS_BYTES_MAX, file);
    if (file != NULL)
        (void)fclose(file);
    fetch->signers = (struct curl_blob){bytes, len, CURL_BLOB_NOCOPY};
    return len > 0;
}

static bool set_headers(struct fetch *fetch)
{
    const json_t *header;
    size_t index;
    json_array_foreach(fetch->request.headers, index, header)
    {
        struct curl_slist *more = curl_slist_append(
            fetch->headers, json_string_value(header) == NULL ? "" : json_string_value(header));
        if (more == NULL)
            return false;
        fetch->headers = more;
    }
    return true;
}

static bool set_up(struct fetch *fetch)
{
    const struct request *request = &fetch->request;
    CURL *curl = fetch->curl = curl_easy_init();
    if (curl == NULL || !set_headers(fetch))
        return fail(fetch, "out of memory");
    long connect_ms = request->time_ms < CONNECT_MS ? request->time_ms : CONNECT_MS;
    CURLcode code = CURLE_OK;
#define SET(option, value) \
    if (code == CURLE_OK)  \
    code = curl_easy_setopt(curl, option, value)
    SET(CURLOPT_CURLU, fetch->url);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_TIMEOUT_MS, request->time_ms);
    SET(CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
    SET(CURLOPT_ACCEPT_ENCODING, "");
    SET(CURLOPT_HTTP_CONTENT_DECODING, 1L);
    SET(CURLOPT_USERAGENT, "Mozilla/5.0 (compatible; shipmyagent)");
    SET(CURLOPT_PROXY, request->proxy == NULL ? "" : request->proxy);
    SET(CURLOPT_NOPROXY, "");
    SET(CURLOPT_RESOLVE, fetch->hosts);
    SET(CURLOPT_OPENSOCKETFUNCTION, on_open);
    SET(CURLOPT_OPENSOCKETDATA, fetch);
    SET(CURLOPT_WRITEFUNCTION, on_bytes);
    SET(CURLOPT_WRITEDATA, fetch);
    SET(CURLOPT_HTTPHEADER, fetch->headers);
    SET(CURLOPT_CAINFO, NULL);
    SET(CURLOPT_CAPATH, NULL);
    SET(CURLOPT_CAINFO_BLOB, &fetch->signers);
    SET(CURLOPT_PROXY_CAINFO, NULL);
    SET(CURLOPT_PROXY_CAPATH, NULL);
    SET(CURLOPT_PROXY_CAINFO_BLOB, &fetch->signers);
    if (request->body != NULL) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(request->body));
        SET(CURLOPT_POSTFIELDS, request->body);
    }
    if (request->method != NULL)
        SET(CURLOPT_CUSTOMREQUEST, request->method);
#undef SET
    return code == CURLE_OK ? true
                            : fail(fetch, "It cannot be asked: %s.", curl_easy_strerror(code));
}

static bool perform(struct fetch *fetch)
{
    CURLcode code = curl_easy_perform(fetch->curl);
    char *host = NULL;
    (void)curl_url_get(fetch->url, CURLUPART_HOST, &host, CURLU_PUNYCODE);
    bool is_good = true;
    if (fetch->forbidden != NULL)
        is_good = refuse(fetch, host == NULL ? "the host" : host, fetch->forbidden);
    else if (code == CURLE_OPERATION_TIMEDOUT)
        is_good = fail(fetch, "%s did not answer in %ld s.", host == NULL ? "It" : host,
                       (fetch->request.time_ms + 999) / 1000);
    else if (code == CURLE_PARTIAL_FILE && fetch->len > 0)
        fetch->is_page_cut = true; /* it promised more than it sent */
    else if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && fetch->is_page_cut))
        is_good = fail(fetch, "It could not be fetched: %s.", curl_easy_strerror(code));
    curl_free(host);
    return is_good;
}

/* -- what came --------------------------------------------------------------------------------- */
/* "text/html; charset=x": the type in small letters, and x. */
static void read_type(CURL *curl, char *type, char *label)
{
    const char *header = NULL;
    type[0] = label[0] = '\0';
    if (curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &header) != CURLE_OK || header == NULL)
        return;
    size_t len = strcspn(header, "; \t");
    len = len < TYPE_BYTES_MAX ? len : 0;
    for (size_t i = 0; i < len; i++)
        type[i] = header[i] >= 'A' && header[i] <= 'Z' ? (char)(header[i] | 0x20) : header[i];
    type[len] = '\0';
    const char *at = strcasestr(header, "charset=");
    if (at == NULL)
        return;
    at += strlen("charset=");
    at += *at == '"' || *at == '\'';
    len = strcspn(at, "\"'; \t,");
    if (len < TYPE_BYTES_MAX) {
        memcpy(label, at, len);
        label[len] = '\0';
    }
}

enum kind
{
    KIND_HTML,
    KIND_TEXT,
    KIND_OTHER
};

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* A type that says nothing is judged by the bytes. */
static enum kind look(const struct fetch *fetch, const char *type)
{
    static const char *const texts[] = {
        "application/json", "application/xml",  "application/javascript", "application/x-yaml",
        "application/yaml", "application/toml", "application/x-sh",       "application/x-ndjson"};
    if (strcmp(type, "text/html") == 0 || strcmp(type, "application/xhtml+xml") == 0)
        return KIND_HTML;
    if (strncmp(type, "text/", 5) == 0 || ends_with(type, "+json") || ends_with(type, "+xml"))
        return strcmp(type, "image/svg+xml") == 0 ? KIND_OTHER : KIND_TEXT;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(type, texts[i]) == 0)
            return KIND_TEXT;
    if (type[0] != '\0')
        return KIND_OTHER;
    size_t most = fetch->len < 1024 ? fetch->len : 1024;
    if (most > 0 && memchr(fetch->page, '\0', most) != NULL)
        return KIND_OTHER;
    for (size_t i = 0; i + 5 < most; i++)
        if (strncasecmp(fetch->page + i, "<html", 5) == 0 ||
            strncasecmp(fetch->page + i, "<!doc", 5) == 0)
            return KIND_HTML;
    return KIND_TEXT;
}

static bool read_text(struct fetch *fetch, const char *type, const char *label,
                      struct sma_markdown *ret_text)
{
    enum kind kind = fetch->request.is_raw ? KIND_TEXT : look(fetch, type);
    if (kind == KIND_OTHER && fetch->len > 0) {
        char shown[64];
        size_t len = 0;
        for (const char *at = type; *at != '\0' && len + 1 < sizeof shown; at++)
            shown[len++] =
                strchr("abcdefghijklmnopqrstuvwxyz0123456789/+.-", *at) != NULL ? *at : '?';
        shown[len] = '\0';
        return fail(fetch, "It is %s (%zu bytes), which cannot be read as a text.",
                    len == 0 ? "of an unknown type" : shown, fetch->len);
    }
    size_t len;
    char *text = sma_charset_to_utf8(fetch->page == NULL ? "" : fetch->page, fetch->len, label,
                                     kind == KIND_HTML, &len);
    bool is_good = text != NULL;
    if (is_good && kind == KIND_HTML)
        is_good = sma_markdown_from_html(text, len, fetch->request.url, fetch->request.text_max,
                                         ret_text);
    else if (is_good)
        is_good = sma_markdown_from_text(text, len, fetch->request.text_max, ret_text);
    free(text);
    return is_good || fail(fetch, "out of memory");
}

/* -- the answer -------------------------------------------------------------------------------- */
static bool put(const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t done = write(STDOUT_FILENO, bytes, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        len -= (size_t)done;
    }
    return true;
}

static int answer(json_t *root)
{
    char *text = root == NULL ? NULL : json_dumps(root, JSON_COMPACT);
    bool is_out = text != NULL && put(text, strlen(text));
    free(text);
    json_decref(root);
    return is_out ? 0 : 1;
}

static int answer_page(struct fetch *fetch)
{
    char type[TYPE_BYTES_MAX], label[TYPE_BYTES_MAX];
    long status = 0;
    const char *location = NULL;
    struct sma_markdown text = {.text = NULL};
    (void)curl_easy_getinfo(fetch->curl, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(fetch->curl, CURLINFO_REDIRECT_URL, &location);
    read_type(fetch->curl, type, label);
    bool is_page = (status >= 200 && status < 300) || fetch->request.is_raw;
    if (is_page && !read_text(fetch, type, label, &text))
        return answer(json_pack("{s:i, s:s}", "status", (int)status, "error", fetch->error));
    json_t *root =
        json_pack("{s:i, s:s, s:s, s:s, s:b}", "status", (int)status, "url", fetch->request.url,
                  "title", text.title, "content", text.text == NULL ? "" : text.text, "isCut",
                  text.is_cut || fetch->is_page_cut);
    if (root != NULL && location != NULL && status >= 300 && status < 400)
        (void)json_object_set_new(root, "location", json_string(location));
    if (root != NULL && type[0] != '\0')
        (void)json_object_set_new(root, "type", json_string(type));
    sma_markdown_fini(&text);
    return answer(root);
}

static bool lock_in(void)
{
    static const uint16_t more[] = {
        SYS_connect,      SYS_getsockopt, SYS_setsockopt, SYS_getsockname,  SYS_getpeername,
        SYS_sendto,       SYS_recvfrom,   SYS_sendmsg,    SYS_recvmsg,      SYS_shutdown,
        SYS_ppoll,        SYS_pselect6,   SYS_fcntl,      SYS_readv,        SYS_writev,
        SYS_rt_sigaction, SYS_pipe2,      SYS_eventfd2,   SYS_gettimeofday, SYS_setitimer,
#ifdef SYS_poll
        SYS_poll,         SYS_select,
#endif
    };
    const struct sma_confine_calls calls = {
        .more = more, .more_count = sizeof more / sizeof more[0], .has_network = true};
    return sma_confine_calls(&calls);
}

static bool open_url(struct fetch *fetch)
{
    fetch->url = curl_url();
    return (fetch->url != NULL &&
            curl_url_set(fetch->url, CURLUPART_URL, fetch->request.url, 0) == CURLUE_OK) ||
           fail(fetch, "The address cannot be read.");
}

int main(void)
{
    static struct fetch fetch;
    const struct sma_confine_limits limits = {
        .memory_bytes = MEMORY_BYTES, .file_bytes = TEXT_BYTES_MAX, .cpu_s = CPU_S};
    if (!sma_confine_limit(&limits) || !read_request(&fetch.request))
        return 1;
    set_alarm(fetch.request.time_ms);
    (void)signal(SIGPIPE, SIG_IGN);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return 1;
    bool is_good = open_url(&fetch) && look_up_all(&fetch) &&
                   (read_signers(&fetch) || strncasecmp(fetch.request.url, "https:", 6) != 0 ||
                    fail(&fetch, "There are no certificates on this machine (ca-certificates).")) &&
                   set_up(&fetch);
    sma_markdown_load();
    sma_charset_load();
    if (!lock_in())
        return 1;
    is_good = is_good && perform(&fetch);
    return is_good ? answer_page(&fetch) : answer(json_pack("{s:s}", "error", fetch.error));
}
