/*
 * stream.h — an answer that is seen while it is written: one message of the platform that grows
 * with its run and becomes the first part of the run's next row.
 *
 * Streaming is the best effort on top of the outbox: the row, its parts and its receipts are what
 * they are without it. What only the platform knows (where a stream is shown, what its requests
 * look like) are operations. A message does not go away by itself, so a line about it is written
 * to a file before it is asked for, and with its id, and once more with the row that it becomes:
 * after a crash the row's part completes that message, or the message is taken back, and no second
 * answer appears (adr 0044).
 *
 *   progress -> PREPARE (nothing to see yet) -> MAKE -> CHANGE ... -> the part of a row (claim)
 *                                                                  -> END: nobody wants it
 *
 * Invariants: one open stream a run, one request of it at a time; nothing visible is asked for
 *             before its line is in the file; a claimed stream belongs to one row until that row is
 *             over; what a platform refuses for its rate waits, and no attempt waits with it longer
 *             than the request that is on its way.
 * Threads:    the actor's. Blocks: small unsynced files.
 * Limits:     SMA_STREAM_COUNT_MAX; beyond, a run shows none.
 */
#ifndef SMA_ADAPTERS_COMMON_STREAM_H
#define SMA_ADAPTERS_COMMON_STREAM_H

#include "call.h"

#include "sma/adapter.h"
#include "sma/messages.h"
#include "sma/net.h"

#define SMA_STREAM_COUNT_MAX 128
#define SMA_STREAM_TEXT_BYTES_MAX (32 * 1024) /* of a text so far that is shown */

struct sma_streams;

enum sma_stream_state
{
    SMA_STREAM_FREE,
    SMA_STREAM_RUNNING, /* due_ns = the next request */
    SMA_STREAM_WAITING, /* the run is over, or was before a crash; due_ns = then END */
    SMA_STREAM_ENDING,  /* due_ns = next try */
    SMA_STREAM_CLAIMED, /* it becomes a part; due_ns = then forget */
    SMA_STREAM_NONE,    /* this run shows none */
};
enum sma_stream_step
{
    SMA_STREAM_PREPARE, /* what the message needs and nobody sees */
    SMA_STREAM_MAKE,    /* the message */
    SMA_STREAM_CHANGE,  /* the text so far */
    SMA_STREAM_END,     /* take it back, or end it as it is */
};

struct sma_stream
{
    struct sma_streams *streams;
    uint64_t seq; /* its run; 0 = free place */
    uint8_t state, step, kind;
    bool is_news;    /* kind and text are not shown yet */
    bool is_left;    /* of the last life, or its last request is in doubt: shown is not known */
    bool is_settled; /* the part that it became is sent */
    bool is_awaited; /* the part waits for rest_ms; due_ns = then */
    /* of the run's route */
    char chat_id[128], chat_type[16], thread_id[96], message_id[256];
    char handle[256];      /* how the platform calls the message; "" = not known, or none */
    char entity[96];       /* what PREPARE made, or what the platform's code keeps here */
    char key[40];          /* its own for idempotency; written down with it */
    uint32_t number;       /* the last one used of those that the platform counts by */
    int64_t made_wall_ms;  /* 0 = none was ever asked for */
    uint64_t made_ns;      /* the same by the other clock; of this life */
    uint64_t outbox_id;    /* of the row that it becomes; 0 = none yet */
    struct sma_buf text;   /* what the run says so far, or the tool's name */
    struct sma_buf shown;  /* what the platform's code knows to be shown */
    size_t shown_len;      /* of it, as far as it is certain; where the platform's code asks */
    struct sma_call *call; /* on its way */
    uint64_t due_ns, ready_ns, heard_ns, rested_ns;
    unsigned failure_count;
};

struct sma_stream_outcome
{
    uint8_t attempt_class; /* enum sma_attempt_class */
    uint32_t retry_after_ms;
    bool is_for_all; /* of RETRY_AFTER: every stream waits */
    char error[200];
};
struct sma_stream_ops
{
    const char *file;    /* in the bot's folder */
    uint32_t first_ms;   /* a shorter run shows none */
    uint32_t change_ms;  /* between two requests of one stream */
    uint32_t rest_ms;    /* before the part that it becomes, after the last of them */
    uint32_t per_second; /* requests of all streams */
    bool is_idempotent;  /* a repeated MAKE finds the message that the first one made */
    bool is_counted;     /* the number of each CHANGE is written down before it */
    uint32_t life_step;  /* added to the number by each life; 0 = none */
    /** Whether this is shown here. Asked for every signal but FINISHED. */
    bool (*shows)(const void *state, const struct sma_progress *progress);
    /** When this chat may be asked, for MAKE and CHANGE; not later than now_ns: it counts as asked.
     *  NULL = the limits above are all. */
    uint64_t (*pace)(void *state, const struct sma_stream *stream, uint64_t now_ns);
    /** Path and body of a step. @return the method; NULL: there is nothing to ask (PREPARE: needed,
     *  CHANGE: that is new, END: left to do; MAKE: no stream here). A MAKE that does not show the
     *  text sets is_news. */
    const char *(*put)(struct sma_stream *stream, enum sma_stream_step step, struct sma_buf *path,
                       struct sma_buf *body);
    /** What the answer means; notes handle, entity and shown. */
    void (*read)(struct sma_stream *stream, enum sma_stream_step step,
                 const struct sma_net_answer *answer, struct sma_stream_outcome *ret_outcome);
};

