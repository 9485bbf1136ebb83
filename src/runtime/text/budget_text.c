/* Budgets in words. See budget_text.h. */
#include "runtime/text/budget_text.h"

#include "sma/messages.h"

#include <stdio.h>

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)
#define WORD_BYTES 160

static const char *word(char *bytes, enum sma_language language, enum sma_notice notice,
                        unsigned count)
{
    struct sma_buf buf;
    sma_buf_init(&buf, WORD_BYTES);
    sma_notice_format(&buf, language, notice, count);
    snprintf(bytes, WORD_BYTES, "%.*s", (int)buf.len, buf.len == 0 ? "" : buf.ptr);
    sma_buf_fini(&buf);
    return bytes;
}

/* Rounded up: who comes back then does not come too early. */
static const char *put_time(char *bytes, enum sma_language language, int64_t left_ms)
{
    if (left_ms > 2 * DAY_MS)
        return word(bytes, language, SMA_NOTICE_BUDGET_DAYS,
                    (unsigned)((left_ms + DAY_MS - 1) / DAY_MS));
    if (left_ms > 2 * HOUR_MS)
        return word(bytes, language, SMA_NOTICE_BUDGET_HOURS,
                    (unsigned)((left_ms + HOUR_MS - 1) / HOUR_MS));
    int64_t minutes = (left_ms + MINUTE_MS - 1) / MINUTE_MS;
    return word(bytes, language, SMA_NOTICE_BUDGET_MINUTES, minutes < 1 ? 1 : (unsigned)minutes);
}

struct words
{
    char scope[WORD_BYTES], kind[WORD_BYTES], period[WORD_BYTES];
};

static void find_words(struct words *words, enum sma_language language, unsigned scope,
                       unsigned kind, unsigned period)
{
    static const enum sma_notice scopes[] = {[SMA_BUDGET_PERSON] = SMA_NOTICE_BUDGET_PERSON,
                                             [SMA_BUDGET_CHAT] = SMA_NOTICE_BUDGET_CHAT,
                                             [SMA_BUDGET_PLATFORM] = SMA_NOTICE_BUDGET_PLATFORM,
                                             [SMA_BUDGET_TOTAL] = SMA_NOTICE_BUDGET_TOTAL};
    static const enum sma_notice kinds[] = {[SMA_BUDGET_TOKENS] = SMA_NOTICE_BUDGET_TOKENS,
                                            [SMA_BUDGET_COST] = SMA_NOTICE_BUDGET_COST,
                                            [SMA_BUDGET_RUNS] = SMA_NOTICE_BUDGET_RUNS};
    SMA_ASSERT(scope > SMA_BUDGET_NONE && scope < SMA_BUDGET_SCOPE_COUNT);
    SMA_ASSERT(kind < SMA_BUDGET_KIND_COUNT && period < SMA_BUDGET_PERIOD_COUNT);
    word(words->scope, language, scopes[scope], 0);
    word(words->kind, language, kinds[kind], 0);
    word(words->period, language,
         period == SMA_BUDGET_DAY ? SMA_NOTICE_BUDGET_TODAY : SMA_NOTICE_BUDGET_THIS_MONTH, 0);
}

void sma_budget_text_put(struct sma_buf *buf, enum sma_language language, enum sma_notice notice,
                         const struct sma_budget_over *over)
{
    struct words words;
    char left[WORD_BYTES];
    find_words(&words, language, over->scope, over->kind, over->period);
    sma_notice_format(buf, language, notice, words.scope, words.period, words.kind,
                      put_time(left, language, over->left_ms));
}

void sma_budget_left_put(struct sma_buf *buf, enum sma_language language,
                         const struct sma_budget_left *left)
{
    struct words words;
    find_words(&words, language, left->scope, left->kind, left->period);
    sma_notice_format(buf, language, SMA_NOTICE_BUDGET_LEFT, words.scope, words.period, left->left,
                      left->limit, words.kind);
}

const char *sma_budget_scope_name(unsigned scope)
{
    static const char *const names[] = {"none", "person", "chat", "platform", "total"};
    return scope < SMA_COUNT_OF(names) ? names[scope] : "";
}

const char *sma_budget_kind_name(unsigned kind)
{
    static const char *const names[] = {"tokens", "cost", "runs", "messages"};
    return kind < SMA_COUNT_OF(names) ? names[kind] : "";
}

const char *sma_budget_period_name(unsigned period)
{
    static const char *const names[] = {"day", "month", "minute"};
    return period < SMA_COUNT_OF(names) ? names[period] : "";
}
