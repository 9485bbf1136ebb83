/* test_feishu_webhook.c — events over HTTP: who is believed, and when they are told. And the block
 * of ship.json. */
#include "actor_world.h"
#include "vectors.h"

#include "adapters/feishu/feishu.h"
#include "adapters/feishu/feishu_crypto.h"

#include <time.h>

#define TOKEN_MODE ",\"mode\":\"webhook\",\"verificationToken\":\"vt\""
#define KEY_MODE                                                                               \
    ",\"mode\":\"webhook\",\"encryptKey\":\"encrypt-key-0001\",\"verificationToken\":\"verif-" \
    "token-0001\""
#define BUTTON                                                                                 \
    "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"ev_button\",\"event_type\":\"card.action." \
    "trigger\","                                                                               \
    "\"token\":\"vt\"},\"event\":{\"operator\":{\"open_id\":\"" WORLD_ADA                      \
    "\"},\"token\":\"c-1\",\"action\":{"                                                       \
    "\"value\":{\"k\":\"v\"},\"tag\":\"button\"},\"context\":{\"open_message_id\":\"om_1\","   \
    "\"open_chat_id\":\"" WORLD_CHAT "\"}}}"

/* Posts until the adapter knows who the bot is. @return the status */
static int post(const char *headers, const char *body, char answer[1024])
{
    struct world_answer given;
    size_t number = world_webhook(headers, body);
    WORLD_WAIT(world_has_webhook_answer(number, &given));
    snprintf(answer, sizeof given.body, "%s", given.body);
    return given.status;
}

static void open_ready(const char *members)
{
    world_open(members);
    WORLD_WAIT(world_log_count("ready as Ship") == 1);
}

static void the_challenge_is_answered(void)
{
    char answer[1024];
    open_ready(TOKEN_MODE);
    CHECK_INT(
        200,
        post("", "{\"challenge\":\"abc\",\"token\":\"vt\",\"type\":\"url_verification\"}", answer));
    CHECK(strstr(answer, "\"challenge\":\"abc\"") != NULL);
    CHECK_INT(
        401,
        post("", "{\"challenge\":\"abc\",\"token\":\"no\",\"type\":\"url_verification\"}", answer));
    world_close();
}

static void an_event_is_answered_when_it_is_durable(void)
{
    char answer[1024];
    struct world_answer given;
    open_ready(TOKEN_MODE);
    world_hold(true);
    size_t number = world_webhook("", platform_text_event("om_1", "hello"));
    WORLD_WAIT(world_event_count() == 1);
    world_rest(50);
    CHECK(!world_has_webhook_answer(number, &given));
    world_hold(false);
    WORLD_WAIT(world_has_webhook_answer(number, &given));
    CHECK_INT(200, given.status);
    world_refuse(0, 1);
    CHECK_INT(503, post("", platform_text_event("om_2", "again"), answer));
    CHECK_INT(200, post("", platform_text_event("om_2", "again"), answer));
    world_close();
}

static void strangers_are_not_believed(void)
{
    char answer[1024];
    open_ready(",\"mode\":\"webhook\",\"verificationToken\":\"other\"");
    CHECK_INT(401, post("", platform_text_event("om_1", "hello"), answer));
    CHECK_INT(400, post("", "not json", answer));
    CHECK_INT(0, world_event_count());
    WORLD_WAIT(world_log_count("a webhook request was refused") >= 1);
    world_close();
}

static void an_encrypted_event_needs_a_fresh_signature(void)
{
    char answer[1024], headers[512], stamp[32];
    json_t *root = load_vectors("feishu_webhook_crypto.json");
    const json_t *item = json_array_get(json_object_get(root, "signature"), 0);
    struct sma_str raw = text_of(item, "raw_body");
    open_ready(KEY_MODE);
    snprintf(headers, sizeof headers,
             "X-Lark-Request-Timestamp: %s\r\nX-Lark-Request-Nonce: %s\r\nX-Lark-Signature: %s\r\n",
             text_of(item, "header_timestamp").ptr, text_of(item, "header_nonce").ptr,
             text_of(item, "x_lark_signature").ptr);
    CHECK_INT(401, post(headers, raw.ptr, answer)); /* right, but old: a replay */
    CHECK_INT(401, post("", raw.ptr, answer));
    snprintf(stamp, sizeof stamp, "%lld", clock_wall_s());
    char hex[FEISHU_SIGNATURE_HEX + 1];
    CHECK_OK(feishu_signature(
        &(struct feishu_signed){sma_str(stamp), SMA_STR("n1"), SMA_STR("encrypt-key-0001"), raw},
        hex));
    snprintf(headers, sizeof headers,
             "X-Lark-Request-Timestamp: %s\r\nX-Lark-Request-Nonce: n1\r\nX-Lark-Signature: %s\r\n",
             stamp, hex);
    CHECK_INT(200, post(headers, raw.ptr, answer));
    CHECK_INT(1, world_event_count());
    hex[0] = hex[0] == '0' ? '1' : '0';
    snprintf(headers, sizeof headers,
             "X-Lark-Request-Timestamp: %s\r\nX-Lark-Request-Nonce: n1\r\nX-Lark-Signature: %s\r\n",
             stamp, hex);
    CHECK_INT(401, post(headers, raw.ptr, answer));
    world_close();
    json_decref(root);
}

