/* Events: golden dumps of the recorded and of hand-made payloads; preparations; what is nasty. */
#include "adapters/qq/qq_event.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"
#include "support/check.h"

#define NOW_MS INT64_C(1795300000000)
#define OUT_BYTES_MAX (1024 * 1024)

static const struct qq_event_options options = {
    .bot_id = {"111", 3}, .adapter = 17, .now_wall_ms = NOW_MS, .read_ns = 4711};

/* -- golden ------------------------------------------------------------------------------------ */
struct dump
{
    struct sma_buf *out;
    const char *name;
    size_t count;
};

static void put_line(struct sma_buf *out, const char *name, struct sma_str value)
{
    if (value.len == 0)
        return;
    sma_buf_printf(out, "  %-12s ", name);
    if (value.len > 1200) {
        sma_buf_printf(out, "%zu bytes\n", value.len);
        return;
    }
    sma_buf_put_json_string(out, value);
    sma_buf_put_char(out, '\n');
}

static bool is_in(struct sma_str text, struct sma_str part)
{
    return text.len > 0 && memmem(text.ptr, text.len, part.ptr, part.len) != NULL;
}

static void check_preparation(const struct sma_ingress *in)
{
    struct sma_file_list list;
    if (in->preparation.len == 0)
        return;
    CHECK_OK(sma_file_list_parse(in->preparation, &qq_file_shape, &list));
    CHECK(list.count > 0 && list.count <= SMA_ATTACHMENT_COUNT_MAX);
    for (size_t i = 0; i < list.count; i++)
        CHECK(is_in(in->text, list.items[i].path) || is_in(in->context, list.items[i].path));
    sma_file_list_fini(&list);
}

static void dump_event(void *user, const struct qq_event *event)
{
    static const char *const kinds[] = {"message", "control", "callback", "note"};
    static const char *const ways[] = {"private", "mention", "reply", "none"};
    static const char *const roles[] = {"unknown", "member", "admin"};
    struct dump *dump = user;
    struct sma_buf *out = dump->out;
    const struct sma_ingress *in = &event->ingress;
    dump->count++;
    CHECK((event->why[0] != '\0') == (event->kind == QQ_EVENT_IGNORED));
    sma_buf_printf(out, "%s: %s%s\n", dump->name,
                   event->kind == QQ_EVENT_INGRESS ? kinds[in->kind] : "ignored, ", event->why);
    put_line(out, "interaction", event->interaction_id);
    if (event->kind == QQ_EVENT_IGNORED)
        return;
    CHECK(in->route.adapter == 17 && in->stamps.read_ns == 4711);
    CHECK_STR("qq", in->route.channel);
    CHECK(in->cursor_name.len == 0);
    sma_buf_printf(out, "  addressed    %s, control %u, group %d, role %s, wall %" PRId64 "\n",
                   ways[in->addressed], in->control, in->is_group, roles[in->role], in->wall_ms);
    put_line(out, "chat key", in->route.chat_key);
    put_line(out, "chat", in->route.chat_id);
    put_line(out, "chat type", in->route.chat_type);
    put_line(out, "event key", in->event_key);
    put_line(out, "message", in->route.message_id);
    put_line(out, "user", in->route.user_id);
    put_line(out, "user name", in->route.user_name);
    put_line(out, "text", in->text);
    put_line(out, "context", in->context);
    put_line(out, "meta", in->meta_json);
    put_line(out, "preparation", in->preparation);
    if (in->has_joined)
        sma_buf_printf(out, "  %-12s %" PRId64 "\n", "joined", in->sent_ms);
    check_preparation(in);
}

static void put_payload(struct sma_buf *out, const char *name, const json_t *payload)
{
    struct sma_buf bytes;
    struct qq_frame frame;
    struct dump dump = {.out = out, .name = name};
    sma_buf_init(&bytes, OUT_BYTES_MAX);
    sma_json_put(&bytes, payload);
    CHECK_OK(bytes.err);
    CHECK_OK(qq_frame_parse(sma_buf_str(&bytes), &frame));
    CHECK_OK(qq_event_parse(&options, &frame, dump_event, &dump));
    CHECK_INT(1, dump.count);
    qq_frame_fini(&frame);
    sma_buf_fini(&bytes);
}

