/*
 * schema.c — types, ranges and unknown members of ship.json. One table says what is known.
 * Source: protocols/project.md §2.2, §2.3; keys of this program: docs/configuration.md.
 */
#include "config_priv.h"

#include "sma/buf.h"
#include "sma/limits.h"
#include "sma/text.h"
#include <stdio.h>
#include <stdlib.h>

enum kind
{
    KIND_STRING,
    KIND_INTEGER,
    KIND_NUMBER,
    KIND_BOOL,
    KIND_OBJECT,
    KIND_LIST,
    KIND_ANY,
    KIND_WORDS, /* one of the comma separated words in `words` */
    KIND_TEXTS, /* a string or a list of strings */
};

struct rule
{
    const char *path;
    enum kind kind;
    double low, high;
    const char *words;
};

static const struct rule RULES[] = {
    {"$schema", KIND_STRING, 0, 0, NULL},
    {"name", KIND_STRING, 0, 0, NULL},
    {"version", KIND_STRING, 0, 0, NULL},
    {"description", KIND_STRING, 0, 0, NULL},
    {"language", KIND_WORDS, 0, 0, "auto,zh,en"},
    {"durability", KIND_WORDS, 0, 0, "full,none"},
    {"access", KIND_ANY, 0, 0, NULL},
    {"proxy", KIND_STRING, 0, 0, NULL},
    {"start", KIND_OBJECT, 0, 0, NULL},
    {"start.port", KIND_INTEGER, 0, 65535, NULL},
    {"start.host", KIND_STRING, 0, 0, NULL},
    {"start.interactiveWeb", KIND_BOOL, 0, 0, NULL},
    {"start.interactivePort", KIND_INTEGER, 0, 65535, NULL},
    {"api", KIND_OBJECT, 0, 0, NULL},
    {"api.token", KIND_STRING, 0, 0, NULL},
    {"skills", KIND_OBJECT, 0, 0, NULL},
    {"skills.paths", KIND_LIST, 0, 0, NULL},
    {"skills.allowExternalPaths", KIND_BOOL, 0, 0, NULL},
    {"llm", KIND_OBJECT, 0, 0, NULL},
    {"llm.provider", KIND_STRING, 0, 0, NULL},
    {"llm.model", KIND_STRING, 0, 0, NULL},
    {"llm.baseUrl", KIND_STRING, 0, 0, NULL},
    {"llm.apiKey", KIND_TEXTS, 0, 0, NULL},
    {"llm.api", KIND_WORDS, 0, 0, "chat,responses,messages"},
    {"llm.stream", KIND_BOOL, 0, 0, NULL},
    {"llm.logMessages", KIND_BOOL, 0, 0, NULL},
    {"llm.temperature", KIND_NUMBER, 0, 2, NULL},
    {"llm.maxTokens", KIND_INTEGER, 1, 100000000, NULL},
    {"llm.topP", KIND_NUMBER, 0, 1, NULL},
    {"llm.frequencyPenalty", KIND_NUMBER, -2, 2, NULL},
    {"llm.presencePenalty", KIND_NUMBER, -2, 2, NULL},
    {"llm.anthropicVersion", KIND_STRING, 0, 0, NULL},
    {"llm.effort", KIND_WORDS, 0, 0, "none,minimal,low,medium,high,xhigh,max"},
    {"llm.extraBody", KIND_OBJECT, 0, 0, NULL},
    {"llm.extraHeaders", KIND_OBJECT, 0, 0, NULL},
    {"llm.proxy", KIND_STRING, 0, 0, NULL},
    {"llm.contextTokens", KIND_INTEGER, 1000, 100000000, NULL},
    {"llm.prices", KIND_OBJECT, 0, 0, NULL},
    {"llm.prices.input", KIND_NUMBER, 0, 1000000, NULL},
    {"llm.prices.cached", KIND_NUMBER, 0, 1000000, NULL},
    {"llm.prices.written", KIND_NUMBER, 0, 1000000, NULL},
    {"llm.prices.output", KIND_NUMBER, 0, 1000000, NULL},
    {"llm.patienceS", KIND_INTEGER, 0, 604800, NULL},
    {"llm.fallbacks", KIND_LIST, 0, 0, NULL}, /* of objects like llm */
    {"llm.judge", KIND_OBJECT, 0, 0, NULL},   /* like llm */
    {"llm.timeouts", KIND_OBJECT, 0, 0, NULL},
    {"llm.timeouts.connectMs", KIND_INTEGER, 1, 86400000, NULL},
    {"llm.timeouts.firstByteMs", KIND_INTEGER, 1, 86400000, NULL},
    {"llm.timeouts.idleMs", KIND_INTEGER, 1, 86400000, NULL},
    {"llm.timeouts.totalMs", KIND_INTEGER, 1, 86400000, NULL},
    {"agent", KIND_OBJECT, 0, 0, NULL},
    {"agent.concurrency", KIND_INTEGER, 1, SMA_CONCURRENCY_MAX, NULL},
    {"queue", KIND_OBJECT, 0, 0, NULL},
    {"queue.mode", KIND_WORDS, 0, 0, "serial,collect"},
    {"queue.order", KIND_WORDS, 0, 0, "fifo,fair"},
    {"queue.chatWaitingMax", KIND_INTEGER, 1, 100000, NULL},
    {"queue.waitingMax", KIND_INTEGER, 1, SMA_INBOX_WAITING_COUNT_MAX, NULL},
    {"retention", KIND_OBJECT, 0, 0, NULL},
    {"retention.turns", KIND_INTEGER, 1, SMA_SESSION_MESSAGE_COUNT_MAX / 2, NULL},
    {"retention.turnDays", KIND_INTEGER, 0, SMA_KEEP_DAY_COUNT_MAX, NULL},
    {"retention.resultHours", KIND_INTEGER, 1, 24 * SMA_KEEP_DAY_COUNT_MAX, NULL},
    {"retention.resultMegabytes", KIND_INTEGER, 1, 100000000, NULL},
    {"retention.requestLogDays", KIND_INTEGER, 1, SMA_KEEP_DAY_COUNT_MAX, NULL},
    {"retention.requestDays", KIND_INTEGER, 1, SMA_KEEP_DAY_COUNT_MAX, NULL},
    {"retention.strangerDays", KIND_INTEGER, 0, SMA_KEEP_DAY_COUNT_MAX, NULL},
    {"retention.strangers", KIND_INTEGER, 0, 100000000, NULL},
    {"retention.archiveDays", KIND_INTEGER, 0, SMA_KEEP_DAY_COUNT_MAX, NULL},
    {"approvals", KIND_OBJECT, 0, 0, NULL},
    {"approvals.expireS", KIND_INTEGER, 0, 31536000, NULL},
    /* The values are checked by their owners: runtime/access, approval and tools. */
    {"permissions", KIND_OBJECT, 0, 0, NULL},
    {"permissions.roles", KIND_ANY, 0, 0, NULL},
    {"permissions.read_repo", KIND_ANY, 0, 0, NULL},
    {"permissions.read_repo.paths", KIND_ANY, 0, 0, NULL},
    {"permissions.read_repo.requiresApproval", KIND_ANY, 0, 0, NULL}, /* old files; no effect */
    {"permissions.write_repo", KIND_ANY, 0, 0, NULL},
    {"permissions.write_repo.paths", KIND_ANY, 0, 0, NULL},
    {"permissions.write_repo.requiresApproval", KIND_ANY, 0, 0, NULL},
    {"permissions.send_elsewhere", KIND_ANY, 0, 0, NULL},
    {"permissions.exec_shell", KIND_ANY, 0, 0, NULL},
    {"permissions.exec_shell.deny", KIND_ANY, 0, 0, NULL},
    {"permissions.exec_shell.allow", KIND_ANY, 0, 0, NULL},
    {"permissions.exec_shell.requiresApproval", KIND_ANY, 0, 0, NULL},
    {"permissions.exec_shell.denyRequiresApproval", KIND_ANY, 0, 0, NULL},
    {"permissions.exec_shell.sandbox", KIND_ANY, 0, 0, NULL},
    {"permissions.exec_shell.network", KIND_ANY, 0, 0, NULL},
    {"permissions.exec_shell.memoryMb", KIND_ANY, 0, 0, NULL},
    {"permissions.exec_shell.env", KIND_ANY, 0, 0, NULL},
    {"permissions.open_pr", KIND_ANY, 0, 0, NULL}, /* of the old program; no effect */
    {"permissions.merge", KIND_ANY, 0, 0, NULL},   /* likewise */
    {"adapters", KIND_OBJECT, 0, 0, NULL},
    {"integrations", KIND_OBJECT, 0, 0, NULL},
    {"oss", KIND_OBJECT, 0, 0, NULL},
    {"cloudFiles", KIND_OBJECT, 0, 0, NULL},
};

