/* Aim: nobody who was there before people were paired is locked out, and nobody else gets in that
 * way. Method: projects as older programs left them, opened by the store actor; the file of
 * state.db lost or the import cut off. */
#include "store_support.h"

#include "actors/store/people_priv.h"

static struct world w;

static void put_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", w.state_dir, name);
    FILE *out = fopen(path, "w");
    CHECK(out != NULL);
    CHECK(fputs(text, out) >= 0);
    CHECK_INT(0, fclose(out));
}

static void make_project(void)
{
    char path[256];
    make_world(&w);
    w.test_json = "{}";
    CHECK_INT(0, mkdir(w.state_dir, 0700));
    snprintf(path, sizeof path, "%s/chats", w.state_dir);
    CHECK_INT(0, mkdir(path, 0700));
}

static enum sma_standing standing_of(const char *channel, const char *user)
{
    struct sma_route route = route_of(TEST, "test:chat:p");
    route.channel = sma_str(channel);
    route.user_id = sma_str(user);
    return sma_store_standing(w.store, NULL, &route, false);
}

static size_t count_people(void)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_QUERY, struct sma_query, 16);
    SMA_MSG_BODY(msg, struct sma_query)->kind = SMA_QUERY_PAIRINGS;
    CHECK_OK(sma_ctx_ask(sma_system_ctx(w.system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
    run(&w);
    struct sma_msg *answer = take(&w.api, SMA_MSG_QUERY_RESULT);
    CHECK(answer != NULL);
    size_t count =
        count_of(SMA_MSG_BODY(answer, struct sma_query_result)->json.ptr, "\"role\":\"member\"");
    sma_msg_destroy(answer);
    return count;
}

static bool is_let_in(const char *channel, const char *chat_id)
{
    struct sma_route route = route_of(TEST, "test:chat:p");
    route.channel = sma_str(channel);
    route.chat_id = sma_str(chat_id);
    return sma_store_is_let_in(w.store, &route);
}

AFTER_EACH(end_world(&w))

/* Lines as the two eras of the old program wrote them, and as this one does. */
CASE(people_of_both_eras_are_members)
{
    make_project();
    put_file("chats/telegram%3Achat%3A1001.jsonl",
             "{\"v\":1,\"ts\":1700000000000,\"channel\":\"telegram\",\"chatId\":\"1001\","
             "\"chatKey\":\"telegram:chat:1001\",\"userId\":\"1001\",\"messageId\":\"5\",\"role\":"
             "\"user\","
             "\"text\":\"hi\",\"meta\":{\"chatType\":\"private\",\"username\":\"ann\"}}\n"
             "{\"v\":1,\"ts\":1700000000001,\"channel\":\"telegram\",\"chatId\":\"1001\","
             "\"chatKey\":\"telegram:chat:1001\",\"userId\":\"bot\",\"role\":\"assistant\","
             "\"text\":\"hello\","
             "\"meta\":{\"via\":\"tool\",\"channel\":\"telegram\"}}\n");
    /* the author not named: in a private chat its id is the person's, in a group it is not */
    put_file("chats/telegram%3Achat%3A1002.jsonl",
             "{\"v\":1,\"ts\":1700000000000,\"channel\":\"telegram\",\"chatId\":\"1002\","
             "\"chatKey\":\"telegram:chat:1002\",\"role\":\"user\",\"text\":\"hi\","
             "\"meta\":{\"chatType\":\"private\",\"actorId\":\"1002\"}}\n");
    put_file("chats/telegram%3Achat%3A-100.jsonl",
             "{\"v\":1,\"ts\":1700000000000,\"channel\":\"telegram\",\"chatId\":\"-100\","
             "\"chatKey\":\"telegram:chat:-100\",\"role\":\"user\",\"text\":\"hi\"}\n"
             "{\"v\":1,\"ts\":1700000000001,\"channel\":\"telegram\",\"chatId\":\"-100\","
             "\"chatKey\":\"telegram:chat:-100\",\"userId\":\"1003\",\"role\":\"user\",\"text\":"
             "\"hi\"}\n");
    put_file("chats/telegram%3Achat%3A-100.archive-1.jsonl",
             "{\"v\":1,\"ts\":1690000000000,\"channel\":\"telegram\",\"chatId\":\"-100\","
             "\"chatKey\":\"telegram:chat:-100\",\"userId\":\"1004\",\"role\":\"user\",\"text\":"
             "\"old\"}\n"
             "torn and \"userId\":\"6666\"\n");
    put_file("chats/qq%3Ac2c%3AABC.jsonl",
             "{\"v\":1,\"ts\":1700000000000,\"channel\":\"qq\",\"chatId\":\"ABC\","
             "\"chatKey\":\"qq:c2c:ABC\",\"role\":\"user\",\"text\":\"hi\"}\n");
    put_file("chats/feishu%3Achat%3Aoc_1.jsonl",
             "{\"v\":1,\"ts\":1700000000000,\"channel\":\"feishu\",\"chatId\":\"oc_1\","
             "\"chatKey\":\"feishu:chat:oc_1\",\"userId\":\"ou_1\",\"role\":\"user\",\"text\":"
             "\"hi\"}\n");
    put_file("chats/api%3Achat%3Adefault.jsonl",
             "{\"v\":1,\"ts\":1700000000000,\"channel\":\"api\",\"chatId\":\"default\","
             "\"chatKey\":\"api:chat:default\",\"userId\":\"caller\",\"role\":\"user\",\"text\":"
             "\"hi\"}\n");
    put_file("contacts.json",
             "{\"v\":1,\"updatedAt\":1,\"contacts\":[{\"channel\":\"telegram\",\"chatId\":\"1005\","
             "\"chatKey\":\"telegram:chat:1005\",\"userId\":\"1005\",\"username\":\"eve\","
             "\"updatedAt\":1}]}");
    w.config.adapters[1] =
        (struct sma_config_adapter){.name = "telegram", .json = "{\"chatId\":\"1006\"}"};
    open_world_only(&w);
    static const char *const members[][2] = {
        {"telegram", "1001"}, {"telegram", "1002"}, {"telegram", "1003"}, {"telegram", "1004"},
        {"telegram", "1005"}, {"qq", "ABC"},        {"feishu", "ou_1"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(members); i++)
        CHECK_INT(SMA_STANDING_MEMBER, standing_of(members[i][0], members[i][1]));
    static const char *const others[][2] = {
        {"telegram", "-100"}, {"telegram", "bot"}, {"telegram", "6666"},
        {"feishu", "1001"},   {"telegram", ""},    {"feishu", "oc_1"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++)
        CHECK_INT(SMA_STANDING_STRANGER, standing_of(others[i][0], others[i][1]));
    CHECK_INT((int)SMA_COUNT_OF(members), (int)count_people());
    /* and the groups are let in; a line does not say what a chat of Feishu is */
    CHECK(is_let_in("telegram", "-100") && is_let_in("feishu", "oc_1"));
    CHECK(!is_let_in("telegram", "1001") && !is_let_in("telegram", "1005"));
    CHECK(!is_let_in("telegram", "-101") && !is_let_in("feishu", "-100"));
}

CASE(the_operator_of_old_files_is_a_member)
{
    static const struct
    {
        const char *json;
        int count;
    } rows[] = {
        {"{\"chatId\":\"1006\"}", 1},
        {"{\"chatId\":1006}", 1},
        {"{\"chatId\":\"-1006\"}", 0},
        {"{\"chatId\":-1006}", 0},
        {"{\"chatId\":\"\"}", 0},
        {"{\"chatId\":\"me\"}", 0},
        {"{\"chatId\":null}", 0},
        {"{}", 0},
        {"", 0},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        make_project();
        /* the world makes the block of its own platform; this one stands for the file's */
        struct sma_config old = {.project_dir = w.dir,
                                 .state_dir = w.state_dir,
                                 .agent_concurrency = 1,
                                 .adapters = {{.name = "telegram", .json = rows[i].json}},
                                 .adapter_count = 1};
        struct sma_store_options options = {.config = &old};
        struct sma_store_hooks hooks = {
            .is_single_threaded = true, .disk = fake_disk, .disk_user = &w};
        struct sma_error error = {0};
        struct sma_store *store = NULL;
        CHECK_OK(sma_store_create_hooked(&options, &hooks, &store, &error));
        struct sma_buf value;
        sma_buf_init(&value, 4096);
        enum sma_err err =
            sma_state_access_get(store->state, SMA_STR("person/telegram/1006"), &value);
        CHECK_INT(rows[i].count == 1 ? SMA_ERR_OK : SMA_ERR_NOTFOUND, err);
        if (rows[i].count == 1)
            CHECK(memmem(value.ptr, value.len, "\"via\":\"config\"", 14) != NULL);
        sma_buf_fini(&value);
        sma_store_destroy(store);
        remove_tree(w.dir);
    }
}

static void forget_mark_of(const char *mark)
{
    CHECK_OK(sma_state_begin(w.store->state));
    CHECK_OK(sma_state_meta_set(w.store->state, sma_str(mark), SMA_STR("")));
    CHECK_OK(sma_state_commit(w.store->state));
}

static void forget_mark(void)
{
    forget_mark_of("people.imported");
}

static void remove_in_state_dir(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", w.state_dir, name);
    CHECK_INT(0, remove(path));
}

/* Who came later is not let in by being in the history, whatever is lost. */
CASE(it_happens_once_in_the_life_of_a_project)
{
    make_project();
    put_file(
        "chats/test%3Achat%3Aann.jsonl",
        "{\"v\":1,\"ts\":1700000000000,\"channel\":\"test\",\"chatId\":\"ann\","
        "\"chatKey\":\"test:chat:ann\",\"userId\":\"ann\",\"role\":\"user\",\"text\":\"hi\"}\n");
    open_world(&w);
    CHECK_INT(SMA_STANDING_MEMBER, standing_of("test", "ann"));
    (void)say_as(&w, TEST, &(struct saying){.chat = "eve", .user = "eve", .id = "1", .text = "hi"});
    run(&w);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&w.test).verdict);
    restart_world(&w);
    crash_world(&w);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of("test", "eve"));
    CHECK_INT(SMA_STANDING_MEMBER, standing_of("test", "ann"));
    /* state.db is lost */
    stop_world(&w);
    close_system(&w);
    remove_in_state_dir("state.db");
    open_world(&w);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of("test", "eve"));
    CHECK_INT(SMA_STANDING_STRANGER, standing_of("test", "ann"));
}

