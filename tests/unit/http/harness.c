/* harness.c — see harness.h. */
#include "harness.h"
#include "support/openapi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define RUN_COUNT_MAX 20000
#define HELD_COUNT_MAX 4096

struct run
{
    char key[600], text[128];
    uint64_t hash;
    bool is_held;
};
struct held
{
    enum sma_actor_id asker;
    uint64_t ask_id, seq;
    bool is_ingress;
};
struct fake_store
{
    struct run *runs;
    unsigned run_count;
    struct held held[HELD_COUNT_MAX];
    unsigned held_count;
    bool is_stopping;
    atomic_uint accepted_count, status_count, status_ms;
    pthread_mutex_t newest_lock;
    char newest_parts[2048], newest_text[401], newest_from[200];
};
struct fake_platform
{
    struct held held[SMA_ASK_WEBHOOK_COUNT_MAX];
    char texts[SMA_ASK_WEBHOOK_COUNT_MAX][16];
    unsigned held_count;
    atomic_uint count;
};
struct harness
{
    struct fake_platform platform;
    struct sma_config config, next_config;
    pthread_mutex_t next_lock; /* a signal orders nothing the thread sanitizer can see */
    struct sma_config_adapter block;
    char dir[64], state_dir[80];
    struct fake_store store;
    struct sma_system *system;
    void *state;
    pthread_t supervisor;
    int stop_fd, status;
    const char *client_headers;
};

/* -- fake store -------------------------------------------------------------------------------- */

static void answer_accepted(struct fake_store *store, struct sma_ctx *ctx, enum sma_actor_id asker,
                            uint64_t ask_id, unsigned verdict, uint64_t seq)
{
    (void)store;
    static const char why[] = "told by the fake";
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_ACCEPTED, struct sma_accepted, sizeof why);
    struct sma_accepted *accepted = SMA_MSG_BODY(msg, struct sma_accepted);
    accepted->verdict = (uint8_t)verdict;
    accepted->seq = seq;
    if (verdict == SMA_VERDICT_BUSY || verdict == SMA_VERDICT_REFUSED ||
        verdict == SMA_VERDICT_NO_CHAT) {
        accepted->retry_after_ms = 2500;
        accepted->reason = sma_msg_dup(msg, sma_str(why));
    }
    sma_ctx_answer_to(ctx, asker, ask_id, &msg);
}

static void answer_result(struct fake_store *store, struct sma_ctx *ctx, enum sma_actor_id asker,
                          uint64_t ask_id, uint64_t seq, unsigned state)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_RESULT, struct sma_result, 1024);
    struct sma_result *result = SMA_MSG_BODY(msg, struct sma_result);
    result->seq = seq;
    result->state = (uint8_t)state;
    if (state == SMA_RUN_DONE) {
        char output[200];
        snprintf(output, sizeof output, "echo: %s", store->runs[seq - 1].text);
        result->is_success = true;
        result->output = sma_msg_dup(msg, sma_str(output));
        result->tool_calls_json =
            sma_msg_dup(msg, SMA_STR("[{\"tool\":\"t\",\"input\":{},\"output\":\"o\"}]"));
    }
    if (state == SMA_RUN_WAITING)
        result->pending_json = sma_msg_dup(msg, SMA_STR("{\"id\":\"0b\",\"type\":\"exec_shell\"}"));
    if (state == SMA_RUN_PARKED) {
        result->output = sma_msg_dup(msg, SMA_STR("Run this command? yes / no"));
        result->pending_json = sma_msg_dup(msg, SMA_STR("{\"id\":\"0a\",\"type\":\"exec_shell\"}"));
    }
    sma_ctx_answer_to(ctx, asker, ask_id, &msg);
}

static void hold(struct fake_store *store, const struct sma_msg *msg, uint64_t seq, bool is_ingress)
{
    CHECK(store->held_count < HELD_COUNT_MAX);
    store->held[store->held_count++] =
        (struct held){(enum sma_actor_id)msg->from, msg->ask_id, seq, is_ingress};
}

