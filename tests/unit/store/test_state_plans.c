/*
 * Aim: no statement reads or sorts a table that grows, whatever a year puts into it.
 * Method: EXPLAIN QUERY PLAN of every statement; what may scan or sort all the same is listed here
 * with its reason.
 */
#include "runtime/chat/state_priv.h"
#include "state_support.h"

struct permission
{
    const char *name, *step, *reason;
};
static const struct permission permissions[] = {
    {"CHAT_MOVED", "SCAN chats USING INDEX chats_moved",
     "the index has records of former keys only"},
    {"CHAT_MOVED", "USE TEMP B-TREE FOR ORDER BY", "of records of former keys only"},
    {"ASIDE_EACH", "SCAN asides", "at start: chats whose files cannot be used are in memory"},
    {"BLOCK_EACH", "SCAN claims", "at start: all claims are in memory"},
    {"OUTBOX_OPEN", "USE TEMP B-TREE FOR ORDER BY", "of open deliveries only"},
    {"ASKED_EACH", "SCAN a USING INDEX approvals_open", "the index has open requests only"},
    {"MESSAGE_AUTHORS", "SCAN messages", "once: whoever wrote before people were known"},
    {"MESSAGE_AUTHORS", "USE TEMP B-TREE FOR DISTINCT",
     "once: whoever wrote before people were known"},
    {"WAIT_SWEEP", "SCAN waits", "at start: parked runs only"},
    {"WAIT_EACH", "SCAN waits", "at start: parked runs only"},
    {"LEARNED_CUT_TARGETS", "SCAN learned", "SMA_LEARNED_* bound the table"},
    {"LEARNED_CUT_TARGETS", "USE TEMP B-TREE FOR ORDER BY", "SMA_LEARNED_* bound the table"},
    {"LEARNED_CUT_MEMBERS", "USE TEMP B-TREE FOR ORDER BY", "SMA_LEARNED_* bound the table"},
    {"LEARNED_FORGET", "SCAN learned", "SMA_LEARNED_* bound the table"},
    {"LEARNED_EACH", "SCAN learned", "SMA_LEARNED_* bound the table"},
    {"USAGE_BY_CHAT", "USE TEMP B-TREE FOR GROUP BY", "somebody asks for sums of some days"},
    {"USAGE_BY_CHAT", "USE TEMP B-TREE FOR ORDER BY", "of the sums"},
    {"USAGE_BY_PERSON", "USE TEMP B-TREE FOR GROUP BY", "somebody asks for sums of some days"},
    {"USAGE_BY_PERSON", "USE TEMP B-TREE FOR ORDER BY", "of the sums"},
    {"USAGE_BY_PLATFORM", "USE TEMP B-TREE FOR GROUP BY", "somebody asks for sums of some days"},
    {"USAGE_BY_PLATFORM", "USE TEMP B-TREE FOR ORDER BY", "of the sums"},
    {"USAGE_BY_TARGET", "USE TEMP B-TREE FOR GROUP BY", "somebody asks for sums of some days"},
    {"USAGE_BY_TARGET", "USE TEMP B-TREE FOR ORDER BY", "of the sums"},
    {"SPENT_FILL_PERSONS", "USE TEMP B-TREE FOR GROUP BY", "once, when budgets are set"},
    {"SPENT_FILL_PLATFORMS", "USE TEMP B-TREE FOR GROUP BY", "once, when budgets are set"},
    {"SHARE_SWEEP", "SCAN shares", "at start: open messages only"},
    {"SHARE_EACH", "SCAN shares", "at start: open messages only"},
};

static const struct
{
    const char *name, *sql;
} statements[] = {
#define X(name, sql) {#name, sql},
    SMA_STATE_SQL_MAP(X)
#undef X
};

static bool is_suspect(const char *step)
{
    return strncmp(step, "SCAN ", 5) == 0 || strstr(step, "TEMP B-TREE") != NULL ||
           strstr(step, "AUTOMATIC") != NULL;
}

static bool is_permitted(const char *name, const char *step)
{
    for (size_t i = 0; i < SMA_COUNT_OF(permissions); i++)
        if (strcmp(permissions[i].name, name) == 0 && strcmp(permissions[i].step, step) == 0)
            return true;
    return false;
}

/* @return how many steps are neither a search nor permitted */
static unsigned look_at(sqlite3 *db, const char *name, const char *sql)
{
    char explain[2048];
    unsigned bad = 0;
    snprintf(explain, sizeof explain, "EXPLAIN QUERY PLAN %s", sql);
    sqlite3_stmt *stmt = NULL;
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(db, explain, -1, &stmt, NULL));
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(stmt, 3);
        if (!is_suspect(step) || is_permitted(name, step))
            continue;
        fprintf(stderr, "   %s: %s\n", name, step);
        bad++;
    }
    (void)sqlite3_finalize(stmt);
    return bad;
}

CASE(no_statement_reads_a_table_that_grows)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    unsigned bad = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(statements); i++)
        bad += look_at(f.state->db, statements[i].name, statements[i].sql);
    CHECK_INT(0, bad);
}

CASE(every_permission_is_needed)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    for (size_t i = 0; i < SMA_COUNT_OF(permissions); i++) {
        bool is_used = false;
        for (size_t j = 0; j < SMA_COUNT_OF(statements); j++) {
            char explain[2048];
            sqlite3_stmt *stmt = NULL;
            if (strcmp(statements[j].name, permissions[i].name) != 0)
                continue;
            snprintf(explain, sizeof explain, "EXPLAIN QUERY PLAN %s", statements[j].sql);
            CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(f.state->db, explain, -1, &stmt, NULL));
            while (sqlite3_step(stmt) == SQLITE_ROW)
                is_used = is_used || strcmp((const char *)sqlite3_column_text(stmt, 3),
                                            permissions[i].step) == 0;
            (void)sqlite3_finalize(stmt);
        }
        if (!is_used)
            fprintf(stderr, "   %s: %s\n", permissions[i].name, permissions[i].step);
        CHECK(is_used);
    }
}

CASES_MAIN
