/*
 * Which request do the words of a message mean, if any? The rules are in
 * runtime/approval/consent.h; here the cards are found that are shown in the chat, and what their
 * receipts tell of them.
 *
 * A message that answers a card means that card. Any other can mean one only in private, right
 * below it; in a group it may refuse when it is said to us. What is forwarded, edited, an answer to
 * something else, or dated before the card means none.
 */
#include "consent.h"
#include "consent_priv.h"
#include "facts.h"
#include "outbox.h"
#include "store.h"

/* A card in a chat, as it looks to who says something there. */
struct look
{
    bool is_shown, is_answered; /* what is said answers it */
    bool is_before;             /* what is said is not dated after it */
};

/* A card that may not have arrived is agreed to by its button: who presses it has seen it. */
static SMA_CHECKED enum sma_err look_at(const struct store_sight *sight,
                                        const struct sma_state_delivery *card,
                                        const struct sma_said *said, struct look *ret_look)
{
    if (card->intent != SMA_INTENT_APPROVAL_REQUEST || card->state != SMA_DELIVERY_SENT)
        return SMA_ERR_OK;
    struct sma_card_mark mark = sma_card_mark_parse(card->error);
    struct store_facts facts;
    SMA_TRY(sma_store_facts_get(card->route, &facts));
    /* The numbers of the place where the chat was before it moved mean other messages here. */
    const struct sma_str place = sight->chat->state->place;
    bool is_same_place = place.len == 0 || sma_str_is_equal(place, facts.route.chat_id);
    *ret_look = (struct look){.is_shown = true,
                              .is_before = !sma_said_is_after(said, &mark),
                              .is_answered = is_same_place && sma_said_answers(said, &mark)};
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err look(struct sma_store *store, const struct store_sight *sight,
                                     const struct sma_said *said, struct look *ret_look)
{
    struct sma_state_rows rows = {0};
    struct sma_state_delivery card;
    const struct store_approval *approval = sight->approval;
    *ret_look = (struct look){0};
    enum sma_err err = sma_state_delivery_read(
        store->state,
        sma_state_outbox_id(approval->seq, approval->step, STORE_CARD_CALL + sight->place), &rows,
        &card);
    if (err == SMA_ERR_OK)
        err = look_at(sight, &card, said, ret_look);
    sma_state_rows_free(&rows);
    /* A card that is not there, or cannot be read, nobody can mean by words. */
    bool is_none = err == SMA_ERR_NOTFOUND || err == SMA_ERR_BADINPUT ||
                   (err == SMA_ERR_CORRUPT && !sma_state_is_fatal(store->state));
    return is_none ? SMA_ERR_OK : err;
}

static SMA_CHECKED enum sma_err find_answered(struct sma_store *store,
                                              const struct store_chat *chat,
                                              const struct sma_said *said,
                                              struct store_meant *ret_meant)
{
    struct look seen;
    for (struct store_sight *at = sma_store_first_sight(store, chat); at != NULL; at = at->next) {
        SMA_TRY(look(store, at, said, &seen));
        if (seen.is_answered)
            *ret_meant = (struct store_meant){.approval = at->approval, .how = SMA_MEANT_CARD};
    }
    return SMA_ERR_OK;
}

/* May words said in this private chat mean the request: have we said nothing else since? */
static bool is_fresh(const struct sma_store *store, const struct store_sight *sight)
{
    return !sight->is_superseded &&
           (sight->place == 0 || !sma_queue_is_busy(store->queue, sight->chat->id));
}

enum sma_err sma_store_find_meant(struct sma_store *store, const struct store_chat *chat,
                                  const struct sma_said *said, struct store_meant *ret_meant)
{
    uint32_t count;
    *ret_meant = (struct store_meant){0};
    if (!sma_said_is_own(said))
        return SMA_ERR_OK;
    if (said->is_reply)
        return said->reply_to_id.len > 0 ? find_answered(store, chat, said, ret_meant) : SMA_ERR_OK;
    struct store_sight *sight = sma_store_sight_meant(store, chat, &count);
    if (sight == NULL)
        return SMA_ERR_OK;
    struct look seen;
    enum sma_err err = look(store, sight, said, &seen);
    if (err != SMA_ERR_OK || !seen.is_shown || seen.is_before)
        return err;
    *ret_meant = (struct store_meant){.approval = sight->approval,
                                      .how = sma_said_means(said, count, is_fresh(store, sight))};
    return SMA_ERR_OK;
}
