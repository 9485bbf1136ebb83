/* support.h — reading golden files of tests/golden/llm and feeding decoders. Include once per test
 * program. */
#ifndef SMA_TEST_MODEL_SUPPORT_H
#define SMA_TEST_MODEL_SUPPORT_H

#include "runtime/model/decode.h"
#include "sma/sys.h"
#include "support/check.h"

static inline char *read_golden(const char *name, size_t *ret_len)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/llm/%s", SMA_SOURCE_DIR, name);
    char *bytes = NULL;
    CHECK_OK(sma_sys_read_file(sma_sys_real(), path, 1 << 20, &bytes, ret_len, NULL));
    return bytes;
}

/* The body of a vector: without the first line (where it comes from) and without a response
 * head. */
static inline struct sma_str vector_body(const char *bytes, size_t len)
{
    struct sma_str text = {bytes, len};
    CHECK(len > 0 && bytes[0] == '#');
    const char *end = memchr(bytes, '\n', len);
    CHECK(end != NULL);
    text = (struct sma_str){end + 1, len - (size_t)(end + 1 - bytes)};
    if (text.len > 5 && memcmp(text.ptr, "HTTP/", 5) == 0) {
        const char *head_end = memmem(text.ptr, text.len, "\r\n\r\n", 4);
        size_t gap = 4;
        if (head_end == NULL) {
            head_end = memmem(text.ptr, text.len, "\n\n", 2);
            gap = 2;
        }
        CHECK(head_end != NULL);
        size_t head_len = (size_t)(head_end - text.ptr) + gap;
        text = (struct sma_str){text.ptr + head_len, text.len - head_len};
    }
    return text;
}

static inline struct sma_config_llm test_llm(enum sma_llm_api api, const char *provider)
{
    return (struct sma_config_llm){
        .api = api,
        .provider = provider,
        .model = "m-1",
        .base_url = "http://127.0.0.1:1/v1",
        .api_key = "sk-test",
        .anthropic_version = "2023-06-01",
        .is_stream = true,
    };
}

static inline void feed_pieces(struct sma_decoder *decoder, struct sma_str body, size_t piece)
{
    for (size_t at = 0; at < body.len; at += piece)
        sma_decoder_feed(decoder, body.ptr + at, body.len - at < piece ? body.len - at : piece);
}

#endif
