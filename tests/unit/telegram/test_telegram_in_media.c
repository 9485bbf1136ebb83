/*
 * Aim: what is no text: files become an @attach line and an order that can be read back, everything
 *      else becomes words; buttons, membership, migration; rich messages. Method: one message a
 *      rule.
 */
#include "sma/reasons.h"
#include "telegram_in_support.h"

#include "adapters/telegram/telegram_in_priv.h"

static struct seen seen;

static void parse_orders(struct sma_file_list *ret_list)
{
    CHECK_OK(sma_file_list_parse(sma_str(seen.preparation), &telegram_file_shape, ret_list));
}

static struct sma_str file_id_of(const struct sma_file_item *file)
{
    return telegram_in_str(file->json, "fileId");
}

/* -- files ------------------------------------------------------------------------------------- */

/* ".ship/.cache/telegram/<ms>-<8 of the id>-<8 hex>-<name>": everything but the hash is
 * compared. */
static void check_path(const char *head, const char *name, struct sma_str path)
{
    size_t head_len = strlen(head);
    CHECK(path.len >= head_len + 10);
    CHECK(memcmp(head, path.ptr, head_len) == 0);
    CHECK(path.ptr[head_len + 8] == '-');
    CHECK_STR(name, ((struct sma_str){path.ptr + head_len + 9, path.len - head_len - 9}));
}

static void a_document_is_attached_and_ordered(void)
{
    struct sma_file_list orders;
    see_message("private",
                "\"caption\":\"see this\",\"document\":{\"file_id\":\"FILEIDLONGER\","
                "\"file_name\":\"dir/my file(1)中.txt\",\"file_size\":77}",
                &seen);
    CHECK(seen.is_ingress);
    parse_orders(&orders);
    CHECK_INT(1, orders.count);
    const struct sma_file_item *file = &orders.items[0];
    check_path(".ship/.cache/telegram/1750000000000-FILEIDLO-", "my_file(1)中.txt", file->path);
    CHECK_STR("document", file->kind);
    CHECK_STR("FILEIDLONGER", file_id_of(file));
    CHECK_STR("dir/my file(1)中.txt", file->name);
    CHECK_INT(77, file->size);
    char wanted[1024];
    snprintf(wanted, sizeof wanted, "@attach document %.*s | dir/my file(1)中.txt\n\nsee this",
             (int)file->path.len, file->path.ptr);
    CHECK_TEXT(wanted, seen.text);
    CHECK_TEXT("{\"chatType\":\"private\",\"username\":\"ann\",\"name\":\"Ann\",\"attachments\":1}",
               seen.meta);
    sma_file_list_fini(&orders);
}

