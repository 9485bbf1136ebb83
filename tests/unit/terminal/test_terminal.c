/*
 * Aim: the terminal adapter keeps its protocol; bad, slow and vanished clients hold nothing up.
 * Method: a real socket, the real dispatcher; store and agent do what a message's text says.
 */
#include "adapters/terminal/terminal.h"
#include "sma/actors.h"
#include "support/check.h"
#include "support/pictures.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ADAPTER_ID SMA_ACTOR_ADAPTER_0
#define BIG_BYTES (1000 * 1000)
#define NOBODY 65534
#define MESSAGE "{\"type\":\"message\",\"text\":\"\",\"id\":\"1\","

/* The store: accepts everything; "busy" is refused; "/..." is carried out; else the answer "you
 * said: ..." is delivered and is the result. Prefixes: "late:" result before the delivery is begun;
 * "sent:" the same, and a message long before it; "fail:" failed run; "big:" a delivery of a
 * megabyte; "stream:" progress first. */
struct store
{
    uint64_t seq, row;
    char texts[100000][32];
    char chats[100000][64];
    char newest[512]; /* with a file: "<text>;<kind> <path> <name> <type>;" */
    _Atomic unsigned control_count, receipt_sent_count, receipt_failed_count;
};
static struct store store;
static char dir[1000], socket_path[1100];

static bool starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static struct sma_route route_to(const char *chat)
{
    static _Thread_local char key[128];
    snprintf(key, sizeof key, "cli:chat:%s", chat);
    return (struct sma_route){.adapter = ADAPTER_ID,
                              .channel = SMA_STR("cli"),
                              .chat_key = sma_str(key),
                              .chat_id = sma_str(chat)};
}

static void deliver(struct sma_ctx *ctx, uint64_t seq, const char *chat, const char *text,
                    size_t len)
{
    struct sma_route route = route_to(chat);
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_DELIVER, struct sma_deliver, sma_route_space(&route) + len + 1);
    struct sma_deliver *body = SMA_MSG_BODY(msg, struct sma_deliver);
    body->outbox_id = ++store.row;
    body->seq = seq;
    body->route = sma_route_dup(msg, &route);
    body->text = sma_msg_dup(msg, (struct sma_str){text, len});
    CHECK_OK(sma_ctx_send(ctx, SMA_ACTOR_DISPATCHER, &msg));
}

static void deliver_for(struct sma_ctx *ctx, uint64_t seq)
{
    char text[64];
    int len = snprintf(text, sizeof text, "you said: %s", store.texts[seq]);
    if (!starts(store.texts[seq], "big:")) {
        deliver(ctx, seq, store.chats[seq], text, (size_t)len);
        return;
    }
    char *big = malloc(BIG_BYTES);
    memset(big, 'x', BIG_BYTES);
    deliver(ctx, seq, store.chats[seq], big, BIG_BYTES);
    free(big);
}

static void deliver_card(struct sma_ctx *ctx, uint64_t seq)
{
    static const char card[] =
        "{\"id\":\"00112233445566778899aabbccddeeff\",\"title\":\"Approval "
        "needed\",\"text\":\"**Run**\","
        "\"plain\":\"Run\\nReply: yes / no\",\"messageId\":\"\",\"isOutcome\":false,\"buttons\":["
        "{\"text\":\"Approve\",\"data\":\"sa1:x\",\"isApproval\":true,\"row\":0}]}";
    struct sma_route route = route_to(store.chats[seq]);
    bool is_broken = starts(store.texts[seq], "card: broken");
    struct sma_str text = is_broken ? SMA_STR("no card at all") : sma_str(card);
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_DELIVER, struct sma_deliver, sma_route_space(&route) + text.len + 2);
    struct sma_deliver *row = SMA_MSG_BODY(msg, struct sma_deliver);
    *row = (struct sma_deliver){.outbox_id = ++store.row, .seq = seq};
    row->intent = starts(store.texts[seq], "card: over") ? SMA_INTENT_APPROVAL_OUTCOME
                                                         : SMA_INTENT_APPROVAL_REQUEST;
    row->route = sma_route_dup(msg, &route);
    row->text = sma_msg_dup(msg, text);
    CHECK_OK(sma_ctx_send(ctx, SMA_ACTOR_DISPATCHER, &msg));
}

