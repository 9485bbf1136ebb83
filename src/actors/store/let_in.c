/*
 * Which groups the owner's side has let in. Anybody can make a group, take the bot into it and be
 * its administrator by the platform's word; so that word counts only where an owner or an
 * administrator, by configuration or pairing, has addressed the bot, where an owner has confirmed
 * the group's code, where the configuration names the group, and in groups that were there before
 * this was asked.
 */
#include "intake.h"
#include "people_priv.h"
#include "store.h"

static SMA_CHECKED enum sma_err write_record(struct sma_store *store, const char *via,
                                             const struct sma_route *by)
{
    struct sma_buf value;
    sma_buf_init(&value, 16 * 1024);
    int64_t now =
        store->ctx != NULL ? sma_ctx_wall(store->ctx) : store->sys->wall_ms(store->sys->self);
    sma_buf_put_char(&value, '{');
    sma_buf_put_json_member(&value, "via", sma_str(via));
    if (by != NULL) {
        sma_buf_put_json_member(&value, "byChannel", by->channel);
        sma_buf_put_json_member(&value, "byUserId", by->user_id);
    }
    sma_buf_put_json_key(&value, "since");
    sma_buf_put_i64(&value, now);
    sma_buf_put_char(&value, '}');
    enum sma_err err = value.err;
    if (err == SMA_ERR_OK)
        err = sma_store_people_write(store, sma_buf_str(&value));
    sma_buf_fini(&value);
    return err;
}

static void audit(struct sma_store *store, const struct sma_route *group, const char *via,
                  const struct sma_route *by)
{
    char line[200];
    struct sma_buf details;
    sma_buf_init(&details, 16 * 1024);
    sma_buf_put_char(&details, '{');
    sma_buf_put_json_member(&details, "channel", group->channel);
    sma_buf_put_json_member(&details, "chatId", group->chat_id);
    sma_buf_put_json_member(&details, "via", sma_str(via));
    if (by != NULL) {
        sma_buf_put_json_member(&details, "byChannel", by->channel);
        sma_buf_put_json_member(&details, "byUserId", by->user_id);
    }
    sma_buf_put_char(&details, '}');
    (void)snprintf(line, sizeof line, "group: %s %.*s:%.80s",
                   strcmp(via, "rejected") == 0 ? "rejected" : "let in", (int)group->channel.len,
                   group->channel.ptr, group->chat_id.ptr);
    if (details.err == SMA_ERR_OK)
        sma_store_audit(store, line, sma_buf_str(&details));
    sma_buf_fini(&details);
}

enum sma_err sma_store_group_say(struct sma_store *store, const struct sma_route *route,
                                 const char *via, const struct sma_route *by)
{
    enum sma_err err = sma_store_people_key(store, "group/", route->channel, route->chat_id);
    if (err == SMA_ERR_OK)
        err = write_record(store, via, by);
    if (err == SMA_ERR_OK)
        audit(store, route, via, by);
    return err;
}

enum sma_err sma_store_group_keep(struct sma_store *store, struct sma_str channel,
                                  struct sma_str chat_id, bool *ret_is_new)
{
    *ret_is_new = false;
    enum sma_err err = sma_store_people_key(store, "group/", channel, chat_id);
    if (err == SMA_ERR_OK)
        err = sma_store_people_read(store);
    if (err != SMA_ERR_NOTFOUND)
        return err;
    *ret_is_new = true;
    return write_record(store, "history", NULL);
}

/* Both names of the chat hold: what was asked for under the former one is still open. */
enum sma_err sma_store_group_move(struct sma_store *store, struct sma_str channel,
                                  struct sma_str from_chat_id, struct sma_str to_chat_id)
{
    enum sma_err err = sma_store_people_key(store, "group/", channel, to_chat_id);
    if (err == SMA_ERR_OK)
        err = sma_store_people_read(store);
    if (err != SMA_ERR_NOTFOUND)
        return err; /* said of the new one itself, or an error */
    err = sma_store_people_key(store, "group/", channel, from_chat_id);
    if (err == SMA_ERR_OK)
        err = sma_store_people_read(store);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
    struct sma_buf *value = &store->people->value;
    err = sma_store_people_key(store, "group/", channel, to_chat_id);
    return err == SMA_ERR_OK ? sma_store_people_write(store, sma_buf_str(value)) : err;
}
