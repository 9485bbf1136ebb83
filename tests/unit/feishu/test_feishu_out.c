/*
 * Aim: every text becomes parts whose request bodies the platform takes, nothing is lost, and every
 * answer of the platform means what the sheet says. Method: golden bodies, limits at their edges
 * with the worst letters, the table of codes.
 */
#include "adapters/feishu/feishu_out.h"

#include "sma/limits.h"
#include "sma/text.h"
#include "vectors.h"

#define PART_COUNT_MAX 256

struct parts
{
    size_t count;
    char *bytes[PART_COUNT_MAX];
    size_t lens[PART_COUNT_MAX];
    struct feishu_part parts[PART_COUNT_MAX];
};

static void collect(void *user, struct sma_str part_bytes)
{
    struct parts *parts = user;
    CHECK(parts->count < PART_COUNT_MAX);
    char *copy = malloc(part_bytes.len + 1);
    CHECK(copy != NULL);
    memcpy(copy, part_bytes.ptr, part_bytes.len);
    parts->bytes[parts->count] = copy;
    CHECK_OK(
        feishu_part_decode((struct sma_str){copy, part_bytes.len}, &parts->parts[parts->count]));
    parts->count++;
}

static struct parts render_as(enum sma_intent intent, struct sma_str text)
{
    struct parts parts = {0};
    struct sma_deliver row = {.intent = (uint8_t)intent, .text = text};
    CHECK_OK(feishu_render(&row, collect, &parts));
    return parts;
}

static struct parts render(const char *text)
{
    return render_as(SMA_INTENT_ASSISTANT_TEXT, sma_str(text));
}

static void drop(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        free(parts->bytes[i]);
}

static void plain_text_stays_text_and_structure_becomes_a_card(void)
{
    static const struct
    {
        const char *text;
        enum feishu_part_kind kind;
    } rows[] = {
        {"hello", FEISHU_PART_TEXT},
        {"line\nline\n\nline", FEISHU_PART_TEXT},
        {"see https://x.y now", FEISHU_PART_TEXT},
        {"3 * 4 * 5", FEISHU_PART_TEXT},
        {"**bold**", FEISHU_PART_CARD},
        {"# head\n\ntext", FEISHU_PART_CARD},
        {"use `code`", FEISHU_PART_CARD},
        {"```c\nint a;\n```", FEISHU_PART_CARD},
        {"[l](https://x.y)", FEISHU_PART_CARD},
        {"| a | b |\n|---|---|\n| 1 | 2 |", FEISHU_PART_CARD},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct parts parts = render(rows[i].text);
        CHECK_INT(1, parts.count);
        CHECK_INT(rows[i].kind, parts.parts[0].kind);
        CHECK_STR(rows[i].text, parts.parts[0].text);
        drop(&parts);
        parts = render_as(SMA_INTENT_NOTICE, sma_str(rows[i].text));
        CHECK_INT(FEISHU_PART_TEXT, parts.parts[0].kind); /* notices are never cards */
        drop(&parts);
    }
    struct parts none = render("  \n ");
    CHECK_INT(0, none.count);
}

static void attachments_become_file_parts(void)
{
    struct parts parts = render(
        "Here:\n@attach photo out/a b.png | The plot\n@ATTACH Document https://x.y/z.pdf\n"
        "@attach dance no.mp4\n@attach photo  | nothing\n```\n@attach photo code.png\n```\nend");
    CHECK_INT(4, parts.count);
    CHECK_INT(FEISHU_PART_CARD, parts.parts[0].kind);
    CHECK_STR("Here:\n@attach dance no.mp4\n@attach photo  | nothing\n```\n@attach photo "
              "code.png\n```\nend",
              parts.parts[0].text);
    CHECK_INT(FEISHU_PART_TEXT, parts.parts[1].kind);
    CHECK_STR("The plot", parts.parts[1].text);
    CHECK_INT(FEISHU_PART_FILE, parts.parts[2].kind);
    CHECK_STR("photo", parts.parts[2].file_kind);
    CHECK_STR("out/a b.png", parts.parts[2].target);
    CHECK_STR("document", parts.parts[3].file_kind);
    CHECK_STR("https://x.y/z.pdf", parts.parts[3].target);
    drop(&parts);
    parts = render_as(SMA_INTENT_ERROR, SMA_STR("@attach photo a.png"));
    CHECK_INT(1, parts.count);
    CHECK_INT(FEISHU_PART_TEXT, parts.parts[0].kind);
    drop(&parts);
    struct feishu_part part;
    static const char *const bad[] = {"", "t", "x1", "f", "fphoto", "fphoto\n"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, feishu_part_decode(sma_str(bad[i]), &part));
}

