/* Aim: every notice exists in both languages with the same place holders and is formatted whole. */
#include "sma/notices.h"
#include "support/check.h"

CASE(language_follows_config_then_user_then_adapter)
{
    static const struct
    {
        enum sma_language configured;
        const char *user;
        bool is_chinese;
        enum sma_language wanted;
    } rows[] = {
        {SMA_LANGUAGE_AUTO, "", false, SMA_LANGUAGE_EN},
        {SMA_LANGUAGE_AUTO, "", true, SMA_LANGUAGE_ZH},
        {SMA_LANGUAGE_AUTO, "zh-hans", false, SMA_LANGUAGE_ZH},
        {SMA_LANGUAGE_AUTO, "ZH", false, SMA_LANGUAGE_ZH},
        {SMA_LANGUAGE_AUTO, "en-GB", true, SMA_LANGUAGE_EN},
        {SMA_LANGUAGE_AUTO, "z", true, SMA_LANGUAGE_EN},
        {SMA_LANGUAGE_AUTO, "de", true, SMA_LANGUAGE_EN},
        {SMA_LANGUAGE_ZH, "en", false, SMA_LANGUAGE_ZH},
        {SMA_LANGUAGE_EN, "zh", true, SMA_LANGUAGE_EN},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        CHECK_INT(rows[i].wanted, sma_notice_language(rows[i].configured, sma_str(rows[i].user),
                                                      rows[i].is_chinese));
    }
}

CASE(arguments_are_filled_in)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 4096);
    sma_notice_format(&buf, SMA_LANGUAGE_EN, SMA_NOTICE_BUSY_POSITION, 3u);
    CHECK_STR("I have your message; 3 messages are ahead of it.", sma_buf_str(&buf));
    sma_buf_clear(&buf);
    sma_notice_format(&buf, SMA_LANGUAGE_ZH, SMA_NOTICE_BUSY_POSITION, 12u);
    CHECK_STR("你的消息已收到，前面还有 12 条在等待。", sma_buf_str(&buf));
    sma_buf_clear(&buf);
    sma_notice_format(&buf, SMA_LANGUAGE_ZH, SMA_NOTICE_STATUS, 1u, 2u, 3u, 4u);
    CHECK_STR("运行中。本会话等待 1 条，全部等待 2 条，等待语言模型 3 条，启动以来已回复 4 条。",
              sma_buf_str(&buf));
    sma_buf_clear(&buf);
    sma_notice_format(&buf, SMA_LANGUAGE_EN, SMA_NOTICE_RUN_FAILED, "100% %s gone");
    CHECK_STR("I could not finish this: 100% %s gone", sma_buf_str(&buf));
    sma_buf_clear(&buf);
    sma_notice_format(&buf, SMA_LANGUAGE_EN, SMA_NOTICE_RUN_FAILED, (const char *)NULL);
    CHECK_STR("I could not finish this: ", sma_buf_str(&buf));
}

/* The order of place holders must be the same, or an argument would be read as the wrong type. */
CASE(both_languages_have_the_same_place_holders)
{
    static const char *const table[][2] = {
#define X(name, en, zh) {en, zh},
        SMA_NOTICE_MAP(X)
#undef X
    };
    CHECK_INT(SMA_NOTICE_COUNT, SMA_COUNT_OF(table));
    for (size_t i = 0; i < SMA_COUNT_OF(table); i++) {
        const char *a = strchr(table[i][0], '%'), *b = strchr(table[i][1], '%');
        while (a != NULL && b != NULL) {
            CHECK(a[1] == b[1]);
            CHECK(a[1] == 's' || a[1] == 'u');
            a = strchr(a + 1, '%');
            b = strchr(b + 1, '%');
        }
        CHECK(a == NULL && b == NULL);
        CHECK(table[i][0][0] != '\0' && table[i][1][0] != '\0');
    }
}

CASES_MAIN
