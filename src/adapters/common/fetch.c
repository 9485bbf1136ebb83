/* fetch.c — see fetch.h. */
#include "fetch.h"

#include "answers.h"

#include "runtime/text/attach.h"
#include "sma/metrics.h"
#include "sma/text.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define BACKOFF_MAX_S 60
#define PROFILE_BYTES_MAX 4096
#define MESSAGE_NAME_BYTES_MAX (SMA_ID_BYTES_MAX + 64) /* a longer key is cut */
#define NOTES_BYTES_MAX ((size_t)256 * 1024)           /* look-ups bound themselves further */

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
    struct sma_call *role_call;
    uint64_t role_due_ns;   /* when it is asked for again; UINT64_MAX = it is not */
    uint64_t role_until_ns; /* then nobody waits for it any more */
    unsigned role_try_count;
    struct sma_file_list list;
    struct sma_fetch files[SMA_ATTACHMENT_COUNT_MAX]; /* as many as the list has */
    struct sma_buf notes, name, profile;
    struct sma_msg *msg; /* the question */
};
struct sma_fetches
{
    struct sma_ctx *ctx;
    const char *project_dir;
    const struct sma_home *bot;
    const struct sma_fetch_ops *ops;
    struct sma_file_shape shape; /* with the bot's folder */
    void *user;
    struct sma_fetch_job jobs[SMA_ASK_PREPARE_COUNT_MAX];
    size_t job_count, running_count;
    uint64_t order;
    bool is_closed;
};

static void try_start(struct sma_fetches *fetches);

static struct sma_fetch_place place_of(const struct sma_fetches *fetches)
{
    return (struct sma_fetch_place){fetches->ctx, fetches->project_dir, fetches->shape.folder};
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
    sma_file_list_fini(&job->list);
    sma_buf_fini(&job->notes);
    sma_buf_fini(&job->name);
    sma_buf_fini(&job->profile);
    sma_msg_destroy(job->msg);
    *job = (struct sma_fetch_job){.fetches = fetches};
    fetches->job_count--;
}

static bool is_finished(const struct sma_fetch_job *job)
{
    for (size_t i = 0; i < job->list.count; i++)
        if (job->files[i].state != FETCH_NONE)
            return false;
    return job->role_call == NULL && job->role_due_ns == UINT64_MAX;
}

/* What is really there, in the order in which the message names it. */
static uint32_t put_parts(const struct sma_fetch_job *job, struct sma_part *parts)
{
    uint32_t count = 0;
    for (size_t i = 0; i < job->list.count; i++)
        if (job->files[i].is_there && sma_file_item_part(&job->list.items[i], &parts[count]))
            count++;
    return count;
}

static void answer_job(struct sma_fetch_job *job)
{
    struct sma_ctx *ctx = job->fetches->ctx;
    struct sma_part parts[SMA_ATTACHMENT_COUNT_MAX];
    struct sma_prepared prepared = {.seq = SMA_MSG_BODY(job->msg, struct sma_prepare)->seq,
                                    .role = job->role,
                                    .part_count = put_parts(job, parts),
                                    .parts = parts};
    if (job->notes.err == SMA_ERR_OK)
        prepared.context = sma_buf_str(&job->notes);
    if (job->name.err == SMA_ERR_OK)
        prepared.user_name = sma_buf_str(&job->name);
    if (job->profile.err == SMA_ERR_OK)
        prepared.profile = sma_buf_str(&job->profile);
    struct sma_msg *msg = sma_msg_make_prepared(&prepared);
    if (msg == NULL)
        sma_ctx_fatal(ctx, "out of memory for an answer");
    sma_ctx_answer(ctx, job->msg, &msg);
    free_job(job);
}

const struct sma_route *sma_fetch_route(const struct sma_fetch_job *job)
{
    return &SMA_MSG_BODY(job->msg, struct sma_prepare)->route;
}

