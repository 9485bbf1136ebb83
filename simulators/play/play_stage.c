/*
 * play_stage.c — see play_stage.h.
 */
#include "play/play_stage.h"

#include "load/load.h"
#include "sma/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define API_KEY "sk-secret-4711-abcdef" /* what the model server wants; must show up nowhere */
#define FILE_BYTES_MAX (4 << 20)
#define LOG_TAIL_BYTES 12000
#define ASK_MS 60000

/* -- time ------------------------------------------------------------------------------------ */
long long play_real_ms(void)
{
    return (long long)(sma_clock_machine_ns(sma_clock_now_ns()) / 1000000);
}

long long play_clock_ms(void)
{
    return (long long)(sma_clock_now_ns() / 1000000);
}

bool play_look_again(long long until)
{
    struct timespec wait = {0, 3000000};
    nanosleep(&wait, NULL);
    return play_real_ms() < until;
}

static long long deadline(const struct play_stage *stage)
{
    return play_real_ms() + stage->options->patience_ms;
}

/* -- files ----------------------------------------------------------------------------------- */
static void make_path(const struct play_stage *stage, const char *name, char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/%s", stage->folder, name) >= PATH_MAX)
        play_fail("the path is too long: %s", name);
}

void stage_write(const struct play_stage *stage, const char *name, const char *text)
{
    char path[PATH_MAX];
    make_path(stage, name, path);
    for (char *at = path + strlen(stage->folder) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            play_fail("%s: %s", path, strerror(errno));
        *at = '/';
    }
    FILE *file = fopen(path, "we");
    if (strcmp(name, ".env") == 0)
        (void)chmod(path, 0600); /* as the service wants it */
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        play_fail("%s: %s", path, strerror(errno));
}

char *stage_find(const struct play_stage *stage, const char *pattern)
{
    char path[PATH_MAX], *name;
    glob_t found;
    make_path(stage, pattern, path);
    if (glob(path, 0, NULL, &found) != 0)
        return NULL;
    name = strdup(found.gl_pathv[found.gl_pathc - 1] + strlen(stage->folder) + 1);
    globfree(&found);
    return name;
}

