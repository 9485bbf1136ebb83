/*
 * Aim: everything that `init` asks can be said by options; keys come by name or by file, never as
 *   an argument; what is refused, or cannot be written, leaves nothing; what is made starts.
 * Method: the real binary with a strict model server and a strict Telegram; a systemctl of our own
 *   in PATH. init_flags BINARY FAKE_MODEL
 */
#include "process.h"
#include "support/check.h"
#include "talk.h"
#include "telegram/fake_telegram.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEY "sk-the-right-key-4711"

static char *binary, *fake_model;

struct place
{
    struct folder parent;
    char path[256], key_file[256], url[64];
    pid_t model;
};

static void place_create(struct place *place)
{
    char *server[] = {fake_model,       (char *)"--key", (char *)KEY,
                      (char *)"--port", (char *)"0",     NULL};
    folder_create(&place->parent, NULL);
    snprintf(place->path, sizeof place->path, "%s/bot", place->parent.path);
    snprintf(place->key_file, sizeof place->key_file, "%s/key", place->parent.path);
    folder_write(&place->parent, "key", KEY "\n");
    int port = server_start(server, &place->model);
    snprintf(place->url, sizeof place->url, "http://127.0.0.1:%d/v1", port);
}

static void place_remove(struct place *place)
{
    server_stop(place->model);
    folder_remove(&place->parent);
}

static void expect(int status, const char *text, const char *input, const char *const *words)
{
    char *argv[40] = {binary, (char *)"init"}, *output = NULL;
    for (int i = 0; words[i] != NULL; i++)
        argv[i + 2] = (char *)words[i];
    int actual = run_to_end(argv, input, &output, 60000);
    if (actual != status || strstr(output, text) == NULL)
        fprintf(stderr, "init: status %d, wanted %d and \"%s\":\n%s\n", actual, status, text,
                output);
    CHECK(actual == status && strstr(output, text) != NULL && strstr(output, KEY) == NULL);
    free(output);
}
#define EXPECT(status, text, ...) \
    expect((status), (text), "", (const char *const[]){__VA_ARGS__, NULL})
/* The beginning of a command with the model server of the place. */
#define MODEL(place)                                                                       \
    (place)->path, "--yes", "--provider", "custom", "--model", "fake-model", "--base-url", \
        (place)->url

static char *read_made(const struct place *place, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "bot/%s", name);
    return folder_read(&place->parent, path);
}

static void expect_in(const struct place *place, const char *name, const char *part)
{
    char *text = read_made(place, name);
    if (text == NULL || strstr(text, part) == NULL)
        fprintf(stderr, "%s lacks \"%s\":\n%s\n", name, part, text == NULL ? "" : text);
    CHECK(text != NULL && strstr(text, part) != NULL);
    free(text);
}

static bool is_nothing_there(const struct place *place)
{
    DIR *folder = opendir(place->parent.path);
    size_t count = 0;
    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count == 4; /* . .. Agent.md key */
}

/* -- keys -------------------------------------------------------------------------------------- */
CASE(keys_come_by_name_or_file)
{
    struct place place;
    place_create(&place);
    EXPECT(0, "ok: answers", MODEL(&place), "--key-file", place.key_file);
    expect_in(&place, ".env", "LLM_API_KEY=" KEY "\n");
    setenv("MY_OWN_KEY", KEY, 1);
    EXPECT(0, "ok: answers", MODEL(&place), "--force", "--key-env", "MY_OWN_KEY");
    expect_in(&place, ".env", "MY_OWN_KEY=" KEY "\n");
    expect_in(&place, "ship.json", "\"${MY_OWN_KEY}\"");
    unsetenv("MY_OWN_KEY");
    expect(0, "ok: answers", KEY "\n",
           (const char *const[]){MODEL(&place), "--force", "--key-file", "-", NULL});
    EXPECT(1, "never the key itself", MODEL(&place), "--force", "--key-env", "sk-1-2");
    EXPECT(1, "this variable is not set", MODEL(&place), "--force", "--key-env", "NO_SUCH_KEY");
    EXPECT(1, "No such file", MODEL(&place), "--force", "--key-file", "/nonexistent/key");
    place_remove(&place);
}

/* The environment stands above .env: a key that it would hide is kept under another name, or
 * refused. */
