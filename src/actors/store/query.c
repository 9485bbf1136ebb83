/* Questions that change nothing: STATUS, CURSOR, HISTORY (in slices, so that no acknowledgement
 * waits; so FETCH, which goes on in fetch_again.c), SESSION, CONTACT. */
#include "query.h"
#include "batch_priv.h"
#include "budget.h"
#include "consent.h"
#include "intake.h"
#include "lists.h"
#include "map.h"
#include "outbox.h"
#include "people.h"
#include "platform_ask.h"
#include "profile.h"
#include "query_priv.h"
#include "record.h"
#include "runs.h"
#include "store.h"
#include "trouble.h"
#include "upkeep.h"

#include "runtime/chat/contacts_file.h"
#include "runtime/chat/state_asides.h"
#include "sma/health.h"

#include <stdio.h>
#include <stdlib.h>

#define STATUS_BYTES_MAX (8 * 1024 * 1024)
#define HISTORY_JSON_BYTES_MAX (8 * 1024 * 1024)
#define SEARCH_TIME_NS UINT64_C(2000000)
#define LIST_TIME_NS UINT64_C(4000000)

/* -- STATUS ------------------------------------------------------------------------------------ */
static void put_object(struct sma_buf *buf, const char *key)
{
    sma_buf_put_json_key(buf, key);
    sma_buf_put_char(buf, '{');
}

static void put_errors(struct sma_store *store, struct sma_buf *buf)
{
    sma_buf_put_json_key(buf, "lastErrors");
    sma_buf_put_char(buf, '[');
    uint32_t count = store->batch->error_count < STORE_ERROR_COUNT ? store->batch->error_count
                                                                   : STORE_ERROR_COUNT;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = (store->batch->error_count - 1 - i) % STORE_ERROR_COUNT;
        sma_buf_put_text(buf, i == 0 ? "{" : ",{");
        sma_buf_put_json_key(buf, "time");
        sma_buf_put_char(buf, '"');
        sma_buf_put_iso_time(buf, store->batch->error_ms[place]);
        sma_buf_put_char(buf, '"');
        sma_buf_put_json_key(buf, "text");
        sma_buf_put_json_string(buf, sma_str(store->batch->errors[place]));
        sma_buf_put_char(buf, '}');
    }
    sma_buf_put_char(buf, ']');
}

/* What ship.json says of the project, where it says it. */
static void put_project(const struct sma_config *config, struct sma_buf *buf)
{
    put_object(buf, "project");
    sma_buf_put_json_member(buf, "name", sma_str(config->name));
    sma_buf_put_json_member(buf, "version", sma_str(config->version));
    sma_buf_put_json_member(buf, "description", sma_str(config->description));
    sma_buf_put_char(buf, '}');
}

/* Who may decide everything: somebody, or nobody yet. Who it is, GET /api/pairings tells. */
static void put_owner(struct sma_store *store, struct sma_buf *buf)
{
    put_object(buf, "owner");
    sma_buf_put_json_key(buf, "isKnown");
    sma_buf_put_text(buf, sma_store_has_owner(store) ? "true" : "false");
    for (uint32_t i = 0; i < store->adapter_count; i++) {
        const struct sma_adapter *adapter = store->adapters[i].adapter;
        if (sma_access_is_trusted_channel(sma_str(sma_adapter_channel(adapter))))
            continue;
        sma_buf_put_json_member(buf, "platform", sma_str(sma_adapter_name(adapter)));
        break;
    }
    sma_buf_put_char(buf, '}');
}

