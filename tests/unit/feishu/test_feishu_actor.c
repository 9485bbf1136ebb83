/* test_feishu_actor.c — the long connection: what is acknowledged, and when; how it is lost and
 * found again. */
#include "actor_world.h"

#include "sma/health.h"

#define BUTTON                                                                                    \
    "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"ev_button\",\"event_type\":\"card.action."    \
    "trigger\","                                                                                  \
    "\"create_time\":\"1763755000000000\",\"token\":\"vt\",\"app_id\":\"cli_0123456789abcdef\"}," \
    "\"event\":{"                                                                                 \
    "\"operator\":{\"open_id\":\"" WORLD_ADA                                                      \
    "\"},\"token\":\"c-1\",\"action\":{\"value\":{\"k\":\"v\"},\"tag\":"                          \
    "\"button\"},\"host\":\"im_message\",\"context\":{\"open_message_id\":\"om_1\",\"open_chat_"  \
    "id\":\"" WORLD_CHAT "\"}}}"

static void connect_world(const char *members)
{
    world_open(members);
    WORLD_WAIT(platform_is_connected());
}

static void an_event_is_acknowledged_when_it_is_durable(void)
{
    connect_world("");
    world_hold(true);
    platform_send_event("m1", platform_text_event("om_1", "hello"), 1, NULL);
    WORLD_WAIT(world_event_count() == 1);
    world_rest(100);
    CHECK_INT(0, platform_ack_count());
    world_hold(false);
    WORLD_WAIT(platform_ack_count() == 1);
    struct platform_ack ack = platform_ack_at(0);
    CHECK_STR("m1", sma_str(ack.message_id));
    CHECK_INT(200, ack.code);
    CHECK(ack.has_run_time);
    CHECK_STR("hello", sma_str(world_event_at(0).text));
    CHECK_STR("feishu:chat:" WORLD_CHAT, sma_str(world_event_at(0).chat_key));
    CHECK_STR("om_1", sma_str(world_event_at(0).event_key));
    CHECK_INT(SMA_ADDRESSED_PRIVATE, world_event_at(0).addressed);
    world_close();
}

static void a_refused_event_is_not_acknowledged(void)
{
    connect_world("");
    world_refuse(0, 1);
    platform_send_event("m1", platform_text_event("om_1", "one"), 1, NULL);
    WORLD_WAIT(world_event_count() == 1);
    platform_send_event("m2", platform_text_event("om_2", "two"), 1, NULL);
    WORLD_WAIT(platform_ack_count() == 1);
    CHECK_STR("m2", sma_str(platform_ack_at(0).message_id));
    platform_send_event("m3", platform_text_event("om_1", "one"), 1, NULL); /* brought again */
    WORLD_WAIT(platform_ack_count() == 2);
    CHECK_STR("m3", sma_str(platform_ack_at(1).message_id));
    world_close();
}

static void what_is_of_no_interest_is_acknowledged_at_once(void)
{
    connect_world("");
    world_hold(true);
    platform_send_event("m1",
                        "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"e\",\"event_type\":"
                        "\"im.message.message_read_v1\"},\"event\":{}}",
                        1, NULL);
    platform_send_event("m2", "this is no event", 1, NULL);
    WORLD_WAIT(platform_ack_count() == 2);
    CHECK_STR("m1", sma_str(platform_ack_at(0).message_id));
    CHECK_STR("m2", sma_str(platform_ack_at(1).message_id));
    CHECK_INT(200, platform_ack_at(1).code);
    CHECK_INT(0, world_event_count());
    world_close();
}

static void split_events_are_joined_and_answered_once(void)
{
    static const size_t order[] = {2, 0, 4, 1, 3};
    connect_world("");
    platform_send_event(
        "m1", platform_text_event("om_1", "\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8\x96\xe7\x95\x8c"), 5,
        order);
    WORLD_WAIT(platform_ack_count() == 1);
    CHECK_INT(1, world_event_count());
    CHECK_STR("\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8\x96\xe7\x95\x8c", sma_str(world_event_at(0).text));
    world_rest(50);
    CHECK_INT(1, platform_ack_count());
    world_close();
}

