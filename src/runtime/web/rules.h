/*
 * rules.h — what may be fetched from the web: `permissions.web` and `web` of ship.json.
 *
 *   "permissions": {"web": "ask" (default) | "allow" | "refuse"
 *                          | {"mode": one of these, "allow": [patterns], "deny": [patterns]}}
 *   "web": {"allowPrivateHosts": ["wiki.lan", "10.0.0.5:8090"], "ports": [8000],
 *           "search": {"provider": "searxng" | "brave" | "tavily" | "bing", "url", "apiKey"}}
 *
 * A pattern is a host, or "*.example.com": every host below it, not itself. "deny" is stronger than
 * everything. Of a host that neither list has: "ask" asks unless the person named it, "allow" does
 * not ask, "refuse" has no web at all but the hosts of "allow".
 * Ports are 80, 443, 8080 and 8443, those of `web.ports`, and one that stands beside a host of
 * allowPrivateHosts, for that host.
 * Threads: constant after parsing.
 */
#ifndef SMA_RUNTIME_WEB_RULES_H
#define SMA_RUNTIME_WEB_RULES_H

#include "runtime/web/url.h"

enum sma_web_verdict
{
    SMA_WEB_ALLOW,
    SMA_WEB_ASK,
    SMA_WEB_REFUSE,
};
enum sma_web_provider
{
    SMA_WEB_SEARCH_NONE,
    SMA_WEB_SEARCH_SEARXNG,
    SMA_WEB_SEARCH_BRAVE,
    SMA_WEB_SEARCH_TAVILY,
    SMA_WEB_SEARCH_BING,
};

struct sma_web_rules;
/** permissions_json, web_json: "" or NULL = the defaults. OK | BADINPUT (*error names member and
 *  remedy) | NOMEM */
SMA_CHECKED enum sma_err sma_web_rules_parse(const char *permissions_json, const char *web_json,
                                             struct sma_web_rules **ret_rules,
                                             struct sma_error *error);
void sma_web_rules_destroy(struct sma_web_rules *rules); /* accepts NULL; wipes the key */

struct sma_web_judgement
{
    enum sma_web_verdict verdict;
    const char *rule;   /* the member that decides, for the audit line and the card */
    const char *reason; /* in words */
    bool is_private_allowed;
    bool is_host_allowed; /* by the owner's list, not by the mode or by what a person named */
};

/** words: the person's own, of this message; may be empty. */
struct sma_web_judgement sma_web_rules_judge(const struct sma_web_rules *rules,
                                             const struct sma_web_url *url, struct sma_str words);
/** Who is asked for searches: NONE, or where and with which key ("" = none). */
enum sma_web_provider sma_web_rules_search(const struct sma_web_rules *rules, const char **ret_url,
                                           const char **ret_key);
/** Is there anything that may be fetched? Else the tool is not offered. */
bool sma_web_rules_has_fetch(const struct sma_web_rules *rules);

#endif
