/*
 * Aim: whatever comes together (full disks, failing writes and syncs, memory that is short, stops,
 * crashes, orderly ends, slow answers, parked runs and those who decide about them, groups and
 * their roles, albums, things to be fetched, a chat that gets another key, the API), every event
 * that was accepted ends once, nothing stays owed, every question is answered, and what was
 * approved is handed out as fresh at most once.
 * Method: by a seed, people, an agent, an adapter and a dispatcher that keep to the rules, around
 * the store; commits and history writes fail for a while at a time. What may end the program
 * happens in a child process: it ends as promised or goes on well, and this process starts again
 * from the files the child has left. At the end the weather clears, everybody finishes, and the
 * books are compared.
 */
#include "actors/store/consent_priv.h"
#include "actors/store/outbox_priv.h"
#include "actors/store/record_priv.h"
#include "actors/store/runs_priv.h"
#include "approval_support.h"
#include "weather_people.h"

#include <dirent.h>
#include <sys/wait.h>

#define QUESTION_COUNT_MAX 64
#define RUN_COUNT_MAX 16
#define ROW_COUNT_MAX 128

struct open_run
{
    uint64_t seq;
    uint32_t next_step; /* behind the durable ones */
    /* steps on their way: results, and the next answer before those are durable */
    uint32_t asked_count;
    bool is_done_asked, is_parking;
    char chat[32];
    uint64_t added[128]; /* STEER: some are in each step until it is durable */
    uint32_t added_count, taken_count, taken_with;
};
struct open_judgement
{
    uint64_t seq;
    char id[64];
    bool is_asked;
};
struct decided_run
{
    uint64_t seq;
    uint32_t step_count;
};
struct open_row
{
    uint64_t id, seq;
    char chat[64];
    uint32_t part, part_count;
    bool is_asked, is_final_asked, is_attempted;
};

static struct open_run runs[RUN_COUNT_MAX];
static uint32_t run_count;
static struct open_row rows[ROW_COUNT_MAX];
static uint32_t row_count;
static struct open_judgement judgements[64];
static uint32_t judgement_count;
static struct decided_run decided_runs[1024]; /* handed out as decided, in any life */
static uint32_t decided_count;
static uint64_t taken[1024]; /* messages that a durable step of an open run held, in any life */
static uint32_t taken_count;
static struct sma_msg *questions[QUESTION_COUNT_MAX]; /* PREPARE, not answered yet */
static uint32_t question_count;
/* of all seeds: it did happen */
static uint32_t parked_total, fresh_total, judged_total, prepared_total, refused_total,
    collected_total, steered_total, stored_total, ended_total, survived_total;

/* -- the agent --------------------------------------------------------------------------------- */
/* Two chats that became one may have two runs and two rows on their way, begun before that. */
static bool is_of_two(struct sma_str chat_key)
{
    return has_moved && sma_str_is_equal(chat_key, SMA_STR("test:chat:m1"));
}

static void drop_run(uint32_t place)
{
    runs[place] = runs[--run_count];
}

static void check_decided(const struct sma_run_order *order)
{
    for (uint32_t i = 0; i < order->step_count; i++) {
        bool was_asked = sma_str_is_equal(order->steps[i].data, SMA_STR("answer"));
        CHECK(!was_asked ||
              (i + 1 < order->step_count && order->steps[i + 1].kind == SMA_STEP_DECISION));
    }
    if (!order->is_decided)
        return;
    CHECK_INT(SMA_STEP_DECISION, order->steps[order->step_count - 1].kind);
    for (uint32_t i = 0; i < decided_count; i++)
        CHECK(decided_runs[i].seq != order->seq || decided_runs[i].step_count != order->step_count);
    CHECK(decided_count < SMA_COUNT_OF(decided_runs));
    fresh_total++;
    decided_runs[decided_count++] =
        (struct decided_run){.seq = order->seq, .step_count = order->step_count};
}

