/*
 * prompt.h — questions on a terminal, one line each, for commands that ask.
 *
 * While it is open the terminal shows nothing by itself: what is typed is shown by us, or, if it is
 * a secret, not at all, also while a test runs between two questions. Backspace and Ctrl-U edit;
 * escape sequences (arrow keys) are swallowed. A signal that ends the program gives the terminal
 * back first.
 *
 * Invariants: between open and close nothing of ours is on disk that a signal would leave behind.
 * Threads:    the main thread; one terminal, so one prompt.
 */
#ifndef SMA_CLI_PROMPT_H
#define SMA_CLI_PROMPT_H

#include "sma/base.h"

/** Take the terminal, and SIGINT, SIGTERM, SIGHUP, SIGQUIT. last_words are printed when one of
 *  them ends the program (borrowed). */
void sma_prompt_open(const char *last_words);
/** Give both back. Does nothing when it is not open. */
void sma_prompt_close(void);

/**
 * One question: "question [otherwise]: ". What reads as a key is not shown, refused, and asked for
 * anew: it was meant for another question. An empty answer is `otherwise` ("" = none is shown).
 * @answer  room bytes; trimmed, without control characters; may be `otherwise` itself
 * @return  false: the input has ended
 */
bool sma_prompt_line(const char *question, const char *otherwise, char *answer, size_t room);
/** The same, and what is typed is never shown; only how long it is. */
bool sma_prompt_secret(const char *question, char *answer, size_t room);
/** Yes or no, asked again until it is one of them. */
bool sma_prompt_yes(const char *question, bool otherwise, bool *ret_is_yes);
/** Does the owner accept what was shown? Without a terminal only with is_yes (--yes).
 *  @command  for the message that says so */
bool sma_prompt_agree(const char *command, bool is_yes, const char *question);
/** One of `choices`, shown with numbers: a number or the beginning of one of them. */
bool sma_prompt_choice(const char *question, const char *const *choices, size_t count,
                       size_t otherwise, size_t *ret_index);
/** The same where a secret was asked for before: whoever gives it here shows it to nobody. What
 *  cannot be one of the choices is neither shown nor repeated. */
bool sma_prompt_choice_beside_secret(const char *question, const char *const *choices, size_t count,
                                     size_t otherwise, size_t *ret_index);
/** Has a line been entered meanwhile? It is taken. For waits that Enter ends. */
bool sma_prompt_is_pressed(int timeout_ms);

#endif
