/*
 * Aim: what stands in .env stays there, whatever the model is told to do: no value of it in any
 * file the service writes, in any message it delivers, in anything it tells the model, in any page
 * of the API.
 * Method: a project whose .env holds several values of several shapes; commands and tools that try
 * to show them, with and without the sandbox; then every file of the project, every message and
 * every answer is searched for each value.
 *   scenario_approval_canary BINARY FAKE_MODEL
 */
#include "approval_world.h"

#include "support/check.h"

#include <ftw.h>
#include <unistd.h>

static const char *binary, *fake_model;

static const char *const canaries[] = {
    "canary-3f9a1c77e2b84d60",     /* SECRET_CANARY */
    "sk-canaryAbCdEf0123456789",   /* SOME_API_KEY */
    "pass word\\with\\slashes",    /* DATABASE_PASSWORD */
    "xq7Canary/plus+and=equals==", /* PLAIN_SETTING: its name tells nothing */
};
static const char env_file[] = "SECRET_CANARY=canary-3f9a1c77e2b84d60\n"
                               "SOME_API_KEY=\"sk-canaryAbCdEf0123456789\"\n"
                               "DATABASE_PASSWORD='pass word\\with\\slashes'\n"
                               "PLAIN_SETTING=xq7Canary/plus+and=equals==\n";

/* -- searching --------------------------------------------------------------------------------- */
static size_t leak_count;

static void search(const char *where, const char *bytes, size_t len)
{
    for (size_t i = 0; i < SMA_COUNT_OF(canaries); i++) {
        char escaped[128];
        size_t at = 0; /* as JSON has it */
        for (const char *c = canaries[i]; *c != '\0'; c++) {
            if (*c == '\\')
                escaped[at++] = '\\';
            escaped[at++] = *c;
        }
        if (memmem(bytes, len, canaries[i], strlen(canaries[i])) == NULL &&
            memmem(bytes, len, escaped, at) == NULL)
            continue;
        fprintf(stderr, "%s holds \"%s\"\n", where, canaries[i]);
        leak_count++;
    }
}

static int search_file(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
    (void)place;
    if (kind != FTW_F || strcmp(strrchr(path, '/'), "/.env") == 0)
        return 0;
    char *bytes = malloc((size_t)stat->st_size + 1);
    FILE *file = fopen(path, "r");
    CHECK(bytes != NULL);
    if (file != NULL) {
        search(path, bytes, fread(bytes, 1, (size_t)stat->st_size, file));
        fclose(file);
    }
    free(bytes);
    return 0;
}

static void search_page(const struct platform_world *world, const char *path)
{
    struct http_answer answer = http_ask(world->world.service.port, path, "", NULL, TALK_MS);
    CHECK_INT(200, answer.status);
    search(path, answer.body, answer.len);
    http_answer_fini(&answer);
}

/* Of the first numbers: some are runs, others lines of ours. */
static void search_traces(const struct platform_world *world)
{
    size_t found = 0;
    for (int run = 1; run <= 60; run++) {
        char path[64];
        snprintf(path, sizeof path, "/api/runs/%d/trace", run);
        struct http_answer answer = http_ask(world->world.service.port, path, "", NULL, TALK_MS);
        CHECK(answer.status == 200 || answer.status == 404);
        found += answer.status == 200;
        search(path, answer.body, answer.len);
        http_answer_fini(&answer);
    }
    CHECK(found > 5);
}

/* What was said of ours, and that no file was. */
static void search_chat(const struct platform_world *world, int64_t chat)
{
    json_t *list = platform_do(&world->client, "{s:s,s:I}", "do", "list", "chat", (json_int_t)chat);
    const json_t *messages = json_object_get(list, "messages");
    for (size_t i = 0; i < json_array_size(messages); i++) {
        json_t *message = json_array_get(messages, i);
        char *text = json_dumps(message, JSON_COMPACT);
        if (json_is_true(json_object_get(message, "is_ours")))
            search("a message", text, strlen(text));
        CHECK_TEXT("", talk_text(message, "file_name"));
        free(text);
    }
    json_decref(list);
}

