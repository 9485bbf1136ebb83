/* mcp_offer.c — see mcp_offer.h. */
#include "runtime/agent/mcp_offer.h"

#include "runtime/json/json_read.h"
#include "runtime/mcp/schema_mend.h"
#include "sma/text.h"

#include <stdlib.h>

/* -- what is offered --------------------------------------------------------------------------- */
enum sma_mcp_trust sma_mcp_view_trust(const struct sma_mcp_view *view, struct sma_str server)
{
    const struct sma_mcp_server *found = sma_mcp_catalogue_find_server(view->catalogue, server);
    return found == NULL ? SMA_MCP_TRUST_ASK : (enum sma_mcp_trust)found->trust;
}

struct sma_mcp_query sma_mcp_view_query(const struct sma_mcp_view *view,
                                        const struct sma_mcp_tool *tool)
{
    return (struct sma_mcp_query){.shown = tool->shown,
                                  .trust = sma_mcp_view_trust(view, tool->server),
                                  .is_read_only = tool->is_read_only};
}

static bool fits_one(const char *const *patterns, uint32_t count, struct sma_str shown)
{
    for (uint32_t i = 0; i < count; i++)
        if (sma_mcp_pattern_fits(sma_str(patterns[i]), shown))
            return true;
    return false;
}

static bool is_listed(const struct sma_mcp_view *view, struct sma_str shown, struct sma_str wire)
{
    for (uint32_t i = 0; i < view->name_count; i++)
        if (sma_mcp_pattern_fits(view->names[i], shown) ||
            (wire.len > 0 && sma_str_is_equal(view->names[i], wire)) ||
            sma_mcp_helper_find(view->names[i]) == SMA_MCP_HELPER_CALL)
            return true;
    return view->name_count == 0;
}

/* What ship.json says for this chat alone. */
static bool fits_rule(const struct sma_mcp_view *view, struct sma_str shown)
{
    const struct sma_chat_rule *rule = view->rule;
    if (rule == NULL)
        return true;
    if (fits_one(rule->mcp_denied, rule->mcp_denied_count, shown))
        return false;
    return !rule->allows_tools || fits_one(rule->mcp_allowed, rule->mcp_allowed_count, shown);
}

/* What the policy says of "server:<word><name>"; REFUSE also where the chat, or the call of a
 * sub-agent, does not let it be seen. */
static struct sma_mcp_decision decide(const struct sma_mcp_view *view, enum sma_mcp_trust trust,
                                      struct sma_str server, const char *word, struct sma_str name)
{
    struct sma_mcp_decision decision = {.verdict = SMA_POLICY_REFUSE, .rule = ""};
    struct sma_buf shown;
    sma_buf_init(&shown, 4096);
    sma_buf_put_str(&shown, server);
    sma_buf_put_char(&shown, ':');
    sma_buf_put_text(&shown, word);
    sma_buf_put_str(&shown, name);
    struct sma_mcp_query query = {
        .shown = sma_buf_str(&shown), .trust = trust, .is_read_only = true};
    bool is_seen = shown.err == SMA_ERR_OK && trust != SMA_MCP_TRUST_DENY &&
                   is_listed(view, query.shown, (struct sma_str){0}) &&
                   fits_rule(view, query.shown);
    if (is_seen)
        decision = sma_mcp_policy_decide(view->policy, &query);
    sma_buf_fini(&shown);
    return decision;
}

bool sma_mcp_view_reads(const struct sma_mcp_view *view, struct sma_str server)
{
    return decide(view, sma_mcp_view_trust(view, server), server, SMA_MCP_READ_NAME, SMA_STR(""))
               .verdict != SMA_POLICY_REFUSE;
}

enum sma_policy_verdict sma_mcp_view_prompt(const struct sma_mcp_view *view,
                                            enum sma_mcp_trust trust, struct sma_str server,
                                            struct sma_str name)
{
    /* what a chat may read is named by its list; a list that allows need not name prompts */
    struct sma_chat_rule denied = {0};
    struct sma_mcp_view by_name = *view;
    if (view->rule != NULL) {
        denied = *view->rule;
        denied.allows_tools = false;
        by_name.rule = &denied;
    }
    by_name.name_count = 0;
    struct sma_mcp_decision reads = decide(view, trust, server, SMA_MCP_READ_NAME, SMA_STR(""));
    struct sma_mcp_decision asks = decide(&by_name, trust, server, SMA_MCP_PROMPT_PREFIX, name);
    if (reads.verdict == SMA_POLICY_REFUSE || asks.verdict == SMA_POLICY_REFUSE)
        return SMA_POLICY_REFUSE;
    return asks.rule[0] != '\0' ? asks.verdict : reads.verdict;
}

bool sma_mcp_may_prompt(enum sma_policy_verdict verdict, uint8_t standing)
{
    if (standing == SMA_STANDING_STRANGER) /* for them no server is asked */
        return false;
    return verdict == SMA_POLICY_ALLOW ||
           (verdict == SMA_POLICY_ASK && standing >= SMA_STANDING_ADMIN);
}

