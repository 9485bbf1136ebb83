/* Aim: the order, fairness and bounds of queue.h. Method: fixed cases, then random work against a
 * slow model. */
#include "runtime/chat/queue.h"
#include "support/check.h"

static struct sma_queue *make(bool is_fair, uint32_t chat_max, uint32_t max)
{
    struct sma_queue *queue = NULL;
    struct sma_queue_options options = {
        .is_fair = is_fair, .chat_waiting_max = chat_max, .waiting_max = max};
    CHECK_OK(sma_queue_create(&options, &queue));
    return queue;
}

/* As the store takes a new message. */
static enum sma_err push(struct sma_queue *queue, uint32_t chat, uint64_t seq)
{
    enum sma_err err = sma_queue_check(queue, chat);
    return err != SMA_ERR_OK ? err : sma_queue_push_accepted(queue, chat, seq);
}

static uint64_t start_next(struct sma_queue *queue, uint32_t *ret_chat)
{
    uint32_t chat = 0;
    uint64_t seq = 0, started = 0;
    if (!sma_queue_peek(queue, &chat, &seq))
        return 0;
    CHECK(sma_queue_start(queue, chat, &started));
    CHECK_INT((long long)seq, (long long)started);
    *ret_chat = chat;
    return seq;
}

ENDING(sma_queue_destroy, struct sma_queue)

CASE(fifo_serves_by_age_and_never_a_busy_chat)
{
    SMA_AUTO(sma_queue_destroyp) struct sma_queue *queue = make(false, 64, 1000);
    CHECK_OK(push(queue, 0, 1));
    CHECK_OK(push(queue, 0, 2));
    CHECK_OK(push(queue, 1, 3));
    CHECK_OK(push(queue, 0, 4));
    uint32_t chat = 9;
    CHECK_INT(1, (long long)start_next(queue, &chat));
    CHECK_INT(3, (long long)start_next(queue, &chat));
    CHECK_INT(0, (long long)start_next(queue, &chat));
    CHECK_INT(2, sma_queue_waiting(queue));
    CHECK_INT(1, sma_queue_position(queue, 0, 4));
    sma_queue_finish(queue, 0);
    CHECK_INT(2, (long long)start_next(queue, &chat));
    sma_queue_finish(queue, 0);
    CHECK_INT(4, (long long)start_next(queue, &chat));
}

CASE(fair_lets_chats_take_turns)
{
    SMA_AUTO(sma_queue_destroyp) struct sma_queue *queue = make(true, 64, 1000);
    for (uint64_t seq = 1; seq <= 4; seq++)
        CHECK_OK(push(queue, 0, seq));
    CHECK_OK(push(queue, 1, 5));
    CHECK_OK(push(queue, 2, 6));
    CHECK_OK(push(queue, 1, 7));
    static const uint64_t wanted[] = {1, 5, 6, 2, 7, 3, 4};
    for (size_t i = 0; i < SMA_COUNT_OF(wanted); i++) {
        uint32_t chat = 9;
        CHECK_INT((long long)wanted[i], (long long)start_next(queue, &chat));
        sma_queue_finish(queue, chat);
    }
}

/* The hundreds of its number. */
static uint32_t person_of(void *user, uint64_t seq)
{
    (void)user;
    return (uint32_t)(seq / 100) + 1;
}

static struct sma_queue *make_of_persons(void)
{
    struct sma_queue *queue = NULL;
    struct sma_queue_options options = {
        .is_fair = true, .chat_waiting_max = 100, .waiting_max = 1000, .person_of = person_of};
    CHECK_OK(sma_queue_create(&options, &queue));
    return queue;
}

/* Person 1 has chats 0 to 23, another comes later with two of them, a third with one. */
CASE(persons_take_turns_whatever_chats_they_have)
{
    struct sma_queue *queue = make_of_persons();
    uint32_t chat = 9;
    for (uint32_t i = 0; i < 24; i++)
        CHECK_OK(push(queue, i, 100 + i));
    CHECK_INT(100, (long long)start_next(queue, &chat));
    CHECK_INT(101, (long long)start_next(queue, &chat));
    CHECK_OK(push(queue, 30, 200));
    CHECK_OK(push(queue, 31, 201));
    CHECK_OK(sma_queue_push_resumed(queue, 50, 150)); /* begun, but its person has had turns */
    CHECK_OK(push(queue, 40, 300));
    CHECK_INT(0, sma_queue_running(queue, 0)); /* of whose message is next */
    CHECK_INT(2, sma_queue_running(queue, person_of(NULL, 100)));
    static const uint64_t wanted[] = {200, 300, 102, 201, 103};
    for (size_t i = 0; i < SMA_COUNT_OF(wanted); i++)
        CHECK_INT((long long)wanted[i], (long long)start_next(queue, &chat));
    CHECK_INT(2, sma_queue_running(queue, person_of(NULL, 200)));
    sma_queue_finish(queue, 30);
    CHECK_INT(1, sma_queue_running(queue, person_of(NULL, 200)));
    CHECK_OK(sma_queue_hold(queue, 31, 0)); /* it waits for an answer */
    CHECK_INT(0, sma_queue_running(queue, person_of(NULL, 200)));
    uint32_t started = 0;
    while (start_next(queue, &chat) != 0)
        started++;
    CHECK_INT(21, started);
    CHECK_INT(0, sma_queue_waiting(queue));
    sma_queue_destroy(queue);
}

