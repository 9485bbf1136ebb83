/*
 * Aim: a conversation of any length is held within the model's window: facts stay, nothing
 *      overflows, the provider's cache is lost only when something was cleared or summed up, and a
 *      program that ends anywhere neither loses a turn nor sums up twice.
 * Method: compact_talk.h, seeded.
 */
#include "unit/agent/compact_talk.h"

static const enum sma_llm_api wires[] = {SMA_LLM_CHAT, SMA_LLM_MESSAGES, SMA_LLM_RESPONSES};
static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static unsigned value_of(unsigned fact)
{
    return 100000 + fact * 7919 % 90000;
}

static void tell_fact(struct talk *talk, unsigned fact)
{
    char text[200];
    snprintf(text, sizeof text, "please keep this: FACT-%u is %u. thanks", fact, value_of(fact));
    talk_say(talk, text);
}

static void ask_fact(struct talk *talk, unsigned fact)
{
    char text[200], wanted[40];
    snprintf(text, sizeof text, "what is FACT-%u?", fact);
    snprintf(wanted, sizeof wanted, "It is %u.", value_of(fact));
    talk_say(talk, text);
    CHECK_TEXT(wanted, talk->said);
}

static void say_nothing(struct talk *talk, unsigned number, size_t bytes)
{
    char *text = talk_filler(number, bytes);
    talk_say(talk, text);
    free(text);
}

/* -- the long talk ----------------------------------------------------------------------------- */
CASE(a_talk_of_2000_turns_keeps_50_facts_within_32k)
{
    static struct talk talk;
    for (size_t w = 0; w < SMA_COUNT_OF(wires); w++) {
        talk_init(&talk, wires[w], 32000);
        unsigned told = 0, asked = 0;
        for (unsigned i = 0; i < 2000; i++) {
            if (i % 40 == 3)
                tell_fact(&talk, told++);
            else if (i % 40 == 33)
                ask_fact(&talk, asked++ * 13 % told);
            else
                say_nothing(&talk, i, 300 + i % 5 * 150);
        }
        CHECK_INT(50, told);
        for (unsigned i = 0; i < told; i++)
            ask_fact(&talk, i);
        CHECK_INT(0, talk.overflow_count);
        CHECK(talk.summary_count >= 10 && talk.summary_count <= 60);
        CHECK_INT(talk.past_count, talk.summary_count);
        CHECK(talk.prefix_breaks <= talk.past_count);
        CHECK_INT(talk.answer_count + talk.summary_count, talk.usage_requests);
        CHECK_INT(2050, talk.answer_count);
        talk_fini(&talk);
    }
}

/* -- anywhere ---------------------------------------------------------------------------------- */
static void check_newest_turn(const struct talk *talk)
{
    CHECK(talk->turn_count > 0);
    CHECK_INT(talk->d.order.seq - 1, talk->turns[talk->turn_count - 1].seq);
}

CASE(cut_anywhere_nothing_is_lost_or_summed_up_twice)
{
    static struct talk talk;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        random_state = seed * 0x9E3779B97F4A7C15u | 1;
        talk_init(&talk, wires[seed % 3], 16000);
        for (unsigned i = 0; i < 120; i++) {
            talk.tool_rounds = next_random() % 8 == 0 ? (uint32_t)(next_random() % 12) : 0;
            talk.tool_bytes = next_random() % 9000;
            talk.cut_at =
                next_random() % 3 == 0 ? (int)(next_random() % (4 * talk.tool_rounds + 7)) : 0;
            if (i % 12 == 1)
                tell_fact(&talk, i / 12);
            else
                say_nothing(&talk, i, next_random() % 1200 + 10);
            CHECK_INT(SMA_OUTCOME_OK, talk.d.done_outcome);
            check_newest_turn(&talk);
            if (next_random() % 9 == 0)
                talk_evict(&talk); /* the prefix stays: check_prefix */
        }
        talk.tool_rounds = 0;
        for (unsigned i = 0; i < 10; i++)
            ask_fact(&talk, i);
        CHECK_INT(0, talk.overflow_count);
        CHECK(talk.past_count > 2);
        CHECK(talk.summary_count <= talk.past_count + talk.cut_count);
        talk_fini(&talk);
    }
}

