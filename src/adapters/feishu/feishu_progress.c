/*
 * feishu_progress.c — that something is going on: a run that lasts shows one card, changed while
 * the text is written, and the card becomes the answer.
 *
 * A card does not go away by itself, so it is written down before it is asked for
 * (.ship/.cache/feishu/progress.json) and crossed out when it is gone. A card whose run delivers
 * something else, or nothing, is deleted; one that a crash left is taken up by its run when that
 * goes on, else deleted. Which part a card became is written down before it
 * becomes it: repeated after a crash, the part changes the same card and is not sent again.
 * Everything else here may be lost.
 */
#include "feishu_priv.h"

#include "adapters/common/answers.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define CARD_FILE FEISHU_CACHE_FOLDER "progress.json"
#define CARD_FILE_BYTES_MAX (256 * 1024)
#define PATH_BYTES_MAX 4096
#define FIRST_MS 2000     /* a shorter run shows nothing */
#define CHANGE_MS 1200    /* between two changes; the platform allows five a second */
#define CALL_MS 5000      /* a delivery waits at most this long for the card */
#define FINISHED_MS 10000 /* after the run, for its delivery to come */
#define LEFT_S 90         /* after a restart, for the run to go on */
#define SILENT_S 300      /* a run that says nothing for so long is over */
#define UUID_S 3000       /* how long the platform knows a uuid, with a margin */
#define KEEP_S 120        /* a card that became a part: until nobody repeats the part */
#define FAILURE_COUNT_MAX 5
#define TEXT_BYTES_MAX (64 * 1024)

enum card_state
{
    CARD_FREE,
    CARD_RUNNING,  /* the run goes on; due_ns = next change */
    CARD_WAITING,  /* the run is over, or was before a crash; due_ns = then delete */
    CARD_DELETING, /* due_ns = next try */
    CARD_BECAME,   /* a part; due_ns = then forget */
    CARD_NONE,     /* this run shows none */
};

/* -- written down ------------------------------------------------------------------------------ */
static bool card_path(const struct feishu *feishu, char path[PATH_BYTES_MAX])
{
    int len = snprintf(path, PATH_BYTES_MAX, "%s/" CARD_FILE, feishu->base.config->project_dir);
    return len > 0 && len < PATH_BYTES_MAX;
}

static void put_run(struct sma_buf *json, const struct feishu_card_run *run)
{
    sma_buf_put_text(json, json->len == 1 ? "\n{" : ",\n{");
    sma_buf_put_json_key(json, "seq");
    sma_buf_put_u64(json, run->seq);
    sma_buf_put_json_key(json, "chat");
    sma_buf_put_json_string(json, sma_str(run->chat_id));
    sma_buf_put_json_key(json, "reply");
    sma_buf_put_json_string(json, sma_str(run->reply_to));
    sma_buf_put_json_key(json, "thread");
    sma_buf_put_text(json, run->is_in_thread ? "1" : "0");
    sma_buf_put_json_key(json, "card");
    sma_buf_put_json_string(json, sma_str(run->card_id));
    sma_buf_put_json_key(json, "uuid");
    sma_buf_put_json_string(json, sma_str(run->uuid));
    sma_buf_put_json_key(json, "at");
    sma_buf_put_i64(json, run->made_wall_ms);
    sma_buf_put_json_key(json, "outbox");
    sma_buf_put_u64(json, run->outbox_id);
    sma_buf_put_char(json, '}');
}

/* @return whether what is in memory is on disk */
static bool save(struct feishu *feishu)
{
    char path[PATH_BYTES_MAX];
    const struct sma_sys *sys = sma_ctx_sys(feishu->ctx);
    struct sma_buf json;
    sma_buf_init(&json, CARD_FILE_BYTES_MAX);
    sma_buf_put_char(&json, '[');
    for (size_t i = 0; i < FEISHU_CARD_COUNT_MAX; i++)
        if (feishu->progress.runs[i].seq != 0 && feishu->progress.runs[i].made_wall_ms != 0)
            put_run(&json, &feishu->progress.runs[i]);
    sma_buf_put_text(&json, "]\n");
    char *slash = card_path(feishu, path) ? strrchr(path, '/') : NULL;
    enum sma_err err = slash == NULL ? SMA_ERR_TOOBIG : json.err;
    if (err == SMA_ERR_OK) {
        *slash = '\0';
        err = sma_sys_make_dirs(sys, path, NULL);
        *slash = '/';
    }
    if (err == SMA_ERR_OK)
        err = sma_sys_write_file_unsynced(sys, path, sma_buf_str(&json), 0600, NULL);
    sma_buf_fini(&json);
    if (err != SMA_ERR_OK && !feishu->progress.is_file_told)
        sma_ctx_log(feishu->ctx, SMA_LOG_WARN,
                    "feishu: cannot write " CARD_FILE " (%s): no progress is shown",
                    sma_err_text(err));
    feishu->progress.is_file_told = err != SMA_ERR_OK;
    return err == SMA_ERR_OK;
}

