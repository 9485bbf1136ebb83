/*
 * Aim: every event becomes the one INGRESS it should be, or is ignored quietly; bad input never
 * does harm.
 * Method: the recorded events, then a table of events built around one message.
 */
#include "event_support.h"

static const char TOM[] =
    "[{\"key\":\"@_user_1\",\"id\":{\"open_id\":\"ou_tom\"},\"name\":\"Tom\"}]";

static void recorded_message_is_read(void)
{
    json_t *vectors = load_vectors("feishu_ws_frames.json");
    const json_t *fields =
        json_object_get(named(json_object_get(vectors, "vectors"), "event_single"), "frame");
    struct seen seen = parse(json_string_value(json_object_get(fields, "payload_utf8")));
    CHECK_INT(FEISHU_EVENT_INGRESS, seen.kind);
    CHECK_INT(SMA_EVENT_MESSAGE, seen.event_kind);
    CHECK_TEXT("hello 你好", seen.text);
    CHECK_TEXT("feishu:chat:oc_1", seen.chat_key);
    CHECK_TEXT("oc_1", seen.chat_id);
    CHECK_TEXT("group", seen.chat_type);
    CHECK_TEXT("ou_user", seen.user_id);
    CHECK_TEXT("", seen.user_name);
    CHECK_TEXT("", seen.language);
    CHECK_TEXT("om_1", seen.key);
    CHECK_TEXT("om_1", seen.message_id);
    CHECK_TEXT("ev_1", seen.id);
    CHECK_TEXT("{\"chatType\":\"group\"}", seen.meta);
    CHECK_TEXT("", seen.preparation);
    CHECK_TEXT("", seen.context);
    CHECK_INT(SMA_ADDRESSED_MENTION, seen.addressed);
    CHECK(seen.is_group && !seen.is_callback);
    CHECK_INT(1763755000000, seen.wall_ms);
    CHECK_INT(77, seen.read_ns);
    json_decref(vectors);
}

static void recorded_card_press_is_read(void)
{
    json_t *vectors = load_vectors("feishu_ws_frames.json");
    const json_t *fields =
        json_object_get(named(json_object_get(vectors, "vectors"), "card_action"), "frame");
    struct seen seen = parse(json_string_value(json_object_get(fields, "payload_utf8")));
    CHECK_INT(SMA_EVENT_CALLBACK, seen.event_kind);
    CHECK(seen.is_callback);
    CHECK_TEXT("{\"approve\":\"1\"}", seen.text);
    CHECK_TEXT("ev_card", seen.key);
    CHECK_TEXT("c-tok", seen.callback_token);
    CHECK_TEXT("ou_user", seen.user_id);
    CHECK_TEXT("", seen.chat_type);
    CHECK_INT(SMA_ADDRESSED_REPLY, seen.addressed);
    json_decref(vectors);
}

static void recorded_sessions_are_read(void)
{
    json_t *session = load_vectors("feishu_ws_session.json");
    const char *key;
    json_t *steps;
    int ingress_count = 0;
    json_object_foreach(session, key, steps)
    {
        for (size_t i = 0; i < json_array_size(steps); i++) {
            const json_t *hex = json_object_get(json_array_get(steps, i), "hex");
            struct feishu_frame frame;
            struct seen seen;
            if (!json_is_string(hex))
                continue;
            struct sma_str bytes =
                from_hex((struct sma_str){json_string_value(hex), json_string_length(hex)});
            if (feishu_frame_decode(bytes, &frame) == SMA_ERR_OK) {
                if (feishu_frame_type(&frame) == FEISHU_FRAME_EVENT &&
                    parse_bytes(frame.payload, &seen) == SMA_ERR_OK)
                    ingress_count += seen.kind == FEISHU_EVENT_INGRESS;
                feishu_frame_fini(&frame);
            }
            free_str(bytes);
        }
    }
    CHECK(ingress_count >= 3);
    json_decref(session);
}

struct text_row
{
    const char *chat_type, *content, *mentions;
    const char *text; /* NULL = IGNORED */
    enum sma_addressed addressed;
};