static void take_run(const struct sma_run_order *order)
{
    for (uint32_t i = 0; i < order->step_count; i++)
        CHECK_INT(i + 1, order->steps[i].number);
    check_decided(order);
    for (uint32_t i = 0; i < taken_count; i++)
        CHECK(taken[i] != order->seq);
    collected_total += order->collected_count;
    for (uint32_t i = run_count; i-- > 0;) {
        if (runs[i].seq == order->seq)
            drop_run(i);
        else
            CHECK(!sma_str_is_equal(order->route.chat_key, sma_str(runs[i].chat)) ||
                  runs[i].is_done_asked || is_of_two(order->route.chat_key));
    }
    CHECK(run_count < RUN_COUNT_MAX);
    struct open_run *opened = &runs[run_count++];
    *opened = (struct open_run){.seq = order->seq, .next_step = order->step_count + 1};
    snprintf(opened->chat, sizeof opened->chat, "%.*s", (int)order->route.chat_key.len,
             order->route.chat_key.ptr);
}

static void take_steer(const struct sma_steer *steer)
{
    for (uint32_t i = 0; i < run_count; i++) {
        struct open_run *open = &runs[i];
        bool is_known = open->seq != steer->seq;
        for (uint32_t k = 0; k < open->added_count && !is_known; k++)
            is_known = open->added[k] == steer->messages[0].seq;
        if (!is_known && open->added_count < SMA_COUNT_OF(open->added))
            open->added[open->added_count++] = steer->messages[0].seq;
    }
}

/* What a step holds is answered by its run: it never has one of its own. */
static void note_taken(struct open_run *open)
{
    while (open->taken_count < open->taken_with) {
        CHECK(taken_count < SMA_COUNT_OF(taken));
        taken[taken_count++] = open->added[open->taken_count++];
        steered_total++;
    }
}

static void step_with_added(struct open_run *open, uint32_t number, const struct delivery *sent,
                            uint32_t count)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 16384);
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    body->seq = open->seq;
    body->number = number;
    body->kind = SMA_STEP_RESULTS;
    body->data = sma_msg_dup(msg, SMA_STR("results"));
    body->delivery_count = count;
    body->deliveries = put_deliveries(msg, sent, count);
    body->added = sma_msg_space(msg, sizeof open->added);
    for (uint32_t i = open->taken_count; i < open->added_count; i++)
        body->added[body->added_count++].seq = open->added[i];
    open->taken_with = open->added_count;
    ask_as_agent(&w, msg);
}

static void take_control(const struct sma_control_order *order)
{
    for (uint32_t i = run_count; i-- > 0;)
        if (runs[i].seq < order->mark_seq &&
            sma_str_is_equal(order->chat_key, sma_str(runs[i].chat)))
            drop_run(i);
}

static void take_step_done(const struct sma_step_done *answer, bool is_done)
{
    for (uint32_t i = run_count; i-- > 0;) {
        struct open_run *open = &runs[i];
        if (open->seq != answer->seq || (is_done ? !open->is_done_asked : open->asked_count == 0))
            continue;
        open->is_done_asked = false;
        open->asked_count -= !is_done;
        open->is_parking = false;
        parked_total += answer->verdict == SMA_STEP_PARKED;
        if (answer->verdict == SMA_STEP_STOPPED || answer->verdict == SMA_STEP_PARKED ||
            (is_done && answer->verdict == SMA_STEP_DURABLE)) {
            drop_run(i);
        } else if (answer->verdict == SMA_STEP_DURABLE) {
            CHECK_INT(open->next_step, answer->number);
            open->next_step++;
            if (open->asked_count == 0)
                note_taken(open);
        }
    }
}

