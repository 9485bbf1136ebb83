/*
 * session_ask.c — what a server says by itself and asks of us: notices, its requests, and questions
 * to people (elicitation), in both eras.
 */
#include "session_priv.h"

#include "runtime/json/json_read.h"
#include "runtime/tools/schema_check.h"
#include "sma/text.h"

#include <stdlib.h>

#define SAMPLING_REFUSED "User rejected sampling request"
#define CODE_REJECTED (-1)
#define CODE_BAD_PARAMS (-32602)
#define CODE_FAILED (-32603)
#define NOT_GIVEN "the server asks for input that nobody gives"
#define FIELD_COUNT_MAX 32 /* of a form */
#define CHOICE_COUNT_MAX 64
#define FIELD_TEXT_BYTES_MAX 300 /* of a title or description in a form */

/* -- the one root ------------------------------------------------------------------------------ */
static json_t *roots(const struct sma_mcp_session *session)
{
    struct sma_buf uri;
    sma_buf_init(&uri, 65536);
    sma_buf_put_text(&uri, "file://");
    for (const char *at = session->options.project_dir; *at != '\0';) { /* segments are encoded */
        size_t len = strcspn(at, "/");
        sma_buf_put_file_name(&uri, (struct sma_str){at, len});
        at += len;
        if (*at == '/')
            sma_buf_put_char(&uri, *at++);
    }
    const char *name = strrchr(session->options.project_dir, '/');
    json_t *made = uri.err != SMA_ERR_OK
                       ? NULL
                       : json_pack("{s:[{s:s,s:s}]}", "roots", "uri", uri.ptr, "name",
                                   name == NULL || name[1] == '\0' ? "project" : name + 1);
    sma_buf_fini(&uri);
    return made;
}

/* -- questions to people ----------------------------------------------------------------------- */
static bool set(json_t *object, const char *key, json_t *value)
{
    return value != NULL && json_object_set_new(object, key, value) == 0;
}

/* A text of a form, as people may read it. */
static void copy_text(json_t *to, const json_t *from, const char *key)
{
    struct sma_buf text;
    sma_buf_init(&text, FIELD_TEXT_BYTES_MAX * 2);
    sma_mcp_put_clean(&text, sma_json_str(from, key), FIELD_TEXT_BYTES_MAX);
    if (text.err == SMA_ERR_OK && text.len > 0)
        (void)set(to, key, json_stringn(text.ptr, text.len)); /* no memory: it is not shown */
    sma_buf_fini(&text);
}

/* The values that may be chosen: "enum", or the titled form of 2025-11-25. @return false: they
 * cannot be shown */
static bool copy_choices(json_t *to, const json_t *from)
{
    const json_t *titled = sma_json_get(from, "oneOf"), *plain = sma_json_get(from, "enum");
    const json_t *list = titled != NULL ? titled : plain;
    if (list == NULL)
        return true;
    json_t *choices = json_array();
    bool is_good = json_array_size(list) > 0 && json_array_size(list) <= CHOICE_COUNT_MAX;
    for (size_t i = 0; is_good && i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const json_t *value = titled != NULL ? sma_json_get(item, "const") : item;
        is_good = json_is_string(value) && sma_mcp_is_name(sma_json_str_of(value)) &&
                  json_array_append(choices, (json_t *)(uintptr_t)value) == 0;
    }
    if (!is_good) {
        json_decref(choices);
        return false;
    }
    return set(to, "enum", choices);
}