static void mentions_are_resolved_and_the_bots_own_removed(void)
{
    static const char two[] =
        "[{\"key\":\"@_user_1\",\"id\":{\"open_id\":\"ou_a\"},\"name\":\"Ann\"},"
        "{\"key\":\"@_user_10\",\"id\":{\"open_id\":\"ou_b\"},\"name\":\"Bob\"}]";
    static const char both[] =
        "[{\"key\":\"@_user_1\",\"id\":{\"open_id\":\"ou_bot\"},\"name\":\"simbot\"},"
        "{\"key\":\"@_user_2\",\"id\":{\"open_id\":\"ou_a\"},\"name\":\"Ann\\nEvil\"}]";
    static const char all[] = "[{\"key\":\"@_all\",\"id\":{\"open_id\":\"\"},\"name\":\"所有人\"}]";
    static const struct text_row rows[] = {
        {"group", "{\"text\":\"@_user_1 hi\"}", BOT, "hi", SMA_ADDRESSED_MENTION},
        {"group", "{\"text\":\"a @_user_1 b\"}", BOT, "a b", SMA_ADDRESSED_MENTION},
        {"group", "{\"text\":\"a@_user_1b\"}", BOT, "ab", SMA_ADDRESSED_MENTION},
        {"group", "{\"text\":\"one\\ntwo  three @_user_1\"}", BOT, "one\ntwo  three",
         SMA_ADDRESSED_MENTION},
        /* the name alone is a question, too */
        {"group", "{\"text\":\"@_user_1\"}", BOT, "@simbot", SMA_ADDRESSED_MENTION},
        {"group", "{\"text\":\"@_user_1 @_user_1 \"}", BOT, "@simbot", SMA_ADDRESSED_MENTION},
        {"group", "{\"text\":\"@_user_1 hi\"}", TOM, "@Tom hi", SMA_ADDRESSED_NONE},
        {"group", "{\"text\":\"@_user_10 and @_user_1, @_user_1\"}", two, "@Bob and @Ann, @Ann",
         SMA_ADDRESSED_NONE},
        {"group", "{\"text\":\"@_user_12 @_user_\"}", two, "@_user_12 @_user_", SMA_ADDRESSED_NONE},
        {"group", "{\"text\":\"@_user_1 ask @_user_2\"}", both, "ask @Ann Evil",
         SMA_ADDRESSED_MENTION},
        {"group", "{\"text\":\"@_all meeting\"}", NULL, "@all meeting", SMA_ADDRESSED_NONE},
        {"group", "{\"text\":\"@_all meeting\"}", all, "@所有人 meeting", SMA_ADDRESSED_NONE},
        {"group", "{\"text\":\"mail me at a@b.c\"}", NULL, "mail me at a@b.c", SMA_ADDRESSED_NONE},
        {"group", "{\"text\":\"<at user_id=\\\"ou_bot\\\">simbot</at> go\"}", NULL, "go",
         SMA_ADDRESSED_NONE},
        {"group", "{\"text\":\"<at user_id=\\\"ou_x\\\">Xi</at> go\"}", NULL, "@Xi go",
         SMA_ADDRESSED_NONE},
        {"group", "{\"text\":\"a < b <at> <at x> </at>\"}", NULL, "a < b <at> <at x> </at>",
         SMA_ADDRESSED_NONE},
        {"topic_group", "{\"text\":\"@_user_1 hi\"}", BOT, "hi", SMA_ADDRESSED_MENTION},
        {"", "{\"text\":\"hi\"}", NULL, "hi", SMA_ADDRESSED_NONE},
        {"p2p", "{\"text\":\"  as it is \"}", NULL, "  as it is ", SMA_ADDRESSED_PRIVATE},
        {"p2p", "{\"text\":\"@_user_1 hi\"}", BOT, "hi", SMA_ADDRESSED_PRIVATE},
        {"p2p", "{\"text\":\" \\n \"}", NULL, NULL, SMA_ADDRESSED_NONE},
        {"p2p", "{\"text\":\"a\\u0000b\"}", NULL, "a",
         SMA_ADDRESSED_PRIVATE}, /* seen as a C string here */
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct seen seen =
            message(rows[i].chat_type, "text", rows[i].content, rows[i].mentions, "");
        if (rows[i].text == NULL) {
            CHECK_INT(FEISHU_EVENT_IGNORED, seen.kind);
            continue;
        }
        CHECK_INT(FEISHU_EVENT_INGRESS, seen.kind);
        CHECK_TEXT(rows[i].text, seen.text);
        CHECK_INT(rows[i].addressed, seen.addressed);
        CHECK_INT(SMA_EVENT_MESSAGE, seen.event_kind);
        CHECK(seen.is_group == (strcmp(rows[i].chat_type, "p2p") != 0));
    }
}

static void commands_are_recognised(void)
{
    static const struct
    {
        const char *chat_type, *text, *mentions;
        enum sma_control control;
    } rows[] = {
        {"p2p", "/stop", NULL, SMA_CONTROL_STOP},
        {"p2p", "/STOP now", NULL, SMA_CONTROL_STOP},
        {"p2p", "/停止", NULL, SMA_CONTROL_STOP},
        {"p2p", "/清除", NULL, SMA_CONTROL_CLEAR},
        {"p2p", "/状态", NULL, SMA_CONTROL_STATUS},
        {"p2p", "/帮助", NULL, SMA_CONTROL_HELP},
        {"p2p", "/foo", NULL, SMA_CONTROL_UNKNOWN},
        {"p2p", "/etc/passwd is what?", NULL, SMA_CONTROL_NONE},
        {"group", "@_user_1 /help", BOT, SMA_CONTROL_HELP},
        {"group", "@_user_1 /foo", BOT, SMA_CONTROL_UNKNOWN},
        {"group", "/foo", NULL, SMA_CONTROL_NONE},
        {"group", "/stop", NULL, SMA_CONTROL_STOP},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char content[128];
        snprintf(content, sizeof content, "{\"text\":\"%s\"}", rows[i].text);
        struct seen seen = message(rows[i].chat_type, "text", content, rows[i].mentions, "");
        CHECK_INT(rows[i].control, seen.control);
        CHECK_INT(rows[i].control == SMA_CONTROL_NONE ? SMA_EVENT_MESSAGE : SMA_EVENT_CONTROL,
                  seen.event_kind);
    }
}

/* Two topics of a group are two conversations; beside them the chat's key stays what it was. */
static void a_topic_is_a_conversation_of_its_own(void)
{
    struct seen seen =
        message("group", "text", "{\"text\":\"x\"}", BOT,
                ",\"root_id\":\"om_0\",\"parent_id\":\"om_0\",\"thread_id\":\"omt_1\"");
    CHECK_TEXT("omt_1", seen.thread);
    CHECK_TEXT("feishu:chat:oc_1:topic:omt_1", seen.chat_key);
    CHECK_TEXT("oc_1", seen.chat_id);
    seen = message("p2p", "text", "{\"text\":\"x\"}", NULL, ",\"thread_id\":\"omt_1\"");
    CHECK_TEXT("feishu:chat:oc_1", seen.chat_key);
    seen = message("group", "text", "{\"text\":\"x\"}", BOT, "");
    CHECK_TEXT("feishu:chat:oc_1", seen.chat_key);
}

