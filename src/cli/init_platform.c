/*
 * init_platform.c — the platforms of a new project: which, their tokens, each tested as it comes,
 * and who is owner there.
 *
 * What a platform needs is told by its own table (sma_adapter_setup): members with placeholders,
 * whose names are the variables that .env gets.
 */
#include "init.h"

#include "adapters.h"
#include "cli.h"
#include "init_owner.h"
#include "init_test.h"
#include "key_shape.h"
#include "probe/probe.h"
#include "prompt.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* -- which ------------------------------------------------------------------------------------- */
/* "none", then every platform that can be set up here. @return the count */
static size_t list_platforms(const char *names[SMA_ADAPTER_COUNT_MAX + 1])
{
    size_t count = 0;
    names[count++] = "none";
    for (size_t i = 0; sma_adapter_table[i].ops != NULL; i++)
        if (sma_adapter_table[i].ops->setup.members != NULL && count <= SMA_ADAPTER_COUNT_MAX)
            names[count++] = sma_adapter_table[i].ops->name;
    return count;
}

static const struct sma_adapter_ops *find_ops(const char *name)
{
    for (size_t i = 0; sma_adapter_table[i].ops != NULL; i++)
        if (sma_adapter_table[i].ops->setup.members != NULL &&
            strcmp(sma_adapter_table[i].ops->name, name) == 0)
            return sma_adapter_table[i].ops;
    return NULL;
}

