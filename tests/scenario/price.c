/* See price.h. */
#include "price.h"

#include "support/check.h"
#include "talk.h"
#include "world.h"

#include <string.h>

const struct price_case PRICE_CASES[] = {
    {"anthropic", "anthropic", "anthropic", "messages", "claude-sonnet-5-5"},
    {"anthropic, older", "anthropic", "anthropic", "messages", "claude-haiku-4-5"},
    {"openai", "openai", "openai", "responses", "gpt-5.4"},
    {"openai, newer", "openai", "openai", "responses", "gpt-6.1-terra"},
    {"openrouter-claude", "openrouter", "openrouter", "chat", "anthropic/claude-sonnet-5.5"},
    {"deepseek", "deepseek", "deepseek", "chat", "deepseek-flash"},
};
const unsigned PRICE_CASE_COUNT = SMA_COUNT_OF(PRICE_CASES);

static void create_files(const struct folder *folder)
{
    char text[PRICE_RESULT_BYTES + 1], name[20];
    for (int file = 0; file < PRICE_STEP_COUNT; file++) {
        for (size_t i = 0; i < PRICE_RESULT_BYTES; i++)
            text[i] = i % 80 == 79 ? '\n' : (char)('a' + (i * 7 + i / 80 + (size_t)file) % 26);
        text[PRICE_RESULT_BYTES] = '\0';
        snprintf(name, sizeof name, "part%d.txt", file);
        folder_write(folder, name, text);
    }
}

static struct price sum_up(const struct world *world)
{
    struct price price = {.request_count = 0};
    json_t *list = world_asked(world, "price: ");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        price.request_count++;
        price.paid += json_number_value(json_object_get(entry, "paid"));
        price.perfect += json_number_value(json_object_get(entry, "perfect"));
    }
    json_decref(list);
    return price;
}

static long long number_of(const json_t *object, const char *member)
{
    return json_integer_value(json_object_get(object, member));
}

/* What the service says it has used is what the model server has counted: each request once. */
static void compare_usage(const struct world *world)
{
    long long requests = 0, tokens = 0, read = 0;
    json_t *list = world_asked(world, "price: ");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        requests++;
        tokens += number_of(entry, "tokens");
        read += number_of(entry, "read");
    }
    json_t *usage = talk_get(world->service.port, "/api/usage?days=2"); /* midnight may pass */
    const json_t *total = json_object_get(usage, "total");
    CHECK(requests > 0 && tokens > 0);
    CHECK_INT(requests, number_of(total, "requests"));
    CHECK_INT(read, number_of(total, "cached"));
    CHECK_INT(tokens,
              number_of(total, "input") + number_of(total, "cached") + number_of(total, "written"));
    json_decref(usage);
    json_decref(list);
}

struct price price_measure(const char *binary, const char *fake_model,
                           const struct price_case *wanted)
{
    struct world world = {.fake = 0};
    char json[1024], text[2048] = "price: [[do: ";
    folder_create(&world.folder, NULL);
    create_files(&world.folder);
    world_model_start(&world, fake_model, NULL);
    snprintf(json, sizeof json,
             "{\"name\":\"priced\",\"llm\":{\"provider\":\"%s\",\"model\":\"%s\",\"api\":\"%s\","
             "\"baseUrl\":\"http://127.0.0.1:%d/%s/v1\",\"apiKey\":\"" WORLD_API_KEY "\"}}",
             wanted->provider, wanted->model, wanted->api, world.fake_port, wanted->profile);
    folder_write(&world.folder, "ship.json", json);
    service_start(&world.service, binary, &world.folder);
    for (int i = 0; i < PRICE_STEP_COUNT; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "call read_file {\"path\":\"part%d.txt\"}; ", i);
    snprintf(text + strlen(text), sizeof text - strlen(text), "text All is read.]]");
    talk_expect(world.service.port, "price", text, "All is read.");
    compare_usage(&world);
    struct price price = sum_up(&world);
    world_stop(&world);
    return price;
}
