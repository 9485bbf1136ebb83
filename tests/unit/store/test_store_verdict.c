/*
 * Aim: /approve ID, /reject ID and /approvals decide exactly what the buttons of a card would
 * decide for the same person, name only what he may see, and say what became of the rest; /tasks
 * and /logs tell the truth to those who may hear it.
 * Method: as test_store_approval; ids are made to begin alike where that matters.
 */
#include "approval_support.h"
#include "sma/links.h"

#include "actors/store/consent_priv.h"
#include "sma/chats.h"
#include "sma/log_ring.h"

#include <sys/stat.h>

static struct world w;
static char id[64], again[64];
static unsigned event;

/* The command; what is answered, in static memory. */
static const char *order_as(const struct saying *saying, enum sma_control control)
{
    static char key[16], text[4096];
    struct saying said = *saying;
    snprintf(key, sizeof key, "v%u", ++event);
    said.id = key;
    said.kind = SMA_EVENT_CONTROL;
    said.control = (uint8_t)control;
    (void)say_as(&w, TEST, &said);
    expect_accepted(&w);
    text[0] = '\0';
    for (struct sma_msg *msg; text[0] == '\0' && (msg = deliver(&w)) != NULL;) {
        const struct sma_deliver *body = SMA_MSG_BODY(msg, struct sma_deliver);
        if (body->intent == SMA_INTENT_NOTICE) /* the outcome's card is not the answer */
            snprintf(text, sizeof text, "%.*s", (int)body->text.len, body->text.ptr);
        receipt(&w, &(struct sma_receipt){.outbox_id = body->outbox_id,
                                          .part_count = 1,
                                          .state = SMA_DELIVERY_SENT,
                                          .is_final = true,
                                          .platform_message_id = SMA_STR("m1")});
        run(&w);
        sma_msg_destroy(msg);
    }
    return text;
}

static const char *line(const char *word, const char *rest)
{
    static char text[256];
    snprintf(text, sizeof text, "/%s %s", word, rest);
    return text;
}

#define APPROVE(who, where, what, ...)                                                     \
    order_as(                                                                              \
        &(struct saying){                                                                  \
            .user = (who), .chat = (where), .text = line("approve", (what)), __VA_ARGS__}, \
        SMA_CONTROL_APPROVE)
#define REJECT(who, where, what)                                                               \
    order_as(&(struct saying){.user = (who), .chat = (where), .text = line("reject", (what))}, \
             SMA_CONTROL_REJECT)
#define LIST(who, where, what, ...)                                                          \
    order_as(                                                                                \
        &(struct saying){                                                                    \
            .user = (who), .chat = (where), .text = line("approvals", (what)), __VA_ARGS__}, \
        SMA_CONTROL_APPROVALS)

static const char *begin_of(const char *of, size_t len)
{
    static char text[64];
    snprintf(text, sizeof text, "%.*s", (int)len, of);
    return text;
}

static uint64_t park_one(const char *chat, const char *user, const struct item *items,
                         uint32_t count)
{
    static char key[16];
    snprintf(key, sizeof key, "k%u", ++event);
    uint64_t seq = park_in(
        &w, &(struct saying){.chat = chat, .id = key, .text = "do it", .user = user}, items, count);
    show_all(&w);
    drop_kept(&w.test);
    snprintf(id, sizeof id, "%s", w.store->consent->last->id);
    return seq;
}

static uint64_t begin_with(const struct item *items, uint32_t count)
{
    open_people(&w);
    return park_one("a", "u1", items, count);
}

/* -- who, and where ---------------------------------------------------------------------------- */
AFTER_EACH(end_world(&w))

