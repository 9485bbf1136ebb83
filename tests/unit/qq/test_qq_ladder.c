/*
 * Aim: an answer that exists reaches its person, or he is told: a refusal that is in no list takes
 * the next plainer form, each once; what the bot may not do at all is not tried with every answer.
 * Method: the adapter and the real dispatcher against the simulated platform, which refuses the
 * first n forms with a code and words that nobody has a row for, n = 0, 1, ...
 */
#include "actor_world.h"

#include "support/cards.h"

#include <sys/stat.h>

#define REQUEST_COUNT_MAX 9

struct form
{
    const char *what, *chat, *text;
    bool is_card;
    size_t steps_least; /* so many refusals it outlives */
};
static const struct form forms[] = {
    {"words", WORLD_C2C, "sentinel", false, 1},
    {"marks", WORLD_C2C, "sentinel **bold**", false, 2},
    {"marks in a group", WORLD_GROUP, "sentinel **bold**", false, 2},
    {"a link", WORLD_GROUP, "sentinel [page](https://example.org/x)", false, 3},
    {"a channel", WORLD_CHANNEL, "sentinel https://example.org/x", false, 1},
    {"a card", WORLD_GROUP, NULL, true, 2},
    {"a file", WORLD_C2C, "@attach photo p.png | sentinel", false, 2},
};

static const char *start_talk(const char *chat)
{
    char path[600];
    world_open("");
    snprintf(path, sizeof path, "%s/p.png", world_dir);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs("picture", file) >= 0 && fclose(file) == 0);
    WORLD_WAIT(world_log_count("qq: connected") > 0);
    const char *id = world_say(chat, "hello");
    WORLD_WAIT(world_event_count() == 1);
    return id;
}

static struct world_receipt deliver(const struct form *form, const char *id)
{
    struct world_receipt receipt;
    char *card = form->is_card ? card_request("Sentinel: run it?", "Sentinel: yes / no") : NULL;
    struct world_row row = {.chat = form->chat,
                            .reply = id,
                            .text = card != NULL ? card : form->text,
                            .intent = form->is_card ? SMA_INTENT_APPROVAL_REQUEST : 0};
    uint64_t outbox_id = world_deliver(&row);
    WORLD_WAIT(world_has_receipt(outbox_id, &receipt));
    free(card);
    return receipt;
}

static bool is_shown(const char *chat, const char *word)
{
    json_t *list = world_chat(chat);
    char *text = json_dumps(json_object_get(list, "messages"), 0);
    bool is_there = text != NULL && strcasestr(text, word) != NULL;
    free(text);
    json_decref(list);
    return is_there;
}

