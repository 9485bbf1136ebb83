/*
 * Aim: a request for consent can be read, pressed and is changed to its outcome; a reaction lands,
 * or it is said why not.
 * Method: bodies against the expected text; then the adapter and the real dispatcher against the
 * simulated platform.
 */
#include "actor_world.h"

#include "adapters/telegram/telegram_out.h"
#include "sma/text.h"
#include "support/cards.h"

#define ADA "501"
#define GROUP "-1001"

/* -- bodies ------------------------------------------------------------------------------------ */
struct parts
{
    size_t count;
    char *last;
    size_t len;
};

static void take_part(void *user, struct sma_str bytes)
{
    struct parts *parts = user;
    free(parts->last);
    parts->last = malloc(bytes.len + 1);
    memcpy(parts->last, bytes.ptr, bytes.len);
    parts->len = bytes.len;
    parts->count++;
}

/* The one part of this row; free parts.last. */
static struct telegram_part render_one(struct parts *parts, uint8_t intent, const char *text)
{
    struct telegram_part part;
    *parts = (struct parts){0};
    CHECK_OK(telegram_render(&(struct sma_deliver){.intent = intent, .text = sma_str(text)},
                             take_part, parts));
    CHECK_INT(1, parts->count);
    CHECK_OK(telegram_part_decode((struct sma_str){parts->last, parts->len}, &part));
    return part;
}

static void a_request_is_a_message_with_buttons(void)
{
    struct parts parts;
    char *json = card_request(NULL, NULL);
    struct telegram_part part = render_one(&parts, SMA_INTENT_APPROVAL_REQUEST, json);
    CHECK_INT(TELEGRAM_PART_CARD, part.kind);
    struct telegram_card card;
    CHECK_OK(telegram_card_open(&part, &card));
    CHECK_STR(
        "<b>Approval needed</b>\n\nRun this command:\n\n<pre>git &lt;push&gt; &amp; run</pre>\n\n"
        "Asked for by: Ada",
        sma_buf_str(&card.html));
    CHECK_STR("Approval needed\n\nRun this command:\n\ngit <push> & run\n\nAsked for by: Ada",
              sma_buf_str(&card.plain));
    struct telegram_part shown = {.kind = TELEGRAM_PART_TEXT, .plain = SMA_STR("x")};
    struct sma_route route = {.chat_id = SMA_STR(GROUP),
                              .chat_type = SMA_STR("supergroup"),
                              .thread_id = SMA_STR("44"),
                              .message_id = SMA_STR("9")};
    struct telegram_send send = {.route = &route, .part = &shown, .card = &card.card};
    struct sma_buf body;
    sma_buf_init(&body, 1 << 16);
    telegram_put_send_message(&body, &send);
    static const char head[] =
        "{\"chat_id\":-1001,\"message_thread_id\":44,\"text\":\"x\",\"link_preview_options\":"
        "{\"is_disabled\":true},\"reply_parameters\":"
        "{\"message_id\":9,\"allow_sending_without_reply\":true},\"reply_markup\":{"
        "\"inline_keyboard\":[[{\"text\":\"Approve\",\"callback_data\":\"sa1:"
        "AQIDAAAAAAAAAAAAAAAAAA:*:y:";
    CHECK(body.len > sizeof head && memcmp(body.ptr, head, sizeof head - 1) == 0);
    json_t *tree = json_loadb(body.ptr, body.len, 0, NULL);
    const json_t *rows = json_object_get(json_object_get(tree, "reply_markup"), "inline_keyboard");
    CHECK_INT(2, json_array_size(rows));
    CHECK_INT(2, json_array_size(json_array_get(rows, 1)));
    json_decref(tree);
    sma_buf_fini(&body);
    telegram_card_fini(&card);
    free(parts.last);
    free(json);
}

