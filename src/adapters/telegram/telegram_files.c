/*
 * telegram_files.c — PREPARE: attachments onto the disk and the author's role, before the run of a
 * message starts.
 *
 * A few downloads at once, the rest in line. A file grows under another name and gets its own when
 * it is whole, so what is there under its name is complete, and asking again after a restart costs
 * nothing. What cannot be had is named to the model; a message never waits longer than
 * TELEGRAM_JOB_S.
 */
#include "telegram_priv.h"

#include "sma/metrics.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

enum fetch_state
{
    FETCH_NONE,
    FETCH_WAITING, /* in line, or for its next try */
    FETCH_RUNNING,
};

static void try_start(struct telegram *telegram);

static struct sma_fetch_place place_of(const struct telegram *telegram)
{
    return (struct sma_fetch_place){telegram->ctx, telegram->config->project_dir,
                                    TELEGRAM_CACHE_FOLDER};
}

void telegram_prepare_clean(struct telegram *telegram)
{
    struct sma_fetch_place place = place_of(telegram);
    sma_fetch_place_clean(&place);
}

/* -- the end of a job -------------------------------------------------------------------------- */
static void free_job(struct telegram_job *job)
{
    telegram_preparation_fini(&job->preparation);
    sma_buf_fini(&job->notes);
    sma_msg_destroy(job->msg);
    job->msg = NULL;
    job->is_open = false;
    job->telegram->job_count--;
}

static bool is_finished(const struct telegram_job *job)
{
    for (size_t i = 0; i < job->preparation.file_count; i++)
        if (job->fetches[i].state != FETCH_NONE)
            return false;
    return job->role_call == NULL && job->role_due_ns == UINT64_MAX;
}

static void answer_job(struct telegram_job *job)
{
    struct sma_ctx *ctx = job->telegram->ctx;
    struct sma_str notes = job->notes.err == SMA_ERR_OK ? sma_buf_str(&job->notes) : SMA_STR("");
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_PREPARED, struct sma_prepared, notes.len + 1);
    if (msg == NULL)
        sma_ctx_fatal(ctx, "out of memory for an answer");
    struct sma_prepared *prepared = SMA_MSG_BODY(msg, struct sma_prepared);
    prepared->seq = job->seq;
    prepared->role = job->role;
    prepared->context = sma_msg_dup(msg, notes);
    sma_ctx_answer_to(ctx, (enum sma_actor_id)job->asker, job->ask_id, &msg);
    free_job(job);
}

static void answer_if_finished(struct telegram_job *job)
{
    if (job->is_open && is_finished(job))
        answer_job(job);
}

/* -- the end of a fetch ------------------------------------------------------------------------ */
/* What is running stops, what half came goes. */
static void stop_fetch(struct telegram *telegram, struct telegram_fetch *fetch)
{
    struct sma_fetch_place place = place_of(telegram);
    telegram_call_cancel(fetch->call);
    fetch->call = NULL;
    sma_fetch_place_drop(&place, &fetch->temp);
    if (fetch->state == FETCH_RUNNING)
        telegram->fetch_count--;
    fetch->state = FETCH_NONE;
}

static void fail_fetch(struct telegram_fetch *fetch, const char *reason)
{
    struct telegram *telegram = fetch->job->telegram;
    stop_fetch(telegram, fetch);
    SMA_METRIC_ADD(attachments_failed_total, 1);
    sma_ctx_log(telegram->ctx, SMA_LOG_WARN,
                "telegram: message %llu: an attachment could not be fetched: %s",
                (unsigned long long)fetch->job->seq, reason);
    telegram_prepare_note(&fetch->job->notes, fetch->file, reason);
    answer_if_finished(fetch->job);
    try_start(telegram);
}

/* Trouble that may pass is tried again after a while, a few times. @return when; UINT64_MAX: not
 * again */
static uint64_t plan_retry(const struct telegram_job *job, unsigned try_count,
                           const struct telegram_outcome *outcome)
{
    struct telegram *telegram = job->telegram;
    bool may_pass = outcome->attempt_class != SMA_ATTEMPT_GIVE_UP && !outcome->is_bot_refused;
    uint64_t due_ns = sma_ctx_now(telegram->ctx) + telegram_backoff_ns(telegram, try_count);
    if (outcome->attempt_class == SMA_ATTEMPT_RETRY_AFTER)
        due_ns = sma_ctx_now(telegram->ctx) + outcome->retry_after_ms * TELEGRAM_NS_PER_MS;
    bool is_over = try_count >= TELEGRAM_FETCH_TRY_COUNT_MAX || due_ns >= job->due_ns;
    return may_pass && !is_over ? due_ns : UINT64_MAX;
}

