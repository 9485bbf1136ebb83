/*
 * fake_qq_media.c — files: what people attached, and what the bot uploads, whole or in parts.
 */
#include "fake_qq_priv.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define DIGEST_10M_BYTES 10002432
#define PART_COUNT_MAX 256

enum part_state
{
    PART_WANTED,
    PART_CAME,
    PART_FINISHED,
};

void fake_qq_hex_digest(const char *kind, struct sma_str bytes, char *ret_hex)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (EVP_Digest(bytes.ptr, bytes.len, digest, &len, EVP_get_digestbyname(kind), NULL) != 1)
        abort();
    for (unsigned i = 0; i < len; i++)
        snprintf(ret_hex + 2 * i, 3, "%02x", digest[i]);
}

const struct media *fake_qq_media(const struct fake_qq *fake, const char *info, const char *scope)
{
    for (size_t i = 0; i < fake->media_count; i++) {
        const struct media *media = &fake->media[i];
        if (strcmp(media->info, info) == 0 && strcmp(media->scope, scope) == 0)
            return media->until_ms == 0 || fake_qq_now_ms(fake) < media->until_ms ? media : NULL;
    }
    return NULL;
}

/* -- whole files ------------------------------------------------------------------------------- */
/* `what` is taken over. */
static void give_media(struct rest *rest, char *what)
{
    struct fake_qq *fake = rest->fake;
    fake->media =
        platform_grow(fake->media, fake->media_count, &fake->media_room, sizeof *fake->media);
    struct media *media = &fake->media[fake->media_count++];
    *media = (struct media){
        .what = what,
        .until_ms = fake->media_ttl_s == 0 ? 0 : fake_qq_now_ms(fake) + fake->media_ttl_s * 1000};
    snprintf(media->info, sizeof media->info, "FI+%llu/==", (unsigned long long)++fake->number);
    snprintf(media->scope, sizeof media->scope, "%s", rest->chat->key);
    fake_qq_answer(rest, 200,
                   json_pack("{s:s,s:s,s:I}", "file_uuid", media->info + 3, "file_info",
                             media->info, "ttl", (json_int_t)fake->media_ttl_s));
}

/* "type:name:bytes" */
static char *describe(const struct rest *rest, const char *name, size_t len)
{
    char *what = NULL;
    if (asprintf(&what, "%lld:%s:%zu", (long long)platform_number(rest->body, "file_type", 0),
                 platform_text(rest->body, "file_name", name), len) < 0)
        abort();
    return what;
}

static bool refuse_scope(struct rest *rest)
{
    if (rest->chat != NULL && !rest->chat->is_gone)
        return false;
    fake_qq_refuse(rest, 400, rest->scene == SCENE_C2C ? 40054004 : 40034101, "no such chat");
    return true;
}

static struct upload *find_upload(const struct rest *rest, const char *id)
{
    for (size_t i = 0; i < rest->fake->upload_count; i++)
        if (strcmp(rest->fake->uploads[i].id, id) == 0)
            return &rest->fake->uploads[i];
    return NULL;
}

static bool is_whole(const struct upload *upload)
{
    char hex[2 * EVP_MAX_MD_SIZE + 1];
    for (size_t i = 0; i < upload->part_count; i++)
        if (upload->part_states[i] != PART_FINISHED)
            return false;
    struct sma_str all = {upload->bytes, (size_t)upload->size}, start = all;
    if (start.len > DIGEST_10M_BYTES)
        start.len = DIGEST_10M_BYTES;
    fake_qq_hex_digest("md5", all, hex);
    if (strcmp(hex, upload->md5) != 0)
        return false;
    fake_qq_hex_digest("sha1", all, hex);
    if (strcmp(hex, upload->sha1) != 0)
        return false;
    fake_qq_hex_digest("md5", start, hex);
    return strcmp(hex, upload->md5_10m) == 0;
}

/* The bytes inside: base64, with or without line ends. @return SIZE_MAX: it is none */
static size_t decoded_length(const char *base64)
{
    size_t len = strlen(base64);
    unsigned char *bytes = malloc(len + 4);
    if (bytes == NULL)
        abort();
    int count = len == 0 ? -1 : EVP_DecodeBlock(bytes, (const unsigned char *)base64, (int)len);
    free(bytes);
    if (count < 0)
        return SIZE_MAX;
    return (size_t)count - (base64[len - 1] == '=') - (len > 1 && base64[len - 2] == '=');
}

