/*
 * Markdown of a model, as rendered for Telegram. The first byte chooses the size of the parts, so
 * that short inputs are cut too. Promises under test, besides not crashing: parts are valid UTF-8,
 * not blank, within their limits, and what lies between two parts is white space.
 */
#include "fuzz.h"

#include "adapters/telegram/telegram_out.h"
#include "runtime/markup/markup.h"
#include "sma/text.h"

#include <stdlib.h>

struct seen
{
    const struct sma_markup *markup;
    uint32_t units_max;
    size_t end; /* of the last part */
};

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_gap(const struct seen *seen, size_t to)
{
    struct sma_str gap = {seen->markup->text.ptr + seen->end, to - seen->end};
    require(sma_text_is_blank(gap));
}

static void check_part(void *user, const struct sma_markup_part *part)
{
    struct seen *seen = user;
    check_gap(seen, part->from);
    seen->end = part->from + part->text.len;
    require(sma_utf8_is_valid(part->text) && !sma_text_is_blank(part->text));
    require(sma_utf16_length(part->text) <= seen->units_max);
    for (uint32_t i = 0; i < part->mark_count; i++)
        require(part->marks[i].from < part->marks[i].to && part->marks[i].to <= part->text.len);
}

static void check_telegram_part(void *user, struct sma_str part_bytes)
{
    struct telegram_part part;
    (void)user;
    require(telegram_part_decode(part_bytes, &part) == SMA_ERR_OK);
    require(part.html.len <= 32768 && sma_utf8_is_valid(part.html));
    require(sma_utf16_length(part.plain) <= TELEGRAM_PART_UNITS);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    struct sma_str text = {(const char *)bytes + 1, len - 1};
    struct sma_markup markup;
    struct sma_markup_limits limits = {.units_max = SMA_MARKUP_UNITS_MIN + bytes[0]};
    struct seen seen = {&markup, limits.units_max, 0};
    sma_markup_init(&markup);
    require(sma_markup_parse(&markup, text, NULL) == SMA_ERR_OK);
    require(sma_markup_split(&markup, &limits, check_part, &seen) == SMA_ERR_OK);
    if (markup.text.len > 0)
        check_gap(&seen, markup.text.len);
    sma_markup_fini(&markup);
    struct sma_deliver row = {.text = text, .intent = SMA_INTENT_ASSISTANT_TEXT};
    require(telegram_render(&row, check_telegram_part, NULL) == SMA_ERR_OK);
    require(telegram_render_preview(text, check_telegram_part, NULL) == SMA_ERR_OK);
    return 0;
}
