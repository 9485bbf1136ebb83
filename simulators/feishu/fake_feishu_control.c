/*
 * fake_feishu_control.c — what people do, and what a test wants to know: JSON commands with a
 * member "do".
 */
#include "fake_feishu_priv.h"

#include <stdio.h>
#include <stdlib.h>

/* clang-format off */
const char fake_feishu_commands[] =
    "  user id [name chat]  a person \"ou_..\", and the private chat with the bot (default\n"
    "        \"oc_\" + the rest)\n"
    "  chat id [name owner managers members topics has_bot]  a group \"oc_..\"\n"
    "  say chat user [text type content file images reply_to thread clock_ms members]\n"
    "        images: of type post, [{base64, text or size}];\n"
    "        text: \"@{bot}\", \"@{ou_..}\", \"@{all}\" mention; file: {kind\n"
    "        image|file|audio|media|sticker, name, text, base64 or size};\n"
    "        user \"app\": another bot -> message_id, thread, event_id, is_queued (false: the\n"
    "        bot is not told)\n"
    "  press message_id user value | button  value: the number of the button (0, 1, ...),\n"
    "        or what a made-up press brings;\n"
    "        button: its label -> event_id. The press is over after 3 s (ack_limit), and\n"
    "        never brought again\n"
    "  toast event_id  what that press got -> is_answered, is_late, type, text (of the\n"
    "        toast, \"\" = none),\n"
    "        has_card, ms. Ask until is_answered or is_late\n"
    "  bot_added chat user; bot_removed chat user; recall message_id [quietly]; event type\n"
    "        event | bytes\n"
    "  dissolve chat; stop user on; mute chat on; disable on; forbid on (the long\n"
    "        connection); reads_all on; contacts on (the\n"
    "        right to see names); lacks_send on (the scope to\n"
    "        answer is not granted); secret secret; app app (another\n"
    "        app id)\n"
    "  list chat [from] -> messages: id is_ours from type text (as people see it now) raw\n"
    "        root parent thread uuid edits\n"
    "        is_recalled; of cards buttons: [{label, value}]; reactions: [emoji_type];\n"
    "        file_name file_size file_text\n"
    "  events [from] -> events with what became of them;  counters;  complaints;  reactions\n"
    "  cards -> of CardKit: id message_id sequence is_streaming is_recalled typed (contents\n"
    "        that only went on) written_ms card;\n"
    "        counters wrong_sequences, unfinished: seen and still streaming; kit_life ms\n"
    "  latencies [skip] -> of load: acks and replies, in us\n"
    "  fault method kind [times skip ms bytes status code seconds chat text holds];\n"
    "        clear_faults\n"
    "        methods: endpoint token bot send reply patch edit delete get react unreact\n"
    "        resource image file own_file chat card_create card_content card_settings\n"
    "        card_replace members; kinds: see fake_platform.h; kind token ends all tokens\n"
    "  break [how code]  every connection: drop reset close freeze thaw ping half text\n"
    "        garbage oversize\n"
    "        rubbish -> count\n"
    "  restart [ms]  everything is cut; nobody is let in for so long\n"
    "  refuse_handshake status [http message auth_code times]; bad_tls kind [times]:\n"
    "        self_signed wrong_name expired silent\n"
    "  pongs on [config]; config ping_interval reconnect_interval reconnect_nonce\n"
    "        [is_hidden] (seconds); ping_limit ms\n"
    "  scale factor (of the waits before a redelivery); hurry (what waits for one is\n"
    "        delivered now); ack_limit ms; lose_acks count; double count; redeliver count\n"
    "  pieces count parts [order]  the next `count` events in parts: \"\" reverse shuffle\n"
    "        missing double\n"
    "  tokens [life_s renew_s]; expire_tokens; connections max; rates [chat_per_second\n"
    "        edit_per_second app_per_second] (0: none); uuid_life ms\n"
    "  webhook url [key token]; challenge [token]; forge kind [chat]; forged -> list\n"
    "  load chats total per_chat text  so many chats talk, each says the next when it is\n"
    "        answered; text holds %s\n"
    "  flood total window chats text  group messages nobody is asked by, `window` of them\n"
    "        unacknowledged\n";
