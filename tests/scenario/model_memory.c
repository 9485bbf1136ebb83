/*
 * Aim: a talk that is several times what the model holds keeps its facts and never overflows, over
 *      kills at any moment; /compact does what it says.
 * Method: the real binary against fake_model, which counts tokens, refuses what is over its window
 *   in the provider's words, and knows only what stands in a request.
 *   scenario_model_memory BINARY FAKE_MODEL
 */
#include "support/check.h"
#include "talk.h"
#include "world.h"

#include <stdlib.h>
#include <string.h>

#define TURN_COUNT 150
#define FACT_COUNT 10

static const char *binary, *fake_model;
static const char *const wires[][4] = {
    {"anthropic", "anthropic", "messages", "claude-haiku-4-5"},
    {"openai", "openai", "responses", "gpt-4.1"},
    {"deepseek", "deepseek", "chat", "deepseek-flash"},
};

static void begin(struct world *world, const char *const wire[4])
{
    char json[1024];
    *world = (struct world){.fake = 0};
    folder_create(&world->folder, NULL);
    world_model_start(world, fake_model, NULL);
    snprintf(json, sizeof json,
             "{\"name\":\"talk\",\"llm\":{\"provider\":\"%s\",\"model\":\"%s\",\"api\":\"%s\","
             "\"contextTokens\":32000,\"maxTokens\":2000,"
             "\"baseUrl\":\"http://127.0.0.1:%d/%s/v1\",\"apiKey\":\"" WORLD_API_KEY "\"}}",
             wire[0], wire[3], wire[2], world->fake_port, wire[1]);
    folder_write(&world->folder, "ship.json", json);
    service_start(&world->service, binary, &world->folder);
}

static void put_filler(char *text, size_t size, unsigned number)
{
    size_t len = strlen(text);
    for (size_t i = len; i + 1 < size; i++)
        text[i] = i % 9 == 8 ? ' ' : (char)('a' + (number + i / 9) % 26);
    text[size - 1] = '\0';
}

/* What the model said, and that it never said "too long". */
static void check_asked(const struct world *world)
{
    json_t *list = world_asked(world, "");
    CHECK(json_array_size(list) > TURN_COUNT);
    for (size_t i = 0; i < json_array_size(list); i++)
        CHECK(strcmp(talk_text(json_array_get(list, i), "fault"), "overflow") != 0);
    json_decref(list);
}

static unsigned compactions(const struct world *world)
{
    struct talk talk;
    talk_start(&talk, world->service.port, "/metrics", "", NULL);
    talk_wait(&talk);
    const char *at = strstr(talk.answer.body, "\nsma_compactions_total ");
    CHECK(at != NULL);
    unsigned count = (unsigned)strtoul(at + strlen("\nsma_compactions_total "), NULL, 10);
    talk_fini(&talk);
    return count;
}

static void recall(const struct world *world, unsigned fact)
{
    char text[80], wanted[40];
    snprintf(text, sizeof text, "[[do: recall FACT-%u]]", fact);
    snprintf(wanted, sizeof wanted, "FACT-%u is %u.", fact, 1000 + fact * 37);
    talk_expect(world->service.port, "memory", text, wanted);
}

static void say(struct world *world, unsigned number)
{
    char text[1500];
    if (number % (TURN_COUNT / FACT_COUNT) == 3)
        snprintf(text, sizeof text, "[[do: text I see]] FACT-%u is %u. ",
                 number / (TURN_COUNT / FACT_COUNT),
                 1000 + number / (TURN_COUNT / FACT_COUNT) * 37);
    else
        snprintf(text, sizeof text, "[[do: text yes]] ");
    put_filler(text, sizeof text, number);
    talk_expect(world->service.port, "memory", text, "");
}

/* Killed while a message is on its way; it is answered after the next start. */
static void say_and_kill(struct world *world, unsigned number)
{
    struct talk talk;
    char id[32], text[1500];
    snprintf(id, sizeof id, "m%u", number);
    snprintf(text, sizeof text, "[[do: text yes]] ");
    put_filler(text, sizeof text, number);
    char *body = talk_body("memory", id, text);
    talk_start(&talk, world->service.port, "/api/execute", "", body);
    free(body);
    process_pause_ms((int)(number * 7 % 60));
    service_kill(&world->service);
    talk_wait(&talk);
    talk_fini(&talk);
    service_start(&world->service, binary, &world->folder);
    json_t *answer = talk_execute(world->service.port, 200, "memory", id, text);
    CHECK(json_is_true(json_object_get(answer, "success")));
    json_decref(answer);
}

CASE(a_long_talk_keeps_its_facts_over_kills)
{
    for (size_t w = 0; w < SMA_COUNT_OF(wires); w++) {
        struct world world;
        unsigned count = 0;
        begin(&world, wires[w]);
        for (unsigned i = 0; i < TURN_COUNT; i++) {
            if (i % 25 != 11) {
                say(&world, i);
                continue;
            }
            count += compactions(&world); /* counted anew after each start */
            say_and_kill(&world, i);
        }
        for (unsigned i = 0; i < FACT_COUNT; i++)
            recall(&world, i);
        count += compactions(&world);
        CHECK(count >= 1 && count < 12);
        talk_expect(world.service.port, "memory", "/compact the facts", "are now a summary");
        recall(&world, 1);
        talk_expect(world.service.port, "empty", "/compact", "nothing to sum up");
        check_asked(&world);
        world_stop(&world);
    }
}

CASES_MAIN_GIVEN(&binary, &fake_model)