/* New persons come all the time, each with one message: who has many gets on nevertheless. */
CASE(newcomers_pass_by_nobody_for_ever)
{
    struct sma_queue *queue = make_of_persons();
    uint32_t chat = 9, passed = 0;
    for (uint32_t i = 0; i < 3; i++)
        CHECK_OK(push(queue, i, 100 + i));
    CHECK_INT(100, (long long)start_next(queue, &chat));
    for (uint32_t i = 0; i < 100; i++) {
        CHECK_OK(push(queue, 50 + i, 1000 + 100 * i));
        uint64_t seq = start_next(queue, &chat);
        sma_queue_finish(queue, chat);
        if (seq == 102)
            break;
        passed++;
    }
    CHECK(passed <= 20);
    sma_queue_destroy(queue);
}

CASE(position_of_a_fair_queue_is_not_the_flood_of_another_chat)
{
    struct sma_queue *fair = make(true, 1000, 10000), *fifo = make(false, 1000, 10000);
    for (uint64_t seq = 1; seq <= 600; seq++) {
        CHECK_OK(push(fair, 0, seq));
        CHECK_OK(push(fifo, 0, seq));
    }
    for (uint32_t chat = 1; chat <= 3; chat++) {
        CHECK_OK(push(fair, chat, 600 + chat));
        CHECK_OK(push(fifo, chat, 600 + chat));
    }
    CHECK_OK(push(fair, 3, 610));
    CHECK_INT(602, sma_queue_position(fifo, 3, 603));
    CHECK_INT(3, sma_queue_position(fair, 3, 603)); /* one of each other chat */
    CHECK_INT(7, sma_queue_position(fair, 3, 610)); /* two of each, at most, and its own */
    CHECK_INT(0, sma_queue_position(fair, 0, 1));   /* never more than came before */
    uint32_t chat = 9, before = 0;
    while (start_next(fair, &chat) != 603) {
        sma_queue_finish(fair, chat);
        before++;
    }
    CHECK(before <= 3);
    sma_queue_clear(fair);
    CHECK_OK(push(fair, 5, 1));
    CHECK_INT(0, sma_queue_position(fair, 5, 1)); /* the count of chats begins anew, too */
    sma_queue_destroy(fair);
    sma_queue_destroy(fifo);
}

CASE(resumed_messages_go_first)
{
    SMA_AUTO(sma_queue_destroyp) struct sma_queue *queue = make(false, 1, 2);
    CHECK_OK(push(queue, 0, 1));
    CHECK_OK(push(queue, 1, 2));
    CHECK_OK(sma_queue_push_resumed(queue, 1, 9)); /* beyond both bounds on purpose */
    uint32_t chat = 9;
    CHECK_INT(9, (long long)start_next(queue, &chat));
    CHECK_INT(1, (long long)chat);
    CHECK_INT(1, (long long)start_next(queue, &chat));
    sma_queue_finish(queue, 1);
    CHECK_INT(2, (long long)start_next(queue, &chat));
}

/* A run that goes on after consent and another of its chat, both begun when the program died: the
 * older one is first, however they come; else it stands behind one that is held until then. */
CASE(begun_runs_of_one_chat_stand_in_the_order_of_their_numbers)
{
    static const uint64_t orders[][3] = {{3, 5, 7}, {7, 5, 3}, {5, 7, 3}};
    for (size_t i = 0; i < SMA_COUNT_OF(orders); i++) {
        struct sma_queue *queue = make(false, 4, 8);
        CHECK_OK(push(queue, 1, 1));
        for (size_t k = 0; k < SMA_COUNT_OF(orders[i]); k++) {
            CHECK_OK(sma_queue_push_resumed(queue, 1, orders[i][k]));
            sma_queue_set_held(queue, 1, orders[i][k], true);
        }
        CHECK_OK(sma_queue_push_accepted(queue, 1, 9));
        static const uint64_t wanted[] = {3, 5, 7, 1, 9};
        for (size_t k = 0; k < SMA_COUNT_OF(wanted); k++) {
            uint32_t chat = 0;
            sma_queue_set_held(queue, 1, wanted[k], false);
            CHECK_INT((long long)wanted[k], (long long)start_next(queue, &chat));
            sma_queue_finish(queue, 1);
        }
        sma_queue_destroy(queue);
    }
}

