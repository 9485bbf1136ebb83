/*
 * decide.c — what people decide by the API: approvals, pairings, grants. The token makes whoever
 * holds it an owner; the store decides everything else, this file reads the request and tells the
 * outcome.
 */
#include "http_priv.h"

#include "runtime/json/json_read.h"

#include <stdio.h>

#define DECIDE_ID_BYTES_MAX 96u
#define DECIDE_RESPONSE_BYTES_MAX 16384u
#define DECIDE_GRANT_S_MAX (30 * INT64_C(86400))

enum verb
{
    VERB_APPROVE,
    VERB_REJECT,
    VERB_REVOKE,
    VERB_CANCEL,
};
struct target
{
    enum sma_decide_kind kind;
    enum verb verb;
    struct sma_str id;
};

/* -- paths ------------------------------------------------------------------------------------- */
static const struct
{
    const char *prefix, *suffix;
    enum sma_decide_kind kind;
    enum verb verb;
} paths[] = {
    {"/api/approvals/", "/approve", SMA_DECIDE_APPROVAL, VERB_APPROVE},
    {"/api/approvals/", "/reject", SMA_DECIDE_APPROVAL, VERB_REJECT},
    {"/api/pairings/", "/approve", SMA_DECIDE_PAIRING, VERB_APPROVE},
    {"/api/pairings/", "/reject", SMA_DECIDE_PAIRING, VERB_REJECT},
    {"/api/grants/", "/revoke", SMA_DECIDE_REVOKE, VERB_REVOKE},
    {"/api/runs/", "", SMA_DECIDE_CANCEL, VERB_CANCEL},
};

/* A pairing is named by its code, or by the person: "telegram:1001", "feishu@x:ou_84a0". */
static bool is_id(struct sma_str id, enum sma_decide_kind kind)
{
    const char *more = kind == SMA_DECIDE_PAIRING ? "-:_@" : "-";
    if (id.len == 0 || id.len > DECIDE_ID_BYTES_MAX)
        return false;
    for (size_t i = 0; i < id.len; i++) {
        char c = id.ptr[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c != '\0' && strchr(more, c) != NULL)))
            return false;
    }
    return true;
}

static bool read_path(struct sma_str path, struct target *ret_target)
{
    for (size_t i = 0; i < SMA_COUNT_OF(paths); i++) {
        struct sma_str prefix = sma_str(paths[i].prefix), suffix = sma_str(paths[i].suffix);
        if (path.len <= prefix.len + suffix.len || !sma_str_starts_with(path, prefix) ||
            memcmp(path.ptr + path.len - suffix.len, suffix.ptr, suffix.len) != 0)
            continue;
        struct sma_str id = {path.ptr + prefix.len, path.len - prefix.len - suffix.len};
        if (!is_id(id, paths[i].kind))
            return false;
        *ret_target = (struct target){paths[i].kind, paths[i].verb, id};
        return true;
    }
    return false;
}

/* -- the body ---------------------------------------------------------------------------------- */
static enum sma_err read_items(const json_t *items, uint64_t *ret_mask, struct sma_error *error)
{
    uint64_t mask = 0;
    if (items == NULL)
        return SMA_ERR_OK;
    if (!json_is_array(items) || json_array_size(items) == 0)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "Member \"items\" must be a list of item numbers, for example [1,3]");
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        if (!json_is_integer(item) || json_integer_value(item) < 1 ||
            json_integer_value(item) > SMA_TOOL_CALL_COUNT_MAX)
            return sma_fail(error, SMA_ERR_BADINPUT,
                            "Member \"items\" holds something that is not a number from 1 to %d",
                            SMA_TOOL_CALL_COUNT_MAX);
        mask |= UINT64_C(1) << (json_integer_value(item) - 1);
    }
    *ret_mask = mask;
    return SMA_ERR_OK;
}

