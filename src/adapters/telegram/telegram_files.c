/*
 * telegram_files.c — PREPARE: the platform's part of sma_fetches. A file is first asked for by its
 * id, then downloaded, or copied where a Bot API server of one's own has it on this machine's disk.
 */
#include "telegram_priv.h"

#include "runtime/json/json_read.h"
#include "runtime/text/said.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

static uint32_t ordered_ms(const struct sma_answered *outcome)
{
    return outcome->attempt_class == SMA_ATTEMPT_RETRY_AFTER ? outcome->retry_after_ms : 0;
}

/* Reading twice does no harm, so what may have arrived is asked for again, too. */
static bool may_pass(const struct sma_answered *outcome)
{
    return outcome->attempt_class != SMA_ATTEMPT_GIVE_UP && outcome->act != SMA_ACT_OWNER;
}

/* -- from the platform ------------------------------------------------------------------------- */
static void on_downloaded(void *state, void *user, const struct sma_net_answer *answer)
{
    struct sma_fetch *fetch = user;
    struct sma_answered outcome;
    (void)state;
    fetch->call = NULL;
    if (sma_fetch_is_over(fetch, answer))
        return;
    bool is_answered = answer->end == SMA_NET_ANSWERED;
    sma_verdict(&telegram_verdicts, "asking Telegram", answer, SMA_WHEN_QUESTION, &outcome);
    if (is_answered && answer->status == 200)
        sma_fetch_done(fetch);
    else if (is_answered && answer->status == 404) /* the link is gone, not the bot */
        sma_fetch_fail(fetch, outcome.error);
    else if (outcome.attempt_class == SMA_ATTEMPT_GIVE_UP)
        sma_fetch_fail(fetch, outcome.error);
    else
        sma_fetch_retry(fetch, outcome.error, ordered_ms(&outcome));
}

static void download(struct telegram *telegram, struct sma_fetch *fetch, struct sma_str file_path)
{
    struct sma_buf url;
    sma_fetch_watch(fetch);
    sma_buf_init(&url, 8192);
    telegram_put_file_url(telegram, file_path, &url);
    if (url.err == SMA_ERR_OK)
        fetch->call = sma_call_start(
            telegram->base.calls,
            &(struct sma_call_options){.method = "GET",
                                       .url = sma_buf_str(&url),
                                       .file = fetch->temp.fd,
                                       .total_ms = SMA_FETCH_JOB_S * 1000, /* the job ends it */
                                       .answer_bytes_max = telegram->settings.attachment_bytes_max,
                                       .done = on_downloaded,
                                       .user = fetch});
    if (url.ptr != NULL)
        explicit_bzero(url.ptr, url.len); /* the token stands in it */
    sma_buf_fini(&url);
    if (fetch->call == NULL)
        sma_fetch_fail(fetch, "out of memory");
}

/* -- from the disk of a server of one's own (--local) ------------------------------------------ */
struct copying
{
    uv_fs_t request;
    struct telegram *telegram;
    struct sma_fetch *fetch; /* NULL: given up meanwhile */
    char to[SMA_FETCH_PATH_BYTES_MAX];
};

static void on_copied(uv_fs_t *request)
{
    struct copying *copying = request->data;
    struct telegram *telegram = copying->telegram;
    struct sma_fetch *fetch = copying->fetch;
    bool is_copied = request->result >= 0;
    uv_fs_req_cleanup(request);
    if (fetch == NULL)
        (void)unlink(copying->to); /* nobody wants it any more */
    free(copying);
    if (fetch == NULL)
        return;
    fetch->way = NULL;
    if (is_copied && fchmod(fetch->temp.fd, 0600) == 0) /* the copy took the server's mode */
        sma_fetch_done(fetch);
    else
        sma_fetch_fail(fetch, "the file of the local Bot API server could not be read");
    sma_ctx_request_batch_end(telegram->ctx);
}

static bool start_copy(struct telegram *telegram, struct sma_fetch *fetch, const char *from)
{
    const struct sma_fetch_place place = {telegram->ctx, telegram->base.config->project_dir,
                                          telegram->base.home.folder};
    struct copying *copying = calloc(1, sizeof *copying);
    if (copying == NULL || !sma_fetch_place_path(&place, &fetch->temp, copying->to)) {
        free(copying);
        return false;
    }
    copying->telegram = telegram;
    copying->fetch = fetch;
    copying->request.data = copying;
    fetch->way = copying;
    if (uv_fs_copyfile(sma_ctx_loop(telegram->ctx), &copying->request, from, copying->to, 0,
                       on_copied) == 0)
        return true;
    fetch->way = NULL;
    free(copying);
    return false;
}

