/*
 * sending.h — attempts: one ATTEMPT of the dispatcher, one message of the platform, one classified
 * answer.
 *
 * A second request of the same attempt follows only when the first was certainly not carried out.
 * What was refused steps down a ladder (enum sma_mend in verdict.h: no change of an earlier
 * message, no buttons, no reply, no marks, no links, in pieces, as a file), each step once; the
 * platform's table only says where to begin. Behind the last step the store tells the person that
 * the answer is refused. What the bot may not do at all is left out for hours. While too little of
 * the attempt's time is left it ends as RETRY: refused, so certainly not sent. Requests wait for a
 * token by themselves; an attempt may also wait until a preview of its run is at rest.
 *
 * Invariants: every ATTEMPT is answered exactly once, or dropped by sma_sendings_drop.
 * Threads:    the actor's.
 * Limits:     SMA_ASK_ATTEMPT_COUNT_MAX at once, as many as may be asked of an adapter.
 */
#ifndef SMA_ADAPTERS_COMMON_SENDING_H
#define SMA_ADAPTERS_COMMON_SENDING_H

#include "call.h"
#include "verdict.h"

#include "sma/messages.h"
#include "sma/net.h"

#define SMA_SENDING_TEXT_MS 30000       /* one attempt with a text, its mended repeats included */
#define SMA_SENDING_FILE_MS 55000       /* with a file: just less than the dispatcher waits */
#define SMA_SENDING_MEND_MS 2000        /* with less time left nothing is mended */
#define SMA_SENDING_BARRED_S (4 * 3600) /* what the bot may not do is not asked for again */
#define SMA_SENDING_PIECE_UNITS_MIN 64  /* UTF-16 units: shorter ones are not cut again */
#define SMA_SENDING_GUESS_BYTES_MIN 400 /* nobody said that so short a text is too long */
#define SMA_SENDING_FILE_NAME "answer.txt"
#define SMA_SENDING_CUT_COUNT_MAX 8 /* texts on their way in pieces that are remembered */

struct sma_platform;

/* One attempt on its way: the head of the platform's own struct. */
struct sma_sending
{
    struct sma_platform *platform;
    struct sma_msg *msg;             /* the question; NULL = free place */
    const struct sma_attempt *asked; /* its body */
    struct sma_call *call;           /* the request in flight; NULL = none */
    uint64_t until_ns;
    bool is_held; /* hold() said so: sma_sendings_go_on follows */
    int fd;       /* of a file on its way out; -1 */
    /* fd under a name that is read whatever happens to the file's own; its name for the platform */
    char path[32], file_name[256];
    struct sma_answered answered; /* of the last request */
    uint32_t without;             /* steps taken, bits of enum sma_mend: what the body leaves out */
    /* Of text(), in pieces: bytes that have arrived, units of a piece (0 = whole), bytes of the
     * piece on its way, and how many pieces have arrived. */
    size_t done_bytes, piece_bytes;
    uint32_t piece_units, piece;
    bool is_caption_due; /* the file went without: its caption follows as a message */
};

struct sma_sending_ops
{
    size_t size; /* of the struct that begins with struct sma_sending */
    /** Read the part. OK | NOMEM | BADINPUT with *error for people; an empty one: the part was not
     *  made by this program. */
    SMA_CHECKED enum sma_err (*open)(struct sma_sending *sending, struct sma_error *error);
    bool (*is_file)(const struct sma_sending *sending); /* more time: it may be an upload */
    /** Must it wait? Asked again by sma_sendings_go_on. NULL = never. */
    bool (*hold)(struct sma_sending *sending);
    /** One request: sets call, then sma_sending_check_call; or ends the attempt from inside. */
    void (*send)(struct sma_sending *sending);
    /** What the answer means, into sending->answered, and what else follows from it. */
    void (*read)(struct sma_sending *sending, const struct sma_net_answer *answer);
    /** Steps that would change what is sent, bits of enum sma_mend. LINKS, CUT and FILE of text()
     *  are the skeleton's. */
    uint32_t (*forms)(const struct sma_sending *sending);
    /** A step is taken: its bit is in `without`. FILE: the part becomes the file that is open;
     *  INSTEAD and REST: words. @return whether it can be; NULL = the bits are all that is
     * needed */
    bool (*step)(struct sma_sending *sending, enum sma_mend step);
    /** The words as they are sent without anything; "" = the part is none. */
    struct sma_str (*text)(const struct sma_sending *sending);
    void (*release)(struct sma_sending *sending); /* what open and send made. May be NULL */
};

struct sma_sendings
{
    struct sma_platform *platform;
    char *places;           /* SMA_ASK_ATTEMPT_COUNT_MAX of size */
    uint64_t barred_ns[32]; /* by bit of enum sma_mend: until then */
    struct sma_sending_cut
    {
        uint64_t outbox_id; /* 0 = free */
        size_t done_bytes;
        uint32_t part, without, piece_units, piece;
    } cuts[SMA_SENDING_CUT_COUNT_MAX];
    size_t cut_next;
};
SMA_CHECKED enum sma_err sma_sendings_init(struct sma_sendings *sendings,
                                           struct sma_platform *platform);
void sma_sendings_fini(struct sma_sendings *sendings); /* accepts a zeroed struct */
/** Takes *msg, an ATTEMPT. */
void sma_sendings_on_attempt(struct sma_sendings *sendings, struct sma_msg **msg);
/** What the attempts of this run waited for is over. */
void sma_sendings_go_on(struct sma_sendings *sendings, uint64_t seq);
/** Everything open is given up without an answer: nobody listens any more. */
void sma_sendings_drop(struct sma_sendings *sendings);

/* -- called by the platforms ------------------------------------------------------------------- */
/** Milliseconds that are left of the attempt, at least 1. */
uint32_t sma_sending_left_ms(const struct sma_sending *sending);
/** The request of a message is about to leave: the crash loops' point. */
void sma_sending_before(const struct sma_sending *sending);
/** After a start: without a call the attempt ends, out of memory. */
void sma_sending_check_call(struct sma_sending *sending);
/** `done` of a message's request, whose user is the sending: read, then mended or answered. */
void sma_sending_on_answer(void *state, void *user, const struct sma_net_answer *answer);
/** The same when the platform has read the answer itself. */
void sma_sending_conclude(struct sma_sending *sending);
/** Is this step taken from the beginning, because the bot may not do it? */
bool sma_sendings_is_barred(const struct sma_sendings *sendings, enum sma_mend step);
/** How many steps have been taken: each form may need a key of its own. */
uint32_t sma_sending_form(const struct sma_sending *sending);
/** Append the words of text() as they go into this request, or all of `text` when it is another. */
void sma_sending_put_words(struct sma_sending *sending, struct sma_str text, struct sma_buf *buf);
/** Append what is sent in place of a file: its caption, and its address or that it was refused. */
void sma_sending_put_instead(const struct sma_sending *sending, struct sma_str caption,
                             struct sma_str target, struct sma_buf *buf);
/** Answer without a request. */
void sma_sending_end(struct sma_sending *sending, enum sma_attempt_class attempt_class,
                     const char *error);
/** The same for an error of this machine: NOMEM is RETRY, anything else GIVE_UP. */
void sma_sending_fail(struct sma_sending *sending, const struct sma_error *error);
/** Open a file of the project unless it is open: fd, path, file_name. As sma_project_file_open. */
SMA_CHECKED enum sma_err sma_sending_open_file(struct sma_sending *sending, struct sma_str target,
                                               size_t bytes_max, struct sma_error *error);
void sma_sending_close_file(struct sma_sending *sending);

#endif
