/*
 * Aim: a project folder of either era loads; a wrong one gives one line with file, path in the file
 * and remedy.
 * Method: write Agent.md, ship.json and .env into a private folder, load, compare fields or the
 * error line.
 */
#include "sma/buf.h"
#include "sma/config.h"
#include "support/check.h"
#include "support/platform_params.h"

#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/sma-config-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (text == NULL) {
        (void)unlink(path); /* may be absent */
        return;
    }
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK(fclose(file) == 0);
}

static void project(const char *ship_json, const char *env)
{
    write_file("Agent.md", "  # Role\nBe kind.\n");
    write_file("ship.json", ship_json);
    write_file(".env", env);
    static const char *const names[] = {"LLM_API_KEY",        "LLM_MODEL",      "LLM_BASE_URL",
                                        "ANTHROPIC_API_KEY",  "OPENAI_API_KEY", "API_KEY",
                                        "ANTHROPIC_BASE_URL", "PORT_X"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        unsetenv(names[i]);
}

static char warnings[4096];
static void collect(void *user, const char *line)
{
    (void)user;
    size_t len = strlen(warnings);
    snprintf(warnings + len, sizeof warnings - len, "%s\n", line);
}

static struct sma_config *load(void)
{
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    warnings[0] = '\0';
    struct sma_config_overrides overrides = {.platforms = platform_params()};
    enum sma_err err = sma_config_load(dir, &overrides, collect, NULL, &config, &error);
    if (err != SMA_ERR_OK)
        fprintf(stderr, "%s\n", error.text);
    CHECK_OK(err);
    return config;
}

static void refuse(const char *must_contain)
{
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    struct sma_config_overrides overrides = {.platforms = platform_params()};
    enum sma_err err = sma_config_load(dir, &overrides, NULL, NULL, &config, &error);
    CHECK(err != SMA_ERR_OK && config == NULL);
    if (strstr(error.text, must_contain) == NULL)
        fprintf(stderr, "line: %s\nwanted: %s\n", error.text, must_contain);
    CHECK(strstr(error.text, must_contain) != NULL);
    CHECK(strchr(error.text, '\n') == NULL);
}

ENDING(sma_config_destroy, struct sma_config)

/* Runs first: the first load of a process is the one that may touch the environment. */
CASE(a_reload_reads_the_env_file_again)
{
    static const char ship[] =
        "{\"llm\":{\"provider\":\"deepseek\",\"apiKey\":\"${LLM_API_KEY}\"}}";
    project(ship, "LLM_API_KEY=one\n");
    struct sma_config *config = load();
    CHECK_TEXT("one", config->llm.api_key);
    sma_config_destroy(config);
    write_file(".env", "LLM_API_KEY=two\n");
    config = load();
    CHECK_TEXT("two", config->llm.api_key);
    sma_config_destroy(config);
    write_file(".env", NULL);
    refuse("LLM_API_KEY");
    setenv("LLM_API_KEY", "real", 1);
    config = load();
    CHECK_TEXT("real", config->llm.api_key);
    sma_config_destroy(config);
}

static bool is_named(const struct sma_config *config, const char *name)
{
    for (size_t i = 0; i < config->dotenv_count; i++)
        if (strcmp(config->dotenv_names[i], name) == 0)
            return true;
    return false;
}

/* Commands must not get them, whether the environment had a value of its own or an earlier .env
 * brought them. */
CASE(what_the_env_file_brought_is_known_by_name)
{
    project("{\"llm\":{\"provider\":\"offline\"}}", "BROUGHT_A=1\nPATH=/nowhere\n");
    struct sma_config *config = NULL;
    CHECK_OK(sma_config_load(dir, NULL, NULL, NULL, &config, NULL));
    CHECK(is_named(config, "BROUGHT_A") && is_named(config, "PATH"));
    CHECK(is_named(config, "LLM_API_KEY")); /* of the first .env of this process */
    CHECK(!is_named(config, "HOME"));
    sma_config_destroy(config);
    write_file(".env", NULL);
}

CASE(only_agent_md_is_required)
{
    project(NULL, "ANTHROPIC_API_KEY=k\n");
    struct sma_config *config = load();
    CHECK_TEXT("# Role\nBe kind.", config->agent_md);
    CHECK_TEXT("anthropic", config->llm.provider);
    CHECK_TEXT("claude-sonnet-5-5", config->llm.model);
    CHECK_INT(SMA_LLM_MESSAGES, config->llm.api);
    CHECK_TEXT("127.0.0.1", config->start_host);
    CHECK_INT(3000, config->start_port);
    CHECK_INT(1, config->agent_concurrency);
    CHECK_INT(1000, config->queue_chat_waiting_max);
    CHECK_INT(200000, config->queue_waiting_max);
    CHECK(config->queue_is_fair && config->queue_mode == SMA_QUEUE_STEER);
    sma_config_destroy(config);
    write_file("Agent.md", NULL);
    refuse("no Agent.md here");
}

CASE(a_project_of_the_first_era_loads)
{
    project(
        "{\"$schema\":\"./.ship/schema/ship.schema.json\",\"name\":\"a\",\"version\":\"1.0.0\","
        "\"start\":{\"port\":3900,\"host\":\"0.0.0.0\",\"interactiveWeb\":false,"
        "\"interactivePort\":3001},"
        "\"llm\":{\"provider\":\"openai\",\"model\":\"gpt-4o\",\"baseUrl\":\"https://"
        "api.openai.com/v1/\","
        "\"apiKey\":\"${LLM_API_KEY}\",\"temperature\":0.7},"
        "\"permissions\":{\"read_repo\":true,\"exec_shell\":{\"deny\":[\"rm\"],"
        "\"requiresApproval\":false}},"
        "\"integrations\":{\"telegram\":{\"enabled\":false,\"botToken\":\"${TELEGRAM_BOT_TOKEN}\"},"
        "\"feishu\":{\"enabled\":false},\"qq\":{\"enabled\":false}}}",
        "LLM_API_KEY=sk-1\n");
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = load();
    CHECK_TEXT("", warnings);
    CHECK_TEXT("sk-1", config->llm.api_key);
    CHECK_TEXT("https://api.openai.com/v1", config->llm.base_url);
    CHECK_INT(SMA_LLM_RESPONSES, config->llm.api);
    CHECK(config->llm.has_temperature && config->llm.temperature == 0.7);
    CHECK_INT(3900, config->start_port);
    CHECK_TEXT("0.0.0.0", config->start_host);
    CHECK_INT(3, config->adapter_count);
    CHECK_TEXT("telegram", config->adapters[0].name);
    CHECK(!config->adapters[0].is_enabled && config->adapters[0].says_enabled);
    CHECK_TEXT("{\"enabled\":false}", config->adapters[0].json);
    CHECK(strstr(config->permissions_json, "\"deny\":[\"rm\"]") != NULL);
}

CASE(placeholders_follow_the_old_rules)
{
    project("{\"name\":\"${LOWER_case}\",\"description\":\"Bearer "
            "${API_KEY}\",\"start\":{\"port\":\"${PORT_X}\"},"
            "\"llm\":{\"provider\":\"custom\",\"model\":\"${LLM_MODEL}\",\"baseUrl\":\"${LLM_BASE_"
            "URL}\","
            "\"apiKey\":\"${my_key}\"}}",
            "LLM_MODEL=m\nLLM_BASE_URL=http://127.0.0.1:9/v1\nmy_key=lower\nPORT_X=4000\n");
    struct sma_config *config = load();
    CHECK_TEXT("${LOWER_case}", config->name);
    CHECK_TEXT("Bearer ${API_KEY}", config->description);
    CHECK(strstr(warnings, "description holds ${API_KEY} within a longer text") != NULL);
    CHECK_TEXT("lower", config->llm.api_key);
    CHECK_TEXT("m", config->llm.model);
    CHECK_INT(4000, config->start_port);
    CHECK_INT(SMA_LLM_CHAT, config->llm.api);
    sma_config_destroy(config);
    unsetenv("my_key");
}

/* A folder that kept ${X} was not there for commands, in silence; a rule may mean it. */
CASE(placeholders_within_permissions_are_told_but_in_rules)
{
    project("{\"llm\":{\"provider\":\"offline\"},\"permissions\":{"
            "\"read_repo\":{\"paths\":[\"x${RULE}\"]},\"mcp\":{\"allow\":[\"a:${RULE}x\"]},"
            "\"exec_shell\":{\"allow\":[\"echo ${RULE}\"],\"paths\":[\"/opt/${OPT}\"]}}}",
            "");
    struct sma_config *config = load();
    CHECK(strstr(warnings, "permissions.exec_shell.paths.0 holds ${OPT} within a longer") != NULL);
    CHECK(strstr(warnings, "RULE") == NULL);
    sma_config_destroy(config);
}

/* A default is taken where the variable is not there; nothing goes out literally in silence. */
CASE(placeholders_have_defaults_and_strange_ones_are_told)
{
    project("{\"name\":\"${NO_NAME_X:-ship}\",\"description\":\"${EMPTY_X-no}${EMPTY_X:-yes}\","
            "\"llm\":{\"provider\":\"custom\",\"model\":\"${MODEL_X:-qwen-max:1}\",\"baseUrl\":"
            "\"${EMPTY_X:-http://127.0.0.1:9/v1}\",\"apiKey\":\"k\"},\"start\":{\"host\":"
            "\"${HOST_X:?must be set}\"}}",
            "MODEL_X=m\nEMPTY_X=\n");
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = load();
    CHECK_TEXT("ship", config->name);
    CHECK_TEXT("m", config->llm.model);
    CHECK_TEXT("http://127.0.0.1:9/v1", config->llm.base_url);
    CHECK(strstr(warnings, "start.host is \"${HOST_X:?must be set}\"") != NULL);
}

/* A default may have one of its own; what means a variable in other programs only is told. */
CASE(defaults_have_defaults_and_foreign_notations_are_told)
{
    static const char *const foreign[] = {"$HOST_X", "%HOST_X%", "{{HOST_X}}", "{env:HOST_X}",
                                          "{{ .HOST_X }}"};
    for (size_t i = 0; i < SMA_COUNT_OF(foreign); i++) {
        char json[600], told[100];
        snprintf(json, sizeof json,
                 "{\"name\":\"${NO_A_X:-${NO_B_X:-${NO_C_X:-deep}}}\",\"description\":"
                 "\"${NO_A_X:-${REAL_X}}\",\"llm\":{\"provider\":\"custom\",\"model\":\"m\","
                 "\"baseUrl\":\"http://127.0.0.1:9/v1\",\"apiKey\":\"k\"},\"start\":{\"host\":"
                 "\"%s\"}}",
                 foreign[i]);
        project(json, "REAL_X=real\nHOST_X=127.0.0.1\n");
        struct sma_config *config = load();
        CHECK_TEXT("deep", config->name);
        CHECK_TEXT("real", config->description);
        snprintf(told, sizeof told, "start.host is \"%s\"", foreign[i]);
        CHECK(strstr(warnings, told) != NULL);
        sma_config_destroy(config);
    }
}

CASE(the_environment_wins_over_the_file)
{
    project("{\"llm\":{\"provider\":\"deepseek\",\"apiKey\":\"${LLM_API_KEY}\"}}",
            "LLM_API_KEY=file\nLLM_API_KEY=last\n");
    struct sma_config *config = load();
    CHECK_TEXT("last", config->llm.api_key);
    CHECK_INT(SMA_LLM_CHAT, config->llm.api);
    sma_config_destroy(config);
    project("{\"llm\":{\"provider\":\"deepseek\",\"apiKey\":\"${LLM_API_KEY}\"}}",
            "LLM_API_KEY=file\n");
    setenv("LLM_API_KEY", "real", 1);
    config = load();
    CHECK_TEXT("real", config->llm.api_key);
    sma_config_destroy(config);
}

/* Both variables set is what many developers have. A key goes to the provider whose it is, or
 * nowhere. */
CASE(each_provider_gets_its_own_key_only)
{
    static const struct
    {
        const char *llm, *key, *source; /* key NULL: refused with the text of source */
    } rows[] = {
        {"\"provider\":\"openai\",\"model\":\"m\"", "of-openai", "OPENAI_API_KEY"},
        {"\"provider\":\"anthropic\"", "of-anthropic", "ANTHROPIC_API_KEY"},
        {"\"provider\":\"custom\",\"model\":\"m\"", "of-nobody", "API_KEY"},
        {"\"provider\":\"deepseek\"", NULL, "nor is DEEPSEEK_API_KEY"},
        {"\"provider\":\"moonshot\",\"model\":\"m\"", NULL, "nor is MOONSHOT_API_KEY"},
        {"\"provider\":\"deepseek\",\"apiKey\":\"${LLM_API_KEY}\"", NULL,
         "llm.apiKey uses ${LLM_API_KEY}, which is not set"},
        {"\"provider\":\"deepseek\",\"apiKey\":\"${my_key}\"", NULL,
         "llm.apiKey uses ${my_key}, which is not set"},
        {"\"provider\":\"openai\",\"model\":\"m\",\"apiKey\":\"${LLM_API_KEY}\"", NULL,
         "llm.apiKey uses ${LLM_API_KEY}, which is not set"},
        {"\"provider\":\"openai\",\"model\":\"m\",\"apiKey\":\"${PORT_X}\"", NULL,
         "llm.apiKey uses ${PORT_X}, which is not set"}, /* set, but empty */
        {"\"provider\":\"openai\",\"model\":\"m\",\"apiKey\":\"${ANTHROPIC_API_KEY}\"",
         "of-anthropic", "${ANTHROPIC_API_KEY}"}, /* who writes it means it */
        {"\"provider\":\"openai\",\"model\":\"m\",\"apiKey\":\"sk-literal\"", "sk-literal",
         "llm.apiKey of ship.json"},
        {"\"provider\":\"ollama\",\"model\":\"m\",\"apiKey\":\"${LLM_API_KEY}\"", "", "none"},
        {"\"provider\":\"ollama\",\"model\":\"m\"", "", "none"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char ship[512];
        snprintf(ship, sizeof ship, "{\"llm\":{%s}}", rows[i].llm);
        project(ship, "OPENAI_API_KEY=of-openai\nANTHROPIC_API_KEY=of-anthropic\n"
                      "API_KEY=of-nobody\nPORT_X=\n");
        if (rows[i].key == NULL) {
            refuse(rows[i].source);
            continue;
        }
        struct sma_config *config = load();
        CHECK_TEXT(rows[i].key, config->llm.api_key);
        CHECK_TEXT(rows[i].source, config->llm.api_key_source);
        sma_config_destroy(config);
    }
}

/* `start --provider openai` on a project of another provider. */
CASE(a_provider_of_the_command_line_does_not_get_the_files_key)
{
    struct sma_config_overrides overrides = {.provider = "openai"};
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = NULL;
    struct sma_error error = {0};
    project("{\"llm\":{\"provider\":\"anthropic\",\"model\":\"m\",\"apiKey\":\"sk-literal\"}}",
            "OPENAI_API_KEY=of-openai\n");
    CHECK_OK(sma_config_load(dir, &overrides, NULL, NULL, &config, &error));
    CHECK_TEXT("of-openai", config->llm.api_key);
}

/* The check takes a placeholder's text and 5000.0 for numbers, so reading must, too. */
CASE(timeouts_may_be_written_as_text)
{
    project(
        "{\"llm\":{\"provider\":\"ollama\",\"model\":\"m\",\"timeouts\":{\"connectMs\":\"1500\","
        "\"idleMs\":2500.0,\"totalMs\":\"${PORT_X}\",\"firstByteMs\":7}}}",
        "PORT_X=9000\n");
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = load();
    CHECK_INT(1500, config->llm.connect_ms);
    CHECK_INT(2500, config->llm.idle_ms);
    CHECK_INT(9000, config->llm.total_ms);
    CHECK_INT(7, config->llm.first_byte_ms);
}

/* In a header line of its own it would be another header. */
CASE(a_key_of_several_lines_is_refused)
{
    static const char ship[] = "{\"api\":{\"token\":\"${PORT_X}\"},"
                               "\"llm\":{\"provider\":\"deepseek\",\"apiKey\":\"${LLM_API_KEY}\"}}";
    project(ship, "LLM_API_KEY=\"sk-1\\nX-Evil: 1\"\nPORT_X=plain-token\n");
    refuse("ship.json: llm.apiKey holds a line end, a blank or another character");
    project(ship, "LLM_API_KEY=sk-1\nPORT_X='two words'\n");
    refuse("ship.json: api.token holds a line end, a blank or another character");
    project(ship, "LLM_API_KEY=sk-1\nPORT_X=plain-token\n");
    sma_config_destroy(load());
}

CASE(wires_are_chosen_as_designed)
{
    static const struct
    {
        const char *llm;
        enum sma_llm_api api;
        const char *url;
    } cases[] = {
        {"\"provider\":\"anthropic\",\"model\":\"m\",\"baseUrl\":\"http://127.0.0.1:1\"",
         SMA_LLM_MESSAGES, "http://127.0.0.1:1"},
        {"\"provider\":\"somebody\",\"model\":\"m\",\"baseUrl\":\"http://127.0.0.1:1/v1\"",
         SMA_LLM_CHAT, "http://127.0.0.1:1/v1"},
        {"\"provider\":\"openai\",\"model\":\"m\",\"api\":\"chat\",\"apiKey\":\"k\"", SMA_LLM_CHAT,
         "https://api.openai.com/v1"},
        {"\"provider\":\"deepseek\",\"apiKey\":\"k\"", SMA_LLM_CHAT, "https://api.deepseek.com/v1"},
        {"\"provider\":\"offline\"", SMA_LLM_OFFLINE, ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char text[512];
        snprintf(text, sizeof text, "{\"llm\":{%s}}", cases[i].llm);
        project(text, NULL);
        struct sma_config *config = load();
        CHECK_INT(cases[i].api, config->llm.api);
        CHECK_TEXT(cases[i].url, config->llm.base_url);
        sma_config_destroy(config);
    }
}

CASE(access_holds_for_platforms_that_do_not_say_it_themselves)
{
    project(
        "{\"llm\":{\"provider\":\"offline\"},\"access\":[\"1001\",1002],\"permissions\":{\"roles\":"
        "{\"owner\":[\"telegram:1001\",\"telegram:chat:-5:user:7\"],\"member\":[]}},\"adapters\":{"
        "\"telegram\":{\"enabled\":false},\"feishu\":{\"access\":\"anyone\"},"
        "\"qq\":{\"access\":\"${WHO}\"},\"http\":{\"enabled\":true}}}",
        "WHO=paired\n");
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = load();
    CHECK_TEXT("", warnings);
    CHECK_INT(4, (int)config->adapter_count);
    CHECK_TEXT("{\"enabled\":false,\"access\":[\"1001\",1002]}", config->adapters[0].json);
    CHECK_TEXT("{\"access\":\"anyone\"}", config->adapters[1].json);
    CHECK_TEXT("{\"access\":\"paired\"}", config->adapters[2].json);
    CHECK_TEXT("{\"enabled\":true}", config->adapters[3].json);
}

CASE(what_is_over_is_kept_as_told)
{
    project("{\"llm\":{\"provider\":\"offline\"}}", NULL);
    struct sma_config *config = load();
    const struct sma_config_retention *kept = &config->retention;
    CHECK_INT(SMA_SESSION_TURN_COUNT_MAX, kept->turns);
    CHECK_INT(90, kept->turn_days);
    CHECK_INT(72, kept->result_hours);
    CHECK_INT(1024, kept->result_mb);
    CHECK_INT(7, kept->request_log_days);
    CHECK_INT(30, kept->request_days);
    CHECK_INT(30, kept->stranger_days);
    CHECK_INT(10000, kept->stranger_count);
    CHECK_INT(0, kept->archive_days);
    sma_config_destroy(config);
    project("{\"llm\":{\"provider\":\"offline\"},\"retention\":{\"turns\":5,\"turnDays\":0,"
            "\"resultHours\":1,\"resultMegabytes\":2,"
            "\"requestLogDays\":3,\"requestDays\":4,\"strangerDays\":6,\"strangers\":8,"
            "\"archiveDays\":365}}",
            NULL);
    config = load();
    kept = &config->retention;
    CHECK(warnings[0] == '\0');
    CHECK_INT(5, kept->turns);
    CHECK_INT(0, kept->turn_days);
    CHECK_INT(1, kept->result_hours);
    CHECK_INT(2, kept->result_mb);
    CHECK_INT(3, kept->request_log_days);
    CHECK_INT(4, kept->request_days);
    CHECK_INT(6, kept->stranger_days);
    CHECK_INT(8, kept->stranger_count);
    CHECK_INT(365, kept->archive_days);
    sma_config_destroy(config);
    project("{\"llm\":{\"provider\":\"offline\"},\"retention\":{\"requestLogDays\":0}}", NULL);
    refuse("retention.requestLogDays");
}

CASE(wrong_files_give_one_line)
{
    static const struct
    {
        const char *ship_json, *expect;
    } cases[] = {
        {"{\"llm\":{\"provider\":\"offline\"},}", "ship.json:1:"},
        {"[]", "must hold one JSON object"},
        {"{\"start\":{\"port\":\"80x\"}}", "start.port must be a whole number"},
        {"{\"start\":{\"port\":70000}}", "start.port must be between 0 and 65535"},
        {"{\"start\":{\"port\":3.5}}", "start.port must be a whole number"},
        {"{\"llm\":7}", "llm must be an object"},
        {"{\"llm\":{\"provider\":5}}", "llm.provider must be a string"},
        {"{\"llm\":{\"provider\":\"nobody\",\"model\":\"m\"}}",
         "unknown and has no llm.baseUrl; known: anthropic"},
        {"{\"llm\":{\"provider\":\"openai\",\"model\":\"m\",\"apiKey\":\"${LLM_API_KEY}\"}}",
         "${LLM_API_KEY}, which is not set"},
        {"{\"llm\":{\"provider\":\"openai\",\"model\":\"m\"}}", "llm.apiKey is not set"},
        {"{\"llm\":{\"provider\":\"custom\",\"model\":\"${LLM_MODEL}\",\"apiKey\":\"k\"}}",
         "llm.model uses ${LLM_MODEL}"},
        {"{\"llm\":{\"provider\":\"custom\",\"model\":\"m\",\"baseUrl\":\"${LLM_BASE_URL}\","
         "\"apiKey\":\"k\"}}",
         "llm.baseUrl uses ${LLM_BASE_URL}"},
        {"{\"llm\":{\"provider\":\"custom\",\"apiKey\":\"k\"}}", "llm.model is not set"},
        {"{\"llm\":{\"provider\":\"custom\",\"model\":\"m\",\"baseUrl\":\"ftp://x\"}}",
         "must begin with http"},
        {"{\"llm\":{\"provider\":\"offline\",\"api\":\"grpc\"}}",
         "llm.api must be one of chat,responses,messages"},
        {"{\"queue\":{\"mode\":\"random\"}}", "queue.mode must be one of serial,collect,steer"},
        {"{\"queue\":{\"mode\":\"serial,collect\"}}", "queue.mode must be one of"},
        {"{\"llm\":{\"provider\":\"offline\"},\"access\":\"all\"}",
         "ship.json: access must be \"paired\", \"anyone\" or a list"},
        {"{\"llm\":{\"provider\":\"offline\"},\"access\":7}", "ship.json: access must be"},
        {"{\"llm\":{\"provider\":\"offline\"},\"adapters\":{\"telegram\":{\"access\":{}}}}",
         "adapters.telegram.access must be"},
        {"{\"llm\":{\"provider\":\"offline\"},\"integrations\":{\"qq\":{\"access\":[null]}}}",
         "integrations.qq.access must be"},
        {"{\"llm\":{\"provider\":\"offline\"},\"permissions\":{\"roles\":{\"owner\":[\"1001\"]}}}",
         "permissions.roles.owner[0] \"1001\" is not a person; write \"<channel>:<user id>\""},
        {"{\"llm\":{\"provider\":\"offline\"},\"permissions\":{\"roles\":{\"boss\":[]}}}",
         "permissions.roles.boss is not a role"},
        {"{\"agent\":{\"concurrency\":0}}", "agent.concurrency must be between 1 and 1024"},
        {"{\"adapters\":{\"telegram\":true}}", "adapters.telegram must be an object"},
        {"{\"adapters\":{\"telegram\":{\"enabled\":3}}}",
         "adapters.telegram.enabled must be true or false"},
        {"{\"adapters\":{\"telegram\":{\"mode\":\"push\"}}}",
         "adapters.telegram.mode must be one of polling,webhook"},
        {"{\"integrations\":{\"telegram\":{\"limits\":{\"perSecond\":-1}}}}",
         "integrations.telegram.limits.perSecond must be between 0 and"},
        {"{\"llm\":{\"temperature\":9}}", "llm.temperature must be between 0 and 2"},
        {"{\"name\":\"a\",\"name\":\"b\"}", "duplicate"},
        {"", "the file is empty"},
        {"{\"name\":\"a\",}", "a comma too many"},
        {"{\"access\":[\"1\",]}", "a comma too many before the ]"},
        {"{\"name\":\"a\" \"language\":\"en\"}", "a comma or a } is missing before this"},
        {"{\"name\":\"a\"", "is missing"},
        {"{ // mine\n}", "JSON knows no comments"},
        {"{'name':1}", "a name in double quotes"},
        {"{\"name\":bot}", "text must stand in double quotes"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        project(cases[i].ship_json, NULL);
        refuse(cases[i].expect);
        refuse("ship.json");
    }
    project("{\"name\":\"\xff\"}", NULL);
    refuse("not valid JSON");
    project("{\"name\":\"\\u0000\"}", NULL);
    refuse("\\u0000 is not allowed here; correct that line");
}

CASE(unknown_keys_name_the_nearest)
{
    project("{\"lmm\":{},\"llm\":{\"provider\":\"offline\",\"temprature\":1},\"zzzzzzzzz\":1,"
            "\"adapters\":{\"telegrm\":{\"enabled\":false}}}",
            NULL);
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = load();
    CHECK(strstr(warnings, "unknown key lmm is ignored; did you mean llm?") != NULL);
    CHECK(strstr(warnings, "llm.temprature is ignored; did you mean llm.temperature?") != NULL);
    CHECK(strstr(warnings, "unknown key zzzzzzzzz is ignored\n") != NULL);
    CHECK(strstr(warnings, "did you mean adapters.telegram?") != NULL);
}

/* Thousands of them do not hide what else is said at start. */
CASE(unknown_keys_are_told_up_to_a_number)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 64 * 1024);
    sma_buf_put_text(&buf, "{\"llm\":{\"provider\":\"offline\"},\"permissions\":{\"merge\":true}");
    for (int i = 0; i < 1000; i++)
        sma_buf_printf(&buf, ",\"k%d\":1", i);
    sma_buf_put_text(&buf, "}");
    project(buf.ptr, NULL);
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = load();
    CHECK(strstr(warnings, "unknown key k0 is ignored\n") != NULL);
    CHECK(strstr(warnings, "unknown key k19 is ignored\n") != NULL);
    CHECK(strstr(warnings, "unknown key k20 ") == NULL);
    CHECK(strstr(warnings, "ship.json: 980 more unknown keys are ignored\n") != NULL);
    CHECK(strstr(warnings, "found permissions.merge") != NULL);
}

/* A deny list that nobody reads because of a letter protects nobody. */
CASE(unknown_members_of_permissions_name_the_nearest)
{
    project("{\"llm\":{\"provider\":\"offline\"},\"permissions\":{\"exec_shel\":true,"
            "\"exec_shell\":{\"denny\":[\"git push\"],\"network\":true},"
            "\"write_repo\":{\"path\":[\"src/**\"]},\"open_pr\":true}}",
            NULL);
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = load();
    CHECK(strstr(warnings, "permissions.exec_shel is ignored; did you mean "
                           "permissions.exec_shell?") != NULL);
    CHECK(strstr(warnings, "did you mean permissions.exec_shell.deny?") != NULL);
    CHECK(strstr(warnings, "did you mean permissions.write_repo.paths?") != NULL);
    CHECK(strstr(warnings, "found permissions.open_pr, which this version does not use") != NULL);
    CHECK(strstr(warnings, "network") == NULL);
}

CASE(unknown_members_of_an_adapter_name_the_nearest)
{
    project("{\"llm\":{\"provider\":\"offline\"},\"integrations\":{\"telegram\":{\"enabled\":false,"
            "\"botTokn\":\"x\",\"limits\":{\"perSecnd\":3}},\"terminal\":{\"anything\":1}}}",
            NULL);
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = load();
    CHECK(strstr(warnings, "integrations.telegram.botTokn is ignored; did you mean "
                           "integrations.telegram.botToken?") != NULL);
    CHECK(strstr(warnings, "did you mean integrations.telegram.limits.perSecond?") != NULL);
    CHECK(strstr(warnings, "unknown key integrations.terminal.anything is ignored") != NULL);
}

CASE(origins_are_read_strictly)
{
    static const char *const wrong[] = {
        "\"https://a.example\"",
        "[\"a.example\"]",
        "[\"https://\"]",
        "[\"https://a.example/\"]",
        "[\"https://a b\"]",
        "[\"null\"]",
        "[\"https://*.example\"]",
        "[7]",
        "[\"https://u@a.example\"]",
        "[\"HTTPS://a.example\"]",
        "[\"ftp://a.example\"]",
        "[\"https://a?b\"]",
    };
    char json[200];
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++) {
        snprintf(json, sizeof json, "{\"llm\":{\"provider\":\"offline\"},\"api\":{\"cors\":%s}}",
                 wrong[i]);
        project(json, "");
        refuse("api.cors");
    }
    project("{\"llm\":{\"provider\":\"offline\"},\"api\":{\"cors\":[\"https://a.example\","
            "\"http://[::1]:5173\"]}}",
            "");
    struct sma_config *config = load();
    CHECK_TEXT("https://a.example http://[::1]:5173", config->api_cors);
    CHECK(strstr(warnings, "cors") == NULL);
    sma_config_destroy(config);
    project("{\"llm\":{\"provider\":\"offline\"},\"api\":{\"cors\":[\"*\"]}}", "");
    config = load();
    CHECK_TEXT("*", config->api_cors);
    CHECK(strstr(warnings, "api.cors holds \"*\"") != NULL);
    sma_config_destroy(config);
    project("{\"llm\":{\"provider\":\"offline\"}}", "");
    config = load();
    CHECK_TEXT("", config->api_cors);
    sma_config_destroy(config);
}

CASE(deep_json_is_refused)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 1 << 20);
    sma_buf_put_text(&buf, "{\"oss\":");
    for (int i = 0; i < 3000; i++)
        sma_buf_put_text(&buf, "{\"a\":");
    sma_buf_put_text(&buf, "1");
    for (int i = 0; i < 3001; i++)
        sma_buf_put_char(&buf, '}');
    project(buf.ptr, NULL);
    refuse("ship.json");
}

int main(void)
{
    CHECK(mkdtemp(dir) != NULL);
    check_run_cases(NULL);
    write_file("Agent.md", NULL);
    write_file("ship.json", NULL);
    write_file(".env", NULL);
    CHECK(rmdir(dir) == 0);
    return check_summary();
}
