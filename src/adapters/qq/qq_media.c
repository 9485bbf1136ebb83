/* qq_media.c — files on their way out. See qq_out.h; Source: protocols/qq.md §6.3. */
#include "qq_out.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <openssl/evp.h>

#define MIB ((uint64_t)1024 * 1024)
#define NAME_BYTES_MAX 200
#define PUT_URL_BYTES_MAX 8192

enum file_type
{
    FILE_IMAGE = 1,
    FILE_VIDEO = 2,
    FILE_VOICE = 3,
    FILE_OTHER = 4,
};

static bool is_url(struct sma_str target)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < SMA_COUNT_OF(schemes); i++) {
        struct sma_str scheme = sma_str(schemes[i]);
        if (target.len > scheme.len &&
            sma_str_is_equal_nocase((struct sma_str){target.ptr, scheme.len}, scheme))
            return true;
    }
    return false;
}

static struct sma_str name_of(struct sma_str target, bool has_query)
{
    for (size_t i = 0; has_query && i < target.len; i++)
        if (target.ptr[i] == '?' || target.ptr[i] == '#')
            target.len = i;
    for (size_t i = target.len; i-- > 0;) {
        if (target.ptr[i] == '/') {
            target = (struct sma_str){target.ptr + i + 1, target.len - i - 1};
            break;
        }
    }
    target.len = sma_utf8_cut(target, NAME_BYTES_MAX);
    return target.len > 0 ? target : SMA_STR("file");
}

/* What the extension says; 0 = nothing that has a type of its own. */
static int type_of_name(struct sma_str name)
{
    static const struct
    {
        const char *end;
        int type;
    } ends[] = {{".png", FILE_IMAGE}, {".jpg", FILE_IMAGE},  {".jpeg", FILE_IMAGE},
                {".mp4", FILE_VIDEO}, {".silk", FILE_VOICE}, {".mp3", FILE_VOICE},
                {".wav", FILE_VOICE}, {".ogg", FILE_VOICE}};
    for (size_t i = 0; i < SMA_COUNT_OF(ends); i++) {
        struct sma_str end = sma_str(ends[i].end);
        if (name.len > end.len &&
            sma_str_is_equal_nocase((struct sma_str){name.ptr + name.len - end.len, end.len}, end))
            return ends[i].type;
    }
    return 0;
}

struct qq_media qq_media_of(const struct qq_part *part)
{
    static const uint64_t limits[] = {0, 20 * MIB, 30 * MIB, 20 * MIB, 200 * MIB};
    struct qq_media media = {.is_url = is_url(part->target)};
    media.name = name_of(part->target, media.is_url);
    bool has_extension = memchr(media.name.ptr, '.', media.name.len) != NULL;
    bool is_photo = sma_str_is_equal(part->file_kind, SMA_STR("photo"));
    bool is_document = sma_str_is_equal(part->file_kind, SMA_STR("document"));
    int type = type_of_name(media.name);
    if (is_photo && !has_extension)
        type = FILE_IMAGE;                                /* an address whose name says nothing */
    if (type == 0 || (is_document && type != FILE_VIDEO)) /* a document is to arrive as it is */
        type = FILE_OTHER;
    media.file_type = type;
    media.bytes_max = limits[type];
    return media;
}

/* -- bodies ------------------------------------------------------------------------------------ */
static void put_head(struct sma_buf *buf, const struct qq_media *media)
{
    sma_buf_printf(buf, "{\"file_type\":%d", media->file_type);
    sma_buf_put_json_key(buf, "file_name");
    sma_buf_put_json_string(buf, media->name);
}

void qq_put_upload_url(struct sma_buf *buf, const struct qq_media *media, struct sma_str url)
{
    put_head(buf, media);
    sma_buf_put_json_member(buf, "url", url);
    sma_buf_put_text(buf, ",\"srv_send_msg\":false}");
}

void qq_put_upload_data(struct sma_buf *buf, const struct qq_media *media, struct sma_str bytes)
{
    put_head(buf, media);
    sma_buf_put_json_key(buf, "file_data");
    sma_buf_put_char(buf, '"');
    size_t encoded_len = (bytes.len + 2) / 3 * 4;
    char *to = bytes.len > QQ_FILE_BYTES_MAX ? NULL : sma_buf_reserve(buf, encoded_len + 1);
    if (to != NULL)
        buf->len += (size_t)EVP_EncodeBlock((unsigned char *)to,
                                            (const unsigned char *)(bytes.len > 0 ? bytes.ptr : ""),
                                            (int)bytes.len);
    else if (buf->err == SMA_ERR_OK)
        buf->err = SMA_ERR_TOOBIG;
    sma_buf_put_text(buf, "\",\"srv_send_msg\":false}");
}

