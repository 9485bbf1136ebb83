/*
 * Aim: a run that needs consent is parked on disk, the right person decides once, and the run goes
 * on with what was said.
 * Method: the store actor between actors that keep what they get; the test speaks for people, agent
 * and dispatcher.
 */
#include "approval_support.h"

#include "actors/store/consent_priv.h"
#include "actors/store/intake.h"
#include "actors/store/runs_priv.h"
static struct world w;

AFTER_EACH(end_world(&w))

CASE(a_parked_run_frees_its_slot_and_holds_its_chat)
{
    struct sma_card card;
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    CHECK(w.store->runs->open_count == 0);
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, CHAT_A, &card);
    CHECK(!card.is_outcome &&
          card.button_count == 0); /* the member of a private chat decides nothing */
    sma_card_fini(&card);
    say(&w, "a", "2", "hello again");
    say(&w, "a", "3", "and again");
    say(&w, "b", "4", "another chat");
    run(&w);
    for (int i = 0; i < 3; i++)
        CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&w.test).verdict);
    uint64_t other = run_seq(&w);
    CHECK(other != 0 && other != seq + 1);
    CHECK(run_seq(&w) == 0); /* the parked chat waits */
    const char *notice = next_delivery(&w);
    CHECK(strstr(notice, "git push") != NULL);
    struct sma_msg *more = deliver(&w); /* told once */
    CHECK(more == NULL);
    done(&w, other, "ok", NULL, 0);
    run(&w);
    CHECK_INT(200, decide_all(&w, open_id(&w), true));
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    done(&w, seq, "pushed", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) != 0); /* now the others */
}

CASE(a_button_decides_once)
{
    struct sma_card card;
    open_people(&w);
    uint64_t seq =
        park_in(&w, &(struct saying){.chat = "a", .id = "1", .text = "do it", .user = "boss"},
                one_command, 1);
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, CHAT_A, &card);
    CHECK(card.button_count >= 2);
    CHECK_STR(open_id(&w), card.id);
    CHECK(has_projection(&w, open_id(&w)));
    char data[SMA_CARD_DATA_BYTES_MAX + 1], id[64];
    snprintf(data, sizeof data, "%.*s", (int)card.buttons[0].data.len, card.buttons[0].data.ptr);
    snprintf(id, sizeof id, "%s", open_id(&w));
    sma_card_fini(&card);
    CHECK_TEXT("Approved.", press(&w, "a", "boss", "p1", data));
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    take_card(&w, SMA_INTENT_APPROVAL_OUTCOME, CHAT_A, &card);
    CHECK(card.is_outcome && card.button_count == 0);
    CHECK_STR("m40", card.message_id);
    sma_card_fini(&card);
    CHECK(!has_projection(&w, id));
    CHECK_TEXT("Already decided by Ann.", press(&w, "a", "boss", "p2", data));
    CHECK_TEXT("Already decided by Ann.", press(&w, "a", "u1", "p3", data));
    CHECK_INT(409, decide_all(&w, id, false));
    const char *text = history(&w, "test%3Achat%3Aa");
    CHECK_INT(3, count_of(text, "\n")); /* message, request, outcome; no press */
    CHECK_INT(2, count_of(text, "\"notice\":true"));
    CHECK(strstr(text, "sa1:") == NULL && strstr(text, "\\\"buttons\\\"") == NULL);
}

/* The platform shows the card, and somebody presses before its answer is here: the card is changed
 * all the same. */
CASE(a_press_may_overtake_the_receipt_of_its_card)
{
    struct sma_card card;
    open_people(&w);
    (void)park_in(&w, &(struct saying){.chat = "a", .id = "1", .text = "do it", .user = "boss"},
                  one_command, 1);
    struct sma_msg *msg = deliver(&w);
    CHECK(msg != NULL);
    uint64_t outbox_id = SMA_MSG_BODY(msg, struct sma_deliver)->outbox_id;
    sma_msg_destroy(msg);
    CHECK_TEXT("Approved.", press(&w, "a", "boss", "p1", button(&w, open_id(&w), 0, 'y')));
    msg = deliver(&w);
    CHECK(msg == NULL); /* a chat's rows go one after the other */
    receipt(&w, &(struct sma_receipt){.outbox_id = outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true,
                                      .platform_message_id = SMA_STR("m77")});
    run(&w);
    take_card(&w, SMA_INTENT_APPROVAL_OUTCOME, CHAT_A, &card);
    CHECK_STR("m77", card.message_id);
    CHECK(card.is_outcome && card.text.len > 0);
    sma_card_fini(&card);
}

