/*
 * Aim: conversations are read when it is time, once, over restarts; of what a model says only what
 * has the right form becomes a fact or a proposal, for the place it was said in; old files are
 * offered once; a deleted fact is gone from the index's file.
 * Method: the actor under the scheduler; the test speaks as the agent.
 */
#include "runtime/memory/memory.h"
#include "sma/actors.h"
#include "sma/messages.h"
#include "sma/sim.h"
#include "support/check.h"

#include <sys/stat.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static struct
{
    char dir[64], state_dir[80];
    struct sma_config config;
    struct sma_memory_actor *actor;
    struct sma_system *system;
    struct sma_msg *extract, *result;
} w;

static void keep(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx;
    struct sma_msg **place = (*msg)->kind == SMA_MSG_EXTRACT         ? &w.extract
                             : (*msg)->kind == SMA_MSG_MEMORY_RESULT ? &w.result
                                                                     : NULL;
    if (place == NULL)
        return;
    sma_msg_destroy(*place);
    *place = *msg;
    *msg = NULL;
}
static const struct sma_actor_ops keeper = {.name = "agent", .handle = keep};

static void open_world(void)
{
    struct sma_error error;
    CHECK_OK(sma_memory_actor_create(&w.config, &w.actor, &error));
    w.system = sma_system_create(&(struct sma_system_options){.is_simulated = true, .seed = 1});
    CHECK(w.system != NULL);
    CHECK_OK(sma_system_add(w.system, SMA_ACTOR_MEMORY, &sma_memory_actor_ops, w.actor));
    CHECK_OK(sma_system_add(w.system, SMA_ACTOR_AGENT, &keeper, NULL));
    CHECK_OK(sma_system_start(w.system, &error));
}

static void close_world(void)
{
    sma_msg_destroyp(&w.extract);
    sma_msg_destroyp(&w.result);
    sma_system_destroy(w.system);
    sma_memory_actor_destroy(w.actor);
}

static void begin(enum sma_memory_permission permission)
{
    memset(&w, 0, sizeof w);
    snprintf(w.dir, sizeof w.dir, "/tmp/sma-memory-XXXXXX");
    CHECK(mkdtemp(w.dir) != NULL);
    snprintf(w.state_dir, sizeof w.state_dir, "%s/.ship", w.dir);
    w.config = (struct sma_config){.project_dir = w.dir,
                                   .state_dir = w.state_dir,
                                   .memory = (uint8_t)permission,
                                   .memory_extracts = true,
                                   .memory_pause_s = 300,
                                   .memory_quiet_s = 60};
    open_world();
}

static void end(void)
{
    char command[128];
    close_world();
    snprintf(command, sizeof command, "rm -rf %s", w.dir);
    CHECK(system(command) == 0);
}

static void run_for(uint64_t seconds)
{
    (void)sma_sim_run(w.system, 100000, sma_sim_now(w.system) + seconds * SECOND);
}

static struct sma_route route_of(const char *chat, const char *user, bool is_group)
{
    return (struct sma_route){.channel = SMA_STR("test"),
                              .chat_key = sma_str(chat),
                              .chat_type = is_group ? SMA_STR("group") : SMA_STR("private"),
                              .user_id = sma_str(user)};
}

static const struct sma_memory_result *ask(const struct sma_memory_ask *asked)
{
    struct sma_msg *msg = sma_msg_make_memory(asked);
    CHECK(msg != NULL);
    CHECK_OK(
        sma_ctx_ask(sma_system_ctx(w.system, SMA_ACTOR_AGENT), SMA_ACTOR_MEMORY, &msg, 0, NULL));
    sma_msg_destroyp(&w.result);
    run_for(0);
    (void)sma_sim_run(w.system, 1000, sma_sim_now(w.system) + 1000000);
    CHECK(w.result != NULL);
    return SMA_MSG_BODY(w.result, struct sma_memory_result);
}

static void talked(const char *chat, const char *user, bool is_group, uint32_t count)
{
    (void)ask(&(struct sma_memory_ask){.op = SMA_MEMORY_TALKED,
                                       .route = route_of(chat, user, is_group),
                                       .is_group = is_group,
                                       .seq = 7,
                                       .count = count});
}