static void copy_local(struct telegram *telegram, struct sma_fetch *fetch, struct sma_str file_path)
{
    char from[SMA_FETCH_PATH_BYTES_MAX];
    struct stat status;
    if (file_path.len >= sizeof from || memchr(file_path.ptr, '\0', file_path.len) != NULL) {
        sma_fetch_fail(fetch, "the local Bot API server gave no usable path");
        return;
    }
    memcpy(from, file_path.ptr, file_path.len);
    from[file_path.len] = '\0';
    if (stat(from, &status) != 0 || !S_ISREG(status.st_mode))
        sma_fetch_fail(fetch, "the file of the local Bot API server is not on this machine");
    else if ((uint64_t)status.st_size > telegram->settings.attachment_bytes_max)
        sma_fetch_fail(fetch, "it is larger than adapters.telegram.attachmentBytesMax allows");
    else if (!start_copy(telegram, fetch, from))
        sma_fetch_fail(fetch, "it could not be stored");
}

/* The copy goes on without us and is removed at its end. */
static void cancel_copy(void *user, struct sma_fetch *fetch)
{
    (void)user;
    ((struct copying *)fetch->way)->fetch = NULL;
    fetch->way = NULL;
}

/* -- where it is ------------------------------------------------------------------------------- */
static void locate(struct telegram *telegram, struct sma_fetch *fetch, const json_t *result)
{
    struct sma_str file_path = sma_json_str(result, "file_path");
    int64_t size = sma_json_int(result, "file_size", 0, INT64_MAX, 0);
    if (file_path.len == 0)
        sma_fetch_fail(fetch, "the platform does not give it out");
    else if ((uint64_t)size > telegram->settings.attachment_bytes_max)
        sma_fetch_fail(fetch, "it is larger than adapters.telegram.attachmentBytesMax allows");
    else if (file_path.ptr[0] == '/' && !telegram->settings.is_cloud)
        copy_local(telegram, fetch, file_path);
    else
        download(telegram, fetch, file_path);
}

static void on_located(void *state, void *user, const struct sma_net_answer *answer)
{
    struct sma_fetch *fetch = user;
    struct sma_answered outcome;
    json_t *root;
    fetch->call = NULL;
    const json_t *result = telegram_result(answer, &root);
    if (result == NULL)
        sma_verdict(&telegram_verdicts, "asking Telegram", answer, SMA_WHEN_QUESTION, &outcome);
    if (result != NULL)
        locate(state, fetch, result);
    else if (may_pass(&outcome))
        sma_fetch_retry(fetch, outcome.error, ordered_ms(&outcome));
    else
        sma_fetch_fail(fetch, outcome.error);
    json_decref(root);
}

static void start_fetch(void *user, struct sma_fetch *fetch, uint32_t left_ms)
{
    struct telegram *telegram = user;
    struct sma_buf body;
    sma_buf_init(&body, 8192);
    sma_buf_put_text(&body, "{\"file_id\":");
    sma_buf_put_json_string(&body, sma_json_str(fetch->item->json, "fileId"));
    sma_buf_put_char(&body, '}');
    fetch->call = sma_call_start(
        telegram->base.calls,
        &(struct sma_call_options){.method = "POST",
                                   .path = SMA_STR("getFile"),
                                   .body = &body,
                                   .may_repeat = true,
                                   .total_ms = left_ms < SMA_FETCH_LOOKUP_MS ? left_ms
                                                                             : SMA_FETCH_LOOKUP_MS,
                                   .done = on_located,
                                   .user = fetch});
    if (fetch->call == NULL)
        sma_fetch_fail(fetch, "out of memory");
}

#define TELEGRAM_PROFILE_BYTES_MAX 4096

