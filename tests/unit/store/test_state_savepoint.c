/*
 * Aim: what one item of a batch changes is undone alone, on disk and in memory, and the rest of the
 * batch is as if the item had never been; weather still undoes all.
 * Method: a batch with undone items against the same batch without them; failing and dying at every
 * write.
 */
#include "runtime/chat/state_priv.h"
#include "state_support.h"

#include <sys/wait.h>

#define DIGEST_BYTES 65536

/* -- what is to be seen of a state ------------------------------------------------------------- */
struct digest
{
    char text[DIGEST_BYTES];
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void note(struct digest *digest, const char *format,
                                                       ...)
{
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(digest->text + digest->len, DIGEST_BYTES - digest->len, format, arguments);
    va_end(arguments);
    CHECK(len >= 0 && digest->len + (size_t)len < DIGEST_BYTES);
    digest->len += (size_t)len;
}

static enum sma_err note_turn(void *user, uint64_t seq, struct sma_str wire,
                              struct sma_str message_id, struct sma_str turn)
{
    (void)wire;
    (void)message_id;
    note(user, " turn %llu %.*s", (unsigned long long)seq, (int)turn.len, turn.ptr);
    return SMA_ERR_OK;
}

static enum sma_err note_delivery(void *user, const struct sma_state_delivery *delivery)
{
    note(user, "delivery %llu chat %u\n", (unsigned long long)delivery->outbox_id,
         delivery->chat->id);
    return SMA_ERR_OK;
}

static enum sma_err note_open(void *user, const struct sma_state_message *message)
{
    note(user, "open %llu %.*s\n", (unsigned long long)message->seq, (int)message->event_key.len,
         message->event_key.ptr);
    return SMA_ERR_OK;
}

struct note_chats
{
    struct digest *digest;
    struct sma_state *state;
};
static enum sma_err note_chat(void *user, struct sma_state_chat *chat)
{
    struct note_chats *notes = user;
    note(notes->digest,
         "chat %u %.*s stop %llu clear %llu generation %u plan %.*s place %.*s has %d", chat->id,
         (int)chat->key.len, chat->key.ptr, (unsigned long long)chat->stop_mark,
         (unsigned long long)chat->clear_mark, chat->generation, (int)chat->rotation.len,
         chat->rotation.ptr, (int)chat->place.len, chat->place.ptr,
         sma_state_has_past(notes->state, chat));
    enum sma_err err = sma_state_each_turn(notes->state, chat, UINT64_MAX >> 20, 100, 1 << 20,
                                           note_turn, notes->digest);
    note(notes->digest, "\n");
    return err;
}

static void digest_of(struct sma_state *state, struct digest *digest)
{
    digest->len = 0;
    note(digest, "next %llu claims %llu open %llu\n", (unsigned long long)sma_state_next_seq(state),
         (unsigned long long)sma_state_claim_count(state),
         (unsigned long long)sma_state_open_count(state));
    CHECK_OK(each_chat(state, note_chat, &(struct note_chats){digest, state}));
    CHECK_OK(each_open(state, note_open, digest));
    CHECK_OK(sma_state_each_outbox_open(state, note_delivery, digest));
    for (uint64_t seq = 1; seq < sma_state_next_seq(state); seq++) {
        struct sma_state_head head;
        uint32_t last = 0;
        CHECK_OK(sma_state_head_get(state, seq, &head));
        CHECK_OK(sma_state_step_last(state, seq, &last));
        note(digest, "row %llu %.*s state %d steps %u claimed %d\n", (unsigned long long)seq,
             (int)head.event_key.len, head.event_key.ptr, head.state, last,
             sma_state_claim_find(state, head.claim_id, 0, head.event_key, &head) == SMA_ERR_OK);
    }
    for (char name[2] = "a"; name[0] < 'e'; name[0]++) {
        struct sma_state_contact contact;
        if (sma_state_contact_find(state, SMA_STR("test"), sma_str(name), &contact) == SMA_ERR_OK)
            note(digest, "contact %s %.*s\n", name, (int)contact.chat_id.len, contact.chat_id.ptr);
    }
}

/* -- chance ------------------------------------------------------------------------------------ */
struct dice
{
    uint64_t word;
};

static void dice_init(struct dice *random, uint64_t seed)
{
    random->word = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static uint32_t dice_below(struct dice *random, uint32_t end)
{
    random->word ^= random->word << 13;
    random->word ^= random->word >> 7;
    random->word ^= random->word << 17;
    return (uint32_t)(random->word >> 20) % end;
}

/* -- items ------------------------------------------------------------------------------------- */
static const char *chat_name(struct dice *random)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    return names[dice_below(random, SMA_COUNT_OF(names))];
}

static uint64_t some_seq(struct sma_state *state, struct dice *random)
{
    return 1 + dice_below(random, (uint32_t)sma_state_next_seq(state));
}

static enum sma_err change_chat(struct sma_state *state, struct dice *random,
                                struct sma_state_chat *chat)
{
    static const char *const plans[] = {"plan", "another plan", "a third plan"};
    switch (dice_below(random, 4)) {
    case 0:
        return sma_state_chat_set_rotation(state, chat, sma_str(plans[dice_below(random, 3)]));
    case 1:
        return sma_state_chat_set_generation(state, chat, chat->generation + 1);
    case 2:
        return sma_state_chat_set_stop_mark(state, chat, some_seq(state, random));
    default:
        return sma_state_chat_set_clear_mark(state, chat, some_seq(state, random) / 4);
    }
}

static enum sma_err move_chat(struct sma_state *state, struct sma_state_chat *chat,
                              const char *other_key)
{
    struct sma_state_chat *other = NULL;
    enum sma_err err = sma_state_chat_open(state, sma_str(other_key), SMA_STR("test"), &other);
    return err == SMA_ERR_OK && other != chat
               ? sma_state_chat_move(state, chat, other, SMA_STR("somewhere else"))
               : err;
}

/* One change; what cannot be done in this state is no failure of it. */
static enum sma_err change_something(struct sma_state *state, struct dice *random,
                                     const char *event)
{
    struct sma_state_chat *chat = NULL;
    enum sma_err err =
        sma_state_chat_open(state, sma_str(chat_name(random)), SMA_STR("test"), &chat);
    uint64_t seq = some_seq(state, random);
    if (err != SMA_ERR_OK)
        return err;
    struct sma_state_message message = message_of(chat, event, SMA_ROW_WAITING);
    struct sma_state_finish finish = {
        .seq = seq, .state = SMA_ROW_DONE, .turn = sma_str(event), .output = sma_str(event)};
    struct sma_state_delivery delivery = {.outbox_id = sma_state_outbox_id(seq, 1, 0),
                                          .chat = chat,
                                          .channel = SMA_STR("test"),
                                          .text = sma_str(event)};
    struct sma_state_contact contact = {.channel = SMA_STR("test"),
                                        .user_name = sma_str(chat_name(random)),
                                        .chat_id = sma_str(event),
                                        .chat_key = sma_str(event)};
    switch (dice_below(random, 9)) {
    case 0:
    case 1:
    case 2:
        return sma_state_accept(state, &message, &seq);
    case 3:
        err = sma_state_finish(state, &finish);
        break;
    case 4:
        err = sma_state_step_add(state, seq, 1 + dice_below(random, 3), 1, sma_str(event));
        break;
    case 5:
        err = sma_state_outbox_add(state, &delivery);
        break;
    case 6:
        err = change_chat(state, random, chat);
        break;
    case 7:
        err = sma_state_contact_put(state, &contact);
        break;
    default:
        err = dice_below(random, 8) == 0 ? move_chat(state, chat, chat_name(random)) : SMA_ERR_OK;
    }
    return err == SMA_ERR_EXISTS || err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

/* Some changes, always the same for one seed and one state. */
static enum sma_err do_item(struct sma_state *state, uint64_t seed)
{
    struct dice random;
    dice_init(&random, seed);
    uint32_t count = 1 + dice_below(&random, 6);
    enum sma_err err = SMA_ERR_OK;
    for (uint32_t i = 0; i < count && err == SMA_ERR_OK; i++) {
        char event[32];
        snprintf(event, sizeof event, "%llu.%u", (unsigned long long)seed, i);
        err = change_something(state, &random, event);
    }
    return err;
}

/* With undone items, or as if they had never been. */
static void do_batch(struct sma_state *state, uint64_t seed, bool is_with_undone)
{
    struct dice random;
    dice_init(&random, seed);
    CHECK_OK(sma_state_begin(state));
    for (uint64_t i = 0; i < 12; i++) {
        uint32_t kind = dice_below(&random, 4);
        if (kind == 0) {
            CHECK_OK(do_item(state, seed * 100 + i));
        } else if (kind == 1) {
            CHECK_OK(sma_state_savepoint(state));
            CHECK_OK(do_item(state, seed * 100 + i));
            CHECK_OK(sma_state_savepoint_keep(state));
        } else if (is_with_undone) {
            CHECK_OK(sma_state_savepoint(state));
            CHECK_OK(do_item(state, seed * 100 + i));
            CHECK_OK(sma_state_savepoint_back(state));
        }
    }
}

/* -- tests ------------------------------------------------------------------------------------- */
CASE(an_undone_item_is_as_if_it_had_never_been)
{
    static struct digest with, without;
    for (uint64_t run = 1; run <= 15; run++) {
        struct fixture f, g;
        fixture_init(&f);
        fixture_init(&g);
        fixture_open(&f);
        fixture_open(&g);
        for (uint64_t batch = 0; batch < 6; batch++) {
            do_batch(f.state, run * 10 + batch, true);
            do_batch(g.state, run * 10 + batch, false);
            digest_of(f.state, &with);
            digest_of(g.state, &without);
            CHECK_STR(without.text, ((struct sma_str){with.text, with.len}));
            if (batch == 2) {
                sma_state_rollback(f.state);
                sma_state_rollback(g.state);
            } else {
                CHECK_OK(sma_state_commit(f.state));
                CHECK_OK(sma_state_commit(g.state));
            }
            if (batch == 4) {
                fixture_reopen(&f, false);
                fixture_reopen(&g, true);
            }
            digest_of(f.state, &with);
            digest_of(g.state, &without);
            CHECK_STR(without.text, ((struct sma_str){with.text, with.len}));
        }
        fixture_fini(&f);
        fixture_fini(&g);
    }
}

/* A row of 16 KB where SQLite takes 10: what it says about one of more than a gigabyte. */
CASE(a_change_that_is_refused_concerns_its_item_alone)
{
    static char big[8000];
    memset(big, 'x', sizeof big);
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    (void)sqlite3_limit(f.state->db, SQLITE_LIMIT_LENGTH, 10000);
    CHECK_OK(sma_state_begin(f.state));
    uint64_t seq = accept_event(f.state, "a", "first", SMA_ROW_WAITING);
    CHECK_OK(sma_state_savepoint(f.state));
    (void)accept_event(f.state, "b", "second", SMA_ROW_WAITING);
    struct sma_state_message message =
        message_of(chat_named(f.state, "a"), "first", SMA_ROW_WAITING);
    message.seq = seq;
    message.line = message.facts = (struct sma_str){big, sizeof big};
    CHECK_ERR(SMA_ERR_TOOBIG, sma_state_upgrade(f.state, &message));
    CHECK_ERR(SMA_ERR_TOOBIG, sma_state_set_attempt(f.state, seq, 3)); /* nothing more for now */
    CHECK_ERR(SMA_ERR_TOOBIG, sma_state_savepoint_keep(f.state));
    CHECK_OK(sma_state_savepoint_back(f.state));
    CHECK(sma_state_chat_get(f.state, SMA_STR("b")) == NULL);
    CHECK_OK(sma_state_set_attempt(f.state, seq, 2));
    CHECK_OK(sma_state_commit(f.state));
    fixture_reopen(&f, false);
    struct sma_state_head head;
    CHECK_OK(sma_state_head_get(f.state, seq, &head));
    CHECK_INT(2, head.attempt);
    CHECK_INT(1, sma_state_open_count(f.state));
    CHECK(is_claimed(f.state, "a", "first") && !is_claimed(f.state, "b", "second"));
}

CASE(a_row_that_stands_there_already_concerns_its_item_alone)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    uint64_t seq = accept_event(f.state, "a", "first", SMA_ROW_WAITING);
    CHECK_OK(sma_state_savepoint(f.state));
    f.state->next_seq = seq; /* as after a damage */
    struct sma_state_message message =
        message_of(chat_named(f.state, "a"), "second", SMA_ROW_WAITING);
    CHECK_ERR(SMA_ERR_BADINPUT, sma_state_accept(f.state, &message, &seq));
    CHECK_OK(sma_state_savepoint_back(f.state));
    CHECK_INT(2, sma_state_next_seq(f.state));
    CHECK_OK(sma_state_commit(f.state));
    CHECK(is_claimed(f.state, "a", "first"));
}

static enum sma_err open_facts(void *user, const struct sma_state_message *message)
{
    (void)user;
    (void)message;
    return SMA_ERR_OK;
}

CASE(a_damaged_row_can_be_met_without_harm)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    uint64_t bad = accept_event(f.state, "a", "first", SMA_ROW_WAITING);
    uint64_t good = accept_event(f.state, "b", "second", SMA_ROW_WAITING);
    CHECK_OK(sma_state_commit(f.state));
    CHECK_INT(SQLITE_OK, sqlite3_exec(f.state->db, "UPDATE messages SET chat=77 WHERE seq=1", NULL,
                                      NULL, NULL));
    CHECK_OK(sma_state_begin(f.state));
    CHECK_OK(sma_state_savepoint(f.state));
    struct sma_state_finish finish = {.seq = bad, .state = SMA_ROW_DONE};
    CHECK_ERR(SMA_ERR_CORRUPT, sma_state_message_get(f.state, bad, open_facts, NULL));
    CHECK_ERR(SMA_ERR_CORRUPT, sma_state_finish(f.state, &finish));
    CHECK_OK(sma_state_savepoint_back(f.state));
    CHECK_OK(sma_state_set_row_state(f.state, bad, SMA_ROW_FAILED));
    finish.seq = good;
    CHECK_OK(sma_state_finish(f.state, &finish));
    CHECK_OK(sma_state_commit(f.state));
    CHECK(!sma_state_is_fatal(f.state));
    CHECK_INT(0, sma_state_open_count(f.state));
}

