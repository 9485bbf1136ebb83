/*
 * Aim: a platform's block is one bot or a list of bots; each bot is a block of its own under its
 *      own name, and what cannot be told apart ends the start with one line.
 * Method: write ship.json into a private folder, load, look at the blocks or the line.
 */
#include "runtime/access/access.h"
#include "runtime/access/roles.h"
#include "sma/bot.h"
#include "sma/chats.h"
#include "support/check.h"
#include "support/platform_params.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/sma-bots-XXXXXX";
static char warnings[4096];
static struct sma_error error;

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK(fclose(file) == 0);
}

static void collect(void *user, const char *line)
{
    (void)user;
    size_t len = strlen(warnings);
    snprintf(warnings + len, sizeof warnings - len, "%s\n", line);
}

/* adapters: the members of it; more: members of the root behind it. */
static struct sma_config *try_load(const char *adapters, const char *more)
{
    char text[8192];
    struct sma_config *config = NULL;
    struct sma_config_overrides overrides = {.platforms = platform_params(), .provider = "offline"};
    snprintf(text, sizeof text, "{\"adapters\":{%s}%s}", adapters, more);
    write_file("Agent.md", "# Role\n");
    write_file("ship.json", text);
    warnings[0] = error.text[0] = '\0';
    if (sma_config_load(dir, &overrides, collect, NULL, &config, &error) != SMA_ERR_OK)
        CHECK(config == NULL);
    return config;
}

static struct sma_config *load(const char *adapters, const char *more)
{
    struct sma_config *config = try_load(adapters, more);
    if (config == NULL)
        fprintf(stderr, "%s\n", error.text);
    CHECK(config != NULL);
    return config;
}

static void refuse(const char *adapters, const char *more, const char *line)
{
    CHECK(try_load(adapters, more) == NULL);
    if (strstr(error.text, line) == NULL)
        fprintf(stderr, "line: %s\nwanted: %s\n", error.text, line);
    CHECK(strstr(error.text, line) != NULL);
    CHECK(strchr(error.text, '\n') == NULL);
}

static const struct sma_config_adapter *block_of(const struct sma_config *config, const char *name)
{
    for (size_t i = 0; i < config->adapter_count; i++)
        if (strcmp(config->adapters[i].name, name) == 0)
            return &config->adapters[i];
    return NULL;
}

static void expect_member(const struct sma_config *config, const char *name, const char *member,
                          const char *value)
{
    const struct sma_config_adapter *block = block_of(config, name);
    CHECK(block != NULL);
    json_t *root = json_loads(block->json, 0, NULL);
    const char *text = json_string_value(json_object_get(root, member));
    CHECK_TEXT(value, text == NULL ? "" : text);
    json_decref(root);
}

ENDING(sma_config_destroy, struct sma_config)
ENDING(sma_access_rules_destroy, struct sma_access_rules)

/* -- blocks ------------------------------------------------------------------------------------ */
CASE(each_bot_of_a_list_is_a_block_of_its_own)
{
    setenv("SUPPORT_TOKEN", "2:support", 1);
    struct sma_config *config =
        load("\"telegram\":[{\"enabled\":true,\"botToken\":\"1:first\"},"
             "{\"id\":\"support\",\"enabled\":true,\"botToken\":\"${SUPPORT_TOKEN}\"},"
             "{\"id\":\"off\",\"enabled\":false}],\"qq\":{\"enabled\":false}",
             ",\"access\":\"anyone\"");
    CHECK_INT(4, config->adapter_count);
    expect_member(config, "telegram", "botToken", "1:first");
    expect_member(config, "telegram@support", "botToken", "2:support");
    expect_member(config, "telegram@support", "access", "anyone"); /* of all platforms */
    CHECK(block_of(config, "telegram")->is_enabled);
    CHECK(block_of(config, "telegram@support")->is_enabled);
    CHECK(!block_of(config, "telegram@off")->is_enabled);
    CHECK_TEXT("", warnings);
    sma_config_destroy(config);
    unsetenv("SUPPORT_TOKEN");
}

