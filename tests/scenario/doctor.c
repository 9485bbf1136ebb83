/*
 * Aim: `doctor` says that all is well when it is, names each fault that is made on purpose with its
 * remedy, shows no secret, hangs on nothing and changes nothing, here and at the other side.
 * Method: the real binary; a model and a Bot API server of the test's own that keep every request,
 *   and the simulated Telegram. doctor BINARY
 */
#include "platform/ws_server.h"
#include "process.h"
#include "support/check.h"
#include "support/clock.h"
#include "telegram/fake_telegram.h"
#include "unit/model/raw_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define KEY "sk-secret-of-the-house-0001"
#define TOKEN FAKE_TELEGRAM_TOKEN
#define RUN_MS 60000

static char *binary;

/* What the server of the test does wrong; its threads read it. */
struct server_mood
{
    _Atomic int model_status; /* 0: it answers */
    const char *_Atomic model_body;
    _Atomic bool is_silent, is_hooked, is_private;
    _Atomic int64_t clock_ahead_s;
};
struct world
{
    struct folder folder;
    struct raw_server *server;
    struct server_mood mood;
    char model_url[96], proxy[96]; /* of llm */
    int port, telegram_port;       /* start.port; 0: the test's own server */
    bool has_no_owner;
    char *output;
    int status;
};

/* -- the other side ---------------------------------------------------------------------------- */
static void put_answer(struct world *world, char *response, size_t size, int status,
                       const char *body)
{
    char date[64];
    time_t now = clock_wall_s() + world->mood.clock_ahead_s;
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
    snprintf(response, size,
             "HTTP/1.1 %d X\r\nDate: %s\r\nContent-Type: application/json\r\nContent-Length: "
             "%zu\r\n\r\n%s",
             status, date, strlen(body), body);
}

static void answer_telegram(struct world *world, const char *request, char *response, size_t size)
{
    char body[512];
    if (strstr(request, "/getMe ") != NULL)
        snprintf(body, sizeof body,
                 "{\"ok\":true,\"result\":{\"id\":7001234567,\"is_bot\":true,\"first_name\":\"H\","
                 "\"username\":\"helper_bot\",\"can_join_groups\":true,"
                 "\"can_read_all_group_messages\":%s}}",
                 world->mood.is_private ? "false" : "true");
    else
        snprintf(body, sizeof body, "{\"ok\":true,\"result\":{\"url\":\"%s\"}}",
                 world->mood.is_hooked ? "https://other.example/hook" : "");
    put_answer(world, response, size, 200, body);
}

static void answer(void *user, size_t number, const char *request, char *response, size_t size)
{
    struct world *world = user;
    (void)number;
    response[0] = '\0';
    if (world->mood.is_silent)
        return;
    if (strstr(request, "/bot" TOKEN "/") != NULL)
        answer_telegram(world, request, response, size);
    else if (strncmp(request, "GET /v1/models ", 15) == 0)
        put_answer(world, response, size, 200, "{\"data\":[{\"id\":\"house-model-2\"}]}");
    else if (world->mood.model_status != 0)
        put_answer(world, response, size, world->mood.model_status, world->mood.model_body);
    else
        put_answer(world, response, size, 200,
                   "{\"id\":\"x\",\"object\":\"chat.completion\",\"model\":\"m\",\"choices\":[{"
                   "\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"ok\"},"
                   "\"finish_reason\":\"stop\"}]}");
}

/* -- one project ------------------------------------------------------------------------------- */
static void write_project(struct world *world)
{
    char json[4096], mode[PATH_MAX];
    int telegram_port =
        world->telegram_port != 0 ? world->telegram_port : raw_server_port(world->server);
    snprintf(json, sizeof json,
             "{\"name\":\"doctor\",\"start\":{\"port\":%d},\"llm\":{\"provider\":\"custom\","
             "\"model\":\"house-model\",\"baseUrl\":\"%s\",\"apiKey\":\"${LLM_API_KEY}\","
             "\"stream\":false%s},\"adapters\":{\"telegram\":{\"enabled\":true,\"botToken\":"
             "\"${TELEGRAM_BOT_TOKEN}\",\"apiRoot\":\"http://127.0.0.1:%d\"}}%s}",
             world->port, world->model_url, world->proxy, telegram_port,
             world->has_no_owner ? ""
                                 : ",\"permissions\":{\"roles\":{\"owner\":[\"telegram:1001\"]}}");
    folder_write(&world->folder, "ship.json", json);
    folder_write(&world->folder, ".env", "LLM_API_KEY=" KEY "\nTELEGRAM_BOT_TOKEN=" TOKEN "\n");
    snprintf(mode, sizeof mode, "%s/.env", world->folder.path);
    CHECK_INT(0, chmod(mode, 0600));
}