static void a_long_request_is_cut_not_split(void)
{
    struct sma_buf text;
    struct parts parts;
    struct telegram_card card;
    sma_buf_init(&text, 1 << 20);
    sma_buf_put_text(&text, "```\n");
    for (int i = 0; i < 3000; i++)
        sma_buf_printf(&text, "line <%d>\n", i);
    sma_buf_put_text(&text, "```\n");
    char *json = card_request(text.ptr, NULL);
    struct telegram_part part = render_one(&parts, SMA_INTENT_APPROVAL_REQUEST, json);
    CHECK_OK(telegram_card_open(&part, &card));
    CHECK(sma_utf16_length(sma_buf_str(&card.plain)) <= 4096);
    CHECK(sma_utf16_length(sma_buf_str(&card.plain)) > 3000);
    CHECK(memcmp(card.plain.ptr + card.plain.len - 3, "…", 3) == 0);
    CHECK(memcmp(card.html.ptr + card.html.len - 10, "</pre>\n…", 10) == 0);
    telegram_card_fini(&card);
    sma_buf_fini(&text);
    free(parts.last);
    free(json);
}

static void what_is_no_card_is_text(void)
{
    struct parts parts;
    struct telegram_part part = render_one(&parts, SMA_INTENT_APPROVAL_REQUEST, "may I?");
    CHECK_INT(TELEGRAM_PART_TEXT, part.kind);
    CHECK_STR("may I?", part.plain);
    free(parts.last);
}

static void emoji_are_found_in_every_spelling(void)
{
    CHECK_TEXT("👍", telegram_reaction_find(SMA_STR("👍")));
    CHECK_TEXT("👍", telegram_reaction_find(SMA_STR(" 👍🏽 ")));
    CHECK_TEXT("❤", telegram_reaction_find(SMA_STR("❤️")));
    CHECK_TEXT("❤‍🔥", telegram_reaction_find(SMA_STR("❤️‍🔥")));
    CHECK_TEXT("🤷‍♂", telegram_reaction_find(SMA_STR("🤷🏻‍♂️")));
    static const char *const none[] = {"", " ", "🚀", "👍👍", "ok", "\xff", "\xf0\x9f", "🏽", "✅"};
    for (size_t i = 0; i < SMA_COUNT_OF(none); i++)
        CHECK(telegram_reaction_find(sma_str(none[i])) == NULL);
}

static void answers_to_cards_are_understood(void)
{
    static const struct
    {
        int status;
        const char *description;
        bool is_edit_gone, is_keyboard_refused;
        uint8_t attempt_class;
    } cases[] = {
        {400, "Bad Request: message to edit not found", true, false, SMA_ATTEMPT_GIVE_UP},
        {400, "Bad Request: message can't be edited", true, false, SMA_ATTEMPT_GIVE_UP},
        {400,
         "Bad Request: message is not modified: specified new message content and reply markup",
         false, false, SMA_ATTEMPT_SENT},
        {400, "Bad Request: BUTTON_DATA_INVALID", false, true, SMA_ATTEMPT_GIVE_UP},
        {400, "Bad Request: REACTION_INVALID", false, false, SMA_ATTEMPT_GIVE_UP},
        {400, "Bad Request: message to react not found", false, false, SMA_ATTEMPT_GIVE_UP},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char body[400];
        snprintf(body, sizeof body, "{\"ok\":false,\"error_code\":%d,\"description\":\"%s\"}",
                 cases[i].status, cases[i].description);
        struct sma_answered outcome;
        sma_verdict(&telegram_verdicts, NULL,
                    &(struct sma_net_answer){.end = SMA_NET_ANSWERED,
                                             .status = cases[i].status,
                                             .retry_after_ms = -1,
                                             .body = sma_str(body)},
                    0, &outcome);
        CHECK_INT(cases[i].attempt_class, outcome.attempt_class);
        CHECK_INT(cases[i].is_edit_gone, (outcome.mend & SMA_MEND_EDIT) != 0);
        CHECK_INT(cases[i].is_keyboard_refused, (outcome.mend & SMA_MEND_BUTTONS) != 0);
        CHECK((outcome.mend & (SMA_MEND_MARKS | SMA_MEND_REPLY)) == 0);
    }
}

