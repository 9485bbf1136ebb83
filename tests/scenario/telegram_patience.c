/*
 * Aim: what takes long holds up nobody else: a model call of ten seconds does not move the other
 * chats' times.
 * Method: the real binary between a Bot API server and a model server; times are taken by the
 *   platform, from an update being handed out to its reply.
 *   scenario_telegram_patience BINARY FAKE_MODEL
 */
#include "telegram_world.h"

#include "support/check.h"
#include "support/clock.h"

#define LOAD_CHATS 6
#define LOAD_TOTAL 240

#define LOAD_COUNT 5
#define ROUND_COUNT 6
#define STUTTER_US 5000
#define SILENCE_MS 10000
#define SILENCE_MS_MAX 25000

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

struct measured
{
    int64_t p99_us, took_ms;
};

static struct measured measure_loads(void)
{
    static int64_t first_chat = 2000000, values[LOAD_COUNT * LOAD_TOTAL];
    long long started = process_now_ms();
    for (size_t i = 0; i < LOAD_COUNT; i++, first_chat += 1000)
        load_once(first_chat, values + i * LOAD_TOTAL);
    qsort(values, LOAD_COUNT * LOAD_TOTAL, sizeof values[0], compare);
    return (struct measured){.p99_us = values[LOAD_COUNT * LOAD_TOTAL * 99 / 100],
                             .took_ms = process_now_ms() - started};
}

/* The same loads while the model is silent in another chat, all the time that they take. A busy
 * machine takes longer for them: so does the silence then. */
static struct measured measure_beside_a_slow_chat(int round, int64_t expected_ms)
{
    char text[64], said[32];
    int64_t silence_ms = expected_ms * 3 / 2 + 1000;
    silence_ms = silence_ms < SILENCE_MS       ? SILENCE_MS
                 : silence_ms > SILENCE_MS_MAX ? SILENCE_MS_MAX
                                               : silence_ms;
    snprintf(said, sizeof said, "go slowly %d", round);
    snprintf(text, sizeof text, "[[fault:silence ms=%lld]] %s", (long long)silence_ms, said);
    chat_say(&world, ANN, ANN, text);
    while (platform_asked(&world, said) == 0)
        process_pause_ms(2);
    long long asked = clock_now_ms();
    struct measured beside = measure_loads();
    if (clock_now_ms() - asked >= silence_ms - 500 || chat_count(&world, ANN, said) != 0)
        beside.p99_us = INT64_MAX; /* it was not there all the time */
    chat_expect(&world, ANN, said);
    platform_settle(&world);
    return beside;
}

/* Within a tenth, and the stutter of a shared machine, of what the others take without it, before
 * or after. What a chat's wait does to the others shows every time; what a neighbour of the machine
 * does, now and then. */
static void a_slow_chat_does_not_slow_the_others(void)
{
    (void)measure_loads(); /* everything is warm now */
    struct measured before = measure_loads();
    bool is_unmoved = false;
    for (int round = 1; !is_unmoved; round++) {
        CHECK(round <= ROUND_COUNT);
        struct measured beside = measure_beside_a_slow_chat(round, before.took_ms);
        struct measured after = measure_loads();
        int64_t alone_us = before.p99_us > after.p99_us ? before.p99_us : after.p99_us;
        fprintf(stderr, "   p99 alone %lld us and %lld us, beside the slow one %lld us\n",
                (long long)before.p99_us, (long long)after.p99_us, (long long)beside.p99_us);
        is_unmoved = beside.p99_us <= alone_us + alone_us / 10 + STUTTER_US;
        before = after;
    }
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