CASE(bounds_hold_exactly)
{
    SMA_AUTO(sma_queue_destroyp) struct sma_queue *queue = make(false, 3, 5);
    uint64_t seq = 0;
    for (int i = 0; i < 3; i++)
        CHECK_OK(push(queue, 0, ++seq));
    CHECK_ERR(SMA_ERR_FULL, push(queue, 0, ++seq));
    CHECK_OK(push(queue, 1, ++seq));
    CHECK_OK(sma_queue_check(queue, 1));
    CHECK_OK(push(queue, 1, ++seq));
    CHECK_ERR(SMA_ERR_FULL, sma_queue_check(queue, 2));
    CHECK_ERR(SMA_ERR_FULL, push(queue, 2, ++seq));
    CHECK_INT(5, sma_queue_waiting(queue));
    uint64_t taken = 0;
    CHECK(sma_queue_take_below(queue, 0, 3, &taken) && taken == 1);
    CHECK(sma_queue_take_below(queue, 0, 3, &taken) && taken == 2);
    CHECK(!sma_queue_take_below(queue, 0, 3, &taken));
    CHECK_OK(push(queue, 0, ++seq));
    sma_queue_clear(queue);
    CHECK_INT(0, sma_queue_waiting(queue));
    CHECK_OK(sma_queue_hold(queue, 4, 0));
    CHECK(sma_queue_is_busy(queue, 4));
    CHECK_OK(push(queue, 4, ++seq));
    uint32_t chat = 0;
    CHECK(!sma_queue_peek(queue, &chat, &taken));
    sma_queue_finish(queue, 4);
    CHECK(sma_queue_peek(queue, &chat, &taken) && chat == 4);
}

/* -- against a slow model ---------------------------------------------------------------------- */
#define CHATS 17u
#define MODEL_MAX 4096u
struct model
{
    uint64_t seqs[MODEL_MAX];
    uint32_t chats[MODEL_MAX];
    uint32_t count;
    bool is_busy[CHATS];
};

static uint64_t model_take(struct model *model, uint32_t i)
{
    uint64_t seq = model->seqs[i];
    memmove(&model->seqs[i], &model->seqs[i + 1], (model->count - i - 1) * sizeof model->seqs[0]);
    memmove(&model->chats[i], &model->chats[i + 1],
            (model->count - i - 1) * sizeof model->chats[0]);
    model->count--;
    return seq;
}

static uint64_t model_start(struct model *model, uint32_t *ret_chat)
{
    for (uint32_t i = 0; i < model->count; i++) {
        if (model->is_busy[model->chats[i]])
            continue;
        *ret_chat = model->chats[i];
        model->is_busy[model->chats[i]] = true;
        return model_take(model, i);
    }
    return 0;
}

static void check_position(struct sma_queue *queue, const struct model *model, uint32_t pick)
{
    if (model->count == 0)
        return;
    uint32_t i = pick % model->count;
    CHECK_INT(i, sma_queue_position(queue, model->chats[i], model->seqs[i]));
}

CASE(random_work_agrees_with_the_model)
{
    static struct model model;
    SMA_AUTO(sma_queue_destroyp) struct sma_queue *queue = make(false, MODEL_MAX, MODEL_MAX);
    uint64_t seq = 0, random = 12345;
    for (int step = 0; step < 60000; step++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t chat = (uint32_t)(random >> 33) % CHATS, kind = (uint32_t)(random >> 50) % 10;
        if (kind < 5 && model.count < 600) {
            CHECK_OK(push(queue, chat, ++seq));
            model.seqs[model.count] = seq;
            model.chats[model.count++] = chat;
        } else if (kind < 8) {
            uint32_t wanted_chat = 0, got_chat = 0;
            uint64_t wanted = model_start(&model, &wanted_chat), got = start_next(queue, &got_chat);
            CHECK(wanted == got && wanted_chat == got_chat);
        } else if (model.is_busy[chat]) {
            model.is_busy[chat] = false;
            sma_queue_finish(queue, chat);
        } else {
            uint64_t got = 0;
            uint32_t i = 0;
            while (i < model.count && model.chats[i] != chat)
                i++;
            bool is_there = sma_queue_take_more(queue, chat, &got);
            CHECK(is_there == (i < model.count));
            if (is_there)
                CHECK(model_take(&model, i) == got);
        }
        CHECK_INT(model.count, sma_queue_waiting(queue));
        check_position(queue, &model, (uint32_t)(random >> 20));
    }
}

