/*
 * Aim: one attempt, one message, one honest answer; what can be mended is mended without a second
 * message.
 * Method: the adapter and the real dispatcher against the simulated platform.
 */
#include "actor_world.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define ADA "501"
#define GROUP "-1001"

static struct world_receipt receipt_of(uint64_t row)
{
    struct world_receipt receipt;
    WORLD_WAIT(world_has_receipt(row, &receipt));
    return receipt;
}

static void fault(const char *method, const char *kind, int status, const char *text)
{
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i,s:s,s:i}", "do", "fault", "method", method,
                  "kind", kind, "status", status, "text", text, "seconds", 1);
}

static json_t *last_message(int64_t chat)
{
    json_t *list = world_chat(chat), *messages = json_object_get(list, "messages");
    json_t *last = json_array_get(messages, json_array_size(messages) - 1);
    json_incref(last);
    json_decref(list);
    return last;
}

static void write_file(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", world_dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fputs(text, file);
    CHECK(fclose(file) == 0);
}

/* -- text -------------------------------------------------------------------------------------- */
static void markdown_arrives_as_marks(void)
{
    world_open("");
    struct world_receipt receipt = receipt_of(world_deliver(1, ADA, "", "", "some **bold** words"));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    CHECK(receipt.platform_id[0] != '\0');
    json_t *message = last_message(WORLD_ADA);
    CHECK_TEXT("some bold words", json_string_value(json_object_get(message, "text")));
    CHECK(!json_is_true(json_object_get(message, "is_plain")));
    json_decref(message);
    world_close();
}

static void refused_markup_goes_out_plain_in_the_same_attempt(void)
{
    world_open("");
    fault("sendMessage", "status", 400, "Bad Request: can't parse entities: asked to fail");
    uint64_t row = world_deliver(1, ADA, "", "", "some **bold** words");
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    json_t *message = last_message(WORLD_ADA);
    CHECK(json_is_true(json_object_get(message, "is_plain")));
    json_decref(message);
    CHECK_INT(2, world_calls("sendmessage"));
    world_close();
}

static void a_reply_to_what_is_gone_is_sent_without(void)
{
    world_open("");
    char id[24];
    snprintf(id, sizeof id, "%lld",
             (long long)world_say(WORLD_GROUP, WORLD_ADA, "@helper_bot hello"));
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(world_deliver(1, GROUP, "", id, "first")).state);
    json_t *message = last_message(WORLD_GROUP);
    CHECK_TEXT(id, (snprintf(id, sizeof id, "%lld",
                             (long long)json_integer_value(json_object_get(message, "reply_to"))),
                    id));
    json_decref(message);
    fault("sendMessage", "status", 400, "Bad Request: message to be replied not found");
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(world_deliver(2, GROUP, "", id, "second")).state);
    message = last_message(WORLD_GROUP);
    CHECK_INT(0, json_integer_value(json_object_get(message, "reply_to")));
    json_decref(message);
    world_close();
}

static void a_group_that_moved_is_followed(void)
{
    world_open("");
    telegram_tell(&world_platform, "{s:s,s:i,s:s}", "do", "chat", "id", -77, "type", "group");
    telegram_tell(&world_platform, "{s:s,s:i,s:I}", "do", "migrate", "chat", -77, "to",
                  (json_int_t)-100177);
    WORLD_WAIT(world_event_count() == 2); /* both service messages, one key */
    CHECK_TEXT("telegram:chat:-100177", world_event_at(0).chat_key);
    CHECK_TEXT("telegram:chat:-77", world_event_at(0).migrated_from);
    CHECK_TEXT(world_event_at(0).event_key, world_event_at(1).event_key);
    CHECK_INT(SMA_DELIVERY_SENT,
              receipt_of(world_deliver(1, "-77", "", "3", "for the old one")).state);
    CHECK_INT(1, world_shown(-100177, "for the old one"));
    WORLD_WAIT(world_event_count() == 3); /* sending found out by itself, too */
    CHECK_TEXT("telegram:chat:-77", world_event_at(2).migrated_from);
    CHECK_TEXT(world_event_at(0).event_key, world_event_at(2).event_key);
    CHECK_INT(2, world_calls("sendmessage"));
    CHECK_INT(SMA_DELIVERY_SENT,
              receipt_of(world_deliver(2, "-77", "", "", "straight there")).state);
    CHECK_INT(3, world_calls("sendmessage"));
    CHECK_INT(3, world_event_count());
    world_close();
}