static void walk(const struct form *form)
{
    size_t refused = 0;
    for (bool is_over = false; !is_over; refused++) {
        const char *id = start_talk(form->chat);
        world_tell("{s:s,s:s,s:s,s:s,s:i,s:i}", "do", "fault", "method", "send", "kind", "unknown",
                   "holds", "msg_id", "times", (int)refused, "seed", (int)refused * 17 + 3);
        struct world_receipt receipt = deliver(form, id);
        is_over = receipt.state == SMA_DELIVERY_FAILED;
        CHECK(is_over ? receipt.is_refused : receipt.state == SMA_DELIVERY_SENT);
        bool is_file = is_shown(form->chat, "answer.txt"); /* the words are in it */
        CHECK(is_over || is_file || is_shown(form->chat, "sentinel"));
        CHECK_INT(0, world_counter("faults_left"));
        if (refused > REQUEST_COUNT_MAX || (is_over && refused <= form->steps_least))
            fprintf(stderr, "%s: %zu refusals: %s\n", form->what, refused, receipt.error);
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

/* The most frequent report to the platform's own plugin, and its relatives. */
static void a_bot_without_markdown_speaks_plainly_from_then_on(void)
{
    static const int codes[] = {40034012, 50056, 304041, 304036};
    for (size_t i = 0; i < SMA_COUNT_OF(codes); i++) {
        const char *id = start_talk(WORLD_C2C);
        world_tell("{s:s,s:s,s:s,s:s,s:i,s:i,s:i,s:s}", "do", "fault", "method", "send", "kind",
                   "status", "holds", "markdown", "times", 1000, "status", 400, "code", codes[i],
                   "text", "不允许发送原生 markdown");
        struct form form = {.chat = WORLD_C2C, .text = "sentinel **bold** words"};
        CHECK_INT(SMA_DELIVERY_SENT, deliver(&form, id).state);
        CHECK_INT(1, world_shown(WORLD_C2C, "sentinel bold words"));
        CHECK_INT(999, world_counter("faults_left"));
        form.text = "second **bold** words";
        CHECK_INT(SMA_DELIVERY_SENT, deliver(&form, id).state);
        CHECK_INT(1, world_shown(WORLD_C2C, "second bold words"));
        CHECK_INT(999, world_counter("faults_left")); /* not tried again */
        world_close();
    }
}

static void what_is_found_too_long_arrives_in_pieces(void)
{
    static const int codes[] = {40054007, 40054018, 70000001};
    char text[1500] = "", seen[4000];
    for (int k = 0; k < 150; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "word%03d ", k);
    for (size_t i = 0; i < SMA_COUNT_OF(codes); i++) {
        const char *id = start_talk(WORLD_C2C);
        world_tell("{s:s,s:s,s:s,s:s,s:i,s:i,s:s}", "do", "fault", "method", "send", "kind",
                   "status", "holds", "word149", "status", 400, "code", codes[i], "text",
                   "消息长度超过限制");
        struct form form = {.chat = WORLD_C2C, .text = text};
        CHECK_INT(SMA_DELIVERY_SENT, deliver(&form, id).state);
        json_t *list = world_chat(WORLD_C2C), *messages = json_object_get(list, "messages");
        seen[0] = '\0';
        for (size_t k = 0; k < json_array_size(messages); k++)
            snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s ",
                     platform_text(json_array_get(messages, k), "text", ""));
        for (int k = 0; k < 150; k++) {
            char word[16];
            snprintf(word, sizeof word, "word%03d", k);
            const char *at = strstr(seen, word);
            CHECK(at != NULL && strstr(at + 1, word) == NULL);
        }
        json_decref(list);
        world_close();
    }
}

/* What forbids one form, or this number of an answer, forbids no words. */
static void what_is_still_allowed_arrives(void)
{
    static const struct
    {
        const char *method, *holds;
        int code, times;
        struct form form;
    } rows[] = {
        {"send", "msg_seq", 40054005, 1, {.chat = WORLD_C2C, .text = "sentinel"}},
        {"send", "msg_seq", 40054005, 1, {.chat = WORLD_GROUP, .text = "sentinel **bold**"}},
        {"files", "", 11253, 9, {.chat = WORLD_C2C, .text = "@attach photo p.png | sentinel"}},
        {"files", "", 11264, 9, {.chat = WORLD_GROUP, .text = "@attach photo p.png | sentinel"}},
        {"send", "markdown", 40034090, 9, {.chat = WORLD_C2C, .text = "sentinel **bold**"}},
        {"send", "keyboard", 304038, 9, {.chat = WORLD_GROUP, .is_card = true}},
        {"send", "msg_id", 304016, 1, {.chat = WORLD_CHANNEL, .text = "sentinel"}},
        {"send", "msg_id", 304007, 1, {.chat = WORLD_CHANNEL, .text = "sentinel"}},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        const char *id = start_talk(rows[i].form.chat);
        world_tell("{s:s,s:s,s:s,s:s,s:i,s:i,s:i,s:s}", "do", "fault", "method", rows[i].method,
                   "kind", "status", "holds", rows[i].holds, "times", rows[i].times, "status", 400,
                   "code", rows[i].code, "text", "no right to this one");
        struct world_receipt receipt = deliver(&rows[i].form, id);
        if (receipt.state != SMA_DELIVERY_SENT)
            fprintf(stderr, "%d: %s\n", rows[i].code, receipt.error);
        CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
        CHECK(is_shown(rows[i].form.chat, "sentinel"));
        CHECK(world_counter("faults_left") < rows[i].times);
        world_close();
    }
}

int main(void)
{
    RUN(what_is_still_allowed_arrives);
    RUN(an_unknown_refusal_never_loses_an_answer);
    RUN(a_bot_without_markdown_speaks_plainly_from_then_on);
    RUN(what_is_found_too_long_arrives_in_pieces);
    return check_summary();
}
