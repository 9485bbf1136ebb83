/*
 * run_mcp.h — tools of MCP servers in a run: which it has, what may be called, the call, its
 * result.
 *
 * A run keeps the catalogue that it began with, so its list of tools does not change while it goes
 * on. A call is stored under the name that people see, "server:tool"; the model's own bytes keep
 * the name on the wire. It leaves after the step that holds it is durable, and is never sent
 * again: what was open when the program ended is answered "unknown".
 */
#ifndef SMA_RUNTIME_AGENT_RUN_MCP_H
#define SMA_RUNTIME_AGENT_RUN_MCP_H

#include "runtime/agent/mcp_offer.h"
#include "runtime/agent/run.h"

struct run_mcp
{
    const struct sma_mcp_catalogue *catalogue; /* with a reference; NULL: none */
    const struct sma_chat_rule *rule;          /* of `chats`, NULL: none */
    uint32_t open_count;                       /* calls that are at a server */
    struct sma_str *names; /* of a sub-agent: see struct sma_mcp_view; slices of its call */
    uint32_t name_count;
};

/* A prompt of a server that the message names (run_prompt.c). */
struct run_prompt
{
    bool is_asked, is_open;
    struct sma_str server, name; /* slices of the order */
    struct sma_buf text;         /* what it gave */
};

/* An answer of the model in our names: what of it differs. */
struct run_mcp_names
{
    struct sma_model_call *calls; /* NULL: nothing differs */
    struct sma_buf text;
};

/* run_mcp_names.c */
void run_mcp_init(struct sma_run *run, const struct sma_chat_rule *rule);
void run_mcp_fini(struct sma_run *run);
/* A sub-agent: what its run has, or what of it the call lists. false: out of memory. */
bool run_mcp_inherit(struct sma_run *run, const struct sma_tool_args *args);
uint64_t run_mcp_names_hash(const struct sma_run *run);
struct sma_mcp_view run_mcp_view(const struct sma_run *run);
/* Names on the wire become those that people see, mcp_call becomes the call that it asks for.
 * *answer then borrows from *ret_names. false: out of memory. */
bool run_mcp_translate(const struct sma_run *run, struct sma_model_answer *answer,
                       struct run_mcp_names *ret_names);
void run_mcp_names_fini(struct run_mcp_names *names);
/* Is a call of this stored name one of ours here? */
bool run_mcp_is_name(struct sma_str name);
/* The name as models know it: of a stored one. Written into buf where it differs. */
struct sma_str run_mcp_wire_name(const struct sma_run *run, struct sma_buf *buf,
                                 struct sma_str name);
/* By either name: models that have read the shown one use it. NULL: there is none. */
const struct sma_mcp_tool *run_mcp_find_tool(const struct sma_run *run, struct sma_str name);

/* run_mcp.c */
/* What can be said of it without doing anything: unknown tools, wrong arguments, searches. */
void run_mcp_check_call(struct sma_run *run, uint32_t index);
/* May it be done? Sets what people are asked, or a result when it may not. */
void run_mcp_judge(struct sma_run *run, uint32_t index);
/* It is durable, and agreed to where that was needed: to the server. */
void run_mcp_begin(struct sma_run *run, uint32_t index);
void run_mcp_answered(struct sma_run *run, uint32_t index, const struct sma_mcp_answer *answer);

/* run_prompt.c: a message "/server:prompt words" stands for what the server gives for it. */
/* true: the server was asked, or the run has ended with a notice. */
bool run_prompt_ask(struct sma_run *run);
/* false: the run has ended with a notice. */
bool run_prompt_came(struct sma_run *run, const struct sma_mcp_answer *answer);

#endif