static void retry_fetch(struct telegram_fetch *fetch, const struct telegram_outcome *outcome)
{
    struct telegram *telegram = fetch->job->telegram;
    uint64_t due_ns = plan_retry(fetch->job, fetch->try_count, outcome);
    if (due_ns == UINT64_MAX) {
        fail_fetch(fetch, outcome->error);
        return;
    }
    stop_fetch(telegram, fetch);
    fetch->state = FETCH_WAITING;
    fetch->due_ns = due_ns;
    try_start(telegram);
}

static void finish_fetch(struct telegram_fetch *fetch)
{
    struct telegram *telegram = fetch->job->telegram;
    struct sma_fetch_place place = place_of(telegram);
    if (!sma_fetch_place_keep(&place, &fetch->temp, fetch->file->path)) {
        fail_fetch(fetch, "it could not be stored");
        return;
    }
    stop_fetch(telegram, fetch);
    SMA_METRIC_ADD(attachments_fetched_total, 1);
    answer_if_finished(fetch->job);
    try_start(telegram);
}

/* -- from the platform, or from the disk of a server of one's own ------------------------------ */
static void on_downloaded(struct telegram *telegram, void *user,
                          const struct sma_net_answer *answer)
{
    struct telegram_fetch *fetch = user;
    struct telegram_outcome outcome;
    (void)telegram;
    fetch->call = NULL;
    if (answer->end == SMA_NET_TOO_BIG) {
        fail_fetch(fetch, "it is larger than adapters.telegram.attachmentBytesMax allows");
        return;
    }
    if (answer->end == SMA_NET_FILE_FAILED) {
        fail_fetch(fetch, "it could not be stored: is the disk full?");
        return;
    }
    if (answer->end == SMA_NET_ANSWERED && answer->status == 200) {
        finish_fetch(fetch);
        return;
    }
    telegram_classify(answer, &outcome);
    outcome.is_bot_refused = false; /* 404 on a file: the link is gone, not the bot */
    if (answer->end == SMA_NET_ANSWERED && answer->status == 404)
        outcome.attempt_class = SMA_ATTEMPT_GIVE_UP;
    if (answer->end == SMA_NET_UNKNOWN)
        outcome.attempt_class = SMA_ATTEMPT_RETRY; /* reading twice does no harm */
    retry_fetch(fetch, &outcome);
}

struct copying
{
    uv_fs_t request;
    struct telegram_fetch *fetch; /* NULL: given up meanwhile */
    char to[SMA_FETCH_PATH_BYTES_MAX];
};

static void on_copied(uv_fs_t *request)
{
    struct copying *copying = request->data;
    struct telegram_fetch *fetch = copying->fetch;
    bool is_copied = request->result >= 0;
    uv_fs_req_cleanup(request);
    if (fetch == NULL) {
        (void)unlink(copying->to); /* nobody wants it any more */
        free(copying);
        return;
    }
    free(copying);
    fetch->copy = NULL;
    struct telegram *telegram = fetch->job->telegram;
    if (is_copied && fchmod(fetch->temp.fd, 0600) == 0) /* the copy took the server's mode */
        finish_fetch(fetch);
    else
        fail_fetch(fetch, "the file of the local Bot API server could not be read");
    sma_ctx_request_batch_end(telegram->ctx);
}

/* A server of one's own (--local) names a file on this machine's disk. */
static void copy_local(struct telegram *telegram, struct telegram_fetch *fetch,
                       struct sma_str file_path)
{
    char from[SMA_FETCH_PATH_BYTES_MAX];
    struct stat status;
    if (file_path.len >= sizeof from || memchr(file_path.ptr, '\0', file_path.len) != NULL) {
        fail_fetch(fetch, "the local Bot API server gave no usable path");
        return;
    }
    memcpy(from, file_path.ptr, file_path.len);
    from[file_path.len] = '\0';
    if (stat(from, &status) != 0 || !S_ISREG(status.st_mode)) {
        fail_fetch(fetch, "the file of the local Bot API server is not on this machine");
        return;
    }
    if ((uint64_t)status.st_size > telegram->settings.attachment_bytes_max) {
        fail_fetch(fetch, "it is larger than adapters.telegram.attachmentBytesMax allows");
        return;
    }
    struct copying *copying = calloc(1, sizeof *copying);
    struct sma_fetch_place place = place_of(telegram);
    if (copying == NULL || !sma_fetch_place_open(&place, &fetch->temp) ||
        !sma_fetch_place_path(&place, &fetch->temp, copying->to)) {
        free(copying);
        fail_fetch(fetch, "it could not be stored");
        return;
    }
    copying->fetch = fetch;
    copying->request.data = copying;
    fetch->copy = copying;
    if (uv_fs_copyfile(sma_ctx_loop(telegram->ctx), &copying->request, from, copying->to, 0,
                       on_copied) == 0)
        return;
    fetch->copy = NULL;
    free(copying);
    fail_fetch(fetch, "it could not be stored");
}

