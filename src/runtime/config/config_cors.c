/* config_cors.c — api.cors: which origins a browser may call the HTTP API from. */
#include "config_load.h"

#include "sma/text.h"

#include <ctype.h>

#define ORIGIN_BYTES_MAX 255
#define ORIGIN_COUNT_MAX 64

/* "https://app.example.org", "http://localhost:5173": as browsers send it, without a path. */
static bool is_origin(const char *text)
{
    const char *host = strncmp(text, "http://", 7) == 0    ? text + 7
                       : strncmp(text, "https://", 8) == 0 ? text + 8
                                                           : NULL;
    if (host == NULL || host[0] == '\0' || strlen(text) > ORIGIN_BYTES_MAX)
        return false;
    for (const char *at = host; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr(".-:[]_", *at) == NULL)
            return false;
    return true;
}

static SMA_CHECKED enum sma_err check(struct loading *loading, const json_t *item)
{
    if (json_is_string(item) && strcmp(json_string_value(item), "*") == 0) {
        config_warn(loading, "api.cors holds \"*\": a page of any site may call the HTTP API of a "
                             "visitor who gives it the token");
        return SMA_ERR_OK;
    }
    if (json_is_string(item) && is_origin(json_string_value(item)))
        return SMA_ERR_OK;
    return sma_fail(
        loading->error, SMA_ERR_BADINPUT,
        "%s: api.cors: %.80s is not an origin; write it as \"https://app.example.org\", with "
        "its port and without a path, or \"*\"",
        loading->file, json_is_string(item) ? json_string_value(item) : "a member");
}

enum sma_err config_read_cors(struct loading *loading)
{
    const json_t *list = json_object_get(json_object_get(loading->root, "api"), "cors"), *item;
    struct sma_buf text;
    size_t index;
    loading->config->api_cors = "";
    if (list == NULL)
        return SMA_ERR_OK;
    if (!json_is_array(list) || json_array_size(list) > ORIGIN_COUNT_MAX)
        return sma_fail(loading->error, SMA_ERR_BADINPUT,
                        "%s: api.cors must be a list of at most %d origins", loading->file,
                        ORIGIN_COUNT_MAX);
    sma_buf_init(&text, (ORIGIN_BYTES_MAX + 1) * ORIGIN_COUNT_MAX + 1);
    json_array_foreach((json_t *)(uintptr_t)list, index, item)
    {
        enum sma_err err = check(loading, item);
        if (err != SMA_ERR_OK) {
            sma_buf_fini(&text);
            return err;
        }
        sma_buf_put_text(&text, index == 0 ? "" : " ");
        sma_buf_put_text(&text, json_string_value(item));
    }
    sma_buf_put_char(&text, '\0');
    loading->is_out_of_memory |= text.err != SMA_ERR_OK;
    loading->config->api_cors = config_keep_text(loading, text.err == SMA_ERR_OK ? text.ptr : "");
    sma_buf_fini(&text);
    return SMA_ERR_OK;
}
