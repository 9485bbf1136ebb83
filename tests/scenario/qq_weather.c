/*
 * Aim: bad weather between the service and QQ's gateway passes by itself: within five seconds after
 * it ended people are answered again, nothing is lost that the platform still has, nothing is
 * answered twice; and the platform is not hammered.
 * Method: the real binary between a QQ platform and a model server; each kind of weather meets a
 *   service of its own. scenario_qq_weather BINARY FAKE_MODEL
 */
#include "qq_world.h"

#include "support/check.h"

#define FAST ",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}"

static const char *binary, *fake_model;
static struct platform_world world;

static void start(void)
{
    platform_world_start(&world, &qq_kind, binary, fake_model,
                         &(struct platform_options){.members = FAST});
    platform_talk(&world, 1, 1);
}

/* With heartbeats every 300 ms. */
static void start_lively(void)
{
    platform_world_create(&world, &qq_kind, fake_model,
                          &(struct platform_options){.members = FAST});
    platform_tell(&world.client, "{s:s,s:i}", "do", "gateway", "heartbeat", 300);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    platform_talk(&world, 1, 1);
}

static void stop(void)
{
    platform_world_stop(&world);
}

static void tell(const char *what)
{
    fprintf(stderr, "   %s\n", what);
}

/* -- the link ends, the session lives ---------------------------------------------------------- */
static void lost_links_are_resumed(void)
{
    static const struct
    {
        const char *name;
        const char *command;
    } cases[] = {{"drop", "{\"do\":\"drop\"}"},
                 {"reset", "{\"do\":\"reset\"}"},
                 {"reconnect", "{\"do\":\"reconnect\"}"},
                 {"invalid, resumable", "{\"do\":\"invalid\",\"resumable\":true}"},
                 {"close 4009", "{\"do\":\"close\",\"code\":4009}"},
                 {"close 1000", "{\"do\":\"close\",\"code\":1000}"},
                 {"close 1001", "{\"do\":\"close\",\"code\":1001}"},
                 {"a code nobody knows", "{\"do\":\"close\",\"code\":4321}"}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        tell(cases[i].name);
        start();
        json_t *command = json_loads(cases[i].command, 0, NULL);
        platform_tell(&world.client, "O", command);
        json_decref(command);
        long long ended = process_now_ms();
        qq_say_meanwhile(&world, 3);
        qq_recovers(&world, "resumes", 1, ended);
        qq_expect_meanwhile(&world, 3);
        CHECK_INT(1, platform_counter(&world, "identifies"));
        CHECK_INT(0, platform_counter(&world, "lost"));
        stop();
    }
}

static void an_event_cut_in_mid_frame_comes_again(void)
{
    start();
    platform_tell(&world.client, "{s:s,s:s,s:s}", "do", "cut", "chat", ANN, "text",
                  "said meanwhile, number 0.");
    qq_recovers(&world, "resumes", 1, process_now_ms());
    qq_expect_meanwhile(&world, 1);
    stop();
}

static void garbage_ends_a_link_or_is_passed_over(void)
{
    static const char *const kinds[] = {"text", "number", "binary", "utf8", "frame", "lie"};
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        tell(kinds[i]);
        start();
        platform_tell(&world.client, "{s:s,s:s}", "do", "garbage", "kind", kinds[i]);
        long long ended = process_now_ms();
        qq_say_meanwhile(&world, 2);
        qq_expect_meanwhile(&world, 2);
        CHECK(process_now_ms() - ended <= RECOVERY_MS);
        platform_talk(&world, 1, 1);
        CHECK_INT(1, platform_counter(&world, "identifies"));
        stop();
    }
    tell("oversize");
    start();
    platform_tell(&world.client, "{s:s,s:i}", "do", "oversize", "bytes", 3 << 20);
    long long ended = process_now_ms();
    qq_say_meanwhile(&world, 2);
    qq_recovers(&world, "resumes", 1, ended);
    qq_expect_meanwhile(&world, 2);
    stop();
}

/* The network has gone without a word: only the missing heartbeat tells. */
static void a_half_open_link_is_given_up(void)
{
    start_lively();
    platform_tell(&world.client, "{s:s}", "do", "freeze");
    qq_say_meanwhile(&world, 3);
    qq_recovers(&world, "resumes", 1, process_now_ms());
    qq_expect_meanwhile(&world, 3);
    stop();
}

