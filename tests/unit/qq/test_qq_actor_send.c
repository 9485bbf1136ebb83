/*
 * Aim: an attempt becomes one message, never two, whatever the platform says to it; and what cannot
 * be sent is said so.
 * Method: the adapter and the real dispatcher against the simulated platform; each refusal and each
 * loss once.
 */
#include "actor_world.h"
#include "adapters/qq/qq_out.h"

#include <errno.h>
#include <sys/stat.h>

static const char *start_talk(const char *members, const char *chat)
{
    world_open(members);
    WORLD_WAIT(world_log_count("qq: connected") > 0);
    const char *id = world_say(chat, "hello");
    WORLD_WAIT(world_event_count() == 1);
    return id;
}

static uint64_t answer(const char *chat, const char *id, const char *text)
{
    return world_deliver(&(struct world_row){.chat = chat, .reply = id, .text = text});
}

/* Of the chat's last message of ours. */
static bool last_is_active(const char *chat)
{
    json_t *list = world_chat(chat), *messages = json_object_get(list, "messages");
    const json_t *last = json_array_get(messages, json_array_size(messages) - 1);
    CHECK(platform_flag(last, "is_ours", false));
    bool is_active = platform_flag(last, "is_active", false);
    json_decref(list);
    return is_active;
}

static void a_token_that_ends_in_mid_send_is_renewed(void)
{
    const char *id = start_talk("", WORLD_C2C);
    world_tell("{s:s}", "do", "expire_token");
    world_await(answer(WORLD_C2C, id, "with a new token"), SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_C2C, "with a new token"));
    CHECK_INT(2, world_counter("tokens"));
    world_close();
}

static void markdown_falls_back_to_text(void)
{
    const char *id = start_talk("", WORLD_GROUP);
    world_await(answer(WORLD_GROUP, id, "**bold** words"), SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_GROUP, "**bold** words"));
    world_tell("{s:s,s:b}", "do", "rights", "markdown", 0);
    world_await(answer(WORLD_GROUP, id, "**other** words"), SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_GROUP, "other words"));
    int64_t refusals = world_counter("refusals");
    world_await(answer(WORLD_GROUP, id, "**third** words"), SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_GROUP, "third words"));
    CHECK_INT(refusals, world_counter("refusals")); /* remembered */
    world_close();
}

static void plain_text_when_markdown_is_off(void)
{
    const char *id = start_talk(",\"markdown\":false", WORLD_C2C);
    world_await(answer(WORLD_C2C, id, "**bold** words"), SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_C2C, "bold words"));
    world_close();
}

static void a_closed_window_goes_active_where_that_is_allowed(void)
{
    const char *id = start_talk("", WORLD_GROUP);
    struct world_row row = {.chat = WORLD_GROUP, .reply = id, .text = "on my own"};
    world_tell("{s:s,s:i}", "do", "clock", "seconds", 600);
    world_await(world_deliver(&row), SMA_DELIVERY_SENT); /* refused as an answer, then active */
    CHECK(last_is_active(WORLD_GROUP));
    world_tell("{s:s,s:b}", "do", "rights", "active", 0);
    row.text = "not at all";
    struct world_receipt receipt = world_await(world_deliver(&row), SMA_DELIVERY_FAILED);
    CHECK(strstr(receipt.error, "ask the user to write again") != NULL);
    CHECK_INT(0, world_shown(WORLD_GROUP, "not at all"));
    world_close();
}

/* Our clock is no judge of whether the platform still takes an answer. */
static void a_clock_that_is_fast_or_slow_mutes_nobody(void)
{
    static const int clocks[] = {-7200, -400, 7200};
    for (size_t i = 0; i < SMA_COUNT_OF(clocks); i++) {
        world_make_platform();
        world_tell("{s:s,s:i}", "do", "clock", "seconds", clocks[i]);
        world_tell("{s:s,s:b}", "do", "rights", "active", 0);
        const char *id = start_talk("", WORLD_GROUP);
        world_await(answer(WORLD_GROUP, id, "in time"), SMA_DELIVERY_SENT);
        CHECK(!last_is_active(WORLD_GROUP));
        world_close();
    }
}

