/* given.c — see given.h. */
#include "given.h"

#include "runtime/files/guard.h"
#include "runtime/media/media.h"
#include "runtime/text/attach.h"
#include "sma/limits.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES 49152 /* of decoded base64 at once */
#define TAG_BYTES 16      /* of the hash in a file's name */
#define FULL_PATH_BYTES_MAX (4096 + SMA_GIVEN_PATH_BYTES_MAX)
#define SHOWN_BYTES_MAX 200 /* of a path in an error */

static const uint8_t hash_key[16] = {'s', 'm', 'a', '-', 'g', 'i', 'v', 'e',
                                     'n', '-', 'f', 'i', 'l', 'e', '0', '1'};

/* -- what it is -------------------------------------------------------------------------------- */
static struct sma_media look_at(int fd)
{
    struct stat status;
    struct sma_media_source source =
        sma_media_of_fd(&fd, fstat(fd, &status) == 0 ? (uint64_t)status.st_size : 0);
    return sma_media_look(&source);
}

static void look(int fd, struct sma_given *given)
{
    struct sma_media media = look_at(fd);
    given->part = (struct sma_part){
        .kind = media.part_kind == SMA_PART_NONE ? SMA_PART_FILE : media.part_kind,
        .mime = sma_str(sma_media_mime(media.type)),
    };
}

bool sma_given_is_shown(int fd)
{
    struct sma_media media = look_at(fd);
    return media.part_kind == SMA_PART_IMAGE || media.part_kind == SMA_PART_AUDIO ||
           media.type == SMA_MEDIA_PDF;
}

static void set_name(struct sma_given *given, struct sma_str name)
{
    struct sma_buf label;
    sma_buf_init(&label, SMA_GIVEN_NAME_BYTES_MAX);
    sma_attach_put_label(&label, name, SMA_GIVEN_NAME_BYTES_MAX);
    snprintf(given->name, sizeof given->name, "%s", label.len == 0 ? "file" : label.ptr);
    sma_buf_fini(&label);
}

struct sma_part sma_given_part(const struct sma_given *given)
{
    struct sma_part part = given->part;
    part.path = sma_str(given->path);
    part.name = sma_str(given->name);
    return part;
}

/* -- a path in the project --------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err check_size(const struct stat *status, struct sma_str path,
                                           struct sma_error *error)
{
    int len = (int)sma_utf8_cut(path, SHOWN_BYTES_MAX);
    if (status->st_size == 0)
        return sma_fail(error, SMA_ERR_BADINPUT, "%.*s is empty", len, path.ptr);
    if ((uint64_t)status->st_size > SMA_ATTACHMENT_BYTES_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "%.*s has %lld bytes, the limit is %d", len,
                        path.ptr, (long long)status->st_size, SMA_ATTACHMENT_BYTES_MAX);
    return SMA_ERR_OK;
}

/* The path is clean and its file open. */
static SMA_CHECKED enum sma_err take_path(struct sma_str clean, int fd, const struct stat *status,
                                          struct sma_given *given, struct sma_error *error)
{
    SMA_TRY(check_size(status, clean, error));
    if (clean.len > SMA_GIVEN_PATH_BYTES_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT, "the path is longer than %d bytes",
                        SMA_GIVEN_PATH_BYTES_MAX);
    look(fd, given);
    memcpy(given->path, clean.ptr, clean.len);
    given->path[clean.len] = '\0';
    const char *slash = strrchr(given->path, '/');
    set_name(given, sma_str(slash == NULL ? given->path : slash + 1));
    given->hash = sma_siphash(hash_key, clean.ptr, clean.len);
    return SMA_ERR_OK;
}

enum sma_err sma_given_path(const char *project_dir, struct sma_str path,
                            struct sma_given *ret_given, struct sma_error *error)
{
    struct sma_guard *guard = NULL;
    struct sma_buf clean, why;
    struct stat status;
    int fd = -1;
    SMA_TRY(sma_guard_create(project_dir, &guard, error));
    sma_buf_init(&clean, SMA_GUARD_PATH_BYTES_MAX + 1);
    sma_buf_init(&why, 4096);
    enum sma_err err = sma_guard_clean(guard, path, &clean, &why);
    if (err == SMA_ERR_OK && clean.len == 0)
        err = SMA_ERR_BADINPUT;
    if (err == SMA_ERR_OK)
        err = sma_guard_open(guard, sma_buf_str(&clean), SMA_GUARD_READ, &fd, &status, &why);
    if (err == SMA_ERR_OK)
        err = take_path(sma_buf_str(&clean), fd, &status, ret_given, error);
    else
        (void)sma_fail(error, err, "%.*s",
                       (int)sma_utf8_cut(sma_buf_str(&why), sizeof error->text - 1),
                       why.len == 0 ? "a path is missing" : why.ptr);
    if (fd >= 0)
        close(fd);
    sma_buf_fini(&clean);
    sma_buf_fini(&why);
    sma_guard_destroy(guard);
    return err;
}

