/*
 * Aim: an answer that exists reaches its person, or he is told: a refusal that is in no list takes
 * the next plainer form, each once, and never the same again.
 * Method: the adapter and the real dispatcher against the simulated platform, which refuses the
 * first n forms with words that nobody has a row for, n = 0, 1, ...
 */
#include "actor_world.h"

#include "support/cards.h"

#include <sys/stat.h>

#define ADA "501"
#define GROUP "-1001"
#define REQUEST_COUNT_MAX 9 /* more steps than this are the same ones again */

struct form
{
    const char *what, *chat, *text;
    bool is_card, is_reply;
    size_t steps_least; /* so many refusals it outlives */
};
#define LONG                                                                                       \
    "## Report\n\nSentinel words go on and on here, and some of them are **bold**. They are long " \
    "enough to be cut into pieces where the platform finds them too long, which it may say in "    \
    "any "                                                                                         \
    "words. See [the page](https://example.org/a?b=c) for the rest of it, or ask again later on."
static const struct form forms[] = {
    {"words", ADA, "sentinel", false, false, 1},
    {"marks", ADA, "sentinel **bold**", false, false, 2},
    {"a link", ADA, "sentinel [page](https://example.org/x)", false, false, 2},
    {"a bare link", ADA, "sentinel https://example.org/x", false, false, 2},
    {"long", ADA, LONG, false, false, 2},
    {"a reply", GROUP, "sentinel **bold**", false, true, 3},
    {"a card", ADA, NULL, true, false, 2},
    {"a card in a group", GROUP, NULL, true, true, 3},
    {"a file by its address", ADA, "@attach photo https://example.org/p.png | sentinel", false,
     false, 3},
    {"a file", ADA, "@attach photo p.png | sentinel", false, false, 3},
};

static void refuse(size_t count, int seed)
{
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:s,s:i,s:i}", "do", "fault", "method", "*",
                  "kind", "unknown", "holds", "chat_id", "times", (int)count, "seed", seed);
}

static size_t calls(void)
{
    static const char *const methods[] = {"sendmessage", "sendphoto", "senddocument", "sendvoice"};
    size_t count = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(methods); i++)
        count += (size_t)world_calls(methods[i]);
    return count;
}

/* Whether people can read the word, in a text or in a file. */
static bool is_shown(int64_t chat, const char *word)
{
    json_t *list = world_chat(chat);
    char *text = json_dumps(json_object_get(list, "messages"), 0);
    bool is_there = text != NULL && strcasestr(text, word) != NULL;
    free(text);
    json_decref(list);
    return is_there;
}

static struct world_receipt deliver(const struct form *form)
{
    struct world_receipt receipt;
    char id[24] = "",
         *card = form->is_card ? card_request("Sentinel: run it?", "Sentinel: yes / no") : NULL;
    int64_t chat = strcmp(form->chat, GROUP) == 0 ? WORLD_GROUP : WORLD_ADA;
    if (form->is_reply)
        snprintf(id, sizeof id, "%lld", (long long)world_say(chat, WORLD_ADA, "@helper_bot hello"));
    world_set_intent(form->is_card ? SMA_INTENT_APPROVAL_REQUEST : SMA_INTENT_ASSISTANT_TEXT);
    uint64_t row = world_deliver(1, form->chat, "", id, card != NULL ? card : form->text);
    WORLD_WAIT(world_has_receipt(row, &receipt));
    world_set_intent(SMA_INTENT_ASSISTANT_TEXT);
    free(card);
    return receipt;
}

static void walk(const struct form *form)
{
    size_t refused = 0;
    for (bool is_over = false; !is_over; refused++) {
        char path[600];
        world_open("");
        snprintf(path, sizeof path, "%s/p.png", world_dir);
        FILE *file = fopen(path, "w");
        CHECK(file != NULL && fputs("picture", file) >= 0 && fclose(file) == 0);
        refuse(refused, (int)(refused * 31 + (size_t)(form - forms)));
        struct world_receipt receipt = deliver(form);
        int64_t chat = strcmp(form->chat, GROUP) == 0 ? WORLD_GROUP : WORLD_ADA;
        size_t count = calls();
        is_over = receipt.state == SMA_DELIVERY_FAILED;
        if (is_over) {
            CHECK(receipt.is_refused); /* the store tells the person */
            CHECK_INT(refused, count);
        } else {
            CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
            CHECK(is_shown(chat, "sentinel"));
            CHECK(count > refused);
        }
        if (refused > REQUEST_COUNT_MAX || (is_over && refused <= form->steps_least))
            fprintf(stderr, "%s: %zu refusals, %zu requests\n", form->what, refused, count);
        CHECK(refused <= REQUEST_COUNT_MAX);
        CHECK(!is_over || refused > form->steps_least);
        world_close();
    }
}

