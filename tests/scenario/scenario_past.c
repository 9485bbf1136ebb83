/*
 * Aim: an imported project, or one whose state.db is lost, goes on where it was: the model is given
 * what was said, once, without commands; and what was cleared stays away.
 * Method: the real binary and the model server; a talk, the end of the service, state.db deleted,
 * another start; what the model was asked stands in its log.
 *   scenario_past BINARY FAKE_MODEL
 */
#include "support/check.h"
#include "talk.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *binary, *fake_model;

static void lose_state(const struct world *world)
{
    static const char *const names[] = {"state.db", "state.db-wal", "state.db-shm"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/.ship/%s", world->folder.path, names[i]);
        (void)unlink(path);
    }
}

/* The last request that holds `part`, as text; free it. */
static char *last_asked(const struct world *world, const char *part)
{
    json_t *list = world_asked(world, part);
    CHECK(json_array_size(list) > 0);
    char *body = strdup(talk_text(json_array_get(list, json_array_size(list) - 1), "body"));
    CHECK(body != NULL);
    json_decref(list);
    return body;
}

CASE(it_goes_on_where_it_was)
{
    struct world world = {.may_prefix_move = true};
    world_start(&world, binary, fake_model, "\"apiKey\":\"" WORLD_API_KEY "\"", "");
    talk_expect(world.service.port, "cat", "say my cat is Tom", "my cat is Tom");
    talk_expect(world.service.port, "gone", "say the code is 4711", "the code is 4711");
    json_decref(talk_execute(world.service.port, 200, "gone", NULL, "/clear"));
    CHECK_INT(0, service_stop(&world.service));
    lose_state(&world);
    service_start(&world.service, binary, &world.folder);
    talk_expect(world.service.port, "cat", "[[plain]] who is it?", "who is it?");
    char *body = last_asked(&world, "who is it?");
    CHECK(strstr(body, "my cat is Tom") != NULL);
    free(body);
    talk_expect(world.service.port, "cat", "[[plain]] and now?", "and now?");
    body = last_asked(&world, "and now?");
    const char *first = strstr(body, "You said: my cat is Tom");
    CHECK(first == NULL || strstr(first + 1, "You said: my cat is Tom") == NULL);
    free(body);
    talk_expect(world.service.port, "gone", "[[plain]] which code?", "which code?");
    body = last_asked(&world, "which code?");
    CHECK(strstr(body, "4711") == NULL && strstr(body, "/clear") == NULL);
    free(body);
    world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    check_run_cases(NULL);
    return check_summary();
}
