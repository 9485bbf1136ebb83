/* file_read.c — read_file and read_more. See file_tools.h. */
#include "runtime/files/file_tools_priv.h"

#include "runtime/media/media.h"
#include "sma/messages.h"
#include "sma/text.h"

#include <stdlib.h>
#include <unistd.h>

#define PIECE_BYTES_MIN 16 /* so that every piece holds a character */

static size_t count_lines(struct sma_str text)
{
    size_t count = 0;
    for (const char *at = text.ptr, *end = text.ptr + text.len; at < end; count++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next == NULL ? end : next + 1;
    }
    return count;
}

/* Behind so many lines; the end when there are not so many. */
static size_t skip_lines(struct sma_str text, uint64_t count)
{
    size_t at = 0;
    for (uint64_t i = 0; i < count && at < text.len; i++) {
        const char *next = memchr(text.ptr + at, '\n', text.len - at);
        at = next == NULL ? text.len : (size_t)(next + 1 - text.ptr);
    }
    return at;
}

static void put_text_result(const struct sma_file_tools *tools, struct sma_buf *result,
                            const struct sma_tool_args *args, struct sma_str path,
                            struct sma_str text)
{
    size_t total = count_lines(text), from = skip_lines(text, args->offset - 1);
    struct sma_str rest = {text.ptr + from, text.len - from};
    if (args->limit > 0)
        rest.len = skip_lines(rest, args->limit);
    size_t len = file_tools_fit(rest, FILE_RESULT_TEXT_BYTES_MAX - 6 * SMA_NAME_BYTES_MAX);
    bool is_cut = len < rest.len, is_line_cut = false;
    if (is_cut) { /* whole lines, unless not even one fits */
        const char *last = memrchr(rest.ptr, '\n', len);
        is_line_cut = last == NULL;
        len = last == NULL ? len : (size_t)(last + 1 - rest.ptr);
    }
    struct sma_str shown = {rest.ptr, len};
    size_t count = count_lines(shown);
    sma_buf_put_text(result, "{\"success\":true,\"path\":\"");
    file_tools_put_path(tools, result, (struct sma_str){path.ptr, file_tools_fit(path, 1000)});
    sma_buf_put_text(result, "\",\"content\":");
    sma_buf_put_json_string(result, shown);
    sma_buf_printf(result, ",\"firstLine\":%llu,\"lines\":%zu,\"totalLines\":%zu",
                   (unsigned long long)args->offset, count, total);
    bool has_more = from + len < text.len;
    if (has_more)
        sma_buf_put_text(result, ",\"truncated\":true");
    const char *quote = ",\"note\":\"";
    if (is_line_cut) {
        sma_buf_printf(result, "%sA line is too long and is cut.", quote);
        quote = " ";
    }
    if (has_more) {
        sma_buf_printf(result, "%sThere is more: read on with offset %llu.", quote,
                       (unsigned long long)(args->offset + count));
        quote = " ";
    }
    if (!sma_utf8_is_valid(text)) {
        sma_buf_printf(result, "%sNot valid UTF-8: the damaged bytes are shown as U+FFFD.", quote);
        quote = " ";
    }
    sma_buf_put_text(result, quote[0] == ' ' ? "\"}" : "}");
}

/* -- pictures and PDFs ------------------------------------------------------------------------- */
static void put_seen_result(const struct sma_file_tools *tools, const struct sma_media *media,
                            const struct stat *stat, struct sma_str path, struct sma_buf *result)
{
    sma_buf_put_text(result, "{\"success\":true,\"path\":\"");
    file_tools_put_path(tools, result, (struct sma_str){path.ptr, file_tools_fit(path, 1000)});
    sma_buf_printf(result, "\",\"type\":\"%s\",\"bytes\":%lld", sma_media_mime(media->type),
                   (long long)stat->st_size);
    if (media->width > 0)
        sma_buf_printf(result, ",\"width\":%u,\"height\":%u", media->width, media->height);
    if (media->page_count > 0)
        sma_buf_printf(result, ",\"pages\":%u", media->page_count);
    sma_buf_put_text(result, ",\"note\":\"The file itself comes with this result.\"}");
}

