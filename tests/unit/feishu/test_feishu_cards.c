/*
 * Aim: what people see of a card or a rich text reaches the model, or is named as left out.
 * Method: contents as reports and the platform's documents show them, read as a quoted message.
 */
#include "event_support.h"

#include <jansson.h>
#include <stdio.h>

static void keep(void *user, const struct feishu_item *item)
{
    struct sma_buf *out = user;
    sma_buf_put_str(out, item->text);
}

/* The words that the model gets of a message with this content. */
static void read_item(struct sma_buf *out, const char *type, const char *content)
{
    const struct feishu_event_options options = {.app_id = SMA_STR("cli_1"), .now_wall_ms = 1};
    sma_buf_init(out, 1 << 20);
    json_t *item = json_pack("{s:s,s:s,s:{s:s}}", "message_id", "om_1", "msg_type", type, "body",
                             "content", content);
    CHECK(item != NULL);
    CHECK_OK(feishu_item_read(&options, item, keep, out));
    json_decref(item);
}

static void all_that_people_see_is_told(void)
{
    static const struct
    {
        const char *type, *content, *seen[8], *hidden[4];
    } rows[] = {
        {"interactive",
         "{\"schema\":\"2.0\",\"header\":{\"title\":{\"tag\":\"plain_text\",\"content\":\"ALERT "
         "checkout\"},\"subtitle\":{\"tag\":\"plain_text\",\"content\":\"zone b\"},\"template\":"
         "\"red\"},\"body\":{\"elements\":[{\"tag\":\"markdown\",\"content\":\"**Severity**: P1\"},"
         "{\"tag\":\"div\",\"text\":{\"tag\":\"lark_md\",\"content\":\"trace ab12\"},\"fields\":[{"
         "\"is_short\":true,\"text\":{\"tag\":\"lark_md\",\"content\":\"owner payments\"}}]},{"
         "\"tag\":\"column_set\",\"columns\":[{\"tag\":\"column\",\"width\":\"weighted\","
         "\"elements\":[{\"tag\":\"markdown\",\"content\":\"deep down\"}]}]},{\"tag\":\"button\","
         "\"text\":{\"tag\":\"plain_text\",\"content\":\"Acknowledge\"},\"value\":{\"secret\":"
         "\"nobody sees\"}}]}}",
         {"ALERT checkout", "zone b", "**Severity**: P1", "trace ab12", "owner payments",
          "deep down", "Acknowledge", NULL},
         {"nobody sees", "weighted", "red", NULL}},
        {"interactive",
         "{\"header\":{\"title\":{\"content\":\"Old\"}},\"i18n_elements\":{\"zh_cn\":[{\"tag\":"
         "\"note\",\"elements\":[{\"tag\":\"plain_text\",\"content\":\"小字\"}]}],\"en_us\":[{"
         "\"tag\":\"note\",\"elements\":[{\"tag\":\"plain_text\",\"content\":\"small\"}]}]}}",
         {"Old", "小字", NULL},
         {"small", NULL}},
        {"interactive",
         "{\"elements\":[{\"tag\":\"collapsible_panel\",\"header\":{\"title\":{\"content\":"
         "\"stack\"}},\"elements\":[{\"tag\":\"form\",\"elements\":[{\"tag\":\"input\",\"label\":{"
         "\"content\":\"Your name\"},\"placeholder\":{\"content\":\"Jo\"}},{\"tag\":\"select_"
         "static\",\"options\":[{\"text\":{\"content\":\"red\"},\"value\":\"r\"}]}]}]},{\"tag\":"
         "\"img\",\"img_key\":\"img_v3_1\",\"alt\":{\"content\":\"the graph\"}},{\"tag\":\"table\","
         "\"columns\":[{\"name\":\"c\",\"display_name\":\"City\"}],\"rows\":[{\"c\":\"Ulm\"}]}]}",
         {"stack", "Your name", "Jo", "red", "[img that is left out]", "the graph", "City", "Ulm"},
         {"img_v3_1", NULL}},
        {"interactive",
         "{\"user_dsl\":\"{\\\"elements\\\":[{\\\"tag\\\":\\\"markdown\\\","
         "\\\"content\\\":\\\"inside\\\"}]}\"}",
         {"inside", NULL},
         {"user_dsl", NULL}},
        {"interactive",
         "{\"title\":null,\"elements\":[[{\"tag\":\"img\",\"image_key\":\"img_v3_stub\"},{\"tag\":"
         "\"text\",\"text\":\"请升级至最新版本客户端，以查看内容\"}]]}",
         {"[a card whose content the platform does not give out]", NULL},
         {"请升级", "image", NULL}},
        {"interactive",
         "{}",
         {"[a card whose content the platform does not give out]", NULL},
         {NULL}},
        {"interactive",
         "{\"title\":\"CI\",\"elements\":[[{\"tag\":\"text\",\"text\":\"job failed\"}],[{\"tag\":"
         "\"a\",\"href\":\"https://ci.example/7\",\"text\":\"open\"},{\"tag\":\"button\",\"text\":"
         "\"Retry\"},{\"tag\":\"select_static\",\"options\":[\"one\",\"two\"]}]]}",
         {"CI", "job failed", "[open](https://ci.example/7)", "Retry", "one", "two", NULL},
         {NULL}},
        {"post",
         "{\"content\":[[{\"tag\":\"text\",\"text\":\"see\"},{\"tag\":\"file\",\"file_key\":"
         "\"file_1\",\"file_name\":\"plan.pdf\"},{\"tag\":\"never_seen\",\"words\":\"yet "
         "said\"}]]}",
         {"see", "[file: plan.pdf]", "[never_seen yet said]", NULL},
         {NULL}},
        {"vote",
         "{\"topic\":\"Lunch?\",\"options\":[\"rice\",{\"text\":\"noodles\"}]}",
         {"Lunch?", "rice", "noodles", NULL},
         {NULL}},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_buf out;
        read_item(&out, rows[i].type, rows[i].content);
        for (size_t k = 0; k < 8 && rows[i].seen[k] != NULL; k++) {
            if (strstr(out.ptr, rows[i].seen[k]) == NULL)
                fprintf(stderr, "%zu: no \"%s\" in:\n%s\n", i, rows[i].seen[k], out.ptr);
            CHECK(strstr(out.ptr, rows[i].seen[k]) != NULL);
        }
        for (size_t k = 0; k < 4 && rows[i].hidden[k] != NULL; k++)
            CHECK(strstr(out.ptr, rows[i].hidden[k]) == NULL);
        sma_buf_fini(&out);
    }
}

