/*
 * fake_qq_control.c — what people do, and what a test wants to know: JSON commands with a
 * member "do".
 */
#include "fake_qq_priv.h"

#include <stdio.h>
#include <stdlib.h>

/* clang-format off */
const char fake_qq_commands[] =
    "  chat chat [user guild name tells_all]  a chat there is; user: who speaks in it\n"
    "        unless told; tells_all: the group's\n"
    "        owner lets the bot see every message\n"
    "  say chat [text user name role at everybody quote reply_to attachments old times both\n"
    "        age members is_bot]\n"
    "        at (true): the bot is mentioned; old: as platforms of 2024 sent it, no\n"
    "        optional member; times: pushed so often;\n"
    "        both: a group message that comes as both types; age: seconds; members: put\n"
    "        into \"d\" as they are\n"
    "        attachments: [{type name text|base64|size bare asr url wav}],\n"
    "        quote_attachments: of what is quoted  -> id, event, is_pushed\n"
    "        (false: nobody was to have it)\n"
    "  press chat data [user button]  a made-up press -> id of the interaction, event,\n"
    "        is_pushed\n"
    "  press chat message_id button [user]  a button of one of the bot's messages, by its\n"
    "        number (0, 1, ... over all\n"
    "        rows) or its label; refused when its permission does not let the user\n"
    "  toast id  what became of that press -> is_answered, code (what the client shows:\n"
    "        0 done, 1 failed, 2 too often, 3 again, 4 not allowed, 5 admins only), ms\n"
    "  relate chat type [user]  FRIEND_ADD ... GROUP_MSG_RECEIVE;  emit type data: any of\n"
    "        some others\n"
    "  membership chat what on  what: refuses gone muted refuses_active\n"
    "  list chat [from] -> messages, typing;  counters;  interactions;  refusals;  sessions\n"
    "        ours: id text kind (text markdown media) detail replied (msg_id or event_id,\n"
    "        \"\" = active) msg_seq is_active\n"
    "        is_recalled is_streaming buttons: [{id, label, data, row, permission}]\n"
    "        counters [unfinished]: messages in pieces without their last one; stream_refused\n"
    "  fault method kind [...] (see fake_platform.h; methods are the names in\n"
    "        fake_qq_rest.c); clear_faults\n"
    "  clock seconds  the platform's clock runs ahead by that much: windows, tokens, files,\n"
    "        links of attachments (an hour)\n"
    "  token_life seconds [overlap number]; expire_token; app app: another app id\n"
    "  rights [markdown keyboard stream active audit refuse_urls note_refused text_max\n"
    "        active_per_minute active_per_day per_second intents\n"
    "        window_scale interaction_ms media_ttl block_size file_bytes_max]\n"
    "  gateway [heartbeat session_ms hello acks url shards identifies concurrency\n"
    "        resume_refusal fragments impostor]\n"
    "        resume_refusal: op9 op9true 4006 4007, with ! in front: also for sessions that\n"
    "        are good; impostor: another server with a certificate of its own making\n"
    "        (counter fooled)\n"
    "  refuse_upgrade times status  status 0: no answer\n"
    "  reconnect; invalid resumable; close code [reason]; drop; reset; freeze [on];\n"
    "        ask_beat; forget\n"
    "  cut chat text: half the frame of an event, and the connection ends; garbage kind:\n"
    "        text number binary utf8 frame lie\n"
    "  oversize bytes; skip count: sequence numbers nobody gets\n"
    "  redeliver count: the newest events again, as new dispatches\n"
    "  restart [ms forget]: nothing listens for so long\n"
    "  webhook url [retry_ms tries]; post ...; validate ... (fake_qq_webhook.c)\n"
    "  load chats total [per_chat first_chat text rate]; latencies [skip]\n"
    "        closed: each chat says the next when it is answered; with a rate: so many a\n"
    "        second, whatever comes back\n";
/* clang-format on */