static void a_limit_is_waited_for(void)
{
    world_open("");
    fault("sendMessage", "status", 429, "");
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(world_deliver(1, ADA, "", "", "after a second")).state);
    CHECK_INT(2, world_calls("sendmessage"));
    CHECK_INT(1, world_shown(WORLD_ADA, "after a second"));
    world_close();
}

static void what_will_never_work_is_given_up_with_a_reason(void)
{
    world_open("");
    telegram_tell(&world_platform, "{s:s,s:i}", "do", "block", "chat", WORLD_BOB);
    struct world_receipt receipt = receipt_of(world_deliver(1, "502", "", "", "hello?"));
    CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
    CHECK(receipt.error[0] != '\0');
    CHECK_INT(1, world_calls("sendmessage"));
    world_close();
}

static void a_lost_answer_is_the_one_window(void)
{
    world_open("");
    fault("sendMessage", "lose_answer", 0, "");
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(world_deliver(1, ADA, "", "", "perhaps twice")).state);
    CHECK_INT(2, world_shown(WORLD_ADA, "perhaps twice")); /* never more than twice, never lost */
    world_close();
}

/* Whatever the reason: that message is not ours to change later, and nothing is sent twice. */
static void an_answer_of_another_chat_is_not_believed(void)
{
    world_open("");
    fault("sendMessage", "other_chat", 0, "");
    struct world_receipt receipt = receipt_of(world_deliver(1, ADA, "", "", "for Ada"));
    CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
    CHECK(strstr(receipt.error, "another chat") != NULL);
    CHECK_INT(1, world_shown(WORLD_ADA, "for Ada"));
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(world_deliver(2, ADA, "", "", "the next")).state);
    world_close();
}

static void a_refused_connection_is_no_window(void)
{
    world_open("");
    fault("sendMessage", "html", 503, "");
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(world_deliver(1, ADA, "", "", "just once")).state);
    CHECK_INT(1, world_shown(WORLD_ADA, "just once"));
    world_close();
}

static void many_attempts_are_open_at_once(void)
{
    world_open(",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0,\"perGroupPerMinute\":0}");
    uint64_t rows[60];
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char chat[16], text[16];
        telegram_tell(&world_platform, "{s:s,s:i}", "do", "user", "id", 1000 + (int)i);
        snprintf(chat, sizeof chat, "%zu", 1000 + i);
        snprintf(text, sizeof text, "to %zu", i);
        rows[i] = world_deliver(i + 1, chat, "", "", text);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_INT(SMA_DELIVERY_SENT, receipt_of(rows[i]).state);
    CHECK_INT(1, world_shown(1059, "to 59"));
    world_close();
}

/* -- files ------------------------------------------------------------------------------------- */
static void files_of_the_project_are_uploaded(void)
{
    world_open("");
    write_file("plan.txt", "what we do");
    uint64_t row =
        world_deliver(1, ADA, "", "", "here it is\n@attach document plan.txt | the plan");
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(row).state);
    CHECK_INT(1, world_shown(WORLD_ADA, "here it is"));
    json_t *message = last_message(WORLD_ADA);
    CHECK_TEXT("document", json_string_value(json_object_get(message, "kind")));
    CHECK_TEXT("plan.txt", json_string_value(json_object_get(message, "file_name")));
    CHECK_TEXT("what we do", json_string_value(json_object_get(message, "file_text")));
    CHECK_TEXT("the plan", json_string_value(json_object_get(message, "text")));
    json_decref(message);
    world_close();
}

