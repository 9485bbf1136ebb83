/* reasons.c — see reasons.h. */
#include "sma/reasons.h"

#include "sma/labels.h"
#include "sma/text.h"

#include <stdatomic.h>

static const struct sma_reason_text texts[SMA_REASON_COUNT] = {
    [SMA_REASON_NONE] = {"", "", "", SMA_REASON_IS_IGNORED},
#define X(name, kind, word, sentence, remedy) \
    [SMA_REASON_##name] = {word, sentence, remedy, SMA_REASON_IS_##kind},
    SMA_REASON_MAP(X)
#undef X
};
static _Atomic uint64_t counts[SMA_LABEL_COUNT_MAX][SMA_REASON_COUNT];

const struct sma_reason_text *sma_reason_text(enum sma_reason reason)
{
    SMA_ASSERT(reason < SMA_REASON_COUNT);
    return &texts[reason];
}

enum sma_reason sma_reason_of_word(struct sma_str word)
{
    for (unsigned i = 1; i < SMA_REASON_COUNT; i++)
        if (sma_str_is_equal(word, sma_str(texts[i].word)))
            return (enum sma_reason)i;
    return SMA_REASON_NONE;
}

enum sma_reason sma_reason_of_why(const char *why, const char **ret_more)
{
    const char *end = strstr(why, ": ");
    struct sma_str word = {why, end == NULL ? 0 : (size_t)(end - why)};
    enum sma_reason reason = sma_reason_of_word(word);
    if (ret_more != NULL)
        *ret_more = reason == SMA_REASON_NONE ? why : end + 2;
    return reason == SMA_REASON_NONE ? SMA_REASON_UNSUPPORTED : reason;
}

/* -- counters ---------------------------------------------------------------------------------- */
void sma_reason_count(struct sma_str platform, enum sma_reason reason)
{
    SMA_ASSERT(reason < SMA_REASON_COUNT);
    unsigned place = sma_label_place(SMA_LABEL_PLATFORM, platform);
    atomic_fetch_add_explicit(&counts[place][reason], 1, memory_order_relaxed);
}

/* Names of platforms are adapters' own: nothing in them needs escaping. */
void sma_reasons_format(struct sma_buf *buf)
{
    bool is_headed = false;
    for (unsigned place = 0; place < SMA_LABEL_COUNT_MAX; place++)
        for (unsigned reason = 1; reason < SMA_REASON_COUNT; reason++) {
            uint64_t count = atomic_load_explicit(&counts[place][reason], memory_order_relaxed);
            if (count == 0)
                continue;
            if (!is_headed)
                sma_buf_put_text(buf, "# HELP sma_platform_ignored_total messages and events that "
                                      "were not answered, by platform and reason\n"
                                      "# TYPE sma_platform_ignored_total counter\n");
            is_headed = true;
            struct sma_str name = sma_label_name(SMA_LABEL_PLATFORM, place);
            sma_buf_put_text(buf, "sma_platform_ignored_total{platform=\"");
            sma_buf_put_str(buf, name);
            sma_buf_printf(buf, "\",reason=\"%s\"} %llu\n", texts[reason].word,
                           (unsigned long long)count);
        }
}

void sma_reasons_reset(void)
{
    for (unsigned place = 0; place < SMA_LABEL_COUNT_MAX; place++)
        for (unsigned reason = 0; reason < SMA_REASON_COUNT; reason++)
            atomic_store_explicit(&counts[place][reason], 0, memory_order_relaxed);
}
