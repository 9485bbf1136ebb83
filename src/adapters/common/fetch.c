/* fetch.c — see fetch.h. */
#include "fetch.h"

#include "answers.h"

#include "runtime/text/attach.h"
#include "sma/metrics.h"
#include "sma/text.h"

#include <stdlib.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define BACKOFF_MAX_S 60

enum fetch_state
{
    FETCH_NONE,
    FETCH_WAITING, /* in line, or for its next try */
    FETCH_RUNNING,
};

struct sma_fetch_job
{
    struct sma_fetches *fetches;
    uint64_t due_ns, order;
    uint8_t role;
    bool is_open;
    void *role_call, *list;
    struct sma_fetch files[SMA_ATTACHMENT_COUNT_MAX];
    size_t file_count;
    struct sma_buf notes;
    struct sma_msg *msg; /* the question */
};
struct sma_fetches
{
    struct sma_ctx *ctx;
    const char *project_dir;
    const struct sma_fetch_ops *ops;
    void *user;
    struct sma_fetch_job jobs[SMA_ASK_PREPARE_COUNT_MAX];
    size_t job_count, running_count;
    uint64_t order;
    bool is_closed;
};

static void try_start(struct sma_fetches *fetches);

static struct sma_fetch_place place_of(const struct sma_fetches *fetches)
{
    return (struct sma_fetch_place){fetches->ctx, fetches->project_dir, fetches->ops->folder};
}

void sma_fetches_clean(struct sma_fetches *fetches)
{
    struct sma_fetch_place place = place_of(fetches);
    sma_fetch_place_clean(&place);
}

/* -- the end of a job -------------------------------------------------------------------------- */
static void free_job(struct sma_fetch_job *job)
{
    struct sma_fetches *fetches = job->fetches;
    if (job->list != NULL)
        fetches->ops->release(fetches->user, job->list);
    sma_buf_fini(&job->notes);
    sma_msg_destroy(job->msg);
    *job = (struct sma_fetch_job){.fetches = fetches};
    fetches->job_count--;
}

static bool is_finished(const struct sma_fetch_job *job)
{
    for (size_t i = 0; i < job->file_count; i++)
        if (job->files[i].state != FETCH_NONE)
            return false;
    return job->role_call == NULL;
}

static void answer_job(struct sma_fetch_job *job)
{
    struct sma_ctx *ctx = job->fetches->ctx;
    struct sma_str notes = job->notes.err == SMA_ERR_OK ? sma_buf_str(&job->notes) : SMA_STR("");
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_PREPARED, struct sma_prepared, notes.len + 1);
    if (msg == NULL)
        sma_ctx_fatal(ctx, "out of memory for an answer");
    struct sma_prepared *prepared = SMA_MSG_BODY(msg, struct sma_prepared);
    prepared->seq = SMA_MSG_BODY(job->msg, struct sma_prepare)->seq;
    prepared->role = job->role;
    prepared->context = sma_msg_dup(msg, notes);
    sma_ctx_answer(ctx, job->msg, &msg);
    free_job(job);
}

const struct sma_route *sma_fetch_route(const struct sma_fetch_job *job)
{
    return &SMA_MSG_BODY(job->msg, struct sma_prepare)->route;
}

static void answer_if_finished(struct sma_fetch_job *job)
{
    if (job->is_open && is_finished(job))
        answer_job(job);
}

void sma_fetch_role(struct sma_fetch_job *job, uint8_t role)
{
    job->role_call = NULL;
    job->role = role;
    answer_if_finished(job);
    sma_ctx_request_batch_end(job->fetches->ctx);
}

/* -- the end of a fetch ------------------------------------------------------------------------ */
/* What is running stops, what half came goes. */
static void stop_fetch(struct sma_fetch *fetch)
{
    struct sma_fetches *fetches = fetch->job->fetches;
    struct sma_fetch_place place = place_of(fetches);
    void *call = fetch->call;
    fetch->call = NULL;
    if (call != NULL)
        fetches->ops->cancel(fetches->user, call);
    sma_fetch_place_drop(&place, &fetch->temp);
    if (fetch->state == FETCH_RUNNING)
        fetches->running_count--;
    fetch->state = FETCH_NONE;
}

static void settle(struct sma_fetch *fetch)
{
    struct sma_fetches *fetches = fetch->job->fetches;
    answer_if_finished(fetch->job); /* the fetch may be gone after it */
    try_start(fetches);
    sma_ctx_request_batch_end(fetches->ctx);
}

static unsigned long long seq_of(const struct sma_fetch *fetch)
{
    return SMA_MSG_BODY(fetch->job->msg, struct sma_prepare)->seq;
}

