/*
 * Which request do the words of a message mean, if any? Consent means this card: docs/notes/approvals.md, "Whose words".
 *
 * A message that answers a card means that card. Any other can mean one only in private, right below it; in a group it may
 * refuse when it is said to us. What is forwarded, edited, an answer to something else, or dated before the card means none.
 * The receipt of a card keeps what is needed for that: the ids under which the platform knows it, and its date.
 */
#include "consent.h"
#include "consent_priv.h"
#include "facts.h"
#include "outbox.h"
#include "store.h"

#include "sma/text.h"

/* Our clock against a platform's: a message has to be that much younger than a card whose date only we know. */
#define CLOCK_TOLERANCE_MS 5000

/* -- the receipt of a card: "id\nreply id\ndate", the date behind '~' when it is of our clock ----------------------- */
struct mark
{
    struct sma_str id, reply_id;
    int64_t sent_ms; /* 0 = nobody knows: the receipt is of an older version */
    bool is_our_clock;
};

void sma_store_card_mark_put(struct sma_buf *buf, const struct sma_receipt *receipt,
                             int64_t wall_ms)
{
    const struct sma_str ids[] = {receipt->platform_message_id, receipt->reply_id};
    for (size_t i = 0; i < SMA_COUNT_OF(ids); i++) {
        if (ids[i].len > 0 && memchr(ids[i].ptr, '\n', ids[i].len) == NULL)
            sma_buf_put_str(buf, ids[i]);
        sma_buf_put_char(buf, '\n');
    }
    if (receipt->sent_ms <= 0)
        sma_buf_put_char(buf, '~');
    sma_buf_put_i64(buf, receipt->sent_ms > 0 ? receipt->sent_ms : wall_ms);
}

static struct sma_str take_line(struct sma_str *rest)
{
    const char *end = rest->len == 0 ? NULL : memchr(rest->ptr, '\n', rest->len);
    struct sma_str line = {rest->ptr, end == NULL ? rest->len : (size_t)(end - rest->ptr)};
    size_t gone = line.len + (end != NULL);
    *rest = (struct sma_str){gone == 0 ? rest->ptr : rest->ptr + gone, rest->len - gone};
    return line;
}

static struct mark read_mark(struct sma_str text)
{
    struct mark mark = {.id = take_line(&text), .reply_id = take_line(&text)};
    mark.is_our_clock = sma_str_starts_with(text, SMA_STR("~"));
    if (mark.is_our_clock)
        text = (struct sma_str){text.ptr + 1, text.len - 1};
    if (sma_parse_i64(text, 1, INT64_MAX - CLOCK_TOLERANCE_MS, &mark.sent_ms) != SMA_ERR_OK)
        mark.sent_ms = 0;
    return mark;
}

struct sma_str sma_store_card_mark_id(struct sma_str mark)
{
    return read_mark(mark).id;
}

/* -- a card in a chat ------------------------------------------------------------------------------------------------- */
struct sight
{
    const struct store_approval *approval;
    const struct store_chat *chat;
    const struct store_said *said;
    bool is_shown, is_answered; /* said answers it */
    bool is_before;             /* said is not dated after it */
};

static bool is_dated_after(const struct store_said *said, const struct mark *mark)
{
    if (said->sent_ms <=
        0) /* a channel without dates brings no old messages; one with dates has to say them */
        return mark->is_our_clock || mark->sent_ms == 0;
    if (mark->sent_ms == 0)
        return false;
    return said->sent_ms >= mark->sent_ms + (mark->is_our_clock ? CLOCK_TOLERANCE_MS : 0);
}

static bool is_named(struct sma_str id, struct sma_str answered)
{
    return id.len > 0 && sma_str_is_equal(id, answered);
}

/* A card that may not have arrived is agreed to by its button: who presses it has seen it. */
static enum sma_err note_sight(void *user, const struct sma_state_delivery *delivery)
{
    struct sight *sight = user;
    bool is_own = sight->approval->chat == sight->chat; /* it may have moved since */
    bool is_here = is_own ? sma_state_outbox_call(delivery->outbox_id) == STORE_CARD_CALL
                          : delivery->chat == sight->chat->state;
    if (delivery->intent != SMA_INTENT_APPROVAL_REQUEST || !is_here ||
        delivery->state != SMA_DELIVERY_SENT ||
        sma_state_outbox_step(delivery->outbox_id) != sight->approval->step)
        return SMA_ERR_OK;
    struct mark mark = read_mark(delivery->error);
    struct store_facts facts;
    enum sma_err err = sma_store_facts_get(delivery->route, &facts);
    if (err != SMA_ERR_OK)
        return err;
    /* The numbers of the place where the chat was before it moved mean other messages here. */
    const struct sma_str place = delivery->chat->place;
    bool is_same_place = place.len == 0 || sma_str_is_equal(place, facts.route.chat_id);
    sight->is_shown = true;
    sight->is_before = !is_dated_after(sight->said, &mark);
    sight->is_answered = is_same_place && (is_named(mark.id, sight->said->reply_to_id) ||
                                           is_named(mark.reply_id, sight->said->reply_to_id));
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err look(struct sma_store *store, struct store_approval *approval,
                                     const struct store_chat *chat, const struct store_said *said,
                                     struct sight *ret_sight)
{
    *ret_sight = (struct sight){.approval = approval, .chat = chat, .said = said};
    return sma_state_each_delivery(store->state, approval->seq, note_sight, ret_sight);
}

/* -- which request ---------------------------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err find_answered(struct sma_store *store,
                                              const struct store_chat *chat,
                                              const struct store_said *said,
                                              struct store_meant *ret_meant)
{
    struct sight sight;
    for (struct store_approval *at = store->consent->first; at != NULL; at = at->next) {
        if (!sma_store_is_shown_in(at, chat))
            continue;
        enum sma_err err = look(store, at, chat, said, &sight);
        if (err != SMA_ERR_OK)
            return err;
        if (sight.is_answered)
            *ret_meant = (struct store_meant){.approval = at, .how = STORE_MEANT_CARD};
    }
    return SMA_ERR_OK;
}

enum sma_err sma_store_find_meant(struct sma_store *store, const struct store_chat *chat,
                                  const struct store_said *said, struct store_meant *ret_meant)
{
    uint32_t count;
    *ret_meant = (struct store_meant){0};
    if (said->is_forward || said->is_edited)
        return SMA_ERR_OK;
    if (said->is_reply)
        return said->reply_to_id.len > 0 ? find_answered(store, chat, said, ret_meant) : SMA_ERR_OK;
    struct store_approval *approval = sma_store_approval_meant(store, chat, &count);
    if (approval == NULL)
        return SMA_ERR_OK;
    struct sight sight;
    enum sma_err err = look(store, approval, chat, said, &sight);
    if (err != SMA_ERR_OK || !sight.is_shown || sight.is_before)
        return err;
    *ret_meant = (struct store_meant){.approval = approval, .how = STORE_MEANT_BELOW};
    if (count > 1)
        ret_meant->how = STORE_MEANT_ONE_OF_SEVERAL;
    else if (said->is_group)
        ret_meant->how =
            said->addressed == SMA_ADDRESSED_NONE ? STORE_MEANT_TALK : STORE_MEANT_MENTION;
    else if (!sma_store_is_approval_fresh(store, approval, chat))
        ret_meant->how = STORE_MEANT_BURIED;
    return SMA_ERR_OK;
}
