/*
 * openai_body.c — the JSON of POST /v1/chat/completions and /v1/responses, read as one message to
 * the agent.
 *
 * New is what the user's side says after the last answer; the rest is what the agent remembers by
 * itself, unless the conversation is unknown: then it is told what was said before. What samples
 * differently (temperature and the like) is passed over, since the project says how its agent
 * samples; what would change what the caller gets (tools of its own, several answers, JSON by a
 * schema) is refused.
 */
#include "openai.h"

#include <jansson.h>
#include <stdio.h>

/* A body while it is read. */
struct reading
{
    struct sma_http *http;
    struct http_openai *openai;
    json_t *root;
    const json_t *items; /* array, or a string: all that is said */
    size_t answer_count, last_answer;
    struct sma_buf system, history, words;
    json_t *files;
    struct http_openai_key key; /* of the words up to the last answer */
    uint64_t id;                /* digest of the message id; 0 = the caller gave none */
};

static struct sma_str string_in(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return (struct sma_str){json_string_value(value), json_string_length(value)};
}

static bool is_absent(const json_t *value)
{
    return value == NULL || json_is_null(value);
}

/* -- members that change what is done ---------------------------------------------------------- */
static SMA_CHECKED enum sma_err refuse(struct http_openai *openai, const char *param,
                                       const char *why, struct sma_error *error)
{
    openai->param = param;
    return sma_fail(error, SMA_ERR_BADINPUT, "%s", why);
}

static bool is_word(const json_t *object, const char *name, const char *word)
{
    return sma_str_is_equal(string_in(object, name), sma_str(word));
}

/* An object {"type": ...} whose type is not "text". */
static bool wants_format(const json_t *format)
{
    return json_is_object(format) && !is_word(format, "type", "text");
}

static SMA_CHECKED enum sma_err refuse_wishes(const struct reading *reading,
                                              struct sma_error *error)
{
    const json_t *root = reading->root;
    struct http_openai *openai = reading->openai;
    bool no_tools = is_word(root, "tool_choice", "none"),
         no_functions = is_word(root, "function_call", "none");
    if (json_array_size(json_object_get(root, "tools")) > 0 && !no_tools)
        return refuse(openai, "tools",
                      "The agent has tools of its own and calls none of the caller: leave out "
                      "tools, or send tool_choice \"none\"",
                      error);
    if (json_array_size(json_object_get(root, "functions")) > 0 && !no_functions && !no_tools)
        return refuse(openai, "functions",
                      "The agent has tools of its own and calls no functions of the caller", error);
    if (json_integer_value(json_object_get(root, "n")) > 1)
        return refuse(openai, "n", "There is one answer: n must be 1", error);
    if (json_is_true(json_object_get(root, "background")))
        return refuse(openai, "background",
                      "background is not served: use POST /api/execute with Prefer: "
                      "respond-async",
                      error);
    if (wants_format(json_object_get(root, "response_format")))
        return refuse(openai, "response_format", "The agent answers in text, not by a schema",
                      error);
    if (wants_format(json_object_get(json_object_get(root, "text"), "format")))
        return refuse(openai, "text.format", "The agent answers in text, not by a schema", error);
    if (openai->is_responses && !is_absent(json_object_get(root, "prompt")))
        return refuse(openai, "prompt", "There are no stored prompts here", error);
    return SMA_ERR_OK;
}

/* Absent, null, or a string of so many bytes; it is copied. */
static SMA_CHECKED enum sma_err copy_string(struct http_openai *openai, const json_t *value,
                                            const char *param, struct sma_buf *text,
                                            struct sma_error *error)
{
    if (is_absent(value))
        return SMA_ERR_OK;
    struct sma_str given =
        sma_str_trim((struct sma_str){json_string_value(value), json_string_length(value)});
    openai->param = param;
    if (!json_is_string(value) || given.len > text->max || memchr(given.ptr, 0, given.len) != NULL)
        return sma_fail(error, SMA_ERR_BADINPUT, "%s must be a string of at most %zu bytes", param,
                        text->max);
    sma_buf_put_str(text, given);
    openai->param = NULL;
    return SMA_ERR_OK;
}

