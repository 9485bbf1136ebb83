/*
 * card_check.h — is this a card of Feishu that a model may send?
 *
 * A press on a card of the bot counts as a decision where the card is a request for consent
 * (docs/permissions.md), and it is read in the bot's name. So a card of the model's has nothing
 * that calls back: buttons open addresses of http and https, there are no forms and no values. Nor
 * does it mention anybody: that would ring in a whole group. What the platform refuses besides it
 * says itself, and the model is told.
 *
 * Threads: no state; any.  Limits: SMA_CARD_JSON_*.
 */
#ifndef SMA_RUNTIME_TOOLS_CARD_CHECK_H
#define SMA_RUNTIME_TOOLS_CARD_CHECK_H

#include "sma/buf.h"

#include <jansson.h>

#define SMA_CARD_JSON_BYTES_MAX (20 * 1024) /* as a text inside a request of 30 KB; more: refused */
#define SMA_CARD_JSON_ESCAPED_MAX (28 * 1024) /* the same with its quotes escaped */
#define SMA_CARD_JSON_DEPTH_MAX 16
#define SMA_CARD_JSON_NODE_COUNT_MAX 2000

/**
 * @card      may be NULL: there is none
 * @ret_text  the card as compact JSON; free it
 * @why       on BADINPUT the sentence for the model is appended
 * @return    OK | BADINPUT | NOMEM. Allocates.
 */
SMA_CHECKED enum sma_err sma_card_check(const json_t *card, char **ret_text, struct sma_buf *why);

/** A checked card as people read it, a member a line. @return malloc'd; NULL: out of memory */
char *sma_card_lines(struct sma_str card);

#endif
