/* terminal_client.c — connections and the lines they send. */
#include "terminal_priv.h"

#include "runtime/approval/card.h"
#include "sma/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void on_closed(uv_handle_t *handle)
{
    struct client *client = handle->data;
    sma_buf_fini(&client->line);
    client->is_open = client->is_closing = false;
}

void sma_terminal_close_client(struct client *client)
{
    if (!sma_terminal_is_live(client))
        return;
    client->is_closing = true;
    sma_terminal_drop_runs(client); /* the runs go on; nobody here waits for them any more */
    uv_close((uv_handle_t *)&client->pipe, on_closed);
}

/* -- one line ---------------------------------------------------------------------------------- */
static bool is_name_good(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return false;
    return len > 0 && len <= SMA_TERMINAL_CHAT_BYTES_MAX;
}

static const char *text_of(const json_t *root, const char *member, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(root, member));
    return text == NULL ? otherwise : text;
}

static void on_hello(struct client *client, const json_t *root)
{
    const char *chat = text_of(root, "chat", "main"), *user = text_of(root, "user", "local");
    json_int_t version = json_integer_value(json_object_get(root, "version"));
    char text[160];
    if (version != SMA_TERMINAL_VERSION) {
        snprintf(text, sizeof text,
                 "this service speaks version %d of the terminal protocol, the client %lld",
                 SMA_TERMINAL_VERSION, (long long)version);
        sma_terminal_put_error(client, "", text);
        sma_terminal_close_client(client);
        return;
    }
    if (!is_name_good(chat) || !is_name_good(user)) {
        snprintf(text, sizeof text,
                 "chat and user names have 1 to %d bytes and no control characters",
                 SMA_TERMINAL_CHAT_BYTES_MAX);
        sma_terminal_put_error(client, "", text);
        sma_terminal_close_client(client);
        return;
    }
    snprintf(client->chat, sizeof client->chat, "%s", chat);
    snprintf(client->user, sizeof client->user, "%s", user);
    client->is_greeted = true;
    sma_terminal_put_welcome(client);
    sma_ctx_request_batch_end(client->terminal->ctx); /* what was held for this chat goes out */
}

/* An id that the client may have given. NULL in *ret_id: none. false: a bad one. */
static bool take_id(struct client *client, const json_t *root, const char **ret_id)
{
    *ret_id = text_of(root, "id", NULL);
    if (*ret_id == NULL || (strlen(*ret_id) <= TERMINAL_ID_BYTES_MAX && **ret_id != '\0'))
        return true;
    sma_terminal_put_error(client, "", "a message id has 1 to 128 bytes");
    return false;
}

/* A button of a card was pressed: data as the card gave it, which is signed. */
static void on_press(struct client *client, const json_t *root, uint64_t read_ns)
{
    const char *id;
    struct sma_str data = sma_str(text_of(root, "data", ""));
    if (!take_id(client, root, &id))
        return;
    if (!sma_card_is_ours(data) || data.len > SMA_CARD_DATA_BYTES_MAX) {
        sma_terminal_put_error(client, id == NULL ? "" : id, "this is no button of a card");
        return;
    }
    sma_terminal_ask_ingress(
        client, &(struct said){.id = id, .text = data, .is_press = true, .read_ns = read_ns});
}

static void on_message(struct client *client, const json_t *root, uint64_t read_ns)
{
    const char *id;
    const json_t *text = json_object_get(root, "text");
    struct sma_str bytes = {json_string_value(text), json_string_length(text)};
    if (!take_id(client, root, &id))
        return;
    const char *reply_id = id == NULL ? "" : id;
    bool has_files = json_array_size(json_object_get(root, "attachments")) > 0;
    if (!json_is_string(text) || (sma_str_trim(bytes).len == 0 && !has_files)) {
        sma_terminal_put_error(client, reply_id, "the message has no text");
        return;
    }
    if (bytes.len > SMA_TEXT_BYTES_MAX) {
        sma_terminal_put_error(client, reply_id,
                               "the message is longer than 1 MiB: send it in parts");
        return;
    }
    struct said said = {.id = id, .text = bytes, .read_ns = read_ns};
    struct sma_buf whole;
    struct sma_error error;
    sma_buf_init(&whole, SMA_TEXT_BYTES_MAX);
    if (sma_terminal_take_files(client->terminal, root, &said, &whole, &error) == SMA_ERR_OK)
        sma_terminal_ask_ingress(client, &said);
    else
        sma_terminal_put_error(client, reply_id, error.text);
    free(said.files);
    sma_buf_fini(&whole);
}

static void take_line(struct client *client, struct sma_str line, uint64_t read_ns)
{
    if (sma_str_trim(line).len == 0)
        return;
    json_error_t error;
    json_t *root = json_loadb(line.ptr, line.len, 0, &error);
    const char *type = text_of(root, "type", "");
    if (!json_is_object(root))
        sma_terminal_put_error(client, "", root == NULL ? error.text : "a line is a JSON object");
    else if (strcmp(type, "hello") == 0)
        on_hello(client, root);
    else if (!client->is_greeted)
        sma_terminal_put_error(client, "", "the first line is a hello");
    else if (strcmp(type, "message") == 0)
        on_message(client, root, read_ns);
    else if (strcmp(type, "press") == 0)
        on_press(client, root, read_ns);
    else if (strcmp(type, "stop") == 0)
        sma_terminal_ask_ingress(client,
                                 &(struct said){.text = SMA_STR("/stop"), .read_ns = read_ns});
    json_decref(root);
}

