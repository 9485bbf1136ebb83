/*
 * session_list.c — what a server offers: its lists, page by page, into a catalogue of its own.
 */
#include "session_priv.h"

#include "http_head.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdlib.h>

#define URI_BYTES_MAX 2048

void session_drop_listing(struct sma_mcp_session *session)
{
    struct session_listing *listing = &session->listing;
    sma_mcp_builder_destroy(listing->builder);
    *listing = (struct session_listing){.due_ns = UINT64_MAX, .is_wanted = listing->is_wanted};
}

void session_list_soon(struct sma_mcp_session *session)
{
    struct session_listing *listing = &session->listing;
    if (listing->is_wanted)
        return;
    listing->is_wanted = true; /* a burst is one */
    listing->due_ns = session->now_ns + SMA_MCP_RELIST_MS * SMA_NS_PER_MS;
}

/* -- tools ------------------------------------------------------------------------------------- */
static size_t depth_of(const char *json)
{
    size_t depth = 0, deepest = 0;
    bool is_in_text = false;
    for (const char *at = json; *at != '\0'; at++) {
        if (is_in_text && *at == '\\')
            at++;
        else if (*at == '"')
            is_in_text = !is_in_text;
        else if (!is_in_text && (*at == '{' || *at == '['))
            deepest = ++depth > deepest ? depth : deepest;
        else if (!is_in_text && (*at == '}' || *at == ']'))
            depth--;
    }
    return deepest;
}

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number

static bool is_object_type(const json_t *type)
{
    bool is = type == NULL || sma_str_is_equal(sma_json_str_of(type), SMA_STR("object"));
    for (size_t i = 0; i < json_array_size(type) && !is; i++) /* ["object", "null"] */
        is = sma_str_is_equal(sma_json_str_of(json_array_get(type, i)), SMA_STR("object"));
    return is;
}

/* @return as compact text to be freed; NULL: no tool can be offered with it, *ret_why */
static char *read_schema(const json_t *tool, const char **ret_why)
{
    const json_t *schema = sma_json_get(tool, "inputSchema");
    if (schema == NULL)
        return strdup("{\"type\":\"object\"}");
    *ret_why = "its schema is no object";
    if (!json_is_object(schema) || !is_object_type(sma_json_get(schema, "type")))
        return NULL;
    json_t *copy = json_copy((json_t *)(uintptr_t)schema);
    if (copy != NULL)
        (void)json_object_set_new(copy, "type", json_string("object")); /* checked below */
    char *text = copy == NULL ? NULL : json_dumps(copy, JSON_COMPACT);
    json_decref(copy);
    bool is_deep = text != NULL && depth_of(text) > SMA_MCP_SCHEMA_DEPTH_MAX;
    bool is_large = text != NULL && strlen(text) > SMA_MCP_SCHEMA_BYTES_MAX;
    *ret_why = is_deep    ? "nested deeper than " TEXT(SMA_MCP_SCHEMA_DEPTH_MAX)
               : is_large ? "its schema is too large"
                          : "out of memory";
    if (is_deep || is_large)
        free(SMA_TAKE(text));
    return text;
}

static bool read_hint(const json_t *annotations, const char *name, bool otherwise)
{
    const json_t *hint = sma_json_get(annotations, name);
    return json_is_boolean(hint) ? json_is_true(hint) : otherwise;
}

/* Counts what is kept of the list. @return false: there is no more room */
static bool fits(struct session_listing *listing, size_t bytes)
{
    if (listing->bytes + bytes > SMA_MCP_LIST_BYTES_MAX)
        return false;
    listing->bytes += bytes;
    return true;
}

static struct sma_str put_clean(struct sma_buf *buf, struct sma_str text, size_t max_bytes)
{
    sma_buf_clear(buf);
    sma_buf_put_text(buf, "");
    sma_mcp_put_clean(buf, text, max_bytes);
    return buf->err == SMA_ERR_OK ? sma_buf_str(buf) : SMA_STR("");
}

static bool is_task_only(const json_t *tool)
{
    const json_t *execution = sma_json_get(tool, "execution");
    return sma_str_is_equal(sma_json_str(execution, "taskSupport"), SMA_STR("required"));
}