static void take_upload(struct rest *rest, const char *id)
{
    const struct upload *upload = find_upload(rest, id);
    if (upload == NULL || strcmp(upload->scope, rest->chat->key) != 0)
        fake_qq_refuse(rest, 400, 304082, "no such upload");
    else if (!is_whole(upload))
        fake_qq_refuse(rest, 400, 304083, "the upload is not whole");
    else
        give_media(rest, describe(rest, "", (size_t)upload->size));
}

/* Does a file of this name go as this type? Names without an extension say nothing; type 4 takes
 * all. */
static bool fits_type(int64_t type, const char *name)
{
    static const char *const ends[][6] = {
        {"png", "jpg", "jpeg"}, {"mp4"}, {"silk", "mp3", "wav", "ogg"}};
    const char *slash = strrchr(name, '/'), *dot = strrchr(slash == NULL ? name : slash, '.');
    if (type == 4 || dot == NULL)
        return true;
    for (size_t i = 0; i < SMA_COUNT_OF(ends[0]) && ends[type - 1][i] != NULL; i++)
        if (strcasecmp(dot + 1, ends[type - 1][i]) == 0)
            return true;
    return false;
}

void fake_qq_do_files(struct rest *rest)
{
    int64_t type = platform_number(rest->body, "file_type", 0);
    const char *url = platform_text(rest->body, "url", ""),
               *data = platform_text(rest->body, "file_data", ""),
               *upload_id = platform_text(rest->body, "upload_id", "");
    if (refuse_scope(rest))
        return;
    if (type < 1 || type > 4)
        fake_qq_refuse(rest, 400, 850019, "file_type is not valid");
    else if (!fits_type(type, platform_text(rest->body, "file_name", url)))
        fake_qq_refuse(rest, 400, 850019, "the file has another format than its type");
    else if (platform_flag(rest->body, "srv_send_msg", false))
        fake_qq_refuse(rest, 400, 40034105, "no active messages");
    else if (upload_id[0] != '\0')
        take_upload(rest, upload_id);
    else if (data[0] != '\0') {
        size_t len = decoded_length(data);
        if (len == SIZE_MAX)
            fake_qq_refuse(rest, 400, 850019, "file_data is no base64");
        else if (len > (size_t)rest->fake->file_bytes_max)
            fake_qq_refuse(rest, 400, 850031, "the file is too large");
        else
            give_media(rest, describe(rest, "", len));
    } else if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        fake_qq_refuse(rest, 400, 850019, "no url, no data");
    else if (strstr(url, "unreachable") != NULL)
        fake_qq_refuse(rest, 400, 850026, "the file cannot be downloaded");
    else
        give_media(rest, describe(rest, url, 0));
}

/* -- in parts ---------------------------------------------------------------------------------- */
static bool take_hex(const struct rest *rest, const char *member, char *ret, size_t size)
{
    const char *hex = platform_text(rest->body, member, "");
    snprintf(ret, size, "%s", hex);
    return strlen(hex) == size - 1 && strspn(hex, "0123456789abcdef") == size - 1;
}

static void answer_prepare(struct rest *rest, const struct upload *upload)
{
    char block[32], url[160];
    snprintf(block, sizeof block, "%llu", (unsigned long long)upload->block_size);
    json_t *parts = json_array();
    for (size_t i = 0; i < upload->part_count; i++) {
        char size[32];
        uint64_t left = upload->size - i * upload->block_size;
        snprintf(url, sizeof url, "%s/upload/%s/%zu?sign=abc",
                 ws_server_http_url(rest->fake->server), upload->id, i);
        snprintf(size, sizeof size, "%llu",
                 (unsigned long long)(left < upload->block_size ? left : upload->block_size));
        json_array_append_new(parts, json_pack("{s:I,s:s,s:s}", "index", (json_int_t)i,
                                               "presigned_url", url, "block_size", size));
    }
    fake_qq_answer(rest, 200,
                   json_pack("{s:s,s:s,s:o,s:{s:i,s:i,s:i}}", "upload_id", upload->id, "block_size",
                             block, "parts", parts, "upload_config", "concurrency", 1,
                             "retry_timeout", 300, "retry_delay", 1));
}

