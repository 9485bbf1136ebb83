/* Bodies and paths as the platform wants them, files, and what its answers mean. */
#include "adapters/common/unlink_words.h"
#include "adapters/qq/qq_out.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"
#include "support/check.h"

static struct sma_buf out;

static struct sma_str shown(void)
{
    CHECK_OK(out.err);
    return sma_buf_str(&out);
}

static struct sma_route route_of(const char *chat_type, const char *message_id)
{
    return (struct sma_route){.chat_type = sma_str(chat_type),
                              .chat_id = SMA_STR("C/1"),
                              .message_id = sma_str(message_id)};
}

static struct qq_part text_part(const char *markdown, const char *plain)
{
    return (struct qq_part){
        .kind = QQ_PART_TEXT, .markdown = sma_str(markdown), .plain = sma_str(plain)};
}

static struct qq_part file_part(const char *kind, const char *target, const char *caption)
{
    return (struct qq_part){.kind = QQ_PART_FILE,
                            .file_kind = sma_str(kind),
                            .target = sma_str(target),
                            .caption = sma_str(caption)};
}

/* -- messages ---------------------------------------------------------------------------------- */
static void messages_go_where_they_belong(void)
{
    static const struct
    {
        const char *chat_type, *path;
    } rows[] = {{"c2c", "/v2/users/C%2F1/messages"},
                {"group", "/v2/groups/C%2F1/messages"},
                {"channel", "/channels/C%2F1/messages"},
                {"dm", "/dms/C%2F1/messages"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_route route = route_of(rows[i].chat_type, "m");
        sma_buf_clear(&out);
        qq_put_send_path(&out, &route);
        CHECK_STR(rows[i].path, shown());
        CHECK_INT(rows[i].chat_type[0] != 'd' && rows[i].chat_type[1] != '2', qq_is_group(&route));
    }
    struct sma_route route = route_of("group", "");
    sma_buf_clear(&out);
    qq_put_media_path(&out, &route, "upload_prepare");
    CHECK_STR("/v2/groups/C%2F1/upload_prepare", shown());
    sma_buf_clear(&out);
    qq_put_interaction_path(&out, SMA_STR("a/../b?c"));
    CHECK_STR("/interactions/a%2F..%2Fb%3Fc", shown());
    sma_buf_clear(&out);
    qq_put_interaction(&out, 0);
    CHECK_STR("{\"code\":0}", shown());
}

static void bodies_are_as_documented(void)
{
    static const struct
    {
        const char *chat_type, *message_id;
        enum qq_way way;
        bool is_markdown;
        const char *body;
    } rows[] = {
        {"c2c", "m1", QQ_PASSIVE, false,
         "{\"content\":\"a \\\"b\\\"\\n你\",\"msg_type\":0,\"msg_id\":\"m1\",\"msg_seq\":9}"},
        {"group", "event:E:1", QQ_PASSIVE, false,
         "{\"content\":\"a \\\"b\\\"\\n你\",\"msg_type\":0,\"event_id\":\"E:1\",\"msg_seq\":9}"},
        {"group", "m1", QQ_ACTIVE, false, "{\"content\":\"a \\\"b\\\"\\n你\",\"msg_type\":0}"},
        {"group", "m1", QQ_PASSIVE, true,
         "{\"markdown\":{\"content\":\"**a**\"},\"msg_type\":2,\"msg_id\":\"m1\",\"msg_seq\":9}"},
        {"channel", "m1", QQ_PASSIVE, false,
         "{\"content\":\"a \\\"b\\\"\\n你\",\"msg_id\":\"m1\"}"},
        {"dm", "m1", QQ_PASSIVE, true, "{\"markdown\":{\"content\":\"**a**\"},\"msg_id\":\"m1\"}"},
        {"dm", "", QQ_PASSIVE, false, "{\"content\":\"a \\\"b\\\"\\n你\"}"},
    };
    struct qq_part part = text_part("**a**", "a \"b\"\n你");
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_route route = route_of(rows[i].chat_type, rows[i].message_id);
        struct qq_send send = {.route = &route,
                               .part = &part,
                               .way = rows[i].way,
                               .msg_seq = 9,
                               .is_markdown = rows[i].is_markdown};
        sma_buf_clear(&out);
        qq_put_message(&out, &send);
        CHECK_STR(rows[i].body, shown());
    }
}

