/* stream.c — see stream.h. */
#include "stream.h"

#include "answers.h"

#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define CALL_MS 5000       /* a delivery waits at most this long for a stream's request */
#define FINISHED_MS 10000  /* after the run, for its delivery to come */
#define SILENT_S 300       /* a run that says nothing for so long is over */
#define FOUND_S 3000       /* how long a platform knows a key, with a margin */
#define SENT_S 120         /* after the part was sent: until its receipt is certainly stored */
#define OPEN_S (24 * 3600) /* while the part may be tried again */
#define FAILURE_COUNT_MAX 5
#define BACKOFF_MAX_S 60
#define PATH_BYTES_MAX 4096
#define BODY_BYTES_MAX (256 * 1024)

static const struct sma_stream_ops *ops_of(const struct sma_stream *stream)
{
    return stream->streams->home.ops;
}

static uint64_t now_of(const struct sma_stream *stream)
{
    return sma_ctx_now(stream->streams->home.ctx);
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/* The crash loops' points are named "<platform>.<what>". */
static void crash_point(const struct sma_stream *stream, const char *what)
{
    if (!__builtin_expect(sma_crash_is_armed, 0))
        return;
    char point[64];
    snprintf(point, sizeof point, "%s.%s", stream->streams->home.name, what);
    SMA_CRASH_POINT(point);
}

/* -- places ------------------------------------------------------------------------------------ */
void sma_stream_copy(char *to, size_t size, struct sma_str from)
{
    bool is_whole = from.len < size && (from.len == 0 || memchr(from.ptr, '\0', from.len) == NULL);
    size_t len = is_whole ? from.len : 0; /* else it is no id of the platform */
    if (len > 0)
        memcpy(to, from.ptr, len);
    to[len] = '\0';
}

/* Crossed out with the next writing: until then a restart would only look for a message that is
 * gone. */
static void forget(struct sma_stream *stream)
{
    struct sma_streams *streams = stream->streams;
    sma_call_cancel(stream->call);
    sma_buf_fini(&stream->text);
    sma_buf_fini(&stream->shown);
    *stream = (struct sma_stream){0};
    streams->count--;
}

/* The one that takes the run's words. */
static struct sma_stream *find_open(struct sma_streams *streams, uint64_t seq)
{
    for (size_t i = 0; streams->count > 0 && i < SMA_STREAM_COUNT_MAX; i++)
        if (streams->places[i].seq == seq && seq != 0 &&
            streams->places[i].state != SMA_STREAM_CLAIMED)
            return &streams->places[i];
    return NULL;
}

static struct sma_stream *find_claimed(struct sma_streams *streams, uint64_t outbox_id)
{
    for (size_t i = 0; streams->count > 0 && i < SMA_STREAM_COUNT_MAX; i++)
        if (streams->places[i].state == SMA_STREAM_CLAIMED &&
            streams->places[i].outbox_id == outbox_id && outbox_id != 0)
            return &streams->places[i];
    return NULL;
}

/* Parts that are sent give up their place first. */
static struct sma_stream *free_place(struct sma_streams *streams)
{
    struct sma_stream *sent = NULL;
    for (size_t i = 0; i < SMA_STREAM_COUNT_MAX; i++) {
        struct sma_stream *stream = &streams->places[i];
        if (stream->seq == 0)
            return stream;
        if (stream->is_settled && (sent == NULL || stream->due_ns < sent->due_ns))
            sent = stream;
    }
    if (sent != NULL)
        forget(sent);
    return sent;
}

static void go_on(struct sma_stream *stream, enum sma_stream_state state, uint64_t due_ns)
{
    stream->state = (uint8_t)state;
    stream->due_ns = due_ns;
    if (state != SMA_STREAM_RUNNING)
        stream->is_news = false;
}

static void show_none(struct sma_stream *stream)
{
    go_on(stream, SMA_STREAM_NONE, now_of(stream) + SILENT_S * SMA_NS_PER_S);
}

/* What nobody has seen is done with; a message that nobody wants ends. */
static void abandon(struct sma_stream *stream)
{
    if (stream->made_wall_ms == 0)
        show_none(stream);
    else
        go_on(stream, SMA_STREAM_ENDING, now_of(stream));
}

/* A request has ended: when to go on. A stream whose run is over keeps the time it has. */
static void rest(struct sma_stream *stream, uint64_t delay_ns)
{
    uint64_t now_ns = now_of(stream);
    stream->ready_ns = now_ns + delay_ns;
    if (stream->state == SMA_STREAM_RUNNING)
        stream->due_ns = stream->is_news || stream->handle[0] == '\0'
                             ? stream->ready_ns
                             : stream->heard_ns + SILENT_S * SMA_NS_PER_S;
    else if (stream->state == SMA_STREAM_ENDING)
        stream->due_ns = stream->ready_ns;
}

/* -- answers ----------------------------------------------------------------------------------- */
static void note_failure(struct sma_stream *stream, const struct sma_stream_outcome *outcome)
{
    struct sma_streams *streams = stream->streams;
    bool is_limit = outcome->attempt_class == SMA_ATTEMPT_RETRY_AFTER;
    uint64_t delay_ns = outcome->retry_after_ms * SMA_NS_PER_MS;
    if (is_limit && outcome->is_for_all)
        streams->hold_ns = now_of(stream) + delay_ns;
    stream->failure_count++;
    if (!is_limit)
        delay_ns =
            sma_adapter_backoff_ns(stream->streams->home.ctx, stream->failure_count, BACKOFF_MAX_S);
    stream->is_news = true; /* what was refused is not shown */
    rest(stream, delay_ns);
}

static void on_prepared(struct sma_stream *stream, const struct sma_stream_outcome *outcome)
{
    bool may_pass =
        outcome->attempt_class != SMA_ATTEMPT_GIVE_UP && stream->failure_count < FAILURE_COUNT_MAX;
    if (stream->entity[0] != '\0')
        rest(stream, 0);
    else if (may_pass)
        note_failure(stream, outcome);
    else
        abandon(stream);
}

/* There is no message, or none that can be found. */
static void lose(struct sma_stream *stream, const struct sma_stream_outcome *outcome)
{
    if (outcome->attempt_class == SMA_ATTEMPT_UNKNOWN)
        sma_ctx_log(stream->streams->home.ctx, SMA_LOG_WARN,
                    "%s: the beginning of a streamed answer may stay in a chat: %s",
                    stream->streams->home.name, outcome->error);
    stream->made_wall_ms = 0;
    (void)sma_stream_file_save(stream->streams); /* else the next life looks for it in vain */
    abandon(stream);
}

static void on_made(struct sma_stream *stream, const struct sma_stream_outcome *outcome)
{
    const struct sma_stream_ops *ops = ops_of(stream);
    bool may_be_there =
        outcome->attempt_class == SMA_ATTEMPT_UNKNOWN || outcome->attempt_class == SMA_ATTEMPT_SENT;
    if (stream->handle[0] != '\0') {
        stream->failure_count = 0;
        (void)sma_stream_file_save(stream->streams); /* without it the key finds it again */
        rest(stream, ops->change_ms * SMA_NS_PER_MS);
    } else if (outcome->attempt_class == SMA_ATTEMPT_GIVE_UP ||
               stream->failure_count >= FAILURE_COUNT_MAX ||
               (may_be_there && !ops->is_idempotent)) {
        lose(stream, outcome);
    } else {
        note_failure(stream, outcome); /* under the same key: there will be one message */
    }
}

static void on_changed(struct sma_stream *stream, const struct sma_stream_outcome *outcome)
{
    rest(stream, ops_of(stream)->change_ms * SMA_NS_PER_MS);
    if (outcome->attempt_class == SMA_ATTEMPT_SENT)
        stream->failure_count = 0;
    else if (outcome->attempt_class == SMA_ATTEMPT_GIVE_UP)
        abandon(stream);
    else
        note_failure(stream, outcome);
}

/* The run may still be writing: it shows no second one. */
static void on_ended(struct sma_stream *stream, const struct sma_stream_outcome *outcome)
{
    bool is_done = outcome->attempt_class == SMA_ATTEMPT_SENT;
    bool may_pass = !is_done && outcome->attempt_class != SMA_ATTEMPT_GIVE_UP;
    if (may_pass && stream->failure_count < FAILURE_COUNT_MAX) {
        note_failure(stream, outcome);
        return;
    }
    if (!is_done)
        sma_ctx_log(stream->streams->home.ctx, SMA_LOG_WARN, "%s: a streamed message stays: %s",
                    stream->streams->home.name, outcome->error);
    stream->made_wall_ms = 0;
    (void)sma_stream_file_save(stream->streams);
    show_none(stream);
}

static void on_answer(void *state, void *user, const struct sma_net_answer *answer)
{
    struct sma_stream *stream = user;
    struct sma_stream_outcome outcome = {0};
    uint64_t seq = stream->seq;
    (void)state;
    stream->call = NULL;
    stream->rested_ns = now_of(stream);
    if (stream->step == SMA_STREAM_MAKE)
        crash_point(stream, "after_stream");
    const struct sma_stream_home *home = &stream->streams->home;
    ops_of(stream)->read(stream, (enum sma_stream_step)stream->step, answer, &outcome);
    if (stream->step == SMA_STREAM_PREPARE)
        on_prepared(stream, &outcome);
    else if (stream->step == SMA_STREAM_MAKE)
        on_made(stream, &outcome);
    else if (stream->step == SMA_STREAM_CHANGE)
        on_changed(stream, &outcome);
    else
        on_ended(stream, &outcome);
    home->rested(home->state, seq);
}

/* -- requests ---------------------------------------------------------------------------------- */
static void start(struct sma_stream *stream, const char *method, const struct sma_buf *path,
                  struct sma_buf *body)
{
    stream->due_ns = UINT64_MAX;
    if (path->err == SMA_ERR_OK && body->err == SMA_ERR_OK)
        stream->call =
            sma_call_start(stream->streams->home.calls,
                           &(struct sma_call_options){.method = method,
                                                      .path = sma_buf_str(path),
                                                      .body = body->len == 0 ? NULL : body,
                                                      .may_repeat = ops_of(stream)->is_idempotent,
                                                      .total_ms = CALL_MS,
                                                      .done = on_answer,
                                                      .user = stream});
    if (stream->call == NULL)
        stream->due_ns = now_of(stream) + SMA_NS_PER_S; /* out of memory */
}

/* @return whether something was asked, or would have been but for memory */
static bool ask(struct sma_stream *stream, enum sma_stream_step step)
{
    struct sma_buf path, body;
    sma_buf_init(&path, PATH_BYTES_MAX);
    sma_buf_init(&body, BODY_BYTES_MAX);
    bool was_news = stream->is_news;
    stream->is_news = false;
    const char *method = ops_of(stream)->put(stream, step, &path, &body);
    if (method == NULL)
        stream->is_news = was_news;
    if (method != NULL) {
        stream->step = (uint8_t)step;
        start(stream, method, &path, &body);
    }
    sma_buf_fini(&path);
    sma_buf_fini(&body);
    return method != NULL;
}

/* @return whether it may ask now; else due_ns says when. Over all streams no more than so many a
 * second: deliveries need the rest. */
static bool take_slot(struct sma_stream *stream, uint64_t now_ns)
{
    struct sma_streams *streams = stream->streams;
    const struct sma_stream_ops *ops = ops_of(stream);
    uint64_t at_ns = streams->hold_ns > streams->slot_ns ? streams->hold_ns : streams->slot_ns;
    if (at_ns <= now_ns && ops->pace != NULL)
        at_ns = ops->pace(streams->home.state, stream, now_ns);
    if (at_ns > now_ns) {
        stream->due_ns = at_ns;
        return false;
    }
    streams->slot_ns = now_ns + SMA_NS_PER_S / ops->per_second;
    streams->turn = (size_t)(stream - streams->places) + 1; /* the others before it again */
    return true;
}

/* The first time it makes the message; repeated, where a key is known, it finds it. */
static void make(struct sma_stream *stream)
{
    if (stream->made_wall_ms == 0) {
        stream->made_wall_ms = sma_ctx_wall(stream->streams->home.ctx);
        stream->made_ns = now_of(stream);
        if (!sma_stream_file_save(stream->streams)) {
            stream->made_wall_ms = 0;
            abandon(stream);
            return;
        }
        crash_point(stream, "before_stream");
    }
    if (!ask(stream, SMA_STREAM_MAKE)) {
        stream->made_wall_ms = 0;
        abandon(stream);
    }
}

static void change(struct sma_stream *stream, uint64_t now_ns)
{
    bool is_written = true;
    if (ops_of(stream)->is_counted) {
        stream->number++;
        is_written = sma_stream_file_save(stream->streams);
    }
    bool is_asked = is_written && ask(stream, SMA_STREAM_CHANGE);
    if (!is_asked && ops_of(stream)->is_counted)
        stream->number--;
    if (!is_asked) {
        stream->is_news = false;
        stream->due_ns = now_ns + SILENT_S * SMA_NS_PER_S;
    }
}

/* -- time -------------------------------------------------------------------------------------- */
static void tick_running(struct sma_stream *stream, uint64_t now_ns)
{
    if (now_ns - stream->heard_ns >= SILENT_S * SMA_NS_PER_S) {
        abandon(stream); /* the signal of its end was dropped */
        return;
    }
    stream->due_ns = stream->heard_ns + SILENT_S * SMA_NS_PER_S;
    bool is_made = stream->handle[0] != '\0';
    if ((is_made && !stream->is_news) || !take_slot(stream, now_ns))
        return;
    if (is_made)
        change(stream, now_ns);
    else if (stream->made_wall_ms != 0 || !ask(stream, SMA_STREAM_PREPARE))
        make(stream);
}

static void end(struct sma_stream *stream)
{
    int64_t age_ms = sma_ctx_wall(stream->streams->home.ctx) - stream->made_wall_ms;
    bool may_be_found =
        ops_of(stream)->is_idempotent && age_ms >= 0 && age_ms < FOUND_S * INT64_C(1000);
    bool is_known = stream->handle[0] != '\0';
    if (!is_known && may_be_found)
        make(stream);
    else if (!is_known || !ask(stream, SMA_STREAM_END))
        forget(stream); /* by now a second one would be made; or nothing is to be done */
}

/* The attempt that waits for it goes on. */
static void let_go(struct sma_stream *stream, uint64_t now_ns)
{
    const struct sma_stream_home *home = &stream->streams->home;
    stream->is_awaited = false;
    stream->due_ns = now_ns + OPEN_S * SMA_NS_PER_S;
    home->rested(home->state, stream->seq);
}

static void tick_stream(struct sma_stream *stream, uint64_t now_ns)
{
    if (stream->is_awaited) {
        let_go(stream, now_ns);
        return;
    }
    switch ((enum sma_stream_state)stream->state) {
    case SMA_STREAM_RUNNING:
        tick_running(stream, now_ns);
        return;
    case SMA_STREAM_WAITING:
        abandon(stream);
        return;
    case SMA_STREAM_ENDING:
        end(stream);
        return;
    case SMA_STREAM_CLAIMED:
    case SMA_STREAM_NONE:
    case SMA_STREAM_FREE:
        forget(stream);
        return;
    }
}

uint64_t sma_streams_tick(struct sma_streams *streams, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    size_t first = streams->turn;
    for (size_t i = 0; streams->count > 0 && i < SMA_STREAM_COUNT_MAX; i++) {
        struct sma_stream *stream = &streams->places[(first + i) % SMA_STREAM_COUNT_MAX];
        if (stream->seq != 0 && stream->call == NULL && stream->due_ns <= now_ns)
            tick_stream(stream, now_ns);
        if (stream->seq != 0 && stream->call == NULL)
            next_ns = earlier(next_ns, stream->due_ns);
    }
    return next_ns;
}

/* -- signals ----------------------------------------------------------------------------------- */
static struct sma_stream *open_stream(struct sma_streams *streams,
                                      const struct sma_progress *progress)
{
    const struct sma_route *route = &progress->route;
    struct sma_stream *stream = free_place(streams);
    if (stream == NULL)
        return NULL;
    uint64_t now_ns = sma_ctx_now(streams->home.ctx);
    uint64_t first_ns = now_ns + streams->home.ops->first_ms * SMA_NS_PER_MS;
    *stream = (struct sma_stream){.streams = streams,
                                  .seq = progress->seq,
                                  .state = SMA_STREAM_RUNNING,
                                  .due_ns = first_ns,
                                  .ready_ns = first_ns};
    sma_buf_init(&stream->text, SMA_STREAM_TEXT_BYTES_MAX);
    sma_buf_init(&stream->shown, SMA_STREAM_TEXT_BYTES_MAX);
    SMA_STREAM_SET(stream->chat_id, route->chat_id);
    SMA_STREAM_SET(stream->chat_type, route->chat_type);
    SMA_STREAM_SET(stream->thread_id, route->thread_id);
    SMA_STREAM_SET(stream->message_id, route->message_id);
    /* Not of the run's number: those begin anew with every new state, and the platform would find
     * another's message. */
    snprintf(stream->key, sizeof stream->key, "sma-card-%016llx",
             (unsigned long long)sma_ctx_random(streams->home.ctx));
    streams->count++;
    bool is_whole = stream->chat_id[0] != '\0' &&
                    strlen(stream->thread_id) == route->thread_id.len &&
                    strlen(stream->message_id) == route->message_id.len;
    if (!is_whole)
        show_none(stream);
    return stream;
}

static void finish(struct sma_streams *streams, uint64_t seq)
{
    struct sma_stream *stream = find_open(streams, seq);
    if (stream == NULL || stream->state == SMA_STREAM_ENDING)
        return;
    if (stream->made_wall_ms == 0)
        forget(stream);
    else
        go_on(stream, SMA_STREAM_WAITING, now_of(stream) + FINISHED_MS * SMA_NS_PER_MS);
}

static void note_news(struct sma_stream *stream, const struct sma_progress *progress,
                      uint64_t now_ns)
{
    struct sma_str text = progress->text;
    text.len = sma_utf8_cut(text, SMA_STREAM_TEXT_BYTES_MAX);
    sma_buf_clear(&stream->text);
    sma_buf_put_str(&stream->text, text);
    stream->kind = progress->kind;
    stream->is_news = stream->text.err == SMA_ERR_OK;
    uint64_t ready_ns = stream->ready_ns > now_ns ? stream->ready_ns : now_ns;
    if (stream->call == NULL && stream->is_news)
        stream->due_ns = earlier(stream->due_ns, ready_ns);
}

void sma_streams_take(struct sma_streams *streams, const struct sma_progress *progress)
{
    if (streams->places == NULL || progress->seq == 0)
        return;
    if (progress->kind == SMA_PROGRESS_FINISHED) {
        finish(streams, progress->seq);
        return;
    }
    struct sma_stream *stream = find_open(streams, progress->seq);
    uint64_t now_ns = sma_ctx_now(streams->home.ctx);
    if (stream != NULL)
        stream->heard_ns = now_ns;
    if (stream != NULL && stream->state == SMA_STREAM_NONE)
        stream->due_ns = now_ns + SILENT_S * SMA_NS_PER_S;
    if (!streams->home.ops->shows(streams->home.state, progress))
        return;
    if (stream == NULL)
        stream = open_stream(streams, progress);
    if (stream == NULL)
        return;
    stream->heard_ns = now_ns;
    if (stream->state == SMA_STREAM_WAITING && stream->call == NULL) /* its run goes on */
        go_on(stream, SMA_STREAM_RUNNING, now_ns + streams->home.ops->first_ms * SMA_NS_PER_MS);
    if (stream->state == SMA_STREAM_RUNNING)
        note_news(stream, progress, now_ns);
}

/* -- the answer -------------------------------------------------------------------------------- */
static bool claim_now(struct sma_stream *stream, uint64_t outbox_id)
{
    stream->outbox_id = outbox_id;
    if (!sma_stream_file_save(stream->streams)) {
        stream->outbox_id = 0;
        return false;
    }
    crash_point(stream, "after_claim");
    go_on(stream, SMA_STREAM_CLAIMED, now_of(stream) + OPEN_S * SMA_NS_PER_S);
    return true;
}

/* What is delivered comes first: streams have that much less of the platform's rate. */
static void yield_to_attempt(struct sma_streams *streams)
{
    uint64_t now_ns = sma_ctx_now(streams->home.ctx);
    uint64_t from_ns = streams->slot_ns > now_ns ? streams->slot_ns : now_ns;
    if (streams->count > 0)
        streams->slot_ns = from_ns + SMA_NS_PER_S / streams->home.ops->per_second / 2;
}

/* A message is not changed twice faster than its platform takes it. */
static enum sma_stream_claim take_in_time(struct sma_stream *stream)
{
    uint64_t at_ns = stream->rested_ns + ops_of(stream)->rest_ms * SMA_NS_PER_MS;
    if (stream->rested_ns == 0 || at_ns <= now_of(stream))
        return SMA_STREAM_CLAIM_TAKEN;
    stream->is_awaited = true;
    stream->due_ns = at_ns;
    sma_ctx_request_batch_end(stream->streams->home.ctx);
    return SMA_STREAM_CLAIM_WAIT;
}

enum sma_stream_claim sma_streams_claim(struct sma_streams *streams,
                                        const struct sma_attempt *attempt, bool can_become)
{
    yield_to_attempt(streams);
    struct sma_stream *claimed = find_claimed(streams, attempt->outbox_id);
    if (claimed != NULL)
        return attempt->part == 0 ? take_in_time(claimed) : SMA_STREAM_CLAIM_NONE;
    struct sma_stream *stream = find_open(streams, attempt->seq);
    if (stream == NULL || !sma_str_is_equal(attempt->route.chat_id, sma_str(stream->chat_id)))
        return SMA_STREAM_CLAIM_NONE; /* also what a run sends elsewhere */
    if (stream->call != NULL && stream->step == SMA_STREAM_PREPARE) {
        forget(stream); /* nobody has seen anything */
        return SMA_STREAM_CLAIM_NONE;
    }
    if (stream->call != NULL && stream->state != SMA_STREAM_ENDING) {
        go_on(stream, SMA_STREAM_WAITING, UINT64_MAX);
        return SMA_STREAM_CLAIM_WAIT;
    }
    bool is_free = stream->state == SMA_STREAM_RUNNING || stream->state == SMA_STREAM_WAITING;
    /* A claim is written down before anything is sent: a repeat without one may stand there as a
     * message of its own, which its key finds again. As this one it would stand there twice. */
    can_become = can_become && !attempt->is_repeat && stream->handle[0] != '\0';
    if (is_free && can_become && attempt->part == 0 && claim_now(stream, attempt->outbox_id))
        return take_in_time(stream);
    if (is_free)
        abandon(stream);
    sma_ctx_request_batch_end(streams->home.ctx);
    return SMA_STREAM_CLAIM_NONE;
}

struct sma_stream *sma_streams_of(struct sma_streams *streams, const struct sma_attempt *attempt)
{
    return attempt->part == 0 ? find_claimed(streams, attempt->outbox_id) : NULL;
}

void sma_streams_disclaim(struct sma_streams *streams, const struct sma_attempt *attempt)
{
    struct sma_stream *stream = sma_streams_of(streams, attempt);
    if (stream == NULL)
        return;
    stream->outbox_id = 0; /* repeated, the part is a message of its own */
    stream->is_settled = stream->is_awaited = false;
    go_on(stream, SMA_STREAM_ENDING, now_of(stream));
    sma_ctx_request_batch_end(streams->home.ctx);
}

void sma_streams_drop_claim(struct sma_streams *streams, const struct sma_attempt *attempt)
{
    struct sma_stream *stream = sma_streams_of(streams, attempt);
    if (stream == NULL)
        return;
    stream->outbox_id = 0;
    stream->made_wall_ms = 0;
    stream->is_settled = stream->is_awaited = false;
    (void)sma_stream_file_save(streams);
    show_none(stream);
}

void sma_streams_settle(struct sma_streams *streams, const struct sma_attempt *attempt,
                        uint8_t attempt_class)
{
    struct sma_stream *stream = sma_streams_of(streams, attempt);
    if (stream == NULL)
        return;
    if (attempt_class == SMA_ATTEMPT_GIVE_UP) { /* the row has failed */
        sma_streams_disclaim(streams, attempt);
        return;
    }
    stream->is_settled = attempt_class == SMA_ATTEMPT_SENT;
    uint64_t keep_s = stream->is_settled ? SENT_S : OPEN_S;
    stream->due_ns = now_of(stream) + keep_s * SMA_NS_PER_S;
}

/* -- for the platforms ------------------------------------------------------------------------- */
struct sma_route sma_stream_route(const struct sma_stream *stream)
{
    return (struct sma_route){.chat_id = sma_str(stream->chat_id),
                              .chat_type = sma_str(stream->chat_type),
                              .thread_id = sma_str(stream->thread_id),
                              .message_id = sma_str(stream->message_id)};
}

struct first_part
{
    struct sma_buf *bytes;
    bool is_taken;
};

static void take_first(void *user, struct sma_str part_bytes)
{
    struct first_part *first = user;
    if (!first->is_taken)
        sma_buf_put_str(first->bytes, part_bytes);
    first->is_taken = true;
}

bool sma_stream_put_part(const struct sma_stream *stream,
                         enum sma_err (*render)(const struct sma_deliver *row, sma_part_fn *each,
                                                void *user),
                         struct sma_str text, struct sma_buf *part_bytes)
{
    struct first_part first = {.bytes = part_bytes};
    struct sma_deliver row = {.seq = stream->seq,
                              .route = sma_stream_route(stream),
                              .text = text,
                              .intent = SMA_INTENT_ASSISTANT_TEXT};
    return render(&row, take_first, &first) == SMA_ERR_OK && first.is_taken &&
           part_bytes->err == SMA_ERR_OK;
}

/* -- life -------------------------------------------------------------------------------------- */
enum sma_err sma_streams_open(struct sma_streams *streams, const struct sma_stream_home *home)
{
    *streams = (struct sma_streams){.home = *home};
    if (home->ops == NULL)
        return SMA_ERR_OK;
    streams->places = calloc(SMA_STREAM_COUNT_MAX, sizeof *streams->places);
    if (streams->places == NULL)
        return SMA_ERR_NOMEM;
    sma_stream_file_read(streams);
    return SMA_ERR_OK;
}

void sma_streams_close(struct sma_streams *streams)
{
    for (size_t i = 0; streams->count > 0 && i < SMA_STREAM_COUNT_MAX; i++)
        if (streams->places[i].seq != 0)
            forget(&streams->places[i]);
}

void sma_streams_fini(struct sma_streams *streams)
{
    free(streams->places);
    *streams = (struct sma_streams){0};
}
