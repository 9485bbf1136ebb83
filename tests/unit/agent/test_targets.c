/* Aim: a target that failed is left alone for as long as it should be, and a run waits as long as
 * its patience allows. */
#include "runtime/agent/targets.h"
#include "support/check.h"

#define SECOND UINT64_C(1000000000)

static uint64_t cool_s(struct sma_cooldown *cooldown, enum sma_model_failure trouble,
                       int64_t retry_after_ms)
{
    sma_cooldown_fail(cooldown, trouble, retry_after_ms, 100 * SECOND);
    return (cooldown->until_ns - 100 * SECOND) / SECOND;
}

CASE(cooling_grows_and_ends_with_a_success)
{
    struct sma_cooldown cooldown = {0};
    CHECK_INT(30, cool_s(&cooldown, SMA_MODEL_FAILURE_TRANSIENT, -1));
    CHECK_INT(60, cool_s(&cooldown, SMA_MODEL_FAILURE_RATE, -1));
    CHECK_INT(300, cool_s(&cooldown, SMA_MODEL_FAILURE_TRANSIENT, -1));
    CHECK_INT(300, cool_s(&cooldown, SMA_MODEL_FAILURE_TRANSIENT, -1));
    CHECK(!cooldown.is_told);
    sma_cooldown_succeed(&cooldown);
    CHECK_INT(0, cooldown.until_ns);
    CHECK_INT(30, cool_s(&cooldown, SMA_MODEL_FAILURE_TRANSIENT, 0));
}

CASE(what_somebody_must_mend_is_tried_every_ten_minutes)
{
    static const enum sma_model_failure troubles[] = {
        SMA_MODEL_FAILURE_QUOTA, SMA_MODEL_FAILURE_AUTH, SMA_MODEL_FAILURE_NO_MODEL};
    for (size_t i = 0; i < SMA_COUNT_OF(troubles); i++) {
        struct sma_cooldown cooldown = {0};
        CHECK_INT(600, cool_s(&cooldown, troubles[i], -1));
        CHECK_INT(600, cool_s(&cooldown, troubles[i], -1));
        CHECK(!sma_health_passes(troubles[i]));
    }
}

CASE(what_a_server_asks_for_is_done)
{
    struct sma_cooldown cooldown = {0};
    CHECK_INT(65, cool_s(&cooldown, SMA_MODEL_FAILURE_RATE, 65000));
    CHECK(cooldown.is_told);
    CHECK_INT(24 * 3600, cool_s(&cooldown, SMA_MODEL_FAILURE_QUOTA, INT64_MAX)); /* but no more */
    CHECK_INT(300, cool_s(&cooldown, SMA_MODEL_FAILURE_RATE, -1));
    CHECK(!cooldown.is_told);
}

CASE(the_first_that_is_well_is_asked)
{
    struct sma_cooldown list[3] = {0};
    CHECK_INT(0, sma_cooldown_pick(list, 3, 0, 5));
    CHECK_INT(1, sma_cooldown_pick(list, 3, 1, 5));
    CHECK_INT(3, sma_cooldown_pick(list, 3, 7, 5));
    list[0].until_ns = 6;
    CHECK_INT(1, sma_cooldown_pick(list, 3, 0, 5));
    CHECK_INT(0, sma_cooldown_pick(list, 3, 0, 6)); /* back to the first */
    list[1].until_ns = 20;
    list[2].until_ns = 10;
    CHECK_INT(3, sma_cooldown_pick(list, 3, 0, 5));
    CHECK_INT(0, sma_cooldown_first_back(list, 3, 0));
    list[0].until_ns = 30;
    CHECK_INT(2, sma_cooldown_first_back(list, 3, 0));
}

CASE(waits_grow_up_to_the_end_of_patience)
{
    static const uint32_t seconds[] = {5, 15, 30, 60, 120, 120, 120};
    struct sma_patience patience = {.total_ms = 900000};
    for (uint32_t i = 0; i < SMA_COUNT_OF(seconds); i++) {
        patience.count = i;
        CHECK_INT(seconds[i] * 1000, sma_patience_wait_ms(&patience, -1, 0));
        uint32_t random = sma_patience_wait_ms(&patience, -1, 99); /* up to a tenth more */
        CHECK(random > seconds[i] * 1000 && random <= seconds[i] * 1100);
    }
    CHECK_INT(65000, sma_patience_wait_ms(&patience, 65000, 0));
    patience.spent_ms = 899000 - 40000;
    CHECK_INT(41000, sma_patience_wait_ms(&patience, -1, 0)); /* a last try when it ends */
    CHECK_INT(0, sma_patience_wait_ms(&patience, 41001, 0));  /* more is asked than there is */
    CHECK_INT(41000, sma_patience_wait_ms(&patience, 41000, 0));
    patience.spent_ms = 899500;
    CHECK_INT(1000, sma_patience_wait_ms(&patience, -1, 0));
    patience.spent_ms = 900000;
    CHECK_INT(0, sma_patience_wait_ms(&patience, -1, 0));
    patience = (struct sma_patience){.total_ms = 0};
    CHECK_INT(0, sma_patience_wait_ms(&patience, -1, 0));
    patience =
        (struct sma_patience){.total_ms = 900000, .count = 256}; /* whatever the clock says */
    CHECK_INT(0, sma_patience_wait_ms(&patience, -1, 0));
}

CASES_MAIN
