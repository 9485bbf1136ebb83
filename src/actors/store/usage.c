/*
 * What models used: sums by day, chat, person, platform and target, written by the transaction that stores the step or
 * the end that brings it. A repeated step brings nothing.
 */
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#define DAY_MS INT64_C(86400000)
#define STORE_USAGE_DAYS 30         /* asked for, when nobody says how many */
#define STORE_USAGE_LIST_COUNT 100u /* chats, people, platforms, targets */

enum sma_err sma_store_count_usage_of(struct sma_store *store, uint64_t seq,
                                      const struct sma_usage *usage, struct sma_str target)
{
    struct sma_state_head head;
    char person[SMA_ID_BYTES_MAX * 2 + 2];
    if (sma_usage_is_empty(usage))
        return SMA_ERR_OK;
    enum sma_err err = sma_state_head_get(store->state, seq, &head);
    if (err != SMA_ERR_OK)
        return err;
    const struct sma_state_chat *chat = sma_state_chat_by_id(store->state, head.chat_id);
    if (chat == NULL)
        return SMA_ERR_NOTFOUND;
    struct sma_str channel = chat->channel;
    int len = snprintf(person, sizeof person, "%.*s:%.*s", (int)channel.len, channel.ptr,
                       (int)head.user_id.len, head.user_id.ptr);
    if (target.len > SMA_LEARNED_BYTES_MAX)
        target.len = SMA_LEARNED_BYTES_MAX;
    return sma_state_usage_add(
        store->state,
        &(struct sma_state_usage_key){
            .day = sma_ctx_wall(store->ctx) / DAY_MS,
            .chat_id = chat->id,
            .person = {person, (size_t)len < sizeof person ? (size_t)len : sizeof person - 1},
            .platform = channel,
            .target = target},
        usage);
}

enum sma_err sma_store_count_usage(struct sma_store *store, struct store_run *run,
                                   const struct sma_usage *usage, struct sma_str target)
{
    if (sma_usage_is_empty(usage))
        return SMA_ERR_OK;
    sma_usage_add(&run->usage, usage);
    return sma_store_count_usage_of(store, run->seq, usage, target);
}

/* Members of an object that is open. */
void sma_store_put_usage_members(struct sma_buf *buf, const struct sma_usage *usage)
{
    sma_buf_put_json_number(buf, "requests", usage->request_count);
    sma_buf_put_json_number(buf, "input", usage->input);
    sma_buf_put_json_number(buf, "cached", usage->cached);
    sma_buf_put_json_number(buf, "written", usage->written);
    sma_buf_put_json_number(buf, "output", usage->output);
    sma_buf_put_json_number(buf, "reasoning", usage->reasoning);
    sma_buf_put_json_number(buf, "costNano", usage->cost_nano);
}

struct usage_json
{
    struct sma_store *store;
    struct sma_buf *buf;
    enum sma_state_usage_by by;
    bool is_any;
};

static void put_day(struct sma_buf *buf, int64_t day)
{
    char text[40];
    struct sma_buf time;
    sma_buf_init(&time, 64);
    sma_buf_put_iso_time(&time, day * DAY_MS);
    snprintf(text, sizeof text, "%.*s", time.len < 10 ? (int)time.len : 10, time.ptr);
    sma_buf_fini(&time);
    sma_buf_put_json_string(buf, sma_str(text));
}

