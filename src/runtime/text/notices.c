/* notices.c — the notices table and its two place holders. See include/sma/notices.h. */
#include "sma/notices.h"
#include "sma/text.h"

#include <stdarg.h>

struct notice
{
    const char *english, *chinese;
};

static const struct notice notices[SMA_NOTICE_COUNT] = {
#define X(name, en, zh) [SMA_NOTICE_##name] = {en, zh},
    SMA_NOTICE_MAP(X)
#undef X
};

enum sma_language sma_notice_language(enum sma_language configured, struct sma_str user_language,
                                      bool is_chinese_by_default)
{
    if (configured != SMA_LANGUAGE_AUTO)
        return configured;
    if (user_language.len == 0)
        return is_chinese_by_default ? SMA_LANGUAGE_ZH : SMA_LANGUAGE_EN;
    struct sma_str head = {user_language.ptr, user_language.len < 2 ? user_language.len : 2};
    return sma_str_is_equal_nocase(head, SMA_STR("zh")) ? SMA_LANGUAGE_ZH : SMA_LANGUAGE_EN;
}

/* Not vsnprintf: the format is data of a table, and %s and %u are all that it knows. */
void sma_notice_format(struct sma_buf *buf, enum sma_language language, enum sma_notice notice, ...)
{
    SMA_ASSERT(notice < SMA_NOTICE_COUNT);
    const char *format =
        language == SMA_LANGUAGE_ZH ? notices[notice].chinese : notices[notice].english;
    va_list arguments;
    va_start(arguments, notice);
    for (const char *at = format; *at != '\0';) {
        size_t plain = strcspn(at, "%");
        sma_buf_put(buf, at, plain);
        at += plain;
        if (*at == '\0')
            break;
        if (at[1] == 's') {
            const char *text = va_arg(arguments, const char *);
            sma_buf_put_text(buf, text == NULL ? "" : text);
        } else {
            SMA_ASSERT(at[1] == 'u');
            sma_buf_put_u64(buf, va_arg(arguments, unsigned));
        }
        at += 2;
    }
    va_end(arguments);
}
