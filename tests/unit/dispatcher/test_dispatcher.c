/*
 * Aim: what the dispatcher promises for every class of outcome, for order, rates, parts, questions,
 * /stop and drain.
 * Method: the actor under the seeded scheduler with a scripted platform (support/fake_adapter.h),
 * virtual time.
 */
#include "actors/dispatcher/dispatcher_priv.h"
#include "world.h"

static struct world world;
static const struct sma_capabilities plain = {0};
static const struct sma_capabilities idempotent = {.has_idempotency = true};

static void open_plain(void)
{
    world_open(&world, 1, plain, NULL, NULL);
}

AFTER_EACH(world_close(&world))

CASE(a_row_is_sent_once_and_told)
{
    open_plain();
    struct world_row *row = world_add(&world, "a", "hello");
    row->has_waiter = true;
    world_ask_send(&world, row->id, world_now(&world) + 30 * WORLD_SECOND);
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, row->state);
    CHECK_INT(1, row->receipt_count);
    CHECK_TEXT("m1.0", row->platform_id);
    CHECK_INT(1, fake_adapter_saw_count(world.fakes[0]));
    CHECK_TEXT("1.0", world_saw_at(&world, 0, 0)->key);
    CHECK_INT(SMA_SEND_SENT, world_answer_of(&world, row->id)->state);
    CHECK_INT(1, sma_counter_get(SMA_COUNTER_deliveries_sent_total));
    CHECK_INT(1, sma_histogram_count(SMA_HISTOGRAM_read_to_reply));
    CHECK_INT(1, sma_histogram_count(SMA_HISTOGRAM_delivery_attempt));
}

CASE(retries_back_off_and_end)
{
    open_plain();
    struct world_row *twice = world_add(&world, "a", "{retry retry} x");
    SMA_AUTO(sma_buf_fini) struct sma_buf script;
    sma_buf_init(&script, 1024);
    sma_buf_put_char(&script, '{');
    for (int i = 0; i < SMA_ATTEMPT_COUNT_MAX; i++)
        sma_buf_put_text(&script, "retry ");
    sma_buf_put_text(&script, "} y");
    struct world_row *always = world_add(&world, "b", script.ptr);
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, twice->state);
    CHECK_INT(2, twice->waiting_count);
    CHECK_INT(SMA_DELIVERY_FAILED, always->state);
    CHECK_TEXT("as the script says", always->error);
    CHECK_INT(SMA_ATTEMPT_COUNT_MAX, always->attempts_told);
    CHECK_INT(3 + SMA_ATTEMPT_COUNT_MAX, fake_adapter_attempt_count(world.fakes[0]));
    CHECK(always->over_ns > (1 + 2 + 4 + 8 + 16 + 32 + 64) / 2 * WORLD_SECOND);
    CHECK_INT(2 + SMA_ATTEMPT_COUNT_MAX - 1, sma_counter_get(SMA_COUNTER_deliveries_retried_total));
    CHECK_INT(1, sma_counter_get(SMA_COUNTER_deliveries_failed_total));
}

CASE(attempts_of_an_earlier_life_count)
{
    open_plain();
    struct world_row *row = world_add(&world, "a", "{retry} x");
    row->attempt_count = SMA_ATTEMPT_COUNT_MAX - 1;
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_FAILED, row->state);
    CHECK_INT(1, fake_adapter_attempt_count(world.fakes[0]));
}

CASE(give_up_is_a_failure_at_once)
{
    open_plain();
    struct world_row *row = world_add(&world, "a", "{giveup} x|never sent");
    struct world_row *next = world_add(&world, "a", "next");
    world_ask_send(&world, row->id, world_now(&world) + 30 * WORLD_SECOND);
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_FAILED, row->state);
    CHECK_INT(SMA_SEND_FAILED, world_answer_of(&world, row->id)->state);
    CHECK_TEXT("as the script says", world_answer_of(&world, row->id)->error);
    CHECK_INT(SMA_DELIVERY_SENT, next->state);
    CHECK_INT(1, fake_adapter_saw_count(world.fakes[0]));
}

CASE(a_platform_that_says_it_failed_is_asked_until_it_heals)
{
    open_plain();
    struct world_row *row = world_add(&world, "a", "{down down down down down down} x");
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, row->state);
    CHECK_INT(7, fake_adapter_attempt_count(world.fakes[0]));
}

