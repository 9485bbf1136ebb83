/*
 * http_client.c — see http_client.h. Every failure is "no answer": the driver asks again.
 */
#include "http_client.h"

#include "support/check.h"
#include "support/openapi.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* -- tokens ------------------------------------------------------------------------------------ */
#define SERVICE_COUNT_MAX 64 /* of one test at a time; the oldest make room */

static struct
{
    int port;
    char token[128];
} services[SERVICE_COUNT_MAX];
static size_t service_count;
static pthread_mutex_t services_lock = PTHREAD_MUTEX_INITIALIZER;

void http_use_token_of(int port, const char *folder)
{
    char path[512], token[128] = "";
    snprintf(path, sizeof path, "%s/.ship/api-token", folder);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fgets(token, sizeof token, file) == NULL)
            token[0] = '\0';
        fclose(file);
    }
    token[strcspn(token, "\r\n")] = '\0';
    pthread_mutex_lock(&services_lock);
    size_t at = 0;
    while (at < service_count && at < SERVICE_COUNT_MAX && services[at].port != port)
        at++;
    if (at == service_count || at == SERVICE_COUNT_MAX)
        at = service_count++ % SERVICE_COUNT_MAX;
    services[at].port = port;
    memcpy(services[at].token, token, sizeof token);
    pthread_mutex_unlock(&services_lock);
}

void http_token_of(int port, char ret_token[128])
{
    ret_token[0] = '\0';
    pthread_mutex_lock(&services_lock);
    for (size_t i = 0; i < service_count && i < SERVICE_COUNT_MAX; i++)
        if (services[i].port == port)
            memcpy(ret_token, services[i].token, sizeof services[i].token);
    pthread_mutex_unlock(&services_lock);
}

/* The caller brings a token of its own, or none on purpose. */
static bool says_who(const char *headers)
{
    return strcasestr(headers, "authorization:") != NULL ||
           strcasestr(headers, "x-api-token:") != NULL || strstr(headers, HTTP_AS_STRANGER) != NULL;
}

/* Every JSON that a service answers is one that docs/openapi.json describes. */
static void check_described(const char *method, const char *path, const struct http_answer *answer)
{
    char request[600], why[200] = "";
    if (answer->status == 0 || (answer->body[0] != '{' && answer->body[0] != '[') ||
        strncmp(path, "/webhooks/", 10) == 0) /* platforms' own, and not in it */
        return;
    snprintf(request, sizeof request, "%s %s", method, path);
    pthread_mutex_lock(&services_lock); /* the document is read by one of the threads */
    bool is_described =
        openapi_describes(request, answer->status, "application/json", answer->body, why);
    pthread_mutex_unlock(&services_lock);
    if (!is_described)
        fprintf(stderr, "%s: %d: %s\n%.2000s\n", request, answer->status, why, answer->body);
    CHECK(is_described);
}

/* -- asking ------------------------------------------------------------------------------------ */
struct http_answer http_call(int port, const char *method, const char *path, const char *headers,
                             const char *body, size_t body_len, int timeout_ms)
{
    char lines[2048], token[128];
    int len = snprintf(lines, sizeof lines, "%s", headers);
    http_token_of(port, token);
    if (token[0] != '\0' && !says_who(headers))
        snprintf(lines + len, sizeof lines - (size_t)len, "Authorization: Bearer %s\r\n", token);
    struct http_answer answer = http_exchange(&(struct http_request){.port = port,
                                                                     .method = method,
                                                                     .path = path,
                                                                     .headers = lines,
                                                                     .body = body,
                                                                     .body_len = body_len,
                                                                     .timeout_ms = timeout_ms});
    if (token[0] != '\0') /* it is a service */
        check_described(method, path, &answer);
    return answer;
}

struct http_answer http_ask(int port, const char *path, const char *headers, const char *body,
                            int timeout_ms)
{
    char lines[1536];
    snprintf(lines, sizeof lines, "%s%s", headers,
             body == NULL ? "" : "Content-Type: application/json\r\n");
    return http_call(port, body == NULL ? "GET" : "POST", path, lines, body,
                     body == NULL ? 0 : strlen(body), timeout_ms);
}
