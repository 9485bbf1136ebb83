/* feishu_attach.c — attachments: a path for each, and what must be fetched. See feishu_event.h. */
#include "feishu_event_priv.h"

#include "runtime/text/attach.h"
#include "sma/text.h"

/* The place of this path among those of the message; attachment_count when it is new. */
static size_t find_path(const struct feishu_reading *reading, struct sma_str path)
{
    size_t i = 0;
    while (i < reading->attachment_count && !sma_str_is_equal(sma_str(reading->paths[i]), path))
        i++;
    return i;
}

static void put_preparation(struct feishu_reading *reading, const char *kind,
                            struct sma_str file_key, struct sma_str path, struct sma_str name)
{
    struct sma_buf *out = &reading->preparation;
    sma_buf_put_text(out, out->len == 0 ? "[{" : ",{");
    sma_buf_put_json_key(out, "kind");
    sma_buf_put_json_string(out, sma_str(kind));
    sma_buf_put_json_key(out, "message_id");
    sma_buf_put_json_string(out, reading->message_id);
    sma_buf_put_json_key(out, "file_key");
    sma_buf_put_json_string(out, file_key);
    sma_buf_put_json_key(out, "path");
    sma_buf_put_json_string(out, path);
    sma_buf_put_json_key(out, "name");
    sma_buf_put_json_string(out, name);
    sma_buf_put_char(out, '}');
}

size_t feishu_attach(struct feishu_reading *reading, const char *kind, struct sma_str file_key,
                     struct sma_str name)
{
    if (!feishu_id_is_good(file_key))
        return 0;
    name.len = sma_utf8_cut(name, SMA_NAME_BYTES_MAX);
    struct sma_buf path;
    sma_buf_init(&path, FEISHU_PATH_BYTES_MAX - 1);
    sma_attach_put_path(&path, FEISHU_CACHE_FOLDER, reading->date_ms, file_key, reading->message_id,
                        name);
    size_t index = SMA_ATTACHMENT_COUNT_MAX;
    if (path.err == SMA_ERR_OK)
        index = find_path(reading, sma_buf_str(&path));
    else
        reading->lines.err = path.err;
    if (index == reading->attachment_count && index < SMA_ATTACHMENT_COUNT_MAX) {
        memcpy(reading->paths[index], path.ptr, path.len + 1);
        sma_attach_put_line(&reading->lines, kind, sma_buf_str(&path), name);
        put_preparation(reading, kind, file_key, sma_buf_str(&path), name);
        reading->attachment_count++;
    }
    sma_buf_fini(&path);
    return index < SMA_ATTACHMENT_COUNT_MAX ? index + 1 : 0;
}

/* -- later ------------------------------------------------------------------------------------- */

static bool read_file(const json_t *item, struct feishu_file *file)
{
    *file = (struct feishu_file){.kind = sma_json_str(item, "kind"),
                                 .message_id = sma_json_str(item, "message_id"),
                                 .file_key = sma_json_str(item, "file_key"),
                                 .path = sma_json_str(item, "path"),
                                 .name = sma_json_str(item, "name")};
    bool is_photo = sma_str_is_equal(file->kind, SMA_STR("photo"));
    file->type = is_photo ? SMA_STR("image") : SMA_STR("file");
    return (is_photo || sma_str_is_equal(file->kind, SMA_STR("document")) ||
            sma_str_is_equal(file->kind, SMA_STR("voice"))) &&
           feishu_id_is_good(file->message_id) && feishu_id_is_good(file->file_key) &&
           sma_attach_is_path(FEISHU_CACHE_FOLDER, file->path);
}

enum sma_err feishu_preparation_parse(struct sma_str preparation,
                                      struct feishu_preparation *ret_preparation)
{
    json_t *root = NULL;
    enum sma_err err = sma_json_load(preparation, &root);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_TOOBIG ? SMA_ERR_BADINPUT : err;
    struct feishu_preparation made = {.json = root, .file_count = json_array_size(root)};
    bool is_good = made.file_count > 0 && made.file_count <= SMA_ATTACHMENT_COUNT_MAX;
    for (size_t i = 0; is_good && i < made.file_count; i++)
        is_good = read_file(json_array_get(root, i), &made.files[i]);
    if (!is_good) {
        json_decref(root);
        return SMA_ERR_BADINPUT;
    }
    *ret_preparation = made;
    return SMA_ERR_OK;
}

void feishu_preparation_fini(struct feishu_preparation *preparation)
{
    json_decref(preparation->json);
    *preparation = (struct feishu_preparation){0};
}

void feishu_put_prepare_note(struct sma_buf *buf, const struct feishu_file *file, const char *why)
{
    sma_attach_put_missing(buf, file->name, file->path, why);
}
