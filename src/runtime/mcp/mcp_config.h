/*
 * mcp_config.h — `.ship/mcp/mcp.json`: which MCP servers there are and how they are reached.
 *
 *   { "servers": { "files": { "type": "stdio", "command": "mcp-files", "args": ["."],
 *                             "env": { "TOKEN": "${FILES_TOKEN}" },
 *                             "sandbox": { "enabled": true, "network": false },
 *                             "timeoutMs": 60000, "tools": { "deny": ["delete_*"] },
 *                             "sampling": "refuse",
 *                             "permissions": { ... } },
 *                  "wiki": { "type": "http", "url": "https://wiki/mcp",
 *                            "headers": { "Authorization": "Bearer ${WIKI_TOKEN}" } } } }
 *
 * A remote server may have "oauth": {"clientId","clientSecret","scope","grant"}: grant is
 * "authorization_code" (a person logs in: `shipmyagent mcp login`) or "client_credentials".
 *
 * `${NAME}` anywhere in the values of env, headers and oauth and in url is what the environment
 * says; a variable that is not set is empty, which is warned of. Nothing else is replaced.
 * Source: docs/protocols/project.md §2.5. A server that is wrong is there with its trouble, so that
 * people see it; the others are not concerned.
 * Threads: an instance is constant. Blocks: load reads a file.
 * Limits: SMA_MCP_CONFIG_BYTES_MAX, SMA_MCP_SERVER_COUNT_MAX, SMA_MCP_SERVER_NAME_BYTES_MAX.
 */
#ifndef SMA_RUNTIME_MCP_CONFIG_H
#define SMA_RUNTIME_MCP_CONFIG_H

#include "sma/buf.h"
#include "sma/limits.h"

#define SMA_MCP_CONFIG_FILE ".ship/mcp/mcp.json"

enum sma_mcp_transport
{
    SMA_MCP_STDIO,
    SMA_MCP_HTTP,
    SMA_MCP_SSE,
    SMA_MCP_TRANSPORT_COUNT,
};
/** "stdio" "http" "sse". */
const char *sma_mcp_transport_name(enum sma_mcp_transport transport);

struct sma_mcp_words
{
    const char **items;
    size_t count;
};

struct sma_mcp_config_server
{
    const char *name;
    const char *trouble; /* not NULL: it cannot be started, and this says why and what to do */
    enum sma_mcp_transport transport;
    const char *command;          /* STDIO */
    struct sma_mcp_words args;    /* STDIO */
    struct sma_mcp_words env;     /* STDIO: "NAME=value" */
    const char *url;              /* HTTP, SSE: http:// or https:// */
    struct sma_mcp_words headers; /* HTTP, SSE: "Name: value" */
    /* HTTP, SSE: oauth.clientId, clientSecret, scope, grant; NULL = not said */
    const char *client_id, *client_secret, *scope;
    bool has_credentials_grant;       /* grant is "client_credentials": nobody has to log in */
    int64_t timeout_ms;               /* of a call without a word of progress */
    struct sma_mcp_words allow, deny; /* patterns of tool names; no allow = all */
    bool is_sandboxed, has_network;   /* STDIO */
    bool may_sample;                  /* "sampling": "allow": it may have the model asked */
    const char *permissions_json;     /* raw, for the policy; "" = none */
    uint64_t fingerprint;             /* of all that is said of it, variables replaced */
};

struct sma_mcp_config
{
    struct sma_mcp_config_server servers[SMA_MCP_SERVER_COUNT_MAX];
    size_t server_count;
    void *storage;
};

typedef void sma_mcp_warn_fn(void *user, const char *line);
struct sma_mcp_config_options
{
    const char *project_dir;
    const char *(*find)(void *user, const char *name); /* a variable; NULL = not set */
    sma_mcp_warn_fn *warn; /* whole lines: file, server, member, remedy; no values. May be NULL */
    void *user;
};
/**
 * Read the project's file. No file: no servers.
 * @return OK and *ret_config | BADINPUT, TOOBIG, IO (*error: one line) | NOMEM. Allocates.
 */
SMA_CHECKED enum sma_err sma_mcp_config_load(const struct sma_mcp_config_options *options,
                                             struct sma_mcp_config **ret_config,
                                             struct sma_error *error);
void sma_mcp_config_destroy(struct sma_mcp_config *config); /* accepts NULL */
/** By name; NULL: there is none. */
const struct sma_mcp_config_server *sma_mcp_config_find(const struct sma_mcp_config *config,
                                                        const char *name);
/** Do tools.allow and tools.deny let this tool be used? Deny counts more. */
bool sma_mcp_config_allows(const struct sma_mcp_config_server *server, struct sma_str tool);
/** Does the pattern, in which '*' is any text, match all of it? Takes |pattern| * |text| steps at
 *  most. */
bool sma_mcp_matches(struct sma_str pattern, struct sma_str text);

#endif