CASE(an_item_without_changes_costs_nothing)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    struct sma_state_counts before, after;
    sma_state_counts(f.state, &before);
    CHECK_OK(sma_state_begin(f.state));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(sma_state_savepoint(f.state));
        CHECK_OK(i == 1 ? sma_state_savepoint_back(f.state) : sma_state_savepoint_keep(f.state));
    }
    CHECK(!f.state->is_begun);
    CHECK_OK(sma_state_commit(f.state));
    sma_state_counts(f.state, &after);
    CHECK_INT(before.commits, after.commits);
}

CASE(claims_of_an_undone_item_are_not_written)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    for (int i = 1; i < SMA_STATE_BLOCK_COUNT; i++) {
        char event[16];
        snprintf(event, sizeof event, "%d", i);
        accept_event(f.state, "a", event, SMA_ROW_DONE);
    }
    CHECK_OK(sma_state_savepoint(f.state));
    accept_event(f.state, "a", "undone", SMA_ROW_DONE);
    CHECK_OK(sma_state_savepoint_back(f.state));
    accept_event(f.state, "a", "last", SMA_ROW_DONE);
    CHECK_OK(sma_state_commit(f.state)); /* a generation is full */
    fixture_reopen(&f, true);
    CHECK_INT(SMA_STATE_BLOCK_COUNT, sma_state_claim_count(f.state));
    CHECK(is_claimed(f.state, "a", "last") && !is_claimed(f.state, "a", "undone"));
}

