/*
 * fake_feishu_messages.c — messages of the bot: sent, answered with, changed, recalled, read; as
 * strict as the platform.
 */
#include "fake_feishu_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define UUID_LEN_MAX 50
#define TEXT_BODY_BYTES_MAX (150u * 1024)
#define CARD_BODY_BYTES_MAX (30u * 1024)
#define EDIT_COUNT_MAX 20
#define EDIT_WINDOW_MS (14ll * 86400 * 1000)

/* -- answers ----------------------------------------------------------------------------------- */
#define CARD_STUB                                                                              \
    "{\"title\":null,\"elements\":[[{\"tag\":\"img\",\"image_key\":\"img_v3_stub\"},{\"tag\":" \
    "\"text\",\"text\":\"请升级至最新版本客户端，以查看内容\"}]]}"

static json_t *tree_of_note(const struct fake_feishu *fake, const struct note *note)
{
    char time[24];
    snprintf(time, sizeof time, "%lld", (long long)note->wall_ms);
    json_t *tree = json_pack(
        "{s:s,s:s,s:s,s:s,s:b,s:b,s:s,s:{s:s,s:s,s:s,s:s},s:{s:s}}", "message_id", note->id,
        "msg_type", note->type, "create_time", time, "update_time", time, "deleted",
        note->is_recalled, "updated", note->edit_count > 0, "chat_id", note->room->id, "sender",
        "id", note->is_ours ? fake->app : note->from, "id_type",
        note->is_ours ? "app_id" : "open_id", "sender_type", note->is_ours ? "app" : "user",
        "tenant_key", FEISHU_TENANT, "body", "content", note->content);
    const char *const pairs[][2] = {
        {"root_id", note->root}, {"parent_id", note->parent}, {"thread_id", note->thread}};
    for (size_t i = 0; i < SMA_COUNT_OF(pairs); i++)
        if (pairs[i][1][0] != '\0')
            json_object_set_new(tree, pairs[i][0], json_string(pairs[i][1]));
    return tree;
}

/* -- where it goes ----------------------------------------------------------------------------- */
/* May the bot speak there? @return false: refused */
static bool may_speak(struct fake_feishu_call *call, const struct room *room)
{
    const struct fake_feishu *fake = call->fake;
    if (room->is_dissolved)
        fake_feishu_refuse(call, 400, 232009,
                           "Your request specifies a chat which has already been dissolved.");
    else if (!room->has_bot)
        fake_feishu_refuse(call, 400, 230002, "Bot/User can NOT be out of the chat.");
    else if (room->is_muted)
        fake_feishu_refuse(call, 400, 230018,
                           "These operations are NOT allowed at current group settings.");
    else if (room->person != 0 && fake->persons[room->person - 1]->has_stopped)
        fake_feishu_refuse(call, 400, 230053,
                           "The user has stopped the bot from sending messages.");
    else
        return true;
    return false;
}

static struct room *room_of_person(const struct fake_feishu *fake, const char *open_id)
{
    for (size_t i = 0; i < fake->room_count; i++)
        if (fake->rooms[i]->is_p2p && fake->rooms[i]->person != 0 &&
            strcmp(fake->persons[fake->rooms[i]->person - 1]->id, open_id) == 0)
            return fake->rooms[i];
    return NULL;
}

/* The room `send` means; NULL: refused. */
static struct room *receiver(struct fake_feishu_call *call)
{
    const char *type = platform_text(call->query, "receive_id_type", ""),
               *id = platform_text(call->body, "receive_id", "");
    struct room *room = NULL;
    if (strcmp(type, "chat_id") == 0)
        room = fake_feishu_room(call->fake, id);
    else if (strcmp(type, "open_id") == 0)
        room = room_of_person(call->fake, id);
    else if (strcmp(type, "union_id") != 0 && strcmp(type, "user_id") != 0 &&
             strcmp(type, "email") != 0) {
        fake_feishu_refuse(call, 400, 99992402,
                           "field validation failed: receive_id_type is required");
        return NULL;
    }
    if (room == NULL)
        fake_feishu_refuse(call, 400, 230034, "The receive_id is invalid.");
    return room != NULL && may_speak(call, room) ? room : NULL;
}