/* Members of one adapter's block, whichever of the two places it stands in. Adapters without rows
 * check their own. */
static const struct rule ADAPTER_RULES[] = {
    {"telegram.enabled", KIND_BOOL, 0, 0, NULL},
    {"telegram.botToken", KIND_STRING, 0, 0, NULL},
    {"telegram.chatId", KIND_ANY, 0, 0, NULL}, /* of the old program; has no effect */
    {"telegram.apiRoot", KIND_STRING, 0, 0, NULL},
    {"telegram.mode", KIND_WORDS, 0, 0, "polling,webhook"},
    {"telegram.webhookUrl", KIND_STRING, 0, 0, NULL},
    {"telegram.webhookSecret", KIND_STRING, 0, 0, NULL},
    {"telegram.backlog", KIND_WORDS, 0, 0, "answer,record"},
    {"telegram.followupWindowMs", KIND_INTEGER, 0, 1e12, NULL},
    {"telegram.access", KIND_ANY, 0, 0, NULL}, /* checked by runtime/access */
    {"telegram.groups", KIND_ANY, 0, 0, NULL}, /* likewise */
    {"telegram.groupAccess", KIND_WORDS, 0, 0, "initiator_or_admin,anyone"},
    {"telegram.limits", KIND_OBJECT, 0, 0, NULL},
    {"telegram.limits.perSecond", KIND_INTEGER, 0, 100000, NULL},
    {"telegram.limits.perChatPerMinute", KIND_INTEGER, 0, 1000000, NULL},
    {"telegram.limits.perGroupPerMinute", KIND_INTEGER, 0, 1000000, NULL},
    {"telegram.progress", KIND_WORDS, 0, 0, "auto,typing,off"},
    {"telegram.attachmentBytesMax", KIND_INTEGER, 0, 2147483648, NULL},
    {"telegram.pollTimeoutS", KIND_INTEGER, 0, 50, NULL},
    {"feishu.enabled", KIND_BOOL, 0, 0, NULL},
    {"feishu.appId", KIND_STRING, 0, 0, NULL},
    {"feishu.appSecret", KIND_STRING, 0, 0, NULL},
    {"feishu.domain", KIND_STRING, 0, 0, NULL},
    {"feishu.adminUserIds", KIND_LIST, 0, 0, NULL},
    {"feishu.access", KIND_ANY, 0, 0, NULL}, /* checked by runtime/access */
    {"feishu.groups", KIND_ANY, 0, 0, NULL},
    {"feishu.groupAccess", KIND_WORDS, 0, 0, "initiator_or_admin,anyone"},
    {"feishu.followupWindowMs", KIND_INTEGER, 0, 1e12, NULL},
    {"feishu.mode", KIND_WORDS, 0, 0, "websocket,webhook"},
    {"feishu.encryptKey", KIND_STRING, 0, 0, NULL},
    {"feishu.verificationToken", KIND_STRING, 0, 0, NULL},
    {"feishu.caFile", KIND_STRING, 0, 0, NULL},
    {"feishu.limits", KIND_OBJECT, 0, 0, NULL},
    {"feishu.limits.perSecond", KIND_INTEGER, 0, 100000, NULL},
    {"feishu.limits.perChatPerMinute", KIND_INTEGER, 0, 1000000, NULL},
    {"feishu.limits.perGroupPerMinute", KIND_INTEGER, 0, 1000000, NULL},
    {"feishu.progress", KIND_WORDS, 0, 0, "auto,card,off"},
    {"feishu.attachmentBytesMax", KIND_INTEGER, 1, 2147483648, NULL},
    {"qq.enabled", KIND_BOOL, 0, 0, NULL},
    {"qq.appId", KIND_STRING, 0, 0, NULL},
    {"qq.appSecret", KIND_STRING, 0, 0, NULL},
    {"qq.sandbox", KIND_ANY, 0, 0, NULL}, /* true or false; anything else leaves it to QQ_SANDBOX */
    {"qq.mode", KIND_WORDS, 0, 0, "websocket,webhook"},
    {"qq.apiRoot", KIND_STRING, 0, 0, NULL},
    {"qq.tokenUrl", KIND_STRING, 0, 0, NULL},
    {"qq.gatewayUrl", KIND_STRING, 0, 0, NULL},
    {"qq.shards", KIND_INTEGER, 1, 16, NULL},
    {"qq.intents", KIND_LIST, 0, 0, NULL},
    {"qq.markdown", KIND_BOOL, 0, 0, NULL},
    {"qq.keyboard", KIND_BOOL, 0, 0, NULL},
    {"qq.access", KIND_ANY, 0, 0, NULL}, /* checked by runtime/access */
    {"qq.groups", KIND_ANY, 0, 0, NULL},
    {"qq.groupAccess", KIND_WORDS, 0, 0, "initiator_or_admin,anyone"},
    {"qq.followupWindowMs", KIND_INTEGER, 0, 1e12, NULL},
    {"qq.limits", KIND_OBJECT, 0, 0, NULL},
    {"qq.limits.perSecond", KIND_INTEGER, 0, 100000, NULL},
    {"qq.limits.perChatPerMinute", KIND_INTEGER, 0, 1000000, NULL},
    {"qq.attachmentBytesMax", KIND_INTEGER, 1, 2147483648, NULL},
    {"qq.caFile", KIND_STRING, 0, 0, NULL},
};