/* -- people ------------------------------------------------------------------------------------ */
static json_t *add_chat(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    struct chat *chat = fake_qq_add_chat(fake, platform_text(command, "chat", ""));
    if (chat == NULL)
        return platform_problem("a chat is named c2c:, group:, channel: or dm: and its id");
    snprintf(chat->user, sizeof chat->user, "%s",
             platform_text(command, "user", chat->scene == SCENE_C2C ? chat->id : "M1"));
    snprintf(chat->guild, sizeof chat->guild, "%s",
             platform_text(command, "guild", chat->scene >= SCENE_CHANNEL ? "18700000000001" : ""));
    chat->tells_all = platform_flag(command, "tells_all", false);
    return platform_done();
}

static json_t *change_membership(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    struct chat *chat = fake_qq_chat(fake, platform_text(command, "chat", ""));
    const char *what = platform_text(command, "what", "");
    bool is_on = platform_flag(command, "on", true);
    if (chat == NULL)
        return platform_problem("no such chat");
    if (strcmp(what, "refuses") == 0)
        chat->refuses = is_on;
    else if (strcmp(what, "gone") == 0)
        chat->is_gone = is_on;
    else if (strcmp(what, "muted") == 0)
        chat->is_muted = is_on;
    else if (strcmp(what, "refuses_active") == 0)
        chat->refuses_active = is_on;
    else
        return platform_problem("no such membership");
    return platform_done();
}

/* -- buttons ----------------------------------------------------------------------------------- */
static json_t *buttons_of(const struct message *message)
{
    json_t *list = json_array(), *keyboard = json_loads(message->detail, 0, NULL);
    const json_t *rows = json_object_get(json_object_get(keyboard, "content"), "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *buttons = json_object_get(json_array_get(rows, i), "buttons");
        for (size_t j = 0; j < json_array_size(buttons); j++) {
            const json_t *button = json_array_get(buttons, j),
                         *action = json_object_get(button, "action"),
                         *permission = json_object_get(action, "permission");
            json_array_append_new(
                list,
                json_pack("{s:s,s:s,s:s,s:i,s:I}", "id", platform_text(button, "id", ""), "label",
                          platform_text(json_object_get(button, "render_data"), "label", ""),
                          "data", platform_text(action, "data", ""), "row", (int)i, "permission",
                          (json_int_t)platform_number(permission, "type", -1)));
        }
    }
    json_decref(keyboard);
    return list;
}

/* Press a button that is there: find it, then as if its data had been given. */
static json_t *press(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    struct chat *chat = NULL;
    const char *id = platform_text(command, "message_id", NULL),
               *label = platform_text(command, "button", "");
    if (id == NULL)
        return fake_qq_press(user, command);
    struct message *message = fake_qq_message(fake, id, &chat);
    if (message == NULL || !message->is_ours || message->is_recalled)
        return platform_problem("no such message of the bot");
    int64_t index = platform_number(command, "button", -1);
    json_t *buttons = buttons_of(message), *answer = NULL, *button;
    size_t i;
    json_array_foreach(buttons, i, button)
    {
        if (answer != NULL ||
            ((int64_t)i != index && strcmp(platform_text(button, "label", ""), label) != 0))
            continue;
        json_t *made = json_deep_copy(command);
        json_object_set(made, "data", json_object_get(button, "data"));
        json_object_set(made, "button", json_object_get(button, "id"));
        answer = platform_number(button, "permission", -1) == 2
                     ? fake_qq_press(user, made)
                     : platform_problem("the client does not let this user press");
        json_decref(made);
    }
    json_decref(buttons);
    return answer == NULL ? platform_problem("no such button") : answer;
}

static json_t *tell_toast(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    for (size_t i = 0; i < fake->interaction_count; i++) {
        const struct interaction *interaction = &fake->interactions[i];
        if (strcmp(interaction->id, platform_text(command, "id", "")) == 0)
            return json_pack("{s:b,s:I,s:I}", "is_answered", interaction->code >= 0, "code",
                             (json_int_t)interaction->code, "ms", (json_int_t)interaction->took_ms);
    }
    return platform_problem("no such press");
}

