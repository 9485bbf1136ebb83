/*
 * chat_edit.h — the line a user writes, and the lines written before. Editing and history are
 * libedit's (docs/adr/0049); keys come decoded (chat_keys.h), and what is shown is ours
 * (chat_screen.h), so that text can appear above the line at any time.
 *
 * libedit is loaded when the first editor is made: a service never pays for it. It works on a
 * pseudo terminal of its own and never touches the user's.
 *
 * Invariants: the text is valid UTF-8; the cursor stands between two clusters (chat_cluster.h).
 * Threads:    the owner only; one editor a process. Creating sets LC_CTYPE of the process.
 * Limits:     CHAT_EDIT_BYTES_MAX, CHAT_HISTORY_COUNT_MAX, CHAT_HISTORY_LINE_BYTES_MAX.
 */
#ifndef SMA_CLI_CHAT_EDIT_H
#define SMA_CLI_CHAT_EDIT_H

#include "sma/buf.h"

#define CHAT_EDIT_BYTES_MAX (1024u * 1024) /* SMA_TEXT_BYTES_MAX: a longer message is not taken */
#define CHAT_HISTORY_COUNT_MAX 500
#define CHAT_HISTORY_LINE_BYTES_MAX 16384 /* a longer message is not remembered */

struct sma_chat_edit;
enum sma_chat_edit_command
{
    CHAT_EDIT_ERASE,      /* the cluster before the cursor */
    CHAT_EDIT_ERASE_NEXT, /* the one behind it */
    CHAT_EDIT_LEFT,
    CHAT_EDIT_RIGHT,
    CHAT_EDIT_HOME, /* of the line of the text that the cursor is in */
    CHAT_EDIT_END,
    /* these are libedit's, with its kill buffer */
    CHAT_EDIT_WORD_LEFT,
    CHAT_EDIT_WORD_RIGHT,
    CHAT_EDIT_ERASE_WORD,
    CHAT_EDIT_KILL_WORD,
    CHAT_EDIT_KILL_REST,
    CHAT_EDIT_KILL_ALL,
    CHAT_EDIT_YANK,
    CHAT_EDIT_TRANSPOSE,
    CHAT_EDIT_UPPER,
    CHAT_EDIT_LOWER,
    CHAT_EDIT_CAPITALIZE,
};

/** @return OK | UNSUPPORTED: libedit is not there | IO, NOMEM; with one line in *error */
SMA_CHECKED enum sma_err sma_chat_edit_create(struct sma_chat_edit **ret_edit,
                                              struct sma_error *error);
void sma_chat_edit_destroy(struct sma_chat_edit *edit); /* accepts NULL */

/** Insert at the cursor. TOOBIG: it would be longer than CHAT_EDIT_BYTES_MAX; nothing is changed.
 *  NOMEM. */
SMA_CHECKED enum sma_err sma_chat_edit_insert(struct sma_chat_edit *edit, struct sma_str text);
void sma_chat_edit_do(struct sma_chat_edit *edit, enum sma_chat_edit_command command);
/** One line of the text up (-1) or down (1). false: there is none. */
bool sma_chat_edit_step(struct sma_chat_edit *edit, int direction);
/** The text, valid until the next call, and where in it the cursor stands. */
struct sma_str sma_chat_edit_text(struct sma_chat_edit *edit, size_t *ret_cursor);
/** Put this in place of the text, the cursor behind it. */
void sma_chat_edit_set(struct sma_chat_edit *edit, struct sma_str text);

/* -- history ----------------------------------------------------------------------------------- */
/** Remember a line, unless it is long, empty, as the last one, begins with a blank, or looks like
 *  it holds a key or a password. @return whether it is */
bool sma_chat_edit_remember(struct sma_chat_edit *edit, struct sma_str text);
/** Show the line before (-1) or behind (1) the one that is shown. What was being written is the
 *  last one. false: there is none. */
bool sma_chat_edit_recall(struct sma_chat_edit *edit, int direction);
/** The newest line that holds `part`, at least `skip` of those passed over; NULL: none. Valid until
 *  the next call. */
const char *sma_chat_edit_search(struct sma_chat_edit *edit, struct sma_str part, unsigned skip);
/** Take the lines of a file, if there is one. */
void sma_chat_edit_load(struct sma_chat_edit *edit, const char *path);
/** Add a line to those of a file, mode 0600, in place of the old one at once: what other chats
 *  added meanwhile stays. */
SMA_CHECKED enum sma_err sma_chat_edit_save(struct sma_chat_edit *edit, const char *path,
                                            struct sma_str text, struct sma_error *error);

#endif
