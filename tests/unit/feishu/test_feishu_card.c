/*
 * test_feishu_card.c — a request for consent is a card with buttons that answer; its outcome takes
 * the card's place; a reaction has the platform's own name. Bodies are judged by the simulated
 * platform's rules, the rest by a script.
 */
#include "actor_world.h"

#include "adapters/feishu/feishu_out.h"
#include "feishu/fake_feishu_priv.h"
#include "support/cards.h"

#include <openssl/evp.h>

#define MESSAGES "/open-apis/im/v1/messages"

/* -- bodies ------------------------------------------------------------------------------------ */
/* Would the platform take this card? text: what people see of it. */
static void check_card(const char *content, const char *shown)
{
    struct fake_feishu fake = {.index = NULL};
    struct fake_feishu_wrong wrong = {0};
    char *text = NULL;
    bool is_shared = false;
    if (!fake_feishu_check_content(&fake, "interactive", content, &text, &is_shared, &wrong))
        fprintf(stderr, "%s\n", wrong.text);
    CHECK_INT(0, wrong.code);
    CHECK(is_shared);
    CHECK_TEXT(shown, text);
    free(text);
}

static size_t kept_len; /* of the last part */

static void keep_part(void *user, struct sma_str bytes)
{
    char **kept = user;
    CHECK(*kept == NULL); /* one part, never more */
    *kept = memcpy(malloc(bytes.len), bytes.ptr, bytes.len);
    kept_len = bytes.len;
}

static struct feishu_part part_of(uint8_t intent, const char *json, char **ret_bytes)
{
    struct feishu_part part;
    *ret_bytes = NULL;
    CHECK_OK(feishu_render(&(struct sma_deliver){.intent = intent, .text = sma_str(json)},
                           keep_part, ret_bytes));
    CHECK(*ret_bytes != NULL);
    CHECK_OK(feishu_part_decode((struct sma_str){*ret_bytes, kept_len}, &part));
    return part;
}

/* The content of a request body. Free it. */
static char *content_of(const char *body)
{
    json_t *tree = json_loads(body, 0, NULL);
    char *content = strdup(json_string_value(json_object_get(tree, "content")));
    json_decref(tree);
    return content;
}

static void a_request_is_a_card_the_platform_takes(void)
{
    char *bytes,
        *json = card_request("calls <at id=all></at> ![x](http://a/b.png)\n" CARD_TEXT, NULL);
    struct feishu_part part = part_of(SMA_INTENT_APPROVAL_REQUEST, json, &bytes);
    CHECK_INT(FEISHU_PART_CONSENT, part.kind);
    struct feishu_consent consent;
    CHECK_OK(feishu_consent_open(&part, &consent));
    struct feishu_card card = feishu_consent_card(&consent);
    struct feishu_target target = {.chat_id = SMA_STR("oc_1")};
    struct sma_buf body;
    sma_buf_init(&body, 1 << 16);
    feishu_put_card_message(&body, &target, &card, SMA_STR("sma-1-0"));
    CHECK_OK(body.err);
    char *content = content_of(body.ptr);
    check_card(content, "Approval needed\ncalls < at id=all></at> [x](http://a/b.png)\n" CARD_TEXT
                        "\nApprove\nRefuse\n10 minutes\nAlways here");
    json_t *buttons = fake_feishu_buttons(content);
    CHECK_INT(4, json_array_size(buttons));
    const json_t *value = json_object_get(json_array_get(buttons, 0), "value");
    CHECK_STR(json_string_value(json_object_get(value, FEISHU_CONSENT_VALUE)),
              consent.card.buttons[0].data);
    json_decref(buttons);
    free(content);
    sma_buf_fini(&body);
    feishu_consent_fini(&consent);
    free(bytes);
    free(json);
}

