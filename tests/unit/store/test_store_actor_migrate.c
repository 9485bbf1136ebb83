/*
 * Aim: a chat that goes on under another key loses nothing, doubles nothing and is found under both
 * keys, wherever the program is cut. Method: the store actor between actors that keep what they
 * get; a child process that ends at the n-th write, sync or rename of the move.
 */
#include "store_support.h"
#include "turn_count.h"

#include "actors/store/runs_priv.h"
#include "runtime/chat/state_vfs.h"

#include <errno.h>
#include <sys/wait.h>

#define OLD "test%3Achat%3Aold"
#define NEW "test%3Achat%3Anew"

static struct world w;

static void note(const char *id)
{
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "new",
                                  .id = id,
                                  .text = "",
                                  .kind = SMA_EVENT_NOTE,
                                  .migrated_from = "test:chat:old"});
    run(&w);
}

static void finish(uint64_t seq)
{
    done(&w, seq, "ok", NULL, 0);
    expect_durable(&w, SMA_MSG_DONE_DONE);
}

static void answer_next(void)
{
    uint64_t seq = run_seq(&w);
    CHECK(seq != 0);
    finish(seq);
}

static bool has_file(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/chats/%s.jsonl", w.state_dir, name);
    return access(path, F_OK) == 0;
}

static void put_archive(const char *name, const char *id)
{
    char path[256];
    snprintf(path, sizeof path, "%s/chats", w.state_dir);
    CHECK(mkdir(w.state_dir, 0700) == 0 || errno == EEXIST);
    CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/chats/%s.jsonl", w.state_dir, name);
    FILE *out = fopen(path, "w");
    CHECK(out != NULL);
    fprintf(
        out,
        "{\"v\":1,\"ts\":1,\"channel\":\"test\",\"chatId\":\"old\",\"chatKey\":\"test:chat:old\","
        "\"userId\":\"u\",\"messageId\":\"%s\",\"role\":\"user\",\"text\":\"archived\"}\n",
        id);
    fclose(out);
}

/* The history of a key, as the store gives it. */
static const char *ask_history(const char *key)
{
    static char json[1 << 16];
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_QUERY, struct sma_query, strlen(key) + 1);
    struct sma_query *query = SMA_MSG_BODY(msg, struct sma_query);
    query->kind = SMA_QUERY_HISTORY;
    query->limit = 100;
    query->chat_key = sma_msg_dup(msg, sma_str(key));
    CHECK_OK(sma_ctx_ask(sma_system_ctx(w.system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
    run(&w);
    msg = take(&w.api, SMA_MSG_QUERY_RESULT);
    CHECK(msg != NULL);
    struct sma_str from = SMA_MSG_BODY(msg, struct sma_query_result)->json;
    snprintf(json, sizeof json, "%.*s", (int)from.len, from.ptr);
    sma_msg_destroy(msg);
    return json;
}

AFTER_EACH(end_world(&w))

CASE(history_session_claims_and_person_come_along)
{
    make_world(&w);
    put_archive(OLD ".archive-1", "0");
    open_world(&w);
    struct saying first = {.chat = "old",
                           .id = "1",
                           .text = "hi",
                           .user = "ann",
                           .addressed = SMA_ADDRESSED_MENTION,
                           .is_group = true,
                           .role = SMA_ROLE_MEMBER};
    (void)say_as(&w, TEST, &first);
    run(&w);
    answer_next();
    note("n1");
    drop_kept(&w.test);
    CHECK(!has_file(OLD) && has_file(NEW) && has_file(NEW ".archive-1") &&
          !has_file(OLD ".archive-1"));
    CHECK_INT(1, count_of(history(&w, NEW), "\"chatKey\":\"test:chat:old\""));
    /* a late copy, a late message */
    (void)say_as(&w, TEST, &first);
    run(&w);
    CHECK_INT(SMA_VERDICT_DUPLICATE, accepted(&w.test).verdict);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "old",
                                  .id = "2",
                                  .text = "late",
                                  .user = "ann",
                                  .addressed = SMA_ADDRESSED_MENTION,
                                  .is_group = true,
                                  .role = SMA_ROLE_MEMBER});
    expect_accepted(&w);
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL && SMA_MSG_BODY(msg, struct sma_run_order)->has_past);
    CHECK_STR("test:chat:new", SMA_MSG_BODY(msg, struct sma_run_order)->route.chat_key);
    finish(SMA_MSG_BODY(msg, struct sma_run_order)->seq);
    sma_msg_destroy(msg);
    /* message ids begin anew there: the same id is another message, and the first one is still the
     * first */
    first.chat = "new";
    (void)say_as(&w, TEST, &first);
    expect_accepted(&w);
    CHECK_INT(0, (int)count_kept(&w.test, SMA_MSG_PREPARE));
    answer_next();
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "new",
                                  .id = "3",
                                  .text = "hi",
                                  .user = "bob",
                                  .addressed = SMA_ADDRESSED_MENTION,
                                  .is_group = true});
    run(&w);
    CHECK_INT(1, (int)count_kept(&w.test, SMA_MSG_PREPARE));
    for (int life = 0; life < 2; life++) {
        const char *json = ask_history("test:chat:old");
        CHECK_INT(5, (int)count_of(json, "\"role\":\"user\""));
        CHECK_INT(5, (int)count_of(ask_history("test:chat:new"), "\"role\":\"user\""));
        CHECK_INT(3,
                  (int)turn_count_of(w.store->state,
                                     sma_state_chat_get(w.store->state, SMA_STR("test:chat:old"))));
        if (life == 0)
            crash_world(&w);
    }
    drop_kept(&w.test);
    first.chat = "old";
    (void)say_as(&w, TEST, &first);
    note("n1");
    CHECK_INT(SMA_VERDICT_DUPLICATE, accepted(&w.test).verdict);
    CHECK_INT(SMA_VERDICT_DUPLICATE, accepted(&w.test).verdict);
    note("n2"); /* the other side tells it too */
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&w.test).verdict);
}

