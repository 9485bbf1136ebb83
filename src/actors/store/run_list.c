/*
 * run_list.c — messages and the runs that answer them, as a list: the answer to SMA_QUERY_RUNS, and
 * what an open one waits for. Made in slices (lists.h), newest first.
 *
 * Open ones are known from memory. Others are looked for among the newest LOOK_COUNT rows: what is
 * older has its place in the history.
 */
#include "consent.h"
#include "consent_priv.h"
#include "facts.h"
#include "intake.h"
#include "lists.h"
#include "map.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include "intake_priv.h"
#include "runtime/chat/state_read.h"
#include "sma/reasons.h"

#include <stdlib.h>

#define LOOK_COUNT 100000
#define SLICE_COUNT 200    /* heads of a slice, */
#define SLICE_RUN_COUNT 20 /* ... and whole rows */
#define RUN_COUNT_DEFAULT 50
#define RUN_COUNT_MAX 200

struct listing
{
    uint64_t *open; /* only these; NULL = all */
    uint32_t open_count;
    uint64_t at;     /* the next number to be looked at, downwards; 0 = none */
    uint64_t lowest; /* below it nothing is looked at */
    uint32_t chat_id;
    bool has_chat, is_empty;
    uint32_t count; /* given so far */
    uint64_t last;  /* number of the last one */
};

/* -- what it waits for ------------------------------------------------------------------------- */
static void put_waiting(struct sma_store *store, struct sma_buf *text,
                        const struct store_chat *chat, const struct sma_state_head *head)
{
    const struct store_approval *approval =
        chat == NULL ? NULL : sma_store_approval_of_chat(store, chat);
    if (sma_store_map_get(&store->intake->questions, head->seq) != NULL)
        sma_buf_put_text(text, "its platform: its files are fetched, or the role of its author is "
                               "asked");
    else if (approval != NULL)
        sma_buf_printf(text, "request %.6s of this chat, which people have to decide",
                       approval->id);
    else if (chat != NULL && chat->run != NULL)
        sma_buf_printf(text, "run %llu of this chat", (unsigned long long)chat->run->seq);
    else if (chat != NULL && chat->wait_count > 0)
        sma_buf_put_text(text, "a run of this chat, which waits for a model");
    else if (chat != NULL && chat->quiet.is_on)
        sma_buf_put_text(text, "a pause of its author (queue.mode collect)");
    else if (sma_store_run_counts(store).open >= (uint32_t)store->config->agent_concurrency)
        sma_buf_printf(text, "a free place: %u of %d runs are open (agent.concurrency)",
                       sma_store_run_counts(store).open, store->config->agent_concurrency);
    else
        sma_buf_put_text(text, "its turn");
}

void sma_store_put_waits(struct sma_store *store, struct sma_buf *json,
                         const struct sma_state_head *head)
{
    struct sma_state_chat *state = sma_state_chat_by_id(store->state, head->chat_id);
    const struct store_chat *chat = state == NULL ? NULL : state->user;
    uint64_t run = head->run_seq != 0 ? head->run_seq : head->seq;
    const struct store_approval *approval = sma_store_approval_of_run(store, run);
    struct sma_buf text;
    sma_buf_init(&text, 512);
    if (head->state == SMA_ROW_WAITING) {
        sma_buf_put_json_number(json, "position",
                                sma_queue_position(store->queue, head->chat_id, head->seq));
        put_waiting(store, &text, chat, head);
    } else if (head->state == SMA_ROW_PARKED && sma_store_is_waiting_run(store, run)) {
        sma_buf_put_text(&text, "a model: none can be reached now");
    } else if (head->state == SMA_ROW_PARKED && approval != NULL) {
        sma_buf_printf(&text, "request %.6s, which people have to decide", approval->id);
        sma_buf_put_json_member(json, "approvalId", sma_str(approval->id));
    }
    if (text.len > 0 && text.err == SMA_ERR_OK)
        sma_buf_put_json_member(json, "waitsFor", sma_buf_str(&text));
    sma_buf_fini(&text);
}

/* -- one of them ------------------------------------------------------------------------------- */
struct putting
{
    struct sma_store *store;
    struct sma_buf *json;
    const struct sma_state_head *head;
    int64_t accepted_ms;
    enum sma_reason why;
    bool has_result;
};

static void put_time(struct sma_buf *json, const char *key, int64_t wall_ms)
{
    if (wall_ms == 0)
        return;
    sma_buf_put_json_key(json, key);
    sma_buf_put_char(json, '"');
    sma_buf_put_iso_time(json, wall_ms);
    sma_buf_put_char(json, '"');
}

