/*
 * Aim: chats cost memory while they are used, and are found as they were whenever they are asked
 * for.
 * Method: a cache of a few records, many more chats than that, undone transactions, moves,
 * restarts.
 */
#include "state_support.h"

#define KEPT 64

static const char *key_of(int number, char key[32])
{
    snprintf(key, 32, "chat-%d", number);
    return key;
}

static uint64_t kept(struct sma_state *state)
{
    struct sma_state_counts counts;
    sma_state_counts(state, &counts);
    return counts.chats_kept;
}

/* Ten of them a transaction. */
static void make_chats(struct sma_state *state, int first, int count)
{
    char key[32];
    for (int i = first; i < first + count; i += 10) {
        CHECK_OK(sma_state_begin(state));
        for (int j = i; j < i + 10; j++)
            CHECK_OK(sma_state_chat_set_stop_mark(state, chat_named(state, key_of(j, key)),
                                                  (uint64_t)j + 1));
        CHECK_OK(sma_state_commit(state));
    }
}

CASE(chats_that_nobody_uses_are_read_again_when_they_are_asked_for)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    char key[32];
    fixture_new(&f);
    sma_state_set_chats_kept(f.state, KEPT);
    make_chats(f.state, 0, 5000);
    CHECK(kept(f.state) <= KEPT + 10);
    for (int round = 0; round < 2; round++) {
        CHECK_INT(5000, (long long)sma_state_chat_count(f.state));
        for (int i = 0; i < 5000; i += 7) {
            CHECK_OK(sma_state_begin(f.state));
            struct sma_state_chat *chat = sma_state_chat_get(f.state, sma_str(key_of(i, key)));
            CHECK(chat != NULL);
            CHECK_INT(i + 1, (long long)chat->stop_mark);
            CHECK_INT(i + 1, chat->id);
            CHECK_STR("test", chat->channel);
            CHECK(chat == sma_state_chat_by_id(f.state, chat->id));
            CHECK_OK(sma_state_commit(f.state));
        }
        CHECK(kept(f.state) <= KEPT + 1);
        CHECK(sma_state_chat_get(f.state, SMA_STR("chat-5000")) == NULL);
        CHECK(sma_state_chat_by_id(f.state, 5001) == NULL);
        fixture_reopen(&f, true);
        CHECK_INT(0, (long long)kept(f.state)); /* a start reads none */
        sma_state_set_chats_kept(f.state, KEPT);
    }
}

CASE(a_chat_in_use_stays_where_it_is)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    char key[32];
    fixture_new(&f);
    sma_state_set_chats_kept(f.state, KEPT);
    make_chats(f.state, 0, 200);
    struct sma_state_chat *used[100];
    for (int i = 0; i < 100; i++) {
        used[i] = sma_state_chat_get(f.state, sma_str(key_of(i, key)));
        used[i]->user = &f;
    }
    make_chats(f.state, 200, 1000);
    CHECK(kept(f.state) >= 100);
    for (int i = 0; i < 100; i++)
        CHECK(used[i] == sma_state_chat_get(f.state, sma_str(key_of(i, key))));
    for (int i = 0; i < 100; i++)
        used[i]->user = NULL;
    make_chats(f.state, 1200, 300);
    CHECK(kept(f.state) <= KEPT + 10);
}

CASE(what_an_undone_transaction_did_to_a_chat_is_not_read_again)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    sma_state_set_chats_kept(f.state, 1);
    make_chats(f.state, 0, 50);
    for (int round = 0; round < 2; round++) {
        CHECK_OK(sma_state_begin(f.state));
        struct sma_state_chat *chat = sma_state_chat_get(f.state, SMA_STR("chat-3"));
        CHECK_OK(sma_state_chat_set_stop_mark(f.state, chat, 900));
        CHECK_OK(sma_state_chat_set_rotation(f.state, chat, SMA_STR("plan")));
        uint32_t id = chat_named(f.state, "fresh")->id;
        CHECK_INT(51, id);
        sma_state_rollback(f.state);
        make_chats(f.state, 0, 50); /* all others were used meanwhile */
        chat = sma_state_chat_get(f.state, SMA_STR("chat-3"));
        CHECK_INT(4, (long long)chat->stop_mark);
        CHECK_INT(0, (long long)chat->rotation.len);
        CHECK(sma_state_chat_get(f.state, SMA_STR("fresh")) == NULL);
        CHECK_INT(50, (long long)sma_state_chat_count(f.state));
    }
}

