/*
 * Aim: `shipmyagent simulate` of an installed tree runs each simulator, and the lines it prints are
 *      all a bot needs to talk to it; where the simulators are not installed it says so.
 * Method: `cmake --install` into a folder of its own; the installed program, started from there
 * with
 *         exactly what was printed, answers who speaks on each platform, and is answered by the
 *         simulated model.
 *   scenario_simulate CMAKE BUILD_DIR
 */
#include "http_client.h"
#include "process.h"
#include "talk.h"

#include "support/check.h"
#include "support/patience.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *cmake, *build_dir;
static struct folder root, bare; /* with the simulators, and without */

static void install(const struct folder *place, const char *component)
{
    char *output = NULL;
    const char *argv[] = {cmake,  "--install",   build_dir, "--prefix",
                          "/usr", "--component", component, NULL};
    CHECK(setenv("DESTDIR", place->path, 1) == 0);
    int status = run_to_end((char *const *)argv, "", &output, 120000);
    CHECK(unsetenv("DESTDIR") == 0);
    if (status != 0)
        fprintf(stderr, "%s\n", output);
    CHECK_INT(0, status);
    free(output);
}

static const char *program_in(const struct folder *place)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/usr/bin/sma", place->path); /* by its short name */
    return path;
}

/* -- a simulator ----------------------------------------------------------------------------- */
struct simulator
{
    pid_t pid;
    int port;
    char ship_json[1024], env[512]; /* as it prints them */
};

static void cut_out(const char *said, const char *from, const char *to, char *ret, size_t size)
{
    const char *start = strstr(said, from);
    const char *end = start == NULL ? NULL : strstr(start + strlen(from), to);
    if (end == NULL)
        fprintf(stderr, "no lines between \"%s\" and \"%s\" in:\n%s\n", from, to, said);
    CHECK(end != NULL);
    start += strlen(from);
    CHECK((size_t)(end - start) < size);
    snprintf(ret, size, "%.*s", (int)(end - start), start);
}

static void start_simulator(struct simulator *simulator, const struct folder *project,
                            const char *what)
{
    char path[256], *said = NULL;
    snprintf(path, sizeof path, "%s/%s.out", project->path, what);
    simulator->pid = fork();
    CHECK(simulator->pid >= 0);
    if (simulator->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
            _exit(2);
        execl(program_in(&root), "sma", "simulate", what, (char *)NULL);
        _exit(2);
    }
    snprintf(path, sizeof path, "%s.out", what);
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS; process_now_ms() < until;
         process_pause_ms(2)) {
        free(said);
        said = folder_read(project, path);
        const char *env = said == NULL ? NULL : strstr(said, "in .env:\n");
        if (env != NULL && strstr(env, "\n\n") != NULL)
            break;
    }
    CHECK(said != NULL && sscanf(said, "PORT %d", &simulator->port) == 1);
    cut_out(said, "in ship.json:\n", "\nand in .env:\n", simulator->ship_json,
            sizeof simulator->ship_json);
    cut_out(said, "and in .env:\n", "\n\n", simulator->env, sizeof simulator->env);
    free(said);
}

static void stop_simulator(struct simulator *simulator)
{
    int status;
    CHECK(kill(simulator->pid, SIGTERM) == 0);
    CHECK(waitpid(simulator->pid, &status, 0) == simulator->pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM); /* the model server just ends */
}

static json_t *control(const struct simulator *simulator, const char *command)
{
    struct http_answer answer =
        http_post(simulator->port, "/control", "", command, PATIENCE_AWAIT_MS);
    CHECK_INT(200, answer.status);
    json_t *tree = json_loadb(answer.body, answer.len, 0, NULL);
    http_answer_fini(&answer);
    CHECK(tree != NULL && json_object_get(tree, "error") == NULL);
    return tree;
}