static void what_cards_do_not_take_is_changed(void)
{
    struct parts parts =
        render("**x** ![alt](https://x.y/i.png) ![](u) `![c](d)`\n```\n![e](f)\n```");
    CHECK_STR("**x** [alt](https://x.y/i.png) [image](u) `![c](d)`\n```\n![e](f)\n```",
              parts.parts[0].text);
    drop(&parts);
    parts = render("a\x01\x7f"
                   "b\r\nc\td");
    CHECK_STR("ab\nc\td", parts.parts[0].text);
    drop(&parts);
}

static void nobody_calls_everybody(void)
{
    static const char *const texts[] = {"<at user_id=\"all\"></at> hi", "**x** <at id=all></at>",
                                        "<AT id='ALL'>"};
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
        struct parts parts = render(texts[i]);
        CHECK(memmem(parts.parts[0].text.ptr, parts.parts[0].text.len, "<at", 3) == NULL);
        CHECK(memmem(parts.parts[0].text.ptr, parts.parts[0].text.len, "<AT", 3) == NULL);
        drop(&parts);
    }
    struct parts parts = render("<at user_id=\"ou_1\">Tom</at> hi");
    CHECK_STR("<at user_id=\"ou_1\">Tom</at> hi", parts.parts[0].text);
    drop(&parts);
}

static size_t body_size(const struct feishu_part *part)
{
    char chat_id[SMA_ID_BYTES_MAX], uuid[FEISHU_UUID_BYTES_MAX];
    memset(chat_id, 'c', sizeof chat_id);
    memset(uuid, 'u', sizeof uuid);
    struct feishu_target target = {.chat_id = {chat_id, sizeof chat_id}};
    struct sma_buf body;
    sma_buf_init(&body, 1 << 20);
    feishu_put_part(&body, &target, part, false, (struct sma_str){uuid, sizeof uuid});
    CHECK_OK(body.err);
    size_t size = body.len;
    json_t *json = json_loadb(body.ptr, body.len, 0, NULL);
    CHECK(json != NULL);
    json_t *content = json_loads(json_string_value(json_object_get(json, "content")), 0, NULL);
    CHECK(content != NULL);
    json_decref(content);
    json_decref(json);
    sma_buf_fini(&body);
    return size;
}

/* `unit` repeated to `count` times, behind a head. */
static struct parts render_repeated(const char *head, const char *unit, size_t count)
{
    struct sma_buf text;
    sma_buf_init(&text, 8 << 20);
    sma_buf_put_text(&text, head);
    for (size_t i = 0; i < count; i++)
        sma_buf_put_text(&text, unit);
    struct parts parts = render_as(SMA_INTENT_ASSISTANT_TEXT, sma_buf_str(&text));
    sma_buf_fini(&text);
    return parts;
}

static void parts_break_exactly_at_the_limit(void)
{
    for (size_t extra = 0; extra < 3; extra++) {
        struct parts parts = render_repeated("", "a", FEISHU_TEXT_UNITS_MAX - 1 + extra);
        CHECK_INT(extra < 2 ? 1 : 2, parts.count);
        CHECK_INT(FEISHU_PART_TEXT, parts.parts[0].kind);
        drop(&parts);
        parts = render_repeated("**b** ", "a", FEISHU_CARD_UNITS_MAX - 7 + extra);
        CHECK_INT(extra < 2 ? 1 : 2, parts.count);
        CHECK_INT(FEISHU_PART_CARD, parts.parts[0].kind);
        drop(&parts);
    }
}