static enum sma_err put_sum(void *user, int64_t key, struct sma_str name,
                            const struct sma_usage *usage)
{
    static const char *const keys[SMA_STATE_USAGE_BY_COUNT] = {
        [SMA_STATE_USAGE_BY_DAY] = "day",       [SMA_STATE_USAGE_BY_CHAT] = "chatKey",
        [SMA_STATE_USAGE_BY_PERSON] = "person", [SMA_STATE_USAGE_BY_PLATFORM] = "platform",
        [SMA_STATE_USAGE_BY_TARGET] = "target",
    };
    struct usage_json *json = user;
    struct sma_buf *buf = json->buf;
    sma_buf_put_text(buf, json->is_any ? ",{" : "{");
    json->is_any = true;
    if (json->by != SMA_STATE_USAGE_TOTAL)
        sma_buf_put_json_key(buf, keys[json->by]);
    if (json->by == SMA_STATE_USAGE_BY_DAY) {
        put_day(buf, key);
    } else if (json->by == SMA_STATE_USAGE_BY_CHAT) {
        const struct sma_state_chat *chat = sma_state_chat_by_id(json->store->state, (uint32_t)key);
        sma_buf_put_json_string(buf, chat != NULL ? chat->key : SMA_STR(""));
    } else if (json->by != SMA_STATE_USAGE_TOTAL) {
        sma_buf_put_json_string(buf, name);
    }
    sma_store_put_usage_members(buf, usage);
    sma_buf_put_char(buf, '}');
    return buf->err;
}

static void put_sums(struct sma_store *store, struct sma_buf *buf, const char *key,
                     const struct sma_state_usage_query *query)
{
    struct usage_json json = {.store = store, .buf = buf, .by = query->by};
    bool is_total = query->by == SMA_STATE_USAGE_TOTAL;
    sma_buf_put_json_key(buf, key);
    if (!is_total)
        sma_buf_put_char(buf, '[');
    if (sma_state_each_usage(store->state, query, put_sum, &json) != SMA_ERR_OK &&
        buf->err == SMA_ERR_OK)
        buf->err = SMA_ERR_IO;
    if (is_total && !json.is_any)
        (void)put_sum(&json, 0, SMA_STR(""), &(struct sma_usage){0}); /* buf keeps the error */
    if (!is_total)
        sma_buf_put_char(buf, ']');
}

void sma_store_put_usage(struct sma_store *store, struct sma_buf *buf,
                         const struct sma_query *query)
{
    static const struct
    {
        const char *key;
        enum sma_state_usage_by by;
        uint32_t row_max;
    } lists[] = {{"days", SMA_STATE_USAGE_BY_DAY, SMA_USAGE_DAYS},
                 {"chats", SMA_STATE_USAGE_BY_CHAT, STORE_USAGE_LIST_COUNT},
                 {"persons", SMA_STATE_USAGE_BY_PERSON, STORE_USAGE_LIST_COUNT},
                 {"platforms", SMA_STATE_USAGE_BY_PLATFORM, STORE_USAGE_LIST_COUNT},
                 {"targets", SMA_STATE_USAGE_BY_TARGET, STORE_USAGE_LIST_COUNT}};
    uint32_t days = query->limit == 0               ? STORE_USAGE_DAYS
                    : query->limit > SMA_USAGE_DAYS ? SMA_USAGE_DAYS
                                                    : query->limit;
    int64_t today = sma_ctx_wall(store->ctx) / DAY_MS;
    const struct sma_state_chat *chat =
        query->chat_key.len > 0 ? sma_state_chat_get(store->state, query->chat_key) : NULL;
    struct sma_state_usage_query asked = {.by = SMA_STATE_USAGE_TOTAL,
                                          .from_day = today - days + 1,
                                          .chat_id = chat != NULL ? chat->id : 0,
                                          .row_max = 1};
    if (query->chat_key.len > 0 && chat == NULL)
        asked.from_day = INT64_MAX; /* nobody has written there */
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_key(buf, "from");
    put_day(buf, today - days + 1);
    sma_buf_put_json_key(buf, "to");
    put_day(buf, today);
    put_sums(store, buf, "total", &asked);
    for (size_t i = 0; i < SMA_COUNT_OF(lists); i++) {
        asked.by = lists[i].by;
        asked.row_max = lists[i].row_max;
        put_sums(store, buf, lists[i].key, &asked);
    }
    sma_buf_put_char(buf, '}');
}
