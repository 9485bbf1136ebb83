/*
 * guard_names.c — a name written with composed letters (é) and a file whose name on disk has them
 * in pieces (e and an accent), or the other way round: for people they are one name. Files that
 * come from a Mac have the one form, models write the other.
 */
#include "runtime/files/guard_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utf8proc.h>

static bool is_plain(struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 0x80)
            return false;
    return true;
}

/* The entry of this folder that is called so in composed letters. Takes fd. @return whether it was
 * appended */
static bool put_entry(int fd, const char *name, struct sma_buf *found)
{
    utf8proc_uint8_t *wanted = utf8proc_NFC((const utf8proc_uint8_t *)name);
    DIR *dir = wanted == NULL ? NULL : fdopendir(fd);
    bool is_found = false;
    if (dir == NULL)
        close(fd);
    size_t left = SMA_GUARD_FOLDER_ENTRY_COUNT_MAX;
    for (struct dirent *entry; dir != NULL && !is_found && left-- > 0;) {
        if ((entry = readdir(dir)) == NULL)
            break;
        utf8proc_uint8_t *other = utf8proc_NFC((const utf8proc_uint8_t *)entry->d_name);
        is_found = other != NULL && strcmp((const char *)other, (const char *)wanted) == 0;
        free(other);
        if (is_found)
            sma_buf_put_text(found, entry->d_name);
    }
    if (dir != NULL)
        closedir(dir);
    free(wanted);
    return is_found && found->err == SMA_ERR_OK;
}

bool guard_find_name(const struct sma_guard *guard, struct sma_str path, struct sma_buf *found)
{
    if (is_plain(path))
        return false; /* there is but one way to write it */
    for (size_t from = 0; from < path.len;) {
        const char *slash = memchr(path.ptr + from, '/', path.len - from);
        size_t end = slash == NULL ? path.len : (size_t)(slash - path.ptr);
        char name[256];
        struct stat stat;
        if (end - from >= sizeof name)
            return false;
        memcpy(name, path.ptr + from, end - from);
        name[end - from] = '\0';
        sma_buf_put_text(found, "");
        int fd = guard_open_plain(guard, found->ptr, O_RDONLY | O_DIRECTORY);
        if (fd < 0)
            return false;
        if (found->len > 0)
            sma_buf_put_char(found, '/');
        if (fstatat(fd, name, &stat, AT_SYMLINK_NOFOLLOW) == 0) {
            sma_buf_put_text(found, name);
            close(fd);
        } else if (!put_entry(fd, name, found)) {
            return false;
        }
        from = end + 1;
    }
    return !sma_str_is_equal(sma_buf_str(found), path);
}