static bool add_tool(struct sma_mcp_session *session, const json_t *item, struct sma_buf texts[2])
{
    struct session_listing *listing = &session->listing;
    const json_t *annotations = sma_json_get(item, "annotations");
    struct sma_mcp_tool tool = {.server = sma_str(session->options.server),
                                .name = sma_json_str(item, "name"),
                                .is_allowed = true};
    SMA_AUTO(sma_freep)
    char *schema = NULL;
    listing->why = is_task_only(item) ? "it runs as a task alone" : "its name";
    if (sma_mcp_is_name(tool.name) && !is_task_only(item))
        schema = read_schema(item, &listing->why);
    if (schema == NULL)
        return false;
    listing->why = "its x-mcp-header marks";
    if (session->options.has_headers &&
        !sma_mcp_header_marks_are_good(sma_json_get(item, "inputSchema")))
        return false;
    struct sma_str title = sma_json_str(item, "title");
    if (title.len == 0)
        title = sma_json_str(annotations, "title");
    tool.schema = sma_str(schema);
    tool.title = put_clean(&texts[0], title, SMA_MCP_NAME_BYTES_MAX);
    tool.description =
        put_clean(&texts[1], sma_json_str(item, "description"), SMA_MCP_DESCRIPTION_BYTES_MAX);
    tool.is_read_only = read_hint(annotations, "readOnlyHint", false);
    tool.is_destructive = read_hint(annotations, "destructiveHint", true);
    tool.is_idempotent = read_hint(annotations, "idempotentHint", false);
    tool.is_open_world = read_hint(annotations, "openWorldHint", true);
    listing->why = "the list is too large";
    if (!fits(listing, tool.name.len * 3 + tool.schema.len + tool.title.len + tool.description.len))
        return false;
    sma_mcp_builder_add_tool(listing->builder, &tool);
    return true;
}

/* -- resources and prompts --------------------------------------------------------------------- */
static bool add_resource(struct sma_mcp_session *session, const json_t *item, bool is_template,
                         struct sma_buf texts[2])
{
    struct session_listing *listing = &session->listing;
    struct sma_str uri = sma_json_str(item, is_template ? "uriTemplate" : "uri");
    struct sma_buf clean;
    sma_buf_init(&clean, URI_BYTES_MAX * 2);
    sma_mcp_put_clean(&clean, uri, URI_BYTES_MAX);
    bool is_clean = uri.len > 0 && sma_str_is_equal(uri, sma_buf_str(&clean));
    sma_buf_fini(&clean);
    struct sma_mcp_resource resource = {
        .server = sma_str(session->options.server),
        .uri = uri,
        .name = put_clean(&texts[0], sma_json_str(item, "name"), SMA_MCP_NAME_BYTES_MAX),
        .description =
            put_clean(&texts[1], sma_json_str(item, "description"), SMA_MCP_DESCRIPTION_BYTES_MAX),
        .mime = sma_json_str(item, "mimeType"),
        .is_template = is_template};
    if (!sma_mcp_is_name(resource.mime))
        resource.mime = SMA_STR("");
    if (!is_clean || listing->resources >= SMA_MCP_RESOURCE_COUNT_MAX ||
        !fits(listing, uri.len + resource.name.len + resource.description.len + resource.mime.len))
        return false;
    listing->resources++;
    sma_mcp_builder_add_resource(listing->builder, &resource);
    return true;
}

/* Descriptions of all arguments stand in one buffer, one behind the other, made before they are
 * pointed at. */
