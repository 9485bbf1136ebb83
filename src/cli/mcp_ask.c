/* mcp_ask.c — one HTTP request of `shipmyagent mcp`, waited for. */
#include "mcp.h"

#include "sma/proxy.h"
#include "sma/text.h"

#include <curl/curl.h>
#include <stdio.h>

#define ASK_MS 30000L

static size_t take_body(char *bytes, size_t size, size_t count, void *user)
{
    struct sma_mcp_http *answer = user;
    sma_buf_put(&answer->body, bytes, size * count);
    return answer->body.err == SMA_ERR_OK ? size * count : 0;
}

static size_t take_head(char *bytes, size_t size, size_t count, void *user)
{
    static const char name[] = "WWW-Authenticate:";
    struct sma_mcp_http *answer = user;
    struct sma_str line = {bytes, size * count};
    if (line.len > sizeof name && answer->challenge[0] == '\0' &&
        sma_str_is_equal_nocase((struct sma_str){bytes, sizeof name - 1}, sma_str(name))) {
        line = sma_str_trim((struct sma_str){bytes + sizeof name - 1, line.len - sizeof name + 1});
        if (line.len < sizeof answer->challenge)
            (void)snprintf(answer->challenge, sizeof answer->challenge, "%.*s", (int)line.len,
                           line.ptr);
    }
    return size * count;
}

static bool set_proxy(CURL *curl, const struct sma_config *config)
{
    struct sma_proxy proxy = {.kind = SMA_PROXY_NONE};
    if (sma_proxy_parse(sma_str(config->proxy == NULL ? "" : config->proxy), &proxy) != SMA_ERR_OK)
        return false;
    if (proxy.kind == SMA_PROXY_ENVIRONMENT)
        return true;
    bool is_set = curl_easy_setopt(curl, CURLOPT_NOPROXY, "localhost,127.0.0.1,::1") == CURLE_OK &&
                  curl_easy_setopt(curl, CURLOPT_PROXY,
                                   proxy.kind == SMA_PROXY_NONE ? "" : proxy.name) == CURLE_OK;
    if (is_set && proxy.user[0] != '\0')
        is_set = curl_easy_setopt(curl, CURLOPT_PROXYUSERNAME, proxy.user) == CURLE_OK &&
                 curl_easy_setopt(curl, CURLOPT_PROXYPASSWORD, proxy.password) == CURLE_OK;
    explicit_bzero(&proxy, sizeof proxy);
    return is_set;
}

static void set_up(CURL *curl, const struct sma_oauth_ask *ask, struct sma_mcp_http *answer)
{
    curl_easy_setopt(curl, CURLOPT_URL, ask->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, ASK_MS);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "shipmyagent/" SMA_VERSION);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_head);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, answer);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, answer->error);
    if (strcmp(ask->method, "POST") != 0)
        return;
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->body.len);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, ask->body.len == 0 ? "" : ask->body.ptr);
}

void sma_mcp_http_ask(const struct sma_config *config, const struct sma_oauth_ask *ask,
                      struct sma_mcp_http *ret_answer)
{
    _Static_assert(sizeof ret_answer->error >= CURL_ERROR_SIZE, "libcurl's texts fit");
    struct curl_slist *headers = NULL;
    long status = 0;
    *ret_answer = (struct sma_mcp_http){.status = 0};
    sma_buf_init(&ret_answer->body, SMA_OAUTH_ANSWER_BYTES_MAX);
    CURL *curl = curl_easy_init();
    if (curl == NULL)
        return;
    for (size_t i = 0; i < ask->header_count; i++) {
        struct curl_slist *grown = curl_slist_append(headers, ask->headers[i]);
        headers = grown == NULL ? headers : grown;
    }
    set_up(curl, ask, ret_answer);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    CURLcode code = set_proxy(curl, config) ? curl_easy_perform(curl) : CURLE_COULDNT_RESOLVE_PROXY;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    /* a stream that goes on for ever has said its head */
    bool has_head = code == CURLE_OK || code == CURLE_OPERATION_TIMEDOUT;
    ret_answer->status = has_head ? (int)status : 0;
    if (code != CURLE_OK && ret_answer->error[0] == '\0')
        (void)snprintf(ret_answer->error, sizeof ret_answer->error, "%s", curl_easy_strerror(code));
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
}

void sma_mcp_http_fini(struct sma_mcp_http *answer)
{
    if (answer->body.ptr != NULL)
        explicit_bzero(answer->body.ptr, answer->body.cap);
    sma_buf_fini(&answer->body);
}