static void a_part_without_markdown_is_text(void)
{
    struct sma_route route = route_of("c2c", "");
    struct qq_part part = text_part("", "plain");
    struct qq_send send = {.route = &route, .part = &part, .is_markdown = true};
    sma_buf_clear(&out);
    qq_put_message(&out, &send);
    CHECK_STR("{\"content\":\"plain\",\"msg_type\":0}", shown());
}

/* People can read and type them, and the platform finds none. */
static void addresses_are_written_out(void)
{
    static const struct
    {
        const char *text, *chinese, *english;
    } rows[] = {
        {"see https://a.b.c/x?y=1. Bye", "see a点b点c/x?y=1. Bye", "see a[.]b[.]c/x?y=1. Bye"},
        {"(https://github.com/o/r/issues/5)", "(github点com/o/r/issues/5)",
         "(github[.]com/o/r/issues/5)"},
        {"docs HTTP://d.e, ftp://f.org", "docs d点e, f点org", "docs d[.]e, f[.]org"},
        {"ask example.org or www.a.io:80/b", "ask example点org or www点a点io:80/b",
         "ask example[.]org or www[.]a[.]io:80/b"},
        {"ann@b.com at 10.0.0.7", "ann@b点com at 10点0点0点7", "ann@b[.]com at 10[.]0[.]0[.]7"},
        {"看https://a.b。好，例子.com", "看a点b。好，例子点com", "看a[.]b。好，例子[.]com"},
        {"https://", "https://", "https://"},
        {"no link. at all, 3.14, v1.2.3, e.g. a.b ... .",
         "no link. at all, 3.14, v1.2.3, e.g. a.b ... .",
         "no link. at all, 3.14, v1.2.3, e.g. a.b ... ."},
    };
    for (size_t i = 0; i < 2 * SMA_COUNT_OF(rows); i++) {
        sma_buf_clear(&out);
        sma_adapter_put_unlinked(&out, sma_str(rows[i / 2].text),
                                 i % 2 == 0 ? SMA_STR("") : SMA_STR("en"));
        CHECK_STR(i % 2 == 0 ? rows[i / 2].chinese : rows[i / 2].english, shown());
    }
}

/* Refused in every form, a caption is left out. */
static void captions_are_mended(void)
{
    struct sma_route route = route_of("c2c", "");
    struct qq_part part = {.kind = QQ_PART_FILE,
                           .file_kind = SMA_STR("photo"),
                           .target = SMA_STR("https://x.y/p.png"),
                           .caption = SMA_STR("see a.com")};
    struct qq_send send = {.route = &route, .part = &part};
    for (int is_image = 0; is_image < 2; is_image++) {
        send.is_captionless = false;
        sma_buf_clear(&out);
        is_image ? qq_put_image_message(&out, &send)
                 : qq_put_media_message(&out, &send, SMA_STR("info"));
        CHECK(strstr(out.ptr, "\"see a.com\"") != NULL);
        send.is_captionless = true;
        sma_buf_clear(&out);
        is_image ? qq_put_image_message(&out, &send)
                 : qq_put_media_message(&out, &send, SMA_STR("info"));
        CHECK(strstr(out.ptr, "see") == NULL);
    }
}

static void buttons_keep_to_the_limits(void)
{
    struct qq_button buttons[30];
    for (size_t i = 0; i < SMA_COUNT_OF(buttons); i++)
        buttons[i] = (struct qq_button){SMA_STR("b"), SMA_STR("十个字以上的按钮标题啊啊"),
                                        SMA_STR("approve:\"1\""), i == 0, 0};
    struct sma_route route = route_of("group", "m");
    struct qq_part part = text_part("", "allow?");
    struct qq_send send = {.route = &route,
                           .part = &part,
                           .msg_seq = 1,
                           .is_markdown = true,
                           .buttons = buttons,
                           .button_count = SMA_COUNT_OF(buttons)};
    sma_buf_clear(&out);
    qq_put_message(&out, &send);
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    CHECK_OK(sma_json_load(shown(), &root));
    CHECK_STR("allow?", sma_json_str(sma_json_get(root, "markdown"), "content"));
    const json_t *rows =
        sma_json_get(sma_json_get(sma_json_get(root, "keyboard"), "content"), "rows");
    CHECK_INT(5, json_array_size(rows));
    for (size_t i = 0; i < 5; i++)
        CHECK_INT(5, json_array_size(sma_json_get(json_array_get(rows, i), "buttons")));
    const json_t *first = json_array_get(sma_json_get(json_array_get(rows, 0), "buttons"), 0);
    CHECK_STR("十个字以上的按钮标题", sma_json_str(sma_json_get(first, "render_data"), "label"));
    CHECK_INT(4, sma_json_int(sma_json_get(first, "render_data"), "style", 0, 9, -1));
    CHECK_STR("approve:\"1\"", sma_json_str(sma_json_get(first, "action"), "data"));
    send.is_markdown = false;
    sma_buf_clear(&out);
    qq_put_message(&out, &send);
    CHECK(memmem(out.ptr, out.len, "keyboard", 8) == NULL);
}

