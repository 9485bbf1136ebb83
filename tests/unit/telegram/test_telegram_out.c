/* Parts, request bodies and classes of answers: exact bodies, and the hand-made error answers of
 * the protocol sheet. */
#include "support/check.h"

#include "adapters/common/answers.h"
#include "adapters/telegram/telegram_out.h"
#include "sma/commands.h"
#include "sma/text.h"

#include <jansson.h>

static struct sma_buf body;

static struct sma_route private_chat(void)
{
    return (struct sma_route){.channel = SMA_STR("telegram"),
                              .chat_id = SMA_STR("42"),
                              .chat_type = SMA_STR("private"),
                              .message_id = SMA_STR("7")};
}

static struct sma_route topic(void)
{
    return (struct sma_route){.channel = SMA_STR("telegram"),
                              .chat_id = SMA_STR("-1001234567890123"),
                              .chat_type = SMA_STR("supergroup"),
                              .thread_id = SMA_STR("5"),
                              .message_id = SMA_STR("7")};
}

/* -- parts ------------------------------------------------------------------------------------- */
struct parts
{
    struct sma_buf bytes[70];
    size_t count;
};

static void take_part(void *user, struct sma_str part_bytes)
{
    struct parts *parts = user;
    CHECK(parts->count < SMA_COUNT_OF(parts->bytes));
    sma_buf_init(&parts->bytes[parts->count], part_bytes.len + 1);
    sma_buf_put_str(&parts->bytes[parts->count++], part_bytes);
}

static void free_parts(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        sma_buf_fini(&parts->bytes[i]);
    parts->count = 0;
}

static struct telegram_part part_at(const struct parts *parts, size_t index)
{
    struct telegram_part part;
    CHECK(index < parts->count);
    CHECK_OK(telegram_part_decode(sma_buf_str(&parts->bytes[index]), &part));
    return part;
}

static void render(struct parts *parts, uint8_t intent, const char *text)
{
    struct sma_deliver row = {.text = sma_str(text), .intent = intent};
    CHECK_OK(telegram_render(&row, take_part, parts));
}

static void notices_are_not_markdown(void)
{
    static const uint8_t intents[] = {SMA_INTENT_NOTICE, SMA_INTENT_ERROR,
                                      SMA_INTENT_APPROVAL_REQUEST};
    for (size_t i = 0; i < SMA_COUNT_OF(intents); i++) {
        struct parts parts = {0};
        render(&parts, intents[i], "**a** <b>\n@attach photo x.png");
        CHECK_INT(1, parts.count);
        CHECK_STR("", part_at(&parts, 0).html);
        CHECK_STR("**a** <b>\n@attach photo x.png", part_at(&parts, 0).plain);
        free_parts(&parts);
    }
}

static void blank_texts_give_no_part(void)
{
    struct parts parts = {0};
    render(&parts, SMA_INTENT_ASSISTANT_TEXT, "");
    render(&parts, SMA_INTENT_ASSISTANT_TEXT, " \n\t\n");
    CHECK_INT(0, parts.count);
}

static void texts_at_the_limit_stay_whole(void)
{
    for (size_t units = TELEGRAM_PART_UNITS - 1; units <= TELEGRAM_PART_UNITS + 1; units++) {
        struct parts parts = {0};
        char *text = malloc(units + 1);
        CHECK(text != NULL);
        memset(text, 'x', units);
        text[units] = '\0';
        render(&parts, SMA_INTENT_ASSISTANT_TEXT, text);
        CHECK_INT(units <= TELEGRAM_PART_UNITS ? 1 : 2, parts.count);
        free_parts(&parts);
        free(text);
    }
}

static void captions_are_cut(void)
{
    struct parts parts = {0};
    struct sma_buf text;
    sma_buf_init(&text, 1 << 16);
    sma_buf_put_text(&text, "@attach photo a.png | ");
    for (size_t i = 0; i < 950; i++)
        sma_buf_put_text(&text, "中");
    render(&parts, SMA_INTENT_ASSISTANT_TEXT, text.ptr);
    CHECK_INT(1, parts.count);
    struct telegram_part part = part_at(&parts, 0);
    CHECK_INT(TELEGRAM_CAPTION_UNITS_MAX, sma_utf16_length(part.caption));
    CHECK(sma_utf8_is_valid(part.caption));
    free_parts(&parts);
    sma_buf_fini(&text);
}

