/* telegram_in.c — from bodies to updates, from updates to the function that knows their kind, and
 * back to the caller. */
#include "telegram_in_priv.h"

#include "runtime/json/json_arena.h"

#define CONTEXT_BYTES_MAX (64 * 1024)
#define PREPARATION_BYTES_MAX (32 * 1024)

static void begin(struct telegram_in *in, const struct telegram_in_options *options)
{
    SMA_ASSERT(options->bot != NULL);
    in->options = options;
    sma_buf_init(&in->text, SMA_TEXT_BYTES_MAX);
    sma_buf_init(&in->context, CONTEXT_BYTES_MAX);
    sma_buf_init(&in->meta, SMA_META_BYTES_MAX);
    sma_buf_init(&in->preparation, PREPARATION_BYTES_MAX);
    sma_buf_init(&in->rich, SMA_TEXT_BYTES_MAX);
    sma_buf_init(&in->stripped, SMA_TEXT_BYTES_MAX);
    sma_buf_init(&in->name, 2 * SMA_NAME_BYTES_MAX);
}

static void end(struct telegram_in *in)
{
    sma_buf_fini(&in->text);
    sma_buf_fini(&in->context);
    sma_buf_fini(&in->meta);
    sma_buf_fini(&in->preparation);
    sma_buf_fini(&in->rich);
    sma_buf_fini(&in->stripped);
    sma_buf_fini(&in->name);
}

static void clear(struct telegram_in *in)
{
    sma_buf_clear(&in->text);
    sma_buf_clear(&in->context);
    sma_buf_clear(&in->meta);
    sma_buf_clear(&in->preparation);
    sma_buf_clear(&in->rich);
    sma_buf_clear(&in->stripped);
    sma_buf_clear(&in->name);
    in->file_count = 0;
}

/* NOMEM before TOOBIG: the first may pass when asked again, the second will not. */
static enum sma_err worst(const struct telegram_in *in)
{
    const struct sma_buf *bufs[] = {&in->text, &in->context,  &in->meta, &in->preparation,
                                    &in->rich, &in->stripped, &in->name};
    enum sma_err err = SMA_ERR_OK;
    for (size_t i = 0; i < SMA_COUNT_OF(bufs); i++)
        if (bufs[i]->err == SMA_ERR_NOMEM || err == SMA_ERR_OK)
            err = bufs[i]->err;
    return err;
}

static const char *take_update(struct telegram_in *in, const json_t *update,
                               struct telegram_event *event)
{
    static const struct
    {
        const char *member;
        const char *(*take)(struct telegram_in *in, const json_t *object,
                            struct telegram_event *event);
    } kinds[] = {
        {"message", telegram_in_take_message},
        {"edited_message", telegram_in_take_edit},
        {"callback_query", telegram_in_take_callback},
        {"my_chat_member", telegram_in_take_member},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        const json_t *object = telegram_in_object(update, kinds[i].member);
        if (object != NULL)
            return kinds[i].take(in, object, event);
    }
    return SMA_WHY_UNSUPPORTED "a kind of update that is not handled";
}

/* Of an update that is ignored: whoever looks for it knows its chat, its author, its number. */
static void put_place(struct telegram_in *in, const json_t *update, struct telegram_event *event)
{
    const json_t *object = NULL; /* beside its number an update has one member, of its kind */
    void *at = json_object_iter((json_t *)(uintptr_t)update);
    for (; at != NULL && object == NULL;
         at = json_object_iter_next((json_t *)(uintptr_t)update, at))
        object = json_is_object(json_object_iter_value(at)) ? json_object_iter_value(at) : NULL;
    const json_t *inner = telegram_in_object(object, "message");
    const json_t *from = telegram_in_object(object, "from");
    int64_t user = telegram_in_int(from != NULL ? from : telegram_in_object(object, "user"), "id");
    object = inner != NULL ? inner : object;
    int64_t chat = telegram_in_int(telegram_in_object(object, "chat"), "id");
    int64_t message = telegram_in_int(object, "message_id");
    if (chat != 0) {
        struct sma_ingress place = {0};
        telegram_in_put_chat(in, &(struct telegram_chat){.id = chat}, 0, &place);
        event->chat_key = place.route.chat_key;
    }
    if (user != 0)
        event->user_id = telegram_in_number(in->user_id, user);
    if (message > 0)
        event->message_id = telegram_in_number(in->message_id, message);
}

static SMA_CHECKED enum sma_err emit(struct telegram_in *in, const json_t *update,
                                     int64_t update_id, const char *why, telegram_event_fn *each,
                                     void *user)
{
    struct telegram_event event = {.update_id = update_id, .callback_id = SMA_STR("")};
    clear(in);
    if (why == NULL)
        why = take_update(in, update, &event);
    enum sma_err err = worst(in);
    if (err == SMA_ERR_NOMEM)
        return err;
    if (why == NULL && err != SMA_ERR_OK)
        why = SMA_WHY_LIMIT "it is over a limit";
    event.kind = why == NULL ? TELEGRAM_INGRESS : TELEGRAM_IGNORED;
    event.why = why == NULL ? "" : why;
    if (why != NULL) {
        event.ingress = (struct sma_ingress){0};
        put_place(in, update, &event);
    }
    event.ingress.stamps.read_ns = in->options->read_ns;
    each(user, &event);
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err on_element(struct telegram_in *in, struct sma_str json,
                                           size_t depth, telegram_event_fn *each, void *user)
{
    json_t *root = NULL;
    if (depth > SMA_JSON_DEPTH_MAX)
        return emit(in, NULL, telegram_in_find_update_id(json), "nested too deeply", each, user);
    enum sma_err err = sma_json_load_brief(json, false, &root);
    if (err == SMA_ERR_NOMEM)
        return err;
    if (err != SMA_ERR_OK || !json_is_object(root)) {
        json_decref(root);
        return emit(in, NULL, telegram_in_find_update_id(json), "not a JSON object", each, user);
    }
    int64_t update_id = telegram_in_int(root, "update_id");
    if (update_id < 0 || update_id > TELEGRAM_UPDATE_ID_MAX)
        update_id = 0;
    err = emit(in, root, update_id, NULL, each, user);
    json_decref(root);
    return err;
}

enum sma_err telegram_updates_parse(const struct telegram_in_options *options, struct sma_str body,
                                    telegram_event_fn *each, void *user, struct sma_error *error)
{
    struct telegram_in in;
    struct sma_buf spans;
    sma_buf_init(&spans, TELEGRAM_UPDATES_COUNT_MAX * sizeof(struct telegram_span) + 16);
    enum sma_err err = telegram_in_find_updates(body, &spans, error);
    begin(&in, options);
    for (size_t at = 0; err == SMA_ERR_OK && at < spans.len; at += sizeof(struct telegram_span)) {
        struct telegram_span span;
        memcpy(&span, spans.ptr + at, sizeof span);
        err = on_element(&in, (struct sma_str){body.ptr + span.start, span.end - span.start},
                         span.depth, each, user);
        if (err != SMA_ERR_OK)
            err = sma_fail(error, err, "no memory for an update");
    }
    end(&in);
    sma_buf_fini(&spans);
    return err;
}

enum sma_err telegram_update_parse(const struct telegram_in_options *options, struct sma_str body,
                                   telegram_event_fn *each, void *user, struct sma_error *error)
{
    struct telegram_in in;
    size_t depth = telegram_in_object_depth(body);
    if (depth == SIZE_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT, "the update is not a JSON object");
    begin(&in, options);
    enum sma_err err = on_element(&in, body, depth, each, user);
    end(&in);
    return err;
}
