/*
 * telegram_progress.c — that something is going on: typing, and in private chats the text while it
 * is written.
 *
 * Everything here may be lost. A run is shown when it lasts; the first delivery of a run ends its
 * draft for good, so a late preview never covers the answer. A draft goes away by itself;
 * groups know none, there the text is streamed into a message (telegram_stream.c).
 */
#include "telegram_in.h"
#include "telegram_priv.h"

#include "sma/text.h"

#include <stdlib.h>

#define DRAFT_BYTES_MAX (64 * 1024)

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct telegram_run *find_run(struct telegram *telegram, uint64_t seq)
{
    for (size_t i = 0; i < telegram->run_count; i++)
        if (telegram->runs[i].seq == seq)
            return &telegram->runs[i];
    return NULL;
}

static void forget_run(struct telegram *telegram, struct telegram_run *run)
{
    sma_msg_destroy(run->last);
    *run = telegram->runs[--telegram->run_count];
}

/* -- requests ---------------------------------------------------------------------------------- */
/* Any trouble only means less of it. */
static void hold_for(struct telegram *telegram, const struct sma_answered *outcome)
{
    if (outcome->attempt_class == SMA_ATTEMPT_RETRY_AFTER)
        telegram->progress_hold_ns =
            sma_ctx_now(telegram->ctx) + outcome->retry_after_ms * SMA_NS_PER_MS;
}

static void on_shown(void *state, void *user, const struct sma_net_answer *answer)
{
    struct telegram *telegram = state;
    struct sma_answered outcome;
    (void)user;
    telegram->progress_call_count--;
    sma_verdict(&telegram_verdicts, NULL, answer, 0, &outcome);
    hold_for(telegram, &outcome);
}

static struct telegram_draft *find_draft(struct telegram *telegram, uint64_t seq)
{
    for (size_t i = 0; i < TELEGRAM_PROGRESS_COUNT_MAX; i++)
        if (telegram->drafts[i].seq == seq)
            return &telegram->drafts[i];
    return NULL;
}

/* A chat whose drafts are refused (TEXTDRAFT_PEER_INVALID, or in words nobody has seen) is not
 * asked again for an hour. */
static uint64_t chat_of(const struct sma_route *route)
{
    static const uint8_t key[16] = "telegram draft"; /* no secret: it only has to spread */
    return sma_siphash(key, route->chat_key.ptr, route->chat_key.len) | 1;
}

static void refuse_drafts(struct telegram *telegram, uint64_t chat)
{
    struct telegram_draftless *place =
        &telegram->draftless[telegram->draftless_next++ % TELEGRAM_DRAFTLESS_COUNT_MAX];
    *place = (struct telegram_draftless){chat, sma_ctx_now(telegram->ctx) +
                                                   TELEGRAM_DRAFTLESS_S * SMA_NS_PER_S};
}

static bool are_drafts_refused(const struct telegram *telegram, uint64_t chat)
{
    for (size_t i = 0; i < TELEGRAM_DRAFTLESS_COUNT_MAX; i++)
        if (telegram->draftless[i].chat == chat &&
            telegram->draftless[i].until_ns > sma_ctx_now(telegram->ctx))
            return true;
    return false;
}

static void on_draft_shown(void *state, void *user, const struct sma_net_answer *answer)
{
    struct telegram *telegram = state;
    struct sma_answered outcome;
    struct telegram_draft *place = user, draft = *place;
    *place = (struct telegram_draft){0};
    telegram->progress_call_count--;
    sma_verdict(&telegram_verdicts, NULL, answer, 0, &outcome);
    sma_sendings_go_on(&telegram->base.sendings, draft.seq);
    bool is_unknown = answer->end == SMA_NET_ANSWERED && answer->status == 404;
    bool is_refused = outcome.attempt_class == SMA_ATTEMPT_GIVE_UP &&
                      (outcome.mend & SMA_MEND_METHOD) == 0 && !is_unknown;
    if (is_refused)
        refuse_drafts(telegram, draft.chat);
    if ((outcome.mend & SMA_MEND_METHOD) == 0 && !is_unknown) {
        hold_for(telegram, &outcome);
        return;
    }
    if (!telegram->has_no_drafts)
        sma_platform_log(&telegram->base, SMA_LOG_INFO,
                         "this Bot API server knows no message drafts; answers appear when "
                         "they are whole");
    telegram->has_no_drafts = true;
}