static void same_input_gives_the_same_parts(void)
{
    struct parts first = {0}, second = {0};
    const char *text = "a **b**\n\n- c\n\n@attach photo d.png | e";
    render(&first, SMA_INTENT_ASSISTANT_TEXT, text);
    render(&second, SMA_INTENT_ASSISTANT_TEXT, text);
    CHECK_INT(2, first.count);
    CHECK_INT(first.count, second.count);
    for (size_t i = 0; i < first.count; i++)
        CHECK(sma_str_is_equal(sma_buf_str(&first.bytes[i]), sma_buf_str(&second.bytes[i])));
    free_parts(&first);
    free_parts(&second);
}

static void broken_part_bytes_are_refused(void)
{
    static const struct sma_str bad[] = {SMA_STR(""),
                                         SMA_STR("X"),
                                         SMA_STR("T\0\0"),
                                         SMA_STR("T\5\0\0\0abc"),
                                         SMA_STR("F\0\0\0\0\0"),
                                         SMA_STR("F\4\1\0\0\0a"),
                                         SMA_STR("F\0\xff\xff\xff\xff"
                                                 "a")};
    struct telegram_part part;
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, telegram_part_decode(bad[i], &part));
}

static void check_preview(const char *text, const char *wanted)
{
    struct parts parts = {0};
    CHECK_OK(telegram_render_preview(sma_str(text), take_part, &parts));
    CHECK_INT(wanted == NULL ? 0 : 1, parts.count);
    if (wanted != NULL) {
        struct telegram_part part = part_at(&parts, 0);
        CHECK_STR(wanted, part.html.len > 0 ? part.html : part.plain);
    }
    free_parts(&parts);
}

static void previews_show_the_last_part_without_attachments(void)
{
    check_preview("", NULL);
    check_preview("so **far** and **fur", "so <b>far</b> and **fur");
    check_preview("text\n@att", "text");
    check_preview("text\n@attach pho", "text");
    check_preview("text\n@attach photo a.png | b\nmore", "text\nmore");
    check_preview("@attach photo a.png", NULL);
    check_preview("text\n@someone hi", "text\n@someone hi");
    check_preview("```py\nx = 1", "<pre><code class=\"language-py\">x = 1</code></pre>");
    struct sma_buf text;
    sma_buf_init(&text, 1 << 16);
    for (int i = 0; i < 1000; i++)
        sma_buf_put_text(&text, "words ");
    sma_buf_put_text(&text, "end");
    struct parts parts = {0};
    CHECK_OK(telegram_render_preview(sma_buf_str(&text), take_part, &parts));
    CHECK_INT(1, parts.count);
    struct telegram_part part = part_at(&parts, 0);
    CHECK(part.plain.len < 3000 && memcmp(part.plain.ptr + part.plain.len - 3, "end", 3) == 0);
    free_parts(&parts);
    sma_buf_fini(&text);
}

/* -- bodies ------------------------------------------------------------------------------------ */
static void check_body(const char *wanted)
{
    CHECK_OK(body.err);
    json_t *root = json_loadb(body.ptr, body.len, JSON_REJECT_DUPLICATES, NULL);
    CHECK(json_is_object(root) || json_is_array(root));
    json_decref(root);
    CHECK_STR(wanted, sma_buf_str(&body));
    sma_buf_clear(&body);
}

static const struct telegram_part text_part = {
    .kind = TELEGRAM_PART_TEXT, .html = {"<b>\"a\"</b>\n", 11}, .plain = {"\"a\"\n", 4}};

/* In drafts Telegram knows no such member, and shows no preview. */
#define NO_PREVIEW ",\"link_preview_options\":{\"is_disabled\":true}"

static void a_private_answer_is_text_and_markup(void)
{
    struct sma_route route = private_chat();
    struct telegram_send send = {.route = &route, .part = &text_part};
    telegram_put_send_message(&body, &send);
    check_body("{\"chat_id\":42,\"text\":\"<b>\\\"a\\\"</b>\\n\",\"parse_mode\":\"HTML\"" NO_PREVIEW
               "}");
    send.is_plain = true;
    telegram_put_send_message(&body, &send);
    check_body("{\"chat_id\":42,\"text\":\"\\\"a\\\"\\n\"" NO_PREVIEW "}");
}