static void each_kind_has_its_name(void)
{
    static const struct
    {
        const char *members, *kind, *name, *label;
    } rows[] = {
        {"\"voice\":{\"file_id\":\"AB\",\"duration\":3}", "voice", "voice.ogg", "voice"},
        {"\"audio\":{\"file_id\":\"AB\"}", "audio", "audio", "audio"},
        {"\"audio\":{\"file_id\":\"AB\",\"file_name\":\"s\\nong.mp3\"}", "audio", "s_ong.mp3",
         "s ong.mp3"},
        {"\"document\":{\"file_id\":\"AB\"}", "document", "document", "document"},
        {"\"document\":{\"file_id\":\"AB\",\"file_name\":\"../../\"}", "document", "_", "../../"},
        {"\"document\":{\"file_id\":\"AB\",\"file_name\":\"a/..\"}", "document", "..", "a/.."},
        {"\"document\":{\"file_id\":\"AB\",\"file_name\":\"a | b\\u0000😀é.x\"}", "document",
         "a_b_.x", "a | b\xef\xbf\xbd😀é.x"},
        {"\"document\":{\"file_id\":\"AB\",\"file_name\":\"C:\\\\temp\\\\b.txt\"}", "document",
         "b.txt", "C:\\temp\\b.txt"},
        {"\"photo\":[{\"file_id\":\"AB\"}]", "photo", "photo.jpg", "photo"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_file_list orders;
        see_message("private", rows[i].members, &seen);
        CHECK(seen.is_ingress && seen.kind == SMA_EVENT_MESSAGE);
        parse_orders(&orders);
        CHECK_INT(1, orders.count);
        CHECK_STR(rows[i].kind, orders.items[0].kind);
        check_path(".ship/.cache/telegram/1750000000000-AB-", rows[i].name, orders.items[0].path);
        CHECK_INT(-1, orders.items[0].size);
        const char *bar = strstr(seen.text, " | ");
        CHECK(bar != NULL);
        CHECK_TEXT(rows[i].label, bar + 3);
        sma_file_list_fini(&orders);
    }
}

static void a_long_name_is_cut(void)
{
    struct sma_buf members;
    struct sma_file_list orders;
    sma_buf_init(&members, 1 << 20);
    sma_buf_put_text(&members, "\"document\":{\"file_id\":\"../../../x\",\"file_name\":\"");
    for (int i = 0; i < 300; i++)
        sma_buf_put_text(&members, "中");
    sma_buf_put_text(&members, "\"}");
    see_message("private", members.ptr, &seen);
    parse_orders(&orders);
    struct sma_str path = orders.items[0].path;
    CHECK(path.len - strlen(TELEGRAM_CACHE_FOLDER) <= 255);
    CHECK(memmem(path.ptr, path.len, "..", 2) == NULL);
    CHECK(orders.items[0].name.len <= 200);
    sma_file_list_fini(&orders);
    sma_buf_clear(&members);
    sma_buf_put_text(&members, "\"document\":{\"file_id\":\"x\",\"file_name\":\"");
    for (int i = 0; i < 300; i++)
        sma_buf_put_text(&members, "n");
    sma_buf_put_text(&members, "\"}");
    see_message("private", members.ptr, &seen);
    parse_orders(&orders);
    path = orders.items[0].path;
    CHECK_INT(160, path.len - (size_t)((char *)memrchr(path.ptr, '-', path.len) - path.ptr) - 1);
    sma_file_list_fini(&orders);
    sma_buf_fini(&members);
}

static void the_largest_photo_is_taken(void)
{
    static const struct
    {
        const char *sizes, *id;
    } rows[] = {
        {"{\"file_id\":\"s\",\"width\":9,\"height\":9},{\"file_id\":\"l\",\"width\":90,\"height\":"
         "90},{\"file_id\":\"m\",\"width\":50,\"height\":50}",
         "l"},
        {"{\"file_id\":\"a\"},{\"file_id\":\"b\"}", "b"},
        {"{\"file_id\":\"a\",\"width\":9,\"height\":9,\"file_size\":10},{\"file_id\":\"b\","
         "\"width\":99,\"height\":99,\"file_size\":1001}",
         "a"},
        {"{\"file_id\":7,\"width\":900,\"height\":900},null,[],{\"file_id\":\"c\",\"width\":1,"
         "\"height\":1}",
         "c"},
        {"{\"file_id\":\"a\",\"width\":4611686018427387904,\"height\":4611686018427387904},{\"file_"
         "id\":\"b\",\"width\":1,\"height\":1}",
         "b"},
    };
    test_options.attachment_bytes_max = 1000;
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char members[1024];
        struct sma_file_list orders;
        snprintf(members, sizeof members, "\"photo\":[%s]", rows[i].sizes);
        see_message("private", members, &seen);
        parse_orders(&orders);
        CHECK_STR(rows[i].id, file_id_of(&orders.items[0]));
        sma_file_list_fini(&orders);
    }
    test_options.attachment_bytes_max = 0;
}