/* Killed before the mark was written: it begins again, finds what it has written, and the file is
 * not there yet. */
CASE(a_cut_import_begins_again)
{
    make_project();
    put_file(
        "chats/test%3Achat%3Aann.jsonl",
        "{\"v\":1,\"ts\":1700000000000,\"channel\":\"test\",\"chatId\":\"ann\","
        "\"chatKey\":\"test:chat:ann\",\"userId\":\"ann\",\"role\":\"user\",\"text\":\"hi\"}\n");
    open_world(&w);
    forget_mark();
    stop_world(&w);
    close_system(&w);
    remove_in_state_dir("people.imported");
    put_file(
        "chats/test%3Achat%3Abob.jsonl",
        "{\"v\":1,\"ts\":1700000000000,\"channel\":\"test\",\"chatId\":\"bob\","
        "\"chatKey\":\"test:chat:bob\",\"userId\":\"bob\",\"role\":\"user\",\"text\":\"hi\"}\n");
    open_world(&w);
    CHECK_INT(SMA_STANDING_MEMBER, standing_of("test", "ann"));
    CHECK_INT(SMA_STANDING_MEMBER, standing_of("test", "bob"));
    CHECK_INT(2, (int)count_people());
    /* the file alone is lost: made again */
    stop_world(&w);
    close_system(&w);
    remove_in_state_dir("people.imported");
    open_world(&w);
    stop_world(&w);
    close_system(&w);
    remove_in_state_dir("people.imported");
    open_world(&w);
}