/* Nothing of the file's order is in a name. */
CASE(names_come_from_ids_alone)
{
    struct sma_config *config = load("\"feishu\":[{\"id\":\"b\"},{\"id\":\"a-1_x\"}]", "");
    CHECK(block_of(config, "feishu@b") != NULL && block_of(config, "feishu@a-1_x") != NULL);
    CHECK(block_of(config, "feishu") == NULL);
    sma_config_destroy(config);
    config = load("\"telegram\":{\"enabled\":true,\"id\":\"main\",\"botToken\":\"1:a\"}", "");
    CHECK(block_of(config, "telegram") != NULL); /* one bot is the platform's, whatever it says */
    CHECK(strstr(warnings, "adapters.telegram.id is ignored: it counts in a list") != NULL);
    sma_config_destroy(config);
    config = load("", ",\"integrations\":{\"qq\":[{\"id\":\"old\"}]}");
    CHECK(block_of(config, "qq@old") != NULL);
    sma_config_destroy(config);
    config = load("\"telegram@x\":{\"enabled\":true,\"botToken\":\"1:a\"}", "");
    CHECK_INT(0, config->adapter_count); /* the name of a bot is no key */
    CHECK(strstr(warnings, "unknown key adapters.telegram@x") != NULL);
    sma_config_destroy(config);
}

CASE(a_variable_that_is_missing_is_named_for_its_bot)
{
    unsetenv("NO_SUCH_TOKEN");
    SMA_AUTO(sma_config_destroyp)
    struct sma_config *config =
        load("\"telegram\":[{\"enabled\":true,\"botToken\":\"1:a\"},"
             "{\"id\":\"on\",\"enabled\":true,\"botToken\":\"${NO_SUCH_TOKEN}\"},"
             "{\"id\":\"off\",\"enabled\":false,\"botToken\":\"${NO_SUCH_TOKEN}\"}]",
             "");
    CHECK(strstr(warnings, "adapters.telegram.1.botToken uses ${NO_SUCH_TOKEN}") != NULL);
    CHECK(strstr(warnings, "telegram.2.botToken") == NULL);
}

/* QQ_APP_ID would make both one account. */
CASE(variables_without_a_placeholder_are_the_first_bots)
{
    const struct sma_params *table = NULL;
    for (const struct sma_params *const *at = platform_params(); *at != NULL; at++)
        if (strcmp((*at)->name, "qq") == 0)
            table = *at;
    CHECK(table != NULL);
    char settings[4096] = {0}, *app_id;
    const struct sma_param *row = sma_params_find(table, "appId");
    setenv("QQ_APP_ID", "4711", 1);
    CHECK_OK(sma_params_read_block(table, "{}", "", settings, &error));
    memcpy(&app_id, settings + row->offset, sizeof app_id);
    CHECK_TEXT("4711", app_id);
    sma_params_free(table, settings);
    CHECK_OK(sma_params_read_block(table, "{\"id\":\"b\"}", "", settings, &error));
    memcpy(&app_id, settings + row->offset, sizeof app_id);
    CHECK_TEXT("", app_id);
    sma_params_free(table, settings);
    CHECK_ERR(SMA_ERR_BADINPUT,
              sma_params_read_block(table, "{\"id\":\"b\",\"shards\":-1}", "", settings, &error));
    CHECK(strstr(error.text, "adapters.qq@b.shards must be between") != NULL);
    sma_params_free(table, settings);
    refuse("\"qq\":[{\"enabled\":true},{\"id\":\"b\",\"enabled\":true,\"appId\":\"4711\"}]", "",
           "qq and qq@b have one appId");
    unsetenv("QQ_APP_ID");
}