/* -- bytes ------------------------------------------------------------------------------------- */
struct sma_given_sink
{
    const struct sma_given_place *place;
    EVP_MD_CTX *hash;
    int fd, error_number; /* of the first write that failed */
    uint64_t bytes;
    bool is_too_big;
    char path[FULL_PATH_BYTES_MAX]; /* where it grows */
};

/* Whoever runs the service reads it, also when root at a terminal made it. */
static void give_to_owner(const struct sma_given_place *place, const char *path)
{
    struct stat project;
    if (geteuid() == 0 && stat(place->project_dir, &project) == 0 && project.st_uid != 0)
        (void)!chown(path, project.st_uid, project.st_gid); /* it stays root's */
}

/* Each level of the folder for its owner only. */
static bool make_folder(const struct sma_given_place *place)
{
    char path[FULL_PATH_BYTES_MAX];
    for (const char *at = place->folder; (at = strchr(at, '/')) != NULL; at++) {
        int len = snprintf(path, sizeof path, "%s/%.*s", place->project_dir,
                           (int)(at - place->folder), place->folder);
        if (len >= (int)sizeof path)
            return false;
        if (place->sys->mkdir(place->sys->self, path, 0700) == 0)
            give_to_owner(place, path);
        else if (errno != EEXIST)
            return false;
    }
    return true;
}

static bool open_file(struct sma_given_sink *sink)
{
    const struct sma_given_place *place = sink->place;
    uint64_t number;
    place->sys->random_bytes(place->sys->self, &number, sizeof number);
    int len = snprintf(sink->path, sizeof sink->path, "%s/%s.given-%016llx", place->project_dir,
                       place->folder, (unsigned long long)number);
    if (len >= (int)sizeof sink->path || !make_folder(place))
        return false;
    sink->fd = place->sys->open(place->sys->self, sink->path,
                                O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (sink->fd >= 0)
        give_to_owner(place, sink->path);
    return sink->fd >= 0;
}

struct sma_given_sink *sma_given_open(const struct sma_given_place *place, struct sma_error *error)
{
    struct sma_given_sink *sink = calloc(1, sizeof *sink);
    if (sink != NULL) {
        sink->place = place;
        sink->fd = -1;
        sink->hash = EVP_MD_CTX_new();
    }
    if (sink == NULL || sink->hash == NULL ||
        EVP_DigestInit_ex(sink->hash, EVP_sha256(), NULL) != 1) {
        (void)sma_fail(error, SMA_ERR_NOMEM, "out of memory");
        sma_given_drop(sink);
        return NULL;
    }
    errno = 0;
    if (open_file(sink))
        return sink;
    (void)sma_fail(error, errno == ENOSPC ? SMA_ERR_NOSPACE : SMA_ERR_IO,
                   "a file cannot be kept in %s: %s", place->folder, strerror(errno));
    sma_given_drop(sink);
    return NULL;
}

void sma_given_put(struct sma_given_sink *sink, const void *bytes, size_t len)
{
    const struct sma_sys *sys = sink->place->sys;
    sink->is_too_big |= sink->bytes + len > SMA_ATTACHMENT_BYTES_MAX;
    if (sink->is_too_big || sink->error_number != 0)
        return;
    (void)EVP_DigestUpdate(sink->hash, bytes, len); /* fails for no digest that was begun */
    for (size_t at = 0; at < len;) {
        ssize_t done = sys->pwrite(sys->self, sink->fd, (const char *)bytes + at, len - at,
                                   (off_t)(sink->bytes + at));
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            sink->error_number = done == 0 ? EIO : errno;
            return;
        }
        at += (size_t)done;
    }
    sink->bytes += len;
}

static SMA_CHECKED enum sma_err check_sink(const struct sma_given_sink *sink,
                                           struct sma_error *error)
{
    if (sink->is_too_big)
        return sma_fail(error, SMA_ERR_TOOBIG, "the file is over the limit of %d bytes",
                        SMA_ATTACHMENT_BYTES_MAX);
    if (sink->error_number != 0)
        return sma_fail(error, sink->error_number == ENOSPC ? SMA_ERR_NOSPACE : SMA_ERR_IO,
                        "the file cannot be kept: %s", strerror(sink->error_number));
    if (sink->bytes == 0)
        return sma_fail(error, SMA_ERR_BADINPUT, "the file is empty");
    return SMA_ERR_OK;
}

