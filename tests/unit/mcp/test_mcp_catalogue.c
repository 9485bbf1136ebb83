/*
 * Aim: the promises of catalogue.h: sorted, unique and stable names, clean texts, bounds that leave
 * the rest standing, references that may be counted from several threads.
 * Method: catalogues are built in several orders and compared.
 */
#include "runtime/mcp/catalogue.h"
#include "support/check.h"

#include <pthread.h>

static struct sma_mcp_builder *builder_of(const char *const *servers, size_t count)
{
    struct sma_mcp_builder *builder = sma_mcp_builder_create(7);
    CHECK(builder != NULL);
    for (size_t i = 0; i < count; i++) {
        struct sma_mcp_server server = {.name = sma_str(servers[i]), .state = SMA_MCP_CONNECTED};
        sma_mcp_builder_add_server(builder, &server);
    }
    return builder;
}

static void add(struct sma_mcp_builder *builder, const char *server, const char *name)
{
    struct sma_mcp_tool tool = {.server = sma_str(server),
                                .name = sma_str(name),
                                .description = SMA_STR("what it does"),
                                .schema = SMA_STR("{\"type\":\"object\"}"),
                                .is_allowed = true};
    sma_mcp_builder_add_tool(builder, &tool);
}

static const struct sma_mcp_catalogue *finish(struct sma_mcp_builder *builder)
{
    const struct sma_mcp_catalogue *catalogue = NULL;
    CHECK_OK(sma_mcp_builder_finish(builder, &catalogue));
    return catalogue;
}

/* -- order and names --------------------------------------------------------------------------- */
CASE(what_is_added_is_sorted_and_found)
{
    static const char *const servers[] = {"files", "a.b", "db"};
    struct sma_mcp_builder *builder = builder_of(servers, 3);
    add(builder, "files", "write");
    add(builder, "db", "query");
    add(builder, "files", "read");
    add(builder, "a.b", "x y");
    add(builder, "nobody", "lost");
    const struct sma_mcp_catalogue *made = finish(builder);
    CHECK_INT(7, made->version);
    CHECK_INT(3, made->server_count);
    CHECK_STR("a.b", made->servers[0].name);
    CHECK_STR("files", made->servers[2].name);
    CHECK_INT(2, made->servers[2].tool_count);
    CHECK_INT(4, made->tool_count);
    CHECK_STR("a.b:x y", made->tools[0].shown);
    CHECK_STR("db:query", made->tools[1].shown);
    CHECK_STR("files:read", made->tools[2].shown);
    CHECK_STR("mcp__files__read", made->tools[2].wire);
    CHECK_STR("what it does", made->tools[2].description);
    CHECK(sma_mcp_catalogue_find_wire(made, SMA_STR("mcp__files__write")) == &made->tools[3]);
    CHECK(sma_mcp_catalogue_find_wire(made, SMA_STR("mcp__files__writ")) == NULL);
    CHECK(sma_mcp_catalogue_find_wire(made, made->tools[0].wire) == &made->tools[0]);
    CHECK(sma_mcp_catalogue_find_shown(made, SMA_STR("db:query")) == &made->tools[1]);
    CHECK(sma_mcp_catalogue_find_shown(made, SMA_STR("db")) == NULL);
    CHECK(sma_mcp_catalogue_find_shown(made, SMA_STR("db:")) == NULL);
    CHECK(sma_mcp_catalogue_find_server(made, SMA_STR("db")) == &made->servers[1]);
    CHECK(sma_mcp_catalogue_find_server(made, SMA_STR("d")) == NULL);
    sma_mcp_catalogue_unref(made);
}

CASE(an_empty_one_answers)
{
    const struct sma_mcp_catalogue *made = finish(builder_of(NULL, 0));
    CHECK(sma_mcp_catalogue_find_wire(made, SMA_STR("mcp__a__b")) == NULL);
    CHECK(sma_mcp_catalogue_find_shown(made, SMA_STR("a:b")) == NULL);
    CHECK(sma_mcp_catalogue_find_server(made, SMA_STR("a")) == NULL);
    sma_mcp_catalogue_unref(made);
}

