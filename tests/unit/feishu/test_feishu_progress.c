/* test_feishu_progress.c — the card of a run that lasts: shown, changed, become the answer, and
 * never left behind. */
#include "actor_world.h"

#include <time.h>

/* Cards that are not typed into: test_feishu_stream.c has those. */
#define OLD ",\"streaming\":\"off\""
#define MESSAGES "/open-apis/im/v1/messages"

static struct world_receipt receipt_of(uint64_t row)
{
    struct world_receipt receipt;
    WORLD_WAIT(world_has_receipt(row, &receipt));
    return receipt;
}

static bool holds(const struct platform_request *request, const char *text)
{
    return strstr(request->body, text) != NULL;
}

static void show_card(uint64_t seq)
{
    world_progress(seq, SMA_PROGRESS_STARTED, WORLD_CHAT, "");
    world_progress(seq, SMA_PROGRESS_TEXT, WORLD_CHAT, "so far");
    WORLD_WAIT(platform_count("POST", MESSAGES) == 1);
    struct platform_request card = platform_request_at("POST", MESSAGES, 0);
    CHECK(holds(&card, "so far") && holds(&card, "interactive") && holds(&card, "sma-card-"));
}

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

static void in_a_group(uint64_t seq, enum sma_progress_kind kind)
{
    (void)world_give(&(struct world_order){.kind = WORLD_PROGRESS,
                                           .progress = (uint8_t)kind,
                                           .seq = seq,
                                           .chat = WORLD_GROUP,
                                           .chat_type = "group",
                                           .reply = "om_asked",
                                           .text = ""});
}

#define REACTIONS MESSAGES "/om_asked/reactions"

/* A minute without a sign looks dead; a message would cost what all bots of the group share. */
static void a_run_in_a_group_shows_that_it_works(void)
{
    world_open(OLD);
    WORLD_WAIT(platform_is_connected());
    platform_script("POST", REACTIONS, 1, 200, "",
                    "{\"code\":0,\"data\":{\"reaction_id\":\"ZC1\"}}");
    in_a_group(7, SMA_PROGRESS_STARTED);
    WORLD_WAIT(platform_count("POST", REACTIONS) == 1);
    struct platform_request request = platform_request_at("POST", REACTIONS, 0);
    CHECK(holds(&request, "\"emoji_type\":\"Typing\""));
    in_a_group(7, SMA_PROGRESS_FINISHED);
    WORLD_WAIT(platform_count("DELETE", REACTIONS "/ZC1") == 1);
    world_close();
}

static void without_the_right_to_reactions_nothing_else_changes(void)
{
    world_open(OLD);
    WORLD_WAIT(platform_is_connected());
    platform_script("POST", REACTIONS, 1, 400, "", "{\"code\":99991672,\"msg\":\"no scope\"}");
    in_a_group(7, SMA_PROGRESS_STARTED);
    WORLD_WAIT(world_log_count("no sign of life is shown in groups") == 1);
    in_a_group(7, SMA_PROGRESS_FINISHED);
    in_a_group(8, SMA_PROGRESS_STARTED);
    uint64_t row = world_deliver(8, WORLD_GROUP, "group", "om_asked", "the answer");
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    CHECK_INT(0, platform_count("DELETE", REACTIONS));
    world_close();
}

static void the_card_becomes_the_answer(void)
{
    world_open(OLD);
    show_card(7);
    world_progress(7, SMA_PROGRESS_TEXT, WORLD_CHAT, "so far and further");
    WORLD_WAIT(platform_count("PATCH", MESSAGES "/om_sent_1") == 1);
    uint64_t row = world_deliver(7, WORLD_CHAT, "p2p", "", "the answer");
    struct world_receipt receipt = receipt_of(row);
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    CHECK_TEXT("om_sent_1", receipt.platform_id);
    CHECK_INT(1, platform_count("POST", MESSAGES));
    struct platform_request last =
        platform_request_at("PATCH", MESSAGES, platform_count("PATCH", MESSAGES) - 1);
    CHECK(holds(&last, "the answer"));
    world_progress(7, SMA_PROGRESS_FINISHED, WORLD_CHAT, "");
    row = world_deliver(7, WORLD_CHAT, "p2p", "", "a second one");
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    CHECK_INT(2, platform_count("POST", MESSAGES));
    world_close();
}