static void release(struct fake_store *store, struct sma_ctx *ctx, unsigned state)
{
    for (unsigned i = 0; i < store->run_count; i++)
        store->runs[i].is_held = false;
    for (unsigned i = 0; i < store->held_count; i++) {
        struct held *held = &store->held[i];
        if (held->is_ingress)
            answer_accepted(store, ctx, held->asker, held->ask_id, SMA_VERDICT_ACCEPTED, held->seq);
        else
            answer_result(store, ctx, held->asker, held->ask_id, held->seq, state);
    }
    store->held_count = 0;
}

/* text: "t" and the text so far, "u" and a tool; "" = both of a kind. */
static void order_progress(struct sma_ctx *ctx, uint64_t seq, unsigned adapter, const char *text)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DELIVER, struct sma_deliver, strlen(text) + 1);
    SMA_MSG_BODY(msg, struct sma_deliver)->text = sma_msg_dup(msg, sma_str(text));
    SMA_MSG_BODY(msg, struct sma_deliver)->seq = seq;
    SMA_MSG_BODY(msg, struct sma_deliver)->route.adapter = (uint8_t)adapter;
    CHECK_OK(sma_ctx_send(ctx, SMA_ACTOR_DISPATCHER, &msg));
}

static bool begins(struct sma_str text, const char *word)
{
    return sma_str(word).len <= text.len && memcmp(text.ptr, word, strlen(word)) == 0;
}

static void note_newest(struct fake_store *store, const struct sma_ingress *in)
{
    size_t len = 0;
    pthread_mutex_lock(&store->newest_lock);
    store->newest_parts[0] = '\0';
    for (uint32_t i = 0; i < in->part_count && len < sizeof store->newest_parts; i++)
        len += (size_t)snprintf(store->newest_parts + len, sizeof store->newest_parts - len,
                                "%u %s %s %s\n", in->parts[i].kind, in->parts[i].path.ptr,
                                in->parts[i].name.ptr, in->parts[i].mime.ptr);
    snprintf(store->newest_text, sizeof store->newest_text, "%s", in->text.ptr);
    snprintf(store->newest_from, sizeof store->newest_from, "%.*s %.*s %.*s",
             (int)in->route.channel.len, in->route.channel.ptr, (int)in->route.chat_key.len,
             in->route.chat_key.ptr, (int)in->route.user_id.len, in->route.user_id.ptr);
    pthread_mutex_unlock(&store->newest_lock);
}

static void on_ingress(struct fake_store *store, struct sma_msg *msg, struct sma_ctx *ctx)
{
    const struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    enum sma_actor_id asker = (enum sma_actor_id)msg->from;
    char key[600];
    snprintf(key, sizeof key, "%.*s %.*s", (int)in->route.chat_key.len, in->route.chat_key.ptr,
             (int)in->event_key.len > 500 ? 500 : (int)in->event_key.len, in->event_key.ptr);
    CHECK(in->stamps.read_ns != 0 && in->stamps.parsed_ns >= in->stamps.read_ns);
    CHECK(in->event_key.len > 0 && in->body_hash != 0);
    for (unsigned i = 0; i < store->run_count; i++)
        if (strcmp(store->runs[i].key, key) == 0) {
            answer_accepted(store, ctx, asker, msg->ask_id,
                            store->runs[i].hash == in->body_hash ? SMA_VERDICT_DUPLICATE
                                                                 : SMA_VERDICT_CONFLICT,
                            i + 1);
            return;
        }
    if (sma_str_is_equal(in->route.chat_key, SMA_STR("nowhere"))) {
        answer_accepted(store, ctx, asker, msg->ask_id, SMA_VERDICT_NO_CHAT, 0);
        return;
    }
    if (begins(in->text, "refuse")) {
        answer_accepted(store, ctx, asker, msg->ask_id, SMA_VERDICT_REFUSED, 0);
        return;
    }
    CHECK(store->run_count < RUN_COUNT_MAX);
    struct run *run = &store->runs[store->run_count];
    uint64_t seq = ++store->run_count;
    memcpy(run->key, key, sizeof key);
    run->hash = in->body_hash;
    snprintf(run->text, sizeof run->text, "%.*s", in->text.len > 100 ? 100 : (int)in->text.len,
             in->text.ptr);
    note_newest(store, in);
    atomic_fetch_add(&store->accepted_count, 1);
    run->is_held =
        begins(in->text, "later") || begins(in->text, "progress") || begins(in->text, "behind");
    unsigned told;
    int at = 0;
    if (sscanf(in->text.ptr, "tell %u %n", &told, &at) == 1 && at > 0)
        order_progress(ctx, told, msg->from, in->text.ptr + at);
    if (begins(in->text, "silent")) {
        hold(store, msg, seq, true);
        return;
    }
    unsigned verdict = begins(in->text, "busy")     ? SMA_VERDICT_BUSY
                       : begins(in->text, "ignore") ? SMA_VERDICT_IGNORED
                                                    : SMA_VERDICT_ACCEPTED;
    if (begins(in->text, "release"))
        release(store, ctx, SMA_RUN_DONE);
    answer_accepted(store, ctx, asker, msg->ask_id, verdict, seq);
}

