/*
 * Aim: a chat keeps its key, a refused key rests as long as it should and no longer, and what is
 *      told about a rest is when it ends. Method: the pure table, with times made up.
 */
#include "runtime/model/keys.h"
#include "support/check.h"

#define SECOND UINT64_C(1000000000)
#define KEY_COUNT 3

static uint64_t ids[KEY_COUNT];

static struct sma_key_ask ask_of(uint64_t chat, uint64_t now_s)
{
    return (struct sma_key_ask){ids, KEY_COUNT, 7, chat, now_s * SECOND};
}

static size_t pick(struct sma_keys *keys, uint64_t chat, uint64_t now_s)
{
    struct sma_key_ask ask = ask_of(chat, now_s);
    struct sma_key_rest rest;
    size_t index = SIZE_MAX;
    CHECK(sma_keys_pick(keys, &ask, &index, &rest));
    return index;
}

/* Seconds until the first key is back; all must rest. */
static uint64_t back_s(struct sma_keys *keys, uint64_t now_s)
{
    struct sma_key_ask ask = ask_of(1, now_s);
    struct sma_key_rest rest = {0};
    size_t index;
    CHECK(!sma_keys_pick(keys, &ask, &index, &rest));
    CHECK(rest.end_ns > now_s * SECOND);
    return rest.end_ns / SECOND - now_s;
}

static void cool(struct sma_keys *keys, size_t index, enum sma_model_failure trouble,
                 uint64_t now_s, int64_t retry_after_ms)
{
    struct sma_key_rest refusal = {
        .key = ids[index], .model = 7, .begin_ns = now_s * SECOND, .trouble = (uint8_t)trouble};
    sma_keys_cool(keys, &refusal, retry_after_ms);
}

static void cool_all(struct sma_keys *keys, enum sma_model_failure trouble, uint64_t now_s,
                     int64_t retry_after_ms)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        cool(keys, i, trouble, now_s, retry_after_ms);
}

CASE(chats_spread_over_the_keys_and_stay)
{
    struct sma_keys keys = {0};
    size_t counts[KEY_COUNT] = {0};
    for (uint64_t chat = 0; chat < 300; chat++) {
        size_t first =
            pick(&keys, sma_keys_id(SMA_STR("chat"), (struct sma_str){(char *)&chat, 8}), 1);
        CHECK_INT(first,
                  pick(&keys, sma_keys_id(SMA_STR("chat"), (struct sma_str){(char *)&chat, 8}), 9));
        counts[first]++;
    }
    for (size_t i = 0; i < KEY_COUNT; i++)
        CHECK(counts[i] > 50);
}

CASE(only_the_chats_of_a_resting_key_move)
{
    struct sma_keys keys = {0};
    size_t before[100];
    for (uint64_t chat = 0; chat < 100; chat++)
        before[chat] = pick(&keys, chat, 1);
    cool(&keys, 1, SMA_MODEL_FAILURE_RATE, 1, -1);
    for (uint64_t chat = 0; chat < 100; chat++) {
        size_t now = pick(&keys, chat, 2);
        CHECK(now != 1);
        CHECK(before[chat] == 1 || now == before[chat]);
    }
    for (uint64_t chat = 0; chat < 100; chat++) /* and come back */
        CHECK_INT(before[chat], pick(&keys, chat, 31));
}

CASE(a_limit_of_rate_rests_longer_each_time_until_a_success)
{
    struct sma_keys keys = {0};
    cool_all(&keys, SMA_MODEL_FAILURE_RATE, 100, -1);
    CHECK_INT(30, back_s(&keys, 100));
    cool_all(&keys, SMA_MODEL_FAILURE_RATE, 101, -1); /* were under way: the same failure */
    CHECK_INT(30, back_s(&keys, 101));
    cool_all(&keys, SMA_MODEL_FAILURE_RATE, 200, -1);
    CHECK_INT(60, back_s(&keys, 200));
    cool_all(&keys, SMA_MODEL_FAILURE_RATE, 300, -1);
    CHECK_INT(300, back_s(&keys, 300));
    cool_all(&keys, SMA_MODEL_FAILURE_RATE, 700, -1);
    CHECK_INT(300, back_s(&keys, 700));
    for (size_t i = 0; i < KEY_COUNT; i++)
        sma_keys_praise(&keys, ids[i], 7, 1100 * SECOND);
    cool_all(&keys, SMA_MODEL_FAILURE_RATE, 1200, -1);
    CHECK_INT(30, back_s(&keys, 1200));
}