static void an_unknown_refusal_never_loses_an_answer(void)
{
    for (size_t i = 0; i < SMA_COUNT_OF(forms); i++)
        walk(&forms[i]);
}

/* Words of the Bot API that no version of the table had. */
static void what_is_found_too_long_arrives_in_pieces(void)
{
    static const char *const words[] = {"Bad Request: message is too long",
                                        "Bad Request: MESSAGE_TOO_LONG",
                                        "Bad Request: payload length exceeds what we like"};
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++) {
        struct world_receipt receipt;
        char text[1500] = "", seen[3000] = "";
        for (int k = 0; k < 150; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "word%03d ", k);
        world_open("");
        telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i,s:s,s:i}", "do", "fault", "method",
                      "sendMessage", "kind", "status", "status", 400, "text", words[i], "times",
                      (int)(1 + i));
        uint64_t row = world_deliver(1, ADA, "", "", text);
        WORLD_WAIT(world_has_receipt(row, &receipt));
        CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
        json_t *list = world_chat(WORLD_ADA), *messages = json_object_get(list, "messages");
        CHECK(json_array_size(messages) >= 2);
        for (size_t k = 0; k < json_array_size(messages); k++)
            snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s ",
                     json_string_value(json_object_get(json_array_get(messages, k), "text")));
        for (int k = 0; k < 150; k++) { /* each word once, in order */
            char word[16];
            snprintf(word, sizeof word, "word%03d", k);
            const char *at = strstr(seen, word);
            CHECK(at != NULL && strstr(at + 1, word) == NULL);
        }
        json_decref(list);
        world_close();
    }
}

/* A piece has arrived and the next one must wait: what has arrived does not come again. */
static void pieces_that_have_arrived_are_not_sent_again(void)
{
    struct world_receipt receipt;
    char text[1500] = "";
    for (int k = 0; k < 150; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "word%03d ", k);
    world_open("");
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i,s:s}", "do", "fault", "method", "sendMessage",
                  "kind", "status", "status", 400, "text", "Bad Request: message is too long");
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method",
                  "sendMessage", "kind", "status", "status", 429, "skip", 1, "seconds", 1);
    uint64_t row = world_deliver(1, ADA, "", "", text);
    WORLD_WAIT(world_has_receipt(row, &receipt));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    json_t *list = world_chat(WORLD_ADA), *messages = json_object_get(list, "messages");
    CHECK_INT(2, json_array_size(messages));
    json_decref(list);
    world_close();
}

/* Nothing plainer arrives where nobody is. */
static void a_closed_chat_is_not_asked_again(void)
{
    struct world_receipt receipt;
    world_open("");
    telegram_tell(&world_platform, "{s:s,s:i}", "do", "block", "chat", WORLD_BOB);
    uint64_t row = world_deliver(1, "502", "", "", "some **bold** words, https://example.org");
    WORLD_WAIT(world_has_receipt(row, &receipt));
    CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
    CHECK_INT(1, calls());
    world_close();
}

#define PHOTO "@attach photo p.png | sentinel"
/* A right to one form is none to the others: what is allowed arrives. Where nothing is, the log
 * says so, and nothing is asked again and again. */