static void on_await(struct fake_store *store, struct sma_msg *msg, struct sma_ctx *ctx)
{
    const struct sma_await *ask = SMA_MSG_BODY(msg, struct sma_await);
    enum sma_actor_id asker = (enum sma_actor_id)msg->from;
    if (ask->seq == 0 || ask->seq > store->run_count) {
        answer_result(store, ctx, asker, msg->ask_id, ask->seq, SMA_RUN_UNKNOWN);
        return;
    }
    struct run *run = &store->runs[ask->seq - 1];
    bool is_behind = run->is_held && strncmp(run->text, "behind", 6) == 0;
    if (is_behind && ask->ends_at_question && !store->is_stopping) {
        answer_result(store, ctx, asker, msg->ask_id, ask->seq, SMA_RUN_WAITING);
    } else if (strncmp(run->text, "park", 4) == 0) {
        answer_result(store, ctx, asker, msg->ask_id, ask->seq, SMA_RUN_PARKED);
    } else if (!run->is_held) {
        answer_result(store, ctx, asker, msg->ask_id, ask->seq, SMA_RUN_DONE);
    } else if (ask->is_peek || store->is_stopping) {
        answer_result(store, ctx, asker, msg->ask_id, ask->seq, SMA_RUN_RUNNING);
    } else {
        hold(store, msg, ask->seq, false);
        if (strncmp(run->text, "progress", 8) == 0)
            order_progress(ctx, ask->seq, msg->from, "");
    }
}

static void on_query(struct fake_store *store, struct sma_msg *msg, struct sma_ctx *ctx)
{
    const struct sma_query *query = SMA_MSG_BODY(msg, struct sma_query);
    char json[1200];
    if (query->kind == SMA_QUERY_STATUS) {
        atomic_fetch_add(&store->status_count, 1);
        wait_ms(atomic_load(&store->status_ms));
    }
    if (query->kind == SMA_QUERY_STATUS)
        snprintf(json, sizeof json, "{\"queue\":7,\"runs\":{\"parked\":3}}");
    else if (query->kind == SMA_QUERY_APPROVALS)
        snprintf(json, sizeof json, "{\"approvals\":[\"%.*s\"]}", (int)query->chat_key.len,
                 query->chat_key.ptr);
    else if (query->kind == SMA_QUERY_GRANTS)
        snprintf(json, sizeof json, "{\"grants\":[]}");
    else if (query->kind == SMA_QUERY_DELIVERY)
        snprintf(json, sizeof json, "%s",
                 sma_str_is_equal(query->chat_key, SMA_STR("17"))
                     ? "{\"outboxId\":17,\"step\":0,\"platform\":\"telegram\",\"state\":\"sent\","
                       "\"attempts\":1,\"parts\":1,\"chatKey\":\"telegram:chat:1\"}"
                     : "{}");
    else if (query->kind == SMA_QUERY_PAIRINGS)
        snprintf(json, sizeof json, "{\"pairings\":[],\"people\":[]}");
    else if (query->kind == SMA_QUERY_RUNS || query->kind == SMA_QUERY_CHATS)
        snprintf(json, sizeof json, "{\"%s\":[],\"next\":\"%u %u %llu %.*s\"}",
                 query->kind == SMA_QUERY_RUNS ? "runs" : "chats", query->limit, query->filter,
                 (unsigned long long)query->before, (int)query->chat_key.len,
                 query->chat_key.len == 0 ? "" : query->chat_key.ptr);
    else
        snprintf(json, sizeof json, "[{\"key\":\"%.*s\",\"limit\":%u}]", (int)query->chat_key.len,
                 query->chat_key.ptr, query->limit);
    struct sma_msg *answer =
        SMA_MSG_NEW(SMA_MSG_QUERY_RESULT, struct sma_query_result, sizeof json);
    SMA_MSG_BODY(answer, struct sma_query_result)->json = sma_msg_dup(answer, sma_str(json));
    sma_ctx_answer(ctx, msg, &answer);
}