static void put_status(struct sma_store *store, struct sma_buf *buf)
{
    struct sma_state_counts counts;
    sma_state_counts(store->state, &counts);
    sma_store_check_disk(store);
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_key(buf, "version");
    sma_buf_put_json_string(buf, sma_str(SMA_VERSION));
    put_project(store->config, buf);
    sma_buf_put_json_number(buf, "uptimeMs", (sma_ctx_now(store->ctx) - store->start_ns) / 1000000);
    put_object(buf, "queue");
    sma_buf_put_json_number(buf, "waiting", sma_queue_waiting(store->queue));
    uint32_t asked, unasked;
    sma_store_count_questions(store, &asked, &unasked);
    sma_buf_put_json_number(buf, "preparing", asked);
    sma_buf_put_json_number(buf, "waitingToPrepare", unasked);
    sma_buf_put_json_number(buf, "albums", sma_store_count_albums(store));
    sma_buf_put_char(buf, '}');
    put_object(buf, "runs");
    sma_buf_put_json_number(buf, "open", sma_store_run_counts(store).open);
    sma_buf_put_json_number(buf, "concurrency", (uint64_t)store->config->agent_concurrency);
    sma_buf_put_json_number(buf, "answered", sma_store_answered_count(store));
    sma_buf_put_json_number(buf, "failed", sma_store_failed_count(store));
    sma_buf_put_json_number(buf, "suspect", sma_store_run_counts(store).suspects);
    sma_buf_put_json_number(buf, "parked", sma_store_count_approvals(store));
    sma_buf_put_json_number(buf, "waitingForModel", sma_store_run_counts(store).waiting_for_model);
    sma_buf_put_char(buf, '}');
    put_object(buf, "outbox");
    sma_buf_put_json_number(buf, "open", sma_store_outbox_counts(store).open);
    sma_buf_put_json_number(buf, "held", sma_store_outbox_counts(store).held);
    sma_buf_put_char(buf, '}');
    sma_store_put_asides(store, buf);
    put_owner(store, buf);
    sma_buf_put_json_number(buf, "chats", counts.chats);
    sma_buf_put_json_number(buf, "claims", counts.claims);
    sma_buf_put_json_number(buf, "commits", counts.commits);
    sma_buf_put_json_number(buf, "lazyCommits", counts.lazy_commits);
    put_object(buf, "disk");
    sma_buf_put_json_number(buf, "freeBytes", sma_store_free_bytes(store));
    sma_buf_put_json_key(buf, "isDegraded");
    sma_buf_put_text(buf, sma_store_is_degraded(store) ? "true" : "false");
    sma_buf_put_char(buf, '}');
    sma_store_put_sizes(store, buf);
    sma_buf_put_json_key(buf, "durability");
    sma_buf_put_text(buf, store->config->durability_is_none ? "\"none\"" : "\"full\"");
    sma_buf_put_json_key(buf, "learned");
    sma_store_put_learned(store, buf);
    sma_buf_put_json_key(buf, "modelChoices");
    sma_store_put_choices(store, buf);
    sma_store_put_usage_today(store, buf);
    sma_store_put_budgets(store, buf);
    sma_buf_put_json_key(buf, "trouble");
    sma_health_format(buf);
    sma_buf_put_json_key(buf, "troubles");
    sma_store_put_troubles(store, buf);
    put_errors(store, buf);
    sma_buf_put_char(buf, '}');
}

static void answer_json(struct sma_store *store, const struct sma_msg *question,
                        struct sma_str json)
{
    struct sma_msg *answer =
        sma_store_made(store, sma_msg_make_query_result(&(struct sma_query_result){.json = json}));
    sma_ctx_answer(store->ctx, question, &answer);
}

/* What an adapter saved with its last commits: it asks once, when it starts. */
static void answer_cursor(struct sma_store *store, const struct sma_msg *question,
                          struct sma_str name)
{
    char json[40] = "{}";
    int64_t value;
    if (name.len > 0 && sma_state_cursor_get(store->state, name, &value) == SMA_ERR_OK)
        (void)snprintf(json, sizeof json, "{\"value\":%lld}", (long long)value);
    answer_json(store, question, sma_str(json));
}

void sma_store_enqueue_search(struct sma_store *store, struct sma_msg **msg)
{
    struct store_search *search = calloc(1, sizeof *search);
    if (search == NULL)
        sma_ctx_fatal(store->ctx, "out of memory");
    search->question = *msg;
    *msg = NULL;
    if (store->query->search_last != NULL)
        store->query->search_last->next = search;
    else
        store->query->search_first = search;
    store->query->search_last = search;
}

