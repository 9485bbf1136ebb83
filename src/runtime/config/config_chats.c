/*
 * config_chats.c — `chats` of ship.json: patterns, and what is different in chats that they fit.
 * What is wrong there ends the start, also where another key would only be told: a restriction that
 * is spelled wrong must not be left out in silence.
 */
#include "config_load.h"

#include "runtime/access/access.h"
#include "runtime/tools/tools.h"
#include "sma/chats.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define PATH_BYTES_MAX 256
#define PATTERN_BYTES_MAX 200

/* The entry that is read. */
struct entry
{
    struct loading *loading;
    const char *pattern;
    const json_t *json, *written;
    struct sma_chat_rule *rule;
};

static void put_path(const struct entry *entry, const char *member, char path[PATH_BYTES_MAX])
{
    (void)snprintf(path, PATH_BYTES_MAX, "chats.%.*s.%s", PATTERN_BYTES_MAX, entry->pattern,
                   member);
}

/* "; did you mean X?" of the nearest word, or "" */
static const char *guess(const char *word, const char *const *known, size_t count,
                         char room[PATH_BYTES_MAX])
{
    unsigned best = strlen(word) < 8 ? 3 : 5;
    room[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        unsigned distance = sma_text_distance(sma_str(word), sma_str(known[i]));
        if (distance >= best)
            continue;
        best = distance;
        (void)snprintf(room, PATH_BYTES_MAX, "; did you mean %s?", known[i]);
    }
    return room;
}

/* -- patterns ---------------------------------------------------------------------------------- */
static bool is_one_of(struct sma_str word, const char *const *known, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sma_str_is_equal(word, sma_str(known[i])))
            return true;
    return memchr(word.ptr, '*', word.len) != NULL;
}

/* One of the first two words of a pattern. */
static enum sma_err check_word(const struct entry *entry, struct sma_str word,
                               const char *const *known, size_t count, const char *what)
{
    char text[64], room[PATH_BYTES_MAX];
    if (word.len == 0 || is_one_of(word, known, count))
        return SMA_ERR_OK;
    (void)snprintf(text, sizeof text, "%.*s", (int)word.len, word.ptr);
    return sma_fail(entry->loading->error, SMA_ERR_BADINPUT,
                    "%s: chats.%.*s: \"%s\" is not a %s%s; a pattern is like telegram:group:* or "
                    "feishu:chat:oc_1",
                    entry->loading->file, PATTERN_BYTES_MAX, entry->pattern, text, what,
                    guess(text, known, count, room));
}

/* A bot that is not there may be one that is spelled wrong. */
static enum sma_err check_bot(const struct entry *entry, struct sma_str name)
{
    struct sma_str id = sma_bot_id(name);
    if (id.len == 0 || memchr(name.ptr, '*', name.len) != NULL ||
        config_has_bot(entry->loading->root, name))
        return SMA_ERR_OK;
    return sma_fail(entry->loading->error, SMA_ERR_BADINPUT,
                    "%s: chats.%.*s: adapters.%.*s has no bot with the id \"%.*s\"",
                    entry->loading->file, PATTERN_BYTES_MAX, entry->pattern,
                    (int)sma_bot_platform(name).len, name.ptr, (int)id.len, id.ptr);
}

static enum sma_err check_pattern(const struct entry *entry)
{
    static const char *const platforms[] = {"telegram", "feishu", "qq", "api", "web", "cli"};
    static const char *const kinds[] = {"group", "private", "chat", "c2c", "channel", "dm"};
    const char *pattern = entry->pattern;
    if (pattern[0] == '\0' || strlen(pattern) > PATTERN_BYTES_MAX)
        return sma_fail(entry->loading->error, SMA_ERR_BADINPUT,
                        "%s: chats: a pattern has 1 to %d bytes, this one does not: \"%.40s\"",
                        entry->loading->file, PATTERN_BYTES_MAX, pattern);
    const char *colon = strchrnul(pattern, ':');
    struct sma_str first = {pattern, (size_t)(colon - pattern)};
    SMA_TRY(
        check_word(entry, sma_bot_platform(first), platforms, SMA_COUNT_OF(platforms), "platform"));
    SMA_TRY(check_bot(entry, first));
    if (*colon == '\0' || memchr(first.ptr, '*', first.len) != NULL)
        return SMA_ERR_OK; /* a star may stand for more than one word */
    struct sma_str second = {colon + 1, strcspn(colon + 1, ":")};
    return check_word(entry, second, kinds, SMA_COUNT_OF(kinds), "kind of chat");
}