static void a_group_answer_replies_with_its_first_part(void)
{
    struct sma_route route = topic();
    struct telegram_send send = {.route = &route, .part = &text_part, .is_plain = true};
    telegram_put_send_message(&body, &send);
    check_body("{\"chat_id\":-1001234567890123,\"message_thread_id\":5,\"text\":"
               "\"\\\"a\\\"\\n\"" NO_PREVIEW ","
               "\"reply_parameters\":{\"message_id\":7,\"allow_sending_without_reply\":true}}");
    send.part_index = 1;
    telegram_put_send_message(&body, &send);
    check_body("{\"chat_id\":-1001234567890123,\"message_thread_id\":5,\"text\":"
               "\"\\\"a\\\"\\n\"" NO_PREVIEW "}");
    send = (struct telegram_send){
        .route = &route, .part = &text_part, .is_plain = true, .is_no_reply = true};
    route.thread_id = SMA_STR("1"); /* General */
    route.chat_id = SMA_STR("@channel");
    telegram_put_send_message(&body, &send);
    check_body("{\"chat_id\":\"@channel\",\"text\":\"\\\"a\\\"\\n\"" NO_PREVIEW "}");
    route.message_id = SMA_STR("callback-1");
    send.is_no_reply = false;
    telegram_put_reply_parameters(&body, &send);
    CHECK_INT(0, body.len);
}

/* Every row of commands.h, in its order. */
static void check_commands(void)
{
    size_t count;
    const struct sma_command *commands = sma_commands(&count);
    json_t *root = json_loadb(body.ptr, body.len, 0, NULL);
    const json_t *list = json_object_get(root, "commands");
    CHECK_INT(count, json_array_size(list));
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        CHECK(strcmp(commands[i].word, json_string_value(json_object_get(item, "command"))) == 0);
        CHECK(strcmp(commands[i].chinese_doc,
                     json_string_value(json_object_get(item, "description"))) == 0);
    }
    CHECK(strcmp("zh", json_string_value(json_object_get(root, "language_code"))) == 0);
    json_decref(root);
    sma_buf_clear(&body);
}

static void other_methods_have_their_members(void)
{
    struct sma_route route = private_chat();
    struct telegram_send send = {.route = &route, .part = &text_part};
    telegram_put_draft(&body, &send, 99);
    check_body("{\"chat_id\":42,\"draft_id\":99,\"text\":\"<b>\\\"a\\\"</"
               "b>\\n\",\"parse_mode\":\"HTML\"}");
    telegram_put_chat_action(&body, &route, "typing");
    check_body("{\"chat_id\":42,\"action\":\"typing\"}");
    telegram_put_callback_answer(&body, SMA_STR("c1"), SMA_STR(""), false);
    check_body("{\"callback_query_id\":\"c1\"}");
    telegram_put_callback_answer(&body, SMA_STR("c1"), SMA_STR("ok\xff"), false);
    check_body("{\"callback_query_id\":\"c1\",\"text\":\"ok\xEF\xBF\xBD\"}");
    telegram_put_commands(&body, true);
    check_commands();
    telegram_put_commands(&body, false);
    CHECK(memmem(body.ptr, body.len, "language_code", 13) == NULL);
    sma_buf_clear(&body);
}

static void files_are_sent_by_kind(void)
{
    struct sma_route route = topic();
    struct telegram_part part = {.kind = TELEGRAM_PART_FILE,
                                 .file_kind = SMA_STR("voice"),
                                 .target = SMA_STR("https://e.com/a.ogg"),
                                 .caption = SMA_STR("hi")};
    struct telegram_send send = {.route = &route, .part = &part};
    telegram_put_send_file(&body, &send);
    check_body("{\"chat_id\":-1001234567890123,\"message_thread_id\":5,\"voice\":\"https://e.com/"
               "a.ogg\",\"caption\":\"hi\","
               "\"reply_parameters\":{\"message_id\":7,\"allow_sending_without_reply\":true}}");
    CHECK_TEXT("sendVoice", telegram_file_method(part.file_kind));
    CHECK_TEXT("photo", telegram_file_field(SMA_STR("photo")));
    CHECK_TEXT("image/jpeg", telegram_file_type(SMA_STR("a/B.JPG")));
    CHECK_TEXT("application/octet-stream", telegram_file_type(SMA_STR("png")));
    CHECK(telegram_target_is_url(SMA_STR("HTTPS://x")) &&
          !telegram_target_is_url(SMA_STR("https://")) &&
          !telegram_target_is_url(SMA_STR("file:///etc/passwd")));
}

