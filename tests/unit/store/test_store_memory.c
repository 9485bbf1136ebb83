/*
 * Aim: people see and delete what is remembered of them, in a group what was said there, and nobody
 * else's; numbers mean what was shown; what is not theirs they cannot delete; all is asked back.
 * Method: the store under the scheduler, over files that stand in .ship/memory.
 */
#include "store_support.h"

static struct world w;
static unsigned next_id;

static void put(const char *name, const char *text)
{
    char path[300];
    struct sma_error error;
    snprintf(path, sizeof path, "%s/memory/users", w.state_dir);
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), path, &error));
    snprintf(path, sizeof path, "%s/memory/proposed/users", w.state_dir);
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), path, &error));
    snprintf(path, sizeof path, "%s/memory/%s", w.state_dir, name);
    CHECK_OK(sma_sys_write_file_atomic(sma_sys_real(), path, sma_str(text), 0600, &error));
}

static bool file_has(const char *name, const char *part)
{
    char path[300];
    struct sma_error error;
    char *bytes = NULL;
    size_t len = 0;
    snprintf(path, sizeof path, "%s/memory/%s", w.state_dir, name);
    if (sma_sys_read_file(sma_sys_real(), path, 1 << 20, &bytes, &len, &error) != SMA_ERR_OK)
        return false;
    bool has = strstr(bytes, part) != NULL;
    free(bytes);
    return has;
}

/* What is answered to a command of this person. */
static const char *ask(const char *user, const char *chat, const char *text, bool is_group)
{
    static char answer[16 * 1024];
    char id[16];
    snprintf(id, sizeof id, "%u", ++next_id);
    bool is_forget = strncmp(text, "/forget", 7) == 0;
    (void)say_as(
        &w, TEST,
        &(struct saying){.chat = chat,
                         .id = id,
                         .text = text,
                         .user = user,
                         .is_group = is_group,
                         .role = SMA_ROLE_MEMBER,
                         .addressed = is_group ? SMA_ADDRESSED_MENTION : SMA_ADDRESSED_PRIVATE,
                         .kind = SMA_EVENT_CONTROL,
                         .control = is_forget ? SMA_CONTROL_FORGET : SMA_CONTROL_MEMORY});
    run(&w);
    struct sma_accepted verdict = accepted(&w.test);
    if (verdict.verdict != SMA_VERDICT_ACCEPTED)
        fprintf(stderr, "%s of %s in %s: why %d\n", text, user, chat, verdict.why);
    CHECK_INT(SMA_VERDICT_ACCEPTED, verdict.verdict);
    struct sma_msg *msg = deliver(&w);
    if (msg == NULL)
        fprintf(stderr, "no answer to %s of %s in %s\n", text, user, chat);
    CHECK(msg != NULL);
    const struct sma_deliver *body = SMA_MSG_BODY(msg, struct sma_deliver);
    snprintf(answer, sizeof answer, "%.*s", (int)body->text.len, body->text.ptr);
    uint64_t outbox_id = body->outbox_id;
    sma_msg_destroy(msg);
    receipt(&w, &(struct sma_receipt){.outbox_id = outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true});
    run(&w);
    drop_kept(&w.dispatcher);
    return answer;
}

#define ANN "users/test%3Aann.md"
#define BOB "users/test%3Abob.md"
#define TEAM "- the team meets at ten <!-- memory: in test%3Achat%3Ag -->\n"

static void begin(void)
{
    new_world(&w);
    put(ANN, "# Ann\n\n- Ann drinks tea\n- Ann plays the cello\n" TEAM);
    put(BOB, "- Bob drinks coffee\n- Bob likes the team <!-- memory: in test%3Achat%3Ag -->\n");
}

AFTER_EACH(end_world(&w))

CASE(own_facts_are_listed_and_nobody_elses)
{
    begin();
    const char *text = ask("ann", "a", "/memory", false);
    CHECK(strstr(text, "1. Ann drinks tea (fact, 5)\n2. Ann plays the cello (fact, 5)") != NULL);
    CHECK(strstr(text, "coffee") == NULL && strstr(text, "team") == NULL);
    CHECK(strstr(ask("ann", "a", "/memory CELLO", false), "1. Ann plays") != NULL);
    CHECK(strstr(ask("ann", "a", "/memory coffee", false), "nothing here that fits") != NULL);
    CHECK(strstr(ask("eve", "e", "/memory", false), "nothing about you") != NULL);
    text = ask("ann", "g", "/memory", true);
    CHECK(strstr(text, "meets at ten") != NULL && strstr(text, "Bob likes") != NULL);
    CHECK(strstr(text, "tea (") == NULL && strstr(text, "coffee") == NULL);
}