static void answer_decided(struct sma_ctx *ctx, enum sma_actor_id asker, uint64_t ask_id,
                           int status, const char *text)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DECIDED, struct sma_decided, strlen(text) + 1);
    SMA_MSG_BODY(msg, struct sma_decided)->status = status;
    SMA_MSG_BODY(msg, struct sma_decided)->text = sma_msg_dup(msg, sma_str(text));
    sma_ctx_answer_to(ctx, asker, ask_id, &msg);
}

static void on_decide(struct sma_msg *msg, struct sma_ctx *ctx)
{
    const struct sma_decide *decide = SMA_MSG_BODY(msg, struct sma_decide);
    char text[400];
    int64_t status = 200;
    CHECK_STR("api", decide->route.channel);
    if (decide->id.len == 3 && sma_parse_i64(decide->id, 100, 599, &status) != SMA_ERR_OK)
        status = 200;
    snprintf(text, sizeof text, "%u %.*s %d yes=%llx no=%llx grant=%lld as=%u \"%.*s\"",
             decide->kind, (int)decide->id.len, decide->id.ptr, decide->is_approved,
             (unsigned long long)decide->approved_mask, (unsigned long long)decide->refused_mask,
             (long long)decide->grant_s, decide->standing,
             decide->response.len > 100 ? 100 : (int)decide->response.len,
             decide->response.len == 0 ? "" : decide->response.ptr);
    answer_decided(ctx, (enum sma_actor_id)msg->from, msg->ask_id, (int)status, text);
}

static void store_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct fake_store *store = state;
    switch ((*msg)->kind) {
    case SMA_MSG_INGRESS:
        on_ingress(store, *msg, ctx);
        break;
    case SMA_MSG_AWAIT:
        on_await(store, *msg, ctx);
        break;
    case SMA_MSG_QUERY:
        on_query(store, *msg, ctx);
        break;
    case SMA_MSG_DECIDE:
        on_decide(*msg, ctx);
        break;
    case SMA_MSG_LIFE:
        store->is_stopping = true;
        release(store, ctx, SMA_RUN_RUNNING);
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
        break;
    default:
        break;
    }
}

static const struct sma_actor_ops store_ops = {.name = "store", .handle = store_handle};

/* -- fake dispatcher --------------------------------------------------------------------------- */

static void send_progress(struct sma_ctx *ctx, const struct sma_deliver *order, unsigned kind,
                          const char *text)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_PROGRESS, struct sma_progress, 256 + strlen(text));
    struct sma_progress *progress = SMA_MSG_BODY(msg, struct sma_progress);
    progress->seq = order->seq;
    progress->kind = (uint8_t)kind;
    progress->text = sma_msg_dup(msg, sma_str(text));
    sma_ctx_signal(ctx, (enum sma_actor_id)order->route.adapter, &msg);
}

static void dispatcher_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    if ((*msg)->kind == SMA_MSG_DELIVER) {
        const struct sma_deliver *order = SMA_MSG_BODY(*msg, struct sma_deliver);
        if (order->text.len > 0) {
            send_progress(ctx, order,
                          order->text.ptr[0] == 't' ? SMA_PROGRESS_TEXT : SMA_PROGRESS_TOOL,
                          order->text.ptr + 1);
            return;
        }
        send_progress(ctx, order, SMA_PROGRESS_TEXT, "so far\nso good");
        send_progress(ctx, order, SMA_PROGRESS_TOOL, "chat_send");
    } else if ((*msg)->kind == SMA_MSG_LIFE) {
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
    }
}