static void the_largest_card_fits(void)
{
    struct sma_buf text, body;
    struct sma_card large = {.id = SMA_STR("00112233445566778899aabbccddeeff"),
                             .title = SMA_STR("需要确认"),
                             .plain = SMA_STR("p"),
                             .message_id = SMA_STR(""),
                             .button_count = SMA_CARD_BUTTON_COUNT_MAX};
    sma_buf_init(&text, 1 << 20);
    sma_buf_init(&body, 1 << 20);
    for (int i = 0; i < 40000; i++)
        sma_buf_put_text(&text, i % 2 == 0 ? "\"" : "中");
    large.text = sma_buf_str(&text);
    for (uint32_t i = 0; i < SMA_CARD_BUTTON_COUNT_MAX; i++)
        large.buttons[i] = (struct sma_card_button){
            .text = SMA_STR("本会话一直允许"),
            .data = SMA_STR("sa1:AQIDAAAAAAAAAAAAAAAAAA:*:y:0123456789abcdef"),
            .row = i};
    sma_card_put(&body, &large);
    char *bytes, *json = card_take(&body);
    struct feishu_part part = part_of(SMA_INTENT_APPROVAL_REQUEST, json, &bytes);
    struct feishu_consent consent;
    CHECK_OK(feishu_consent_open(&part, &consent));
    struct feishu_card card = feishu_consent_card(&consent);
    struct feishu_target target = {.chat_id = SMA_STR("oc_1")};
    sma_buf_init(&body, 1 << 20);
    feishu_put_card_message(&body, &target, &card, SMA_STR("sma-1-0"));
    CHECK_OK(body.err);
    CHECK(body.len <= FEISHU_CARD_BODY_BYTES_MAX);
    feishu_consent_fini(&consent);
    sma_buf_fini(&body);
    sma_buf_fini(&text);
    free(bytes);
    free(json);
}

static void what_is_no_card_is_text(void)
{
    char *bytes;
    struct feishu_part part = part_of(SMA_INTENT_APPROVAL_OUTCOME, "approved", &bytes);
    CHECK_INT(FEISHU_PART_TEXT, part.kind);
    CHECK_STR("approved", part.text);
    free(bytes);
}

static void every_reaction_is_one_the_platform_knows(void)
{
    static const char *const emoji[] = {"👍",      "👎🏿",      "❤️",   "🎉",     "✔️",
                                        "☑️", "🤷‍♂️", "thumbsup", " DONE "};
    static const char *const wanted[] = {"THUMBSUP", "ThumbsDown", "HEART",
                                         "PARTY",    "CheckMark",  "CheckMark",
                                         NULL,       "THUMBSUP",   "DONE"};
    for (size_t i = 0; i < SMA_COUNT_OF(emoji); i++) {
        const char *type = feishu_reaction_find(sma_str(emoji[i]));
        CHECK((type == NULL) == (wanted[i] == NULL));
        if (type != NULL)
            CHECK_TEXT(wanted[i], type);
    }
    static const char *const none[] = {"", " ", "🚀", "👍👍", "\xff", "🏽", "no such name"};
    for (size_t i = 0; i < SMA_COUNT_OF(none); i++)
        CHECK(feishu_reaction_find(sma_str(none[i])) == NULL);
    size_t count = 0;
    for (uint32_t point = 0x2000; point < 0x1FAFF; point++) { /* whatever is found must exist */
        char text[8];
        size_t len = point < 0x10000 ? 3 : 4;
        text[0] = (char)(len == 3 ? 0xE0 | point >> 12 : 0xF0 | point >> 18);
        for (size_t i = 1; i < len; i++)
            text[i] = (char)(0x80 | (point >> (6 * (len - 1 - i)) & 0x3F));
        const char *type = feishu_reaction_find((struct sma_str){text, len});
        CHECK(type == NULL || fake_feishu_is_reaction(type));
        count += type != NULL;
    }
    CHECK(count > 60);
}

/* -- the actor --------------------------------------------------------------------------------- */
static struct world_receipt deliver(uint8_t intent, uint64_t seq, const char *reply, char *text)
{
    struct world_receipt receipt;
    world_set_intent(intent);
    uint64_t row = world_deliver(seq, WORLD_GROUP, "group", reply, text);
    world_set_intent(SMA_INTENT_ASSISTANT_TEXT);
    free(text);
    WORLD_WAIT(world_has_receipt(row, &receipt));
    return receipt;
}