static void a_button_gets_its_toast(void)
{
    char answer[1024];
    open_ready(TOKEN_MODE);
    CHECK_INT(200, post("", BUTTON, answer));
    CHECK(strstr(answer, "\"success\"") != NULL);
    world_refuse(0, 1);
    CHECK_INT(200, post("", BUTTON, answer)); /* it is not brought again */
    CHECK(strstr(answer, "\"warning\"") != NULL);
    world_close();
}

static void other_modes_take_no_requests(void)
{
    char answer[1024];
    world_open("");
    CHECK_INT(404, post("", platform_text_event("om_1", "hello"), answer));
    CHECK_INT(0, world_event_count());
    world_close();
}

static void the_webhook_opens_no_connection(void)
{
    open_ready(TOKEN_MODE);
    CHECK_INT(0, platform_count("POST", "/callback/ws/endpoint"));
    world_close();
}

/* -- the block --------------------------------------------------------------------------------- */
static enum sma_err make(const char *json, struct sma_error *error)
{
    void *state = NULL;
    struct sma_config config = {.project_dir = "/tmp", .state_dir = "/tmp"};
    struct sma_config_adapter block = {.name = "feishu", .is_enabled = true, .json = json};
    enum sma_err err = sma_feishu_adapter_ops.create(&config, &block, &state, error);
    if (err == SMA_ERR_OK)
        sma_feishu_adapter_ops.destroy(state);
    return err;
}

#define LOGIN "\"enabled\":true,\"appId\":\"cli_0123456789abcdef\",\"appSecret\":\"s\""

static void the_block_is_checked(void)
{
    static const struct
    {
        const char *json, *says;
    } wrong[] = {
        {"{" LOGIN ",\"mode\":\"webhook\"}", "encryptKey must be set"},
        {"{" LOGIN ",\"mode\":\"webhook\",\"encryptKey\":\"${KEY}\"}", "not set"},
        {"{" LOGIN ",\"mode\":\"polling\"}", "one of websocket,webhook"},
        {"{" LOGIN ",\"domain\":\"open.feishu.cn\"}", "https://"},
        {"{" LOGIN ",\"limits\":{\"perSecond\":-1}}", "limits.perSecond"},
        {"{" LOGIN ",\"limits\":3}", "limits must be an object: {\"perSecond\": 50}"},
        {"{" LOGIN ",\"progress\":\"typing\"}", "progress"},
        {"{\"enabled\":true,\"appId\":7,\"appSecret\":\"s\"}", "appId must be a string"},
        {"[]", "must be an object"},
    };
    struct sma_error error;
    CHECK(unsetenv("FEISHU_APP_ID") == 0 && unsetenv("FEISHU_APP_SECRET") == 0);
    CHECK_OK(make("{" LOGIN "}", &error));
    CHECK_OK(make("{" LOGIN ",\"mode\":\"webhook\",\"verificationToken\":\"v\"}", &error));
    CHECK_OK(make("{" LOGIN
                  ",\"domain\":\"https://open.larksuite.com/\",\"adminUserIds\":[\"ou_1\"]}",
                  &error));
    CHECK_ERR(SMA_ERR_NOTFOUND, make("", &error));
    CHECK_ERR(SMA_ERR_NOTFOUND, make("{\"enabled\":true}", &error));
    CHECK_ERR(SMA_ERR_NOTFOUND,
              make("{\"enabled\":true,\"appId\":\"${}\",\"appSecret\":\"s\"}", &error));
    CHECK(setenv("FEISHU_APP_ID", "cli_1", 1) == 0 && setenv("FEISHU_APP_SECRET", "x", 1) == 0);
    CHECK_OK(make("{\"enabled\":true}", &error));
    CHECK(unsetenv("FEISHU_APP_ID") == 0 && unsetenv("FEISHU_APP_SECRET") == 0);
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++) {
        CHECK_ERR(SMA_ERR_BADINPUT, make(wrong[i].json, &error));
        CHECK(strstr(error.text, wrong[i].says) != NULL);
    }
}

int main(void)
{
    RUN(the_block_is_checked);
    RUN(the_challenge_is_answered);
    RUN(an_event_is_answered_when_it_is_durable);
    RUN(strangers_are_not_believed);
    RUN(an_encrypted_event_needs_a_fresh_signature);
    RUN(a_button_gets_its_toast);
    RUN(other_modes_take_no_requests);
    RUN(the_webhook_opens_no_connection);
    return check_summary();
}
