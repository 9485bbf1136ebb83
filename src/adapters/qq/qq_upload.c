/*
 * qq_upload.c — a FILE part before its message: the platform fetches a URL itself; a file of the
 * project goes inside the request, and when it is large, or the platform does not want that, in
 * blocks.
 *
 * Files are read, hashed and encoded on a worker thread, a block at a time. Nothing is shown before
 * the message that follows, so every failure here may be tried again.
 */
#include "qq_priv.h"

#include "adapters/common/project_file.h"
#include "sma/text.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#define PATH_BYTES_MAX 2048
#define BODY_BYTES_MAX (QQ_FILE_DATA_BYTES_MAX / 3 * 4 + 65536)
#define BLOCK_BYTES_MAX (64 * 1024 * 1024)
#define READ_BYTES 65536
#define NAME_BYTES_MAX 256
#define MD5_HEX 32
#define SHA1_HEX 40

enum upload_work
{
    WORK_WHOLE,  /* read the file and make the request that holds it */
    WORK_DIGEST, /* the file's checksums */
    WORK_BLOCK,  /* read a block and its checksum */
};
struct upload
{
    uv_work_t work;
    struct qq_attempt *attempt; /* NULL: given up; nothing outside may be touched any more */
    bool is_working;
    enum upload_work kind;
    int fd;
    uint64_t size;
    char name[NAME_BYTES_MAX];
    struct qq_media media;
    struct qq_upload plan; /* of the blocks */
    size_t block;          /* the one under way */
    bool is_in_blocks;
    /* what the worker made */
    struct sma_buf bytes;
    char md5[MD5_HEX + 1], sha1[SHA1_HEX + 1], md5_10m[MD5_HEX + 1];
    bool is_failed;
};

static void free_upload(struct upload *upload)
{
    qq_upload_fini(&upload->plan);
    sma_buf_fini(&upload->bytes);
    if (upload->fd >= 0)
        close(upload->fd);
    free(upload);
}

void qq_upload_cancel(struct qq_attempt *attempt)
{
    struct upload *upload = attempt->upload;
    attempt->upload = NULL;
    if (upload == NULL)
        return;
    upload->attempt = NULL;
    if (!upload->is_working)
        free_upload(upload); /* else the worker's end frees it */
}

static void end(struct qq_attempt *attempt, const struct sma_answered *outcome)
{
    qq_upload_cancel(attempt);
    qq_upload_ended(attempt, outcome);
}

static void end_with(struct qq_attempt *attempt, enum sma_attempt_class attempt_class,
                     const char *error)
{
    struct sma_answered outcome = {.attempt_class = (uint8_t)attempt_class, .act = SMA_ACT_FINAL};
    snprintf(outcome.error, sizeof outcome.error, "%.*s",
             (int)sma_utf8_cut(sma_str(error), sizeof outcome.error - 1), error);
    end(attempt, &outcome);
}

/* -- on the worker thread ---------------------------------------------------------------------- */
static bool read_range(int fd, uint64_t from, uint64_t size, char *bytes)
{
    for (uint64_t at = 0; at < size;) {
        ssize_t got = pread(fd, bytes + at, size - at, (off_t)(from + at));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false; /* it was made shorter meanwhile */
        at += (uint64_t)got;
    }
    return true;
}

static void put_hex(char *hex, const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

static bool finish_digest(EVP_MD_CTX *context, char *hex)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (EVP_DigestFinal_ex(context, bytes, &len) != 1)
        return false;
    put_hex(hex, bytes, len);
    return true;
}

static bool digest_file(const struct upload *upload, EVP_MD_CTX *md5, EVP_MD_CTX *sha1,
                        EVP_MD_CTX *md5_10m)
{
    char bytes[READ_BYTES];
    for (uint64_t at = 0; at < upload->size;) {
        uint64_t left = upload->size - at, size = left < sizeof bytes ? left : sizeof bytes;
        uint64_t head = at < QQ_DIGEST_10M_BYTES ? QQ_DIGEST_10M_BYTES - at : 0;
        if (!read_range(upload->fd, at, size, bytes) || EVP_DigestUpdate(md5, bytes, size) != 1 ||
            EVP_DigestUpdate(sha1, bytes, size) != 1 ||
            EVP_DigestUpdate(md5_10m, bytes, head < size ? head : size) != 1)
            return false;
        at += size;
    }
    return true;
}