static void start_bot(struct service *service, const struct folder *project,
                      const struct simulator *simulator, const char *more)
{
    char json[2048], env[600];
    snprintf(json, sizeof json,
             "{\"name\":\"tried\",\"language\":\"en\",\"access\":\"anyone\",%s,%s}", more,
             simulator->ship_json);
    snprintf(env, sizeof env, "%s\n", simulator->env);
    folder_write(project, "ship.json", json);
    folder_write(project, ".env", env);
    service_start(service, program_in(&root), project);
}

/* -- the cases ------------------------------------------------------------------------------- */
static void a_bot_answers_on(const char *what, const char *person)
{
    struct folder project;
    struct simulator simulator;
    struct service service;
    char command[512];
    bool is_answered = false;
    folder_create(&project, NULL);
    start_simulator(&simulator, &project, what);
    start_bot(&service, &project, &simulator, "\"llm\":{\"provider\":\"offline\"}");
    snprintf(command, sizeof command, "{\"do\":\"say\",\"text\":\"Hello there!\",%s}", person);
    for (long long until =
             process_now_ms() + PATIENCE_AWAIT_MS; /* QQ tells only who is connected */
         process_now_ms() < until && !is_answered;) {
        json_decref(control(&simulator, command));
        for (long long again = process_now_ms() + 1000; process_now_ms() < again && !is_answered;) {
            process_pause_ms(5);
            char list[512];
            snprintf(list, sizeof list, "{\"do\":\"list\",%s}", person);
            json_t *tree = control(&simulator, list);
            char *text = json_dumps(tree, 0);
            is_answered = strstr(text, "You said: Hello there!") != NULL;
            free(text);
            json_decref(tree);
        }
    }
    CHECK(is_answered);
    CHECK_INT(0, service_stop(&service));
    stop_simulator(&simulator);
    folder_remove(&project);
}

CASE(a_bot_answers_on_telegram)
{
    a_bot_answers_on("telegram", "\"chat\":1001,\"user\":1001");
}

CASE(a_bot_answers_on_feishu)
{
    a_bot_answers_on("feishu", "\"chat\":\"oc_ann\",\"user\":\"ou_ann\"");
}

CASE(a_bot_answers_on_qq)
{
    a_bot_answers_on("qq", "\"chat\":\"c2c:A1B2C3D4E5F60718293A4B5C6D7E8F90\"");
}

CASE(a_bot_asks_the_simulated_model)
{
    struct folder project;
    struct simulator simulator;
    struct service service;
    folder_create(&project, NULL);
    start_simulator(&simulator, &project, "model");
    start_bot(&service, &project, &simulator, "\"adapters\":{\"terminal\":{\"enabled\":false}}");
    talk_expect(service.port, "somebody", "[[do: text The model says so.]] [[plain]]", "so");
    CHECK_INT(0, service_stop(&service));
    stop_simulator(&simulator);
    folder_remove(&project);
}

CASE(what_is_not_installed_is_named)
{
    static const char *const what[] = {"telegram", "feishu", "qq", "model"};
    for (size_t i = 0; i < SMA_COUNT_OF(what); i++) {
        char *output = NULL;
        const char *argv[] = {program_in(&bare), "simulate", what[i], NULL};
        CHECK_INT(1, run_to_end((char *const *)argv, "", &output, 20000));
        CHECK(strstr(output, "not installed") != NULL);
        CHECK(strstr(output, "scripts/install --simulators") != NULL);
        CHECK(strstr(output, "shipmyagent-simulators") != NULL);
        free(output);
    }
}

CASE(a_bench_without_its_program_names_the_package)
{
    char *output = NULL;
    const char *argv[] = {program_in(&bare), "bench", NULL};
    CHECK_INT(1, run_to_end((char *const *)argv, "", &output, 20000));
    CHECK(strstr(output, "not installed") != NULL);
    CHECK(strstr(output, "shipmyagent-simulators") != NULL);
    free(output);
}

