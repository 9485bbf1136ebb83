/*
 * Aim: an event is signed as the specification says, so that receivers can check it with any of its
 *      libraries; what is no key is refused.
 * Method: the specification's own example, and one made by another program.
 */
#include "adapters/hook/sign.h"

#include "support/check.h"

static void the_example_of_the_specification_is_signed_like_there(void)
{
    /* github.com/standard-webhooks/standard-webhooks: libraries' tests */
    const struct hook_event event = {.id = SMA_STR("msg_p5jXN8AQM9LWM0D4loKWxJek"),
                                     .seconds = 1614265330,
                                     .body = SMA_STR("{\"test\": 2432232314}")};
    char signature[HOOK_SIGNATURE_BYTES];
    CHECK_OK(hook_sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", &event, signature));
    CHECK_TEXT("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", signature);
}

static void a_key_in_words_is_taken_as_its_bytes(void)
{
    /* printf 'a.1700000000.{}' | openssl dgst -sha256 -hmac 0123456789abcdef -binary | base64 */
    const struct hook_event event = {
        .id = SMA_STR("a"), .seconds = 1700000000, .body = SMA_STR("{}")};
    char signature[HOOK_SIGNATURE_BYTES];
    CHECK_OK(hook_sign("0123456789abcdef", &event, signature));
    CHECK_TEXT("v1,T+EhSXQLm5XOVkU4jcNnVSoiO5LJ6s04r1LVZ9+QgyQ=", signature);
    /* the same key in base64, with padding */
    CHECK_OK(hook_sign("whsec_MDEyMzQ1Njc4OWFiY2RlZg==", &event, signature));
    CHECK_TEXT("v1,T+EhSXQLm5XOVkU4jcNnVSoiO5LJ6s04r1LVZ9+QgyQ=", signature);
}

static void what_is_no_key_is_refused(void)
{
    static const char *const bad[] = {"", "whsec_", "whsec_abc", "whsec_!!!!"};
    const struct hook_event event = {.id = SMA_STR("a"), .seconds = 1, .body = SMA_STR("{}")};
    char signature[HOOK_SIGNATURE_BYTES], long_key[600];
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, hook_sign(bad[i], &event, signature));
    memset(long_key, 'k', sizeof long_key - 1);
    long_key[513] = '\0';
    CHECK_ERR(SMA_ERR_BADINPUT, hook_sign(long_key, &event, signature));
    long_key[512] = '\0';
    CHECK_OK(hook_sign(long_key, &event, signature));
}

int main(void)
{
    RUN(the_example_of_the_specification_is_signed_like_there);
    RUN(a_key_in_words_is_taken_as_its_bytes);
    RUN(what_is_no_key_is_refused);
    return check_summary();
}