static void typing_is_shown(void)
{
    struct sma_route route = route_of("c2c", "m");
    struct qq_send send = {.route = &route, .msg_seq = 3};
    sma_buf_clear(&out);
    qq_put_typing(&out, &send, 90);
    CHECK_STR(
        "{\"input_notify\":{\"input_type\":1,\"input_second\":60},\"msg_type\":6,\"msg_id\":\"m\","
        "\"msg_seq\":3}",
        shown());
}

/* -- files ------------------------------------------------------------------------------------- */
static void files_have_a_type(void)
{
    static const struct
    {
        const char *kind, *target;
        int type;
        bool is_url;
        const char *name;
    } rows[] = {
        {"photo", "out/a.PNG", 1, false, "a.PNG"},
        {"photo", "https://x.y/img?id=1.txt", 1, true, "img"},
        {"photo", "a.webp", 4, false, "a.webp"},
        {"document", "a.png", 4, false, "a.png"},
        {"document", "a.mp4", 2, false, "a.mp4"},
        {"document", "https://x.y/", 4, true, "file"},
        {"voice", "v.silk", 3, false, "v.silk"},
        {"audio", "v.mp3", 3, false, "v.mp3"},
        {"audio", "v.flac", 4, false, "v.flac"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct qq_part part = file_part(rows[i].kind, rows[i].target, "");
        struct qq_media media = qq_media_of(&part);
        CHECK_INT(rows[i].type, media.file_type);
        CHECK_INT(rows[i].is_url, media.is_url);
        CHECK_STR(rows[i].name, media.name);
        CHECK(media.bytes_max > 0 && media.bytes_max <= QQ_FILE_BYTES_MAX);
    }
}

static void files_are_sent_in_two_steps(void)
{
    struct qq_part part = file_part("photo", "https://a.b/c.png", "the cat");
    struct sma_route route = route_of("group", "m");
    struct qq_send send = {.route = &route, .part = &part, .msg_seq = 5};
    struct qq_media media = qq_media_of(&part);
    sma_buf_clear(&out);
    qq_put_upload_url(&out, &media, part.target);
    CHECK_STR("{\"file_type\":1,\"file_name\":\"c.png\",\"url\":\"https://a.b/"
              "c.png\",\"srv_send_msg\":false}",
              shown());
    sma_buf_clear(&out);
    qq_put_upload_data(&out, &media, SMA_STR("hello"));
    CHECK_STR("{\"file_type\":1,\"file_name\":\"c.png\",\"file_data\":\"aGVsbG8=\",\"srv_send_"
              "msg\":false}",
              shown());
    char info[QQ_FILE_INFO_BYTES_MAX + 1];
    CHECK_OK(qq_file_info_parse(SMA_STR("{\"file_uuid\":\"u\",\"file_info\":\"FI\",\"ttl\":300}"),
                                info));
    sma_buf_clear(&out);
    qq_put_media_message(&out, &send, sma_str(info));
    CHECK_STR(
        "{\"content\":\"the cat\",\"media\":{\"file_info\":\"FI\"},\"msg_type\":7,\"msg_id\":\"m\","
        "\"msg_seq\":5}",
        shown());
    CHECK_ERR(SMA_ERR_BADINPUT, qq_file_info_parse(SMA_STR("{}"), info));
    CHECK_ERR(SMA_ERR_BADINPUT, qq_file_info_parse(SMA_STR("{\"file_info\":\"a\\u0000b\"}"), info));
    CHECK_ERR(SMA_ERR_BADINPUT, qq_file_info_parse(SMA_STR("x"), info));
}

static void guilds_take_pictures_by_address(void)
{
    struct qq_part part = file_part("photo", "https://a.b/c.png", "the cat");
    struct sma_route route = route_of("channel", "m");
    struct qq_send send = {.route = &route, .part = &part};
    sma_buf_clear(&out);
    qq_put_image_message(&out, &send);
    CHECK_STR("{\"content\":\"the cat\",\"image\":\"https://a.b/c.png\",\"msg_id\":\"m\"}",
              shown());
}

static void uploads_in_blocks(void)
{
    struct qq_part part = file_part("document", "a.pdf", "");
    struct qq_media media = qq_media_of(&part);
    struct qq_digests digests = {SMA_STR("m5"), SMA_STR("s1"), SMA_STR("m10")};
    sma_buf_clear(&out);
    qq_put_upload_prepare(&out, &media, 25, &digests);
    CHECK_STR("{\"file_type\":4,\"file_name\":\"a.pdf\",\"file_size\":\"25\",\"md5\":\"m5\","
              "\"sha1\":\"s1\","
              "\"md5_10m\":\"m10\"}",
              shown());
    struct qq_upload upload;
    CHECK_OK(qq_upload_parse(SMA_STR("{\"upload_id\":\"u\",\"block_size\":\"10\",\"parts\":[{"
                                     "\"index\":0,\"presigned_url\":\"https://p/0\","
                                     "\"block_size\":10},{\"index\":1,\"presigned_url\":\"https://"
                                     "p/1\",\"block_size\":\"10\"},"
                                     "{\"index\":2,\"presigned_url\":\"https://p/2\"}]}"),
                             25, &upload));
    CHECK_INT(3, upload.block_count);
    CHECK(upload.blocks[2].from == 20 && upload.blocks[2].size == 5 && upload.blocks[2].index == 2);
    sma_buf_clear(&out);
    qq_put_upload_part_finish(&out, upload.upload_id, &upload.blocks[2], SMA_STR("d"));
    CHECK_STR("{\"upload_id\":\"u\",\"part_index\":2,\"block_size\":\"5\",\"md5\":\"d\"}", shown());
    sma_buf_clear(&out);
    qq_put_upload_finish(&out, &media, upload.upload_id);
    CHECK_STR(
        "{\"file_type\":4,\"file_name\":\"a.pdf\",\"upload_id\":\"u\",\"srv_send_msg\":false}",
        shown());
    qq_upload_fini(&upload);
}

static void uploads_that_do_not_fit_are_refused(void)
{
#define P(index, size) \
    "{\"index\":" index ",\"presigned_url\":\"https://p\",\"block_size\":" size "}"
    static const char *const wrong[] = {
        "",
        "[]",
        "{}",
        "{\"upload_id\":\"u\"}",
        "{\"upload_id\":\"u\",\"parts\":[]}",
        "{\"parts\":[" P("0", "25") "]}",
        "{\"upload_id\":\"u\",\"parts\":[" P("0", "24") "]}",
        "{\"upload_id\":\"u\",\"parts\":[" P("0", "25") "," P("1", "1") "]}",
        "{\"upload_id\":\"u\",\"parts\":[" P("1", "20") "," P("1", "5") "]}",
        "{\"upload_id\":\"u\",\"parts\":[" P("-1", "25") "]}",
        "{\"upload_id\":\"u\",\"parts\":[" P("0", "0") "]}",
        "{\"upload_id\":\"u\",\"parts\":[{\"index\":0,\"presigned_url\":\"file:///"
        "x\",\"block_size\":25}]}",
        "{\"upload_id\":\"u\",\"parts\":[7]}",
    };
    struct qq_upload upload;
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, qq_upload_parse(sma_str(wrong[i]), 25, &upload));
#undef P
}