static void work(struct open_run *open)
{
    if (open->is_done_asked || open->asked_count == 2 || open->is_parking)
        return;
    if (open->asked_count == 0 && open->next_step < 6 && roll(4) == 0) {
        open->is_parking = true;
        open->asked_count++;
        if (roll(2) == 0)
            park_step(&w, open->seq, open->next_step, one_send, 1);
        else
            park_step(&w, open->seq, open->next_step, two_commands, 2);
        return;
    }
    bool is_api = strncmp(open->chat, "api:", 4) == 0;
    stored_total += is_api;
    struct delivery sent[] = {{.key = open->chat, .text = "an answer", .adapter = is_api ? API : 0},
                              {.key = "test:chat:c0", .text = "to another", .call = 1}};
    if (open->asked_count == 0 && (open->next_step > 3 || roll(3) == 0)) {
        open->is_done_asked = true;
        done(&w, open->seq, "out", sent, (uint32_t)roll(2));
    } else {
        uint32_t number = open->next_step + open->asked_count, count = (uint32_t)roll(3);
        if (open->added_count > open->taken_count && open->asked_count == 0)
            step_with_added(open, number, sent, count);
        else
            step(&w, open->seq, number, sent, count);
        open->asked_count++;
    }
}

/* The model reads what looks like an answer. */
static void take_judge(const struct sma_judge *judge)
{
    CHECK(judgement_count < SMA_COUNT_OF(judgements));
    struct open_judgement *judgement = &judgements[judgement_count++];
    *judgement = (struct open_judgement){.seq = judge->seq};
    snprintf(judgement->id, sizeof judgement->id, "%.*s", (int)judge->approval_id.len,
             judge->approval_id.ptr);
}

static void say_judged(struct open_judgement *judgement)
{
    if (judgement->is_asked)
        return;
    judgement->is_asked = true;
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_JUDGED, struct sma_judged, 64);
    struct sma_judged *judged = SMA_MSG_BODY(msg, struct sma_judged);
    judged->seq = judgement->seq;
    judged->approval_id = sma_msg_dup(msg, sma_str(judgement->id));
    judged->refused_mask = roll(2);
    judged->seems_to_agree = roll(2) == 0;
    ask_as_agent(&w, msg);
}

static void take_judged_done(const struct sma_step_done *answer)
{
    for (uint32_t i = judgement_count; i-- > 0;) {
        if (judgements[i].seq != answer->seq || !judgements[i].is_asked)
            continue;
        judgements[i].is_asked = false;
        judged_total += answer->verdict == SMA_STEP_DURABLE;
        if (answer->verdict != SMA_STEP_NO_DISK)
            judgements[i] = judgements[--judgement_count];
        return;
    }
}