/* -- looking ----------------------------------------------------------------------------------- */
static json_t *tree_of_message(const struct fake_qq *fake, const struct message *message)
{
    json_t *tree = json_pack("{s:s,s:s,s:b,s:I,s:I,s:b}", "id", message->id, "text", message->text,
                             "is_ours", message->is_ours, "ms", (json_int_t)message->wall_ms, "ns",
                             (json_int_t)message->ns, "is_recalled", message->is_recalled);
    if (message->is_ours) {
        json_object_update_new(
            tree, json_pack("{s:s,s:s,s:s,s:I,s:b,s:b}", "kind", message->kind, "detail",
                            message->detail, "replied", message->replied, "msg_seq",
                            (json_int_t)message->msg_seq, "is_active", message->replied[0] == '\0',
                            "is_streaming", message->is_streaming));
        json_object_set_new(tree, "buttons", buttons_of(message));
    } else {
        const struct session *session = fake->payloads[message->payload].session;
        json_object_set_new(tree, "reply_count", json_integer(message->replies.count));
        json_object_set_new(tree, "session", json_string(session == NULL ? "" : session->id));
        if (message->reply_ns != 0)
            json_object_set_new(
                tree, "reply_us",
                json_integer(
                    (json_int_t)((message->reply_ns - fake->payloads[message->payload].pushed_ns) /
                                 1000)));
    }
    return tree;
}

static json_t *list_chat(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    const struct chat *chat = fake_qq_chat(fake, platform_text(command, "chat", ""));
    json_t *messages = json_array();
    for (size_t i = (size_t)platform_number(command, "from", 0);
         chat != NULL && i < chat->message_count; i++)
        json_array_append_new(messages, tree_of_message(fake, &chat->messages[i]));
    return json_pack("{s:o,s:I}", "messages", messages, "typing",
                     (json_int_t)(chat == NULL ? 0 : chat->typing_count));
}

static json_t *list_interactions(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    json_t *list = json_array();
    (void)command;
    for (size_t i = 0; i < fake->interaction_count; i++) {
        const struct interaction *interaction = &fake->interactions[i];
        json_array_append_new(list, json_pack("{s:s,s:I,s:I,s:I}", "id", interaction->id, "code",
                                              (json_int_t)interaction->code, "acks",
                                              (json_int_t)interaction->ack_count, "took_ms",
                                              (json_int_t)interaction->took_ms));
    }
    return json_pack("{s:o}", "interactions", list);
}

static json_t *list_refusals(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    json_t *answer = json_pack("{s:o}", "refusals", json_deep_copy(fake->refusals));
    if (platform_flag(command, "clear", false)) {
        json_decref(fake->refusals);
        fake->refusals = json_array();
    }
    return answer;
}

static json_t *list_sessions(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    json_t *list = json_array();
    (void)command;
    for (const struct session *at = fake->sessions; at != NULL; at = at->next)
        json_array_append_new(
            list,
            json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:b}", "id", at->id, "shard",
                      (json_int_t)at->shard, "shards", (json_int_t)at->shard_count, "intents",
                      (json_int_t)at->intents, "last_seq", (json_int_t)at->last_seq, "beat_seq",
                      (json_int_t)at->beat_seq, "resumed_from", (json_int_t)at->resumed_from,
                      "is_linked", at->conn != 0, "is_ended", at->is_ended));
    return json_pack("{s:o}", "sessions", list);
}

