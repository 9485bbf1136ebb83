/*
 * Aim: an edited message is answered as it reads now, a recalled one is not answered, as long as
 *      its run has not begun; later its author's next request is told. Nobody else can do it, and
 *      an edit is never consent.
 * Method: the store actor under virtual time between actors that keep what they get.
 */
#include "approval_support.h"

#include "actors/store/runs_priv.h"

static struct world w;

static void begin_world(uint8_t mode)
{
    make_world(&w);
    w.config.queue_mode = mode;
    w.config.agent_concurrency = 1;
    open_world(&w);
}

static struct sma_accepted say_it(const struct saying *saying)
{
    (void)say_as(&w, TEST, saying);
    run(&w);
    return accepted(&w.test);
}

static uint64_t say_in(const char *chat, const char *id, const char *text)
{
    return say_it(&(struct saying){.chat = chat, .id = id, .text = text}).seq;
}

static struct sma_accepted edit_by(const char *user, const char *id, const char *target,
                                   const char *text)
{
    return say_it(&(struct saying){.chat = "a",
                                   .id = id,
                                   .text = text,
                                   .user = user,
                                   .kind = SMA_EVENT_NOTE,
                                   .addressed = SMA_ADDRESSED_NONE,
                                   .change = SMA_CHANGE_EDIT,
                                   .target = target});
}

static struct sma_accepted edit(const char *id, const char *target, const char *text)
{
    return edit_by("u1", id, target, text);
}

static struct sma_accepted recall(const char *id, const char *target)
{
    return say_it(&(struct saying){.chat = "a",
                                   .id = id,
                                   .text = "",
                                   .user = "",
                                   .kind = SMA_EVENT_NOTE,
                                   .addressed = SMA_ADDRESSED_NONE,
                                   .change = SMA_CHANGE_RECALL,
                                   .target = target});
}

static int state_of(uint64_t seq)
{
    await(&w, TEST, seq, true, "");
    run(&w);
    struct sma_msg *msg = take(&w.test, SMA_MSG_RESULT);
    CHECK(msg != NULL);
    int state = SMA_MSG_BODY(msg, struct sma_result)->state;
    sma_msg_destroy(msg);
    return state;
}

/* Another chat has the only slot: what comes waits. */
static uint64_t take_slot(void)
{
    uint64_t seq = say_in("b", "slot", "busy");
    CHECK(run_seq(&w) == seq);
    return seq;
}

static void end_run(uint64_t seq)
{
    done(&w, seq, "all done", NULL, 0);
    expect_durable(&w, SMA_MSG_DONE_DONE);
}

static void expect_run(uint64_t seq, const char *text)
{
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK(order->seq == seq);
    CHECK_STR(text, order->text);
    sma_msg_destroy(msg);
}

static size_t lines_with(const char *text)
{
    return count_of(history(&w, "test%3Achat%3Aa"), text);
}

AFTER_EACH(end_world(&w))

/* -- before the run ---------------------------------------------------------------------------- */
CASE(an_edited_message_is_answered_as_it_reads_now)
{
    for (int is_crash = 0; is_crash < 2; is_crash++) {
        begin_world(SMA_QUEUE_SERIAL);
        uint64_t slot = take_slot(), seq = say_in("a", "1", "tree o'clock");
        CHECK_INT(SMA_VERDICT_ACCEPTED, edit("e1", "1", "three o'clock").verdict);
        CHECK_INT(SMA_VERDICT_DUPLICATE, edit("e1", "1", "three o'clock").verdict);
        if (is_crash) {
            drop_kept(&w.agent);
            crash_world(&w);
            CHECK(run_seq(&w) == slot);
        }
        end_run(slot);
        expect_run(seq, "three o'clock");
        CHECK_INT(1, (int)lines_with("\"tree o'clock\""));
        CHECK_INT(1, (int)lines_with("[edited] three o'clock"));
        CHECK_INT(1, (int)lines_with("\"editOf\":\"1\""));
        end_world(&w);
    }
}

CASE(a_recalled_message_is_withdrawn)
{
    begin_world(SMA_QUEUE_SERIAL);
    uint64_t slot = take_slot(), seq = say_in("a", "1", "oh no"),
             behind = say_in("a", "2", "hello");
    CHECK_INT(SMA_VERDICT_ACCEPTED, recall("r1", "1").verdict);
    CHECK_INT(SMA_RUN_CANCELLED, state_of(seq));
    drop_kept(&w.agent);
    crash_world(&w);
    CHECK(run_seq(&w) == slot);
    end_run(slot);
    expect_run(behind, "hello");
    CHECK_INT(SMA_RUN_CANCELLED, state_of(seq));
    CHECK_INT(1, (int)lines_with("[withdrawn]"));
    CHECK_INT(1, (int)lines_with("\"recallOf\":\"1\""));
}