static void used_up_answers_go_active(void)
{
    const char *id = start_talk("", WORLD_C2C);
    struct world_row row = {.chat = WORLD_C2C, .reply = id, .text = "fifth", .reply_count = 4};
    world_await(world_deliver(&row), SMA_DELIVERY_SENT);
    CHECK(last_is_active(WORLD_C2C));
    row = (struct world_row){.chat = WORLD_C2C,
                             .reply = id,
                             .text = "busy",
                             .reply_count = 3,
                             .intent = SMA_INTENT_NOTICE};
    world_await(world_deliver(&row), SMA_DELIVERY_SENT); /* the last one is kept for the answer */
    CHECK(last_is_active(WORLD_C2C));
    row.intent = SMA_INTENT_ASSISTANT_TEXT;
    row.text = "one moment";
    row.is_interim = true;
    world_await(world_deliver(&row), SMA_DELIVERY_SENT);
    CHECK(last_is_active(WORLD_C2C));
    row.is_interim = false;
    row.text = "the answer";
    world_await(world_deliver(&row), SMA_DELIVERY_SENT);
    CHECK(!last_is_active(WORLD_C2C));
    world_close();
}

/* Where nothing may be said unasked, a text before the end is refused with a way out, and the end
 * is shown. */
static void the_last_answer_is_kept_for_the_end_of_the_run(void)
{
    const char *id = start_talk("", WORLD_C2C);
    world_tell("{s:s,s:b}", "do", "rights", "active", 0);
    struct world_row row = {.chat = WORLD_C2C, .reply = id, .text = "step", .is_interim = true};
    for (row.reply_count = 0; row.reply_count < QQ_REPLIES_C2C - 1; row.reply_count++)
        world_await(world_deliver(&row), SMA_DELIVERY_SENT);
    row.text = "one more step";
    struct world_receipt receipt = world_await(world_deliver(&row), SMA_DELIVERY_FAILED);
    CHECK(strstr(receipt.error, "kept for your final text") != NULL);
    row.text = "to a third person"; /* whose chat it is not about: no word of a final text */
    row.reply = NULL;
    receipt = world_await(world_deliver(&row), SMA_DELIVERY_FAILED);
    CHECK(strstr(receipt.error, "final text") == NULL);
    row.reply = id;
    row.text = "the end";
    row.is_interim = false;
    world_await(world_deliver(&row), SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_C2C, "the end"));
    world_close();
}

/* Counted too high (an outcome was unknown), a final text is an answer all the same. */
static void the_platforms_count_is_what_holds(void)
{
    const char *id = start_talk("", WORLD_C2C);
    world_tell("{s:s,s:b}", "do", "rights", "active", 0);
    struct world_row row = {.chat = WORLD_C2C, .reply = id, .text = "at last", .reply_count = 4};
    world_await(world_deliver(&row), SMA_DELIVERY_SENT);
    CHECK(!last_is_active(WORLD_C2C));
    world_close();
}

static void links_are_written_out_where_they_are_refused(void)
{
    const char *id = start_talk("", WORLD_C2C);
    world_tell("{s:s,s:b}", "do", "rights", "refuse_urls", 1);
    world_await(answer(WORLD_C2C, id, "**see** https://github.com/o/r/issues/5 or example.org"),
                SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_C2C, "see github[.]com/o/r/issues/5 or example[.]org"));
    world_close();
}

static void final_refusals_fail_with_their_reason(void)
{
    const char *id = start_talk("", WORLD_C2C);
    world_tell("{s:s,s:s,s:s}", "do", "membership", "chat", WORLD_C2C, "what", "refuses");
    struct world_receipt receipt =
        world_await(answer(WORLD_C2C, id, "unwanted"), SMA_DELIVERY_FAILED);
    CHECK(receipt.error[0] != '\0');
    world_close();
}