CASE(a_wrong_person_changes_nothing)
{
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    const char *data = button(&w, open_id(&w), 0, SMA_CARD_APPROVE);
    CHECK(strstr(press(&w, "a", "u1", "p1", data), "owner or administrator") != NULL);
    CHECK(strstr(press(&w, "a", "nobody", "p2", data), "owner or administrator") != NULL);
    char forged[SMA_CARD_DATA_BYTES_MAX + 1];
    snprintf(forged, sizeof forged, "%s", data);
    forged[strlen(forged) - 1] ^= 1;
    CHECK_TEXT("No such request.", press(&w, "a", "boss", "p3", forged));
    CHECK_TEXT("no run", resumed(&w, seq));
    /* Words of somebody who may not: told once, and the message waits like any other. */
    show_all(&w);
    say(&w, "a", "2", "yes");
    say(&w, "a", "3", "yes");
    run(&w);
    CHECK_INT(2, sma_queue_chat_waiting(w.store->queue, w.store->consent->first->chat->id));
    CHECK_INT(1, w.store->consent->count);
    drop_kept(&w.test);
    CHECK_TEXT("Approved.", press(&w, "a", "adm", "p4", data));
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
}

CASE(words_decide_and_are_recorded)
{
    open_people(&w);
    uint64_t seq =
        park_in(&w, &(struct saying){.chat = "a", .id = "1", .text = "send it"}, one_send, 1);
    show_all(&w);
    drop_kept(&w.test);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "a", .id = "2", .text = "no, because it is late"});
    run(&w);
    struct sma_accepted answer = accepted(&w.test);
    CHECK_INT(SMA_VERDICT_ACCEPTED, answer.verdict);
    const char *said = resumed(&w, seq);
    CHECK(strstr(said, "0:no:refused by Ann: ") == said && strstr(said, "late") != NULL);
    CHECK(run_seq(&w) == 0);
    CHECK_INT(1, count_of(history(&w, "test%3Achat%3Aa"), "because it is late"));
    struct sma_state_head head;
    CHECK_OK(sma_state_head_get(w.store->state, answer.seq, &head));
    CHECK_INT(SMA_ROW_DONE, head.state);
    done(&w, seq, "ok", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) == 0);
}

static void say_as_boss(const char *chat, const char *id, const char *text)
{
    (void)say_as(&w, TEST, &(struct saying){.chat = chat, .id = id, .text = text, .user = "boss"});
    run(&w);
}

/* It was written before there was anything to see: it waits as any message, and its author hears
 * for what. */
CASE(an_ok_that_was_on_its_way_is_no_consent)
{
    static const char *const words[] = {"ok", "allow `git push` for 10 minutes",
                                        "yes, but only on the test branch please"};
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++) {
        struct sma_card card;
        open_people(&w);
        uint64_t seq =
            park_in(&w, &(struct saying){.chat = "a", .id = "1", .text = "do it", .user = "boss"},
                    one_command, 1);
        drop_kept(&w.test);
        say_as_boss("a", "2", words[i]);
        CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&w.test).verdict);
        CHECK(take(&w.agent, SMA_MSG_JUDGE) == NULL);
        CHECK_TEXT("no run", resumed(&w, seq));
        CHECK_INT(1, w.store->consent->count);
        CHECK_INT(1, sma_queue_chat_waiting(w.store->queue, w.store->consent->first->chat->id));
        if (i == 1) { /* what was not delivered is not delivered in the next life either */
            crash_world(&w);
            say_as_boss("a", "3", "yes");
            CHECK_INT(1, w.store->consent->count);
        }
        take_card(&w, SMA_INTENT_APPROVAL_REQUEST, CHAT_A, &card);
        sma_card_fini(&card);
        CHECK(strstr(next_delivery(&w), "git push") != NULL);
        CHECK_TEXT("no run", resumed(&w, seq)); /* the receipt makes no consent of it */
        say_as_boss("a", "4", "yes");
        CHECK_TEXT("0:yes:;", resumed(&w, seq));
        end_world(&w);
    }
}

