/* run_mcp_names.c — what a run has of MCP servers, and the two names of each tool: low in the run,
 * since every answer and every request is read and written by them. See run_mcp.h. */
#include "runtime/agent/run_mcp.h"

#include "run_priv.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdlib.h>

/* -- what the run has -------------------------------------------------------------------------- */
void run_mcp_init(struct sma_run *run, const struct sma_chat_rule *rule)
{
    run->mcp.rule = rule;
    if (run->settings->catalogue != NULL)
        run->mcp.catalogue = sma_mcp_catalogue_ref(run->settings->catalogue);
}

void run_mcp_fini(struct sma_run *run)
{
    sma_mcp_catalogue_unref(run->mcp.catalogue);
    run->mcp.catalogue = NULL;
    free(run->mcp.names);
    run->mcp.names = NULL;
    run->mcp.name_count = 0;
}

bool run_mcp_inherit(struct sma_run *run, const struct sma_tool_args *args)
{
    const struct run_mcp *from = &run->parent->mcp;
    run_mcp_fini(run);
    const json_t *list = args->server_tools;
    if (from->catalogue == NULL || (args->says_tools && list == NULL))
        return true;
    if (list != NULL) {
        run->mcp.names = calloc(json_array_size(list), sizeof *run->mcp.names);
        if (run->mcp.names == NULL)
            return false;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct sma_str name = sma_json_str_of(json_array_get(list, i));
        if (sma_tool_find(name) == SMA_TOOL_UNKNOWN)
            run->mcp.names[run->mcp.name_count++] = name;
    }
    run->mcp.rule = from->rule;
    run->mcp.catalogue = sma_mcp_catalogue_ref(from->catalogue);
    return true;
}

uint64_t run_mcp_names_hash(const struct sma_run *run)
{
    uint64_t hash = run->mcp.name_count == 0 ? 0 : UINT64_C(14695981039346656037);
    for (uint32_t i = 0; i < run->mcp.name_count; i++) {
        struct sma_str name = run->mcp.names[i];
        for (size_t k = 0; k <= name.len; k++)
            hash =
                (hash ^ (k < name.len ? (unsigned char)name.ptr[k] : 0)) * UINT64_C(1099511628211);
    }
    return hash;
}

struct sma_mcp_view run_mcp_view(const struct sma_run *run)
{
    return (struct sma_mcp_view){run->mcp.catalogue, run->settings->mcp_policy, run->mcp.rule,
                                 run->mcp.names, run->mcp.name_count};
}

/* -- names ------------------------------------------------------------------------------------- */
bool run_mcp_is_name(struct sma_str name)
{
    return sma_mcp_is_shown_name(name) || sma_mcp_helper_find(name) != SMA_MCP_HELPER_NONE;
}

struct sma_str run_mcp_wire_name(const struct sma_run *run, struct sma_buf *buf,
                                 struct sma_str name)
{
    if (!sma_mcp_is_shown_name(name))
        return name;
    size_t begin = buf->len;
    sma_mcp_put_wire_of(buf, run->mcp.catalogue, name);
    return (struct sma_str){buf->ptr + begin, buf->len - begin};
}

const struct sma_mcp_tool *run_mcp_find_tool(const struct sma_run *run, struct sma_str name)
{
    const struct sma_mcp_catalogue *catalogue = run->mcp.catalogue;
    if (catalogue == NULL || name.len == 0)
        return NULL;
    const struct sma_mcp_tool *tool = sma_mcp_catalogue_find_wire(catalogue, name);
    return tool != NULL ? tool : sma_mcp_catalogue_find_shown(catalogue, name);
}

/* mcp_call {tool, arguments}: what it asks for. The arguments go into `text`. */
static const struct sma_mcp_tool *unwrap(const struct sma_run *run,
                                         const struct sma_model_call *call, struct sma_buf *text)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    if (call->is_invalid || sma_json_load(call->arguments, &root) != SMA_ERR_OK)
        return NULL;
    const struct sma_mcp_tool *tool = run_mcp_find_tool(run, sma_json_str(root, "tool"));
    const json_t *arguments = sma_json_get(root, "arguments");
    if (tool == NULL || (arguments != NULL && !json_is_object(arguments)))
        return NULL;
    if (arguments != NULL)
        sma_json_put(text, arguments);
    else
        sma_buf_put_text(text, "{}");
    return tool;
}

bool run_mcp_translate(const struct sma_run *run, struct sma_model_answer *answer,
                       struct run_mcp_names *ret_names)
{
    *ret_names = (struct run_mcp_names){0};
    if (run->mcp.catalogue == NULL || answer->call_count == 0)
        return true;
    size_t room = 64; /* it must not move: calls point into it */
    for (uint32_t i = 0; i < answer->call_count; i++)
        room += 8 * answer->calls[i].arguments.len + 16;
    struct run_mcp_names names = {.calls = calloc(answer->call_count, sizeof *names.calls)};
    sma_buf_init(&names.text, room);
    if (names.calls == NULL || sma_buf_reserve(&names.text, room) == NULL) {
        run_mcp_names_fini(&names);
        return false;
    }
    for (uint32_t i = 0; i < answer->call_count; i++) {
        struct sma_model_call *call = &names.calls[i];
        *call = answer->calls[i];
        const struct sma_mcp_tool *tool = run_mcp_find_tool(run, call->name);
        size_t begin = names.text.len;
        if (tool == NULL && sma_mcp_helper_find(call->name) == SMA_MCP_HELPER_CALL) {
            tool = unwrap(run, call, &names.text);
            if (tool != NULL)
                call->arguments = (struct sma_str){names.text.ptr + begin, names.text.len - begin};
        }
        if (tool != NULL)
            call->name = tool->shown;
    }
    if (names.text.err != SMA_ERR_OK) {
        run_mcp_names_fini(&names);
        return false;
    }
    answer->calls = names.calls;
    *ret_names = names;
    return true;
}

void run_mcp_names_fini(struct run_mcp_names *names)
{
    free(names->calls);
    sma_buf_fini(&names->text);
    *names = (struct run_mcp_names){0};
}
