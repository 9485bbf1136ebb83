/* seen.c — how connections and models stand, for GET /api/status; traces of runs. */
#include "http_priv.h"

#include "runtime/secrets/secrets.h"
#include "sma/links.h"

#define SEEN_BYTES_MAX (96 * 1024)
#define TRACE_BYTES_MAX (8 * 1024 * 1024)
#define RUNS "/api/runs/"
#define TRACE "/trace"

static bool has_secrets(struct sma_http *http)
{
    return http->secrets != NULL || sma_secrets_create(http->config, &http->secrets) == SMA_ERR_OK;
}

/* The texts are what platforms and providers said, and may hold what we told them: a token stands
 * in the path of a URL. */
void http_put_seen(struct sma_http *http, struct sma_buf *body)
{
    struct sma_buf plain, clean;
    if (!has_secrets(http))
        return;
    sma_buf_init(&plain, SEEN_BYTES_MAX);
    sma_buf_init(&clean, SEEN_BYTES_MAX);
    sma_buf_put_text(&plain, "\"platforms\":");
    sma_links_format(&plain);
    sma_buf_put_text(&plain, ",\"models\":");
    sma_targets_format(&plain, sma_ctx_wall(http->ctx));
    sma_buf_put_text(&plain, ",\"mcp\":");
    sma_servers_format(&plain);
    if (plain.err == SMA_ERR_OK)
        sma_secrets_put(http->secrets, &clean, sma_buf_str(&plain));
    if (plain.err == SMA_ERR_OK && clean.err == SMA_ERR_OK) {
        sma_buf_put_char(body, ',');
        sma_buf_put_str(body, sma_buf_str(&clean));
    }
    sma_buf_fini(&plain);
    sma_buf_fini(&clean);
}

/* -- traces ------------------------------------------------------------------------------------ */
bool http_trace_asked(const struct sma_http_request *request, struct sma_buf *asked)
{
    struct sma_str path = request->path;
    if (sma_str_starts_with(path, SMA_STR(RUNS))) {
        size_t begin = sizeof RUNS - 1;
        int64_t seq;
        struct sma_str id = {path.ptr + begin, path.len - begin - (sizeof TRACE - 1)};
        sma_buf_put_str(asked, id);
        return asked->err == SMA_ERR_OK && sma_parse_i64(id, 1, INT64_MAX, &seq) == SMA_ERR_OK;
    }
    struct sma_buf id;
    sma_buf_init(&id, SMA_ID_BYTES_MAX);
    bool is_there = sma_http_query_get(request->query, SMA_STR("message"), &id) == SMA_ERR_OK &&
                    id.len > 0 && sma_utf8_is_valid(sma_buf_str(&id));
    sma_buf_put_text(asked, "m:");
    sma_buf_put_str(asked, sma_buf_str(&id));
    sma_buf_fini(&id);
    return is_there && asked->err == SMA_ERR_OK;
}

void http_respond_clean(struct http_conn *conn, struct sma_str json)
{
    struct sma_buf clean; /* what a platform or a provider said of a failure */
    sma_buf_init(&clean, TRACE_BYTES_MAX);
    if (has_secrets(conn->server))
        sma_secrets_put(conn->server->secrets, &clean, json);
    if (clean.err == SMA_ERR_OK && clean.len > 0)
        http_respond(conn, 200, HTTP_JSON, sma_buf_str(&clean), NULL);
    else
        http_respond_error(conn, 500, NULL, "The answer cannot be shown: %s",
                           sma_err_text(clean.err));
    sma_buf_fini(&clean);
}

void http_respond_trace(struct http_conn *conn, struct sma_str json)
{
    if (json.len <= 2)
        http_respond_error(conn, 404, NULL, "No such run");
    else
        http_respond_clean(conn, json);
}
