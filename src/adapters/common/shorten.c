/* shorten.c — see shorten.h. */
#include "shorten.h"

#include "runtime/delivery/split.h"
#include "sma/notices.h"
#include "sma/text.h"

#define UNITS_LEAST 64

static void take_first(void *user, const struct sma_split_part *part)
{
    struct sma_buf *buf = user;
    if (part->index > 0)
        return;
    sma_buf_put_str(buf, part->body);
    sma_buf_put_str(buf, part->suffix);
}

void sma_adapter_put_short(struct sma_buf *buf, struct sma_str text, struct sma_str language)
{
    size_t units = sma_utf16_length(text) / 2;
    enum sma_err err =
        sma_text_split(text, units < UNITS_LEAST ? UNITS_LEAST : (uint32_t)units, take_first, buf);
    if (err != SMA_ERR_OK && buf->err == SMA_ERR_OK)
        buf->err = err;
    sma_buf_put_text(buf, "\n\n");
    sma_notice_format(buf, sma_notice_language(SMA_LANGUAGE_AUTO, language, true), SMA_NOTICE_CUT);
}