/* -- what is wrong ----------------------------------------------------------------------------- */
CASE(what_cannot_be_told_apart_is_refused)
{
    refuse("\"telegram\":[{\"id\":\"a\"},{\"id\":\"b\"},{\"id\":\"a\"}]", "",
           "adapters.telegram: two bots have the id \"a\"");
    refuse("\"telegram\":[{},{}]", "", "adapters.telegram.1 has no id");
    refuse("\"telegram\":[{\"id\":\"a\"},{}]", "", "adapters.telegram.1 has no id");
    refuse("\"telegram\":[]", "", "adapters.telegram is an empty list");
    refuse("\"telegram\":[{},\"b\"]", "", "adapters.telegram.1 must be an object");
    refuse("\"telegram\":\"b\"", "", "adapters.telegram must be an object");
    refuse("\"http\":[{}]", "", "adapters.http must be an object");
    refuse("\"terminal\":[{}]", "", "adapters.terminal must be an object");
    refuse("\"telegram\":[{},{\"id\":\"b\",\"pollTimeoutS\":999}]", "",
           "adapters.telegram@b.pollTimeoutS must be between");
    refuse("\"telegram\":[{},{\"id\":\"b\",\"enabled\":\"maybe\"}]", "",
           "adapters.telegram@b.enabled must be true or false");
    SMA_AUTO(sma_config_destroyp)
    struct sma_config *config = load("\"telegram\":[{},{\"id\":\"b\",\"botTokn\":\"x\"}]", "");
    CHECK(strstr(warnings, "unknown key adapters.telegram@b.botTokn is ignored; did you mean "
                           "adapters.telegram@b.botToken?") != NULL);
}

CASE(an_id_is_a_short_plain_word)
{
    static const char *const bad[] = {
        "\"\"",    "\"Support\"", "\"a b\"", "\"a:b\"",  "\"a/b\"",
        "\"a@b\"", "\"..\"",      "\"-a\"",  "\"_a\"",   "\"\u00e4\"",
        "7",       "[\"a\"]",     "\"a*\"",  "\"a\\n\"", "\"12345678901234567\""};
    static const char *const good[] = {"a", "0", "a-b_c", "1234567890123456"};
    char text[256], name[64];
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++) {
        snprintf(text, sizeof text, "\"telegram\":[{},{\"id\":%s}]", bad[i]);
        refuse(text, "", "adapters.telegram.1.id must be 1 to 16 of a-z 0-9 _ -");
    }
    for (size_t i = 0; i < SMA_COUNT_OF(good); i++) {
        snprintf(text, sizeof text, "\"telegram\":[{},{\"id\":\"%s\"}]", good[i]);
        struct sma_config *config = load(text, "");
        snprintf(name, sizeof name, "telegram@%s", good[i]);
        CHECK(block_of(config, name) != NULL);
        CHECK(sma_bot_is_of(sma_str(name), "telegram"));
        CHECK(sma_str_is_equal(sma_bot_id(sma_str(name)), sma_str(good[i])));
        sma_config_destroy(config);
    }
}

CASE(two_bots_never_have_one_account)
{
    refuse("\"telegram\":[{\"enabled\":true,\"botToken\":\"1:x\"},"
           "{\"id\":\"b\",\"enabled\":true,\"botToken\":\"1:x\"}]",
           "", "adapters.telegram: telegram and telegram@b have one botToken");
    refuse("\"feishu\":[{\"id\":\"a\",\"enabled\":true,\"appId\":\"cli_1\"},"
           "{\"id\":\"b\",\"enabled\":true,\"appId\":\"cli_1\"}]",
           "", "feishu@a and feishu@b have one appId");
    refuse("\"telegram\":[{\"enabled\":true,\"botToken\":\"1:x\",\"webhookSecret\":"
           "\"0123456789abcdef\"},"
           "{\"id\":\"b\",\"enabled\":true,\"botToken\":\"2:x\",\"webhookSecret\":"
           "\"0123456789abcdef\"}]",
           "", "telegram and telegram@b have one webhookSecret");
    /* one of them is off: nobody else takes its messages */
    sma_config_destroy(load("\"telegram\":[{\"enabled\":true,\"botToken\":\"1:x\"},"
                            "{\"id\":\"b\",\"enabled\":false,\"botToken\":\"1:x\"}]",
                            ""));
}

/* -- people ------------------------------------------------------------------------------------ */
static enum sma_access_standing standing(const struct sma_access_roles *roles, const char *channel,
                                         const char *user)
{
    return sma_access_roles_find(roles, sma_str(channel), SMA_STR(""), sma_str(user));
}