/* Somebody at the desk decides about one of the requests. */
static void decide_some(void)
{
    const struct store_approval *at = w.store->consent->first;
    if (at == NULL)
        return;
    for (uint64_t skip = roll(3); skip > 0 && at->next != NULL; skip--)
        at = at->next;
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DECIDE, struct sma_decide, 4096);
    struct sma_decide *body = SMA_MSG_BODY(msg, struct sma_decide);
    struct sma_route route = route_of(API, "api:chat:desk");
    body->route = sma_route_dup(msg, &route);
    body->id = sma_msg_dup(msg, sma_str(at->id));
    body->is_approved = roll(2) == 0;
    CHECK_OK(sma_ctx_ask(sma_system_ctx(w.system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
}

/* -- the dispatcher ---------------------------------------------------------------------------- */
static void take_deliver(const struct sma_deliver *deliver)
{
    CHECK(row_count < SMA_DELIVER_CREDIT_COUNT);
    for (uint32_t i = 0; i < row_count; i++) {
        CHECK(rows[i].id != deliver->outbox_id);
        CHECK(!sma_str_is_equal(deliver->route.chat_key, sma_str(rows[i].chat)) ||
              is_of_two(deliver->route.chat_key));
    }
    struct open_row *row = &rows[row_count++];
    *row = (struct open_row){.id = deliver->outbox_id,
                             .seq = deliver->seq,
                             .part = deliver->part_done_count,
                             .part_count = 2,
                             .is_attempted = deliver->is_repeat};
    snprintf(row->chat, sizeof row->chat, "%.*s", (int)deliver->route.chat_key.len,
             deliver->route.chat_key.ptr);
}

static void take_receipt_done(const struct sma_receipt_done *answer)
{
    for (uint32_t i = row_count; i-- > 0;) {
        struct open_row *row = &rows[i];
        if (row->id != answer->outbox_id)
            continue;
        CHECK(row->is_asked);
        row->is_asked = false;
        bool is_stored = answer->verdict == SMA_STEP_DURABLE;
        if (answer->verdict == SMA_STEP_STOPPED || (is_stored && row->is_final_asked))
            rows[i] = rows[--row_count];
        else if (is_stored)
            row->part++;
    }
}

static void attempt(struct open_row *row)
{
    if (row->is_asked)
        return;
    row->is_asked = row->is_attempted = true;
    bool is_sent = roll(5) > 0;
    row->is_final_asked = !is_sent || row->part + 1 >= row->part_count;
    receipt(&w, &(struct sma_receipt){.outbox_id = row->id,
                                      .part = row->part,
                                      .part_count = row->part_count,
                                      .state = (uint8_t)(is_sent        ? SMA_DELIVERY_SENT
                                                         : roll(2) == 0 ? SMA_DELIVERY_FAILED
                                                                        : SMA_DELIVERY_UNKNOWN),
                                      .is_final = row->is_final_asked});
}

static void cancel_rows(const struct sma_cancel_deliver *cancel)
{
    for (uint32_t i = 0; i < row_count; i++) {
        struct open_row *row = &rows[i];
        if (row->is_attempted || row->is_asked || row->seq >= cancel->mark_seq ||
            !sma_str_is_equal(cancel->chat_key, sma_str(row->chat)))
            continue;
        row->is_asked = row->is_final_asked = true;
        receipt(&w, &(struct sma_receipt){
                        .outbox_id = row->id, .state = SMA_DELIVERY_FAILED, .is_final = true});
    }
}

/* -- the adapter ------------------------------------------------------------------------------- */
static void drop_question(uint32_t place)
{
    sma_msg_destroy(questions[place]);
    questions[place] = questions[--question_count];
}

/* It was fetched, the role was looked up, or the platform does not say. */
static void answer_question(uint32_t place)
{
    static const char *const contexts[] = {"", "", "one file could not be fetched"};
    const struct sma_prepare *question = SMA_MSG_BODY(questions[place], struct sma_prepare);
    const char *context = contexts[roll(SMA_COUNT_OF(contexts))];
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_PREPARED, struct sma_prepared, 64);
    struct sma_prepared *body = SMA_MSG_BODY(msg, struct sma_prepared);
    body->seq = question->seq;
    body->role = (uint8_t)roll(SMA_ROLE_ADMIN + 1);
    body->context = sma_msg_dup(msg, sma_str(context));
    refused_total += question->wants_role && body->role == SMA_ROLE_MEMBER;
    prepared_total++;
    sma_ctx_answer(sma_system_ctx(w.system, TEST), questions[place], &msg);
    drop_question(place);
}

static void read_adapter(struct keeper *keeper, unsigned adapter)
{
    for (size_t i = 0; i < keeper->count; i++) {
        if (keeper->msgs[i]->kind == SMA_MSG_ACCEPTED)
            take_accepted(keeper->msgs[i], adapter);
        if (keeper->msgs[i]->kind != SMA_MSG_PREPARE)
            continue;
        if (question_count == QUESTION_COUNT_MAX)
            drop_question(0); /* a platform that says nothing for a while */
        questions[question_count++] = keeper->msgs[i];
        keeper->msgs[i] = NULL;
    }
    drop_kept(keeper);
}

/* -- what came --------------------------------------------------------------------------------- */
static void read_agent(void)
{
    for (size_t i = 0; i < w.agent.count; i++) {
        struct sma_msg *msg = w.agent.msgs[i];
        if (msg->kind == SMA_MSG_RUN)
            take_run(SMA_MSG_BODY(msg, struct sma_run_order));
        else if (msg->kind == SMA_MSG_CONTROL)
            take_control(SMA_MSG_BODY(msg, struct sma_control_order));
        else if (msg->kind == SMA_MSG_STEER)
            take_steer(SMA_MSG_BODY(msg, struct sma_steer));
        else if (msg->kind == SMA_MSG_JUDGE)
            take_judge(SMA_MSG_BODY(msg, struct sma_judge));
        else if (msg->kind == SMA_MSG_JUDGED_DONE)
            take_judged_done(SMA_MSG_BODY(msg, struct sma_step_done));
        else
            take_step_done(SMA_MSG_BODY(msg, struct sma_step_done), msg->kind == SMA_MSG_DONE_DONE);
    }
    drop_kept(&w.agent);
}

static void read_dispatcher(void)
{
    for (size_t i = 0; i < w.dispatcher.count; i++) {
        struct sma_msg *msg = w.dispatcher.msgs[i];
        if (msg->kind == SMA_MSG_DELIVER)
            take_deliver(SMA_MSG_BODY(msg, struct sma_deliver));
        else if (msg->kind == SMA_MSG_CANCEL_DELIVER)
            cancel_rows(SMA_MSG_BODY(msg, struct sma_cancel_deliver));
        else
            take_receipt_done(SMA_MSG_BODY(msg, struct sma_receipt_done));
    }
    drop_kept(&w.dispatcher);
}

static void read_all(void)
{
    read_agent();
    read_dispatcher();
    read_adapter(&w.test, TEST);
    read_adapter(&w.api, API);
}

/* -- the weather ------------------------------------------------------------------------------- */
static void begin_life(void)
{
    run_count = row_count = judgement_count = 0;
    while (question_count > 0)
        drop_question(0);
    for (uint32_t i = 0; i < event_count; i++)
        events[i].is_open = false;
}

static void clear_sky(void)
{
    is_full = is_history_full = is_failing = is_copy_failing = false;
    short_of_memory_in = 0;
    storm = NO_STORM;
    w.disk_free = UINT64_C(1) << 40;
}

static void end_life(bool is_orderly)
{
    clear_sky();
    is_copy_failing = roll(4) == 0;
    if (is_orderly) {
        run_for(&w, 2 * SECOND);
        read_all();
        stop_world(&w);
        read_all(); /* whoever asked was answered before the end */
        close_system(&w);
    } else {
        sma_sim_crash(w.system);
        close_system(&w);
    }
    begin_life();
    clear_sky();
}

static void act(void);

static void tell_failed_check(void)
{
    _exit(97); /* a failed check ends by exit(1); the store ends by _exit(1) */
}

/* A life in which this happens, in a process of its own. */
static void live_in_storm(enum storm kind)
{
    is_in_storm_life = true;
    CHECK_INT(0, atexit(tell_failed_check));
    if (getenv("SMA_WEATHER_VERBOSE") == NULL)
        CHECK(freopen("/dev/null", "w", stderr) != NULL);
    open_world(&w);
    for (int i = 0; i < 30; i++) {
        if (i == 10)
            storm = kind;
        if (i == 20)
            clear_sky();
        act();
    }
    run_for(&w, 3 * SECOND);
    _exit(has_sync_failed ? 96 : 0); /* who goes on after a failed sync tells what is not so */
}

static void survive_storm(void)
{
    enum storm kind = (enum storm)(1 + roll(STORM_COUNT - 1));
    end_life(false);
    uint64_t kept = chance;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        live_in_storm(kind);
    chance = kept ^ (uint64_t)kind << 32;
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) > 1)
        fprintf(stderr, "storm %d: the child ended with %d\n", (int)kind, WEXITSTATUS(status));
    CHECK(WEXITSTATUS(status) <= 1);
    ended_total += WEXITSTATUS(status) == 1;
    survived_total += WEXITSTATUS(status) == 0;
    open_world(&w);
}