static void take_ingress(struct sma_ctx *ctx, struct sma_msg *question)
{
    const struct sma_ingress *ingress = SMA_MSG_BODY(question, struct sma_ingress);
    uint64_t seq = ++store.seq;
    CHECK(seq < SMA_COUNT_OF(store.texts));
    snprintf(store.texts[seq], sizeof store.texts[seq], "%.*s", (int)ingress->text.len,
             ingress->text.ptr);
    snprintf(store.chats[seq], sizeof store.chats[seq], "%.*s", (int)ingress->route.chat_id.len,
             ingress->route.chat_id.ptr);
    size_t len = (size_t)snprintf(store.newest, sizeof store.newest, "%.200s;", ingress->text.ptr);
    for (uint32_t i = 0; i < ingress->part_count; i++)
        len += (size_t)snprintf(store.newest + len, sizeof store.newest - len, "%u %s %s %s;",
                                ingress->parts[i].kind, ingress->parts[i].path.ptr,
                                ingress->parts[i].name.ptr, ingress->parts[i].mime.ptr);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_ACCEPTED, struct sma_accepted, 64);
    struct sma_accepted *accepted = SMA_MSG_BODY(msg, struct sma_accepted);
    accepted->seq = seq;
    if (starts(store.texts[seq], "busy")) {
        accepted->verdict = SMA_VERDICT_BUSY;
        accepted->reason = sma_msg_dup(msg, SMA_STR("too many wait"));
    }
    sma_ctx_answer(ctx, question, &msg);
    if (ingress->kind == SMA_EVENT_CONTROL) {
        atomic_fetch_add(&store.control_count, 1);
        deliver(ctx, seq, store.chats[seq], "carried out", 11);
        return;
    }
    if (starts(store.texts[seq], "sent:"))
        deliver(ctx, seq, store.chats[seq], "working on it", 13);
    if (starts(store.texts[seq], "stream:")) {
        struct sma_route route = route_to(store.chats[seq]);
        struct sma_msg *run =
            SMA_MSG_NEW(SMA_MSG_RUN, struct sma_run_order, sma_route_space(&route));
        SMA_MSG_BODY(run, struct sma_run_order)->seq = seq;
        SMA_MSG_BODY(run, struct sma_run_order)->route = sma_route_dup(run, &route);
        CHECK_OK(sma_ctx_send(ctx, SMA_ACTOR_AGENT, &run));
    }
}

static void take_await(struct sma_ctx *ctx, struct sma_msg *question)
{
    uint64_t seq = SMA_MSG_BODY(question, struct sma_await)->seq;
    char text[64];
    snprintf(text, sizeof text, "you said: %s", store.texts[seq]);
    bool is_failed = starts(store.texts[seq], "fail:"),
         is_late = starts(store.texts[seq], "late:") || starts(store.texts[seq], "sent:");
    bool is_card = starts(store.texts[seq], "card:");
    if (is_card)
        deliver_card(ctx, seq);
    else if (!is_late)
        deliver_for(ctx, seq);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_RESULT, struct sma_result, 200);
    struct sma_result *result = SMA_MSG_BODY(msg, struct sma_result);
    result->seq = seq;
    result->state = is_card ? SMA_RUN_PARKED : is_failed ? SMA_RUN_FAILED : SMA_RUN_DONE;
    result->is_success = !is_failed && !is_card;
    result->output = sma_msg_dup(msg, sma_str(text));
    sma_ctx_answer(ctx, question, &msg);
    if (is_late)
        deliver_for(ctx, seq);
}