static enum sma_err put_row(void *user, const struct sma_state_message *message)
{
    struct putting *putting = user;
    struct sma_buf *json = putting->json;
    struct store_facts stored = {0};
    if (sma_store_facts_get(message->facts, &stored) != SMA_ERR_OK)
        stored = (struct store_facts){0}; /* a claim without facts: the rest is still true */
    putting->accepted_ms = stored.accepted_ms;
    putting->why = sma_reason_of_word(stored.why);
    sma_buf_put_json_member(json, "chatKey", message->chat->key);
    sma_buf_put_json_member(json, "platform", message->chat->channel);
    sma_buf_put_json_member(json, "messageId", message->event_key);
    sma_buf_put_json_member(json, "userId", message->user_id);
    if (stored.route.user_name.len > 0)
        sma_buf_put_json_member(json, "userName", stored.route.user_name);
    put_time(json, "acceptedAt", stored.accepted_ms);
    return SMA_ERR_OK; /* what does not fit is the list's matter */
}

static enum sma_err put_result(void *user, const struct sma_state_result *result)
{
    struct putting *putting = user;
    struct sma_buf *json = putting->json;
    putting->has_result = true;
    put_time(json, "endedAt", result->wall_ms);
    if (putting->accepted_ms != 0 && result->wall_ms >= putting->accepted_ms)
        sma_buf_put_json_number(json, "durationMs",
                                (uint64_t)(result->wall_ms - putting->accepted_ms));
    if (result->usage == NULL || sma_usage_is_empty(result->usage))
        return SMA_ERR_OK;
    sma_buf_put_json_key(json, "usage");
    sma_buf_put_char(json, '{');
    sma_store_put_usage_members(json, result->usage);
    sma_buf_put_char(json, '}');
    return SMA_ERR_OK;
}

static void put_reason(const struct putting *putting)
{
    uint8_t state = putting->head->state;
    bool is_refused = state == SMA_ROW_IGNORED || state == SMA_ROW_BUSY;
    if (state == SMA_ROW_GIVEN_UP)
        sma_buf_put_json_member(putting->json, "reason", SMA_STR("given_up"));
    else if (putting->why != SMA_REASON_NONE &&
             (is_refused || (!putting->has_result && !sma_row_is_open(state))))
        sma_buf_put_json_member(putting->json, "reason",
                                sma_str(sma_reason_text(putting->why)->word));
}

/* Of a row that is damaged what can be read is given. */
enum sma_err sma_store_put_run(struct sma_store *store, struct sma_buf *json,
                               const struct sma_state_head *head)
{
    struct putting putting = {.store = store, .json = json, .head = head};
    uint64_t run = head->run_seq != 0 ? head->run_seq : head->seq;
    sma_buf_printf(json, "{\"runId\":\"%llu\"", (unsigned long long)run);
    if (run != head->seq)
        sma_buf_put_json_number(json, "messageSeq", head->seq);
    sma_buf_put_json_member(json, "status", sma_str(sma_store_state_name(store, head, run)));
    enum sma_err err = sma_state_message_get(store->state, head->seq, put_row, &putting);
    if (err == SMA_ERR_OK)
        err = sma_state_result_get(store->state, run, put_result, &putting);
    put_reason(&putting);
    if (sma_row_is_open(head->state))
        sma_store_put_waits(store, json, head);
    sma_buf_put_char(json, '}');
    return err == SMA_ERR_NOTFOUND || sma_store_is_damage(store, err) ? SMA_ERR_OK : err;
}

/* -- which ones -------------------------------------------------------------------------------- */
static bool lets_through(const struct sma_store *store, unsigned filter,
                         const struct sma_state_head *head)
{
    bool is_done = head->state == SMA_ROW_DONE, is_open = sma_row_is_open(head->state);
    (void)store;
    switch (filter) {
    case SMA_RUNS_OPEN:
        return is_open;
    case SMA_RUNS_WAITING:
        return head->state == SMA_ROW_WAITING;
    case SMA_RUNS_PARKED:
        return head->state == SMA_ROW_PARKED;
    case SMA_RUNS_DONE:
        return is_done;
    case SMA_RUNS_CANCELLED:
        return head->state == SMA_ROW_CANCELLED;
    case SMA_RUNS_FAILED:
        return head->state == SMA_ROW_FAILED || head->state == SMA_ROW_GIVEN_UP ||
               head->state == SMA_ROW_BUSY;
    default:
        return true;
    }
}