/* -- against the platform ---------------------------------------------------------------------- */
static struct world_receipt receipt_of(uint64_t row)
{
    struct world_receipt receipt;
    WORLD_WAIT(world_has_receipt(row, &receipt));
    return receipt;
}

static void fault(const char *method, int status, const char *text)
{
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i,s:s,s:i}", "do", "fault", "method", method,
                  "kind", "status", "status", status, "text", text, "seconds", 1);
}

static json_t *message_at(int64_t chat, int64_t id)
{
    json_t *list = world_chat(chat);
    json_t *message = json_array_get(json_object_get(list, "messages"), (size_t)(id - 1));
    json_incref(message);
    json_decref(list);
    return message;
}

static struct world_receipt deliver_card(uint8_t intent, uint64_t seq, const char *chat,
                                         const char *thread, const char *reply, char *json)
{
    world_set_intent(intent);
    struct world_receipt receipt = receipt_of(world_deliver(seq, chat, thread, reply, json));
    world_set_intent(SMA_INTENT_ASSISTANT_TEXT);
    free(json);
    return receipt;
}

static struct world_receipt request(uint64_t seq, const char *chat, const char *reply)
{
    return deliver_card(SMA_INTENT_APPROVAL_REQUEST, seq, chat, "", reply,
                        card_request(NULL, NULL));
}

/* The toast of a pressed button, by its text. */
static json_t *press(int64_t chat, int64_t user, int64_t message, const char *button)
{
    json_t *pressed = telegram_do(&world_platform, "{s:s,s:I,s:I,s:I,s:s}", "do", "press", "chat",
                                  (json_int_t)chat, "user", (json_int_t)user, "message_id",
                                  (json_int_t)message, "button", button);
    const char *id = json_string_value(json_object_get(pressed, "id"));
    json_t *toast = NULL;
    do {
        json_decref(toast);
        world_rest(1);
        toast = telegram_do(&world_platform, "{s:s,s:s}", "do", "toast", "id", id);
        CHECK(!json_is_true(json_object_get(toast, "is_late")));
    } while (!json_is_true(json_object_get(toast, "is_answered")));
    json_decref(pressed);
    return toast;
}

static void a_request_is_pressed_and_becomes_its_outcome(void)
{
    world_open("");
    char asked[24];
    int64_t said = world_say(WORLD_GROUP, WORLD_ADA, "@helper_bot push it");
    snprintf(asked, sizeof asked, "%lld", (long long)said);
    struct world_receipt receipt = request(1, GROUP, asked);
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    int64_t id = strtoll(receipt.platform_id, NULL, 10);
    json_t *message = message_at(WORLD_GROUP, id);
    CHECK_INT(said, json_integer_value(json_object_get(message, "reply_to")));
    CHECK_INT(4, json_array_size(json_object_get(message, "buttons")));
    CHECK(!json_is_true(json_object_get(message, "is_plain")));
    json_decref(message);

    WORLD_WAIT(world_event_count() == 1);
    world_answer_presses(SMA_VERDICT_ACCEPTED, "Approved.");
    json_t *toast = press(WORLD_GROUP, WORLD_BOB, id, "Approve");
    CHECK_TEXT("Approved.", json_string_value(json_object_get(toast, "text")));
    CHECK(!json_is_true(json_object_get(toast, "is_alert")));
    json_decref(toast);
    CHECK_INT(SMA_EVENT_CALLBACK, world_event_at(1).kind);
    CHECK_INT(0, strncmp("sa1:", world_event_at(1).text, 4));
    CHECK_TEXT("telegram:chat:-1001", world_event_at(1).chat_key);

    receipt = deliver_card(SMA_INTENT_APPROVAL_OUTCOME, 1, GROUP, "", asked,
                           card_outcome(receipt.platform_id));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    CHECK_INT(id, strtoll(receipt.platform_id, NULL, 10));
    message = message_at(WORLD_GROUP, id);
    CHECK_TEXT("Approved: git push\nDecided by: Bob",
               json_string_value(json_object_get(message, "text")));
    CHECK_INT(0, json_array_size(json_object_get(message, "buttons")));
    CHECK_INT(1, json_integer_value(json_object_get(message, "edits")));
    json_decref(message);
    receipt = deliver_card(SMA_INTENT_APPROVAL_OUTCOME, 1, GROUP, "", asked,
                           card_outcome(receipt.platform_id)); /* once more: not modified */
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    CHECK_INT(id, strtoll(receipt.platform_id, NULL, 10));
    CHECK_INT(1, world_calls("sendmessage"));
    world_close();
}

