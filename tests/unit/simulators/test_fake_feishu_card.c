/*
 * Aim: the simulated Feishu judges reactions and the answers to buttons, presses what is shown, and
 * tells what it got.
 * Method: one server on a thread, its REST calls and commands; the rules by their functions.
 */
#include "fake_feishu_test.h"

#include "feishu/fake_feishu_priv.h"

static void answers_to_buttons_are_judged(void)
{
    static const struct
    {
        const char *answer;
        bool is_good;
    } cases[] = {
        {"{}", true},
        {"{\"toast\":{\"type\":\"success\",\"content\":\"ok\"}}", true},
        {"{\"toast\":{\"type\":\"info\",\"i18n\":{\"zh_cn\":\"好\"}}}", true},
        {"{\"card\":{\"type\":\"raw\",\"data\":{\"schema\":\"2.0\",\"body\":{\"elements\":[]}}}}",
         true},
        {"{\"card\":{\"type\":\"template\",\"data\":{\"template_id\":\"x\"}}}", true},
        {"[]", false},
        {"{\"toast\":{}}", false},
        {"{\"toast\":{\"type\":\"success\"}}", false},
        {"{\"toast\":{\"type\":\"ok\",\"content\":\"ok\"}}", false},
        {"{\"elements\":[]}", false}, /* a bare card: the old format */
        {"{\"card\":{\"elements\":[]}}", false},
        {"{\"card\":{\"type\":\"raw\",\"data\":{\"schema\":\"2.0\",\"elements\":[]}}}", false},
    };
    struct fake_feishu none = {.index = NULL};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        json_t *answer = json_loads(cases[i].answer, 0, NULL);
        CHECK(answer != NULL);
        if ((fake_feishu_check_answer(&none, answer) == NULL) != cases[i].is_good)
            fprintf(stderr, "%s\n", cases[i].answer);
        CHECK((fake_feishu_check_answer(&none, answer) == NULL) == cases[i].is_good);
        json_decref(answer);
    }
    CHECK(fake_feishu_is_reaction("THUMBSUP") && fake_feishu_is_reaction("ThumbsDown"));
    CHECK(!fake_feishu_is_reaction("thumbsup") && !fake_feishu_is_reaction("") &&
          !fake_feishu_is_reaction("OK THUMBSUP"));
}

static void shown_buttons_can_be_pressed(void)
{
    start();
    log_in();
    char card[80], path[200];
    snprintf(card, sizeof card, "%s",
             sent("oc_ann", "interactive",
                  CARD("{\"tag\":\"button\",\"text\":{\"tag\":\"plain_text\",\"content\":\"Yes\"},"
                       "\"behaviors\":[{\"type\":\"callback\",\"value\":{\"k\":\"v\"}}]}"),
                  NULL));
    json_t *answer = platform_do(&feishu, "{s:s,s:s,s:s,s:s}", "do", "press", "message_id", card,
                                 "user", "ou_ann", "button", "Yes");
    char event[80];
    snprintf(event, sizeof event, "%s", platform_text(answer, "event_id", ""));
    json_decref(answer);
    answer = platform_do(&feishu, "{s:s,s:s}", "do", "toast", "event_id", event);
    CHECK(platform_flag(answer, "is_late",
                        false)); /* nobody is connected, and it never comes again */
    CHECK(!platform_flag(answer, "is_answered", true));
    json_decref(answer);
    snprintf(path, sizeof path, "/open-apis/im/v1/messages/%s/reactions", card);
    json_decref(accepted("POST", path, "{\"reaction_type\":{\"emoji_type\":\"Fire\"}}"));
    refused(400, 231001, "POST", path, "{\"reaction_type\":{\"emoji_type\":\"FIRE\"}}");
    answer = platform_do(&feishu, "{s:s,s:s}", "do", "list", "chat", "oc_ann");
    const json_t *message = json_array_get(json_object_get(answer, "messages"), 0);
    CHECK_INT(1, json_array_size(json_object_get(message, "buttons")));
    CHECK_TEXT("Fire", json_string_value(json_array_get(json_object_get(message, "reactions"), 0)));
    json_decref(answer);
    stop();
}

