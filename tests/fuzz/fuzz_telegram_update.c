/*
 * What Telegram, or whoever sits in its place, sends us. The first byte chooses: '0' a getUpdates
 * answer, '1' one Update, '2' a message's preparation read back. Promises under test, besides not
 * crashing: every event is whole and within the store's limits, its texts are valid UTF-8, a
 * refused answer gives no event, what is ordered to be fetched can be read back and stays in its
 * folder.
 */
#include "fuzz.h"

#include "adapters/telegram/telegram_in.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <stdlib.h>

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void require_text(struct sma_str text, size_t bytes_max)
{
    require(text.len == 0 || text.ptr != NULL);
    require(text.len <= bytes_max && sma_utf8_is_valid(text));
}

static void require_files(struct sma_str preparation)
{
    struct sma_file_list list;
    if (preparation.len == 0)
        return;
    require(sma_file_list_parse(preparation, &telegram_file_shape, &list) == SMA_ERR_OK);
    for (size_t i = 0; i < list.count; i++) {
        struct sma_str path = list.items[i].path, folder = SMA_STR(TELEGRAM_CACHE_FOLDER);
        require(sma_str_starts_with(path, folder) && path.len - folder.len <= 255);
        require(memchr(path.ptr + folder.len, '/', path.len - folder.len) == NULL);
    }
    sma_file_list_fini(&list);
}

static void check_event(void *user, const struct telegram_event *event)
{
    const struct sma_ingress *in = &event->ingress;
    const struct sma_route *route = &in->route;
    size_t *count = user;
    ++*count;
    require(event->update_id >= 0 && event->why != NULL);
    require((event->kind == TELEGRAM_INGRESS) == (event->why[0] == '\0'));
    require_text(event->callback_id, SMA_ID_BYTES_MAX);
    if (event->kind != TELEGRAM_INGRESS)
        return;
    const struct sma_str ids[] = {route->chat_id,    route->chat_type, route->thread_id,
                                  route->message_id, route->user_id,   route->user_name,
                                  route->language,   in->event_key,    in->group_key};
    for (size_t i = 0; i < SMA_COUNT_OF(ids); i++)
        require_text(ids[i], SMA_ID_BYTES_MAX);
    require_text(route->chat_key, SMA_CHAT_KEY_BYTES_MAX);
    require_text(in->migrated_from, SMA_CHAT_KEY_BYTES_MAX);
    require_text(in->text, SMA_TEXT_BYTES_MAX);
    require_text(in->context, SMA_TEXT_BYTES_MAX);
    require_text(in->meta_json, SMA_META_BYTES_MAX);
    require(route->chat_key.len > 0 && in->event_key.len > 0 && route->channel.len > 0);
    require(in->kind != SMA_EVENT_MESSAGE || in->text.len > 0);
    require((in->kind == SMA_EVENT_CONTROL) == (in->control != SMA_CONTROL_NONE));
    require(in->is_group == (in->addressed != SMA_ADDRESSED_PRIVATE) || in->kind == SMA_EVENT_NOTE);
    require(in->wall_ms > 0 && in->wall_ms <= INT64_C(1750000100000));
    require_files(in->preparation);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const struct telegram_bot bot = {.id = 777000111, .username = {"helper_bot", 10}};
    const struct telegram_in_options options = {.bot = &bot, .now_wall_ms = INT64_C(1750000100000)};
    struct sma_error error = {0};
    size_t count = 0;
    if (len == 0)
        return 0;
    struct sma_str rest = {(const char *)bytes + 1, len - 1};
    if (bytes[0] == '0') {
        enum sma_err err = telegram_updates_parse(&options, rest, check_event, &count, &error);
        require(err == SMA_ERR_OK ||
                (err == SMA_ERR_BADINPUT && count == 0 && error.text[0] != '\0'));
    } else if (bytes[0] == '1') {
        enum sma_err err = telegram_update_parse(&options, rest, check_event, &count, &error);
        require(err == SMA_ERR_OK ? count == 1 : err == SMA_ERR_BADINPUT && count == 0);
    } else if (bytes[0] == '2') {
        struct sma_file_list list;
        if (sma_file_list_parse(rest, &telegram_file_shape, &list) == SMA_ERR_OK)
            sma_file_list_fini(&list);
    }
    return 0;
}