/* -- the role ---------------------------------------------------------------------------------- */
static void on_role(void *state, void *user, const struct sma_net_answer *answer)
{
    struct sma_fetch_job *job = user;
    struct sma_answered outcome;
    json_t *root;
    const char *status =
        json_string_value(json_object_get(telegram_result(answer, &root), "status"));
    uint8_t role = SMA_ROLE_UNKNOWN;
    (void)state;
    sma_verdict(&telegram_verdicts, "asking Telegram", answer, SMA_WHEN_QUESTION, &outcome);
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

static struct sma_call *ask_member(struct telegram *telegram, const struct sma_route *route,
                                   sma_call_fn *done, struct sma_fetch_job *job)
{
    int64_t chat_id, user_id;
    if (sma_parse_i64(route->chat_id, INT64_MIN, INT64_MAX, &chat_id) != SMA_ERR_OK ||
        sma_parse_i64(route->user_id, 1, INT64_MAX, &user_id) != SMA_ERR_OK)
        return NULL;
    struct sma_buf body;
    sma_buf_init(&body, 96);
    sma_buf_printf(&body, "{\"chat_id\":%lld,\"user_id\":%lld}", (long long)chat_id,
                   (long long)user_id);
    return sma_call_start(telegram->base.calls,
                          &(struct sma_call_options){.method = "POST",
                                                     .path = SMA_STR("getChatMember"),
                                                     .body = &body,
                                                     .may_repeat = true,
                                                     .total_ms = SMA_FETCH_LOOKUP_MS,
                                                     .done = done,
                                                     .user = job});
}

static struct sma_call *ask_role(void *user, struct sma_fetch_job *job,
                                 const struct sma_route *route, uint8_t *role)
{
    if (sma_str_is_equal(route->chat_id, route->user_id) && telegram_is_group(route)) {
        *role = SMA_ROLE_ADMIN; /* only administrators speak in the name of their chat */
        return NULL;
    }
    return ask_member(user, route, on_role, job);
}

/* -- a person ---------------------------------------------------------------------------------- */
/* Names are what people call themselves. */
static void put_profile(struct sma_buf *buf, const json_t *member)
{
    const json_t *user = sma_json_get(member, "user");
    struct sma_str last = sma_json_str(user, "last_name");
    struct sma_buf name;
    sma_buf_init(&name, TELEGRAM_PROFILE_BYTES_MAX);
    sma_buf_put_str(&name, sma_json_str(user, "first_name"));
    sma_buf_put_text(&name, last.len > 0 ? " " : "");
    sma_buf_put_str(&name, last);
    sma_buf_put_char(buf, '{');
    sma_said_put_member(buf, "name", sma_buf_str(&name));
    sma_said_put_given(buf, "username", sma_json_str(user, "username"));
    sma_said_put_given(buf, "language", sma_json_str(user, "language_code"));
    if (json_is_true(sma_json_get(user, "is_bot")))
        sma_buf_put_text(buf, ",\"isBot\":true");
    sma_said_put_member(buf, "role", sma_json_str(member, "status"));
    sma_buf_put_char(buf, '}');
    sma_buf_fini(&name);
}

static void on_profile(void *state, void *user, const struct sma_net_answer *answer)
{
    struct sma_answered outcome;
    struct sma_buf profile;
    json_t *root;
    char why[320];
    const json_t *member = telegram_result(answer, &root);
    (void)state;
    sma_verdict(&telegram_verdicts, "asking Telegram", answer, SMA_WHEN_QUESTION, &outcome);
    snprintf(why, sizeof why, "The platform does not say it: %s", outcome.error);
    if (outcome.attempt_class == SMA_ATTEMPT_RETRY_AFTER)
        snprintf(why, sizeof why, "Too much is asked of the platform: try again in %u s",
                 outcome.retry_after_ms / 1000 + 1);
    sma_buf_init(&profile, TELEGRAM_PROFILE_BYTES_MAX);
    if (sma_json_get(member, "user") != NULL)
        put_profile(&profile, member);
    bool is_good = profile.err == SMA_ERR_OK;
    sma_fetch_profile(user, is_good ? sma_buf_str(&profile) : SMA_STR(""), why);
    sma_buf_fini(&profile);
    json_decref(root);
}

static struct sma_call *ask_profile(void *user, struct sma_fetch_job *job,
                                    const struct sma_route *route)
{
    return ask_member(user, route, on_profile, job);
}

const struct sma_fetch_ops telegram_fetch_ops = {
    .shape = &telegram_file_shape,
    .start = start_fetch,
    .cancel = cancel_copy,
    .ask_role = ask_role,
    .ask_profile = ask_profile,
};
