/*
 * load_chats.c — messages of people in the chats of a simulated platform, which runs in this
 * process. An answer is found by the number it repeats, and its time is when the platform took it.
 */
#include "load.h"

#include "load/lives.h"
#include "load/load_platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define READY_MS 60000
#define LOOK_NS 1000000 /* between two looks for answers */

struct load_chats
{
    const struct load_platform *platform;
    void *fake;
    struct platform_client client;
    unsigned count;
    int64_t *seen; /* of each chat: messages that were looked at */
    bool *is_open; /* closed loop: its message has no answer yet */
};

static void tell(const struct load_chats *chats, json_t *command)
{
    platform_tell(&chats->client, "O", command);
    json_decref(command);
}

/* What the bot and the person have said there, from that message on; decref it. */
static json_t *list_chat(const struct load_chats *chats, unsigned chat, int64_t from)
{
    json_t *command = chats->platform->chat((int)chat);
    json_object_set_new(command, "do", json_string("list"));
    json_object_set_new(command, "from", json_integer((json_int_t)from));
    json_t *list = platform_do(&chats->client, "O", command);
    json_decref(command);
    return list;
}

struct load_chats *load_chats_open(const struct load_plan *plan)
{
    struct load_chats *chats = calloc(1, sizeof *chats);
    if (chats == NULL)
        abort();
    chats->platform = load_platform_find(plan->platform);
    SMA_ASSERT(chats->platform != NULL); /* the command line was checked */
    chats->fake = chats->platform->start();
    chats->client = chats->platform->client(chats->fake);
    chats->count = plan->chats;
    chats->seen = calloc(plan->chats, sizeof *chats->seen);
    chats->is_open = calloc(plan->chats, sizeof *chats->is_open);
    if (chats->seen == NULL || chats->is_open == NULL)
        abort();
    for (const char *const *command = chats->platform->setup; *command != NULL; command++)
        tell(chats, json_loads(*command, 0, NULL));
    for (unsigned i = 0; i < plan->chats; i++)
        tell(chats, chats->platform->person((int)i));
    return chats;
}

json_t *load_chats_adapter(const struct load_chats *chats)
{
    return chats->platform->adapter(chats->client.port);
}

bool load_chats_await_ready(const struct load_chats *chats)
{
    for (uint64_t until = load_now_ns() + READY_MS * 1000000ull;
         load_now_ns() < until && !load_is_interrupted;) {
        json_t *counters = platform_do(&chats->client, "{s:s}", "do", "counters");
        const json_t *ready = json_object_get(counters, chats->platform->ready);
        bool is_ready = json_is_true(ready) || json_integer_value(ready) > 0;
        json_decref(counters);
        if (is_ready)
            return true;
        struct timespec pause = {0, LOOK_NS};
        nanosleep(&pause, NULL);
    }
    load_complain("the service did not connect to the platform");
    return false;
}

void load_chats_say(struct load_chats *chats, struct load_run *run, size_t index)
{
    char text[64];
    unsigned chat = run->samples[index].chat;
    snprintf(text, sizeof text, "please repeat " LOAD_TOKEN "%zux", run->first + index);
    run->samples[index].sent_ns = load_now_ns();
    tell(chats, chats->platform->say((int)chat, text));
    chats->is_open[chat] = true;
}

/* The number that a message of the bot repeats. */
static bool find_number(const json_t *message, size_t *ret_number)
{
    const char *at = json_is_true(json_object_get(message, "is_ours"))
                         ? strstr(platform_text(message, "text", ""), LOAD_TOKEN)
                         : NULL;
    char *end = NULL;
    *ret_number = at == NULL ? 0 : strtoul(at + sizeof LOAD_TOKEN - 1, &end, 10);
    return at != NULL && *end == 'x';
}

/* @return is it the first answer to a message of this run? */
static bool take_answer(struct load_run *run, const json_t *message)
{
    size_t number;
    if (!find_number(message, &number) || number < run->first || number - run->first >= run->count)
        return false;
    struct load_sample *sample = &run->samples[number - run->first];
    if (sample->outcome != LOAD_UNANSWERED)
        return false;
    sample->outcome = LOAD_ANSWERED;
    sample->done_ns = (uint64_t)platform_number(message, "ns", 0);
    return true;
}

