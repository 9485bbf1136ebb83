/*
 * project_files.c — GET /api/files/<path> and GET /api/files?pattern=: a text of the project, and
 * the names of its files, as pages of the old program ask for them. What read_file may not read is
 * not there: the same rules, the same guard, no file that holds a secret of ours.
 */
#include "http_priv.h"

#include "runtime/files/file_tools.h"
#include "runtime/files/guard.h"

#include <stdlib.h>
#include <unistd.h>

static void respond_text(struct http_conn *conn, struct sma_str content)
{
    struct sma_buf json;
    if (!sma_utf8_is_valid(content)) {
        http_respond_error(conn, 403, NULL, "This file is not a text");
        return;
    }
    sma_buf_init(&json, HTTP_RESPONSE_BYTES_MAX / 2);
    sma_buf_put_text(&json, "{\"success\":true,\"content\":");
    sma_buf_put_json_string(&json, content);
    sma_buf_put_char(&json, '}');
    if (json.err == SMA_ERR_OK)
        http_respond(conn, 200, HTTP_JSON, sma_buf_str(&json), NULL);
    else
        http_respond_error(conn, 503, "Retry-After: 1\r\n", "Out of memory: ask again");
    sma_buf_fini(&json);
}

/* OK: *ret_bytes is malloc'ed | what stood in the way, with a sentence in why */
static SMA_CHECKED enum sma_err read_file(const struct sma_config *config, struct sma_str path,
                                          char **ret_bytes, size_t *ret_len, struct sma_buf *why)
{
    struct sma_file_tools *tools = NULL;
    struct sma_error error = {0};
    int fd = -1;
    enum sma_err err = sma_file_tools_create(config, &tools, &error);
    if (err != SMA_ERR_OK) {
        sma_buf_put_text(why, error.text);
        return err;
    }
    err = sma_file_tools_open(tools, path, &fd, why);
    if (err == SMA_ERR_OK) {
        err = sma_guard_read_fd(fd, SMA_HTTP_FILE_BYTES_MAX, ret_bytes, ret_len);
        close(fd);
    }
    sma_file_tools_destroy(tools);
    return err;
}

void http_project_file(struct http_conn *conn, struct sma_str part)
{
    struct sma_buf path, why;
    char *bytes = NULL;
    size_t len = 0;
    sma_buf_init(&path, SMA_GUARD_PATH_BYTES_MAX + 1);
    sma_buf_init(&why, 1024);
    enum sma_err err = sma_http_path_get(part, &path);
    if (err == SMA_ERR_OK && (path.len == 0 || !sma_utf8_is_valid(sma_buf_str(&path)) ||
                              memchr(path.ptr, '\0', path.len) != NULL))
        err = SMA_ERR_BADINPUT;
    if (err == SMA_ERR_OK)
        err = read_file(conn->server->config, sma_buf_str(&path), &bytes, &len, &why);
    if (err == SMA_ERR_OK)
        respond_text(conn, (struct sma_str){bytes, len});
    else if (err == SMA_ERR_NOTFOUND)
        http_respond_error(conn, 404, NULL, "No such file in the project");
    else if (err == SMA_ERR_TOOBIG)
        http_respond_error(conn, 413, NULL, "The file is over the limit of %u bytes",
                           SMA_HTTP_FILE_BYTES_MAX);
    else
        http_respond_error(conn, 403, NULL, "%.*s",
                           why.len > 0 ? (int)why.len : (int)strlen("This file is not shown"),
                           why.len > 0 ? why.ptr : "This file is not shown");
    free(bytes);
    sma_buf_fini(&path);
    sma_buf_fini(&why);
}

/* -- names ------------------------------------------------------------------------------------- */
/* Nothing but one ?pattern=; without it, or with nothing in it, everything. */
static SMA_CHECKED bool read_pattern(struct sma_str query, struct sma_buf *pattern)
{
    static const char name[] = "pattern=";
    if (query.len > 0 && (query.len < sizeof name - 1 || memchr(query.ptr, '&', query.len) ||
                          memcmp(query.ptr, name, sizeof name - 1) != 0))
        return false;
    enum sma_err err = sma_http_query_get(query, SMA_STR("pattern"), pattern);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        return false;
    if (pattern->len == 0)
        sma_buf_put_text(pattern, "**/*");
    return pattern->err == SMA_ERR_OK && sma_utf8_is_valid(sma_buf_str(pattern)) &&
           memchr(pattern->ptr, '\0', pattern->len) == NULL;
}

static SMA_CHECKED enum sma_err put_names(const struct sma_config *config, struct sma_str pattern,
                                          struct sma_buf *json, struct sma_buf *why)
{
    struct sma_file_tools *tools = NULL;
    struct sma_error error = {0};
    bool is_cut = false;
    enum sma_err err = sma_file_tools_create(config, &tools, &error);
    if (err != SMA_ERR_OK) {
        sma_buf_put_text(why, error.text);
        return err;
    }
    sma_buf_put_text(json, "{\"success\":true,\"files\":[");
    err = sma_file_tools_put_names(tools, pattern, json, &is_cut, why);
    sma_buf_put_text(json, is_cut ? "],\"truncated\":true}" : "]}");
    sma_file_tools_destroy(tools);
    return err == SMA_ERR_OK ? json->err : err;
}

void http_project_files(struct http_conn *conn, struct sma_str query)
{
    struct sma_buf pattern, json, why;
    sma_buf_init(&pattern, SMA_HTTP_PATTERN_BYTES_MAX + 1);
    sma_buf_init(&json, HTTP_RESPONSE_BYTES_MAX / 2);
    sma_buf_init(&why, 1024);
    if (!read_pattern(query, &pattern) || pattern.len > SMA_HTTP_PATTERN_BYTES_MAX) {
        http_respond_error(conn, 400, NULL,
                           "The only parameter is pattern, once: a path with *, ** and ?, at most "
                           "%d bytes",
                           SMA_HTTP_PATTERN_BYTES_MAX);
    } else {
        enum sma_err err = put_names(conn->server->config, sma_buf_str(&pattern), &json, &why);
        if (err == SMA_ERR_OK)
            http_respond(conn, 200, HTTP_JSON, sma_buf_str(&json), NULL);
        else if (err == SMA_ERR_BADINPUT)
            http_respond_error(conn, 400, NULL, "%.*s", (int)why.len, why.ptr);
        else
            http_respond_error(conn, 503, "Retry-After: 1\r\n",
                               "The files cannot be listed (%s): ask again", sma_err_text(err));
    }
    sma_buf_fini(&pattern);
    sma_buf_fini(&json);
    sma_buf_fini(&why);
}

void http_old_webhook(struct http_conn *conn, struct sma_str type, size_t body_bytes)
{
    sma_ctx_log(conn->server->ctx, SMA_LOG_INFO,
                "POST /webhook/%.*s: %zu bytes received, and nothing comes of it",
                (int)sma_utf8_cut(type, 100), type.ptr, body_bytes);
    http_respond(conn, 200, HTTP_JSON, SMA_STR("{\"received\":true}"), NULL);
}