/* -- CardKit ----------------------------------------------------------------------------------- */
#define KIT "/open-apis/cardkit/v1/cards"
#define KIT_CARD(mode)                                                                             \
    "{\"schema\":\"2.0\",\"config\":{\"update_multi\":true,\"streaming_mode\":" mode               \
    "},\"body\":{\"elements\":[{\"tag\":\"markdown\",\"element_id\":\"answer\",\"content\":\"a\"}" \
    "]}}"

/* @return the card's id; static */
static const char *make_card(void)
{
    static char id[64];
    json_t *body = json_pack("{s:s,s:s}", "type", "card_json", "data", KIT_CARD("true"));
    char *text = json_dumps(body, JSON_COMPACT);
    json_t *tree = accepted("POST", KIT, text);
    snprintf(id, sizeof id, "%s", talk_text(json_object_get(tree, "data"), "card_id"));
    json_decref(tree);
    json_decref(body);
    free(text);
    return id;
}

static void type_on(int64_t code, const char *card, const char *element, const char *text,
                    int sequence)
{
    char path[200], body[200];
    snprintf(path, sizeof path, KIT "/%s/elements/%s/content", card, element);
    snprintf(body, sizeof body, "{\"content\":\"%s\",\"sequence\":%d,\"uuid\":\"u%d\"}", text,
             sequence, sequence);
    json_decref(call_as(token,
                        code == 0          ? 200
                        : code == 99991400 ? 429
                                           : 400,
                        code, "PUT", path, body));
}

static void type_quickly(const char *card, int sequence)
{
    char path[200], headers[256], body[100];
    snprintf(path, sizeof path, KIT "/%s/elements/answer/content", card);
    snprintf(headers, sizeof headers,
             "Content-Type: application/json\r\nAuthorization: Bearer %s\r\n", token);
    snprintf(body, sizeof body, "{\"content\":\"abc\",\"sequence\":%d}", sequence);
    struct http_answer answer = http_call(port, "PUT", path, headers, body, strlen(body), 20000);
    http_answer_fini(&answer);
}

static void cards_are_typed_in_order_and_in_time(void)
{
    start();
    log_in();
    char card[64], content[128], path[200];
    snprintf(card, sizeof card, "%s", make_card());
    snprintf(content, sizeof content, "{\"type\":\"card\",\"data\":{\"card_id\":\"%s\"}}", card);
    char *message = body_of("oc_team", "interactive", content, NULL);
    json_decref(accepted("POST", SEND, message));
    refused(400, 230099, "POST", SEND, message); /* a card is sent once */
    free(message);
    CHECK_INT(1, counter("unfinished"));
    type_on(0, card, "answer", "ab", 1);
    type_on(300317, card, "answer", "abc", 1);
    type_on(300313, card, "other", "abc", 2);
    type_on(300301, "7none", "answer", "abc", 3);
    type_on(99992402, card, "answer", "", 4);
    CHECK_INT(1, counter("wrong_sequences"));
    platform_tell(&feishu, "{s:s,s:i}", "do", "kit_life", "ms", 1);
    process_pause_ms(5);
    type_on(300309, card, "answer", "abc", 5); /* it has ended by itself */
    platform_tell(&feishu, "{s:s,s:i}", "do", "kit_life", "ms", 600000);
    snprintf(path, sizeof path, KIT "/%s/settings", card);
    json_decref(accepted("PATCH", path,
                         "{\"settings\":\"{\\\"config\\\":{\\\"streaming_mode\\\":false}}\","
                         "\"sequence\":6}"));
    CHECK_INT(0, counter("unfinished"));
    type_on(300309, card, "answer", "abc", 7);
    CHECK_INT(0, counter("complaints"));
    for (int i = 8; i < 30 && counter("floods") == 0; i++)
        type_quickly(card, i); /* ten a second */
    CHECK(counter("floods") > 0);
    complained("changed too fast");
    stop();
}

int main(void)
{
    RUN(answers_to_buttons_are_judged);
    RUN(shown_buttons_can_be_pressed);
    RUN(cards_are_typed_in_order_and_in_time);
    return check_summary();
}