/* @return answers that came in this chat since the last look */
static size_t look(struct load_chats *chats, struct load_run *run, unsigned chat)
{
    size_t found = 0;
    json_t *list = list_chat(chats, chat, chats->seen[chat]);
    const json_t *messages = json_object_get(list, "messages");
    for (size_t i = 0; i < json_array_size(messages); i++)
        found += take_answer(run, json_array_get(messages, i));
    chats->seen[chat] += (int64_t)json_array_size(messages);
    json_decref(list);
    if (found > 0)
        chats->is_open[chat] = false;
    return found;
}

static void sleep_until(uint64_t ns)
{
    struct timespec at = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Looks for what is still open until all of it is there, or it is so late. */
static void await_rest(struct load_chats *chats, struct load_run *run, size_t answered,
                       uint64_t until)
{
    while (answered < run->count && load_now_ns() < until && !load_is_interrupted) {
        for (unsigned i = 0; i < chats->count; i++)
            answered += look(chats, run, i);
        sleep_until(load_now_ns() + LOOK_NS * 10);
    }
}

static uint64_t end_of_patience(const struct load_plan *plan, const struct load_run *run)
{
    return run->end_ns + (uint64_t)plan->patience_ms * 1000000u;
}

bool load_chats_await_all(struct load_chats *chats, struct load_run *run, long ms)
{
    size_t answered = 0;
    for (size_t i = 0; i < run->count; i++)
        answered += run->samples[i].outcome == LOAD_ANSWERED;
    await_rest(chats, run, answered, load_now_ns() + (uint64_t)ms * 1000000u);
    for (size_t i = 0; i < run->count; i++)
        if (run->samples[i].outcome != LOAD_ANSWERED)
            return false;
    return true;
}

bool load_chats_is_drained(const struct load_chats *chats)
{
    return platform_get(&chats->client, chats->platform->queued, "{s:s}", "do", "counters") == 0;
}

void load_chats_catch_up(const struct load_chats *chats)
{
    lives_catch_up(&chats->client);
}

void load_chats_visit(const struct load_chats *chats,
                      void (*seen)(void *user, const char *text, bool has_number, size_t number,
                                   uint64_t ns),
                      void *user)
{
    for (unsigned chat = 0; chat < chats->count; chat++) {
        json_t *list = list_chat(chats, chat, 0);
        const json_t *messages = json_object_get(list, "messages"), *message;
        size_t i, number;
        json_array_foreach(messages, i, message)
        {
            bool has_number = find_number(message, &number);
            if (json_is_true(json_object_get(message, "is_ours")))
                seen(user, platform_text(message, "text", ""), has_number, number,
                     (uint64_t)platform_number(message, "ns", 0));
        }
        json_decref(list);
    }
}

/* While messages are sent nobody looks for answers: the platform notes when they come. */
static void run_open(struct load_chats *chats, const struct load_plan *plan, struct load_run *run)
{
    for (size_t i = 0; i < run->count && !load_is_interrupted; i++) {
        if (run->samples[i].due_ns > load_now_ns())
            sleep_until(run->samples[i].due_ns);
        load_chats_say(chats, run, i);
    }
    await_rest(chats, run, 0, end_of_patience(plan, run));
}

static bool is_over(const struct load_run *run)
{
    return load_now_ns() >= run->end_ns || (run->count_max != 0 && run->count >= run->count_max) ||
           load_is_interrupted;
}

/* Each chat says the next when it has its answer. */
static void run_closed(struct load_chats *chats, const struct load_plan *plan, struct load_run *run)
{
    size_t answered = 0;
    while (!is_over(run)) {
        for (unsigned i = 0; i < chats->count && !is_over(run); i++) {
            if (chats->is_open[i])
                answered += look(chats, run, i);
            if (!chats->is_open[i])
                load_chats_say(chats, run, load_run_add(run, load_now_ns(), i));
        }
        sleep_until(load_now_ns() + LOOK_NS);
    }
    await_rest(chats, run, answered, end_of_patience(plan, run));
}

void load_chats_run(struct load_chats *chats, const struct load_plan *plan, struct load_run *run)
{
    memset(chats->is_open, 0, chats->count * sizeof *chats->is_open);
    if (plan->is_open)
        run_open(chats, plan, run);
    else
        run_closed(chats, plan, run);
}

void load_chats_close(struct load_chats *chats)
{
    if (chats == NULL)
        return;
    chats->platform->stop(chats->fake);
    free(chats->seen);
    free(chats->is_open);
    free(chats);
}
