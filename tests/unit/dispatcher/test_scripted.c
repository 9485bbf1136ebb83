/*
 * Aim: the scripted platform of the crash tests acknowledges only what the store accepted, writes
 *      what it saw before it answers, and remembers keys over a restart when told to.
 * Method: the adapter on its thread behind a real socket, the real dispatcher, a store of a few
 * lines; two lives.
 */
#include "sma/actors.h"
#include "support/check.h"
#include "support/scripted_adapter.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ADAPTER_ID SMA_ACTOR_ADAPTER_0

static char dir[200], socket_path[300], saw_path[300], json[1000];
static uint64_t row_id;
static _Atomic unsigned receipt_count;

static void take_ingress(struct sma_msg *question, struct sma_ctx *ctx)
{
    const struct sma_ingress *ingress = SMA_MSG_BODY(question, struct sma_ingress);
    struct sma_msg *row = SMA_MSG_NEW(SMA_MSG_DELIVER, struct sma_deliver,
                                      sma_route_space(&ingress->route) + ingress->text.len + 1);
    struct sma_deliver *deliver = SMA_MSG_BODY(row, struct sma_deliver);
    deliver->outbox_id = ++row_id;
    deliver->seq = row_id;
    deliver->is_repeat = true;
    deliver->route = sma_route_dup(row, &ingress->route);
    deliver->text = sma_msg_dup(row, ingress->text);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_ACCEPTED, struct sma_accepted, 0);
    SMA_MSG_BODY(msg, struct sma_accepted)->seq = row_id;
    sma_ctx_answer(ctx, question, &msg);
    CHECK_OK(sma_ctx_send(ctx, SMA_ACTOR_DISPATCHER, &row));
}

static void store_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    if ((*msg)->kind == SMA_MSG_INGRESS)
        take_ingress(*msg, ctx);
    if ((*msg)->kind == SMA_MSG_LIFE)
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
    if ((*msg)->kind != SMA_MSG_RECEIPT)
        return;
    struct sma_msg *done = SMA_MSG_NEW(SMA_MSG_RECEIPT_DONE, struct sma_receipt_done, 0);
    SMA_MSG_BODY(done, struct sma_receipt_done)->outbox_id =
        SMA_MSG_BODY(*msg, struct sma_receipt)->outbox_id;
    sma_ctx_answer(ctx, *msg, &done);
    atomic_fetch_add(&receipt_count, 1);
}

static const struct sma_actor_ops store_ops = {.name = "store", .handle = store_handle};

struct life
{
    struct sma_system *system;
    struct sma_dispatcher *dispatcher;
    struct sma_adapter adapter;
    struct sma_config config;
    int stop_pipe[2];
    pthread_t thread;
};
static struct life life;

static void *supervise(void *argument)
{
    (void)argument;
    struct sma_supervise_options options = {.stop_fd = life.stop_pipe[0], .leaves_signals = true};
    CHECK_INT(0, sma_system_supervise(life.system, &options));
    return NULL;
}

static void begin_life(const struct sma_adapter_ops *ops)
{
    struct sma_config_adapter block = {.name = ops->name, .is_enabled = true, .json = json};
    struct sma_system_options options = {0};
    struct sma_error error;
    row_id = 0;
    atomic_store(&receipt_count, 0);
    life = (struct life){.adapter = {.ops = ops, .actor = ADAPTER_ID}};
    life.system = sma_system_create(&options);
    CHECK_OK(ops->create(&life.config, &block, &life.adapter.state, &error));
    struct sma_dispatcher_options dispatcher = {&life.config, &life.adapter, 1};
    CHECK_OK(sma_dispatcher_create(&dispatcher, &life.dispatcher, &error));
    CHECK_OK(sma_system_add(life.system, SMA_ACTOR_STORE, &store_ops, NULL));
    CHECK_OK(sma_system_add(life.system, SMA_ACTOR_DISPATCHER, &sma_dispatcher_actor_ops,
                            life.dispatcher));
    CHECK_OK(sma_system_add(life.system, ADAPTER_ID, ops->actor, life.adapter.state));
    CHECK_OK(sma_system_start(life.system, &error));
    CHECK(pipe(life.stop_pipe) == 0);
    CHECK(pthread_create(&life.thread, NULL, supervise, NULL) == 0);
}

