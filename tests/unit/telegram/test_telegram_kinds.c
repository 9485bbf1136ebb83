/*
 * Aim: a chat is what all its flags say; what the platform refused is remembered; names are written
 * for who reads them.
 * Method: updates as the Bot API documents them, and the simulated platform.
 */
#include "adapters/common/project_file.h"
#include "adapters/telegram/telegram_in.h"
#include "adapters/telegram/telegram_out.h"
#include "telegram_in_support.h"

#define DIRECT(who, topic)                                                                \
    "{\"update_id\":7,\"message\":{\"message_id\":5,\"date\":1750000000,"                 \
    "\"chat\":{\"id\":-1009,\"title\":\"Shop\",\"type\":\"supergroup\","                  \
    "\"is_direct_messages\":true},\"from\":{\"id\":" who ",\"first_name\":\"Kim\"}" topic \
    ",\"text\":\"where is it?\"}}"
#define TOPIC(id) ",\"direct_messages_topic\":{\"topic_id\":" id "}"

static void each_subscriber_of_a_channel_has_a_talk_of_his_own(void)
{
    struct seen kim, pat, none;
    see(DIRECT("3001", TOPIC("3001")), &kim);
    see(DIRECT("3002", TOPIC("3002")), &pat);
    CHECK_INT(SMA_ADDRESSED_PRIVATE, kim.addressed);
    CHECK(!kim.is_group);
    CHECK_TEXT("direct", kim.chat_type);
    CHECK_TEXT("3001", kim.thread_id);
    CHECK_TEXT("telegram:chat:-1009:topic:3001", kim.chat_key);
    CHECK_TEXT("telegram:chat:-1009:topic:3002", pat.chat_key);
    see(DIRECT("3003", ""), &none); /* nobody knows whose talk it is */
    CHECK(none.why[0] != '\0');
}

static void an_answer_goes_to_the_topic_of_who_asked(void)
{
    struct sma_route route = {.chat_id = SMA_STR("-1009"),
                              .chat_type = SMA_STR(TELEGRAM_DIRECT),
                              .thread_id = SMA_STR("1"),
                              .message_id = SMA_STR("5")};
    struct telegram_part part = {.kind = TELEGRAM_PART_TEXT, .plain = SMA_STR("here")};
    struct sma_buf body;
    sma_buf_init(&body, 4096);
    telegram_put_send_message(&body, &(struct telegram_send){.route = &route, .part = &part});
    CHECK_STR("{\"chat_id\":-1009,\"direct_messages_topic_id\":1,\"text\":\"here\","
              "\"link_preview_options\":{\"is_disabled\":true}}",
              sma_buf_str(&body));
    CHECK(!telegram_is_group(&route));
    sma_buf_fini(&body);
}

static void a_flag_without_a_rule_makes_a_chat_unsupported(void)
{
    static const struct
    {
        const char *flag;
        bool is_taken;
    } rows[] = {{"\"is_forum\":true", true},
                {"\"is_forum\":false", true},
                {"\"is_hologram\":true", false},
                {"\"is_hologram\":false", true},
                {"\"is_direct_messages\":false", true},
                {"\"is_community\":true", false}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char update[512];
        struct seen seen;
        snprintf(update, sizeof update,
                 "{\"update_id\":7,\"message\":{\"message_id\":5,\"date\":"
                 "1750000000,\"chat\":{\"id\":-1009,\"type\":\"supergroup\",%s},\"from\":{\"id\":3,"
                 "\"first_name\":\"Kim\"},\"text\":\"hi\"}}",
                 rows[i].flag);
        see(update, &seen);
        CHECK_INT(rows[i].is_taken, seen.why[0] == '\0');
    }
}