static void store_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    if ((*msg)->kind == SMA_MSG_INGRESS)
        take_ingress(ctx, *msg);
    if ((*msg)->kind == SMA_MSG_AWAIT)
        take_await(ctx, *msg);
    if ((*msg)->kind == SMA_MSG_LIFE)
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
    if ((*msg)->kind != SMA_MSG_RECEIPT)
        return;
    const struct sma_receipt *receipt = SMA_MSG_BODY(*msg, struct sma_receipt);
    atomic_fetch_add(receipt->state == SMA_DELIVERY_SENT ? &store.receipt_sent_count
                                                         : &store.receipt_failed_count,
                     1);
    struct sma_msg *done = SMA_MSG_NEW(SMA_MSG_RECEIPT_DONE, struct sma_receipt_done, 0);
    SMA_MSG_BODY(done, struct sma_receipt_done)->outbox_id = receipt->outbox_id;
    sma_ctx_answer(ctx, *msg, &done);
}

static void agent_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    if ((*msg)->kind == SMA_MSG_LIFE)
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
    if ((*msg)->kind != SMA_MSG_RUN)
        return;
    const struct sma_run_order *order = SMA_MSG_BODY(*msg, struct sma_run_order);
    struct sma_msg *progress =
        SMA_MSG_NEW(SMA_MSG_PROGRESS, struct sma_progress, sma_route_space(&order->route) + 20);
    struct sma_progress *body = SMA_MSG_BODY(progress, struct sma_progress);
    body->seq = order->seq;
    body->kind = SMA_PROGRESS_TEXT;
    body->route = sma_route_dup(progress, &order->route);
    body->text = sma_msg_dup(progress, SMA_STR("so far"));
    sma_ctx_signal(ctx, SMA_ACTOR_DISPATCHER, &progress);
}

static const struct sma_actor_ops store_ops = {.name = "store", .handle = store_handle};
static const struct sma_actor_ops agent_ops = {.name = "agent", .handle = agent_handle};

/* -- the service ------------------------------------------------------------------------------- */
struct service
{
    struct sma_system *system;
    struct sma_dispatcher *dispatcher;
    void *terminal;
    struct sma_config config;
    struct sma_adapter adapter;
    int stop_pipe[2];
    pthread_t thread;
    int status;
};
static struct service service;

static void *supervise(void *argument)
{
    (void)argument;
    struct sma_supervise_options options = {.stop_fd = service.stop_pipe[0],
                                            .leaves_signals = true};
    service.status = sma_system_supervise(service.system, &options);
    return NULL;
}

static enum sma_err try_open_service(struct sma_error *error)
{
    service = (struct service){0};
    store.seq = store.row = 0;
    atomic_store(&store.control_count, 0);
    atomic_store(&store.receipt_sent_count, 0);
    atomic_store(&store.receipt_failed_count, 0);
    service.config.state_dir = service.config.project_dir = dir;
    service.config.name = "Ada";
    service.config.llm =
        (struct sma_config_llm){.name = "", .provider = "offline", .model = "echo"};
    service.system = sma_system_create(&(struct sma_system_options){0});
    CHECK_OK(sma_terminal_adapter_ops.create(&service.config, NULL, &service.terminal, error));
    service.adapter =
        (struct sma_adapter){&sma_terminal_adapter_ops, service.terminal, ADAPTER_ID, NULL};
    struct sma_dispatcher_options dispatcher = {&service.config, &service.adapter, 1};
    CHECK_OK(sma_dispatcher_create(&dispatcher, &service.dispatcher, error));
    CHECK_OK(sma_system_add(service.system, SMA_ACTOR_STORE, &store_ops, &store));
    CHECK_OK(sma_system_add(service.system, SMA_ACTOR_AGENT, &agent_ops, &store));
    CHECK_OK(sma_system_add(service.system, SMA_ACTOR_DISPATCHER, &sma_dispatcher_actor_ops,
                            service.dispatcher));
    CHECK_OK(sma_system_add(service.system, ADAPTER_ID, sma_terminal_adapter_ops.actor,
                            service.terminal));
    return sma_system_start(service.system, error);
}

static void free_service(void)
{
    sma_system_destroy(service.system);
    sma_dispatcher_destroy(service.dispatcher);
    sma_terminal_adapter_ops.destroy(service.terminal);
}