/* -- models ------------------------------------------------------------------------------------ */
static enum sma_err add_model(struct loading *loading, const struct sma_config_llm *llm)
{
    struct sma_config *config = loading->config;
    if (config->model_count == SMA_MODEL_COUNT_MAX)
        return sma_fail(loading->error, SMA_ERR_TOOBIG,
                        "%s: chats names more than %d models together with llm", loading->file,
                        SMA_MODEL_COUNT_MAX);
    bool is_named = llm->name != NULL && llm->name[0] != '\0';
    if (is_named && sma_models_find(config, sma_str(llm->name)) < config->model_count)
        return sma_fail(loading->error, SMA_ERR_BADINPUT,
                        "%s: two models are called \"%s\"; give one of them another name",
                        loading->file, llm->name);
    config->models[config->model_count++] = llm;
    return SMA_ERR_OK;
}

static enum sma_err read_described(const struct entry *entry, const json_t *json)
{
    char path[PATH_BYTES_MAX];
    put_path(entry, "model", path);
    SMA_TRY(config_read_model(entry->loading, json, json_object_get(entry->written, "model"), path,
                              &entry->rule->model));
    return add_model(entry->loading, entry->rule->model);
}

static enum sma_err fail_model(const struct entry *entry, const char *text)
{
    const struct sma_config *config = entry->loading->config;
    size_t nearest = sma_models_nearest(config, sma_str(text));
    struct sma_buf label;
    sma_buf_init(&label, PATH_BYTES_MAX);
    if (nearest < config->model_count) {
        sma_buf_put_text(&label, "; did you mean ");
        sma_model_put_label(&label, config->models[nearest]);
        sma_buf_put_char(&label, '?');
    }
    sma_buf_put_char(&label, '\0');
    enum sma_err err = sma_fail(
        entry->loading->error, SMA_ERR_BADINPUT,
        "%s: chats.%s.model \"%.100s\" is neither the name of a model nor provider/model%s",
        entry->loading->file, entry->pattern, text, label.err == SMA_ERR_OK ? label.ptr : "");
    sma_buf_fini(&label);
    return err;
}

/* The name of one that is known, or "provider/model". */
static enum sma_err read_named(const struct entry *entry, const char *text)
{
    struct sma_config *config = entry->loading->config;
    size_t index = sma_models_find(config, sma_str(text));
    if (index < config->model_count) {
        entry->rule->model = config->models[index];
        return SMA_ERR_OK;
    }
    const char *slash = strchr(text, '/');
    char provider[64] = "";
    if (slash != NULL && (size_t)(slash - text) < sizeof provider)
        (void)snprintf(provider, sizeof provider, "%.*s", (int)(slash - text), text);
    if (provider[0] == '\0' || slash[1] == '\0' ||
        (sma_provider_find(provider) == NULL && strcmp(provider, config->llm.provider) != 0))
        return fail_model(entry, text);
    json_t *json = json_pack("{ssss}", "provider", provider, "model", slash + 1);
    enum sma_err err = json == NULL ? SMA_ERR_NOMEM : read_described(entry, json);
    json_decref(json);
    return err;
}

/* Those that are described first: they may be named by others. */
static enum sma_err read_model(const struct entry *entry, bool is_described)
{
    const json_t *value = json_object_get(entry->json, "model");
    if (value == NULL || json_is_null(value) || json_is_object(value) != is_described)
        return SMA_ERR_OK;
    if (is_described)
        return read_described(entry, value);
    if (!json_is_string(value))
        return sma_fail(entry->loading->error, SMA_ERR_BADINPUT,
                        "%s: chats.%s.model must be a name or an object like llm",
                        entry->loading->file, entry->pattern);
    return read_named(entry, json_string_value(value));
}