static json_t *load(const char *name)
{
    char path[1024];
    json_error_t problem;
    snprintf(path, sizeof path, "%s/tests/vectors/qq/%s", SMA_SOURCE_DIR, name);
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, &problem);
    if (root == NULL)
        fprintf(stderr, "%s: %s\n", path, problem.text);
    CHECK(root != NULL);
    return root;
}

/* Every dispatch that the recorded sessions pushed over the gateway. */
static void put_recorded(struct sma_buf *out)
{
    json_t *sessions = load("qq_sessions.json");
    const char *session;
    json_t *steps;
    json_object_foreach(sessions, session, steps)
    {
        for (size_t i = 0; i < json_array_size(steps); i++) {
            const json_t *payload = sma_json_get(json_array_get(steps, i), "json");
            struct sma_str type = sma_json_str(payload, "t");
            char name[128];
            if (type.len == 0)
                continue;
            snprintf(name, sizeof name, "%s: step %zu, %.*s", session, i, (int)type.len, type.ptr);
            put_payload(out, name, payload);
        }
    }
    json_decref(sessions);
}

static void put_handmade(struct sma_buf *out)
{
    json_t *events = load("qq_events_handmade.json");
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        put_payload(out, json_string_value(json_object_get(event, "name")),
                    json_object_get(event, "payload"));
    }
    json_decref(events);
}

static void read_file(const char *path, struct sma_buf *buf)
{
    FILE *file = fopen(path, "rbe");
    char *to = sma_buf_reserve(buf, OUT_BYTES_MAX);
    CHECK(to != NULL);
    if (file == NULL)
        return;
    buf->len = fread(to, 1, OUT_BYTES_MAX, file);
    fclose(file);
}

static void events_are_as_written_down(void)
{
    struct sma_buf actual, wanted;
    sma_buf_init(&actual, OUT_BYTES_MAX);
    sma_buf_init(&wanted, 2 * OUT_BYTES_MAX);
    put_recorded(&actual);
    put_handmade(&actual);
    CHECK_OK(actual.err);
    read_file(SMA_SOURCE_DIR "/tests/golden/qq/events.txt", &wanted);
    if (!sma_str_is_equal(sma_buf_str(&wanted), sma_buf_str(&actual))) {
        printf("%.*s", (int)actual.len, actual.ptr);
        fprintf(stderr, "standard output differs from tests/golden/qq/events.txt\n");
        exit(1);
    }
    sma_buf_fini(&actual);
    sma_buf_fini(&wanted);
}

/* -- preparations ------------------------------------------------------------------------------ */
static void preparations_of_others_are_refused(void)
{
    static const char *const wrong[] = {
        "",
        "{}",
        "[]",
        "[1]",
        "null",
        "[{}]",
        "[{\"kind\":\"photo\",\"url\":\"https://x\",\"path\":\".ship/.cache/qq/../../"
        "ship.json\",\"name\":\"a\"}]",
        "[{\"kind\":\"photo\",\"url\":\"https://x\",\"path\":\"/etc/passwd\",\"name\":\"a\"}]",
        "[{\"kind\":\"photo\",\"url\":\"file:///etc/passwd\",\"path\":\".ship/.cache/qq/"
        "1-a\",\"name\":\"a\"}]",
        "[{\"kind\":\"\",\"url\":\"https://x\",\"path\":\".ship/.cache/qq/1-a\",\"name\":\"a\"}]",
    };
    struct sma_file_list list;
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, sma_file_list_parse(sma_str(wrong[i]), &qq_file_shape, &list));
    CHECK_OK(sma_file_list_parse(SMA_STR("[{\"kind\":\"photo\",\"url\":\"https://"
                                         "x\",\"path\":\".ship/.cache/qq/1-a\",\"name\":\"a\"}]"),
                                 &qq_file_shape, &list));
    CHECK_INT(1, list.count);
    CHECK_STR("https://x", sma_json_str(list.items[0].json, "url"));
    sma_file_list_fini(&list);
}