CASE(open_work_and_deliveries_follow)
{
    new_world(&w);
    say(&w, "old", "1", "running");
    run(&w);
    uint64_t running = run_seq(&w);
    say(&w, "old", "2", "waiting");
    run(&w);
    drop_kept(&w.dispatcher); /* the notice stays with the dispatcher */
    step(&w, running, 1, (struct delivery[]){{.key = "test:chat:old", .text = "before"}}, 1);
    run(&w);
    note("n1");
    done(&w, running, "answer", (struct delivery[]){{.key = "test:chat:old", .text = "after"}}, 1);
    run(&w);
    CHECK_INT(2, (int)run_seq(&w)); /* one at a time, in order, still */
    receipt(&w, &(struct sma_receipt){.outbox_id = sma_state_outbox_id(2, 0, 0),
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true,
                                      .part_count = 1});
    run(&w);
    struct sma_msg *msg = deliver(&w);
    CHECK(msg != NULL);
    const struct sma_deliver *row = SMA_MSG_BODY(msg, struct sma_deliver);
    CHECK_STR("before", row->text);
    CHECK_STR("new", row->route.chat_id);
    CHECK_STR("test:chat:new", row->route.chat_key);
    sma_msg_destroy(msg);
    crash_world(&w);
    drop_kept(&w.agent);
    msg = deliver(&w);
    CHECK(msg != NULL);
    CHECK_STR("new", SMA_MSG_BODY(msg, struct sma_deliver)->route.chat_id);
    sma_msg_destroy(msg);
    command(&w, "new", "9", SMA_CONTROL_STOP);
    run(&w);
    CHECK_INT(2, (int)count_kept(&w.agent, SMA_MSG_CONTROL)); /* under both keys */
    CHECK_INT(0, (int)sma_state_open_count(w.store->state));
}

