/* telegram_out_priv.h — what the files of telegram_out.h share. */
#ifndef SMA_TELEGRAM_OUT_PRIV_H
#define SMA_TELEGRAM_OUT_PRIV_H

#include "adapters/telegram/telegram_out.h"
#include "runtime/markup/markup.h"

/** Append a part of a text as the HTML that the platform's parse_mode HTML takes. */
void telegram_put_html(struct sma_buf *buf, const struct sma_markup_part *part);
extern const struct sma_markup_limits telegram_markup_limits;
extern const struct sma_markup_options telegram_markup_options;
/** Append `,"reply_markup":{...}`; nothing when the card has no buttons that the platform takes. */
void telegram_put_keyboard(struct sma_buf *buf, const struct sma_card *card);
/** Append text cut to units_max UTF-16 units, with an ellipsis when it was cut; never inside a
 *  grapheme cluster. */
void telegram_put_cut(struct sma_buf *buf, struct sma_str text, uint32_t units_max);

#endif
