/*
 * Aim: consent means this card. Words count when they are their sender's own, not said before the
 * card, and about it; the model never finds consent in them.
 * Method: as test_store_approval; one request, one message, and whether the run goes on.
 */
#include "approval_support.h"

#include "actors/store/consent_priv.h"
#define CARD_MS INT64_C(1767225600000) /* the platform's date of the card; the clock stands there */

static struct world w;

#define OF_BOSS(...) (&(struct saying){.chat = "a", .id = "2", .user = "boss", __VA_ARGS__})

static uint64_t park_of_boss(int64_t card_ms)
{
    open_people(&w);
    uint64_t seq =
        park_in(&w, &(struct saying){.chat = "a", .id = "1", .text = "do it", .user = "boss"},
                one_command, 1);
    show_all_at(&w, card_ms);
    drop_kept(&w.test);
    return seq;
}

static void expect_open(uint64_t seq)
{
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_INT(1, w.store->consent->count);
}

/* -- whose words ------------------------------------------------------------------------------- */
CASE(words_decide_only_when_they_mean_the_card)
{
    static const struct
    {
        struct saying how;
        bool is_meant;
    } rows[] = {
        {{.sent_ms = CARD_MS + 3000}, true},
        {{.sent_ms = CARD_MS}, true}, /* some platforms say whole seconds */
        {{.sent_ms = CARD_MS - 1}, false},
        {{.sent_ms = CARD_MS - 7200000},
         false},                 /* a webhook that comes again, a poll after a break */
        {{.sent_ms = 0}, false}, /* the card has a date and this has none */
        {{.sent_ms = CARD_MS + 3000, .is_forward = true}, false},
        {{.sent_ms = CARD_MS + 3000, .is_edited = true}, false},
        {{.sent_ms = CARD_MS + 3000, .reply_to = "x9"}, false},
        {{.sent_ms = CARD_MS + 3000, .reply_to = "?"}, false},
        {{.sent_ms = CARD_MS + 3000, .reply_to = CARD}, true},
        {{.sent_ms = CARD_MS + 3000, .reply_to = "r40"}, true}, /* by the other name that it has */
        {{.sent_ms = CARD_MS + 3000, .reply_to = CARD, .is_forward = true}, false},
        {{.sent_ms = CARD_MS + 3000, .reply_to = CARD, .is_edited = true}, false},
    };
    static const char *const words[] = {"yes", "no", "同意", "always allow in this chat"};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        for (size_t k = 0; k < SMA_COUNT_OF(words); k++) {
            uint64_t seq = park_of_boss(CARD_MS);
            struct saying how = rows[i].how;
            how.chat = "a";
            how.id = "2";
            how.user = "boss";
            how.text = words[k];
            (void)say_as(&w, TEST, &how);
            run(&w);
            if (rows[i].is_meant)
                CHECK(strcmp(resumed(&w, seq), "no run") != 0);
            else
                expect_open(seq);
            end_world(&w);
        }
}

/* The platform did not date the card: our clock did, which may be ahead of the platform's. */
CASE(our_own_date_of_a_card_leaves_room_for_the_clocks)
{
    static const int64_t after_ms[] = {-1000, 0, 4000, 6000};
    for (size_t i = 0; i < SMA_COUNT_OF(after_ms); i++) {
        uint64_t seq = park_of_boss(0);
        int64_t now_ms = sma_ctx_wall(sma_system_ctx(w.system, TEST));
        (void)say_as(&w, TEST, OF_BOSS(.text = "yes", .sent_ms = now_ms + after_ms[i]));
        run(&w);
        if (after_ms[i] > 5000)
            CHECK_TEXT("0:yes:;", resumed(&w, seq));
        else
            expect_open(seq);
        end_world(&w);
    }
}

/* What is known of the card survives: the next life compares with the same date. */
CASE(the_date_of_a_card_outlives_the_program)
{
    uint64_t seq = park_of_boss(CARD_MS);
    crash_world(&w);
    (void)say_as(&w, TEST, OF_BOSS(.text = "yes", .sent_ms = CARD_MS - 1));
    run(&w);
    expect_open(seq);
    (void)say_as(
        &w, TEST,
        &(struct saying){
            .chat = "a", .id = "3", .user = "boss", .text = "yes", .sent_ms = CARD_MS + 1});
    run(&w);
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    end_world(&w);
}