static void download(struct telegram *telegram, struct telegram_fetch *fetch,
                     struct sma_str file_path)
{
    struct sma_fetch_place place = place_of(telegram);
    if (!sma_fetch_place_open(&place, &fetch->temp)) {
        fail_fetch(fetch, "it could not be stored");
        return;
    }
    uint64_t now_ns = sma_ctx_now(telegram->ctx);
    uint64_t left_ns =
        fetch->job->due_ns > now_ns ? fetch->job->due_ns - now_ns : TELEGRAM_NS_PER_S;
    fetch->grown_bytes = 0;
    fetch->due_ns = now_ns + TELEGRAM_FETCH_SILENT_S * TELEGRAM_NS_PER_S;
    fetch->call = telegram_call_start(
        telegram,
        &(struct telegram_call_options){.file_path = file_path,
                                        .file = fetch->temp.fd,
                                        .total_ms = (uint32_t)(left_ns / TELEGRAM_NS_PER_MS),
                                        .answer_bytes_max = telegram->settings.attachment_bytes_max,
                                        .done = on_downloaded,
                                        .user = fetch});
    if (fetch->call == NULL)
        fail_fetch(fetch, "out of memory");
}

/* Half-open connections do not end by themselves, and each keeps a place that others wait for. */
static void check_growth(struct telegram_fetch *fetch, uint64_t now_ns)
{
    struct stat status;
    bool has_grown = fstat(fetch->temp.fd, &status) == 0 && status.st_size > fetch->grown_bytes;
    if (has_grown) {
        fetch->grown_bytes = status.st_size;
        fetch->due_ns = now_ns + TELEGRAM_FETCH_SILENT_S * TELEGRAM_NS_PER_S;
        return;
    }
    SMA_METRIC_ADD(platform_failures_total, 1);
    struct telegram_outcome outcome = {.attempt_class = SMA_ATTEMPT_RETRY};
    snprintf(outcome.error, sizeof outcome.error, "the platform stopped sending it");
    retry_fetch(fetch, &outcome);
}

static void on_located(struct telegram *telegram, void *user, const struct sma_net_answer *answer)
{
    struct telegram_fetch *fetch = user;
    struct telegram_outcome outcome;
    json_t *root;
    fetch->call = NULL;
    const json_t *result = telegram_result(answer, &root);
    const json_t *path = json_object_get(result, "file_path");
    json_int_t size = json_integer_value(json_object_get(result, "file_size"));
    struct sma_str file_path = {json_string_value(path), json_string_length(path)};
    if (result == NULL) {
        telegram_classify(answer, &outcome);
        if (answer->end == SMA_NET_UNKNOWN)
            outcome.attempt_class = SMA_ATTEMPT_RETRY;
        retry_fetch(fetch, &outcome);
    } else if (file_path.len == 0) {
        fail_fetch(fetch, "the platform does not give it out");
    } else if (size > 0 && (uint64_t)size > telegram->settings.attachment_bytes_max) {
        fail_fetch(fetch, "it is larger than adapters.telegram.attachmentBytesMax allows");
    } else if (file_path.ptr[0] == '/' && !telegram->settings.is_cloud) {
        copy_local(telegram, fetch, file_path);
    } else {
        download(telegram, fetch, file_path);
    }
    json_decref(root);
}

static void start_fetch(struct telegram *telegram, struct telegram_fetch *fetch)
{
    struct sma_buf body;
    fetch->state = FETCH_RUNNING;
    fetch->due_ns = UINT64_MAX;
    fetch->try_count++;
    telegram->fetch_count++;
    sma_buf_init(&body, 8192);
    sma_buf_put_text(&body, "{\"file_id\":");
    sma_buf_put_json_string(&body, fetch->file->file_id);
    sma_buf_put_char(&body, '}');
    if (body.err == SMA_ERR_OK)
        fetch->call = telegram_call_start(
            telegram, &(struct telegram_call_options){.method = "getFile",
                                                      .body = sma_buf_str(&body),
                                                      .total_ms = TELEGRAM_CONTROL_MS,
                                                      .done = on_located,
                                                      .user = fetch});
    sma_buf_fini(&body);
    if (fetch->call == NULL)
        fail_fetch(fetch, "out of memory");
}

