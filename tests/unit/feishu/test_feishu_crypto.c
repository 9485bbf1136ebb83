/*
 * Aim: webhook requests are opened, checked and rejected as recorded; nothing is open by default.
 * Method: the recorded samples, then each check broken in turn.
 */
#include "adapters/feishu/feishu_crypto.h"

#include "sma/text.h"
#include "vectors.h"

static json_t *vectors;
static const struct sma_str KEY = SMA_STR("encrypt-key-0001"), TOKEN = SMA_STR("verif-token-0001");
#define THEN_MS 1763755000000ll /* the samples' timestamp */

static void samples_decrypt(void)
{
    const json_t *list = json_object_get(vectors, "decrypt");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        struct sma_buf plain;
        sma_buf_init(&plain, FEISHU_WEBHOOK_BYTES_MAX);
        CHECK_OK(
            feishu_decrypt(text_of(item, "encrypt_key"), text_of(item, "encrypt_base64"), &plain));
        CHECK_STR(json_string_value(json_object_get(item, "plaintext")), sma_buf_str(&plain));
        sma_buf_fini(&plain);
    }
    CHECK(json_array_size(list) >= 5);
}

static void bad_samples_are_rejected(void)
{
    const json_t *list = json_object_get(vectors, "bad_decrypt");
    CHECK(json_array_size(list) >= 3);
    static const char *const more[] = {
        "", "=", "====", "AAAA", "not base64!!", "AAAAAAAAAAAAAAAAAAAAAA==\n"};
    struct sma_buf plain;
    sma_buf_init(&plain, FEISHU_WEBHOOK_BYTES_MAX);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        enum sma_err err =
            feishu_decrypt(text_of(item, "encrypt_key"), text_of(item, "encrypt_base64"), &plain);
        if (err == SMA_ERR_OK) { /* one wrong key in 256 leaves valid padding: then it is no JSON */
            struct sma_str head = sma_buf_str(&plain);
            CHECK(head.len == 0 || head.ptr[0] != '{');
        } else {
            CHECK_INT(SMA_ERR_BADINPUT, err);
        }
        sma_buf_clear(&plain);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(more); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, feishu_decrypt(KEY, sma_str(more[i]), &plain));
    sma_buf_fini(&plain);
}

static void signatures_are_the_recorded_ones(void)
{
    const json_t *list = json_object_get(vectors, "signature");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        struct feishu_signed parts = {text_of(item, "header_timestamp"),
                                      text_of(item, "header_nonce"), text_of(item, "encrypt_key"),
                                      text_of(item, "raw_body")};
        char hex[FEISHU_SIGNATURE_HEX + 1];
        CHECK_OK(feishu_signature(&parts, hex));
        CHECK_STR(hex, text_of(item, "x_lark_signature"));
    }
    CHECK(json_array_size(list) >= 2);
    const json_t *legacy = json_object_get(vectors, "legacy_card_signature");
    const json_t *card = json_is_array(legacy) ? json_array_get(legacy, 0) : legacy;
    struct feishu_signed parts = {text_of(card, "header_timestamp"), text_of(card, "header_nonce"),
                                  text_of(card, "verification_token"), text_of(card, "raw_body")};
    char hex[FEISHU_CARD_SIGNATURE_HEX + 1];
    CHECK_OK(feishu_card_signature(&parts, hex));
    CHECK_STR(hex, text_of(card, "x_lark_signature"));
}

static void secrets_compare(void)
{
    CHECK(feishu_secret_is_equal(SMA_STR("abc"), SMA_STR("abc")));
    CHECK(!feishu_secret_is_equal(SMA_STR("abc"), SMA_STR("abd")));
    CHECK(!feishu_secret_is_equal(SMA_STR("abc"), SMA_STR("ab")));
    CHECK(!feishu_secret_is_equal(SMA_STR(""), SMA_STR(""))); /* not configured is never equal */
}

static void replay_window_has_edges(void)
{
    int64_t now = THEN_MS;
    char text[32];
    for (int64_t offset = FEISHU_REPLAY_WINDOW_S - 1; offset <= FEISHU_REPLAY_WINDOW_S + 1;
         offset++)
        for (int sign = -1; sign <= 1; sign += 2) {
            snprintf(text, sizeof text, "%lld", (long long)(now / 1000 + sign * offset));
            CHECK(feishu_timestamp_is_fresh(sma_str(text), now) ==
                  (offset <= FEISHU_REPLAY_WINDOW_S));
        }
    static const char *const bad[] = {
        "", "x", "-1", "99999999999999999999", "9223372036854775807", "1763755000 "};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK(!feishu_timestamp_is_fresh(sma_str(bad[i]), now));
}

struct outcome
{
    struct feishu_webhook_verdict verdict;
    char plain[4096];
};

