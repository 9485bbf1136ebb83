/* file_list.c — see file_list.h. */
#include "file_list.h"

#include "runtime/json/json_read.h"
#include "runtime/text/attach.h"
#include "sma/messages.h"
#include "sma/text.h"

#define MIME_BYTES_MAX 127

static bool read_item(const json_t *json, const struct sma_file_shape *shape,
                      struct sma_file_item *item)
{
    *item = (struct sma_file_item){
        .kind = sma_json_str(json, "kind"),
        .path = sma_json_str(json, "path"),
        .name = sma_json_str(json, "name"),
        .mime = sma_json_str(json, "mime"),
        .size = sma_json_int(json, "size", 1, INT64_MAX, -1),
        .json = json,
    };
    item->is_lookup = item->path.len == 0 && shape->is_lookup != NULL;
    if (item->is_lookup)
        return item->kind.len > 0 && shape->is_lookup(item);
    return item->kind.len > 0 && sma_attach_is_path(shape->folder, item->path) &&
           shape->is_good(item);
}

bool sma_file_list_add(struct sma_file_list *list, const struct sma_file_shape *shape, json_t *json)
{
    struct sma_file_item item;
    if (list->count == SMA_ATTACHMENT_COUNT_MAX || !read_item(json, shape, &item) ||
        json_array_append(list->root, json) != 0)
        return false;
    list->items[list->count++] = item;
    return true;
}

enum sma_err sma_file_list_parse(struct sma_str text, const struct sma_file_shape *shape,
                                 struct sma_file_list *ret_list)
{
    struct sma_file_list list = {0};
    enum sma_err err = sma_json_load(text, &list.root);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_TOOBIG ? SMA_ERR_BADINPUT : err;
    list.count = json_array_size(list.root); /* 0 for what is no array */
    bool is_good = list.count > 0 && list.count <= SMA_ATTACHMENT_COUNT_MAX;
    for (size_t i = 0; is_good && i < list.count; i++)
        is_good = read_item(json_array_get(list.root, i), shape, &list.items[i]);
    if (!is_good) {
        sma_file_list_fini(&list);
        return SMA_ERR_BADINPUT;
    }
    *ret_list = list;
    return SMA_ERR_OK;
}

/* type/subtype in the letters of RFC 6838, without parameters; anything else says nothing. */
static struct sma_str clean_mime(struct sma_str mime)
{
    size_t len = 0, slash_count = 0;
    for (; len < mime.len && mime.ptr[len] != ';' && mime.ptr[len] != ' '; len++) {
        unsigned char byte = (unsigned char)mime.ptr[len];
        bool is_letter = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
                         (byte >= 'A' && byte <= 'Z') || memchr("!#$&-^_.+", byte, 9) != NULL;
        slash_count += byte == '/';
        if (!is_letter && byte != '/')
            return SMA_STR("");
    }
    bool is_good =
        slash_count == 1 && len <= MIME_BYTES_MAX && mime.ptr[0] != '/' && mime.ptr[len - 1] != '/';
    return is_good ? (struct sma_str){mime.ptr, len} : SMA_STR("");
}

static bool has_type(struct sma_str mime, struct sma_str head)
{
    return mime.len > head.len &&
           sma_str_is_equal_nocase((struct sma_str){mime.ptr, head.len}, head);
}

static uint8_t part_kind(struct sma_str kind, struct sma_str mime)
{
    if (sma_str_is_equal(kind, SMA_STR("photo")))
        return SMA_PART_IMAGE;
    if (sma_str_is_equal(kind, SMA_STR("voice")) || sma_str_is_equal(kind, SMA_STR("audio")))
        return SMA_PART_AUDIO;
    return has_type(mime, SMA_STR("image/"))   ? SMA_PART_IMAGE
           : has_type(mime, SMA_STR("audio/")) ? SMA_PART_AUDIO
           : has_type(mime, SMA_STR("video/")) ? SMA_PART_NONE
                                               : SMA_PART_FILE;
}

bool sma_file_item_part(const struct sma_file_item *item, struct sma_part *ret_part)
{
    struct sma_str mime = clean_mime(item->mime);
    uint8_t kind = part_kind(item->kind, mime);
    if (item->is_lookup || kind == SMA_PART_NONE)
        return false;
    *ret_part =
        (struct sma_part){.kind = kind, .path = item->path, .name = item->name, .mime = mime};
    return true;
}

void sma_file_list_fini(struct sma_file_list *list)
{
    json_decref(list->root);
    *list = (struct sma_file_list){0};
}
