/* adapter_world.c — see adapter_world.h. Orders go to the actors through one locked list that their
 * ticks look into. */
#include "support/adapter_world.h"
#include "support/clock.h"

#include "sma/actors.h"
#include "sma/health.h"

#include <ftw.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ADAPTER_ID ((enum sma_actor_id)SMA_ACTOR_ADAPTER_0)
#define CALLER_ID ((enum sma_actor_id)(SMA_ACTOR_ADAPTER_0 + 1))
#define EVENT_COUNT_MAX 4096
#define ROW_COUNT_MAX 512
#define LOG_COUNT_MAX 1024
#define HELD_COUNT_MAX 1024
#define ORDER_COUNT_MAX 512
#define TICK_NS 1000000

char world_dir[200];

struct hook
{
    uint64_t ask_id;
    bool is_answered;
    struct world_answer answer;
};

static const struct adapter_world *platform;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct
{
    struct world_event events[EVENT_COUNT_MAX];
    size_t event_count, refuse_skip, refuse_count, conflict_count, held_count;
    bool is_held;
    struct sma_msg *held[HELD_COUNT_MAX];
    uint64_t seq, row;
    struct world_receipt receipts[ROW_COUNT_MAX];
    bool has_receipt[ROW_COUNT_MAX], has_prepared[ROW_COUNT_MAX];
    struct world_prepared prepared[ROW_COUNT_MAX];
    struct hook hooks[ROW_COUNT_MAX];
    size_t hook_count;
    struct world_order orders[ORDER_COUNT_MAX];
    size_t order_count;
    char *logs[LOG_COUNT_MAX];
    size_t log_count;
    uint8_t press_verdict, intent;
    const char *press_notice;
} seen;

static void copy_text(char *to, size_t size, struct sma_str from)
{
    snprintf(to, size, "%.*s", (int)from.len, from.len == 0 ? "" : from.ptr);
}

/* -- orders ------------------------------------------------------------------------------------ */
static const char **text_of(struct world_order *order, size_t index)
{
    const char **texts[] = {&order->chat, &order->chat_type, &order->thread, &order->reply,
                            &order->user, &order->text,      &order->headers};
    return index < sizeof texts / sizeof texts[0] ? texts[index] : NULL;
}

static void free_order(struct world_order *order)
{
    const char **text;
    for (size_t i = 0; (text = text_of(order, i)) != NULL; i++)
        free((char *)*text);
}

static uint64_t number_order(struct world_order *order)
{
    switch (order->kind) {
    case WORLD_DELIVER:
        if (order->id == 0)
            order->id = ++seen.row;
        CHECK(order->id < ROW_COUNT_MAX);
        seen.has_receipt[order->id] = false;
        if (order->intent == 0)
            order->intent = seen.intent;
        return order->id;
    case WORLD_PREPARE:
        return order->seq = ++seen.seq;
    case WORLD_WEBHOOK:
        CHECK(seen.hook_count < ROW_COUNT_MAX);
        return order->id = seen.hook_count++;
    default:
        return 0;
    }
}

uint64_t world_give(const struct world_order *order)
{
    struct world_order copy = *order;
    const char **text;
    for (size_t i = 0; (text = text_of(&copy, i)) != NULL; i++)
        *text = strdup(*text == NULL ? "" : *text);
    pthread_mutex_lock(&lock);
    CHECK(seen.order_count < ORDER_COUNT_MAX);
    uint64_t number = number_order(&copy);
    seen.orders[seen.order_count++] = copy;
    pthread_mutex_unlock(&lock);
    return number;
}

static bool take_order(unsigned from_kind, unsigned to_kind, struct world_order *order)
{
    bool is_found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < seen.order_count && !is_found; i++) {
        if (seen.orders[i].kind < from_kind || seen.orders[i].kind > to_kind)
            continue;
        *order = seen.orders[i];
        memmove(&seen.orders[i], &seen.orders[i + 1],
                (--seen.order_count - i) * sizeof seen.orders[0]);
        is_found = true;
    }
    pthread_mutex_unlock(&lock);
    return is_found;
}

