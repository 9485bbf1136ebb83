/* test_feishu_slow.c — the long connection and deliveries where time itself is what counts. */
#include "actor_world.h"

#define MESSAGES "/open-apis/im/v1/messages"
#define RESOURCE MESSAGES "/om_1/resources/"
#define FILE_A                                                                           \
    "{\"kind\":\"document\",\"message_id\":\"om_1\",\"file_key\":\"file_aaa\",\"path\":" \
    "\".ship/.cache/feishu/1763755000000-file_aaa-0011223344556677-a.txt\",\"name\":\"a.txt\"}"

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

static void connect_world(const char *members)
{
    world_open(members);
    WORLD_WAIT(platform_is_connected());
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

static void a_silent_connection_is_replaced(void)
{
    platform_start();
    platform_config(1, 1, 1);
    platform_answer_pings(false);
    world_open("");
    WORLD_WAIT(ws_server_accepted_count(platform_server()) >= 2);
    CHECK(platform_ping_count() >= 2);
    platform_answer_pings(true);
    WORLD_WAIT(platform_is_connected());
    world_close();
}

static void a_frozen_connection_is_replaced(void)
{
    platform_start();
    platform_config(1, 1, 1);
    connect_world("");
    ws_server_freeze(platform_server(), ws_server_newest(platform_server()), true);
    WORLD_WAIT(ws_server_accepted_count(platform_server()) >= 2);
    platform_send_event("m1", platform_text_event("om_1", "hello"), 1, NULL);
    WORLD_WAIT(platform_ack_count() == 1);
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

static void a_passing_refusal_is_tried_again(void)
{
    platform_start();
    platform_refuse_upgrades(503, "");
    platform_script("POST", "/callback/ws/endpoint", 1, 200, "",
                    "{\"code\":1,\"msg\":\"busy\",\"data\":{}}");
    world_open("");
    WORLD_WAIT(platform_count("POST", "/callback/ws/endpoint") >= 3);
    platform_refuse_upgrades(0, "");
    WORLD_WAIT(platform_is_connected());
    world_close();
}

static void a_rate_limit_is_waited_for(void)
{
    uint64_t row;
    world_open("");
    platform_script("POST", MESSAGES, 1, 429,
                    "X-Ogw-Ratelimit-Limit: 5\r\nX-Ogw-Ratelimit-Reset: 1\r\n",
                    "{\"code\":99991400,\"msg\":\"request trigger frequency limit\"}");
    send_in_private(1, "hello", &row);
    WORLD_WAIT(platform_count("POST", MESSAGES) == 1);
    world_rest(500);
    CHECK_INT(1, platform_count("POST", MESSAGES));
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
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

static void uploads_that_fail_send_nothing_and_are_repeated(void)
{
    uint64_t row;
    world_open("");
    write_file("a.txt", "text");
    platform_script("POST", "/open-apis/im/v1/files", 1, 500, "", "");
    send_in_private(1, "@attach document a.txt", &row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    CHECK_INT(2, platform_count("POST", "/open-apis/im/v1/files"));
    CHECK_INT(1, platform_count("POST", MESSAGES));
    world_close();
}

static void a_token_is_renewed_before_its_end(void)
{
    uint64_t row;
    platform_start();
    platform_token_life(2);
    world_open("");
    WORLD_WAIT(platform_count("POST", "/open-apis/auth/") >= 2);
    send_in_private(1, "hello", &row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    CHECK_INT(1, platform_count("POST", MESSAGES));
    world_close();
}

static void sends_wait_for_the_first_token(void)
{
    uint64_t row;
    platform_start();
    platform_script("POST", "/open-apis/auth/", 1, 500, "", "oops");
    world_open("");
    send_in_private(1, "hello", &row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    CHECK_INT(1, platform_count("POST", MESSAGES));
    world_close();
}

static void a_download_that_stalls_is_begun_again(void)
{
    struct world_prepared prepared;
    world_open("");
    platform_script("GET", RESOURCE, 1, 0, "", "");
    uint64_t seq = world_prepare("[" FILE_A "]", WORLD_CHAT, "", false);
    WORLD_WAIT(world_has_prepared(seq, &prepared)); /* long before the message may wait no more */
    CHECK_TEXT("", prepared.context);
    CHECK_INT(2, platform_count("GET", RESOURCE));
    world_close();
}

/* Half-open, then broken: who manages the group is known all the same. */
static void a_role_that_was_not_answered_is_asked_for_again(void)
{
    struct world_prepared prepared;
    world_open("");
    platform_script("GET", "/open-apis/im/v1/chats/", 1, 0, "", "");
    platform_script("GET", "/open-apis/im/v1/chats/", 1, 500, "", "");
    uint64_t seq = world_prepare("", WORLD_GROUP, WORLD_ADA, true);
    WORLD_WAIT(world_has_prepared(seq, &prepared));
    CHECK_INT(SMA_ROLE_ADMIN, prepared.role);
    CHECK_INT(3, platform_count("GET", "/open-apis/im/v1/chats/"));
    world_close();
}

int main(void)
{
    RUN(a_late_verdict_is_not_an_acknowledgement);
    RUN(a_silent_connection_is_replaced);
    RUN(a_frozen_connection_is_replaced);
    RUN(an_answered_ping_keeps_it_open);
    RUN(a_passing_refusal_is_tried_again);
    RUN(a_rate_limit_is_waited_for);
    RUN(an_unknown_outcome_is_repeated_under_the_same_uuid);
    RUN(uploads_that_fail_send_nothing_and_are_repeated);
    RUN(a_token_is_renewed_before_its_end);
    RUN(sends_wait_for_the_first_token);
    RUN(a_download_that_stalls_is_begun_again);
    RUN(a_role_that_was_not_answered_is_asked_for_again);
    return check_summary();
}