static void a_button_is_answered_with_a_toast(void)
{
    connect_world("");
    platform_send_event("m1", BUTTON, 1, NULL);
    WORLD_WAIT(platform_ack_count() == 1);
    CHECK_INT(SMA_EVENT_CALLBACK, world_event_at(0).kind);
    CHECK(strlen(platform_ack_at(0).data) > 20);
    world_refuse(0, 1); /* it is not brought again, so the person is told */
    platform_send_event("m2", BUTTON, 1, NULL);
    WORLD_WAIT(platform_ack_count() == 2);
    CHECK_INT(200, platform_ack_at(1).code);
    CHECK(strcmp(platform_ack_at(0).data, platform_ack_at(1).data) != 0);
    world_close();
}

static void a_lost_connection_comes_back_with_a_new_ticket(void)
{
    connect_world("");
    world_hold(true);
    platform_send_event("m1", platform_text_event("om_1", "in flight"), 1, NULL);
    WORLD_WAIT(world_event_count() == 1);
    ws_server_reset(platform_server(), 0);
    WORLD_WAIT(ws_server_accepted_count(platform_server()) == 2);
    CHECK_INT(2, platform_count("POST", "/callback/ws/endpoint"));
    world_hold(false);
    world_rest(100); /* its connection is gone: nothing is acknowledged on another */
    CHECK_INT(0, platform_ack_count());
    platform_send_event("m2", platform_text_event("om_1", "in flight"), 1, NULL);
    WORLD_WAIT(platform_ack_count() == 1);
    ws_server_close(platform_server(), 0, 1000, "bye");
    WORLD_WAIT(ws_server_accepted_count(platform_server()) == 3);
    world_close();
}

static void a_refused_handshake_says_why(void)
{
    platform_start();
    platform_refuse_upgrades(
        403, "Handshake-Status: 514\r\nHandshake-Msg: too many\r\nHandshake-Autherrcode: "
             "1000040350\r\n");
    world_open("");
    WORLD_WAIT(world_log_count("too many") == 1);
    world_rest(300); /* for good: no hammering */
    CHECK_INT(1, platform_count("POST", "/callback/ws/endpoint"));
    struct sma_buf trouble;
    sma_buf_init(&trouble, 4096);
    sma_health_format(&trouble); /* what status shows */
    CHECK(strstr(trouble.ptr, "\"feishu\":\"") != NULL && strstr(trouble.ptr, "too many") != NULL);
    sma_buf_fini(&trouble);
    world_close();
}

static void a_wrong_secret_is_said_once_and_not_hammered(void)
{
    platform_start();
    platform_script("POST", "/open-apis/auth/", 100, 400, "",
                    "{\"code\":10014,\"msg\":\"app secret invalid\"}");
    world_open("");
    WORLD_WAIT(world_log_count("trying again every 600 s") == 1);
    world_rest(300);
    CHECK_INT(1, platform_count("POST", "/open-apis/auth/"));
    CHECK_INT(0, platform_count("POST", "/callback/ws/endpoint"));
    WORLD_WAIT(world_log_count("trying again every 600 s") == 1);
    world_close();
}

static void a_known_bot_need_not_wait(void)
{
    connect_world("");
    world_stop();
    platform_script("GET", "/open-apis/bot/", 100, 0, "", ""); /* never answered any more */
    connect_world("");
    platform_send_event(
        "m1",
        "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"e1\",\"event_type\":\"im.message.receive_"
        "v1\"},"
        "\"event\":{\"sender\":{\"sender_id\":{\"open_id\":\"" WORLD_ADA
        "\"},\"sender_type\":\"user\"},\"message\":{\"message_id\":\"om_9\",\"chat_id\":"
        "\"" WORLD_GROUP "\",\"chat_type\":\"group\",\"message_type\":\"text\",\"content\":\"{"
        "\\\"text\\\":\\\"@_user_1 "
        "hi\\\"}\",\"mentions\":[{\"key\":\"@_user_1\",\"id\":{\"open_id\":\"" WORLD_BOT
        "\"},\"name\":\"Ship\"}]}}}",
        1, NULL);
    WORLD_WAIT(platform_ack_count() == 1);
    CHECK_INT(SMA_ADDRESSED_MENTION, world_event_at(0).addressed);
    world_close();
}

static void garbage_is_survived(void)
{
    connect_world("");
    ws_server_send(platform_server(), 0, SMA_STR("\xff\xff\xff\xff"), true);
    ws_server_send(platform_server(), 0, SMA_STR("text"), false);
    platform_send_event("m1", platform_text_event("om_1", "still here"), 1, NULL);
    WORLD_WAIT(platform_ack_count() == 1);
    CHECK_INT(1, ws_server_accepted_count(platform_server()));
    world_close();
}

