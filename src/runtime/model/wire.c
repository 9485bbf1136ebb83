#include "wire_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

const struct sma_wire *sma_wire_get(enum sma_llm_api api)
{
    switch (api) {
    case SMA_LLM_RESPONSES:
        return &sma_wire_responses;
    case SMA_LLM_MESSAGES:
        return &sma_wire_messages;
    case SMA_LLM_CHAT:
    case SMA_LLM_OFFLINE:
        break;
    }
    return &sma_wire_chat;
}

const struct sma_wire *sma_wire_find(struct sma_str name)
{
    static const struct sma_wire *const all[] = {&sma_wire_chat, &sma_wire_responses,
                                                 &sma_wire_messages};
    for (size_t i = 0; i < SMA_COUNT_OF(all); i++)
        if (sma_str_is_equal(sma_str(all[i]->name), name))
            return all[i];
    return NULL;
}

void sma_wire_put_number(struct sma_buf *buf, double number)
{
    char text[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, number);
        if (strtod(text, NULL) == number)
            break;
    }
    char *comma = strchr(text, ',');
    if (comma != NULL)
        *comma = '.';
    sma_buf_put_text(buf, text);
}

void sma_wire_put_option(struct sma_buf *buf, const char *key, bool is_set, double number)
{
    if (!is_set || !isfinite(number))
        return;
    sma_buf_put_json_key(buf, key);
    sma_wire_put_number(buf, number);
}

void sma_wire_put_schema(struct sma_buf *buf, struct sma_str parameters_json)
{
    sma_buf_put_str(buf,
                    parameters_json.len > 0 ? parameters_json : SMA_STR(SMA_WIRE_NO_PARAMETERS));
}

void sma_wire_put_blocks(struct sma_buf *buf, const char *type, const struct sma_str *blocks,
                         size_t block_count)
{
    size_t filled_count = 0;
    struct sma_str only = {"", 0};
    for (size_t i = 0; i < block_count; i++)
        if (blocks[i].len > 0) {
            filled_count++;
            only = blocks[i];
        }
    sma_buf_put_text(buf, "\"content\":");
    if (filled_count <= 1) {
        sma_buf_put_json_string(buf, only);
        return;
    }
    char separator = '[';
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i].len == 0)
            continue;
        sma_buf_put_char(buf, separator);
        sma_buf_put_text(buf, "{\"type\":\"");
        sma_buf_put_text(buf, type);
        sma_buf_put_text(buf, "\",\"text\":");
        sma_buf_put_json_string(buf, blocks[i]);
        sma_buf_put_char(buf, '}');
        separator = ',';
    }
    sma_buf_put_char(buf, ']');
}

bool sma_wire_is_openai(const struct sma_config_llm *llm)
{
    if (strcasecmp(llm->provider, "openai") != 0)
        return false;
    return llm->base_url[0] == '\0' || strstr(llm->base_url, "//api.openai.com") != NULL;
}

bool sma_wire_has_stream_usage(const struct sma_config_llm *llm)
{
    static const char *const providers[] = {"openai", "deepseek",  "openrouter", "moonshot",
                                            "kimi",   "dashscope", "qwen"};
    static const char *const hosts[] = {"//api.openai.com", "//api.deepseek.com",
                                        "//openrouter.ai",  "//api.moonshot.",
                                        "//dashscope",      ".maas.aliyuncs.com"};
    for (size_t i = 0; i < SMA_COUNT_OF(providers); i++)
        if (strcasecmp(llm->provider, providers[i]) == 0)
            return true;
    for (size_t i = 0; i < SMA_COUNT_OF(hosts); i++)
        if (strstr(llm->base_url, hosts[i]) != NULL)
            return true;
    return false;
}

void sma_wire_put_tail(struct sma_buf *buf, const struct sma_target *target,
                       struct sma_str cache_key)
{
    (void)target;
    (void)cache_key;
    sma_buf_put_text(buf, "]}");
}

void sma_wire_put_user(struct sma_buf *buf, const struct sma_str *blocks, size_t block_count)
{
    sma_buf_put_text(buf, "{\"role\":\"user\",");
    sma_wire_put_blocks(buf, "text", blocks, block_count);
    sma_buf_put_char(buf, '}');
}

void sma_wire_put_assistant_text(struct sma_buf *buf, struct sma_str text)
{
    sma_buf_put_text(buf, "{\"role\":\"assistant\",\"content\":");
    sma_buf_put_json_string(buf, text);
    sma_buf_put_char(buf, '}');
}