static void end_life(void)
{
    CHECK(write(life.stop_pipe[1], "x", 1) == 1);
    CHECK(pthread_join(life.thread, NULL) == 0);
    sma_system_destroy(life.system);
    sma_dispatcher_destroy(life.dispatcher);
    life.adapter.ops->destroy(life.adapter.state);
    close(life.stop_pipe[0]);
    close(life.stop_pipe[1]);
}

static FILE *connect_client(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", socket_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(connect(fd, (const struct sockaddr *)&address, sizeof address) == 0);
    struct timeval patience = {.tv_sec = 10};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    FILE *client = fdopen(fd, "r+");
    CHECK(client != NULL);
    return client;
}

static void expect(FILE *client, const char *question, const char *answer)
{
    char line[300];
    CHECK(send(fileno(client), question, strlen(question), MSG_NOSIGNAL) ==
          (ssize_t)strlen(question));
    CHECK(fgets(line, sizeof line, client) != NULL);
    CHECK_TEXT(answer, line);
}

static void run_life(const struct sma_adapter_ops *ops, const char *text)
{
    char event[300];
    begin_life(ops);
    FILE *client = connect_client();
    expect(client, "nonsense\n", "ERROR not JSON\n");
    expect(client, "{\"id\":\"e1\"}\n", "ERROR id, chat and text are needed\n");
    snprintf(event, sizeof event, "{\"id\":\"e1\",\"chat\":\"c\",\"user\":\"u\",\"text\":\"%s\"}\n",
             text);
    expect(client, event, "ACCEPTED e1 accepted 1\n");
    for (int i = 0; i < 10000 && atomic_load(&receipt_count) == 0; i++)
        usleep(1000); /* bounded wait for the receipt: there is nothing to read for it */
    CHECK_INT(1, atomic_load(&receipt_count));
    fclose(client);
    end_life();
}

static void check_saw(const char *wanted)
{
    char *bytes;
    size_t len;
    CHECK_OK(sma_sys_read_file(sma_sys_real(), saw_path, 10000, &bytes, &len, NULL));
    CHECK_TEXT(wanted, bytes);
    free(bytes);
}

CASE(what_was_seen_outlives_the_process)
{
    snprintf(json, sizeof json, "{\"socket\":\"%s\",\"saw\":\"%s\",\"isIdempotent\":true}",
             socket_path, saw_path);
    run_life(&scripted_idempotent_adapter_ops, "hello \\\"you\\\"");
    check_saw("SAW c 1.0 \"hello \\\"you\\\"\"\n");
    run_life(&scripted_idempotent_adapter_ops, "hello again"); /* same key: hidden */
    check_saw("SAW c 1.0 \"hello \\\"you\\\"\"\n");
    snprintf(json, sizeof json, "{\"socket\":\"%s\",\"saw\":\"%s\"}", socket_path, saw_path);
    run_life(&scripted_adapter_ops, "hello"); /* no idempotency: a visible duplicate */
    check_saw("SAW c 1.0 \"hello \\\"you\\\"\"\nSAW c 1.0 \"hello\"\n");
}

CASE(a_bad_block_is_refused_with_one_line)
{
    struct sma_config config = {0};
    struct sma_config_adapter block = {.name = "scripted", .is_enabled = true, .json = "{}"};
    struct sma_error error;
    void *state;
    CHECK_ERR(SMA_ERR_BADINPUT, scripted_adapter_ops.create(&config, &block, &state, &error));
    CHECK(strstr(error.text, "socket") != NULL);
    block.is_enabled = false;
    CHECK_ERR(SMA_ERR_NOTFOUND, scripted_adapter_ops.create(&config, &block, &state, &error));
}

int main(void)
{
    snprintf(dir, sizeof dir, "/tmp/sma_scripted_XXXXXX");
    CHECK(mkdtemp(dir) != NULL);
    snprintf(socket_path, sizeof socket_path, "%s/s", dir);
    snprintf(saw_path, sizeof saw_path, "%s/saw", dir);
    check_run_cases(NULL);
    (void)unlink(socket_path);
    CHECK(unlink(saw_path) == 0);
    CHECK(rmdir(dir) == 0);
    return check_summary();
}
