/*
 * chat_wire.h — the chat's side of the terminal protocol (adapters/terminal/terminal.h): messages
 * on their way, and what the service says of them.
 *
 * A message is kept, with its id, until the service says that it is done. When the connection is
 * lost and made again, every message that is kept goes out once more under the same id: the service
 * takes each id once, so nothing is lost and nothing is doubled. One whose run waits for people is
 * kept until its answer was seen.
 *
 * Threads: the caller's. Blocks: while the service does not read.
 * Limits:  CHAT_OPEN_COUNT_MAX messages that are kept, of parked ones the newest;
 *          CHAT_LINE_BYTES_MAX of a line.
 */
#ifndef SMA_CLI_CHAT_WIRE_H
#define SMA_CLI_CHAT_WIRE_H

#include "sma/buf.h"

#include <jansson.h>

#define CHAT_LINE_BYTES_MAX (16u * 1024 * 1024) /* an escaped text may be large */
#define CHAT_SEEN_COUNT 32
#define CHAT_OPEN_COUNT_MAX 48 /* fewer than TERMINAL_RUN_COUNT_MAX */

enum sma_wire_state
{
    WIRE_KEPT,     /* not sent on this connection */
    WIRE_SENT,     /* not yet accepted: it may be lost with the connection */
    WIRE_ACCEPTED, /* durable */
    WIRE_PARKED,   /* people are asked; its answer comes by itself */
};
struct sma_wire_message
{
    struct sma_wire_message *next;
    enum sma_wire_state state;
    bool is_press; /* of a button */
    bool is_again; /* it was sent more than once: what was delivered meanwhile is not known */
    bool has_text; /* a text of its run was seen, which ended so: */
    char tail[64];
    size_t tail_len;
    json_int_t seq; /* 0 = not accepted yet */
    char id[40];
    struct sma_buf line;
};
/* What was delivered lately. A service that was killed delivers again what it does not know to have
 * arrived. */
struct sma_wire_seen
{
    json_int_t seq;
    size_t len;
    char tail[64];
    unsigned connection; /* on which */
};
enum sma_wire_event
{
    WIRE_WELCOME,  /* who answers */
    WIRE_DELIVERY, /* "message" */
    WIRE_PROGRESS,
    WIRE_WAITING, /* message waits behind a question */
    WIRE_TAKEN,   /* "accepted" */
    WIRE_DONE,    /* message is ours; it is let go after the call unless it is parked */
    WIRE_ERROR,
    WIRE_LOST,    /* the connection has ended; root NULL */
    WIRE_STRANGE, /* what came is no line of the protocol; root NULL */
};
/** @message  ours, or NULL: it is about none of ours */
typedef void sma_wire_fn(void *user, enum sma_wire_event event, const json_t *root,
                         struct sma_wire_message *message);

struct sma_chat_link
{
    int fd;           /* -1 = not connected */
    bool was_greeted; /* on this connection */
    bool is_losing;   /* the last lines are read */
    const char *chat, *user_name;
    struct sma_buf input;
    char id_prefix[17];
    unsigned connection_count;
    struct sma_wire_seen seen[CHAT_SEEN_COUNT]; /* a ring */
    unsigned seen_next;
    unsigned message_count;         /* sent ever */
    struct sma_wire_message *first; /* kept, oldest first */
    sma_wire_fn *on;
    void *user;
};

void sma_wire_init(struct sma_chat_link *wire, sma_wire_fn *on, void *user);
void sma_wire_fini(struct sma_chat_link *wire);
/** Connect, greet, and send what is kept. NOTFOUND: nobody listens. IO. */
SMA_CHECKED enum sma_err sma_wire_open(struct sma_chat_link *wire, const char *socket_path,
                                       struct sma_error *error);
/** Send a message, or keep it for the next connection.
 *  @files_json  members of "attachments"; empty: none
 *  @return      OK | FULL: too many are kept | TOOBIG | NOMEM */
SMA_CHECKED enum sma_err sma_wire_send(struct sma_chat_link *wire, struct sma_str text,
                                       struct sma_str files_json);
/** A button of a card was pressed. As sma_wire_send. */
SMA_CHECKED enum sma_err sma_wire_press(struct sma_chat_link *wire, struct sma_str data);
/** /stop for this chat. */
void sma_wire_stop(struct sma_chat_link *wire);
/** Messages whose answer is waited for: kept ones that are not parked, and no presses. */
unsigned sma_wire_open_count(const struct sma_chat_link *wire);
/** The descriptor is readable: tell what came. */
void sma_wire_read(struct sma_chat_link *wire);
/** Whether the output of a run still has to be shown: no text that was seen says it. */
bool sma_wire_is_unseen(const struct sma_wire_message *message, struct sma_str output);
/** A member that is a string; else empty. */
struct sma_str sma_wire_text(const json_t *root, const char *member);

#endif