/* Chatter was only recorded; then the platform sends a copy that mentions us. */
static struct sma_accepted chat_about(const char *id, const char *text, uint8_t addressed)
{
    return say_it(&(struct saying){
        .chat = "a", .id = id, .text = text, .is_group = true, .addressed = addressed});
}

CASE(a_copy_that_speaks_to_us_brings_nothing_back)
{
    begin_world(SMA_QUEUE_SERIAL);
    struct sma_accepted gone = chat_about("1", "oh no", SMA_ADDRESSED_NONE),
                        anew = chat_about("2", "tree o'clock", SMA_ADDRESSED_NONE),
                        kept = chat_about("3", "hello", SMA_ADDRESSED_NONE);
    CHECK_INT(SMA_VERDICT_IGNORED, gone.verdict);
    CHECK_INT(SMA_VERDICT_ACCEPTED, recall("r1", "1").verdict);
    CHECK_INT(SMA_VERDICT_ACCEPTED, edit("e1", "2", "three o'clock").verdict);
    for (int is_again = 0; is_again < 2; is_again++) {
        struct sma_accepted copy = chat_about("1", "oh no", SMA_ADDRESSED_MENTION);
        CHECK_INT(SMA_VERDICT_DUPLICATE, copy.verdict);
        CHECK(copy.seq == gone.seq);
        crash_world(&w);
    }
    CHECK_INT(SMA_VERDICT_ACCEPTED, chat_about("2", "tree o'clock", SMA_ADDRESSED_MENTION).verdict);
    expect_run(anew.seq, "three o'clock");
    end_run(anew.seq);
    CHECK_INT(SMA_VERDICT_ACCEPTED, chat_about("3", "hello", SMA_ADDRESSED_MENTION).verdict);
    expect_run(kept.seq, "hello");
}

CASE(nobody_edits_what_another_has_said)
{
    begin_world(SMA_QUEUE_SERIAL);
    uint64_t slot = take_slot(), seq = say_in("a", "1", "hello");
    CHECK_INT(SMA_VERDICT_IGNORED, edit_by("u2", "e1", "1", "delete it all").verdict);
    CHECK_INT(SMA_VERDICT_IGNORED, edit_by("", "e2", "1", "delete it all").verdict);
    end_run(slot);
    expect_run(seq, "hello");
    CHECK_INT(0, (int)lines_with("delete it all"));
}

/* Link previews come as edits, too; and what nobody knows leaves nothing behind. */
CASE(the_same_text_and_unknown_messages_are_nothing)
{
    begin_world(SMA_QUEUE_SERIAL);
    uint64_t slot = take_slot(), seq = say_in("a", "1", "hello");
    CHECK_INT(SMA_VERDICT_IGNORED, edit("e1", "1", "hello").verdict);
    CHECK_INT(SMA_VERDICT_IGNORED, edit("e2", "77", "hello").verdict);
    CHECK_INT(SMA_VERDICT_IGNORED, recall("r1", "77").verdict);
    end_run(slot);
    expect_run(seq, "hello");
    CHECK_INT(1, (int)lines_with("\"text\""));
}

CASE(a_picture_that_is_being_fetched_keeps_its_new_words)
{
    begin_world(SMA_QUEUE_SERIAL);
    uint64_t seq = say_it(&(struct saying){
                              .chat = "a", .id = "1", .text = "this won", .preparation = "[file]"})
                       .seq;
    (void)edit("e1", "1", "this one");
    CHECK(prepare(&w, SMA_ROLE_UNKNOWN, "") == seq);
    run(&w);
    expect_run(seq, "this one");
}

CASE(a_recalled_picture_is_not_waited_for)
{
    begin_world(SMA_QUEUE_SERIAL);
    uint64_t seq =
        say_it(&(struct saying){.chat = "a", .id = "1", .text = "see", .preparation = "[file]"})
            .seq;
    uint64_t behind = say_in("a", "2", "hello");
    (void)recall("r1", "1");
    CHECK_INT(SMA_RUN_CANCELLED, state_of(seq));
    expect_run(behind, "hello");
    CHECK(prepare(&w, SMA_ROLE_UNKNOWN, "") == seq); /* too late: nobody wants it */
    run(&w);
    CHECK(run_seq(&w) == 0);
}

