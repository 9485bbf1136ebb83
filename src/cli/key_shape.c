/* key_shape.c — see key_shape.h. */
#include "key_shape.h"

#include "sma/text.h"

#include <ctype.h>
#include <stdlib.h>

#define RUN_CHARS_MIN 24   /* letters and digits without a break; names of models have breaks */
#define RUN_DIGITS_MIN 3   /* among them */
#define BOT_DIGITS_MIN 6   /* of a bot's number, before its ':' */
#define TOKEN_CHARS_MIN 30 /* behind it: 35 today, and nobody promises that */

static bool begins_as_key(const char *text, size_t len)
{
    static const char *const prefixes[] = {"sk-",  "AIza", "gsk_", "xai-", "nvapi-",
                                           "ghp_", "hf_",  "AKIA", "xox",  "github_pat_"};
    for (size_t i = 0; i < SMA_COUNT_OF(prefixes); i++) {
        size_t prefix = strlen(prefixes[i]);
        if (len >= prefix && memcmp(text, prefixes[i], prefix) == 0)
            return true;
    }
    return false;
}

static size_t count_digits(const char *text, size_t len)
{
    size_t digits = 0;
    while (digits < len && text[digits] >= '0' && text[digits] <= '9')
        digits++;
    return digits;
}

/* "7001234567:" is enough: no name begins so. */
static bool begins_as_bot(const char *text, size_t len)
{
    size_t digits = count_digits(text, len);
    return digits >= BOT_DIGITS_MIN && digits < len && text[digits] == ':';
}

static bool holds_random(const char *text, size_t len)
{
    size_t run = 0, digits = 0;
    for (size_t i = 0; i < len; i++) {
        bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (!is_digit && isalpha((unsigned char)text[i]) == 0) {
            run = digits = 0;
            continue;
        }
        run++;
        digits += is_digit;
        if (run >= RUN_CHARS_MIN && digits >= RUN_DIGITS_MIN && digits < run)
            return true;
    }
    return false;
}

bool sma_key_looks_like_one(const char *text, size_t len)
{
    if (begins_as_key(text, len) || begins_as_bot(text, len))
        return true;
    bool is_address = len >= 4 && memcmp(text, "http", 4) == 0;
    bool is_path = memchr(text, '/', len) != NULL;
    return !is_address && !is_path && holds_random(text, len);
}

/* -- the shapes of platforms ------------------------------------------------------------------- */
/* Source: protocols/telegram.md §1, feishu.md §1, qq.md §1. */
static bool is_bot_token(const char *value)
{
    size_t len = strlen(value), digits = count_digits(value, len);
    if (digits < BOT_DIGITS_MIN || value[digits] != ':' || len - digits - 1 < TOKEN_CHARS_MIN)
        return false;
    for (const char *at = value + digits + 1; *at != '\0'; at++)
        if (isalnum((unsigned char)*at) == 0 && *at != '-' && *at != '_')
            return false;
    return true;
}

static bool is_feishu_app(const char *value)
{
    return strncmp(value, "cli_", 4) == 0 && value[4] != '\0';
}

static bool is_number(const char *value)
{
    size_t len = strlen(value);
    return len > 0 && count_digits(value, len) == len;
}

const char *sma_key_shape_fault(const char *variable, const char *value)
{
    static const struct
    {
        const char *variable, *fault;
        bool (*is_whole)(const char *value);
    } rows[] = {
        {"TELEGRAM_BOT_TOKEN",
         "a bot's token is its number, a colon and 35 letters, digits, - or _; @BotFather shows it "
         "whole with /mybots, API Token",
         is_bot_token},
        {"FEISHU_APP_ID",
         "an app's id begins with cli_; it stands at open.feishu.cn or open.larksuite.com, your "
         "app, Credentials",
         is_feishu_app},
        {"QQ_APP_ID", "an AppID is a number; it stands at q.qq.com, your bot, Development settings",
         is_number},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        if (strcmp(variable, rows[i].variable) == 0)
            return rows[i].is_whole(value) ? NULL : rows[i].fault;
    return NULL;
}