static json_t *count_all(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    size_t link_count = 0, ready_count = 0, waiting = 0;
    (void)command;
    for (const struct link *link = fake->links; link != NULL; link = link->next) {
        link_count += !link->is_closing;
        ready_count += !link->is_closing && link->session != NULL;
    }
    for (size_t i = 0; i < fake->payload_count; i++)
        waiting += fake->payloads[i].webhook_tries > 0 && !fake->payloads[i].is_webhook_done;
    const struct
    {
        const char *name;
        uint64_t value;
    } values[] = {
        {"links", link_count},
        {"ready", ready_count},
        {"identifies", fake->identify_count},
        {"resumes", fake->resume_count},
        {"resumes_refused", fake->resume_refused_count},
        {"beats", fake->beat_count},
        {"events", fake->event_count},
        {"replayed", fake->replay_count},
        {"lost", fake->lost_count},
        {"filtered", fake->filtered_count},
        {"closed_by_us", fake->closed_by_us_count},
        {"fooled", fake->impostor == NULL ? 0 : ws_server_accepted_count(fake->impostor)},
        {"sent", fake->sent_count},
        {"duplicates", fake->duplicate_count},
        {"unfinished", platform_flag(command, "unfinished", false) ? fake_qq_unfinished(fake) : 0},
        {"stream_refused", fake->stream_refused_count},
        {"leaks", fake->leak_count},
        {"tokens", fake->token_count},
        {"webhook_sent", fake->webhook_sent_count},
        {"webhook_taken", fake->webhook_taken_count},
        {"webhook_failed", fake->webhook_failed_count},
        {"webhook_waiting", waiting},
        {"client_close_code", fake->client_close_code},
        {"identifies_left", (uint64_t)fake->identify_remaining},
        {"refusals", json_array_size(fake->refusals)},
        {"faults_left", (uint64_t)platform_faults_left(&fake->platform)},
        {"sockets", ws_server_socket_count(fake->server)},
        {"started", fake->load.started},
        {"finished", fake->load.finished}};
    json_t *tree = json_pack("{s:o}", "calls", json_deep_copy(fake->platform.counts));
    for (size_t i = 0; i < SMA_COUNT_OF(values); i++)
        json_object_set_new(tree, values[i].name, json_integer((json_int_t)values[i].value));
    return tree;
}

/* -- weather ----------------------------------------------------------------------------------- */
static json_t *add_fault(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    return platform_add_fault(&fake->platform, command);
}

static json_t *clear_faults(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    (void)command;
    platform_clear_faults(&fake->platform);
    return platform_done();
}

static json_t *set_clock(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    fake->clock_skew_ms = platform_number(command, "seconds", 0) * 1000;
    return platform_done();
}

static json_t *set_token_life(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    fake->token_life_s = platform_number(command, "seconds", 7200);
    fake->token_overlap_s = platform_number(command, "overlap", 60);
    fake->is_expiry_number = platform_flag(command, "number", false);
    fake->token[0] = fake->old_token[0] = '\0';
    return platform_done();
}

static json_t *expire_token(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    (void)command;
    fake->token[0] = fake->old_token[0] = '\0';
    return platform_done();
}

static json_t *set_app(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    snprintf(fake->app, sizeof fake->app, "%s", platform_text(command, "app", FAKE_QQ_APP_ID));
    return platform_done();
}

static json_t *set_rights(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    fake->is_markdown_off = !platform_flag(command, "markdown", !fake->is_markdown_off);
    fake->is_keyboard_off = !platform_flag(command, "keyboard", !fake->is_keyboard_off);
    fake->is_stream_off = !platform_flag(command, "stream", !fake->is_stream_off);
    fake->is_active_off = !platform_flag(command, "active", !fake->is_active_off);
    fake->is_audit = platform_flag(command, "audit", fake->is_audit);
    fake->answers_elsewhere = platform_flag(command, "elsewhere", fake->answers_elsewhere);
    fake->refuses_urls = platform_flag(command, "refuse_urls", fake->refuses_urls);
    fake->notes_refused = platform_flag(command, "note_refused", fake->notes_refused);
    fake->text_max = platform_number(command, "text_max", fake->text_max);
    fake->active_per_day = platform_number(command, "active_per_day", fake->active_per_day);
    fake->active_per_minute =
        platform_number(command, "active_per_minute", fake->active_per_minute);
    fake->per_second = platform_number(command, "per_second", fake->per_second);
    fake->intents_allowed =
        (uint32_t)platform_number(command, "intents", (int64_t)fake->intents_allowed);
    fake->window_scale = platform_number(command, "window_scale", fake->window_scale);
    fake->interaction_ms_max = platform_number(command, "interaction_ms", fake->interaction_ms_max);
    fake->media_ttl_s = platform_number(command, "media_ttl", fake->media_ttl_s);
    fake->block_size = platform_number(command, "block_size", fake->block_size);
    fake->file_bytes_max = platform_number(command, "file_bytes_max", fake->file_bytes_max);
    if (fake->window_scale < 1 || fake->block_size < 1)
        return platform_problem("window_scale and block_size start at 1");
    return platform_done();
}

