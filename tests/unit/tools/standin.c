/*
 * standin.c — in place of check.c and file_tools.c: verdicts are written in the arguments, so that
 * the actor alone is tested.
 *
 *   "verdict": "ask" | "refuse"; "digest": number of the digest's first byte; "bad": true = a bad
 *   argument; "ruled": true = a rule lets it write what is an owner's
 */
#include "runtime/files/check.h"
#include "runtime/files/file_tools.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct sma_tool_rules
{
    struct sma_policy *policy;
};
struct sma_file_tools
{
    int unused;
};

enum sma_err sma_tool_rules_create(const struct sma_config *config,
                                   struct sma_tool_rules **ret_rules, struct sma_error *error)
{
    if (strstr(config->permissions_json, "\"broken\"") != NULL)
        return sma_fail(error, SMA_ERR_BADINPUT, "permissions.broken is wrong");
    *ret_rules = calloc(1, sizeof **ret_rules);
    return *ret_rules == NULL
               ? SMA_ERR_NOMEM
               : sma_policy_load(config->permissions_json, &(*ret_rules)->policy, error);
}

void sma_tool_rules_destroy(struct sma_tool_rules *rules)
{
    if (rules != NULL)
        sma_policy_destroy(rules->policy);
    free(rules);
}

void sma_tool_rules_set_sandbox(struct sma_tool_rules *rules, const char *walls)
{
    (void)rules;
    (void)walls;
}

void sma_tool_rules_set_unhidden(struct sma_tool_rules *rules, bool is_unhidden)
{
    (void)rules;
    (void)is_unhidden;
}

const struct sma_policy *sma_tool_rules_policy(const struct sma_tool_rules *rules)
{
    return rules->policy;
}

void sma_tool_rules_describe(const struct sma_tool_rules *rules, struct sma_buf *buf)
{
    (void)rules;
    sma_buf_put_text(buf, "commands: as written\nfiles: none\n");
}

enum sma_err sma_tool_check(const struct sma_tool_rules *rules, const struct sma_tool_ask *ask,
                            int64_t wall_ms, struct sma_shell *shell,
                            struct sma_tool_check *ret_check, struct sma_buf *item,
                            struct sma_buf *why)
{
    (void)rules;
    (void)wall_ms;
    (void)shell;
    json_t *root = json_loadb(ask->arguments.ptr, ask->arguments.len, 0, NULL);
    const char *verdict = json_string_value(json_object_get(root, "verdict"));
    bool is_bad = json_is_true(json_object_get(root, "bad"));
    struct sma_tool_check check = {.verdict = SMA_TOOL_ALLOWED, .is_complete = true};
    check.digest[0] = (uint8_t)json_integer_value(json_object_get(root, "digest"));
    check.decision.is_owner_ruled = json_is_true(json_object_get(root, "ruled"));
    if (verdict != NULL && strcmp(verdict, "ask") == 0) {
        check.verdict = SMA_TOOL_ASKS;
        sma_buf_put_text(item, "{\"tool\":\"exec_shell\"}");
    } else if (verdict != NULL) {
        check.verdict = SMA_TOOL_REFUSED;
        sma_buf_put_text(why, "rm is refused here");
    }
    json_decref(root);
    if (is_bad) {
        sma_buf_put_text(why, "command must be text");
        return SMA_ERR_BADINPUT;
    }
    *ret_check = check;
    return SMA_ERR_OK;
}

enum sma_err sma_file_tools_create(const struct sma_config *config,
                                   struct sma_file_tools **ret_tools, struct sma_error *error)
{
    (void)config;
    (void)error;
    *ret_tools = calloc(1, sizeof **ret_tools);
    return *ret_tools == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

void sma_file_tools_destroy(struct sma_file_tools *tools)
{
    free(tools);
}

enum sma_err sma_file_tools_create_view(const struct sma_file_tools *tools, const char *folder,
                                        struct sma_file_tools **ret_view, struct sma_error *error)
{
    (void)tools;
    (void)folder;
    (void)ret_view;
    return sma_fail(error, SMA_ERR_NOTFOUND, "no skills here");
}

bool sma_file_tools_has(struct sma_str name)
{
    return sma_str_is_equal(name, SMA_STR("read_file")) ||
           sma_str_is_equal(name, SMA_STR("search_files"));
}

void sma_file_tools_put_target(const struct sma_file_tools *tools, struct sma_str name,
                               struct sma_str arguments, struct sma_buf *ret_path)
{
    (void)tools;
    (void)name;
    (void)arguments;
    (void)ret_path;
}

bool sma_file_tools_run(const struct sma_file_tools *tools, const struct sma_file_call *call,
                        struct sma_buf *result)
{
    (void)tools;
    if (sma_str_is_equal(call->name, SMA_STR("search_files"))) /* a long one: until it is stopped */
        while (__atomic_load_n(call->is_stopped, __ATOMIC_RELAXED) == 0)
            usleep(1000);
    sma_buf_put_text(result, "{\"success\":true,\"text\":\"hello\"}");
    return true;
}

/* Beneath the project by name alone: the guard has tests of its own. */
enum sma_err sma_file_tools_open_part(const struct sma_file_tools *tools, struct sma_str path,
                                      int *ret_fd, uint64_t *ret_bytes, struct sma_buf *why)
{
    (void)tools;
    (void)path;
    (void)ret_fd;
    (void)ret_bytes;
    sma_buf_put_text(why, "nothing is there");
    return SMA_ERR_NOTFOUND;
}