static bool is_listed(const struct sma_store *store, const struct listing *own, unsigned filter,
                      const struct sma_state_head *head)
{
    bool is_message = head->kind == SMA_EVENT_MESSAGE || head->kind == SMA_EVENT_CONTROL;
    return head->state != SMA_ROW_LINE && is_message &&
           (!own->has_chat || head->chat_id == own->chat_id) && lets_through(store, filter, head);
}

static bool looks_at_open(unsigned filter)
{
    return filter == SMA_RUNS_OPEN || filter == SMA_RUNS_WAITING || filter == SMA_RUNS_PARKED;
}

static void begin_runs(struct sma_store *store, struct store_list *list)
{
    struct listing *own = list->own;
    const struct sma_query *asked = sma_store_list_asked(list);
    uint64_t next = sma_state_next_seq(store->state);
    sma_buf_put_text(&list->json, "{\"runs\":[");
    if (asked->chat_key.len > 0) {
        const struct sma_state_chat *chat = sma_state_chat_get(store->state, asked->chat_key);
        own->has_chat = true;
        own->is_empty = chat == NULL;
        own->chat_id = chat == NULL ? 0 : chat->id;
    }
    own->at = (asked->before != 0 && asked->before < next ? asked->before : next) - 1;
    own->lowest = own->at > LOOK_COUNT ? own->at - LOOK_COUNT : 1;
    if (!looks_at_open(asked->filter))
        return;
    own->open = calloc(sma_state_open_count(store->state) + 1, sizeof *own->open);
    sma_store_need(store, own->open != NULL);
    for (uint64_t seq = 0; (seq = sma_state_open_next(store->state, seq)) != 0;)
        if (seq <= own->at)
            own->open[own->open_count++] = seq;
}

/* 0 = there are no more. */
static uint64_t next_number(struct listing *own)
{
    if (own->is_empty)
        return 0;
    if (own->open != NULL)
        return own->open_count == 0 ? 0 : own->open[--own->open_count];
    return own->at < own->lowest ? 0 : own->at--;
}

static uint32_t count_max(const struct sma_query *asked)
{
    uint32_t wanted = asked->limit == 0 ? RUN_COUNT_DEFAULT : asked->limit;
    return wanted > RUN_COUNT_MAX ? RUN_COUNT_MAX : wanted;
}

static void put_end(struct store_list *list, bool has_more)
{
    const struct listing *own = list->own;
    sma_buf_put_char(&list->json, ']');
    if (has_more)
        sma_buf_printf(&list->json, ",\"next\":\"%llu\"", (unsigned long long)own->last);
    sma_buf_put_char(&list->json, '}');
}

/* false: it does not fit any more. */
static bool put_one(struct sma_store *store, struct store_list *list,
                    const struct sma_state_head *head)
{
    struct listing *own = list->own;
    size_t len = list->json.len;
    sma_buf_put_text(&list->json, own->count == 0 ? "" : ",");
    enum sma_err err = sma_store_put_run(store, &list->json, head);
    bool is_put = err == SMA_ERR_OK && list->json.err == SMA_ERR_OK &&
                  list->json.len + 64 < STORE_LIST_BYTES_MAX;
    if (!is_put) {
        list->json.len = len;
        list->json.err = SMA_ERR_OK;
        return false;
    }
    own->count++;
    own->last = head->seq;
    return true;
}

static bool put_runs(struct sma_store *store, struct store_list *list)
{
    struct listing *own = list->own;
    const struct sma_query *asked = sma_store_list_asked(list);
    uint32_t begun_count = own->count;
    for (uint32_t i = 0; i < SLICE_COUNT && own->count - begun_count < SLICE_RUN_COUNT; i++) {
        struct sma_state_head head;
        uint64_t seq = next_number(own);
        if (seq == 0) {
            put_end(list, false);
            return true;
        }
        if (sma_state_head_get(store->state, seq, &head) != SMA_ERR_OK ||
            !is_listed(store, own, asked->filter, &head))
            continue;
        if (own->count == count_max(asked) || !put_one(store, list, &head)) {
            put_end(list, true);
            return true;
        }
    }
    return false;
}

static void end_runs(struct store_list *list)
{
    free(((struct listing *)list->own)->open);
}

const struct store_list_kind sma_store_list_of_runs = {
    .own_bytes = sizeof(struct listing), .begin = begin_runs, .step = put_runs, .fini = end_runs};