CASE(two_hundred_thousand_wait_without_trouble)
{
    SMA_AUTO(sma_queue_destroyp) struct sma_queue *queue = make(false, 200000, 200000);
    for (uint64_t seq = 1; seq <= 200000; seq++)
        CHECK_OK(push(queue, (uint32_t)(seq % 1000), seq));
    CHECK_ERR(SMA_ERR_FULL, push(queue, 1, 200001));
    for (uint64_t seq = 1; seq <= 200000; seq++) {
        uint32_t chat = 0;
        CHECK(start_next(queue, &chat) == seq);
        sma_queue_finish(queue, chat);
    }
}

CASE(held_message_keeps_its_place_and_its_chat_waits)
{
    SMA_AUTO(sma_queue_destroyp) struct sma_queue *queue = make(false, 64, 1000);
    uint32_t chat = 9;
    uint64_t seq = 0;
    CHECK_OK(sma_queue_push_held(queue, 0, 1));
    CHECK_OK(push(queue, 0, 2));
    CHECK_OK(push(queue, 1, 3));
    CHECK_INT(3, (long long)start_next(queue, &chat));
    CHECK_INT(0, (long long)start_next(queue, &chat));
    CHECK(!sma_queue_start(queue, 0, &seq));
    CHECK(!sma_queue_take_more(queue, 0, &seq));
    CHECK(sma_queue_first(queue, 0, &seq) && seq == 1);
    CHECK_INT(1, sma_queue_position(queue, 0, 2));
    sma_queue_set_held(queue, 0, 2, true); /* behind the first: changes nothing yet */
    sma_queue_set_held(queue, 0, 1, false);
    CHECK_INT(1, (long long)start_next(queue, &chat));
    CHECK(!sma_queue_take_more(queue, 0, &seq));
    sma_queue_finish(queue, 0);
    CHECK_INT(0, (long long)start_next(queue, &chat));
    sma_queue_set_held(queue, 0, 2, false);
    sma_queue_set_held(queue, 0, 77, true); /* waits nowhere */
    CHECK_INT(2, (long long)start_next(queue, &chat));
    CHECK_OK(sma_queue_push_held(queue, 2, 8));
    CHECK(sma_queue_take_below(queue, 2, 9, &seq) && seq == 8);
}

CASE(any_waiting_message_can_be_removed)
{
    SMA_AUTO(sma_queue_destroyp) struct sma_queue *queue = make(false, 64, 1000);
    uint32_t chat = 9;
    for (uint64_t seq = 1; seq <= 4; seq++)
        CHECK_OK(push(queue, 0, seq));
    CHECK(!sma_queue_remove(queue, 0, 9));
    CHECK(!sma_queue_remove(queue, 7, 1));
    CHECK(sma_queue_remove(queue, 0, 2));
    CHECK(sma_queue_remove(queue, 0, 4));
    CHECK(!sma_queue_remove(queue, 0, 4));
    CHECK_OK(push(queue, 0, 5));
    CHECK_INT(3, sma_queue_waiting(queue));
    CHECK_INT(2, sma_queue_position(queue, 0, 5));
    CHECK(sma_queue_remove(queue, 0, 1));
    CHECK_INT(3, (long long)start_next(queue, &chat));
    sma_queue_finish(queue, 0);
    CHECK_INT(5, (long long)start_next(queue, &chat));
    sma_queue_finish(queue, 0);
    CHECK_INT(0, sma_queue_waiting(queue));
}

/* A million strangers write once each, a few at a time: what is kept follows those that wait. */
CASE(memory_follows_what_waits_and_not_the_chats_there_are)
{
    SMA_AUTO(sma_queue_destroyp) struct sma_queue *queue = make(false, 64, 1000);
    uint32_t chat = 0;
    for (uint32_t i = 0; i < 1000000; i++) {
        CHECK_OK(push(queue, i * 7919u, i + 1));
        if (i < 20)
            continue;
        CHECK_INT(i + 1 - 20, (long long)start_next(queue, &chat));
        CHECK_INT((i - 20) * 7919u, chat);
        sma_queue_finish(queue, chat);
        CHECK(!sma_queue_is_busy(queue, chat));
    }
    CHECK_INT(20, sma_queue_waiting(queue));
    CHECK(sma_queue_bytes(queue) < 16384);
}

CASES_MAIN