static void copy(char *to, size_t size, struct sma_str from)
{
    size_t len = from.len < size ? from.len : 0; /* too long: no id of the platform */
    if (len > 0)
        memcpy(to, from.ptr, len);
    to[len] = '\0';
}

static struct feishu_card_run *free_place(struct feishu *feishu)
{
    for (size_t i = 0; i < FEISHU_CARD_COUNT_MAX; i++)
        if (feishu->progress.runs[i].seq == 0)
            return &feishu->progress.runs[i];
    return NULL;
}

static void read_run(struct feishu *feishu, const json_t *item)
{
    struct feishu_card_run *run = free_place(feishu);
    int64_t seq = sma_json_int(item, "seq", 1, INT64_MAX, 0);
    if (run == NULL || seq == 0)
        return;
    *run = (struct feishu_card_run){
        .seq = (uint64_t)seq,
        .is_in_thread = sma_json_int(item, "thread", 0, 1, 0) == 1,
        .made_wall_ms = sma_json_int(item, "at", 1, INT64_MAX, 1),
        .outbox_id = (uint64_t)sma_json_int(item, "outbox", 0, INT64_MAX, 0),
        .heard_ns = sma_ctx_now(feishu->ctx),
    };
    copy(run->chat_id, sizeof run->chat_id, sma_json_str(item, "chat"));
    copy(run->reply_to, sizeof run->reply_to, sma_json_str(item, "reply"));
    copy(run->card_id, sizeof run->card_id, sma_json_str(item, "card"));
    copy(run->uuid, sizeof run->uuid, sma_json_str(item, "uuid"));
    if (run->uuid[0] == '\0') /* written by a version that had no other */
        snprintf(run->uuid, sizeof run->uuid, "sma-card-%llu", (unsigned long long)run->seq);
    run->state = run->outbox_id != 0 ? CARD_BECAME : CARD_WAITING;
    run->due_ns = run->heard_ns + (run->outbox_id != 0 ? UUID_S : LEFT_S) * SMA_NS_PER_S;
}

enum sma_err feishu_progress_open(struct feishu *feishu)
{
    char path[PATH_BYTES_MAX];
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len, index;
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    json_t *item;
    feishu->progress.runs = calloc(FEISHU_CARD_COUNT_MAX, sizeof *feishu->progress.runs);
    if (feishu->progress.runs == NULL)
        return SMA_ERR_NOMEM;
    if (!card_path(feishu, path) ||
        sma_sys_read_file(sma_ctx_sys(feishu->ctx), path, CARD_FILE_BYTES_MAX, &bytes, &len,
                          NULL) != SMA_ERR_OK ||
        sma_json_load((struct sma_str){bytes, len}, &root) != SMA_ERR_OK)
        return SMA_ERR_OK; /* nothing was left */
    json_array_foreach(root, index, item) read_run(feishu, item);
    return SMA_ERR_OK;
}

/* -- runs -------------------------------------------------------------------------------------- */
static struct feishu_card_run *find_run(struct feishu *feishu, uint64_t seq)
{
    for (size_t i = 0; i < FEISHU_CARD_COUNT_MAX; i++)
        if (feishu->progress.runs[i].seq == seq && seq != 0)
            return &feishu->progress.runs[i];
    return NULL;
}

/* Crossed out with the next writing: until then a restart would only look for a card that is
 * gone. */
static void forget_run(struct feishu_card_run *run)
{
    sma_call_cancel(run->call);
    sma_msg_destroy(run->last);
    *run = (struct feishu_card_run){0};
}

static void go_on(struct feishu_card_run *run, enum card_state state, uint64_t due_ns)
{
    run->state = (uint8_t)state;
    run->due_ns = due_ns;
    if (state != CARD_RUNNING) {
        sma_msg_destroy(run->last);
        run->last = NULL;
    }
}