/* Telegram's ids are one person's at every bot; those of others are each bot's own. */
CASE(a_role_holds_where_its_id_means_the_person)
{
    struct sma_access_roles *roles = NULL;
    CHECK_OK(sma_access_roles_parse(
        SMA_STR("{\"roles\":{\"owner\":[\"telegram:1001\",\"telegram@ops:1002\"],"
                "\"admin\":[\"feishu:ou_x\",\"feishu@b:ou_y\"],\"member\":[\"qq:A\"]}}"),
        &roles, &error));
    CHECK_INT(SMA_ACCESS_OWNER, standing(roles, "telegram", "1001"));
    CHECK_INT(SMA_ACCESS_OWNER, standing(roles, "telegram@ops", "1001"));
    CHECK_INT(SMA_ACCESS_OWNER, standing(roles, "telegram@ops", "1002"));
    CHECK_INT(SMA_ACCESS_STRANGER, standing(roles, "telegram", "1002"));
    CHECK_INT(SMA_ACCESS_STRANGER, standing(roles, "telegram@other", "1002"));
    CHECK_INT(SMA_ACCESS_ADMIN, standing(roles, "feishu", "ou_x"));
    CHECK_INT(SMA_ACCESS_STRANGER, standing(roles, "feishu@b", "ou_x"));
    CHECK_INT(SMA_ACCESS_ADMIN, standing(roles, "feishu@b", "ou_y"));
    CHECK_INT(SMA_ACCESS_STRANGER, standing(roles, "feishu", "ou_y"));
    CHECK_INT(SMA_ACCESS_STRANGER, standing(roles, "qq@b", "A"));
    CHECK_INT(SMA_ACCESS_STRANGER, standing(roles, "telegramx", "1001"));
    sma_access_roles_destroy(roles);
    CHECK_ERR(SMA_ERR_BADINPUT,
              sma_access_roles_parse(SMA_STR("{\"roles\":{\"owner\":[\"telegram@ops:ann\"]}}"),
                                     &roles, &error));
}

CASE(a_list_of_people_holds_likewise)
{
    SMA_AUTO(sma_access_rules_destroyp) struct sma_access_rules *rules = NULL;
    CHECK_OK(sma_access_rules_parse(
        SMA_STR("{\"access\":[\"telegram:1\",\"telegram@ops:2\",\"feishu:ou_3\",\"4\"]}"), &rules,
        &error));
    CHECK(sma_access_is_listed(rules, SMA_STR("telegram@ops"), SMA_STR("1")));
    CHECK(sma_access_is_listed(rules, SMA_STR("telegram@ops"), SMA_STR("2")));
    CHECK(!sma_access_is_listed(rules, SMA_STR("telegram"), SMA_STR("2")));
    CHECK(!sma_access_is_listed(rules, SMA_STR("feishu@b"), SMA_STR("ou_3")));
    CHECK(sma_access_is_listed(rules, SMA_STR("feishu"), SMA_STR("ou_3")));
    CHECK(sma_access_is_listed(rules, SMA_STR("qq@b"), SMA_STR("4")));
    CHECK(!sma_access_is_listed(rules, SMA_STR("telegram"), SMA_STR("m:1")));
}

/* -- SIGHUP ------------------------------------------------------------------------------------ */
CASE(what_counts_from_the_next_start_is_named_with_its_bot)
{
    struct sma_config *one = load("\"telegram\":[{\"botToken\":\"1:a\"},"
                                  "{\"id\":\"b\",\"botToken\":\"2:b\",\"access\":\"anyone\"}]",
                                  "");
    struct sma_config *moved = load("\"telegram\":[{\"id\":\"b\",\"botToken\":\"2:b\"},"
                                    "{\"id\":\"c\"}]",
                                    "");
    SMA_AUTO(sma_config_destroyp)
    struct sma_config *other = load("\"telegram\":[{\"botToken\":\"1:a\"},"
                                    "{\"id\":\"b\",\"botToken\":\"2:new\"}]",
                                    "");
    warnings[0] = '\0';
    sma_config_warn_late(one, other, collect, NULL);
    CHECK(strstr(warnings, "next start: adapters.telegram@b.botToken\n") != NULL);
    warnings[0] = '\0';
    sma_config_warn_late(one, moved, collect, NULL);
    CHECK(strstr(warnings, "adapters.telegram.botToken") != NULL); /* gone */
    CHECK(strstr(warnings, "adapters.telegram@c.id") != NULL);     /* new */
    CHECK(strstr(warnings, "telegram@b") == NULL);                 /* stands elsewhere */
    sma_config_destroy(one);
    sma_config_destroy(moved);
}