static void open_world(struct world *world)
{
    *world = (struct world){.status = -1};
    world->server = raw_server_create(answer, world);
    folder_create(&world->folder, "{}");
    snprintf(world->model_url, sizeof world->model_url, "http://127.0.0.1:%d/v1",
             raw_server_port(world->server));
    write_project(world);
}

static void close_world(struct world *world)
{
    free(world->output);
    raw_server_destroy(world->server);
    folder_remove(&world->folder);
}

/* Every name, mode, size, time and byte. */
static char *state_of(const struct folder *folder)
{
    char script[512];
    char *output = NULL;
    snprintf(script, sizeof script,
             "cd '%s' && find . -printf '%%P %%m %%s %%T@ %%C@\\n' | sort && find . -type f -exec "
             "md5sum {} + | sort",
             folder->path);
    const char *const words[] = {"/bin/sh", "-c", script, NULL};
    CHECK_INT(0, run_to_end((char *const *)(uintptr_t)words, "", &output, RUN_MS));
    return output;
}

static void run(struct world *world, const char *option)
{
    const char *const words[] = {binary, "doctor", world->folder.path, option, NULL};
    char *before = state_of(&world->folder);
    free(world->output);
    world->status = run_to_end((char *const *)(uintptr_t)words, "", &world->output, RUN_MS);
    char *after = state_of(&world->folder);
    CHECK_TEXT(before, after);
    free(before);
    free(after);
    CHECK(strstr(world->output, KEY) == NULL);
    CHECK(strstr(world->output, TOKEN) == NULL);
}