static void open_service(void)
{
    struct sma_error error = {0};
    if (try_open_service(&error) != SMA_ERR_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    CHECK(pipe(service.stop_pipe) == 0);
    CHECK(pthread_create(&service.thread, NULL, supervise, NULL) == 0);
}

static void close_service(void)
{
    CHECK(write(service.stop_pipe[1], "x", 1) == 1);
    CHECK(pthread_join(service.thread, NULL) == 0);
    CHECK_INT(0, service.status);
    free_service();
    close(service.stop_pipe[0]);
    close(service.stop_pipe[1]);
    CHECK(access(socket_path, F_OK) != 0);
}

/* -- a client ---------------------------------------------------------------------------------- */
struct client
{
    int fd;
    char *bytes;
    size_t len;
};

static struct client connect_client(void)
{
    struct client client = {.bytes = malloc(8 << 20)};
    struct sma_error error;
    CHECK_OK(sma_terminal_connect(socket_path, &client.fd, &error));
    return client;
}

static void close_client(struct client *client)
{
    close(client->fd);
    free(client->bytes);
}

static void say(struct client *client, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t done = send(client->fd, text, len, MSG_NOSIGNAL);
        if (done <= 0)
            return;
        text += done;
        len -= (size_t)done;
    }
}

static void say_line(struct client *client, const char *text)
{
    say(client, text, strlen(text));
    say(client, "\n", 1);
}

/* The next line as JSON, at most 10 s later; NULL when the service has closed the connection. */
static json_t *next_line(struct client *client)
{
    char *newline;
    while (client->len == 0 || (newline = memchr(client->bytes, '\n', client->len)) == NULL) {
        struct pollfd ready = {.fd = client->fd, .events = POLLIN};
        CHECK(poll(&ready, 1, 10000) == 1);
        ssize_t len = recv(client->fd, client->bytes + client->len, (8u << 20) - client->len, 0);
        if (len <= 0)
            return NULL;
        client->len += (size_t)len;
    }
    size_t len = (size_t)(newline - client->bytes);
    json_t *root = json_loadb(client->bytes, len, 0, NULL);
    CHECK(json_is_object(root));
    memmove(client->bytes, newline + 1, client->len - len - 1);
    client->len -= len + 1;
    return root;
}

static void wait_for(struct client *client, const char *type, const char *member, const char *value)
{
    json_t *root = next_line(client);
    CHECK(root != NULL);
    CHECK_TEXT(type, json_string_value(json_object_get(root, "type")));
    if (member != NULL)
        CHECK_TEXT(value, json_string_value(json_object_get(root, member)));
    json_decref(root);
}

static struct client greeted_client(const char *chat)
{
    struct client client = connect_client();
    char hello[200];
    snprintf(hello, sizeof hello,
             "{\"type\":\"hello\",\"version\":1,\"chat\":\"%s\",\"user\":\"jo\"}", chat);
    wait_for(&client, "hello", NULL, NULL);
    say_line(&client, hello);
    wait_for(&client, "welcome", "agent", "Ada");
    return client;
}

static void exchange(struct client *client, const char *text)
{
    char line[200], wanted[100];
    snprintf(line, sizeof line, "{\"type\":\"message\",\"id\":\"m-%s\",\"text\":\"%s\"}", text,
             text);
    say_line(client, line);
    snprintf(wanted, sizeof wanted, "you said: %s", text);
    wait_for(client, "accepted", "verdict", "accepted");
    wait_for(client, "message", "text", wanted);
    wait_for(client, "done", "output", wanted);
}

static uint64_t now_ns(void)
{
    return sma_sys_real()->now_ns(sma_sys_real()->self);
}

/* -- cases ------------------------------------------------------------------------------------- */
CASE(a_message_is_accepted_answered_and_done)
{
    open_service();
    struct stat status;
    CHECK(stat(socket_path, &status) == 0);
    CHECK_INT(0600, status.st_mode & 0777);
    struct client client = greeted_client("a");
    exchange(&client, "hi");
    exchange(&client, "late:again");
    close_client(&client);
    close_service();
}