/* -- files ------------------------------------------------------------------------------------- */
static void write_file(const char *name, size_t len)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", world_dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    for (size_t i = 0; i < len; i++)
        putc('a' + (int)(i % 23), file);
    CHECK(fclose(file) == 0);
}

static size_t media_count(const char *chat)
{
    size_t count = 0, index;
    json_t *list = world_chat(chat), *message;
    json_array_foreach(json_object_get(list, "messages"), index, message) count +=
        strcmp(platform_text(message, "kind", ""), "media") == 0;
    json_decref(list);
    return count;
}

/* It would be believed to be ours, and an answer to it would be one to a card. */
static void a_message_of_another_channel_is_not_believed(void)
{
    const char *id = start_talk("", WORLD_CHANNEL);
    world_await(answer(WORLD_CHANNEL, id, "here"), SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_CHANNEL, "here"));
    world_tell("{s:s,s:b}", "do", "rights", "elsewhere", 1);
    struct world_receipt receipt =
        world_await(answer(WORLD_CHANNEL, id, "where?"), SMA_DELIVERY_FAILED);
    CHECK(strstr(receipt.error, "another channel") != NULL);
    CHECK_INT(1, world_shown(WORLD_CHANNEL, "where?")); /* and not sent again */
    world_close();
}

static void files_are_sent(void)
{
    const char *id = start_talk("", WORLD_C2C);
    write_file("photo.png", 5000);
    world_await(answer(WORLD_C2C, id, "@attach photo photo.png | a photo"), SMA_DELIVERY_SENT);
    CHECK_INT(1, media_count(WORLD_C2C));
    struct world_receipt receipt =
        world_await(answer(WORLD_C2C, id, "@attach document ../secret.txt"), SMA_DELIVERY_FAILED);
    CHECK(strstr(receipt.error, "inside the project") != NULL);
    receipt = world_await(answer(WORLD_C2C, id, "@attach document none.txt"), SMA_DELIVERY_FAILED);
    CHECK(strstr(receipt.error, "none.txt") != NULL);
    world_close();
}

/* What /full made is sent by its own delivery, which sends nothing else. */
static void only_its_own_delivery_sends_an_output(void)
{
    char path[300];
    const char *id = start_talk("", WORLD_C2C);
    snprintf(path, sizeof path, "%s/.ship", world_dir);
    CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/.ship/output", world_dir);
    CHECK(mkdir(path, 0700) == 0);
    write_file(".ship/output/answer-1.md", 5000);
    write_file("plan.txt", 50);
    const char *line = "@attach document .ship/output/answer-1.md | all of it";
    struct world_receipt receipt = world_await(answer(WORLD_C2C, id, line), SMA_DELIVERY_FAILED);
    CHECK(strstr(receipt.error, "protected") != NULL);
    CHECK_INT(0, media_count(WORLD_C2C));
    world_set_intent(SMA_INTENT_OUTPUT);
    world_await(answer(WORLD_C2C, id, line), SMA_DELIVERY_SENT);
    CHECK_INT(1, media_count(WORLD_C2C));
    world_await(answer(WORLD_C2C, id, "@attach document plan.txt"), SMA_DELIVERY_FAILED);
    world_close();
}

/* The words are mended, or left out: the picture is what counts. */
static void a_picture_outlives_its_caption(void)
{
    const char *id = start_talk("", WORLD_C2C);
    write_file("photo.png", 5000);
    world_tell("{s:s,s:b}", "do", "rights", "refuse_urls", 1);
    world_await(answer(WORLD_C2C, id, "@attach photo photo.png | from example.org"),
                SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_C2C, "from example[.]org"));
    world_await(answer(WORLD_C2C, id, "@attach photo photo.png | a [[forbidden]] word"),
                SMA_DELIVERY_SENT);
    CHECK_INT(2, media_count(WORLD_C2C));
    CHECK_INT(0, world_shown(WORLD_C2C, "a [[forbidden]] word"));
    world_close();
}