/* clang-format on */

/* -- people and chats -------------------------------------------------------------------------- */
static json_t *add_user(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    const char *id = platform_text(command, "id", "");
    char chat[FEISHU_ID_SIZE];
    if (strncmp(id, "ou_", 3) != 0 || strlen(id) > 48)
        return platform_problem("ids of users begin with ou_");
    (void)fake_feishu_add_person(fake, id, platform_text(command, "name", "Ann"));
    snprintf(chat, sizeof chat, "oc_%s", id + 3);
    struct room *room = fake_feishu_add_room(fake, platform_text(command, "chat", chat), "");
    room->is_p2p = true;
    room->person = fake_feishu_index(fake, id);
    return json_pack("{s:s}", "chat", room->id);
}

static json_t *add_chat(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    const char *id = platform_text(command, "id", "");
    if (strncmp(id, "oc_", 3) != 0 || strlen(id) > 48)
        return platform_problem("ids of chats begin with oc_");
    struct room *room = fake_feishu_add_room(fake, id, platform_text(command, "name", "Team"));
    snprintf(room->owner, sizeof room->owner, "%s", platform_text(command, "owner", ""));
    room->is_topics = platform_flag(command, "topics", false);
    room->has_bot = platform_flag(command, "has_bot", true);
    json_array_extend(room->managers, json_object_get(command, "managers"));
    json_array_extend(room->members, json_object_get(command, "members"));
    return platform_done();
}

static json_t *change_room(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    struct room *room = fake_feishu_room(fake, platform_text(command, "chat", ""));
    bool is_on = platform_flag(command, "on", true);
    if (room == NULL)
        return platform_problem("no such chat");
    if (strcmp(platform_text(command, "do", ""), "mute") == 0)
        room->is_muted = is_on;
    else
        room->is_dissolved = is_on;
    return platform_done();
}

static json_t *stop_bot(void *user, const json_t *command)
{
    struct person *person = fake_feishu_person(user, platform_text(command, "user", ""));
    if (person == NULL)
        return platform_problem("no such user");
    person->has_stopped = platform_flag(command, "on", true);
    return platform_done();
}

/* -- looking ----------------------------------------------------------------------------------- */
static void describe_file(const struct fake_feishu *fake, const struct note *note, json_t *tree)
{
    json_t *content = json_loads(note->content, 0, NULL);
    const struct file *file = fake_feishu_file(
        fake,
        platform_text(content, strcmp(note->type, "image") == 0 ? "image_key" : "file_key", ""));
    if (file != NULL) {
        size_t len = sma_utf8_cut((struct sma_str){file->bytes, file->len}, 4096);
        json_t *head = json_stringn(file->bytes, len);
        json_object_update_new(tree,
                               json_pack("{s:s,s:s,s:I,s:o}", "file_name", file->name, "file_type",
                                         file->type, "file_size", (json_int_t)file->len,
                                         "file_text", head == NULL ? json_null() : head));
    }
    json_decref(content);
}

static json_t *reactions_of(const struct fake_feishu *fake, const struct note *note)
{
    json_t *list = json_array(), *entry;
    size_t i;
    json_array_foreach(fake->reactions, i, entry)
    {
        if (strcmp(platform_text(entry, "message_id", ""), note->id) == 0)
            json_array_append(list, json_object_get(entry, "emoji"));
    }
    return list;
}

