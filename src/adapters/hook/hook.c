/*
 * hook.c — the adapter `hooks`: a run's end, sent to whoever ship.json names. See sma/hooks.h.
 *
 * An attempt is one POST of the stored event, signed anew (the time is part of the signature),
 * under the id of its delivery, which stays the same however often it is tried and over restarts:
 * the receiver's key against doubles. 2xx is taken. 400, 410, 413, 415 and 422 refuse this event
 * for good. Anything else (no connection, no answer, 5xx, 429, also 401 and 404, which the owner
 * may mend) is tried again, later and later, until the event is a day old: the dispatcher keeps
 * that time, the store the row. No redirect is followed: an address that the owner did not write is
 * never asked.
 */
#include "adapters/common/answers.h"
#include "hook_priv.h"
#include "sign.h"
#include "sma/links.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define MAGIC 0x484f4f4bu
#define ANSWER_BYTES_MAX 65536 /* more is not read; an answer means nothing but its status */
#define SHOWN_BYTES 80         /* of what a refusal says */

static enum sma_err create(const struct sma_config *config, const struct sma_config_adapter *block,
                           void **ret_state, struct sma_error *error)
{
    (void)block; /* what there is stands under `hooks` */
    struct hooks *hooks = calloc(1, sizeof *hooks);
    if (hooks == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "hooks: out of memory");
    hooks->magic = MAGIC;
    hooks->config = config;
    if (sma_proxy_parse(sma_str(config->proxy == NULL ? "" : config->proxy), &hooks->proxy) !=
        SMA_ERR_OK) {
        free(hooks);
        return sma_fail(error, SMA_ERR_BADINPUT, "ship.json: proxy is no proxy that hooks can use");
    }
    *ret_state = hooks;
    return SMA_ERR_OK;
}

static void destroy(void *state)
{
    struct hooks *hooks = state;
    if (hooks == NULL)
        return;
    SMA_ASSERT(hooks->magic == MAGIC);
    explicit_bzero(&hooks->proxy, sizeof hooks->proxy);
    hooks->magic = 0;
    free(hooks);
}

static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct hooks *hooks = state;
    hooks->ctx = ctx;
    SMA_TRY(sma_net_open(ctx, &hooks->net, error));
    sma_net_use_proxy(hooks->net, &hooks->proxy);
    sma_link_via("hooks", hooks->proxy.name);
    sma_link_up("hooks", sma_ctx_wall(ctx));
    return SMA_ERR_OK;
}

/* -- the answer -------------------------------------------------------------------------------- */
static void release(struct hook_attempt *attempt)
{
    sma_msg_destroy(attempt->msg);
    attempt->msg = NULL;
    attempt->request = NULL;
}

static void answer(struct hook_attempt *attempt, const struct sma_attempt_result *result)
{
    sma_adapter_answer_attempt(attempt->hooks->ctx, attempt->msg, result);
    release(attempt);
}

static void end(struct hook_attempt *attempt, enum sma_attempt_class attempt_class,
                const char *error)
{
    answer(attempt, &(struct sma_attempt_result){.attempt_class = (uint8_t)attempt_class,
                                                 .error = sma_str(error)});
}

static bool is_refusal(int status)
{
    return status == 400 || status == 410 || status == 413 || status == 415 || status == 422;
}