static void a_request_becomes_its_outcome(void)
{
    world_open("");
    struct world_receipt receipt =
        deliver(SMA_INTENT_APPROVAL_REQUEST, 1, "om_asked", card_request(NULL, NULL));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    CHECK_TEXT("om_sent_1", receipt.platform_id);
    struct platform_request sent = platform_request_at("POST", MESSAGES, 0);
    CHECK_TEXT(MESSAGES "/om_asked/reply", sent.path);
    CHECK(strstr(sent.body, "\"uuid\":\"sma-1-0\"") != NULL);
    receipt = deliver(SMA_INTENT_APPROVAL_OUTCOME, 1, "om_asked", card_outcome("om_sent_1"));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    CHECK_TEXT("om_sent_1", receipt.platform_id);
    struct platform_request changed = platform_request_at("PATCH", MESSAGES, 0);
    CHECK_TEXT(MESSAGES "/om_sent_1", changed.path);
    char *content = content_of(changed.body);
    check_card(content, "Approved\nApproved: `git push`\nDecided by: Bob");
    json_t *buttons = fake_feishu_buttons(content);
    CHECK_INT(0, json_array_size(buttons));
    json_decref(buttons);
    free(content);
    CHECK_INT(1, platform_count("POST", MESSAGES));
    world_close();
}

static void an_outcome_without_its_card_is_a_new_one(void)
{
    static const char *const refusals[] = {
        "{\"code\":230011,\"msg\":\"withdrawn\"}", "{\"code\":230031,\"msg\":\"too long ago\"}",
        "{\"code\":230001,\"msg\":\"This message is NOT a card.\"}",
        "{\"code\":231003,\"msg\":\"not found\"}"};
    world_open("");
    for (size_t i = 0; i < SMA_COUNT_OF(refusals); i++) {
        platform_script("PATCH", MESSAGES, 1, 400, "", refusals[i]);
        struct world_receipt receipt =
            deliver(SMA_INTENT_APPROVAL_OUTCOME, i + 1, "om_asked", card_outcome("om_old"));
        CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
        CHECK(strcmp("om_old", receipt.platform_id) != 0);
    }
    CHECK_INT(SMA_COUNT_OF(refusals), platform_count("POST", MESSAGES));
    CHECK_INT(SMA_DELIVERY_SENT,
              deliver(SMA_INTENT_APPROVAL_OUTCOME, 9, "", card_outcome("")).state);
    CHECK_INT(SMA_COUNT_OF(refusals), platform_count("PATCH", MESSAGES));
    world_close();
}

static void a_refused_request_goes_as_words(void)
{
    world_open("");
    platform_script("POST", MESSAGES, 1, 400, "",
                    "{\"code\":230099,\"msg\":\"ext=ErrCode: 200861; ErrMsg: tag;\"}");
    struct world_receipt receipt =
        deliver(SMA_INTENT_APPROVAL_REQUEST, 1, "om_asked", card_request(NULL, NULL));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    struct platform_request sent = platform_request_at("POST", MESSAGES, 1);
    CHECK(strstr(sent.body, "\"msg_type\":\"text\"") != NULL);
    CHECK(strstr(sent.body, "Reply: yes / no") != NULL);
    world_close();
}

static void a_request_does_not_take_the_card_of_progress(void)
{
    world_open(",\"streaming\":\"off\"");
    world_progress(1, SMA_PROGRESS_STARTED, WORLD_CHAT, "");
    world_progress(1, SMA_PROGRESS_TEXT, WORLD_CHAT, "I would like to");
    WORLD_WAIT(platform_count("POST", MESSAGES) == 1);
    struct world_receipt receipt;
    char *json = card_request(NULL, NULL);
    world_set_intent(SMA_INTENT_APPROVAL_REQUEST);
    uint64_t row = world_deliver(1, WORLD_CHAT, "p2p", "om_asked", json);
    world_set_intent(SMA_INTENT_ASSISTANT_TEXT);
    free(json);
    WORLD_WAIT(world_has_receipt(row, &receipt));
    CHECK_TEXT("om_sent_2", receipt.platform_id);
    WORLD_WAIT(platform_count("DELETE", MESSAGES) == 1);
    world_close();
}

