/*
 * catalogue.h — what all MCP servers offer right now: servers, tools, resources, prompts.
 *
 * Made by the mcp actor from what its servers listed, read by the agent. It never changes after it
 * was made; a change is a new catalogue. Everything in it but the servers' names was said by a
 * server: untrusted. Names and descriptions are clean (sma_mcp_put_clean), hints are hints.
 *
 * Names: a server's is [A-Za-z0-9_.-]. People, logs and approvals see "server:tool" (`shown`),
 * models see `wire`: "mcp__server__tool", [a-zA-Z0-9_-], at most SMA_MCP_WIRE_BYTES_MAX. A name
 * that does not fit, or that another pair of names could make as well, is cut and ends in a hash
 * of both names: so `wire` depends on its own tool alone and stays the same whatever else there is.
 *
 * Invariants: servers are sorted by name, everything else by server and then name, each pair of
 *             names once; wire names are unique.
 * Threads:    a catalogue is immutable and counts its references atomically; a builder is its
 *             maker's.
 * Limits:     SMA_MCP_CATALOGUE_BYTES_MAX of text, SMA_MCP_TOOL_COUNT_MAX tools a server: what is
 *             beyond is left out and counted in the server's dropped_count.
 */
#ifndef SMA_RUNTIME_MCP_CATALOGUE_H
#define SMA_RUNTIME_MCP_CATALOGUE_H

#include "sma/buf.h"
#include "sma/limits.h"

enum sma_mcp_state
{
    SMA_MCP_CONNECTING,
    SMA_MCP_CONNECTED,
    SMA_MCP_DISCONNECTED, /* it ended; it is started again after a while */
    SMA_MCP_ERROR,        /* it needs somebody: not started again by itself */
};
/** "connecting" "connected" "disconnected" "error". */
const char *sma_mcp_state_name(enum sma_mcp_state state);

struct sma_mcp_server
{
    struct sma_str name;
    uint8_t state;               /* enum sma_mcp_state */
    struct sma_str instructions; /* for models, untrusted; may be empty */
    struct sma_str trouble;      /* why it is not connected; may be empty */
    uint32_t tool_count;
    uint8_t trust;          /* enum sma_mcp_trust of policy_mcp.h, by its entry in mcp.json */
    uint32_t dropped_count; /* tools it listed that are not here */
    bool is_remote; /* what it gets may leave this machine: over the network, or it has one */
};

struct sma_mcp_tool
{
    struct sma_str server, name; /* name: as the server knows it */
    struct sma_str shown, wire;  /* made by the builder */
    struct sma_str title, description;
    struct sma_str schema; /* JSON object text: what arguments must look like */
    /* the server's hints; what it does not say is as the protocol has it: destructive, open */
    bool is_read_only, is_destructive, is_idempotent, is_open_world;
    bool is_allowed; /* by tools.allow and tools.deny of the server in mcp.json */
};

struct sma_mcp_resource
{
    struct sma_str server, uri, name, description, mime;
    bool is_template; /* uri is a URI template */
};

#define SMA_MCP_ARGUMENT_COUNT_MAX 16 /* of one prompt; a prompt with more is left out */
struct sma_mcp_argument
{
    struct sma_str name, description;
    bool is_required;
};

struct sma_mcp_prompt
{
    struct sma_str server, name, title, description;
    struct sma_mcp_argument arguments[SMA_MCP_ARGUMENT_COUNT_MAX];
    uint32_t argument_count;
};

struct sma_mcp_catalogue
{
    unsigned refs;    /* atomic: sma_mcp_catalogue_ref alone */
    uint64_t version; /* rises with each catalogue of one actor */
    struct sma_mcp_server *servers;
    struct sma_mcp_tool *tools;
    struct sma_mcp_resource *resources;
    struct sma_mcp_prompt *prompts;
    size_t server_count, tool_count, resource_count, prompt_count;
    uint32_t *by_wire; /* indices of tools in the order of their wire names */
    char *wires;
    struct sma_buf texts;
};

/** One more reference. @return the same. Thread: any. */
const struct sma_mcp_catalogue *sma_mcp_catalogue_ref(const struct sma_mcp_catalogue *catalogue);
/** Give one back; the last one frees. Accepts NULL. Thread: any. */
void sma_mcp_catalogue_unref(const struct sma_mcp_catalogue *catalogue);
/** By name on the wire; NULL: there is none. */
const struct sma_mcp_tool *sma_mcp_catalogue_find_wire(const struct sma_mcp_catalogue *catalogue,
                                                       struct sma_str wire);
/** By "server:tool"; NULL: there is none. */
const struct sma_mcp_tool *sma_mcp_catalogue_find_shown(const struct sma_mcp_catalogue *catalogue,
                                                        struct sma_str shown);
/** By name; NULL: there is none. */
const struct sma_mcp_server *
sma_mcp_catalogue_find_server(const struct sma_mcp_catalogue *catalogue, struct sma_str name);

/* -- making one -------------------------------------------------------------------------------- */
struct sma_mcp_builder; /* errors are sticky and come out of finish */

/** NULL when out of memory. */
struct sma_mcp_builder *sma_mcp_builder_create(uint64_t version);
/** Throw it away unfinished. Accepts NULL. */
void sma_mcp_builder_destroy(struct sma_mcp_builder *builder);
/* Each copies what it is given; shown, wire and tool_count are ignored. A tool, resource or prompt
 * belongs to a server that was added before. */
void sma_mcp_builder_add_server(struct sma_mcp_builder *builder,
                                const struct sma_mcp_server *server);
void sma_mcp_builder_add_tool(struct sma_mcp_builder *builder, const struct sma_mcp_tool *tool);
void sma_mcp_builder_add_resource(struct sma_mcp_builder *builder,
                                  const struct sma_mcp_resource *resource);
void sma_mcp_builder_add_prompt(struct sma_mcp_builder *builder,
                                const struct sma_mcp_prompt *prompt);
/**
 * Sort, name, index. The builder is gone afterwards, whatever is returned.
 * @ret_catalogue  with one reference, the caller's
 * @return OK | NOMEM
 */
SMA_CHECKED enum sma_err sma_mcp_builder_finish(struct sma_mcp_builder *builder,
                                                const struct sma_mcp_catalogue **ret_catalogue);

/**
 * Append what a server said, for people and models: without characters that nobody sees and that
 * change how text reads (sma_point_misleads), control characters as blanks (line ends stay),
 * invalid UTF-8 as U+FFFD, cut at max_bytes with "…".
 */
void sma_mcp_put_clean(struct sma_buf *buf, struct sma_str text, size_t max_bytes);
/** Is this a name that a tool may have: 1..SMA_MCP_NAME_BYTES_MAX bytes that cleaning leaves as
 *  they are, without blanks at the ends and line ends? */
bool sma_mcp_is_name(struct sma_str name);
/** Append the name on the wire. salt: 0; more when a name was taken already. */
void sma_mcp_put_wire_name(struct sma_buf *buf, struct sma_str server, struct sma_str tool,
                           unsigned salt);

#endif