/* The same into an array of so many bytes and a zero. */
static SMA_CHECKED enum sma_err take_string(struct http_openai *openai, const json_t *value,
                                            const char *param, char *place, size_t bytes_max,
                                            struct sma_error *error)
{
    struct sma_buf text;
    sma_buf_init(&text, bytes_max);
    enum sma_err err = copy_string(openai, value, param, &text, error);
    if (err == SMA_ERR_OK && text.err != SMA_ERR_OK)
        err = sma_fail(error, text.err, "Out of memory: send it again");
    if (err == SMA_ERR_OK && text.len > 0)
        (void)snprintf(place, bytes_max + 1, "%.*s", (int)text.len, text.ptr);
    sma_buf_fini(&text);
    return err;
}

static SMA_CHECKED enum sma_err read_options(const struct reading *reading, struct sma_error *error)
{
    struct http_openai *openai = reading->openai;
    const json_t *root = reading->root, *stream = json_object_get(root, "stream");
    if (!is_absent(stream) && !json_is_boolean(stream))
        return refuse(openai, "stream", "stream must be true or false", error);
    SMA_TRY(refuse_wishes(reading, error));
    openai->wants_stream = json_is_true(stream);
    openai->wants_usage =
        json_is_true(json_object_get(json_object_get(root, "stream_options"), "include_usage"));
    SMA_TRY(take_string(openai, json_object_get(root, "model"), "model", openai->model,
                        HTTP_OPENAI_MODEL_BYTES_MAX, error));
    if (openai->model[0] == '\0')
        (void)snprintf(openai->model, sizeof openai->model, "%s", reading->http->config->name);
    SMA_TRY(take_string(openai, json_object_get(root, "safety_identifier"), "safety_identifier",
                        openai->user_id, SMA_ID_BYTES_MAX, error));
    if (openai->user_id[0] == '\0')
        SMA_TRY(take_string(openai, json_object_get(root, "user"), "user", openai->user_id,
                            SMA_ID_BYTES_MAX, error));
    if (openai->user_id[0] == '\0')
        (void)snprintf(openai->user_id, sizeof openai->user_id, "api");
    return SMA_ERR_OK;
}

/* -- the name of the conversation -------------------------------------------------------------- */
/* "resp_17_<chat in hex>", see openai_json.c. */
static bool read_previous(struct http_openai *openai)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = openai->previous + strspn(openai->previous, "resp_0123456789");
    const char *mark = strrchr(openai->previous, '_');
    if (strncmp(openai->previous, "resp_", 5) != 0 || mark < openai->previous + 5 || at < mark)
        return false;
    size_t len = strlen(++mark);
    if (len == 0 || len % 2 != 0 || len / 2 > SMA_ID_BYTES_MAX || strspn(mark, digits) != len)
        return false;
    for (size_t i = 0; i < len / 2; i++) {
        size_t high = (size_t)(strchr(digits, mark[2 * i]) - digits);
        size_t low = (size_t)(strchr(digits, mark[2 * i + 1]) - digits);
        openai->chat_id[i] = (char)(high * 16 + low);
    }
    openai->chat_id[len / 2] = '\0';
    return sma_utf8_is_valid(sma_str(openai->chat_id)) && strlen(openai->chat_id) == len / 2;
}

static SMA_CHECKED enum sma_err read_conversation(const struct reading *reading,
                                                  struct sma_error *error)
{
    struct http_openai *openai = reading->openai;
    const json_t *value = json_object_get(reading->root, "conversation");
    value = json_is_object(value) ? json_object_get(value, "id") : value;
    SMA_TRY(
        take_string(openai, value, "conversation", openai->conversation, SMA_ID_BYTES_MAX, error));
    SMA_TRY(take_string(openai, json_object_get(reading->root, "previous_response_id"),
                        "previous_response_id", openai->previous, sizeof openai->previous - 1,
                        error));
    if (openai->conversation[0] != '\0')
        (void)snprintf(openai->chat_id, sizeof openai->chat_id, "%s", openai->conversation);
    else if (openai->previous[0] != '\0' && !read_previous(openai))
        return refuse(openai, "previous_response_id", "There is no response with this id", error);
    return SMA_ERR_OK;
}