static bool make_digests(struct upload *upload)
{
    EVP_MD_CTX *md5 = EVP_MD_CTX_new(), *sha1 = EVP_MD_CTX_new(), *md5_10m = EVP_MD_CTX_new();
    bool is_made = md5 != NULL && sha1 != NULL && md5_10m != NULL &&
                   EVP_DigestInit_ex(md5, EVP_md5(), NULL) == 1 &&
                   EVP_DigestInit_ex(sha1, EVP_sha1(), NULL) == 1 &&
                   EVP_DigestInit_ex(md5_10m, EVP_md5(), NULL) == 1 &&
                   digest_file(upload, md5, sha1, md5_10m) && finish_digest(md5, upload->md5) &&
                   finish_digest(sha1, upload->sha1) && finish_digest(md5_10m, upload->md5_10m);
    EVP_MD_CTX_free(md5);
    EVP_MD_CTX_free(sha1);
    EVP_MD_CTX_free(md5_10m);
    return is_made;
}

static bool read_whole(struct upload *upload)
{
    char *bytes = malloc(upload->size);
    bool is_read = bytes != NULL && read_range(upload->fd, 0, upload->size, bytes);
    sma_buf_init(&upload->bytes, BODY_BYTES_MAX);
    if (is_read)
        qq_put_upload_data(&upload->bytes, &upload->media, (struct sma_str){bytes, upload->size});
    free(bytes);
    return is_read && upload->bytes.err == SMA_ERR_OK;
}