/* Installed, it finds its program and the simulated model. */
CASE(a_bench_of_an_installed_tree_measures)
{
    struct folder project;
    char *output = NULL;
    folder_create(&project, "{}");
    const char *argv[] = {program_in(&root), "bench", project.path, "--platform", "http",
                          "--rate",          "5",     "--duration", "1",          NULL};
    int status = run_to_end((char *const *)argv, "", &output, 120000);
    if (status != 0)
        fprintf(stderr, "%s\n", output);
    CHECK_INT(0, status);
    CHECK(strstr(output, "5 due, 5 sent, 5 answered") != NULL);
    free(output);
    folder_remove(&project);
}

/* Installed, it finds its program and the simulated model, and leaves the project as it was. */
CASE(a_script_is_played_on_a_copy_of_a_project)
{
    static const char config[] = "{\"name\":\"mine\",\"access\":[\"7\"],\"llm\":{\"provider\":"
                                 "\"deepseek\",\"apiKey\":\"sk-of-my-own-12345\"},\"agent\":"
                                 "{\"concurrency\":7},\"adapters\":{\"telegram\":{\"enabled\":true,"
                                 "\"botToken\":\"${MY_TOKEN}\",\"progress\":\"off\"}}}";
    struct folder project;
    char script[256], *output = NULL, *left;
    folder_create(&project, config);
    folder_write(
        &project, "good.talk",
        "platforms telegram\ncase it answers\n  start\n  ann: hello\n  bot: You said: hello\n"
        "  file ship.json ~ \"concurrency\": 7\n  file ship.json ~ \"progress\": \"off\"\n"
        "  file ship.json !~ sk-of-my-own\n");
    folder_write(&project, "bad.talk",
                 "case it does not\n  start\n  ann: hello\n  bot x2: hello\n");
    snprintf(script, sizeof script, "%s/good.talk", project.path);
    const char *argv[] = {program_in(&root), "simulate",   "telegram", "--play", script,
                          "--project",       project.path, NULL};
    int status = run_to_end((char *const *)argv, "", &output, 120000);
    if (status != 0)
        fprintf(stderr, "%s\n", output);
    CHECK(status == 0 && strstr(output, "ok it answers (") != NULL);
    free(output);
    CHECK(setenv("TMPDIR", project.path, 1) == 0); /* what failed scripts leave goes with it */
    snprintf(script, sizeof script, "%s/bad.talk", project.path);
    const char *bad[] = {program_in(&root), "simulate", "telegram", "--play", script,
                         "--patience",      "2",        NULL};
    CHECK_INT(1, run_to_end((char *const *)bad, "", &output, 120000));
    CHECK(strstr(output, "bad.talk:4: 1 messages of ours with \"hello\", wanted 2") != NULL);
    CHECK(strstr(output, "You said: hello") != NULL && strstr(output, "connected as") != NULL);
    free(output);
    bad[2] = "feishu";
    snprintf(script, sizeof script, "%s/good.talk", project.path);
    CHECK_INT(1, run_to_end((char *const *)bad, "", &output, 120000));
    CHECK(strstr(output, "not written for feishu") != NULL);
    free(output);
    CHECK(unsetenv("TMPDIR") == 0);
    left = folder_read(&project, "ship.json");
    CHECK_TEXT(config, left);
    CHECK(folder_read(&project, ".ship/service.json") == NULL);
    free(left);
    folder_remove(&project);
}