static void carry_out(struct sma_ctx *ctx, const struct world_order *order)
{
    char key[WORLD_KEY_SIZE], type[WORLD_TYPE_SIZE];
    struct sma_route route = platform->route(order, key, type);
    struct sma_str text = sma_str(order->text);
    size_t space = sma_route_space(&route) + text.len + 1;
    if (order->kind == WORLD_DELIVER) {
        struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DELIVER, struct sma_deliver, space);
        struct sma_deliver *deliver = SMA_MSG_BODY(msg, struct sma_deliver);
        deliver->outbox_id = order->id;
        deliver->seq = order->seq;
        deliver->intent = order->intent;
        deliver->is_repeat = order->is_repeat;
        deliver->reply_count = order->reply_count;
        deliver->renderer_version = order->renderer_version;
        deliver->part_done_count = order->part_done_count;
        deliver->is_interim = order->is_interim;
        deliver->route = sma_route_dup(msg, &route);
        deliver->text = sma_msg_dup(msg, text);
        CHECK_OK(sma_ctx_send(ctx, SMA_ACTOR_DISPATCHER, &msg));
        return;
    }
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_PREPARE, struct sma_prepare, space);
    struct sma_prepare *prepare = SMA_MSG_BODY(msg, struct sma_prepare);
    prepare->seq = order->seq;
    prepare->route = sma_route_dup(msg, &route);
    prepare->preparation = sma_msg_dup(msg, text);
    prepare->wants_role = order->wants_role;
    prepare->wants_profile = order->wants_profile;
    CHECK_OK(sma_ctx_ask(ctx, ADAPTER_ID, &msg, 0, NULL));
}

/* -- the store --------------------------------------------------------------------------------- */
static void accept(struct sma_ctx *ctx, struct sma_msg *question)
{
    struct sma_str notice = sma_str(seen.press_notice == NULL ? "" : seen.press_notice);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_ACCEPTED, struct sma_accepted, notice.len + 1);
    struct sma_accepted *accepted = SMA_MSG_BODY(msg, struct sma_accepted);
    accepted->seq = ++seen.seq;
    if (SMA_MSG_BODY(question, struct sma_ingress)->kind == SMA_EVENT_CALLBACK) {
        accepted->verdict = seen.press_verdict;
        accepted->notice = sma_msg_dup(msg, notice);
    }
    if (seen.refuse_skip > 0) {
        seen.refuse_skip--;
    } else if (seen.refuse_count > 0) {
        seen.refuse_count--;
        accepted->verdict = SMA_VERDICT_REFUSED;
        accepted->reason = SMA_STR("no disk");
    } else if (seen.conflict_count > 0) {
        seen.conflict_count--;
        accepted->verdict = SMA_VERDICT_CONFLICT;
    }
    sma_ctx_answer(ctx, question, &msg);
}

static void note_event(const struct sma_ingress *in)
{
    CHECK(seen.event_count < EVENT_COUNT_MAX);
    struct world_event *event = &seen.events[seen.event_count++];
    *event = (struct world_event){.kind = in->kind,
                                  .control = in->control,
                                  .addressed = in->addressed,
                                  .is_record_only = in->is_record_only,
                                  .is_group = in->is_group,
                                  .is_behind = in->is_behind,
                                  .body_hash = in->body_hash};
    event->cursor = in->cursor_name.len > 0 ? in->cursor_value : -1;
    if (platform->save != NULL && seen.refuse_count == 0)
        platform->save(in);
    copy_text(event->text, sizeof event->text, in->text);
    copy_text(event->chat_key, sizeof event->chat_key, in->route.chat_key);
    copy_text(event->event_key, sizeof event->event_key, in->event_key);
    copy_text(event->message_id, sizeof event->message_id, in->route.message_id);
    copy_text(event->migrated_from, sizeof event->migrated_from, in->migrated_from);
    copy_text(event->preparation, sizeof event->preparation, in->preparation);
    copy_text(event->group_key, sizeof event->group_key, in->group_key);
}

static void take_ingress(struct sma_ctx *ctx, struct sma_msg **msg)
{
    pthread_mutex_lock(&lock);
    note_event(SMA_MSG_BODY(*msg, struct sma_ingress));
    if (seen.is_held) {
        CHECK(seen.held_count < HELD_COUNT_MAX);
        seen.held[seen.held_count++] = SMA_TAKE(*msg);
    } else {
        accept(ctx, *msg);
    }
    pthread_mutex_unlock(&lock);
}