static void extracted(const char *chat, const char *user, bool is_group, const char *answer)
{
    struct sma_str speakers[] = {SMA_STR("ann"), SMA_STR("bob")};
    (void)ask(&(struct sma_memory_ask){.op = SMA_MEMORY_EXTRACTED,
                                       .route = route_of(chat, user, is_group),
                                       .is_group = is_group,
                                       .text = sma_str(answer),
                                       .until_ms = 5000,
                                       .speaker_count = is_group ? 2 : 1,
                                       .speakers = speakers});
}

static bool file_has(const char *name, const char *part)
{
    char path[300];
    struct sma_error error;
    char *bytes = NULL;
    size_t len = 0;
    snprintf(path, sizeof path, "%s/memory/%s", w.state_dir, name);
    if (sma_sys_read_file(sma_sys_real(), path, 64 << 20, &bytes, &len, &error) != SMA_ERR_OK)
        return false;
    bool has = memmem(bytes, len, part, strlen(part)) != NULL;
    free(bytes);
    return has;
}

#define FACT(type, content, importance, who)                                        \
    "{\"type\":\"" type "\",\"content\":\"" content "\",\"importance\":" importance \
    ",\"who\":" who ",\"tags\":[\"a b\"]}"
#define ANN "users/test%3Aann.md"

AFTER_EACH(end())

CASE(a_chat_is_read_when_it_is_quiet_and_not_again_too_soon)
{
    begin(SMA_MEMORY_ALLOW);
    talked("c", "ann", false, 4);
    run_for(400);
    CHECK(w.extract == NULL); /* too few messages */
    talked("c", "ann", false, 2);
    run_for(50);
    CHECK(w.extract == NULL); /* not quiet yet */
    run_for(20);
    CHECK(w.extract != NULL);
    CHECK_INT(40, SMA_MSG_BODY(w.extract, struct sma_extract)->line_count_max);
    extracted("c", "ann", false, "{\"memories\":[" FACT("fact", "Ann has a dog", "7", "1") "]}");
    CHECK(file_has(ANN, "- Ann has a dog <!-- memory: fact, importance 7, "));
    sma_msg_destroyp(&w.extract);
    talked("c", "ann", false, 6);
    run_for(200);
    CHECK(w.extract == NULL); /* five minutes are not over */
    run_for(110);
    CHECK(w.extract != NULL);
    CHECK_INT(5000, SMA_MSG_BODY(w.extract, struct sma_extract)->after_ms);
}

CASE(a_restart_neither_repeats_nor_forgets)
{
    begin(SMA_MEMORY_ALLOW);
    talked("c", "ann", false, 6);
    run_for(61);
    CHECK(w.extract != NULL);
    close_world(); /* the agent was reading */
    open_world();
    run_for(61);
    CHECK(w.extract != NULL);
    extracted("c", "ann", false, "{\"memories\":[" FACT("fact", "Ann has a dog", "7", "1") "]}");
    close_world();
    open_world();
    run_for(1000);
    CHECK(w.extract == NULL);
    CHECK(file_has(ANN, "Ann has a dog"));
}

static void summed_up(const char *chat, uint64_t seq, uint64_t dropped_seq)
{
    (void)ask(&(struct sma_memory_ask){.op = SMA_MEMORY_TALKED,
                                       .route = route_of(chat, "ann", false),
                                       .seq = seq,
                                       .count = 1,
                                       .dropped_seq = dropped_seq});
}

static void answered(bool is_partial, bool is_failed, bool is_put_off, int64_t until_ms)
{
    sma_msg_destroyp(&w.extract);
    (void)ask(&(struct sma_memory_ask){.op = SMA_MEMORY_EXTRACTED,
                                       .route = route_of("c", "ann", false),
                                       .text = SMA_STR("{\"memories\":[]}"),
                                       .is_partial = is_partial,
                                       .is_failed = is_failed,
                                       .is_put_off = is_put_off,
                                       .until_ms = until_ms});
}

static bool is_asked(uint64_t seconds)
{
    run_for(seconds);
    return w.extract != NULL;
}

/* A summary stands for text that nobody has read: it is read at once, to its end, over restarts;
 * and a run of the same conversation that says so again makes nobody read it twice. */