/* Objects whose members belong to somebody else: the adapters, features not built yet. */
static const char *const OPEN_OBJECTS[] = {"adapters",   "integrations",  "oss",
                                           "cloudFiles", "llm.extraBody", "llm.extraHeaders"};
static const char *const ADAPTER_NAMES[] = {"telegram", "feishu", "qq",
                                            "discord",  "http",   "terminal"};

#define PATH_BYTES_MAX 256

/* -- types and ranges -------------------------------------------------------------------------- */
static const char *describe_kind(const struct rule *rule)
{
    switch (rule->kind) {
    case KIND_STRING:
        return "a string";
    case KIND_INTEGER:
        return "a whole number";
    case KIND_NUMBER:
        return "a number";
    case KIND_BOOL:
        return "true or false";
    case KIND_OBJECT:
        return "an object";
    case KIND_LIST:
        return "a list";
    case KIND_WORDS:
        return rule->words;
    case KIND_TEXTS:
        return "a string or a list of strings";
    case KIND_ANY:
        break;
    }
    return "any value";
}

static bool is_one_of(const char *words, const char *word)
{
    size_t len = strchr(word, ',') == NULL ? strlen(word) : 0;
    for (const char *at = words; len > 0 && (at = strstr(at, word)) != NULL; at++)
        if ((at == words || at[-1] == ',') && (at[len] == '\0' || at[len] == ','))
            return true;
    return false;
}