/* -- limits ------------------------------------------------------------------------------------ */
struct kept
{
    enum qq_event_kind kind;
    size_t text_len;
    char path[512];
};

static void keep(void *user, const struct qq_event *event)
{
    struct kept *kept = user;
    kept->kind = event->kind;
    kept->text_len = event->ingress.text.len;
    const char *start =
        event->ingress.preparation.len == 0
            ? NULL
            : memmem(event->ingress.preparation.ptr, event->ingress.preparation.len, ".ship/", 6);
    for (size_t i = 0; start != NULL && start[i] != '"' && i + 1 < sizeof kept->path; i++)
        kept->path[i] = start[i];
}

static struct kept parse(struct sma_str json)
{
    struct kept kept = {0};
    struct qq_frame frame;
    CHECK_OK(qq_frame_parse(json, &frame));
    CHECK_OK(qq_event_parse(&options, &frame, keep, &kept));
    qq_frame_fini(&frame);
    return kept;
}

static struct kept parse_text_of(size_t len)
{
    struct sma_buf json;
    sma_buf_init(&json, QQ_FRAME_BYTES_MAX);
    sma_buf_put_text(&json, "{\"op\":0,\"t\":\"C2C_MESSAGE_CREATE\",\"d\":{\"id\":\"m\",\"author\":"
                            "{\"user_openid\":\"U\"},\"content\":\"");
    for (size_t i = 0; i < len; i++)
        sma_buf_put_char(&json, 'x');
    sma_buf_put_text(&json, "\"}}");
    CHECK_OK(json.err);
    struct kept kept = parse(sma_buf_str(&json));
    sma_buf_fini(&json);
    return kept;
}

static void texts_have_a_limit(void)
{
    CHECK(parse_text_of(SMA_TEXT_BYTES_MAX).kind == QQ_EVENT_INGRESS);
    CHECK(parse_text_of(SMA_TEXT_BYTES_MAX).text_len == SMA_TEXT_BYTES_MAX);
    CHECK(parse_text_of(SMA_TEXT_BYTES_MAX + 1).kind == QQ_EVENT_IGNORED);
}

/* The same message twice (at once, or after a restart): the same path; another message with the
 * same file: another. */
static void paths_are_the_messages_own(void)
{
    static const char form[] = "{\"op\":0,\"t\":\"C2C_MESSAGE_CREATE\",\"d\":{\"id\":\"%s\","
                               "\"timestamp\":\"2026-07-21T10:00:00Z\","
                               "\"author\":{\"user_openid\":\"U\"},\"attachments\":[{\"url\":"
                               "\"https://a/b\",\"filename\":\"f\"}]}}";
    char one[512], other[512];
    snprintf(one, sizeof one, form, "m1");
    snprintf(other, sizeof other, form, "m2");
    struct kept first = parse(sma_str(one)), again = parse(sma_str(one)),
                third = parse(sma_str(other));
    CHECK(first.path[0] != '\0');
    CHECK_TEXT(first.path, again.path);
    CHECK(strcmp(first.path, third.path) != 0);
}

static void keep_change(void *user, const struct qq_event *event)
{
    const struct sma_ingress *in = &event->ingress;
    char *text = user;
    snprintf(text, 256, "%d %d %.*s %.*s %.*s", event->kind, in->change,
             (int)in->route.chat_key.len, in->route.chat_key.ptr, (int)in->target_id.len,
             in->target_id.ptr, (int)in->event_key.len, in->event_key.ptr);
}