/* -- runs with many rounds --------------------------------------------------------------------- */
CASE(a_run_of_many_large_results_stays_within_the_window)
{
    static struct talk talk;
    for (size_t w = 0; w < SMA_COUNT_OF(wires); w++) {
        talk_init(&talk, wires[w], 32000);
        tell_fact(&talk, 1);
        talk.tool_rounds = 25;
        talk.tool_bytes = 15000; /* 25 of them are three windows */
        talk_say(&talk, "what is FACT-1? look at everything first");
        CHECK_TEXT("It is 107919.", talk.said);
        CHECK_INT(SMA_OUTCOME_OK, talk.d.done_outcome);
        CHECK_INT(0, talk.overflow_count);
        CHECK(talk.past_count > 0);
        talk.tool_rounds = 0;
        ask_fact(&talk, 1);
        talk_fini(&talk);
    }
}

CASE(a_result_is_cut_to_what_the_window_bears)
{
    static struct talk talk;
    talk_init(&talk, SMA_LLM_CHAT, 8000);
    talk.tool_rounds = 1;
    talk.tool_bytes = 30000; /* the tools' own bound */
    talk_say(&talk, "look");
    CHECK_INT(SMA_OUTCOME_OK, talk.d.done_outcome);
    CHECK_INT(0, talk.overflow_count);
    CHECK(strstr(talk.last, "bytes are left out here") != NULL);
    talk_fini(&talk);
}

/* -- summaries that are none ------------------------------------------------------------------- */
CASE(without_a_summary_the_talk_goes_on)
{
    static const enum talk_summary bad[] = {TALK_FAILS, TALK_CUT,   TALK_CALLS,
                                            TALK_EMPTY, TALK_CHATS, TALK_OVERFLOWS};
    static struct talk talk;
    for (size_t k = 0; k < SMA_COUNT_OF(bad); k++) {
        talk_init(&talk, SMA_LLM_CHAT, 16000);
        talk.summary = bad[k];
        talk.may_break = true;
        uint32_t before = 0;
        for (unsigned i = 0; i < 60 && talk.summary_count == 0; i++) {
            before = talk.turn_count;
            say_nothing(&talk, i, 1000);
            CHECK_INT(SMA_OUTCOME_OK, talk.d.done_outcome);
        }
        CHECK(talk.summary_count > 0);
        CHECK_INT(before + 1, talk.turn_count); /* what there was is there */
        CHECK(strstr(talk.event, "\"state\":\"failed\"") != NULL);
        uint32_t asked = talk.summary_count;
        say_nothing(&talk, 1, 10);
        CHECK_INT(asked, talk.summary_count); /* not with each message again */
        for (unsigned i = 0; i < 60; i++) {
            say_nothing(&talk, i, 1000);
            CHECK_INT(SMA_OUTCOME_OK, talk.d.done_outcome);
        }
        CHECK(talk.summary_count < 60 * 3);
        talk_fini(&talk);
    }
}

/* -- windows that are not what was thought ----------------------------------------------------- */
CASE(a_model_with_a_smaller_window_than_known_is_learned)
{
    static struct talk talk;
    for (unsigned is_told = 0; is_told < 2; is_told++) {
        talk_init(&talk, SMA_LLM_CHAT, 128000);
        talk.window = 16000;
        talk.may_break = true;
        talk.window_told = is_told ? 16000 : 0;
        tell_fact(&talk, 1);
        for (unsigned i = 0; i < 150; i++) {
            say_nothing(&talk, i, 700);
            CHECK_INT(SMA_OUTCOME_OK, talk.d.done_outcome);
        }
        ask_fact(&talk, 1);
        CHECK(talk.overflow_count > 0 && talk.overflow_count <= 3);
        talk_fini(&talk);
    }
}