CASE(what_a_summary_stands_for_is_read_once_to_its_end)
{
    begin(SMA_MEMORY_ALLOW);
    summed_up("c", 9, 7);
    CHECK(is_asked(1));
    CHECK_INT(200, SMA_MSG_BODY(w.extract, struct sma_extract)->line_count_max);
    answered(true, false, false, 5000);
    CHECK(w.extract != NULL); /* the next piece, without a pause */
    CHECK_INT(5000, SMA_MSG_BODY(w.extract, struct sma_extract)->after_ms);
    close_world(); /* killed while the agent reads */
    open_world();
    CHECK(is_asked(5));
    CHECK_INT(5000, SMA_MSG_BODY(w.extract, struct sma_extract)->after_ms);
    answered(false, false, false, 6000);
    summed_up("c", 10, 7);
    CHECK(!is_asked(50));
    close_world();
    open_world();
    summed_up("c", 11, 7);
    CHECK(!is_asked(50));
    summed_up("c", 12, 11); /* once more summed up */
    CHECK(is_asked(1));
}

/* While it is read, a newer part of the conversation is summed up. */
CASE(a_summary_made_meanwhile_is_read_too)
{
    begin(SMA_MEMORY_ALLOW);
    summed_up("c", 9, 7);
    CHECK(is_asked(1));
    summed_up("c", 14, 12);
    answered(false, false, false, 5000);
    CHECK(w.extract != NULL);
    answered(false, false, false, 6000);
    CHECK(!is_asked(50));
}

/* Runs that come between put it off as often as they like; a model may fail three times. */
CASE(what_is_put_off_is_not_given_up)
{
    begin(SMA_MEMORY_ALLOW);
    summed_up("c", 9, 7);
    CHECK(is_asked(1));
    for (int i = 0; i < 8; i++) {
        answered(false, false, true, 0);
        CHECK(!is_asked(290));
        CHECK(is_asked(20));
    }
    for (int i = 0; i < 2; i++) {
        answered(false, true, false, 0);
        CHECK(!is_asked(290));
        CHECK(is_asked(20));
    }
    answered(false, true, false, 0);
    CHECK(!is_asked(1000));
    summed_up("c", 10, 7);
    CHECK(!is_asked(1000)); /* given up for good */
}

CASE(only_what_has_the_right_form_is_kept)
{
    static const char *const refused[] = {
        "no json",
        "{\"memories\":{}}",
        "[" FACT("fact", "X", "9", "1") "]",
        "{\"memories\":[1,null,\"X\",[]]}",
        "{\"memories\":[" FACT("order", "X", "9", "1") "]}",
        "{\"memories\":[" FACT("fact", "X", "3", "1") "]}",
        "{\"memories\":[" FACT("fact", "X", "11", "1") "]}",
        "{\"memories\":[" FACT("fact", "X", "\"9\"", "1") "]}",
        "{\"memories\":[" FACT("fact", " ", "9", "1") "]}",
        "{\"memories\":[" FACT("fact", "X", "9", "1") "]} and more",
    };
    begin(SMA_MEMORY_ALLOW);
    for (size_t i = 0; i < SMA_COUNT_OF(refused); i++) {
        talked("c", "ann", false, 6);
        run_for(400);
        CHECK(w.extract != NULL);
        extracted("c", "ann", false, refused[i]);
        sma_msg_destroyp(&w.extract);
        CHECK(!file_has(ANN, "- "));
    }
    talked("c", "ann", false, 6);
    run_for(400);
    extracted("c", "ann", false,
              "```json\n{\"memories\":[" FACT("fact", "Ann has a\\ndog -->", "9", "1") "]}\n```");
    CHECK(file_has(ANN, "- Ann has a dog -- > <!-- memory: fact, importance 9, "));
}

/* Where it was said, by whom it was said; never what the model would like. */
CASE(the_chat_decides_who_may_read_it)
{
    begin(SMA_MEMORY_ALLOW);
    talked("g", "ann", true, 6);
    run_for(61);
    extracted("g", "ann", true,
              "{\"memories\":[" FACT("fact", "the team likes tea", "7",
                                     "2") "," FACT("fact", "of nobody", "7", "3") "]}");
    CHECK(file_has("users/test%3Abob.md", "- the team likes tea <!--"));
    CHECK(file_has("users/test%3Abob.md", ", in g, tags a-b"));
    CHECK(!file_has(ANN, "nobody") && !file_has("users/test%3Abob.md", "nobody"));
    const struct sma_memory_ask private = {.op = SMA_MEMORY_RECALL,
                                           .route = route_of("b", "bob", false),
                                           .text = SMA_STR("does the team like tea")};
    CHECK_INT(0, ask(&private)->recalled_count);
    const struct sma_memory_ask other = {.op = SMA_MEMORY_RECALL,
                                         .route = route_of("g2", "bob", true),
                                         .is_group = true,
                                         .text = SMA_STR("does the team like tea")};
    CHECK_INT(0, ask(&other)->recalled_count);
    const struct sma_memory_ask here = {.op = SMA_MEMORY_RECALL,
                                        .route = route_of("g", "eve", true),
                                        .is_group = true,
                                        .text = SMA_STR("does the team like tea")};
    CHECK_INT(1, ask(&here)->recalled_count);
}

