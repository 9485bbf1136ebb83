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

static void photos_are_checked(void)
{
#define PNG(width, height) "\x89PNG\r\n\x1a\n\0\0\0\rIHDR" width height
#define BYTES(text)            \
    {                          \
        text, sizeof(text) - 1 \
    }
    static const struct
    {
        struct sma_str bytes;
        const char *why;
    } cases[] = {
        {BYTES("\xff\xd8\xff\xe0 and so on"), NULL},
        {BYTES("RIFF\x10\0\0\0WEBPVP8 "), NULL},
        {BYTES("GIF89a"), NULL},
        {BYTES(PNG("\0\0\x13\x88", "\0\0\x13\x88")), NULL},                       /* 5000 + 5000 */
        {BYTES(PNG("\0\0\x13\x88", "\0\0\x13\x89")), "PHOTO_INVALID_DIMENSIONS"}, /* one more */
        {BYTES(PNG("\0\0\0\x14", "\0\0\0\x01")), NULL},                           /* 20 : 1 */
        {BYTES(PNG("\0\0\0\x15", "\0\0\0\x01")), "PHOTO_INVALID_DIMENSIONS"},
        {BYTES(PNG("\0\0\0\x01", "\0\0\0\x15")), "PHOTO_INVALID_DIMENSIONS"},
        {BYTES(PNG("\0\0\0\x01", "")), "IMAGE_PROCESS_FAILED"},
        {BYTES("no picture"), "IMAGE_PROCESS_FAILED"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        const char *why = fake_check_photo(cases[i].bytes);
        CHECK((why == NULL) == (cases[i].why == NULL));
        CHECK(why == NULL || strstr(why, cases[i].why) != NULL);
    }
}

int main(void)
{
    RUN(keyboards_are_checked);
    RUN(reactions_are_checked);
    RUN(photos_are_checked);
    return check_summary();
}