static void repeated_after_a_crash_it_is_the_same_card(void)
{
    world_open(OLD);
    show_card(7);
    uint64_t row = world_deliver(7, WORLD_CHAT, "p2p", "", "the answer");
    (void)receipt_of(row);
    world_stop();
    world_open(OLD);
    world_deliver_again(row, 7, WORLD_CHAT, "p2p", "", "the answer");
    CHECK_TEXT("om_sent_1", receipt_of(row).platform_id);
    CHECK_INT(1, platform_count("POST", MESSAGES));
    CHECK_INT(0, platform_count("DELETE", MESSAGES));
    world_close();
}

static void a_file_does_not_fit_and_the_card_goes(void)
{
    world_open(OLD);
    show_card(7);
    uint64_t row =
        world_deliver(7, WORLD_CHAT, "p2p", "", "@attach document https://example.org/a.pdf");
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    WORLD_WAIT(platform_count("DELETE", MESSAGES "/om_sent_1") == 1);
    CHECK_INT(2, platform_count("POST", MESSAGES));
    world_close();
}

static void a_card_that_cannot_be_changed_is_not_the_answer(void)
{
    world_open(OLD);
    show_card(7);
    platform_script("PATCH", MESSAGES, 1, 400, "", "{\"code\":230031,\"msg\":\"too old\"}");
    uint64_t row = world_deliver(7, WORLD_CHAT, "p2p", "", "the answer");
    CHECK_TEXT("om_sent_2", receipt_of(row).platform_id);
    WORLD_WAIT(platform_count("DELETE", MESSAGES "/om_sent_1") ==
               1); /* else it says "..." for ever */
    world_close();
}

static void what_the_last_life_left_is_taken_up(void)
{
    world_open(OLD);
    show_card(7);
    WORLD_WAIT(world_log_count("connected") >= 1);
    world_stop();
    world_open(OLD);
    uint64_t row = world_deliver(7, WORLD_CHAT, "p2p", "", "resumed");
    CHECK_TEXT("om_sent_1", receipt_of(row).platform_id);
    CHECK_INT(1, platform_count("POST", MESSAGES));
    world_close();
}

static void an_unknown_card_is_found_by_its_uuid(void)
{
    platform_start();
    platform_script("POST", MESSAGES, 4, 502, "", "");
    world_open(OLD);
    world_progress(7, SMA_PROGRESS_STARTED, WORLD_CHAT, "");
    WORLD_WAIT(platform_count("POST", MESSAGES) >= 1);
    uint64_t row = world_deliver(7, WORLD_CHAT, "p2p", "", "the answer");
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    WORLD_WAIT(platform_count("DELETE", MESSAGES) == 1);
    char uuid[64];
    for (size_t i = 0; i < platform_count("POST", MESSAGES); i++) {
        struct platform_request request = platform_request_at("POST", MESSAGES, i);
        const char *at = strstr(request.body, "\"uuid\":\"sma-card-");
        if (at == NULL)
            continue; /* the answer */
        if (i == 0)
            snprintf(uuid, sizeof uuid, "%.42s", at);
        CHECK(strncmp(uuid, at, strlen(uuid)) == 0); /* "uuid":"sma-card-<16 digits>" */
    }
    CHECK(strstr(uuid, "sma-card-7\"") == NULL);
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
            (long long)time(NULL) * 1000);
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

static void off_is_off(void)
{
    world_open(OLD ",\"progress\":\"off\"");
    WORLD_WAIT(platform_is_connected());
    world_progress(1, SMA_PROGRESS_STARTED, WORLD_CHAT, "");
    world_rest(2500);
    CHECK_INT(0, platform_count("POST", MESSAGES));
    world_close();
}

int main(void)
{
    RUN(a_short_run_shows_no_card);
    RUN(a_run_in_a_group_shows_that_it_works);
    RUN(without_the_right_to_reactions_nothing_else_changes);
    RUN(the_card_becomes_the_answer);
    RUN(repeated_after_a_crash_it_is_the_same_card);
    RUN(a_file_does_not_fit_and_the_card_goes);
    RUN(a_card_that_cannot_be_changed_is_not_the_answer);
    RUN(what_the_last_life_left_is_taken_up);
    RUN(an_unknown_card_is_found_by_its_uuid);
    RUN(a_card_of_the_version_before_keeps_its_uuid);
    RUN(a_card_in_another_chat_is_not_believed);
    RUN(off_is_off);
    return check_summary();
}