CASE(a_name_that_two_could_make_is_made_by_none)
{
    /* plainly they would all be mcp__a__b__c, or differ by bytes that the wire does not carry */
    static const char *const servers[] = {"a", "a__b", "a.b", "a_b", "a_"};
    struct sma_mcp_builder *builder = builder_of(servers, 5);
    add(builder, "a", "b__c");
    add(builder, "a__b", "c");
    add(builder, "a.b", "c");
    add(builder, "a_b", "c");
    add(builder, "a", "_c");
    add(builder, "a_", "c");
    add(builder, "a", "x y");
    add(builder, "a", "x_y");
    const struct sma_mcp_catalogue *made = finish(builder);
    CHECK_INT(8, made->tool_count);
    for (size_t i = 0; i < made->tool_count; i++) {
        CHECK(sma_mcp_catalogue_find_wire(made, made->tools[i].wire) == &made->tools[i]);
        CHECK(made->tools[i].wire.len <= SMA_MCP_WIRE_BYTES_MAX);
    }
    CHECK_STR("mcp__a__b__c",
              sma_mcp_catalogue_find_shown(made, SMA_STR("a:b__c"))->wire); /* the plain one */
    sma_mcp_catalogue_unref(made);
}

CASE(a_name_depends_on_its_own_tool_alone)
{
    char name[101], wires[2][SMA_MCP_WIRE_BYTES_MAX + 1];
    memset(name, 'n', 100);
    name[100] = '\0';
    for (int round = 0; round < 2; round++) {
        static const char *const servers[] = {"some.server", "other"};
        struct sma_mcp_builder *builder = builder_of(servers, 2);
        if (round == 1) {
            add(builder, "other", name);
            add(builder, "some.server", "before");
        }
        add(builder, "some.server", name);
        const struct sma_mcp_catalogue *made = finish(builder);
        const struct sma_mcp_tool *tool = &made->tools[made->tool_count - 1];
        CHECK_INT(SMA_MCP_WIRE_BYTES_MAX, tool->wire.len);
        memcpy(wires[round], tool->wire.ptr, tool->wire.len + 1);
        sma_mcp_catalogue_unref(made);
    }
    CHECK_TEXT(wires[0], wires[1]);
    CHECK(strspn(wires[0], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
          strlen(wires[0]));
}

CASE(a_crafted_name_takes_nobody_elses)
{
    /* "a_b" names a tool as the hash of a.b's does */
    SMA_AUTO(sma_buf_fini) struct sma_buf wire;
    sma_buf_init(&wire, 100);
    sma_mcp_put_wire_name(&wire, SMA_STR("a.b"), SMA_STR("t"), 0);
    CHECK(strncmp(wire.ptr, "mcp__a_b__t_", 12) == 0);
    static const char *const servers[] = {"a_b", "a.b"};
    struct sma_mcp_builder *builder = builder_of(servers, 2);
    add(builder, "a_b", wire.ptr + 10);
    add(builder, "a.b", "t");
    const struct sma_mcp_catalogue *made = finish(builder);
    CHECK_STR(wire.ptr, sma_mcp_catalogue_find_shown(made, SMA_STR("a.b:t"))->wire);
    CHECK(!sma_str_is_equal(made->tools[0].wire, made->tools[1].wire));
    CHECK(sma_mcp_catalogue_find_wire(made, made->tools[1].wire) == &made->tools[1]);
    sma_mcp_catalogue_unref(made);
}

/* -- bounds ------------------------------------------------------------------------------------ */
CASE(a_server_has_so_many_tools_and_no_more)
{
    static const char *const servers[] = {"big", "small"};
    struct sma_mcp_builder *builder = builder_of(servers, 2);
    for (int i = 0; i < SMA_MCP_TOOL_COUNT_MAX + 2; i++) {
        char name[24];
        snprintf(name, sizeof name, "tool%d", i);
        add(builder, "big", name);
    }
    add(builder, "small", "one");
    add(builder, "small", "one");
    const struct sma_mcp_catalogue *made = finish(builder);
    CHECK_INT(SMA_MCP_TOOL_COUNT_MAX, made->servers[0].tool_count);
    CHECK_INT(2, made->servers[0].dropped_count);
    CHECK_INT(1, made->servers[1].tool_count); /* a name twice is one tool */
    CHECK_INT(SMA_MCP_TOOL_COUNT_MAX + 1, made->tool_count);
    sma_mcp_catalogue_unref(made);
}

CASE(what_does_not_fit_is_left_out_whole)
{
    static const char *const servers[] = {"huge", "next"};
    struct sma_mcp_builder *builder = builder_of(servers, 2);
    size_t room = SMA_MCP_CATALOGUE_BYTES_MAX;
    char *bytes = malloc(room);
    CHECK(bytes != NULL);
    memset(bytes, 'x', room);
    struct sma_mcp_tool tool = {
        .server = SMA_STR("huge"), .name = SMA_STR("t"), .schema = {bytes, room}};
    sma_mcp_builder_add_tool(builder, &tool);
    struct sma_mcp_resource resource = {.server = SMA_STR("huge"), .uri = {bytes, room}};
    sma_mcp_builder_add_resource(builder, &resource);
    struct sma_mcp_prompt prompt = {
        .server = SMA_STR("next"), .name = SMA_STR("p"), .argument_count = 1};
    prompt.arguments[0].name = SMA_STR("who");
    sma_mcp_builder_add_prompt(builder, &prompt);
    add(builder, "next", "fits");
    const struct sma_mcp_catalogue *made = finish(builder);
    CHECK_INT(1, made->tool_count);
    CHECK_INT(0, made->resource_count);
    CHECK_INT(1, made->servers[0].dropped_count);
    CHECK_STR("next:fits", made->tools[0].shown);
    CHECK_STR("who", made->prompts[0].arguments[0].name);
    sma_mcp_catalogue_unref(made);
    free(bytes);
}

/* -- cleaning ---------------------------------------------------------------------------------- */
static void check_clean(const char *wanted, struct sma_str text, size_t max_bytes)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 1000);
    sma_buf_put_text(&buf, "<");
    sma_mcp_put_clean(&buf, text, max_bytes);
    CHECK_OK(buf.err);
    CHECK(buf.len <= max_bytes + 1);
    CHECK_TEXT(wanted, buf.ptr + 1);
}