/* -- the gateway ------------------------------------------------------------------------------- */
static json_t *set_gateway(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    fake->heartbeat_ms =
        (uint64_t)platform_number(command, "heartbeat", (int64_t)fake->heartbeat_ms);
    fake->session_ms = (uint64_t)platform_number(command, "session_ms", (int64_t)fake->session_ms);
    fake->is_hello_off = !platform_flag(command, "hello", !fake->is_hello_off);
    fake->is_ack_off = !platform_flag(command, "acks", !fake->is_ack_off);
    fake->shards_told = platform_number(command, "shards", fake->shards_told);
    fake->identify_remaining = platform_number(command, "identifies", fake->identify_remaining);
    fake->identify_concurrency =
        platform_number(command, "concurrency", fake->identify_concurrency);
    fake->fragment_count =
        (size_t)platform_number(command, "fragments", (int64_t)fake->fragment_count);
    snprintf(fake->gateway_url, sizeof fake->gateway_url, "%s",
             platform_text(command, "url", fake->gateway_url));
    bool is_impostor = platform_flag(command, "impostor", false);
    if (is_impostor && fake->impostor == NULL)
        fake->impostor =
            ws_server_start(&(struct ws_server_options){.tls = WS_SERVER_TLS_SELF_SIGNED});
    if (json_object_get(command, "impostor") != NULL)
        snprintf(fake->gateway_url, sizeof fake->gateway_url, "%s%s",
                 is_impostor ? ws_server_url(fake->impostor) : "", is_impostor ? "/websocket" : "");
    const char *how = platform_text(command, "resume_refusal", NULL);
    if (how != NULL)
        snprintf(fake->resume_refusal, sizeof fake->resume_refusal, "%s", how);
    return fake->heartbeat_ms == 0 ? platform_problem("a heartbeat takes time") : platform_done();
}

static json_t *refuse_upgrade(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    fake->upgrade_refusals = platform_number(command, "times", 1);
    fake->upgrade_status = (int)platform_number(command, "status", 502);
    return platform_done();
}

static void send_invalid(struct fake_qq *fake, struct link *link, const json_t *command)
{
    bool is_resumable = platform_flag(command, "resumable", false);
    if (link->session != NULL && !is_resumable)
        fake_qq_end_session(link->session);
    (void)ws_server_send(
        fake->server, link->conn,
        is_resumable ? SMA_STR("{\"op\":9,\"d\":true}") : SMA_STR("{\"op\":9,\"d\":false}"), false);
    link->close_at_ms = fake_qq_ticks_ms() + 5000; /* it must not stay */
}

static void send_reconnect(struct fake_qq *fake, struct link *link, const json_t *command)
{
    (void)ws_server_send(fake->server, link->conn, SMA_STR("{\"op\":7,\"d\":null}"), false);
    link->close_at_ms = fake_qq_ticks_ms() + (uint64_t)platform_number(command, "ms", 5000);
}

static void send_garbage(struct fake_qq *fake, struct link *link, const json_t *command)
{
    const char *kind = platform_text(command, "kind", "text");
    struct ws_server *server = fake->server;
    if (strcmp(kind, "number") == 0)
        (void)ws_server_send(server, link->conn, SMA_STR("{\"op\":\"ten\",\"s\":{},\"d\":[]}"),
                             false);
    else if (strcmp(kind, "binary") == 0)
        (void)ws_server_send(server, link->conn, SMA_STR("\x00\x01\xff\xfe"), true);
    else if (strcmp(kind, "utf8") == 0)
        (void)ws_server_send(server, link->conn, SMA_STR("{\"op\":0,\"t\":\"\xff\xc0\"}"), false);
    else if (strcmp(kind, "frame") == 0)
        (void)ws_server_send_raw(server, link->conn, SMA_STR("\xff\xff\xff\xff what is this"));
    else if (strcmp(kind, "lie") == 0) /* a text of 2^62 bytes */
        (void)ws_server_send_raw(server, link->conn,
                                 SMA_STR("\x81\x7f\x40\x00\x00\x00\x00\x00\x00\x00{"));
    else
        (void)ws_server_send(server, link->conn, SMA_STR("<<this is no JSON>>"), false);
}