static json_t *describe(const struct fake_feishu *fake, const struct note *note)
{
    const struct event *event = note->event == 0 ? NULL : fake->events[note->event - 1];
    json_t *tree = json_pack(
        "{s:s,s:b,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:b,s:i,s:I,s:I}", "id", note->id, "is_ours",
        note->is_ours, "from", note->from, "type", note->type, "text", note->text, "raw",
        note->content, "root", note->root, "parent", note->parent, "thread", note->thread, "uuid",
        note->uuid, "is_recalled", note->is_recalled, "edits", (int)note->edit_count, "ns",
        (json_int_t)note->ns, "reply_ns", (json_int_t)note->reply_ns);
    if (event != NULL)
        json_object_update_new(tree,
                               json_pack("{s:s,s:I,s:I,s:i,s:b}", "event_id", event->id, "sent_ns",
                                         (json_int_t)event->first_sent_ns, "acked_ns",
                                         (json_int_t)event->done_ns, "deliveries",
                                         (int)event->sent_count, "is_acked", event->done_ns != 0));
    if (note->is_ours && strcmp(note->type, "interactive") == 0)
        json_object_set_new(tree, "buttons", fake_feishu_buttons(note->content));
    json_object_set_new(tree, "reactions", reactions_of(fake, note));
    describe_file(fake, note, tree);
    return tree;
}

static json_t *tell_toast(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    for (size_t i = 0; i < fake->event_count; i++) {
        const struct event *event = fake->events[i];
        if (!event->is_callback || strcmp(event->id, platform_text(command, "event_id", "")) != 0)
            continue;
        const json_t *toast = json_object_get(event->result, "toast");
        bool is_done = event->state == EVENT_DONE;
        uint64_t ns = is_done ? event->done_ns - event->made_ns : 0;
        return json_pack("{s:b,s:b,s:s,s:s,s:b,s:I}", "is_answered", is_done, "is_late",
                         event->state == EVENT_LOST, "type", platform_text(toast, "type", ""),
                         "text", platform_text(toast, "content", ""), "has_card",
                         json_object_get(event->result, "card") != NULL, "ms",
                         (json_int_t)(ns / 1000000));
    }
    return platform_problem("no such press");
}

static json_t *list_chat(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    const struct room *room = fake_feishu_room(fake, platform_text(command, "chat", ""));
    if (room == NULL)
        return platform_problem("no such chat");
    json_t *messages = json_array();
    for (size_t i = (size_t)platform_number(command, "from", 0); i < fake->note_count; i++)
        if (fake->notes[i]->room == room)
            json_array_append_new(messages, describe(fake, fake->notes[i]));
    return json_pack("{s:o}", "messages", messages);
}

static json_t *list_events(void *user, const json_t *command)
{
    static const char *const states[] = {"waiting", "sent", "done", "lost"};
    struct fake_feishu *fake = user;
    json_t *list = json_array();
    for (size_t i = (size_t)platform_number(command, "from", 0); i < fake->event_count; i++) {
        const struct event *event = fake->events[i];
        json_array_append_new(
            list,
            json_pack("{s:s,s:s,s:b,s:i,s:i,s:i,s:i,s:I,s:I,s:I,s:O*}", "id", event->id, "state",
                      states[event->state], "is_callback", event->is_callback, "retries",
                      (int)event->retry_count, "deliveries", (int)event->sent_count, "acks",
                      (int)event->ack_count, "code", event->answer_code, "made_ns",
                      (json_int_t)event->made_ns, "sent_ns", (json_int_t)event->first_sent_ns,
                      "acked_ns", (json_int_t)event->done_ns, "result", event->result));
    }
    return json_pack("{s:o}", "events", list);
}

static size_t count_state(const struct fake_feishu *fake, enum event_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < fake->event_count; i++)
        count += fake->events[i]->state == state;
    return count;
}

static size_t count_ours(const struct fake_feishu *fake)
{
    size_t count = 0;
    for (size_t i = 0; i < fake->note_count; i++)
        count += fake->notes[i]->is_ours;
    return count;
}