/* Messages came under the new key before we were told. */
CASE(two_chats_become_one)
{
    make_world(&w);
    w.config.agent_concurrency = 4;
    open_world(&w);
    say(&w, "old", "1", "a");
    say(&w, "new", "1", "b");
    run(&w);
    uint64_t one = run_seq(&w), two = run_seq(&w);
    CHECK(one != 0 && two != 0);
    say(&w, "old", "2", "c");
    say(&w, "new", "2", "d");
    run(&w);
    step(&w, two, 1, (struct delivery[]){{.key = "test:chat:new", .text = "from new"}}, 1);
    note("n1");
    CHECK_INT(2, w.store->runs->open_count);
    finish(one);
    CHECK(run_seq(&w) == 0); /* the other of the two runs is still on */
    step(&w, two, 2, NULL, 0);
    finish(two);
    CHECK_INT(3, (int)run_seq(&w));
    CHECK(run_seq(&w) == 0);
    finish(3);
    CHECK_INT(4, (int)run_seq(&w));
    finish(4);
    CHECK_INT(1, (int)count_of(history(&w, NEW), "\"text\":\"b\""));
    CHECK_INT(1, (int)count_of(history(&w, NEW ".archive-1"), "\"text\":\"a\""));
    const char *json = ask_history("test:chat:new");
    CHECK_INT(4, (int)count_of(json, "\"role\":\"user\""));
    CHECK(strstr(json, "\"text\":\"a\"") < strstr(json, "\"text\":\"b\""));
    CHECK_INT(4, (int)turn_count_of(w.store->state,
                                    sma_state_chat_get(w.store->state, SMA_STR("test:chat:new"))));
    drop_kept(&w.test);
    say(&w, "old", "2", "c");
    say(&w, "new", "2", "d");
    run(&w);
    CHECK_INT(SMA_VERDICT_DUPLICATE, accepted(&w.test).verdict);
    CHECK_INT(SMA_VERDICT_DUPLICATE, accepted(&w.test).verdict);
    crash_world(&w);
    CHECK_INT(4, (int)count_of(ask_history("test:chat:old"), "\"role\":\"user\""));
    CHECK_INT(4, (int)turn_count_of(w.store->state,
                                    sma_state_chat_get(w.store->state, SMA_STR("test:chat:new"))));
}

CASE(unknown_chat_and_second_move)
{
    new_world(&w);
    note("n1"); /* nothing was ever said in the old one */
    say(&w, "old", "1", "late");
    run(&w);
    answer_next();
    CHECK_INT(1, (int)count_of(history(&w, NEW), "late"));
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "newer",
                                  .id = "n2",
                                  .text = "",
                                  .kind = SMA_EVENT_NOTE,
                                  .migrated_from = "test:chat:new"});
    run(&w);
    CHECK(has_file("test%3Achat%3Anewer") && !has_file(NEW));
    for (int life = 0; life < 2; life++) {
        CHECK_INT(1, (int)count_of(ask_history("test:chat:old"), "late"));
        CHECK_INT(1, (int)count_of(ask_history("test:chat:new"), "late"));
        CHECK_INT(1, (int)count_of(ask_history("test:chat:newer"), "late"));
        crash_world(&w);
    }
}

/* -- failures ---------------------------------------------------------------------------------- */
static bool is_full;
static enum sma_state_vfs_action fail_when_full(enum sma_state_vfs_role role,
                                                enum sma_state_vfs_call call, bool is_wal)
{
    (void)role;
    return is_full && is_wal && call == SMA_STATE_VFS_WRITE ? SMA_STATE_VFS_FAIL_FULL
                                                            : SMA_STATE_VFS_PASS;
}