static json_t *copy_field(const json_t *from)
{
    static const char *const numbers[] = {"minLength", "maxLength", "minimum", "maximum"};
    static const char *const types[] = {"string", "number", "integer", "boolean"};
    struct sma_str type = sma_json_str(from, "type");
    json_t *to = json_object();
    bool is_known = false;
    for (size_t i = 0; i < SMA_COUNT_OF(types); i++)
        is_known = is_known || sma_str_is_equal(type, sma_str(types[i]));
    if (!is_known || !set(to, "type", json_stringn(type.ptr, type.len)) ||
        !copy_choices(to, from)) {
        json_decref(to);
        return NULL;
    }
    copy_text(to, from, "title");
    copy_text(to, from, "description");
    copy_text(to, from, "format");
    for (size_t i = 0; i < SMA_COUNT_OF(numbers); i++)
        if (json_is_number(sma_json_get(from, numbers[i])))
            (void)json_object_set(to, numbers[i], json_object_get(from, numbers[i]));
    const json_t *otherwise = sma_json_get(from, "default");
    if (json_is_string(otherwise))
        copy_text(to, from, "default");
    else if (json_is_number(otherwise) || json_is_boolean(otherwise))
        (void)json_object_set(to, "default", (json_t *)(uintptr_t)otherwise);
    return to;
}

/* A form of which nothing but what people can fill in is left. @return NULL: it is none */
static json_t *copy_form(const json_t *schema)
{
    const json_t *fields = sma_json_get(schema, "properties");
    const json_t *required = sma_json_get(schema, "required");
    json_t *to = json_pack("{s:s,s:{},s:[]}", "type", "object", "properties", "required");
    bool is_good = to != NULL && json_is_object(schema) &&
                   (fields == NULL || json_is_object(fields)) &&
                   json_object_size(fields) <= FIELD_COUNT_MAX;
    const char *name;
    json_t *field;
    if (is_good)
        json_object_foreach((json_t *)(uintptr_t)fields, name, field) is_good =
            is_good && sma_mcp_is_name(sma_str(name)) &&
            set(json_object_get(to, "properties"), name, copy_field(field));
    for (size_t i = 0; is_good && i < json_array_size(required); i++) {
        const char *wanted = json_string_value(json_array_get(required, i));
        is_good = wanted != NULL && json_object_get(fields, wanted) != NULL &&
                  json_array_append_new(json_object_get(to, "required"), json_string(wanted)) == 0;
    }
    if (!is_good) {
        json_decref(to);
        return NULL;
    }
    return to;
}

static struct session_question *free_question(struct sma_mcp_session *session)
{
    for (size_t i = 0; i < SMA_MCP_ELICIT_COUNT_MAX; i++)
        if (session->questions[i].id == 0)
            return &session->questions[i];
    return NULL;
}

static void forget(struct session_question *question)
{
    json_decref(question->wire_id);
    json_decref(question->form);
    free(question->key);
    *question = (struct session_question){.id = 0};
}

/* The call waits for people now: its own time stands still. */
static void pause_call(struct sma_mcp_session *session, struct session_request *request)
{
    if (request->asking++ == 0)
        request->paused_ns = session->now_ns;
}

static void resume_call(struct sma_mcp_session *session, struct session_request *request)
{
    if (--request->asking > 0)
        return;
    request->limit_ns += session->now_ns - request->paused_ns;
    uint64_t renewed = session->now_ns + request->renewal_ns;
    request->deadline_ns = renewed < request->limit_ns ? renewed : request->limit_ns;
}

/* Ask them. wire_id: of the request in which the server asks; NULL: it asks under `key` in a
 * result. @return false: they cannot be asked this */
