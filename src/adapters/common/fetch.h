/*
 * fetch.h — PREPARE: attachments onto the disk and the author's role, before the run of a message
 * starts.
 *
 * A few downloads at once, the rest in line. A file grows under another name and gets its own when
 * it is whole, so what is there under its name is complete, and asking again after a restart costs
 * nothing. A download that grows no more is begun again: half-open connections do not end by
 * themselves, and each keeps a place that others wait for. What is there is a part of the message
 * (PREPARED), also after a restart; what cannot be had is named to the model; a message never waits
 * longer than SMA_FETCH_JOB_S. The platform's part is a table of functions: how one of its files is
 * asked for, how a role is asked for.
 *
 * Invariants: every PREPARE is answered exactly once, or dropped by sma_fetches_close.
 * Threads:    the actor's. Blocks: on the file system, shortly (names, never contents).
 * Limits:     SMA_ASK_PREPARE_COUNT_MAX jobs, SMA_ATTACHMENT_COUNT_MAX files each,
 *             SMA_FETCH_COUNT_MAX at once.
 */
#ifndef SMA_ADAPTERS_COMMON_FETCH_H
#define SMA_ADAPTERS_COMMON_FETCH_H

#include "call.h"
#include "fetch_place.h"
#include "file_list.h"
#include "home.h"
#include "sma/messages.h"
#include "sma/net.h"

#define SMA_FETCH_COUNT_MAX 4                /* downloads at once; the rest waits in line */
#define SMA_FETCH_TRY_COUNT_MAX 3            /* of one file */
#define SMA_FETCH_JOB_S (SMA_PREPARE_S - 10) /* then what is not there is named as missing */
#define SMA_FETCH_SILENT_S 10                /* a download that grows no more is begun again */
#define SMA_FETCH_LOOKUP_MS 5000             /* one look-up: asking twice does no harm */
#define SMA_FETCH_ROLE_MS 2000               /* a run that does without waits so long for a role */

struct sma_fetches;
struct sma_fetch_job;
struct sma_fetch
{
    struct sma_fetch_job *job;
    const struct sma_file_item *item; /* of the job's list */
    struct sma_fetch_temp temp;       /* while it runs: where the bytes go */
    struct sma_call *call;            /* on its way: set by start, NULL in done; cancelled here */
    void *way; /* the platform's, where no call is on its way; cancelled by its op */
    /* fetch.c's own */
    uint8_t state;
    bool is_there; /* whole, under its path */
    unsigned try_count;
    uint64_t due_ns; /* of its next try; while it runs: when it must have grown */
    int64_t grown_bytes;
};

struct sma_fetch_ops
{
    const struct sma_file_shape *shape; /* of its lists */
    /* Ask for one file into fetch->temp.fd; ends with sma_fetch_done, _fail or _retry, also from
     * inside. left_ms > 0. */
    void (*start)(void *user, struct sma_fetch *fetch, uint32_t left_ms);
    /* Ask for the words of a look-up, within SMA_FETCH_LOOKUP_MS; ends with sma_fetch_looked, _fail
     * or _retry. NULL where the lists have none. */
    void (*look)(void *user, struct sma_fetch *fetch);
    /* Forget fetch->way, and set it to NULL; its end is of no interest any more. NULL = there is
     * never one. */
    void (*cancel)(void *user, struct sma_fetch *fetch);
    /* Ask for the role of route's user in its chat, within SMA_FETCH_LOOKUP_MS. @return the call,
     * ended by sma_fetch_role or sma_fetch_role_retry; NULL: not known. *role may be set at once
     * instead. */
    struct sma_call *(*ask_role)(void *user, struct sma_fetch_job *job,
                                 const struct sma_route *route, uint8_t *role);
    /* Ask what route's user is called, within SMA_FETCH_LOOKUP_MS, once. @return the call, ended by
     * sma_fetch_profile; NULL: it cannot be asked. The op may be NULL where the platform's
     * capabilities have no profiles. */
    struct sma_call *(*ask_profile)(void *user, struct sma_fetch_job *job,
                                    const struct sma_route *route);
};

/* Where downloads belong; all of it is borrowed. */
struct sma_fetch_home
{
    struct sma_ctx *ctx;
    const char *project_dir;
    const struct sma_home *bot;
    void *user; /* goes to every op */
};
/** NULL when out of memory. */
struct sma_fetches *sma_fetches_create(const struct sma_fetch_home *home,
                                       const struct sma_fetch_ops *ops);
/** Removes what an unclean end left half fetched. At start. */
void sma_fetches_clean(struct sma_fetches *fetches);
/** Takes *msg, a PREPARE. */
void sma_fetches_on_message(struct sma_fetches *fetches, struct sma_msg **msg);
/** @return when to look again */
uint64_t sma_fetches_tick(struct sma_fetches *fetches, uint64_t now_ns);
/** Everything open is given up without an answer: nobody listens any more. Later PREPAREs are
 *  answered at once. */
void sma_fetches_close(struct sma_fetches *fetches);
/** Closed before. Accepts NULL. */
void sma_fetches_destroy(struct sma_fetches *fetches);

/* -- called by the ops ------------------------------------------------------------------------- */
/** Where the message of this job comes from. */
const struct sma_route *sma_fetch_route(const struct sma_fetch_job *job);
/** Number of that message: the same when it is asked for again. */
uint64_t sma_fetch_seq(const struct sma_fetch_job *job);
/** The bytes are all in fetch->fd. Set fetch->call to NULL first, here and below. */
void sma_fetch_done(struct sma_fetch *fetch);
/** The look-up is over: what it found is in sma_fetch_context, sma_fetch_more and
 *  sma_fetch_name. */
void sma_fetch_looked(struct sma_fetch *fetch);
/** What the model is told beside the message. */
struct sma_buf *sma_fetch_context(struct sma_fetch *fetch);
/** One more file of this job; a file that is there already is not asked for again. false: there are
 *  too many, or it is none of ours. */
bool sma_fetch_more(struct sma_fetch *fetch, struct json_t *json);
/** What the author of the message is called. */
void sma_fetch_name(struct sma_fetch *fetch, struct sma_str name);
/** It will not come; why in plain words, no final dot. */
void sma_fetch_fail(struct sma_fetch *fetch, const char *why);
/** Whether a download ended by our own doing, too large or without room on the disk: then it has
 *  failed. */
bool sma_fetch_is_over(struct sma_fetch *fetch, const struct sma_net_answer *answer);
/** Trouble that may pass: again after delay_ms (0 = back-off), or failed when that is too often or
 *  too late. */
void sma_fetch_retry(struct sma_fetch *fetch, const char *why, uint32_t delay_ms);
/** The bytes come from now on: what was asked for before them (where the file is) took its own
 *  time. */
void sma_fetch_watch(struct sma_fetch *fetch);
/** The end of ask_role's call: enum sma_role. */
void sma_fetch_role(struct sma_fetch_job *job, uint8_t role);
/** Its end, by trouble that may pass: asked again after delay_ms (0 = back-off), or the role stays
 *  unknown. */
void sma_fetch_role_retry(struct sma_fetch_job *job, uint32_t delay_ms);
/** The end of ask_profile's call: a JSON object, or, where that is empty, why in plain words. */
void sma_fetch_profile(struct sma_fetch_job *job, struct sma_str profile, const char *why);

#endif