/* <folder><16 digits of its hash>-<name> */
static SMA_CHECKED enum sma_err set_path(const struct sma_given_sink *sink, struct sma_str name,
                                         struct sma_given *given, struct sma_error *error)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (EVP_DigestFinal_ex(sink->hash, digest, NULL) != 1)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    struct sma_buf path;
    sma_buf_init(&path, SMA_GIVEN_PATH_BYTES_MAX);
    sma_buf_put_text(&path, sink->place->folder);
    for (size_t i = 0; i < TAG_BYTES / 2; i++)
        sma_buf_printf(&path, "%02x", digest[i]);
    sma_buf_put_char(&path, '-');
    sma_attach_put_name(&path, name);
    enum sma_err err = path.err;
    if (err == SMA_ERR_OK)
        memcpy(given->path, path.ptr, path.len + 1);
    sma_buf_fini(&path);
    memcpy(&given->hash, digest + TAG_BYTES, sizeof given->hash);
    return err == SMA_ERR_OK ? err : sma_fail(error, err, "the path of the file is too long");
}

enum sma_err sma_given_finish(struct sma_given_sink *sink, struct sma_str name,
                              struct sma_given *ret_given, struct sma_error *error)
{
    const struct sma_sys *sys = sink->place->sys;
    char to[FULL_PATH_BYTES_MAX];
    enum sma_err err = check_sink(sink, error);
    if (err == SMA_ERR_OK) {
        look(sink->fd, ret_given);
        set_name(ret_given, name);
        err = set_path(sink, sma_str(ret_given->name), ret_given, error);
    }
    if (err == SMA_ERR_OK) {
        snprintf(to, sizeof to, "%s/%s", sink->place->project_dir, ret_given->path);
        if (sys->rename(sys->self, sink->path, to) == 0)
            sink->path[0] = '\0';
        else
            err = sma_fail(error, errno == ENOSPC ? SMA_ERR_NOSPACE : SMA_ERR_IO,
                           "the file cannot be kept: %s", strerror(errno));
    }
    sma_given_drop(sink);
    return err;
}

void sma_given_drop(struct sma_given_sink *sink)
{
    if (sink == NULL)
        return;
    if (sink->fd >= 0)
        (void)sink->place->sys->close(sink->place->sys->self, sink->fd);
    if (sink->fd >= 0 && sink->path[0] != '\0')
        (void)sink->place->sys->unlink(sink->place->sys->self, sink->path); /* a name of its own */
    EVP_MD_CTX_free(sink->hash);
    free(sink);
}

/* -- base64 ------------------------------------------------------------------------------------ */
enum
{
    LETTER_NONE = -3,
    LETTER_PADDING = -2,
    LETTER_SPACE = -1,
};

/* Value of each byte, or what it is. */
static void fill_values(int8_t values[256])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    memset(values, LETTER_NONE, 256);
    for (int i = 0; i < 64; i++)
        values[(unsigned char)letters[i]] = (int8_t)i;
    values[' '] = values['\n'] = values['\r'] = values['\t'] = LETTER_SPACE;
    values['='] = LETTER_PADDING;
}

/* Letters and padding at the end: 4 together, or padding left out; no bits left over. */
static bool ends_well(uint32_t bits, unsigned letter_count, unsigned padding_count)
{
    unsigned rest = letter_count % 4;
    if (rest == 1 || (padding_count > 0 && (rest == 0 || rest + padding_count != 4)))
        return false;
    return rest == 0 || (bits & (rest == 2 ? 0xfu : 0x3u)) == 0;
}

bool sma_given_put_base64(struct sma_given_sink *sink, struct sma_str base64)
{
    unsigned char piece[PIECE_BYTES];
    int8_t values[256];
    size_t len = 0;
    uint32_t bits = 0;
    unsigned letter_count = 0, padding_count = 0; /* letters modulo 4 is all that counts */
    fill_values(values);
    for (size_t i = 0; i < base64.len; i++) {
        int value = values[(unsigned char)base64.ptr[i]];
        if (value == LETTER_SPACE)
            continue;
        if (value == LETTER_NONE || (value >= 0 && padding_count > 0))
            return false;
        if (value == LETTER_PADDING) {
            padding_count++;
            continue;
        }
        bits = bits << 6 | (uint32_t)value;
        if (++letter_count % 4 != 1) /* the first of four has no whole byte yet */
            piece[len++] = (unsigned char)(bits >> (6 - 2 * ((letter_count - 1) % 4)));
        if (len == sizeof piece) {
            sma_given_put(sink, piece, len);
            len = 0;
        }
    }
    if (len > 0)
        sma_given_put(sink, piece, len);
    return ends_well(bits, letter_count, padding_count);
}

/* -- the text ---------------------------------------------------------------------------------- */
void sma_given_put_text(struct sma_buf *buf, const struct sma_given *items, uint32_t count,
                        struct sma_str words)
{
    static const char *const kinds[] = {"document", "photo", "document", "audio"};
    size_t start = buf->len;
    for (uint32_t i = 0; i < count; i++) {
        SMA_ASSERT(items[i].part.kind < SMA_COUNT_OF(kinds));
        sma_attach_put_line(buf, kinds[items[i].part.kind], sma_str(items[i].path),
                            sma_str(items[i].name));
    }
    if (buf->len > start && words.len > 0)
        sma_buf_put_text(buf, "\n\n");
    sma_buf_put_str(buf, words);
}