static void a_refused_press_stays_on_the_screen(void)
{
    world_open("");
    struct world_receipt receipt = request(1, ADA, "");
    int64_t id = strtoll(receipt.platform_id, NULL, 10);
    struct sma_buf words;
    sma_buf_init(&words, 4096);
    for (int i = 0; i < 300; i++)
        sma_buf_put_text(&words, "不");
    world_answer_presses(SMA_VERDICT_IGNORED, words.ptr);
    json_t *toast = press(WORLD_ADA, WORLD_ADA, id, "Refuse");
    CHECK(json_is_true(json_object_get(toast, "is_alert")));
    CHECK_INT(200, sma_utf16_length(sma_str(json_string_value(json_object_get(toast, "text")))));
    json_decref(toast);
    sma_buf_fini(&words);
    world_answer_presses(SMA_VERDICT_ACCEPTED, NULL);
    toast = press(WORLD_ADA, WORLD_ADA, id, "Refuse");
    CHECK_TEXT("", json_string_value(json_object_get(toast, "text")));
    json_decref(toast);
    world_close();
}

static void a_press_in_a_topic_belongs_to_it(void)
{
    world_open("");
    telegram_tell(&world_platform, "{s:s,s:i,s:b}", "do", "chat", "id", -88, "forum", 1);
    (void)world_say(-88, WORLD_ADA, "the number 1 is that of no topic");
    char thread[24];
    snprintf(thread, sizeof thread, "%lld",
             (long long)telegram_number(&world_platform, "thread", "{s:s,s:i,s:i,s:s}", "do",
                                        "topic", "chat", -88, "user", WORLD_ADA, "name", "T"));
    struct world_receipt receipt =
        deliver_card(SMA_INTENT_APPROVAL_REQUEST, 1, "-88", thread, "", card_request(NULL, NULL));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    size_t before = world_event_count();
    json_decref(press(-88, WORLD_ADA, strtoll(receipt.platform_id, NULL, 10), "Approve"));
    WORLD_WAIT(world_event_count() > before);
    char key[64];
    snprintf(key, sizeof key, "telegram:chat:-88:topic:%s", thread);
    CHECK_TEXT(key, world_event_at(world_event_count() - 1).chat_key);
    world_close();
}

static void a_request_is_mended_in_the_same_attempt(void)
{
    world_open("");
    fault("sendMessage", 400, "Bad Request: can't parse entities: asked to fail");
    struct world_receipt receipt = request(1, ADA, "");
    json_t *message = message_at(WORLD_ADA, strtoll(receipt.platform_id, NULL, 10));
    CHECK(json_is_true(json_object_get(message, "is_plain")));
    CHECK_INT(4, json_array_size(json_object_get(message, "buttons")));
    json_decref(message);
    fault("sendMessage", 400, "Bad Request: BUTTON_DATA_INVALID");
    receipt = request(2, ADA, "");
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    message = message_at(WORLD_ADA, strtoll(receipt.platform_id, NULL, 10));
    CHECK_INT(0, json_array_size(json_object_get(message, "buttons")));
    CHECK_TEXT("Run this command:\n  git <push> & run\nReply: yes / no",
               json_string_value(json_object_get(message, "text")));
    json_decref(message);
    world_close();
}

