/*
 * Aim: a session that the platform gave up is begun anew; what only the owner can mend is said and
 * not hammered; a service that starts, stops or dies at any time loses nothing and doubles nothing.
 * Method: as qq_weather.
 *   scenario_qq_sessions BINARY FAKE_MODEL
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

static void stop(void)
{
    platform_world_stop(&world);
}

static void tell(const char *what)
{
    fprintf(stderr, "   %s\n", what);
}

/* -- the session is gone ----------------------------------------------------------------------- */
static void dead_sessions_are_begun_anew(void)
{
    static const struct
    {
        const char *name;
        const char *command;
    } cases[] = {{"invalid", "{\"do\":\"invalid\"}"},
                 {"close 4006", "{\"do\":\"close\",\"code\":4006}"},
                 {"close 4007", "{\"do\":\"close\",\"code\":4007}"},
                 {"close 4900", "{\"do\":\"close\",\"code\":4900}"},
                 {"close 4913", "{\"do\":\"close\",\"code\":4913}"},
                 {"close 4004", "{\"do\":\"close\",\"code\":4004}"},
                 {"close 4003", "{\"do\":\"close\",\"code\":4003}"}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        tell(cases[i].name);
        start();
        platform_tell(&world.client, "{s:s,s:i}", "do", "gateway", "concurrency", 0);
        json_t *command = json_loads(cases[i].command, 0, NULL);
        platform_tell(&world.client, "O", command);
        json_decref(command);
        qq_recovers(&world, "identifies", 2, process_now_ms());
        CHECK_INT(2, platform_counter(&world, "identifies"));
        stop();
    }
}

static void refused_resumes_end_in_an_identify(void)
{
    static const char *const hows[] = {"!op9", "!4006", "!4007"};
    for (size_t i = 0; i < SMA_COUNT_OF(hows); i++) {
        tell(hows[i] + 1);
        start();
        platform_tell(&world.client, "{s:s,s:i,s:s}", "do", "gateway", "concurrency", 0,
                      "resume_refusal", hows[i]);
        platform_tell(&world.client, "{s:s}", "do", "drop");
        platform_await_counter(&world, "resumes_refused", 1);
        qq_recovers(&world, "identifies", 2, process_now_ms());
        CHECK_INT(1, platform_counter(&world, "resumes_refused"));
        stop();
    }
}

static void a_token_that_ended_is_fetched_anew(void)
{
    start();
    platform_tell(&world.client, "{s:s,s:i}", "do", "gateway", "concurrency", 0);
    platform_tell(&world.client, "{s:s}", "do", "expire_token");
    platform_talk(&world, 1, 1); /* the reply was refused for its token */
    platform_tell(&world.client, "{s:s}", "do", "expire_token");
    platform_tell(&world.client, "{s:s}", "do",
                  "drop"); /* so is the resume, or the question before it */
    long long ended = process_now_ms();
    platform_await_counter(&world, "tokens", 3);
    qq_recovers(&world, "resumes", 1, ended);
    stop();
}

/* Each shard has a session of its own; the platform allows one log-in in five seconds. */
static void shards_share_the_chats(void)
{
    char chat[64];
    platform_world_create(&world, &qq_kind, fake_model,
                          &(struct platform_options){.members = FAST ",\"shards\":2"});
    service_start(&world.world.service, binary, &world.world.folder);
    platform_await_counter(&world, "ready", 2);
    for (int i = 0; i < 8; i++) {
        snprintf(chat, sizeof chat, "c2c:%032X", i);
        platform_tell(&world.client, "{s:s,s:s}", "do", "chat", "chat", chat);
        chat_say(&world, chat, NULL, "who carries this");
    }
    for (int i = 0; i < 8; i++) {
        snprintf(chat, sizeof chat, "c2c:%032X", i);
        chat_expect(&world, chat, "You said: who carries this");
    }
    platform_tell(&world.client, "{s:s}", "do", "restart"); /* both links end */
    qq_say_meanwhile(&world, 3);
    long long ended = process_now_ms();
    platform_await_counter(&world, "resumes", 2);
    CHECK(process_now_ms() - ended <= RECOVERY_MS);
    qq_expect_meanwhile(&world, 3);
    CHECK_INT(2, platform_counter(&world, "identifies"));
    CHECK_INT(0, platform_counter(&world, "lost"));
    stop();
}

