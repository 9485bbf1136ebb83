/*
 * Aim: a parked run outlives everything that happens to the program, expires when it should, and
 * what was approved is handed out as approved exactly once.
 * Method: virtual time; crash or restart between any two messages; a disk that fails under SQLite
 * at the n-th write.
 */
#include "approval_support.h"

#include "actors/store/consent_priv.h"
#include "actors/store/runs_priv.h"
#include "runtime/chat/state_vfs.h"

static struct world w;

static void deliver_card(const char *chat_key)
{
    SMA_AUTO(sma_card_fini) struct sma_card card;
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, chat_key, &card);
}

AFTER_EACH(end_world(&w))

CASE(nobody_answers_and_it_expires)
{
    struct sma_card card;
    char id[64];
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    snprintf(id, sizeof id, "%s", open_id(&w));
    pass(&w, 10000); /* not delivered: the clock stands */
    CHECK_TEXT("no run", resumed(&w, seq));
    deliver_card(CHAT_A);
    pass(&w, 3599);
    CHECK_TEXT("no run", resumed(&w, seq));
    pass(&w, 2);
    CHECK_TEXT("0:no:expired;", resumed(&w, seq));
    take_card(&w, SMA_INTENT_APPROVAL_OUTCOME, CHAT_A, &card);
    sma_card_fini(&card);
    CHECK_INT(410, decide_all(&w, id, true));
    CHECK_TEXT("This request has expired.", press(&w, "a", "boss", "p", button(&w, id, 0, 'y')));
    CHECK(!has_projection(&w, id));
}

CASE(what_was_decided_before_the_end_stays_decided)
{
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", two_commands, 2);
    deliver_card(CHAT_A);
    CHECK_TEXT("Noted: 1 of 2 are decided.",
               press(&w, "a", "boss", "p", button(&w, open_id(&w), 1, SMA_CARD_APPROVE)));
    pass(&w, 3601);
    CHECK_TEXT("0:yes:;1:no:expired;", resumed(&w, seq));
}

