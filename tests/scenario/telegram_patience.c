/*
 * Aim: what takes long holds up nobody else: a model call of ten seconds does not move the other
 * chats' times.
 * Method: as telegram_chats; times are taken by the Bot API server, from an update being handed out
 *   to its reply. scenario_telegram_patience BINARY FAKE_MODEL
 */
#include "telegram_world.h"

#include "support/check.h"

#define LOAD_CHATS 6
#define LOAD_TOTAL 240

#define LOAD_COUNT 5
#define ROUND_COUNT 4
#define STUTTER_US 5000

static const char *binary, *fake_model;
static struct platform_world world;

static int compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* One load's latencies in microseconds, appended to values. */
static void load_once(int64_t first_chat, int64_t values[LOAD_TOTAL])
{
    platform_tell(&world.client, "{s:s,s:i,s:i,s:i,s:I}", "do", "load", "chats", LOAD_CHATS,
                  "total", LOAD_TOTAL, "per_chat", 10, "first_chat", (json_int_t)first_chat);
    long long until = process_now_ms() + 60000;
    while (platform_get(&world.client, "finished", "{s:s}", "do", "counters") < LOAD_TOTAL &&
           process_now_ms() < until)
        process_pause_ms(5);
    json_t *answer = platform_do(&world.client, "{s:s}", "do", "latencies");
    const json_t *list = json_object_get(answer, "latencies");
    CHECK_INT(LOAD_TOTAL, json_array_size(list));
    for (size_t i = 0; i < LOAD_TOTAL; i++)
        values[i] = json_integer_value(json_array_get(list, i));
    json_decref(answer);
}

static int64_t p99_of_loads(void)
{
    static int64_t first_chat = 2000000, values[LOAD_COUNT * LOAD_TOTAL];
    for (size_t i = 0; i < LOAD_COUNT; i++, first_chat += 1000)
        load_once(first_chat, values + i * LOAD_TOTAL);
    qsort(values, LOAD_COUNT * LOAD_TOTAL, sizeof values[0], compare);
    return values[LOAD_COUNT * LOAD_TOTAL * 99 / 100];
}

/* @return whether the others were as fast as without it: within a tenth, and the stutter of a
 * shared machine. */
static bool is_unmoved_beside_a_slow_chat(int round)
{
    char text[64], said[32];
    int64_t alone = p99_of_loads();
    snprintf(said, sizeof said, "go slowly %d", round);
    snprintf(text, sizeof text, "[[fault:silence ms=10000]] %s", said);
    chat_say(&world, ANN, ANN, text);
    while (platform_asked(&world, said) == 0)
        process_pause_ms(2);
    long long asked = process_now_ms();
    int64_t beside = p99_of_loads();
    bool was_there = process_now_ms() - asked < 9500 && chat_count(&world, ANN, said) == 0;
    fprintf(stderr, "   p99 alone %lld us, beside the slow one %lld us\n", (long long)alone,
            (long long)beside);
    chat_expect(&world, ANN, said);
    platform_settle(&world);
    return was_there && beside <= alone + alone / 10 + STUTTER_US;
}

/* What one chat's wait does to the others shows every time; what a neighbour of the machine does,
 * now and then. */
static void a_slow_chat_does_not_slow_the_others(void)
{
    (void)p99_of_loads(); /* everything is warm now */
    for (int round = 1; !is_unmoved_beside_a_slow_chat(round); round++)
        CHECK(round < ROUND_COUNT);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    platform_world_start(&world, &telegram_kind, binary, fake_model,
                         &(struct platform_options){
                             .concurrency = "16",
                             .members = ",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}"});
    RUN(a_slow_chat_does_not_slow_the_others);
    platform_world_stop(&world);
    return check_summary();
}