static void what_is_outside_or_secret_is_never_sent(void)
{
    static const char *const targets[] = {
        "link.txt",
        "folder/../link.txt",
        "linked/hosts",
        "../outside.txt",
        "/etc/hosts",
        ".env",
        "./.env",
        "folder/../.env",
        ".env.local",
        "hard.txt",
        ".ship/api-token",
        ".ship//state.db",
        ".ship/chats/telegram%3Achat%3A7.jsonl",
        "folder/../.ship/./chats/telegram%3Achat%3A7.jsonl",
        ".ship/contacts.json",
        ".ship/output/answer-1.md",
        ".ship/anything-new/x",
        "ship.json",
        "folder",
        "nothing.txt",
        "empty.txt",
        "pipe",
    };
    char path[512], other[512];
    world_open(",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}");
    snprintf(path, sizeof path, "%s/link.txt", world_dir);
    CHECK(symlink("/etc/hosts", path) == 0);
    snprintf(path, sizeof path, "%s/linked", world_dir);
    CHECK(symlink("/etc", path) == 0);
    snprintf(path, sizeof path, "%s/folder", world_dir);
    CHECK(mkdir(path, 0700) == 0);
    snprintf(path, sizeof path, "%s/.ship", world_dir);
    CHECK(mkdir(path, 0700) == 0 || errno == EEXIST); /* the adapter keeps what it told there */
    snprintf(path, sizeof path, "%s/pipe", world_dir);
    CHECK(mkfifo(path, 0600) == 0);
    write_file(".env", "SECRET=1");
    write_file(".env.local", "SECRET=1");
    write_file("ship.json", "{}");
    write_file(".ship/api-token", "secret");
    write_file(".ship/state.db", "secret");
    snprintf(path, sizeof path, "%s/.ship/chats", world_dir);
    CHECK(mkdir(path, 0700) == 0);
    write_file(".ship/chats/telegram%3Achat%3A7.jsonl", "said elsewhere");
    write_file(".ship/contacts.json", "{}");
    snprintf(path, sizeof path, "%s/.ship/output", world_dir);
    CHECK(mkdir(path, 0700) == 0);
    write_file(".ship/output/answer-1.md", "the answer to somebody else");
    snprintf(path, sizeof path, "%s/.ship/anything-new", world_dir);
    CHECK(mkdir(path, 0700) == 0);
    write_file(".ship/anything-new/x", "private");
    write_file("empty.txt", "");
    snprintf(path, sizeof path, "%s/.env", world_dir);
    snprintf(other, sizeof other, "%s/hard.txt", world_dir);
    CHECK(link(path, other) == 0);
    for (size_t i = 0; i < SMA_COUNT_OF(targets); i++) {
        char text[128];
        snprintf(text, sizeof text, "@attach document %s", targets[i]);
        struct world_receipt receipt = receipt_of(world_deliver(i + 1, ADA, "", "", text));
        fprintf(stderr, "   %s: %s\n", targets[i], receipt.error);
        CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
        CHECK(receipt.error[0] != '\0');
    }
    CHECK_INT(0, world_calls("senddocument"));
    world_close();
}

/* What /full made is sent by its own delivery, which sends nothing else. */
static void only_its_own_delivery_sends_an_output(void)
{
    char path[512];
    world_open(",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}");
    snprintf(path, sizeof path, "%s/.ship", world_dir);
    CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/.ship/output", world_dir);
    CHECK(mkdir(path, 0700) == 0);
    write_file(".ship/output/answer-1.md", "the whole answer");
    write_file("plan.txt", "what we do");
    const char *line = "@attach document .ship/output/answer-1.md | all of it";
    CHECK_INT(SMA_DELIVERY_FAILED, receipt_of(world_deliver(1, ADA, "", "", line)).state);
    CHECK_INT(0, world_calls("senddocument"));
    world_set_intent(SMA_INTENT_OUTPUT);
    CHECK_INT(SMA_DELIVERY_SENT, receipt_of(world_deliver(2, ADA, "", "", line)).state);
    json_t *message = last_message(WORLD_ADA);
    CHECK_TEXT("the whole answer", json_string_value(json_object_get(message, "file_text")));
    json_decref(message);
    CHECK_INT(SMA_DELIVERY_FAILED,
              receipt_of(world_deliver(3, ADA, "", "", "@attach document plan.txt")).state);
    CHECK_INT(1, world_calls("senddocument"));
    world_close();
}