void qq_put_upload_prepare(struct sma_buf *buf, const struct qq_media *media, uint64_t file_size,
                           const struct qq_digests *digests)
{
    put_head(buf, media);
    sma_buf_put_text(buf, ",\"file_size\":\"");
    sma_buf_put_u64(buf, file_size);
    sma_buf_put_char(buf, '"');
    sma_buf_put_json_member(buf, "md5", digests->md5_hex);
    sma_buf_put_json_member(buf, "sha1", digests->sha1_hex);
    sma_buf_put_json_member(buf, "md5_10m", digests->md5_10m_hex);
    sma_buf_put_char(buf, '}');
}

void qq_put_upload_part_finish(struct sma_buf *buf, struct sma_str upload_id,
                               const struct qq_block *block, struct sma_str md5_hex)
{
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_member(buf, "upload_id", upload_id);
    sma_buf_put_json_key(buf, "part_index");
    sma_buf_put_i64(buf, block->index);
    sma_buf_put_text(buf, ",\"block_size\":\"");
    sma_buf_put_u64(buf, block->size);
    sma_buf_put_char(buf, '"');
    sma_buf_put_json_member(buf, "md5", md5_hex);
    sma_buf_put_char(buf, '}');
}

void qq_put_upload_finish(struct sma_buf *buf, const struct qq_media *media,
                          struct sma_str upload_id)
{
    put_head(buf, media);
    sma_buf_put_json_member(buf, "upload_id", upload_id);
    sma_buf_put_text(buf, ",\"srv_send_msg\":false}");
}

/* -- answers ----------------------------------------------------------------------------------- */
static bool read_blocks(const json_t *root, uint64_t file_size, struct qq_upload *upload)
{
    const json_t *parts = sma_json_get(root, "parts");
    int64_t common = sma_json_int(root, "block_size", 1, INT64_MAX, 0), last_index = -1;
    uint64_t from = 0;
    if (json_array_size(parts) == 0 || json_array_size(parts) > QQ_UPLOAD_BLOCK_COUNT_MAX)
        return false;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        struct qq_block *block = &upload->blocks[i];
        int64_t size = sma_json_int(part, "block_size", 1, INT64_MAX, common);
        uint64_t rest = file_size - from;
        *block = (struct qq_block){.index = sma_json_int(part, "index", 0, INT32_MAX, -1),
                                   .from = from,
                                   .size = (uint64_t)size < rest ? (uint64_t)size : rest,
                                   .put_url = sma_json_str(part, "presigned_url")};
        if (size == 0 || rest == 0 || block->index <= last_index || !is_url(block->put_url) ||
            block->put_url.len > PUT_URL_BYTES_MAX)
            return false;
        last_index = block->index;
        from += block->size;
    }
    upload->block_count = json_array_size(parts);
    return from == file_size;
}

enum sma_err qq_upload_parse(struct sma_str body, uint64_t file_size, struct qq_upload *ret_upload)
{
    json_t *root = NULL;
    enum sma_err err = sma_json_load(body, &root);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_TOOBIG ? SMA_ERR_BADINPUT : err;
    struct qq_upload upload = {.json = root, .upload_id = sma_json_str(root, "upload_id")};
    if (upload.upload_id.len == 0 || !read_blocks(root, file_size, &upload)) {
        json_decref(root);
        return SMA_ERR_BADINPUT;
    }
    *ret_upload = upload;
    return SMA_ERR_OK;
}

void qq_upload_fini(struct qq_upload *upload)
{
    json_decref(upload->json);
    *upload = (struct qq_upload){0};
}

enum sma_err qq_file_info_parse(struct sma_str body, char *ret_info)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    enum sma_err err = sma_json_load(body, &root);
    struct sma_str info = sma_json_str(root, "file_info");
    if (err == SMA_ERR_NOMEM)
        return err;
    if (err != SMA_ERR_OK || info.len == 0 || info.len > QQ_FILE_INFO_BYTES_MAX ||
        memchr(info.ptr, '\0', info.len) != NULL)
        return SMA_ERR_BADINPUT;
    memcpy(ret_info, info.ptr, info.len);
    ret_info[info.len] = '\0';
    return SMA_ERR_OK;
}
