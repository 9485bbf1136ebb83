/*
 * qq_fresh.c — what was said or pressed last in each chat, to be answered instead of a message that
 * can be answered no more.
 *
 * A run that waited for consent is often over the time in which its own message may be answered,
 * and messages that answer nothing are mostly refused. The press or the word that gave consent may
 * be answered. Kept in memory only: after a restart there is none until somebody writes.
 */
#include "qq_priv.h"

#include "sma/text.h"

#include <stdio.h>

static bool is_chat(const struct qq_fresh *fresh, const struct sma_route *route)
{
    return fresh->message_id[0] != '\0' &&
           sma_str_is_equal(sma_str(fresh->chat_id), route->chat_id) &&
           sma_str_is_equal(sma_str(fresh->chat_type), route->chat_type);
}

static bool fits(const struct sma_route *route)
{
    const struct qq_fresh *none = NULL;
    return route->message_id.len > 0 && route->message_id.len < sizeof none->message_id &&
           route->chat_id.len > 0 && route->chat_id.len < sizeof none->chat_id &&
           route->chat_type.len < sizeof none->chat_type;
}

void qq_fresh_note(struct qq *qq, const struct sma_ingress *ingress)
{
    const struct sma_route *route = &ingress->route;
    bool is_person = ingress->kind == SMA_EVENT_MESSAGE || ingress->kind == SMA_EVENT_CONTROL ||
                     ingress->kind == SMA_EVENT_CALLBACK;
    struct qq_fresh *place = &qq->fresh[0]; /* of this chat, else the oldest */
    if (!is_person || ingress->addressed == SMA_ADDRESSED_NONE || !fits(route))
        return;
    for (size_t i = 0; i < QQ_FRESH_COUNT_MAX; i++) {
        if (is_chat(&qq->fresh[i], route)) {
            place = &qq->fresh[i];
            break;
        }
        if (qq->fresh[i].noted_ns < place->noted_ns)
            place = &qq->fresh[i];
    }
    *place = (struct qq_fresh){.noted_ns = sma_ctx_now(qq->ctx)};
    snprintf(place->chat_id, sizeof place->chat_id, "%.*s", (int)route->chat_id.len,
             route->chat_id.ptr);
    snprintf(place->chat_type, sizeof place->chat_type, "%.*s", (int)route->chat_type.len,
             route->chat_type.len == 0 ? "" : route->chat_type.ptr);
    snprintf(place->message_id, sizeof place->message_id, "%.*s", (int)route->message_id.len,
             route->message_id.ptr);
}

/* Its time to be answered, from when we heard of it. */
static bool is_over(const struct qq_fresh *fresh, uint64_t now_ns)
{
    bool is_c2c = strcmp(fresh->chat_type, "c2c") == 0;
    uint64_t window_s = (is_c2c ? QQ_WINDOW_C2C_S : QQ_WINDOW_OTHER_S) - QQ_WINDOW_MARGIN_S;
    return now_ns - fresh->noted_ns > window_s * SMA_NS_PER_S;
}

bool qq_fresh_take(struct qq *qq, const struct sma_attempt *attempt,
                   char message_id[SMA_ID_BYTES_MAX + 1])
{
    if (attempt->intent == SMA_INTENT_NOTICE || attempt->route.message_id.len == 0)
        /* not worth an answer that somebody else may need; or meant to answer nothing */
        return false;
    for (size_t i = 0; i < QQ_FRESH_COUNT_MAX; i++) {
        struct qq_fresh *fresh = &qq->fresh[i];
        if (!is_chat(fresh, &attempt->route) ||
            sma_str_is_equal(sma_str(fresh->message_id), attempt->route.message_id))
            continue;
        bool is_again = attempt->is_repeat && fresh->outbox_id == attempt->outbox_id &&
                        fresh->part == attempt->part;
        struct sma_attempt instead = *attempt;
        instead.route.message_id = sma_str(fresh->message_id);
        instead.part = 0;
        instead.reply_count = fresh->used_count - is_again;
        if (is_over(fresh, sma_ctx_now(qq->ctx)) || qq_way_choose(&instead) != QQ_PASSIVE)
            return false;
        fresh->used_count += !is_again;
        fresh->outbox_id = attempt->outbox_id;
        fresh->part = attempt->part;
        memcpy(message_id, fresh->message_id, sizeof fresh->message_id);
        return true;
    }
    return false;
}