/* -- answers ----------------------------------------------------------------------------------- */
enum flag
{
    TOKEN = 1,
    PLAIN = 2,
    LINK = 4,
    LONG = 8,
    WINDOW = 16,
    STALE = 32,
    BOT = 64,
    CHAT = 128,
    ACTIVE = 256,
    AUDIT = 512,
    WIDE = 1024,
    ONE = 2048, /* is_chat_only */
    WORDS = 4096,
    INSTEAD = 8192,
    KEY = 16384,
};

static unsigned flags_of(const struct sma_answered *outcome)
{
    static const struct
    {
        uint32_t mend;
        unsigned flag;
    } mends[] = {{SMA_MEND_TOKEN, TOKEN},   {SMA_MEND_MARKS | SMA_MEND_BUTTONS, PLAIN},
                 {SMA_MEND_LINKS, LINK},    {SMA_MEND_CUT, LONG},
                 {SMA_MEND_ACTIVE, WINDOW}, {SMA_MEND_UPLOAD, STALE},
                 {SMA_MEND_ANSWER, ACTIVE}, {SMA_MEND_INSTEAD, INSTEAD},
                 {SMA_MEND_KEY, KEY}};
    bool is_audit = outcome->attempt_class == SMA_ATTEMPT_SENT && outcome->code != 0;
    bool is_final = outcome->act == SMA_ACT_FINAL && outcome->mend == 0;
    unsigned flags = (outcome->act == SMA_ACT_OWNER ? BOT : 0u) | (is_final ? CHAT : 0u) |
                     (is_audit ? AUDIT : 0u) | (outcome->is_adapter_wide ? WIDE : 0u) |
                     (outcome->is_chat_only ? ONE : 0u) |
                     (outcome->is_content_refused ? WORDS : 0u);
    for (size_t i = 0; i < SMA_COUNT_OF(mends); i++)
        flags |= (outcome->mend & mends[i].mend) != 0 ? mends[i].flag : 0u;
    return flags;
}

