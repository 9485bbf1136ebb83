/* intake.c — see intake.h. */
#include "platform.h"

#include "answers.h"

#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define RESULT_BYTES_MAX 2048

/* One question. The ids of its origin stand in text, which most events do not need. */
struct sma_asked
{
    uint64_t ask_id;
    uint64_t press_due_ns; /* UINT64_MAX = no press, or it is answered */
    struct sma_origin origin;
    char *text;
    bool is_open;
};
/* Presses that are to be answered, oldest first. */
struct sma_presses
{
    struct sma_press line[SMA_PRESS_COUNT_MAX];
    size_t first, count, call_count;
};

static const struct sma_intake_ops *ops_of(const struct sma_intake *intake)
{
    return intake->platform->ops->intake;
}

static struct sma_asked *asked_at(const struct sma_intake *intake, size_t offset)
{
    return &intake->ring[(intake->first + offset) % ops_of(intake)->count_max];
}

enum sma_err sma_intake_init(struct sma_intake *intake, struct sma_platform *platform)
{
    const struct sma_intake_ops *ops = platform->ops->intake;
    *intake = (struct sma_intake){.platform = platform};
    intake->ring = calloc(ops->count_max, sizeof *intake->ring);
    if (ops->answer_press != NULL)
        intake->presses = calloc(1, sizeof *intake->presses);
    bool is_made = intake->ring != NULL && (ops->answer_press == NULL || intake->presses != NULL);
    return is_made ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

void sma_intake_drop(struct sma_intake *intake)
{
    for (size_t i = 0; i < intake->span; i++) {
        free(asked_at(intake, i)->text);
        *asked_at(intake, i) = (struct sma_asked){0};
    }
    intake->first = intake->span = intake->count = intake->press_count = 0;
}

void sma_intake_fini(struct sma_intake *intake)
{
    if (intake->ring != NULL)
        sma_intake_drop(intake);
    free(intake->ring);
    free(intake->presses);
    *intake = (struct sma_intake){0};
}

size_t sma_intake_count(const struct sma_intake *intake)
{
    return intake->count;
}

bool sma_intake_has_room(const struct sma_intake *intake)
{
    return intake->span < ops_of(intake)->count_max && !intake->platform->is_intake_off;
}

bool sma_intake_is_roomy(const struct sma_intake *intake)
{
    return intake->span <= ops_of(intake)->count_max / 2 && !intake->platform->is_intake_off;
}

/* -- buttons ----------------------------------------------------------------------------------- */
static void answer_presses(struct sma_intake *intake)
{
    struct sma_presses *presses = intake->presses;
    while (presses->count > 0 && presses->call_count < SMA_PRESS_CALL_COUNT_MAX) {
        const struct sma_press *press = &presses->line[presses->first];
        presses->first = (presses->first + 1) % SMA_PRESS_COUNT_MAX;
        presses->count--;
        /* without memory the wheel turns until the client gives up: nothing is lost */
        presses->call_count += ops_of(intake)->answer_press(intake->platform, press);
    }
}

void sma_press_answered(struct sma_intake *intake)
{
    SMA_ASSERT(intake->presses->call_count > 0);
    intake->presses->call_count--;
    answer_presses(intake);
}

void sma_press_answer(struct sma_intake *intake, struct sma_str id, struct sma_str text,
                      enum sma_verdict verdict)
{
    struct sma_presses *presses = intake->presses;
    if (presses == NULL || id.len == 0 || id.len >= SMA_PRESS_ID_BYTES_MAX)
        return;
    if (presses->count == SMA_PRESS_COUNT_MAX) {
        presses->first = (presses->first + 1) % SMA_PRESS_COUNT_MAX;
        presses->count--;
    }
    struct sma_press *press =
        &presses->line[(presses->first + presses->count) % SMA_PRESS_COUNT_MAX];
    snprintf(press->id, sizeof press->id, "%.*s", (int)id.len, id.ptr);
    text.len = sma_utf8_cut(text, SMA_PRESS_TEXT_BYTES_MAX);
    snprintf(press->text, sizeof press->text, "%.*s", (int)text.len, text.len == 0 ? "" : text.ptr);
    press->verdict = (uint8_t)verdict;
    presses->count++;
    answer_presses(intake);
}

static void end_press(struct sma_intake *intake, struct sma_asked *asked)
{
    asked->press_due_ns = UINT64_MAX;
    intake->press_count--;
}

uint64_t sma_intake_tick(struct sma_intake *intake, uint64_t now_ns)
{
    uint64_t next_ns = sma_reason_tick(&intake->reasons, intake->platform->ctx);
    for (size_t i = 0; i < intake->span && intake->press_count > 0; i++) {
        struct sma_asked *asked = asked_at(intake, i);
        if (!asked->is_open)
            continue;
        if (asked->press_due_ns <= now_ns) {
            end_press(intake, asked);
            sma_press_answer(intake, asked->origin.press_id, SMA_STR(""), SMA_VERDICT_ACCEPTED);
        }
        next_ns = sma_platform_earlier(next_ns, asked->press_due_ns);
    }
    return next_ns;
}

/* -- to the store ------------------------------------------------------------------------------ */
/* The origin's slices are the caller's: what is needed later is kept. A press whose id is too long
 * is not answered. */
static SMA_CHECKED enum sma_err keep_origin(struct sma_asked *asked,
                                            const struct sma_origin *origin)
{
    bool is_long = origin->press_id.len >= SMA_PRESS_ID_BYTES_MAX;
    struct sma_str id = is_long ? SMA_STR("") : origin->press_id, stub = origin->stub;
    *asked = (struct sma_asked){.press_due_ns = UINT64_MAX, .origin = *origin};
    asked->origin.press_id = asked->origin.stub = SMA_STR("");
    if (id.len + stub.len == 0)
        return SMA_ERR_OK;
    asked->text = malloc(id.len + stub.len);
    if (asked->text == NULL)
        return SMA_ERR_NOMEM;
    if (id.len > 0)
        memcpy(asked->text, id.ptr, id.len);
    if (stub.len > 0)
        memcpy(asked->text + id.len, stub.ptr, stub.len);
    asked->origin.press_id = (struct sma_str){asked->text, id.len};
    asked->origin.stub = (struct sma_str){asked->text + id.len, stub.len};
    return SMA_ERR_OK;
}

enum sma_err sma_intake_ask(struct sma_intake *intake, const struct sma_ingress *ingress,
                            const struct sma_origin *origin)
{
    struct sma_ctx *ctx = intake->platform->ctx;
    if (!sma_intake_has_room(intake))
        return SMA_ERR_FULL;
    struct sma_asked asked;
    SMA_TRY(keep_origin(&asked, origin));
    SMA_AUTO(sma_freep) char *text = asked.text;
    SMA_AUTO(sma_msg_destroyp) struct sma_msg *msg = sma_adapter_make_ingress(ctx, ingress);
    if (msg == NULL)
        return SMA_ERR_NOMEM;
    sma_platform_crash_point(intake->platform, "before_ask");
    SMA_TRY(sma_ctx_ask(ctx, SMA_ACTOR_STORE, &msg, 0, &asked.ask_id));
    asked.is_open = true;
    if (asked.origin.press_id.len > 0 && intake->presses != NULL) {
        asked.press_due_ns = sma_ctx_now(ctx) + ops_of(intake)->press_late_ms * SMA_NS_PER_MS;
        intake->press_count++;
    }
    *asked_at(intake, intake->span) = asked;
    text = NULL; /* the ring's from here on */
    intake->span++;
    intake->count++;
    return SMA_ERR_OK;
}

/* "The bot does not answer": the log says why, and so does the counter. */
static void say_ignored(struct sma_intake *intake, const struct sma_platform_event *event)
{
    struct sma_platform *platform = intake->platform;
    const char *more;
    enum sma_reason reason = sma_reason_of_why(event->why, &more);
    sma_ctx_log(platform->ctx, SMA_LOG_DEBUG, "%s: event %.*s ignored: %s", platform->home.name,
                (int)event->type.len, event->type.len == 0 ? "" : event->type.ptr, event->why);
    sma_reason_say(&intake->reasons, platform->ctx,
                   &(struct sma_unanswered){.reason = reason,
                                            .platform = sma_str(platform->home.name),
                                            .chat_key = event->chat_key,
                                            .user_id = event->user_id,
                                            .message_id = event->message_id,
                                            .more = more});
}

static void say_no_room(struct sma_intake *intake, const struct sma_ingress *in)
{
    struct sma_platform *platform = intake->platform;
    sma_reason_say(&intake->reasons, platform->ctx,
                   &(struct sma_unanswered){.reason = SMA_REASON_NO_ROOM,
                                            .platform = sma_str(platform->home.name),
                                            .chat_key = in->route.chat_key,
                                            .user_id = in->route.user_id,
                                            .message_id = in->event_key});
    if (sma_adapter_is_worth_telling(++intake->full_count))
        sma_ctx_log(platform->ctx, SMA_LOG_WARN,
                    "%s: no room for an event (%u so far); the platform brings it again",
                    platform->home.name, intake->full_count);
}

/* -- one gesture, several messages ------------------------------------------------------------- */
static struct sma_paste *paste_of(struct sma_intake *intake, const struct sma_route *route)
{
    static const uint8_t key[16] = "pieces of pastes"; /* no secret: it only has to spread */
    char who[256];
    int len = snprintf(who, sizeof who, "%.*s/%.*s", (int)route->chat_key.len, route->chat_key.ptr,
                       (int)route->user_id.len, route->user_id.ptr);
    uint64_t hash = sma_siphash(key, who, len < (int)sizeof who ? (size_t)len : sizeof who - 1) | 1;
    for (size_t i = 0; i < SMA_PASTE_COUNT_MAX; i++)
        if (intake->pastes[i].who == hash)
            return &intake->pastes[i];
    struct sma_paste *place = &intake->pastes[intake->paste_next];
    intake->paste_next = (intake->paste_next + 1) % SMA_PASTE_COUNT_MAX;
    *place = (struct sma_paste){.who = hash, .addressed = SMA_ADDRESSED_NONE};
    return place;
}

/* A text behind one that was as long as texts can be, of the same author, at once: it goes on with
 * it, so both have one key, like the pieces of an album; so does what comes with something that is
 * forwarded, but as a message of its own. Other short messages wait for nothing. */
static void join_paste(struct sma_intake *intake, struct sma_ingress *ingress)
{
    const struct sma_route *route = &ingress->route;
    bool is_text = ingress->kind == SMA_EVENT_MESSAGE && ingress->group_key.len == 0 &&
                   (ingress->preparation.len == 0 || ingress->is_whole || ingress->is_forward) &&
                   ingress->sent_ms > 0 && !ingress->is_record_only && route->user_id.len > 0;
    if (!is_text)
        return;
    bool is_forward = ingress->is_forward;
    bool is_long = is_forward || sma_utf16_length(ingress->text) >= SMA_PASTE_UNITS_MIN;
    struct sma_paste *paste = paste_of(intake, route);
    int64_t id = 0, gap_ms = ingress->sent_ms - paste->sent_ms;
    bool has_id = sma_parse_i64(ingress->event_key, 1, INT64_MAX, &id) == SMA_ERR_OK;
    bool follows = !has_id || (id > paste->id && id - paste->id <= SMA_PASTE_ID_GAP_MAX);
    bool goes_on =
        paste->is_long && follows && gap_ms >= 0 && gap_ms <= SMA_PASTE_GAP_MS &&
        (!is_forward || paste->is_forward) && /* a cut text has nothing forwarded in it */
        !ingress->is_reply; /* that is about another message, and may be consent */
    /* Clients send the words first and what is forwarded behind them: these wait for nothing. */
    ingress->is_behind = is_forward && !goes_on && follows && gap_ms >= 0 &&
                         gap_ms <= SMA_PASTE_GAP_MS && paste->addressed != SMA_ADDRESSED_NONE;
    if (ingress->is_behind && ingress->addressed == SMA_ADDRESSED_NONE)
        ingress->addressed = paste->addressed;
    if (!ingress->is_behind)
        paste->addressed = is_long ? SMA_ADDRESSED_NONE : ingress->addressed;
    paste->is_forward = goes_on ? paste->is_forward : is_forward;
    is_long = is_long && !ingress->is_behind;
    if (!goes_on && is_long)
        snprintf(paste->key, sizeof paste->key, "%s%llx.%llx",
                 is_forward ? SMA_GROUP_KEY_FORWARD : SMA_GROUP_KEY_PASTE,
                 (unsigned long long)(paste->who & 0xffffffff),
                 (unsigned long long)ingress->sent_ms);
    if (goes_on || is_long)
        ingress->group_key = sma_str(paste->key);
    paste->is_long = is_long;
    paste->sent_ms = ingress->sent_ms;
    paste->id = id;
}

enum sma_took sma_intake_take(struct sma_intake *intake, const struct sma_platform_event *event,
                              const struct sma_origin *origin)
{
    struct sma_platform *platform = intake->platform;
    sma_adapter_health_event(&platform->health);
    if (event->ingress == NULL) {
        say_ignored(intake, event);
        sma_press_answer(intake, origin->press_id, SMA_STR(""), SMA_VERDICT_ACCEPTED);
        return SMA_TOOK_FINISHED;
    }
    if (platform->is_intake_off)
        return SMA_TOOK_NOT;
    struct sma_ingress ingress = *event->ingress;
    join_paste(intake, &ingress);
    if (sma_intake_ask(intake, &ingress, origin) == SMA_ERR_OK)
        return SMA_TOOK_ASKED;
    say_no_room(intake, event->ingress);
    return SMA_TOOK_NOT;
}

/* -- verdicts ---------------------------------------------------------------------------------- */
static struct sma_asked *find(const struct sma_intake *intake, uint64_t ask_id)
{
    for (size_t i = 0; i < intake->span; i++)
        if (asked_at(intake, i)->is_open && asked_at(intake, i)->ask_id == ask_id)
            return asked_at(intake, i);
    return NULL;
}

/* Before it is settled: settling may ask again. */
static struct sma_asked take_out(struct sma_intake *intake, struct sma_asked *asked)
{
    struct sma_asked taken = *asked;
    *asked = (struct sma_asked){0};
    intake->count--;
    if (taken.press_due_ns != UINT64_MAX)
        intake->press_count--;
    while (intake->span > 0 && !asked_at(intake, 0)->is_open) {
        intake->first = (intake->first + 1) % ops_of(intake)->count_max;
        intake->span--;
    }
    return taken;
}

static void settle(struct sma_intake *intake, const struct sma_asked *asked,
                   const struct sma_accepted *accepted)
{
    struct sma_platform *platform = intake->platform;
    const struct sma_intake_ops *ops = ops_of(intake);
    const struct sma_origin *origin = &asked->origin;
    struct sma_accepted word = *accepted;
    if (ops->judge != NULL)
        ops->judge(platform, origin, &word);
    /* refused: it comes again */
    if (asked->press_due_ns != UINT64_MAX && word.verdict != SMA_VERDICT_REFUSED)
        sma_press_answer(intake, origin->press_id, word.notice, (enum sma_verdict)word.verdict);
    struct sma_buf result;
    sma_buf_init(&result, RESULT_BYTES_MAX);
    if (origin->is_press && ops->put_result != NULL)
        ops->put_result(platform, origin, &word, &result);
    if (result.err != SMA_ERR_OK)
        sma_buf_clear(&result);
    if (origin->slot != NULL)
        sma_webhook_settle(&platform->webhooks, origin->slot, &word, sma_buf_str(&result));
    else if (!origin->is_nobody)
        ops->settle(platform, origin, &word, sma_buf_str(&result));
    sma_buf_fini(&result);
}

void sma_intake_on_accepted(struct sma_intake *intake, struct sma_msg *msg)
{
    struct sma_asked *asked = find(intake, msg->ask_id);
    if (asked == NULL)
        return;
    struct sma_asked taken = take_out(intake, asked);
    sma_platform_crash_point(intake->platform, "after_accepted");
    settle(intake, &taken, SMA_MSG_BODY(msg, struct sma_accepted));
    free(taken.text);
    if (ops_of(intake)->note_room != NULL)
        ops_of(intake)->note_room(intake->platform);
    sma_platform_note_drained(intake->platform);
}