static json_t *count_all(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    (void)command;
    const struct
    {
        const char *name;
        uint64_t number;
    } numbers[] = {{"connections", fake->link_count},
                   {"opened", fake->opened_count},
                   {"ended", fake->ended_count},
                   {"pings", fake->ping_count},
                   {"events", fake->event_count},
                   {"waiting", count_state(fake, EVENT_WAITING)},
                   {"unacked", count_state(fake, EVENT_SENT)},
                   {"queued", count_state(fake, EVENT_WAITING) + count_state(fake, EVENT_SENT)},
                   {"acked", (uint64_t)fake->acked_total},
                   {"delivered", (uint64_t)fake->sent_total},
                   {"lost", fake->lost_events},
                   {"retries", fake->retries},
                   {"late_acks", fake->late_acks},
                   {"repeats", fake->repeat_count},
                   {"floods", fake->flood_count},
                   {"wrong_sequences", fake->kit_wrong_sequences},
                   {"unfinished", fake_feishu_kit_unfinished(fake)},
                   {"sent", count_ours(fake)},
                   {"refused", fake->refused_count},
                   {"complaints", json_array_size(fake->complaints)},
                   {"tokens", fake->token_count},
                   {"tickets", fake->ticket_count},
                   {"started", fake->load.started},
                   {"finished", fake->load.finished},
                   {"challenges", fake->challenge_count},
                   {"challenges_good", fake->challenge_good_count},
                   {"pieces_left", (uint64_t)fake->pieces_times},
                   {"lose_acks_left", (uint64_t)fake->lost_acks},
                   {"refusals_left", (uint64_t)fake->refusal.times},
                   {"bad_tls_left", (uint64_t)fake->bad_tls_times},
                   {"faults_left", (uint64_t)platform_faults_left(&fake->platform)}};
    json_t *tree = json_pack("{s:o}", "calls", json_deep_copy(fake->platform.counts));
    for (size_t i = 0; i < SMA_COUNT_OF(numbers); i++)
        json_object_set_new(tree, numbers[i].name, json_integer((json_int_t)numbers[i].number));
    json_t *per_link = json_array();
    for (size_t i = 0; i < fake->link_count; i++)
        json_array_append_new(per_link, json_integer((json_int_t)fake->links[i].event_count));
    json_object_set_new(tree, "events_per_connection", per_link);
    return tree;
}

static json_t *list_tree(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    const char *what = platform_text(command, "do", "");
    json_t *list = strcmp(what, "complaints") == 0  ? fake->complaints
                   : strcmp(what, "reactions") == 0 ? fake->reactions
                                                    : fake->forged;
    return json_pack("{s:o}", what, json_deep_copy(list));
}

static json_t *list_latencies(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    json_t *acks = json_array(), *replies = json_array();
    size_t skip = (size_t)platform_number(command, "skip", 0), seen = 0;
    for (size_t i = 0; i < fake->event_count; i++) {
        const struct event *event = fake->events[i];
        if (!event->is_load || event->first_sent_ns == 0 || seen++ < skip)
            continue;
        const struct note *note = fake->notes[event->note - 1];
        if (event->done_ns != 0)
            json_array_append_new(
                acks, json_integer((json_int_t)((event->done_ns - event->first_sent_ns) / 1000)));
        if (note->reply_ns != 0)
            json_array_append_new(
                replies,
                json_integer((json_int_t)((note->reply_ns - event->first_sent_ns) / 1000)));
    }
    return json_pack("{s:o,s:o}", "acks", acks, "replies", replies);
}

/* -- weather ----------------------------------------------------------------------------------- */
static json_t *add_fault(void *user, const json_t *command)
{
    return platform_add_fault(&((struct fake_feishu *)user)->platform, command);
}

static json_t *clear_faults(void *user, const json_t *command)
{
    (void)command;
    platform_clear_faults(&((struct fake_feishu *)user)->platform);
    return platform_done();
}

static void listen_again(void *user, struct ws_server *server)
{
    (void)user;
    ws_server_listen(server, true);
}

static json_t *restart(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    ws_server_listen(fake->server, false);
    (void)ws_server_drop(fake->server, 0);
    ws_server_after(fake->server, (unsigned)platform_number(command, "ms", 100), listen_again,
                    NULL);
    return platform_done();
}

static json_t *refuse_handshake(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    fake->refusal = (struct refusal){.times = platform_number(command, "times", 1),
                                     .http = platform_number(command, "http", 403),
                                     .status = platform_number(command, "status", 500)};
    snprintf(fake->refusal.message, sizeof fake->refusal.message, "%s",
             platform_text(command, "message", "refused"));
    snprintf(fake->refusal.auth_code, sizeof fake->refusal.auth_code, "%s",
             platform_text(command, "auth_code", ""));
    return platform_done();
}