/* Those that may be long. */
static const struct store_list_kind *list_of(unsigned kind)
{
    switch (kind) {
    case SMA_QUERY_APPROVALS:
        return &sma_store_list_of_requests;
    case SMA_QUERY_GRANTS:
        return &sma_store_list_of_grants;
    case SMA_QUERY_PAIRINGS:
        return &sma_store_list_of_people;
    case SMA_QUERY_USAGE:
        return &sma_store_list_of_usage;
    case SMA_QUERY_CHATS:
        return &sma_store_list_of_chats;
    case SMA_QUERY_RUNS:
        return &sma_store_list_of_runs;
    default:
        return NULL;
    }
}

void sma_store_query(struct sma_store *store, struct sma_msg **msg)
{
    const struct sma_query *query = SMA_MSG_BODY(*msg, struct sma_query);
    if (query->kind == SMA_QUERY_HISTORY) {
        sma_store_enqueue_search(store, msg);
        return;
    }
    if (query->kind == SMA_QUERY_CURSOR) {
        answer_cursor(store, *msg, query->chat_key);
        return;
    }
    const struct store_list_kind *list = list_of(query->kind);
    if (list != NULL) {
        sma_store_list(store, msg, list);
        return;
    }
    bool is_trace = query->kind == SMA_QUERY_TRACE;
    struct sma_buf buf;
    sma_buf_init(&buf, is_trace ? HISTORY_JSON_BYTES_MAX : STATUS_BYTES_MAX);
    if (is_trace)
        sma_store_put_trace(store, &buf, query->chat_key);
    else if (query->kind == SMA_QUERY_DELIVERY)
        sma_store_put_delivery(store, &buf, query->chat_key);
    else if (query->kind == SMA_QUERY_STATUS)
        put_status(store, &buf);
    answer_json(store, *msg, buf.err == SMA_ERR_OK ? sma_buf_str(&buf) : SMA_STR("{}"));
    sma_buf_fini(&buf);
}

/* -- HISTORY ----------------------------------------------------------------------------------- */
void sma_store_history(struct sma_store *store, struct sma_msg **msg)
{
    sma_store_enqueue_search(store, msg);
}

static struct sma_history_place place_of(struct sma_store *store, uint64_t seq)
{
    struct sma_state_head head;
    if (seq == 0 || sma_state_head_get(store->state, seq, &head) != SMA_ERR_OK ||
        head.history_offset == SMA_STATE_NO_LINE || head.history_offset == SMA_STATE_LINE_WAITS)
        return (struct sma_history_place){0};
    return (struct sma_history_place){
        .is_set = true, .generation = head.generation, .offset = (uint64_t)head.history_offset};
}

static SMA_CHECKED enum sma_err begin_search(struct sma_store *store, struct store_search *search,
                                             struct sma_error *error)
{
    struct sma_history_query query = {0};
    if (search->question->kind == SMA_MSG_QUERY) {
        const struct sma_query *asked = SMA_MSG_BODY(search->question, struct sma_query);
        query.chat_key = asked->chat_key;
        query.limit = asked->limit;
        query.is_raw = true;
    } else if (search->question->kind == SMA_MSG_FETCH) {
        sma_store_fetch_query(SMA_MSG_BODY(search->question, struct sma_fetch_ask), &query);
    } else if (search->question->kind == SMA_MSG_CONTACT) {
        sma_store_place_query(store, search->question, &query);
    } else {
        const struct sma_history_ask *asked =
            SMA_MSG_BODY(search->question, struct sma_history_ask);
        query.chat_key = asked->chat_key;
        query.keyword = asked->keyword;
        query.limit = asked->limit;
        query.before = place_of(store, asked->current_seq);
        query.session_first = place_of(store, asked->session_first_seq);
        query.session_id_count = asked->session_id_count;
        query.session_ids = asked->session_ids;
        query.given = asked->given;
        query.ends_at_clear = asked->is_session || asked->is_chatter;
    }
    if (query.limit == 0)
        query.limit = 1;
    if (query.limit > SMA_HISTORY_LOAD_COUNT_MAX)
        query.limit = SMA_HISTORY_LOAD_COUNT_MAX;
    const struct sma_state_chat *chat = sma_state_chat_get(store->state, query.chat_key);
    query.generation = chat != NULL ? chat->generation : 0;
    if (chat != NULL) {
        query.chat_key = chat->key; /* it may have been asked for by a former one */
        query.accepts_any_key = sma_state_chat_next_former(chat) != NULL;
    }
    const char *reason = chat != NULL ? sma_store_aside_reason(store, chat->id) : NULL;
    if (reason != NULL)
        return sma_fail(error, SMA_ERR_IO, "the history of this chat cannot be read now: %s",
                        reason);
    enum sma_err err = sma_history_read_begin(store->history, &query, &search->reader, error);
    if (err == SMA_ERR_OK)
        store->query->search_count++;
    return err;
}