/* "HTTP 422: no such customer", from a body that may hold anything. */
static void put_error(char text[HOOK_ERROR_BYTES], const struct sma_net_answer *net)
{
    struct sma_str body = net->body;
    if (net->status == 0) {
        (void)snprintf(text, HOOK_ERROR_BYTES, "%s", net->error);
        return;
    }
    int len = snprintf(text, HOOK_ERROR_BYTES, "HTTP %d", net->status);
    body.len = sma_utf8_cut(body, SHOWN_BYTES);
    if (body.len > 0 && sma_utf8_is_valid(body))
        len +=
            snprintf(text + len, HOOK_ERROR_BYTES - (size_t)len, ": %.*s", (int)body.len, body.ptr);
    for (int i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            text[i] = ' ';
}

static void on_answer(void *user, const struct sma_net_answer *net)
{
    struct hook_attempt *attempt = user;
    struct hooks *hooks = attempt->hooks;
    char error[HOOK_ERROR_BYTES];
    attempt->request = NULL;
    SMA_CRASH_POINT("hooks.after_send");
    if (net->status >= 200 && net->status < 300) {
        hook_note_taken(hooks, attempt->index);
        end(attempt, SMA_ATTEMPT_SENT, "");
        return;
    }
    put_error(error, net);
    if (is_refusal(net->status)) {
        hook_note_refused(hooks, attempt->index, error);
        end(attempt, SMA_ATTEMPT_GIVE_UP, error);
        return;
    }
    uint32_t wait_ms = hook_note_failed(hooks, attempt->index, net->retry_after_ms, error);
    answer(attempt, &(struct sma_attempt_result){.attempt_class = SMA_ATTEMPT_RETRY_AFTER,
                                                 .is_chat_only = true,
                                                 .retry_after_ms = wait_ms,
                                                 .error = sma_str(error)});
}

/* -- the question ------------------------------------------------------------------------------ */
static SMA_CHECKED enum sma_err ask(struct hook_attempt *attempt, const struct sma_hook *hook,
                                    const struct sma_attempt *asked)
{
    struct hooks *hooks = attempt->hooks;
    const struct hook_event event = {.id = asked->idempotency_key,
                                     .body = asked->part_bytes,
                                     .seconds = sma_ctx_wall(hooks->ctx) / 1000};
    char signature[HOOK_SIGNATURE_BYTES], id[SMA_ID_BYTES_MAX + 16], time[48], signed_as[96];
    SMA_TRY(hook_sign(hook->secret, &event, signature));
    (void)snprintf(id, sizeof id, "webhook-id: %.*s", (int)event.id.len, event.id.ptr);
    (void)snprintf(time, sizeof time, "webhook-timestamp: %lld", (long long)event.seconds);
    (void)snprintf(signed_as, sizeof signed_as, "webhook-signature: %s", signature);
    const char *const headers[] = {"Content-Type: application/json", id, time, signed_as};
    const struct sma_net_ask net = {.method = "POST",
                                    .url = hook->url,
                                    .headers = headers,
                                    .header_count = SMA_COUNT_OF(headers),
                                    .body = asked->part_bytes,
                                    .total_ms = SMA_HOOK_ATTEMPT_MS,
                                    .answer_bytes_max = ANSWER_BYTES_MAX,
                                    .may_repeat = true,
                                    .done = on_answer,
                                    .user = attempt};
    SMA_CRASH_POINT("hooks.before_send");
    return sma_net_ask(hooks->net, &net, &attempt->request);
}

static size_t find_hook(const struct hooks *hooks, struct sma_str name)
{
    size_t i = 0;
    while (i < hooks->config->hook_count &&
           !sma_str_is_equal(sma_str(hooks->config->hooks[i].name), name))
        i++;
    return i;
}

static void on_attempt(struct hooks *hooks, struct sma_msg **msg)
{
    size_t i = 0;
    while (i < SMA_ASK_ATTEMPT_COUNT_MAX && hooks->attempts[i].msg != NULL)
        i++;
    SMA_ASSERT(i < SMA_ASK_ATTEMPT_COUNT_MAX); /* as many places as the edge has questions */
    struct hook_attempt *attempt = &hooks->attempts[i];
    const struct sma_attempt *asked = SMA_MSG_BODY(*msg, struct sma_attempt);
    *attempt = (struct hook_attempt){.hooks = hooks, .msg = SMA_TAKE(*msg)};
    attempt->index = find_hook(hooks, asked->route.chat_id);
    if (hooks->is_closed) {
        end(attempt, SMA_ATTEMPT_RETRY, "the service is stopping");
        return;
    }
    if (attempt->index == hooks->config->hook_count) {
        end(attempt, SMA_ATTEMPT_GIVE_UP, "ship.json has no hook of this name any more");
        return;
    }
    enum sma_err err = ask(attempt, &hooks->config->hooks[attempt->index], asked);
    if (err != SMA_ERR_OK)
        end(attempt, SMA_ATTEMPT_RETRY,
            err == SMA_ERR_NOMEM ? "out of memory" : "the request could not be made");
}

/* -- life -------------------------------------------------------------------------------------- */
/* What is open now stays unanswered: nobody listens any more. */
static void close_all(struct hooks *hooks)
{
    if (hooks->is_closed)
        return;
    hooks->is_closed = true;
    for (size_t i = 0; i < SMA_ASK_ATTEMPT_COUNT_MAX; i++) {
        struct hook_attempt *attempt = &hooks->attempts[i];
        if (attempt->msg == NULL)
            continue;
        if (attempt->request != NULL)
            sma_net_cancel(attempt->request);
        release(attempt);
    }
    sma_net_close(hooks->net);
    hooks->net = NULL;
}

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct hooks *hooks = state;
    SMA_ASSERT(hooks->magic == MAGIC);
    switch ((*msg)->kind) {
    case SMA_MSG_ATTEMPT:
        on_attempt(hooks, msg);
        return;
    case SMA_MSG_LIFE: {
        enum sma_phase phase = SMA_MSG_BODY(*msg, struct sma_life)->phase;
        if (phase == SMA_PHASE_CLOSE)
            close_all(hooks);
        sma_ctx_life_done(ctx, phase);
        return;
    }
    case SMA_MSG_PROGRESS: /* nobody looks */
    case SMA_MSG_RELOAD:   /* `hooks` counts from the next start */
        return;
    default:
        sma_ctx_log(ctx, SMA_LOG_ERROR, "hooks: unexpected message %s",
                    sma_msg_kind_name((*msg)->kind));
    }
}

static void stop(void *state, struct sma_ctx *ctx)
{
    (void)ctx;
    close_all(state);
}

/* The event is one part, as it is stored. */
static enum sma_err render(const struct sma_deliver *row, sma_part_fn *each, void *user)
{
    if (row->text.len > 0)
        each(user, row->text);
    return SMA_ERR_OK;
}

static const struct sma_actor_ops actor_ops = {
    .name = "hooks", .is_on_loop = true, .start = start, .handle = handle, .stop = stop};

const struct sma_adapter_ops sma_hook_adapter_ops = {
    .name = "hooks",
    .channel = SMA_HOOK_CHANNEL,
    .actor = &actor_ops,
    .capabilities = {.has_idempotency = true},
    .renderer_version = 1,
    .create = create,
    .destroy = destroy,
    .render = render,
};