/* -- presses ----------------------------------------------------------------------------------- */
static void press(const char *event, const char *data)
{
    char payload[1024];
    snprintf(payload, sizeof payload,
             "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"%s\",\"event_type\":\"card.action."
             "trigger\",\"create_time\":\"1763755000000000\",\"token\":\"vt\",\"app_id\":"
             "\"cli_0123456789abcdef\"},\"event\":{\"operator\":{\"open_id\":\"" WORLD_ADA
             "\"},\"token\":\"c-1\",\"action\":{\"value\":{\"consent\":\"%s\"},\"tag\":\"button\"},"
             "\"host\":\"im_message\",\"context\":{\"open_message_id\":\"om_1\",\"open_chat_id\":"
             "\"" WORLD_GROUP "\"}}}",
             event, data);
    platform_send_event(event, payload, 1, NULL);
}

/* The toast in the answer with this number; decref. */
static json_t *toast_at(size_t index)
{
    unsigned char bytes[512];
    WORLD_WAIT(platform_ack_count() == index + 1);
    struct platform_ack ack = platform_ack_at(index);
    int len = EVP_DecodeBlock(bytes, (const unsigned char *)ack.data, (int)strlen(ack.data));
    CHECK(len > 0);
    json_t *tree = json_loadb((const char *)bytes, (size_t)len, JSON_DISABLE_EOF_CHECK, NULL);
    CHECK(tree != NULL);
    struct fake_feishu fake = {.index = NULL};
    CHECK(fake_feishu_check_answer(&fake, tree) == NULL);
    json_t *toast = json_incref(json_object_get(tree, "toast"));
    json_decref(tree);
    return toast;
}

static void a_press_is_answered_with_the_words_of_the_core(void)
{
    static const struct
    {
        enum sma_verdict verdict;
        const char *notice, *type;
    } cases[] = {{SMA_VERDICT_ACCEPTED, "Approved.", "success"},
                 {SMA_VERDICT_IGNORED, "只有管理员可以决定。", "warning"},
                 {SMA_VERDICT_BUSY, "later", "warning"}};
    world_open("");
    WORLD_WAIT(platform_is_connected());
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char event[16];
        snprintf(event, sizeof event, "ev_%zu", i);
        world_answer_presses(cases[i].verdict, cases[i].notice);
        press(event, "sa1:AQIDAAAAAAAAAAAAAAAAAA:*:y:0123456789abcdef");
        json_t *toast = toast_at(i);
        CHECK_TEXT(cases[i].notice, json_string_value(json_object_get(toast, "content")));
        CHECK_TEXT(cases[i].type, json_string_value(json_object_get(toast, "type")));
        json_decref(toast);
    }
    CHECK_TEXT("sa1:AQIDAAAAAAAAAAAAAAAAAA:*:y:0123456789abcdef", world_event_at(0).text);
    CHECK_TEXT("feishu:chat:" WORLD_GROUP, world_event_at(0).chat_key);
    struct sma_buf words;
    sma_buf_init(&words, 1 << 16);
    for (int i = 0; i < 1000; i++)
        sma_buf_put_text(&words, "不");
    world_answer_presses(SMA_VERDICT_ACCEPTED, words.ptr);
    press("ev_long", "sa1:x");
    WORLD_WAIT(platform_ack_count() == SMA_COUNT_OF(cases) + 1);
    CHECK(strlen(platform_ack_at(SMA_COUNT_OF(cases)).data) > 400);
    sma_buf_fini(&words);
    world_close();
}