static void no_room_at_the_store_stops_reading(void)
{
    connect_world("");
    world_hold(true);
    char name[32];
    for (unsigned i = 0; i < 600; i++) {
        snprintf(name, sizeof name, "om_%u", i);
        platform_send_event(name, platform_text_event(name, "x"), 1, NULL);
    }
    WORLD_WAIT(world_event_count() == 512);
    world_rest(50);
    CHECK_INT(512, world_event_count());
    world_hold(false);
    WORLD_WAIT(world_event_count() == 600);
    CHECK_INT(1, ws_server_accepted_count(platform_server()));
    world_close();
}

static void the_end_waits_for_verdicts(void)
{
    connect_world("");
    platform_send_event("m1", platform_text_event("om_1", "last"), 1, NULL);
    WORLD_WAIT(platform_ack_count() == 1);
    world_stop(); /* orderly, with its connection open */
    WORLD_WAIT(ws_server_open_count(platform_server()) == 0);
    world_clean();
}

/* -- bytes of requests (what people see: tests/talks/feishu_forms) ----------------------------- */
#define MESSAGES "/open-apis/im/v1/messages"

static struct world_receipt receipt_of(uint64_t row)
{
    struct world_receipt receipt;
    WORLD_WAIT(world_has_receipt(row, &receipt));
    return receipt;
}

static void send_in_private(uint64_t seq, const char *text, uint64_t *ret_row)
{
    *ret_row = world_deliver(seq, WORLD_CHAT, "p2p", "om_asked", text);
}

static bool holds(const struct platform_request *request, const char *text)
{
    return strstr(request->body, text) != NULL;
}

static void write_file(const char *name, const char *content)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", world_dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(fputs(content, file) >= 0);
    CHECK(fclose(file) == 0);
}