static struct outcome ask(struct feishu_webhook_secrets secrets,
                          struct feishu_webhook_request request)
{
    struct outcome outcome = {.plain = ""};
    struct sma_buf plain;
    sma_buf_init(&plain, FEISHU_WEBHOOK_BYTES_MAX);
    if (request.now_wall_ms == 0)
        request.now_wall_ms = THEN_MS + 1000;
    CHECK_OK(feishu_webhook_read(&secrets, &request, &plain, &outcome.verdict));
    if (outcome.verdict.kind == FEISHU_WEBHOOK_REJECTED)
        CHECK(outcome.verdict.why[0] != '\0' && outcome.verdict.status >= 400);
    else if (plain.len > 0 && plain.len < sizeof outcome.plain)
        memcpy(outcome.plain, plain.ptr, plain.len + 1);
    sma_buf_fini(&plain);
    return outcome;
}

static void challenges_are_answered(void)
{
    const json_t *challenge = json_object_get(vectors, "challenge");
    struct feishu_webhook_request encrypted = {.body = text_of(challenge, "request_body")};
    struct outcome outcome = ask((struct feishu_webhook_secrets){KEY, TOKEN}, encrypted);
    CHECK_INT(FEISHU_WEBHOOK_CHALLENGE, outcome.verdict.kind);
    CHECK_TEXT("{\"challenge\":\"ajls384kdjx98XX\"}", outcome.plain);
    CHECK_INT(FEISHU_WEBHOOK_CHALLENGE,
              ask((struct feishu_webhook_secrets){KEY, {0}}, encrypted).verdict.kind);
    CHECK_INT(FEISHU_WEBHOOK_REJECTED,
              ask((struct feishu_webhook_secrets){KEY, SMA_STR("other")}, encrypted).verdict.kind);
    CHECK_INT(FEISHU_WEBHOOK_REJECTED,
              ask((struct feishu_webhook_secrets){{0}, TOKEN}, encrypted).verdict.kind);
    struct feishu_webhook_request plain = {
        .body = SMA_STR("{\"challenge\":\"c\\\"1\",\"token\":\"verif-token-0001\",\"type\":\"url_"
                        "verification\"}")};
    outcome = ask((struct feishu_webhook_secrets){{0}, TOKEN}, plain);
    CHECK_INT(FEISHU_WEBHOOK_CHALLENGE, outcome.verdict.kind);
    CHECK_TEXT("{\"challenge\":\"c\\\"1\"}", outcome.plain);
    /* Plain, and nothing to compare with but the key it was not encrypted with. */
    CHECK_INT(FEISHU_WEBHOOK_REJECTED,
              ask((struct feishu_webhook_secrets){KEY, {0}}, plain).verdict.kind);
    CHECK_INT(FEISHU_WEBHOOK_REJECTED,
              ask((struct feishu_webhook_secrets){{0}, {0}}, plain).verdict.kind);
}

static void signed_events_pass_and_nothing_else(void)
{
    const json_t *list = json_object_get(vectors, "signature");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        struct feishu_webhook_secrets both = {KEY, TOKEN};
        struct feishu_webhook_request good = {
            text_of(item, "header_timestamp"), text_of(item, "header_nonce"),
            text_of(item, "x_lark_signature"), text_of(item, "raw_body"), 0};
        struct outcome outcome = ask(both, good);
        CHECK_INT(FEISHU_WEBHOOK_EVENT, outcome.verdict.kind);
        CHECK(strstr(outcome.plain, "im.message.receive_v1") != NULL);
        CHECK_INT(FEISHU_WEBHOOK_EVENT,
                  ask((struct feishu_webhook_secrets){KEY, {0}}, good).verdict.kind);
        CHECK_INT(FEISHU_WEBHOOK_REJECTED,
                  ask((struct feishu_webhook_secrets){{0}, {0}}, good).verdict.kind);
        CHECK_INT(401,
                  ask((struct feishu_webhook_secrets){KEY, SMA_STR("other")}, good).verdict.status);
        struct feishu_webhook_request bad = good;
        bad.signature = SMA_STR("");
        CHECK_INT(401, ask(both, bad).verdict.status);
        bad = good;
        bad.nonce = SMA_STR("nonce-2");
        CHECK_INT(401, ask(both, bad).verdict.status);
        bad = good;
        bad.timestamp = SMA_STR("1763755001");
        CHECK_INT(401, ask(both, bad).verdict.status);
        bad = good;
        bad.now_wall_ms = THEN_MS + (FEISHU_REPLAY_WINDOW_S + 2) * 1000ll;
        CHECK_INT(401, ask(both, bad).verdict.status);
        struct sma_str upper = good.signature;
        char changed[FEISHU_SIGNATURE_HEX + 1];
        memcpy(changed, upper.ptr, FEISHU_SIGNATURE_HEX);
        changed[0] = changed[0] == '0' ? '1' : '0';
        bad = good;
        bad.signature = (struct sma_str){changed, FEISHU_SIGNATURE_HEX};
        CHECK_INT(401, ask(both, bad).verdict.status);
    }
}

