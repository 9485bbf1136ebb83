/*
 * Aim: consent without a platform: a project as it comes asks before it runs anything; the API, the
 * command line and the terminal show the question, take the answer, and show what came of it.
 * Method: the real binary and a model server that calls what the user's text says.
 *   scenario_approval_api BINARY FAKE_MODEL
 */
#include "support/check.h"
#include "support/patience.h"
#include "talk.h"
#include "world.h"

#include <unistd.h>

#define LLM "\"api\":\"chat\",\"apiKey\":\"" WORLD_API_KEY "\""
#define COUNT_COMMAND "echo done >> count"
#define WANT_COUNT "please [[call exec_shell {\"command\":\"" COUNT_COMMAND "\"}]]"

static const char *binary, *fake_model;

static size_t lines(const struct world *world)
{
    char *text = folder_read(&world->folder, "count");
    size_t count = 0;
    for (const char *at = text; at != NULL && (at = strchr(at, '\n')) != NULL; at++)
        count++;
    free(text);
    return count;
}

static void expect_cli(const struct world *world, int status, const char *part, const char *input,
                       const char *words)
{
    char line[1024];
    snprintf(line, sizeof line, "cd '%s' && exec '%s' %s", world->folder.path, binary, words);
    char *output = NULL, *argv[] = {(char *)"/bin/sh", (char *)"-c", line, NULL};
    int actual = run_to_end(argv, input, &output, PATIENCE_AWAIT_MS);
    if (actual != status || strstr(output, part) == NULL)
        fprintf(stderr, "%s: status %d, wanted %d and \"%s\":\n%s\n", words, actual, status, part,
                output);
    CHECK(actual == status && strstr(output, part) != NULL);
    free(output);
}

/* Ask by the API; the answer says that somebody must agree. */
static void ask(const struct world *world, const char *chat, char run[64], char id[64])
{
    json_t *root = talk_execute(world->service.port, 200, chat, NULL, WANT_COUNT);
    const json_t *pending = json_object_get(root, "pendingApproval");
    CHECK(json_is_false(json_object_get(root, "success")));
    CHECK_TEXT("parked", talk_text(root, "status"));
    CHECK(strstr(talk_text(root, "output"), COUNT_COMMAND) != NULL);
    CHECK(strstr(talk_text(root, "output"), "yes / no") != NULL); /* how to answer */
    CHECK_TEXT("exec_shell", talk_text(pending, "type"));
    CHECK(talk_text(pending, "description")[0] != '\0');
    const json_t *data = json_object_get(pending, "data");
    CHECK_TEXT("exec_shell", talk_text(data, "toolName"));
    CHECK_TEXT(COUNT_COMMAND, talk_text(json_object_get(data, "args"), "command"));
    snprintf(run, 64, "%s", talk_text(root, "runId"));
    snprintf(id, 64, "%s", talk_text(pending, "id"));
    CHECK_INT(32, strlen(id));
    json_decref(root);
}

/* Until the run is over. */
static json_t *await_run(const struct world *world, const char *run)
{
    char path[128];
    snprintf(path, sizeof path, "/api/runs/%s", run);
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS; process_now_ms() < until;
         process_pause_ms(5)) {
        json_t *root = talk_get(world->service.port, path);
        if (strcmp(talk_text(root, "status"), "done") == 0)
            return root;
        json_decref(root);
    }
    CHECK(!"the run never ends");
    return NULL;
}

static void expect_run(const struct world *world, const char *run, const char *part)
{
    json_t *root = await_run(world, run);
    if (strstr(talk_text(root, "output"), part) == NULL)
        fprintf(stderr, "the run gave \"%s\", wanted \"%s\"\n", talk_text(root, "output"), part);
    CHECK(json_is_true(json_object_get(root, "success")));
    CHECK(strstr(talk_text(root, "output"), part) != NULL);
    json_decref(root);
}

/* Reference 10.4: a file for people and old tools, while the question is open. */
static void expect_projection(const struct world *world, const char *id, bool is_there)
{
    char name[128];
    snprintf(name, sizeof name, ".ship/approvals/%s.json", id);
    char *text = NULL;
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS; process_now_ms() < until;
         process_pause_ms(5)) {
        free(text);
        text = folder_read(&world->folder, name);
        if ((text != NULL) == is_there)
            break;
    }
    CHECK((text != NULL) == is_there);
    if (text != NULL) {
        json_t *root = json_loads(text, 0, NULL);
        CHECK_TEXT(id, talk_text(root, "id"));
        CHECK_TEXT("exec_shell", talk_text(root, "type"));
        CHECK_TEXT("pending", talk_text(root, "status"));
        CHECK_TEXT(COUNT_COMMAND, talk_text(json_object_get(root, "details"), "command"));
        json_decref(root);
    }
    free(text);
}