static enum sma_err note_id(void *user, struct sma_state_chat *chat)
{
    uint64_t *sum = user;
    *sum = *sum * 1000 + chat->id;
    return SMA_ERR_OK;
}

CASE(plans_under_way_are_found_without_looking_at_all_chats)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    sma_state_set_chats_kept(f.state, 4);
    make_chats(f.state, 0, 300);
    CHECK_OK(sma_state_begin(f.state));
    for (int i = 0; i < 3; i++) {
        struct sma_state_chat *chat = sma_state_chat_by_id(f.state, (uint32_t)(7 + 100 * i));
        CHECK_OK(sma_state_chat_set_rotation(f.state, chat, SMA_STR("plan")));
    }
    CHECK_OK(sma_state_chat_set_generation(f.state, sma_state_chat_by_id(f.state, 107), 1));
    CHECK_OK(sma_state_commit(f.state));
    fixture_reopen(&f, false);
    uint64_t found = 0;
    CHECK_OK(sma_state_each_rotating(f.state, note_id, &found));
    CHECK_INT(7207, (long long)found);
    CHECK_INT(0, (long long)kept(f.state));
}

CASE(chats_that_have_moved_stay_together)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    sma_state_set_chats_kept(f.state, 4);
    make_chats(f.state, 0, 100);
    CHECK_OK(sma_state_begin(f.state));
    CHECK_OK(sma_state_chat_move(f.state, chat_named(f.state, "chat-3"),
                                 chat_named(f.state, "chat-9"), SMA_STR("there")));
    CHECK_OK(sma_state_chat_move(f.state, chat_named(f.state, "chat-9"),
                                 chat_named(f.state, "chat-20"), SMA_STR("beyond")));
    CHECK_OK(sma_state_commit(f.state));
    for (int round = 0; round < 2; round++) {
        make_chats(f.state, 30, 60);
        struct sma_state_chat *chat = sma_state_chat_get(f.state, SMA_STR("chat-3"));
        CHECK_INT(4, chat->id);
        CHECK_STR("chat-20", chat->key);
        CHECK_STR("beyond", chat->place);
        CHECK(chat == sma_state_chat_get(f.state, SMA_STR("chat-9")));
        CHECK(chat == sma_state_chat_by_id(f.state, 21));
        const struct sma_state_chat *former = sma_state_chat_next_former(chat);
        CHECK(former != NULL && sma_state_chat_next_former(former) != NULL);
        CHECK(sma_state_chat_next_former(sma_state_chat_next_former(former)) == NULL);
        CHECK_INT(4, sma_state_claim_id(f.state, SMA_STR("chat-3")));
        CHECK(sma_state_claim_id(f.state, SMA_STR("chat-3")) !=
              sma_state_claim_id(f.state, SMA_STR("chat-20")));
        fixture_reopen(&f, true);
        sma_state_set_chats_kept(f.state, 4);
    }
}

static int64_t wall_ms;
static int64_t test_wall(void *self)
{
    (void)self;
    return wall_ms;
}

CASE(a_chat_knows_the_day_somebody_wrote_in_it)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_init(&f);
    f.sys.wall_ms = test_wall;
    wall_ms = 100 * 86400000LL;
    fixture_open(&f);
    CHECK_OK(sma_state_begin(f.state));
    accept_event(f.state, "a", "1", SMA_ROW_DONE);
    accept_event(f.state, "b", "1", SMA_ROW_DONE);
    CHECK_OK(sma_state_commit(f.state));
    wall_ms = 103 * 86400000LL;
    CHECK_OK(sma_state_begin(f.state));
    accept_event(f.state, "a", "2", SMA_ROW_DONE);
    accept_event(f.state, "b", "", SMA_ROW_LINE);
    CHECK_OK(sma_state_commit(f.state));
    CHECK_OK(sma_state_begin(f.state));
    wall_ms = 104 * 86400000LL;
    accept_event(f.state, "a", "3", SMA_ROW_DONE);
    CHECK_INT(104, sma_state_chat_get(f.state, SMA_STR("a"))->seen_day);
    sma_state_rollback(f.state);
    for (int round = 0; round < 2; round++) {
        CHECK_INT(103, sma_state_chat_get(f.state, SMA_STR("a"))->seen_day);
        CHECK_INT(100, sma_state_chat_get(f.state, SMA_STR("b"))->seen_day);
        fixture_reopen(&f, true);
    }
}

