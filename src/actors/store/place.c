/*
 * place.c — a chat that a tool names (chat_send with chatId): is it one that this agent knows, and
 * where does a message to it go? Only chats that somebody has written in are known: an id that a
 * model has made up, or was told by a text it read, leads nowhere.
 */
#include "facts.h"
#include "outbox.h"
#include "people.h"
#include "query.h"
#include "query_priv.h"
#include "store.h"

#include "runtime/chat/state_read.h"
#include "sma/bot.h"
#include "sma/hooks.h"

#include <stdio.h>

struct place
{
    const struct sma_contact_ask *ask;
    struct sma_str channel;
    struct sma_state_chat *chat;
    struct sma_route route;
    int adapter; /* in store->adapters */
    bool is_group;
};

/* -- which chat -------------------------------------------------------------------------------- */
static struct sma_state_chat *look_up(struct sma_store *store, const struct place *place,
                                      const char *kind)
{
    const struct sma_contact_ask *ask = place->ask;
    struct sma_buf *key = &store->scratch.text;
    sma_buf_clear(key);
    sma_buf_put_str(key, place->channel);
    sma_buf_printf(key, ":%s:", kind);
    sma_buf_put_str(key, ask->chat_id);
    if (ask->thread_id.len > 0) {
        sma_buf_put_text(key, ":topic:");
        sma_buf_put_str(key, ask->thread_id);
    }
    return key->err == SMA_ERR_OK ? sma_state_chat_get(store->state, sma_buf_str(key)) : NULL;
}

/* The words in which platforms' chat keys say what a place is (protocols/project.md §5.1). */
static struct sma_state_chat *find_by_id(struct sma_store *store, const struct place *place)
{
    static const char *const kinds[] = {"chat", "group", "c2c", "channel", "dm"};
    struct sma_str said = place->ask->chat_type;
    struct sma_state_chat *chat = NULL;
    for (size_t i = 1; i < SMA_COUNT_OF(kinds) && chat == NULL; i++)
        if (sma_str_is_equal(said, sma_str(kinds[i])))
            chat = look_up(store, place, kinds[i]);
    for (size_t i = 0; i < SMA_COUNT_OF(kinds) && chat == NULL; i++)
        chat = look_up(store, place, kinds[i]);
    return chat;
}

/* A whole chat key names its channel itself. */
static struct sma_state_chat *find_by_key(struct sma_store *store, const struct place *place)
{
    const struct sma_contact_ask *ask = place->ask;
    if (ask->thread_id.len > 0 || ask->chat_id.len == 0 ||
        memchr(ask->chat_id.ptr, ':', ask->chat_id.len) == NULL)
        return NULL;
    struct sma_state_chat *chat = sma_state_chat_get(store->state, ask->chat_id);
    bool is_meant =
        chat != NULL && (ask->channel.len == 0 || sma_str_is_equal(chat->channel, ask->channel) ||
                         sma_str_is_equal(chat->channel, place->channel));
    return is_meant ? chat : NULL;
}

static void find_chat(struct sma_store *store, struct place *place)
{
    place->chat = find_by_key(store, place);
    if (place->chat == NULL)
        place->chat = find_by_id(store, place);
}

/* Of several bots of the platform the one that is spoken to. */
static struct sma_str channel_of(const struct sma_contact_ask *ask)
{
    bool is_own =
        ask->channel.len == 0 || sma_str_is_equal(ask->channel, sma_bot_platform(ask->asked_in));
    return is_own ? ask->asked_in : ask->channel;
}

static bool is_adapter(const struct sma_store *store, struct sma_str channel)
{
    return !sma_hook_is_channel(channel) &&
           sma_store_adapter_of(store, &(struct sma_route){.channel = channel}) >= 0;
}

/* -- the answer -------------------------------------------------------------------------------- */
static void answer(struct sma_store *store, const struct sma_msg *question,
                   const struct sma_contact_result *result)
{
    struct sma_msg *msg = sma_store_made(store, sma_msg_make_contact_result(result));
    sma_ctx_answer(store->ctx, question, &msg);
}

static void answer_none(struct sma_store *store, const struct sma_msg *question, const char *why)
{
    answer(store, question, &(struct sma_contact_result){.why = sma_str(why)});
}

/* "Ann (telegram:chat:1001)"; of a group what it is called on its platform. */
static struct sma_str put_whom(struct sma_store *store, const struct place *place)
{
    struct sma_buf *buf = &store->scratch.text;
    struct sma_str name = place->is_group ? place->route.chat_type : place->route.user_name;
    sma_buf_clear(buf);
    sma_buf_put_str(buf, name);
    sma_buf_put_text(buf, name.len > 0 ? " (" : "(");
    sma_buf_put_str(buf, place->chat->key);
    sma_buf_put_char(buf, ')');
    return buf->err == SMA_ERR_OK ? sma_buf_str(buf) : place->chat->key;
}

/* A stranger's chat, or a group that nobody of the owner's side has let in. */
static bool is_doubtful(struct sma_store *store, const struct place *place)
{
    if (place->is_group)
        return !sma_store_is_let_in(store, &place->route);
    return sma_store_standing(store, NULL, &place->route, false) <= SMA_STANDING_STRANGER;
}