/* One piece goes, the others stay; of the first its words go. */
CASE(a_recalled_piece_leaves_its_album)
{
    for (int is_first = 0; is_first < 2; is_first++) {
        begin_world(SMA_QUEUE_SERIAL);
        const char *const texts[] = {"one", "two", "three"}, *const ids[] = {"1", "2", "3"};
        for (int i = 0; i < 3; i++)
            (void)say_it(&(struct saying){
                .chat = "a", .id = ids[i], .text = texts[i], .group_key = "album"});
        (void)recall("r1", is_first ? "1" : "2");
        run_for(&w, 2 * SECOND);
        struct sma_msg *msg = next_run(&w);
        CHECK(msg != NULL);
        const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
        CHECK_STR(is_first ? "[withdrawn]" : "one", order->text);
        CHECK_INT(is_first ? 2 : 1, order->collected_count);
        CHECK_STR("three", order->collected[order->collected_count - 1].text);
        sma_msg_destroy(msg);
        end_world(&w);
    }
}

/* Not every platform says in which topic the message was. */
CASE(a_recall_finds_the_topic_of_its_message)
{
    begin_world(SMA_QUEUE_SERIAL);
    uint64_t slot = take_slot(), seq = say_in("a:topic:7", "1", "oh no");
    uint64_t other = say_in("c", "2", "hello");
    CHECK_INT(SMA_VERDICT_ACCEPTED, recall("r1", "1").verdict);
    CHECK_INT(SMA_VERDICT_IGNORED, recall("r2", "2").verdict); /* of another chat */
    CHECK_INT(SMA_RUN_CANCELLED, state_of(seq));
    end_run(slot);
    expect_run(other, "hello");
}

/* -- later ------------------------------------------------------------------------------------- */
static uint64_t begin_run(const char *id, const char *text)
{
    uint64_t seq = say_in("a", id, text);
    CHECK(run_seq(&w) == seq);
    return seq;
}

/* The agent is told of a change of this message; the number of the note. */
static uint64_t expect_told(uint64_t seq, uint8_t change, const char *id, const char *text)
{
    struct sma_msg *msg = take(&w.agent, SMA_MSG_STEER);
    CHECK(msg != NULL);
    const struct sma_steer *steer = SMA_MSG_BODY(msg, struct sma_steer);
    CHECK(steer->seq == seq);
    CHECK_INT(change, steer->messages[0].change);
    CHECK_STR(id, steer->messages[0].message_id);
    CHECK_STR(text, steer->messages[0].text);
    uint64_t note = steer->messages[0].seq;
    sma_msg_destroy(msg);
    return note;
}

static int step_with(uint64_t seq, uint32_t number, uint64_t added)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 4096);
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    body->seq = seq;
    body->number = number;
    body->kind = SMA_STEP_RESULTS;
    body->data = sma_msg_dup(msg, SMA_STR("step data"));
    body->added_count = 1;
    body->added = sma_msg_space(msg, sizeof(struct sma_seq));
    body->added[0].seq = added;
    ask_as_agent(&w, msg);
    run(&w);
    return verdict(&w, SMA_MSG_STEP_DONE);
}

/* In every mode: it is a correction, no further request. */
CASE(an_open_run_is_told_of_an_edit_and_a_recall)
{
    for (uint8_t mode = SMA_QUEUE_SERIAL; mode <= SMA_QUEUE_STEER; mode++) {
        begin_world(mode);
        uint64_t seq = begin_run("1", "three");
        CHECK_INT(SMA_VERDICT_ACCEPTED, edit("e1", "1", "four").verdict);
        uint64_t note = expect_told(seq, SMA_CHANGE_EDIT, "1", "four");
        CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 1, note));
        (void)recall("r1", "1");
        note = expect_told(seq, SMA_CHANGE_RECALL, "1", "");
        CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 2, note));
        end_run(seq);
        CHECK_INT(0, w.store->runs->note_count);
        CHECK_INT(0, (int)sma_state_open_count(w.store->state));
        CHECK(run_seq(&w) == 0);
        end_world(&w);
    }
}