static struct sma_answered classify(int status, const char *body, bool is_active, bool may_be_sent)
{
    struct sma_net_answer answer = {.end = SMA_NET_ANSWERED,
                                    .status = status,
                                    .body = sma_str(body),
                                    .retry_after_ms = -1,
                                    .error = ""};
    struct sma_answered outcome;
    sma_verdict(&qq_verdicts, NULL, &answer,
                (is_active ? QQ_WHEN_ACTIVE : 0) | (may_be_sent ? QQ_WHEN_REPEAT : 0), &outcome);
    CHECK((outcome.error[0] == '\0') == (outcome.attempt_class == SMA_ATTEMPT_SENT));
    CHECK(sma_utf8_is_valid(sma_str(outcome.error)));
    CHECK((outcome.retry_after_ms > 0) == (outcome.attempt_class == SMA_ATTEMPT_RETRY_AFTER));
    return outcome;
}

static void every_code_has_its_consequence(void)
{
    static const struct
    {
        int64_t code;
        enum sma_attempt_class attempt_class;
        unsigned flags;
    } rows[] = {
        {11241, SMA_ATTEMPT_RETRY, TOKEN},
        {11242, SMA_ATTEMPT_RETRY, 0},
        {11243, SMA_ATTEMPT_RETRY, TOKEN},
        {11244, SMA_ATTEMPT_RETRY, TOKEN},
        {11251, SMA_ATTEMPT_RETRY_AFTER, BOT | WIDE},
        {11252, SMA_ATTEMPT_RETRY, 0},
        {11253, SMA_ATTEMPT_GIVE_UP, INSTEAD},
        {11265, SMA_ATTEMPT_RETRY_AFTER, BOT | WIDE},
        {11281, SMA_ATTEMPT_RETRY, 0},
        {11282, SMA_ATTEMPT_GIVE_UP, INSTEAD},
        {12002, SMA_ATTEMPT_GIVE_UP, WORDS},
        {20028, SMA_ATTEMPT_RETRY_AFTER, ONE},
        {22006, SMA_ATTEMPT_GIVE_UP, PLAIN | WORDS},
        {22009, SMA_ATTEMPT_GIVE_UP, WINDOW},
        {50006, SMA_ATTEMPT_GIVE_UP, WORDS},
        {100001, SMA_ATTEMPT_RETRY_AFTER, 0},
        {304003, SMA_ATTEMPT_GIVE_UP, LINK | WORDS},
        {304004, SMA_ATTEMPT_GIVE_UP, PLAIN | WORDS},
        {304010, SMA_ATTEMPT_GIVE_UP, INSTEAD | WORDS},
        {304016, SMA_ATTEMPT_RETRY, 0},
        {304018, SMA_ATTEMPT_RETRY_AFTER, WIDE},
        {304020, SMA_ATTEMPT_GIVE_UP, INSTEAD | WORDS},
        {304022, SMA_ATTEMPT_GIVE_UP, ACTIVE},
        {304023, SMA_ATTEMPT_SENT, AUDIT},
        {304024, SMA_ATTEMPT_SENT, AUDIT},
        {304025, SMA_ATTEMPT_GIVE_UP, WORDS},
        {304026, SMA_ATTEMPT_GIVE_UP, WINDOW},
        {304027, SMA_ATTEMPT_GIVE_UP, WINDOW},
        {304028, SMA_ATTEMPT_GIVE_UP, WINDOW},
        {304031, SMA_ATTEMPT_GIVE_UP, CHAT},
        {304036, SMA_ATTEMPT_GIVE_UP, PLAIN | WORDS},
        {304041, SMA_ATTEMPT_GIVE_UP, PLAIN | WORDS},
        {50056, SMA_ATTEMPT_GIVE_UP, PLAIN | WORDS},
        {40034012, SMA_ATTEMPT_GIVE_UP, PLAIN | WORDS},
        {304037, SMA_ATTEMPT_GIVE_UP, PLAIN | WORDS},
        {304045, SMA_ATTEMPT_GIVE_UP, ACTIVE},
        {304050, SMA_ATTEMPT_GIVE_UP, ACTIVE},
        {304080, SMA_ATTEMPT_RETRY, STALE},
        {304082, SMA_ATTEMPT_RETRY, 0},
        {304103, SMA_ATTEMPT_GIVE_UP, WINDOW},
        {305007, SMA_ATTEMPT_GIVE_UP, PLAIN | WORDS},
        {610013, SMA_ATTEMPT_RETRY_AFTER, 0},
        {850018, SMA_ATTEMPT_RETRY_AFTER, ONE},
        {850019, SMA_ATTEMPT_GIVE_UP, WORDS | INSTEAD},
        {850027, SMA_ATTEMPT_RETRY, 0},
        {850031, SMA_ATTEMPT_GIVE_UP, WORDS | INSTEAD},
        {1100100, SMA_ATTEMPT_RETRY_AFTER, ONE},
        {1100101, SMA_ATTEMPT_GIVE_UP, WORDS},
        {1100103, SMA_ATTEMPT_GIVE_UP, CHAT},
        {40034004, SMA_ATTEMPT_RETRY, 0},
        {40034005, SMA_ATTEMPT_GIVE_UP, WINDOW},
        {40034006, SMA_ATTEMPT_GIVE_UP, WORDS},
        {40034008, SMA_ATTEMPT_GIVE_UP, PLAIN | WORDS},
        {40034011, SMA_ATTEMPT_GIVE_UP, PLAIN | WORDS},
        {40034024, SMA_ATTEMPT_GIVE_UP, WINDOW},
        {40034027, SMA_ATTEMPT_GIVE_UP, WINDOW},
        {40034028, SMA_ATTEMPT_GIVE_UP, LINK | WORDS},
        {40034029, SMA_ATTEMPT_GIVE_UP, PLAIN | WORDS},
        {40034090, SMA_ATTEMPT_GIVE_UP, PLAIN | WORDS},
        {40034100, SMA_ATTEMPT_RETRY_AFTER, ONE},
        {40034101, SMA_ATTEMPT_GIVE_UP, CHAT},
        {40034102, SMA_ATTEMPT_GIVE_UP, ACTIVE},
        {40034105, SMA_ATTEMPT_GIVE_UP, ACTIVE},
        {40034122, SMA_ATTEMPT_GIVE_UP, ACTIVE},
        {40034124, SMA_ATTEMPT_GIVE_UP, PLAIN | WORDS},
        {40034127, SMA_ATTEMPT_GIVE_UP, PLAIN | WORDS},
        {40034128, SMA_ATTEMPT_GIVE_UP, WINDOW},
        {40054002, SMA_ATTEMPT_RETRY_AFTER, ONE},
        {40054003, SMA_ATTEMPT_GIVE_UP, CHAT},
        {40054004, SMA_ATTEMPT_GIVE_UP, CHAT},
        {40054005, SMA_ATTEMPT_GIVE_UP, KEY},
        {40054007, SMA_ATTEMPT_GIVE_UP, LONG | WORDS},
        {40054010, SMA_ATTEMPT_GIVE_UP, LINK | WORDS},
        {40054013, SMA_ATTEMPT_GIVE_UP, CHAT},
        {40054016, SMA_ATTEMPT_RETRY_AFTER, BOT | WIDE},
        {40054018, SMA_ATTEMPT_GIVE_UP, LONG | WORDS},
        {40093001, SMA_ATTEMPT_RETRY, 0},
        {40093002, SMA_ATTEMPT_GIVE_UP, WORDS | INSTEAD},
        {50055001, SMA_ATTEMPT_RETRY, 0},
        {50055006, SMA_ATTEMPT_RETRY, 0},
        {99999999, SMA_ATTEMPT_GIVE_UP, WORDS},
    };
    static const int statuses[] = {200, 202, 400, 500};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        for (size_t s = 0; s < SMA_COUNT_OF(statuses); s++) {
            char body[160];
            snprintf(body, sizeof body,
                     "{\"message\":\"m\",\"code\":1,\"err_code\":%lld,\"trace_id\":\"t\"}",
                     (long long)rows[i].code);
            struct sma_answered outcome = classify(statuses[s], body, false, false);
            if (rows[i].code == 99999999 && statuses[s] == 500) {
                CHECK_INT(SMA_ATTEMPT_UNKNOWN, outcome.attempt_class);
                continue;
            }
            if (rows[i].attempt_class != outcome.attempt_class ||
                rows[i].flags != flags_of(&outcome))
                fprintf(stderr, "code %lld, status %d\n", (long long)rows[i].code, statuses[s]);
            CHECK_INT(rows[i].attempt_class, outcome.attempt_class);
            CHECK_INT(rows[i].flags, flags_of(&outcome));
            CHECK_INT(rows[i].code, outcome.code);
        }
    }
}

