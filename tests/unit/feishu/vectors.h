/* vectors.h — the recorded samples of tests/vectors/feishu, for tests. */
#ifndef SMA_TEST_FEISHU_VECTORS_H
#define SMA_TEST_FEISHU_VECTORS_H

#include <jansson.h>

#include "support/check.h"

#define VECTORS SMA_SOURCE_DIR "/tests/vectors/feishu/"

static inline json_t *load_vectors(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, VECTORS "%s", name);
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL)
        fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
    CHECK(root != NULL);
    return root;
}

static inline struct sma_str text_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    CHECK(json_is_string(value));
    return (struct sma_str){json_string_value(value), json_string_length(value)};
}

static inline const json_t *named(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (sma_str_is_equal(text_of(item, "name"), sma_str(name)))
            return item;
    }
    fprintf(stderr, "no vector named %s\n", name);
    CHECK(false);
    return NULL;
}

/* Bytes of hex text, malloc'ed. */
static inline struct sma_str from_hex(struct sma_str hex)
{
    CHECK(hex.len % 2 == 0);
    char *bytes = malloc(hex.len / 2 + 1);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < hex.len / 2; i++) {
        unsigned byte = 0;
        CHECK(sscanf(hex.ptr + 2 * i, "%2x", &byte) == 1);
        bytes[i] = (char)byte;
    }
    return (struct sma_str){bytes, hex.len / 2};
}

static inline void free_str(struct sma_str text)
{
    union
    {
        const char *read;
        char *owned;
    } pointer = {.read = text.ptr};
    free(pointer.owned);
}

#endif