CASE(no_other_key_of_the_shell_is_used_instead)
{
    struct place place;
    place_create(&place);
    setenv("LLM_API_KEY", "sk-of-another-project", 1);
    EXPECT(0, "ok: answers", MODEL(&place), "--key-file", place.key_file);
    expect_in(&place, ".env", "API_KEY=" KEY "\n");
    expect_in(&place, "ship.json", "\"${API_KEY}\"");
    setenv("API_KEY", "sk-of-a-third-project", 1);
    EXPECT(1, "unset LLM_API_KEY", MODEL(&place), "--force", "--key-file", place.key_file);
    unsetenv("LLM_API_KEY");
    unsetenv("API_KEY");
    setenv("TELEGRAM_BOT_TOKEN", "7:another", 1);
    EXPECT(1, "another TELEGRAM_BOT_TOKEN", MODEL(&place), "--force", "--telegram-token-file",
           place.key_file);
    unsetenv("TELEGRAM_BOT_TOKEN");
    place_remove(&place);
}

/* Without a word about it nothing of the shell is copied; where it is is said. */
CASE(a_key_of_the_shell_stays_there)
{
    struct place place;
    place_create(&place);
    setenv("DEEPSEEK_API_KEY", KEY, 1);
    EXPECT(0, "Its key is DEEPSEEK_API_KEY of this shell", place.path, "--yes", "--model",
           "deepseek-flash");
    unsetenv("DEEPSEEK_API_KEY");
    expect_in(&place, "ship.json", "\"${DEEPSEEK_API_KEY}\"");
    char *env = read_made(&place, ".env");
    CHECK(env == NULL);
    EXPECT(0, "echo 'LLM_API_KEY=...'", place.path, "--yes", "--force", "--model",
           "deepseek-flash");
    expect_in(&place, "ship.json", "\"${LLM_API_KEY}\"");
    place_remove(&place);
}

/* -- refusals ---------------------------------------------------------------------------------- */
CASE(what_is_refused_leaves_nothing)
{
    struct place place;
    place_create(&place);
    folder_write(&place.parent, "key", "sk-a-wrong-key\n");
    EXPECT(1, "nothing was written", MODEL(&place), "--key-file", place.key_file);
    CHECK(is_nothing_there(&place));
    folder_write(&place.parent, "key", "sk-ant-api03-a-key\n");
    EXPECT(1, "that is a key of anthropic", place.path, "--yes", "--model", "gpt-6.1-sol",
           "--key-file", place.key_file);
    EXPECT(1, "openai does not serve kimi-k3", place.path, "--yes", "--provider", "custom",
           "--base-url", "https://api.openai.com/v1", "--model", "kimi-k3");
    EXPECT(1, "init: ship.json: permissions.roles.owner[0]", MODEL(&place), "--owner",
           "telegram:@alice");
    EXPECT(1, "llm.baseUrl", place.path, "--yes", "--provider", "custom", "--base-url", "nonsense",
           "--model", "m");
    EXPECT(1, "--adapter takes none", MODEL(&place), "--adapter", "telegram", "--adapter", "irc");
    EXPECT(1, "--rules takes read-only or none", MODEL(&place), "--rules", "all");
    EXPECT(1, "what --model says looks like a key", place.path, "--yes", "--model", "sk-a-key");
    EXPECT(1, "port 0 is not", MODEL(&place), "--port", "0");
    EXPECT(1, "one of --chat, --start and --service", MODEL(&place), "--chat", "--start");
    CHECK(is_nothing_there(&place));
    folder_write(&place.parent, "key", "sk-a-wrong-key\n");
    EXPECT(0, "Wrote", MODEL(&place), "--key-file", place.key_file, "--untested");
    expect_in(&place, ".env", "LLM_API_KEY=sk-a-wrong-key\n");
    place_remove(&place);
}

/* Where files cannot be larger than this, .env can be written and the schema cannot. */
CASE(a_full_disk_leaves_nothing)
{
    struct place place;
    struct rlimit before, little = {2000, RLIM_INFINITY};
    place_create(&place);
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    little.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &little) == 0);
    EXPECT(1, "nothing was changed", MODEL(&place), "--key-file", place.key_file);
    CHECK(is_nothing_there(&place));
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(mkdir(place.path, 0700) == 0);
    folder_write(&place.parent, "bot/ship.json", "{\"mine\":1}");
    folder_write(&place.parent, "bot/.env", "MINE=1");
    CHECK(setrlimit(RLIMIT_FSIZE, &little) == 0);
    EXPECT(1, "nothing was changed", MODEL(&place), "--force", "--key-file", place.key_file);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    expect_in(&place, "ship.json", "{\"mine\":1}");
    expect_in(&place, ".env", "MINE=1");
    char *secret = read_made(&place, ".gitignore");
    CHECK(secret == NULL);
    place_remove(&place);
}