static bool ask_people(struct sma_mcp_session *session, struct session_request *request,
                       const json_t *params, const json_t *wire_id, const char *key)
{
    struct session_question *question = free_question(session);
    struct sma_str mode = sma_json_str(params, "mode");
    if (question == NULL || request->asked >= SMA_MCP_ELICIT_COUNT_MAX ||
        (mode.len > 0 && !sma_str_is_equal(mode, SMA_STR("form"))))
        return false;
    json_t *form = copy_form(sma_json_get(params, "requestedSchema"));
    char *schema = form == NULL ? NULL : json_dumps(form, JSON_COMPACT);
    char *copy = key == NULL ? NULL : strdup(key);
    struct sma_buf text;
    sma_buf_init(&text, SMA_MCP_ELICIT_TEXT_BYTES_MAX * 2);
    sma_mcp_put_clean(&text, sma_json_str(params, "message"), SMA_MCP_ELICIT_TEXT_BYTES_MAX);
    bool is_good = schema != NULL && strlen(schema) <= SMA_MCP_ELICIT_SCHEMA_BYTES_MAX &&
                   text.err == SMA_ERR_OK && (key == NULL || copy != NULL);
    *question = (struct session_question){.id = ++session->last_question,
                                          .call_id = request->call_id,
                                          .deadline_ns =
                                              session->now_ns + SMA_MCP_ELICIT_MS * SMA_NS_PER_MS,
                                          .wire_id = json_incref((json_t *)(uintptr_t)wire_id),
                                          .form = form,
                                          .key = copy};
    struct sma_mcp_question asked = {.id = question->id,
                                     .call_id = request->call_id,
                                     .text = sma_buf_str(&text),
                                     .schema = sma_str(schema),
                                     .deadline_ns = question->deadline_ns};
    is_good =
        is_good && session->ops->elicit != NULL && session->ops->elicit(session->user, &asked);
    if (is_good) {
        request->asked++;
        pause_call(session, request);
    } else {
        forget(question);
    }
    sma_buf_fini(&text);
    free(schema);
    return is_good;
}

/* Whose question it is: of the oldest call, when all that are open are of one group. A question
 * must not come up in somebody else's chat. */
static struct session_request *find_asking(struct sma_mcp_session *session)
{
    struct session_request *found = NULL;
    for (size_t i = 0; i < SMA_COUNT_OF(session->open); i++) {
        struct session_request *request = &session->open[i];
        if (request->kind != SESSION_CALL)
            continue;
        if (found != NULL && found->group != request->group)
            return NULL;
        if (found == NULL || request->call_id < found->call_id)
            found = request;
    }
    return found;
}

/* What stands in a request of the server (wire_id), or in a result under key. */
struct session_wanted
{
    const json_t *params, *wire_id;
    const char *key;
};

/* -- requests to the model --------------------------------------------------------------------- */
static bool is_to_model(const struct sma_mcp_session *session,
                        const struct session_question *question)
{
    return question == &session->questions[SMA_MCP_ELICIT_COUNT_MAX];
}

/* May it? @return NULL, or why not */
static const char *check_wish(const struct sma_mcp_session *session,
                              const struct session_request *request)
{
    if (!session->options.may_sample)
        return SAMPLING_REFUSED;
    if (request == NULL)
        return "sampling is done for an open call only, and only when it is clear for which";
    if (session->questions[SMA_MCP_ELICIT_COUNT_MAX].id != 0)
        return "one sampling request at a time: wait for the answer of the one before";
    if (request->sampled >= SMA_MCP_SAMPLE_COUNT_MAX)
        return "too many sampling requests in one call";
    return NULL;
}

/* As ask_people. @return NULL, or why it is refused, and *ret_code */
static const char *ask_model(struct sma_mcp_session *session, struct session_request *request,
                             const struct session_wanted *wanted, int *ret_code)
{
    struct session_question *question = &session->questions[SMA_MCP_ELICIT_COUNT_MAX];
    const char *why = check_wish(session, request), *key = wanted->key;
    *ret_code = CODE_REJECTED;
    if (why != NULL)
        return why;
    struct session_sample sample;
    why = session_sample_read(&sample, wanted->params);
    if (why != NULL)
        *ret_code = CODE_BAD_PARAMS;
    char *copy = key == NULL ? NULL : strdup(key);
    if (why == NULL && key != NULL && copy == NULL)
        why = "out of memory";
    *question = (struct session_question){
        .id = ++session->last_question,
        .call_id = request->call_id,
        .deadline_ns = session->now_ns + SMA_MCP_SAMPLE_MS * SMA_NS_PER_MS,
        .wire_id = json_incref((json_t *)(uintptr_t)wanted->wire_id),
        .key = copy};
    struct sma_mcp_wish wish = {.id = question->id,
                                .call_id = request->call_id,
                                .system = sma_buf_str(&sample.system),
                                .lines = sample.lines,
                                .line_count = sample.line_count,
                                .tokens_max = sample.tokens_max,
                                .deadline_ns = question->deadline_ns};
    if (why == NULL)
        why = session->ops->sample(session->user, &wish);
    session_sample_fini(&sample);
    if (why != NULL) {
        forget(question);
        return why;
    }
    request->sampled++;
    pause_call(session, request);
    return NULL;
}