void sma_fetch_fail(struct sma_fetch *fetch, const char *why)
{
    struct sma_fetches *fetches = fetch->job->fetches;
    stop_fetch(fetch);
    SMA_METRIC_ADD(attachments_failed_total, 1);
    sma_ctx_log(fetches->ctx, SMA_LOG_WARN,
                "%s: message %llu: an attachment could not be fetched: %s", fetches->ops->name,
                seq_of(fetch), why);
    sma_attach_put_missing(&fetch->job->notes, fetch->label, fetch->path, why);
    settle(fetch);
}

void sma_fetch_retry(struct sma_fetch *fetch, const char *why, uint32_t delay_ms)
{
    struct sma_fetches *fetches = fetch->job->fetches;
    uint64_t delay_ns = delay_ms > 0
                            ? delay_ms * NS_PER_MS
                            : sma_adapter_backoff_ns(fetches->ctx, fetch->try_count, BACKOFF_MAX_S);
    uint64_t due_ns = sma_ctx_now(fetches->ctx) + delay_ns;
    if (fetch->try_count >= SMA_FETCH_TRY_COUNT_MAX || due_ns >= fetch->job->due_ns) {
        sma_fetch_fail(fetch, why);
        return;
    }
    stop_fetch(fetch);
    fetch->state = FETCH_WAITING;
    fetch->due_ns = due_ns;
    settle(fetch);
}

void sma_fetch_done(struct sma_fetch *fetch)
{
    struct sma_fetches *fetches = fetch->job->fetches;
    struct sma_fetch_place place = place_of(fetches);
    if (!sma_fetch_place_keep(&place, &fetch->temp, fetch->path)) {
        sma_fetch_fail(fetch, "it could not be stored");
        return;
    }
    stop_fetch(fetch);
    SMA_METRIC_ADD(attachments_fetched_total, 1);
    settle(fetch);
}

/* -- in line ----------------------------------------------------------------------------------- */
static void start_fetch(struct sma_fetches *fetches, struct sma_fetch *fetch)
{
    fetch->state = FETCH_RUNNING;
    fetch->due_ns = UINT64_MAX;
    fetch->try_count++;
    fetches->running_count++;
    struct sma_fetch_place place = place_of(fetches);
    if (!sma_fetch_place_open(&place, &fetch->temp)) {
        sma_fetch_fail(fetch, "it could not be stored");
        return;
    }
    uint64_t now_ns = sma_ctx_now(fetches->ctx);
    uint64_t left_ns = fetch->job->due_ns > now_ns ? fetch->job->due_ns - now_ns : NS_PER_MS;
    fetches->ops->start(fetches->user, fetch, fetch->job->list, (uint32_t)(left_ns / NS_PER_MS));
}

static struct sma_fetch *next_fetch(struct sma_fetches *fetches, uint64_t now_ns)
{
    struct sma_fetch *best = NULL;
    for (size_t i = 0; i < SMA_COUNT_OF(fetches->jobs); i++) {
        struct sma_fetch_job *job = &fetches->jobs[i];
        for (size_t j = 0; job->is_open && j < job->file_count; j++) {
            struct sma_fetch *fetch = &job->files[j];
            if (fetch->state == FETCH_WAITING && fetch->due_ns <= now_ns &&
                (best == NULL || job->order < best->job->order)) {
                best = fetch;
                break;
            }
        }
    }
    return best;
}

/* A start that fails looks for the next by itself; each turn takes one out of line. */
static void try_start(struct sma_fetches *fetches)
{
    struct sma_fetch *fetch;
    while (fetches->running_count < SMA_FETCH_COUNT_MAX && !fetches->is_closed &&
           (fetch = next_fetch(fetches, sma_ctx_now(fetches->ctx))) != NULL)
        start_fetch(fetches, fetch);
}

/* -- a question -------------------------------------------------------------------------------- */
static void give_up_job(struct sma_fetch_job *job)
{
    struct sma_fetches *fetches = job->fetches;
    if (job->role_call != NULL)
        fetches->ops->cancel(fetches->user, SMA_TAKE(job->role_call));
    for (size_t i = 0; i < job->file_count; i++) {
        struct sma_fetch *fetch = &job->files[i];
        if (fetch->state == FETCH_NONE)
            continue;
        stop_fetch(fetch);
        SMA_METRIC_ADD(attachments_failed_total, 1);
        sma_attach_put_missing(&job->notes, fetch->label, fetch->path, "it did not arrive in time");
    }
}

