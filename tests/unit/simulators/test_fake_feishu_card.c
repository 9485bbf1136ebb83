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

int main(void)
{
    RUN(answers_to_buttons_are_judged);
    RUN(shown_buttons_can_be_pressed);
    return check_summary();
}
