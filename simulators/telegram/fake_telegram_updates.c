/*
 * fake_telegram_updates.c — the queue of updates and the long poll: numbers, types that are
 * allowed, confirmation by offset, one poller at a time.
 */
#include "fake_telegram_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define TIMEOUT_S_MAX 50

/* The last three are off unless asked for. */
static const char *const TYPES[] = {
    "message",        "edited_message",   "channel_post",          "edited_channel_post",
    "callback_query", "my_chat_member",   "inline_query",          "poll",
    "chat_member",    "message_reaction", "message_reaction_count"};
#define TYPE_COUNT SMA_COUNT_OF(TYPES)
#define DEFAULT_MASK ((1u << (TYPE_COUNT - 3)) - 1)

uint32_t fake_allowed_mask(const json_t *list)
{
    uint32_t mask = 0;
    if (json_array_size(list) == 0)
        return DEFAULT_MASK;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        for (size_t type = 0; name != NULL && type < TYPE_COUNT; type++)
            if (strcmp(name, TYPES[type]) == 0)
                mask |= 1u << type;
    }
    return mask;
}

size_t fake_queue_length(const struct fake_telegram *fake)
{
    return fake->queue_end - fake->queue_first;
}

static void append(struct fake_telegram *fake, struct update *update)
{
    if (fake->queue_first > 4096 && fake->queue_first * 2 > fake->queue_end) {
        memmove(fake->queue, fake->queue + fake->queue_first,
                fake_queue_length(fake) * sizeof *fake->queue);
        fake->queue_end -= fake->queue_first;
        fake->queue_first = 0;
    }
    fake->queue = fake_grow(fake->queue, fake->queue_end, &fake->queue_room, sizeof *fake->queue);
    fake->queue[fake->queue_end++] = update;
}

/* Source: docs/protocols/telegram.md, "Retention". */
static int64_t kept_for_s(const char *type)
{
    if (strcmp(type, "callback_query") == 0)
        return 150;
    return strcmp(type, "inline_query") == 0 ? 30 : 86400;
}

void fake_expire_updates(struct fake_telegram *fake)
{
    int64_t now = fake_date(fake);
    size_t kept = fake->queue_first;
    for (size_t i = fake->queue_first; i < fake->queue_end; i++) {
        struct update *update = fake->queue[i];
        bool is_expired =
            !update->is_confirmed && !update->is_delivering && update->keep_until < now;
        fake->expired_count += is_expired;
        if (!is_expired)
            fake->queue[kept++] = update;
    }
    fake->queue_end = kept;
}

bool fake_queue_update(struct fake_telegram *fake, const char *type, const char *json,
                       int64_t chat_id, int64_t message_id)
{
    uint32_t bit = 0;
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (strcmp(type, TYPES[i]) == 0)
            bit = 1u << i;
    if ((fake->allowed & bit) == 0)
        return false;
    struct update *update = calloc(1, sizeof *update);
    if (update == NULL)
        abort();
    *update = (struct update){.id = fake->next_update_id++,
                              .chat_id = chat_id,
                              .message_id = message_id,
                              .keep_until = fake_date(fake) + kept_for_s(type)};
    update->json = fake_copy(sma_str(json));
    fake->updates =
        fake_grow(fake->updates, fake->update_count, &fake->update_room, sizeof(struct update *));
    fake->updates[fake->update_count++] = update;
    append(fake, update);
    return true;
}

void fake_requeue(struct fake_telegram *fake, struct update *update)
{
    if (!update->is_confirmed)
        return;
    update->is_confirmed = false;
    fake->confirmed_count--;
    append(fake, update);
    /* the queue is kept in the order of its numbers */
    for (size_t i = fake->queue_end - 1;
         i > fake->queue_first && fake->queue[i - 1]->id > update->id; i--) {
        fake->queue[i] = fake->queue[i - 1];
        fake->queue[i - 1] = update;
    }
}

void fake_confirm(struct fake_telegram *fake, struct update *update)
{
    struct message *message = fake_message(fake_chat(fake, update->chat_id), update->message_id);
    if (update->is_confirmed)
        return;
    if (message != NULL)
        message->is_confirmed = true;
    update->is_confirmed = true;
    fake->confirmed_count++;
}

void fake_drop_queue(struct fake_telegram *fake)
{
    while (fake->queue_first < fake->queue_end)
        fake->queue[fake->queue_first++]->is_confirmed = true;
}