static void cut_event(struct fake_qq *fake, struct link *link, const json_t *command)
{
    struct session *session = link->session;
    size_t before = fake->payload_count;
    unsigned conn = link->conn;
    char head[4];
    struct sma_buf frame;
    if (session == NULL)
        return;
    session->conn = 0; /* kept, not sent */
    session->lost_ms = fake_qq_ticks_ms();
    json_decref(fake_qq_say(fake, command));
    if (fake->payload_count > before) {
        sma_buf_init(&frame, 1u << 20);
        fake_qq_put_frame(&frame, session->last_seq, &fake->payloads[before]);
        head[0] = (char)0x81;
        head[1] = 126;
        head[2] = (char)(frame.len >> 8);
        head[3] = (char)frame.len;
        (void)ws_server_send_raw(fake->server, conn, (struct sma_str){head, sizeof head});
        (void)ws_server_send_raw(fake->server, conn, (struct sma_str){frame.ptr, frame.len / 2});
        sma_buf_fini(&frame);
    }
    link->session = NULL;
    (void)ws_server_drop(fake->server, conn);
}

/* A whole, well-formed event of so many bytes, which nobody has to take; it is not kept. */
static void send_oversize(struct fake_qq *fake, struct link *link, const json_t *command)
{
    struct sma_buf frame;
    size_t len = (size_t)platform_number(command, "bytes", 4 << 20);
    sma_buf_init(&frame, len + 4096);
    sma_buf_put_text(&frame, "{\"op\":0,\"t\":\"C2C_MESSAGE_CREATE\",\"d\":{\"content\":\"");
    while (frame.len < len && frame.err == SMA_ERR_OK)
        sma_buf_put_text(&frame, "0123456789abcdef0123456789abcdef");
    sma_buf_put_text(&frame, "\"}}");
    (void)ws_server_send(fake->server, link->conn, sma_buf_str(&frame), false);
    sma_buf_fini(&frame);
}

/* The connection ends without a word; the session is open for a resume at once. */
static void lose_link(struct fake_qq *fake, struct link *link, bool is_reset)
{
    if (link->session != NULL) {
        link->session->conn = 0;
        link->session->lost_ms = fake_qq_ticks_ms();
    }
    link->session = NULL;
    link->is_closing = true;
    link->close_at_ms = UINT64_MAX;
    (void)(is_reset ? ws_server_reset(fake->server, link->conn)
                    : ws_server_drop(fake->server, link->conn));
}

/* Nobody hears anybody; the platform learns it by the missing heartbeat. */
static void freeze_link(struct fake_qq *fake, struct link *link, const json_t *command)
{
    (void)ws_server_freeze(fake->server, link->conn, platform_flag(command, "on", true));
}

static void do_to_link(struct fake_qq *fake, struct link *link, const json_t *command)
{
    const char *what = platform_text(command, "do", "");
    if (strcmp(what, "reconnect") == 0)
        send_reconnect(fake, link, command);
    else if (strcmp(what, "invalid") == 0)
        send_invalid(fake, link, command);
    else if (strcmp(what, "close") == 0)
        fake_qq_close_link(fake, link, (unsigned)platform_number(command, "code", 4009),
                           platform_text(command, "reason", "on demand"));
    else if (strcmp(what, "drop") == 0 || strcmp(what, "reset") == 0)
        lose_link(fake, link, what[0] == 'r');
    else if (strcmp(what, "freeze") == 0)
        freeze_link(fake, link, command);
    else if (strcmp(what, "ask_beat") == 0)
        (void)ws_server_send(fake->server, link->conn, SMA_STR("{\"op\":1,\"d\":null}"), false);
    else if (strcmp(what, "cut") == 0)
        cut_event(fake, link, command);
    else if (strcmp(what, "garbage") == 0)
        send_garbage(fake, link, command);
    else if (strcmp(what, "oversize") == 0)
        send_oversize(fake, link, command);
    else if (link->session != NULL) /* skip */
        link->session->last_seq += platform_number(command, "count", 1);
}