static bool show(struct telegram *telegram, const char *method, struct sma_buf *body,
                 sma_call_fn *done, void *user)
{
    if (body->err != SMA_ERR_OK || telegram->progress_call_count >= TELEGRAM_PROGRESS_COUNT_MAX)
        return false;
    bool is_asked = sma_call_start(telegram->base.calls,
                                   &(struct sma_call_options){.method = "POST",
                                                              .path = sma_str(method),
                                                              .body = body,
                                                              .may_repeat = true,
                                                              .total_ms = TELEGRAM_TYPING_MS,
                                                              .done = done,
                                                              .user = user}) != NULL;
    telegram->progress_call_count += is_asked;
    return is_asked;
}

static void show_typing(struct telegram *telegram, const struct telegram_run *run)
{
    struct sma_buf body;
    sma_buf_init(&body, 4096);
    telegram_put_chat_action(&body, &SMA_MSG_BODY(run->last, struct sma_progress)->route, "typing");
    (void)show(telegram, "sendChatAction", &body, on_shown, NULL); /* the next one is 4 s away */
    sma_buf_fini(&body);
}

struct preview
{
    const struct sma_route *route;
    int64_t draft_id;
    struct sma_buf *body;
};

static void put_preview(void *user, struct sma_str part_bytes)
{
    struct preview *preview = user;
    struct telegram_part part;
    if (telegram_part_decode(part_bytes, &part) != SMA_ERR_OK || part.kind != TELEGRAM_PART_TEXT)
        return;
    telegram_put_draft(
        preview->body,
        &(struct telegram_send){.route = preview->route, .part = &part, .is_plain = true},
        preview->draft_id);
}

/* One at a time for a run: a second could arrive before the first. */
static void show_draft(struct telegram *telegram, const struct telegram_run *run)
{
    struct sma_buf body;
    struct telegram_draft *draft = find_draft(telegram, 0);
    if (draft == NULL || find_draft(telegram, run->seq) != NULL)
        return; /* the next text comes anyway */
    const struct sma_progress *text = SMA_MSG_BODY(run->last, struct sma_progress);
    sma_buf_init(&body, DRAFT_BYTES_MAX);
    struct preview preview = {.route = &text->route,
                              .draft_id = (int64_t)(run->seq % INT32_MAX) + 1, /* an int, never 0 */
                              .body = &body};
    if (telegram_render_preview(text->text, put_preview, &preview) == SMA_ERR_OK && body.len > 0 &&
        show(telegram, "sendMessageDraft", &body, on_draft_shown, draft))
        *draft = (struct telegram_draft){run->seq, run->chat};
    sma_buf_fini(&body);
}

/* -- time -------------------------------------------------------------------------------------- */
static bool has_drafts(const struct telegram *telegram, const struct telegram_run *run)
{
    return run->is_private && !run->is_over && !telegram->has_no_drafts &&
           !telegram->base.is_streaming_off &&
           telegram->settings.progress == TELEGRAM_PROGRESS_AUTO &&
           !are_drafts_refused(telegram, run->chat);
}

/* @return when this run is to be looked at again */
static uint64_t tick_run(struct telegram *telegram, struct telegram_run *run, uint64_t now_ns)
{
    bool is_held = now_ns < telegram->progress_hold_ns;
    if (run->draft_due_ns <= now_ns) {
        if (!is_held && has_drafts(telegram, run) && run->has_text) {
            show_draft(telegram, run);
            run->typing_due_ns =
                now_ns + TELEGRAM_TYPING_MS * SMA_NS_PER_MS; /* the draft says it as well */
        }
        run->draft_sent_ns = now_ns;
        run->draft_due_ns = now_ns + TELEGRAM_DRAFT_KEEP_MS * SMA_NS_PER_MS;
    }
    if (run->typing_due_ns <= now_ns) {
        if (!is_held)
            show_typing(telegram, run);
        run->typing_due_ns = now_ns + TELEGRAM_TYPING_MS * SMA_NS_PER_MS;
    }
    return least(run->typing_due_ns, run->draft_due_ns);
}

