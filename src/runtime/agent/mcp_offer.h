/*
 * mcp_offer.h — what of the tools of MCP servers one chat is offered, and in which form a request
 * carries it.
 *
 * Up to SMA_MCP_DIRECT_COUNT_MAX tools (and SMA_MCP_DIRECT_BYTES_MAX of descriptions and schemas)
 * stand in the head of a request like our own, behind them, sorted by server and name: the
 * bytes before stay cached, and while a run is open they do not change, since a run keeps the
 * catalogue that it began with. More stay out of it: the head then has `tool_search`, whose result
 * brings schemas into the conversation, and `mcp_call`, by which any of them is called.
 *
 * Everything in a catalogue is untrusted; what goes into a request is bounded and of a form that
 * providers take.
 * Threads: no state.
 */
#ifndef SMA_RUNTIME_AGENT_MCP_OFFER_H
#define SMA_RUNTIME_AGENT_MCP_OFFER_H

#include "runtime/mcp/catalogue.h"
#include "runtime/policy/policy_mcp.h"
#include "sma/chats.h"
#include "sma/wire.h"

/* reading a resource, for policies and lists: "server:resources/read" */
#define SMA_MCP_READ_NAME "resources/read"
#define SMA_MCP_PROMPT_PREFIX "prompts/" /* and the name of a prompt, likewise */
#define SMA_MCP_DIRECT_COUNT_MAX 40
#define SMA_MCP_DIRECT_BYTES_MAX (96u * 1024)
#define SMA_MCP_FOUND_COUNT_MAX 8            /* tools of one tool_search */
#define SMA_MCP_FOUND_BYTES_MAX (24u * 1024) /* further ones are named without their schema */
#define SMA_MCP_QUERY_BYTES_MAX 300          /* beyond it is not read */
#define SMA_MCP_RESOURCE_LIST_MAX 100        /* of one mcp_list_resources */

/* What one chat sees of it; all borrowed. */
struct sma_mcp_view
{
    const struct sma_mcp_catalogue *catalogue; /* NULL: nothing */
    const struct sma_mcp_policy *policy;
    const struct sma_chat_rule *rule; /* whose `tools` hold in the chat, NULL: none */
    /* of a sub-agent whose call lists its tools: patterns, of either name; count 0: all */
    const struct sma_str *names;
    uint32_t name_count;
};

/** Is the tool offered: by mcp.json, by `chats`, and not refused by permissions.mcp? */
bool sma_mcp_view_has(const struct sma_mcp_view *view, const struct sma_mcp_tool *tool);
/** May what this server has be read? */
bool sma_mcp_view_reads(const struct sma_mcp_view *view, struct sma_str server);
/**
 * May this prompt of a server be asked for? Where its resources are kept from a chat its prompts
 * are, too; a pattern may name one as "server:prompts/name". ASK: an administrator or owner asks
 * for it himself, others may not.
 * @trust  enum sma_mcp_trust of the server
 */
enum sma_policy_verdict sma_mcp_view_prompt(const struct sma_mcp_view *view,
                                            enum sma_mcp_trust trust, struct sma_str server,
                                            struct sma_str name);
/** May somebody of this enum sma_standing ask for a prompt of this verdict? */
bool sma_mcp_may_prompt(enum sma_policy_verdict verdict, uint8_t standing);
/** The question to the policy about this tool. */
struct sma_mcp_query sma_mcp_view_query(const struct sma_mcp_view *view,
                                        const struct sma_mcp_tool *tool);
enum sma_mcp_trust sma_mcp_view_trust(const struct sma_mcp_view *view, struct sma_str server);

/* Tools of a request; slices into the catalogue and `text`. */
struct sma_mcp_specs
{
    struct sma_tool_spec *list;
    size_t count;
    struct sma_buf text;
};
/** OK | NOMEM. Release with sma_mcp_specs_fini. */
SMA_CHECKED enum sma_err sma_mcp_view_specs(const struct sma_mcp_view *view,
                                            struct sma_mcp_specs *ret_specs);
void sma_mcp_specs_fini(struct sma_mcp_specs *specs); /* accepts a zeroed struct */

/* -- our own tools around it ------------------------------------------------------------------- */
enum sma_mcp_helper
{
    SMA_MCP_HELPER_CALL,      /* mcp_call {tool, arguments} */
    SMA_MCP_HELPER_RESOURCES, /* mcp_list_resources {server?} */
    SMA_MCP_HELPER_READ,      /* mcp_read_resource {server, uri} */
    SMA_MCP_HELPER_SEARCH,    /* tool_search {query} */
    SMA_MCP_HELPER_COUNT,
    SMA_MCP_HELPER_NONE = SMA_MCP_HELPER_COUNT,
};
enum sma_mcp_helper sma_mcp_helper_find(struct sma_str name);
/** JSON Schema of its arguments. Static. */
struct sma_str sma_mcp_helper_schema(enum sma_mcp_helper helper);
/** The result of tool_search, appended. */
void sma_mcp_put_found(struct sma_buf *buf, const struct sma_mcp_view *view, struct sma_str query);
/** The result of mcp_list_resources; server: empty = of all. */
void sma_mcp_put_resources(struct sma_buf *buf, const struct sma_mcp_view *view,
                           struct sma_str server);

/* -- names ------------------------------------------------------------------------------------- */
/** Is it the name of a server's tool as people see it: "server:tool"? */
bool sma_mcp_is_shown_name(struct sma_str name);
/** The name on the wire of "server:tool", also when no catalogue knows it any more. Appended. */
void sma_mcp_put_wire_of(struct sma_buf *buf, const struct sma_mcp_catalogue *catalogue,
                         struct sma_str shown);
/** A schema as every provider takes it: an object with `properties`, without forms at the top and
 *  without names of dialects. Appended. */
void sma_mcp_put_schema(struct sma_buf *buf, struct sma_str schema);

#endif
