/*
 * chat.h — the terminal chat: a client of the terminal adapter's socket
 * (adapters/terminal/terminal.h).
 *
 * On a terminal: chat_ui.h; on one that can do no more (TERM=dumb, is_plain, no editor), or with a
 * terminal on stdin alone, plain lines: a prompt, several lines by a backslash at the end of a
 * line, Ctrl-C stops the running answer, a second one (or one at an empty prompt) leaves, Ctrl-D
 * leaves. A path that is typed or dragged in takes its file along (chat_files.h).
 * Without: stdin as a whole is one message, the answer goes to stdout as it
 * is, a failure to stderr. Whatever the model says, control characters other than line feed and tab
 * never reach the terminal.
 */
#ifndef SMA_CLI_CHAT_H
#define SMA_CLI_CHAT_H

#include "sma/base.h"

struct sma_chat_options
{
    const char *chat;        /* NULL = "main" */
    const char *user;        /* NULL = $USER, else "local" */
    int in_fd;               /* 0 = stdin */
    int out_fd;              /* 0 = stdout */
    int err_fd;              /* 0 = stderr */
    bool is_plain;           /* no escape sequences even on a terminal */
    const char *project_dir; /* a real path: its files and others may be taken along; NULL: none */
    const char *const *attach; /* files of the first message */
    unsigned attach_count;
    /* NULL, or where the lines of a service of our own can be read; -1 there: nowhere */
    const int *log_fd;
    /* NULL, or: make a service when nobody listens any more. false: it cannot */
    bool (*revive)(void *user);
    void *revive_user;
};

/**
 * Talk until the user leaves, or, in a pipe, until the answer is there. Errors are said on err_fd.
 * @return exit status: 0 | 1 failed or no service | 130 interrupted in a pipe
 * Thread: one that may block; takes SIGINT while it runs and gives it back.
 */
SMA_CHECKED int sma_chat_client(const char *socket_path, const struct sma_chat_options *options);

#endif
