/*
 * People who were never paired leave: retention.strangerDays after they last wrote, and beyond
 * retention.strangers the longest silent first. A stage of the retention pass, in three rounds over
 * the records "stranger/<chat key>", in slices:
 *
 *   COUNT  how many wrote how many days ago; the bound becomes a day
 *   CHATS  chats of those who leave are forgotten: turns, contacts, record
 *   FILES  of chats that are no more the history goes, and then the record that led here
 *
 * So the record goes last, and whatever a death leaves undone the next pass does. Codes, claims and
 * rows of messages go by their own retention. Nobody leaves who wrote today or yesterday: his code
 * is good, and what he wrote may come again.
 */
#include "item.h"
#include "people.h"
#include "people_priv.h"
#include "record.h"
#include "record_priv.h"
#include "runs.h"
#include "store.h"

#include "runtime/chat/state_read.h"

#define PREFIX "stranger/"
#define DAY_MS 86400000
#define STAY_DAYS 2     /* nobody leaves before */
#define COUNT_COUNT 256 /* records of a slice */
#define CHAT_COUNT 32
#define FILE_COUNT 32
#define ROW_COUNT 128 /* rows of one chat in a slice */

enum phase
{
    COUNT,
    CHATS,
    FILES,
    OVER,
};

/* -- records ----------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err write_record(struct sma_store *store, struct sma_str chat_key,
                                             struct sma_str value)
{
    struct sma_buf *key = &store->people->key;
    sma_buf_clear(key);
    sma_buf_put_text(key, PREFIX);
    sma_buf_put_str(key, chat_key);
    return key->err != SMA_ERR_OK ? key->err : sma_store_people_write(store, value);
}

enum sma_err sma_store_stranger_note(struct sma_store *store, const struct sma_route *route)
{
    struct sma_buf value;
    sma_buf_init(&value, 64 * 1024);
    sma_buf_put_char(&value, '{');
    sma_buf_put_json_member(&value, "channel", route->channel);
    sma_buf_put_json_member(&value, "chatId", route->chat_id);
    sma_buf_put_json_member(&value, "userId", route->user_id);
    sma_buf_put_char(&value, '}');
    enum sma_err err = value.err;
    if (err == SMA_ERR_OK)
        err = write_record(store, route->chat_key, sma_buf_str(&value));
    sma_buf_fini(&value);
    return err;
}

enum sma_err sma_store_stranger_stays(struct sma_store *store, struct sma_str chat_key)
{
    return write_record(store, chat_key, SMA_STR(""));
}

/* -- who leaves -------------------------------------------------------------------------------- */
struct stranger
{
    struct sma_str key, value;   /* of the chat; of the record */
    struct sma_state_chat *chat; /* NULL: it is no more */
    uint32_t silent;             /* days, less than STORE_SILENT_DAYS */
};

static SMA_CHECKED enum sma_err find_stranger(struct sma_store *store,
                                              const struct sma_state_record *record,
                                              struct stranger *ret_stranger)
{
    const size_t prefix = sizeof PREFIX - 1;
    const struct store_strangers_pass *pass = &store->people->leaving;
    *ret_stranger = (struct stranger){.key = {record->key.ptr + prefix, record->key.len - prefix},
                                      .value = record->value};
    enum sma_err err = sma_state_chat_find(store->state, ret_stranger->key, &ret_stranger->chat);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
    uint32_t seen = ret_stranger->chat->seen_day;
    uint32_t silent = seen == 0 || seen >= pass->today ? 0 : pass->today - seen;
    ret_stranger->silent = silent < STORE_SILENT_DAYS ? silent : STORE_SILENT_DAYS - 1;
    return SMA_ERR_OK;
}

/* The bound as a day: who wrote before it is one too many, and so are some of those who wrote on
 * it. */
static void set_limit(struct sma_store *store)
{
    struct store_strangers_pass *pass = &store->people->leaving;
    uint64_t count = 0, bound = (uint64_t)store->config->retention.stranger_count;
    pass->limit_day = STORE_SILENT_DAYS;
    pass->limit_left = 0;
    for (uint32_t day = 0; day < STORE_SILENT_DAYS && bound > 0; day++) {
        count += pass->silent[day];
        if (count <= bound)
            continue;
        pass->limit_day = day;
        pass->limit_left = count - bound;
        return;
    }
}