/* -- folders ----------------------------------------------------------------------------------- */
CASE(files_that_are_there_are_kept)
{
    struct place place;
    struct stat status;
    char path[512];
    place_create(&place);
    CHECK(mkdir(place.path, 0755) == 0);
    folder_write(&place.parent, "bot/main.c", "int x;\n");
    folder_write(&place.parent, "bot/.gitignore", "*.o\n.env");
    folder_write(&place.parent, "bot/.env", "MINE='a b'");
    snprintf(path, sizeof path, "%s/.env", place.path);
    CHECK(chmod(path, 0644) == 0);
    EXPECT(0, "Wrote", MODEL(&place), "--key-file", place.key_file);
    expect_in(&place, "main.c", "int x;\n");
    expect_in(&place, ".gitignore", "*.o\n.env\n.env.*\n!.env.example\n.ship/\n");
    expect_in(&place, ".env", "MINE='a b'\nLLM_API_KEY=" KEY "\n");
    CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600);
    EXPECT(1, "--force overwrites", MODEL(&place), "--key-file", place.key_file);
    EXPECT(0, "Wrote", MODEL(&place), "--force", "--key-file", place.key_file);
    expect_in(&place, ".gitignore", "*.o\n.env\n.env.*\n!.env.example\n.ship/\n");
    char *env = read_made(&place, ".env");
    CHECK(strstr(strstr(env, "LLM_API_KEY") + 1, "LLM_API_KEY") == NULL); /* it was there */
    free(env);
    place_remove(&place);
}

/* Root makes a project for somebody, whose .gitignore leads where only root may read. */
CASE(links_of_others_lead_root_nowhere)
{
    struct place place;
    char link[512], target[512];
    struct stat status;
    if (geteuid() != 0)
        return; /* only root has the question */
    place_create(&place);
    CHECK(chmod(place.parent.path, 0711) == 0 && mkdir(place.path, 0755) == 0);
    snprintf(target, sizeof target, "%s/secret", place.parent.path);
    snprintf(link, sizeof link, "%s/.gitignore", place.path);
    folder_write(&place.parent, "secret", "only root reads this\n");
    CHECK(chmod(target, 0600) == 0 && symlink(target, link) == 0);
    CHECK(chown(place.path, 65534, 65534) == 0);
    EXPECT(1, "Permission denied", MODEL(&place), "--key-file", place.key_file);
    CHECK(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
    CHECK(unlink(link) == 0);
    EXPECT(0, "Wrote", MODEL(&place), "--key-file", place.key_file);
    CHECK(stat(link, &status) == 0 && status.st_uid == 65534);
    place_remove(&place);
}

/* Killed at any file: each is the old or the new one, and whole; what is kept is kept. */
CASE(a_kill_leaves_every_file_whole)
{
    static const char *const points[] = {"init.before_aside", "init.before_move"};
    struct place place;
    char text[64];
    place_create(&place);
    EXPECT(0, "Wrote", MODEL(&place), "--key-file", place.key_file);
    folder_write(&place.parent, "bot/.env", "MINE=1\n");
    for (size_t i = 0; i < 2; i++)
        for (int at = 1, is_over = 0; !is_over; at++) {
            char *argv[] = {binary,
                            (char *)"init",
                            place.path,
                            (char *)"--yes",
                            (char *)"--force",
                            (char *)"--provider",
                            (char *)"offline",
                            (char *)"--secret-file",
                            NULL,
                            NULL};
            char *output = NULL, secret[300];
            snprintf(secret, sizeof secret, "OTHER=%s", place.key_file);
            argv[8] = secret;
            snprintf(text, sizeof text, "%s:%d", points[i], at);
            setenv("SMA_CRASH_AT", text, 1);
            int status = run_to_end(argv, "", &output, 60000);
            unsetenv("SMA_CRASH_AT");
            is_over = status == 0;
            CHECK(status == 0 || status == 128 + SIGKILL);
            free(output);
            char *json = read_made(&place, "ship.json");
            json_t *root = json_loads(json, 0, NULL);
            CHECK(root != NULL && json_object_get(root, "llm") != NULL && at < 20);
            json_decref(root);
            free(json);
            expect_in(&place, ".env", "MINE=1\n");
            expect_in(&place, "Agent.md", "## Idempotency Policy");
            expect_in(&place, ".ship/mcp/mcp.json", "servers");
            expect_in(&place, ".gitignore", ".env\n");
        }
    place_remove(&place);
}

static int listen_on(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 4) == 0)
        return fd;
    close(fd);
    return -1;
}