static void some_codes_depend_on_what_was_asked(void)
{
    struct sma_answered outcome = classify(400, "{\"code\":40054005}", false, true);
    CHECK_INT(SMA_ATTEMPT_SENT, outcome.attempt_class); /* the first try had arrived */
    outcome = classify(400, "{\"code\":22009}", true, false);
    CHECK_INT(SMA_ATTEMPT_RETRY_AFTER, outcome.attempt_class);
    outcome = classify(400, "{\"code\":40034128}", true, false);
    CHECK_INT(SMA_ATTEMPT_GIVE_UP, outcome.attempt_class);
    CHECK_INT(WINDOW, flags_of(&outcome)); /* active already: no form to change to */
    outcome = classify(400, "{\"code\":22009,\"err_code\":0}", false, false);
    CHECK_INT(22009, outcome.code);
    outcome = classify(400, "{\"code\":\"11244\"}", false, false);
    CHECK_INT(TOKEN, flags_of(&outcome));
}

static void statuses_without_a_code(void)
{
    static const struct
    {
        int status;
        const char *body;
        enum sma_attempt_class attempt_class;
        unsigned flags;
    } rows[] = {
        {200, "{\"id\":\"x\"}", SMA_ATTEMPT_SENT, 0},
        {200, "", SMA_ATTEMPT_SENT, 0},
        {204, "", SMA_ATTEMPT_SENT, 0},
        {200, "{}", SMA_ATTEMPT_SENT, 0},
        {200, "<html>", SMA_ATTEMPT_UNKNOWN, 0},
        {200, "[]", SMA_ATTEMPT_UNKNOWN, 0},
        {200, "{\"id\":", SMA_ATTEMPT_UNKNOWN, 0},
        {302, "", SMA_ATTEMPT_RETRY_AFTER, BOT | WIDE},
        {400, "", SMA_ATTEMPT_GIVE_UP, WORDS},
        {401, "", SMA_ATTEMPT_RETRY, TOKEN},
        {401, "{\"code\":1}", SMA_ATTEMPT_RETRY, TOKEN},
        {404, "x", SMA_ATTEMPT_RETRY_AFTER, BOT | WIDE},
        {405, "", SMA_ATTEMPT_RETRY_AFTER, BOT | WIDE},
        {408, "", SMA_ATTEMPT_RETRY, 0},
        {429, "", SMA_ATTEMPT_RETRY_AFTER, 0},
        {429, "{\"code\":5}", SMA_ATTEMPT_RETRY_AFTER, 0},
        {500, "", SMA_ATTEMPT_UNKNOWN, 0},
        {502, "<html>", SMA_ATTEMPT_UNKNOWN, 0},
        {503, "", SMA_ATTEMPT_RETRY, 0},
        {504, "", SMA_ATTEMPT_UNKNOWN, 0},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_answered outcome = classify(rows[i].status, rows[i].body, false, false);
        if (rows[i].attempt_class != outcome.attempt_class)
            fprintf(stderr, "status %d %s\n", rows[i].status, rows[i].body);
        CHECK_INT(rows[i].attempt_class, outcome.attempt_class);
        CHECK_INT(rows[i].flags, flags_of(&outcome));
    }
}

