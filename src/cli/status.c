/*
 * status.c — `shipmyagent status`: ask the running service over its own HTTP API.
 */
#include "cli.h"

#include "chat_screen.h"
#include "lock.h"
#include "sma/buf.h"
#include "sma/config.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <curl/curl.h>
#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define NOT_RUNNING 3
#define ANSWER_BYTES_MAX (4 * 1024 * 1024)
#define TOKEN_BYTES_MAX 4096 /* as the HTTP adapter takes it */

struct service_address
{
    char url[512];
    char token[TOKEN_BYTES_MAX + 1];
};

static bool read_address(const char *state_dir, const char *configured_token,
                         struct service_address *address)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/service.json", state_dir);
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len;
    if (sma_sys_read_file(sma_sys_real(), path, 65536, &bytes, &len, NULL) != SMA_ERR_OK)
        return false;
    json_t *root = json_loadb(bytes, len, 0, NULL);
    const char *host = json_string_value(json_object_get(root, "host"));
    int port = (int)json_integer_value(json_object_get(root, "port"));
    if (host == NULL || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0)
        host = "127.0.0.1";
    bool is_v6 = strchr(host, ':') != NULL;
    snprintf(address->url, sizeof address->url, "http://%s%s%s:%d/api/status", is_v6 ? "[" : "",
             host, is_v6 ? "]" : "", port);
    json_decref(root);
    address->token[0] = '\0';
    if (configured_token[0] != '\0') {
        snprintf(address->token, sizeof address->token, "%s", configured_token);
        return port > 0;
    }
    snprintf(path, sizeof path, "%s/api-token", state_dir);
    SMA_AUTO(sma_freep) char *token = NULL;
    if (sma_sys_read_file(sma_sys_real(), path, TOKEN_BYTES_MAX, &token, &len, NULL) ==
        SMA_ERR_OK) {
        struct sma_str text = sma_str_trim((struct sma_str){token, len});
        snprintf(address->token, sizeof address->token, "%.*s", (int)text.len, text.ptr);
    }
    return port > 0;
}

static size_t collect(char *bytes, size_t size, size_t count, void *user)
{
    struct sma_buf *buf = user;
    sma_buf_put(buf, bytes, size * count);
    return buf->err == SMA_ERR_OK ? size * count : 0;
}

static int fetch(const struct service_address *address, struct sma_buf *answer)
{
    CURL *curl = curl_easy_init();
    if (curl == NULL)
        return sma_cli_fail("status: out of memory");
    struct curl_slist *headers = NULL;
    char header[TOKEN_BYTES_MAX + 64];
    snprintf(header, sizeof header, "Authorization: Bearer %s", address->token);
    if (address->token[0] != '\0')
        headers = curl_slist_append(NULL, header);
    curl_easy_setopt(curl, CURLOPT_URL, address->url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 5000L);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    CURLcode code = curl_easy_perform(curl);
    long http = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &http);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (code != CURLE_OK)
        return sma_cli_fail("status: %s does not answer: %s", address->url,
                            curl_easy_strerror(code));
    if (http != 200)
        return sma_cli_fail("status: %s answered HTTP %ld", address->url, http);
    return 0;
}

static void print_value(const char *name, const json_t *value)
{
    char *text = json_is_string(value) ? strdup(json_string_value(value))
                                       : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    struct sma_buf clean; /* names are what projects and callers made them */
    sma_buf_init(&clean, 2 * ANSWER_BYTES_MAX);
    sma_chat_put_clean(&clean, sma_str(text == NULL ? "out of memory" : text));
    for (size_t i = 0; i < clean.len; i++)
        if (clean.ptr[i] == '\n' || clean.ptr[i] == '\t')
            clean.ptr[i] = ' ';
    printf("  %-18s %s\n", name, clean.ptr == NULL ? "" : clean.ptr);
    sma_buf_fini(&clean);
    free(text);
}

static int print_answer(const struct sma_buf *answer)
{
    json_t *root = json_loadb(answer->ptr, answer->len, 0, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        return sma_cli_fail("status: the service's answer is not JSON");
    }
    const char *name, *inner_name;
    json_t *value, *inner;
    json_object_foreach(root, name, value)
    {
        if (!json_is_object(value)) {
            print_value(name, value);
            continue;
        }
        printf("%s\n", name);
        json_object_foreach(value, inner_name, inner) print_value(inner_name, inner);
    }
    json_decref(root);
    return 0;
}

/* The line that the tools actor wrote at its start: what holds commands. */
static void print_belts(const char *state_dir)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/belts", state_dir);
    SMA_AUTO(sma_freep) char *line = NULL;
    size_t len;
    if (sma_sys_read_file(sma_sys_real(), path, 4096, &line, &len, NULL) != SMA_ERR_OK)
        return;
    const char *colon = strstr(line, ": ");
    json_t *text = json_string(colon == NULL ? line : colon + 2);
    puts("tools");
    if (text != NULL)
        print_value("exec_shell", text);
    json_decref(text);
}

int sma_cli_status(int argc, char **argv)
{
    static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
    bool is_json = false;
    opterr = 0;
    int option;
    while ((option = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
        if (option != 'j')
            return sma_cli_bad_option(argv, optind - 1, optopt, "status");
        is_json = true;
    }
    char state_dir[PATH_MAX];
    snprintf(state_dir, sizeof state_dir, "%s/.ship", optind < argc ? argv[optind] : ".");
    /* a configuration that cannot be read (any more) only means: no token from there */
    struct sma_config *config = NULL;
    struct sma_error ignored;
    char configured_token[TOKEN_BYTES_MAX + 1] = "";
    if (sma_config_load(optind < argc ? argv[optind] : ".", NULL, NULL, NULL, &config, &ignored) ==
        SMA_ERR_OK)
        snprintf(configured_token, sizeof configured_token, "%s", config->api_token);
    sma_config_destroy(config);
    struct service_address address;
    if (!sma_lock_is_held(state_dir)) {
        puts("not running");
        return NOT_RUNNING;
    }
    if (!read_address(state_dir, configured_token, &address))
        return sma_cli_fail(
            "status: the service runs, but without HTTP (%s/service.json is missing)", state_dir);
    struct sma_buf answer;
    sma_buf_init(&answer, ANSWER_BYTES_MAX);
    int status = fetch(&address, &answer);
    if (status == 0 && is_json)
        status = fwrite(answer.ptr, 1, answer.len, stdout) != answer.len || puts("") < 0;
    else if (status == 0)
        status = print_answer(&answer);
    if (status == 0 && !is_json)
        print_belts(state_dir);
    sma_buf_fini(&answer);
    return status;
}