CASE(unknown_is_repeated_once_on_a_plain_platform)
{
    open_plain();
    struct world_row *once = world_add(&world, "a", "{lost} x");
    struct world_row *twice = world_add(&world, "b", "{unknown lost} y");
    struct world_row *refused = world_add(&world, "c", "{unknown giveup} z");
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, once->state);
    CHECK_INT(SMA_DELIVERY_UNKNOWN, twice->state);
    CHECK_INT(SMA_DELIVERY_UNKNOWN, refused->state); /* the first attempt may have arrived */
    CHECK_INT(3, sma_counter_get(SMA_COUNTER_deliveries_repeated_total));
    CHECK_INT(4, sma_counter_get(SMA_COUNTER_deliveries_unknown_total));
}

CASE(unknown_is_hidden_by_idempotency)
{
    world_open(&world, 1, idempotent, NULL, NULL);
    struct world_row *row = world_add(&world, "a", "{unknown unknown unknown} x");
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, row->state);
    CHECK_INT(1, fake_adapter_saw_count(world.fakes[0]));
    CHECK_INT(3, fake_adapter_hidden_count(world.fakes[0]));
}

CASE(a_row_begun_before_a_crash_is_repeated_under_its_key)
{
    open_plain();
    struct world_row *row = world_add(&world, "a", "one|two|three");
    row->is_repeat = true;
    row->part_done_count = 1;
    row->renderer_version = 1;
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, row->state);
    CHECK_INT(2, fake_adapter_saw_count(world.fakes[0]));
    CHECK_TEXT("1.1", world_saw_at(&world, 0, 0)->key);
    CHECK(world_saw_at(&world, 0, 0)->is_repeat);
    CHECK_TEXT("two", world_saw_at(&world, 0, 0)->text);
    CHECK_TEXT("1.2", world_saw_at(&world, 0, 1)->key);
    CHECK(!world_saw_at(&world, 0, 1)->is_repeat);
    CHECK_INT(1, sma_counter_get(SMA_COUNTER_deliveries_repeated_total));
}

CASE(a_silent_attempt_times_out_and_is_repeated)
{
    open_plain();
    struct world_row *row = world_add(&world, "a", "{never} x");
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, row->state);
    CHECK(row->over_ns > SMA_ATTEMPT_TIMEOUT_S * WORLD_SECOND);
    CHECK_INT(2, fake_adapter_attempt_count(world.fakes[0]));
    CHECK(world_saw_at(&world, 0, 1)->is_repeat);
    CHECK_TEXT(world_saw_at(&world, 0, 0)->key, world_saw_at(&world, 0, 1)->key);
}

CASE(a_late_success_counts_before_the_repeat)
{
    open_plain();
    /* answered after 60.2 s: past the deadline, before the repeat's back-off of at least half a
     * second is over */
    struct world_row *row = world_add(&world, "a", "{slow:60200 sent} x");
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, row->state);
    CHECK_INT(1, fake_adapter_attempt_count(world.fakes[0]));
}

CASE(a_late_success_counts_while_the_repeat_is_open)
{
    open_plain();
    struct world_row *row = world_add(&world, "a", "{slow:70000 never} x");
    struct world_row *next = world_add(&world, "a", "next");
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, row->state);
    CHECK(row->over_ns > 70 * WORLD_SECOND && row->over_ns < 73 * WORLD_SECOND);
    CHECK_INT(SMA_DELIVERY_SENT, next->state);
}

static void plan_late_failure(void *user, const struct sma_attempt *attempt, unsigned number,
                              struct fake_plan *plan)
{
    (void)user;
    (void)attempt;
    if (number == 1)
        *plan =
            (struct fake_plan){.attempt_class = SMA_ATTEMPT_GIVE_UP, .delay_ns = 70 * WORLD_SECOND};
    else
        plan->delay_ns = 20 * WORLD_SECOND;
}

CASE(a_late_failure_changes_nothing)
{
    world_open(&world, 1, plain, plan_late_failure, NULL);
    /* the first attempt is refused after its deadline, while the repeat of it is still open */
    struct world_row *row = world_add(&world, "a", "late");
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, row->state);
    CHECK(row->over_ns > 80 * WORLD_SECOND);
    CHECK_INT(2, fake_adapter_attempt_count(world.fakes[0]));
}

