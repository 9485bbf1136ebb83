/*
 * net_request.c — one request, one answer, in memory or in a file. See net.h.
 *
 * What is told about a request that failed rests on one number of libcurl: how many bytes of the
 * request it has handed to the system. None: certainly not sent. Some: unknown. libcurl repeats a
 * request by itself when a connection it had kept ends without a byte of answer, also when the
 * whole request was sent; a message could arrive twice. So it is asked before each sending: a
 * second one is let through only when nothing had left yet or the caller said that a repetition is
 * harmless.
 */
#include "net_priv.h"

#include "sma/clock.h"
#include "sma/retry_after.h"
#include "sma/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUEST_MAGIC 0x6e657271u
#define MS 1000000u
#define CURL_TOO_LARGE 100 /* CURLE_TOO_LARGE of libcurl 8.6: 5,000 headers */

/* A field from memory, and how far it is read. */
struct net_part
{
    struct sma_str value;
    size_t at;
};

/* -- the end ----------------------------------------------------------------------------------- */
static void forget_body(struct sma_net_request *request)
{
    if (request->mime != NULL) {
        curl_easy_setopt(request->easy, CURLOPT_MIMEPOST, NULL);
        curl_mime_free(request->mime);
        request->mime = NULL;
    }
    free(request->parts);
    request->parts = NULL;
    curl_easy_setopt(request->easy, CURLOPT_POSTFIELDS, NULL);
    curl_easy_setopt(request->easy, CURLOPT_HTTPHEADER, NULL);
}

static void destroy_request(struct sma_net_request *request)
{
    if (request->easy != NULL) {
        forget_body(request);
        curl_easy_cleanup(request->easy);
    }
    sma_buf_fini(&request->header_text);
    sma_buf_fini(&request->body);
    request->magic = 0;
    free(request);
}

static void release(struct sma_net_request *request)
{
    struct sma_net *net = request->net;
    SMA_ASSERT(!request->is_open && !request->is_driven);
    if (net->pool_count == NET_POOL_COUNT_MAX || request->is_nameless) {
        destroy_request(request);
        return;
    }
    forget_body(request);
    if (request->body.cap > NET_KEPT_BYTES)
        sma_buf_fini(&request->body);
    request->next = net->pool;
    net->pool = request;
    net->pool_count++;
}

/* Off the network and out of the ring of open ones. */
static void take_out(struct sma_net_request *request)
{
    struct sma_net *net = request->net;
    SMA_ASSERT(request->is_open);
    if (request->is_driven)
        net_drive_stop(net, &request->drive);
    if (request->is_failed)
        net->failed_count--;
    request->is_driven = request->is_failed = request->is_open = false;
    request->previous->next = request->next;
    request->next->previous = request->previous;
    net->open_count--;
}

static void conclude(struct sma_net_request *request, enum sma_net_end end, const char *why)
{
    struct sma_net_answer answer = {
        .end = end, .retry_after_ms = request->retry_after_ms, .error = request->error};
    if (end == SMA_NET_ANSWERED || end == SMA_NET_TOO_BIG) {
        long status = 0;
        curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
        answer.status = (int)status;
    }
    if (end == SMA_NET_ANSWERED)
        answer.body = sma_buf_str(&request->body);
    if (answer.body.ptr == NULL)
        answer.body = SMA_STR("");
    answer.body_bytes = request->body_bytes;
    answer.log_id = sma_str(request->log_id);
    answer.type = sma_str(request->type);
    answer.date = sma_str(request->date);
    answer.cause = request->cause;
    bool is_straight = request->is_straight;
    request->error[0] = '\0';
    if (end != SMA_NET_ANSWERED)
        (void)snprintf(request->error, sizeof request->error, "%s%s%s: %s", request->host,
                       is_straight ? "" : " through proxy ",
                       is_straight ? "" : request->net->proxy.name, why);
    for (char *at = request->error; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20)
            *at = ' ';
    take_out(request);
    request->done(request->user, &answer);
    release(request); /* the answer lies in it */
}

static long bytes_out(const struct sma_net_request *request)
{
    long bytes = 0;
    curl_easy_getinfo(request->easy, CURLINFO_REQUEST_SIZE, &bytes);
    return bytes;
}

/* What a proxy was told before does not count: the server has seen none of it. */
static bool has_left(const struct sma_net_request *request)
{
    return request->is_sending && bytes_out(request) > request->tunnel_bytes;
}