/* *ret_is_seen: it is a picture or a PDF, and the result says so. Else nothing was done. */
static enum sma_err see(const struct sma_file_tools *tools, struct sma_str path,
                        struct sma_file_seen *seen, struct sma_buf *result, struct sma_buf *why,
                        bool *ret_is_seen)
{
    struct stat stat;
    int fd = -1;
    SMA_TRY(sma_guard_open(tools->guard, path, SMA_GUARD_READ, &fd, &stat, why));
    struct sma_media_source source = sma_media_of_fd(&fd, (uint64_t)stat.st_size);
    struct sma_media media = sma_media_look(&source);
    close(fd);
    if (!sma_media_is_picture(media.type) && media.type != SMA_MEDIA_PDF)
        return SMA_ERR_OK;
    seen->kind = media.part_kind;
    seen->mime = sma_media_mime(media.type);
    sma_buf_clear(&seen->path);
    sma_buf_put_str(&seen->path, path);
    if (seen->path.err != SMA_ERR_OK)
        return SMA_ERR_NOMEM;
    put_seen_result(tools, &media, &stat, path, result);
    *ret_is_seen = true;
    return SMA_ERR_OK;
}

/* -- read_file --------------------------------------------------------------------------------- */
enum sma_err file_tools_read(const struct sma_file_tools *tools, const struct sma_tool_args *args,
                             struct sma_file_seen *seen, struct sma_buf *result,
                             struct sma_buf *why)
{
    bool is_seen = false;
    struct sma_buf path;
    char *bytes = NULL;
    size_t len = 0;
    sma_buf_init(&path, SMA_GUARD_PATH_BYTES_MAX + 1);
    enum sma_err err = file_tools_clean_read(tools, args->path, &path, why);
    if (err == SMA_ERR_OK && seen != NULL)
        err = see(tools, sma_buf_str(&path), seen, result, why, &is_seen);
    if (err != SMA_ERR_OK || is_seen) {
        sma_buf_fini(&path);
        return err;
    }
    err = sma_guard_read(tools->guard, sma_buf_str(&path), SMA_GUARD_READ, SMA_FILE_READ_BYTES_MAX,
                         &bytes, &len, why);
    if (err == SMA_ERR_OK && memchr(bytes, '\0', len) != NULL) {
        sma_buf_printf(why, "%.300s is a binary file of %zu bytes: it is not shown as text.",
                       path.ptr, len);
        err = SMA_ERR_BADINPUT;
    }
    if (err == SMA_ERR_OK)
        err = file_tools_redact(tools, &bytes, &len);
    struct sma_str text = {bytes, len};
    if (err == SMA_ERR_OK && args->offset > 1 && args->offset > count_lines(text)) {
        sma_buf_printf(why, "%.300s has %zu lines: expected an \"offset\" up to that.", path.ptr,
                       count_lines(text));
        err = SMA_ERR_BADINPUT;
    }
    if (err == SMA_ERR_OK)
        put_text_result(tools, result, args, sma_buf_str(&path), text);
    free(bytes);
    sma_buf_fini(&path);
    return err;
}

/* -- read_more --------------------------------------------------------------------------------- */
/* The file of a handle: a log's path as exec_shell names it, or its last part. */
static bool put_handle_path(struct sma_buf *path, struct sma_str handle)
{
    static const char folder[] = ".ship/logs/exec/";
    struct sma_str name = handle;
    if (sma_str_starts_with(handle, sma_str(folder)))
        name = (struct sma_str){handle.ptr + sizeof folder - 1, handle.len - sizeof folder + 1};
    if (name.len == 0 || name.ptr[0] == '.')
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char byte = name.ptr[i];
        bool is_digit = byte >= '0' && byte <= '9';
        bool is_letter = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
        if (!is_digit && !is_letter && byte != '.' && byte != '-' && byte != '_')
            return false;
    }
    sma_buf_put_text(path, folder);
    sma_buf_put_str(path, name);
    return true;
}