static void change_weather(void)
{
    switch (roll(8)) {
    case 0:
        is_full = !is_full;
        break;
    case 1:
        is_history_full = !is_history_full;
        break;
    case 2:
        w.disk_free = roll(3) == 0   ? SMA_DISK_RESERVE_BYTES - 1
                      : roll(2) == 0 ? 4ull * SMA_DISK_RESERVE_BYTES - 1
                                     : UINT64_C(1) << 40;
        break;
    case 3:
        clear_sky();
        break;
    case 4:
        if (roll(2) == 0) {
            end_life(roll(2) == 0);
            open_world(&w);
        } else if (!is_in_storm_life && roll(2) == 0) {
            survive_storm();
        }
        break;
    case 5:
        is_failing = !is_failing;
        break;
    case 6:
        short_of_memory_in = 1 + (uint32_t)roll(60);
        break;
    default:
        run_for(&w, SECOND);
        break;
    }
}

static void act(void)
{
    uint64_t what = roll(100);
    if (what < 25)
        say_new();
    else if (what < 30)
        say_again(true);
    else if (what < 60 && run_count > 0)
        work(&runs[roll(run_count)]);
    else if (what < 80 && row_count > 0)
        attempt(&rows[roll(row_count)]);
    else if (what < 85)
        change_weather();
    else if (what < 87)
        decide_some();
    else if (what < 95 && judgement_count > 0)
        say_judged(&judgements[roll(judgement_count)]);
    else if (what < 98 && question_count > 0)
        answer_question((uint32_t)roll(question_count));
    if (roll(3) > 0)
        run_for(&w, roll(20) * UINT64_C(1000000));
    if (roll(3) > 0) /* everybody is slow at times */
        read_all();
}