static enum sma_net_cause cause_of(const struct sma_net_request *request, CURLcode code)
{
    bool has_proxy = !request->is_straight && request->net->proxy.kind != SMA_PROXY_ENVIRONMENT;
    if ((has_proxy && code == CURLE_COULDNT_CONNECT) ||
        strstr(request->curl_error, "CONNECT tunnel") != NULL)
        return SMA_NET_CAUSE_PROXY;
    switch (code) {
    case CURLE_OK:
        return SMA_NET_CAUSE_NONE;
    case CURLE_COULDNT_RESOLVE_HOST:
        return SMA_NET_CAUSE_NAME;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
        return SMA_NET_CAUSE_PROXY;
    case CURLE_COULDNT_CONNECT:
        return SMA_NET_CAUSE_CONNECT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
        return SMA_NET_CAUSE_CERTIFICATE;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
    case CURLE_USE_SSL_FAILED:
        return SMA_NET_CAUSE_TLS;
    case CURLE_OPERATION_TIMEDOUT:
        return SMA_NET_CAUSE_TIME;
    default:
        return SMA_NET_CAUSE_OTHER;
    }
}

static void on_ended(void *user, int code)
{
    struct sma_net_request *request = user;
    request->is_driven = false;
    request->cause = cause_of(request, (CURLcode)code);
    request->is_nameless = code == CURLE_COULDNT_RESOLVE_HOST;
    const char *why =
        request->curl_error[0] != '\0' ? request->curl_error : curl_easy_strerror((CURLcode)code);
    enum sma_net_end end = has_left(request) ? SMA_NET_UNKNOWN : SMA_NET_NOT_SENT;
    if (request->is_file_failed || code == CURLE_READ_ERROR) {
        end = SMA_NET_FILE_FAILED;
        why = request->is_file_failed ? "the answer cannot be written to its file"
                                      : "the file to upload cannot be read";
    } else if (request->is_too_big || code == CURLE_FILESIZE_EXCEEDED || code == CURL_TOO_LARGE) {
        end = SMA_NET_TOO_BIG;
        why = "the answer is over its limit";
    } else if (code == CURLE_OK) {
        long status = 0;
        curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
        end = status >= 200 ? SMA_NET_ANSWERED : SMA_NET_UNKNOWN;
        why = "no whole answer came";
    } else if (request->is_repeat_refused) {
        why = "the connection ended before an answer came";
    }
    conclude(request, end, why);
}

/* -- libcurl's callbacks ----------------------------------------------------------------------- */
static void note_heard(struct sma_net_request *request)
{
    struct sma_net *net = request->net;
    if (request->idle_ns == 0)
        return;
    request->heard_ns = sma_ctx_now(net->ctx);
    if (request->heard_ns + request->idle_ns < net->quiet_due_ns) {
        net->quiet_due_ns = request->heard_ns + request->idle_ns;
        net_arm(net);
    }
}

static int on_sending(void *user, char *peer, char *self, int peer_port, int self_port)
{
    struct sma_net_request *request = user;
    (void)peer;
    (void)self;
    (void)peer_port;
    (void)self_port;
    if (!request->is_sending)
        request->tunnel_bytes = bytes_out(request);
    bool is_first = !request->is_sending || !has_left(request);
    request->is_sending = true;
    if (request->may_repeat || is_first)
        return CURL_PREREQFUNC_OK;
    request->is_repeat_refused = true;
    return CURL_PREREQFUNC_ABORT;
}

static bool read_header(struct sma_str line, const char *name, struct sma_str *ret_value)
{
    size_t len = strlen(name);
    if (line.len <= len || line.ptr[len] != ':' ||
        !sma_str_is_equal_nocase((struct sma_str){line.ptr, len}, sma_str(name)))
        return false;
    *ret_value = sma_str_trim((struct sma_str){line.ptr + len + 1, line.len - len - 1});
    return true;
}

