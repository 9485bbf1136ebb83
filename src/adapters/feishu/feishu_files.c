/*
 * feishu_files.c — PREPARE: what a person sent onto the disk, and whether he manages the group.
 *
 * A refused download is answered in JSON, also with status 200; a person may send a JSON file as
 * well. So a small answer of that type that reads like an error of the platform is one.
 */
#include "feishu_priv.h"

#include "feishu_code.h"

#include <stdio.h>
#include <unistd.h>

#define ERROR_BYTES_MAX 16384

/* -- a file ------------------------------------------------------------------------------------ */
/* What is in the file, when it is an error of the platform rather than a file. */
static bool is_error(const struct sma_fetch *fetch, const struct sma_net_answer *answer,
                     char *bytes, size_t *len)
{
    struct sma_str json = SMA_STR("application/json");
    if (answer->type.len < json.len || strncasecmp(answer->type.ptr, json.ptr, json.len) != 0 ||
        answer->body_bytes == 0 || answer->body_bytes > ERROR_BYTES_MAX)
        return false;
    ssize_t got = pread(fetch->temp.fd, bytes, ERROR_BYTES_MAX, 0);
    if (got <= 0)
        return false;
    struct sma_net_answer inner = *answer;
    inner.body = (struct sma_str){bytes, (size_t)got};
    struct feishu_reply reply = feishu_reply_read(&inner);
    bool has_code = reply.root != NULL && reply.code > 0 && sma_json_get(reply.root, "msg") != NULL;
    json_decref(reply.root);
    *len = (size_t)got;
    return has_code;
}

static void on_refusal(struct feishu *feishu, struct sma_fetch *fetch,
                       const struct sma_net_answer *answer)
{
    struct sma_answered outcome;
    sma_verdict(&feishu_verdicts, "the download", answer, SMA_WHEN_QUESTION, &outcome);
    const char *why = outcome.error;
    if ((outcome.mend & SMA_MEND_TELL_OWNER) != 0)
        feishu_tell_scope(feishu, why);
    if (outcome.attempt_class == SMA_ATTEMPT_GIVE_UP || outcome.attempt_class == SMA_ATTEMPT_SENT)
        sma_fetch_fail(fetch, why);
    else /* reading twice does no harm, so UNKNOWN too */
        sma_fetch_retry(fetch, why,
                        outcome.attempt_class == SMA_ATTEMPT_RETRY_AFTER ? outcome.retry_after_ms
                                                                         : 0);
}

static void on_downloaded(void *state, void *user, const struct sma_net_answer *answer)
{
    struct feishu *feishu = state;
    struct sma_fetch *fetch = user;
    char bytes[ERROR_BYTES_MAX];
    size_t len;
    fetch->call = NULL;
    if (sma_fetch_is_over(fetch, answer))
        return;
    if (answer->end != SMA_NET_ANSWERED || answer->status < 200 || answer->status > 299) {
        on_refusal(feishu, fetch, answer);
    } else if (is_error(fetch, answer, bytes, &len)) {
        struct sma_net_answer inner = *answer;
        inner.body = (struct sma_str){bytes, len};
        on_refusal(feishu, fetch, &inner);
    } else {
        sma_fetch_done(fetch);
    }
}

static void start_fetch(void *user, struct sma_fetch *fetch, uint32_t left_ms)
{
    struct feishu *feishu = user;
    const struct sma_file_item *item = fetch->item;
    struct sma_buf path;
    sma_buf_init(&path, 4096);
    feishu_put_resource_path(
        &path, sma_str_is_equal(item->kind, SMA_STR("photo")) ? "image" : "file",
        sma_json_str(item->json, "message_id"), sma_json_str(item->json, "file_key"));
    if (path.err == SMA_ERR_OK)
        fetch->call = sma_call_start(
            feishu->base.calls,
            &(struct sma_call_options){.method = "GET",
                                       .path = sma_buf_str(&path),
                                       .file = fetch->temp.fd,
                                       .total_ms = left_ms,
                                       .may_repeat = true,
                                       .answer_bytes_max = feishu->settings.attachment_bytes_max,
                                       .done = on_downloaded,
                                       .user = fetch});
    sma_buf_fini(&path);
    if (fetch->call == NULL)
        sma_fetch_fail(fetch, "out of memory");
}