CASE(failed_commit_leaves_the_old_chat)
{
    new_world(&w);
    say(&w, "old", "1", "a");
    say(&w, "new", "1", "b");
    run(&w);
    answer_next();
    answer_next();
    drop_kept(&w.test);
    sma_state_vfs_set_hook(fail_when_full);
    is_full = true;
    note("n1");
    CHECK_INT(SMA_VERDICT_REFUSED, accepted(&w.test).verdict);
    is_full = false;
    struct sma_state *state = w.store->state;
    CHECK(sma_state_chat_get(state, SMA_STR("test:chat:old")) !=
          sma_state_chat_get(state, SMA_STR("test:chat:new")));
    CHECK_INT(1, (int)turn_count_of(state, sma_state_chat_get(state, SMA_STR("test:chat:old"))));
    CHECK_INT(1, (int)count_of(history(&w, OLD), "\"text\":\"a\""));
    run_for(&w, 2 * SECOND);
    note("n1");
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&w.test).verdict);
    CHECK_INT(2, (int)turn_count_of(state, sma_state_chat_get(state, SMA_STR("test:chat:old"))));
    sma_state_vfs_set_hook(NULL);
}

static uint64_t countdown;
static void count_down(void)
{
    if (countdown > 0 && --countdown == 0)
        _exit(7);
}
static int cut_rename(void *self, const char *from, const char *to)
{
    (void)self;
    count_down();
    int result = sma_sys_real()->rename(NULL, from, to);
    count_down();
    return result;
}
static int cut_fsync(void *self, int fd)
{
    (void)self;
    count_down();
    return sma_sys_real()->fsync(NULL, fd);
}
static enum sma_state_vfs_action cut_database(enum sma_state_vfs_role role,
                                              enum sma_state_vfs_call call, bool is_wal)
{
    (void)role;
    (void)call;
    (void)is_wal;
    count_down();
    return SMA_STATE_VFS_PASS;
}

static void fill(bool has_both)
{
    say(&w, "old", "1", "a");
    if (has_both)
        say(&w, "new", "1", "b");
    say(&w, "old", "2", "c");
    run(&w);
    for (uint64_t seq; (seq = run_seq(&w)) != 0;)
        finish(seq);
}

/* @return whether the move went through before the cut */
static bool cut_move(uint64_t at, bool has_both)
{
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct sma_sys sys = *sma_sys_real();
        sys.rename = cut_rename;
        sys.fsync = cut_fsync;
        w.sys = &sys;
        open_world(&w);
        fill(has_both);
        sma_state_vfs_set_hook(cut_database);
        countdown = at;
        note("n1");
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 7 || WEXITSTATUS(status) == 0));
    return WEXITSTATUS(status) == 0;
}

static void cut_anywhere(bool has_both)
{
    int cuts = 0, moved = 0;
    bool is_through = false;
    for (uint64_t at = 1; !is_through; at++, cuts++) {
        make_world(&w);
        w.config.durability_is_none = true; /* the process ends, the page cache stays */
        put_archive(OLD ".archive-1", "0");
        is_through = cut_move(at, has_both);
        open_world(&w);
        const struct sma_state_chat *chat =
            sma_state_chat_get(w.store->state, SMA_STR("test:chat:old"));
        bool is_moved = sma_str_is_equal(chat->key, SMA_STR("test:chat:new"));
        moved += is_moved;
        CHECK_INT(0, (int)chat->rotation.len);
        /* old or new, nothing between */
        CHECK_INT(3, (int)count_of(ask_history("test:chat:old"), "\"chatKey\":\"test:chat:old\""));
        CHECK(has_file(OLD) == !is_moved && has_file(OLD ".archive-1") == !is_moved);
        note("n1");
        chat = sma_state_chat_get(w.store->state, SMA_STR("test:chat:old"));
        CHECK_STR("test:chat:new", chat->key);
        CHECK_INT(has_both ? 3 : 2, (int)turn_count_of(w.store->state, chat));
        for (int life = 0; life < 2; life++) {
            const char *json = ask_history("test:chat:new");
            CHECK_INT(has_both ? 4 : 3, (int)count_of(json, "\"role\":\"user\""));
            CHECK_INT(1, (int)count_of(json, "archived"));
            if (life == 0)
                crash_world(&w);
        }
        end_world(&w);
    }
    CHECK(cuts > 8 && moved > 1 && moved < cuts);
}

CASE(a_crash_leaves_old_or_new)
{
    cut_anywhere(false);
}
CASE(a_crash_while_merging_leaves_two_or_one)
{
    cut_anywhere(true);
}

CASES_MAIN
