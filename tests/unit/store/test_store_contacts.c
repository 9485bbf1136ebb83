/*
 * Aim: contacts.json follows who is seen where, in slices, and nothing is written for a message
 * more.
 * Method: the store with a virtual clock; many contacts put into state.db directly.
 */
#include "store_support.h"

#include <jansson.h>

#define SECOND UINT64_C(1000000000)
static struct world w;

static const char *path_of(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", w.state_dir, name);
    return path;
}

static bool is_there(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

static void open_for_members(void)
{
    make_world(&w);
    w.config.permissions_json =
        "{\"roles\":{\"member\":[\"test:u1\"]}}"; /* strangers are no contacts */
    open_world(&w);
}

AFTER_EACH(end_world(&w))

CASE(only_a_new_place_writes_the_address_book)
{
    open_for_members();
    say(&w, "a", "1", "x");
    run_for(&w, 5 * SECOND);
    CHECK(is_there("contacts.json") && !is_there("contacts.json.part"));
    CHECK_INT(0, unlink(path_of("contacts.json")));
    say(&w, "a", "2", "y");
    run_for(&w, 60 * SECOND);
    CHECK(!is_there("contacts.json"));
    say(&w, "b", "3", "z");
    run_for(&w, 5 * SECOND);
    CHECK(is_there("contacts.json"));
}

static void put_many(int first, int count)
{
    CHECK_OK(sma_state_begin(w.store->state));
    for (int i = first; i < first + count; i++) {
        char name[32];
        snprintf(name, sizeof name, "person-%d", i);
        struct sma_state_contact contact = {.channel = SMA_STR("test"),
                                            .user_name = sma_str(name),
                                            .user_id = sma_str(name),
                                            .chat_id = SMA_STR("1"),
                                            .chat_key = SMA_STR("test:chat:1"),
                                            .wall_ms = 1000 + i * 7919 % 30000};
        CHECK_OK(sma_state_contact_put(w.store->state, &contact));
    }
    CHECK_OK(sma_state_commit(w.store->state));
}

CASE(the_newest_ten_thousand_are_written_by_and_by)
{
    open_for_members();
    put_many(0, 30000);
    say(&w, "a", "1", "x"); /* something must wake the store */
    run_for(&w, 2 * SECOND);
    unsigned rounds = 0;
    for (; !is_there("contacts.json") && rounds < 1000; rounds++)
        run_for(&w, SECOND / 100);
    CHECK(rounds > 10 && rounds < 1000); /* in many slices */
    CHECK(!is_there("contacts.json.part"));
    json_t *root = json_load_file(path_of("contacts.json"), 0, NULL);
    const json_t *list = json_object_get(root, "contacts");
    CHECK_INT(SMA_CONTACTS_PROJECTED_MAX, (long long)json_array_size(list));
    int64_t before = INT64_MAX;
    for (size_t i = 0; i < json_array_size(list); i++) {
        int64_t wall =
            (int64_t)json_integer_value(json_object_get(json_array_get(list, i), "updatedAt"));
        CHECK(wall <= before);
        before = wall;
    }
    CHECK_INT(1000 + 20001, before); /* and the one who has just spoken */
    json_decref(root);
}

CASE(an_end_writes_the_rest)
{
    open_for_members();
    say(&w, "a", "1", "x");
    run(&w);
    CHECK(!is_there("contacts.json"));
    stop_world(&w);
    CHECK(is_there("contacts.json"));
}

static void answer_in(const char *chat, const char *id)
{
    say(&w, chat, id, "hello");
    run(&w);
    done(&w, run_seq(&w), "hi", NULL, 0);
    run(&w);
    drop_kept(&w.agent);
}

/* A chat that a tool names: by id, by id and topic, by key; and only one that is known. */
CASE(a_chat_is_found_by_what_a_tool_says)
{
    static const struct
    {
        struct sma_contact_ask ask;
        const char *key, *why; /* one of them is NULL */
    } rows[] = {
        {{.chat_id = SMA_STR("a")}, "test:chat:a", NULL},
        {{.chat_id = SMA_STR("a"), .channel = SMA_STR("test")}, "test:chat:a", NULL},
        {{.chat_id = SMA_STR("test:chat:a")}, "test:chat:a", NULL},
        {{.chat_id = SMA_STR("test:chat:a"), .channel = SMA_STR("api")}, NULL, "does not know"},
        {{.chat_id = SMA_STR("a:topic:7")}, "test:chat:a:topic:7", NULL},
        {{.chat_id = SMA_STR("a"), .thread_id = SMA_STR("7")}, "test:chat:a:topic:7", NULL},
        {{.chat_id = SMA_STR("a"), .thread_id = SMA_STR("8")}, NULL, "does not know"},
        {{.chat_id = SMA_STR("b")}, NULL, "does not know"},
        {{.chat_id = SMA_STR("a"), .channel = SMA_STR("icq")}, NULL, "not configured"},
        {{.channel = SMA_STR("test")}, NULL, "is missing"},
        {{.chat_id = SMA_STR("a"), .wants_files = true}, NULL, "takes no files"},
        {{.chat_id = SMA_STR("a"), .wants_cards = true}, NULL, "has no cards"},
        {{.chat_id = SMA_STR("a"), .message_id = SMA_STR("1")}, "test:chat:a", NULL},
        {{.chat_id = SMA_STR("test:chat:a:topic:7"), .message_id = SMA_STR("2")},
         "test:chat:a:topic:7",
         NULL},
        /* a platform would reply wherever that message is */
        {{.chat_id = SMA_STR("a"), .message_id = SMA_STR("2")}, NULL, "No message with this id"},
        {{.chat_id = SMA_STR("a:topic:7"), .message_id = SMA_STR("1")}, NULL, "No message"},
        {{.chat_id = SMA_STR("a"), .message_id = SMA_STR("m9")}, NULL, "No message"},
    };
    open_for_members();
    answer_in("a", "1");
    answer_in("a:topic:7", "2");
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_contact_ask ask = rows[i].ask;
        ask.asked_in = SMA_STR("test");
        struct sma_msg *msg = sma_msg_make_contact(&ask);
        CHECK(msg != NULL);
        ask_as_agent(&w, msg);
        run(&w);
        msg = take(&w.agent, SMA_MSG_CONTACT_RESULT);
        const struct sma_contact_result *result = SMA_MSG_BODY(msg, struct sma_contact_result);
        if (result->is_found != (rows[i].key != NULL))
            fprintf(stderr, "row %zu: %.*s\n", i, (int)result->why.len, result->why.ptr);
        CHECK(result->is_found == (rows[i].key != NULL));
        if (rows[i].key != NULL) {
            CHECK_STR(rows[i].key, result->route.chat_key);
            CHECK(sma_str_is_equal(ask.message_id, result->route.message_id));
            CHECK(!result->is_doubtful && result->route.chat_id.len > 0);
            CHECK(memmem(result->whom.ptr, result->whom.len, rows[i].key, strlen(rows[i].key)) !=
                  NULL);
        } else {
            CHECK(memmem(result->why.ptr, result->why.len, rows[i].why, strlen(rows[i].why)) !=
                  NULL);
        }
        sma_msg_destroy(msg);
    }
}

CASES_MAIN