static bool add_arguments(struct sma_mcp_prompt *prompt, const json_t *list, struct sma_buf *texts)
{
    size_t ends[SMA_MCP_ARGUMENT_COUNT_MAX + 1] = {0};
    sma_buf_clear(texts);
    sma_buf_put_text(texts, "");
    if (json_array_size(list) > SMA_MCP_ARGUMENT_COUNT_MAX)
        return false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        struct sma_mcp_argument *argument = &prompt->arguments[i];
        argument->name = sma_json_str(item, "name");
        argument->is_required = json_is_true(sma_json_get(item, "required"));
        if (!sma_mcp_is_name(argument->name))
            return false;
        sma_mcp_put_clean(texts, sma_json_str(item, "description"),
                          SMA_MCP_DESCRIPTION_BYTES_MAX / SMA_MCP_ARGUMENT_COUNT_MAX);
        ends[i + 1] = texts->len;
        prompt->argument_count++;
    }
    for (size_t i = 0; i < prompt->argument_count && texts->err == SMA_ERR_OK; i++)
        prompt->arguments[i].description =
            (struct sma_str){texts->ptr + ends[i], ends[i + 1] - ends[i]};
    return texts->err == SMA_ERR_OK;
}

static bool add_prompt(struct sma_mcp_session *session, const json_t *item, struct sma_buf texts[2])
{
    struct session_listing *listing = &session->listing;
    struct sma_mcp_prompt prompt = {.server = sma_str(session->options.server),
                                    .name = sma_json_str(item, "name")};
    struct sma_buf arguments;
    sma_buf_init(&arguments, SMA_MCP_DESCRIPTION_BYTES_MAX * 2);
    prompt.title = put_clean(&texts[0], sma_json_str(item, "title"), SMA_MCP_NAME_BYTES_MAX);
    prompt.description =
        put_clean(&texts[1], sma_json_str(item, "description"), SMA_MCP_DESCRIPTION_BYTES_MAX);
    bool is_good = sma_mcp_is_name(prompt.name) && listing->prompts < SMA_MCP_PROMPT_COUNT_MAX &&
                   add_arguments(&prompt, sma_json_get(item, "arguments"), &arguments) &&
                   fits(listing, prompt.title.len + prompt.description.len + arguments.len);
    if (is_good) {
        listing->prompts++;
        sma_mcp_builder_add_prompt(listing->builder, &prompt);
    }
    sma_buf_fini(&arguments);
    return is_good;
}

/* -- pages ------------------------------------------------------------------------------------- */
static const struct
{
    const char *method, *member;
} lists[] = {
    [SESSION_TOOLS] = {"tools/list", "tools"},
    [SESSION_RESOURCES] = {"resources/list", "resources"},
    [SESSION_TEMPLATES] = {"resources/templates/list", "resourceTemplates"},
    [SESSION_PROMPTS] = {"prompts/list", "prompts"},
};

static bool has_list(const struct sma_mcp_session *session, enum session_kind kind)
{
    return kind == SESSION_TOOLS     ? session->has_tools
           : kind == SESSION_PROMPTS ? session->has_prompts
                                     : session->has_resources;
}

static void finish(struct sma_mcp_session *session)
{
    struct session_listing *listing = &session->listing;
    const struct sma_mcp_catalogue *offer = NULL;
    struct sma_mcp_builder *builder = SMA_TAKE(listing->builder);
    uint64_t left_out = listing->left_out;
    listing->is_open = false;
    if (sma_mcp_builder_finish(builder, &offer) != SMA_ERR_OK) {
        session_fail(session, "out of memory");
        return;
    }
    sma_mcp_catalogue_unref(session->offer);
    session->offer = offer;
    session->counts.left_out = left_out + offer->servers[0].dropped_count;
    memcpy(session->left_names, listing->left_names, sizeof session->left_names);
    if (session->counts.left_out > 0)
        session_log(session, SMA_LOG_WARN, "%llu of what it lists cannot be offered: %s",
                    (unsigned long long)session->counts.left_out,
                    left_out > 0 ? session->left_names
                                 : "a name twice, or over " TEXT(SMA_MCP_TOOL_COUNT_MAX) " tools");
    session_become_ready(session);
    session->ops->listed(session->user);
}

static void ask_page(struct sma_mcp_session *session, enum session_kind kind, const char *cursor)
{
    struct session_request *request = session_open(session, kind, SMA_MCP_LIST_MS);
    json_t *params = cursor == NULL ? NULL : json_pack("{s:s}", "cursor", cursor);
    if (request == NULL || (cursor != NULL && params == NULL)) {
        json_decref(params);
        session_fail(session, "out of memory");
        return;
    }
    if (!session_put_request(session, request, lists[kind].method, params))
        session_fail(session, "out of memory");
}