static void bodies_stay_below_the_platforms_limits(void)
{
    static const char *const units[] = {"\"", "\\", "a\n", "中", "😀", "\xff", "<", "\t.", "'", "é"};
    for (size_t i = 0; i < SMA_COUNT_OF(units); i++) {
        struct parts parts = render_repeated("x", units[i], 100000);
        CHECK(parts.count >= 2);
        for (size_t k = 0; k < parts.count; k++) {
            CHECK_INT(FEISHU_PART_TEXT, parts.parts[k].kind);
            CHECK(body_size(&parts.parts[k]) <= FEISHU_TEXT_BODY_BYTES_MAX);
        }
        drop(&parts);
        parts = render_repeated("**x** ", units[i], 20000);
        for (size_t k = 0; k < parts.count; k++) {
            CHECK_INT(FEISHU_PART_CARD, parts.parts[k].kind);
            CHECK(body_size(&parts.parts[k]) <= FEISHU_CARD_BODY_BYTES_MAX);
        }
        drop(&parts);
        parts = render_repeated("```\n", units[i],
                                20000); /* fences are closed and opened again at cuts */
        for (size_t k = 0; k < parts.count; k++)
            CHECK(body_size(&parts.parts[k]) <= FEISHU_TEXT_BODY_BYTES_MAX);
        drop(&parts);
    }
}

static void cards_hold_three_tables(void)
{
    static const char table[] = "| a | b |\n|---|:-:|\n| 1 | 2 |\n\n";
    for (size_t count = FEISHU_CARD_TABLE_COUNT_MAX - 1; count <= FEISHU_CARD_TABLE_COUNT_MAX + 4;
         count++) {
        struct parts parts = render_repeated("Tables:\n\n", table, count);
        CHECK_INT((count + FEISHU_CARD_TABLE_COUNT_MAX - 1) / FEISHU_CARD_TABLE_COUNT_MAX,
                  parts.count);
        size_t rules = 0;
        for (size_t i = 0; i < parts.count; i++) {
            struct sma_str text = parts.parts[i].text;
            size_t here = 0;
            for (size_t at = 0; at + 9 <= text.len; at++)
                here += memcmp(text.ptr + at, "|---|:-:|", 9) == 0;
            CHECK(here <= FEISHU_CARD_TABLE_COUNT_MAX);
            rules += here;
        }
        CHECK_INT(count, rules);
        drop(&parts);
    }
    struct parts parts = render_repeated("```\n", table, 5); /* in code they are no tables */
    CHECK_INT(1, parts.count);
    drop(&parts);
}

static void rendering_is_repeatable(void)
{
    struct parts a = render_repeated("# x\n", "some words and `code`\n\n", 5000);
    struct parts b = render_repeated("# x\n", "some words and `code`\n\n", 5000);
    CHECK(a.count > 2 && a.count == b.count);
    for (size_t i = 0; i < a.count; i++)
        CHECK(sma_str_is_equal(a.parts[i].text, b.parts[i].text));
    drop(&a);
    drop(&b);
}