static void a_file_over_the_limit_is_named_not_fetched(void)
{
    static const struct
    {
        const char *size;
        bool is_fetched;
    } rows[] = {{"20971519", true}, {"20971520", true}, {"20971521", false}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char members[256];
        snprintf(members, sizeof members,
                 "\"document\":{\"file_id\":\"x\",\"file_name\":\"a\\\"b\",\"file_size\":%s}",
                 rows[i].size);
        see_message("private", members, &seen);
        CHECK(seen.is_ingress);
        CHECK_INT(rows[i].is_fetched, seen.preparation[0] != '\0');
    }
    CHECK_TEXT("[document: \"a\\\"b\", 20971521 bytes, not fetched: the limit is 20971520 bytes]",
               seen.text);
    see_message("private", "\"voice\":{\"file_size\":3}", &seen);
    CHECK_TEXT("[voice: \"voice\", not fetched: the platform names no file]", seen.text);
    char members[700], id[514];
    memset(id, 'i', 513);
    id[513] = '\0';
    snprintf(members, sizeof members, "\"voice\":{\"file_id\":\"%s\"}", id);
    see_message("private", members, &seen);
    CHECK(seen.is_ingress && seen.preparation[0] == '\0');
    snprintf(members, sizeof members, "\"voice\":{\"file_id\":\"%s\"}", id + 1);
    see_message("private", members, &seen);
    CHECK(seen.preparation[0] != '\0');
}

static void photos_of_one_second_do_not_share_a_path(void)
{
    static char first[1024];
    see_message("group",
                "\"media_group_id\":\"77\",\"photo\":[{\"file_id\":\"AgACAgIAAxkBAAIaaa\"}]",
                &seen);
    CHECK_TEXT("77", seen.group_key);
    CHECK_INT(SMA_ADDRESSED_NONE, seen.addressed);
    snprintf(first, sizeof first, "%.1000s", seen.text);
    see_message("group",
                "\"media_group_id\":\"77\",\"photo\":[{\"file_id\":\"AgACAgIAAxkBAAIaab\"}]",
                &seen);
    CHECK(strcmp(first, seen.text) != 0);
    see_message("group", "\"message_id\":6,\"photo\":[{\"file_id\":\"AgACAgIAAxkBAAIaaa\"}]",
                &seen);
    CHECK(strcmp(first, seen.text) != 0);
    see_message("group",
                "\"media_group_id\":\"77\",\"photo\":[{\"file_id\":\"AgACAgIAAxkBAAIaaa\"}]",
                &seen);
    CHECK_TEXT(first, seen.text); /* the same again after a restart */
}

static void several_files_keep_their_order(void)
{
    struct sma_file_list orders;
    see_message("private",
                "\"audio\":{\"file_id\":\"d\"},\"voice\":{\"file_id\":\"c\"},\"photo\":[{\"file_"
                "id\":\"b\"}],"
                "\"document\":{\"file_id\":\"a\"}",
                &seen);
    parse_orders(&orders);
    CHECK_INT(4, orders.count);
    for (size_t i = 0; i < 4; i++)
        CHECK(file_id_of(&orders.items[i]).ptr[0] == (char)('a' + (char)i));
    sma_file_list_fini(&orders);
    see_message("private", "\"text\":\"/stop\",\"photo\":[{\"file_id\":\"b\"}]", &seen);
    CHECK_INT(SMA_EVENT_CONTROL, seen.kind); /* a command takes no luggage */
    CHECK_TEXT("", seen.preparation);
    CHECK_TEXT("/stop", seen.text);
}

static void orders_that_leave_the_folder_are_refused(void)
{
    static const char *const bad[] = {
        "x",
        "{}",
        "[7]",
        "[{}]",
        "[{\"kind\":\"photo\",\"fileId\":\"x\",\"path\":\"/etc/passwd\"}]",
        "[{\"kind\":\"photo\",\"fileId\":\"x\",\"path\":\".ship/.cache/telegram/../../x\"}]",
        "[{\"kind\":\"photo\",\"fileId\":\"x\",\"path\":\".ship/.cache/telegram/..\"}]",
        "[{\"kind\":\"photo\",\"fileId\":\"x\",\"path\":\".ship/.cache/telegram/\"}]",
        "[{\"kind\":\"photo\",\"fileId\":\"\",\"path\":\".ship/.cache/telegram/a\"}]",
        "[{\"fileId\":\"x\",\"path\":\".ship/.cache/telegram/a\"}]",
    };
    struct sma_file_list orders = {0};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT,
                  sma_file_list_parse(sma_str(bad[i]), &telegram_file_shape, &orders));
}

/* -- in words ---------------------------------------------------------------------------------- */

