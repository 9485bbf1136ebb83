/* feishu_event.c — envelopes, callbacks and notes. See feishu_event.h. */
#include "feishu_code.h"
#include "feishu_event_priv.h"
#include "feishu_out.h"

#include "runtime/text/attach.h"
#include "sma/text.h"

#define TYPE_BYTES_MAX 128

/* -- callbacks --------------------------------------------------------------------------------- */

/* What the button carries. Inputs and choices without a value of their own come as one object of
 * what applies. */
static void put_action(struct sma_buf *buf, const json_t *action)
{
    static const char *const inputs[] = {"name",        "option",     "options",
                                         "input_value", "form_value", "checked"};
    const json_t *value = sma_json_get(action, "value");
    const json_t *consent = sma_json_get(value, FEISHU_CONSENT_VALUE);
    if (json_is_string(consent) && json_object_size(value) == 1)
        value = consent; /* of our own cards */
    if (json_is_string(value)) {
        sma_buf_put_str(buf, sma_json_str_of(value));
    } else if (value != NULL && (!json_is_object(value) || json_object_size(value) > 0)) {
        sma_json_put(buf, value);
    } else {
        sma_buf_put_char(buf, '{');
        for (size_t i = 0; i < SMA_COUNT_OF(inputs); i++) {
            const json_t *input = sma_json_get(action, inputs[i]);
            if (input == NULL)
                continue;
            sma_buf_put_json_key(buf, inputs[i]);
            sma_json_put(buf, input);
        }
        sma_buf_put_char(buf, '}');
    }
}

/* What was filled in beside the value goes to the model in words. */
static void put_action_context(struct sma_buf *buf, const json_t *action)
{
    static const char *const inputs[] = {"form_value", "input_value", "option", "options",
                                         "checked"};
    if (sma_json_get(action, "value") == NULL)
        return;
    for (size_t i = 0; i < SMA_COUNT_OF(inputs); i++) {
        const json_t *input = sma_json_get(action, inputs[i]);
        if (input == NULL)
            continue;
        sma_buf_printf(buf, "%s%s of the card: ", buf->len == 0 ? "" : "\n", inputs[i]);
        sma_json_put(buf, input);
    }
}

/* `place` holds open_chat_id and open_message_id, `ids` the presser's ids; the old card body has
 * all in one object. */
static void read_callback(struct feishu_reading *reading, const json_t *event, const json_t *place,
                          const json_t *ids)
{
    const json_t *action = sma_json_get(event, "action");
    reading->event.is_callback = true;
    reading->event.callback_token = sma_json_str(event, "token");
    struct sma_str key =
        reading->event.event_id.len > 0 ? reading->event.event_id : reading->event.callback_token;
    if (key.len == 0 || key.len > SMA_ID_BYTES_MAX) {
        feishu_ignore(reading, SMA_WHY_MALFORMED "a callback without event id and token");
        return;
    }
    /* The platform does not say what kind of chat it is: an empty chat type sends answers as new
     * messages. */
    if (!feishu_fill_route_of(reading, sma_json_str(place, "open_chat_id"), SMA_STR(""),
                              &(struct feishu_author){ids, sma_json_str(ids, "tenant_key")}))
        return;
    struct sma_ingress *ingress = &reading->event.ingress;
    struct sma_str message_id = sma_json_str(place, "open_message_id");
    if (feishu_id_is_good(message_id))
        ingress->route.message_id = message_id;
    put_action(&reading->text, action);
    put_action_context(&reading->context, action);
    ingress->kind = SMA_EVENT_CALLBACK;
    ingress->addressed = SMA_ADDRESSED_REPLY;
    ingress->event_key = key;
    ingress->text = sma_buf_str(&reading->text);
    ingress->context = sma_buf_str(&reading->context);
}

/* -- notes ------------------------------------------------------------------------------------- */

static void make_note(struct feishu_reading *reading, const char *words, struct sma_str name)
{
    struct sma_ingress *ingress = &reading->event.ingress;
    if (reading->event.event_id.len == 0 || reading->event.event_id.len > SMA_ID_BYTES_MAX) {
        feishu_ignore(reading, SMA_WHY_MALFORMED "an event without id");
        return;
    }
    sma_buf_printf(&reading->text, "[%s", words);
    if (name.len > 0) {
        sma_buf_put_text(&reading->text, ": ");
        sma_attach_put_label(&reading->text, name, SMA_NAME_BYTES_MAX);
    }
    sma_buf_put_char(&reading->text, ']');
    ingress->kind = SMA_EVENT_NOTE;
    ingress->event_key = reading->event.event_id;
    ingress->text = sma_buf_str(&reading->text);
}

