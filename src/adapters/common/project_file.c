/* project_file.c — see project_file.h. */
#include "project_file.h"

#include "runtime/files/guard.h"
#include "sma/messages.h"
#include "sma/text.h"

#include <stdio.h>
#include <unistd.h>

#define WHY_BYTES_MAX 4096
#define SHOWN_BYTES_MAX 127

static SMA_CHECKED enum sma_err check(const struct stat *stat, struct sma_str target,
                                      size_t bytes_max, struct sma_error *error)
{
    int len = (int)sma_utf8_cut(target, SHOWN_BYTES_MAX);
    if (stat->st_size == 0)
        return sma_fail(error, SMA_ERR_BADINPUT, "%.*s is empty: there is nothing to send", len,
                        target.ptr);
    if ((uint64_t)stat->st_size > bytes_max)
        return sma_fail(error, SMA_ERR_TOOBIG,
                        "%.*s has %lld bytes, the platform takes at most %zu", len, target.ptr,
                        (long long)stat->st_size, bytes_max);
    return SMA_ERR_OK;
}

enum sma_err sma_project_file_open(const char *root, struct sma_str target, uint8_t intent,
                                   size_t bytes_max, int *ret_fd, struct sma_error *error)
{
    enum sma_guard_use use = intent == SMA_INTENT_OUTPUT ? SMA_GUARD_OUTPUT : SMA_GUARD_SEND;
    struct sma_guard *guard = NULL;
    struct sma_buf path, why;
    struct stat stat;
    int fd = -1;
    enum sma_err err = sma_guard_create(root, &guard, error);
    if (err != SMA_ERR_OK)
        return err;
    sma_buf_init(&path, SMA_GUARD_PATH_BYTES_MAX + 1);
    sma_buf_init(&why, WHY_BYTES_MAX);
    err = sma_guard_clean(guard, target, &path, &why);
    if (err == SMA_ERR_OK)
        err = sma_guard_open(guard, sma_buf_str(&path), use, &fd, &stat, &why);
    if (err == SMA_ERR_OK)
        err = check(&stat, target, bytes_max, error);
    else
        (void)sma_fail(error, err, "%.*s",
                       (int)sma_utf8_cut(sma_buf_str(&why), sizeof error->text - 1),
                       why.len == 0 ? "" : why.ptr);
    if (err == SMA_ERR_OK)
        *ret_fd = fd;
    else if (fd >= 0)
        close(fd);
    sma_buf_fini(&path);
    sma_buf_fini(&why);
    sma_guard_destroy(guard);
    return err;
}

void sma_project_file_name(struct sma_str target, char *name, size_t name_size)
{
    const char *slash = target.len == 0 ? NULL : memrchr(target.ptr, '/', target.len);
    if (slash != NULL)
        target = (struct sma_str){slash + 1, target.len - (size_t)(slash + 1 - target.ptr)};
    size_t len = sma_utf8_cut(target, name_size - 1);
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)target.ptr[i];
        bool is_bad = byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7f;
        /* readers end a value at any ';', also between quotation marks (as seen: telegraf#934) */
        name[i] = is_bad ? '_' : byte == ';' ? ',' : target.ptr[i];
    }
    name[len] = '\0';
}