/* -- tools ------------------------------------------------------------------------------------- */
/* What one of the two lists says: our tools, and patterns of those that MCP servers have. */
struct tool_list
{
    uint32_t mask;
    bool is_there;
    const char **patterns;
    uint32_t pattern_count;
};

static enum sma_err read_list(const struct entry *entry, const char *member,
                              struct tool_list *ret_list)
{
    const json_t *list = json_object_get(json_object_get(entry->json, "tools"), member), *item;
    const char *names[SMA_TOOL_COUNT];
    size_t count, i;
    const struct sma_tool_spec *specs = sma_tool_specs(&count);
    for (i = 0; i < count; i++)
        names[i] = specs[i].name.ptr;
    *ret_list = (struct tool_list){.is_there = json_is_array(list)};
    if (json_array_size(list) > 0)
        ret_list->patterns =
            config_keep_room(entry->loading, json_array_size(list) * sizeof *ret_list->patterns);
    if (json_array_size(list) > 0 && ret_list->patterns == NULL)
        return SMA_ERR_NOMEM;
    json_array_foreach(list, i, item)
    {
        char room[PATH_BYTES_MAX];
        const char *name = json_string_value(item);
        enum sma_tool tool = sma_tool_find(sma_str(name == NULL ? "" : name));
        if (name != NULL && strchr(name, ':') != NULL) {
            ret_list->patterns[ret_list->pattern_count++] = config_keep_text(entry->loading, name);
            continue;
        }
        if (tool == SMA_TOOL_UNKNOWN)
            return sma_fail(entry->loading->error, SMA_ERR_BADINPUT,
                            "%s: chats.%s.tools.%s: \"%.60s\" is not a tool%s",
                            entry->loading->file, entry->pattern, member, name == NULL ? "" : name,
                            guess(name == NULL ? "" : name, names, count, room));
        ret_list->mask |= UINT32_C(1) << tool;
    }
    return SMA_ERR_OK;
}

static enum sma_err read_tools(const struct entry *entry)
{
    struct tool_list allowed, denied;
    SMA_TRY(read_list(entry, "allow", &allowed));
    SMA_TRY(read_list(entry, "deny", &denied));
    struct sma_chat_rule *rule = entry->rule;
    rule->says_tools = allowed.is_there || denied.is_there;
    rule->refused_tools = (denied.mask | (allowed.is_there ? ~allowed.mask : 0)) &
                          ((UINT32_C(1) << SMA_TOOL_COUNT) - 1);
    rule->allows_tools = allowed.is_there;
    rule->mcp_allowed = allowed.patterns;
    rule->mcp_allowed_count = allowed.pattern_count;
    rule->mcp_denied = denied.patterns;
    rule->mcp_denied_count = denied.pattern_count;
    return SMA_ERR_OK;
}

/* -- access ------------------------------------------------------------------------------------ */
/* A word or a list is its `access`. */
static enum sma_err read_access(const struct entry *entry)
{
    const json_t *value = json_object_get(entry->json, "access");
    if (value == NULL || json_is_null(value))
        return SMA_ERR_OK;
    json_t *block =
        json_is_object(value) ? json_deep_copy(value) : json_pack("{sO}", "access", value);
    char path[PATH_BYTES_MAX];
    put_path(entry, json_is_object(value) ? "access.access" : "access", path);
    const struct sma_param *row = sma_params_find(&sma_access_params, "access");
    const json_t *word = json_object_get(block, "access");
    enum sma_err err = block == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
    if (err == SMA_ERR_OK && word != NULL)
        err = sma_param_check(row, entry->loading->file, path, word, entry->loading->error);
    char *text = err == SMA_ERR_OK ? json_dumps(block, JSON_COMPACT) : NULL;
    json_decref(block);
    if (err != SMA_ERR_OK)
        return err;
    if (text == NULL)
        return SMA_ERR_NOMEM;
    entry->rule->access_json = config_keep_text(entry->loading, text);
    free(text);
    return SMA_ERR_OK;
}

