/*
 * terminal.h — chats in the terminal: a unix socket in the project's state folder, one JSON object
 * a line.
 *
 * The protocol, version 1. Every line is one object with a "type".
 *   server: {"type":"hello","version":1}                                        first line
 *   client: {"type":"hello","version":1,"chat":"main","user":"jo"}              first line; listens
 *   to this chat
 *   client: {"type":"message","id":"..","text":".."}                            id is the client's,
 *   unique for ever;
 *           without one there is no accepted and no done line for it. It may have
 *           "attachments":[{"path":".."}], files of the project, then text may be empty
 *   client: {"type":"stop"}                                                     /stop for its chat
 *   client: {"type":"press","id":"..","data":".."}                              a button of a card
 *   server: {"type":"welcome","agent":"..","model":".."}                        after the client's
 *   hello: who answers in its chat
 *   server: {"type":"accepted","id":"..","seq":7,"verdict":"accepted","position":0}   durable from
 *   here on; after a press it may have a "notice" for who pressed
 *   server: {"type":"progress","seq":7,"kind":"started|text|tool|finished","text":"..",
 *            "detail":".."}
 *           text is everything so far, or the tool, and detail on what; may be missing at any time
 *   server: {"type":"message","seq":7,"intent":"text|notice|error","text":".."} a delivery; always
 *   whole server:
 *   {"type":"message","seq":7,"intent":"approval|outcome","id":"..","title":"..",
 *    "text":"..","plain":"..",
 *            "buttons":[{"text":"..","data":"..","isApproval":true,"row":0}]}   people are asked,
 *            or were; text is Markdown,
 *           plain also says how to answer: in words, by the next message of the chat. Buttons need
 *           not be shown
 *   server: {"type":"waiting","id":"..","seq":7,"text":".."}                    it waits behind a
 *   question to people, which text names
 *   server: {"type":"done","id":"..","seq":7,"success":true,"state":"done","output":".."}   the run
 *   is over, or "parked"; comes
 *           after its messages
 *   server: {"type":"error","id":"..","text":".."}                              id "" = not about
 *   one message. With "stopping":true the service ends: the message may be sent to its successor
 *   under the same id, which takes it once
 * Unknown types and members are ignored by both sides. Control commands (/stop, /clear, ...) are
 * messages.
 *
 * A delivery is "sent" when its bytes were taken by the socket of at least one client that listens
 * to the chat; with no such client it is given up. One for a message of the service's life before
 * waits some seconds after the start: terminals that were connected come back.
 *
 * Limits: SMA_TERMINAL_CLIENT_COUNT_MAX, SMA_TERMINAL_LINE_BYTES_MAX, SMA_TEXT_BYTES_MAX. A client
 *         that does not read is dropped and holds nobody up.
 */
#ifndef SMA_ADAPTERS_TERMINAL_H
#define SMA_ADAPTERS_TERMINAL_H

#include "sma/adapter.h"

#define SMA_TERMINAL_VERSION 1
#define SMA_TERMINAL_SOCKET_NAME "chat.sock" /* in config->state_dir */
#define SMA_TERMINAL_CHAT_BYTES_MAX 128      /* name of a chat */

extern const struct sma_adapter_ops sma_terminal_adapter_ops;

/**
 * Listen on a unix stream socket at path, mode 0600. A socket nobody listens on is replaced. Paths
 * longer than a socket address are reached through /proc/self/fd.
 * @return OK and a non-blocking descriptor | EXISTS: somebody listens there | IO, with one line in
 * *error
 * Thread: any.  Blocks: no.
 */
SMA_CHECKED enum sma_err sma_terminal_listen(const char *path, int *ret_fd,
                                             struct sma_error *error);
/** Connect to such a socket. NOTFOUND: nobody listens. IO. The descriptor blocks. */
SMA_CHECKED enum sma_err sma_terminal_connect(const char *path, int *ret_fd,
                                              struct sma_error *error);

#endif