static void groups_are_known_by_type_or_id(void)
{
    struct sma_route route = private_chat();
    CHECK(!telegram_is_group(&route));
    route = topic();
    CHECK(telegram_is_group(&route));
    route.chat_type = SMA_STR("");
    CHECK(telegram_is_group(&route));
    route.chat_id = SMA_STR("42");
    CHECK(!telegram_is_group(&route));
}

/* -- answers ----------------------------------------------------------------------------------- */
static struct sma_answered classify(int status, const char *text)
{
    struct sma_net_answer answer = {.end = SMA_NET_ANSWERED,
                                    .status = status,
                                    .body = sma_str(text),
                                    .retry_after_ms = -1,
                                    .error = ""};
    struct sma_answered outcome;
    sma_verdict(&telegram_verdicts, NULL, &answer, 0, &outcome);
    CHECK(sma_utf8_is_valid(sma_str(outcome.error)));
    CHECK((outcome.attempt_class == SMA_ATTEMPT_SENT) == (outcome.error[0] == '\0'));
    CHECK((outcome.attempt_class == SMA_ATTEMPT_RETRY_AFTER) == (outcome.retry_after_ms > 0));
    return outcome;
}

static void successes_carry_the_message_id(void)
{
    struct sma_answered outcome =
        classify(200, "{\"ok\":true,\"result\":{\"message_id\":123456,\"chat\":{\"id\":1}}}");
    CHECK_INT(SMA_ATTEMPT_SENT, outcome.attempt_class);
    CHECK_TEXT("123456", outcome.message_id);
    outcome = classify(200, "{\"ok\":true,\"result\":true}");
    CHECK_INT(SMA_ATTEMPT_SENT, outcome.attempt_class);
    CHECK_TEXT("", outcome.message_id);
    outcome = classify(200, "{\"ok\":true,\"result\":[{\"message_id\":5},{\"message_id\":6}]}");
    CHECK_TEXT("5", outcome.message_id);
    outcome = classify(200, "{\"ok\":true,\"result\":{\"message_id\":0}}");
    CHECK_TEXT("0", outcome.message_id);
}

static void answers_that_cannot_be_read_are_unknown(void)
{
    static const char *const bodies[] = {"",
                                         "{",
                                         "<html>",
                                         "[]",
                                         "null",
                                         "{\"ok\":1}",
                                         "{\"ok\":\"true\"}",
                                         "{\"result\":{\"message_id\":1}}",
                                         "{\"ok\":false}",
                                         "\xff"};
    for (size_t i = 0; i < SMA_COUNT_OF(bodies); i++)
        CHECK_INT(SMA_ATTEMPT_UNKNOWN, classify(200, bodies[i]).attempt_class);
    CHECK_INT(SMA_ATTEMPT_UNKNOWN, classify(502, "<html>Bad Gateway</html>").attempt_class);
    CHECK(classify(502, "<html>Bad Gateway</html>").is_likely_unsent);
    CHECK(!classify(503, "").is_likely_unsent);
    CHECK(!classify(200, "{").is_likely_unsent);
    CHECK_INT(SMA_ATTEMPT_UNKNOWN, classify(504, "").attempt_class);
    CHECK_INT(
        SMA_ATTEMPT_UNKNOWN,
        classify(
            500,
            "{\"ok\":false,\"error_code\":500,\"description\":\"Internal Server Error: restart\"}")
            .attempt_class);
    CHECK_INT(SMA_ATTEMPT_RETRY, classify(503, "").attempt_class);
    CHECK_INT(SMA_ATTEMPT_RETRY_AFTER, classify(302, "").attempt_class);
    CHECK(classify(404, "<html>").act == SMA_ACT_OWNER);
    CHECK_INT(SMA_ATTEMPT_GIVE_UP, classify(413, "<html>").attempt_class);
}