#define LINE_OF_GROUP(id, user)                                                               \
    "{\"v\":1,\"ts\":1700000000000,\"channel\":\"test\",\"chatId\":\"" id                     \
    "\",\"chatKey\":\"test:chat:" id "\",\"userId\":\"" user "\",\"role\":\"user\",\"text\":" \
    "\"hi\"}\n"

static void stop_here(void)
{
    stop_world(&w);
    close_system(&w);
}

/* A project of a version that paired people and knew of no groups: those of its history stay in;
 * its people are not looked for again. Once: what strangers make later is in the history too. */
CASE(groups_of_the_history_stay_in_once)
{
    make_project();
    open_world(&w);
    forget_mark_of("groups.imported");
    stop_here();
    remove_in_state_dir("groups.imported");
    put_file("chats/test%3Achat%3Ateam.jsonl", LINE_OF_GROUP("team", "ann"));
    open_world(&w);
    CHECK(is_let_in("test", "team"));
    CHECK_INT(SMA_STANDING_STRANGER, standing_of("test", "ann"));
    stop_here();
    put_file("chats/test%3Achat%3Ahers.jsonl", LINE_OF_GROUP("hers", "eve"));
    open_world(&w);
    CHECK(is_let_in("test", "team") && !is_let_in("test", "hers"));
    /* the file alone is lost: made again, and nothing is looked for */
    stop_here();
    remove_in_state_dir("groups.imported");
    open_world(&w);
    CHECK(!is_let_in("test", "hers"));
    /* state.db is lost, or one from before is put back: nobody can tell whose group is whose */
    stop_here();
    remove_in_state_dir("state.db");
    open_world(&w);
    CHECK(!is_let_in("test", "team") && !is_let_in("test", "hers"));
    forget_mark_of("groups.imported");
    stop_here();
    open_world(&w);
    CHECK(!is_let_in("test", "team") && !is_let_in("test", "hers"));
}

