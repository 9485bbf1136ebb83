/*
 * Standing permissions: records "grant/<id>" of state.db, all of them in memory too, oldest first. One belongs to a chat
 * and follows it when the chat moves. One that has ended is not given to anybody and goes with the next sweep.
 */
#include "consent.h"
#include "consent_priv.h"
#include "intake.h"
#include "people.h"
#include "record.h"
#include "store.h"

#include "runtime/json/json_read.h"

#include <stdlib.h>

#define PREFIX "grant/"
#define LENGTH_S_MAX (INT64_C(3660) * 86400) /* ten years; longer is cut */
#define GRANT_BYTES_MAX ((size_t)64 * 1024)

/* -- memory ----------------------------------------------------------------------------------------------------- */
void sma_store_free_grants(struct sma_store *store)
{
    while (store->consent->grant_first != NULL) {
        struct store_grant *grant = store->consent->grant_first;
        store->consent->grant_first = grant->next;
        free(grant);
    }
}

static struct sma_str copy(char **at, struct sma_str text)
{
    char *to = *at;
    if (text.len > 0)
        memcpy(to, text.ptr, text.len);
    *at += text.len;
    return (struct sma_str){to, text.len};
}

static SMA_CHECKED enum sma_err keep(struct sma_store *store, const struct store_grant *from)
{
    struct store_grant *grant = malloc(sizeof *grant + from->id.len + from->chat_key.len +
                                       from->tool.len + from->rule.len + from->by.len + 1);
    if (grant == NULL)
        return SMA_ERR_NOMEM;
    *grant = (struct store_grant){.until_ms = from->until_ms, .created_ms = from->created_ms};
    char *at = grant->bytes;
    grant->id = copy(&at, from->id);
    grant->chat_key = copy(&at, from->chat_key);
    grant->tool = copy(&at, from->tool);
    grant->rule = copy(&at, from->rule);
    grant->by = copy(&at, from->by);
    struct store_grant **link = &store->consent->grant_first;
    while (*link != NULL && (*link)->created_ms <= grant->created_ms)
        link = &(*link)->next;
    grant->next = *link;
    *link = grant;
    return SMA_ERR_OK;
}

static enum sma_err load_grant(void *user, struct sma_str key, struct sma_str value)
{
    json_t *root = NULL;
    if (sma_json_load(value, &root) != SMA_ERR_OK)
        return SMA_ERR_OK; /* not of ours */
    struct sma_str prefix = SMA_STR(PREFIX);
    enum sma_err err = keep(
        user, &(struct store_grant){.id = {key.ptr + prefix.len, key.len - prefix.len},
                                    .chat_key = sma_json_str(root, "chatKey"),
                                    .tool = sma_json_str(root, "tool"),
                                    .rule = sma_json_str(root, "rule"),
                                    .by = sma_json_str(root, "by"),
                                    .until_ms = sma_json_int(root, "until", 0, INT64_MAX, 1),
                                    .created_ms = sma_json_int(root, "created", 0, INT64_MAX, 0)});
    json_decref(root);
    return err;
}

enum sma_err sma_store_load_grants(struct sma_store *store)
{
    sma_store_free_grants(store);
    return sma_state_each_access_under(store->state, SMA_STR(PREFIX), load_grant, store);
}

/* -- which hold ------------------------------------------------------------------------------------------------- */
static bool has_ended(const struct store_grant *grant, int64_t now_ms)
{
    /* A clock that was set back gives nobody more time than he was given. */
    return grant->until_ms != 0 &&
           (grant->until_ms <= now_ms || grant->created_ms > now_ms + 60000);
}

static bool is_of_chat(const struct store_grant *grant, const struct sma_state_chat *chat)
{
    for (; chat != NULL; chat = sma_state_chat_next_former(chat))
        if (sma_str_is_equal(grant->chat_key, chat->key))
            return true;
    return false;
}

const struct store_grant *sma_store_next_grant(const struct sma_store *store,
                                               const struct store_chat *chat,
                                               const struct store_grant *grant)
{
    int64_t now_ms = sma_ctx_wall(store->ctx);
    grant = grant == NULL ? store->consent->grant_first : grant->next;
    while (grant != NULL && (has_ended(grant, now_ms) || !is_of_chat(grant, chat->state)))
        grant = grant->next;
    return grant;
}

