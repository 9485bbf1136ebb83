/*
 * Events of Feishu. Promises under test, besides not crashing: one callback exactly when the answer
 * is OK; an ingress is valid UTF-8, within the limits, in a chat of its own kind; what it wants
 * fetched can be read again.
 */
#include "fuzz.h"

#include "adapters/feishu/feishu_event.h"

#include "sma/limits.h"
#include "sma/text.h"

#include <stdlib.h>

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void see(void *user, const struct feishu_event *event)
{
    int *count = user;
    const struct sma_ingress *ingress = &event->ingress;
    (*count)++;
    require(event->why != NULL);
    if (event->kind == FEISHU_EVENT_IGNORED) {
        require(event->why[0] != '\0');
        return;
    }
    require(sma_utf8_is_valid(ingress->text) && sma_utf8_is_valid(ingress->context));
    require(ingress->text.len > 0 || ingress->kind == SMA_EVENT_CALLBACK);
    require(ingress->text.len <= SMA_TEXT_BYTES_MAX &&
            ingress->meta_json.len <= SMA_META_BYTES_MAX);
    require(ingress->event_key.len > 0 && ingress->event_key.len <= SMA_ID_BYTES_MAX);
    require(sma_str_starts_with(ingress->route.chat_key, SMA_STR("feishu:chat:")));
    require(ingress->route.chat_key.len == ingress->route.chat_id.len + 12);
    require(ingress->is_group == (ingress->addressed != SMA_ADDRESSED_PRIVATE));
    if (ingress->preparation.len > 0) {
        struct sma_file_list list;
        require(sma_file_list_parse(ingress->preparation, &feishu_file_shape, &list) == SMA_ERR_OK);
        for (size_t i = 0; i < list.count; i++)
            require(memmem(ingress->text.ptr, ingress->text.len, list.items[i].path.ptr,
                           list.items[i].path.len) != NULL);
        sma_file_list_fini(&list);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct sma_str body = {(const char *)bytes, len};
    struct feishu_event_options options = {.bot_open_id = SMA_STR("ou_bot"),
                                           .app_id = SMA_STR("cli_0123456789abcdef"),
                                           .adapter = 9,
                                           .now_wall_ms = 1763755100000,
                                           .read_ns = 1};
    struct sma_error error;
    int count = 0;
    enum sma_err err = feishu_event_parse(&options, body, see, &count, &error);
    require((err == SMA_ERR_OK) == (count == 1));
    struct sma_file_list list;
    if (sma_file_list_parse(body, &feishu_file_shape, &list) == SMA_ERR_OK)
        sma_file_list_fini(&list);
    return 0;
}
