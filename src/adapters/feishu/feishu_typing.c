/*
 * feishu_typing.c — a sign of life in groups: while a run goes on, the person's message wears the
 * reaction "Typing". It is nobody's message, so it costs nothing of what a group may be sent.
 *
 * Nothing is written down. A run that a crash interrupted goes on with the next start, puts the
 * same reaction there again, which the platform answers with the one that is there, and takes it
 * away at its end. Without the right to reactions nothing is shown, and nothing else changes.
 */
#include "feishu_priv.h"

#include "adapters/common/answers.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdio.h>

#define FIRST_MS 2000 /* a shorter run shows nothing */
#define CALL_MS 5000
#define SILENT_S 300 /* a run that says nothing for so long is over */

enum typing_state
{
    TYPING_FREE,
    TYPING_WAITING, /* due_ns: then it is put there */
    TYPING_SHOWN,   /* due_ns: then it is taken away, unless the run has said something */
    TYPING_OVER,    /* to be taken away, when it is known which it is */
};

static void forget(struct feishu_typing *typing)
{
    sma_call_cancel(typing->call);
    *typing = (struct feishu_typing){0};
}

static struct feishu_typing *find(struct feishu *feishu, uint64_t seq)
{
    for (size_t i = 0; i < FEISHU_TYPING_COUNT_MAX; i++)
        if (feishu->typing[i].seq == seq)
            return &feishu->typing[i];
    return NULL;
}

/* -- requests ---------------------------------------------------------------------------------- */
static void ask(struct feishu *feishu, struct feishu_typing *typing, const char *method,
                sma_call_fn *done)
{
    struct sma_buf path, body;
    sma_buf_init(&path, 1024);
    sma_buf_init(&body, 256);
    feishu_put_reaction_path(&path, sma_str(typing->message_id));
    if (typing->reaction_id[0] == '\0') {
        feishu_put_reaction(&body, "Typing");
    } else {
        sma_buf_put_char(&path, '/');
        sma_buf_put_file_name(&path, sma_str(typing->reaction_id));
    }
    if (path.err == SMA_ERR_OK)
        typing->call = sma_call_start(
            feishu->base.calls,
            &(struct sma_call_options){.method = method,
                                       .path = sma_buf_str(&path),
                                       .body = typing->reaction_id[0] == '\0' ? &body : NULL,
                                       .may_repeat = true,
                                       .total_ms = CALL_MS,
                                       .done = done,
                                       .user = typing});
    sma_buf_fini(&path);
    sma_buf_fini(&body);
    if (typing->call == NULL)
        forget(typing); /* out of memory */
}

static void on_taken_away(void *state, void *user, const struct sma_net_answer *answer)
{
    struct feishu_typing *typing = user;
    (void)state;
    (void)answer; /* a sign that stays says less than another try costs */
    typing->call = NULL;
    forget(typing);
}

static void take_away(struct feishu *feishu, struct feishu_typing *typing)
{
    typing->state = TYPING_OVER;
    if (typing->call != NULL)
        return; /* its answer says which one to take away */
    if (typing->reaction_id[0] == '\0')
        forget(typing);
    else
        ask(feishu, typing, "DELETE", on_taken_away);
}

static void note_reaction(struct feishu_typing *typing, const struct sma_net_answer *answer)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    if (sma_json_load(answer->body, &root) != SMA_ERR_OK)
        return;
    struct sma_str id = sma_json_str(sma_json_get(root, "data"), "reaction_id");
    if (id.len > 0 && id.len < sizeof typing->reaction_id && memchr(id.ptr, '\0', id.len) == NULL) {
        memcpy(typing->reaction_id, id.ptr, id.len);
        typing->reaction_id[id.len] = '\0';
    }
}

static void on_shown(void *state, void *user, const struct sma_net_answer *answer)
{
    struct feishu *feishu = state;
    struct feishu_typing *typing = user;
    struct sma_answered outcome;
    bool is_over = typing->state == TYPING_OVER;
    typing->call = NULL;
    sma_verdict(&feishu_verdicts, NULL, answer, 0, &outcome);
    if (outcome.attempt_class == SMA_ATTEMPT_SENT)
        note_reaction(typing, answer);
    if ((outcome.mend & SMA_MEND_TELL_OWNER) != 0 && !feishu->has_no_typing)
        sma_platform_log(&feishu->base, SMA_LOG_INFO,
                         "no sign of life is shown in groups: the app has no right to reactions "
                         "(im:message.reactions:write_only)");
    feishu->has_no_typing |= (outcome.mend & SMA_MEND_TELL_OWNER) != 0;
    if (outcome.attempt_class == SMA_ATTEMPT_RETRY_AFTER)
        feishu->typing_hold_ns = sma_ctx_now(feishu->ctx) + outcome.retry_after_ms * SMA_NS_PER_MS;
    if (typing->reaction_id[0] == '\0')
        forget(typing);
    else if (is_over)
        take_away(feishu, typing);
}

/* -- signals and time -------------------------------------------------------------------------- */
static struct feishu_typing *open_typing(struct feishu *feishu, const struct sma_progress *progress)
{
    struct sma_str id = progress->route.message_id;
    struct feishu_typing *typing = find(feishu, 0);
    if (typing == NULL || id.len == 0 || id.len >= sizeof typing->message_id)
        return NULL;
    *typing = (struct feishu_typing){
        .seq = progress->seq,
        .state = TYPING_WAITING,
        .due_ns = sma_ctx_now(feishu->ctx) + FIRST_MS * SMA_NS_PER_MS,
    };
    snprintf(typing->message_id, sizeof typing->message_id, "%.*s", (int)id.len, id.ptr);
    return typing;
}

void feishu_typing_take(struct feishu *feishu, const struct sma_progress *progress)
{
    if (feishu->settings.progress != FEISHU_PROGRESS_AUTO || feishu->has_no_typing ||
        progress->seq == 0 || !feishu_is_group(&progress->route))
        return;
    struct feishu_typing *typing = find(feishu, progress->seq);
    if (progress->kind == SMA_PROGRESS_FINISHED) {
        if (typing != NULL)
            take_away(feishu, typing);
        return;
    }
    if (typing == NULL)
        typing = open_typing(feishu, progress);
    if (typing != NULL && typing->state == TYPING_SHOWN)
        typing->due_ns = sma_ctx_now(feishu->ctx) + SILENT_S * SMA_NS_PER_S;
}

uint64_t feishu_typing_tick(struct feishu *feishu, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < FEISHU_TYPING_COUNT_MAX; i++) {
        struct feishu_typing *typing = &feishu->typing[i];
        if (typing->seq == 0 || typing->state == TYPING_OVER)
            continue;
        if (typing->due_ns <= now_ns && typing->state == TYPING_SHOWN) {
            take_away(feishu, typing); /* the signal of its end was dropped */
            continue;
        }
        if (typing->due_ns <= now_ns && now_ns < feishu->typing_hold_ns) {
            typing->due_ns = feishu->typing_hold_ns;
        } else if (typing->due_ns <= now_ns) {
            typing->state = TYPING_SHOWN;
            typing->due_ns = now_ns + SILENT_S * SMA_NS_PER_S;
            ask(feishu, typing, "POST", on_shown);
        }
        if (typing->seq != 0 && typing->due_ns < next_ns)
            next_ns = typing->due_ns;
    }
    return next_ns;
}

void feishu_typing_drop(struct feishu *feishu)
{
    for (size_t i = 0; i < FEISHU_TYPING_COUNT_MAX; i++)
        if (feishu->typing[i].seq != 0)
            forget(&feishu->typing[i]);
}