/* -- changing --------------------------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err write_record(struct sma_store *store, struct sma_str id,
                                             struct sma_str value)
{
    char key[sizeof PREFIX + SMA_ID_BYTES_MAX];
    snprintf(key, sizeof key, PREFIX "%.*s", (int)sma_utf8_cut(id, SMA_ID_BYTES_MAX), id.ptr);
    return sma_state_access_set(store->state, sma_str(key), value);
}

static SMA_CHECKED enum sma_err remove_grant(struct sma_store *store, struct store_grant *grant)
{
    enum sma_err err = write_record(store, grant->id, SMA_STR(""));
    if (err != SMA_ERR_OK)
        return err;
    struct store_grant **link = &store->consent->grant_first;
    while (*link != grant)
        link = &(*link)->next;
    *link = grant->next;
    free(grant);
    return SMA_ERR_OK;
}

enum sma_err sma_store_sweep_grants(struct sma_store *store)
{
    int64_t now_ms = sma_ctx_wall(store->ctx);
    for (struct store_grant *at = store->consent->grant_first, *next; at != NULL; at = next) {
        next = at->next;
        enum sma_err err = has_ended(at, now_ms) ? remove_grant(store, at) : SMA_ERR_OK;
        if (err != SMA_ERR_OK)
            return err;
    }
    return SMA_ERR_OK;
}

/* Room for one more: the same permission given before goes, and at the bound the oldest of the chat. */
static SMA_CHECKED enum sma_err make_room(struct sma_store *store,
                                          const struct store_grant_facts *facts)
{
    enum sma_err err = sma_store_sweep_grants(store);
    struct store_grant *oldest = NULL;
    uint32_t count = 0;
    for (struct store_grant *at = store->consent->grant_first, *next;
         at != NULL && err == SMA_ERR_OK; at = next) {
        next = at->next;
        if (!is_of_chat(at, facts->chat->state))
            continue;
        if (sma_str_is_equal(at->tool, facts->tool) && sma_str_is_equal(at->rule, facts->rule)) {
            err = remove_grant(store, at);
            continue;
        }
        oldest = oldest == NULL ? at : oldest;
        count++;
    }
    return err == SMA_ERR_OK && count >= SMA_GRANT_COUNT_MAX ? remove_grant(store, oldest) : err;
}

static void put_record(struct sma_buf *json, const struct store_grant *grant)
{
    sma_buf_put_char(json, '{');
    sma_buf_put_json_member(json, "chatKey", grant->chat_key);
    sma_buf_put_json_member(json, "tool", grant->tool);
    sma_buf_put_json_member(json, "rule", grant->rule);
    sma_buf_put_json_member(json, "by", grant->by);
    sma_buf_put_json_key(json, "until");
    sma_buf_put_i64(json, grant->until_ms);
    sma_buf_put_json_key(json, "created");
    sma_buf_put_i64(json, grant->created_ms);
    sma_buf_put_char(json, '}');
}