static void make_large(const char *name, long len)
{
    char path[512];
    write_file(name, "x");
    snprintf(path, sizeof path, "%s/%s", world_dir, name);
    CHECK(truncate(path, len) == 0);
}

static void a_file_over_the_limit_is_refused_here(void)
{
    world_open("");
    make_large("big.zip", 50 * 1024 * 1024 + 1);
    struct world_receipt receipt =
        receipt_of(world_deliver(1, ADA, "", "", "@attach document big.zip"));
    CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
    CHECK(strstr(receipt.error, "at most 52428800") != NULL);
    CHECK_INT(0, world_calls("senddocument"));
    world_close();
}

/* Long charts and screenshots are what agents send: the file is there, only not as a photo. */
static void what_is_no_photo_to_the_platform_goes_as_a_document(void)
{
    world_open("");
    make_large("long.png", 10 * 1024 * 1024 + 1);
    struct world_receipt receipt =
        receipt_of(world_deliver(1, ADA, "", "", "@attach photo long.png | a chart"));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    CHECK_INT(0, world_calls("sendphoto"));
    CHECK_INT(1, world_calls("senddocument"));
    write_file("strange.png", "x");
    fault("sendPhoto", "status", 400, "Bad Request: PHOTO_INVALID_DIMENSIONS");
    receipt = receipt_of(world_deliver(2, ADA, "", "", "@attach photo strange.png | odd"));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    CHECK_INT(2, world_calls("senddocument"));
    CHECK_INT(1, world_shown(WORLD_ADA, "odd"));
    write_file("said.ogg", "x");
    fault("sendVoice", "status", 400, "Bad Request: VOICE_MESSAGES_FORBIDDEN");
    receipt = receipt_of(world_deliver(3, ADA, "", "", "@attach voice said.ogg"));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    CHECK_INT(3, world_calls("senddocument"));
    world_close();
}

static void an_address_that_cannot_be_fetched_goes_as_words(void)
{
    world_open("");
    fault("sendPhoto", "status", 400, "Bad Request: failed to get HTTP URL content");
    struct world_receipt receipt =
        receipt_of(world_deliver(1, ADA, "", "", "@attach photo https://example.org/a.png | look"));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    CHECK_INT(1, world_shown(WORLD_ADA, "look\nhttps://example.org/a.png"));
    world_close();
}

static void a_topic_that_is_gone_is_left_out(void)
{
    world_open("");
    telegram_tell(&world_platform, "{s:s,s:i,s:b}", "do", "chat", "id", -77, "forum", 1);
    struct world_receipt receipt = receipt_of(world_deliver(1, "-77", "4711", "", "still here"));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    CHECK_INT(1, world_shown(-77, "still here"));
    write_file("a.txt", "x");
    receipt = receipt_of(world_deliver(2, "-77", "4711", "", "@attach document a.txt"));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    world_close();
}

int main(void)
{
    RUN(markdown_arrives_as_marks);
    RUN(refused_markup_goes_out_plain_in_the_same_attempt);
    RUN(a_reply_to_what_is_gone_is_sent_without);
    RUN(a_group_that_moved_is_followed);
    RUN(a_limit_is_waited_for);
    RUN(what_will_never_work_is_given_up_with_a_reason);
    RUN(a_lost_answer_is_the_one_window);
    RUN(an_answer_of_another_chat_is_not_believed);
    RUN(a_refused_connection_is_no_window);
    RUN(many_attempts_are_open_at_once);
    RUN(files_of_the_project_are_uploaded);
    RUN(what_is_outside_or_secret_is_never_sent);
    RUN(only_its_own_delivery_sends_an_output);
    RUN(a_file_over_the_limit_is_refused_here);
    RUN(what_is_no_photo_to_the_platform_goes_as_a_document);
    RUN(an_address_that_cannot_be_fetched_goes_as_words);
    RUN(a_topic_that_is_gone_is_left_out);
    return check_summary();
}
