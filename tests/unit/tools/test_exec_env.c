/*
 * test_exec_env.c — which variables a command gets.
 */
#include "runtime/exec/exec_env.h"

#include "support/check.h"

static const char *const DOTENV[] = {"FROM_DOTENV", "ALLOWED_DOTENV"};

ENDING(sma_secrets_destroy, struct sma_secrets)

CASE(names_and_values_decide)
{
    struct sma_config config = {.project_dir = "/nowhere",
                                .state_dir = "/nowhere/.ship",
                                .api_token = "",
                                .dotenv_names = DOTENV,
                                .dotenv_count = SMA_COUNT_OF(DOTENV)};
    config.llm.api_key = "sk-canary-0123456789";
    SMA_AUTO(sma_exec_options_fini) struct sma_exec_options options;
    CHECK_OK(sma_exec_options_parse("{\"exec_shell\":{\"env\":[\"ALLOWED_DOTENV\",\"NPM_TOKEN\"]}}",
                                    NULL, &options, NULL));
    SMA_AUTO(sma_secrets_destroyp) struct sma_secrets *secrets = NULL;
    CHECK_OK(sma_secrets_create(&config, &secrets));
    static const struct
    {
        const char *name, *value;
        bool is_kept;
    } rows[] = {{"PATH", "/usr/bin", true},
                {"HOME", "/home/a", true},
                {"LANG", "C.UTF-8", true},
                {"LC_ALL", "C", true},
                {"USER", "a", true},
                {"TERM", "xterm", true},
                {"TZ", "UTC", true},
                {"FROM_DOTENV", "x", false},
                {"ALLOWED_DOTENV", "x", true},
                {"NPM_TOKEN", "x", true},
                {"GITHUB_TOKEN", "x", false},
                {"OPENAI_API_KEY", "x", false},
                {"apikey", "x", false},
                {"DB_PASSWORD", "x", false},
                {"MYSQL_PWD", "x", false},
                {"PGPASSFILE", "x", false},
                {"AWS_SECRET_ACCESS_KEY", "x", false},
                {"SENTRY_DSN", "x", false},
                {"SSH_AUTH_SOCK", "x", false},
                {"SESSION_COOKIE", "x", false},
                {"DATABASE_URL", "postgres://u:p@h/db", false},
                {"SITE_URL", "https://example.org/a@b", true},
                {"HTTPS_PROXY", "http://user:pw@proxy:1", false},
                {"https_proxy", "http://proxy:1", true},
                {"HARMLESS", "sk-canary-0123456789", false},
                {"HARMLESS", "x=sk-canary-0123456789;", false},
                {"LD_PRELOAD", "x", false},
                {"LD_LIBRARY_PATH", "x", false},
                {"BASH_ENV", "x", false},
                {"ENV", "x", false},
                {"PROMPT_COMMAND", "x", false},
                {"BASH_FUNC_ls%%", "() { rm; }", false},
                {"ANY", "() { rm; }", false},
                {"GIT_SSH_COMMAND", "x", false},
                {"GIT_EXTERNAL_DIFF", "x", false},
                {"NODE_OPTIONS", "x", false},
                {"PYTHONSTARTUP", "x", false},
                {"PERL5OPT", "x", false},
                {"PAGER", "x", false},
                {"NOTIFY_SOCKET", "x", false},
                {"SMA_CRASH_AT", "x", false},
                {"SMA_EXEC_ID", "x", false}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        bool is_kept =
            sma_exec_env_is_kept(&config, &options, secrets, rows[i].name, rows[i].value);
        if (is_kept != rows[i].is_kept)
            fprintf(stderr, "%s=%s\n", rows[i].name, rows[i].value);
        CHECK_INT(rows[i].is_kept, is_kept);
    }
    setenv("SHOULD_STAY", "yes", 1);
    setenv("FROM_DOTENV", "no", 1);
    char **list = sma_exec_env_create(&config, &options, secrets, "mark");
    CHECK(list != NULL);
    bool has_stay = false, has_mark = false;
    for (size_t i = 0; list[i] != NULL; i++) {
        has_stay = has_stay || strcmp(list[i], "SHOULD_STAY=yes") == 0;
        has_mark = has_mark || strcmp(list[i], "SMA_EXEC_ID=mark") == 0;
        CHECK(strncmp(list[i], "FROM_DOTENV=", 12) != 0);
    }
    CHECK(has_stay && has_mark);
    free(list);
}

static const char *find(char *const *list, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; list[i] != NULL; i++)
        if (strncmp(list[i], name, len) == 0 && list[i][len] == '=')
            return list[i] + len + 1;
    return "";
}

/* What a rule calls `git` is no file that somebody wrote into the project. */
CASE(programs_of_the_project_are_not_found_by_name)
{
    struct sma_config config = {
        .project_dir = "/srv/bot", .state_dir = "/srv/bot/.ship", .api_token = ""};
    struct sma_exec_options options;
    SMA_AUTO(sma_secrets_destroyp) struct sma_secrets *secrets = NULL;
    CHECK_OK(sma_secrets_create(&config, &secrets));
    static const struct
    {
        const char *path, *kept, *permissions;
    } rows[] = {
        {"/usr/bin:/bin", "/usr/bin:/bin", ""},
        {"/srv/bot/node_modules/.bin:/usr/bin", "/usr/bin", ""},
        {"/srv/bot:/usr/bin:/srv/botany/bin", "/usr/bin:/srv/botany/bin", ""},
        {".:/usr/bin::bin:./x:/bin:", "/usr/bin:/bin", ""},
        {"", "/usr/local/bin:/usr/bin:/bin", ""},
        {"node_modules/.bin", "/usr/local/bin:/usr/bin:/bin", ""},
        {"/srv/bot/bin:/bin", "/srv/bot/bin:/bin", "{\"exec_shell\":{\"env\":[\"PATH\"]}}"},
    };
    char *saved = strdup(getenv("PATH"));
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        CHECK_OK(sma_exec_options_parse(rows[i].permissions, NULL, &options, NULL));
        setenv("PATH", rows[i].path, 1);
        char **list = sma_exec_env_create(&config, &options, secrets, "mark");
        CHECK_TEXT(rows[i].kept, find(list, "PATH"));
        CHECK_TEXT("safe.bareRepository", find(list, "GIT_CONFIG_KEY_0"));
        free(list);
        sma_exec_options_fini(&options);
    }
    setenv("PATH", saved, 1);
    free(saved);
}

CASES_MAIN
