/* address.c — see address.h. */
#include "runtime/model/address.h"

#include "sma/text.h"

#include <string.h>

static bool ends_with(struct sma_str text, const char *end)
{
    size_t len = strlen(end);
    return text.len >= len && memcmp(text.ptr + text.len - len, end, len) == 0;
}

static const char *path_of(const struct sma_config_llm *llm)
{
    return llm->api == SMA_LLM_RESPONSES  ? "/responses"
           : llm->api == SMA_LLM_MESSAGES ? "/messages"
                                          : "/chat/completions";
}

/* What stands before the query, without slashes at its end. */
static struct sma_str base_of(const struct sma_config_llm *llm)
{
    struct sma_str base = {llm->base_url, strcspn(llm->base_url, "?")};
    while (base.len > 0 && base.ptr[base.len - 1] == '/')
        base.len--;
    return base;
}

static void put(struct sma_buf *buf, const struct sma_config_llm *llm, struct sma_str base,
                const char *path)
{
    sma_buf_put_str(buf, base);
    if (!ends_with(base, path)) {
        if (llm->api == SMA_LLM_MESSAGES && !ends_with(base, "/v1"))
            sma_buf_put_text(buf, "/v1");
        sma_buf_put_text(buf, path);
    }
    const char *query = strchr(llm->base_url, '?');
    if (query != NULL)
        sma_buf_put_text(buf, query);
}

void sma_model_put_url(struct sma_buf *buf, const struct sma_config_llm *llm)
{
    put(buf, llm, base_of(llm), path_of(llm));
}

void sma_model_put_list_url(struct sma_buf *buf, const struct sma_config_llm *llm)
{
    struct sma_str base = base_of(llm);
    if (ends_with(base, path_of(llm)))
        base.len -= strlen(path_of(llm));
    put(buf, llm, base, "/models");
    if (llm->api == SMA_LLM_MESSAGES)
        sma_buf_put_text(buf, strchr(llm->base_url, '?') == NULL ? "?limit=200" : "&limit=200");
}

/* -- headers ----------------------------------------------------------------------------------- */
static bool is_named(const char *line, const char *name)
{
    size_t len = strlen(name);
    return strncasecmp(line, name, len) == 0 && line[len] == ':';
}

/* Does the owner send this header himself? Then ours is not added. */
static bool is_extra(const struct sma_config_llm *llm, const char *name)
{
    for (size_t i = 0; i < llm->extra_header_count; i++)
        if (is_named(llm->extra_headers[i], name))
            return true;
    return false;
}

struct headers
{
    const struct sma_config_llm *llm;
    sma_model_header_fn *each;
    void *user;
};

static SMA_CHECKED enum sma_err add(const struct headers *headers, const char *name,
                                    const char *before, const char *value)
{
    struct sma_buf line;
    if (is_extra(headers->llm, name))
        return SMA_ERR_OK;
    sma_buf_init(&line, 16384);
    sma_buf_put_text(&line, before);
    sma_buf_put_text(&line, value);
    enum sma_err err =
        line.err == SMA_ERR_OK ? headers->each(headers->user, name, line.ptr) : SMA_ERR_NOMEM;
    sma_buf_fini(&line);
    return err;
}

static SMA_CHECKED enum sma_err add_extra(const struct headers *headers, const char *line)
{
    char name[256];
    size_t len = strcspn(line, ":");
    /* A line break would make two headers of it; the configuration refuses it. */
    if (strpbrk(line, "\r\n") != NULL || line[len] == '\0' || len >= sizeof name)
        return SMA_ERR_OK;
    memcpy(name, line, len);
    name[len] = '\0';
    return headers->each(headers->user, name, line + len + 1 + strspn(line + len + 1, " "));
}

enum sma_err sma_model_headers(const struct sma_config_llm *llm, const char *key,
                               sma_model_header_fn *each, void *user)
{
    const struct headers headers = {llm, each, user};
    bool is_messages = llm->api == SMA_LLM_MESSAGES;
    const char *version = llm->anthropic_version;
    SMA_TRY(add(&headers, "Content-Type", "", "application/json"));
    if (is_messages)
        SMA_TRY(add(&headers, "anthropic-version", "",
                    version != NULL && version[0] != '\0' ? version : "2023-06-01"));
    if (key != NULL && key[0] != '\0')
        SMA_TRY(add(&headers, is_messages ? "x-api-key" : "Authorization",
                    is_messages ? "" : "Bearer ", key));
    for (size_t i = 0; i < llm->extra_header_count; i++)
        SMA_TRY(add_extra(&headers, llm->extra_headers[i]));
    return SMA_ERR_OK;
}