/* Where streams belong; all of it is borrowed. */
struct sma_stream_home
{
    struct sma_ctx *ctx;
    struct sma_calls *calls;
    void *state;        /* of the adapter */
    const char *name;   /* of the bot */
    const char *folder; /* of its files, below the project's */
    const char *project_dir;
    const struct sma_stream_ops *ops; /* NULL: nothing is streamed there */
    /** A request of this run's stream has ended: attempts that wait for it go on. */
    void (*rested)(void *state, uint64_t seq);
};
struct sma_streams
{
    struct sma_stream_home home;
    struct sma_stream *places; /* NULL: this platform shows none */
    size_t count;              /* of places in use */
    uint64_t slot_ns, hold_ns; /* when any stream may ask again */
    size_t turn;               /* the place that asks first then */
    bool is_file_told;
};
/** Read what the last life left. OK | NOMEM */
SMA_CHECKED enum sma_err sma_streams_open(struct sma_streams *streams,
                                          const struct sma_stream_home *home);
/** Everything is forgotten; the file keeps what is to be taken up again. */
void sma_streams_close(struct sma_streams *streams);
void sma_streams_fini(struct sma_streams *streams); /* closed before; accepts a zeroed struct */
void sma_streams_take(struct sma_streams *streams, const struct sma_progress *progress);
/** @return when to look again */
uint64_t sma_streams_tick(struct sma_streams *streams, uint64_t now_ns);

/* -- the answer -------------------------------------------------------------------------------- */
enum sma_stream_claim
{
    SMA_STREAM_CLAIM_NONE, /* a message of its own */
    SMA_STREAM_CLAIM_TAKEN,
    SMA_STREAM_CLAIM_WAIT, /* a request of the stream is on its way: sma_sendings_go_on follows */
};
/**
 * A part goes out: the run's stream becomes it where it can, else it ends.
 * @can_become  the part is one that can stand in the streamed message
 * TAKEN: written down; the same for every attempt of this part, over restarts too.
 */
enum sma_stream_claim sma_streams_claim(struct sma_streams *streams,
                                        const struct sma_attempt *attempt, bool can_become);
/** The stream that this attempt's part becomes; NULL = none. */
struct sma_stream *sma_streams_of(struct sma_streams *streams, const struct sma_attempt *attempt);
/** It cannot become the part after all: it ends. */
void sma_streams_disclaim(struct sma_streams *streams, const struct sma_attempt *attempt);
/** The same, when the message is gone already. */
void sma_streams_drop_claim(struct sma_streams *streams, const struct sma_attempt *attempt);
/** How the attempt ended. Called by sending.c. */
void sma_streams_settle(struct sma_streams *streams, const struct sma_attempt *attempt,
                        uint8_t attempt_class);

/* -- for the platforms ------------------------------------------------------------------------- */
/** Where it is, as a route. Slices are the stream's. */
struct sma_route sma_stream_route(const struct sma_stream *stream);
/** Set one of its texts; too long or with a NUL in it: "". */
#define SMA_STREAM_SET(field, text) sma_stream_copy((field), sizeof(field), (text))
void sma_stream_copy(char *to, size_t size, struct sma_str from);
/** The first part of the text so far, as the row would be rendered if it were all.
 *  @render  the adapter's; @return false: there is none */
bool sma_stream_put_part(const struct sma_stream *stream,
                         enum sma_err (*render)(const struct sma_deliver *row, sma_part_fn *each,
                                                void *user),
                         struct sma_str text, struct sma_buf *part_bytes);

/* -- the file (stream_file.c) ------------------------------------------------------------------ */
/** Fill the places. */
void sma_stream_file_read(struct sma_streams *streams);
/** @return whether what is in memory is in the file */
bool sma_stream_file_save(struct sma_streams *streams);

#endif