static void answer_raw(struct sma_store *store, struct store_search *search, enum sma_err err,
                       const struct sma_error *error)
{
    struct sma_buf buf;
    uint32_t count = 0;
    bool is_cut;
    sma_buf_init(&buf, HISTORY_JSON_BYTES_MAX);
    sma_buf_put_char(&buf, '[');
    const struct sma_history_item *items =
        err == SMA_ERR_OK ? sma_history_read_items(search->reader, &count, &is_cut) : NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            sma_buf_put_char(&buf, ',');
        sma_buf_put_str(&buf, items[i].line);
    }
    sma_buf_put_char(&buf, ']');
    if (err == SMA_ERR_IO) { /* in words: an empty list would say that nothing was said */
        sma_buf_clear(&buf);
        sma_buf_put_text(&buf, "{\"error\":");
        sma_buf_put_json_string(&buf, sma_str(error->text));
        sma_buf_put_char(&buf, '}');
    }
    answer_json(store, search->question, buf.err == SMA_ERR_OK ? sma_buf_str(&buf) : SMA_STR("[]"));
    sma_buf_fini(&buf);
}

/* May this person speak to us here? Whom we would not answer is not listened to either: the words
 * are in the file, and no model reads them unasked. */
static bool may_speak(struct sma_store *store, const struct store_chat *chat,
                      const struct sma_history_ask *ask, struct sma_str user_id)
{
    struct sma_ingress said = {.route = ask->route,
                               .kind = SMA_EVENT_MESSAGE,
                               .addressed = SMA_ADDRESSED_MENTION,
                               .is_group = true};
    struct sma_access_outcome outcome;
    said.route.user_id = user_id;
    return user_id.len > 0 && sma_store_judge(store, chat, &said, &outcome) == SMA_ERR_OK &&
           outcome.decision == SMA_ACCESS_RUN;
}

/* Of a group: what people said since our last text. @return how many lines are left, from the
 * front */
static uint32_t keep_chatter(struct sma_store *store, const struct sma_history_ask *ask,
                             struct sma_history_line *lines, uint32_t count)
{
    struct sma_state_chat *state = sma_state_chat_get(store->state, ask->chat_key);
    const struct store_chat *chat = state == NULL ? NULL : sma_store_chat(store, state);
    uint32_t first = chat == NULL ? count : 0, kept = 0;
    for (uint32_t i = first; i < count; i++)
        if (!lines[i].is_user)
            first = i + 1;
    for (uint32_t i = first; i < count; i++)
        if (may_speak(store, chat, ask, lines[i].user_id))
            lines[kept++] = lines[i];
    return kept;
}

