/*
 * Requests as JSON: for the list that is asked for, the pending part of a result, and
 * `.ship/approvals/<id>.json` (protocols/project.md §10.4) for people and old tools. The files are
 * a
 * projection: written after the commit, gone when the request is over, looked at again after a
 * start, never believed. A lost one costs nothing, so nobody waits for the disk: they are made in
 * slices between batches.
 */
#include "consent.h"
#include "consent_priv.h"
#include "record.h"
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#define FILE_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define FOREIGN_LISTED_COUNT 5

/* -- JSON -------------------------------------------------------------------------------------- */
static void put_optional(struct sma_buf *json, const char *key, struct sma_str text)
{
    if (text.len > 0)
        sma_buf_put_json_member(json, key, text);
}

/* Already JSON; an object in any case. */
static void put_object(struct sma_buf *json, const char *key, struct sma_str object)
{
    sma_buf_put_json_key(json, key);
    if (object.len == 0)
        sma_buf_put_text(json, "{}");
    else
        sma_buf_put_str(json, object);
}

static void put_time(struct sma_buf *json, const char *key, int64_t wall_ms)
{
    sma_buf_put_json_key(json, key);
    sma_buf_put_char(json, '"');
    sma_buf_put_iso_time(json, wall_ms);
    sma_buf_put_char(json, '"');
}

static void put_item(struct sma_buf *json, const struct store_case *it, uint32_t index)
{
    const struct sma_request_item *item = &it->request.items[index];
    const struct store_case_item *decided = &it->items[index];
    sma_buf_put_text(json, index == 0 ? "{" : ",{");
    sma_buf_put_json_key(json, "item");
    sma_buf_put_u64(json, index + 1);
    sma_buf_put_json_member(json, "type", item->type);
    sma_buf_put_json_member(json, "tool", item->tool);
    sma_buf_put_json_member(json, "title", item->title);
    put_object(json, "input", item->input_json);
    put_object(json, "details", item->details_json);
    put_optional(json, "diff", item->diff);
    put_optional(json, "rule", item->rule);
    put_optional(json, "program", item->program);
    put_optional(json, "reason", item->reason);
    put_optional(json, "grantRule", item->grant_rule);
    sma_buf_put_json_key(json, "isOwnerOnly");
    sma_buf_put_text(json, item->is_owner_only ? "true" : "false");
    sma_buf_put_json_key(json, "isAdminOnly");
    sma_buf_put_text(json, item->is_admin_only ? "true" : "false");
    sma_buf_put_json_member(
        json, "status",
        sma_str(sma_request_outcome_name((enum sma_request_outcome)decided->outcome)));
    put_optional(json, "by", decided->by);
    put_optional(json, "response", decided->response);
    sma_buf_put_char(json, '}');
}

static uint32_t first_open(const struct store_case *it)
{
    uint64_t mask = sma_store_case_mask(it);
    return mask == 0 ? 0 : (uint32_t)__builtin_ctzll(mask);
}

static void put_meta(struct sma_buf *json, const struct store_case *it)
{
    const struct sma_route *route = &it->facts.route;
    struct sma_str request_id = sma_str(it->approval->id);
    sma_buf_put_json_key(json, "meta");
    sma_buf_put_char(json, '{');
    sma_buf_put_json_member(json, "sessionId", sma_store_chat_key(it->approval->chat));
    sma_buf_put_json_member(json, "source", route->channel);
    sma_buf_put_json_member(json, "userId", route->chat_id);
    put_optional(json, "actorId", route->user_id);
    put_optional(json, "initiatorId", route->user_id);
    put_optional(json, "initiatorName", route->user_name);
    sma_buf_put_json_member(json, "requestId", request_id);
    sma_buf_put_json_member(json, "aiApprovalId", request_id);
    sma_buf_put_json_key(json, "runId");
    sma_buf_put_char(json, '"');
    sma_buf_put_u64(json, it->approval->seq);
    sma_buf_put_text(json, "\"}");
}

void sma_store_put_case(const struct store_case *it, struct sma_buf *json)
{
    if (it->request.item_count == 0)
        return;
    const struct sma_request_item *first = &it->request.items[first_open(it)];
    sma_buf_put_char(json, '{');
    sma_buf_put_json_member(json, "id", sma_str(it->approval->id));
    sma_buf_put_json_member(json, "type", first->type);
    sma_buf_put_json_member(json, "action", first->title);
    put_object(json, "details", first->details_json);
    sma_buf_put_json_member(json, "tool", first->tool);
    put_object(json, "input", first->input_json);
    put_meta(json, it);
    put_optional(json, "diff", first->diff);
    sma_buf_put_json_member(json, "status", SMA_STR("pending"));
    put_time(json, "createdAt", it->created_ms);
    sma_buf_put_json_member(json, "chatKey", sma_store_chat_key(it->approval->chat));
    sma_buf_put_json_key(json, "items");
    sma_buf_put_char(json, '[');
    for (uint32_t i = 0; i < it->request.item_count; i++)
        put_item(json, it, i);
    sma_buf_put_text(json, "]}");
}

void sma_store_put_pending(const struct store_case *it, struct sma_buf *json)
{
    if (it->request.item_count == 0)
        return;
    const struct sma_request_item *first = &it->request.items[first_open(it)];
    sma_buf_put_char(json, '{');
    sma_buf_put_json_member(json, "id", sma_str(it->approval->id));
    sma_buf_put_json_member(json, "type", first->type);
    sma_buf_put_json_member(json, "description", first->title);
    sma_buf_put_json_key(json, "data");
    sma_buf_put_char(json, '{');
    sma_buf_put_json_member(json, "toolName", first->tool);
    put_object(json, "args", first->input_json);
    sma_buf_put_json_member(json, "aiApprovalId", sma_str(it->approval->id));
    sma_buf_put_text(json, "}}");
}

