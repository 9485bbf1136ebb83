/* The first words in a group into which the bot was taken: people there know neither it nor how it
 * is talked to, and its owner does not know that the group has to be let in. */
#include "intake_priv.h"
#include "people.h"
#include "people_priv.h"
#include "store.h"

#define NOTICE_INTERVAL_NS (SMA_NOTICE_INTERVAL_S * UINT64_C(1000000000))

/* Some platforms say it twice, in two kinds of events. */
static bool is_said(const struct store_chat *chat, uint64_t now)
{
    return chat->greeting_ns != 0 && now - chat->greeting_ns < NOTICE_INTERVAL_NS;
}

/* What has no date is: so nobody is told of it. */
static bool is_long_ago(struct sma_store *store, const struct sma_ingress *in)
{
    return sma_ctx_wall(store->ctx) - in->sent_ms > (int64_t)SMA_GREETING_AGE_S_MAX * 1000;
}

enum sma_err sma_store_greet(struct sma_store *store, struct store_chat *chat,
                             const struct sma_ingress *in, uint64_t seq)
{
    enum store_group_word word;
    SMA_TRY(sma_store_group_word(store, &in->route, &word));
    enum sma_access_welcome welcome =
        sma_access_welcome(sma_store_rules_of(store, &in->route), word == STORE_GROUP_LET_IN);
    uint64_t now = sma_ctx_now(store->ctx);
    if (!in->is_group || welcome == SMA_ACCESS_WELCOME_NONE || word == STORE_GROUP_REJECTED ||
        sma_store_is_channel_quiet(&in->route) || is_said(chat, now) || is_long_ago(store, in))
        return SMA_ERR_OK;
    chat->greeting_ns = now | 1;
    enum sma_language language = sma_store_language(store, &in->route);
    struct sma_buf *text = &store->scratch.text;
    sma_buf_clear(text);
    sma_notice_format(text, language, SMA_NOTICE_JOINED, store->config->name);
    if (welcome != SMA_ACCESS_WELCOME_ANYONE)
        sma_notice_format(text, language,
                          welcome == SMA_ACCESS_WELCOME_FIRST ? SMA_NOTICE_JOINED_FIRST
                                                              : SMA_NOTICE_JOINED_CLOSED);
    SMA_TRY(text->err);
    return sma_store_deliver_text(store, &in->route, seq, sma_buf_str(text), false);
}
