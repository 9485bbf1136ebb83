/*
 * Aim: permissions.mcp says about "server:tool" what it says and no more: deny beats ask beats
 * allow, hints of a server count only where the owner says so, old files are read.
 */
#include "runtime/policy/policy_mcp.h"
#include "sma/buf.h"
#include "support/check.h"

static struct sma_mcp_decision decide(struct sma_mcp_policy *policy, const char *shown,
                                      enum sma_mcp_trust trust, bool is_read_only)
{
    return sma_mcp_policy_decide(policy, &(struct sma_mcp_query){.shown = sma_str(shown),
                                                                 .trust = trust,
                                                                 .is_read_only = is_read_only});
}

static struct sma_mcp_policy *load(const char *json)
{
    struct sma_mcp_policy *policy;
    struct sma_error error;
    CHECK_OK(sma_mcp_policy_load(json, &policy, &error));
    return policy;
}

CASE(deny_beats_ask_beats_allow)
{
    static const char rules[] = "{\"mcp\":{\"allow\":[\"files:*\",\"*:get_*\",\"git:log\"],"
                                "\"ask\":[\"files:write_*\"],"
                                "\"deny\":[\"files:write_secret\",\"evil:*\"]}}";
    static const struct
    {
        const char *json, *shown;
        enum sma_mcp_trust trust;
        bool is_read_only;
        enum sma_policy_verdict verdict;
        const char *rule;
        bool is_grantable;
    } rows[] = {
        {NULL, "a:b", SMA_MCP_TRUST_ASK, false, SMA_POLICY_ASK, "", true},
        {"", "a:b", SMA_MCP_TRUST_ASK, true, SMA_POLICY_ASK, "", true},
        {"{}", "a:b", SMA_MCP_TRUST_ASK, true, SMA_POLICY_ASK, "", true},
        {"{\"exec_shell\":true}", "a:b", SMA_MCP_TRUST_ASK, true, SMA_POLICY_ASK, "", true},
        {"{\"mcp\":null}", "a:b", SMA_MCP_TRUST_ALLOW, false, SMA_POLICY_ASK, "", true},
        {"{\"mcp\":{}}", "a:b", SMA_MCP_TRUST_ALLOW, true, SMA_POLICY_ALLOW, "", false},
        {"{\"mcp\":{}}", "a:b", SMA_MCP_TRUST_DENY, true, SMA_POLICY_REFUSE, "", false},
        {"{\"mcp\":{\"allow\":[\"*\"]}}", "a:b", SMA_MCP_TRUST_ASK, false, SMA_POLICY_ALLOW, "*",
         false},
        {"{\"mcp\":{\"allow\":[\"*\"]}}", "a:b", SMA_MCP_TRUST_DENY, false, SMA_POLICY_REFUSE, "",
         false},
        {"{\"mcp\":{\"deny\":[\"*\"]}}", "a:b", SMA_MCP_TRUST_ALLOW, true, SMA_POLICY_REFUSE, "*",
         false},
        {rules, "files:read", SMA_MCP_TRUST_ASK, false, SMA_POLICY_ALLOW, "files:*", false},
        {rules, "files:write_a", SMA_MCP_TRUST_ALLOW, true, SMA_POLICY_ASK, "files:write_*", false},
        {rules, "files:write_secret", SMA_MCP_TRUST_ALLOW, true, SMA_POLICY_REFUSE,
         "files:write_secret", false},
        {rules, "files:write_secrets", SMA_MCP_TRUST_ASK, true, SMA_POLICY_ASK, "files:write_*",
         false},
        {rules, "evil:get_x", SMA_MCP_TRUST_ALLOW, true, SMA_POLICY_REFUSE, "evil:*", false},
        {rules, "web:get_x", SMA_MCP_TRUST_ASK, false, SMA_POLICY_ALLOW, "*:get_*", false},
        {rules, "git:log", SMA_MCP_TRUST_ASK, false, SMA_POLICY_ALLOW, "git:log", false},
        {rules, "git:logs", SMA_MCP_TRUST_ASK, false, SMA_POLICY_ASK, "", true},
        {rules, "git:lo", SMA_MCP_TRUST_ASK, false, SMA_POLICY_ASK, "", true},
        {rules, "Files:read", SMA_MCP_TRUST_ASK, false, SMA_POLICY_ASK, "", true},
        {rules, "xfiles:read", SMA_MCP_TRUST_ASK, false, SMA_POLICY_ASK, "", true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_mcp_policy *policy = load(rows[i].json);
        struct sma_mcp_decision got =
            decide(policy, rows[i].shown, rows[i].trust, rows[i].is_read_only);
        if (got.verdict != rows[i].verdict || strcmp(got.rule, rows[i].rule) != 0 ||
            got.is_grantable != rows[i].is_grantable) {
            fprintf(stderr, "row %zu: %s: %d \"%s\"\n", i, rows[i].shown, got.verdict, got.rule);
            exit(1);
        }
        CHECK(got.reason[0] != '\0');
        sma_mcp_policy_destroy(policy);
    }
}

CASE(stars_stand_for_any_bytes)
{
    static const struct
    {
        const char *pattern, *text;
        bool fits;
    } rows[] = {{"*", "", true},        {"*", "a:b", true},       {"", "", true},
                {"", "a", false},       {"a*", "a", true},        {"a*c", "abbc", true},
                {"a*c", "abb", false},  {"*a*b*", "xaxbx", true}, {"*a*b*", "xbxax", false},
                {"a**b", "ab", true},   {"*ab", "aab", true},     {"*ab", "aba", false},
                {"a:*", "a:b:c", true}, {"a?", "ab", false},      {"[a]", "a", false}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK(sma_mcp_pattern_fits(sma_str(rows[i].pattern), sma_str(rows[i].text)) ==
              rows[i].fits);
    /* the worst pattern that may be written against the longest name: no matter */
    char pattern[257], text[512];
    for (size_t i = 0; i < 256; i++)
        pattern[i] = i % 2 == 0 ? '*' : 'a';
    pattern[256] = '\0';
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 2] = 'b';
    text[sizeof text - 1] = '\0';
    CHECK(!sma_mcp_pattern_fits(sma_str(pattern), sma_str(text)));
}

CASE(damage_is_named)
{
    static const struct
    {
        const char *json, *said;
    } rows[] = {
        {"{\"mcp\":true}", "permissions.mcp is an object"},
        {"{\"mcp\":[\"a:b\"]}", "permissions.mcp is an object"},
        {"{\"mcp\":{\"alow\":[]}}", "permissions.mcp.alow is not known"},
        {"{\"mcp\":{\"allow\":\"a:b\"}}", "permissions.mcp.allow is a list"},
        {"{\"mcp\":{\"ask\":[\"a:b\",7]}}", "permissions.mcp.ask[1]"},
        {"{\"mcp\":{\"deny\":[\"files\"]}}", "\"files\" is not a pattern; write server:tool"},
        {"{\"mcp\":{\"deny\":[\"\"]}}", "permissions.mcp.deny[0]"},
        {"{\"mcp\":{\"deny\":[\"a:\\u0007\"]}}", "permissions.mcp.deny[0]"},
        {"{\"mcp\":", "cannot be read"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_mcp_policy *policy;
        struct sma_error error;
        CHECK_ERR(SMA_ERR_BADINPUT, sma_mcp_policy_load(rows[i].json, &policy, &error));
        CHECK(strstr(error.text, rows[i].said) != NULL);
    }
}

static bool is_loaded(int count, int bytes)
{
    struct sma_buf json;
    struct sma_mcp_policy *policy = NULL;
    struct sma_error error;
    sma_buf_init(&json, 1024 * 1024);
    sma_buf_put_text(&json, "{\"mcp\":{\"allow\":[");
    for (int i = 0; i < count; i++) {
        sma_buf_put_text(&json, i == 0 ? "\"a:" : ",\"a:");
        for (int k = 2; k < bytes; k++)
            sma_buf_put_char(&json, 'x');
        sma_buf_put_char(&json, '"');
    }
    sma_buf_put_text(&json, "]}}");
    sma_buf_put(&json, "", 1);
    CHECK(json.err == SMA_ERR_OK);
    bool is_good = sma_mcp_policy_load(json.ptr, &policy, &error) == SMA_ERR_OK;
    sma_mcp_policy_destroy(policy);
    sma_buf_fini(&json);
    return is_good;
}

CASE(bounds_hold)
{
    CHECK(is_loaded(SMA_MCP_PATTERN_COUNT_MAX - 1, 5));
    CHECK(is_loaded(SMA_MCP_PATTERN_COUNT_MAX, 5));
    CHECK(!is_loaded(SMA_MCP_PATTERN_COUNT_MAX + 1, 5));
    CHECK(is_loaded(1, SMA_MCP_PATTERN_BYTES_MAX - 1));
    CHECK(is_loaded(1, SMA_MCP_PATTERN_BYTES_MAX));
    CHECK(!is_loaded(1, SMA_MCP_PATTERN_BYTES_MAX + 1));
}

CASES_MAIN