static void answer_lines(struct sma_store *store, struct store_search *search, enum sma_err err,
                         const struct sma_error *error)
{
    uint32_t count = 0;
    bool is_cut = false;
    const struct sma_history_item *items =
        err == SMA_ERR_OK ? sma_history_read_items(search->reader, &count, &is_cut) : NULL;
    struct sma_history_lines lines = {.err = (uint8_t)err, .is_cut = is_cut, .line_count = count};
    if (err != SMA_ERR_OK)
        lines.error = sma_str(error->text[0] ? error->text : sma_err_text(err));
    SMA_AUTO(sma_freep) struct sma_history_line *list = calloc(count + 1, sizeof *list);
    sma_store_need(store, list != NULL);
    for (uint32_t i = 0; i < count; i++)
        list[i] = (struct sma_history_line){.wall_ms = items[i].wall_ms,
                                            .is_user = items[i].is_user,
                                            .message_id = items[i].message_id,
                                            .user_id = items[i].user_id,
                                            .user_name = items[i].user_name,
                                            .text = items[i].text};
    const struct sma_history_ask *ask = SMA_MSG_BODY(search->question, struct sma_history_ask);
    if (ask->is_chatter)
        lines.line_count = keep_chatter(store, ask, list, count);
    lines.lines = list;
    struct sma_msg *answer = sma_store_made(store, sma_msg_make_history_lines(&lines));
    sma_ctx_answer(store->ctx, search->question, &answer);
}

static void answer_search(struct sma_store *store, struct store_search *search, enum sma_err err,
                          const struct sma_error *error)
{
    if (search->question->kind == SMA_MSG_QUERY)
        answer_raw(store, search, err, error);
    else if (search->question->kind == SMA_MSG_FETCH)
        sma_store_fetch_found(store, search, err, error);
    else if (search->question->kind == SMA_MSG_CONTACT)
        sma_store_place_found(store, search, err, error);
    else
        answer_lines(store, search, err, error);
}

static void end_search(struct sma_store *store, struct store_search *search)
{
    if (search->reader != NULL) {
        sma_history_read_end(search->reader);
        store->query->search_count--;
    }
    sma_msg_destroyp(&search->question);
    free(search);
}

/* @return whether the search is over (answered) */
static bool advance(struct sma_store *store, struct store_search *search)
{
    struct sma_error error = {0};
    enum sma_err err = SMA_ERR_OK;
    bool is_done = false;
    if (search->reader == NULL)
        err = begin_search(store, search, &error);
    if (err == SMA_ERR_OK)
        err = sma_history_read_step(search->reader, &is_done, &error);
    if (err == SMA_ERR_OK && !is_done)
        return false;
    answer_search(store, search, err, &error);
    return true;
}

/* Searches take turns; at most STORE_SEARCH_COUNT_MAX hold a reader, the others stand behind
 * them. */
void sma_store_search_slice(struct sma_store *store)
{
    const struct sma_sys *sys = sma_ctx_sys(store->ctx);
    uint64_t begun = sys->now_ns(sys->self);
    for (uint32_t i = 0; store->query->search_first != NULL && i < STORE_SEARCH_COUNT_MAX; i++) {
        struct store_search *search = store->query->search_first;
        store->query->search_first = search->next;
        if (store->query->search_first == NULL)
            store->query->search_last = NULL;
        search->next = NULL;
        if (advance(store, search)) {
            end_search(store, search);
        } else if (store->query->search_count >= STORE_SEARCH_COUNT_MAX ||
                   store->query->search_last == NULL) {
            search->next = store->query->search_first;
            store->query->search_first = search;
            if (store->query->search_last == NULL)
                store->query->search_last = search;
        } else {
            store->query->search_last->next = search;
            store->query->search_last = search;
        }
        if (sys->now_ns(sys->self) - begun >= SEARCH_TIME_NS)
            return;
    }
}

void sma_store_refuse_searches(struct sma_store *store)
{
    const struct sma_error stopping = {.code = SMA_ERR_GONE, .text = "the service is stopping"};
    for (struct store_search *search = store->query->search_first; search != NULL;
         search = search->next) {
        answer_search(store, search, SMA_ERR_GONE, &stopping);
    }
    sma_store_drop_searches(store);
    sma_store_refuse_platform_asks(store);
}

