/* feishu_reading.c — one event while it is read: ids, times, its place. See feishu_event.h. */
#include "feishu_code.h"
#include "feishu_event_priv.h"

#include "sma/text.h"

#include <stdlib.h>

bool feishu_id_is_good(struct sma_str id)
{
    if (id.len == 0 || id.len > SMA_ID_BYTES_MAX)
        return false;
    bool is_all_dots = true;
    for (size_t i = 0; i < id.len; i++) {
        unsigned char byte = (unsigned char)id.ptr[i];
        if (byte <= 0x20 || byte >= 0x7f || strchr("/?#%\\\"<>", byte) != NULL)
            return false;
        is_all_dots = is_all_dots && byte == '.';
    }
    return !is_all_dots;
}

bool feishu_is_user_id(struct sma_str id)
{
    if (id.len == 0 || id.len > SMA_ID_BYTES_MAX)
        return false;
    for (size_t i = 0; i < id.len; i++) {
        if ((unsigned char)id.ptr[i] <= 0x20 || id.ptr[i] == 0x7f)
            return false;
    }
    return true;
}

struct sma_str feishu_actor_id(const json_t *ids)
{
    static const char *const names[] = {"open_id", "user_id", "union_id",
                                        "employee_id" /* of old events */};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        struct sma_str id = sma_json_str(ids, names[i]);
        if (feishu_is_user_id(id))
            return id;
    }
    return (struct sma_str){"", 0};
}

int64_t feishu_raw_time_ms(const json_t *object, const char *key)
{
    int64_t time = sma_json_int(object, key, 1, INT64_MAX, 0);
    if (time > 100000000000000) /* microseconds: card callbacks */
        return time / 1000;
    return time < 100000000000 ? time * 1000 : time; /* seconds */
}

int64_t feishu_time_ms(const struct feishu_reading *reading, const json_t *object, const char *key)
{
    int64_t now = reading->options->now_wall_ms, time = feishu_raw_time_ms(object, key);
    return time == 0 || time > now ? now : time;
}

/* Before open_id came first, a project knew people by user_id where the app may see it. It is one
 * tenant's: the same user_id of another is somebody else. */
static void put_alias(struct feishu_reading *reading, const json_t *ids, struct sma_str tenant)
{
    struct sma_str alias = sma_json_str(ids, "user_id");
    struct sma_str ours = sma_json_str(sma_json_get(reading->root, "header"), "tenant_key");
    bool is_same = ours.len == 0 || tenant.len == 0 || sma_str_is_equal(ours, tenant);
    struct sma_ingress *ingress = &reading->event.ingress;
    if (is_same && feishu_is_user_id(alias) && !sma_str_is_equal(alias, ingress->route.user_id))
        ingress->user_alias = alias;
}

static const char *channel_of(const struct feishu_reading *reading)
{
    const struct sma_home *home = reading->options->home;
    return home == NULL ? "feishu" : home->name;
}

void feishu_put_chat_key(struct feishu_reading *reading, struct sma_str chat_id)
{
    sma_buf_printf(&reading->chat_key, "%s:chat:", channel_of(reading));
    sma_buf_put_str(&reading->chat_key, chat_id);
}

bool feishu_fill_route(struct feishu_reading *reading, struct sma_str chat_id,
                       struct sma_str chat_type, struct sma_str user_id)
{
    if (!feishu_id_is_good(chat_id)) {
        feishu_ignore(reading, SMA_WHY_MALFORMED "no usable chat id");
        return false;
    }
    feishu_put_chat_key(reading, chat_id);
    struct sma_ingress *ingress = &reading->event.ingress;
    bool is_private = sma_str_is_equal(chat_type, SMA_STR("p2p"));
    ingress->route = (struct sma_route){.adapter = reading->options->adapter,
                                        .channel = sma_str(channel_of(reading)),
                                        .chat_key = sma_buf_str(&reading->chat_key),
                                        .chat_id = chat_id,
                                        .chat_type = chat_type,
                                        .user_id = user_id};
    ingress->is_group = !is_private;
    ingress->addressed = is_private ? SMA_ADDRESSED_PRIVATE : SMA_ADDRESSED_NONE;
    ingress->wall_ms = reading->date_ms;
    ingress->stamps.read_ns = reading->options->read_ns;
    reading->event.kind = FEISHU_EVENT_INGRESS;
    return true;
}

bool feishu_fill_route_of(struct feishu_reading *reading, struct sma_str chat_id,
                          struct sma_str chat_type, const struct feishu_author *author)
{
    if (!feishu_fill_route(reading, chat_id, chat_type, feishu_actor_id(author->ids)))
        return false;
    put_alias(reading, author->ids, author->tenant);
    return true;
}

enum sma_err feishu_reading_err(const struct feishu_reading *reading)
{
    const struct sma_buf *const all[] = {&reading->lines,  &reading->preparation, &reading->body,
                                         &reading->text,   &reading->chat_key,    &reading->meta,
                                         &reading->context};
    for (size_t i = 0; i < SMA_COUNT_OF(all); i++) {
        if (all[i]->err != SMA_ERR_OK)
            return all[i]->err;
    }
    return SMA_ERR_OK;
}

void feishu_reading_destroy(struct feishu_reading *reading)
{
    struct sma_buf *const all[] = {&reading->lines,  &reading->preparation, &reading->body,
                                   &reading->text,   &reading->chat_key,    &reading->meta,
                                   &reading->context};
    for (size_t i = 0; i < SMA_COUNT_OF(all); i++)
        sma_buf_fini(all[i]);
    json_decref(reading->root);
    json_decref(reading->content);
    free(reading);
}

struct feishu_reading *feishu_reading_create(const struct feishu_event_options *options)
{
    struct feishu_reading *reading = calloc(1, sizeof *reading);
    if (reading == NULL)
        return NULL;
    reading->options = options;
    reading->event.why = "";
    sma_buf_init(&reading->lines, SMA_TEXT_BYTES_MAX);
    sma_buf_init(&reading->preparation, SMA_TEXT_BYTES_MAX);
    sma_buf_init(&reading->body, SMA_TEXT_BYTES_MAX);
    sma_buf_init(&reading->text, SMA_TEXT_BYTES_MAX);
    sma_buf_init(&reading->chat_key, SMA_CHAT_KEY_BYTES_MAX);
    sma_buf_init(&reading->meta, SMA_META_BYTES_MAX);
    sma_buf_init(&reading->context, SMA_TEXT_BYTES_MAX);
    return reading;
}