CASE(files_of_the_project_go_along)
{
    static const char *const files[] = {"nothing.png", "../x.png", "/etc/passwd", "a plan.png"};
    char path[1100], line[200];
    snprintf(path, sizeof path, "%s/a plan.png", dir);
    picture_write(path, &(struct picture){(unsigned char *)"%PDF-1.4", 8});
    open_service();
    struct client client = greeted_client("a");
    for (size_t i = 0; i < SMA_COUNT_OF(files); i++) {
        snprintf(line, sizeof line, MESSAGE "\"attachments\":[{\"path\":\"%s\"}]}", files[i]);
        say_line(&client, line);
        wait_for(&client, i < 3 ? "error" : "accepted", "id", "1");
    }
    close_client(&client);
    close_service();
    CHECK_TEXT("@attach document a plan.png | a plan.png;2 a plan.png a plan.png application/pdf;",
               store.newest);
    CHECK(unlink(path) == 0);
}

CASE(progress_reaches_the_client)
{
    open_service();
    struct client client = greeted_client("a");
    say_line(&client, "{\"type\":\"message\",\"id\":\"1\",\"text\":\"stream:x\"}");
    bool has_progress = false, is_done = false;
    while (!is_done ||
           !has_progress) { /* signals have a lane of their own: no order between them */
        json_t *root = next_line(&client);
        const char *type = json_string_value(json_object_get(root, "type"));
        has_progress = has_progress ||
                       (strcmp(type, "progress") == 0 &&
                        strcmp(json_string_value(json_object_get(root, "text")), "so far") == 0);
        is_done = is_done || strcmp(type, "done") == 0;
        json_decref(root);
    }

    close_client(&client);
    close_service();
}

static void expect_card(struct client *client, const char *intent)
{
    json_t *root = next_line(client);
    CHECK(root != NULL);
    CHECK_TEXT(intent, json_string_value(json_object_get(root, "intent")));
    CHECK_TEXT("00112233445566778899aabbccddeeff", json_string_value(json_object_get(root, "id")));
    CHECK_TEXT("Approval needed", json_string_value(json_object_get(root, "title")));
    CHECK_TEXT("**Run**", json_string_value(json_object_get(root, "text")));
    CHECK_TEXT("Run\nReply: yes / no", json_string_value(json_object_get(root, "plain")));
    const json_t *button = json_array_get(json_object_get(root, "buttons"), 0);
    CHECK_TEXT("sa1:x", json_string_value(json_object_get(button, "data")));
    CHECK(json_is_true(json_object_get(button, "isApproval")));
    json_decref(root);
}

CASE(cards_reach_the_client_with_their_members)
{
    open_service();
    struct client client = greeted_client("main");
    say_line(&client, "{\"type\":\"message\",\"id\":\"a\",\"text\":\"card: ask\"}");
    wait_for(&client, "accepted", "id", "a");
    expect_card(&client, "approval");
    wait_for(&client, "done", "state", "parked");
    say_line(&client, "{\"type\":\"message\",\"id\":\"b\",\"text\":\"card: over\"}");
    wait_for(&client, "accepted", "id", "b");
    expect_card(&client, "outcome");
    wait_for(&client, "done", "state", "parked");
    say_line(&client, "{\"type\":\"message\",\"id\":\"c\",\"text\":\"card: broken\"}");
    wait_for(&client, "accepted", "id", "c");
    wait_for(&client, "message", "text", "no card at all");
    close_client(&client);
    close_service();
}

/* A client in a pipe leaves when it is done: what is delivered then is lost. */
CASE(the_end_waits_for_the_last_text_of_a_run)
{
    open_service();
    struct client client = greeted_client("a");
    bool has_answer = false, is_done = false;
    say_line(&client, "{\"type\":\"message\",\"id\":\"1\",\"text\":\"sent:x\"}");
    wait_for(&client, "accepted", "id", "1");
    wait_for(&client, "message", "text", "working on it");
    while (!is_done) {
        json_t *root = next_line(&client);
        const char *text = json_string_value(json_object_get(root, "text"));
        has_answer |= text != NULL && strcmp(text, "you said: sent:x") == 0;
        is_done = strcmp(json_string_value(json_object_get(root, "type")), "done") == 0;
        json_decref(root);
    }
    CHECK(has_answer);
    close_client(&client);
    close_service();
}

