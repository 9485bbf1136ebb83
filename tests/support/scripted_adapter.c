/* scripted_adapter.c — see scripted_adapter.h. */
#include "scripted_adapter.h"

#include "fake_adapter.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#define CLIENT_COUNT_MAX 64
#define LINE_BYTES_MAX (2 * SMA_TEXT_BYTES_MAX)
#define READ_BYTES 65536

struct client
{
    uv_pipe_t pipe;
    struct scripted *scripted;
    struct sma_buf line;
    bool is_open, is_closing;
    uint64_t generation;
};
struct question
{
    uint64_t ask_id, generation;
    size_t client;
    char id[128];
};
struct scripted
{
    struct fake_adapter *fake;
    char *socket_path, *saw_path;
    uv_pipe_t listener;
    struct client clients[CLIENT_COUNT_MAX];
    struct question questions[SMA_ASK_INGRESS_COUNT_MAX];
    size_t question_count;
    uint64_t generation;
    bool is_intake_off, is_intake_told, is_listening;
    struct sma_ctx *ctx;
    char read_bytes[READ_BYTES];
};

/* -- lines out --------------------------------------------------------------------------------- */
struct out
{
    uv_write_t write;
    char text[];
};

static void on_written(uv_write_t *write, int status)
{
    (void)status;
    free(write->data);
}

static void put_line(struct client *client, const char *text)
{
    size_t len = strlen(text);
    struct out *out = malloc(sizeof *out + len + 1);
    SMA_ASSERT(out != NULL);
    memcpy(out->text, text, len + 1);
    out->write.data = out;
    uv_buf_t bytes = uv_buf_init(out->text, (unsigned)len);
    if (uv_write(&out->write, (uv_stream_t *)&client->pipe, &bytes, 1, on_written) != 0)
        free(out);
}

static void on_client_closed(uv_handle_t *handle)
{
    struct client *client = handle->data;
    sma_buf_fini(&client->line);
    client->is_open = client->is_closing = false;
}

static void close_client(struct client *client)
{
    if (!client->is_open || client->is_closing)
        return;
    client->is_closing = true;
    uv_close((uv_handle_t *)&client->pipe, on_client_closed);
}

/* -- events ------------------------------------------------------------------------------------ */
static const char *const verdicts[] = {"accepted", "duplicate", "ignored",
                                       "busy",     "conflict",  "refused"};

static void on_accepted(void *user, const struct fake_accepted *accepted)
{
    struct scripted *scripted = user;
    size_t i = 0;
    while (i < scripted->question_count && scripted->questions[i].ask_id != accepted->ask_id)
        i++;
    SMA_ASSERT(i < scripted->question_count);
    struct question question = scripted->questions[i];
    scripted->questions[i] = scripted->questions[--scripted->question_count];
    struct client *client = &scripted->clients[question.client];
    if (!client->is_open || client->is_closing || client->generation != question.generation)
        return;
    char line[256];
    SMA_ASSERT(accepted->verdict < SMA_COUNT_OF(verdicts));
    snprintf(line, sizeof line, "ACCEPTED %s %s %llu\n", question.id, verdicts[accepted->verdict],
             (unsigned long long)accepted->seq);
    put_line(client, line);
}

static void take_event(struct scripted *scripted, struct client *client, const json_t *root)
{
    struct fake_event event = {.channel = "scripted",
                               .id = json_string_value(json_object_get(root, "id")),
                               .chat = json_string_value(json_object_get(root, "chat")),
                               .user = json_string_value(json_object_get(root, "user")),
                               .text = json_string_value(json_object_get(root, "text"))};
    struct question *question = &scripted->questions[scripted->question_count];
    if (event.id == NULL || event.chat == NULL || event.text == NULL ||
        strlen(event.id) >= sizeof question->id) {
        put_line(client, "ERROR id, chat and text are needed\n");
        return;
    }
    if (event.user == NULL)
        event.user = "someone";
    if (scripted->is_intake_off)
        return; /* not acknowledged: whoever sent it sends it again */
    if (scripted->question_count == SMA_COUNT_OF(scripted->questions) ||
        fake_adapter_inject(scripted->ctx, &event, &question->ask_id) != SMA_ERR_OK) {
        put_line(client, "ERROR too many open questions\n");
        return;
    }
    question->client = (size_t)(client - scripted->clients);
    question->generation = client->generation;
    snprintf(question->id, sizeof question->id, "%s", event.id);
    scripted->question_count++;
}

