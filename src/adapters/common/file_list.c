/* file_list.c — see file_list.h. */
#include "file_list.h"

#include "runtime/json/json_read.h"
#include "runtime/text/attach.h"

static bool read_item(const json_t *json, const struct sma_file_shape *shape,
                      struct sma_file_item *item)
{
    *item = (struct sma_file_item){
        .kind = sma_json_str(json, "kind"),
        .path = sma_json_str(json, "path"),
        .name = sma_json_str(json, "name"),
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

void sma_file_list_fini(struct sma_file_list *list)
{
    json_decref(list->root);
    *list = (struct sma_file_list){0};
}
