/* card_send.c — the card of a request goes out, and follows what is decided. See consent_priv.h. */
#include "consent_priv.h"
#include "intake.h"
#include "outbox.h"
#include "store.h"

#define OUTCOME_BYTES_MAX (64 * 1024)

static void read_id(const char *text, uint8_t id[16])
{
    for (size_t i = 0; i < 16; i++) {
        unsigned byte = 0;
        (void)sscanf(text + 2 * i, "%2x", &byte); /* made by make_id */
        id[i] = (uint8_t)byte;
    }
}

void sma_store_fill_card(struct sma_store *store, const struct store_case *it,
                         const struct sma_route *to, struct sma_card_facts *card)
{
    bool is_elsewhere = !sma_str_is_equal(to->chat_key, sma_store_chat_key(it->approval->chat));
    *card = (struct sma_card_facts){
        .key = store->consent->key,
        .request = &it->request,
        .language = sma_store_language(store, to),
        .asker = sma_store_name_of(&it->facts.route),
        .place = is_elsewhere ? sma_store_chat_key(it->approval->chat) : SMA_STR(""),
        .expire_s = store->config->approvals_expire_s > 0 ? store->config->approvals_expire_s : 0,
        .offers_program = sma_store_offers_program(store, &it->request),
        .may_chat_decide = true};
    read_id(it->approval->id, card->id);
}

enum sma_err sma_store_send_card(struct sma_store *store, const struct store_case *it,
                                 const struct sma_step_delivery *delivery, uint32_t step,
                                 bool *ret_is_waiting)
{
    struct sma_step_delivery_state state;
    enum sma_err err = sma_store_deliver(
        store, &(struct store_delivery_facts){.seq = it->approval->seq, .step = step}, delivery,
        &state);
    if (err == SMA_ERR_OK && ret_is_waiting != NULL)
        *ret_is_waiting = state.state == SMA_DELIVERY_WAITING || state.state == SMA_DELIVERY_BEGUN;
    return err;
}

static SMA_CHECKED enum sma_err send_text(struct sma_store *store, struct store_case *it,
                                          const struct sma_step_delivery *delivery, uint32_t step,
                                          struct sma_str by, struct sma_str message_id)
{
    enum sma_request_outcome outcomes[SMA_TOOL_CALL_COUNT_MAX];
    struct sma_card_facts card;
    struct sma_step_delivery outcome = *delivery;
    struct sma_buf text;
    for (uint32_t i = 0; i < it->request.item_count; i++)
        outcomes[i] = (enum sma_request_outcome)it->items[i].outcome;
    sma_store_fill_card(store, it, &delivery->route, &card);
    sma_buf_init(&text, STORE_CARD_BYTES_MAX);
    sma_card_put_outcome(&text, &card, outcomes, by, message_id);
    outcome.text = sma_buf_str(&text);
    enum sma_err err =
        text.err == SMA_ERR_OK ? sma_store_send_card(store, it, &outcome, step, NULL) : text.err;
    sma_buf_fini(&text);
    return err;
}

/* Wherever somebody has seen this card, or may have. */
static SMA_CHECKED enum sma_err follow_card(struct sma_store *store, struct store_case *it,
                                            const struct sma_state_delivery *request, uint32_t step,
                                            struct sma_str by)
{
    struct store_facts facts;
    struct sma_buf message_id;
    bool is_gone = false; /* never shown: nothing to change */
    if (request->intent != SMA_INTENT_APPROVAL_REQUEST || request->state == SMA_DELIVERY_FAILED)
        return SMA_ERR_OK;
    sma_buf_init(&message_id, OUTCOME_BYTES_MAX);
    enum sma_err err = sma_store_facts_get(request->route, &facts);
    if (err == SMA_ERR_OK)
        err = sma_store_card_id(request, &message_id);
    if (err == SMA_ERR_OK)
        err = sma_store_withdraw(store, request->outbox_id, &is_gone);
    if (err == SMA_ERR_OK && !is_gone) {
        sma_store_follow_route(request->chat, &facts.route);
        err =
            send_text(store, it,
                      &(struct sma_step_delivery){.call = sma_state_outbox_call(request->outbox_id),
                                                  .intent = SMA_INTENT_APPROVAL_OUTCOME,
                                                  .route = facts.route},
                      step, by, sma_buf_str(&message_id));
    }
    sma_buf_fini(&message_id);
    return err;
}

enum sma_err sma_store_send_outcome(struct sma_store *store, struct store_case *it, uint32_t step,
                                    struct sma_str by)
{
    enum sma_err err = SMA_ERR_OK;
    for (uint32_t i = 0; i <= SMA_APPROVAL_HOME_COUNT_MAX && err == SMA_ERR_OK; i++) {
        struct sma_state_rows rows = {0};
        struct sma_state_delivery request;
        uint64_t id =
            sma_state_outbox_id(it->approval->seq, it->approval->step, STORE_CARD_CALL + i);
        err = sma_state_delivery_read(store->state, id, &rows, &request);
        if (err == SMA_ERR_OK)
            err = follow_card(store, it, &request, step, by);
        sma_state_rows_free(&rows);
        bool is_none = err == SMA_ERR_NOTFOUND || err == SMA_ERR_BADINPUT ||
                       (err == SMA_ERR_CORRUPT && !sma_state_is_fatal(store->state));
        err = is_none ? SMA_ERR_OK : err; /* a card that cannot be read stays as it is */
    }
    return err;
}