/* The same rights as a press: what a person may not decide by a button, no id decides. */
CASE(an_id_decides_what_a_press_would)
{
    static const struct
    {
        const char *user, *chat, *answer;
        bool is_own, is_decided; /* is_own: of an item that its asker may decide */
    } rows[] = {
        {"boss", "a", "Approved.", false, true},
        {"boss", "home", "Approved.", false, true}, /* an owner, from his own chat */
        {"adm", "home", "Approved.", false, true},
        {"u1", "a", "This is for an owner or administrator to decide.", false, false},
        {"u1", "a", "Approved.", true, true},
        {"u2", "a", "This is for an owner or administrator to decide.", true, false},
        {"u2", "b", "No such request.", true, false}, /* he does not see it */
        {"u1", "b", "No such request.", true, false}, /* nor could he press there */
        {"eve", "a", "This is for an owner or administrator to decide.", false, false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        open_people(&w);
        uint64_t seq = park_one("a", "u1", rows[i].is_own ? one_send : one_command, 1);
        CHECK_TEXT(rows[i].answer, APPROVE(rows[i].user, rows[i].chat, begin_of(id, 8)));
        CHECK_TEXT(rows[i].is_decided ? "0:yes:;" : "no run", resumed(&w, seq));
        CHECK_INT(rows[i].is_decided ? 0 : 1, w.store->consent->count);
        end_world(&w);
    }
}

CASE(what_is_an_owners_no_administrator_decides)
{
    static const struct item item[] = {
        {"exec_shell", "cp a Makefile", "=cp a Makefile", false, true}};
    uint64_t seq = begin_with(item, 1);
    CHECK_TEXT("This is for an owner or administrator to decide.", APPROVE("adm", "home", id));
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_TEXT("Approved.", APPROVE("boss", "home", id));
    CHECK(resumed_by_owner(&w, seq));
}

#define IN_GROUP(...) .is_group = true, .addressed = SMA_ADDRESSED_MENTION, __VA_ARGS__

/* In a group only what is asked there, even for an owner: as with buttons. Whose role the platform
 * knows, it is asked; who administers one group decides nothing of another. */
CASE(in_a_group_only_what_stands_there)
{
    make_world(&w);
    w.config.permissions_json = PEOPLE;
    w.test_json = "{\"access\":\"anyone\",\"groups\":[\"g\",\"h\"]}";
    open_world(&w);
    uint64_t seq = park_one("a", "u1", one_command, 1);
    CHECK_TEXT("No such request.", APPROVE("boss", "g", id, IN_GROUP()));
    CHECK_TEXT("Nothing waits for a decision here.", LIST("boss", "g", "", IN_GROUP()));
    CHECK_TEXT("no run", resumed(&w, seq));
    uint64_t there = park_in(&w,
                             &(struct saying){.chat = "g",
                                              .id = "g1",
                                              .text = "do it",
                                              .user = "u1",
                                              IN_GROUP(.role = SMA_ROLE_MEMBER)},
                             one_command, 1);
    show_all(&w);
    drop_kept(&w.test);
    snprintf(again, sizeof again, "%s", w.store->consent->last->id);
    CHECK(strstr(LIST("u1", "g", "", IN_GROUP()), begin_of(again, 8)) != NULL);
    /* An administrator of another group that is let in. */
    CHECK_TEXT("No such request.", APPROVE("eve", "h", again, IN_GROUP(.role = SMA_ROLE_ADMIN)));
    CHECK_TEXT("", APPROVE("kim", "g", again, IN_GROUP())); /* the platform is asked */
    CHECK(prepare(&w, SMA_ROLE_MEMBER, "") != 0);
    run(&w);
    CHECK(strstr(next_delivery(&w), "administrator") != NULL);
    CHECK_TEXT("no run", resumed(&w, there));
    CHECK_TEXT("", APPROVE("eve", "g", again, IN_GROUP()));
    crash_world(&w); /* the command is kept */
    CHECK(prepare(&w, SMA_ROLE_ADMIN, "") != 0);
    run(&w);
    CHECK_TEXT("0:yes:;", resumed(&w, there));
    CHECK_TEXT("no run", resumed(&w, seq));
}

/* Where everybody may choose the model, requests still are for administrators to decide: who is one
 * the platform is asked all the same. */
CASE(a_free_choice_of_models_asks_for_roles_all_the_same)
{
    static const struct sma_chat_rule rules[] = {
        {.pattern = "test:chat:g", .says_choice = true, .is_choice_free = true}};
    make_world(&w);
    w.config.permissions_json = PEOPLE;
    w.config.chats = rules;
    w.config.chat_count = SMA_COUNT_OF(rules);
    w.test_json = "{\"access\":\"anyone\",\"groups\":[\"g\"]}";
    open_world(&w);
    uint64_t there = park_in(&w,
                             &(struct saying){.chat = "g",
                                              .id = "g1",
                                              .text = "do it",
                                              .user = "u1",
                                              IN_GROUP(.role = SMA_ROLE_MEMBER)},
                             one_command, 1);
    show_all(&w);
    drop_kept(&w.test);
    snprintf(again, sizeof again, "%s", w.store->consent->last->id);
    CHECK_TEXT("", APPROVE("kim", "g", again, IN_GROUP()));
    CHECK(prepare(&w, SMA_ROLE_ADMIN, "") != 0);
    run(&w);
    CHECK_TEXT("0:yes:;", resumed(&w, there));
}

/* -- which one --------------------------------------------------------------------------------- */
static unsigned made;

static void alike(void *self, void *bytes, size_t len)
{
    (void)self;
    memset(bytes, 0xab, len);
    ((uint8_t *)bytes)[len - 1] = (uint8_t)made;
    ((uint8_t *)bytes)[5] = (uint8_t)made;
}

CASE(the_beginning_of_an_id_is_enough_when_it_is_one)
{
    open_people(&w);
    const struct sma_sys *real = w.store->sys;
    struct sma_sys sys = *real;
    sys.random_bytes = alike;
    made = 1;
    w.store->sys = &sys;
    uint64_t first = park_one("a", "u1", one_command, 1);
    snprintf(again, sizeof again, "%s", id);
    made = 2;
    uint64_t second = park_one("b", "u2", one_command, 1);
    w.store->sys = real;
    char text[4096];
    snprintf(text, sizeof text, "%s", APPROVE("boss", "home", "abababab"));
    CHECK(strstr(text, "2 requests begin with abababab") != NULL);
    CHECK(strstr(text, "\nababababab01 git push (test:chat:a)") != NULL);
    CHECK(strstr(text, "\nababababab02 git push (test:chat:b)") != NULL);
    CHECK(strstr(REJECT("boss", "home", "abababab"), "2 requests begin") != NULL);
    CHECK(strstr(LIST("boss", "home", "abab"), "2 requests begin") != NULL);
    CHECK_INT(2, w.store->consent->count);
    CHECK_TEXT("No such request.", APPROVE("boss", "home", "aba"));
    CHECK_TEXT("No such request.", APPROVE("boss", "home", "xyzw"));
    CHECK_TEXT("No such request.", APPROVE("boss", "home", "ffffffff"));
    /* Of two that begin alike, whoever sees one only means that one. */
    CHECK_TEXT("Refused.", REJECT("adm", "b", "ABABABABAB02 not on a Friday"));
    CHECK(strstr(resumed(&w, second), "0:no:refused by Ann: not on a Friday") != NULL);
    done(&w, second, "", NULL, 0);
    run(&w);
    CHECK_TEXT("Approved.", APPROVE("boss", "home", "ababab"));
    CHECK_TEXT("0:yes:;", resumed(&w, first));
}

CASE(what_is_over_is_told_to_those_who_saw_it)
{
    (void)begin_with(one_command, 1);
    CHECK_TEXT("Approved.", APPROVE("boss", "a", id));
    CHECK_TEXT("Already decided by Ann.", APPROVE("boss", "a", begin_of(id, 6)));
    CHECK_TEXT("Already decided by Ann.", REJECT("boss", "home", id));
    CHECK_TEXT("Already decided by Ann.", LIST("u1", "a", id));
    CHECK_TEXT("No such request.", REJECT("u2", "b", id));
    CHECK_TEXT("No such request.", REJECT("boss", "home", begin_of(id, 5)));
    crash_world(&w);
    CHECK_TEXT("Already decided by Ann.", APPROVE("boss", "home", id));
    end_world(&w);
    uint64_t seq = begin_with(one_command, 1);
    sma_sim_advance(w.system, 3601 * SECOND);
    run(&w);
    CHECK_TEXT("0:no:expired;", resumed(&w, seq));
    CHECK_TEXT("This request has expired.", APPROVE("boss", "a", id));
    end_world(&w);
    (void)begin_with(one_command, 1);
    command(&w, "a", "stop", SMA_CONTROL_STOP);
    run(&w);
    show_all(&w);
    drop_kept(&w.test);
    CHECK_TEXT("This request was cancelled.", REJECT("boss", "a", id));
}

/* -- what is said ------------------------------------------------------------------------------ */
CASE(only_plain_words_of_ones_own_decide)
{
    uint64_t seq = begin_with(two_commands, 2);
    char text[128];
    CHECK(strstr(APPROVE("boss", "a", ""), "Which one?") != NULL);
    CHECK(strstr(REJECT("boss", "a", ""), "Which one?") != NULL);
    snprintf(text, sizeof text, "%s only the first", id);
    CHECK(strstr(APPROVE("boss", "a", text), "Which one?") != NULL); /* a condition is no consent */
    CHECK(strstr(APPROVE("boss", "a", id, .is_forward = true), "forwarded") != NULL);
    CHECK(strstr(APPROVE("boss", "a", id, .is_edited = true), "forwarded") != NULL);
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_TEXT("Approved.", APPROVE("boss", "a", id));
    CHECK_TEXT("0:yes:;1:yes:;", resumed(&w, seq));
}

/* A forward waits for its author's role like any command, and decides nothing after it. */
CASE(a_forward_that_waited_decides_nothing)
{
    open_people(&w);
    uint64_t seq = park_in(&w,
                           &(struct saying){.chat = "g",
                                            .id = "g1",
                                            .text = "do it",
                                            .user = "u1",
                                            IN_GROUP(.role = SMA_ROLE_MEMBER)},
                           one_command, 1);
    show_all(&w);
    drop_kept(&w.test);
    snprintf(id, sizeof id, "%s", w.store->consent->last->id);
    for (int i = 0; i < 2; i++) {
        bool is_edit = i == 1;
        CHECK_TEXT("", APPROVE(is_edit ? "kim" : "eve", "g", id,
                               IN_GROUP(.is_forward = !is_edit, .is_edited = is_edit)));
        CHECK(prepare(&w, SMA_ROLE_ADMIN, "") != 0);
        run(&w);
        struct sma_msg *answer = deliver(&w);
        CHECK(answer != NULL);
        const struct sma_deliver *body = SMA_MSG_BODY(answer, struct sma_deliver);
        CHECK(memmem(body->text.ptr, body->text.len, "forwarded or edited", 19) != NULL);
        receipt(&w, &(struct sma_receipt){.outbox_id = body->outbox_id,
                                          .part_count = 1,
                                          .state = SMA_DELIVERY_SENT,
                                          .is_final = true});
        sma_msg_destroy(answer);
        run(&w);
        CHECK_TEXT("no run", resumed(&w, seq));
    }
}

CASE(what_its_card_cuts_is_not_agreed_to_by_its_id)
{
    static char title[2600];
    memset(title, 'x', sizeof title - 1);
    const struct item item[] = {{.tool = "exec_shell", .title = title}};
    uint64_t seq = begin_with(item, 1);
    CHECK(strstr(APPROVE("boss", "a", id), "words do not approve it") != NULL);
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_TEXT("Refused.", REJECT("boss", "a", id));
    CHECK(strstr(resumed(&w, seq), "0:no:refused by Ann") != NULL);
}

CASE(a_decision_by_id_is_written_down_like_others)
{
    (void)begin_with(one_command, 1);
    CHECK_TEXT("Approved.", APPROVE("boss", "home", id));
    struct sma_state_rows rows = {0};
    struct sma_state_approval row;
    CHECK_OK(sma_state_approval_read(w.store->state, sma_str(id), &rows, &row));
    CHECK(memmem(row.doc.ptr, row.doc.len, "\"via\":\"command\"", 15) != NULL);
    CHECK(memmem(row.doc.ptr, row.doc.len, "\"actor\":\"test:boss\"", 19) != NULL);
    sma_state_rows_free(&rows);
}

/* -- lists ------------------------------------------------------------------------------------- */
CASE(a_list_shows_what_its_reader_may_see)
{
    (void)begin_with(one_command, 1);
    (void)park_one("b", "u2", two_commands, 2);
    char text[4096];
    snprintf(text, sizeof text, "%s", LIST("boss", "home", ""));
    CHECK(strstr(text, " git push (test:chat:a)") != NULL);
    CHECK(strstr(text, " git push; make all (test:chat:b)") != NULL);
    CHECK(strstr(text, "/approve ID") != NULL);
    snprintf(text, sizeof text, "%s", LIST("u1", "a", ""));
    CHECK(strstr(text, "test:chat:a") != NULL && strstr(text, "test:chat:b") == NULL);
    CHECK_TEXT("Nothing waits for a decision here.", LIST("u3", "c", ""));
    snprintf(text, sizeof text, "%s", LIST("boss", "home", begin_of(id, 8)));
    CHECK(strstr(text, "git push") != NULL && strstr(text, "make all") != NULL);
    CHECK(strstr(text, "/approve ") != NULL);
    CHECK_TEXT("No such request.", LIST("u1", "a", begin_of(id, 8)));
}

CASE(a_long_list_is_cut_and_says_so)
{
    open_people(&w);
    for (unsigned i = 0; i <= SMA_APPROVAL_LIST_COUNT_MAX; i++) {
        char chat[16];
        snprintf(chat, sizeof chat, "c%u", i);
        (void)park_one(chat, "u1", one_command, 1);
        const char *text = LIST("boss", "home", "");
        CHECK((strstr(text, "... and 1 more") != NULL) == (i == SMA_APPROVAL_LIST_COUNT_MAX));
    }
}

/* -- /tasks, /logs ----------------------------------------------------------------------------- */
#define TASKS(who) \
    order_as(&(struct saying){.user = (who), .chat = "a", .text = "/tasks"}, SMA_CONTROL_TASKS)

static void write_task(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tasks", w.state_dir);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/tasks/%s", w.state_dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fputs(text, file);
    CHECK(fclose(file) == 0);
}

CASE(tasks_are_named_and_said_not_to_run)
{
    open_people(&w);
    CHECK(strstr(TASKS("boss"), "holds none") != NULL);
    write_task("daily.md",
               "---\nid: daily\nname: Daily report\ncron: 0 9 * * *\n---\nsecret plan\n");
    write_task("bare.md", "name: not front matter\n");
    write_task("notes.txt", "");
    char text[4096];
    snprintf(text, sizeof text, "%s", TASKS("boss"));
    CHECK(strstr(text, "2 of .ship/tasks will not be run") != NULL);
    CHECK(strstr(text, "\nbare\ndaily — Daily report (0 9 * * *)\n") != NULL);
    CHECK(strstr(text, "secret") == NULL && strstr(text, "not front") == NULL);
    snprintf(text, sizeof text, "%s", TASKS("u1"));
    CHECK(strstr(text, "2 of .ship/tasks") != NULL && strstr(text, "daily") == NULL);
}

#define PROMPTS(who) \
    order_as(&(struct saying){.user = (who), .chat = "a", .text = "/prompts"}, SMA_CONTROL_PROMPTS)

CASE(prompts_are_shown_to_those_who_may_ask_for_them)
{
    static struct sma_chat_rule rules[1]; /* as long as the configuration */
    static const char *denied[] = {"wiki:prompts/*"};
    open_people(&w);
    sma_prompts_put(SMA_STR("0/box:payroll - Salaries\n1/wiki:find words\n2/no:never\n7\n"));
    CHECK(strstr(PROMPTS("boss"), "\n/box:payroll - Salaries\n/wiki:find words\n... +7\n") != NULL);
    const char *text = PROMPTS("u1"); /* a member: what is asked about is not his */
    CHECK(strstr(text, "\n/wiki:find words\n") != NULL && strstr(text, "payroll") == NULL);
    CHECK(strstr(PROMPTS("boss"), "never") == NULL);
    CHECK(strstr(PROMPTS("nobody"), "/wiki") == NULL);
    w.config.permissions_json = "{\"roles\":{\"owner\":[\"test:boss\"]},"
                                "\"mcp\":{\"deny\":[\"box:*\"],\"allow\":[\"wiki:prompts/find\"]}}";
    CHECK(strstr(PROMPTS("boss"), "payroll") == NULL);
    rules[0] = (struct sma_chat_rule){
        .pattern = "test:chat:a", .says_tools = true, .mcp_denied = denied, .mcp_denied_count = 1};
    w.config.chats = rules;
    w.config.chat_count = 1;
    CHECK(strstr(PROMPTS("boss"), "/wiki") == NULL);
    CHECK(strstr(PROMPTS("boss"), "No outside server") != NULL);
    w.config.chat_count = 0;
    sma_prompts_put(SMA_STR(""));
    CHECK(strstr(PROMPTS("boss"), "No outside server") != NULL);
}

#define LOGS(who, where, what, ...)                                                     \
    order_as(                                                                           \
        &(struct saying){                                                               \
            .user = (who), .chat = (where), .text = line("logs", (what)), __VA_ARGS__}, \
        SMA_CONTROL_LOGS)

static void put_log(const char *message, const char *chat_key)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":\"%s\",\"details\":"
             "{\"chatKey\":\"%s\"},\"level\":\"info\"}",
             message, chat_key);
    sma_log_ring_put(sma_str(text));
}

CASE(the_log_is_for_its_readers_alone)
{
    open_people(&w);
    sma_log_ring_reset();
    CHECK(strstr(LOGS("boss", "home", ""), "no lines about this chat") != NULL);
    for (int i = 0; i < SMA_LOGS_SHOWN_COUNT_MAX + 1; i++)
        put_log(i == 0 ? "the first" : "one more", "test:chat:home");
    put_log("of another", "test:chat:b");
    char text[4096];
    snprintf(text, sizeof text, "%s", LOGS("boss", "home", ""));
    CHECK(strstr(text, "info one more") != NULL);
    CHECK(strstr(text, "the first") == NULL && strstr(text, "of another") == NULL);
    CHECK(strstr(LOGS("boss", "home", "all"), "of another") != NULL);
    CHECK(strstr(LOGS("adm", "b", ""), "of another") != NULL);
    CHECK(strstr(LOGS("adm", "b", "all"), "Only an owner") != NULL);
    CHECK(strstr(LOGS("u1", "b", ""), "Only an owner") != NULL);
    CHECK(strstr(LOGS("boss", "g", "", IN_GROUP()), "Only an owner") != NULL);
}

CASES_MAIN