/* A card that nobody would read to its end costs no more than its bound, and says so. */
static void what_is_endless_is_cut_and_named(void)
{
    struct sma_buf card, out;
    sma_buf_init(&card, 1 << 20);
    sma_buf_put_text(&card, "{\"body\":{\"elements\":[");
    for (int i = 0; i < 5000; i++)
        sma_buf_printf(&card, "%s{\"tag\":\"markdown\",\"content\":\"row %d\"}", i == 0 ? "" : ",",
                       i);
    sma_buf_put_text(&card, "]}}");
    read_item(&out, "interactive", card.ptr);
    CHECK(strstr(out.ptr, "row 0\n") != NULL && strstr(out.ptr, "row 4999") == NULL);
    CHECK(strstr(out.ptr, "[more of the card is left out]") != NULL);
    sma_buf_fini(&card);
    sma_buf_fini(&out);
}

/* -- messages that are read later -------------------------------------------------------------- */
static void print_item(void *user, const struct feishu_item *item)
{
    struct sma_buf *out = user;
    sma_buf_printf(out, "%s%s%.*s: %.*s|%.*s", item->is_ours ? "our " : "",
                   item->is_program ? "app " : "", (int)item->sender_id.len, item->sender_id.ptr,
                   (int)item->text.len, item->text.len == 0 ? "" : item->text.ptr,
                   (int)item->lines.len, item->lines.len == 0 ? "" : item->lines.ptr);
    CHECK((item->lines.len > 0) == (item->preparation.len > 0));
}

