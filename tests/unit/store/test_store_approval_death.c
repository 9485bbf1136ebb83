/*
 * Aim: killed at any write or sync between the question and the end of the run, what was agreed to
 * is carried out at most once, what was acknowledged is not asked again, and the run ends.
 * Method: store_death.h.
 */
#include "actors/store/consent_priv.h"
#include "actors/store/runs_priv.h"
#include "store_death.h"

struct heard
{
    uint64_t seq; /* of the accepted message */
    uint32_t parked, pressed, fresh, late, ended;
    char data[SMA_CARD_DATA_BYTES_MAX + 1];
};

static struct world w;
static struct heard *heard;

/* Everything that came for the agent. @return the run that is open now */
static uint64_t hear_runs(uint64_t open)
{
    struct sma_msg *msg;
    while ((msg = next_run(&w)) != NULL) {
        const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
        bool has_decision =
            order->step_count > 0 && order->steps[order->step_count - 1].kind == SMA_STEP_DECISION;
        if (order->is_decided) {
            CHECK(has_decision);
            heard->fresh++;
        } else if (has_decision) {
            heard->late++;
        }
        CHECK(open == 0);
        open = order->seq;
        sma_msg_destroy(msg);
    }
    return open;
}

static void say_first(void)
{
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "a", .id = "1", .text = "do it", .user = "boss"});
    run(&w);
    struct sma_accepted answer = accepted(&w.test);
    CHECK(answer.verdict == SMA_VERDICT_ACCEPTED || answer.verdict == SMA_VERDICT_DUPLICATE);
    heard->seq = answer.seq;
}

static void press_once(const char *event)
{
    if (w.store->consent->first != NULL)
        snprintf(heard->data, sizeof heard->data, "%s",
                 button(&w, open_id(&w), 0, SMA_CARD_APPROVE));
    const char *notice = press(&w, "a", "boss", event, heard->data);
    CHECK(strcmp(notice, "Approved.") == 0 || strstr(notice, "Already") == notice);
    heard->pressed++;
}

static void end_run(uint64_t seq)
{
    done(&w, seq, "done", NULL, 0);
    expect_durable(&w, SMA_MSG_DONE_DONE);
    heard->ended++;
}

static void play(void)
{
    open_world(&w);
    say_first();
    CHECK(hear_runs(0) == heard->seq);
    park_step(&w, heard->seq, 1, one_command, 1);
    run(&w);
    CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    heard->parked++;
    struct sma_card card;
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, CHAT_A, &card);
    sma_card_fini(&card);
    press_once("p1");
    CHECK(hear_runs(0) == heard->seq);
    take_card(&w, SMA_INTENT_APPROVAL_OUTCOME, CHAT_A, &card);
    sma_card_fini(&card);
    end_run(heard->seq);
    stop_world(&w);
    close_system(&w);
}

/* The next life: whatever is left is played to the end. */
static void play_to_the_end(void)
{
    open_world(&w);
    uint64_t open = hear_runs(0);
    say_first(); /* the platform delivers again */
    open = hear_runs(open);
    if (open != 0 && heard->fresh + heard->late == 0) { /* not parked yet */
        CHECK_INT(0, heard->parked);
        park_step(&w, open, 1, one_command, 1);
        run(&w);
        CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
        open = 0;
    }
    if (w.store->consent->count > 0) {
        CHECK_INT(0, heard->pressed); /* what was acknowledged is not asked again */
        press_once("p2");
        open = hear_runs(open);
    }
    if (open != 0)
        end_run(open);
    CHECK(heard->fresh <= 1 && heard->ended <= 2);
    CHECK(heard->fresh + heard->late >= 1);
    CHECK_INT(0, w.store->consent->count);
    CHECK_INT(0, w.store->runs->open_count);
    struct sma_state_head head;
    CHECK_OK(sma_state_head_get(w.store->state, heard->seq, &head));
    CHECK_INT(SMA_ROW_DONE, head.state);
    sma_state_vfs_set_hook(NULL);
    end_world(&w);
}

static void take_memory(void *memory)
{
    heard = memory;
}

static void check_alive(void)
{
    CHECK(heard->fresh == 1 && heard->late == 0 && heard->ended == 1);
}

static void configure(void)
{
    w.config.permissions_json = PEOPLE;
    w.config.approvals_expire_s = 3600;
}

int main(int argc, char **argv)
{
    static const struct store_death story = {.world = &w,
                                             .take = take_memory,
                                             .memory_bytes = sizeof *heard,
                                             .configure = configure,
                                             .play = play,
                                             .play_to_the_end = play_to_the_end,
                                             .check_alive = check_alive};
    return die_everywhere(argc, argv, &story);
}
