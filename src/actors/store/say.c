/*
 * say.c — the owner's program says something to a chat (POST /api/chats/:chatKey/messages): a
 * claim, a row and a delivery in one transaction. No run comes of it, and no model hears of it but
 * by the history, where the text stands once it is delivered.
 */
#include "facts.h"
#include "intake_priv.h"
#include "outbox.h"
#include "query.h"
#include "record.h"
#include "store.h"

#include "runtime/chat/state_read.h"
#include "sma/hooks.h"

/* As the last message that was answered there came. The texts live in rows. */
static SMA_CHECKED enum sma_err route_of_run(struct sma_store *store,
                                             const struct sma_state_chat *chat,
                                             struct sma_state_rows *rows,
                                             struct sma_route *ret_route)
{
    struct sma_state_message message;
    struct store_facts facts;
    uint64_t seq;
    enum sma_err err =
        sma_state_last_run(store->state, chat, sma_state_next_seq(store->state), &seq);
    if (err == SMA_ERR_OK)
        err = sma_state_message_read(store->state, seq, rows, &message);
    if (err == SMA_ERR_OK)
        err = sma_store_facts_get(message.facts, &facts);
    if (err != SMA_ERR_OK)
        return err;
    *ret_route = facts.route;
    if (facts.is_group) { /* it is for all of them */
        ret_route->user_id = SMA_STR("");
        ret_route->user_name = SMA_STR("");
    }
    return facts.route.chat_id.len > 0 ? SMA_ERR_OK : SMA_ERR_NOTFOUND;
}

struct seen
{
    struct sma_buf *text; /* of the slices */
    struct sma_route *route;
};

static enum sma_err take_contact(void *user, const struct sma_state_contact *contact)
{
    struct seen *seen = user;
    struct sma_buf *text = seen->text;
    const struct sma_str from[] = {contact->chat_id, contact->chat_type, contact->thread_id};
    struct sma_str *const to[] = {&seen->route->chat_id, &seen->route->chat_type,
                                  &seen->route->thread_id};
    if (sma_buf_reserve(text, from[0].len + from[1].len + from[2].len + 1) == NULL)
        return SMA_ERR_NOMEM;
    for (size_t i = 0; i < SMA_COUNT_OF(from); i++) {
        *to[i] = (struct sma_str){text->ptr + text->len, from[i].len};
        sma_buf_put_str(text, from[i]);
    }
    return SMA_ERR_OK;
}

/* What it came with is not answered; but where a topic is reached by replies alone, it is
 * replied to. */
static enum sma_err settle_reply(const struct sma_store *store, struct sma_route *route)
{
    int adapter = sma_store_adapter_of(store, route);
    if (route->thread_id.len == 0 || adapter < 0 ||
        !store->adapters[adapter].adapter->ops->capabilities.has_topics_by_reply)
        route->message_id = SMA_STR("");
    else if (route->message_id.len == 0)
        return SMA_ERR_NOTFOUND;
    return SMA_ERR_OK;
}

enum sma_err sma_store_find_route(struct sma_store *store, const struct sma_state_chat *chat,
                                  struct sma_state_rows *rows, struct sma_buf *text,
                                  struct sma_route *ret_route)
{
    *ret_route = (struct sma_route){.chat_id = SMA_STR("")};
    enum sma_err err = route_of_run(store, chat, rows, ret_route);
    if (err != SMA_ERR_OK) {
        if (sma_state_is_fatal(store->state))
            return err;
        *ret_route = (struct sma_route){.chat_id = SMA_STR("")};
        struct seen seen = {text, ret_route};
        SMA_TRY(sma_state_contact_in(store->state, chat->key, take_contact, &seen));
    }
    ret_route->channel = chat->channel;
    return settle_reply(store, ret_route);
}

static SMA_CHECKED enum sma_err deliver(struct sma_store *store, const struct sma_ingress *in,
                                        const struct sma_route *route, uint64_t seq)
{
    struct sma_step_delivery delivery = {
        .intent = SMA_INTENT_ASSISTANT_TEXT, .route = *route, .text = in->text};
    struct sma_step_delivery_state state;
    return sma_store_deliver(store,
                             &(struct store_delivery_facts){
                                 .seq = seq, .step = STORE_NOTICE_STEP, .stamps = &in->stamps},
                             &delivery, &state);
}

static SMA_CHECKED enum sma_err accept(struct sma_store *store, struct store_chat *chat,
                                       const struct sma_msg *msg, const struct sma_route *from)
{
    const struct sma_ingress *in = SMA_MSG_BODY((struct sma_msg *)msg, struct sma_ingress);
    struct sma_ingress row = *in; /* its text stands with its delivery */
    struct store_acceptance how = {.row_state = SMA_ROW_DONE, .is_unkept = true};
    struct sma_route route = *from;
    uint64_t seq;
    row.text = SMA_STR("");
    sma_store_follow_route(chat->state, &route);
    SMA_TRY(sma_store_write_row(store, chat, &row, &how, &seq));
    SMA_TRY(deliver(store, in, &route, seq));
    sma_store_accept_later(store, msg,
                           &(struct sma_accepted){.verdict = SMA_VERDICT_ACCEPTED, .seq = seq});
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err refuse(struct sma_store *store, const struct sma_msg *msg,
                                       enum sma_verdict verdict, struct sma_str reason)
{
    sma_store_accept_later(store, msg,
                           &(struct sma_accepted){.verdict = (uint8_t)verdict,
                                                  .retry_after_ms = 5000,
                                                  .why = SMA_REASON_CHAT_FULL,
                                                  .reason = reason});
    return SMA_ERR_OK;
}

enum sma_err sma_store_say(struct sma_store *store, const struct sma_msg *msg)
{
    const struct sma_ingress *in = SMA_MSG_BODY((struct sma_msg *)msg, struct sma_ingress);
    struct sma_state_chat *state_chat = sma_state_chat_get(store->state, in->route.chat_key);
    if (state_chat != NULL && sma_hook_is_channel(state_chat->channel))
        state_chat = NULL; /* what goes there is made here, and nowhere else */
    struct store_chat *chat = state_chat == NULL ? NULL : sma_store_chat(store, state_chat);
    if (state_chat == NULL)
        return refuse(store, msg, SMA_VERDICT_NO_CHAT,
                      SMA_STR("there is no such chat: GET /api/chats lists them"));
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    if (chat->row_count >= SMA_OUTBOX_CHAT_COUNT_MAX)
        return refuse(store, msg, SMA_VERDICT_REFUSED,
                      SMA_STR("too many messages are waiting to be delivered to this chat"));
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_buf text;
    struct sma_route route;
    sma_buf_init(&text, 4 * SMA_ID_BYTES_MAX);
    SMA_TRY(sma_store_begin(store));
    enum sma_err err = sma_store_find_route(store, state_chat, &rows, &text, &route);
    if (err == SMA_ERR_OK)
        err = accept(store, chat, msg, &route);
    else if (err == SMA_ERR_NOTFOUND)
        err = refuse(store, msg, SMA_VERDICT_NO_CHAT,
                     SMA_STR("nobody has been answered in this chat or is known to be in it, so "
                             "nobody knows where it is: wait until somebody writes there"));
    sma_buf_fini(&text);
    return err;
}