/* -- weather and death ------------------------------------------------------------------------- */
static int calls_until_action;
static enum sma_state_vfs_action action;

static enum sma_state_vfs_action act(enum sma_state_vfs_role role, enum sma_state_vfs_call call,
                                     bool is_wal)
{
    (void)role;
    if (!is_wal || call != SMA_STATE_VFS_WRITE || calls_until_action == 0 ||
        --calls_until_action > 0)
        return SMA_STATE_VFS_PASS;
    return action;
}

/* Pages go to the WAL in the middle of the transaction, so that items meet failures, too. */
static void shrink_cache(struct sma_state *state)
{
    CHECK_INT(SQLITE_OK, sqlite3_exec(state->db, "PRAGMA cache_size=4; PRAGMA cache_spill=1", NULL,
                                      NULL, NULL));
}

static void big_row(struct sma_state *state, const char *event)
{
    static char big[5000];
    memset(big, 'x', sizeof big);
    struct sma_state_message message = message_of(NULL, event, SMA_ROW_WAITING);
    uint64_t seq;
    enum sma_err err = sma_state_chat_open(state, SMA_STR("big"), SMA_STR("test"), &message.chat);
    message.facts = (struct sma_str){big, sizeof big};
    if (err == SMA_ERR_OK)
        err = sma_state_accept(state, &message, &seq);
    (void)err; /* seen again by the savepoint */
}