CASE(a_target_with_a_smaller_window_gets_the_talk_in_pieces)
{
    static struct talk talk;
    talk_init(&talk, SMA_LLM_CHAT, 200000);
    for (unsigned i = 0; i < 100; i++) {
        if (i % 10 == 0)
            tell_fact(&talk, i / 10);
        say_nothing(&talk, i, 4000);
    }
    CHECK_INT(0, talk.summary_count);
    talk.may_break = true; /* another window is another target */
    talk.llm.context_tokens = (int64_t)(talk.window = 16000);
    const struct sma_config_llm *llm = &talk.llm;
    driver_targets(&talk.d, &llm, 1);
    say_nothing(&talk, 1, 100);
    CHECK_INT(SMA_OUTCOME_OK, talk.d.done_outcome);
    CHECK(talk.summary_count > 3);
    CHECK_INT(0, talk.overflow_count);
    for (unsigned i = 0; i < 10; i++)
        ask_fact(&talk, i);
    talk_fini(&talk);
}

CASE(a_stand_in_gets_what_it_holds_and_nothing_is_given_up)
{
    static struct talk talk;
    talk_init(&talk, SMA_LLM_CHAT, 200000);
    struct sma_config_llm small = talk.llm;
    small.model = "small";
    small.context_tokens = 16000;
    const struct sma_config_llm *both[] = {&talk.llm, &small};
    driver_targets(&talk.d, both, 2);
    for (unsigned i = 0; i < 60; i++)
        say_nothing(&talk, i, 4000);
    uint32_t turns = talk.turn_count;
    size_t whole = talk.last_len;
    talk.may_break = true;
    talk.window = 16000;
    talk.d.settings->cooldowns[0].until_ns = UINT64_MAX;
    say_nothing(&talk, 60, 100);
    CHECK_INT(SMA_OUTCOME_OK, talk.d.done_outcome);
    CHECK_INT(0, talk.overflow_count);
    CHECK(talk.last_len < 16000 * 4);
    CHECK(strstr(talk.last, "note 59 ") != NULL && strstr(talk.last, "note 5 ") == NULL);
    talk.window = 200000;
    talk.d.settings->cooldowns[0].until_ns = 0;
    say_nothing(&talk, 61, 100);
    CHECK_INT(0, talk.past_count);
    CHECK_INT(turns + 2, talk.turn_count);
    CHECK(talk.last_len > whole && strstr(talk.last, "note 5 ") != NULL);
    talk_fini(&talk);
}

/* -- /compact ---------------------------------------------------------------------------------- */
CASE(a_person_may_have_it_summed_up)
{
    static struct talk talk;
    talk_init(&talk, SMA_LLM_MESSAGES, 32000);
    talk_compact(&talk, "");
    CHECK_TEXT("There is nothing to sum up here yet.", talk.said);
    CHECK_INT(0, talk.turn_count);
    tell_fact(&talk, 1);
    for (unsigned i = 0; i < 20; i++)
        say_nothing(&talk, i, 800);
    for (int cut = 0; cut < 5; cut++) {
        uint64_t before = talk.past_count;
        for (unsigned i = 0; i < 10; i++)
            say_nothing(&talk, i, 800);
        talk.cut_at = cut;
        talk_compact(&talk, "the names");
        CHECK_INT(before + 1, talk.past_count);
        CHECK(strstr(talk.said, "are now a summary") != NULL);
        CHECK_INT(SMA_OUTCOME_OK, talk.d.done_outcome);
    }
    CHECK(talk.turn_count < 6);
    ask_fact(&talk, 1);
    talk.summary = TALK_CHATS;
    for (unsigned i = 0; i < 10; i++)
        say_nothing(&talk, i, 800);
    uint32_t turns = talk.turn_count;
    talk_compact(&talk, "");
    CHECK(strstr(talk.said, "it stays as it is") != NULL);
    CHECK_INT(turns, talk.turn_count);
    talk_fini(&talk);
}

CASES_MAIN