CASE(zero_is_never)
{
    make_world(&w);
    w.config.permissions_json = PEOPLE;
    open_world(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    deliver_card(CHAT_A);
    pass(&w, 1000000);
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_INT(200, decide_all(&w, open_id(&w), true));
}

CASE(the_clock_stands_while_the_service_is_down)
{
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    deliver_card(CHAT_A);
    pass(&w, 3000);
    restart_world(&w); /* virtual time begins anew; what was left was written down */
    CHECK_INT(1, w.store->consent->count);
    pass(&w, 590);
    CHECK_TEXT("no run", resumed(&w, seq));
    pass(&w, 15);
    CHECK_TEXT("0:no:expired;", resumed(&w, seq));
    end_world(&w);
    /* After a crash it has what it had when the clock started. */
    open_people(&w);
    seq = park(&w, "a", "1", one_command, 1);
    deliver_card(CHAT_A);
    pass(&w, 3000);
    crash_world(&w);
    pass(&w, 3000);
    CHECK_TEXT("no run", resumed(&w, seq));
    pass(&w, 601);
    CHECK_TEXT("0:no:expired;", resumed(&w, seq));
}

CASE(a_failed_delivery_starts_the_clock_too)
{
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    struct sma_msg *msg = deliver(&w);
    receipt(&w, &(struct sma_receipt){.outbox_id = SMA_MSG_BODY(msg, struct sma_deliver)->outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_FAILED,
                                      .is_final = true,
                                      .error = SMA_STR("blocked")});
    sma_msg_destroy(msg);
    pass(&w, 3601);
    CHECK_TEXT("0:no:expired;", resumed(&w, seq));
    CHECK(deliver(&w) == NULL); /* nobody saw it, nobody is told of its end */
}

CASE(a_request_that_still_waits_to_be_sent_is_withdrawn)
{
    open_people(&w);
    say(&w, "a", "1", "do it");
    run(&w);
    uint64_t seq = run_seq(&w);
    step(&w, seq, 1, (struct delivery[]){{CHAT_A, "first this", 0, 0, false}}, 1);
    expect_durable(&w, SMA_MSG_STEP_DONE);
    park_step(&w, seq, 2, one_command, 1);
    run(&w);
    CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    CHECK_INT(200, decide_all(&w, open_id(&w), true));
    struct sma_msg *msg = deliver(&w);
    CHECK_STR("first this", SMA_MSG_BODY(msg, struct sma_deliver)->text);
    receipt(&w, &(struct sma_receipt){.outbox_id = SMA_MSG_BODY(msg, struct sma_deliver)->outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true});
    sma_msg_destroy(msg);
    run(&w);
    CHECK(deliver(&w) == NULL);
}

CASE(a_restart_keeps_what_is_asked)
{
    for (int i = 0; i < 2; i++) {
        char id[64], path[256];
        open_people(&w);
        uint64_t seq = park(&w, "a", "1", one_command, 1);
        deliver_card(CHAT_A);
        say(&w, "a", "2", "waits");
        run(&w);
        snprintf(id, sizeof id, "%s", open_id(&w));
        snprintf(path, sizeof path, "%s/approvals/%s.json", w.state_dir, id);
        CHECK_INT(0, unlink(path));
        if (i == 0)
            restart_world(&w);
        else
            crash_world(&w);
        CHECK(has_projection(&w, id)); /* made again */
        CHECK_TEXT(id, open_id(&w));
        CHECK_INT(0, w.store->runs->suspect_count);
        CHECK_TEXT("no run", resumed(&w, seq));
        CHECK_TEXT("Approved.", press(&w, "a", "boss", "p", button(&w, id, 0, SMA_CARD_APPROVE)));
        CHECK_TEXT("0:yes:;", resumed(&w, seq));
        end_world(&w);
    }
}

/* Decided, but the slot is taken by another run; then the end. The approved call is handed out
 * after it. */
CASE(a_decision_that_was_not_handed_out_survives)
{
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    say(&w, "b", "2", "takes the slot");
    run(&w);
    uint64_t other = run_seq(&w);
    CHECK(other != 0);
    CHECK_INT(200, decide_all(&w, open_id(&w), true));
    CHECK_TEXT("no run", resumed(&w, seq));
    crash_world(&w);
    /* The suspect proves itself first. */
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    bool is_other = SMA_MSG_BODY(msg, struct sma_run_order)->seq == other;
    CHECK(is_other || SMA_MSG_BODY(msg, struct sma_run_order)->is_decided);
    uint64_t now = SMA_MSG_BODY(msg, struct sma_run_order)->seq;
    sma_msg_destroy(msg);
    done(&w, now, "", NULL, 0);
    run(&w);
    if (is_other)
        CHECK_TEXT("0:yes:;", resumed(&w, seq));
    else
        CHECK(run_seq(&w) == other);
}

/* Handed out, then the end: what was approved may have been begun and is not fresh any more. */
CASE(what_was_handed_out_is_not_handed_out_as_fresh_again)
{
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    CHECK_INT(200, decide_all(&w, open_id(&w), true));
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    crash_world(&w);
    CHECK_TEXT("late 0:yes:;", resumed(&w, seq));
    restart_world(&w);
    CHECK_TEXT("late 0:yes:;", resumed(&w, seq));
}

CASE(a_run_parks_again)
{
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    CHECK_INT(200, decide_all(&w, open_id(&w), true));
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 64);
    *SMA_MSG_BODY(msg, struct sma_step) = (struct sma_step){
        .seq = seq, .number = 3, .kind = SMA_STEP_RESULTS, .data = SMA_STR("results")};
    ask_as_agent(&w, msg);
    expect_durable(&w, SMA_MSG_STEP_DONE);
    park_step(&w, seq, 4, two_commands, 2);
    run(&w);
    CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    crash_world(&w);
    CHECK_INT(200, decide_all(&w, open_id(&w), false));
    CHECK_TEXT("0:no:refused by root;1:no:refused by root;", resumed(&w, seq));
}

