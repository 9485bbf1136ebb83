/*
 * policy_mcp.h — may a tool of an MCP server be called, must people be asked, or is it refused?
 *
 * Source: `permissions.mcp` of ship.json: {"allow": [pattern], "ask": [pattern], "deny":
 * [pattern]}. A pattern speaks of "server:tool" as people see it; `*` stands for any bytes, `*`
 * alone for every tool. A file without the member means: everything is asked.
 *
 * Invariants: deny beats ask beats allow. What no pattern names is as the owner's entry of the
 *             server in mcp.json says: a server's hint that a tool only reads counts only where
 *             that entry is "allow", for hints are a stranger's words. What `ask` names is asked
 *             every time: no standing permission covers it.
 * Threads:    a loaded policy is constant and may be shared.
 */
#ifndef SMA_POLICY_MCP_H
#define SMA_POLICY_MCP_H

#include "runtime/policy/policy.h"

#define SMA_MCP_PATTERN_COUNT_MAX 1024 /* of all lists together; beyond it the policy is refused */
#define SMA_MCP_PATTERN_BYTES_MAX 256  /* of one; beyond it the policy is refused */

struct sma_mcp_policy;

/** What mcp.json says of a server: its `permissions`. */
enum sma_mcp_trust
{
    SMA_MCP_TRUST_ASK,   /* nothing is allowed by it; also what an entry without the member means */
    SMA_MCP_TRUST_ALLOW, /* what the server calls read-only may be called */
    SMA_MCP_TRUST_DENY,  /* nothing may be called */
};
/** The member as JSON text: "ask", "allow", "deny". Anything else, also NULL: ASK. */
enum sma_mcp_trust sma_mcp_trust_parse(const char *permissions_json);

/**
 * Read `permissions` as JSON text; "" or NULL stands for none: everything is asked.
 * @return OK and *ret_policy (destroy it) | BADINPUT with one line that names the pattern and the
 *         remedy | NOMEM
 */
SMA_CHECKED enum sma_err sma_mcp_policy_load(const char *permissions_json,
                                             struct sma_mcp_policy **ret_policy,
                                             struct sma_error *error);
void sma_mcp_policy_destroy(struct sma_mcp_policy *policy); /* accepts NULL */

struct sma_mcp_query
{
    struct sma_str shown; /* "server:tool" */
    enum sma_mcp_trust trust;
    bool is_read_only; /* says the server */
};
struct sma_mcp_decision
{
    enum sma_policy_verdict verdict;
    const char *rule;   /* the pattern that decided, as written; "" when none did */
    const char *reason; /* one clause for people: why */
    bool is_grantable;  /* ASK: people may agree for longer than once */
};
/** Decide about one tool. Allocates nothing; the texts live as long as the policy. */
struct sma_mcp_decision sma_mcp_policy_decide(const struct sma_mcp_policy *policy,
                                              const struct sma_mcp_query *query);
/** Does `text` fit `pattern`, in which `*` stands for any bytes? In time len * len at most. */
bool sma_mcp_pattern_fits(struct sma_str pattern, struct sma_str text);

#endif