/* What has no card is done with; a card that nobody wants is deleted. */
static void abandon(struct feishu_card_run *run, uint64_t now_ns)
{
    if (run->made_wall_ms == 0)
        go_on(run, CARD_NONE, now_ns + SILENT_S * SMA_NS_PER_S);
    else
        go_on(run, CARD_DELETING, now_ns);
}

static struct feishu_target target_of(const struct feishu_card_run *run)
{
    return (struct feishu_target){.chat_id = sma_str(run->chat_id),
                                  .reply_to = sma_str(run->reply_to),
                                  .is_in_thread = run->is_in_thread};
}

/* A request has ended: when to go on. A run that is over keeps the time it has. */
static void rest_until(struct feishu_card_run *run, uint64_t running_ns, uint64_t deleting_ns)
{
    if (run->state == CARD_RUNNING)
        run->due_ns = running_ns;
    else if (run->state == CARD_DELETING)
        run->due_ns = deleting_ns;
}

/* -- the card's requests ----------------------------------------------------------------------- */
static void note_failure(struct feishu *feishu, struct feishu_card_run *run,
                         const struct feishu_outcome *outcome)
{
    uint64_t now_ns = sma_ctx_now(feishu->ctx);
    run->failure_count++;
    if (outcome->is_scope_missing)
        feishu_tell_scope(feishu, outcome->error);
    if (outcome->attempt_class == SMA_ATTEMPT_RETRY_AFTER)
        feishu->progress.hold_ns = now_ns + outcome->retry_after_ms * SMA_NS_PER_MS;
    uint64_t delay_ns =
        sma_adapter_backoff_ns(feishu->ctx, run->failure_count, FEISHU_BACKOFF_MAX_S);
    rest_until(run, now_ns + delay_ns, now_ns + delay_ns);
}

static void on_made(void *state, void *user, const struct sma_net_answer *answer)
{
    struct feishu *feishu = state;
    struct feishu_card_run *run = user;
    struct feishu_outcome outcome;
    uint64_t seq = run->seq, now_ns = sma_ctx_now(feishu->ctx);
    run->call = NULL;
    feishu_classify(answer, &outcome);
    bool is_elsewhere = feishu_is_elsewhere(&outcome, sma_str(run->chat_id));
    if (outcome.attempt_class == SMA_ATTEMPT_SENT && outcome.message_id[0] != '\0' &&
        !is_elsewhere) {
        copy(run->card_id, sizeof run->card_id, sma_str(outcome.message_id));
        run->failure_count = 0;
        (void)save(feishu); /* without it the uuid finds the card again */
        rest_until(run, now_ns + CHANGE_MS * SMA_NS_PER_MS, now_ns);
    } else if (outcome.attempt_class == SMA_ATTEMPT_GIVE_UP || is_elsewhere ||
               run->failure_count >= FAILURE_COUNT_MAX) {
        run->made_wall_ms = 0; /* there is no card, or none that can be found */
        if (outcome.is_scope_missing)
            feishu_tell_scope(feishu, outcome.error);
        (void)save(feishu); /* else the next life looks for it in vain */
        abandon(run, now_ns);
    } else {
        note_failure(feishu, run, &outcome); /* under the same uuid: there will be one card */
    }
    sma_sendings_go_on(&feishu->base.sendings, seq);
}

static void on_changed(void *state, void *user, const struct sma_net_answer *answer)
{
    struct feishu *feishu = state;
    struct feishu_card_run *run = user;
    struct feishu_outcome outcome;
    uint64_t seq = run->seq, now_ns = sma_ctx_now(feishu->ctx);
    run->call = NULL;
    feishu_classify(answer, &outcome);
    rest_until(run, now_ns + CHANGE_MS * SMA_NS_PER_MS, now_ns);
    if (outcome.attempt_class == SMA_ATTEMPT_GIVE_UP)
        abandon(run, now_ns);
    else if (outcome.attempt_class != SMA_ATTEMPT_SENT)
        note_failure(feishu, run, &outcome);
    sma_sendings_go_on(&feishu->base.sendings, seq);
}

