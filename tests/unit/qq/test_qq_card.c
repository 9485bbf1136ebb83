/*
 * Aim: a request for consent has buttons where the bot may send them and numbered words elsewhere;
 * presses are acknowledged; an outcome never takes the last answer; what was waited for too long is
 * answered all the same.
 * Method: bodies against the expected text; then the adapter and the real dispatcher against the
 * simulated platform.
 */
#include "actor_world.h"

#include "adapters/qq/qq_out.h"
#include "sma/text.h"
#include "support/cards.h"

#include <jansson.h>

#define WORDS "Approval needed\nRun this command:\n  git <push> & run\nReply: yes / no\n"

static const char *start_talk(const char *members, const char *chat)
{
    world_open(members);
    WORLD_WAIT(world_log_count("qq: connected") > 0);
    const char *id = world_say(chat, "hello");
    WORLD_WAIT(world_event_count() == 1);
    return id;
}

static uint64_t give(const char *chat, const char *id, uint8_t intent, uint32_t reply_count,
                     char *json)
{
    uint64_t row = world_deliver(&(struct world_row){
        .chat = chat, .reply = id, .text = json, .intent = intent, .reply_count = reply_count});
    free(json);
    return row;
}

static uint64_t request(const char *chat, const char *id)
{
    return give(chat, id, SMA_INTENT_APPROVAL_REQUEST, 0, card_request(NULL, NULL));
}

/* The chat's last message of ours; decref. */
static json_t *last_of(const char *chat)
{
    json_t *list = world_chat(chat), *messages = json_object_get(list, "messages");
    json_t *last = NULL;
    for (size_t i = 0; i < json_array_size(messages); i++)
        if (platform_flag(json_array_get(messages, i), "is_ours", false))
            last = json_array_get(messages, i);
    CHECK(last != NULL);
    json_incref(last);
    json_decref(list);
    return last;
}

static size_t ours_count(const char *chat)
{
    json_t *list = world_chat(chat), *messages = json_object_get(list, "messages");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(messages); i++)
        count += platform_flag(json_array_get(messages, i), "is_ours", false);
    json_decref(list);
    return count;
}

/* The code of the press with this number; -1: not acknowledged. */
static int64_t ack_of(size_t number)
{
    json_t *answer = world_ask("{s:s}", "do", "interactions");
    const json_t *entry = json_array_get(json_object_get(answer, "interactions"), number);
    int64_t code = platform_number(entry, "code", -1);
    json_decref(answer);
    return code;
}

/* -- bodies ------------------------------------------------------------------------------------ */
static void rows_are_kept_or_filled(void)
{
    struct qq_button buttons[24];
    struct sma_route route = {.chat_type = SMA_STR("group"), .chat_id = SMA_STR("G")};
    struct qq_part part = {.kind = QQ_PART_TEXT, .markdown = SMA_STR("m"), .plain = SMA_STR("p")};
    static const struct
    {
        size_t count;
        uint32_t per_row;
        size_t row_count, first_count;
    } cases[] = {{4, 2, 2, 2},  {5, 1, 5, 1},  {6, 1, 2, 5},
                 {10, 2, 5, 2}, {24, 2, 5, 5}, {7, 7, 2, 5}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        for (uint32_t j = 0; j < cases[i].count; j++)
            buttons[j] = (struct qq_button){.id = SMA_STR("b"),
                                            .label = SMA_STR("l"),
                                            .data = SMA_STR("d"),
                                            .row = j / cases[i].per_row};
        struct qq_send send = {.route = &route,
                               .part = &part,
                               .is_markdown = true,
                               .buttons = buttons,
                               .button_count = cases[i].count};
        struct sma_buf body;
        sma_buf_init(&body, 1 << 16);
        qq_put_message(&body, &send);
        json_t *tree = json_loadb(body.ptr, body.len, 0, NULL);
        const json_t *rows =
            json_object_get(json_object_get(json_object_get(tree, "keyboard"), "content"), "rows");
        CHECK_INT(cases[i].row_count, json_array_size(rows));
        CHECK_INT(cases[i].first_count,
                  json_array_size(json_object_get(json_array_get(rows, 0), "buttons")));
        json_decref(tree);
        sma_buf_fini(&body);
    }
}