/* A placeholder yields a string; numbers and booleans written in it are accepted. */
static bool read_number(const json_t *value, double *ret_number)
{
    if (json_is_number(value)) {
        *ret_number = json_number_value(value);
        return true;
    }
    if (!json_is_string(value) || json_string_length(value) == 0)
        return false;
    char *end;
    *ret_number = strtod(json_string_value(value), &end);
    return *end == '\0';
}

static bool is_bool(const json_t *value)
{
    if (json_is_boolean(value))
        return true;
    return json_is_string(value) && is_one_of("true,false", json_string_value(value));
}

static enum sma_err check_number(const char *file, const struct rule *rule, const json_t *value,
                                 struct sma_error *error)
{
    double number;
    bool is_whole = rule->kind == KIND_INTEGER;
    if (!read_number(value, &number) ||
        (is_whole && (number != number || number > 9e15 || number < -9e15 ||
                      number != (double)(int64_t)number)))
        return sma_fail(error, SMA_ERR_BADINPUT, "%s: %s must be %s", file, rule->path,
                        describe_kind(rule));
    if (!(number >= rule->low && number <= rule->high))
        return sma_fail(error, SMA_ERR_BADINPUT, "%s: %s must be between %.15g and %.15g", file,
                        rule->path, rule->low, rule->high);
    return SMA_ERR_OK;
}

