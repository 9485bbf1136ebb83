/* memory_scope.c — see memory_scope.h. */
#include "runtime/memory/memory_scope.h"

#include "sma/chats.h"

struct sma_memory_scope sma_memory_scope_of(const struct sma_route *route, bool is_group,
                                            struct sma_buf *person)
{
    is_group |= sma_chat_type_is_group(route->chat_type);
    sma_buf_clear(person);
    if (route->user_id.len > 0) {
        sma_buf_put_str(person, route->channel);
        sma_buf_put_char(person, ':');
        sma_buf_put_str(person, route->user_id);
    } else if (!is_group) {
        sma_buf_put_text(person, "chat:");
        sma_buf_put_str(person, route->chat_key);
    }
    bool is_known = person->err == SMA_ERR_OK;
    return (struct sma_memory_scope){
        .person = is_known ? sma_buf_str(person) : SMA_STR(""),
        .group = is_group ? route->chat_key : SMA_STR(""),
    };
}

struct sma_memory_scope sma_memory_scope_of_chat(struct sma_str chat_key, struct sma_buf *person)
{
    sma_buf_clear(person);
    sma_buf_put_text(person, "chat:");
    sma_buf_put_str(person, chat_key);
    bool is_known = person->err == SMA_ERR_OK;
    return (struct sma_memory_scope){.person = is_known ? sma_buf_str(person) : SMA_STR(""),
                                     .group = is_known ? chat_key : SMA_STR("")};
}