/* @return false: the request ends */
static bool hand_on_head(struct sma_net_request *request, struct sma_str line)
{
    const char *colon = line.len == 0 ? NULL : memchr(line.ptr, ':', line.len);
    request->head_bytes += line.len;
    request->is_too_big = request->head_bytes > NET_HEAD_BYTES_MAX;
    if (request->head == NULL || request->is_too_big)
        return !request->is_too_big;
    if (sma_str_starts_with(line, SMA_STR("HTTP/"))) {
        request->is_too_big = !request->head(request->user, SMA_STR(""), SMA_STR(""));
    } else if (colon != NULL) {
        size_t len = (size_t)(colon - line.ptr);
        struct sma_str value = sma_str_trim((struct sma_str){colon + 1, line.len - len - 1});
        request->is_too_big = !request->head(request->user, (struct sma_str){line.ptr, len}, value);
    }
    return !request->is_too_big;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *user)
{
    struct sma_net_request *request = user;
    struct sma_str line = {bytes, size * count}, value;
    note_heard(request);
    if (!hand_on_head(request, line))
        return 0;
    if (sma_str_starts_with(line, SMA_STR("HTTP/"))) { /* an interim answer may have come before */
        request->retry_after_ms = -1;
        request->log_id[0] = request->type[0] = request->date[0] = '\0';
    } else if (read_header(line, "content-type", &value)) {
        (void)snprintf(request->type, sizeof request->type, "%.*s", (int)value.len, value.ptr);
    } else if (read_header(line, "date", &value)) {
        (void)snprintf(request->date, sizeof request->date, "%.*s", (int)value.len, value.ptr);
    } else if (read_header(line, "retry-after", &value) ||
               (request->retry_after_ms < 0 &&
                read_header(line, "x-ogw-ratelimit-reset", &value))) { /* Feishu's word for it */
        request->retry_after_ms = sma_retry_after_parse(value, sma_ctx_wall(request->net->ctx));
    } else if (read_header(line, "x-tt-logid", &value) ||
               read_header(line, "x-tps-trace-id", &value) ||
               (request->log_id[0] == '\0' && read_header(line, "x-request-id", &value))) {
        (void)snprintf(request->log_id, sizeof request->log_id, "%.*s", (int)value.len, value.ptr);
    }
    return line.len;
}

static bool write_file(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t wrote = write(fd, bytes, len);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        bytes += wrote;
        len -= (size_t)wrote;
    }
    return true;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
    struct sma_net_request *request = user;
    size_t len = size * count;
    note_heard(request);
    if (request->bytes != NULL) {
        long status = 0;
        curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
        request->body_bytes += len;
        request->is_too_big =
            !request->bytes(request->user, (int)status, (struct sma_str){bytes, len});
        return request->is_too_big ? 0 : len;
    }
    if (len > request->answer_bytes_max - request->body_bytes) {
        request->is_too_big = true;
        return 0;
    }
    request->body_bytes += len;
    if (request->file > 0) {
        long status = 0;
        curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
        if (status >= 200 && status < 300) {
            request->is_file_failed = !write_file(request->file, bytes, len);
            return request->is_file_failed ? 0 : len;
        }
    }
    sma_buf_put(&request->body, bytes, len);
    return request->body.err == SMA_ERR_OK ? len : 0;
}

/* -- what is sent ------------------------------------------------------------------------------ */
static size_t on_part_read(char *place, size_t size, size_t count, void *user)
{
    struct net_part *part = user;
    size_t left = part->value.len - part->at;
    size_t len = size * count < left ? size * count : left;
    memcpy(place, part->value.ptr + part->at, len);
    part->at += len;
    return len;
}

static int on_part_seek(void *user, curl_off_t offset, int origin)
{
    struct net_part *part = user;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > part->value.len)
        return CURL_SEEKFUNC_CANTSEEK;
    part->at = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* A name of something else than a regular file could block the thread when it is opened. */
static bool is_readable_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, R_OK) == 0;
}

static enum sma_err add_field(struct sma_net_request *request, const struct sma_net_field *field,
                              struct net_part *state)
{
    curl_mimepart *part = curl_mime_addpart(request->mime);
    if (part == NULL || curl_mime_name(part, field->name) != CURLE_OK)
        return SMA_ERR_NOMEM;
    if (field->path != NULL) {
        if (!is_readable_file(field->path))
            return SMA_ERR_NOTFOUND;
        if (curl_mime_filedata(part, field->path) != CURLE_OK)
            return SMA_ERR_NOTFOUND;
    } else {
        state->value = field->value;
        if (curl_mime_data_cb(part, (curl_off_t)field->value.len, on_part_read, on_part_seek, NULL,
                              state) != CURLE_OK)
            return SMA_ERR_NOMEM;
    }
    if (field->file_name != NULL && curl_mime_filename(part, field->file_name) != CURLE_OK)
        return SMA_ERR_NOMEM;
    if (field->type != NULL && curl_mime_type(part, field->type) != CURLE_OK)
        return SMA_ERR_NOMEM;
    return SMA_ERR_OK;
}