static void the_network_says_whether_it_left(void)
{
    static const struct
    {
        enum sma_net_end end;
        enum sma_attempt_class attempt_class;
    } cases[] = {{SMA_NET_NOT_SENT, SMA_ATTEMPT_RETRY},
                 {SMA_NET_UNKNOWN, SMA_ATTEMPT_UNKNOWN},
                 {SMA_NET_TOO_BIG, SMA_ATTEMPT_UNKNOWN},
                 {SMA_NET_FILE_FAILED, SMA_ATTEMPT_GIVE_UP}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_net_answer answer = {
            .end = cases[i].end, .retry_after_ms = -1, .error = "no route"};
        struct sma_answered outcome;
        sma_verdict(&telegram_verdicts, NULL, &answer, 0, &outcome);
        CHECK_INT(cases[i].attempt_class, outcome.attempt_class);
        CHECK(strstr(outcome.error, "no route") != NULL);
    }
}

static void waits_are_obeyed_and_bounded(void)
{
    struct sma_net_answer answer = {
        .end = SMA_NET_ANSWERED, .status = 429, .retry_after_ms = 7000, .error = ""};
    struct sma_answered outcome;
    sma_verdict(&telegram_verdicts, NULL, &answer, 0, &outcome); /* header only */
    CHECK_INT(7000, outcome.retry_after_ms);
    answer.body = SMA_STR("{\"ok\":false,\"error_code\":429,\"description\":\"x\",\"parameters\":{"
                          "\"retry_after\":5}}");
    sma_verdict(&telegram_verdicts, NULL, &answer, 0, &outcome);
    CHECK_INT(5000, outcome.retry_after_ms);
    CHECK(!outcome.is_adapter_wide);
    CHECK_INT(1000, classify(429, "").retry_after_ms);
    CHECK_INT(1000,
              classify(429, "{\"ok\":false,\"parameters\":{\"retry_after\":-9}}").retry_after_ms);
    CHECK_INT(24 * 3600 * 1000,
              classify(429, "{\"ok\":false,\"parameters\":{\"retry_after\":9223372036854775807}}")
                  .retry_after_ms);
}

/* -- the vectors ------------------------------------------------------------------------------- */
static const struct
{
    const char *description; /* beginning */
    enum sma_attempt_class attempt_class;
    const char *words; /* of the error */
} wanted[] = {
    {"Unauthorized", SMA_ATTEMPT_RETRY_AFTER, "botToken"},
    {"Not Found: method", SMA_ATTEMPT_GIVE_UP, "method"},
    {"Not Found", SMA_ATTEMPT_RETRY_AFTER, "apiRoot"},
    {"Conflict", SMA_ATTEMPT_RETRY, "Conflict"},
    {"Too Many Requests", SMA_ATTEMPT_RETRY_AFTER, "5 s"},
    {"Bad Request: group chat was upgraded", SMA_ATTEMPT_RETRY, "-1001234567890"},
    {"Bad Request: message is not modified", SMA_ATTEMPT_SENT, ""},
    {"Bad Request: message thread not found", SMA_ATTEMPT_GIVE_UP, "topic"},
    {"Bad Request: message text is empty", SMA_ATTEMPT_GIVE_UP, "empty"},
    {"Bad Request: query is too old", SMA_ATTEMPT_GIVE_UP, "too old"},
    {"Bad Request: file is too big", SMA_ATTEMPT_GIVE_UP, "too big"},
    {"Bad Request: can't parse entities", SMA_ATTEMPT_GIVE_UP, "formatting"},
    {"Forbidden: bot was blocked", SMA_ATTEMPT_GIVE_UP, "blocked the bot"},
    {"Forbidden: bot was kicked", SMA_ATTEMPT_GIVE_UP, "add it again"},
};

static void check_vector(json_t *vector)
{
    char *text = json_dumps(json_object_get(vector, "body"), JSON_COMPACT);
    const char *description =
        json_string_value(json_object_get(json_object_get(vector, "body"), "description"));
    CHECK(text != NULL && description != NULL);
    struct sma_answered outcome =
        classify((int)json_integer_value(json_object_get(vector, "http")), text);
    size_t i = 0;
    while (i < SMA_COUNT_OF(wanted) &&
           strncmp(description, wanted[i].description, strlen(wanted[i].description)) != 0)
        i++;
    CHECK(i < SMA_COUNT_OF(wanted));
    CHECK_INT(wanted[i].attempt_class, outcome.attempt_class);
    CHECK(strstr(outcome.error, wanted[i].words) != NULL);
    free(text);
}

