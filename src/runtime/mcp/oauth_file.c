/* oauth_file.c — see oauth_file.h. */
#include "oauth_file.h"

#include "sma/limits.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX 65536

/* The names of servers hold nothing that a path could mind (mcp_config.c). */
static SMA_CHECKED enum sma_err make_path(const char *project_dir, const char *server,
                                          char path[PATH_MAX], struct sma_error *error)
{
    if (snprintf(path, PATH_MAX, "%s/" SMA_OAUTH_FOLDER "/%s.json", project_dir, server) >=
        PATH_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "the path of the project is too long");
    return SMA_ERR_OK;
}

enum sma_err sma_oauth_file_read(const char *project_dir, const char *server, const char *url,
                                 struct sma_oauth_token *ret_token, struct sma_error *error)
{
    char path[PATH_MAX];
    char *bytes = NULL;
    size_t len = 0;
    struct sma_oauth_token token;
    SMA_TRY(make_path(project_dir, server, path, error));
    SMA_TRY(sma_sys_read_file(sma_sys_real(), path, FILE_BYTES_MAX, &bytes, &len, error));
    enum sma_err err = sma_oauth_token_parse((struct sma_str){bytes, len}, &token);
    explicit_bzero(bytes, len);
    free(bytes);
    if (err == SMA_ERR_BADINPUT)
        return sma_fail(error, err,
                        SMA_OAUTH_FOLDER "/%s.json is damaged: log in again with `shipmyagent mcp "
                                         "login %s`",
                        server, server);
    if (err != SMA_ERR_OK)
        return sma_fail(error, err, "out of memory");
    if (strcmp(token.server_url, url) != 0) { /* it goes to nobody else */
        sma_oauth_token_fini(&token);
        return SMA_ERR_NOTFOUND;
    }
    *ret_token = token;
    return SMA_ERR_OK;
}

enum sma_err sma_oauth_file_write(const char *project_dir, const char *server,
                                  const struct sma_oauth_token *token, struct sma_error *error)
{
    char path[PATH_MAX], folder[PATH_MAX];
    struct sma_buf text;
    SMA_TRY(make_path(project_dir, server, path, error));
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    SMA_TRY(sma_sys_make_dirs(sma_sys_real(), folder, error));
    if (chmod(folder, 0700) != 0)
        return sma_fail(error, SMA_ERR_IO, SMA_OAUTH_FOLDER ": %s", strerror(errno));
    sma_buf_init(&text, FILE_BYTES_MAX);
    enum sma_err err = sma_oauth_token_format(token, &text);
    if (err == SMA_ERR_OK)
        err = sma_sys_write_file_unsynced(sma_sys_real(), path, sma_buf_str(&text), 0600, error);
    else
        err = sma_fail(error, err, "the token is too large to be kept");
    if (text.ptr != NULL)
        explicit_bzero(text.ptr, text.cap);
    sma_buf_fini(&text);
    return err;
}

enum sma_err sma_oauth_file_remove(const char *project_dir, const char *server,
                                   struct sma_error *error)
{
    char path[PATH_MAX];
    SMA_TRY(make_path(project_dir, server, path, error));
    if (unlink(path) == 0)
        return SMA_ERR_OK;
    return errno == ENOENT ? SMA_ERR_NOTFOUND
                           : sma_fail(error, SMA_ERR_IO, SMA_OAUTH_FOLDER ": %s", strerror(errno));
}
