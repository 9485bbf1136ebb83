/*
 * attachments.c — "attachments" of POST /api/execute: [{"path"} | {"data","name","mime"}, ...].
 *
 * The form of all is checked, and paths are looked at, before the first is kept. Bytes go to
 * .ship/.cache/api under their hash (common/given.h): a repeated request finds its files and keeps
 * no second ones, and one that fails half way leaves files that the next one finds.
 */
#include "http_priv.h"

#include "adapters/common/given.h"

#include <jansson.h>
#include <stdlib.h>

#define FOLDER ".ship/.cache/api/"
#define MIME_BYTES_MAX 127

static struct sma_str string_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return (struct sma_str){json_string_value(value), json_string_length(value)};
}

/* Absent, or a string of at most so many bytes. */
static bool is_good(const json_t *object, const char *name, size_t bytes_max)
{
    const json_t *value = json_object_get(object, name);
    return value == NULL || (json_is_string(value) && json_string_length(value) <= bytes_max);
}

static SMA_CHECKED enum sma_err check_names(const json_t *item, bool is_path, size_t index,
                                            struct sma_error *error)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)item, name, value)
    {
        bool is_known = strcmp(name, is_path ? "path" : "data") == 0 ||
                        (!is_path && (strcmp(name, "name") == 0 || strcmp(name, "mime") == 0));
        if (!is_known)
            return sma_fail(error, SMA_ERR_BADINPUT,
                            "attachments[%zu]: member \"%.*s\" is unknown; give \"path\", or "
                            "\"data\", \"name\" and perhaps \"mime\"",
                            index, (int)sma_utf8_cut(sma_str(name), 60), name);
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err check_item(const json_t *item, size_t index,
                                           struct sma_error *error)
{
    bool is_path = json_object_get(item, "path") != NULL;
    if (!json_is_object(item) || is_path == (json_object_get(item, "data") != NULL))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "attachments[%zu]: give {\"path\": \"in the project\"} or {\"data\": "
                        "\"base64\", \"name\": \"photo.jpg\"}",
                        index);
    SMA_TRY(check_names(item, is_path, index, error));
    if (is_path &&
        (!is_good(item, "path", SMA_GIVEN_PATH_BYTES_MAX) || string_of(item, "path").len == 0))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "attachments[%zu]: \"path\" must be a string of 1 to %d bytes", index,
                        SMA_GIVEN_PATH_BYTES_MAX);
    if (is_path)
        return SMA_ERR_OK;
    if (!is_good(item, "data", SIZE_MAX))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "attachments[%zu]: \"data\" must be a string of base64", index);
    if (!is_good(item, "name", SMA_GIVEN_NAME_BYTES_MAX) || string_of(item, "name").len == 0)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "attachments[%zu]: \"name\" must be a string of 1 to %d bytes", index,
                        SMA_GIVEN_NAME_BYTES_MAX);
    if (!is_good(item, "mime", MIME_BYTES_MAX))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "attachments[%zu]: \"mime\" must be a string of at most %d bytes", index,
                        MIME_BYTES_MAX);
    return SMA_ERR_OK;
}

enum sma_err http_attachments_check(const void *array, struct sma_error *error)
{
    size_t count = json_array_size(array);
    if (!json_is_array((const json_t *)array) || count > SMA_ATTACHMENT_COUNT_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "Member \"attachments\" must be a list of at most %d",
                        SMA_ATTACHMENT_COUNT_MAX);
    for (size_t i = 0; i < count; i++)
        SMA_TRY(check_item(json_array_get(array, i), i, error));
    return SMA_ERR_OK;
}

/* -- taking ------------------------------------------------------------------------------------ */
/* A page's FileReader gives "data:image/png;base64,...": what stands before the comma says nothing
 * that the bytes do not. */
static struct sma_str strip_url(struct sma_str data)
{
    const char *comma = sma_str_starts_with(data, SMA_STR("data:"))
                            ? memchr(data.ptr, ',', data.len < 256 ? data.len : 256)
                            : NULL;
    size_t len = comma == NULL ? 0 : (size_t)(comma - data.ptr) + 1;
    return (struct sma_str){data.ptr + len, data.len - len};
}

static SMA_CHECKED enum sma_err keep_data(const struct sma_given_place *place, const json_t *item,
                                          struct sma_given *given, struct sma_error *error)
{
    struct sma_given_sink *sink = sma_given_open(place, error);
    if (sink == NULL)
        return error->code;
    if (sma_given_put_base64(sink, strip_url(string_of(item, "data"))))
        return sma_given_finish(sink, string_of(item, "name"), given, error);
    sma_given_drop(sink);
    return sma_fail(error, SMA_ERR_BADINPUT, "\"data\" is not base64");
}

struct taking
{
    struct sma_given_place place;
    const json_t *array;
    struct http_attachments *list;
};

/* What went wrong, and with which. */
static SMA_CHECKED enum sma_err name_index(size_t index, struct sma_error *error)
{
    struct sma_error inner = *error;
    return sma_fail(error, inner.code, "attachments[%zu]: %s", index, inner.text);
}

/* Those that are paths, or those that are bytes. */
static SMA_CHECKED enum sma_err take_all(const struct taking *taking, bool takes_paths,
                                         struct sma_error *error)
{
    for (size_t i = 0; i < taking->list->count; i++) {
        const json_t *item = json_array_get(taking->array, i);
        struct sma_str path = string_of(item, "path");
        struct sma_given *given = &taking->list->items[i];
        if ((path.len > 0) != takes_paths)
            continue;
        enum sma_err err = takes_paths
                               ? sma_given_path(taking->place.project_dir, path, given, error)
                               : keep_data(&taking->place, item, given, error);
        if (err != SMA_ERR_OK)
            return name_index(i, error);
    }
    return SMA_ERR_OK;
}

enum sma_err http_attachments_take(struct sma_http *http, const void *array,
                                   struct http_attachments **ret_list, struct sma_error *error)
{
    struct http_attachments *list = calloc(1, sizeof *list);
    if (list == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "Out of memory: send it again");
    const struct taking taking = {{http->sys, http->config->project_dir, FOLDER}, array, list};
    list->count = (uint32_t)json_array_size(array);
    enum sma_err err = take_all(&taking, true, error);
    if (err == SMA_ERR_OK)
        err = take_all(&taking, false, error);
    if (err == SMA_ERR_OK)
        *ret_list = list;
    else
        free(list);
    return err;
}