bool sma_mcp_view_has(const struct sma_mcp_view *view, const struct sma_mcp_tool *tool)
{
    struct sma_mcp_query query = sma_mcp_view_query(view, tool);
    return tool->is_allowed && is_listed(view, tool->shown, tool->wire) &&
           sma_mcp_policy_decide(view->policy, &query).verdict != SMA_POLICY_REFUSE &&
           fits_rule(view, tool->shown);
}

static size_t count_tools(const struct sma_mcp_view *view, size_t *ret_bytes)
{
    size_t count = 0;
    *ret_bytes = 0;
    for (size_t i = 0; view->catalogue != NULL && i < view->catalogue->tool_count; i++) {
        const struct sma_mcp_tool *tool = &view->catalogue->tools[i];
        if (!sma_mcp_view_has(view, tool))
            continue;
        *ret_bytes += tool->description.len + tool->schema.len;
        count++;
    }
    return count;
}

/* -- our own tools ----------------------------------------------------------------------------- */
static const struct sma_tool_spec helpers[SMA_MCP_HELPER_COUNT] = {
    [SMA_MCP_HELPER_CALL] =
        {SMA_STR("mcp_call"),
         SMA_STR("Call a tool that tool_search has found, by its name, with the arguments that its "
                 "schema asks for."),
         SMA_STR("{\"type\":\"object\",\"properties\":{\"tool\":{\"type\":\"string\","
                 "\"description\":\"its name, as found: server:tool\"},\"arguments\":{\"type\":"
                 "\"object\",\"description\":\"as its schema says\"}},\"required\":[\"tool\"],"
                 "\"additionalProperties\":false}")},
    [SMA_MCP_HELPER_RESOURCES] =
        {SMA_STR("mcp_list_resources"),
         SMA_STR("List what outside servers have to read: server, uri, name, description."),
         SMA_STR("{\"type\":\"object\",\"properties\":{\"server\":{\"type\":\"string\","
                 "\"description\":\"of this server alone\"}},\"additionalProperties\":false}")},
    [SMA_MCP_HELPER_READ] =
        {SMA_STR("mcp_read_resource"), SMA_STR("Read what an outside server has, by its uri."),
         SMA_STR("{\"type\":\"object\",\"properties\":{\"server\":{\"type\":\"string\","
                 "\"description\":\"name of the server\"},\"uri\":{\"type\":\"string\","
                 "\"description\":\"as mcp_list_resources gives it\"}},\"required\":[\"server\","
                 "\"uri\"],\"additionalProperties\":false}")},
    [SMA_MCP_HELPER_SEARCH] =
        {SMA_STR("tool_search"), SMA_STR(""),
         SMA_STR("{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\","
                 "\"description\":\"a few words: what the tool is to do\"}},\"required\":["
                 "\"query\"],\"additionalProperties\":false}")},
};

enum sma_mcp_helper sma_mcp_helper_find(struct sma_str name)
{
    for (int i = 0; i < SMA_MCP_HELPER_COUNT; i++)
        if (sma_str_is_equal(name, helpers[i].name))
            return (enum sma_mcp_helper)i;
    return SMA_MCP_HELPER_NONE;
}

struct sma_str sma_mcp_helper_schema(enum sma_mcp_helper helper)
{
    SMA_ASSERT(helper < SMA_MCP_HELPER_COUNT);
    return helpers[helper].parameters_json;
}

/* -- schemas ----------------------------------------------------------------------------------- */
void sma_mcp_put_schema(struct sma_buf *buf, struct sma_str schema)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    if (sma_json_load(schema, &root) == SMA_ERR_OK && json_is_object(root) && sma_schema_mend(root))
        sma_json_put(buf, root);
    else
        sma_buf_put_text(buf, "{\"type\":\"object\",\"properties\":{}}");
}

/* -- names ------------------------------------------------------------------------------------- */
bool sma_mcp_is_shown_name(struct sma_str name)
{
    const char *colon = name.len == 0 ? NULL : memchr(name.ptr, ':', name.len);
    return colon != NULL && colon != name.ptr && colon + 1 != name.ptr + name.len;
}

void sma_mcp_put_wire_of(struct sma_buf *buf, const struct sma_mcp_catalogue *catalogue,
                         struct sma_str shown)
{
    const struct sma_mcp_tool *tool =
        catalogue == NULL ? NULL : sma_mcp_catalogue_find_shown(catalogue, shown);
    if (tool != NULL) {
        sma_buf_put_str(buf, tool->wire);
        return;
    }
    const char *colon = memchr(shown.ptr, ':', shown.len);
    SMA_ASSERT(colon != NULL);
    size_t len = (size_t)(colon - shown.ptr);
    sma_mcp_put_wire_name(buf, (struct sma_str){shown.ptr, len},
                          (struct sma_str){colon + 1, shown.len - len - 1}, 0);
}

