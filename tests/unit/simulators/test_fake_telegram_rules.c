/*
 * Aim: the simulated Telegram refuses pictures that the platform refuses (the rest:
 * tests/talks/fake_telegram.talk).
 * Method: each rule once, by its function.
 */
#include "support/check.h"
#include "telegram/fake_telegram_priv.h"

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
    RUN(photos_are_checked);
    return check_summary();
}
