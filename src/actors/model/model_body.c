/*
 * model_body.c — a request's body: its text, and between its bytes those of files, read when the
 * network has room for them and never kept.
 *
 * A file is what it was when the run prepared it, or it is not sent: a shorter or longer one would
 * make another request of this one, and so would one that is no base64. A power cut leaves zeros of
 * the right length; a quote in it would end the string that it stands in.
 */
#include "model_priv.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_file(const struct sma_body_file *file)
{
    struct stat info;
    int descriptor = open(file->path.ptr, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0)
        return -1;
    if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) &&
        (uint64_t)info.st_size == file->length)
        return descriptor;
    close(descriptor);
    return -1;
}

void model_body_end(struct model_request *request)
{
    if (request->body.file > 0)
        close(request->body.file);
    request->body.file = 0;
}

bool model_body_begin(struct model_request *request)
{
    const struct sma_model_ask *ask = request->ask;
    model_body_end(request);
    request->body = (struct model_body){.total = ask->body.len};
    for (uint32_t i = 0; i < ask->file_count; i++) {
        int descriptor = open_file(&ask->files[i]);
        request->body.total += ask->files[i].length;
        if (descriptor >= 0) {
            close(descriptor);
            continue;
        }
        request->body.number = i;
        request->body.is_lost = true;
        return false;
    }
    return true;
}

bool model_body_seek(struct model_request *request, uint64_t offset)
{
    if (offset > request->body.total)
        return false;
    request->body.offset = offset;
    return true;
}

static bool is_base64(const char *bytes, size_t len)
{
    bool is = true;
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];
        is &= (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
              c == '+' || c == '/' || c == '=';
    }
    return is;
}

/* Of files[number], from `at` on. */
static size_t read_file(struct model_request *request, uint32_t number, uint64_t at, char *bytes,
                        size_t room)
{
    struct model_body *body = &request->body;
    const struct sma_body_file *file = &request->ask->files[number];
    if (body->file > 0 && body->number != number)
        model_body_end(request);
    body->number = number;
    if (body->file == 0) {
        int descriptor = open_file(file);
        if (descriptor < 0) {
            body->is_lost = true;
            return SIZE_MAX;
        }
        body->file = descriptor;
    }
    uint64_t left = file->length - at;
    ssize_t len = pread(body->file, bytes, left < room ? (size_t)left : room, (off_t)at);
    if (len <= 0 || !is_base64(bytes, (size_t)len)) {
        body->is_lost = true;
        return SIZE_MAX;
    }
    return (size_t)len;
}

/* The piece that holds the offset: text before files[i], or files[i], or the text behind all. */
size_t model_body_read(struct model_request *request, char *bytes, size_t room)
{
    const struct sma_model_ask *ask = request->ask;
    uint64_t at = request->body.offset, text = 0;
    for (uint32_t i = 0; i <= ask->file_count; i++) {
        uint64_t end = i < ask->file_count ? ask->files[i].offset : ask->body.len;
        if (at < end - text) {
            size_t len = (size_t)(end - text - at) < room ? (size_t)(end - text - at) : room;
            memcpy(bytes, ask->body.ptr + text + at, len);
            request->body.offset += len;
            return len;
        }
        at -= end - text;
        text = end;
        if (i == ask->file_count)
            break;
        if (at < ask->files[i].length) {
            size_t len = read_file(request, i, at, bytes, room);
            request->body.offset += len == SIZE_MAX ? 0 : len;
            return len;
        }
        at -= ask->files[i].length;
    }
    return 0;
}

void model_body_show(const struct sma_model_ask *ask, size_t begin, size_t end, struct sma_buf *out)
{
    size_t from = begin;
    for (uint32_t i = 0; i < ask->file_count; i++) {
        size_t at = (size_t)ask->files[i].offset;
        if (at < begin || at > end)
            continue;
        sma_buf_put(out, ask->body.ptr + from, at - from);
        size_t before = at - from < 64 ? at - from : 64;
        bool is_image = memmem(ask->body.ptr + at - before, before, "image", 5) != NULL;
        sma_buf_printf(out, "[%s %llu bytes]", is_image ? "picture" : "file",
                       (unsigned long long)ask->files[i].length);
        from = at;
    }
    sma_buf_put(out, ask->body.ptr + from, end - from);
}