static bool is_texts(const json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_is_string(json_array_get(value, i)))
            return false;
    return json_is_string(value) || json_is_array(value);
}

static enum sma_err check_value(const char *file, const struct rule *rule, const json_t *value,
                                struct sma_error *error)
{
    bool is_right = true;
    switch (rule->kind) {
    case KIND_STRING:
        is_right = json_is_string(value);
        break;
    case KIND_INTEGER:
    case KIND_NUMBER:
        return check_number(file, rule, value, error);
    case KIND_BOOL:
        is_right = is_bool(value);
        break;
    case KIND_OBJECT:
        is_right = json_is_object(value);
        break;
    case KIND_LIST:
        is_right = json_is_array(value);
        break;
    case KIND_WORDS:
        is_right = json_is_string(value) && is_one_of(rule->words, json_string_value(value));
        break;
    case KIND_TEXTS:
        is_right = is_texts(value);
        break;
    case KIND_ANY:
        break;
    }
    if (is_right)
        return SMA_ERR_OK;
    return sma_fail(error, SMA_ERR_BADINPUT, "%s: %s must be %s%s", file, rule->path,
                    rule->kind == KIND_WORDS ? "one of " : "", describe_kind(rule));
}

/* -- unknown members --------------------------------------------------------------------------- */
static void warn_unknown(const char *file, const char *path, const char *const *names,
                         size_t name_count, sma_config_warn_fn *warn, void *user)
{
    const char *nearest = NULL;
    unsigned best = 4;
    for (size_t i = 0; i < name_count; i++) {
        unsigned distance = sma_text_distance(sma_str(path), sma_str(names[i]));
        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    char line[1024];
    if (nearest != NULL)
        snprintf(line, sizeof line, "%s: unknown key %s is ignored; did you mean %s?", file, path,
                 nearest);
    else
        snprintf(line, sizeof line, "%s: unknown key %s is ignored", file, path);
    warn(user, line);
}

static const struct rule *find_rule(const char *path)
{
    for (size_t i = 0; i < SMA_COUNT_OF(RULES); i++)
        if (strcmp(RULES[i].path, path) == 0)
            return &RULES[i];
    return NULL;
}

/* What may be an object among other things: its members are known, then. */
static bool has_members(const char *path)
{
    size_t len = strlen(path);
    for (size_t i = 0; i < SMA_COUNT_OF(RULES); i++)
        if (strncmp(RULES[i].path, path, len) == 0 && RULES[i].path[len] == '.')
            return true;
    return false;
}

static bool is_open_object(const char *path)
{
    for (size_t i = 0; i < SMA_COUNT_OF(OPEN_OBJECTS); i++)
        if (strcmp(OPEN_OBJECTS[i], path) == 0)
            return true;
    return false;
}

struct checking
{
    const char *file;
    sma_config_warn_fn *warn;
    void *user;
    struct sma_error *error;
};

static const struct rule *find_adapter_rule(const char *path)
{
    for (size_t i = 0; i < SMA_COUNT_OF(ADAPTER_RULES); i++)
        if (strcmp(ADAPTER_RULES[i].path, path) == 0)
            return &ADAPTER_RULES[i];
    return NULL;
}

static bool has_adapter_rules(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < SMA_COUNT_OF(ADAPTER_RULES); i++)
        if (strncmp(ADAPTER_RULES[i].path, name, len) == 0 && ADAPTER_RULES[i].path[len] == '.')
            return true;
    return false;
}