CASE(parts_go_one_after_the_other_each_durable_first)
{
    open_plain();
    struct world_row *row = world_add(&world, "a", "one|two|three");
    world.is_silent_store = true;
    world_hand_out(&world);
    world_run(&world, 100 * WORLD_SECOND);
    CHECK_INT(1, fake_adapter_saw_count(
                     world.fakes[0])); /* the second waits for the first one's receipt */
    CHECK_INT(1, world.held_count);
    world.is_silent_store = false;
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_RECEIPT_DONE, struct sma_receipt_done, 0);
    SMA_MSG_BODY(msg, struct sma_receipt_done)->outbox_id = row->id;
    sma_ctx_answer_to(sma_system_ctx(world.system, SMA_ACTOR_STORE), SMA_ACTOR_DISPATCHER,
                      world.held_asks[0], &msg);
    world_run_all(&world);
    CHECK_INT(3, row->part_sent_count);
    CHECK_INT(3, fake_adapter_saw_count(world.fakes[0]));
    CHECK_INT(1, sma_histogram_count(SMA_HISTOGRAM_read_to_reply));
}

CASE(too_many_parts_are_cut_with_a_note)
{
    open_plain();
    char text[400] = "";
    for (size_t i = 0; i < 200; i += 2)
        memcpy(text + i, "p|", 2);
    struct world_row *exact = world_add(&world, "b", text + 200 - 2 * SMA_PART_COUNT_MAX);
    struct world_row *row = world_add(&world, "a", text);
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, row->state);
    CHECK_INT(SMA_PART_COUNT_MAX, row->part_count);
    CHECK_INT(SMA_PART_COUNT_MAX, exact->part_count);
    unsigned notes = 0;
    for (const struct fake_saw *saw = fake_adapter_first_saw(world.fakes[0]); saw != NULL;
         saw = saw->next)
        notes += strstr(saw->text, "cut") != NULL;
    CHECK_INT(1, notes);
}

CASE(what_cannot_be_rendered_fails)
{
    open_plain();
    struct world_row *row = world_add(&world, "a", "");
    struct world_row *next = world_add(&world, "a", "x");
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_FAILED, row->state);
    CHECK_INT(SMA_DELIVERY_SENT, next->state);
}

CASE(a_newer_renderer_goes_on_while_parts_are_left)
{
    open_plain();
    struct world_row *more = world_add(&world, "a", "one|two|three");
    more->renderer_version = 99;
    more->part_done_count = 2;
    struct world_row *fewer = world_add(&world, "b", "one|two");
    fewer->renderer_version = 99;
    fewer->part_done_count = 2;
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, more->state);
    CHECK_INT(1, fake_adapter_saw_count(world.fakes[0]));
    CHECK_INT(SMA_DELIVERY_UNKNOWN, fewer->state);
    CHECK(strstr(fewer->error, "2 parts were sent") != NULL);
}

CASE(sixty_four_credits_are_used_and_returned)
{
    open_plain();
    static char chats[200][8];
    for (unsigned i = 0; i < 200; i++) {
        snprintf(chats[i], sizeof chats[i], "c%u", i);
        (void)world_add(&world, chats[i], "{slow:1000} x");
    }
    world_run_all(&world);
    CHECK_INT(0, world.credits_least[0]);
    CHECK_INT(200, fake_adapter_saw_count(world.fakes[0]));
}

/* Many chats over their own limit, and one that has not been written to. */
CASE(chats_that_wait_for_themselves_hold_up_nobody_else)
{
    world_open(&world, 1, (struct sma_capabilities){.chat_per_minute = 6, .chat_burst = 1}, NULL,
               NULL);
    static char chats[66][8];
    struct world_row *second[66];
    for (unsigned i = 0; i < 66; i++) {
        snprintf(chats[i], sizeof chats[i], "c%u", i);
        (void)world_add(&world, chats[i], "first");
    }
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    for (unsigned i = 0; i < 66; i++)
        second[i] = world_add(&world, chats[i], "second");
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    uint64_t now = world_now(&world);
    struct world_row *untouched = world_add(&world, "new", "hello");
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    CHECK(untouched->is_over && untouched->over_ns - now < WORLD_SECOND / 10);
    for (unsigned i = 0; i < 66; i++)
        CHECK(!second[i]->is_over);
    world_run_all(&world);
    for (unsigned i = 0; i < 66; i++)
        CHECK(second[i]->state == SMA_DELIVERY_SENT && second[i]->given_back_count <= 1);
    CHECK_INT(66 * 2 + 1, fake_adapter_saw_count(world.fakes[0]));
}