static void answer_cursor(struct sma_ctx *ctx, struct sma_msg *question)
{
    char json[48] = "{}";
    const struct sma_query *query = SMA_MSG_BODY(question, struct sma_query);
    CHECK_INT(SMA_QUERY_CURSOR, query->kind);
    CHECK(platform->cursor != NULL);
    int64_t cursor = platform->cursor(query->chat_key);
    if (cursor > 0)
        snprintf(json, sizeof json, "{\"value\":%lld}", (long long)cursor);
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_QUERY_RESULT, struct sma_query_result, strlen(json) + 1);
    SMA_MSG_BODY(msg, struct sma_query_result)->json = sma_msg_dup(msg, sma_str(json));
    sma_ctx_answer(ctx, question, &msg);
}

static void take_receipt(struct sma_ctx *ctx, struct sma_msg *question)
{
    const struct sma_receipt *receipt = SMA_MSG_BODY(question, struct sma_receipt);
    pthread_mutex_lock(&lock);
    CHECK(receipt->outbox_id < ROW_COUNT_MAX);
    struct world_receipt *kept = &seen.receipts[receipt->outbox_id];
    kept->state = receipt->state;
    kept->is_refused = receipt->is_content_refused;
    copy_text(kept->error, sizeof kept->error, receipt->error);
    copy_text(kept->platform_id, sizeof kept->platform_id, receipt->platform_message_id);
    seen.has_receipt[receipt->outbox_id] = receipt->is_final;
    pthread_mutex_unlock(&lock);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_RECEIPT_DONE, struct sma_receipt_done, 0);
    SMA_MSG_BODY(msg, struct sma_receipt_done)->outbox_id = receipt->outbox_id;
    sma_ctx_answer(ctx, question, &msg);
}

static void put_parts(char *text, size_t room, const struct sma_prepared *prepared)
{
    static const char *const kinds[] = {"none", "image", "file", "audio"};
    struct sma_buf buf;
    sma_buf_init(&buf, room - 1);
    for (uint32_t i = 0; i < prepared->part_count; i++) {
        const struct sma_part *part = &prepared->parts[i];
        sma_buf_printf(&buf, "%s%s:%.*s|%.*s|%.*s", i == 0 ? "" : "; ", kinds[part->kind],
                       (int)part->path.len, part->path.ptr, (int)part->name.len, part->name.ptr,
                       (int)part->mime.len, part->mime.ptr);
    }
    copy_text(text, room, sma_buf_str(&buf));
    sma_buf_fini(&buf);
}

static void take_prepared(const struct sma_prepared *prepared)
{
    pthread_mutex_lock(&lock);
    CHECK(prepared->seq < ROW_COUNT_MAX && !seen.has_prepared[prepared->seq]);
    seen.has_prepared[prepared->seq] = true;
    struct world_prepared *kept = &seen.prepared[prepared->seq];
    kept->role = prepared->role;
    copy_text(kept->context, sizeof kept->context, prepared->context);
    copy_text(kept->user_name, sizeof kept->user_name, prepared->user_name);
    copy_text(kept->profile, sizeof kept->profile, prepared->profile);
    put_parts(kept->parts, sizeof kept->parts, prepared);
    pthread_mutex_unlock(&lock);
}

static void store_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    switch ((*msg)->kind) {
    case SMA_MSG_INGRESS:
        take_ingress(ctx, msg);
        return;
    case SMA_MSG_QUERY:
        answer_cursor(ctx, *msg);
        return;
    case SMA_MSG_RECEIPT:
        take_receipt(ctx, *msg);
        return;
    case SMA_MSG_PREPARED:
        take_prepared(SMA_MSG_BODY(*msg, struct sma_prepared));
        return;
    case SMA_MSG_LIFE:
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
        return;
    case SMA_MSG_LATE: /* an upload on a busy machine: nothing waits behind it here */
        return;
    default:
        CHECK(false);
    }
}

static void tick(void *state, struct sma_ctx *ctx)
{
    (void)state;
    sma_ctx_wake_at(ctx, sma_ctx_now(ctx) + TICK_NS);
}