char *stage_read(const struct play_stage *stage, const char *pattern)
{
    char path[PATH_MAX], *text = NULL, *name = stage_find(stage, pattern);
    if (name == NULL)
        return NULL;
    make_path(stage, name, path);
    free(name);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return NULL;
    text = calloc(1, FILE_BYTES_MAX);
    if (text == NULL)
        play_fail("out of memory");
    text[fread(text, 1, FILE_BYTES_MAX - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* -- processes ------------------------------------------------------------------------------- */
/* `in`, `out` < 0: nothing, and what this process has. */
static pid_t spawn(const struct play_stage *stage, const char *const *argv, int in, int out)
{
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        play_fail("fork: %s", strerror(errno));
    if (pid > 0)
        return pid;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    in = in < 0 ? open("/dev/null", O_RDONLY) : in;
    if (getppid() != parent || dup2(in, STDIN_FILENO) < 0 ||
        (out >= 0 && (dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)) ||
        chdir(stage->folder) != 0)
        _exit(126);
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* @return exit status, or 128 + signal */
static int await_end(const struct play_stage *stage, pid_t pid)
{
    int status = 0;
    for (long long until = deadline(stage); waitpid(pid, &status, WNOHANG) != pid;)
        if (!play_look_again(until)) {
            kill(pid, SIGKILL);
            (void)waitpid(pid, &status, 0);
            play_fail("the process %d did not end", (int)pid);
        }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Of "PORT n" or "port":n in a text. */
static int find_port(const char *text, const char *word)
{
    const char *at = text == NULL ? NULL : strstr(text, word);
    return at == NULL ? 0 : (int)strtol(at + strlen(word), NULL, 10);
}

static void start_model(struct play_stage *stage)
{
    char program[PATH_MAX], log[PATH_MAX], script[PATH_MAX], *text = NULL;
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    char *slash = len < 0 ? NULL : (program[len] = '\0', strrchr(program, '/'));
    if (slash == NULL || slash + 32 > program + sizeof program)
        play_fail("cannot tell where this program is");
    memcpy(slash, "/simulate-model", sizeof "/simulate-model");
    make_path(stage, "model.log", log);
    make_path(stage, "script.json", script);
    if (stage->model_script != NULL)
        stage_write(stage, "script.json", stage->model_script);
    const char *argv[] = {program,
                          "--key",
                          API_KEY,
                          "--log",
                          log,
                          "--log-bodies",
                          stage->model_script == NULL ? NULL : "--script",
                          script,
                          NULL};
    char out[PATH_MAX];
    make_path(stage, "model.out", out);
    int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    stage->model = spawn(stage, argv, -1, fd);
    close(fd);
    for (long long until = deadline(stage); stage->model_port == 0; free(text)) {
        text = stage_read(stage, "model.out");
        if (text != NULL && strchr(text, '\n') != NULL)
            stage->model_port = find_port(text, "PORT ");
        if (stage->model_port == 0 && !play_look_again(until))
            play_fail("%s did not start: %s", program, text == NULL ? "" : text);
    }
}

/* -- configuration --------------------------------------------------------------------------- */
static void set(json_t *object, const char *name, const char *json)
{
    json_t *value = json == NULL ? NULL : json_loads(json, JSON_DECODE_ANY, NULL);
    if (value != NULL)
        json_object_set_new(object, name, value);
}

/* The block of "adapters" that leads to the platform of one bot. */
static json_t *make_block(const struct play_stage *stage, size_t bot)
{
    char text[2048];
    size_t len = (size_t)snprintf(text, sizeof text, "{");
    for (const char *at = stage->program->ship_json; *at != '\0' && len + 64 < sizeof text; at++)
        len += (size_t)(*at == '@' ? snprintf(text + len, sizeof text - len, "http://127.0.0.1:%d",
                                              stage->bots[bot].client.port)
                                   : snprintf(text + len, sizeof text - len, "%c", *at));
    snprintf(text + len, sizeof text - len, "}");
    json_t *outer = json_loads(text, 0, NULL);
    json_t *block = json_incref(json_object_get(outer, stage->program->name));
    json_decref(outer);
    if (block == NULL)
        play_fail("no JSON: %s", text);
    return block;
}

static json_t *make_bare_config(const struct play_stage *stage, json_t *block)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", stage->model_port);
    return json_pack("{s:s,s:s,s:{s:s,s:s,s:s,s:s},s:{s:s},s:{s:i},s:s,s:{s:{s:b},s:o}}", "name",
                     "tested", "language", "en", "llm", "provider", "custom", "model", "fake-1",
                     "baseUrl", url, "apiKey", API_KEY, "queue", "mode", "serial", "agent",
                     "concurrency", 4, "access", "anyone", "adapters", "terminal", "enabled", 0,
                     stage->program->name, block);
}

/* The user's configuration without persons, secrets and addresses, as `bench` has it. */
static json_t *copy_config(const struct play_stage *stage, json_t *block)
{
    struct load_place place = {.model.port = stage->model_port};
    struct load_plan plan = {.folder = stage->options->project, .platform = stage->program->name};
    char path[PATH_MAX];
    snprintf(place.folder, sizeof place.folder, "%s", stage->folder);
    snprintf(place.token, sizeof place.token, "the-token-of-the-copy");
    bool is_copied = load_copy(&place, &plan, block);
    json_decref(block);
    make_path(stage, "ship.json", path);
    json_t *config = is_copied ? json_load_file(path, 0, NULL) : NULL;
    if (config == NULL)
        play_fail("%s: its configuration cannot be copied", plan.folder);
    json_object_set_new(json_object_get(config, "llm"), "apiKey", json_string(API_KEY));
    json_object_del(config, "api");
    return config;
}

void stage_configure(struct play_stage *stage, bool is_running)
{
    char *text = json_dumps(stage->config, JSON_INDENT(2));
    stage_write(stage, "ship.json", text);
    free(text);
    if (is_running && kill(stage->service, SIGHUP) != 0)
        play_fail("the service is not there: %s", strerror(errno));
}

static void open_bot(struct play_stage *stage)
{
    SMA_ASSERT(stage->bot_count < PLAY_BOTS_MAX);
    struct play_bot *bot = &stage->bots[stage->bot_count++];
    bot->fake = stage->program->start(0);
    bot->client = stage->program->client(bot->fake);
    for (const char *const *at = stage->program->play->people; *at != NULL; at++)
        json_decref(bot->client.run(bot->client.fake, json_loads(*at, 0, NULL)));
}

void stage_add_bot(struct play_stage *stage)
{
    json_t *adapters = json_object_get(stage->config, "adapters");
    json_t *first = json_object_get(adapters, stage->program->name);
    open_bot(stage);
    const struct play_bot *bot = &stage->bots[1];
    for (const char *const *at = stage->program->play->second_account; *at != NULL; at++)
        json_decref(bot->client.run(bot->client.fake, json_loads(*at, 0, NULL)));
    json_t *second = make_block(stage, 1), *own = json_loads(stage->program->play->second, 0, NULL);
    json_object_update(second, own);
    json_decref(own);
    json_object_set_new(adapters, stage->program->name, json_pack("[O,o]", first, second));
}

/* -- life ------------------------------------------------------------------------------------ */
void stage_open(struct play_stage *stage, const struct fake_program *program,
                const struct play_options *options)
{
    char *script = stage->model_script;
    *stage = (struct play_stage){.program = program, .options = options, .model_script = script};
    const char *root = getenv("TMPDIR");
    snprintf(stage->folder, sizeof stage->folder, "%s/sma-talk-XXXXXX",
             root == NULL || root[0] == '\0' ? "/tmp" : root);
    if (mkdtemp(stage->folder) == NULL)
        play_fail("%s: %s", stage->folder, strerror(errno));
    stage->is_open = true;
    stage_write(stage, "Agent.md", "You are being tested.\n");
    stage_write(stage, ".env", program->env);
    open_bot(stage);
    start_model(stage);
    json_t *block = make_block(stage, 0);
    set(block, "groups", program->play->groups);
    stage->config =
        options->project == NULL ? make_bare_config(stage, block) : copy_config(stage, block);
}

static void await_ready(const struct play_stage *stage, size_t bot_count)
{
    struct play_stage each = *stage;
    for (each.bot = 0; each.bot < bot_count; each.bot++)
        for (long long until = deadline(stage);
             stage_counter(&each, stage->program->play->ready) < 1;)
            if (!play_look_again(until))
                play_fail("the service does not connect to %s", stage->program->name);
}

static bool is_posted(const struct play_stage *stage)
{
    const json_t *block =
        json_object_get(json_object_get(stage->config, "adapters"), stage->program->name);
    if (json_is_array(block))
        block = json_array_get(block, 0);
    const char *mode = json_string_value(json_object_get(block, "mode"));
    return (mode != NULL && strcmp(mode, "webhook") == 0) ||
           !json_is_true(json_object_get(block, "enabled"));
}

void stage_start(struct play_stage *stage, size_t awaited)
{
    char path[PATH_MAX], log[PATH_MAX], *text = NULL;
    if (stage->service > 0)
        play_fail("the service runs already");
    stage_configure(stage, false);
    make_path(stage, ".ship/service.json", path);
    (void)unlink(path); /* may be left by a killed one */
    make_path(stage, "service.log", log);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const char *argv[] = {stage->options->program, "start", stage->folder, "--port", "0", NULL};
    stage->service = spawn(stage, argv, -1, fd);
    close(fd);
    stage->port = 0;
    for (long long until = deadline(stage); stage->port == 0; free(text)) {
        text = stage_read(stage, ".ship/service.json");
        stage->port = find_port(text, "\"port\":");
        if (stage->port == 0 &&
            (waitpid(stage->service, NULL, WNOHANG) == stage->service || !play_look_again(until))) {
            stage->service = 0;
            play_fail("the service did not come up");
        }
    }
    text = stage_read(stage, ".ship/api-token");
    snprintf(stage->token, sizeof stage->token, "%.*s",
             text == NULL ? 0 : (int)strcspn(text, "\r\n"), text == NULL ? "" : text);
    free(text);
    if (!is_posted(stage))
        await_ready(stage, awaited < stage->bot_count ? awaited : stage->bot_count);
}

void stage_stop(struct play_stage *stage)
{
    if (stage->service <= 0)
        play_fail("the service does not run");
    kill(stage->service, SIGTERM);
    int status = await_end(stage, stage->service);
    stage->service = 0;
    if (status != 0)
        play_fail("the service ended with status %d", status);
}

void stage_kill(struct play_stage *stage)
{
    if (stage->service <= 0)
        play_fail("the service does not run");
    kill(stage->service, SIGKILL);
    (void)waitpid(stage->service, NULL, 0);
    stage->service = 0;
}

void stage_await_death(struct play_stage *stage)
{
    (void)await_end(stage, stage->service);
    stage->service = 0;
}

void stage_remove(const struct play_stage *stage, const char *name)
{
    char path[PATH_MAX];
    make_path(stage, name, path);
    const char *argv[] = {"/bin/rm", "-r", "--", path, NULL};
    if (await_end(stage, spawn(stage, argv, -1, -1)) != 0)
        play_fail("%s cannot be removed", path);
}

void stage_end_silence(const struct play_stage *stage)
{
    kill(stage->model, SIGUSR1);
}

/* Neither what it printed nor what it keeps. */
static void check_secret(const struct play_stage *stage, const char *secret)
{
    char out[PATH_MAX], *text;
    const char *argv[] = {"/bin/grep", "-rlsF", "--", secret, "service.log", ".ship", NULL};
    make_path(stage, "found", out);
    int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int status = await_end(stage, spawn(stage, argv, -1, fd));
    close(fd);
    text = stage_read(stage, "found");
    if (text != NULL && text[0] != '\0')
        play_fail("a secret stands in: %s", text);
    free(text);
    if (status == 0 || status > 2) /* 2: a file has gone meanwhile, or was never there */
        play_fail("grep ended with status %d", status);
}

void stage_close(struct play_stage *stage)
{
    const struct play_platform *play = stage->program->play;
    if (stage->service > 0)
        stage_stop(stage);
    kill(stage->model, SIGTERM);
    (void)await_end(stage, stage->model); /* its verdict is in its log */
    json_decref(stage_requests(stage, ""));
    for (stage->bot = 0; stage->bot < stage->bot_count; stage->bot++)
        if (play->wrong != NULL && !stage->may_complain && stage_counter(stage, play->wrong) != 0)
            play_fail("%s: %lld", play->wrong, (long long)stage_counter(stage, play->wrong));
    check_secret(stage, API_KEY);
    for (const char *const *at = play->secrets; *at != NULL; at++)
        check_secret(stage, *at);
    for (size_t i = 0; i < stage->bot_count; i++)
        stage->program->stop(stage->bots[i].fake);
    const char *argv[] = {"/bin/rm", "-rf", "--", stage->folder, NULL};
    (void)await_end(stage, spawn(stage, argv, -1, -1));
    json_decref(stage->config);
    free(stage->model_script);
    *stage = (struct play_stage){0};
}

void stage_show(const struct play_stage *stage, const json_t *chat)
{
    if (!stage->is_open)
        return;
    for (const char *const *at = stage->program->play->views; *at != NULL; at++) {
        const struct platform_client *client = &stage->bots[stage->bot].client;
        json_t *command = json_pack("{s:s,s:O*}", "do", *at, "chat", chat);
        json_t *view = client->run(client->fake, command);
        char *text = json_dumps(view, JSON_INDENT(1));
        fprintf(stderr, "%s: %s\n", *at, text);
        free(text);
        json_decref(view);
    }
    char *log = stage_read(stage, "service.log");
    size_t len = log == NULL ? 0 : strlen(log);
    fprintf(stderr, "service.log:\n%s\nthe project is still in %s\n",
            log == NULL ? "" : log + (len > LOG_TAIL_BYTES ? len - LOG_TAIL_BYTES : 0),
            stage->folder);
    free(log);
}

/* -- asking ---------------------------------------------------------------------------------- */
json_t *stage_tell(const struct play_stage *stage, json_t *command)
{
    const struct platform_client *client = &stage->bots[stage->bot].client;
    char *told = json_dumps(command, JSON_COMPACT);
    json_t *answer = client->run(client->fake, command);
    const char *error = platform_text(answer, "error", NULL);
    if (error != NULL)
        play_fail("%s: %s", told, error);
    free(told);
    return answer;
}

int64_t stage_counter(const struct play_stage *stage, const char *name)
{
    json_t *counters = stage_tell(stage, json_pack("{s:s}", "do", "counters"));
    const json_t *value = strncmp(name, "calls.", 6) == 0
                              ? json_object_get(json_object_get(counters, "calls"), name + 6)
                              : json_object_get(counters, name);
    int64_t number = json_is_true(value) ? 1 : json_integer_value(value);
    json_decref(counters);
    return number;
}

struct http_answer stage_ask(const struct play_stage *stage, const char *method, const char *path,
                             const char *body)
{
    char headers[256];
    snprintf(headers, sizeof headers, "X-Api-Token: %s\r\n%s", stage->token,
             body == NULL ? "" : "Content-Type: application/json\r\n");
    struct http_request request = {.port = stage->port,
                                   .method = method,
                                   .path = path,
                                   .headers = headers,
                                   .body = body,
                                   .body_len = body == NULL ? 0 : strlen(body),
                                   .timeout_ms = ASK_MS};
    return http_exchange(&request);
}

static bool says(const struct play_stage *stage, const char *path, const char *const *parts)
{
    struct http_answer answer = stage_ask(stage, "GET", path, NULL);
    bool has_all = answer.status == 200;
    for (; has_all && *parts != NULL; parts++)
        has_all = strstr(answer.body, *parts) != NULL;
    http_answer_fini(&answer);
    return has_all;
}

/* The store says it itself: gauges lag behind a batch. */
bool stage_is_at_rest(const struct play_stage *stage)
{
    static const char *const sent[] = {"\"outbox\":{\"open\":0,", NULL},
                             *const quiet[] = {"\nsma_inbox_waiting 0\n", "\nsma_runs_open 0\n",
                                               "\nsma_outbox_open 0\n", NULL};
    struct play_stage each = *stage;
    const struct play_platform *play = stage->program->play;
    for (each.bot = 0; each.bot < each.bot_count; each.bot++)
        if (stage_counter(&each, play->queued) != 0) {
            if (play->hurry != NULL) /* what it would bring again in half a minute comes now */
                json_decref(stage_tell(&each, json_pack("{s:s}", "do", play->hurry)));
            return false;
        }
    return says(stage, "/api/status", sent) && says(stage, "/metrics", quiet);
}

void stage_rest(const struct play_stage *stage)
{
    int looks = 0; /* what the first one sees is committed before the second is answered */
    for (long long until = deadline(stage); (looks = stage_is_at_rest(stage) ? looks + 1 : 0) < 2;)
        if (!play_look_again(until)) {
            struct http_answer answer = stage_ask(stage, "GET", "/metrics", NULL);
            fprintf(stderr, "%s\n", answer.body == NULL ? "" : answer.body);
            http_answer_fini(&answer);
            play_fail("it does not come to rest");
        }
}

long stage_metric(const struct play_stage *stage, const char *name)
{
    char line[128];
    struct http_answer answer = stage_ask(stage, "GET", "/metrics", NULL);
    snprintf(line, sizeof line, "\nsma_%s ", name);
    const char *at = answer.body == NULL ? NULL : strstr(answer.body, line);
    long value = at == NULL ? -1 : strtol(at + strlen(line), NULL, 10);
    http_answer_fini(&answer);
    return value;
}

long stage_process(const struct play_stage *stage, const char *what)
{
    char path[PATH_MAX], line[128];
    long sum = 0, count;
    bool is_wakes = strcmp(what, "wakes") == 0;
    glob_t found;
    snprintf(path, sizeof path, is_wakes ? "/proc/%d/task/*/status" : "/proc/%d/fd/*",
             (int)stage->service);
    if (glob(path, 0, NULL, &found) != 0)
        play_fail("nothing is known of process %d", (int)stage->service);
    for (size_t i = 0; is_wakes && i < found.gl_pathc; i++) {
        FILE *file = fopen(found.gl_pathv[i], "re"); /* NULL: the thread has ended */
        while (file != NULL && fgets(line, sizeof line, file) != NULL)
            sum += sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1 ? count : 0;
        if (file != NULL)
            fclose(file);
    }
    sum = is_wakes ? sum : (long)found.gl_pathc;
    globfree(&found);
    return sum;
}

int stage_run(const struct play_stage *stage, const char *words, char **ret_output)
{
    char line[4096], out[PATH_MAX];
    /* the shell takes the words apart, as where people type them */
    snprintf(line, sizeof line, "exec \"$0\" %s", words);
    const char *argv[] = {"/bin/sh", "-c", line, stage->options->program, NULL};
    make_path(stage, "cli.out", out);
    int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int status = await_end(stage, spawn(stage, argv, -1, fd));
    close(fd);
    *ret_output = stage_read(stage, "cli.out");
    return status;
}

json_t *stage_requests(const struct play_stage *stage, const char *part)
{
    char path[PATH_MAX], *line = NULL;
    size_t size = 0;
    json_t *list = json_array();
    make_path(stage, "model.log", path);
    FILE *file = fopen(path, "re");
    /* a line without an end is still being written */
    for (ssize_t len;
         file != NULL && (len = getline(&line, &size, file)) > 0 && line[len - 1] == '\n';) {
        json_t *entry = json_loads(line, 0, NULL);
        const char *complaint = platform_text(entry, "complaint", "");
        if (entry == NULL || complaint[0] != '\0')
            play_fail("the model server complains: %s: %s", complaint, line);
        if (strstr(platform_text(entry, "body", ""), part) != NULL)
            json_array_append(list, entry);
        json_decref(entry);
    }
    free(line);
    if (file != NULL)
        fclose(file);
    return list;
}