/* Guilds say when a message is taken away; private chats and groups do not. */
static void a_deleted_message_is_recalled(void)
{
    static const struct
    {
        const char *type, *wanted;
    } rows[] = {{"MESSAGE_DELETE", "1 2 qq:channel:C m1 e1"},
                {"PUBLIC_MESSAGE_DELETE", "1 2 qq:channel:C m1 e1"},
                {"DIRECT_MESSAGE_DELETE", "1 2 qq:dm:G m1 e1"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char json[512], seen[256] = "";
        struct qq_frame frame;
        snprintf(json, sizeof json,
                 "{\"op\":0,\"t\":\"%s\",\"id\":\"e1\",\"d\":{\"message\":{\"id\":\"m1\","
                 "\"channel_id\":\"C\",\"guild_id\":\"G\",\"author\":{\"id\":\"U\"}},"
                 "\"op_user\":{\"id\":\"A\"}}}",
                 rows[i].type);
        CHECK_OK(qq_frame_parse(sma_str(json), &frame));
        CHECK_OK(qq_event_parse(&options, &frame, keep_change, seen));
        CHECK_TEXT(rows[i].wanted, seen);
        qq_frame_fini(&frame);
    }
}

static void keep_reply(void *user, const struct qq_event *event)
{
    *(size_t *)user = event->ingress.route.message_id.len;
    CHECK(event->kind == QQ_EVENT_INGRESS);
}

/* An answer names its event behind a prefix. Over the core's limit the event would be refused, and
 * brought again, for ever.
 */
static void long_ids_still_come_in(void)
{
    char id[SMA_ID_BYTES_MAX + 1], json[2 * SMA_ID_BYTES_MAX];
    memset(id, 'e', SMA_ID_BYTES_MAX);
    for (size_t len = SMA_ID_BYTES_MAX - 10; len <= SMA_ID_BYTES_MAX; len++) {
        struct qq_frame frame;
        size_t reply_len = 0;
        snprintf(json, sizeof json,
                 "{\"op\":0,\"t\":\"FRIEND_ADD\",\"id\":\"%.*s\",\"d\":{\"openid\":\"U\"}}",
                 (int)len, id);
        CHECK_OK(qq_frame_parse(sma_str(json), &frame));
        CHECK_OK(qq_event_parse(&options, &frame, keep_reply, &reply_len));
        CHECK(reply_len <= SMA_ID_BYTES_MAX);
        CHECK((reply_len > 0) == (len + strlen(QQ_EVENT_REPLY_PREFIX) <= SMA_ID_BYTES_MAX));
        qq_frame_fini(&frame);
    }
}

static void keep_control(void *user, const struct qq_event *event)
{
    *(int *)user = event->ingress.control;
    CHECK(event->kind == QQ_EVENT_INGRESS);
}

/* Records that somebody passes on are not his words: "/stop" in them stops nothing. */
static void what_is_forwarded_commands_nothing(void)
{
    static const int types[] = {0, 103, 102, 3};
    for (size_t i = 0; i < SMA_COUNT_OF(types); i++) {
        char json[256];
        struct qq_frame frame;
        int control = -1;
        snprintf(json, sizeof json,
                 "{\"op\":0,\"t\":\"C2C_MESSAGE_CREATE\",\"d\":{\"id\":\"m\",\"author\":"
                 "{\"user_openid\":\"U\"},\"content\":\"/stop\",\"message_type\":%d}}",
                 types[i]);
        CHECK_OK(qq_frame_parse(sma_str(json), &frame));
        CHECK_OK(qq_event_parse(&options, &frame, keep_control, &control));
        CHECK_INT(i < 2 ? SMA_CONTROL_STOP : SMA_CONTROL_NONE, control);
        qq_frame_fini(&frame);
    }
}

static void keep_text(void *user, const struct qq_event *event)
{
    snprintf(user, 128, "%.*s", (int)event->ingress.text.len, event->ingress.text.ptr);
}

/* A type that nobody knows is somebody's message all the same, and named. */
static void an_unknown_type_is_named(void)
{
    static const struct
    {
        int type;
        const char *content, *text;
    } cases[] = {{7, "", "[a message of type 7 that could not be read]"},
                 {7, "words", "words"},
                 {0, "", "[a message whose content the platform does not show to bots]"}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char json[256], text[128] = "";
        struct qq_frame frame;
        snprintf(json, sizeof json,
                 "{\"op\":0,\"t\":\"C2C_MESSAGE_CREATE\",\"d\":{\"id\":\"m\",\"author\":"
                 "{\"user_openid\":\"U\"},\"content\":\"%s\",\"message_type\":%d}}",
                 cases[i].content, cases[i].type);
        CHECK_OK(qq_frame_parse(sma_str(json), &frame));
        CHECK_OK(qq_event_parse(&options, &frame, keep_text, text));
        CHECK_TEXT(cases[i].text, text);
        qq_frame_fini(&frame);
    }
}

/* A message of words is one whatever stands beside them. */
static void words_are_taken_whatever_stands_beside_them(void)
{
    static const char *const rows[] = {"\"attachments\":5",
                                       "\"attachments\":[null,5,{}]",
                                       "\"attachments\":[{\"url\":\"//x\"}]",
                                       "\"message_reference\":7",
                                       "\"message_reference\":{\"message_id\":5}",
                                       "\"mentions\":\"x\"",
                                       "\"mentions\":[null,{\"id\":5}]",
                                       "\"msg_elements\":5",
                                       "\"msg_elements\":[{\"content\":[\"x\"]}]",
                                       "\"ark\":\"x\"",
                                       "\"ark\":{\"kv\":5}",
                                       "\"embed\":[]",
                                       "\"message_scene\":5",
                                       "\"message_scene\":{\"ext\":\"x\"}",
                                       "\"timestamp\":\"yesterday\"",
                                       "\"timestamp\":-5",
                                       "\"author\":{\"user_openid\":\"U\",\"bot\":\"no\"}",
                                       "\"msg_type\":\"x\"",
                                       "\"hologram\":{\"a\":1}"};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char json[400], text[128] = "";
        struct qq_frame frame;
        snprintf(json, sizeof json,
                 "{\"op\":0,\"t\":\"C2C_MESSAGE_CREATE\",\"d\":{\"id\":\"m\",\"author\":"
                 "{\"user_openid\":\"U\"},\"content\":\"the words\",%s}}",
                 rows[i]);
        CHECK_OK(qq_frame_parse(sma_str(json), &frame));
        CHECK_OK(qq_event_parse(&options, &frame, keep_text, text));
        if (strstr(text, "the words") == NULL)
            fprintf(stderr, "%s: \"%s\"\n", rows[i], text);
        CHECK(strstr(text, "the words") != NULL);
        qq_frame_fini(&frame);
    }
}