static void store_wake(void *state, struct sma_ctx *ctx)
{
    struct world_order order;
    tick(state, ctx);
    while (take_order(WORLD_DELIVER, WORLD_PREPARE, &order)) {
        carry_out(ctx, &order);
        free_order(&order);
    }
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < seen.held_count && !seen.is_held; i++) {
        accept(ctx, seen.held[i]);
        sma_msg_destroy(seen.held[i]);
    }
    seen.held_count = seen.is_held ? seen.held_count : 0;
    pthread_mutex_unlock(&lock);
}

static enum sma_err start_ticking(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)error;
    tick(state, ctx);
    return SMA_ERR_OK;
}

/* -- agent, HTTP, log -------------------------------------------------------------------------- */
static void agent_wake(void *state, struct sma_ctx *ctx)
{
    struct world_order order;
    tick(state, ctx);
    while (take_order(WORLD_PROGRESS, WORLD_PROGRESS, &order)) {
        char key[WORLD_KEY_SIZE], type[WORLD_TYPE_SIZE];
        struct sma_route route = platform->route(&order, key, type);
        struct sma_str text = sma_str(order.text);
        struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_PROGRESS, struct sma_progress,
                                          sma_route_space(&route) + text.len + 1);
        struct sma_progress *progress = SMA_MSG_BODY(msg, struct sma_progress);
        progress->seq = order.seq;
        progress->kind = order.progress;
        progress->route = sma_route_dup(msg, &route);
        progress->text = sma_msg_dup(msg, text);
        sma_ctx_signal(ctx, SMA_ACTOR_DISPATCHER, &msg);
        free_order(&order);
    }
}

static void caller_wake(void *state, struct sma_ctx *ctx)
{
    struct world_order order;
    tick(state, ctx);
    while (take_order(WORLD_WEBHOOK, WORLD_WEBHOOK, &order)) {
        struct sma_str body = sma_str(order.text), headers = sma_str(order.headers);
        struct sma_msg *msg =
            SMA_MSG_NEW(SMA_MSG_WEBHOOK, struct sma_webhook, body.len + headers.len + 2);
        struct sma_webhook *webhook = SMA_MSG_BODY(msg, struct sma_webhook);
        webhook->body = sma_msg_dup(msg, body);
        webhook->headers = sma_msg_dup(msg, headers);
        webhook->read_ns = sma_ctx_now(ctx);
        uint64_t ask_id;
        CHECK_OK(sma_ctx_ask(ctx, ADAPTER_ID, &msg, 0, &ask_id));
        pthread_mutex_lock(&lock);
        seen.hooks[order.id].ask_id = ask_id;
        pthread_mutex_unlock(&lock);
        free_order(&order);
    }
}

static void life_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    if ((*msg)->kind == SMA_MSG_LIFE)
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
}

static void caller_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    life_handle(state, msg, ctx);
    if ((*msg)->kind != SMA_MSG_WEBHOOK_ANSWER)
        return;
    const struct sma_webhook_answer *answer = SMA_MSG_BODY(*msg, struct sma_webhook_answer);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < seen.hook_count; i++) {
        struct hook *hook = &seen.hooks[i];
        if (hook->ask_id != (*msg)->ask_id)
            continue;
        CHECK(!hook->is_answered);
        hook->is_answered = true;
        hook->answer.status = answer->status;
        hook->answer.retry_after_s = answer->retry_after_s;
        copy_text(hook->answer.body, sizeof hook->answer.body, answer->body);
    }
    pthread_mutex_unlock(&lock);
}

static void log_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    life_handle(state, msg, ctx);
    if ((*msg)->kind != SMA_MSG_LOG)
        return;
    const struct sma_log_line *line = SMA_MSG_BODY(*msg, struct sma_log_line);
    pthread_mutex_lock(&lock);
    if (seen.log_count < LOG_COUNT_MAX)
        seen.logs[seen.log_count++] = strndup(line->text.ptr, line->text.len);
    if (getenv("WORLD_SHOWS_LOG") != NULL)
        fprintf(stderr, "log %d: %.*s\n", line->level, (int)line->text.len, line->text.ptr);
    pthread_mutex_unlock(&lock);
}

static const struct sma_actor_ops store_ops = {
    .name = "store", .start = start_ticking, .handle = store_handle, .wake = store_wake};
