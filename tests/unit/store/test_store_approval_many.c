/*
 * Aim: what is asked and permitted elsewhere costs nobody anything, however much it is; what of it
 * is damaged concerns its own run and chat only.
 * Method: as test_store_approval; SQL between two lives of the program makes many rows, or bad
 * ones. Bounds of time are some ten times what is needed under the sanitizers, and a tenth of what
 * one walk over all for each takes.
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

AFTER_EACH(end_world(&w))

CASE(permissions_of_others_cost_nobody_anything)
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
}

CASE(a_damaged_permission_permits_nothing)
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
}

/* -- requests ---------------------------------------------------------------------------------- */
#define MANY 10000

/* Of a chat each, as park makes them. */
#define MAKE_MANY                                                                                  \
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<10000) "                 \
    "INSERT INTO chats(id,key,channel,generation,stop_mark,clear_mark) "                           \
    "SELECT 1000+i,'test:chat:m'||i,'test',0,0,0 FROM n;"                                          \
    "INSERT INTO messages(seq,chat,kind,state,attempt,generation,place,run,body,event,person,"     \
    "line,facts) SELECT 10000+c.id,c.id,m.kind,m.state,m.attempt,0,NULL,0,m.body,'e'||c.id,"       \
    "m.person,m.line,m.facts FROM chats c,messages m,approvals a WHERE m.seq=a.run AND c.id>1000;" \
    "INSERT INTO approvals(id,run,chat,state,step,created,left_ms,responded,request,doc) "         \
    "SELECT printf('%016x%016x',c.id*1000003,c.id),10000+c.id,c.id,0,a.step,a.created,3600000,0,"  \
    "a.request,a.doc FROM chats c,approvals a WHERE c.id>1000;"                                    \
    "INSERT INTO meta(name,value) SELECT 'x',1 WHERE 0"

static void fail_a_commit(void)
{
    sma_store_fail_batch(w.store, SMA_ERR_NOSPACE);
    pass(&w, 2);
}

CASE(requests_of_others_cost_nobody_anything)
{
    char id[64];
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    show_all(&w);
    snprintf(id, sizeof id, "%s", open_id(&w));
    double before = cpu_s();
    live_again_with(MAKE_MANY);
    CHECK_INT(MANY + 1, w.store->consent->count);
    double start_s = cpu_s() - before;
    CHECK(start_s < 20);
    before = cpu_s();
    for (int i = 0; i < 3; i++)
        fail_a_commit();
    CHECK_INT(MANY + 1, w.store->consent->count);
    CHECK(cpu_s() - before < 20);
    before = cpu_s();
    CHECK_TEXT("Approved.", press(&w, "a", "boss", "p", button(&w, id, 0, SMA_CARD_APPROVE)));
    CHECK_TEXT("0:yes:;", resumed(&w, seq));
    for (int i = 0; i < 20; i++) { /* in a chat that waits, and in others */
        char event[16];
        snprintf(event, sizeof event, "n%d", i);
        say(&w, "m77", event, "what now");
        say(&w, "b", event, "hello");
        run(&w);
    }
    CHECK(cpu_s() - before < 2);
}