static const struct sma_actor_ops dispatcher_ops = {.name = "dispatcher",
                                                    .handle = dispatcher_handle};

/* -- fake platform adapter --------------------------------------------------------------------- */

static void answer_webhook(struct sma_ctx *ctx, enum sma_actor_id asker, uint64_t ask_id,
                           int status, const char *json)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_WEBHOOK_ANSWER, struct sma_webhook_answer, 2048);
    struct sma_webhook_answer *answer = SMA_MSG_BODY(msg, struct sma_webhook_answer);
    answer->status = status;
    answer->retry_after_s = status == 503 ? 7 : 0;
    answer->body = sma_msg_dup(msg, sma_str(json));
    sma_ctx_answer_to(ctx, asker, ask_id, &msg);
}

static void describe(const struct sma_webhook *webhook, char json[1024])
{
    struct sma_str secret = sma_webhook_header(webhook, "x-secret");
    snprintf(json, 1024,
             "{\"get\":%d,\"path\":\"%.*s\",\"query\":\"%.*s\",\"secret\":\"%.*s\",\"bytes\":%zu}",
             webhook->is_get, (int)webhook->path.len, webhook->path.ptr, (int)webhook->query.len,
             webhook->query.ptr, (int)secret.len, secret.ptr == NULL ? "" : secret.ptr,
             webhook->body.len);
}

static void on_webhook(struct fake_platform *platform, struct sma_msg *msg, struct sma_ctx *ctx)
{
    const struct sma_webhook *webhook = SMA_MSG_BODY(msg, struct sma_webhook);
    enum sma_actor_id asker = (enum sma_actor_id)msg->from;
    char json[1024];
    CHECK(webhook->read_ns != 0 && msg->deadline_ns > webhook->read_ns);
    CHECK(webhook->headers.len >= 2 && webhook->headers.ptr[webhook->headers.len - 1] == '\n');
    if (begins(webhook->body, "release")) {
        for (unsigned i = 0; i < platform->held_count; i++)
            answer_webhook(ctx, platform->held[i].asker, platform->held[i].ask_id, 200,
                           platform->texts[i]);
        platform->held_count = 0;
    }
    if (begins(webhook->body, "hold")) {
        CHECK(platform->held_count < SMA_ASK_WEBHOOK_COUNT_MAX);
        unsigned index = platform->held_count++;
        platform->held[index] = (struct held){.asker = asker, .ask_id = msg->ask_id};
        snprintf(platform->texts[index], sizeof platform->texts[index], "\"%.*s\"",
                 webhook->body.len > 10 ? 10 : (int)webhook->body.len, webhook->body.ptr);
    } else if (begins(webhook->body, "refuse")) {
        answer_webhook(ctx, asker, msg->ask_id, 503, "{\"why\":\"no disk\"}");
    } else {
        describe(webhook, json);
        answer_webhook(ctx, asker, msg->ask_id, 200, json);
    }
    atomic_fetch_add(&platform->count, 1);
}

static void platform_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    if ((*msg)->kind == SMA_MSG_WEBHOOK)
        on_webhook(state, *msg, ctx);
    else if ((*msg)->kind == SMA_MSG_LIFE)
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
}

static const struct sma_actor_ops platform_ops = {.name = "fake", .handle = platform_handle};

/* -- the program ------------------------------------------------------------------------------- */

static void on_reload(void *user)
{
    struct harness *harness = user;
    pthread_mutex_lock(&harness->next_lock);
    sma_system_reload(harness->system, &harness->next_config);
    pthread_mutex_unlock(&harness->next_lock);
}

static void *supervise(void *argument)
{
    struct harness *harness = argument;
    struct sma_supervise_options options = {
        .stop_fd = harness->stop_fd, .on_reload = on_reload, .user = harness};
    harness->status = sma_system_supervise(harness->system, &options);
    return NULL;
}