static void bodies_are_the_sheets(void)
{
    struct sma_buf body;
    sma_buf_init(&body, 1 << 20);
    struct feishu_target fresh = {.chat_id = SMA_STR("oc_1")};
    struct feishu_target reply = {.chat_id = SMA_STR("oc_1"), .reply_to = SMA_STR("om_1")};
    struct feishu_target thread = {
        .chat_id = SMA_STR("oc_1"), .reply_to = SMA_STR("om_1"), .is_in_thread = true};
    feishu_put_text(&body, &fresh, SMA_STR("hi \"you\"\n"), SMA_STR("u-1"));
    CHECK_STR("{\"receive_id\":\"oc_1\",\"msg_type\":\"text\",\"content\":\"{\\\"text\\\":\\\"hi "
              "\\\\\\\"you\\\\\\\"\\\\n\\\"}\","
              "\"uuid\":\"u-1\"}",
              sma_buf_str(&body));
    sma_buf_clear(&body);
    feishu_put_text(&body, &reply, SMA_STR("hi"), SMA_STR(""));
    CHECK_STR("{\"msg_type\":\"text\",\"content\":\"{\\\"text\\\":\\\"hi\\\"}\",\"reply_in_"
              "thread\":false}",
              sma_buf_str(&body));
    sma_buf_clear(&body);
    feishu_put_card(&body, &thread, SMA_STR("**x**"), SMA_STR("u"));
    CHECK_STR("{\"msg_type\":\"interactive\",\"content\":\"{\\\"schema\\\":\\\"2.0\\\","
              "\\\"config\\\":{\\\"update_multi\\\":true},"
              "\\\"body\\\":{\\\"elements\\\":[{\\\"tag\\\":\\\"markdown\\\",\\\"content\\\":\\\"**"
              "x**\\\"}]}}\","
              "\"reply_in_thread\":true,\"uuid\":\"u\"}",
              sma_buf_str(&body));
    sma_buf_clear(&body);
    struct feishu_upload image = {.is_image = true, .msg_type = "image"},
                         audio = {.msg_type = "audio"};
    feishu_put_file(&body, &fresh, &image, SMA_STR("img_1"), SMA_STR("u"));
    CHECK_STR("{\"receive_id\":\"oc_1\",\"msg_type\":\"image\",\"content\":\"{\\\"image_key\\\":"
              "\\\"img_1\\\"}\",\"uuid\":\"u\"}",
              sma_buf_str(&body));
    sma_buf_clear(&body);
    feishu_put_file(&body, &fresh, &audio, SMA_STR("file_1"), SMA_STR("u"));
    CHECK_STR("{\"receive_id\":\"oc_1\",\"msg_type\":\"audio\",\"content\":\"{\\\"file_key\\\":"
              "\\\"file_1\\\"}\",\"uuid\":\"u\"}",
              sma_buf_str(&body));
    sma_buf_clear(&body);
    feishu_put_toast(&body, "success", SMA_STR("ok"));
    CHECK_STR("{\"toast\":{\"type\":\"success\",\"content\":\"ok\"}}", sma_buf_str(&body));
    sma_buf_fini(&body);
}

static void a_refused_card_goes_as_plain_text(void)
{
    struct sma_buf body;
    sma_buf_init(&body, 1 << 20);
    struct feishu_part part = {.kind = FEISHU_PART_CARD,
                               .text = SMA_STR("**bold** and [l](https://x.y)")};
    feishu_put_part(&body, &(struct feishu_target){.chat_id = SMA_STR("oc_1")}, &part, true,
                    SMA_STR("u"));
    CHECK(strstr(body.ptr, "\"msg_type\":\"text\"") != NULL);
    CHECK(strstr(body.ptr, "bold and l") != NULL && strstr(body.ptr, "**") == NULL);
    sma_buf_fini(&body);
}

static void cards_have_buttons_and_fit(void)
{
    struct feishu_button buttons[] = {
        {SMA_STR("Allow"), SMA_STR("{\"approve\":\"1\"}"), "primary", 0},
        {SMA_STR("No"), SMA_STR("{\"reject\":\"1\"}"), NULL, 0}};
    struct sma_buf long_text, body;
    sma_buf_init(&long_text, 1 << 20);
    sma_buf_init(&body, 1 << 20);
    for (int i = 0; i < 40000; i++)
        sma_buf_put_text(&long_text, i % 2 == 0 ? "\"" : "中");
    struct feishu_card card = {.title = SMA_STR("Question"),
                               .markdown = sma_buf_str(&long_text),
                               .buttons = buttons,
                               .button_count = 2};
    feishu_put_card_message(&body, &(struct feishu_target){.chat_id = SMA_STR("oc_1")}, &card,
                            SMA_STR("u"));
    CHECK_OK(body.err);
    CHECK(body.len <= FEISHU_CARD_BODY_BYTES_MAX && body.len > FEISHU_CARD_BODY_BYTES_MAX / 2);
    json_t *json = json_loadb(body.ptr, body.len, 0, NULL);
    json_t *content = json_loads(json_string_value(json_object_get(json, "content")), 0, NULL);
    const json_t *elements = json_object_get(json_object_get(content, "body"), "elements");
    CHECK_INT(2, json_array_size(elements));
    const json_t *columns = json_object_get(json_array_get(elements, 1), "columns");
    CHECK_INT(2, json_array_size(columns));
    const json_t *button =
        json_array_get(json_object_get(json_array_get(columns, 0), "elements"), 0);
    const json_t *value =
        json_object_get(json_array_get(json_object_get(button, "behaviors"), 0), "value");
    CHECK_TEXT("1", json_string_value(json_object_get(value, "approve")));
    CHECK(json_is_true(json_object_get(json_object_get(content, "config"), "update_multi")));
    json_decref(content);
    json_decref(json);
    sma_buf_clear(&body);
    feishu_put_card_patch(&body, &(struct feishu_card){.markdown = SMA_STR("so far\x01")});
    CHECK_STR("{\"content\":\"{\\\"schema\\\":\\\"2.0\\\",\\\"config\\\":{\\\"update_multi\\\":"
              "true},\\\"body\\\":{\\\"elements\\\":"
              "[{\\\"tag\\\":\\\"markdown\\\",\\\"content\\\":\\\"so far\\\"}]}}\"}",
              sma_buf_str(&body));
    sma_buf_fini(&body);
    sma_buf_fini(&long_text);
}