void sma_store_drop_searches(struct sma_store *store)
{
    while (store->query->search_first != NULL) {
        struct store_search *search = store->query->search_first;
        store->query->search_first = search->next;
        end_search(store, search);
    }
    store->query->search_last = NULL;
}

/* -- SESSION ----------------------------------------------------------------------------------- */
struct turn_list
{
    struct sma_buf *buf;
    struct sma_turn *turns; /* slices are offsets into buf until the message is made */
    uint32_t count, cap;
};

static struct sma_str keep(struct turn_list *list, struct sma_str text)
{
    size_t at = list->buf->len;
    sma_buf_put_str(list->buf, text);
    return (struct sma_str){(const char *)at, text.len};
}

static enum sma_err load_turn(void *user, uint64_t seq, struct sma_str wire,
                              struct sma_str message_id, struct sma_str turn)
{
    struct turn_list *list = user;
    if (!sma_store_grow(&list->turns, list->count, &list->cap, sizeof *list->turns))
        return SMA_ERR_NOMEM;
    list->turns[list->count++] = (struct sma_turn){.seq = seq,
                                                   .wire = keep(list, wire),
                                                   .message_id = keep(list, message_id),
                                                   .bytes = keep(list, turn)};
    return list->buf->err;
}

void sma_store_session(struct sma_store *store, struct sma_msg **msg)
{
    const struct sma_session_ask *ask = SMA_MSG_BODY(*msg, struct sma_session_ask);
    const struct sma_state_chat *chat = sma_state_chat_get(store->state, ask->chat_key);
    struct turn_list list = {.buf = &store->scratch.load};
    sma_buf_clear(list.buf);
    enum sma_err err = SMA_ERR_OK;
    if (chat != NULL)
        err = sma_state_each_turn(store->state, chat, ask->before_seq, ask->turns_max,
                                  ask->bytes_max, load_turn, &list);
    size_t past_at = list.buf->len;
    if (err == SMA_ERR_OK && chat != NULL)
        err = sma_state_past_get(store->state, chat, list.buf);
    if (err != SMA_ERR_OK) {
        /* A run without its past is better than no run; the history tool still has it. */
        sma_ctx_log(store->ctx, SMA_LOG_ERROR, "the session of %.*s cannot be read: %s",
                    (int)ask->chat_key.len, ask->chat_key.ptr, sma_state_error(store->state)->text);
        list.count = 0;
        sma_buf_clear(list.buf);
        past_at = 0;
    }
    struct sma_session_turns turns = {.turn_count = list.count,
                                      .turns = list.turns,
                                      .past = {(const char *)past_at, list.buf->len - past_at}};
    sma_msg_place(SMA_MSG_SESSION_TURNS, &turns, list.buf->ptr);
    turns.chat_key = ask->chat_key;
    struct sma_msg *answer = sma_store_made(store, sma_msg_make_session_turns(&turns));
    free(list.turns);
    sma_ctx_answer(store->ctx, *msg, &answer);
}

/* -- CONTACT ----------------------------------------------------------------------------------- */
static struct sma_route route_of_contact(const struct sma_state_contact *found)
{
    return (struct sma_route){.channel = found->channel,
                              .chat_key = found->chat_key,
                              .chat_id = found->chat_id,
                              .chat_type = found->chat_type,
                              .thread_id = found->thread_id,
                              .message_id = found->message_id,
                              .user_id = found->user_id,
                              .user_name = found->user_name};
}

/* What he is by himself: the place where he was last seen gives a contact no rank. */
static const char *standing_of_contact(struct sma_store *store,
                                       const struct sma_state_contact *found)
{
    struct sma_route route = route_of_contact(found);
    return sma_access_standing_name(
        (enum sma_access_standing)sma_store_standing(store, NULL, &route, false));
}