/* -- failing commits --------------------------------------------------------------------------- */
static int writes_until_failure;
static bool is_failing;

static enum sma_state_vfs_action fail_at(enum sma_state_vfs_role role, enum sma_state_vfs_call call,
                                         bool is_wal)
{
    (void)role;
    if (!is_failing || !is_wal || call != SMA_STATE_VFS_WRITE)
        return SMA_STATE_VFS_PASS;
    return --writes_until_failure < 0 ? SMA_STATE_VFS_FAIL_FULL : SMA_STATE_VFS_PASS;
}

CASE(a_failed_commit_changes_nothing_of_a_request)
{
    sma_state_vfs_set_hook(fail_at);
    for (int at = 0; at < 3; at++) {
        char id[64];
        open_people(&w);
        say(&w, "a", "1", "do it");
        run(&w);
        uint64_t seq = run_seq(&w);
        is_failing = true;
        writes_until_failure = at;
        park_step(&w, seq, 1, one_command, 1);
        run(&w);
        int answer = verdict(&w, SMA_MSG_STEP_DONE);
        is_failing = false;
        run_for(&w, 3 * SECOND);
        if (answer == SMA_STEP_NO_DISK) {
            CHECK_INT(0, w.store->consent->count);
            CHECK(sma_store_run_find(w.store, seq) != NULL);
            park_step(&w, seq, 1, one_command, 1);
            run(&w);
            CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
        }
        CHECK_INT(1, w.store->consent->count);
        deliver_card(CHAT_A);
        snprintf(id, sizeof id, "%s", open_id(&w));
        is_failing = true;
        writes_until_failure = at;
        int status = decide_all(&w, id, true);
        is_failing = false;
        run_for(&w, 3 * SECOND);
        if (status == 503) {
            CHECK_INT(1, w.store->consent->count);
            CHECK(has_projection(&w, id));
            CHECK_TEXT("no run", resumed(&w, seq));
            CHECK_INT(200, decide_all(&w, id, true));
        }
        CHECK_TEXT("0:yes:;", resumed(&w, seq));
        end_world(&w);
    }
    sma_state_vfs_set_hook(NULL);
}

/* The store looks at the clock with the end of a batch; a press of that batch comes too late all
 * the same. */
CASE(a_press_after_the_time_decides_nothing)
{
    for (int i = 0; i < 4; i++) {
        char id[64];
        open_people(&w);
        uint64_t seq = park(&w, "a", "1", one_command, 1);
        deliver_card(CHAT_A);
        snprintf(id, sizeof id, "%s", open_id(&w));
        (void)say_as(&w, TEST,
                     &(struct saying){.chat = "a",
                                      .user = "boss",
                                      .id = "p",
                                      .text = button(&w, id, 0, SMA_CARD_APPROVE),
                                      .kind = SMA_EVENT_CALLBACK});
        sma_sim_advance(w.system, 3700 * SECOND);
        run(&w);
        CHECK_TEXT("0:no:expired;", resumed(&w, seq));
        end_world(&w);
    }
}

CASE(a_failed_expiry_is_tried_again)
{
    sma_state_vfs_set_hook(fail_at);
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    deliver_card(CHAT_A);
    is_failing = true;
    writes_until_failure = 0;
    pass(&w, 3700);
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_INT(1, w.store->consent->count);
    is_failing = false;
    run_for(&w, 5 * SECOND);
    CHECK_TEXT("0:no:expired;", resumed(&w, seq));
    sma_state_vfs_set_hook(NULL);
}

/* What stands in the row cannot be read any more: the request goes, and its run, and nobody
 * else's. */