static json_t *set_bad_tls(void *user, const json_t *command)
{
    static const struct
    {
        const char *name;
        enum ws_server_tls tls;
    } kinds[] = {{"self_signed", WS_SERVER_TLS_SELF_SIGNED},
                 {"wrong_name", WS_SERVER_TLS_WRONG_NAME},
                 {"expired", WS_SERVER_TLS_EXPIRED},
                 {"silent", WS_SERVER_TLS_SILENT}};
    struct fake_feishu *fake = user;
    const char *kind = platform_text(command, "kind", "");
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        if (strcmp(kind, kinds[i].name) != 0)
            continue;
        ws_server_stop(fake->bad_tls);
        fake->bad_tls = ws_server_start(&(struct ws_server_options){.tls = kinds[i].tls});
        fake->bad_tls_times = platform_number(command, "times", 1);
        return platform_done();
    }
    return platform_problem("no such kind of TLS");
}

static json_t *redeliver(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    size_t count = (size_t)platform_number(command, "count", 1), first = fake->event_count;
    for (; first > 0 && count > 0; first--)
        if (fake->events[first - 1]->state == EVENT_DONE && fake->events[first - 1]->json != NULL &&
            !fake->events[first - 1]->is_callback)
            count--;
    for (size_t i = first, end = fake->event_count; i < end; i++)
        if (fake->events[i]->state == EVENT_DONE && fake->events[i]->json != NULL &&
            !fake->events[i]->is_callback)
            fake_feishu_deliver(fake, fake->events[i]);
    return platform_done();
}

static json_t *set_pieces(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    int64_t parts = platform_number(command, "parts", 3);
    if (parts < 1 || parts > 32)
        return platform_problem("1 to 32 parts");
    fake->pieces = (size_t)parts;
    fake->pieces_times = platform_number(command, "count", 1);
    snprintf(fake->pieces_order, sizeof fake->pieces_order, "%s",
             platform_text(command, "order", ""));
    return platform_done();
}

static json_t *expire_tokens(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    (void)command;
    for (size_t i = 0; i < FEISHU_TOKENS_MAX; i++)
        fake->tokens[i].end_ns = 0;
    return platform_done();
}

static json_t *set_config(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    fake->ping_interval_s = platform_number(command, "ping_interval", fake->ping_interval_s);
    fake->reconnect_interval_s =
        platform_number(command, "reconnect_interval", fake->reconnect_interval_s);
    fake->reconnect_nonce_s = platform_number(command, "reconnect_nonce", fake->reconnect_nonce_s);
    fake->is_config_hidden = platform_flag(command, "is_hidden", fake->is_config_hidden);
    return platform_done();
}