static void files_refused_whole_go_in_blocks(void)
{
    const char *id = start_talk("", WORLD_C2C);
    write_file("report.pdf", 10000);
    world_tell("{s:s,s:i}", "do", "rights", "block_size", 4096);
    world_tell("{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method", "files", "kind", "status",
               "times", 1, "status", 400, "code", 850019);
    world_await(answer(WORLD_C2C, id, "@attach document report.pdf"), SMA_DELIVERY_SENT);
    CHECK_INT(1, media_count(WORLD_C2C));
    world_close();
}

static void large_files_go_in_blocks(void)
{
    const char *id = start_talk("", WORLD_GROUP);
    write_file("film.bin", 11 * 1024 * 1024);
    world_tell("{s:s,s:i}", "do", "rights", "block_size", 4 * 1024 * 1024);
    world_await(answer(WORLD_GROUP, id, "@attach document film.bin"), SMA_DELIVERY_SENT);
    CHECK_INT(1, media_count(WORLD_GROUP));
    world_close();
}

static void an_end_in_mid_upload_is_clean(void)
{
    const char *id = start_talk("", WORLD_GROUP);
    write_file("film.bin", 8 * 1024 * 1024);
    answer(WORLD_GROUP, id, "@attach document film.bin");
    world_rest(5);
    world_close();
}

/* -- attachments ------------------------------------------------------------------------------- */
static void attachments_are_fetched(void)
{
    char path[300];
    struct world_prepared prepared;
    world_open("");
    WORLD_WAIT(world_log_count("qq: connected") > 0);
    json_decref(platform_do(&world_platform, "{s:s,s:s,s:s,s:[{s:s,s:s,s:s}]}", "do", "say", "chat",
                            WORLD_C2C, "text", "look", "attachments", "type", "image/jpeg", "name",
                            "x.jpg", "text", "the picture"));
    WORLD_WAIT(world_event_count() == 1);
    struct world_event event = world_event_at(0);
    CHECK(event.preparation[0] != '\0');
    uint64_t seq = world_prepare(event.preparation, WORLD_C2C, "M1", true);
    WORLD_WAIT(world_has_prepared(seq, &prepared));
    CHECK_TEXT("", prepared.context);
    CHECK(strncmp("image:.ship/.cache/qq/", prepared.parts, 22) == 0);
    CHECK(strstr(prepared.parts, "|x.jpg|image/jpeg") != NULL);
    const char *from = strstr(event.text, ".ship/"), *to = strchr(from, ' ');
    CHECK(from != NULL);
    size_t len = to == NULL ? strcspn(from, "\n") : (size_t)(to - from);
    snprintf(path, sizeof path, "%s/%.*s", world_dir,
             (int)(len < strcspn(from, "\n") ? len : strcspn(from, "\n")), from);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    char bytes[32] = "";
    CHECK(fread(bytes, 1, sizeof bytes - 1, file) == strlen("the picture"));
    fclose(file);
    CHECK_TEXT("the picture", bytes);
    seq = world_prepare("this is no list", WORLD_C2C, "M1", true);
    WORLD_WAIT(world_has_prepared(seq, &prepared));
    world_close();
}

int main(void)
{
    RUN(a_token_that_ends_in_mid_send_is_renewed);
    RUN(markdown_falls_back_to_text);
    RUN(plain_text_when_markdown_is_off);
    RUN(a_closed_window_goes_active_where_that_is_allowed);
    RUN(a_clock_that_is_fast_or_slow_mutes_nobody);
    RUN(used_up_answers_go_active);
    RUN(the_last_answer_is_kept_for_the_end_of_the_run);
    RUN(the_platforms_count_is_what_holds);
    RUN(links_are_written_out_where_they_are_refused);
    RUN(final_refusals_fail_with_their_reason);
    RUN(a_message_of_another_channel_is_not_believed);
    RUN(files_are_sent);
    RUN(only_its_own_delivery_sends_an_output);
    RUN(a_picture_outlives_its_caption);
    RUN(files_refused_whole_go_in_blocks);
    RUN(large_files_go_in_blocks);
    RUN(an_end_in_mid_upload_is_clean);
    RUN(attachments_are_fetched);
    return check_summary();
}