CASE(an_idle_chat_is_forgotten_whole)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_init(&f);
    f.sys.wall_ms = test_wall;
    wall_ms = 200 * 86400000LL;
    fixture_open(&f);
    make_chats(f.state, 0, 600);
    CHECK_OK(sma_state_begin(f.state));
    accept_event(f.state, "chat-5", "old", SMA_ROW_DONE);
    uint64_t seq = accept_event(f.state, "chat-5", "run", SMA_ROW_RUNNING);
    CHECK_OK(sma_state_finish(f.state, &(struct sma_state_finish){.seq = seq,
                                                                  .state = SMA_ROW_DONE,
                                                                  .turn = SMA_STR("[]"),
                                                                  .wire = SMA_STR("w")}));
    struct sma_state_contact contact = {.channel = SMA_STR("test"),
                                        .user_name = SMA_STR("Eve"),
                                        .chat_id = SMA_STR("5"),
                                        .chat_key = SMA_STR("chat-5")};
    CHECK_OK(sma_state_contact_put(f.state, &contact));
    CHECK_OK(sma_state_commit(f.state));
    wall_ms = 240 * 86400000LL;
    CHECK_OK(sma_state_begin(f.state));
    for (int i = 0; i < 600; i++) {
        char key[32];
        if (i != 5 && i != 300 && i != 400)
            accept_event(f.state, key_of(i, key), "new", SMA_ROW_DONE);
    }
    CHECK_OK(sma_state_commit(f.state));
    struct sma_state_contact found;
    bool is_gone = false;
    for (int round = 0; round < 2; round++) {
        struct sma_state_chat *chat = sma_state_chat_get(f.state, SMA_STR("chat-5"));
        CHECK_OK(sma_state_begin(f.state));
        chat->user = &f;
        CHECK_ERR(SMA_ERR_BUSY, sma_state_chat_forget(f.state, chat, 10, &is_gone));
        chat->user = NULL;
        CHECK_ERR(SMA_ERR_BUSY,
                  sma_state_chat_forget(f.state, sma_state_chat_get(f.state, SMA_STR("chat-599")),
                                        10, &is_gone));
        CHECK_OK(sma_state_chat_forget(f.state, chat, 10, &is_gone));
        CHECK(is_gone && sma_state_chat_get(f.state, SMA_STR("chat-5")) == NULL);
        CHECK_INT(599, (long long)sma_state_chat_count(f.state));
        if (round == 0) {
            sma_state_rollback(f.state);
            CHECK(sma_state_has_past(f.state, sma_state_chat_get(f.state, SMA_STR("chat-5"))));
            CHECK_OK(sma_state_contact_find(f.state, SMA_STR(""), SMA_STR("eve"), &found));
            CHECK_INT(600, (long long)sma_state_chat_count(f.state));
        } else {
            CHECK_OK(sma_state_commit(f.state));
        }
    }
    for (int round = 0; round < 2; round++) {
        CHECK(sma_state_chat_get(f.state, SMA_STR("chat-5")) == NULL);
        CHECK_ERR(SMA_ERR_NOTFOUND,
                  sma_state_contact_find(f.state, SMA_STR(""), SMA_STR("eve"), &found));
        CHECK_INT(599, (long long)sma_state_chat_count(f.state));
        fixture_reopen(&f, true);
    }
    CHECK_OK(sma_state_begin(f.state));
    CHECK_INT(601, chat_named(f.state, "chat-5")->id); /* a number of its own */
    CHECK_OK(sma_state_commit(f.state));
    CHECK(!is_claimed(f.state, "chat-5", "old"));
}

CASES_MAIN
