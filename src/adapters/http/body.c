/* body.c — the JSON of POST /api/execute, protocols/project.md §4.3. */
#include "http_priv.h"

#include "runtime/json/json_arena.h"

#include <jansson.h>
#include <stdio.h>

/* jansson recurses once per level: look first. Strings are skipped, so brackets inside them do not
 * count. */
static bool is_too_deep(struct sma_str json)
{
    size_t depth = 0;
    bool is_string = false;
    for (size_t i = 0; i < json.len; i++) {
        char c = json.ptr[i];
        if (is_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                is_string = false;
        } else if (c == '"') {
            is_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > SMA_JSON_DEPTH_MAX)
                return true;
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        }
    }
    return false;
}

/* A member that may be absent or null, else must be a string within max bytes. */
static enum sma_err take_string(const json_t *root, const char *name, size_t bytes_max,
                                struct sma_str *ret_text, struct sma_error *error)
{
    const json_t *value = json_object_get(root, name);
    *ret_text = SMA_STR("");
    if (value == NULL || json_is_null(value))
        return SMA_ERR_OK;
    if (!json_is_string(value))
        return sma_fail(error, SMA_ERR_BADINPUT, "Member \"%s\" must be a string", name);
    *ret_text = (struct sma_str){json_string_value(value), json_string_length(value)};
    if (ret_text->len > bytes_max)
        return sma_fail(error, SMA_ERR_BADINPUT, "Member \"%s\" is longer than %zu bytes", name,
                        bytes_max);
    return SMA_ERR_OK;
}

/* A misspelt "messageId" would cost what it is for: said, not passed over. */
static enum sma_err refuse_unknown(const json_t *root, struct sma_error *error)
{
    static const char known[] = "instructions, chatId, sessionId, userId, actorId, messageId, "
                                "attachments";
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)root, name, value)
    {
        const char *at =
            name[0] == '\0' || strpbrk(name, ", ") != NULL ? NULL : strstr(known, name);
        size_t len = strlen(name);
        bool is_known =
            at != NULL && (at == known || at[-1] == ' ') && (at[len] == ',' || at[len] == '\0');
        if (!is_known && !json_is_null(value))
            return sma_fail(error, SMA_ERR_BADINPUT,
                            "Member \"%.*s\" is unknown; this request takes %s",
                            (int)sma_utf8_cut(sma_str(name), 60), name, known);
    }
    return SMA_ERR_OK;
}

static enum sma_err take_attachments(const json_t *root, struct http_execute_body *body,
                                     struct sma_error *error)
{
    const json_t *array = json_object_get(root, "attachments");
    if (array == NULL || json_is_null(array))
        return SMA_ERR_OK;
    SMA_TRY(http_attachments_check(array, error));
    if (json_array_size(array) == 0)
        return SMA_ERR_OK;
    if (sma_control_parse(body->instructions) != SMA_CONTROL_NONE)
        return sma_fail(error, SMA_ERR_BADINPUT, "A command takes no attachments");
    body->attachments = array;
    return SMA_ERR_OK;
}

static enum sma_err read_members(const json_t *root, struct http_execute_body *body,
                                 struct sma_error *error)
{
    struct sma_str session_id, actor_id;
    if (!json_is_object(root))
        return sma_fail(error, SMA_ERR_BADINPUT, "The request body must be a JSON object");
    SMA_TRY(refuse_unknown(root, error));
    SMA_TRY(take_string(root, "instructions", SIZE_MAX, &body->instructions, error));
    SMA_TRY(take_string(root, "chatId", SMA_ID_BYTES_MAX, &body->chat_id, error));
    SMA_TRY(take_string(root, "sessionId", SMA_ID_BYTES_MAX, &session_id, error));
    SMA_TRY(take_string(root, "userId", SMA_ID_BYTES_MAX, &body->user_id, error));
    SMA_TRY(take_string(root, "actorId", SMA_ID_BYTES_MAX, &actor_id, error));
    SMA_TRY(take_string(root, "messageId", SMA_ID_BYTES_MAX, &body->message_id, error));
    SMA_TRY(take_attachments(root, body, error));
    if (sma_str_trim(body->instructions).len == 0 && body->attachments == NULL)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "Missing instructions field: send {\"instructions\": \"...\"}");
    if (body->instructions.len > SMA_TEXT_BYTES_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "instructions is %zu bytes long, the limit is %d",
                        body->instructions.len, SMA_TEXT_BYTES_MAX);
    body->said = body->instructions;
    body->chat_id = sma_str_trim(body->chat_id);
    if (body->chat_id.len == 0)
        body->chat_id = sma_str_trim(session_id);
    if (body->chat_id.len == 0)
        body->chat_id = SMA_STR("default");
    if (body->user_id.len == 0)
        body->user_id = actor_id.len > 0 ? actor_id : SMA_STR("api");
    return SMA_ERR_OK;
}

static enum sma_err describe_problem(struct sma_str text, const json_error_t *problem,
                                     struct sma_error *error)
{
    if (!sma_utf8_is_valid(text))
        return sma_fail(error, SMA_ERR_BADINPUT, "Invalid JSON: the body is not valid UTF-8");
    return sma_fail(error, SMA_ERR_BADINPUT, "Invalid JSON at line %d, column %d (%s): %.*s",
                    problem->line, problem->column, problem->text, (int)sma_utf8_cut(text, 50),
                    text.ptr);
}

enum sma_err http_body_load(struct sma_str text, void **ret_root, struct sma_error *error)
{
    json_error_t problem;
    if (sma_str_trim(text).len == 0)
        return sma_fail(error, SMA_ERR_BADINPUT, "Request body is empty");
    if (is_too_deep(text))
        return sma_fail(error, SMA_ERR_BADINPUT, "JSON is nested deeper than %d levels",
                        SMA_JSON_DEPTH_MAX);
    sma_json_arena_begin();
    *ret_root = json_loadb(text.ptr, text.len, JSON_DECODE_ANY, &problem);
    if (*ret_root != NULL)
        return SMA_ERR_OK;
    sma_json_arena_end();
    return describe_problem(text, &problem, error);
}

enum sma_err http_execute_parse(struct sma_str text, struct http_execute_body *ret_body,
                                struct sma_error *error)
{
    struct http_execute_body body = {0};
    SMA_TRY(http_body_load(text, &body.root, error));
    enum sma_err err = read_members(body.root, &body, error);
    if (err != SMA_ERR_OK) {
        http_execute_fini(&body);
        return err;
    }
    *ret_body = body;
    return SMA_ERR_OK;
}

void http_execute_fini(struct http_execute_body *body)
{
    json_decref(body->root);
    body->root = NULL;
    sma_json_arena_end();
}
