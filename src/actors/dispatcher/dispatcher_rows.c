/* dispatcher_rows.c — the tables of rows and chats, and rendering. */
#include "dispatcher_priv.h"

#include "sma/notices.h"
#include "sma/text.h"

#include <stdlib.h>

struct platform *sma_dispatcher_platform(struct sma_dispatcher *dispatcher, unsigned actor)
{
    if (!sma_actor_is_adapter(actor))
        return NULL;
    return &dispatcher->platforms[actor - SMA_ACTOR_ADAPTER_0];
}

static struct row **row_place(struct sma_dispatcher *dispatcher, uint64_t outbox_id)
{
    struct row **place = &dispatcher->rows[outbox_id % DISPATCHER_TABLE_SIZE];
    while (*place != NULL && (*place)->deliver->outbox_id != outbox_id)
        place = &(*place)->next_in_table;
    return place;
}

struct row *sma_dispatcher_find_row(struct sma_dispatcher *dispatcher, uint64_t outbox_id)
{
    return *row_place(dispatcher, outbox_id);
}

static struct chat **chat_place(struct sma_dispatcher *dispatcher, const struct platform *platform,
                                struct sma_str key)
{
    uint64_t hash = sma_siphash(dispatcher->hash_key, key.ptr, key.len);
    struct chat **place = &dispatcher->chats[hash % DISPATCHER_TABLE_SIZE];
    while (*place != NULL) {
        struct sma_str other = {(*place)->key, (*place)->key_len};
        if ((*place)->platform == platform && sma_str_is_equal(other, key))
            break;
        place = &(*place)->next_in_table;
    }
    return place;
}

struct chat *sma_dispatcher_find_chat(struct sma_dispatcher *dispatcher,
                                      const struct platform *platform, struct sma_str key)
{
    return *chat_place(dispatcher, platform, key);
}

static struct chat *obtain_chat(struct sma_dispatcher *dispatcher, struct platform *platform,
                                const struct sma_route *route, struct sma_str key)
{
    struct chat **place = chat_place(dispatcher, platform, key);
    if (*place != NULL)
        return *place;
    struct chat *chat = calloc(1, sizeof *chat + key.len + 1);
    if (chat == NULL)
        return NULL;
    bool is_group = platform->ops->is_group != NULL && platform->ops->is_group(route);
    chat->platform = platform;
    chat->rate = is_group ? &platform->group_rate : &platform->chat_rate;
    chat->timer.kind = TIMER_CHAT;
    chat->key_len = key.len;
    if (key.len > 0)
        memcpy(chat->key, key.ptr, key.len);
    *place = chat;
    dispatcher->chat_idle_count++;
    return chat;
}

void sma_dispatcher_forget_chat(struct sma_dispatcher *dispatcher, struct chat *chat)
{
    SMA_ASSERT(chat->phase == CHAT_IDLE);
    SMA_ASSERT(chat->first == NULL);
    struct chat **place =
        chat_place(dispatcher, chat->platform, (struct sma_str){chat->key, chat->key_len});
    SMA_ASSERT(*place == chat);
    *place = chat->next_in_table;
    sma_timers_clear(&dispatcher->timers, &chat->timer);
    dispatcher->chat_idle_count--;
    free(chat);
}

static void join(struct chat *chat, struct row *row)
{
    *(chat->last == NULL ? &chat->first : &chat->last->next_in_chat) = row;
    chat->last = row;
    row->chat = chat;
}

/* Of a late file: no chat is called so. */
static struct chat *obtain_own(struct sma_dispatcher *dispatcher, struct platform *platform,
                               const struct sma_deliver *deliver)
{
    struct sma_buf key;
    sma_buf_init(&key, deliver->route.chat_key.len + 32);
    sma_buf_put_str(&key, deliver->route.chat_key);
    sma_buf_printf(&key, "\n%llu", (unsigned long long)deliver->outbox_id);
    struct chat *own = key.err != SMA_ERR_OK
                           ? NULL
                           : obtain_chat(dispatcher, platform, &deliver->route, sma_buf_str(&key));
    sma_buf_fini(&key);
    return own;
}

bool sma_dispatcher_set_aside(struct sma_dispatcher *dispatcher, struct row *row)
{
    struct chat *own = obtain_own(dispatcher, row->platform, row->deliver);
    if (own == NULL)
        return false;
    sma_dispatcher_unlink_row(row);
    join(own, row);
    return row->is_aside = true;
}