static void answer_chat(struct sma_store *store, const struct sma_msg *question,
                        struct place *place, const struct sma_route *from)
{
    const struct sma_adapter *adapter = store->adapters[place->adapter].adapter;
    struct sma_route *route = &place->route;
    *route = *from;
    route->chat_key = place->chat->key;
    route->adapter = (uint8_t)adapter->actor;
    sma_store_follow_route(place->chat, route);
    if (place->ask->message_id.len > 0)
        route->message_id = place->ask->message_id;
    place->is_group = adapter->ops->is_group != NULL && adapter->ops->is_group(route);
    bool is_doubted = is_doubtful(store, place); /* before put_whom: it may need the scratch */
    answer(store, question,
           &(struct sma_contact_result){.is_found = true,
                                        .count = 1,
                                        .route = *route,
                                        .contact_json = SMA_STR("{}"),
                                        .is_doubtful = is_doubted,
                                        .whom = put_whom(store, place)});
}

/* @return whether there is such a place; else the question is answered */
static bool find_place(struct sma_store *store, const struct sma_msg *question, struct place *place)
{
    const struct sma_contact_ask *ask =
        SMA_MSG_BODY((struct sma_msg *)question, struct sma_contact_ask);
    *place = (struct place){.ask = ask, .channel = channel_of(ask)};
    if (ask->chat_id.len == 0) {
        answer_none(store, question,
                    "\"chatId\" is missing: nothing was sent. Call again with the id of the chat "
                    "on that platform, or with its chat key.");
        return false;
    }
    find_chat(store, place);
    struct sma_str channel = place->chat == NULL ? place->channel : place->chat->channel;
    if (!is_adapter(store, channel)) {
        answer_none(store, question,
                    "This channel is not configured here: nothing was sent. \"channel\" is the "
                    "platform of the other chat, as in its chat key.");
        return false;
    }
    if (place->chat == NULL) {
        answer_none(store, question,
                    "This agent does not know such a chat or topic: nothing was sent. It can only "
                    "write to chats that somebody has written to it in; chat_contact_lookup finds "
                    "people and the chats they were seen in.");
        return false;
    }
    place->adapter = sma_store_adapter_of(store, &(struct sma_route){.channel = channel});
    const struct sma_adapter_ops *ops = store->adapters[place->adapter].adapter->ops;
    const char *lack = ask->wants_files && !ops->capabilities.has_files   ? "takes no files"
                       : ask->wants_cards && !ops->capabilities.has_cards ? "has no cards"
                                                                          : NULL;
    if (lack != NULL) {
        char why[128];
        snprintf(why, sizeof why,
                 "The platform of that chat %s: nothing was sent. Send a text with chat_send.",
                 lack);
        answer_none(store, question, why);
    }
    return lack == NULL;
}

static void answer_place(struct sma_store *store, const struct sma_msg *question,
                         struct place *place)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_route from;
    struct sma_buf text;
    sma_buf_init(&text, 4 * SMA_ID_BYTES_MAX);
    if (sma_store_find_route(store, place->chat, &rows, &text, &from) == SMA_ERR_OK)
        answer_chat(store, question, place, &from);
    else
        answer_none(store, question,
                    "Nobody has been answered in this chat or is known to be in it, so nobody "
                    "knows where it is: nothing was sent.");
    sma_buf_fini(&text);
}

void sma_store_place(struct sma_store *store, struct sma_msg **msg)
{
    struct place place;
    if (!find_place(store, *msg, &place))
        return;
    if (place.ask->message_id.len > 0)
        sma_store_enqueue_search(store, msg);
    else
        answer_place(store, *msg, &place);
}

/* -- a message of it --------------------------------------------------------------------------- */
/* Platforms reply to a message wherever it is: one that this chat's history does not have may be of
 * another chat, and what is said would go there. */
void sma_store_place_query(struct sma_store *store, const struct sma_msg *question,
                           struct sma_history_query *ret_query)
{
    struct place place = {.ask = SMA_MSG_BODY((struct sma_msg *)question, struct sma_contact_ask)};
    place.channel = channel_of(place.ask);
    find_chat(store, &place);
    *ret_query =
        (struct sma_history_query){.chat_key = place.chat == NULL ? SMA_STR("") : place.chat->key,
                                   .limit = 1,
                                   .is_raw = true,
                                   .message_id = place.ask->message_id};
}

void sma_store_place_found(struct sma_store *store, struct store_search *search, enum sma_err err,
                           const struct sma_error *error)
{
    struct place place;
    uint32_t count = 0;
    bool is_cut;
    if (err == SMA_ERR_OK)
        (void)sma_history_read_items(search->reader, &count, &is_cut);
    if (err != SMA_ERR_OK)
        answer_none(store, search->question, error->text[0] ? error->text : sma_err_text(err));
    else if (count == 0)
        answer_none(store, search->question,
                    "No message with this id is known in that chat: nothing was done. "
                    "chat_load_history tells the ids of this chat's messages; without an id "
                    "it goes to the chat itself.");
    else if (find_place(store, search->question, &place))
        answer_place(store, search->question, &place);
}