/* The commands that set numbers and switches. */
static json_t *set_weather(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    const struct
    {
        const char *name, *member;
        int64_t *number;
    } numbers[] = {
        {"ping_limit", "ms", &fake->ping_limit_ms}, {"ack_limit", "ms", &fake->ack_ms},
        {"lose_acks", "count", &fake->lost_acks},   {"double", "count", &fake->doubles},
        {"tokens", "life_s", &fake->token_life_s},  {"tokens", "renew_s", &fake->token_renew_s},
        {"uuid_life", "ms", &fake->uuid_life_ms},   {"kit_life", "ms", &fake->kit_stream_ms}};
    const struct
    {
        const char *name, *member;
        bool *is_on;
    } switches[] = {
        {"disable", "on", &fake->is_app_disabled},  {"forbid", "on", &fake->is_long_connection_off},
        {"reads_all", "on", &fake->reads_all},      {"contacts", "on", &fake->sees_contacts},
        {"lacks_send", "on", &fake->lacks_send},    {"pongs", "on", &fake->has_pongs},
        {"pongs", "config", &fake->has_pong_config}};
    const char *what = platform_text(command, "do", "");
    for (size_t i = 0; i < SMA_COUNT_OF(numbers); i++)
        if (strcmp(what, numbers[i].name) == 0)
            *numbers[i].number = platform_number(command, numbers[i].member, *numbers[i].number);
    for (size_t i = 0; i < SMA_COUNT_OF(switches); i++)
        if (strcmp(what, switches[i].name) == 0)
            *switches[i].is_on = platform_flag(command, switches[i].member, *switches[i].is_on);
    if (strcmp(what, "scale") == 0)
        fake->scale = json_number_value(json_object_get(command, "factor"));
    if (strcmp(what, "secret") == 0)
        snprintf(fake->secret, sizeof fake->secret, "%s",
                 platform_text(command, "secret", FAKE_FEISHU_SECRET));
    if (strcmp(what, "app") == 0)
        snprintf(fake->app, sizeof fake->app, "%s", platform_text(command, "app", FAKE_FEISHU_APP));
    if (strcmp(what, "connections") == 0)
        fake->link_max = (size_t)platform_number(command, "max", 50);
    if (strcmp(what, "rates") == 0) {
        fake->chat_per_second =
            (unsigned)platform_number(command, "chat_per_second", fake->chat_per_second);
        fake->app_per_second =
            (unsigned)platform_number(command, "app_per_second", fake->app_per_second);
        fake->edit_per_second =
            (unsigned)platform_number(command, "edit_per_second", fake->edit_per_second);
    }
    return fake->scale > 0 ? platform_done() : platform_problem("a factor above 0");
}

static json_t *hurry(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    (void)command;
    for (struct event *event = fake->waiting; event != NULL; event = event->next)
        event->due_ns = 1; /* long ago */
    return platform_done();
}

json_t *fake_feishu_control(void *fake, const json_t *command)
{
    static const struct platform_command commands[] = {{"user", add_user},
                                                       {"chat", add_chat},
                                                       {"say", fake_feishu_say},
                                                       {"press", fake_feishu_press},
                                                       {"toast", tell_toast},
                                                       {"bot_added", fake_feishu_change_bot},
                                                       {"bot_removed", fake_feishu_change_bot},
                                                       {"recall", fake_feishu_recall},
                                                       {"event", fake_feishu_raw_event},
                                                       {"dissolve", change_room},
                                                       {"mute", change_room},
                                                       {"stop", stop_bot},
                                                       {"list", list_chat},
                                                       {"cards", fake_feishu_kit_list},
                                                       {"events", list_events},
                                                       {"counters", count_all},
                                                       {"complaints", list_tree},
                                                       {"reactions", list_tree},
                                                       {"forged", list_tree},
                                                       {"latencies", list_latencies},
                                                       {"fault", add_fault},
                                                       {"clear_faults", clear_faults},
                                                       {"break", fake_feishu_break_link},
                                                       {"restart", restart},
                                                       {"refuse_handshake", refuse_handshake},
                                                       {"bad_tls", set_bad_tls},
                                                       {"redeliver", redeliver},
                                                       {"hurry", hurry},
                                                       {"pieces", set_pieces},
                                                       {"expire_tokens", expire_tokens},
                                                       {"config", set_config},
                                                       {"disable", set_weather},
                                                       {"forbid", set_weather},
                                                       {"reads_all", set_weather},
                                                       {"contacts", set_weather},
                                                       {"lacks_send", set_weather},
                                                       {"secret", set_weather},
                                                       {"app", set_weather},
                                                       {"pongs", set_weather},
                                                       {"kit_life", set_weather},
                                                       {"ping_limit", set_weather},
                                                       {"scale", set_weather},
                                                       {"ack_limit", set_weather},
                                                       {"lose_acks", set_weather},
                                                       {"double", set_weather},
                                                       {"tokens", set_weather},
                                                       {"connections", set_weather},
                                                       {"rates", set_weather},
                                                       {"uuid_life", set_weather},
                                                       {"webhook", fake_feishu_set_webhook},
                                                       {"challenge", fake_feishu_challenge},
                                                       {"forge", fake_feishu_forge},
                                                       {"load", fake_feishu_start_load},
                                                       {"flood", fake_feishu_start_load}};
    return platform_run(commands, SMA_COUNT_OF(commands), fake, command);
}