/* -- the books --------------------------------------------------------------------------------- */
static bool is_all_done(void)
{
    bool is_done = run_count == 0 && row_count == 0 && sma_queue_waiting(w.store->queue) == 0 &&
                   w.store->runs->open_count == 0 && w.store->outbox->open_count == 0 &&
                   w.store->consent->count == 0;
    for (uint32_t i = 0; i < event_count; i++)
        is_done = is_done && events[i].is_accepted;
    return is_done;
}

static void clear_up(void)
{
    clear_sky();
    run_for(&w, 3 * SECOND);
    read_all();
    for (int round = 0; round < 2000 && !is_all_done(); round++) {
        say_again(false);
        for (uint32_t i = 0; i < run_count; i++)
            work(&runs[i]);
        for (uint32_t i = 0; i < row_count; i++)
            attempt(&rows[i]);
        for (uint32_t i = 0; i < judgement_count; i++)
            say_judged(&judgements[i]);
        while (question_count > 0)
            answer_question(0);
        decide_some();
        run_for(&w, 100 * UINT64_C(1000000));
        read_all();
    }
    CHECK(is_all_done());
}

static void check_results(void)
{
    for (uint32_t i = 0; i < event_count; i++) {
        if (events[i].saying.change != 0)
            continue; /* it may wait for its author's next word */
        await(&w, TEST, events[i].seq, true, "");
        run(&w);
        struct sma_msg *msg = take(&w.test, SMA_MSG_RESULT);
        CHECK(msg != NULL);
        uint8_t state = SMA_MSG_BODY(msg, struct sma_result)->state;
        CHECK(state == SMA_RUN_DONE || state == SMA_RUN_CANCELLED || state == SMA_RUN_FAILED);
        sma_msg_destroy(msg);
    }
}

static void check_no_files(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/approvals", w.state_dir);
    DIR *directory = opendir(path);
    CHECK(directory != NULL);
    for (const struct dirent *item; (item = readdir(directory)) != NULL;)
        CHECK(item->d_name[0] == '.');
    closedir(directory);
}

static void check_books(void)
{
    CHECK_INT(0, w.store->runs->open_count);
    CHECK_INT(0, w.store->outbox->rows.count);
    CHECK_INT(SMA_DELIVER_CREDIT_COUNT, w.store->outbox->lanes[0].credits);
    CHECK_INT(w.store->runs->note_count, sma_state_open_count(w.store->state));
    CHECK_INT(0, w.store->record->line_count);
    CHECK_INT(0, w.store->runs->suspect_count);
    CHECK_INT(0, w.store->runs->orphan_count);
    CHECK_INT(0, w.store->consent->judgement_count);
    CHECK_INT(0, w.store->consent->kept_count + w.store->consent->out_count);
    check_no_files();
    for (const struct store_chat *chat = w.store->chats.first; chat != NULL; chat = chat->next)
        CHECK(chat->approval_count == 0 && chat->run == NULL && chat->first == NULL &&
              !chat->line_count);
    CHECK(w.store->outbox->lanes[0].waiting_first == NULL);
    CHECK(w.store->runs->ended_count == 0 && w.store->runs->kept == NULL);
    CHECK_INT(SMA_ASK_INGRESS_COUNT_MAX + SMA_ASK_AWAIT_COUNT_MAX,
              sma_ctx_ask_room(sma_system_ctx(w.system, TEST), SMA_ACTOR_STORE));
    CHECK_INT(SMA_ASK_STORE_COUNT_MAX,
              sma_ctx_ask_room(sma_system_ctx(w.system, SMA_ACTOR_AGENT), SMA_ACTOR_STORE));
    CHECK_INT(SMA_ASK_RECEIPT_COUNT_MAX,
              sma_ctx_ask_room(sma_system_ctx(w.system, SMA_ACTOR_DISPATCHER), SMA_ACTOR_STORE));
}

