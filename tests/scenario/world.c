/*
 * world.c — see world.h.
 */
#include "world.h"

#include "support/check.h"
#include "talk.h"

#include <signal.h>

void world_configure(const struct world *world, int fake_port, const char *llm, const char *root)
{
    char json[8192];
    const char *model = strstr(llm, "\"model\":"), *others = strstr(llm, "\"fallbacks\":");
    bool has_model = model != NULL && (others == NULL || model < others); /* not a fallback's */
    int len = snprintf(json, sizeof json,
                       "{\"name\":\"tested\",\"llm\":{\"provider\":\"custom\",%s"
                       "\"baseUrl\":\"http://127.0.0.1:%d/v1\",%s}%s}",
                       has_model ? "" : "\"model\":\"fake-1\",", fake_port, llm, root);
    CHECK(len > 0 && (size_t)len < sizeof json);
    folder_write(&world->folder, "ship.json", json);
}

int world_fake_start(const struct world *world, const char *fake_model, const char *name,
                     pid_t *ret_pid)
{
    char log[256];
    snprintf(log, sizeof log, "%s/%s", world->folder.path, name);
    const char *argv[] = {fake_model,
                          "--key",
                          WORLD_API_KEY,
                          "--log",
                          log,
                          "--log-bodies",
                          world->may_prefix_move ? NULL : "--prefix",
                          NULL};
    return server_start((char *const *)argv, ret_pid);
}

void world_model_start(struct world *world, const char *fake_model, const char *script)
{
    char log[256], path[256];
    snprintf(log, sizeof log, "%s/model.log", world->folder.path);
    snprintf(path, sizeof path, "%s/script.json", world->folder.path);
    if (script != NULL)
        folder_write(&world->folder, "script.json", script);
    const char *argv[] = {fake_model,
                          "--key",
                          WORLD_API_KEY,
                          "--log",
                          log,
                          "--log-bodies",
                          script == NULL ? NULL : "--script",
                          path,
                          NULL};
    world->fake_port = server_start((char *const *)argv, &world->fake);
}

void world_create(struct world *world, const char *fake_model, const char *llm, const char *root)
{
    folder_create(&world->folder, NULL);
    world->fake_port = world_fake_start(world, fake_model, "model.log", &world->fake);
    world_configure(world, world->fake_port, llm, root);
}

void world_start(struct world *world, const char *binary, const char *fake_model, const char *llm,
                 const char *root)
{
    world_create(world, fake_model, llm, root);
    service_start(&world->service, binary, &world->folder);
}

void world_keeps_secret(const struct world *world, const char *secret)
{
    char state[160], *found = NULL;
    snprintf(state, sizeof state, "%s/.ship", world->folder.path);
    const char *argv[] = {"/bin/grep", "-rlF", "--", secret, world->service.log, state, NULL};
    int status = run_to_end((char *const *)argv, "", &found, 20000);
    if (status != 1)
        fprintf(stderr, "the secret stands in: %s\n", found);
    CHECK_INT(1, status);
    free(found);
}

void world_stop(struct world *world)
{
    CHECK_INT(0, service_stop(&world->service));
    server_stop(world->fake);
    world_keeps_secret(world, WORLD_API_KEY);
    folder_remove(&world->folder);
}

void world_end_silence(const struct world *world)
{
    CHECK(kill(world->fake, SIGUSR1) == 0);
}

json_t *world_asked_in(const struct world *world, const char *log_name, const char *part)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", world->folder.path, log_name);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    json_t *list = json_array();
    char *line = NULL;
    size_t size = 0;
    for (ssize_t len; (len = getline(&line, &size, file)) > 0 && line[len - 1] == '\n';) {
        /* a line without an end is still being written */
        json_t *entry = json_loads(line, 0, NULL);
        CHECK(entry != NULL);
        if (talk_text(entry, "complaint")[0] != '\0')
            fprintf(stderr, "the server complains: %s\n%s\n", talk_text(entry, "complaint"),
                    talk_text(entry, "body"));
        CHECK_TEXT("", talk_text(entry, "complaint"));
        if (strstr(talk_text(entry, "body"), part) != NULL)
            json_array_append(list, entry);
        json_decref(entry);
    }
    free(line);
    fclose(file);
    return list;
}

json_t *world_asked(const struct world *world, const char *part)
{
    return world_asked_in(world, "model.log", part);
}

size_t world_asked_count(const struct world *world, const char *part)
{
    json_t *list = world_asked(world, part);
    size_t count = json_array_size(list);
    json_decref(list);
    return count;
}

bool world_log_has(const struct world *world, const char *part)
{
    char *log = folder_read(&world->folder, "service.log");
    bool has = log != NULL && strstr(log, part) != NULL;
    free(log);
    return has;
}

bool world_is_at_rest(const struct world *world)
{
    struct http_answer answer = http_ask(world->service.port, "/metrics", "", NULL, 10000);
    bool is_quiet = answer.status == 200 &&
                    strstr(answer.body, "\nsma_inbox_waiting 0\n") != NULL &&
                    strstr(answer.body, "\nsma_runs_open 0\n") != NULL &&
                    strstr(answer.body, "\nsma_outbox_open 0\n") != NULL;
    http_answer_fini(&answer);
    return is_quiet;
}

json_t *world_newest(json_t *list, const char *part, const char *unless, size_t *ret_count)
{
    json_t *found = NULL;
    const json_t *messages = json_object_get(list, "messages");
    *ret_count = 0;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        json_t *message = json_array_get(messages, i);
        if (!json_is_true(json_object_get(message, "is_ours")) ||
            (unless != NULL && json_is_true(json_object_get(message, unless))) ||
            strstr(talk_text(message, "text"), part) == NULL)
            continue;
        found = message;
        (*ret_count)++;
    }
    json_incref(found);
    json_decref(list);
    return found;
}