/* -- in line ----------------------------------------------------------------------------------- */
static struct telegram_fetch *next_fetch(struct telegram *telegram, uint64_t now_ns)
{
    struct telegram_fetch *best = NULL;
    for (size_t i = 0; i < TELEGRAM_JOB_COUNT_MAX; i++) {
        struct telegram_job *job = &telegram->jobs[i];
        for (size_t j = 0; job->is_open && j < job->preparation.file_count; j++) {
            struct telegram_fetch *fetch = &job->fetches[j];
            if (fetch->state == FETCH_WAITING && fetch->due_ns <= now_ns &&
                (best == NULL || job->order < best->job->order)) {
                best = fetch;
                break;
            }
        }
    }
    return best;
}

static void try_start(struct telegram *telegram)
{
    struct telegram_fetch *fetch;
    while (telegram->fetch_count < TELEGRAM_FETCH_COUNT_MAX && !telegram->is_closed &&
           (fetch = next_fetch(telegram, sma_ctx_now(telegram->ctx))) != NULL)
        start_fetch(
            telegram,
            fetch); /* failing it looks for the next by itself; each turn takes one out of line */
}

/* -- the role ---------------------------------------------------------------------------------- */
static void on_role(struct telegram *telegram, void *user, const struct sma_net_answer *answer)
{
    struct telegram_job *job = user;
    struct telegram_outcome outcome;
    json_t *root;
    (void)telegram;
    job->role_call = NULL;
    const char *status =
        json_string_value(json_object_get(telegram_result(answer, &root), "status"));
    telegram_classify(answer, &outcome);
    if (answer->end == SMA_NET_UNKNOWN || answer->status >= 500)
        outcome.attempt_class = SMA_ATTEMPT_RETRY; /* asking twice does no harm */
    if (status != NULL)
        job->role = strcmp(status, "administrator") == 0 || strcmp(status, "creator") == 0
                        ? SMA_ROLE_ADMIN
                        : SMA_ROLE_MEMBER;
    else
        job->role_due_ns = plan_retry(job, job->role_try_count, &outcome);
    json_decref(root);
    answer_if_finished(job);
}

static void ask_role(struct telegram *telegram, struct telegram_job *job,
                     const struct sma_route *route)
{
    int64_t chat_id, user_id;
    if (sma_str_is_equal(route->chat_id, route->user_id) && telegram_is_group(route)) {
        job->role = SMA_ROLE_ADMIN; /* only administrators speak in the name of their chat */
        return;
    }
    if (sma_parse_i64(route->chat_id, INT64_MIN, INT64_MAX, &chat_id) != SMA_ERR_OK ||
        sma_parse_i64(route->user_id, 1, INT64_MAX, &user_id) != SMA_ERR_OK)
        return;
    char body[96];
    job->role_try_count++;
    job->role_due_ns = UINT64_MAX;
    int len = snprintf(body, sizeof body, "{\"chat_id\":%lld,\"user_id\":%lld}", (long long)chat_id,
                       (long long)user_id);
    job->role_call = telegram_call_start(
        telegram, &(struct telegram_call_options){.method = "getChatMember",
                                                  .body = {body, (size_t)len},
                                                  .total_ms = TELEGRAM_CONTROL_MS,
                                                  .done = on_role,
                                                  .user = job});
}

static void give_up_job(struct telegram *telegram, struct telegram_job *job)
{
    telegram_call_cancel(job->role_call);
    job->role_call = NULL;
    job->role_due_ns = UINT64_MAX;
    for (size_t i = 0; i < job->preparation.file_count; i++) {
        struct telegram_fetch *fetch = &job->fetches[i];
        if (fetch->state == FETCH_NONE)
            continue;
        struct copying *copying = fetch->copy;
        if (copying != NULL) { /* the copy goes on without us and is removed at its end */
            copying->fetch = NULL;
            fetch->copy = NULL;
            fetch->temp.name[0] = '\0';
        }
        stop_fetch(telegram, fetch);
        SMA_METRIC_ADD(attachments_failed_total, 1);
        telegram_prepare_note(&job->notes, fetch->file, "it did not arrive in time");
    }
}