static void every_handmade_error_is_classified(void)
{
    json_t *root =
        json_load_file(SMA_SOURCE_DIR "/tests/vectors/telegram/errors-handmade.json", 0, NULL);
    json_t *errors = json_object_get(root, "errors");
    CHECK(json_array_size(errors) >= 17);
    for (size_t i = 0; i < json_array_size(errors); i++)
        check_vector(json_array_get(errors, i));
    json_decref(root);
}

static struct sma_answered bad_request(const char *description)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: %s\"}", description);
    return classify(400, text);
}

static void flags_say_what_can_be_mended(void)
{
    CHECK((bad_request("can't parse entities: Unsupported start tag \\\"x\\\" at byte offset 0")
               .mend &
           SMA_MEND_MARKS) != 0);
    CHECK((bad_request("message to be replied not found").mend & SMA_MEND_REPLY) != 0);
    struct sma_answered outcome = classify(
        400, "{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: group chat was "
             "upgraded\",\"parameters\":{\"migrate_to_chat_id\":-1001234567890}}");
    CHECK(outcome.mend == SMA_MEND_MOVED && outcome.moved_to == -1001234567890);
    CHECK((classify(
               404,
               "{\"ok\":false,\"error_code\":404,\"description\":\"Not Found: method not found\"}")
               .mend &
           SMA_MEND_METHOD) != 0);
    CHECK(classify(401, "{\"ok\":false,\"error_code\":401,\"description\":\"Unauthorized\"}")
              .is_adapter_wide);
    CHECK_INT(SMA_ATTEMPT_GIVE_UP, bad_request("something new").attempt_class);
    CHECK(bad_request("something new").is_content_refused);
    CHECK((bad_request("PHOTO_INVALID_DIMENSIONS").mend & SMA_MEND_KIND) != 0);
    CHECK((bad_request("IMAGE_PROCESS_FAILED").mend & SMA_MEND_KIND) != 0);
    CHECK((bad_request("VOICE_MESSAGES_FORBIDDEN").mend & SMA_MEND_KIND) != 0);
    CHECK((bad_request("message thread not found").mend & SMA_MEND_THREAD) != 0);
    CHECK((bad_request("TOPIC_CLOSED").mend & SMA_MEND_THREAD) != 0); /* its person is to read it */
    CHECK((bad_request("failed to get HTTP URL content").mend & SMA_MEND_INSTEAD) != 0);
}

static void endless_descriptions_are_cut_to_valid_text(void)
{
    struct sma_buf text;
    sma_buf_init(&text, 1 << 16);
    for (size_t shift = 0; shift < 4; shift++) {
        sma_buf_clear(&text);
        sma_buf_put_text(&text, "{\"ok\":false,\"error_code\":403,\"description\":\"\\n");
        for (size_t i = 0; i < shift; i++)
            sma_buf_put_char(&text, 'x');
        for (size_t i = 0; i < 200; i++)
            sma_buf_put_text(&text, "界");
        sma_buf_put_text(&text, "\"}");
        struct sma_answered outcome = classify(403, text.ptr); /* looks at validity */
        CHECK(strchr(outcome.error, '\n') == NULL && strlen(outcome.error) > 100);
    }
    sma_buf_fini(&text);
}

int main(void)
{
    sma_buf_init(&body, 1 << 16);
    RUN(notices_are_not_markdown);
    RUN(blank_texts_give_no_part);
    RUN(texts_at_the_limit_stay_whole);
    RUN(captions_are_cut);
    RUN(same_input_gives_the_same_parts);
    RUN(broken_part_bytes_are_refused);
    RUN(previews_show_the_last_part_without_attachments);
    RUN(a_private_answer_is_text_and_markup);
    RUN(a_group_answer_replies_with_its_first_part);
    RUN(other_methods_have_their_members);
    RUN(files_are_sent_by_kind);
    RUN(groups_are_known_by_type_or_id);
    RUN(successes_carry_the_message_id);
    RUN(answers_that_cannot_be_read_are_unknown);
    RUN(the_network_says_whether_it_left);
    RUN(waits_are_obeyed_and_bounded);
    RUN(every_handmade_error_is_classified);
    RUN(flags_say_what_can_be_mended);
    RUN(endless_descriptions_are_cut_to_valid_text);
    sma_buf_fini(&body);
    return check_summary();
}