/* -- cards of the model ------------------------------------------------------------------------ */
/* As it is, or its words; one without words not at all. */
static void an_own_card_goes_out_as_it_is(void)
{
    static const char card[] = "{\"elements\":[{\"tag\":\"hr\"}]}";
    world_open("");
    struct world_receipt receipt = deliver(SMA_INTENT_CARD, 1, "", strdup(card));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    struct platform_request sent = platform_request_at("POST", MESSAGES, 0);
    CHECK(strstr(sent.body, "\"msg_type\":\"interactive\"") != NULL);
    CHECK(strstr(sent.body, "\"content\":\"{\\\"elements\\\":[{\\\"tag\\\":\\\"hr\\\"}]}\"") !=
          NULL);
    platform_script(
        "POST", MESSAGES, 1, 400, "",
        "{\"code\":230099,\"msg\":\"Failed to create card content, ext=ErrCode: 200570; "
        "ErrMsg: invalid image keys;\"}");
    receipt = deliver(SMA_INTENT_CARD, 2, "", strdup(card));
    CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
    CHECK(strstr(receipt.error, "invalid image keys") != NULL);
    CHECK_INT(2, platform_count("POST", MESSAGES));
    static const char words[] =
        "{\"header\":{\"title\":{\"tag\":\"plain_text\",\"content\":\"Figures\"}},\"elements\":["
        "{\"tag\":\"img\",\"img_key\":\"k\"},{\"tag\":\"markdown\",\"content\":\"Nine in all\"}]}";
    platform_script("POST", MESSAGES, 1, 400, "",
                    "{\"code\":230099,\"msg\":\"Failed to create card content\"}");
    receipt = deliver(SMA_INTENT_CARD, 3, "", strdup(words));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    sent = platform_request_at("POST", MESSAGES, 3);
    CHECK(strstr(sent.body, "\"msg_type\":\"text\"") != NULL);
    CHECK(strstr(sent.body, "Figures") != NULL && strstr(sent.body, "Nine in all") != NULL);
    world_close();
}

/* -- reactions --------------------------------------------------------------------------------- */
static void reactions_land_or_say_why_not(void)
{
    world_open("");
    platform_script("POST", MESSAGES "/om_asked/reactions", 1, 200, "",
                    "{\"code\":0,\"data\":{\"reaction_id\":\"ZCaC1\"}}");
    struct world_receipt receipt = deliver(SMA_INTENT_REACTION, 1, "om_asked", strdup("👍🏽"));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    struct platform_request sent = platform_request_at("POST", MESSAGES "/om_asked/reactions", 0);
    CHECK_TEXT("{\"reaction_type\":{\"emoji_type\":\"THUMBSUP\"}}", sent.body);
    receipt = deliver(SMA_INTENT_REACTION, 2, "om_asked", strdup("🚀"));
    CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
    CHECK(strstr(receipt.error, "🚀") != NULL && strstr(receipt.error, "👍") != NULL);
    receipt = deliver(SMA_INTENT_REACTION, 3, "", strdup("👍"));
    CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
    platform_script("POST", MESSAGES "/om_asked/reactions", 1, 400, "",
                    "{\"code\":231003,\"msg\":\"The message is not found.\"}");
    receipt = deliver(SMA_INTENT_REACTION, 4, "om_asked", strdup("👍"));
    CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
    CHECK_INT(2, platform_count("POST", MESSAGES));
    world_close();
}

int main(void)
{
    RUN(a_request_is_a_card_the_platform_takes);
    RUN(the_largest_card_fits);
    RUN(what_is_no_card_is_text);
    RUN(every_reaction_is_one_the_platform_knows);
    RUN(a_request_becomes_its_outcome);
    RUN(an_outcome_without_its_card_is_a_new_one);
    RUN(a_refused_request_goes_as_words);
    RUN(a_request_does_not_take_the_card_of_progress);
    RUN(a_press_is_answered_with_the_words_of_the_core);
    RUN(an_own_card_goes_out_as_it_is);
    RUN(reactions_land_or_say_why_not);
    return check_summary();
}
