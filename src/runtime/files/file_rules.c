/* file_rules.c — reading permissions of files. See file_rules.h. */
#include "runtime/files/file_rules.h"

#include "sma/buf.h"

#include <jansson.h>
#include <stdlib.h>

struct patterns
{
    bool has_list; /* false: every path */
    size_t count;
    char **texts;
};

struct sma_file_rules
{
    enum sma_file_verdict read, write, send; /* where the patterns fit */
    struct patterns read_paths, write_paths;
};

static void free_patterns(struct patterns *patterns)
{
    for (size_t i = 0; i < patterns->count; i++)
        free(patterns->texts[i]);
    free(patterns->texts);
}

static enum sma_err read_paths(const json_t *object, const char *member, struct patterns *patterns,
                               struct sma_error *error)
{
    const json_t *list = json_object_get(object, "paths");
    if (list == NULL)
        return SMA_ERR_OK;
    if (!json_is_array(list) || json_array_size(list) > SMA_FILE_RULES_PATTERN_COUNT_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "permissions.%s.paths must be a list of at most %d patterns, like "
                        "[\"src/**\"]",
                        member, SMA_FILE_RULES_PATTERN_COUNT_MAX);
    size_t count = json_array_size(list);
    patterns->has_list = true;
    patterns->texts = calloc(count + 1, sizeof *patterns->texts);
    if (patterns->texts == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        size_t len = json_string_length(item);
        if (!json_is_string(item) || len == 0 || len > SMA_FILE_RULES_PATTERN_BYTES_MAX)
            return sma_fail(error, SMA_ERR_BADINPUT,
                            "permissions.%s.paths[%zu] must be a pattern of 1 to %d bytes, like "
                            "\"src/**\"",
                            member, i, SMA_FILE_RULES_PATTERN_BYTES_MAX);
        patterns->texts[i] = strdup(json_string_value(item));
        if (patterns->texts[i] == NULL)
            return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
        patterns->count++;
    }
    return SMA_ERR_OK;
}

/* true, false, or an object with paths and (where `asks` is its default) requiresApproval. */
static enum sma_err read_member(const json_t *root, const char *member, enum sma_file_verdict usual,
                                enum sma_file_verdict *ret_verdict, struct patterns *patterns,
                                struct sma_error *error)
{
    const json_t *value = json_object_get(root, member);
    *ret_verdict = usual;
    if (value == NULL)
        return SMA_ERR_OK;
    if (json_is_boolean(value)) {
        *ret_verdict = json_is_true(value) ? SMA_FILE_ALLOW : SMA_FILE_REFUSE;
        return SMA_ERR_OK;
    }
    if (!json_is_object(value))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "permissions.%s must be true, false or an object with paths", member);
    const json_t *asks = json_object_get(value, "requiresApproval");
    if (asks != NULL && !json_is_boolean(asks))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "permissions.%s.requiresApproval must be true or false", member);
    if (asks != NULL && usual == SMA_FILE_ASK)
        *ret_verdict = json_is_true(asks) ? SMA_FILE_ASK : SMA_FILE_ALLOW;
    return read_paths(value, member, patterns, error);
}

static enum sma_err read_send(const json_t *root, enum sma_file_verdict *ret_verdict,
                              struct sma_error *error)
{
    static const char *const words[] = {"allow", "ask", "refuse"}; /* in the order of the enum */
    const json_t *value = json_object_get(root, "send_elsewhere");
    *ret_verdict = SMA_FILE_ASK;
    for (size_t i = 0; json_is_string(value) && i < SMA_COUNT_OF(words); i++)
        if (strcmp(json_string_value(value), words[i]) == 0) {
            *ret_verdict = (enum sma_file_verdict)i;
            return SMA_ERR_OK;
        }
    if (value == NULL)
        return SMA_ERR_OK;
    return sma_fail(error, SMA_ERR_BADINPUT,
                    "permissions.send_elsewhere must be \"ask\", \"allow\" or \"refuse\"");
}

enum sma_err sma_file_rules_parse(const char *permissions_json, struct sma_file_rules **ret_rules,
                                  struct sma_error *error)
{
    bool is_empty = permissions_json == NULL || *permissions_json == '\0';
    json_t *root = is_empty ? json_object() : json_loads(permissions_json, 0, NULL);
    struct sma_file_rules *rules = calloc(1, sizeof *rules);
    enum sma_err err;
    if (rules == NULL || (root == NULL && is_empty))
        err = sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    else if (!json_is_object(root))
        err = sma_fail(error, SMA_ERR_BADINPUT, "permissions must be an object");
    else
        err =
            read_member(root, "read_repo", SMA_FILE_ALLOW, &rules->read, &rules->read_paths, error);
    if (err == SMA_ERR_OK)
        err = read_member(root, "write_repo", SMA_FILE_ASK, &rules->write, &rules->write_paths,
                          error);
    if (err == SMA_ERR_OK)
        err = read_send(root, &rules->send, error);
    json_decref(root);
    if (err != SMA_ERR_OK) {
        sma_file_rules_destroy(rules);
        return err;
    }
    *ret_rules = rules;
    return SMA_ERR_OK;
}

void sma_file_rules_destroy(struct sma_file_rules *rules)
{
    if (rules == NULL)
        return;
    free_patterns(&rules->read_paths);
    free_patterns(&rules->write_paths);
    free(rules);
}

static enum sma_file_verdict apply(enum sma_file_verdict verdict, const struct patterns *patterns,
                                   struct sma_str path)
{
    if (!patterns->has_list || verdict == SMA_FILE_REFUSE)
        return verdict;
    for (size_t i = 0; i < patterns->count; i++)
        if (sma_glob_fits(sma_str(patterns->texts[i]), path))
            return verdict;
    return SMA_FILE_REFUSE;
}

enum sma_file_verdict sma_file_rules_read(const struct sma_file_rules *rules, struct sma_str path)
{
    return apply(rules->read, &rules->read_paths, path);
}

enum sma_file_verdict sma_file_rules_write(const struct sma_file_rules *rules, struct sma_str path)
{
    return apply(rules->write, &rules->write_paths, path);
}

enum sma_file_verdict sma_file_rules_send(const struct sma_file_rules *rules)
{
    return rules->send;
}

bool sma_file_rules_names_written(const struct sma_file_rules *rules)
{
    return rules->write_paths.has_list;
}

bool sma_file_rules_names_read(const struct sma_file_rules *rules)
{
    return rules->read_paths.has_list;
}

bool sma_file_rules_reads_nothing(const struct sma_file_rules *rules)
{
    return rules->read == SMA_FILE_REFUSE;
}

void sma_file_rules_describe(const struct sma_file_rules *rules, struct sma_buf *buf)
{
    static const char *const written[] = {[SMA_FILE_ALLOW] = "written without a question",
                                          [SMA_FILE_ASK] = "written after asking",
                                          [SMA_FILE_REFUSE] = "not written"};
    static const char *const sent[] = {[SMA_FILE_ALLOW] = "are not asked",
                                       [SMA_FILE_ASK] = "are asked",
                                       [SMA_FILE_REFUSE] = "are refused"};
    bool is_read = rules->read != SMA_FILE_REFUSE, is_written = rules->write != SMA_FILE_REFUSE;
    sma_buf_printf(buf, "%s%s, %s%s; messages to other chats %s",
                   is_read ? "read freely" : "not read",
                   is_read && rules->read_paths.has_list ? " where patterns name them" : "",
                   written[rules->write],
                   is_written && rules->write_paths.has_list ? " where patterns name them" : "",
                   sent[rules->send]);
}