/* As if they had written /start: the bot's first words are a greeting, or the way in. */
static void greet(struct feishu_reading *reading)
{
    struct sma_ingress *ingress = &reading->event.ingress;
    make_note(reading, "the user opened the chat for the first time", SMA_STR(""));
    if (ingress->kind != SMA_EVENT_NOTE || ingress->route.user_id.len == 0)
        return;
    ingress->kind = SMA_EVENT_CONTROL;
    ingress->control = SMA_CONTROL_START;
    ingress->addressed = SMA_ADDRESSED_PRIVATE;
}

static const char bot_added[] = "the bot was added to the group",
                  bot_removed[] = "the bot was removed from the group";

static void note_bot(struct feishu_reading *reading, const char *words, struct sma_str name,
                     int64_t sent_ms)
{
    make_note(reading, words, name);
    reading->event.ingress.has_joined = words == bot_added;
    reading->event.ingress.sent_ms = sent_ms;
}

static void read_bot_in_group(struct feishu_reading *reading, const json_t *event,
                              const char *words)
{
    if (feishu_fill_route(reading, sma_json_str(event, "chat_id"), SMA_STR("group"),
                          feishu_actor_id(sma_json_get(event, "operator_id"))))
        note_bot(reading, words, sma_json_str(event, "name"),
                 feishu_raw_time_ms(sma_json_get(reading->root, "header"), "create_time"));
}

static void read_bot_in_group_v1(struct feishu_reading *reading, const json_t *event,
                                 const char *words)
{
    struct sma_str user = sma_json_str(event, "operator_open_id");
    if (feishu_fill_route(reading, sma_json_str(event, "open_chat_id"), SMA_STR("group"),
                          feishu_is_user_id(user) ? user : (struct sma_str){"", 0}))
        note_bot(reading, words, sma_json_str(event, "chat_name"),
                 feishu_envelope_time_ms(reading->root));
}

/* By its author, or by somebody who may: the platform has judged that. It does not name the topic,
 * nor who it was. */
static void read_recalled(struct feishu_reading *reading, const json_t *event)
{
    struct sma_ingress *ingress = &reading->event.ingress;
    struct sma_str message_id = sma_json_str(event, "message_id");
    if (!feishu_id_is_good(message_id) || reading->event.event_id.len == 0 ||
        reading->event.event_id.len > SMA_ID_BYTES_MAX) {
        feishu_ignore(reading, SMA_WHY_MALFORMED "a recall of no message");
        return;
    }
    if (!feishu_fill_route(reading, sma_json_str(event, "chat_id"), SMA_STR(""), SMA_STR("")))
        return;
    ingress->kind = SMA_EVENT_NOTE;
    ingress->addressed = SMA_ADDRESSED_NONE;
    ingress->change = SMA_CHANGE_RECALL;
    ingress->target_id = message_id;
    ingress->event_key = reading->event.event_id;
}

/* Comes each time somebody opens the chat: only the first time is worth a greeting. */
static void read_chat_entered(struct feishu_reading *reading, const json_t *event)
{
    if (sma_json_str(event, "last_message_id").len > 0)
        feishu_ignore(reading, SMA_WHY_UNSUPPORTED "a chat with messages was opened again");
    else if (feishu_fill_route(reading, sma_json_str(event, "chat_id"), SMA_STR("p2p"),
                               feishu_actor_id(sma_json_get(event, "operator_id"))))
        greet(reading);
}

static void read_chat_created_v1(struct feishu_reading *reading, const json_t *event)
{
    if (feishu_fill_route(reading, sma_json_str(event, "chat_id"), SMA_STR("p2p"),
                          feishu_actor_id(sma_json_get(event, "operator"))))
        greet(reading);
}

/* -- envelopes --------------------------------------------------------------------------------- */

static bool is_type(const struct feishu_reading *reading, const char *type)
{
    return sma_str_is_equal(reading->event.event_type, sma_str(type));
}

