/*
 * Aim: people are heard while the agent works: what they add goes into the answer that is being
 *      made, once, also over a kill; what they edit is answered as it reads now, what they take
 *      back is not answered. On each platform and each wire.
 * Method: the real binary between a simulated platform and a model server that keeps its answer
 *      back until it is told.
 *   scenario_listen_PLATFORM BINARY FAKE_MODEL
 */
#if defined(LISTEN_TELEGRAM)
#include "telegram_world.h"
#define KIND telegram_kind
#define CHAT ANN
#define USER ANN
#define OTHER_CHAT BOB
#define OTHER BOB
#elif defined(LISTEN_FEISHU)
#include "feishu_world.h"
#define KIND feishu_kind
#define CHAT ANN_CHAT
#define USER ANN
#define OTHER_CHAT BOB_CHAT
#define OTHER BOB
#else
#include "qq_world.h"
#define KIND qq_kind
#define CHAT ANN
#define USER NULL
#define OTHER_CHAT BOB
#define OTHER NULL
#endif

#include "support/check.h"

#include <signal.h>

#define SILENT "[[fault:silence ms=20000]] [[plain]] "

static const char *binary, *fake_model;

static void start(struct platform_world *world, const char *api, const char *mode)
{
    char llm[64], root[128];
    snprintf(llm, sizeof llm, ",\"api\":\"%s\"", api);
    snprintf(root, sizeof root, ",\"queue\":{\"mode\":\"%s\"}", mode);
    platform_world_start(world, &KIND, binary, fake_model,
                         &(struct platform_options){.llm = llm, .root = root});
}

static void await_asked(const struct platform_world *world, const char *part)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (platform_asked(world, part) == 0) {
        CHECK(process_now_ms() < until);
        process_pause_ms(5);
    }
}

static long metric(const struct platform_world *world, const char *name)
{
    char line[128];
    struct http_answer answer = http_ask(world->world.service.port, "/metrics", "", NULL, AWAIT_MS);
    snprintf(line, sizeof line, "\nsma_%s ", name);
    const char *at = answer.body == NULL ? NULL : strstr(answer.body, line);
    long value = at == NULL ? -1 : strtol(at + strlen(line), NULL, 10);
    http_answer_fini(&answer);
    return value;
}

static void await_metric(const struct platform_world *world, const char *name, long value)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (metric(world, name) < value) {
        CHECK(process_now_ms() < until);
        process_pause_ms(5);
    }
}

/* The first piece is answered at once; what came meanwhile is answered together, by the same
 * run. */
static void additions_go_into_the_open_run_on(const char *api)
{
    struct platform_world world;
    start(&world, api, "steer");
    chat_say(&world, CHAT, USER, SILENT "look after the house");
    await_asked(&world, "look after the house");
    chat_say(&world, CHAT, USER, "[[plain]] and the cat");
    chat_say(&world, CHAT, USER, "[[plain]] and the dog");
    await_metric(&world, "ingress_accepted_total", 3);
    world_end_silence(&world.world);
    chat_expect(&world, CHAT, "look after the house");
    chat_expect(&world, CHAT, "and the dog");
    platform_settle(&world);
    CHECK_INT(1, (int)chat_count(&world, CHAT, "look after the house"));
    CHECK_INT(0, (int)chat_count(&world, CHAT, "still working")); /* nobody is told to wait */
    CHECK_INT(1, (int)metric(&world, "runs_done_total"));
    CHECK_INT(2, (int)metric(&world, "messages_steered_total"));
    CHECK_INT(1, (int)platform_asked(&world, "and the cat")); /* with one request */
    /* What was added belongs to the talk. */
    chat_say(&world, CHAT, USER, "[[plain]] thank you");
    chat_expect(&world, CHAT, "thank you");
    CHECK_INT(2, (int)platform_asked(&world, "and the cat"));
    platform_settle(&world);
    platform_world_stop(&world);
}

static void additions_go_into_the_open_run(void)
{
    static const char *const apis[] = {"chat", "responses", "messages"};
    for (size_t i = 0; i < SMA_COUNT_OF(apis); i++)
        additions_go_into_the_open_run_on(apis[i]);
}

/* Killed while it waits, and again behind it: once in the answer, once in the history. */
static void a_kill_loses_and_doubles_nothing(void)
{
    struct platform_world world;
    start(&world, "chat", "steer");
    chat_say(&world, CHAT, USER, SILENT "look after the house");
    await_asked(&world, "look after the house");
    chat_say(&world, CHAT, USER, SILENT "and the cat");
    await_metric(&world, "ingress_accepted_total", 2);
    service_kill(&world.world.service);
    world_end_silence(&world.world);
    service_start(&world.world.service, binary, &world.world.folder);
    await_asked(&world, "and the cat");
    platform_await_receipts(&world); /* what was sent and not noted may come again */
    service_kill(&world.world.service);
    world_end_silence(&world.world);
    service_start(&world.world.service, binary, &world.world.folder);
    chat_expect(&world, CHAT, "and the cat");
    platform_settle(&world);
    CHECK_INT(1, (int)chat_count(&world, CHAT, "look after the house"));
    CHECK_INT(1, (int)chat_count(&world, CHAT, "and the cat"));
    world.may_complain = true; /* links end without a word */
    platform_world_stop(&world);
}

/* `serial`: each has a run of its own, as ever. */
static void in_serial_mode_each_has_a_run_of_its_own(void)
{
    struct platform_world world;
    start(&world, "chat", "serial");
    chat_say(&world, CHAT, USER, SILENT "look after the house");
    await_asked(&world, "look after the house");
    chat_say(&world, CHAT, USER, "[[plain]] and the cat");
    await_metric(&world, "ingress_accepted_total", 2);
    world_end_silence(&world.world);
    chat_expect(&world, CHAT, "and the cat");
    platform_settle(&world);
    CHECK_INT(2, (int)metric(&world, "runs_done_total"));
    CHECK_INT(0, (int)metric(&world, "messages_steered_total"));
    platform_world_stop(&world);
}

