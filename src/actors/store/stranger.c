/*
 * What is kept of people whom nobody knows: so much of a message, so many of one of them in a day,
 * so many of all. Beyond that a message is claimed, so that it stays a duplicate, and counted; its
 * text is not kept. Counts live in memory: a restart begins anew.
 */
#include "people_priv.h"
#include "store.h"

#include <assert.h>

#define DAY_NS (UINT64_C(86400) * 1000000000)
#define PERSON_COUNT \
    4096 /* remembered; a newer one takes the place of an older and lets it begin anew */
#define MARK " [...]"

struct store_strangers
{
    uint64_t day_ns; /* when counting began */
    bool has_day, is_told;
    uint32_t message_count, chat_count;
    struct
    {
        uint64_t hash;
        uint32_t count;
    } people[PERSON_COUNT];
};

static_assert(SMA_STRANGER_TEXT_BYTES_MAX + sizeof MARK <= sizeof((struct store_stranger *)0)->text,
              "a cut text has room");

static struct store_strangers *count_of_today(struct sma_store *store)
{
    uint64_t now = sma_ctx_now(store->ctx);
    if (store->people->strangers == NULL)
        store->people->strangers = calloc(1, sizeof *store->people->strangers);
    struct store_strangers *today = store->people->strangers;
    if (today != NULL && (!today->has_day || now - today->day_ns >= DAY_NS))
        *today = (struct store_strangers){.has_day = true, .day_ns = now};
    return today;
}

void sma_store_free_strangers(struct sma_store *store)
{
    free(store->people->strangers);
}

static uint32_t count_person(struct sma_store *store, struct store_strangers *today,
                             const struct sma_route *route)
{
    char bytes[2 * SMA_ID_BYTES_MAX];
    int len =
        snprintf(bytes, sizeof bytes, "%.*s/%.*s", (int)route->channel.len,
                 route->channel.ptr == NULL ? "" : route->channel.ptr, (int)route->user_id.len,
                 route->user_id.ptr == NULL ? "" : route->user_id.ptr);
    size_t used = (size_t)len < sizeof bytes ? (size_t)len : sizeof bytes - 1;
    uint64_t hash = sma_siphash(store->hash_key, bytes, used) | 1;
    if (today->people[hash % PERSON_COUNT].hash != hash) {
        today->people[hash % PERSON_COUNT].hash = hash;
        today->people[hash % PERSON_COUNT].count = 0;
    }
    return ++today->people[hash % PERSON_COUNT].count;
}

static void tell_once(struct sma_store *store, struct store_strangers *today)
{
    SMA_METRIC_ADD(strangers_dropped_total, 1);
    if (today->is_told)
        return;
    today->is_told = true;
    sma_ctx_log(store->ctx, SMA_LOG_WARN,
                "strangers: more than %d messages of one, or %d of all, came within a day; what is "
                "beyond is not kept (docs/notes/roles.md)",
                SMA_STRANGER_MESSAGE_COUNT_MAX, SMA_STRANGERS_MESSAGE_COUNT_MAX);
}

static bool cut(struct sma_str *text)
{
    if (text->len <= SMA_STRANGER_TEXT_BYTES_MAX)
        return false;
    *text = SMA_STR("");
    return true;
}

/* What runs without all that was said would be an answer to something else: a message that was cut
 * is only recorded. */
static void cut_message(struct store_stranger *said)
{
    struct sma_ingress *in = &said->in;
    if (in->text.len > SMA_STRANGER_TEXT_BYTES_MAX) {
        size_t len = sma_utf8_cut(in->text, SMA_STRANGER_TEXT_BYTES_MAX);
        memcpy(said->text, in->text.ptr, len);
        memcpy(said->text + len, MARK, sizeof MARK - 1);
        in->text = (struct sma_str){said->text, len + sizeof MARK - 1};
        said->fate = SMA_STRANGER_CUT;
    }
    bool is_cut = cut(&in->context);
    is_cut = cut(&in->preparation) || is_cut;
    (void)cut(&in->meta_json); /* for readers of the history only */
    if (is_cut)
        said->fate = SMA_STRANGER_CUT;
}

void sma_store_bound_stranger(struct sma_store *store, const struct sma_ingress *in,
                              struct store_stranger *ret_said)
{
    struct store_stranger *said = ret_said;
    said->in = *in;
    said->fate = SMA_STRANGER_UNKEPT; /* when there is no memory to count in */
    struct store_strangers *today = count_of_today(store);
    bool is_known = today != NULL;
    if (is_known)
        said->fate =
            sma_stranger_fate(count_person(store, today, &in->route), today->message_count + 1);
    if (is_known && said->fate != SMA_STRANGER_SILENT)
        today->message_count++;
    if (said->fate == SMA_STRANGER_KEPT) {
        cut_message(said);
        return;
    }
    said->in.text = said->in.context = said->in.preparation = said->in.meta_json = SMA_STR("");
    if (is_known)
        tell_once(store, today);
}

enum sma_err sma_store_may_open_chat(struct sma_store *store, const struct sma_ingress *in,
                                     bool *ret_may)
{
    bool is_stranger;
    *ret_may = true;
    if (sma_state_chat_get(store->state, in->route.chat_key) != NULL)
        return SMA_ERR_OK;
    enum sma_err err = sma_store_is_stranger(store, in, &is_stranger);
    if (err != SMA_ERR_OK || !is_stranger)
        return err;
    struct store_strangers *today = count_of_today(store);
    *ret_may = today == NULL || ++today->chat_count <= SMA_STRANGERS_CHAT_COUNT_MAX;
    if (!*ret_may)
        tell_once(store, today);
    return *ret_may && !in->is_group ? sma_store_stranger_note(store, &in->route) : SMA_ERR_OK;
}