static void private_chats_get_a_message_groups_a_reply(void)
{
    uint64_t row;
    world_open("");
    send_in_private(1, "hello", &row);
    struct world_receipt receipt = receipt_of(row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    CHECK_TEXT("om_sent_1", receipt.platform_id);
    struct platform_request request = platform_request_at("POST", MESSAGES, 0);
    CHECK_TEXT(MESSAGES "?receive_id_type=chat_id", request.path);
    CHECK(holds(&request, "\"receive_id\":\"" WORLD_CHAT "\""));
    CHECK(holds(&request, "\"uuid\":\"sma-1-0\""));
    CHECK(holds(&request, "\"msg_type\":\"text\""));
    row = world_deliver(2, WORLD_GROUP, "group", "om_asked",
                        "# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |");
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    request = platform_request_at("POST", MESSAGES, 1);
    CHECK_TEXT(MESSAGES "/om_asked/reply", request.path);
    CHECK(holds(&request, "\"msg_type\":\"interactive\""));
    CHECK(holds(&request, "\"uuid\":\"sma-2-0\""));
    world_close();
}

/* The platform knows the uuid from another chat, of whatever state: nothing was sent here. */
static void an_answer_of_another_chat_is_not_believed(void)
{
    static const char known[] =
        "{\"code\":0,\"data\":{\"message_id\":\"om_of_bob\",\"chat_id\":\"oc_bob\"}}";
    uint64_t row;
    world_open("");
    platform_script("POST", MESSAGES, 1, 200, "", known);
    send_in_private(1, "hello", &row);
    struct world_receipt receipt = receipt_of(row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    CHECK(strstr(receipt.platform_id, "om_sent_") == receipt.platform_id);
    CHECK_INT(2, platform_count("POST", MESSAGES));
    struct platform_request second = platform_request_at("POST", MESSAGES, 1);
    CHECK(holds(&second, "\"uuid\":\"sma-1-0-2\"")); /* always the same, so at most one message */
    platform_script("POST", MESSAGES, 2, 200, "", known);
    send_in_private(2, "hello again", &row);
    receipt = receipt_of(row);
    CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
    CHECK(strstr(receipt.error, "another chat") != NULL);
    CHECK_INT(4, platform_count("POST", MESSAGES));
    world_close();
}

/* Each piece under a uuid of its own, so that none is taken for a repeat of the one before. */
static void what_is_too_long_arrives_in_pieces(void)
{
    uint64_t row;
    char text[401] = "", half[202] = "";
    memset(text, 'x', 200);
    memset(text + 200, 'y', 200);
    world_open("");
    platform_script("POST", MESSAGES, 1, 400, "", "{\"code\":230025,\"msg\":\"long\"}");
    send_in_private(1, text, &row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    CHECK_INT(3, platform_count("POST", MESSAGES));
    struct platform_request first = platform_request_at("POST", MESSAGES, 1),
                            second = platform_request_at("POST", MESSAGES, 2);
    memset(half, 'x', 200);
    CHECK(holds(&first, half) && !holds(&first, "yy"));
    memset(half, 'y', 200);
    CHECK(holds(&second, half) && !holds(&second, "xx"));
    CHECK(holds(&first, "\"uuid\":\"sma-1-0\"") && holds(&second, "\"uuid\":\"sma-1-0-b\""));
    world_close();
}

/* The program was updated while the row was half sent: its parts had another form, and were cut
 * otherwise. What is left is delivered all the same. */
static void a_row_begun_by_an_older_version_is_finished(void)
{
    world_open("");
    write_file("report.pdf", "%PDF-1.4 report");
    uint64_t row = world_give(&(struct world_order){.kind = WORLD_DELIVER,
                                                    .seq = 1,
                                                    .renderer_version = 1,
                                                    .part_done_count = 2,
                                                    .is_repeat = true,
                                                    .chat = WORLD_CHAT,
                                                    .chat_type = "p2p",
                                                    .text = "Here it is.\n"
                                                            "@attach file report.pdf | A report"});
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    CHECK_INT(1, platform_count("POST", "/open-apis/im/v1/files"));
    CHECK_INT(1, platform_count("POST", MESSAGES)); /* text and caption had gone out before */
    struct platform_request message = platform_request_at("POST", MESSAGES, 0);
    CHECK(holds(&message, "\"msg_type\":\"file\"") && holds(&message, "\"uuid\":\"sma-1-2\""));
    WORLD_WAIT(world_log_count("cut by an older version of adapter feishu") == 1);
    world_close();
}

static void an_unknown_outcome_is_repeated_under_the_same_uuid(void)
{
    uint64_t row;
    world_open("");
    platform_script("POST", MESSAGES, 1, -1, "", "");
    platform_script("POST", MESSAGES, 1, 502, "", "<html>bad gateway</html>");
    send_in_private(1, "hello", &row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    size_t count = platform_count("POST", MESSAGES);
    CHECK(count >= 3);
    for (size_t i = 0; i < count; i++) {
        struct platform_request request = platform_request_at("POST", MESSAGES, i);
        CHECK(holds(&request, "\"uuid\":\"sma-1-0\""));
    }
    world_deliver_again(row, 1, WORLD_CHAT, "p2p", "", "hello"); /* as after a crash */
    WORLD_WAIT(platform_count("POST", MESSAGES) == count + 1);
    struct platform_request request = platform_request_at("POST", MESSAGES, count);
    CHECK(holds(&request, "\"uuid\":\"sma-1-0\""));
    (void)receipt_of(row);
    world_close();
}

static void a_late_verdict_is_not_an_acknowledgement(void)
{
    connect_world("");
    world_hold(true);
    platform_send_event("m1", platform_text_event("om_1", "late"), 1, NULL);
    WORLD_WAIT(world_event_count() == 1);
    world_rest(2700);
    world_hold(false);
    platform_send_event("m2", platform_text_event("om_2", "in time"), 1, NULL);
    WORLD_WAIT(platform_ack_count() == 1);
    CHECK_STR("m2", sma_str(platform_ack_at(0).message_id));
    world_close();
}

static void an_answered_ping_keeps_it_open(void)
{
    platform_start();
    platform_config(1, 1, 1);
    connect_world("");
    WORLD_WAIT(platform_ping_count() >= 3);
    CHECK_INT(1, ws_server_accepted_count(platform_server()));
    platform_pong("{\"PingInterval\":3600}");
    platform_pong("not json");
    world_rest(20);
    CHECK_INT(1, ws_server_accepted_count(platform_server()));
    world_close();
}

/* -- cards of runs (the rest: tests/talks/feishu_progress.talk) -------------------------------- */
#define OLD ",\"streaming\":\"off\"" /* cards that are not typed into */

static void a_short_run_shows_no_card(void)
{
    world_open(OLD);
    WORLD_WAIT(platform_is_connected());
    world_progress(1, SMA_PROGRESS_STARTED, WORLD_CHAT, "");
    uint64_t row = world_deliver(1, WORLD_CHAT, "p2p", "", "hello");
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    world_progress(1, SMA_PROGRESS_FINISHED, WORLD_CHAT, "");
    world_rest(2500);
    CHECK_INT(1, platform_count("POST", MESSAGES));
    CHECK_INT(0, platform_count("PATCH", MESSAGES));
    world_close();
}

/* It may be on its way: under another uuid it would be a second card. */
static void a_card_of_the_version_before_keeps_its_uuid(void)
{
    char path[300];
    world_open(OLD);
    WORLD_WAIT(platform_is_connected());
    world_stop();
    snprintf(path, sizeof path, "%s/.ship/.cache/feishu/progress.json", world_dir);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fprintf(file,
            "[\n{\"seq\":7,\"chat\":\"" WORLD_CHAT "\",\"reply\":\"\",\"thread\":0,\"card\":\"\","
            "\"at\":%lld,\"outbox\":0}]\n",
            clock_wall_s() * 1000);
    CHECK(fclose(file) == 0);
    world_open(OLD);
    world_progress(7, SMA_PROGRESS_TEXT, WORLD_CHAT, "so far");
    WORLD_WAIT(platform_count("POST", MESSAGES) == 1);
    struct platform_request card = platform_request_at("POST", MESSAGES, 0);
    CHECK(holds(&card, "\"uuid\":\"sma-card-7\""));
    world_close();
}

/* As if the platform knew the uuid from there: nothing may be changed or deleted in that chat. */
static void a_card_in_another_chat_is_not_believed(void)
{
    platform_start();
    platform_script("POST", MESSAGES, 1, 200, "",
                    "{\"code\":0,\"data\":{\"message_id\":\"om_of_bob\",\"chat_id\":\"oc_bob\"}}");
    world_open(OLD);
    world_progress(7, SMA_PROGRESS_STARTED, WORLD_CHAT, "");
    world_progress(7, SMA_PROGRESS_TEXT, WORLD_CHAT, "so far");
    WORLD_WAIT(platform_count("POST", MESSAGES) == 1);
    uint64_t row = world_deliver(7, WORLD_CHAT, "p2p", "", "the answer");
    struct world_receipt receipt = receipt_of(row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    CHECK(strcmp("om_of_bob", receipt.platform_id) != 0);
    world_progress(7, SMA_PROGRESS_FINISHED, WORLD_CHAT, "");
    world_rest(300);
    CHECK_INT(0, platform_count("PATCH", MESSAGES));
    CHECK_INT(0, platform_count("DELETE", MESSAGES));
    CHECK_INT(2, platform_count("POST", MESSAGES));
    world_close();
}

int main(void)
{
    RUN(an_event_is_acknowledged_when_it_is_durable);
    RUN(a_refused_event_is_not_acknowledged);
    RUN(what_is_of_no_interest_is_acknowledged_at_once);
    RUN(split_events_are_joined_and_answered_once);
    RUN(a_button_is_answered_with_a_toast);
    RUN(a_lost_connection_comes_back_with_a_new_ticket);
    RUN(garbage_is_survived);
    RUN(no_room_at_the_store_stops_reading);
    RUN(a_known_bot_need_not_wait);
    RUN(the_end_waits_for_verdicts);
    RUN(a_refused_handshake_says_why);
    RUN(a_wrong_secret_is_said_once_and_not_hammered);
    RUN(private_chats_get_a_message_groups_a_reply);
    RUN(an_answer_of_another_chat_is_not_believed);
    RUN(what_is_too_long_arrives_in_pieces);
    RUN(a_row_begun_by_an_older_version_is_finished);
    RUN(an_unknown_outcome_is_repeated_under_the_same_uuid);
    RUN(a_late_verdict_is_not_an_acknowledgement);
    RUN(an_answered_ping_keeps_it_open);
    RUN(a_short_run_shows_no_card);
    RUN(a_card_of_the_version_before_keeps_its_uuid);
    RUN(a_card_in_another_chat_is_not_believed);
    return check_summary();
}