/* Nor refused: nobody can mean what he has not seen. */
CASE(a_card_that_never_came_is_not_decided_by_words)
{
    open_people(&w);
    uint64_t seq =
        park_in(&w, &(struct saying){.chat = "a", .id = "1", .text = "do it", .user = "boss"},
                one_command, 1);
    struct sma_msg *msg = deliver(&w);
    CHECK(msg != NULL);
    receipt(&w, &(struct sma_receipt){.outbox_id = SMA_MSG_BODY(msg, struct sma_deliver)->outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_FAILED,
                                      .is_final = true,
                                      .error = SMA_STR("blocked")});
    sma_msg_destroy(msg);
    say_as_boss("a", "2", "ok");
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_INT(1, w.store->consent->count);
    say_as_boss("a", "3", "no");
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_INT(200, decide_all(&w, open_id(&w), false));
    CHECK_TEXT("0:no:refused by root;", resumed(&w, seq));
}

CASE(items_are_decided_one_by_one)
{
    struct sma_card card;
    open_people(&w);
    uint64_t seq =
        park_in(&w, &(struct saying){.chat = "a", .id = "1", .text = "do it", .user = "boss"},
                two_commands, 2);
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, CHAT_A, &card);
    sma_card_fini(&card);
    CHECK_TEXT("Noted: 1 of 2 are decided.",
               press(&w, "a", "boss", "p1", button(&w, open_id(&w), 2, SMA_CARD_REFUSE)));
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK(strstr(query(&w, SMA_QUERY_APPROVALS, ""), "\"status\":\"rejected\"") != NULL);
    CHECK_TEXT("Already decided by Ann.",
               press(&w, "a", "boss", "p2", button(&w, open_id(&w), 2, SMA_CARD_APPROVE)));
    crash_world(&w);
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_INT(200, decide_all(&w, open_id(&w), true));
    CHECK_TEXT("0:yes:;1:no:refused by Ann;", resumed(&w, seq));
}

CASE(masks_and_beginnings_of_ids_are_checked)
{
    char text[512], id[64];
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", two_commands, 2);
    snprintf(id, sizeof id, "%s", open_id(&w));
    CHECK_INT(404, decide_all(&w, "12345", true));
    CHECK_INT(404, decide_all(&w, "ffffffffffffffffffffffffffffffff", true));
    CHECK_INT(404, decide_all(&w, "", true));
    CHECK_INT(400, decide(&w, &(struct sma_decide){.id = sma_str(id), .approved_mask = 4}, text));
    CHECK_INT(400,
              decide(&w,
                     &(struct sma_decide){.id = sma_str(id), .approved_mask = 1, .refused_mask = 1},
                     text));
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_INT(200, decide(&w,
                          &(struct sma_decide){.id = {id, 8},
                                               .approved_mask = 1,
                                               .refused_mask = 2,
                                               .response = SMA_STR("be quick")},
                          text));
    CHECK_TEXT("Approved.", text);
    CHECK_TEXT("0:yes:be quick;1:no:refused by root: be quick;", resumed(&w, seq));
}

CASE(an_owner_elsewhere_is_asked_at_home)
{
    struct sma_card card;
    open_people(&w);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "home", .id = "0", .text = "hi", .user = "boss"});
    run(&w);
    uint64_t first = run_seq(&w);
    done(&w, first, "hello", NULL, 0);
    run(&w);
    uint64_t home_seq = accepted(&w.test).seq;
    CHECK(home_seq == first);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, CHAT_A, &card);
    CHECK_INT(0, card.button_count);
    sma_card_fini(&card);
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, "test:chat:home", &card);
    CHECK(card.button_count >= 2);
    sma_card_fini(&card);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "home", .id = "2", .text = "ok", .user = "boss"});
    expect_accepted(&w);
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    take_card(&w, SMA_INTENT_APPROVAL_OUTCOME, CHAT_A, &card);
    CHECK_STR("m40", card.message_id);
    sma_card_fini(&card);
    take_card(&w, SMA_INTENT_APPROVAL_OUTCOME, "test:chat:home", &card);
    CHECK_STR("m41", card.message_id);
    sma_card_fini(&card);
}

