/*
 * Aim: what somebody wants remembered is asked about, stands in their file, and is told to the
 * model in later conversations, to nobody else and in no other place; people's edits count, kill -9
 * neither loses nor doubles a fact.
 * Method: the real binary between a Bot API server and a model server that calls what the user's
 * text says; what the model was asked is read.
 *   scenario_memory BINARY FAKE_MODEL
 */
#include "approval_world.h"

#include "support/check.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANNS_FILE ".ship/memory/users/telegram%3A1001.md"
#define FACT "Ann drinks Longjing tea"
#define REMEMBER(content) "please [[call memory_upsert {\"content\":\"" content "\"}]]"
#define ALLOW ",\"memory\":\"allow\""

static const char *binary, *fake_model;

static void start(struct platform_world *world, const char *permissions)
{
    approval_start(world, binary, fake_model,
                   &(struct approval_options){.permissions = permissions});
}

/* Of the newest request that holds `message`. */
static bool was_told(const struct platform_world *world, const char *message, const char *fact)
{
    json_t *asked = world_asked(&world->world, message);
    size_t count = json_array_size(asked);
    CHECK(count > 0);
    const char *body = talk_text(json_array_get(asked, count - 1), "body");
    const char *mark = strstr(body, " of memory]");
    bool is_told = mark != NULL && strstr(mark, fact) != NULL;
    if (mark == NULL)
        CHECK(strstr(body, fact) == NULL);
    json_decref(asked);
    return is_told;
}

/* In a conversation that knows nothing of what was said before. */
static bool is_recalled(const struct platform_world *world, int64_t chat, int64_t user,
                        const char *message, const char *fact)
{
    char text[256];
    (void)chat_say(world, chat, user, chat < 0 ? "/clear@helper_bot" : "/clear");
    platform_settle(world);
    snprintf(text, sizeof text, "%s[[plain]] %s", chat < 0 ? "@helper_bot " : "", message);
    (void)chat_say(world, chat, user, text);
    chat_expect(world, chat, message);
    platform_settle(world);
    return was_told(world, message, fact);
}

static size_t count_in_file(const struct platform_world *world, const char *part)
{
    char *bytes = folder_read(&world->world.folder, ANNS_FILE);
    size_t count = 0;
    for (const char *at = bytes; at != NULL && (at = strstr(at, part)) != NULL; at++)
        count++;
    free(bytes);
    return count;
}

CASE(a_fact_is_asked_about_kept_and_told_to_its_person_alone)
{
    struct platform_world world;
    start(&world, NULL);
    int64_t card = approval_ask(&world, ANN, ANN, REMEMBER(FACT), "Remember this, for later");
    CHECK_INT(0, count_in_file(&world, FACT));
    approval_press_for(&world, ANN, ANN, card, "Approve", "Approved.");
    chat_expect(&world, ANN, "Result: {\"success\":true");
    platform_settle(&world);
    CHECK_INT(1, count_in_file(&world, "- " FACT " <!-- memory: fact, importance 5, "));

    CHECK(is_recalled(&world, ANN, ANN, "which tea is it today", FACT));
    CHECK(!is_recalled(&world, BOB, BOB, "which Longjing tea does Ann drink", FACT));
    CHECK(!is_recalled(&world, TEAM, ANN, "which Longjing tea", FACT));
    platform_world_stop(&world);
}

CASE(what_is_refused_is_not_kept)
{
    struct platform_world world;
    start(&world, NULL);
    int64_t card = approval_ask(&world, ANN, ANN, REMEMBER(FACT), FACT);
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    approval_await_results(&world, ANN, 1);
    CHECK(!is_recalled(&world, ANN, ANN, "which tea is it today", FACT));
    platform_world_stop(&world);
}

CASE(edits_by_hand_count_and_a_kill_loses_nothing)
{
    struct platform_world world;
    start(&world, ALLOW);
    approval_do_for(&world, REMEMBER(FACT), "\"success\":true");
    service_kill(&world.world.service);
    approval_restart(&world, binary);
    CHECK(is_recalled(&world, ANN, ANN, "which tea is it now", FACT));
    approval_do_for(&world, REMEMBER(FACT), "remembered already");
    CHECK_INT(1, count_in_file(&world, FACT));
    folder_write(&world.world.folder, ANNS_FILE, "# Ann\n\n* loves green tea\n");
    CHECK(is_recalled(&world, ANN, ANN, "and which tea is it then", "loves green tea"));
    CHECK(!was_told(&world, "and which tea is it then", FACT));
    approval_do_for(&world, "look [[call memory_search {\"query\":\"tea\"}]]", "loves green tea");
    platform_world_stop(&world);
}

