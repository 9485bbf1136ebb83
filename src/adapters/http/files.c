/* files.c — the small files of the HTTP adapter: service.json, api-token, public/. */
#include "http_priv.h"

#include "sma/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4608

static enum sma_err put_path(char *path, const char *dir, const char *name, struct sma_error *error)
{
    int len = snprintf(path, PATH_BYTES, "%s/%s", dir, name);
    if (len < 0 || len >= PATH_BYTES)
        return sma_fail(error, SMA_ERR_TOOBIG, "path too long: %s/%s", dir, name);
    return SMA_ERR_OK;
}

enum sma_err http_service_file_write(struct sma_http *http, struct sma_error *error)
{
    char path[PATH_BYTES];
    enum sma_err err = put_path(path, http->config->state_dir, "service.json", error);
    if (err != SMA_ERR_OK)
        return err;
    err = sma_sys_make_dirs(http->sys, http->config->state_dir, error);
    if (err != SMA_ERR_OK)
        return err;
    struct sma_buf buf;
    sma_buf_init(&buf, 4096);
    sma_buf_printf(&buf, "{\"pid\":%ld,\"port\":%d,\"host\":", (long)getpid(),
                   atomic_load(&http->port));
    sma_buf_put_json_string(&buf, sma_str(http->config->start_host));
    sma_buf_put_text(&buf, "}\n");
    err = buf.err;
    if (err == SMA_ERR_OK)
        err = sma_sys_write_file_atomic(http->sys, path, sma_buf_str(&buf), 0600, error);
    sma_buf_fini(&buf);
    http->has_service_file = err == SMA_ERR_OK;
    return err;
}

void http_service_file_later(struct sma_http *http)
{
    http->service_file_ns = http_now(http) + HTTP_SERVICE_FILE_PAUSE_NS;
    if (http->service_file_ns < http->wake_ns) {
        http->wake_ns = http->service_file_ns;
        sma_ctx_wake_at(http->ctx, http->wake_ns);
    }
}

void http_service_file_retry(struct sma_http *http, uint64_t now_ns)
{
    if (http->service_file_ns == 0 || now_ns < http->service_file_ns)
        return;
    http->service_file_ns = 0;
    if (http->is_closing)
        return;
    struct sma_error error = {0};
    if (http_service_file_write(http, &error) != SMA_ERR_OK)
        http_service_file_later(http);
    else
        sma_ctx_log(http->ctx, SMA_LOG_INFO, "%s/service.json is written", http->config->state_dir);
}

void http_service_file_remove(struct sma_http *http)
{
    char path[PATH_BYTES];
    if (!http->has_service_file)
        return;
    http->has_service_file = false;
    if (put_path(path, http->config->state_dir, "service.json", NULL) == SMA_ERR_OK)
        (void)http->sys->unlink(http->sys->self,
                                path); /* a leftover only misleads until the next start */
}

static enum sma_err make_token(struct sma_http *http, const char *path, struct sma_buf *token,
                               struct sma_error *error)
{
    unsigned char bytes[32];
    http->sys->random_bytes(http->sys->self, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        sma_buf_printf(token, "%02x", bytes[i]);
    explicit_bzero(bytes, sizeof bytes);
    enum sma_err err = sma_sys_make_dirs(http->sys, http->config->state_dir, error);
    if (err == SMA_ERR_OK)
        err = token->err != SMA_ERR_OK
                  ? token->err
                  : sma_sys_write_file_atomic(http->sys, path, sma_buf_str(token), 0600, error);
    return err;
}

/* A file made by hand or copied may be open to others. */
static enum sma_err close_to_others(struct sma_http *http, const char *path,
                                    struct sma_error *error)
{
    struct stat facts;
    if (stat(path, &facts) != 0 || (facts.st_mode & 077) == 0)
        return SMA_ERR_OK; /* not there: it is about to be made, with the right mode */
    if (chmod(path, facts.st_mode & 0700) != 0)
        return sma_fail_os(error, errno,
                           "%s can be read by others and its mode cannot be changed: chmod 600 it",
                           path);
    sma_ctx_log(http->ctx, SMA_LOG_WARN,
                "%s could be read by others; its mode is 0600 now. If somebody may have read it, "
                "delete it and start again: a new token is made",
                path);
    return SMA_ERR_OK;
}

enum sma_err http_token_file_read(struct sma_http *http, struct sma_buf *ret_token,
                                  struct sma_error *error)
{
    char path[PATH_BYTES];
    enum sma_err err = put_path(path, http->config->state_dir, "api-token", error);
    if (err != SMA_ERR_OK)
        return err;
    err = close_to_others(http, path, error);
    if (err != SMA_ERR_OK)
        return err;
    char *bytes = NULL;
    size_t len = 0;
    err = sma_sys_read_file(http->sys, path, HTTP_TOKEN_BYTES_MAX, &bytes, &len, error);
    if (err == SMA_ERR_NOTFOUND)
        return make_token(http, path, ret_token, error);
    if (err != SMA_ERR_OK)
        return err;
    struct sma_str token = sma_str_trim((struct sma_str){bytes, len});
    if (token.len < 16)
        err = sma_fail(
            error, SMA_ERR_BADINPUT,
            "%s holds no usable token (16 characters at least): delete the file and start again",
            path);
    else
        sma_buf_put_str(ret_token, token);
    explicit_bzero(bytes, len);
    free(bytes);
    return err != SMA_ERR_OK ? err : ret_token->err;
}

enum sma_err http_static_read(struct sma_http *http, const char *name, struct sma_buf *buf)
{
    char path[PATH_BYTES];
    enum sma_err err = put_path(path, "public", name, NULL);
    if (err != SMA_ERR_OK)
        return err;
    int fd = sma_open_in(http->config->project_dir, path, O_RDONLY);
    if (fd < 0)
        return SMA_ERR_NOTFOUND;
    struct stat facts;
    err = SMA_ERR_OK;
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))
        err = SMA_ERR_NOTFOUND;
    else if (facts.st_size > (off_t)HTTP_STATIC_BYTES_MAX)
        err = SMA_ERR_TOOBIG;
    while (err == SMA_ERR_OK) {
        char *place = sma_buf_reserve(buf, 65536);
        ssize_t got = place == NULL ? -1 : read(fd, place, 65536);
        if (got < 0 && place != NULL && errno == EINTR)
            continue;
        if (got <= 0) {
            err = got == 0 ? buf->err : place == NULL ? buf->err : SMA_ERR_IO;
            break;
        }
        buf->len += (size_t)got;
    }
    close(fd);
    return err;
}