/* The caller's own name of the conversation: of the header, of metadata, or of responses. */
static SMA_CHECKED enum sma_err read_name(const struct reading *reading,
                                          const struct sma_http_request *request,
                                          struct sma_error *error)
{
    struct http_openai *openai = reading->openai;
    struct sma_str header = sma_str_trim(request->chat_id);
    const json_t *metadata = json_object_get(reading->root, "metadata");
    if (openai->is_responses)
        SMA_TRY(read_conversation(reading, error));
    SMA_TRY(take_string(openai, json_object_get(metadata, "chatId"), "metadata.chatId",
                        openai->chat_id, SMA_ID_BYTES_MAX, error));
    if (header.len > SMA_ID_BYTES_MAX || !sma_utf8_is_valid(header))
        return refuse(openai, NULL, "The header X-Chat-Id is longer than 512 bytes, or no UTF-8",
                      error);
    if (header.len > 0)
        (void)snprintf(openai->chat_id, sizeof openai->chat_id, "%.*s", (int)header.len,
                       header.ptr);
    openai->is_named = openai->chat_id[0] != '\0';
    return SMA_ERR_OK;
}

/* -- what is said ------------------------------------------------------------------------------ */
/* 's'ystem, 'u'ser, 'a'ssistant; 0: something else, which is passed over. */
static char role_of(const json_t *item)
{
    static const char *const names[] = {"system", "developer", "user", "assistant"};
    struct sma_str role = string_in(item, "role");
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        if (sma_str_is_equal(role, sma_str(names[i])))
            return i == 1 ? 's' : names[i][0];
    return 0;
}

static void put_apart(struct sma_buf *buf, const char *who, struct sma_str words)
{
    sma_buf_put_text(buf, buf->len > 0 ? "\n\n" : "");
    sma_buf_put_text(buf, who);
    sma_buf_put_str(buf, words);
}

static SMA_CHECKED enum sma_err read_item(struct reading *reading, const json_t *content, char role,
                                          bool is_new, struct sma_error *error)
{
    struct sma_buf words;
    sma_buf_init(&words, SMA_HTTP_EXECUTE_BYTES_MAX);
    enum sma_err err =
        http_openai_content(content, &words, is_new && role == 'u' ? reading->files : NULL, error);
    if (err == SMA_ERR_OK && words.err != SMA_ERR_OK)
        err = sma_fail(error, words.err, "Out of memory: send it again");
    struct sma_str text = sma_buf_str(&words);
    if (err != SMA_ERR_OK)
        ;
    else if (role == 's')
        put_apart(&reading->system, "", text);
    else if (is_new)
        put_apart(&reading->words, "", text);
    else
        put_apart(&reading->history, role == 'u' ? "User: " : "Assistant: ", sma_str_trim(text));
    if (err == SMA_ERR_OK && role != 's')
        http_openai_key_add(is_new ? &reading->openai->key : &reading->key, role, text);
    sma_buf_fini(&words);
    return err;
}