/* -- specs ------------------------------------------------------------------------------------- */
static bool has_resources(const struct sma_mcp_view *view)
{
    const struct sma_mcp_catalogue *catalogue = view->catalogue;
    for (size_t i = 0; catalogue != NULL && i < catalogue->resource_count; i++)
        if (sma_mcp_view_reads(view, catalogue->resources[i].server))
            return true;
    return false;
}

static void put_search_description(struct sma_buf *buf, const struct sma_mcp_view *view)
{
    sma_buf_put_text(buf, "Find tools of outside servers, which are not listed here: name, what "
                          "they do, schema of their arguments. Then call them with mcp_call. "
                          "Servers: ");
    for (size_t i = 0; i < view->catalogue->server_count; i++) {
        sma_buf_put_text(buf, i == 0 ? "" : ", ");
        sma_buf_put_str(buf, view->catalogue->servers[i].name);
    }
    sma_buf_put_char(buf, '.');
}

/* Slices are made when the text does not move any more. */
struct piece
{
    size_t description, schema, end; /* where they begin in the text */
    struct sma_str name;
};

static void put_tool(struct sma_buf *text, const struct sma_mcp_tool *tool, struct piece *piece)
{
    piece->name = tool->wire;
    piece->description = text->len;
    sma_buf_put_str(text, tool->description.len > 0 ? tool->description : tool->title);
    sma_buf_put_text(text, "\n(");
    sma_buf_put_str(text, tool->shown);
    sma_buf_put_text(text, ", of an outside server)");
    piece->schema = text->len;
    sma_mcp_put_schema(text, tool->schema);
    piece->end = text->len;
}

static void put_helper(struct sma_buf *text, const struct sma_mcp_view *view,
                       enum sma_mcp_helper helper, struct piece *piece)
{
    piece->name = helpers[helper].name;
    piece->description = text->len;
    if (helper == SMA_MCP_HELPER_SEARCH)
        put_search_description(text, view);
    else
        sma_buf_put_str(text, helpers[helper].description);
    piece->schema = text->len;
    sma_buf_put_str(text, helpers[helper].parameters_json);
    piece->end = text->len;
}

/* In the order of the catalogue, which is sorted. */
static size_t put_direct(struct sma_buf *text, const struct sma_mcp_view *view,
                         struct piece *pieces)
{
    size_t count = 0;
    for (size_t i = 0; i < view->catalogue->tool_count; i++)
        if (sma_mcp_view_has(view, &view->catalogue->tools[i]))
            put_tool(text, &view->catalogue->tools[i], &pieces[count++]);
    return count;
}

static size_t put_pieces(struct sma_buf *text, const struct sma_mcp_view *view,
                         struct piece *pieces)
{
    size_t bytes, count = 0, tool_count = count_tools(view, &bytes);
    bool is_direct = tool_count <= SMA_MCP_DIRECT_COUNT_MAX && bytes <= SMA_MCP_DIRECT_BYTES_MAX;
    if (!is_direct)
        put_helper(text, view, SMA_MCP_HELPER_CALL, &pieces[count++]);
    if (has_resources(view)) {
        put_helper(text, view, SMA_MCP_HELPER_RESOURCES, &pieces[count++]);
        put_helper(text, view, SMA_MCP_HELPER_READ, &pieces[count++]);
    }
    if (!is_direct)
        put_helper(text, view, SMA_MCP_HELPER_SEARCH, &pieces[count++]);
    else if (tool_count > 0)
        count += put_direct(text, view, &pieces[count]);
    return count;
}

enum sma_err sma_mcp_view_specs(const struct sma_mcp_view *view, struct sma_mcp_specs *ret_specs)
{
    struct piece pieces[SMA_MCP_HELPER_COUNT + SMA_MCP_DIRECT_COUNT_MAX];
    struct sma_mcp_specs specs = {0};
    sma_buf_init(&specs.text, SMA_MCP_CATALOGUE_BYTES_MAX);
    specs.count = view->catalogue == NULL ? 0 : put_pieces(&specs.text, view, pieces);
    specs.list = calloc(specs.count + 1, sizeof *specs.list);
    if (specs.list == NULL || specs.text.err != SMA_ERR_OK) {
        sma_mcp_specs_fini(&specs);
        return SMA_ERR_NOMEM;
    }
    for (size_t i = 0; i < specs.count; i++) {
        const struct piece *piece = &pieces[i];
        specs.list[i] = (struct sma_tool_spec){
            .name = piece->name,
            .description = {specs.text.ptr + piece->description,
                            piece->schema - piece->description},
            .parameters_json = {specs.text.ptr + piece->schema, piece->end - piece->schema}};
    }
    *ret_specs = specs;
    return SMA_ERR_OK;
}

void sma_mcp_specs_fini(struct sma_mcp_specs *specs)
{
    free(specs->list);
    sma_buf_fini(&specs->text);
    *specs = (struct sma_mcp_specs){0};
}
