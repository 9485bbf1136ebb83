/*
 * Aim: words that only look like an answer are read by the agent and lost by nobody; in groups the
 * platform is asked who administers; lasting permissions hold as long as they say, and no longer.
 * Method: as test_store_approval; the test speaks for the model too.
 */
#include "approval_support.h"

#include "actors/store/consent_priv.h"
#include "actors/store/runs_priv.h"
#include "runtime/chat/state_vfs.h"

static struct world w;

/* -- the model as judge ------------------------------------------------------------------------ */
static uint64_t judged_seq(char id[64])
{
    struct sma_msg *msg = take(&w.agent, SMA_MSG_JUDGE);
    if (msg == NULL)
        return 0;
    const struct sma_judge *judge = SMA_MSG_BODY(msg, struct sma_judge);
    uint64_t seq = judge->seq;
    struct sma_request request;
    CHECK_OK(sma_request_parse(judge->request_json, &request));
    sma_request_fini(&request);
    CHECK_STR("yes, but only on the test branch please", judge->text);
    snprintf(id, 64, "%.*s", (int)judge->approval_id.len, judge->approval_id.ptr);
    sma_msg_destroy(msg);
    return seq;
}

static int say_judged(uint64_t seq, const char *id, bool agrees, uint64_t refused)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_JUDGED, struct sma_judged, 256);
    struct sma_judged *judged = SMA_MSG_BODY(msg, struct sma_judged);
    judged->seq = seq;
    judged->approval_id = sma_msg_dup(msg, sma_str(id));
    judged->seems_to_agree = agrees;
    judged->refused_mask = refused;
    judged->response = sma_msg_dup(msg, SMA_STR("I suppose"));
    ask_as_agent(&w, msg);
    run(&w);
    return verdict(&w, SMA_MSG_JUDGED_DONE);
}

static uint64_t park_and_mumble(char id[64], uint64_t *ret_seq)
{
    open_people(&w);
    *ret_seq =
        park_in(&w, &(struct saying){.chat = "a", .id = "1", .text = "do it", .user = "boss"},
                one_command, 1);
    struct sma_card card;
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, CHAT_A, &card);
    sma_card_fini(&card);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "a",
                                  .id = "2",
                                  .text = "yes, but only on the test branch please",
                                  .user = "boss"});
    expect_accepted(&w);
    uint64_t message = judged_seq(id);
    CHECK(message != 0 && w.store->consent->first->judged_count == 1);
    CHECK_TEXT(id, open_id(&w));
    return message;
}

AFTER_EACH(end_world(&w))

CASE(the_model_reads_a_refusal)
{
    char id[64];
    uint64_t seq, message = park_and_mumble(id, &seq);
    pass(&w, 10000); /* the clock stands */
    CHECK_INT(1, w.store->consent->count);
    CHECK_INT(SMA_STEP_STOPPED, say_judged(message + 7, id, false, 1));
    CHECK_INT(SMA_STEP_DURABLE, say_judged(message, id, false, 1));
    CHECK_TEXT("0:no:refused by Ann: I suppose;", resumed(&w, seq));
    CHECK_INT(SMA_STEP_STOPPED, say_judged(message, id, false, 1)); /* asked again */
    done(&w, seq, "", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) == 0); /* the answer is no message to the agent */
}

/* However sure the model is that somebody has agreed: he is asked to say it in words that need no
 * reading. */
CASE(the_model_cannot_agree)
{
    char id[64];
    uint64_t seq, message = park_and_mumble(id, &seq);
    CHECK_INT(SMA_STEP_DURABLE, say_judged(message, id, true, 0));
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_INT(1, w.store->consent->count);
    CHECK(strstr(next_delivery(&w), "reply to that message with yes or no") != NULL);
    crash_world(&w);
    show_all(&w);
    CHECK(judged_seq(id) == 0);
    CHECK_TEXT("no run", resumed(&w, seq));
    (void)say_as(&w, TEST, &(struct saying){.chat = "a", .id = "3", .text = "yes", .user = "boss"});
    run(&w);
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    done(&w, seq, "", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) == message); /* it decided nothing: an ordinary message */
}