uint64_t sma_fetch_seq(const struct sma_fetch_job *job)
{
    return SMA_MSG_BODY(job->msg, struct sma_prepare)->seq;
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

/* When to try again what failed for the try_count-th time; UINT64_MAX: too often, or too late. */
static uint64_t plan_retry(const struct sma_fetch_job *job, unsigned try_count, uint32_t delay_ms)
{
    struct sma_ctx *ctx = job->fetches->ctx;
    uint64_t delay_ns = delay_ms > 0 ? delay_ms * SMA_NS_PER_MS
                                     : sma_adapter_backoff_ns(ctx, try_count, BACKOFF_MAX_S);
    uint64_t due_ns = sma_ctx_now(ctx) + delay_ns;
    return try_count < SMA_FETCH_TRY_COUNT_MAX && due_ns < job->due_ns ? due_ns : UINT64_MAX;
}

void sma_fetch_role_retry(struct sma_fetch_job *job, uint32_t delay_ms)
{
    job->role_call = NULL;
    job->role_due_ns = plan_retry(job, job->role_try_count, delay_ms);
    answer_if_finished(job);
    sma_ctx_request_batch_end(job->fetches->ctx);
}

static void ask_role(struct sma_fetch_job *job)
{
    struct sma_fetches *fetches = job->fetches;
    job->role_due_ns = UINT64_MAX;
    job->role_try_count++;
    job->role_call = fetches->ops->ask_role(fetches->user, job, sma_fetch_route(job), &job->role);
}

/* -- a person ---------------------------------------------------------------------------------- */
void sma_fetch_profile(struct sma_fetch_job *job, struct sma_str profile, const char *why)
{
    job->role_call = NULL;
    sma_buf_put_str(&job->profile, profile);
    if (profile.len == 0)
        sma_buf_put_text(&job->notes, why);
    answer_if_finished(job);
    sma_ctx_request_batch_end(job->fetches->ctx);
}

/* Nobody is asked twice: a model waits, and may call again. */
static void ask_profile(struct sma_fetch_job *job)
{
    const struct sma_fetches *fetches = job->fetches;
    if (!fetches->is_closed && fetches->ops->ask_profile != NULL)
        job->role_call = fetches->ops->ask_profile(fetches->user, job, sma_fetch_route(job));
    if (job->role_call == NULL)
        sma_buf_put_text(&job->notes, fetches->is_closed
                                          ? "The platform is not connected now."
                                          : "The platform cannot be asked about this id.");
}

/* -- the end of a fetch ------------------------------------------------------------------------ */
/* What is running stops, what half came goes. */
static void stop_fetch(struct sma_fetch *fetch)
{
    struct sma_fetches *fetches = fetch->job->fetches;
    struct sma_fetch_place place = place_of(fetches);
    sma_call_cancel(SMA_TAKE(fetch->call));
    if (fetch->way != NULL)
        fetches->ops->cancel(fetches->user, fetch);
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

/* For the log. A message that is asked about once more has no number: then its chat. */
static const char *name_of(const struct sma_prepare *prepare, char name[MESSAGE_NAME_BYTES_MAX])
{
    struct sma_str key = prepare->route.chat_key;
    if (prepare->seq != 0)
        snprintf(name, MESSAGE_NAME_BYTES_MAX, "message %llu of %.*s",
                 (unsigned long long)prepare->seq, (int)key.len, key.ptr);
    else
        snprintf(name, MESSAGE_NAME_BYTES_MAX, "an earlier message of %.*s", (int)key.len, key.ptr);
    return name;
}

static void note_missing(struct sma_fetch *fetch, const char *why)
{
    const struct sma_file_item *item = fetch->item;
    struct sma_str label = item->name.len > 0 ? item->name : item->kind;
    if (item->is_lookup) {
        struct sma_buf *notes = &fetch->job->notes;
        sma_buf_printf(notes, "%sThe %.*s could not be read: %s.", notes->len > 0 ? "\n" : "",
                       (int)label.len, label.ptr, why);
        return;
    }
    SMA_METRIC_ADD(attachments_failed_total, 1);
    sma_attach_put_missing(&fetch->job->notes, label, item->path, why);
}

void sma_fetch_fail(struct sma_fetch *fetch, const char *why)
{
    char name[MESSAGE_NAME_BYTES_MAX];
    struct sma_fetches *fetches = fetch->job->fetches;
    stop_fetch(fetch);
    sma_ctx_log(fetches->ctx, SMA_LOG_WARN, "%s: %s: %s could not be fetched: %s",
                fetches->bot->name,
                name_of(SMA_MSG_BODY(fetch->job->msg, struct sma_prepare), name),
                fetch->item->is_lookup ? "what it refers to" : "an attachment", why);
    note_missing(fetch, why);
    settle(fetch);
}

bool sma_fetch_is_over(struct sma_fetch *fetch, const struct sma_net_answer *answer)
{
    char why[128] = "it could not be stored: is the disk full?";
    if (answer->end != SMA_NET_TOO_BIG && answer->end != SMA_NET_FILE_FAILED)
        return false;
    if (answer->end == SMA_NET_TOO_BIG)
        snprintf(why, sizeof why, "it is larger than adapters.%s.attachmentBytesMax allows",
                 fetch->job->fetches->bot->name);
    sma_fetch_fail(fetch, why);
    return true;
}

void sma_fetch_retry(struct sma_fetch *fetch, const char *why, uint32_t delay_ms)
{
    uint64_t due_ns = plan_retry(fetch->job, fetch->try_count, delay_ms);
    if (due_ns == UINT64_MAX) {
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
    if (!sma_fetch_place_keep(&place, &fetch->temp, fetch->item->path)) {
        sma_fetch_fail(fetch, "it could not be stored");
        return;
    }
    stop_fetch(fetch);
    fetch->is_there = true;
    SMA_METRIC_ADD(attachments_fetched_total, 1);
    settle(fetch);
}

/* -- look-ups ---------------------------------------------------------------------------------- */
void sma_fetch_looked(struct sma_fetch *fetch)
{
    stop_fetch(fetch);
    settle(fetch);
}

struct sma_buf *sma_fetch_context(struct sma_fetch *fetch)
{
    return &fetch->job->notes;
}

static void begin_file(struct sma_fetch_job *job, size_t index)
{
    const struct sma_fetch_place place = place_of(job->fetches);
    const struct sma_file_item *item = &job->list.items[index];
    job->files[index] = (struct sma_fetch){.job = job, .item = item, .temp = {.fd = -1}};
    job->files[index].is_there =
        !item->is_lookup && sma_fetch_place_has(&place, item->path, item->size);
    if (!job->files[index].is_there)
        job->files[index].state = FETCH_WAITING;
}

bool sma_fetch_more(struct sma_fetch *fetch, json_t *json)
{
    struct sma_fetch_job *job = fetch->job;
    if (!sma_file_list_add(&job->list, &job->fetches->shape, json))
        return false;
    begin_file(job, job->list.count - 1);
    return true;
}

void sma_fetch_name(struct sma_fetch *fetch, struct sma_str name)
{
    struct sma_buf *buf = &fetch->job->name;
    sma_buf_clear(buf);
    sma_buf_put(buf, name.ptr, sma_utf8_cut(name, SMA_NAME_BYTES_MAX));
}

/* -- while it runs ----------------------------------------------------------------------------- */
void sma_fetch_watch(struct sma_fetch *fetch)
{
    fetch->due_ns = sma_ctx_now(fetch->job->fetches->ctx) + SMA_FETCH_SILENT_S * SMA_NS_PER_S;
}

static void check_growth(struct sma_fetch *fetch)
{
    struct stat status;
    bool has_grown = fstat(fetch->temp.fd, &status) == 0 && status.st_size > fetch->grown_bytes;
    bool is_waiting = fetch->call == NULL || sma_call_is_waiting(fetch->call); /* for a token */
    if (has_grown)
        fetch->grown_bytes = status.st_size;
    if (has_grown || is_waiting) {
        sma_fetch_watch(fetch);
        return;
    }
    SMA_METRIC_ADD(platform_failures_total, 1);
    sma_fetch_retry(fetch, "the platform stopped sending it", 0);
}

/* -- in line ----------------------------------------------------------------------------------- */
static void start_fetch(struct sma_fetches *fetches, struct sma_fetch *fetch)
{
    fetch->state = FETCH_RUNNING;
    fetch->grown_bytes = 0;
    fetch->try_count++;
    fetches->running_count++;
    sma_fetch_watch(fetch);
    if (fetch->item->is_lookup) {
        fetches->ops->look(fetches->user, fetch);
        return;
    }
    struct sma_fetch_place place = place_of(fetches);
    if (!sma_fetch_place_open(&place, &fetch->temp)) {
        sma_fetch_fail(fetch, "it could not be stored");
        return;
    }
    uint64_t now_ns = sma_ctx_now(fetches->ctx);
    uint64_t left_ns = fetch->job->due_ns > now_ns ? fetch->job->due_ns - now_ns : SMA_NS_PER_MS;
    fetches->ops->start(fetches->user, fetch, (uint32_t)(left_ns / SMA_NS_PER_MS));
}

/* What is asked for once more belongs to no message that waits. */
static bool is_again(const struct sma_fetch_job *job)
{
    return sma_fetch_seq(job) == 0;
}

static bool comes_before(const struct sma_fetch_job *one, const struct sma_fetch_job *other)
{
    return is_again(one) == is_again(other) ? one->order < other->order : is_again(other);
}

/* May a file that is asked for once more take a place? One is kept for what arrives. */
static bool has_place_again(const struct sma_fetches *fetches)
{
    size_t running = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(fetches->jobs); i++) {
        const struct sma_fetch_job *job = &fetches->jobs[i];
        for (size_t j = 0; job->is_open && is_again(job) && j < job->list.count; j++)
            running += job->files[j].state == FETCH_RUNNING;
    }
    return running + 1 < SMA_FETCH_COUNT_MAX;
}

static struct sma_fetch *next_fetch(struct sma_fetches *fetches, uint64_t now_ns)
{
    struct sma_fetch *best = NULL;
    bool may_again = has_place_again(fetches);
    for (size_t i = 0; i < SMA_COUNT_OF(fetches->jobs); i++) {
        struct sma_fetch_job *job = &fetches->jobs[i];
        for (size_t j = 0; job->is_open && j < job->list.count; j++) {
            struct sma_fetch *fetch = &job->files[j];
            if (fetch->state == FETCH_WAITING && fetch->due_ns <= now_ns &&
                (may_again || !is_again(job)) && (best == NULL || comes_before(job, best->job))) {
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
    sma_call_cancel(SMA_TAKE(job->role_call));
    job->role_due_ns = UINT64_MAX;
    for (size_t i = 0; i < job->list.count; i++) {
        struct sma_fetch *fetch = &job->files[i];
        if (fetch->state == FETCH_NONE)
            continue;
        stop_fetch(fetch);
        note_missing(fetch, "it did not arrive in time");
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
        .due_ns = sma_ctx_now(fetches->ctx) + SMA_FETCH_JOB_S * SMA_NS_PER_S,
        .order = ++fetches->order,
        .role_due_ns = UINT64_MAX,
        .role_until_ns = UINT64_MAX,
        .is_open = true,
        .msg = SMA_TAKE(*msg),
    };
    sma_buf_init(&job->notes, NOTES_BYTES_MAX);
    sma_buf_init(&job->name, SMA_NAME_BYTES_MAX);
    sma_buf_init(&job->profile, PROFILE_BYTES_MAX);
    fetches->job_count++;
    return job;
}

static void read_list(struct sma_fetch_job *job, const struct sma_prepare *prepare)
{
    const struct sma_fetches *fetches = job->fetches;
    char name[MESSAGE_NAME_BYTES_MAX];
    if (sma_file_list_parse(prepare->preparation, &fetches->shape, &job->list) != SMA_ERR_OK)
        sma_ctx_log(fetches->ctx, SMA_LOG_ERROR, "%s: %s: its list of attachments cannot be read",
                    fetches->bot->name, name_of(prepare, name));
    for (size_t i = 0; i < job->list.count; i++)
        begin_file(job, i);
}

void sma_fetches_on_message(struct sma_fetches *fetches, struct sma_msg **msg)
{
    struct sma_fetch_job *job = open_job(fetches, msg);
    const struct sma_prepare *prepare = SMA_MSG_BODY(job->msg, struct sma_prepare);
    if (prepare->preparation.len > 0)
        read_list(job, prepare);
    if (prepare->is_role_open)
        job->role_until_ns = sma_ctx_now(fetches->ctx) + SMA_FETCH_ROLE_MS * SMA_NS_PER_MS;
    if (prepare->wants_role && !fetches->is_closed)
        ask_role(job);
    if (prepare->wants_profile)
        ask_profile(job);
    if (fetches->is_closed)
        give_up_job(job);
    if (is_finished(job))
        answer_job(job);
    else
        try_start(fetches);
}

/* He may talk whatever he is: until the platform says it he is a member like any other. */
static void leave_role(struct sma_fetch_job *job)
{
    const struct sma_prepare *prepare = SMA_MSG_BODY(job->msg, struct sma_prepare);
    const struct sma_route *route = &prepare->route;
    char name[MESSAGE_NAME_BYTES_MAX];
    job->role_until_ns = UINT64_MAX;
    if (job->role_call == NULL && job->role_due_ns == UINT64_MAX)
        return;
    sma_call_cancel(SMA_TAKE(job->role_call));
    job->role_due_ns = UINT64_MAX;
    sma_ctx_log(
        job->fetches->ctx, SMA_LOG_WARN,
        "%s: %s: the platform does not say who %.*s is; he counts as no administrator until "
        "it does",
        job->fetches->bot->name, name_of(prepare, name), (int)route->user_id.len,
        route->user_id.len == 0 ? "" : route->user_id.ptr);
    answer_if_finished(job);
}

/* What of an open job is due now. It may be answered by that, and its place free or another job's.
 * */
static void tick_job(struct sma_fetch_job *job, uint64_t now_ns)
{
    if (job->due_ns <= now_ns) {
        give_up_job(job);
        answer_job(job);
        return;
    }
    if (job->role_due_ns <= now_ns) {
        ask_role(job);
        answer_if_finished(job); /* out of memory */
    }
    uint64_t order = job->order;
    if (job->is_open && job->role_until_ns <= now_ns)
        leave_role(job);
    for (size_t i = 0; job->is_open && job->order == order && i < job->list.count; i++)
        if (job->files[i].state == FETCH_RUNNING && job->files[i].due_ns <= now_ns)
            check_growth(&job->files[i]);
}

static uint64_t wake_of(const struct sma_fetch_job *job, uint64_t now_ns)
{
    uint64_t next_ns = job->due_ns < job->role_due_ns ? job->due_ns : job->role_due_ns;
    next_ns = job->role_until_ns < next_ns ? job->role_until_ns : next_ns;
    for (size_t i = 0; i < job->list.count; i++) {
        const struct sma_fetch *fetch = &job->files[i];
        /* one that only waits for a place is started when a place is free, not by time */
        if (fetch->state != FETCH_NONE && fetch->due_ns > now_ns && fetch->due_ns < next_ns)
            next_ns = fetch->due_ns;
    }
    return next_ns;
}

uint64_t sma_fetches_tick(struct sma_fetches *fetches, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    if (fetches->job_count == 0)
        return next_ns;
    for (size_t i = 0; i < SMA_COUNT_OF(fetches->jobs); i++)
        if (fetches->jobs[i].is_open)
            tick_job(&fetches->jobs[i], now_ns);
    try_start(fetches);
    for (size_t i = 0; i < SMA_COUNT_OF(fetches->jobs); i++) {
        const struct sma_fetch_job *job = &fetches->jobs[i];
        uint64_t due_ns = job->is_open ? wake_of(job, now_ns) : UINT64_MAX;
        next_ns = due_ns < next_ns ? due_ns : next_ns;
    }
    return next_ns;
}

/* -- made and unmade --------------------------------------------------------------------------- */
struct sma_fetches *sma_fetches_create(const struct sma_fetch_home *home,
                                       const struct sma_fetch_ops *ops)
{
    struct sma_fetches *fetches = calloc(1, sizeof *fetches);
    if (fetches == NULL)
        return NULL;
    fetches->ctx = home->ctx;
    fetches->project_dir = home->project_dir;
    fetches->bot = home->bot;
    fetches->user = home->user;
    fetches->ops = ops;
    fetches->shape = *ops->shape;
    fetches->shape.folder = home->bot->folder;
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