/* -- what it holds ----------------------------------------------------------------------------- */
struct draft
{
    const char *type, *content, *uuid;
    char *text;
    bool is_shared;
    struct kit_card *card; /* of CardKit that is to be shown; NULL = none */
};

static bool is_kit(const char *content)
{
    json_t *tree = json_loads(content, 0, NULL);
    bool is_card = strcmp(platform_text(tree, "type", ""), "card") == 0;
    json_decref(tree);
    return is_card;
}

/* The card that the content names, if it names one. @return false: refused */
static bool read_kit(struct fake_feishu_call *call, struct draft *draft)
{
    bool is_refused = false;
    if (strcmp(draft->type, "interactive") == 0 && is_kit(draft->content))
        draft->card = fake_feishu_kit_of(call, draft->content, &is_refused);
    return !is_refused &&
           (draft->card == NULL ||
            fake_feishu_kit_check(call, draft->card, &draft->text, &draft->is_shared));
}

/* @return false: refused */
static bool read_draft(struct fake_feishu_call *call, struct draft *draft)
{
    struct fake_feishu_wrong wrong;
    draft->type = platform_text(call->body, "msg_type", "");
    draft->content = platform_text(call->body, "content", NULL);
    draft->uuid = platform_text(call->body, "uuid", "");
    size_t len = call->request->body.len;
    bool is_text = strcmp(draft->type, "text") == 0;
    if (draft->content == NULL) {
        fake_feishu_refuse(
            call, 400, 230001,
            "Your request contains an invalid request parameter: content must be a string.");
        return false;
    }
    if (strlen(draft->uuid) > UUID_LEN_MAX) {
        fake_feishu_refuse(call, 400, 99992402,
                           "field validation failed: the max len of uuid is 50");
        return false;
    }
    if (len > (is_text ? TEXT_BODY_BYTES_MAX : CARD_BODY_BYTES_MAX)) {
        fake_feishu_refuse(call, 400, 230025,
                           "The length of the message content reaches its limit.");
        return false;
    }
    if (strcmp(draft->type, "interactive") == 0 && is_kit(draft->content))
        return true; /* checked when it was made; sent_before decides first */
    if (!fake_feishu_check_content(call->fake, draft->type, draft->content, &draft->text,
                                   &draft->is_shared, &wrong)) {
        fake_feishu_refuse(call, 400, wrong.code, wrong.text);
        return false;
    }
    return true;
}

/* Under a uuid that was used within the hour: the first message again. */
static const struct note *sent_before(const struct fake_feishu *fake, const struct draft *draft)
{
    char key[80];
    snprintf(key, sizeof key, "uuid:%s", draft->uuid);
    size_t place = draft->uuid[0] == '\0' ? 0 : fake_feishu_index(fake, key);
    const struct note *note = place == 0 ? NULL : fake->notes[place - 1];
    return note != NULL && note->wall_ms + fake->uuid_life_ms > platform_wall_ms() ? note : NULL;
}

void fake_feishu_notice_reply(struct fake_feishu *fake, const struct note *answer)
{
    struct note *asked = fake_feishu_named_note(fake, answer->text);
    if (asked == NULL || asked->reply_ns != 0)
        return;
    asked->reply_ns = answer->ns;
    bool is_load = asked->event != 0 && fake->events[asked->event - 1]->is_load;
    if (is_load && !fake->load.is_flood)
        fake_feishu_load_next(fake, asked->room);
}

/* Takes draft->text over. */
static void add_message(struct fake_feishu_call *call, struct room *room, const struct note *target,
                        struct draft *draft)
{
    struct fake_feishu *fake = call->fake;
    struct note *note = fake_feishu_add_note(fake, room, FAKE_FEISHU_BOT, draft->type);
    note->is_ours = true;
    note->content = platform_copy(sma_str(draft->content));
    note->text = SMA_TAKE(draft->text);
    note->is_shared = draft->is_shared;
    if (draft->card != NULL)
        fake_feishu_kit_show(draft->card, note);
    snprintf(note->uuid, sizeof note->uuid, "%s", draft->uuid);
    if (draft->uuid[0] != '\0') {
        char key[80];
        snprintf(key, sizeof key, "uuid:%s", draft->uuid);
        fake_feishu_set_index(fake, key, fake->note_count - 1);
    }
    if (target != NULL) {
        memcpy(note->parent, target->id, sizeof note->parent);
        memcpy(note->root, target->root[0] == '\0' ? target->id : target->root, sizeof note->root);
        memcpy(note->thread, target->thread, sizeof note->thread);
        if (note->thread[0] == '\0' && platform_flag(call->body, "reply_in_thread", false))
            fake_feishu_make_id(fake, "omt_", note->thread);
    }
    fake_feishu_answer(call, tree_of_note(call->fake, note));
    fake_feishu_notice_reply(fake, note);
}

