/* The rules of access.h in the order in which they are asked. */
#include "runtime/access/access.h"

static bool is_trusted_channel(struct sma_str channel)
{
    /* Whoever reaches these has passed the token or sits at the machine. */
    return sma_str_is_equal(channel, SMA_STR("api")) || sma_str_is_equal(channel, SMA_STR("cli"));
}

enum sma_access_decision sma_access_decide(const struct sma_access_event *event,
                                           const char **ret_reason)
{
    if (event->is_note) {
        *ret_reason = "a note is recorded only";
        return SMA_ACCESS_RECORD;
    }
    if (event->is_record_only) {
        *ret_reason = "backlog is recorded only";
        return SMA_ACCESS_RECORD;
    }
    if (event->address == SMA_ACCESS_ADDRESS_NONE && !is_trusted_channel(event->channel)) {
        *ret_reason = "not addressed to the bot";
        return SMA_ACCESS_RECORD;
    }
    *ret_reason = "";
    return SMA_ACCESS_RUN;
}