static void what_is_still_allowed_arrives(void)
{
    static const struct
    {
        const char *forbidden, *thread, *text;
        bool arrives;
    } rows[] = {
        {"photos", "", PHOTO, true},
        {"photos_rpc", "", PHOTO, true},
        {"media", "", PHOTO, true},
        {"files", "", PHOTO, true},
        {"videos", "", PHOTO, true},
        {"documents", "", "@attach document p.png | sentinel", true},
        {"text", "", "sentinel **bold**", true},
        {"text_rpc", "", "sentinel", true},
        {"links", "", "sentinel https://example.org/x", true},
        {"links_rpc", "", "sentinel [page](https://example.org/x)", true},
        {"topic", "77", "sentinel **bold**", true},
        {"topic_gone", "77", PHOTO, true},
        {"topic_unknown", "77", "sentinel", true},
        {"topics", "77", "sentinel", false},
        {"all", "", "sentinel **bold** [x](https://x.example)", false},
        {"all_words", "", PHOTO, false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct world_receipt receipt;
        char path[600];
        world_open("");
        snprintf(path, sizeof path, "%s/p.png", world_dir);
        FILE *file = fopen(path, "w");
        CHECK(file != NULL && fputs("picture", file) >= 0 && fclose(file) == 0);
        telegram_tell(&world_platform, "{s:s,s:I,s:s}", "do", "block", "chat",
                      (json_int_t)WORLD_GROUP, "what", rows[i].forbidden);
        uint64_t row = world_deliver(1, GROUP, rows[i].thread, "", rows[i].text);
        WORLD_WAIT(world_has_receipt(row, &receipt));
        bool is_seen = is_shown(WORLD_GROUP, "sentinel");
        if (is_seen != rows[i].arrives || calls() > 5)
            fprintf(stderr, "%s, %zu calls of %s: %s\n", rows[i].forbidden, calls(), rows[i].text,
                    receipt.error);
        CHECK_INT(rows[i].arrives ? SMA_DELIVERY_SENT : SMA_DELIVERY_FAILED, receipt.state);
        CHECK(is_seen == rows[i].arrives && calls() <= 5);
        CHECK(rows[i].arrives || strstr(receipt.error, "administrator") != NULL ||
              strstr(receipt.error, "topic") != NULL);
        world_close();
    }
}

/* Words of a run that goes on are no file: more come. A file that is meant is one. */
static void words_in_passing_become_no_file(void)
{
    for (int is_file = 0; is_file < 2; is_file++) {
        struct world_receipt receipt;
        char path[600];
        world_open("");
        snprintf(path, sizeof path, "%s/p.png", world_dir);
        FILE *file = fopen(path, "w");
        CHECK(file != NULL && fputs("picture", file) >= 0 && fclose(file) == 0);
        telegram_tell(&world_platform, "{s:s,s:I,s:s}", "do", "block", "chat",
                      (json_int_t)WORLD_GROUP, "what", "text");
        uint64_t row = world_give(
            &(struct world_order){.kind = WORLD_DELIVER,
                                  .seq = 1,
                                  .chat = GROUP,
                                  .thread = "",
                                  .reply = "",
                                  .text = is_file ? PHOTO : "sentinel: one moment **please**",
                                  .is_interim = true});
        WORLD_WAIT(world_has_receipt(row, &receipt));
        CHECK_INT(is_file ? SMA_DELIVERY_SENT : SMA_DELIVERY_FAILED, receipt.state);
        CHECK_INT(is_file, is_shown(WORLD_GROUP, "sentinel"));
        CHECK(is_file || world_calls("senddocument") == 0);
        CHECK(is_file || strstr(receipt.error, "administrator") != NULL);
        world_close();
    }
}

/* A paste of 9 kB: the app cuts it into three messages of one second. Others have no key, so they
 * wait for nothing. */
static void a_long_paste_has_one_key(void)
{
    static char text[4097];
    world_open("");
    memset(text, 'x', 4096);
    (void)world_say(WORLD_GROUP, WORLD_ADA, text);
    (void)world_say(WORLD_GROUP, WORLD_BOB, "what is that?");
    (void)world_say(WORLD_GROUP, WORLD_ADA, text);
    (void)world_say(WORLD_GROUP, WORLD_ADA, "the end");
    (void)world_say(WORLD_GROUP, WORLD_ADA, "and another one");
    WORLD_WAIT(world_event_count() == 5);
    struct world_event first = world_event_at(0);
    const char *const key = first.group_key;
    CHECK(strncmp(key, "paste:", 6) == 0);
    CHECK_TEXT("", world_event_at(1).group_key);
    CHECK_TEXT(key, world_event_at(2).group_key);
    CHECK_TEXT(key, world_event_at(3).group_key);
    CHECK_TEXT("", world_event_at(4).group_key);
    world_close();
}

/* Of words with links whose marks are refused the links stay. */
static void plain_words_say_where_links_lead(void)
{
    struct world_receipt receipt;
    world_open("");
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i,s:s}", "do", "fault", "method", "sendMessage",
                  "kind", "status", "status", 400, "text", "Bad Request: ENTITY_TEXT_INVALID");
    uint64_t row = world_deliver(1, ADA, "", "",
                                 "see **[the guide](https://one.example/g)** and "
                                 "[https://two.example](https://two.example), **now**");
    WORLD_WAIT(world_has_receipt(row, &receipt));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    json_t *list = world_chat(WORLD_ADA), *messages = json_object_get(list, "messages");
    CHECK_INT(1, json_array_size(messages));
    CHECK_TEXT("see the guide (https://one.example/g) and https://two.example, now",
               json_string_value(json_object_get(json_array_get(messages, 0), "text")));
    json_decref(list);
    world_close();
}