static void on_deleted(void *state, void *user, const struct sma_net_answer *answer)
{
    struct feishu *feishu = state;
    struct feishu_card_run *run = user;
    struct feishu_outcome outcome;
    run->call = NULL;
    feishu_classify(answer, &outcome);
    bool may_pass =
        outcome.attempt_class != SMA_ATTEMPT_SENT && outcome.attempt_class != SMA_ATTEMPT_GIVE_UP;
    if (may_pass && run->failure_count < FAILURE_COUNT_MAX) {
        note_failure(feishu, run, &outcome);
        return;
    }
    if (outcome.attempt_class != SMA_ATTEMPT_SENT && !outcome.is_reply_gone)
        sma_ctx_log(feishu->ctx, SMA_LOG_WARN, "feishu: a card of progress stays: %s",
                    outcome.error);
    forget_run(run);
    (void)save(feishu);
}

static void start(struct feishu *feishu, struct feishu_card_run *run, const char *method,
                  const struct sma_buf *path, struct sma_buf *body, sma_call_fn *done)
{
    run->due_ns = UINT64_MAX;
    if (path->err == SMA_ERR_OK && body->err == SMA_ERR_OK)
        run->call =
            sma_call_start(feishu->base.calls, &(struct sma_call_options){.method = method,
                                                                          .path = sma_buf_str(path),
                                                                          .body = body,
                                                                          .may_repeat = true,
                                                                          .total_ms = CALL_MS,
                                                                          .done = done,
                                                                          .user = run});
    if (run->call == NULL)
        run->due_ns = sma_ctx_now(feishu->ctx) + SMA_NS_PER_S; /* out of memory */
}

static void put_text(struct sma_buf *text, struct sma_msg *last)
{
    const struct sma_progress *progress =
        last == NULL ? NULL : SMA_MSG_BODY(last, struct sma_progress);
    bool is_text =
        progress != NULL && progress->kind == SMA_PROGRESS_TEXT && progress->text.len > 0;
    bool is_tool =
        progress != NULL && progress->kind == SMA_PROGRESS_TOOL && progress->text.len > 0;
    if (is_text) {
        struct sma_str shown = progress->text;
        shown.len = sma_utf8_cut(shown, TEXT_BYTES_MAX / 2);
        sma_buf_put_str(text, shown);
        sma_buf_put_char(text, ' ');
    }
    sma_buf_put_text(text, "…");
    if (is_tool)
        sma_buf_printf(text, " `%.*s`", (int)sma_utf8_cut(progress->text, 100), progress->text.ptr);
}

/* POST under the run's own uuid: the first time it makes the card, repeated it finds it. */
static void make_card(struct feishu *feishu, struct feishu_card_run *run)
{
    if (run->made_wall_ms == 0) {
        run->made_wall_ms = sma_ctx_wall(feishu->ctx);
        if (!save(feishu)) {
            run->made_wall_ms = 0;
            abandon(run, sma_ctx_now(feishu->ctx));
            return;
        }
        SMA_CRASH_POINT("feishu.before_card");
    }
    struct feishu_target target = target_of(run);
    struct sma_buf text, path, body;
    sma_buf_init(&text, TEXT_BYTES_MAX);
    sma_buf_init(&path, 4096);
    sma_buf_init(&body, 256 * 1024);
    put_text(&text, run->last);
    feishu_put_send_path(&path, &target);
    feishu_put_card_message(&body, &target, &(struct feishu_card){.markdown = sma_buf_str(&text)},
                            sma_str(run->uuid));
    start(feishu, run, "POST", &path, &body, on_made);
    sma_buf_fini(&text);
    sma_buf_fini(&path);
    sma_buf_fini(&body);
}

static void change_card(struct feishu *feishu, struct feishu_card_run *run)
{
    struct sma_buf text, path, body;
    sma_buf_init(&text, TEXT_BYTES_MAX);
    sma_buf_init(&path, 1024);
    sma_buf_init(&body, 256 * 1024);
    put_text(&text, run->last);
    feishu_put_message_path(&path, sma_str(run->card_id));
    feishu_put_card_patch(&body, &(struct feishu_card){.markdown = sma_buf_str(&text)});
    sma_msg_destroy(run->last);
    run->last = NULL;
    start(feishu, run, "PATCH", &path, &body, on_changed);
    sma_buf_fini(&text);
    sma_buf_fini(&path);
    sma_buf_fini(&body);
}