static void cards_are_cleaned_and_cut(void)
{
    struct sma_buf text;
    sma_buf_init(&text, 1 << 20);
    sma_buf_put_text(&text, "@everyone ![](http://x/y.png)\n```\n");
    for (int i = 0; i < 3000; i++)
        sma_buf_put_text(&text, "line ![](k)\n");
    char *json = card_request(text.ptr, text.ptr);
    struct qq_part part = {.kind = QQ_PART_CARD, .card_json = sma_str(json)};
    struct qq_card card;
    CHECK_OK(qq_card_open(&part, &card));
    struct sma_str markdown = sma_buf_str(&card.markdown), plain = sma_buf_str(&card.plain);
    CHECK(sma_utf16_length(markdown) <= QQ_PART_UNITS_LARGE + 16);
    CHECK(sma_utf16_length(plain) <= QQ_PART_UNITS_LARGE + 16);
    CHECK(strstr(markdown.ptr, "@everyone") == NULL && strstr(plain.ptr, "@everyone") == NULL);
    CHECK(memcmp(markdown.ptr, "**Approval needed**\n\n@ everyone [image](http://x/y.png)", 53) ==
          0);
    CHECK(strstr(markdown.ptr, "line ![](k)") != NULL); /* code stays as it is */
    CHECK(memcmp(markdown.ptr + markdown.len - 7, "```\n…", 7) == 0);
    qq_card_fini(&card);
    sma_buf_fini(&text);
    free(json);
}

/* -- against the platform ---------------------------------------------------------------------- */
static void a_request_has_buttons_that_answer(void)
{
    const char *id = start_talk("", WORLD_GROUP);
    struct world_receipt receipt = world_await(request(WORLD_GROUP, id), SMA_DELIVERY_SENT);
    json_t *message = last_of(WORLD_GROUP);
    CHECK_TEXT("markdown", platform_text(message, "kind", ""));
    json_t *buttons = json_object_get(message, "buttons");
    CHECK_INT(4, json_array_size(buttons));
    CHECK_INT(1, platform_number(json_array_get(buttons, 2), "row", -1));
    CHECK_INT(2, platform_number(json_array_get(buttons, 0), "permission", -1));
    CHECK_TEXT("Always", platform_text(json_array_get(buttons, 3), "label", ""));
    static const struct
    {
        enum sma_verdict verdict;
        const char *notice;
        int64_t code;
    } cases[] = {{SMA_VERDICT_ACCEPTED, "Approved.", 0},
                 {SMA_VERDICT_IGNORED, "You may not.", 4},
                 {SMA_VERDICT_IGNORED, "", 0},
                 {SMA_VERDICT_BUSY, "later", 2}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        world_answer_presses(cases[i].verdict, cases[i].notice);
        world_tell("{s:s,s:s,s:s,s:i,s:s}", "do", "press", "chat", WORLD_GROUP, "message_id",
                   receipt.platform_id, "button", 0, "user", "M2");
        WORLD_WAIT(world_event_count() == i + 2);
        struct world_event event = world_event_at(i + 1);
        CHECK_INT(SMA_EVENT_CALLBACK, event.kind);
        CHECK_TEXT(platform_text(json_array_get(buttons, 0), "data", ""), event.text);
        WORLD_WAIT(ack_of(i) >= 0);
        CHECK_INT(cases[i].code, ack_of(i));
    }
    json_decref(message);
    world_close();
}

static void words_take_the_place_of_buttons(void)
{
    const char *id = start_talk("", WORLD_C2C);
    world_tell("{s:s,s:b}", "do", "rights", "keyboard", 0);
    world_await(request(WORLD_C2C, id), SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_C2C, WORDS));
    int64_t refusals = world_counter("refusals");
    world_await(request(WORLD_C2C, id), SMA_DELIVERY_SENT);
    CHECK_INT(2, world_shown(WORLD_C2C, WORDS));
    CHECK_INT(refusals, world_counter("refusals")); /* remembered */
    world_await(world_deliver(
                    &(struct world_row){.chat = WORLD_C2C, .reply = id, .text = "**bold** words"}),
                SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_C2C, "**bold** words")); /* Markdown is still allowed */
    world_close();
}