static void plain_events_need_the_token(void)
{
    struct feishu_webhook_secrets token_only = {{0}, TOKEN};
    struct feishu_webhook_request event = {
        .body = SMA_STR(
            "{\"schema\":\"2.0\",\"header\":{\"token\":\"verif-token-0001\"},\"event\":{}}")};
    CHECK_INT(FEISHU_WEBHOOK_EVENT, ask(token_only, event).verdict.kind);
    /* In the new envelope only the header's token counts. */
    event.body =
        SMA_STR("{\"schema\":\"2.0\",\"token\":\"verif-token-0001\",\"header\":{},\"event\":{}}");
    CHECK_INT(401, ask(token_only, event).verdict.status);
    event.body = SMA_STR("{\"uuid\":\"u\",\"token\":\"verif-token-0001\",\"event\":{}}");
    CHECK_INT(FEISHU_WEBHOOK_EVENT, ask(token_only, event).verdict.kind);
    CHECK_INT(
        401, ask((struct feishu_webhook_secrets){KEY, TOKEN}, event).verdict.status); /* unsigned */
    static const char *const nasty[] = {"",
                                        "x",
                                        "[]",
                                        "\"s\"",
                                        "{}",
                                        "{\"encrypt\":1}",
                                        "{\"encrypt\":\"\"}",
                                        "null",
                                        "{\"header\":[],\"schema\":\"2.0\"}",
                                        "{\"token\":[\"verif-token-0001\"]}"};
    for (size_t i = 0; i < SMA_COUNT_OF(nasty); i++) {
        event.body = sma_str(nasty[i]);
        CHECK_INT(FEISHU_WEBHOOK_REJECTED, ask(token_only, event).verdict.kind);
        CHECK_INT(FEISHU_WEBHOOK_REJECTED,
                  ask((struct feishu_webhook_secrets){KEY, {0}}, event).verdict.kind);
    }
}

static void old_cards_are_signed_with_the_token(void)
{
    const json_t *legacy = json_object_get(vectors, "legacy_card_signature");
    const json_t *card = json_is_array(legacy) ? json_array_get(legacy, 0) : legacy;
    struct feishu_webhook_request good = {
        text_of(card, "header_timestamp"), text_of(card, "header_nonce"),
        text_of(card, "x_lark_signature"), text_of(card, "raw_body"), 0};
    CHECK_INT(FEISHU_WEBHOOK_EVENT,
              ask((struct feishu_webhook_secrets){{0}, TOKEN}, good).verdict.kind);
    CHECK_INT(FEISHU_WEBHOOK_EVENT,
              ask((struct feishu_webhook_secrets){KEY, TOKEN}, good).verdict.kind);
    CHECK_INT(401, ask((struct feishu_webhook_secrets){KEY, {0}}, good).verdict.status);
    struct feishu_webhook_request bad = good;
    bad.signature = SMA_STR("0000000000000000000000000000000000000000");
    CHECK_INT(401, ask((struct feishu_webhook_secrets){{0}, TOKEN}, bad).verdict.status);
    bad.signature = SMA_STR("");
    CHECK_INT(401, ask((struct feishu_webhook_secrets){{0}, TOKEN}, bad).verdict.status);
}

static void bodies_have_a_limit(void)
{
    char *body = malloc(FEISHU_WEBHOOK_BYTES_MAX + 1);
    CHECK(body != NULL);
    memset(body, ' ', FEISHU_WEBHOOK_BYTES_MAX + 1);
    struct feishu_webhook_request request = {.body = {body, FEISHU_WEBHOOK_BYTES_MAX}};
    CHECK_INT(400, ask((struct feishu_webhook_secrets){KEY, TOKEN}, request).verdict.status);
    request.body.len++;
    CHECK_INT(413, ask((struct feishu_webhook_secrets){KEY, TOKEN}, request).verdict.status);
    free(body);
}

int main(void)
{
    vectors = load_vectors("feishu_webhook_crypto.json");
    RUN(samples_decrypt);
    RUN(bad_samples_are_rejected);
    RUN(signatures_are_the_recorded_ones);
    RUN(secrets_compare);
    RUN(replay_window_has_edges);
    RUN(challenges_are_answered);
    RUN(signed_events_pass_and_nothing_else);
    RUN(plain_events_need_the_token);
    RUN(old_cards_are_signed_with_the_token);
    RUN(bodies_have_a_limit);
    json_decref(vectors);
    return check_summary();
}