static int port_of(const struct folder *parent, const char *name)
{
    char *text = folder_read(parent, name);
    const char *at = text == NULL ? NULL : strstr(text, "\"port\": ");
    int port = at == NULL ? 0 : (int)strtol(at + 8, NULL, 10);
    free(text);
    return port;
}

CASE(each_project_gets_a_port_of_its_own)
{
    struct place place;
    char second[300], third[300];
    place_create(&place);
    snprintf(second, sizeof second, "%s/second", place.parent.path);
    snprintf(third, sizeof third, "%s/third", place.parent.path);
    EXPECT(0, "Wrote", place.path, "--yes", "--provider", "offline");
    EXPECT(0, "Wrote", second, "--yes", "--provider", "offline"); /* the first is not running */
    int first_port = port_of(&place.parent, "bot/ship.json");
    int second_port = port_of(&place.parent, "second/ship.json");
    CHECK(first_port >= 3000 && second_port >= 3000 && first_port != second_port);
    /* What listens belongs to somebody else. */
    folder_write(&place.parent, "second/ship.json", "{}");
    int fd = listen_on(second_port);
    EXPECT(0, "Wrote", third, "--yes", "--provider", "offline");
    int third_port = port_of(&place.parent, "third/ship.json");
    CHECK(third_port != second_port && third_port != first_port);
    if (fd >= 0)
        close(fd);
    EXPECT(0, "Wrote", third, "--yes", "--provider", "offline", "--force");
    CHECK(port_of(&place.parent, "third/ship.json") == third_port); /* it keeps its own */
    EXPECT(0, "(port 4321)", third, "--yes", "--provider", "offline", "--force", "--port", "4321");
    place_remove(&place);
}

/* -- platforms --------------------------------------------------------------------------------- */
CASE(several_platforms_are_connected_at_once)
{
    struct place place;
    char root[64], token[256];
    struct telegram telegram = {.fake = fake_telegram_start(0)};
    telegram.port = fake_telegram_port(telegram.fake);
    snprintf(root, sizeof root, "http://127.0.0.1:%d", telegram.port);
    place_create(&place);
    snprintf(token, sizeof token, "%s/token", place.parent.path);
    folder_write(&place.parent, "token", "7001234567:AAE-the_token_of_another_bot_00002\n");
    EXPECT(1, "nothing was written", MODEL(&place), "--telegram-token-file", token,
           "--telegram-api-root", root);
    CHECK(access(place.path, F_OK) != 0);
    folder_write(&place.parent, "token", FAKE_TELEGRAM_TOKEN "\n");
    EXPECT(0, "knows the bot as @" FAKE_TELEGRAM_BOT_NAME, MODEL(&place), "--key-file",
           place.key_file, "--telegram-token-file", token, "--telegram-api-root", root, "--adapter",
           "qq", "--owner", "telegram:1001", "--rules", "read-only");
    expect_in(&place, "ship.json", "\"telegram\": { \"enabled\": true");
    expect_in(&place, "ship.json", "\"qq\": { \"enabled\": true");
    expect_in(&place, "ship.json", "\"feishu\": { \"enabled\": false");
    expect_in(&place, "ship.json", "\"owner\": [\"telegram:1001\"]");
    expect_in(&place, "ship.json", "\"git log\"");
    expect_in(&place, ".env", "TELEGRAM_BOT_TOKEN=" FAKE_TELEGRAM_TOKEN "\n");
    place_remove(&place);
    fake_telegram_stop(telegram.fake);
}