CASE(an_edit_of_what_was_answered_comes_with_the_next_request)
{
    for (int is_crash = 0; is_crash < 2; is_crash++) {
        begin_world(SMA_QUEUE_SERIAL);
        uint64_t seq = begin_run("1", "three");
        end_run(seq);
        (void)edit("e1", "1", "four");
        CHECK(run_seq(&w) == 0); /* by itself it is no request */
        if (is_crash)
            crash_world(&w);
        uint64_t next = say_in("a", "2", "and now?");
        struct sma_msg *msg = next_run(&w);
        CHECK(msg != NULL);
        const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
        CHECK(order->seq == next);
        CHECK_INT(1, order->collected_count);
        CHECK_INT(SMA_CHANGE_EDIT, order->collected[0].change);
        CHECK_STR("four", order->collected[0].text);
        CHECK_STR("1", order->collected[0].message_id);
        sma_msg_destroy(msg);
        end_world(&w);
    }
}

/* Mended, and asked again: nothing is under way, and the model reads it as it is now. */
CASE(an_edited_message_is_answered_again)
{
    begin_world(SMA_QUEUE_SERIAL);
    end_run(begin_run("1", "three"));
    (void)edit("e1", "1", "four");
    (void)say_it(&(struct saying){.chat = "a",
                                  .id = "x1",
                                  .text = "/retry",
                                  .kind = SMA_EVENT_CONTROL,
                                  .control = SMA_CONTROL_RETRY});
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK_STR("three", order->text);
    CHECK_INT(1, order->collected_count);
    CHECK_INT(SMA_CHANGE_EDIT, order->collected[0].change);
    CHECK_STR("four", order->collected[0].text);
    uint64_t seq = order->seq;
    sma_msg_destroy(msg);
    end_run(seq);
    CHECK_INT(0, (int)sma_state_open_count(w.store->state));
}

CASE(what_the_run_did_not_hear_comes_with_the_next_one)
{
    begin_world(SMA_QUEUE_SERIAL);
    uint64_t seq = begin_run("1", "three");
    (void)edit("e1", "1", "four");
    (void)recall("r1", "1");
    (void)say_in("a", "2", "and now?");
    end_run(seq);
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK_INT(1, order->collected_count); /* the recall came too late for anything */
    CHECK_INT(SMA_CHANGE_EDIT, order->collected[0].change);
    uint64_t next = order->seq;
    sma_msg_destroy(msg);
    end_run(next);
    CHECK_INT(0, (int)sma_state_open_count(w.store->state));
}

CASE(what_was_answered_is_not_withdrawn)
{
    begin_world(SMA_QUEUE_SERIAL);
    uint64_t seq = begin_run("1", "three");
    end_run(seq);
    CHECK_INT(SMA_VERDICT_ACCEPTED, recall("r1", "1").verdict);
    CHECK_INT(SMA_RUN_DONE, state_of(seq));
    CHECK_INT(1, (int)lines_with("[withdrawn]"));
    CHECK_INT(0, (int)sma_state_open_count(w.store->state));
}

/* The agent may have it in a request by now: it hears of the edit instead. */
CASE(an_addition_that_was_told_is_edited_by_a_note)
{
    begin_world(SMA_QUEUE_STEER);
    uint64_t seq = begin_run("1", "look"), added = say_in("a", "2", "at tree");
    CHECK(expect_told(seq, SMA_CHANGE_NONE, "2", "at tree") == added);
    (void)edit("e1", "2", "at three");
    uint64_t note = expect_told(seq, SMA_CHANGE_EDIT, "2", "at three");
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 1, added));
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 2, note));
    end_run(seq);
    CHECK(run_seq(&w) == 0);
}

CASE(an_addition_that_was_told_is_taken_back)
{
    begin_world(SMA_QUEUE_STEER);
    uint64_t seq = begin_run("1", "look"), added = say_in("a", "2", "at it all");
    CHECK(expect_told(seq, SMA_CHANGE_NONE, "2", "at it all") == added);
    (void)recall("r1", "2");
    CHECK_INT(SMA_RUN_CANCELLED, state_of(added));
    CHECK(expect_told(seq, SMA_CHANGE_RECALL, "", "") == added);
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 1, added)); /* it was on its way */
    CHECK_INT(SMA_RUN_CANCELLED, state_of(added));
    end_run(seq);
    CHECK(run_seq(&w) == 0);
}

/* Others may ask something first: they are told nothing, and lose no right by it. */
CASE(a_note_waits_for_its_author)
{
    begin_world(SMA_QUEUE_SERIAL);
    uint64_t seq = begin_run("1", "three");
    end_run(seq);
    (void)edit("e1", "1", "four");
    uint64_t other =
        say_it(&(struct saying){.chat = "a", .id = "2", .text = "hello", .user = "u2"}).seq;
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    CHECK_INT(0, SMA_MSG_BODY(msg, struct sma_run_order)->collected_count);
    sma_msg_destroy(msg);
    CHECK_INT(0, count_kept(&w.agent, SMA_MSG_STEER));
    end_run(other);
    CHECK_INT(1, w.store->runs->note_count);
}