/* What somebody points at is asked for before the run; it is not asked for chatter. */
static void what_a_message_answers_is_looked_up(void)
{
    static const struct
    {
        const char *mentions, *more, *preparation;
    } rows[] = {
        {BOT, ",\"root_id\":\"om_0\",\"parent_id\":\"om_0\"",
         "[{\"kind\":\"quoted message\",\"message_id\":\"om_0\"}]"},
        {BOT, ",\"root_id\":\"om_0\",\"parent_id\":\"om_2\",\"thread_id\":\"omt_1\"",
         "[{\"kind\":\"quoted message\",\"message_id\":\"om_2\"}]"},
        {BOT, ",\"root_id\":\"om_0\",\"parent_id\":\"om_0\",\"thread_id\":\"omt_1\"",
         "[{\"kind\":\"quoted message\",\"message_id\":\"om_0\",\"is_first\":true}]"},
        {NULL, ",\"root_id\":\"om_0\",\"parent_id\":\"om_0\"", ""},
        {BOT, ",\"parent_id\":\"../x\"", ""},
        {BOT, "", ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct seen seen =
            message("group", "text", "{\"text\":\"@_user_1 x\"}", rows[i].mentions, rows[i].more);
        CHECK_TEXT(rows[i].preparation, seen.preparation);
        CHECK_TEXT("x", rows[i].mentions != NULL ? seen.text : "x");
        /* its own words are all there: "yes" to a card counts at once */
        CHECK_INT(rows[i].preparation[0] != '\0', seen.is_whole);
    }
    struct seen seen =
        message("p2p", "image", "{\"image_key\":\"img_1\"}", NULL, ",\"parent_id\":\"om_0\"");
    CHECK(!seen.is_whole && strstr(seen.preparation, "om_0") != NULL);
    seen = message("p2p", "merge_forward", "{\"x\":\"Merged\"}", NULL, "");
    CHECK_TEXT("[{\"kind\":\"forwarded messages\",\"message_id\":\"om_1\"}]", seen.preparation);
    CHECK_TEXT("[forwarded messages]", seen.text);
}

static struct sma_str only_ann(void *user, struct sma_str open_id)
{
    (void)user;
    if (sma_str_is_equal(open_id, SMA_STR("ou_nobody")))
        return SMA_STR("");
    return sma_str_is_equal(open_id, SMA_STR("ou_ann")) ? SMA_STR("Ann") : (struct sma_str){0};
}

static struct seen say_with_names(const char *open_id, bool may_ask, bool is_mentioned)
{
    char body[1024];
    struct seen seen = {0};
    struct sma_error error = {0};
    struct feishu_event_options options = {.bot_open_id = SMA_STR("ou_bot"),
                                           .adapter = 9,
                                           .now_wall_ms = NOW_MS,
                                           .find_name = only_ann,
                                           .may_ask_names = may_ask};
    snprintf(body, sizeof body,
             "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"e\",\"event_type\":"
             "\"im.message.receive_v1\"},\"event\":{\"sender\":{\"sender_id\":{\"open_id\":\"%s\"},"
             "\"sender_type\":\"user\"},\"message\":{\"message_id\":\"om_1\",\"chat_id\":\"oc_1\","
             "\"chat_type\":\"group\",\"message_type\":\"text\",\"content\":\"{\\\"text\\\":"
             "\\\"hi\\\"}\"%s%s}}}",
             open_id, is_mentioned ? ",\"mentions\":" : "", is_mentioned ? BOT : "");
    CHECK_OK(feishu_event_parse(&options, sma_str(body), see, &seen, &error));
    return seen;
}

static void names_are_known_or_asked_for(void)
{
    struct seen seen = say_with_names("ou_ann", true, true);
    CHECK_TEXT("Ann", seen.user_name);
    CHECK_TEXT("{\"chatType\":\"group\",\"name\":\"Ann\"}", seen.meta);
    CHECK_TEXT("", seen.preparation);
    seen = say_with_names("ou_bob", true, true);
    CHECK_TEXT("", seen.user_name);
    CHECK_TEXT("[{\"kind\":\"name of its author\",\"user_id\":\"ou_bob\"}]", seen.preparation);
    seen = say_with_names("ou_bob", false, true); /* the app may not see names */
    CHECK_TEXT("", seen.preparation);
    seen = say_with_names("ou_bob", true, false); /* chatter */
    CHECK_TEXT("", seen.preparation);
    seen = say_with_names("ou_nobody", true, true); /* known to have none */
    CHECK_TEXT("", seen.user_name);
    CHECK_TEXT("", seen.preparation);
}

static void other_types_come_in_words(void)
{
    static const struct
    {
        const char *type, *content, *text; /* NULL = IGNORED */
        enum sma_event_kind kind;
    } rows[] = {
        /* said to us alone, so it is answered */
        {"sticker", "{\"file_key\":\"f\"}", "[sticker]", SMA_EVENT_MESSAGE},
        {"location", "{\"name\":\"Here\",\"longitude\":\"1.5\",\"latitude\":\"2.5\"}",
         "[location: Here] latitude 2.5, longitude 1.5", SMA_EVENT_MESSAGE},
        {"share_chat", "{\"chat_id\":\"oc_9\"}", "[shared chat: oc_9]", SMA_EVENT_MESSAGE},
        {"share_user", "{\"user_id\":\"ou_9\"}", "[shared contact: ou_9]", SMA_EVENT_MESSAGE},
        {"folder", "{\"file_key\":\"f\",\"file_name\":\"d\"}",
         "[folder, which cannot be fetched: d]", SMA_EVENT_MESSAGE},
        {"merge_forward", "{\"x\":\"Merged\"}", "[forwarded messages]", SMA_EVENT_MESSAGE},
        {"vote", "{\"topic\":\"Lunch?\",\"options\":[\"a\"]}", "[vote: Lunch?; options: a]",
         SMA_EVENT_MESSAGE},
        {"hongbao", "{}", "[a message of type hongbao that could not be read]", SMA_EVENT_MESSAGE},
        {"never_heard_of", "{\"a\":[]}",
         "[a message of type never_heard_of that could not be read]", SMA_EVENT_MESSAGE},
        {"merge_forward", "Merged and Forwarded Message", "[forwarded messages]",
         SMA_EVENT_MESSAGE},
        {"todo",
         "{\"task_id\":\"t\",\"summary\":{\"title\":\"Buy milk\",\"content\":[[{\"tag\":\"text\","
         "\"text\":\"two litres\"}]]},\"due_time\":\"0\"}",
         "[todo: Buy milk; two litres; due_time: 0]", SMA_EVENT_MESSAGE},
        {"share_calendar_event",
         "{\"summary\":\"Review\",\"start_time\":1700000000000,\"event_id\":\"e\"}",
         "[share_calendar_event: Review; start_time: 2023-11-14T22:13:20.000Z]", SMA_EVENT_MESSAGE},
        {"video_chat", "", "[a message of type video_chat that could not be read]",
         SMA_EVENT_MESSAGE},
        {"image", "[photo]", "[a message of type image that could not be read]", SMA_EVENT_MESSAGE},
        {"", "{}", "[a message of type unknown that could not be read]", SMA_EVENT_MESSAGE},
        {"system", "{\"template\":\"{from_user} joined\"}", NULL, SMA_EVENT_NOTE},
        {"text", "[]", "[a message of type text that could not be read]", SMA_EVENT_MESSAGE},
        {"text", "no json", "[a message of type text that could not be read: no json]",
         SMA_EVENT_MESSAGE},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct seen seen = message("p2p", rows[i].type, rows[i].content, NULL, "");
        CHECK_INT(rows[i].text == NULL ? FEISHU_EVENT_IGNORED : FEISHU_EVENT_INGRESS, seen.kind);
        if (rows[i].text == NULL)
            continue;
        CHECK_TEXT(rows[i].text, seen.text);
        CHECK_INT(rows[i].kind, seen.event_kind);
        CHECK_TEXT("om_1", seen.key);
    }
}

/* Whatever its content turns out to be: a message to us is answered, with something to go by. */
static void no_content_makes_a_message_nobodys(void)
{
    static const char *const rows[][2] = {{"text", "{\"text\":5}"},
                                          {"text", "{\"text\":{\"a\":\"hi\"}}"},
                                          {"text", "5"},
                                          {"text", "null"},
                                          {"text", "{}"},
                                          {"post", "{\"content\":[[5]]}"},
                                          {"post", "{\"zh_cn\":null}"},
                                          {"post", "[]"},
                                          {"post", "{\"title\":\"T\"}"},
                                          {"post", "{\"content\":\"x\"}"},
                                          {"interactive", "[]"},
                                          {"interactive", "{\"elements\":5}"},
                                          {"interactive", "{\"header\":\"x\"}"},
                                          {"interactive", "\"words\""},
                                          {"image", "{}"},
                                          {"file", "{}"},
                                          {"audio", "[]"},
                                          {"media", "{\"file_key\":5}"},
                                          {"sticker", "x"},
                                          {"location", "{\"name\":5}"},
                                          {"share_chat", "{}"},
                                          {"share_user", "5"},
                                          {"merge_forward", "{}"},
                                          {"merge_forward", ""},
                                          {"todo", "[]"},
                                          {"vote", "{\"topic\":5}"},
                                          {"share_calendar_event", "x"},
                                          {"calendar", "{}"},
                                          {"video_chat", "{\"topic\":{\"a\":1}}"},
                                          {"hologram", "{\"text\":\"inner words\"}"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct seen seen = message("p2p", rows[i][0], rows[i][1], NULL, "");
        if (seen.kind != FEISHU_EVENT_INGRESS || seen.text[0] == '\0')
            fprintf(stderr, "%s %s: %s\n", rows[i][0], rows[i][1], seen.why);
        CHECK_INT(FEISHU_EVENT_INGRESS, seen.kind);
        CHECK(seen.text[0] != '\0' || seen.preparation[0] != '\0');
    }
}

static const char *with(const char *header, const char *event)
{
    static char body[4096];
    snprintf(body, sizeof body, "{\"schema\":\"2.0\",\"header\":%s,\"event\":%s}", header, event);
    return body;
}

#define MESSAGE_HEADER "{\"event_id\":\"e\",\"event_type\":\"im.message.receive_v1\"}"
#define MESSAGE_OF(sender)                                                                \
    "{\"sender\":" sender                                                                 \
    ",\"message\":{\"message_id\":\"om_1\",\"chat_id\":\"oc_1\",\"chat_type\":\"group\"," \
    "\"message_type\":\"text\",\"content\":\"{\\\"text\\\":\\\"hi\\\"}\"}}"

static void senders_are_known_by_the_first_id_present(void)
{
    static const struct
    {
        const char *event, *user; /* NULL = IGNORED */
    } rows[] = {
        {MESSAGE_OF("{\"sender_id\":{\"user_id\":\"u\",\"open_id\":\"o\",\"union_id\":\"n\"}}"),
         "o"},
        {MESSAGE_OF("{\"sender_id\":{\"user_id\":\"u\",\"union_id\":\"n\"}}"), "u"},
        {MESSAGE_OF("{\"sender_id\":{\"user_id\":\"\",\"open_id\":\"o\",\"union_id\":\"n\"}}"),
         "o"},
        {MESSAGE_OF(
             "{\"sender_id\":{\"user_id\":null,\"union_id\":\"n\"},\"sender_type\":\"user\"}"),
         "n"},
        {MESSAGE_OF("{\"sender_id\":{}}"), NULL},
        {MESSAGE_OF("{}"), NULL},
        {MESSAGE_OF("5"), NULL},
        {MESSAGE_OF("{\"sender_id\":{\"open_id\":\"o\"},\"sender_type\":\"app\"}"), NULL},
        {MESSAGE_OF("{\"sender_id\":{\"open_id\":\"o\"},\"sender_type\":\"bot\"}"), NULL},
        {MESSAGE_OF("{\"sender_id\":{\"open_id\":\"ou_bot\"},\"sender_type\":\"user\"}"), NULL},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct seen seen = parse(with(MESSAGE_HEADER, rows[i].event));
        CHECK_INT(rows[i].user == NULL ? FEISHU_EVENT_IGNORED : FEISHU_EVENT_INGRESS, seen.kind);
        if (rows[i].user != NULL) {
            CHECK_TEXT(rows[i].user, seen.user_id);
            CHECK_INT(NOW_MS, seen.wall_ms); /* no time given: now */
        }
    }
}

/* user_id comes and goes with a right of the app; older projects know people by it. */
static void user_id_is_another_name_of_the_same_person(void)
{
    static const struct
    {
        const char *sender, *alias;
    } rows[] = {
        {"{\"sender_id\":{\"user_id\":\"u\",\"open_id\":\"o\"},\"tenant_key\":\"t\"}", "u"},
        {"{\"sender_id\":{\"user_id\":\"u\",\"open_id\":\"o\"}}", "u"},
        {"{\"sender_id\":{\"user_id\":\"u\",\"open_id\":\"o\"},\"tenant_key\":\"other\"}", ""},
        {"{\"sender_id\":{\"user_id\":\"\",\"open_id\":\"o\"},\"tenant_key\":\"t\"}", ""},
        {"{\"sender_id\":{\"user_id\":\"u\"},\"tenant_key\":\"t\"}", ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char event[512];
        snprintf(event, sizeof event,
                 "{\"sender\":%s,\"message\":{\"message_id\":\"om_1\",\"chat_id\":\"oc_1\",\"chat_"
                 "type\":"
                 "\"p2p\",\"message_type\":\"text\",\"content\":\"{\\\"text\\\":\\\"hi\\\"}\"}}",
                 rows[i].sender);
        struct seen seen = parse(with(
            "{\"event_id\":\"e\",\"event_type\":\"im.message.receive_v1\",\"tenant_key\":\"t\"}",
            event));
        CHECK_TEXT(rows[i].alias, seen.user_alias);
    }
}

static void callbacks_carry_what_was_pressed(void)
{
    static const char header[] = "{\"event_id\":\"ev_9\",\"event_type\":\"card.action.trigger\","
                                 "\"create_time\":\"1763755000123456\"}";
    static const struct
    {
        const char *action, *text, *context;
    } rows[] = {
        {"{\"value\":{\"k\":\"v\",\"n\":[1,2]},\"tag\":\"button\"}", "{\"k\":\"v\",\"n\":[1,2]}",
         ""},
        {"{\"value\":\"approve:7\"}", "approve:7", ""},
        {"{\"value\":{},\"option\":\"b\",\"name\":\"pick\"}",
         "{\"name\":\"pick\",\"option\":\"b\"}", "option of the card: \"b\""},
        {"{\"input_value\":\"typed\"}", "{\"input_value\":\"typed\"}", ""},
        {"{\"value\":{\"k\":1},\"form_value\":{\"a\":\"b\"}}", "{\"k\":1}",
         "form_value of the card: {\"a\":\"b\"}"},
        {"{}", "{}", ""},
        {"5", "{}", ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char event[1024];
        snprintf(event, sizeof event,
                 "{\"operator\":{\"open_id\":\"ou_user\"},\"token\":\"c-1\",\"action\":%s,"
                 "\"context\":{\"open_message_id\":\"om_7\",\"open_chat_id\":\"oc_7\"}}",
                 rows[i].action);
        struct seen seen = parse(with(header, event));
        CHECK_INT(FEISHU_EVENT_INGRESS, seen.kind);
        CHECK_TEXT(rows[i].text, seen.text);
        CHECK_TEXT(rows[i].context, seen.context);
        CHECK_TEXT("ev_9", seen.key);
        CHECK_TEXT("om_7", seen.message_id);
        CHECK_TEXT("feishu:chat:oc_7", seen.chat_key);
        CHECK_TEXT("ou_user", seen.user_id);
        CHECK_INT(1763755000123, seen.wall_ms);
    }
    struct seen seen = parse(with(header, "{\"token\":\"c-1\",\"action\":{}}"));
    CHECK_INT(FEISHU_EVENT_IGNORED, seen.kind); /* no chat to answer in */
    CHECK(seen.is_callback);
    json_t *vectors = load_vectors("feishu_webhook_crypto.json");
    const json_t *legacy = json_object_get(vectors, "legacy_card_signature");
    const json_t *card = json_is_array(legacy) ? json_array_get(legacy, 0) : legacy;
    seen = parse(json_string_value(json_object_get(card, "raw_body")));
    CHECK_INT(SMA_EVENT_CALLBACK, seen.event_kind);
    CHECK_TEXT("{\"a\":\"1\"}", seen.text);
    CHECK_TEXT("c-tok", seen.key);
    CHECK_TEXT("oc_1", seen.chat_id);
    CHECK_TEXT("om_card", seen.message_id);
    json_decref(vectors);
}

static void comings_and_goings_are_noted(void)
{
    static const struct
    {
        const char *body, *text; /* NULL = IGNORED */
        int64_t joined_ms;       /* 0: it has not come into a group */
    } rows[] = {
        {"{\"schema\":\"2.0\",\"header\":{\"event_id\":\"e\",\"create_time\":\"1763755000123\","
         "\"event_type\":\"im.chat.member.bot.added_v1\"},"
         "\"event\":{\"chat_id\":\"oc_1\",\"operator_id\":{\"open_id\":\"o\"},\"name\":\"Team\\n]"
         "\"}}",
         "[the bot was added to the group: Team ]]", 1763755000123},
        {"{\"schema\":\"2.0\",\"header\":{\"event_id\":\"e\",\"create_time\":\"1763755000123\","
         "\"event_type\":\"im.chat.member.bot.deleted_v1\"},"
         "\"event\":{\"chat_id\":\"oc_1\"}}",
         "[the bot was removed from the group]", 0},
        {"{\"schema\":\"2.0\",\"header\":{\"event_id\":\"e\","
         "\"event_type\":\"im.chat.access_event.bot_p2p_chat_entered_v1\"},\"event\":{\"chat_id\":"
         "\"oc_1\"}}",
         "[the user opened the chat for the first time]", 0},
        {"{\"schema\":\"2.0\",\"header\":{\"event_id\":\"e\","
         "\"event_type\":\"im.chat.access_event.bot_p2p_chat_entered_v1\"},"
         "\"event\":{\"chat_id\":\"oc_1\",\"last_message_id\":\"om_5\"}}",
         NULL, 0},
        {"{\"schema\":\"2.0\",\"header\":{\"event_id\":\"\",\"event_type\":\"im.chat.member.bot."
         "added_v1\"},"
         "\"event\":{\"chat_id\":\"oc_1\"}}",
         NULL, 0},
        {"{\"uuid\":\"e\",\"ts\":\"1763755000.5\",\"type\":\"event_callback\",\"event\":{"
         "\"type\":\"add_bot\",\"open_chat_id\":\"oc_1\",\"chat_name\":\"Team\"}}",
         "[the bot was added to the group: Team]", 1763755000000},
        {"{\"uuid\":\"e\",\"ts\":\"1763755000.5\",\"type\":\"event_callback\",\"event\":{\"type\":"
         "\"remove_bot\",\"open_"
         "chat_id\":\"oc_1\"}}",
         "[the bot was removed from the group]", 0},
        {"{\"uuid\":\"e\",\"event\":{\"type\":\"p2p_chat_create\",\"chat_id\":\"oc_1\"}}",
         "[the user opened the chat for the first time]", 0},
        {"{\"schema\":\"2.0\",\"header\":{\"event_id\":\"e\",\"event_type\":\"brand.new_v9\"},"
         "\"event\":{}}",
         NULL, 0},
        {"{\"uuid\":\"e\",\"event\":{\"type\":\"brand_new\"}}", NULL, 0},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct seen seen = parse(rows[i].body);
        CHECK_INT(rows[i].text == NULL ? FEISHU_EVENT_IGNORED : FEISHU_EVENT_INGRESS, seen.kind);
        if (rows[i].text == NULL)
            continue;
        CHECK_INT(SMA_EVENT_NOTE, seen.event_kind);
        CHECK_TEXT(rows[i].text, seen.text);
        CHECK_INT(rows[i].joined_ms, seen.joined_ms);
        CHECK_TEXT("e", seen.key);
        CHECK_TEXT("feishu:chat:oc_1", seen.chat_key);
    }
}

/* The bot's first words are a greeting, or the way in: as after /start. */
static void who_opens_the_chat_for_the_first_time_is_greeted(void)
{
    static const char *const rows[] = {
        "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"e\",\"event_type\":\"im.chat.access_event."
        "bot_p2p_chat_entered_v1\"},\"event\":{\"chat_id\":\"oc_1\",\"operator_id\":{\"open_id\":"
        "\"ou_user\"}}}",
        "{\"uuid\":\"e\",\"event\":{\"type\":\"p2p_chat_create\",\"chat_id\":\"oc_1\",\"operator\":"
        "{"
        "\"open_id\":\"ou_user\"}}}"};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct seen seen = parse(rows[i]);
        CHECK_INT(SMA_EVENT_CONTROL, seen.event_kind);
        CHECK_INT(SMA_CONTROL_START, seen.control);
        CHECK_INT(SMA_ADDRESSED_PRIVATE, seen.addressed);
        CHECK_TEXT("ou_user", seen.user_id);
    }
}

static void old_messages_are_read(void)
{
    struct seen seen = parse("{\"uuid\":\"u-1\",\"token\":\"t\",\"ts\":\"1.2\",\"type\":\"event_"
                             "callback\",\"event\":{\"type\":\"message\","
                             "\"open_chat_id\":\"oc_1\",\"chat_type\":\"group\",\"msg_type\":"
                             "\"text\",\"open_id\":\"ou_user\","
                             "\"open_message_id\":\"om_1\",\"is_mention\":true,\"text\":\"<at "
                             "open_id=\\\"ou_bot\\\">@simbot</at> hi\","
                             "\"text_without_at_bot\":\" hi\"}}");
    CHECK_TEXT("hi", seen.text);
    CHECK_TEXT("om_1", seen.key);
    CHECK_TEXT("u-1", seen.id);
    CHECK_TEXT("ou_user", seen.user_id);
    CHECK_INT(SMA_ADDRESSED_MENTION, seen.addressed);
    seen = parse("{\"uuid\":\"u-1\",\"event\":{\"type\":\"message\",\"open_chat_id\":\"oc_1\","
                 "\"chat_type\":\"private\","
                 "\"msg_type\":\"image\",\"employee_id\":\"e7\",\"open_message_id\":\"om_1\","
                 "\"image_key\":\"img_1\"}}");
    CHECK_TEXT("p2p", seen.chat_type);
    CHECK_TEXT("e7", seen.user_id);
    CHECK_INT(SMA_ADDRESSED_PRIVATE, seen.addressed);
    CHECK(strstr(seen.preparation, "img_1") != NULL);
}

static void what_is_no_event_is_refused(void)
{
    static const char *const bad[] = {
        "",
        "x",
        "[]",
        "{}",
        "null",
        "5",
        "\"\"",
        "{\"schema\":\"2.0\"}",
        "{\"schema\":\"2.0\",\"header\":{},\"event\":{}}",
        "{\"schema\":\"2.0\",\"header\":{\"event_type\":5},\"event\":{}}",
        "{\"schema\":\"2.0\",\"header\":{\"event_type\":\"im.message.receive_v1\"},\"event\":[]}",
        "{\"schema\":\"2.0\",\"header\":[],\"event\":{}}",
        "{\"event\":{}}",
        "{\"event\":{\"type\":[]}}",
        "{\"a\":1}x",
    };
    struct seen seen;
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, parse_bytes(sma_str(bad[i]), &seen));
    static const char *const ignored[] = {
        "{}",
        "{\"message\":5}",
        "{\"message\":{\"message_id\":5}}",
        "{\"message\":{\"message_id\":\"a/../b\"}}",
        "{\"message\":{\"message_id\":\"om_1\",\"chat_id\":{}}}",
        "{\"message\":{\"message_id\":\"om_1\",\"chat_id\":\"o c\"}}",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(ignored); i++)
        CHECK_INT(FEISHU_EVENT_IGNORED, parse(with(MESSAGE_HEADER, ignored[i])).kind);
    seen = parse(with(MESSAGE_HEADER,
                      "{\"message\":{\"message_id\":\"om_1\",\"chat_id\":\"oc_1\",\"chat_type\":"
                      "\"p2p\",\"message_type\":\"text\",\"content\":{\"text\":\"x\"}}}"));
    CHECK_TEXT("x", seen.text);
}

static void depth_is_bounded(void)
{
    static char body[400000];
    struct seen seen;
    for (int depth = SMA_JSON_DEPTH_MAX - 1; depth <= SMA_JSON_DEPTH_MAX + 1; depth++) {
        size_t len = (size_t)snprintf(body, sizeof body,
                                      "{\"uuid\":\"e\",\"event\":{\"type\":\"brand_new\",\"x\":");
        for (int i = 2; i < depth; i++)
            body[len++] = '[';
        for (int i = 2; i < depth; i++)
            body[len++] = ']';
        len += (size_t)snprintf(body + len, sizeof body - len, "}}");
        CHECK_ERR(depth <= SMA_JSON_DEPTH_MAX ? SMA_ERR_OK : SMA_ERR_BADINPUT,
                  parse_bytes((struct sma_str){body, len}, &seen));
    }
    memset(body, '[', sizeof body);
    CHECK_ERR(SMA_ERR_BADINPUT, parse_bytes((struct sma_str){body, sizeof body}, &seen));
}

static void bytes_that_are_not_utf8_are_replaced(void)
{
    struct seen seen;
    char body[4096];
    snprintf(body, sizeof body, "%s",
             with(MESSAGE_HEADER, MESSAGE_OF("{\"sender_id\":{\"open_id\":\"o\"}}")));
    char *hi = strstr(body, "hi");
    CHECK(hi != NULL);
    hi[0] = (char)0xff;
    CHECK_OK(parse_bytes(sma_str(body), &seen));
    CHECK_TEXT("\xef\xbf\xbdi", seen.text);
}

/* A text message around a text of `len` letters. */
static enum sma_err parse_long(size_t len, struct seen *seen)
{
    static const char head[] =
        "{\"uuid\":\"e\",\"event\":{\"type\":\"message\",\"open_chat_id\":\"oc_1\",\"chat_type\":"
        "\"private\",\"msg_type\":\"text\",\"open_id\":\"o\",\"open_message_id\":\"om_1\",\"text\":"
        "\"";
    char *body = malloc(sizeof head + len + 8);
    CHECK(body != NULL);
    memcpy(body, head, sizeof head - 1);
    memset(body + sizeof head - 1, 'a', len);
    memcpy(body + sizeof head - 1 + len, "\"}}", 3);
    enum sma_err err = parse_bytes((struct sma_str){body, sizeof head - 1 + len + 3}, seen);
    free(body);
    return err;
}

static void texts_have_a_limit(void)
{
    struct seen seen;
    for (size_t len = SMA_TEXT_BYTES_MAX - 1; len <= SMA_TEXT_BYTES_MAX + 1; len++) {
        CHECK_OK(parse_long(len, &seen));
        CHECK_INT(len <= SMA_TEXT_BYTES_MAX ? FEISHU_EVENT_INGRESS : FEISHU_EVENT_IGNORED,
                  seen.kind);
        CHECK_INT(len <= SMA_TEXT_BYTES_MAX ? len : 0, seen.text_len);
    }
    CHECK_ERR(SMA_ERR_TOOBIG, parse_long(FEISHU_EVENT_BYTES_MAX, &seen));
}

static void ids_have_a_limit(void)
{
    for (size_t len = SMA_ID_BYTES_MAX - 1; len <= SMA_ID_BYTES_MAX + 1; len++) {
        char id[SMA_ID_BYTES_MAX + 2], event[2048];
        memset(id, 'i', sizeof id);
        id[len] = '\0';
        snprintf(event, sizeof event,
                 "{\"sender\":{\"sender_id\":{\"open_id\":\"o\"}},\"message\":{\"message_id\":\"%"
                 "s\",\"chat_id\":\"oc_1\","
                 "\"chat_type\":\"p2p\",\"message_type\":\"text\",\"content\":\"{\\\"text\\\":"
                 "\\\"hi\\\"}\"}}",
                 id);
        CHECK_INT(len <= SMA_ID_BYTES_MAX ? FEISHU_EVENT_INGRESS : FEISHU_EVENT_IGNORED,
                  parse(with(MESSAGE_HEADER, event)).kind);
    }
}

static void times_are_believed_within_reason(void)
{
    static const struct
    {
        const char *time;
        int64_t wanted;
    } rows[] = {{"\"1763755000123\"", 1763755000123},
                {"1763755000123", 1763755000123},
                {"\"1763755000\"", 1763755000000},
                {"\"1763755000123456\"", 1763755000123},
                {"\"9999999999999\"", NOW_MS},
                {"\"x\"", NOW_MS},
                {"\"-5\"", NOW_MS},
                {"null", NOW_MS},
                {"[]", NOW_MS}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char event[1024];
        snprintf(event, sizeof event,
                 "{\"sender\":{\"sender_id\":{\"open_id\":\"o\"}},\"message\":{\"message_id\":\"om_"
                 "1\",\"chat_id\":\"oc_1\","
                 "\"chat_type\":\"p2p\",\"message_type\":\"text\",\"content\":\"{\\\"text\\\":"
                 "\\\"hi\\\"}\","
                 "\"create_time\":%s}}",
                 rows[i].time);
        CHECK_INT(rows[i].wanted, parse(with(MESSAGE_HEADER, event)).wall_ms);
    }
}

/* A client cut an emoji in two: the platform hands its half on, and repeats what is refused. */
static void half_an_emoji_costs_itself(void)
{
    struct seen seen = message("p2p", "text", "{\"text\":\"half \\ud83d of it\"}", NULL, "");
    CHECK_TEXT("half \xEF\xBF\xBD of it", seen.text);
}

static void a_recalled_message_is_named(void)
{
    static const char form[] = "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"e\",\"event_type\":"
                               "\"im.message.recalled_v1\"},\"event\":{\"chat_id\":\"oc_1\","
                               "\"message_id\":\"%s\",\"recall_time\":\"1745286000000\","
                               "\"recall_type\":\"group_owner\"}}";
    char body[512];
    snprintf(body, sizeof body, form, "om_1");
    struct seen seen = parse(body);
    CHECK_INT(FEISHU_EVENT_INGRESS, seen.kind);
    CHECK_INT(SMA_EVENT_NOTE, seen.event_kind);
    CHECK_INT(SMA_CHANGE_RECALL, seen.change);
    CHECK_TEXT("om_1", seen.target_id);
    CHECK_TEXT("e", seen.key);
    CHECK_TEXT("feishu:chat:oc_1", seen.chat_key);
    CHECK_TEXT("", seen.user_id);
    snprintf(body, sizeof body, form, "");
    CHECK_INT(FEISHU_EVENT_IGNORED, parse(body).kind);
}

int main(void)
{
    RUN(recorded_message_is_read);
    RUN(recorded_card_press_is_read);
    RUN(recorded_sessions_are_read);
    RUN(mentions_are_resolved_and_the_bots_own_removed);
    RUN(commands_are_recognised);
    RUN(a_topic_is_a_conversation_of_its_own);
    RUN(what_a_message_answers_is_looked_up);
    RUN(names_are_known_or_asked_for);
    RUN(user_id_is_another_name_of_the_same_person);
    RUN(other_types_come_in_words);
    RUN(no_content_makes_a_message_nobodys);
    RUN(senders_are_known_by_the_first_id_present);
    RUN(callbacks_carry_what_was_pressed);
    RUN(comings_and_goings_are_noted);
    RUN(who_opens_the_chat_for_the_first_time_is_greeted);
    RUN(old_messages_are_read);
    RUN(what_is_no_event_is_refused);
    RUN(depth_is_bounded);
    RUN(bytes_that_are_not_utf8_are_replaced);
    RUN(texts_have_a_limit);
    RUN(ids_have_a_limit);
    RUN(times_are_believed_within_reason);
    RUN(half_an_emoji_costs_itself);
    RUN(a_recalled_message_is_named);
    return check_summary();
}