/* -- files ------------------------------------------------------------------------------------- */

static bool make_path(const struct sma_store *store, const char *name, char *path, size_t cap)
{
    int len = snprintf(path, cap, "%s/approvals/%s", store->config->state_dir, name);
    return len > 0 && (size_t)len < cap;
}

static bool stands_there(struct sma_store *store, const char *path, struct sma_str json)
{
    char *bytes = NULL;
    size_t len = 0;
    struct sma_error error = {0};
    bool is_same =
        sma_sys_read_file(store->sys, path, json.len + 1, &bytes, &len, &error) == SMA_ERR_OK &&
        sma_str_is_equal((struct sma_str){bytes, len}, json);
    free(bytes);
    return is_same;
}

static void write_file(struct sma_store *store, struct store_approval *approval, const char *path)
{
    struct store_case it;
    struct sma_buf json;
    struct sma_error error = {0};
    if (sma_store_case_open(store, approval, &it) != SMA_ERR_OK)
        return;
    sma_buf_init(&json, FILE_BYTES_MAX);
    sma_store_put_case(&it, &json);
    sma_buf_put_char(&json, '\n');
    enum sma_err err = json.err;
    if (err == SMA_ERR_OK && !stands_there(store, path, sma_buf_str(&json)))
        err = sma_sys_write_file_unsynced(store->sys, path, sma_buf_str(&json), 0600, &error);
    if (err != SMA_ERR_OK)
        sma_store_boot_line(store, SMA_LOG_WARN, "%s was not written: %s", path,
                            error.text[0] != '\0' ? error.text : sma_err_text(err));
    sma_buf_fini(&json);
    sma_store_case_fini(&it);
}

static void project_one(struct sma_store *store, const char *id)
{
    char name[SMA_STATE_APPROVAL_ID_BYTES + 8], path[4096];
    snprintf(name, sizeof name, "%s.json", id);
    if (!make_path(store, name, path, sizeof path))
        return;
    struct store_approval *approval = sma_store_approval_by_id(store, sma_str(id));
    if (approval != NULL)
        write_file(store, approval, path);
    else if (store->sys->unlink(store->sys->self, path) != 0 && errno != ENOENT)
        sma_store_boot_line(store, SMA_LOG_WARN, "%s is of no use any more but cannot be removed",
                            path);
}

void sma_store_project(struct sma_store *store, uint64_t budget_ns)
{
    struct store_consent *consent = store->consent;
    uint64_t begun = store->sys->now_ns(store->sys->self);
    while (consent->projected_at < consent->projected_count) {
        char id[SMA_STATE_APPROVAL_ID_BYTES + 1];
        snprintf(id, sizeof id, "%s", consent->projected[consent->projected_at++]);
        struct store_approval *approval = sma_store_approval_by_id(store, sma_str(id));
        if (approval != NULL)
            approval->is_touched = false;
        project_one(store, id);
        if (store->sys->now_ns(store->sys->self) - begun >= budget_ns)
            return;
    }
    consent->projected_at = consent->projected_count = 0;
}

/* Ours are named by 32 hex digits; the older program's by 8. */
static bool is_ours(const char *name)
{
    return strspn(name, "0123456789abcdef") == SMA_STATE_APPROVAL_ID_BYTES &&
           strcmp(name + SMA_STATE_APPROVAL_ID_BYTES, ".json") == 0;
}

static void look_at_file(struct sma_store *store, const char *name, struct sma_buf *foreign,
                         uint32_t *foreign_count)
{
    size_t len = strlen(name);
    if (is_ours(name)) {
        char id[SMA_STATE_APPROVAL_ID_BYTES + 1];
        snprintf(id, sizeof id, "%.*s", SMA_STATE_APPROVAL_ID_BYTES, name);
        if (sma_store_approval_by_id(store, sma_str(id)) == NULL)
            sma_store_touch_projection(store, id);
    } else if (len > 5 && strcmp(name + len - 5, ".json") == 0) {
        if ((*foreign_count)++ < FOREIGN_LISTED_COUNT) {
            sma_buf_put_text(foreign, foreign->len > 0 ? ", " : "");
            sma_buf_put_text(foreign, name);
        }
    }
}

void sma_store_project_all(struct sma_store *store)
{
    char path[4096];
    struct sma_buf foreign;
    struct sma_error error = {0};
    uint32_t foreign_count = 0;
    if (!make_path(store, "", path, sizeof path) ||
        sma_sys_make_dirs(store->sys, path, &error) != SMA_ERR_OK) {
        sma_store_boot_line(store, SMA_LOG_WARN, "requests are not shown as files: %s", error.text);
        return;
    }
    sma_buf_init(&foreign, 8192);
    DIR *directory = opendir(path);
    for (struct dirent *item; directory != NULL && (item = readdir(directory)) != NULL;)
        look_at_file(store, item->d_name, &foreign, &foreign_count);
    if (directory != NULL)
        (void)closedir(directory); /* read only */
    if (foreign_count > 0 && foreign.err == SMA_ERR_OK)
        sma_store_boot_line(
            store, SMA_LOG_WARN,
            "%u files in %s are requests of an older program (%s): they are left "
            "alone and cannot be answered here; ask the agent again and remove them",
            foreign_count, path, foreign.ptr);
    sma_buf_fini(&foreign);
    for (struct store_approval *at = store->consent->first; at != NULL; at = at->next)
        sma_store_touch_projection(store, at->id);
}
