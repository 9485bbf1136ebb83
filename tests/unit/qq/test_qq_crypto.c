/* Webhook signatures against vectors that three independent implementations agree on. */
#include "adapters/qq/qq_crypto.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"
#include "support/check.h"

#include <stdlib.h>

static json_t *vectors;

static void load_vectors(void)
{
    json_error_t error;
    vectors = json_load_file(SMA_SOURCE_DIR "/tests/vectors/qq/qq_webhook_ed25519.json", 0, &error);
    CHECK(vectors != NULL);
}

static int64_t wall_ms_of(const json_t *row)
{
    int64_t seconds = sma_json_int(row, "x_signature_timestamp", 0, INT64_MAX / 1000, 0);
    return seconds * 1000;
}

static enum sma_err verify(const json_t *row, int64_t wall_ms)
{
    return qq_verify(sma_json_str(row, "bot_secret"), sma_json_str(row, "x_signature_ed25519"),
                     sma_json_str(row, "x_signature_timestamp"), sma_json_str(row, "raw_body"),
                     wall_ms);
}

static void seeds_repeat_the_secret(void)
{
    const json_t *rows = json_object_get(vectors, "seed");
    CHECK(json_array_size(rows) > 3);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        unsigned char seed[32];
        CHECK_OK(qq_seed_make(sma_json_str(row, "bot_secret"), seed));
        CHECK(memcmp(seed, sma_json_str(row, "seed_utf8").ptr, 32) == 0);
    }
    unsigned char seed[32];
    CHECK_ERR(SMA_ERR_BADINPUT, qq_seed_make(SMA_STR(""), seed));
}

static void validations_are_signed(void)
{
    const json_t *rows = json_object_get(vectors, "validation");
    CHECK(json_array_size(rows) > 0);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        struct sma_buf hex;
        sma_buf_init(&hex, 256);
        CHECK_OK(qq_sign(sma_json_str(row, "bot_secret"), sma_json_str(row, "signed_message"),
                         SMA_STR(""), &hex));
        CHECK(sma_str_is_equal(sma_buf_str(&hex),
                               sma_json_str(json_object_get(row, "response"), "signature")));
        sma_buf_fini(&hex);
    }
}

static void requests_of_the_platform_are_believed(void)
{
    const json_t *rows = json_object_get(vectors, "verify");
    CHECK(json_array_size(rows) > 0);
    for (size_t i = 0; i < json_array_size(rows); i++)
        CHECK_OK(verify(json_array_get(rows, i), wall_ms_of(json_array_get(rows, i))));
}

static void all_others_are_not(void)
{
    const json_t *rows = json_object_get(vectors, "verify_negative");
    CHECK(json_array_size(rows) > 3);
    for (size_t i = 0; i < json_array_size(rows); i++)
        CHECK(verify(json_array_get(rows, i), wall_ms_of(json_array_get(rows, i))) != SMA_ERR_OK);
}

static void old_and_future_requests_are_refused(void)
{
    const json_t *row = json_array_get(json_object_get(vectors, "verify"), 0);
    int64_t signed_ms = wall_ms_of(row), window_ms = QQ_REPLAY_WINDOW_S * INT64_C(1000);
    CHECK_OK(verify(row, signed_ms + window_ms));
    CHECK_ERR(SMA_ERR_TIMEOUT, verify(row, signed_ms + window_ms + 1000));
    CHECK_OK(verify(row, signed_ms - window_ms));
    CHECK_ERR(SMA_ERR_TIMEOUT, verify(row, signed_ms - window_ms - 1000));
}

int main(void)
{
    load_vectors();
    RUN(seeds_repeat_the_secret);
    RUN(validations_are_signed);
    RUN(requests_of_the_platform_are_believed);
    RUN(all_others_are_not);
    RUN(old_and_future_requests_are_refused);
    json_decref(vectors);
    return check_summary();
}
