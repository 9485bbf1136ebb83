/*
 * chat_keys.h — the bytes that a terminal sends, as keys and text.
 *
 * Understands what xterm and its descendants send: cursor keys with and without modifiers, CSI u
 * (kitty) and modifyOtherKeys (xterm), Alt as a leading ESC, and pasted text in brackets (CSI 200 ~
 * ... CSI 201 ~), which is one event however many lines it has. What is not understood is dropped
 * whole; nothing of a sequence becomes text.
 *
 * Invariants: TEXT and PASTE are valid UTF-8 without control characters; in PASTE line feeds and
 *             tabs are left.
 * Threads:    the owner only.
 * Limits:     a paste of more than CHAT_PASTE_BYTES_MAX is cut there.
 */
#ifndef SMA_CLI_CHAT_KEYS_H
#define SMA_CLI_CHAT_KEYS_H

#include "sma/buf.h"

#define CHAT_PASTE_BYTES_MAX (1024u * 1024)
#define CHAT_SEQUENCE_BYTES_MAX 64
#define CHAT_ESCAPE_MS 500 /* an ESC that nothing follows for so long is the key: slow lines */
#define CHAT_PASTE_MS 5000 /* a paste that nothing follows for so long is over */

enum sma_chat_key
{
    CHAT_KEY_TEXT,
    CHAT_KEY_PASTE,
    CHAT_KEY_CONTROL, /* text: one byte, 'a' to 'z' */
    CHAT_KEY_ALT,     /* text: one byte, 'a' to 'z' */
    CHAT_KEY_ENTER,
    CHAT_KEY_NEWLINE, /* Shift-, Alt-, Ctrl-Enter */
    CHAT_KEY_BACKSPACE,
    CHAT_KEY_DELETE,
    CHAT_KEY_ERASE_WORD,
    CHAT_KEY_LEFT,
    CHAT_KEY_RIGHT,
    CHAT_KEY_UP,
    CHAT_KEY_DOWN,
    CHAT_KEY_WORD_LEFT,
    CHAT_KEY_WORD_RIGHT,
    CHAT_KEY_HOME,
    CHAT_KEY_END,
    CHAT_KEY_ESCAPE,
};
typedef void sma_chat_key_fn(void *user, enum sma_chat_key key, struct sma_str text);

struct sma_chat_keys
{
    uint8_t state; /* private */
    char sequence[CHAT_SEQUENCE_BYTES_MAX];
    size_t sequence_len;
    size_t string_len;
    bool is_after_return; /* a line feed now belongs to it */
    struct sma_buf text;  /* a run of text that is not told yet; may end within a character */
    struct sma_buf paste;
};

void sma_chat_keys_init(struct sma_chat_keys *keys);
void sma_chat_keys_fini(struct sma_chat_keys *keys);
/** Take these bytes; `each` is called for every key they complete. */
void sma_chat_keys_take(struct sma_chat_keys *keys, struct sma_str bytes, sma_chat_key_fn *each,
                        void *user);
/** Milliseconds until sma_chat_keys_end should be called if nothing comes; -1: no need. */
int sma_chat_keys_wait_ms(const struct sma_chat_keys *keys);
/** Nothing came: a lone ESC is a key, what else was begun is over. */
void sma_chat_keys_end(struct sma_chat_keys *keys, sma_chat_key_fn *each, void *user);

#endif