/* The list of this kind or the next one that it has; behind the last one it is over. */
static void ask_from(struct sma_mcp_session *session, enum session_kind kind)
{
    while (kind <= SESSION_PROMPTS && !has_list(session, kind))
        kind++;
    session->listing.pages = 0;
    if (kind > SESSION_PROMPTS)
        finish(session);
    else
        ask_page(session, kind, NULL);
}

void session_list(struct sma_mcp_session *session)
{
    struct session_listing *listing = &session->listing;
    listing->is_wanted = false;
    session_drop_listing(session);
    listing->builder = sma_mcp_builder_create(0);
    if (listing->builder == NULL) {
        session_fail(session, "out of memory");
        return;
    }
    listing->is_open = true;
    struct sma_mcp_server server = {.name = sma_str(session->options.server),
                                    .state = SMA_MCP_CONNECTED,
                                    .instructions = sma_str(session->instructions)};
    sma_mcp_builder_add_server(listing->builder, &server);
    ask_from(session, SESSION_TOOLS);
}

/* A cursor that came before would go round for ever. */
static bool is_new_cursor(struct session_listing *listing, const char *cursor)
{
    static const uint8_t key[16] = "mcp cursor";
    uint64_t hash = sma_siphash(key, cursor, strlen(cursor));
    for (unsigned i = 0; i < listing->pages; i++)
        if (listing->cursors[i] == hash)
            return false;
    if (listing->pages == SMA_MCP_PAGE_COUNT_MAX)
        return false;
    listing->cursors[listing->pages++] = hash;
    return true;
}

/* By its name, as far as it has one. */
static void leave_out(struct session_listing *listing, const json_t *item)
{
    size_t len = strlen(listing->left_names), room = sizeof listing->left_names - len;
    bool is_full = len > 4 && strcmp(listing->left_names + len - 4, " ...") == 0;
    struct sma_str name = sma_json_str(item, "name");
    struct sma_buf clean;
    sma_buf_init(&clean, 256);
    sma_buf_put_text(&clean, len > 0 ? ", " : "");
    sma_mcp_put_clean(&clean, name.len > 0 ? name : SMA_STR("one without a name"), 40);
    sma_buf_printf(&clean, " (%s)", listing->why == NULL ? "it is not acceptable" : listing->why);
    if (!is_full && clean.err == SMA_ERR_OK && clean.len + 4 < room)
        memcpy(listing->left_names + len, clean.ptr, clean.len + 1);
    else if (!is_full && clean.err == SMA_ERR_OK)
        memcpy(listing->left_names + len, " ...", 5);
    sma_buf_fini(&clean);
    listing->left_out++;
}

void session_take_page(struct sma_mcp_session *session, enum session_kind kind,
                       const json_t *result)
{
    struct session_listing *listing = &session->listing;
    if (!listing->is_open)
        return;
    const json_t *items = sma_json_get(result, lists[kind].member);
    if (!json_is_array(items))
        session_log(session, SMA_LOG_WARN, "%s was not answered with a list", lists[kind].method);
    struct sma_buf texts[2];
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        sma_buf_init(&texts[i], SMA_MCP_DESCRIPTION_BYTES_MAX * 2);
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        bool is_added = kind == SESSION_TOOLS ? add_tool(session, item, texts)
                        : kind == SESSION_PROMPTS
                            ? add_prompt(session, item, texts)
                            : add_resource(session, item, kind == SESSION_TEMPLATES, texts);
        if (!is_added)
            leave_out(listing, item);
        listing->why = NULL;
    }
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        sma_buf_fini(&texts[i]);
    const char *cursor = json_string_value(sma_json_get(result, "nextCursor"));
    if (cursor != NULL && is_new_cursor(listing, cursor)) {
        ask_page(session, kind, cursor);
        return;
    }
    if (cursor != NULL)
        session_log(session, SMA_LOG_WARN,
                    "%s goes on behind page %u, or round and round: what is beyond is left out",
                    lists[kind].method, listing->pages + 1);
    ask_from(session, kind + 1);
}
