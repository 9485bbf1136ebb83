/*
 * Standing permissions: rows of state.db (state_grants.h), read when a run starts and never kept in
 * memory, so neither a start nor a turn depends on how many there are. One belongs to a chat and
 * follows it when the chat moves. One that has ended is not given to anybody; keep removes it by
 * and by.
 */
#include "consent.h"
#include "consent_priv.h"
#include "intake.h"
#include "people.h"
#include "record.h"
#include "store.h"

#include "runtime/approval/consent.h"

#define ID_BYTES_MIN 6

/* -- which hold -------------------------------------------------------------------------------- */
static bool holds(const struct sma_state_grant *grant, int64_t now_ms)
{
    return !grant->is_damaged && sma_grant_holds(grant->created_ms, grant->until_ms, now_ms);
}

static void say_damaged(struct sma_store *store, const struct store_chat *chat, const char *why)
{
    sma_ctx_log(store->ctx, SMA_LOG_ERROR,
                "approval: permissions of %s cannot be read (%s) and permit nothing: people are "
                "asked each time; what they allow for longer is written anew",
                chat->key, why);
    sma_store_note_error(store, "the permissions of a chat could not be read");
}

void sma_store_grants_read(struct sma_store *store, const struct store_chat *chat,
                           struct sma_state_rows *rows, struct sma_state_grants *ret_grants)
{
    int64_t now_ms = sma_ctx_wall(store->ctx);
    enum sma_err err = sma_state_grants_read(store->state, chat->state, rows, ret_grants);
    if (err != SMA_ERR_OK) {
        say_damaged(store, chat, sma_state_error(store->state)->text);
        ret_grants->count = 0;
    }
    size_t kept = 0;
    bool is_damaged = false;
    for (size_t i = 0; i < ret_grants->count; i++) {
        const struct sma_state_grant *at = &ret_grants->items[i];
        is_damaged = is_damaged || at->is_damaged;
        if (holds(at, now_ms))
            ret_grants->items[kept++] = *at;
    }
    ret_grants->count = kept;
    if (is_damaged)
        say_damaged(store, chat, "a row is damaged");
}

/* -- giving ------------------------------------------------------------------------------------ */
enum sma_err sma_store_add_grant(struct sma_store *store, const struct store_grant_facts *facts)
{
    uint8_t bytes[16];
    char id[2 * sizeof bytes + 1];
    store->sys->random_bytes(store->sys->self, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    int64_t now_ms = sma_ctx_wall(store->ctx);
    return sma_state_grant_add(store->state, &(struct sma_state_grant){.id = sma_str(id),
                                                                       .chat = facts->chat->state,
                                                                       .created_ms = now_ms,
                                                                       .until_ms = sma_grant_until(
                                                                           now_ms, facts->length_s),
                                                                       .tool = facts->tool,
                                                                       .rule = facts->rule,
                                                                       .by = facts->by});
}

/* -- DECIDE of kind REVOKE --------------------------------------------------------------------- */
static bool may_revoke(struct sma_store *store, const struct sma_route *route,
                       const struct sma_state_grant *grant)
{
    enum sma_standing standing = sma_store_standing(store, NULL, route, false);
    if (standing != SMA_STANDING_ADMIN)
        return standing == SMA_STANDING_OWNER;
    return grant->chat != NULL && sma_str_is_equal(grant->chat->channel, route->channel);
}

static struct sma_str key_of(const struct sma_state_grant *grant)
{
    return grant->chat != NULL ? grant->chat->key : SMA_STR("");
}

static void audit_revoked(struct sma_store *store, const struct sma_state_grant *grant,
                          const struct sma_route *route)
{
    struct sma_buf *json = &store->scratch.text;
    sma_buf_clear(json);
    sma_buf_put_char(json, '{');
    sma_buf_put_json_member(json, "id", grant->id);
    sma_buf_put_json_member(json, "chat", key_of(grant));
    sma_buf_put_json_member(json, "tool", grant->tool);
    sma_buf_put_json_member(json, "rule", grant->rule);
    sma_buf_put_json_member(json, "by", sma_store_name_of(route));
    sma_buf_put_char(json, '}');
    sma_store_audit(store, "approval: grant revoked", sma_buf_str(json));
}

/* What became of it, as in sma_decided. */
struct revocation
{
    int status;
    const char *text;
};

static SMA_CHECKED enum sma_err revoke_grant(struct sma_store *store,
                                             const struct sma_decide *decide,
                                             struct sma_state_rows *rows, struct revocation *ret)
{
    struct sma_state_grants found = {NULL, 0};
    enum sma_err err = decide->id.len >= ID_BYTES_MIN
                           ? sma_state_grants_find(store->state, decide->id, rows, &found)
                           : SMA_ERR_OK;
    if (err != SMA_ERR_OK)
        return err;
    if (found.count == 0)
        *ret = (struct revocation){404, "there is no such permission"};
    else if (found.count > 1)
        *ret = (struct revocation){
            400, "several permissions have an id that begins so; give more of it"};
    else if (!may_revoke(store, &decide->route, &found.items[0]))
        *ret = (struct revocation){403, "this is for an owner or administrator to revoke"};
    else
        *ret = (struct revocation){200, "revoked"};
    if (ret->status != 200)
        return SMA_ERR_OK;
    err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_state_grant_remove(store->state, found.items[0].id);
    if (err == SMA_ERR_OK)
        audit_revoked(store, &found.items[0], &decide->route);
    return err;
}

void sma_store_revoke(struct sma_store *store, struct sma_msg **question)
{
    struct revocation said = {503, "the service cannot write now; try again"};
    sma_store_check_disk(store);
    if (sma_store_may_write(store)) {
        struct sma_state_rows rows = {0};
        enum sma_err err =
            revoke_grant(store, SMA_MSG_BODY(*question, struct sma_decide), &rows, &said);
        sma_state_rows_free(&rows);
        if (err != SMA_ERR_OK) {
            sma_store_fail_batch(store, err);
            said = (struct revocation){503, "it could not be stored; try again"};
        }
    }
    const struct sma_decided decided = {.status = said.status, .text = sma_str(said.text)};
    struct sma_msg *answer = sma_store_made(store, sma_msg_make_decided(&decided));
    sma_store_answer_later(store, *question, &answer, 0);
}

/* -- the list ---------------------------------------------------------------------------------- */
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

void sma_store_put_grant(struct sma_buf *json, const struct sma_state_grant *grant)
{
    sma_buf_put_char(json, '{');
    sma_buf_put_json_member(json, "id", grant->id);
    sma_buf_put_json_member(json, "tool", grant->tool);
    sma_buf_put_json_member(json, "rule", grant->rule);
    sma_buf_put_json_member(json, "chatKey", key_of(grant));
    put_time(json, "until", grant->until_ms);
    sma_buf_put_json_member(json, "by", grant->by);
    put_time(json, "created", grant->created_ms);
    sma_buf_put_char(json, '}');
}
