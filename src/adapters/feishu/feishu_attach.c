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
    bool is_video = strcmp(kind, FEISHU_VIDEO) == 0;
    sma_buf_put_text(out, out->len == 0 ? "[{" : ",{");
    sma_buf_put_json_key(out, "kind");
    sma_buf_put_json_string(out, sma_str(is_video ? "document" : kind));
    sma_buf_put_json_key(out, "message_id");
    sma_buf_put_json_string(out, reading->message_id);
    sma_buf_put_json_key(out, "file_key");
    sma_buf_put_json_string(out, file_key);
    sma_buf_put_json_key(out, "path");
    sma_buf_put_json_string(out, path);
    sma_buf_put_json_key(out, "name");
    sma_buf_put_json_string(out, name);
    if (is_video) /* a document that no model is shown */
        sma_buf_put_text(out, ",\"mime\":\"video/mp4\"");
    sma_buf_put_char(out, '}');
}

void feishu_look(struct feishu_reading *reading, const char *kind, struct sma_str id, bool is_first)
{
    struct sma_buf *out = &reading->preparation;
    bool is_name = strcmp(kind, FEISHU_LOOK_NAME) == 0;
    sma_buf_put_text(out, out->len == 0 ? "[{" : ",{");
    sma_buf_put_json_key(out, "kind");
    sma_buf_put_json_string(out, sma_str(kind));
    sma_buf_put_json_key(out, is_name ? "user_id" : "message_id");
    sma_buf_put_json_string(out, id);
    if (is_first)
        sma_buf_put_text(out, ",\"is_first\":true");
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
    const struct sma_home *home = reading->options->home;
    sma_attach_put_path(&path, home == NULL ? FEISHU_CACHE_FOLDER : home->folder, reading->date_ms,
                        file_key, reading->message_id, name);
    size_t index = SMA_ATTACHMENT_COUNT_MAX;
    if (path.err == SMA_ERR_OK)
        index = find_path(reading, sma_buf_str(&path));
    else
        reading->lines.err = path.err;
    if (index == reading->attachment_count && index < SMA_ATTACHMENT_COUNT_MAX) {
        memcpy(reading->paths[index], path.ptr, path.len + 1);
        sma_attach_put_line(&reading->lines, strcmp(kind, FEISHU_VIDEO) == 0 ? "document" : kind,
                            sma_buf_str(&path), name);
        put_preparation(reading, kind, file_key, sma_buf_str(&path), name);
        reading->attachment_count++;
    }
    sma_buf_fini(&path);
    return index < SMA_ATTACHMENT_COUNT_MAX ? index + 1 : 0;
}

/* -- later ------------------------------------------------------------------------------------- */

static bool is_good_file(const struct sma_file_item *item)
{
    return (sma_str_is_equal(item->kind, SMA_STR("photo")) ||
            sma_str_is_equal(item->kind, SMA_STR("document")) ||
            sma_str_is_equal(item->kind, SMA_STR("voice"))) &&
           feishu_id_is_good(sma_json_str(item->json, "message_id")) &&
           feishu_id_is_good(sma_json_str(item->json, "file_key"));
}

static bool is_lookup(const struct sma_file_item *item)
{
    if (sma_str_is_equal(item->kind, SMA_STR(FEISHU_LOOK_NAME)))
        return feishu_id_is_good(sma_json_str(item->json, "user_id"));
    return (sma_str_is_equal(item->kind, SMA_STR(FEISHU_LOOK_QUOTE)) ||
            sma_str_is_equal(item->kind, SMA_STR(FEISHU_LOOK_FORWARD))) &&
           feishu_id_is_good(sma_json_str(item->json, "message_id"));
}

const struct sma_file_shape feishu_file_shape = {FEISHU_CACHE_FOLDER, is_good_file, is_lookup};
