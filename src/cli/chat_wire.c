/* chat_wire.c — see chat_wire.h. */
#include "chat_wire.h"

#include "adapters/terminal/terminal.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

void sma_wire_init(struct sma_chat_link *wire, sma_wire_fn *on, void *user)
{
    uint64_t random;
    const struct sma_sys *sys = sma_sys_real();
    *wire = (struct sma_chat_link){.fd = -1, .on = on, .user = user};
    sma_buf_init(&wire->input, CHAT_LINE_BYTES_MAX);
    sys->random_bytes(sys->self, &random, sizeof random);
    snprintf(wire->id_prefix, sizeof wire->id_prefix, "%016llx", (unsigned long long)random);
}

static void close_wire(struct sma_chat_link *wire)
{
    if (wire->fd >= 0)
        close(wire->fd);
    wire->fd = -1;
}

static void destroy_message(struct sma_wire_message *message)
{
    sma_buf_fini(&message->line);
    free(message);
}

void sma_wire_fini(struct sma_chat_link *wire)
{
    close_wire(wire);
    while (wire->first != NULL) {
        struct sma_wire_message *message = wire->first;
        wire->first = message->next;
        destroy_message(message);
    }
    sma_buf_fini(&wire->input);
}

/* -- to the service ---------------------------------------------------------------------------- */
static void take_lines(struct sma_chat_link *wire);