/* Two kept rows and an undone one. @return of the first that fails */
static enum sma_err do_big_batch(struct sma_state *state)
{
    enum sma_err err = sma_state_begin(state);
    if (err == SMA_ERR_OK)
        big_row(state, "first");
    for (int i = 0; i < 3 && err == SMA_ERR_OK; i++) {
        static const char *const events[] = {"second", "undone", "third"};
        err = sma_state_savepoint(state);
        if (err == SMA_ERR_OK)
            big_row(state, events[i]);
        if (err == SMA_ERR_OK)
            err = i == 1 ? sma_state_savepoint_back(state) : sma_state_savepoint_keep(state);
    }
    if (err == SMA_ERR_OK)
        return sma_state_commit(state);
    sma_state_rollback(state);
    return err;
}

static void check_batch(struct sma_state *state, bool is_done)
{
    CHECK_INT(is_done ? 3 : 0, sma_state_open_count(state));
    CHECK_INT(is_done ? 4 : 1, sma_state_next_seq(state));
    CHECK(is_claimed(state, "big", "first") == is_done);
    CHECK(is_claimed(state, "big", "second") == is_done);
    CHECK(is_claimed(state, "big", "third") == is_done);
    CHECK(!is_claimed(state, "big", "undone"));
}

static bool fails_at(int n, enum sma_state_vfs_action how, enum sma_err expected)
{
    struct fixture f;
    fixture_init(&f);
    f.is_durable = true;
    fixture_open(&f);
    shrink_cache(f.state);
    action = how;
    calls_until_action = n;
    enum sma_err err = do_big_batch(f.state);
    bool has_failed = calls_until_action == 0;
    calls_until_action = 0;
    if (has_failed) {
        CHECK_ERR(expected, err);
        CHECK(!sma_state_is_fatal(f.state));
        check_batch(f.state, false);
        err = do_big_batch(f.state);
    }
    CHECK_OK(err);
    check_batch(f.state, true);
    fixture_reopen(&f, false);
    check_batch(f.state, true);
    fixture_fini(&f);
    return has_failed;
}