static void warn_unknown_member(const struct checking *checking, const char *block,
                                const char *path)
{
    char names[SMA_COUNT_OF(ADAPTER_RULES)][PATH_BYTES_MAX], full[PATH_BYTES_MAX * 2];
    const char *pointers[SMA_COUNT_OF(ADAPTER_RULES)];
    for (size_t i = 0; i < SMA_COUNT_OF(ADAPTER_RULES); i++) {
        snprintf(names[i], sizeof names[i], "%s.%s", block, ADAPTER_RULES[i].path);
        pointers[i] = names[i];
    }
    snprintf(full, sizeof full, "%s.%s", block, path);
    warn_unknown(checking->file, full, pointers, SMA_COUNT_OF(pointers), checking->warn,
                 checking->user);
}

/* Members of one adapter; prefix is "telegram" or "telegram.limits": the rows are that deep. */
static enum sma_err check_adapter_members(const struct checking *checking, const char *block,
                                          const char *prefix, const json_t *object)
{
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        char path[PATH_BYTES_MAX], full[PATH_BYTES_MAX * 2];
        snprintf(path, sizeof path, "%s.%s", prefix, name);
        const struct rule *rule = find_adapter_rule(path);
        if (rule == NULL) {
            warn_unknown_member(checking, block, path);
            continue;
        }
        snprintf(full, sizeof full, "%s.%s", block, path);
        struct rule shown = *rule;
        shown.path = full;
        enum sma_err err = check_value(checking->file, &shown, value, checking->error);
        if (err == SMA_ERR_OK && rule->kind == KIND_OBJECT)
            err = check_adapter_members(checking, block, path, value);
        if (err != SMA_ERR_OK)
            return err;
    }
    return SMA_ERR_OK;
}

static void warn_unknown_adapter(const struct checking *checking, const char *block,
                                 const char *full)
{
    char names[SMA_COUNT_OF(ADAPTER_NAMES)][PATH_BYTES_MAX];
    const char *pointers[SMA_COUNT_OF(ADAPTER_NAMES)];
    for (size_t i = 0; i < SMA_COUNT_OF(ADAPTER_NAMES); i++) {
        snprintf(names[i], sizeof names[i], "%s.%s", block, ADAPTER_NAMES[i]);
        pointers[i] = names[i];
    }
    warn_unknown(checking->file, full, pointers, SMA_COUNT_OF(ADAPTER_NAMES), checking->warn,
                 checking->user);
}

static enum sma_err check_adapters(const struct checking *checking, const char *block,
                                   const json_t *adapters)
{
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)adapters, name, value)
    {
        char full[PATH_BYTES_MAX];
        snprintf(full, sizeof full, "%s.%s", block, name);
        if (!json_is_object(value))
            return sma_fail(checking->error, SMA_ERR_BADINPUT, "%s: %s must be an object",
                            checking->file, full);
        const json_t *enabled = json_object_get(value, "enabled");
        if (enabled != NULL && !is_bool(enabled))
            return sma_fail(checking->error, SMA_ERR_BADINPUT,
                            "%s: %s.enabled must be true or false", checking->file, full);
        bool is_known = false;
        for (size_t i = 0; i < SMA_COUNT_OF(ADAPTER_NAMES); i++)
            is_known = is_known || strcmp(ADAPTER_NAMES[i], name) == 0;
        if (!is_known) {
            warn_unknown_adapter(checking, block, full);
            continue;
        }
        SMA_TRY(has_adapter_rules(name) ? check_adapter_members(checking, block, name, value)
                                        : SMA_ERR_OK);
    }
    return SMA_ERR_OK;
}

/* What only llm itself has. */
static bool is_of_llm_alone(const char *path)
{
    static const char *const paths[] = {"llm.fallbacks", "llm.judge", "llm.patienceS",
                                        "llm.logMessages"};
    for (size_t i = 0; i < SMA_COUNT_OF(paths); i++)
        if (strcmp(paths[i], path) == 0)
            return true;
    return false;
}

static void warn_unknown_key(const struct checking *checking, const char *path)
{
    const char *names[SMA_COUNT_OF(RULES)];
    for (size_t i = 0; i < SMA_COUNT_OF(RULES); i++)
        names[i] = RULES[i].path;
    warn_unknown(checking->file, path, names, SMA_COUNT_OF(RULES), checking->warn, checking->user);
}

/* One member of a fallback or of the judge: it follows the rule of the member of llm with that
 * name. */