static SMA_CHECKED enum sma_err read_items(struct reading *reading, struct sma_error *error)
{
    const char *param = reading->openai->is_responses ? "input" : "messages";
    size_t count = json_array_size(reading->items);
    http_openai_key_add(&reading->key, 'w', sma_str(reading->openai->user_id));
    reading->openai->key = reading->key;
    reading->openai->param = param;
    if (json_is_string(reading->items))
        return read_item(reading, reading->items, 'u', true, error);
    if (count == 0)
        return sma_fail(error, SMA_ERR_BADINPUT, "%s must be a list with a message in it", param);
    if (count > HTTP_OPENAI_ITEM_COUNT_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "%s has %zu members, the limit is %u: name the conversation (X-Chat-Id) "
                        "and send what is new",
                        param, count, HTTP_OPENAI_ITEM_COUNT_MAX);
    for (size_t i = 0; i < count; i++)
        if (role_of(json_array_get(reading->items, i)) == 'a') {
            reading->answer_count++;
            reading->last_answer = i;
        }
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(reading->items, i);
        bool is_new = reading->answer_count == 0 || i > reading->last_answer;
        char role = role_of(item);
        if (role == 0)
            continue;
        SMA_TRY(read_item(reading, json_object_get(item, "content"), role, is_new, error));
        if (!is_new && i == reading->last_answer)
            reading->openai->key = reading->key;
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err check_words(struct reading *reading, struct sma_error *error)
{
    bool has_files = json_array_size(reading->files) > 0;
    struct sma_str words = sma_buf_str(&reading->words);
    if (sma_str_trim(words).len == 0 && !has_files)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "Nothing new is said: the last message must be the user's");
    if (memchr(words.ptr == NULL ? "" : words.ptr, 0, words.len) != NULL)
        return sma_fail(error, SMA_ERR_BADINPUT, "A message holds a NUL");
    if (has_files && sma_control_parse(words) != SMA_CONTROL_NONE)
        return sma_fail(error, SMA_ERR_BADINPUT, "A command takes no attachments");
    if (!has_files)
        return SMA_ERR_OK;
    SMA_TRY(http_attachments_check(reading->files, error));
    if (json_object_set(reading->root, "attachments", reading->files) != 0)
        return sma_fail(error, SMA_ERR_NOMEM, "Out of memory: send it again");
    return SMA_ERR_OK;
}

/* -- which conversation ------------------------------------------------------------------------ */
/* A chat of its own. A message that comes again under its id finds the same one. */
static void begin_chat(struct reading *reading)
{
    uint64_t number = reading->id;
    const struct sma_sys *sys = reading->http->sys;
    if (number == 0)
        sys->random_bytes(sys->self, &number, sizeof number);
    (void)snprintf(reading->openai->chat_id, sizeof reading->openai->chat_id, "v1-%016llx",
                   (unsigned long long)number);
}

/* The conversation of these words, when it is known and nobody else has gone on from here.
 * NULL: a new one. */
static struct http_openai_talk *find_talk(struct reading *reading)
{
    struct http_openai *openai = reading->openai;
    struct http_openai_talk *talk = NULL;
    if (openai->is_named) {
        struct http_openai_key name = {{0}};
        http_openai_key_add(&name, 'n', sma_str(openai->chat_id));
        return http_openai_talk_find(reading->http, &name);
    }
    if (reading->answer_count > 0)
        talk = http_openai_talk_find(reading->http, &reading->key);
    if (talk == NULL ||
        (talk->next_id != 0 && (reading->id == 0 || talk->next_id != reading->id))) {
        begin_chat(reading);
        return NULL;
    }
    talk->next_id = reading->id != 0 ? reading->id : UINT64_MAX;
    (void)snprintf(openai->chat_id, sizeof openai->chat_id, "%s", talk->chat_id);
    return talk;
}

static void put_block(struct sma_buf *text, const char *title, const struct sma_buf *block)
{
    sma_buf_put_text(text, title);
    sma_buf_put_str(text, sma_buf_str(block));
    sma_buf_put_text(text, "\n\n");
}

/* The new words, and before them what the agent has not heard. */
static SMA_CHECKED enum sma_err make_text(struct reading *reading, struct sma_error *error)
{
    struct http_openai *openai = reading->openai;
    const struct http_openai_talk *talk = find_talk(reading);
    struct http_openai_key system = {{0}};
    http_openai_key_add(&system, 's', sma_buf_str(&reading->system));
    openai->system = system.words[0];
    bool is_command = sma_control_parse(sma_buf_str(&reading->words)) != SMA_CONTROL_NONE;
    openai->parked_seq = talk == NULL || is_command ? 0 : talk->parked_seq;
    bool is_new = talk == NULL && (!openai->is_named || reading->answer_count == 0);
    bool is_told = talk == NULL ? !is_new : talk->system == openai->system;
    bool tells_system = !is_command && reading->system.len > 0 && !is_told;
    bool tells_history = !is_command && is_new && reading->history.len > 0;
    if (tells_system)
        put_block(&openai->text, "[Instructions of the program that asks]\n", &reading->system);
    if (tells_history)
        put_block(&openai->text, "[The conversation so far]\n", &reading->history);
    if (tells_system || tells_history)
        sma_buf_put_text(&openai->text, "[The message]\n");
    sma_buf_put_str(&openai->text, sma_buf_str(&reading->words));
    if (openai->text.err != SMA_ERR_OK)
        return sma_fail(error, openai->text.err, "Out of memory: send it again");
    if (openai->text.len > SMA_TEXT_BYTES_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG,
                        "The message, with what was said before, is %zu bytes long, the limit is "
                        "%d: name the conversation (X-Chat-Id) and send what is new",
                        openai->text.len, SMA_TEXT_BYTES_MAX);
    return SMA_ERR_OK;
}

