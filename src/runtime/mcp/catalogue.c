/*
 * catalogue.c — a catalogue and its builder. While it is built all texts are offsets into one
 * buffer, which moves as it grows; finish turns them into slices.
 */
#include "catalogue.h"

#include <stdlib.h>

/* Further names that are tried when one is taken: 32 bits of hash each. */
#define WIRE_SALT_COUNT 16

const char *sma_mcp_state_name(enum sma_mcp_state state)
{
    static const char *const names[] = {[SMA_MCP_CONNECTING] = "connecting",
                                        [SMA_MCP_CONNECTED] = "connected",
                                        [SMA_MCP_DISCONNECTED] = "disconnected",
                                        [SMA_MCP_ERROR] = "error"};
    SMA_ASSERT((size_t)state < SMA_COUNT_OF(names));
    return names[state];
}

/* -- references -------------------------------------------------------------------------------- */
static void destroy(struct sma_mcp_catalogue *catalogue)
{
    free(catalogue->servers);
    free(catalogue->tools);
    free(catalogue->resources);
    free(catalogue->prompts);
    free(catalogue->by_wire);
    free(catalogue->wires);
    sma_buf_fini(&catalogue->texts);
    free(catalogue);
}

/* The count is the one thing in there that changes. */
static struct sma_mcp_catalogue *counted(const struct sma_mcp_catalogue *catalogue)
{
    union
    {
        const struct sma_mcp_catalogue *given;
        struct sma_mcp_catalogue *counted;
    } both = {.given = catalogue};
    return both.counted;
}

const struct sma_mcp_catalogue *sma_mcp_catalogue_ref(const struct sma_mcp_catalogue *catalogue)
{
    unsigned before = __atomic_fetch_add(&counted(catalogue)->refs, 1, __ATOMIC_RELAXED);
    SMA_ASSERT(before > 0);
    return catalogue;
}

void sma_mcp_catalogue_unref(const struct sma_mcp_catalogue *catalogue)
{
    if (catalogue == NULL)
        return;
    unsigned before = __atomic_fetch_sub(&counted(catalogue)->refs, 1, __ATOMIC_ACQ_REL);
    SMA_ASSERT(before > 0);
    if (before == 1)
        destroy(counted(catalogue));
}