/* What was tried, and for how long the platform let it wait, is not forgotten. */
CASE(what_is_given_back_keeps_its_counts)
{
    open_plain();
    static char chats[40][8];
    for (unsigned i = 0; i < 40; i++) {
        snprintf(chats[i], sizeof chats[i], "c%u", i);
        (void)world_add(&world, chats[i],
                        i == 0 ? "{retry retry after:1800000 after:1700000 after:1700000} x"
                               : "{slow:5000} x");
    }
    struct world_row *row = &world.rows[0];
    world_run_all(&world);
    CHECK(row->given_back_count > 0);
    CHECK_INT(2, row->attempts_told);
    CHECK_INT(5200000, row->waited_ms);
    CHECK_INT(SMA_DELIVERY_SENT, row->state);
}

static const char *file_of(const char *word)
{
    static char text[400];
    size_t len = (size_t)snprintf(text, sizeof text, "{");
    for (unsigned i = 0; i < SMA_ATTEMPT_COUNT_MAX; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s ", word);
    snprintf(text + len - 1, sizeof text - len + 1, "} f");
    return text;
}

/* A file that does not get there for a while (refused for now, answered 502, or without an answer)
 * lets the words behind it pass, and is tried beside them until it is given up; then the person is
 * to hear of it. A short trouble changes no order. */
CASE(words_pass_a_file_that_is_late)
{
    static const struct
    {
        const char *word;
        uint8_t state;
        uint32_t attempts;
    } cases[] = {
        {"file", SMA_DELIVERY_FAILED, SMA_ATTEMPT_COUNT_MAX},
        {"filedown", SMA_DELIVERY_UNKNOWN, SMA_ATTEMPT_COUNT_MAX},
        {"filehang:55000", SMA_DELIVERY_UNKNOWN, 1},
        {"filehang:90000", SMA_DELIVERY_UNKNOWN, 1},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        if (i > 0)
            world_close(&world);
        world_open(&world, 1, plain, NULL, NULL);
        world.hands_one_of_a_chat = true;
        struct world_row *file = world_add(&world, "a", file_of(cases[i].word));
        struct world_row *words = world_add(&world, "a", "words"),
                         *more = world_add(&world, "a", "more");
        struct world_row *soon = world_add(&world, "b", "{file} f");
        struct world_row *behind = world_add(&world, "b", "behind");
        uint64_t begun_ns = world_now(&world);
        world_ask_send(&world, file->id, begun_ns + 30 * WORLD_SECOND);
        world_run_all(&world);
        const struct world_answer *told = world_answer_of(&world, file->id);
        CHECK_INT(SMA_SEND_QUEUED, told->state); /* the run that sends it goes on, too */
        CHECK(told->at_ns < begun_ns + 15 * WORLD_SECOND);
        CHECK_INT(SMA_DELIVERY_SENT, words->state);
        CHECK(words->over_ns < 15 * WORLD_SECOND && more->over_ns < 15 * WORLD_SECOND);
        CHECK(words->over_ns <= more->over_ns);
        CHECK_INT(cases[i].state, file->state);
        CHECK(file->over_ns > more->over_ns);
        CHECK(file->is_content_refused);
        CHECK_INT(cases[i].attempts, file->attempts_told);
        CHECK(soon->over_ns < behind->over_ns && !soon->steps_aside);
    }
}

static void plan_words_behind(void *user, const struct sma_attempt *attempt, unsigned number,
                              struct fake_plan *plan)
{
    (void)number;
    bool is_file = attempt->part_bytes.len > 5 && attempt->part_bytes.ptr[0] == '{';
    *(unsigned *)user += attempt->is_late;
    if (is_file && !attempt->is_late) {
        plan->attempt_class = SMA_ATTEMPT_RETRY;
        plan->is_seen = false;
    }
}

/* In a row of its own words a late file is told as missing where it stands: they do not wait for
 * hours. */
CASE(words_behind_a_late_file_of_their_own_row_come)
{
    unsigned late_count = 0;
    world_open(&world, 1, plain, plan_words_behind, &late_count);
    world.hands_one_of_a_chat = true;
    struct world_row *mixed = world_add(&world, "a", "before|{file} f|behind");
    struct world_row *next = world_add(&world, "a", "next");
    world_run_all(&world);
    CHECK_INT(1, late_count);
    CHECK_INT(SMA_DELIVERY_SENT, mixed->state);
    CHECK_INT(3, mixed->part_sent_count);
    CHECK(mixed->over_ns < 30 * WORLD_SECOND && next->over_ns < 15 * WORLD_SECOND);
}

CASE(a_stop_reaches_what_is_on_its_way_back)
{
    world_open(&world, 1, (struct sma_capabilities){.chat_per_minute = 6, .chat_burst = 1}, NULL,
               NULL);
    static char chats[40][8];
    for (unsigned i = 0; i < 80; i++) {
        snprintf(chats[i % 40], sizeof chats[0], "c%u", i % 40);
        (void)world_add(&world, chats[i % 40], i < 40 ? "first" : "second");
    }
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    for (unsigned i = 0; i < 40; i++)
        world_cancel(&world, chats[i], UINT64_MAX);
    world_run_all(&world);
    CHECK_INT(40, fake_adapter_saw_count(world.fakes[0]));
    for (unsigned i = 40; i < 80; i++)
        CHECK_INT(SMA_DELIVERY_FAILED, world.rows[i].state);
}

CASE(a_question_after_the_end_finds_the_outcome)
{
    open_plain();
    struct world_row *row = world_add(&world, "a", "x");
    row->has_waiter = true;
    struct world_row *failed = world_add(&world, "b", "{giveup} x");
    failed->has_waiter = true;
    world_run_all(&world);
    world_ask_send(&world, row->id, world_now(&world) + WORLD_SECOND);
    world_ask_send(&world, failed->id, world_now(&world) + WORLD_SECOND);
    world_run(&world, WORLD_SECOND / 2);
    CHECK_INT(SMA_SEND_SENT, world_answer_of(&world, row->id)->state);
    CHECK_INT(SMA_SEND_FAILED, world_answer_of(&world, failed->id)->state);
    CHECK_TEXT("as the script says", world_answer_of(&world, failed->id)->error);
}

CASE(a_question_at_its_deadline_hears_queued_once)
{
    open_plain();
    struct world_row *row = world_add(&world, "a", "{after:100000} x");
    row->has_waiter = true;
    uint64_t deadline = world_now(&world) + 30 * WORLD_SECOND;
    world_ask_send(&world, row->id, deadline);
    world_ask_send(&world, 77, deadline); /* a row that never comes */
    world_run_all(&world);
    CHECK_INT(SMA_SEND_QUEUED, world_answer_of(&world, row->id)->state);
    CHECK_INT(SMA_SEND_QUEUED, world_answer_of(&world, 77)->state);
    CHECK(world_answer_of(&world, 77)->at_ns >= deadline);
    CHECK(world_answer_of(&world, 77)->at_ns < deadline + WORLD_SECOND);
    CHECK_INT(SMA_DELIVERY_SENT, row->state);
}

CASE(outcomes_nobody_asks_for_are_bounded)
{
    open_plain();
    for (size_t i = 0; i < WORLD_ROW_COUNT_MAX; i++)
        world_add(&world, "a", "x")->has_waiter = true;
    world_run_all(&world);
    uint64_t forgotten = WORLD_ROW_COUNT_MAX - SMA_ASK_SEND_COUNT_MAX;
    world_ask_send(&world, forgotten, world_now(&world) + WORLD_SECOND);
    world_ask_send(&world, forgotten + 1, world_now(&world) + WORLD_SECOND);
    world_run(&world, 2 * WORLD_SECOND);
    CHECK_INT(SMA_SEND_QUEUED, world_answer_of(&world, forgotten)->state);
    CHECK_INT(SMA_SEND_SENT, world_answer_of(&world, forgotten + 1)->state);
}

CASE(stop_gives_up_what_has_not_begun)
{
    open_plain();
    struct world_row *begun = world_add(&world, "a", "{slow:5000} x");
    struct world_row *waiting = world_add(&world, "a", "y");
    struct world_row *later = world_add(&world, "a", "z");
    struct world_row *other = world_add(&world, "b", "w");
    waiting->has_waiter = true;
    world_ask_send(&world, waiting->id, world_now(&world) + 30 * WORLD_SECOND);
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    world_cancel(&world, "a", later->seq);
    world_run(&world, WORLD_SECOND);
    CHECK(waiting->is_over);
    CHECK_INT(SMA_DELIVERY_FAILED, waiting->state);
    CHECK_TEXT("stopped", waiting->error);
    CHECK_INT(SMA_SEND_FAILED, world_answer_of(&world, waiting->id)->state);
    CHECK(!begun->is_over);
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, begun->state);
    CHECK_INT(SMA_DELIVERY_SENT, later->state);
    CHECK_INT(SMA_DELIVERY_SENT, other->state);
    CHECK_INT(3, fake_adapter_saw_count(world.fakes[0]));
}