CASE(the_model_finds_no_answer)
{
    char id[64];
    uint64_t seq, message = park_and_mumble(id, &seq);
    CHECK_INT(SMA_STEP_DURABLE, say_judged(message, id, false, 0));
    CHECK(strstr(next_delivery(&w), "git push") != NULL); /* reminded */
    CHECK_INT(0, w.store->consent->first->judged_count);
    crash_world(&w);
    CHECK(judged_seq(id) == 0);
    CHECK_INT(200, decide_all(&w, open_id(&w), true));
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    done(&w, seq, "", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) == message);
}

CASE(somebody_else_is_faster_than_the_model)
{
    char id[64];
    uint64_t seq, message = park_and_mumble(id, &seq);
    CHECK_INT(200, decide_all(&w, id, false));
    CHECK_TEXT("0:no:refused by root;", resumed(&w, seq));
    CHECK_INT(SMA_STEP_DURABLE, say_judged(message, id, false, 1));
    done(&w, seq, "", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) == message); /* it decided nothing: an ordinary message */
}

CASE(a_crash_asks_the_model_again)
{
    char id[64];
    uint64_t seq, message = park_and_mumble(id, &seq);
    crash_world(&w);
    CHECK(judged_seq(id) == message);
    CHECK_INT(SMA_STEP_DURABLE, say_judged(message, id, false, 1));
    CHECK_TEXT("0:no:refused by Ann: I suppose;", resumed(&w, seq));
}

CASE(stop_ends_a_judgement)
{
    char id[64];
    uint64_t seq, message = park_and_mumble(id, &seq);
    command(&w, "a", "3", SMA_CONTROL_STOP);
    run(&w);
    CHECK_INT(SMA_STEP_STOPPED, say_judged(message, id, false, 1));
    CHECK(run_seq(&w) == 0);
    CHECK_INT(0, w.store->consent->judgement_count);
}

static bool is_full;
static enum sma_state_vfs_action fail_when_full(enum sma_state_vfs_role role,
                                                enum sma_state_vfs_call call, bool is_wal)
{
    (void)role;
    return is_full && is_wal && call == SMA_STATE_VFS_WRITE ? SMA_STATE_VFS_FAIL_FULL
                                                            : SMA_STATE_VFS_PASS;
}

CASE(a_judgement_that_cannot_be_stored_comes_again)
{
    char id[64];
    sma_state_vfs_set_hook(fail_when_full);
    uint64_t seq, message = park_and_mumble(id, &seq);
    is_full = true;
    CHECK_INT(SMA_STEP_NO_DISK, say_judged(message, id, false, 1));
    is_full = false;
    run_for(&w, 3 * SECOND);
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_INT(1, w.store->consent->judgement_count);
    CHECK_INT(SMA_STEP_DURABLE, say_judged(message, id, false, 1));
    CHECK_TEXT("0:no:refused by Ann: I suppose;", resumed(&w, seq));
    sma_state_vfs_set_hook(NULL);
}

/* -- groups ------------------------------------------------------------------------------------ */
#define GROUP(who, how, ...)                            \
    (&(struct saying){.chat = "g",                      \
                      .user = (who),                    \
                      .addressed = SMA_ADDRESSED_##how, \
                      .is_group = true,                 \
                      __VA_ARGS__})

static uint64_t park_in_group(void)
{
    open_people(&w);
    uint64_t seq =
        park_in(&w, GROUP("u1", MENTION, .role = SMA_ROLE_MEMBER, .id = "1", .text = "do it"),
                one_command, 1);
    show_all(&w);
    return seq;
}