static enum sma_err check_target_member(const struct checking *checking, const char *shown,
                                        const char *path, const json_t *value)
{
    const struct rule *rule = is_of_llm_alone(path) ? NULL : find_rule(path);
    if (rule == NULL) {
        warn_unknown_key(checking, shown);
        return SMA_ERR_OK;
    }
    struct rule renamed = *rule;
    renamed.path = shown;
    return check_value(checking->file, &renamed, value, checking->error);
}

static enum sma_err check_target(const struct checking *checking, const char *place,
                                 const json_t *target)
{
    if (!json_is_object(target))
        return sma_fail(checking->error, SMA_ERR_BADINPUT, "%s: %s must be an object",
                        checking->file, place);
    const char *name, *inner;
    const json_t *value, *part;
    enum sma_err err = SMA_ERR_OK;
    json_object_foreach((json_t *)target, name, value)
    {
        char shown[PATH_BYTES_MAX], path[PATH_BYTES_MAX];
        snprintf(shown, sizeof shown, "%s.%s", place, name);
        snprintf(path, sizeof path, "llm.%s", name);
        err = check_target_member(checking, shown, path, value);
        if (err != SMA_ERR_OK)
            return err;
        if (!has_members(path))
            continue;
        json_object_foreach((json_t *)value, inner, part)
        {
            snprintf(shown, sizeof shown, "%s.%s.%s", place, name, inner);
            snprintf(path, sizeof path, "llm.%s.%s", name, inner);
            err = check_target_member(checking, shown, path, part);
            if (err != SMA_ERR_OK)
                return err;
        }
    }
    return err;
}

static enum sma_err check_fallbacks(const struct checking *checking, const json_t *list)
{
    enum sma_err err = SMA_ERR_OK;
    for (size_t i = 0; err == SMA_ERR_OK && i < json_array_size(list); i++) {
        char place[64];
        snprintf(place, sizeof place, "llm.fallbacks.%zu", i);
        err = check_target(checking, place, json_array_get(list, i));
    }
    return err;
}

static enum sma_err check_object(const struct checking *checking, const char *prefix,
                                 const json_t *object)
{
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        char path[PATH_BYTES_MAX];
        snprintf(path, sizeof path, "%s%s%s", prefix, prefix[0] == '\0' ? "" : ".", name);
        const struct rule *rule = find_rule(path);
        if (rule == NULL) {
            warn_unknown_key(checking, path);
            continue;
        }
        enum sma_err err = check_value(checking->file, rule, value, checking->error);
        if (err != SMA_ERR_OK)
            return err;
        if (strcmp(path, "llm.fallbacks") == 0)
            err = check_fallbacks(checking, value);
        if (err != SMA_ERR_OK)
            return err;
        if (!json_is_object(value) || (rule->kind != KIND_OBJECT && !has_members(path)))
            continue;
        if (strcmp(path, "llm.judge") == 0)
            err = check_target(checking, path, value);
        else if (strcmp(path, "adapters") == 0 || strcmp(path, "integrations") == 0)
            err = check_adapters(checking, path, value);
        else if (!is_open_object(path))
            err = check_object(checking, path, value); /* depth is that of RULES: three */
        if (err != SMA_ERR_OK)
            return err;
    }
    return SMA_ERR_OK;
}

enum sma_err sma_config_validate(const char *file, const json_t *root, sma_config_warn_fn *warn,
                                 void *user, struct sma_error *error)
{
    if (!json_is_object(root))
        return sma_fail(error, SMA_ERR_BADINPUT, "%s: must hold one JSON object { ... }", file);
    struct checking checking = {file, warn, user, error};
    return check_object(&checking, "", root);
}