static void check_history(void)
{
    for (uint32_t i = 0; i < event_count; i++) {
        char file[32], needle[48];
        bool is_moved = has_moved && strcmp(events[i].chat, "m0") == 0;
        snprintf(file, sizeof file, "%s%%3Achat%%3A%s", events[i].adapter == API ? "api" : "test",
                 is_moved ? "m1" : events[i].chat);
        snprintf(needle, sizeof needle, "\"%s\"", events[i].text);
        if (events[i].text[0] == '\0')
            continue;
        size_t count = count_of(history(&w, file), needle);
        for (unsigned archive = 1; archive <= 4; archive++) { /* two chats became one */
            char name[64];
            snprintf(name, sizeof name, "%s.archive-%u", file, archive);
            count += count_of(history(&w, name), needle);
        }
        CHECK_INT(1, count);
    }
}

static void one_seed(uint64_t seed)
{
    static struct sma_sys sys;
    sys = *sma_sys_real();
    sys.pwrite = write_when_there_is_room;
    sys.pread = read_when_it_can;
    chance = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    event_count = decided_count = taken_count = 0;
    has_moved = false;
    begin_life();
    make_world(&w);
    w.config.permissions_json = PEOPLE;
    w.test_json = "{\"access\":\"anyone\",\"groups\":[\"g\",\"m0\",\"m1\"]}";
    w.config.approvals_expire_s = (int64_t)roll(30);
    w.sys = &sys;
    w.seed = seed;
    w.config.agent_concurrency = 1 + (int)roll(3);
    w.config.queue_is_fair = roll(2) == 0;
    w.config.queue_mode = (uint8_t)roll(3);
    w.config.queue_chat_waiting_max = 6;
    open_world(&w);
    for (int i = 0; i < 400; i++)
        act();
    clear_up();
    check_books();
    check_results();
    end_life(true);
    open_world(&w);
    clear_up();
    check_books();
    check_history();
    end_world(&w);
}

static uint64_t first_seed = 1, seed_count = 20;

CASE(in_any_weather_the_books_balance)
{
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        if (seed_count == 1 || getenv("SMA_WEATHER_VERBOSE") != NULL)
            fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
        one_seed(seed);
    }
}

/* Arguments: first seed, number of seeds. */
int main(int argc, char **argv)
{
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        seed_count = strtoull(argv[2], NULL, 10);
    set_up_failures();
    check_run_cases(NULL);
    CHECK(parked_total > 0 && fresh_total > 0 && judged_total > 0);
    CHECK(prepared_total > 0 && refused_total > 0 && collected_total > 0 && steered_total > 0 &&
          changed_total > 0 && moved_total > 0 && stored_total > 0 && short_total > 0 &&
          ended_total > 0 && survived_total > 0);
    if (getenv("SMA_WEATHER_VERBOSE") != NULL)
        fprintf(
            stderr,
            "parked %u, decided %u, judged %u, prepared %u, refused %u, collected %u, steered %u, "
            "changed %u, "
            "moved %u, "
            "over the API %u, short of memory %u, storms that ended the program %u and not %u\n",
            parked_total, fresh_total, judged_total, prepared_total, refused_total, collected_total,
            steered_total, changed_total, moved_total, stored_total, short_total, ended_total,
            survived_total);
    return check_summary();
}