/* A file of the project that is not there any more: the person hears of it. */
static void a_missing_file_is_told_of(void)
{
    struct world_receipt receipt;
    world_open("");
    uint64_t row = world_deliver(1, ADA, "", "", "@attach document gone.txt | the plan");
    WORLD_WAIT(world_has_receipt(row, &receipt));
    CHECK_INT(SMA_DELIVERY_FAILED, receipt.state);
    CHECK(receipt.is_refused);
    world_close();
}

static void say_forwarded(int64_t chat, int64_t user, const char *text)
{
    telegram_tell(&world_platform, "{s:s,s:I,s:I,s:s,s:{s:{s:s,s:i,s:s}}}", "do", "say", "chat",
                  (json_int_t)chat, "user", (json_int_t)user, "text", text, "members",
                  "forward_origin", "type", "hidden_user", "date", 1749999999, "sender_user_name",
                  "Eve");
}

/* Clients send the comment first: what is forwarded right behind it goes into its run, and words of
 * others or of long ago have nothing to do with it. */
static void a_forward_right_behind_words_goes_with_them(void)
{
    world_open("");
    (void)world_say(WORLD_GROUP, WORLD_BOB, "I talk to somebody else");
    (void)world_say(WORLD_GROUP, WORLD_ADA, "@helper_bot what does that mean?");
    say_forwarded(WORLD_GROUP, WORLD_ADA, "written elsewhere");
    say_forwarded(WORLD_GROUP, WORLD_ADA, "and this");
    say_forwarded(WORLD_GROUP, WORLD_BOB, "of another person");
    WORLD_WAIT(world_event_count() == 5);
    for (size_t i = 0; i < 5; i++) {
        struct world_event event = world_event_at(i);
        bool is_with = i == 2 || i == 3;
        CHECK(event.is_behind == is_with);
        CHECK(!is_with || (event.group_key[0] == '\0' && event.addressed != SMA_ADDRESSED_NONE));
    }
    world_close();
}

/* What comes with something that is forwarded is one message with it; its key is no paste's. */
static void words_behind_a_forward_have_its_key(void)
{
    world_open("");
    (void)world_say(WORLD_GROUP, WORLD_BOB, "of somebody else");
    say_forwarded(WORLD_ADA, WORLD_ADA, "written elsewhere");
    (void)world_say(WORLD_ADA, WORLD_ADA, "what does that mean?");
    (void)world_say(WORLD_ADA, WORLD_ADA, "and another one");
    WORLD_WAIT(world_event_count() == 4);
    struct world_event forward = world_event_at(1);
    CHECK_TEXT("", world_event_at(0).group_key);
    CHECK(strncmp(forward.group_key, "forward:", 8) == 0);
    CHECK_TEXT(forward.group_key, world_event_at(2).group_key);
    CHECK_TEXT("", world_event_at(3).group_key);
    world_close();
}

int main(void)
{
    RUN(what_is_still_allowed_arrives);
    RUN(words_in_passing_become_no_file);
    RUN(a_forward_right_behind_words_goes_with_them);
    RUN(words_behind_a_forward_have_its_key);
    RUN(a_missing_file_is_told_of);
    RUN(plain_words_say_where_links_lead);
    RUN(a_long_paste_has_one_key);
    RUN(an_unknown_refusal_never_loses_an_answer);
    RUN(what_is_found_too_long_arrives_in_pieces);
    RUN(pieces_that_have_arrived_are_not_sent_again);
    RUN(a_closed_chat_is_not_asked_again);
    return check_summary();
}