static void await_death(const struct platform_world *world)
{
    long long until = process_now_ms() + AWAIT_MS;
    siginfo_t info = {0};
    while (waitid(P_PID, (id_t)world->world.service.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0) {
        CHECK(process_now_ms() <= until);
        process_pause_ms(2);
    }
}

CASE(a_kill_in_the_middle_writes_once)
{
    struct platform_world world;
    setenv("SMA_CRASH_AT", "memory.written:1", 1);
    start(&world, ALLOW);
    unsetenv("SMA_CRASH_AT");
    (void)chat_say(&world, ANN, ANN, REMEMBER(FACT));
    await_death(&world);
    service_kill(&world.world.service);
    approval_restart(&world, binary);
    chat_expect(&world, ANN, "Result: ");
    platform_settle(&world);
    approval_do_for(&world, REMEMBER(FACT), "remembered already");
    CHECK_INT(1, count_in_file(&world, FACT));
    CHECK(is_recalled(&world, ANN, ANN, "which tea after all", FACT));
    platform_world_stop(&world);
}

/* -- reading conversations --------------------------------------------------------------------- */
#define READS ",\"memory\":{\"pauseS\":1,\"quietS\":0}"
#define READER "You read a conversation and note what is worth remembering"

static void start_reading(struct platform_world *world, const char *permissions)
{
    approval_start(world, binary, fake_model,
                   &(struct approval_options){.permissions = permissions, .root = READS});
}

static void talk(const struct platform_world *world, int64_t chat, int64_t user, const char *said)
{
    char text[256];
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%s[[plain]] %s number %d", chat < 0 ? "@helper_bot " : "",
                 i == 0 ? said : "small talk", i);
        (void)chat_say(world, chat, user, text);
        snprintf(text, sizeof text, "number %d", i);
        chat_expect(world, chat, text);
    }
}

static bool has_file(const struct platform_world *world, const char *name, const char *part)
{
    long long until = process_now_ms() + AWAIT_MS;
    for (;;) {
        char *bytes = folder_read(&world->world.folder, name);
        bool has = bytes != NULL && strstr(bytes, part) != NULL;
        free(bytes);
        if (has || process_now_ms() > until)
            return has;
        process_pause_ms(20);
    }
}

CASE(a_conversation_is_read_and_its_facts_are_told_to_its_person_alone)
{
    struct platform_world world;
    start_reading(&world, ALLOW);
    talk(&world, ANN, ANN, "I say [[remember Ann grows pumpkins]]");
    CHECK(has_file(&world, ANNS_FILE, "- Ann grows pumpkins <!-- memory: fact, importance 8"));
    CHECK_INT(1, platform_asked(&world, READER));
    CHECK(is_recalled(&world, ANN, ANN, "what about the pumpkins", "Ann grows pumpkins"));
    CHECK(!is_recalled(&world, BOB, BOB, "who grows pumpkins", "Ann grows pumpkins"));
    CHECK(!is_recalled(&world, TEAM, ANN, "my pumpkins", "Ann grows pumpkins"));
    platform_world_stop(&world);
}

/* Told before the summary and killed, before the store has it and killed, read and killed: with
 * three messages and an hour's pause nothing but the summary makes anybody read this. */