/* That the card was seen in the chat that asks says nothing about his own. */
CASE(an_ok_at_home_needs_the_card_at_home)
{
    struct sma_card card;
    open_people(&w);
    say_as_boss("home", "0", "hi");
    done(&w, run_seq(&w), "", NULL, 0);
    run(&w);
    drop_kept(&w.test);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, CHAT_A, &card);
    sma_card_fini(&card);
    say_as_boss("home", "2", "ok");
    CHECK_INT(1, w.store->consent->count);
    uint64_t talk = run_seq(&w);
    CHECK(talk != 0 && talk != seq); /* an ordinary message */
    done(&w, talk, "", NULL, 0);
    run(&w);
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, "test:chat:home", &card);
    sma_card_fini(&card);
    say_as_boss("home", "3", "ok");
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
}

/* An owner's talk with the agent has its own "ok". */
CASE(words_in_a_talk_do_not_decide_for_another_chat)
{
    struct sma_card card;
    open_people(&w);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "home", .id = "0", .text = "hi", .user = "boss"});
    run(&w);
    done(&w, run_seq(&w), "", NULL, 0);
    run(&w);
    drop_kept(&w.test);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, CHAT_A, &card);
    sma_card_fini(&card);
    take_card(&w, SMA_INTENT_APPROVAL_REQUEST, "test:chat:home", &card);
    sma_card_fini(&card);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "home", .id = "2", .text = "hello", .user = "boss"});
    run(&w);
    uint64_t talk = run_seq(&w);
    CHECK(talk != 0 && talk != seq);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "home", .id = "3", .text = "ok", .user = "boss"});
    run(&w);
    CHECK_INT(1, w.store->consent->count); /* the agent speaks with him */
    done(&w, talk, "shall I?", (struct delivery[]){{"test:chat:home", "shall I?", 0, 0, false}}, 1);
    run(&w);
    CHECK(run_seq(&w) != 0); /* the "ok" is an ordinary message */
    crash_world(&w);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "home", .id = "4", .text = "yes", .user = "boss"});
    run(&w);
    CHECK_INT(1, w.store->consent->count);
    drop_kept(&w.test);
    CHECK_TEXT("Approved.",
               press(&w, "home", "boss", "p", button(&w, open_id(&w), 0, SMA_CARD_APPROVE)));
}

/* The boss is at home, and u1's request is shown to him there. @return its seq */
static uint64_t ask_the_boss_at_home(void)
{
    uint64_t seq = park(&w, "a", "a1", one_command, 1);
    show_all(&w);
    CHECK_INT(1, w.store->consent->last->sight_count - 1);
    return seq;
}

static uint64_t park_at_home(void)
{
    uint64_t seq =
        park_in(&w, &(struct saying){.chat = "home", .id = "h1", .text = "push", .user = "boss"},
                one_command, 1);
    show_all(&w);
    return seq;
}

static void open_with_boss_at_home(void)
{
    open_people(&w);
    say_as_boss("home", "h0", "hi");
    done(&w, run_seq(&w), "", NULL, 0);
    run(&w);
    drop_kept(&w.test);
}

/* What was talked over long ago does not stand in the way of what he is asked now. */
CASE(a_superseded_card_is_no_rival)
{
    open_with_boss_at_home();
    uint64_t foreign = ask_the_boss_at_home();
    say_as_boss("home", "2", "hello");
    done(&w, run_seq(&w), "good day",
         (struct delivery[]){{"test:chat:home", "good day", 0, 0, false}}, 1);
    run(&w);
    show_all(&w);
    drop_kept(&w.test);
    uint64_t own = park_at_home();
    CHECK_INT(2, w.store->consent->count);
    say_as_boss("home", "3", "ok");
    CHECK_TEXT("0:yes:;", resumed(&w, own));
    CHECK_INT(1, w.store->consent->count);
    CHECK(w.store->consent->first->seq == foreign);
    done(&w, own, "", NULL, 0);
    run(&w);
    show_all(&w);
    say_as_boss("home", "4", "ok"); /* to nothing: this one is still superseded */
    CHECK_INT(1, w.store->consent->count);
    CHECK(strstr(next_delivery(&w), "Do you mean") != NULL);
}