static void take_lines(struct client *client)
{
    char *newline;
    while (client->line.len > 0 &&
           (newline = memchr(client->line.ptr, '\n', client->line.len)) != NULL) {
        size_t len = (size_t)(newline - client->line.ptr);
        json_t *root = json_loadb(client->line.ptr, len, 0, NULL);
        if (root == NULL)
            put_line(client, "ERROR not JSON\n");
        else
            take_event(client->scripted, client, root);
        json_decref(root);
        memmove(client->line.ptr, newline + 1, client->line.len - len - 1);
        client->line.len -= len + 1;
    }
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *bytes)
{
    (void)suggested;
    struct client *client = handle->data;
    *bytes = uv_buf_init(client->scripted->read_bytes, READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *bytes)
{
    struct client *client = stream->data;
    if (len > 0)
        sma_buf_put(&client->line, bytes->base, (size_t)len);
    if (len < 0 || client->line.err != SMA_ERR_OK)
        close_client(client);
    else
        take_lines(client);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct scripted *scripted = listener->data;
    size_t i = 0;
    while (i < CLIENT_COUNT_MAX && scripted->clients[i].is_open)
        i++;
    if (status != 0 || i == CLIENT_COUNT_MAX)
        return;
    struct client *client = &scripted->clients[i];
    *client = (struct client){
        .scripted = scripted, .is_open = true, .generation = ++scripted->generation};
    sma_buf_init(&client->line, LINE_BYTES_MAX);
    SMA_ASSERT(uv_pipe_init(listener->loop, &client->pipe, 0) == 0);
    client->pipe.data = client;
    if (uv_accept(listener, (uv_stream_t *)&client->pipe) != 0 ||
        uv_read_start((uv_stream_t *)&client->pipe, on_room, on_read) != 0)
        close_client(client);
}

/* -- life -------------------------------------------------------------------------------------- */
static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct scripted *scripted = state;
    scripted->ctx = ctx;
    (void)unlink(scripted->socket_path); /* left by an earlier life that was killed */
    SMA_ASSERT(uv_pipe_init(sma_ctx_loop(ctx), &scripted->listener, 0) == 0);
    scripted->listener.data = scripted;
    scripted->is_listening = true;
    int status = uv_pipe_bind(&scripted->listener, scripted->socket_path);
    if (status == 0)
        status = uv_listen((uv_stream_t *)&scripted->listener, CLIENT_COUNT_MAX, on_connection);
    if (status != 0)
        return sma_fail(error, SMA_ERR_IO, "scripted adapter: cannot listen on %s: %s",
                        scripted->socket_path, uv_strerror(status));
    return SMA_ERR_OK;
}

static void close_all(struct scripted *scripted)
{
    if (scripted->is_listening)
        uv_close((uv_handle_t *)&scripted->listener, NULL);
    scripted->is_listening = false;
    for (size_t i = 0; i < CLIENT_COUNT_MAX; i++)
        close_client(&scripted->clients[i]);
}

static void tell_intake(struct scripted *scripted, struct sma_ctx *ctx)
{
    if (!scripted->is_intake_off || scripted->is_intake_told || scripted->question_count > 0)
        return;
    scripted->is_intake_told = true;
    sma_ctx_life_done(ctx, SMA_PHASE_INTAKE_OFF);
}

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct scripted *scripted = state;
    if ((*msg)->kind != SMA_MSG_LIFE) {
        fake_adapter_handle(scripted->fake, msg, ctx);
        tell_intake(scripted, ctx);
        return;
    }
    unsigned phase = SMA_MSG_BODY(*msg, struct sma_life)->phase;
    if (phase == SMA_PHASE_INTAKE_OFF) {
        scripted->is_intake_off = true;
        tell_intake(scripted, ctx);
        return;
    }
    close_all(scripted);
    sma_ctx_life_done(ctx, phase);
}

static void wake(void *state, struct sma_ctx *ctx)
{
    struct scripted *scripted = state;
    fake_adapter_wake(scripted->fake, ctx);
}

static void stop(void *state, struct sma_ctx *ctx)
{
    (void)ctx;
    close_all(state);
}

static void destroy(void *state)
{
    struct scripted *scripted = state;
    if (scripted == NULL)
        return;
    fake_adapter_destroy(scripted->fake);
    free(scripted->socket_path);
    free(scripted->saw_path);
    free(scripted);
}

static enum sma_err create(const struct sma_config *config, const struct sma_config_adapter *block,
                           void **ret_state, struct sma_error *error)
{
    (void)config;
    if (block == NULL || !block->is_enabled)
        return SMA_ERR_NOTFOUND;
    json_t *root = json_loads(block->json, 0, NULL);
    const char *socket_path = json_string_value(json_object_get(root, "socket"));
    const char *saw_path = json_string_value(json_object_get(root, "saw"));
    if (socket_path == NULL || saw_path == NULL ||
        strlen(socket_path) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
        json_decref(root);
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "scripted adapter: \"socket\" (short) and \"saw\" paths are needed");
    }
    struct scripted *scripted = calloc(1, sizeof *scripted);
    SMA_ASSERT(scripted != NULL);
    scripted->socket_path = strdup(socket_path);
    scripted->saw_path = strdup(saw_path);
    SMA_ASSERT(scripted->socket_path != NULL && scripted->saw_path != NULL);
    scripted->fake = fake_adapter_create(
        &(struct fake_options){.is_idempotent = json_is_true(json_object_get(root, "isIdempotent")),
                               .on_accepted = on_accepted,
                               .user = scripted,
                               .saw_path = scripted->saw_path});
    json_decref(root);
    *ret_state = scripted;
    return SMA_ERR_OK;
}

static const struct sma_actor_ops actor_ops = {
    .name = "scripted",
    .is_on_loop = true,
    .start = start,
    .handle = handle,
    .wake = wake,
    .stop = stop,
};
const struct sma_adapter_ops scripted_adapter_ops = {
    .name = "scripted",
    .channel = "scripted",
    .actor = &actor_ops,
    .renderer_version = 1,
    .create = create,
    .destroy = destroy,
    .render = fake_adapter_render,
};
const struct sma_adapter_ops scripted_idempotent_adapter_ops = {
    .name = "scripted-idempotent",
    .channel = "scripted",
    .actor = &actor_ops,
    .capabilities = {.has_idempotency = true},
    .renderer_version = 1,
    .create = create,
    .destroy = destroy,
    .render = fake_adapter_render,
};