/* -- one entry --------------------------------------------------------------------------------- */
static const char *text_of(const struct entry *entry, const char *member)
{
    const char *text = json_string_value(json_object_get(entry->json, member));
    return text == NULL || text[0] == '\0' ? NULL : config_keep_text(entry->loading, text);
}

/* A file of this folder or of one below. */
static bool is_inside(const char *path)
{
    return path[0] != '/' && strcmp(path, "..") != 0 && strncmp(path, "../", 3) != 0 &&
           strstr(path, "/../") == NULL;
}

static enum sma_err read_prompt_file(const struct entry *entry)
{
    const char *name = text_of(entry, "promptFile");
    if (name == NULL)
        return SMA_ERR_OK;
    entry->rule->prompt_file = name;
    if (!is_inside(name))
        return sma_fail(entry->loading->error, SMA_ERR_BADINPUT,
                        "%s: chats.%s.promptFile must be a file of the project, like Group.md",
                        entry->loading->file, entry->pattern);
    enum sma_err err = config_read_prompt(entry->loading, name, &entry->rule->agent_md);
    return err != SMA_ERR_NOTFOUND
               ? err
               : sma_fail(entry->loading->error, SMA_ERR_BADINPUT,
                          "%s: chats.%s.promptFile: there is no %s in the project",
                          entry->loading->file, entry->pattern, name);
}

static enum sma_err read_entry(const struct entry *entry, bool is_alone)
{
    entry->rule->pattern = config_keep_text(entry->loading, entry->pattern);
    SMA_TRY(check_pattern(entry));
    if (!is_alone)
        SMA_TRY(read_model(entry, true));
    SMA_TRY(read_tools(entry));
    SMA_TRY(read_access(entry));
    SMA_TRY(read_prompt_file(entry));
    entry->rule->prompt = text_of(entry, "prompt");
    const char *choice = json_string_value(json_object_get(entry->json, "modelChoice"));
    entry->rule->says_choice = choice != NULL;
    entry->rule->is_choice_free = choice != NULL && strcmp(choice, "everybody") == 0;
    return SMA_ERR_OK;
}

/* -- the whole --------------------------------------------------------------------------------- */
static enum sma_err take_targets(struct loading *loading)
{
    for (size_t i = 0; i < loading->config->llm_target_count; i++)
        SMA_TRY(add_model(loading, loading->config->llm_targets[i]));
    return SMA_ERR_OK;
}

enum sma_err config_read_chats(struct loading *loading, bool is_alone)
{
    const json_t *chats = json_object_get(loading->root, "chats");
    size_t count = json_object_size(chats), index = 0;
    SMA_TRY(take_targets(loading));
    if (count == 0)
        return SMA_ERR_OK;
    if (count > SMA_CHAT_RULE_COUNT_MAX)
        return sma_fail(loading->error, SMA_ERR_TOOBIG, "%s: chats has more than %d patterns",
                        loading->file, SMA_CHAT_RULE_COUNT_MAX);
    struct sma_chat_rule *rules = config_keep_room(loading, count * sizeof *rules);
    if (rules == NULL)
        return sma_fail(loading->error, SMA_ERR_NOMEM, "out of memory");
    memset(rules, 0, count * sizeof *rules);
    for (int round = 0; round < 2; round++) {
        const char *pattern;
        json_t *json;
        index = 0;
        json_object_foreach((json_t *)chats, pattern, json)
        {
            struct entry entry = {loading, pattern, json,
                                  json_object_get(loading->chats_written, pattern),
                                  &rules[index++]};
            if (round == 0)
                SMA_TRY(read_entry(&entry, is_alone));
            else if (!is_alone)
                SMA_TRY(read_model(&entry, false));
        }
    }
    loading->config->chats = rules;
    loading->config->chat_count = count;
    return SMA_ERR_OK;
}