CASE(the_platform_is_asked_who_pressed)
{
    uint64_t seq = park_in_group();
    char id[64], data[SMA_CARD_DATA_BYTES_MAX + 1];
    snprintf(id, sizeof id, "%s", open_id(&w));
    snprintf(data, sizeof data, "%s", button(&w, id, 0, SMA_CARD_APPROVE));
    CHECK_TEXT("Got it.", press_as(&w, GROUP("u2", NONE, .id = "p1", .text = data)));
    CHECK(prepare(&w, SMA_ROLE_MEMBER, "") != 0);
    run(&w);
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK(strstr(press_as(&w, GROUP("u2", NONE, .id = "p2", .text = data)), "administrator") !=
          NULL); /* known now */
    CHECK_TEXT("Got it.", press_as(&w, GROUP("u3", NONE, .id = "p3", .text = data)));
    crash_world(&w); /* the press is kept */
    CHECK(prepare(&w, SMA_ROLE_ADMIN, "") != 0);
    run(&w);
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
}

static const struct item one_owner_item[] = {
    {"exec_shell", "cp a Makefile", "=cp a Makefile", false, true}};

/* What the agent is and may do is changed with the word of an owner, who is asked at home too. */
CASE(only_an_owner_decides_what_is_an_owners)
{
    struct sma_card card;
    open_people(&w);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "home", .id = "0", .text = "hi", .user = "boss"});
    run(&w);
    done(&w, run_seq(&w), "hello", NULL, 0);
    run(&w);
    drop_kept(&w.test);
    uint64_t seq =
        park_in(&w, GROUP("u1", MENTION, .role = SMA_ROLE_MEMBER, .id = "1", .text = "do it"),
                one_owner_item, 1);
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, "test:chat:g", &card);
    CHECK(memmem(card.text.ptr, card.text.len, "Only an owner can approve", 25) != NULL);
    CHECK_INT(2, card.button_count); /* none that lasts */
    sma_card_fini(&card);
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, "test:chat:home", &card);
    CHECK_INT(2, card.button_count);
    sma_card_fini(&card);
    char data[SMA_CARD_DATA_BYTES_MAX + 1], lasting[SMA_CARD_DATA_BYTES_MAX + 1];
    snprintf(data, sizeof data, "%s", button(&w, open_id(&w), 0, SMA_CARD_APPROVE));
    snprintf(lasting, sizeof lasting, "%s", button(&w, open_id(&w), 0, SMA_CARD_ALWAYS));
    CHECK(strstr(press_as(&w, GROUP("adm", NONE, .id = "p1", .text = data)), "owner") != NULL);
    CHECK_TEXT("Got it.", press_as(&w, GROUP("u2", NONE, .id = "p2", .text = data)));
    CHECK(prepare(&w, SMA_ROLE_ADMIN, "") != 0); /* nor the platform's administrator */
    run(&w);
    CHECK(strstr(press_as(&w, GROUP("adm", NONE, .id = "p3", .text = lasting)), "owner") != NULL);
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK(strstr(press(&w, "home", "boss", "p4", lasting), "Approved.") != NULL);
    CHECK(strstr(query(&w, SMA_QUERY_GRANTS, ""), "Makefile") == NULL); /* once only */
    CHECK(resumed_by_owner(&w, seq));
}

CASE(the_run_is_told_whether_an_owner_agreed)
{
    static const char *const who[] = {"adm", "boss"};
    for (size_t i = 0; i < 2; i++) {
        uint64_t seq = park_in_group();
        char data[SMA_CARD_DATA_BYTES_MAX + 1];
        snprintf(data, sizeof data, "%s", button(&w, open_id(&w), 0, SMA_CARD_APPROVE));
        CHECK_TEXT("Approved.", press_as(&w, GROUP(who[i], NONE, .id = "p1", .text = data)));
        CHECK_INT(i == 1, resumed_by_owner(&w, seq));
        end_world(&w);
    }
}

CASE(the_platform_is_asked_who_said_it)
{
    uint64_t seq = park_in_group();
    (void)say_as(&w, TEST, GROUP("u2", NONE, .id = "2", .text = "yes", .reply_to = CARD));
    (void)say_as(&w, TEST, GROUP("u3", MENTION, .id = "3", .text = "yes", .reply_to = CARD));
    (void)say_as(&w, TEST, GROUP("u4", NONE, .id = "4", .text = "what a day, yes it is"));
    expect_accepted(&w);
    CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&w.test).verdict);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&w.test).verdict);
    uint64_t second = prepare(&w, SMA_ROLE_MEMBER, "");
    run(&w);
    CHECK_TEXT("no run", resumed(&w, seq));
    struct sma_state_head head;
    /* An answer to a message of the bot speaks to it, so who may not decide is told so. */
    CHECK_OK(sma_state_head_get(w.store->state, second, &head));
    CHECK_INT(SMA_ROW_BUSY, head.state);
    CHECK(prepare(&w, SMA_ROLE_ADMIN, "") > second);
    run(&w);
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    done(&w, seq, "", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) == 0);
}