CASE(proposals_are_told_to_nobody)
{
    begin(SMA_MEMORY_ASK);
    talked("c", "ann", false, 6);
    run_for(61);
    extracted("c", "ann", false, "{\"memories\":[" FACT("fact", "Ann has a dog", "9", "1") "]}");
    CHECK(!file_has(ANN, "dog") && file_has("proposed/" ANN, "dog"));
    const struct sma_memory_ask recall = {
        .op = SMA_MEMORY_RECALL, .route = route_of("c", "ann", false), .text = SMA_STR("dog")};
    CHECK_INT(0, ask(&recall)->recalled_count);
}

CASE(the_same_in_other_words_is_one_fact)
{
    begin(SMA_MEMORY_ALLOW);
    static const char *const said[] = {"Ann has a dog", "Ann has a dog called Rex",
                                       "ann has a DOG"};
    for (size_t i = 0; i < SMA_COUNT_OF(said); i++) {
        char answer[300];
        talked("c", "ann", false, 6);
        run_for(400);
        snprintf(answer, sizeof answer,
                 "{\"memories\":[{\"type\":\"fact\",\"content\":\"%s\",\"importance\":5}]}",
                 said[i]);
        extracted("c", "ann", false, answer);
    }
    CHECK(file_has(ANN, "- Ann has a dog called Rex <!--"));
    CHECK(!file_has(ANN, "- Ann has a dog <!--") && !file_has(ANN, "DOG"));
}

CASE(old_files_are_offered_once_and_stay)
{
    char path[200];
    struct sma_error error;
    static const char old[] =
        "{\"chatKey\":\"telegram:chat:1\",\"entries\":[{\"id\":\"mem_1_a\",\"type\":\"preference\","
        "\"content\":\"likes tea\",\"importance\":6,\"tags\":[\"x\"]},{\"type\":\"odd\","
        "\"content\":\"no\"}],\"version\":1}";
    begin(SMA_MEMORY_ASK);
    snprintf(path, sizeof path, "%s/memory", w.state_dir);
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), path, &error));
    snprintf(path, sizeof path, "%s/memory/telegram%%3Achat%%3A1.json", w.state_dir);
    CHECK_OK(sma_sys_write_file_atomic(sma_sys_real(), path, sma_str(old), 0600, &error));
    run_for(5);
    static const char name[] = "proposed/users/chat%3Atelegram%3Achat%3A1.md";
    CHECK(file_has(name, "- likes tea <!-- memory: preference, importance 6, "));
    CHECK(!file_has(name, "- no"));
    CHECK(file_has("telegram%3Achat%3A1.json", "likes tea"));
    snprintf(path, sizeof path, "%s/memory/%s", w.state_dir, name);
    CHECK(unlink(path) == 0);
    close_world();
    open_world();
    run_for(5);
    CHECK(!file_has(name, "likes tea"));
}

/* A fact of a conversation that is not there any more is named; one of somebody else, too. */
CASE(what_is_gone_is_named)
{
    begin(SMA_MEMORY_ALLOW);
    const struct sma_memory_ask upsert = {.op = SMA_MEMORY_UPSERT,
                                          .route = route_of("c", "ann", false),
                                          .text = SMA_STR("Ann has a dog")};
    CHECK(!ask(&upsert)->is_error);
    struct sma_memory_ask recall = {
        .op = SMA_MEMORY_RECALL, .route = route_of("c", "ann", false), .text = SMA_STR("dog")};
    const struct sma_memory_result *result = ask(&recall);
    CHECK_INT(1, result->recalled_count);
    uint64_t told[2] = {result->recalled[0].id, 12345};
    recall.told = (struct sma_str){(const char *)told, sizeof told};
    result = ask(&recall);
    CHECK_INT(8, result->gone.len);
    CHECK(memcmp(result->gone.ptr, &told[1], 8) == 0);
    recall.route.user_id = SMA_STR("bob");
    CHECK_INT(16, ask(&recall)->gone.len);
}

