/*
 * Aim: the simulated Telegram refuses keyboards and reactions that the platform refuses.
 * Method: each rule once, by its function.
 */
#include "support/check.h"
#include "telegram/fake_telegram_priv.h"

#define D64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void keyboards_are_checked(void)
{
    static const struct
    {
        const char *markup, *why; /* NULL: fine */
    } cases[] = {
        {"{\"inline_keyboard\":[[{\"text\":\"a\",\"callback_data\":\"" D64 "\"}]]}", NULL},
        {"{\"inline_keyboard\":[[{\"text\":\"a\",\"url\":\"https://a.b\"}],[]]}", NULL},
        {"{\"inline_keyboard\":[]}", NULL},
        {"{}", NULL},
        {"[]", "object expected"},
        {"{\"inline_keyboard\":{}}", "Array"},
        {"{\"inline_keyboard\":[{\"text\":\"a\",\"callback_data\":\"d\"}]}", "row"},
        {"{\"inline_keyboard\":[[\"a\"]]}", "Object"},
        {"{\"inline_keyboard\":[[{\"callback_data\":\"d\"}]]}", "text"},
        {"{\"inline_keyboard\":[[{\"text\":\" \",\"callback_data\":\"d\"}]]}", "TEXT_INVALID"},
        {"{\"inline_keyboard\":[[{\"text\":\"a\"}]]}", "unallowed"},
        {"{\"inline_keyboard\":[[{\"text\":\"a\",\"callback_data\":\"\"}]]}", "DATA_INVALID"},
        {"{\"inline_keyboard\":[[{\"text\":\"a\",\"callback_data\":\"" D64 "x\"}]]}",
         "DATA_INVALID"},
        {"{\"inline_keyboard\":[[{\"text\":\"a\",\"callback_data\":"
         "\"中中中中中中中中中中中中中中中中中中中"
         "中中中\"}]]}",
         "DATA_INVALID"}, /* 22 characters, 66 bytes */
        {"{\"inline_keyboard\":[[{\"text\":\"a\",\"callback_data\":1}]]}", "String"},
        {"{\"inline_keyboard\":[[{\"text\":\"a\",\"callback_data\":\"d\",\"url\":\"u\"}]]}",
         "TYPE_INVALID"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        json_t *markup = json_loads(cases[i].markup, 0, NULL);
        CHECK(markup != NULL);
        const char *why = fake_check_keyboard(markup);
        json_decref(markup);
        if ((why == NULL) != (cases[i].why == NULL) ||
            (why != NULL && strstr(why, cases[i].why) == NULL))
            fprintf(stderr, "%s: %s\n", cases[i].markup, why == NULL ? "fine" : why);
        CHECK((why == NULL) == (cases[i].why == NULL));
        CHECK(why == NULL || strstr(why, cases[i].why) != NULL);
    }
    CHECK(fake_check_keyboard(NULL) != NULL); /* given, and no JSON */
}

static void reactions_are_checked(void)
{
    static const struct
    {
        const char *list, *emoji, *why;
    } cases[] = {
        {"[{\"type\":\"emoji\",\"emoji\":\"👍\"}]", "👍", NULL},
        {"[]", NULL, NULL},
        {"[{\"type\":\"emoji\",\"emoji\":\"❤️\"}]", "❤️",
         "REACTION_INVALID"}, /* with a selector */
        {"[{\"type\":\"emoji\",\"emoji\":\"🚀\"}]", "🚀", "REACTION_INVALID"},
        {"[{\"type\":\"paid\"}]", NULL, "REACTION_INVALID"},
        {"[{\"type\":\"emoji\",\"emoji\":\"👍\"},{\"type\":\"emoji\",\"emoji\":\"👎\"}]", "👍",
         "TOO_MANY"},
        {"{}", NULL, "parse"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        const char *emoji = "untouched";
        json_t *list = json_loads(cases[i].list, 0, NULL);
        const char *why = fake_check_reactions(list, &emoji);
        CHECK((why == NULL) == (cases[i].why == NULL));
        CHECK(why == NULL || strstr(why, cases[i].why) != NULL);
        CHECK((emoji == NULL) == (cases[i].emoji == NULL));
        CHECK(emoji == NULL || strcmp(emoji, cases[i].emoji) == 0);
        json_decref(list);
    }
}

int main(void)
{
    RUN(keyboards_are_checked);
    RUN(reactions_are_checked);
    return check_summary();
}
