/*
 * Aim: which entry of `chats` holds in which chat is decided by its key alone, always in the same
 * way; what is wrong there ends the start with one line that names key and nearest word.
 */
#include "runtime/tools/tools.h"
#include "sma/buf.h"
#include "sma/chats.h"
#include "support/check.h"

#include <unistd.h>

static char dir[] = "/tmp/sma-chats-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK(fclose(file) == 0);
}

static void ignore(void *user, const char *line)
{
    (void)user;
    (void)line;
}

static void write_project(const char *chats)
{
    char text[8192];
    snprintf(text, sizeof text,
             "{\"llm\":{\"provider\":\"anthropic\",\"model\":\"claude-opus-5-5\",\"apiKey\":\"k\","
             "\"fallbacks\":[{\"name\":\"spare\",\"provider\":\"openai\",\"model\":\"gpt-6\","
             "\"apiKey\":\"o\"}]},\"chats\":%s}",
             chats);
    unsetenv("OPENAI_API_KEY");
    write_file("Agent.md", "# Role\n");
    write_file("Group.md", "\xEF\xBB\xBF# In groups\n");
    write_file("ship.json", text);
}

static struct sma_config *load(const char *chats)
{
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    write_project(chats);
    enum sma_err err = sma_config_load(dir, NULL, ignore, NULL, &config, &error);
    if (err != SMA_ERR_OK)
        fprintf(stderr, "%s\n", error.text);
    CHECK_OK(err);
    return config;
}

static void refuse(const char *chats, const char *line)
{
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    write_project(chats);
    CHECK(sma_config_load(dir, NULL, ignore, NULL, &config, &error) != SMA_ERR_OK);
    if (strstr(error.text, line) == NULL)
        fprintf(stderr, "line: %s\nwanted: %s\n", error.text, line);
    CHECK(strstr(error.text, line) != NULL && strstr(error.text, "chats") != NULL);
}

static const char *prompt_of(const struct sma_config *config, const char *key, bool is_group)
{
    struct sma_chat_rules rules = sma_chat_rules_find(config, sma_str(key), is_group);
    return rules.prompt == NULL ? "" : rules.prompt->prompt;
}

ENDING(sma_config_destroy, struct sma_config)