/* state.db was lost before this version came: its file of people tells that strangers may be in the
 * history. */
CASE(a_project_without_its_past_lets_no_group_in)
{
    make_project();
    put_file("chats/test%3Achat%3Ahers.jsonl", LINE_OF_GROUP("hers", "eve"));
    put_file("people.imported", "x");
    open_world(&w);
    CHECK(!is_let_in("test", "hers"));
    CHECK_INT(SMA_STANDING_STRANGER, standing_of("test", "eve"));
    restart_world(&w);
    CHECK(!is_let_in("test", "hers"));
}

/* Rows of state.db count too: their histories may have been cleared away. */
CASE(authors_of_rows_are_members)
{
    make_project();
    w.test_json = "{\"access\":\"anyone\"}";
    open_world(&w);
    (void)say_as(&w, TEST, &(struct saying){.chat = "ann", .user = "ann", .id = "1", .text = "hi"});
    run(&w);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of("test", "ann"));
    forget_mark();
    stop_world(&w);
    close_system(&w);
    remove_in_state_dir("people.imported");
    remove_in_state_dir("chats/test%3Achat%3Aann.jsonl");
    w.test_json = "{}";
    open_world(&w);
    CHECK_INT(SMA_STANDING_MEMBER, standing_of("test", "ann"));
}

/* More people than one transaction holds. */
CASE(many_people_are_written_in_batches)
{
    make_project();
    char path[256];
    snprintf(path, sizeof path, "%s/chats/telegram%%3Achat%%3A-7.jsonl", w.state_dir);
    FILE *out = fopen(path, "w");
    CHECK(out != NULL);
    for (int i = 0; i < 15000; i++)
        fprintf(
            out,
            "{\"v\":1,\"ts\":1700000000000,\"channel\":\"telegram\",\"chatId\":\"-7\",\"chatKey\":"
            "\"telegram:chat:-7\",\"userId\":\"%d\",\"role\":\"user\",\"text\":\"hello\"}\n",
            i % 4500);
    CHECK_INT(0, fclose(out));
    open_world_only(&w);
    CHECK_INT(SMA_STANDING_MEMBER, standing_of("telegram", "0"));
    CHECK_INT(SMA_STANDING_MEMBER, standing_of("telegram", "4499"));
    CHECK_INT(SMA_STANDING_STRANGER, standing_of("telegram", "4500"));
}

CASES_MAIN
