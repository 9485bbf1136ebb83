/* Aim: the table of claims in memory. Method: random adds and removes against a plain array; forced
 * equal hashes. */
#include "runtime/chat/claims.h"
#include "support/check.h"

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static bool has(const struct sma_claims *claims, uint64_t hash, uint64_t seq)
{
    struct sma_claims_cursor cursor = {0};
    for (uint64_t found; (found = sma_claims_next(claims, hash, &cursor)) != 0;)
        if (found == seq)
            return true;
    return false;
}

CASE(every_claim_is_found_while_the_table_grows)
{
    SMA_AUTO(sma_claims_fini) struct sma_claims claims;
    CHECK_OK(sma_claims_init(&claims));
    enum
    {
        COUNT = 200000
    };
    for (uint64_t seq = 1; seq <= COUNT; seq++)
        CHECK_OK(sma_claims_add(&claims, mix(seq), seq));
    CHECK_INT(COUNT, claims.count);
    CHECK(claims.segment_count > COUNT / SMA_CLAIMS_SEGMENT_USED_MAX);
    for (uint64_t seq = 1; seq <= COUNT; seq++)
        CHECK(has(&claims, mix(seq), seq));
    for (uint64_t seq = COUNT + 1; seq <= 2 * COUNT; seq++)
        CHECK(!has(&claims, mix(seq), seq));
    CHECK(sma_claims_bytes(&claims) < (uint64_t)COUNT * 40);
}

CASE(removal_leaves_all_others)
{
    SMA_AUTO(sma_claims_fini) struct sma_claims claims;
    CHECK_OK(sma_claims_init(&claims));
    enum
    {
        COUNT = 20000
    };
    /* Few low bits: long probe sequences that wrap around the end of the segment. */
#define CLUSTERED(n) ((mix(n) & ~UINT64_C(0xfff)) | (4090 + (n) % 12) % 4096)
    for (uint64_t seq = 1; seq <= COUNT; seq++)
        CHECK_OK(sma_claims_add(&claims, CLUSTERED(seq), seq));
    for (uint64_t seq = 1; seq <= COUNT; seq += 3)
        CHECK(sma_claims_remove(&claims, CLUSTERED(seq), seq));
    CHECK(!sma_claims_remove(&claims, CLUSTERED(1), 1));
    for (uint64_t seq = 1; seq <= COUNT; seq++)
        CHECK_INT(seq % 3 != 1, has(&claims, CLUSTERED(seq), seq));
    for (uint64_t seq = 1; seq <= COUNT; seq++)
        CHECK_INT(seq % 3 != 1, sma_claims_remove(&claims, CLUSTERED(seq), seq));
    CHECK_INT(0, claims.count);
}

CASE(equal_hashes_are_all_given_and_bounded)
{
    SMA_AUTO(sma_claims_fini) struct sma_claims claims;
    CHECK_OK(sma_claims_init(&claims));
    for (uint64_t seq = 1; seq <= SMA_CLAIMS_SEGMENT_USED_MAX; seq++)
        CHECK_OK(sma_claims_add(&claims, 42, seq));
    struct sma_claims_cursor cursor = {0};
    uint64_t count = 0;
    while (sma_claims_next(&claims, 42, &cursor) != 0)
        count++;
    CHECK_INT(SMA_CLAIMS_SEGMENT_USED_MAX, count);
    CHECK_ERR(SMA_ERR_FULL, sma_claims_add(&claims, 42, 1000000));
    CHECK_INT(SMA_CLAIMS_SEGMENT_USED_MAX, claims.count);
    CHECK_OK(sma_claims_add(&claims, ~UINT64_C(0), 1000001)); /* other segments go on */
}

CASES_MAIN