/* OK | NOMEM | NOTFOUND: a file cannot be read. */
static enum sma_err set_fields(struct sma_net_request *request, const struct sma_net_ask *ask)
{
    request->mime = curl_mime_init(request->easy);
    request->parts = calloc(ask->field_count, sizeof *request->parts);
    if (request->mime == NULL || request->parts == NULL)
        return SMA_ERR_NOMEM;
    for (size_t i = 0; i < ask->field_count; i++) {
        SMA_TRY(add_field(request, &ask->fields[i], &request->parts[i]));
    }
    return curl_easy_setopt(request->easy, CURLOPT_MIMEPOST, request->mime) == CURLE_OK
               ? SMA_ERR_OK
               : SMA_ERR_NOMEM;
}

static enum sma_err set_body(struct sma_net_request *request, const struct sma_net_ask *ask)
{
    CURL *easy = request->easy;
    bool is_get = strcmp(ask->method, "GET") == 0, is_post = strcmp(ask->method, "POST") == 0;
    bool is_empty = ask->body.len == 0 && ask->field_count == 0;
    if (is_empty && (is_get || strcmp(ask->method, "DELETE") == 0)) {
        curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    } else {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->body.len);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, ask->body.len == 0 ? "" : ask->body.ptr);
    }
    const char *custom = (is_get && is_empty) || is_post ? NULL : ask->method;
    if (curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, custom) != CURLE_OK)
        return SMA_ERR_NOMEM;
    return ask->field_count > 0 ? set_fields(request, ask) : SMA_ERR_OK;
}

static bool is_header_line(const char *line)
{
    const char *colon = strchr(line, ':');
    return colon != NULL && colon > line && strpbrk(line, "\r\n") == NULL;
}

static bool is_content_type(const char *line)
{
    struct sma_str value;
    return read_header(sma_str(line), "content-type", &value);
}

/* The lines are copied into one buffer, the list lies in the request: nothing is allocated for the
 * next one. */
static enum sma_err set_headers(struct sma_net_request *request, const struct sma_net_ask *ask)
{
    struct curl_slist *nodes = request->header_nodes;
    size_t bytes = 0, count = 0;
    bool has_type = ask->field_count > 0 || ask->body.len == 0;
    for (size_t i = 0; i < ask->header_count; i++) {
        bytes += strlen(ask->headers[i]) + 1;
        has_type = has_type || is_content_type(ask->headers[i]);
    }
    sma_buf_clear(&request->header_text);
    char *place = sma_buf_reserve(&request->header_text, bytes + 1);
    if (place == NULL)
        return request->header_text.err == SMA_ERR_TOOBIG ? SMA_ERR_BADINPUT : SMA_ERR_NOMEM;
    for (size_t i = 0; i < ask->header_count; i++) {
        size_t len = strlen(ask->headers[i]) + 1;
        memcpy(place, ask->headers[i], len);
        nodes[count++].data = place;
        place += len;
    }
    static char no_expect[] = "Expect:", json[] = "Content-Type: application/json";
    nodes[count++].data = no_expect;
    if (!has_type)
        nodes[count++].data = json;
    for (size_t i = 0; i < count; i++)
        nodes[i].next = i + 1 < count ? &nodes[i + 1] : NULL;
    return curl_easy_setopt(request->easy, CURLOPT_HTTPHEADER, nodes) == CURLE_OK ? SMA_ERR_OK
                                                                                  : SMA_ERR_NOMEM;
}

/* -- requests ---------------------------------------------------------------------------------- */
static void set_for_good(struct sma_net_request *request)
{
    CURL *easy = request->easy;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT,
                     1L); /* cancelling must not wait for a name look-up */
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); /* not the server's */
    /* Not HTTP/2: when a server turns its connection over (GOAWAY), libcurl does not say which
     * requests it has seen, and a send whose fate is unknown may be shown twice. With one request
     * at a time on a connection that is rare. */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "shipmyagent/" SMA_VERSION);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->curl_error);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, request);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_sending);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, request);
}