/* -- chats ------------------------------------------------------------------------------------- */
#define TWO "\"telegram\":[{},{\"id\":\"ops\"}],\"feishu\":[{\"id\":\"x\"}]"

static const char *prompt_of(const struct sma_config *config, const char *key, bool is_group)
{
    struct sma_chat_rules rules = sma_chat_rules_find(config, sma_str(key), is_group);
    return rules.prompt == NULL ? "" : rules.prompt->prompt;
}

/* A restriction of a platform is one of all its bots; what names a bot is more exact. */
CASE(a_pattern_without_a_bot_speaks_of_all)
{
    SMA_AUTO(sma_config_destroyp)
    struct sma_config *config = load(TWO, ",\"chats\":{\"telegram\":{\"prompt\":\"platform\"},"
                                          "\"telegram@ops\":{\"prompt\":\"ops\"},"
                                          "\"telegram:group:*\":{\"prompt\":\"groups\"},"
                                          "\"telegram@ops:group:*\":{\"prompt\":\"ops groups\"},"
                                          "\"telegram:chat:7\":{\"prompt\":\"seven\"},"
                                          "\"telegram:chat:-8:topic:1\":{\"prompt\":\"topic\"},"
                                          "\"telegram@ops:chat:-8\":{\"prompt\":\"ops eight\"},"
                                          "\"telegram@ops:chat:9\":{\"prompt\":\"ops nine\"},"
                                          "\"telegram:chat:9\":{\"prompt\":\"nine\"},"
                                          "\"feishu:private:*\":{\"prompt\":\"alone\"}}");
    static const struct
    {
        const char *key;
        bool is_group;
        const char *wanted;
    } rows[] = {
        {"telegram:chat:5", false, "platform"},
        {"telegram@ops:chat:5", false, "ops"},
        {"telegram:chat:-5", true, "groups"},
        {"telegram@ops:chat:-5", true, "ops groups"},
        {"telegram:chat:7", false, "seven"},
        {"telegram@ops:chat:7", false, "seven"},
        {"telegram:chat:9", false, "nine"},
        {"telegram@ops:chat:9", false, "ops nine"},
        {"telegram@ops:chat:-8", true, "ops eight"},
        {"telegram:chat:-8", true, "groups"},
        {"telegram@ops:chat:-8:topic:1", true, "topic"},
        {"telegram@ops:chat:-8:topic:2", true, "ops eight"},
        {"feishu@x:chat:oc_1", false, "alone"},
        {"telegram@opsx:chat:5", false, "platform"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        const char *found = prompt_of(config, rows[i].key, rows[i].is_group);
        if (strcmp(found, rows[i].wanted) != 0)
            fprintf(stderr, "%s: %s\n", rows[i].key, found);
        CHECK_TEXT(rows[i].wanted, found);
    }
}

CASE(a_pattern_for_a_bot_that_is_not_there_is_refused)
{
    refuse(TWO, ",\"chats\":{\"telegram@oops:*\":{\"prompt\":\"x\"}}",
           "adapters.telegram has no bot with the id \"oops\"");
    refuse(TWO, ",\"chats\":{\"qq@ops\":{\"prompt\":\"x\"}}",
           "adapters.qq has no bot with the id \"ops\"");
    refuse(TWO, ",\"chats\":{\"telegrm@ops:*\":{\"prompt\":\"x\"}}", "is not a platform");
    sma_config_destroy(load(TWO, ",\"chats\":{\"telegram@*:*\":{\"prompt\":\"x\"}}"));
}

int main(void)
{
    CHECK(mkdtemp(dir) != NULL);
    check_run_cases(NULL);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) == 0 ? 0 : 1;
}