/* -- in results: the modern era ---------------------------------------------------------------- */
/* The same once more, with a new id, its state and what was answered. */
static bool repeat(struct sma_mcp_session *session, struct session_request *request)
{
    json_t *params = json_deep_copy(request->params);
    json_t *responses = SMA_TAKE(request->responses), *state = SMA_TAKE(request->state);
    bool is_whole = params != NULL;
    if (is_whole && json_object_size(responses) > 0)
        is_whole = json_object_set(params, "inputResponses", responses) == 0;
    if (is_whole && state != NULL)
        is_whole = json_object_set(params, "requestState", state) == 0;
    json_decref(responses);
    json_decref(state);
    if (!is_whole) {
        json_decref(params);
        return false;
    }
    request->id = ++session->last_id;
    return session_put_request(session, request, session_call_method(request->call_kind), params);
}

const char *session_take_inputs(struct sma_mcp_session *session, struct session_request *request,
                                const json_t *result)
{
    if (++request->rounds > SMA_MCP_ROUND_COUNT_MAX || request->params == NULL)
        return NOT_GIVEN;
    request->id = ++session->last_id; /* the one before was answered */
    json_decref(request->responses);
    json_decref(request->state);
    request->responses = json_object();
    request->state = json_incref((json_t *)(uintptr_t)sma_json_get(result, "requestState"));
    const char *key;
    json_t *asked;
    json_object_foreach((json_t *)(uintptr_t)sma_json_get(result, "inputRequests"), key, asked)
    {
        struct sma_str method = sma_json_str(asked, "method");
        json_t *response = NULL;
        if (sma_str_is_equal(method, SMA_STR("elicitation/create"))) {
            if (ask_people(session, request, sma_json_get(asked, "params"), NULL, key))
                continue;
            response = json_pack("{s:s}", "action", "decline");
        } else if (sma_str_is_equal(method, SMA_STR("sampling/createMessage"))) {
            int code;
            struct session_wanted wanted = {.params = sma_json_get(asked, "params"), .key = key};
            const char *why = ask_model(session, request, &wanted, &code);
            session->counts.refused += why != NULL;
            if (why != NULL) /* a result cannot say no to it */
                return why;
            continue;
        } else if (sma_str_is_equal(method, SMA_STR("roots/list"))) {
            response = roots(session);
        }
        if (!set(request->responses, key, response))
            return NOT_GIVEN;
    }
    return request->asking > 0 || repeat(session, request) ? NULL : NOT_GIVEN;
}

/* -- what people did, and the model ------------------------------------------------------------ */
static json_t *make_reply(const struct session_question *question, enum sma_mcp_action action,
                          struct sma_str content)
{
    static const char *const words[] = {
        [SMA_MCP_ACCEPT] = "accept", [SMA_MCP_DECLINE] = "decline", [SMA_MCP_DISMISS] = "cancel"};
    json_t *values = NULL;
    struct sma_buf why;
    sma_buf_init(&why, 4096);
    if (action == SMA_MCP_ACCEPT &&
        (sma_json_load(content, &values) != SMA_ERR_OK || !json_is_object(values) ||
         !sma_schema_fits(question->form, values, &why)))
        action = SMA_MCP_DISMISS; /* a server must not get what it did not ask for */
    sma_buf_fini(&why);
    json_t *reply = action == SMA_MCP_ACCEPT
                        ? json_pack("{s:s,s:O}", "action", words[action], "content", values)
                        : json_pack("{s:s}", "action", words[action]);
    json_decref(values);
    return reply;
}