static void a_project_as_it_comes_asks(void)
{
    struct world world = {.may_prefix_move = true};
    char run[64], id[64], words[128];
    world_start(&world, binary, fake_model, LLM, "");
    ask(&world, "one", run, id);
    CHECK_INT(0, lines(&world));
    expect_projection(&world, id, true);
    expect_cli(&world, 0, COUNT_COMMAND, "", "approvals");
    expect_cli(&world, 0, id, "", "approvals --json");
    expect_cli(&world, 1, "", "", "approvals approve 00000000000000000000000000000000");
    snprintf(words, sizeof words, "approvals approve %.8s", id);
    expect_cli(&world, 0, "", "", words);
    expect_run(&world, run, "Result: {\"success\":true");
    CHECK_INT(1, lines(&world));
    expect_projection(&world, id, false);
    expect_cli(&world, 1, "", "", words); /* once */
    ask(&world, "one", run, id);
    snprintf(words, sizeof words, "approvals reject %s --response 'not on a Sunday'", id);
    expect_cli(&world, 0, "", "", words);
    expect_run(&world, run, "not on a Sunday");
    CHECK_INT(1, lines(&world));
    CHECK_INT(0, service_stop(&world.service));
    expect_cli(&world, 3, "", "", "approvals");
    service_start(&world.service, binary, &world.folder);
    world_stop(&world);
}

static void the_next_message_decides(void)
{
    struct world world = {.may_prefix_move = true};
    char run[64], id[64];
    world_start(&world, binary, fake_model, LLM, "");
    ask(&world, "one", run, id);
    talk_expect(world.service.port, "other", "how are you", "You said: how are you");
    json_t *root = talk_execute(world.service.port, 200, "one", NULL, "yes");
    CHECK(json_is_true(json_object_get(root, "success")));
    json_decref(root);
    expect_run(&world, run, "Result: {\"success\":true");
    CHECK_INT(1, lines(&world));
    ask(&world, "one", run, id);
    root = talk_execute(world.service.port, 200, "one", NULL, "拒绝，因为够了");
    json_decref(root);
    expect_run(&world, run, "够了");
    CHECK_INT(1, lines(&world));
    world_stop(&world);
}

static void the_api_shows_and_refuses_what_is_wrong(void)
{
    static const struct
    {
        const char *path, *body;
        int status;
    } wrong[] = {{"/api/approvals/%s/approve", "{\"items\":[2]}", 400},
                 {"/api/approvals/%s/approve", "{\"items\":[0]}", 400},
                 {"/api/approvals/%s/approve", "{\"itms\":[1]}", 400},
                 {"/api/approvals/%s/approve", "[]", 400},
                 {"/api/approvals/%s/approve", "{", 400},
                 {"/api/approvals/%s/approve", "{\"grant\":\"soon\"}", 400},
                 {"/api/approvals/%s/reject", "{\"grant\":\"10m\"}", 400},
                 {"/api/approvals/%s/nothing", "", 404},
                 {"/api/approvals/%.4s/approve", "", 404},
                 {"/api/grants/%s/revoke", "", 404},
                 {"/api/pairings/%s/approve", "", 404}};
    struct world world = {.may_prefix_move = true};
    char run[64], id[64], path[128];
    world_start(&world, binary, fake_model, LLM, "");
    ask(&world, "one", run, id);
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++) {
        if (strstr(wrong[i].path, "%.4s") != NULL)
            snprintf(path, sizeof path, "/api/approvals/%.4s/approve", id);
        else
            snprintf(path, sizeof path, "%.*s%s%s",
                     (int)(strstr(wrong[i].path, "%s") - wrong[i].path), wrong[i].path, id,
                     strstr(wrong[i].path, "%s") + 2);
        struct http_answer answer = http_ask(world.service.port, path, "", wrong[i].body, TALK_MS);
        if (answer.status != wrong[i].status)
            fprintf(stderr, "%s %s: %d %s\n", path, wrong[i].body, answer.status, answer.body);
        CHECK_INT(wrong[i].status, answer.status);
        http_answer_fini(&answer);
    }
    CHECK_INT(0, lines(&world));
    snprintf(path, sizeof path, "/api/approvals/%s/approve", id);
    struct http_answer answer =
        http_ask(world.service.port, path, "", "{\"items\":[1],\"grant\":\"10m\"}", TALK_MS);
    CHECK_INT(200, answer.status);
    http_answer_fini(&answer);
    expect_run(&world, run, "Result: ");
    json_t *grants = talk_get(world.service.port, "/api/grants?chatKey=api:chat:one");
    const json_t *list = json_object_get(grants, "grants");
    /* a redirection is no rule: this can be agreed to once only; see the next for one that lasts */
    CHECK(json_array_size(list) <= 1);
    json_decref(grants);
    world_stop(&world);
}

static void the_terminal_asks_and_is_answered(void)
{
    struct world world = {.may_prefix_move = true};
    world_start(&world, binary, fake_model, LLM, "");
    expect_cli(&world, 1, COUNT_COMMAND, WANT_COUNT "\n", "chat");
    CHECK_INT(0, lines(&world));
    expect_cli(&world, 0, "", "yes\n", "chat");
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS;
         lines(&world) < 1 && process_now_ms() < until;)
        process_pause_ms(5);
    CHECK_INT(1, lines(&world));
    json_t *list = talk_get(world.service.port, "/api/approvals");
    CHECK_INT(0, json_array_size(json_object_get(list, "approvals")));
    json_decref(list);
    expect_cli(&world, 0, "You said: and how are you", "and how are you\n", "chat");
    world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(a_project_as_it_comes_asks);
    RUN(the_next_message_decides);
    RUN(the_api_shows_and_refuses_what_is_wrong);
    RUN(the_terminal_asks_and_is_answered);
    return check_summary();
}
