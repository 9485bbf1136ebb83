/*
 * chat_card.h — questions to people in the terminal: shown once, answered by one key.
 *
 * A card's buttons are numbered; y and n stand for the first that approves and the first that
 * refuses. A key decides only on an empty line, a moment after the card came up and when nothing
 * follows it: who is typing a sentence approves nothing with its first letter.
 *
 * Threads: the caller's.
 * Limits:  CHAT_CARD_COUNT_MAX open cards are known, the newest; older ones are answered by words.
 */
#ifndef SMA_CLI_CHAT_CARD_H
#define SMA_CLI_CHAT_CARD_H

#include "sma/buf.h"

#include <jansson.h>

#define CHAT_CARD_COUNT_MAX 8
#define CHAT_CARD_CALM_NS 600000000ull /* no key decides before the card was seen */
#define CHAT_CARD_KEY_NS 350000000ull  /* what follows within this time makes a key a text */

struct sma_chat_cards
{
    json_t *roots[CHAT_CARD_COUNT_MAX]; /* oldest first; the last one is asked about */
    unsigned count;
    uint64_t shown_ns;
};
void sma_chat_cards_fini(struct sma_chat_cards *cards);
/** A card to be decided; without buttons it is somebody else's and not kept. false: it is known
 *  already. */
bool sma_chat_cards_add(struct sma_chat_cards *cards, json_t *root, uint64_t now_ns);
/** The one with this id is decided. @return whether another one is asked about now */
bool sma_chat_cards_drop(struct sma_chat_cards *cards, struct sma_str id, uint64_t now_ns);
/** The one that is asked about; NULL: none. */
const json_t *sma_chat_cards_top(const struct sma_chat_cards *cards);
/** What a key of this text chooses of the top card: a button (name and data); NULL: nothing. */
const json_t *sma_chat_cards_choice(const struct sma_chat_cards *cards, struct sma_str key,
                                    uint64_t now_ns);
/** Append what can be chosen: "y/1 Approve  n/2 Refuse  3 Always here". */
void sma_chat_cards_put_keys(struct sma_buf *buf, const struct sma_chat_cards *cards);
/** Append a card as styled text, or in the plain style where is_styled is false. */
void sma_chat_card_put(struct sma_buf *buf, const json_t *root, bool is_styled);
/** Append an outcome as one line: "Approved: ls -la · Decided by: local". */
void sma_chat_card_put_outcome(struct sma_buf *buf, const json_t *root);

#endif