/* `collect`: one request for all pieces of a question. */
static void in_collect_mode_pieces_are_one_request(void)
{
    struct platform_world world;
    start(&world, "chat", "collect\",\"quietMs\":\"700");
    chat_say(&world, CHAT, USER, "[[plain]] hello");
    chat_say(&world, CHAT, USER, "[[plain]] can you");
    chat_say(&world, CHAT, USER, "[[plain]] look at it");
    chat_expect(&world, CHAT, "look at it");
    platform_settle(&world);
    CHECK_INT(1, (int)metric(&world, "runs_done_total"));
    CHECK_INT(1, (int)chat_count(&world, CHAT, ""));
    CHECK_INT(1, (int)platform_asked(&world, "hello"));
    platform_world_stop(&world);
}

#if !defined(LISTEN_QQ)
/* Another chat has the only slot. */
static void take_slot(struct platform_world *world)
{
    char root[] = ",\"queue\":{\"mode\":\"steer\"}";
    platform_world_start(world, &KIND, binary, fake_model,
                         &(struct platform_options){.root = root, .concurrency = "1"});
    chat_say(world, OTHER_CHAT, OTHER, SILENT "keep busy");
    await_asked(world, "keep busy");
}
#endif

#if defined(LISTEN_TELEGRAM)
static void an_edited_message_is_answered_as_it_reads_now(void)
{
    struct platform_world world;
    take_slot(&world);
    int64_t id = chat_say(&world, CHAT, USER, "[[plain]] at tree o'clock").number;
    await_metric(&world, "ingress_accepted_total", 2);
    platform_tell(&world.client, "{s:s,s:I,s:I,s:I,s:s}", "do", "edit", "chat", (json_int_t)CHAT,
                  "user", (json_int_t)USER, "message_id", (json_int_t)id, "text",
                  "[[plain]] at three o'clock");
    await_metric(&world, "ingress_accepted_total", 3);
    world_end_silence(&world.world);
    chat_expect(&world, CHAT, "at three o'clock");
    platform_settle(&world);
    CHECK_INT(0, (int)platform_asked(&world, "at tree o'clock"));
    CHECK_INT(1, (int)chat_count(&world, CHAT, "o'clock"));
    platform_world_stop(&world);
}

static void an_edit_reaches_the_run_that_is_open(void)
{
    struct platform_world world;
    start(&world, "chat", "steer");
    int64_t id = chat_say(&world, CHAT, USER, SILENT "at tree o'clock").number;
    await_asked(&world, "at tree o'clock");
    platform_tell(&world.client, "{s:s,s:I,s:I,s:I,s:s}", "do", "edit", "chat", (json_int_t)CHAT,
                  "user", (json_int_t)USER, "message_id", (json_int_t)id, "text",
                  "[[plain]] at three o'clock");
    await_metric(&world, "ingress_accepted_total", 2);
    world_end_silence(&world.world);
    chat_expect(&world, CHAT, "at three o'clock");
    platform_settle(&world);
    CHECK_INT(1, (int)platform_asked(&world, "now reads as below"));
    CHECK_INT(1, (int)metric(&world, "runs_done_total"));
    platform_world_stop(&world);
}
#endif

#if defined(LISTEN_FEISHU)
static void a_recalled_message_is_not_answered(void)
{
    struct platform_world world;
    take_slot(&world);
    struct chat_message said = chat_say(&world, CHAT, USER, "[[plain]] forget this");
    chat_say(&world, CHAT, USER, "[[plain]] but this");
    await_metric(&world, "ingress_accepted_total", 3);
    platform_tell(&world.client, "{s:s,s:s}", "do", "recall", "message_id", said.id);
    await_metric(&world, "messages_withdrawn_total", 1);
    world_end_silence(&world.world);
    chat_expect(&world, CHAT, "but this");
    platform_settle(&world);
    CHECK_INT(0, (int)platform_asked(&world, "forget this"));
    CHECK_INT(0, (int)chat_count(&world, CHAT, "forget this"));
    platform_world_stop(&world);
}

static void an_open_run_hears_that_its_message_was_recalled(void)
{
    struct platform_world world;
    start(&world, "chat", "steer");
    struct chat_message said = chat_say(&world, CHAT, USER, SILENT "delete it all");
    await_asked(&world, "delete it all");
    platform_tell(&world.client, "{s:s,s:s}", "do", "recall", "message_id", said.id);
    await_metric(&world, "ingress_accepted_total", 2);
    chat_say(&world, CHAT, USER, "[[plain]] sorry");
    await_metric(&world, "ingress_accepted_total", 3);
    world_end_silence(&world.world);
    chat_expect(&world, CHAT, "sorry");
    platform_settle(&world);
    CHECK_INT(1, (int)platform_asked(&world, "was withdrawn"));
    platform_world_stop(&world);
}
#endif

int main(int argc, char **argv)
{
    CHECK(argc >= 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(additions_go_into_the_open_run);
    RUN(a_kill_loses_and_doubles_nothing);
    RUN(in_serial_mode_each_has_a_run_of_its_own);
    RUN(in_collect_mode_pieces_are_one_request);
#if defined(LISTEN_TELEGRAM)
    RUN(an_edited_message_is_answered_as_it_reads_now);
    RUN(an_edit_reaches_the_run_that_is_open);
#endif
#if defined(LISTEN_FEISHU)
    RUN(a_recalled_message_is_not_answered);
    RUN(an_open_run_hears_that_its_message_was_recalled);
#endif
    return check_summary();
}