/* A live location changes sixty times between two messages: the newest state is told, once, and
 * another message's change is told, too, whatever came behind it. */
CASE(the_newest_state_of_each_message_is_told_once)
{
    begin_world(SMA_QUEUE_SERIAL);
    uint64_t seq = begin_run("1", "three");
    end_run(seq);
    seq = begin_run("2", "here");
    end_run(seq);
    (void)edit("e0", "1", "four");
    for (int i = 0; i < 600; i++) {
        char id[16], text[16];
        snprintf(id, sizeof id, "l%d", i);
        snprintf(text, sizeof text, "place %d", i);
        (void)edit(id, "2", text);
    }
    CHECK_INT(2, w.store->runs->note_count);
    CHECK_INT(2, (int)sma_state_open_count(w.store->state));
    restart_world(&w); /* and so it is after a start */
    CHECK_INT(2, w.store->runs->note_count);
    (void)edit("l600", "2", "place 600");
    CHECK_INT(2, w.store->runs->note_count);
    say(&w, "a", "3", "where am I now?");
    run(&w);
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK_INT(2, (int)order->collected_count);
    CHECK_STR("four", order->collected[0].text);
    CHECK_STR("place 600", order->collected[1].text);
    sma_msg_destroy(msg);
}

CASE(so_many_notes_wait_and_no_more)
{
    begin_world(SMA_QUEUE_SERIAL);
    for (int i = 0; i < STORE_NOTE_COUNT_MAX + 10; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i + 1);
        end_run(begin_run(id, "words"));
    }
    for (int i = 0; i < STORE_NOTE_COUNT_MAX + 10; i++) {
        char id[16], note[16];
        snprintf(id, sizeof id, "%d", i + 1);
        snprintf(note, sizeof note, "e%d", i);
        (void)edit(note, id, "other words");
    }
    CHECK_INT(STORE_NOTE_COUNT_MAX, w.store->runs->note_count);
    CHECK_INT(STORE_NOTE_COUNT_MAX, (int)sma_state_open_count(w.store->state));
}

/* -- consent ----------------------------------------------------------------------------------- */
/* The run waits for consent; what its person writes anew decides nothing. */
CASE(an_edit_is_never_consent)
{
    begin_world(SMA_QUEUE_STEER);
    uint64_t seq = begin_run("1", "delete it");
    park_step(&w, seq, 1, one_send, 1);
    run(&w);
    CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    (void)edit("e1", "1", "yes");
    (void)edit("e2", "1", "approve");
    run(&w);
    CHECK_INT(SMA_RUN_PARKED, state_of(seq));
    CHECK_INT(0, count_kept(&w.agent, SMA_MSG_JUDGE));
    CHECK_INT(0, count_kept(&w.agent, SMA_MSG_RUN));
}

/* Words that the agent reads as a possible answer stay what they were, over a restart, too. */
CASE(words_that_may_be_an_answer_keep_what_they_said)
{
    static const char words[] = "yes, but only on the test branch please";
    make_world(&w);
    w.config.permissions_json = PEOPLE;
    w.config.queue_mode = SMA_QUEUE_STEER;
    open_world(&w);
    uint64_t seq =
        park_in(&w, &(struct saying){.chat = "a", .id = "1", .text = "do it", .user = "boss"},
                one_command, 1);
    struct sma_card card;
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, CHAT_A, &card);
    sma_card_fini(&card);
    uint64_t said =
        say_it(&(struct saying){.chat = "a", .id = "2", .text = words, .user = "boss"}).seq;
    struct sma_msg *msg = take(&w.agent, SMA_MSG_JUDGE);
    CHECK(msg != NULL && SMA_MSG_BODY(msg, struct sma_judge)->seq == said);
    sma_msg_destroy(msg);
    CHECK_INT(SMA_VERDICT_ACCEPTED, edit_by("boss", "e1", "2", "yes").verdict);
    crash_world(&w);
    msg = take(&w.agent, SMA_MSG_JUDGE);
    CHECK(msg != NULL);
    CHECK_STR(words, SMA_MSG_BODY(msg, struct sma_judge)->text);
    sma_msg_destroy(msg);
    CHECK_INT(SMA_RUN_PARKED, state_of(seq));
}

CASES_MAIN
