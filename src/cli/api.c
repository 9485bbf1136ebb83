/* api.c — see api.h. */
#include "api.h"

#include "chat_screen.h"
#include "cli.h"
#include "lock.h"
#include "sma/config.h"
#include "sma/plural.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <curl/curl.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CALL_MS 30000L

static void put_base(struct sma_cli_api *api, const char *host, int port)
{
    if (host == NULL || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0)
        host = "127.0.0.1";
    bool is_v6 = strchr(host, ':') != NULL;
    snprintf(api->base, sizeof api->base, "http://%s%s%s:%d", is_v6 ? "[" : "", host,
             is_v6 ? "]" : "", port);
}

static bool read_service_file(struct sma_cli_api *api)
{
    char path[sizeof api->state_dir + 32];
    snprintf(path, sizeof path, "%s/service.json", api->state_dir);
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len;
    if (sma_sys_read_file(sma_sys_real(), path, 65536, &bytes, &len, NULL) != SMA_ERR_OK)
        return false;
    json_t *root = json_loadb(bytes, len, 0, NULL);
    int port = (int)json_integer_value(json_object_get(root, "port"));
    put_base(api, json_string_value(json_object_get(root, "host")), port);
    json_decref(root);
    return port > 0;
}

/* SMA_API_TOKEN, else the file that the service made: who may read it is the user who runs the
 * service. No option takes the token, since every account of the machine can read the words of a
 * command. */
static void read_token(struct sma_cli_api *api)
{
    char path[sizeof api->state_dir + 32];
    const char *given = getenv("SMA_API_TOKEN");
    if (given != NULL && given[0] != '\0') {
        snprintf(api->token, sizeof api->token, "%s", given);
        return;
    }
    snprintf(path, sizeof path, "%s/api-token", api->state_dir);
    SMA_AUTO(sma_freep) char *token = NULL;
    size_t len;
    if (sma_sys_read_file(sma_sys_real(), path, sizeof api->token - 1, &token, &len, NULL) !=
        SMA_ERR_OK)
        return;
    struct sma_str text = sma_str_trim((struct sma_str){token, len});
    snprintf(api->token, sizeof api->token, "%.*s", (int)text.len, text.ptr);
}

/* The state folder is another user's: where the service listens can only be taken from the
 * configuration. */
static int open_as_stranger(const char *command, const char *folder, struct sma_cli_api *api)
{
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    read_token(api);
    if (api->token[0] == '\0')
        return sma_cli_fail("%s: %s belongs to another user: run this as the user who runs the "
                            "service, or put the API token into the variable SMA_API_TOKEN",
                            command, api->state_dir);
    if (sma_config_load(folder, NULL, NULL, NULL, &config, &error) != SMA_ERR_OK)
        return sma_cli_fail("%s: where the service listens is not known: %s", command, error.text);
    put_base(api, config->start_host, config->start_port);
    sma_config_destroy(config);
    return 0;
}

int sma_cli_api_open(const char *command, const char *folder, struct sma_cli_api *api)
{
    *api = (struct sma_cli_api){0};
    if (snprintf(api->state_dir, sizeof api->state_dir, "%s/.ship", folder) >=
        (int)sizeof api->state_dir)
        return sma_cli_fail("%s: the name of the folder is too long", command);
    char lock[sizeof api->state_dir + 32];
    snprintf(lock, sizeof lock, "%s/lock", api->state_dir);
    if (access(lock, R_OK) != 0 && errno == EACCES)
        return open_as_stranger(command, folder, api);
    if (!sma_lock_is_held(api->state_dir))
        return SMA_CLI_NOT_RUNNING;
    if (!read_service_file(api))
        return sma_cli_fail("%s: the service runs, but without HTTP (%s/service.json is missing)",
                            command, api->state_dir);
    read_token(api);
    return 0;
}

void sma_cli_api_say_not_running(const char *folder)
{
    char real[PATH_MAX], file[PATH_MAX + 16];
    if (realpath(folder, real) == NULL) {
        printf("not running: %s: %s\n", folder, strerror(errno));
        return;
    }
    snprintf(file, sizeof file, "%s/Agent.md", real);
    bool is_project = access(file, F_OK) == 0;
    if (is_project)
        printf("not running: %s; start it with `shipmyagent start %s`\n", real, folder);
    else
        printf("not running: %s (there is no Agent.md; name the folder of a project)\n", real);
}

