/*
 * telegram_call.c — the platform's part of sma_calls. The token stands in the URL and never ends:
 * there is none to fetch, and no header shows it.
 */
#include "telegram_priv.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

static void put_root_of(const struct telegram *telegram, const char *what, struct sma_buf *url)
{
    sma_buf_put_text(url, telegram->settings.api_root);
    sma_buf_put_text(url, what);
    sma_buf_put_text(url, telegram->settings.token);
    sma_buf_put_char(url, '/');
}

static void put_root(const void *state, struct sma_buf *url)
{
    put_root_of(state, "/bot", url);
}

const struct sma_call_ops telegram_call_ops = {.put_root = put_root};

/* A path of the platform's into a URL: everything but the plain characters is escaped. */
static void put_escaped_path(struct sma_buf *url, struct sma_str path)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~/";
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] != '\0' && strchr(plain, path.ptr[i]) != NULL)
            sma_buf_put_char(url, path.ptr[i]);
        else
            sma_buf_printf(url, "%%%02X", (unsigned)(unsigned char)path.ptr[i]);
}

void telegram_put_file_url(const struct telegram *telegram, struct sma_str file_path,
                           struct sma_buf *url)
{
    put_root_of(telegram, "/file/bot", url);
    put_escaped_path(url, file_path);
}

void telegram_describe(const struct sma_net_answer *answer, char text[200])
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    if (sma_json_load(answer->body, &root) != SMA_ERR_OK)
        root = NULL; /* what cannot be read says nothing */
    struct sma_str value = sma_json_str(root, "description");
    size_t len = sma_utf8_cut(value, 199);
    if (len > 0)
        memcpy(text, value.ptr, len);
    text[len] = '\0';
}

json_t *telegram_result(const struct sma_net_answer *answer, json_t **ret_root)
{
    *ret_root = NULL;
    if (answer->end != SMA_NET_ANSWERED || answer->status != 200 ||
        sma_json_load(answer->body, ret_root) != SMA_ERR_OK)
        return NULL;
    return json_is_true(json_object_get(*ret_root, "ok")) ? json_object_get(*ret_root, "result")
                                                          : NULL;
}

uint64_t telegram_backoff_ns(struct telegram *telegram, unsigned failure_count)
{
    return sma_adapter_backoff_ns(telegram->ctx, failure_count, TELEGRAM_BACKOFF_MAX_S);
}