/* Confirm what lies before the offset. An offset beyond the last number belongs to another queue:
 * all is sent again. */
static void take_offset(struct fake_telegram *fake, int64_t offset)
{
    if (offset > fake->next_update_id)
        return;
    if (offset < 0) {
        size_t keep = (size_t)-offset;
        while (fake_queue_length(fake) > keep)
            fake->queue[fake->queue_first++]->is_confirmed = true;
        return;
    }
    while (fake->queue_first < fake->queue_end && fake->queue[fake->queue_first]->id < offset)
        fake_confirm(fake, fake->queue[fake->queue_first++]);
}

static void hand_out(struct fake_telegram *fake, struct connection *connection, uint64_t now)
{
    struct sma_buf body;
    sma_buf_init(&body, 16u << 20);
    sma_buf_put_text(&body, "{\"ok\":true,\"result\":[");
    size_t count = 0;
    for (size_t i = fake->queue_first; i < fake->queue_end && count < connection->poll_limit; i++) {
        struct update *update = fake->queue[i];
        if (update->is_confirmed) /* by a webhook, out of order */
            continue;
        if (count > 0 && body.len + strlen(update->json) > ANSWER_BYTES_MAX)
            break;
        sma_buf_printf(&body, "%s{\"update_id\":%lld,", count == 0 ? "" : ",",
                       (long long)update->id);
        sma_buf_put_text(&body, update->json);
        sma_buf_put_char(&body, '}');
        count++;
        struct message *message =
            fake_message(fake_chat(fake, update->chat_id), update->message_id);
        if (message != NULL && message->handed_ns == 0)
            message->handed_ns = now;
        if (update->handed_count++ == 0)
            update->handed_ns = now;
    }
    sma_buf_put_text(&body, "]}");
    fake->handed_count += count;
    fake_respond(fake, connection, 200, "application/json", "", sma_buf_str(&body));
    sma_buf_fini(&body);
}

static int64_t number_of(const json_t *params, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(params, name);
    if (json_is_integer(value))
        return json_integer_value(value);
    return json_is_string(value) ? strtoll(json_string_value(value), NULL, 10) : fallback;
}

void fake_poll(struct fake_telegram *fake, struct connection *connection, const json_t *params)
{
    if (fake->webhook_url[0] != '\0') {
        fake_answer_error(fake, connection, 409,
                          "Conflict: can't use getUpdates method while webhook is active; use "
                          "deleteWebhook to delete "
                          "the webhook first",
                          0, 0);
        return;
    }
    if (fake->poll != NULL && fake->poll != connection) {
        struct connection *older = fake->poll;
        older->is_polling = false;
        fake->poll = NULL;
        fake->conflict_count++;
        fake_answer_error(fake, older, 409,
                          "Conflict: terminated by other getUpdates request; make sure that only "
                          "one bot instance is "
                          "running",
                          0, 0);
        (void)fake_write_some(fake, older); /* gone or not, it is not ours any more */
    }
    const json_t *allowed = json_object_get(params, "allowed_updates");
    json_t *parsed =
        json_is_string(allowed) ? json_loads(json_string_value(allowed), 0, NULL) : NULL;
    if (parsed != NULL || json_is_array(allowed))
        fake->allowed = fake_allowed_mask(parsed != NULL ? parsed : allowed);
    json_decref(parsed);
    int64_t limit = number_of(params, "limit", 100), timeout = number_of(params, "timeout", 0);
    connection->poll_limit = limit < 1 || limit > 100 ? 100 : (size_t)limit;
    timeout = timeout < 0 ? 0 : timeout > TIMEOUT_S_MAX ? TIMEOUT_S_MAX : timeout;
    take_offset(fake, number_of(params, "offset", 0));
    connection->poll_until_ns = fake_now_ns() + (uint64_t)timeout * 1000000000u;
    connection->is_polling = true;
    fake->poll =
        connection; /* answered at the end of this pass: what came together goes together */
}

void fake_serve_poll(struct fake_telegram *fake, uint64_t now)
{
    struct connection *connection = fake->poll;
    if (connection != NULL)
        fake_expire_updates(fake);
    if (connection == NULL || (fake_queue_length(fake) == 0 && now < connection->poll_until_ns))
        return;
    connection->is_polling = false;
    fake->poll = NULL;
    hand_out(fake, connection, now);
    (void)fake_write_some(fake, connection); /* a closed connection needs nothing more */
}