CASE(what_is_summed_up_was_read_though_it_was_killed)
{
    static const char *const points[] = {"memory.talked:3", "memory.talked:4",
                                         "memory.extracted:1"};
    char text[4000], filler[3000];
    memset(filler, 'x', sizeof filler - 1);
    filler[sizeof filler - 1] = '\0';
    for (size_t i = 10; i < sizeof filler - 1; i += 10)
        filler[i] = ' ';
    for (size_t i = 0; i < SMA_COUNT_OF(points); i++) {
        struct platform_world world;
        setenv("SMA_CRASH_AT", points[i], 1);
        approval_start(
            &world, binary, fake_model,
            &(struct approval_options){.permissions = ALLOW,
                                       .llm = ",\"contextTokens\":16000,\"maxTokens\":1000",
                                       .root = ",\"memory\":{\"pauseS\":3600,\"quietS\":3600}"});
        unsetenv("SMA_CRASH_AT");
        for (int k = 0; k < 2; k++) {
            snprintf(text, sizeof text, "[[plain]] I say [[remember Ann grows pumpkins]] %s no %d",
                     filler, k);
            (void)chat_say(&world, ANN, ANN, text);
            snprintf(text, sizeof text, "no %d", k);
            chat_expect(&world, ANN, text);
        }
        platform_settle(&world);
        CHECK_INT(0, platform_asked(&world, READER));
        (void)chat_say(&world, ANN, ANN, "/compact");
        await_death(&world);
        service_kill(&world.world.service);
        approval_restart(&world, binary);
        CHECK(has_file(&world, ANNS_FILE, "- Ann grows pumpkins <!-- memory: fact, importance 8"));
        CHECK_INT(1, count_in_file(&world, "pumpkins"));
        platform_world_stop(&world);
    }
}

CASE(what_is_proposed_waits_for_its_person)
{
    struct platform_world world;
    start_reading(&world, NULL);
    talk(&world, ANN, ANN, "I say [[remember Ann grows pumpkins]]");
    CHECK(has_file(&world, ".ship/memory/proposed/users/telegram%3A1001.md", "pumpkins"));
    CHECK_INT(0, count_in_file(&world, "pumpkins"));
    CHECK(!is_recalled(&world, ANN, ANN, "what about pumpkins", "Ann grows pumpkins"));
    (void)chat_say(&world, BOB, BOB, "/memory");
    chat_expect(&world, BOB, "nothing about you");
    (void)chat_say(&world, ANN, ANN, "/memory");
    chat_expect(&world, ANN, "1. Ann grows pumpkins (fact, 8)");
    (void)chat_say(&world, ANN, ANN, "/memory keep 1");
    chat_expect(&world, ANN, "Kept: 1");
    CHECK(is_recalled(&world, ANN, ANN, "and the pumpkins now", "Ann grows pumpkins"));
    platform_world_stop(&world);
}

/* Told in a conversation, then deleted: the same conversation does not hold it any more. */
CASE(what_is_deleted_is_gone_from_a_running_conversation)
{
    struct platform_world world;
    char path[600];
    start(&world, ALLOW);
    approval_do_for(&world, REMEMBER(FACT), "\"success\":true");
    CHECK(is_recalled(&world, ANN, ANN, "which tea is it today", FACT));
    (void)chat_say(&world, ANN, ANN, "/forget Longjing");
    chat_expect(&world, ANN, "Deleted: 1");
    (void)chat_say(&world, ANN, ANN, "[[plain]] and which one after that");
    chat_expect(&world, ANN, "after that");
    platform_settle(&world);
    json_t *asked = world_asked(&world.world, "and which one after that");
    const char *body = talk_text(json_array_get(asked, json_array_size(asked) - 1), "body");
    CHECK(strstr(body, "which tea is it today") != NULL);
    CHECK(strstr(body, FACT) == NULL);
    json_decref(asked);
    /* neither in the file nor in what SQLite keeps of deleted rows and words */
    snprintf(path, sizeof path, "! grep -a -r -l -i longjing %s/.ship/memory >/dev/null",
             world.world.folder.path);
    long long until = process_now_ms() + AWAIT_MS;
    while (system(path) != 0) {
        CHECK(process_now_ms() < until);
        process_pause_ms(100);
    }
    platform_world_stop(&world);
}

CASE(memory_can_be_switched_off)
{
    struct platform_world world;
    char path[512];
    start(&world, ",\"memory\":\"refuse\"");
    snprintf(path, sizeof path, "%s/.ship/memory", world.world.folder.path);
    CHECK(mkdir(path, 0700) == 0);
    folder_write(&world.world.folder, ".ship/memory/project.md", "- " FACT "\n");
    CHECK(!is_recalled(&world, ANN, ANN, "which tea is it", FACT));
    CHECK_INT(0, platform_asked(&world, "memory_upsert"));
    platform_world_stop(&world);
}

CASES_MAIN_GIVEN(&binary, &fake_model)