/* "10m": digits and one of s m h d. */
static bool read_duration(struct sma_str text, int64_t *ret_seconds)
{
    static const struct
    {
        char letter;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    int64_t count = 0;
    if (text.len < 2 || text.ptr[0] < '0' || text.ptr[0] > '9' ||
        sma_parse_i64((struct sma_str){text.ptr, text.len - 1}, 1, DECIDE_GRANT_S_MAX, &count) !=
            SMA_ERR_OK)
        return false;
    for (size_t i = 0; i < SMA_COUNT_OF(units); i++) {
        if (text.ptr[text.len - 1] != units[i].letter ||
            count > DECIDE_GRANT_S_MAX / units[i].seconds)
            continue;
        *ret_seconds = count * units[i].seconds;
        return true;
    }
    return false;
}

static enum sma_err read_grant(const json_t *grant, const struct target *target,
                               int64_t *ret_grant_s, struct sma_error *error)
{
    int64_t seconds = json_is_integer(grant) ? json_integer_value(grant) : 0;
    if (grant == NULL)
        return SMA_ERR_OK;
    if (target->verb != VERB_APPROVE)
        return sma_fail(error, SMA_ERR_BADINPUT, "Member \"grant\" goes with approve only");
    if (json_is_string(grant) && sma_str_is_equal(sma_json_str_of(grant), SMA_STR("always"))) {
        *ret_grant_s = SMA_GRANT_ALWAYS;
        return SMA_ERR_OK;
    }
    if (json_is_string(grant) && !read_duration(sma_json_str_of(grant), &seconds))
        seconds = 0;
    if (seconds < 1 || seconds > DECIDE_GRANT_S_MAX)
        return sma_fail(
            error, SMA_ERR_BADINPUT,
            "Member \"grant\" must be \"always\", a time like \"10m\" \"2h\" \"1d\", or "
            "seconds, 30 days at most");
    *ret_grant_s = seconds;
    return SMA_ERR_OK;
}

static enum sma_err read_role(const json_t *role, uint8_t *ret_standing, struct sma_error *error)
{
    static const struct
    {
        const char *name;
        enum sma_standing standing;
    } roles[] = {{"member", SMA_STANDING_MEMBER},
                 {"admin", SMA_STANDING_ADMIN},
                 {"owner", SMA_STANDING_OWNER}};
    *ret_standing = SMA_STANDING_MEMBER;
    if (role == NULL)
        return SMA_ERR_OK;
    for (size_t i = 0; i < SMA_COUNT_OF(roles); i++)
        if (json_is_string(role) &&
            sma_str_is_equal(sma_json_str_of(role), sma_str(roles[i].name))) {
            *ret_standing = (uint8_t)roles[i].standing;
            return SMA_ERR_OK;
        }
    return sma_fail(error, SMA_ERR_BADINPUT,
                    "Member \"role\" must be \"member\", \"admin\" or \"owner\"");
}

static enum sma_err read_response(const json_t *response, struct sma_str *ret_text,
                                  struct sma_error *error)
{
    if (response == NULL)
        return SMA_ERR_OK;
    struct sma_str text = sma_json_str_of(response);
    if (!json_is_string(response) || text.len > DECIDE_RESPONSE_BYTES_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "Member \"response\" must be a string of at most %u bytes",
                        DECIDE_RESPONSE_BYTES_MAX);
    *ret_text = text;
    return SMA_ERR_OK;
}

/* A misspelt member would decide something else than was meant, so an unknown one is an error. */
static enum sma_err check_members(const json_t *root, const struct target *target,
                                  struct sma_error *error)
{
    static const char *const known[][4] = {[SMA_DECIDE_APPROVAL] = {"response", "items", "grant"},
                                           [SMA_DECIDE_PAIRING] = {"role"},
                                           [SMA_DECIDE_REVOKE] = {NULL},
                                           [SMA_DECIDE_CANCEL] = {NULL}};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)root, name, value)
    {
        bool is_known = false;
        for (size_t i = 0; known[target->kind][i] != NULL; i++)
            is_known |= strcmp(name, known[target->kind][i]) == 0;
        if (!is_known)
            return sma_fail(error, SMA_ERR_BADINPUT, "Unknown member \"%.100s\"", name);
    }
    return SMA_ERR_OK;
}