static void ids_are_noted(void)
{
    struct sma_answered outcome =
        classify(200, "{\"id\":\"ROBOT1.0_out1\",\"timestamp\":\"2026-11-21T20:00:00+08:00\"}",
                 false, false);
    CHECK_TEXT("ROBOT1.0_out1", outcome.message_id);
    outcome = classify(202,
                       "{\"code\":304023,\"message\":\"push message is waiting for audit now\","
                       "\"data\":{\"message_audit\":{\"audit_id\":\"A1\"}}}",
                       true, false);
    CHECK_TEXT("A1", outcome.message_id);
    outcome = classify(200, "{\"id\":5}", false, false);
    CHECK_TEXT("", outcome.message_id);
}

static void errors_say_what_to_do(void)
{
    struct sma_answered outcome = classify(
        400, "{\"message\":\"x\\ny\",\"code\":1,\"err_code\":40034101,\"trace_id\":\"tr\"}", false,
        false);
    CHECK_TEXT(
        "sending to QQ failed: the bot is not in this group: add it again (code 40034101: x y; "
        "HTTP 400; trace tr)",
        outcome.error);
    struct sma_buf body;
    sma_buf_init(&body, 100000);
    sma_buf_put_text(&body, "{\"code\":7,\"message\":\"");
    for (int i = 0; i < 10000; i++)
        sma_buf_put_text(&body, "错");
    sma_buf_put_text(&body, "\"}");
    outcome = classify(400, body.ptr, false, false);
    CHECK(strlen(outcome.error) > 50);
    sma_buf_fini(&body);
}

