/*
 * send_text.h — the "text" member of a chat_send call, read while the call's arguments are still
 * arriving.
 *
 * A byte machine over the arguments text: finds the top-level member "text" of the object, decodes
 * its escapes and appends what is complete. Anything malformed stops it; what was read stays. So
 * does a member before the text that names another chat ("channel", "chatId", "message..."): what
 * goes there is not shown here.
 * Threads: the owner only. Limits: the buffer's maximum.
 */
#ifndef SMA_MODEL_SEND_TEXT_H
#define SMA_MODEL_SEND_TEXT_H

#include "sma/buf.h"

struct sma_send_text
{
    struct sma_buf text; /* decoded so far; ends at a character boundary */
    uint8_t state;
    uint8_t key_len; /* bytes of the current key compared so far; 255 = not "text" */
    uint8_t escape;  /* 0 none, 1 after backslash, 2..5 digits of \uXXXX */
    bool is_other_in_string, is_other_escaped;
    bool is_place;       /* the key begins as those that name a chat */
    uint32_t depth;      /* of a skipped value */
    uint32_t code, high; /* escape being read; first half of a surrogate pair */
};

void sma_send_text_init(struct sma_send_text *reader, size_t bytes_max);
void sma_send_text_fini(struct sma_send_text *reader);
/** The next bytes of the arguments. */
void sma_send_text_feed(struct sma_send_text *reader, struct sma_str piece);

#endif