/* Without a proxy the environment's is not taken: "" says so. */
static bool set_proxy(CURL *easy, const struct sma_proxy *proxy)
{
    if (curl_easy_setopt(easy, CURLOPT_NOPROXY, "localhost,127.0.0.1,::1") != CURLE_OK)
        return false;
    if (proxy->kind == SMA_PROXY_ENVIRONMENT) /* and its exceptions */
        return curl_easy_setopt(easy, CURLOPT_NOPROXY, NULL) == CURLE_OK;
    const char *name = proxy->kind == SMA_PROXY_NONE ? "" : proxy->name;
    if (curl_easy_setopt(easy, CURLOPT_PROXY, name) != CURLE_OK)
        return false;
    if (proxy->user[0] == '\0' && proxy->password[0] == '\0')
        return true;
    return curl_easy_setopt(easy, CURLOPT_PROXYUSERNAME, proxy->user) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROXYPASSWORD, proxy->password) == CURLE_OK;
}

static struct sma_net_request *take_request(struct sma_net *net)
{
    struct sma_net_request *request = net->pool;
    if (request != NULL) {
        net->pool = request->next;
        net->pool_count--;
        return request;
    }
    request = calloc(1, sizeof *request);
    if (request == NULL)
        return NULL;
    request->magic = REQUEST_MAGIC;
    request->net = net;
    sma_buf_init(&request->header_text, NET_HEADER_BYTES_MAX);
    request->easy = curl_easy_init();
    if (request->easy == NULL || sma_net_set_trust(net, request->easy) != SMA_ERR_OK ||
        !set_proxy(request->easy, &net->proxy)) {
        destroy_request(request);
        return NULL;
    }
    set_for_good(request);
    return request;
}

static bool starts_with_nocase(const char *text, const char *start)
{
    struct sma_str whole = sma_str(text);
    size_t len = strlen(start);
    return whole.len > len && sma_str_is_equal_nocase((struct sma_str){text, len}, sma_str(start));
}

/* The host and port of the URL, for errors: what comes before may be a password, what comes after a
 * token. */
static void note_host(struct sma_net_request *request, const char *url)
{
    const char *begin = strstr(url, "://") + 3;
    size_t len = strcspn(begin, "/?#");
    for (size_t i = len; i > 0; i--)
        if (begin[i - 1] == '@') {
            begin += i;
            len -= i;
            break;
        }
    (void)snprintf(request->host, sizeof request->host, "%.*s", (int)(len < 255 ? len : 255),
                   begin);
    struct sma_str host = {request->host, strcspn(request->host, ":")};
    request->is_straight = request->net->proxy.kind == SMA_PROXY_NONE ||
                           sma_str_is_equal_nocase(host, SMA_STR("localhost")) ||
                           sma_str_is_equal(host, SMA_STR("127.0.0.1")) ||
                           sma_str_starts_with(sma_str(request->host), SMA_STR("[::1]"));
}

static bool is_good(const struct sma_net_ask *ask)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    bool is_known = false;
    for (size_t i = 0; i < SMA_COUNT_OF(methods); i++)
        is_known = is_known || strcmp(ask->method, methods[i]) == 0;
    if (!is_known || ask->header_count > NET_HEADER_COUNT_MAX)
        return false;
    for (size_t i = 0; i < ask->header_count; i++)
        if (!is_header_line(ask->headers[i]))
            return false;
    return starts_with_nocase(ask->url, "http://") || starts_with_nocase(ask->url, "https://");
}

static void set_notes(struct sma_net_request *request, const struct sma_net_ask *ask)
{
    request->may_repeat = ask->may_repeat || strcmp(ask->method, "GET") == 0;
    request->is_failed = request->is_repeat_refused = request->is_too_big = false;
    request->is_file_failed = request->is_sending = false;
    request->tunnel_bytes = 0;
    request->answer_bytes_max =
        ask->answer_bytes_max == 0 ? NET_ANSWER_BYTES_DEFAULT : ask->answer_bytes_max;
    sma_buf_clear(&request->body);
    request->body.max = request->answer_bytes_max;
    request->body_bytes = request->head_bytes = request->heard_ns = 0;
    request->head = ask->head;
    request->bytes = ask->bytes;
    request->file = ask->file;
    request->idle_ns = (uint64_t)ask->idle_ms * MS;
    request->retry_after_ms = -1;
    request->log_id[0] = request->type[0] = request->date[0] = '\0';
    request->cause = SMA_NET_CAUSE_NONE;
    request->curl_error[0] = request->error[0] = '\0';
    request->done = ask->done;
    request->user = ask->user;
    note_host(request, ask->url);
}