/* Each line that looks for something finds that it is not so. */
CASE(a_line_that_is_not_true_ends_a_script)
{
    static const struct
    {
        const char *line, *told;
    } rows[] = {
        {"bot: goodbye", "no message with \"goodbye\" came"},
        {"bot x0: hello", "1 messages of ours with \"hello\", wanted 0"},
        {"sent 2", "1 messages of ours with \"\", wanted 2"},
        {"card: hello", "no message with buttons with \"hello\" came"},
        {"it text = hello", "text is \"You said: hello\", wanted = hello"},
        {"it text x2 hello", "wanted x2 hello"},
        {"asked 1 hello", "2 requests to the model hold \"hello\", wanted 1"},
        {"in order 1 word", "0 of them, wanted 1"},
        {"lines count 1", "count has 0 lines, wanted 1"},
        {"file Agent.md ~ hello", "it holds You are being tested."},
        {"file Agent.md gone", "Agent.md gone"},
        {"counter refused 7", "refused is 0, wanted = 7"},
        {"metric runs_done_total 7", "runs_done_total is 1, wanted = 7"},
        {"until faults_left 1", "it never comes true: faults_left 1"},
        {"log x0 delivered", "the log says \"delivered\" 1 times"},
        {"cli 3 status", "status 0, wanted 3"},
        {"api /api/status 404", "HTTP status 200, wanted 404"},
        {"call GET /nowhere => 200", "HTTP status 404, wanted 200"},
        {"call GET /nowhere => 404 found it", "wanted 404 and \"found it\""},
        {"bot@here: hello", "nobody is called here on telegram"},
        {"process descriptors < 1", "wanted < 1"},
        {"frobnicate now", "nobody is called frobnicate on telegram, and it is no verb"},
        {"ann: ${nobody}", "nothing is called ${nobody} here"},
    };
    struct folder project;
    char script[256], text[512], *output = NULL;
    folder_create(&project, "{}");
    CHECK(setenv("TMPDIR", project.path, 1) == 0); /* what failed scripts leave goes with it */
    snprintf(script, sizeof script, "%s/bad.talk", project.path);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        snprintf(text, sizeof text,
                 "case a\n  start\n  ann: hello\n  bot: You said: hello\n  rest\n  mark\n  bot: "
                 "hello\n  %s\n",
                 rows[i].line);
        folder_write(&project, "bad.talk", text);
        const char *argv[] = {program_in(&root), "simulate", "telegram", "--play", script,
                              "--patience",      "2",        NULL};
        int status = run_to_end((char *const *)argv, "", &output, 120000);
        if (status != 1 || strstr(output, "bad.talk:8: ") == NULL ||
            strstr(strstr(output, "bad.talk:8: "), rows[i].told) == NULL)
            fprintf(stderr, "%s: %d: %s\n", rows[i].line, status, output);
        CHECK(status == 1 && strstr(output, "bad.talk:8: ") != NULL);
        CHECK(strstr(strstr(output, "bad.talk:8: "), rows[i].told) != NULL);
        free(output);
    }
    CHECK(unsetenv("TMPDIR") == 0);
    folder_remove(&project);
}

CASE(each_says_what_it_can_be_told)
{
    static const char *const what[][2] = {{"telegram", "fault method kind"},
                                          {"feishu", "fault method kind"},
                                          {"qq", "fault method kind"},
                                          {"model", "--profile"}};
    for (size_t i = 0; i < SMA_COUNT_OF(what); i++) {
        char *output = NULL;
        const char *argv[] = {program_in(&root), "simulate", what[i][0], "--help", NULL};
        CHECK_INT(0, run_to_end((char *const *)argv, "", &output, 20000));
        CHECK(strstr(output, what[i][1]) != NULL);
        free(output);
        const char *wrong[] = {program_in(&root), "simulate", what[i][0], "--nonsense", NULL};
        CHECK_INT(2, run_to_end((char *const *)wrong, "", &output, 20000));
        free(output);
    }
    char *output = NULL;
    const char *other[] = {program_in(&root), "simulate", "slack", NULL};
    CHECK_INT(1, run_to_end((char *const *)other, "", &output, 20000));
    CHECK(strstr(output, "telegram, feishu, qq and model") != NULL);
    free(output);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    cmake = argv[1];
    build_dir = argv[2];
    folder_create(&root, NULL);
    folder_create(&bare, NULL);
    install(&root, "program");
    install(&root, "simulators");
    install(&bare, "program");
    check_run_cases(NULL);
    folder_remove(&root);
    folder_remove(&bare);
    return check_summary();
}