static void take_lines(struct client *client)
{
    uint64_t read_ns = sma_ctx_now(client->terminal->ctx);
    struct sma_buf *buf = &client->line;
    size_t begin = 0;
    while (sma_terminal_is_live(client) && begin < buf->len) {
        size_t from =
            client->line_taken > begin ? client->line_taken : begin; /* looked at before */
        const char *newline = memchr(buf->ptr + from, '\n', buf->len - from);
        if (newline == NULL)
            break;
        size_t end = (size_t)(newline - buf->ptr);
        take_line(client, (struct sma_str){buf->ptr + begin, end - begin}, read_ns);
        begin = end + 1;
    }
    if (begin > 0)
        memmove(buf->ptr, buf->ptr + begin, buf->len - begin);
    buf->len -= begin;
    client->line_taken = buf->len;
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *bytes)
{
    (void)suggested;
    struct client *client = handle->data;
    *bytes = uv_buf_init(client->terminal->read_bytes, TERMINAL_READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *bytes)
{
    struct client *client = stream->data;
    if (len == 0)
        return;
    if (len < 0) {
        sma_terminal_close_client(client);
        return;
    }
    sma_buf_put(&client->line, bytes->base, (size_t)len);
    if (client->line.err == SMA_ERR_OK)
        take_lines(client);
    if (client->line.err == SMA_ERR_OK && client->line.len <= SMA_TERMINAL_LINE_BYTES_MAX)
        return;
    sma_terminal_put_error(client, "", "a line is longer than 2 MiB");
    sma_terminal_close_client(client);
}

/* -- a new connection -------------------------------------------------------------------------- */
static void on_refused_closed(uv_handle_t *handle)
{
    free(handle);
}

/* Accept it only to say why not: left alone it would wait for ever. */
static void refuse(uv_stream_t *listener)
{
    static const char text[] = "{\"type\":\"error\",\"id\":\"\",\"text\":\"too many terminals are "
                               "connected: close one first\"}\n";
    uv_pipe_t *pipe = malloc(sizeof *pipe);
    if (pipe == NULL || uv_pipe_init(listener->loop, pipe, 0) != 0) {
        free(pipe);
        return;
    }
    uv_buf_t bytes = uv_buf_init((char *)(uintptr_t)text, sizeof text - 1);
    if (uv_accept(listener, (uv_stream_t *)pipe) == 0)
        (void)uv_try_write((uv_stream_t *)pipe, &bytes,
                           1); /* best effort: it is refused either way */
    uv_close((uv_handle_t *)pipe, on_refused_closed);
}

/* A command in a sandbox can reach any socket whose path it sees, and whoever talks here is an
 * owner. Such a process has a number of its own in a process namespace below ours; its status file
 * lists both. Whose status cannot be read is let in. */
static bool is_from_sandbox(const struct ucred *peer)
{
    char path[48], text[4096];
    if (peer->pid <= 0)
        return false;
    snprintf(path, sizeof path, "/proc/%d/status", (int)peer->pid);
    int status = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = status < 0 ? -1 : read(status, text, sizeof text - 1);
    if (status >= 0)
        close(status);
    text[count > 0 ? count : 0] = '\0';
    int outer, inner;
    const char *line = strstr(text, "\nNSpid:");
    return line != NULL && sscanf(line + 7, "%*[\t ]%d%*[\t ]%d", &outer, &inner) == 2;
}

/* The modes of .ship and of the socket keep others out; they can be changed, and a folder can be
 * shared. Root may read and do everything here anyway. NULL: served. */
static const char *why_not_served(const struct client *client)
{
    uv_os_fd_t fd;
    struct ucred peer;
    socklen_t len = sizeof peer;
    if (uv_fileno((const uv_handle_t *)&client->pipe, &fd) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
        return "the system does not say who you are";
    if (peer.uid != geteuid() && peer.uid != 0)
        return "only the user who runs the service is served here; others use the HTTP API with "
               "its token";
    if (is_from_sandbox(&peer))
        return "terminals inside of a sandbox or a container are not served: use one outside";
    return NULL;
}

void sma_terminal_on_connection(uv_stream_t *listener, int status)
{
    struct terminal *terminal = listener->data;
    if (status != 0)
        return;
    size_t i = 0;
    while (i < SMA_TERMINAL_CLIENT_COUNT_MAX && terminal->clients[i].is_open)
        i++;
    if (i == SMA_TERMINAL_CLIENT_COUNT_MAX) {
        refuse(listener);
        return;
    }
    struct client *client = &terminal->clients[i];
    *client = (struct client){.terminal = terminal};
    if (uv_pipe_init(listener->loop, &client->pipe, 0) != 0)
        return;
    client->is_open = true;
    client->pipe.data = client;
    sma_buf_init(&client->line, SMA_TERMINAL_LINE_BYTES_MAX + TERMINAL_READ_BYTES);
    if (uv_accept(listener, (uv_stream_t *)&client->pipe) != 0 ||
        uv_read_start((uv_stream_t *)&client->pipe, on_room, on_read) != 0) {
        sma_terminal_close_client(client);
        return;
    }
    const char *why = why_not_served(client);
    if (why != NULL) {
        sma_terminal_put_error(client, "", why);
        sma_terminal_close_client(client);
        return;
    }
    char hello[64];
    int len = snprintf(hello, sizeof hello, "{\"type\":\"hello\",\"version\":%d}\n",
                       SMA_TERMINAL_VERSION);
    (void)sma_terminal_put(client, (struct sma_str){hello, (size_t)len},
                           NULL); /* false: it is closing already */
}
