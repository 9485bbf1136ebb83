/* fake_model_prefix.c — a conversation's earlier requests are the beginning of its later ones, byte
 * for byte. */
#include "fake_model.h"

#include <string.h>

#define SEEN_COUNT_MAX 8192
#define BODY_BYTES_MAX (16u << 20)

struct seen /* the prefix of a conversation */
{
    uint64_t key, hash;
    size_t len;
};

static struct seen prefixes[SEEN_COUNT_MAX];

static uint64_t hash_of(struct sma_str text)
{
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.ptr[i]) * 1099511628211u;
    return hash == 0 ? 1 : hash;
}

static struct seen *find_seen(uint64_t key)
{
    for (size_t i = 0; i < SEEN_COUNT_MAX; i++) {
        struct seen *seen = &prefixes[(key + i) % SEEN_COUNT_MAX];
        if (seen->key == key || seen->key == 0) {
            seen->key = key;
            return seen;
        }
    }
    return NULL;
}

/* The start of the first message that is not the system's, and its end: what names a
 * conversation. */
static struct sma_str first_message(struct sma_str body)
{
    const char *start = memmem(body.ptr, body.len, "{\"role\":\"user\"", 14);
    if (start == NULL)
        return (struct sma_str){"", 0};
    int depth = 0;
    bool is_in_string = false;
    for (const char *at = start; at < body.ptr + body.len; at++) {
        if (is_in_string) {
            if (*at == '\\')
                at++;
            else if (*at == '"')
                is_in_string = false;
        } else if (*at == '"') {
            is_in_string = true;
        } else if (*at == '{') {
            depth++;
        } else if (*at == '}' && --depth == 0) {
            return (struct sma_str){start, (size_t)(at + 1 - start)};
        }
    }
    return (struct sma_str){"", 0};
}

/* The end of the list of messages; what may follow it is no part of the conversation. */
static size_t list_end(struct sma_str body)
{
    const char *start = memmem(body.ptr, body.len, "\"messages\":[", 12);
    if (start == NULL)
        start = memmem(body.ptr, body.len, "\"input\":[", 9);
    int depth = 0;
    bool is_in_string = false;
    for (const char *at = start == NULL ? body.ptr + body.len : strchr(start, '[');
         at < body.ptr + body.len; at++) {
        if (is_in_string && *at == '\\')
            at++;
        else if (*at == '"')
            is_in_string = !is_in_string;
        else if (!is_in_string && (*at == '[' || *at == '{'))
            depth++;
        else if (!is_in_string && (*at == ']' || *at == '}') && --depth == 0)
            return (size_t)(at - body.ptr);
    }
    return body.len;
}

/* A request without what comes after its messages and without marks: they are no content, and they
 * move. */
static void put_bare(struct sma_buf *bare, struct sma_str body)
{
    static const char mark[] = ",\"cache_control\":{";
    const char *at = body.ptr, *end = body.ptr + list_end(body), *found;
    while ((found = memmem(at, (size_t)(end - at), mark, sizeof mark - 1)) != NULL) {
        sma_buf_put(bare, at, (size_t)(found - at));
        at = memchr(found, '}', (size_t)(end - found));
        at = at == NULL ? end : at + 1;
    }
    sma_buf_put(bare, at, (size_t)(end - at));
}

bool fake_has_moved_prefix(struct sma_str body)
{
    struct sma_str first = first_message(body);
    struct seen *seen = first.len == 0 ? NULL : find_seen(hash_of(first));
    struct sma_buf bare;
    if (seen == NULL)
        return false;
    sma_buf_init(&bare, BODY_BYTES_MAX);
    put_bare(&bare, body);
    bool is_moved = seen->len > 0 && (bare.len < seen->len ||
                                      hash_of((struct sma_str){bare.ptr, seen->len}) != seen->hash);
    seen->len = bare.len;
    seen->hash = hash_of(sma_buf_str(&bare));
    sma_buf_fini(&bare);
    return is_moved;
}