static void delete_card(struct feishu *feishu, struct feishu_card_run *run)
{
    struct sma_buf path, body;
    if (run->card_id[0] == '\0') {
        int64_t age_ms = sma_ctx_wall(feishu->ctx) - run->made_wall_ms;
        if (age_ms >= 0 && age_ms < UUID_S * 1000)
            make_card(feishu, run); /* finds it, if it is there */
        else
            forget_run(run); /* by now this would make a second one */
        return;
    }
    sma_buf_init(&path, 1024);
    sma_buf_init(&body, 16);
    feishu_put_message_path(&path, sma_str(run->card_id));
    start(feishu, run, "DELETE", &path, &body, on_deleted);
    sma_buf_fini(&path);
    sma_buf_fini(&body);
}

/* -- time -------------------------------------------------------------------------------------- */
static void tick_running(struct feishu *feishu, struct feishu_card_run *run, uint64_t now_ns)
{
    if (now_ns - run->heard_ns > SILENT_S * SMA_NS_PER_S) {
        abandon(run, now_ns); /* the signal of its end was dropped */
        return;
    }
    run->due_ns = now_ns + SILENT_S * SMA_NS_PER_S;
    if (now_ns < feishu->progress.hold_ns)
        run->due_ns = feishu->progress.hold_ns;
    else if (run->card_id[0] == '\0')
        make_card(feishu, run);
    else if (run->last != NULL)
        change_card(feishu, run);
}

static void tick_run(struct feishu *feishu, struct feishu_card_run *run, uint64_t now_ns)
{
    switch ((enum card_state)run->state) {
    case CARD_RUNNING:
        tick_running(feishu, run, now_ns);
        return;
    case CARD_WAITING:
        abandon(run, now_ns);
        return;
    case CARD_DELETING:
        delete_card(feishu, run);
        return;
    case CARD_BECAME:
    case CARD_NONE:
    case CARD_FREE:
        forget_run(run);
        return;
    }
}

uint64_t feishu_progress_tick(struct feishu *feishu, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < FEISHU_CARD_COUNT_MAX; i++) {
        struct feishu_card_run *run = &feishu->progress.runs[i];
        if (run->seq != 0 && run->call == NULL && run->due_ns <= now_ns)
            tick_run(feishu, run, now_ns);
        if (run->seq != 0 && run->call == NULL && run->due_ns < next_ns)
            next_ns = run->due_ns;
    }
    return next_ns;
}

/* -- signals ----------------------------------------------------------------------------------- */
static bool shows_card(const struct feishu *feishu, const struct sma_route *route)
{
    uint8_t mode = feishu->settings.progress;
    bool is_private = sma_str_is_equal(route->chat_type, SMA_STR("p2p"));
    return mode == FEISHU_PROGRESS_CARD || (mode == FEISHU_PROGRESS_AUTO && is_private);
}

static struct feishu_card_run *open_run(struct feishu *feishu, const struct sma_progress *progress)
{
    struct feishu_target target = feishu_target_make(&progress->route, 0);
    struct feishu_card_run *run = free_place(feishu);
    if (run == NULL || target.chat_id.len == 0 || target.chat_id.len >= sizeof run->chat_id ||
        target.reply_to.len >= sizeof run->reply_to)
        return NULL;
    uint64_t now_ns = sma_ctx_now(feishu->ctx);
    *run = (struct feishu_card_run){.seq = progress->seq,
                                    .is_in_thread = target.is_in_thread,
                                    .state = CARD_RUNNING,
                                    .due_ns = now_ns + FIRST_MS * SMA_NS_PER_MS};
    copy(run->chat_id, sizeof run->chat_id, target.chat_id);
    copy(run->reply_to, sizeof run->reply_to, target.reply_to);
    /* Not of the run's number: those begin anew with every new state, and the platform would find
     * another's card. */
    snprintf(run->uuid, sizeof run->uuid, "sma-card-%016llx",
             (unsigned long long)sma_ctx_random(feishu->ctx));
    return run;
}

static void finish_run(struct feishu *feishu, uint64_t seq)
{
    struct feishu_card_run *run = find_run(feishu, seq);
    if (run == NULL || run->state == CARD_BECAME || run->state == CARD_DELETING)
        return;
    if (run->made_wall_ms == 0)
        forget_run(run);
    else
        go_on(run, CARD_WAITING, sma_ctx_now(feishu->ctx) + FINISHED_MS * SMA_NS_PER_MS);
}

