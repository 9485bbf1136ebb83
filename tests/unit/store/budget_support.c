/* budget_support.c — budgets, and what is spent of them. */
#include "budget_support.h"

uint64_t ask_db(struct world *world, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(world->store->state->db, sql, -1, &stmt, NULL));
    CHECK_INT(SQLITE_ROW, sqlite3_step(stmt));
    uint64_t number = (uint64_t)sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return number;
}

const char *said(struct world *world)
{
    static char text[4096];
    static uint64_t seen;
    sqlite3_stmt *stmt = NULL;
    drop_kept(&world->dispatcher);
    uint64_t newest = ask_db(world, "SELECT coalesce(max(id),0) FROM outbox");
    text[0] = '\0';
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(world->store->state->db,
                                            "SELECT text FROM outbox ORDER BY id DESC LIMIT 1", -1,
                                            &stmt, NULL));
    if (newest != seen && sqlite3_step(stmt) == SQLITE_ROW)
        snprintf(text, sizeof text, "%s", (const char *)sqlite3_column_text(stmt, 0));
    (void)sqlite3_finalize(stmt);
    seen = newest;
    return text;
}

void use_step(struct world *world, uint64_t seq, uint32_t number, uint64_t tokens)
{
    struct sma_step body = {.seq = seq,
                            .number = number,
                            .kind = SMA_STEP_ANSWER,
                            .data = SMA_STR("step data"),
                            .usage = {.request_count = tokens > 0,
                                      .input = tokens - tokens / 4,
                                      .output = tokens / 4,
                                      .cost_nano = tokens * 10},
                            .target = SMA_STR("chat h m")};
    ask_as_agent(world, sma_msg_make_step(&body));
}

void use_done(struct world *world, uint64_t seq, uint64_t tokens, uint8_t outcome)
{
    struct sma_done body = {
        .seq = seq,
        .outcome = outcome,
        .output = SMA_STR("ok"),
        .tool_calls_json = SMA_STR("[]"),
        .turn = SMA_STR("{}"),
        .wire = SMA_STR("chat"),
        .usage = {.request_count = tokens > 0, .input = tokens, .cost_nano = tokens * 10},
        .target = SMA_STR("chat h m")};
    ask_as_agent(world, sma_msg_make_done(&body));
}

struct sma_budget_over step_over(struct world *world)
{
    struct sma_msg *msg = take(&world->agent, SMA_MSG_STEP_DONE);
    CHECK(msg != NULL);
    CHECK_INT(SMA_STEP_DURABLE, SMA_MSG_BODY(msg, struct sma_step_done)->verdict);
    struct sma_budget_over over = SMA_MSG_BODY(msg, struct sma_step_done)->over;
    sma_msg_destroy(msg);
    return over;
}

void check_shares(struct world *world)
{
    const struct store_budget *budget = world->store->budget;
    struct sma_state_spent persons = {0};
    uint64_t chats = 0;
    CHECK_INT((long long)ask_db(world, "SELECT count(*) FROM shares"),
              (long long)budget->total.share_count);
    CHECK_INT((long long)ask_db(world, "SELECT count(*) FROM shares"),
              (long long)budget->shares.count);
    CHECK_INT((long long)ask_db(world, "SELECT coalesce(sum(tokens),0) FROM shares"),
              (long long)budget->total.sum.tokens);
    CHECK_INT((long long)ask_db(world, "SELECT coalesce(sum(cost),0) FROM shares"),
              (long long)budget->total.sum.cost_nano);
    CHECK_INT((long long)ask_db(world, "SELECT coalesce(sum(runs),0) FROM shares"),
              (long long)budget->total.sum.runs);
    CHECK_INT(0, (long long)ask_db(world, "SELECT count(*) FROM shares WHERE NOT EXISTS (SELECT 1 "
                                          "FROM messages WHERE seq=shares.seq AND state IN "
                                          "(2,3,4))"));
    /* person, chat, platform: each has all of it. */
    for (uint32_t i = 0; i < budget->reserved.cap; i++) {
        const struct store_reserved *reserved =
            budget->reserved.keys[i] == 0 ? NULL : budget->reserved.values[i];
        if (reserved == NULL)
            continue;
        CHECK(reserved->share_count > 0);
        persons.tokens += reserved->sum.tokens;
        chats += reserved->share_count;
    }
    CHECK_INT((long long)budget->total.sum.tokens * 3, (long long)persons.tokens);
    CHECK_INT((long long)budget->total.share_count * 3, (long long)chats);
}

void check_spent(struct world *world)
{
    uint64_t all = ask_db(world, "SELECT coalesce(sum(input+cached+written+output),0) FROM usage");
    for (int scope = SMA_BUDGET_PERSON; scope < SMA_BUDGET_SCOPE_COUNT; scope++) {
        char sql[96];
        snprintf(sql, sizeof sql, "SELECT coalesce(sum(tokens),0) FROM spent WHERE scope=%d",
                 scope);
        CHECK_INT((long long)all, (long long)ask_db(world, sql));
    }
}

void set_zone(const char *zone)
{
    CHECK(setenv("TZ", zone, 1) == 0);
    tzset();
}

void set_clock(struct world *world, int year, int month, int day, int hour, int minute)
{
    struct tm local = {.tm_year = year - 1900,
                       .tm_mon = month - 1,
                       .tm_mday = day,
                       .tm_hour = hour,
                       .tm_min = minute,
                       .tm_isdst = -1};
    int64_t now = sma_ctx_wall(sma_system_ctx(world->system, SMA_ACTOR_STORE));
    sma_sim_shift_wall(world->system, (int64_t)mktime(&local) * 1000 - now);
}

/* SIGHUP with world->config as it is now; on its way. */
static void send_reload(struct world *world)
{
    struct sma_msg *msg = sma_msg_make_reload(&(struct sma_reload){.config = &world->config});
    CHECK_OK(
        sma_ctx_send(sma_system_ctx(world->system, SMA_ACTOR_SUPERVISOR), SMA_ACTOR_STORE, &msg));
}

void reload(struct world *world)
{
    send_reload(world);
    run(world);
}