/* -- what comes then --------------------------------------------------------------------------- */
CASE(it_ends_in_a_service_that_answers)
{
    struct place place;
    struct folder made;
    place_create(&place);
    char number[16]; /* other tests make projects at the same time */
    snprintf(number, sizeof number, "%d", process_free_port());
    char *argv[] = {binary,
                    (char *)"init",
                    place.path,
                    (char *)"--yes",
                    (char *)"--provider",
                    (char *)"custom",
                    (char *)"--model",
                    (char *)"fake-model",
                    (char *)"--base-url",
                    place.url,
                    (char *)"--key-file",
                    place.key_file,
                    (char *)"--start",
                    (char *)"--port",
                    number,
                    NULL};
    char log[300];
    snprintf(log, sizeof log, "%s/log", place.parent.path);
    pid_t pid = fork();
    if (pid == 0) {
        if (freopen(log, "w", stdout) == NULL || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
            _exit(2);
        execv(binary, argv);
        _exit(2);
    }
    snprintf(made.path, sizeof made.path, "%.120s", place.path);
    int port = 0;
    for (long long until = process_now_ms() + TALK_MS; port == 0; process_pause_ms(10)) {
        CHECK(process_now_ms() < until);
        char *text = folder_read(&made, ".ship/service.json");
        const char *at = text == NULL ? NULL : strstr(text, "\"port\":");
        port = at == NULL ? 0 : (int)strtol(at + 7, NULL, 10);
        free(text);
    }
    CHECK(port == port_of(&place.parent, "bot/ship.json"));
    http_use_token_of(port, made.path);
    talk_expect(port, "me", "Is anybody there?", "anybody there?");
    int status;
    CHECK(kill(pid, SIGTERM) == 0 && waitpid(pid, &status, 0) == pid && status == 0);
    char *said = folder_read(&place.parent, "log");
    const char *warned = strstr(said, "[WARN   ] ");
    if (geteuid() == 0) { /* which is the one warning */
        CHECK(warned != NULL && strncmp(warned + 10, "the service runs as root", 24) == 0);
        warned = strstr(warned + 10, "WARN");
    }
    if (warned != NULL || strstr(said, "shipmyagent: ") != NULL)
        fprintf(stderr, "%s\n", said);
    CHECK(warned == NULL && strstr(said, "shipmyagent: ") == NULL);
    free(said);
    place_remove(&place);
}

/* Two lines of a shell script: a project, and its first answer. */
CASE(it_ends_in_a_chat_with_what_comes_in)
{
    struct place place;
    place_create(&place);
    expect(0, "Is anybody home?", "Is anybody home?\n",
           (const char *const[]){MODEL(&place), "--key-file", place.key_file, "--chat", NULL});
    place_remove(&place);
}

CASE(a_unit_of_systemd_is_made_and_started)
{
    struct place place;
    char path[4096], *before = getenv("PATH"), *kept = strdup(before), name[300];
    place_create(&place);
    setenv("PATH", "/nonexistent", 1);
    EXPECT(1, "--service is not possible here", MODEL(&place), "--key-file", place.key_file,
           "--service");
    CHECK(is_nothing_there(&place));
    /* A systemctl that notes what it is asked. */
    folder_write(&place.parent, "systemctl", "#!/bin/sh\necho \"$0\" \"$@\" >>\"${0%/*}/asked\"\n");
    folder_write(&place.parent, "loginctl", "#!/bin/sh\necho \"$0\" \"$@\" >>\"${0%/*}/asked\"\n");
    snprintf(name, sizeof name, "%s/systemctl", place.parent.path);
    CHECK(chmod(name, 0755) == 0);
    snprintf(name, sizeof name, "%s/loginctl", place.parent.path);
    CHECK(chmod(name, 0755) == 0);
    snprintf(path, sizeof path, "%s:%s", place.parent.path, kept);
    setenv("PATH", path, 1);
    snprintf(name, sizeof name, "%s/config", place.parent.path);
    setenv("XDG_CONFIG_HOME", name, 1);
    EXPECT(0, "It runs as shipmyagent@tmp-", MODEL(&place), "--key-file", place.key_file,
           "--service");
    char *asked = folder_read(&place.parent, "asked");
    const char *scope = geteuid() == 0 ? "--system" : "--user";
    snprintf(name, sizeof name, "systemctl %s enable --now shipmyagent@tmp-sma\\x2dscenario",
             scope);
    if (strstr(asked, name) == NULL)
        fprintf(stderr, "%s\n", asked);
    CHECK(strstr(asked, name) != NULL);
    free(asked);
    char *unit = folder_read(&place.parent, "config/systemd/user/shipmyagent@.service");
    CHECK((unit != NULL) == (geteuid() != 0));
    CHECK(unit == NULL || strstr(unit, "start --sandbox require %f\n") != NULL);
    free(unit);
    setenv("PATH", kept, 1);
    free(kept);
    place_remove(&place);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    unsetenv("LLM_API_KEY");
    unsetenv("API_KEY");
    unsetenv("TELEGRAM_BOT_TOKEN");
    check_run_cases(NULL);
    return 0;
}