/* A member's request is shown in a group that is not let in: who made the group decides nothing,
 * and the platform is not asked about him. */
CASE(whoever_made_a_strange_group_decides_nothing)
{
#define STRANGE(who, how, ...)                          \
    (&(struct saying){.chat = "strange",                \
                      .user = (who),                    \
                      .addressed = SMA_ADDRESSED_##how, \
                      .is_group = true,                 \
                      __VA_ARGS__})
    open_people(&w);
    uint64_t seq = park_in(&w, STRANGE("u1", MENTION, .id = "1", .text = "do it"), one_command, 1);
    show_all(&w);
    char data[SMA_CARD_DATA_BYTES_MAX + 1];
    snprintf(data, sizeof data, "%s", button(&w, open_id(&w), 0, SMA_CARD_APPROVE));
    const struct saying press_before = *STRANGE("eve", NONE, .id = "p1", .text = data);
    const struct saying press_known =
        *STRANGE("eve", NONE, .id = "p2", .text = data, .role = SMA_ROLE_ADMIN);
    CHECK(strstr(press_as(&w, &press_before), "administrator") != NULL);
    CHECK(strstr(press_as(&w, &press_known), "administrator") != NULL);
    (void)say_as(&w, TEST, STRANGE("eve", REPLY, .id = "2", .text = "yes", .role = SMA_ROLE_ADMIN));
    (void)say_as(&w, TEST, STRANGE("u2", REPLY, .id = "3", .text = "yes", .role = SMA_ROLE_ADMIN));
    run(&w);
    CHECK_INT(0, (int)count_kept(&w.test, SMA_MSG_PREPARE));
    CHECK_INT(1, w.store->consent->count);
    CHECK_TEXT("no run", resumed(&w, seq));
    drop_kept(&w.test);
    /* an owner lets the group in by speaking there; then its administrators are such */
    (void)say_as(&w, TEST, STRANGE("boss", MENTION, .id = "4", .text = "what goes on here"));
    run(&w);
    drop_kept(&w.test);
    const struct saying press_after = *STRANGE("eve", NONE, .id = "p3", .text = data);
    CHECK(strstr(press_as(&w, &press_after), "pproved") != NULL);
    CHECK_INT(0, w.store->consent->count);
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    end_world(&w);
#undef STRANGE
}

/* While the platform is asked who said "yes", the request goes, and another one comes that its
 * author has not seen. */
CASE(a_word_means_what_was_asked_before_it)
{
    uint64_t seq = park_in_group();
    (void)say_as(&w, TEST, GROUP("u2", NONE, .id = "2", .text = "yes", .reply_to = CARD));
    expect_accepted(&w);
    CHECK_INT(200, decide_all(&w, open_id(&w), false));
    CHECK_TEXT("0:no:refused by root;", resumed(&w, seq));
    park_step(&w, seq, 3, one_command, 1);
    run(&w);
    CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    show_all(&w);
    CHECK(prepare(&w, SMA_ROLE_ADMIN, "") != 0);
    run(&w);
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_INT(1, w.store->consent->count);
    (void)say_as(
        &w, TEST,
        GROUP("u2", MENTION, .id = "3", .text = "yes", .role = SMA_ROLE_ADMIN, .reply_to = CARD));
    run(&w);
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
}

CASE(an_administrator_of_the_group_decides_by_word)
{
    uint64_t seq = park_in_group();
    (void)say_as(&w, TEST,
                 GROUP("u9", NONE, .id = "2", .text = "no, because of the noise",
                       .role = SMA_ROLE_ADMIN, .reply_to = "r40"));
    run(&w);
    CHECK(strstr(resumed(&w, seq), "0:no:refused by Ann") != NULL);
}