static bool read_block(struct upload *upload)
{
    const struct qq_block *block = &upload->plan.blocks[upload->block];
    unsigned char md5[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    sma_buf_init(&upload->bytes, BLOCK_BYTES_MAX + 1);
    char *bytes = sma_buf_reserve(&upload->bytes, block->size);
    if (bytes == NULL || !read_range(upload->fd, block->from, block->size, bytes) ||
        EVP_Digest(bytes, block->size, md5, &len, EVP_md5(), NULL) != 1)
        return false;
    upload->bytes.len += block->size;
    put_hex(upload->md5, md5, len);
    return true;
}

static void work(uv_work_t *request)
{
    struct upload *upload = request->data;
    upload->is_failed = !(upload->kind == WORK_WHOLE    ? read_whole(upload)
                          : upload->kind == WORK_DIGEST ? make_digests(upload)
                                                        : read_block(upload));
}

/* -- requests ---------------------------------------------------------------------------------- */
static void call(struct qq_attempt *attempt, const char *what, struct sma_buf *body,
                 sma_call_fn *done)
{
    struct sma_buf path;
    sma_buf_init(&path, PATH_BYTES_MAX);
    qq_put_media_path(&path, &attempt->base.asked->route, what);
    if (path.err == SMA_ERR_OK)
        attempt->base.call = sma_call_start(
            attempt->base.platform->calls,
            &(struct sma_call_options){.method = "POST",
                                       .path = sma_buf_str(&path),
                                       .body = body,
                                       .may_repeat = true,
                                       .total_ms = sma_sending_left_ms(&attempt->base),
                                       .done = done,
                                       .user = attempt});
    sma_buf_fini(&path);
    sma_buf_fini(body);
    if (attempt->base.call == NULL)
        end_with(attempt, SMA_ATTEMPT_RETRY, "out of memory while sending a file");
}

/* @return whether the step was carried out; else it has ended. */
static bool is_done(struct qq_attempt *attempt, const struct sma_net_answer *answer)
{
    struct sma_answered outcome;
    sma_verdict(&qq_verdicts, "uploading to QQ", answer, 0, &outcome);
    if (outcome.attempt_class == SMA_ATTEMPT_SENT)
        return true;
    if (outcome.attempt_class == SMA_ATTEMPT_UNKNOWN)
        outcome.attempt_class = SMA_ATTEMPT_RETRY,
        outcome.act = SMA_ACT_RETRY; /* nothing is shown by it */
    end(attempt, &outcome);
    return false;
}

static void start_work(struct qq_attempt *attempt, enum upload_work kind);

static void on_file_info(struct qq_attempt *attempt, const struct sma_net_answer *answer)
{
    char *info = malloc(QQ_FILE_INFO_BYTES_MAX + 1);
    if (info == NULL || qq_file_info_parse(answer->body, info) != SMA_ERR_OK) {
        free(info);
        end_with(attempt, SMA_ATTEMPT_RETRY, "QQ took the file and did not say under which name");
        return;
    }
    attempt->file_info = info;
    end(attempt, NULL);
}

static void on_filed(void *state, void *user, const struct sma_net_answer *answer)
{
    struct qq_attempt *attempt = user;
    struct upload *upload = attempt->upload;
    struct sma_answered outcome;
    (void)state;
    attempt->base.call = NULL;
    sma_verdict(&qq_verdicts, "uploading to QQ", answer, 0, &outcome);
    bool is_refused = outcome.attempt_class == SMA_ATTEMPT_GIVE_UP;
    if (is_refused && upload != NULL && !upload->is_in_blocks) {
        upload->is_in_blocks = true; /* the documented way */
        start_work(attempt, WORK_DIGEST);
        return;
    }
    if (is_done(attempt, answer))
        on_file_info(attempt, answer);
}

/* -- in blocks --------------------------------------------------------------------------------- */
static void on_block_noted(void *state, void *user, const struct sma_net_answer *answer)
{
    struct qq_attempt *attempt = user;
    struct upload *upload = attempt->upload;
    (void)state;
    attempt->base.call = NULL;
    if (!is_done(attempt, answer))
        return;
    if (++upload->block < upload->plan.block_count) {
        start_work(attempt, WORK_BLOCK);
        return;
    }
    struct sma_buf body;
    sma_buf_init(&body, PATH_BYTES_MAX);
    qq_put_upload_finish(&body, &upload->media, upload->plan.upload_id);
    call(attempt, "files", &body, on_filed);
}

static void on_block_put(void *state, void *user, const struct sma_net_answer *answer)
{
    struct qq_attempt *attempt = user;
    struct upload *upload = attempt->upload;
    (void)state;
    attempt->base.call = NULL;
    if (answer->end != SMA_NET_ANSWERED || answer->status < 200 || answer->status >= 300) {
        end_with(attempt, SMA_ATTEMPT_RETRY, "QQ's file store did not take a block of the file");
        return;
    }
    struct sma_buf body;
    sma_buf_init(&body, PATH_BYTES_MAX);
    qq_put_upload_part_finish(&body, upload->plan.upload_id, &upload->plan.blocks[upload->block],
                              sma_str(upload->md5));
    call(attempt, "upload_part_finish", &body, on_block_noted);
}

static void put_block(struct qq_attempt *attempt, struct upload *upload)
{
    attempt->base.call =
        sma_call_start(attempt->base.platform->calls,
                       &(struct sma_call_options){.method = "PUT",
                                                  .url = upload->plan.blocks[upload->block].put_url,
                                                  .body = &upload->bytes,
                                                  .type = "application/octet-stream",
                                                  .may_repeat = true,
                                                  .total_ms = sma_sending_left_ms(&attempt->base),
                                                  .done = on_block_put,
                                                  .user = attempt});
    if (attempt->base.call == NULL)
        end_with(attempt, SMA_ATTEMPT_RETRY, "out of memory while sending a file");
}

static void on_planned(void *state, void *user, const struct sma_net_answer *answer)
{
    struct qq_attempt *attempt = user;
    struct upload *upload = attempt->upload;
    (void)state;
    attempt->base.call = NULL;
    if (!is_done(attempt, answer))
        return;
    bool is_planned = qq_upload_parse(answer->body, upload->size, &upload->plan) == SMA_ERR_OK;
    for (size_t i = 0; is_planned && i < upload->plan.block_count; i++)
        is_planned = upload->plan.blocks[i].size <= BLOCK_BYTES_MAX;
    upload->block = 0;
    if (is_planned)
        start_work(attempt, WORK_BLOCK);
    else
        end_with(attempt, SMA_ATTEMPT_RETRY, "QQ's plan for the blocks of the file is unusable");
}

/* -- the worker's end -------------------------------------------------------------------------- */
static void go_on(struct qq_attempt *attempt, struct upload *upload)
{
    struct sma_buf body;
    if (upload->kind == WORK_WHOLE) {
        call(attempt, "files", &upload->bytes, on_filed);
    } else if (upload->kind == WORK_BLOCK) {
        put_block(attempt, upload);
    } else {
        struct qq_digests digests = {sma_str(upload->md5), sma_str(upload->sha1),
                                     sma_str(upload->md5_10m)};
        sma_buf_init(&body, PATH_BYTES_MAX);
        qq_put_upload_prepare(&body, &upload->media, upload->size, &digests);
        call(attempt, "upload_prepare", &body, on_planned);
    }
}

static void on_worked(uv_work_t *request, int status)
{
    struct upload *upload = request->data;
    struct qq_attempt *attempt = upload->attempt;
    upload->is_working = false;
    if (attempt == NULL) {
        free_upload(upload);
        return;
    }
    struct sma_ctx *ctx = attempt->base.platform->ctx;
    if (status != 0 || upload->is_failed)
        end_with(attempt, SMA_ATTEMPT_GIVE_UP, "the file could not be read");
    else
        go_on(attempt, upload);
    sma_ctx_request_batch_end(ctx);
}

static void start_work(struct qq_attempt *attempt, enum upload_work kind)
{
    struct upload *upload = attempt->upload;
    sma_buf_fini(&upload->bytes);
    upload->kind = kind;
    upload->work.data = upload;
    upload->is_working = true;
    if (uv_queue_work(sma_ctx_loop(attempt->base.platform->ctx), &upload->work, work, on_worked) ==
        0)
        return;
    upload->is_working = false;
    end_with(attempt, SMA_ATTEMPT_RETRY, "out of memory while sending a file");
}

/* -- beginning --------------------------------------------------------------------------------- */
static struct upload *make_upload(struct qq_attempt *attempt, int fd)
{
    struct stat status;
    struct upload *upload = fstat(fd, &status) == 0 ? calloc(1, sizeof *upload) : NULL;
    if (upload == NULL)
        return NULL;
    upload->fd = fd;
    upload->attempt = attempt;
    upload->size = (uint64_t)status.st_size;
    upload->media = qq_media_of(&attempt->part);
    /* its own copy: the worker may outlive the question */
    snprintf(upload->name, sizeof upload->name, "%.*s", (int)upload->media.name.len,
             upload->media.name.ptr);
    upload->media.name = sma_str(upload->name);
    if (upload->size > upload->media.bytes_max)
        upload->media.file_type = 4;
    upload->is_in_blocks = upload->size > QQ_FILE_DATA_BYTES_MAX;
    return upload;
}

static void begin_file(struct qq_attempt *attempt)
{
    struct sma_error error = {0};
    int fd = attempt->base.fd >= 0 ? dup(attempt->base.fd) : -1; /* words as a file */
    enum sma_err err = SMA_ERR_OK;
    if (fd < 0)
        err =
            sma_project_file_open(attempt->base.platform->config->project_dir, attempt->part.target,
                                  attempt->base.asked->intent, QQ_FILE_BYTES_MAX, &fd, &error);
    if (err != SMA_ERR_OK) {
        end_with(attempt, err == SMA_ERR_NOMEM ? SMA_ATTEMPT_RETRY : SMA_ATTEMPT_GIVE_UP,
                 error.text);
        return;
    }
    struct upload *upload = make_upload(attempt, fd);
    if (upload == NULL) {
        close(fd);
        end_with(attempt, SMA_ATTEMPT_RETRY, "out of memory while sending a file");
        return;
    }
    attempt->upload = upload;
    start_work(attempt, upload->is_in_blocks ? WORK_DIGEST : WORK_WHOLE);
}

void qq_upload_begin(struct qq_attempt *attempt)
{
    struct qq_media media = qq_media_of(&attempt->part);
    if (!media.is_url) {
        begin_file(attempt);
        return;
    }
    struct sma_buf body;
    sma_buf_init(&body, BODY_BYTES_MAX);
    qq_put_upload_url(&body, &media, attempt->part.target);
    call(attempt, "files", &body, on_filed);
}