static void requests_that_got_no_answer(void)
{
    static const struct
    {
        enum sma_net_end end;
        enum sma_attempt_class attempt_class;
    } rows[] = {{SMA_NET_NOT_SENT, SMA_ATTEMPT_RETRY},
                {SMA_NET_UNKNOWN, SMA_ATTEMPT_UNKNOWN},
                {SMA_NET_TOO_BIG, SMA_ATTEMPT_UNKNOWN},
                {SMA_NET_FILE_FAILED, SMA_ATTEMPT_GIVE_UP}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_net_answer answer = {
            .end = rows[i].end, .error = "no route", .retry_after_ms = -1};
        struct sma_answered outcome;
        sma_verdict(&qq_verdicts, NULL, &answer, 0, &outcome);
        CHECK_INT(rows[i].attempt_class, outcome.attempt_class);
        CHECK_TEXT("sending to QQ failed: no route", outcome.error);
    }
}

static void waits_are_believed_within_reason(void)
{
    struct sma_net_answer answer = {
        .end = SMA_NET_ANSWERED, .status = 429, .retry_after_ms = 7000, .error = ""};
    struct sma_answered outcome;
    sma_verdict(&qq_verdicts, NULL, &answer, 0, &outcome);
    CHECK_INT(7000, outcome.retry_after_ms);
    answer.retry_after_ms = INT64_MAX;
    sma_verdict(&qq_verdicts, NULL, &answer, 0, &outcome);
    CHECK_INT(24 * 3600 * 1000, outcome.retry_after_ms);
}

int main(void)
{
    sma_buf_init(&out, 1024 * 1024);
    RUN(messages_go_where_they_belong);
    RUN(bodies_are_as_documented);
    RUN(a_part_without_markdown_is_text);
    RUN(addresses_are_written_out);
    RUN(captions_are_mended);
    RUN(buttons_keep_to_the_limits);
    RUN(typing_is_shown);
    RUN(files_have_a_type);
    RUN(files_are_sent_in_two_steps);
    RUN(guilds_take_pictures_by_address);
    RUN(uploads_in_blocks);
    RUN(uploads_that_do_not_fit_are_refused);
    RUN(every_code_has_its_consequence);
    RUN(some_codes_depend_on_what_was_asked);
    RUN(statuses_without_a_code);
    RUN(ids_are_noted);
    RUN(errors_say_what_to_do);
    RUN(requests_that_got_no_answer);
    RUN(waits_are_believed_within_reason);
    sma_buf_fini(&out);
    return check_summary();
}
