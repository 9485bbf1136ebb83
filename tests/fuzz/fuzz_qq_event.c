/*
 * What QQ, or whoever sits in its place, sends us. The first byte chooses: '0' a payload of the
 * gateway, '1' a message's preparation read back, '2' a text to be sent, cut and read back, '3' an
 * answer to a request. Promises under test, besides not crashing: every event is whole and within
 * the store's limits, its texts are valid UTF-8, what is ordered to be fetched can be read back and
 * stays in its folder; parts of a text are within their size, and no more than answers are left;
 * every answer gets a class.
 */
#include "fuzz.h"

#include "adapters/qq/qq_event.h"
#include "adapters/qq/qq_login.h"
#include "adapters/qq/qq_out.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdlib.h>

#define NOW_MS INT64_C(1795300000000)

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
    struct sma_str folder = SMA_STR(QQ_CACHE_FOLDER);
    if (preparation.len == 0)
        return;
    require(sma_file_list_parse(preparation, &qq_file_shape, &list) == SMA_ERR_OK &&
            list.count > 0);
    for (size_t i = 0; i < list.count; i++) {
        struct sma_str path = list.items[i].path;
        require(sma_str_starts_with(path, folder) && path.len - folder.len <= 255);
        require(memchr(path.ptr + folder.len, '/', path.len - folder.len) == NULL);
        struct sma_str url = sma_json_str(list.items[i].json, "url");
        require(memchr(url.ptr, '\0', url.len) == NULL);
    }
    sma_file_list_fini(&list);
}

static void check_event(void *user, const struct qq_event *event)
{
    const struct sma_ingress *in = &event->ingress;
    const struct sma_route *route = &in->route;
    ++*(size_t *)user;
    require((event->kind == QQ_EVENT_INGRESS) == (event->why[0] == '\0'));
    require_text(event->interaction_id, SMA_ID_BYTES_MAX);
    if (event->kind != QQ_EVENT_INGRESS)
        return;
    const struct sma_str ids[] = {route->chat_id, route->chat_type, route->user_id,
                                  route->user_name, in->event_key};
    for (size_t i = 0; i < SMA_COUNT_OF(ids); i++)
        require_text(ids[i], SMA_ID_BYTES_MAX);
    require_text(route->message_id, SMA_ID_BYTES_MAX + sizeof QQ_EVENT_REPLY_PREFIX);
    require_text(route->chat_key, SMA_CHAT_KEY_BYTES_MAX);
    require_text(in->text, SMA_TEXT_BYTES_MAX);
    require_text(in->context, SMA_TEXT_BYTES_MAX);
    require_text(in->meta_json, SMA_META_BYTES_MAX);
    require(route->chat_key.len > 0 && in->event_key.len > 0 && route->channel.len > 0);
    require(in->kind != SMA_EVENT_MESSAGE || in->text.len > 0);
    require((in->kind == SMA_EVENT_CONTROL) == (in->control != SMA_CONTROL_NONE));
    require(in->is_group == (in->addressed != SMA_ADDRESSED_PRIVATE) || in->kind == SMA_EVENT_NOTE);
    require(in->wall_ms > 0 && in->wall_ms <= NOW_MS);
    require_files(in->preparation);
}

static void read_payload(struct sma_str bytes)
{
    static const struct qq_event_options options = {.bot_id = {"111", 3}, .now_wall_ms = NOW_MS};
    struct qq_frame frame;
    size_t count = 0;
    if (qq_frame_parse(bytes, &frame) != SMA_ERR_OK)
        return;
    require(frame.seq == QQ_SEQ_NONE || frame.seq >= 0);
    if (frame.op == QQ_OP_DISPATCH)
        require(qq_event_parse(&options, &frame, check_event, &count) == SMA_ERR_OK && count == 1);
    qq_frame_fini(&frame);
}

/* -- out --------------------------------------------------------------------------------------- */
struct seen
{
    size_t texts, files;
};

static void check_part(void *user, struct sma_str part_bytes)
{
    struct seen *seen = user;
    struct qq_part part;
    require(qq_part_decode(part_bytes, &part) == SMA_ERR_OK);
    if (part.kind == QQ_PART_FILE) {
        seen->files++;
        require(qq_media_of(&part).bytes_max > 0);
        return;
    }
    seen->texts++;
    /* disarming a call to everybody adds a blank */
    size_t units_max = QQ_PART_UNITS_LARGE + QQ_PART_UNITS_LARGE / 8;
    require(sma_utf16_length(part.plain) <= units_max &&
            sma_utf16_length(part.markdown) <= units_max);
}

static void render(struct sma_str text)
{
    for (uint32_t reply_count = 0; reply_count <= QQ_REPLIES_C2C; reply_count += 3) {
        struct seen seen = {0};
        struct sma_deliver row = {.text = text,
                                  .intent = SMA_INTENT_ASSISTANT_TEXT,
                                  .reply_count = reply_count,
                                  .route = {.chat_type = {"c2c", 3}, .message_id = {"m", 1}}};
        require(qq_render(&row, check_part, &seen) == SMA_ERR_OK);
        require(seen.texts <= QQ_REPLIES_C2C - reply_count);
    }
}

static void read_answer(struct sma_str body)
{
    static const int statuses[] = {200, 202, 400, 429, 500};
    for (size_t i = 0; i < SMA_COUNT_OF(statuses); i++) {
        struct sma_net_answer answer = {.end = SMA_NET_ANSWERED,
                                        .status = statuses[i],
                                        .body = body,
                                        .retry_after_ms = -1,
                                        .error = ""};
        struct sma_answered outcome;
        struct sma_login_error error = {0};
        struct qq_gateway gateway;
        struct sma_token token;
        sma_verdict(&qq_verdicts, NULL, &answer, i % 2 == 0 ? QQ_WHEN_ACTIVE : 0, &outcome);
        require(outcome.attempt_class <= SMA_ATTEMPT_UNKNOWN);
        require((outcome.error[0] == '\0') == (outcome.attempt_class == SMA_ATTEMPT_SENT));
        require(sma_utf8_is_valid(sma_str(outcome.error)));
        require((qq_token_parse(&answer, &token, &error) == SMA_LOGIN_OK) ==
                (error.text[0] == '\0'));
        (void)qq_gateway_parse(&answer, &gateway, &error); /* only that it ends */
    }
    struct qq_upload upload;
    if (qq_upload_parse(body, 25, &upload) == SMA_ERR_OK)
        qq_upload_fini(&upload);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct sma_file_list list;
    if (len == 0)
        return 0;
    struct sma_str rest = {(const char *)bytes + 1, len - 1};
    if (bytes[0] == '0')
        read_payload(rest);
    else if (bytes[0] == '1' && sma_file_list_parse(rest, &qq_file_shape, &list) == SMA_ERR_OK)
        sma_file_list_fini(&list);
    else if (bytes[0] == '2')
        render(rest);
    else if (bytes[0] == '3')
        read_answer(rest);
    return 0;
}