static void put_metric(void *user, struct sma_buf *buf)
{
    struct harness *harness = user;
    sma_buf_printf(buf, "harness_accepted %u\n", harness_accepted_count(harness));
}

static struct harness *make(const struct harness_options *options)
{
    struct harness *harness = calloc(1, sizeof *harness);
    CHECK(harness != NULL);
    pthread_mutex_init(&harness->next_lock, NULL);
    pthread_mutex_init(&harness->store.newest_lock, NULL);
    snprintf(harness->dir, sizeof harness->dir, "/tmp/sma-http-XXXXXX");
    CHECK(mkdtemp(harness->dir) != NULL);
    snprintf(harness->state_dir, sizeof harness->state_dir, "%s/.ship", harness->dir);
    harness->config = (struct sma_config){
        .project_dir = harness->dir,
        .state_dir = harness->state_dir,
        .name = "tester",
        .version = "1",
        .start_host = options->host == NULL ? "127.0.0.1" : options->host,
        .start_port = options->port,
        .api_cors = options->cors,
        .api_token = options->api_token == NULL ? HARNESS_TOKEN : options->api_token,
        .permissions_json = options->permissions == NULL ? "" : options->permissions};
    harness->client_headers = options->api_token == NULL ? HARNESS_TOKEN_LINE : "";
    harness->block = (struct sma_config_adapter){
        .name = "http", .is_enabled = true, .json = options->json == NULL ? "" : options->json};
    harness->store.runs = calloc(RUN_COUNT_MAX, sizeof *harness->store.runs);
    harness->stop_fd = eventfd(0, EFD_CLOEXEC);
    harness->system = sma_system_create(&(struct sma_system_options){.sys = options->sys});
    CHECK(harness->store.runs != NULL && harness->system != NULL && harness->stop_fd >= 0);
    struct sma_error error = {0};
    CHECK_OK(
        sma_http_adapter_ops.create(&harness->config, &harness->block, &harness->state, &error));
    sma_http_set_metrics_source(harness->state, put_metric, harness);
    CHECK_OK(sma_system_add(harness->system, SMA_ACTOR_STORE, &store_ops, &harness->store));
    CHECK_OK(sma_system_add(harness->system, SMA_ACTOR_DISPATCHER, &dispatcher_ops, harness));
    CHECK_OK(sma_system_add(harness->system, SMA_ACTOR_ADAPTER_0, sma_http_adapter_ops.actor,
                            harness->state));
    if (options->has_webhook) {
        CHECK_OK(sma_system_add(harness->system, SMA_ACTOR_ADAPTER_0 + 1, &platform_ops,
                                &harness->platform));
        CHECK_OK(sma_http_add_webhook(harness->state, "fake", SMA_ACTOR_ADAPTER_0 + 1));
        CHECK_OK(sma_http_add_webhook(harness->state, "ghost", SMA_ACTOR_ADAPTER_0 + 2));
    }
    return harness;
}

static void destroy(struct harness *harness)
{
    char path[128];
    sma_system_destroy(harness->system);
    sma_http_adapter_ops.destroy(harness->state);
    snprintf(path, sizeof path, "%s/service.json", harness->state_dir);
    CHECK(access(path, F_OK) != 0); /* removed by the adapter */
    snprintf(path, sizeof path, "%s/api-token", harness->state_dir);
    (void)unlink(path);
    snprintf(path, sizeof path, "%s/page-sessions", harness->state_dir);
    (void)unlink(path);
    snprintf(path, sizeof path, "%s/public/index.html", harness->dir);
    (void)unlink(path);
    snprintf(path, sizeof path, "%s/public", harness->dir);
    (void)rmdir(path);
    (void)rmdir(harness->state_dir);
    CHECK(rmdir(harness->dir) == 0);
    close(harness->stop_fd);
    free(harness->store.runs);
    free(harness);
}