static void unanswered_heartbeats_end_a_link(void)
{
    start_lively();
    platform_tell(&world.client, "{s:s,s:b}", "do", "gateway", "acks", 0);
    platform_await_counter(&world, "resumes", 1);
    platform_tell(&world.client, "{s:s,s:b}", "do", "gateway", "acks", 1);
    long long ended = process_now_ms();
    platform_world_await_ready(&world);
    qq_say_meanwhile(&world, 2);
    qq_expect_meanwhile(&world, 2);
    CHECK(process_now_ms() - ended <= RECOVERY_MS);
    CHECK_INT(1, platform_counter(&world, "identifies"));
    stop();
}

static void heartbeats_keep_a_link_for_long(void)
{
    start_lively();
    platform_tell(&world.client, "{s:s}", "do", "ask_beat");
    platform_await_counter(&world, "beats", 8);
    platform_tell(&world.client, "{s:s,s:i}", "do", "skip", "count", 500); /* numbers nobody gets */
    platform_talk(&world, 1, 1);
    platform_tell(&world.client, "{s:s,s:i}", "do", "gateway", "fragments", 7);
    platform_talk(&world, 1, 1);
    CHECK_INT(0, platform_counter(&world, "resumes"));
    CHECK_INT(0, platform_counter(&world, "closed_by_us"));
    stop();
}

/* -- the platform is away ---------------------------------------------------------------------- */
static void a_restart_of_the_platform_loses_nothing(void)
{
    start();
    platform_tell(&world.client, "{s:s,s:i}", "do", "restart", "ms", 700);
    qq_say_meanwhile(&world, 5);
    process_pause_ms(700);
    qq_recovers(&world, "resumes", 1, process_now_ms());
    qq_expect_meanwhile(&world, 5);
    CHECK_INT(1, platform_counter(&world, "identifies"));
    stop();
}

static void refused_upgrades_are_tried_again(void)
{
    static const int statuses[] = {502, 429, 403};
    for (size_t i = 0; i < SMA_COUNT_OF(statuses); i++) {
        fprintf(stderr, "   upgrade: %d\n", statuses[i]);
        start();
        platform_tell(&world.client, "{s:s,s:i,s:i}", "do", "refuse_upgrade", "times", 1, "status",
                      statuses[i]);
        platform_tell(&world.client, "{s:s}", "do", "drop");
        long long ended = process_now_ms();
        qq_say_meanwhile(&world, 2);
        qq_recovers(&world, "resumes", 1, ended);
        qq_expect_meanwhile(&world, 2);
        stop();
    }
}

static void a_gateway_that_cannot_be_asked_is_taken_as_known(void)
{
    static const char *const kinds[] = {"html", "garbage", "close", "cut"};
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        tell(kinds[i]);
        start();
        platform_fault(&world, "gateway_bot", kinds[i], 1);
        platform_fault(&world, "gateway", kinds[i], 1);
        platform_tell(&world.client, "{s:s}", "do", "drop");
        long long ended = process_now_ms();
        qq_say_meanwhile(&world, 2);
        qq_recovers(&world, "resumes", 1, ended);
        qq_expect_meanwhile(&world, 2);
        stop();
    }
}

static void another_certificate_is_not_believed(void)
{
    struct ws_server *impostor =
        ws_server_start(&(struct ws_server_options){.tls = WS_SERVER_TLS_SELF_SIGNED});
    char url[128];
    snprintf(url, sizeof url, "%s/websocket", ws_server_url(impostor));
    start();
    platform_tell(&world.client, "{s:s,s:s}", "do", "gateway", "url", url);
    platform_tell(&world.client, "{s:s}", "do", "drop");
    qq_say_meanwhile(&world, 2);
    platform_await_log(&world, "certificate");
    CHECK_INT(0, ws_server_accepted_count(impostor));
    platform_tell(&world.client, "{s:s,s:s}", "do", "gateway", "url", "");
    qq_recovers(&world, "resumes", 1, process_now_ms());
    qq_expect_meanwhile(&world, 2);
    stop();
    ws_server_stop(impostor);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(lost_links_are_resumed);
    RUN(an_event_cut_in_mid_frame_comes_again);
    RUN(garbage_ends_a_link_or_is_passed_over);
    RUN(a_half_open_link_is_given_up);
    RUN(unanswered_heartbeats_end_a_link);
    RUN(heartbeats_keep_a_link_for_long);
    RUN(a_restart_of_the_platform_loses_nothing);
    RUN(refused_upgrades_are_tried_again);
    RUN(a_gateway_that_cannot_be_asked_is_taken_as_known);
    RUN(another_certificate_is_not_believed);
    return check_summary();
}