/* What the service said before it closed, as why it does: a write may fail before it was read. */
static void read_rest(struct sma_chat_link *wire)
{
    char bytes[4096];
    ssize_t len;
    while ((len = recv(wire->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        sma_buf_put(&wire->input, bytes, (size_t)len);
    take_lines(wire);
}

/* The connection has ended: its messages have to go again. */
static void lose(struct sma_chat_link *wire)
{
    if (wire->is_losing)
        return;
    wire->is_losing = true;
    read_rest(wire);
    wire->is_losing = false;
    close_wire(wire);
    sma_buf_clear(&wire->input);
    for (struct sma_wire_message *message = wire->first; message != NULL; message = message->next)
        message->state = message->state == WIRE_PARKED ? WIRE_PARKED : WIRE_KEPT;
    wire->on(wire->user, WIRE_LOST, NULL, NULL);
}

static bool put_line(const struct sma_chat_link *wire, struct sma_str line)
{
    for (size_t at = 0; at < line.len;) {
        ssize_t done = send(wire->fd, line.ptr + at, line.len - at, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += (size_t)done;
    }
    return true;
}

static void begin_line(struct sma_buf *line, const char *type)
{
    sma_buf_init(line, CHAT_LINE_BYTES_MAX);
    sma_buf_printf(line, "{\"type\":\"%s\"", type);
}

static bool send_hello(const struct sma_chat_link *wire)
{
    struct sma_buf line;
    begin_line(&line, "hello");
    sma_buf_put_json_number(&line, "version", SMA_TERMINAL_VERSION);
    sma_buf_put_json_member(&line, "chat", sma_str(wire->chat));
    sma_buf_put_json_member(&line, "user", sma_str(wire->user_name));
    sma_buf_put_text(&line, "}\n");
    bool is_sent = line.err == SMA_ERR_OK && put_line(wire, sma_buf_str(&line));
    sma_buf_fini(&line);
    return is_sent;
}

enum sma_err sma_wire_open(struct sma_chat_link *wire, const char *socket_path,
                           struct sma_error *error)
{
    SMA_TRY(sma_terminal_connect(socket_path, &wire->fd, error));
    wire->was_greeted = false;
    wire->connection_count++;
    bool is_sent = send_hello(wire);
    for (struct sma_wire_message *message = wire->first; is_sent && message != NULL;
         message = message->next) {
        is_sent = put_line(wire, sma_buf_str(&message->line));
        message->is_again = message->is_again || message->seq != 0;
        if (message->state == WIRE_KEPT)
            message->state = WIRE_SENT;
    }
    if (!is_sent)
        lose(wire);
    return SMA_ERR_OK;
}

static void let_go(struct sma_chat_link *wire, struct sma_wire_message *message)
{
    struct sma_wire_message **link = &wire->first;
    while (*link != NULL && *link != message)
        link = &(*link)->next;
    if (*link == NULL)
        return;
    *link = message->next;
    destroy_message(message);
}

/* Some parked run never says a word, as one that was stopped: the oldest makes room. */
static unsigned make_room(struct sma_chat_link *wire)
{
    struct sma_wire_message *oldest = NULL;
    unsigned count = 0;
    for (struct sma_wire_message *message = wire->first; message != NULL; message = message->next) {
        if (oldest == NULL && message->state == WIRE_PARKED)
            oldest = message;
        count++;
    }
    if (count < CHAT_OPEN_COUNT_MAX || oldest == NULL)
        return count;
    let_go(wire, oldest);
    return count - 1;
}

/* Keep it, and send it if there is somebody to send it to. */
static enum sma_err keep(struct sma_chat_link *wire, struct sma_wire_message *message)
{
    unsigned count = make_room(wire);
    struct sma_wire_message **end = &wire->first;
    while (*end != NULL)
        end = &(*end)->next;
    enum sma_err err = message->line.err;
    if (err == SMA_ERR_OK && count >= CHAT_OPEN_COUNT_MAX)
        err = SMA_ERR_FULL;
    if (err != SMA_ERR_OK) {
        destroy_message(message);
        return err;
    }
    *end = message;
    if (wire->fd < 0)
        return SMA_ERR_OK;
    message->state = WIRE_SENT;
    if (!put_line(wire, sma_buf_str(&message->line)))
        lose(wire);
    return SMA_ERR_OK;
}

static struct sma_wire_message *new_message(struct sma_chat_link *wire, const char *type)
{
    struct sma_wire_message *message = calloc(1, sizeof *message);
    if (message == NULL)
        return NULL;
    snprintf(message->id, sizeof message->id, "%s-%u", wire->id_prefix, ++wire->message_count);
    begin_line(&message->line, type);
    sma_buf_put_json_member(&message->line, "id", sma_str(message->id));
    return message;
}

enum sma_err sma_wire_send(struct sma_chat_link *wire, struct sma_str text,
                           struct sma_str files_json)
{
    struct sma_wire_message *message = new_message(wire, "message");
    if (message == NULL)
        return SMA_ERR_NOMEM;
    sma_buf_put_json_member(&message->line, "text", text);
    if (files_json.len > 0) {
        sma_buf_put_text(&message->line, ",\"attachments\":[");
        sma_buf_put_str(&message->line, files_json);
        sma_buf_put_char(&message->line, ']');
    }
    sma_buf_put_text(&message->line, "}\n");
    return keep(wire, message);
}

enum sma_err sma_wire_press(struct sma_chat_link *wire, struct sma_str data)
{
    struct sma_wire_message *message = new_message(wire, "press");
    if (message == NULL)
        return SMA_ERR_NOMEM;
    message->is_press = true;
    sma_buf_put_json_member(&message->line, "data", data);
    sma_buf_put_text(&message->line, "}\n");
    return keep(wire, message);
}

void sma_wire_stop(struct sma_chat_link *wire)
{
    if (wire->fd >= 0 && !put_line(wire, SMA_STR("{\"type\":\"stop\"}\n")))
        lose(wire);
}

unsigned sma_wire_open_count(const struct sma_chat_link *wire)
{
    unsigned count = 0;
    for (const struct sma_wire_message *message = wire->first; message != NULL;
         message = message->next)
        count += message->state != WIRE_PARKED && !message->is_press;
    return count;
}

/* -- from the service -------------------------------------------------------------------------- */
struct sma_str sma_wire_text(const json_t *root, const char *member)
{
    const json_t *text = json_object_get(root, member);
    if (!json_is_string(text))
        return SMA_STR("");
    return (struct sma_str){json_string_value(text), json_string_length(text)};
}

bool sma_wire_is_unseen(const struct sma_wire_message *message, struct sma_str output)
{
    output = sma_str_trim(output);
    if (output.len == 0 || !message->has_text)
        return output.len > 0;
    return message->is_again &&
           (message->tail_len > output.len || memcmp(output.ptr + output.len - message->tail_len,
                                                     message->tail, message->tail_len) != 0);
}

static void note_text(struct sma_wire_message *message, struct sma_str text)
{
    text = sma_str_trim(text);
    message->has_text = true;
    message->tail_len = text.len < sizeof message->tail ? text.len : sizeof message->tail;
    if (message->tail_len > 0)
        memcpy(message->tail, text.ptr + text.len - message->tail_len, message->tail_len);
}

static struct sma_wire_message *find(const struct sma_chat_link *wire, struct sma_str id)
{
    struct sma_wire_message *message = wire->first;
    while (message != NULL && !sma_str_is_equal(sma_str(message->id), id))
        message = message->next;
    return message;
}

/* Was this seen on an earlier connection? If not it is noted. */
static bool was_seen(struct sma_chat_link *wire, json_int_t seq, struct sma_str text)
{
    struct sma_wire_seen now = {.seq = seq, .len = text.len, .connection = wire->connection_count};
    size_t tail = text.len < sizeof now.tail ? text.len : sizeof now.tail;
    if (seq == 0 || text.len == 0)
        return false;
    memcpy(now.tail, text.ptr + text.len - tail, tail);
    for (size_t i = 0; i < CHAT_SEEN_COUNT; i++) {
        const struct sma_wire_seen *before = &wire->seen[i];
        if (before->seq == seq && before->len == text.len &&
            before->connection != wire->connection_count &&
            memcmp(before->tail, now.tail, sizeof now.tail) == 0)
            return true;
    }
    wire->seen[wire->seen_next++ % CHAT_SEEN_COUNT] = now;
    return false;
}

/* An answer of a run: whoever asked has it, and one that had waited for people is over with it. */
static void on_delivery(struct sma_chat_link *wire, const json_t *root)
{
    json_int_t seq = json_integer_value(json_object_get(root, "seq"));
    struct sma_str intent = sma_wire_text(root, "intent");
    bool is_answer = !sma_str_is_equal(intent, SMA_STR("approval")) &&
                     !sma_str_is_equal(intent, SMA_STR("outcome")) &&
                     !sma_str_is_equal(intent, SMA_STR("notice"));
    if (!was_seen(wire, seq, sma_wire_text(root, "text")))
        wire->on(wire->user, WIRE_DELIVERY, root, NULL);
    for (struct sma_wire_message *message = wire->first, *next; message != NULL; message = next) {
        next = message->next;
        if (!is_answer || seq == 0 || message->seq != seq)
            continue;
        note_text(message, sma_wire_text(root, "text"));
        if (message->state == WIRE_PARKED)
            let_go(wire, message);
    }
}

static void on_done(struct sma_chat_link *wire, const json_t *root,
                    struct sma_wire_message *message)
{
    bool is_parked = sma_str_is_equal(sma_wire_text(root, "state"), SMA_STR("parked"));
    wire->on(wire->user, WIRE_DONE, root, message);
    if (message == NULL)
        return;
    if (is_parked)
        message->state = WIRE_PARKED;
    else
        let_go(wire, message);
}

/* What the service could not take because it stops is kept for its successor. */
static void on_error(struct sma_chat_link *wire, const json_t *root,
                     struct sma_wire_message *message)
{
    bool is_stopping = json_is_true(json_object_get(root, "stopping"));
    if (is_stopping && message != NULL) {
        message->state = WIRE_KEPT;
        return;
    }
    wire->on(wire->user, WIRE_ERROR, root, message);
    if (message != NULL)
        let_go(wire, message);
}

static void on_accepted(struct sma_chat_link *wire, const json_t *root,
                        struct sma_wire_message *message)
{
    if (message != NULL) {
        message->seq = json_integer_value(json_object_get(root, "seq"));
        message->state = message->state == WIRE_PARKED ? WIRE_PARKED : WIRE_ACCEPTED;
    }
    wire->on(wire->user, WIRE_TAKEN, root, message);
}

static void take_line(struct sma_chat_link *wire, struct sma_str line)
{
    json_t *root = json_loadb(line.ptr, line.len, 0, NULL);
    struct sma_str type = sma_wire_text(root, "type");
    struct sma_wire_message *message = find(wire, sma_wire_text(root, "id"));
    if (root == NULL)
        wire->on(wire->user, WIRE_STRANGE, NULL, NULL);
    else if (sma_str_is_equal(type, SMA_STR("hello")))
        wire->was_greeted = true;
    else if (sma_str_is_equal(type, SMA_STR("welcome")))
        wire->on(wire->user, WIRE_WELCOME, root, NULL);
    else if (sma_str_is_equal(type, SMA_STR("message")))
        on_delivery(wire, root);
    else if (sma_str_is_equal(type, SMA_STR("progress")))
        wire->on(wire->user, WIRE_PROGRESS, root, NULL);
    else if (sma_str_is_equal(type, SMA_STR("waiting")))
        wire->on(wire->user, WIRE_WAITING, root, message);
    else if (sma_str_is_equal(type, SMA_STR("done")))
        on_done(wire, root, message);
    else if (sma_str_is_equal(type, SMA_STR("error")))
        on_error(wire, root, message);
    else if (sma_str_is_equal(type, SMA_STR("accepted")))
        on_accepted(wire, root, message);
    json_decref(root);
}

/* Take whole lines off the front of the input. A call may lose the connection. */
static void take_lines(struct sma_chat_link *wire)
{
    struct sma_buf *buf = &wire->input;
    size_t begin = 0;
    char *newline;
    while (wire->fd >= 0 && begin < buf->len &&
           (newline = memchr(buf->ptr + begin, '\n', buf->len - begin)) != NULL) {
        size_t end = (size_t)(newline - buf->ptr);
        take_line(wire, (struct sma_str){buf->ptr + begin, end - begin});
        begin = end + 1;
    }
    if (wire->fd < 0)
        return; /* the input went with it */
    if (begin > 0)
        memmove(buf->ptr, buf->ptr + begin, buf->len - begin);
    buf->len -= begin;
}

void sma_wire_read(struct sma_chat_link *wire)
{
    char bytes[65536];
    ssize_t len = recv(wire->fd, bytes, sizeof bytes, 0);
    if (len < 0 && errno == EINTR)
        return;
    if (len > 0)
        sma_buf_put(&wire->input, bytes, (size_t)len);
    if (len > 0 && wire->input.err == SMA_ERR_OK)
        take_lines(wire);
    else
        lose(wire);
}
