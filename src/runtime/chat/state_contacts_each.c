/* All contacts, for the projection of the address book. */
#include "state_priv.h"

enum sma_err sma_state_each_contact(struct sma_state *state, sma_state_contact_fn *each, void *user)
{
    for (size_t i = 0; i < state->contact_bucket_count; i++) {
        const struct sma_state_contact_entry *contact = state->contact_buckets[i];
        for (; contact != NULL; contact = contact->next) {
            enum sma_err err = each(user, &contact->pub);
            if (err != SMA_ERR_OK)
                return err;
        }
    }
    return SMA_ERR_OK;
}