/* The line of this name is of this state, and what it says and what to do has these words. */
static void expect(struct world *world, const char *state, const char *name, const char *seen,
                   const char *remedy)
{
    char start[96];
    snprintf(start, sizeof start, "%-8s%s  ", state, name);
    const char *at = world->output;
    size_t len = strlen(start) - 1;
    while (at != NULL && (strncmp(at, start, len - 1) != 0 || at[len - 1] != ' ')) {
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    const char *end = at == NULL ? NULL : strchr(at, '\n');
    const char *said = at == NULL ? NULL : strstr(at, seen);
    const char *next = end == NULL ? NULL : strchr(end + 1, '\n');
    const char *cure = end == NULL ? NULL : strstr(end, remedy);
    bool is_there = said != NULL && said < end;
    bool has_cure = remedy[0] == '\0' || (cure != NULL && next != NULL && cure < next &&
                                          strncmp(end + 1, "          -> ", 13) == 0);
    if (is_there && has_cure)
        return;
    fprintf(stderr, "no line \"%s ... %s\" with the remedy \"%s\" in:\n%s", start, seen, remedy,
            world->output);
    exit(1);
}

/* Where the machine has no sandbox, that line alone is an error. */
static bool has_sandbox(void)
{
    char *output = NULL;
    const char *const words[] = {"/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/", "/",
                                 "--proc",         "/proc",         "true",      NULL};
    bool has_one = run_to_end((char *const *)(uintptr_t)words, "", &output, RUN_MS) == 0;
    free(output);
    if (!has_one)
        fputs("left out: no sandbox on this machine\n", stderr);
    return has_one;
}

static void expect_all_well(struct world *world)
{
    static bool is_asked, has_one;
    has_one = is_asked ? has_one : has_sandbox();
    is_asked = true;
    bool is_root = geteuid() == 0; /* which is one warning of its own */
    int wanted = !has_one ? 1 : is_root ? 2 : 0;
    if (world->status != wanted)
        fputs(world->output, stderr);
    CHECK_INT(wanted, world->status);
    CHECK(strstr(world->output, has_one && !is_root ? "All is well."
                                : is_root           ? " 1 warning."
                                                    : "1 error, 0 warnings.") != NULL);
    if (is_root)
        expect(world, "warning", "user", "runs as root", "User= of the unit");
}

/* -- all is well ------------------------------------------------------------------------------- */
CASE(all_is_well_and_nothing_is_changed)
{
    struct world world;
    open_world(&world);
    run(&world, NULL);
    expect_all_well(&world);
    expect(&world, "ok", "configuration", "no key is unknown", "");
    expect(&world, "ok", "service", "not running", "");
    expect(&world, "ok", "files", "for you alone", "");
    expect(&world, "ok", "owner", "somebody is", "");
    expect(&world, "ok", "helper programs", "fetch-page and shrink-picture are there", "");
    CHECK(strstr(world.output, "skills ") == NULL); /* there are none */
    expect(&world, "ok", "model custom/house-model", "answers, after", "");
    expect(&world, "ok", "telegram token", "@helper_bot", "");
    expect(&world, "ok", "telegram privacy", "off", "");
    expect(&world, "ok", "telegram events", "no webhook", "");
    expect(&world, "ok", "clock", "agrees", "");
    CHECK(strchr(world.output, '\x1b') == NULL); /* no colour but on a terminal */
    /* The model twice, the bot twice, and where a server nearby may tell its window. */
    static const char *const asked[] = {
        "/getMe ",         "/getWebhookInfo ", "POST /v1/chat/completions ",
        "GET /v1/models ", "GET /api/ps ",     "GET /props ",
        "POST /api/show "};
    CHECK_INT(8, raw_server_count(world.server));
    for (size_t i = 0; i < 8; i++) {
        bool is_known = false;
        for (size_t k = 0; k < SMA_COUNT_OF(asked); k++)
            is_known |= strstr(raw_server_request(world.server, i), asked[k]) != NULL;
        CHECK(is_known);
    }
    run(&world, "--offline");
    expect_all_well(&world);
    CHECK_INT(8, raw_server_count(world.server));
    run(&world, "--json");
    CHECK(strncmp(world.output, "{\"version\":", 11) == 0);
    CHECK(strstr(world.output, geteuid() == 0
                                   ? "\"warnings\":1,\"lines\":[{\"state\":\"ok\""
                                   : "\"warnings\":0,\"lines\":[{\"state\":\"ok\"") != NULL);
    close_world(&world);
}

/* The program alone, without what is installed beside it. */
CASE(helper_programs_that_are_missing_are_told)
{
    struct world world;
    char path[PATH_MAX], *output = NULL, *full = binary;
    open_world(&world);
    snprintf(path, sizeof path, "%s.alone", world.folder.path);
    const char *const words[] = {"/bin/cp", binary, path, NULL};
    CHECK_INT(0, run_to_end((char *const *)(uintptr_t)words, "", &output, RUN_MS));
    free(output);
    binary = path;
    run(&world, "--offline");
    binary = full;
    CHECK_INT(0, unlink(path));
    CHECK(world.status != 0);
    expect(&world, "warning", "helper programs", "fetch-page is not installed", "scripts/install");
    CHECK(strstr(world.output, "shrink-picture is not installed") != NULL);
    close_world(&world);
}

CASE(skills_that_are_held_back_or_broken_are_told)
{
    struct world world;
    char line[512];
    open_world(&world);
    snprintf(
        line, sizeof line,
        "cd '%s' && mkdir -p .claude/skills/good .claude/skills/later .ship && chmod 700 .ship "
        "&& printf -- '---\\nname: good\\ndescription: d\\n---\\nx\\n' | tee "
        ".claude/skills/good/SKILL.md > .claude/skills/later/SKILL.md",
        world.folder.path);
    const char *const words[] = {"/bin/sh", "-c", line, NULL};
    char *output = NULL;
    CHECK_INT(0, run_to_end((char *const *)(uintptr_t)words, "", &output, RUN_MS));
    free(output);
    run(&world, "--offline");
    expect_all_well(&world);
    expect(&world, "ok", "skills", "2, all of them to be accepted by the first start", "");
    folder_write(&world.folder, ".ship/skills.json", "{\"version\":1,\"accepted\":{}}");
    run(&world, "--offline");
    CHECK(world.status != 0);
    expect(&world, "warning", "skills", "2 held back from the agent", "skills accept");
    CHECK(strstr(world.output, "good, later") != NULL);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/.claude/skills/later/out", world.folder.path);
    CHECK_INT(0, symlink("/etc", path));
    run(&world, "--offline");
    CHECK(strstr(world.output, ".claude/skills/later: out is a link that leads out") != NULL);
    close_world(&world);
}

/* -- models ------------------------------------------------------------------------------------ */
CASE(what_is_wrong_with_the_model_is_told)
{
    struct world world;
    open_world(&world);
    world.mood.model_status = 401;
    world.mood.model_body = "{\"error\":{\"message\":\"Incorrect API key provided: " KEY "\"}}";
    run(&world, NULL);
    CHECK_INT(1, world.status);
    expect(&world, "error", "model custom/house-model", "HTTP 401", "${LLM_API_KEY}");
    world.mood.model_status = 404;
    world.mood.model_body =
        "{\"error\":{\"message\":\"The model `house-model` does not exist\",\"code\":"
        "\"model_not_found\"}}";
    run(&world, NULL);
    expect(&world, "error", "model custom/house-model", "does not have the model house-model",
           "house-model-2");
    world.mood.model_status = 429;
    world.mood.model_body =
        "{\"error\":{\"message\":\"You exceeded your current quota, please check your plan and "
        "billing details.\",\"type\":\"insufficient_quota\",\"code\":\"insufficient_quota\"}}";
    run(&world, NULL);
    expect(&world, "error", "model custom/house-model", "exceeded your current quota", "top it up");
    close_world(&world);
}

/* -- platforms --------------------------------------------------------------------------------- */
CASE(what_is_wrong_with_the_bot_is_told)
{
    struct world world;
    open_world(&world);
    struct telegram telegram = {.fake = fake_telegram_start(0)};
    world.telegram_port = fake_telegram_port(telegram.fake);
    write_project(&world);
    folder_write(&world.folder, ".env",
                 "LLM_API_KEY=" KEY
                 "\nTELEGRAM_BOT_TOKEN=7001234567:AAE-another_token_00000000000000000\n");
    run(&world, NULL);
    expect(&world, "error", "telegram token", "HTTP 401", "@BotFather");
    fake_telegram_stop(telegram.fake);
    world.telegram_port = 0;
    world.mood.is_private = world.mood.is_hooked = true;
    write_project(&world);
    run(&world, NULL);
    CHECK_INT(2, world.status); /* warnings alone */
    expect(&world, "warning", "telegram privacy", "privacy mode is on", "/setprivacy");
    expect(&world, "warning", "telegram events", "a webhook is set (to other.example)",
           "@BotFather");
    close_world(&world);
}

CASE(each_bot_of_a_platform_is_asked)
{
    struct world world;
    char json[1024];
    open_world(&world);
    snprintf(json, sizeof json,
             "{\"start\":{\"port\":0},\"llm\":{\"provider\":\"offline\",\"model\":\"offline\"},"
             "\"adapters\":{\"telegram\":[{\"enabled\":true,\"botToken\":\"" TOKEN
             "\",\"apiRoot\":\"http://127.0.0.1:%d\"},{\"id\":\"two\",\"enabled\":true,"
             "\"botToken\":\"${NO_SUCH_TOKEN}\"}]}}",
             raw_server_port(world.server));
    folder_write(&world.folder, "ship.json", json);
    run(&world, NULL);
    CHECK_INT(1, world.status);
    expect(&world, "ok", "telegram token", "@helper_bot", "");
    expect(&world, "error", "telegram@two", "it has no credentials", ".env");
    expect(&world, "warning", "secrets", "in plain text", "${NAME}");
    expect(&world, "warning", "configuration", "NO_SUCH_TOKEN", "");
    close_world(&world);
}

/* -- the way there ----------------------------------------------------------------------------- */
CASE(a_wrong_clock_is_told)
{
    struct world world;
    open_world(&world);
    world.mood.clock_ahead_s = 7200;
    run(&world, NULL);
    CHECK_INT(1, world.status);
    expect(&world, "error", "clock", "s behind the servers'", "timedatectl");
    world.mood.clock_ahead_s = -90;
    run(&world, NULL);
    CHECK_INT(2, world.status);
    expect(&world, "warning", "clock", "ahead of the servers'", "timedatectl");
    close_world(&world);
}

CASE(what_is_wrong_on_the_way_is_told)
{
    struct world world;
    struct ws_server *server =
        ws_server_start(&(struct ws_server_options){.tls = WS_SERVER_TLS_SELF_SIGNED});
    open_world(&world);
    snprintf(world.model_url, sizeof world.model_url, "http://no-such-host.invalid/v1");
    write_project(&world);
    run(&world, NULL);
    expect(&world, "error", "model custom/house-model", "(DNS)", "resolv.conf");
    CHECK(strstr(world.output, "_proxy is set") == NULL);
    CHECK_INT(0, setenv("https_proxy", "http://proxy.example:3128", 1));
    run(&world, NULL);
    expect(&world, "warning", "proxy", "https_proxy is set", "\"proxy\": \"environment\"");
    CHECK_INT(0, unsetenv("https_proxy"));
    snprintf(world.proxy, sizeof world.proxy, ",\"proxy\":\"http://127.0.0.1:1\"");
    write_project(&world);
    run(&world, NULL);
    expect(&world, "error", "model custom/house-model", "the proxy does not let us through",
           "`proxy` in ship.json");
    world.proxy[0] = '\0';
    snprintf(world.model_url, sizeof world.model_url, "%s/v1", ws_server_http_url(server));
    write_project(&world);
    run(&world, NULL);
    expect(&world, "error", "model custom/house-model", "the certificate is not accepted (TLS)",
           "SSL_CERT_FILE");
    CHECK_INT(0, setenv("SSL_CERT_FILE", "/nowhere/ca.pem", 1));
    run(&world, NULL);
    expect(&world, "error", "certificates", "SSL_CERT_FILE names /nowhere/ca.pem", "unset it");
    CHECK_INT(0, unsetenv("SSL_CERT_FILE"));
    ws_server_stop(server);
    close_world(&world);
}

CASE(a_server_that_hangs_gives_a_line)
{
    struct world world;
    open_world(&world);
    world.mood.is_silent = true;
    long long begin_ms = process_now_ms();
    run(&world, NULL);
    CHECK(process_now_ms() - begin_ms < clock_bound_ms(30000)); /* both at once, 10 s */
    expect(&world, "warning", "model custom/house-model", "no answer in time", "try again");
    expect(&world, "error", "telegram token", "no answer in time", "proxy");
    close_world(&world);
}

/* -- the machine ------------------------------------------------------------------------------- */
static int listen_somewhere(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, 8) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

CASE(a_port_that_a_stranger_holds_is_told_with_its_name)
{
    struct world world;
    char holder[64];
    open_world(&world);
    int fd = listen_somewhere(&world.port);
    write_project(&world);
    run(&world, "--offline");
    CHECK_INT(1, world.status);
    snprintf(holder, sizeof holder, "(process %ld)", (long)getpid());
    expect(&world, "error", "port", "is taken by ", "start.port");
    expect(&world, "error", "port", holder, "start.port");
    close(fd);
    run(&world, "--offline");
    expect(&world, "ok", "port", "is free", "");
    close_world(&world);
}

CASE(open_files_and_a_missing_owner_are_told)
{
    struct world world;
    char path[PATH_MAX];
    open_world(&world);
    world.has_no_owner = true;
    write_project(&world);
    snprintf(path, sizeof path, "%s/.env", world.folder.path);
    CHECK_INT(0, chmod(path, 0644));
    static const char *const folders[] = {".ship", ".ship/tasks", ".ship/tasks/old"};
    for (size_t i = 0; i < SMA_COUNT_OF(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", world.folder.path, folders[i]);
        CHECK(mkdir(path, 0755) == 0 || errno == EEXIST);
    }
    run(&world, "--offline");
    CHECK_INT(2, world.status);
    expect(&world, "warning", "file modes", "mode 644", "chmod 600 ");
    expect(&world, "warning", "owner", "nobody is owner yet", "shipmyagent pair approve CODE");
    expect(&world, "ok", "telegram", "not tried", "");
    folder_write(&world.folder, ".env", "LLM_API_KEY=" KEY "\nTELEGRAM_BOT_TOKEN=\n");
    run(&world, "--offline");
    CHECK_INT(1, world.status);
    expect(&world, "error", "telegram", "it has no credentials", "TELEGRAM_BOT_TOKEN");
    expect(&world, "warning", "old files", ".ship/tasks", "take them out");
    close_world(&world);
}

static bool can_unshare(void)
{
    char *output = NULL;
    const char *const words[] = {"/usr/bin/unshare", "--mount", "--map-root-user", "true", NULL};
    bool can = run_to_end((char *const *)(uintptr_t)words, "", &output, RUN_MS) == 0;
    free(output);
    return can;
}

/* In a mount namespace of its own: what the machine lacks then, it has outside. */
static void run_without(struct world *world, const char *preparation)
{
    char script[1024];
    snprintf(script, sizeof script, "%s && exec '%s' doctor '%s' --offline", preparation, binary,
             world->folder.path);
    const char *const words[] = {
        "/usr/bin/unshare", "--mount", "--map-root-user", "sh", "-c", script, NULL};
    free(world->output);
    world->status = run_to_end((char *const *)(uintptr_t)words, "", &world->output, RUN_MS);
}

CASE(without_bubblewrap_the_package_is_named)
{
    struct world world;
    open_world(&world);
    if (can_unshare()) {
        run_without(&world, "mount --bind /dev/null /usr/bin/bwrap");
        CHECK_INT(1, world.status);
        expect(&world, "error", "sandbox", "bubblewrap is not installed", "apt install bubblewrap");
    } else {
        fputs("left out: no namespaces on this machine\n", stderr);
    }
    close_world(&world);
}

/* The file that systemd would read, in a mount namespace of its own. */
static void run_with_unit(struct world *world, const char *unit)
{
    char preparation[512];
    folder_write(&world->folder, "unit", unit);
    snprintf(preparation, sizeof preparation,
             "mount -t tmpfs none /etc/systemd && mkdir /etc/systemd/system && cp '%s/unit' "
             "/etc/systemd/system/shipmyagent@.service",
             world->folder.path);
    run_without(world, preparation);
}

CASE(a_unit_that_breaks_the_sandbox_is_told)
{
    struct world world;
    open_world(&world);
    if (can_unshare() && access("/etc/systemd", X_OK) == 0) {
        run_with_unit(&world, "[Service]\nExecStart=/usr/bin/shipmyagent start --sandbox require "
                              "%f\nRestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX\n");
        expect(&world, "warning", "systemd unit", "no AF_NETLINK", "daemon-reload");
        run_with_unit(&world, "[Service]\nExecStart=/usr/bin/shipmyagent start %f\n");
        expect(&world, "warning", "systemd unit", "without a sandbox, too", "daemon-reload");
        run_with_unit(&world, "[Service]\nExecStart=/usr/bin/shipmyagent start --sandbox require "
                              "%f\nRestrictAddressFamilies=AF_INET AF_UNIX AF_NETLINK\n");
        expect(&world, "ok", "systemd unit", "lets the sandbox work", "");
    } else {
        fputs("left out: no namespaces, or no systemd on this machine\n", stderr);
    }
    close_world(&world);
}

CASE(a_full_disk_is_told)
{
    struct world world;
    char preparation[512];
    open_world(&world);
    snprintf(preparation, sizeof preparation,
             "cp -a '%s' /tmp/sma-doctor-copy-$$ && mount -t tmpfs -o size=4m none '%s' && cp -a "
             "/tmp/sma-doctor-copy-$$/. '%s' && rm -r /tmp/sma-doctor-copy-$$",
             world.folder.path, world.folder.path, world.folder.path);
    if (can_unshare()) {
        run_without(&world, preparation);
        CHECK_INT(1, world.status);
        expect(&world, "error", "disk", "no message is accepted", "make room");
    } else {
        fputs("left out: no namespaces on this machine\n", stderr);
    }
    close_world(&world);
}

/* -- no project -------------------------------------------------------------------------------- */
CASE(what_is_no_project_is_told)
{
    struct world world;
    open_world(&world);
    folder_write(&world.folder, "ship.json", "{\"name\": \"x\",}");
    run(&world, NULL);
    CHECK_INT(1, world.status);
    expect(&world, "error", "configuration", "ship.json", "config-keys");
    expect(&world, "ok", "disk", "MB are free", "");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/Agent.md", world.folder.path);
    CHECK_INT(0, unlink(path));
    write_project(&world);
    run(&world, NULL);
    CHECK_INT(1, world.status);
    expect(&world, "error", "configuration", "no Agent.md here", "shipmyagent init");
    const char *const words[] = {binary, "doctor", "/nowhere", NULL};
    free(world.output);
    CHECK_INT(1, run_to_end((char *const *)(uintptr_t)words, "", &world.output, RUN_MS));
    expect(&world, "error", "configuration", "/nowhere", "shipmyagent init");
    CHECK_INT(0, raw_server_count(world.server));
    close_world(&world);
}

/* What the start would refuse is no "ok" here. */
CASE(a_rule_that_cannot_be_read_is_told)
{
    struct world world;
    open_world(&world);
    folder_write(&world.folder, "ship.json",
                 "{\"name\":\"x\",\"llm\":{\"provider\":\"offline\"},\"permissions\":"
                 "{\"exec_shell\":{\"deny\":[\"rm -rf (\"]}}}");
    run(&world, "--offline");
    CHECK_INT(1, world.status);
    expect(&world, "error", "configuration", "is not the beginning of one command", "permissions");
    close_world(&world);
}

/* -- a service that runs, and one that cannot ------------------------------------------------- */
CASE(a_running_service_is_asked_and_goes_on)
{
    struct world world;
    struct service service;
    open_world(&world);
    struct telegram telegram = {.fake = fake_telegram_start(0)};
    telegram_tell(&telegram, "{s:s,s:b}", "do", "privacy", "on", 0);
    world.telegram_port = fake_telegram_port(telegram.fake);
    write_project(&world);
    service_start(&service, binary, &world.folder);
    const char *const words[] = {binary, "doctor", world.folder.path, NULL};
    world.status = run_to_end((char *const *)(uintptr_t)words, "", &world.output, RUN_MS);
    expect(&world, "ok", "service", "nothing is wrong", "");
    expect(&world, "ok", "port", "the service of this project listens at", "");
    CHECK(strstr(world.output, "the running service says: o") != NULL);
    expect_all_well(&world);
    CHECK_INT(0, service_stop(&service));
    run(&world, NULL); /* as it was left: state.db is read and nothing is made beside it */
    expect_all_well(&world);
    fake_telegram_stop(telegram.fake);
    close_world(&world);
}

CASE(a_service_that_hangs_or_was_killed_is_told)
{
    struct world world;
    struct service service;
    open_world(&world);
    struct telegram telegram = {.fake = fake_telegram_start(0)};
    world.telegram_port = fake_telegram_port(telegram.fake);
    write_project(&world);
    service_start(&service, binary, &world.folder);
    CHECK_INT(0, kill(service.pid, SIGSTOP));
    long long begin_ms = process_now_ms();
    run(&world, "--offline"); /* nothing of the folder changes while it stands still */
    CHECK(process_now_ms() - begin_ms < clock_bound_ms(25000));
    CHECK_INT(1, world.status);
    expect(&world, "error", "service", "does not tell its status", "a restart costs no message");
    service_kill(&service);
    run(&world, "--offline");
    expect(&world, "ok", "service", "not running", "");
    fake_telegram_stop(telegram.fake);
    close_world(&world);
}

/* Told by the service while it runs, read from state.db when it does not. */
CASE(an_owner_who_was_paired_is_known)
{
    struct world world;
    struct service service;
    open_world(&world);
    struct telegram telegram = {.fake = fake_telegram_start(0)};
    telegram_tell(&telegram, "{s:s,s:b}", "do", "privacy", "on", 0);
    world.telegram_port = fake_telegram_port(telegram.fake);
    world.has_no_owner = true;
    write_project(&world);
    const char *const pair[] = {binary,   "pair",  "approve", "telegram:1001", world.folder.path,
                                "--role", "owner", NULL};
    const char *const words[] = {binary, "doctor", world.folder.path, "--offline", NULL};
    service_start(&service, binary, &world.folder);
    world.status = run_to_end((char *const *)(uintptr_t)words, "", &world.output, RUN_MS);
    expect(&world, "warning", "owner", "nobody is owner yet", "pair approve");
    free(world.output);
    CHECK_INT(0, run_to_end((char *const *)(uintptr_t)pair, "", &world.output, RUN_MS));
    free(world.output);
    (void)run_to_end((char *const *)(uintptr_t)words, "", &world.output, RUN_MS);
    expect(&world, "ok", "owner", "somebody is", "");
    CHECK_INT(0, service_stop(&service));
    run(&world, "--offline");
    expect(&world, "ok", "owner", "somebody is", "");
    fake_telegram_stop(telegram.fake);
    close_world(&world);
}

/* A slip in a rule forbids nothing; one for a program that is not installed is as it is meant. */
CASE(programs_that_are_not_there_are_told)
{
    struct world world;
    char folder[PATH_MAX];
    open_world(&world);
    write_project(&world);
    folder_write(&world.folder, "ship.json",
                 "{\"name\":\"doctor\",\"llm\":{\"provider\":\"offline\",\"model\":\"offline\"},"
                 "\"start\":{\"port\":0},\"permissions\":{\"exec_shell\":{\"deny\":[\"rmm -r\","
                 "\"gti push\",\"zzqqxxvvww\",\"npx\",\"rm\"]}}}");
    snprintf(folder, sizeof folder, "%s/.ship", world.folder.path);
    (void)mkdir(folder, 0700);
    snprintf(folder, sizeof folder, "%s/.ship/mcp", world.folder.path);
    CHECK(mkdir(folder, 0700) == 0);
    folder_write(&world.folder, ".ship/mcp/mcp.json",
                 "{\"servers\":{\"wiki\":{\"type\":\"stdio\",\"command\":\"no-such-server-here\"},"
                 "\"shell\":{\"type\":\"stdio\",\"command\":\"sh\"}}}");
    run(&world, "--offline");
    expect(&world, "warning", "rules", "\"rmm -r\" names no program that is here; did you mean rm?",
           "permissions.exec_shell.deny");
    CHECK(strstr(world.output, "\"gti push\" names no program that is here; did you mean git?"));
    CHECK(strstr(world.output, "zzqqxxvvww") == NULL && strstr(world.output, "npx") == NULL);
    expect(&world, "error", "MCP",
           "wiki cannot be started: there is no program no-such-server-here", "mcp.json");
    CHECK(strstr(world.output, "shell cannot be started") == NULL);
    close_world(&world);
}

CASE(start_names_doctor_where_it_fails)
{
    struct world world;
    char holder[600], other[512];
    open_world(&world);
    int fd = listen_somewhere(&world.port);
    write_project(&world);
    const char *const words[] = {binary, "start", world.folder.path, NULL};
    /* We are the service of another project: it holds its lock open. */
    snprintf(other, sizeof other, "%s/.ship", world.folder.path);
    CHECK(mkdir(other, 0700) == 0);
    snprintf(other, sizeof other, "%s/.ship/lock", world.folder.path);
    int lock = open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(lock >= 0);
    snprintf(holder, sizeof holder, "(process %ld), which serves %s", (long)getpid(),
             world.folder.path);
    CHECK_INT(1, run_to_end((char *const *)(uintptr_t)words, "", &world.output, RUN_MS));
    CHECK(strstr(world.output, "is taken by another program") != NULL);
    CHECK(strstr(world.output, holder) != NULL);
    close(lock);
    CHECK(strstr(world.output, "`shipmyagent doctor ") != NULL);
    CHECK_INT(0, setenv("SSL_CERT_FILE", "/nowhere/ca.pem", 1));
    free(world.output);
    CHECK_INT(1, run_to_end((char *const *)(uintptr_t)words, "", &world.output, RUN_MS));
    CHECK(strstr(world.output, "SSL_CERT_FILE names /nowhere/ca.pem") != NULL);
    CHECK_INT(0, unsetenv("SSL_CERT_FILE"));
    close(fd);
    close_world(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    binary = argv[1];
    (void)signal(SIGPIPE, SIG_IGN);
    CHECK_INT(0, setenv("SSL_CERT_DIR", "/tmp", 1)); /* a machine without ca-certificates */
    CHECK_INT(0, unsetenv("LLM_API_KEY"));
    CHECK_INT(0, unsetenv("https_proxy"));
    CHECK_INT(0, unsetenv("HTTPS_PROXY"));
    CHECK_INT(0, unsetenv("all_proxy"));
    CHECK_INT(0, unsetenv("ALL_PROXY"));
    CHECK_INT(0, unsetenv("SSL_CERT_FILE"));
    CHECK_INT(0, unsetenv("TELEGRAM_BOT_TOKEN"));
    check_run_cases(NULL);
    return check_summary();
}