CASE(a_failed_run_is_done_without_success)
{
    open_service();
    struct client client = greeted_client("a");
    say_line(&client, "{\"type\":\"message\",\"id\":\"1\",\"text\":\"fail:x\"}");
    wait_for(&client, "accepted", "id", "1");
    wait_for(&client, "message", NULL, NULL);
    json_t *root = next_line(&client);
    CHECK(json_is_false(json_object_get(root, "success")));
    CHECK_TEXT("failed", json_string_value(json_object_get(root, "state")));
    json_decref(root);
    close_client(&client);
    close_service();
}

CASE(commands_and_stop_are_controls)
{
    open_service();
    struct client client = greeted_client("a");
    say_line(&client, "{\"type\":\"message\",\"id\":\"1\",\"text\":\"/status\"}");
    wait_for(&client, "accepted", "id", "1");
    wait_for(&client, "message", "text", "carried out");
    wait_for(&client, "done", "id", "1");
    say_line(&client, "{\"type\":\"stop\"}");
    wait_for(&client, "message", "text", "carried out");
    CHECK_INT(2, atomic_load(&store.control_count));
    close_client(&client);
    close_service();
}

CASE(a_refused_message_is_an_error_with_its_reason)
{
    open_service();
    struct client client = greeted_client("a");
    say_line(&client, "{\"type\":\"message\",\"id\":\"1\",\"text\":\"busy\"}");
    wait_for(&client, "accepted", "verdict", "busy");
    wait_for(&client, "error", "text", "too many wait");
    exchange(&client, "hi");
    close_client(&client);
    close_service();
}

CASE(bad_input_is_an_error_line_and_the_service_goes_on)
{
    static const char *const lines[] = {
        "not json",
        "[1,2,3]",
        "{\"type\":\"message\"",
        "{\"type\":\"message\",\"id\":\"1\"}",
        "{\"type\":\"message\",\"id\":\"1\",\"text\":\"  \"}",
        "{\"type\":\"message\",\"id\":\"1\",\"text\":7}",
        "{\"type\":\"message\",\"id\":\"\",\"text\":\"x\"}",
        "{\"type\":\"message\",\"id\":\"1\",\"text\":\"\xff\xfe\"}",
        "{\"type\":\"message\",\"id\":\"1\",\"text\":\"a\\u0000b\"}",
    };
    open_service();
    struct client client = greeted_client("a");
    for (size_t i = 0; i < SMA_COUNT_OF(lines); i++) {
        say_line(&client, lines[i]);
        wait_for(&client, "error", NULL, NULL);
    }
    say_line(&client, "");
    say_line(&client, "{\"type\":\"what\"}"); /* unknown: ignored */
    exchange(&client, "hi");
    close_client(&client);
    struct client rude = connect_client();
    wait_for(&rude, "hello", NULL, NULL);
    say_line(&rude, "{\"type\":\"message\",\"id\":\"1\",\"text\":\"x\"}");
    wait_for(&rude, "error", "text", "the first line is a hello");
    say_line(&rude, "{\"type\":\"hello\",\"version\":2}");
    wait_for(&rude, "error", NULL, NULL);
    CHECK(next_line(&rude) == NULL); /* closed */
    close_client(&rude);
    close_service();
}

