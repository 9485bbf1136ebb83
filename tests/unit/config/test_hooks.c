/*
 * Aim: what is wrong with a hook ends the start with one line that names key and remedy; what is
 *      right is read as it is written, with the defaults of the documents.
 */
#include "sma/config.h"
#include "sma/hooks.h"
#include "sma/limits.h"
#include "support/check.h"

#include <unistd.h>

#define KEY "0123456789abcdef"

static char dir[] = "/tmp/sma-hooks-XXXXXX", warnings[2048];

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void collect(void *user, const char *line)
{
    (void)user;
    size_t len = strlen(warnings);
    snprintf(warnings + len, sizeof warnings - len, "%s\n", line);
}

static enum sma_err read_project(const char *hooks, struct sma_config **ret_config,
                                 struct sma_error *error)
{
    static char text[65536];
    snprintf(text, sizeof text, "{\"llm\":{\"provider\":\"offline\"},\"hooks\":%s}", hooks);
    write_file("ship.json", text);
    warnings[0] = '\0';
    return sma_config_load(dir, NULL, collect, NULL, ret_config, error);
}

static struct sma_config *load(const char *hooks)
{
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    enum sma_err err = read_project(hooks, &config, &error);
    if (err != SMA_ERR_OK)
        fprintf(stderr, "%s\n", error.text);
    CHECK_OK(err);
    return config;
}

static void refuse(const char *hooks, const char *part)
{
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    CHECK(read_project(hooks, &config, &error) != SMA_ERR_OK);
    if (strstr(error.text, part) == NULL)
        fprintf(stderr, "%s\n", error.text);
    CHECK(strstr(error.text, part) != NULL);
}

ENDING(sma_config_destroy, struct sma_config)

CASE(a_hook_is_read_with_its_defaults)
{
    SMA_AUTO(sma_config_destroyp)
    struct sma_config *config =
        load("{\"crm\":{\"url\":\"https://crm.example/in?key=1\",\"secret\":\"" KEY "\"}}");
    CHECK_INT(1, (long long)config->hook_count);
    const struct sma_hook *hook = &config->hooks[0];
    CHECK_TEXT("crm", hook->name);
    CHECK_TEXT("https://crm.example/in?key=1", hook->url);
    CHECK_TEXT(KEY, hook->secret);
    CHECK_INT((1 << SMA_HOOK_END_COUNT) - 1, hook->ends);
    CHECK_INT(0, (long long)hook->chat_count);
    CHECK(hook->has_text);
    CHECK_TEXT("", warnings);
}

CASE(what_is_said_of_a_hook_counts)
{
    struct sma_config *config =
        load("{\"a\":{\"url\":\"http://10.0.0.7:5678/hook\",\"secret\":\"whsec_"
             "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\",\"ends\":[\"failed\",\"given_up\"],"
             "\"chats\":[\"telegram:group:*\",\"api\"],\"text\":false}}");
    const struct sma_hook *hook = &config->hooks[0];
    CHECK_INT(1 << SMA_HOOK_FAILED | 1 << SMA_HOOK_GIVEN_UP, hook->ends);
    CHECK_INT(2, (long long)hook->chat_count);
    CHECK_TEXT("telegram:group:*", hook->chats[0]);
    CHECK(!hook->has_text);
    CHECK(strstr(warnings, "hooks.a.url is http://") != NULL); /* said, and allowed */
    sma_config_destroy(config);
    config = load("{\"a\":{\"url\":\"http://localhost:1/\",\"secret\":\"" KEY "\"}}");
    CHECK_TEXT("", warnings);
    sma_config_destroy(config);
    config = load("{}");
    CHECK_INT(0, (long long)config->hook_count);
    sma_config_destroy(config);
}

CASE(what_is_wrong_is_named)
{
    refuse("{\"a\":{\"secret\":\"" KEY "\"}}", "hooks.a.url is missing");
    refuse("{\"a\":{\"url\":\"${SMA_NO_SUCH_URL}\",\"secret\":\"" KEY "\"}}",
           "waits for the variable SMA_NO_SUCH_URL");
    refuse("{\"a\":{\"url\":\"ftp://x/\",\"secret\":\"" KEY "\"}}", "hooks.a.url must be");
    refuse("{\"a\":{\"url\":\"https://u:p@x/\",\"secret\":\"" KEY "\"}}", "hooks.a.url must be");
    refuse("{\"a\":{\"url\":\"https://x/ y\",\"secret\":\"" KEY "\"}}", "hooks.a.url must be");
    refuse("{\"a\":{\"url\":\"https://x/#y\",\"secret\":\"" KEY "\"}}", "hooks.a.url must be");
    refuse("{\"a\":{\"url\":\"https:///y\",\"secret\":\"" KEY "\"}}", "hooks.a.url must be");
    refuse("{\"a\":{\"url\":\"https://x/\"}}", "hooks.a.secret is missing");
    refuse("{\"a\":{\"url\":\"https://x/\",\"secret\":\"0123456789abcde\"}}", "fewer than 16");
    refuse("{\"a\":{\"url\":\"https://x/\",\"secret\":\"whsec_abcd\"}}", "no base64");
    refuse("{\"a\":{\"url\":\"https://x/\",\"secret\":\"" KEY "\",\"ends\":[\"done\"]}}",
           "hooks.a.ends");
    refuse("{\"a\":{\"url\":\"https://x/\",\"secret\":\"" KEY "\",\"ends\":[]}}", "hooks.a.ends");
    refuse("{\"a\":{\"url\":\"https://x/\",\"secret\":\"" KEY "\",\"chats\":[7]}}",
           "hooks.a.chats");
    refuse("{\"A b\":{\"url\":\"https://x/\",\"secret\":\"" KEY "\"}}", "a name has 1 to 16");
    refuse("{\"a\":7}", "hooks.a must be an object");
}

CASE(there_are_at_most_so_many)
{
    char text[4096] = "{";
    for (int i = 0; i < SMA_HOOK_COUNT_MAX; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%s\"h%d\":{\"url\":\"https://x/\",\"secret\":\"" KEY "\"}", i == 0 ? "" : ",", i);
    size_t len = strlen(text);
    snprintf(text + len, sizeof text - len, "}");
    struct sma_config *config = load(text);
    CHECK_INT(SMA_HOOK_COUNT_MAX, (long long)config->hook_count);
    sma_config_destroy(config);
    snprintf(text + len, sizeof text - len,
             ",\"more\":{\"url\":\"https://x/\",\"secret\":\"" KEY "\"}}");
    refuse(text, "hooks has more than 8 members");
}

int main(void)
{
    CHECK(mkdtemp(dir) != NULL);
    write_file("Agent.md", "# Role\n");
    check_run_cases(NULL);
    char command[300];
    snprintf(command, sizeof command, "%s/ship.json", dir);
    CHECK(unlink(command) == 0);
    snprintf(command, sizeof command, "%s/Agent.md", dir);
    CHECK(unlink(command) == 0 && rmdir(dir) == 0);
    return check_summary();
}