static int refuse_name(const char *name)
{
    const char *platforms[SMA_ADAPTER_COUNT_MAX + 1];
    size_t count = list_platforms(platforms);
    struct sma_buf known;
    sma_buf_init(&known, 1024);
    for (size_t i = 0; i < count; i++)
        sma_buf_printf(&known, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", platforms[i]);
    int status = sma_cli_fail("init: --adapter takes %s, not %s",
                              known.err == SMA_ERR_OK ? known.ptr : "none", name);
    sma_buf_fini(&known);
    return status;
}

int init_add_platform(struct init_answers *answers, const char *name)
{
    answers->is_platform_given = true;
    if (strcmp(name, "none") == 0)
        return 0;
    const struct sma_adapter_ops *ops = find_ops(name);
    if (ops == NULL)
        return refuse_name(name);
    for (size_t i = 0; i < answers->platform_count; i++)
        if (answers->platforms[i].ops == ops)
            return 0;
    if (answers->platform_count == INIT_PLATFORM_COUNT_MAX)
        return sma_cli_fail("init: more than %d platforms", INIT_PLATFORM_COUNT_MAX);
    answers->platforms[answers->platform_count++].ops = ops;
    return 0;
}

bool init_has_owner(const struct init_answers *answers, const struct sma_adapter_ops *ops)
{
    size_t len = strlen(ops->channel);
    for (size_t i = 0; i < answers->owner_count; i++)
        if (strncmp(answers->owners[i], ops->channel, len) == 0 && answers->owners[i][len] == ':')
            return true;
    return false;
}

/* -- the block --------------------------------------------------------------------------------- */
/* "${NAME}" */
static bool read_placeholder(const char *text, char *name, size_t room)
{
    size_t len = text == NULL ? 0 : strlen(text);
    if (len < 4 || strncmp(text, "${", 2) != 0 || text[len - 1] != '}' || len - 3 >= room)
        return false;
    snprintf(name, room, "%.*s", (int)(len - 3), text + 2);
    return true;
}

/* The members of setup as a tree; decref it. */
static json_t *read_members(const struct sma_adapter_ops *ops)
{
    char text[1024];
    snprintf(text, sizeof text, "{%s}", ops->setup.members);
    json_t *members = json_loads(text, 0, NULL);
    return members != NULL ? members : json_object();
}

/* As ship.json will say it, with the values in place of their names. Free it. */
static char *format_block(const struct init_answers *answers, const struct init_platform *platform)
{
    json_t *members = read_members(platform->ops), *value;
    const char *member;
    char name[INIT_NAME_BYTES_MAX], secret[INIT_SECRET_BYTES_MAX];
    json_object_set_new(members, "enabled", json_true());
    json_object_foreach(members, member, value)
    {
        if (read_placeholder(json_string_value(value), name, sizeof name) &&
            init_secrets_find(&answers->secrets, answers->dir, name, secret, sizeof secret))
            json_string_set(value, secret);
    }
    if (platform->ops->setup.switch_key != NULL)
        json_object_set_new(members, platform->ops->setup.switch_key,
                            json_boolean(platform->is_switched));
    if (answers->telegram_root[0] != '\0' && strcmp(platform->ops->name, "telegram") == 0)
        json_object_set_new(members, "apiRoot", json_string(answers->telegram_root));
    char *text = json_dumps(members, JSON_COMPACT);
    json_decref(members);
    explicit_bzero(secret, sizeof secret);
    return text;
}

static enum sma_probe_state test(const struct init_answers *answers,
                                 const struct init_platform *platform,
                                 struct sma_probe_result *result)
{
    *result = (struct sma_probe_result){0};
    if (answers->is_untested)
        return SMA_PROBE_OK;
    char *json = format_block(answers, platform);
    const struct sma_config config = {.project_dir = answers->dir, .proxy = answers->proxy};
    const struct sma_config_adapter block = {.name = platform->ops->name,
                                             .is_enabled = true,
                                             .says_enabled = true,
                                             .json = json == NULL ? "{}" : json};
    init_test_begin(platform->ops->name);
    sma_probe_platform(platform->ops, &config, &block, result);
    init_test_show(result);
    free(json);
    return result->state;
}

/* NULL, or why this cannot be the value of this variable. */
static const char *secret_fault(const char *name, const char *value)
{
    const char *fault = init_secret_fault(value);
    return fault != NULL ? fault : sma_key_shape_fault(name, value);
}

/* -- tokens ------------------------------------------------------------------------------------ */
static bool type_secret(struct init_answers *answers, const char *platform, const char *member,
                        const char *name)
{
    char question[256], value[INIT_SECRET_BYTES_MAX];
    size_t len = strlen(member);
    bool is_id = len > 2 && strcmp(member + len - 2, "Id") == 0; /* no secret, better seen */
    snprintf(question, sizeof question, "%s of %s", member, platform);
    for (;;) {
        if (!(is_id ? sma_prompt_line(question, "", value, sizeof value)
                    : sma_prompt_secret(question, value, sizeof value)))
            return false;
        const char *fault = secret_fault(name, value);
        if (fault == NULL && init_secret_is_shadowed(name, value))
            fault = "this shell has another value of that name, which would stand above .env";
        if (fault == NULL)
            return init_secrets_put(&answers->secrets, name, value) == 0;
        printf("This cannot be used (%s): %s.\n", name, fault);
    }
}

/* Given by options, or entered: what is only in the environment is left alone. */
static bool is_put(const struct init_answers *answers, const char *name)
{
    for (size_t i = 0; i < answers->secrets.count; i++)
        if (strcmp(answers->secrets.items[i].name, name) == 0)
            return true;
    return false;
}

static bool offer_secret(struct init_answers *answers, const char *name, bool *ret_is_taken)
{
    char value[INIT_SECRET_BYTES_MAX], question[256];
    *ret_is_taken = is_put(answers, name); /* an option says which: there is nothing to ask */
    if (*ret_is_taken ||
        !init_secrets_find(&answers->secrets, answers->dir, name, value, sizeof value))
        return true;
    const char *fault = secret_fault(name, value);
    if (fault != NULL) {
        printf("%s is set, and cannot be used: %s.\n", name, fault);
        return true;
    }
    snprintf(question, sizeof question, "%s is set %s. Use it?", name,
             getenv(name) != NULL ? "in this shell (it will be kept in .env)" : "in .env");
    if (!sma_prompt_yes(question, true, ret_is_taken))
        return false;
    return !*ret_is_taken || init_secrets_put(&answers->secrets, name, value) == 0;
}

/* is_anew: what was there has failed. */
static bool ask_secrets(struct init_answers *answers, const struct init_platform *platform,
                        bool is_anew)
{
    json_t *members = read_members(platform->ops), *value;
    const char *member;
    char name[INIT_NAME_BYTES_MAX];
    bool is_going = true;
    json_object_foreach(members, member, value)
    {
        bool is_there = false;
        if (!is_going || !read_placeholder(json_string_value(value), name, sizeof name))
            continue;
        is_going = (is_anew || offer_secret(answers, name, &is_there)) &&
                   (is_there || type_secret(answers, platform->ops->name, member, name));
    }
    json_decref(members);
    return is_going;
}

static bool ask_switch(struct init_answers *answers, struct init_platform *platform)
{
    platform->is_switched = answers->is_switched;
    if (platform->ops->setup.switch_question == NULL || answers->is_switched)
        return true;
    return sma_prompt_yes(platform->ops->setup.switch_question, false, &platform->is_switched);
}

/* -- questions --------------------------------------------------------------------------------- */
static bool ask_owner(struct init_answers *answers, const struct init_platform *platform,
                      const char *who)
{
    char *json = format_block(answers, platform);
    const struct sma_config config = {.project_dir = answers->dir, .proxy = answers->proxy};
    const struct sma_config_adapter block = {.name = platform->ops->name,
                                             .is_enabled = true,
                                             .says_enabled = true,
                                             .json = json == NULL ? "{}" : json};
    bool is_going =
        answers->owner_count == INIT_OWNER_COUNT_MAX ||
        init_owner_ask(platform->ops, &config, &block, who, answers->owners[answers->owner_count]);
    if (is_going && answers->owner_count < INIT_OWNER_COUNT_MAX &&
        answers->owners[answers->owner_count][0] != '\0')
        answers->owner_count++;
    free(json);
    return is_going;
}

static void show_source(const struct sma_adapter_ops *ops)
{
    if (ops->setup.source != NULL)
        printf("Its credentials come from %s.\n", ops->setup.source);
}

static bool ask_one(struct init_answers *answers, struct init_platform *platform, bool *ret_is_left)
{
    struct sma_probe_result result;
    *ret_is_left = false;
    show_source(platform->ops);
    if (!ask_switch(answers, platform))
        return false;
    for (enum init_step step = INIT_STEP_CHANGE, first = step;; first = INIT_STEP_AGAIN) {
        if (step == INIT_STEP_CHANGE && !ask_secrets(answers, platform, first != INIT_STEP_CHANGE))
            return false;
        if (test(answers, platform, &result) != SMA_PROBE_ERROR)
            return init_has_owner(answers, platform->ops) ||
                   ask_owner(answers, platform, result.who);
        if (!init_test_ask_step("another", "leave this platform out", &step))
            return false;
        *ret_is_left = step == INIT_STEP_LEAVE;
        if (step == INIT_STEP_KEEP || step == INIT_STEP_LEAVE)
            return true;
    }
}

static void drop_secrets(struct init_answers *answers, const struct sma_adapter_ops *ops)
{
    json_t *members = read_members(ops), *value;
    const char *member;
    char name[INIT_NAME_BYTES_MAX];
    json_object_foreach(members, member, value)
    {
        if (read_placeholder(json_string_value(value), name, sizeof name))
            init_secrets_drop(&answers->secrets, name);
    }
    json_decref(members);
}

/* The platform at `index`; one that is left out goes. false: the input ended. */
static bool ask_at(struct init_answers *answers, size_t index)
{
    bool is_left;
    if (!ask_one(answers, &answers->platforms[index], &is_left))
        return false;
    if (!is_left)
        return true;
    drop_secrets(answers, answers->platforms[index].ops);
    memmove(&answers->platforms[index], &answers->platforms[index + 1],
            (answers->platform_count - index - 1) * sizeof answers->platforms[0]);
    answers->platform_count--;
    return true;
}

static bool is_chosen(const struct init_answers *answers, const char *name)
{
    for (size_t i = 0; i < answers->platform_count; i++)
        if (strcmp(answers->platforms[i].ops->name, name) == 0)
            return true;
    return false;
}

/* Until "none" is chosen; most people have one. */
static int ask_which(struct init_answers *answers)
{
    for (bool is_wanted = true; is_wanted;) {
        const char *names[SMA_ADAPTER_COUNT_MAX + 1], *left[SMA_ADAPTER_COUNT_MAX + 1];
        size_t count = list_platforms(names), left_count = 0, index;
        for (size_t i = 0; i < count; i++)
            if (!is_chosen(answers, names[i]))
                left[left_count++] = names[i];
        if (left_count == 1)
            break;
        if (!sma_prompt_choice("Platform to connect:", left, left_count, 0, &index))
            return INIT_ENDED;
        if (index == 0)
            break;
        if (init_add_platform(answers, left[index]) != 0)
            return 1;
        if (!ask_at(answers, answers->platform_count - 1) ||
            !sma_prompt_yes("Connect another platform?", false, &is_wanted))
            return INIT_ENDED;
    }
    return 0;
}

int init_ask_platforms(struct init_answers *answers)
{
    if (!answers->is_platform_given)
        return ask_which(answers);
    for (size_t i = answers->platform_count; i-- > 0;)
        if (!ask_at(answers, i))
            return INIT_ENDED;
    return 0;
}

/* -- without questions ------------------------------------------------------------------------- */
static bool is_anywhere(const struct init_answers *answers, const char *name)
{
    char value[INIT_SECRET_BYTES_MAX];
    return init_secrets_find(&answers->secrets, answers->dir, name, value, sizeof value);
}

static bool has_all(const struct init_answers *answers, const struct sma_adapter_ops *ops,
                    bool (*has)(const struct init_answers *answers, const char *name))
{
    json_t *members = read_members(ops), *value;
    const char *member;
    char name[INIT_NAME_BYTES_MAX];
    bool is_all = true;
    json_object_foreach(members, member, value)
    {
        if (read_placeholder(json_string_value(value), name, sizeof name))
            is_all = is_all && has(answers, name);
    }
    json_decref(members);
    return is_all;
}

bool init_has_secrets(const struct init_answers *answers, const struct sma_adapter_ops *ops)
{
    return has_all(answers, ops, is_anywhere);
}

int init_check_platforms(struct init_answers *answers)
{
    struct sma_probe_result result;
    for (size_t i = 0; i < answers->platform_count; i++) {
        struct init_platform *platform = &answers->platforms[i];
        platform->is_switched = answers->is_switched;
        if (!has_all(answers, platform->ops, is_put) ||
            test(answers, platform, &result) != SMA_PROBE_ERROR)
            continue;
        return sma_cli_fail("init: %s does not take this bot, so nothing was written; --untested "
                            "writes all the same",
                            platform->ops->name);
    }
    return 0;
}