CASE(numbers_mean_what_was_shown)
{
    begin();
    CHECK(strstr(ask("ann", "a", "/forget 1", false), "/memory shows them") != NULL);
    (void)ask("ann", "a", "/memory", false);
    put(ANN, "- first of all\n- Ann drinks tea\n- Ann plays the cello\n" TEAM);
    CHECK(strstr(ask("ann", "a", "/forget 1", false), "Deleted: 1") != NULL);
    CHECK(!file_has(ANN, "drinks tea") && file_has(ANN, "first of all") && file_has(ANN, "cello"));
    CHECK(file_has(ANN, "meets at ten"));
    CHECK(strstr(ask("ann", "a", "/forget 1", false), "nothing here that fits") != NULL);
    /* a number of one person's list is nothing to another one */
    CHECK(strstr(ask("bob", "b", "/forget 2", false), "/memory shows them") != NULL);
}

CASE(words_delete_one_and_ask_about_several)
{
    begin();
    CHECK(strstr(ask("ann", "a", "/forget ann", false), "Which of these 2?") != NULL);
    CHECK(file_has(ANN, "drinks tea") && file_has(ANN, "cello"));
    CHECK(strstr(ask("ann", "a", "/forget 2", false), "Deleted: 1") != NULL);
    CHECK(!file_has(ANN, "cello"));
    CHECK(strstr(ask("ann", "a", "/forget tea", false), "Deleted: 1") != NULL);
    CHECK(!file_has(ANN, "drinks tea"));
    CHECK(strstr(ask("ann", "a", "/forget coffee", false), "nothing here that fits") != NULL);
    CHECK(file_has(BOB, "coffee"));
}

CASE(all_is_asked_back)
{
    begin();
    CHECK(strstr(ask("ann", "a", "/forget all", false), "This deletes 2.") != NULL);
    CHECK(file_has(ANN, "drinks tea"));
    CHECK(strstr(ask("ann", "a", "/forget all yes", false), "Deleted: 2") != NULL);
    CHECK(!file_has(ANN, "drinks tea") && !file_has(ANN, "cello"));
    CHECK(file_has(ANN, "meets at ten") && file_has(BOB, "coffee"));
}

CASE(what_others_said_in_a_group_is_not_ones_own_to_delete)
{
    begin();
    const char *text = ask("ann", "g", "/memory", true);
    char number = strstr(text, "1. Bob") != NULL ? '1' : '2';
    char command[32];
    snprintf(command, sizeof command, "/forget %c", number);
    CHECK(strstr(ask("ann", "g", command, true), "only") != NULL ||
          strstr(ask("ann", "g", command, true), "for the person who said it") != NULL);
    CHECK(file_has(BOB, "likes the team"));
    CHECK(strstr(ask("ann", "g", "/forget all yes", true), "Deleted: 1") != NULL);
    CHECK(file_has(BOB, "likes the team") && !file_has(ANN, "meets at ten") &&
          file_has(ANN, "drinks tea"));
}

CASE(proposals_are_kept_by_their_person_alone)
{
    begin();
    put("proposed/users/test%3Aann.md", "- Ann has a dog <!-- memory: fact, importance 7 -->\n");
    put("proposed/users/chat%3Atest%3Achat%3Aa.md",
        "- Ann lives in Bonn <!-- memory: preference, importance 6, in test%3Achat%3Aa -->\n");
    const char *text = ask("ann", "a", "/memory", false);
    CHECK(strstr(text, "Not kept yet") != NULL &&
          strstr(text, "3. Ann has a dog (fact, 7)") != NULL);
    CHECK(strstr(text, "4. Ann lives in Bonn (preference, 6)") != NULL);
    CHECK(strstr(ask("bob", "b", "/memory", false), "dog") == NULL);
    CHECK(strstr(ask("bob", "b", "/memory keep all", false), "Kept") == NULL);
    CHECK(strstr(ask("ann", "a", "/memory keep 4", false), "Kept: 1") != NULL);
    CHECK(file_has(ANN, "- Ann lives in Bonn <!-- memory: preference, importance 6"));
    CHECK(!file_has("proposed/users/chat%3Atest%3Achat%3Aa.md", "Bonn"));
    CHECK(file_has("proposed/users/test%3Aann.md", "dog"));
    CHECK(strstr(ask("ann", "a", "/forget dog", false), "Deleted: 1") != NULL);
    CHECK(!file_has("proposed/users/test%3Aann.md", "dog") && !file_has(ANN, "dog"));
}

