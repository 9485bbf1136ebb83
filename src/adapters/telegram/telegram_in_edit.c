/* telegram_in_edit.c — a message that was changed. */
#include "telegram_in_priv.h"

/* Read like a message, told as what has become of it. It is no command, and its files are those of
 * the message. */
const char *telegram_in_take_edit(struct telegram_in *in, const json_t *message,
                                  struct telegram_event *event)
{
    struct sma_ingress *ingress = &event->ingress;
    int64_t date_s = telegram_in_int(message, "edit_date");
    const char *why = telegram_in_take_message(in, message, event);
    if (why != NULL)
        return why;
    if (ingress->migrated_from.len > 0 || ingress->route.message_id.len == 0)
        return SMA_WHY_MALFORMED "an edit of no message";
    if (event->update_id == 0)
        return SMA_WHY_MALFORMED "an edit without an update id";
    ingress->kind = SMA_EVENT_NOTE;
    ingress->change = SMA_CHANGE_EDIT;
    ingress->target_id = ingress->route.message_id;
    ingress->event_key = telegram_in_put_key(in, "e", event->update_id);
    ingress->control = SMA_CONTROL_NONE;
    ingress->addressed = SMA_ADDRESSED_NONE;
    ingress->preparation = ingress->group_key = ingress->context = SMA_STR("");
    if (date_s > 0)
        ingress->wall_ms = telegram_in_date_ms(in, date_s);
    return NULL;
}
