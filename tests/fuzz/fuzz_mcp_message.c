/*
 * Lines that an MCP server writes, to a session in each era that has a call open. The first byte
 * says which era, and how far the handshake has come.
 * Promises: a call is answered at most once before the end and exactly once with it; what is said
 * is one JSON text on one line; nothing offered misleads.
 */
#include "fuzz.h"

#include "runtime/mcp/session.h"

#include <stdlib.h>

struct world
{
    unsigned answered;
};

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void on_send(void *user, const struct sma_mcp_out *out)
{
    (void)user;
    require(out->text.len > 0 && memchr(out->text.ptr, '\n', out->text.len) == NULL);
}

static void on_listed(void *user)
{
    (void)user;
}

static void on_answered(void *user, uint64_t id, enum sma_mcp_outcome outcome, const json_t *result,
                        struct sma_str why)
{
    struct world *world = user;
    (void)id;
    (void)why;
    require((outcome == SMA_MCP_OK || outcome == SMA_MCP_TOOL_ERROR) == (result != NULL));
    world->answered++;
}

static void on_progress(void *user, uint64_t id, struct sma_str text)
{
    (void)user;
    require(id > 0 && text.len <= SMA_MCP_PROGRESS_BYTES_MAX);
}

static void on_log(void *user, enum sma_log_level level, struct sma_str text)
{
    (void)user;
    (void)level;
    require(text.len == 0 || memchr(text.ptr, '\n', text.len) == NULL);
}

static bool on_elicit(void *user, const struct sma_mcp_question *question)
{
    (void)user;
    require(question != NULL);
    return false; /* there is nobody to ask */
}

static void on_failed(void *user, const char *why)
{
    (void)user;
    require(why[0] != '\0');
}

static const struct sma_mcp_session_ops ops = {.send = on_send,
                                               .listed = on_listed,
                                               .answered = on_answered,
                                               .progress = on_progress,
                                               .log = on_log,
                                               .elicit = on_elicit,
                                               .failed = on_failed};

static void hear(struct sma_mcp_session *session, const char *text)
{
    sma_mcp_session_take(session, sma_str(text), 1);
}

static void connect(struct sma_mcp_session *session, unsigned how)
{
    if ((how & 2) == 0)
        return;
    hear(session, (how & 1) != 0
                      ? "{\"id\":1,\"result\":{\"supportedVersions\":[\"2026-07-28\"],"
                        "\"capabilities\":{\"tools\":{\"listChanged\":true}}}}"
                      : "{\"id\":1,\"result\":{\"protocolVersion\":\"2025-03-26\",\"capabilities\":"
                        "{\"tools\":{},\"resources\":{},\"prompts\":{}}}}");
    if ((how & 4) == 0)
        return;
    hear(session, "{\"id\":2,\"result\":{\"tools\":[{\"name\":\"a\"}]}}");
    hear(session, "{\"id\":3,\"result\":{\"resources\":[]}}");
    hear(session, "{\"id\":4,\"result\":{\"resourceTemplates\":[]}}");
    hear(session, "{\"id\":5,\"result\":{\"prompts\":[]}}");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    struct world world = {0};
    struct sma_mcp_session_options options = {
        .server = "fuzz", .project_dir = "/p", .probes_modern = (bytes[0] & 1) != 0};
    struct sma_mcp_session *session = sma_mcp_session_create(&options, &ops, &world);
    require(session != NULL);
    sma_mcp_session_begin(session, 0);
    connect(session, bytes[0]);
    struct sma_mcp_session_call call = {.name = {"a", 1}, .timeout_ms = 1000};
    uint64_t id = 0;
    bool is_open = sma_mcp_session_call(session, &call, 1, &id) == SMA_ERR_OK;
    const char *at = (const char *)bytes + 1, *end = (const char *)bytes + len;
    uint64_t now = 1;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t line = line_end == NULL ? (size_t)(end - at) : (size_t)(line_end - at);
        sma_mcp_session_take(session, (struct sma_str){at, line}, ++now);
        at += line + 1;
    }
    sma_mcp_session_tick(session, now + 500 * SMA_NS_PER_MS);
    require(world.answered <= (unsigned)is_open);
    const struct sma_mcp_catalogue *offer = sma_mcp_session_offer(session);
    for (size_t i = 0; offer != NULL && i < offer->tool_count; i++)
        require(sma_mcp_is_name(offer->tools[i].name) &&
                sma_mcp_catalogue_find_wire(offer, offer->tools[i].wire) == &offer->tools[i]);
    sma_mcp_session_end(session, (struct sma_str){"over", 4});
    require(world.answered == (unsigned)is_open);
    sma_mcp_session_destroy(session);
    return 0;
}
