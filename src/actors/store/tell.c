/* tell.c — something is said to a chat, as a delivery. See intake.h. */
#include "intake_priv.h"
#include "outbox.h"
#include "store.h"

bool sma_store_is_channel_quiet(const struct sma_route *route)
{
    /* Callers of these see the verdict and the progress themselves. */
    return sma_str_is_equal(sma_channel_home(route->channel), SMA_STR("api")) ||
           sma_str_is_equal(route->channel, SMA_STR("cli"));
}

enum sma_err sma_store_deliver_text(struct sma_store *store, const struct sma_route *route,
                                    uint64_t seq, struct sma_str text, bool is_about_cards)
{
    struct sma_step_delivery delivery = {
        .intent = SMA_INTENT_NOTICE, .route = *route, .text = text};
    struct sma_step_delivery_state state;
    return sma_store_deliver(store,
                             &(struct store_delivery_facts){.seq = seq,
                                                            .step = STORE_NOTICE_STEP,
                                                            .is_about_cards = is_about_cards},
                             &delivery, &state);
}

enum sma_err sma_store_tell(struct sma_store *store, const struct sma_route *route, uint64_t seq,
                            struct sma_str text)
{
    return sma_store_is_channel_quiet(route)
               ? SMA_ERR_OK
               : sma_store_deliver_text(store, route, seq, text, true);
}