static void targets_follow_the_chat(void)
{
    static const struct
    {
        const char *chat_type, *message_id, *thread_id, *path;
        bool is_in_thread, is_group;
    } rows[] = {
        {"p2p", "om_1", "", "/open-apis/im/v1/messages?receive_id_type=chat_id", false, false},
        {"", "om_1", "", "/open-apis/im/v1/messages?receive_id_type=chat_id", false, false},
        {"group", "", "", "/open-apis/im/v1/messages?receive_id_type=chat_id", false, true},
        {"group", "om_1", "", "/open-apis/im/v1/messages/om_1/reply", false, true},
        {"group", "om_1", "omt_1", "/open-apis/im/v1/messages/om_1/reply", true, true},
        {"p2p", "om_1", "omt_1", "/open-apis/im/v1/messages/om_1/reply", true, false},
        {"topic_group", "a/../b?", "", "/open-apis/im/v1/messages/a%2F..%2Fb%3F/reply", false,
         true},
    };
    struct sma_buf path;
    sma_buf_init(&path, 4096);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_route route = {.chat_id = SMA_STR("oc_1"),
                                  .chat_type = sma_str(rows[i].chat_type),
                                  .message_id = sma_str(rows[i].message_id),
                                  .thread_id = sma_str(rows[i].thread_id)};
        struct feishu_target target = feishu_target_make(&route, 0);
        sma_buf_clear(&path);
        feishu_put_send_path(&path, &target);
        CHECK_STR(rows[i].path, sma_buf_str(&path));
        CHECK_INT(rows[i].is_in_thread, target.is_in_thread);
        CHECK_INT(rows[i].is_group, feishu_is_group(&route));
        /* a later part quotes nothing; in a topic it stays there */
        target = feishu_target_make(&route, 1);
        CHECK_INT(rows[i].is_in_thread, target.reply_to.len > 0);
        CHECK_INT(rows[i].is_in_thread, target.is_in_thread);
    }
    sma_buf_clear(&path);
    feishu_put_resource_path(&path, "image", SMA_STR("om_1"), SMA_STR("img_v3=="));
    CHECK_STR("/open-apis/im/v1/messages/om_1/resources/img_v3%3D%3D?type=image",
              sma_buf_str(&path));
    sma_buf_clear(&path);
    /* a row of a version without salts keeps its key: it may be on its way under it */
    feishu_key(&(struct sma_deliver){.outbox_id = UINT64_MAX}, UINT32_MAX, &path);
    CHECK(path.len <= FEISHU_UUID_BYTES_MAX - FEISHU_UUID_MORE_BYTES);
    CHECK_STR("sma-18446744073709551615-4294967295", sma_buf_str(&path));
    sma_buf_clear(&path);
    feishu_key(&(struct sma_deliver){.outbox_id = 7, .salt = 0xfedcba9876543210u}, UINT32_MAX,
               &path);
    CHECK(path.len <= FEISHU_UUID_BYTES_MAX - FEISHU_UUID_MORE_BYTES);
    CHECK_STR("sma-fedcba9876543210-4294967295", sma_buf_str(&path));
    sma_buf_fini(&path);
}