/* -- the schema for editors -------------------------------------------------------------------- */
static void put_type(struct sma_buf *buf, const struct rule *rule)
{
    switch (rule->kind) {
    case KIND_STRING:
        sma_buf_put_text(buf, "\"type\":\"string\"");
        break;
    case KIND_INTEGER:
    case KIND_NUMBER:
        sma_buf_printf(buf, "\"type\":\"%s\",\"minimum\":%.0f,\"maximum\":%.0f",
                       rule->kind == KIND_INTEGER ? "integer" : "number", rule->low, rule->high);
        break;
    case KIND_BOOL:
        sma_buf_put_text(buf, "\"type\":\"boolean\"");
        break;
    case KIND_LIST:
        sma_buf_put_text(buf, "\"type\":\"array\"");
        break;
    case KIND_WORDS:
        sma_buf_put_text(buf, "\"enum\":[\"");
        for (const char *at = rule->words; *at != '\0'; at++)
            if (*at == ',')
                sma_buf_put_text(buf, "\",\"");
            else
                sma_buf_put_char(buf, *at);
        sma_buf_put_text(buf, "\"]");
        break;
    case KIND_TEXTS:
        sma_buf_put_text(buf, "\"type\":[\"string\",\"array\"],\"items\":{\"type\":\"string\"}");
        break;
    case KIND_OBJECT:
    case KIND_ANY:
        break;
    }
}

static bool is_child_of(const char *path, const char *parent)
{
    size_t len = strlen(parent);
    if (len > 0 && (strncmp(path, parent, len) != 0 || path[len] != '.'))
        return false;
    return strchr(path + (len == 0 ? 0 : len + 1), '.') == NULL;
}

static void put_adapter_blocks(struct sma_buf *buf);
static void put_target(struct sma_buf *buf);

/* The tables are three levels deep, and so is this. */
static void put_members(struct sma_buf *buf, const struct rule *rules, size_t rule_count,
                        const char *parent)
{
    bool is_first = true;
    sma_buf_put_text(buf, "\"type\":\"object\",\"properties\":{");
    for (size_t i = 0; i < rule_count; i++) {
        const char *path = rules[i].path;
        if (!is_child_of(path, parent))
            continue;
        const char *dot = strrchr(path, '.');
        sma_buf_printf(buf, "%s\"%s\":{", is_first ? "" : ",", dot == NULL ? path : dot + 1);
        is_first = false;
        if (strcmp(path, "llm.fallbacks") == 0) {
            sma_buf_put_text(buf, "\"type\":\"array\",\"items\":{");
            put_target(buf);
            sma_buf_put_char(buf, '}');
        } else if (strcmp(path, "llm.judge") == 0)
            put_target(buf);
        else if (rules[i].kind != KIND_OBJECT)
            put_type(buf, &rules[i]);
        else if (strcmp(path, "adapters") == 0 || strcmp(path, "integrations") == 0)
            put_adapter_blocks(buf);
        else if (is_open_object(path))
            sma_buf_put_text(buf, "\"type\":\"object\"");
        else
            put_members(buf, rules, rule_count, path);
        sma_buf_put_char(buf, '}');
    }
    sma_buf_put_char(buf, '}');
}

/* A fallback or the judge: what llm has, but for what llm alone has. */
static void put_target(struct sma_buf *buf)
{
    struct rule rules[SMA_COUNT_OF(RULES)];
    size_t count = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(RULES); i++)
        if (strncmp(RULES[i].path, "llm.", 4) == 0 && !is_of_llm_alone(RULES[i].path))
            rules[count++] = RULES[i];
    put_members(buf, rules, count, "llm");
}

static void put_adapter_blocks(struct sma_buf *buf)
{
    sma_buf_put_text(buf, "\"type\":\"object\",\"properties\":{");
    for (size_t i = 0; i < SMA_COUNT_OF(ADAPTER_NAMES); i++) {
        sma_buf_printf(buf, "%s\"%s\":{", i == 0 ? "" : ",", ADAPTER_NAMES[i]);
        if (has_adapter_rules(ADAPTER_NAMES[i]))
            put_members(buf, ADAPTER_RULES, SMA_COUNT_OF(ADAPTER_RULES), ADAPTER_NAMES[i]);
        else
            sma_buf_put_text(buf, "\"type\":\"object\"");
        sma_buf_put_char(buf, '}');
    }
    sma_buf_put_char(buf, '}');
}

void sma_config_format_schema(struct sma_buf *buf)
{
    sma_buf_put_text(
        buf, "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"ship.json\",");
    put_members(buf, RULES, SMA_COUNT_OF(RULES), "");
    sma_buf_put_char(buf, '}');
}