/* -- all of it --------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err
read_all(struct reading *reading, const struct sma_http_request *request, struct sma_error *error)
{
    struct http_openai *openai = reading->openai;
    if (!json_is_object(reading->root))
        return sma_fail(error, SMA_ERR_BADINPUT, "The request body must be a JSON object");
    SMA_TRY(read_options(reading, error));
    SMA_TRY(read_name(reading, request, error));
    reading->items = json_object_get(reading->root, openai->is_responses ? "input" : "messages");
    if (openai->is_responses) {
        struct sma_str instructions = string_in(reading->root, "instructions");
        sma_buf_put_str(&reading->system, instructions);
    }
    SMA_TRY(read_items(reading, error));
    SMA_TRY(check_words(reading, error));
    SMA_TRY(make_text(reading, error));
    openai->param = NULL;
    return SMA_ERR_OK;
}

static uint64_t digest_of_id(const struct sma_http_request *request)
{
    struct http_openai_key key = {{0}};
    if (!request->has_idempotency_key)
        return 0;
    http_openai_key_add(&key, 'i', request->idempotency_key);
    return key.words[0] == 0 || key.words[0] == UINT64_MAX ? 1 : key.words[0];
}

/* The new words stand at the end of what the agent is told; what stands before them depends on what
 * it knows by now. */
static struct sma_str said_of(const struct reading *reading)
{
    struct sma_str text = sma_buf_str(&reading->openai->text);
    size_t len = reading->words.len < text.len ? reading->words.len : text.len;
    return (struct sma_str){text.ptr + (text.len - len), len};
}

enum sma_err http_openai_parse(struct http_conn *conn, const struct sma_http_request *request,
                               struct sma_str text, struct http_execute_body *ret_body,
                               struct sma_error *error)
{
    struct reading reading = {.http = conn->server, .openai = http_openai_begin(conn)};
    void *root = NULL;
    if (reading.openai == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "Out of memory: send it again");
    reading.openai->is_responses = conn->dialect == HTTP_DIALECT_RESPONSES;
    reading.openai->created_s = sma_ctx_wall(conn->server->ctx) / 1000;
    reading.id = digest_of_id(request);
    SMA_TRY(http_body_load(text, &root, error));
    reading.root = root;
    reading.files = json_array();
    sma_buf_init(&reading.system, SMA_HTTP_EXECUTE_BYTES_MAX);
    sma_buf_init(&reading.history, SMA_HTTP_EXECUTE_BYTES_MAX);
    sma_buf_init(&reading.words, SMA_HTTP_EXECUTE_BYTES_MAX);
    enum sma_err err = read_all(&reading, request, error);
    struct http_execute_body body = {
        .instructions = sma_buf_str(&reading.openai->text),
        .chat_id = sma_str(reading.openai->chat_id),
        .user_id = sma_str(reading.openai->user_id),
        .said = said_of(&reading),
        .message_id = SMA_STR(""),
        .attachments = json_array_size(reading.files) > 0 ? reading.files : NULL,
        .root = root,
    };
    json_decref(reading.files); /* the body's tree holds them, too */
    sma_buf_fini(&reading.system);
    sma_buf_fini(&reading.history);
    sma_buf_fini(&reading.words);
    if (err == SMA_ERR_OK)
        *ret_body = body;
    else
        http_execute_fini(&body);
    conn->wants_stream = reading.openai->wants_stream;
    return err;
}