static size_t collect(char *bytes, size_t size, size_t count, void *user)
{
    struct sma_buf *buf = user;
    sma_buf_put(buf, bytes, size * count);
    return buf->err == SMA_ERR_OK ? size * count : 0;
}

int sma_cli_api_call(const struct sma_cli_api *api, const char *command, const char *path,
                     const char *json, struct sma_buf *answer, long *ret_status)
{
    CURL *curl = curl_easy_init();
    if (curl == NULL)
        return sma_cli_fail("%s: out of memory", command);
    struct curl_slist *headers = NULL;
    char header[sizeof api->token + 64], url[sizeof api->base + 1024];
    snprintf(header, sizeof header, "Authorization: Bearer %s", api->token);
    snprintf(url, sizeof url, "%s%s", api->base, path);
    if (api->token[0] != '\0')
        headers = curl_slist_append(NULL, header);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (json != NULL)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, json);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, api->wait_ms > 0 ? api->wait_ms : CALL_MS);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    CURLcode code = curl_easy_perform(curl);
    if (code == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, ret_status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (code != CURLE_OK)
        return sma_cli_fail("%s: %s does not answer: %s", command, url, curl_easy_strerror(code));
    if (*ret_status == 401)
        return sma_cli_fail(
            "%s: the service does not take this token (%s): run this as the user "
            "who runs the service, or put the API token into the variable "
            "SMA_API_TOKEN",
            command, api->token[0] == '\0' ? "none was found" : "SMA_API_TOKEN or api-token");
    return 0;
}

void sma_cli_put_encoded(struct sma_buf *buf, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                        (*at >= '0' && *at <= '9') || strchr("-._~", *at) != NULL;
        if (is_plain)
            sma_buf_put_char(buf, (char)*at);
        else
            sma_buf_printf(buf, "%%%02X", *at);
    }
}

int sma_cli_api_get(const struct sma_cli_api *api, const char *command, const char *path,
                    json_t **ret_root, struct sma_buf *answer, long *ret_status)
{
    *ret_root = NULL;
    int status = sma_cli_api_call(api, command, path, NULL, answer, ret_status);
    if (status != 0 || *ret_status == 404)
        return status;
    if (*ret_status != 200)
        return sma_cli_fail("%s: %s answered HTTP %ld", command, api->base, *ret_status);
    *ret_root = json_loadb(answer->ptr, answer->len, 0, NULL);
    if (json_is_object(*ret_root))
        return 0;
    json_decref(*ret_root);
    *ret_root = NULL;
    return sma_cli_fail("%s: the service's answer is not JSON", command);
}

void sma_cli_print_clean(struct sma_str text)
{
    struct sma_buf clean; /* names are what projects and callers made them */
    sma_buf_init(&clean, 2 * SMA_CLI_ANSWER_BYTES_MAX);
    sma_chat_put_clean(&clean, text);
    for (size_t i = 0; i < clean.len; i++) {
        if (clean.ptr[i] == '\n' || clean.ptr[i] == '\t')
            clean.ptr[i] = ' ';
    }
    fputs(clean.ptr == NULL ? "" : clean.ptr, stdout);
    sma_buf_fini(&clean);
}

#define LINE_BYTES_SHOWN 300

void sma_cli_print_lines(struct sma_str text, const char *indent, size_t max)
{
    size_t shown = 0;
    while (text.len > 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        struct sma_str line = {text.ptr, end == NULL ? text.len : (size_t)(end - text.ptr)};
        text.ptr += line.len + (end != NULL);
        text.len -= line.len + (end != NULL);
        if (shown++ >= max)
            continue;
        bool is_long = line.len > LINE_BYTES_SHOWN;
        line.len = sma_utf8_cut(line, LINE_BYTES_SHOWN);
        fputs(indent, stdout);
        sma_cli_print_clean(line);
        puts(is_long ? " ..." : "");
    }
    if (shown > max)
        printf("%s... and %zu line%s more: look at the file itself\n", indent, shown - max,
               SMA_S(shown - max));
}
