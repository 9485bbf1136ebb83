/* messages.c — names of the message kinds, and routes copied into a message. */
#include "sma/messages.h"
#include "sma/text.h"

const char *sma_msg_kind_name(unsigned kind)
{
    static const char *const names[SMA_MSG_KIND_COUNT] = {[SMA_MSG_NONE] = "NONE",
#define X(name) [SMA_MSG_##name] = #name,
                                                          SMA_MSG_MAP(X)
#undef X
    };
    return kind < SMA_MSG_KIND_COUNT ? names[kind] : "UNKNOWN";
}

#define ROUTE_TEXT_MAP(X) \
    X(channel)            \
    X(chat_key)           \
    X(chat_id)            \
    X(chat_type)          \
    X(thread_id)          \
    X(message_id)         \
    X(user_id)            \
    X(user_name)          \
    X(language)

size_t sma_route_space(const struct sma_route *route)
{
    size_t bytes = 0;
#define X(field) bytes += route->field.len + 1;
    ROUTE_TEXT_MAP(X)
#undef X
    return bytes;
}

struct sma_route sma_route_dup(struct sma_msg *msg, const struct sma_route *route)
{
    struct sma_route copy = {.adapter = route->adapter};
#define X(field) copy.field = sma_msg_dup(msg, route->field);
    ROUTE_TEXT_MAP(X)
#undef X
    return copy;
}

/* One line of the headers is `name: value CR LF`; the parser that took them has refused everything
 * else. */
struct sma_str sma_webhook_header(const struct sma_webhook *webhook, const char *name)
{
    size_t name_len = strlen(name);
    struct sma_str rest = webhook->headers;
    while (rest.len > 0) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t line_len = end == NULL ? rest.len : (size_t)(end - rest.ptr) + 1;
        struct sma_str line = {rest.ptr, line_len};
        if (line.len > name_len && line.ptr[name_len] == ':' &&
            sma_str_is_equal_nocase((struct sma_str){line.ptr, name_len}, sma_str(name)))
            return sma_str_trim((struct sma_str){line.ptr + name_len + 1, line.len - name_len - 1});
        rest = (struct sma_str){rest.ptr + line_len, rest.len - line_len};
    }
    return (struct sma_str){NULL, 0};
}