CASE(weather_in_an_item_undoes_the_batch)
{
    sma_state_vfs_set_hook(act);
    int full = 1, broken = 1;
    while (fails_at(full, SMA_STATE_VFS_FAIL_FULL, SMA_ERR_NOSPACE))
        full++;
    while (fails_at(broken, SMA_STATE_VFS_FAIL_IO, SMA_ERR_IO))
        broken++;
    sma_state_vfs_set_hook(NULL);
    CHECK(full > 30 && full == broken);
}

/* @return false: it lived */
static bool dies_at(int n)
{
    struct fixture f;
    fixture_new(&f);
    sma_state_close(f.state, true);
    f.state = NULL;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        fixture_open(&f);
        shrink_cache(f.state);
        action = SMA_STATE_VFS_DIE;
        calls_until_action = n;
        _exit(do_big_batch(f.state) == SMA_ERR_OK ? 0 : 1);
    }
    int status = 0;
    CHECK_INT(child, waitpid(child, &status, 0));
    CHECK(WIFEXITED(status));
    bool is_dead = WEXITSTATUS(status) == SMA_STATE_VFS_EXIT_STATUS;
    CHECK(is_dead || WEXITSTATUS(status) == 0);
    fixture_open(&f);
    check_batch(f.state, !is_dead);
    if (is_dead)
        CHECK_OK(do_big_batch(f.state));
    check_batch(f.state, true);
    fixture_fini(&f);
    return is_dead;
}

CASE(death_in_an_item_leaves_nothing_of_the_batch)
{
    sma_state_vfs_set_hook(act);
    int n = 1;
    while (dies_at(n))
        n++;
    sma_state_vfs_set_hook(NULL);
    CHECK(n > 30);
}

CASES_MAIN