CASE(a_damaged_request_is_given_up)
{
    for (int i = 0; i < 4; i++) {
        char id[64];
        open_people(&w);
        uint64_t seq = park(&w, "a", "1", one_command, 1);
        snprintf(id, sizeof id, "%s", open_id(&w));
        CHECK_OK(sma_state_begin(w.store->state));
        CHECK_OK(sma_state_approval_update(
            w.store->state,
            &(struct sma_state_approval){.id = sma_str(id), .left_ms = -1, .doc = SMA_STR("{[")}));
        CHECK_OK(sma_state_commit(w.store->state));
        say(&w, "b", "2", "another");
        run(&w);
        if (i == 0)
            CHECK_INT(404, decide_all(&w, id, true));
        else if (i == 1)
            say(&w, "a", "3", "yes");
        else if (i == 2)
            command(&w, "a", "3", SMA_CONTROL_STOP);
        else
            restart_world(&w); /* its file cannot be made */
        run(&w);
        CHECK_INT(0, w.store->consent->count);
        struct sma_state_head head;
        CHECK_OK(sma_state_head_get(w.store->state, seq, &head));
        CHECK_INT(SMA_ROW_CANCELLED, head.state);
        CHECK(!has_projection(&w, id));
        CHECK(run_seq(&w) > seq); /* the other chat goes on */
        end_world(&w);
    }
}

CASE(files_of_others_are_left_alone)
{
    char path[256];
    open_people(&w);
    snprintf(path, sizeof path, "%s/approvals/0a1b2c3d.json", w.state_dir);
    FILE *out = fopen(path, "w");
    CHECK(out != NULL && fputs("{}", out) >= 0 && fclose(out) == 0);
    snprintf(path, sizeof path, "%s/approvals/%032x.json", w.state_dir, 7);
    out = fopen(path, "w"); /* ours, of a request that is over */
    CHECK(out != NULL && fputs("{}", out) >= 0 && fclose(out) == 0);
    restart_world(&w);
    CHECK(has_projection(&w, "0a1b2c3d"));
    CHECK(access(path, F_OK) != 0);
}

CASE(a_parked_run_follows_its_chat)
{
    open_people(&w);
    uint64_t seq = park(&w, "old", "1", one_command, 1);
    deliver_card("test:chat:old");
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "new",
                                  .id = "n",
                                  .text = "",
                                  .kind = SMA_EVENT_NOTE,
                                  .migrated_from = "test:chat:old"});
    run(&w);
    drop_kept(&w.test);
    CHECK_INT(1, count_of(query(&w, SMA_QUERY_APPROVALS, "test:chat:new"), "\"createdAt\""));
    say(&w, "new", "2", "waits");
    run(&w);
    CHECK(run_seq(&w) == 0);
    drop_kept(&w.dispatcher);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(1, w.store->consent->count);
        CHECK_STR("test:chat:new", sma_store_chat_key(w.store->consent->first->chat));
        if (i == 0)
            crash_world(&w);
    }
    drop_kept(&w.dispatcher);
    drop_kept(&w.test);
    CHECK_TEXT("Approved.", press(&w, "new", "boss", "p", button(&w, open_id(&w), 0, 'y')));
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
}

CASE(two_parked_chats_become_one)
{
    open_people(&w);
    uint64_t first = park(&w, "old", "1", one_command, 1);
    uint64_t second = park(&w, "new", "2", one_command, 1);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "new",
                                  .id = "n",
                                  .text = "",
                                  .kind = SMA_EVENT_NOTE,
                                  .migrated_from = "test:chat:old"});
    run(&w);
    drop_kept(&w.test);
    CHECK_INT(2, w.store->consent->count);
    char ids[2][64];
    snprintf(ids[0], 64, "%s", w.store->consent->first->id);
    snprintf(ids[1], 64, "%s", w.store->consent->last->id);
    CHECK_INT(200, decide_all(&w, ids[0], true));
    CHECK_TEXT("no run",
               resumed(&w, first)); /* one at a time, and the other is still asked about */
    CHECK_INT(200, decide_all(&w, ids[1], true));
    CHECK_TEXT("0:yes:;", resumed(&w, first)); /* begun runs go on in the order of their numbers */
    done(&w, first, "", NULL, 0);
    run(&w);
    CHECK_TEXT("0:yes:;", resumed(&w, second));
}

CASES_MAIN