/* -- nobody else's ----------------------------------------------------------------------------- */
#define PEOPLE 50
#define FACTS_EACH 200 /* every fourth of them said in one of ten groups */

static void write_person(int person)
{
    char path[300];
    SMA_AUTO(sma_buf_fini) struct sma_buf text;
    struct sma_error error;
    sma_buf_init(&text, 1024 * 1024);
    for (int i = 0; i < FACTS_EACH; i++)
        if (i % 4 == 0)
            sma_buf_printf(&text, "- tea 绿茶 owner%d place%d number%d <!-- memory: in g%d -->\n",
                           person, (person + i) % 10, i, (person + i) % 10);
        else
            sma_buf_printf(&text,
                           "- tea 绿茶 owner%d private number%d <!-- memory: importance %d -->\n",
                           person, i, i % 10 + 1);
    snprintf(path, sizeof path, "%s/memory/users", w.state_dir);
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), path, &error));
    snprintf(path, sizeof path, "%s/memory/users/test%%3Ap%d.md", w.state_dir, person);
    CHECK_OK(sma_sys_write_file_atomic(sma_sys_real(), path, sma_buf_str(&text), 0600, &error));
}

/* What is given where this person is, in private or in a group, is their own or the group's facts
 * alone. Their name has changed, and is somebody else's. */
static void ask_as(int person, int group)
{
    char user[16], chat[16], words[160], own[40];
    snprintf(user, sizeof user, "p%d", person);
    snprintf(chat, sizeof chat, group < 0 ? "c%d" : "g%d", group < 0 ? person : group);
    snprintf(own, sizeof own, group < 0 ? "owner%d private" : " place%d ",
             group < 0 ? person : group);
    snprintf(words, sizeof words, "tea 绿茶 owner%d private place%d number3 p%d",
             (person + 1) % PEOPLE, (group + 2) % 10, (person + 1) % PEOPLE);
    struct sma_memory_ask asked = {.op = SMA_MEMORY_RECALL,
                                   .route = route_of(chat, user, group >= 0),
                                   .is_group = group >= 0,
                                   .limit = SMA_MEMORY_SEARCH_COUNT_MAX,
                                   .text = sma_str(words)};
    asked.route.user_name = SMA_STR("p0");
    const struct sma_memory_result *result = ask(&asked);
    CHECK_INT(SMA_MEMORY_RECALL_COUNT_MAX, result->recalled_count);
    for (uint32_t i = 0; i < result->recalled_count; i++)
        CHECK(memmem(result->recalled[i].text.ptr, result->recalled[i].text.len, own,
                     strlen(own)) != NULL);
    asked.op = SMA_MEMORY_SEARCH;
    result = ask(&asked);
    CHECK(!result->is_error);
    uint32_t count = 0;
    struct sma_str rest = result->content;
    for (const char *at; (at = memmem(rest.ptr, rest.len, "tea 绿茶 ", 11)) != NULL; count++) {
        size_t left = (size_t)(rest.ptr + rest.len - at);
        CHECK(memmem(at, left < 60 ? left : 60, own, strlen(own)) != NULL);
        rest = (struct sma_str){at + 11, left - 11};
    }
    CHECK_INT(SMA_MEMORY_SEARCH_COUNT_MAX, count);
}

CASE(what_one_has_said_is_given_to_nobody_else)
{
    begin(SMA_MEMORY_ALLOW);
    for (int i = 0; i < PEOPLE; i++)
        write_person(i);
    /* and what a model has found in a group and in private, which was read meanwhile */
    talked("g1", "p1", true, 6);
    talked("c2", "p2", false, 6);
    for (int i = 0; i < 2; i++) {
        CHECK(is_asked(61));
        const struct sma_extract *extract = SMA_MSG_BODY(w.extract, struct sma_extract);
        bool is_group = extract->is_group;
        sma_msg_destroyp(&w.extract);
        extracted(is_group ? "g1" : "c2", is_group ? "p1" : "p2", is_group,
                  is_group ? "{\"memories\":[" FACT("fact", "tea 绿茶 place1 found", "9", "1") "]}"
                           : "{\"memories\":[" FACT("fact", "tea 绿茶 owner2 private found", "9",
                                                    "1") "]}");
    }
    CHECK(file_has("users/test%3Ap2.md", "owner2 private found"));
    for (int i = 0; i < PEOPLE; i++) {
        ask_as(i, -1);
        ask_as(i, i % 10);
        ask_as(i, (i + 3) % 10);
    }
}

CASES_MAIN