uint64_t telegram_progress_tick(struct telegram *telegram, uint64_t now_ns)
{
    if (telegram->run_count == 0)
        return telegram->progress_due_ns = UINT64_MAX;
    if (telegram->progress_due_ns > now_ns)
        return telegram->progress_due_ns;
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < telegram->run_count;) {
        struct telegram_run *run = &telegram->runs[i];
        if (now_ns - run->heard_ns > TELEGRAM_RUN_S * SMA_NS_PER_S) {
            forget_run(telegram, run); /* the signal of its end was dropped */
            continue;
        }
        next_ns = least(next_ns, tick_run(telegram, run, now_ns));
        i++;
    }
    return telegram->progress_due_ns = next_ns;
}

/* -- signals ----------------------------------------------------------------------------------- */
static struct telegram_run *open_run(struct telegram *telegram, const struct sma_progress *progress,
                                     uint64_t now_ns)
{
    struct telegram_run *run = find_run(telegram, progress->seq);
    if (run != NULL || telegram->run_count == TELEGRAM_RUN_COUNT_MAX)
        return run;
    run = &telegram->runs[telegram->run_count++];
    *run = (struct telegram_run){
        .chat = chat_of(&progress->route),
        .seq = progress->seq,
        .typing_due_ns = now_ns + TELEGRAM_TYPING_FIRST_MS * SMA_NS_PER_MS,
        .draft_due_ns = UINT64_MAX,
        .is_private = !telegram_is_group(&progress->route) &&
                      !sma_str_is_equal(progress->route.chat_type, SMA_STR(TELEGRAM_DIRECT)),
    };
    return run;
}

/* The latest text wins; it goes out when a second has passed since the last one. */
static void plan_draft(struct telegram_run *run, uint64_t now_ns)
{
    uint64_t due_ns = run->draft_sent_ns + TELEGRAM_DRAFT_MS * SMA_NS_PER_MS;
    if (run->draft_sent_ns == 0) /* a short run shows nothing at all */
        due_ns = least(run->typing_due_ns, now_ns + TELEGRAM_DRAFT_MS * SMA_NS_PER_MS);
    run->draft_due_ns = least(run->draft_due_ns, due_ns > now_ns ? due_ns : now_ns);
}

void telegram_progress_take(struct telegram *telegram, struct sma_msg **msg)
{
    const struct sma_progress *progress = SMA_MSG_BODY(*msg, struct sma_progress);
    uint64_t now_ns = sma_ctx_now(telegram->ctx);
    if (telegram->settings.progress == TELEGRAM_PROGRESS_OFF || telegram->base.is_closed)
        return;
    if (progress->kind == SMA_PROGRESS_FINISHED) {
        struct telegram_run *done = find_run(telegram, progress->seq);
        if (done != NULL)
            forget_run(telegram, done);
        return;
    }
    struct telegram_run *run = open_run(telegram, progress, now_ns);
    if (run == NULL)
        return;
    run->heard_ns = now_ns;
    bool is_draft = progress->kind == SMA_PROGRESS_TEXT && has_drafts(telegram, run);
    if (is_draft)
        plan_draft(run, now_ns);
    if (is_draft || run->last == NULL) {
        sma_msg_destroy(run->last);
        run->last = SMA_TAKE(*msg);
        run->has_text = is_draft;
    }
    telegram->progress_due_ns =
        least(telegram->progress_due_ns, least(run->typing_due_ns, run->draft_due_ns));
}

bool telegram_progress_note_attempt(struct telegram *telegram, uint64_t seq)
{
    struct telegram_run *run = find_run(telegram, seq);
    bool has_draft = seq != 0 && find_draft(telegram, seq) != NULL;
    if (run == NULL)
        return has_draft;
    run->is_over = true;
    run->has_text = false;
    run->draft_due_ns = UINT64_MAX;
    /* sending ends the typing on the screen; if the run goes on, it comes back */
    run->typing_due_ns = sma_ctx_now(telegram->ctx) + TELEGRAM_TYPING_MS * SMA_NS_PER_MS;
    return has_draft;
}

void telegram_progress_drop(struct telegram *telegram)
{
    while (telegram->run_count > 0)
        forget_run(telegram, &telegram->runs[0]);
}