void feishu_progress_take(struct feishu *feishu, struct sma_msg **msg)
{
    const struct sma_progress *progress = SMA_MSG_BODY(*msg, struct sma_progress);
    if (feishu->base.is_closed || progress->seq == 0)
        return;
    if (progress->kind == SMA_PROGRESS_FINISHED) {
        finish_run(feishu, progress->seq);
        return;
    }
    if (!shows_card(feishu, &progress->route))
        return;
    struct feishu_card_run *run = find_run(feishu, progress->seq);
    if (run == NULL)
        run = open_run(feishu, progress);
    if (run == NULL)
        return;
    uint64_t now_ns = sma_ctx_now(feishu->ctx);
    run->heard_ns = now_ns;
    if (run->state == CARD_WAITING) /* of the last life: its run goes on */
        go_on(run, CARD_RUNNING, now_ns + FIRST_MS * SMA_NS_PER_MS);
    if (run->state != CARD_RUNNING)
        return;
    bool has_waited = run->last == NULL && run->card_id[0] != '\0' && run->call == NULL;
    if (has_waited && run->due_ns > now_ns + CHANGE_MS * SMA_NS_PER_MS)
        run->due_ns = now_ns + CHANGE_MS * SMA_NS_PER_MS;
    sma_msg_destroy(run->last);
    run->last = SMA_TAKE(*msg);
}

/* -- the answer -------------------------------------------------------------------------------- */
static bool can_become(const struct feishu_card_run *run, const struct sma_attempt *attempt,
                       const struct feishu_part *part)
{
    return run->card_id[0] != '\0' && attempt->part == 0 &&
           (part->kind == FEISHU_PART_TEXT || part->kind == FEISHU_PART_CARD) &&
           sma_utf16_length(part->text) <= FEISHU_CARD_UNITS_MAX;
}

enum feishu_claim feishu_progress_claim(struct feishu *feishu, const struct sma_attempt *attempt,
                                        const struct feishu_part *part,
                                        char card_id[FEISHU_MESSAGE_ID_BYTES_MAX + 1])
{
    struct feishu_card_run *run = find_run(feishu, attempt->seq);
    uint64_t now_ns = sma_ctx_now(feishu->ctx);
    if (run == NULL || !sma_str_is_equal(attempt->route.chat_id, sma_str(run->chat_id)))
        return FEISHU_CLAIM_NONE; /* also what a run sends elsewhere */
    if (run->state == CARD_BECAME) {
        if (run->outbox_id != attempt->outbox_id || attempt->part != 0)
            return FEISHU_CLAIM_NONE;
        memcpy(card_id, run->card_id, sizeof run->card_id); /* once more the same */
        return FEISHU_CLAIM_CARD;
    }
    if (run->call != NULL && run->state != CARD_DELETING) {
        go_on(run, CARD_WAITING, UINT64_MAX);
        return FEISHU_CLAIM_WAIT;
    }
    bool is_free = run->state == CARD_RUNNING || run->state == CARD_WAITING;
    if (is_free && can_become(run, attempt, part)) {
        run->outbox_id = attempt->outbox_id;
        if (save(feishu)) {
            SMA_CRASH_POINT("feishu.after_claim");
            memcpy(card_id, run->card_id, sizeof run->card_id);
            go_on(run, CARD_BECAME, now_ns + KEEP_S * SMA_NS_PER_S);
            return FEISHU_CLAIM_CARD;
        }
        run->outbox_id = 0;
    }
    if (is_free)
        abandon(run, now_ns);
    sma_ctx_request_batch_end(feishu->ctx);
    return FEISHU_CLAIM_NONE;
}

void feishu_progress_disclaim(struct feishu *feishu, const struct sma_attempt *attempt)
{
    struct feishu_card_run *run = find_run(feishu, attempt->seq);
    if (run == NULL || run->state != CARD_BECAME || run->outbox_id != attempt->outbox_id)
        return;
    run->outbox_id = 0; /* repeated, the part is a message of its own under its uuid */
    go_on(run, CARD_DELETING, sma_ctx_now(feishu->ctx));
    sma_ctx_request_batch_end(feishu->ctx);
}

void feishu_progress_drop(struct feishu *feishu)
{
    for (size_t i = 0; feishu->progress.runs != NULL && i < FEISHU_CARD_COUNT_MAX; i++)
        if (feishu->progress.runs[i].seq != 0)
            forget_run(&feishu->progress.runs[i]); /* the file keeps what is to be taken up again */
}