CASE(an_old_success_ends_no_rest)
{
    struct sma_keys keys = {0};
    cool_all(&keys, SMA_MODEL_FAILURE_RATE, 100, -1);
    for (size_t i = 0; i < KEY_COUNT; i++)
        sma_keys_praise(&keys, ids[i], 7, 99 * SECOND);
    CHECK_INT(30, back_s(&keys, 100));
}

CASE(what_the_server_says_counts_within_bounds)
{
    static const struct
    {
        int64_t told_ms;
        enum sma_model_failure trouble;
        uint64_t rest_s;
    } cases[] = {
        {0, SMA_MODEL_FAILURE_RATE, 1},
        {20, SMA_MODEL_FAILURE_RATE, 1},
        {7000, SMA_MODEL_FAILURE_RATE, 7},
        {999999999, SMA_MODEL_FAILURE_RATE, 3600},
        {INT64_MAX, SMA_MODEL_FAILURE_RATE, 3600},
        {-1, SMA_MODEL_FAILURE_QUOTA, 600},
        {5000, SMA_MODEL_FAILURE_QUOTA, 600},
        {1800000, SMA_MODEL_FAILURE_QUOTA, 1800},
        {-1, SMA_MODEL_FAILURE_AUTH, 600},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_keys keys = {0};
        cool_all(&keys, cases[i].trouble, 10, cases[i].told_ms);
        CHECK_INT(cases[i].rest_s, back_s(&keys, 10));
    }
}

CASE(rate_rests_one_model_and_money_all)
{
    struct sma_keys keys = {0};
    cool_all(&keys, SMA_MODEL_FAILURE_RATE, 10, -1);
    struct sma_key_ask sibling = {ids, KEY_COUNT, 8, 1, 11 * SECOND};
    struct sma_key_rest rest;
    size_t index;
    CHECK(sma_keys_pick(&keys, &sibling, &index, &rest));
    cool_all(&keys, SMA_MODEL_FAILURE_QUOTA, 10, -1);
    CHECK(!sma_keys_pick(&keys, &sibling, &index, &rest));
    CHECK_INT(SMA_MODEL_FAILURE_QUOTA, rest.trouble);
}

CASE(after_a_refused_key_one_probe_goes_out)
{
    struct sma_keys keys = {0};
    cool_all(&keys, SMA_MODEL_FAILURE_AUTH, 10, -1);
    size_t probe = pick(&keys, 1, 611);
    size_t second = pick(&keys, 1, 611), third = pick(&keys, 1, 611);
    CHECK(probe != second && second != third && third != probe); /* a probe for each key */
    CHECK_INT(SMA_KEYS_PROBE_S, back_s(&keys, 611));
    sma_keys_praise(&keys, ids[second], 7, 611 * SECOND);
    for (uint64_t chat = 0; chat < 50; chat++)
        CHECK_INT(second, pick(&keys, chat, 612));
    cool(&keys, probe, SMA_MODEL_FAILURE_AUTH, 612, -1);
    CHECK_INT(second, pick(&keys, 1, 900));
}

CASE(other_money_ends_the_rest)
{
    struct sma_keys keys = {0};
    cool_all(&keys, SMA_MODEL_FAILURE_QUOTA, 10, -1);
    cool(&keys, 0, SMA_MODEL_FAILURE_RATE, 10, -1);
    sma_keys_forgive(&keys);
    for (uint64_t chat = 0; chat < 50; chat++)
        CHECK(pick(&keys, chat, 11) != 0);
}

CASE(the_table_is_bounded)
{
    struct sma_keys keys = {0};
    for (uint64_t i = 0; i < SMA_KEYS_REST_COUNT_MAX; i++) {
        struct sma_key_rest refusal = {.key = 1000 + i,
                                       .model = 7,
                                       .begin_ns = (i + 1) * SECOND,
                                       .trouble = SMA_MODEL_FAILURE_RATE};
        sma_keys_cool(&keys, &refusal, 3000000);
    }
    cool_all(&keys, SMA_MODEL_FAILURE_RATE, 200, -1); /* the oldest give way */
    CHECK_INT(30, back_s(&keys, 200));
    uint64_t last = 1000 + SMA_KEYS_REST_COUNT_MAX - 1;
    struct sma_key_ask ask = {&last, 1, 7, 1, 200 * SECOND};
    struct sma_key_rest rest;
    size_t index;
    CHECK(!sma_keys_pick(&keys, &ask, &index, &rest));
}

int main(void)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "sk-key-%zu", i);
        ids[i] = sma_keys_id(SMA_STR("host"), sma_str(name));
        CHECK(ids[i] != 0 && ids[i] != sma_keys_id(SMA_STR("other"), sma_str(name)));
    }
    check_run_cases(NULL);
    return check_summary();
}