void fake_qq_do_upload_prepare(struct rest *rest)
{
    struct fake_qq *fake = rest->fake;
    struct upload upload = {.block_size = (uint64_t)fake->block_size,
                            .file_type = platform_number(rest->body, "file_type", 0)};
    char *end = NULL;
    const char *size = platform_text(rest->body, "file_size", ""); /* text, never a number */
    upload.size = strtoull(size, &end, 10);
    if (refuse_scope(rest))
        return;
    if (size[0] == '\0' || *end != '\0' || upload.size == 0 || upload.file_type < 1 ||
        upload.file_type > 4 || platform_text(rest->body, "file_name", "")[0] == '\0' ||
        !take_hex(rest, "md5", upload.md5, sizeof upload.md5) ||
        !take_hex(rest, "sha1", upload.sha1, sizeof upload.sha1) ||
        !take_hex(rest, "md5_10m", upload.md5_10m, sizeof upload.md5_10m)) {
        fake_qq_refuse(rest, 400, 12002, "body is not valid");
        return;
    }
    upload.part_count = (size_t)((upload.size + upload.block_size - 1) / upload.block_size);
    if (upload.size > (uint64_t)fake->file_bytes_max || upload.part_count > PART_COUNT_MAX) {
        fake_qq_refuse(rest, 400, 850031, "the file is too large");
        return;
    }
    upload.bytes = calloc(1, (size_t)upload.size);
    upload.part_states = calloc(upload.part_count, 1);
    if (upload.bytes == NULL || upload.part_states == NULL)
        abort();
    snprintf(upload.id, sizeof upload.id, "up-%llu", (unsigned long long)++fake->number);
    snprintf(upload.scope, sizeof upload.scope, "%s", rest->chat->key);
    fake->uploads =
        platform_grow(fake->uploads, fake->upload_count, &fake->upload_room, sizeof *fake->uploads);
    fake->uploads[fake->upload_count++] = upload;
    answer_prepare(rest, &fake->uploads[fake->upload_count - 1]);
}

static size_t part_size(const struct upload *upload, size_t index)
{
    uint64_t left = upload->size - index * upload->block_size;
    return (size_t)(left < upload->block_size ? left : upload->block_size);
}

void fake_qq_do_upload_put(struct rest *rest)
{
    struct upload *upload = find_upload(rest, rest->parts[1]);
    size_t index = strtoul(rest->parts[2], NULL, 10);
    bool is_signed = sma_str_is_equal(rest->request->query, SMA_STR("sign=abc"));
    bool is_good = upload != NULL && is_signed && index < upload->part_count &&
                   ws_server_header(rest->request, "Authorization").len == 0 &&
                   rest->request->body.len == part_size(upload, index);
    if (is_good) {
        memcpy(upload->bytes + index * upload->block_size, rest->request->body.ptr,
               rest->request->body.len);
        upload->part_states[index] = PART_CAME;
    }
    platform_respond(&rest->call, is_good ? 200 : 403, "Content-Type: application/xml\r\n",
                     is_good ? SMA_STR("") : SMA_STR("<Error>AccessDenied</Error>"));
}

void fake_qq_do_upload_finish(struct rest *rest)
{
    char hex[33];
    struct upload *upload = find_upload(rest, platform_text(rest->body, "upload_id", ""));
    size_t index = (size_t)platform_number(rest->body, "part_index", -1);
    bool is_good =
        upload != NULL && index < upload->part_count && upload->part_states[index] != PART_WANTED;
    if (is_good) {
        size_t len = part_size(upload, index);
        fake_qq_hex_digest("md5", (struct sma_str){upload->bytes + index * upload->block_size, len},
                           hex);
        char *end = NULL;
        const char *size = platform_text(rest->body, "block_size", "");
        is_good = strcmp(hex, platform_text(rest->body, "md5", "")) == 0 &&
                  (strtoull(size, &end, 10) == len ||
                   platform_number(rest->body, "block_size", 0) == (int64_t)len);
    }
    if (!is_good) {
        fake_qq_refuse(rest, 400, 304083, "the part is not as told");
        return;
    }
    upload->part_states[index] = PART_FINISHED;
    fake_qq_answer(rest, 200, json_object());
}

/* -- what people attached ---------------------------------------------------------------------- */
void fake_qq_do_download(struct rest *rest)
{
    const struct fake_qq *fake = rest->fake;
    for (size_t i = 0; i < fake->file_count; i++)
        if (strcmp(fake->files[i].id, rest->parts[1]) == 0 &&
            fake_qq_now_ms(fake) - fake->files[i].given_ms < QQ_LINK_MS) {
            platform_respond(&rest->call, 200, "Content-Type: application/octet-stream\r\n",
                             (struct sma_str){fake->files[i].bytes, fake->files[i].len});
            return;
        }
    platform_respond(&rest->call, 404, "Content-Type: text/plain\r\n", SMA_STR("expired"));
}
