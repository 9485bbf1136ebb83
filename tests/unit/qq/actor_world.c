/* actor_world.c — see actor_world.h. Orders go to the actors through one locked list that their ticks look into. */
#include "actor_world.h"

#include "adapters/qq/qq.h"
#include "sma/actors.h"

#include <ftw.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define ADAPTER_ID SMA_ACTOR_ADAPTER_0
#define CALLER_ID (SMA_ACTOR_ADAPTER_0 + 1)
#define EVENT_COUNT_MAX 4096
#define ROW_COUNT_MAX 512
#define LOG_COUNT_MAX 1024
#define HELD_COUNT_MAX 1024
#define ORDER_COUNT_MAX 512
#define TICK_NS 1000000
#define FIRST_CURSOR "qq.0.seq"

struct platform_client world_platform;
char world_dir[200];
int64_t world_cursor;

static struct fake_qq *fake;

enum order_kind
{
    ORDER_DELIVER,
    ORDER_PREPARE,
    ORDER_WEBHOOK,
};
struct order
{
    uint8_t kind, intent;
    uint32_t reply_count;
    int64_t message_wall_ms;
    uint64_t id, seq;
    char chat[64], reply[96];
    char *text, *header;
};
struct hook
{
    uint64_t ask_id;
    bool is_answered;
    int status;
    char body[512];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct
{
    struct world_event events[EVENT_COUNT_MAX];
    size_t event_count, refuse_skip, refuse_count, held_count;
    bool is_held;
    struct sma_msg *held[HELD_COUNT_MAX];
    uint64_t seq, row;
    struct world_receipt receipts[ROW_COUNT_MAX];
    bool has_receipt[ROW_COUNT_MAX], has_prepared[ROW_COUNT_MAX];
    char prepared[ROW_COUNT_MAX][2048];
    struct hook hooks[ROW_COUNT_MAX];
    size_t hook_count;
    struct order orders[ORDER_COUNT_MAX];
    size_t order_count;
    char *logs[LOG_COUNT_MAX];
    size_t log_count;
    uint8_t press_verdict;
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

static struct sma_route route_of(const struct order *order, char key[160], char type[16])
{
    const char *colon = strchr(order->chat, ':');
    CHECK(colon != NULL);
    snprintf(type, 16, "%.*s", (int)(colon - order->chat), order->chat);
    snprintf(key, 160, "qq:%s", order->chat);
    return (struct sma_route){.adapter = ADAPTER_ID,
                              .channel = SMA_STR("qq"),
                              .chat_key = sma_str(key),
                              .chat_id = sma_str(colon + 1),
                              .chat_type = sma_str(type),
                              .message_id = sma_str(order->reply),
                              .user_id = SMA_STR("M1"),
                              .language = SMA_STR("en")};
}

static void carry_out(struct sma_ctx *ctx, const struct order *order)
{
    char key[160], type[16];
    struct sma_route route = route_of(order, key, type);
    struct sma_str text = sma_str(order->text);
    size_t space = sma_route_space(&route) + text.len + 1;
    if (order->kind == ORDER_DELIVER) {
        struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DELIVER, struct sma_deliver, space);
        struct sma_deliver *deliver = SMA_MSG_BODY(msg, struct sma_deliver);
        deliver->outbox_id = order->id;
        deliver->seq = order->seq;
        deliver->intent = order->intent;
        deliver->reply_count = order->reply_count;
        deliver->message_wall_ms = order->message_wall_ms;
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
    prepare->wants_role = true;
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
    if (seen.refuse_skip > 0) {
        seen.refuse_skip--;
    } else if (seen.refuse_count > 0) {
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
    *event = (struct world_event){.kind = in->kind, .addressed = in->addressed};
    event->cursor = in->cursor_name.len > 0 ? in->cursor_value : -1;
    if (sma_str_is_equal(in->cursor_name, SMA_STR(FIRST_CURSOR)) && seen.refuse_count == 0)
        world_cursor = in->cursor_value;
    copy_text(event->text, sizeof event->text, in->text);
    copy_text(event->chat_key, sizeof event->chat_key, in->route.chat_key);
    copy_text(event->event_key, sizeof event->event_key, in->event_key);
    copy_text(event->message_id, sizeof event->message_id, in->route.message_id);
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

static void answer_cursor(struct sma_ctx *ctx, struct sma_msg *question)
{
    char json[48] = "{}";
    const struct sma_query *query = SMA_MSG_BODY(question, struct sma_query);
    CHECK_INT(SMA_QUERY_CURSOR, query->kind);
    if (world_cursor > 0 && sma_str_is_equal(query->chat_key, SMA_STR(FIRST_CURSOR)))
        snprintf(json, sizeof json, "{\"value\":%lld}", (long long)world_cursor);
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
    CHECK_INT(SMA_ROLE_UNKNOWN, prepared->role);
    copy_text(seen.prepared[prepared->seq], sizeof seen.prepared[0], prepared->context);
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

/* -- HTTP, log ------------------------------------------------------------------------------------------------ */
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
    pthread_mutex_unlock(&lock);
}

static const struct sma_actor_ops store_ops = {
    .name = "store", .start = start_ticking, .handle = store_handle, .wake = store_wake};
static const struct sma_actor_ops agent_ops = {.name = "agent", .handle = life_handle};
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

void world_make_platform(void)
{
    fake = fake_qq_start(0);
    world_platform = fake_qq_client(fake);
    world_tell("{s:s,s:s}", "do", "chat", "chat", WORLD_C2C);
    world_tell("{s:s,s:s}", "do", "chat", "chat", WORLD_GROUP);
    world_tell("{s:s,s:s}", "do", "chat", "chat", WORLD_CHANNEL);
}

static void make_service(const char *members)
{
    int port = fake_qq_port(fake);
    snprintf(service.json, sizeof service.json,
             "{\"enabled\":true,\"appId\":\"" FAKE_QQ_APP_ID "\",\"appSecret\":\"" FAKE_QQ_SECRET
             "\",\"apiRoot\":\"http://127.0.0.1:%d\",\"tokenUrl\":\"http://127.0.0.1:%d/app/"
             "getAppAccessToken\",\"limits\":{\"perChatPerMinute\":0}%s}",
             port, port, members);
    struct sma_config_adapter block = {.name = "qq", .is_enabled = true, .json = service.json};
    service.config.project_dir = service.config.state_dir = world_dir;
    struct sma_error error = {0};
    if (sma_qq_adapter_ops.create(&service.config, &block, &service.state, &error) != SMA_ERR_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    service.adapter = (struct sma_adapter){&sma_qq_adapter_ops, service.state, ADAPTER_ID};
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
    CHECK_OK(sma_system_add(system, ADAPTER_ID, sma_qq_adapter_ops.actor, service.state));
    CHECK_OK(sma_system_add(system, CALLER_ID, &caller_ops, &seen));
    CHECK_OK(sma_system_start(system, &error));
    CHECK(pipe(service.stop_pipe) == 0);
    CHECK(pthread_create(&service.thread, NULL, supervise, NULL) == 0);
}

static void make_project(void)
{
    snprintf(world_dir, sizeof world_dir, "/tmp/qq-test-XXXXXX");
    CHECK(mkdtemp(world_dir) != NULL);
}

void world_open(const char *members)
{
    seen.event_count = seen.refuse_skip = seen.refuse_count = seen.held_count = 0;
    seen.is_held = false;
    seen.seq = seen.row = seen.hook_count = seen.order_count = seen.log_count = 0;
    memset(seen.has_receipt, 0, sizeof seen.has_receipt);
    memset(seen.has_prepared, 0, sizeof seen.has_prepared);
    memset(seen.hooks, 0, sizeof seen.hooks);
    if (world_dir[0] == '\0')
        make_project();
    if (fake == NULL)
        world_make_platform();
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
    sma_qq_adapter_ops.destroy(service.state);
    close(service.stop_pipe[0]);
    close(service.stop_pipe[1]);
    CHECK_INT(0, world_log_count(FAKE_QQ_SECRET));
    CHECK_INT(0, world_log_count("QQBot "));
    for (size_t i = 0; i < seen.log_count; i++)
        free(seen.logs[i]);
    seen.log_count = 0;
    for (size_t i = 0; i < seen.held_count; i++)
        sma_msg_destroy(seen.held[i]);
    while (seen.order_count > 0)
        free_order(&seen.orders[--seen.order_count]);
}

void world_close(void)
{
    world_stop();
    fake_qq_stop(fake);
    fake = NULL;
    world_cursor = 0;
    CHECK(nftw(world_dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0);
    world_dir[0] = '\0';
}

int world_port(void)
{
    return fake_qq_port(fake);
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

void world_answer_presses(enum sma_verdict verdict, const char *notice)
{
    pthread_mutex_lock(&lock);
    seen.press_verdict = (uint8_t)verdict;
    seen.press_notice = notice;
    pthread_mutex_unlock(&lock);
}

void world_hold(bool is_held)
{
    pthread_mutex_lock(&lock);
    seen.is_held = is_held;
    pthread_mutex_unlock(&lock);
}

uint64_t world_deliver(const struct world_row *row)
{
    struct order order = {.kind = ORDER_DELIVER,
                          .seq = 1,
                          .text = strdup(row->text),
                          .intent = row->intent,
                          .reply_count = row->reply_count,
                          .message_wall_ms = row->message_wall_ms};
    copy_text(order.chat, sizeof order.chat, sma_str(row->chat));
    copy_text(order.reply, sizeof order.reply, sma_str(row->reply == NULL ? "" : row->reply));
    pthread_mutex_lock(&lock);
    order.id = ++seen.row;
    give_order(&order);
    pthread_mutex_unlock(&lock);
    return order.id;
}

bool world_has_receipt(uint64_t outbox_id, struct world_receipt *ret_receipt)
{
    pthread_mutex_lock(&lock);
    bool has_receipt = seen.has_receipt[outbox_id];
    *ret_receipt = seen.receipts[outbox_id];
    pthread_mutex_unlock(&lock);
    return has_receipt;
}

struct world_receipt world_await(uint64_t outbox_id, enum sma_delivery_state state)
{
    struct world_receipt receipt;
    WORLD_WAIT(world_has_receipt(outbox_id, &receipt));
    if (receipt.state != state)
        fprintf(stderr, "error: %s\n", receipt.error);
    CHECK_INT(state, receipt.state);
    return receipt;
}

uint64_t world_prepare(const char *preparation)
{
    struct order order = {.kind = ORDER_PREPARE, .text = strdup(preparation)};
    copy_text(order.chat, sizeof order.chat, SMA_STR(WORLD_C2C));
    pthread_mutex_lock(&lock);
    order.seq = ++seen.seq;
    give_order(&order);
    pthread_mutex_unlock(&lock);
    return order.seq;
}

bool world_has_prepared(uint64_t seq, char context[2048])
{
    pthread_mutex_lock(&lock);
    bool has_prepared = seen.has_prepared[seq];
    copy_text(context, 2048, sma_str(seen.prepared[seq]));
    pthread_mutex_unlock(&lock);
    return has_prepared;
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

bool world_has_webhook_answer(size_t number, int *ret_status, char body[512])
{
    pthread_mutex_lock(&lock);
    bool is_answered = seen.hooks[number].is_answered;
    *ret_status = seen.hooks[number].status;
    copy_text(body, 512, sma_str(seen.hooks[number].body));
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

void world_dump(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < seen.log_count; i++)
        fprintf(stderr, "log: %s\n", seen.logs[i]);
    pthread_mutex_unlock(&lock);
}

/* -- the platform ----------------------------------------------------------------------------------------------------- */
void world_tell(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_decref(platform_vdo(&world_platform, format, arguments));
    va_end(arguments);
}

json_t *world_ask(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *answer = platform_vdo(&world_platform, format, arguments);
    va_end(arguments);
    return answer;
}

const char *world_say(const char *chat, const char *text)
{
    static char id[96];
    json_t *answer =
        platform_do(&world_platform, "{s:s,s:s,s:s}", "do", "say", "chat", chat, "text", text);
    snprintf(id, sizeof id, "%s", platform_text(answer, "id", ""));
    json_decref(answer);
    return id;
}

int64_t world_counter(const char *name)
{
    return platform_get(&world_platform, name, "{s:s}", "do", "counters");
}

json_t *world_chat(const char *chat)
{
    return platform_do(&world_platform, "{s:s,s:s}", "do", "list", "chat", chat);
}

size_t world_shown(const char *chat, const char *text)
{
    size_t count = 0, index;
    json_t *list = world_chat(chat), *message;
    json_array_foreach(json_object_get(list, "messages"), index, message) count +=
        platform_flag(message, "is_ours", false) &&
        strcmp(platform_text(message, "text", ""), text) == 0;
    json_decref(list);
    return count;
}