CASE(long_lists_have_pages)
{
    begin();
    struct sma_buf text;
    sma_buf_init(&text, 1 << 20);
    for (int i = 1; i <= 40; i++)
        sma_buf_printf(&text, "- fact number %d.\n", i);
    sma_buf_put_char(&text, '\0');
    put(ANN, text.ptr);
    sma_buf_fini(&text);
    const char *page = ask("ann", "a", "/memory", false);
    CHECK(strstr(page, "(40)") != NULL && strstr(page, "\n15. fact number 15.") != NULL);
    CHECK(strstr(page, "number 16.") == NULL && strstr(page, "/memory 2 shows more") != NULL);
    page = ask("ann", "a", "/memory 3", false);
    CHECK(strstr(page, "31. fact number 31.") != NULL && strstr(page, "shows more") == NULL);
    CHECK(strstr(ask("ann", "a", "/forget 31 33", false), "Deleted: 2") != NULL);
    CHECK(!file_has(ANN, "number 31.") && file_has(ANN, "number 32.") &&
          !file_has(ANN, "number 33."));
}

CASE(a_file_that_cannot_be_read_fails_nothing)
{
    begin();
    put(ANN, "- \xff\xfe\n");
    (void)ask("ann", "a", "/memory", false);
    CHECK(strstr(ask("bob", "b", "/memory", false), "coffee") != NULL);
    (void)ask("ann", "a", "/forget all yes", false);
    CHECK(file_has(ANN, "\xff\xfe"));
}

#define PEOPLE 50
#define GROUPS 10
#define FACTS_EACH 200 /* every fourth of them said in a group */

static void put_person(int person)
{
    char name[64];
    SMA_AUTO(sma_buf_fini) struct sma_buf text;
    sma_buf_init(&text, 1 << 20);
    for (int i = 0; i < FACTS_EACH; i++)
        if (i % 4 == 0)
            sma_buf_printf(
                &text, "- tea owner%d. place%d. number%d <!-- memory: in test%%3Achat%%3Ag%d -->\n",
                person, (person + i) % GROUPS, i, (person + i) % GROUPS);
        else
            sma_buf_printf(&text, "- tea owner%d. private number%d\n", person, i);
    sma_buf_put_char(&text, '\0');
    snprintf(name, sizeof name, "users/test%%3Ap%d.md", person);
    put(name, text.ptr);
}

static size_t count_facts(const char *answer)
{
    size_t count = 0;
    for (const char *at = answer; (at = strstr(at, ". tea ")) != NULL; at += 6)
        count++;
    return count;
}

/* What people's files say of a group is followed in slices of time: asked until it is a page. */
static const char *ask_of_group(const char *user, const char *chat)
{
    const char *answer = ask(user, chat, "/memory", true);
    for (int i = 0; i < 1000 && count_facts(answer) < 15; i++)
        answer = ask(user, chat, "/memory", true);
    return answer;
}

/* Each line of the answer that is a fact has these words. */
static void check_facts(const char *answer, const char *words)
{
    for (const char *at = answer; (at = strstr(at, ". tea ")) != NULL; at += 6) {
        char line[128];
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        if (strstr(line, words) == NULL)
            fprintf(stderr, "\"%s\" is not of %s\n", line, words);
        CHECK(strstr(line, words) != NULL);
    }
    if (count_facts(answer) != 15)
        fprintf(stderr, "%s\n", answer);
    CHECK_INT(15, count_facts(answer)); /* a page */
}

/* 10,000 facts of 50 people, all of the same words: shown and deleted are one's own, in a group
 * what was said there. */
CASE(among_many_nobody_elses_are_shown_or_deleted)
{
    char user[16], chat[16], words[64], own[32];
    new_world(&w);
    for (int p = 0; p < PEOPLE; p++)
        put_person(p);
    for (int p = 0; p < PEOPLE; p++) {
        snprintf(user, sizeof user, "p%d", p);
        snprintf(chat, sizeof chat, "c%d", p);
        snprintf(own, sizeof own, " owner%d. private", p);
        check_facts(ask(user, chat, "/memory", false), own);
        check_facts(ask(user, chat, "/memory tea 2", false), own);
        snprintf(words, sizeof words, "/memory owner%d.", (p + 1) % PEOPLE);
        CHECK(strstr(ask(user, chat, words, false), "nothing here that fits") != NULL);
        CHECK(strstr(ask(user, chat, "/memory place", false), "nothing here that fits") != NULL);
        snprintf(words, sizeof words, "/forget owner%d.", (p + 1) % PEOPLE);
        CHECK(strstr(ask(user, chat, words, false), "Deleted") == NULL);
        if (p >= GROUPS)
            continue;
        snprintf(chat, sizeof chat, "g%d", p);
        snprintf(own, sizeof own, " place%d.", p);
        check_facts(ask_of_group(user, chat), own);
        CHECK(strstr(ask(user, chat, "/memory private", true), "nothing here that fits") != NULL);
        snprintf(words, sizeof words, "/memory place%d.", (p + 1) % GROUPS);
        CHECK(strstr(ask(user, chat, words, true), "nothing here that fits") != NULL);
    }
    CHECK(file_has("users/test%3Ap1.md", "number1\n") &&
          file_has("users/test%3Ap0.md", "number1\n"));
}

CASES_MAIN