CASE(what_nobody_sees_is_not_there)
{
    check_clean("ignore me", SMA_STR("ig\u200Bnore\u202E m\U000E0041e"), 100);
    check_clean("a b\nc", SMA_STR("a\tb\r\nc"), 100);
    check_clean("\uFFFDx\uFFFD", SMA_STR("\xFFx\xE4"), 100);
    check_clean("a b", SMA_STR("a\0b"), 100);
    check_clean(" [31m", SMA_STR("\xC2\x9B[31m"), 100); /* a C1 control */
}

CASE(a_long_text_is_cut_at_a_character)
{
    check_clean("12345", SMA_STR("12345"), 5);
    check_clean("12…", SMA_STR("123456"), 5);
    check_clean("1…", SMA_STR("1ä3456"), 5);
    check_clean("", SMA_STR("abc"), 2);
    check_clean("ab", SMA_STR("ab"), 2);
}

CASE(a_name_that_could_mislead_is_none)
{
    CHECK(sma_mcp_is_name(SMA_STR("read_file")));
    CHECK(sma_mcp_is_name(SMA_STR("查询 x")));
    CHECK(!sma_mcp_is_name(SMA_STR("")));
    CHECK(!sma_mcp_is_name(SMA_STR(" a")));
    CHECK(!sma_mcp_is_name(SMA_STR("a\nb")));
    CHECK(!sma_mcp_is_name(SMA_STR("a\x1b[2J")));
    CHECK(!sma_mcp_is_name(SMA_STR("a\u202Eb")));
    CHECK(!sma_mcp_is_name(SMA_STR("a\xFF")));
    char name[SMA_MCP_NAME_BYTES_MAX + 1];
    memset(name, 'a', sizeof name);
    CHECK(sma_mcp_is_name((struct sma_str){name, SMA_MCP_NAME_BYTES_MAX}));
    CHECK(!sma_mcp_is_name((struct sma_str){name, SMA_MCP_NAME_BYTES_MAX + 1}));
}

/* -- references -------------------------------------------------------------------------------- */
static void *take_and_give_back(void *shared)
{
    const struct sma_mcp_catalogue *made = shared;
    for (int i = 0; i < 1000; i++) {
        sma_mcp_catalogue_ref(made);
        CHECK(sma_mcp_catalogue_find_shown(made, SMA_STR("a:t")) != NULL);
        sma_mcp_catalogue_unref(made);
    }
    sma_mcp_catalogue_unref(made);
    return NULL;
}

CASE(the_last_reference_frees)
{
    static const char *const servers[] = {"a"};
    struct sma_mcp_builder *builder = builder_of(servers, 1);
    add(builder, "a", "t");
    const struct sma_mcp_catalogue *made = finish(builder);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        sma_mcp_catalogue_ref(made);
        union
        {
            const void *given;
            void *passed;
        } both = {.given = made};
        CHECK(pthread_create(&threads[i], NULL, take_and_give_back, both.passed) == 0);
    }
    sma_mcp_catalogue_unref(made);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    sma_mcp_catalogue_unref(NULL);
}

CASES_MAIN
