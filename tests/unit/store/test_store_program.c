/*
 * Aim: whoever agrees to a program that only reads again and again may allow it for good, when he
 * is an owner. Method: the store actor under virtual time between actors that keep what they get.
 */
#include "approval_support.h"

static struct world w;

/* After the third yes to a program that only reads its cards offer to allow it for good: an owner
 * may take that, by button or word; what an administrator presses is agreed to once. It is a
 * permission as any other: of the chat, in the list, over restarts, revoked. */
CASE(a_program_is_allowed_for_good_after_the_third_yes)
{
    static const struct item count_lines[] = {
        {"exec_shell", "wc -l a.txt", "=wc -l a.txt", false, false}};
    char rule[64], id[64], number[8];
    struct sma_card card;
    open_people(&w);
    item_program_rule = "wc";
    for (int i = 0; i <= SMA_PROGRAM_YES_COUNT; i++) {
        snprintf(number, sizeof number, "%d", 10 + i);
        uint64_t seq = park_in(
            &w, &(struct saying){.chat = "a", .id = number, .text = "do it", .user = "boss"},
            count_lines, 1);
        take_card(&w, SMA_INTENT_APPROVAL_REQUEST, CHAT_A, &card);
        bool is_offered = card.button_count == 5;
        CHECK_INT(i == SMA_PROGRAM_YES_COUNT, is_offered);
        CHECK_INT(is_offered,
                  memmem(card.plain.ptr, card.plain.len, "always allow `wc`", 17) != NULL);
        if (is_offered)
            CHECK_STR("Always allow `wc`", card.buttons[4].text);
        sma_card_fini(&card);
        drop_kept(&w.test);
        enum sma_card_action action = is_offered ? SMA_CARD_PROGRAM : SMA_CARD_APPROVE;
        const char *said = press(&w, "a", "adm",
                                 i == 0   ? "p0"
                                 : i == 1 ? "p1"
                                 : i == 2 ? "p2"
                                          : "p3",
                                 button(&w, open_id(&w), 0, action));
        CHECK(strstr(said, "Approved.") == said);
        CHECK_INT(is_offered, strstr(said, "only an owner can allow a program") != NULL);
        CHECK_TEXT("0:yes:;", resumed(&w, seq));
        done(&w, seq, "", NULL, 0);
        run(&w);
        CHECK_INT(0, count_of(query(&w, SMA_QUERY_GRANTS, ""), "\"rule\""));
        show_all(&w);
        if (i == 1)
            crash_world(&w); /* what was said before counts on */
    }
    uint64_t seq = park(&w, "a", "20", count_lines, 1);
    drop_kept(&w.test);
    CHECK_TEXT("Approved.",
               press(&w, "a", "boss", "21", button(&w, open_id(&w), 0, SMA_CARD_PROGRAM)));
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    done(&w, seq, "", NULL, 0);
    run(&w);
    crash_world(&w);
    CHECK_INT(1, count_grants(&w, "a", "22", rule));
    CHECK_TEXT("exec_shell wc", rule);
    CHECK_INT(0, count_grants(&w, "b", "23", rule));
    const char *json = query(&w, SMA_QUERY_GRANTS, "");
    CHECK(strstr(json, "\"rule\":\"wc\"") != NULL && strstr(json, "\"until\":null") != NULL);
    snprintf(id, sizeof id, "%.32s", strstr(json, "\"id\":\"") + 6);
    CHECK_INT(200,
              decide(&w, &(struct sma_decide){.kind = SMA_DECIDE_REVOKE, .id = {id, 10}}, NULL));
    CHECK_INT(0, count_grants(&w, "a", "24", rule));
    item_program_rule = "";
    end_world(&w);
}

/* In words, and before it is offered; of an administrator it is agreed to once. */
CASE(words_allow_a_program_for_good)
{
    static const struct item count_lines[] = {
        {"exec_shell", "wc -l a.txt", "=wc -l a.txt", false, false}};
    static const char *const people[] = {"adm", "boss"};
    for (size_t i = 0; i < SMA_COUNT_OF(people); i++) {
        open_people(&w);
        item_program_rule = "wc";
        (void)park_in(&w,
                      &(struct saying){.chat = "a", .id = "1", .text = "do it", .user = people[i]},
                      count_lines, 1);
        show_all(&w);
        (void)say_as(&w, TEST,
                     &(struct saying){
                         .chat = "a", .id = "2", .text = "always allow `wc`", .user = people[i]});
        run(&w);
        CHECK(w.store->consent->first == NULL); /* the command is agreed to */
        CHECK_INT(i, count_of(query(&w, SMA_QUERY_GRANTS, ""), "\"rule\":\"wc\""));
        item_program_rule = "";
        end_world(&w);
    }
}

CASES_MAIN
