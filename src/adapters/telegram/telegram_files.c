/*
 * telegram_files.c — PREPARE: the platform's part of sma_fetches. A file is first asked for by its
 * id, then downloaded, or copied where a Bot API server of one's own has it on this machine's disk.
 */
#include "telegram_priv.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

/* A file on its way. */
struct way
{
    struct telegram *telegram;
    struct sma_fetch *fetch;    /* NULL: given up while it was copied */
    struct telegram_call *call; /* NULL: it is being copied */
    uv_fs_t copying;
    char to[SMA_FETCH_PATH_BYTES_MAX];
};

/* -- the end ----------------------------------------------------------------------------------- */
static struct sma_fetch *leave(struct way *way)
{
    struct sma_fetch *fetch = way->fetch;
    fetch->call = NULL;
    free(way);
    return fetch;
}

static void fail(struct way *way, const char *why)
{
    sma_fetch_fail(leave(way), why);
}

static uint32_t ordered_ms(const struct telegram_outcome *outcome)
{
    return outcome->attempt_class == SMA_ATTEMPT_RETRY_AFTER ? outcome->retry_after_ms : 0;
}

/* Reading twice does no harm, so what may have arrived is asked for again, too. */
static bool may_pass(const struct telegram_outcome *outcome)
{
    return outcome->attempt_class != SMA_ATTEMPT_GIVE_UP && !outcome->is_bot_refused;
}

/* -- from the platform ------------------------------------------------------------------------- */
static void on_downloaded(struct telegram *telegram, void *user,
                          const struct sma_net_answer *answer)
{
    struct sma_fetch *fetch = leave(user);
    struct telegram_outcome outcome;
    (void)telegram;
    if (sma_fetch_is_over(fetch, answer))
        return;
    bool is_answered = answer->end == SMA_NET_ANSWERED;
    telegram_classify(answer, &outcome);
    if (is_answered && answer->status == 200)
        sma_fetch_done(fetch);
    else if (is_answered && answer->status == 404) /* the link is gone, not the bot */
        sma_fetch_fail(fetch, outcome.error);
    else if (outcome.attempt_class == SMA_ATTEMPT_GIVE_UP)
        sma_fetch_fail(fetch, outcome.error);
    else
        sma_fetch_retry(fetch, outcome.error, ordered_ms(&outcome));
}

static void download(struct way *way, struct sma_str file_path)
{
    struct telegram *telegram = way->telegram;
    sma_fetch_watch(way->fetch);
    way->call = telegram_call_start(
        telegram, &(struct telegram_call_options){
                      .file_path = file_path,
                      .file = way->fetch->temp.fd,
                      .total_ms = SMA_FETCH_JOB_S * 1000, /* the job's end ends it */
                      .answer_bytes_max = telegram->settings.attachment_bytes_max,
                      .done = on_downloaded,
                      .user = way});
    if (way->call == NULL)
        fail(way, "out of memory");
}

/* -- from the disk of a server of one's own (--local) ------------------------------------------ */
static void on_copied(uv_fs_t *request)
{
    struct way *way = request->data;
    bool is_copied = request->result >= 0;
    uv_fs_req_cleanup(request);
    if (way->fetch == NULL) {
        (void)unlink(way->to); /* nobody wants it any more */
        free(way);
        return;
    }
    struct telegram *telegram = way->telegram;
    struct sma_fetch *fetch = leave(way);
    if (is_copied && fchmod(fetch->temp.fd, 0600) == 0) /* the copy took the server's mode */
        sma_fetch_done(fetch);
    else
        sma_fetch_fail(fetch, "the file of the local Bot API server could not be read");
    sma_ctx_request_batch_end(telegram->ctx);
}

static void copy_local(struct way *way, struct sma_str file_path)
{
    struct telegram *telegram = way->telegram;
    const struct sma_fetch_place place = {telegram->ctx, telegram->base.config->project_dir,
                                          TELEGRAM_CACHE_FOLDER};
    char from[SMA_FETCH_PATH_BYTES_MAX];
    struct stat status;
    if (file_path.len >= sizeof from || memchr(file_path.ptr, '\0', file_path.len) != NULL) {
        fail(way, "the local Bot API server gave no usable path");
        return;
    }
    memcpy(from, file_path.ptr, file_path.len);
    from[file_path.len] = '\0';
    if (stat(from, &status) != 0 || !S_ISREG(status.st_mode)) {
        fail(way, "the file of the local Bot API server is not on this machine");
        return;
    }
    if ((uint64_t)status.st_size > telegram->settings.attachment_bytes_max) {
        fail(way, "it is larger than adapters.telegram.attachmentBytesMax allows");
        return;
    }
    way->copying.data = way;
    if (!sma_fetch_place_path(&place, &way->fetch->temp, way->to) ||
        uv_fs_copyfile(sma_ctx_loop(telegram->ctx), &way->copying, from, way->to, 0, on_copied) !=
            0)
        fail(way, "it could not be stored");
}

