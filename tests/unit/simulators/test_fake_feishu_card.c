/*
 * Aim: the simulated Feishu judges the answers to buttons (the rest: tests/talks/fake_feishu.talk).
 * Method: the rules by their functions.
 */
#include "feishu/fake_feishu_priv.h"
#include "support/check.h"

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
}

int main(void)
{
    RUN(answers_to_buttons_are_judged);
    return check_summary();
}
