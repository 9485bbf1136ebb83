/*
 * What the Feishu adapter sends and is answered. The first byte chooses: 't' a text to render, 'a'
 * an answer to classify, 'l' an answer to a log-in. Promises under test, besides not crashing:
 * every part decodes, is repeatable and makes a body within the platform's limits; an answer that
 * is not a success is explained.
 */
#include "fuzz.h"

#include "adapters/feishu/feishu_login.h"
#include "adapters/feishu/feishu_out.h"

#include "sma/text.h"

#include <stdlib.h>

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_part(void *user, struct sma_str part_bytes)
{
    uint64_t *sum = user;
    static const uint8_t key[16] = {1};
    *sum = *sum * 31 + sma_siphash(key, part_bytes.ptr, part_bytes.len);
    struct feishu_part part;
    struct feishu_target target = {.chat_id = SMA_STR("oc_1")};
    require(feishu_part_decode(part_bytes, &part) == SMA_ERR_OK);
    if (part.kind == FEISHU_PART_FILE) {
        require(feishu_upload_plan(&part).bytes_max > 0);
        return;
    }
    require(part.text.len > 0);
    for (int is_plain = 0; is_plain < 2; is_plain++) {
        struct sma_buf body;
        sma_buf_init(&body, 1 << 20);
        feishu_put_part(&body, &target, &part, is_plain == 1, SMA_STR("sma-1-0"));
        bool is_card = part.kind == FEISHU_PART_CARD && is_plain == 0;
        require(body.err == SMA_ERR_OK);
        require(body.len <= (is_card ? FEISHU_CARD_BODY_BYTES_MAX : FEISHU_TEXT_BODY_BYTES_MAX));
        sma_buf_fini(&body);
    }
}

static void check_render(struct sma_str text)
{
    uint64_t first = 0, second = 0;
    struct sma_deliver row = {.intent = SMA_INTENT_ASSISTANT_TEXT, .text = text};
    require(feishu_render(&row, check_part, &first) == SMA_ERR_OK);
    require(feishu_render(&row, check_part, &second) == SMA_ERR_OK);
    require(first == second);
}

static void check_answer(struct sma_str body, int status)
{
    struct sma_net_answer answer = {.end = SMA_NET_ANSWERED,
                                    .status = status,
                                    .body = body,
                                    .retry_after_ms = -1,
                                    .log_id = {"", 0},
                                    .error = ""};
    struct sma_answered outcome;
    sma_verdict(&feishu_verdicts, NULL, &answer, 0, &outcome);
    require((outcome.attempt_class == SMA_ATTEMPT_SENT) == (outcome.error[0] == '\0'));
    require(memchr(outcome.message_id, '\0', sizeof outcome.message_id) != NULL);
}

static void check_login(struct sma_str body)
{
    struct sma_net_answer answer = {.end = SMA_NET_ANSWERED,
                                    .status = 200,
                                    .body = body,
                                    .retry_after_ms = -1,
                                    .log_id = {"", 0},
                                    .error = ""};
    struct feishu_client_config config = FEISHU_CLIENT_CONFIG_DEFAULT;
    struct feishu_endpoint endpoint;
    struct sma_token token;
    struct feishu_bot bot;
    struct sma_login_error error = {0};
    bool is_admin = false;
    require(feishu_endpoint_parse(&answer, &config, &endpoint, &error) == SMA_LOGIN_OK ||
            error.text[0] != '\0');
    require(feishu_token_parse(&answer, &token, &error) == SMA_LOGIN_OK || error.text[0] != '\0');
    require(feishu_bot_parse(&answer, &bot, &error) == SMA_LOGIN_OK || error.text[0] != '\0');
    (void)feishu_chat_parse(&answer, SMA_STR("ou_1"), &is_admin, &error);
    (void)feishu_client_config_merge(&config, body);
    require(config.ping_interval_s > 0 && config.ping_interval_s <= FEISHU_CLIENT_INTERVAL_S_MAX);
    struct feishu_handshake handshake = {403, body, body, body};
    require(feishu_handshake_classify(&handshake, &error) != SMA_LOGIN_OK && error.text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    struct sma_str rest = {(const char *)bytes + 1, len - 1};
    if (bytes[0] == 't')
        check_render(rest);
    if (bytes[0] == 'a') {
        check_answer(rest, 200);
        check_answer(rest, 400);
    }
    if (bytes[0] == 'l')
        check_login(rest);
    return 0;
}