static const struct sma_actor_ops agent_ops = {
    .name = "agent", .start = start_ticking, .handle = life_handle, .wake = agent_wake};
static const struct sma_actor_ops caller_ops = {
    .name = "caller", .start = start_ticking, .handle = caller_handle, .wake = caller_wake};
static const struct sma_actor_ops log_ops = {.name = "log", .handle = log_handle};

/* -- the service ------------------------------------------------------------------------------- */
static struct
{
    struct sma_system *system;
    struct sma_dispatcher *dispatcher;
    struct sma_config config;
    struct sma_adapter adapter;
    void *state;
    int stop_pipe[2], status;
    pthread_t thread;
} service;

static void *supervise(void *argument)
{
    (void)argument;
    struct sma_supervise_options options = {.stop_fd = service.stop_pipe[0],
                                            .leaves_signals = true};
    service.status = sma_system_supervise(service.system, &options);
    return NULL;
}

static void make_service(void)
{
    struct sma_config_adapter block = {
        .name = platform->ops->name, .is_enabled = true, .json = platform->config};
    service.config.project_dir = service.config.state_dir = world_dir;
    struct sma_error error = {0};
    if (platform->ops->create(&service.config, &block, &service.state, &error) != SMA_ERR_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    service.adapter =
        (struct sma_adapter){.ops = platform->ops, .state = service.state, .actor = ADAPTER_ID};
    struct sma_dispatcher_options options = {&service.config, &service.adapter, 1};
    CHECK_OK(sma_dispatcher_create(&options, &service.dispatcher, &error));
}

static void start_service(void)
{
    struct sma_error error = {0};
    struct sma_system *system = service.system = sma_system_create(&(struct sma_system_options){0});
    CHECK_OK(sma_system_add(system, SMA_ACTOR_LOG, &log_ops, &seen));
    CHECK_OK(sma_system_add(system, SMA_ACTOR_STORE, &store_ops, &seen));
    CHECK_OK(sma_system_add(system, SMA_ACTOR_AGENT, &agent_ops, &seen));
    CHECK_OK(sma_system_add(system, SMA_ACTOR_DISPATCHER, &sma_dispatcher_actor_ops,
                            service.dispatcher));
    CHECK_OK(sma_system_add(system, ADAPTER_ID, platform->ops->actor, service.state));
    CHECK_OK(sma_system_add(system, CALLER_ID, &caller_ops, &seen));
    CHECK_OK(sma_system_start(system, &error));
    CHECK(pipe(service.stop_pipe) == 0);
    CHECK(pthread_create(&service.thread, NULL, supervise, NULL) == 0);
}

void world_make_project(void)
{
    snprintf(world_dir, sizeof world_dir, "/tmp/adapter-test-XXXXXX");
    CHECK(mkdtemp(world_dir) != NULL);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void world_remove_project(void)
{
    CHECK(nftw(world_dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0);
    world_dir[0] = '\0';
}

void world_start(const struct adapter_world *world)
{
    memset(&seen, 0, sizeof seen);
    platform = world;
    if (world_dir[0] == '\0')
        world_make_project();
    make_service();
    start_service();
}

void world_end(void)
{
    CHECK(write(service.stop_pipe[1], "x", 1) == 1);
    CHECK(pthread_join(service.thread, NULL) == 0);
    CHECK_INT(0, service.status);
    sma_system_destroy(service.system);
    sma_dispatcher_destroy(service.dispatcher);
    platform->ops->destroy(service.state);
    close(service.stop_pipe[0]);
    close(service.stop_pipe[1]);
    for (size_t i = 0; platform->secrets[i] != NULL; i++)
        CHECK_INT(0, world_log_count(platform->secrets[i]));
    for (size_t i = 0; i < seen.log_count; i++)
        free(seen.logs[i]);
    seen.log_count = 0;
    for (size_t i = 0; i < seen.held_count; i++)
        sma_msg_destroy(seen.held[i]);
    while (seen.order_count > 0)
        free_order(&seen.orders[--seen.order_count]);
}

void world_rest(unsigned ms)
{
    clock_rest(ms);
}

/* -- looking and ordering ---------------------------------------------------------------------- */
uint64_t world_prepare(const char *preparation, const char *chat, const char *user, bool wants_role)
{
    return world_give(&(struct world_order){.kind = WORLD_PREPARE,
                                            .chat = chat,
                                            .user = user,
                                            .text = preparation,
                                            .wants_role = wants_role});
}

uint64_t world_ask_profile(const char *chat, const char *user)
{
    return world_give(&(struct world_order){
        .kind = WORLD_PREPARE, .chat = chat, .user = user, .text = "", .wants_profile = true});
}

void world_progress(uint64_t seq, enum sma_progress_kind kind, const char *chat, const char *text)
{
    (void)world_give(&(struct world_order){
        .kind = WORLD_PROGRESS, .progress = (uint8_t)kind, .seq = seq, .chat = chat, .text = text});
}

size_t world_webhook(const char *headers, const char *body)
{
    return world_give(
        &(struct world_order){.kind = WORLD_WEBHOOK, .headers = headers, .text = body});
}

size_t world_event_count(void)
{
    pthread_mutex_lock(&lock);
    size_t count = seen.event_count;
    pthread_mutex_unlock(&lock);
    return count;
}

struct world_event world_event_at(size_t index)
{
    pthread_mutex_lock(&lock);
    CHECK(index < seen.event_count);
    struct world_event event = seen.events[index];
    pthread_mutex_unlock(&lock);
    return event;
}

size_t world_event_count_of(const char *text)
{
    size_t count = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < seen.event_count; i++)
        count += strcmp(seen.events[i].text, text) == 0;
    pthread_mutex_unlock(&lock);
    return count;
}

void world_refuse(size_t skip, size_t count)
{
    pthread_mutex_lock(&lock);
    seen.refuse_skip = skip;
    seen.refuse_count = count;
    pthread_mutex_unlock(&lock);
}

void world_conflict(size_t count)
{
    pthread_mutex_lock(&lock);
    seen.conflict_count = count;
    pthread_mutex_unlock(&lock);
}

void world_answer_presses(enum sma_verdict verdict, const char *notice)
{
    pthread_mutex_lock(&lock);
    seen.press_verdict = (uint8_t)verdict;
    seen.press_notice = notice;
    pthread_mutex_unlock(&lock);
}

void world_set_intent(uint8_t intent)
{
    pthread_mutex_lock(&lock);
    seen.intent = intent;
    pthread_mutex_unlock(&lock);
}

void world_hold(bool is_held)
{
    pthread_mutex_lock(&lock);
    seen.is_held = is_held;
    pthread_mutex_unlock(&lock);
}

bool world_has_receipt(uint64_t outbox_id, struct world_receipt *ret_receipt)
{
    pthread_mutex_lock(&lock);
    bool has_receipt = seen.has_receipt[outbox_id];
    *ret_receipt = seen.receipts[outbox_id];
    pthread_mutex_unlock(&lock);
    return has_receipt;
}

bool world_has_prepared(uint64_t seq, struct world_prepared *ret_prepared)
{
    pthread_mutex_lock(&lock);
    bool has_prepared = seen.has_prepared[seq];
    *ret_prepared = seen.prepared[seq];
    pthread_mutex_unlock(&lock);
    return has_prepared;
}

bool world_has_webhook_answer(size_t number, struct world_answer *ret_answer)
{
    pthread_mutex_lock(&lock);
    bool is_answered = seen.hooks[number].is_answered;
    *ret_answer = seen.hooks[number].answer;
    pthread_mutex_unlock(&lock);
    return is_answered;
}

bool world_status_shows(const char *words)
{
    struct sma_buf status;
    char start[40];
    sma_buf_init(&status, 16384);
    sma_health_format(&status);
    snprintf(start, sizeof start, "\"%s\":\"", platform->ops->name);
    const char *line = strstr(status.ptr, start);
    const char *end = line == NULL ? NULL : strchr(line + strlen(start), '"');
    const char *found = line == NULL ? NULL : strstr(line, words);
    sma_buf_fini(&status);
    return found != NULL && found < end;
}

size_t world_log_count(const char *text)
{
    size_t count = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < seen.log_count; i++)
        count += strstr(seen.logs[i], text) != NULL;
    pthread_mutex_unlock(&lock);
    return count;
}

void world_dump(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < seen.log_count; i++)
        fprintf(stderr, "log: %s\n", seen.logs[i]);
    pthread_mutex_unlock(&lock);
}