static struct sma_fetch_job *open_job(struct sma_fetches *fetches, struct sma_msg **msg)
{
    size_t i = 0;
    while (i < SMA_COUNT_OF(fetches->jobs) && fetches->jobs[i].is_open)
        i++;
    SMA_ASSERT(i < SMA_COUNT_OF(fetches->jobs)); /* as many places as the edge has questions */
    struct sma_fetch_job *job = &fetches->jobs[i];
    *job = (struct sma_fetch_job){
        .fetches = fetches,
        .due_ns = sma_ctx_now(fetches->ctx) + SMA_FETCH_JOB_S * NS_PER_S,
        .order = ++fetches->order,
        .is_open = true,
        .msg = SMA_TAKE(*msg),
    };
    sma_buf_init(&job->notes, 16384);
    fetches->job_count++;
    return job;
}

void sma_fetch_add(struct sma_fetch_job *job, struct sma_str path, struct sma_str label,
                   int64_t size)
{
    if (job->file_count == SMA_ATTACHMENT_COUNT_MAX)
        return;
    struct sma_fetch *fetch = &job->files[job->file_count];
    *fetch = (struct sma_fetch){.job = job,
                                .index = job->file_count++,
                                .path = path,
                                .label = label,
                                .size = size,
                                .temp = {.fd = -1}};
    struct sma_fetch_place place = place_of(job->fetches);
    fetch->state = sma_fetch_place_has(&place, path, size) ? FETCH_NONE : FETCH_WAITING;
}

void sma_fetches_on_message(struct sma_fetches *fetches, struct sma_msg **msg)
{
    struct sma_fetch_job *job = open_job(fetches, msg);
    const struct sma_prepare *prepare = SMA_MSG_BODY(job->msg, struct sma_prepare);
    if (prepare->preparation.len > 0 &&
        fetches->ops->read(fetches->user, prepare->preparation, job, &job->list) != SMA_ERR_OK) {
        job->file_count = 0;
        sma_ctx_log(fetches->ctx, SMA_LOG_ERROR,
                    "%s: message %llu: its list of attachments cannot be read", fetches->ops->name,
                    (unsigned long long)prepare->seq);
    }
    if (prepare->wants_role && !fetches->is_closed)
        job->role_call = fetches->ops->ask_role(fetches->user, job, &prepare->route, &job->role);
    if (fetches->is_closed)
        give_up_job(job);
    if (is_finished(job))
        answer_job(job);
    else
        try_start(fetches);
}

uint64_t sma_fetches_tick(struct sma_fetches *fetches, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    if (fetches->job_count == 0)
        return next_ns;
    for (size_t i = 0; i < SMA_COUNT_OF(fetches->jobs); i++) {
        struct sma_fetch_job *job = &fetches->jobs[i];
        if (job->is_open && job->due_ns <= now_ns) {
            give_up_job(job);
            answer_job(job);
        }
    }
    try_start(fetches);
    for (size_t i = 0; i < SMA_COUNT_OF(fetches->jobs); i++) {
        const struct sma_fetch_job *job = &fetches->jobs[i];
        if (!job->is_open)
            continue;
        next_ns = job->due_ns < next_ns ? job->due_ns : next_ns;
        for (size_t j = 0; j < job->file_count; j++) {
            uint64_t due_ns = job->files[j].due_ns;
            /* one that only waits for a place is started when a place is free, not by time */
            if (job->files[j].state == FETCH_WAITING && due_ns > now_ns)
                next_ns = due_ns < next_ns ? due_ns : next_ns;
        }
    }
    return next_ns;
}

/* -- made and unmade --------------------------------------------------------------------------- */
struct sma_fetches *sma_fetches_create(struct sma_ctx *ctx, const char *project_dir,
                                       const struct sma_fetch_ops *ops, void *user)
{
    struct sma_fetches *fetches = calloc(1, sizeof *fetches);
    if (fetches == NULL)
        return NULL;
    fetches->ctx = ctx;
    fetches->project_dir = project_dir;
    fetches->ops = ops;
    fetches->user = user;
    return fetches;
}

void sma_fetches_close(struct sma_fetches *fetches)
{
    if (fetches == NULL)
        return;
    fetches->is_closed = true;
    for (size_t i = 0; i < SMA_COUNT_OF(fetches->jobs); i++) {
        struct sma_fetch_job *job = &fetches->jobs[i];
        if (!job->is_open)
            continue;
        give_up_job(job);
        free_job(job);
    }
}

void sma_fetches_destroy(struct sma_fetches *fetches)
{
    if (fetches == NULL)
        return;
    SMA_ASSERT(fetches->job_count == 0);
    free(fetches);
}