/* The reference's object, with one member more. */
static void put_contact(struct sma_store *store, struct sma_buf *json,
                        const struct sma_state_contact *found)
{
    struct sma_contact contact = {.channel = found->channel,
                                  .chat_id = found->chat_id,
                                  .chat_key = found->chat_key,
                                  .user_name = found->user_name,
                                  .message_id = found->message_id,
                                  .user_id = found->user_id,
                                  .chat_type = found->chat_type,
                                  .updated_ms = found->wall_ms};
    if (sma_parse_i64(found->thread_id, 1, INT64_MAX, &contact.thread_id) != SMA_ERR_OK)
        contact.thread_id = 0; /* not a number: not in the JSON, but in the route */
    sma_contact_format(json, &contact);
    if (json->err == SMA_ERR_OK && json->len > 0)
        json->len--; /* its brace */
    sma_buf_put_json_member(json, "standing", sma_str(standing_of_contact(store, found)));
    sma_buf_put_char(json, '}');
}

/* Names change hands: the person bears another one by now. A handle and a displayed name that were
 * seen together are both his. */
static bool has_another_name(struct sma_store *store, const struct sma_state_contact *found)
{
    struct sma_state_contact newest;
    return sma_state_contact_of(store->state, found->channel, found->user_id, &newest) ==
               SMA_ERR_OK &&
           newest.wall_ms > found->wall_ms &&
           !sma_str_is_equal_nocase(newest.user_name, found->user_name);
}

static void answer_people(struct sma_store *store, const struct sma_msg *question,
                          const struct sma_contact_result *result)
{
    struct sma_msg *answer = sma_store_made(store, sma_msg_make_contact_result(result));
    sma_ctx_answer(store->ctx, question, &answer);
}

static void answer_contact(struct sma_store *store, const struct sma_msg *question,
                           const struct sma_state_contact *found)
{
    struct sma_route route = route_of_contact(found);
    int adapter = sma_store_adapter_of(store, &route);
    route.adapter = adapter < 0 ? 0 : (uint8_t)store->adapters[adapter].adapter->actor;
    const char *standing = standing_of_contact(store, found);
    sma_buf_clear(&store->scratch.text);
    put_contact(store, &store->scratch.text, found);
    size_t json_len = store->scratch.text.len;
    sma_buf_printf(&store->scratch.text, "%s, %.*s:%.*s", standing, (int)found->channel.len,
                   found->channel.ptr, (int)found->user_id.len, found->user_id.ptr);
    bool is_good = store->scratch.text.err == SMA_ERR_OK;
    struct sma_str json =
        is_good ? (struct sma_str){store->scratch.text.ptr, json_len} : SMA_STR("{}");
    struct sma_str whom = is_good ? (struct sma_str){store->scratch.text.ptr + json_len,
                                                     store->scratch.text.len - json_len}
                                  : SMA_STR("");
    bool is_stranger = strcmp(standing, sma_access_standing_name(SMA_ACCESS_STRANGER)) == 0;
    answer_people(
        store, question,
        &(struct sma_contact_result){.is_found = true,
                                     .route = route,
                                     .contact_json = json,
                                     .count = 1,
                                     .is_doubtful = is_stranger || has_another_name(store, found),
                                     .whom = whom});
}

/* Several people have the name: which one is meant is for the user to say. */
static void answer_namesakes(struct sma_store *store, const struct sma_msg *question,
                             const struct sma_state_contact *found, uint32_t count)
{
    struct sma_buf *json = &store->scratch.text;
    sma_buf_clear(json);
    for (uint32_t i = 0; i < count; i++) {
        sma_buf_put_char(json, i == 0 ? '[' : ',');
        put_contact(store, json, &found[i]);
    }
    sma_buf_put_char(json, ']');
    struct sma_str list = json->err == SMA_ERR_OK ? sma_buf_str(json) : SMA_STR("[]");
    answer_people(store, question,
                  &(struct sma_contact_result){.count = count, .contact_json = list});
}