CASE(an_ok_among_people_is_no_consent)
{
    uint64_t seq = park_in_group();
    (void)say_as(&w, TEST, GROUP("adm", NONE, .id = "2", .text = "yes"));
    run(&w);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&w.test).verdict);
    CHECK(strstr(next_delivery(&w), "reply to that message with yes or no") != NULL);
    (void)say_as(&w, TEST, GROUP("adm", NONE, .id = "3", .text = "yes", .reply_to = "x9"));
    (void)say_as(&w, TEST, GROUP("adm", REPLY, .id = "4", .text = "yes", .reply_to = "m0"));
    (void)say_as(&w, TEST, GROUP("adm", MENTION, .id = "5", .text = "yes"));
    (void)say_as(&w, TEST, GROUP("adm", MENTION, .id = "6", .text = "yes", .reply_to = "?"));
    run(&w);
    CHECK_TEXT("no run", resumed(&w, seq));
    crash_world(&w);
    CHECK_INT(1, w.store->consent->count);
    (void)say_as(&w, TEST, GROUP("adm", REPLY, .id = "7", .text = "yes", .reply_to = CARD));
    run(&w);
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
}

/* Among people a "no" may be about lunch; said to us it is about what we have asked, and refuses
 * nothing else. */
CASE(a_no_refuses_when_it_is_said_to_us)
{
    uint64_t seq = park_in_group();
    (void)say_as(&w, TEST, GROUP("adm", NONE, .id = "2", .text = "no"));
    (void)say_as(&w, TEST, GROUP("adm", MENTION, .id = "3", .text = "no", .reply_to = "x9"));
    run(&w);
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_INT(1, w.store->consent->count);
    (void)say_as(&w, TEST, GROUP("adm", MENTION, .id = "4", .text = "no"));
    run(&w);
    CHECK(strstr(resumed(&w, seq), "0:no:refused by Ann") != NULL);
}

/* The platform has to be asked who wrote /stop: what it answers carries the command out, which ends
 * the parked run. */
CASE(stop_of_an_administrator_who_had_to_be_asked_about)
{
    uint64_t seq = park_in_group();
    (void)say_as(&w, TEST,
                 GROUP("eve", MENTION, .id = "2", .text = "/stop", .kind = SMA_EVENT_CONTROL,
                       .control = SMA_CONTROL_STOP));
    run(&w);
    CHECK_INT(1, w.store->consent->count);
    CHECK(prepare(&w, SMA_ROLE_ADMIN, "") != 0);
    run(&w);
    CHECK_INT(0, w.store->consent->count);
    struct sma_state_head head;
    CHECK_OK(sma_state_head_get(w.store->state, seq, &head));
    CHECK_INT(SMA_ROW_CANCELLED, head.state);
    struct sma_card card; /* its buttons go, and Eve hears that it is done */
    take_card(&w, SMA_INTENT_APPROVAL_OUTCOME, "test:chat:g", &card);
    sma_card_fini(&card);
    CHECK_TEXT("Stopped.", next_delivery(&w));
}

/* -- standing and grants ----------------------------------------------------------------------- */
static unsigned next_standing(void)
{
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    unsigned standing = order->standing;
    uint64_t seq = order->seq;
    sma_msg_destroy(msg);
    done(&w, seq, "", NULL, 0);
    run(&w);
    return standing;
}