static bool is_over(const struct sma_store *store, const struct stranger *stranger)
{
    const struct store_strangers_pass *pass = &store->people->leaving;
    int days = store->config->retention.stranger_days;
    if (stranger->silent < STAY_DAYS)
        return false;
    if (days > 0 && stranger->silent > (uint32_t)days)
        return true;
    return stranger->silent > pass->limit_day ||
           (stranger->silent == pass->limit_day && pass->limit_left > 0);
}

/* Rules may be others now, and roles are given without a code, too. */
static SMA_CHECKED enum sma_err is_still_stranger(struct sma_store *store,
                                                  const struct stranger *stranger, bool *ret_is)
{
    json_t *root = json_loadb(stranger->value.ptr, stranger->value.len, 0, NULL);
    struct sma_ingress in = {.route = sma_store_people_get_route(root)};
    enum sma_err err = SMA_ERR_OK;
    *ret_is = false; /* nobody leaves by a record that cannot be read */
    if (in.route.channel.len > 0)
        err = sma_store_is_stranger(store, &in, ret_is);
    json_decref(root);
    return err;
}

static bool is_open(struct sma_store *store, struct sma_state_chat *chat)
{
    return sma_queue_is_busy(store->queue, chat->id) ||
           sma_queue_chat_waiting(store->queue, chat->id) > 0 ||
           sma_store_aside(store, chat->id) != NULL || !sma_store_let_go_chat(store, chat);
}

/* -- rounds ------------------------------------------------------------------------------------ */
static SMA_CHECKED enum sma_err count_one(struct sma_store *store, const struct stranger *stranger)
{
    if (stranger->chat != NULL)
        store->people->leaving.silent[stranger->silent]++;
    return SMA_ERR_OK;
}

/* EMPTY: there is more of him, in the next slice. */
static SMA_CHECKED enum sma_err forget_one(struct sma_store *store, const struct stranger *stranger)
{
    struct store_strangers_pass *pass = &store->people->leaving;
    if (stranger->chat == NULL || !is_over(store, stranger))
        return SMA_ERR_OK;
    bool is_stranger, is_gone = false;
    enum sma_err err = is_still_stranger(store, stranger, &is_stranger);
    if (err != SMA_ERR_OK || !is_stranger || is_open(store, stranger->chat))
        return err;
    uint32_t chat_id = stranger->chat->id;
    err = sma_state_chat_forget(store->state, stranger->chat, ROW_COUNT, &is_gone);
    if (err == SMA_ERR_BUSY) /* he leaves another time */
        return SMA_ERR_OK;
    if (err == SMA_ERR_OK && !is_gone)
        return SMA_ERR_EMPTY;
    if (err == SMA_ERR_OK)
        err = sma_store_forget_choice(store, chat_id);
    if (err == SMA_ERR_OK && stranger->silent == pass->limit_day && pass->limit_left > 0)
        pass->limit_left--;
    return err;
}

static SMA_CHECKED enum sma_err remove_files(struct sma_store *store,
                                             const struct stranger *stranger)
{
    struct sma_error error = {0};
    if (stranger->chat != NULL)
        return SMA_ERR_OK;
    enum sma_err err = sma_history_remove(store->history, stranger->key, &error);
    if (err == SMA_ERR_OK) {
        store->people->leaving.removed++;
        return sma_store_stranger_stays(store, stranger->key);
    }
    if (err == SMA_ERR_NOMEM)
        return err;
    if (err != SMA_ERR_BUSY && !store->people->leaving.is_told) {
        store->people->leaving.is_told = true;
        sma_ctx_log(store->ctx, SMA_LOG_WARN,
                    "retention: the history of %.*s stays, it is tried again in an hour: %s",
                    (int)stranger->key.len, stranger->key.ptr, error.text);
    }
    return SMA_ERR_OK;
}