static enum sma_err set_up(struct sma_net_request *request, const struct sma_net_ask *ask)
{
    CURL *easy = request->easy;
    long connect_ms = ask->connect_ms == 0 ? NET_CONNECT_MS_DEFAULT : (long)ask->connect_ms;
    long total_ms = ask->total_ms == 0                  ? NET_TOTAL_MS_DEFAULT
                    : ask->total_ms == SMA_NET_NO_LIMIT ? 0
                                                        : (long)ask->total_ms;
    bool is_stream = ask->bytes != NULL;
    set_notes(request, ask);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)sma_clock_wait_ms((uint64_t)connect_ms));
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)sma_clock_wait_ms((uint64_t)total_ms));
    curl_easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE,
                     is_stream ? (curl_off_t)0 : (curl_off_t)request->answer_bytes_max);
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, is_stream ? NULL : "");
    if (curl_easy_setopt(easy, CURLOPT_URL, ask->url) != CURLE_OK)
        return SMA_ERR_NOMEM;
    enum sma_err err = set_headers(request, ask);
    return err == SMA_ERR_OK ? set_body(request, ask) : err;
}

static void put_in(struct sma_net *net, struct sma_net_request *request)
{
    request->is_open = true;
    request->next = &net->open;
    request->previous = net->open.previous;
    request->previous->next = net->open.previous = request;
    net->open_count++;
}

enum sma_err sma_net_ask(struct sma_net *net, const struct sma_net_ask *ask,
                         struct sma_net_request **ret_request)
{
    if (!is_good(ask))
        return SMA_ERR_BADINPUT;
    struct sma_net_request *request = take_request(net);
    if (request == NULL)
        return SMA_ERR_NOMEM;
    enum sma_err err = set_up(request, ask);
    if (err == SMA_ERR_OK) {
        request->drive =
            (struct net_drive){.easy = request->easy, .ended = on_ended, .user = request};
        err = net_drive_start(net, &request->drive);
        request->is_driven = err == SMA_ERR_OK;
    }
    if (err == SMA_ERR_NOTFOUND) { /* not from here: done comes after the request was returned */
        request->is_failed = true;
        net->failed_count++;
        net_arm(net);
        err = SMA_ERR_OK;
    }
    if (err != SMA_ERR_OK) {
        release(request);
        return err;
    }
    put_in(net, request);
    if (ret_request != NULL)
        *ret_request = request;
    return SMA_ERR_OK;
}

void sma_net_cancel(struct sma_net_request *request)
{
    SMA_ASSERT(request->magic == REQUEST_MAGIC);
    if (!request->is_open) /* from inside its own done */
        return;
    take_out(request);
    release(request);
}

size_t sma_net_count(const struct sma_net *net)
{
    return net->open_count;
}

/* -- called by net.c --------------------------------------------------------------------------- */
static struct sma_net_request *find_due(struct sma_net *net, uint64_t now_ns)
{
    net->quiet_due_ns = UINT64_MAX;
    for (struct sma_net_request *at = net->open.next; at != &net->open; at = at->next) {
        if (at->is_failed)
            return at;
        if (at->idle_ns == 0 || at->heard_ns == 0)
            continue;
        uint64_t due_ns = at->heard_ns + at->idle_ns;
        if (now_ns >= due_ns)
            return at;
        if (due_ns < net->quiet_due_ns)
            net->quiet_due_ns = due_ns;
    }
    return NULL;
}

void net_requests_tick(struct sma_net *net, uint64_t now_ns)
{
    struct sma_net_request *request;
    while ((request = find_due(net, now_ns)) != NULL) {
        if (request->is_failed)
            conclude(request, SMA_NET_FILE_FAILED, "the file to upload cannot be read");
        else {
            request->cause = SMA_NET_CAUSE_TIME;
            conclude(request, SMA_NET_UNKNOWN, "the answer stopped before its end");
        }
    }
}

void net_requests_drop_all(struct sma_net *net)
{
    while (net->open.next != &net->open)
        sma_net_cancel(net->open.next);
    while (net->pool != NULL) {
        struct sma_net_request *request = net->pool;
        net->pool = request->next;
        destroy_request(request);
    }
    net->pool_count = 0;
}
