/*
 * chat_ui.h — the chat on a terminal: the user's line at the bottom, with editing and history, and
 * everything else above it.
 *
 * Keys: Enter sends; Alt-, Shift- or Ctrl-Enter, or a backslash at the end and Enter, begin a new
 * line; what is pasted is one piece. Ctrl-C clears the line; on an empty line it stops the running
 * answer, and a second one leaves. Ctrl-D on an empty line, /exit and /quit leave.
 * While the service is away the line is still the editor's: nothing of it reaches a shell. What is
 * sent meanwhile is kept and goes out when the service is back (chat_wire.h).
 *
 * Threads: the caller's, which blocks. The terminal's modes are put back at the end.
 */
#ifndef SMA_CLI_CHAT_UI_H
#define SMA_CLI_CHAT_UI_H

#include "chat_edit.h"
#include "chat_files.h"
#include "chat_screen.h"
#include "chat_wire.h"

struct sma_chat_ui;
struct sma_chat_ui_options
{
    struct sma_chat_link *wire; /* not connected yet; its events go to sma_chat_ui_on */
    struct sma_chat_screen *screen;
    struct sma_chat_files *files;
    int in_fd;
    int signal_fd;     /* a byte for each signal: its number */
    bool is_styled;    /* colours and Markdown; false: NO_COLOR */
    const int *log_fd; /* as in chat.h */
    const char *socket_path;
    const char *history_path; /* NULL: nothing is remembered */
    /* NULL, or: make a service, nobody listens any more; false: it cannot */
    bool (*revive)(void *user);
    void *user;
};
/** OK | UNSUPPORTED: no editor here; the caller goes on without | IO, NOMEM. */
SMA_CHECKED enum sma_err sma_chat_ui_create(const struct sma_chat_ui_options *options,
                                            struct sma_chat_ui **ret_ui, struct sma_error *error);
/** Talk until the user leaves. The wire must have been opened. @return the exit status */
SMA_CHECKED int sma_chat_ui_run(struct sma_chat_ui *ui);
void sma_chat_ui_destroy(struct sma_chat_ui *ui);
/** A sma_wire_fn for it. */
void sma_chat_ui_on(struct sma_chat_ui *ui, enum sma_wire_event event, const json_t *root,
                    struct sma_wire_message *message);

#endif