/* -- where it is ------------------------------------------------------------------------------- */
static void locate(struct way *way, const struct sma_net_answer *answer, const json_t *result)
{
    struct telegram_outcome outcome;
    const json_t *path = json_object_get(result, "file_path");
    json_int_t size = json_integer_value(json_object_get(result, "file_size"));
    struct sma_str file_path = {json_string_value(path), json_string_length(path)};
    if (result == NULL) {
        telegram_classify(answer, &outcome);
        if (may_pass(&outcome))
            sma_fetch_retry(leave(way), outcome.error, ordered_ms(&outcome));
        else
            fail(way, outcome.error);
    } else if (file_path.len == 0) {
        fail(way, "the platform does not give it out");
    } else if (size > 0 && (uint64_t)size > way->telegram->settings.attachment_bytes_max) {
        fail(way, "it is larger than adapters.telegram.attachmentBytesMax allows");
    } else if (file_path.ptr[0] == '/' && !way->telegram->settings.is_cloud) {
        copy_local(way, file_path);
    } else {
        download(way, file_path);
    }
}

static void on_located(struct telegram *telegram, void *user, const struct sma_net_answer *answer)
{
    struct way *way = user;
    json_t *root;
    (void)telegram;
    way->call = NULL;
    locate(way, answer, telegram_result(answer, &root));
    json_decref(root);
}

static void start_fetch(void *user, struct sma_fetch *fetch, uint32_t left_ms)
{
    struct telegram *telegram = user;
    struct way *way = calloc(1, sizeof *way);
    struct sma_buf body;
    if (way == NULL) {
        sma_fetch_fail(fetch, "out of memory");
        return;
    }
    *way = (struct way){.telegram = telegram, .fetch = fetch};
    fetch->call = way;
    sma_buf_init(&body, 8192);
    sma_buf_put_text(&body, "{\"file_id\":");
    sma_buf_put_json_string(&body, sma_json_str(fetch->item->json, "fileId"));
    sma_buf_put_char(&body, '}');
    if (body.err == SMA_ERR_OK)
        way->call = telegram_call_start(
            telegram, &(struct telegram_call_options){
                          .method = "getFile",
                          .body = sma_buf_str(&body),
                          .total_ms = left_ms < SMA_FETCH_LOOKUP_MS ? left_ms : SMA_FETCH_LOOKUP_MS,
                          .done = on_located,
                          .user = way});
    sma_buf_fini(&body);
    if (way->call == NULL)
        fail(way, "out of memory");
}

static void cancel_fetch(void *user, void *call)
{
    struct way *way = call;
    (void)user;
    if (way->call == NULL) { /* the copy goes on without us and is removed at its end */
        way->fetch = NULL;
        return;
    }
    telegram_call_cancel(way->call);
    free(way);
}

static bool is_copying(void *user, const void *call)
{
    (void)user;
    return ((const struct way *)call)->call == NULL;
}

/* -- the role ---------------------------------------------------------------------------------- */
static void on_role(struct telegram *telegram, void *user, const struct sma_net_answer *answer)
{
    struct sma_fetch_job *job = user;
    struct telegram_outcome outcome;
    json_t *root;
    const char *status =
        json_string_value(json_object_get(telegram_result(answer, &root), "status"));
    uint8_t role = SMA_ROLE_UNKNOWN;
    (void)telegram;
    telegram_classify(answer, &outcome);
    if (status != NULL)
        role = strcmp(status, "administrator") == 0 || strcmp(status, "creator") == 0
                   ? SMA_ROLE_ADMIN
                   : SMA_ROLE_MEMBER;
    json_decref(root);
    if (role == SMA_ROLE_UNKNOWN && may_pass(&outcome))
        sma_fetch_role_retry(job, ordered_ms(&outcome));
    else
        sma_fetch_role(job, role);
}

static void *ask_role(void *user, struct sma_fetch_job *job, const struct sma_route *route,
                      uint8_t *role)
{
    struct telegram *telegram = user;
    int64_t chat_id, user_id;
    if (sma_str_is_equal(route->chat_id, route->user_id) && telegram_is_group(route)) {
        *role = SMA_ROLE_ADMIN; /* only administrators speak in the name of their chat */
        return NULL;
    }
    if (sma_parse_i64(route->chat_id, INT64_MIN, INT64_MAX, &chat_id) != SMA_ERR_OK ||
        sma_parse_i64(route->user_id, 1, INT64_MAX, &user_id) != SMA_ERR_OK)
        return NULL;
    char body[96];
    int len = snprintf(body, sizeof body, "{\"chat_id\":%lld,\"user_id\":%lld}", (long long)chat_id,
                       (long long)user_id);
    return telegram_call_start(telegram,
                               &(struct telegram_call_options){.method = "getChatMember",
                                                               .body = {body, (size_t)len},
                                                               .total_ms = SMA_FETCH_LOOKUP_MS,
                                                               .done = on_role,
                                                               .user = job});
}

static void cancel_role(void *user, void *call)
{
    (void)user;
    telegram_call_cancel(call);
}

const struct sma_fetch_ops telegram_fetch_ops = {
    .name = "telegram",
    .shape = &telegram_file_shape,
    .start = start_fetch,
    .cancel = cancel_fetch,
    .is_waiting = is_copying,
    .ask_role = ask_role,
    .cancel_role = cancel_role,
};