static const struct
{
    uint32_t count; /* of a slice */
    enum sma_err (*look)(struct sma_store *store, const struct stranger *stranger);
} phases[] = {
    [COUNT] = {COUNT_COUNT, count_one},
    [CHATS] = {CHAT_COUNT, forget_one},
    [FILES] = {FILE_COUNT, remove_files},
};

/* *at: how many were dealt with. */
static SMA_CHECKED enum sma_err look_at(struct sma_store *store,
                                        const struct sma_state_records *records, size_t *at)
{
    for (*at = 0; *at < records->count; (*at)++) {
        struct stranger stranger;
        enum sma_err err = find_stranger(store, &records->items[*at], &stranger);
        if (err == SMA_ERR_OK)
            err = phases[store->people->leaving.phase].look(store, &stranger);
        if (err == SMA_ERR_EMPTY)
            return SMA_ERR_OK;
        if (err != SMA_ERR_OK && !sma_store_is_damage(store, err))
            return err; /* one that is damaged stays */
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err in_transaction(struct sma_store *store, bool *ret_is_round)
{
    struct store_strangers_pass *pass = &store->people->leaving;
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_records records = {0};
    uint32_t count = phases[pass->phase].count;
    size_t done = 0;
    enum sma_err err = sma_state_access_page(
        store->state,
        &(struct sma_state_page){
            .prefix = SMA_STR(PREFIX), .after = sma_buf_str(&pass->after), .count_max = count},
        &rows, &records);
    if (err == SMA_ERR_OK)
        err = look_at(store, &records, &done);
    if (err != SMA_ERR_OK)
        return err;
    *ret_is_round = done == records.count && records.count < count;
    if (done > 0) {
        sma_buf_clear(&pass->after);
        sma_buf_put_str(&pass->after, records.items[done - 1].key);
    }
    return pass->after.err;
}

static SMA_CHECKED enum sma_err one_slice(struct sma_store *store, bool *ret_is_round)
{
    enum sma_err err = sma_state_begin(store->state);
    if (err == SMA_ERR_OK)
        err = in_transaction(store, ret_is_round);
    if (err == SMA_ERR_OK)
        return sma_state_commit_lazy(store->state);
    if (sma_state_is_in_transaction(store->state))
        sma_state_rollback(store->state);
    return err;
}

/* Which archives there are is read before the first files go, a step at a time. */
static bool is_ready(struct sma_store *store)
{
    struct sma_error error = {0};
    bool is_read = true;
    if (store->people->leaving.phase != FILES)
        return true;
    return sma_history_rotation_step(store->history, &is_read, &error) != SMA_ERR_OK || is_read;
}

static void end_phase(struct sma_store *store)
{
    struct store_strangers_pass *pass = &store->people->leaving;
    if (pass->phase == COUNT)
        set_limit(store);
    sma_buf_clear(&pass->after);
    if (++pass->phase == OVER && pass->removed > 0)
        sma_ctx_log(store->ctx, SMA_LOG_INFO,
                    "retention: %llu people who were never paired have left, with their histories",
                    (unsigned long long)pass->removed);
}

void sma_store_strangers_begin(struct sma_store *store, int64_t now_ms)
{
    struct store_strangers_pass *pass = &store->people->leaving;
    sma_buf_clear(&pass->after);
    memset(pass->silent, 0, sizeof pass->silent);
    pass->removed = 0;
    pass->is_told = false;
    pass->today = (uint32_t)(now_ms / DAY_MS);
    pass->phase = now_ms > 0 ? COUNT : OVER;
}

enum sma_err sma_store_strangers_slice(struct sma_store *store, bool *ret_is_over)
{
    struct store_strangers_pass *pass = &store->people->leaving;
    bool is_round = false;
    enum sma_err err = SMA_ERR_OK;
    if (pass->phase != OVER && is_ready(store))
        err = one_slice(store, &is_round);
    if (err == SMA_ERR_OK && is_round)
        end_phase(store);
    *ret_is_over = pass->phase == OVER;
    return err;
}