/* To the newest connection that is not ending. */
static json_t *act_on_link(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    struct link *link = fake->links;
    while (link != NULL && link->is_closing)
        link = link->next;
    if (link == NULL)
        return platform_problem("nobody is connected");
    do_to_link(fake, link, command);
    return platform_done();
}

static json_t *forget_sessions(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    (void)command;
    for (struct session *session = fake->sessions; session != NULL; session = session->next)
        fake_qq_end_session(session);
    return platform_done();
}

static void listen_again(void *user, struct ws_server *server)
{
    (void)user;
    ws_server_listen(server, true);
}

static json_t *restart(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    int64_t ms = platform_number(command, "ms", 0);
    if (platform_flag(command, "forget", false))
        json_decref(forget_sessions(fake, command));
    for (struct link *link = fake->links; link != NULL; link = link->next)
        lose_link(fake, link, false);
    if (ms > 0) {
        ws_server_listen(fake->server, false);
        ws_server_after(fake->server, (unsigned)ms, listen_again, fake);
    }
    return platform_done();
}

static json_t *redeliver(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    size_t count = (size_t)platform_number(command, "count", 1), last = fake->payload_count;
    size_t first = count > last ? 0 : last - count;
    for (size_t i = first; i < last; i++)
        (void)fake_qq_push(fake, i);
    return platform_done();
}

static json_t *set_webhook(void *user, const json_t *command)
{
    struct fake_qq *fake = user;
    const char *url = platform_text(command, "url", "");
    fake->webhook_port = 0;
    fake->webhook_retry_ms = platform_number(command, "retry_ms", fake->webhook_retry_ms);
    fake->webhook_tries_max =
        (unsigned)platform_number(command, "tries", (int64_t)fake->webhook_tries_max);
    if (url[0] != '\0' && !platform_parse_url(url, &fake->webhook_port, fake->webhook_path,
                                              sizeof fake->webhook_path))
        return platform_problem("no URL of the form http://127.0.0.1:port/path");
    return platform_done();
}

json_t *fake_qq_control(struct fake_qq *fake, const json_t *command)
{
    static const struct platform_command commands[] = {
        {"chat", add_chat},
        {"membership", change_membership},
        {"say", fake_qq_say},
        {"press", press},
        {"toast", tell_toast},
        {"relate", fake_qq_relate},
        {"emit", fake_qq_emit},
        {"list", list_chat},
        {"counters", count_all},
        {"interactions", list_interactions},
        {"refusals", list_refusals},
        {"sessions", list_sessions},
        {"fault", add_fault},
        {"clear_faults", clear_faults},
        {"clock", set_clock},
        {"token_life", set_token_life},
        {"expire_token", expire_token},
        {"rights", set_rights},
        {"app", set_app},
        {"gateway", set_gateway},
        {"refuse_upgrade", refuse_upgrade},
        {"reconnect", act_on_link},
        {"invalid", act_on_link},
        {"close", act_on_link},
        {"drop", act_on_link},
        {"reset", act_on_link},
        {"freeze", act_on_link},
        {"ask_beat", act_on_link},
        {"cut", act_on_link},
        {"garbage", act_on_link},
        {"oversize", act_on_link},
        {"skip", act_on_link},
        {"forget", forget_sessions},
        {"redeliver", redeliver},
        {"restart", restart},
        {"webhook", set_webhook},
        {"load", fake_qq_start_load},
        {"latencies", fake_qq_latencies},
    };
    return platform_run(commands, SMA_COUNT_OF(commands), fake, command);
}
