/*
 * Aim: what was agreed to is done at most once and is never lost, whenever the service is killed
 * around the decision.
 * Method: the real binary between a Bot API server and a model server. Each round a person asks for
 * a command that appends one line, presses "Approve", and the service is killed a random while
 * later, then started again. In the end, each round: the person was answered; the line stands there
 * once, or it does not and the model was told that it was interrupted.
 *   crash_approval BINARY FAKE_MODEL [KILLS [SEED]]
 */
#include "scenario/approval_world.h"

#include "support/check.h"

#include <unistd.h>

struct tally
{
    unsigned done, interrupted, begun; /* begun: interrupted, and the line stands there */
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t count_of(const struct platform_world *world, const char *file, const char *part)
{
    char *text = folder_read(&world->world.folder, file);
    size_t count = 0;
    for (const char *at = text; at != NULL && (at = strstr(at, part)) != NULL; at++)
        count++;
    free(text);
    return count;
}

/* How the round ended, in the newest "Result: " that the person saw. */
static json_t *await_result(const struct platform_world *world, int64_t after)
{
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(2)) {
        json_t *list = platform_do(&world->client, "{s:s,s:i,s:I}", "do", "list", "chat", ANN,
                                   "from", (json_int_t)after);
        const json_t *messages = json_object_get(list, "messages");
        for (size_t i = 0; i < json_array_size(messages); i++) {
            json_t *message = json_array_get(messages, i);
            if (platform_number(message, "id", 0) <= after ||
                strncmp(talk_text(message, "text"), "Result: ", 8) != 0)
                continue;
            json_incref(message);
            json_decref(list);
            return message;
        }
        json_decref(list);
    }
    fprintf(stderr, "nobody is answered any more\n");
    chat_show(world, ANN);
    exit(1);
}

static void judge(const struct platform_world *world, unsigned round, int64_t card,
                  struct tally *tally)
{
    char line[48];
    snprintf(line, sizeof line, "k%u.", round);
    json_t *result = await_result(world, card);
    const char *text = talk_text(result, "text");
    bool is_success = strstr(text, "\"success\":true") != NULL,
         is_interrupted = strstr(text, "not repeated") != NULL;
    platform_settle(world);
    size_t count = count_of(world, "count", line);
    if (count > 1 || is_success == is_interrupted || (is_success && count != 1)) {
        fprintf(stderr, "round %u: %zu lines, result: %s\n", round, count, text);
        chat_show(world, ANN);
    }
    CHECK(count <= 1);                   /* at most once */
    CHECK(is_success != is_interrupted); /* it is known, or said not to be known */
    CHECK(!is_success || count == 1);
    json_decref(result);
    tally->done += is_success;
    tally->interrupted += is_interrupted;
    tally->begun += is_interrupted && count == 1;
    json_decref(approval_await_open(world, 0)); /* nothing is left to decide */
    /* in its place, or as a message of its own when the kill took away what is known of the card */
    snprintf(line, sizeof line, "Approved: echo k%u.", round);
    chat_expect(world, ANN, line);
}

static int64_t ask(const struct platform_world *world, unsigned round)
{
    char text[128], part[64];
    snprintf(part, sizeof part, "echo k%u. >> count", round);
    snprintf(text, sizeof text, "please [[call exec_shell {\"command\":\"%s\"}]]", part);
    (void)chat_say(world, ANN, ANN, text);
    json_t *card = approval_await_card(world, ANN, part); /* its receipt may not be stored yet */
    int64_t id = platform_number(card, "id", 0);
    json_decref(card);
    return id;
}

/* How long it takes when nobody interferes: the kills fall into that time. */
static long measure(const struct platform_world *world, struct tally *tally)
{
    int64_t card = ask(world, 0);
    long long started = process_now_ms();
    approval_press_for(world, ANN, ANN, card, "Approve", "Approved.");
    json_decref(await_result(world, card));
    long span = (long)(process_now_ms() - started);
    judge(world, 0, card, tally);
    CHECK_INT(1, tally->done);
    return span < 10 ? 10 : span;
}

int main(int argc, char **argv)
{
    CHECK(argc >= 3 && argc <= 5);
    unsigned kills = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 100;
    uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    if (seed == 0)
        seed = (uint64_t)process_now_ms() * 2654435761u + (uint64_t)getpid();
    fprintf(stderr, "%u kills, seed %llu\n", kills, (unsigned long long)seed);
    struct platform_world world;
    struct tally tally = {0};
    approval_start(&world, argv[1], argv[2], &(struct approval_options){0});
    long span_ms = measure(&world, &tally);
    for (unsigned round = 1; round <= kills; round++) {
        int64_t card = ask(&world, round);
        uint64_t wait_us = next_random(&seed) % (uint64_t)(span_ms * 1200);
        free(approval_press(&world, ANN, ANN, card, "Approve"));
        (void)usleep((useconds_t)wait_us);
        service_kill(&world.world.service);
        approval_restart(&world, argv[1]);
        judge(&world, round, card, &tally);
    }
    fprintf(stderr, "%u rounds over %ld ms each: %u done, %u interrupted, %u of these begun\n",
            kills + 1, span_ms, tally.done, tally.interrupted, tally.begun);
    CHECK_INT(kills + 1, tally.done + tally.interrupted);
    platform_world_stop(&world);
    return 0;
}