static void read_v2(struct feishu_reading *reading, const json_t *event)
{
    if (is_type(reading, "im.message.receive_v1"))
        feishu_read_message(reading, event);
    else if (is_type(reading, "card.action.trigger") || is_type(reading, "card.action.trigger_v1"))
        read_callback(reading, event, sma_json_get(event, "context"),
                      sma_json_get(event, "operator"));
    else if (is_type(reading, "im.chat.member.bot.added_v1"))
        read_bot_in_group(reading, event, bot_added);
    else if (is_type(reading, "im.chat.member.bot.deleted_v1"))
        read_bot_in_group(reading, event, bot_removed);
    else if (is_type(reading, "im.message.recalled_v1"))
        read_recalled(reading, event);
    else if (is_type(reading, "im.chat.access_event.bot_p2p_chat_entered_v1"))
        read_chat_entered(reading, event);
    else
        feishu_ignore(reading, SMA_WHY_UNSUPPORTED "an event of a kind that is not handled");
}

static void read_v1(struct feishu_reading *reading, const json_t *event)
{
    if (is_type(reading, "message"))
        feishu_read_message_v1(reading, event);
    else if (is_type(reading, "add_bot"))
        read_bot_in_group_v1(reading, event, bot_added);
    else if (is_type(reading, "remove_bot"))
        read_bot_in_group_v1(reading, event, bot_removed);
    else if (is_type(reading, "p2p_chat_create"))
        read_chat_created_v1(reading, event);
    else
        feishu_ignore(reading, SMA_WHY_UNSUPPORTED "an event of a kind that is not handled");
}

/* @return BADINPUT when this is no event at all */
static enum sma_err read_envelope(struct feishu_reading *reading, struct sma_error *error)
{
    const json_t *root = reading->root, *header = sma_json_get(root, "header");
    const json_t *event = sma_json_get(root, "event");
    bool is_v2 = sma_json_get(root, "schema") != NULL;
    if (!is_v2 && event == NULL && json_is_object(sma_json_get(root, "action"))) {
        reading->event.event_type = SMA_STR("card.action");
        reading->date_ms = reading->options->now_wall_ms;
        read_callback(reading, root, root, root);
        return SMA_ERR_OK;
    }
    reading->event.event_type =
        is_v2 ? sma_json_str(header, "event_type") : sma_json_str(event, "type");
    reading->event.event_id = is_v2 ? sma_json_str(header, "event_id") : sma_json_str(root, "uuid");
    struct sma_str type = reading->event.event_type;
    if (!json_is_object(event) || type.len == 0 || type.len > TYPE_BYTES_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT, "feishu: an event without %s",
                        json_is_object(event) ? "a usable type" : "a body");
    reading->date_ms = feishu_time_ms(reading, header, "create_time");
    if (is_v2)
        read_v2(reading, event);
    else
        read_v1(reading, event);
    return SMA_ERR_OK;
}

enum sma_err feishu_event_parse(const struct feishu_event_options *options, struct sma_str body,
                                feishu_event_fn *each, void *user, struct sma_error *error)
{
    if (body.len > FEISHU_EVENT_BYTES_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "feishu: an event of %zu bytes, the limit is %d",
                        body.len, FEISHU_EVENT_BYTES_MAX);
    struct feishu_reading *reading = feishu_reading_create(options);
    if (reading == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "feishu: no memory to read an event");
    enum sma_err err = sma_json_load_brief(body, true, &reading->root);
    if (err == SMA_ERR_OK)
        err = read_envelope(reading, error);
    else
        err = sma_fail(error, err, "feishu: an event is not JSON: %s", sma_err_text(err));
    enum sma_err full = feishu_reading_err(reading);
    if (err == SMA_ERR_OK && full == SMA_ERR_NOMEM)
        err = sma_fail(error, SMA_ERR_NOMEM, "feishu: no memory to read an event");
    if (err == SMA_ERR_OK && full != SMA_ERR_OK)
        feishu_ignore(reading, SMA_WHY_LIMIT "the text is over its limit");
    if (err == SMA_ERR_OK) {
        struct sma_route *route = &reading->event.ingress.route;
        struct sma_str message_id =
            route->message_id.len > 0 ? route->message_id : reading->message_id;
        if (reading->event.kind == FEISHU_EVENT_IGNORED) /* whose it was, for the log */
            reading->event.ingress = (struct sma_ingress){.route = {.chat_key = route->chat_key,
                                                                    .user_id = route->user_id,
                                                                    .message_id = message_id}};
        each(user, &reading->event);
    }
    feishu_reading_destroy(reading);
    return err;
}