/* Both cards are the last thing he saw: he is asked which, whatever he heard before, and asking
 * settles nothing. */
CASE(of_two_fresh_cards_none_is_meant)
{
    open_with_boss_at_home();
    uint64_t own = park_at_home();
    (void)ask_the_boss_at_home();
    struct store_chat *home = w.store->consent->first->chat;
    CHECK(home == w.store->consent->last->sights[1].chat);
    CHECK(sma_store_may_refuse_again(w.store, home)); /* just used by something else */
    say_as_boss("home", "2", "ok");
    CHECK(strstr(next_delivery(&w), "Several requests") != NULL);
    show_all(&w);
    CHECK(!sma_store_may_refuse_again(w.store, home));
    pass(&w, 1);
    for (int i = 0; i < 2; i++) {
        say_as_boss("home", i == 0 ? "3" : "4", "yes");
        struct sma_msg *again = deliver(&w);
        CHECK(again == NULL); /* once in a while */
        CHECK_INT(2, w.store->consent->count);
        CHECK_TEXT("no run", resumed(&w, own));
    }
    drop_kept(&w.test);
    CHECK_TEXT("Approved.", press(&w, "home", "boss", "p", button(&w, open_id(&w), 0, 'y')));
    CHECK_TEXT("0:yes:;", resumed(&w, own));
}

CASE(http_callers_hear_that_the_run_is_parked)
{
    open_people(&w);
    (void)say_as(&w, API, &(struct saying){.chat = "desk", .id = "1", .text = "do it"});
    run(&w);
    uint64_t seq = run_seq(&w);
    await(&w, API, seq, false, "");
    run(&w);
    CHECK(take(&w.api, SMA_MSG_RESULT) == NULL);
    park_step(&w, seq, 1, one_command, 1);
    run(&w);
    for (int i = 0; i < 2; i++) { /* who waited, and who asks later */
        struct sma_msg *msg = take(&w.api, SMA_MSG_RESULT);
        CHECK(msg != NULL);
        const struct sma_result *result = SMA_MSG_BODY(msg, struct sma_result);
        CHECK_INT(SMA_RUN_PARKED, result->state);
        char text[4096];
        snprintf(text, sizeof text, "%.*s", (int)result->output.len, result->output.ptr);
        CHECK(strstr(text, "git push") != NULL);
        snprintf(text, sizeof text, "%.*s", (int)result->pending_json.len,
                 result->pending_json.ptr);
        CHECK(strstr(text,
                     "\"type\":\"exec_shell\",\"description\":\"git push\",\"data\":{\"toolName\":"
                     "\"exec_shell\",\"args\":{\"command\":\"x\"}") != NULL);
        CHECK_STR("1", result->message_id);
        sma_msg_destroy(msg);
        await(&w, API, seq, false, "");
        run(&w);
    }
    drop_kept(&w.api);
    CHECK_INT(200, decide_all(&w, open_id(&w), true));
    await(&w, API, seq, false, "");
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    done(&w, seq, "pushed", NULL, 0);
    run(&w);
    struct sma_msg *msg = take(&w.api, SMA_MSG_RESULT);
    CHECK(msg != NULL);
    CHECK_INT(SMA_RUN_DONE, SMA_MSG_BODY(msg, struct sma_result)->state);
    CHECK_STR("pushed", SMA_MSG_BODY(msg, struct sma_result)->output); /* no card in it */
    sma_msg_destroy(msg);
}

