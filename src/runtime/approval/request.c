/* request.c — see request.h. */
#include "runtime/approval/request.h"

#include "runtime/json/json_read.h"
#include "runtime/policy/owner_files.h"
#include "sma/text.h"

#define REQUEST_BYTES_MAX (64u * 1024 * 1024) /* a model's answer, escaped twice, with diffs */
#define TITLE_BYTES_MAX 200u
#define NAME_BYTES_MAX 256u /* "server:tool" of a server's tool is the longest */

static const char digits[] = "0123456789abcdef";

const char *sma_request_outcome_name(enum sma_request_outcome outcome)
{
    static const char *const names[] = {"pending", "approved", "rejected", "expired", "cancelled"};
    SMA_ASSERT((size_t)outcome < SMA_COUNT_OF(names));
    return names[outcome];
}

/* -- writing ----------------------------------------------------------------------------------- */
/* JSON goes in as a string: so it comes out byte by byte as it went in, and its depth is checked on
 * its own. */
void sma_request_put_item(struct sma_buf *buf, const struct sma_request_item *item)
{
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_key(buf, "call");
    sma_buf_put_u64(buf, item->call);
    sma_buf_put_json_member(buf, "type", item->type);
    sma_buf_put_json_member(buf, "tool", item->tool);
    sma_buf_put_json_member(buf, "title", item->title);
    sma_buf_put_json_member(buf, "input", item->input_json);
    sma_buf_put_json_member(buf, "details", item->details_json);
    sma_buf_put_json_member(buf, "diff", item->diff);
    sma_buf_put_json_member(buf, "rule", item->rule);
    sma_buf_put_json_member(buf, "program", item->program);
    sma_buf_put_json_member(buf, "reason", item->reason);
    sma_buf_put_json_member(buf, "grantRule", item->grant_rule);
    if (item->program_rule.len > 0)
        sma_buf_put_json_member(buf, "programRule", item->program_rule);
    char digest[2 * sizeof item->digest];
    for (size_t i = 0; i < sizeof item->digest; i++) {
        digest[2 * i] = digits[item->digest[i] >> 4];
        digest[2 * i + 1] = digits[item->digest[i] & 15];
    }
    sma_buf_put_json_member(buf, "digest", (struct sma_str){digest, sizeof digest});
    sma_buf_put_json_key(buf, "isAdminOnly");
    sma_buf_put_text(buf, item->is_admin_only ? "true" : "false");
    sma_buf_put_json_key(buf, "isOwnerOnly");
    sma_buf_put_text(buf, item->is_owner_only ? "true" : "false");
    if (item->is_by_helper) {
        sma_buf_put_json_key(buf, "isByHelper");
        sma_buf_put_text(buf, "true");
    }
    sma_buf_put_char(buf, '}');
}

void sma_request_put_by_helper(struct sma_buf *buf, struct sma_str item_json)
{
    if (item_json.len == 0 || item_json.ptr[item_json.len - 1] != '}') {
        buf->err = SMA_ERR_BADINPUT;
        return;
    }
    sma_buf_put(buf, item_json.ptr, item_json.len - 1);
    sma_buf_put_text(buf, ",\"isByHelper\":true}");
}

/* -- reading ----------------------------------------------------------------------------------- */
static enum sma_err load(struct sma_str json, json_t **ret_root)
{
    if (json.len == 0 || json.len > REQUEST_BYTES_MAX)
        return SMA_ERR_BADINPUT;
    json_error_t error;
    json_t *root = json_loadb(json.ptr, json.len, JSON_ALLOW_NUL, &error);
    if (root == NULL)
        return json_error_code(&error) == json_error_out_of_memory ? SMA_ERR_NOMEM
                                                                   : SMA_ERR_BADINPUT;
    *ret_root = root;
    return SMA_ERR_OK;
}

/* A member that must be there and a string. */
static bool read_text(const json_t *object, const char *key, struct sma_str *ret_text)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return false;
    *ret_text = sma_json_str_of(value);
    return true;
}

static bool read_name(const json_t *object, const char *key, struct sma_str *ret_text)
{
    struct sma_str text;
    if (!read_text(object, key, &text) || text.len == 0 || text.len > NAME_BYTES_MAX)
        return false;
    *ret_text = text;
    return true;
}

static enum sma_err read_json(const json_t *object, const char *key, struct sma_str *ret_text)
{
    struct sma_str text;
    if (!read_text(object, key, &text))
        return SMA_ERR_BADINPUT;
    SMA_AUTO(sma_json_freep) json_t *inner = NULL;
    enum sma_err err = sma_json_load(text, &inner);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOMEM ? err : SMA_ERR_BADINPUT;
    if (!json_is_object(inner))
        return SMA_ERR_BADINPUT;
    *ret_text = text;
    return SMA_ERR_OK;
}

static int hex_value(char digit)
{
    const char *at = digit == '\0' ? NULL : strchr(digits, digit);
    return at == NULL ? -1 : (int)(at - digits);
}

