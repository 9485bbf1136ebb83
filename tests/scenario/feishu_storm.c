/* feishu_storm.c — see feishu_storm.h. */
#include "feishu_storm.h"

#define QUICK_LIMITS ",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0,\"perGroupPerMinute\":0}"

struct platform_world storm_world;
const char *storm_binary;
char storm_part[96];
static unsigned message_number;

void storm_tell(const char *what)
{
    platform_tell(&storm_world.client, "{s:s}", "do", what);
}

void storm_tell_number(const char *what, const char *member, int number)
{
    platform_tell(&storm_world.client, "{s:s,s:i}", "do", what, member, number);
}

void storm_set_fault(const char *method, const char *kind, int times)
{
    platform_tell(&storm_world.client, "{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method", method,
                  "kind", kind, "times", times, "ms", 2, "bytes", 7);
}

void storm_set_status(const char *method, int status, int code, int seconds, int times)
{
    platform_tell(&storm_world.client, "{s:s,s:s,s:s,s:i,s:i,s:i,s:i}", "do", "fault", "method",
                  method, "kind", "status", "status", status, "code", code, "seconds", seconds,
                  "times", times);
}

void storm_break_connections(const char *how, int code)
{
    platform_tell(&storm_world.client, "{s:s,s:s,s:i}", "do", "break", "how", how, "code", code);
}

void storm_await_none(const char *counter)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (platform_counter(&storm_world, counter) > 0 && process_now_ms() < until)
        process_pause_ms(2);
    if (platform_counter(&storm_world, counter) > 0)
        chat_show(&storm_world, ANN_CHAT);
    CHECK_INT(0, platform_counter(&storm_world, counter));
}

void storm_say_one(void)
{
    char text[64];
    snprintf(text, sizeof text, "message %u of the storm.", message_number++);
    snprintf(storm_part, sizeof storm_part, "You said: %s", text);
    chat_say(&storm_world, ANN_CHAT, ANN, text);
}

void storm_talk_through(void)
{
    storm_say_one();
    storm_await_none("faults_left");
    long long began = process_now_ms();
    chat_expect(&storm_world, ANN_CHAT, storm_part);
    long long took = process_now_ms() - began;
    if (took >= RECOVERY_MS) {
        fprintf(stderr, "it took %lld ms\n", took);
        chat_show(&storm_world, ANN_CHAT);
    }
    CHECK(took < RECOVERY_MS);
}

void storm_talk_through_loss(int64_t opened)
{
    long long began = process_now_ms();
    storm_say_one();
    platform_await_counter(&storm_world, "opened", opened + 1);
    if (process_now_ms() - began >= RECOVERY_MS)
        chat_show(&storm_world, ANN_CHAT);
    CHECK(process_now_ms() - began < RECOVERY_MS);
    storm_talk_through();
}

/* Good weather: what the platform would bring again in half a minute may come now, and not into the
 * next storm. */
static void await_deliveries(void)
{
    for (long long until = process_now_ms() + AWAIT_MS;
         platform_counter(&storm_world, "queued") > 0 && process_now_ms() < until;
         process_pause_ms(20))
        storm_tell("hurry");
    storm_await_none("queued");
}

void storm_expect_all_answered_once(void)
{
    await_deliveries();
    platform_settle(&storm_world);
    CHECK_INT(0, platform_counter(&storm_world, "lost"));
    for (unsigned i = 0; i < message_number; i++) {
        char answer[96];
        snprintf(answer, sizeof answer, "You said: message %u of the storm.", i);
        if (chat_count(&storm_world, ANN_CHAT, answer) != 1)
            chat_show(&storm_world, ANN_CHAT);
        CHECK_INT(1, chat_count(&storm_world, ANN_CHAT, answer));
    }
}

void storm_start_afresh(void)
{
    await_deliveries();
    CHECK_INT(0, service_stop(&storm_world.world.service));
    service_start(&storm_world.world.service, storm_binary, &storm_world.world.folder);
    platform_world_await_ready(&storm_world);
}

void storm_begin(int argc, char **argv)
{
    CHECK(argc == 3);
    storm_binary = argv[1];
    platform_world_create(&storm_world, &feishu_kind, argv[2],
                          &(struct platform_options){.members = QUICK_LIMITS});
    storm_tell_number("scale", "factor", 1000);
    storm_tell_number("ack_limit", "ms", 1000);
    storm_tell_number("config", "ping_interval", 1);
    platform_tell(&storm_world.client, "{s:s,s:i,s:i,s:i}", "do", "rates", "chat_per_second", 0,
                  "edit_per_second", 0, "app_per_second", 0);
    service_start(&storm_world.world.service, storm_binary, &storm_world.world.folder);
    platform_world_await_ready(&storm_world);
}

void storm_end(void)
{
    platform_world_stop(&storm_world);
}