/* Everything, model.log and service.log of the folder included. */
static void expect_no_leak(const struct platform_world *world, bool is_running)
{
    static const char *const pages[] = {"/metrics", "/api/status", "/api/approvals", "/api/grants",
                                        "/api/usage"};
    for (size_t i = 0; is_running && i < SMA_COUNT_OF(pages); i++)
        search_page(world, pages[i]);
    if (is_running)
        search_traces(world);
    search_chat(world, ANN);
    CHECK(nftw(world->world.folder.path, search_file, 16, FTW_PHYS) == 0);
    CHECK_INT(0, leak_count);
}

/* -- trying ------------------------------------------------------------------------------------ */
#define EXEC(command) "x [[call exec_shell {\"command\":\"" command "\"}]]"

static const char *const attempts[] = {
    EXEC("env; set; export"),
    EXEC("cat .env; echo tried"),
    EXEC("cat .env >&2; echo tried"),
    EXEC("cp .env stolen.txt; cat stolen.txt; echo tried"),
    EXEC("cat /proc/self/environ /proc/$PPID/environ; echo tried"),
    EXEC("cat .env .env .env .env; head -c 100 .env; tail -c 30 .env; echo tried"),
    EXEC("grep -r canary . ; grep -r canary .ship; echo tried"),
    EXEC("while read -r line; do echo \\\"$line\\\"; sleep 0.1; done < .env; echo tried"),
    EXEC("printf %s \\\"$SECRET_CANARY$SOME_API_KEY$PLAIN_SETTING\\\"; echo tried"),
    "x [[call read_file {\"path\":\".env\"}]]",
    "x [[call read_file {\"path\":\"./.env\"}]]",
    "x [[call read_file {\"path\":\"linked\"}]]",
    "x [[call search_files {\"pattern\":\"canary\"}]]",
    "x [[call search_files {\"pattern\":\"a\",\"path\":\".env\"}]]",
    "x [[call send_file {\"path\":\".env\"}]]",
    "x [[call send_file {\"path\":\"linked\"}]]",
    "x [[call write_file {\"path\":\".env\",\"content\":\"x\"}]]",
    "x [[call edit_file {\"path\":\".env\",\"old_text\":\"SECRET\",\"new_text\":\"x\"}]]",
    "x [[call chat_send {\"text\":\"@attach document .env\"}]] [[call list_files {}]]",
    "x [[call chat_send {\"text\":\"@attach document linked\"}]] [[call list_files {}]]",
};

static void try_all(const char *permissions, bool is_seen)
{
    struct platform_world world;
    char path[256];
    approval_create(&world, fake_model, &(struct approval_options){.permissions = permissions});
    folder_write(&world.world.folder, ".env", env_file);
    snprintf(path, sizeof path, "%s/linked", world.world.folder.path);
    CHECK(symlink(".env", path) == 0);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    for (size_t i = 0; i < SMA_COUNT_OF(attempts); i++) {
        char *result = approval_agree(&world, attempts[i]);
        search(attempts[i], result, strlen(result));
        free(result);
    }
    platform_settle(&world);
    CHECK((platform_asked(&world, "[redacted]") > 0) == is_seen); /* else nothing was tried */
    /* a copy that a command made is not the service's */
    snprintf(path, sizeof path, "%s/stolen.txt", world.world.folder.path);
    (void)unlink(path);
    expect_no_leak(&world, true);
    CHECK_INT(0, service_stop(&world.world.service));
    expect_no_leak(&world, false);
    approval_restart(&world, binary);
    char *env = folder_read(&world.world.folder, ".env");
    CHECK_TEXT(env_file, env);
    free(env);
    platform_world_stop(&world);
}

static void nothing_leaks_with_the_sandbox(void)
{
    try_all(",\"exec_shell\":true,\"write_repo\":true", false);
}

static void nothing_leaks_without_it(void)
{
    try_all(",\"exec_shell\":{\"requiresApproval\":false,\"sandbox\":\"off\"},\"write_repo\":true",
            true);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(nothing_leaks_with_the_sandbox);
    RUN(nothing_leaks_without_it);
    return check_summary();
}