/* Takes reply. NULL: there is none, because of why (to the model), or for want of memory. */
static void finish_question(struct sma_mcp_session *session, struct session_question *question,
                            json_t *reply, const char *why)
{
    struct session_request *request = session_find_call(session, question->call_id);
    struct session_question done = *question;
    *question = (struct session_question){.id = 0};
    SMA_ASSERT(request != NULL); /* it takes its questions with it */
    resume_call(session, request);
    bool is_whole = true;
    if (done.wire_id != NULL && reply == NULL)
        session_put_error(session, done.wire_id, CODE_FAILED, why == NULL ? "out of memory" : why);
    else if (done.wire_id != NULL)
        session_put_result(session, done.wire_id, reply);
    else
        is_whole = set(request->responses, done.key, reply) &&
                   (request->asking > 0 || repeat(session, request));
    forget(&done);
    if (!is_whole)
        session_answer(session, request, SMA_MCP_PROTOCOL_ERROR, NULL,
                       why != NULL ? sma_str(why) : SMA_STR("what was answered could not be sent"));
}

void sma_mcp_session_elicited(struct sma_mcp_session *session, uint64_t id,
                              enum sma_mcp_action action, struct sma_str content, uint64_t now_ns)
{
    session->now_ns = now_ns;
    for (size_t i = 0; i < SMA_COUNT_OF(session->questions) && id != 0; i++) {
        struct session_question *question = &session->questions[i];
        if (question->id != id || is_to_model(session, question))
            continue;
        finish_question(session, question, make_reply(question, action, content), NULL);
        return;
    }
}

void sma_mcp_session_sampled(struct sma_mcp_session *session, uint64_t id,
                             const struct sma_mcp_sampled *sampled, uint64_t now_ns)
{
    struct session_question *question = &session->questions[SMA_MCP_ELICIT_COUNT_MAX];
    session->now_ns = now_ns;
    if (id == 0 || question->id != id)
        return;
    if (sampled->why.len > 0) {
        session->counts.refused++;
        finish_question(session, question, NULL, sampled->why.ptr);
    } else {
        finish_question(session, question, session_sample_reply(sampled), NULL);
    }
}

void session_tick_questions(struct sma_mcp_session *session)
{
    for (size_t i = 0; i < SMA_COUNT_OF(session->questions); i++) {
        struct session_question *question = &session->questions[i];
        if (question->id == 0 || question->deadline_ns > session->now_ns)
            continue;
        if (is_to_model(session, question))
            finish_question(session, question, NULL, "the model did not answer in time");
        else
            finish_question(session, question, json_pack("{s:s}", "action", "cancel"), NULL);
    }
}

void session_drop_questions(struct sma_mcp_session *session, uint64_t call_id)
{
    for (size_t i = 0; i < SMA_COUNT_OF(session->questions); i++) {
        struct session_question *question = &session->questions[i];
        if (question->id == 0 || question->call_id != call_id)
            continue;
        bool is_said = question->wire_id != NULL && session->state == SESSION_READY;
        if (is_said && is_to_model(session, question))
            session_put_error(session, question->wire_id, CODE_FAILED, "its call is over");
        else if (is_said)
            session_put_result(session, question->wire_id, json_pack("{s:s}", "action", "cancel"));
        forget(question);
    }
}

/* It does not want to know any more. */
static void on_cancelled(struct sma_mcp_session *session, const json_t *params)
{
    const json_t *id = sma_json_get(params, "requestId");
    for (size_t i = 0; i < SMA_COUNT_OF(session->questions) && id != NULL; i++) {
        struct session_question *question = &session->questions[i];
        if (question->id == 0 || question->wire_id == NULL || !json_equal(question->wire_id, id))
            continue;
        struct session_request *request = session_find_call(session, question->call_id);
        forget(question);
        if (request != NULL)
            resume_call(session, request);
    }
}

