/* test_feishu_send.c — attempts: one message a part, one answer, the same uuid whatever happens. */
#include "actor_world.h"

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

static void a_refused_card_goes_as_text(void)
{
    world_open("");
    platform_script("POST", MESSAGES, 1, 400, "",
                    "{\"code\":230099,\"msg\":\"ext=ErrCode: 11310; ErrMsg: table;\"}");
    uint64_t row = world_deliver(1, WORLD_CHAT, "p2p", "", "**bold** and `code`\n\n- a\n- b");
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    CHECK_INT(2, platform_count("POST", MESSAGES));
    struct platform_request first = platform_request_at("POST", MESSAGES, 0),
                            second = platform_request_at("POST", MESSAGES, 1);
    CHECK(holds(&first, "interactive") && holds(&first, "\"uuid\":\"sma-1-0\""));
    CHECK(holds(&second, "\"msg_type\":\"text\"") && holds(&second, "\"uuid\":\"sma-1-0\""));
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

static void a_recalled_question_is_answered_all_the_same(void)
{
    world_open("");
    platform_script("POST", MESSAGES "/om_gone/reply", 1, 400, "",
                    "{\"code\":230011,\"msg\":\"recalled\"}");
    uint64_t row = world_deliver(1, WORLD_GROUP, "group", "om_gone", "here");
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    CHECK_TEXT(MESSAGES "?receive_id_type=chat_id", platform_request_at("POST", MESSAGES, 1).path);
    world_close();
}

/* Nobody lists all the reasons for which a reply is refused: a message without target is tried
 * once. */
static void a_reply_that_is_refused_goes_as_a_message(void)
{
    static const int codes[] = {230110, 230050, 230019, 230071};
    world_open("");
    for (size_t i = 0; i < SMA_COUNT_OF(codes); i++) {
        char body[64];
        snprintf(body, sizeof body, "{\"code\":%d,\"msg\":\"no\"}", codes[i]);
        platform_script("POST", MESSAGES "/om_gone/reply", 1, 400, "", body);
        uint64_t row = world_deliver(i + 1, WORLD_GROUP, "group", "om_gone", "here");
        CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    }
    CHECK_INT(2 * (int)SMA_COUNT_OF(codes), platform_count("POST", MESSAGES));
    /* about the words, or about the chat: the same again would be refused again */
    platform_script("POST", MESSAGES "/om_gone/reply", 1, 400, "",
                    "{\"code\":230022,\"msg\":\"sensitive\"}");
    uint64_t row = world_deliver(11, WORLD_GROUP, "group", "om_gone", "words");
    CHECK_INT(SMA_DELIVERY_FAILED, receipt_of(row).state);
    platform_script("POST", MESSAGES "/om_gone/reply", 1, 400, "",
                    "{\"code\":230002,\"msg\":\"not here\"}");
    row = world_deliver(12, WORLD_GROUP, "group", "om_gone", "chat");
    CHECK_INT(SMA_DELIVERY_FAILED, receipt_of(row).state);
    CHECK_INT(2 * (int)SMA_COUNT_OF(codes) + 2, platform_count("POST", MESSAGES));
    world_close();
}

static void what_is_too_long_is_halved_visibly(void)
{
    uint64_t row;
    char text[401] = "";
    memset(text, 'x', 400);
    world_open("");
    platform_script("POST", MESSAGES, 1, 400, "", "{\"code\":230025,\"msg\":\"long\"}");
    send_in_private(1, text, &row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    struct platform_request request = platform_request_at("POST", MESSAGES, 1);
    text[200] = '\0';
    CHECK(holds(&request, text));
    text[200] = 'x';
    text[201] = '\0';
    CHECK(!holds(&request, text));
    world_close();
}

static void a_token_that_ends_in_mid_send_is_replaced(void)
{
    uint64_t row;
    world_open("");
    WORLD_WAIT(platform_is_connected());
    platform_end_tokens();
    send_in_private(1, "hello", &row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    CHECK_INT(2, platform_count("POST", MESSAGES));
    CHECK_INT(2, platform_count("POST", "/open-apis/auth/"));
    CHECK(strcmp(platform_request_at("POST", MESSAGES, 0).token,
                 platform_request_at("POST", MESSAGES, 1).token) != 0);
    world_close();
}

static void many_sends_fetch_one_token(void)
{
    uint64_t rows[8];
    world_open("");
    WORLD_WAIT(platform_is_connected());
    platform_end_tokens();
    for (size_t i = 0; i < 8; i++) {
        char chat[16];
        snprintf(chat, sizeof chat, "oc_%zu", i);
        rows[i] = world_deliver(i + 1, chat, "p2p", "", "hello");
    }
    for (size_t i = 0; i < 8; i++)
        CHECK_INT(SMA_DELIVERY_SENT, receipt_of(rows[i]).state);
    CHECK_INT(2, platform_count("POST", "/open-apis/auth/"));
    world_close();
}

static void what_can_never_work_is_given_up_in_words(void)
{
    uint64_t row;
    world_open("");
    platform_script("POST", MESSAGES, 1, 400, "",
                    "{\"code\":230002,\"msg\":\"Bot is not in the chat\"}");
    send_in_private(1, "hello", &row);
    struct world_receipt receipt = receipt_of(row);
    CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
    CHECK(strstr(receipt.error, "230002") != NULL && strstr(receipt.error, "add it again") != NULL);
    CHECK_INT(1, platform_count("POST", MESSAGES));
    world_close();
}

static void files_are_uploaded_and_then_sent(void)
{
    uint64_t row;
    world_open("");
    write_file("report.pdf", "%PDF-1.4 report");
    write_file("cat.png", "\x89PNG cat");
    send_in_private(1, "@attach document report.pdf", &row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    struct platform_request upload = platform_request_at("POST", "/open-apis/im/v1/files", 0);
    CHECK(holds(&upload, "name=\"file_type\"") && holds(&upload, "pdf") &&
          holds(&upload, "%PDF-1.4 report"));
    struct platform_request message = platform_request_at("POST", MESSAGES, 0);
    CHECK(holds(&message, "\"msg_type\":\"file\"") && holds(&message, "file_uploaded"));
    CHECK(holds(&message, "\"uuid\":\"sma-1-0\""));
    send_in_private(2, "@attach photo cat.png", &row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    CHECK_INT(1, platform_count("POST", "/open-apis/im/v1/images"));
    message = platform_request_at("POST", MESSAGES, 1);
    CHECK(holds(&message, "\"msg_type\":\"image\"") && holds(&message, "img_uploaded"));
    world_close();
}

static void secrets_and_strange_files_are_never_sent(void)
{
    static const char *const texts[] = {
        "@attach document .env", "@attach document ../../etc/passwd",
        "@attach document /etc/passwd", "@attach document missing.txt"};
    uint64_t row;
    world_open("");
    write_file(".env", "KEY=1");
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
        send_in_private(i + 1, texts[i], &row);
        CHECK_INT(SMA_DELIVERY_FAILED, receipt_of(row).state);
    }
    CHECK_INT(0, platform_count("POST", "/open-apis/im/v1/files"));
    send_in_private(9, "@attach document https://example.org/a.pdf", &row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    struct platform_request message = platform_request_at("POST", MESSAGES, 0);
    CHECK(holds(&message,
                "https://example.org/a.pdf")); /* as a link: nothing is fetched for the model */
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

int main(void)
{
    RUN(private_chats_get_a_message_groups_a_reply);
    RUN(a_refused_card_goes_as_text);
    RUN(an_answer_of_another_chat_is_not_believed);
    RUN(a_recalled_question_is_answered_all_the_same);
    RUN(a_reply_that_is_refused_goes_as_a_message);
    RUN(what_is_too_long_is_halved_visibly);
    RUN(a_token_that_ends_in_mid_send_is_replaced);
    RUN(many_sends_fetch_one_token);
    RUN(what_can_never_work_is_given_up_in_words);
    RUN(files_are_uploaded_and_then_sent);
    RUN(secrets_and_strange_files_are_never_sent);
    RUN(a_row_begun_by_an_older_version_is_finished);
    return check_summary();
}