/* -- the role ---------------------------------------------------------------------------------- */
static bool is_known(const struct feishu_known_role *known, const struct sma_route *route)
{
    return sma_str_is_equal(sma_str(known->chat_id), route->chat_id) &&
           sma_str_is_equal(sma_str(known->user_id), route->user_id);
}

static void remember(struct feishu *feishu, const struct sma_route *route, uint8_t role)
{
    struct feishu_known_role *known = &feishu->roles[feishu->role_next];
    if (route->chat_id.len >= sizeof known->chat_id || route->user_id.len >= sizeof known->user_id)
        return;
    for (size_t i = 0; i < FEISHU_ROLE_COUNT_MAX; i++)
        if (is_known(&feishu->roles[i], route))
            known = &feishu->roles[i];
    if (known == &feishu->roles[feishu->role_next])
        feishu->role_next = (feishu->role_next + 1) % FEISHU_ROLE_COUNT_MAX;
    snprintf(known->chat_id, sizeof known->chat_id, "%.*s", (int)route->chat_id.len,
             route->chat_id.ptr);
    snprintf(known->user_id, sizeof known->user_id, "%.*s", (int)route->user_id.len,
             route->user_id.ptr);
    known->role = role;
    known->until_ns = sma_ctx_now(feishu->ctx) + FEISHU_ROLE_S * SMA_NS_PER_S;
}

static void on_chat(void *state, void *user, const struct sma_net_answer *answer)
{
    struct feishu *feishu = state;
    struct sma_fetch_job *job = user;
    const struct sma_route *route = sma_fetch_route(job);
    struct sma_login_error error = {0};
    bool is_admin = false;
    uint8_t role = SMA_ROLE_UNKNOWN;
    enum sma_login login = feishu_chat_parse(answer, route->user_id, &is_admin, &error);
    if (login == SMA_LOGIN_OK) {
        role = is_admin ? SMA_ROLE_ADMIN : SMA_ROLE_MEMBER;
        remember(feishu, route, role);
    } else if (login == SMA_LOGIN_FATAL) {
        feishu_tell_scope(feishu, error.text);
    } else { /* asking twice does no harm */
        sma_fetch_role_retry(job, error.retry_after_ms > 0 ? (uint32_t)error.retry_after_ms : 0);
        return;
    }
    sma_fetch_role(job, role);
}

static struct sma_call *ask_role(void *user, struct sma_fetch_job *job,
                                 const struct sma_route *route, uint8_t *role)
{
    struct feishu *feishu = user;
    uint64_t now_ns = sma_ctx_now(feishu->ctx);
    bool is_private = sma_str_is_equal(route->chat_type, SMA_STR("p2p")); /* a press says no type */
    if (is_private || route->user_id.len == 0 || route->chat_id.len == 0)
        return NULL;
    for (size_t i = 0; i < FEISHU_ROLE_COUNT_MAX; i++)
        if (feishu->roles[i].until_ns > now_ns && is_known(&feishu->roles[i], route)) {
            *role = feishu->roles[i].role;
            return NULL;
        }
    struct sma_buf path;
    sma_buf_init(&path, 4096);
    feishu_put_chat_path(&path, route->chat_id, route->user_id);
    struct sma_call *call = NULL;
    if (path.err == SMA_ERR_OK)
        call = sma_call_start(feishu->base.calls,
                              &(struct sma_call_options){.method = "GET",
                                                         .path = sma_buf_str(&path),
                                                         .may_repeat = true,
                                                         .total_ms = SMA_FETCH_LOOKUP_MS,
                                                         .done = on_chat,
                                                         .user = job});
    sma_buf_fini(&path);
    return call;
}

const struct sma_fetch_ops feishu_fetch_ops = {
    .shape = &feishu_file_shape,
    .start = start_fetch,
    .look = feishu_look_up,
    .ask_role = ask_role,
    .ask_profile = feishu_ask_profile,
};