CASE(stop_and_clear_cancel_the_request)
{
    struct sma_card card;
    for (int i = 0; i < 2; i++) {
        open_people(&w);
        uint64_t seq = park(&w, "a", "1", one_command, 1);
        char id[64];
        snprintf(id, sizeof id, "%s", open_id(&w));
        take_card(&w, SMA_INTENT_APPROVAL_REQUEST, CHAT_A, &card);
        sma_card_fini(&card);
        command(&w, "a", "2", i == 0 ? SMA_CONTROL_STOP : SMA_CONTROL_CLEAR);
        run(&w);
        take_card(&w, SMA_INTENT_APPROVAL_OUTCOME, CHAT_A, &card);
        CHECK_STR("m40", card.message_id);
        sma_card_fini(&card);
        CHECK_INT(410, decide_all(&w, id, true));
        CHECK(!has_projection(&w, id));
        struct sma_state_head head;
        CHECK_OK(sma_state_head_get(w.store->state, seq, &head));
        CHECK_INT(SMA_ROW_CANCELLED, head.state);
        say(&w, "a", "3", "next");
        run(&w);
        CHECK(run_seq(&w) > seq); /* the chat is free */
        crash_world(&w);
        CHECK_INT(0, w.store->consent->count);
        end_world(&w);
    }
}

CASE(clear_takes_what_is_decided_and_not_started)
{
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    say(&w, "b", "2", "takes the slot");
    run(&w);
    uint64_t other = run_seq(&w);
    CHECK_INT(200, decide_all(&w, open_id(&w), true));
    command(&w, "a", "3", SMA_CONTROL_CLEAR);
    say(&w, "a", "4", "afresh");
    run(&w);
    done(&w, other, "", NULL, 0);
    run(&w);
    uint64_t next = run_seq(&w);
    CHECK(next > seq && next != other);
    struct sma_state_head head;
    CHECK_OK(sma_state_head_get(w.store->state, seq, &head));
    CHECK_INT(SMA_ROW_CANCELLED, head.state);
}

CASE(two_chats_wait_at_once)
{
    open_people(&w);
    uint64_t first = park(&w, "a", "1", one_command, 1);
    uint64_t second = park(&w, "b", "2", one_command, 1);
    char ids[2][64];
    snprintf(ids[0], 64, "%s", w.store->consent->first->id);
    snprintf(ids[1], 64, "%s", w.store->consent->last->id);
    CHECK_INT(2, count_of(query(&w, SMA_QUERY_APPROVALS, ""), "\"createdAt\""));
    CHECK_INT(1, count_of(query(&w, SMA_QUERY_APPROVALS, "test:chat:b"), "\"createdAt\""));
    CHECK_INT(200, decide_all(&w, ids[1], false));
    CHECK_TEXT("0:no:refused by root;", resumed(&w, second));
    CHECK_INT(200, decide_all(&w, ids[0], true));
    CHECK_TEXT("no run", resumed(&w, first)); /* one slot: it waits for the other */
    done(&w, second, "", NULL, 0);
    run(&w);
    CHECK_TEXT("0:yes:;", resumed(&w, first));
}

CASE(too_many_are_refused_at_once)
{
    open_people(&w);
    (void)park(&w, "a", "1", one_command, 1);
    w.store->consent->count += SMA_APPROVAL_COUNT_MAX;
    say(&w, "b", "2", "do it too");
    run(&w);
    uint64_t seq = run_seq(&w);
    park_step(&w, seq, 1, one_send, 1);
    run(&w);
    CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    w.store->consent->count -= SMA_APPROVAL_COUNT_MAX;
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL && SMA_MSG_BODY(msg, struct sma_run_order)->is_decided);
    CHECK_INT(2, SMA_MSG_BODY(msg, struct sma_run_order)->step_count);
    sma_msg_destroy(msg);
    CHECK_INT(1, w.store->consent->count);
}

CASE(a_request_that_cannot_be_read_ends_its_run)
{
    open_people(&w);
    say(&w, "a", "1", "do it");
    run(&w);
    uint64_t seq = run_seq(&w);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 256);
    *SMA_MSG_BODY(msg, struct sma_step) =
        (struct sma_step){.seq = seq,
                          .number = 1,
                          .kind = SMA_STEP_ANSWER,
                          .data = SMA_STR("answer"),
                          .request_json = SMA_STR("{\"items\":7}")};
    ask_as_agent(&w, msg);
    run(&w);
    CHECK_INT(SMA_STEP_STOPPED, verdict(&w, SMA_MSG_STEP_DONE));
    CHECK_INT(0, w.store->runs->open_count);
    CHECK(next_run(&w) == NULL);
    CHECK(strlen(next_delivery(&w)) > 0);
}

CASES_MAIN
