/* mcp_picture.c — pictures of results as files: .ship/.cache/mcp/<server>/<sha256>. */
#include "mcp_priv.h"

#include "runtime/mcp/result.h"
#include "sma/sys.h"

#include <dirent.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_COUNT_MAX 4096 /* looked at in one folder */

static bool hash_bytes(struct sma_str bytes, char hash[65])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (EVP_Digest(bytes.ptr, bytes.len, digest, &len, EVP_sha256(), NULL) != 1 || len != 32)
        return false;
    for (unsigned i = 0; i < len; i++)
        (void)snprintf(hash + 2 * (size_t)i, 3, "%02x", digest[i]);
    return true;
}

struct kept
{
    char name[65];
    int64_t used_ns;
    uint64_t bytes;
};

static int compare_age(const void *a, const void *b)
{
    const struct kept *left = a, *right = b;
    return (left->used_ns > right->used_ns) - (left->used_ns < right->used_ns);
}

/* The oldest go until `extra` more fit. */
static void make_room(const char *folder, size_t extra)
{
    struct kept *files = calloc(FILE_COUNT_MAX, sizeof *files);
    DIR *dir = files == NULL ? NULL : opendir(folder);
    size_t count = 0;
    uint64_t bytes = extra;
    char path[PATH_MAX];
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        struct stat facts;
        if (count == FILE_COUNT_MAX || strlen(entry->d_name) >= sizeof files->name ||
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= PATH_MAX ||
            lstat(path, &facts) != 0 || !S_ISREG(facts.st_mode))
            continue;
        struct kept *file = &files[count++];
        (void)snprintf(file->name, sizeof file->name, "%s", entry->d_name);
        file->used_ns = (int64_t)facts.st_mtim.tv_sec * 1000000000 + facts.st_mtim.tv_nsec;
        file->bytes = (uint64_t)facts.st_size;
        bytes += file->bytes;
    }
    if (dir != NULL)
        closedir(dir);
    if (count > 1)
        qsort(files, count, sizeof *files, compare_age);
    for (size_t i = 0; i < count && bytes > SMA_MCP_PICTURES_BYTES_MAX; i++) {
        if (snprintf(path, sizeof path, "%s/%s", folder, files[i].name) < PATH_MAX &&
            unlink(path) == 0)
            bytes -= files[i].bytes;
    }
    free(files);
}

static bool keep(struct mcp_server *server, struct sma_str bytes, struct sma_buf *path,
                 char hash[65])
{
    const struct sma_config *config = server->mcp->config;
    const struct sma_sys *sys = sma_ctx_sys(server->mcp->ctx);
    char folder[PATH_MAX], full[PATH_MAX];
    if (!hash_bytes(bytes, hash) ||
        snprintf(folder, sizeof folder, "%s/.cache/mcp/%s", config->state_dir, server->name) >=
            PATH_MAX ||
        snprintf(full, sizeof full, "%s/%s", folder, hash) >= PATH_MAX ||
        sma_sys_make_dirs(sys, folder, NULL) != SMA_ERR_OK)
        return false;
    sma_buf_printf(path, ".ship/.cache/mcp/%s/%s", server->name, hash);
    if (path->err != SMA_ERR_OK)
        return false;
    if (access(full, R_OK) == 0)
        return true;
    make_room(folder, bytes.len);
    return sma_sys_write_file_unsynced(sys, full, bytes, 0600, NULL) == SMA_ERR_OK;
}

bool mcp_picture_keep(struct mcp_server *server, struct sma_str base64, struct sma_buf *path,
                      char hash[65])
{
    struct sma_buf bytes;
    sma_buf_init(&bytes, SMA_MCP_MESSAGE_BYTES_MAX);
    bool is_kept = sma_mcp_put_decoded(&bytes, base64) && bytes.len > 0 &&
                   keep(server, sma_buf_str(&bytes), path, hash);
    sma_buf_fini(&bytes);
    return is_kept;
}