CASE(a_run_knows_for_whom_it_is)
{
    open_people(&w);
    static const struct
    {
        const char *user;
        unsigned standing;
    } people[] = {
        {"boss", SMA_STANDING_OWNER}, {"adm", SMA_STANDING_ADMIN}, {"u1", SMA_STANDING_MEMBER}};
    for (size_t i = 0; i < SMA_COUNT_OF(people); i++) {
        char id[8];
        snprintf(id, sizeof id, "s%zu", i);
        (void)say_as(&w, TEST,
                     &(struct saying){.chat = "a", .id = id, .text = "x", .user = people[i].user});
        run(&w);
        CHECK_INT(people[i].standing, next_standing());
    }
    (void)say_as(&w, API, &(struct saying){.chat = "desk", .id = "1", .text = "x"});
    run(&w);
    CHECK_INT(SMA_STANDING_OWNER, next_standing());
    /* An administrator of the group, and still so after a crash. */
    (void)say_as(&w, TEST, GROUP("u7", MENTION, .id = "2", .text = "x", .role = SMA_ROLE_ADMIN));
    run(&w);
    CHECK(run_seq(&w) != 0);
    crash_world(&w);
    CHECK_INT(SMA_STANDING_ADMIN, next_standing());
}

/* A run that answers these two together asks for what anybody may agree to who asked for it.
 * @return what he hears */
static const char *press_of_collected(const char *first_user, const char *second_user,
                                      const char *presser)
{
    make_world(&w);
    w.config.permissions_json = PEOPLE;
    w.config.queue_mode = SMA_QUEUE_COLLECT;
    open_world(&w);
    say(&w, "b", "0", "takes the slot");
    run(&w);
    uint64_t blocker = run_seq(&w);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "a", .id = "1", .text = "send it", .user = first_user});
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "a", .id = "2", .text = "hello", .user = second_user});
    run(&w);
    done(&w, blocker, "", NULL, 0);
    run(&w);
    uint64_t seq = run_seq(&w);
    CHECK(seq != 0);
    park_step(&w, seq, 1, one_send, 1);
    run(&w);
    crash_world(&w); /* its messages stay with it */
    const char *heard = press(&w, "a", presser, "p", button(&w, open_id(&w), 0, SMA_CARD_APPROVE));
    end_world(&w);
    return heard;
}

/* Who spoke last had agreed to what another person asked for. */
CASE(nobody_agrees_to_what_another_asked_for)
{
    CHECK_TEXT("Approved.", press_of_collected("u1", "u1", "u1"));
    CHECK_TEXT("Approved.", press_of_collected("u1", "u2", "boss"));
    CHECK(strstr(press_of_collected("u1", "u2", "u2"), "Approved") == NULL);
    CHECK(strstr(press_of_collected("u1", "u2", "u1"), "Approved") == NULL);
}

CASE(collected_messages_have_the_least_standing)
{
    make_world(&w);
    w.config.permissions_json = PEOPLE;
    w.config.queue_mode = SMA_QUEUE_COLLECT;
    open_world(&w);
    say(&w, "b", "0", "takes the slot");
    run(&w);
    uint64_t first = run_seq(&w);
    (void)say_as(&w, TEST, &(struct saying){.chat = "a", .id = "1", .text = "x", .user = "u1"});
    (void)say_as(&w, TEST, &(struct saying){.chat = "a", .id = "2", .text = "y", .user = "boss"});
    run(&w);
    done(&w, first, "", NULL, 0);
    run(&w);
    struct sma_msg *msg = next_run(&w);
    CHECK_INT(1, SMA_MSG_BODY(msg, struct sma_run_order)->collected_count);
    CHECK_INT(SMA_STANDING_MEMBER, SMA_MSG_BODY(msg, struct sma_run_order)->standing);
    uint64_t seq = SMA_MSG_BODY(msg, struct sma_run_order)->seq;
    sma_msg_destroy(msg);
    park_step(&w, seq, 1, one_command, 1);
    run(&w);
    CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    for (int i = 0; i < 2; i++) { /* what it answers stays with it, in memory and on disk */
        if (i == 1)
            crash_world(&w);
        struct sma_state_head head;
        CHECK_OK(sma_state_head_get(w.store->state, seq - 1, &head));
        CHECK_INT(SMA_ROW_PARKED, head.state);
        CHECK_INT(1, sma_store_count_collected(w.store, seq));
    }
    CHECK_INT(200, decide_all(&w, open_id(&w), true));
    msg = next_run(&w);
    CHECK_INT(1, SMA_MSG_BODY(msg, struct sma_run_order)->collected_count);
    sma_msg_destroy(msg);
    done(&w, seq, "", NULL, 0);
    run(&w);
    struct sma_state_head head;
    CHECK_OK(sma_state_head_get(w.store->state, seq - 1, &head));
    CHECK_INT(SMA_ROW_DONE, head.state);
}

