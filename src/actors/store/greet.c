/* The first words in a group into which the bot was taken: people there know neither it nor how it
 * is talked to, and its owner does not know that the group has to be let in. */
#include "intake_priv.h"
#include "people.h"
#include "people_priv.h"
#include "store.h"

#include "sma/text.h"

#include <stdio.h>

#define PREFIX "greeting/"
#define DATE_MS_MAX (INT64_MAX / 4) /* another one is not believed */
#define SAME_JOIN_MS (SMA_NOTICE_INTERVAL_S * INT64_C(1000))

/* -- the join that was greeted last, by the platform's date ------------------------------------ */
static struct sma_str key_of(uint32_t chat_id, char key[48])
{
    snprintf(key, 48, PREFIX "%u", chat_id);
    return sma_str(key);
}

/* Some platforms say it twice, in two kinds of events that may be far apart; and a restart is none
 * of theirs. What is dated in the future counts for its own join alone. */
static SMA_CHECKED enum sma_err is_said(struct sma_store *store, const struct store_chat *chat,
                                        int64_t joined_ms, bool *ret_is_said)
{
    char key[48];
    struct sma_buf value;
    int64_t last_ms = 0;
    sma_buf_init(&value, 64);
    enum sma_err err = sma_state_access_get(store->state, key_of(chat->state->id, key), &value);
    bool is_known = err == SMA_ERR_OK && sma_parse_i64(sma_buf_str(&value), -DATE_MS_MAX,
                                                       DATE_MS_MAX, &last_ms) == SMA_ERR_OK;
    sma_buf_fini(&value);
    bool is_past = is_known && last_ms <= sma_ctx_wall(store->ctx);
    *ret_is_said = is_known && joined_ms < last_ms + SAME_JOIN_MS &&
                   (is_past || joined_ms > last_ms - SAME_JOIN_MS);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

static SMA_CHECKED enum sma_err keep_said(struct sma_store *store, const struct store_chat *chat,
                                          int64_t joined_ms)
{
    char key[48], value[32];
    snprintf(value, sizeof value, "%lld", (long long)joined_ms);
    return sma_state_access_set(store->state, key_of(chat->state->id, key), sma_str(value));
}

/* -- the greeting ------------------------------------------------------------------------------ */

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
    if (!in->is_group || welcome == SMA_ACCESS_WELCOME_NONE || word == STORE_GROUP_REJECTED ||
        sma_store_is_channel_quiet(&in->route) || is_long_ago(store, in))
        return SMA_ERR_OK;
    bool is_known;
    SMA_TRY(is_said(store, chat, in->sent_ms, &is_known));
    if (is_known)
        return SMA_ERR_OK;
    SMA_TRY(keep_said(store, chat, in->sent_ms));
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