static void uploads_are_planned_by_kind_and_extension(void)
{
    static const struct
    {
        const char *kind, *target;
        bool is_image;
        const char *file_type, *msg_type;
    } rows[] = {
        {"photo", "a/b.PNG", true, "", "image"},
        {"photo", "https://x.y/i.jpg?w=1#f", true, "", "image"},
        {"photo", "b.svg", false, "stream", "file"},
        {"document", "b.png", false, "stream", "file"},
        {"document", "b.pdf", false, "pdf", "file"},
        {"document", "b.docx", false, "doc", "file"},
        {"voice", "b.opus", false, "opus", "audio"},
        {"voice", "b.ogg", false, "opus", "audio"},
        {"audio", "b.ogg", false, "stream", "file"},
        {"audio", "b.mp3", false, "stream", "file"},
        {"document", "b.mp4", false, "stream", "file"},
        {"document", "a.b/noext", false, "stream", "file"},
        {"document", "x", false, "stream", "file"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct feishu_part part = {.kind = FEISHU_PART_FILE,
                                   .file_kind = sma_str(rows[i].kind),
                                   .target = sma_str(rows[i].target)};
        struct feishu_upload upload = feishu_upload_plan(&part);
        CHECK_INT(rows[i].is_image, upload.is_image);
        CHECK_TEXT(rows[i].file_type, upload.file_type);
        CHECK_TEXT(rows[i].msg_type, upload.msg_type);
        CHECK_INT(rows[i].is_image ? FEISHU_IMAGE_BYTES_MAX : FEISHU_FILE_BYTES_MAX,
                  upload.bytes_max);
    }
    char key[16];
    CHECK_OK(feishu_upload_parse(SMA_STR("{\"code\":0,\"data\":{\"image_key\":\"img_1\"}}"), key,
                                 sizeof key));
    CHECK_TEXT("img_1", key);
    CHECK_OK(feishu_upload_parse(
        SMA_STR("{\"code\":0,\"data\":{\"file_key\":\"123456789012345\"}}"), key, sizeof key));
    static const char *const bad[] = {"",
                                      "x",
                                      "{}",
                                      "{\"code\":0}",
                                      "{\"code\":1,\"data\":{\"file_key\":\"f\"}}",
                                      "{\"code\":0,\"data\":{\"file_key\":\"1234567890123456\"}}",
                                      "{\"code\":0,\"data\":{\"file_key\":\"a\\u0000b\"}}"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, feishu_upload_parse(sma_str(bad[i]), key, sizeof key));
}

static struct sma_answered classify(enum sma_net_end end, int status, const char *body,
                                    int64_t retry_after_ms)
{
    struct sma_net_answer answer = {
        .end = end,
        .status = status,
        .body = sma_str(body),
        .retry_after_ms = retry_after_ms,
        .log_id = SMA_STR("log-1"),
        .error = end == SMA_NET_ANSWERED ? "" : "no connection to open.feishu.cn"};
    struct sma_answered outcome;
    memset(&outcome, 0x5a, sizeof outcome);
    sma_verdict(&feishu_verdicts, NULL, &answer, 0, &outcome);
    CHECK((outcome.attempt_class == SMA_ATTEMPT_SENT) == (outcome.error[0] == '\0'));
    CHECK(sma_utf8_is_valid(sma_str(outcome.error)));
    return outcome;
}

static struct sma_answered classify_code(int status, int64_t code)
{
    char body[128];
    snprintf(body, sizeof body, "{\"code\":%lld,\"msg\":\"said so\",\"data\":{}}", (long long)code);
    return classify(SMA_NET_ANSWERED, status, body, -1);
}

static void answers_are_classified(void)
{
    struct sma_answered outcome =
        classify(SMA_NET_ANSWERED, 200, "{\"code\":0,\"data\":{\"message_id\":\"om_9\"}}", -1);
    CHECK_INT(SMA_ATTEMPT_SENT, outcome.attempt_class);
    CHECK_TEXT("om_9", outcome.message_id);
    CHECK_INT(0, outcome.code);
    CHECK_INT(SMA_ATTEMPT_SENT, classify(SMA_NET_ANSWERED, 200, "{\"code\":0}", -1).attempt_class);
    static const int64_t tokens[] = {99991661, 99991663, 99991664, 99991671};
    for (size_t i = 0; i < SMA_COUNT_OF(tokens); i++) {
        outcome = classify_code(400, tokens[i]);
        CHECK(outcome.mend == SMA_MEND_TOKEN && outcome.attempt_class == SMA_ATTEMPT_RETRY);
    }
    static const int64_t finals[] = {
        230001, 230002, 230006, 230013, 230015, 230018, 230017,   230019,   230022, 230025,
        230027, 230028, 230029, 230031, 230034, 230035, 230038,   230053,   230054, 230055,
        231001, 232009, 234001, 234002, 234008, 234043, 99991672, 99991543, 777};
    for (size_t i = 0; i < SMA_COUNT_OF(finals); i++) {
        outcome = classify_code(i % 2 == 0 ? 400 : 200, finals[i]);
        CHECK_INT(SMA_ATTEMPT_GIVE_UP, outcome.attempt_class);
        CHECK((outcome.mend & (SMA_MEND_TOKEN | SMA_MEND_MARKS)) == 0);
        CHECK_INT(finals[i], outcome.code);
        CHECK(strstr(outcome.error, "said so") != NULL && strstr(outcome.error, "log-1") != NULL);
    }
    static const int64_t doubtful[] = {230001, 230019, 230050, 230071, 230072, 230110, 777};
    for (size_t i = 0; i < SMA_COUNT_OF(doubtful); i++) /* it may be about what was replied to */
        CHECK(classify_code(400, doubtful[i]).mend == SMA_MEND_REPLY);
    static const int64_t sure[] = {230002, 230013, 230018, 230022,
                                   230025, 230028, 232009, 99991672};
    for (size_t i = 0; i < SMA_COUNT_OF(sure); i++)
        CHECK((classify_code(400, sure[i]).mend & SMA_MEND_REPLY) == 0);
    CHECK(classify_code(400, 230022).is_content_refused &&
          classify_code(400, 230028).is_content_refused);
    CHECK(classify_code(400, 230025).mend == SMA_MEND_CUT);
    CHECK(classify_code(400, 99991672).mend == (SMA_MEND_TELL_OWNER | SMA_MEND_INSTEAD));
    CHECK(classify_code(400, 230011).mend == SMA_MEND_REPLY &&
          classify_code(400, 231003).mend == SMA_MEND_REPLY);
    CHECK(classify_code(400, 230099).mend == SMA_MEND_MARKS);
    outcome = classify_code(400, 99991400);
    CHECK(outcome.attempt_class == SMA_ATTEMPT_RETRY_AFTER && !outcome.is_chat_only &&
          outcome.retry_after_ms > 0);
    outcome = classify(SMA_NET_ANSWERED, 429, "{\"code\":99991400,\"msg\":\"\"}", 7000);
    CHECK(outcome.attempt_class == SMA_ATTEMPT_RETRY_AFTER && outcome.retry_after_ms == 7000);
    CHECK_INT(SMA_ATTEMPT_RETRY_AFTER,
              classify(SMA_NET_ANSWERED, 429, "slow down", 999999999).attempt_class);
    CHECK_INT(24 * 3600 * 1000, classify(SMA_NET_ANSWERED, 429, "", 999999999).retry_after_ms);
    outcome = classify_code(400, 230020);
    CHECK(outcome.attempt_class == SMA_ATTEMPT_RETRY_AFTER && outcome.is_chat_only);
    CHECK_INT(SMA_ATTEMPT_RETRY_AFTER, classify_code(400, 230049).attempt_class);
}

static void answers_without_a_code_go_by_status_and_end(void)
{
    static const struct
    {
        enum sma_net_end end;
        int status;
        const char *body;
        enum sma_attempt_class wanted;
    } rows[] = {
        {SMA_NET_NOT_SENT, 0, "", SMA_ATTEMPT_RETRY},
        {SMA_NET_UNKNOWN, 0, "", SMA_ATTEMPT_UNKNOWN},
        {SMA_NET_TOO_BIG, 200, "", SMA_ATTEMPT_UNKNOWN},
        {SMA_NET_FILE_FAILED, 0, "", SMA_ATTEMPT_GIVE_UP},
        {SMA_NET_ANSWERED, 200, "", SMA_ATTEMPT_UNKNOWN},
        {SMA_NET_ANSWERED, 200, "<html>", SMA_ATTEMPT_UNKNOWN},
        {SMA_NET_ANSWERED, 200, "[]", SMA_ATTEMPT_UNKNOWN},
        {SMA_NET_ANSWERED, 200, "{\"code\":\"x\"}", SMA_ATTEMPT_UNKNOWN},
        {SMA_NET_ANSWERED, 500, "{\"code\":2}", SMA_ATTEMPT_UNKNOWN},
        {SMA_NET_ANSWERED, 502, "bad", SMA_ATTEMPT_UNKNOWN},
        {SMA_NET_ANSWERED, 404, "no", SMA_ATTEMPT_GIVE_UP},
        {SMA_NET_ANSWERED, 408, "", SMA_ATTEMPT_RETRY},
        {SMA_NET_ANSWERED, 302, "", SMA_ATTEMPT_UNKNOWN},
        {SMA_NET_ANSWERED, 500, "{\"code\":0}", SMA_ATTEMPT_UNKNOWN},
        {SMA_NET_ANSWERED, 200, "{\"code\":-3}", SMA_ATTEMPT_UNKNOWN},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_INT(rows[i].wanted,
                  classify(rows[i].end, rows[i].status, rows[i].body, -1).attempt_class);
    char body[1024], id[FEISHU_MESSAGE_ID_BYTES_MAX + 2];
    for (size_t len = FEISHU_MESSAGE_ID_BYTES_MAX - 1; len <= FEISHU_MESSAGE_ID_BYTES_MAX + 1;
         len++) {
        memset(id, 'm', sizeof id);
        id[len] = '\0';
        snprintf(body, sizeof body, "{\"code\":0,\"data\":{\"message_id\":\"%s\"}}", id);
        struct sma_answered outcome = classify(SMA_NET_ANSWERED, 200, body, -1);
        CHECK_INT(SMA_ATTEMPT_SENT, outcome.attempt_class);
        CHECK_INT(len <= FEISHU_MESSAGE_ID_BYTES_MAX ? len : 0, strlen(outcome.message_id));
    }
    /* A long message of the platform is cut between letters. */
    size_t at = (size_t)snprintf(body, sizeof body, "{\"code\":777,\"msg\":\"x");
    for (int i = 0; i < 200; i++)
        at += (size_t)snprintf(body + at, sizeof body - at, "中");
    snprintf(body + at, sizeof body - at, "\"}");
    CHECK(strlen(classify(SMA_NET_ANSWERED, 400, body, -1).error) <
          sizeof((struct sma_answered *)NULL)->error);
}

int main(void)
{
    RUN(plain_text_stays_text_and_structure_becomes_a_card);
    RUN(attachments_become_file_parts);
    RUN(what_cards_do_not_take_is_changed);
    RUN(nobody_calls_everybody);
    RUN(parts_break_exactly_at_the_limit);
    RUN(bodies_stay_below_the_platforms_limits);
    RUN(cards_hold_three_tables);
    RUN(rendering_is_repeatable);
    RUN(bodies_are_the_sheets);
    RUN(a_refused_card_goes_as_plain_text);
    RUN(cards_have_buttons_and_fit);
    RUN(targets_follow_the_chat);
    RUN(uploads_are_planned_by_kind_and_extension);
    RUN(answers_are_classified);
    RUN(answers_without_a_code_go_by_status_and_end);
    return check_summary();
}