static void grant_in(const char *chat, enum sma_card_action action)
{
    uint64_t seq = park(&w, chat, "g1", one_command, 1);
    drop_kept(&w.test);
    CHECK_TEXT("Approved.", press(&w, chat, "boss", "gp", button(&w, open_id(&w), 0, action)));
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    done(&w, seq, "", NULL, 0);
    run(&w);
}

/* The tool gives ten minutes; whoever sets the clock back an hour gives no hour. */
CASE(a_permission_does_not_outlive_a_clock_set_back)
{
    char rule[64];
    open_people(&w);
    grant_in("a", SMA_CARD_TEN_MINUTES);
    CHECK_INT(1, count_grants(&w, "a", "2", rule));
    sma_sim_shift_wall(w.system, -3600 * 1000);
    CHECK_INT(0, count_grants(&w, "a", "3", rule));
    CHECK_INT(0, count_of(query(&w, SMA_QUERY_GRANTS, ""), "\"rule\""));
    sma_sim_shift_wall(w.system, 3600 * 1000);
    CHECK_INT(1, count_grants(&w, "a", "4", rule));
}

CASE(a_permission_for_ten_minutes_ends)
{
    char rule[64];
    open_people(&w);
    grant_in("a", SMA_CARD_TEN_MINUTES);
    CHECK_INT(1, count_grants(&w, "a", "2", rule));
    CHECK_TEXT("exec_shell =git push", rule);
    CHECK_INT(0, count_grants(&w, "b", "3", rule)); /* of this chat alone */
    CHECK_INT(1, count_of(query(&w, SMA_QUERY_GRANTS, ""), "\"rule\":\"=git push\""));
    CHECK_INT(0, count_of(query(&w, SMA_QUERY_GRANTS, "test:chat:b"), "\"rule\""));
    crash_world(&w);
    CHECK_INT(1, count_grants(&w, "a", "4", rule));
    pass(&w, 601);
    CHECK_INT(0, count_grants(&w, "a", "5", rule));
    CHECK_INT(0, count_of(query(&w, SMA_QUERY_GRANTS, ""), "\"rule\""));
}

/* What an administrator agrees to for longer holds in the chat it was asked in, for that rule: not
 * in his own, nor anywhere. */
CASE(an_administrators_permission_ends_at_the_chat)
{
    char rule[64];
    open_people(&w);
    uint64_t seq = park(&w, "a", "g1", one_command, 1);
    drop_kept(&w.test);
    CHECK_TEXT("Approved.",
               press(&w, "a", "adm", "gp", button(&w, open_id(&w), 0, SMA_CARD_ALWAYS)));
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    done(&w, seq, "", NULL, 0);
    run(&w);
    CHECK_INT(1, count_grants(&w, "a", "2", rule));
    CHECK_TEXT("exec_shell =git push", rule);
    CHECK_INT(0, count_grants(&w, "b", "3", rule));
    CHECK_INT(0, count_grants(&w, "adm", "4", rule));
    CHECK_INT(1, count_of(query(&w, SMA_QUERY_GRANTS, ""), "\"rule\""));
    CHECK_INT(1, count_of(query(&w, SMA_QUERY_GRANTS, CHAT_A), "\"rule\""));
}

CASE(a_permission_is_revoked)
{
    char rule[64], text[512], id[64];
    open_people(&w);
    grant_in("a", SMA_CARD_ALWAYS);
    pass(&w, 100000);
    CHECK_INT(1, count_grants(&w, "a", "2", rule));
    const char *json = query(&w, SMA_QUERY_GRANTS, "");
    CHECK(strstr(json, "\"until\":null") != NULL);
    snprintf(id, sizeof id, "%.32s", strstr(json, "\"id\":\"") + 6);
    CHECK_INT(
        404,
        decide(&w, &(struct sma_decide){.kind = SMA_DECIDE_REVOKE, .id = SMA_STR("ffffff")}, text));
    CHECK_INT(200,
              decide(&w, &(struct sma_decide){.kind = SMA_DECIDE_REVOKE, .id = {id, 10}}, text));
    CHECK_INT(0, count_grants(&w, "a", "3", rule));
    crash_world(&w);
    CHECK_INT(0, count_grants(&w, "a", "4", rule));
}

