/*
 * Aim: a second service of this user with the same bot is told whose the first is; another bot, the
 *      same one elsewhere, one that is switched off, and one whose service has ended are nobody's.
 * Method: two projects, locks taken as two services do; a runtime folder of the test's own.
 */
#include "cli/bot_lock.h"

#include "sma/param.h"
#include "support/check.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct sma_param rows[] = {
    {"botToken", SMA_PARAM_TEXT(NULL), .traits = SMA_PARAM_ACCOUNT, .env = "SMA_TEST_TOKEN"},
    {"apiBase", SMA_PARAM_URL("https://api.example")},
};
static const struct sma_params table = {"telegram", rows, SMA_COUNT_OF(rows), NULL};
static const struct sma_params *const platforms[] = {&table, NULL};

static char warned[8192];
static void collect(void *user, const char *line)
{
    (void)user;
    snprintf(warned, sizeof warned, "%s", line);
}

static void take(struct sma_bot_locks *locks, const char *project, const char *name,
                 const char *json, bool is_enabled)
{
    struct sma_config config = {.project_dir = project, .adapter_count = 1};
    config.adapters[0] =
        (struct sma_config_adapter){.name = name, .is_enabled = is_enabled, .json = json};
    warned[0] = '\0';
    sma_bot_locks_take(locks, &config, platforms, collect, NULL);
}

#define ONE "{\"botToken\":\"7:one\"}"

CASE(a_second_service_is_told_of_the_first)
{
    struct sma_bot_locks first = {.count = 0}, second = {.count = 0};
    take(&first, "/home/ann/first", "telegram", ONE, true);
    CHECK_TEXT("", warned);
    take(&second, "/home/ann/second", "telegram@support", ONE, true);
    CHECK(strstr(warned, "adapters.telegram@support") != NULL);
    CHECK(strstr(warned, "/home/ann/first (process ") != NULL);
    CHECK(strstr(warned, "7:one") == NULL);
    CHECK_INT(0, (long long)second.count);
    sma_bot_locks_release(&first);
    take(&second, "/home/ann/second", "telegram", ONE, true);
    CHECK_TEXT("", warned);
    sma_bot_locks_release(&second);
}

CASE(others_are_nobodys_business)
{
    static const struct
    {
        const char *name, *json;
        bool is_enabled;
    } others[] = {
        {"telegram", "{\"botToken\":\"7:two\"}", true},
        {"telegram", "{\"botToken\":\"7:one\",\"apiBase\":\"http://127.0.0.1:1\"}", true},
        {"telegram", ONE, false},
        {"telegram", "{}", true},
        {"http", ONE, true},
    };
    struct sma_bot_locks first = {.count = 0}, second = {.count = 0};
    take(&first, "/home/ann/first", "telegram", ONE, true);
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++) {
        take(&second, "/home/ann/second", others[i].name, others[i].json, others[i].is_enabled);
        CHECK_TEXT("", warned);
    }
    setenv("SMA_TEST_TOKEN", "7:one", 1);
    take(&second, "/home/ann/second", "telegram", "{}", true);
    CHECK(warned[0] != '\0'); /* from the variable */
    take(&second, "/home/ann/second", "telegram@support", "{}", true);
    CHECK_TEXT("", warned); /* which is the first bot's */
    unsetenv("SMA_TEST_TOKEN");
    sma_bot_locks_release(&first);
    sma_bot_locks_release(&second);
}

CASE(a_folder_that_others_may_write_to_is_not_used)
{
    char path[256];
    struct sma_bot_locks first = {.count = 0};
    snprintf(path, sizeof path, "%s/shipmyagent", getenv("XDG_RUNTIME_DIR"));
    CHECK(chmod(path, 0777) == 0);
    take(&first, "/home/ann/first", "telegram", ONE, true);
    CHECK_INT(0, (long long)first.count);
    CHECK(chmod(path, 0700) == 0);
}

int main(void)
{
    char dir[] = "/tmp/sma-bot-lock-XXXXXX";
    CHECK(mkdtemp(dir) != NULL);
    setenv("XDG_RUNTIME_DIR", dir, 1);
    check_run_cases(NULL);
    CHECK_INT(0, check_summary());
    char *const argv[] = {(char *)"/bin/rm", (char *)"-r", dir, NULL};
    execv("/bin/rm", argv);
    return 1;
}