/* -- what only the owner can mend -------------------------------------------------------------- */
static void fatal_codes_do_not_hammer(void)
{
    static const struct
    {
        int code;
        const char *words;
    } cases[] = {{4010, "shard is wrong"}, {4914, "sandbox"}, {4915, "banned"}, {4002, "payload"}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        fprintf(stderr, "   close %d\n", cases[i].code);
        start();
        int64_t asked = platform_calls(&world, "gateway_bot");
        platform_tell(&world.client, "{s:s,s:i}", "do", "close", "code", cases[i].code);
        platform_await_log(&world, cases[i].words);
        process_pause_ms(2500);
        CHECK_INT(asked, platform_calls(&world, "gateway_bot"));
        CHECK_INT(1, platform_counter(&world, "identifies"));
        stop();
    }
}

static void a_platform_that_is_flooded_gets_a_minute(void)
{
    start();
    platform_tell(&world.client, "{s:s,s:i}", "do", "close", "code", 4008);
    platform_await_log(&world, "too fast");
    process_pause_ms(2500);
    CHECK_INT(0, platform_counter(&world, "links"));
    stop();
}

static void missing_rights_leave_what_there_is(void)
{
    platform_world_create(&world, &qq_kind, fake_model,
                          &(struct platform_options){.members = FAST});
    platform_tell(&world.client, "{s:s,s:i}", "do", "rights", "intents", 1 << 25);
    platform_tell(&world.client, "{s:s,s:i}", "do", "gateway", "concurrency", 0);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    platform_talk(&world, 1, 1);
    platform_await_log(&world, "no right to all of adapters.qq.intents");
    stop();
}

static void a_wrong_secret_does_not_hammer(void)
{
    platform_world_create(&world, &qq_kind, fake_model,
                          &(struct platform_options){.members = FAST});
    platform_tell(&world.client, "{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method", "token",
                  "kind", "status", "status", 200, "code", 100016, "times", 100);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_await_log(&world, "100016");
    process_pause_ms(2500);
    CHECK(platform_calls(&world, "token") <= 3);
    stop();
}

/* -- the service starts and stops -------------------------------------------------------------- */
static void a_start_in_bad_weather_comes_up_by_itself(void)
{
    platform_world_create(&world, &qq_kind, fake_model,
                          &(struct platform_options){.members = FAST});
    platform_fault(&world, "token", "html", 1);
    platform_fault(&world, "token", "garbage", 1);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_await_none(&world, "faults_left");
    long long ended = process_now_ms();
    platform_world_await_ready(&world);
    CHECK(process_now_ms() - ended <= RECOVERY_MS);
    platform_talk(&world, 1, 1);
    stop();
}

static void a_stop_in_mid_burst_loses_nothing(void)
{
    char text[64];
    start();
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 8; i++) {
            snprintf(text, sizeof text, "burst %d-%d.", round, i);
            chat_say(&world, i % 2 == 0 ? ANN : BOB, NULL, text);
        }
        process_pause_ms(round * 7);
        if (round == 3)
            service_kill(&world.world.service);
        else
            CHECK_INT(0, service_stop(&world.world.service));
        service_start(&world.world.service, binary, &world.world.folder);
        platform_world_await_ready(&world);
    }
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < 8; i++) {
            snprintf(text, sizeof text, "You said: burst %d-%d.", round, i);
            chat_expect(&world, i % 2 == 0 ? ANN : BOB, text);
        }
    platform_settle(&world);
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < 8; i++) {
            snprintf(text, sizeof text, "You said: burst %d-%d.", round, i);
            CHECK_INT(1, chat_count(&world, i % 2 == 0 ? ANN : BOB, text));
        }
    CHECK_INT(1, platform_counter(&world, "identifies")); /* over all these ends one session */
    CHECK_INT(0, platform_counter(&world, "lost"));
    stop();
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(dead_sessions_are_begun_anew);
    RUN(refused_resumes_end_in_an_identify);
    RUN(a_token_that_ended_is_fetched_anew);
    RUN(shards_share_the_chats);
    RUN(fatal_codes_do_not_hammer);
    RUN(a_platform_that_is_flooded_gets_a_minute);
    RUN(missing_rights_leave_what_there_is);
    RUN(a_wrong_secret_does_not_hammer);
    RUN(a_start_in_bad_weather_comes_up_by_itself);
    RUN(a_stop_in_mid_burst_loses_nothing);
    return check_summary();
}