/* -- a question -------------------------------------------------------------------------------- */
static struct telegram_job *open_job(struct telegram *telegram, struct sma_msg **msg)
{
    size_t i = 0;
    while (i < TELEGRAM_JOB_COUNT_MAX && telegram->jobs[i].is_open)
        i++;
    SMA_ASSERT(i < TELEGRAM_JOB_COUNT_MAX); /* as many places as the edge has questions */
    struct telegram_job *job = &telegram->jobs[i];
    *job = (struct telegram_job){
        .telegram = telegram,
        .ask_id = (*msg)->ask_id,
        .asker = (*msg)->from,
        .seq = SMA_MSG_BODY(*msg, struct sma_prepare)->seq,
        .due_ns = sma_ctx_now(telegram->ctx) + TELEGRAM_JOB_S * TELEGRAM_NS_PER_S,
        .order = ++telegram->job_order,
        .role_due_ns = UINT64_MAX,
        .is_open = true,
        .msg = SMA_TAKE(*msg),
    };
    sma_buf_init(&job->notes, 16384);
    telegram->job_count++;
    return job;
}

void telegram_prepare_take(struct telegram *telegram, struct sma_msg **msg)
{
    struct telegram_job *job = open_job(telegram, msg);
    struct sma_fetch_place place = place_of(telegram);
    const struct sma_prepare *prepare = SMA_MSG_BODY(job->msg, struct sma_prepare);
    if (telegram_preparation_parse(prepare->preparation, &job->preparation) != SMA_ERR_OK)
        sma_ctx_log(telegram->ctx, SMA_LOG_ERROR,
                    "telegram: message %llu: its list of attachments cannot be read",
                    (unsigned long long)job->seq);
    for (size_t i = 0; i < job->preparation.file_count; i++) {
        const struct telegram_file *file = &job->preparation.files[i];
        job->fetches[i] = (struct telegram_fetch){.job = job, .file = file, .temp = {.fd = -1}};
        if (!sma_fetch_place_has(&place, file->path, file->size))
            job->fetches[i].state = FETCH_WAITING;
    }
    if (prepare->wants_role)
        ask_role(telegram, job, &prepare->route);
    if (telegram->is_closed)
        give_up_job(telegram, job);
    if (is_finished(job)) {
        answer_job(job);
        return;
    }
    try_start(telegram);
}

/* What of an open job is due now. It may be answered by that, and its place free or another
 * job's. */
static void tick_job(struct telegram *telegram, struct telegram_job *job, uint64_t now_ns)
{
    if (job->due_ns <= now_ns) {
        give_up_job(telegram, job);
        answer_job(job);
        return;
    }
    if (job->role_due_ns <= now_ns) {
        ask_role(telegram, job, &SMA_MSG_BODY(job->msg, struct sma_prepare)->route);
        answer_if_finished(job); /* out of memory */
    }
    for (size_t i = 0; job->is_open && i < job->preparation.file_count; i++)
        if (job->fetches[i].state == FETCH_RUNNING && job->fetches[i].due_ns <= now_ns)
            check_growth(&job->fetches[i], now_ns);
}

static uint64_t wake_of(const struct telegram_job *job, uint64_t now_ns)
{
    uint64_t next_ns = job->due_ns < job->role_due_ns ? job->due_ns : job->role_due_ns;
    for (size_t i = 0; i < job->preparation.file_count; i++) {
        const struct telegram_fetch *fetch = &job->fetches[i];
        /* one that only waits for a place is started when a place is free, not by time */
        if (fetch->state != FETCH_NONE && fetch->due_ns > now_ns && fetch->due_ns < next_ns)
            next_ns = fetch->due_ns;
    }
    return next_ns;
}

uint64_t telegram_prepare_tick(struct telegram *telegram, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    if (telegram->job_count == 0)
        return next_ns;
    for (size_t i = 0; i < TELEGRAM_JOB_COUNT_MAX; i++)
        if (telegram->jobs[i].is_open)
            tick_job(telegram, &telegram->jobs[i], now_ns);
    try_start(telegram);
    for (size_t i = 0; i < TELEGRAM_JOB_COUNT_MAX; i++) {
        const struct telegram_job *job = &telegram->jobs[i];
        uint64_t due_ns = job->is_open ? wake_of(job, now_ns) : UINT64_MAX;
        next_ns = due_ns < next_ns ? due_ns : next_ns;
    }
    return next_ns;
}

void telegram_prepare_drop(struct telegram *telegram)
{
    for (size_t i = 0; i < TELEGRAM_JOB_COUNT_MAX; i++) {
        struct telegram_job *job = &telegram->jobs[i];
        if (!job->is_open)
            continue;
        give_up_job(telegram, job);
        free_job(job);
    }
}