/* -- what it says by itself ------------------------------------------------------------ */
static void on_progress(struct sma_mcp_session *session, const json_t *params)
{
    const json_t *token = sma_json_get(params, "progressToken");
    struct session_request *request =
        json_is_integer(token) && json_integer_value(token) > 0
            ? session_find(session, (uint64_t)json_integer_value(token))
            : NULL;
    if (request == NULL || request->kind != SESSION_CALL) {
        session->counts.stray++;
        return;
    }
    uint64_t renewed = session->now_ns + request->renewal_ns;
    request->deadline_ns = renewed < request->limit_ns ? renewed : request->limit_ns;
    struct sma_buf text;
    sma_buf_init(&text, SMA_MCP_PROGRESS_BYTES_MAX * 2);
    const json_t *progress = sma_json_get(params, "progress"),
                 *total = sma_json_get(params, "total");
    struct sma_str message = sma_json_str(params, "message");
    sma_mcp_put_clean(&text, message, SMA_MCP_PROGRESS_BYTES_MAX);
    if (text.len == 0 && json_is_number(progress)) {
        sma_buf_printf(&text, "%.6g", json_number_value(progress));
        if (json_is_number(total))
            sma_buf_printf(&text, "/%.6g", json_number_value(total));
    }
    if (text.err == SMA_ERR_OK)
        session->ops->progress(session->user, request->call_id, sma_buf_str(&text));
    sma_buf_fini(&text);
}

static void on_message_of_log(struct sma_mcp_session *session, const json_t *params)
{
    struct sma_str level = sma_json_str(params, "level");
    bool is_bad =
        sma_str_is_equal(level, SMA_STR("error")) || sma_str_is_equal(level, SMA_STR("critical")) ||
        sma_str_is_equal(level, SMA_STR("alert")) || sma_str_is_equal(level, SMA_STR("emergency"));
    char *text = json_dumps(sma_json_get(params, "data"), JSON_COMPACT | JSON_ENCODE_ANY);
    session_log(session, is_bad ? SMA_LOG_WARN : SMA_LOG_DEBUG, "it says: %.250s",
                text == NULL ? "" : text);
    free(text);
}

void session_take_notification(struct sma_mcp_session *session, struct sma_str method,
                               const json_t *params)
{
    if (sma_str_is_equal(method, SMA_STR("notifications/progress")))
        on_progress(session, params);
    else if (sma_str_is_equal(method, SMA_STR("notifications/message")))
        on_message_of_log(session, params);
    else if (sma_str_is_equal(method, SMA_STR("notifications/tools/list_changed")) ||
             sma_str_is_equal(method, SMA_STR("notifications/resources/list_changed")) ||
             sma_str_is_equal(method, SMA_STR("notifications/prompts/list_changed")))
        session_list_soon(session);
    else if (sma_str_is_equal(method, SMA_STR("notifications/cancelled")))
        on_cancelled(session, params);
}

/* -- its requests ------------------------------------------------------------------------------ */
static void on_elicitation(struct sma_mcp_session *session, const json_t *id, const json_t *params)
{
    struct session_request *request = find_asking(session);
    if (request != NULL && ask_people(session, request, params, id, NULL))
        return;
    session->counts.refused++;
    session_put_result(session, id, json_pack("{s:s}", "action", "decline"));
}

static void on_sampling(struct sma_mcp_session *session, const json_t *id, const json_t *params)
{
    int code;
    struct session_wanted wanted = {.params = params, .wire_id = id};
    const char *why = ask_model(session, find_asking(session), &wanted, &code);
    if (why == NULL)
        return;
    session->counts.refused++;
    session_put_error(session, id, code, why);
}

void session_take_request(struct sma_mcp_session *session, const json_t *id, struct sma_str method,
                          const json_t *params)
{
    if (sma_str_is_equal(method, SMA_STR("ping"))) {
        session_put_result(session, id, json_object());
    } else if (sma_str_is_equal(method, SMA_STR("roots/list"))) {
        session_put_result(session, id, roots(session));
    } else if (sma_str_is_equal(method, SMA_STR("elicitation/create"))) {
        on_elicitation(session, id, params);
    } else if (sma_str_is_equal(method, SMA_STR("sampling/createMessage"))) {
        on_sampling(session, id, params);
    } else {
        session->counts.refused++;
        session_put_error(session, id, -32601, "Method not found");
    }
}
