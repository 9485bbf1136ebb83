/* actor_world.c — see actor_world.h. Orders go to the actors through one locked list that their ticks look into. */
#include "actor_world.h"

#include "adapters/feishu/feishu.h"
#include "sma/actors.h"

#include <ftw.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define ADAPTER_ID ((enum sma_actor_id)SMA_ACTOR_ADAPTER_0)
#define CALLER_ID ((enum sma_actor_id)(SMA_ACTOR_ADAPTER_0 + 1))
#define EVENT_COUNT_MAX 2048
#define ROW_COUNT_MAX 128
#define HELD_COUNT_MAX 1024
#define ORDER_COUNT_MAX 64
#define LOG_COUNT_MAX 512
#define TICK_NS UINT64_C(1000000)

char world_dir[200];

enum order_kind
{
    ORDER_DELIVER,
    ORDER_PREPARE,
    ORDER_PROGRESS,
    ORDER_WEBHOOK,
};
struct order
{
    uint8_t kind, progress;
    uint8_t intent;
    bool wants_role, is_repeat;
    uint64_t id, seq;
    char chat[64], chat_type[16], reply[64], user[64];
    char *text, *header;
};
struct hook
{
    uint64_t ask_id;
    bool is_answered;
    int status;
    char body[1024];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct
{
    struct world_event events[EVENT_COUNT_MAX];
    size_t event_count, refuse_count, held_count;
    bool is_held;
    struct sma_msg *held[HELD_COUNT_MAX];
    uint64_t seq, row;
    struct world_receipt receipts[ROW_COUNT_MAX];
    bool has_receipt[ROW_COUNT_MAX], has_prepared[ROW_COUNT_MAX];
    struct world_prepared prepared[ROW_COUNT_MAX];
    struct hook hooks[ROW_COUNT_MAX];
    size_t hook_count;
    struct order orders[ORDER_COUNT_MAX];
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

/* -- orders -------------------------------------------------------------------------------------------------------- */
static void give_order(const struct order *order)
{
    CHECK(seen.order_count < ORDER_COUNT_MAX);
    seen.orders[seen.order_count++] = *order;
}

static bool take_order(unsigned from_kind, unsigned to_kind, struct order *order)
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

static void free_order(struct order *order)
{
    free(order->text);
    free(order->header);
}

static struct sma_route route_of(const struct order *order, char key[128])
{
    snprintf(key, 128, "feishu:chat:%s", order->chat);
    return (struct sma_route){.adapter = ADAPTER_ID,
                              .channel = SMA_STR("feishu"),
                              .chat_key = sma_str(key),
                              .chat_id = sma_str(order->chat),
                              .chat_type = sma_str(order->chat_type),
                              .message_id = sma_str(order->reply),
                              .user_id = sma_str(order->user)};
}

static void carry_out(struct sma_ctx *ctx, const struct order *order)
{
    char key[128];
    struct sma_route route = route_of(order, key);
    struct sma_str text = sma_str(order->text);
    size_t space = sma_route_space(&route) + text.len + 1;
    if (order->kind == ORDER_DELIVER) {
        struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DELIVER, struct sma_deliver, space);
        struct sma_deliver *deliver = SMA_MSG_BODY(msg, struct sma_deliver);
        deliver->outbox_id = order->id;
        deliver->seq = order->seq;
        deliver->intent = order->intent;
        deliver->is_repeat = order->is_repeat;
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
    CHECK_OK(sma_ctx_ask(ctx, ADAPTER_ID, &msg, 0, NULL));
}

/* -- the store ----------------------------------------------------------------------------------------------------- */
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
    if (seen.refuse_count > 0) {
        seen.refuse_count--;
        accepted->verdict = SMA_VERDICT_REFUSED;
        accepted->reason = SMA_STR("no disk");
    }
    sma_ctx_answer(ctx, question, &msg);
}

static void note_event(const struct sma_ingress *in)
{
    CHECK(seen.event_count < EVENT_COUNT_MAX);
    struct world_event *event = &seen.events[seen.event_count++];
    *event =
        (struct world_event){.kind = in->kind, .control = in->control, .addressed = in->addressed};
    copy_text(event->text, sizeof event->text, in->text);
    copy_text(event->chat_key, sizeof event->chat_key, in->route.chat_key);
    copy_text(event->event_key, sizeof event->event_key, in->event_key);
    copy_text(event->preparation, sizeof event->preparation, in->preparation);
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

static void take_receipt(struct sma_ctx *ctx, struct sma_msg *question)
{
    const struct sma_receipt *receipt = SMA_MSG_BODY(question, struct sma_receipt);
    pthread_mutex_lock(&lock);
    CHECK(receipt->outbox_id < ROW_COUNT_MAX);
    struct world_receipt *kept = &seen.receipts[receipt->outbox_id];
    kept->state = receipt->state;
    copy_text(kept->error, sizeof kept->error, receipt->error);
    copy_text(kept->platform_id, sizeof kept->platform_id, receipt->platform_message_id);
    seen.has_receipt[receipt->outbox_id] = receipt->is_final;
    pthread_mutex_unlock(&lock);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_RECEIPT_DONE, struct sma_receipt_done, 0);
    SMA_MSG_BODY(msg, struct sma_receipt_done)->outbox_id = receipt->outbox_id;
    sma_ctx_answer(ctx, question, &msg);
}

static void take_prepared(const struct sma_prepared *prepared)
{
    pthread_mutex_lock(&lock);
    CHECK(prepared->seq < ROW_COUNT_MAX && !seen.has_prepared[prepared->seq]);
    seen.has_prepared[prepared->seq] = true;
    seen.prepared[prepared->seq].role = prepared->role;
    copy_text(seen.prepared[prepared->seq].context, sizeof seen.prepared[0].context,
              prepared->context);
    pthread_mutex_unlock(&lock);
}

static void store_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    switch ((*msg)->kind) {
    case SMA_MSG_INGRESS:
        take_ingress(ctx, msg);
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
    struct order order;
    tick(state, ctx);
    while (take_order(ORDER_DELIVER, ORDER_PREPARE, &order)) {
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

/* -- agent, HTTP, log ------------------------------------------------------------------------------------------------ */
static void agent_wake(void *state, struct sma_ctx *ctx)
{
    struct order order;
    tick(state, ctx);
    while (take_order(ORDER_PROGRESS, ORDER_PROGRESS, &order)) {
        char key[128];
        struct sma_route route = route_of(&order, key);
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
    struct order order;
    tick(state, ctx);
    while (take_order(ORDER_WEBHOOK, ORDER_WEBHOOK, &order)) {
        struct sma_str body = sma_str(order.text), header = sma_str(order.header);
        struct sma_msg *msg =
            SMA_MSG_NEW(SMA_MSG_WEBHOOK, struct sma_webhook, body.len + header.len + 2);
        struct sma_webhook *webhook = SMA_MSG_BODY(msg, struct sma_webhook);
        webhook->body = sma_msg_dup(msg, body);
        webhook->headers = sma_msg_dup(msg, header);
        webhook->read_ns = sma_ctx_now(ctx);
        uint64_t ask_id;
        CHECK_OK(sma_ctx_ask(ctx, ADAPTER_ID, &msg, 0, &ask_id));
        pthread_mutex_lock(&lock);
        seen.hooks[order.id].ask_id = ask_id;
        pthread_mutex_unlock(&lock);
        free_order(&order);
    }
}

static void caller_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    if ((*msg)->kind == SMA_MSG_LIFE)
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
    if ((*msg)->kind != SMA_MSG_WEBHOOK_ANSWER)
        return;
    const struct sma_webhook_answer *answer = SMA_MSG_BODY(*msg, struct sma_webhook_answer);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < seen.hook_count; i++)
        if (seen.hooks[i].ask_id == (*msg)->ask_id) {
            CHECK(!seen.hooks[i].is_answered);
            seen.hooks[i].is_answered = true;
            seen.hooks[i].status = answer->status;
            copy_text(seen.hooks[i].body, sizeof seen.hooks[i].body, answer->body);
        }
    pthread_mutex_unlock(&lock);
}

static void life_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    if ((*msg)->kind == SMA_MSG_LIFE)
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
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

/* -- the service ------------------------------------------------------------------------------------------------------ */
static struct
{
    struct sma_system *system;
    struct sma_dispatcher *dispatcher;
    struct sma_config config;
    struct sma_adapter adapter;
    void *state;
    char json[2048];
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

static void make_service(const char *members)
{
    snprintf(service.json, sizeof service.json,
             "{\"enabled\":true,\"appId\":\"cli_0123456789abcdef\",\"appSecret\":\"" WORLD_SECRET
             "\",\"domain\":\"%s\"%s}",
             platform_url(), members);
    struct sma_config_adapter block = {.name = "feishu", .is_enabled = true, .json = service.json};
    service.config.project_dir = service.config.state_dir = world_dir;
    struct sma_error error = {0};
    if (sma_feishu_adapter_ops.create(&service.config, &block, &service.state, &error) !=
        SMA_ERR_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    service.adapter = (struct sma_adapter){&sma_feishu_adapter_ops, service.state, ADAPTER_ID};
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
    CHECK_OK(sma_system_add(system, ADAPTER_ID, sma_feishu_adapter_ops.actor, service.state));
    CHECK_OK(sma_system_add(system, CALLER_ID, &caller_ops, &seen));
    CHECK_OK(sma_system_start(system, &error));
    CHECK(pipe(service.stop_pipe) == 0);
    CHECK(pthread_create(&service.thread, NULL, supervise, NULL) == 0);
}

void world_open(const char *members)
{
    memset(&seen, 0, sizeof seen);
    if (world_dir[0] == '\0') {
        snprintf(world_dir, sizeof world_dir, "/tmp/feishu-test-XXXXXX");
        CHECK(mkdtemp(world_dir) != NULL);
    }
    if (platform_server() == NULL)
        platform_start();
    make_service(members);
    start_service();
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void world_stop(void)
{
    CHECK(write(service.stop_pipe[1], "x", 1) == 1);
    CHECK(pthread_join(service.thread, NULL) == 0);
    CHECK_INT(0, service.status);
    sma_system_destroy(service.system);
    sma_dispatcher_destroy(service.dispatcher);
    sma_feishu_adapter_ops.destroy(service.state);
    close(service.stop_pipe[0]);
    close(service.stop_pipe[1]);
    CHECK_INT(0, world_log_count(WORLD_SECRET));
    CHECK_INT(0, world_log_count("t-test-"));
    CHECK_INT(0, world_log_count("ticket="));
    for (size_t i = 0; i < seen.log_count; i++)
        free(seen.logs[i]);
    seen.log_count = 0;
    for (size_t i = 0; i < seen.held_count; i++)
        sma_msg_destroy(seen.held[i]);
    while (seen.order_count > 0)
        free_order(&seen.orders[--seen.order_count]);
}

void world_clean(void)
{
    platform_stop();
    CHECK(nftw(world_dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0);
    world_dir[0] = '\0';
}

void world_close(void)
{
    world_stop();
    world_clean();
}

void world_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void world_rest(unsigned ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000},
              NULL);
}

/* -- looking and ordering ------------------------------------------------------------------------------------------- */
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

void world_refuse(size_t count)
{
    pthread_mutex_lock(&lock);
    seen.refuse_count = count;
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

static void order_delivery(struct order *order, const char *chat, const char *chat_type,
                           const char *reply, const char *text)
{
    order->kind = ORDER_DELIVER;
    order->text = strdup(text);
    copy_text(order->chat, sizeof order->chat, sma_str(chat));
    copy_text(order->chat_type, sizeof order->chat_type, sma_str(chat_type));
    copy_text(order->reply, sizeof order->reply, sma_str(reply));
    give_order(order);
}

uint64_t world_deliver(uint64_t seq, const char *chat, const char *chat_type, const char *reply,
                       const char *text)
{
    struct order order = {.seq = seq};
    pthread_mutex_lock(&lock);
    order.id = ++seen.row;
    order.intent = seen.intent;
    order_delivery(&order, chat, chat_type, reply, text);
    pthread_mutex_unlock(&lock);
    return order.id;
}

void world_deliver_again(uint64_t outbox_id, uint64_t seq, const char *chat, const char *chat_type,
                         const char *reply, const char *text)
{
    struct order order = {.seq = seq, .id = outbox_id, .is_repeat = true};
    pthread_mutex_lock(&lock);
    seen.has_receipt[outbox_id] = false;
    order_delivery(&order, chat, chat_type, reply, text);
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

uint64_t world_prepare(const char *preparation, const char *chat, const char *user, bool wants_role)
{
    struct order order = {
        .kind = ORDER_PREPARE, .wants_role = wants_role, .text = strdup(preparation)};
    copy_text(order.chat, sizeof order.chat, sma_str(chat));
    copy_text(order.chat_type, sizeof order.chat_type, SMA_STR("group"));
    copy_text(order.user, sizeof order.user, sma_str(user));
    pthread_mutex_lock(&lock);
    order.seq = ++seen.seq;
    give_order(&order);
    pthread_mutex_unlock(&lock);
    return order.seq;
}

bool world_has_prepared(uint64_t seq, struct world_prepared *ret_prepared)
{
    pthread_mutex_lock(&lock);
    bool has_prepared = seen.has_prepared[seq];
    *ret_prepared = seen.prepared[seq];
    pthread_mutex_unlock(&lock);
    return has_prepared;
}

void world_progress(uint64_t seq, enum sma_progress_kind kind, const char *chat, const char *text)
{
    struct order order = {
        .kind = ORDER_PROGRESS, .progress = (uint8_t)kind, .seq = seq, .text = strdup(text)};
    copy_text(order.chat, sizeof order.chat, sma_str(chat));
    copy_text(order.chat_type, sizeof order.chat_type, SMA_STR("p2p"));
    pthread_mutex_lock(&lock);
    give_order(&order);
    pthread_mutex_unlock(&lock);
}

size_t world_webhook(const char *headers, const char *body)
{
    struct order order = {.kind = ORDER_WEBHOOK, .text = strdup(body), .header = strdup(headers)};
    pthread_mutex_lock(&lock);
    order.id = seen.hook_count++;
    give_order(&order);
    pthread_mutex_unlock(&lock);
    return order.id;
}

bool world_has_webhook_answer(size_t number, int *ret_status, char body[1024])
{
    pthread_mutex_lock(&lock);
    bool is_answered = seen.hooks[number].is_answered;
    *ret_status = seen.hooks[number].status;
    snprintf(body, 1024, "%s", seen.hooks[number].body);
    pthread_mutex_unlock(&lock);
    return is_answered;
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