static void an_outcome_without_its_message_is_a_new_one(void)
{
    world_open("");
    CHECK_INT(SMA_DELIVERY_SENT,
              deliver_card(SMA_INTENT_APPROVAL_OUTCOME, 1, ADA, "", "", card_outcome("")).state);
    CHECK_INT(1, world_shown(WORLD_ADA, "Approved: git push\nDecided by: Bob"));
    CHECK_INT(0, world_calls("editmessagetext"));
    CHECK_INT(SMA_DELIVERY_SENT, deliver_card(SMA_INTENT_APPROVAL_OUTCOME, 2, ADA, "", "",
                                              card_outcome("4711")) /* gone */
                                     .state);
    CHECK_INT(2, world_shown(WORLD_ADA, "Approved: git push\nDecided by: Bob"));
    fault("editMessageText", 400, "Bad Request: can't parse entities: asked to fail");
    struct world_receipt receipt = request(3, ADA, "");
    receipt = deliver_card(SMA_INTENT_APPROVAL_OUTCOME, 3, ADA, "", "",
                           card_outcome(receipt.platform_id));
    json_t *message = message_at(WORLD_ADA, strtoll(receipt.platform_id, NULL, 10));
    CHECK(json_is_true(json_object_get(message, "is_plain")));
    CHECK_INT(1, json_integer_value(json_object_get(message, "edits")));
    json_decref(message);
    world_close();
}

static void a_lost_answer_to_an_edit_is_repeated(void)
{
    world_open("");
    struct world_receipt receipt = request(1, ADA, "");
    telegram_tell(&world_platform, "{s:s,s:s,s:s}", "do", "fault", "method", "editMessageText",
                  "kind", "lose_answer");
    receipt = deliver_card(SMA_INTENT_APPROVAL_OUTCOME, 1, ADA, "", "",
                           card_outcome(receipt.platform_id));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    json_t *message = message_at(WORLD_ADA, strtoll(receipt.platform_id, NULL, 10));
    CHECK_INT(1, json_integer_value(json_object_get(message, "edits")));
    json_decref(message);
    world_close();
}

static void reactions_land_or_say_why_not(void)
{
    world_open("");
    char id[24];
    int64_t said = world_say(WORLD_ADA, WORLD_ADA, "hello");
    snprintf(id, sizeof id, "%lld", (long long)said);
    CHECK_INT(SMA_DELIVERY_SENT,
              deliver_card(SMA_INTENT_REACTION, 1, ADA, "", id, strdup("❤️")).state);
    json_t *message = message_at(WORLD_ADA, said);
    CHECK_TEXT("❤", json_string_value(json_object_get(message, "reaction")));
    json_decref(message);
    struct world_receipt receipt = deliver_card(SMA_INTENT_REACTION, 2, ADA, "", id, strdup("🚀"));
    CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
    CHECK(strstr(receipt.error, "🚀") != NULL && strstr(receipt.error, "👍") != NULL);
    receipt = deliver_card(SMA_INTENT_REACTION, 3, ADA, "", "4711", strdup("👍"));
    CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
    CHECK(strstr(receipt.error, "gone") != NULL);
    receipt = deliver_card(SMA_INTENT_REACTION, 4, ADA, "", "", strdup("👍"));
    CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
    CHECK_INT(2, world_calls("setmessagereaction"));
    world_close();
}

int main(void)
{
    RUN(a_request_is_a_message_with_buttons);
    RUN(a_long_request_is_cut_not_split);
    RUN(what_is_no_card_is_text);
    RUN(emoji_are_found_in_every_spelling);
    RUN(answers_to_cards_are_understood);
    RUN(a_request_is_pressed_and_becomes_its_outcome);
    RUN(a_refused_press_stays_on_the_screen);
    RUN(a_press_in_a_topic_belongs_to_it);
    RUN(a_request_is_mended_in_the_same_attempt);
    RUN(an_outcome_without_its_message_is_a_new_one);
    RUN(a_lost_answer_to_an_edit_is_repeated);
    RUN(reactions_land_or_say_why_not);
    return check_summary();
}