CASE(stop_reaches_a_chat_that_waits_for_its_rate)
{
    struct sma_capabilities limited = {.chat_per_minute = 1};
    world_open(&world, 1, limited, NULL, NULL);
    (void)world_add(&world, "a", "x");
    struct world_row *held = world_add(&world, "a", "y");
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    world_cancel(&world, "a", UINT64_MAX);
    world_run(&world, WORLD_SECOND);
    CHECK(held->is_over);
    world_run_all(&world);
}

CASE(a_receipt_refused_by_a_full_disk_is_asked_again)
{
    open_plain();
    struct world_row *row = world_add(&world, "a", "one|two");
    row->no_disk_count = 5;
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, row->state);
    CHECK_INT(2, fake_adapter_saw_count(world.fakes[0]));
    CHECK(row->over_ns > 5 * WORLD_SECOND);
}

CASE(a_row_the_store_has_stopped_is_dropped)
{
    open_plain();
    struct world_row *row = world_add(&world, "a", "one|two");
    row->is_stopped = true;
    struct world_row *next = world_add(&world, "a", "x");
    world_ask_send(&world, row->id, world_now(&world) + 30 * WORLD_SECOND);
    world_run_all(&world);
    CHECK_INT(2, fake_adapter_saw_count(world.fakes[0])); /* "one" and "x" */
    CHECK_INT(SMA_SEND_FAILED, world_answer_of(&world, row->id)->state);
    CHECK_INT(SMA_DELIVERY_SENT, next->state);
}