static void send_to(struct fake_feishu_call *call, struct room *room, const struct note *target)
{
    struct draft draft = {0};
    if (!read_draft(call, &draft)) {
        free(draft.text);
        return;
    }
    const struct note *before = sent_before(call->fake, &draft);
    if (before != NULL) {
        call->fake->repeat_count++;
        fake_feishu_answer(call, tree_of_note(call->fake, before));
    } else if (read_kit(call, &draft) &&
               !fake_feishu_is_flooded(call, &call->fake->sends, call->fake->app_per_second,
                                       99991400) &&
               !fake_feishu_is_flooded(call, &room->rate, call->fake->chat_per_second, 230020)) {
        add_message(call, room, target, &draft);
    }
    free(draft.text);
}

void fake_feishu_send(struct fake_feishu_call *call)
{
    struct room *room = receiver(call);
    if (room != NULL)
        send_to(call, room, NULL);
}

/* The message of the path; NULL: refused. */
static struct note *target_of(struct fake_feishu_call *call)
{
    struct note *note = fake_feishu_note(call->fake, call->id);
    if (strncmp(call->id, "om_", 3) != 0)
        fake_feishu_refuse(
            call, 400, 230001,
            "Your request contains an invalid request parameter: invalid message_id.");
    else if (note == NULL)
        fake_feishu_refuse(call, 400, 231003, "The message is not found.");
    return strncmp(call->id, "om_", 3) == 0 ? note : NULL;
}

void fake_feishu_reply(struct fake_feishu_call *call)
{
    struct note *target = target_of(call);
    if (target == NULL || !may_speak(call, target->room))
        return;
    if (target->is_recalled)
        fake_feishu_refuse(call, 400, 230011, "The message was withdrawn.");
    else
        send_to(call, target->room, target);
}

/* -- changes ----------------------------------------------------------------------------------- */
/* A message of ours that may be changed; NULL: refused. */
static struct note *own_note(struct fake_feishu_call *call)
{
    struct note *note = target_of(call);
    if (note == NULL)
        return NULL;
    if (note->is_recalled)
        fake_feishu_refuse(call, 400, 230011, "The message was withdrawn.");
    else if (!note->is_ours)
        fake_feishu_refuse(call, 400, 230071, "Operator is not the sender of the message.");
    else if (note->wall_ms + EDIT_WINDOW_MS < platform_wall_ms())
        fake_feishu_refuse(call, 400, 230031, "The message was sent too long ago.");
    else
        return note;
    return NULL;
}

static void change(struct note *note, const char *content, char *text, bool is_shared)
{
    free(note->content);
    free(note->text);
    note->content = platform_copy(sma_str(content));
    note->text = text;
    note->is_shared = is_shared;
    note->edit_count++;
}

void fake_feishu_patch(struct fake_feishu_call *call)
{
    struct note *note = own_note(call);
    const char *content = platform_text(call->body, "content", NULL);
    char *text = NULL;
    bool is_shared = false;
    struct fake_feishu_wrong wrong;
    if (note == NULL)
        return;
    if (fake_feishu_kit_is_shown(call->fake, note))
        fake_feishu_refuse(call, 400, 230001,
                           "Your request contains an invalid request parameter: a card of CardKit "
                           "is changed by CardKit.");
    else if (content == NULL || strcmp(note->type, "interactive") != 0)
        fake_feishu_refuse(
            call, 400, 230001,
            "Your request contains an invalid request parameter: This message is NOT a card.");
    else if (call->request->body.len > CARD_BODY_BYTES_MAX)
        fake_feishu_refuse(call, 400, 230025,
                           "The length of the message content reaches its limit.");
    else if (!fake_feishu_check_content(call->fake, "interactive", content, &text, &is_shared,
                                        &wrong))
        fake_feishu_refuse(call, 400, wrong.code, wrong.text);
    else if (!note->is_shared || !is_shared)
        fake_feishu_refuse(
            call, 400, 230001,
            "Your request contains an invalid request parameter: update_multi must be true.");
    else if (!fake_feishu_is_flooded(call, &note->edits, call->fake->edit_per_second, 230020)) {
        change(note, content, SMA_TAKE(text), is_shared);
        fake_feishu_answer(call, json_object());
    }
    free(text);
}

