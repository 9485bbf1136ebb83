/*
 * terminal_priv.h — the terminal adapter's state: clients on a libuv loop, and the runs they wait
 * for.
 *
 * Invariants: a run belongs to a client that is open; ingress_open_count questions are open at the
 *             store; a delivery is answered exactly once, when its last write has ended.
 * Threads:    the adapter's.
 */
#ifndef SMA_TERMINAL_PRIV_H
#define SMA_TERMINAL_PRIV_H

#include "terminal.h"

#include "adapters/common/given.h"

#include <jansson.h>
#include <uv.h>

#define TERMINAL_MAGIC 0x5445524du
#define TERMINAL_RUN_COUNT_MAX 64 /* messages of one client that are not done */
#define TERMINAL_ID_BYTES_MAX 128 /* of a client's message id */
#define TERMINAL_QUEUE_BYTES_MAX \
    (4 * SMA_TERMINAL_LINE_BYTES_MAX)       /* unread output; beyond, the client is dropped */
#define TERMINAL_PROGRESS_QUEUE_BYTES 65536 /* with more than this unread, progress is dropped */
#define TERMINAL_STALL_NS 3000000000ull  /* a client that takes nothing for this long is dropped */
#define TERMINAL_HOLD_NS 3000000000ull   /* "done" waits this long for the run's delivery */
#define TERMINAL_GRACE_NS 10000000000ull /* terminals of the life before come back within it */
#define TERMINAL_HELD_COUNT_MAX 64       /* deliveries that wait for them */
#define TERMINAL_TICK_NS 500000000ull
#define TERMINAL_READ_BYTES 65536
#define TERMINAL_DELIVERED_COUNT 256

enum run_phase
{
    RUN_FREE,
    RUN_ASKED,   /* INGRESS is open */
    RUN_AWAITED, /* AWAIT is open */
    RUN_HELD,    /* over; waits for its delivery */
};
struct run
{
    uint8_t phase;              /* enum run_phase */
    bool is_control, is_silent; /* silent: the client gave no id (stop) and hears nothing */
    bool is_behind;             /* a question that its client was told of */
    uint64_t ask_id, seq, hold_until_ns;
    struct sma_msg *result; /* RESULT, while held; NULL for control messages */
    char id[TERMINAL_ID_BYTES_MAX + 1];
};
struct client
{
    uv_pipe_t pipe;
    struct terminal *terminal;
    bool is_open, is_closing, is_greeted;
    uint64_t stalled_since_ns; /* 0 = everything written was taken */
    struct sma_buf line;
    size_t line_taken;
    char chat[SMA_TERMINAL_CHAT_BYTES_MAX + 1], user[SMA_TERMINAL_CHAT_BYTES_MAX + 1];
    struct run runs[TERMINAL_RUN_COUNT_MAX];
};
/* What went to the clients, and how it ended: of a run with several texts only the last ends like
 * its output. */
struct delivered
{
    uint64_t seq;
    char tail[64];
    size_t tail_len;
};

struct terminal
{
    uint32_t magic;
    struct sma_ctx *ctx;
    char *socket_path;
    const struct sma_config *config; /* the newest */
    const char *project_dir;         /* the first configuration's */
    uv_pipe_t listener;
    bool is_listening, is_intake_off, is_intake_told;
    size_t ingress_open_count;
    uint64_t started_ns, first_seq; /* of the first message that was accepted in this life */
    struct sma_msg *held[TERMINAL_HELD_COUNT_MAX]; /* ATTEMPTs, oldest first */
    size_t held_count;
    struct delivered delivered[TERMINAL_DELIVERED_COUNT]; /* the last ones */
    size_t delivered_next;
    struct client clients[SMA_TERMINAL_CLIENT_COUNT_MAX];
    char read_bytes[TERMINAL_READ_BYTES];
};

/* One ATTEMPT on its way into sockets. */
struct delivery
{
    uint64_t ask_id, outbox_id, seq;
    uint32_t part, write_count;
    uint8_t asker;
    bool is_sent;
    struct sma_ctx *ctx;
};

/* A message as its client's line says it. */
struct said
{
    const char *id; /* NULL = none */
    struct sma_str text;
    bool is_press;           /* text is the data of a button */
    struct sma_given *files; /* NULL = none */
    uint32_t file_count;
    uint64_t read_ns;
};

/* -- clients (terminal_client.c) --------------------------------------------------------------- */
void sma_terminal_on_connection(uv_stream_t *listener, int status);
void sma_terminal_close_client(struct client *client);
static inline bool sma_terminal_is_live(const struct client *client)
{
    return client->is_open && !client->is_closing;
}

/** Does it listen to this chat? */
static inline bool sma_terminal_listens(const struct client *client, struct sma_str chat)
{
    return sma_terminal_is_live(client) && client->is_greeted &&
           sma_str_is_equal(sma_str(client->chat), chat);
}

/* -- files of a message (terminal_files.c) ----------------------------------------------------- */
/** Look at the line's attachments: said->files, to be freed, and a line for each before said->text,
 *  in text. BADINPUT, NOTFOUND, TOOBIG, IO, NOMEM with one line in *error. */
SMA_CHECKED enum sma_err sma_terminal_take_files(const struct terminal *terminal,
                                                 const json_t *root, struct said *said,
                                                 struct sma_buf *text, struct sma_error *error);

/* -- lines out (terminal_send.c) --------------------------------------------------------------- */
/** Queue one line (text with its newline). delivery may be NULL. false: dropped, the client is
 *  being closed. */
bool sma_terminal_put(struct client *client, struct sma_str line, struct delivery *delivery);
void sma_terminal_put_error(struct client *client, const char *id, const char *text);
/** The same because the service stops: the message may be sent again under its id. */
void sma_terminal_put_stopping(struct client *client, const char *id, const char *text);
/** Who answers in the client's chat. */
void sma_terminal_put_welcome(struct client *client);
void sma_terminal_take_attempt(struct terminal *terminal, const struct sma_msg *msg,
                               const struct sma_attempt *attempt);
void sma_terminal_take_progress(struct terminal *terminal, const struct sma_progress *progress);
/** Drop clients that do not read. @return whether any has unread output. */
bool sma_terminal_check_stalled(struct terminal *terminal, uint64_t now);

/* -- deliveries of the life before (terminal_hold.c) ------------------------------------------- */
/** Take an ATTEMPT that nobody listens to yet. false: it is not held. */
bool sma_terminal_hold(struct terminal *terminal, struct sma_msg **msg);
/** Deliver what somebody listens to now, or all when the time for coming back is over. */
void sma_terminal_let_held_go(struct terminal *terminal);
void sma_terminal_drop_held(struct terminal *terminal); /* unanswered: the program ends */

/* -- runs (terminal_run.c) --------------------------------------------------------------------- */
/** A message of a client: ask the store. */
void sma_terminal_ask_ingress(struct client *client, const struct said *said);
void sma_terminal_take_accepted(struct terminal *terminal, const struct sma_msg *msg,
                                const struct sma_accepted *accepted);
/** Takes *msg when it has to wait for the run's delivery. */
void sma_terminal_take_result(struct terminal *terminal, struct sma_msg **msg);
/** A delivery of this run is in the sockets: what waited for it goes out. */
void sma_terminal_note_delivered(struct terminal *terminal, uint64_t seq, struct sma_str text);
/** "done" for held runs whose time is over. @return whether any is still held. */
bool sma_terminal_release_held(struct terminal *terminal, uint64_t now);
void sma_terminal_drop_runs(struct client *client);

#endif