/* -- order ------------------------------------------------------------------------------------- */
static int compare_text(struct sma_str a, struct sma_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len == 0 ? 0 : memcmp(a.ptr, b.ptr, len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_pair(struct sma_str a_server, struct sma_str a, struct sma_str b_server,
                        struct sma_str b)
{
    int order = compare_text(a_server, b_server);
    return order != 0 ? order : compare_text(a, b);
}

static int compare_servers(const void *a, const void *b)
{
    return compare_text(((const struct sma_mcp_server *)a)->name,
                        ((const struct sma_mcp_server *)b)->name);
}

static int compare_tools(const void *a, const void *b)
{
    const struct sma_mcp_tool *left = a, *right = b;
    return compare_pair(left->server, left->name, right->server, right->name);
}

static int compare_resources(const void *a, const void *b)
{
    const struct sma_mcp_resource *left = a, *right = b;
    return compare_pair(left->server, left->uri, right->server, right->uri);
}

static int compare_prompts(const void *a, const void *b)
{
    const struct sma_mcp_prompt *left = a, *right = b;
    return compare_pair(left->server, left->name, right->server, right->name);
}

/* -- looking up -------------------------------------------------------------------------------- */
const struct sma_mcp_tool *sma_mcp_catalogue_find_wire(const struct sma_mcp_catalogue *catalogue,
                                                       struct sma_str wire)
{
    for (size_t low = 0, high = catalogue->tool_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        const struct sma_mcp_tool *tool = &catalogue->tools[catalogue->by_wire[middle]];
        int order = compare_text(wire, tool->wire);
        if (order == 0)
            return tool;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* No server has a colon in its name, so the first one ends it. */
const struct sma_mcp_tool *sma_mcp_catalogue_find_shown(const struct sma_mcp_catalogue *catalogue,
                                                        struct sma_str shown)
{
    const char *colon = shown.len == 0 ? NULL : memchr(shown.ptr, ':', shown.len);
    if (colon == NULL || catalogue->tool_count == 0)
        return NULL;
    size_t server_len = (size_t)(colon - shown.ptr);
    struct sma_mcp_tool wanted = {.server = {shown.ptr, server_len},
                                  .name = {colon + 1, shown.len - server_len - 1}};
    return bsearch(&wanted, catalogue->tools, catalogue->tool_count, sizeof wanted, compare_tools);
}

const struct sma_mcp_server *
sma_mcp_catalogue_find_server(const struct sma_mcp_catalogue *catalogue, struct sma_str name)
{
    struct sma_mcp_server wanted = {.name = name};
    return catalogue->server_count == 0
               ? NULL
               : bsearch(&wanted, catalogue->servers, catalogue->server_count, sizeof wanted,
                         compare_servers);
}

/* -- building ---------------------------------------------------------------------------------- */
struct sma_mcp_builder
{
    struct sma_mcp_catalogue *made;
    size_t server_room, tool_room, resource_room, prompt_room;
    enum sma_err err;
};

struct sma_mcp_builder *sma_mcp_builder_create(uint64_t version)
{
    struct sma_mcp_builder *builder = calloc(1, sizeof *builder);
    struct sma_mcp_catalogue *made = calloc(1, sizeof *made);
    if (builder == NULL || made == NULL) {
        free(builder);
        free(made);
        return NULL;
    }
    made->refs = 1;
    made->version = version;
    sma_buf_init(&made->texts, SMA_MCP_CATALOGUE_BYTES_MAX);
    builder->made = made;
    return builder;
}

void sma_mcp_builder_destroy(struct sma_mcp_builder *builder)
{
    if (builder == NULL)
        return;
    sma_mcp_catalogue_unref(builder->made);
    free(builder);
}

/* Room for one more, zeroed; NULL: no memory. */
static void *grow(struct sma_mcp_builder *builder, void **items, size_t count, size_t *room,
                  size_t bytes)
{
    if (builder->err != SMA_ERR_OK)
        return NULL;
    if (count == *room) {
        size_t wanted = *room == 0 ? 16 : *room * 2;
        void *moved = reallocarray(*items, wanted, bytes);
        if (moved == NULL) {
            builder->err = SMA_ERR_NOMEM;
            return NULL;
        }
        *items = moved;
        *room = wanted;
    }
    return memset((char *)*items + count * bytes, 0, bytes);
}
#define GROW(builder, names, name)                                                 \
    grow(builder, (void **)&(builder)->made->names, (builder)->made->name##_count, \
         &(builder)->name##_room, sizeof *(builder)->made->names)

/* A copy, as an offset; each ends in a NUL. */
static struct sma_str keep(struct sma_mcp_builder *builder, struct sma_str text)
{
    struct sma_buf *texts = &builder->made->texts;
    size_t at = texts->len;
    sma_buf_put_str(texts, text);
    sma_buf_put_char(texts, '\0');
    return (struct sma_str){(const char *)(uintptr_t)at, text.len}; /* NOLINT: becomes a slice */
}

/* All of an entry or nothing of it: the rest of the catalogue still stands. */
static bool has_kept(struct sma_mcp_builder *builder, size_t begin)
{
    struct sma_buf *texts = &builder->made->texts;
    if (texts->err == SMA_ERR_OK)
        return true;
    if (texts->err == SMA_ERR_NOMEM)
        builder->err = SMA_ERR_NOMEM;
    texts->err = SMA_ERR_OK;
    texts->len = begin;
    return false;
}

void sma_mcp_builder_add_server(struct sma_mcp_builder *builder,
                                const struct sma_mcp_server *server)
{
    struct sma_mcp_server *added = GROW(builder, servers, server);
    if (added == NULL)
        return;
    size_t begin = builder->made->texts.len;
    *added = *server;
    added->tool_count = 0;
    added->name = keep(builder, server->name);
    added->instructions = keep(builder, server->instructions);
    added->trouble = keep(builder, server->trouble);
    if (has_kept(builder, begin))
        builder->made->server_count++;
}

static struct sma_mcp_server *find_added(struct sma_mcp_builder *builder, struct sma_str name)
{
    const struct sma_mcp_catalogue *made = builder->made;
    for (size_t i = 0; i < made->server_count; i++) {
        const char *at = made->texts.ptr + (uintptr_t)made->servers[i].name.ptr;
        if (sma_str_is_equal(name, (struct sma_str){at, made->servers[i].name.len}))
            return &made->servers[i];
    }
    return NULL;
}

void sma_mcp_builder_add_tool(struct sma_mcp_builder *builder, const struct sma_mcp_tool *tool)
{
    struct sma_mcp_server *server = find_added(builder, tool->server);
    struct sma_mcp_tool *added = server == NULL ? NULL : GROW(builder, tools, tool);
    if (added == NULL)
        return;
    size_t begin = builder->made->texts.len;
    *added = *tool;
    added->server = server->name;
    if (server->tool_count < SMA_MCP_TOOL_COUNT_MAX) {
        added->name = keep(builder, tool->name);
        added->title = keep(builder, tool->title);
        added->description = keep(builder, tool->description);
        added->schema = keep(builder, tool->schema);
        size_t at = builder->made->texts.len;
        sma_buf_put_str(&builder->made->texts, tool->server);
        sma_buf_put_char(&builder->made->texts, ':');
        sma_buf_put_str(&builder->made->texts, tool->name);
        sma_buf_put_char(&builder->made->texts, '\0');
        added->shown = (struct sma_str){(const char *)(uintptr_t)at, /* NOLINT: becomes a slice */
                                        tool->server.len + 1 + tool->name.len};
        if (has_kept(builder, begin)) {
            builder->made->tool_count++;
            server->tool_count++;
            return;
        }
    }
    server->dropped_count++;
}

void sma_mcp_builder_add_resource(struct sma_mcp_builder *builder,
                                  const struct sma_mcp_resource *resource)
{
    struct sma_mcp_server *server = find_added(builder, resource->server);
    struct sma_mcp_resource *added = server == NULL ? NULL : GROW(builder, resources, resource);
    if (added == NULL)
        return;
    size_t begin = builder->made->texts.len;
    *added = *resource;
    added->server = server->name;
    added->uri = keep(builder, resource->uri);
    added->name = keep(builder, resource->name);
    added->description = keep(builder, resource->description);
    added->mime = keep(builder, resource->mime);
    if (has_kept(builder, begin))
        builder->made->resource_count++;
}

void sma_mcp_builder_add_prompt(struct sma_mcp_builder *builder,
                                const struct sma_mcp_prompt *prompt)
{
    SMA_ASSERT(prompt->argument_count <= SMA_MCP_ARGUMENT_COUNT_MAX);
    struct sma_mcp_server *server = find_added(builder, prompt->server);
    struct sma_mcp_prompt *added = server == NULL ? NULL : GROW(builder, prompts, prompt);
    if (added == NULL)
        return;
    size_t begin = builder->made->texts.len;
    *added = *prompt;
    added->server = server->name;
    added->name = keep(builder, prompt->name);
    added->title = keep(builder, prompt->title);
    added->description = keep(builder, prompt->description);
    for (size_t i = 0; i < prompt->argument_count; i++) {
        added->arguments[i].name = keep(builder, prompt->arguments[i].name);
        added->arguments[i].description = keep(builder, prompt->arguments[i].description);
    }
    if (has_kept(builder, begin))
        builder->made->prompt_count++;
}

/* -- finishing --------------------------------------------------------------------------------- */
static void place(const struct sma_mcp_catalogue *made, struct sma_str *text)
{
    text->ptr = made->texts.ptr + (uintptr_t)text->ptr;
}

static void place_all(struct sma_mcp_catalogue *made)
{
    for (size_t i = 0; i < made->server_count; i++) {
        place(made, &made->servers[i].name);
        place(made, &made->servers[i].instructions);
        place(made, &made->servers[i].trouble);
    }
    for (size_t i = 0; i < made->tool_count; i++) {
        struct sma_mcp_tool *tool = &made->tools[i];
        struct sma_str *texts[] = {&tool->server, &tool->name,        &tool->shown,
                                   &tool->title,  &tool->description, &tool->schema};
        for (size_t k = 0; k < SMA_COUNT_OF(texts); k++)
            place(made, texts[k]);
    }
    for (size_t i = 0; i < made->resource_count; i++) {
        struct sma_mcp_resource *resource = &made->resources[i];
        struct sma_str *texts[] = {&resource->server, &resource->uri, &resource->name,
                                   &resource->description, &resource->mime};
        for (size_t k = 0; k < SMA_COUNT_OF(texts); k++)
            place(made, texts[k]);
    }
    for (size_t i = 0; i < made->prompt_count; i++) {
        struct sma_mcp_prompt *prompt = &made->prompts[i];
        place(made, &prompt->server);
        place(made, &prompt->name);
        place(made, &prompt->title);
        place(made, &prompt->description);
        for (size_t k = 0; k < prompt->argument_count; k++) {
            place(made, &prompt->arguments[k].name);
            place(made, &prompt->arguments[k].description);
        }
    }
}

static void sort(void *items, size_t count, size_t bytes,
                 int (*compare)(const void *a, const void *b))
{
    if (count > 1)
        qsort(items, count, bytes, compare);
}

/* Of equal neighbours the first one stays. @return how many stay */
static size_t drop_twins(void *items, size_t count, size_t bytes,
                         int (*compare)(const void *a, const void *b))
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        char *item = (char *)items + i * bytes;
        if (kept > 0 && compare((char *)items + (kept - 1) * bytes, item) == 0)
            continue;
        if (kept != i)
            memcpy((char *)items + kept * bytes, item, bytes);
        kept++;
    }
    return kept;
}
#define ORDER(made, names, name)                                                           \
    do {                                                                                   \
        sort((made)->names, (made)->name##_count, sizeof *(made)->names, compare_##names); \
        (made)->name##_count = drop_twins((made)->names, (made)->name##_count,             \
                                          sizeof *(made)->names, compare_##names);         \
    } while (0)

static int compare_wires(const void *a, const void *b, void *tools)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    const struct sma_mcp_tool *all = tools;
    int order = compare_text(all[left].wire, all[right].wire);
    return order != 0 ? order : (left > right) - (left < right);
}

static void put_wire(struct sma_mcp_catalogue *made, size_t index, unsigned salt)
{
    struct sma_mcp_tool *tool = &made->tools[index];
    char *place = made->wires + index * (SMA_MCP_WIRE_BYTES_MAX + 1);
    struct sma_buf wire;
    sma_buf_init(&wire, SMA_MCP_WIRE_BYTES_MAX + 1);
    sma_mcp_put_wire_name(&wire, tool->server, tool->name, salt);
    memcpy(place, wire.ptr == NULL ? "" : wire.ptr, wire.len + 1);
    tool->wire = (struct sma_str){place, wire.len};
    sma_buf_fini(&wire);
}

/* One round: whoever has the name of a tool before it gets another one. @return was there one? */
static bool part_twins(struct sma_mcp_catalogue *made, unsigned salt)
{
    bool has_twins = false;
    if (made->tool_count > 1)
        qsort_r(made->by_wire, made->tool_count, sizeof *made->by_wire, compare_wires, made->tools);
    struct sma_str before = {NULL, 0};
    for (size_t i = 0; i < made->tool_count; i++) {
        struct sma_mcp_tool *tool = &made->tools[made->by_wire[i]];
        if (sma_str_is_equal(before, tool->wire)) {
            has_twins = true;
            put_wire(made, made->by_wire[i], salt);
        } else {
            before = tool->wire;
        }
    }
    return has_twins;
}

static enum sma_err name_tools(struct sma_mcp_catalogue *made)
{
    if (made->tool_count == 0)
        return SMA_ERR_OK;
    made->wires = calloc(made->tool_count, SMA_MCP_WIRE_BYTES_MAX + 1);
    made->by_wire = calloc(made->tool_count, sizeof *made->by_wire);
    if (made->wires == NULL || made->by_wire == NULL)
        return SMA_ERR_NOMEM;
    for (size_t i = 0; i < made->tool_count; i++) {
        made->by_wire[i] = (uint32_t)i;
        put_wire(made, i, 0);
    }
    bool has_twins = true;
    for (unsigned salt = 1; has_twins && salt <= WIRE_SALT_COUNT; salt++)
        has_twins = part_twins(made, salt);
    return SMA_ERR_OK;
}

static void count_tools(struct sma_mcp_catalogue *made)
{
    for (size_t i = 0; i < made->server_count; i++) {
        struct sma_mcp_server *server = &made->servers[i];
        server->tool_count = 0;
        for (size_t k = 0; k < made->tool_count; k++)
            server->tool_count += sma_str_is_equal(server->name, made->tools[k].server);
    }
}

enum sma_err sma_mcp_builder_finish(struct sma_mcp_builder *builder,
                                    const struct sma_mcp_catalogue **ret_catalogue)
{
    struct sma_mcp_catalogue *made = builder->made;
    enum sma_err err = builder->err;
    if (err == SMA_ERR_OK) {
        place_all(made);
        ORDER(made, servers, server);
        ORDER(made, tools, tool);
        ORDER(made, resources, resource);
        ORDER(made, prompts, prompt);
        err = name_tools(made);
    }
    if (err != SMA_ERR_OK) {
        sma_mcp_builder_destroy(builder);
        return err;
    }
    count_tools(made);
    *ret_catalogue = made;
    free(builder);
    return SMA_ERR_OK;
}