static enum sma_err read_piece(int fd, uint64_t offset, char *bytes, size_t size, size_t *ret_len)
{
    size_t len = 0;
    while (len < size) {
        ssize_t got = pread(fd, bytes + len, size - len, (off_t)(offset + len));
        if (got < 0)
            return SMA_ERR_IO;
        if (got == 0)
            break;
        len += (size_t)got;
    }
    *ret_len = len;
    return SMA_ERR_OK;
}

static void put_piece(const struct sma_file_tools *tools, struct sma_buf *result,
                      const struct sma_tool_args *args, struct sma_str text, uint64_t total)
{
    /* from the beginning of a character to the end of one */
    size_t skip = 0;
    while (args->offset > 0 && skip < text.len && skip < 3 &&
           ((unsigned char)text.ptr[skip] & 0xc0) == 0x80)
        skip++;
    struct sma_str rest = {text.ptr + skip, text.len - skip};
    size_t len = file_tools_fit(rest, FILE_RESULT_TEXT_BYTES_MAX / 2);
    if (len == rest.len && args->offset + text.len < total)
        len = sma_utf8_cut(rest, rest.len - (rest.len > 4 ? 1 : 0));
    struct sma_buf clean;
    sma_buf_init(&clean, len * 2 + 64);
    sma_secrets_put(tools->secrets, &clean, (struct sma_str){rest.ptr, len});
    uint64_t next = args->offset + skip + len;
    sma_buf_put_text(result, "{\"success\":true,\"handle\":");
    sma_buf_put_json_string(result, args->handle);
    sma_buf_put_text(result, ",\"content\":");
    sma_buf_put_json_string(result, sma_buf_str(&clean));
    sma_buf_printf(result, ",\"offset\":%llu,\"totalBytes\":%llu",
                   (unsigned long long)(args->offset + skip), (unsigned long long)total);
    if (next < total)
        sma_buf_printf(result, ",\"nextOffset\":%llu", (unsigned long long)next);
    sma_buf_put_char(result, '}');
    sma_buf_fini(&clean);
}

enum sma_err file_tools_read_more(const struct sma_file_tools *tools,
                                  const struct sma_tool_args *args, struct sma_buf *result,
                                  struct sma_buf *why)
{
    struct sma_buf path;
    struct stat stat = {0};
    int fd = -1;
    sma_buf_init(&path, 256);
    enum sma_err err = SMA_ERR_OK;
    if (!put_handle_path(&path, args->handle)) {
        sma_buf_put_text(why, "Expected \"handle\": the logPath of exec_shell.");
        err = SMA_ERR_BADINPUT;
    }
    if (err == SMA_ERR_OK)
        err = sma_guard_open(tools->guard, sma_buf_str(&path), SMA_GUARD_READ, &fd, &stat, why);
    sma_buf_fini(&path);
    if (err == SMA_ERR_NOTFOUND)
        sma_buf_put_text(why, " The result is not kept any longer, or the handle is wrong.");
    size_t size = args->limit == 0 ? FILE_RESULT_TEXT_BYTES_MAX / 2 : args->limit, len = 0;
    if (size < PIECE_BYTES_MIN)
        size = PIECE_BYTES_MIN;
    char *bytes = err == SMA_ERR_OK ? malloc(size) : NULL;
    if (err == SMA_ERR_OK && bytes == NULL)
        err = SMA_ERR_NOMEM;
    if (err == SMA_ERR_OK)
        err = read_piece(fd, args->offset, bytes, size, &len);
    if (err == SMA_ERR_OK)
        put_piece(tools, result, args, (struct sma_str){bytes, len}, (uint64_t)stat.st_size);
    if (fd >= 0)
        close(fd);
    free(bytes);
    return err;
}