struct harness *harness_start(const struct harness_options *options)
{
    sigset_t
        /* for every thread started from here: the supervisor reads it from its descriptor */
        hangup;
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    CHECK(pthread_sigmask(SIG_BLOCK, &hangup, NULL) == 0);
    struct harness *harness = make(options);
    struct sma_error error = {0};
    if (sma_system_start(harness->system, &error) != SMA_ERR_OK) {
        fprintf(stderr, "start failed: %s\n", error.text);
        exit(1);
    }
    CHECK(pthread_create(&harness->supervisor, NULL, supervise, harness) == 0);
    return harness;
}

const char *harness_start_failing(const struct harness_options *options)
{
    static char text[512];
    struct harness *harness = make(options);
    struct sma_error error = {0};
    CHECK(sma_system_start(harness->system, &error) != SMA_ERR_OK);
    snprintf(text, sizeof text, "%s", error.text);
    destroy(harness);
    return text;
}

void harness_reload(struct harness *harness, const char *api_token)
{
    pthread_mutex_lock(&harness->next_lock);
    harness->next_config = harness->config;
    harness->next_config.api_token = api_token;
    pthread_mutex_unlock(&harness->next_lock);
    CHECK(kill(getpid(), SIGHUP) == 0);
}

void harness_begin_stop(struct harness *harness)
{
    uint64_t one = 1;
    CHECK(write(harness->stop_fd, &one, sizeof one) == sizeof one);
}

void harness_stop(struct harness *harness)
{
    harness_begin_stop(harness);
    CHECK(pthread_join(harness->supervisor, NULL) == 0);
    CHECK_INT(0, harness->status);
    CHECK_INT(0, sma_gauge_get(SMA_GAUGE_http_connections));
    destroy(harness);
}

int harness_port(const struct harness *harness)
{
    return sma_http_port(harness->state);
}

const char *harness_dir(const struct harness *harness)
{
    return harness->dir;
}

unsigned harness_accepted_count(const struct harness *harness)
{
    return atomic_load(&((struct harness *)harness)->store.accepted_count);
}

void harness_newest(struct harness *harness, char parts[2048], char text[401])
{
    struct fake_store *store = &harness->store;
    pthread_mutex_lock(&store->newest_lock);
    memcpy(parts, store->newest_parts, sizeof store->newest_parts);
    memcpy(text, store->newest_text, sizeof store->newest_text);
    pthread_mutex_unlock(&store->newest_lock);
}

void harness_newest_from(struct harness *harness, char from[200])
{
    struct fake_store *store = &harness->store;
    pthread_mutex_lock(&store->newest_lock);
    memcpy(from, store->newest_from, sizeof store->newest_from);
    pthread_mutex_unlock(&store->newest_lock);
}

unsigned harness_status_count(const struct harness *harness)
{
    return atomic_load(&((struct harness *)harness)->store.status_count);
}

void harness_slow_status(struct harness *harness, unsigned ms)
{
    atomic_store(&harness->store.status_ms, ms);
}

unsigned harness_webhook_count(const struct harness *harness)
{
    return atomic_load(&((struct harness *)harness)->platform.count);
}

/* -- client ------------------------------------------------------------------------------------ */

int client_connect(const struct harness *harness)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)harness_port(harness))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    struct timeval limit = {.tv_sec = 20};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

void client_send(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* refused meanwhile: the answer tells */
        at += sent;
        len -= (size_t)sent;
    }
}

void client_text(int fd, const char *text)
{
    client_send(fd, text, strlen(text));
}

/* One byte at a time: what follows the head stays in the socket for the next read. Tests are
 * small. */
static bool read_byte(int fd, char *byte)
{
    return recv(fd, byte, 1, 0) == 1;
}

struct reply client_read(int fd)
{
    struct reply reply = {.head = calloc(1, 65536), .body = calloc(1, 1)};
    CHECK(reply.head != NULL && reply.body != NULL);
    size_t len = 0;
    while (len < 65000 && (len < 4 || memcmp(reply.head + len - 4, "\r\n\r\n", 4) != 0))
        if (!read_byte(fd, &reply.head[len++])) {
            reply.head[len - 1] = '\0';
            return reply;
        }
    CHECK(sscanf(reply.head, "HTTP/1.1 %d", &reply.status) == 1);
    const char *length = strcasestr(reply.head, "\r\nContent-Length:");
    if (reply.status != 100 && length != NULL)
        reply.body_len = strtoul(length + 17, NULL, 10);
    reply.is_closing = strcasestr(reply.head, "\r\nConnection: close") != NULL;
    free(reply.body);
    reply.body = calloc(1, reply.body_len + 1);
    CHECK(reply.body != NULL);
    for (size_t got = 0; got < reply.body_len;) {
        ssize_t count = recv(fd, reply.body + got, reply.body_len - got, 0);
        CHECK(count > 0);
        got += (size_t)count;
    }
    return reply;
}