/* As the model is shown people: `First Last (@handle)`, or @handle. A handle is one person's. */
static struct sma_str handle_of(struct sma_str name)
{
    const struct sma_str none = SMA_STR("");
    name = sma_str_trim(name);
    const char *at = name.len == 0 ? NULL : memrchr(name.ptr, '@', name.len);
    if (at == NULL)
        return none;
    struct sma_str handle = {at + 1, (size_t)(name.ptr + name.len - at) - 1};
    if (at == name.ptr)
        return handle;
    bool is_shown = at[-1] == '(' && handle.len > 1 && handle.ptr[handle.len - 1] == ')';
    return is_shown ? (struct sma_str){handle.ptr, handle.len - 1} : none;
}

/* Who is known to several bots of one platform is reached by the one that is spoken to. */
static uint32_t prefer_own_bot(struct sma_state_contact *found, uint32_t count,
                               struct sma_str asked_in)
{
    struct sma_str platform = sma_bot_platform(asked_in);
    uint32_t own = 0, kept = 0;
    for (uint32_t i = 0; i < count; i++)
        own += sma_str_is_equal(found[i].channel, asked_in);
    for (uint32_t i = 0; i < count; i++)
        if (own == 0 || sma_str_is_equal(found[i].channel, asked_in) ||
            !sma_str_is_equal(sma_bot_platform(found[i].channel), platform))
            found[kept++] = found[i];
    return kept;
}

void sma_store_contact(struct sma_store *store, struct sma_msg **msg)
{
    const struct sma_contact_ask *ask = SMA_MSG_BODY(*msg, struct sma_contact_ask);
    struct sma_state_contact found[SMA_STATE_NAMESAKE_COUNT_MAX];
    struct sma_str channel, chat, user;
    if (ask->wants_profile) {
        sma_store_profile(store, msg);
        return;
    }
    if (sma_str_trim(ask->user_name).len == 0) {
        sma_store_place(store, msg);
        return;
    }
    uint32_t count = sma_state_contacts_named(store->state, ask->channel, ask->user_name, found,
                                              SMA_COUNT_OF(found));
    if (count == 0 && handle_of(ask->user_name).len > 0)
        count = sma_state_contacts_named(store->state, ask->channel, handle_of(ask->user_name),
                                         found, SMA_COUNT_OF(found));
    if (count == 0 && sma_access_key_split(sma_str_trim(ask->user_name), &channel, &chat, &user) &&
        chat.len == 0)
        count = sma_state_contact_of(store->state, channel, user, found) == SMA_ERR_OK;
    count = prefer_own_bot(found, count, ask->asked_in);
    if (count == 1) {
        answer_contact(store, *msg, found);
        return;
    }
    if (count > 1) {
        answer_namesakes(store, *msg, found, count);
        return;
    }
    answer_people(store, *msg, &(struct sma_contact_result){0});
}

bool sma_store_is_searching(const struct sma_store *store)
{
    return store->query->search_first != NULL;
}

/* -- the part ---------------------------------------------------------------------------------- */
static enum sma_err create(struct sma_store *store)
{
    store->query = calloc(1, sizeof *store->query);
    return store->query != NULL ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

static uint64_t wake(const struct sma_store *store)
{
    bool has_slice = store->query->search_first != NULL || store->query->lists != NULL;
    return has_slice ? 0 : sma_store_platform_asks_wake(store);
}

static void follow(struct sma_store *store)
{
    uint32_t place = 0;
    for (uint64_t seq; sma_store_next_finished(store, &place, &seq);)
        sma_store_answer_waiters(store, seq);
    sma_store_answer_asked(store);
    sma_store_list_slice(store, LIST_TIME_NS);
    sma_store_expire_platform_asks(store);
}

static void fini(struct sma_store *store)
{
    if (store->history != NULL)
        sma_store_drop_searches(store);
    sma_store_drop_lists(store);
    sma_store_drop_platform_asks(store);
    for (uint32_t i = 0; i < store->query->asked_count; i++)
        sma_msg_destroyp(&store->query->asked[i]);
    free(store->query->asked);
    free(store->query->waiters);
    sma_store_map_fini(&store->query->waiter_heads);
    free(store->query);
}

const struct store_part sma_store_query_part = {
    .name = "query", .create = create, .follow = follow, .wake = wake, .fini = fini};