CASE(drain_waits_for_what_is_open_and_starts_nothing)
{
    open_plain();
    struct world_row *open_row = world_add(&world, "a", "{slow:3000} x|second part");
    struct world_row *waiting = world_add(&world, "a", "y");
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    sma_sim_life(world.system, SMA_ACTOR_DISPATCHER, SMA_PHASE_DRAIN);
    world_run(&world, WORLD_SECOND);
    CHECK(!sma_sim_life_is_done(world.system, SMA_ACTOR_DISPATCHER, SMA_PHASE_DRAIN));
    struct world_row *fresh = world_add(&world, "b", "z");
    world_hand_out(&world);
    world_run(&world, 60 * WORLD_SECOND);
    CHECK(sma_sim_life_is_done(world.system, SMA_ACTOR_DISPATCHER, SMA_PHASE_DRAIN));
    CHECK_INT(1, open_row->part_sent_count);
    CHECK(!open_row->is_over && !waiting->is_over && !fresh->is_over);
    CHECK_INT(1, fake_adapter_saw_count(world.fakes[0]));
}

CASE(drain_is_bounded)
{
    open_plain();
    (void)world_add(&world, "a", "{never} x");
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    uint64_t begin = world_now(&world);
    sma_sim_life(world.system, SMA_ACTOR_DISPATCHER, SMA_PHASE_DRAIN);
    while (!sma_sim_life_is_done(world.system, SMA_ACTOR_DISPATCHER, SMA_PHASE_DRAIN))
        CHECK(sma_sim_step(world.system));
    CHECK(world_now(&world) - begin <= 11 * WORLD_SECOND);
    CHECK(!world.rows[0].is_over);
}

static void signal_progress(const char *chat, enum sma_progress_kind kind)
{
    char chat_key[64];
    snprintf(chat_key, sizeof chat_key, "fake:chat:%s", chat);
    struct sma_route route = {
        .adapter = SMA_ACTOR_ADAPTER_0, .chat_key = sma_str(chat_key), .chat_id = sma_str(chat)};
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_PROGRESS, struct sma_progress, sma_route_space(&route));
    SMA_MSG_BODY(msg, struct sma_progress)->route = sma_route_dup(msg, &route);
    SMA_MSG_BODY(msg, struct sma_progress)->kind = (uint8_t)kind;
    sma_ctx_signal(sma_system_ctx(world.system, SMA_ACTOR_AGENT), SMA_ACTOR_DISPATCHER, &msg);
}

CASE(progress_is_passed_on_but_not_to_a_held_chat)
{
    open_plain();
    (void)world_add(&world, "held", "{after:20000} x");
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    signal_progress("held", SMA_PROGRESS_TEXT);
    signal_progress("free", SMA_PROGRESS_TEXT);
    world_run(&world, WORLD_SECOND);
    CHECK_INT(1, fake_adapter_progress_count(world.fakes[0]));
    signal_progress("held",
                    SMA_PROGRESS_FINISHED); /* its streamed message would stay for minutes */
    world_run(&world, WORLD_SECOND);
    CHECK_INT(2, fake_adapter_progress_count(world.fakes[0]));
}

CASES_MAIN