/* -- below what -------------------------------------------------------------------------------- */
/* Another chat's run asks something in the chat where the card stands: a "yes" below it may be the
 * answer to that. */
CASE(what_we_say_below_the_card_takes_the_words)
{
    for (int life = 0; life < 2; life++) {
        uint64_t seq = park_of_boss(0);
        char id[64];
        snprintf(id, sizeof id, "%s", open_id(&w));
        say(&w, "b", "1", "remind the boss");
        run(&w);
        uint64_t other = run_seq(&w);
        struct delivery lunch[] = {{.key = CHAT_A, .text = "Shall I remind you of lunch?"}};
        step(&w, other, 1, lunch, 1);
        run(&w);
        show_all(&w);
        done(&w, other, "", NULL, 0);
        run(&w);
        drop_kept(&w.test);
        if (life == 1)
            crash_world(&w);
        (void)say_as(&w, TEST, OF_BOSS(.text = "yes"));
        run(&w);
        expect_open(seq);
        CHECK(strstr(next_delivery(&w), "Do you mean the request") != NULL);
        (void)say_as(&w, TEST,
                     &(struct saying){
                         .chat = "a", .id = "3", .user = "boss", .text = "yes", .reply_to = CARD});
        run(&w);
        CHECK_TEXT("0:yes:;", resumed(&w, seq));
        struct sma_buf value;
        sma_buf_init(&value, 64);
        char key[80];
        snprintf(key, sizeof key, "buried/%s", id);
        CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_access_get(w.store->state, sma_str(key), &value));
        sma_buf_fini(&value);
        end_world(&w);
    }
}

/* -- what is not shown whole ------------------------------------------------------------------- */
CASE(what_the_card_cuts_is_not_agreed_to_by_words)
{
    static char title[2600];
    memset(title, 'x', sizeof title - 1);
    const struct item item[] = {{.tool = "exec_shell", .title = title}};
    open_people(&w);
    uint64_t seq = park_in(
        &w, &(struct saying){.chat = "a", .id = "1", .text = "do it", .user = "boss"}, item, 1);
    show_all(&w);
    drop_kept(&w.test);
    (void)say_as(&w, TEST, OF_BOSS(.text = "yes", .reply_to = CARD));
    run(&w);
    expect_open(seq);
    CHECK(strstr(next_delivery(&w), "words do not approve it") != NULL);
    (void)say_as(&w, TEST, &(struct saying){.chat = "a", .id = "3", .text = "no", .user = "boss"});
    run(&w);
    CHECK(strstr(resumed(&w, seq), "0:no:refused by Ann") != NULL);
    end_world(&w);
}

/* -- the model --------------------------------------------------------------------------------- */
static void say_agrees(const struct sma_judge *judge)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_JUDGED, struct sma_judged, 256);
    struct sma_judged *judged = SMA_MSG_BODY(msg, struct sma_judged);
    judged->seq = judge->seq;
    judged->approval_id = sma_msg_dup(msg, judge->approval_id);
    judged->seems_to_agree = true;
    ask_as_agent(&w, msg);
    expect_durable(&w, SMA_MSG_JUDGED_DONE);
}

CASE(a_model_that_wants_it_makes_no_consent)
{
    static const char *const words[] = {
        "I would never agree to that",
        "ok but first tell me why you need it",
        "not yet",
        "no way dude, stop it",
        "hm, yes?",
        "what do you mean? approve what",
        "不行，这个太危险了，别跑",
        "yes I suppose that one is fine",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++) {
        uint64_t seq = park_of_boss(0);
        (void)say_as(&w, TEST, OF_BOSS(.text = words[i]));
        run(&w);
        struct sma_msg *asked = take(&w.agent, SMA_MSG_JUDGE);
        if (asked != NULL) {
            say_agrees(SMA_MSG_BODY(asked, struct sma_judge));
            sma_msg_destroy(asked);
        }
        CHECK(strstr(resumed(&w, seq), ":yes:") == NULL);
        end_world(&w);
    }
}

CASES_MAIN