enum sma_err sma_store_add_grant(struct sma_store *store, const struct store_grant_facts *facts)
{
    uint8_t bytes[16];
    char id[2 * sizeof bytes + 1];
    store->sys->random_bytes(store->sys->self, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    int64_t now_ms = sma_ctx_wall(store->ctx), length_s = facts->length_s;
    bool is_for_good = length_s == SMA_GRANT_ALWAYS;
    length_s = length_s < 0 ? 0 : length_s > LENGTH_S_MAX ? LENGTH_S_MAX : length_s;
    struct store_grant grant = {.id = sma_str(id),
                                .chat_key = sma_store_chat_key(facts->chat),
                                .tool = facts->tool,
                                .rule = facts->rule,
                                .by = facts->by,
                                .until_ms = is_for_good ? 0 : now_ms + length_s * 1000,
                                .created_ms = now_ms};
    struct sma_buf json;
    sma_buf_init(&json, GRANT_BYTES_MAX);
    put_record(&json, &grant);
    enum sma_err err = json.err;
    if (err == SMA_ERR_OK)
        err = make_room(store, facts);
    if (err == SMA_ERR_OK)
        err = write_record(store, grant.id, sma_buf_str(&json));
    if (err == SMA_ERR_OK)
        err = keep(store, &grant);
    sma_buf_fini(&json);
    return err;
}

/* -- DECIDE of kind REVOKE -------------------------------------------------------------------------------------- */
static bool may_revoke(struct sma_store *store, const struct sma_route *route,
                       const struct store_grant *grant)
{
    enum sma_standing standing = sma_store_standing(store, NULL, route, false);
    if (standing != SMA_STANDING_ADMIN)
        return standing == SMA_STANDING_OWNER;
    const struct sma_state_chat *chat = sma_state_chat_get(store->state, grant->chat_key);
    return chat != NULL && sma_str_is_equal(chat->channel, route->channel);
}

/* The one grant whose id begins so. *ret_count: how many do. */
static struct store_grant *find_grant(struct sma_store *store, struct sma_str beginning,
                                      uint32_t *ret_count)
{
    struct store_grant *found = NULL;
    *ret_count = 0;
    if (beginning.len < 6)
        return NULL;
    for (struct store_grant *at = store->consent->grant_first; at != NULL; at = at->next)
        if (sma_str_starts_with(at->id, beginning) && (*ret_count)++ == 0)
            found = at;
    return found;
}

static void audit_revoked(struct sma_store *store, const struct store_grant *grant,
                          const struct sma_route *route)
{
    struct sma_buf *json = &store->text_buf;
    sma_buf_clear(json);
    sma_buf_put_char(json, '{');
    sma_buf_put_json_member(json, "id", grant->id);
    sma_buf_put_json_member(json, "chat", grant->chat_key);
    sma_buf_put_json_member(json, "tool", grant->tool);
    sma_buf_put_json_member(json, "rule", grant->rule);
    sma_buf_put_json_member(json, "by", sma_store_name_of(route));
    sma_buf_put_char(json, '}');
    sma_store_audit(store, "approval: grant revoked", sma_buf_str(json));
}

static SMA_CHECKED enum sma_err revoke(struct sma_store *store, const struct sma_decide *decide,
                                       int *ret_status, const char **ret_text)
{
    uint32_t count;
    struct store_grant *grant = find_grant(store, decide->id, &count);
    *ret_status = count > 1 ? 400 : 404;
    *ret_text = count > 1 ? "several permissions have an id that begins so; give more of it"
                          : "there is no such permission";
    if (grant == NULL || count > 1)
        return SMA_ERR_OK;
    *ret_status = 403;
    *ret_text = "this is for an owner or administrator to revoke";
    if (!may_revoke(store, &decide->route, grant))
        return SMA_ERR_OK;
    enum sma_err err = sma_store_begin(store);
    if (err != SMA_ERR_OK)
        return err;
    audit_revoked(store, grant, &decide->route);
    *ret_status = 200;
    *ret_text = "revoked";
    return remove_grant(store, grant);
}

void sma_store_revoke(struct sma_store *store, struct sma_msg **question)
{
    int status = 503;
    const char *text = "the service cannot write now; try again";
    sma_store_check_disk(store);
    if (sma_store_may_write(store)) {
        enum sma_err err =
            revoke(store, SMA_MSG_BODY(*question, struct sma_decide), &status, &text);
        if (err != SMA_ERR_OK) {
            sma_store_fail_batch(store, err);
            status = 503;
            text = "it could not be stored; try again";
        }
    }
    struct sma_msg *answer = STORE_MSG(store, DECIDED, struct sma_decided, 0);
    *SMA_MSG_BODY(answer, struct sma_decided) =
        (struct sma_decided){.status = status, .text = sma_str(text)};
    sma_store_answer_later(store, *question, &answer, 0);
}

/* -- the list --------------------------------------------------------------------------------------------------- */
static void put_time(struct sma_buf *json, const char *key, int64_t wall_ms)
{
    sma_buf_put_json_key(json, key);
    if (wall_ms == 0) {
        sma_buf_put_text(json, "null");
        return;
    }
    sma_buf_put_char(json, '"');
    sma_buf_put_iso_time(json, wall_ms);
    sma_buf_put_char(json, '"');
}

void sma_store_put_grants(struct sma_store *store, struct sma_buf *json, struct sma_str chat_key)
{
    int64_t now_ms = sma_ctx_wall(store->ctx);
    const struct sma_state_chat *chat =
        chat_key.len > 0 ? sma_state_chat_get(store->state, chat_key) : NULL;
    bool is_first = true;
    sma_buf_put_text(json, "{\"grants\":[");
    for (const struct store_grant *at = store->consent->grant_first; at != NULL; at = at->next) {
        if (has_ended(at, now_ms) || (chat_key.len > 0 && !is_of_chat(at, chat)))
            continue;
        sma_buf_put_text(json, is_first ? "{" : ",{");
        is_first = false;
        sma_buf_put_json_member(json, "id", at->id);
        sma_buf_put_json_member(json, "tool", at->tool);
        sma_buf_put_json_member(json, "rule", at->rule);
        sma_buf_put_json_member(json, "chatKey", at->chat_key);
        put_time(json, "until", at->until_ms);
        sma_buf_put_json_member(json, "by", at->by);
        put_time(json, "created", at->created_ms);
        sma_buf_put_char(json, '}');
    }
    sma_buf_put_text(json, "]}");
}