CASE(the_most_exact_pattern_counts)
{
    SMA_AUTO(sma_config_destroyp)
    struct sma_config *config = load(
        "{\"*\":{\"prompt\":\"all\"},\"telegram\":{\"prompt\":\"platform\"},"
        "\"*:group:*\":{\"prompt\":\"groups\"},\"telegram:group:*\":{\"prompt\":\"tg groups\"},"
        "\"telegram:chat:-100*\":{\"prompt\":\"supergroups\"},"
        "\"telegram:chat:-1007\":{\"prompt\":\"one\"},"
        "\"telegram:group:-1007:topic:3\":{\"prompt\":\"topic\"},"
        "\"qq:private:*\":{\"prompt\":\"qq alone\"},\"qq:c2c:B\":{\"prompt\":\"B\"},"
        "\"feishu:chat:oc_b*\":{\"prompt\":\"second\"},"
        "\"feishu:chat:oc_*b\":{\"prompt\":\"first\"}}");
    static const struct
    {
        const char *key;
        bool is_group;
        const char *wanted;
    } rows[] = {
        {"telegram:chat:7", false, "platform"},
        {"telegram:chat:-7", true, "tg groups"},
        {"telegram:chat:-1008", true, "supergroups"},
        {"telegram:chat:-1007", true, "one"},
        {"telegram:chat:-1007:topic:4", true, "one"},
        {"telegram:chat:-1007:topic:3", true, "topic"},
        {"telegram:chat:-10071", true, "supergroups"},
        {"qq:c2c:A", false, "qq alone"},
        {"qq:c2c:B", false, "B"},
        {"qq:group:B", true, "groups"},
        {"qq:channel:B", true, "groups"},
        {"feishu:chat:oc_a", false, "all"},
        {"feishu:chat:oc_bb", false, "first"}, /* '*' comes before 'b' */
        {"api:chat:default", false, "all"},
        {"telegrams:chat:7", false, "all"},
        {"t", false, "all"},
        {"", false, ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        const char *found = prompt_of(config, rows[i].key, rows[i].is_group);
        if (strcmp(found, rows[i].wanted) != 0)
            fprintf(stderr, "%s: %s\n", rows[i].key, found);
        CHECK_TEXT(rows[i].wanted, found);
    }
}

/* A restriction of all groups does not go because one of them has a prompt. */
CASE(each_member_comes_from_the_best_entry_that_says_it)
{
    SMA_AUTO(sma_config_destroyp)
    struct sma_config *config =
        load("{\"telegram:group:*\":{\"tools\":{\"deny\":[\"exec_shell\"]},"
             "\"access\":{\"groupAccess\":\"anyone\"},\"modelChoice\":\"everybody\"},"
             "\"telegram:chat:-1\":{\"promptFile\":\"Group.md\",\"model\":\"spare\"},"
             "\"api:chat:*\":{\"tools\":{\"allow\":[\"read_file\",\"files:*\",\"chat_send\"],"
             "\"deny\":[\"chat_send\",\"files:write\",\"x:y\"]},\"access\":\"anyone\"}}");
    struct sma_chat_rules rules = sma_chat_rules_find(config, SMA_STR("telegram:chat:-1"), true);
    CHECK(rules.tools != NULL && rules.access != NULL && rules.choice != NULL);
    CHECK_INT(1 << SMA_TOOL_EXEC_SHELL, rules.tools->refused_tools);
    CHECK(!rules.tools->allows_tools && rules.tools->mcp_denied_count == 0);
    CHECK_TEXT("{\"groupAccess\":\"anyone\"}", rules.access->access_json);
    CHECK(rules.choice->is_choice_free);
    CHECK_TEXT("# In groups", rules.prompt->agent_md);
    CHECK_TEXT("gpt-6", rules.model->model->model);
    CHECK(rules.model->model == config->llm_targets[1]);
    rules = sma_chat_rules_find(config, SMA_STR("api:chat:x"), false);
    CHECK_INT(((1 << SMA_TOOL_COUNT) - 1) & ~(1 << SMA_TOOL_READ_FILE), rules.tools->refused_tools);
    CHECK(rules.tools->allows_tools);
    CHECK_INT(1, rules.tools->mcp_allowed_count);
    CHECK_TEXT("files:*", rules.tools->mcp_allowed[0]);
    CHECK_INT(2, rules.tools->mcp_denied_count);
    CHECK_TEXT("x:y", rules.tools->mcp_denied[1]);
    CHECK_TEXT("{\"access\":\"anyone\"}", rules.access->access_json);
    CHECK(rules.model == NULL && rules.prompt == NULL && rules.choice == NULL);
    rules = sma_chat_rules_find(config, SMA_STR("telegram:chat:1"), false);
    CHECK(rules.tools == NULL && rules.access == NULL && rules.choice == NULL);
}

CASE(models_are_known_by_name_and_only_once)
{
    SMA_AUTO(sma_config_destroyp)
    struct sma_config *config =
        load("{\"qq\":{\"model\":\"cheap\"},"
             "\"telegram\":{\"model\":{\"name\":\"cheap\",\"model\":\"claude-haiku-5-5\"}},"
             "\"feishu\":{\"model\":\"anthropic/claude-sonnet-5-5\"},"
             "\"api\":{\"model\":\"Anthropic/Claude-Sonnet-5-5\"},\"cli\":{\"model\":\"gpt-6\"}}");
    CHECK_INT(4, sma_models_count(config)); /* llm, spare, cheap, sonnet */
    CHECK(config->chats[0].model == config->chats[1].model);
    CHECK(config->chats[2].model == config->chats[3].model);
    CHECK(config->chats[4].model == config->llm_targets[1]);
    CHECK_TEXT("k", config->chats[0].model->api_key); /* llm's provider: its key */
    CHECK_TEXT("claude-haiku-5-5", config->chats[0].model->model);
    CHECK_INT(2, sma_models_find(config, SMA_STR("CHEAP")));
    CHECK_INT(2, sma_models_find(config, SMA_STR("anthropic/claude-haiku-5-5")));
    CHECK_INT(0, sma_models_find(config, SMA_STR("claude-opus-5-5")));
    CHECK_INT(4, sma_models_find(config, SMA_STR("cheapo")));
    CHECK_INT(2, sma_models_nearest(config, SMA_STR("cheapo")));
    CHECK_INT(4, sma_models_nearest(config, SMA_STR("something else")));
}

CASE(what_is_wrong_ends_the_start)
{
    static const char *const rows[][2] = {
        {"{\"telegrm:group:*\":{}}", "\"telegrm\" is not a platform; did you mean telegram?"},
        {"{\"telegram:groups:*\":{}}", "\"groups\" is not a kind of chat; did you mean group?"},
        {"{\"\":{}}", "a pattern has 1 to"},
        {"{\"qq\":7}", "chats.qq must be an object"},
        {"{\"qq\":{\"model\":7}}", "chats.qq.model must be a name"},
        {"{\"qq\":{\"model\":\"spear\"}}", "did you mean spare?"},
        {"{\"qq\":{\"model\":\"anthropc/claude-opus-5-5\"}}",
         "chats.qq.model \"anthropc/claude-opus-5-5\" is neither the name of a model nor "
         "provider/model; did you mean anthropic/claude-opus-5-5?"},
        {"{\"qq\":{\"model\":{\"name\":\"spare\",\"model\":\"x\"}}}", "two models are called"},
        {"{\"qq\":{\"model\":\"openai/gpt-7\"}}", "chats.qq.model.apiKey is not set"},
        {"{\"qq\":{\"tools\":{\"deny\":[\"exec_shel\"]}}}",
         "chats.qq.tools.deny: \"exec_shel\" is not a tool; did you mean exec_shell?"},
        {"{\"qq\":{\"tools\":{\"allow\":[7]}}}", "chats.qq.tools.allow"},
        {"{\"qq\":{\"tools\":{\"allow\":\"react\"}}}", "chats.qq.tools.allow"},
        {"{\"qq\":{\"access\":\"everyone\"}}", "chats.qq.access"},
        {"{\"qq\":{\"access\":{\"groupAccess\":\"all\"}}}", "chats.qq.access.groupAccess"},
        {"{\"qq\":{\"promptFile\":\"Nobody.md\"}}", "there is no Nobody.md in the project"},
        {"{\"qq\":{\"promptFile\":\"../Agent.md\"}}", "must be a file of the project"},
        {"{\"qq\":{\"modelChoice\":\"all\"}}", "must be one of admins,everybody"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        refuse(rows[i][0], rows[i][1]);
}

CASE(a_model_of_the_command_line_is_everybodys)
{
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = NULL;
    struct sma_error error = {0};
    write_project("{\"qq\":{\"model\":\"spare\",\"prompt\":\"p\"}}");
    CHECK_OK(sma_config_load(dir, &(struct sma_config_overrides){.provider = "offline"}, ignore,
                             NULL, &config, &error));
    CHECK(config->chats[0].model == NULL);
    CHECK_TEXT("p", config->chats[0].prompt);
    CHECK_INT(1, sma_models_count(config));
}

int main(void)
{
    CHECK(mkdtemp(dir) != NULL);
    check_run_cases(NULL);
    static const char *const names[] = {"Agent.md", "Group.md", "ship.json"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
    return check_summary();
}