CASE(limits_of_text_and_line)
{
    open_service();
    struct client client = greeted_client("a");
    for (size_t more = 0; more < 2; more++) {
        char *text = malloc(SMA_TEXT_BYTES_MAX + 2);
        memset(text, 'x', SMA_TEXT_BYTES_MAX + more);
        say_line(&client, "{\"type\":\"message\",\"id\":\"1\",\"text\":\"");
        free(text);
        wait_for(&client, "error", NULL, NULL); /* a line end inside: not JSON */
        text = malloc(SMA_TEXT_BYTES_MAX + 2);
        memset(text, 'x', SMA_TEXT_BYTES_MAX + more);
        const char *head = "{\"type\":\"message\",\"id\":\"1\",\"text\":\"";
        say(&client, head, strlen(head));
        say(&client, text, SMA_TEXT_BYTES_MAX + more);
        say_line(&client, "\"}");
        free(text);
        wait_for(&client, more == 0 ? "accepted" : "error", "id", "1");
        if (more == 0) {
            wait_for(&client, "message", NULL, NULL);
            wait_for(&client, "done", NULL, NULL);
        }
    }
    char *line = malloc(SMA_TERMINAL_LINE_BYTES_MAX + 70000);
    memset(line, ' ', SMA_TERMINAL_LINE_BYTES_MAX + 70000);
    say(&client, line, SMA_TERMINAL_LINE_BYTES_MAX + 70000);
    free(line);
    json_t *root = next_line(&client);
    CHECK(root == NULL || strcmp(json_string_value(json_object_get(root, "type")), "error") == 0);
    json_decref(root);
    close_client(&client);
    client = greeted_client("a");
    exchange(&client, "hi");
    close_client(&client);
    close_service();
}

CASE(one_client_too_many_is_told_so)
{
    open_service();
    struct client clients[SMA_TERMINAL_CLIENT_COUNT_MAX];
    for (size_t i = 0; i < SMA_TERMINAL_CLIENT_COUNT_MAX; i++)
        clients[i] = greeted_client("a");
    struct client extra = connect_client();
    wait_for(&extra, "error", NULL, NULL);
    CHECK(next_line(&extra) == NULL);
    close_client(&extra);
    for (size_t i = 0; i < SMA_TERMINAL_CLIENT_COUNT_MAX; i++)
        close_client(&clients[i]);
    close_service();
}

CASE(a_delivery_without_a_terminal_is_given_up)
{
    open_service();
    struct client client = greeted_client("gone"), other = greeted_client("a");
    say_line(&client, "{\"type\":\"message\",\"id\":\"1\",\"text\":\"x\"}");
    close_client(&client); /* with its answer unread, or before it */
    for (int i = 0;
         i < 1000 &&
         atomic_load(&store.receipt_sent_count) + atomic_load(&store.receipt_failed_count) == 0;
         i++)
        exchange(&other, "hi");
    close_client(&other);
    close_service();
}

CASE(a_client_that_does_not_read_is_dropped)
{
    open_service();
    struct client deaf = greeted_client("deaf"), other = greeted_client("a");
    for (int i = 0; i < 30; i++) {
        char line[100];
        snprintf(line, sizeof line, "{\"type\":\"message\",\"id\":\"%d\",\"text\":\"big:\"}", i);
        say_line(&deaf, line);
    }
    /* its first delivery is queued until it is dropped, the rest given up: others go on */
    uint64_t begin = now_ns();
    while (atomic_load(&store.receipt_failed_count) == 0 && now_ns() - begin < 10 * 1000000000ull)
        exchange(&other, "hi");
    CHECK(atomic_load(&store.receipt_failed_count) > 0);
    close_client(&deaf);
    close_client(&other);
    close_service();
}