CASE(any_length_of_a_permission_is_borne)
{
    static const struct
    {
        int64_t length_s;
        unsigned count;
    } lengths[] = {{INT64_MAX, 1}, {INT64_MIN, 0}, {-2, 0}, {1, 1}};
    for (size_t i = 0; i < SMA_COUNT_OF(lengths); i++) {
        char rule[64];
        open_people(&w);
        uint64_t seq = park(&w, "a", "1", one_command, 1);
        CHECK_INT(200, decide(&w,
                              &(struct sma_decide){.id = sma_str(open_id(&w)),
                                                   .is_approved = true,
                                                   .grant_s = lengths[i].length_s},
                              NULL));
        CHECK_TEXT("0:yes:;", resumed(&w, seq));
        done(&w, seq, "", NULL, 0);
        CHECK_INT(lengths[i].count, count_grants(&w, "a", "2", rule));
        end_world(&w);
    }
}

CASE(a_permission_follows_its_chat)
{
    char rule[64];
    open_people(&w);
    grant_in("old", SMA_CARD_ALWAYS);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "new",
                                  .id = "n",
                                  .text = "",
                                  .kind = SMA_EVENT_NOTE,
                                  .migrated_from = "test:chat:old"});
    run(&w);
    CHECK_INT(1, count_grants(&w, "new", "2", rule));
}

CASE(what_cannot_be_granted_is_agreed_to_once)
{
    static const struct item shell[] = {{"exec_shell", "bash", NULL, false, false}};
    char rule[64];
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", shell, 1);
    const char *said = press(&w, "a", "boss", "p", button(&w, open_id(&w), 0, SMA_CARD_ALWAYS));
    CHECK(strstr(said, "Approved.") == said && strstr(said, "This once") != NULL);
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    done(&w, seq, "", NULL, 0);
    run(&w);
    /* Words may name a rule; one that lets a shell run anything is none. */
    seq = park_in(&w, &(struct saying){.chat = "a", .id = "2", .text = "do it", .user = "boss"},
                  shell, 1);
    show_all(&w);
    (void)say_as(
        &w, TEST,
        &(struct saying){
            .chat = "a", .id = "3", .text = "allow `bash` for 10 minutes", .user = "boss"});
    run(&w);
    CHECK_INT(0, count_of(query(&w, SMA_QUERY_GRANTS, ""), "\"rule\""));
    if (w.store->consent->count > 0)
        CHECK_INT(200, decide_all(&w, open_id(&w), true));
    drop_kept(&w.agent);
    done(&w, seq, "", NULL, 0);
    run(&w);
    drop_kept(&w.agent);
    CHECK_INT(0, count_grants(&w, "a", "4", rule));
}

CASE(the_oldest_permission_goes_at_the_bound)
{
    char rule[64];
    open_people(&w);
    say(&w, "a", "1", "x");
    run(&w);
    done(&w, run_seq(&w), "", NULL, 0);
    run(&w);
    struct store_chat *chat = w.store->chats.first;
    CHECK_OK(sma_store_begin(w.store));
    for (int i = 0; i < SMA_GRANT_COUNT_MAX + 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "=tool %d", i);
        CHECK_OK(sma_store_add_grant(w.store,
                                     &(struct store_grant_facts){.chat = chat,
                                                                 .tool = SMA_STR("exec_shell"),
                                                                 .rule = sma_str(name),
                                                                 .length_s = SMA_GRANT_ALWAYS}));
    }
    CHECK_OK(sma_state_commit(w.store->state));
    CHECK_INT(SMA_GRANT_COUNT_MAX, count_grants(&w, "a", "2", rule));
    CHECK_TEXT("exec_shell =tool 2", rule);
}

CASES_MAIN
