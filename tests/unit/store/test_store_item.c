/*
 * Aim: an item of a batch that is damaged is undone alone, ended as failed, named; what came before
 * and after it in the batch stays. Weather undoes the whole batch.
 * Method: items that do known things, between two known changes.
 */
#include "actors/store/batch_priv.h"
#include "actors/store/item.h"
#include "actors/store/trouble.h"
#include "store_support.h"

static struct world w;

static const char *const CHAT = "test:chat:a";

static void begin_world(void)
{
    new_world(&w);
}

static bool has(const char *key)
{
    struct sma_buf value;
    sma_buf_init(&value, 100);
    enum sma_err err = sma_state_access_get(w.store->state, sma_str(key), &value);
    sma_buf_fini(&value);
    CHECK(err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND);
    return err == SMA_ERR_OK;
}

struct plan
{
    const char *key, *failed_key;
    enum sma_err err, second_err;
};

static enum sma_err write_and_fail(struct sma_store *store, void *ctx)
{
    const struct plan *plan = ctx;
    CHECK_INT(SMA_ERR_OK, sma_state_access_set(store->state, sma_str(plan->key), SMA_STR("1")));
    struct sma_state_chat *chat;
    CHECK_INT(SMA_ERR_OK,
              sma_state_chat_open(store->state, SMA_STR("test:chat:new"), SMA_STR("test"), &chat));
    CHECK(sma_store_chat(store, chat) != NULL);
    sma_store_note_finished(store, 77);
    return plan->err;
}

static enum sma_err end_failed(struct sma_store *store, void *ctx)
{
    const struct plan *plan = ctx;
    CHECK_INT(SMA_ERR_OK,
              sma_state_access_set(store->state, sma_str(plan->failed_key), SMA_STR("1")));
    return plan->second_err;
}

static struct store_item item_of(struct plan *plan)
{
    return (struct store_item){.step = write_and_fail,
                               .on_damage = end_failed,
                               .ctx = plan,
                               .name = "thing",
                               .remedy = "nothing to do",
                               .number = 5,
                               .chat_key = sma_str(CHAT)};
}

static void write_before(void)
{
    CHECK_INT(SMA_ERR_OK, sma_store_begin(w.store));
    CHECK_INT(SMA_ERR_OK, sma_state_access_set(w.store->state, SMA_STR("before"), SMA_STR("1")));
}

AFTER_EACH(end_world(&w))

CASE(a_damaged_item_is_undone_alone_and_ended_as_failed)
{
    begin_world();
    write_before();
    struct plan bad = {.key = "bad", .failed_key = "failed", .err = SMA_ERR_TOOBIG};
    struct plan good = {.key = "good"};
    struct store_item item = item_of(&bad);
    CHECK_INT(SMA_ERR_OK, sma_store_item(w.store, &item));
    CHECK_INT(SMA_ERR_TOOBIG, item.damage);
    CHECK(!item.is_stuck && w.store->batch->finished_count == 0);
    CHECK(sma_state_chat_get(w.store->state, SMA_STR("test:chat:new")) == NULL);
    item = item_of(&good);
    CHECK_INT(SMA_ERR_OK, sma_store_item(w.store, &item));
    CHECK_INT(SMA_ERR_OK, item.damage);
    sma_store_end_batch(w.store);
    CHECK(has("before") && has("failed") && has("good") && !has("bad"));
    CHECK(sma_store_has_trouble(w.store, "thing", sma_str(CHAT)));
    CHECK_INT(1, (long long)sma_gauge_get(SMA_GAUGE_store_troubles));
    end_world(&w);
    CHECK_INT(0, (long long)sma_gauge_get(SMA_GAUGE_store_troubles));
}

CASE(what_cannot_even_be_ended_is_left_alone)
{
    begin_world();
    write_before();
    struct plan bad = {.key = "bad",
                       .failed_key = "failed",
                       .err = SMA_ERR_BADINPUT,
                       .second_err = SMA_ERR_CORRUPT};
    struct store_item item = item_of(&bad);
    CHECK_INT(SMA_ERR_OK, sma_store_item(w.store, &item));
    CHECK(item.damage == SMA_ERR_BADINPUT && item.is_stuck);
    sma_store_end_batch(w.store);
    CHECK(has("before") && !has("failed") && !has("bad"));
}

CASE(weather_is_everybodys)
{
    begin_world();
    write_before();
    struct plan wet = {.key = "wet", .failed_key = "failed", .err = SMA_ERR_NOSPACE};
    struct store_item item = item_of(&wet);
    enum sma_err err = sma_store_item(w.store, &item);
    CHECK_INT(SMA_ERR_NOSPACE, err);
    CHECK_INT(SMA_ERR_OK, item.damage);
    sma_store_fail_batch(w.store, err);
    CHECK(!has("before") && !has("wet") && !has("failed"));
}

CASE(a_trouble_is_told_once_and_goes_when_healed)
{
    begin_world();
    const struct store_trouble trouble = {.name = "history",
                                          .chat_key = sma_str(CHAT),
                                          .what = "its file is a directory",
                                          .remedy = "move it away"};
    sma_store_trouble(w.store, &trouble);
    sma_store_trouble(w.store, &trouble);
    struct sma_buf json;
    sma_buf_init(&json, 4000);
    sma_store_put_troubles(w.store, &json);
    sma_buf_put_char(&json, '\0');
    CHECK(strstr(json.ptr, "\"chatKey\":\"test:chat:a\"") != NULL);
    CHECK(strstr(json.ptr, "\"count\":2") != NULL);
    CHECK(strstr(json.ptr, "\"remedy\":\"move it away\"") != NULL);
    sma_store_healed(w.store, "history", SMA_STR("test:chat:b"));
    CHECK(sma_store_has_trouble(w.store, "history", sma_str(CHAT)));
    sma_store_healed(w.store, "history", sma_str(CHAT));
    CHECK(!sma_store_has_trouble(w.store, "history", sma_str(CHAT)));
    sma_buf_fini(&json);
}

CASES_MAIN