static void the_owner_can_switch_buttons_off(void)
{
    const char *id = start_talk(",\"keyboard\":false", WORLD_C2C);
    world_await(request(WORLD_C2C, id), SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_C2C, WORDS));
    CHECK_INT(0, world_counter("refusals"));
    world_close();
}

static void an_outcome_never_takes_the_last_answer(void)
{
    const char *id = start_talk("", WORLD_GROUP);
    world_await(give(WORLD_GROUP, id, SMA_INTENT_APPROVAL_OUTCOME, 3, card_outcome("x")),
                SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_GROUP, "Approved: git push\nDecided by: Bob"));
    world_await(give(WORLD_GROUP, id, SMA_INTENT_APPROVAL_OUTCOME, 4, card_outcome("x")),
                SMA_DELIVERY_SENT); /* left out, and nobody is troubled */
    CHECK_INT(1, ours_count(WORLD_GROUP));
    CHECK_INT(0, world_counter("refusals"));
    world_close();
}

static void the_word_that_decides_is_answered_when_the_first_is_too_old(void)
{
    char first[96];
    snprintf(first, sizeof first, "%s", start_talk("", WORLD_GROUP));
    world_tell("{s:s,s:b}", "do", "rights", "active", 0);
    world_tell("{s:s,s:i}", "do", "clock", "seconds", 600);
    char second[96];
    snprintf(second, sizeof second, "%s", world_say(WORLD_GROUP, "yes"));
    WORLD_WAIT(world_event_count() == 2);
    world_await(world_deliver(
                    &(struct world_row){.chat = WORLD_GROUP, .reply = first, .text = "it is done"}),
                SMA_DELIVERY_SENT);
    json_t *message = last_of(WORLD_GROUP);
    CHECK_TEXT(second, platform_text(message, "replied", ""));
    json_decref(message);
    world_close();
}

static void the_press_that_decides_is_answered_too(void)
{
    char first[96];
    snprintf(first, sizeof first, "%s", start_talk("", WORLD_C2C));
    struct world_receipt receipt = world_await(request(WORLD_C2C, first), SMA_DELIVERY_SENT);
    world_tell("{s:s,s:b}", "do", "rights", "active", 0);
    world_tell("{s:s,s:i}", "do", "clock", "seconds", 7200);
    world_tell("{s:s,s:s,s:s,s:i}", "do", "press", "chat", WORLD_C2C, "message_id",
               receipt.platform_id, "button", 0);
    WORLD_WAIT(world_event_count() == 2);
    world_await(
        world_deliver(&(struct world_row){.chat = WORLD_C2C, .reply = first, .text = "it is done"}),
        SMA_DELIVERY_SENT);
    json_t *message = last_of(WORLD_C2C);
    CHECK_INT(0, strncmp("INTERACTION_CREATE", platform_text(message, "replied", ""), 18));
    json_decref(message);
    world_close();
}

static void reactions_are_refused_with_a_reason(void)
{
    const char *id = start_talk("", WORLD_C2C);
    uint64_t row = give(WORLD_C2C, id, SMA_INTENT_REACTION, 0, strdup("👍"));
    struct world_receipt receipt = world_await(row, SMA_DELIVERY_FAILED);
    CHECK(strstr(receipt.error, "no reactions") != NULL);
    world_close();
}

int main(void)
{
    RUN(rows_are_kept_or_filled);
    RUN(cards_are_cleaned_and_cut);
    RUN(a_request_has_buttons_that_answer);
    RUN(words_take_the_place_of_buttons);
    RUN(the_owner_can_switch_buttons_off);
    RUN(an_outcome_never_takes_the_last_answer);
    RUN(the_word_that_decides_is_answered_when_the_first_is_too_old);
    RUN(the_press_that_decides_is_answered_too);
    RUN(reactions_are_refused_with_a_reason);
    return check_summary();
}