static void an_older_message_is_read_like_a_new_one(void)
{
    static const struct
    {
        const char *item, *wanted; /* NULL: BADINPUT */
    } rows[] = {
        {"{\"message_id\":\"om_2\",\"msg_type\":\"text\",\"create_time\":\"1763755000000\","
         "\"sender\":"
         "{\"id\":\"ou_a\",\"id_type\":\"open_id\",\"sender_type\":\"user\"},\"mentions\":[{"
         "\"key\":"
         "\"@_user_1\",\"id\":\"ou_t\",\"name\":\"Tom\"}],\"body\":{\"content\":\"{\\\"text\\\":"
         "\\\"hi @_user_1\\\"}\"}}",
         "ou_a: hi @Tom|"},
        {"{\"message_id\":\"om_2\",\"msg_type\":\"text\",\"sender\":{\"id\":\"cli_"
         "0123456789abcdef\","
         "\"id_type\":\"app_id\",\"sender_type\":\"app\"},\"body\":{\"content\":\"{\\\"text\\\":"
         "\\\"me\\\"}\"}}",
         "our app cli_0123456789abcdef: me|"},
        {"{\"message_id\":\"om_2\",\"deleted\":true,\"msg_type\":\"text\",\"body\":{\"content\":\"{"
         "}\"}}",
         NULL},
        {"{\"message_id\":\"om_2\",\"msg_type\":\"text\",\"body\":{\"content\":\"x\"}}",
         ": [a message of type text that could not be read: x]|"},
        {"{}", NULL},
        {"5", NULL},
    };
    const struct feishu_event_options options = {.app_id = SMA_STR("cli_0123456789abcdef"),
                                                 .now_wall_ms = NOW_MS};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_buf out;
        sma_buf_init(&out, 4096);
        json_t *json = json_loads(rows[i].item, JSON_DECODE_ANY, NULL);
        CHECK(json != NULL);
        enum sma_err err = feishu_item_read(&options, json, print_item, &out);
        CHECK_ERR(rows[i].wanted == NULL ? SMA_ERR_BADINPUT : SMA_ERR_OK, err);
        CHECK_STR(rows[i].wanted == NULL ? "" : rows[i].wanted, sma_buf_str(&out));
        sma_buf_fini(&out);
        json_decref(json);
    }
}

/* The same path as when the message came by itself: what is there is not fetched again. */
static void a_file_has_one_path_whoever_points_at_it(void)
{
    struct seen seen = message("p2p", "image", "{\"image_key\":\"img_1\"}", NULL, "");
    const struct feishu_event_options options = {.now_wall_ms = NOW_MS};
    struct sma_buf out;
    sma_buf_init(&out, 4096);
    json_t *json = json_loads(
        "{\"message_id\":\"om_1\",\"msg_type\":\"image\",\"create_time\":\"1763755000123\","
        "\"sender\":{\"id\":\"ou_user\"},\"body\":{\"content\":\"{\\\"image_key\\\":\\\"img_1\\\"}"
        "\"}}",
        0, NULL);
    CHECK_OK(feishu_item_read(&options, json, print_item, &out));
    CHECK(strstr(out.ptr, seen.text) != NULL);
    sma_buf_fini(&out);
    json_decref(json);
}

int main(void)
{
    RUN(an_older_message_is_read_like_a_new_one);
    RUN(a_file_has_one_path_whoever_points_at_it);
    RUN(all_that_people_see_is_told);
    RUN(what_is_endless_is_cut_and_named);
    return check_summary();
}
