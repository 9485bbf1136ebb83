/*
 * test_store_behind.c — who waits for a message that stands behind a question of its chat is told
 * so, at once or when the question comes; who does not want to know waits on.
 */
#include "approval_support.h"

static struct world w;

static void ask_result(uint64_t seq, bool ends_at_question, bool is_peek)
{
    struct sma_msg *msg = sma_msg_make_await(
        &(struct sma_await){.seq = seq, .ends_at_question = ends_at_question, .is_peek = is_peek});
    CHECK_OK(sma_ctx_ask(sma_system_ctx(w.system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
    run(&w);
}

static int state_told(const char *pending)
{
    struct sma_msg *msg = take(&w.api, SMA_MSG_RESULT);
    if (msg == NULL)
        return -1;
    const struct sma_result *result = SMA_MSG_BODY(msg, struct sma_result);
    int state = result->state;
    CHECK((pending == NULL) == (result->pending_json.len == 0));
    CHECK(pending == NULL || strstr(result->pending_json.ptr, pending) != NULL);
    CHECK(state != SMA_RUN_WAITING || !result->is_success);
    sma_msg_destroy(msg);
    return state;
}

static uint64_t say_and_see(const char *id)
{
    say(&w, "a", id, "and then");
    run(&w);
    return accepted(&w.test).seq;
}

AFTER_EACH(end_world(&w))

CASE(it_is_told_at_once_when_the_question_is_there)
{
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    uint64_t behind = say_and_see("2");
    ask_result(behind, true, false);
    CHECK_INT(SMA_RUN_WAITING, state_told("\"description\":\"git push\""));
    ask_result(behind, true, true);
    CHECK_INT(SMA_RUN_WAITING, state_told("git push"));
    ask_result(behind, false, true);
    CHECK_INT(SMA_RUN_WAITING, state_told(NULL));
    ask_result(behind, false, false);
    CHECK_INT(-1, state_told(NULL)); /* waits on */
    CHECK_INT(200, decide_all(&w, open_id(&w), true));
    CHECK_INT(-1, state_told(NULL));
    ask_result(behind, true, false);
    CHECK_INT(-1, state_told(NULL)); /* nothing is asked any more */
    CHECK(run_seq(&w) == seq);
    done(&w, seq, "pushed", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) == behind);
    done(&w, behind, "and then", NULL, 0);
    run(&w);
    CHECK_INT(SMA_RUN_DONE, state_told(NULL));
    CHECK_INT(SMA_RUN_DONE, state_told(NULL));
}

CASE(it_is_told_when_the_question_comes)
{
    open_people(&w);
    uint64_t seq = say_and_see("1"), behind = say_and_see("2");
    CHECK(run_seq(&w) == seq);
    ask_result(behind, true, false);
    ask_result(behind, false, false);
    CHECK_INT(-1, state_told(NULL));
    park_step(&w, seq, 1, one_command, 1);
    run(&w);
    CHECK_INT(SMA_RUN_WAITING, state_told("git push"));
    CHECK_INT(-1, state_told(NULL)); /* the other one waits on */
    command(&w, "a", "3", SMA_CONTROL_STOP);
    run(&w);
    CHECK_INT(SMA_RUN_CANCELLED, state_told(NULL));
}

CASE(other_chats_are_not_concerned)
{
    open_people(&w);
    (void)park(&w, "a", "1", one_command, 1);
    say(&w, "b", "2", "takes the slot");
    run(&w);
    CHECK(run_seq(&w) != 0);
    say(&w, "b", "3", "behind it");
    run(&w);
    (void)accepted(&w.test);
    uint64_t behind = accepted(&w.test).seq;
    ask_result(behind, true, false);
    CHECK_INT(-1, state_told(NULL));
}

int main(void)
{
    check_run_cases(NULL);
    return 0;
}