static enum sma_err read_body(const json_t *root, const struct target *target,
                              struct sma_decide *decide, struct sma_error *error)
{
    uint64_t mask = 0;
    if (root != NULL && !json_is_object(root))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "The request body must be a JSON object, or empty");
    enum sma_err err = check_members(root, target, error);
    if (err == SMA_ERR_OK)
        err = read_items(sma_json_get(root, "items"), &mask, error);
    if (err == SMA_ERR_OK)
        err = read_grant(sma_json_get(root, "grant"), target, &decide->grant_s, error);
    if (err == SMA_ERR_OK)
        err = read_role(sma_json_get(root, "role"), &decide->standing, error);
    if (err == SMA_ERR_OK)
        err = read_response(sma_json_get(root, "response"), &decide->response, error);
    decide->kind = (uint8_t)target->kind;
    decide->id = target->id;
    decide->is_approved = target->verb == VERB_APPROVE;
    *(decide->is_approved ? &decide->approved_mask : &decide->refused_mask) = mask;
    return err;
}

/* -- the question ------------------------------------------------------------------------------ */
static void ask(struct http_conn *conn, const struct sma_decide *facts)
{
    struct sma_decide decide = *facts;
    decide.route = (struct sma_route){.adapter = (uint8_t)sma_ctx_self(conn->server->ctx),
                                      .channel = sma_str(conn->is_page ? "web" : "api"),
                                      .user_id = sma_str(conn->is_page ? "owner" : "api")};
    SMA_AUTO(sma_msg_destroyp) struct sma_msg *msg = sma_msg_make_decide(&decide);
    enum sma_err err =
        msg == NULL ? SMA_ERR_NOMEM : http_ask_store(conn->server, HTTP_ASK_DECIDE, conn, 0, &msg);
    if (err != SMA_ERR_OK)
        http_respond_error(conn, 503, "Retry-After: 1\r\n", "The service is busy (%s): ask again",
                           sma_err_text(err));
}

void http_decide(struct http_conn *conn, const struct sma_http_request *request,
                 struct sma_str body)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    struct sma_decide decide = {0};
    struct sma_error error;
    struct target target = {0};
    if (!read_path(request->path, &target)) {
        http_respond_not_found(conn, request->path);
        return;
    }
    if (sma_str_trim(body).len > 0 && sma_json_load(body, &root) != SMA_ERR_OK) {
        http_respond_error(conn, 400, NULL, "The request body is not JSON");
        return;
    }
    if (read_body(root, &target, &decide, &error) != SMA_ERR_OK)
        http_respond_error(conn, 400, NULL, "%s", error.text);
    else
        ask(conn, &decide);
}

void http_decided(struct sma_http *http, const struct http_pending *pending, struct sma_msg *msg)
{
    const struct sma_decided *decided = SMA_MSG_BODY(msg, struct sma_decided);
    struct http_conn *conn = http_conn_find(http, pending->conn, pending->generation);
    if (conn == NULL || conn->state != HTTP_BUSY)
        return;
    struct sma_buf json;
    sma_buf_init(&json, 65536);
    sma_buf_put_text(&json, decided->status == 200 ? "{\"success\":true" : "{\"success\":false");
    sma_buf_put_json_key(&json, "message");
    sma_buf_put_json_string(&json, decided->text);
    sma_buf_put_char(&json, '}');
    if (json.err == SMA_ERR_OK)
        http_respond(conn, decided->status, HTTP_JSON, sma_buf_str(&json),
                     decided->status == 503 ? "Retry-After: 1\r\n" : NULL);
    else
        http_respond_error(conn, 500, NULL, "Decided, but the answer cannot be shown: %s",
                           sma_err_text(json.err));
    sma_buf_fini(&json);
}