/* In the child of a fork: what a process with a process namespace of its own hears first. */
static int say_what_is_heard_inside(void)
{
    struct sma_error error;
    char text[256] = "";
    int fd, status = 0;
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        return 77; /* not permitted here */
    pid_t pid = fork();
    if (pid == 0) {
        if (sma_terminal_connect(socket_path, &fd, &error) != SMA_ERR_OK ||
            recv(fd, text, sizeof text - 1, 0) <= 0)
            _exit(2);
        _exit(strstr(text, "\"type\":\"error\"") != NULL && strstr(text, "sandbox") != NULL ? 0
                                                                                            : 3);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                           : 4;
}

CASE(processes_inside_of_a_sandbox_are_not_served)
{
    open_service();
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        _exit(say_what_is_heard_inside());
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        fprintf(stderr, "no process namespaces here: not tested\n");
    else
        CHECK_INT(0, WEXITSTATUS(status));
    struct client client = connect_client(); /* others still are */
    wait_for(&client, "hello", NULL, NULL);
    close_client(&client);
    close_service();
}

/* As nobody, with the modes out of the way. 0: told so and closed. */
static int say_what_another_user_hears(void)
{
    struct client client = {.bytes = malloc(8 << 20)};
    struct sma_error error;
    if (chdir(dir) != 0 || setegid(NOBODY) != 0 || seteuid(NOBODY) != 0)
        return 2;
    if (sma_terminal_connect(SMA_TERMINAL_SOCKET_NAME, &client.fd, &error) != SMA_ERR_OK)
        return 3;
    json_t *line = next_line(&client);
    const char *text = json_string_value(json_object_get(line, "text"));
    bool is_told = text != NULL && strstr(text, "only the user who runs the service") != NULL;
    say_line(&client, "{\"type\":\"hello\",\"version\":1}");
    bool is_closed = next_line(&client) == NULL;
    json_decref(line);
    close_client(&client);
    return !is_told ? 4 : !is_closed ? 5 : 0;
}

CASE(other_users_are_not_served_whatever_the_modes)
{
    if (geteuid() != 0) {
        fprintf(stderr, "only root can become another user: not tested\n");
        return;
    }
    open_service();
    CHECK(chmod(dir, 0711) == 0 && chmod(socket_path, 0666) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        _exit(say_what_another_user_hears());
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    CHECK_INT(0, WEXITSTATUS(status));
    CHECK_INT(0, store.seq);
    struct client client = connect_client(); /* its own user still is */
    wait_for(&client, "hello", NULL, NULL);
    close_client(&client);
    close_service();
    CHECK(chmod(dir, 0700) == 0);
}

CASE(a_stale_socket_is_replaced_and_a_live_one_respected)
{
    struct sma_error error;
    int fd, second;
    CHECK_OK(sma_terminal_listen(socket_path, &fd, &error));
    close(fd); /* the name stays, nobody listens */
    CHECK(access(socket_path, F_OK) == 0);
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_terminal_connect(socket_path, &second, &error));
    CHECK_OK(sma_terminal_listen(socket_path, &fd, &error));
    CHECK(listen(fd, 1) == 0);
    CHECK_ERR(SMA_ERR_EXISTS, sma_terminal_listen(socket_path, &second, &error));
    CHECK(try_open_service(&error) != SMA_ERR_OK);
    CHECK(strstr(error.text, "another service") != NULL);
    free_service();
    close(fd);
    CHECK(unlink(socket_path) == 0);
}

CASE(a_path_longer_than_a_socket_address_works)
{
    char short_dir[1000], deep[1200];
    snprintf(short_dir, sizeof short_dir, "%s", dir);
    snprintf(deep, sizeof deep, "%s/%0100d", short_dir, 7);
    CHECK(mkdir(deep, 0700) == 0);
    CHECK(strlen(deep) < sizeof dir);
    memcpy(dir, deep, strlen(deep) + 1);
    snprintf(socket_path, sizeof socket_path, "%s/%s", dir, SMA_TERMINAL_SOCKET_NAME);
    open_service();
    struct client client = greeted_client("a");
    exchange(&client, "hi");
    close_client(&client);
    close_service();
    CHECK(rmdir(deep) == 0);
    snprintf(dir, sizeof dir, "%s", short_dir);
    snprintf(socket_path, sizeof socket_path, "%s/%s", dir, SMA_TERMINAL_SOCKET_NAME);
}

int main(void)
{
    snprintf(dir, sizeof dir, "%s/sma_terminal_XXXXXX",
             getenv("TMPDIR") == NULL ? "/tmp" : getenv("TMPDIR"));
    CHECK(mkdtemp(dir) != NULL);
    snprintf(socket_path, sizeof socket_path, "%s/%s", dir, SMA_TERMINAL_SOCKET_NAME);
    check_run_cases(NULL);
    CHECK(rmdir(dir) == 0);
    return check_summary();
}
