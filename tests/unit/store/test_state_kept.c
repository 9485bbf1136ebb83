/*
 * Aim: what is over leaves nothing on disk, and a start reads nothing of it. Method: rows counted
 * through a connection of the test's own; pages counted by SQLite, of two databases that differ in
 * finished work only.
 */
#include "state_support.h"

#include "runtime/chat/state_priv.h"

static unsigned count_rows(const struct fixture *f, const char *table)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    char sql[64];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    CHECK_INT(SQLITE_OK, sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READWRITE, NULL));
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(db, sql, -1, &stmt, NULL));
    CHECK_INT(SQLITE_ROW, sqlite3_step(stmt));
    unsigned count = (unsigned)sqlite3_column_int(stmt, 0);
    CHECK_INT(SQLITE_OK, sqlite3_finalize(stmt));
    CHECK_INT(SQLITE_OK, sqlite3_close(db));
    return count;
}

/* In the open transaction: a message was answered. */
static uint64_t answer_one(struct fixture *f, const char *chat, unsigned number, unsigned bytes)
{
    char event[32], text[4096];
    CHECK(bytes < sizeof text);
    memset(text, 't', bytes);
    snprintf(event, sizeof event, "e%u", number);
    uint64_t seq = accept_event(f->state, chat, event, SMA_ROW_RUNNING);
    CHECK_OK(sma_state_step_add(f->state, seq, 1, 1, SMA_STR("step")));
    struct sma_state_delivery delivery = {.outbox_id = sma_state_outbox_id(seq, 1, 1),
                                          .chat = chat_named(f->state, chat),
                                          .channel = SMA_STR("test"),
                                          .text = {text, bytes}};
    CHECK_OK(sma_state_outbox_add(f->state, &delivery));
    delivery.state = 2; /* sent */
    CHECK_OK(sma_state_outbox_update(f->state, &delivery));
    CHECK_OK(sma_state_finish(f->state, &(struct sma_state_finish){.seq = seq,
                                                                   .state = SMA_ROW_DONE,
                                                                   .output = {text, bytes},
                                                                   .tool_calls_json = SMA_STR("[]"),
                                                                   .wire = SMA_STR("chat"),
                                                                   .turn = {text, bytes}}));
    return seq;
}

static void answer_many(struct fixture *f, unsigned count, unsigned bytes)
{
    for (unsigned done = 0; done < count;) {
        CHECK_OK(sma_state_begin(f->state));
        uint64_t seq = 0;
        for (unsigned i = 0; i < 500 && done < count; i++, done++) {
            char chat[16];
            snprintf(chat, sizeof chat, "chat-%u", done % 50);
            seq = answer_one(f, chat, done, bytes);
        }
        CHECK_OK(sma_state_commit(f->state));
        sma_state_set_history_flushed(f->state, seq);
    }
}

CASE(what_expires_leaves_no_row)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    answer_many(&f, 4096, 8);
    CHECK_INT(4096, count_rows(&f, "messages"));
    CHECK_INT(4096, count_rows(&f, "runs"));
    CHECK_INT(4096, count_rows(&f, "outbox"));
    sma_state_set_claim_bounds(f.state, 0, SMA_CLAIM_COUNT_MAX, 0);
    for (int slice = 0; slice < 8; slice++) {
        uint32_t removed;
        CHECK_OK(sma_state_begin(f.state));
        CHECK_OK(sma_state_expire(f.state, 1024, &removed));
        CHECK_OK(sma_state_commit(f.state));
    }
    CHECK_INT(0, (long long)sma_state_claim_count(f.state));
    static const char *const tables[] = {"messages", "runs", "outbox", "claims", "steps"};
    for (size_t i = 0; i < SMA_COUNT_OF(tables); i++)
        CHECK_INT(0, count_rows(&f, tables[i]));
}

CASE(old_turns_go_from_the_disk)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    /* Some may stay for a while, so that rows go several at a time; not as many as ever were. */
    const unsigned room = SMA_STATE_TURN_COUNT_MAX + 64;
    for (unsigned i = 0; i < 2 * room; i++) {
        CHECK_OK(sma_state_begin(f.state));
        (void)answer_one(&f, "chat", i, 8);
        CHECK_OK(sma_state_commit(f.state));
    }
    CHECK(count_rows(&f, "turns") <= room);
    CHECK(count_rows(&f, "turns") >= SMA_STATE_TURN_COUNT_MAX);
}

static unsigned pages_of_start(struct fixture *f)
{
    int pages = 0, most = 0;
    unsigned open_count = 0;
    fixture_reopen(f, true);
    fixture_reopen(f, true);
    CHECK_OK(each_open(f->state, count_row, &open_count)); /* as the store does */
    CHECK_OK(sma_state_each_outbox_open(f->state, count_delivery, &open_count));
    CHECK_INT(0, open_count);
    CHECK_INT(SQLITE_OK,
              sqlite3_db_status(f->state->db, SQLITE_DBSTATUS_CACHE_MISS, &pages, &most, 0));
    return (unsigned)pages;
}

/* Claims are read, 14 bytes each. Of results, turns and deliveries that are over, not one page. */
CASE(a_start_reads_nothing_of_what_is_over)
{
    enum
    {
        FEW = 4096,
        MANY =
            5 *
            4096, /* whole generations of claims: the tail above the last one is read in any case */
        CLAIM_BYTES = 14,
    };
    unsigned pages[2];
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        fixture_new(&f);
        answer_many(&f, i == 0 ? FEW : MANY, 1200);
        pages[i] = pages_of_start(&f);
        fixture_fini(&f);
    }
    unsigned of_claims = (MANY - FEW) * CLAIM_BYTES / SMA_STATE_PAGE_BYTES;
    fprintf(stderr, "   pages of a start: %u after %u answers, %u after %u\n", pages[0], FEW,
            pages[1], MANY);
    CHECK(pages[1] <= pages[0] + 2 * of_claims);
}

CASES_MAIN