static void what_is_no_file_is_noted_in_words(void)
{
    static const struct
    {
        const char *members, *text;
    } rows[] = {
        {"\"sticker\":{\"emoji\":\"😀\",\"set_name\":\"Cats\"}", "[sticker: \"😀\", \"Cats\"]"},
        {"\"location\":{\"latitude\":52.520008,\"longitude\":-13.4}",
         "[location: 52.520008, -13.400000]"},
        {"\"location\":{\"latitude\":-0.0000004,\"longitude\":180}",
         "[location: 0.000000, 180.000000]"},
        {"\"location\":{\"latitude\":1e300,\"longitude\":5}", "[location]"},
        {"\"location\":{\"latitude\":1,\"longitude\":5},\"venue\":{\"title\":\"Bar\",\"address\":"
         "\"Road 1\",\"location\":{\"latitude\":1,\"longitude\":5}}",
         "[venue: \"Bar\", \"Road 1\", 1.000000, 5.000000]"},
        {"\"contact\":{\"first_name\":\"B\",\"phone_number\":\"+49\"}",
         "[contact: \"B\", \"+49\"]"},
        {"\"poll\":{\"question\":\"Tea?\",\"options\":[{\"text\":\"yes\"},{\"text\":\"no\"},7]}",
         "[poll: \"Tea?\", \"yes\", \"no\"]"},
        {"\"dice\":{\"emoji\":\"🎲\",\"value\":4}", "[dice: \"🎲\", 4]"},
        {"\"video\":{\"file_name\":\"v.mp4\",\"duration\":12},\"caption\":\"look\"",
         "[video: \"v.mp4\", 12 seconds]\n\nlook"},
        {"\"video_note\":{\"duration\":3}", "[video message: 3 seconds]"},
        {"\"animation\":{\"file_name\":\"g.mp4\"},\"document\":{\"file_id\":\"x\"}",
         "[animation: \"g.mp4\"]"},
        {"\"checklist\":{\"title\":\"L\",\"tasks\":[{\"text\":\"a\"}]}",
         "[checklist: \"L\", \"a\"]"},
        {"\"game\":{\"title\":\"G\"}", "[game: \"G\"]"},
        {"\"story\":{}", "[story]"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        see_message("private", rows[i].members, &seen);
        CHECK(seen.is_ingress);
        CHECK_TEXT(rows[i].text, seen.text);
        CHECK_TEXT("", seen.preparation);
    }
    see_message("private", "\"sticker\":7", &seen);
    CHECK(!seen.is_ingress);
}

/* Whatever can be looked at or listened to is fetched; what it is stands beside it in words. */
static void moving_pictures_and_stickers_are_fetched(void)
{
    static const struct
    {
        const char *members, *kind, *name, *note;
    } rows[] = {
        {"\"video\":{\"file_id\":\"V\",\"file_name\":\"v.mp4\",\"duration\":12,\"file_size\":9}",
         "document", "v.mp4", "[video: \"v.mp4\", 12 seconds]"},
        {"\"video_note\":{\"file_id\":\"V\",\"duration\":3}", "document", "video.mp4",
         "[video message: 3 seconds]"},
        {"\"animation\":{\"file_id\":\"V\",\"file_name\":\"g.mp4\"},\"document\":{\"file_id\":"
         "\"V\"}",
         "document", "g.mp4", "[animation: \"g.mp4\"]"},
        {"\"sticker\":{\"file_id\":\"V\",\"emoji\":\"😀\",\"is_animated\":false,\"is_video\":false}",
         "photo", "sticker.webp", "[sticker: \"😀\"]"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_file_list orders;
        char wanted[1024];
        see_message("private", rows[i].members, &seen);
        parse_orders(&orders);
        CHECK_INT(1, orders.count);
        check_path(".ship/.cache/telegram/1750000000000-V-", rows[i].name, orders.items[0].path);
        CHECK_STR(rows[i].kind, orders.items[0].kind);
        snprintf(wanted, sizeof wanted, "@attach %s %.*s | ", rows[i].kind,
                 (int)orders.items[0].path.len, orders.items[0].path.ptr);
        CHECK(strncmp(wanted, seen.text, strlen(wanted)) == 0);
        CHECK(strstr(seen.text, rows[i].note) != NULL);
        sma_file_list_fini(&orders);
    }
    see_message("private", "\"sticker\":{\"file_id\":\"V\",\"emoji\":\"😀\",\"is_animated\":true}",
                &seen);
    CHECK_TEXT("", seen.preparation); /* no picture that a model could look at */
    CHECK_TEXT("[sticker: \"😀\"]", seen.text);
    see_message("private", "\"video\":{\"file_id\":\"V\",\"file_size\":20971521,\"duration\":1}",
                &seen);
    CHECK_TEXT("", seen.preparation);
    CHECK(strstr(seen.text, "20971521 bytes, not fetched") != NULL);
}

/* -- what is answered -------------------------------------------------------------------------- */
#define REPLY(from, members)                                                                 \
    "\"text\":\"what is this?\",\"reply_to_message\":{\"message_id\":3,\"date\":1749999000," \
    "\"chat\":{\"id\":-100777,\"type\":\"group\"},\"from\":{\"id\":" from                    \
    ",\"first_name\":\"Bo\"}," members "}"

/* In a group with privacy mode the bot has never seen what somebody points at. */
static void files_of_the_answered_message_are_fetched(void)
{
    struct sma_file_list orders;
    see_message("group", REPLY("7", "\"photo\":[{\"file_id\":\"P\"}],\"caption\":\"cap\""), &seen);
    parse_orders(&orders);
    CHECK_INT(1, orders.count);
    check_path(".ship/.cache/telegram/1749999000000-P-", "photo.jpg", orders.items[0].path);
    CHECK_TEXT("what is this?", seen.text); /* not the speaker's words */
    CHECK(strstr(seen.meta, "attachments") == NULL);
    char wanted[1024];
    snprintf(wanted, sizeof wanted,
             "This message is a reply to a message of \"Bo\" (a photo): \"cap\".\n"
             "@attach photo %.*s | photo",
             (int)orders.items[0].path.len, orders.items[0].path.ptr);
    CHECK_TEXT(wanted, seen.context);
    sma_file_list_fini(&orders);
    /* the same path as when it was sent: what is there is not fetched again */
    char first[sizeof seen.preparation];
    snprintf(first, sizeof first, "%s", seen.preparation);
    see("{\"update_id\":1,\"message\":{\"message_id\":3,\"date\":1749999000,\"from\":{\"id\":7},"
        "\"chat\":{\"id\":-100777,\"type\":\"group\"},\"photo\":[{\"file_id\":\"P\"}]}}",
        &seen);
    CHECK_TEXT(first, seen.preparation);
}

static void own_files_and_those_of_commands_are_not_fetched(void)
{
    see_message("group", REPLY("777000111", "\"photo\":[{\"file_id\":\"P\"}]"), &seen);
    CHECK_TEXT("", seen.preparation); /* the bot's own */
    see_message(
        "group",
        "\"text\":\"/stop@helper_bot\",\"entities\":[{\"type\":\"bot_command\",\"offset\":0,"
        "\"length\":16}],\"reply_to_message\":{\"message_id\":3,\"from\":{\"id\":7},"
        "\"photo\":[{\"file_id\":\"P\"}]}",
        &seen);
    CHECK_INT(SMA_CONTROL_STOP, seen.control);
    CHECK_TEXT("", seen.preparation);
    /* in a topic every message answers the first one */
    see_message(
        "supergroup",
        "\"text\":\"x\",\"is_topic_message\":true,\"message_thread_id\":3,\"reply_to_message\":"
        "{\"message_id\":3,\"from\":{\"id\":7},\"photo\":[{\"file_id\":\"P\"}]}",
        &seen);
    CHECK_TEXT("", seen.preparation);
}

static void files_of_both_stand_in_one_list(void)
{
    struct sma_file_list orders;
    see_message("private",
                "\"document\":{\"file_id\":\"A\"},\"photo\":[{\"file_id\":\"B\"}],\"voice\":{"
                "\"file_id\":\"C\"},"
                "\"audio\":{\"file_id\":\"D\"},\"video\":{\"file_id\":\"E\"},\"external_reply\":{"
                "\"origin\":"
                "{\"type\":\"user\",\"date\":1,\"sender_user\":{\"id\":7}},\"document\":{\"file_"
                "id\":\"F\"},"
                "\"photo\":[{\"file_id\":\"G\"}],\"voice\":{\"file_id\":\"H\"},\"audio\":{\"file_"
                "id\":\"I\"}}",
                &seen);
    parse_orders(&orders);
    CHECK_INT(9, orders.count);
    sma_file_list_fini(&orders);
}

static void a_live_photo_is_its_photo(void)
{
    see_message("private", "\"live_photo\":{\"file_id\":\"l\"},\"photo\":[{\"file_id\":\"p\"}]",
                &seen);
    CHECK(strstr(seen.preparation, "\"fileId\":\"p\"") != NULL);
    CHECK(strstr(seen.preparation, "\"fileId\":\"l\"") == NULL);
}

/* -- rich messages ----------------------------------------------------------------------------- */

static void a_rich_message_gives_its_words(void)
{
    see_message(
        "private",
        "\"rich_message\":{\"blocks\":[{\"type\":\"heading\",\"text\":\"Title\",\"size\":1},"
        "{\"type\":\"paragraph\",\"text\":[\"a \",{\"type\":\"bold\",\"text\":\"bold\"},\" "
        "word\"]},"
        "{\"type\":\"list\",\"items\":[{\"blocks\":[{\"type\":\"paragraph\",\"text\":\"one\"}]},"
        "{\"blocks\":[{\"type\":\"paragraph\",\"text\":\"two\"}]}]},"
        "{\"type\":\"table\",\"cells\":[[{\"text\":\"a\"},{\"text\":\"b\"}],[{\"text\":\"c\"},{"
        "\"text\":\"d\"}]]},"
        "{\"type\":\"divider\"}]}",
        &seen);
    CHECK(seen.is_ingress);
    CHECK_TEXT("Title\na bold word\none\ntwo\na\tb\nc\td", seen.text);
    see_message(
        "group",
        "\"rich_message\":{\"blocks\":[{\"type\":\"paragraph\",\"text\":[{\"type\":\"mention\","
        "\"text\":\"@helper_bot\"},\" do it\"]}]}",
        &seen);
    CHECK_INT(SMA_ADDRESSED_MENTION, seen.addressed);
    CHECK_TEXT("do it", seen.text);
    see_message(
        "group",
        "\"rich_message\":{\"blocks\":[{\"type\":\"paragraph\",\"text\":{\"type\":\"bot_command\","
        "\"text\":\"/stop@other_bot\"}}]}",
        &seen);
    CHECK_TEXT(SMA_WHY_OTHER "a command for another bot", seen.why);
    see_message("group",
                "\"rich_message\":{\"blocks\":[{\"type\":\"paragraph\",\"text\":[\"ask "
                "\",{\"type\":\"text_mention\","
                "\"text\":\"Helper\",\"user\":{\"id\":777000111}}]}]}",
                &seen);
    CHECK_INT(SMA_ADDRESSED_MENTION, seen.addressed);
    CHECK_TEXT("ask", seen.text);
    see_message("private", "\"rich_message\":{\"blocks\":[]}", &seen);
    CHECK(!seen.is_ingress);
    see_message("group", "\"rich_message\":{\"blocks\":[]}", &seen);
    CHECK(!seen.is_ingress);
    see_message("private", "\"rich_message\":{\"blocks\":{\"text\":[[[[\"deep\"]]]]}}", &seen);
    CHECK_TEXT("deep", seen.text);
}

/* -- buttons, membership, migration ------------------------------------------------------------ */

static void see_callback(const char *members)
{
    char json[2048];
    snprintf(json, sizeof json, "{\"update_id\":8,\"callback_query\":{%s}}", members);
    see(json, &seen);
}

#define PRESS "\"id\":\"c1\",\"from\":{\"id\":1001,\"username\":\"ann\",\"language_code\":\"de\"}"
#define BUTTON_OF \
    "\"message\":{\"message_id\":9,\"date\":1,\"chat\":{\"id\":-100777,\"type\":\"supergroup\"}"

static void a_button_press_is_handed_on(void)
{
    see_callback(PRESS "," BUTTON_OF
                       ",\"message_thread_id\":4,\"is_topic_message\":true},\"data\":\"y:1\"");
    CHECK(seen.is_ingress);
    CHECK_INT(SMA_EVENT_CALLBACK, seen.kind);
    CHECK_TEXT("c1", seen.callback_id);
    CHECK_TEXT("c1", seen.event_key);
    CHECK_TEXT("9", seen.message_id);
    CHECK_TEXT("y:1", seen.text);
    CHECK_TEXT("1001", seen.user_id);
    CHECK_TEXT("telegram:chat:-100777:topic:4", seen.chat_key);
    CHECK_INT(NOW_MS, seen.wall_ms);
    CHECK(!seen.is_record_only && seen.is_group);
}

static void a_button_press_is_answered_even_when_ignored(void)
{
    static const struct
    {
        const char *members, *why, *callback_id;
    } rows[] = {
        {PRESS ",\"inline_message_id\":\"i\",\"data\":\"y\"",
         SMA_WHY_UNSUPPORTED "a button of an inline message", "c1"},
        {PRESS "," BUTTON_OF "},\"game_short_name\":\"g\"", SMA_WHY_EMPTY "a button without data",
         "c1"},
        {PRESS "," BUTTON_OF "},\"data\":7", SMA_WHY_EMPTY "a button without data", "c1"},
        {PRESS "," BUTTON_OF
               "},\"data\":\"0123456789012345678901234567890123456789012345678901234567890123+\"",
         SMA_WHY_LIMIT "a button's data is over the limit", "c1"},
        {"\"id\":\"c1\"," BUTTON_OF "},\"data\":\"y\"",
         SMA_WHY_NO_AUTHOR "a button press of nobody", "c1"},
        {"\"id\":7," BUTTON_OF "},\"data\":\"y\"", SMA_WHY_MALFORMED "a button press without an id",
         ""},
        {PRESS ",\"message\":{\"message_id\":2},\"data\":\"y\"",
         SMA_WHY_MALFORMED "a chat without an id", "c1"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        see_callback(rows[i].members);
        CHECK(!seen.is_ingress && seen.update_id == 8);
        CHECK_TEXT(rows[i].why, seen.why);
        CHECK_TEXT(rows[i].callback_id, seen.callback_id);
    }
    see_callback(PRESS
                 "," BUTTON_OF
                 "},\"data\":\"0123456789012345678901234567890123456789012345678901234567890123\"");
    CHECK(seen.is_ingress && seen.text_len == 64);
}

static void both_halves_of_a_migration_are_one_event(void)
{
    static const char *const halves[] = {
        "\"chat\":{\"id\":-55,\"type\":\"group\"},\"migrate_to_chat_id\":-100555",
        "\"chat\":{\"id\":-100555,\"type\":\"supergroup\"},\"migrate_from_chat_id\":-55",
    };
    for (size_t i = 0; i < 2; i++) {
        see_message("group", halves[i], &seen);
        CHECK(seen.is_ingress);
        CHECK_INT(SMA_EVENT_NOTE, seen.kind);
        CHECK_TEXT("-100555", seen.chat_id);
        CHECK_TEXT("telegram:chat:-100555", seen.chat_key);
        CHECK_TEXT("telegram:chat:-55", seen.migrated_from);
        CHECK_TEXT("migrate:-55", seen.event_key);
        CHECK_TEXT("supergroup", seen.chat_type);
    }
    static const char *const bad[] = {
        "\"migrate_to_chat_id\":\"-5\"",
        "\"migrate_to_chat_id\":7",
        "\"migrate_to_chat_id\":-100777",
        "\"migrate_from_chat_id\":-1.5",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++) {
        see_message("group", bad[i], &seen);
        CHECK(!seen.is_ingress);
    }
    see_message("private", "\"migrate_to_chat_id\":-5", &seen);
    CHECK(!seen.is_ingress);
}

/* Into a group, from outside; nothing else that changes its place there is worth a greeting. */
static void coming_into_a_group_is_told_from_other_changes(void)
{
    static const struct
    {
        const char *type, *before, *after;
        bool has_joined;
    } rows[] = {
        {"group", "\"left\"", "\"member\"", true},
        {"supergroup", "\"kicked\"", "\"administrator\"", true},
        {"group", "\"left\"", "\"restricted\",\"is_member\":true", true},
        {"group", "\"restricted\",\"is_member\":false", "\"member\"", true},
        {"group", "\"left\"", "\"restricted\",\"is_member\":false", false},
        {"group", "\"restricted\",\"is_member\":true", "\"member\"", false},
        {"group", "\"member\"", "\"administrator\"", false},
        {"group", "\"member\"", "\"left\"", false},
        {"group", "\"left\"", "\"left\"", false},
        {"group", "\"new\"", "\"member\"", false},
        {"channel", "\"left\"", "\"administrator\"", false},
        {"private", "\"kicked\"", "\"member\"", false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char json[512];
        snprintf(json, sizeof json,
                 "{\"update_id\":4,\"my_chat_member\":{\"chat\":{\"id\":%d,\"type\":\"%s\"},"
                 "\"date\":1750000040,\"old_chat_member\":{\"status\":%s},"
                 "\"new_chat_member\":{\"status\":%s}}}",
                 strcmp(rows[i].type, "private") == 0 ? 7 : -7, rows[i].type, rows[i].before,
                 rows[i].after);
        see(json, &seen);
        CHECK(rows[i].has_joined == (seen.is_ingress && seen.has_joined));
        CHECK_INT(rows[i].has_joined ? 1750000040000 : 0, seen.is_ingress ? seen.sent_ms : 0);
    }
}

static void other_kinds_of_updates_are_passed_by(void)
{
    static const char *const members[] = {
        "edited_message", "channel_post",     "edited_channel_post",        "inline_query",  "poll",
        "chat_member",    "message_reaction", "stopped_message_generation", "something_new",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(members); i++) {
        char json[256];
        snprintf(json, sizeof json,
                 "{\"update_id\":%zu,\"%s\":{\"chat\":{\"id\":1,\"type\":\"private\"}}}", i + 1,
                 members[i]);
        see(json, &seen);
        CHECK(!seen.is_ingress);
        CHECK_INT(i + 1, seen.update_id);
    }
    see("{\"update_id\":4,\"message\":7}", &seen);
    CHECK(!seen.is_ingress && seen.update_id == 4);
    see("{\"my_chat_member\":{\"chat\":{\"id\":1,\"type\":\"private\"}}}", &seen);
    CHECK(!seen.is_ingress);
    see("{\"update_id\":4,\"my_chat_member\":{\"chat\":{\"id\":1,\"type\":\"private\"},\"new_chat_"
        "member\":"
        "{\"status\":\"x\\\"y\"},\"old_chat_member\":{\"status\":\"left\"}}}",
        &seen);
    CHECK_TEXT("This bot's place in the chat changed from left to unknown.", seen.context);
    CHECK_TEXT("u4", seen.event_key);
}

int main(void)
{
    RUN(a_document_is_attached_and_ordered);
    RUN(each_kind_has_its_name);
    RUN(a_long_name_is_cut);
    RUN(the_largest_photo_is_taken);
    RUN(a_file_over_the_limit_is_named_not_fetched);
    RUN(photos_of_one_second_do_not_share_a_path);
    RUN(several_files_keep_their_order);
    RUN(orders_that_leave_the_folder_are_refused);
    RUN(what_is_no_file_is_noted_in_words);
    RUN(moving_pictures_and_stickers_are_fetched);
    RUN(files_of_the_answered_message_are_fetched);
    RUN(own_files_and_those_of_commands_are_not_fetched);
    RUN(files_of_both_stand_in_one_list);
    RUN(a_live_photo_is_its_photo);
    RUN(a_rich_message_gives_its_words);
    RUN(a_button_press_is_handed_on);
    RUN(a_button_press_is_answered_even_when_ignored);
    RUN(both_halves_of_a_migration_are_one_event);
    RUN(coming_into_a_group_is_told_from_other_changes);
    RUN(other_kinds_of_updates_are_passed_by);
    return check_summary();
}
