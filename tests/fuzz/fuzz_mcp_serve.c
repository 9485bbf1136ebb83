/*
 * A message to our MCP server. The first byte chooses the transport: '0' a line, '1' a POST of
 * 2026-07-28, '2' one of a version before. Promises under test, besides not crashing: what is
 * answered is one line of JSON with one of result and error; a call goes to a path of the API that
 * one of the tools has, and nothing of the arguments becomes another path or another parameter.
 */
#include "fuzz.h"

#include "runtime/mcp_serve/serve.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_line(const struct sma_buf *buf)
{
    require(buf->err == SMA_ERR_OK && memchr(buf->ptr, '\n', buf->len) == NULL);
    json_t *root = json_loadb(buf->ptr, buf->len, JSON_ALLOW_NUL, NULL);
    require(json_is_object(root));
    require((json_object_get(root, "result") == NULL) != (json_object_get(root, "error") == NULL));
    json_decref(root);
}

static bool is_of_a_tool(struct sma_str path)
{
    static const char *const heads[] = {"/api/execute", "/api/chats", "/api/history",
                                        "/api/approvals"};
    size_t slashes = 0;
    bool is_known = false;
    for (size_t i = 0; i < SMA_COUNT_OF(heads); i++)
        is_known |= sma_str_starts_with(path, sma_str(heads[i]));
    for (size_t i = 0; i < path.len; i++) {
        slashes += path.ptr[i] == '/';
        is_known = is_known && path.ptr[i] > 0x20 && path.ptr[i] < 0x7f && path.ptr[i] != '?' &&
                   path.ptr[i] != '#';
    }
    return is_known && (slashes == 2 || slashes == 4);
}

static void check_call(const struct sma_mcp_serve_step *step)
{
    static const char *const answers[] = {"{\"success\":true,\"output\":\"x\",\"status\":\"done\"}",
                                          "{\"message\":\"no\"}", "{"};
    static const int statuses[] = {200, 404, 200};
    require(is_of_a_tool(sma_buf_str(&step->path)));
    size_t ands = 0;
    for (size_t i = 0; i < step->query.len; i++)
        ands += step->query.ptr[i] == '&';
    require(ands <= 1);
    for (size_t i = 0; i < SMA_COUNT_OF(answers); i++) {
        struct sma_buf buf;
        sma_buf_init(&buf, 1 << 20);
        sma_mcp_serve_put_result(&buf, step, statuses[i], sma_str(answers[i]));
        check_line(&buf);
        sma_buf_fini(&buf);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    struct sma_str text = {(const char *)bytes + 1, len - 1};
    struct sma_mcp_serve_headers modern = {.has_version = true,
                                           .has_method = true,
                                           .has_name = true,
                                           .version = SMA_STR(SMA_MCP_SERVE_MODERN),
                                           .method = SMA_STR("tools/call"),
                                           .name = SMA_STR("ask_agent")};
    struct sma_mcp_serve_headers legacy = {.has_version = true,
                                           .version = SMA_STR(SMA_MCP_SERVE_LEGACY)};
    struct sma_mcp_serve_step step;
    sma_mcp_serve_begin(&step);
    enum sma_err err = sma_mcp_serve_read(text,
                                          bytes[0] == '1'   ? &modern
                                          : bytes[0] == '2' ? &legacy
                                                            : NULL,
                                          &step);
    if (err == SMA_ERR_OK && step.kind == SMA_MCP_SERVE_ANSWER)
        check_line(&step.answer);
    if (err == SMA_ERR_OK && step.kind == SMA_MCP_SERVE_CALL)
        check_call(&step);
    sma_mcp_serve_end(&step);
    return 0;
}