static bool read_digest(const json_t *object, uint8_t ret_digest[32])
{
    struct sma_str text;
    if (!read_text(object, "digest", &text) || text.len != 64)
        return false;
    for (size_t i = 0; i < 32; i++) {
        int high = hex_value(text.ptr[2 * i]), low = hex_value(text.ptr[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret_digest[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool is_name_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || (byte != '\0' && strchr("-_./", byte) != NULL);
}

/* A request from before items said whether they are for owners: by the file that is written, or any
 * that a command names. */
static bool seems_owner_only(const struct sma_request_item *item)
{
    json_t *details = NULL;
    if (sma_json_load(item->details_json, &details) != SMA_ERR_OK)
        return true;
    bool is_owner_only = sma_file_is_owner_only(sma_json_str(details, "filePath"));
    struct sma_str command = sma_json_str(details, "command");
    for (size_t from = 0, i = 0; i <= command.len; i++) {
        if (i < command.len && is_name_byte(command.ptr[i]))
            continue;
        is_owner_only |= sma_file_is_owner_only((struct sma_str){command.ptr + from, i - from});
        from = i + 1;
    }
    json_decref(details);
    return is_owner_only;
}

static enum sma_err read_item(const json_t *object, struct sma_request_item *ret_item)
{
    struct sma_request_item item = {0};
    const json_t *call = json_object_get(object, "call");
    const json_t *admin = json_object_get(object, "isAdminOnly");
    const json_t *owner = json_object_get(object, "isOwnerOnly");
    if (!json_is_integer(call) || json_integer_value(call) < 0 ||
        json_integer_value(call) >= SMA_TOOL_CALL_COUNT_MAX || !json_is_boolean(admin) ||
        (owner != NULL && !json_is_boolean(owner)))
        return SMA_ERR_BADINPUT;
    item.call = (uint32_t)json_integer_value(call);
    item.is_admin_only = json_is_true(admin);
    item.is_by_helper = json_is_true(json_object_get(object, "isByHelper"));
    if (!read_name(object, "type", &item.type) || !read_name(object, "tool", &item.tool) ||
        !read_text(object, "title", &item.title) || !read_text(object, "diff", &item.diff) ||
        !read_text(object, "rule", &item.rule) || !read_text(object, "program", &item.program) ||
        !read_text(object, "reason", &item.reason) ||
        !read_text(object, "grantRule", &item.grant_rule) || !read_digest(object, item.digest))
        return SMA_ERR_BADINPUT;
    (void)read_text(object, "programRule", &item.program_rule); /* not in older requests */
    item.title.len = sma_utf8_cut(item.title, TITLE_BYTES_MAX);
    SMA_TRY(read_json(object, "input", &item.input_json));
    SMA_TRY(read_json(object, "details", &item.details_json));
    item.is_owner_only = owner == NULL ? seems_owner_only(&item) : json_is_true(owner);
    *ret_item = item;
    return SMA_ERR_OK;
}

static bool has_call(const struct sma_request *request, uint32_t call)
{
    for (uint32_t i = 0; i < request->item_count; i++)
        if (request->items[i].call == call)
            return true;
    return false;
}

static enum sma_err read_items(const json_t *root, struct sma_request *request)
{
    const json_t *items = json_object_get(root, "items");
    size_t count = json_array_size(items);
    if (!json_is_array(items) || count == 0 || count > SMA_TOOL_CALL_COUNT_MAX)
        return SMA_ERR_BADINPUT;
    for (size_t i = 0; i < count; i++) {
        struct sma_request_item item;
        SMA_TRY(read_item(json_array_get(items, i), &item));
        if (has_call(request, item.call))
            return SMA_ERR_BADINPUT;
        request->items[request->item_count++] = item;
    }
    return SMA_ERR_OK;
}

enum sma_err sma_request_parse(struct sma_str json, struct sma_request *ret_request)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    SMA_TRY(load(json, &root));
    struct sma_request request = {0};
    SMA_TRY(read_items(root, &request));
    request.root = SMA_TAKE(root);
    *ret_request = request;
    return SMA_ERR_OK;
}

void sma_request_fini(struct sma_request *request)
{
    json_decref(request->root);
    *request = (struct sma_request){0};
}

static enum sma_err put_ready_item(struct sma_buf *buf, struct sma_str json, uint32_t call)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    struct sma_request_item item;
    enum sma_err err = load(json, &root);
    if (err == SMA_ERR_OK)
        err = read_item(root, &item);
    if (err != SMA_ERR_OK)
        return err;
    item.call = call;
    sma_request_put_item(buf, &item);
    return buf->err == SMA_ERR_NOMEM ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

enum sma_err sma_request_put(struct sma_buf *buf, const struct sma_str *item_jsons,
                             const uint32_t *calls, uint32_t count)
{
    if (count == 0 || count > SMA_TOOL_CALL_COUNT_MAX)
        return SMA_ERR_BADINPUT;
    uint64_t seen = 0;
    sma_buf_put_text(buf, "{\"items\":[");
    for (uint32_t i = 0; i < count; i++) {
        if (calls[i] >= SMA_TOOL_CALL_COUNT_MAX || (seen >> calls[i] & 1) != 0)
            return SMA_ERR_BADINPUT;
        seen |= UINT64_C(1) << calls[i];
        if (i > 0)
            sma_buf_put_char(buf, ',');
        enum sma_err err = put_ready_item(buf, item_jsons[i], calls[i]);
        if (err != SMA_ERR_OK)
            return err;
    }
    sma_buf_put_text(buf, "]}");
    if (buf->err == SMA_ERR_OK)
        return SMA_ERR_OK;
    return buf->err == SMA_ERR_NOMEM ? SMA_ERR_NOMEM : SMA_ERR_BADINPUT;
}