/* -- damage ------------------------------------------------------------------------------------ */
/* Each ends in the number of the run. Decided, stopped and expired take turns. */
static const char *const damages[] = {
    "UPDATE approvals SET request=x'00' WHERE run=",
    "UPDATE approvals SET doc='{[' WHERE run=",
    "UPDATE approvals SET chat=99 WHERE run=",
    "UPDATE approvals SET chat=chat+1 WHERE run=",
    "UPDATE approvals SET step=900 WHERE run=",
    "UPDATE approvals SET step=0 WHERE run=",
    "UPDATE approvals SET step=-1 WHERE run=",
    "UPDATE approvals SET step='one' WHERE run=",
    "UPDATE approvals SET left_ms=9223372036854775807 WHERE run=",
    "UPDATE approvals SET left_ms=-9223372036854775807 WHERE run=",
    "UPDATE approvals SET left_ms='x' WHERE run=",
    "UPDATE approvals SET created=-9223372036854775807 WHERE run=",
    "UPDATE approvals SET state=7 WHERE run=",
    "UPDATE approvals SET id='zz' WHERE run=",
    "UPDATE approvals SET id='' WHERE run=",
    "UPDATE approvals SET id=x'00112233445566778899aabbccddeeff' WHERE run=",
    "UPDATE approvals SET id='gggggggggggggggggggggggggggggggg' WHERE run=",
    "UPDATE approvals SET run=run+1000 WHERE run=",
    "UPDATE approvals SET run=0 WHERE run=",
    "UPDATE approvals SET run=(SELECT max(seq) FROM messages) WHERE run=",
    "UPDATE messages SET facts=x'01' WHERE seq=",
    "UPDATE messages SET facts=NULL WHERE seq=",
    "UPDATE steps SET data=x'ffff' WHERE id>>10=",
    "UPDATE steps SET id=id+1 WHERE id>>10=",
    "UPDATE steps SET id=id+1 WHERE id>>10=",
    "UPDATE steps SET id=id+1 WHERE id>>10=",
    "UPDATE outbox SET route=x'00' WHERE id>>16=",
    "UPDATE outbox SET chat=99 WHERE id>>16=",
    "UPDATE outbox SET error=x'0a0a' WHERE id>>16=",
    "UPDATE outbox SET text='{' WHERE id>>16=",
    "UPDATE outbox SET intent=99 WHERE id>>16=",
    "INSERT INTO access SELECT 'buried/'||id,'what' FROM approvals WHERE run=",
};

/* All runs end. @return whether this one did */
static bool finish_all(uint64_t wanted)
{
    bool has_ended = false;
    for (uint64_t seq; (seq = run_seq(&w)) != 0; run(&w)) {
        has_ended = has_ended || seq == wanted;
        done(&w, seq, "ok", NULL, 0);
    }
    return has_ended;
}

CASE(damage_of_a_request_is_its_runs_alone)
{
    for (size_t i = 0; i < SMA_COUNT_OF(damages); i++) {
        char sql[256], id[64];
        open_people(&w);
        uint64_t bad = park(&w, "a", "1", one_command, 1),
                 good = park(&w, "b", "2", one_command, 1);
        show_all(&w);
        snprintf(id, sizeof id, "%s", w.store->consent->last->id);
        snprintf(sql, sizeof sql, "%s%llu", damages[i], (unsigned long long)bad);
        live_again_with(sql);
        drop_kept(&w.test);
        /* Whatever anybody does about it ends for him, and nothing else stands still. */
        const struct store_approval *asked = sma_store_approval_of_run(w.store, bad);
        if (asked != NULL && i % 3 == 0)
            (void)decide_all(&w, asked->id, true);
        if (i % 3 == 1)
            command(&w, "a", "t", SMA_CONTROL_STOP); /* else its time ends it */
        if (i % 3 == 0)
            say(&w, "a", "w", "yes");
        run(&w);
        (void)finish_all(0);
        drop_kept(&w.test);
        CHECK_TEXT("Approved.", press(&w, "b", "boss", "p", button(&w, id, 0, SMA_CARD_APPROVE)));
        say(&w, "c", "3", "hello");
        run(&w);
        CHECK(finish_all(good));
        pass(&w, 3700);
        (void)finish_all(0);
        CHECK_INT(0, w.store->consent->count);
        CHECK(!sma_store_is_retrying(w.store));
        CHECK_INT(0, w.store->consent->condemned_count);
        command(&w, "a", "s", SMA_CONTROL_STOP);
        run(&w);
        say(&w, "a", "4", "and now?");
        run(&w);
        CHECK(run_seq(&w) != 0);
        end_world(&w);
    }
}

CASES_MAIN