char *client_read_until(int fd, const char *needle)
{
    char *text = calloc(1, 65536);
    CHECK(text != NULL);
    for (size_t len = 0; len < 65000 && strstr(text, needle) == NULL;)
        if (!read_byte(fd, &text[len++]))
            break;
    return text;
}

bool client_is_closed(int fd)
{
    char byte;
    return recv(fd, &byte, 1, 0) <= 0 && errno != EAGAIN;
}

void reply_free(struct reply *reply)
{
    free(reply->head);
    free(reply->body);
    *reply = (struct reply){0};
}

bool reply_has(const struct reply *reply, const char *text)
{
    return strstr(reply->head, text) != NULL ||
           memmem(reply->body, reply->body_len, text, strlen(text)) != NULL;
}

/* Every answer of the API is one that docs/openapi.json describes. */
static void check_described(const char *request, const struct reply *reply)
{
    char type[100] = "", why[200] = "";
    const char *at = reply->head == NULL ? NULL : strcasestr(reply->head, "\r\nContent-Type: ");
    if (reply->status == 0 || reply->status == 100)
        return;
    if (at != NULL)
        snprintf(type, sizeof type, "%.*s", (int)strcspn(at + 16, "\r"), at + 16);
    bool is_described = openapi_describes(request, reply->status, type, reply->body, why);
    if (!is_described)
        fprintf(stderr, "%s: %d %s: %s\n%s\n", request, reply->status, type, why, reply->body);
    CHECK(is_described);
}

struct reply request_once(const struct harness *harness, const char *method_path,
                          const char *headers, const char *body)
{
    char head[4096];
    int fd = client_connect(harness);
    bool has_host = strncasecmp(headers, "Host:", 5) == 0; /* given first, when given */
    int len = snprintf(head, sizeof head, "%s HTTP/1.1\r\n", method_path);
    if (!has_host)
        len += snprintf(head + len, sizeof head - (size_t)len, "Host: 127.0.0.1:%d\r\n",
                        harness_port(harness));
    if (body != NULL)
        len += snprintf(head + len, sizeof head - (size_t)len, "Content-Length: %zu\r\n",
                        strlen(body));
    snprintf(head + len, sizeof head - (size_t)len, "%s%s\r\n", headers, harness->client_headers);
    client_text(fd, head);
    if (body != NULL)
        client_text(fd, body);
    struct reply reply;
    if (strncmp(method_path, "HEAD", 4) == 0) {
        reply = (struct reply){.head = client_read_until(fd, "\r\n\r\n"), .body = calloc(1, 1)};
        CHECK(sscanf(reply.head, "HTTP/1.1 %d", &reply.status) == 1);
    } else {
        reply = client_read(fd);
    }
    close(fd);
    check_described(method_path, &reply);
    return reply;
}

int request_status(const struct harness *harness, const char *method_path, const char *headers,
                   const char *body)
{
    struct reply reply = request_once(harness, method_path, headers, body);
    int status = reply.status;
    reply_free(&reply);
    return status;
}

void client_post(int fd, const struct harness *harness, const char *headers, const void *body,
                 size_t len)
{
    char head[1024];
    snprintf(head, sizeof head,
             "POST /api/execute HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: %zu\r\n%s%s\r\n",
             harness_port(harness), len, headers, harness->client_headers);
    client_text(fd, head);
    client_send(fd, body, len);
}

double cpu_seconds(void)
{
    struct timespec spent;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (double)spent.tv_sec + (double)spent.tv_nsec / 1e9;
}

void wait_ms(unsigned ms)
{
    clock_rest(ms);
}