struct row *sma_dispatcher_add_row(struct sma_dispatcher *dispatcher, struct platform *platform,
                                   struct sma_msg **msg)
{
    const struct sma_deliver *deliver = SMA_MSG_BODY(*msg, struct sma_deliver);
    SMA_ASSERT(platform->row_count < SMA_DELIVER_CREDIT_COUNT);
    SMA_ASSERT(sma_dispatcher_find_row(dispatcher, deliver->outbox_id) == NULL);
    struct row *row = calloc(1, sizeof *row);
    if (row == NULL)
        return NULL;
    struct chat *chat = deliver->is_aside ? obtain_own(dispatcher, platform, deliver)
                                          : obtain_chat(dispatcher, platform, &deliver->route,
                                                        deliver->route.chat_key);
    if (chat == NULL) {
        free(row);
        return NULL;
    }
    row->msg = SMA_TAKE(*msg);
    row->deliver = deliver;
    row->platform = platform;
    row->is_aside = deliver->is_aside;
    row->timer.kind = TIMER_ROW;
    row->part = deliver->part_done_count;
    row->try.attempt_count = deliver->attempt_count;
    row->try.unknown_count = deliver->is_repeat ? 1 : 0;
    row->try.waited_ns = deliver->waited_ms * SMA_NS_PER_MS;
    sma_buf_init(&row->bytes, SMA_RENDERED_BYTES_MAX);
    join(chat, row);
    *row_place(dispatcher, deliver->outbox_id) = row;
    platform->row_count++;
    dispatcher->row_count++;
    return row;
}

void sma_dispatcher_unlink_row(struct row *row)
{
    struct chat *chat = row->chat;
    struct row *before = NULL;
    for (struct row *other = chat->first; other != row; other = other->next_in_chat)
        before = other;
    if (before == NULL)
        chat->first = row->next_in_chat;
    else
        before->next_in_chat = row->next_in_chat;
    if (chat->last == row)
        chat->last = before;
    row->next_in_chat = NULL;
    row->chat = NULL;
}

void sma_dispatcher_destroy_row(struct sma_dispatcher *dispatcher, struct row *row)
{
    SMA_ASSERT(row->chat == NULL);
    struct row **place = row_place(dispatcher, row->deliver->outbox_id);
    SMA_ASSERT(*place == row);
    *place = row->next_in_table;
    sma_timers_clear(&dispatcher->timers, &row->timer);
    row->platform->row_count--;
    dispatcher->row_count--;
    sma_buf_fini(&row->bytes);
    sma_msg_destroy(row->msg);
    free(row);
}

/* -- rendering --------------------------------------------------------------------------------- */
static void collect_part(void *user, struct sma_str part_bytes)
{
    struct row *row = user;
    if (row->part_count == SMA_PART_COUNT_MAX) {
        row->has_excess = true;
        return;
    }
    sma_buf_put_str(&row->bytes, part_bytes);
    row->part_ends[row->part_count++] = row->bytes.len;
}

/* More parts than allowed: the last one becomes a note that the rest is cut, rendered like any
 * notice. */
static enum sma_err render_cut_note(struct sma_dispatcher *dispatcher, struct row *row)
{
    const struct sma_adapter_ops *ops = row->platform->ops;
    struct sma_buf note;
    sma_buf_init(&note, 4096);
    enum sma_language language = sma_notice_language(
        dispatcher->config->language, row->deliver->route.language, ops->is_chinese_by_default);
    sma_notice_format(&note, language, SMA_NOTICE_CUT_MORE);
    struct sma_deliver deliver = *row->deliver;
    deliver.text = sma_buf_str(&note);
    deliver.intent = SMA_INTENT_NOTICE;
    row->part_count--;
    row->bytes.len = row->part_ends[row->part_count - 1];
    enum sma_err err = note.err != SMA_ERR_OK ? note.err : ops->render(&deliver, collect_part, row);
    sma_buf_fini(&note);
    return err;
}

enum sma_err sma_dispatcher_render(struct sma_dispatcher *dispatcher, struct row *row)
{
    sma_buf_clear(&row->bytes);
    row->part_count = 0;
    row->has_excess = false;
    enum sma_err err = row->platform->ops->render(row->deliver, collect_part, row);
    if (err == SMA_ERR_OK && row->has_excess)
        err = render_cut_note(dispatcher, row);
    if (err == SMA_ERR_OK)
        err = row->bytes.err;
    if (err == SMA_ERR_OK && row->part_count == 0)
        err = SMA_ERR_BADINPUT;
    row->is_rendered = err == SMA_ERR_OK;
    return err;
}