void fake_feishu_edit(struct fake_feishu_call *call)
{
    struct note *note = own_note(call);
    struct draft draft = {0};
    if (note == NULL)
        return;
    if (strcmp(note->type, "text") != 0 && strcmp(note->type, "post") != 0)
        fake_feishu_refuse(call, 400, 230054,
                           "This operation is not supported for this message type.");
    else if (note->edit_count == EDIT_COUNT_MAX)
        fake_feishu_refuse(call, 400, 230072,
                           "The message has reached the number of times it can be edited.");
    else if (read_draft(call, &draft) &&
             !fake_feishu_is_flooded(call, &note->edits, call->fake->edit_per_second, 230020)) {
        change(note, draft.content, SMA_TAKE(draft.text), draft.is_shared);
        fake_feishu_answer(call, tree_of_note(call->fake, note));
    }
    free(draft.text);
}

void fake_feishu_delete(struct fake_feishu_call *call)
{
    struct note *note = own_note(call);
    if (note == NULL)
        return;
    note->is_recalled = true;
    fake_feishu_answer(call, json_object());
}

void fake_feishu_get(struct fake_feishu_call *call)
{
    struct note *note = target_of(call);
    if (note != NULL && note->is_recalled)
        fake_feishu_refuse(call, 400, 230110,
                           "Action unavailable as the message has been deleted.");
    else if (note != NULL) {
        json_t *tree = tree_of_note(call->fake, note);
        /* Others' cards are given out only to who asks for them (as seen: openclaw#78289). */
        if (strcmp(note->type, "interactive") == 0 && !note->is_ours &&
            platform_text(call->query, "card_msg_content_type", "")[0] == '\0')
            json_object_set_new(tree, "body", json_pack("{s:s}", "content", CARD_STUB));
        fake_feishu_answer(call, json_pack("{s:[o]}", "items", tree));
    }
}

/* -- reactions --------------------------------------------------------------------------------- */
void fake_feishu_react(struct fake_feishu_call *call)
{
    const struct note *note = target_of(call);
    const char *emoji =
        platform_text(json_object_get(call->body, "reaction_type"), "emoji_type", "");
    if (note == NULL)
        return;
    if (!fake_feishu_is_reaction(emoji) || note->is_recalled) {
        fake_feishu_refuse(call, 400, note->is_recalled ? 231003 : 231001,
                           "reaction type is invalid, or the message is gone");
        return;
    }
    char id[FEISHU_ID_SIZE];
    fake_feishu_make_id(call->fake, "ZCaC", id);
    json_array_append_new(call->fake->reactions, json_pack("{s:s,s:s,s:s}", "id", id, "message_id",
                                                           note->id, "emoji", emoji));
    fake_feishu_answer(call, json_pack("{s:s,s:{s:s,s:s},s:s,s:{s:s}}", "reaction_id", id,
                                       "operator", "operator_id", call->fake->app, "operator_type",
                                       "app", "action_time", "1700000000000", "reaction_type",
                                       "emoji_type", emoji));
}

void fake_feishu_unreact(struct fake_feishu_call *call)
{
    size_t i;
    json_t *entry;
    json_array_foreach(call->fake->reactions, i,
                       entry) if (strcmp(platform_text(entry, "id", ""), call->second) == 0 &&
                                  strcmp(platform_text(entry, "message_id", ""), call->id) == 0)
    {
        json_array_remove(call->fake->reactions, i);
        fake_feishu_answer(call, json_object());
        return;
    }
    fake_feishu_refuse(call, 400, 231007, "The reaction does not exist.");
}
