/*
 * Aim: what is asked and permitted elsewhere costs nobody anything, however much it is; what of it is damaged concerns its
 * own run and chat only.
 * Method: as test_store_approval; SQL between two lives of the program makes many rows, or bad ones. Bounds of time are
 * some ten times what is needed under the sanitizers, and a tenth of what one walk over all for each takes.
 */
#include "approval_support.h"

#include <sqlite3.h>
#include <time.h>

static struct world w;

static void execute(const char *sql)
{
    sqlite3 *db;
    char *error = NULL;
    char path[256];
    snprintf(path, sizeof path, "%s/state.db", w.state_dir);
    CHECK_INT(SQLITE_OK, sqlite3_open(path, &db));
    if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
        CHECK_TEXT("", error);
    CHECK_INT(SQLITE_OK, sqlite3_close(db));
}

/* The next life of the program finds what the SQL has made. */
static void live_again_with(const char *sql)
{
    stop_world(&w);
    close_system(&w);
    execute(sql);
    open_world(&w);
}

static double cpu_s(void)
{
    struct timespec at;
    CHECK_INT(0, clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at));
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

/* The permissions of the next run of this chat: "rule,rule," */
static const char *permitted(const char *chat, const char *id)
{
    static char text[1024];
    size_t len = 0;
    text[0] = '\0';
    say(&w, chat, id, "next");
    run(&w);
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    for (uint32_t i = 0; i < order->grant_count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%.*s,",
                                (int)order->grants[i].rule.len, order->grants[i].rule.ptr);
    done(&w, order->seq, "", NULL, 0);
    sma_msg_destroy(msg);
    run(&w);
    return text;
}

static void permit_in(const char *chat)
{
    (void)park(&w, chat, "g", one_command, 1);
    drop_kept(&w.test);
    CHECK_TEXT("Approved.",
               press(&w, chat, "boss", "gp", button(&w, open_id(&w), 0, SMA_CARD_ALWAYS)));
    uint64_t seq = run_seq(&w);
    CHECK(seq != 0);
    done(&w, seq, "", NULL, 0);
    run(&w);
}

static void permissions_of_others_cost_nobody_anything(void)
{
    open_people(&w);
    permit_in("a");
    double before = cpu_s();
    live_again_with("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<60000) "
                    "INSERT INTO grants(id,chat,created,until,tool,rule,person) SELECT "
                    "printf('%032x',i),i%5000+10,i,0,'exec_shell','=git push '||i,'Eve' FROM n");
    CHECK(cpu_s() - before < 5);
    before = cpu_s();
    for (int i = 0; i < 20; i++) {
        char id[16];
        snprintf(id, sizeof id, "n%d", i);
        CHECK_TEXT("=git push,", permitted("a", id));
        CHECK_TEXT("", permitted("b", id));
    }
    CHECK(cpu_s() - before < 2);
    end_world(&w);
}

static void a_damaged_permission_permits_nothing(void)
{
    open_people(&w);
    permit_in("a");
    permit_in("b");
    live_again_with("UPDATE grants SET until='soon',created=x'00',tool=7,rule=x'ff00' WHERE chat="
                    "(SELECT id FROM chats WHERE key='test:chat:a')");
    CHECK_TEXT("", permitted("a", "1"));
    CHECK_TEXT("=git push,", permitted("b", "1"));
    CHECK_INT(1, count_of(query(&w, SMA_QUERY_GRANTS, ""), "\"rule\""));
    live_again_with("UPDATE grants SET chat=99,until=0 WHERE tool='7'");
    CHECK_TEXT("", permitted("a", "2"));
    CHECK_TEXT("=git push,", permitted("b", "2"));
    end_world(&w);
}

int main(void)
{
    RUN(permissions_of_others_cost_nobody_anything);
    RUN(a_damaged_permission_permits_nothing);
    return check_summary();
}
