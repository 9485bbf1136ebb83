/* policy_mcp.c — see policy_mcp.h. */
#include "runtime/policy/policy_mcp.h"

#include <jansson.h>
#include <stdlib.h>

/* In the order of their strength. */
enum list
{
    LIST_DENY,
    LIST_ASK,
    LIST_ALLOW,
    LIST_COUNT,
};
static const char *const list_names[LIST_COUNT] = {"deny", "ask", "allow"};

struct sma_mcp_policy
{
    size_t count;
    struct
    {
        enum list list;
        char *pattern;
    } items[];
};

/* -- patterns ---------------------------------------------------------------------------------- */
bool sma_mcp_pattern_fits(struct sma_str pattern, struct sma_str text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, from = 0;
    while (t < text.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.len && pattern.ptr[p] == text.ptr[t]) {
            p++;
            t++;
        } else if (star != SIZE_MAX) { /* the newest star takes one byte more */
            p = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}

static bool is_pattern(const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    if (len == 0 || len > SMA_MCP_PATTERN_BYTES_MAX)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return false;
    return strcmp(text, "*") == 0 || strchr(text, ':') != NULL;
}

/* -- reading ----------------------------------------------------------------------------------- */
static enum sma_err add_list(struct sma_mcp_policy *policy, const json_t *mcp, enum list list,
                             struct sma_error *error)
{
    const json_t *patterns = json_object_get(mcp, list_names[list]), *item;
    size_t i;
    if (patterns == NULL || json_is_null(patterns))
        return SMA_ERR_OK;
    if (!json_is_array(patterns))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "permissions.mcp.%s is a list of patterns like \"files:read_*\"",
                        list_names[list]);
    json_array_foreach(patterns, i, item)
    {
        const char *text = json_string_value(item);
        if (!is_pattern(text))
            return sma_fail(error, SMA_ERR_BADINPUT,
                            "permissions.mcp.%s[%zu]: \"%.80s\" is not a pattern; write "
                            "server:tool, where * stands for anything, in at most %d bytes",
                            list_names[list], i, text == NULL ? "" : text,
                            SMA_MCP_PATTERN_BYTES_MAX);
        char *copy = strdup(text);
        if (copy == NULL)
            return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
        policy->items[policy->count].list = list;
        policy->items[policy->count++].pattern = copy;
    }
    return SMA_ERR_OK;
}

static size_t count_patterns(const json_t *mcp)
{
    size_t count = 0;
    for (int i = 0; i < LIST_COUNT; i++)
        count += json_array_size(json_object_get(mcp, list_names[i]));
    return count;
}

static enum sma_err check_members(json_t *mcp, struct sma_error *error)
{
    const char *key;
    json_t *value;
    if (mcp != NULL && !json_is_null(mcp) && !json_is_object(mcp))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "permissions.mcp is an object with lists: allow, ask, deny");
    json_object_foreach(mcp, key, value)
    {
        bool is_known = false;
        for (int i = 0; i < LIST_COUNT; i++)
            is_known |= strcmp(key, list_names[i]) == 0;
        if (!is_known)
            return sma_fail(error, SMA_ERR_BADINPUT,
                            "permissions.mcp.%.60s is not known; its lists are allow, ask and deny",
                            key);
    }
    return SMA_ERR_OK;
}

static enum sma_err read_policy(json_t *mcp, struct sma_mcp_policy **ret_policy,
                                struct sma_error *error)
{
    SMA_TRY(check_members(mcp, error));
    size_t count = count_patterns(mcp);
    if (count > SMA_MCP_PATTERN_COUNT_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "permissions.mcp: more than %d patterns; use * for several tools",
                        SMA_MCP_PATTERN_COUNT_MAX);
    struct sma_mcp_policy *policy = calloc(1, sizeof *policy + count * sizeof policy->items[0]);
    if (policy == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    enum sma_err err = SMA_ERR_OK;
    for (int i = 0; i < LIST_COUNT && err == SMA_ERR_OK; i++)
        err = add_list(policy, mcp, (enum list)i, error);
    if (err != SMA_ERR_OK) {
        sma_mcp_policy_destroy(policy);
        return err;
    }
    *ret_policy = policy;
    return SMA_ERR_OK;
}

enum sma_err sma_mcp_policy_load(const char *permissions_json, struct sma_mcp_policy **ret_policy,
                                 struct sma_error *error)
{
    bool is_empty = permissions_json == NULL || permissions_json[0] == '\0';
    json_t *root = is_empty ? NULL : json_loads(permissions_json, JSON_REJECT_DUPLICATES, NULL);
    if (!is_empty && root == NULL)
        return sma_fail(error, SMA_ERR_BADINPUT, "permissions cannot be read");
    enum sma_err err = read_policy(json_object_get(root, "mcp"), ret_policy, error);
    json_decref(root);
    return err;
}

void sma_mcp_policy_destroy(struct sma_mcp_policy *policy)
{
    if (policy == NULL)
        return;
    for (size_t i = 0; i < policy->count; i++)
        free(policy->items[i].pattern);
    free(policy);
}

enum sma_mcp_trust sma_mcp_trust_parse(const char *permissions_json)
{
    if (permissions_json != NULL && strcmp(permissions_json, "\"allow\"") == 0)
        return SMA_MCP_TRUST_ALLOW;
    if (permissions_json != NULL && strcmp(permissions_json, "\"deny\"") == 0)
        return SMA_MCP_TRUST_DENY;
    return SMA_MCP_TRUST_ASK;
}

/* -- deciding ---------------------------------------------------------------------------------- */
struct sma_mcp_decision sma_mcp_policy_decide(const struct sma_mcp_policy *policy,
                                              const struct sma_mcp_query *query)
{
    static const struct sma_mcp_decision by_list[LIST_COUNT] = {
        [LIST_DENY] = {SMA_POLICY_REFUSE, "", "permissions.mcp.deny names it", false},
        [LIST_ASK] = {SMA_POLICY_ASK, "", "permissions.mcp.ask names it", false},
        [LIST_ALLOW] = {SMA_POLICY_ALLOW, "", "permissions.mcp.allow names it", false}};
    for (size_t i = 0; i < policy->count; i++) { /* deny, then ask, then allow */
        const char *pattern = policy->items[i].pattern;
        if (!sma_mcp_pattern_fits(sma_str(pattern), query->shown))
            continue;
        struct sma_mcp_decision decision = by_list[policy->items[i].list];
        if (query->trust == SMA_MCP_TRUST_DENY)
            break;
        decision.rule = pattern;
        return decision;
    }
    if (query->trust == SMA_MCP_TRUST_DENY)
        return (struct sma_mcp_decision){SMA_POLICY_REFUSE, "", "mcp.json refuses this server",
                                         false};
    if (query->trust == SMA_MCP_TRUST_ALLOW && query->is_read_only)
        return (struct sma_mcp_decision){SMA_POLICY_ALLOW, "",
                                         "mcp.json allows what this server calls read-only", false};
    return (struct sma_mcp_decision){SMA_POLICY_ASK, "", "no rule allows it", true};
}