static void frames_that_are_none(void)
{
    static const char *const wrong[] = {
        "",          "x",    "[]",         "{}", "5", "{\"op\":\"x\"}", "{\"op\":-1}",
        "{\"op\":0", "null", "{\"op\":0}x"};
    struct qq_frame frame;
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, qq_frame_parse(sma_str(wrong[i]), &frame));
    CHECK_OK(qq_frame_parse(SMA_STR("{\"op\":10,\"s\":null,\"t\":null,\"d\":null}"), &frame));
    CHECK(frame.op == QQ_OP_HELLO && frame.seq == QQ_SEQ_NONE && frame.data == NULL);
    CHECK(frame.type.len == 0 && frame.id.len == 0);
    qq_frame_fini(&frame);
    CHECK_OK(qq_frame_parse(SMA_STR("{\"op\":9,\"s\":-4,\"d\":false}"), &frame));
    CHECK(frame.seq == QQ_SEQ_NONE && json_is_false(frame.data));
    qq_frame_fini(&frame);
}

int main(void)
{
    RUN(events_are_as_written_down);
    RUN(preparations_of_others_are_refused);
    RUN(texts_have_a_limit);
    RUN(paths_are_the_messages_own);
    RUN(long_ids_still_come_in);
    RUN(a_deleted_message_is_recalled);
    RUN(what_is_forwarded_commands_nothing);
    RUN(an_unknown_type_is_named);
    RUN(words_are_taken_whatever_stands_beside_them);
    RUN(frames_that_are_none);
    return check_summary();
}