/* Content of a kind that nobody has written a rule for is named, never passed over in silence. */
static void content_of_unknown_kinds_is_named(void)
{
    static const char *const rows[][2] = {
        {"\"hologram\":{\"file_id\":\"x\"}", "[a message of type hologram that could not be read]"},
        {"\"text\":[\"x\"]", "[a message of type text that could not be read]"},
        {"\"reply_to_message\":{},\"quote\":{},\"smells\":[1]",
         "[a message of type smells that could not be read]"},
        {"\"forward_smell\":{},\"entities\":[],\"effect_id\":\"5\"", NULL},
        {"\"gift\":{\"gift\":{}}", NULL},
        {"\"checklist\":{\"title\":\"Move\",\"tasks\":[{\"id\":1,\"text\":\"pack\"}]}",
         "[checklist: \"Move\", \"pack\"]"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char update[512];
        struct seen seen;
        snprintf(update, sizeof update,
                 "{\"update_id\":7,\"message\":{\"message_id\":5,\"date\":1750000000,\"chat\":{"
                 "\"id\":3,\"type\":\"private\"},\"from\":{\"id\":3,\"first_name\":\"Kim\"},%s}}",
                 rows[i][0]);
        see(update, &seen);
        CHECK_INT(rows[i][1] == NULL, seen.why[0] != '\0');
        if (rows[i][1] != NULL)
            CHECK(strstr(seen.text, rows[i][1]) != NULL);
    }
}

/* A message of words is one whatever stands beside them, of today or of years to come. */
static void words_are_taken_whatever_stands_beside_them(void)
{
    static const char *const rows[] = {
        "\"entities\":\"none\"",
        "\"entities\":[{\"type\":\"custom_emoji\",\"offset\":0,\"length\":99999}]",
        "\"entities\":[{\"type\":\"mention\",\"offset\":-4,\"length\":2},null,7]",
        "\"photo\":null",
        "\"photo\":{}",
        "\"photo\":\"x\"",
        "\"reply_to_message\":7",
        "\"reply_to_message\":{\"message_id\":\"x\"}",
        "\"reply_to_message\":{\"message_id\":4,\"text\":[\"x\"]}",
        "\"quote\":{\"text\":5}",
        "\"quote\":[]",
        "\"external_reply\":{\"origin\":{\"type\":\"nova\"},\"poll\":{\"question\":\"q\"}}",
        "\"external_reply\":\"x\"",
        "\"forward_origin\":{\"type\":\"nova\",\"date\":1}",
        "\"forward_origin\":5",
        "\"story\":{\"id\":1}",
        "\"link_preview_options\":{\"url\":5}",
        "\"dice\":{\"emoji\":7}",
        "\"contact\":[]",
        "\"sender_chat\":{\"id\":5,\"type\":\"nova\"}",
        "\"via_bot\":7",
        "\"message_thread_id\":\"x\"",
        "\"edit_date\":-1",
        "\"giveaway\":{\"winner_count\":1}",
        "\"paid_media\":{\"paid_media\":[{\"type\":\"preview\"}]}",
        "\"document\":{\"file_id\":5,\"file_name\":null}",
        "\"checklist\":{\"title\":7,\"tasks\":\"x\"}",
        "\"suggested_post_info\":{\"state\":\"pending\"}",
        "\"media_group_id\":7",
        "\"caption\":5",
        "\"caption\":\"other words\"",
        "\"voice\":{\"duration\":\"long\"}",
        "\"location\":{\"latitude\":\"x\"}",
        "\"is_topic_message\":\"yes\"",
        "\"reply_to_checklist_task_id\":1",
        "\"sender_boost_count\":-1",
        "\"author_signature\":{}"};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char members[300];
        struct seen seen;
        snprintf(members, sizeof members, "\"text\":\"the words\",%s", rows[i]);
        see_message("private", members, &seen);
        if (!seen.is_ingress || strstr(seen.text, "the words") == NULL)
            fprintf(stderr, "%s: %s, \"%s\"\n", rows[i], seen.why, seen.text);
        CHECK(seen.is_ingress && strstr(seen.text, "the words") != NULL);
    }
}

/* `why` and the log find what was left out, whatever kind of update it was. */
static void what_is_left_out_is_named(void)
{
    static const char *const rows[] = {
        "\"channel_post\":{\"message_id\":5,\"chat\":{\"id\":3,\"type\":\"private\"},\"from\":{"
        "\"id\":9}}",
        "\"message_reaction\":{\"chat\":{\"id\":3,\"type\":\"private\"},\"message_id\":5,"
        "\"user\":{\"id\":9},\"new_reaction\":[]}",
        "\"business_message\":{\"message_id\":5,\"chat\":{\"id\":3,\"type\":\"private\"},\"from\":{"
        "\"id\":9}}",
        "\"hologram_of_2031\":{\"message\":{\"message_id\":5,\"chat\":{\"id\":3}},\"from\":{\"id\":"
        "9}}",
        "\"message\":{\"message_id\":5,\"chat\":{\"id\":3,\"type\":\"odd\"},\"from\":{\"id\":9}}"};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char update[512];
        struct seen seen;
        snprintf(update, sizeof update, "{\"update_id\":7,%s}", rows[i]);
        see(update, &seen);
        CHECK(seen.why[0] != '\0');
        CHECK_TEXT("telegram:chat:3", seen.chat_key);
        CHECK_TEXT("5", seen.message_id);
        CHECK_TEXT("9", seen.user_id);
    }
}

static void names_hold_nothing_that_ends_a_value(void)
{
    static const char *const rows[][2] = {{"plan;final.txt", "plan,final.txt"},
                                          {"a.txt;filename=b.exe", "a.txt,filename=b.exe"},
                                          {"x/\"q\".pdf", "_q_.pdf"},
                                          {"报告;一.pdf", "报告,一.pdf"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char name[64];
        sma_project_file_name(sma_str(rows[i][0]), name, sizeof name);
        CHECK_TEXT(rows[i][1], name);
    }
}

int main(void)
{
    RUN(each_subscriber_of_a_channel_has_a_talk_of_his_own);
    RUN(an_answer_goes_to_the_topic_of_who_asked);
    RUN(a_flag_without_a_rule_makes_a_chat_unsupported);
    RUN(content_of_unknown_kinds_is_named);
    RUN(words_are_taken_whatever_stands_beside_them);
    RUN(what_is_left_out_is_named);
    RUN(names_hold_nothing_that_ends_a_value);
    return check_summary();
}
