/* telegram_in_support.h — one update in, one event out, kept after the call. For the tests of
 * telegram_in. */
#ifndef SMA_TEST_TELEGRAM_IN_SUPPORT_H
#define SMA_TEST_TELEGRAM_IN_SUPPORT_H

#include "adapters/telegram/telegram_in.h"
#include "sma/buf.h"
#include "support/check.h"

#define NOW_MS INT64_C(1750000100000)
#define BOT_ID 777000111

struct seen
{
    unsigned count; /* events of the call */
    int64_t update_id, wall_ms, sent_ms;
    bool is_ingress, is_record_only, is_group, has_joined;
    uint8_t kind, control, addressed, adapter;
    const char *why;
    char chat_key[256], chat_id[64], chat_type[64], thread_id[64], message_id[64], user_id[64],
        reply_to_id[64];
    char user_name[600], display_name[600], handle[600], language[64], event_key[600],
        callback_id[600], group_key[600], migrated_from[256], edit_of[64];
    char text[16384], context[70000], meta[5000], preparation[33000];
    size_t text_len;
};

extern struct telegram_bot test_bot;
extern struct telegram_in_options test_options;

/** Parse `json` as a webhook body into *seen; ends the test when it is not OK. */
void see(const char *json, struct seen *seen);
/** The same with the update made from a message: `members` without braces is put beside the usual
 *  ones (update_id, message_id 5, date, a sender Ann of id 1001) of a chat of this type; those
 *  given again win. */
void see_message(const char *chat_type, const char *members, struct seen *seen);
/** Keep one event; a telegram_event_fn, user is a struct seen. */
void keep(void *user, const struct telegram_event *event);

#endif
